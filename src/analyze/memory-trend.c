/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a memory series does: grow, stand still after a warm-up, saw up and down, peak, or step.
 *
 * A series is first cut where the process was evidently restarted (a sudden loss of most of what
 * had been gained). In each piece the start-up is set apart, and the rest is judged by bucket
 * medians: a leak has a high rank correlation with time, and still climbs in its last third about
 * as fast as before; a warm-up does not.
 */
#include <math.h>
#include <string.h>

#include "analyze/analyzer.h"
#include "analyze/clock.h"
#include "analyze/stats.h"

#define BUCKETS 60
#define MIN_SAMPLES 6
/* A start-up looks like a leak while one sees nothing else: growth needs either many samples over a
 * minute, or few over several minutes. */
#define LONG_SAMPLES 30
#define LONG_S 60.0
#define VERY_LONG_S 300.0
#define NOISE_FLOOR_BYTES (2.0 * 1024 * 1024)

typedef enum { FLAT, GROWTH, PLATEAU, SAWTOOTH, PEAK, STEP } Shape;

typedef struct {
    Shape shape;
    double slope;      /* bytes per second, or per sample when not timed */
    double slowest, fastest; /* the slope lies between them, 95 % */
    double total;      /* bytes gained over the judged part */
    double level;      /* bytes, typical */
    double tau;
    double from, to;   /* seconds or samples of the judged part */
    gsize first, last; /* indexes */
    gsize mark;        /* index that shows it best */
} Trend;

static const char *const metrics[] = {"memory.used", "gpu.memory.used", "nvmap.used",
                                      "pool.used",   "pool.reserved",   "process.rss",
                                      "swap.used",   "memory.available"};

static gboolean is_memory(const char *metric)
{
    for (gsize i = 0; i < G_N_ELEMENTS(metrics); i++)
        if (g_str_equal(metric, metrics[i]))
            return TRUE;
    return FALSE;
}

/* End of the piece that begins at `from`: the first sample after which most of the piece's range
 * is lost within a few samples and stays lost. */
static gsize piece_end(const double *x, gsize n, gsize from)
{
    double low = x[from], high = x[from];
    for (gsize i = from + 1; i < n; i++) {
        double range = high - low;
        double drop = high - x[i];
        gboolean stays = i + 2 >= n || (x[i + 1] < high - 0.5 * range &&
                                        x[i + 2] < high - 0.5 * range);
        if (i - from >= MIN_SAMPLES && range > 4 * NOISE_FLOOR_BYTES && drop > 0.6 * range && stays)
            return i;
        low = MIN(low, x[i]);
        high = MAX(high, x[i]);
    }
    return n;
}

static double diff_noise(const double *x, gsize n)
{
    g_autofree double *d = g_new(double, n);
    for (gsize i = 1; i < n; i++)
        d[i - 1] = fabs(x[i] - x[i - 1]);
    return 1.4826 * ct_median(d, n - 1);
}

static guint falls(const double *x, gsize n, double amount)
{
    guint count = 0;
    double high = x[0];
    for (gsize i = 1; i < n; i++) {
        if (high - x[i] > amount) {
            count++;
            high = x[i];
        }
        high = MAX(high, x[i]);
    }
    return count;
}

/* Index after the start-up: where a fast climb at the very beginning ends. */
static gsize after_startup(const double *x, gsize n)
{
    gsize limit = n / 3;
    double total = x[n - 1] - x[0];
    gsize at = 0;
    for (gsize i = 1; i < limit; i++) {
        double per_sample = (x[i] - x[at]) / (double)(i - at);
        double rest = (x[n - 1] - x[i]) / (double)(n - i);
        if (x[i] - x[at] > 0 && per_sample > 3 * fabs(rest) && x[i] - x[0] > 0.02 * fabs(total))
            at = i;
    }
    return at;
}

static gboolean long_enough(gsize n, double seconds, gboolean timed)
{
    if (!timed)
        return n >= LONG_SAMPLES;
    return seconds >= VERY_LONG_S || (n >= LONG_SAMPLES && seconds >= LONG_S);
}

/* Share of the whole gain that one bucket brought: a leak climbs in many steps. */
static double largest_step(const double *bx, gsize m)
{
    double largest = 0, total = bx[m - 1] - bx[0];
    for (gsize i = 1; i < m; i++)
        largest = MAX(largest, bx[i] - bx[i - 1]);
    return total > 0 ? largest / total : 1;
}

