/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The evidence store: one SQLite schema (schema.sql), in memory while the program works, or a
 * case file on disk. Everything between the parsers and the rules goes through it.
 *
 * Row structs are filled with designated initialisers; a NULL string, CT_NONE or CT_TIME_UNKNOWN
 * is stored as NULL. Strings are copied. Not thread-safe.
 */
#pragma once

#include <glib.h>
#include <sqlite3.h>

#include "base/status.h"

#define CT_TIME_UNKNOWN G_MININT64
#define CT_NONE G_MININT64 /* an integer that is not known */

#define CT_CASE_APPLICATION_ID 0x43545247 /* "CTRG" */
#define CT_CASE_VERSION 1

typedef struct CtEvidence CtEvidence;
typedef struct CtSeries CtSeries;

typedef enum { CT_SEV_INFO, CT_SEV_WARNING, CT_SEV_ERROR, CT_SEV_FATAL } CtSeverity;

typedef struct {
    const char *path, *format, *note;
    CtStatus status;
    gint64 bytes, lines;
} CtSourceRow;

typedef struct {
    gint64 source;
    guint first_line, last_line;
    const char *title, *command, *parser;
    const char *scope; /* NULL is "host" */
    CtStatus status;
    const char *clock; /* wall, boot, none; NULL is none */
    gint64 clock_offset_ns;
    const char *note;
} CtSectionRow;

typedef struct {
    gint64 section;
    guint line; /* 0 is unknown */
    gint64 t_ns; /* 0 means unknown too: nothing here happened at the epoch */
    const char *kind;
    CtSeverity severity;
    const char *subject;
    gint64 code; /* set has_code */
    gboolean has_code;
    const char *name;
    gint64 pid, rank; /* set has_pid, has_rank */
    gboolean has_pid, has_rank;
    const char *gpu;
    const char *text;
    const char *detail; /* JSON object */
} CtEventRow;

typedef struct {
    gint64 section;
    guint line;
    const char *subject, *key, *value;
    double number; /* set has_number */
    gboolean has_number;
    CtStatus status;
    const char *text;
} CtFactRow;

typedef struct {
    gint64 section;
    guint line;
    const char *track, *name;
    gint64 t0_ns, t1_ns;
    const char *detail;
} CtSpanRow;

typedef struct {
    const char *analyzer, *kind;
    CtSeverity severity;
    const char *subject;
    gint64 t0_ns, t1_ns; /* 0 is unknown */
    double number, confidence;
    const char *text, *detail;
} CtFindingRow;

typedef struct {
    const char *cause, *layer;
    double score, probability;
    const char *explained_by;
} CtHypothesisRow;

typedef struct {
    gint64 hypothesis;
    const char *rule, *group;
    double weight; /* decibans that counted */
    const char *tab;
    gint64 row; /* 0 is none */
    const char *text;
} CtSupportRow;

CtEvidence *ct_evidence_new(GError **error);
void ct_evidence_free(CtEvidence *ev);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtEvidence, ct_evidence_free)

/* A case file is read into memory; it may come from a stranger and is checked first. */
CtEvidence *ct_evidence_load(const char *path, GError **error);
/* Adds what a case file holds to a store that may have rows already: evidence only, since
 * findings and hypotheses are drawn anew from everything together. */
gboolean ct_evidence_import(CtEvidence *ev, const char *path, GError **error);
/* Writes everything to a case file, 0600, atomically. An existing file needs `force`. */
gboolean ct_evidence_save(CtEvidence *ev, const char *path, gboolean force, GError **error);
/* Whether the name would be taken, for those who have long work to do before they save. */
gboolean ct_evidence_may_write(const char *path, gboolean force, GError **error);
/* TRUE when the bytes begin like a case file of ours. */
gboolean ct_case_sniff(const guint8 *head, gsize len);
/* Opens a case for `query`: read-only, defensive, no attached or temporary writes, with the
 * statement limited in steps. (transfer full) */
