/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiled several times with different -m flags and CT_KERNEL set to the name of the twin. Written
 * with compiler vectors of 64 bytes, which each instruction set maps to what it has.
 */
#include <float.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "tensor/kernel.h"

/* Bytes of a vector register. Doubles carry the sums; whatever is exact in fp32 (extremes,
 * equality, subnormals, steps) is done there with twice the lanes. */
#ifndef CT_VECTOR
#define CT_VECTOR 16
#endif
#define LANES (CT_VECTOR / 8)
#define FLOATS (CT_VECTOR / 4)
typedef double Vd __attribute__((vector_size(CT_VECTOR), aligned(8)));
typedef gint64 Vl __attribute__((vector_size(CT_VECTOR), aligned(8)));
typedef float Vf __attribute__((vector_size(CT_VECTOR), aligned(4)));
typedef gint32 Vi __attribute__((vector_size(CT_VECTOR), aligned(4)));
typedef guint32 Vu __attribute__((vector_size(CT_VECTOR), aligned(4)));
typedef float Hf __attribute__((vector_size(CT_VECTOR / 2), aligned(4)));
typedef guint32 Hu __attribute__((vector_size(CT_VECTOR / 2), aligned(4)));

#define INLINE static inline __attribute__((always_inline))

INLINE Vd keep(Vd x, Vl mask)
{
    return (Vd)((Vl)x & mask);
}

INLINE Vd pick(Vl mask, Vd yes, Vd no)
{
    return (Vd)(((Vl)yes & mask) | ((Vl)no & ~mask));
}

INLINE Vd all(double x)
{
    Vd v;
    for (int i = 0; i < LANES; i++)
        v[i] = x;
    return v;
}

INLINE Vd magnitude(Vd x)
{
    return (Vd)((Vl)x & ~(Vl)all(-0.0));
}

INLINE Vf pickf(Vi mask, Vf yes, Vf no)
{
    return (Vf)(((Vi)yes & mask) | ((Vi)no & ~mask));
}

/* The compiler does not turn the select into the one instruction that most processors have. */
INLINE Vd larger(Vd a, Vd b)
{
#if defined(__AVX512F__)
    return (Vd)_mm512_max_pd((__m512d)a, (__m512d)b);
#elif defined(__AVX2__)
    return (Vd)_mm256_max_pd((__m256d)a, (__m256d)b);
#elif defined(__SSE2__)
    return (Vd)_mm_max_pd((__m128d)a, (__m128d)b);
#else
    return pick(a > b, a, b);
#endif
}

INLINE Vf largerf(Vf a, Vf b)
{
#if defined(__AVX512F__)
    return (Vf)_mm512_max_ps((__m512)a, (__m512)b);
#elif defined(__AVX2__)
    return (Vf)_mm256_max_ps((__m256)a, (__m256)b);
#elif defined(__SSE2__)
    return (Vf)_mm_max_ps((__m128)a, (__m128)b);
#else
    return pickf(a > b, a, b);
#endif
}

INLINE Vf smallerf(Vf a, Vf b)
{
#if defined(__AVX512F__)
    return (Vf)_mm512_min_ps((__m512)a, (__m512)b);
#elif defined(__AVX2__)
    return (Vf)_mm256_min_ps((__m256)a, (__m256)b);
#elif defined(__SSE2__)
    return (Vf)_mm_min_ps((__m128)a, (__m128)b);
#else
    return pickf(a < b, a, b);
#endif
}

/* Only the twins without a maximum instruction use it. */
__attribute__((unused)) INLINE Vu picku(Vu mask, Vu yes, Vu no)
{
    return (yes & mask) | (no & ~mask);
}

INLINE Vu largeru(Vu a, Vu b)
{
#if defined(__AVX512F__)
    return (Vu)_mm512_max_epu32((__m512i)a, (__m512i)b);
#elif defined(__AVX2__)
    return (Vu)_mm256_max_epu32((__m256i)a, (__m256i)b);
#else
    return picku((Vu)(a > b), a, b);
#endif
}

