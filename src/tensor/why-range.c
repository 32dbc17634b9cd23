/* SPDX-License-Identifier: Apache-2.0 */
/* Range and resolution of the type: overflow, masks, clipping, underflow, lost epsilons. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/why.h"

/* Places are told by C order only. */
static gboolean in_c_order(CtTensor **t)
{
    if (!*t || !(*t)->fortran_order)
        return TRUE;
    CtTensor *c = ct_tensor_c_order(*t, NULL);
    ct_tensor_free(*t);
    *t = c;
    return c != NULL;
}

CtNumbers *ct_numbers_load(const CtStep *step, const CtStepOptions *o)
{
    g_autoptr(CtTensor) ref = NULL, test = NULL;
    if (!ct_step_load(step, o, &ref, &test, NULL))
        return NULL;
    if (!in_c_order(&ref) || !in_c_order(&test))
        return NULL;
    const CtTensor *t = test ? test : ref;
    if (ref && test && ref->n != test->n)
        return NULL;
    if (ct_dtype_is_complex(t->dtype) || (ref && ct_dtype_is_complex(ref->dtype)))
        return NULL;
    CtNumbers *x = g_new0(CtNumbers, 1);
    x->n = (gsize)MIN(t->n, (guint64)CT_WHY_MAX);
    x->whole = x->n == t->n;
    const CtTensor *shape = ref ? ref : test;
    x->rank = shape->rank;
    memcpy(x->dims, shape->dims, sizeof x->dims);
    if (ref) {
        x->ref = g_new(double, x->n + 1);
        ct_tensor_to_f64(ref, 0, x->n, x->ref);
    }
    if (test) {
        x->test = g_new(double, x->n + 1);
        ct_tensor_to_f64(test, 0, x->n, x->test);
    }
    return x;
}

void ct_numbers_free(CtNumbers *x)
{
    if (!x)
        return;
    g_free(x->ref);
    g_free(x->test);
    g_free(x);
}

guint ct_op_kind(const CtStep *step)
{
    static const struct {
        const char *word;
        guint kind;
    } words[] = {{"norm", CT_OP_NORM | CT_OP_SQUARE},
                 {"/ln", CT_OP_NORM | CT_OP_SQUARE},
                 {"ln_", CT_OP_NORM | CT_OP_SQUARE},
                 {"rms", CT_OP_NORM | CT_OP_SQUARE},
                 {"variance", CT_OP_SQUARE},
                 {"pow", CT_OP_SQUARE},
                 {"square", CT_OP_SQUARE},
                 {"reducel2", CT_OP_SQUARE},
                 {"reducesumsq", CT_OP_SQUARE},
                 {"softmax", CT_OP_SOFTMAX | CT_OP_EXP},
                 {"attn_prob", CT_OP_SOFTMAX | CT_OP_EXP},
                 {"exp", CT_OP_EXP},
                 {"log", CT_OP_LOG},
                 {"sqrt", CT_OP_ROOT},
                 {"div", CT_OP_DIVIDE},
                 {"reciprocal", CT_OP_DIVIDE}};
    guint kind = 0;
    g_autofree char *name = g_ascii_strdown(step->op ? step->op : step->name, -1);
    for (gsize i = 0; i < G_N_ELEMENTS(words); i++)
        if (strstr(name, words[i].word) && !(words[i].kind == CT_OP_LOG && strstr(name, "logit")))
            kind |= words[i].kind;
    if (g_str_has_prefix(name, "ln") || strstr(name, ".ln"))
        kind |= CT_OP_NORM | CT_OP_SQUARE;
    return kind;
}

typedef struct {
    double low, high, most; /* of the finite ones; most is the largest magnitude */
    gsize n;
} Range;

static Range range_of(const double *x, gsize n)
{
    Range r = {INFINITY, -INFINITY, 0, 0};
    for (gsize i = 0; i < n; i++) {
        if (!isfinite(x[i]))
            continue;
        r.n++;
        r.low = MIN(r.low, x[i]);
        r.high = MAX(r.high, x[i]);
        r.most = MAX(r.most, fabs(x[i]));
    }
    return r;
}

