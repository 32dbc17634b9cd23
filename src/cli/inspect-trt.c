/* SPDX-License-Identifier: Apache-2.0 */
/* Layers of a TensorRT engine: where the time goes, what was fused, in which precision. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/inspect-trace.h"
#include "cli/table.h"
#include "reason/reason.h"
#include "report/layout.h"

#define SHOWN 20u
#define NAME_WIDTH 100u

typedef struct {
    const CtTrtTime *time;   /* (nullable) */
    const CtTrtLayer *layer; /* (nullable) */
} Row;

typedef struct {
    GArray *rows;          /* Row, most time first */
    double sum, reformat;  /* ns an iteration */
    guint n_reformat, operations, fused_layers;
    gboolean other_engine, has_layers, names_only;
} Engine;

static int by_time(gconstpointer a, gconstpointer b)
{
    const Row *x = a, *y = b;
    double s = x->time ? x->time->mean : 0, t = y->time ? y->time->mean : 0;
    return s < t ? 1 : s > t ? -1 : 0;
}

/* The layer information that fits; NULL: none was given, or only of other engines. */
static GPtrArray *layers_for(const CtTrtDoc *profile, const GPtrArray *all, gboolean *out_given)
{
    *out_given = FALSE;
    for (guint i = 0; i < all->len; i++) {
        const CtTrace *t = g_ptr_array_index(all, i);
        if (!t->trt || t->trt->kind != CT_TRT_LAYERS)
            continue;
        *out_given = TRUE;
        GPtrArray *joined = ct_trt_join(profile, t->trt);
        if (joined->len)
            return joined;
        g_ptr_array_unref(joined);
    }
    return NULL;
}

static void add(Engine *e, const Row *r)
{
    const char *name = r->time ? r->time->name : r->layer->name;
    double took = r->time ? r->time->mean : 0;
    gboolean reformat = r->layer ? r->layer->reformat : ct_trt_is_reformat(name);
    e->sum += took;
    if (reformat) {
        e->n_reformat++;
        e->reformat += took;
    } else if (r->layer) {
        e->operations += r->layer->fused;
        e->fused_layers++;
    }
    e->names_only &= !r->layer || !r->layer->type;
    g_array_append_val(e->rows, *r);
}

static Engine engine_of(const CtTrace *trace, const GPtrArray *all)
{
    Engine e = {.rows = g_array_new(FALSE, TRUE, sizeof(Row)), .names_only = TRUE};
    gboolean given = FALSE;
    g_autoptr(GPtrArray) joined = NULL;
    if (trace->trt->kind == CT_TRT_PROFILE)
        joined = layers_for(trace->trt, all, &given);
    for (guint i = 0; i < trace->trt->times->len; i++)
        add(&e, &(Row){g_ptr_array_index(trace->trt->times, i),
                       joined ? g_ptr_array_index(joined, i) : NULL});
    for (guint i = 0; i < trace->trt->layers->len; i++)
        add(&e, &(Row){NULL, g_ptr_array_index(trace->trt->layers, i)});
    e.has_layers = joined || trace->trt->kind == CT_TRT_LAYERS;
    e.other_engine = given && !joined;
    g_array_sort(e.rows, by_time);
    return e;
}

/* "FP32 -> FP16" where they differ. */
static char *precision(const CtTrtLayer *l)
{
    if (!l || !l->output)
        return g_strdup(l && l->input ? l->input : "");
    if (l->input && !g_str_equal(l->input, l->output))
        return g_strdup_printf("%s -> %s", l->input, l->output);
    return g_strdup(l->output);
}

static char *fit(const char *name)
{
    g_autofree char *clean = ct_text_clean(name);
    return ct_text_fit(clean, NAME_WIDTH);
}

