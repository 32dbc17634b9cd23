/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which tensor is the sum of which two: residual connections are found from the reference's numbers
 * themselves, so that what a sum absorbs can be seen without a graph.
 */
#include <math.h>
#include <string.h>

#include "tensor/why.h"

#define POINTS 64u
#define BACK 24u /* earlier tensors of the same shape that are tried */

typedef struct {
    guint step;
    gsize n;
    guint rank;
    gint64 dims[CT_TENSOR_MAX_RANK];
    double at[POINTS];
} Sketch;

struct CtSumFinder {
    GArray *sketches;
};

CtSumFinder *ct_sum_finder_new(void)
{
    CtSumFinder *f = g_new0(CtSumFinder, 1);
    f->sketches = g_array_new(FALSE, TRUE, sizeof(Sketch));
    return f;
}

void ct_sum_finder_free(CtSumFinder *f)
{
    g_array_unref(f->sketches);
    g_free(f);
}

/* x = a + sign * b, up to the rounding of fp32. */
static gboolean is_sum(const Sketch *x, const Sketch *a, const Sketch *b, double sign)
{
    guint good = 0, telling = 0;
    for (guint i = 0; i < POINTS; i++) {
        double size = fabs(a->at[i]) + fabs(b->at[i]);
        good += fabs(x->at[i] - a->at[i] - sign * b->at[i]) <= 2e-7 * size;
        telling += a->at[i] != 0 && b->at[i] != 0;
    }
    return good * 20 >= POINTS * 19 && telling * 2 >= POINTS;
}

static gboolean try_signs(const Sketch *x, const Sketch *a, const Sketch *b, CtSum *out)
{
    if (is_sum(x, a, b, 1) || is_sum(x, a, b, -1))
        *out = (CtSum){a->step, b->step, is_sum(x, a, b, 1) ? 1 : -1};
    else if (is_sum(x, b, a, -1))
        *out = (CtSum){b->step, a->step, -1};
    else
        return FALSE;
    return TRUE;
}

gboolean ct_sum_finder_add(CtSumFinder *f, guint step, const CtNumbers *x, CtSum *out)
{
    if (!x->ref || x->n < POINTS || !x->whole)
        return FALSE;
    Sketch s = {.step = step, .n = x->n, .rank = x->rank};
    memcpy(s.dims, x->dims, sizeof s.dims);
    for (guint i = 0; i < POINTS; i++) {
        s.at[i] = x->ref[(gsize)i * (x->n - 1) / (POINTS - 1)];
        if (!isfinite(s.at[i]))
            s.at[i] = 0;
    }
    const Sketch *near[BACK];
    guint n = 0;
    for (guint i = f->sketches->len; i > 0 && n < BACK; i--) {
        const Sketch *o = &g_array_index(f->sketches, Sketch, i - 1);
        if (o->n == s.n && o->rank == s.rank && memcmp(o->dims, s.dims, sizeof s.dims) == 0)
            near[n++] = o;
    }
    gboolean found = FALSE;
    for (guint i = 0; i < n && !found; i++)
        for (guint j = i + 1; j < n && !found; j++)
            found = try_signs(&s, near[i], near[j], out);
    g_array_append_val(f->sketches, s);
    return found;
}

static double rms(const double *x, gsize n)
{
    double sum = 0;
    gsize finite = 0;
    for (gsize i = 0; i < n; i++)
        if (isfinite(x[i])) {
            sum += x[i] * x[i];
            finite++;
        }
    return finite ? sqrt(sum / (double)finite) : 0;
}

