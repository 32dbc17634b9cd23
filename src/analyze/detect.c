/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/detect.h"

#include <math.h>

#include "analyze/stats.h"

#define MAX_BUCKETS 96u

/* ---- shape ---- */

/* Correlation of neighbours, corrected for the bias that a short series gives it. */
static double memory_of(const double *r, gsize m)
{
    double num = 0, den = 1e-300;
    for (gsize i = 0; i < m; i++) {
        den += r[i] * r[i];
        if (i)
            num += r[i] * r[i - 1];
    }
    double rho = num / den;
    return CLAMP(rho + (1 + 4 * MAX(rho, 0)) / (double)m, 0, 0.95);
}

/* Standard deviation of the long run: what independent values would need to scatter as much. */
static double long_run(const double *r, gsize m, double *out_memory)
{
    double mid = ct_median(r, m), spread = ct_mad(r, m, mid);
    double sum = 0;
    for (gsize i = 0; i < m; i++) {
        double d = CLAMP(r[i] - mid, -4 * spread, 4 * spread);
        sum += d * d;
    }
    double sd = sqrt(sum / (double)MAX(m - 2, 1));
    *out_memory = memory_of(r, m);
    return sd * sqrt((1 + *out_memory) / (1 - *out_memory));
}

static double sum_abs(const double *r, gsize m)
{
    double s = 0;
    for (gsize i = 0; i < m; i++)
        s += fabs(r[i]);
    return s;
}

typedef struct {
    gsize at;
    double a, b, size, rest, memory;
} Fit;

static void residuals_of_step(const double *y, gsize m, gsize at, double a, double b, double *r)
{
    for (gsize i = 0; i < m; i++)
        r[i] = y[i] - (i < at ? a : b);
}

/* The split with the least absolute residuals about the medians of its sides. */
static Fit best_step(const double *y, gsize m, double *r)
{
    Fit best = {.rest = HUGE_VAL};
    gsize edge = MAX(m / 12, 3);
    for (gsize at = edge; at + edge <= m; at++) {
        double a = ct_median(y, at), b = ct_median(y + at, m - at);
        residuals_of_step(y, m, at, a, b, r);
        double rest = sum_abs(r, m);
        if (rest < best.rest)
            best = (Fit){.at = at, .a = a, .b = b, .rest = rest};
    }
    if (best.at) {
        residuals_of_step(y, m, best.at, best.a, best.b, r);
        double sd = long_run(r, m, &best.memory) + 1e-4;
        double n1 = (double)best.at, n2 = (double)(m - best.at);
        best.size = fabs(best.b - best.a) / (sd * sqrt(1 / n1 + 1 / n2));
    }
    return best;
}

static Fit line(const double *t, const double *y, gsize m, double *r)
{
    double slope = ct_theil_sen(t, y, m);
    Fit f = {0};
    for (gsize i = 0; i < m; i++)
        r[i] = y[i] - slope * t[i];
    double level = ct_median(r, m);
    for (gsize i = 0; i < m; i++)
        r[i] -= level;
    f.a = level + slope * t[0];
    f.b = level + slope * t[m - 1];
    f.rest = sum_abs(r, m);
    double sd = long_run(r, m, &f.memory) + 1e-4, sxx = 0, mean = 0.5 * (t[0] + t[m - 1]);
    for (gsize i = 0; i < m; i++)
        sxx += (t[i] - mean) * (t[i] - mean);
    f.size = fabs(slope) / (sd / sqrt(MAX(sxx, 1e-300)));
    return f;
}

void ct_detect_shape(const double *x, gsize n, double least, CtShapeResult *out)
{
    *out = (CtShapeResult){.shape = CT_SHAPE_FLAT};
    gsize buckets = MIN(MAX_BUCKETS, n / 3);
    if (buckets < 10)
        return;
    g_autofree double *y = g_new(double, n);
    for (gsize i = 0; i < n; i++)
        y[i] = log(MAX(x[i], 1e-9));
    double t[MAX_BUCKETS], b[MAX_BUCKETS], r[MAX_BUCKETS];
    gsize m = ct_bucket_medians(NULL, y, n, buckets, t, b);
    Fit step = best_step(b, m, r);
    Fit drift = line(t, b, m, r);
    double enough = log1p(least);
    /* A slow wander looks like a step somewhere: noise with a long memory needs more. */
    double bar_step = 5 + 6 * step.memory, bar_drift = 4 + 6 * drift.memory;
    gboolean is_step = step.at && fabs(step.b - step.a) > enough && step.size > bar_step;
    gboolean is_drift = fabs(drift.b - drift.a) > enough && drift.size > bar_drift;
    if (is_step && (!is_drift || step.rest < drift.rest)) {
        *out = (CtShapeResult){.shape = CT_SHAPE_STEP, .at = step.at * n / m,
                               .before = exp(step.a), .after = exp(step.b),
                               .strength = step.size};
    } else if (is_drift) {
        *out = (CtShapeResult){.shape = CT_SHAPE_DRIFT, .before = exp(drift.a),
                               .after = exp(drift.b), .strength = drift.size};
    }
}

/* ---- period ---- */

#define MAX_BINS 64u
#define MAX_EVENTS 180u

/* log of an upper bound of P(X >= k) for a binomial(n, p), k/n > p (Chernoff). */
static double log_tail(double n, double k, double p)
{
    double q = k / n;
    if (q <= p)
        return 0;
    double rest = q < 1 ? (1 - q) * log((1 - q) / (1 - p)) : 0;
    return -n * (q * log(q / p) + rest);
}

