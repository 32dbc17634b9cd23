/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double *ct_sorted(const double *x, gsize n)
{
    double *copy = g_new(double, n);
    memcpy(copy, x, n * sizeof *x);
    qsort(copy, n, sizeof *copy, by_value);
    return copy;
}

double ct_quantile_sorted(const double *s, gsize n, double q)
{
    if (n == 0)
        return NAN;
    double at = q * (double)(n - 1);
    gsize i = (gsize)at;
    if (i + 1 >= n)
        return s[n - 1];
    return s[i] + (at - (double)i) * (s[i + 1] - s[i]);
}

/* Puts the k-th smallest at its place, smaller ones before it, larger ones behind (Wirth's way).
 * Input that is made to be slow is sorted in the end. */
static void select_kth(double *x, gsize n, gsize k)
{
    gssize lo = 0, hi = (gssize)n - 1, at = (gssize)k;
    for (guint round = 0; lo < hi; round++) {
        if (round > 100) {
            qsort(x + lo, (gsize)(hi - lo + 1), sizeof *x, by_value);
            return;
        }
        double pivot = x[at];
        gssize i = lo, j = hi;
        do {
            while (x[i] < pivot)
                i++;
            while (pivot < x[j])
                j--;
            if (i <= j) {
                double t = x[i];
                x[i++] = x[j];
                x[j--] = t;
            }
        } while (i <= j);
        if (j < at)
            lo = i;
        if (at < i)
            hi = j;
    }
}

double ct_quantile(const double *x, gsize n, double q)
{
    if (n == 0)
        return NAN;
    if (n < 64) {
        g_autofree double *s = ct_sorted(x, n);
        return ct_quantile_sorted(s, n, q);
    }
    double at = CLAMP(q, 0, 1) * (double)(n - 1);
    gsize i = (gsize)at;
    g_autofree double *copy = g_new(double, n);
    memcpy(copy, x, n * sizeof *x);
    select_kth(copy, n, i);
    if (i + 1 >= n || at == (double)i)
        return copy[i];
    double next = copy[i + 1];
    for (gsize k = i + 2; k < n; k++)
        next = MIN(next, copy[k]);
    return copy[i] + (at - (double)i) * (next - copy[i]);
}

double ct_median(const double *x, gsize n)
{
    return ct_quantile(x, n, 0.5);
}

double ct_mad(const double *x, gsize n, double median)
{
    if (n == 0)
        return NAN;
    g_autofree double *dev = g_new(double, n);
    for (gsize i = 0; i < n; i++)
        dev[i] = fabs(x[i] - median);
    return 1.4826 * ct_median(dev, n);
}

gsize ct_bucket_medians(const double *t, const double *x, gsize n, gsize buckets, double *out_t,
                        double *out_x)
{
    gsize m = MIN(n, buckets);
    for (gsize b = 0; b < m; b++) {
        gsize from = b * n / m, to = (b + 1) * n / m;
        out_x[b] = ct_median(x + from, to - from);
        out_t[b] = t ? ct_median(t + from, to - from) : 0.5 * (double)(from + to - 1);
    }
    return m;
}

static gsize pairwise_slopes(const double *t, const double *x, gsize n, double *slopes)
{
    gsize k = 0;
    for (gsize i = 0; i < n; i++)
        for (gsize j = i + 1; j < n; j++)
            if (t[j] != t[i])
                slopes[k++] = (x[j] - x[i]) / (t[j] - t[i]);
    return k;
}

double ct_theil_sen(const double *t, const double *x, gsize n)
{
    if (n < 2)
        return NAN;
    g_autofree double *slopes = g_new(double, n * (n - 1) / 2);
    gsize k = pairwise_slopes(t, x, n, slopes);
    return k ? ct_median(slopes, k) : NAN;
}

double ct_theil_sen_range(const double *t, const double *x, gsize n, double wider, double *out_low,
                          double *out_high)
{
    *out_low = *out_high = NAN;
    if (n < 2)
        return NAN;
    g_autofree double *slopes = g_new(double, n * (n - 1) / 2);
    gsize k = pairwise_slopes(t, x, n, slopes);
    if (!k)
        return NAN;
    qsort(slopes, k, sizeof *slopes, by_value);
    double m = (double)n, pairs = (double)k;
    double c = 1.96 * wider * sqrt(m * (m - 1) * (2 * m + 5) / 18);
    double low = CLAMP((pairs - c) / 2, 0, pairs - 1), high = CLAMP((pairs + c) / 2, 0, pairs - 1);
    *out_low = slopes[(gsize)low];
    *out_high = slopes[(gsize)high];
    return ct_quantile_sorted(slopes, k, 0.5);
}

double ct_kendall_tau(const double *x, gsize n)
{
    if (n < 2)
        return 0;
    gint64 s = 0;
    for (gsize i = 0; i < n; i++)
        for (gsize j = i + 1; j < n; j++)
            s += (x[j] > x[i]) - (x[j] < x[i]);
    return (double)s / ((double)n * (double)(n - 1) / 2);
}

double ct_binomial_tail(guint n, guint k, double p)
{
    if (k == 0)
        return 1;
    if (p <= 0)
        return 0;
    if (p >= 1)
        return 1;
    double sum = 0;
    for (guint i = k; i <= n; i++)
        sum += exp(lgamma(n + 1.0) - lgamma(i + 1.0) - lgamma(n - i + 1.0) + i * log(p) +
                   (n - i) * log1p(-p));
    return MIN(sum, 1.0);
}

double ct_normal_tail(double z)
{
    return 0.5 * erfc(z / G_SQRT2);
}

gsize ct_best_split(const double *x, gsize n, gsize min_side, double *out_gain)
{
    gsize best = 0;
    double best_gain = 0;
    *out_gain = 0;
    if (min_side < 2 || n < 2 * min_side)
        return 0;
    /* At most 64 candidate places: each costs a median of both sides. */
    gsize step = MAX((n - 2 * min_side) / 64, 1);
    for (gsize at = min_side; at + min_side <= n; at += step) {
        double left = ct_median(x, at), right = ct_median(x + at, n - at);
        double spread = ct_mad(x, at, left) + ct_mad(x + at, n - at, right);
        double gain = fabs(right - left) / (0.5 * spread + 1e-3 * fabs(left) + 1e-12);
        if (gain > best_gain) {
            best_gain = gain;
            best = at;
        }
    }
    *out_gain = best_gain;
    return best;
}