static Trend judge(const double *t, const double *x, gsize first, gsize last, gboolean timed)
{
    gsize n = last - first;
    Trend r = {.shape = FLAT, .first = first, .last = last, .mark = last - 1};
    double bt[BUCKETS], bx[BUCKETS];
    double high = ct_quantile(x + first, n, 1.0), low = ct_quantile(x + first, n, 0.0);
    double noise = diff_noise(x + first, n);
    double threshold = MAX(MAX(0.02 * fabs(ct_median(x + first, n)), 6 * noise / sqrt((double)n)),
                           NOISE_FLOOR_BYTES);

    gsize start = first + after_startup(x + first, n);
    gsize m = ct_bucket_medians(t + start, x + start, last - start, BUCKETS, bt, bx);
    r.from = t[start];
    r.to = t[last - 1];
    r.level = ct_median(bx, m);
    r.tau = ct_kendall_tau(bx, m);
    r.slope = m >= 2 ? ct_theil_sen_range(bt, bx, m, 1.5, &r.slowest, &r.fastest) : 0;
    if (!isfinite(r.slope)) /* all samples at one time */
        return r;
    r.total = r.slope * (r.to - r.from);

    gsize third = MAX(m / 3, 2);
    double early = ct_theil_sen(bt, bx, m - third);
    double late = ct_theil_sen(bt + m - third, bx + m - third, third);
    double late_gain = bx[m - 1] - bx[m - third];

    guint drops = falls(x + first, n, 0.4 * (high - low));
    if (drops >= 3 && high - low > MAX(4 * threshold, 0.1 * fabs(r.level)) && fabs(r.tau) < 0.6)
        r.shape = SAWTOOTH;
    else if (r.total > threshold && r.tau > 0.7 && late > 0.25 * early &&
             late_gain > 0.1 * (bx[m - 1] - bx[0]) && long_enough(n, r.to - r.from, timed) &&
             largest_step(bx, m) < 0.4)
        r.shape = GROWTH;
    else if (x[last - 1] - x[first] > threshold && late_gain < 0.1 * (bx[m - 1] - x[first]))
        r.shape = PLATEAU;
    else if (high - ct_quantile(x + first, n, 0.9) > MAX(4 * threshold, 0.15 * high))
        r.shape = PEAK;
    else if (m >= 8) {
        double gain;
        gsize at = ct_best_split(bx, m, 3, &gain);
        double jump = at ? ct_median(bx + at, m - at) - ct_median(bx, at) : 0;
        if (at && gain > 6 && fabs(jump) > 2 * threshold) {
            r.shape = STEP;
            r.total = jump;
            r.mark = start + at * (last - start) / m;
        }
    }
    if (r.shape == PEAK || r.shape == SAWTOOTH) {
        for (gsize i = first; i < last; i++)
            if (x[i] == high)
                r.mark = i;
        r.total = high - r.level;
    }
    return r;
}

static const char *kind_of(Shape shape)
{
    switch (shape) {
    case GROWTH:
        return "memory-growth";
    case PLATEAU:
        return "memory-plateau";
    case SAWTOOTH:
        return "memory-sawtooth";
    case PEAK:
        return "memory-peak";
    case STEP:
        return "memory-step";
    case FLAT:
    default:
        return NULL;
    }
}

static double number_fact(CtEvidence *ev, const char *key, const char *subject)
{
    sqlite3_stmt *st = NULL;
    double value = 0;
    if (sqlite3_prepare_v2(ct_evidence_db(ev),
                           "SELECT max(number) FROM fact WHERE key = ?1 AND status = 'ok' AND "
                           "(?2 IS NULL OR subject IS ?2)",
                           -1, &st, NULL) != SQLITE_OK)
        return 0;
    sqlite3_bind_text(st, 1, key, -1, SQLITE_STATIC);
    if (subject)
        sqlite3_bind_text(st, 2, subject, -1, SQLITE_STATIC);
    if (sqlite3_step(st) == SQLITE_ROW)
        value = sqlite3_column_double(st, 0);
    sqlite3_finalize(st);
    return value;
}

