/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor/compare.h"

#include <math.h>
#include <string.h>

#define DIRECT_BLOCK 65536u /* numbers that the kernel reads where they lie */
#define COPY_BLOCK 4096u    /* converted ones stay in the first cache */

double ct_dtype_eps(CtDtype dtype)
{
    switch (dtype) {
    case CT_F64:
    case CT_C128:
        return 0x1p-52;
    case CT_F32:
    case CT_C64:
        return 0x1p-23;
    case CT_F16:
        return 0x1p-10;
    case CT_BF16:
        return 0x1p-7;
    case CT_F8_E4M3:
        return 0x1p-3;
    case CT_F8_E5M2:
        return 0x1p-2;
    case CT_F4_E2M1:
        return 0x1p-1;
    default:
        return 0;
    }
}

CtDtype ct_coarser(CtDtype a, CtDtype b)
{
    return ct_dtype_eps(b) > ct_dtype_eps(a) ? b : a;
}

void ct_default_tolerance(CtDtype dtype, double *atol, double *rtol)
{
    double eps = ct_dtype_eps(dtype);
    if (eps == 0)
        *atol = *rtol = 0;
    else if (eps < 1e-10)
        *atol = *rtol = 1e-8;
    else if (eps < 1e-5)
        *atol = *rtol = 1e-5;
    else /* ten steps */
        *atol = *rtol = 10 * eps;
}

char *ct_tensor_index(const CtTensor *t, guint64 flat)
{
    if (ct_dtype_is_complex(t->dtype))
        flat /= 2;
    gint64 at[CT_TENSOR_MAX_RANK];
    for (guint k = 0; k < t->rank; k++) {
        guint d = t->fortran_order ? k : t->rank - 1 - k;
        at[d] = (gint64)(flat % (guint64)MAX(t->dims[d], 1));
        flat /= (guint64)MAX(t->dims[d], 1);
    }
    GString *s = g_string_new("(");
    for (guint d = 0; d < t->rank; d++)
        g_string_append_printf(s, "%s%" G_GINT64_FORMAT, d ? ", " : "", at[d]);
    g_string_append_c(s, ')');
    return g_string_free(s, FALSE);
}

/* One comparison at work. Places of extremes are remembered by block and looked up at the end,
 * which costs one more look at three blocks instead of a search in all. */
typedef struct {
    const CtTensor *ref, *test;
    const CtKernel *kernel;
    CtPairRule rule;
    gboolean single, direct, ulp32, ulp16; /* single: fp32 suffices */
    guint block;
    CtComparison *out;
    gint64 first_block, abs_block, rel_block;
    double low[4]; /* what the sums of the blocks lost: abs, abs2, ref, test */
    void *a, *b;
} Work;

static void load(const Work *w, guint64 from, gsize n, const void **r, const void **t)
{
    guint parts = ct_dtype_is_complex(w->ref->dtype) ? 2 : 1;
    if (w->direct) {
        *r = ct_tensor_data(w->ref) + from * sizeof(float);
        *t = ct_tensor_data(w->test) + from * sizeof(float);
        return;
    }
    if (w->single) {
        ct_tensor_to_f32(w->ref, from / parts, n / parts, w->a);
        ct_tensor_to_f32(w->test, from / parts, n / parts, w->b);
    } else {
        ct_tensor_to_f64(w->ref, from / parts, n / parts, w->a);
        ct_tensor_to_f64(w->test, from / parts, n / parts, w->b);
    }
    *r = w->a;
    *t = w->b;
}

static double at(const Work *w, const void *block, gsize i)
{
    if (!w->single)
        return ((const double *)block)[i];
    float f;
    memcpy(&f, (const guint8 *)block + i * sizeof f, sizeof f);
    return f;
}

static void count_special(CtSpecials *s, double x)
{
    s->nan += isnan(x);
    s->pos_inf += isinf(x) && x > 0;
    s->neg_inf += isinf(x) && x < 0;
}

