/* SPDX-License-Identifier: Apache-2.0 */
/* What --full adds: quantiles of the error, the worst channel, agreement of the largest values. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/compare.h"

#define BLOCK 4096u
#define SAMPLES 262144u

const double ct_quantiles[CT_QUANTILES] = {0.5, 0.9, 0.99, 0.999, 0.9999};

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void from_sorted(const double *x, gsize n, double *out)
{
    for (guint q = 0; q < CT_QUANTILES; q++)
        out[q] = x[(gsize)floor(ct_quantiles[q] * (double)(n - 1))];
}

static double difference(const CtTensor *ref, const CtTensor *test, guint64 i)
{
    double r[2], t[2];
    ct_tensor_to_f64(ref, i, 1, r);
    ct_tensor_to_f64(test, i, 1, t);
    return fabs(t[0] - r[0]);
}

/* One element from each of equally long stretches, at a place that a fixed generator draws: the
 * same files give the same answer. */
static void sampled(const CtTensor *ref, const CtTensor *test, CtFull *out)
{
    g_autofree double *x = g_new(double, SAMPLES);
    guint64 state = 0x9e3779b97f4a7c15u, n = 0;
    for (guint64 k = 0; k < SAMPLES; k++) {
        guint64 from = (guint64)((double)k * (double)ref->n / SAMPLES),
                to = MAX((guint64)((double)(k + 1) * (double)ref->n / SAMPLES), from + 1);
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        guint64 i = MIN(from + state % (to - from), ref->n - 1);
        double d = difference(ref, test, i);
        if (isfinite(d))
            x[n++] = d;
    }
    if (n == 0)
        return;
    qsort(x, n, sizeof *x, by_value);
    from_sorted(x, n, out->quantile);
    /* Dvoretzky, Kiefer, Wolfowitz: 95 % sure for all ranks at once. */
    out->rank_error = sqrt(log(2 / 0.05) / (2 * (double)n));
    out->have_quantiles = TRUE;
}

static void block_of(const CtTensor *ref, const CtTensor *test, guint64 from, gsize n, double *d)
{
    double r[BLOCK], t[BLOCK];
    ct_tensor_to_f64(ref, from, n, r);
    ct_tensor_to_f64(test, from, n, t);
    for (gsize i = 0; i < n; i++)
        d[i] = fabs(t[i] - r[i]);
}

/* Sixteen bits a pass from the top: a non-negative double sorts like its bits. */
static void exact(const CtTensor *ref, const CtTensor *test, CtFull *out)
{
    guint64 prefix[CT_QUANTILES] = {0}, rank[CT_QUANTILES], total = 0;
    g_autofree guint64 *counts = g_new(guint64, (gsize)CT_QUANTILES << 16);
    double d[BLOCK];
    for (int shift = 48; shift >= 0; shift -= 16) {
        memset(counts, 0, sizeof *counts * ((gsize)CT_QUANTILES << 16));
        for (guint64 from = 0; from < ref->n; from += BLOCK) {
            gsize n = (gsize)MIN((guint64)BLOCK, ref->n - from);
            block_of(ref, test, from, n, d);
            for (gsize i = 0; i < n; i++) {
                guint64 bits;
                memcpy(&bits, &d[i], sizeof bits);
                if (!isfinite(d[i]))
                    continue;
                total += shift == 48;
                for (guint q = 0; q < (shift == 48 ? 1u : CT_QUANTILES); q++)
                    if (shift == 48 || bits >> (shift + 16) == prefix[q])
                        counts[((gsize)q << 16) + ((bits >> shift) & 0xffff)]++;
            }
        }
        if (total == 0)
            return;
        for (guint q = 0; q < CT_QUANTILES; q++) {
            const guint64 *c = counts + (shift == 48 ? 0 : (gsize)q << 16);
            if (shift == 48)
                rank[q] = (guint64)floor(ct_quantiles[q] * (double)(total - 1));
            guint64 v = 0;
            while (rank[q] >= c[v])
                rank[q] -= c[v++];
            prefix[q] = prefix[q] << 16 | v;
        }
    }
    memcpy(out->quantile, prefix, sizeof out->quantile);
    out->have_quantiles = TRUE;
}

static int by_double(const void *a, const void *b)
{
    return by_value(a, b);
}

