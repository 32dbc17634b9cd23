/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/inspect-trace.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/table.h"
#include "reason/reason.h"
#include "report/layout.h"

#define SHOWN 10u
#define NAME_WIDTH 100u /* the names of templates are longer than any screen */
#define GAPS_SHOWN 12u

typedef struct {
    const CtTimeline *tl;
    const CtTlSummary *s;
    const CtKb *kb;
    CtLang lang;
} View;

static char *percent(double part, double whole)
{
    return whole > 0 ? g_strdup_printf("%.1f%%", 100 * part / whole) : g_strdup("-");
}

static char *took(double ns)
{
    return ns > 0 ? ct_format_duration(ns) : g_strdup("-"); /* records time only what waits */
}

static char *amount(guint64 n)
{
    return g_strdup_printf("%" G_GUINT64_FORMAT, n);
}

static char *rate(double bytes, double ns)
{
    if (ns <= 0 || bytes <= 0)
        return g_strdup("-");
    double r = bytes / ns;
    return r < 0.1     ? g_strdup_printf("%.3g MB/s", 1e3 * r)
           : r < 999.5 ? g_strdup_printf("%.3g GB/s", r) : g_strdup_printf("%.0f GB/s", r);
}

void ct_inspect_row(gpointer table, ...)
{
    CtCell cells[16];
    guint n = 0;
    va_list args;
    va_start(args, table);
    for (char *text; n < G_N_ELEMENTS(cells) && (text = va_arg(args, char *)); n++)
        cells[n] = (CtCell){g_ascii_isdigit(*text) || *text == '-' || *text == '+'
                                ? CT_CELL_NUMBER : CT_CELL_TEXT, text};
    va_end(args);
    ct_table_row(table, cells);
    for (guint i = 0; i < n; i++)
        g_free((char *)cells[i].text);
}

static CtTable *table(const View *v, const CtMsg *columns, guint n)
{
    const char *names[16];
    for (guint i = 0; i < n; i++)
        names[i] = ct_msg(v->lang, columns[i]);
    putchar('\n');
    return ct_table_new(CT_TABLE_ALIGNED, NULL, n, names);
}

static char *name_of(const View *v, guint32 id)
{
    g_autofree char *clean = ct_text_clean(ct_timeline_name(v->tl, id));
    return ct_text_fit(clean, NAME_WIDTH);
}

/* ---- text ---- */

static void head(const View *v, const char *path)
{
    const CtTlSummary *s = v->s;
    g_autofree char *clean = ct_text_clean(path);
    const char *producer = ct_timeline_producer(v->tl);
    g_autofree char *by = ct_text_clean(producer ? producer : "");
    printf("%s  %s%s%s\n", clean, ct_timeline_format(v->tl), *by ? ", " : "", by);
    if (s->t1 < s->t0)
        return;
    g_autofree char *span = ct_format_duration((double)(s->t1 - s->t0));
    g_autofree char *kernels = amount(s->n[CT_TL_KERNEL] + s->n[CT_TL_GRAPH]);
    g_autofree char *copies = amount(s->n[CT_TL_COPY]), *calls = amount(s->n[CT_TL_CALL]);
    g_autofree char *ranges = amount(s->n[CT_TL_RANGE]);
    g_autofree char *line = ct_msgf(v->lang, CT_MSG_TRACE_HEAD, span, kernels, copies, calls, ranges,
                                    NULL);
    printf("%s\n", line);
    gint64 offset = ct_timeline_wall_offset(v->tl);
    if (offset == G_MININT64)
        return;
    g_autoptr(GDateTime) t = g_date_time_new_from_unix_utc((s->t0 + offset) / 1000000000);
    g_autofree char *stamp = t ? g_date_time_format(t, "%Y-%m-%d %H:%M:%S") : NULL;
    g_autofree char *from = stamp ? ct_msgf(v->lang, CT_MSG_TRACE_FROM, stamp, NULL) : NULL;
    if (from)
        printf("%s\n", from);
}

static const CtTlDevice *device_of(const View *v, gint64 device)
{
    const GPtrArray *all = ct_timeline_devices(v->tl);
    for (guint i = 0; i < all->len; i++) {
        const CtTlDevice *d = g_ptr_array_index(all, i);
        if (d->device == device)
            return d;
    }
    return NULL;
}

