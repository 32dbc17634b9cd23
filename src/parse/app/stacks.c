/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks of threads: gdb and pstack, eu-stack, py-spy, faulthandler, /proc/PID/stack, and what
 * programs print themselves when a signal ends them. Each thread becomes one event that says in
 * which call it stands and what it waits for; a crash becomes one that names the place.
 */
#include <string.h>

#include "parse/app/stack-class.h"

#define MAX_THREADS 20000u
#define MAX_FRAMES 400u
#define NAME_SIZE 160

typedef struct {
    gboolean open, crashed, active, from_driver;
    gboolean host; /* a frame of the program was seen; those of the kernel come before it */
    gboolean kernel_top; /* `top` is a function of the kernel, for want of another */
    gint64 tid;
    char name[64];
    const char *still; /* between two samples, when they were taken: yes, call, no */
    CtLine place; /* of the frame that counts; its text is a copy */
    char text[NAME_SIZE], function[NAME_SIZE], callback[NAME_SIZE], python[NAME_SIZE];
    char top[NAME_SIZE], top_library[NAME_SIZE];
    CtLine top_place;
    char top_text[NAME_SIZE];
    CtWait wait;
    gboolean lock; /* the innermost frame waits for a lock */
    guint frames;
} Thread;

typedef struct {
    Thread t;
    guint threads;
    gboolean signal; /* a signal was named and its stack has not come yet */
    gint64 pid; /* of the process, when the dump names it */
} State;

static gpointer begin(CtEmit *emit)
{
    State *st = g_new0(State, 1);
    st->pid = CT_NONE;
    return st;
}

/* ---- what came of a thread ---- */

static void add_string(GString *json, const char *key, const char *value)
{
    if (!*value)
        return;
    g_string_append_printf(json, "%s\"%s\":\"", json->len > 1 ? "," : "", key);
    for (const char *p = value; *p; p++) {
        if (*p == '"' || *p == '\\')
            g_string_append_c(json, '\\');
        if ((guchar)*p >= 0x20)
            g_string_append_c(json, *p);
    }
    g_string_append_c(json, '"');
}

static void emit_thread(State *st, CtEmit *emit)
{
    Thread *t = &st->t;
    const char *state = ct_wait_name(t->wait);
    g_autoptr(GString) json = g_string_new("{");
    if (!state && t->active)
        state = "running";
    add_string(json, "state", state ? state : "other");
    add_string(json, "thread", t->name);
    add_string(json, "still", t->still ? t->still : "");
    add_string(json, "python", t->python);
    if (st->pid != CT_NONE) {
        char process[24];
        g_snprintf(process, sizeof process, "%" G_GINT64_FORMAT, st->pid);
        add_string(json, "process", process);
    }
    if (t->from_driver && t->wait != CT_WAIT_IDLE && t->wait != CT_WAIT_NONE)
        add_string(json, "callback", t->callback);
    if (t->lock)
        add_string(json, "inner", "lock");
    g_string_append_c(json, '}');
    gboolean known = t->tid != CT_NONE;
    ct_emit_event(emit, &t->place,
                  (CtEventRow){.kind = "thread-wait", .severity = CT_SEV_INFO,
                               .name = *t->function ? t->function : t->top, .pid = t->tid,
                               .has_pid = known, .detail = json->str});
}

static void emit_crash(State *st, CtEmit *emit)
{
    Thread *t = &st->t;
    g_autoptr(GString) json = g_string_new("{");
    if (!*t->top)
        return;
    add_string(json, "library", t->top_library);
    add_string(json, "thread", t->name);
    add_string(json, "python", t->python);
    g_string_append_c(json, '}');
    ct_emit_event(emit, &t->top_place,
                  (CtEventRow){.kind = "crash-frame", .severity = CT_SEV_ERROR, .name = t->top,
                               .pid = t->tid, .has_pid = t->tid != CT_NONE,
                               .detail = json->str});
}