/* Axis 1 of three and more axes, the last one of two. */
static void channels(const CtTensor *ref, const CtTensor *test, CtFull *out)
{
    out->channel_axis = -1;
    if (ref->rank < 2 || ref->fortran_order)
        return;
    guint axis = ref->rank == 2 ? 1 : 1;
    if (ref->dims[axis] < 2 || ref->dims[axis] > 65536)
        return;
    guint n = (guint)ref->dims[axis];
    guint64 inner = 1;
    for (guint d = axis + 1; d < ref->rank; d++)
        inner *= (guint64)ref->dims[d];
    g_autofree double *most = g_new0(double, n), *sum2 = g_new0(double, n);
    float r[BLOCK], t[BLOCK];
    double x[BLOCK], y[BLOCK];
    gboolean single = ct_dtype_fits_f32(ref->dtype) && ct_dtype_fits_f32(test->dtype);
    for (guint64 from = 0; from < ref->n;) {
        guint64 run = inner > 1 ? MIN(inner - from % inner, (guint64)BLOCK)
                                : MIN((guint64)n - from % n, (guint64)BLOCK);
        gsize m = (gsize)MIN(run, ref->n - from);
        guint k = (guint)(from / inner % n);
        if (single) {
            ct_tensor_to_f32(ref, from, m, r);
            ct_tensor_to_f32(test, from, m, t);
        } else {
            ct_tensor_to_f64(ref, from, m, x);
            ct_tensor_to_f64(test, from, m, y);
        }
        double part = 0, high = 0;
        for (gsize i = 0; i < m; i++) {
            double d = single ? fabs((double)t[i] - (double)r[i]) : fabs(y[i] - x[i]);
            d = d <= G_MAXDOUBLE ? d : 0; /* NaN and Inf are counted elsewhere */
            if (inner == 1) {
                most[k + i] = d > most[k + i] ? d : most[k + i];
                sum2[k + i] += d * d;
            } else {
                part += d * d;
                high = d > high ? d : high;
            }
        }
        if (inner > 1) {
            sum2[k] += part;
            most[k] = MAX(most[k], high);
        }
        from += m;
    }
    double per = (double)ref->n / n;
    out->channel_axis = (gint)axis;
    out->n_channels = n;
    for (guint k = 0; k < n; k++) {
        sum2[k] = sqrt(sum2[k] / per);
        if (sum2[k] > out->worst_channel_rms) {
            out->worst_channel = k;
            out->worst_channel_rms = sum2[k];
            out->worst_channel_max = most[k];
        }
    }
    qsort(sum2, n, sizeof *sum2, by_double);
    out->channel_rms_median = sum2[n / 2];
}

/* Indices of the k largest of a row, best first; NaN counts as larger than all, as in numpy. */
static void largest(const double *x, gsize n, guint k, gsize *out)
{
    guint have = 0;
    for (gsize i = 0; i < n; i++) {
        double v = isnan(x[i]) ? INFINITY : x[i];
        guint at = have;
        while (at > 0) {
            double w = isnan(x[out[at - 1]]) ? INFINITY : x[out[at - 1]];
            if (!(v > w))
                break;
            at--;
        }
        if (at >= k)
            continue;
        if (have < k)
            have++;
        memmove(out + at + 1, out + at, (have - 1 - at) * sizeof *out);
        out[at] = i;
    }
}

#define MAX_K 64u

static void agreement(const CtTensor *ref, const CtTensor *test, guint k, CtFull *out)
{
    gint64 len = ref->rank ? ref->dims[ref->rank - 1] : 0;
    if (len < 2 || len > 1 << 20 || ref->fortran_order || ref->rank > 2)
        return;
    k = MIN(MIN(k ? k : 5, MAX_K), (guint)len);
    g_autofree double *r = g_new(double, (gsize)len), *t = g_new(double, (gsize)len);
    gsize a[MAX_K + 1], b[MAX_K + 1];
    out->top_k = k;
    for (guint64 from = 0; from < ref->n; from += (guint64)len) {
        ct_tensor_to_f64(ref, from, (gsize)len, r);
        ct_tensor_to_f64(test, from, (gsize)len, t);
        largest(r, (gsize)len, k, a);
        largest(t, (gsize)len, k, b);
        out->rows++;
        out->argmax_equal += a[0] == b[0];
        guint same = 0;
        for (guint i = 0; i < k; i++)
            for (guint j = 0; j < k; j++)
                same += a[i] == b[j];
        out->topk_equal += same == k;
    }
}

void ct_compare_full(const CtTensor *ref, const CtTensor *test, const CtCompareOptions *o,
                     CtFull *out)
{
    *out = (CtFull){.channel_axis = -1};
    if (ref->n == 0 || ct_dtype_is_complex(ref->dtype))
        return;
    if (o->exact || ref->n <= SAMPLES)
        exact(ref, test, out);
    else
        sampled(ref, test, out);
    channels(ref, test, out);
    agreement(ref, test, o->top_k, out);
}
