/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters that rise: within a series, or between two snapshots of the same state.
 */
#include <math.h>
#include <string.h>

#include "analyze/analyzer.h"
#include "analyze/clock.h"

static const char *const counter_metrics[] = {"gpu.ecc.corrected", "gpu.ecc.uncorrected",
                                              "gpu.pcie.replays", "errors"};

static gboolean is_counter(const char *metric)
{
    for (gsize i = 0; i < G_N_ELEMENTS(counter_metrics); i++)
        if (g_str_equal(metric, counter_metrics[i]))
            return TRUE;
    return FALSE;
}

static void report(CtEvidence *ev, const char *subject, const char *metric, double rise,
                   guint steps, gint64 t0, gint64 t1, gint64 *out)
{
    g_autofree char *text =
        g_strdup_printf("%s rises by %.0f in %u step%s", metric, rise, steps, steps == 1 ? "" : "s");
    g_autofree char *detail =
        g_strdup_printf("{\"metric\":\"%s\",\"steps\":%u}", metric, steps);
    *out = ct_evidence_add_finding(ev, &(CtFindingRow){
                                           .analyzer = "counters",
                                           .kind = "counter-step",
                                           .severity = CT_SEV_WARNING,
                                           .subject = subject,
                                           .t0_ns = t0,
                                           .t1_ns = t1,
                                           .number = rise,
                                           .confidence = 1,
                                           .text = text,
                                           .detail = detail,
                                       });
}

static void run_series(CtEvidence *ev, guint index)
{
    CtColumns c = {0};
    ct_columns_read(ev, index, &c);
    double rise = 0;
    guint steps = 0, cited = 0;
    gsize where[5];
    gsize first = 0, last = 0;
    for (gsize i = 1; i < c.n; i++) {
        if (c.x[i] <= c.x[i - 1]) /* a fall is a reset or a wrap */
            continue;
        rise += c.x[i] - c.x[i - 1];
        if (steps++ == 0)
            first = i;
        last = i;
        if (cited < G_N_ELEMENTS(where))
            where[cited++] = i;
    }
    /* `errors` of an application counts per interval; only its being non-zero tells, and that is
     * an event of its own. */
    if (steps && !g_str_equal(c.view.metric, "errors")) {
        gint64 id;
        report(ev, c.view.subject, c.view.metric, rise, steps,
               c.timed ? (gint64)(c.t[first] * 1e9) : 0, c.timed ? (gint64)(c.t[last] * 1e9) : 0,
               &id);
        for (guint i = 0; i < cited; i++)
            ct_evidence_cite(ev, id, "series", c.view.id, c.line[where[i]]);
    }
    ct_columns_clear(&c);
}

/* The same counter in two sections: nvidia-smi -q before and after. */
static void run_snapshots(CtEvidence *ev)
{
    static const char sql[] =
        "SELECT a.id, b.id, a.subject, a.key, b.number - a.number, a.line, b.line, "
        " (SELECT max(t.number) FROM fact t WHERE t.section = b.section AND t.key = 'snapshot.time')"
        " - (SELECT max(t.number) FROM fact t WHERE t.section = a.section AND "
        "t.key = 'snapshot.time') "
        "FROM fact a JOIN fact b ON b.key = a.key AND b.subject IS a.subject "
        "AND b.section <> a.section AND b.number > a.number "
        "WHERE (a.key GLOB 'gpu.clock-reason-counter.*' OR a.key GLOB 'gpu.ecc.*' OR "
        "a.key = 'gpu.pcie.replays' OR a.key GLOB 'gpu.remap.*') "
        "AND a.status = 'ok' AND b.status = 'ok' "
        "AND coalesce((SELECT max(t.number) FROM fact t WHERE t.section = b.section AND "
        "t.key = 'snapshot.time') > (SELECT max(t.number) FROM fact t WHERE "
        "t.section = a.section AND t.key = 'snapshot.time'), b.section > a.section) "
        "LIMIT 200";
    sqlite3_stmt *st = NULL;
    if (sqlite3_prepare_v2(ct_evidence_db(ev), sql, -1, &st, NULL) != SQLITE_OK)
        return;
    while (sqlite3_step(st) == SQLITE_ROW) {
        const char *key = (const char *)sqlite3_column_text(st, 3);
        double rise = sqlite3_column_double(st, 4);
        double elapsed_ns = sqlite3_column_double(st, 7);
        gboolean time = g_str_has_prefix(key, "gpu.clock-reason-counter.");
        g_autofree char *human = time ? ct_human_ns(rise) : g_strdup_printf("%.0f", rise);
        g_autofree char *text =
            g_strdup_printf("%s rose by %s between two snapshots", key, human);
        double share = time && elapsed_ns > 0 ? rise / elapsed_ns : 0;
        g_autofree char *detail = g_strdup_printf(
            "{\"metric\":\"%s\",\"steps\":1,\"share\":%.3f,\"elapsed_ns\":%.0f}", key, share,
            elapsed_ns);
        gint64 id = ct_evidence_add_finding(
            ev, &(CtFindingRow){
                    .analyzer = "counters",
                    .kind = "counter-step",
                    .severity = CT_SEV_WARNING,
                    .subject = (const char *)sqlite3_column_text(st, 2),
                    .number = rise,
                    .confidence = 1,
                    .text = text,
                    .detail = detail,
                });
        ct_evidence_cite(ev, id, "fact", sqlite3_column_int64(st, 1),
                         (guint)sqlite3_column_int64(st, 6));
        ct_evidence_cite(ev, id, "fact", sqlite3_column_int64(st, 0),
                         (guint)sqlite3_column_int64(st, 5));
    }
    sqlite3_finalize(st);
}

static void run(CtEvidence *ev)
{
    for (guint i = 0; i < ct_evidence_n_series(ev); i++)
        if (is_counter(ct_evidence_series_at(ev, i).metric))
            run_series(ev, i);
    run_snapshots(ev);
}

const CtAnalyzer ct_analyzer_counters = {
    .id = "counters",
    .summary = "error and event counters that rise, in a series or between two snapshots",
    .doc = "A fall is a reset and does not count.",
    .emits = "counter-step",
    .run = run,
};