/* A mask: very negative numbers at many places, all alike and far from everything else. */
static gboolean is_mask(const double *x, gsize n, double *value, double *share)
{
    Range r = range_of(x, n);
    if (r.n == 0 || r.low > -9000)
        return FALSE;
    gsize near = 0, far = 0; /* not one constant: the mask is mostly added to scores */
    for (gsize i = 0; i < n; i++) {
        if (!isfinite(x[i]))
            continue;
        far += x[i] < 0.8 * r.low;
        near += fabs(x[i]) < 0.05 * -r.low;
    }
    *value = r.low;
    *share = (double)far / (double)n;
    return far >= MAX(n / 500, (gsize)2) && far + near > r.n * 95 / 100;
}

static CtDtype type_of(const CtStep *s)
{
    return s->reduced ? s->effective : CT_F32;
}

static gboolean why_mask(const CtStep *s, const CtNumbers *x, const CtNumbers *in, CtWhy *out)
{
    double value, share, limit = ct_dtype_max(type_of(s));
    if (x->ref && is_mask(x->ref, x->n, &value, &share) && value <= -limit * 0.9) {
        ct_why_set(out, CT_FAULT_MASK, share, value,
                   "a mask of %.5g in %.1f%% of the elements is beyond %s, which "
                   "ends at %.5g",
                   "掩码 %.5g（占元素的 %.1f%%）超出 %s 的范围，该类型的上限为 %.5g", value,
                   100 * share, ct_dtype_name(type_of(s)), limit);
        return TRUE;
    }
    const double *before = !in ? NULL : in->ref ? in->ref : in->test;
    if (before && (ct_op_kind(s) & (CT_OP_SOFTMAX | CT_OP_EXP)) &&
        is_mask(before, in->n, &value, &share) && value <= -9000) {
        ct_why_set(out, CT_FAULT_MASK, share, value,
                   "the input is masked with %.5g; a row that is masked as a whole "
                   "has nothing to divide by",
                   "输入以 %.5g 作掩码；整行都被掩掉时没有可作除数的值", value);
        return TRUE;
    }
    return FALSE;
}

/* In what follows `limit` is where the type ends. */
static gboolean why_overflow(const CtStep *s, const CtNumbers *x, const CtNumbers *in, CtWhy *out)
{
    double limit = ct_dtype_max(type_of(s));
    const char *type = ct_dtype_name(type_of(s));
    gsize beyond = 0;
    double most = 0;
    for (gsize i = 0; x->ref && i < x->n; i++)
        if (isfinite(x->ref[i]) && fabs(x->ref[i]) > limit) {
            beyond++;
            most = MAX(most, fabs(x->ref[i]));
        }
    if (beyond) {
        ct_why_set(out, CT_FAULT_OVERFLOW, (double)beyond / (double)x->n, most,
                   "the reference reaches %.5g, %.3g times the end of %s (%.5g); "
                   "%zu elements (%.2f%%) are beyond",
                   "参考达到 %.5g，为上限的 %.3g 倍（%s：%.5g）；%zu 个元素（%.2f%%）超出", most,
                   most / limit, type, limit, beyond, 100.0 * (double)beyond / (double)x->n);
        return TRUE;
    }
    const double *before = !in ? NULL : in->ref ? in->ref : in->test;
    if (!before)
        return FALSE;
    Range r = range_of(before, in->n);
    guint kind = ct_why_kind(s, x, in);
    if (kind & CT_OP_SQUARE && r.most * r.most > limit) {
        ct_why_set(out, CT_FAULT_OVERFLOW, 0, r.most * r.most,
                   "the input reaches %.5g; its square %.3g is %.3g times the end "
                   "of %s",
                   "输入达到 %.5g；其平方 %.3g 是上限的 %.3g 倍（%s）", r.most, r.most * r.most,
                   r.most * r.most / limit, type);
        return TRUE;
    }
    if (kind & CT_OP_EXP && !(kind & CT_OP_SOFTMAX) && r.high > log(limit)) {
        ct_why_set(out, CT_FAULT_OVERFLOW, 0, r.high,
                   "the input reaches %.4g; exp of more than %.4g is beyond %s",
                   "输入达到 %.4g；大于 %.4g 的数取 exp 会超出 %s", r.high, log(limit), type);
        return TRUE;
    }
    if (kind & CT_OP_SOFTMAX && r.high > log(limit)) {
        ct_why_set(out, CT_FAULT_SOFTMAX_NORM, 0, r.high,
                   "the input reaches %.4g: exp without taking off the maximum "
                   "is beyond %s from %.4g on",
                   "输入达到 %.4g：不先减最大值就取 exp 会超出 %s（从 %.4g 起）", r.high, type,
                   log(limit));
        return TRUE;
    }
    return FALSE;
}

