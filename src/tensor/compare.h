/* SPDX-License-Identifier: Apache-2.0 */
/* Two tensors that should be the same: every number that tells how far they are apart. */
#pragma once

#include "base/error.h"
#include "tensor/kernel.h"
#include "tensor/tensor.h"

typedef enum {
    CT_RULE_SUM,    /* |t-r| <= atol + rtol*|r|: numpy, trtexec */
    CT_RULE_EITHER, /* |t-r| <= atol or |t-r| <= rtol*|r|: Polygraphy */
} CtRule;

typedef struct {
    gboolean has_atol, has_rtol; /* without them the coarser type decides */
    double atol, rtol;
    CtRule rule;
    gboolean full, exact;
    guint top_k;
    const CtKernel *kernel; /* NULL takes the best */
} CtCompareOptions;

typedef struct {
    guint64 nan, pos_inf, neg_inf;
} CtSpecials;

#define CT_QUANTILES 5
extern const double ct_quantiles[CT_QUANTILES];

typedef struct {
    gboolean have_quantiles;
    double quantile[CT_QUANTILES]; /* of |t-r| */
    double rank_error;             /* 0 is exact */
    gint channel_axis;             /* -1: no channels */
    guint n_channels, worst_channel;
    double worst_channel_max, worst_channel_rms, channel_rms_median;
    guint64 rows; /* of the last axis; 0: no argmax */
    guint64 argmax_equal, topk_equal;
    guint top_k;
} CtFull;

typedef struct {
    CtDtype ref_dtype, test_dtype;
    double atol, rtol;
    CtRule rule;
    guint64 n;       /* numbers compared; a complex one counts twice */
    CtPairSums sums; /* over finite pairs */
    CtSpecials ref, test;
    guint64 nan_both, inf_equal;        /* at the same place */
    guint64 over_sum, over_either;      /* by each rule, what is not finite included */
    gint64 first, worst_abs, worst_rel; /* indices, -1 without: first out of tolerance ... */
    double first_ref, first_test, worst_abs_ref, worst_abs_test, worst_rel_ref, worst_rel_test;
    gint64 first_test_nonfinite;
    double first_test_nonfinite_ref;
    double ref_max_where_test_inf; /* largest finite |ref| there, 0 without */
    guint64 test_inf_ref_beyond;   /* such places where |ref| exceeds the type of the test */
    double mean_abs, mean_rel, rmse, cosine, psnr, sqnr, mean_ulp;
    double rel_rms; /* rms error / rms of the reference; NaN when that is 0 */
    gboolean has_ulp, pass;
    CtFull full;
} CtComparison;

/* FALSE when the shapes do not allow a comparison. */
gboolean ct_compare(const CtTensor *ref, const CtTensor *test, const CtCompareOptions *o,
                    CtComparison *out, GError **error);
/* How many fail by the rule in force. */
guint64 ct_comparison_over(const CtComparison *c);
/* Tolerances for a type, when nothing is asked for. */
void ct_default_tolerance(CtDtype dtype, double *atol, double *rtol);
/* The type that holds fewer digits. */
CtDtype ct_coarser(CtDtype a, CtDtype b);
/* Relative step of a floating type at 1; 0 for integers. */
double ct_dtype_eps(CtDtype dtype);
/* "(0, 3, 17, 4)" of a flat index. */
char *ct_tensor_index(const CtTensor *t, guint64 flat);

/* compare-full.c */
void ct_compare_full(const CtTensor *ref, const CtTensor *test, const CtCompareOptions *o,
                     CtFull *out);

/* What one tensor alone tells. */
typedef struct {
    guint64 n, zeros, subnormal, at_max; /* at_max: |x| equals the largest value of the type */
    CtSpecials specials;
    gint64 first_nonfinite;
    double min, max, mean, rms; /* over finite numbers */
    guint64 finite;
    guint dead_channels, n_channels; /* channels that are one constant */
} CtScan;

/* `as` is the type whose ends count: the tensor's own, or a smaller one that was widened. */
void ct_scan(const CtTensor *t, CtDtype as, CtScan *out);
/* As fast as memory: TRUE when there is neither NaN nor Inf. */
gboolean ct_all_finite(const CtTensor *t);

/* layout.c: a copy in C order, with the axes of a layout turned into N, C, H, W. */
CtTensor *ct_tensor_c_order(const CtTensor *t, GError **error);
/* "nchw", "nhwc", "chw4", "chw32", "hwc8" ...; `channels` is C where the layout pads it (0: as is).
 */
CtTensor *ct_tensor_from_layout(const CtTensor *t, const char *layout, gint64 channels,
                                GError **error);
/* A copy with axes permuted: axis i of the result is axis order[i] of t. */
CtTensor *ct_tensor_transpose(const CtTensor *t, const guint *order, GError **error);
