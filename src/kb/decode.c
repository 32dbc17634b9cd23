/* SPDX-License-Identifier: Apache-2.0 */
/* From nodes of a YAML tree to values, with a message at the right place when one is wrong. */
#include "kb/build.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

G_GNUC_PRINTF(4, 0)
static void add_problem(CtKbBuild *b, guint line, guint column, const char *format, va_list ap)
{
    CtKbProblem *p = g_new0(CtKbProblem, 1);
    p->file = g_strdup(b->file);
    p->line = line;
    p->column = column;
    p->text = g_strdup_vprintf(format, ap);
    g_ptr_array_add(b->problems, p);
}

void ct_kb_problem(CtKbBuild *b, guint line, guint column, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    add_problem(b, line, column, format, ap);
    va_end(ap);
}

void ct_kb_problem_at(CtKbBuild *b, const CtYaml *node, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    add_problem(b, node ? node->line : 0, node ? node->column : 0, format, ap);
    va_end(ap);
}

gboolean ct_kb_is_map(CtKbBuild *b, const CtYaml *node, const char *what)
{
    if (node && node->type == CT_YAML_MAP)
        return TRUE;
    ct_kb_problem_at(b, node, "%s must be a mapping of keys to values", what);
    return FALSE;
}

guint ct_kb_distance(const char *a, const char *b)
{
    gsize n = strlen(a), m = strlen(b);
    guint row[65];
    if (n > 64 || m > 64)
        return 99;
    for (gsize j = 0; j <= m; j++)
        row[j] = (guint)j;
    for (gsize i = 1; i <= n; i++) {
        guint diagonal = row[0];
        row[0] = (guint)i;
        for (gsize j = 1; j <= m; j++) {
            guint above = row[j];
            guint change = diagonal + (a[i - 1] != b[j - 1]);
            row[j] = MIN(MIN(row[j] + 1, row[j - 1] + 1), change);
            diagonal = above;
        }
    }
    return row[m];
}

static const char *nearest(const char *word, const char *const *list)
{
    const char *best = NULL;
    guint best_distance = 4;
    for (; *list; list++) {
        guint d = ct_kb_distance(word, *list);
        if (d < best_distance) {
            best = *list;
            best_distance = d;
        }
    }
    return best;
}

void ct_kb_check_keys(CtKbBuild *b, const CtYaml *map, const char *const *allowed)
{
    if (!map || map->type != CT_YAML_MAP)
        return;
    for (guint i = 0; i < map->keys->len; i++) {
        const CtYaml *key = map->keys->pdata[i];
        if (g_strv_contains((const gchar *const *)allowed, key->text))
            continue;
        const char *near = nearest(key->text, allowed);
        if (near) {
            ct_kb_problem_at(b, key, "unknown key `%s`; did you mean `%s`?", key->text, near);
        } else {
            g_autofree char *all = g_strjoinv(", ", (gchar **)allowed);
            ct_kb_problem_at(b, key, "unknown key `%s`; known are %s", key->text, all);
        }
    }
}

static gboolean is_null(const CtYaml *node)
{
    return node->type == CT_YAML_SCALAR && !node->quoted &&
           (!*node->text || strcmp(node->text, "~") == 0 || strcmp(node->text, "null") == 0);
}

static const CtYaml *scalar(CtKbBuild *b, const CtYaml *map, const char *key)
{
    const CtYaml *node = ct_yaml_get(map, key);
    if (!node || is_null(node))
        return NULL;
    if (node->type == CT_YAML_SCALAR)
        return node;
    ct_kb_problem_at(b, node, "`%s` must be a single value", key);
    return NULL;
}

const char *ct_kb_string(CtKbBuild *b, const CtYaml *map, const char *key, gboolean required)
{
    const CtYaml *node = scalar(b, map, key);
    if (node && *node->text)
        return node->text;
    if (required)
        ct_kb_problem_at(b, ct_yaml_get(map, key) ? ct_yaml_get(map, key) : map, "`%s` is missing",
                         key);
    return NULL;
}

const char *ct_kb_word(CtKbBuild *b, const CtYaml *map, const char *key, const char *const *list,
                       const char *fallback)
{
    const CtYaml *node = scalar(b, map, key);
    g_autofree char *all = g_strjoinv(", ", (gchar **)list);
    if (!node && !fallback)
        ct_kb_problem_at(b, map, "`%s` is missing; it is one of %s", key, all);
    if (!node)
        return fallback;
    if (!g_strv_contains((const gchar *const *)list, node->text))
        ct_kb_problem_at(b, node, "`%s: %s` is not one of %s", key, node->text, all);
    return node->text;
}

gint64 ct_kb_int(CtKbBuild *b, const CtYaml *map, const char *key, gint64 fallback)
{
    const CtYaml *node = scalar(b, map, key);
    if (!node)
        return fallback;
    char *end;
    errno = 0;
    gint64 value = g_ascii_strtoll(node->text, &end, 0);
    if (errno || end == node->text || *end)
        ct_kb_problem_at(b, node, "`%s: %s` is not a whole number", key, node->text);
    return value;
}

