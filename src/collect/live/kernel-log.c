/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel messages: the ring buffer, else the journal, else the files that log daemons write. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "collect/live/live.h"

#define MAX_LOG ((gsize)2 * 1024 * 1024)

/* What to add to the kernel's time to get wall time. */
static gint64 boot_offset_us(void)
{
    struct timespec wall, mono;
    clock_gettime(CLOCK_REALTIME, &wall);
    clock_gettime(CLOCK_MONOTONIC, &mono);
    return ((gint64)wall.tv_sec - mono.tv_sec) * 1000000 + (wall.tv_nsec - mono.tv_nsec) / 1000;
}

/* "6,3973,227996636,-;text" and continuation lines; as `dmesg --time-format iso` prints it. */
static void record(CtLive *live, char *text, gint64 offset_us)
{
    char *body = strchr(text, ';');
    char stamp[40];
    if (!body)
        return;
    *body++ = '\0';
    g_auto(GStrv) head = g_strsplit(text, ",", 4);
    gint64 us = head[0] && head[1] && head[2] ? g_ascii_strtoll(head[2], NULL, 10) : 0;
    body[strcspn(body, "\n")] = '\0';
    time_t s = (time_t)((us + offset_us) / 1000000);
    struct tm tm;
    if (!gmtime_r(&s, &tm))
        return;
    strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%S", &tm);
    ct_live_printf(live, "%s,%06d+00:00 %s\n", stamp, (int)((us + offset_us) % 1000000), body);
}

static CtStatus ring_buffer(CtLive *live)
{
    char text[8193];
    int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    gint64 offset = boot_offset_us();
    if (fd < 0)
        return errno == EACCES || errno == EPERM ? CT_DENIED : CT_ABSENT;
    gssize n = read(fd, text, sizeof(text) - 1);
    if (n < 0 && errno != EAGAIN && errno != EPIPE) {
        CtStatus status = errno == EPERM || errno == EACCES ? CT_DENIED : CT_FAILED;
        close(fd);
        return status;
    }
    ct_live_begin(live, "/dev/kmsg", "dmesg --time-format iso");
    gsize total = 0;
    for (guint lost = 0; (n >= 0 || errno == EPIPE) && lost < 10000 && total < MAX_LOG;) {
        if (n > 0) {
            text[n] = '\0';
            total += (gsize)n;
            record(live, text, offset);
        } else if (n == 0) {
            break;
        } else {
            lost++; /* overwritten while it was read: the next one follows */
        }
        n = read(fd, text, sizeof(text) - 1);
    }
    close(fd);
    ct_live_end(live, total < MAX_LOG ? CT_OK : CT_TRUNCATED, NULL);
    return CT_OK;
}

/* The end of a log file is what tells. */
static CtStatus tail_of(CtLive *live, const char *path)
{
    int fd = ct_live_open(live, path);
    if (fd < 0)
        return errno == EACCES || errno == EPERM ? CT_DENIED : CT_ABSENT;
    struct stat st;
    g_autofree char *command = g_strconcat("cat ", path, NULL);
    off_t skip = fstat(fd, &st) == 0 && st.st_size > (off_t)MAX_LOG ? st.st_size - (off_t)MAX_LOG : 0;
    g_autofree char *block = g_malloc(65536);
    ct_live_begin(live, path, command);
    if (skip && lseek(fd, skip, SEEK_SET) < 0)
        skip = 0;
    gssize n;
    gsize total = 0;
    gboolean first = skip > 0;
    while (total < MAX_LOG && (n = read(fd, block, 65536)) > 0) {
        const char *from = first ? memchr(block, '\n', (gsize)n) : NULL;
        from = from ? from + 1 : block; /* the line that was cut in two */
        ct_live_write(live, from, (gsize)(block + n - from));
        total += (gsize)n;
        first = FALSE;
    }
    close(fd);
    ct_live_end(live, skip ? CT_TRUNCATED : CT_OK, skip ? "only the end is kept" : NULL);
    return CT_OK;
}

static void run(CtLive *live)
{
    static const char *const files[] = {"/var/log/kern.log", "/var/log/dmesg",
                                        "/var/log/messages", "/var/log/syslog"};
    static const char *const journal[] = {"journalctl", "-k", "-b", "--no-pager", "-o", "short-iso",
                                          "-n", "20000", NULL};
    CtStatus status = CT_ABSENT;
    gboolean denied = FALSE;
    if (!ct_live_sysroot(live)) {
        status = ring_buffer(live);
        denied = status == CT_DENIED;
        if (status != CT_OK && ct_live_exists(live, "/run/systemd/system"))
            status = ct_live_run(live, journal, MAX_LOG);
    }
    for (gsize i = 0; i < G_N_ELEMENTS(files) && status != CT_OK; i++) {
        status = tail_of(live, files[i]);
        denied |= status == CT_DENIED;
    }
    if (status != CT_OK)
        ct_live_missing(live, "kernel log", "sudo dmesg", denied ? CT_DENIED : CT_ABSENT,
                        denied ? "kernel messages are for root (kernel.dmesg_restrict)"
                               : "no kernel log is there");
    g_autoptr(GPtrArray) crashes = ct_live_glob(live, "/sys/fs/pstore/*");
    for (guint i = 0; i < MIN(crashes->len, 16u); i++)
        ct_live_file(live, g_ptr_array_index(crashes, i), 262144, FALSE);
}

const CtCollector ct_collector_kernel_log = {
    .id = "kernel-log",
    .layer = "kernel-driver",
    .title = "kernel messages",
    .run = run,
};
