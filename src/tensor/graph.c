/* SPDX-License-Identifier: Apache-2.0 */
/* Order of execution, operations and inputs from an ONNX model or TensorRT's layer information. */
#include <jansson.h>
#include <string.h>

#include "base/limits.h"
#include "tensor/proto.h"
#include "tensor/steps.h"

#define MAX_NODES 200000u
#define MAX_REACH 4096u

typedef struct {
    char *op, *name;
    GPtrArray *in, *out; /* char * */
} Node;

typedef struct {
    GPtrArray *nodes;     /* Node, in order */
    GHashTable *producer; /* output name -> index + 1 */
    GHashTable *weights;  /* initializer names */
    GHashTable *bad;      /* those with NaN or Inf */
    GHashTable *inputs;   /* graph inputs */
    gboolean layers;      /* of an engine, not nodes of a model */
} Graph;

static void node_free(gpointer data)
{
    Node *n = data;
    g_free(n->op);
    g_free(n->name);
    g_ptr_array_unref(n->in);
    g_ptr_array_unref(n->out);
    g_free(n);
}

static Node *node_new(void)
{
    Node *n = g_new0(Node, 1);
    n->in = g_ptr_array_new_with_free_func(g_free);
    n->out = g_ptr_array_new_with_free_func(g_free);
    return n;
}

static GHashTable *names(void)
{
    return g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
}

static void graph_clear(Graph *g)
{
    g_ptr_array_unref(g->nodes);
    g_hash_table_unref(g->producer);
    g_hash_table_unref(g->weights);
    g_hash_table_unref(g->bad);
    g_hash_table_unref(g->inputs);
}

static void add_node(Graph *g, CtProto m)
{
    Node *n = node_new();
    CtProtoField f;
    while (ct_proto_next(&m, &f)) {
        if (f.wire != 2)
            continue;
        if (f.number == 1)
            g_ptr_array_add(n->in, ct_proto_text(&f));
        else if (f.number == 2)
            g_ptr_array_add(n->out, ct_proto_text(&f));
        else if (f.number == 3 && !n->name)
            n->name = ct_proto_text(&f);
        else if (f.number == 4 && !n->op)
            n->op = ct_proto_text(&f);
    }
    g_ptr_array_add(g->nodes, n);
}

static gboolean read_onnx(Graph *g, CtBytes *bytes, const char *path, GError **error)
{
    CtProto m = {ct_bytes_data(bytes), ct_bytes_data(bytes) + ct_bytes_len(bytes), FALSE};
    CtProtoField f, v;
    gboolean seen = FALSE;
    while (ct_proto_next(&m, &f)) {
        if (f.number != 7 || f.wire != 2)
            continue;
        seen = TRUE;
        CtProto graph = CT_PROTO(f);
        while (ct_proto_next(&graph, &v)) {
            CtProto inner = CT_PROTO(v);
            CtProtoField name;
            if (v.number == 1 && v.wire == 2 && g->nodes->len < MAX_NODES)
                add_node(g, inner);
            while (v.number == 11 && v.wire == 2 && ct_proto_next(&inner, &name))
                if (name.number == 1 && name.wire == 2)
                    g_hash_table_add(g->inputs, ct_proto_text(&name));
        }
    }
    if (!seen || m.bad)
        return ct_tensor_bad(error, path, (guint64)(m.p - ct_bytes_data(bytes)),
                             "not an ONNX model that can be read");
    g_autoptr(CtTensorSet) weights = ct_tensor_set_read(bytes, path, NULL, NULL);
    for (guint i = 0; weights && i < weights->items->len; i++) {
        const CtTensorItem *item = weights->items->pdata[i];
        g_hash_table_add(g->weights, g_strdup(item->name));
        g_autoptr(CtTensor) t = ct_tensor_item_load(item, NULL);
        if (t && !ct_all_finite(t))
            g_hash_table_add(g->bad, g_strdup(item->name));
    }
    return TRUE;
}

