/* SPDX-License-Identifier: Apache-2.0 */
#include "timeline/trt.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/limits.h"
#include "collect/stream.h"
#include "timeline/json.h"

#define MAX_LAYERS 100000u
#define MAX_QUERIES 2000000u
#define MAX_TEXT 4096u

CtTrtKind ct_trt_sniff(const guint8 *head, gsize len)
{
    gsize at = 0;
    while (at < len && g_ascii_isspace(head[at]))
        at++;
    const guint8 *p = head + at;
    gsize n = MIN(len - at, (gsize)4096);
    if (n < 8 || (*p != '[' && *p != '{'))
        return CT_TRT_NONE;
    if (*p == '[' && memmem(p, n, "\"startEnqMs\"", 12) && memmem(p, n, "\"computeMs\"", 11))
        return CT_TRT_TIMES;
    if (*p == '[' && memmem(p, n, "\"averageMs\"", 11) && memmem(p, n, "\"timeMs\"", 8) &&
        memmem(p, n, "\"percentage\"", 12))
        return CT_TRT_PROFILE;
    for (at = 1; at < n && g_ascii_isspace(p[at]);)
        at++;
    if (*p == '{' && n - at > 8 && memcmp(p + at, "\"Layers\"", 8) == 0)
        return CT_TRT_LAYERS;
    return CT_TRT_NONE;
}

static void time_free(gpointer p)
{
    CtTrtTime *t = p;
    g_free(t->name);
    g_free(t);
}

static void layer_free(gpointer p)
{
    CtTrtLayer *l = p;
    g_free(l->name);
    g_free(l->type);
    g_free(l->input);
    g_free(l->output);
    g_free(l->tactic);
    g_free(l->origin);
    g_free(l);
}

void ct_trt_free(CtTrtDoc *d)
{
    if (!d)
        return;
    g_ptr_array_unref(d->times);
    g_ptr_array_unref(d->layers);
    g_array_unref(d->queries);
    g_free(d->problem);
    g_free(d);
}

/* ---- objects ---- */

typedef void (*OnField)(const CtJsonText *key, const CtJsonText *value, gpointer user);

static CtJsonIn inside(const CtJsonText *container)
{
    return (CtJsonIn){container->p + 1, container->p + container->n, TRUE};
}

/* Every field of an object that is there whole. */
static void each_field(const CtJsonText *object, OnField on, gpointer user)
{
    CtJsonIn in = inside(object);
    CtJsonText key, value;
    gboolean end = FALSE;
    while (!end && ct_json_key(&in, &key) == CT_JSON_OK && ct_json_value(&in, &value) == CT_JSON_OK) {
        on(&key, &value, user);
        if (ct_json_next(&in, &end) != CT_JSON_OK)
            return;
    }
}

static char *text_of(const CtJsonText *v)
{
    char text[MAX_TEXT];
    ct_json_plain(v, text, sizeof text);
    return g_utf8_make_valid(text, -1);
}

static void set(char **to, const CtJsonText *v)
{
    if (!v->quoted)
        return;
    g_free(*to);
    *to = text_of(v);
}

static double ms(const CtJsonText *v)
{
    double d;
    return ct_json_number(v, &d) ? d * 1e6 : 0;
}

/* ---- times ---- */

typedef struct {
    CtTrtQuery q;
    double start, end;
    gboolean any;
} Query;

static void query_field(const CtJsonText *key, const CtJsonText *v, gpointer user)
{
    Query *x = user;
    x->any |= CT_JSON_IS(key, "computeMs");
    if (CT_JSON_IS(key, "startEnqMs"))
        x->start = ms(v);
    else if (CT_JSON_IS(key, "endEnqMs"))
        x->end = ms(v);
    else if (CT_JSON_IS(key, "h2dMs") || CT_JSON_IS(key, "inMs"))
        x->q.h2d = (float)ms(v);
    else if (CT_JSON_IS(key, "computeMs"))
        x->q.compute = (float)ms(v);
    else if (CT_JSON_IS(key, "d2hMs") || CT_JSON_IS(key, "outMs"))
        x->q.d2h = (float)ms(v);
    else if (CT_JSON_IS(key, "latencyMs"))
        x->q.latency = (float)ms(v);
}

static void add_query(CtTrtDoc *d, const CtJsonText *object)
{
    Query x = {0};
    each_field(object, query_field, &x);
    if (!x.any)
        return;
    x.q.enqueue = (float)MAX(x.end - x.start, 0);
    if (d->queries->len < MAX_QUERIES)
        g_array_append_val(d->queries, x.q);
    else
        d->more++;
}

/* ---- profile ---- */

typedef struct {
    CtTrtTime *t;
    guint64 count;
} Row;