/* The most events within two neighbouring bins of the phase. */
static guint gathered(const double *at, gsize n, double period, guint bins, double *out_phase)
{
    guint bin[MAX_BINS] = {0}, best = 0, where = 0;
    double per_turn = 1 / period;
    for (gsize i = 0; i < n; i++) {
        double turn = (at[i] - at[0]) * per_turn;
        bin[MIN((guint)((turn - floor(turn)) * bins), bins - 1)]++;
    }
    for (guint b = 0; b < bins; b++) {
        guint sum = bin[b] + bin[b + 1 < bins ? b + 1 : 0];
        if (sum > best) {
            best = sum;
            where = b;
        }
    }
    *out_phase = (where + 1.0) / bins * period;
    return best;
}

/* What part of the turns has an event, and what part of the events comes in time. */
static void regularity(const double *at, gsize n, double width, CtPeriodResult *p)
{
    gsize good = 0, turns = 0;
    gint64 last = G_MININT64, first = G_MININT64;
    for (gsize i = 0; i < n; i++) {
        double turn = (at[i] - at[0] - p->phase) / p->period;
        if (fabs(turn - round(turn)) > width)
            continue;
        gint64 now = (gint64)round(turn);
        good++;
        turns += now != last;
        first = first == G_MININT64 ? now : first;
        last = now;
    }
    p->n = good;
    p->on_time = (double)good / (double)n;
    p->kept = good > 1 ? (double)turns / (double)(last - first + 1) : 0;
}

/* Every period that the events are enough for. The phase is cut as finely as `grain`, what the
 * times are known to, allows. */
static gboolean scan_periods(const double *at, gsize n, double grain, double least,
                             CtPeriodResult *out)
{
    double span = at[n - 1] - at[0], step = 0.75 / MAX_BINS / span;
    double high = MIN(1 / least, (double)n / 0.6 / span), best = 0;
    for (double f = 4 / span; f <= high; f += step) {
        double phase;
        guint bins = (guint)CLAMP(1 / f / (2.5 * grain), 10, MAX_BINS);
        guint k = gathered(at, n, 1 / f, bins, &phase);
        /* So many, given as many tries as periods about as long can be told apart. */
        double chance = log_tail((double)n - 1, (double)k - 1, 2.0 / bins) +
                        log(8 * span * f * bins * bins / 8);
        if (chance >= best)
            continue;
        CtPeriodResult x = {.period = 1 / f, .phase = phase};
        regularity(at, n, 1.2 / bins, &x);
        if (x.kept < 0.6)
            continue;
        best = chance;
        *out = x;
    }
    out->chance = exp(MIN(best, 0));
    return best < log(0.05);
}

/* Few events, all of them regular: their distances are one length, or a few times it. */
static gboolean even_distances(const double *at, gsize n, double least, CtPeriodResult *out)
{
    g_autofree double *gap = g_new(double, n);
    for (gsize i = 1; i < n; i++)
        gap[i - 1] = at[i] - at[i - 1];
    double p = ct_median(gap, n - 1);
    gsize good = 0;
    if (p < least)
        return FALSE;
    for (gsize i = 0; i + 1 < n; i++) {
        double d = gap[i] / p;
        good += d > 0.5 && fabs(d - round(d)) < 0.1 && round(d) <= 3;
    }
    *out = (CtPeriodResult){.period = p, .phase = 0, .n = good + 1, .kept = 1,
                            .on_time = (double)good / (double)(n - 1)};
    out->chance = ct_binomial_tail((guint)n - 1, (guint)good, 0.2);
    return out->on_time > 0.85 && out->chance < 2e-3;
}

gboolean ct_detect_period(const double *at, gsize n, double grain, double least,
                          CtPeriodResult *out)
{
    *out = (CtPeriodResult){0};
    n = MIN(n, MAX_EVENTS);
    if (n < 5 || grain <= 0 || at[n - 1] <= at[0])
        return FALSE;
    return scan_periods(at, n, grain, least, out) || even_distances(at, n, least, out);
}

/* ---- spikes ---- */

#define WINDOW 11

static double middle(const double *x, gsize n)
{
    double s[WINDOW];
    for (gsize i = 0; i < n; i++) {
        gsize k = i;
        for (; k && s[k - 1] > x[i]; k--)
            s[k] = s[k - 1];
        s[k] = x[i];
    }
    return s[n / 2];
}

gsize ct_detect_spikes(const double *x, gsize n, gsize max, gsize *out, double *height)
{
    if (n < 2 * WINDOW || max < 1)
        return 0;
    g_autofree double *y = g_new(double, n);
    g_autofree double *r = g_new(double, n);
    for (gsize i = 0; i < n; i++)
        y[i] = log(MAX(x[i], 1e-9));
    for (gsize i = 0; i < n; i++) {
        gsize from = CLAMP((gssize)i - WINDOW / 2, 0, (gssize)(n - WINDOW));
        r[i] = y[i] - middle(y + from, WINDOW);
    }
    double bar = MAX(3.2 * ct_mad(r, n, ct_median(r, n)), log(1.1));
    double top = n > 2 * max ? ct_quantile(r, n, 1 - (double)max / (double)n) : 0;
    gsize found = 0;
    bar = MAX(bar, top);
    for (gsize i = 0; i < n && found < max; i++) {
        if (r[i] <= bar)
            continue;
        gsize peak = i;
        for (; i < n && r[i] > bar; i++)
            if (r[i] > r[peak])
                peak = i;
        height[found] = r[peak];
        out[found++] = peak;
    }
    return found;
}
