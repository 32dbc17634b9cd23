/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Robust statistics over plain columns. Nothing here allocates more than a copy of its input, and
 * nothing assumes a normal distribution: logs have heavy tails.
 */
#pragma once

#include <glib.h>

/* A sorted copy, for several quantiles of one series. (transfer full) */
double *ct_sorted(const double *x, gsize n);
double ct_quantile_sorted(const double *sorted, gsize n, double q);

/* Quantile q in 0..1 by linear interpolation; NaN for n = 0. The input is not changed. */
double ct_quantile(const double *x, gsize n, double q);
double ct_median(const double *x, gsize n);
/* Median absolute deviation, scaled to a standard deviation (1.4826). */
double ct_mad(const double *x, gsize n, double median);

/* Median over at most `buckets` equal stretches of the input; t may be NULL (then the index).
 * Returns the number of buckets written. */
gsize ct_bucket_medians(const double *t, const double *x, gsize n, gsize buckets, double *out_t,
                        double *out_x);

/* Theil-Sen slope (median of pairwise slopes); n is capped by the caller (O(n^2)). */
double ct_theil_sen(const double *t, const double *x, gsize n);
/* The same with the bounds between which it lies with about 95 %, by the ranks of the pairwise
 * slopes; `wider` >= 1 stretches them for values that depend on their neighbours. */
double ct_theil_sen_range(const double *t, const double *x, gsize n, double wider, double *out_low,
                          double *out_high);
/* Kendall's tau of x against its order, -1..1, ties count half. O(n^2). */
double ct_kendall_tau(const double *x, gsize n);

/* P(X >= k) of a binomial(n, p). */
double ct_binomial_tail(guint n, guint k, double p);
/* One-sided P(Z >= z). */
double ct_normal_tail(double z);

/* The split that separates medians best: index of the first element of the right part, 0 if none
 * leaves at least `min_side` on both sides. *out_gain is |median difference| over pooled MAD. */
gsize ct_best_split(const double *x, gsize n, gsize min_side, double *out_gain);
