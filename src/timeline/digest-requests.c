/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which intervals of a trace are its requests. First the program's own ranges: of the names that
 * cover the run, the outermost that comes often enough. Else what repeats on the GPU
 * (digest-pattern.c).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "timeline/digest-private.h"

#define MAX_GROUPS 20000u

/* ---- statistics of the first scan ---- */

/* "step 17" and "step 18" are one: runs of digits become #. A hash mark before them is theirs. */
static char *without_numbers(const char *name)
{
    GString *s = g_string_sized_new(strlen(name));
    for (const char *p = name; *p && s->len < 200; p++) {
        if (!g_ascii_isdigit(*p)) {
            g_string_append_c(s, *p);
            continue;
        }
        while (g_ascii_isdigit(p[1]))
            p++;
        if (s->len == 0 || s->str[s->len - 1] != '#')
            g_string_append_c(s, '#');
    }
    return g_string_free(s, FALSE);
}

static guint32 group_of(CtDigest *d, guint32 name)
{
    if (name >= d->group_of->len) {
        if (name > 50u * 1000 * 1000)
            return 0;
        g_array_set_size(d->group_of, MAX(name + 1, 2 * d->group_of->len));
    }
    guint32 *at = &g_array_index(d->group_of, guint32, name);
    if (*at)
        return *at;
    g_autofree char *text = without_numbers(ct_timeline_name(d->tl, name));
    guint32 id = GPOINTER_TO_UINT(g_hash_table_lookup(d->group_ids, text));
    if (!id) {
        if (d->group_names->len >= MAX_GROUPS)
            return 0;
        char *kept = g_strdup(text);
        g_ptr_array_add(d->group_names, kept);
        id = d->group_names->len;
        g_hash_table_insert(d->group_ids, kept, GUINT_TO_POINTER(id));
    }
    *at = id;
    return id;
}

static void add_range(CtDigest *d, const CtTlEvent *e)
{
    /* What a profiler draws on the GPU's side is the echo of a host range. */
    if (e->stream >= 0 || e->t1 <= e->t0)
        return;
    guint32 group = group_of(d, e->name);
    if (!group)
        return;
    d->n_ranges++;
    gint64 key = (gint64)((guint64)group << 40 ^ (guint64)e->tid);
    CtRangeStat *s = g_hash_table_lookup(d->range_stats, &key);
    if (!s) {
        if (g_hash_table_size(d->range_stats) >= MAX_GROUPS)
            return;
        gint64 *k = g_new(gint64, 1);
        *k = key;
        s = g_new0(CtRangeStat, 1);
        *s = (CtRangeStat){.group = group, .tid = e->tid, .t0 = e->t0, .t1 = e->t1,
                           .last_end = G_MININT64};
        g_hash_table_insert(d->range_stats, k, s);
    }
    if (e->t1 <= s->last_end)
        return; /* inside one of its own name */
    s->n++;
    s->sum += (double)(e->t1 - e->t0);
    s->last_end = e->t1;
    s->t0 = MIN(s->t0, e->t0);
    s->t1 = MAX(s->t1, e->t1);
}

static void count_in(GHashTable *table, gint64 key)
{
    guint64 *n = g_hash_table_lookup(table, &key);
    if (!n) {
        if (g_hash_table_size(table) >= 4096)
            return;
        gint64 *k = g_new(gint64, 1);
        *k = key;
        n = g_new0(guint64, 1);
        g_hash_table_insert(table, k, n);
    }
    ++*n;
}

CtPair *ct_pairs_get(CtPairs *p, guint32 name, guint32 shape, gboolean add)
{
    if (!p->slot) {
        p->mask = 4 * CT_DG_MAX_PAIRS - 1;
        p->slot = g_new0(CtPair, p->mask + 1);
    }
    guint64 h = ((guint64)name << 32 | shape) * G_GUINT64_CONSTANT(0x9e3779b97f4a7c15);
    for (guint i = (guint)(h >> 40);; i++) {
        CtPair *x = &p->slot[i & p->mask];
        if (x->index && x->name == name && x->shape == shape)
            return x;
        if (!x->index) {
            if (!add || p->used >= CT_DG_MAX_PAIRS)
                return NULL;
            *x = (CtPair){.name = name, .shape = shape, .index = ++p->used};
            return x;
        }
    }
}

static void add_kernel(CtDigest *d, const CtTlEvent *e)
{
    d->n_kernels++;
    ct_busy_add(&d->kernels, e->t0, e->t1);
    CtPair *p = ct_pairs_get(&d->pairs, e->name, e->shape, TRUE);
    if (!p)
        return;
    double ns = (double)(e->t1 - e->t0);
    if (p->n++ == 0 || e->t0 < p->first)
        p->first = e->t0;
    p->sum += ns;
    p->log_sum += log(MAX(ns, 1));
    if (e->stream >= 0)
        count_in(d->streams, (gint64)((guint64)(guint32)e->device << 32 | (guint32)e->stream));
}

