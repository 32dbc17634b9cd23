/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trace as a whole, requests or not: ranges of the program that say themselves that they read,
 * decode or wait while the GPU is idle; work that comes once in seconds; and, where no requests
 * are seen, what the run spends its time on.
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analyzer.h"
#include "analyze/clock.h"
#include "analyze/request-spans.h"
#include "analyze/stats.h"

typedef struct {
    gint64 section, fact; /* fact is the row that a finding cites */
    double requests, span, kernels, tiny, launches, syncs, allocs;
    double pageable, kernel_mean, busy, rate;
    double alloc, copy_call, sync, launch, call;
    double input, queue; /* shares of the run */
    gint64 input_fact, queue_fact;
    char *input_name, *queue_name;
} Trace;

static void trace_clear(Trace *t)
{
    g_free(t->input_name);
    g_free(t->queue_name);
}

static gboolean read_trace(CtEvidence *ev, gint64 section, Trace *t)
{
    sqlite3_stmt *st = NULL;
    *t = (Trace){.section = section};
    if (sqlite3_prepare_v2(ct_evidence_db(ev),
                           "SELECT substr(key, 7), number, value, id FROM fact WHERE section = ? "
                           "AND key >= 'trace.' AND key < 'trace/' AND subject = 'request'",
                           -1, &st, NULL) != SQLITE_OK)
        return FALSE;
    sqlite3_bind_int64(st, 1, section);
    const struct {
        const char *key;
        double *to;
    } plain[] = {
        {"requests", &t->requests},         {"run.span", &t->span},
        {"run.kernels", &t->kernels},       {"run.tiny", &t->tiny},
        {"run.launches", &t->launches},     {"run.syncs", &t->syncs},
        {"run.allocs", &t->allocs},         {"run.pageable", &t->pageable},
        {"run.kernel-mean", &t->kernel_mean}, {"run.busy", &t->busy},
        {"pageable-rate", &t->rate},        {"run.part.alloc", &t->alloc},
        {"run.part.copy-call", &t->copy_call}, {"run.part.sync", &t->sync},
        {"run.part.launch", &t->launch},    {"run.part.call", &t->call},
        {"named.input", &t->input},         {"named.queue", &t->queue},
    };
    while (sqlite3_step(st) == SQLITE_ROW) {
        const char *key = (const char *)sqlite3_column_text(st, 0);
        const char *value = (const char *)sqlite3_column_text(st, 2);
        for (guint i = 0; i < G_N_ELEMENTS(plain); i++)
            if (g_str_equal(key, plain[i].key))
                *plain[i].to = sqlite3_column_double(st, 1);
        if (g_str_equal(key, "named.input") && !t->input_name) {
            t->input_name = g_strdup(value);
            t->input_fact = sqlite3_column_int64(st, 3);
        } else if (g_str_equal(key, "named.queue") && !t->queue_name) {
            t->queue_name = g_strdup(value);
            t->queue_fact = sqlite3_column_int64(st, 3);
        } else if (g_str_equal(key, "kernel-mean")) {
            t->fact = sqlite3_column_int64(st, 3);
        }
    }
    sqlite3_finalize(st);
    return TRUE;
}

static void add(CtEvidence *ev, const char *kind, const char *subject, double share, gint64 fact,
                json_t *o, const char *text)
{
    char *detail = json_dumps(o, JSON_COMPACT);
    json_decref(o);
    gint64 id = ct_evidence_add_finding(ev, &(CtFindingRow){.analyzer = "whole-trace",
                                                            .kind = kind,
                                                            .severity = CT_SEV_WARNING,
                                                            .subject = subject,
                                                            .number = share,
                                                            .confidence = 0.8,
                                                            .text = text,
                                                            .detail = detail});
    free(detail);
    if (fact)
        ct_evidence_cite(ev, id, "fact", fact, 0);
}

