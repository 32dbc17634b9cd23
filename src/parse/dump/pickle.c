/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nodes and the cells of lists lie in two flat arrays, so that shared and even circular values
 * cost nothing and are freed at once. A pickle is a program of a stack machine; the part of it
 * that makes plain values is carried out here, and the part that imports or calls makes opaque
 * nodes.
 */
#include "parse/dump/pickle.h"

#include <jansson.h>
#include <string.h>

#define MAX_NODES 8000000u
#define MAX_STACK 4000000u
#define MAX_JSON_DEPTH 64u

typedef struct {
    guint8 type; /* CtPyType, or MARK */
    guint32 first, last, count; /* cells of a container */
    union {
        gint64 number;
        double real;
        struct {
            gsize offset;
        } text;
    };
    guint32 text_len;
} Node;

typedef struct {
    guint32 node, next;
} Cell;

#define MARK 100

struct CtPyTree {
    const char *text; /* what the offsets of texts refer to */
    char *owned;
    GArray *nodes, *cells; /* [0] of each is unused */
    CtPyNode root;
};

typedef struct {
    const guint8 *start, *p, *end;
    CtPyTree *tree;
    GArray *stack, *memo; /* CtPyNode */
    gboolean full;
} Machine;

static Node *node_at(const CtPyTree *t, CtPyNode n)
{
    return &g_array_index(t->nodes, Node, n);
}

static CtPyTree *tree_new(const char *text)
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

static CtPyNode make(CtPyTree *t, guint8 type)
{
    if (t->nodes->len >= MAX_NODES)
        return 0;
    Node n = {.type = type};
    g_array_append_val(t->nodes, n);
    return t->nodes->len - 1;
}

static gboolean add(CtPyTree *t, CtPyNode container, CtPyNode child)
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

/* ---- the machine ---- */

static CtPyNode push(Machine *m, guint8 type)
{
    CtPyNode n = make(m->tree, type);
    if (!n || m->stack->len >= MAX_STACK)
        m->full = TRUE;
    else
        g_array_append_val(m->stack, n);
    return n;
}

static CtPyNode top(Machine *m)
{
    CtPyNode n = m->stack->len ? g_array_index(m->stack, CtPyNode, m->stack->len - 1) : 0;
    return n && node_at(m->tree, n)->type != MARK ? n : 0;
}

static CtPyNode pop(Machine *m)
{
    CtPyNode n = top(m);
    if (n)
        g_array_set_size(m->stack, m->stack->len - 1);
    return n;
}

static gboolean again(Machine *m, CtPyNode n)
{
    if (!n || m->stack->len >= MAX_STACK)
        return FALSE;
    g_array_append_val(m->stack, n);
    return TRUE;
}

static gboolean number_of(Machine *m, guint bytes, guint64 *out)
{
    if ((gsize)(m->end - m->p) < bytes)
        return FALSE;
    *out = 0;
    for (guint i = 0; i < bytes; i++)
        *out |= (guint64)m->p[i] << (8 * i);
    m->p += bytes;
    return TRUE;
}

static gboolean push_int(Machine *m, gint64 v)
{
    CtPyNode n = push(m, CT_PY_INT);
    if (n)
        node_at(m->tree, n)->number = v;
    return n != 0;
}

static gboolean binary_int(Machine *m, guint bytes)
{
    guint64 v;
    return number_of(m, bytes, &v) && push_int(m, bytes == 4 ? (gint32)v : (gint64)v);
}

static gboolean text_at(Machine *m, const guint8 *at, gsize len, guint8 type)
{
    CtPyNode n = push(m, type);
    if (!n)
        return FALSE;
    node_at(m->tree, n)->text.offset = (gsize)(at - m->start);
    node_at(m->tree, n)->text_len = (guint32)MIN(len, (gsize)G_MAXUINT32);
    return TRUE;
}

static gboolean counted_text(Machine *m, guint size_bytes)
{
    guint64 len;
    if (!number_of(m, size_bytes, &len) || len > (guint64)(m->end - m->p))
        return FALSE;
    m->p += len;
    return text_at(m, m->p - len, (gsize)len, CT_PY_TEXT);
}

/* Beyond 64 bits the value is not needed by anybody. */
static gboolean long_int(Machine *m, guint size_bytes)
{
    guint64 len, v = 0;
    if (!number_of(m, size_bytes, &len) || len > (guint64)(m->end - m->p))
        return FALSE;
    if (len > 0 && m->p[len - 1] & 0x80)
        v = G_MAXUINT64;
    for (guint i = 0; i < MIN(len, (guint64)8); i++)
        v = (v & ~((guint64)0xff << (8 * i))) | (guint64)m->p[i] << (8 * i);
    m->p += len;
    return len > 9 ? push(m, CT_PY_NONE) != 0 : push_int(m, (gint64)v);
}