sqlite3 *ct_case_open_readonly(const char *path, GError **error);

/* Rules, analyzers and reports read through this handle; they never write with it. */
sqlite3 *ct_evidence_db(CtEvidence *ev);
/* While on, the handle prepares statements that only read (SELECT, functions) and nothing else. */
void ct_sql_read_only(sqlite3 *db, gboolean on);

/* Each returns the id of the row, 0 when a cap made it drop (counted in ct_evidence_dropped). */
gint64 ct_evidence_add_source(CtEvidence *ev, const CtSourceRow *row);
void ct_evidence_end_source(CtEvidence *ev, gint64 source, CtStatus status, gint64 bytes,
                            gint64 lines, const char *note);
gint64 ct_evidence_add_section(CtEvidence *ev, const CtSectionRow *row);
void ct_evidence_end_section(CtEvidence *ev, gint64 section, guint last_line, const char *clock,
                             CtStatus status, const char *note);
/* What is learnt about a section after it was read. offset_ns (CT_NONE is unknown) is what to add
 * to its times to get wall time. */
void ct_evidence_set_scope(CtEvidence *ev, gint64 section, const char *scope);
void ct_evidence_set_clock(CtEvidence *ev, gint64 section, const char *clock, gint64 offset_ns,
                           double confidence);
/* After the last source and the alignment of clocks: first and last event of each source. */
void ct_evidence_span_sources(CtEvidence *ev);
/* Adds to every time of the section: events, spans, coverage, samples. */
void ct_evidence_shift_section(CtEvidence *ev, gint64 section, gint64 add_ns);
/* Equal events of a section (all but line, time and text) fold into one row with a repeat count,
 * unless more than CT_FOLD_GAP_NS lies between two of them. */
#define CT_FOLD_GAP_NS (600 * G_GINT64_CONSTANT(1000000000))
gint64 ct_evidence_add_event(CtEvidence *ev, const CtEventRow *row);
gint64 ct_evidence_add_fact(CtEvidence *ev, const CtFactRow *row);
gint64 ct_evidence_add_span(CtEvidence *ev, const CtSpanRow *row);
gint64 ct_evidence_add_coverage(CtEvidence *ev, gint64 section, const char *kind,
                                const char *subject, gint64 t0_ns, gint64 t1_ns);
void ct_evidence_add_alias(CtEvidence *ev, const char *subject, const char *name);
gint64 ct_evidence_add_finding(CtEvidence *ev, const CtFindingRow *row);
void ct_evidence_cite(CtEvidence *ev, gint64 finding, const char *tab, gint64 row, guint line);
gint64 ct_evidence_add_attachment(CtEvidence *ev, const char *name, const void *data, gsize len);
gint64 ct_evidence_add_hypothesis(CtEvidence *ev, const CtHypothesisRow *row);
void ct_evidence_add_support(CtEvidence *ev, const CtSupportRow *row);
void ct_evidence_clear_hypotheses(CtEvidence *ev);
/* Writes repeat counts that are still held in memory. Called by end_section and before reading. */
void ct_evidence_flush(CtEvidence *ev);
guint64 ct_evidence_dropped(const CtEvidence *ev);

/* Finds or makes the series; borrowed, lives as long as the store. */
CtSeries *ct_evidence_series(CtEvidence *ev, gint64 section, const char *subject,
                             const char *metric, const char *unit);
/* t_ns may be CT_TIME_UNKNOWN (order then is all that is known). NaN is not stored. */
void ct_series_add(CtSeries *series, gint64 t_ns, double value, guint line);

/* Columns of a series, borrowed until the next ct_series_add on it. */
typedef struct {
    gint64 id, section;
    const char *subject, *metric, *unit;
    gsize len;
    const gint64 *t_ns;
    const double *value;
    const guint *line;
} CtSeriesView;

guint ct_evidence_n_series(const CtEvidence *ev);
CtSeriesView ct_evidence_series_at(const CtEvidence *ev, guint index);

const char *ct_severity_name(CtSeverity severity);
