/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Norms, softmax and sums along rows. Dumps seldom tell operations, so the reference's own numbers
 * do: rows that sum to one, or have a mean of zero and a deviation of one.
 */
#include <math.h>
#include <stdlib.h>

#include "tensor/why.h"

#define MOST_ROWS 4096u

typedef struct {
    double mean, var, square, least, sum;
} Row;

static gsize row_length(const CtNumbers *x)
{
    return x->rank ? (gsize)MAX(x->dims[x->rank - 1], 1) : 1;
}

static Row row_of(const double *x, gsize n)
{
    Row r = {.least = INFINITY};
    for (gsize i = 0; i < n; i++) {
        r.sum += x[i];
        r.square += x[i] * x[i];
        r.least = MIN(r.least, x[i]);
    }
    r.mean = r.sum / (double)n;
    r.square /= (double)n;
    for (gsize i = 0; i < n; i++)
        r.var += (x[i] - r.mean) * (x[i] - r.mean);
    r.var /= (double)n;
    return r;
}

guint ct_why_kind(const CtStep *s, const CtNumbers *x, const CtNumbers *in)
{
    guint kind = ct_op_kind(s);
    gsize len = row_length(x), rows = 0, norm = 0, softmax = 0;
    if (!x->ref || len < 4 || kind & (CT_OP_NORM | CT_OP_SOFTMAX))
        return kind;
    for (gsize from = 0; from + len <= x->n && rows < MOST_ROWS; from += len, rows++) {
        Row r = row_of(x->ref + from, len);
        norm += fabs(r.var - 1) < 0.05 && fabs(r.mean) < 0.02;
        softmax += r.least >= 0 && fabs(r.sum - 1) < 1e-3;
    }
    if (rows >= 2 && softmax * 10 >= rows * 9)
        kind |= CT_OP_SOFTMAX | CT_OP_EXP;
    if (in && in->n == x->n && rows >= 2 && norm * 2 >= rows)
        kind |= CT_OP_NORM | CT_OP_SQUARE;
    return kind;
}