void ct_digest_stats(CtDigest *d, const CtTlEvent *e)
{
    switch (e->kind) {
    case CT_TL_RANGE:
        add_range(d, e);
        return;
    case CT_TL_KERNEL:
    case CT_TL_GRAPH:
    case CT_TL_SET:
        if (e->t1 > e->t0) {
            ct_digest_devices_add(d, e);
            add_kernel(d, e);
            ct_digest_links_work(d, e);
        }
        break;
    case CT_TL_COPY:
        d->n_copies++;
        ct_digest_devices_add(d, e);
        ct_busy_add(&d->copies, e->t0, e->t1);
        ct_digest_links_work(d, e);
        break;
    case CT_TL_CALL:
        d->n_calls += e->name != 0; /* of which one can say what they are */
        if (e->call == CT_TL_CALL_LAUNCH)
            count_in(d->launchers, e->tid);
        if (e->correlation && (e->call == CT_TL_CALL_LAUNCH || e->call == CT_TL_CALL_COPY ||
                               e->call == CT_TL_CALL_SET || e->call == CT_TL_CALL_GRAPH))
            ct_digest_links_call(d, e);
        break;
    default:
        return;
    }
    d->t0 = MIN(d->t0, e->t0);
    d->t1 = MAX(d->t1, e->t1);
}

/* ---- ranges ---- */

typedef struct {
    guint32 group;
    guint64 n;
    double sum, lead; /* all threads */
} Level;

/* Operators, modules and functions that a profiler of a framework notes by itself: of one inference
 * they repeat as well, and none of them is a request. */
static gboolean is_operator(const char *name)
{
    static const char *const prefixes[] = {"aten::", "at::", "c10", "autograd::", "torch::", "prim",
                                           "nn.Module:", "<built-in", "gloo:", "nccl:", "cudnn",
                                           "Optimizer.", "enumerate(", "torch/", "cuda", "hip",
                                           "aten.", "record_param_comms", "[", "##"};
    for (guint i = 0; i < G_N_ELEMENTS(prefixes); i++)
        if (g_str_has_prefix(name, prefixes[i]))
            return TRUE;
    return strstr(name, ".py(") != NULL || strstr(name, "Backward") != NULL ||
           strstr(name, "op_id = ") != NULL;
}

/* 0 for what cannot be the level of requests, 1 for what can. */
static double fitness(const CtDigest *d, const Level *l)
{
    const char *name = g_ptr_array_index(d->group_names, l->group - 1);
    if (l->n < CT_DG_MIN_REQUESTS || l->n > CT_DG_MAX_REQUESTS)
        return 0;
    double often = l->n >= 20 ? 1 : 0.6 + 0.4 * (double)(l->n - CT_DG_MIN_REQUESTS) / 15;
    return is_operator(name) ? 0 : often * (strstr(name, "::") ? 0.6 : 1);
}

static GArray *levels_of(CtDigest *d)
{
    GArray *levels = g_array_new(FALSE, TRUE, sizeof(Level));
    g_array_set_size(levels, d->group_names->len);
    GHashTableIter it;
    gpointer value;
    g_hash_table_iter_init(&it, d->range_stats);
    while (g_hash_table_iter_next(&it, NULL, &value)) {
        const CtRangeStat *s = value;
        Level *l = &g_array_index(levels, Level, s->group - 1);
        l->group = s->group;
        l->n += s->n;
        l->sum += s->sum;
        l->lead = MAX(l->lead, s->sum);
    }
    return levels;
}

/* The name whose ranges cover the most of the time on their thread; of those that cover about as
 * much, the longest, which is the outermost. 0 when ranges cover too little of the run. */
static guint32 best_level(CtDigest *d)
{
    g_autoptr(GArray) levels = levels_of(d);
    double most = 0;
    guint32 best = 0;
    double mean = 0;
    for (guint i = 0; i < levels->len; i++) {
        const Level *l = &g_array_index(levels, Level, i);
        if (l->group)
            most = MAX(most, l->lead * fitness(d, l));
    }
    for (guint i = 0; i < levels->len; i++) {
        const Level *l = &g_array_index(levels, Level, i);
        if (!l->group || fitness(d, l) <= 0 || l->lead * fitness(d, l) < 0.7 * most)
            continue;
        double each = l->sum / (double)l->n;
        if (each > mean) {
            mean = each;
            best = l->group;
        }
    }
    /* Ranges that cover little of the run may still hold its work (requests that come seldom):
     * hold_the_work() tells. */
    return best;
}

static gboolean pick_range(const CtTlEvent *e, gpointer user)
{
    CtDigest *d = user;
    guint32 wanted = *(const guint32 *)d->scratch;
    if (e->stream >= 0 || e->t1 <= e->t0 || e->name >= d->group_of->len ||
        g_array_index(d->group_of, guint32, e->name) != wanted)
        return TRUE;
    CtRequest r = {.t0 = e->t0, .t1 = e->t1, .tid = e->tid};
    g_array_append_val(d->requests, r);
    return d->requests->len < CT_DG_MAX_REQUESTS;
}

/* ---- both ---- */

