/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "evidence/evidence.h"
#include "evidence/fold.h"

enum {
    STMT_SOURCE,
    STMT_SOURCE_END,
    STMT_SECTION,
    STMT_SECTION_END,
    STMT_EVENT,
    STMT_EVENT_REPEAT,
    STMT_FACT,
    STMT_SPAN,
    STMT_COVERAGE,
    STMT_ALIAS,
    STMT_SERIES,
    STMT_FINDING,
    STMT_CITE,
    STMT_HYPOTHESIS,
    STMT_SUPPORT,
    STMT_ATTACH,
    N_STMT,
};

struct CtSeries {
    CtEvidence *owner;
    gint64 id, section;
    char *subject, *metric, *unit;
    GArray *t_ns;  /* gint64 */
    GArray *value; /* double */
    GArray *line;  /* guint */
    gboolean discard; /* stands for the series that are too many */
};

struct CtEvidence {
    sqlite3 *db;
    sqlite3_stmt *stmt[N_STMT];
    GPtrArray *series; /* CtSeries */
    GHashTable *series_by_key;
    CtSeries *overflow;
    CtSeries *recent[8]; /* found last, by the first letter of the metric */
    CtFoldTable *folds; /* of the sections still open */
    guint64 seq, dropped;
    gint64 fact_section; /* section of the last fact, and how many it has */
    guint n_facts;
    gsize n_samples;
};

/* The `sample` virtual table over the column arrays. */
int ct_sample_vtab_register(CtEvidence *ev);
extern const char ct_schema_sql[];

/* Adds a series whose row in `series` already has this id. */
CtSeries *ct_series_register(CtEvidence *ev, gint64 id, gint64 section, const char *subject,
                             const char *metric, const char *unit);

/* Takes back the series from this index on, with their samples. */
void ct_evidence_forget_series(CtEvidence *ev, guint from);

/* Brings the tables of a handle from one version of the schema to a later one; version 0 is an
 * empty database. */
int ct_migrate(sqlite3 *db, int from, int to);
/* The `sample` table that only case files have, and its index. */
extern const char ct_case_sample_sql[], ct_case_sample_index_sql[];
