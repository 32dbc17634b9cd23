/* SPDX-License-Identifier: Apache-2.0 */
/* What lasts of a trace: a span for each request, and facts about the typical one. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "timeline/digest-private.h"

#define TOP_KERNELS 6u

static const CtRequest *request(const CtDigest *d, guint i)
{
    return &g_array_index(d->requests, CtRequest, i);
}

/* ---- numbers over all typical requests ---- */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

typedef double (*Take)(const CtRequest *r, guint which);

/* The first requests are warming up; with few there is no choice. */
static double typical_of(const CtDigest *d, Take take, guint which)
{
    guint from = d->requests->len > 10 ? 2 : 0, n = 0;
    g_autofree double *x = g_new(double, d->requests->len + 1);
    for (guint i = from; i < d->requests->len; i++)
        if (!request(d, i)->slow)
            x[n++] = take(request(d, i), which);
    if (!n)
        return 0;
    qsort(x, n, sizeof *x, by_value);
    return n % 2 ? x[n / 2] : 0.5 * (x[n / 2] + x[n / 2 - 1]);
}

static double take_part(const CtRequest *r, guint which)
{
    return r->part[which];
}

static const char *const counts[] = {"kernels", "launches", "syncs",  "allocs",
                                     "copies",  "modules",  "fresh", "hits", "tiny"};

static double take_count(const CtRequest *r, guint which)
{
    const guint32 n[] = {r->kernels, r->launches, r->syncs, r->allocs,
                         r->copies,  r->modules,  r->fresh, r->hits, r->tiny};
    return n[which];
}

static const char *const times[] = {"pageable", "alloc-calls", "sync-calls", "launch-calls", "own",
                                    "gap", "stalled"};

static double take_time(const CtRequest *r, guint which)
{
    const float ns[] = {r->pageable_ns, r->alloc_ns, r->sync_ns, r->launch_ns, r->own_ns,
                        r->gap_ns, r->stalled_ns};
    return ns[which];
}

static void fact(CtDigest *d, const char *key, const char *more, double number)
{
    g_autofree char *whole = g_strconcat("trace.", key, more, NULL);
    g_autofree char *value = g_strdup_printf("%.6g", number);
    if (!isfinite(number))
        return;
    ct_evidence_add_fact(d->ev, &(CtFactRow){.section = d->section,
                                             .subject = "request",
                                             .key = whole,
                                             .value = value,
                                             .number = number,
                                             .has_number = TRUE});
}

/* ---- kernels of a slow request against those of typical ones ---- */

typedef struct {
    const CtPair *pair;
    double n, ns, usual_n, usual_ns;
} Compared;

static int by_extra(const void *a, const void *b)
{
    const Compared *x = a, *y = b;
    double p = x->ns - x->usual_ns, q = y->ns - y->usual_ns;
    if (p == q)
        return (x->pair->index > y->pair->index) - (x->pair->index < y->pair->index);
    return p < q ? 1 : -1;
}

typedef struct {
    const CtPair **by_index; /* [pairs.used + 1] */
    CtDetail *usual;         /* [pairs.used + 1], sums over the reference requests */
} Usual;

static void usual_init(const CtDigest *d, Usual *u)
{
    u->by_index = g_new0(const CtPair *, d->pairs.used + 1);
    u->usual = g_new0(CtDetail, d->pairs.used + 1);
    for (guint i = 0; d->pairs.slot && i <= d->pairs.mask; i++)
        if (d->pairs.slot[i].index)
            u->by_index[d->pairs.slot[i].index] = &d->pairs.slot[i];
    GHashTableIter it;
    gpointer key, value;
    g_hash_table_iter_init(&it, d->detail);
    while (g_hash_table_iter_next(&it, &key, &value)) {
        guint64 k = (guint64)*(gint64 *)key;
        if (request(d, (guint)(k >> 32))->reference) {
            u->usual[k & 0xffffffff].n += ((CtDetail *)value)->n;
            u->usual[k & 0xffffffff].ns += ((CtDetail *)value)->ns;
        }
    }
}

