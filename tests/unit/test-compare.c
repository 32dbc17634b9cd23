/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small networks with one planted fault each: the first bad tensor and its reason must be found, and
 * nothing where nothing is wrong. A network is computed in double; its test is the same network with
 * every tensor rounded to a type, and the fault.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/half.h"
#include "tensor/steps.h"

#define ROWS 16u
#define WIDTH 64u
#define N (ROWS * WIDTH)

typedef enum { FP32, FP16, BF16, INT8, TF32 } Type;

typedef enum {
    CLEAN, OVERFLOW, NORM_SQUARE, EPS_LOST, TIMES_255, MEAN_SCALE, NHWC, BGR, ABSORBED, MASK_1E9,
    MASK_TWICE, STALE, BAD_WEIGHT, BAD_INPUT, LOG_ZERO, ROOT_NEGATIVE, CLIPPED, COARSE, TOO_SMALL,
    CANCELS, SHIFTED, BATCH_ORDER, NOT_WRITTEN, SOFTMAX_NAIVE, SWAPPED_AXES, TENFLOAT, OFFSET_LOST,
    CHANNEL_ORDER,
} Plant;

typedef struct {
    Type type;
    Plant plant;
    gboolean test; /* this run has the fault */
    CtTensorSet *set;
    guint32 seed;
} Net;

static double next(Net *n)
{
    double sum = 0;
    for (int i = 0; i < 6; i++) {
        n->seed = n->seed * 1664525u + 1013904223u;
        sum += (double)(n->seed >> 8) / (1 << 24) - 0.5;
    }
    return sum * 1.41;
}

static double rounded(const Net *n, double v, double most)
{
    if (!n->test)
        return v;
    if (n->type == FP16)
        return ct_half_to_float(ct_float_to_half((float)v));
    float f = (float)v;
    guint32 bits;
    memcpy(&bits, &f, sizeof bits);
    if (n->type == BF16 && isfinite(f))
        bits = (bits + 0x7fff + ((bits >> 16) & 1)) & 0xffff0000;
    memcpy(&f, &bits, sizeof f);
    if (n->type == INT8 && most > 0 && isfinite(v))
        return (float)(rint(v / (most / 127)) * (most / 127));
    return f;
}

static void emit_shape(Net *n, const char *name, const double *x, guint rank, const gint64 *dims)
{
    gsize count = 1;
    for (guint d = 0; d < rank; d++)
        count *= (gsize)dims[d];
    float *data = g_new(float, count);
    for (gsize i = 0; i < count; i++)
        data[i] = (float)x[i];
    CtTensorItem *item = ct_tensor_set_add(n->set, CT_ITEM_READY, name, name);
    CtBytes *bytes = ct_bytes_take(data, count * sizeof *data);
    item->tensor = ct_tensor_over(bytes, 0, count * sizeof *data, CT_F32, rank, dims, name, name, NULL);
    ct_bytes_unref(bytes);
}

static void emit(Net *n, const char *name, double *x)
{
    double most = 0;
    for (guint i = 0; i < N; i++)
        most = MAX(most, isfinite(x[i]) ? fabs(x[i]) : 0);
    for (guint i = 0; i < N; i++)
        x[i] = rounded(n, x[i], most);
    emit_shape(n, name, x, 2, (const gint64[]){ROWS, WIDTH});
}

static gboolean has(const Net *n, Plant plant)
{
    return n->plant == plant;
}

/* The fault shows in the test only. */
static gboolean bites(const Net *n, Plant plant)
{
    return n->plant == plant && n->test;
}

static void fc(Net *n, const double *x, double *out, double scale, gboolean relu, double *weight_fault)
{
    g_autofree double *w = g_new(double, WIDTH * WIDTH);
    for (guint i = 0; i < WIDTH * WIDTH; i++)
        w[i] = next(n) / 8 * scale;
    if (weight_fault)
        w[77] = *weight_fault;
    if (n->test && n->type == TF32)
        for (guint i = 0; i < WIDTH * WIDTH; i++)
            w[i] = rint(w[i] * 1024 / scale) / 1024 * scale;
    for (guint r = 0; r < ROWS; r++)
        for (guint c = 0; c < WIDTH; c++) {
            double sum = 0;
            for (guint k = 0; k < WIDTH; k++)
                sum += x[r * WIDTH + k] * w[k * WIDTH + c];
            out[r * WIDTH + c] = relu && sum < 0 ? 0 : sum;
        }
}