static void end_thread(State *st, CtEmit *emit)
{
    Thread *t = &st->t;
    if (t->open && t->frames > 0) {
        if (t->crashed)
            emit_crash(st, emit);
        else
            emit_thread(st, emit);
        st->threads++;
    }
    memset(t, 0, sizeof(*t));
    t->tid = CT_NONE;
}

static void start_thread(State *st, CtEmit *emit, gint64 tid, CtStr name)
{
    end_thread(st, emit);
    st->t.open = st->threads < MAX_THREADS;
    st->t.tid = tid;
    ct_str_buf(name, st->t.name, sizeof st->t.name);
}

/* ---- frames ---- */

static void keep_place(CtLine *place, char text[NAME_SIZE], const CtLine *line)
{
    *place = *line;
    place->text = ct_str_buf(ct_line_str(line), text, NAME_SIZE);
    place->len = strlen(text);
    place->raw = place->text;
    place->raw_len = place->len;
}

static void keep_python(Thread *t, const CtFrame *f)
{
    static const char *const libraries[] = {"site-packages/", "torch/", "/lib/python",
                                            "threading.py", "queue.py", "selectors.py",
                                            "concurrent/futures/", "multiprocessing/", "asyncio/"};
    for (gsize i = 0; i < G_N_ELEMENTS(libraries); i++)
        if (ct_str_has(f->library, libraries[i]))
            return;
    if (*t->python)
        return;
    char function[80], file[80];
    gssize slash = -1;
    for (gsize i = 0; i < f->library.n; i++)
        if (f->library.p[i] == '/')
            slash = (gssize)i;
    ct_str_buf(f->function, function, sizeof function);
    ct_str_buf(ct_str_from(f->library, (gsize)(slash + 1)), file, sizeof file);
    g_snprintf(t->python, sizeof t->python, "%s (%s)", function, file);
}

/* Frames come innermost first. A lock or a condition inside of a CUDA or NCCL call is that call's
 * own way of waiting: the call counts. What stands outside of the call only says who made it. */
static void frame(State *st, const CtLine *line, const CtFrame *f)
{
    Thread *t = &st->t;
    if (!t->open || !f->function.n || t->frames >= MAX_FRAMES)
        return;
    if (ct_str_starts(f->function, "<signal handler")) { /* what lies inside only handles it */
        t->crashed = TRUE;
        *t->top = '\0';
        t->wait = CT_WAIT_NONE;
        t->frames++;
        return;
    }
    CtWait wait = ct_frame_wait(f);
    gboolean low = t->wait == CT_WAIT_NONE || t->wait == CT_WAIT_IDLE ||
                   (t->wait == CT_WAIT_LOCK && wait > CT_WAIT_LOCK) ||
                   (t->wait == CT_WAIT_DRIVER && wait > CT_WAIT_DRIVER);
    /* A launch or copy made inside a collective belongs to the collective, but the collective's
     * caller does not; user code between two calls ends the inner one's reach. */
    gboolean collective = wait == CT_WAIT_COLLECTIVE && t->wait > CT_WAIT_DRIVER;
    t->lock |= t->frames < 4 && wait == CT_WAIT_LOCK;
    gboolean outside = *t->callback && !f->python && wait > CT_WAIT_DRIVER;
    gboolean again = wait == t->wait && wait != CT_WAIT_COLLECTIVE;
    if (wait != CT_WAIT_NONE && (low || collective) && !outside && !again) {
        t->wait = wait;
        ct_str_buf(f->function, t->function, sizeof t->function);
        keep_place(&t->place, t->text, line);
    }
    gboolean runtime = !f->python && (f->kernel || ct_frame_is_runtime(f));
    if (!t->frames)
        keep_place(&t->place, t->text, line);
    gboolean want_top = !*t->top || (t->kernel_top && !f->kernel);
    if (want_top && (!runtime || f->kernel) && !ct_str_starts(f->function, "0x") &&
        !ct_str_starts(f->function, "(unknown)")) {
        ct_str_buf(f->function, t->top, sizeof t->top);
        ct_str_buf(f->library, t->top_library, sizeof t->top_library);
        keep_place(&t->top_place, t->top_text, line);
        t->kernel_top = f->kernel;
    }
    if (f->python)
        keep_python(t, f);
    /* The frame at which a thread of the driver enters the program is the callback. */
    gboolean driver = ct_frame_in_cuda_driver(f) && wait == CT_WAIT_NONE;
    if (driver)
        t->from_driver = TRUE;
    else if (!runtime && wait == CT_WAIT_NONE) {
        t->from_driver = FALSE;
        if (!f->python && !ct_frame_is_framework(f))
            ct_str_buf(f->function, t->callback, sizeof t->callback);
    }
    t->frames++;
}