/* Requests per second of the application over [from, to], 0 when no counter is known. */
static double request_rate(CtEvidence *ev, double from, double to)
{
    for (guint i = 0; i < ct_evidence_n_series(ev); i++) {
        CtSeriesView v = ct_evidence_series_at(ev, i);
        if (!g_str_equal(v.metric, "requests") || v.len < 3)
            continue;
        g_auto(CtColumns) c = {0};
        ct_columns_read(ev, i, &c);
        if (!c.timed || c.t[c.n - 1] <= from || c.t[0] >= to)
            continue;
        double slope = ct_theil_sen(c.t, c.x, MIN(c.n, 200));
        if (slope > 0)
            return slope;
    }
    return 0;
}

static char *sentence(const CtColumns *c, const Trend *r, double per_request)
{
    g_autofree char *total = ct_human_bytes(fabs(r->total));
    const char *what = c->view.metric;
    const char *goes = g_str_equal(what, "memory.available") ? "shrinks" : "grows";
    switch (r->shape) {
    case GROWTH: {
        if (!c->timed)
            return g_strdup_printf("%s %s steadily, %s over %.0f samples", what, goes, total,
                                   r->to - r->from);
        g_autofree char *rate = ct_human_bytes(r->slope);
        g_autofree char *span = ct_human_ns((r->to - r->from) * 1e9);
        if (per_request <= 0)
            return g_strdup_printf("%s %s steadily by %s a second, %s in %s", what, goes, rate,
                                   total, span);
        g_autofree char *each = ct_human_bytes(per_request);
        return g_strdup_printf("%s %s steadily by %s a second (about %s a request), %s in %s",
                               what, goes, rate, each, total, span);
    }
    case PLATEAU:
        return g_strdup_printf("%s rises at the start and then stands still (warm-up)", what);
    case SAWTOOTH:
        return g_strdup_printf("%s rises and falls again and again by up to %s", what, total);
    case PEAK:
        return g_strdup_printf("%s peaks %s above its usual level", what, total);
    case STEP:
    case FLAT:
    default:
        return g_strdup_printf("%s %s by %s and stays there", what,
                               r->total > 0 ? "steps up" : "steps down", total);
    }
}

/* Until the memory is used up at this rate; 0 is not known. */
static double seconds_left(CtEvidence *ev, const CtColumns *c, const Trend *r)
{
    double capacity = 0;
    if (r->shape != GROWTH || r->slope <= 0 || !c->timed)
        return 0;
    if (g_str_equal(c->view.metric, "memory.available")) /* turned round: 0 is the end */
        return MAX(-c->x[r->last - 1], 0) / r->slope;
    if (g_str_equal(c->view.metric, "gpu.memory.used"))
        capacity = number_fact(ev, "gpu.memory.total", c->view.subject);
    else if (g_str_equal(c->view.metric, "memory.used"))
        capacity = number_fact(ev, "host.memory.total", NULL);
    return capacity > 0 ? MAX(capacity - c->x[r->last - 1], 0) / r->slope : 0;
}

static void report(CtEvidence *ev, const CtColumns *c, const Trend *r)
{
    double rate = c->timed && r->shape == GROWTH ? request_rate(ev, r->from, r->to) : 0;
    double per_request = rate > 0 ? r->slope / rate : 0;
    double left_s = seconds_left(ev, c, r);
    g_autofree char *plain = sentence(c, r, per_request);
    g_autofree char *left = ct_human_ns(left_s * 1e9);
    g_autofree char *text =
        left_s > 0 ? g_strdup_printf("%s; used up in %s at this rate", plain, left)
                   : g_strdup(plain);
    g_autofree char *detail = g_strdup_printf(
        "{\"metric\":\"%s\",\"total_bytes\":%.0f,\"level_bytes\":%.0f,\"slope_bytes\":%.3f,"
        "\"slope_low\":%.3f,\"slope_high\":%.3f,"
        "\"per_request_bytes\":%.0f,\"tau\":%.3f,\"duration_ns\":%.0f,\"t_exhaust_ns\":%.0f,"
        "\"timed\":%d}",
        c->view.metric, r->total, r->level, r->slope,
        isfinite(r->slowest) ? r->slowest : 0, isfinite(r->fastest) ? r->fastest : 0,
        per_request, r->tau,
        c->timed ? (r->to - r->from) * 1e9 : 0, left_s * 1e9, c->timed);
    gint64 id = ct_evidence_add_finding(
        ev, &(CtFindingRow){
                .analyzer = "memory-trend",
                .kind = kind_of(r->shape),
                .severity = r->shape == GROWTH ? CT_SEV_WARNING : CT_SEV_INFO,
                .subject = c->view.subject ? c->view.subject : c->view.metric,
                .t0_ns = c->timed ? (gint64)(r->from * 1e9) : 0,
                .t1_ns = c->timed ? (gint64)(r->to * 1e9) : 0,
                .number = r->shape == GROWTH ? r->slope : r->total,
                .confidence = MIN(fabs(r->tau), 1),
                .text = text,
                .detail = detail,
            });
    ct_evidence_cite(ev, id, "series", c->view.id, c->line[r->first]);
    ct_evidence_cite(ev, id, "series", c->view.id, c->line[r->mark]);
}

