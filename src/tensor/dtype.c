/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor/tensor.h"

#include <string.h>

typedef struct {
    const char *name;
    guint bits;
    gboolean real; /* a floating-point type */
    double max, min_normal, min_subnormal;
    const char *spellings; /* space separated, lower case, without torch., np., k, <, >, = */
} DtypeInfo;

static const DtypeInfo table[CT_N_DTYPES] = {
    [CT_F64] = {"fp64", 64, TRUE, 1.7976931348623157e308, 2.2250738585072014e-308,
                4.9406564584124654e-324, "fp64 float64 f64 f8 double"},
    [CT_F32] = {"fp32", 32, TRUE, 3.4028234663852886e38, 1.1754943508222875e-38,
                1.4012984643248171e-45, "fp32 float32 f32 f4 float single"},
    [CT_F16] = {"fp16", 16, TRUE, 65504, 6.103515625e-05, 5.960464477539063e-08,
                "fp16 float16 f16 f2 half"},
    [CT_BF16] = {"bf16", 16, TRUE, 3.3895313892515355e38, 1.1754943508222875e-38,
                 9.183549615799121e-41, "bf16 bfloat16"},
    [CT_F8_E4M3] = {"fp8_e4m3", 8, TRUE, 448, 0.015625, 0.001953125,
                    "fp8_e4m3 fp8 f8_e4m3 float8_e4m3fn float8e4m3fn e4m3 e4m3fn float8_e4m3"},
    [CT_F8_E5M2] = {"fp8_e5m2", 8, TRUE, 57344, 6.103515625e-05, 1.52587890625e-05,
                    "fp8_e5m2 f8_e5m2 float8_e5m2 float8e5m2 e5m2"},
    [CT_F4_E2M1] = {"fp4_e2m1", 4, TRUE, 6, 1, 0.5,
                    "fp4_e2m1 fp4 f4_e2m1 float4_e2m1fn float4e2m1 e2m1 float4_e2m1"},
    [CT_I64] = {"int64", 64, FALSE, 9.2233720368547758e18, 0, 0, "int64 i64 i8b long"},
    [CT_I32] = {"int32", 32, FALSE, 2147483647, 0, 0, "int32 i32 i4b int"},
    [CT_I16] = {"int16", 16, FALSE, 32767, 0, 0, "int16 i16 i2b short"},
    [CT_I8] = {"int8", 8, FALSE, 127, 0, 0, "int8 i1b"},
    [CT_I4] = {"int4", 4, FALSE, 7, 0, 0, "int4"},
    [CT_U64] = {"uint64", 64, FALSE, 1.8446744073709552e19, 0, 0, "uint64 u64 u8b"},
    [CT_U32] = {"uint32", 32, FALSE, 4294967295.0, 0, 0, "uint32 u32 u4b"},
    [CT_U16] = {"uint16", 16, FALSE, 65535, 0, 0, "uint16 u16 u2b"},
    [CT_U8] = {"uint8", 8, FALSE, 255, 0, 0, "uint8 u1b byte"},
    [CT_U4] = {"uint4", 4, FALSE, 15, 0, 0, "uint4"},
    [CT_BOOL] = {"bool", 8, FALSE, 1, 0, 0, "bool b1"},
    [CT_C64] = {"complex64", 64, TRUE, 3.4028234663852886e38, 1.1754943508222875e-38,
                1.4012984643248171e-45, "complex64 c64 c8 cfloat"},
    [CT_C128] = {"complex128", 128, TRUE, 1.7976931348623157e308, 2.2250738585072014e-308,
                 4.9406564584124654e-324, "complex128 c128 c16 cdouble"},
};

const char *ct_dtype_name(CtDtype dtype)
{
    return table[dtype].name;
}

guint ct_dtype_bits(CtDtype dtype)
{
    return table[dtype].bits;
}

gboolean ct_dtype_is_float(CtDtype dtype)
{
    return table[dtype].real;
}

gboolean ct_dtype_is_complex(CtDtype dtype)
{
    return dtype == CT_C64 || dtype == CT_C128;
}

double ct_dtype_max(CtDtype dtype)
{
    return table[dtype].max;
}

double ct_dtype_min_normal(CtDtype dtype)
{
    return table[dtype].min_normal;
}

double ct_dtype_min_subnormal(CtDtype dtype)
{
    return table[dtype].min_subnormal;
}

gboolean ct_dtype_fits_f32(CtDtype dtype)
{
    switch (dtype) {
    case CT_F64:
    case CT_I64:
    case CT_I32:
    case CT_U64:
    case CT_U32:
    case CT_C128:
        return FALSE;
    default:
        return TRUE;
    }
}

static gboolean lists(const char *words, const char *word)
{
    gsize len = strlen(word);
    for (const char *p = words; (p = strstr(p, word)); p += len)
        if ((p == words || p[-1] == ' ') && (p[len] == ' ' || p[len] == '\0'))
            return TRUE;
    return FALSE;
}

/* NumPy writes i4 for 4 bytes where others mean 4 bits: with a byte-order mark it is bytes. */
static char *numpy_form(const char *text)
{
    if (strchr("<>=|", text[0]) && text[0] && text[1] && strchr("iu", text[1]))
        return g_strdup_printf("%sb", text + 1);
    return g_strdup(text + strspn(text, "<>=|"));
}

gboolean ct_dtype_parse(const char *text, CtDtype *out)
{
    static const char *const prefixes[] = {"torch.", "np.", "numpy.", "datatype.", "trt.",
                                           "nvinfer1::", "type_", "k"};
    g_autofree char *numpy = numpy_form(text);
    g_autofree char *word = g_ascii_strdown(numpy, -1);
    const char *p = word;
    for (gsize i = 0; i < G_N_ELEMENTS(prefixes); i++)
        if (g_str_has_prefix(p, prefixes[i]))
            p += strlen(prefixes[i]);
    for (int d = 0; d < CT_N_DTYPES; d++)
        if (*p && lists(table[d].spellings, p)) {
            *out = (CtDtype)d;
            return TRUE;
        }
    return FALSE;
}
