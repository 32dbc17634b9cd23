/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "evidence/evidence.h"

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
};

struct CtEvidence {
    sqlite3 *db;
    sqlite3_stmt *stmt[N_STMT];
    GPtrArray *series;       /* CtSeries */
    GHashTable *series_by_key;
    GHashTable *folds;       /* key -> Fold, of the sections still open */
    GHashTable *rows_per_kind;
    guint64 seq, dropped;
    gsize n_samples;
};

/* The `sample` virtual table over the column arrays. */
int ct_sample_vtab_register(CtEvidence *ev);
extern const char ct_schema_sql[];
