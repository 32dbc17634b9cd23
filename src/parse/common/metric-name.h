/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a measured quantity is, by the name that a program or a table's author gave it: "lat_ms",
 * "p99 (us)", "gpuMemUsedMiB", "qps".
 */
#pragma once

#include "parse/common/scan.h"

typedef enum {
    CT_ROLE_NONE,
    CT_ROLE_METRIC,
    CT_ROLE_TIME,  /* when the row was measured */
    CT_ROLE_INDEX, /* number of a request: says the order only */
} CtRole;

typedef struct {
    CtRole role;
    char metric[64];
    const char *unit;
    const char *subject; /* gpu:0 for quantities of a GPU, else NULL */
    double factor;       /* to the base unit */
    gboolean unit_given; /* by the name; otherwise the factor is a guess */
} CtMetricName;

/* `dim` is the dimension of the unit behind the number, CT_DIM_NONE when there is none. */
void ct_metric_name(CtStr name, CtDim dim, CtMetricName *out);
