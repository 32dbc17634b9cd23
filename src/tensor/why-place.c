/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Right numbers at the wrong place, or with another scale. Each hypothesis predicts the test from
 * the reference; it holds when it takes away nine tenths of the error.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/why.h"

#define SAMPLES 4096u

/* rms of test - reference[map(i)] over sampled i, relative to the rms of the test. */
typedef gint64 (*Map)(const CtNumbers *x, gsize i, const gint64 *arg);

static double left_over(const CtNumbers *x, Map map, const gint64 *arg)
{
    gsize step = MAX(x->n / SAMPLES, (gsize)1), used = 0, asked = 0;
    step += step > 1 && step % 2 == 0; /* an odd stride does not stay on one channel */
    double err = 0, all = 0;
    for (gsize i = 0; i < x->n; i += step) {
        gint64 j = map(x, i, arg);
        asked++;
        if (j < 0 || (gsize)j >= x->n || !isfinite(x->test[i]) || !isfinite(x->ref[j]))
            continue;
        double d = x->test[i] - x->ref[j];
        err += d * d;
        all += x->test[i] * x->test[i];
        used++;
    }
    return used < 8 || used * 4 < asked * 3 || all == 0 ? INFINITY : sqrt(err / all);
}

static gint64 same_place(const CtNumbers *x, gsize i, const gint64 *arg)
{
    return (gint64)i;
}

static gint64 shifted(const CtNumbers *x, gsize i, const gint64 *arg)
{
    return (gint64)i - arg[0];
}

/* arg: axis, by how much, elements behind one step of the axis, whether the end comes in again. */
static gint64 shifted_axis(const CtNumbers *x, gsize i, const gint64 *arg)
{
    gint64 dim = x->dims[arg[0]], at = (gint64)i / arg[2] % dim, from = at - arg[1];
    if (arg[3])
        from = (from % dim + dim) % dim;
    return from < 0 || from >= dim ? -1 : (gint64)i + (from - at) * arg[2];
}

/* arg: axes of the reference in the order in which the test stores them. */
static gint64 transposed(const CtNumbers *x, gsize i, const gint64 *arg)
{
    gint64 at[CT_TENSOR_MAX_RANK], rest = (gint64)i, pos = 0;
    for (guint k = x->rank; k > 0; k--) {
        gint64 dim = x->dims[arg[k - 1]];
        at[arg[k - 1]] = rest % dim;
        rest /= dim;
    }
    for (guint d = 0; d < x->rank; d++)
        pos = pos * x->dims[d] + at[d];
    return pos;
}

static gboolean better(double after, double before)
{
    return after < 0.1 * before && after < 0.1;
}

static gboolean why_layout(const CtNumbers *x, double before, CtWhy *out)
{
    static const struct {
        guint rank;
        gint64 order[4];
        const char *say, *zh;
    } known[] = {
        {4,
         {0, 2, 3, 1},
         "the test holds NHWC where the reference holds NCHW",
         "测试为 NHWC，参考为 NCHW"},
        {4,
         {0, 3, 1, 2},
         "the test holds NCHW where the reference holds NHWC",
         "测试为 NCHW，参考为 NHWC"},
        {4, {0, 1, 3, 2}, "the last two axes are swapped", "最后两个轴对调了"},
        {4, {0, 2, 1, 3}, "the two middle axes are swapped", "中间两个轴对调了"},
        {3,
         {1, 2, 0},
         "the test holds HWC where the reference holds CHW",
         "测试为 HWC，参考为 CHW"},
        {3,
         {2, 0, 1},
         "the test holds CHW where the reference holds HWC",
         "测试为 CHW，参考为 HWC"},
        {3, {0, 2, 1}, "the last two axes are swapped", "最后两个轴对调了"},
        {3, {1, 0, 2}, "the first two axes are swapped", "前两个轴对调了"},
        {2, {1, 0}, "rows and columns are swapped", "行与列对调了"},
    };
    for (gsize i = 0; x->whole && i < G_N_ELEMENTS(known); i++) {
        if (known[i].rank != x->rank || !better(left_over(x, transposed, known[i].order), before))
            continue;
        *out = (CtWhy){CT_FAULT_LAYOUT, g_strdup(known[i].say), g_strdup(known[i].zh), 1, 0};
        return TRUE;
    }
    return FALSE;
}

typedef struct {
    double left;
    gint64 by;
    gint axis; /* -1: over all elements */
    gboolean round;
} Shift;

