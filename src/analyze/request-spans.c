/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/request-spans.h"

#include <jansson.h>
#include <string.h>

const char *const ct_request_parts[CT_N_RP] = {
    "kernel", "foreign", "h2d", "d2h", "d2d", "alloc", "copy-call",
    "sync", "launch", "module", "call", "os", "host", "queue", "input",
};
static const char *const counts[CT_N_RN] = {"kernels", "launches", "syncs",  "allocs",
                                            "copies",  "modules",  "fresh", "hits", "tiny"};

static void set_free(gpointer data)
{
    CtRequestSet *s = data;
    for (guint i = 0; i < s->requests->len; i++) {
        g_free(g_array_index(s->requests, CtRequestSpan, i).kernel);
        g_free(g_array_index(s->requests, CtRequestSpan, i).shape);
    }
    g_array_unref(s->requests);
    g_free(s->name);
    g_free(s->found_by);
    g_free(s);
}

static double number(const json_t *o, const char *key)
{
    return json_number_value(json_object_get(o, key));
}

static void read_detail(CtRequestSpan *r, const char *text)
{
    json_t *o = text ? json_loads(text, 0, NULL) : NULL;
    const json_t *parts = json_object_get(o, "parts"), *n = json_object_get(o, "n");
    r->index = (gint64)number(o, "i");
    r->slow = number(o, "slow") > 0;
    for (guint i = 0; i < CT_N_RP; i++)
        r->part[i] = number(parts, ct_request_parts[i]);
    for (guint i = 0; i < CT_N_RN; i++)
        r->n[i] = number(n, counts[i]);
    r->pageable = number(o, "pageable");
    r->gap = number(o, "gap");
    r->hit = number(o, "hit_ns");
    r->stretch = number(o, "stretch");
    r->stalled = number(o, "stalled");
    r->alloc_calls = number(o, "alloc-calls");
    r->sync_calls = number(o, "sync-calls");
    r->even = json_object_get(o, "even") ? number(o, "even") : -1;
    r->more = number(o, "more_ns");
    r->gain = number(o, "gain_ns");
    const json_t *k = json_array_get(json_object_get(o, "kernels"), 0);
    if (k) {
        r->kernel = g_strdup(json_string_value(json_object_get(k, "name")));
        r->shape = g_strdup(json_string_value(json_object_get(k, "shape")));
        r->kernel_ns = number(k, "ns");
        r->kernel_usual = number(k, "usual_ns");
        r->kernel_n = number(k, "n");
        r->kernel_usual_n = number(k, "usual_n");
    }
    json_decref(o);
}

static void read_facts(CtEvidence *ev, CtRequestSet *s)
{
    sqlite3_stmt *st = NULL;
    if (sqlite3_prepare_v2(ct_evidence_db(ev),
                           "SELECT substr(key, 7), number, value FROM fact WHERE section = ? AND "
                           "key >= 'trace.' AND key < 'trace/' AND subject = 'request'",
                           -1, &st, NULL) != SQLITE_OK)
        return;
    sqlite3_bind_int64(st, 1, s->section);
    const struct {
        const char *key;
        double *to;
    } plain[] = {
        {"typical", &s->typical},         {"limit", &s->limit},
        {"time.pageable", &s->pageable},  {"time.gap", &s->gap},
        {"time.stalled", &s->stalled},
        {"time.own", &s->own},            {"time.alloc-calls", &s->alloc_calls},
        {"time.sync-calls", &s->sync_calls},
        {"kernel-mean", &s->kernel_mean}, {"pageable-rate", &s->pageable_rate},
        {"h2d-rate", &s->h2d_rate},       {"streams", &s->streams},
        {"request-threads", &s->threads},  {"main-stream", &s->main_stream},
        {"calls", &s->calls},
    };
    while (sqlite3_step(st) == SQLITE_ROW) {
        const char *key = (const char *)sqlite3_column_text(st, 0);
        double x = sqlite3_column_double(st, 1);
        for (guint i = 0; i < G_N_ELEMENTS(plain); i++)
            if (g_str_equal(key, plain[i].key))
                *plain[i].to = x;
        for (guint i = 0; g_str_has_prefix(key, "part.") && i < CT_N_RP; i++)
            if (g_str_equal(key + 5, ct_request_parts[i]))
                s->part[i] = x;
        for (guint i = 0; g_str_has_prefix(key, "each.") && i < CT_N_RN; i++)
            if (g_str_equal(key + 5, counts[i]))
                s->n[i] = x;
        if (g_str_equal(key, "requests"))
            s->total = (gint64)x;
        if (g_str_equal(key, "found-by") && !s->found_by)
            s->found_by = g_strdup((const char *)sqlite3_column_text(st, 2));
    }
    sqlite3_finalize(st);
}

GPtrArray *ct_request_sets(CtEvidence *ev)
{
    GPtrArray *sets = g_ptr_array_new_with_free_func(set_free);
    sqlite3_stmt *st = NULL;
    ct_evidence_flush(ev);
    if (sqlite3_prepare_v2(ct_evidence_db(ev),
                           "SELECT section, name, t0_ns, t1_ns, detail, id FROM span WHERE track = "
                           "'request' AND t0_ns NOT NULL AND t1_ns > t0_ns ORDER BY section, t0_ns",
                           -1, &st, NULL) != SQLITE_OK)
        return sets;
    CtRequestSet *s = NULL;
    while (sqlite3_step(st) == SQLITE_ROW) {
        gint64 section = sqlite3_column_int64(st, 0);
        if (!s || s->section != section) {
            s = g_new0(CtRequestSet, 1);
            s->section = section;
            s->calls = -1;
            s->name = g_strdup((const char *)sqlite3_column_text(st, 1));
            s->requests = g_array_new(FALSE, TRUE, sizeof(CtRequestSpan));
            g_ptr_array_add(sets, s);
        }
        CtRequestSpan r = {.t0 = sqlite3_column_int64(st, 2), .t1 = sqlite3_column_int64(st, 3),
                           .span = sqlite3_column_int64(st, 5)};
        read_detail(&r, (const char *)sqlite3_column_text(st, 4));
        g_array_append_val(s->requests, r);
    }
    sqlite3_finalize(st);
    for (guint i = 0; i < sets->len; i++)
        read_facts(ev, g_ptr_array_index(sets, i));
    return sets;
}
