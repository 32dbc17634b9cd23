/* SPDX-License-Identifier: Apache-2.0 */
#include "run/record.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "run/outside.h"
#include "wire/wire.h"

#define FIRST_FD 100 /* programs close and reuse low numbers */

struct CtRecording {
    int fd;
    pid_t owner; /* in whose /proc the memory file is found; not the child's */
    gboolean no_stacks;
    char *file; /* NULL is a memory file */
    struct ctw_run *run;
    guint8 *bytes;
    gsize len;
};

static volatile sig_atomic_t child_pid;

static gint64 clock_ns(clockid_t clock)
{
    struct timespec ts;
    clock_gettime(clock, &ts);
    return (gint64)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static gboolean fail(GError **error, const char *what)
{
    int code = errno;
    g_set_error(error, CT_ERROR, code == EACCES || code == EPERM ? CT_ERROR_DENIED : CT_ERROR_IO,
                "%s: %s", what, g_strerror(code));
    return FALSE;
}

static int open_store(const char *file)
{
    int low = file ? open(file, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)
                   : memfd_create("cutriage-record", MFD_CLOEXEC);
    if (low < 0)
        return -1;
    int fd = fcntl(low, F_DUPFD_CLOEXEC, FIRST_FD);
    if (fd < 0)
        return low;
    close(low);
    return fd;
}

static void fill_run(struct ctw_run *run, const char *command)
{
    memcpy(run->magic, CTW_RUN_MAGIC, 8);
    run->version = CTW_VERSION;
    run->max_slots = CTW_MAX_SLOTS;
    run->arena_bytes = ctw_layout().bytes;
    if (getrandom(&run->run_id, sizeof run->run_id, 0) < 0)
        run->run_id = (guint64)clock_ns(CLOCK_REALTIME);
    run->wall_ns = clock_ns(CLOCK_REALTIME);
    run->mono_ns = clock_ns(CLOCK_MONOTONIC);
    g_strlcpy(run->command, command, sizeof run->command);
    run->crc = ctw_crc(run, G_STRUCT_OFFSET(struct ctw_run, crc));
}

CtRecording *ct_recording_new(const char *file, const char *command, GError **error)
{
    g_autoptr(CtRecording) r = g_new0(CtRecording, 1);
    guint64 size = CTW_RUN_BYTES + CTW_MAX_SLOTS * ctw_layout().bytes;
    r->owner = getpid();
    r->fd = open_store(file);
    if (r->fd < 0) {
        fail(error, file ? file : "memory file");
        return NULL;
    }
    if (file)
        r->file = g_canonicalize_filename(file, NULL);
    /* The whole length at once and sparse: a process that grew the file could be killed for it. */
    if (ftruncate(r->fd, (off_t)size) != 0 ||
        (r->run = mmap(NULL, CTW_RUN_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0)) ==
            MAP_FAILED) {
        r->run = NULL;
        fail(error, "making room for the record");
        return NULL;
    }
    /* The samples of the starter are stored while it runs: a hole of a full disk would kill it. */
    if (fallocate(r->fd, 0, 0, CTW_RUN_BYTES) != 0 && errno != EOPNOTSUPP) {
        fail(error, "making room for the record");
        return NULL;
    }
    fill_run(r->run, command);
    return g_steal_pointer(&r);
}

void ct_recording_set_stacks(CtRecording *r, gboolean on)
{
    r->no_stacks = !on;
}

void ct_recording_free(CtRecording *r)
{
    if (!r)
        return;
    if (r->run)
        munmap(r->run, CTW_RUN_BYTES);
    if (r->bytes)
        munmap(r->bytes, r->len);
    if (r->fd >= 0)
        close(r->fd);
    g_free(r->file);
    g_free(r);
}

char *ct_recorder_library(GError **error)
{
    static const char name[] = "libcutriage-recorder.so";
    g_autofree char *exe = g_file_read_link("/proc/self/exe", NULL);
    g_autofree char *dir = exe ? g_path_get_dirname(exe) : g_strdup(".");
    g_autofree char *above = g_path_get_dirname(dir);
    char *const places[] = {
        g_build_filename(dir, name, NULL),
        g_build_filename(dir, "src", "recorder", name, NULL),
        g_build_filename(above, "lib", "cutriage", name, NULL),
        g_build_filename(CT_LIBDIR, "cutriage", name, NULL),
    };
    char *found = NULL;
    for (gsize i = 0; i < G_N_ELEMENTS(places); i++) {
        if (!found && access(places[i], R_OK) == 0)
            found = g_strdup(places[i]);
        g_free(places[i]);
    }
    if (!found)
        g_set_error(error, CT_ERROR, CT_ERROR_NOT_FOUND, "%s is not installed beside %s", name,
                    exe ? exe : "the program");
    else if (strpbrk(found, " :")) {
        g_set_error(error, CT_ERROR, CT_ERROR_UNSUPPORTED,
                    "%s: LD_PRELOAD cannot hold a path with a blank or a colon", found);
        g_clear_pointer(&found, g_free);
    }
    return found;
}

char **ct_recording_environment(const CtRecording *r, const char *library)
{
    const char *before = g_getenv("LD_PRELOAD");
    g_autoptr(GPtrArray) out = g_ptr_array_new();
    g_ptr_array_add(out, before && *before ? g_strdup_printf("LD_PRELOAD=%s:%s", library, before)
                                           : g_strdup_printf("LD_PRELOAD=%s", library));
    if (r->file) {
        g_ptr_array_add(out, g_strdup_printf("CUTRIAGE_RECORD_FILE=%s", r->file));
    } else {
        g_ptr_array_add(out, g_strdup_printf("CUTRIAGE_RECORD_FILE=/proc/%d/fd/%d", (int)r->owner,
                                             r->fd));
        g_ptr_array_add(out, g_strdup_printf("CUTRIAGE_RECORD_FD=%d", r->fd));
    }
    if (r->no_stacks)
        g_ptr_array_add(out, g_strdup("CUTRIAGE_RECORD_STACKS=0"));
    g_ptr_array_add(out, NULL);
    return (char **)g_ptr_array_free(g_steal_pointer(&out), FALSE);
}

static void pass_on(int sig)
{
    int saved = errno;
    if (child_pid > 0)
        kill((pid_t)child_pid, sig);
    errno = saved;
}

/* Keys of the terminal reach the program by themselves, so they are only ignored here. */
static const int passed[] = {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2}, ignored[] = {SIGINT, SIGQUIT};

G_GNUC_NORETURN static void become(const CtRecording *r, const char *library, char **argv, int report)
{
    g_auto(GStrv) variables = ct_recording_environment(r, library);
    for (char **v = variables; *v; v++) {
        char *eq = strchr(*v, '=');
        *eq = 0;
        g_setenv(*v, eq + 1, TRUE);
    }
    if (!r->file)
        fcntl(r->fd, F_SETFD, 0);
    signal(SIGPIPE, SIG_DFL); /* ignored here, which a program would inherit */
    signal(SIGXFSZ, SIG_DFL);
    execvp(argv[0], argv);
    int code = errno;
    if (write(report, &code, sizeof code) != sizeof code)
        _exit(126);
    _exit(127);
}

gboolean ct_recording_run(CtRecording *r, const char *library, char **argv, int *out_status,
                          GError **error)
{
    int report[2], code = 0, status = 0;
    struct sigaction old_passed[G_N_ELEMENTS(passed)], old_ignored[G_N_ELEMENTS(ignored)];
    if (pipe2(report, O_CLOEXEC) != 0)
        return fail(error, "pipe");
    pid_t pid = fork();
    if (pid < 0)
        return fail(error, "fork");
    if (pid == 0)
        become(r, library, argv, report[1]);
    child_pid = pid;
    CtOutside *outside = ct_outside_start(r->run, pid);
    close(report[1]);
    struct sigaction on = {.sa_handler = pass_on, .sa_flags = SA_RESTART};
    struct sigaction off = {.sa_handler = SIG_IGN};
    for (gsize i = 0; i < G_N_ELEMENTS(passed); i++)
        sigaction(passed[i], &on, &old_passed[i]);
    for (gsize i = 0; i < G_N_ELEMENTS(ignored); i++)
        sigaction(ignored[i], &off, &old_ignored[i]);
    gssize got;
    while ((got = read(report[0], &code, sizeof code)) < 0 && errno == EINTR)
        ;
    close(report[0]);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    child_pid = 0;
    ct_outside_stop(outside);
    for (gsize i = 0; i < G_N_ELEMENTS(passed); i++)
        sigaction(passed[i], &old_passed[i], NULL);
    for (gsize i = 0; i < G_N_ELEMENTS(ignored); i++)
        sigaction(ignored[i], &old_ignored[i], NULL);
    if (got == sizeof code) {
        errno = code;
        return fail(error, argv[0]);
    }
    *out_status = status;
    return TRUE;
}

CtRecordingTotals ct_recording_totals(const CtRecording *r)
{
    return (CtRecordingTotals){MIN(r->run->claimed, CTW_MAX_SLOTS), r->run->refused,
                               r->run->no_space, r->run->replaced};
}

static guint64 used_bytes(const CtRecording *r)
{
    return CTW_RUN_BYTES + ct_recording_totals(r).processes * r->run->arena_bytes;
}

/* Pages of zeroes become holes: a record is mostly room. */
static gboolean copy_out(int from, int to, guint64 size)
{
    static const guint8 zeroes[CTW_PAGE];
    guint8 page[CTW_PAGE];
    for (guint64 at = 0; at < size; at += CTW_PAGE) {
        if (pread(from, page, sizeof page, (off_t)at) != (gssize)sizeof page)
            return FALSE;
        if (memcmp(page, zeroes, sizeof page) != 0 &&
            pwrite(to, page, sizeof page, (off_t)at) != (gssize)sizeof page)
            return FALSE;
    }
    return ftruncate(to, (off_t)size) == 0;
}

gboolean ct_recording_save(CtRecording *r, const char *path, GError **error)
{
    if (r->file) /* processes that live on keep writing: only what nobody took is cut off */
        return ftruncate(r->fd, (off_t)used_bytes(r)) == 0 || fail(error, r->file);
    int to = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (to < 0)
        return fail(error, path);
    gboolean ok = copy_out(r->fd, to, used_bytes(r)) || fail(error, path);
    close(to);
    if (!ok)
        unlink(path);
    return ok;
}

const guint8 *ct_recording_bytes(CtRecording *r, gsize *out_len)
{
    if (!r->bytes) {
        r->len = used_bytes(r);
        void *p = mmap(NULL, r->len, PROT_READ, MAP_SHARED, r->fd, 0);
        r->bytes = p == MAP_FAILED ? NULL : p;
    }
    *out_len = r->bytes ? r->len : 0;
    return r->bytes;
}
