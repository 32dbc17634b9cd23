/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/kb-calibrate.h"
#include "cli/kb-test.h"
#include "cli/sql-table.h"
#include "evidence/evidence.h"
#include "kb/compile.h"
#include "kb/lint.h"
#include "reason/reason.h"

typedef struct {
    gboolean json, warnings, confusion;
    char *filter, *write, *knowledge;
    const char *folder; /* (nullable) */
} Options;

static void free_problem(gpointer problem)
{
    ct_kb_problem_free(problem);
}

static CtKb *open_kb(const Options *o, GPtrArray **out_problems, GError **error)
{
    if (o->folder)
        return ct_kb_open_collect(o->folder, out_problems, error);
    *out_problems = g_ptr_array_new_with_free_func(free_problem);
    return ct_kb_open(error);
}

static void print_problems(const Options *o, const GPtrArray *problems)
{
    for (guint i = 0; i < problems->len; i++) {
        const CtKbProblem *p = problems->pdata[i];
        g_autofree char *line = ct_kb_problem_format(p, o->folder);
        if ((!p->warning || o->warnings) && (!o->filter || strstr(line, o->filter)))
            printf("%s\n", line);
    }
}

static void json_row(CtTable *table, const CtKbProblem *p)
{
    g_autofree char *line = g_strdup_printf("%u", p->line);
    g_autofree char *column = g_strdup_printf("%u", p->column);
    const CtCell cells[] = {{CT_CELL_TEXT, p->warning ? "warning" : "error"},
                            {p->file ? CT_CELL_TEXT : CT_CELL_NULL, p->file},
                            {p->line ? CT_CELL_NUMBER : CT_CELL_NULL, line},
                            {p->line ? CT_CELL_NUMBER : CT_CELL_NULL, column},
                            {CT_CELL_TEXT, p->text}};
    ct_table_row(table, cells);
}

static gboolean json_problems(const GPtrArray *problems)
{
    static const char *const names[] = {"severity", "file", "line", "column", "text"};
    CtTable *table = ct_table_new(CT_TABLE_JSON, "cutriage.kb-lint/1", G_N_ELEMENTS(names), names);
    for (guint i = 0; i < problems->len; i++)
        json_row(table, problems->pdata[i]);
    return ct_table_end(table);
}

/* An empty store with the base beside it, to prepare rules against. */
static CtEvidence *empty_evidence(const CtKb *kb, GError **error)
{
    g_autoptr(CtEvidence) ev = ct_evidence_new(error);
    if (!ev || !ct_kb_attach(kb, ct_evidence_db(ev), error))
        return NULL;
    ct_reason_register_sql(ct_evidence_db(ev));
    return g_steal_pointer(&ev);
}

static int lint(const Options *o)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) form = NULL;
    g_autoptr(CtKb) kb = open_kb(o, &form, &error);
    g_autoptr(CtEvidence) ev = kb ? empty_evidence(kb, &error) : NULL;
    if (!ev)
        return ct_cli_fail("kb", error);
    g_autoptr(GPtrArray) sense = ct_kb_lint(ct_kb_db(kb), ct_evidence_db(ev));
    guint errors = form->len;
    for (guint i = 0; i < sense->len; i++)
        errors += !((const CtKbProblem *)sense->pdata[i])->warning;
    guint all = form->len + sense->len;
    g_ptr_array_extend_and_steal(form, g_steal_pointer(&sense));
    if (o->json) {
        if (!json_problems(form))
            return CT_EXIT_FAILED;
    } else {
        print_problems(o, form);
        printf("%u errors, %u warnings%s\n", errors, all - errors,
               all > errors && !o->warnings ? " (--warnings shows them)" : "");
    }
    return errors ? CT_EXIT_FOUND : CT_EXIT_NOTHING;
}

