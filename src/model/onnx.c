/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The identity of an ONNX model. Weights are stepped over by their length, so that a file of
 * gigabytes costs a few pages; nothing is copied but names.
 */
#include <string.h>

#include "base/proto.h"
#include "model/model.h"

#define MAX_VALUES 512u
#define MAX_OPSETS 64u
#define MAX_OPS 2000u
#define MAX_NAMES 200000u
#define MAX_NODES 5000000u
#define MAX_DEPTH 8u

typedef struct {
    CtOnnx *onnx;
    GHashTable *ops;     /* name -> count */
    GHashTable *weights; /* names */
} Reader;

static void value_free(gpointer data)
{
    CtOnnxValue *v = data;
    g_free(v->name);
    g_free(v->type);
    g_free(v->shape);
    g_free(v);
}

static void op_clear(gpointer data)
{
    g_free(((CtOnnxOp *)data)->name);
}

void ct_onnx_free(CtOnnx *o)
{
    if (!o)
        return;
    g_free(o->producer);
    g_free(o->producer_version);
    g_free(o->domain);
    g_free(o->graph);
    g_free(o->external_file);
    g_ptr_array_unref(o->opsets);
    g_ptr_array_unref(o->inputs);
    g_ptr_array_unref(o->outputs);
    g_array_unref(o->ops);
    g_free(o);
}

gboolean ct_onnx_sniff(const guint8 *data, gsize len)
{
    /* ir_version comes first and is small; then a field that only a model has at that place. */
    static const guint8 next[] = {0x12, 0x1a, 0x22, 0x28, 0x32, 0x3a, 0x42};
    if (len < 6 || data[0] != 0x08 || data[1] == 0 || data[1] > 40)
        return FALSE;
    for (gsize i = 0; i < sizeof next; i++)
        if (data[2] == next[i])
            return TRUE;
    return FALSE;
}

static void set_text(char **out, const CtProtoField *f)
{
    if (f->wire != 2)
        return;
    g_free(*out);
    *out = ct_proto_text(f);
    for (char *p = *out; *p; p++)
        if ((guchar)*p < 0x20)
            *p = ' ';
}

/* ---- inputs and outputs ---- */

static const char *type_name(guint64 number)
{
    static const char *const names[] = {
        "undefined", "float32", "uint8",  "int8",  "uint16",  "int16",  "int32",  "int64",
        "string",    "bool",    "float16", "float64", "uint32", "uint64", "complex64",
        "complex128", "bfloat16", "float8e4m3fn", "float8e4m3fnuz", "float8e5m2",
        "float8e5m2fnuz", "uint4", "int4", "float4e2m1", "float8e8m0", "uint2", "int2"};
    return number < G_N_ELEMENTS(names) ? names[number] : "unknown";
}

static void axis(CtProto dim, GString *shape, gboolean *dynamic)
{
    CtProtoField f;
    gboolean done = FALSE;
    if (shape->len > 1)
        g_string_append_c(shape, ',');
    while (!done && ct_proto_next(&dim, &f)) {
        if (f.number == 1 && f.wire == 0) {
            gint64 n = (gint64)f.value;
            if (n > 0)
                g_string_append_printf(shape, "%" G_GINT64_FORMAT, n);
            else
                g_string_append_c(shape, '?');
            *dynamic |= n <= 0;
            done = TRUE;
        } else if (f.number == 2 && f.wire == 2) {
            g_autofree char *name = NULL;
            set_text(&name, &f);
            g_string_append_printf(shape, "%.60s", *name ? name : "?");
            *dynamic = done = TRUE;
        }
    }
    if (!done) {
        g_string_append_c(shape, '?');
        *dynamic = TRUE;
    }
}

static void tensor_type(CtProto m, CtOnnxValue *v)
{
    CtProtoField f, d;
    while (ct_proto_next(&m, &f)) {
        if (f.number == 1 && f.wire == 0) {
            g_free(v->type);
            v->type = g_strdup(type_name(f.value));
        } else if (f.number == 2 && f.wire == 2) {
            g_autoptr(GString) shape = g_string_new("[");
            CtProto dims = CT_PROTO(f);
            for (guint n = 0; n < 64 && ct_proto_next(&dims, &d);)
                if (d.number == 1 && d.wire == 2) {
                    axis(CT_PROTO(d), shape, &v->dynamic);
                    n++;
                }
            g_string_append_c(shape, ']');
            g_free(v->shape);
            v->shape = g_strdup(shape->str);
        }
    }
}