static void add_tensors(const json_t *list, GPtrArray *out)
{
    for (gsize i = 0; i < json_array_size(list); i++) {
        const json_t *t = json_array_get(list, i);
        const char *name = json_string_value(json_is_object(t) ? json_object_get(t, "Name") : t);
        if (name)
            g_ptr_array_add(out, g_strdup(name));
    }
}

static gboolean read_layers(Graph *g, CtBytes *bytes, const char *path, GError **error)
{
    json_error_t e;
    if (ct_bytes_len(bytes) > CT_MAX_DOCUMENT)
        return ct_tensor_bad(error, path, 0, "layer information of more than 64 MiB");
    json_t *root = json_loadb((const char *)ct_bytes_data(bytes), ct_bytes_len(bytes), 0, &e);
    const json_t *layers = json_is_array(root) ? root : json_object_get(root, "Layers");
    for (gsize i = 0; i < json_array_size(layers) && i < MAX_NODES; i++) {
        const json_t *layer = json_array_get(layers, i);
        const char *type = json_string_value(json_object_get(layer, "LayerType")),
                   *name = json_string_value(json_object_get(layer, "Name"));
        if (!json_is_object(layer))
            continue;
        Node *n = node_new();
        /* A fused layer's name lists what it does, its type often only "gemm" or "kgen". */
        n->op = g_strdup_printf("%s %s", type ? type : "", name ? name : "");
        n->name = g_strdup(name);
        g->layers = TRUE;
        add_tensors(json_object_get(layer, "Inputs"), n->in);
        add_tensors(json_object_get(layer, "Outputs"), n->out);
        g_ptr_array_add(g->nodes, n);
    }
    json_decref(root);
    if (g->nodes->len == 0)
        return ct_tensor_bad(error, path, 0,
                             "no layers with details in it (build with "
                             "--profilingVerbosity=detailed)");
    return TRUE;
}

static guint producer_of(const Graph *g, const char *name)
{
    gpointer p = g_hash_table_lookup(g->producer, name);
    if (!p) {
        g_autofree char *plain = ct_plain_name(name);
        p = g_hash_table_lookup(g->producer, plain);
    }
    return GPOINTER_TO_UINT(p);
}

/* Marks the steps (and bad weights) that lead to `step`, through tensors that were not dumped. */
static void link_inputs(const Graph *g, CtStep *step, GHashTable *by_name, guint own)
{
    g_autoptr(GArray) queue = g_array_new(FALSE, FALSE, sizeof(guint));
    g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);
    guint node = producer_of(g, step->name);
    step->inputs = g_array_new(FALSE, FALSE, sizeof(guint));
    if (node == 0)
        return;
    g_array_append_val(queue, node);
    for (guint q = 0; q < queue->len && q < MAX_REACH; q++) {
        const Node *n = g->nodes->pdata[g_array_index(queue, guint, q) - 1];
        for (guint i = 0; i < n->in->len; i++) {
            const char *name = n->in->pdata[i];
            step->weights_bad = step->weights_bad || g_hash_table_contains(g->bad, name);
            g_autofree char *plain = ct_plain_name(name);
            guint at = GPOINTER_TO_UINT(g_hash_table_lookup(by_name, plain));
            guint from = producer_of(g, name);
            if (at && at - 1 != own)
                g_array_append_vals(step->inputs, &(guint){at - 1}, 1);
            else if (!at && from && g_hash_table_add(seen, GUINT_TO_POINTER(from)))
                g_array_append_val(queue, from);
        }
    }
}

static const Graph *sort_graph;

static guint place_of(const CtStep *s)
{
    if (s->graph_input)
        return 0;
    guint p = producer_of(sort_graph, s->name);
    return p ? p : G_MAXUINT;
}

static gint by_place(gconstpointer a, gconstpointer b)
{
    guint x = place_of(*(CtStep *const *)a), y = place_of(*(CtStep *const *)b);
    return x < y ? -1 : x > y;
}