static void norm(Net *n, const double *x, double *out, double eps)
{
    gboolean half = n->test && n->type == FP16;
    for (guint r = 0; r < ROWS; r++) {
        double mean = 0, var = 0;
        for (guint c = 0; c < WIDTH; c++)
            mean += x[r * WIDTH + c] / WIDTH;
        for (guint c = 0; c < WIDTH; c++) {
            double d = x[r * WIDTH + c] - mean, square = d * d;
            var += (half && (has(n, NORM_SQUARE)) ? rounded(n, square, 0) : square) / WIDTH;
        }
        double below = half && has(n, EPS_LOST) ? rounded(n, rounded(n, var, 0) + rounded(n, eps, 0), 0)
                                                : var + eps;
        for (guint c = 0; c < WIDTH; c++)
            out[r * WIDTH + c] = (x[r * WIDTH + c] - mean) / sqrt(below);
    }
}

static void softmax(Net *n, const double *x, double *out, gboolean naive)
{
    for (guint r = 0; r < ROWS; r++) {
        double most = -INFINITY, sum = 0;
        for (guint c = 0; c < WIDTH; c++)
            most = fmax(most, x[r * WIDTH + c]);
        for (guint c = 0; c < WIDTH; c++) {
            double e = exp(x[r * WIDTH + c] - (naive ? 0 : most));
            out[r * WIDTH + c] = naive ? rounded(n, e, 0) : e;
            sum += out[r * WIDTH + c];
        }
        for (guint c = 0; c < WIDTH; c++)
            out[r * WIDTH + c] /= sum;
    }
}

static void distort_fc(Net *n, double *x)
{
    if (bites(n, STALE))
        memset(x + 300, 0, 40 * sizeof *x);
    if (bites(n, NOT_WRITTEN))
        memset(x, 0, N * sizeof *x);
    if (bites(n, SHIFTED))
        memmove(x + 1, x, (N - 1) * sizeof *x);
    for (guint i = 0; i < N; i++) {
        if (bites(n, CLIPPED))
            x[i] = rint(CLAMP(x[i] / 0.008, -127, 127)) * 0.008;
        if (bites(n, COARSE))
            x[i] = rint(x[i] / 0.4) * 0.4;
        if (bites(n, OFFSET_LOST))
            x[i] += 0.7;
    }
    if (bites(n, BATCH_ORDER)) {
        double row[WIDTH];
        memcpy(row, x + 2 * WIDTH, sizeof row);
        memcpy(x + 2 * WIDTH, x + 9 * WIDTH, sizeof row);
        memcpy(x + 9 * WIDTH, row, sizeof row);
        memcpy(row, x, sizeof row);
        memcpy(x, x + 5 * WIDTH, sizeof row);
        memcpy(x + 5 * WIDTH, row, sizeof row);
    }
}

static void block(Net *n, guint k, double *x)
{
    double y[N], z[N], nan = NAN;
    char name[64];
    gboolean here = k == 2;
    if (here && has(n, NORM_SQUARE))
        for (guint i = 0; i < N; i++)
            x[i] *= 400;
    if (here && has(n, EPS_LOST))
        for (guint i = 0; i < 3 * WIDTH; i++)
            x[i] = 0.5;
    if (here && (has(n, NORM_SQUARE) || has(n, EPS_LOST)))
        emit(n, "blk2.rescaled", x);
    norm(n, x, y, here && has(n, EPS_LOST) ? 1e-8 : 1e-5);
    snprintf(name, sizeof name, "blk%u.norm", k);
    emit(n, name, y);
    if (here && has(n, BAD_WEIGHT)) {
        double w[N];
        for (guint i = 0; i < N; i++)
            w[i] = i == 5 && n->test ? NAN : 0.01 * (i % 7);
        emit(n, "blk2.fc1.weight", w);
    }
    fc(n, y, z, 1, TRUE, here && bites(n, BAD_WEIGHT) ? &nan : NULL);
    if (here)
        distort_fc(n, z);
    snprintf(name, sizeof name, "blk%u.fc1", k);
    emit(n, name, z);
    double scale = here && has(n, OVERFLOW) ? 3e5 : here && has(n, ABSORBED) ? 8e3
                 : here && has(n, TOO_SMALL) ? 3e-7 : 0.3;
    fc(n, z, y, scale, FALSE, NULL);
    snprintf(name, sizeof name, "blk%u.fc2", k);
    emit(n, name, y);
    if (here && has(n, CANCELS)) {
        for (guint i = 0; i < N; i++)
            y[i] = -x[i] * (1 + 1e-3 * ((double)(i % 13) - 6));
        emit(n, "blk2.minus", y);
    }
    for (guint i = 0; i < N; i++)
        x[i] += y[i];
    snprintf(name, sizeof name, "blk%u.out", k);
    emit(n, name, x);
}

