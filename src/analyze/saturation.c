/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which part has no room left: a video decoder at its limit beside an idle GPU, a GPU that is busy
 * all the time at one fixed clock, requests that wait far longer than they compute.
 */
#include <math.h>
#include <string.h>

#include "analyze/analyzer.h"
#include "analyze/clock.h"
#include "analyze/stats.h"

#define MIN_BUSY 4 /* samples: a pasted stretch of telemetry is short */
#define FULL 0.965 /* a sampled engine that never rests shows 97 to 100 % */

static gint64 finding(CtEvidence *ev, const char *kind, const char *subject, double number,
                      const char *text, const char *detail)
{
    return ct_evidence_add_finding(ev, &(CtFindingRow){
                                           .analyzer = "saturation",
                                           .kind = kind,
                                           .severity = CT_SEV_WARNING,
                                           .subject = subject,
                                           .number = number,
                                           .confidence = 0.9,
                                           .text = text,
                                           .detail = detail,
                                       });
}

/* The series of a metric in a section; a subject of NULL takes the first one. */
static gboolean series_of(CtEvidence *ev, gint64 section, const char *metric, const char *subject,
                          CtSeriesView *out)
{
    for (guint i = 0; i < ct_evidence_n_series(ev); i++) {
        *out = ct_evidence_series_at(ev, i);
        if (out->section == section && g_str_equal(out->metric, metric) &&
            (!subject || g_strcmp0(out->subject, subject) == 0))
            return TRUE;
    }
    return FALSE;
}

static gboolean is_decoder(const CtSeriesView *v)
{
    if (g_str_equal(v->metric, "gpu.decoder.util"))
        return TRUE;
    return g_str_equal(v->metric, "engine.util") && v->subject &&
           g_str_has_prefix(v->subject, "nvdec");
}

/* Decoder and GPU stand on the same lines, so their samples share an index. */
static void decoder(CtEvidence *ev, const CtSeriesView *dec)
{
    CtSeriesView gpu;
    gboolean own = g_str_equal(dec->metric, "gpu.decoder.util");
    if (!series_of(ev, dec->section, "gpu.util", own ? dec->subject : NULL, &gpu))
        return;
    gsize n = MIN(dec->len, gpu.len), full = 0, where = 0;
    g_autofree double *busy = g_new(double, n + 1);
    for (gsize i = 0; i < n; i++)
        if (dec->value[i] >= FULL) {
            busy[full++] = gpu.value[i];
            where = i;
        }
    if (full < 5 || full * 20 < n)
        return;
    double usual = ct_median(busy, full);
    if (usual > 0.7)
        return;
    g_autofree char *text = g_strdup_printf(
        "the video decoder is at its limit in %" G_GSIZE_FORMAT " of %" G_GSIZE_FORMAT
        " samples, the GPU at %.0f %% in these", full, n, 100 * usual);
    g_autofree char *detail = g_strdup_printf("{\"samples\":%" G_GSIZE_FORMAT
                                              ",\"gpu_util\":%.2f}", full, usual);
    gint64 id = finding(ev, "decoder-saturated", dec->subject, (double)full / (double)n, text,
                        detail);
    ct_evidence_cite(ev, id, "series", dec->id, dec->line[where]);
}

/* Busy nearly always, and the clock never moves: whatever the clock is held at is the limit. */
static void fixed_clock(CtEvidence *ev, const CtSeriesView *clock)
{
    CtSeriesView gpu;
    if (!series_of(ev, clock->section, "gpu.util", clock->subject, &gpu))
        return;
    gsize n = MIN(clock->len, gpu.len), busy = 0;
    for (gsize i = 0; i < n; i++)
        busy += gpu.value[i] >= 0.93;
    if (n < MIN_BUSY || busy * 5 < n * 4)
        return;
    double typical = ct_median(clock->value, n);
    double spread = ct_quantile(clock->value, n, 0.95) - ct_quantile(clock->value, n, 0.05);
    if (typical <= 0 || spread > 0.02 * typical)
        return;
    g_autofree char *text = g_strdup_printf(
        "the GPU is busy in %" G_GSIZE_FORMAT " of %" G_GSIZE_FORMAT
        " samples and its clock stays at %.0f MHz", busy, n, typical / 1e6);
    g_autofree char *detail = g_strdup_printf("{\"clock_hz\":%.0f,\"busy\":%.2f}", typical,
                                              (double)busy / (double)n);
    gint64 id = finding(ev, "gpu-busy-at-fixed-clock", clock->subject, typical, text, detail);
    ct_evidence_cite(ev, id, "series", clock->id, clock->line[n - 1]);
}

/* The time of computing: the longest stage that is named after it. */
static double compute_time(CtEvidence *ev, gint64 section)
{
    static const char *const names[] = {"latency.compute", "latency.compute-infer",
                                        "latency.infer",   "latency.gpu",
                                        "latency.model",   "latency"};
    double longest = 0;
    CtSeriesView v;
    for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
        if (series_of(ev, section, names[i], NULL, &v) && v.len >= 5)
            longest = MAX(longest, ct_median(v.value, v.len));
    return longest;
}

static void queue(CtEvidence *ev, const CtSeriesView *wait)
{
    if (wait->len < 5)
        return;
    double queue_ns = ct_median(wait->value, wait->len);
    double compute_ns = compute_time(ev, wait->section);
    if (queue_ns < 2e6 || compute_ns <= 0 || queue_ns < 2 * compute_ns)
        return;
    g_autofree char *q = ct_human_ns(queue_ns), *c = ct_human_ns(compute_ns);
    g_autofree char *text = g_strdup_printf("requests wait %s and compute %s", q, c);
    g_autofree char *detail = g_strdup_printf("{\"queue_ns\":%.0f,\"compute_ns\":%.0f}", queue_ns,
                                              compute_ns);
    gint64 id = finding(ev, "queue-over-compute", wait->metric, queue_ns / compute_ns, text, detail);
    ct_evidence_cite(ev, id, "series", wait->id, wait->line[wait->len / 2]);
}

static void run(CtEvidence *ev)
{
    guint n = ct_evidence_n_series(ev);
    for (guint i = 0; i < n; i++) {
        CtSeriesView v = ct_evidence_series_at(ev, i);
        if (v.len == 0)
            continue;
        if (is_decoder(&v))
            decoder(ev, &v);
        else if (g_str_equal(v.metric, "gpu.clock.sm"))
            fixed_clock(ev, &v);
        else if (g_str_has_prefix(v.metric, "latency.queue"))
            queue(ev, &v);
    }
}

const CtAnalyzer ct_analyzer_saturation = {
    .id = "saturation",
    .summary = "decoder, clock or queue without room",
    .doc = "A decoder counts as full from 97 % on, in at least five samples and one in twenty, with "
           "the GPU below 70 % in them. A queue counts when requests wait twice as long as they "
           "compute.",
    .emits = "decoder-saturated,gpu-busy-at-fixed-clock,queue-over-compute",
    .run = run,
};
