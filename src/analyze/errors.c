/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first error of each section and of the whole, and errors that every later call repeats.
 */
#include <string.h>

#include "analyze/analyzer.h"
#include "analyze/clock.h"

/* The row with the smallest sequence number of each section: with min() the other columns are those
 * of its row. One pass, since a hostile log may have as many sections as events. */
static const char first_sql[] =
    "SELECT e.id, e.section, e.line, e.kind, e.text, e.t_ns, "
    " CASE WHEN e.t_ns NOT NULL AND (s.clock = 'wall' OR s.clock_offset_ns NOT NULL) "
    "  THEN e.t_ns + coalesce(s.clock_offset_ns, 0) END AS wall, min(e.seq) AS seq "
    "FROM event e JOIN section s ON s.id = e.section "
    "WHERE e.severity IN ('error', 'fatal') GROUP BY e.section "
    "ORDER BY wall IS NULL, wall, seq LIMIT 50";

static void first_errors(CtEvidence *ev)
{
    sqlite3_stmt *st = NULL;
    if (sqlite3_prepare_v2(ct_evidence_db(ev), first_sql, -1, &st, NULL) != SQLITE_OK)
        return;
    for (gboolean first = TRUE; sqlite3_step(st) == SQLITE_ROW; first = FALSE) {
        const char *kind = (const char *)sqlite3_column_text(st, 3);
        g_autofree char *detail = g_strdup_printf("{\"overall\":%d,\"event\":%lld}", first,
                                                  (long long)sqlite3_column_int64(st, 0));
        gint64 id = ct_evidence_add_finding(
            ev, &(CtFindingRow){
                    .analyzer = "errors",
                    .kind = "first-error",
                    .severity = CT_SEV_INFO,
                    .subject = kind,
                    .t0_ns = sqlite3_column_int64(st, 6),
                    .number = first,
                    .confidence = 1,
                    .text = (const char *)sqlite3_column_text(st, 4),
                    .detail = detail,
                });
        ct_evidence_cite(ev, id, "event", sqlite3_column_int64(st, 0),
                         (guint)sqlite3_column_int64(st, 2));
    }
    sqlite3_finalize(st);
}

/* Codes after which the context is lost, so that every later call returns the same; the list is a
 * property of CUDA (driver_types.h) and not of any knowledge folder. */
static const char repeats_sql[] =
    "SELECT e.section, e.code, min(e.name), sum(e.repeats), min(e.id), max(e.id), "
    " count(DISTINCT json_extract(e.detail, '$.call')) "
    "FROM event e "
    "WHERE e.kind = 'cuda-error' AND e.code IN (214, 700, 702, 709, 710, 714, 715, 716, 717, 718, "
    "719, 721) GROUP BY e.section, e.code HAVING sum(e.repeats) >= 2";

static void repeated_errors(CtEvidence *ev)
{
    sqlite3_stmt *st = NULL;
    if (sqlite3_prepare_v2(ct_evidence_db(ev), repeats_sql, -1, &st, NULL) != SQLITE_OK)
        return;
    while (sqlite3_step(st) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(st, 2);
        gint64 n = sqlite3_column_int64(st, 3);
        g_autofree char *text = g_strdup_printf("%s returns %" G_GINT64_FORMAT " times",
                                                name ? name : "the same CUDA error", n);
        g_autofree char *detail = g_strdup_printf("{\"code\":%lld,\"calls\":%lld}",
                                                  (long long)sqlite3_column_int64(st, 1),
                                                  (long long)sqlite3_column_int64(st, 6));
        gint64 id = ct_evidence_add_finding(ev, &(CtFindingRow){
                                                    .analyzer = "errors",
                                                    .kind = "error-repeats",
                                                    .severity = CT_SEV_WARNING,
                                                    .subject = name,
                                                    .number = (double)n,
                                                    .confidence = 1,
                                                    .text = text,
                                                    .detail = detail,
                                                });
        ct_evidence_cite(ev, id, "event", sqlite3_column_int64(st, 4), 0);
        if (sqlite3_column_int64(st, 5) != sqlite3_column_int64(st, 4))
            ct_evidence_cite(ev, id, "event", sqlite3_column_int64(st, 5), 0);
    }
    sqlite3_finalize(st);
}

static void run(CtEvidence *ev)
{
    first_errors(ev);
    repeated_errors(ev);
}

const CtAnalyzer ct_analyzer_errors = {
    .id = "errors",
    .summary = "the first error of each section and of the whole; errors that repeat",
    .doc = "Order within a section is that of its lines; between sections that of aligned clocks.",
    .emits = "first-error,error-repeats",
    .run = run,
};
