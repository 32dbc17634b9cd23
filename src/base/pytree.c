/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nodes and the cells of lists lie in two flat arrays, so that shared and even circular values cost
 * nothing and are freed at once.
 */
#include "base/pytree.h"

#include <string.h>

#define MAX_NODES 8000000u

typedef struct {
    guint8 type;                /* CtPyType */
    guint32 first, last, count; /* cells of a container */
    union {
        gint64 number;
        double real;
        gsize offset;
    };
    guint32 text_len;
} Node;

typedef struct {
    guint32 node, next;
} Cell;

struct CtPyTree {
    const char *text;
    char *owned;
    GArray *nodes, *cells; /* [0] of each is unused */
    CtPyNode root;
};

static Node *node_at(const CtPyTree *t, CtPyNode n)
{
    return &g_array_index(t->nodes, Node, n);
}

CtPyTree *ct_py_tree_new(const char *text)
{
    CtPyTree *t = g_new0(CtPyTree, 1);
    t->text = text;
    t->nodes = g_array_sized_new(FALSE, TRUE, sizeof(Node), 1024);
    t->cells = g_array_sized_new(FALSE, TRUE, sizeof(Cell), 1024);
    g_array_set_size(t->nodes, 1);
    g_array_set_size(t->cells, 1);
    return t;
}

void ct_py_free(CtPyTree *tree)
{
    if (!tree)
        return;
    g_array_unref(tree->nodes);
    g_array_unref(tree->cells);
    g_free(tree->owned);
    g_free(tree);
}

void ct_py_tree_own(CtPyTree *tree, char *text)
{
    g_free(tree->owned);
    tree->text = tree->owned = text;
}

void ct_py_tree_set_root(CtPyTree *tree, CtPyNode node)
{
    tree->root = node;
}

CtPyNode ct_py_make(CtPyTree *t, CtPyType type)
{
    if (t->nodes->len >= MAX_NODES)
        return 0;
    Node n = {.type = (guint8)type};
    g_array_append_val(t->nodes, n);
    return t->nodes->len - 1;
}

CtPyNode ct_py_make_int(CtPyTree *t, gint64 v)
{
    CtPyNode n = ct_py_make(t, CT_PY_INT);
    if (n)
        node_at(t, n)->number = v;
    return n;
}

CtPyNode ct_py_make_real(CtPyTree *t, double v)
{
    CtPyNode n = ct_py_make(t, CT_PY_REAL);
    if (n)
        node_at(t, n)->real = v;
    return n;
}

CtPyNode ct_py_make_text(CtPyTree *t, gsize offset, gsize len)
{
    CtPyNode n = ct_py_make(t, CT_PY_TEXT);
    if (n) {
        node_at(t, n)->offset = offset;
        node_at(t, n)->text_len = (guint32)MIN(len, (gsize)G_MAXUINT32);
    }
    return n;
}

gboolean ct_py_add(CtPyTree *t, CtPyNode container, CtPyNode child)
{
    Cell cell = {.node = child};
    if (!child || t->cells->len >= 2 * MAX_NODES)
        return FALSE;
    g_array_append_val(t->cells, cell);
    guint32 at = t->cells->len - 1;
    Node *n = node_at(t, container);
    if (n->last)
        g_array_index(t->cells, Cell, n->last).next = at;
    else
        n->first = at;
    n->last = at;
    n->count++;
    return TRUE;
}

CtPyNode ct_py_root(const CtPyTree *tree)
{
    return tree->root;
}

gsize ct_py_nodes(const CtPyTree *tree)
{
    return tree->nodes->len;
}

CtPyType ct_py_type(const CtPyTree *tree, CtPyNode node)
{
    return node ? (CtPyType)node_at(tree, node)->type : CT_PY_NONE;
}

gsize ct_py_count(const CtPyTree *tree, CtPyNode node)
{
    CtPyType type = ct_py_type(tree, node);
    if (type != CT_PY_LIST && type != CT_PY_DICT)
        return 0;
    return type == CT_PY_DICT ? node_at(tree, node)->count / 2 : node_at(tree, node)->count;
}

const char *ct_py_chars(const CtPyTree *tree, CtPyNode node, gsize *out_len)
{
    gboolean is_text = ct_py_type(tree, node) == CT_PY_TEXT;
    *out_len = is_text ? node_at(tree, node)->text_len : 0;
    return is_text ? tree->text + node_at(tree, node)->offset : "";
}

gboolean ct_py_is(const CtPyTree *tree, CtPyNode node, const char *text)
{
    gsize len;
    const char *chars = ct_py_chars(tree, node, &len);
    return ct_py_type(tree, node) == CT_PY_TEXT && len == strlen(text) &&
           memcmp(chars, text, len) == 0;
}

gboolean ct_py_whole(const CtPyTree *tree, CtPyNode node, gint64 *out)
{
    if (ct_py_type(tree, node) != CT_PY_INT)
        return FALSE;
    *out = node_at(tree, node)->number;
    return TRUE;
}

gboolean ct_py_real(const CtPyTree *tree, CtPyNode node, double *out)
{
    if (ct_py_type(tree, node) != CT_PY_REAL)
        return FALSE;
    *out = node_at(tree, node)->real;
    return TRUE;
}

CtPyIter ct_py_iter_kids(const CtPyTree *tree, CtPyNode node)
{
    return (CtPyIter){.cell = node ? node_at(tree, node)->first : 0};
}

CtPyIter ct_py_iter(const CtPyTree *tree, CtPyNode container)
{
    CtPyType type = ct_py_type(tree, container);
    CtPyIter it = {0};
    if (type == CT_PY_LIST || type == CT_PY_DICT)
        it = ct_py_iter_kids(tree, container);
    it.dict = type == CT_PY_DICT;
    return it;
}

gboolean ct_py_next(const CtPyTree *tree, CtPyIter *it)
{
    if (!it->cell)
        return FALSE;
    const Cell *c = &g_array_index(tree->cells, Cell, it->cell);
    it->key = it->dict ? c->node : 0;
    if (it->dict) {
        if (!c->next)
            return FALSE;
        c = &g_array_index(tree->cells, Cell, c->next);
    }
    it->value = c->node;
    it->cell = c->next;
    return TRUE;
}

CtPyNode ct_py_kid(const CtPyTree *tree, CtPyNode node, guint i)
{
    for (CtPyIter it = ct_py_iter_kids(tree, node); ct_py_next(tree, &it); i--)
        if (i == 0)
            return it.value;
    return 0;
}

CtPyNode ct_py_get(const CtPyTree *tree, CtPyNode dict, const char *key)
{
    if (ct_py_type(tree, dict) != CT_PY_DICT)
        return 0;
    for (CtPyIter it = ct_py_iter(tree, dict); ct_py_next(tree, &it);)
        if (ct_py_is(tree, it.key, key))
            return it.value;
    return 0;
}
