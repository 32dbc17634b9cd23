/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shape of a latency series: cold start, outliers, level shift, two modes, drift. Stretches of
 * slow requests become rows of `span` (track "slow"), which later analyzers set against the clock
 * and against other series.
 */
#include <math.h>
#include <string.h>

#include "analyze/analyzer.h"
#include "analyze/clock.h"
#include "analyze/detect.h"
#include "analyze/stats.h"

#define MAX_WINDOWS 2000u
#define COLD_REQUESTS 10 /* "the first requests" of a process */

typedef struct {
    CtColumns c;
    double typical, spread, limit; /* ns; slow is above limit */
    GArray *starts;                /* gsize: indexes of first requests after a process start */
} Latency;

static gboolean is_latency(const char *metric)
{
    return g_str_equal(metric, "latency") || g_str_has_prefix(metric, "latency.");
}

static gboolean slow(const Latency *l, gsize i)
{
    return l->c.x[i] > l->limit;
}

/* Index 0, and each sample that follows a line on which a process or engine started. */
static void find_starts(CtEvidence *ev, Latency *l)
{
    gsize zero = 0;
    l->starts = g_array_new(FALSE, FALSE, sizeof(gsize));
    g_array_append_val(l->starts, zero);
    sqlite3_stmt *st = NULL;
    if (sqlite3_prepare_v2(ct_evidence_db(ev),
                           "SELECT line FROM event WHERE section = ? AND kind IN "
                           "('process-start', 'engine-loaded') AND line NOT NULL UNION "
                           "SELECT last_line FROM event WHERE section = ?1 AND kind IN "
                           "('process-start', 'engine-loaded') AND repeats = 2 ORDER BY 1",
                           -1, &st, NULL) != SQLITE_OK)
        return;
    sqlite3_bind_int64(st, 1, l->c.view.section);
    gsize i = 0;
    while (sqlite3_step(st) == SQLITE_ROW) {
        guint line = (guint)sqlite3_column_int64(st, 0);
        while (i < l->c.n && l->c.line[i] < line)
            i++;
        gsize last = g_array_index(l->starts, gsize, l->starts->len - 1);
        if (i < l->c.n && i > last)
            g_array_append_val(l->starts, i);
    }
    sqlite3_finalize(st);
}

static gboolean near_start(const Latency *l, gsize i)
{
    for (guint s = 0; s < l->starts->len; s++) {
        gsize at = g_array_index(l->starts, gsize, s);
        if (i >= at && i < at + COLD_REQUESTS)
            return TRUE;
    }
    return FALSE;
}

static gint64 finding(CtEvidence *ev, const Latency *l, const char *kind, gsize from, gsize to,
                      double number, double confidence, const char *text, const char *extra)
{
    g_autofree char *detail = g_strdup_printf(
        "{\"metric\":\"%s\",\"typical_ns\":%.0f,\"limit_ns\":%.0f,\"n\":%" G_GSIZE_FORMAT "%s%s}",
        l->c.view.metric, l->typical, l->limit, l->c.n, extra ? "," : "", extra ? extra : "");
    gint64 id = ct_evidence_add_finding(
        ev, &(CtFindingRow){
                .analyzer = "latency",
                .kind = kind,
                .severity = CT_SEV_WARNING,
                .subject = l->c.view.subject ? l->c.view.subject : l->c.view.metric,
                .t0_ns = l->c.timed ? (gint64)(l->c.t[from] * 1e9) : 0,
                .t1_ns = l->c.timed ? (gint64)(l->c.t[to] * 1e9) : 0,
                .number = number,
                .confidence = confidence,
                .text = text,
                .detail = detail,
            });
    ct_evidence_cite(ev, id, "series", l->c.view.id, l->c.line[from]);
    if (to != from)
        ct_evidence_cite(ev, id, "series", l->c.view.id, l->c.line[to]);
    return id;
}

