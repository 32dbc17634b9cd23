/* SPDX-License-Identifier: Apache-2.0 */
/* Walks the tensors in order of execution: the first that is wrong although its inputs are right.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/why.h"

/* Relative rms error that a type explains after a deep network, and what a jump must reach. */
static double allowed(const CtStep *s)
{
    double eps = ct_dtype_eps(s->effective);
    if (eps == 0) /* integers of a quantised test */
        return 0.1;
    if (eps >= 0x1p-3)
        return 0.15;
    return CLAMP(20 * eps, 1e-3, 0.5);
}

static gboolean new_nonfinite(const CtStep *s)
{
    const CtComparison *c = &s->c;
    guint64 test = c->test.nan + c->test.pos_inf + c->test.neg_inf;
    return test > 0 && test > c->inf_equal;
}

/* `allowance` is what the types of earlier tensors explain already. */
static gboolean is_wrong(const CtStep *s, double allowance)
{
    const CtComparison *c = &s->c;
    if (new_nonfinite(s) || c->ref.nan)
        return TRUE;
    if (c->sums.finite == 0)
        return FALSE;
    double most = MAX(fabs(c->sums.ref_min), fabs(c->sums.ref_max));
    double local = most > 0 ? c->sums.max_abs / most : c->sums.max_abs > 0 ? INFINITY : 0;
    double eps = ct_dtype_eps(s->effective);
    gboolean jump = eps > 0 && c->rel_rms > 30 * MAX(s->input_error, eps) && c->rel_rms > 2e-5;
    return c->rel_rms > allowance || local > MAX(2.5 * allowance, 5e-3) || jump;
}

static gboolean inputs_good(const CtSteps *all, const CtStep *s)
{
    for (guint i = 0; s->inputs && i < s->inputs->len; i++) {
        const CtStep *in = all->steps->pdata[g_array_index(s->inputs, guint, i)];
        if (in->bad)
            return FALSE;
    }
    return TRUE;
}

/* The largest error that comes in: of the inputs, or without a graph of anything before. */
static double error_before(const CtSteps *all, guint at)
{
    const CtStep *s = all->steps->pdata[at];
    double most = 0;
    for (guint i = 0; s->inputs && i < s->inputs->len; i++) {
        const CtStep *in = all->steps->pdata[g_array_index(s->inputs, guint, i)];
        if (in->compared && isfinite(in->c.rel_rms))
            most = MAX(most, in->c.rel_rms);
    }
    for (guint i = 0; !all->graph && i < at; i++) {
        const CtStep *in = all->steps->pdata[i];
        if (in->compared && isfinite(in->c.rel_rms))
            most = MAX(most, in->c.rel_rms);
    }
    return most;
}

/* The step whose numbers go in: by the graph the largest of the same size, else the one before. */
static const CtStep *main_input(const CtSteps *all, guint at)
{
    const CtStep *s = all->steps->pdata[at], *best = NULL;
    for (guint i = 0; s->inputs && i < s->inputs->len; i++) {
        const CtStep *in = all->steps->pdata[g_array_index(s->inputs, guint, i)];
        if (!best || in->c.n == s->c.n)
            best = in;
    }
    if (best || all->graph || all->unordered || at == 0)
        return best;
    return all->steps->pdata[at - 1];
}

static void why_type(const CtStep *s, CtWhy *out)
{
    double eps = ct_dtype_eps(s->effective), e = s->c.rel_rms;
    gboolean tf32 = s->effective == CT_F32 && e > 2e-5 && e < 3e-3;
    if (tf32)
        ct_why_set(
            out, CT_FAULT_TF32, 1, e,
            "an error of %.2g everywhere: numbers with 10 bits (TF32, or "
            "FP16 within) and not the 23 of FP32",
            "处处有 %.2g 的误差：数值只有 10 位尾数（TF32，或内部为 FP16），而不是 FP32 的 23 位",
            e);
    else if (eps > 0 && e < 60 * eps)
        ct_why_set(out, CT_FAULT_TYPE, 1, e,
                   "an error of %.2g is %.1f steps of %s: rounding that grows",
                   "%.2g 的误差相当于 %.1f 个 %s 步长：逐步增大的舍入误差", e, e / eps,
                   ct_dtype_name(s->effective));
    else
        *out = (CtWhy){.fault = CT_FAULT_UNKNOWN};
}

