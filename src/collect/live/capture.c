/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parent: starts the collectors, a few at a time, listens to all of them and kills those whose
 * time is up. A child that does not die (it sits in the kernel) is left behind: the signal is
 * pending, it ends when the kernel lets it go.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "collect/live/live-private.h"

#define DEFAULT_BUDGET_MS 3000u
#define DEFAULT_TOTAL_MS 20000u
#define AT_A_TIME 6u
#define REAP_MS 100

typedef struct {
    CtLiveRun *run;
    GPtrArray *sections;
    GByteArray *frame; /* bytes that are no whole frame yet */
    CtLiveSection *open;
    pid_t pid;
    int fd;
    gint64 begun_us, deadline_us;
    gboolean started, done, over;
} Child;

typedef struct {
    const CtLiveOptions *options;
    CtLiveCapture *capture;
    Child *children;
    guint n, running, finished;
    int root;
    gint64 deadline_us;
    gsize total;
} Capture;

static void section_free(gpointer data)
{
    CtLiveSection *s = data;
    g_free(s->path);
    g_free(s->command);
    g_free(s->note);
    g_byte_array_unref(s->bytes);
    g_free(s);
}

static void run_free(gpointer data)
{
    g_free(((CtLiveRun *)data)->note);
    g_free(data);
}

void ct_live_capture_free(CtLiveCapture *capture)
{
    if (!capture)
        return;
    g_ptr_array_unref(capture->sections);
    g_ptr_array_unref(capture->runs);
    g_free(capture);
}

void ct_live_capture_add(CtLiveCapture *capture, const char *path, const char *command,
                         CtStatus status, const char *note, GByteArray *bytes)
{
    CtLiveSection *s = g_new0(CtLiveSection, 1);
    s->path = g_strdup(path);
    s->command = g_strdup(command);
    s->status = status;
    s->note = g_strdup(note);
    s->bytes = bytes ? bytes : g_byte_array_new();
    g_ptr_array_add(capture->sections, s);
}

/* ---- the child ---- */

G_GNUC_NORETURN static void child_main(Capture *c, const Child *child, int out)
{
    const struct rlimit none = {0, 0};
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setrlimit(RLIMIT_CORE, &none);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; null >= 0 && fd <= 2; fd++)
        dup2(null, fd);
    CtLive live = {.options = c->options, .collector = child->run->collector, .root = c->root,
                   .out = out, .deadline_us = child->deadline_us};
    child->run->collector->run(&live);
    ct_live_end(&live, CT_OK, NULL);
    ct_live_frame(&live, CT_FRAME_DONE, "", 0);
    _exit(0);
}

static gboolean start(Capture *c, Child *child)
{
    int ends[2];
    const CtCollector *collector = child->run->collector;
    gboolean own = !(collector->flags & CT_COLLECTOR_HASH_BUDGET) || c->options->hash;
    guint ms = own ? collector->budget_ms : 0;
    child->started = TRUE;
    child->begun_us = g_get_monotonic_time();
    child->deadline_us =
        MIN(c->deadline_us, child->begun_us + (gint64)(ms ? ms : DEFAULT_BUDGET_MS) * 1000);
    if (pipe(ends) != 0)
        return FALSE;
    for (int i = 0; i < 2; i++)
        fcntl(ends[i], F_SETFD, FD_CLOEXEC);
    child->pid = fork();
    if (child->pid == 0) {
        close(ends[0]);
        child_main(c, child, ends[1]);
    }
    close(ends[1]);
    if (child->pid < 0) {
        close(ends[0]);
        return FALSE;
    }
    setpgid(child->pid, child->pid); /* whoever comes first */
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    child->fd = ends[0];
    c->running++;
    return TRUE;
}

/* ---- what comes from it ---- */

static void take_begin(Child *child, const char *data, gsize len)
{
    const char *command = memchr(data, '\0', len);
    if (!command || data[len - 1] || child->sections->len >= CT_LIVE_MAX_SECTIONS)
        return;
    command++;
    CtLiveSection *s = g_new0(CtLiveSection, 1);
    s->collector = child->run->collector;
    s->path = g_strdup(data);
    s->command = command < data + len && *command ? g_strdup(command) : NULL;
    s->bytes = g_byte_array_new();
    s->status = CT_PARTIAL;
    g_ptr_array_add(child->sections, s);
    child->open = s;
}

static void take_end(Child *child, const char *data, gsize len)
{
    if (!child->open || !len)
        return;
    int status = data[0] - '0';
    child->open->status = status >= CT_OK && status <= CT_FAILED ? (CtStatus)status : CT_FAILED;
    if (len > 1)
        child->open->note = g_strndup(data + 1, len - 1);
    child->open = NULL;
}

