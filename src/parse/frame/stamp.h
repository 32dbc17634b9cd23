/* SPDX-License-Identifier: Apache-2.0 */
/* Time stamps as logs write them. */
#pragma once

#include <glib.h>

typedef enum {
    CT_STAMP_WALL,     /* date and time; UTC where a zone is written, else as written */
    CT_STAMP_NO_YEAR,  /* month, day and time; ns counts from 1970 */
    CT_STAMP_DAY_TIME, /* only hours, minutes and seconds; ns since midnight */
    CT_STAMP_BOOT,     /* seconds since boot */
    CT_STAMP_RELATIVE, /* since a program started */
} CtStampKind;

typedef struct {
    gint64 ns;
    gsize used;
    CtStampKind kind;
    gboolean has_zone;
} CtStamp;

/* The stamp that text begins with; brackets around it belong to it. */
gboolean ct_stamp_parse(const char *text, gsize len, CtStamp *out);
/* "[   12.345678]" and "[T12] "-like variants of the kernel. */
gboolean ct_stamp_kernel(const char *text, gsize len, CtStamp *out);

/* A line that holds nothing else, "Tue May 14 03:12:08 2024". */
gboolean ct_stamp_alone(const char *text, gsize len);

/* ns since the epoch of a civil date. */
gint64 ct_stamp_civil_ns(int year, int month, int day, int hour, int minute, int second);
int ct_stamp_year(gint64 ns);
