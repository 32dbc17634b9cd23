/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes that cannot overflow, and elements of every type as fp64 or fp32. */
#include "tensor/tensor.h"

#include <math.h>
#include <string.h>

#include "tensor/half.h"

void ct_tensor_free(CtTensor *t)
{
    if (!t)
        return;
    g_free(t->name);
    g_free(t->path);
    ct_bytes_unref(t->bytes);
    g_free(t);
}

const guint8 *ct_tensor_data(const CtTensor *t)
{
    return ct_bytes_data(t->bytes) + t->offset;
}

gboolean ct_tensor_size(CtDtype dtype, guint rank, const gint64 *dims, gsize available,
                        guint64 *out_n, gsize *out_bytes)
{
    guint64 n = 1;
    if (rank > CT_TENSOR_MAX_RANK)
        return FALSE;
    for (guint i = 0; i < rank; i++)
        if (dims[i] < 0 || !g_uint64_checked_mul(&n, n, (guint64)dims[i]))
            return FALSE;
    guint64 bits;
    if (!g_uint64_checked_mul(&bits, n, ct_dtype_bits(dtype)) || bits > G_MAXUINT64 - 7)
        return FALSE;
    guint64 bytes = (bits + 7) / 8;
    if (bytes > available)
        return FALSE;
    *out_n = n;
    *out_bytes = (gsize)bytes;
    return TRUE;
}

char *ct_tensor_shape(const CtTensor *t)
{
    if (t->rank == 0)
        return g_strdup("scalar");
    GString *s = g_string_new(NULL);
    for (guint i = 0; i < t->rank; i++)
        g_string_append_printf(s, "%s%" G_GINT64_FORMAT, i ? "x" : "", t->dims[i]);
    return g_string_free(s, FALSE);
}

static float f8_e4m3(guint8 v)
{
    guint e = (v >> 3) & 15, m = v & 7;
    float x = (v & 0x7f) == 0x7f ? NAN
              : e                ? ldexpf(1 + m / 8.0f, (int)e - 7)
                                 : ldexpf(m / 8.0f, -6);
    return v & 0x80 ? -x : x;
}

static float f8_e5m2(guint8 v)
{
    return ct_half_to_float((guint16)(v << 8));
}

static float f4_e2m1(guint8 v)
{
    static const float values[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
    return v & 8 ? -values[v & 7] : values[v & 7];
}

static guint8 nibble(const guint8 *p, guint64 i)
{
    return i & 1 ? p[i / 2] >> 4 : p[i / 2] & 15;
}

/* The loops differ only in how one element is read; memcpy because files align nothing. */
#define EACH(TYPE, SWAP, EXPR)                                                                     \
    for (gsize i = 0; i < n; i++) {                                                                \
        TYPE v;                                                                                    \
        memcpy(&v, p + (from + i) * sizeof v, sizeof v);                                           \
        if (t->big_endian)                                                                         \
            v = (TYPE)SWAP(v);                                                                     \
        out[i] = EXPR;                                                                             \
    }                                                                                              \
    break

#define SAME(v) (v)

static double bits_to_f64(guint64 v)
{
    double d;
    memcpy(&d, &v, sizeof d);
    return d;
}

static float bits_to_f32(guint32 v)
{
    float f;
    memcpy(&f, &v, sizeof f);
    return f;
}

#define CONVERT(NUMBER)                                                                            \
    const guint8 *p = ct_tensor_data(t);                                                           \
    CtDtype dtype = t->dtype;                                                                      \
    if (ct_dtype_is_complex(dtype)) {                                                              \
        dtype = dtype == CT_C64 ? CT_F32 : CT_F64;                                                 \
        from *= 2;                                                                                 \
        n *= 2;                                                                                    \
    }                                                                                              \
    switch (dtype) {                                                                               \
    case CT_F64:                                                                                   \
        EACH(guint64, GUINT64_SWAP_LE_BE, (NUMBER)bits_to_f64(v));                                 \
    case CT_F32:                                                                                   \
        EACH(guint32, GUINT32_SWAP_LE_BE, (NUMBER)bits_to_f32(v));                                 \
    case CT_F16:                                                                                   \
        EACH(guint16, GUINT16_SWAP_LE_BE, (NUMBER)ct_half_to_float(v));                            \
    case CT_BF16:                                                                                  \
        EACH(guint16, GUINT16_SWAP_LE_BE, (NUMBER)bits_to_f32((guint32)v << 16));                  \
    case CT_F8_E4M3:                                                                               \
        EACH(guint8, SAME, (NUMBER)f8_e4m3(v));                                                    \
    case CT_F8_E5M2:                                                                               \
        EACH(guint8, SAME, (NUMBER)f8_e5m2(v));                                                    \
    case CT_I64:                                                                                   \
        EACH(guint64, GUINT64_SWAP_LE_BE, (NUMBER)(gint64)v);                                      \
    case CT_I32:                                                                                   \
        EACH(guint32, GUINT32_SWAP_LE_BE, (NUMBER)(gint32)v);                                      \
    case CT_I16:                                                                                   \
        EACH(guint16, GUINT16_SWAP_LE_BE, (NUMBER)(gint16)v);                                      \
    case CT_I8:                                                                                    \
        EACH(guint8, SAME, (NUMBER)(gint8)v);                                                      \
    case CT_U64:                                                                                   \
        EACH(guint64, GUINT64_SWAP_LE_BE, (NUMBER)v);                                              \
    case CT_U32:                                                                                   \
        EACH(guint32, GUINT32_SWAP_LE_BE, (NUMBER)v);                                              \
    case CT_U16:                                                                                   \
        EACH(guint16, GUINT16_SWAP_LE_BE, (NUMBER)v);                                              \
    case CT_U8:                                                                                    \
        EACH(guint8, SAME, (NUMBER)v);                                                             \
    case CT_BOOL:                                                                                  \
        EACH(guint8, SAME, (NUMBER)(v != 0));                                                      \
    case CT_F4_E2M1:                                                                               \
        for (gsize i = 0; i < n; i++)                                                              \
            out[i] = (NUMBER)f4_e2m1(nibble(p, from + i));                                         \
        break;                                                                                     \
    case CT_I4:                                                                                    \
        for (gsize i = 0; i < n; i++)                                                              \
            out[i] = (NUMBER)((nibble(p, from + i) ^ 8) - 8);                                      \
        break;                                                                                     \
    case CT_U4:                                                                                    \
        for (gsize i = 0; i < n; i++)                                                              \
            out[i] = (NUMBER)nibble(p, from + i);                                                  \
        break;                                                                                     \
    case CT_C64:                                                                                   \
    case CT_C128:                                                                                  \
    case CT_N_DTYPES:                                                                              \
    default:                                                                                       \
        g_assert_not_reached();                                                                    \
    }

void ct_tensor_to_f64(const CtTensor *t, guint64 from, gsize n, double *out)
{
    CONVERT(double)
}

void ct_tensor_to_f32(const CtTensor *t, guint64 from, gsize n, float *out)
{
    /* The two common cases have fast paths; see half.c for the SIMD one. */
    if (t->dtype == CT_F32 && !t->big_endian) {
        memcpy(out, ct_tensor_data(t) + from * 4, n * 4);
        return;
    }
    if (t->dtype == CT_F16 && !t->big_endian) {
        ct_half_to_float_n(ct_tensor_data(t) + from * 2, n, out);
        return;
    }
    CONVERT(float)
}