static void index_outputs(Graph *g)
{
    for (guint i = 0; i < g->nodes->len; i++) {
        const Node *n = g->nodes->pdata[i];
        for (guint k = 0; k < n->out->len; k++) {
            g_hash_table_insert(g->producer, g_strdup(n->out->pdata[k]), GUINT_TO_POINTER(i + 1));
            char *plain = ct_plain_name(n->out->pdata[k]);
            if (g_hash_table_contains(g->producer, plain))
                g_free(plain);
            else
                g_hash_table_insert(g->producer, plain, GUINT_TO_POINTER(i + 1));
        }
    }
}

/* Layer information does not say what comes in: it is what layers read and none writes. */
static void find_inputs(Graph *g)
{
    for (guint i = 0; g->layers && i < g->nodes->len; i++) {
        const Node *n = g->nodes->pdata[i];
        for (guint k = 0; k < n->in->len; k++)
            if (!g_hash_table_contains(g->producer, n->in->pdata[k]))
                g_hash_table_add(g->inputs, g_strdup(n->in->pdata[k]));
    }
}

static void use(CtSteps *s, Graph *g)
{
    guint known = 0;
    for (guint i = 0; i < s->steps->len; i++) {
        CtStep *step = s->steps->pdata[i];
        step->graph_input = g_hash_table_contains(g->inputs, step->name) &&
                            !g_hash_table_contains(g->weights, step->name);
        guint p = producer_of(g, step->name);
        known += p != 0;
        if (p) {
            const Node *n = g->nodes->pdata[p - 1];
            step->op = g_strdup(n->op);
            step->node = n->name && *n->name ? g_strdup(n->name) : NULL;
        }
    }
    if (known == 0) {
        ct_steps_note(
            s, "no tensor of the files has a name of the graph: the order of the files is used",
            "文件中没有任何张量与图中的名称相符：采用文件的顺序");
        return;
    }
    sort_graph = g;
    g_ptr_array_sort(s->steps, by_place);
    sort_graph = NULL;
    g_autoptr(GHashTable) by_name = names();
    for (guint i = 0; i < s->steps->len; i++)
        g_hash_table_insert(by_name, ct_plain_name(((CtStep *)s->steps->pdata[i])->name),
                            GUINT_TO_POINTER(i + 1));
    for (guint i = 0; i < s->steps->len; i++)
        link_inputs(g, s->steps->pdata[i], by_name, i);
    s->graph = TRUE;
    s->layers = g->layers;
}

typedef struct {
    Graph *g;
    CtBytes *bytes;
    const char *path;
    gboolean ok;
    GError *error;
} Reading;

static void read_graph(gpointer data)
{
    Reading *r = data;
    const guint8 *p = ct_bytes_data(r->bytes);
    gsize i = 0, len = ct_bytes_len(r->bytes);
    while (i < len && g_ascii_isspace((char)p[i]))
        i++;
    gboolean text = i < len && (p[i] == '{' || p[i] == '[');
    r->ok = text ? read_layers(r->g, r->bytes, r->path, &r->error)
                 : read_onnx(r->g, r->bytes, r->path, &r->error);
}

gboolean ct_steps_use_graph(CtSteps *s, const char *path, GError **error)
{
    g_autoptr(CtBytes) bytes = ct_bytes_map(path, error);
    if (!bytes)
        return FALSE;
    Graph g = {g_ptr_array_new_with_free_func(node_free), names(), names(), names(), names()};
    Reading r = {&g, bytes, path, FALSE, NULL};
    gboolean whole = ct_bytes_guard(read_graph, &r, error), ok = whole && r.ok;
    if (!whole)
        g_prefix_error(error, "%s: ", path);
    else if (!ok)
        g_propagate_error(error, r.error);
    if (ok) {
        index_outputs(&g);
        find_inputs(&g);
        use(s, &g);
    }
    graph_clear(&g);
    return ok;
}

gboolean ct_tensor_set_order(CtTensorSet *set, const char *path, GError **error)
{
    g_autoptr(CtSteps) s = ct_steps_scan(set);
    if (!ct_steps_use_graph(s, path, error))
        return FALSE;
    for (guint i = 0; i < s->steps->len; i++) /* the set owns its items in any order */
        set->items->pdata[i] = (gpointer)((const CtStep *)s->steps->pdata[i])->test;
    set->unordered = set->unordered && !s->graph;
    return TRUE;
}
