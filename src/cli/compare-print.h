/* SPDX-License-Identifier: Apache-2.0 */
/* What `compare` shows: one sheet for text, Markdown and HTML; JSON and CSV for programs. */
#pragma once

#include "evidence/evidence.h"
#include "report/sheet.h"
#include "tensor/runs.h"
#include "tensor/steps.h"

typedef struct {
    const char *ref, *test; /* as given; ref NULL without a reference */
    gboolean first_bad, all, full;
    int trt; /* major version of TensorRT, 0 when not known */
    CtRule rule;
    CtLang lang;
} CtComparePrint;

gboolean ct_compare_passed(const CtSteps *s, const CtComparePrint *p);
/* "FAILED: compared 4 of 5 tensors, 2 differ" */
char *ct_compare_verdict(const CtSteps *s, const CtComparePrint *p, CtLang lang);
/* The first tensor of all: what is wrong with it was wrong before the model. */
gboolean ct_compare_at_input(const CtSteps *s, guint index);

/* What makes a tensor: by the graph, or "input" (nullable). */
const char *ct_compare_operation(const CtSteps *s, guint index);

/* compare-sheet.c, compare-remedy.c: as a person reads it. */
CtSheet *ct_compare_sheet(const CtSteps *s, const CtComparePrint *p);
/* Of many tensors those that differ, unless `all`. */
CtSheet *ct_compare_sheet_runs(const CtRuns *r, gboolean all, CtLang lang);
/* Which layers to keep in higher precision and how. */
void ct_compare_remedy(CtSheet *sheet, const CtSteps *s, int trt);
/* compare-print.c: on standard output; FALSE when it could not be written. */
gboolean ct_compare_print_sheet(const CtSheet *sheet);
gboolean ct_compare_print_csv(const CtSteps *s);
gboolean ct_compare_print_csv_runs(const CtRuns *r);
/* compare-json.c */
gboolean ct_compare_print_json(const CtSteps *s, const CtComparePrint *p);
gboolean ct_compare_print_json_runs(const CtRuns *r);

/* Cells of the tables, the same in every form. (transfer full) */
#define CT_COMPARE_COLUMNS 11
char **ct_compare_cells(const CtStep *s, guint index, CtLang lang);
#define CT_COMPARE_RUN_COLUMNS 8
char **ct_compare_run_cells(const CtRuns *r, guint index, CtLang lang);
/* Headings of both, behind "#". */
extern const CtMsg ct_compare_headings[CT_COMPARE_COLUMNS - 1];
extern const CtMsg ct_compare_run_headings[CT_COMPARE_RUN_COLUMNS - 1];

/* compare-evidence.c: the results as events and facts. */
void ct_compare_evidence(const CtSteps *s, const CtComparePrint *p, CtEvidence *ev);
void ct_compare_evidence_runs(const CtRuns *r, CtEvidence *ev);