/* The thread that launches is in such a range while the GPU is idle, for much of the run. */
static void named_ranges(CtEvidence *ev, const Trace *t)
{
    if (t->input > 0.3) {
        g_autofree char *text = g_strdup_printf(
            "the GPU is idle for %.0f %% of the run while the program is in ranges such as \"%s\"",
            100 * t->input, t->input_name ? t->input_name : "");
        add(ev, "run-input-bound", NULL, t->input, t->input_fact,
            json_pack("{s:s}", "range", t->input_name ? t->input_name : ""), text);
    }
    if (t->queue > 0.3) {
        g_autofree char *text = g_strdup_printf(
            "the program waits for %.0f %% of the run in ranges such as \"%s\"", 100 * t->queue,
            t->queue_name ? t->queue_name : "");
        add(ev, "run-queue", NULL, t->queue, t->queue_fact,
            json_pack("{s:s, s:f}", "range", t->queue_name ? t->queue_name : "", "share", t->queue),
            text);
    }
}

static json_t *numbers(const Trace *t, double share)
{
    return json_pack("{s:i, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:b, s:f}", "n", 0, "share", share,
                     "kernels", t->kernels, "syncs", t->syncs, "allocs", t->allocs,
                     "kernel_mean_ns", t->kernel_mean, "busy", t->busy, "rate", t->rate, "outliers",
                     0, "tiny", t->tiny / MAX(t->kernels, 1));
}

/* The parts are the time in which the GPU is idle and a launching thread is in such a call. */
static void without_requests(CtEvidence *ev, const Trace *t)
{
    if (t->requests > 0 || t->kernels < 50 || t->span <= 0)
        return;
    double calls = (t->launch + t->call) / t->span;
    g_autofree char *mean = ct_human_ns(t->kernel_mean);
    if (t->pageable + t->copy_call > 0.25 * t->span && t->pageable > 0.15 * t->span) {
        double share = MIN((t->pageable + t->copy_call) / t->span, 1);
        g_autofree char *text = g_strdup_printf(
            "copies of pageable memory take %.0f %% of the run", 100 * share);
        add(ev, "run-pageable-copy", NULL, share, t->fact, numbers(t, share), text);
    }
    if (t->alloc > 0.15 * t->span && t->allocs * 100 >= t->kernels && t->kernels >= 500) {
        g_autofree char *text = g_strdup_printf(
            "the GPU is idle for %.0f %% of the run while memory is allocated or freed (%.0f "
            "calls)", 100 * t->alloc / t->span, t->allocs);
        add(ev, "run-allocation", NULL, t->alloc / t->span, t->fact,
            numbers(t, t->alloc / t->span), text);
    }
    if (t->syncs * 12 > t->kernels && t->syncs >= 50 && t->busy < 0.5) {
        g_autofree char *text = g_strdup_printf(
            "%.0f waits for the GPU in a run of %.0f kernels; the GPU is busy for %.0f %% of it",
            t->syncs, t->kernels, 100 * t->busy);
        add(ev, "run-sync-bound", NULL, 1 - t->busy, t->fact, numbers(t, 1 - t->busy), text);
    } else if (t->kernels >= 1000 && t->kernel_mean < 30e3 && t->busy < 0.5 && calls > 0.25) {
        g_autofree char *text = g_strdup_printf(
            "%.0f kernels of %s, and the GPU is busy for %.0f %% of the run", t->kernels, mean,
            100 * t->busy);
        add(ev, "run-launch-bound", NULL, 1 - t->busy, t->fact, numbers(t, 1 - t->busy), text);
    }
}

/* Requests that come once in seconds, each after a pause in which the GPU has nothing to do. */
static void sparse(CtEvidence *ev, const CtRequestSet *s)
{
    guint n = s->requests->len, after = 0;
    gint64 shortest = G_MAXINT64;
    gboolean ranges = g_strcmp0(s->found_by, "range") == 0;
    const gint64 pause = G_GINT64_CONSTANT(1000000000);
    for (guint i = 1; i < n; i++) {
        const CtRequestSpan *last = &g_array_index(s->requests, CtRequestSpan, i - 1);
        gint64 gap = g_array_index(s->requests, CtRequestSpan, i).t0 - last->t1;
        if (!ranges) /* they last until the next one begins */
            gap = (gint64)last->gap;
        if (gap >= pause) {
            after++;
            shortest = MIN(shortest, gap);
        }
    }
    double work = ranges ? s->typical : s->typical - s->gap;
    if (s->total != (gint64)n || n < 5 || after * 10 < (n - 1) * 8 || work > 1e9 / 4)
        return;
    g_autofree char *gap = ct_human_ns((double)shortest);
    g_autofree char *text = g_strdup_printf(
        "%u of %u requests come after pauses of %s or more, in which a GPU lowers its clocks",
        after, n, gap);
    json_t *o = json_pack("{s:I, s:I, s:f}", "after", (json_int_t)after, "n", (json_int_t)n,
                          "pause_ns", (double)shortest);
    add(ev, "run-sparse", s->name, (double)after / n, 0, o, text);
}

