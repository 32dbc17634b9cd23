/* SPDX-License-Identifier: Apache-2.0 */
/* Several runs of the same thing: what is not the same, how much, and from where on. */
#pragma once

#include "tensor/steps.h"

typedef struct {
    char *name, *shape, *where; /* where: of the largest difference */
    gboolean missing;
    guint groups;      /* of runs with equal bytes */
    guint64 differing; /* elements that are not the same in all runs */
    guint64 n;
    double max_abs, rel_rms; /* of the pair that is furthest apart */
    double max_ulp_like;     /* largest difference / (eps * magnitude) */
    guint64 nonfinite, huge; /* differing elements that are NaN, Inf or beyond 1e30 in a run */
    double longest_run;      /* share of the differing elements in the longest stretch of them */
} CtRunsTensor;

typedef struct {
    GPtrArray *tensors; /* CtRunsTensor, in order */
    guint n_runs, n_differ, n_missing;
    gint first;       /* that differs, -1 without */
    gboolean unordered; /* the order is only that of the names */
    const char *kind; /* NULL, "uninitialised", "race", "atomics", "tactic" */
    char *text, *text_zh; /* why it looks so */
} CtRuns;

CtRuns *ct_runs_compare(GPtrArray *sets, GError **error); /* of CtTensorSet */
void ct_runs_free(CtRuns *r);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtRuns, ct_runs_free)