static void text_net(Net *n)
{
    double x[N], y[N], z[N];
    for (guint i = 0; i < N; i++)
        x[i] = next(n);
    if (has(n, BAD_INPUT))
        x[40] = NAN;
    for (guint i = 0; i < N; i++)
        x[i] = bites(n, TIMES_255) ? x[i] * 255 : x[i];
    emit(n, "input", x);
    for (guint k = 0; k < 4; k++)
        block(n, k, x);
    fc(n, x, y, has(n, SOFTMAX_NAIVE) ? 9 : 1, FALSE, NULL);
    if (has(n, OVERFLOW) || has(n, ABSORBED) || has(n, BAD_INPUT))
        norm(n, x, y, 1e-5);
    if (bites(n, SWAPPED_AXES)) {
        memcpy(z, y, sizeof z);
        for (guint i = 0; i < N; i++)
            y[i] = z[i % ROWS * WIDTH + i / ROWS];
    }
    emit(n, "scores", y);
    if (has(n, MASK_1E9) || has(n, MASK_TWICE)) {
        double mask = has(n, MASK_1E9) ? -1e9 : -65504;
        for (guint i = 0; i < N; i++)
            if (i / WIDTH == 3 || i % WIDTH > 50)
                y[i] = y[i] - fabs(y[i]) + mask * (has(n, MASK_TWICE) ? 2 : 1);
        emit(n, "masked", y);
    }
    softmax(n, y, z, bites(n, SOFTMAX_NAIVE));
    emit(n, "softmax", z);
    for (guint i = 0; i < N; i++)
        y[i] = has(n, LOG_ZERO) ? log(i % 50 == 0 ? (n->test ? 0 : 1e-6) : z[i] + 1e-3)
               : has(n, ROOT_NEGATIVE) ? sqrt(z[i] - 1e-3)
                                       : log(z[i] + 1e-3);
    if (has(n, LOG_ZERO)) {
        for (guint i = 0; i < N; i++)
            z[i] = i % 50 == 0 ? (n->test ? 0 : 1e-6) : z[i] + 1e-3;
        emit(n, "shares", z);
    }
    if (has(n, ROOT_NEGATIVE)) {
        for (guint i = 0; i < N; i++)
            z[i] -= 1e-3;
        emit(n, "variance_left", z);
    }
    emit(n, has(n, ROOT_NEGATIVE) ? "sqrt" : "log", y);
}

/* 1 x 3 x 16 x 16, two layers of 1x1 convolutions to 8 channels. */
static void image_net(Net *n)
{
    enum { S = 16, A = S * S };
    double x[8 * A], y[8 * A];
    for (guint i = 0; i < 3 * A; i++)
        x[i] = (1 + i / A) * (sin(0.3 * (i % S) + i / A) + 0.5 * cos(0.21 * (i / S % S))) + next(n) * 0.2;
    if (bites(n, BGR)) {
        memcpy(y, x, sizeof x);
        for (guint c = 0; c < 3; c++)
            memcpy(x + c * A, y + (2 - c) * A, A * sizeof *x);
    }
    for (guint i = 0; i < 3 * A && bites(n, MEAN_SCALE); i++)
        x[i] = (x[i] - 0.4 - 0.05 * (i / A)) / (0.22 + 0.003 * (i / A));
    for (guint i = 0; i < 3 * A; i++)
        x[i] = rounded(n, x[i], 0);
    emit_shape(n, "images", x, 4, (const gint64[]){1, 3, S, S});
    for (guint layer = 0; layer < 3; layer++) {
        guint in = layer ? 8 : 3;
        double w[64];
        char name[32];
        for (guint i = 0; i < 64; i++)
            w[i] = next(n);
        for (guint c = 0; c < 8; c++)
            for (guint p = 0; p < A; p++) {
                double sum = 0.1 * c;
                for (guint k = 0; k < in; k++)
                    sum += x[k * A + p] * w[c * 8 + k];
                y[c * A + p] = rounded(n, sum > 0 ? sum : 0.1 * sum, 0);
            }
        memcpy(x, y, sizeof x);
        for (guint i = 0; layer == 1 && bites(n, NHWC) && i < 8 * A; i++)
            x[i] = y[i % 8 * A + i / 8];
        for (guint c = 0; layer == 1 && bites(n, CHANNEL_ORDER) && c < 8; c++)
            memcpy(x + c * A, y + (c * 3 + 1) % 8 * A, A * sizeof *x);
        snprintf(name, sizeof name, "conv%u", layer);
        emit_shape(n, name, x, 4, (const gint64[]){1, 8, S, S});
    }
}