static void cold_start(CtEvidence *ev, const Latency *l)
{
    guint cold = 0;
    double worst = 0;
    gsize at_worst = 0;
    for (guint s = 0; s < l->starts->len; s++) {
        gsize at = g_array_index(l->starts, gsize, s);
        /* Slow at once, typical again soon after. */
        gboolean recovers = FALSE;
        for (gsize i = at + 1; i < l->c.n && i < at + COLD_REQUESTS; i++)
            recovers |= !slow(l, i);
        if (l->c.x[at] > MAX(l->limit, 1.5 * l->typical) && recovers) {
            cold++;
            if (l->c.x[at] > worst) {
                worst = l->c.x[at];
                at_worst = at;
            }
        }
    }
    guint others = 0;
    for (gsize i = 0; i < l->c.n; i++)
        others += slow(l, i) && !near_start(l, i);
    if (cold == 0 || 2 * cold < l->starts->len)
        return;
    g_autofree char *first = ct_human_ns(worst);
    g_autofree char *later = ct_human_ns(l->typical);
    g_autofree char *text =
        g_strdup_printf("the first request takes %s, later ones %s (%u of %u starts)", first,
                        later, cold, l->starts->len);
    g_autofree char *extra =
        g_strdup_printf("\"first_ns\":%.0f,\"starts\":%u,\"cold\":%u,\"slow_elsewhere\":%u", worst,
                        l->starts->len, cold, others);
    finding(ev, l, "latency-cold-start", at_worst, at_worst, worst / l->typical,
            others == 0 ? 0.95 : 0.6, text, extra);
}

static void add_window(CtEvidence *ev, const Latency *l, gsize from, gsize to)
{
    g_autofree char *detail = g_strdup_printf("{\"series\":%" G_GINT64_FORMAT
                                              ",\"from\":%" G_GSIZE_FORMAT
                                              ",\"to\":%" G_GSIZE_FORMAT ",\"timed\":%d}",
                                              l->c.view.id, from, to, l->c.timed);
    ct_evidence_add_span(ev, &(CtSpanRow){
                                 .section = l->c.view.section,
                                 .line = l->c.line[from],
                                 .track = "slow",
                                 .name = l->c.view.metric,
                                 .t0_ns = l->c.timed ? (gint64)(l->c.t[from] * 1e9) : 0,
                                 .t1_ns = l->c.timed ? (gint64)(l->c.t[to] * 1e9) : 0,
                                 .detail = detail,
                             });
}

/* Slow samples with at most three others between them make one window. Those of a start do not
 * count: they have their own finding. */
static void windows(CtEvidence *ev, const Latency *l)
{
    gsize count = 0, worst = 0, first = 0, last = 0;
    guint n_windows = 0;
    for (gsize i = 0; i < l->c.n && n_windows < MAX_WINDOWS; i++) {
        if (!slow(l, i) || near_start(l, i))
            continue;
        gsize from = i, to = i, quiet = 0;
        for (; i < l->c.n && quiet <= 3; i++) {
            quiet = slow(l, i) ? 0 : quiet + 1;
            if (!quiet) {
                to = i;
                count++;
                if (count == 1 || l->c.x[i] > l->c.x[worst])
                    worst = i;
            }
        }
        i--;
        if (n_windows++ == 0)
            first = from;
        last = to;
        add_window(ev, l, from, to);
    }
    if (count == 0)
        return;
    g_autofree char *typical = ct_human_ns(l->typical);
    g_autofree char *peak = ct_human_ns(l->c.x[worst]);
    g_autofree char *text = g_strdup_printf(
        "%" G_GSIZE_FORMAT " of %" G_GSIZE_FORMAT " are slow, up to %s against a typical %s, in %u "
        "stretches", count, l->c.n, peak, typical, n_windows);
    g_autofree char *extra =
        g_strdup_printf("\"count\":%" G_GSIZE_FORMAT ",\"worst_ns\":%.0f,\"windows\":%u", count,
                        l->c.x[worst], n_windows);
    gint64 id = finding(ev, l, "latency-outliers", first, last, (double)count / (double)l->c.n,
                        0.9, text, extra);
    ct_evidence_cite(ev, id, "series", l->c.view.id, l->c.line[worst]);
}

