/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process: what it maps and holds open, its limits and cgroup, its threads with what they did in
 * an interval, and their stacks on the host. Everything but the stacks also comes from a copied
 * tree. The process is looked at and never changed; see process-stack.h.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "collect/live/live.h"
#include "collect/live/process-stack.h"

#define INTERVAL_MS 300
#define STOP_MS 60
#define MAX_FDS 4096u

static char *path_of(pid_t pid, const char *name)
{
    return g_strdup_printf("/proc/%d/%s", (int)pid, name);
}

/* ---- what stands in files ---- */

static void files(CtLive *live, pid_t pid)
{
    static const struct {
        const char *name;
        gsize cap;
    } wanted[] = {
        {"status", 64 * 1024}, {"maps", 4 * 1024 * 1024}, {"oom_score_adj", 4096}, {"stat", 4096},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(wanted); i++) {
        g_autofree char *path = path_of(pid, wanted[i].name);
        ct_live_file(live, path, wanted[i].cap, i == 0);
    }
    /* The command line is kept with blanks between its words, as ps shows it. */
    g_autofree char *path = path_of(pid, "cmdline"), *text = NULL;
    gsize len = 0;
    CtStatus status = ct_live_read(live, path, 64 * 1024, &text, &len);
    if (!text || !len)
        return;
    for (gsize i = 0; i + 1 < len; i++)
        if (text[i] == '\0' || text[i] == '\n')
            text[i] = ' ';
    g_autofree char *command = g_strdup_printf("ps -o pid,args -p %d", (int)pid);
    ct_live_begin(live, path, command);
    ct_live_printf(live, "    PID COMMAND\n%7d ", (int)pid);
    ct_live_write(live, text, strnlen(text, len));
    ct_live_printf(live, "\n");
    ct_live_end(live, status, NULL);
}

/* Which devices and how many files: names of ordinary files are nobody's business. */
static void descriptors(CtLive *live, pid_t pid)
{
    g_autofree char *folder = path_of(pid, "fd"), *command = g_strdup_printf("ls -l %s", folder);
    CtStatus status = CT_OK;
    g_autoptr(GPtrArray) names = ct_live_list(live, folder, &status);
    guint devices = 0;
    if (status != CT_OK && status != CT_TRUNCATED) {
        ct_live_missing(live, folder, command, status,
                        status == CT_DENIED ? "the open files of another user's process need root"
                                            : NULL);
        return;
    }
    ct_live_begin(live, folder, command);
    ct_live_printf(live, "total 0\n");
    for (guint i = 0; i < names->len && i < MAX_FDS; i++) {
        const char *name = names->pdata[i];
        g_autofree char *path = g_strconcat(folder, "/", name, NULL);
        g_autofree char *target = ct_live_link(live, path);
        if (!target || !g_str_has_prefix(target, "/dev/") || g_str_has_prefix(target, "/dev/pts/") ||
            strcmp(target, "/dev/null") == 0)
            continue;
        ct_live_printf(live, "lrwx------ 1 0 0 64 Jan  1 00:00 %s -> %s\n", name, target);
        devices++;
    }
    ct_live_end(live, CT_OK, NULL);
}

static void run_files(CtLive *live)
{
    pid_t pid = ct_live_pid(live);
    files(live, pid);
    descriptors(live, pid);
}

const CtCollector ct_collector_process = {
    .id = "process",
    .layer = "runtime",
    .title = "the process: libraries, devices, limits",
    .flags = CT_COLLECTOR_PID,
    .run = run_files,
};

/* ---- threads ---- */

typedef struct {
    pid_t tid;
    char name[32], state, wchan[64], syscall[40];
    guint64 run_ns, switches; /* so far */
    gboolean counted;         /* the two above are known */
    guint64 ran_ns, switched; /* in the interval */
    gboolean moved;
    char *kernel; /* its stack in the kernel */
    CtThreadSample sample;
    CtStackFrame *frames, *before; /* now, and before the interval */
    guint n_frames, n_before;
} Thread;

static void thread_free(gpointer data)
{
    Thread *t = data;
    ct_thread_sample_clear(&t->sample);
    g_free(t->frames);
    g_free(t->before);
    g_free(t->kernel);
    g_free(t);
}

static char *task_path(pid_t pid, pid_t tid, const char *name)
{
    return g_strdup_printf("/proc/%d/task/%d/%s", (int)pid, (int)tid, name);
}

static char *task_line(CtLive *live, pid_t pid, pid_t tid, const char *name)
{
    g_autofree char *path = task_path(pid, tid, name);
    return ct_live_line(live, path);
}

static void mask(char *text)
{
    for (char *p = text; *p; p++)
        if ((guchar)*p < 0x20 || *p == '"' || (guchar)*p == 0x7f)
            *p = '?';
}

