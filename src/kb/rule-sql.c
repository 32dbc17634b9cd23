/* SPDX-License-Identifier: Apache-2.0 */
/* The shorthand of a rule (event, fact, finding) becomes a SELECT; see knowledge/README.md. */
#include "kb/build.h"

#include <errno.h>
#include <string.h>

static const char EVENT_COLUMNS[] =
    "SELECT 'event' AS tab, e.id AS row, e.kind, e.code, e.name, e.severity, e.subject, e.pid, "
    "e.rank, e.gpu, e.text, e.detail, e.repeats, e.t_ns, e.line, e.section FROM event e WHERE ";
static const char FACT_COLUMNS[] =
    "SELECT 'fact' AS tab, f.id AS row, f.key, f.value, f.number, f.subject, f.status, f.text, "
    "f.line, f.section FROM fact f WHERE ";
static const char FINDING_COLUMNS[] =
    "SELECT 'finding' AS tab, d.id AS row, d.analyzer, d.kind, d.severity, d.subject, d.t0_ns, "
    "d.t1_ns, d.number, d.confidence, d.text, d.detail FROM finding d WHERE ";

static void append_quoted(GString *sql, const char *text)
{
    char *quoted = sqlite3_mprintf("%Q", text);
    g_string_append(sql, quoted);
    sqlite3_free(quoted);
}

/* " AND column IN ('a', 'b')" */
static void append_in(GString *sql, const char *column, const GPtrArray *values)
{
    if (values->len == 0)
        return;
    g_string_append_printf(sql, " AND %s IN (", column);
    for (guint i = 0; i < values->len; i++) {
        const CtYaml *v = values->pdata[i];
        g_string_append(sql, i ? ", " : "");
        append_quoted(sql, v->text);
    }
    g_string_append_c(sql, ')');
}

static void append_codes(CtKbBuild *b, GString *sql, const GPtrArray *values)
{
    if (values->len == 0)
        return;
    g_string_append(sql, " AND e.code IN (");
    for (guint i = 0; i < values->len; i++) {
        const CtYaml *v = values->pdata[i];
        char *end;
        errno = 0;
        gint64 code = g_ascii_strtoll(v->text, &end, 0);
        if (errno || end == v->text || *end)
            ct_kb_problem_at(b, v, "`code: %s` is not a whole number", v->text);
        g_string_append_printf(sql, "%s%" G_GINT64_FORMAT, i ? ", " : "", code);
    }
    g_string_append_c(sql, ')');
}

static void append_kinds(GString *sql, const char *column, const GPtrArray *kinds)
{
    const CtYaml *first = kinds->pdata[0];
    if (kinds->len == 1) {
        g_string_append(sql, column);
        g_string_append(sql, strpbrk(first->text, "*?[") ? " GLOB " : " = ");
        append_quoted(sql, first->text);
        return;
    }
    g_string_append_c(sql, '(');
    for (guint i = 0; i < kinds->len; i++) {
        const CtYaml *k = kinds->pdata[i];
        g_string_append_printf(sql, "%s%s %s ", i ? " OR " : "", column,
                               strpbrk(k->text, "*?[") ? "GLOB" : "=");
        append_quoted(sql, k->text);
    }
    g_string_append_c(sql, ')');
}

/* The line feed keeps a comment at the end of the condition from hiding the bracket. */
static void append_where(GString *sql, const char *where)
{
    if (where)
        g_string_append_printf(sql, " AND (%s\n)", where);
}

static void event_rule(CtKbBuild *b, const CtYaml *rule, const GPtrArray *kinds, GString *sql)
{
    g_autoptr(GPtrArray) codes = ct_kb_list(b, rule, "code");
    g_autoptr(GPtrArray) names = ct_kb_list(b, rule, "name");
    g_autoptr(GPtrArray) severities = ct_kb_list(b, rule, "severity");
    g_string_append(sql, EVENT_COLUMNS);
    append_kinds(sql, "e.kind", kinds);
    append_codes(b, sql, codes);
    append_in(sql, "e.name COLLATE NOCASE", names);
    append_in(sql, "e.severity", severities);
    append_where(sql, ct_kb_string(b, rule, "where", FALSE));
    g_string_append(sql, " ORDER BY e.seq");
}

