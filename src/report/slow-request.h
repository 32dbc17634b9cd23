/* SPDX-License-Identifier: Apache-2.0 */
/* One slow request of a trace beside the typical one, where the leading cause rests on it. */
#pragma once

#include <jansson.h>

#include "report/page.h"

typedef struct {
    char *id, *name;      /* "total", "kernel" ... and in words */
    double slow, typical; /* ns, or a number of things */
    gboolean count;
    char *slow_text, *typical_text, *extra_text;
} CtReportSlowRow;

struct CtReportSlow {
    char *request, *title;
    gint64 index, n, t0_ns;
    GPtrArray *rows; /* CtReportSlowRow; the total first, then by how much they add */
};

/* NULL when no slow request of a trace is behind the cause. */
CtReportSlow *ct_report_slow_new(CtEvidence *ev, const CtHypothesis *lead, CtLang lang);
void ct_report_slow_free(CtReportSlow *slow);

/* At most `max` rows; 0 is none. */
void ct_report_slow_text(CtPage *page, const CtReport *report, guint max);
void ct_report_slow_markdown(GString *out, const CtReport *report);
void ct_report_slow_html(GString *out, const CtReport *report);
json_t *ct_report_slow_json(const CtReport *report); /* null without one */
