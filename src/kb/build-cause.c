/* SPDX-License-Identifier: Apache-2.0 */
/* causes/LAYER/CAUSE.yaml: one root cause. */
#include "kb/build.h"

#include <string.h>

static const char *const PRIORS[] = {"common", "normal", "rare", NULL};
static const char *const ACTIONS[] = {"none",      "fix-code", "change-config", "restart-process",
                                      "reset-gpu", "reboot",   "drain",         "replace",
                                      NULL};
static const char *const OWNERS[] = {"application", "platform", "driver",
                                     "hardware",    "vendor",   NULL};
static const char *const URGENCIES[] = {"now", "soon", "plan", NULL};

/* The items of a list; a single mapping or sentence counts as a list of one. */
static GPtrArray *items_of(const CtYaml *map, const char *key)
{
    const CtYaml *node = ct_yaml_get(map, key);
    GPtrArray *out = g_ptr_array_new();
    if (!node || (node->type == CT_YAML_SCALAR && !*node->text))
        return out;
    if (node->type != CT_YAML_LIST)
        g_ptr_array_add(out, (gpointer)node);
    else
        for (guint i = 0; i < node->items->len; i++)
            g_ptr_array_add(out, node->items->pdata[i]);
    return out;
}

static void rule_tests(CtKbBuild *b, const CtYaml *rule, const char *cause, const char *id)
{
    static const char *const kinds[] = {"hit", "near", NULL};
    const CtYaml *test = ct_yaml_get(rule, "test");
    if (!test || !ct_kb_is_map(b, test, "`test`"))
        return;
    ct_kb_check_keys(b, test, kinds);
    for (const char *const *kind = kinds; *kind; kind++) {
        g_autoptr(GPtrArray) inputs = ct_kb_list(b, test, *kind);
        for (guint i = 0; i < inputs->len; i++) {
            const CtYaml *input = inputs->pdata[i];
            ct_kb_insert(b, input, "INSERT INTO rule_test VALUES (?, ?, ?, ?)", "ssss", cause, id,
                         *kind, input->text);
        }
    }
}

static const char INSERT_RULE_EVENT[] = "INSERT INTO rule_event VALUES (?,?,?,?,?)";

/* For `explain`: from a code to the causes that ask for it. */
static void rule_events(CtKbBuild *b, const CtYaml *rule, const char *cause, const char *id)
{
    g_autoptr(GPtrArray) kinds = ct_kb_list(b, rule, "event");
    g_autoptr(GPtrArray) codes = ct_kb_list(b, rule, "code");
    g_autoptr(GPtrArray) names = ct_kb_list(b, rule, "name");
    for (guint k = 0; k < kinds->len; k++) {
        const char *kind = ((const CtYaml *)kinds->pdata[k])->text;
        for (guint i = 0; i < codes->len; i++)
            ct_kb_insert(b, rule, INSERT_RULE_EVENT, "sssi0", cause, id, kind,
                         g_ascii_strtoll(((const CtYaml *)codes->pdata[i])->text, NULL, 0));
        for (guint i = 0; i < names->len; i++)
            ct_kb_insert(b, rule, INSERT_RULE_EVENT, "sss0s", cause, id, kind,
                         ((const CtYaml *)names->pdata[i])->text);
        if (codes->len == 0 && names->len == 0)
            ct_kb_insert(b, rule, INSERT_RULE_EVENT, "sss00", cause, id, kind);
    }
}

/* The same for written SQL, as far as it is plain: the row that it returns is an event `e`, with
 * `e.kind = 'xid'` and `e.code = 1` or `e.code IN (1, 2)`. */
static void sql_events(CtKbBuild *b, const CtYaml *rule, const char *sql, const char *cause,
                       const char *id)
{
    static const char event[] = "'event' AS tab, ", row[] = ".id AS row";
    const char *from = strstr(sql, event);
    const char *end = from ? strstr(from, row) : NULL;
    if (!end || end - (from + strlen(event)) > 8)
        return;
    g_autofree char *alias = g_strndup(from + strlen(event), (gsize)(end - from) - strlen(event));
    g_autofree char *kind_is = g_strdup_printf("%s.kind = '", alias);
    g_autofree char *code_is = g_strdup_printf("%s.code ", alias);
    const char *kind = strstr(sql, kind_is), *code = strstr(sql, code_is);
    if (!kind || !code)
        return;
    kind += strlen(kind_is);
    code += strlen(code_is);
    g_autofree char *name = g_strndup(kind, strcspn(kind, "'"));
    gboolean list = g_str_has_prefix(code, "IN (");
    if (!list && !g_str_has_prefix(code, "= "))
        return;
    for (const char *p = code + (list ? 4 : 2);;) {
        char *tail;
        gint64 number = g_ascii_strtoll(p, &tail, 10);
        if (tail == p)
            return;
        ct_kb_insert(b, rule, INSERT_RULE_EVENT, "sssi0", cause, id, name, number);
        tail += strspn(tail, " ");
        if (!list || *tail != ',')
            return;
        p = tail + 1;
    }
}

