/* SPDX-License-Identifier: Apache-2.0 */
/* checks.yaml: what `check` looks at, in the order of its list. */
#include "kb/build.h"

static const char *const LEVELS[] = {"pass", "warn", "fail", NULL};

static CtKbSay say_of(CtKbBuild *b, const CtYaml *map, const char *key, gboolean required)
{
    const CtYaml *node = ct_yaml_get(map, key);
    if (node)
        return ct_kb_say(b, node, key);
    if (required)
        ct_kb_problem_at(b, map, "`%s` is missing", key);
    return (CtKbSay){NULL, NULL};
}

static char *joined(CtKbBuild *b, const CtYaml *map, const char *key, const char *separator)
{
    g_autoptr(GPtrArray) list = ct_kb_list(b, map, key);
    return ct_kb_join(list, separator);
}

static void condition(CtKbBuild *b, const CtYaml *look, const char *item, guint ord)
{
    static const char *const keys[] = {"level", "event", "fact",   "finding", "sql",  "needs",
                                       "where", "value", "status", "name",    "code", "severity",
                                       "say",   "fix",   "run",    NULL};
    if (!ct_kb_is_map(b, look, "a condition of a check"))
        return;
    ct_kb_check_keys(b, look, keys);
    CtKbRuleSql rule = ct_kb_rule_sql(b, look);
    g_autofree char *sql = rule.sql, *needs = rule.needs;
    const char *level = ct_kb_word(b, look, "level", LEVELS, "warn");
    CtKbSay say = say_of(b, look, "say", TRUE), fix = say_of(b, look, "fix", FALSE);
    if (!sql || !say.en)
        return;
    ct_kb_insert(b, look, "INSERT INTO check_rule VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                 "sissssssss", item, (gint64)ord, level, sql, needs, say.en, say.zh, fix.en, fix.zh,
                 ct_kb_string(b, look, "run", FALSE));
}

static void one(CtKbBuild *b, const CtYaml *check, guint ord)
{
    static const char *const keys[] = {"check", "layer", "title", "applies", "unless", "needs",
                                       "fail",  "warn",  "pass",  "look",    NULL};
    if (!ct_kb_is_map(b, check, "a check"))
        return;
    ct_kb_check_keys(b, check, keys);
    const char *id = ct_kb_string(b, check, "check", TRUE);
    const char *layer = ct_kb_string(b, check, "layer", TRUE);
    CtKbSay title = say_of(b, check, "title", TRUE), pass = say_of(b, check, "pass", TRUE);
    g_autofree char *applies = joined(b, check, "applies", ",");
    g_autofree char *unless = joined(b, check, "unless", ",");
    g_autofree char *needs = joined(b, check, "needs", ";");
    g_autofree char *fail = joined(b, check, "fail", ","), *warn = joined(b, check, "warn", ",");
    if (!needs)
        ct_kb_problem_at(b, check, "`needs` is missing: without it a check never knows that it passed");
    if (!ct_kb_check_id(b, check, id) || !layer || !title.en || !pass.en || !needs)
        return;
    if (!ct_kb_insert(b, check, "INSERT INTO check_item VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                      "sissssssssss", id, (gint64)ord, layer, title.en, title.zh, applies, unless,
                      needs, fail, warn, pass.en, pass.zh))
        return;
    const CtYaml *look = ct_yaml_get(check, "look");
    if (look && look->type != CT_YAML_LIST)
        ct_kb_problem_at(b, look, "`look` is a list of conditions");
    for (guint i = 0; look && look->type == CT_YAML_LIST && i < look->items->len; i++)
        condition(b, look->items->pdata[i], id, i);
}

void ct_kb_build_checks(CtKbBuild *b, const CtYaml *root)
{
    if (root->type != CT_YAML_LIST) {
        ct_kb_problem_at(b, root, "checks.yaml is a list: each check begins with `- check:`");
        return;
    }
    for (guint i = 0; i < root->items->len; i++)
        one(b, root->items->pdata[i], i);
}
