/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor/pickle.h"

#include <string.h>

#include "tensor/reader.h"

#define MAX_NODES 4000000u
#define MAX_STACK 1000000u
#define MAX_TEXT (1u << 20)

typedef struct {
    const guint8 *p, *end;
    CtPickle *out;
    GPtrArray *stack, *memo;
} Machine;

static void node_free(gpointer data)
{
    CtPickleNode *n = data;
    g_free(n->text);
    if (n->kids)
        g_ptr_array_unref(n->kids);
    g_free(n);
}

CtPickleNode *ct_pickle_kid(const CtPickleNode *node, guint i)
{
    return node && node->kids && i < node->kids->len ? node->kids->pdata[i] : NULL;
}

static CtPickleNode *push(Machine *m, CtPickleType type)
{
    CtPickleNode *n = g_new0(CtPickleNode, 1);
    n->type = type;
    if (type >= CT_PICKLE_TUPLE && type != CT_PICKLE_GLOBAL && type != CT_PICKLE_MARK)
        n->kids = g_ptr_array_new();
    g_ptr_array_add(m->out->nodes, n);
    g_ptr_array_add(m->stack, n);
    return n;
}

static CtPickleNode *pop(Machine *m)
{
    guint n = m->stack->len;
    CtPickleNode *top = n ? m->stack->pdata[n - 1] : NULL;
    if (!top || top->type == CT_PICKLE_MARK)
        return NULL;
    g_ptr_array_set_size(m->stack, (gint)n - 1);
    return top;
}

static CtPickleNode *top(Machine *m)
{
    CtPickleNode *n = m->stack->len ? m->stack->pdata[m->stack->len - 1] : NULL;
    return n && n->type != CT_PICKLE_MARK ? n : NULL;
}

/* Index after the last mark, -1 without one. */
static gint after_mark(Machine *m)
{
    for (guint i = m->stack->len; i > 0; i--)
        if (((CtPickleNode *)m->stack->pdata[i - 1])->type == CT_PICKLE_MARK)
            return (gint)i;
    return -1;
}

/* Moves what stands above the mark into `to`, and the mark away. */
static gboolean take_marked(Machine *m, GPtrArray *to)
{
    gint from = after_mark(m);
    if (from < 0)
        return FALSE;
    for (guint i = (guint)from; to && i < m->stack->len; i++)
        g_ptr_array_add(to, m->stack->pdata[i]);
    g_ptr_array_set_size(m->stack, from - 1);
    return TRUE;
}

static gboolean uint_of(Machine *m, guint bytes, guint64 *out)
{
    if ((gsize)(m->end - m->p) < bytes)
        return FALSE;
    *out = 0;
    for (guint i = 0; i < bytes; i++)
        *out |= (guint64)m->p[i] << (8 * i);
    m->p += bytes;
    return TRUE;
}

static gboolean push_text(Machine *m, guint size_bytes)
{
    guint64 len;
    if (!uint_of(m, size_bytes, &len) || len > (guint64)(m->end - m->p))
        return FALSE;
    push(m, CT_PICKLE_TEXT)->text =
        g_utf8_make_valid((const char *)m->p, (gssize)MIN(len, (guint64)MAX_TEXT));
    m->p += len;
    return TRUE;
}

static gboolean push_int(Machine *m, guint bytes)
{
    guint64 v;
    if (!uint_of(m, bytes, &v))
        return FALSE;
    push(m, CT_PICKLE_INT)->number = bytes == 4 ? (gint32)v : (gint64)v;
    return TRUE;
}

static gboolean push_long(Machine *m, guint size_bytes)
{
    guint64 len;
    if (!uint_of(m, size_bytes, &len) || len > (guint64)(m->end - m->p))
        return FALSE;
    guint64 v = len && m->p[len - 1] & 128 ? G_MAXUINT64 : 0;
    for (guint i = 0; i < MIN(len, (guint64)8); i++)
        v = (v & ~((guint64)255 << (8 * i))) | (guint64)m->p[i] << (8 * i);
    m->p += len;
    if (len > 8)
        push(m, CT_PICKLE_NONE);
    else
        push(m, CT_PICKLE_INT)->number = (gint64)v;
    return TRUE;
}

