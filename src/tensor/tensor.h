/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tensor as it lies in a file: type, shape, and bytes that are mapped or owned. Readers make
 * them; compare/ looks at them. Nothing here executes what a file holds.
 */
#pragma once

#include <string.h>

#include <glib.h>

#define CT_TENSOR_MAX_RANK 16u

typedef enum {
    CT_F64,
    CT_F32,
    CT_F16,
    CT_BF16,
    CT_F8_E4M3,
    CT_F8_E5M2,
    CT_F4_E2M1, /* two to a byte, low nibble first */
    CT_I64,
    CT_I32,
    CT_I16,
    CT_I8,
    CT_I4, /* two to a byte, low nibble first */
    CT_U64,
    CT_U32,
    CT_U16,
    CT_U8,
    CT_U4,
    CT_BOOL,
    CT_C64,  /* two fp32 */
    CT_C128, /* two fp64 */
    CT_N_DTYPES,
} CtDtype;

const char *ct_dtype_name(CtDtype dtype); /* "fp32", "bf16", "fp8_e4m3", "int8" ... */
guint ct_dtype_bits(CtDtype dtype);       /* of one element */
gboolean ct_dtype_is_float(CtDtype dtype);
gboolean ct_dtype_is_complex(CtDtype dtype);
/* Any spelling in use: float32, f4, <f2, FLOAT, F16, torch.half, kHALF, e4m3fn ... */
gboolean ct_dtype_parse(const char *text, CtDtype *out);
/* Largest finite value; 0 for types without one that matters (bool). */
double ct_dtype_max(CtDtype dtype);
/* Smallest positive normal and subnormal value; 0 for integers. */
double ct_dtype_min_normal(CtDtype dtype);
double ct_dtype_min_subnormal(CtDtype dtype);

/* g_memdup2() is younger than the oldest GLib that is supported. */
static inline gpointer ct_memdup(gconstpointer data, gsize len)
{
    return len ? memcpy(g_malloc(len), data, len) : NULL;
}

typedef struct CtBytes CtBytes; /* reference-counted mapped or owned bytes */

CtBytes *ct_bytes_map(const char *path, GError **error);
CtBytes *ct_bytes_take(gpointer data, gsize len); /* g_free'd */
CtBytes *ct_bytes_ref(CtBytes *b);
void ct_bytes_unref(CtBytes *b);
const guint8 *ct_bytes_data(const CtBytes *b);
gsize ct_bytes_len(const CtBytes *b);
/* The pages of a range of a mapped file will not be needed again. */
void ct_bytes_drop(const CtBytes *b, gsize offset, gsize len);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtBytes, ct_bytes_unref)

/* Runs `work` so that a mapped file that shrinks meanwhile (SIGBUS) makes this return FALSE instead
 * of ending the program. Not reentrant; one thread at a time. */
gboolean ct_bytes_guard(void (*work)(gpointer data), gpointer data, GError **error);

typedef struct {
    char *name; /* as the file calls it */
    char *path; /* file, with ":member" for archives */
    CtDtype dtype;
    gboolean big_endian;
    guint rank;
    gint64 dims[CT_TENSOR_MAX_RANK];
    gboolean fortran_order;
    CtBytes *bytes;
    gsize offset;  /* of the first element in bytes */
    guint64 n;     /* elements */
    guint64 place; /* offset in the file, for messages */
} CtTensor;

void ct_tensor_free(CtTensor *t);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtTensor, ct_tensor_free)
const guint8 *ct_tensor_data(const CtTensor *t);
/* Product of the dims, FALSE when it or its bytes overflow or exceed `available` bytes. */
gboolean ct_tensor_size(CtDtype dtype, guint rank, const gint64 *dims, gsize available,
                        guint64 *out_n, gsize *out_bytes);
char *ct_tensor_shape(const CtTensor *t); /* "1x3x224x224", "scalar" */

/* Elements [from, from+n) as fp64 or fp32, in the order of the file. Integers of 64 bits are
 * rounded to fp64. Complex values give real and imaginary parts as 2n numbers. */
void ct_tensor_to_f64(const CtTensor *t, guint64 from, gsize n, double *out);
void ct_tensor_to_f32(const CtTensor *t, guint64 from, gsize n, float *out);
/* TRUE when every value of the type is exact in fp32. */
gboolean ct_dtype_fits_f32(CtDtype dtype);
