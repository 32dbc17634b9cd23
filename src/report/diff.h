/* SPDX-License-Identifier: Apache-2.0 */
/* What differs between states, as text, Markdown, HTML or JSON (`cutriage.diff/1`). */
#pragma once

#include "reason/diff.h"
#include "report/report.h"

#define CT_DIFF_SCHEMA "cutriage.diff/1"

typedef enum { CT_DIFF_TEXT, CT_DIFF_JSON, CT_DIFF_MARKDOWN, CT_DIFF_HTML } CtDiffForm;

typedef struct {
    CtLang lang;
    CtDiffForm form;
    CtTextOptions text; /* full: every row; else as many as matter */
    const char *before, *now; /* names of the two states, or of the release */
    gboolean release;
} CtDiffPage;

/* One string that ends in a newline. (transfer full) */
char *ct_diff_report(const CtDiff *diff, const CtDiffPage *page);
/* names: one of each state, in their order. */
char *ct_diff_group_report(const GPtrArray *rows, const char *const *names, guint n,
                           const CtDiffPage *page);