/* Time on a CPU and changes of context. Neither is touched by being looked at. */
static gboolean counters(CtLive *live, pid_t pid, Thread *t, guint64 *run_ns, guint64 *switches)
{
    g_autofree char *sched = task_line(live, pid, t->tid, "schedstat");
    g_autofree char *path = task_path(pid, t->tid, "status"), *status = NULL;
    gsize len = 0;
    if (!sched || ct_live_read(live, path, 16 * 1024, &status, &len) != CT_OK)
        return FALSE;
    *run_ns = g_ascii_strtoull(sched, NULL, 10);
    *switches = 0;
    static const char *const keys[] = {"\nvoluntary_ctxt_switches:",
                                       "\nnonvoluntary_ctxt_switches:"};
    for (int i = 0; i < 2; i++) {
        const char *at = strstr(status, keys[i]);
        if (at)
            *switches += g_ascii_strtoull(at + strlen(keys[i]), NULL, 10);
    }
    return TRUE;
}

/* Root only. Taken before anybody stops the thread, which would show there. */
static char *kernel_stack(CtLive *live, pid_t pid, pid_t tid)
{
    g_autofree char *path = task_path(pid, tid, "stack"), *text = NULL;
    gsize len = 0;
    if (ct_live_read(live, path, 16 * 1024, &text, &len) != CT_OK || !text)
        return NULL;
    g_auto(GStrv) rows = g_strsplit(text, "\n", 64);
    GString *out = g_string_new(NULL);
    for (char **row = rows; *row; row++)
        if (g_str_has_prefix(*row, "[<") && !strstr(*row, "0xffffffffffffffff"))
            g_string_append_printf(out, "%.200s\n", *row);
    return g_string_free(out, FALSE);
}

static void describe(CtLive *live, pid_t pid, Thread *t)
{
    g_autofree char *name = task_line(live, pid, t->tid, "comm");
    g_autofree char *stat = task_line(live, pid, t->tid, "stat");
    g_autofree char *wchan = task_line(live, pid, t->tid, "wchan");
    g_autofree char *call = task_line(live, pid, t->tid, "syscall");
    const char *close = stat ? strrchr(stat, ')') : NULL;
    g_strlcpy(t->name, name ? name : "?", sizeof t->name);
    mask(t->name);
    t->state = close && close[1] == ' ' && g_ascii_isalpha(close[2]) ? close[2] : '?';
    g_strlcpy(t->wchan, wchan && *wchan && strcmp(wchan, "0") ? wchan : "-", sizeof t->wchan);
    if (call)
        call[strcspn(call, " ")] = '\0';
    g_strlcpy(t->syscall, call && *call ? call : "-", sizeof t->syscall);
    mask(t->wchan);
    mask(t->syscall);
    t->kernel = kernel_stack(live, pid, t->tid);
}

static GPtrArray *list_threads(CtLive *live, pid_t pid, CtStatus *status)
{
    g_autofree char *folder = path_of(pid, "task");
    g_autoptr(GPtrArray) names = ct_live_list(live, folder, status);
    GPtrArray *threads = g_ptr_array_new_with_free_func(thread_free);
    for (guint i = 0; i < names->len && threads->len < CT_STACK_THREADS; i++) {
        guint64 tid = g_ascii_strtoull(names->pdata[i], NULL, 10);
        if (!tid || tid > G_MAXINT32)
            continue;
        Thread *t = g_new0(Thread, 1);
        t->tid = (pid_t)tid;
        g_ptr_array_add(threads, t);
    }
    return threads;
}

/* How each thread spent an interval in which nobody disturbed it. */
static void watch(CtLive *live, pid_t pid, GPtrArray *threads)
{
    for (guint i = 0; i < threads->len; i++) {
        Thread *t = threads->pdata[i];
        t->counted = counters(live, pid, t, &t->run_ns, &t->switches);
    }
    if (!ct_live_sysroot(live))
        g_usleep(INTERVAL_MS * 1000);
    for (guint i = 0; i < threads->len; i++) {
        Thread *t = threads->pdata[i];
        guint64 ran = 0, switches = 0;
        describe(live, pid, t);
        if (!t->counted || !counters(live, pid, t, &ran, &switches))
            continue;
        t->ran_ns = ran > t->run_ns ? ran - t->run_ns : 0;
        t->switched = switches > t->switches ? switches - t->switches : 0;
        t->moved = t->ran_ns || t->switched;
    }
}

