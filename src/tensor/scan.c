/* SPDX-License-Identifier: Apache-2.0 */
/* One tensor without a reference. */
#include <math.h>
#include <string.h>

#include "tensor/compare.h"

#define BLOCK 4096u

gboolean ct_all_finite(const CtTensor *t)
{
    const CtKernel *k = ct_kernel_best();
    if (!ct_dtype_is_float(t->dtype))
        return TRUE;
    guint parts = ct_dtype_is_complex(t->dtype) ? 2 : 1;
    if ((t->dtype == CT_F32 || t->dtype == CT_C64) && !t->big_endian)
        return k->all_finite_f32((const float *)(const void *)ct_tensor_data(t),
                                 (gsize)t->n * parts);
    float x[2 * BLOCK];
    double y[2 * BLOCK];
    for (guint64 from = 0; from < t->n; from += BLOCK) {
        gsize n = (gsize)MIN((guint64)BLOCK, t->n - from);
        if (ct_dtype_fits_f32(t->dtype)) {
            ct_tensor_to_f32(t, from, n, x);
            if (!k->all_finite_f32(x, n * parts))
                return FALSE;
            continue;
        }
        ct_tensor_to_f64(t, from, n, y);
        for (gsize i = 0; i < n * parts; i++)
            if (!isfinite(y[i]))
                return FALSE;
    }
    return TRUE;
}

/* Channels are axis 1 of three and more axes; a dead one has the same value everywhere. */
typedef struct {
    guint64 inner;
    guint n;
    float *value;
    guint8 *state; /* 0 not seen, 1 constant so far, 2 varies */
} Channels;

static void channels_init(Channels *c, const CtTensor *t)
{
    *c = (Channels){0};
    if (t->rank < 3 || t->fortran_order || t->dims[1] < 2 || t->dims[1] > 65536 ||
        !ct_dtype_fits_f32(t->dtype) || ct_dtype_is_complex(t->dtype))
        return;
    c->inner = 1;
    for (guint d = 2; d < t->rank; d++)
        c->inner *= (guint64)t->dims[d];
    if (c->inner < 2)
        return;
    c->n = (guint)t->dims[1];
    c->value = g_new0(float, c->n);
    c->state = g_new0(guint8, c->n);
}

static void channels_see(Channels *c, guint64 from, const float *x, gsize n)
{
    for (gsize i = 0; i < n;) {
        guint64 at = from + i;
        guint k = (guint)(at / c->inner % c->n);
        gsize run = (gsize)MIN(c->inner - at % c->inner, (guint64)(n - i));
        if (c->state[k] == 0) {
            c->value[k] = x[i];
            c->state[k] = 1;
        }
        gboolean varies = FALSE;
        for (gsize j = 0; c->state[k] == 1 && j < run; j++)
            varies |= x[i + j] != c->value[k];
        if (varies)
            c->state[k] = 2;
        i += run;
    }
}

static void odd(CtScan *s, guint64 index, double x)
{
    if (isfinite(x))
        return;
    s->specials.nan += isnan(x);
    s->specials.pos_inf += isinf(x) && x > 0;
    s->specials.neg_inf += isinf(x) && x < 0;
    if (s->first_nonfinite < 0)
        s->first_nonfinite = (gint64)index;
}

void ct_scan(const CtTensor *t, CtDtype as, CtScan *out)
{
    const CtKernel *k = ct_kernel_best();
    guint parts = ct_dtype_is_complex(t->dtype) ? 2 : 1;
    gboolean single = ct_dtype_fits_f32(t->dtype);
    double limit = ct_dtype_max(as), y[2 * BLOCK];
    float x[2 * BLOCK];
    *out = (CtScan){.n = t->n * parts, .first_nonfinite = -1, .min = INFINITY, .max = -INFINITY};
    CtPairRule rule = {0, 0, ct_dtype_min_normal(as), 0};
    CtPairSums sums;
    ct_pair_sums_init(&sums);
    Channels channels;
    channels_init(&channels, t);
    for (guint64 from = 0; from < t->n; from += BLOCK) {
        gsize n = (gsize)MIN((guint64)BLOCK, t->n - from), all = n * parts;
        gboolean some;
        if (single) {
            ct_tensor_to_f32(t, from, n, x);
            some = k->pair_f32(x, x, all, &rule, FALSE, &sums);
        } else {
            ct_tensor_to_f64(t, from, n, y);
            some = k->pair_f64(y, y, all, &rule, FALSE, &sums);
        }
        for (gsize i = 0; some && i < all; i++)
            odd(out, from * parts + i, single ? x[i] : y[i]);
        gboolean near = sums.ref_max >= limit || sums.ref_min <= -limit;
        for (gsize i = 0; near && i < all; i++) {
            double v = fabs(single ? x[i] : y[i]);
            out->at_max += v >= limit && v <= G_MAXDOUBLE;
        }
        if (channels.n)
            channels_see(&channels, from, x, n);
    }
    out->finite = sums.finite;
    out->zeros = sums.finite - sums.n_rel;
    out->subnormal = sums.ref_subnormal;
    if (sums.finite) {
        out->min = sums.ref_min;
        out->max = sums.ref_max;
    }
    out->mean = sums.finite ? sums.sum_ref / (double)sums.finite : NAN;
    out->rms = sums.finite ? sqrt(sums.ref2 / (double)sums.finite) : NAN;
    out->n_channels = channels.n;
    for (guint c = 0; c < channels.n; c++)
        out->dead_channels += channels.state[c] == 1;
    g_free(channels.value);
    g_free(channels.state);
}