static void fact_rule(CtKbBuild *b, const CtYaml *rule, const GPtrArray *keys, GString *sql)
{
    g_autoptr(GPtrArray) values = ct_kb_list(b, rule, "value");
    g_autoptr(GPtrArray) statuses = ct_kb_list(b, rule, "status");
    const char *where = ct_kb_string(b, rule, "where", FALSE);
    g_string_append(sql, FACT_COLUMNS);
    append_kinds(sql, "f.key", keys);
    append_in(sql, "f.value COLLATE NOCASE", values);
    append_in(sql, "f.status", statuses);
    /* A fact that could not be read says nothing about its value. */
    if (statuses->len == 0 && !(where && strstr(where, "status")))
        g_string_append(sql, " AND f.status IN ('ok', 'partial', 'truncated')");
    append_where(sql, where);
    g_string_append(sql, " ORDER BY f.id");
}

static void finding_rule(CtKbBuild *b, const CtYaml *rule, const GPtrArray *kinds, GString *sql)
{
    g_autoptr(GPtrArray) severities = ct_kb_list(b, rule, "severity");
    g_string_append(sql, FINDING_COLUMNS);
    append_kinds(sql, "d.kind", kinds);
    append_in(sql, "d.severity", severities);
    append_where(sql, ct_kb_string(b, rule, "where", FALSE));
    g_string_append(sql, " ORDER BY d.id");
}

static void refuse(CtKbBuild *b, const CtYaml *rule, const char *shape, const char *const *keys)
{
    for (; *keys; keys++) {
        const CtYaml *node = ct_yaml_get(rule, *keys);
        if (node)
            ct_kb_problem_at(b, node, "`%s` does not go with `%s`", *keys, shape);
    }
}

static CtKbRuleSql written_sql(CtKbBuild *b, const CtYaml *rule)
{
    static const char *const others[] = {"code",   "name",  "severity", "value",
                                         "status", "where", NULL};
    CtKbRuleSql out = {0};
    refuse(b, rule, "sql", others);
    out.sql = g_strdup(ct_kb_string(b, rule, "sql", TRUE));
    g_autoptr(GPtrArray) needs = ct_kb_list(b, rule, "needs");
    for (guint i = 0; i < needs->len; i++) {
        const CtYaml *n = needs->pdata[i];
        if (!g_str_has_prefix(n->text, "event:") && !g_str_has_prefix(n->text, "fact:") &&
            !g_str_has_prefix(n->text, "finding:"))
            ct_kb_problem_at(b, n, "`needs: %s` must be event:KIND, fact:KEY or finding:KIND",
                             n->text);
    }
    out.needs = ct_kb_join(needs, ",");
    return out;
}

CtKbRuleSql ct_kb_rule_sql(CtKbBuild *b, const CtYaml *rule)
{
    static const char *const shapes[] = {"event", "fact", "finding", "sql"};
    static const char *const not_event[] = {"value", "status", NULL};
    static const char *const not_fact[] = {"code", "name", "severity", NULL};
    static const char *const not_finding[] = {"code", "name", "value", "status", NULL};
    CtKbRuleSql out = {0};
    const char *shape = NULL;
    guint found = 0;
    for (guint i = 0; i < G_N_ELEMENTS(shapes); i++) {
        if (ct_yaml_get(rule, shapes[i])) {
            shape = shapes[i];
            found++;
        }
    }
    if (found != 1) {
        ct_kb_problem_at(b, rule, "a rule has exactly one of `event`, `fact`, `finding`, `sql`");
        return out;
    }
    if (strcmp(shape, "sql") == 0)
        return written_sql(b, rule);
    g_autoptr(GPtrArray) kinds = ct_kb_list(b, rule, shape);
    if (kinds->len == 0) {
        ct_kb_problem_at(b, rule, "`%s` is empty", shape);
        return out;
    }
    if (ct_yaml_get(rule, "needs"))
        ct_kb_problem_at(b, ct_yaml_get(rule, "needs"), "`needs` is derived from `%s`", shape);
    GString *sql = g_string_new(NULL);
    if (strcmp(shape, "event") == 0) {
        refuse(b, rule, shape, not_event);
        event_rule(b, rule, kinds, sql);
    } else if (strcmp(shape, "fact") == 0) {
        refuse(b, rule, shape, not_fact);
        fact_rule(b, rule, kinds, sql);
    } else {
        refuse(b, rule, shape, not_finding);
        finding_rule(b, rule, kinds, sql);
    }
    out.sql = g_string_free(sql, FALSE);
    /* Several kinds are alternatives; `needs` lists what must all be there, so it stays empty. */
    if (kinds->len == 1)
        out.needs = g_strdup_printf("%s:%s", shape, ((const CtYaml *)kinds->pdata[0])->text);
    return out;
}