/* Unix time of the start, in ms: ticks since boot from the process, the boot from /proc/stat. */
static gint64 started_ms(CtLive *live, pid_t pid)
{
    g_autofree char *path = path_of(pid, "stat"), *line = ct_live_line(live, path), *boot = NULL;
    gsize len = 0;
    const char *at = line ? strrchr(line, ')') : NULL;
    long ticks = sysconf(_SC_CLK_TCK);
    if (!at || ticks <= 0 || ct_live_read(live, "/proc/stat", 1024 * 1024, &boot, &len) > CT_TRUNCATED)
        return 0;
    for (int field = 2; at && field < 22; field++)
        at = strchr(at + 1, ' ');
    const char *btime = boot ? strstr(boot, "\nbtime ") : NULL;
    if (!at || !btime)
        return 0;
    guint64 since = g_ascii_strtoull(at + 1, NULL, 10), begun = g_ascii_strtoull(btime + 7, NULL, 10);
    if (since > G_MAXINT64 / 2000 || begun > G_MAXUINT32)
        return 0;
    return (gint64)(begun * 1000 + since * 1000 / (guint64)ticks);
}

/* Newer kernels print -1 for what is not known, older ones refuse. */
static void table(CtLive *live, pid_t pid, const GPtrArray *threads)
{
    g_autofree char *command = g_strdup_printf("cutriage threads %d", (int)pid);
    g_autofree char *path = path_of(pid, "task");
    ct_live_begin(live, path, command);
    ct_live_printf(live, "Threads of process %d, seen for %d ms, started at %" G_GINT64_FORMAT
                   " ms\n", (int)pid, ct_live_sysroot(live) ? 0 : INTERVAL_MS,
                   started_ms(live, pid));
    ct_live_printf(live, "%8s %s %9s %8s %-28s %7s %s\n", "TID", "S", "CPU_MS", "SWITCHES",
                   "WCHAN", "SYSCALL", "NAME");
    for (guint i = 0; i < threads->len; i++) {
        const Thread *t = threads->pdata[i];
        char cpu[32] = "-", switches[32] = "-";
        if (t->counted && !ct_live_sysroot(live)) {
            g_snprintf(cpu, sizeof cpu, "%.3f", (double)t->ran_ns / 1e6);
            g_snprintf(switches, sizeof switches, "%" G_GUINT64_FORMAT, t->switched);
        }
        ct_live_printf(live, "%8d %c %9s %8s %-28s %7s %s\n", (int)t->tid, t->state, cpu,
                       switches, t->wchan, t->syscall, t->name);
    }
    ct_live_end(live, CT_OK, NULL);
}

/* ---- stacks ---- */

static const char *why_not(int error)
{
    switch (error) {
    case EPERM:
        return "ptrace is refused: run as root or as the user of the process, in a container "
               "with --cap-add SYS_PTRACE, or set kernel.yama.ptrace_scope to 0; a debugger that "
               "is attached already refuses it too";
    case ESRCH:
        return "the thread has ended";
    case ETIMEDOUT:
        return "the thread does not stop: it sits in the kernel";
    default:
        return g_strerror(error);
    }
}

static void print_frame(CtLive *live, guint n, const CtStackFrame *f)
{
    char function[sizeof f->function], object[sizeof f->object];
    g_strlcpy(function, *f->function ? f->function : "??", sizeof function);
    g_strlcpy(object, f->object, sizeof object);
    mask(function);
    mask(object);
    ct_live_printf(live, "#%-2u 0x%016" G_GINT64_MODIFIER "x in %s ()%s%s\n", n, f->pc, function,
                   *object ? " from " : "", object);
}

/* Frames of the driver and of the C library change while a call waits by spinning. */
static gboolean is_inner(const CtStackFrame *f)
{
    static const char *const names[] = {"/libcuda.so", "/libc.so", "/libc-2", "/libpthread",
                                        "/libcudart.so", "/libnccl.so", "[vdso", "/ld-linux"};
    for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
        if (strstr(f->object, names[i]))
            return TRUE;
    return !*f->object || g_str_has_prefix(f->function, "cuda") || g_str_has_prefix(f->function, "cu") ||
           g_str_has_prefix(f->function, "nccl");
}

/* What the two samples, an interval apart, have in common: everything, or all but what goes on
 * inside of the call that the program made. */
static const char *stillness(const Thread *t)
{
    guint a = t->n_before, b = t->n_frames;
    if (!a || !b)
        return "";
    while (a && b && t->before[a - 1].pc == t->frames[b - 1].pc) {
        a--;
        b--;
    }
    if (!a && !b)
        return ", stands still";
    for (guint i = 0; i < a; i++)
        if (!is_inner(&t->before[i]))
            return ", moves";
    for (guint i = 0; i < b; i++)
        if (!is_inner(&t->frames[i]))
            return ", moves";
    return ", in the same call";
}

static void print_thread(CtLive *live, guint number, const Thread *t)
{
    ct_live_printf(live, "Thread %u (LWP %d) \"%s\" state %c, wchan %s%s:\n", number, (int)t->tid,
                   t->name, t->state, t->wchan, stillness(t));
    if (t->kernel)
        ct_live_printf(live, "%s", t->kernel);
    for (guint i = 0; i < t->n_frames; i++)
        print_frame(live, i, &t->frames[i]);
    if (t->sample.error)
        ct_live_printf(live, "(no host stack: %s)\n", why_not(t->sample.error));
    ct_live_printf(live, "\n");
}