static gboolean push_global(Machine *m)
{
    const guint8 *a = memchr(m->p, '\n', (gsize)(m->end - m->p));
    const guint8 *b = a ? memchr(a + 1, '\n', (gsize)(m->end - a - 1)) : NULL;
    if (!b || b - m->p > 1024)
        return FALSE;
    g_autofree char *text = g_strdup_printf("%.*s %.*s", (int)(a - m->p), (const char *)m->p,
                                            (int)(b - a - 1), (const char *)a + 1);
    push(m, CT_PICKLE_GLOBAL)->text = g_utf8_make_valid(text, -1);
    m->p = b + 1;
    return TRUE;
}

static gboolean stack_global(Machine *m)
{
    CtPickleNode *name = pop(m), *module = pop(m);
    if (!name || !module || !name->text || !module->text)
        return FALSE;
    push(m, CT_PICKLE_GLOBAL)->text = g_strdup_printf("%.512s %.512s", module->text, name->text);
    return TRUE;
}

static gboolean tuple_of(Machine *m, guint n)
{
    CtPickleNode *kids[3];
    for (guint i = 0; i < n; i++)
        if (!(kids[i] = pop(m)))
            return FALSE;
    CtPickleNode *t = push(m, CT_PICKLE_TUPLE);
    for (guint i = n; i > 0; i--)
        g_ptr_array_add(t->kids, kids[i - 1]);
    return TRUE;
}

static gboolean marked(Machine *m, CtPickleType type)
{
    g_autoptr(GPtrArray) kids = g_ptr_array_new();
    if (!take_marked(m, kids))
        return FALSE;
    CtPickleNode *n = push(m, type);
    g_ptr_array_extend_and_steal(n->kids, g_steal_pointer(&kids));
    return TRUE;
}

/* Adds n (or, without n, all marked) to the container below. */
static gboolean extend(Machine *m, guint n)
{
    g_autoptr(GPtrArray) kids = g_ptr_array_new();
    if (n == 0 && !take_marked(m, kids))
        return FALSE;
    for (guint i = 0; i < n; i++) {
        CtPickleNode *k = pop(m);
        if (!k)
            return FALSE;
        g_ptr_array_insert(kids, 0, k);
    }
    CtPickleNode *to = top(m);
    if (!to || !to->kids)
        return FALSE;
    g_ptr_array_extend_and_steal(to->kids, g_steal_pointer(&kids));
    return TRUE;
}

static gboolean call(Machine *m, gboolean keywords)
{
    if (keywords && !pop(m))
        return FALSE;
    CtPickleNode *args = pop(m), *function = pop(m);
    if (!args || !function)
        return FALSE;
    CtPickleNode *n = push(m, CT_PICKLE_CALL);
    g_ptr_array_add(n->kids, function);
    g_ptr_array_add(n->kids, args);
    return TRUE;
}

static gboolean put(Machine *m, guint bytes)
{
    guint64 i = m->memo->len;
    if ((bytes && !uint_of(m, bytes, &i)) || i > MAX_NODES || !top(m))
        return FALSE;
    if (i >= m->memo->len)
        g_ptr_array_set_size(m->memo, (gint)i + 1);
    m->memo->pdata[i] = top(m);
    return TRUE;
}

static gboolean get(Machine *m, guint bytes)
{
    guint64 i;
    if (!uint_of(m, bytes, &i) || i >= m->memo->len || !m->memo->pdata[i])
        return FALSE;
    g_ptr_array_add(m->stack, m->memo->pdata[i]);
    return TRUE;
}

static gboolean persistent(Machine *m)
{
    CtPickleNode *id = pop(m);
    if (!id)
        return FALSE;
    g_ptr_array_add(push(m, CT_PICKLE_PERSISTENT)->kids, id);
    return TRUE;
}