static void profile_field(const CtJsonText *key, const CtJsonText *v, gpointer user)
{
    Row *r = user;
    gint64 n;
    if (CT_JSON_IS(key, "count") && ct_json_integer(v, &n) && n > 0)
        r->count = (guint64)n;
    else if (CT_JSON_IS(key, "name"))
        set(&r->t->name, v);
    else if (CT_JSON_IS(key, "timeMs"))
        r->t->total = ms(v);
    else if (CT_JSON_IS(key, "averageMs"))
        r->t->mean = ms(v);
    else if (CT_JSON_IS(key, "medianMs"))
        r->t->median = ms(v);
}

static void add_time(CtTrtDoc *d, const CtJsonText *object)
{
    Row r = {.t = g_new0(CtTrtTime, 1)};
    each_field(object, profile_field, &r);
    if (r.count) {
        /* The next run begins; the last is shown. */
        g_ptr_array_set_size(d->times, 0);
        d->iterations = r.count;
    }
    if (r.t->name && d->times->len < MAX_LAYERS) {
        g_ptr_array_add(d->times, r.t);
        return;
    }
    d->more += r.t->name != NULL;
    time_free(r.t);
}

/* ---- layers ---- */

/* "Channel major FP16 format where channel % 8 == 0" and its like. */
static char *type_in(const CtJsonText *v)
{
    static const struct {
        const char *word, *name;
    } types[] = {{"BF16", "BF16"},   {"BFloat16", "BF16"}, {"FP16", "FP16"}, {"Half", "FP16"},
                 {"FP32", "FP32"},   {"Float", "FP32"},    {"FP8", "FP8"},   {"FP4", "FP4"},
                 {"INT4", "INT4"},   {"Int4", "INT4"},     {"Int8", "INT8"}, {"INT8", "INT8"},
                 {"Int64", "INT64"}, {"INT64", "INT64"},   {"Int32", "INT32"}, {"INT32", "INT32"},
                 {"Bool", "BOOL"},   {"BOOL", "BOOL"},     {"UINT8", "UINT8"}};
    char text[256];
    ct_json_plain(v, text, sizeof text);
    for (gsize i = 0; i < G_N_ELEMENTS(types); i++)
        if (strstr(text, types[i].word))
            return g_strdup(types[i].name);
    return NULL;
}

static void tensor_field(const CtJsonText *key, const CtJsonText *v, gpointer user)
{
    char **type = user;
    if (!*type && (CT_JSON_IS(key, "Format/Datatype") || CT_JSON_IS(key, "Datatype") ||
                   CT_JSON_IS(key, "DataType")))
        *type = type_in(v);
}

static char *first_tensor(const CtJsonText *list)
{
    CtJsonIn in = inside(list);
    CtJsonText object;
    char *type = NULL;
    if (list->n && *list->p == '[' && ct_json_blanks(&in) == CT_JSON_OK && *in.p == '{' &&
        ct_json_value(&in, &object) == CT_JSON_OK)
        each_field(&object, tensor_field, &type);
    return type;
}

static guint count_of(const char *text, const char *what)
{
    guint n = 0;
    for (const char *p = text; (p = strstr(p, what)); p += strlen(what))
        n++;
    return n;
}

static void layer_field(const CtJsonText *key, const CtJsonText *v, gpointer user)
{
    CtTrtLayer *l = user;
    if (CT_JSON_IS(key, "Name"))
        set(&l->name, v);
    else if (CT_JSON_IS(key, "LayerType"))
        set(&l->type, v);
    else if (CT_JSON_IS(key, "TacticName"))
        set(&l->tactic, v);
    else if (CT_JSON_IS(key, "Origin"))
        set(&l->origin, v);
    else if (CT_JSON_IS(key, "Inputs") && !l->input)
        l->input = first_tensor(v);
    else if (CT_JSON_IS(key, "Outputs") && !l->output)
        l->output = first_tensor(v);
    else if (CT_JSON_IS(key, "Metadata") && v->quoted) {
        g_autofree char *text = text_of(v);
        l->fused = MAX(count_of(text, "[ONNX Layer:"), l->fused);
    }
}

gboolean ct_trt_is_reformat(const char *name)
{
    return strstr(name, "Reformatting CopyNode") || strstr(name, "input reformatter") ||
           strstr(name, "output reformatter") || strstr(name, "ReformatNode");
}

static void add_layer(CtTrtDoc *d, const CtJsonText *v)
{
    CtTrtLayer *l = g_new0(CtTrtLayer, 1);
    if (v->quoted)
        l->name = text_of(v); /* --profilingVerbosity=layer_names_only */
    else if (v->n && *v->p == '{')
        each_field(v, layer_field, l);
    if (!l->name || d->layers->len >= MAX_LAYERS) {
        d->more += l->name != NULL;
        layer_free(l);
        return;
    }
    l->reformat = g_strcmp0(l->type, "Reformat") == 0 || ct_trt_is_reformat(l->name);
    guint by_name = 1 + count_of(l->name, " + ") + count_of(l->name, " || ");
    l->fused = l->reformat ? 1 : MAX(l->fused, by_name);
    g_ptr_array_add(d->layers, l);
}