gboolean ct_why_square(const CtStep *s, const CtNumbers *x, const CtNumbers *in, CtWhy *out)
{
    return in && ct_why_kind(s, x, in) & CT_OP_SQUARE && why_overflow(s, x, in, out);
}

static gsize row_length(const CtNumbers *x)
{
    return x->rank ? (gsize)MAX(x->dims[x->rank - 1], 1) : 1;
}

/* Variance of a row, less than what the type can tell from zero. */
static double row_variance(const double *x, gsize n)
{
    double sum = 0, sum2 = 0;
    for (gsize i = 0; i < n; i++)
        sum += x[i];
    double mean = sum / (double)n;
    for (gsize i = 0; i < n; i++)
        sum2 += (x[i] - mean) * (x[i] - mean);
    return sum2 / (double)n;
}

static gboolean same_shape(const CtNumbers *a, const CtNumbers *b)
{
    return a->n == b->n && row_length(a) == row_length(b);
}

/* Rows that went wrong are those whose input hardly varies: an epsilon must carry them. */
static gboolean why_eps(const CtStep *s, const CtNumbers *x, const CtNumbers *in, CtWhy *out)
{
    const double *before = !in ? NULL : in->ref ? in->ref : in->test;
    gsize len = row_length(x), wrong = 0, flat = 0, flat_all = 0;
    if (!before || !same_shape(x, in) || len < 2 ||
        !(ct_why_kind(s, x, in) & (CT_OP_NORM | CT_OP_DIVIDE | CT_OP_ROOT)))
        return FALSE;
    double smallest = ct_dtype_min_normal(type_of(s)), most = 0;
    for (gsize from = 0; from + len <= x->n; from += len) {
        gboolean bad = FALSE;
        for (gsize i = from; i < from + len && !bad; i++) {
            double r = x->ref ? x->ref[i] : 0, t = x->test[i];
            bad = !isfinite(t) || (x->ref && fabs(t - r) > 0.25 * fabs(r) + 1e-3);
        }
        double v = row_variance(before + from, len);
        gboolean is_flat = v <= smallest;
        wrong += bad;
        flat += bad && is_flat;
        flat_all += is_flat;
        if (bad && is_flat)
            most = MAX(most, v);
    }
    if (wrong == 0 || flat * 10 < wrong * 9 || (flat_all > x->n / len * 9 / 10 && !(ct_why_kind(s, x, in) & CT_OP_NORM)))
        return FALSE;
    ct_why_set(out, CT_FAULT_EPS, (double)wrong * (double)len / (double)x->n, most,
               "%zu of %zu rows are wrong, and their inputs vary by no more than "
               "%.2g: an epsilon below %.2g is zero or nearly so in %s",
               "%zu/%zu 行出错，其输入的变化不超过 %.2g：小于 %.2g 的 epsilon 在 %s 中等于或接近零",
               wrong, x->n / len, most, smallest, ct_dtype_name(type_of(s)));
    return TRUE;
}