static void try_shift(const CtNumbers *x, Shift *best, gint axis, gint64 by, gint64 stride,
                      gboolean round)
{
    gint64 arg[] = {axis, by, stride, round};
    double left = axis < 0 ? left_over(x, shifted, &by) : left_over(x, shifted_axis, arg);
    if (left < best->left)
        *best = (Shift){left, by, axis, round};
}

static gboolean why_shift(const CtNumbers *x, double before, CtWhy *out)
{
    Shift best = {INFINITY, 0, -1, FALSE};
    gint64 stride = 1;
    for (guint d = x->rank; d > 0; d--) {
        gint64 dim = x->dims[d - 1];
        /* Few places that changed are channels rather than pixels. */
        for (gint64 k = 1; k <= 64 && k < dim && dim > 4 && x->whole; k++) {
            try_shift(x, &best, (gint)d - 1, k, stride, TRUE);
            try_shift(x, &best, (gint)d - 1, -k, stride, TRUE);
        }
        for (gint64 k = 1; k <= 8 && 4 * k <= dim; k++) {
            try_shift(x, &best, (gint)d - 1, k, stride, FALSE);
            try_shift(x, &best, (gint)d - 1, -k, stride, FALSE);
        }
        stride *= dim;
    }
    for (gint64 k = 1; k <= 64 && k * 4 <= (gint64)x->n; k++) {
        try_shift(x, &best, -1, k, 1, FALSE);
        try_shift(x, &best, -1, -k, 1, FALSE);
    }
    if (!better(best.left, before))
        return FALSE;
    if (best.axis < 0)
        ct_why_set(out, CT_FAULT_SHIFT, 1, (double)best.by,
                   "shifted by %" G_GINT64_FORMAT
                   " elements of the buffer: an offset or a pitch is "
                   "wrong",
                   "在缓冲区中移动了 %" G_GINT64_FORMAT " 个元素：偏移或行距有误", best.by);
    else if (best.round)
        ct_why_set(
            out, CT_FAULT_SHIFT, 1, (double)best.by,
            "shifted by %" G_GINT64_FORMAT " along axis %d, what leaves comes in at the other "
            "end: an offset, padding or stride is wrong",
            "移动了 %" G_GINT64_FORMAT " 格（轴 %d），移出的部分从另一端进入：偏移、填充或步长有误",
            best.by, best.axis);
    else
        ct_why_set(out, CT_FAULT_SHIFT, 1, (double)best.by,
                   "shifted by %" G_GINT64_FORMAT " along axis %d: an offset, padding or stride is "
                   "wrong",
                   "移动了 %" G_GINT64_FORMAT " 格（轴 %d）：偏移、填充或步长有误", best.by,
                   best.axis);
    return TRUE;
}

/* Distance of channel a of the test and channel b of the reference. */
static double channel_distance(const CtNumbers *x, guint64 outer, guint64 n, guint64 inner,
                               guint64 a, guint64 b)
{
    double err = 0, all = 0;
    guint64 step = MAX(inner / 64, (guint64)1);
    for (guint64 o = 0; o < MIN(outer, (guint64)8); o++)
        for (guint64 p = 0; p < inner; p += step) {
            double t = x->test[(o * n + a) * inner + p], r = x->ref[(o * n + b) * inner + p];
            if (!isfinite(t) || !isfinite(r))
                continue;
            err += (t - r) * (t - r);
            all += t * t + r * r;
        }
    return all > 0 ? err / all : 0;
}

/* Rows of a batch, and the columns of a plain matrix, are no channels. Three axes are a picture when
 * one of the outer two is as short as its colours. */
static gboolean is_channel_axis(const CtNumbers *x, guint axis)
{
    if (x->rank != 3)
        return x->rank > 3 && axis > 0;
    return axis == 0 ? x->dims[0] == 3 || x->dims[0] == 4 || x->dims[0] > 8 : x->dims[0] <= 4;
}

