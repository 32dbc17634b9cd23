/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Free memory in small pieces: the largest free blocks of a Jetson (tegrastats "lfb") are small at
 * the end of the record although a good part of the memory is not in use. Large contiguous
 * requests then fail. Judged by medians of the last quarter, since a page cache comes and goes.
 */
#include <string.h>

#include "analyze/analyzer.h"
#include "analyze/stats.h"

#define MIN_SAMPLES 3
#define SMALL_BLOCKS_BYTES (32.0 * 1024 * 1024)
#define FREE_SHARE 0.2
#define FREE_BYTES (512.0 * 1024 * 1024)

static double last_quarter(const CtSeriesView *v)
{
    gsize n = MAX(v->len / 4, MIN((gsize)MIN_SAMPLES, v->len));
    return ct_median(v->value + (v->len - n), n);
}

static double total_of(CtEvidence *ev, gint64 section)
{
    sqlite3_stmt *st = NULL;
    double total = 0;
    if (sqlite3_prepare_v2(ct_evidence_db(ev),
                           "SELECT max(number) FROM fact WHERE key = 'host.memory.total' AND "
                           "section = ?1 AND status = 'ok'",
                           -1, &st, NULL) != SQLITE_OK)
        return 0;
    sqlite3_bind_int64(st, 1, section);
    if (sqlite3_step(st) == SQLITE_ROW)
        total = sqlite3_column_double(st, 0);
    sqlite3_finalize(st);
    return total;
}

static gboolean used_in(CtEvidence *ev, gint64 section, double *out)
{
    for (guint i = 0; i < ct_evidence_n_series(ev); i++) {
        CtSeriesView v = ct_evidence_series_at(ev, i);
        if (v.section == section && v.len >= MIN_SAMPLES && g_str_equal(v.metric, "memory.used")) {
            *out = last_quarter(&v);
            return TRUE;
        }
    }
    return FALSE;
}

static void judge(CtEvidence *ev, const CtSeriesView *v)
{
    double used, total = total_of(ev, v->section), blocks = last_quarter(v);
    if (blocks > SMALL_BLOCKS_BYTES || total <= 0 || !used_in(ev, v->section, &used) ||
        total - used < FREE_BYTES || total - used < FREE_SHARE * total)
        return;
    g_autofree char *text = g_strdup_printf(
        "the largest free blocks hold %.1f MiB while %.0f MiB are not in use",
        blocks / 1048576, (total - used) / 1048576);
    g_autofree char *detail = g_strdup_printf("{\"metric\":\"memory.lfb\",\"free_bytes\":%.0f}",
                                              total - used);
    gint64 id = ct_evidence_add_finding(ev, &(CtFindingRow){.analyzer = "free-block",
                                                            .kind = "lfb-low",
                                                            .severity = CT_SEV_WARNING,
                                                            .subject = v->subject,
                                                            .number = blocks,
                                                            .confidence = 0.8,
                                                            .text = text,
                                                            .detail = detail});
    ct_evidence_cite(ev, id, "series", v->id, v->line[v->len - 1]);
}

static void run(CtEvidence *ev)
{
    guint n = ct_evidence_n_series(ev);
    for (guint i = 0; i < n; i++) {
        CtSeriesView v = ct_evidence_series_at(ev, i);
        if (v.len >= MIN_SAMPLES && g_str_equal(v.metric, "memory.lfb"))
            judge(ev, &v);
    }
}

const CtAnalyzer ct_analyzer_free_block = {
    .id = "free-block",
    .summary = "free memory of a Jetson that lies in small pieces",
    .doc = "Compares the largest free blocks with the memory that is not in use.",
    .emits = "lfb-low",
    .run = run,
};
