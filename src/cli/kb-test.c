/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kb-test.h"

#include <string.h>

#include "analyze/analyzer.h"
#include "base/error.h"
#include "evidence/evidence.h"
#include "parse/frame/parse.h"
#include "reason/reason.h"

typedef struct {
    const char *cause, *rule, *file, *sql, *kind, *input;
    gint64 line;
} Example;

static const char *text_of(sqlite3_stmt *stmt, int column)
{
    const char *text = (const char *)sqlite3_column_text(stmt, column);
    return text ? text : "";
}

/* TRUE when the rule finds something; -1 in *out_rc tells that its SQL failed. */
static gboolean rule_finds(sqlite3 *db, const char *sql, GString *why)
{
    sqlite3_stmt *stmt = NULL;
    gboolean found = FALSE;
    if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK)
        found = sqlite3_step(stmt) == SQLITE_ROW;
    if (!found && sqlite3_errcode(db) != SQLITE_OK && sqlite3_errcode(db) != SQLITE_DONE)
        g_string_append_printf(why, "    SQL: %s\n", sqlite3_errmsg(db));
    sqlite3_finalize(stmt);
    return found;
}

/* What the input became, for the person who has to find out why. */
static void describe(sqlite3 *db, GString *out)
{
    /* Bracketed: each is one text in several literals. */
    static const char *const queries[] = {
        ("SELECT 'event ' || kind || ifnull(' code=' || code, '') || ifnull(' name=' || name, '') "
         "|| ifnull(' ' || detail, '') FROM event ORDER BY seq LIMIT 8"),
        ("SELECT 'fact ' || key || ifnull(' [' || subject || ']', '') || ' = ' || "
         "ifnull(value, '(' || status || ')') FROM fact ORDER BY id LIMIT 8"),
        "SELECT 'finding ' || kind FROM finding ORDER BY id LIMIT 4",
    };
    for (guint i = 0; i < G_N_ELEMENTS(queries); i++) {
        sqlite3_stmt *stmt = NULL;
        if (sqlite3_prepare_v2(db, queries[i], -1, &stmt, NULL) != SQLITE_OK)
            continue;
        while (sqlite3_step(stmt) == SQLITE_ROW)
            g_string_append_printf(out, "    %s\n", text_of(stmt, 0));
        sqlite3_finalize(stmt);
    }
}

static CtEvidence *evidence_of(const CtKb *kb, const char *input, GError **error)
{
    g_autoptr(CtEvidence) ev = ct_evidence_new(error);
    g_autoptr(CtParse) parse = ev ? ct_parse_new(ev, kb, error) : NULL;
    if (!parse)
        return NULL;
    ct_parse_memory(parse, "example.log", input, strlen(input));
    ct_parse_finish(parse);
    ct_analyze(ev);
    ct_evidence_flush(ev);
    sqlite3 *db = ct_evidence_db(ev);
    if (!ct_kb_attach(kb, db, error))
        return NULL;
    ct_reason_register_sql(db);
    return g_steal_pointer(&ev);
}

static gboolean run_one(const CtKb *kb, const Example *x, GString *out, CtKbTally *tally,
                        GError **error)
{
    g_autoptr(CtEvidence) ev = evidence_of(kb, x->input, error);
    if (!ev)
        return FALSE;
    sqlite3 *db = ct_evidence_db(ev);
    GString *why = g_string_new(NULL);
    gboolean wanted = strcmp(x->kind, "hit") == 0;
    if (rule_finds(db, x->sql, why) == wanted && why->len == 0) {
        tally->passed++;
    } else {
        tally->failed++;
        g_string_append_printf(
            out, "%s:%" G_GINT64_FORMAT ": %s/%s: %s\n  input: %s\n", x->file, x->line, x->cause,
            x->rule, wanted ? "finds nothing in its hit" : "finds its near miss", x->input);
        g_string_append(out, why->str);
        describe(db, out);
    }
    g_string_free(why, TRUE);
    return TRUE;
}

/* Evidence that is missing must not speak: no rule holds on a source without anything in it. */
static gboolean run_empty(const CtKb *kb, const char *filter, GString *out, CtKbTally *tally,
                          GError **error)
{
    g_autoptr(CtEvidence) ev = evidence_of(kb, "\n", error);
    sqlite3_stmt *stmt = NULL;
    if (!ev)
        return FALSE;
    if (sqlite3_prepare_v2(ct_kb_db(kb),
                           "SELECT r.cause, r.id, c.file, r.sql, r.line FROM rule r "
                           "JOIN cause c ON c.id = r.cause ORDER BY r.cause, r.ord",
                           -1, &stmt, NULL) != SQLITE_OK) {
        g_set_error(error, CT_ERROR, CT_ERROR_CORRUPT, "%s", sqlite3_errmsg(ct_kb_db(kb)));
        return FALSE;
    }
    while (sqlite3_step(stmt) == SQLITE_ROW) {
        g_autofree char *name = g_strdup_printf("%s/%s", text_of(stmt, 0), text_of(stmt, 1));
        g_autoptr(GString) why = g_string_new(NULL);
        if (filter && !strstr(name, filter))
            continue;
        if (!rule_finds(ct_evidence_db(ev), text_of(stmt, 3), why) && why->len == 0) {
            tally->passed++;
            continue;
        }
        tally->failed++;
        g_string_append_printf(out, "%s:%lld: %s: finds something in an empty source\n%s",
                               text_of(stmt, 2), (long long)sqlite3_column_int64(stmt, 4), name,
                               why->str);
    }
    sqlite3_finalize(stmt);
    return TRUE;
}

gboolean ct_kb_run_tests(const CtKb *kb, const char *filter, GString *out, CtKbTally *tally,
                         GError **error)
{
    sqlite3_stmt *stmt = NULL;
    if (sqlite3_prepare_v2(ct_kb_db(kb),
                           "SELECT t.cause, t.rule, c.file, r.sql, t.kind, t.input, r.line "
                           "FROM rule_test t JOIN rule r ON r.cause = t.cause AND r.id = t.rule "
                           "JOIN cause c ON c.id = t.cause ORDER BY t.cause, r.ord, t.rowid",
                           -1, &stmt, NULL) != SQLITE_OK) {
        g_set_error(error, CT_ERROR, CT_ERROR_CORRUPT, "%s", sqlite3_errmsg(ct_kb_db(kb)));
        return FALSE;
    }
    gboolean ok = TRUE;
    while (ok && sqlite3_step(stmt) == SQLITE_ROW) {
        Example x = {.cause = text_of(stmt, 0),
                     .rule = text_of(stmt, 1),
                     .file = text_of(stmt, 2),
                     .sql = text_of(stmt, 3),
                     .kind = text_of(stmt, 4),
                     .input = text_of(stmt, 5),
                     .line = sqlite3_column_int64(stmt, 6)};
        g_autofree char *name = g_strdup_printf("%s/%s", x.cause, x.rule);
        if (!filter || strstr(name, filter))
            ok = run_one(kb, &x, out, tally, error);
    }
    sqlite3_finalize(stmt);
    return ok && run_empty(kb, filter, out, tally, error);
}
