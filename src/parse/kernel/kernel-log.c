/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel logs. Messages are the signatures' part; what needs several lines or is a state of the
 * machine is read here: boots, kernel and driver versions, the memory report of the OOM killer
 * with its table of tasks.
 */
#include <string.h>

#include "parse/common/scan.h"
#include "parse/env/version-scan.h"

#define MAX_BOOTS 50u
#define MAX_TASKS 4000u
#define TOP_TASKS 5
#define LINES_READ_WHOLE 200000u
#define PAGE 4096.0

typedef struct {
    gint64 pid;
    double rss;
    char name[32];
    guint number;
} Task;

typedef struct {
    guint lines, boots, dumps;
    gboolean in_tasks, has_dump;
    gint rss_at, name_at; /* columns of the table at hand */
    Task top[TOP_TASKS];
    guint n_top, tasks;
    char driver[32];
} State;

static gpointer begin(CtEmit *emit)
{
    State *st = g_new0(State, 1);
    st->rss_at = st->name_at = -1;
    return st;
}

/* ---- the OOM killer's report ---- */

static void number_fact(CtEmit *emit, const CtLine *line, const char *subject, const char *key,
                        double value)
{
    char text[32];
    g_snprintf(text, sizeof(text), "%.0f", value);
    ct_emit_number(emit, line, subject, key, value, text);
}

static void end_tasks(State *st, CtEmit *emit)
{
    for (guint i = 0; i < st->n_top; i++) {
        char subject[40];
        CtLine line = ct_line_at(st->top[i].number, st->top[i].name, strlen(st->top[i].name));
        g_snprintf(subject, sizeof(subject), "process:%" G_GINT64_FORMAT, st->top[i].pid);
        number_fact(emit, &line, subject, "oom.task-rss", st->top[i].rss);
    }
    st->n_top = st->tasks = 0;
    st->in_tasks = FALSE;
}

/* "[  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name" */
static gboolean task_header(State *st, CtStr s)
{
    if (!ct_str_has(s, "total_vm") || !ct_str_has(s, " rss") || !ct_str_ends(s, "name"))
        return FALSE;
    CtStr rest = ct_str_from(s, (gsize)MAX(ct_str_find(s, "]"), -1) + 1);
    gint at = 1; /* the pid in brackets is column 0 */
    st->rss_at = -1;
    for (CtStr w = ct_str_token(&rest); w.n; w = ct_str_token(&rest), at++) {
        if (ct_str_eq(w, "rss"))
            st->rss_at = at;
        if (ct_str_eq(w, "name"))
            st->name_at = at;
    }
    st->in_tasks = st->rss_at > 0;
    st->has_dump = TRUE;
    return TRUE;
}

static void keep_top(State *st, gint64 pid, double rss, CtStr name, guint number)
{
    guint at = st->n_top;
    if (at == TOP_TASKS) {
        if (st->top[TOP_TASKS - 1].rss >= rss)
            return;
        at--;
    } else {
        st->n_top++;
    }
    while (at > 0 && st->top[at - 1].rss < rss) {
        st->top[at] = st->top[at - 1];
        at--;
    }
    st->top[at].pid = pid;
    st->top[at].rss = rss;
    st->top[at].number = number;
    ct_str_buf(name, st->top[at].name, sizeof(st->top[at].name));
}

static gboolean task_row(State *st, const CtLine *line, CtStr s)
{
    gssize close = ct_str_find(s, "]");
    gint64 pid;
    double rss = -1, n;
    if (!s.n || s.p[0] != '[' || close < 2 ||
        !ct_str_uint(ct_str_strip(ct_str(s.p + 1, (gsize)close - 1)), &pid))
        return FALSE;
    CtStr rest = ct_str_from(s, (gsize)close + 1), name = ct_str("", 0);
    gint at = 1;
    for (CtStr w = ct_str_token(&rest); w.n; w = ct_str_token(&rest), at++) {
        if (at == st->rss_at && ct_str_number(w, &n))
            rss = n * PAGE;
        if (at == st->name_at)
            name = w;
    }
    if (rss >= 0 && st->tasks++ < MAX_TASKS)
        keep_top(st, pid, rss, name, line->number);
    return TRUE;
}