/* absent: {needs: [coverage], weight: -6} */
static char *absence(CtKbBuild *b, const CtYaml *rule, double *out_weight)
{
    static const char *const keys[] = {"needs", "weight", NULL};
    const CtYaml *absent = ct_yaml_get(rule, "absent");
    if (!absent || !ct_kb_is_map(b, absent, "`absent`"))
        return NULL;
    ct_kb_check_keys(b, absent, keys);
    g_autoptr(GPtrArray) needs = ct_kb_list(b, absent, "needs");
    if (needs->len == 0)
        ct_kb_problem_at(b, absent,
                         "`absent.needs` is missing: absence counts only where somebody looked");
    if (!ct_kb_double(b, absent, "weight", out_weight))
        ct_kb_problem_at(b, absent, "`absent.weight` is missing");
    else if (*out_weight >= 0)
        ct_kb_problem_at(b, absent, "`absent.weight` must be negative");
    return ct_kb_join(needs, ",");
}

static void rule(CtKbBuild *b, const CtYaml *node, const char *cause, guint ord)
{
    static const char *const keys[] = {"id",    "event",    "fact",   "finding", "sql",   "code",
                                       "name",  "severity", "value",  "status",  "where", "needs",
                                       "group", "weight",   "absent", "say",     "test",  NULL};
    if (!ct_kb_is_map(b, node, "a piece of evidence"))
        return;
    ct_kb_check_keys(b, node, keys);
    const char *id = ct_kb_string(b, node, "id", TRUE);
    const char *group = ct_kb_string(b, node, "group", FALSE);
    double weight = 0, absent_weight = 0;
    if (!ct_kb_double(b, node, "weight", &weight))
        ct_kb_problem_at(b, node, "`weight` is missing");
    CtKbSay say = ct_kb_say(b, ct_yaml_get(node, "say"), "`say`");
    if (!say.en)
        ct_kb_problem_at(b, node, "`say` is missing");
    g_autofree char *absent_needs = absence(b, node, &absent_weight);
    CtKbRuleSql sql = ct_kb_rule_sql(b, node);
    g_autofree char *text = sql.sql, *needs = sql.needs;
    if (!ct_kb_check_id(b, node, id) || !text || !say.en)
        return;
    if (!ct_kb_insert(b, node,
                      "INSERT INTO rule (id, cause, evidence_group, sql, needs, weight, "
                      "absent_needs, absent_weight, say_en, say_zh, ord, line) "
                      "VALUES (?1,?2,?3,?4,?5,?6,?7,CASE WHEN ?7 IS NULL THEN NULL ELSE ?8 "
                      "END,?9,?10,?11,?12)",
                      "sssssdsdssii", id, cause, group ? group : id, text, needs, weight,
                      absent_needs, absent_weight, say.en, say.zh, (gint64)ord, (gint64)node->line))
        return;
    if (ct_yaml_get(node, "sql"))
        sql_events(b, node, text, cause, id);
    else
        rule_events(b, node, cause, id);
    rule_tests(b, node, cause, id);
}

static const struct {
    const char *unit;
    double seconds;
} UNITS[] = {{"s", 1},       {"sec", 1},      {"second", 1},  {"seconds", 1}, {"min", 60},
             {"minute", 60}, {"minutes", 60}, {"h", 3600},    {"hour", 3600}, {"hours", 3600},
             {"d", 86400},   {"day", 86400},  {"days", 86400}};

/* "10 s", "2 min", "1 h" */
static double cost(CtKbBuild *b, const CtYaml *node)
{
    const char *text = ct_kb_string(b, node, "cost", TRUE);
    if (!text)
        return 0;
    char *end;
    double value = g_ascii_strtod(text, &end);
    const char *unit = end + strspn(end, " ");
    for (guint i = 0; i < G_N_ELEMENTS(UNITS); i++)
        if (end != text && value >= 0 && value < 1e6 && strcmp(unit, UNITS[i].unit) == 0)
            return value * UNITS[i].seconds;
    ct_kb_problem_at(b, ct_yaml_get(node, "cost"),
                     "`cost: %s` is not a time such as 10 s, 2 min, 1 h", text);
    return 0;
}

static void outcome(CtKbBuild *b, const CtYaml *node, const char *cause, const char *test)
{
    static const char *const keys[] = {"cause", "when", NULL};
    if (!ct_kb_is_map(b, node, "an entry of `tells`"))
        return;
    ct_kb_check_keys(b, node, keys);
    const char *points_to = ct_kb_string(b, node, "cause", TRUE);
    CtKbSay when = ct_kb_say(b, ct_yaml_get(node, "when"), "`when`");
    if (!when.en)
        ct_kb_problem_at(b, node, "`when` is missing");
    if (points_to && when.en)
        ct_kb_insert(b, node, "INSERT INTO next_outcome VALUES (?,?,?,?,?)", "sssss", cause, test,
                     points_to, when.en, when.zh);
}