static GArray *compare(const CtDigest *d, const Usual *u, guint at)
{
    GArray *out = g_array_new(FALSE, FALSE, sizeof(Compared));
    double refs = MAX(d->n_reference, 1);
    for (guint i = 1; i <= d->pairs.used; i++) {
        gint64 key = (gint64)((guint64)at << 32 | i);
        const CtDetail *x = g_hash_table_lookup(d->detail, &key);
        Compared c = {.pair = u->by_index[i], .n = x ? x->n : 0, .ns = x ? x->ns : 0,
                      .usual_n = u->usual[i].n / refs, .usual_ns = u->usual[i].ns / refs};
        if (c.n > 0 || c.usual_n > 0)
            g_array_append_val(out, c);
    }
    g_array_sort(out, by_extra);
    return out;
}

static json_t *kernel_json(const CtDigest *d, const Compared *c)
{
    json_t *o = json_pack("{s:f, s:f, s:f, s:f}", "n", c->n, "ns", c->ns, "usual_n", c->usual_n,
                          "usual_ns", c->usual_ns);
    g_autofree char *name = g_utf8_make_valid(ct_timeline_name(d->tl, c->pair->name), -1);
    g_autofree char *cut = g_utf8_substring(name, 0, MIN(g_utf8_strlen(name, -1), 120));
    json_object_set_new(o, "name", json_string(cut));
    if (c->pair->shape) {
        g_autofree char *shape = g_utf8_make_valid(ct_timeline_name(d->tl, c->pair->shape), -1);
        json_object_set_new(o, "shape", json_string(shape));
    }
    return o;
}

/* Which kernels, and of what kind the change is: `even` is the share of the usual kernel time
 * whose kernels changed by the common ratio, `more` the part of the extra time that comes from
 * kernels that run more often. */
static void add_kernels(const CtDigest *d, const Usual *u, guint at, json_t *detail)
{
    g_autoptr(GArray) all = compare(d, u, at);
    double ns = 0, usual = 0, even = 0, more = 0, gain = 0;
    for (guint i = 0; i < all->len; i++) {
        const Compared *c = &g_array_index(all, Compared, i);
        ns += c->ns;
        usual += c->usual_ns;
        double each = c->usual_n > 0 ? c->usual_ns / c->usual_n : c->ns / MAX(c->n, 1);
        more += (c->n - c->usual_n) * each;
        gain += MAX(c->ns - c->usual_ns, 0);
    }
    double ratio = usual > 0 ? ns / usual : 1;
    for (guint i = 0; i < all->len; i++) {
        const Compared *c = &g_array_index(all, Compared, i);
        if (c->usual_ns > 0 && c->ns > 0 && fabs(log(c->ns / c->usual_ns / ratio)) < 0.12)
            even += c->usual_ns;
    }
    json_t *list = json_array();
    for (guint i = 0; i < MIN(all->len, TOP_KERNELS); i++) {
        const Compared *c = &g_array_index(all, Compared, i);
        if (c->ns - c->usual_ns > 0.005 * d->typical)
            json_array_append_new(list, kernel_json(d, c));
    }
    json_object_set_new(detail, "kernels", list);
    json_object_set_new(detail, "even", json_real(usual > 0 ? even / usual : 0));
    json_object_set_new(detail, "more_ns", json_real(more));
    json_object_set_new(detail, "gain_ns", json_real(gain));
}

/* ---- spans ---- */

