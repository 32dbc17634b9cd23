/* SPDX-License-Identifier: Apache-2.0 */
#include "kb/lint.h"

#include <stdarg.h>
#include <string.h>

#include "kb/lint-private.h"

void ct_lint_add(Lint *l, gboolean warning, const char *file, gint64 line, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    CtKbProblem *p = g_new0(CtKbProblem, 1);
    p->warning = warning;
    p->file = g_strdup(file);
    p->line = (guint)line;
    p->text = g_strdup_vprintf(format, ap);
    va_end(ap);
    g_ptr_array_add(l->problems, p);
}

sqlite3_stmt *ct_lint_query(Lint *l, const char *sql)
{
    sqlite3_stmt *stmt = NULL;
    if (sqlite3_prepare_v2(l->kb, sql, -1, &stmt, NULL) != SQLITE_OK)
        lint_error(l, NULL, 0, "%s: %s", sql, sqlite3_errmsg(l->kb));
    return stmt;
}

const char *ct_lint_text(sqlite3_stmt *stmt, int column)
{
    const char *text = (const char *)sqlite3_column_text(stmt, column);
    return text ? text : "";
}

static void load_vocabulary(Lint *l)
{
    sqlite3_stmt *stmt = ct_lint_query(l, "SELECT class, name FROM vocabulary");
    while (stmt && sqlite3_step(stmt) == SQLITE_ROW) {
        char *key = g_strdup_printf("%s %s", ct_lint_text(stmt, 0), ct_lint_text(stmt, 1));
        if (g_str_has_suffix(key, ".*"))
            g_ptr_array_add(l->families, g_strndup(key, strlen(key) - 1));
        g_hash_table_add(l->vocabulary, key);
    }
    sqlite3_finalize(stmt);
}

gboolean ct_lint_known(Lint *l, const char *class, const char *name)
{
    g_autofree char *key = g_strdup_printf("%s %s", class, name);
    if (g_hash_table_contains(l->vocabulary, key))
        return TRUE;
    for (guint i = 0; i < l->families->len; i++)
        if (g_str_has_prefix(key, l->families->pdata[i]))
            return TRUE;
    char *star = strpbrk(key, "*?[");
    if (!star)
        return FALSE;
    /* A glob is known when some name begins like the part before its first special character. */
    *star = '\0';
    GHashTableIter iter;
    gpointer known;
    g_hash_table_iter_init(&iter, l->vocabulary);
    while (g_hash_table_iter_next(&iter, &known, NULL))
        if (g_str_has_prefix(known, key))
            return TRUE;
    return FALSE;
}

gboolean ct_lint_has_han(const char *text)
{
    for (const char *p = text; p && *p; p = g_utf8_next_char(p))
        if (g_unichar_get_script(g_utf8_get_char(p)) == G_UNICODE_SCRIPT_HAN)
            return TRUE;
    return FALSE;
}

static gint by_place(gconstpointer a, gconstpointer b)
{
    const CtKbProblem *x = *(const CtKbProblem *const *)a, *y = *(const CtKbProblem *const *)b;
    int c = g_strcmp0(x->file, y->file);
    if (c || x->line != y->line)
        return c ? c : x->line < y->line ? -1 : 1;
    return strcmp(x->text, y->text);
}

/* `needs` and the SQL name the same kinds: once is enough. */
static void drop_repeats(GPtrArray *problems)
{
    for (guint i = problems->len; i > 1; i--) {
        const CtKbProblem *p = problems->pdata[i - 1], *before = problems->pdata[i - 2];
        if (p->line == before->line && g_strcmp0(p->file, before->file) == 0 &&
            strcmp(p->text, before->text) == 0)
            g_ptr_array_remove_index(problems, i - 1);
    }
}

static void free_problem(gpointer problem)
{
    ct_kb_problem_free(problem);
}

GPtrArray *ct_kb_lint(sqlite3 *kb, sqlite3 *evidence)
{
    Lint l = {.kb = kb, .evidence = evidence};
    l.problems = g_ptr_array_new_with_free_func(free_problem);
    l.vocabulary = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    l.families = g_ptr_array_new_with_free_func(g_free);
    load_vocabulary(&l);
    ct_lint_signatures(&l);
    ct_lint_rules(&l);
    ct_lint_causes(&l);
    ct_lint_checks(&l);
    g_hash_table_unref(l.vocabulary);
    g_ptr_array_unref(l.families);
    g_ptr_array_sort(l.problems, by_place);
    drop_repeats(l.problems);
    return l.problems;
}