/* NaN and Inf stand where the input is negative, or zero. */
static gboolean why_undefined_places(const CtNumbers *x, const CtNumbers *in, CtWhy *out)
{
    const double *before = !in ? NULL : in->test ? in->test : in->ref;
    gsize bad = 0, negative = 0, zero = 0;
    if (!before || in->n != x->n)
        return FALSE;
    for (gsize i = 0; i < x->n; i++)
        if (!isfinite(x->test[i])) {
            bad++;
            negative += before[i] < 0;
            zero += before[i] == 0;
        }
    double share = (double)bad / (double)MAX(x->n, (gsize)1);
    if (bad && negative == bad)
        ct_why_set(out, CT_FAULT_UNDEFINED, share, 0,
                   "all %zu NaN stand where the input is negative: a logarithm or a root",
                   "全部 %zu 个 NaN 都在输入为负之处：对数或开方", bad);
    else if (bad && zero == bad)
        ct_why_set(out, CT_FAULT_UNDEFINED, share, 0,
                   "all %zu stand where the input is zero: a division or a logarithm",
                   "全部 %zu 个都在输入为零之处：除法或对数", bad);
    else
        return FALSE;
    return TRUE;
}

/* How many whole channels of an axis are not finite while all other elements are; 0 when the
 * elements lie in another way. */
static gsize bad_channels(const CtNumbers *x, guint axis)
{
    gsize dim = (gsize)MAX(x->dims[axis], 1), inner = 1, bad = 0;
    for (guint d = axis + 1; d < x->rank; d++)
        inner *= (gsize)MAX(x->dims[d], 1);
    gsize each = x->n / dim;
    if (!x->whole || dim < 4 || each < 4 || each * dim != x->n)
        return 0;
    g_autofree gsize *count = g_new0(gsize, dim);
    for (gsize i = 0; i < x->n; i++)
        count[i / inner % dim] += !isfinite(x->test[i]);
    for (gsize c = 0; c < dim; c++) {
        if (count[c] != 0 && count[c] * 4 < each * 3)
            return 0;
        bad += count[c] != 0;
    }
    return bad * 2 <= dim ? bad : 0;
}

/* One weight that is not finite spoils its output channel everywhere and no other. */
static gboolean why_weight(const CtStep *s, const CtNumbers *x, CtWhy *out)
{
    guint kind = ct_op_kind(s);
    if (x->rank < 2 || s->c.test.nan == 0 || (kind & ~(guint)(CT_OP_NORM | CT_OP_SQUARE)))
        return FALSE;
    /* Never rows: those are what a norm or a softmax cannot divide. */
    guint axes[] = {x->rank > 3 ? 1 : x->rank - 1, x->rank - 1};
    for (gsize i = 0; i < G_N_ELEMENTS(axes); i++) {
        gsize bad = bad_channels(x, axes[i]);
        if (bad == 0)
            continue;
        ct_why_set(out, CT_FAULT_NAN_WEIGHT, (double)bad / (double)x->dims[axes[i]], (double)bad,
                   "%zu of %" G_GINT64_FORMAT " channels (axis %u) are NaN everywhere, all others "
                   "are right, and what comes in is finite: a weight or bias of these channels is "
                   "not",
                   "%zu/%" G_GINT64_FORMAT " 个通道（轴 %u）处处为 NaN，其余全部正确，且输入有限："
                   "这些通道的某个权重或偏置不是有限值",
                   bad, x->dims[axes[i]], axes[i]);
        return TRUE;
    }
    return FALSE;
}

static gboolean finite_input(const CtNumbers *in)
{
    const double *before = !in ? NULL : in->test ? in->test : in->ref;
    gsize bad = 0;
    for (gsize i = 0; before && i < in->n; i++)
        bad += !isfinite(before[i]);
    return before && bad == 0;
}