typedef struct {
    const char *what;
    Type type;
    Plant plant;
    gboolean image;
    const char *where; /* NULL: clean */
    CtFault fault, or_fault;
} Case;

static const Case cases[] = {
    {"fp32 clean", FP32, CLEAN, FALSE, NULL, 0, 0},
    {"fp16 clean", FP16, CLEAN, FALSE, NULL, 0, 0},
    {"bf16 clean", BF16, CLEAN, FALSE, NULL, 0, 0},
    {"int8 clean", INT8, CLEAN, FALSE, NULL, 0, 0},
    {"fp16 image clean", FP16, CLEAN, TRUE, NULL, 0, 0},
    {"overflow", FP16, OVERFLOW, FALSE, "blk2.fc2", CT_FAULT_OVERFLOW, 0},
    {"square in norm", FP16, NORM_SQUARE, FALSE, "blk2.norm", CT_FAULT_OVERFLOW, 0},
    {"eps lost", FP16, EPS_LOST, FALSE, "blk2.norm", CT_FAULT_EPS, 0},
    {"times 255", FP32, TIMES_255, FALSE, "input", CT_FAULT_SCALE, 0},
    {"mean and scale", FP32, MEAN_SCALE, TRUE, "images", CT_FAULT_SCALE, 0},
    {"nhwc", FP16, NHWC, TRUE, "conv1", CT_FAULT_LAYOUT, 0},
    {"bgr", FP32, BGR, TRUE, "images", CT_FAULT_CHANNELS, 0},
    {"absorbed", FP16, ABSORBED, FALSE, "blk2.out", CT_FAULT_ABSORPTION, 0},
    {"mask -1e9", FP16, MASK_1E9, FALSE, "masked", CT_FAULT_MASK, 0},
    {"mask twice", FP16, MASK_TWICE, FALSE, "masked", CT_FAULT_MASK, 0},
    {"stale", FP32, STALE, FALSE, "blk2.fc1", CT_FAULT_RACE, 0},
    {"bad weight", FP16, BAD_WEIGHT, FALSE, "blk2.fc1.weight", CT_FAULT_NAN_WEIGHT, 0},
    {"bad input", FP16, BAD_INPUT, FALSE, "input", CT_FAULT_NAN_INPUT, 0},
    {"log of zero", FP32, LOG_ZERO, FALSE, "log", CT_FAULT_UNDEFINED, 0},
    {"root of negative", FP32, ROOT_NEGATIVE, FALSE, "sqrt", CT_FAULT_UNDEFINED, 0},
    {"clipped", FP32, CLIPPED, FALSE, "blk2.fc1", CT_FAULT_SATURATION, 0},
    {"coarse", FP32, COARSE, FALSE, "blk2.fc1", CT_FAULT_COARSE_SCALE, 0},
    {"too small", FP16, TOO_SMALL, FALSE, "blk2.fc2", CT_FAULT_UNDERFLOW, 0},
    {"cancels", FP16, CANCELS, FALSE, "blk2.out", CT_FAULT_CANCELLATION, 0},
    {"shifted", FP32, SHIFTED, FALSE, "blk2.fc1", CT_FAULT_SHIFT, 0},
    {"batch order", FP16, BATCH_ORDER, FALSE, "blk2.fc1", CT_FAULT_PERMUTED, CT_FAULT_CHANNELS},
    {"not written", FP16, NOT_WRITTEN, FALSE, "blk2.fc1", CT_FAULT_CONSTANT, 0},
    {"softmax without maximum", FP16, SOFTMAX_NAIVE, FALSE, "softmax", CT_FAULT_SOFTMAX_NORM, 0},
    {"swapped axes", FP32, SWAPPED_AXES, FALSE, "scores", CT_FAULT_LAYOUT, 0},
    {"ten bits", TF32, TENFLOAT, FALSE, "blk0.fc1", CT_FAULT_TF32, 0},
    {"offset", FP16, OFFSET_LOST, FALSE, "blk2.fc1", CT_FAULT_SCALE, 0},
    {"channel order", FP16, CHANNEL_ORDER, TRUE, "conv1", CT_FAULT_CHANNELS, 0},
};