/* A pair that is not finite on both sides. Equal infinities are equal by the rule of numpy only. */
static void odd_pair(Work *w, guint64 index, double r, double t)
{
    CtComparison *c = w->out;
    count_special(&c->ref, r);
    count_special(&c->test, t);
    c->nan_both += isnan(r) && isnan(t);
    gboolean same = isinf(r) && r == t;
    c->inf_equal += same;
    c->over_sum += !same;
    c->over_either++;
    if (isfinite(t))
        return;
    if (c->first_test_nonfinite < 0) {
        c->first_test_nonfinite = (gint64)index;
        c->first_test_nonfinite_ref = r;
    }
    if (isfinite(r)) {
        c->ref_max_where_test_inf = MAX(c->ref_max_where_test_inf, fabs(r));
        c->test_inf_ref_beyond += fabs(r) > ct_dtype_max(w->test->dtype);
    }
}

static gboolean over(const Work *w, double r, double t)
{
    if (!isfinite(r) || !isfinite(t))
        return !(w->out->rule == CT_RULE_SUM && isinf(r) && r == t);
    double d = fabs(t - r), bound = w->rule.rtol * fabs(r);
    return w->out->rule == CT_RULE_SUM ? d > w->rule.atol + bound : d > MAX(w->rule.atol, bound);
}

/* Sums over many blocks keep what an addition rounds away (Neumaier). */
static void add_kept(double *sum, double *low, double x)
{
    double s = *sum + x;
    *low += fabs(*sum) >= fabs(x) ? (*sum - s) + x : (x - s) + *sum;
    *sum = s;
}

static void merge(Work *w, const CtPairSums *b)
{
    CtPairSums *s = &w->out->sums;
    s->n += b->n;
    s->finite += b->finite;
    s->unequal += b->unequal;
    s->over_sum += b->over_sum;
    s->over_both += b->over_both;
    s->ref_subnormal += b->ref_subnormal;
    s->test_subnormal += b->test_subnormal;
    s->n_rel += b->n_rel;
    add_kept(&s->sum_abs, &w->low[0], b->sum_abs);
    add_kept(&s->sum_abs2, &w->low[1], b->sum_abs2);
    add_kept(&s->sum_ref, &w->low[2], b->sum_ref);
    add_kept(&s->sum_test, &w->low[3], b->sum_test);
    s->sum_rel += b->sum_rel;
    s->dot += b->dot;
    s->ref2 += b->ref2;
    s->test2 += b->test2;
    s->sum_ulp += b->sum_ulp;
    s->max_ulp = MAX(s->max_ulp, b->max_ulp);
    s->max_abs = MAX(s->max_abs, b->max_abs);
    s->max_rel = MAX(s->max_rel, b->max_rel);
    s->ref_min = MIN(s->ref_min, b->ref_min);
    s->ref_max = MAX(s->ref_max, b->ref_max);
    s->test_min = MIN(s->test_min, b->test_min);
    s->test_max = MAX(s->test_max, b->test_max);
}

/* ULP of 16-bit types, only over finite pairs. */
static void ulp16(Work *w, guint64 from, gsize n, gboolean odd, const void *r, const void *t,
                  CtPairSums *b)
{
    const guint8 *x = ct_tensor_data(w->ref) + 2 * from, *y = ct_tensor_data(w->test) + 2 * from;
    if (!odd) {
        w->kernel->ulp_u16(x, y, n, &b->sum_ulp, &b->max_ulp);
        return;
    }
    for (gsize i = 0; i < n; i++)
        if (isfinite(at(w, r, i)) && isfinite(at(w, t, i)))
            w->kernel->ulp_u16(x + 2 * i, y + 2 * i, 1, &b->sum_ulp, &b->max_ulp);
}

