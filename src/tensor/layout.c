/* SPDX-License-Identifier: Apache-2.0 */
/* Order of axes: Fortran order, NHWC, and TensorRT's vectorised formats. */
#include <stdlib.h>
#include <string.h>

#include "tensor/compare.h"

/* Elements of four bits are spread to one a byte, so that they can be moved. */
static CtTensor *bytewise(const CtTensor *t, guint64 n, GError **error)
{
    gboolean packed = ct_dtype_bits(t->dtype) == 4;
    guint esize = MAX(ct_dtype_bits(t->dtype) / 8, 1u) * (packed ? 4 : 1);
    gsize len;
    guint8 *data = __builtin_mul_overflow(n, esize, &len) ? NULL : g_try_malloc0(len + 1);
    if (!data) {
        g_set_error(error, CT_ERROR, CT_ERROR_LIMIT, "%s: no memory for a copy", t->path);
        return NULL;
    }
    CtTensor *c = ct_memdup(t, sizeof *t);
    c->name = g_strdup(t->name);
    c->path = g_strdup(t->path);
    c->bytes = ct_bytes_take(data, len);
    c->offset = 0;
    c->n = n;
    c->fortran_order = FALSE;
    if (packed)
        c->dtype = CT_F32;
    return c;
}

static guint8 *writable(CtTensor *t)
{
    return (guint8 *)(gsize)ct_tensor_data(t);
}

/* out[i0, i1, ...] = in[sum of i_d * stride_d]; `esize` bytes each. */
static void gather(const CtTensor *from, CtTensor *to, const guint64 *stride)
{
    gint64 at[CT_TENSOR_MAX_RANK] = {0};
    guint64 pos = 0;
    gboolean packed = ct_dtype_bits(from->dtype) == 4;
    guint esize = ct_dtype_bits(to->dtype) / 8;
    const guint8 *in = ct_tensor_data(from);
    guint8 *out = writable(to);
    for (guint64 i = 0; i < to->n; i++) {
        if (packed)
            ct_tensor_to_f32(from, pos, 1, (float *)(void *)out + i);
        else
            memcpy(out + i * esize, in + pos * esize, esize);
        for (guint d = to->rank; d > 0; d--) {
            pos += stride[d - 1];
            if (++at[d - 1] < to->dims[d - 1])
                break;
            pos -= stride[d - 1] * (guint64)to->dims[d - 1];
            at[d - 1] = 0;
        }
    }
}

CtTensor *ct_tensor_transpose(const CtTensor *t, const guint *order, GError **error)
{
    guint64 stride[CT_TENSOR_MAX_RANK], run = 1, turned[CT_TENSOR_MAX_RANK];
    for (guint k = 0; k < t->rank; k++) {
        guint d = t->fortran_order ? k : t->rank - 1 - k;
        stride[d] = run;
        run *= (guint64)t->dims[d];
    }
    CtTensor *out = bytewise(t, t->n, error);
    if (!out)
        return NULL;
    for (guint d = 0; d < t->rank; d++) {
        out->dims[d] = t->dims[order[d]];
        turned[d] = stride[order[d]];
    }
    gather(t, out, turned);
    return out;
}

CtTensor *ct_tensor_c_order(const CtTensor *t, GError **error)
{
    guint order[CT_TENSOR_MAX_RANK];
    for (guint d = 0; d < t->rank; d++)
        order[d] = d;
    return ct_tensor_transpose(t, order, error);
}

/* CHW<k>: [N, C/k, H, W, k] -> [N, C, H, W]. The k last values may stand in an axis of their own or
 * be folded into W or not be shown at all; only the number of elements decides. */
