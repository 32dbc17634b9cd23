/* SPDX-License-Identifier: Apache-2.0 */
/* Times of different sources on one axis, and the small things that all analyzers need. */
#pragma once

#include "evidence/evidence.h"

#define CT_SECOND_NS ((gint64)1000000000)

/* What to add to a time of the section to get wall time; FALSE when its clock is not aligned. */
gboolean ct_section_wall_offset(sqlite3 *db, gint64 section, gint64 *out_offset_ns);

/* A series with times, sorted by time and without NaN, in seconds of wall time as doubles. When
 * `ordered` is FALSE the series has no usable times and `t` counts samples. */
typedef struct {
    CtSeriesView view;
    gsize n;
    double *t;    /* seconds */
    double *x;    /* value */
    guint *line;
    gboolean timed, wall;
} CtColumns;

void ct_columns_read(CtEvidence *ev, guint index, CtColumns *out);
void ct_columns_clear(CtColumns *c);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(CtColumns, ct_columns_clear)

/* Typical distance of two samples in seconds (0 when not timed). */
double ct_columns_interval(const CtColumns *c);

/* "1.5 GiB", "250 ms", "3 min", "12 %": for sentences of findings. (transfer full) */
char *ct_human_bytes(double bytes);
char *ct_human_ns(double ns);
