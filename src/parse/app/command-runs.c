/* SPDX-License-Identifier: Apache-2.0 */
/* The runs of `capture -- COMMAND`: how each ended, how often it failed, how long that took. */
#include <string.h>

#include "parse/common/scan.h"

#define MAX_RUNS 2000u

typedef struct {
    guint runs;
} State;

static gpointer begin(CtEmit *emit)
{
    return g_new0(State, 1);
}

/* "Run 3: killed by SIGSEGV after 12.300 s", "Run 4: exit code 0 after 20.002 s" */
static gboolean run_line(State *st, const CtLine *line, CtEmit *emit, CtStr s)
{
    CtStr rest = ct_str_from(s, 4), number, how;
    char subject[32];
    gint64 code = 0;
    double seconds;
    if (!ct_str_starts(s, "Run ") || !ct_str_cut(&rest, ": ", &number) ||
        !ct_str_cut(&rest, " after ", &how) || st->runs >= MAX_RUNS)
        return FALSE;
    st->runs++;
    if (!ct_str_uint(number, &code) || code < 1 || code > MAX_RUNS)
        return TRUE;
    /* The endings themselves are events already: the signatures know these words. */
    g_snprintf(subject, sizeof subject, "run:%d", (int)code);
    ct_emit_fact(emit, line, subject, "runs.ended", CT_STR_BUF(how));
    if (ct_str_take_plain(&rest, &seconds) && seconds >= 0 && seconds < 1e9)
        ct_emit_number(emit, line, subject, "runs.time", seconds * 1e9, NULL);
    return TRUE;
}

static double after(CtStr s, const char *word)
{
    double n;
    gssize at = ct_str_find(s, word);
    CtStr rest = at < 0 ? ct_str("", 0) : ct_str_from(s, (gsize)at + strlen(word));
    return at >= 0 && ct_str_take_plain(&rest, &n) ? n : -1;
}

static void number(CtEmit *emit, const CtLine *line, const char *key, double value, double factor)
{
    if (value >= 0 && value < 1e15)
        ct_emit_number(emit, line, NULL, key, value * factor, NULL);
}

static void line(gpointer state, const CtLine *line, CtEmit *emit)
{
    State *st = state;
    CtStr s = ct_line_str(line), rest = s;
    double slope;
    if (run_line(st, line, emit, s))
        return;
    if (ct_str_starts(s, "Failures: ")) {
        number(emit, line, "runs.failed", after(s, "Failures: "), 1);
        number(emit, line, "runs.count", after(s, " of "), 1);
        number(emit, line, "runs.failure-rate", after(s, ", "), 0.01);
        number(emit, line, "runs.failure-rate.low", after(s, "interval "), 0.01);
        number(emit, line, "runs.failure-rate.high", after(s, " to "), 0.01);
    } else if (ct_str_starts(s, "Time to failure: ")) {
        number(emit, line, "runs.time-to-failure.least", after(s, "least "), 1e9);
        number(emit, line, "runs.time-to-failure.median", after(s, "median "), 1e9);
        number(emit, line, "runs.time-to-failure.most", after(s, "most "), 1e9);
    } else if (ct_str_starts(s, "Trend of the time to failure: ")) {
        rest = ct_str_from(s, strlen("Trend of the time to failure: "));
        CtStr word;
        if (!ct_str_cut(&rest, ", ", &word))
            return;
        ct_emit_fact(emit, line, NULL, "runs.trend", CT_STR_BUF(word));
        if (ct_str_take_plain(&rest, &slope))
            ct_emit_number(emit, line, NULL, "runs.trend.slope", slope * 1e9, NULL);
        number(emit, line, "runs.trend.p", after(s, ", p "), 1);
    }
}

static void finish(gpointer state, CtEmit *emit)
{
    State *st = state;
    if (st->runs)
        ct_emit_coverage(emit, "runs", NULL);
    g_free(st);
}

static int sniff(const CtSniff *sniff)
{
    gboolean head = ct_str_starts(ct_sniff_first(sniff), "Runs of: ") ||
                    (sniff->n_lines > 1 && ct_str_starts(ct_sniff_line(sniff, 1), "Runs of: "));
    return head && ct_sniff_has(sniff, "Run 1: ") ? 96 : 0;
}

const CtParser ct_parser_command_runs = {
    .id = "command-runs",
    .summary = "how the runs of capture -- COMMAND ended",
    .doc = "One line a run with its exit code or signal and its time, and what several runs show: "
           "runs.failure-rate with its 95 % interval, runs.time-to-failure, runs.trend (shrinks "
           "when the time to failure falls from run to run).",
    .sniff = sniff,
    .begin = begin,
    .line = line,
    .finish = finish,
    .no_signatures = TRUE,
};