static void one_block(Work *w, guint64 from, gsize n)
{
    const void *r, *t;
    load(w, from, n, &r, &t);
    CtPairSums b;
    ct_pair_sums_init(&b);
    gboolean odd = w->single ? w->kernel->pair_f32(r, t, n, &w->rule, w->ulp32, &b)
                             : w->kernel->pair_f64(r, t, n, &w->rule, w->ulp32, &b);
    guint64 odd_over = 0;
    if (odd) {
        guint64 before = ct_comparison_over(w->out);
        for (gsize i = 0; i < n; i++) {
            double x = at(w, r, i), y = at(w, t, i);
            if (!isfinite(x) || !isfinite(y))
                odd_pair(w, from + i, x, y);
        }
        odd_over = ct_comparison_over(w->out) - before;
    }
    if (w->ulp16)
        ulp16(w, from, n, odd, r, t, &b);
    w->out->over_sum += b.over_sum;
    w->out->over_either += b.over_both;
    guint64 mine = w->out->rule == CT_RULE_SUM ? b.over_sum : b.over_both;
    if (w->first_block < 0 && mine + odd_over > 0)
        w->first_block = (gint64)from;
    if (b.max_abs > w->out->sums.max_abs)
        w->abs_block = (gint64)from;
    if (b.max_rel > w->out->sums.max_rel)
        w->rel_block = (gint64)from;
    merge(w, &b);
}

typedef enum { FIRST, WORST_ABS, WORST_REL } What;

static void look_up(Work *w, gint64 block, What what, gint64 *index, double *ref, double *test)
{
    *index = -1;
    if (block < 0)
        return;
    gsize n = (gsize)MIN((guint64)w->block, w->out->n - (guint64)block);
    const void *r, *t;
    load(w, (guint64)block, n, &r, &t);
    double best = -1;
    for (gsize i = 0; i < n; i++) {
        double x = at(w, r, i), y = at(w, t, i), score;
        if (what == FIRST) {
            if (!over(w, x, y))
                continue;
            score = 0;
        } else if (!isfinite(x) || !isfinite(y) || (what == WORST_REL && x == 0)) {
            continue;
        } else {
            score = what == WORST_ABS ? fabs(y - x) : fabs(y - x) / fabs(x);
        }
        if (score > best) {
            best = score;
            *index = block + (gint64)i;
            *ref = x;
            *test = y;
        }
    }
}

static gboolean whole64(const CtTensor *t)
{
    return t->dtype == CT_I64 || t->dtype == CT_U64;
}

/* Magnitude and sign of an integer of 64 bits. */
static guint64 integer_at(const CtTensor *t, guint64 i, gboolean *negative)
{
    guint64 v;
    memcpy(&v, ct_tensor_data(t) + 8 * i, sizeof v);
    v = t->big_endian ? GUINT64_FROM_BE(v) : GUINT64_FROM_LE(v);
    *negative = t->dtype == CT_I64 && v >> 63;
    return *negative ? -v : v;
}

typedef struct {
    gint64 first, worst;
    double worst_by;
} Exact;

/* Doubles cannot tell integers beyond 2^53 apart: those pairs are counted again, exactly. */
static void exact_pair(Work *w, guint64 i, Exact *e)
{
    CtComparison *c = w->out;
    gboolean rn, tn;
    guint64 r = integer_at(w->ref, i, &rn), t = integer_at(w->test, i, &tn);
    if (MAX(r, t) <= (guint64)1 << 53)
        return;
    /* The sum of two magnitudes may need 65 bits; a double of that is near enough. */
    double exact = rn == tn ? (double)(MAX(r, t) - MIN(r, t)) : (double)r + (double)t;
    double x = rn ? -(double)r : (double)r, y = tn ? -(double)t : (double)t, seen = fabs(y - x);
    if (exact == seen)
        return;
    double atol = w->rule.atol, bound = w->rule.rtol * fabs(x);
    c->sums.unequal += (seen == 0) - (exact == 0);
    c->sums.sum_abs += exact - seen;
    c->sums.sum_abs2 += exact * exact - seen * seen;
    c->over_sum += (exact > atol + bound) - (guint64)(seen > atol + bound);
    c->over_either += (exact > MAX(atol, bound)) - (guint64)(seen > MAX(atol, bound));
    c->sums.max_abs = MAX(c->sums.max_abs, exact);
    c->sums.max_rel = x != 0 ? MAX(c->sums.max_rel, exact / fabs(x)) : c->sums.max_rel;
    gboolean over = c->rule == CT_RULE_SUM ? exact > atol + bound : exact > MAX(atol, bound);
    if (over && e->first < 0)
        e->first = (gint64)i;
    if (exact > e->worst_by) {
        e->worst_by = exact;
        e->worst = (gint64)i;
    }
}