static char *detail_of(const CtDigest *d, const Usual *u, guint i)
{
    const CtRequest *r = request(d, i);
    json_t *o = json_object(), *parts = json_object(), *n = json_object();
    json_object_set_new(o, "i", json_integer(i));
    json_object_set_new(o, "slow", json_integer(r->slow != 0));
    for (guint p = 0; p < CT_N_PARTS; p++)
        if (r->part[p] >= 1)
            json_object_set_new(parts, ct_part_names[p], json_integer((json_int_t)r->part[p]));
    json_object_set_new(o, "parts", parts);
    for (guint c = 0; c < G_N_ELEMENTS(counts); c++)
        if (take_count(r, c) > 0)
            json_object_set_new(n, counts[c], json_integer((json_int_t)take_count(r, c)));
    json_object_set_new(o, "n", n);
    for (guint t = 0; t < G_N_ELEMENTS(times); t++)
        if (take_time(r, t) >= 1)
            json_object_set_new(o, times[t], json_integer((json_int_t)take_time(r, t)));
    if (r->bytes[0] > 0)
        json_object_set_new(o, "h2d_bytes", json_integer((json_int_t)r->bytes[0]));
    if (r->bytes[1] > 0)
        json_object_set_new(o, "d2h_bytes", json_integer((json_int_t)r->bytes[1]));
    if (r->known_ns > 0.8 * r->own_ns && r->usual_ns > 0)
        json_object_set_new(o, "stretch", json_real((double)r->known_ns / r->usual_ns));
    if (r->hit_ns >= 1)
        json_object_set_new(o, "hit_ns", json_integer((json_int_t)r->hit_ns));
    if (r->slow == 2)
        add_kernels(d, u, i, o);
    char *text = json_dumps(o, JSON_COMPACT);
    char *out = g_strdup(text);
    free(text);
    json_decref(o);
    return out;
}

static void add_spans(CtDigest *d, gint64 offset)
{
    Usual u;
    usual_init(d, &u);
    guint n = d->requests->len, slow = 0, kept = 0;
    for (guint i = 0; i < n; i++)
        slow += request(d, i)->slow != 0;
    guint room = slow < CT_DG_MAX_SPANS ? CT_DG_MAX_SPANS - slow : 0;
    guint stride = room && n - slow > room ? (n - slow) / room + 1 : 1, seen = 0;
    CtSeries *series = ct_evidence_series(d->ev, d->section, d->request_name, "latency", "ns");
    for (guint i = 0; i < n; i++) {
        const CtRequest *r = request(d, i);
        if (series)
            ct_series_add(series, r->t0 + offset, (double)(r->t1 - r->t0), i + 1);
        if (kept >= CT_DG_MAX_SPANS || (!r->slow && (!room || seen++ % stride != 0)))
            continue;
        g_autofree char *detail = detail_of(d, &u, i);
        ct_evidence_add_span(d->ev, &(CtSpanRow){.section = d->section,
                                                 .track = "request",
                                                 .name = d->request_name,
                                                 .t0_ns = r->t0 + offset,
                                                 .t1_ns = r->t1 + offset,
                                                 .detail = detail});
        kept++;
    }
    g_free(u.by_index);
    g_free(u.usual);
}

/* ---- facts ---- */

static double top_share(GHashTable *table, guint *out_n)
{
    GHashTableIter it;
    gpointer value;
    guint64 sum = 0, top = 0;
    g_hash_table_iter_init(&it, table);
    while (g_hash_table_iter_next(&it, NULL, &value)) {
        sum += *(guint64 *)value;
        top = MAX(top, *(guint64 *)value);
    }
    *out_n = 0;
    g_hash_table_iter_init(&it, table);
    while (g_hash_table_iter_next(&it, NULL, &value))
        *out_n += *(guint64 *)value * 20 >= sum; /* those that do a part worth the name */
    return sum ? (double)top / (double)sum : 0;
}

static void add_run_facts(CtDigest *d)
{
    guint streams, threads;
    double main_stream = top_share(d->streams, &streams);
    top_share(d->launchers, &threads);
    fact(d, "streams", NULL, streams);
    fact(d, "launch-threads", NULL, threads);
    fact(d, "calls", NULL, (double)d->n_calls);
    fact(d, "request-threads", NULL, g_hash_table_size(d->request_tids));
    fact(d, "main-stream", NULL, main_stream);
    if (d->n_kernels) {
        double sum = 0;
        for (guint i = 0; d->pairs.slot && i <= d->pairs.mask; i++)
            sum += d->pairs.slot[i].sum;
        fact(d, "kernel-mean", NULL, sum / (double)d->n_kernels);
        double busy = ct_busy_within(&d->all, d->t0, d->t1);
        fact(d, "busy", NULL, busy / (double)MAX(d->t1 - d->t0, 1));
    }
    if (d->copy_bytes[0] > 0 && d->copy_ns[0] > 0)
        fact(d, "h2d-rate", NULL, d->copy_bytes[0] / d->copy_ns[0] * 1e9);
    if (d->pageable_bytes > 0 && d->pageable_ns > 0) {
        fact(d, "pageable-rate", NULL, d->pageable_bytes / d->pageable_ns * 1e9);
        fact(d, "pageable-bytes", NULL, d->pageable_bytes);
    }
}