static void add_value(GPtrArray *list, CtProto m)
{
    static const char *const others[] = {NULL, NULL, NULL, NULL, "sequence", "map", NULL, "opaque",
                                         "sparse tensor", "optional"};
    CtProtoField f, t;
    if (list->len >= MAX_VALUES)
        return;
    CtOnnxValue *v = g_new0(CtOnnxValue, 1);
    while (ct_proto_next(&m, &f)) {
        if (f.number == 1) {
            set_text(&v->name, &f);
        } else if (f.number == 2 && f.wire == 2) {
            CtProto type = CT_PROTO(f);
            while (ct_proto_next(&type, &t)) {
                if (t.number == 1 && t.wire == 2)
                    tensor_type(CT_PROTO(t), v);
                else if (t.number < G_N_ELEMENTS(others) && others[t.number] && !v->type)
                    v->type = g_strdup(others[t.number]);
            }
        }
    }
    if (!v->name)
        v->name = g_strdup("");
    if (!v->type)
        v->type = g_strdup("unknown");
    g_ptr_array_add(list, v);
}

/* ---- weights ---- */

static void external_data(CtOnnx *o, CtProto m)
{
    CtProtoField f;
    g_autofree char *key = NULL, *value = NULL;
    while (ct_proto_next(&m, &f)) {
        if (f.number == 1)
            set_text(&key, &f);
        else if (f.number == 2)
            set_text(&value, &f);
    }
    if (!o->external_file && g_strcmp0(key, "location") == 0)
        o->external_file = g_steal_pointer(&value);
}

static void add_weight(Reader *r, CtProto m)
{
    CtProtoField f;
    g_autofree char *name = NULL;
    gboolean external = FALSE;
    r->onnx->weights++;
    while (ct_proto_next(&m, &f)) {
        if (f.number == 8)
            set_text(&name, &f);
        else if (f.number == 13 && f.wire == 2)
            external_data(r->onnx, CT_PROTO(f));
        else if (f.number == 14 && f.wire == 0)
            external = f.value == 1;
        else if (f.wire == 2 && f.number != 12 && f.number != 16)
            r->onnx->weight_bytes += f.len;
    }
    r->onnx->external += external;
    r->onnx->damaged |= m.bad;
    if (name && g_hash_table_size(r->weights) < MAX_NAMES)
        g_hash_table_add(r->weights, g_steal_pointer(&name));
}

/* ---- the graph ---- */

static void read_graph(Reader *r, CtProto m, guint depth);

static void count_op(Reader *r, const char *domain, const char *op)
{
    gboolean own = !domain || !*domain || g_str_equal(domain, "ai.onnx");
    g_autofree char *name = own ? g_strdup(op) : g_strconcat(domain, "::", op, NULL);
    gpointer n = g_hash_table_lookup(r->ops, name);
    if (n || g_hash_table_size(r->ops) < MAX_OPS)
        g_hash_table_replace(r->ops, g_steal_pointer(&name),
                             GUINT_TO_POINTER(GPOINTER_TO_UINT(n) + 1));
}

/* If, Loop and Scan hold graphs in their attributes. */
static void attribute(Reader *r, CtProto m, guint depth)
{
    CtProtoField f;
    while (ct_proto_next(&m, &f)) {
        if (f.wire != 2 || (f.number != 6 && f.number != 11))
            continue;
        r->onnx->subgraphs++;
        if (depth < MAX_DEPTH)
            read_graph(r, CT_PROTO(f), depth + 1);
    }
}

static void node(Reader *r, CtProto m, guint depth)
{
    CtProtoField f;
    g_autofree char *op = NULL, *domain = NULL;
    if (r->onnx->nodes >= MAX_NODES)
        return;
    r->onnx->nodes++;
    while (ct_proto_next(&m, &f)) {
        if (f.number == 4)
            set_text(&op, &f);
        else if (f.number == 7)
            set_text(&domain, &f);
        else if (f.number == 5 && f.wire == 2)
            attribute(r, CT_PROTO(f), depth);
    }
    r->onnx->damaged |= m.bad;
    if (op)
        count_op(r, domain, op);
}

