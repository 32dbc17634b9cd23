/* SPDX-License-Identifier: Apache-2.0 */
/* Triton's trace file: small objects, tied by their id, that say when a request passed where. */
#include <jansson.h>
#include <string.h>

#include "timeline/chrome-private.h"

#define MAX_REQUESTS 1000000u

enum { START, QUEUE, COMPUTE, INPUT_END, OUTPUT_START, COMPUTE_END, END, N_STAMPS };

static const char *const stamp_names[N_STAMPS] = {
    "REQUEST_START",        "QUEUE_START", "COMPUTE_START", "COMPUTE_INPUT_END",
    "COMPUTE_OUTPUT_START", "COMPUTE_END", "REQUEST_END"};

static CtTritonRequest *request_of(CtChrome *c, gint64 id)
{
    CtTritonRequest *r = g_hash_table_lookup(c->requests, &id);
    if (r || g_hash_table_size(c->requests) >= MAX_REQUESTS)
        return r;
    r = g_new0(CtTritonRequest, 1);
    r->id = id;
    g_hash_table_insert(c->requests, &r->id, r);
    return r;
}

static void stamps(CtTritonRequest *r, const json_t *list)
{
    for (gsize i = 0; i < json_array_size(list) && i < 64; i++) {
        const json_t *o = json_array_get(list, i);
        const char *name = json_string_value(json_object_get(o, "name"));
        gint64 ns = json_integer_value(json_object_get(o, "ns"));
        for (gsize k = 0; name && k < N_STAMPS; k++)
            if (g_str_equal(name, stamp_names[k]) && ns > 0 && ct_tl_time_ok(ns))
                r->stamp[k] = ns;
    }
}

gboolean ct_triton_object(CtChrome *c, const CtJsonText *text)
{
    json_t *o = json_loadb((const char *)text->p, text->n, 0, NULL);
    const json_t *id = json_object_get(o, "id");
    CtTritonRequest *r = json_is_integer(id) ? request_of(c, json_integer_value(id)) : NULL;
    if (r) {
        const char *model = json_string_value(json_object_get(o, "model_name"));
        c->flavour = CT_CHROME_TRITON;
        if (model)
            r->model = ct_tl_names_add(&c->tl->names, model, strlen(model));
        if (json_is_integer(json_object_get(o, "parent_id")))
            r->parent = json_integer_value(json_object_get(o, "parent_id"));
        stamps(r, json_object_get(o, "timestamps"));
    }
    json_decref(o);
    return r != NULL;
}

static void add(CtChrome *c, const CtTritonRequest *r, const char *what, int from, int to,
                guint32 thread)
{
    if (!r->stamp[from] || !r->stamp[to] || r->stamp[to] < r->stamp[from])
        return;
    const char *model = ct_timeline_name(c->tl, r->model);
    g_autofree char *name = from == START && *model ? g_strdup_printf("%s %s", what, model)
                                                    : g_strdup(what);
    CtTlEvent e = {.kind = CT_TL_RANGE, .t0 = r->stamp[from], .t1 = r->stamp[to], .device = -1,
                   .stream = -1, .group = r->model,
                   .name = ct_tl_names_add(&c->tl->names, name, strlen(name))};
    ct_chrome_deliver(c, &e, thread);
}

static int by_id(gconstpointer a, gconstpointer b)
{
    const CtTritonRequest *x = *(CtTritonRequest *const *)a, *y = *(CtTritonRequest *const *)b;
    return x->id < y->id ? -1 : x->id > y->id;
}

void ct_triton_finish(CtChrome *c)
{
    guint n = 0, whole = 0;
    g_autoptr(GPtrArray) list = g_ptr_array_new();
    GHashTableIter iter;
    gpointer r;
    g_hash_table_iter_init(&iter, c->requests);
    while (g_hash_table_iter_next(&iter, NULL, &r))
        g_ptr_array_add(list, r);
    g_ptr_array_sort(list, by_id);
    guint32 thread = list->len ? ct_tl_store_thread(&c->store, 1, 1) : 0;
    for (guint i = 0; i < list->len && !c->stopped; i++) {
        const CtTritonRequest *q = g_ptr_array_index(list, i);
        add(c, q, "request", START, END, thread);
        add(c, q, "queue", QUEUE, COMPUTE, thread);
        add(c, q, "compute input", COMPUTE, INPUT_END, thread);
        add(c, q, "compute infer", INPUT_END, OUTPUT_START, thread);
        add(c, q, "compute output", OUTPUT_START, COMPUTE_END, thread);
        n++;
        whole += q->stamp[START] && q->stamp[END];
    }
    if (n > whole)
        ct_tl_gap(c->tl, "whole requests", "%u of %u requests have no start or no end in the file",
                  n - whole, n);
}
