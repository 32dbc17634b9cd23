/* SPDX-License-Identifier: Apache-2.0 */
/* See run-command.h. One thread, one loop: output of the program, and news of its processes. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "collect/live/process-stack.h"
#include "collect/live/run-command.h"

#define EVENT_STOP 128
#define DRAIN_MS 300      /* after the end, for what children still write */
#define MAX_TRACED 100000u
#define STOP_US 100000

typedef struct {
    const CtRunOptions *options;
    CtRun *run;
    pid_t pid;
    int pipes[2]; /* of its standard output and error; -1 when closed */
    int news;     /* signalfd of SIGCHLD and of what is passed on */
    gboolean traced, ended;
    GHashTable *threads; /* ids of what is traced */
} Loop;

static const int passed[] = {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};

void ct_run_clear(CtRun *run)
{
    g_clear_pointer(&run->tail, g_byte_array_unref);
    if (run->stacks)
        g_string_free(run->stacks, TRUE);
    run->stacks = NULL;
    g_clear_pointer(&run->note, g_free);
}

static gint64 now_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (gint64)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* ---- its output ---- */

static void keep(CtRun *run, const guint8 *data, gsize len)
{
    run->output_bytes += len;
    g_byte_array_append(run->tail, data, (guint)len);
    if (run->tail->len > 2 * CT_RUN_TAIL)
        g_byte_array_remove_range(run->tail, 0, run->tail->len - (guint)CT_RUN_TAIL);
}

static void pass(int fd, const guint8 *data, gsize len)
{
    while (len) {
        gssize n = write(fd, data, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN) { /* a terminal that somebody made non-blocking */
            struct pollfd p = {.fd = fd, .events = POLLOUT};
            poll(&p, 1, 1000);
            continue;
        }
        if (n <= 0)
            return;
        data += n;
        len -= (gsize)n;
    }
}

static void take_output(Loop *l, int which)
{
    guint8 data[65536];
    gssize n = read(l->pipes[which], data, sizeof data);
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (n <= 0) {
        close(l->pipes[which]);
        l->pipes[which] = -1;
        return;
    }
    keep(l->run, data, (gsize)n);
    pass(which || l->options->to_stderr ? STDERR_FILENO : STDOUT_FILENO, data, (gsize)n);
}

/* ---- stacks before it dies ---- */

/* A signal kills only where the program has no handler for it and does not ignore it. */
static gboolean would_kill(pid_t tid, int sig)
{
    static const int fatal[] = {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSYS, SIGTRAP};
    static const char *const masks[] = {"\nSigIgn:", "\nSigCgt:"};
    gboolean is_fatal = FALSE;
    for (gsize i = 0; i < G_N_ELEMENTS(fatal); i++)
        is_fatal |= fatal[i] == sig;
    g_autofree char *path = g_strdup_printf("/proc/%d/status", (int)tid), *text = NULL;
    if (!is_fatal || !g_file_get_contents(path, &text, NULL, NULL))
        return FALSE;
    for (gsize i = 0; i < G_N_ELEMENTS(masks); i++) {
        const char *at = strstr(text, masks[i]);
        guint64 mask = at ? g_ascii_strtoull(at + strlen(masks[i]), NULL, 16) : 0;
        if (mask >> (sig - 1) & 1)
            return FALSE;
    }
    return TRUE;
}

static pid_t group_of(pid_t tid)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/status", (int)tid), *text = NULL;
    const char *at = g_file_get_contents(path, &text, NULL, NULL) ? strstr(text, "\nTgid:") : NULL;
    return at ? (pid_t)g_ascii_strtoll(at + 6, NULL, 10) : tid;
}

static void frames(GString *out, CtUnwinder *u, const CtThreadSample *sample)
{
    CtStackFrame *room = g_new(CtStackFrame, CT_STACK_FRAMES);
    guint n = u ? ct_unwind(u, sample, room, CT_STACK_FRAMES) : 0;
    for (guint i = 0; i < n && out->len < CT_RUN_STACKS; i++) {
        const CtStackFrame *f = &room[i];
        g_string_append_printf(out, "#%-2u 0x%016" G_GINT64_MODIFIER "x in %s ()%s%s\n", i, f->pc,
                               *f->function ? f->function : "??", *f->object ? " from " : "",
                               f->object);
    }
    g_string_append_c(out, '\n');
    g_free(room);
}

