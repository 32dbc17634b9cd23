/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pickle is a program of a stack machine. The part of it that makes plain values is carried out
 * here; the part that imports or calls only leaves a note of what it names.
 */
#include "base/pytree.h"

#include <string.h>

#define MAX_MEMO 8000000u
#define MAX_STACK 4000000u
#define MARK ((CtPyType)100)

typedef struct {
    const guint8 *start, *p, *end;
    CtPyTree *tree;
    GArray *stack, *memo; /* CtPyNode */
    gboolean full;
} Machine;

static gboolean is_mark(const Machine *m, CtPyNode n)
{
    return ct_py_type(m->tree, n) == MARK;
}

/* Puts a value that was just made on the stack; 0 when there is no room. */
static CtPyNode keep(Machine *m, CtPyNode n)
{
    if (!n || m->stack->len >= MAX_STACK) {
        m->full = TRUE;
        return 0;
    }
    g_array_append_val(m->stack, n);
    return n;
}

static CtPyNode push(Machine *m, CtPyType type)
{
    return keep(m, ct_py_make(m->tree, type));
}

static CtPyNode top(Machine *m)
{
    CtPyNode n = m->stack->len ? g_array_index(m->stack, CtPyNode, m->stack->len - 1) : 0;
    return n && !is_mark(m, n) ? n : 0;
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
    return keep(m, ct_py_make_int(m->tree, v)) != 0;
}

static gboolean binary_int(Machine *m, guint bytes)
{
    guint64 v;
    return number_of(m, bytes, &v) && push_int(m, bytes == 4 ? (gint32)v : (gint64)v);
}

static CtPyNode text_node(Machine *m, const guint8 *at, gsize len)
{
    return ct_py_make_text(m->tree, (gsize)(at - m->start), len);
}

static gboolean counted_text(Machine *m, guint size_bytes)
{
    guint64 len;
    if (!number_of(m, size_bytes, &len) || len > (guint64)(m->end - m->p))
        return FALSE;
    m->p += len;
    return keep(m, text_node(m, m->p - len, (gsize)len)) != 0;
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
    return keep(m, ct_py_make_real(m->tree, v)) != 0;
}

/* An argument of the old text protocol, up to the line's end. */
static gboolean text_line(Machine *m, const guint8 **out, gsize *len)
{
    const guint8 *nl = memchr(m->p, '\n', (gsize)(m->end - m->p));
    if (!nl)
        return FALSE;
    *out = m->p;
    *len = (gsize)(nl - m->p);
    m->p = nl + 1;
    return TRUE;
}

/* Numbers are short; a longer one is not read. */
static gboolean line_number(Machine *m, gboolean *is_number, gint64 *whole, double *real_number)
{
    const guint8 *at;
    gsize len;
    char text[64], *end;
    if (!text_line(m, &at, &len))
        return FALSE;
    len -= len > 0 && at[len - 1] == 'L';
    *is_number = len > 0 && len < sizeof text;
    len = *is_number ? len : 0;
    memcpy(text, at, len);
    text[len] = '\0';
    *real_number = g_ascii_strtod(text, &end);
    *is_number = *is_number && *end == '\0';
    *whole = g_ascii_strtoll(text, NULL, 10);
    return TRUE;
}

static gboolean text_number(Machine *m, gboolean is_real)
{
    gboolean is_number;
    gint64 whole;
    double v;
    if (!line_number(m, &is_number, &whole, &v))
        return FALSE;
    if (!is_number)
        return push(m, CT_PY_NONE) != 0;
    if (!is_real && v > -9e18 && v < 9e18)
        return push_int(m, whole);
    return keep(m, ct_py_make_real(m->tree, v)) != 0;
}

static gboolean text_string(Machine *m)
{
    const guint8 *at;
    gsize len;
    if (!text_line(m, &at, &len))
        return FALSE;
    gboolean quoted = len >= 2 && (at[0] == '\'' || at[0] == '"');
    return keep(m, quoted ? text_node(m, at + 1, len - 2) : text_node(m, at, len)) != 0;
}

static gboolean name_global(Machine *m, CtPyNode module, CtPyNode name)
{
    CtPyNode n = push(m, CT_PY_GLOBAL);
    return n && ct_py_add(m->tree, n, module) && ct_py_add(m->tree, n, name);
}

/* "c module\nname\n" */
static gboolean global(Machine *m)
{
    const guint8 *module, *name;
    gsize n_module, n_name;
    return text_line(m, &module, &n_module) && text_line(m, &name, &n_name) &&
           name_global(m, text_node(m, module, n_module), text_node(m, name, n_name));
}

static gboolean stack_global(Machine *m)
{
    CtPyNode name = pop(m), module = pop(m);
    return name && module && name_global(m, module, name);
}

static gboolean call(Machine *m, gboolean keywords)
{
    CtPyNode extra = keywords ? pop(m) : 0, arguments = pop(m), function = pop(m);
    if ((keywords && !extra) || !arguments || !function)
        return FALSE;
    CtPyNode n = push(m, CT_PY_CALL);
    return n && ct_py_add(m->tree, n, function) && ct_py_add(m->tree, n, arguments);
}