static gboolean why_channels_at(const CtNumbers *x, guint axis, CtWhy *out)
{
    guint64 n = (guint64)x->dims[axis], inner = 1, outer = 1;
    for (guint d = axis + 1; d < x->rank; d++)
        inner *= (guint64)x->dims[d];
    for (guint d = 0; d < axis; d++)
        outer *= (guint64)x->dims[d];
    if (n < 2 || n > 256 || inner * MIN(outer, (guint64)8) < 8)
        return FALSE;
    g_autofree guint *map = g_new0(guint, n), *used = g_new0(guint, n);
    guint moved = 0;
    double worst = 0;
    for (guint a = 0; a < n; a++) {
        double least = INFINITY;
        for (guint b = 0; b < n; b++) {
            double d = channel_distance(x, outer, n, inner, a, b);
            if (d < least || (d == least && b == a)) {
                least = d;
                map[a] = b;
            }
        }
        worst = MAX(worst, least);
        moved += map[a] != a;
        used[map[a]]++;
    }
    for (guint a = 0; a < n; a++)
        if (used[a] != 1)
            return FALSE;
    if (moved == 0 || worst > 0.005)
        return FALSE;
    gboolean reversed = TRUE;
    for (guint a = 0; a < n; a++)
        reversed = reversed && map[a] == n - 1 - a;
    gboolean channels = is_channel_axis(x, axis);
    CtFault fault = channels ? CT_FAULT_CHANNELS : CT_FAULT_PERMUTED;
    double share = (double)moved / (double)n;
    if (reversed && n <= 4 && channels)
        ct_why_set(out, fault, share, 0,
                   "the %u channels of axis %u stand in reverse order (RGB and BGR?)",
                   "%u 个通道（轴 %u）的顺序相反（RGB 与 BGR？）", (guint)n, axis);
    else
        ct_why_set(
            out, fault, share, 0,
            "%u of %u places along axis %u hold what stands elsewhere (0 of the test is %u of the "
            "reference)",
            "%u/%u 个位置（轴 %u）的内容来自别处（测试的 0 是参考的 %u）", moved, (guint)n, axis, map[0]);
    return TRUE;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static gboolean why_permuted(const CtNumbers *x, double before, CtWhy *out)
{
    if (!x->whole || x->n > 1u << 20)
        return FALSE;
    g_autofree double *r = ct_memdup(x->ref, x->n * sizeof *r),
                      *t = ct_memdup(x->test, x->n * sizeof *t);
    qsort(r, x->n, sizeof *r, by_value);
    qsort(t, x->n, sizeof *t, by_value);
    double err = 0, all = 0;
    for (gsize i = 0; i < x->n; i++) {
        if (!isfinite(r[i]) || !isfinite(t[i]))
            return FALSE;
        err += (r[i] - t[i]) * (r[i] - t[i]);
        all += r[i] * r[i];
    }
    /* Two large sets of the same distribution look alike when sorted, too: be strict. */
    if (all == 0 || sqrt(err / all) > 1e-3 || !better(sqrt(err / all), before))
        return FALSE;
    ct_why_set(out, CT_FAULT_PERMUTED, 1, 0,
               "the test holds the same numbers at other places: an order of elements, "
               "rows or batches",
               "测试中是同样的数，但位置不同：元素、行或批次的顺序变了");
    return TRUE;
}

/* Channels in another order before mean and scale were applied: then each channel is another one of
 * the reference, scaled. */
static gboolean why_channels_scaled(const CtNumbers *x, CtWhy *out)
{
    guint axis = x->rank == 4 ? 1 : 0;
    if (x->rank < 3 || x->rank > 4)
        return FALSE;
    if (x->dims[axis] < 2 || x->dims[axis] > 4)
        axis = x->rank - 1;
    guint64 n = (guint64)x->dims[axis], inner = 1;
    for (guint d = axis + 1; d < x->rank; d++)
        inner *= (guint64)x->dims[d];
    if (n < 2 || n > 4 || x->n / n < 32)
        return FALSE;
    guint64 map[4], used = 0, moved = 0;
    for (guint64 c = 0; c < n; c++) {
        double least = 0.05;
        map[c] = n;
        for (guint64 d = 0; d < n; d++) {
            double tt = 0, t1 = 0, rr = 0, r1 = 0, rt = 0, m = (double)(x->n / n);
            for (guint64 i = 0; i < x->n; i++) {
                if (i / inner % n != c)
                    continue;
                guint64 j = i - c * inner + d * inner;
                double t = x->test[i], r = x->ref[j];
                tt += t * t;
                t1 += t;
                rr += r * r;
                r1 += r;
                rt += r * t;
            }
            double vt = tt - t1 * t1 / m, vr = rr - r1 * r1 / m, v = rt - r1 * t1 / m;
            double left = vt > 0 && vr > 0 && v > 0 ? 1 - v * v / (vt * vr) : 1;
            if (left < least) {
                least = left;
                map[c] = d;
            }
        }
        if (map[c] == n)
            return FALSE;
        used |= (guint64)1 << map[c];
        moved += map[c] != c;
    }
    if (moved == 0 || used != ((guint64)1 << n) - 1)
        return FALSE;
    ct_why_set(out, CT_FAULT_CHANNELS, (double)moved / (double)n, 0,
               "%u of %u channels of axis %u stand at another place, and were "
               "moved before mean and scale were applied (RGB and BGR?)",
               "%u/%u 个通道（轴 %u）位置不同，并且是在减均值、乘缩放之前移动的（RGB 与 BGR？）",
               (guint)moved, (guint)n, axis);
    return TRUE;
}

gboolean ct_why_moved(const CtNumbers *x, CtWhy *out)
{
    double before = left_over(x, same_place, NULL);
    if (x->n < 8 || !isfinite(before) || before < 1e-3)
        return FALSE;
    if (why_layout(x, before, out) || why_shift(x, before, out))
        return TRUE;
    for (guint axis = 0; axis < x->rank; axis++)
        if (why_channels_at(x, axis, out))
            return TRUE;
    return why_channels_scaled(x, out) || why_permuted(x, before, out);
}

/* Least squares of test = a * reference + b over every `step`-th element from `from`. */
typedef struct {
    double a, b, before, after;
    gboolean ok;
} Fit;

static Fit fit(const CtNumbers *x, guint64 inner, guint64 n_channels, gint64 channel)
{
    double n = 0, sr = 0, st = 0, rr = 0, rt = 0, tt = 0, err = 0;
    for (gsize i = 0; i < x->n; i++) {
        if (channel >= 0 && (gint64)(i / inner % n_channels) != channel)
            continue;
        double r = x->ref[i], t = x->test[i];
        if (!isfinite(r) || !isfinite(t))
            continue;
        n++;
        sr += r;
        st += t;
        rr += r * r;
        rt += r * t;
        tt += t * t;
        err += (t - r) * (t - r);
    }
    Fit f = {0};
    double var = n * rr - sr * sr;
    if (n < 8 || var <= 1e-12 * n * rr || tt == 0)
        return f;
    f.a = (n * rt - sr * st) / var;
    f.b = (st - f.a * sr) / n;
    double rest = tt - f.a * rt - f.b * st;
    f.after = sqrt(MAX(rest, 0) / tt);
    f.before = sqrt(err / tt);
    f.ok = TRUE;
    return f;
}

static gboolean why_scaled_channels(const CtNumbers *x, double tolerance, CtWhy *out)
{
    if (x->rank < 3)
        return FALSE;
    guint axis = x->rank > 3 || x->dims[0] == 1 ? 1 : 0;
    guint64 n = (guint64)x->dims[axis], inner = 1;
    for (guint d = axis + 1; d < x->rank; d++)
        inner *= (guint64)x->dims[d];
    if (n < 2 || n > 1024 || inner < 16)
        return FALSE;
    double worst_after = 0, before = 0;
    g_autoptr(GString) factors = g_string_new(NULL);
    for (guint64 c = 0; c < n; c++) {
        Fit f = fit(x, inner, n, (gint64)c);
        if (!f.ok)
            return FALSE;
        worst_after = MAX(worst_after, f.after);
        before = MAX(before, f.before);
        if (c < 4)
            g_string_append_printf(factors, " %.4g*ref%+.4g", f.a, f.b);
    }
    if (worst_after > tolerance || worst_after > 0.1 * before)
        return FALSE;
    ct_why_set(out, CT_FAULT_SCALE, 1, 0,
               "each channel has its own factor and offset:%s (mean and scale of preprocessing?)",
               "每个通道各有一个倍数和偏移：%s（预处理的均值与缩放？）", factors->str);
    return TRUE;
}

gboolean ct_why_scaled(const CtNumbers *x, double tolerance, CtWhy *out)
{
    tolerance = MAX(tolerance, 1e-3);
    Fit f = fit(x, 1, 1, -1);
    if (!f.ok || f.before < tolerance)
        return FALSE;
    if (f.after > tolerance || f.after > 0.1 * f.before)
        return why_scaled_channels(x, tolerance, out);
    gboolean offset = fabs(f.b) > 1e-3 * fabs(f.a);
    g_autofree char *formula = offset ? g_strdup_printf("test = %.5g * reference %+.5g", f.a, f.b)
                                      : g_strdup_printf("test = %.5g * reference", f.a);
    if (fabs(f.a * 255 - 1) < 0.02 || fabs(f.a / 255 - 1) < 0.02)
        ct_why_set(out, CT_FAULT_SCALE, 1, f.a, "%s: a division by 255 is missing or done twice",
                   "%s：除以 255 缺失或做了两次", formula);
    else if (offset && fabs(f.a - 1) < 0.01)
        ct_why_set(out, CT_FAULT_SCALE, 1, f.a, "%s: a mean or zero point", "%s：均值或零点",
                   formula);
    else
        ct_why_set(out, CT_FAULT_SCALE, 1, f.a, "%s", "%s", formula);
    return TRUE;
}