static gboolean real(Machine *m)
{
    guint64 bits = 0;
    double v;
    if (m->end - m->p < 8)
        return FALSE;
    for (guint i = 0; i < 8; i++)
        bits = bits << 8 | *m->p++; /* big endian, unlike the rest */
    memcpy(&v, &bits, sizeof v);
    CtPyNode n = push(m, CT_PY_REAL);
    if (n)
        node_at(m->tree, n)->real = v;
    return n != 0;
}

/* An argument of the old text protocol, up to the line's end. */
static gboolean text_line(Machine *m, CtStr *out)
{
    const guint8 *nl = memchr(m->p, '\n', (gsize)(m->end - m->p));
    if (!nl)
        return FALSE;
    *out = ct_str((const char *)m->p, (gsize)(nl - m->p));
    m->p = nl + 1;
    return TRUE;
}

static gboolean text_number(Machine *m, gboolean is_real)
{
    CtStr s;
    double v;
    if (!text_line(m, &s))
        return FALSE;
    if (s.n > 0 && s.p[s.n - 1] == 'L')
        s.n--;
    if (!ct_str_number(s, &v))
        return push(m, CT_PY_NONE) != 0;
    if (!is_real && v > -9e18 && v < 9e18)
        return push_int(m, (gint64)v);
    CtPyNode n = push(m, CT_PY_REAL);
    if (n)
        node_at(m->tree, n)->real = v;
    return n != 0;
}

static gboolean text_string(Machine *m)
{
    CtStr s;
    if (!text_line(m, &s))
        return FALSE;
    if (s.n >= 2 && (s.p[0] == '\'' || s.p[0] == '"'))
        s = ct_str(s.p + 1, s.n - 2);
    return text_at(m, (const guint8 *)s.p, s.n, CT_PY_TEXT);
}

/* "c module\nname\n" */
static gboolean global(Machine *m)
{
    CtStr ignored;
    return text_line(m, &ignored) && text_line(m, &ignored) && push(m, CT_PY_OPAQUE);
}

static gssize after_mark(Machine *m)
{
    for (gsize i = m->stack->len; i > 0; i--)
        if (node_at(m->tree, g_array_index(m->stack, CtPyNode, i - 1))->type == MARK)
            return (gssize)i;
    return -1;
}

/* Takes what stands above the mark, and the mark, into the container; 0 drops it. */
static gboolean take_marked(Machine *m, CtPyNode container)
{
    gssize from = after_mark(m);
    if (from < 0)
        return FALSE;
    for (gsize i = (gsize)from; container && i < m->stack->len; i++)
        if (!add(m->tree, container, g_array_index(m->stack, CtPyNode, i)))
            return FALSE;
    g_array_set_size(m->stack, (guint)from - 1);
    return TRUE;
}

static gboolean marked(Machine *m, guint8 type)
{
    CtPyNode n = make(m->tree, type);
    return n && take_marked(m, n) && again(m, n);
}

static gboolean tuple(Machine *m, guint n)
{
    CtPyNode kids[3], t;
    for (guint i = 0; i < n; i++)
        if (!(kids[i] = pop(m)))
            return FALSE;
    if (!(t = push(m, CT_PY_LIST)))
        return FALSE;
    for (guint i = n; i > 0; i--)
        if (!add(m->tree, t, kids[i - 1]))
            return FALSE;
    return TRUE;
}

/* APPENDS, SETITEMS: the container is what lies beneath the mark. */
static gboolean extend_marked(Machine *m)
{
    gssize from = after_mark(m);
    if (from < 2)
        return FALSE;
    CtPyNode container = g_array_index(m->stack, CtPyNode, from - 2);
    guint8 type = node_at(m->tree, container)->type;
    gboolean holds = type == CT_PY_LIST || type == CT_PY_DICT;
    return type != MARK && take_marked(m, holds ? container : 0);
}

static gboolean extend(Machine *m, guint n)
{
    CtPyNode kids[2];
    for (guint i = 0; i < n; i++)
        if (!(kids[i] = pop(m)))
            return FALSE;
    CtPyNode to = top(m);
    if (!to)
        return FALSE;
    guint8 type = node_at(m->tree, to)->type;
    if (type != CT_PY_LIST && type != CT_PY_DICT)
        return TRUE; /* of an opaque value */
    for (guint i = n; i > 0; i--)
        if (!add(m->tree, to, kids[i - 1]))
            return FALSE;
    return TRUE;
}

static gboolean put(Machine *m, guint64 i)
{
    CtPyNode n = top(m);
    if (!n || i > MAX_NODES)
        return FALSE;
    if (i >= m->memo->len)
        g_array_set_size(m->memo, (guint)i + 1);
    g_array_index(m->memo, CtPyNode, i) = n;
    return TRUE;
}

