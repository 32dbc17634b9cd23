/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/analyzer.h"
#include "cli/knowledge.h"

#define SILENT_US 700000

typedef struct {
    gboolean tty, drawn;
    gint64 begun_us;
} Watch;

void ct_capture_options_clear(CtCaptureOptions *o)
{
    g_free(o->sysroot);
    g_free(o->knowledge);
    g_free(o->budget_text);
    g_free(o->pid_text);
}

gboolean ct_capture_number(const char *verb, const char *option, const char *text, int least,
                           int most, int *out, int *out_exit)
{
    gint64 n;
    if (g_ascii_string_to_signed(text, 10, least, most, &n, NULL)) {
        *out = (int)n;
        return TRUE;
    }
    if (most == G_MAXINT)
        *out_exit = ct_cli_usage(verb, "--%s %s: a whole number from %d on", option, text, least);
    else
        *out_exit = ct_cli_usage(verb, "--%s %s: a whole number between %d and %d", option, text,
                                 least, most);
    return FALSE;
}

gboolean ct_capture_options_check(const char *verb, CtCaptureOptions *o, int *out_exit)
{
    if (o->budget_text &&
        !ct_capture_number(verb, "budget", o->budget_text, 1, 600, &o->budget_s, out_exit))
        return FALSE;
    if (o->pid_text && !ct_capture_number(verb, "pid", o->pid_text, 1, G_MAXINT, &o->pid, out_exit))
        return FALSE;
    if (!o->pid || o->sysroot || access("/proc/self", F_OK) != 0)
        return TRUE;
    g_autofree char *path = g_strdup_printf("/proc/%d", o->pid);
    if (access(path, F_OK) == 0)
        return TRUE;
    *out_exit = ct_cli_usage(verb, "--pid %d: there is no such process", o->pid);
    return FALSE;
}

static void on_progress(const char *id, guint done, guint all, gpointer user)
{
    Watch *w = user;
    if (!w->tty || g_get_monotonic_time() - w->begun_us < SILENT_US)
        return;
    fprintf(stderr, "\r\033[Kcollecting: %u of %u, %s", done, all, id);
    fflush(stderr);
    w->drawn = TRUE;
}

CtLiveCapture *ct_capture_fetch(const char *verb, const CtCaptureOptions *o,
                                const char *const *paths, int *out_exit)
{
    g_autoptr(GError) error = NULL;
    Watch watch = {.tty = isatty(STDERR_FILENO), .begun_us = g_get_monotonic_time()};
    const CtLiveOptions live = {
        .sysroot = o->sysroot,
        .pid = o->pid,
        .budget_ms = (guint)o->budget_s * 1000,
        .hash = o->hash,
        .paths = paths,
        .progress = on_progress,
        .user = &watch,
    };
    fflush(NULL); /* children must not inherit what is not written yet */
    CtLiveCapture *capture = ct_live_capture(&live, &error);
    if (watch.drawn)
        fputs("\r\033[K", stderr);
    if (!capture)
        *out_exit = ct_cli_fail(verb, error);
    return capture;
}

static void clean(GByteArray *bytes, gpointer user)
{
    ct_redact_bytes(user, bytes);
}

gboolean ct_capture_read(const char *verb, const CtCaptureOptions *o,
                         const CtLiveCapture *capture, CtRedact *redact, gboolean attach,
                         CtGather *out, int *out_exit)
{
    g_autoptr(GError) error = NULL;
    out->kb = ct_cli_knowledge(o->knowledge, &error);
    if (out->kb)
        out->ev = ct_evidence_new(&error);
    g_autoptr(CtParse) parse = out->ev ? ct_parse_new(out->ev, out->kb, &error) : NULL;
    if (!parse) {
        *out_exit = ct_cli_fail(verb, error);
        return FALSE;
    }
    const CtLiveFeed feed = {.clean = redact ? clean : NULL, .user = redact, .attach = attach};
    for (guint i = 0; redact && i < capture->sections->len; i++) {
        const CtLiveSection *s = g_ptr_array_index(capture->sections, i);
        ct_redact_look(redact, (const char *)s->bytes->data, s->bytes->len);
    }
    ct_live_feed(capture, parse, out->ev, &feed);
    for (guint i = 0; out->texts && i < out->texts->len; i++) {
        const CtGatherText *t = g_ptr_array_index(out->texts, i);
        ct_parse_memory(parse, t->path, t->text, strlen(t->text));
    }
    ct_parse_finish(parse);
    ct_analyze(out->ev);
    return TRUE;
}

/* ---- the user's own files ---- */

char *ct_capture_data_file(const char *name, gboolean make)
{
    g_autofree char *folder = g_build_filename(g_get_user_data_dir(), "cutriage", NULL);
    if (make && g_mkdir_with_parents(folder, 0700) != 0)
        return NULL;
    return g_build_filename(folder, name, NULL);
}

static gboolean read_key(const char *path, guint8 *key)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    gssize n = fd < 0 ? -1 : read(fd, key, CT_REDACT_KEY);
    if (fd >= 0)
        close(fd);
    return n == CT_REDACT_KEY;
}

static void make_key(const char *path, guint8 *key)
{
    if (getrandom(key, CT_REDACT_KEY, 0) != CT_REDACT_KEY)
        for (int i = 0; i < CT_REDACT_KEY; i++)
            key[i] = (guint8)g_random_int();
    int fd = path ? open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600) : -1;
    if (fd < 0)
        return;
    /* A key that is not whole is worse than none: the next run would not find it usable. */
    if (write(fd, key, CT_REDACT_KEY) != CT_REDACT_KEY)
        unlink(path);
    close(fd);
}

CtRedact *ct_capture_redactor(void)
{
    guint8 key[CT_REDACT_KEY];
    g_autofree char *path = ct_capture_data_file("redact.key", TRUE);
    if (!path || !read_key(path, key))
        make_key(path, key);
    CtRedact *redact = ct_redact_new(key);
    char host[256] = "";
    gethostname(host, sizeof(host) - 1);
    ct_redact_learn(redact, CT_REDACT_HOST, host);
    const char *user = g_getenv("USER") ? g_getenv("USER") : g_getenv("LOGNAME");
    /* Asked only where nothing else says it: the answer may come from a directory that hangs. */
    const struct passwd *pw = user ? NULL : getpwuid(getuid());
    ct_redact_learn(redact, CT_REDACT_USER, pw ? pw->pw_name : user);
    ct_redact_learn(redact, CT_REDACT_USER, g_getenv("SUDO_USER"));
    return redact;
}