static void gpus(const View *v)
{
    static const CtMsg columns[] = {CT_MSG_TRACE_GPU, CT_MSG_TRACE_BUSY, CT_MSG_TRACE_KERNELS,
                                    CT_MSG_TRACE_KERNEL_TIME, CT_MSG_TRACE_SHORT_GAPS,
                                    CT_MSG_TRACE_LONG_GAPS, CT_MSG_TRACE_LONGEST, CT_MSG_TRACE_AT,
                                    CT_MSG_TRACE_NAME};
    if (v->s->gpus->len == 0)
        return;
    CtTable *t = table(v, columns, G_N_ELEMENTS(columns));
    for (guint i = 0; i < v->s->gpus->len; i++) {
        const CtTlGpu *g = &g_array_index(v->s->gpus, CtTlGpu, i);
        const CtTlDevice *d = device_of(v, g->device);
        double span = (double)(g->t1 - g->t0);
        g_autofree char *at = ct_format_duration((double)(g->longest_at - v->s->t0));
        ct_inspect_row(t, amount((guint64)g->device), percent((double)g->busy, span),
                       amount(g->kernels + g->graphs), ct_format_duration((double)g->kernel_time),
                       percent((double)g->short_gaps, span), percent((double)g->long_gaps, span),
                       g->longest_gap ? ct_format_duration((double)g->longest_gap) : g_strdup("-"),
                       g->longest_gap ? g_strconcat("+", at, NULL) : g_strdup("-"),
                       ct_text_clean(d && d->name ? d->name : ""), NULL);
    }
    ct_table_end(t);
}

static void more(const View *v, guint all)
{
    if (all <= SHOWN)
        return;
    g_autofree char *n = g_strdup_printf("%u", all - SHOWN);
    g_autofree char *text = ct_msgf(v->lang, CT_MSG_TRACE_MORE, n, NULL);
    printf("%s\n", text);
}

static void list(const View *v, const GArray *a, guint all, gint64 sum, CtMsg what)
{
    const CtMsg columns[] = {CT_MSG_TRACE_SHARE, CT_MSG_TRACE_TOTAL, CT_MSG_TRACE_COUNT,
                             CT_MSG_TRACE_MEAN, CT_MSG_TRACE_MAX, what};
    if (a->len == 0)
        return;
    CtTable *t = table(v, columns, G_N_ELEMENTS(columns));
    for (guint i = 0; i < MIN(a->len, SHOWN); i++) {
        const CtTlNamed *x = &g_array_index(a, CtTlNamed, i);
        double total = (double)x->total, mean = total / (double)x->count;
        ct_inspect_row(t, percent(total, (double)sum), took(total), amount(x->count), took(mean),
                       took((double)x->max), name_of(v, x->name), NULL);
    }
    ct_table_end(t);
    more(v, all);
}

static char *copy_name(const CtTlCopies *c)
{
    if (c->source == CT_TL_MEM_UNKNOWN && c->target == CT_TL_MEM_UNKNOWN)
        return g_strdup(ct_tl_copy_name(c->copy));
    return g_strdup_printf("%s (%s -> %s)", ct_tl_copy_name(c->copy),
                           ct_tl_memory_name(c->source), ct_tl_memory_name(c->target));
}

static void copies(const View *v)
{
    static const CtMsg columns[] = {CT_MSG_TRACE_TOTAL, CT_MSG_TRACE_COUNT, CT_MSG_TRACE_BYTES,
                                    CT_MSG_TRACE_RATE, CT_MSG_TRACE_COPY};
    if (v->s->copies->len == 0)
        return;
    CtTable *t = table(v, columns, G_N_ELEMENTS(columns));
    for (guint i = 0; i < v->s->copies->len; i++) {
        const CtTlCopies *c = &g_array_index(v->s->copies, CtTlCopies, i);
        ct_inspect_row(t, ct_format_duration((double)c->total), amount(c->count),
                       ct_format_bytes((double)c->bytes),
                       rate((double)c->bytes, (double)c->total), copy_name(c), NULL);
    }
    ct_table_end(t);
}

static void nodes(const View *v)
{
    static const CtMsg columns[] = {CT_MSG_TRACE_SHARE, CT_MSG_TRACE_TOTAL, CT_MSG_TRACE_COUNT,
                                    CT_MSG_TRACE_PROVIDER, CT_MSG_TRACE_OPERATOR};
    double sum = 0;
    if (v->s->nodes->len == 0)
        return;
    for (guint i = 0; i < v->s->nodes->len; i++)
        sum += (double)g_array_index(v->s->nodes, CtTlNamed, i).total;
    CtTable *t = table(v, columns, G_N_ELEMENTS(columns));
    for (guint i = 0; i < MIN(v->s->nodes->len, 2 * SHOWN); i++) {
        const CtTlNamed *x = &g_array_index(v->s->nodes, CtTlNamed, i);
        ct_inspect_row(t, percent((double)x->total, sum), ct_format_duration((double)x->total),
                       amount(x->count), name_of(v, x->group), name_of(v, x->name), NULL);
    }
    ct_table_end(t);
}