/* What the second half of the run spends its time on where no requests are seen, and ranges
 * that name input or queues although they lie outside the requests. */
static void add_whole(CtDigest *d)
{
    static const char *const kinds[CT_N_RANGE_KINDS] = {NULL, "queue", "input"};
    gint64 from, to;
    ct_digest_window(d, &from, &to);
    double span = (double)MAX(to - from, 1);
    for (guint k = CT_RANGE_QUEUE; k < CT_N_RANGE_KINDS; k++) {
        if (!d->named_group[k] || d->named_ns[k] < 0.01 * span)
            continue;
        g_autofree char *key = g_strconcat("trace.named.", kinds[k], NULL);
        g_autofree char *value =
            g_utf8_make_valid(g_ptr_array_index(d->group_names, d->named_group[k] - 1), -1);
        ct_evidence_add_fact(d->ev, &(CtFactRow){.section = d->section, .subject = "request",
                                                 .key = key, .value = value,
                                                 .number = MIN(d->named_ns[k] / span, 1),
                                                 .has_number = TRUE});
    }
    if (d->requests->len || !d->late_kernels)
        return;
    gint64 middle = ct_digest_middle(d);
    double half = (double)MAX(to - middle, 1);
    fact(d, "run.span", NULL, half);
    fact(d, "run.busy", NULL, ct_busy_within(&d->all, middle, to) / half);
    fact(d, "run.kernels", NULL, (double)d->late_kernels);
    fact(d, "run.kernel-mean", NULL, d->late_kernel_ns / (double)d->late_kernels);
    fact(d, "run.tiny", NULL, (double)d->late_tiny);
    fact(d, "run.launches", NULL, (double)d->n_launches);
    fact(d, "run.syncs", NULL, (double)d->n_syncs);
    fact(d, "run.allocs", NULL, (double)d->n_allocs);
    fact(d, "run.pageable", NULL, d->late_pageable_ns);
    for (guint p = CT_PART_ALLOC; p <= CT_PART_CALL; p++)
        fact(d, "run.part.", ct_part_names[p], d->run_part[p]);
}

void ct_digest_emit(CtDigest *d)
{
    gint64 offset = ct_timeline_wall_offset(d->tl);
    if (offset == G_MININT64)
        offset = 0;
    else
        ct_evidence_set_clock(d->ev, d->section, "wall", 0, 0.9);
    add_run_facts(d);
    add_whole(d);
    fact(d, "requests", NULL, d->requests->len);
    if (!d->requests->len)
        return;
    fact(d, "typical", NULL, d->typical);
    fact(d, "limit", NULL, d->limit);
    for (guint p = 0; p < CT_N_PARTS; p++)
        fact(d, "part.", ct_part_names[p], typical_of(d, take_part, p));
    for (guint c = 0; c < G_N_ELEMENTS(counts); c++)
        fact(d, "each.", counts[c], typical_of(d, take_count, c));
    for (guint t = 0; t < G_N_ELEMENTS(times); t++)
        fact(d, "time.", times[t], typical_of(d, take_time, t));
    ct_evidence_add_fact(d->ev, &(CtFactRow){.section = d->section, .subject = "request",
                                             .key = "trace.found-by", .value = d->how});
    ct_evidence_add_fact(d->ev, &(CtFactRow){.section = d->section, .subject = "request",
                                             .key = "trace.request-name",
                                             .value = d->request_name});
    ct_evidence_add_coverage(d->ev, d->section, "trace-requests", NULL, d->t0 + offset,
                             d->t1 + offset);
    add_spans(d, offset);
}