static void next_test(CtKbBuild *b, const CtYaml *node, const char *cause, guint ord)
{
    static const char *const keys[] = {"test", "run", "cost", "say", "tells", NULL};
    if (!ct_kb_is_map(b, node, "an entry of `next`"))
        return;
    ct_kb_check_keys(b, node, keys);
    const char *test = ct_kb_string(b, node, "test", TRUE);
    CtKbSay say = ct_kb_say(b, ct_yaml_get(node, "say"), "`say`");
    double seconds = cost(b, node);
    if (!ct_kb_check_id(b, node, test))
        return;
    ct_kb_insert(b, node, "INSERT INTO next_test VALUES (?,?,?,?,?,?,?)", "sissdss", cause,
                 (gint64)ord, test, ct_kb_string(b, node, "run", FALSE), seconds, say.en, say.zh);
    g_autoptr(GPtrArray) tells = items_of(node, "tells");
    for (guint i = 0; i < tells->len; i++)
        outcome(b, tells->pdata[i], cause, test);
}

static void advice(CtKbBuild *b, const CtYaml *root, const char *key, const char *kind,
                   const char *cause)
{
    g_autoptr(GPtrArray) lines = items_of(root, key);
    for (guint i = 0; i < lines->len; i++) {
        const CtYaml *node = lines->pdata[i];
        CtKbSay say = ct_kb_say(b, node, key);
        if (say.en)
            ct_kb_insert(b, node, "INSERT INTO advice VALUES (?,?,?,?,?)", "ssiss", cause, kind,
                         (gint64)i, say.en, say.zh);
    }
}

static gboolean head(CtKbBuild *b, const CtYaml *root, const char *layer, const char *stem)
{
    static const char *const action_keys[] = {"do", "owner", "urgency", NULL};
    const char *id = ct_kb_string(b, root, "cause", TRUE);
    const char *written = ct_kb_string(b, root, "layer", TRUE);
    const CtYaml *action = ct_yaml_get(root, "action");
    if (!action)
        ct_kb_problem_at(b, root, "`action` is missing");
    if (!action || !ct_kb_is_map(b, action, "`action`") || !id)
        return FALSE;
    ct_kb_check_keys(b, action, action_keys);
    if (strcmp(id, stem) != 0)
        ct_kb_problem_at(b, ct_yaml_get(root, "cause"), "`cause: %s` must be the name of the file",
                         id);
    if (written && strcmp(written, layer) != 0)
        ct_kb_problem_at(b, ct_yaml_get(root, "layer"),
                         "`layer: %s` must be the name of the folder", written);
    CtKbSay title = ct_kb_say(b, ct_yaml_get(root, "title"), "`title`");
    CtKbSay about = ct_kb_say(b, ct_yaml_get(root, "about"), "`about`");
    if (!title.en)
        ct_kb_problem_at(b, root, "`title` is missing");
    g_autoptr(GPtrArray) keywords = ct_kb_list(b, root, "keywords");
    g_autofree char *joined = ct_kb_join(keywords, ";");
    return title.en &&
           ct_kb_insert(b, root,
                        "INSERT INTO cause (id, layer, topic, title_en, title_zh, about_en, "
                        "about_zh, prior, action, owner, urgency, keywords, file) "
                        "VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)",
                        "sssssssssssss", id, layer, ct_kb_string(b, root, "topic", FALSE), title.en,
                        title.zh, about.en, about.zh, ct_kb_word(b, root, "prior", PRIORS, NULL),
                        ct_kb_word(b, action, "do", ACTIONS, NULL),
                        ct_kb_word(b, action, "owner", OWNERS, NULL),
                        ct_kb_word(b, action, "urgency", URGENCIES, NULL), joined, b->file);
}

void ct_kb_build_cause(CtKbBuild *b, const CtYaml *root, const char *layer, const char *stem)
{
    static const char *const keys[] = {
        "cause",    "layer",    "topic", "title", "about",  "prior",    "action", "keywords",
        "evidence", "explains", "next",  "fix",   "verify", "pitfalls", "refs",   NULL};
    if (!ct_kb_is_map(b, root, "a cause"))
        return;
    ct_kb_check_keys(b, root, keys);
    if (!head(b, root, layer, stem))
        return;
    g_autoptr(GPtrArray) evidence = items_of(root, "evidence");
    for (guint i = 0; i < evidence->len; i++)
        rule(b, evidence->pdata[i], stem, i);
    g_autoptr(GPtrArray) explains = ct_kb_list(b, root, "explains");
    for (guint i = 0; i < explains->len; i++) {
        const CtYaml *e = explains->pdata[i];
        ct_kb_insert(b, e, "INSERT INTO explains VALUES (?, ?)", "ss", stem, e->text);
    }
    g_autoptr(GPtrArray) next = items_of(root, "next");
    for (guint i = 0; i < next->len; i++)
        next_test(b, next->pdata[i], stem, i);
    advice(b, root, "fix", "fix", stem);
    advice(b, root, "verify", "verify", stem);
    advice(b, root, "pitfalls", "pitfall", stem);
    advice(b, root, "refs", "ref", stem);
}
