/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of a case file and which of their columns name rows of other tables. */
#pragma once

#include <glib.h>

typedef struct {
    const char *name;
    /* "column" or "column@table": the column holds ids of that table; "@tab" means the table that
     * the row's own column `tab` names. */
    const char *const *columns; /* ends with NULL */
    gboolean conclusion;        /* drawn from evidence, so not taken over by an import */
} CtCaseTable;

/* In an order in which referenced tables come first; ends with a NULL name. `sample` and `sqlar`
 * are not in it: they are written and read in bulk. */
extern const CtCaseTable ct_case_tables[];

/* "id" of "id@event"; `out_refers` is the table, or NULL. (transfer full) */
char *ct_case_column(const char *spec, const char **out_refers);
/* "SELECT a,b,c FROM table ORDER BY rowid" and the INSERT that takes its rows. (transfer full) */
char *ct_case_select(const CtCaseTable *table);
char *ct_case_insert(const CtCaseTable *table);