/* Standard deviation of the reference, and the error relative to it. */
static double spread(const CtStep *s, double *mean, double *error)
{
    const CtPairSums *p = &s->c.sums;
    double n = (double)MAX(p->finite, 1u), m = p->sum_ref / n, var = p->ref2 / n - m * m;
    *mean = m;
    *error = var > 0 ? s->c.rmse / sqrt(var) : 0;
    return var > 0 ? sqrt(var) : 0;
}

/* Which earlier steps lead to this one; without a graph, those of the same size may. */
static gboolean *ancestors(const CtSteps *all, guint at)
{
    const CtStep *end = all->steps->pdata[at];
    gboolean *reach = g_new0(gboolean, at + 1);
    reach[at] = TRUE;
    for (guint k = at + 1; k > 0; k--) {
        const CtStep *s = all->steps->pdata[k - 1];
        if (!all->graph)
            reach[k - 1] = s->c.n == end->c.n;
        for (guint i = 0; reach[k - 1] && s->inputs && i < s->inputs->len; i++)
            if (g_array_index(s->inputs, guint, i) < at)
                reach[g_array_index(s->inputs, guint, i)] = TRUE;
    }
    return reach;
}

/* What shows at `at` began where the type first could not hold the variation beside the mean. */
static void blame_offset(CtSteps *all, guint at)
{
    const CtStep *shows = all->steps->pdata[at];
    g_autofree gboolean *reach = ancestors(all, at);
    for (guint i = 0; i < at; i++) {
        CtStep *s = all->steps->pdata[i];
        double mean, error, sd = 0;
        if (reach[i] && s->compared && s->reduced)
            sd = spread(s, &mean, &error);
        if (sd <= 0 || fabs(mean) < 20 * sd || error < MAX(0.1, 0.2 * shows->c.rel_rms))
            continue;
        g_free(s->why.text);
        g_free(s->why.text_zh);
        double step = exp2(floor(log2(fabs(mean)))) * ct_dtype_eps(s->effective);
        ct_why_set(&s->why, CT_FAULT_ABSORPTION, MIN(error, 1), fabs(mean) / sd,
                   "its values lie around %.5g and vary by %.3g, where a step of %s is %.3g: what "
                   "varies is lost, and shows at %s, which takes the mean off",
                   "其数值在 %.5g 附近，只变化 %.3g，而 %s 在那里的步长为 "
                   "%.3g：变化的部分丢失，并在减去均值的 "
                   "%s 处显现",
                   mean, sd, ct_dtype_name(s->effective), step, shows->name);
        s->bad = TRUE;
        if (all->first_bad < 0 || all->first_bad > (gint)i)
            all->first_bad = (gint)i;
        return;
    }
}

static void explain(CtSteps *all, guint at, const CtNumbers *x, const CtNumbers *in,
                    const CtSum *sum, const CtStepOptions *o)
{
    CtStep *s = all->steps->pdata[at];
    CtWhy *out = &s->why;
    gboolean first = (at == 0 && !all->graph && !all->unordered) || s->graph_input;
    if (ct_why_nonfinite(s, x, in, first, out) || !x->ref)
        return;
    if (sum && ct_why_sum(all, at, x, sum, o, out))
        return;
    if (s->reduced && ct_why_square(s, x, in, out))
        return;
    if (s->reduced && ct_why_offset(s, x, in, out)) {
        blame_offset(all, at);
        return;
    }
    if (ct_why_running_sum(s, x, in, out) || ct_why_denominator(s, x, in, out))
        return;
    if (ct_why_small(s, x, out) || ct_why_clipped(s, x, out) || ct_why_scaled(x, allowed(s), out) ||
        ct_why_moved(x, out))
        return;
    gboolean tf32 = s->effective == CT_F32 && s->c.rel_rms < 3e-3;
    if (!tf32 && (ct_why_few(s, x, out) || ct_why_rows(s, x, in, out)))
        return;
    why_type(s, out);
}

