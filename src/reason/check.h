/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A machine as a checklist, outside in: what is right, what is wrong, what nobody looked at. The
 * checks are knowledge (checks.yaml): causes of the diagnosis that make one fail, and conditions
 * that are no fault yet.
 */
#pragma once

#include "reason/reason.h"

typedef enum { CT_CHECK_PASS, CT_CHECK_WARN, CT_CHECK_FAIL, CT_CHECK_UNKNOWN } CtCheckState;

typedef struct {
    char *id, *layer, *title;
    CtCheckState state;
    char *text;          /* what was seen, or what to give where it is unknown */
    char *cause;         /* of the diagnosis (nullable) */
    char *fix, *run;     /* sentence, command (nullable) */
    GPtrArray *evidence; /* CtCitation */
} CtCheckLine;

typedef struct {
    GPtrArray *lines;  /* CtCheckLine in the order of the list; what does not apply is left out */
    guint count[4];    /* by state */
    gboolean no_device; /* the machine was looked at and has nothing of NVIDIA */
} CtCheckList;

/* `d` is the diagnosis of `ev`. lang is "en" or "zh". */
CtCheckList *ct_check(CtEvidence *ev, const CtKb *kb, const CtDiagnosis *d, const char *lang,
                      GError **error);
void ct_check_free(CtCheckList *list);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtCheckList, ct_check_free)
const char *ct_check_state_name(CtCheckState state); /* pass, warn, fail, unknown */
/* The first line that failed, else the first warning, else NULL. */
const CtCheckLine *ct_check_first(const CtCheckList *list);
