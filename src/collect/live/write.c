/* SPDX-License-Identifier: Apache-2.0 */
/* The child's end of the pipe. Everything is written at once: what was said before a kill counts. */
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "collect/live/live-private.h"

static void write_all(CtLive *live, const void *data, gsize len)
{
    const char *p = data;
    while (len) {
        gssize n = write(live->out, p, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            _exit(1); /* nobody listens any more */
        p += n;
        len -= (gsize)n;
    }
}

void ct_live_frame(CtLive *live, guint32 type, const void *data, gsize len)
{
    CtLiveFrame frame = {type, (guint32)MIN(len, CT_FRAME_MAX)};
    write_all(live, &frame, sizeof(frame));
    write_all(live, data, frame.len);
}

pid_t ct_live_pid(const CtLive *live)
{
    return live->options->pid;
}

gint64 ct_live_left_ms(const CtLive *live)
{
    return MAX(0, (live->deadline_us - g_get_monotonic_time()) / 1000);
}

gboolean ct_live_hash(const CtLive *live)
{
    return live->options->hash;
}

const char *const *ct_live_paths(const CtLive *live)
{
    static const char *const none[] = {NULL};
    return live->options->paths ? live->options->paths : none;
}

void ct_live_begin(CtLive *live, const char *path, const char *command)
{
    if (live->open)
        ct_live_end(live, CT_PARTIAL, NULL);
    if (live->sections >= CT_LIVE_MAX_SECTIONS)
        return;
    g_autofree char *p = g_strndup(path, 4000), *c = g_strndup(command ? command : "", 8000);
    g_autoptr(GByteArray) head = g_byte_array_new();
    g_byte_array_append(head, (const guint8 *)p, (guint)strlen(p) + 1);
    g_byte_array_append(head, (const guint8 *)c, (guint)strlen(c) + 1);
    ct_live_frame(live, CT_FRAME_BEGIN, head->data, head->len);
    live->open = TRUE;
    live->truncated = FALSE;
    live->sections++;
}

void ct_live_write(CtLive *live, const void *data, gsize len)
{
    const guint8 *p = data;
    if (!live->open)
        return;
    if (len > CT_LIVE_MAX_BYTES - live->written) {
        len = CT_LIVE_MAX_BYTES - live->written;
        live->truncated = TRUE;
    }
    live->written += len;
    while (len) {
        gsize n = MIN(len, CT_FRAME_MAX);
        ct_live_frame(live, CT_FRAME_DATA, p, n);
        p += n;
        len -= n;
    }
}

void ct_live_printf(CtLive *live, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_autofree char *text = g_strdup_vprintf(format, args);
    va_end(args);
    ct_live_write(live, text, strlen(text));
}

void ct_live_end(CtLive *live, CtStatus status, const char *note)
{
    if (!live->open)
        return;
    if (live->truncated && status == CT_OK) {
        status = CT_TRUNCATED;
        note = "more than a collector may keep";
    }
    g_autofree char *body = g_strdup_printf("%c%.1000s", (char)('0' + status), note ? note : "");
    ct_live_frame(live, CT_FRAME_END, body, strlen(body));
    live->open = FALSE;
}

void ct_live_text(CtLive *live, const char *path, const char *command, const char *text)
{
    if (!text || !*text)
        return;
    ct_live_begin(live, path, command);
    ct_live_write(live, text, strlen(text));
    ct_live_end(live, CT_OK, NULL);
}

void ct_live_missing(CtLive *live, const char *path, const char *command, CtStatus status,
                     const char *note)
{
    ct_live_begin(live, path, command);
    ct_live_end(live, status, note);
}