static int by_begin(const void *a, const void *b)
{
    const CtRequest *x = a, *y = b;
    if (x->t0 != y->t0)
        return (x->t0 > y->t0) - (x->t0 < y->t0);
    return (x->t1 < y->t1) - (x->t1 > y->t1);
}

/* In order; one inside another of its thread is not a request of its own. */
static void index_requests(CtDigest *d)
{
    CtRequest *r = (CtRequest *)(void *)d->requests->data;
    if (!d->requests->len)
        return;
    qsort(r, d->requests->len, sizeof *r, by_begin);
    g_autoptr(GHashTable) ends = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
    guint kept = 0;
    for (guint i = 0; i < d->requests->len; i++) {
        gint64 *end = g_hash_table_lookup(ends, &r[i].tid);
        if (end && r[i].t1 <= *end)
            continue;
        if (!end) {
            gint64 *key = g_new(gint64, 1);
            *key = r[i].tid;
            end = g_new(gint64, 1);
            g_hash_table_insert(ends, key, end);
        }
        *end = r[i].t1;
        r[kept++] = r[i];
    }
    g_array_set_size(d->requests, kept);
    for (guint32 i = 0; i < kept; i++) {
        GArray *list = g_hash_table_lookup(d->request_tids, &r[i].tid);
        if (!list) {
            gint64 *key = g_new(gint64, 1);
            *key = r[i].tid;
            list = g_array_new(FALSE, FALSE, sizeof(guint32));
            g_hash_table_insert(d->request_tids, key, list);
        }
        g_array_append_val(list, i);
    }
}

/* Ranges in which the host calls nothing and the GPU does next to nothing are about other things
 * (loading, logging). */
static gboolean hold_the_work(const CtDigest *d)
{
    double within = 0, all = ct_busy_within(&d->all, d->t0, d->t1);
    gint64 until = G_MININT64;
    for (guint i = 0; i < d->requests->len; i++) {
        const CtRequest *r = &g_array_index(d->requests, CtRequest, i);
        within += ct_busy_within(&d->all, MAX(r->t0, until), r->t1);
        until = MAX(until, r->t1);
    }
    double run = (double)MAX(d->t1 - d->t0, 1);
    double covered = 0;
    until = G_MININT64;
    for (guint i = 0; i < d->requests->len; i++) {
        const CtRequest *r = &g_array_index(d->requests, CtRequest, i);
        covered += (double)MAX(r->t1 - MAX(r->t0, until), 0);
        until = MAX(until, r->t1);
    }
    return all <= 0 || within > (covered > 0.05 * run ? 0.1 : 0.5) * all;
}

gboolean ct_digest_find_requests(CtDigest *d, GError **error)
{
    d->requests = g_array_new(FALSE, TRUE, sizeof(CtRequest));
    guint32 group = d->n_ranges ? best_level(d) : 0;
    if (group) {
        d->scratch = &group;
        if (!ct_digest_scan(d, CT_TL_BIT(CT_TL_RANGE), pick_range, error))
            return FALSE;
        g_array_sort(d->requests, by_begin);
        if (!hold_the_work(d)) {
            g_array_set_size(d->requests, 0);
            group = 0;
        }
    }
    if (group) {
        d->request_name = g_strdup(g_ptr_array_index(d->group_names, group - 1));
        d->how = g_strdup("range");
    } else if (d->n_kernels >= 24 && !ct_digest_requests_on_gpu(d, error)) {
        return FALSE;
    }
    d->hint = 0;
    index_requests(d);
    return TRUE;
}

static gint in_list(const CtDigest *d, const GArray *list, gint64 t)
{
    guint lo = 0, hi = list->len;
    while (lo < hi) {
        guint mid = lo + (hi - lo) / 2;
        guint32 at = g_array_index(list, guint32, mid);
        if (g_array_index(d->requests, CtRequest, at).t0 <= t)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (!lo)
        return -1;
    guint32 at = g_array_index(list, guint32, lo - 1);
    return t < g_array_index(d->requests, CtRequest, at).t1 ? (gint)at : -1;
}

gint ct_digest_request_at(CtDigest *d, gint64 tid, gint64 t)
{
    /* Events come in order, so mostly it is the one of last time. */
    if (d->hint < d->requests->len) {
        const CtRequest *r = &g_array_index(d->requests, CtRequest, d->hint);
        if (r->tid == tid && t >= r->t0 && t < r->t1)
            return (gint)d->hint;
    }
    GArray *list = g_hash_table_lookup(d->request_tids, &tid);
    gint at = -1;
    if (list) {
        at = in_list(d, list, t);
    } else { /* a helper's thread, or the GPU: whoever is at work then */
        GHashTableIter it;
        gpointer value;
        g_hash_table_iter_init(&it, d->request_tids);
        for (guint n = 0; at < 0 && n < 64 && g_hash_table_iter_next(&it, NULL, &value); n++)
            at = in_list(d, value, t);
    }
    if (at >= 0 && list)
        d->hint = (guint)at;
    return at;
}