static Exact exact_integers(Work *w)
{
    Exact e = {-1, -1, 0};
    double before = w->out->sums.max_abs;
    for (guint64 i = 0; whole64(w->ref) && whole64(w->test) && i < w->out->n; i++)
        exact_pair(w, i, &e);
    if (e.worst_by <= before)
        e.worst = -1;
    return e;
}

static void exact_places(Work *w, const Exact *e)
{
    CtComparison *c = w->out;
    if (e->first >= 0 && (c->first < 0 || e->first < c->first)) {
        c->first = e->first;
        ct_tensor_to_f64(w->ref, (guint64)e->first, 1, &c->first_ref);
        ct_tensor_to_f64(w->test, (guint64)e->first, 1, &c->first_test);
    }
    if (e->worst >= 0) {
        c->worst_abs = e->worst;
        ct_tensor_to_f64(w->ref, (guint64)e->worst, 1, &c->worst_abs_ref);
        ct_tensor_to_f64(w->test, (guint64)e->worst, 1, &c->worst_abs_test);
    }
}

static void conclude(Work *w)
{
    CtComparison *c = w->out;
    CtPairSums *s = &c->sums;
    s->sum_abs += w->low[0];
    s->sum_abs2 += w->low[1];
    s->sum_ref += w->low[2];
    s->sum_test += w->low[3];
    double n = (double)s->finite;
    c->mean_abs = n > 0 ? s->sum_abs / n : NAN;
    c->mean_rel = s->n_rel ? s->sum_rel / (double)s->n_rel : NAN;
    c->rmse = n > 0 ? sqrt(s->sum_abs2 / n) : NAN;
    c->cosine = s->ref2 > 0 && s->test2 > 0 ? s->dot / (sqrt(s->ref2) * sqrt(s->test2)) : NAN;
    c->rel_rms = s->ref2 > 0 ? sqrt(s->sum_abs2 / s->ref2) : s->sum_abs2 > 0 ? INFINITY : NAN;
    c->sqnr = s->sum_abs2 > 0 ? 10 * log10(s->ref2 / s->sum_abs2) : INFINITY;
    double range = n > 0 ? s->ref_max - s->ref_min : 0;
    c->psnr = c->rmse > 0 ? 20 * log10(range / c->rmse) : INFINITY;
    c->mean_ulp = c->has_ulp && n > 0 ? s->sum_ulp / n : NAN;
    c->pass = ct_comparison_over(c) == 0;
    look_up(w, w->first_block, FIRST, &c->first, &c->first_ref, &c->first_test);
    look_up(w, w->abs_block, WORST_ABS, &c->worst_abs, &c->worst_abs_ref, &c->worst_abs_test);
    look_up(w, w->rel_block, WORST_REL, &c->worst_rel, &c->worst_rel_ref, &c->worst_rel_test);
}

guint64 ct_comparison_over(const CtComparison *c)
{
    return c->rule == CT_RULE_SUM ? c->over_sum : c->over_either;
}

/* Equal but for axes of length one. */
static gboolean same_shape(const CtTensor *a, const CtTensor *b)
{
    guint i = 0, j = 0;
    for (;;) {
        while (i < a->rank && a->dims[i] == 1)
            i++;
        while (j < b->rank && b->dims[j] == 1)
            j++;
        if (i == a->rank || j == b->rank)
            return i == a->rank && j == b->rank;
        if (a->dims[i++] != b->dims[j++])
            return FALSE;
    }
}

