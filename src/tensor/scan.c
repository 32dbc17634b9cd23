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
    double *value;
    guint8 *state; /* 0 not seen, 1 constant so far, 2 varies */
} Channels;

static void channels_init(Channels *c, const CtTensor *t)
{
    *c = (Channels){0};
    if (t->rank < 3 || t->fortran_order || t->dims[1] < 2 || t->dims[1] > 65536 ||
        ct_dtype_is_complex(t->dtype))
        return;
    c->inner = 1;
    for (guint d = 2; d < t->rank; d++)
        c->inner *= (guint64)t->dims[d];
    if (c->inner < 2)
        return;
    c->n = (guint)t->dims[1];
    c->value = g_new0(double, c->n);
    c->state = g_new0(guint8, c->n);
}

static void channels_see(Channels *c, guint64 index, double x)
{
    guint k = (guint)(index / c->inner % c->n);
    if (c->state[k] == 0) {
        c->value[k] = x;
        c->state[k] = 1;
    } else if (c->state[k] == 1 && x != c->value[k]) {
        c->state[k] = 2;
    }
}

static void see(CtScan *s, const CtTensor *t, guint64 index, double x, double *sum, double *sum2)
{
    if (!isfinite(x)) {
        s->specials.nan += isnan(x);
        s->specials.pos_inf += isinf(x) && x > 0;
        s->specials.neg_inf += isinf(x) && x < 0;
        if (s->first_nonfinite < 0)
            s->first_nonfinite = (gint64)index;
        return;
    }
    double a = fabs(x);
    s->finite++;
    s->zeros += x == 0;
    s->subnormal += a > 0 && a < ct_dtype_min_normal(t->dtype);
    s->at_max += a >= ct_dtype_max(t->dtype);
    s->min = MIN(s->min, x);
    s->max = MAX(s->max, x);
    *sum += x;
    *sum2 += x * x;
}

void ct_scan(const CtTensor *t, CtScan *out)
{
    guint parts = ct_dtype_is_complex(t->dtype) ? 2 : 1;
    *out = (CtScan){.n = t->n * parts, .first_nonfinite = -1, .min = INFINITY, .max = -INFINITY};
    double x[2 * BLOCK], sum = 0, sum2 = 0;
    Channels channels;
    channels_init(&channels, t);
    for (guint64 from = 0; from < t->n; from += BLOCK) {
        gsize n = (gsize)MIN((guint64)BLOCK, t->n - from);
        double part = 0, part2 = 0;
        ct_tensor_to_f64(t, from, n, x);
        for (gsize i = 0; i < n * parts; i++) {
            see(out, t, from * parts + i, x[i], &part, &part2);
            if (channels.n)
                channels_see(&channels, from + i, x[i]);
        }
        sum += part;
        sum2 += part2;
    }
    out->mean = out->finite ? sum / (double)out->finite : NAN;
    out->rms = out->finite ? sqrt(sum2 / (double)out->finite) : NAN;
    out->n_channels = channels.n;
    for (guint k = 0; k < channels.n; k++)
        out->dead_channels += channels.state[k] == 1;
    g_free(channels.value);
    g_free(channels.state);
}