static void thread_name(pid_t pid, pid_t tid, char *out, gsize size)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/task/%d/comm", (int)pid, (int)tid);
    g_autofree char *text = NULL;
    g_strlcpy(out, g_file_get_contents(path, &text, NULL, NULL) ? g_strstrip(text) : "?", size);
    g_strdelimit(out, "\"\r\n", '?');
}

/* Another thread of the dying process: stopped, copied, and left to its fate. */
static void other_thread(GString *out, CtUnwinder *u, pid_t pid, pid_t tid, guint number)
{
    CtThreadSample sample = {.tid = tid};
    char name[64];
    int status = 0;
    pid_t got = 0;
    if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) != 0)
        return;
    for (int waited = 0; !got && waited < STOP_US; waited += 200) {
        got = waitpid(tid, &status, __WALL | WNOHANG);
        if (!got)
            g_usleep(200);
    }
    if (got != tid || !WIFSTOPPED(status))
        return;
    int deliver = status >> 16 ? 0 : WSTOPSIG(status);
    if (ct_thread_copy(pid, tid, &sample)) {
        thread_name(pid, tid, name, sizeof name);
        g_string_append_printf(out, "Thread %u (LWP %d) \"%s\":\n", number, (int)tid, name);
        frames(out, u, &sample);
    }
    ct_thread_sample_clear(&sample);
    ptrace(PTRACE_CONT, tid, NULL, (void *)(gintptr)deliver);
}

static void take_stacks(Loop *l, pid_t tid, int sig)
{
    pid_t pid = group_of(tid);
    CtThreadSample sample = {.tid = tid};
    g_autofree char *why = NULL, *folder = g_strdup_printf("/proc/%d/task", (int)pid);
    char name[64], buffer[16];
    if (l->run->stacks && l->run->stacks->len > CT_RUN_STACKS / 2)
        return;
    if (!l->run->stacks)
        l->run->stacks = g_string_new(NULL);
    GString *out = l->run->stacks;
    CtUnwinder *u = ct_unwinder_new(pid, &why);
    if (!u && !l->run->note)
        l->run->note = g_strdup_printf("stacks cannot be unwound: %s", why);
    thread_name(pid, tid, name, sizeof name);
    g_string_append_printf(out, "PID %d - process\nProgram received signal %s (LWP %d, %s).\n",
                           (int)pid, ct_signal_name(sig, buffer), (int)tid, name);
    if (ct_thread_copy(pid, tid, &sample))
        frames(out, u, &sample);
    ct_thread_sample_clear(&sample);
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    guint number = 1;
    for (const char *entry; dir && (entry = g_dir_read_name(dir)) && number < CT_STACK_THREADS;) {
        pid_t other = (pid_t)g_ascii_strtoll(entry, NULL, 10);
        if (other != tid && g_hash_table_contains(l->threads, GINT_TO_POINTER(other)))
            other_thread(out, u, pid, other, ++number);
    }
    ct_unwinder_free(u);
}

/* ---- news ---- */

static void one_stop(Loop *l, pid_t tid, int status)
{
    int sig = WSTOPSIG(status), event = status >> 16, deliver = 0;
    g_hash_table_add(l->threads, GINT_TO_POINTER(tid));
    if (event == EVENT_STOP) {
        /* A stop from the keyboard or by kill -STOP lasts until it is lifted. */
        gboolean group = sig == SIGSTOP || sig == SIGTSTP || sig == SIGTTIN || sig == SIGTTOU;
        ptrace(group ? PTRACE_LISTEN : PTRACE_CONT, tid, NULL, NULL);
        return;
    }
    if (!event) {
        deliver = sig;
        if (would_kill(tid, sig))
            take_stacks(l, tid, sig);
    }
    ptrace(PTRACE_CONT, tid, NULL, (void *)(gintptr)deliver);
}

