/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns in a pair of tensors that say why they differ. */
#pragma once

#include "tensor/steps.h"

/* Numbers of a step as doubles; `ref` is NULL without a reference. */
typedef struct {
    double *ref, *test;
    gsize n;
    guint rank;
    gint64 dims[CT_TENSOR_MAX_RANK];
    gboolean whole; /* not only the beginning of a large tensor */
} CtNumbers;

#define CT_WHY_MAX ((gsize)1 << 22)

CtNumbers *ct_numbers_load(const CtStep *step, const CtStepOptions *o);
void ct_numbers_free(CtNumbers *x);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtNumbers, ct_numbers_free)

/* What the operation is called, by the graph or by the tensor's name: ORed bits. */
enum {
    CT_OP_NORM = 1,
    CT_OP_SOFTMAX = 2,
    CT_OP_SQUARE = 4,
    CT_OP_LOG = 8,
    CT_OP_ROOT = 16,
    CT_OP_DIVIDE = 32,
    CT_OP_EXP = 64
};
guint ct_op_kind(const CtStep *step);
/* why-norm.c: the same, also from what the reference's numbers look like. */
guint ct_why_kind(const CtStep *s, const CtNumbers *x, const CtNumbers *in);
gboolean ct_why_denominator(const CtStep *s, const CtNumbers *x, const CtNumbers *in, CtWhy *out);
gboolean ct_why_running_sum(const CtStep *s, const CtNumbers *x, const CtNumbers *in, CtWhy *out);
gboolean ct_why_offset(const CtStep *s, const CtNumbers *x, const CtNumbers *in, CtWhy *out);
gboolean ct_why_zero_divisor(const CtStep *s, const CtNumbers *x, const CtNumbers *in, CtWhy *out);

/* why-place.c: the numbers are right and stand elsewhere, or are scaled. TRUE with *out set. */
gboolean ct_why_moved(const CtNumbers *x, CtWhy *out);
gboolean ct_why_scaled(const CtNumbers *x, double tolerance, CtWhy *out);
/* why-range.c: all of it needs the step's comparison; `in` (nullable) are the numbers before it. */
gboolean ct_why_nonfinite(const CtStep *s, const CtNumbers *x, const CtNumbers *in, gboolean first,
                          CtWhy *out);
/* The square within a norm is beyond the type, which may show as zeros. */
gboolean ct_why_square(const CtStep *s, const CtNumbers *x, const CtNumbers *in, CtWhy *out);
gboolean ct_why_clipped(const CtStep *s, const CtNumbers *x, CtWhy *out);
gboolean ct_why_small(const CtStep *s, const CtNumbers *x, CtWhy *out);
gboolean ct_why_rows(const CtStep *s, const CtNumbers *x, const CtNumbers *in, CtWhy *out);
gboolean ct_why_few(const CtStep *s, const CtNumbers *x, CtWhy *out);
/* relate.c: what sum of two earlier tensors this one is, and what was lost in it. */
typedef struct CtSumFinder CtSumFinder;
CtSumFinder *ct_sum_finder_new(void);
void ct_sum_finder_free(CtSumFinder *f);
typedef struct {
    guint a, b; /* steps */
    int sign;   /* a + sign * b */
} CtSum;
/* FALSE when it is neither a sum nor a difference. */
gboolean ct_sum_finder_add(CtSumFinder *f, guint step, const CtNumbers *x, CtSum *out);
gboolean ct_why_sum(const CtSteps *all, guint step, const CtNumbers *x, const CtSum *sum,
                    const CtStepOptions *o, CtWhy *out);
