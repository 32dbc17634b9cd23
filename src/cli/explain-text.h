/* SPDX-License-Identifier: Apache-2.0 */
/* The pages of `explain`: for a person and for a program. */
#pragma once

#include "reason/explain.h"
#include "report/messages.h"

#define CT_EXPLAIN_SCHEMA "cutriage.explain/1"

typedef struct {
    CtLang lang;
    guint columns; /* 0 is 80 */
    gboolean colour;
    const char *place; /* "app.log:12" of a line that was read (nullable) */
} CtExplainPage;

/* Each returns one string that ends in a newline. (transfer full) */
char *ct_explain_text_page(const CtExplanation *x, const CtExplainPage *page);
char *ct_explain_json(const CtExplanation *x, const char *place);