gboolean ct_kb_double(CtKbBuild *b, const CtYaml *map, const char *key, double *out)
{
    const CtYaml *node = scalar(b, map, key);
    if (!node)
        return FALSE;
    char *end;
    double value = g_ascii_strtod(node->text, &end);
    if (end == node->text || *end || value != value || value > 1e6 || value < -1e6) {
        ct_kb_problem_at(b, node, "`%s: %s` is not a number", key, node->text);
        return FALSE;
    }
    *out = value;
    return TRUE;
}

gboolean ct_kb_bool(CtKbBuild *b, const CtYaml *map, const char *key)
{
    const CtYaml *node = scalar(b, map, key);
    if (!node || strcmp(node->text, "false") == 0)
        return FALSE;
    if (strcmp(node->text, "true") != 0)
        ct_kb_problem_at(b, node, "`%s` must be true or false", key);
    return TRUE;
}

GPtrArray *ct_kb_list(CtKbBuild *b, const CtYaml *map, const char *key)
{
    GPtrArray *out = g_ptr_array_new();
    const CtYaml *node = ct_yaml_get(map, key);
    if (!node || is_null(node))
        return out;
    if (node->type == CT_YAML_SCALAR) {
        g_ptr_array_add(out, (gpointer)node);
        return out;
    }
    if (node->type == CT_YAML_MAP) {
        ct_kb_problem_at(b, node, "`%s` must be a list of values", key);
        return out;
    }
    for (guint i = 0; i < node->items->len; i++) {
        const CtYaml *item = node->items->pdata[i];
        if (item->type == CT_YAML_SCALAR)
            g_ptr_array_add(out, (gpointer)item);
        else
            ct_kb_problem_at(b, item, "entry %u of `%s` must be a single value (quotes missing?)",
                             i + 1, key);
    }
    return out;
}

CtKbSay ct_kb_say(CtKbBuild *b, const CtYaml *node, const char *what)
{
    static const char *const keys[] = {"en", "zh", NULL};
    CtKbSay say = {NULL, NULL};
    if (!node)
        return say;
    if (node->type == CT_YAML_SCALAR) {
        say.en = say.zh = node->text;
        return say;
    }
    if (node->type == CT_YAML_LIST) {
        ct_kb_problem_at(b, node, "%s must be {en: ..., zh: ...}", what);
        return say;
    }
    ct_kb_check_keys(b, node, keys);
    say.en = ct_kb_string(b, node, "en", TRUE);
    say.zh = ct_kb_string(b, node, "zh", FALSE);
    if (!say.zh)
        say.zh = say.en;
    return say;
}

gboolean ct_kb_check_id(CtKbBuild *b, const CtYaml *at, const char *id)
{
    if (!id)
        return FALSE;
    gsize n = strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789-");
    if (!id[n] && n > 0 && n <= 80 && id[0] != '-')
        return TRUE;
    ct_kb_problem_at(b, at, "`%s` is not an id: lower-case letters, digits and dashes", id);
    return FALSE;
}

char *ct_kb_join(const GPtrArray *nodes, const char *separator)
{
    if (nodes->len == 0)
        return NULL;
    GString *s = g_string_new(NULL);
    for (guint i = 0; i < nodes->len; i++) {
        const CtYaml *node = nodes->pdata[i];
        g_string_append_printf(s, "%s%s", i ? separator : "", node->text);
    }
    return g_string_free(s, FALSE);
}

static void json_string(GString *out, const char *text)
{
    g_string_append_c(out, '"');
    for (const char *p = text; *p; p++) {
        if (*p == '"' || *p == '\\')
            g_string_append_printf(out, "\\%c", *p);
        else if ((guchar)*p < 0x20)
            g_string_append_printf(out, "\\u%04x", (guint)(guchar)*p);
        else
            g_string_append_c(out, *p);
    }
    g_string_append_c(out, '"');
}

void ct_kb_json_pair(GString *out, const char *key, const char *value)
{
    g_string_append_c(out, out->len ? ',' : '{');
    json_string(out, key);
    g_string_append_c(out, ':');
    json_string(out, value);
}

gboolean ct_kb_insert(CtKbBuild *b, const CtYaml *at, const char *sql, const char *types, ...)
{
    sqlite3_stmt *stmt = g_hash_table_lookup(b->statements, sql);
    if (!stmt) {
        if (sqlite3_prepare_v2(b->db, sql, -1, &stmt, NULL) != SQLITE_OK)
            g_error("%s: %s", sql, sqlite3_errmsg(b->db));
        g_hash_table_insert(b->statements, g_strdup(sql), stmt);
    }
    va_list ap;
    va_start(ap, types);
    for (int i = 1; types[i - 1]; i++) {
        switch (types[i - 1]) {
        case 's':
            sqlite3_bind_text(stmt, i, va_arg(ap, const char *), -1, SQLITE_TRANSIENT);
            break;
        case 'i':
            sqlite3_bind_int64(stmt, i, va_arg(ap, gint64));
            break;
        case 'd':
            sqlite3_bind_double(stmt, i, va_arg(ap, double));
            break;
        default:
            sqlite3_bind_null(stmt, i);
        }
    }
    va_end(ap);
    int rc = sqlite3_step(stmt);
    if (rc != SQLITE_DONE)
        ct_kb_problem_at(b, at, "%s",
                         sqlite3_extended_errcode(b->db) == SQLITE_CONSTRAINT_PRIMARYKEY
                             ? "this id is used twice"
                             : sqlite3_errmsg(b->db));
    sqlite3_reset(stmt);
    return rc == SQLITE_DONE;
}
