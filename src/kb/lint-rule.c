/* SPDX-License-Identifier: Apache-2.0 */
/* Rules: SQL that can run, kinds that exist, no work that belongs elsewhere, sentences that fit. */
#include <string.h>

#include "kb/lint-private.h"

typedef struct {
    const char *id, *cause, *file, *sql, *needs, *absent_needs, *say_en, *say_zh;
    gint64 line;
    double weight;
} Rule;

#define rule_error(l, r, format, ...)                                                              \
    lint_error(l, (r)->file, (r)->line, "%s/%s: " format, (r)->cause, (r)->id, ##__VA_ARGS__)
#define rule_warning(l, r, format, ...)                                                            \
    lint_warning(l, (r)->file, (r)->line, "%s/%s: " format, (r)->cause, (r)->id, ##__VA_ARGS__)

/* ---- what the SQL speaks about ---- */

/* A literal that is compared with a column: `column = 'x'`, `IN ('x', ...)`, `GLOB 'x'`. */
typedef void (*OnLiteral)(Lint *l, const Rule *r, const char *class, const char *literal);

static const char *skip_blanks(const char *p)
{
    return p + strspn(p, " \t\n");
}

static gboolean is_word_char(char c)
{
    return g_ascii_isalnum(c) || c == '_';
}

/* Reads 'text' at p; returns the end, NULL when there is none. */
static const char *read_literal(const char *p, char *out, gsize size)
{
    if (*p != '\'')
        return NULL;
    gsize n = 0;
    for (p++; *p && *p != '\''; p++)
        if (n + 1 < size)
            out[n++] = *p;
    out[n] = '\0';
    return *p ? p + 1 : NULL;
}

static void literals_after(Lint *l, const Rule *r, const char *p, const char *class, OnLiteral on)
{
    char literal[128];
    p = skip_blanks(p);
    if (g_ascii_strncasecmp(p, "GLOB", 4) == 0 || *p == '=') {
        p = skip_blanks(p + strspn(p, *p == '=' ? "=" : "GLOBglob"));
        if (read_literal(p, literal, sizeof(literal)))
            on(l, r, class, literal);
        return;
    }
    if (g_ascii_strncasecmp(p, "IN", 2) != 0)
        return;
    p = skip_blanks(p + 2);
    if (*p != '(')
        return;
    do {
        p = read_literal(skip_blanks(p + 1), literal, sizeof(literal));
        if (p)
            on(l, r, class, literal);
        p = p ? skip_blanks(p) : NULL;
    } while (p && *p == ',');
}

/* `kind` belongs to events and findings, `key` to facts; which of the first two, the vocabulary
 * decides. */
static void each_literal(Lint *l, const Rule *r, OnLiteral on)
{
    for (const char *p = r->sql; *p; p++) {
        if (p > r->sql && is_word_char(p[-1]))
            continue;
        if (strncmp(p, "kind", 4) == 0 && !is_word_char(p[4]))
            literals_after(l, r, p + 4, "kind", on);
        else if (strncmp(p, "key", 3) == 0 && !is_word_char(p[3]))
            literals_after(l, r, p + 3, "fact", on);
        else if (strncmp(p, "metric", 6) == 0 && !is_word_char(p[6]))
            literals_after(l, r, p + 6, "series", on);
    }
}

static void check_literal(Lint *l, const Rule *r, const char *class, const char *literal)
{
    if (strcmp(class, "kind") != 0) {
        if (!ct_lint_known(l, class, literal))
            rule_error(l, r, "%s `%s` is not in vocabulary.tsv", class, literal);
    } else if (!ct_lint_known(l, "event", literal) && !ct_lint_known(l, "finding", literal) &&
               !ct_lint_known(l, "coverage", literal)) {
        rule_error(l, r, "kind `%s` is not in vocabulary.tsv", literal);
    }
}

static void check_needs(Lint *l, const Rule *r)
{
    g_auto(GStrv) needs = g_strsplit(r->needs, ",", -1);
    for (char **n = needs; *n; n++) {
        char *colon = strchr(*n, ':');
        if (!colon)
            continue;
        *colon = '\0';
        if (!ct_lint_known(l, *n, colon + 1))
            rule_error(l, r, "%s `%s` is not in vocabulary.tsv", *n, colon + 1);
    }
    g_auto(GStrv) absent = g_strsplit(r->absent_needs, ",", -1);
    for (char **n = absent; *n; n++)
        if (**n && !ct_lint_known(l, "coverage", *n))
            rule_error(l, r, "absent.needs: coverage `%s` is not in vocabulary.tsv", *n);
}

/* ---- work that belongs elsewhere ---- */

static gboolean has_word(const char *sql, const char *word)
{
    gsize n = strlen(word);
    for (const char *p = sql; *p; p++)
        if ((p == sql || !is_word_char(p[-1])) && g_ascii_strncasecmp(p, word, n) == 0 &&
            !is_word_char(p[n]))
            return TRUE;
    return FALSE;
}

static void check_borders(Lint *l, const Rule *r)
{
    if (has_word(r->sql, "LIKE") || has_word(r->sql, "REGEXP"))
        rule_error(l, r, "matching text (LIKE, REGEXP) is a signature's work");
    if (strstr(r->sql, "text GLOB") || strstr(r->sql, "instr(e.text") ||
        strstr(r->sql, "instr(text"))
        rule_error(l, r, "matching the text of a line is a signature's work");
    if (has_word(r->sql, "sample"))
        rule_error(l, r, "reading samples is an analyzer's work");
    const char *new = ct_lint_too_new(r->sql);
    if (new)
        rule_error(l, r, "`%s` is not in SQLite 3.31", new);
}

/* ---- sentences ---- */

/* Names in braces, without their format, sorted; FALSE when the braces do not pair. */
static gboolean placeholders(const char *say, GPtrArray *out)
{
    for (const char *p = say; *p; p++) {
        if (*p == '}')
            return FALSE;
        if (*p != '{')
            continue;
        const char *end = p + strcspn(p + 1, "{}") + 1;
        if (*end != '}')
            return FALSE;
        gsize n = strcspn(p + 1, ":}");
        g_ptr_array_add(out, g_strndup(p + 1, n));
        p = end;
    }
    return TRUE;
}

static gboolean has_name(const GPtrArray *names, const char *name)
{
    for (guint i = 0; i < names->len; i++)
        if (strcmp(names->pdata[i], name) == 0)
            return TRUE;
    return FALSE;
}

/* `columns` are those of the statement (NULL: not known). */
static void check_sentences(Lint *l, const Rule *r, const GPtrArray *columns)
{
    g_autoptr(GPtrArray) en = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GPtrArray) zh = g_ptr_array_new_with_free_func(g_free);
    if (!placeholders(r->say_en, en) || !placeholders(r->say_zh, zh)) {
        rule_error(l, r, "braces in `say` do not pair");
        return;
    }
    for (guint i = 0; i < zh->len; i++)
        if (!has_name(en, zh->pdata[i]))
            rule_error(l, r, "{%s} stands in the Chinese sentence only",
                       (const char *)zh->pdata[i]);
    if (!ct_lint_has_han(r->say_zh))
        rule_error(l, r, "`say` has no Chinese");
    /* The keys of `detail` are values too, so a missing column proves nothing where it is there. */
    if (!columns || has_name(columns, "detail"))
        return;
    for (guint i = 0; i < en->len; i++)
        if (!has_name(columns, en->pdata[i]))
            rule_error(l, r, "{%s} is no column of the rule", (const char *)en->pdata[i]);
}

/* ---- the SQL itself ---- */

static void check_sql(Lint *l, const Rule *r)
{
    sqlite3_stmt *stmt = NULL;
    const char *tail = NULL;
    if (!l->evidence) {
        check_sentences(l, r, NULL);
        return;
    }
    if (sqlite3_prepare_v2(l->evidence, r->sql, -1, &stmt, &tail) != SQLITE_OK) {
        rule_error(l, r, "SQL: %s", sqlite3_errmsg(l->evidence));
        return;
    }
    if (!stmt || sqlite3_column_count(stmt) < 2 ||
        strcmp(sqlite3_column_name(stmt, 0), "tab") != 0 ||
        strcmp(sqlite3_column_name(stmt, 1), "row") != 0)
        rule_error(l, r, "SQL: the first columns must be `tab` and `row`");
    else if (!sqlite3_stmt_readonly(stmt))
        rule_error(l, r, "SQL: a rule only reads");
    if (tail && *skip_blanks(tail + strspn(tail, ";")))
        rule_error(l, r, "SQL: more than one statement");
    g_autoptr(GPtrArray) columns = g_ptr_array_new();
    for (int i = 0; i < sqlite3_column_count(stmt); i++)
        g_ptr_array_add(columns, (gpointer)sqlite3_column_name(stmt, i));
    check_sentences(l, r, columns);
    sqlite3_finalize(stmt);
}

/* ---- tests, codes ---- */

static gint64 count_tests(Lint *l, const Rule *r, const char *kind)
{
    sqlite3_stmt *stmt = ct_lint_query(
        l, "SELECT count(*) FROM rule_test WHERE cause = ? AND rule = ? AND kind = ?");
    sqlite3_bind_text(stmt, 1, r->cause, -1, SQLITE_TRANSIENT);
    sqlite3_bind_text(stmt, 2, r->id, -1, SQLITE_TRANSIENT);
    sqlite3_bind_text(stmt, 3, kind, -1, SQLITE_TRANSIENT);
    gint64 n = sqlite3_step(stmt) == SQLITE_ROW ? sqlite3_column_int64(stmt, 0) : 0;
    sqlite3_finalize(stmt);
    return n;
}

static void check_tests(Lint *l, const Rule *r)
{
    gint64 hits = count_tests(l, r, "hit");
    /* A finding may need a whole series, which is too long to stand beside the rule. */
    gboolean series = strstr(r->needs, "finding:") || (!*r->needs && has_word(r->sql, "finding"));
    if (series && hits == 0)
        return;
    if (hits < 2)
        rule_error(l, r, "has %s: each rule is shown in two dialects of log at least",
                   hits ? "one test.hit" : "no test.hit");
    if (count_tests(l, r, "near") == 0)
        rule_error(l, r, "has no test.near");
}

void ct_lint_rules(Lint *l)
{
    sqlite3_stmt *stmt = ct_lint_query(
        l, "SELECT r.id, r.cause, c.file, r.sql, r.needs, r.absent_needs, r.say_en, r.say_zh, "
           "r.line, r.weight FROM rule r JOIN cause c ON c.id = r.cause ORDER BY r.cause, r.ord");
    while (stmt && sqlite3_step(stmt) == SQLITE_ROW) {
        Rule r = {.id = ct_lint_text(stmt, 0),
                  .cause = ct_lint_text(stmt, 1),
                  .file = ct_lint_text(stmt, 2),
                  .sql = ct_lint_text(stmt, 3),
                  .needs = ct_lint_text(stmt, 4),
                  .absent_needs = ct_lint_text(stmt, 5),
                  .say_en = ct_lint_text(stmt, 6),
                  .say_zh = ct_lint_text(stmt, 7),
                  .line = sqlite3_column_int64(stmt, 8),
                  .weight = sqlite3_column_double(stmt, 9)};
        check_needs(l, &r);
        each_literal(l, &r, check_literal);
        check_borders(l, &r);
        check_sql(l, &r);
        check_tests(l, &r);
        if (r.weight > 20 || r.weight < -20 || r.weight == 0)
            rule_warning(l, &r, "weight %g is outside of what the guide knows", r.weight);
    }
    sqlite3_finalize(stmt);
}