INLINE Vu smalleru(Vu a, Vu b)
{
#if defined(__AVX512F__)
    return (Vu)_mm512_min_epu32((__m512i)a, (__m512i)b);
#elif defined(__AVX2__)
    return (Vu)_mm256_min_epu32((__m256i)a, (__m256i)b);
#else
    return picku((Vu)(a < b), a, b);
#endif
}

INLINE Vi largeri(Vi a, Vi b)
{
#if defined(__AVX512F__)
    return (Vi)_mm512_max_epi32((__m512i)a, (__m512i)b);
#elif defined(__AVX2__)
    return (Vi)_mm256_max_epi32((__m256i)a, (__m256i)b);
#else
    return (Vi)picku((Vu)(a > b), (Vu)a, (Vu)b);
#endif
}

INLINE Vi smalleri(Vi a, Vi b)
{
#if defined(__AVX512F__)
    return (Vi)_mm512_min_epi32((__m512i)a, (__m512i)b);
#elif defined(__AVX2__)
    return (Vi)_mm256_min_epi32((__m256i)a, (__m256i)b);
#else
    return (Vi)picku((Vu)(a < b), (Vu)a, (Vu)b);
#endif
}

INLINE Vd widen(Hf x)
{
#if defined(__AVX512F__)
    return (Vd)_mm512_cvtps_pd((__m256)x);
#else
    return __builtin_convertvector(x, Vd);
#endif
}

INLINE Vl widen_u(Hu x)
{
#if defined(__AVX512F__)
    return (Vl)_mm512_cvtepu32_epi64((__m256i)x);
#else
    return __builtin_convertvector(x, Vl);
#endif
}

INLINE double sum_lanes(Vd x)
{
    double sum = 0;
    for (int i = 0; i < LANES; i++)
        sum += x[i];
    return sum;
}

INLINE guint64 count_lanes(Vl x)
{
    gint64 n = 0;
    for (int i = 0; i < LANES; i++)
        n += x[i];
    return (guint64)-n; /* a true lane is -1 */
}

INLINE guint64 count_floats(Vi x)
{
    gint64 n = 0;
    for (int i = 0; i < FLOATS; i++)
        n += x[i];
    return (guint64)-n;
}

INLINE double max_lanes(Vd x)
{
    double m = x[0];
    for (int i = 1; i < LANES; i++)
        m = x[i] > m ? x[i] : m;
    return m;
}

/* Running sums of a block in doubles. */
typedef struct {
    Vd sum_abs, sum_abs2, max_abs, sum_rel, max_rel, sum_ref, sum_test, dot, ref2, test2;
    Vl over_sum, over_both;
} Sums;

/* Only finite pairs come here; others were made (0, 0). */
INLINE void add(Sums *s, Vd r, Vd t, Vd atol, Vd rtol)
{
    Vd d = magnitude(t - r), a = magnitude(r), bound = rtol * a;
    s->sum_abs += d;
    s->sum_abs2 += d * d;
    s->max_abs = larger(d, s->max_abs);
    Vl nonzero = a > all(0);
    Vd rel = keep(d / a, nonzero);
    s->sum_rel += rel;
    s->max_rel = larger(rel, s->max_rel);
    s->over_sum += d > atol + bound;
    s->over_both += d > larger(atol, bound);
    s->sum_ref += r;
    s->sum_test += t;
    s->dot += r * t;
    s->ref2 += r * r;
    s->test2 += t * t;
}

static void fold_sums(const Sums *s, CtPairSums *out)
{
    out->over_sum += count_lanes(s->over_sum);
    out->over_both += count_lanes(s->over_both);
    out->sum_abs += sum_lanes(s->sum_abs);
    out->sum_abs2 += sum_lanes(s->sum_abs2);
    out->sum_rel += sum_lanes(s->sum_rel);
    out->sum_ref += sum_lanes(s->sum_ref);
    out->sum_test += sum_lanes(s->sum_test);
    out->dot += sum_lanes(s->dot);
    out->ref2 += sum_lanes(s->ref2);
    out->test2 += sum_lanes(s->test2);
    out->max_abs = MAX(out->max_abs, max_lanes(s->max_abs));
    out->max_rel = MAX(out->max_rel, max_lanes(s->max_rel));
}