/* ---- the file ---- */

static void add(CtTrtDoc *d, const CtJsonText *v)
{
    if (d->kind == CT_TRT_LAYERS)
        add_layer(d, v);
    else if (v->n && *v->p == '{' && d->kind == CT_TRT_TIMES)
        add_query(d, v);
    else if (v->n && *v->p == '{')
        add_time(d, v);
}

/* The elements of a list, each as it comes, so that a cut file gives those before the cut. */
static gboolean elements(CtTrtDoc *d, CtJsonIn *in)
{
    CtJsonText v;
    d->runs++;
    while (ct_json_blanks(in) == CT_JSON_OK) {
        if (*in->p == ',') {
            in->p++;
            continue;
        }
        if (*in->p == ']') {
            in->p++;
            return TRUE;
        }
        if (ct_json_value(in, &v) != CT_JSON_OK)
            return FALSE;
        add(d, &v);
    }
    return FALSE;
}

static gboolean layers_object(CtTrtDoc *d, CtJsonIn *in)
{
    CtJsonText key;
    gboolean end = FALSE;
    while (!end) {
        if (ct_json_key(in, &key) != CT_JSON_OK || ct_json_blanks(in) != CT_JSON_OK)
            return FALSE;
        if (CT_JSON_IS(&key, "Layers") && *in->p == '[') {
            in->p++;
            if (!elements(d, in))
                return FALSE;
        } else if (ct_json_value(in, NULL) != CT_JSON_OK) {
            return FALSE;
        }
        if (ct_json_next(in, &end) != CT_JSON_OK)
            return FALSE;
    }
    return TRUE;
}

static void parse(CtTrtDoc *d, const guint8 *text, gsize len)
{
    CtJsonIn in = {text, text + len, TRUE};
    gboolean ok = TRUE;
    while (ok && ct_json_blanks(&in) == CT_JSON_OK) {
        guint8 b = *in.p++;
        ok = b == '[' ? elements(d, &in) : b == '{' ? layers_object(d, &in) : FALSE;
    }
    if (!ok)
        d->problem = g_strdup_printf("the file breaks off or is damaged at byte %zu; what came "
                                     "before was read", (gsize)(in.p - text));
}

CtTrtDoc *ct_trt_read(const char *path, GError **error)
{
    g_autoptr(GByteArray) all = g_byte_array_new();
    g_autofree guint8 *block = g_malloc(CT_BLOCK);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0) {
        ct_error_from_errno(error, errno, "opening %s", path);
        return NULL;
    }
    CtStream *stream = ct_stream_new(fd);
    gsize n;
    while (all->len < CT_MAX_DOCUMENT && (n = ct_stream_read(stream, block, CT_BLOCK)) > 0)
        g_byte_array_append(all, block, (guint)n);
    ct_stream_free(stream);
    close(fd);
    CtTrtDoc *d = g_new0(CtTrtDoc, 1);
    d->kind = ct_trt_sniff(all->data, all->len);
    d->times = g_ptr_array_new_with_free_func(time_free);
    d->layers = g_ptr_array_new_with_free_func(layer_free);
    d->queries = g_array_new(FALSE, FALSE, sizeof(CtTrtQuery));
    if (d->kind != CT_TRT_NONE)
        parse(d, all->data, all->len);
    if (d->times->len || d->layers->len || d->queries->len)
        return d;
    g_set_error(error, CT_ERROR, CT_ERROR_CORRUPT, "%s: no times and no layers in it", path);
    ct_trt_free(d);
    return NULL;
}

GPtrArray *ct_trt_join(const CtTrtDoc *profile, const CtTrtDoc *layers)
{
    g_autoptr(GHashTable) by_name = g_hash_table_new(g_str_hash, g_str_equal);
    g_autofree guint *next = g_new0(guint, layers->layers->len + 1); /* of the same name, + 1 */
    GPtrArray *out = g_ptr_array_new();
    guint found = 0;
    for (guint i = layers->layers->len; i-- > 0;) {
        const CtTrtLayer *l = g_ptr_array_index(layers->layers, i);
        next[i] = GPOINTER_TO_UINT(g_hash_table_lookup(by_name, l->name));
        g_hash_table_insert(by_name, l->name, GUINT_TO_POINTER(i + 1));
    }
    for (guint i = 0; i < profile->times->len; i++) {
        const CtTrtTime *t = g_ptr_array_index(profile->times, i);
        guint at = GPOINTER_TO_UINT(g_hash_table_lookup(by_name, t->name));
        CtTrtLayer *l = at ? g_ptr_array_index(layers->layers, at - 1) : NULL;
        g_ptr_array_add(out, l);
        found += l != NULL;
        if (l)
            g_hash_table_insert(by_name, l->name, GUINT_TO_POINTER(next[at - 1]));
    }
    if (found * 2 < profile->times->len)
        g_ptr_array_set_size(out, 0);
    return out;
}