static gboolean persistent(Machine *m)
{
    CtPyNode id = pop(m), n = id ? push(m, CT_PY_PERSISTENT) : 0;
    return n && ct_py_add(m->tree, n, id);
}

static gssize after_mark(Machine *m)
{
    for (gsize i = m->stack->len; i > 0; i--)
        if (is_mark(m, g_array_index(m->stack, CtPyNode, i - 1)))
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
        if (!ct_py_add(m->tree, container, g_array_index(m->stack, CtPyNode, i)))
            return FALSE;
    g_array_set_size(m->stack, (guint)from - 1);
    return TRUE;
}

static gboolean marked(Machine *m, CtPyType type)
{
    CtPyNode n = ct_py_make(m->tree, type);
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
        if (!ct_py_add(m->tree, t, kids[i - 1]))
            return FALSE;
    return TRUE;
}

/* What is put into the result of a call stands behind its arguments. */
static gboolean holds(Machine *m, CtPyNode n)
{
    CtPyType type = ct_py_type(m->tree, n);
    return type == CT_PY_LIST || type == CT_PY_DICT || type == CT_PY_CALL;
}

/* APPENDS, SETITEMS: the container is what lies beneath the mark. */
static gboolean extend_marked(Machine *m)
{
    gssize from = after_mark(m);
    if (from < 2)
        return FALSE;
    CtPyNode container = g_array_index(m->stack, CtPyNode, from - 2);
    return !is_mark(m, container) && take_marked(m, holds(m, container) ? container : 0);
}

static gboolean extend(Machine *m, guint n)
{
    CtPyNode kids[2];
    for (guint i = 0; i < n; i++)
        if (!(kids[i] = pop(m)))
            return FALSE;
    CtPyNode to = top(m);
    if (!to || !holds(m, to))
        return to != 0;
    for (guint i = n; i > 0; i--)
        if (!ct_py_add(m->tree, to, kids[i - 1]))
            return FALSE;
    return TRUE;
}

/* The state of an object; of what is no call it would spoil the values. */
static gboolean build(Machine *m)
{
    CtPyNode state = pop(m), to = top(m);
    if (!state || !to)
        return FALSE;
    return ct_py_type(m->tree, to) != CT_PY_CALL || ct_py_add(m->tree, to, state);
}

static gboolean put(Machine *m, guint64 i)
{
    CtPyNode n = top(m);
    if (!n || i > MAX_MEMO)
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
    gboolean is_number;
    gint64 i;
    double ignored;
    if (!line_number(m, &is_number, &i, &ignored) || !is_number || i < 0)
        return FALSE;
    if (is_put)
        return put(m, (guint64)i);
    return i < (gint64)m->memo->len && again(m, g_array_index(m->memo, CtPyNode, i));
}

static gboolean skip(Machine *m, guint n)
{
    guint64 ignored;
    return number_of(m, n, &ignored);
}

static gboolean step_old(Machine *m, guint8 op)
{
    const guint8 *ignored;
    gsize len;
    switch (op) {
    case 'I': case 'L': return text_number(m, FALSE);
    case 'F': return text_number(m, TRUE);
    case 'S': case 'V': return text_string(m);
    case 'p': return text_memo(m, TRUE);
    case 'g': return text_memo(m, FALSE);
    case 'P': return text_line(m, &ignored, &len) && push(m, CT_PY_OPAQUE);
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
    case 0x93: return stack_global(m);
    case 'R': case 0x81: return call(m, FALSE);
    case 0x92: return call(m, TRUE);
    case 'Q': return persistent(m);
    case 'b': return build(m);
    case 0x82: return skip(m, 1) && push(m, CT_PY_OPAQUE);
    case 0x83: return skip(m, 2) && push(m, CT_PY_OPAQUE);
    case 0x84: return skip(m, 4) && push(m, CT_PY_OPAQUE);
    case 0x97: return push(m, CT_PY_OPAQUE) != 0;
    case 0x98: return TRUE;
    default: return step_old(m, op);
    }
}

CtPyTree *ct_py_read_pickle(const guint8 *data, gsize len, const char **why, gsize *out_at)
{
    CtPyTree *t = ct_py_tree_new((const char *)data);
    Machine m = {data, data, data + len, t, g_array_new(FALSE, TRUE, sizeof(CtPyNode)),
                 g_array_new(FALSE, TRUE, sizeof(CtPyNode)), FALSE};
    gboolean ok = TRUE;
    const guint8 *at = data;
    while (ok && m.p < m.end && *m.p != '.') {
        at = m.p;
        ok = step(&m, *m.p++) && !m.full;
    }
    if (ok && m.p < m.end)
        ct_py_tree_set_root(t, top(&m));
    *why = m.full ? "a pickle of more values than are read" : "a pickle that is cut or damaged";
    if (out_at)
        *out_at = (gsize)(at - data);
    g_array_unref(m.stack);
    g_array_unref(m.memo);
    if (!ct_py_root(t))
        g_clear_pointer(&t, ct_py_free);
    return t;
}