static gboolean plain_f32(const CtTensor *t)
{
    return (t->dtype == CT_F32 || t->dtype == CT_C64) && !t->big_endian;
}

static gboolean native16(const CtTensor *t)
{
    return (t->dtype == CT_F16 || t->dtype == CT_BF16) && !t->big_endian;
}

static void begin(Work *w, const CtTensor *ref, const CtTensor *test, const CtCompareOptions *o,
                  CtComparison *out)
{
    *w = (Work){
        .ref = ref, .test = test, .out = out, .first_block = -1, .abs_block = -1, .rel_block = -1};
    w->kernel = o->kernel ? o->kernel : ct_kernel_best();
    memset(out, 0, sizeof *out);
    ct_pair_sums_init(&out->sums);
    out->ref_dtype = ref->dtype;
    out->test_dtype = test->dtype;
    out->rule = o->rule;
    out->first_test_nonfinite = -1;
    ct_default_tolerance(ct_coarser(ref->dtype, test->dtype), &out->atol, &out->rtol);
    if (o->has_atol)
        out->atol = o->atol;
    if (o->has_rtol)
        out->rtol = o->rtol;
    w->rule = (CtPairRule){out->atol, out->rtol, ct_dtype_min_normal(ref->dtype),
                           ct_dtype_min_normal(test->dtype)};
    w->single = ct_dtype_fits_f32(ref->dtype) && ct_dtype_fits_f32(test->dtype);
    w->direct = plain_f32(ref) && plain_f32(test);
    gboolean same = ref->dtype == test->dtype;
    w->ulp32 = same && (ref->dtype == CT_F32 || ref->dtype == CT_F64);
    w->ulp16 = same && native16(ref) && native16(test);
    out->has_ulp = w->ulp32 || w->ulp16;
    w->block = w->direct ? DIRECT_BLOCK : COPY_BLOCK;
    out->n = ref->n * (ct_dtype_is_complex(ref->dtype) ? 2 : 1);
}

static gboolean compatible(const CtTensor *ref, const CtTensor *test, GError **error)
{
    if (!same_shape(ref, test)) {
        g_autofree char *a = ct_tensor_shape(ref), *b = ct_tensor_shape(test);
        g_set_error(error, CT_ERROR, CT_ERROR_UNSUPPORTED, "shapes differ: %s and %s%s", a, b,
                    ref->n == test->n ? " (equally many elements: see --layout)" : "");
        return FALSE;
    }
    if (ct_dtype_is_complex(ref->dtype) != ct_dtype_is_complex(test->dtype)) {
        g_set_error(error, CT_ERROR, CT_ERROR_UNSUPPORTED, "one is complex and the other is not");
        return FALSE;
    }
    return TRUE;
}

gboolean ct_compare(const CtTensor *ref, const CtTensor *test, const CtCompareOptions *o,
                    CtComparison *out, GError **error)
{
    if (!compatible(ref, test, error))
        return FALSE;
    g_autoptr(CtTensor) turned_ref = NULL, turned_test = NULL;
    if (ref->fortran_order != test->fortran_order && ref->rank > 1) {
        turned_ref = ct_tensor_c_order(ref, error);
        turned_test = turned_ref ? ct_tensor_c_order(test, error) : NULL;
        if (!turned_test)
            return FALSE;
        ref = turned_ref;
        test = turned_test;
    }
    Work w;
    begin(&w, ref, test, o, out);
    gsize size = w.single ? sizeof(float) : sizeof(double);
    w.a = w.direct ? NULL : g_malloc(w.block * size);
    w.b = w.direct ? NULL : g_malloc(w.block * size);
    for (guint64 from = 0; from < out->n; from += w.block)
        one_block(&w, from, (gsize)MIN((guint64)w.block, out->n - from));
    Exact exact = exact_integers(&w);
    conclude(&w);
    exact_places(&w, &exact);
    if (o->full)
        ct_compare_full(ref, test, o, &out->full);
    g_free(w.a);
    g_free(w.b);
    return TRUE;
}