gboolean ct_why_nonfinite(const CtStep *s, const CtNumbers *x, const CtNumbers *in, gboolean first,
                          CtWhy *out)
{
    gsize bad = 0;
    for (gsize i = 0; i < x->n; i++)
        bad += !isfinite(x->test[i]);
    if (bad == 0)
        return FALSE;
    double share = (double)bad / (double)x->n;
    if (s->weights_bad) {
        ct_why_set(out, CT_FAULT_NAN_WEIGHT, share, 0,
                   "a weight of this operation holds NaN or Inf",
                   "该运算的某个权重含有 NaN 或 Inf");
        return TRUE;
    }
    g_autofree char *low = g_ascii_strdown(s->name, -1);
    gboolean weight = strstr(low, "weight") || strstr(low, "bias") || strstr(low, "gamma");
    if (first || s->graph_input || weight) {
        ct_why_set(out, weight ? CT_FAULT_NAN_WEIGHT : CT_FAULT_NAN_INPUT, share, 0,
                   "%zu of %zu elements are NaN or Inf before anything was "
                   "computed",
                   "%zu/%zu 个元素在任何计算之前就是 NaN 或 Inf", bad, x->n);
        return TRUE;
    }
    if (why_mask(s, x, in, out) || why_overflow(s, x, in, out) || why_eps(s, x, in, out))
        return TRUE;
    if (!x->ref && s->reduced && s->c.test.pos_inf + s->c.test.neg_inf > 0 && !s->c.test.nan) {
        double most = range_of(x->test, x->n).most, limit = ct_dtype_max(type_of(s));
        ct_why_set(out, CT_FAULT_OVERFLOW, share, most,
                   "%zu of %zu elements are infinite, the finite ones reach %.5g; "
                   "%s ends at %.5g",
                   "%zu/%zu 个元素为无穷，有限元素最大为 %.5g；%s 的上限为 %.5g", bad, x->n, most,
                   ct_dtype_name(type_of(s)), limit);
        return TRUE;
    }
    if (ct_why_zero_divisor(s, x, in, out))
        return TRUE;
    if (ct_why_kind(s, x, in) & CT_OP_SOFTMAX && finite_input(in)) {
        ct_why_set(out, CT_FAULT_SOFTMAX_NORM, share, 0,
                   "a softmax of finite numbers is always defined, and %zu of %zu elements are not: "
                   "its exp or its sum left the range of %s",
                   "有限数的 softmax 总有定义，而 %zu/%zu 个元素没有：其 exp 或求和超出了 %s 的范围", bad,
                   x->n, ct_dtype_name(type_of(s)));
        return TRUE;
    }
    if (why_undefined_places(x, in, out) || why_weight(s, x, out))
        return TRUE;
    if (s->compared && s->c.nan_both)
        ct_why_set(out, CT_FAULT_UNDEFINED, share, 0,
                   "%zu of %zu elements become NaN or Inf although all that comes in is finite, in "
                   "the reference too",
                   "%zu/%zu 个元素变成 NaN 或 Inf，而输入全部有限；参考中也是如此", bad, x->n);
    else
        ct_why_set(out, CT_FAULT_UNDEFINED, share, 0,
                   "%zu of %zu elements become NaN or Inf although all that comes in is finite",
                   "%zu/%zu 个元素变成 NaN 或 Inf，而输入全部有限", bad, x->n);
    return TRUE;
}

typedef struct {
    gsize distinct;
    double step, most; /* smallest distance of two levels, largest magnitude */
} Levels;

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

#define MAX_LEVELS 300u

/* Counts the levels of a quantised tensor; more than MAX_LEVELS means that it is none. */
static Levels levels_of(const double *x, gsize n)
{
    double seen[MAX_LEVELS];
    Levels l = {0, INFINITY, 0};
    for (gsize i = 0; i < n; i++) {
        if (!isfinite(x[i]))
            continue;
        gsize a = 0, b = l.distinct;
        while (a < b) {
            gsize m = (a + b) / 2;
            if (seen[m] < x[i])
                a = m + 1;
            else
                b = m;
        }
        if (a < l.distinct && seen[a] == x[i])
            continue;
        if (l.distinct == MAX_LEVELS) {
            l.distinct++;
            return l;
        }
        memmove(seen + a + 1, seen + a, (l.distinct - a) * sizeof *seen);
        seen[a] = x[i];
        l.distinct++;
    }
    qsort(seen, l.distinct, sizeof *seen, by_value);
    for (gsize i = 0; i + 1 < l.distinct; i++)
        l.step = MIN(l.step, seen[i + 1] - seen[i]);
    for (gsize i = 0; i < l.distinct; i++)
        l.most = MAX(l.most, fabs(seen[i]));
    return l;
}

