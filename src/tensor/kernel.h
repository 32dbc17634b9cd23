/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inner loop of the comparison: one pass over a pair of number blocks. kernel.inc.c is compiled
 * once for each instruction set; kernel.c chooses at run time. All twins give equal counts and
 * extremes, and sums that differ only by rounding.
 */
#pragma once

#include <glib.h>

/* Sums over the pairs in which both numbers are finite. */
typedef struct {
    guint64 n;         /* pairs */
    guint64 finite;    /* both finite */
    guint64 unequal;   /* finite and different */
    guint64 over_sum;  /* |t-r| > atol + rtol*|r|           (numpy, trtexec) */
    guint64 over_both; /* |t-r| > atol and |t-r| > rtol*|r| (Polygraphy: passes if either holds) */
    guint64 ref_subnormal, test_subnormal;
    double sum_abs, sum_abs2, max_abs;
    double sum_rel, max_rel; /* over r != 0 */
    guint64 n_rel;
    double sum_ref, sum_test, dot, ref2, test2;
    double ref_min, ref_max, test_min, test_max;
    double sum_ulp, max_ulp; /* only kernels of equal types fill it */
} CtPairSums;

typedef struct {
    double atol, rtol;
    double ref_min_normal, test_min_normal; /* of the types as stored; 0 for integers */
} CtPairRule;

void ct_pair_sums_init(CtPairSums *s);

typedef struct {
    const char *name;
    /* Adds a block to *s; returns TRUE when some number in it was not finite. */
    gboolean (*pair_f32)(const float *r, const float *t, gsize n, const CtPairRule *rule,
                         gboolean ulp, CtPairSums *s);
    gboolean (*pair_f64)(const double *r, const double *t, gsize n, const CtPairRule *rule,
                         gboolean ulp, CtPairSums *s);
    /* TRUE when all n numbers are finite. */
    gboolean (*all_finite_f32)(const float *x, gsize n);
    /* Sum and maximum of the distance of 16-bit floats in steps of their own type. */
    void (*ulp_u16)(const guint8 *r, const guint8 *t, gsize n, double *sum, double *max);
} CtKernel;

const CtKernel *ct_kernel_best(void);
const CtKernel *ct_kernel_scalar(void);
/* All that run on this processor; ends with NULL. */
const CtKernel *const *ct_kernels(void);
