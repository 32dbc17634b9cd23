/* SPDX-License-Identifier: Apache-2.0 */
/* Every cap on what input may make the program do, in one place. Sizes in bytes. */
#pragma once

#include <glib.h>

#define CT_MAX_LINE ((gsize)64 * 1024)              /* longer lines are cut, the rest is skipped */
#define CT_BLOCK ((gsize)256 * 1024)                 /* unit of reading and of prefilter scans */
#define CT_MAX_DOCUMENT ((gsize)64 * 1024 * 1024)   /* a section handed over whole (XML, JSON) */
#define CT_MAX_INFLATED ((guint64)8 << 30)          /* output of one compressed source */
#define CT_MAX_INFLATE_RATIO 1000                   /* beyond the first 64 MiB of output */
#define CT_MAX_FILES 20000u                         /* files taken from folders */
#define CT_MAX_DEPTH 32u                            /* folders below an argument */
#define CT_MAX_ROWS_PER_KIND 10000u                 /* distinct events of a kind and section */
#define CT_MAX_FACTS_PER_SECTION 50000u
#define CT_MAX_SAMPLES ((gsize)50 * 1000 * 1000)    /* over all series of a run */
#define CT_MAX_SERIES 20000u                        /* of a run */
#define CT_MAX_SECTIONS 20000u                      /* of a run */
#define CT_MAX_CASE_BYTES ((guint64)4 << 30)