static void table(const Engine *e, gboolean timed, CtLang lang)
{
    static const CtMsg columns[] = {CT_MSG_TRACE_SHARE, CT_MSG_TRACE_MEAN, CT_MSG_TRACE_TYPE,
                                    CT_MSG_TRACE_PRECISION, CT_MSG_TRACE_FUSED, CT_MSG_TRACE_LAYER};
    const char *names[6];
    guint from = timed ? 0 : 2;
    for (guint i = 0; i < 6; i++)
        names[i] = ct_msg(lang, columns[i]);
    putchar('\n');
    CtTable *t = ct_table_new(CT_TABLE_ALIGNED, NULL, 6 - from, names + from);
    for (guint i = 0; i < MIN(e->rows->len, SHOWN); i++) {
        const Row *r = &g_array_index(e->rows, Row, i);
        char *type = ct_text_clean(r->layer && r->layer->type ? r->layer->type : "");
        char *fused = r->layer ? g_strdup_printf("%u", r->layer->fused) : g_strdup("");
        char *name = fit(r->time ? r->time->name : r->layer->name);
        if (!timed)
            ct_inspect_row(t, type, precision(r->layer), fused, name, NULL);
        else
            ct_inspect_row(t, g_strdup_printf("%.1f%%", e->sum > 0 ? 100 * r->time->mean / e->sum : 0),
                           ct_format_duration(r->time->mean), type, precision(r->layer), fused, name,
                           NULL);
    }
    ct_table_end(t);
    if (e->rows->len > SHOWN) {
        g_autofree char *n = g_strdup_printf("%u", e->rows->len - SHOWN);
        g_autofree char *text = ct_msgf(lang, CT_MSG_TRACE_MORE, n, NULL);
        printf("%s\n", text);
    }
}

static void say(char *text)
{
    printf("%s\n", text);
    g_free(text);
}

static void engine_text(const CtTrace *trace, const GPtrArray *all, CtLang lang)
{
    const CtTrtDoc *d = trace->trt;
    Engine e = engine_of(trace, all);
    gboolean timed = d->kind == CT_TRT_PROFILE;
    g_autofree char *n = g_strdup_printf("%u", e.rows->len), *each = ct_format_duration(e.sum);
    g_autofree char *iterations = g_strdup_printf("%" G_GUINT64_FORMAT, d->iterations);
    g_autofree char *reformats = g_strdup_printf("%u", e.n_reformat);
    g_autofree char *reformat = ct_format_duration(e.reformat);
    g_autofree char *share = g_strdup_printf("%.1f%%", e.sum > 0 ? 100 * e.reformat / e.sum : 0);
    g_autofree char *operations = g_strdup_printf("%u", e.operations);
    g_autofree char *kept = g_strdup_printf("%u", e.fused_layers);
    say(timed ? ct_msgf(lang, CT_MSG_TRACE_LAYERS_HEAD, n, each, iterations, NULL)
              : ct_msgf(lang, CT_MSG_TRACE_LAYERS_ONLY, n, NULL));
    if (e.has_layers)
        say(ct_msgf(lang, CT_MSG_TRACE_FUSED_HEAD, operations, kept, NULL));
    if (e.n_reformat)
        say(timed ? ct_msgf(lang, CT_MSG_TRACE_REFORMAT, reformats, reformat, share, NULL)
                  : ct_msgf(lang, CT_MSG_TRACE_REFORMAT_ONLY, reformats, NULL));
    table(&e, timed, lang);
    if (e.other_engine)
        say(g_strdup(ct_msg(lang, CT_MSG_TRACE_OTHER_ENGINE)));
    else if (!e.has_layers)
        say(g_strdup(ct_msg(lang, CT_MSG_TRACE_NEED_LAYERS)));
    else if (e.names_only)
        say(g_strdup(ct_msg(lang, CT_MSG_TRACE_NAMES_ONLY)));
    g_array_unref(e.rows);
}

/* ---- times of queries ---- */

static const char *const part_names[] = {"enqueue", "H2D", "compute", "D2H", "latency"};

static int by_value(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return x < y ? -1 : x > y;
}

static float *part(const CtTrtDoc *d, guint k)
{
    float *v = g_new(float, d->queries->len + 1);
    for (guint i = 0; i < d->queries->len; i++) {
        const CtTrtQuery *q = &g_array_index(d->queries, CtTrtQuery, i);
        const float all[] = {q->enqueue, q->h2d, q->compute, q->d2h, q->latency};
        v[i] = all[k];
    }
    qsort(v, d->queries->len, sizeof *v, by_value);
    return v;
}

static float at_share(const float *v, guint n, double share)
{
    return n ? v[MIN((guint)(share * n), n - 1)] : 0;
}

static void queries_text(const CtTrtDoc *d, CtLang lang)
{
    g_autofree char *n = g_strdup_printf("%u", d->queries->len);
    const char *names[] = {ct_msg(lang, CT_MSG_TRACE_MEDIAN), "90%", "99%",
                           ct_msg(lang, CT_MSG_TRACE_MAX), ct_msg(lang, CT_MSG_TRACE_PART)};
    say(ct_msgf(lang, CT_MSG_TRACE_QUERIES, n, NULL));
    putchar('\n');
    CtTable *t = ct_table_new(CT_TABLE_ALIGNED, NULL, 5, names);
    for (guint k = 0; k < G_N_ELEMENTS(part_names); k++) {
        g_autofree float *v = part(d, k);
        guint len = d->queries->len;
        ct_inspect_row(t, ct_format_duration(at_share(v, len, 0.5)),
                       ct_format_duration(at_share(v, len, 0.9)),
                       ct_format_duration(at_share(v, len, 0.99)),
                       ct_format_duration(len ? v[len - 1] : 0), g_strdup(part_names[k]), NULL);
    }
    ct_table_end(t);
}