static void read_graph(Reader *r, CtProto m, guint depth)
{
    CtProtoField f;
    CtOnnx *o = r->onnx;
    while (ct_proto_next(&m, &f)) {
        if (f.wire != 2)
            continue;
        if (f.number == 1)
            node(r, CT_PROTO(f), depth);
        else if (f.number == 5)
            add_weight(r, CT_PROTO(f));
        else if (f.number == 2 && !depth)
            set_text(&o->graph, &f);
        else if (f.number == 11 && !depth)
            add_value(o->inputs, CT_PROTO(f));
        else if (f.number == 12 && !depth)
            add_value(o->outputs, CT_PROTO(f));
    }
    o->damaged |= m.bad;
}

/* The graph is the one field that may reach beyond the end of what there is of a cut file. */
static gboolean cut_graph(const guint8 *at, const guint8 *end, CtProto *out)
{
    guint64 tag, len;
    const guint8 *p = at;
    if (!ct_proto_varint(&p, end, &tag) || tag != (7 << 3 | 2) || !ct_proto_varint(&p, end, &len))
        return FALSE;
    *out = (CtProto){p, end, FALSE};
    return TRUE;
}

static void opset(CtOnnx *o, CtProto m)
{
    CtProtoField f;
    g_autofree char *domain = NULL;
    guint64 version = 0;
    while (ct_proto_next(&m, &f)) {
        if (f.number == 1)
            set_text(&domain, &f);
        else if (f.number == 2 && f.wire == 0)
            version = f.value;
    }
    if (o->opsets->len < MAX_OPSETS)
        g_ptr_array_add(o->opsets,
                        g_strdup_printf("%s %" G_GUINT64_FORMAT,
                                        domain && *domain ? domain : "ai.onnx", version));
}

static gint by_count(gconstpointer a, gconstpointer b)
{
    const CtOnnxOp *x = a, *y = b;
    return x->count != y->count ? (x->count < y->count ? 1 : -1) : strcmp(x->name, y->name);
}

static void finish(Reader *r)
{
    GHashTableIter iter;
    gpointer key, value;
    g_hash_table_iter_init(&iter, r->ops);
    while (g_hash_table_iter_next(&iter, &key, &value)) {
        CtOnnxOp op = {g_strdup(key), GPOINTER_TO_UINT(value)};
        g_array_append_val(r->onnx->ops, op);
    }
    g_array_sort(r->onnx->ops, by_count);
    /* Old models name their weights among the inputs. */
    for (guint i = r->onnx->inputs->len; i-- > 0;) {
        const CtOnnxValue *v = r->onnx->inputs->pdata[i];
        if (g_hash_table_contains(r->weights, v->name))
            g_ptr_array_remove_index(r->onnx->inputs, i);
    }
}

CtOnnx *ct_onnx_read(const guint8 *data, gsize len)
{
    CtOnnx *o = g_new0(CtOnnx, 1);
    Reader r = {.onnx = o};
    CtProto m = {data, data + len, FALSE};
    CtProtoField f;
    o->ir_version = o->model_version = -1;
    o->opsets = g_ptr_array_new_with_free_func(g_free);
    o->inputs = g_ptr_array_new_with_free_func(value_free);
    o->outputs = g_ptr_array_new_with_free_func(value_free);
    o->ops = g_array_new(FALSE, FALSE, sizeof(CtOnnxOp));
    g_array_set_clear_func(o->ops, op_clear);
    r.ops = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    r.weights = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    const guint8 *at = m.p;
    while (ct_proto_next(&m, &f)) {
        at = m.p;
        if (f.number == 1 && f.wire == 0)
            o->ir_version = (gint64)MIN(f.value, (guint64)G_MAXINT32);
        else if (f.number == 2)
            set_text(&o->producer, &f);
        else if (f.number == 3)
            set_text(&o->producer_version, &f);
        else if (f.number == 4)
            set_text(&o->domain, &f);
        else if (f.number == 5 && f.wire == 0)
            o->model_version = (gint64)MIN(f.value, (guint64)G_MAXINT64);
        else if (f.number == 7 && f.wire == 2)
            read_graph(&r, CT_PROTO(f), 0);
        else if (f.number == 8 && f.wire == 2)
            opset(o, CT_PROTO(f));
        else if (f.number == 25)
            o->functions++;
    }
    CtProto rest;
    if (m.bad && cut_graph(at, data + len, &rest))
        read_graph(&r, rest, 0);
    o->damaged |= m.bad;
    finish(&r);
    g_hash_table_unref(r.ops);
    g_hash_table_unref(r.weights);
    return o;
}