/* Several sudden losses are either a pool that gives back, or a process that dies and starts again;
 * only the latter leaves a trace of its deaths. */
static gboolean is_sawtooth(CtEvidence *ev, const CtColumns *c)
{
    guint cuts = 0;
    for (gsize to = c->n ? piece_end(c->x, c->n, 0) : 0; to < c->n; to = piece_end(c->x, c->n, to))
        cuts++;
    double range = ct_quantile(c->x, c->n, 0.98) - ct_quantile(c->x, c->n, 0.02);
    if (cuts < 3 || range < MAX(16 * NOISE_FLOOR_BYTES, 0.1 * fabs(ct_median(c->x, c->n))))
        return FALSE;
    sqlite3_stmt *st = NULL;
    guint deaths = 0;
    if (sqlite3_prepare_v2(ct_evidence_db(ev),
                           "SELECT coalesce(sum(repeats), 0) FROM event WHERE kind IN ('oom-kill', "
                           "'process-start', 'framework-oom') OR (kind = 'cuda-error' AND code = 2)",
                           -1, &st, NULL) == SQLITE_OK &&
        sqlite3_step(st) == SQLITE_ROW)
        deaths = (guint)sqlite3_column_int64(st, 0);
    sqlite3_finalize(st);
    return 2 * deaths < cuts;
}

static void run_pieces(CtEvidence *ev, const CtColumns *c, gboolean inverted)
{
    guint reported = 0;
    for (gsize from = 0; from + MIN_SAMPLES <= c->n && reported < 8;) {
        gsize to = piece_end(c->x, c->n, from);
        if (to - from >= MIN_SAMPLES) {
            Trend r = judge(c->t, c->x, from, to, c->timed);
            /* Of free memory only the loss tells; its other shapes mirror memory.used. */
            if (r.shape != FLAT && (!inverted || r.shape == GROWTH)) {
                report(ev, c, &r);
                reported++;
            }
        }
        from = to;
    }
}

static void run_series(CtEvidence *ev, guint index)
{
    g_auto(CtColumns) c = {0};
    ct_columns_read(ev, index, &c);
    gboolean inverted = g_str_equal(c.view.metric, "memory.available");
    for (gsize i = 0; inverted && i < c.n; i++)
        c.x[i] = -c.x[i];
    if (is_sawtooth(ev, &c)) {
        Trend r = judge(c.t, c.x, 0, c.n, c.timed);
        r.shape = SAWTOOTH;
        r.total = ct_quantile(c.x, c.n, 0.98) - ct_quantile(c.x, c.n, 0.02);
        report(ev, &c, &r);
    } else {
        run_pieces(ev, &c, inverted);
    }
    gint64 t0 = c.timed && c.n ? (gint64)(c.t[0] * 1e9) : 0;
    gint64 t1 = c.timed && c.n ? (gint64)(c.t[c.n - 1] * 1e9) : 0;
    if (c.n >= 20)
        ct_evidence_add_coverage(ev, c.view.section, "memory-series", c.view.subject, t0, t1);
}

static void run(CtEvidence *ev)
{
    for (guint i = 0; i < ct_evidence_n_series(ev); i++)
        if (is_memory(ct_evidence_series_at(ev, i).metric))
            run_series(ev, i);
}

const CtAnalyzer ct_analyzer_memory_trend = {
    .id = "memory-trend",
    .summary = "growth, warm-up, sawtooth, peak or step of a memory series",
    .doc = "Needs at least 6 samples. A leak keeps its slope into the last third of the series; "
           "a warm-up does not. Series are cut at restarts first.",
    .emits = "memory-growth,memory-plateau,memory-sawtooth,memory-peak,memory-step",
    .run = run,
};