static CtTensor *from_vectorised(const CtTensor *t, guint k, gboolean hwc, gint64 channels,
                                 GError **error)
{
    gint64 c = channels, area = 1, n = t->rank > 0 ? t->dims[0] : 1;
    if (t->rank < 4) {
        g_set_error(error, CT_ERROR, CT_ERROR_USAGE, "%s: a vectorised layout needs four axes",
                    t->path);
        return NULL;
    }
    gint64 h = hwc ? t->dims[1] : t->dims[2], w = hwc ? t->dims[2] : t->dims[3];
    if (c <= 0)
        c = hwc ? t->dims[3] : t->rank == 5 ? t->dims[1] * k : t->dims[1];
    gint64 padded = (c + k - 1) / k * k;
    guint64 want;
    if (__builtin_mul_overflow(h, w, &area) ||
        __builtin_mul_overflow((guint64)area, (guint64)n, &want) ||
        __builtin_mul_overflow(want, (guint64)padded, &want) || want > t->n) {
        g_set_error(error, CT_ERROR, CT_ERROR_USAGE,
                    "%s: %" G_GUINT64_FORMAT " elements are too few for this layout", t->path,
                    t->n);
        return NULL;
    }
    CtTensor *out = bytewise(t, (guint64)n * (guint64)c * (guint64)area, error);
    if (!out)
        return NULL;
    out->rank = 4;
    out->dims[0] = n;
    out->dims[1] = c;
    out->dims[2] = h;
    out->dims[3] = w;
    guint esize = ct_dtype_bits(out->dtype) / 8;
    const guint8 *in = ct_tensor_data(t);
    guint8 *to = writable(out);
    guint64 i = 0;
    for (gint64 b = 0; b < n; b++)
        for (gint64 ch = 0; ch < c; ch++)
            for (gint64 p = 0; p < area; p++, i++) {
                gint64 pos = hwc ? (b * area + p) * padded + ch
                                 : ((b * (padded / k) + ch / k) * area + p) * k + ch % k;
                if (ct_dtype_bits(t->dtype) == 4)
                    ct_tensor_to_f32(t, (guint64)pos, 1, (float *)(void *)to + i);
                else
                    memcpy(to + i * esize, in + (gsize)pos * esize, esize);
            }
    return out;
}

CtTensor *ct_tensor_from_layout(const CtTensor *t, const char *layout, gint64 channels,
                                GError **error)
{
    g_autofree char *word = g_ascii_strdown(layout, -1);
    if (g_str_has_prefix(word, "dhwc") || g_str_has_prefix(word, "cdhw")) {
        g_set_error(error, CT_ERROR, CT_ERROR_USAGE,
                    "--layout %s: three spatial axes are not known", layout);
        return NULL;
    }
    gboolean nhwc = g_str_equal(word, "nhwc") || g_str_equal(word, "hwc");
    if (g_str_equal(word, "nchw") || g_str_equal(word, "chw") || g_str_equal(word, "linear"))
        return t->fortran_order
                   ? ct_tensor_c_order(t, error)
                   : ct_tensor_transpose(t,
                                         (guint[CT_TENSOR_MAX_RANK]){0, 1, 2, 3, 4, 5, 6, 7, 8, 9,
                                                                     10, 11, 12, 13, 14, 15},
                                         error);
    if (nhwc && t->rank >= 3 && t->rank <= 5) {
        guint order[CT_TENSOR_MAX_RANK] = {0}, batch = t->rank > 3 ? 1 : 0;
        order[batch] = t->rank - 1;
        for (guint d = batch; d + 1 < t->rank; d++)
            order[d + 1] = d;
        return ct_tensor_transpose(t, order, error);
    }
    const char *digits = word + strcspn(word, "0123456789");
    guint k = (guint)g_ascii_strtoull(digits, NULL, 10);
    gboolean chw = g_str_has_prefix(word, "chw") || g_str_has_prefix(word, "nchw"),
             hwc = g_str_has_prefix(word, "hwc") || g_str_has_prefix(word, "nhwc");
    if ((chw || hwc) && (k == 2 || k == 4 || k == 8 || k == 16 || k == 32))
        return from_vectorised(t, k, hwc, channels, error);
    g_set_error(error, CT_ERROR, CT_ERROR_USAGE,
                "--layout %s: known are nchw, nhwc, chw2, chw4, chw16, chw32, hwc8, hwc16", layout);
    return NULL;
}
