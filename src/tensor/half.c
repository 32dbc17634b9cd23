/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor/half.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

float ct_half_to_float(guint16 h)
{
    guint32 sign = (guint32)(h & 0x8000) << 16, e = (h >> 10) & 31, m = h & 0x3ff, bits;
    if (e == 31) {
        bits = sign | 0x7f800000 | (m << 13);
    } else if (e) {
        bits = sign | ((e + 112) << 23) | (m << 13);
    } else {
        /* Subnormal: an integer times 2^-24 is exact in fp32. */
        float f = (float)m * 5.960464477539063e-08f;
        memcpy(&bits, &f, sizeof bits);
        bits |= sign;
    }
    float out;
    memcpy(&out, &bits, sizeof out);
    return out;
}

guint16 ct_float_to_half(float f)
{
    guint32 bits;
    memcpy(&bits, &f, sizeof bits);
    guint16 sign = (guint16)((bits >> 16) & 0x8000);
    guint32 a = bits & 0x7fffffff;
    if (a > 0x7f800000)
        return (guint16)(sign | 0x7e00);
    if (a >= 0x477ff000) /* rounds past 65504 */
        return (guint16)(sign | 0x7c00);
    if (a < 0x38800000) { /* subnormal or zero in half */
        float scaled, magnitude;
        memcpy(&magnitude, &a, sizeof magnitude);
        /* Adding 0.5 leaves the rounded multiple of 2^-24 in the low bits. */
        scaled = magnitude + 0.5f;
        guint32 s;
        memcpy(&s, &scaled, sizeof s);
        return (guint16)(sign | (s - 0x3f000000));
    }
    guint32 odd = (a >> 13) & 1;
    return (guint16)(sign | ((a - 0x38000000 + 0xfff + odd) >> 13));
}

static void scalar_n(const guint8 *in, gsize n, float *out)
{
    for (gsize i = 0; i < n; i++) {
        guint16 h;
        memcpy(&h, in + 2 * i, sizeof h);
        out[i] = ct_half_to_float(GUINT16_FROM_LE(h));
    }
}

#if defined(__x86_64__)
__attribute__((target("avx,f16c"))) static void f16c_n(const guint8 *in, gsize n, float *out)
{
    gsize i = 0;
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(
            out + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(in + 2 * i))));
    scalar_n(in + 2 * i, n - i, out + i);
}
#endif

void ct_half_to_float_n(const guint8 *in, gsize n, float *out)
{
#if defined(__x86_64__)
    /* Every processor with AVX2 has F16C; clang does not know the latter by name. */
    if (__builtin_cpu_supports("avx2")) {
        f16c_n(in, n, out);
        return;
    }
#elif defined(__aarch64__)
    gsize i = 0;
    for (; i + 4 <= n; i += 4) {
        uint16x4_t h;
        memcpy(&h, in + 2 * i, sizeof h);
        vst1q_f32(out + i, vcvt_f32_f16(vreinterpret_f16_u16(h)));
    }
    in += 2 * i;
    out += i;
    n -= i;
#endif
    scalar_n(in, n, out);
}