static const char *kind_name(CtTrtKind kind)
{
    return kind == CT_TRT_TIMES ? "trtexec --exportTimes"
           : kind == CT_TRT_PROFILE ? "trtexec --exportProfile" : "TensorRT layer information";
}

void ct_inspect_trt_text(const CtTrace *trace, const GPtrArray *all, CtLang lang)
{
    const CtTrtDoc *d = trace->trt;
    g_autofree char *path = ct_text_clean(trace->path);
    printf("%s  %s\n", path, kind_name(d->kind));
    if (d->kind == CT_TRT_TIMES)
        queries_text(d, lang);
    else
        engine_text(trace, all, lang);
    if (d->runs > 1 && d->kind == CT_TRT_PROFILE) {
        g_autofree char *n = g_strdup_printf("%u", d->runs);
        say(ct_msgf(lang, CT_MSG_TRACE_RUNS, n, NULL));
    }
    if (d->problem)
        printf("\n%s\n- %s\n", ct_msg(lang, CT_MSG_TRACE_MISSING), d->problem);
}

/* ---- JSON ---- */

static void set_text(json_t *o, const char *key, const char *text)
{
    g_autofree char *valid = text ? g_utf8_make_valid(text, -1) : NULL;
    json_object_set_new(o, key, valid ? json_string(valid) : json_null());
}

static json_t *rows_json(const Engine *e)
{
    json_t *out = json_array();
    for (guint i = 0; i < e->rows->len; i++) {
        const Row *r = &g_array_index(e->rows, Row, i);
        json_t *o = json_object();
        set_text(o, "name", r->time ? r->time->name : r->layer->name);
        if (r->time) {
            json_object_set_new(o, "mean_ns", json_real(r->time->mean));
            json_object_set_new(o, "median_ns", r->time->median > 0 ? json_real(r->time->median)
                                                                    : json_null());
        }
        set_text(o, "type", r->layer ? r->layer->type : NULL);
        set_text(o, "input", r->layer ? r->layer->input : NULL);
        set_text(o, "output", r->layer ? r->layer->output : NULL);
        set_text(o, "tactic", r->layer ? r->layer->tactic : NULL);
        json_object_set_new(o, "operations", r->layer ? json_integer(r->layer->fused)
                                                      : json_null());
        json_object_set_new(o, "reformat", json_boolean(r->layer ? r->layer->reformat
                                                                 : ct_trt_is_reformat(r->time->name)));
        json_array_append_new(out, o);
    }
    return out;
}

json_t *ct_inspect_trt_json(const CtTrace *trace, const GPtrArray *all)
{
    static const char *const formats[] = {"", "trt-times", "trt-profile", "trt-layers"};
    const CtTrtDoc *d = trace->trt;
    json_t *o = json_object();
    set_text(o, "source", trace->path);
    set_text(o, "format", formats[d->kind]);
    set_text(o, "problem", d->problem);
    if (d->kind == CT_TRT_TIMES) {
        json_object_set_new(o, "queries", json_integer(d->queries->len));
        for (guint k = 0; k < G_N_ELEMENTS(part_names); k++) {
            g_autofree float *v = part(d, k);
            guint len = d->queries->len;
            json_object_set_new(o, part_names[k],
                                json_pack("{s:f, s:f, s:f}", "median_ns", at_share(v, len, 0.5),
                                          "p99_ns", at_share(v, len, 0.99), "max_ns",
                                          len ? v[len - 1] : 0.0));
        }
        return o;
    }
    Engine e = engine_of(trace, all);
    json_object_set_new(o, "iterations", json_integer((json_int_t)d->iterations));
    json_object_set_new(o, "sum_ns", json_real(e.sum));
    json_object_set_new(o, "reformat_layers", json_integer(e.n_reformat));
    json_object_set_new(o, "reformat_ns", json_real(e.reformat));
    json_object_set_new(o, "layers", rows_json(&e));
    g_array_unref(e.rows);
    return o;
}
