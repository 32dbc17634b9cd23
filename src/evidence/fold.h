/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folding of repeats: events of a section that are equal in all but line, time and text become one
 * row with a count. This runs for every line that tells something, so a repeat costs one hash of
 * the row's strings and no allocation.
 */
#pragma once

#include "evidence/evidence.h"

typedef struct CtFoldTable CtFoldTable;

/* One folded row. */
typedef struct {
    gint64 row; /* id in `event` */
    guint repeats, last_line;
    gint64 last_t_ns; /* 0 is unknown */
    gboolean dirty;   /* the row in the store is behind */
} CtFold;

CtFoldTable *ct_fold_table_new(void);
void ct_fold_table_free(CtFoldTable *table);
void ct_fold_table_clear(CtFoldTable *table);

/* The fold that this row belongs to; NULL when the row is the first of its like. */
CtFold *ct_fold_find(CtFoldTable *table, const CtEventRow *row);
/* Counts a repeat. FALSE when too much time lies between: then the row stands for itself. */
gboolean ct_fold_take(CtFoldTable *table, CtFold *fold, const CtEventRow *row);
/* Makes (or begins anew) the fold of a row that was just written under this id. */
void ct_fold_start(CtFoldTable *table, const CtEventRow *row, gint64 id);

/* Counts a new row of this kind; FALSE when the section has too many of it already. */
gboolean ct_fold_admit(CtFoldTable *table, const char *kind);

typedef void (*CtFoldFunc)(CtFold *fold, gpointer user);
void ct_fold_foreach_dirty(CtFoldTable *table, CtFoldFunc func, gpointer user);