static void take_news(Loop *l)
{
    struct signalfd_siginfo info;
    int status;
    while (read(l->news, &info, sizeof info) == (gssize)sizeof info)
        if (info.ssi_signo != SIGCHLD && !l->ended)
            kill(l->pid, (int)info.ssi_signo);
    for (pid_t tid; (tid = waitpid(-1, &status, __WALL | WNOHANG)) > 0;) {
        if (WIFSTOPPED(status)) {
            if (g_hash_table_size(l->threads) < MAX_TRACED)
                one_stop(l, tid, status);
            else
                ptrace(PTRACE_CONT, tid, NULL, NULL);
            continue;
        }
        g_hash_table_remove(l->threads, GINT_TO_POINTER(tid));
        if (tid == l->pid) {
            l->run->status = status;
            l->run->took_ns = now_ns(CLOCK_MONOTONIC) - l->run->took_ns;
            l->ended = TRUE;
        }
    }
}

static void loop(Loop *l)
{
    gint64 end = 0;
    while (!l->ended || l->pipes[0] >= 0 || l->pipes[1] >= 0) {
        struct pollfd p[3] = {{.fd = l->news, .events = POLLIN},
                              {.fd = l->pipes[0], .events = POLLIN},
                              {.fd = l->pipes[1], .events = POLLIN}};
        int timeout = l->ended ? 20 : 1000;
        if (poll(p, 3, timeout) < 0 && errno != EINTR)
            break;
        gboolean any = FALSE;
        for (int i = 0; i < 2; i++)
            if (l->pipes[i] >= 0 && p[i + 1].revents) {
                take_output(l, i);
                any = TRUE;
            }
        take_news(l);
        /* A process that it left behind may keep the pipes open for ever. */
        if (l->ended && !end)
            end = now_ns(CLOCK_MONOTONIC) + DRAIN_MS * (gint64)1000000;
        gint64 late = end ? now_ns(CLOCK_MONOTONIC) - end : -1;
        if (late > (any ? (gint64)2000000000 : 0))
            break;
    }
}

/* What it left behind must not be stopped by a signal that nobody hands on. */
static void let_go(Loop *l)
{
    GHashTableIter iter;
    gpointer key;
    g_hash_table_iter_init(&iter, l->threads);
    while (g_hash_table_iter_next(&iter, &key, NULL)) {
        pid_t tid = GPOINTER_TO_INT(key);
        int status = 0;
        pid_t got = 0;
        if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) != 0)
            continue;
        for (int waited = 0; !got && waited < STOP_US; waited += 200) {
            got = waitpid(tid, &status, __WALL | WNOHANG);
            if (!got)
                g_usleep(200);
        }
        if (got == tid && WIFSTOPPED(status))
            ptrace(PTRACE_DETACH, tid, NULL,
                   (void *)(gintptr)(status >> 16 ? 0 : WSTOPSIG(status)));
    }
}

/* ---- the start ---- */

G_GNUC_NORETURN static void become(char **argv, const int out[2], int go, int report,
                              const sigset_t *mask)
{
    char byte;
    /* Nothing runs before the parent watches, or has given up to. */
    while (read(go, &byte, 1) < 0 && errno == EINTR)
        ;
    dup2(out[0], STDOUT_FILENO);
    dup2(out[1], STDERR_FILENO);
    sigprocmask(SIG_SETMASK, mask, NULL);
    signal(SIGPIPE, SIG_DFL); /* ignored here, which a program would inherit */
    signal(SIGXFSZ, SIG_DFL);
    execvp(argv[0], argv);
    int code = errno;
    if (write(report, &code, sizeof code) != (gssize)sizeof code)
        _exit(126);
    _exit(127);
}