static CtStatus sample_all(CtLive *live, pid_t pid, GPtrArray *threads, int *out_error,
                           gint64 *longest)
{
    guint good = 0, bad = 0;
    for (guint i = 0; i < threads->len; i++) {
        Thread *t = threads->pdata[i];
        /* Threads that hang in the kernel share what is left of the time. */
        guint wait = ct_live_left_ms(live) > 2500 ? STOP_MS : 2;
        if (ct_thread_sample(pid, t->tid, wait, &t->sample)) {
            good++;
        } else if (t->sample.error != ESRCH) {
            bad++;
            *out_error = t->sample.error;
            if (t->sample.error == EPERM && !good)
                return CT_DENIED;
        }
        *longest = MAX(*longest, t->sample.stopped_ns);
    }
    return !bad ? CT_OK : good ? CT_PARTIAL : CT_FAILED;
}

static void unwind_all(CtUnwinder *u, GPtrArray *threads)
{
    CtStackFrame *room = g_new(CtStackFrame, CT_STACK_FRAMES);
    for (guint i = 0; i < threads->len; i++) {
        Thread *t = threads->pdata[i];
        guint n = ct_unwind(u, &t->sample, room, CT_STACK_FRAMES);
        t->n_frames = n;
        t->frames = g_new(CtStackFrame, n + 1);
        memcpy(t->frames, room, n * sizeof *room);
        ct_thread_sample_clear(&t->sample);
    }
    g_free(room);
}

/* One round over all threads. The files of the process were read before a thread is stopped; the
 * stacks are unwound when all run again. */
static CtStatus round_of_stacks(CtLive *live, pid_t pid, CtUnwinder *u, GPtrArray *threads,
                                int *out_error, gint64 *longest)
{
    CtStatus status = sample_all(live, pid, threads, out_error, longest);
    for (guint i = 0; i < threads->len; i++) {
        Thread *t = threads->pdata[i];
        g_free(t->before);
        t->before = g_steal_pointer(&t->frames);
        t->n_before = t->n_frames;
        t->n_frames = 0;
    }
    if (u)
        unwind_all(u, threads);
    return status;
}

static void print_stacks(CtLive *live, pid_t pid, const GPtrArray *threads, CtStatus status,
                         const char *note)
{
    g_autofree char *command = g_strdup_printf("eu-stack -p %d", (int)pid);
    g_autofree char *path = path_of(pid, "task/stack");
    if (status == CT_DENIED) {
        ct_live_missing(live, path, command, CT_DENIED, note);
        return;
    }
    ct_live_begin(live, path, command);
    ct_live_printf(live, "PID %d - process\n", (int)pid);
    for (guint i = 0; i < threads->len; i++)
        print_thread(live, i + 1, threads->pdata[i]);
    ct_live_end(live, status, note);
}

static void run_threads(CtLive *live)
{
    pid_t pid = ct_live_pid(live);
    CtStatus status = CT_OK;
    g_autofree char *why = NULL, *note = NULL;
    g_autoptr(GPtrArray) threads = list_threads(live, pid, &status);
    if (!threads->len) {
        g_autofree char *path = path_of(pid, "task");
        ct_live_missing(live, path, NULL, status == CT_OK ? CT_ABSENT : status,
                        "the threads of the process cannot be listed");
        return;
    }
    if (ct_live_sysroot(live)) {
        watch(live, pid, threads);
        table(live, pid, threads);
        return;
    }
    int error = 0;
    gint64 longest = 0;
    CtUnwinder *u = ct_unwinder_new(pid, &why);
    status = round_of_stacks(live, pid, u, threads, &error, &longest);
    if (!u && status != CT_DENIED)
        status = CT_UNSUPPORTED;
    watch(live, pid, threads);
    table(live, pid, threads);
    if (u && status != CT_DENIED)
        status = round_of_stacks(live, pid, u, threads, &error, &longest);
    if (error)
        note = g_strdup(why_not(error));
    else if (!u)
        note = g_strdup_printf("stacks cannot be unwound: %s", why);
    else
        note = g_strdup_printf("no thread stood still for more than %.2f ms",
                               (double)longest / 1e6);
    ct_unwinder_free(u);
    print_stacks(live, pid, threads, status, note);
}

const CtCollector ct_collector_process_threads = {
    .id = "process-threads",
    .layer = "runtime",
    .title = "threads of the process and their stacks",
    .budget_ms = 8000,
    .flags = CT_COLLECTOR_PID,
    .run = run_threads,
};