typedef struct {
    CtSteps *all;
    const CtStepOptions *o;
    CtSumFinder *sums;
    guint at;
} Walk;

static int by_size(const void *a, const void *b)
{
    gint64 x = *(const gint64 *)a, y = *(const gint64 *)b;
    return (x > y) - (x < y);
}

/* Shapes that have the same axes in another order: that is the fault, although no number could be
 * compared. */
static void look_at_shapes(gpointer data)
{
    Walk *w = data;
    CtStep *s = w->all->steps->pdata[w->at];
    g_autoptr(CtTensor) ref = NULL, test = NULL;
    if (!ct_step_load(s, w->o, &ref, &test, NULL) || ref->n != test->n || ref->rank != test->rank ||
        ref->rank < 2 || memcmp(ref->dims, test->dims, ref->rank * sizeof *ref->dims) == 0)
        return;
    gint64 a[CT_TENSOR_MAX_RANK], b[CT_TENSOR_MAX_RANK];
    memcpy(a, ref->dims, sizeof a);
    memcpy(b, test->dims, sizeof b);
    qsort(a, ref->rank, sizeof *a, by_size);
    qsort(b, ref->rank, sizeof *b, by_size);
    if (memcmp(a, b, ref->rank * sizeof *a) != 0)
        return;
    g_autofree char *is = ct_tensor_shape(test), *was = ct_tensor_shape(ref);
    ct_why_set(&s->why, CT_FAULT_LAYOUT, 1, 0,
               "the axes stand in another order: %s in the reference, %s in "
               "the test",
               "轴的顺序不同：参考为 %s，测试为 %s", was, is);
    s->bad = TRUE;
    if (w->all->first_bad < 0)
        w->all->first_bad = (gint)w->at;
}

static void look(gpointer data)
{
    Walk *w = data;
    CtStep *s = w->all->steps->pdata[w->at];
    g_autoptr(CtNumbers) x = ct_numbers_load(s, w->o);
    if (!x) {
        gboolean begins = s->bad && (w->all->graph ? inputs_good(w->all, s) : TRUE);
        if (begins && w->all->first_bad < 0) {
            w->all->first_bad = (gint)w->at;
            s->why.fault = CT_FAULT_UNKNOWN;
        }
        return;
    }
    CtSum of;
    gboolean sum = s->test && ct_sum_finder_add(w->sums, w->at, x, &of);
    /* Only where it begins: what lies behind a bad tensor is bad for that reason. */
    gboolean begins = s->bad && w->all->first_bad < 0;
    if (w->all->graph)
        begins = s->bad && inputs_good(w->all, s);
    if (begins) {
        const CtStep *before = main_input(w->all, w->at);
        g_autoptr(CtNumbers) in = before ? ct_numbers_load(before, w->o) : NULL;
        explain(w->all, w->at, x, in, sum ? &of : NULL, w->o);
        if (w->all->first_bad < 0)
            w->all->first_bad = (gint)w->at;
    } else if (sum && !s->bad) {
        s->loss = ct_why_sum(w->all, w->at, x, &of, w->o, &s->why);
    } else if (!s->bad && s->reduced && x->ref) {
        s->loss = ct_why_small(s, x, &s->why);
    }
}

