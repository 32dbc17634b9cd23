/* SPDX-License-Identifier: Apache-2.0 */
/* signatures/NAME.yaml: a list of patterns of lines. */
#include "kb/build.h"

#include <string.h>

static const char *const SEVERITIES[] = {"info", "warning", "error", "fatal", NULL};
static const char *const SCOPES[] = {"any", "kernel", "not-kernel", NULL};

static char *constants(CtKbBuild *b, const CtYaml *sig)
{
    const CtYaml *set = ct_yaml_get(sig, "set");
    if (!set || !ct_kb_is_map(b, set, "`set`"))
        return NULL;
    GString *json = g_string_new(NULL);
    for (guint i = 0; i < set->keys->len; i++) {
        const CtYaml *key = set->keys->pdata[i], *value = set->items->pdata[i];
        if (value->type != CT_YAML_SCALAR)
            ct_kb_problem_at(b, value, "`set.%s` must be a single value", key->text);
        else
            ct_kb_json_pair(json, key->text, value->text);
    }
    if (json->len)
        g_string_append_c(json, '}');
    return g_string_free(json, json->len == 0);
}

static void tests(CtKbBuild *b, const CtYaml *sig, const char *id)
{
    static const char *const kinds[] = {"hit", "near", NULL};
    const CtYaml *test = ct_yaml_get(sig, "test");
    if (!test || !ct_kb_is_map(b, test, "`test`"))
        return;
    ct_kb_check_keys(b, test, kinds);
    for (const char *const *kind = kinds; *kind; kind++) {
        g_autoptr(GPtrArray) lines = ct_kb_list(b, test, *kind);
        for (guint i = 0; i < lines->len; i++) {
            const CtYaml *line = lines->pdata[i];
            ct_kb_insert(b, line, "INSERT INTO signature_test VALUES (?, ?, ?)", "sss", id, *kind,
                         line->text);
        }
    }
}

static void one(CtKbBuild *b, const CtYaml *sig)
{
    static const char *const keys[] = {"id",       "kind",    "fact",   "severity", "scope",
                                       "anchors",  "pattern", "family", "set",      "nocase",
                                       "priority", "test",    NULL};
    if (!ct_kb_is_map(b, sig, "a signature"))
        return;
    ct_kb_check_keys(b, sig, keys);
    const char *id = ct_kb_string(b, sig, "id", TRUE);
    const char *pattern = ct_kb_string(b, sig, "pattern", TRUE);
    const char *kind = ct_kb_string(b, sig, "kind", FALSE);
    const char *fact = ct_kb_string(b, sig, "fact", FALSE);
    const char *severity = ct_kb_word(b, sig, "severity", SEVERITIES, fact ? "info" : "error");
    const char *scope = ct_kb_word(b, sig, "scope", SCOPES, "any");
    gboolean nocase = ct_kb_bool(b, sig, "nocase");
    if (!kind == !fact)
        ct_kb_problem_at(b, sig, "a signature has exactly one of `kind`, `fact`");
    g_autoptr(GPtrArray) anchors = ct_kb_list(b, sig, "anchors");
    if (anchors->len == 0)
        ct_kb_problem_at(b, sig, "`anchors` is missing: without one the line is never looked at");
    if (!ct_kb_check_id(b, sig, id) || !pattern || !kind == !fact)
        return;
    g_autofree char *fact_kind = fact ? g_strdup_printf("fact:%s", fact) : NULL;
    g_autofree char *set = constants(b, sig);
    if (!ct_kb_insert(b, sig,
                      "INSERT INTO signature (id, file, kind, severity, scope, pattern, nocase, "
                      "family, fields, priority, ord, line) VALUES (?,?,?,?,?,?,?,?,?,?,?,?)",
                      "ssssssissiii", id, b->file, fact ? fact_kind : kind, severity, scope,
                      pattern, (gint64)nocase, ct_kb_string(b, sig, "family", FALSE), set,
                      ct_kb_int(b, sig, "priority", 0), (gint64)b->signatures++, (gint64)sig->line))
        return;
    for (guint i = 0; i < anchors->len; i++) {
        const CtYaml *a = anchors->pdata[i];
        if (!*a->text)
            ct_kb_problem_at(b, a, "an anchor must not be empty");
        ct_kb_insert(b, a, "INSERT INTO anchor VALUES (?, ?, ?)", "ssi", id, a->text,
                     (gint64)nocase);
    }
    tests(b, sig, id);
}

void ct_kb_build_signatures(CtKbBuild *b, const CtYaml *root)
{
    if (root->type != CT_YAML_LIST) {
        ct_kb_problem_at(b, root, "a file of signatures is a list: each begins with `- id:`");
        return;
    }
    for (guint i = 0; i < root->items->len; i++)
        one(b, root->items->pdata[i]);
}