static CtTensorSet *make(const Case *c, gboolean test)
{
    Net n = {c->type, c->plant, test, ct_tensor_set_new(test ? "test" : "ref"), 12345};
    if (c->image)
        image_net(&n);
    else
        text_net(&n);
    return n.set;
}

static const CtStep *verdict(const CtSteps *s)
{
    if (s->first_bad >= 0)
        return s->steps->pdata[s->first_bad];
    for (guint i = 0; i < s->steps->len; i++)
        if (((CtStep *)s->steps->pdata[i])->loss)
            return s->steps->pdata[i];
    return NULL;
}

static gboolean judge(const Case *c)
{
    g_autoptr(CtTensorSet) ref = make(c, FALSE), test = make(c, TRUE);
    CtStepOptions o = {0};
    g_autoptr(CtSteps) s = ct_steps_compare(ref, test, &o);
    ct_locate(s, &o);
    const CtStep *v = verdict(s);
    gboolean right = c->where ? v && g_str_equal(v->name, c->where) &&
                                    (v->why.fault == c->fault ||
                                     (c->or_fault && v->why.fault == c->or_fault))
                              : v == NULL;
    if (!right)
        print_message("%s: %s at %s: %s (error %.3g)\n", c->what, v ? ct_fault_id(v->why.fault) : "clean",
                      v ? v->name : "-", v && v->why.text ? v->why.text : "", v ? v->c.rel_rms : 0);
    return right;
}

static void test_planted(void **state)
{
    guint faults = 0, found = 0, clean = 0;
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        gboolean right = judge(&cases[i]);
        if (cases[i].where) {
            faults++;
            found += right;
        } else {
            clean += right;
        }
    }
    print_message("%u of %u faults, %u of 5 clean\n", found, faults, clean);
    assert_int_equal(clean, 5);
    assert_int_equal(found, faults);
}

static CtTensor *tensor(CtDtype dtype, guint n, const void *data, gsize len)
{
    CtBytes *b = ct_bytes_take(ct_memdup(data, len), len);
    CtTensor *t = ct_tensor_over(b, 0, len, dtype, 1, (const gint64[]){n}, "t", "t", NULL);
    ct_bytes_unref(b);
    return t;
}

/* Neighbours beyond 2^53 are one number as doubles. */
static void test_wide_integers(void **state)
{
    const gint64 a[] = {5, G_MAXINT64, G_MININT64, -7}, b[] = {5, G_MAXINT64 - 1, G_MININT64, -7};
    g_autoptr(CtTensor) r = tensor(CT_I64, 4, a, sizeof a), t = tensor(CT_I64, 4, b, sizeof b);
    CtCompareOptions o = {0};
    CtComparison c;
    assert_true(ct_compare(r, t, &o, &c, NULL));
    assert_false(c.pass);
    assert_int_equal(c.sums.unequal, 1);
    assert_int_equal(c.over_sum, 1);
    assert_int_equal(c.first, 1);
    assert_int_equal(c.worst_abs, 1);
    assert_true(c.sums.max_abs == 1);
    assert_true(ct_compare(r, r, &o, &c, NULL));
    assert_true(c.pass);
}

