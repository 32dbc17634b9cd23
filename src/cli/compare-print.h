/* SPDX-License-Identifier: Apache-2.0 */
/* What `compare` shows: a table and the verdict for a person, JSON and CSV for programs. */
#pragma once

#include "evidence/evidence.h"
#include "tensor/runs.h"
#include "tensor/steps.h"

typedef struct {
    const char *ref, *test; /* as given; ref NULL without a reference */
    gboolean first_bad, all, full;
    int trt; /* major version of TensorRT, 0 when not known */
    CtRule rule;
} CtComparePrint;

/* Returns the exit code. */
int ct_compare_print_text(const CtSteps *s, const CtComparePrint *p);
int ct_compare_print_json(const CtSteps *s, const CtComparePrint *p);
int ct_compare_print_csv(const CtSteps *s, const CtComparePrint *p);
/* Which layers to keep in higher precision and how (nullable). */
char *ct_compare_remedy(const CtSteps *s, int trt);
/* "2 of 5 tensors differ; compared 4 of 5" */
char *ct_compare_verdict(const CtSteps *s);
gboolean ct_compare_passed(const CtSteps *s);
int ct_compare_print_runs(const CtRuns *r, gboolean json);

/* compare-evidence.c: the results as events and facts. */
void ct_compare_evidence(const CtSteps *s, const CtComparePrint *p, CtEvidence *ev);
void ct_compare_evidence_runs(const CtRuns *r, CtEvidence *ev);