/* One of both went in shifted, permuted or scaled: what is left without the other shows it. */
static gboolean why_branch(const CtNumbers *x, const CtNumbers *own, const CtStep *own_step,
                           const CtNumbers *other, double own_sign, double other_sign, CtWhy *out)
{
    CtNumbers part = *own;
    part.test = g_new(double, x->n + 1);
    for (gsize i = 0; i < x->n; i++)
        part.test[i] = own_sign * (x->test[i] - other_sign * other->test[i]);
    CtWhy why = {0};
    gboolean found = ct_why_scaled(&part, 0.02, &why) || ct_why_moved(&part, &why);
    g_free(part.test);
    if (!found)
        return FALSE;
    *out = why;
    out->text = g_strdup_printf("what %s adds to it: %s", own_step->name, why.text);
    out->text_zh = g_strdup_printf("%s 加入的部分：%s", own_step->name, why.text_zh);
    g_free(why.text);
    g_free(why.text_zh);
    return TRUE;
}

gboolean ct_why_sum(const CtSteps *all, guint step, const CtNumbers *x, const CtSum *sum,
                    const CtStepOptions *o, CtWhy *out)
{
    const CtStep *sa = all->steps->pdata[sum->a], *sb = all->steps->pdata[sum->b],
                 *s = all->steps->pdata[step];
    g_autoptr(CtNumbers) na = ct_numbers_load(sa, o), nb = ct_numbers_load(sb, o);
    if (!na || !nb || na->n != x->n || nb->n != x->n || !na->ref || !nb->ref || !na->test ||
        !nb->test)
        return FALSE;
    double ra = rms(na->ref, x->n), rb = rms(nb->ref, x->n), rx = rms(x->ref, x->n);
    gboolean a_large = ra >= rb;
    const CtNumbers *large = a_large ? na : nb, *small = a_large ? nb : na;
    const CtStep *ls = a_large ? sa : sb, *ss = a_large ? sb : sa;
    double high = MAX(ra, rb), low = MIN(ra, rb), eps = ct_dtype_eps(s->effective);
    gsize gone = 0, had = 0;
    for (gsize i = 0; i < x->n; i++) {
        if (small->ref[i] == 0 || !isfinite(x->test[i]))
            continue;
        had++;
        gone += x->test[i] == large->test[i] || (sum->sign < 0 && x->test[i] == -large->test[i]);
    }
    gboolean minus = sum->sign < 0;
    double share = had ? (double)gone / (double)had : 0;
    if (share >= 0.1) {
        double unit = eps > 0 ? exp2(floor(log2(high))) * eps : 0;
        ct_why_set(
            out, CT_FAULT_ABSORPTION, share, high / low,
            minus ? "it is the difference of %s and %s: in %.1f%% of the elements the smaller "
                    "one (%s, rms %.3g) changes nothing, because %s is %.3g times larger and a "
                    "step of %s beside %.4g is %.3g"
                  : "it is the sum of %s and %s: in %.1f%% of the elements the smaller one "
                    "(%s, rms %.3g) changes nothing, because %s is %.3g times larger and a "
                    "step of %s beside %.4g is %.3g",
            minus ? "它是 %s 与 %s 之差：在 %.1f%% 的元素中较小者（%s，rms %.3g）不起作用，因为 "
                    "%s 大 %.3g 倍，而 %s 在 %.4g 附近的步长为 %.3g"
                  : "它是 %s 与 %s 之和：在 %.1f%% 的元素中较小者（%s，rms %.3g）不起作用，因为 "
                    "%s 大 %.3g 倍，而 %s 在 %.4g 附近的步长为 %.3g",
            ls->name, ss->name, 100 * share, ss->name, low, ls->name, high / low,
            ct_dtype_name(s->effective), high, unit);
        return TRUE;
    }
    if (rx < 0.03 * low && s->bad) {
        ct_why_set(out, CT_FAULT_CANCELLATION, 1, high / rx,
                   "of %s and %s, %.4g and %.4g cancel to %.3g, so their errors count %.0f times",
                   "%s 与 %s 中，%.4g 与 %.4g 相消后只剩 %.3g，它们的误差因此放大 %.0f 倍",
                   ls->name, ss->name, high, low, rx, high / rx);
        return TRUE;
    }
    if (!s->bad || !x->whole)
        return FALSE;
    return why_branch(x, na, sa, nb, 1, sum->sign, out) ||
           why_branch(x, nb, sb, na, sum->sign, 1, out);
}
