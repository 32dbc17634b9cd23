/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/sql-table.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/error.h"

#define BLOB_SHOWN 32

static char *blob_text(sqlite3_stmt *st, int column)
{
    const guint8 *data = sqlite3_column_blob(st, column);
    int len = sqlite3_column_bytes(st, column);
    GString *out = g_string_new("x'");
    for (int i = 0; i < MIN(len, BLOB_SHOWN); i++)
        g_string_append_printf(out, "%02x", data[i]);
    g_string_append(out, "'");
    if (len > BLOB_SHOWN)
        g_string_append_printf(out, "... (%d bytes)", len);
    return g_string_free(out, FALSE);
}

static CtCell cell_of(sqlite3_stmt *st, int column, char **out_owned)
{
    *out_owned = NULL;
    switch (sqlite3_column_type(st, column)) {
    case SQLITE_NULL:
        return (CtCell){CT_CELL_NULL, NULL};
    case SQLITE_INTEGER:
        return (CtCell){CT_CELL_NUMBER, (const char *)sqlite3_column_text(st, column)};
    case SQLITE_FLOAT: {
        double value = sqlite3_column_double(st, column);
        if (!isfinite(value))
            return (CtCell){CT_CELL_NULL, NULL};
        char number[G_ASCII_DTOSTR_BUF_SIZE];
        *out_owned = g_strdup(g_ascii_formatd(number, sizeof number, "%.10g", value));
        return (CtCell){CT_CELL_NUMBER, *out_owned};
    }
    case SQLITE_BLOB:
        *out_owned = blob_text(st, column);
        return (CtCell){CT_CELL_TEXT, *out_owned};
    default:
        return (CtCell){CT_CELL_TEXT, (const char *)sqlite3_column_text(st, column)};
    }
}

static void write_row(CtTable *table, sqlite3_stmt *st, int n)
{
    g_autofree CtCell *cells = g_new0(CtCell, n);
    g_autoptr(GPtrArray) owned = g_ptr_array_new_with_free_func(g_free);
    for (int i = 0; i < n; i++) {
        char *text = NULL;
        cells[i] = cell_of(st, i, &text);
        if (cells[i].type != CT_CELL_NULL && !cells[i].text)
            cells[i].type = CT_CELL_NULL; /* out of memory inside SQLite */
        g_ptr_array_add(owned, text);
    }
    ct_table_row(table, cells);
}

gboolean ct_sql_table(sqlite3 *db, sqlite3_stmt *st, CtTableForm form, const char *schema,
                      guint64 *out_rows, GError **error)
{
    return ct_sql_table_first(db, st, form, schema, 0, NULL, out_rows, error);
}

gboolean ct_sql_table_first(sqlite3 *db, sqlite3_stmt *st, CtTableForm form, const char *schema,
                            guint64 limit, gboolean *out_more, guint64 *out_rows, GError **error)
{
    int n = sqlite3_column_count(st);
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    for (int i = 0; i < n; i++)
        g_ptr_array_add(names, (gpointer)sqlite3_column_name(st, i));

    CtTable *table = ct_table_new(form, schema, (guint)n, (const char *const *)names->pdata);
    int rc;
    while ((rc = sqlite3_step(st)) == SQLITE_ROW && (!limit || ct_table_rows(table) < limit))
        write_row(table, st, n);
    guint64 rows = ct_table_rows(table);
    gboolean written = ct_table_end(table);
    if (out_more)
        *out_more = rc == SQLITE_ROW;
    if (rc != SQLITE_DONE && rc != SQLITE_ROW) {
        g_set_error(error, CT_ERROR, rc == SQLITE_INTERRUPT ? CT_ERROR_LIMIT : CT_ERROR_CORRUPT,
                    rc == SQLITE_INTERRUPT
                        ? "stopped after %" G_GUINT64_FORMAT " rows: the statement works too long"
                        : "after %" G_GUINT64_FORMAT " rows: %s",
                    rows, sqlite3_errmsg(db));
        return FALSE;
    }
    if (!written) {
        ct_error_from_errno(error, errno, "writing the output");
        return FALSE;
    }
    if (out_rows)
        *out_rows = rows;
    return TRUE;
}
