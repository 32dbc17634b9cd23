/* SPDX-License-Identifier: Apache-2.0 */
#include "kb/yaml-tree.h"

#include <string.h>
#include <yaml.h>

#define MAX_DEPTH 16u
#define MAX_NODES 200000u

typedef struct {
    yaml_parser_t parser;
    CtYaml *root;
    CtYaml *stack[MAX_DEPTH];
    guint depth, nodes;
    CtYaml *key[MAX_DEPTH]; /* a map's key that waits for its value */
    guint line, column;
    char *message;
} Loader;

void ct_yaml_free(CtYaml *node)
{
    if (!node)
        return;
    g_free(node->text);
    g_clear_pointer(&node->keys, g_ptr_array_unref);
    g_clear_pointer(&node->items, g_ptr_array_unref);
    g_free(node);
}

static void free_node(gpointer node)
{
    ct_yaml_free(node);
}

const CtYaml *ct_yaml_get(const CtYaml *map, const char *key)
{
    if (!map || map->type != CT_YAML_MAP)
        return NULL;
    for (guint i = 0; i < map->keys->len; i++) {
        const CtYaml *k = map->keys->pdata[i];
        if (strcmp(k->text, key) == 0)
            return map->items->pdata[i];
    }
    return NULL;
}

static gboolean fail(Loader *l, yaml_mark_t mark, char *message)
{
    l->line = (guint)mark.line + 1;
    l->column = (guint)mark.column + 1;
    g_free(l->message);
    l->message = message;
    return FALSE;
}

static CtYaml *node_new(CtYamlType type, yaml_mark_t mark)
{
    CtYaml *node = g_new0(CtYaml, 1);
    node->type = type;
    node->line = (guint)mark.line + 1;
    node->column = (guint)mark.column + 1;
    if (type != CT_YAML_SCALAR)
        node->items = g_ptr_array_new_with_free_func(free_node);
    if (type == CT_YAML_MAP)
        node->keys = g_ptr_array_new_with_free_func(free_node);
    return node;
}

/* Takes the node, also on failure. */
static gboolean place(Loader *l, CtYaml *node, yaml_mark_t mark)
{
    if (++l->nodes > MAX_NODES) {
        ct_yaml_free(node);
        return fail(l, mark, g_strdup("the file holds too many values"));
    }
    if (l->depth == 0) {
        if (l->root) {
            ct_yaml_free(node);
            return fail(l, mark, g_strdup("more than one document in the file"));
        }
        l->root = node;
        return TRUE;
    }
    CtYaml *top = l->stack[l->depth - 1];
    CtYaml **key = &l->key[l->depth - 1];
    if (top->type == CT_YAML_LIST || *key) {
        if (top->type == CT_YAML_MAP)
            g_ptr_array_add(top->keys, g_steal_pointer(key));
        g_ptr_array_add(top->items, node);
        return TRUE;
    }
    if (node->type != CT_YAML_SCALAR) {
        ct_yaml_free(node);
        return fail(l, mark, g_strdup("a key must be a plain word"));
    }
    if (ct_yaml_get(top, node->text)) {
        char *message = g_strdup_printf("key `%s` stands twice", node->text);
        ct_yaml_free(node);
        return fail(l, mark, message);
    }
    *key = node;
    return TRUE;
}

static gboolean push(Loader *l, CtYamlType type, yaml_mark_t mark)
{
    if (l->depth == MAX_DEPTH)
        return fail(l, mark, g_strdup("nested too deeply"));
    CtYaml *node = node_new(type, mark);
    if (!place(l, node, mark))
        return FALSE;
    /* A list or map as a key was refused by place(), so node is in the tree now. */
    l->key[l->depth] = NULL;
    l->stack[l->depth++] = node;
    return TRUE;
}

static gboolean take_scalar(Loader *l, const yaml_event_t *e)
{
    const char *value = (const char *)e->data.scalar.value;
    if (strlen(value) != e->data.scalar.length)
        return fail(l, e->start_mark, g_strdup("NUL byte in a value"));
    CtYaml *node = node_new(CT_YAML_SCALAR, e->start_mark);
    node->text = g_strdup(value);
    node->quoted = e->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    return place(l, node, e->start_mark);
}

static gboolean take(Loader *l, const yaml_event_t *e)
{
    switch (e->type) {
    case YAML_SCALAR_EVENT:
        return take_scalar(l, e);
    case YAML_SEQUENCE_START_EVENT:
        return push(l, CT_YAML_LIST, e->start_mark);
    case YAML_MAPPING_START_EVENT:
        return push(l, CT_YAML_MAP, e->start_mark);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        l->depth--;
        return TRUE;
    case YAML_ALIAS_EVENT:
        return fail(l, e->start_mark, g_strdup("aliases (*name) are not allowed"));
    default:
        return TRUE;
    }
}

static gboolean run(Loader *l)
{
    for (;;) {
        yaml_event_t e;
        if (!yaml_parser_parse(&l->parser, &e)) {
            const yaml_parser_t *p = &l->parser;
            return fail(l, p->problem_mark,
                        g_strdup_printf("%s%s%s", p->problem ? p->problem : "not YAML",
                                        p->context ? " " : "", p->context ? p->context : ""));
        }
        gboolean ok = take(l, &e), end = e.type == YAML_STREAM_END_EVENT;
        yaml_event_delete(&e);
        if (!ok || end)
            return ok;
    }
}

CtYaml *ct_yaml_load(const char *data, gsize len, guint *out_line, guint *out_column,
                     char **out_message)
{
    Loader l = {.line = 1, .column = 1};
    if (!yaml_parser_initialize(&l.parser))
        g_error("out of memory");
    yaml_parser_set_input_string(&l.parser, (const unsigned char *)data, len);
    gboolean ok = run(&l);
    yaml_parser_delete(&l.parser);
    for (guint i = 0; i < l.depth; i++)
        ct_yaml_free(l.key[i]);
    if (ok && l.root)
        return l.root;
    ct_yaml_free(l.root);
    *out_line = l.line;
    *out_column = l.column;
    *out_message = l.message ? l.message : g_strdup("the file is empty");
    return NULL;
}