static gboolean seize(Loop *l)
{
    const long options = PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK;
    if (!l->options->stacks)
        return FALSE;
    if (ptrace(PTRACE_SEIZE, l->pid, NULL, (void *)options) == 0)
        return TRUE;
    l->run->note = g_strdup_printf("no stacks: tracing is refused (%s)", g_strerror(errno));
    return FALSE;
}

static int read_report(int fd)
{
    int code = 0;
    gssize got;
    while ((got = read(fd, &code, sizeof code)) < 0 && errno == EINTR)
        ;
    return got == (gssize)sizeof code ? code : 0;
}

/* TRUE: it runs. The report of a failed exec comes over a pipe that a successful one closes; a
 * traced child must be let through its stops meanwhile. */
static gboolean started(Loop *l, int report, int *out_errno)
{
    struct pollfd p = {.fd = report, .events = POLLIN};
    while (poll(&p, 1, 5) == 0)
        take_news(l);
    *out_errno = read_report(report);
    return *out_errno == 0;
}

static gboolean start(Loop *l, char **argv, const sigset_t *old, GError **error)
{
    int out[2], err[2], go[2], report[2], code = 0;
    if (pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC) || pipe2(go, O_CLOEXEC) ||
        pipe2(report, O_CLOEXEC))
        return ct_error_from_errno(error, errno, "making pipes");
    l->run->begun_wall_ns = now_ns(CLOCK_REALTIME);
    l->run->took_ns = now_ns(CLOCK_MONOTONIC);
    l->pid = fork();
    if (l->pid == 0) {
        close(go[1]);
        become(argv, (int[2]){out[1], err[1]}, go[0], report[1], old);
    }
    close(out[1]);
    close(err[1]);
    close(go[0]);
    close(report[1]);
    l->pipes[0] = out[0];
    l->pipes[1] = err[0];
    if (l->pid < 0)
        return ct_error_from_errno(error, errno, "starting %s", argv[0]);
    l->traced = seize(l);
    if (l->traced)
        g_hash_table_add(l->threads, GINT_TO_POINTER(l->pid));
    close(go[1]);
    gboolean ok = started(l, report[0], &code);
    close(report[0]);
    return ok || ct_error_from_errno(error, code, "starting %s", argv[0]);
}

gboolean ct_run_command(char **argv, const CtRunOptions *options, CtRun *run, GError **error)
{
    sigset_t mask, old;
    struct sigaction ignore = {.sa_handler = SIG_IGN}, old_int, old_quit, old_pipe;
    *run = (CtRun){.tail = g_byte_array_new()};
    Loop l = {.options = options, .run = run, .pipes = {-1, -1}, .threads = g_hash_table_new(NULL, NULL)};
    fflush(NULL);
    signal(SIGCHLD, SIG_DFL); /* where it is ignored no status can be had */
    sigemptyset(&mask);
    sigaddset(&mask, SIGCHLD);
    for (gsize i = 0; i < G_N_ELEMENTS(passed); i++)
        sigaddset(&mask, passed[i]);
    sigprocmask(SIG_BLOCK, &mask, &old);
    l.news = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
    gboolean ok = start(&l, argv, &old, error);
    /* Keys reach the program by themselves: ignored here, after it was made. */
    sigaction(SIGINT, &ignore, &old_int);
    sigaction(SIGQUIT, &ignore, &old_quit);
    sigaction(SIGPIPE, &ignore, &old_pipe);
    if (ok)
        loop(&l);
    else if (l.pid > 0)
        waitpid(l.pid, NULL, __WALL);
    let_go(&l);
    for (int i = 0; i < 2; i++)
        if (l.pipes[i] >= 0)
            close(l.pipes[i]);
    close(l.news);
    sigaction(SIGINT, &old_int, NULL);
    sigaction(SIGQUIT, &old_quit, NULL);
    sigaction(SIGPIPE, &old_pipe, NULL);
    sigprocmask(SIG_SETMASK, &old, NULL);
    g_hash_table_unref(l.threads);
    if (run->tail->len > CT_RUN_TAIL)
        g_byte_array_remove_range(run->tail, 0, run->tail->len - (guint)CT_RUN_TAIL);
    return ok;
}