/* End of the function's name: the parenthesis of its arguments, not one of a template. */
static gsize name_end(CtStr s)
{
    int depth = 0;
    for (gsize i = 0; i < s.n; i++) {
        depth += s.p[i] == '<';
        depth -= s.p[i] == '>' && depth > 0;
        if (depth == 0 && s.p[i] == '(' && i > 0)
            return s.p[i - 1] == ' ' ? i - 1 : i;
        if (depth == 0 && s.p[i] == '@')
            return i;
    }
    return s.n;
}

/* "#3  0x00007f in foo (x=1) from /lib/libfoo.so", "#3  foo (x=1) at foo.c:12",
 * "#1  0x00007f pthread_cond_wait@@GLIBC_2.3.2 - 1" */
static gboolean hash_frame(State *st, const CtLine *line, CtStr s)
{
    CtFrame f = {0};
    if (!ct_str_starts(s, "#") || s.n < 4 || !g_ascii_isdigit(s.p[1]))
        return FALSE;
    CtStr rest = s;
    ct_str_token(&rest);
    rest = ct_str_strip(rest);
    if (ct_str_starts(rest, "0x")) {
        CtStr address = ct_str_token(&rest);
        rest = ct_str_strip(rest);
        if (ct_str_starts(rest, "in "))
            rest = ct_str_strip(ct_str_from(rest, 3));
        if (!rest.n)
            rest = address;
    }
    gssize from = ct_str_find(rest, " from "), at = ct_str_find(rest, " at ");
    f.function = ct_str_head(rest, name_end(rest));
    if (from > 0)
        f.library = ct_str_from(rest, (gsize)from + 6);
    else if (at > 0)
        f.library = ct_str_from(rest, (gsize)at + 4);
    gssize dash = ct_str_find(f.function, " - ");
    if (dash > 0)
        f.function = ct_str_head(f.function, (gsize)dash);
    st->t.host = TRUE;
    frame(st, line, &f);
    return TRUE;
}

/* "    wait (threading.py:320)", "    cudaStreamSynchronize (libcudart.so.12.4)" */
static gboolean pyspy_frame(State *st, const CtLine *line, CtStr raw, CtStr s)
{
    CtStr rest = s, function;
    if (ct_str_indent(raw) != 4 || !ct_str_ends(s, ")") || !ct_str_cut(&rest, " (", &function))
        return FALSE;
    CtFrame f = {.function = function, .library = ct_str_head(rest, rest.n - 1)};
    gssize py = ct_str_find(f.library, ".py");
    f.python = py >= 0;
    if (f.python)
        f.library = ct_str_head(f.library, (gsize)py + 3);
    frame(st, line, &f);
    return TRUE;
}

/* File "/app/serve.py", line 88 in run */
static gboolean file_frame(State *st, const CtLine *line, CtStr s)
{
    CtFrame f = {.python = TRUE};
    if (!ct_str_starts(s, "File \"") || !ct_str_between(s, "File \"", "\"", &f.library))
        return FALSE;
    gssize in = ct_str_find(s, " in ");
    if (in < 0)
        return FALSE;
    f.function = ct_str_strip(ct_str_from(s, (gsize)in + 4));
    frame(st, line, &f);
    return TRUE;
}

