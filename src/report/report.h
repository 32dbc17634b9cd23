/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a person or a program gets to see of a diagnosis. One model, built once from the diagnosis
 * and the evidence, and renderers that only lay it out; they add no judgement of their own.
 *
 * JSON is a contract, `cutriage.diagnosis/1`: docs/diagnosis-json.md, docs/diagnosis-schema.json.
 */
#pragma once

#include "evidence/evidence.h"
#include "kb/kb.h"
#include "reason/incident.h"
#include "reason/reason.h"
#include "report/messages.h"

#define CT_REPORT_SCHEMA "cutriage.diagnosis/1"

typedef struct CtReport CtReport;

typedef enum {
    CT_REPORT_NOTHING,    /* nothing tells of a fault */
    CT_REPORT_FOUND,      /* a named cause is more likely than none of them */
    CT_REPORT_INCOMPLETE, /* something is wrong or unread, and no cause stands out */
} CtReportOutcome;

/* Borrowed: ev and d outlive the report. kb gives the titles of causes that the diagnosis only
 * mentions (nullable: then their ids stand). */
CtReport *ct_report_new(CtEvidence *ev, const CtDiagnosis *d, const CtKb *kb, CtLang lang);
/* Of several incidents (CtIncident, borrowed): the one at `shown` fills the report, the others stand
 * beside it with their verdict. */
CtReport *ct_report_new_of_incidents(CtEvidence *ev, const GPtrArray *incidents, guint shown,
                                     const CtKb *kb, CtLang lang);
void ct_report_free(CtReport *report);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtReport, ct_report_free)

CtReportOutcome ct_report_outcome(const CtReport *report);
const char *ct_report_outcome_name(CtReportOutcome outcome); /* nothing, found, incomplete */

typedef struct {
    guint columns;   /* 0 is 80 */
    guint rows;      /* the default page fits this many; 0 is 24 */
    gboolean full;   /* everything, however long */
    gboolean colour; /* ANSI colours */
} CtTextOptions;

/* Each returns one string that ends in a newline. (transfer full) */
char *ct_report_text(const CtReport *report, const CtTextOptions *options);
char *ct_report_json(const CtReport *report);
char *ct_report_markdown(const CtReport *report);
char *ct_report_html(const CtReport *report);