static void level_and_drift(CtEvidence *ev, const Latency *l)
{
    CtShapeResult shape;
    gsize skip = l->c.n > 40 ? COLD_REQUESTS : 0, n = l->c.n;
    ct_detect_shape(l->c.x + skip, n - skip, 0.13, &shape);
    g_autofree char *a = ct_human_ns(shape.before);
    g_autofree char *b = ct_human_ns(shape.after);
    g_autofree char *extra = g_strdup_printf("\"before_ns\":%.0f,\"after_ns\":%.0f,"
                                             "\"strength\":%.1f",
                                             shape.before, shape.after, shape.strength);
    double ratio = shape.before > 0 ? shape.after / shape.before : 1;
    if (shape.shape == CT_SHAPE_STEP) {
        g_autofree char *text = g_strdup_printf("the typical latency moves from %s to %s", a, b);
        finding(ev, l, "latency-level-shift", skip + shape.at, skip + shape.at, ratio, 0.95, text,
                extra);
    } else if (shape.shape == CT_SHAPE_DRIFT && ratio > 1) {
        g_autofree char *text = g_strdup_printf("latency rises slowly, from %s to %s", a, b);
        finding(ev, l, "latency-drift", 0, n - 1, ratio, 0.95, text, extra);
    }
}

/* Otsu's threshold on the logarithm: the cut among the sorted values that parts the means most. */
static double best_cut(const double *sorted, gsize n)
{
    g_autofree double *sum = g_new(double, n + 1);
    sum[0] = 0;
    for (gsize i = 0; i < n; i++)
        sum[i + 1] = sum[i] + log(MAX(sorted[i], 1));
    double best = 0, cut = sorted[0];
    for (gsize at = n / 10; at <= n - n / 10 && at < n; at += MAX(n / 200, 1)) {
        double low = (double)at, high = (double)(n - at);
        if (at == 0)
            continue;
        double d = (sum[n] - sum[at]) / high - sum[at] / low;
        if (low * high * d * d > best) {
            best = low * high * d * d;
            cut = sorted[at - 1];
        }
    }
    return cut;
}

/* Two modes must be far apart and interleaved. */
static void two_modes(CtEvidence *ev, const Latency *l)
{
    gsize n = l->c.n;
    if (n < 40)
        return;
    g_autofree double *sorted = ct_sorted(l->c.x, n);
    double cut = best_cut(sorted, n);
    g_autofree double *low = g_new(double, n);
    g_autofree double *high = g_new(double, n);
    gsize n0 = 0, n1 = 0, switches = 0;
    for (gsize i = 0; i < n; i++) {
        if (l->c.x[i] <= cut)
            low[n0++] = log(MAX(l->c.x[i], 1));
        else
            high[n1++] = log(MAX(l->c.x[i], 1));
        if (i && (l->c.x[i] <= cut) != (l->c.x[i - 1] <= cut))
            switches++;
    }
    if (n1 < n / 10 || n0 < n / 10 || switches < 8)
        return;
    double a = ct_median(low, n0), b = ct_median(high, n1);
    double spread = ct_mad(low, n0, a) + ct_mad(high, n1, b) + 0.01;
    /* The valley: almost nothing in the middle third between the modes. */
    gsize between = 0;
    for (gsize i = 0; i < n; i++) {
        double y = log(MAX(l->c.x[i], 1));
        between += y > a + (b - a) / 3 && y < b - (b - a) / 3;
    }
    if (b - a < 0.2 || (b - a) / spread < 3 || between > n / 33)
        return;
    g_autofree char *one = ct_human_ns(exp(a));
    g_autofree char *two = ct_human_ns(exp(b));
    g_autofree char *text = g_strdup_printf("two typical latencies take turns, %s and %s", one,
                                            two);
    g_autofree char *extra = g_strdup_printf("\"low_ns\":%.0f,\"high_ns\":%.0f,\"share\":%.3f",
                                             exp(a), exp(b), (double)n1 / (double)n);
    finding(ev, l, "latency-bimodal", 0, n - 1, exp(b - a), 0.9, text, extra);
}

