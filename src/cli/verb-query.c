/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cli/cli.h"
#include "cli/sql-table.h"
#include "evidence/evidence.h"
#include "reason/reason.h"
#include "report/layout.h"

#define SCHEMA_SQL                                                                                 \
    "SELECT name AS 'table', sql FROM sqlite_master WHERE type = 'table' ORDER BY name"

#define DEFAULT_LIMIT 100000

static int run_sql(sqlite3 *db, const char *sql, CtTableForm form, gint64 limit)
{
    sqlite3_stmt *st = NULL;
    const char *tail = NULL;
    g_autoptr(GError) error = NULL;
    if (sqlite3_prepare_v2(db, sql, -1, &st, &tail) != SQLITE_OK)
        return ct_cli_usage("query", "in the SQL: %s", sqlite3_errmsg(db));
    if (!st)
        return ct_cli_usage("query", "the SQL is empty");
    tail += strspn(tail, "; \t\n");
    if (*tail) {
        sqlite3_finalize(st);
        return ct_cli_usage("query", "one statement at a time; left over: %.40s", tail);
    }
    gboolean ok = TRUE, more = FALSE;
    if (!sqlite3_column_count(st)) {
        g_set_error(&error, CT_ERROR, CT_ERROR_USAGE, "the statement returns no rows");
        ok = FALSE;
    } else {
        ok = ct_sql_table_first(db, st, form, "cutriage.query/1", (guint64)limit, &more, NULL,
                                &error);
    }
    if (ok && more)
        ct_cli_note("only the first %" G_GINT64_FORMAT " rows; --limit N prints more, --limit 0 all",
                    limit);
    sqlite3_finalize(st);
    return ok ? CT_EXIT_NOTHING : ct_cli_fail("query", error);
}

/* The statements that made the tables, with their comments: they explain the columns. */
static int print_schema(sqlite3 *db)
{
    sqlite3_stmt *st = NULL;
    g_autoptr(GString) out = g_string_new(NULL);
    if (sqlite3_prepare_v2(db, SCHEMA_SQL, -1, &st, NULL) != SQLITE_OK)
        return ct_cli_usage("query", "%s", sqlite3_errmsg(db));
    while (sqlite3_step(st) == SQLITE_ROW) {
        const char *sql = (const char *)sqlite3_column_text(st, 1);
        g_auto(GStrv) lines = g_strsplit(sql ? sql : "", "\n", -1);
        for (guint i = 0; lines[i]; i++) {
            g_autofree char *clean = ct_text_clean(lines[i]);
            g_string_append_printf(out, "%s%s\n", clean, lines[i + 1] ? "" : ";");
        }
    }
    sqlite3_finalize(st);
    return ct_cli_print(out->str, CT_EXIT_NOTHING);
}

static int run(int argc, char **argv)
{
    gboolean json = FALSE, csv = FALSE, schema = FALSE;
    int code = 0;
    gint64 limit = DEFAULT_LIMIT;
    const GOptionEntry entries[] = {
        {"json", 0, 0, G_OPTION_ARG_NONE, &json, "Print JSON", NULL},
        {"csv", 0, 0, G_OPTION_ARG_NONE, &csv, "Print CSV", NULL},
        {"limit", 0, 0, G_OPTION_ARG_INT64, &limit, "Print at most N rows (default 100000, 0: all)",
         "N"},
        {"schema", 0, 0, G_OPTION_ARG_NONE, &schema, "Print the tables of the case, no SQL needed",
         NULL},
        {NULL},
    };
    const CtVerbHelp help = {
        .verb = "query",
        .args = "CASE SQL",
        .summary = "Asks a case file with SQL. The case is opened read-only and without trust: it\n"
                   "may come from a stranger.",
        .examples =
            "  cutriage diagnose -o run.case logs/\n"
            "  cutriage query run.case 'SELECT kind, count(*) FROM event GROUP BY kind'\n"
            "  cutriage query run.case 'SELECT cause, probability FROM hypothesis'\n"
            "  cutriage query --csv run.case 'SELECT key, value FROM fact' >facts.csv\n"
            "  cutriage query --schema run.case\n",
        .entries = entries,
    };
    if (!ct_cli_options(&help, &argc, &argv, &code))
        return code;
    if (json && csv)
        return ct_cli_usage("query", "--json and --csv exclude each other");
    if (limit < 0)
        return ct_cli_usage("query", "--limit %" G_GINT64_FORMAT ": it is 0 or more", limit);
    if (argc < 2)
        return ct_cli_usage("query", "say which case file; cutriage diagnose -o CASE makes one");
    if (argc < 3 && !schema)
        return ct_cli_usage("query", "say what to ask, for example 'SELECT * FROM finding'");
    if (argc > (schema ? 2 : 3))
        return ct_cli_usage("query", "too many arguments from '%s' on; is the SQL in quotes?",
                            argv[schema ? 2 : 3]);

    g_autoptr(GError) error = NULL;
    sqlite3 *db = ct_case_open_readonly(argv[1], &error);
    if (!db)
        return ct_cli_fail("query", error);
    ct_reason_register_sql(db);
    CtTableForm form = json ? CT_TABLE_JSON : csv ? CT_TABLE_CSV : CT_TABLE_ALIGNED;
    code = schema && form == CT_TABLE_ALIGNED ? print_schema(db)
                                              : run_sql(db, schema ? SCHEMA_SQL : argv[2], form, limit);
    sqlite3_close_v2(db);
    return code;
}

const CtVerb ct_verb_query = {
    .name = "query",
    .step = "evidence",
    .summary = "Ask a case file with SQL",
    .run = run,
};