static void take_data(Capture *c, Child *child, const char *data, gsize len)
{
    if (!child->open)
        return;
    if (len > CT_LIVE_MAX_TOTAL - c->total)
        len = CT_LIVE_MAX_TOTAL - c->total;
    g_byte_array_append(child->open->bytes, (const guint8 *)data, (guint)len);
    child->run->bytes += len;
    c->total += len;
}

/* FALSE: nothing sensible comes any more. */
static gboolean take_frames(Capture *c, Child *child)
{
    gsize at = 0;
    CtLiveFrame f;
    while (child->frame->len - at >= sizeof(f)) {
        memcpy(&f, child->frame->data + at, sizeof(f));
        if (f.len > CT_FRAME_MAX)
            return FALSE;
        if (child->frame->len - at - sizeof(f) < f.len)
            break;
        const char *data = (const char *)child->frame->data + at + sizeof(f);
        if (f.type == CT_FRAME_BEGIN && f.len)
            take_begin(child, data, f.len);
        else if (f.type == CT_FRAME_DATA)
            take_data(c, child, data, f.len);
        else if (f.type == CT_FRAME_END)
            take_end(child, data, f.len);
        else if (f.type == CT_FRAME_DONE)
            child->done = TRUE;
        at += sizeof(f) + f.len;
    }
    if (at)
        g_byte_array_remove_range(child->frame, 0, (guint)at);
    return TRUE;
}

/* FALSE at the end. */
static gboolean listen_to(Capture *c, Child *child)
{
    guint8 block[65536];
    gssize n = read(child->fd, block, sizeof(block));
    if (n < 0)
        return errno == EAGAIN || errno == EINTR;
    if (n == 0)
        return FALSE;
    g_byte_array_append(child->frame, block, (guint)n);
    return take_frames(c, child) && !child->done;
}

/* ---- its end ---- */

/* The whole group, so that programs it started go with it. Returns FALSE when it does not die. */
static gboolean reap(Child *child, int *status)
{
    kill(-child->pid, SIGKILL);
    kill(child->pid, SIGKILL);
    for (int ms = 0; ms <= REAP_MS; ms += 2) {
        pid_t got = waitpid(child->pid, status, WNOHANG);
        if (got == child->pid || (got < 0 && errno != EINTR))
            return TRUE;
        g_usleep(2000);
    }
    return FALSE;
}

static void close_child(Capture *c, Child *child, gboolean late)
{
    int status = 0;
    CtLiveRun *run = child->run;
    gboolean died = child->pid <= 0 || reap(child, &status);
    run->took_ms = (g_get_monotonic_time() - child->begun_us) / 1000;
    if (late) {
        run->status = CT_TIMEOUT;
        run->note = g_strdup_printf("no answer within %" G_GINT64_FORMAT " ms%s",
                                    (child->deadline_us - child->begun_us) / 1000,
                                    died ? "" : "; it hangs in the kernel and was left behind");
    } else if (!child->done) {
        run->status = CT_FAILED;
        run->note = WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL
                        ? g_strdup_printf("the collector ended by signal %d", WTERMSIG(status))
                        : g_strdup("the collector ended early");
    }
    if (child->open && !child->open->note) {
        child->open->status = late ? CT_TIMEOUT : CT_PARTIAL;
        child->open->note = g_strdup(run->note);
    }
    if (child->pid > 0) {
        close(child->fd);
        c->running--;
    }
    child->over = TRUE;
    c->finished++;
    if (c->options->progress)
        c->options->progress(run->collector->id, c->finished, c->n, c->options->user);
}

/* A collector that did not run, or left no section to carry its status, is a source all the same. */
static void tell_run(Child *child)
{
    if (child->run->status == CT_OK || child->run->status == CT_ABSENT)
        return;
    CtLiveSection *s = g_new0(CtLiveSection, 1);
    s->collector = child->run->collector;
    s->path = g_strconcat("live:", child->run->collector->id, NULL);
    s->status = child->run->status;
    s->note = g_strdup(child->run->note);
    s->bytes = g_byte_array_new();
    g_ptr_array_add(child->sections, s);
}

/* A collector of which nothing succeeded failed, with what it says of it. */
static void judge_run(Child *child)
{
    const CtLiveSection *first = NULL;
    for (guint i = 0; i < child->sections->len; i++) {
        const CtLiveSection *s = g_ptr_array_index(child->sections, i);
        if (s->status != CT_FAILED)
            return;
        first = first ? first : s;
    }
    if (!first || !first->note || child->run->status != CT_OK)
        return;
    child->run->status = CT_FAILED;
    child->run->note = g_strdup(first->note);
}

