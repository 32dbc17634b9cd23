/* SPDX-License-Identifier: Apache-2.0 */
/* Rows on standard output: aligned for a person, or as CSV or JSON for a program. */
#pragma once

#include <glib.h>

typedef enum { CT_TABLE_ALIGNED, CT_TABLE_CSV, CT_TABLE_JSON } CtTableForm;
typedef enum { CT_CELL_NULL, CT_CELL_NUMBER, CT_CELL_TEXT } CtCellType;

typedef struct {
    CtCellType type;
    const char *text; /* a number is given as JSON writes it */
} CtCell;

typedef struct CtTable CtTable;

/* `schema` names the JSON form ("cutriage.query/1"). Names are copied. On a terminal aligned rows
 * are cut to its width; into a pipe or file they are written in full. */
CtTable *ct_table_new(CtTableForm form, const char *schema, guint n_columns,
                      const char *const *names);
void ct_table_row(CtTable *table, const CtCell *cells);
guint64 ct_table_rows(const CtTable *table);
/* Writes what is left and frees the table. FALSE when the output could not be written. */
gboolean ct_table_end(CtTable *table);
