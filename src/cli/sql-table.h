/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sqlite3.h>

#include "cli/table.h"

/* Runs a prepared statement to its end and writes its rows. FALSE with `error` when a step failed;
 * rows written before stay written. */
gboolean ct_sql_table(sqlite3 *db, sqlite3_stmt *st, CtTableForm form, const char *schema,
                      guint64 *out_rows, GError **error);

/* The same with at most `limit` rows (0: all); *out_more tells whether there were others. */
gboolean ct_sql_table_first(sqlite3 *db, sqlite3_stmt *st, CtTableForm form, const char *schema,
                            guint64 limit, gboolean *out_more, guint64 *out_rows, GError **error);
