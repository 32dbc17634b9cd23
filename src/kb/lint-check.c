/* SPDX-License-Identifier: Apache-2.0 */
/* The SQL of the checklist, and what no SQL of the base may use: the oldest SQLite we run with is
 * that of Ubuntu 20.04 and JetPack 5, and a query it refuses would silently find nothing there. */
#include <string.h>

#include "kb/lint-private.h"

static gboolean is_word(const char *begin, const char *p, const char *word)
{
    gsize n = strlen(word);
    return (p == begin || !g_ascii_isalnum(p[-1])) && g_ascii_strncasecmp(p, word, n) == 0 &&
           !g_ascii_isalnum(p[n]) && p[n] != '_';
}

/* HAVING without a GROUP BY of the same SELECT, which SQLite takes since 3.39 only. */
static gboolean has_lone_having(const char *sql)
{
    gboolean grouped[64] = {FALSE};
    guint depth = 0;
    for (const char *p = sql; *p; p++) {
        if (*p == '\'') {
            const char *end = strchr(p + 1, '\'');
            if (!end)
                return FALSE;
            p = end;
        } else if (*p == '(' && depth + 1 < G_N_ELEMENTS(grouped)) {
            grouped[++depth] = FALSE;
        } else if (*p == ')' && depth > 0) {
            depth--;
        } else if (is_word(sql, p, "SELECT")) {
            grouped[depth] = FALSE;
        } else if (is_word(sql, p, "GROUP")) {
            grouped[depth] = TRUE;
        } else if (is_word(sql, p, "HAVING") && !grouped[depth]) {
            return TRUE;
        }
    }
    return FALSE;
}

const char *ct_lint_too_new(const char *sql)
{
    static const char *const parts[] = {
        "->", "IS DISTINCT FROM", "RIGHT JOIN", "FULL JOIN", "RETURNING", "iif(", "format("};
    for (guint i = 0; i < G_N_ELEMENTS(parts); i++)
        if (strstr(sql, parts[i]))
            return parts[i];
    return has_lone_having(sql) ? "HAVING without GROUP BY" : NULL;
}

void ct_lint_checks(Lint *l)
{
    sqlite3_stmt *stmt = ct_lint_query(l, "SELECT item, level, sql FROM check_rule");
    while (stmt && sqlite3_step(stmt) == SQLITE_ROW) {
        const char *item = ct_lint_text(stmt, 0), *level = ct_lint_text(stmt, 1);
        const char *sql = ct_lint_text(stmt, 2), *new = ct_lint_too_new(sql);
        if (new)
            lint_error(l, "checks.yaml", 0, "%s/%s: `%s` is not in SQLite 3.31", item, level, new);
        sqlite3_stmt *query = NULL;
        if (l->evidence && sqlite3_prepare_v2(l->evidence, sql, -1, &query, NULL) != SQLITE_OK)
            lint_error(l, "checks.yaml", 0, "%s/%s: SQL: %s", item, level,
                       sqlite3_errmsg(l->evidence));
        sqlite3_finalize(query);
    }
    sqlite3_finalize(stmt);
}