static gboolean why_one_value(const CtNumbers *x, CtWhy *out)
{
    Range t = range_of(x->test, x->n), r = range_of(x->ref, x->n);
    if (t.n < 2 || t.low != t.high || r.low == r.high)
        return FALSE;
    ct_why_set(out, CT_FAULT_CONSTANT, 1, t.low,
               "every element is %.5g, the reference varies from %.4g to %.4g: not "
               "computed, not copied, or flushed",
               "所有元素都是 %.5g，而参考在 %.4g 与 %.4g 之间变化：没有计算、没有拷贝或被清零",
               t.low, r.low, r.high);
    return TRUE;
}

gboolean ct_why_clipped(const CtStep *s, const CtNumbers *x, CtWhy *out)
{
    if (why_one_value(x, out))
        return TRUE;
    Range t = range_of(x->test, x->n), r = range_of(x->ref, x->n);
    gsize at_end = 0, beyond = 0;
    for (gsize i = 0; i < x->n; i++) {
        gboolean top = x->test[i] == t.high && t.high > 0,
                 bottom = x->test[i] == t.low && t.low < 0;
        double end = top ? t.high : bottom ? -t.low : 0;
        at_end += top || bottom;
        beyond += (top || bottom) && fabs(x->ref[i]) > 1.01 * end && x->ref[i] * x->test[i] > 0;
    }
    Levels l = levels_of(x->test, x->n);
    gboolean grid = l.distinct > 2 && l.distinct <= 256 && x->n >= 4 * l.distinct;
    if (beyond >= MAX(x->n / 2000, (gsize)3) && beyond * 10 >= at_end * 7) {
        double part = (double)beyond / (double)x->n;
        if (grid)
            ct_why_set(
                out, CT_FAULT_SATURATION, part, r.most / t.most,
                "%.2f%% of the elements are clipped at %.5g, the reference reaches %.5g: the "
                "scale is %.4g, the data want %.4g (for 127 levels)",
                "%.2f%% 的元素被截断在 %.5g，参考达到 %.5g：现用缩放为 %.4g，数据需要 %.4g（按 "
                "127 级计）",
                100 * part, t.most, r.most, l.step, r.most / 127);
        else
            ct_why_set(out, CT_FAULT_SATURATION, part, r.most / t.most,
                       "%.2f%% of the elements are clipped at %.5g, the reference reaches %.5g",
                       "%.2f%% 的元素被截断在 %.5g，参考达到 %.5g", 100 * part, t.most, r.most);
        return TRUE;
    }
    if (grid && l.most / l.step < 48) {
        ct_why_set(out, CT_FAULT_COARSE_SCALE, 1, l.step * 127 / r.most,
                   "only %zu levels are in use: the scale is %.4g, the data want "
                   "%.4g (for 127 levels)",
                   "只用到 %zu 个量化级：现用缩放为 %.4g，数据需要 %.4g（按 127 级计）", l.distinct,
                   l.step, r.most / 127);
        return TRUE;
    }
    return FALSE;
}

gboolean ct_why_small(const CtStep *s, const CtNumbers *x, CtWhy *out)
{
    CtDtype type = type_of(s);
    double normal = ct_dtype_min_normal(type), err = 0, err_small = 0;
    gsize lost = 0, nonzero = 0, below = 0;
    for (gsize i = 0; i < x->n; i++) {
        double r = x->ref[i], t = x->test[i];
        if (!isfinite(r) || !isfinite(t))
            continue;
        double a = fabs(r), d = (t - r) * (t - r);
        nonzero += a > 0;
        err += d;
        if (a > 0 && a < normal) {
            below++;
            err_small += d;
            lost += t == 0;
        }
    }
    if (!s->reduced || below == 0 || err_small < 0.5 * err || lost * 50 < nonzero)
        return FALSE;
    ct_why_set(out, CT_FAULT_UNDERFLOW, (double)lost / (double)x->n, 0,
               "%.1f%% of the elements became zero: they are below %.3g, where %s "
               "loses digits (it ends at %.2g)",
               "%.1f%% 的元素变成零：它们小于 %.3g，%s 在那里丢失位数（最小到 %.2g）",
               100.0 * (double)lost / (double)x->n, normal, ct_dtype_name(type),
               ct_dtype_min_subnormal(type));
    return TRUE;
}