static gboolean binary_put(Machine *m, guint bytes)
{
    guint64 i;
    return number_of(m, bytes, &i) && put(m, i);
}

static gboolean get(Machine *m, guint bytes)
{
    guint64 i;
    return number_of(m, bytes, &i) && i < m->memo->len &&
           again(m, g_array_index(m->memo, CtPyNode, i));
}

static gboolean text_memo(Machine *m, gboolean is_put)
{
    CtStr s;
    gint64 i;
    if (!text_line(m, &s) || !ct_str_uint(s, &i))
        return FALSE;
    if (is_put)
        return put(m, (guint64)i);
    return i < (gint64)m->memo->len && again(m, g_array_index(m->memo, CtPyNode, i));
}

/* n values become one opaque one. */
static gboolean opaque(Machine *m, guint n)
{
    while (n-- > 0)
        if (!pop(m))
            return FALSE;
    return push(m, CT_PY_OPAQUE) != 0;
}

static gboolean skip(Machine *m, guint n)
{
    guint64 ignored;
    return number_of(m, n, &ignored);
}

static gboolean step_old(Machine *m, guint8 op)
{
    CtStr ignored;
    switch (op) {
    case 'I': case 'L': return text_number(m, FALSE);
    case 'F': return text_number(m, TRUE);
    case 'S': case 'V': return text_string(m);
    case 'p': return text_memo(m, TRUE);
    case 'g': return text_memo(m, FALSE);
    case 'P': return text_line(m, &ignored) && push(m, CT_PY_OPAQUE);
    case 'i': return global(m) && pop(m) && take_marked(m, 0) && push(m, CT_PY_OPAQUE);
    case 'o': return take_marked(m, 0) && push(m, CT_PY_OPAQUE);
    default: return FALSE;
    }
}

static gboolean step(Machine *m, guint8 op)
{
    switch (op) {
    case 0x80: return skip(m, 1);
    case 0x95: return skip(m, 8);
    case '(': return push(m, MARK) != 0;
    case '0': return pop(m) != 0;
    case '1': return take_marked(m, 0);
    case '2': return again(m, top(m));
    case 'J': return binary_int(m, 4);
    case 'K': return binary_int(m, 1);
    case 'M': return binary_int(m, 2);
    case 0x8a: return long_int(m, 1);
    case 0x8b: return long_int(m, 4);
    case 'N': return push(m, CT_PY_NONE) != 0;
    case 0x88: return push_int(m, 1);
    case 0x89: return push_int(m, 0);
    case 'G': return real(m);
    case 'X': case 'B': case 'T': return counted_text(m, 4);
    case 0x8c: case 'C': case 'U': return counted_text(m, 1);
    case 0x8d: case 0x8e: case 0x96: return counted_text(m, 8);
    case ')': case ']': case 0x8f: return push(m, CT_PY_LIST) != 0;
    case 't': case 'l': case 0x91: return marked(m, CT_PY_LIST);
    case 'd': return marked(m, CT_PY_DICT);
    case '}': return push(m, CT_PY_DICT) != 0;
    case 0x85: return tuple(m, 1);
    case 0x86: return tuple(m, 2);
    case 0x87: return tuple(m, 3);
    case 'a': return extend(m, 1);
    case 's': return extend(m, 2);
    case 'e': case 'u': case 0x90: return extend_marked(m);
    case 'q': return binary_put(m, 1);
    case 'r': return binary_put(m, 4);
    case 0x94: return put(m, m->memo->len);
    case 'h': return get(m, 1);
    case 'j': return get(m, 4);
    case 'c': return global(m);
    case 0x93: case 'R': case 0x81: return opaque(m, 2);
    case 0x92: return opaque(m, 3);
    case 'Q': return opaque(m, 1);
    case 'b': return pop(m) != 0;
    case 0x82: return skip(m, 1) && push(m, CT_PY_OPAQUE);
    case 0x83: return skip(m, 2) && push(m, CT_PY_OPAQUE);
    case 0x84: return skip(m, 4) && push(m, CT_PY_OPAQUE);
    case 0x97: return push(m, CT_PY_OPAQUE) != 0;
    case 0x98: return TRUE;
    default: return step_old(m, op);
    }
}

CtPyTree *ct_py_read_pickle(const guint8 *data, gsize len, const char **why)
{
    CtPyTree *t = tree_new((const char *)data);
    Machine m = {data, data, data + len, t, g_array_new(FALSE, TRUE, sizeof(CtPyNode)),
                 g_array_new(FALSE, TRUE, sizeof(CtPyNode)), FALSE};
    gboolean ok = TRUE;
    while (ok && m.p < m.end && *m.p != '.')
        ok = step(&m, *m.p++) && !m.full;
    if (ok && m.p < m.end)
        t->root = top(&m);
    *why = m.full ? "a pickle of more values than are read" : "a pickle that is cut or damaged";
    g_array_unref(m.stack);
    g_array_unref(m.memo);
    if (!t->root)
        g_clear_pointer(&t, ct_py_free);
    return t;
}