static int test(const Options *o)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) form = NULL;
    g_autoptr(CtKb) kb = open_kb(o, &form, &error);
    if (!kb)
        return ct_cli_fail("kb", error);
    print_problems(o, form);
    GString *out = g_string_new(NULL);
    CtKbTally tally = {0};
    gboolean ok = ct_kb_run_tests(kb, o->filter, out, &tally, &error);
    fputs(out->str, stdout);
    g_string_free(out, TRUE);
    if (!ok)
        return ct_cli_fail("kb", error);
    tally.failed += form->len;
    printf("%u passed, %u failed, 0 skipped\n", tally.passed, tally.failed);
    return tally.failed ? CT_EXIT_FOUND : CT_EXIT_NOTHING;
}

static int list(const Options *o)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) form = NULL;
    g_autoptr(CtKb) kb = open_kb(o, &form, &error);
    sqlite3_stmt *stmt = NULL;
    if (!kb)
        return ct_cli_fail("kb", error);
    if (sqlite3_prepare_v2(
            ct_kb_db(kb),
            "SELECT id AS cause, layer, (SELECT count(*) FROM rule WHERE cause = c.id) AS rules, "
            "(SELECT count(*) FROM rule_test WHERE cause = c.id) AS tests, file FROM cause c "
            "WHERE ?1 IS NULL OR instr(id || ' ' || layer || ' ' || ifnull(topic, ''), ?1) "
            "ORDER BY layer, id",
            -1, &stmt, NULL) != SQLITE_OK)
        return CT_EXIT_FAILED;
    sqlite3_bind_text(stmt, 1, o->filter, -1, SQLITE_STATIC);
    gboolean ok = ct_sql_table(ct_kb_db(kb), stmt, o->json ? CT_TABLE_JSON : CT_TABLE_ALIGNED,
                               "cutriage.kb-list/1", NULL, &error);
    sqlite3_finalize(stmt);
    return ok ? CT_EXIT_NOTHING : ct_cli_fail("kb", error);
}

/* ---- show: everything about one cause or signature, as it was compiled ---- */

static guint show_rows(sqlite3 *db, const char *heading, const char *sql, const char *id)
{
    sqlite3_stmt *stmt = NULL;
    guint rows = 0;
    if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK)
        return 0;
    sqlite3_bind_text(stmt, 1, id, -1, SQLITE_STATIC);
    while (sqlite3_step(stmt) == SQLITE_ROW) {
        if (rows++ == 0 && *heading)
            printf("\n%s\n", heading);
        const char *indent = *heading ? "  " : "";
        for (int i = 0; i < sqlite3_column_count(stmt); i++)
            if (sqlite3_column_text(stmt, i))
                printf("%s%-12s %s\n", indent, sqlite3_column_name(stmt, i),
                       (const char *)sqlite3_column_text(stmt, i));
        if (*heading && sqlite3_column_count(stmt) > 2)
            printf("\n");
    }
    sqlite3_finalize(stmt);
    return rows;
}

static const struct {
    const char *heading, *sql;
} PARTS[] = {
    {"", "SELECT id AS cause, layer, topic, title_en, title_zh, about_en, about_zh, prior, action, "
         "owner, urgency, keywords, file FROM cause WHERE id = ?"},
    {"evidence", "SELECT id AS rule, weight, evidence_group AS 'group', needs, sql, absent_needs "
                 "AS absent, absent_weight AS 'absent w.', say_en, say_zh, line FROM rule "
                 "WHERE cause = ? ORDER BY ord"},
    {"explains", "SELECT consequence AS cause FROM explains WHERE cause = ?"},
    {"explained by", "SELECT cause FROM explains WHERE consequence = ?"},
    {"next",
     "SELECT test, run, cost_s, say_en, say_zh FROM next_test WHERE cause = ? ORDER BY ord"},
    {"tells", "SELECT test || ': ' || points_to AS 'test', when_en, when_zh FROM next_outcome "
              "WHERE cause = ?"},
    {"advice", "SELECT kind, en, zh FROM advice WHERE cause = ? ORDER BY kind, ord"},
    {"", "SELECT id AS signature, kind, severity, scope, pattern, family, fields AS 'set', "
         "priority, file, line FROM signature WHERE id = ?"},
    {"anchors", "SELECT literal AS anchor FROM anchor WHERE signature = ?"},
    {"examples", "SELECT kind, input FROM signature_test WHERE signature = ?"},
};