static void refuse(Capture *c, Child *child, CtStatus status, const char *note)
{
    child->started = child->over = TRUE;
    child->run->status = status;
    child->run->note = g_strdup(note);
    c->finished++;
}

static void start_some(Capture *c)
{
    for (guint i = 0; i < c->n && c->running < AT_A_TIME; i++) {
        Child *child = &c->children[i];
        if (child->started)
            continue;
        if (g_get_monotonic_time() >= c->deadline_us)
            refuse(c, child, CT_TIMEOUT, "no time was left for it");
        else if (c->root >= 0 && (child->run->collector->flags & CT_COLLECTOR_LIVE))
            refuse(c, child, CT_UNSUPPORTED, "only on the running machine");
        else if (!start(c, child))
            refuse(c, child, CT_FAILED, "no process could be made for it");
    }
}

static void wait_some(Capture *c)
{
    struct pollfd fds[AT_A_TIME];
    Child *who[AT_A_TIME];
    guint n = 0;
    gint64 until = c->deadline_us;
    for (guint i = 0; i < c->n && n < AT_A_TIME; i++) {
        Child *child = &c->children[i];
        if (!child->started || child->over)
            continue;
        fds[n] = (struct pollfd){.fd = child->fd, .events = POLLIN};
        who[n++] = child;
        until = MIN(until, child->deadline_us);
    }
    gint64 left = (until - g_get_monotonic_time()) / 1000 + 1;
    poll(fds, n, (int)CLAMP(left, 0, 1000));
    for (guint i = 0; i < n; i++) {
        gboolean more = !(fds[i].revents & (POLLIN | POLLHUP | POLLERR)) || listen_to(c, who[i]);
        if (!more)
            close_child(c, who[i], FALSE);
        else if (g_get_monotonic_time() >= who[i]->deadline_us)
            close_child(c, who[i], TRUE);
    }
}

static gboolean wanted(const CtLiveOptions *options, const CtCollector *collector)
{
    if ((collector->flags & CT_COLLECTOR_PID) && !options->pid)
        return FALSE;
    return !options->only || g_strv_contains(options->only, collector->id);
}

static void prepare(Capture *c)
{
    const CtCollector *const *all = c->options->collectors ? c->options->collectors : ct_collectors();
    while (all[c->n])
        c->n++;
    c->children = g_new0(Child, c->n + 1);
    c->n = 0;
    for (; *all; all++) {
        if (!wanted(c->options, *all))
            continue;
        Child *child = &c->children[c->n++];
        child->run = g_new0(CtLiveRun, 1);
        child->run->collector = *all;
        child->sections = g_ptr_array_new_with_free_func(section_free);
        child->frame = g_byte_array_new();
        g_ptr_array_add(c->capture->runs, child->run);
    }
}

static void gather_all(Capture *c)
{
    for (guint i = 0; i < c->n; i++) {
        Child *child = &c->children[i];
        tell_run(child);
        judge_run(child);
        for (guint k = 0; k < child->sections->len; k++) {
            CtLiveSection *s = g_ptr_array_index(child->sections, k);
            if (s->bytes->len || s->status != CT_OK)
                g_ptr_array_add(c->capture->sections, s);
            else
                section_free(s); /* looked, and there was nothing to say */
        }
        for (guint k = 0; k < c->capture->sections->len; k++) {
            const CtLiveSection *s = g_ptr_array_index(c->capture->sections, k);
            child->run->sections += s->collector == child->run->collector;
        }
        g_ptr_array_set_free_func(child->sections, NULL);
        g_ptr_array_unref(child->sections);
        g_byte_array_unref(child->frame);
    }
    g_free(c->children);
}

CtLiveCapture *ct_live_capture(const CtLiveOptions *options, GError **error)
{
    Capture c = {.options = options, .root = -1};
    if (options->sysroot) {
        c.root = open(options->sysroot, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (c.root < 0) {
            ct_error_from_errno(error, errno, "opening the tree %s", options->sysroot);
            return NULL;
        }
    }
    gint64 begun = g_get_monotonic_time();
    guint budget = options->budget_ms ? options->budget_ms : DEFAULT_TOTAL_MS;
    c.deadline_us = begun + (gint64)budget * 1000;
    c.capture = g_new0(CtLiveCapture, 1);
    c.capture->sections = g_ptr_array_new_with_free_func(section_free);
    c.capture->runs = g_ptr_array_new_with_free_func(run_free);
    prepare(&c);
    while (c.finished < c.n) {
        start_some(&c);
        if (c.running)
            wait_some(&c);
    }
    gather_all(&c);
    if (c.root >= 0)
        close(c.root);
    c.capture->took_ms = (g_get_monotonic_time() - begun) / 1000;
    return c.capture;
}
