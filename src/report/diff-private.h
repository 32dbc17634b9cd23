/* SPDX-License-Identifier: Apache-2.0 */
/* The render model of a diff: chapters of items, the same for every form. */
#pragma once

#include "report/diff.h"

typedef struct {
    char *mark, *head, *text, *place, *run; /* all but head nullable */
    gboolean bad;
} CtDiffItem;

typedef struct {
    char *title;
    GPtrArray *items; /* CtDiffItem */
} CtDiffChapter;

typedef struct {
    char *title, *sum;
    gboolean bad;
    GPtrArray *chapters; /* CtDiffChapter */
} CtDiffDoc;

char *ct_diff_doc_text(const CtDiffDoc *doc, const CtDiffPage *page);
char *ct_diff_doc_markdown(const CtDiffDoc *doc);
char *ct_diff_doc_html(const CtDiffDoc *doc, CtLang lang);
char *ct_diff_json(const CtDiff *diff, const CtDiffPage *page);
char *ct_diff_group_json(const GPtrArray *rows, const char *const *names, guint n);