static gboolean memory_line(State *st, CtEmit *emit, const CtLine *line, CtStr s)
{
    CtDim dim;
    double n;
    if (ct_str_has(s, "invoked oom-killer")) {
        end_tasks(st, emit);
        st->dumps++;
        return TRUE;
    }
    if (task_header(st, s))
        return TRUE;
    if (st->in_tasks) {
        if (task_row(st, line, s))
            return TRUE;
        end_tasks(st, emit);
    }
    if (!st->dumps)
        return FALSE;
    if (ct_str_starts(s, "Free swap  = ") && ct_quantity(ct_str_from(s, 13), &dim, &n)) {
        number_fact(emit, line, NULL, "oom.swap.free", n);
        return TRUE;
    }
    if (ct_str_starts(s, "Total swap = ") && ct_quantity(ct_str_from(s, 13), &dim, &n)) {
        number_fact(emit, line, NULL, "oom.swap.total", n);
        return TRUE;
    }
    if (ct_str_ends(s, " pages RAM") && ct_str_number(ct_str_head(s, s.n - 10), &n)) {
        number_fact(emit, line, NULL, "oom.memory.total", n * PAGE);
        return TRUE;
    }
    gssize free_at = ct_str_find(s, "free:");
    if (free_at >= 0 && ct_str_has(s, "free_cma:")) {
        CtStr rest = ct_str_from(s, (gsize)free_at + 5);
        if (ct_str_take_plain(&rest, &n))
            number_fact(emit, line, NULL, "oom.memory.free", n * PAGE);
        rest = ct_str_from(s, (gsize)ct_str_find(s, "free_cma:") + 9);
        if (ct_str_take_plain(&rest, &n))
            number_fact(emit, line, NULL, "oom.cma.free", n * PAGE);
        return TRUE;
    }
    return FALSE;
}

/* ---- boot and versions ---- */

static gboolean boot_line(State *st, CtEmit *emit, const CtLine *line, CtStr s)
{
    if (ct_str_starts(s, "Linux version ")) {
        CtStr rest = ct_str_from(s, 14), release = ct_str_token(&rest);
        if (st->boots++ < MAX_BOOTS) {
            ct_emit_text(emit, line, NULL, "version.kernel", release);
            if (ct_str_has(release, "-tegra"))
                ct_emit_fact(emit, line, NULL, "host.jetson", "yes");
        }
        return TRUE;
    }
    if (ct_str_starts(s, "Machine model: ") || ct_str_starts(s, "DMI: ")) {
        gsize n = s.p[0] == 'M' ? 15 : 5;
        ct_emit_text(emit, line, NULL, "host.model", ct_str_from(s, n));
        if (ct_str_has(s, "Jetson"))
            ct_emit_fact(emit, line, NULL, "host.jetson", "yes");
        return TRUE;
    }
    return FALSE;
}

/* "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build ..." */
static gboolean driver_line(State *st, CtEmit *emit, const CtLine *line, CtStr s)
{
    gssize at = ct_str_find(s, "NVRM: loading NVIDIA UNIX");
    if (at < 0)
        return FALSE;
    CtStr rest = ct_str_from(s, (gsize)at + 25);
    for (CtStr w = ct_str_token(&rest); w.n; w = ct_str_token(&rest)) {
        gsize n = ct_version_length(w);
        if (n == 0 || n != w.n || !memchr(w.p, '.', w.n))
            continue;
        if (strcmp(st->driver, CT_STR_BUF(w)) != 0) {
            ct_emit_text(emit, line, NULL, "version.driver.kernel", w);
            ct_emit_fact(emit, line, NULL, "driver.flavour",
                         ct_str_has(s, " Open ") ? "open" : "proprietary");
            ct_str_buf(w, st->driver, sizeof(st->driver));
        }
        break;
    }
    return TRUE;
}

static void line(gpointer state, const CtLine *line, CtEmit *emit)
{
    State *st = state;
    CtStr s = ct_line_str(line);
    if (!s.n)
        return;
    if (++st->lines == LINES_READ_WHOLE)
        ct_emit_enough(emit);
    if (driver_line(st, emit, line, s) || boot_line(st, emit, line, s))
        return;
    memory_line(st, emit, line, s);
}

static void finish(gpointer state, CtEmit *emit)
{
    State *st = state;
    end_tasks(st, emit);
    if (st->boots > 1) {
        char text[16];
        g_snprintf(text, sizeof(text), "%u", st->boots);
        ct_emit_number(emit, NULL, NULL, "kernel.boots", st->boots, text);
    }
    g_free(st);
}

static int sniff(const CtSniff *sniff)
{
    guint kernel = 0, lines = 0;
    for (guint i = 0; i < sniff->n_lines; i++) {
        if (!sniff->lines[i].raw_len)
            continue;
        lines++;
        kernel += sniff->lines[i].envelope == CT_ENVELOPE_KERNEL;
    }
    if (!kernel)
        return ct_command_runs(sniff->command, "dmesg") && lines ? 40 : 0;
    return kernel * 2 >= lines ? 60 : 0;
}

static const char *const anchors[] = {"NVRM: loading NVIDIA UNIX", "] Linux version ",
                                      "kernel: Linux version ", "invoked oom-killer",
                                      "Machine model: ", "Free swap  = ", "Total swap = ", NULL};

const CtParser ct_parser_kernel_log = {
    .id = "kernel-log",
    .summary = "kernel messages",
    .doc = "dmesg in all its forms, journal and syslog lines of the kernel, /dev/kmsg, pstore: "
           "boots, kernel and driver versions, board, the OOM killer's report (free memory, swap, "
           "CMA, the largest tasks). The messages themselves are read by signatures; the frame "
           "gives the coverage kernel-log with its span of time.",
    .sniff = sniff,
    .begin = begin,
    .line = line,
    .finish = finish,
    .anchors = anchors,
};