static void failures(const View *v)
{
    static const CtMsg columns[] = {CT_MSG_TRACE_COUNT, CT_MSG_TRACE_ERROR, CT_MSG_TRACE_AFTER,
                                    CT_MSG_TRACE_FAILED};
    if (v->s->failures->len == 0)
        return;
    CtTable *t = table(v, columns, G_N_ELEMENTS(columns));
    for (guint i = 0; i < v->s->failures->len; i++) {
        const CtTlFailure *f = &g_array_index(v->s->failures, CtTlFailure, i);
        const char *code = v->kb ? ct_kb_code_name(v->kb, "cuda", f->result) : NULL;
        ct_inspect_row(t, amount(f->count), g_strdup_printf("%d %s", f->result, code ? code : ""),
                       g_strdup(ct_msg(v->lang, f->handled ? CT_MSG_TRACE_WENT_ON
                                                           : CT_MSG_TRACE_ENDED)),
                       name_of(v, f->name), NULL);
    }
    ct_table_end(t);
}

static void gaps(const View *v)
{
    const GPtrArray *all = ct_timeline_gaps(v->tl);
    if (all->len == 0)
        return;
    printf("\n%s\n", ct_msg(v->lang, CT_MSG_TRACE_MISSING));
    for (guint i = 0; i < MIN(all->len, GAPS_SHOWN); i++) {
        const CtTlGap *g = g_ptr_array_index(all, i);
        g_autofree char *text = v->lang == CT_LANG_ZH
                                    ? g_strdup_printf("%s：%s", g->what_zh, g->why_zh)
                                    : g_strdup_printf("%s: %s", g->what, g->why);
        g_autofree char *clean = ct_text_clean(text);
        g_autoptr(GPtrArray) lines = ct_text_wrap(clean, 76, 0);
        for (guint k = 0; k < lines->len; k++)
            printf("%s %s\n", k ? " " : "-", (const char *)g_ptr_array_index(lines, k));
    }
}

void ct_inspect_trace_text(const CtTrace *trace, const CtKb *kb, CtLang lang)
{
    const View v = {trace->timeline, trace->summary, kb, lang};
    head(&v, trace->path);
    gpus(&v);
    list(&v, v.s->kernels, v.s->n_kernels, v.s->kernel_ns, CT_MSG_TRACE_KERNEL);
    copies(&v);
    list(&v, v.s->calls, v.s->n_calls, v.s->call_ns, CT_MSG_TRACE_CALL);
    failures(&v);
    nodes(&v);
    list(&v, v.s->ranges, v.s->n_ranges, v.s->range_ns, CT_MSG_TRACE_RANGE);
    list(&v, v.s->os, v.s->n_os, v.s->os_ns, CT_MSG_TRACE_OS);
    gaps(&v);
}

/* ---- JSON ---- */

static json_t *text_or_null(const char *text)
{
    if (!text)
        return json_null();
    g_autofree char *valid = g_utf8_make_valid(text, -1);
    return json_string(valid);
}

static void set_int(json_t *o, const char *key, gint64 n)
{
    json_object_set_new(o, key, json_integer((json_int_t)n));
}

static json_t *json_list(const View *v, const GArray *a, const char *group)
{
    json_t *out = json_array();
    for (guint i = 0; i < a->len; i++) {
        const CtTlNamed *x = &g_array_index(a, CtTlNamed, i);
        json_t *o = json_object();
        json_object_set_new(o, "name", text_or_null(ct_timeline_name(v->tl, x->name)));
        if (group && x->group)
            json_object_set_new(o, group, text_or_null(ct_timeline_name(v->tl, x->group)));
        set_int(o, "count", (gint64)x->count);
        set_int(o, "total_ns", x->total);
        set_int(o, "max_ns", x->max);
        json_array_append_new(out, o);
    }
    return out;
}

static json_t *json_gpus(const View *v)
{
    json_t *out = json_array();
    for (guint i = 0; i < v->s->gpus->len; i++) {
        const CtTlGpu *g = &g_array_index(v->s->gpus, CtTlGpu, i);
        const CtTlDevice *d = device_of(v, g->device);
        json_t *o = json_object();
        set_int(o, "device", g->device);
        json_object_set_new(o, "name", text_or_null(d ? d->name : NULL));
        set_int(o, "t0_ns", g->t0);
        set_int(o, "t1_ns", g->t1);
        set_int(o, "busy_ns", g->busy);
        set_int(o, "kernels", (gint64)g->kernels);
        set_int(o, "graphs", (gint64)g->graphs);
        set_int(o, "kernel_ns", g->kernel_time);
        set_int(o, "copy_ns", g->copy_time);
        set_int(o, "launch_gap_ns", g->short_gaps);
        set_int(o, "long_gap_ns", g->long_gaps);
        set_int(o, "longest_gap_ns", g->longest_gap);
        json_array_append_new(out, o);
    }
    return out;
}

