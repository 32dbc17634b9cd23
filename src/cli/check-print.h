/* SPDX-License-Identifier: Apache-2.0 */
/* A checklist for people, for programs and for a page. All (transfer full). */
#pragma once

#include "reason/check.h"
#include "report/messages.h"

typedef struct {
    CtLang lang;
    guint columns; /* 0: 80 */
    gboolean colour;
    gboolean full; /* every line of evidence, and what passed at length */
} CtCheckPrint;

char *ct_check_text(const CtCheckList *list, const CtCheckPrint *p);
char *ct_check_json(const CtCheckList *list, const CtDiagnosis *d);
char *ct_check_markdown(const CtCheckList *list, CtLang lang);