/* What is exact in fp32. Lows are negated, so that all extremes are maxima. */
typedef struct {
    Vf ref_high, ref_low, test_high, test_low;
    Vi finite, unequal, n_rel, ref_sub, test_sub;
    Vl steps;
    Vu most;
} Exact;

INLINE Vf all_f(float x)
{
    Vf v;
    for (int i = 0; i < FLOATS; i++)
        v[i] = x;
    return v;
}

/* Floats as integers in the order of their values, so that a difference counts steps. */
INLINE Vu ulp_distance(Vf r, Vf t)
{
    Vi a = (Vi)r, b = (Vi)t;
    a ^= (a >> 31) & 0x7fffffff;
    b ^= (b >> 31) & 0x7fffffff;
    Vi less = a < b;
    Vu d = (Vu)a - (Vu)b;
    return (d ^ (Vu)less) - (Vu)less; /* negated where b is the larger one */
}

INLINE Vf load_f(const float *p)
{
    Vf v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* One vector of pairs; those that are not both finite count for nothing. */
INLINE void look(Exact *e, Vf r, Vf t, Vf ref_normal, Vf test_normal, gboolean ulp)
{
    Vf a = (Vf)((Vi)r & 0x7fffffff), b = (Vf)((Vi)t & 0x7fffffff), none = all_f(-FLT_MAX);
    Vi ok = (Vi)((a <= all_f(FLT_MAX)) & (b <= all_f(FLT_MAX)));
    Vi nonzero = (a > all_f(0)) & ok;
    e->ref_high = largerf(pickf(ok, r, none), e->ref_high);
    e->ref_low = largerf(pickf(ok, -r, none), e->ref_low);
    e->test_high = largerf(pickf(ok, t, none), e->test_high);
    e->test_low = largerf(pickf(ok, -t, none), e->test_low);
    e->finite += ok;
    e->unequal += (r != t) & ok;
    e->n_rel += nonzero;
    e->ref_sub += (a < ref_normal) & nonzero;
    e->test_sub += (b < test_normal) & (b > all_f(0)) & ok;
    if (ulp) {
        Vu u = ulp_distance(r, t) & (Vu)ok;
        e->most = (u & (Vu)(u > e->most)) | (e->most & ~(Vu)(u > e->most));
        Hu half[2];
        memcpy(half, &u, sizeof half);
        e->steps += widen_u(half[0]) + widen_u(half[1]);
    }
}

static void begin_exact(Exact *e)
{
    memset(e, 0, sizeof *e);
    e->ref_high = e->ref_low = e->test_high = e->test_low = all_f(-FLT_MAX);
}

static void fold_exact(const Exact *e, CtPairSums *out)
{
    out->finite += count_floats(e->finite);
    out->unequal += count_floats(e->unequal);
    out->n_rel += count_floats(e->n_rel);
    out->ref_subnormal += count_floats(e->ref_sub);
    out->test_subnormal += count_floats(e->test_sub);
    for (int i = 0; i < FLOATS; i++) {
        out->max_ulp = MAX(out->max_ulp, (double)e->most[i]);
        if (out->finite == 0)
            continue; /* no extreme was seen */
        out->ref_max = MAX(out->ref_max, (double)e->ref_high[i]);
        out->ref_min = MIN(out->ref_min, -(double)e->ref_low[i]);
        out->test_max = MAX(out->test_max, (double)e->test_high[i]);
        out->test_min = MIN(out->test_min, -(double)e->test_low[i]);
    }
    for (int i = 0; i < LANES; i++)
        out->sum_ulp += (double)e->steps[i];
}

/* Two passes over a block that fits into the first cache, because the state of both together does
 * not fit into the registers. */
#define BLOCK 4096

static guint64 exact_pass(const float *r, const float *t, gsize n, const CtPairRule *rule,
                          gboolean ulp, CtPairSums *out)
{
    Exact e;
    begin_exact(&e);
    const Vf ref_normal = all_f((float)rule->ref_min_normal);
    const Vf test_normal = all_f((float)rule->test_min_normal);
    gsize i = 0;
    if (ulp)
        for (; i + FLOATS <= n; i += FLOATS)
            look(&e, load_f(r + i), load_f(t + i), ref_normal, test_normal, TRUE);
    else
        for (; i + FLOATS <= n; i += FLOATS)
            look(&e, load_f(r + i), load_f(t + i), ref_normal, test_normal, FALSE);
    if (i < n) { /* the lanes past the end are NaN */
        Vf x = all_f(__builtin_nanf("")), y = x;
        memcpy(&x, r + i, (n - i) * sizeof *r);
        memcpy(&y, t + i, (n - i) * sizeof *t);
        look(&e, x, y, ref_normal, test_normal, ulp);
    }
    guint64 before = out->finite;
    fold_exact(&e, out);
    return out->finite - before;
}

/* What most blocks are: everything finite, nothing zero or subnormal. FALSE, with nothing added,
 * when the block is not like that; n is a multiple of FLOATS. */
INLINE gboolean plain_pass(const float *r, const float *t, gsize n, const CtPairRule *rule,
                           gboolean ulp, CtPairSums *out)
{
    Vu high = {0}, ref_least = ~high, test_least = ~high, most = {0};
    Vf none = all_f(-FLT_MAX), ref_high = none, test_high = none, ref_low = -none, test_low = -none;
    Vi unequal = {0};
    Vl low_steps = {0}, high_steps = {0};
    for (gsize i = 0; i < n; i += FLOATS) {
        Vf x = load_f(r + i), y = load_f(t + i);
        Vu a = (Vu)x & 0x7fffffff, b = (Vu)y & 0x7fffffff;
        high = largeru(high, largeru(a, b));
        ref_least = smalleru(ref_least, a);
        test_least = smalleru(test_least, b);
        ref_high = largerf(x, ref_high);
        ref_low = smallerf(x, ref_low);
        test_high = largerf(y, test_high);
        test_low = smallerf(y, test_low);
        unequal += (Vi)((Vu)x != (Vu)y); /* no zeros here, so bits tell */
        if (ulp) {
            Vi p = (Vi)x, q = (Vi)y;
            p ^= (p >> 31) & 0x7fffffff;
            q ^= (q >> 31) & 0x7fffffff;
            Vu d = (Vu)largeri(p, q) - (Vu)smalleri(p, q);
            most = largeru(most, d);
            low_steps += (Vl)d & 0xffffffff;
            high_steps += ((Vl)d >> 32) & 0xffffffff;
        }
    }
    const float ref_normal = MAX((float)rule->ref_min_normal, FLT_TRUE_MIN),
                test_normal = MAX((float)rule->test_min_normal, FLT_TRUE_MIN);
    guint32 ref_edge, test_edge;
    memcpy(&ref_edge, &ref_normal, sizeof ref_edge);
    memcpy(&test_edge, &test_normal, sizeof test_edge);
    gboolean plain = TRUE;
    for (int i = 0; i < FLOATS; i++)
        plain &= high[i] < 0x7f800000 && ref_least[i] >= ref_edge && test_least[i] >= test_edge;
    if (!plain)
        return FALSE;
    out->finite += n;
    out->n_rel += n;
    out->unequal += count_floats(unequal);
    for (int i = 0; i < FLOATS; i++) {
        out->max_ulp = MAX(out->max_ulp, (double)most[i]);
        out->ref_max = MAX(out->ref_max, (double)ref_high[i]);
        out->ref_min = MIN(out->ref_min, (double)ref_low[i]);
        out->test_max = MAX(out->test_max, (double)test_high[i]);
        out->test_min = MIN(out->test_min, (double)test_low[i]);
    }
    for (int i = 0; i < LANES; i++)
        out->sum_ulp += (double)(low_steps[i] + high_steps[i]);
    return TRUE;
}

static gboolean is_plain(const float *r, const float *t, gsize n, const CtPairRule *rule,
                         gboolean ulp, CtPairSums *out)
{
    if (n % FLOATS)
        return FALSE;
    /* Behind an activation there are zeros everywhere: do not look in vain. */
    float x[64], y[64];
    gsize m = MIN(n, G_N_ELEMENTS(x));
    memcpy(x, r, m * sizeof *x);
    memcpy(y, t, m * sizeof *y);
    for (gsize i = 0; i < m; i++)
        if (x[i] == 0 || y[i] == 0)
            return FALSE;
    return ulp ? plain_pass(r, t, n, rule, TRUE, out) : plain_pass(r, t, n, rule, FALSE, out);
}

static void sums_pass(const float *r, const float *t, gsize n, const CtPairRule *rule,
                      CtPairSums *out)
{
    Sums s = {0};
    const Vd atol = all(rule->atol), rtol = all(rule->rtol);
    gsize i = 0;
    for (; i + LANES <= n; i += LANES) {
        Hf x, y;
        memcpy(&x, r + i, sizeof x);
        memcpy(&y, t + i, sizeof y);
        add(&s, widen(x), widen(y), atol, rtol);
    }
    if (i < n) { /* zero pairs add nothing */
        Hf x = {0}, y = {0};
        memcpy(&x, r + i, (n - i) * sizeof *r);
        memcpy(&y, t + i, (n - i) * sizeof *t);
        add(&s, widen(x), widen(y), atol, rtol);
    }
    fold_sums(&s, out);
}

static gboolean pair_f32(const float *r, const float *t, gsize n, const CtPairRule *rule,
                         gboolean ulp, CtPairSums *out)
{
    gboolean odd = FALSE;
    out->n += n;
    while (n > 0) {
        gsize m = MIN(n, (gsize)BLOCK);
        if (is_plain(r, t, m, rule, ulp, out) || exact_pass(r, t, m, rule, ulp, out) == m) {
            sums_pass(r, t, m, rule, out);
        } else {
            /* Copied, because files align nothing. */
            float x[BLOCK], y[BLOCK];
            memcpy(x, r, m * sizeof *x);
            memcpy(y, t, m * sizeof *y);
            for (gsize i = 0; i < m; i++)
                if (x[i] - x[i] != 0 || y[i] - y[i] != 0)
                    x[i] = y[i] = 0;
            sums_pass(x, y, m, rule, out);
            odd = TRUE;
        }
        r += m;
        t += m;
        n -= m;
    }
    return odd;
}

static double ulp_f64(double r, double t)
{
    gint64 a, b;
    memcpy(&a, &r, sizeof a);
    memcpy(&b, &t, sizeof b);
    a ^= (a >> 63) & G_MAXINT64;
    b ^= (b >> 63) & G_MAXINT64;
    return (double)(a > b ? (guint64)a - (guint64)b : (guint64)b - (guint64)a);
}

static gboolean pair_f64(const double *r, const double *t, gsize n, const CtPairRule *rule,
                         gboolean ulp, CtPairSums *out)
{
    Sums s = {0};
    const Vd atol = all(rule->atol), rtol = all(rule->rtol);
    const Vd ref_normal = all(rule->ref_min_normal), test_normal = all(rule->test_min_normal);
    Vd ref_high = all(-DBL_MAX), ref_low = ref_high, test_high = ref_high, test_low = ref_high;
    Vl finite = {0}, unequal = {0}, n_rel = {0}, ref_sub = {0}, test_sub = {0};
    for (gsize i = 0; i < n; i += LANES) {
        Vd x = all(__builtin_nan("")), y = x;
        gsize m = MIN((gsize)LANES, n - i);
        memcpy(&x, r + i, m * sizeof *r);
        memcpy(&y, t + i, m * sizeof *t);
        Vd a = magnitude(x), b = magnitude(y);
        Vl ok = (a <= all(DBL_MAX)) & (b <= all(DBL_MAX));
        ref_high = larger(pick(ok, x, all(-DBL_MAX)), ref_high);
        ref_low = larger(pick(ok, -x, all(-DBL_MAX)), ref_low);
        test_high = larger(pick(ok, y, all(-DBL_MAX)), test_high);
        test_low = larger(pick(ok, -y, all(-DBL_MAX)), test_low);
        x = keep(x, ok);
        y = keep(y, ok);
        finite += ok;
        unequal += x != y;
        Vl nonzero = (a > all(0)) & ok;
        n_rel += nonzero;
        ref_sub += (a < ref_normal) & nonzero;
        test_sub += (b < test_normal) & (b > all(0)) & ok;
        add(&s, x, y, atol, rtol);
    }
    guint64 good = count_lanes(finite);
    out->n += n;
    out->finite += good;
    out->unequal += count_lanes(unequal);
    out->n_rel += count_lanes(n_rel);
    out->ref_subnormal += count_lanes(ref_sub);
    out->test_subnormal += count_lanes(test_sub);
    if (good) {
        out->ref_max = MAX(out->ref_max, max_lanes(ref_high));
        out->ref_min = MIN(out->ref_min, -max_lanes(ref_low));
        out->test_max = MAX(out->test_max, max_lanes(test_high));
        out->test_min = MIN(out->test_min, -max_lanes(test_low));
    }
    fold_sums(&s, out);
    for (gsize i = 0; ulp && i < n; i++)
        if (r[i] - r[i] == 0 && t[i] - t[i] == 0) {
            double u = ulp_f64(r[i], t[i]);
            out->sum_ulp += u;
            out->max_ulp = MAX(out->max_ulp, u);
        }
    return good != n;
}

static gboolean all_finite_f32(const float *x, gsize n)
{
    Vi bad = {0};
    gsize i = 0;
    for (; i + 4 * FLOATS <= n; i += 4 * FLOATS) {
        Vi v[4];
        memcpy(v, x + i, sizeof v);
        for (int k = 0; k < 4; k++)
            bad |= (v[k] & 0x7f800000) == 0x7f800000;
    }
    gint32 any = 0;
    for (int k = 0; k < FLOATS; k++)
        any |= bad[k];
    for (; i < n; i++) {
        guint32 b;
        memcpy(&b, x + i, sizeof b);
        any |= (b & 0x7f800000) == 0x7f800000;
    }
    return any == 0;
}

static void ulp_u16(const guint8 *r, const guint8 *t, gsize n, double *sum, double *max)
{
    gint64 total = 0;
    gint32 most = 0;
    while (n > 0) {
        /* 8192 steps of at most 2^17 fit into 32 bits. */
        gsize m = MIN(n, 8192);
        gint32 part = 0;
        for (gsize i = 0; i < m; i++) {
            gint16 x, y;
            memcpy(&x, r + 2 * i, sizeof x);
            memcpy(&y, t + 2 * i, sizeof y);
            gint32 a = x ^ ((x >> 15) & 0x7fff), b = y ^ ((y >> 15) & 0x7fff);
            gint32 d = a > b ? a - b : b - a;
            part += d;
            most = d > most ? d : most;
        }
        total += part;
        r += 2 * m;
        t += 2 * m;
        n -= m;
    }
    *sum += (double)total;
    *max = MAX(*max, (double)most);
}

#define NAME2(x) ct_kernel_##x
#define NAME1(x) NAME2(x)
#define TEXT2(x) #x
#define TEXT1(x) TEXT2(x)

extern const CtKernel NAME1(CT_KERNEL);
const CtKernel NAME1(CT_KERNEL) = {
    .name = TEXT1(CT_KERNEL),
    .pair_f32 = pair_f32,
    .pair_f64 = pair_f64,
    .all_finite_f32 = all_finite_f32,
    .ulp_u16 = ulp_u16,
};