/* Norms and softmax with finite but wrong rows. */
gboolean ct_why_rows(const CtStep *s, const CtNumbers *x, const CtNumbers *in, CtWhy *out)
{
    if (why_eps(s, x, in, out))
        return TRUE;
    guint kind = ct_why_kind(s, x, in);
    const double *before = !in ? NULL : in->ref ? in->ref : in->test;
    if (kind & CT_OP_NORM && before) {
        Range r = range_of(before, in->n);
        double sum = 0;
        for (gsize i = 0; i < in->n; i++)
            sum += isfinite(before[i]) ? before[i] : 0;
        double mean = r.n ? sum / (double)r.n : 0,
               sd = sqrt(row_variance(before, MIN(in->n, row_length(in))));
        if (s->reduced && r.most * r.most > ct_dtype_max(type_of(s)))
            return why_overflow(s, x, in, out);
        if (fabs(mean) > 20 * sd && sd > 0) {
            ct_why_set(out, CT_FAULT_CANCELLATION, 1, fabs(mean) / sd,
                       "the norm takes off a mean of %.4g from values that vary by "
                       "%.3g: %s keeps too few digits of the difference",
                       "归一化减去均值 %.4g，而数值只变化 %.3g：%s 对差值保留的位数太少", mean, sd,
                       ct_dtype_name(type_of(s)));
            return TRUE;
        }
    }
    if (!(kind & (CT_OP_NORM | CT_OP_SOFTMAX)))
        return FALSE;
    double worst = 0;
    if (kind & CT_OP_SOFTMAX) {
        gsize len = row_length(x);
        for (gsize from = 0; from + len <= x->n; from += len) {
            double sum = 0;
            for (gsize i = from; i < from + len; i++)
                sum += x->test[i];
            worst = MAX(worst, fabs(sum - 1));
        }
    }
    if (kind & CT_OP_SOFTMAX)
        ct_why_set(out, CT_FAULT_SOFTMAX_NORM, 1, worst, "a row of the softmax sums to 1 +- %.3g",
                   "softmax 有一行之和为 1 ± %.3g", worst);
    else
        ct_why_set(out, CT_FAULT_SOFTMAX_NORM, 1, worst,
                   "the sums of this normalisation lose digits in reduced precision",
                   "该归一化的求和在低精度下丢失位数");
    return TRUE;
}

gboolean ct_why_few(const CtStep *s, const CtNumbers *x, CtWhy *out)
{
    double eps = MAX(ct_dtype_eps(s->effective), 1e-6), scale = 0;
    gsize wrong = 0, run = 0, longest = 0, zero = 0;
    for (gsize i = 0; i < x->n; i++)
        scale += isfinite(x->ref[i]) ? fabs(x->ref[i]) : 0;
    scale /= (double)MAX(x->n, (gsize)1);
    for (gsize i = 0; i < x->n; i++) {
        gboolean bad = !(fabs(x->test[i] - x->ref[i]) <= 50 * eps * (fabs(x->ref[i]) + scale));
        wrong += bad;
        zero += bad && x->test[i] == 0;
        run = bad ? run + 1 : 0;
        longest = MAX(longest, run);
    }
    if (wrong == 0 || wrong * 4 > x->n)
        return FALSE;
    ct_why_set(out, CT_FAULT_RACE, (double)wrong / (double)x->n, (double)longest,
               "%zu of %zu elements are far off (longest stretch %zu, %zu of them "
               "zero), all others are right: a race, a missing synchronisation or "
               "memory that was not written; --runs shows whether it repeats",
               "%zu/%zu 个元素相差很大（最长连续 %zu 个，其中 %zu "
               "个为零），其余全部正确：竞争、缺少同步，或内存没有写入；用 --runs 可看它是否重现",
               wrong, x->n, longest, zero);
    return TRUE;
}