static gboolean skip(Machine *m, guint n)
{
    guint64 ignored;
    return uint_of(m, n, &ignored);
}

static gboolean duplicate(Machine *m)
{
    if (!top(m))
        return FALSE;
    g_ptr_array_add(m->stack, top(m));
    return TRUE;
}

static gboolean step(Machine *m, guint8 op)
{
    switch (op) {
    case 0x80: return skip(m, 1);
    case 0x95: return skip(m, 8);
    case '(': push(m, CT_PICKLE_MARK); return TRUE;
    case '0': return pop(m) != NULL;
    case '1': return take_marked(m, NULL);
    case '2': return duplicate(m);
    case 'J': return push_int(m, 4);
    case 'K': return push_int(m, 1);
    case 'M': return push_int(m, 2);
    case 0x8a: return push_long(m, 1);
    case 0x8b: return push_long(m, 4);
    case 'N': push(m, CT_PICKLE_NONE); return TRUE;
    case 0x88: push(m, CT_PICKLE_INT)->number = 1; return TRUE;
    case 0x89: push(m, CT_PICKLE_INT); return TRUE;
    case 'G': push(m, CT_PICKLE_NONE); return skip(m, 8);
    case 'X': case 'B': case 'T': return push_text(m, 4);
    case 0x8c: case 'C': case 'U': return push_text(m, 1);
    case 0x8d: case 0x8e: case 0x96: return push_text(m, 8);
    case ')': push(m, CT_PICKLE_TUPLE); return TRUE;
    case 't': return marked(m, CT_PICKLE_TUPLE);
    case 0x85: return tuple_of(m, 1);
    case 0x86: return tuple_of(m, 2);
    case 0x87: return tuple_of(m, 3);
    case ']': case 0x8f: push(m, CT_PICKLE_LIST); return TRUE;
    case 'l': case 0x91: return marked(m, CT_PICKLE_LIST);
    case 'a': return extend(m, 1);
    case 'e': case 0x90: case 'u': return extend(m, 0);
    case '}': push(m, CT_PICKLE_DICT); return TRUE;
    case 'd': return marked(m, CT_PICKLE_DICT);
    case 's': return extend(m, 2);
    case 'c': return push_global(m);
    case 0x93: return stack_global(m);
    case 'R': case 0x81: return call(m, FALSE);
    case 0x92: return call(m, TRUE);
    case 'b': return extend(m, 1);
    case 'q': return put(m, 1);
    case 'r': return put(m, 4);
    case 0x94: return put(m, 0);
    case 'h': return get(m, 1);
    case 'j': return get(m, 4);
    case 'Q': return persistent(m);
    default: return FALSE;
    }
}

CtPickle *ct_pickle_read(const guint8 *data, gsize len, const char *place, GError **error)
{
    CtPickle *out = g_new0(CtPickle, 1);
    out->nodes = g_ptr_array_new_with_free_func(node_free);
    Machine m = {data, data + len, out, g_ptr_array_new(), g_ptr_array_new()};
    gboolean ok = TRUE;
    const guint8 *at = data;
    while (ok && m.p < m.end && *m.p != '.') {
        at = m.p;
        ok = step(&m, *m.p++) && out->nodes->len < MAX_NODES && m.stack->len < MAX_STACK;
    }
    if (ok && m.p < m.end)
        out->root = top(&m);
    g_ptr_array_unref(m.stack);
    g_ptr_array_unref(m.memo);
    if (!out->root) {
        ct_tensor_bad(error, place, (guint64)(at - data), "pickle is cut, damaged or of a kind that "
                                                         "PyTorch does not write (opcode 0x%02x)",
                      at < data + len ? *at : 0);
        ct_pickle_free(out);
        return NULL;
    }
    return out;
}

void ct_pickle_free(CtPickle *p)
{
    if (!p)
        return;
    g_ptr_array_unref(p->nodes);
    g_free(p);
}