static void scan_step(gpointer data)
{
    Walk *w = data;
    CtStep *s = w->all->steps->pdata[w->at];
    g_autoptr(GError) error = NULL;
    g_autoptr(CtTensor) t = ct_tensor_item_load(s->test, &error);
    if (!t) {
        s->problem = g_strdup(error->message);
        return;
    }
    CtScan scan;
    s->compared = TRUE;
    s->effective = ct_effective_dtype(t);
    s->untold = s->effective == CT_N_DTYPES;
    if (s->untold) /* what came before was of the same type, most likely */
        s->effective = w->at ? ((CtStep *)w->all->steps->pdata[w->at - 1])->effective : t->dtype;
    s->reduced = ct_dtype_eps(s->effective) >= 0x1p-10;
    ct_scan(t, s->reduced ? s->effective : t->dtype, &scan);
    s->shape = ct_tensor_shape(t);
    s->types = g_strdup(ct_dtype_name(t->dtype));
    s->c.n = scan.n;
    s->c.test = scan.specials;
    s->c.sums.finite = scan.finite;
    s->c.sums.test_min = scan.min;
    s->c.sums.test_max = scan.max;
    s->bad = scan.specials.nan + scan.specials.pos_inf + scan.specials.neg_inf > 0;
    double limit = ct_dtype_max(s->reduced ? s->effective : t->dtype),
           share = scan.n ? (double)scan.at_max / (double)scan.n : 0;
    if (s->bad || scan.n < 8)
        return;
    if (scan.at_max >= 3 && share > 0.0005 && t->dtype != CT_BOOL) {
        s->loss = TRUE;
        ct_why_set(&s->why, CT_FAULT_SATURATION, share, limit,
                   "%.2f%% of the elements stand at the end of %s (%.5g)",
                   "%.2f%% 的元素处于 %s 的上限（%.5g）", 100 * share, ct_dtype_name(s->effective),
                   limit);
    } else if (scan.min == scan.max) {
        s->loss = TRUE;
        ct_why_set(&s->why, CT_FAULT_CONSTANT, 1, scan.min, "every element is %.5g",
                   "所有元素都是 %.5g", scan.min);
    } else if (scan.dead_channels) {
        s->loss = TRUE;
        ct_why_set(&s->why, CT_FAULT_CONSTANT, (double)scan.dead_channels / scan.n_channels, 0,
                   "%u of %u channels are dead (one value everywhere)",
                   "%u/%u 个通道没有变化（处处同一个值）", scan.dead_channels, scan.n_channels);
    } else if (s->reduced && scan.subnormal * 4 > scan.finite) {
        s->loss = TRUE;
        ct_why_set(&s->why, CT_FAULT_UNDERFLOW, (double)scan.subnormal / (double)scan.finite, 0,
                   "%.1f%% of the elements are below %.3g, where %s loses digits",
                   "%.1f%% 的元素小于 %.3g，%s 在那里丢失位数",
                   100.0 * (double)scan.subnormal / (double)scan.finite,
                   ct_dtype_min_normal(s->effective), ct_dtype_name(s->effective));
    } else if (s->reduced && MAX(fabs(scan.min), fabs(scan.max)) > limit / 4) {
        s->loss = TRUE;
        ct_why_set(&s->why, CT_FAULT_OVERFLOW, 0, MAX(fabs(scan.min), fabs(scan.max)),
                   "it reaches %.5g, near the end of %s (%.5g)",
                   "达到 %.5g，接近 %s 的上限（%.5g）", MAX(fabs(scan.min), fabs(scan.max)),
                   ct_dtype_name(s->effective), limit);
    }
}

void ct_locate(CtSteps *all, const CtStepOptions *o)
{
    Walk w = {all, o, ct_sum_finder_new(), 0};
    double allowance = 0;
    if (all->unordered && !all->graph)
        ct_steps_note(all,
                      "the files are not numbered, so their names give the order; --onnx gives the "
                      "real one",
                      "文件没有编号，因此按名称排序；--onnx 可给出真实顺序");
    for (w.at = 0; w.at < all->steps->len; w.at++) {
        CtStep *s = all->steps->pdata[w.at];
        GError *error = NULL;
        if (!s->ref && s->test) {
            if (!ct_bytes_guard(scan_step, &w, &error))
                s->problem = g_strdup(error->message);
            g_clear_error(&error);
            all->n_compared += s->compared;
            all->n_failed += !s->compared;
        } else if (s->compared) {
            s->input_error = error_before(all, w.at);
            if (s->untold && w.at > 0) {
                const CtStep *before = all->steps->pdata[w.at - 1];
                s->effective = before->effective;
                s->reduced = before->reduced;
            }
            allowance = MAX(allowance, allowed(s));
            s->bad = is_wrong(s, allowance);
        } else if (s->ref && s->test && s->problem) {
            ct_bytes_guard(look_at_shapes, &w, NULL);
        }
        if (s->compared && !ct_bytes_guard(look, &w, &error)) {
            ct_steps_note(all, "%s: %s", "%s：%s", s->name, error->message);
            g_clear_error(&error);
        }
    }
    ct_sum_finder_free(w.sums);
}