/* Factor of a row, and what it leaves of the row's numbers; FALSE without finite numbers. */
static gboolean row_factor(const double *r, const double *t, gsize n, double *factor, double *left)
{
    double rr = 0, rt = 0, tt = 0;
    for (gsize i = 0; i < n; i++) {
        rr += r[i] * r[i];
        rt += r[i] * t[i];
        tt += t[i] * t[i];
    }
    if (!isfinite(rr) || !isfinite(tt) || rr <= 0 || tt <= 0)
        return FALSE;
    *factor = rt / rr;
    *left = sqrt(MAX(tt - *factor * rt, 0) / tt);
    return TRUE;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Every row has a factor of its own: the denominator is wrong. When the factors are those of one
 * epsilon that is missing, it is told. */
gboolean ct_why_denominator(const CtStep *s, const CtNumbers *x, const CtNumbers *in, CtWhy *out)
{
    guint kind = ct_why_kind(s, x, in);
    gsize len = row_length(x), rows = 0, off = 0, n_eps = 0;
    if (!(kind & (CT_OP_NORM | CT_OP_SOFTMAX)) || len < 4 || x->n / len < 2)
        return FALSE;
    double noise = MAX(8 * ct_dtype_eps(s->effective), 1e-3), low = INFINITY, high = 0;
    g_autofree double *eps = g_new(double, MOST_ROWS);
    gboolean same = in && in->ref && in->n == x->n && row_length(in) == len;
    for (gsize from = 0; from + len <= x->n && rows < MOST_ROWS; from += len) {
        double factor, left;
        if (!row_factor(x->ref + from, x->test + from, len, &factor, &left))
            continue;
        rows++;
        if (left > MAX(noise, 0.05 * MIN(fabs(factor - 1), 1))) /* of 1 at most: the rest of a row */
            return FALSE;
        off += fabs(factor - 1) > noise;
        low = MIN(low, factor);
        high = MAX(high, factor);
        if (!same || factor < 1 + noise)
            continue;
        Row r = row_of(in->ref + from, len), y = row_of(x->ref + from, len);
        double v = fabs(y.mean) < 0.1 * sqrt(y.square) ? r.var : r.square;
        eps[n_eps++] = v * (factor * factor - 1);
    }
    if (rows < 2 || off == 0)
        return FALSE;
    if (kind & CT_OP_NORM && n_eps >= 2 && n_eps * 2 >= off) {
        qsort(eps, n_eps, sizeof *eps, by_value);
        double median = eps[n_eps / 2];
        if (median <= 1e-2 && eps[n_eps / 5] > 0.7 * median && eps[n_eps * 4 / 5] < 1.4 * median) {
            ct_why_set(out, CT_FAULT_EPS, (double)off / (double)rows, median,
                       "the norm divides by too little: the factors of the "
                       "rows (%.4g to %.4g) are those of an epsilon of %.2g "
                       "that is in the reference and not in the test",
                       "归一化的除数过小：各行的倍数（%.4g 到 %.4g）正好对应一个 %.2g 的 "
                       "epsilon，它在参考中有而在测试中没有",
                       low, high, median);
            return TRUE;
        }
    }
    if (kind & CT_OP_NORM && same) {
        Row r = row_of(in->ref, len);
        if (r.mean * r.mean > 400 * r.var && r.var > 0) {
            ct_why_set(out, CT_FAULT_CANCELLATION, (double)off / (double)rows,
                       fabs(r.mean) / sqrt(r.var),
                       "rows are off by factors of %.4g to %.4g: their mean "
                       "is %.4g and they vary by %.3g, so a variance as E[x2] "
                       "- E[x]2 keeps too few digits of %s",
                       "各行差 %.4g 到 %.4g 倍：行均值为 %.4g 而变化仅 %.3g，以 E[x2] - E[x]2 "
                       "求方差时 %s 保留的位数太少",
                       low, high, r.mean, sqrt(r.var), ct_dtype_name(s->effective));
            return TRUE;
        }
    }
    if (high - low <= noise) /* one factor for all is a scale */
        return FALSE;
    ct_why_set(out, CT_FAULT_SOFTMAX_NORM, (double)off / (double)rows, high,
               "each row has a factor of its own (%.4g to %.4g), within a row all is right: the "
               "denominator lost digits",
               "每行各有一个倍数（%.4g 到 %.4g），行内则全部正确：分母丢失了位数", low, high);
    return TRUE;
}

/* Nearest number with `bits` after the leading one. */
static double rounded(double x, int bits)
{
    int e;
    double m = frexp(x, &e);
    return x == 0 ? 0 : ldexp(nearbyint(ldexp(m, bits + 1)), e - bits - 1);
}

/* A sum or mean over the last axes that was added up one by one in the small type: it stops to
 * grow. The running sum is done again and must give what the test holds. */
gboolean ct_why_running_sum(const CtStep *s, const CtNumbers *x, const CtNumbers *in, CtWhy *out)
{
    static const CtDtype types[] = {CT_F16, CT_BF16};
    if (!in || !in->ref || !in->test || !x->whole || !in->whole || x->n == 0 || in->n % x->n ||
        in->n / x->n < 64)
        return FALSE;
    gsize len = in->n / x->n;
    for (gsize k = 0; k < G_N_ELEMENTS(types); k++) {
        int bits = (int)-log2(ct_dtype_eps(types[k]));
        double err = 0, was = 0, all = 0, worst = 1, is_mean = 0, is_sum = 0;
        for (gsize i = 0; i < x->n; i++) {
            double exact = row_of(in->ref + i * len, len).sum, run = 0;
            for (gsize j = 0; j < len; j++)
                run = rounded(run + in->test[i * len + j], bits);
            double r = x->ref[i];
            is_sum += (exact - r) * (exact - r);
            is_mean += (exact / (double)len - r) * (exact / (double)len - r);
            double scale = exact != 0 ? r / exact : 0, d = x->test[i] - run * scale;
            err += d * d;
            was += (x->test[i] - r) * (x->test[i] - r);
            all += r * r;
            worst = MIN(worst, exact != 0 ? run / exact : 1);
        }
        if (MIN(is_sum, is_mean) > 1e-6 * all || err > 0.02 * was)
            continue;
        ct_why_set(
            out, CT_FAULT_ABSORPTION, 1 - worst, (double)len,
            "a sum of %zu numbers that was added up one by one in %s "
            "gives just these results: it stops to grow (down to %.3g "
            "of the true sum)",
            "%zu 个数在 %s 中逐个累加正好得到这些结果：和不再增长（最低只有真实和的 %.3g 倍）", len,
            ct_dtype_name(types[k]), worst);
        return TRUE;
    }
    return FALSE;
}

/* Infinite where the reference is an ordinary number: it was divided by zero. */
gboolean ct_why_zero_divisor(const CtStep *s, const CtNumbers *x, const CtNumbers *in, CtWhy *out)
{
    gsize infinite = 0, far = 0;
    double limit = ct_dtype_max(s->reduced ? s->effective : CT_F32);
    for (gsize i = 0; x->ref && i < x->n; i++)
        if (isinf(x->test[i])) {
            infinite++;
            far += fabs(x->ref[i]) < limit;
        }
    if (infinite == 0 || far * 10 < infinite * 9 || !(ct_why_kind(s, x, in) & CT_OP_NORM))
        return FALSE;
    ct_why_set(
        out, CT_FAULT_EPS, (double)infinite / (double)x->n, 0,
        "%zu elements are infinite where the reference stays far below "
        "the end of the type: the norm divided by zero, since variance "
        "and epsilon are zero in %s",
        "%zu 个元素为无穷，而参考远未到类型的上限：归一化除以了零，因为方差与 epsilon 在 %s 中为零",
        infinite, ct_dtype_name(s->effective));
    return TRUE;
}

/* How much two rows go up and down together: 1 when one is the other, scaled and moved. */
static double likeness(const double *a, const double *b, gsize n)
{
    Row ra = row_of(a, n), rb = row_of(b, n);
    double both = 0;
    for (gsize i = 0; i < n; i++)
        both += (a[i] - ra.mean) * (b[i] - rb.mean);
    return ra.var > 0 && rb.var > 0 ? both / (double)n / sqrt(ra.var * rb.var) : 0;
}

/* A mean that is large beside what varies is taken off. What comes out is wrong because the type
 * could not hold the variation beside the mean, so the operation itself may be right. */
gboolean ct_why_offset(const CtStep *s, const CtNumbers *x, const CtNumbers *in, CtWhy *out)
{
    gsize len = row_length(x), rows = 0, alike = 0;
    double mean = 0, var = 0, err = 0;
    if (!in || !in->ref || !in->test || in->n != x->n || row_length(in) != len || len < 4)
        return FALSE;
    for (gsize from = 0; from + len <= x->n && rows < MOST_ROWS; from += len, rows++) {
        Row r = row_of(in->ref + from, len), t = row_of(in->test + from, len);
        if (!isfinite(r.var) || !isfinite(t.var))
            return FALSE;
        alike += r.mean * r.mean > 400 * r.var && r.var > 0 &&
                 fabs(likeness(in->ref + from, x->ref + from, len)) > 0.9;
        mean += fabs(r.mean);
        var += r.var;
        for (gsize i = from; i < from + len; i++) {
            double d = in->test[i] - t.mean - (in->ref[i] - r.mean);
            err += d * d / (double)len;
        }
    }
    if (rows == 0 || alike * 10 < rows * 9 || sqrt(err / var) < 0.3 * s->c.rel_rms)
        return FALSE;
    mean /= (double)rows;
    double sd = sqrt(var / (double)rows),
           step = exp2(floor(log2(mean))) * ct_dtype_eps(s->effective);
    ct_why_set(
        out, CT_FAULT_CANCELLATION, 1, mean / sd,
        "it takes a mean of %.4g off values that vary by %.3g; a step of %s there is %.3g, so "
        "what varies was lost before",
        "它从只变化 %2$.3g 的数值中减去均值 %1$.4g；%3$s 在那里的步长为 "
        "%4$.3g，变化的部分此前已丢失",
        mean, sd, ct_dtype_name(s->effective), step);
    return TRUE;
}