/* ---- JSON ---- */

static CtPyNode json_text(CtPyTree *t, GString *text, const char *s, gsize len)
{
    CtPyNode n = make(t, CT_PY_TEXT);
    if (n) {
        node_at(t, n)->text.offset = text->len;
        node_at(t, n)->text_len = (guint32)len;
        g_string_append_len(text, s, (gssize)len);
    }
    return n;
}

static CtPyNode json_node(CtPyTree *t, GString *text, json_t *j, guint depth)
{
    CtPyNode n = 0, kid;
    const char *key;
    json_t *value;
    size_t i;
    switch (json_typeof(j)) {
    case JSON_OBJECT:
        n = make(t, CT_PY_DICT);
        if (n && depth < MAX_JSON_DEPTH)
            json_object_foreach(j, key, value) {
                kid = json_text(t, text, key, strlen(key));
                if (!add(t, n, kid) || !add(t, n, json_node(t, text, value, depth + 1)))
                    return 0;
            }
        return n;
    case JSON_ARRAY:
        n = make(t, CT_PY_LIST);
        if (n && depth < MAX_JSON_DEPTH)
            json_array_foreach(j, i, value)
                if (!add(t, n, json_node(t, text, value, depth + 1)))
                    return 0;
        return n;
    case JSON_STRING:
        return json_text(t, text, json_string_value(j), json_string_length(j));
    case JSON_REAL:
        if ((n = make(t, CT_PY_REAL)))
            node_at(t, n)->real = json_real_value(j);
        return n;
    case JSON_NULL:
        return make(t, CT_PY_NONE);
    default:
        if ((n = make(t, CT_PY_INT)))
            node_at(t, n)->number = json_is_integer(j) ? json_integer_value(j) : json_is_true(j);
        return n;
    }
}

CtPyTree *ct_py_read_json(const char *data, gsize len, const char **why)
{
    json_error_t error;
    json_t *j = json_loadb(data, len, JSON_DISABLE_EOF_CHECK | JSON_DECODE_ANY, &error);
    *why = "JSON that is cut or damaged";
    if (!j)
        return NULL;
    CtPyTree *t = tree_new(NULL);
    GString *text = g_string_sized_new(len / 2 + 1);
    t->root = json_node(t, text, j, 0);
    json_decref(j);
    t->owned = g_string_free(text, FALSE);
    t->text = t->owned;
    if (!t->root)
        g_clear_pointer(&t, ct_py_free);
    return t;
}

/* ---- reading ---- */

CtPyNode ct_py_root(const CtPyTree *tree)
{
    return tree->root;
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

CtStr ct_py_text(const CtPyTree *tree, CtPyNode node)
{
    if (ct_py_type(tree, node) != CT_PY_TEXT)
        return ct_str("", 0);
    const Node *n = node_at(tree, node);
    return ct_str(tree->text + n->text.offset, n->text_len);
}

gboolean ct_py_int(const CtPyTree *tree, CtPyNode node, gint64 *out)
{
    if (ct_py_type(tree, node) == CT_PY_TEXT)
        return ct_text_int(ct_py_text(tree, node).p, ct_py_text(tree, node).n, out);
    if (ct_py_type(tree, node) != CT_PY_INT)
        return FALSE;
    *out = node_at(tree, node)->number;
    return TRUE;
}

gboolean ct_py_number(const CtPyTree *tree, CtPyNode node, double *out)
{
    gint64 n;
    if (ct_py_type(tree, node) == CT_PY_REAL) {
        *out = node_at(tree, node)->real;
        return *out == *out;
    }
    if (!ct_py_int(tree, node, &n))
        return FALSE;
    *out = (double)n;
    return TRUE;
}

CtPyIter ct_py_iter(const CtPyTree *tree, CtPyNode container)
{
    CtPyType type = ct_py_type(tree, container);
    CtPyIter it = {.dict = type == CT_PY_DICT};
    if (type == CT_PY_LIST || type == CT_PY_DICT)
        it.cell = node_at(tree, container)->first;
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

CtPyNode ct_py_get(const CtPyTree *tree, CtPyNode dict, const char *key)
{
    if (ct_py_type(tree, dict) != CT_PY_DICT)
        return 0;
    for (CtPyIter it = ct_py_iter(tree, dict); ct_py_next(tree, &it);)
        if (ct_str_eq(ct_py_text(tree, it.key), key))
            return it.value;
    return 0;
}
