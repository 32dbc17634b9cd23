/* SPDX-License-Identifier: Apache-2.0 */
/* The render model behind report.h: everything in the order and the words in which it is shown. */
#pragma once

#include "report/report.h"

/* A candidate of less is not worth a line where nothing is wrong. */
#define CT_REPORT_WORTH_SHOWING 0.1

typedef struct {
    gint64 id, bytes, lines, t0_ns, t1_ns;
    char *path; /* as given */
    char *name; /* short, unambiguous among the sources of this report */
    char *format, *status, *note;
    guint sections;
    gboolean bad; /* not read, or not in full */
} CtReportSource;

/* A citation with its place and time in words. */
typedef struct {
    const CtCitation *c;
    char *place; /* "app.log:81", "" without a source */
    char *text, *quote; /* cleaned for a terminal; quote nullable */
    char *time;         /* (nullable) */
} CtReportLine;

typedef struct {
    const CtHypothesis *h;
    gboolean unknown; /* the cause `unknown` */
    char *title;
    char *percent; /* "92%" */
    char *action;  /* "fix the code (application, soon)" */
    GPtrArray *for_, *against; /* CtReportLine, strongest first */
    guint n_groups, n_groups_against;
    GPtrArray *missing, *fix, *verify, *pitfalls, *refs; /* char *, cleaned */
} CtReportCause;

/* One incident: a root with what follows from it. */
typedef struct {
    const CtReportCause *root;
    const CtReportLine *first, *last; /* in time or in reading order (nullable) */
    GPtrArray *sources;               /* char *, borrowed paths */
} CtReportGroup;

/* An incident of several. */
typedef struct {
    const CtIncident *incident;
    CtReport *report; /* NULL for the one that the report is about */
} CtReportIncident;

typedef struct CtReportSlow CtReportSlow; /* slow-request.h */

struct CtReport {
    CtLang lang;
    const CtDiagnosis *d;
    CtReportOutcome outcome;
    char *verdict_cause, *verdict_sure, *verdict_now; /* each one sentence */
    char *verdict_sure_short; /* without what the page says elsewhere as well (nullable) */
    GPtrArray *sources;      /* CtReportSource */
    GPtrArray *causes;       /* CtReportCause, best first */
    GPtrArray *consequences; /* CtReportCause */
    GPtrArray *timeline;     /* CtReportLine */
    GPtrArray *groups;       /* CtReportGroup */
    GHashTable *titles;      /* cause id -> title */
    GPtrArray *incidents;    /* CtReportIncident in their order; empty: there is only one */
    CtReportSlow *slow;      /* a slow request beside a typical one (nullable) */
    guint n_bad_sources;
    guint n_empty_sources; /* read well, and not one byte in them */
};

/* The best hypothesis; NULL only for an empty diagnosis. */
const CtReportCause *ct_report_lead(const CtReport *report);
/* Title of a cause of this report, the id itself for others. */
const char *ct_report_title(const CtReport *report, const char *cause);
/* "2 min", "10 s". */
char *ct_report_cost(CtLang lang, double seconds);
/* "+12", "-6.5". */
char *ct_report_weight(double decibans);
/* What to do first, in one sentence (nullable). */
const char *ct_report_first_fix(const CtReportCause *cause);
void ct_report_build_verdict(CtReport *report);
/* "Also found: 2026-11-03 14:22:07 GPU fell off the bus [hardware]; see --group 2" of an incident that is not shown; NULL for
 * the one that is. (transfer full) */
char *ct_report_incident_line(const CtReport *report, guint index);
/* "2026-11-03 14:22:07", NULL when it is not known. (transfer full) */
char *ct_report_time(gint64 t_ns);
/* So that text of files can neither format nor link. */
void ct_markdown_escape(GString *out, const char *text);
/* Head of a page up to the opening of its body; it loads nothing from anywhere. */
void ct_html_begin(GString *out, CtLang lang, const char *title);