/* ---- evidence ---- */

static void fact(CtEvidence *ev, gint64 section, const char *subject, const char *key, double x)
{
    g_autofree char *text = g_strdup_printf("%.6g", x);
    ct_evidence_add_fact(ev, &(CtFactRow){.section = section, .subject = subject, .key = key,
                                          .value = text, .number = x, .has_number = TRUE,
                                          .status = CT_OK});
}

static int by_mean(gconstpointer a, gconstpointer b)
{
    const CtTrtTime *x = *(CtTrtTime *const *)a, *y = *(CtTrtTime *const *)b;
    return x->mean < y->mean ? 1 : x->mean > y->mean ? -1 : 0;
}

static void profile_facts(CtEvidence *ev, gint64 section, const CtTrtDoc *d)
{
    g_autoptr(GPtrArray) sorted = g_ptr_array_new();
    double sum = 0, reformat = 0;
    for (guint i = 0; i < d->times->len; i++) {
        CtTrtTime *t = g_ptr_array_index(d->times, i);
        sum += t->mean;
        reformat += ct_trt_is_reformat(t->name) ? t->mean : 0;
        g_ptr_array_add(sorted, t);
    }
    g_ptr_array_sort(sorted, by_mean);
    fact(ev, section, "engine", "trt.layers", (double)d->times->len);
    fact(ev, section, "engine", "trt.layers.time", sum);
    if (sum <= 0)
        return;
    fact(ev, section, "engine", "trt.layers.reformat-share", reformat / sum);
    for (guint i = 0; i < MIN(sorted->len, 20u); i++) {
        const CtTrtTime *t = g_ptr_array_index(sorted, i);
        g_autofree char *subject = g_strdup_printf("layer:%.200s", t->name);
        g_autofree char *valid = g_utf8_make_valid(subject, -1);
        fact(ev, section, valid, "trt.layer.time", t->mean);
        fact(ev, section, valid, "trt.layer.share", t->mean / sum);
    }
}

static void layer_facts(CtEvidence *ev, gint64 section, const CtTrtDoc *d)
{
    g_autoptr(GHashTable) types = g_hash_table_new(g_str_hash, g_str_equal);
    double reformat = 0, fused = 0;
    for (guint i = 0; i < d->layers->len; i++) {
        const CtTrtLayer *l = g_ptr_array_index(d->layers, i);
        reformat += l->reformat;
        fused += l->reformat ? 0 : l->fused;
        if (l->output && !l->reformat)
            g_hash_table_insert(types, l->output, GUINT_TO_POINTER(GPOINTER_TO_UINT(
                                    g_hash_table_lookup(types, l->output)) + 1));
    }
    fact(ev, section, "engine", "trt.layers", (double)d->layers->len);
    fact(ev, section, "engine", "trt.layers.reformat", reformat);
    fact(ev, section, "engine", "trt.layers.operations", fused);
    GHashTableIter iter;
    gpointer name, n;
    g_hash_table_iter_init(&iter, types);
    while (g_hash_table_iter_next(&iter, &name, &n)) {
        g_autofree char *lower = g_ascii_strdown(name, -1);
        g_autofree char *key = g_strconcat("trt.layers.", lower, NULL);
        fact(ev, section, "engine", key, (double)GPOINTER_TO_UINT(n));
    }
}

void ct_trt_import(CtEvidence *ev, const CtTrtDoc *d, const char *path)
{
    const char *format = d->kind == CT_TRT_PROFILE ? "trt-profile" : "trt-layers";
    CtStatus status = d->problem ? CT_PARTIAL : CT_OK;
    if (d->kind == CT_TRT_TIMES)
        return;
    gint64 source = ct_evidence_add_source(ev, &(CtSourceRow){.path = path, .format = format,
                                                              .status = status, .bytes = CT_NONE,
                                                              .lines = CT_NONE});
    gint64 section = ct_evidence_add_section(
        ev, &(CtSectionRow){.source = source, .first_line = 1, .parser = format, .status = CT_OK});
    if (d->kind == CT_TRT_PROFILE)
        profile_facts(ev, section, d);
    else
        layer_facts(ev, section, d);
    ct_evidence_end_section(ev, section, 1, "none", status, d->problem);
    ct_evidence_end_source(ev, source, status, CT_NONE, CT_NONE, d->problem);
}