/* "[<0>] futex_wait+0x12/0x40", "[<0>] os_acquire_mutex+0x8/0x10 [nvidia]" */
static gboolean kernel_frame(State *st, CtEmit *emit, const CtLine *line, CtStr s)
{
    gssize close = ct_str_find(s, ">] ");
    if (!ct_str_starts(s, "[<") || close < 0)
        return FALSE;
    CtStr rest = ct_str_strip(ct_str_from(s, (gsize)close + 3));
    CtFrame f = {.function = ct_str_token(&rest), .library = ct_str_strip(rest),
                 .kernel = TRUE};
    gssize plus = ct_str_find(f.function, "+0x");
    if (plus > 0)
        f.function = ct_str_head(f.function, (gsize)plus);
    if (!st->t.open)
        start_thread(st, emit, CT_NONE, ct_str("", 0));
    frame(st, line, &f);
    return TRUE;
}

/* What programs print themselves: glog "@ 0x7f foo()", boost " 3# foo() in /lib/x.so", torch
 * "frame #2: foo + 0x1f (0x7f in /lib/x.so)", backtrace_symbols "/lib/x.so(foo+0x1f) [0x7f]". */
static gboolean own_frame(State *st, const CtLine *line, CtStr s)
{
    CtFrame f = {0};
    CtStr rest = s, token = ct_str_token(&rest);
    if (ct_str_eq(token, "@") || (ct_str_eq(token, "PC:") && ct_str_starts(rest, " @"))) {
        if (ct_str_eq(token, "PC:"))
            ct_str_token(&rest);
        ct_str_token(&rest);
        f.function = ct_str_strip(rest);
    } else if (token.n > 1 && token.p[token.n - 1] == '#' && g_ascii_isdigit(token.p[0])) {
        gssize in = ct_str_find(rest, " in ");
        f.function = ct_str_strip(in > 0 ? ct_str_head(rest, (gsize)in) : rest);
        f.library = in > 0 ? ct_str_from(rest, (gsize)in + 4) : f.library;
    } else if (ct_str_eq(token, "frame") && ct_str_starts(ct_str_strip(rest), "#")) {
        ct_str_token(&rest);
        rest = ct_str_strip(rest);
        gssize plus = ct_str_find(rest, " + 0x"), in = ct_str_find(rest, " in ");
        f.function = plus > 0 ? ct_str_head(rest, (gsize)plus) : rest;
        f.library = in > 0 ? ct_str_from(rest, (gsize)in + 4) : f.library;
    } else if (ct_str_ends(s, "]") && (ct_str_has(s, ") [0x") || ct_str_has(s, ")[0x"))) {
        gssize open = ct_str_find(s, "("), slash = ct_str_find(s, "/");
        if (open < 0)
            return FALSE;
        gsize from = slash >= 0 && slash < open ? (gsize)slash : 0;
        f.library = ct_str_from(ct_str_head(s, (gsize)open), from);
        CtStr inside = ct_str_from(s, (gsize)open + 1);
        gssize plus = ct_str_find(inside, "+0x");
        f.function = plus > 0 ? ct_str_head(inside, (gsize)plus) : f.library;
    } else {
        return FALSE;
    }
    f.function = ct_str_head(f.function, name_end(f.function));
    if (!st->t.open)
        return FALSE;
    if (f.function.n)
        frame(st, line, &f);
    return TRUE;
}

/* ---- headings ---- */

static gint64 number_after(CtStr s, const char *needle)
{
    gssize at = ct_str_find(s, needle);
    double n;
    if (at < 0)
        return CT_NONE;
    CtStr rest = ct_str_strip(ct_str_from(s, (gsize)at + strlen(needle)));
    if (ct_str_starts(rest, "0x") || !ct_str_take_plain(&rest, &n) || n < 0 || n > 1e15)
        return CT_NONE;
    return (gint64)n;
}