static int show(const Options *o, const char *id)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) form = NULL;
    g_autoptr(CtKb) kb = open_kb(o, &form, &error);
    if (!kb)
        return ct_cli_fail("kb", error);
    guint rows = 0;
    for (guint i = 0; i < G_N_ELEMENTS(PARTS); i++)
        rows += show_rows(ct_kb_db(kb), PARTS[i].heading, PARTS[i].sql, id);
    if (rows == 0)
        return ct_cli_usage("kb", "no cause and no signature is called '%s'; see cutriage kb list",
                            id);
    return CT_EXIT_NOTHING;
}

static int dispatch(Options *o, int argc, char **argv)
{
    const char *what = argv[1];
    gboolean is_show = strcmp(what, "show") == 0;
    gboolean is_calibrate = strcmp(what, "calibrate") == 0;
    if (is_show && argc < 3)
        return ct_cli_usage("kb", "show which cause or signature?");
    if (is_calibrate && argc < 3)
        return ct_cli_usage("kb", "calibrate needs a folder of cases, each with a truth.yaml");
    int folder_at = is_show || is_calibrate ? 3 : 2;
    if (argc > folder_at + 1)
        return ct_cli_usage("kb", "too many arguments from '%s' on", argv[folder_at + 1]);
    o->folder = argc > folder_at ? argv[folder_at] : o->knowledge;
    if (is_show)
        return show(o, argv[2]);
    if (is_calibrate)
        return ct_kb_calibrate(argv[2], o->knowledge ? o->knowledge : o->folder, o->write,
                               o->confusion);
    if (strcmp(what, "lint") == 0)
        return lint(o);
    if (strcmp(what, "test") == 0)
        return test(o);
    if (strcmp(what, "list") == 0)
        return list(o);
    return ct_cli_usage("kb", "'%s' is none of lint, test, list, show, calibrate", what);
}

static int run(int argc, char **argv)
{
    Options o = {0};
    int code = 0;
    const GOptionEntry entries[] = {
        {"filter", 'f', 0, G_OPTION_ARG_STRING, &o.filter, "Only causes and rules that hold TEXT",
         "TEXT"},
        {"warnings", 'w', 0, G_OPTION_ARG_NONE, &o.warnings, "Show the warnings of lint as well",
         NULL},
        {"json", 0, 0, G_OPTION_ARG_NONE, &o.json, "Print JSON (lint, list)", NULL},
        {"write", 0, 0, G_OPTION_ARG_FILENAME, &o.write,
         "Write the fitted values to FILE (calibrate)", "FILE"},
        {"confusion", 0, 0, G_OPTION_ARG_NONE, &o.confusion,
         "Which cause is taken for which, by topic (calibrate)", NULL},
        {"knowledge", 0, 0, G_OPTION_ARG_FILENAME, &o.knowledge,
         "The folder, as for the other verbs", "DIR"},
        {NULL},
    };
    const CtVerbHelp help = {
        .verb = "kb",
        .args = "lint|test|list|show ID|calibrate CASES [DIR]",
        .summary = "Checks and shows the knowledge base: the one inside the program, or a folder\n"
                   "of the same shape.",
        .examples = "  cutriage kb lint knowledge\n"
                    "  cutriage kb test knowledge --filter gpu-fell-off-bus\n"
                    "  cutriage kb list\n"
                    "  cutriage kb show gpu-fell-off-bus\n"
                    "  cutriage kb calibrate cases/ --write knowledge/calibration.tsv\n"
                    "  cutriage kb calibrate cases/ --confusion\n",
        .notes = "Exit codes: 0 all well, 1 an error or a failed test, 2 usage, 4 failed.\n",
        .entries = entries,
    };
    if (!ct_cli_options(&help, &argc, &argv, &code))
        return code;
    if (argc < 2)
        code = ct_cli_usage("kb", "say what to do: lint, test, list, show or calibrate");
    else
        code = dispatch(&o, argc, argv);
    g_free(o.filter);
    g_free(o.write);
    g_free(o.knowledge);
    return code;
}

const CtVerb ct_verb_kb = {
    .name = "kb",
    .summary = "Check, test and show the knowledge base",
    .run = run,
};