static json_t *json_copies(const View *v)
{
    json_t *out = json_array();
    for (guint i = 0; i < v->s->copies->len; i++) {
        const CtTlCopies *c = &g_array_index(v->s->copies, CtTlCopies, i);
        json_t *o = json_object();
        json_object_set_new(o, "kind", json_string(ct_tl_copy_name(c->copy)));
        json_object_set_new(o, "from", json_string(ct_tl_memory_name(c->source)));
        json_object_set_new(o, "to", json_string(ct_tl_memory_name(c->target)));
        set_int(o, "count", (gint64)c->count);
        set_int(o, "bytes", (gint64)c->bytes);
        set_int(o, "total_ns", c->total);
        json_array_append_new(out, o);
    }
    return out;
}

static json_t *json_failures(const View *v)
{
    json_t *out = json_array();
    for (guint i = 0; i < v->s->failures->len; i++) {
        const CtTlFailure *f = &g_array_index(v->s->failures, CtTlFailure, i);
        const char *code = v->kb ? ct_kb_code_name(v->kb, "cuda", f->result) : NULL;
        json_t *o = json_object();
        json_object_set_new(o, "call", text_or_null(ct_timeline_name(v->tl, f->name)));
        set_int(o, "code", f->result);
        json_object_set_new(o, "name", text_or_null(code));
        set_int(o, "count", (gint64)f->count);
        json_object_set_new(o, "handled", json_boolean(f->handled));
        json_array_append_new(out, o);
    }
    return out;
}

static json_t *json_gaps(const View *v)
{
    const GPtrArray *all = ct_timeline_gaps(v->tl);
    json_t *out = json_array();
    for (guint i = 0; i < all->len; i++) {
        const CtTlGap *g = g_ptr_array_index(all, i);
        json_t *o = json_object();
        json_object_set_new(o, "what", text_or_null(g->what));
        json_object_set_new(o, "why", text_or_null(g->why));
        json_array_append_new(out, o);
    }
    return out;
}

static json_t *json_call_kinds(const View *v)
{
    json_t *out = json_object();
    for (guint i = 0; i <= CT_TL_CALL_GRAPH; i++)
        if (v->s->call_count[i]) {
            json_t *o = json_object();
            set_int(o, "count", (gint64)v->s->call_count[i]);
            set_int(o, "total_ns", v->s->call_time[i]);
            json_object_set_new(out, ct_tl_call_name(i), o);
        }
    return out;
}

json_t *ct_inspect_trace_json(const CtTrace *trace, const CtKb *kb)
{
    const View v = {trace->timeline, trace->summary, kb, CT_LANG_EN};
    gint64 offset = ct_timeline_wall_offset(v.tl);
    gboolean any = v.s->t1 >= v.s->t0;
    json_t *o = json_object();
    json_object_set_new(o, "source", text_or_null(trace->path));
    json_object_set_new(o, "format", text_or_null(ct_timeline_format(v.tl)));
    json_object_set_new(o, "producer", text_or_null(ct_timeline_producer(v.tl)));
    json_object_set_new(o, "t0_ns", any ? json_integer(v.s->t0) : json_null());
    json_object_set_new(o, "t1_ns", any ? json_integer(v.s->t1) : json_null());
    json_object_set_new(o, "wall_offset_ns",
                        offset == G_MININT64 ? json_null() : json_integer(offset));
    set_int(o, "disorder_ns", ct_timeline_disorder(v.tl));
    set_int(o, "n_kernels", (gint64)v.s->n[CT_TL_KERNEL]);
    set_int(o, "n_copies", (gint64)v.s->n[CT_TL_COPY]);
    set_int(o, "n_calls", (gint64)v.s->n[CT_TL_CALL]);
    set_int(o, "n_ranges", (gint64)v.s->n[CT_TL_RANGE]);
    json_object_set_new(o, "gpus", json_gpus(&v));
    json_object_set_new(o, "kernels", json_list(&v, v.s->kernels, NULL));
    json_object_set_new(o, "copies", json_copies(&v));
    json_object_set_new(o, "calls", json_list(&v, v.s->calls, NULL));
    json_object_set_new(o, "call_kinds", json_call_kinds(&v));
    json_object_set_new(o, "failures", json_failures(&v));
    json_object_set_new(o, "nodes", json_list(&v, v.s->nodes, "provider"));
    json_object_set_new(o, "ranges", json_list(&v, v.s->ranges, "group"));
    json_object_set_new(o, "os", json_list(&v, v.s->os, NULL));
    json_object_set_new(o, "gaps", json_gaps(&v));
    return o;
}