/* Thread 12 (Thread 0x7f12 (LWP 4242) "python3"):  /  Thread 7 (LWP 9):  */
static gboolean gdb_heading(State *st, CtEmit *emit, CtStr s)
{
    if (!ct_str_starts(s, "Thread ") || !ct_str_has(s, "LWP "))
        return FALSE;
    CtStr name = ct_str("", 0);
    ct_str_between(s, "\"", "\"", &name);
    start_thread(st, emit, number_after(s, "LWP "), name);
    st->t.active = ct_str_has(s, "\" state R");
    st->t.still = ct_str_ends(s, ", stands still:")      ? "yes"
                  : ct_str_ends(s, ", in the same call:") ? "call"
                  : ct_str_ends(s, ", moves:")            ? "no"
                                                          : NULL;
    return TRUE;
}

/* Thread 4242 (idle): "MainThread" */
static gboolean pyspy_heading(State *st, CtEmit *emit, CtStr s)
{
    static const char *const states[] = {"(idle", "(active"};
    if (!ct_str_starts(s, "Thread ") || !(ct_str_has(s, states[0]) || ct_str_has(s, states[1])))
        return FALSE;
    CtStr name = ct_str("", 0);
    ct_str_between(s, "\"", "\"", &name);
    start_thread(st, emit, number_after(s, "Thread "), name);
    st->t.active = ct_str_has(s, states[1]);
    return TRUE;
}

/* Thread 0x00007f12 [worker] (most recent call first): */
static gboolean faulthandler_heading(State *st, CtEmit *emit, CtStr s)
{
    gboolean current = ct_str_starts(s, "Current thread 0x");
    if (!ct_str_has(s, "(most recent call first)") || !(current || ct_str_starts(s, "Thread 0x")))
        return FALSE;
    CtStr name = ct_str("", 0);
    ct_str_between(s, "[", "]", &name);
    start_thread(st, emit, CT_NONE, name);
    st->t.crashed = current && st->signal;
    st->signal = st->signal && !current;
    return TRUE;
}

/* "Process 4242: python3 x.py" of py-spy, "PID 4242 - process" of eu-stack */
static gboolean process_heading(State *st, CtEmit *emit, CtStr s)
{
    gboolean eu = ct_str_starts(s, "PID ") && ct_str_has(s, " - process");
    gboolean spy = ct_str_starts(s, "Process ") && ct_str_has(s, ": ");
    gint64 pid = eu || spy ? number_after(s, eu ? "PID " : "Process ") : CT_NONE;
    if (pid == CT_NONE)
        return FALSE;
    end_thread(st, emit);
    st->pid = pid;
    return TRUE;
}

static gboolean other_heading(State *st, CtEmit *emit, CtStr s)
{
    if (process_heading(st, emit, s))
        return TRUE;
    if (ct_str_starts(s, "TID ") && ct_str_ends(s, ":")) {
        start_thread(st, emit, number_after(s, "TID "), ct_str("", 0));
        return TRUE;
    }
    if (ct_str_starts(s, "Fatal Python error: ")) {
        end_thread(st, emit);
        st->signal = TRUE;
        return TRUE;
    }
    if ((ct_str_starts(s, "Program ") || ct_str_starts(s, "Thread ")) &&
        (ct_str_has(s, "signal SIGSEGV") || ct_str_has(s, "signal SIGABRT") ||
         ct_str_has(s, "signal SIGBUS") || ct_str_has(s, "signal SIGFPE") ||
         ct_str_has(s, "signal SIGILL"))) {
        end_thread(st, emit);
        st->signal = TRUE;
        return TRUE;
    }
    if ((ct_str_starts(s, "*** SIG") && ct_str_has(s, "stack trace")) ||
        ct_str_starts(s, "Signal (") || ct_str_has(s, "*** Process received signal ***")) {
        start_thread(st, emit, number_after(s, "PID "), ct_str("", 0));
        st->t.crashed = TRUE;
        return TRUE;
    }
    return FALSE;
}

