/* SPDX-License-Identifier: Apache-2.0 */
#include "evidence/case-tables.h"

#include <string.h>

#define COLUMNS(...) (const char *const[]){__VA_ARGS__, NULL}

const CtCaseTable ct_case_tables[] = {
    {"source", COLUMNS("id@source", "path", "format", "status", "bytes", "lines", "t0_ns",
                       "t1_ns", "note")},
    {"section", COLUMNS("id@section", "source@source", "first_line", "last_line", "title",
                        "command", "parser", "scope", "status", "clock", "clock_offset_ns",
                        "clock_confidence", "note")},
    {"coverage", COLUMNS("id@coverage", "section@section", "kind", "subject", "t0_ns", "t1_ns")},
    {"event", COLUMNS("id@event", "section@section", "line", "seq@seq", "t_ns", "kind",
                      "severity", "subject", "code", "name", "pid", "rank", "gpu", "text",
                      "detail", "repeats", "last_line", "last_t_ns")},
    {"fact", COLUMNS("id@fact", "section@section", "line", "subject", "key", "value", "number",
                     "status", "text")},
    {"alias", COLUMNS("subject", "name")},
    {"series", COLUMNS("id@series", "section@section", "subject", "metric", "unit")},
    {"span", COLUMNS("id@span", "section@section", "line", "track", "name", "t0_ns", "t1_ns",
                     "detail")},
    {"finding", COLUMNS("id@finding", "analyzer", "kind", "severity", "subject", "t0_ns",
                        "t1_ns", "number", "confidence", "text", "detail"), TRUE},
    {"finding_evidence", COLUMNS("finding@finding", "tab", "row@tab", "line"), TRUE},
    {"hypothesis", COLUMNS("id@hypothesis", "cause", "layer", "score", "probability",
                           "explained_by"), TRUE},
    {"support", COLUMNS("hypothesis@hypothesis", "rule", "evidence_group", "weight", "tab",
                        "row@tab", "text"), TRUE},
    {NULL},
};

char *ct_case_column(const char *spec, const char **out_refers)
{
    const char *at = strchr(spec, '@');
    *out_refers = at ? at + 1 : NULL;
    return at ? g_strndup(spec, (gsize)(at - spec)) : g_strdup(spec);
}

static void join_columns(GString *sql, const CtCaseTable *table)
{
    for (guint i = 0; table->columns[i]; i++) {
        const char *refers;
        g_autofree char *name = ct_case_column(table->columns[i], &refers);
        g_string_append_printf(sql, "%s%s", i ? "," : "", name);
    }
}

char *ct_case_select(const CtCaseTable *table)
{
    GString *sql = g_string_new("SELECT ");
    join_columns(sql, table);
    g_string_append_printf(sql, " FROM %s ORDER BY rowid", table->name);
    return g_string_free(sql, FALSE);
}

char *ct_case_insert(const CtCaseTable *table)
{
    GString *sql = g_string_new("INSERT OR IGNORE INTO ");
    g_string_append_printf(sql, "%s(", table->name);
    join_columns(sql, table);
    g_string_append(sql, ") VALUES(");
    for (guint i = 0; table->columns[i]; i++)
        g_string_append(sql, i ? ",?" : "?");
    g_string_append_c(sql, ')');
    return g_string_free(sql, FALSE);
}