/* A pause is five times the usual distance of two requests, and at least a fifth of a second. What
 * is slow right behind a slow first one is still on the way up. */
static void after_idle(CtEvidence *ev, const Latency *l)
{
    if (!l->c.timed || l->c.n < 20 || !g_str_equal(l->c.view.metric, "latency"))
        return;
    double usual = ct_columns_interval(&l->c);
    guint pauses = 0, slow_after = 0, slow_else = 0;
    gsize example = 0;
    gboolean rising = FALSE;
    for (gsize i = 1; i < l->c.n; i++) {
        gboolean pause = l->c.t[i] - l->c.t[i - 1] > MAX(5 * usual, 0.2);
        pauses += pause;
        rising = slow(l, i) && (pause || rising);
        if (rising && pause) {
            slow_after++;
            example = i;
        } else if (slow(l, i) && !rising && !near_start(l, i)) {
            slow_else++;
        }
    }
    if (slow_after < 3 || slow_after * 10 < pauses * 7 || slow_else > slow_after)
        return;
    g_autofree char *text = g_strdup_printf("%u of %u requests after a pause are slow, %u others",
                                            slow_after, pauses, slow_else);
    g_autofree char *extra = g_strdup_printf("\"pauses\":%u,\"slow_after\":%u,\"slow_else\":%u",
                                             pauses, slow_after, slow_else);
    finding(ev, l, "latency-after-idle", example, example, (double)slow_after / pauses, 0.9, text,
            extra);
}

/* Requests so seldom that a GPU lowers its clocks between them. */
static void sparse(CtEvidence *ev, const Latency *l)
{
    if (!l->c.timed || l->c.n < 5 || !g_str_equal(l->c.view.metric, "latency"))
        return;
    double usual = ct_columns_interval(&l->c) * 1e9;
    if (usual < 1e9 || usual > 60e9 || l->typical * 10 > usual)
        return;
    g_autofree char *step = ct_human_ns(usual);
    g_autofree char *text = g_strdup_printf("requests come only every %s", step);
    g_autofree char *extra = g_strdup_printf("\"interval_ns\":%.0f", usual);
    finding(ev, l, "latency-sparse", 0, l->c.n - 1, usual / l->typical, 0.9, text, extra);
}

static void run_series(CtEvidence *ev, guint index)
{
    Latency l = {0};
    ct_columns_read(ev, index, &l.c);
    if (l.c.n >= 3) {
        l.typical = ct_median(l.c.x, l.c.n);
        l.spread = ct_mad(l.c.x, l.c.n, l.typical);
        l.limit = l.typical + MAX(6 * l.spread, 0.3 * l.typical);
        find_starts(ev, &l);
        cold_start(ev, &l);
        sparse(ev, &l);
        if (l.c.n >= 20) {
            ct_evidence_add_coverage(ev, l.c.view.section, "latency-series", l.c.view.subject,
                                     l.c.timed ? (gint64)(l.c.t[0] * 1e9) : 0,
                                     l.c.timed ? (gint64)(l.c.t[l.c.n - 1] * 1e9) : 0);
            windows(ev, &l);
            level_and_drift(ev, &l);
            two_modes(ev, &l);
            after_idle(ev, &l);
        }
        g_array_unref(l.starts);
    }
    ct_columns_clear(&l.c);
}

static void run(CtEvidence *ev)
{
    guint n = ct_evidence_n_series(ev);
    for (guint i = 0; i < n; i++)
        if (is_latency(ct_evidence_series_at(ev, i).metric))
            run_series(ev, i);
}

const CtAnalyzer ct_analyzer_latency = {
    .id = "latency",
    .summary = "cold start, outliers, level shift, two modes and drift of a latency series",
    .doc = "Slow is more than six robust standard deviations and 30 % above the median. Stretches "
           "of slow requests are kept as spans of the track `slow`.",
    .emits = "latency-cold-start,latency-outliers,latency-level-shift,latency-bimodal,"
             "latency-drift,latency-after-idle,latency-sparse",
    .run = run,
};