/* The same kernels take the same time, to a percent or so, while the clock stands. Where all of a
 * request's take longer and shorter without anybody else at work, the clock moves. */
static void clock_moves(CtEvidence *ev, const CtRequestSet *s)
{
    guint n = 0, held = 0, told = 0, uneven = 0;
    g_autofree double *x = g_new(double, s->requests->len + 1);
    for (guint i = 0; i < s->requests->len; i++) {
        const CtRequestSpan *r = &g_array_index(s->requests, CtRequestSpan, i);
        held += r->n[CT_RN_HITS] > 0 || r->part[CT_RP_FOREIGN] > 0.02 * (double)(r->t1 - r->t0);
        if (r->stretch > 0)
            x[n++] = r->stretch;
        told += r->even >= 0;
        uneven += r->even >= 0 && r->even < 0.5;
    }
    /* One kernel that takes longer than the others do moves the sum as well, and is no clock. */
    if (n < 20 || held * 20 > s->requests->len || uneven * 2 > told)
        return;
    guint quarter = n / 4, above = 0;
    double first = ct_median(x, quarter), last = ct_median(x + n - quarter, quarter);
    double low = ct_quantile(x, n, 0.05), high = ct_quantile(x, n, 0.95);
    for (guint i = 0; i < n; i++)
        above += x[i] > 0.5 * (low + high);
    double busy = s->part[CT_RP_KERNEL] / s->typical;
    if (low <= 0 || high / low < 1.07 || busy < 0.5)
        return;
    g_autofree char *text = g_strdup_printf(
        "the same kernels take up to %.0f %% longer at times, all of them, and the GPU works for "
        "nobody else: its clock moves", 100 * (high / low - 1));
    json_t *o = json_pack("{s:f, s:f, s:f, s:f}", "ratio", high / low, "last_to_first",
                          first > 0 ? last / first : 1, "busy", busy, "above",
                          (double)above / n);
    add(ev, "run-clock-moves", s->name, high / low, 0, o, text);
}

static void run(CtEvidence *ev)
{
    g_autoptr(GArray) sections = g_array_new(FALSE, FALSE, sizeof(gint64));
    sqlite3_stmt *st = NULL;
    ct_evidence_flush(ev);
    if (sqlite3_prepare_v2(ct_evidence_db(ev),
                           "SELECT DISTINCT section FROM fact WHERE key = 'trace.requests' AND "
                           "subject = 'request' ORDER BY 1 LIMIT 1000",
                           -1, &st, NULL) != SQLITE_OK)
        return;
    while (sqlite3_step(st) == SQLITE_ROW) {
        gint64 id = sqlite3_column_int64(st, 0);
        g_array_append_val(sections, id);
    }
    sqlite3_finalize(st);
    for (guint i = 0; i < sections->len; i++) {
        Trace t;
        if (!read_trace(ev, g_array_index(sections, gint64, i), &t))
            continue;
        named_ranges(ev, &t);
        without_requests(ev, &t);
        trace_clear(&t);
    }
    g_autoptr(GPtrArray) sets = ct_request_sets(ev);
    for (guint i = 0; i < sets->len; i++) {
        sparse(ev, g_ptr_array_index(sets, i));
        clock_moves(ev, g_ptr_array_index(sets, i));
    }
}

const CtAnalyzer ct_analyzer_whole_trace = {
    .id = "whole-trace",
    .summary = "named ranges with an idle GPU, sparse requests, traces without requests",
    .doc = "A range that names input or a queue counts as far as the GPU is idle and its thread is "
           "one that launches.",
    .emits = "run-input-bound,run-queue,run-sparse,run-clock-moves,run-launch-bound,run-sync-bound,"
             "run-pageable-copy,run-allocation",
    .run = run,
};