/* All twins see the same; sums may differ by rounding. */
static void test_twins(void **state)
{
    enum { M = 70001 };
    g_autofree float *a = g_new(float, M), *b = g_new(float, M);
    Net n = {.seed = 99};
    for (guint i = 0; i < M; i++) {
        a[i] = (float)(next(&n) * pow(10, (int)(i % 76) - 40));
        b[i] = i % 7 ? a[i] * (1 + 1e-6f * (float)(i % 5)) : a[i];
    }
    a[5] = NAN;
    b[M - 1] = INFINITY;
    a[4096] = b[4096] = -INFINITY;
    g_autoptr(CtTensor) r = tensor(CT_F32, M, a, M * 4), t = tensor(CT_F32, M, b, M * 4);
    CtCompareOptions o = {.kernel = ct_kernel_scalar()};
    CtComparison want, got;
    assert_true(ct_compare(r, t, &o, &want, NULL));
    for (const CtKernel *const *k = ct_kernels(); *k; k++) {
        o.kernel = *k;
        assert_true(ct_compare(r, t, &o, &got, NULL));
        assert_int_equal(got.sums.finite, want.sums.finite);
        assert_int_equal(got.sums.unequal, want.sums.unequal);
        assert_int_equal(got.over_sum, want.over_sum);
        assert_int_equal(got.over_either, want.over_either);
        assert_int_equal(got.sums.ref_subnormal, want.sums.ref_subnormal);
        assert_int_equal(got.first, want.first);
        assert_int_equal(got.worst_abs, want.worst_abs);
        assert_true(got.sums.max_ulp == want.sums.max_ulp && got.sums.max_rel == want.sums.max_rel);
        assert_true(got.sums.ref_min == want.sums.ref_min && got.sums.test_max == want.sums.test_max);
        assert_true(fabs(got.rmse - want.rmse) <= 1e-12 * want.rmse);
        assert_true(fabs(got.cosine - want.cosine) <= 1e-12);
        assert_true(fabs(got.mean_ulp - want.mean_ulp) <= 1e-12 * want.mean_ulp);
    }
    assert_int_equal(want.ref.nan, 1);
    assert_int_equal(want.inf_equal, 1);
    assert_false(want.pass);
}

static void test_nan_never_passes(void **state)
{
    float nan[4] = {NAN, NAN, NAN, NAN};
    g_autoptr(CtTensor) r = tensor(CT_F32, 4, nan, sizeof nan), t = tensor(CT_F32, 4, nan, sizeof nan);
    CtCompareOptions o = {.has_atol = TRUE, .atol = 1e30, .has_rtol = TRUE, .rtol = 1e30};
    CtComparison c;
    for (o.rule = CT_RULE_SUM; o.rule <= CT_RULE_EITHER; o.rule++) {
        assert_true(ct_compare(r, t, &o, &c, NULL));
        assert_false(c.pass);
        assert_int_equal(ct_comparison_over(&c), 4);
    }
}

static void test_rules(void **state)
{
    float a[2] = {10, 10}, b[2] = {10.15f, 10.25f};
    g_autoptr(CtTensor) r = tensor(CT_F32, 2, a, sizeof a), t = tensor(CT_F32, 2, b, sizeof b);
    CtCompareOptions o = {.has_atol = TRUE, .atol = 0.1, .has_rtol = TRUE, .rtol = 0.01};
    CtComparison c;
    assert_true(ct_compare(r, t, &o, &c, NULL));
    assert_int_equal(c.over_sum, 1);    /* 0.1 + 0.1 */
    assert_int_equal(c.over_either, 2); /* neither 0.1 nor 0.1 alone */
}

static void test_shapes(void **state)
{
    float a[6] = {1, 2, 3, 4, 5, 6};
    CtBytes *b = ct_bytes_take(ct_memdup(a, sizeof a), sizeof a);
    g_autoptr(CtTensor) r = ct_tensor_over(b, 0, sizeof a, CT_F32, 2, (const gint64[]){2, 3}, "r", "r",
                                           NULL);
    g_autoptr(CtTensor) t = ct_tensor_over(b, 0, sizeof a, CT_F32, 2, (const gint64[]){3, 2}, "t", "t",
                                           NULL);
    g_autoptr(CtTensor) ones = ct_tensor_over(b, 0, sizeof a, CT_F32, 4, (const gint64[]){1, 2, 1, 3},
                                              "t", "t", NULL);
    g_autoptr(CtTensor) none = ct_tensor_over(b, 0, 0, CT_F32, 2, (const gint64[]){0, 3}, "t", "t",
                                              NULL);
    ct_bytes_unref(b);
    CtCompareOptions o = {.full = TRUE};
    CtComparison c;
    g_autoptr(GError) error = NULL;
    assert_false(ct_compare(r, t, &o, &c, &error));
    assert_non_null(strstr(error->message, "2x3 and 3x2"));
    assert_true(ct_compare(r, ones, &o, &c, NULL) && c.pass);
    assert_true(ct_compare(none, none, &o, &c, NULL) && c.pass && c.n == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_planted), cmocka_unit_test(test_wide_integers), cmocka_unit_test(test_twins),
        cmocka_unit_test(test_nan_never_passes), cmocka_unit_test(test_rules),
        cmocka_unit_test(test_shapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