static void line(gpointer state, const CtLine *line, CtEmit *emit)
{
    State *st = state;
    CtStr raw = ct_str(line->text, line->len), s = ct_str_strip(raw);
    if (!s.n) {
        if (st->t.frames > 0)
            end_thread(st, emit);
        return;
    }
    if (gdb_heading(st, emit, s) || pyspy_heading(st, emit, s) ||
        faulthandler_heading(st, emit, s) || other_heading(st, emit, s))
        return;
    if (ct_str_starts(s, "#0 ") && st->t.host && st->t.open)
        start_thread(st, emit, CT_NONE, ct_str("", 0)); /* the next stack of a bare list */
    if (ct_str_starts(s, "#0 ") && !st->t.open) {
        start_thread(st, emit, CT_NONE, ct_str("", 0));
        st->t.crashed = st->signal;
        st->signal = FALSE;
    }
    if (hash_frame(st, line, s) || kernel_frame(st, emit, line, s) || file_frame(st, line, s) ||
        own_frame(st, line, s))
        return;
    pyspy_frame(st, line, raw, s);
}

static void finish(gpointer state, CtEmit *emit)
{
    State *st = state;
    end_thread(st, emit);
    if (st->threads > 0) {
        ct_emit_number(emit, NULL, NULL, "stack.threads", st->threads, NULL);
        ct_emit_coverage(emit, "stacks", NULL);
    }
    g_free(st);
}

static int sniff(const CtSniff *sniff)
{
    guint headings = 0, frames = 0, kernel = 0, signals = 0;
    gboolean fatal = FALSE;
    for (guint i = 0; i < sniff->n_lines; i++) {
        CtStr s = ct_sniff_line(sniff, i);
        gboolean thread = ct_str_starts(s, "Thread ");
        headings += thread && ct_str_has(s, "LWP ") && ct_str_has(s, "(");
        headings += thread && (ct_str_has(s, " (idle") || ct_str_has(s, " (active"));
        headings += ct_str_has(s, "(most recent call first)") &&
                    (thread || ct_str_starts(s, "Current thread 0x"));
        headings += ct_str_starts(s, "TID ") && ct_str_ends(s, ":");
        frames += ct_str_starts(s, "#") && s.n > 8 && g_ascii_isdigit(s.p[1]) &&
                  (ct_str_has(s, " in ") || ct_str_has(s, " (") || ct_str_has(s, " 0x"));
        kernel += ct_str_starts(s, "[<0>] ") || (ct_str_starts(s, "[<f") && ct_str_has(s, "+0x"));
        fatal |= ct_str_starts(s, "Fatal Python error: ") ||
                 (ct_str_starts(s, "Python v") && i > 0 &&
                  ct_str_starts(ct_sniff_line(sniff, i - 1), "Process "));
        signals += (ct_str_starts(s, "*** SIG") && ct_str_has(s, "stack trace")) ||
                   ct_str_has(s, "*** Process received signal ***");
    }
    if (headings || signals)
        return headings + frames > 1 || signals ? 90 : 82;
    if (kernel > 1)
        return 85;
    if (frames >= 3)
        return 84;
    return fatal ? 60 : 0; /* its stacks follow after an empty line */
}

const CtParser ct_parser_stacks = {
    .id = "stacks",
    .summary = "stacks of threads and of crashes",
    .doc = "gdb (thread apply all bt), pstack, eu-stack, py-spy dump with and without --native, "
           "faulthandler, /proc/PID/stack, and the stacks that glog, boost, PyTorch, Open MPI and "
           "backtrace_symbols print at a signal. Each thread becomes an event thread-wait with "
           "its state: lock, gil, cuda-sync, cuda-free, cuda-alloc, cuda-load, cuda-launch, "
           "collective, driver, idle, running; a lock inside of a CUDA call counts as that call, "
           "and a thread of the driver that runs program code is a stream callback. A crash "
           "becomes crash-frame with the first function outside of the C library.",
    .sniff = sniff,
    .begin = begin,
    .line = line,
    .finish = finish,
};
