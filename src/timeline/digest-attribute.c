/* SPDX-License-Identifier: Apache-2.0 */
/* To which request each call and each piece of GPU work belongs, and where its time went. */
#include <math.h>
#include <string.h>

#include "timeline/digest-private.h"

const char *const ct_part_names[CT_N_PARTS] = {
    "kernel", "foreign", "h2d", "d2h", "d2d", "alloc", "copy-call",
    "sync", "launch", "module", "call", "os", "host", "queue", "input",
};

/* From the first to the last work of the GPU. */
void ct_digest_window(const CtDigest *d, gint64 *out_t0, gint64 *out_t1)
{
    const GArray *b = d->all.blocks;
    *out_t0 = b->len ? g_array_index(b, CtBlock, 0).t0 : d->t0;
    *out_t1 = b->len ? g_array_index(b, CtBlock, b->len - 1).t1 : d->t1;
}

/* When half of the GPU's work has begun. */
gint64 ct_digest_middle(const CtDigest *d)
{
    const GArray *b = d->all.blocks;
    return b->len ? g_array_index(b, CtBlock, b->len / 2).t0 : d->t0 + (d->t1 - d->t0) / 2;
}

static CtRequest *request(CtDigest *d, guint i)
{
    return &g_array_index(d->requests, CtRequest, i);
}

/* ---- the host ---- */

/* TRUE for a call that is not made by another call of its thread (the runtime's by the driver). */
static gboolean is_outer(CtDigest *d, const CtTlEvent *e)
{
    gint64 *end = g_hash_table_lookup(d->call_end, &e->tid);
    if (!end) {
        if (g_hash_table_size(d->call_end) >= 4096)
            return TRUE;
        gint64 *key = g_new(gint64, 1);
        *key = e->tid;
        end = g_new(gint64, 1);
        *end = e->t1;
        g_hash_table_insert(d->call_end, key, end);
        return TRUE;
    }
    if (e->t0 < *end)
        return FALSE;
    *end = e->t1;
    return TRUE;
}

/* Who launched a piece of work, where no request did. */
#define STRANGER G_MAXUINT32      /* another thread */
#define BETWEEN (G_MAXUINT32 - 1) /* a thread of requests, between two of them */

static void link_call(CtDigest *d, const CtTlEvent *e, gint at)
{
    gsize k;
    if (!d->launched || !ct_digest_links_at(d, e, &k) || d->launched[k])
        return;
    gint64 since = (e->t1 - d->t0) / 64;
    gboolean ours = g_hash_table_contains(d->request_tids, &e->tid) ||
                    g_hash_table_contains(d->helpers, &e->tid);
    if (d->link)
        d->link[k] = at >= 0 ? (guint32)at + 1 : ours ? BETWEEN : STRANGER;
    d->launched[k] = (guint32)CLAMP(since, 1, G_MAXUINT32);
}

static CtPart part_of(const CtTlEvent *e)
{
    switch (e->call) {
    case CT_TL_CALL_ALLOC:
    case CT_TL_CALL_FREE:
        return CT_PART_ALLOC;
    case CT_TL_CALL_COPY:
    case CT_TL_CALL_SET:
        return CT_PART_COPY_CALL;
    case CT_TL_CALL_SYNC:
        return CT_PART_SYNC;
    case CT_TL_CALL_LAUNCH:
        return CT_PART_LAUNCH;
    case CT_TL_CALL_MODULE:
        return CT_PART_MODULE;
    default:
        return CT_PART_CALL;
    }
}

static void count_call(CtRequest *r, const CtTlEvent *e, double ns)
{
    switch (part_of(e)) {
    case CT_PART_ALLOC:
        r->allocs++;
        r->alloc_ns += (float)ns;
        break;
    case CT_PART_SYNC:
        r->syncs++;
        r->sync_ns += (float)ns;
        break;
    case CT_PART_LAUNCH:
        r->launches++;
        r->launch_ns += (float)ns;
        break;
    case CT_PART_MODULE:
        r->modules++;
        break;
    default:
        break;
    }
}

static gint request_of_call(CtDigest *d, const CtTlEvent *e)
{
    gint at = ct_digest_request_at(d, e->tid, e->t0);
    if (at >= 0 && request(d, (guint)at)->tid != e->tid && request(d, (guint)at)->tid >= 0 &&
        !g_hash_table_contains(d->helpers, &e->tid))
        at = -1; /* a thread of its own, at work at the same time */
    return at;
}

/* For traces in which no requests are seen: the second half, where the start is over. */
static void count_in_run(CtDigest *d, const CtTlEvent *e)
{
    CtPart part = part_of(e);
    gint64 from, to;
    ct_digest_window(d, &from, &to);
    if (e->t0 < ct_digest_middle(d) || e->t0 > to)
        return;
    d->n_launches += part == CT_PART_LAUNCH;
    d->n_syncs += part == CT_PART_SYNC;
    d->n_allocs += part == CT_PART_ALLOC;
    if (e->t1 > e->t0 && g_hash_table_contains(d->launchers, &e->tid))
        d->run_part[part] +=
            MAX((double)(e->t1 - e->t0) - ct_busy_within(&d->all, e->t0, e->t1), 0);
}

static gboolean on_host(const CtTlEvent *e, gpointer user)
{
    CtDigest *d = user;
    gint at = request_of_call(d, e);
    gboolean outer = e->kind != CT_TL_OS && is_outer(d, e);
    if (e->kind == CT_TL_CALL) {
        link_call(d, e, at);
        if (outer)
            count_in_run(d, e);
    }
    if (at < 0 || e->t1 < e->t0)
        return TRUE;
    CtRequest *r = request(d, (guint)at);
    gboolean own = r->tid == e->tid || r->tid < 0;
    gint64 t1 = MIN(e->t1, r->t1);
    double ns = (double)(t1 - e->t0);
    double idle = own ? MAX(ns - ct_busy_within(ct_digest_busy(d, r), e->t0, t1), 0) : 0;
    if (e->kind == CT_TL_OS) {
        r->os_ns += (float)idle;
    } else if (outer) {
        count_call(r, e, ns);
        r->part[part_of(e)] += (float)idle;
    }
    return TRUE;
}

/* ---- the GPU ---- */

/* The request that the work belongs to, -1 for none. *out_host is the request from which it takes
 * the GPU, -1 for none: late work of an earlier request of the same thread takes nothing. */
static gint owner_of(CtDigest *d, const CtTlEvent *e, gint *out_host)
{
    guint32 l = 0;
    gsize k;
    *out_host = -1;
    if (d->link && ct_digest_links_at(d, e, &k))
        l = d->link[k];
    if (!l)
        return ct_digest_request_at(d, e->tid, e->t0);
    if (l == BETWEEN)
        return -1;
    gint at = l == STRANGER ? -1 : (gint)l - 1;
    const CtRequest *own = at >= 0 ? request(d, (guint)at) : NULL;
    if (own && e->t0 >= own->t0 && e->t0 < own->t1)
        return at;
    gint host = ct_digest_request_at(d, G_MININT64, e->t0);
    if (host >= 0 && (!own || request(d, (guint)host)->tid != own->tid))
        *out_host = host;
    return at;
}

static void keep_detail(CtDigest *d, guint at, const CtPair *p, double ns)
{
    gint64 key = (gint64)((guint64)at << 32 | p->index);
    CtDetail *x = g_hash_table_lookup(d->detail, &key);
    if (!x) {
        if (g_hash_table_size(d->detail) >= 200000)
            return;
        gint64 *k = g_new(gint64, 1);
        *k = key;
        x = g_new0(CtDetail, 1);
        g_hash_table_insert(d->detail, k, x);
    }
    x->n++;
    x->ns += ns;
}

/* A single run of a kernel far beyond what this name and shape usually takes: it was interrupted
 * or had to share. */
static void notice_hit(CtRequest *r, const CtPair *p, double ns)
{
    double usual = exp(p->log_sum / p->n);
    if (p->n >= 8 && ns > 3 * usual && ns > usual + 200e3) {
        r->hits++;
        r->hit_ns += (float)(ns - usual);
    }
}

/* Work that was queued and that an idle GPU did not start: it served somebody else. What is
 * shorter is the way of every launch. */
static void notice_stall(CtDigest *d, const CtTlEvent *e, CtRequest *r)
{
    gsize k;
    if (!d->launched || !ct_digest_links_at(d, e, &k))
        return;
    guint32 since = d->launched[k];
    if (!since || since == G_MAXUINT32)
        return;
    gint64 from = MAX(d->t0 + 64 * (gint64)since, r->t0);
    gint64 idle_from = ct_busy_idle_since(ct_digest_busy(d, r), e->t0);
    gint64 stalled = e->t0 - MAX(from, idle_from);
    if (stalled > 100000)
        r->stalled_ns += (float)stalled;
}

static void on_kernel(CtDigest *d, const CtTlEvent *e, gint at, gint host)
{
    double ns = (double)(e->t1 - e->t0);
    const CtPair *p = ct_pairs_get(&d->pairs, e->name, e->shape, FALSE);
    if (e->t0 >= ct_digest_middle(d)) {
        d->late_kernels++;
        d->late_kernel_ns += ns;
        d->late_tiny += ns < CT_DG_TINY;
    }
    if (at >= 0) {
        CtRequest *r = request(d, (guint)at);
        if (r->kernels++ == 0)
            r->device = (gint16)CLAMP(e->device, -1, G_MAXINT16);
        r->own_ns += (float)ns;
        r->tiny += ns < CT_DG_TINY;
        if (p && p->first == e->t0)
            r->fresh++;
        if (p && p->n >= 8) {
            r->known_ns += (float)ns;
            r->usual_ns += (float)(p->sum / p->n);
        }
        if (p)
            notice_hit(r, p, ns);
        if (e->t0 < r->t1)
            notice_stall(d, e, r);
        if (p && (r->slow || r->reference))
            keep_detail(d, (guint)at, p, ns);
    }
    if (host >= 0) {
        CtRequest *r = request(d, (guint)host);
        if (r->kernels && r->device != e->device)
            return; /* another GPU takes nothing from it */
        r->part[CT_PART_FOREIGN] += (float)(MIN(e->t1, r->t1) - e->t0);
    }
}

static void on_copy(CtDigest *d, const CtTlEvent *e, gint at)
{
    double ns = (double)(e->t1 - e->t0);
    guint way = e->copy == CT_TL_COPY_H2D ? 0 : e->copy == CT_TL_COPY_D2H ? 1 : 2;
    gboolean pageable = e->source == CT_TL_MEM_PAGEABLE || e->target == CT_TL_MEM_PAGEABLE;
    /* A wait for results that are a few bytes is no copy worth the name. */
    gboolean large = e->bytes >= 64 * 1024;
    d->copy_ns[way] += ns;
    d->copy_bytes[way] += (double)e->bytes;
    if (pageable && large) {
        d->pageable_ns += ns;
        d->late_pageable_ns += e->t0 >= ct_digest_middle(d) ? ns : 0;
        d->pageable_bytes += (double)e->bytes;
    }
    if (at < 0)
        return;
    CtRequest *r = request(d, (guint)at);
    r->copies++;
    r->copy_ns[way] += (float)ns;
    r->bytes[way] += (double)e->bytes;
    if (pageable && large)
        r->pageable_ns += (float)ns;
}

static gboolean on_gpu(const CtTlEvent *e, gpointer user)
{
    CtDigest *d = user;
    if (e->t1 <= e->t0)
        return TRUE;
    gint host;
    gint at = owner_of(d, e, &host);
    if (e->kind == CT_TL_COPY)
        on_copy(d, e, at);
    else
        on_kernel(d, e, at, host);
    return TRUE;
}

/* ---- the parts of each request ---- */

static void settle(CtDigest *d, CtRequest *r)
{
    double wall = (double)(r->t1 - r->t0);
    double kernel = MIN(ct_busy_within(ct_digest_busy_kernels(d, r), r->t0, r->t1), wall);
    const CtBusy *all = ct_digest_busy(d, r);
    double busy = CLAMP(ct_busy_within(all, r->t0, r->t1), kernel, wall);
    double foreign = MIN((double)r->part[CT_PART_FOREIGN], kernel);
    r->part[CT_PART_FOREIGN] = (float)foreign;
    r->part[CT_PART_KERNEL] = (float)(kernel - foreign);

    double copies = (double)r->copy_ns[0] + r->copy_ns[1] + r->copy_ns[2];
    for (guint i = 0; i < 3; i++)
        r->part[CT_PART_H2D + i] =
            (float)(copies > 0 ? (busy - kernel) * r->copy_ns[i] / copies : 0);
    if (copies <= 0)
        r->part[CT_PART_FOREIGN] += (float)(busy - kernel);

    double stalled = MIN((double)r->stalled_ns, wall - busy);
    r->part[CT_PART_FOREIGN] += (float)stalled;
    r->gap_ns = (float)ct_busy_widest_gap(all, r->t0, r->t1, &d->gap_budget);
    double idle = wall - busy - stalled, calls = 0;
    for (guint i = CT_PART_ALLOC; i <= CT_PART_CALL; i++)
        calls += r->part[i];
    double scale = calls > idle && calls > 0 ? idle / calls : 1;
    for (guint i = CT_PART_ALLOC; i <= CT_PART_CALL; i++)
        r->part[i] *= (float)scale;
    double rest = MAX(idle - calls, 0);
    r->part[CT_PART_QUEUE] = (float)MIN((double)r->queue_ns, rest);
    rest -= r->part[CT_PART_QUEUE];
    r->part[CT_PART_INPUT] = (float)MIN((double)r->input_ns, rest);
    rest -= r->part[CT_PART_INPUT];
    r->part[CT_PART_OS] = (float)MIN((double)r->os_ns, rest);
    r->part[CT_PART_HOST] = (float)(rest - r->part[CT_PART_OS]);
}

/* ---- ranges that name what they do ---- */

/* Servers note how long a request waited, programs what they read and decode, as ranges of their
 * own. They count as far as the GPU is idle, the outermost of a kind on each thread once. */
typedef struct {
    gint64 end[CT_N_RANGE_KINDS];
} Named;

static Named *named_of(CtDigest *d, gint64 tid)
{
    Named *n = g_hash_table_lookup(d->named, &tid);
    if (!n && g_hash_table_size(d->named) < 4096) {
        gint64 *key = g_new(gint64, 1);
        *key = tid;
        n = g_new(Named, 1);
        for (guint i = 0; i < CT_N_RANGE_KINDS; i++)
            n->end[i] = G_MININT64;
        g_hash_table_insert(d->named, key, n);
    }
    return n;
}

static gboolean on_range(const CtTlEvent *e, gpointer user)
{
    CtDigest *d = user;
    guint32 group = e->name < d->group_of->len ? g_array_index(d->group_of, guint32, e->name) : 0;
    if (e->stream >= 0 || e->t1 <= e->t0 || !group)
        return TRUE;
    CtRangeKind kind = d->group_kind[group - 1];
    Named *n = kind ? named_of(d, e->tid) : NULL;
    if (!n || e->t0 < n->end[kind])
        return TRUE;
    n->end[kind] = e->t1;
    gint64 from, to;
    ct_digest_window(d, &from, &to);
    from = MAX(from, e->t0);
    to = MIN(to, e->t1);
    double idle = MAX((double)(to - from) - ct_busy_within(&d->all, from, to), 0);
    /* What a thread of its own prepares meanwhile is no reason to wait. */
    if (g_hash_table_contains(d->launchers, &e->tid)) {
        d->named_ns[kind] += idle;
        d->named_sum[group - 1] += idle;
    }
    gint at = ct_digest_request_at(d, e->tid, e->t0);
    CtRequest *r = at >= 0 ? request(d, (guint)at) : NULL;
    if (!r || (r->tid >= 0 && r->tid != e->tid))
        return TRUE;
    gint64 t1 = MIN(e->t1, r->t1);
    idle = MAX((double)(t1 - e->t0) - ct_busy_within(ct_digest_busy(d, r), e->t0, t1), 0);
    if (kind == CT_RANGE_QUEUE)
        r->queue_ns += (float)idle;
    else
        r->input_ns += (float)idle;
    return TRUE;
}

/* The request's own name tells nothing about a part of it. */
static gboolean name_ranges(CtDigest *d)
{
    gboolean any = FALSE;
    g_autofree guint64 *count = g_new0(guint64, d->group_names->len + 1);
    GHashTableIter it;
    gpointer value;
    g_hash_table_iter_init(&it, d->range_stats);
    while (g_hash_table_iter_next(&it, NULL, &value))
        count[((CtRangeStat *)value)->group - 1] += ((CtRangeStat *)value)->n;
    d->group_kind = g_new0(guint8, d->group_names->len + 1);
    d->named_sum = g_new0(double, d->group_names->len + 1);
    for (guint i = 0; i < d->group_names->len; i++) {
        const char *name = g_ptr_array_index(d->group_names, i);
        if (g_strcmp0(d->how, "range") == 0 && g_strcmp0(name, d->request_name) == 0)
            continue;
        /* What is done once or twice belongs to a start or an end. */
        if (count[i] >= 3)
            d->group_kind[i] = (guint8)ct_digest_range_kind(name);
        any |= d->group_kind[i] != CT_RANGE_OTHER;
    }
    return any;
}

static void find_named(CtDigest *d)
{
    for (guint i = 0; i < d->group_names->len; i++) {
        guint kind = d->group_kind[i];
        if (kind && d->named_sum[i] > d->named_most[kind]) {
            d->named_most[kind] = d->named_sum[i];
            d->named_group[kind] = i + 1;
        }
    }
}

/* ---- whose threads ---- */

typedef struct {
    guint requests, last; /* in how many it launches; the last of them + 1 */
} Presence;

static gboolean note_presence(const CtTlEvent *e, gpointer user)
{
    CtDigest *d = user;
    if (e->call != CT_TL_CALL_LAUNCH || g_hash_table_contains(d->request_tids, &e->tid))
        return TRUE;
    gint at = ct_digest_request_at(d, e->tid, e->t0);
    Presence *p = g_hash_table_lookup(d->scratch, &e->tid);
    if (at < 0 || !p || p->last == (guint)at + 1)
        return TRUE;
    p->requests++;
    p->last = (guint)at + 1;
    return TRUE;
}

static gint64 *copy_key(gint64 key)
{
    gint64 *k = g_new(gint64, 1);
    *k = key;
    return k;
}

/* A thread without requests that launches in nearly all of them works for them (the backward pass
 * of a training step, a pool of workers); one that comes now and then has work of its own. */
static gboolean find_helpers(CtDigest *d, GError **error)
{
    g_autoptr(GHashTable) seen =
        g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
    GHashTableIter it;
    gpointer key, value;
    g_hash_table_iter_init(&it, d->launchers);
    while (g_hash_table_iter_next(&it, &key, &value))
        if (!g_hash_table_contains(d->request_tids, key))
            g_hash_table_insert(seen, copy_key(*(gint64 *)key), g_new0(Presence, 1));
    if (!g_hash_table_size(seen) || !d->requests->len)
        return TRUE;
    d->scratch = seen;
    if (!ct_digest_scan(d, CT_TL_BIT(CT_TL_CALL), note_presence, error))
        return FALSE;
    g_hash_table_iter_init(&it, seen);
    while (g_hash_table_iter_next(&it, &key, &value))
        if (((Presence *)value)->requests * 10 >= d->requests->len * 8)
            g_hash_table_add(d->helpers, copy_key(*(gint64 *)key));
    d->hint = 0;
    return TRUE;
}

/* ---- whose GPU ---- */

static gboolean only_link(const CtTlEvent *e, gpointer user)
{
    CtDigest *d = user;
    link_call(d, e, request_of_call(d, e));
    return TRUE;
}

static gboolean note_device(const CtTlEvent *e, gpointer user)
{
    CtDigest *d = user;
    gint host, at = e->t1 > e->t0 ? owner_of(d, e, &host) : -1;
    if (at >= 0 && e->device >= 0 && e->device < (gint)CT_DG_MAX_DEVICES)
        request(d, (guint)at)->devices |= 1u << e->device;
    return TRUE;
}

/* Only launches tell on which GPU a request works, and they lie apart from the work. */
static gboolean find_devices(CtDigest *d, GError **error)
{
    if (!ct_digest_devices_matter(d) || !d->link || !d->requests->len)
        return TRUE;
    gboolean ok = ct_digest_scan(d, CT_TL_BIT(CT_TL_CALL), only_link, error);
    d->hint = 0;
    ok = ok && ct_digest_scan(d, CT_TL_BIT(CT_TL_KERNEL) | CT_TL_BIT(CT_TL_GRAPH), note_device,
                              error);
    d->hint = 0;
    return ok;
}

gboolean ct_digest_attribute(CtDigest *d, GError **error)
{
    /* Requests that were found on the GPU hold what runs in them, whenever it was launched. */
    gsize links = ct_digest_links_seal(d);
    if (links) {
        if (g_strcmp0(d->how, "range") == 0)
            d->link = g_new0(guint32, links);
        d->launched = g_new0(guint32, links);
    }
    if (!find_helpers(d, error) || !find_devices(d, error))
        return FALSE;
    if (!ct_digest_scan(d, CT_TL_BIT(CT_TL_CALL) | CT_TL_BIT(CT_TL_OS), on_host, error))
        return FALSE;
    if (name_ranges(d)) {
        if (!ct_digest_scan(d, CT_TL_BIT(CT_TL_RANGE), on_range, error))
            return FALSE;
        find_named(d);
    }
    d->hint = 0;
    guint gpu = CT_TL_BIT(CT_TL_KERNEL) | CT_TL_BIT(CT_TL_GRAPH) | CT_TL_BIT(CT_TL_SET) |
                CT_TL_BIT(CT_TL_COPY);
    if (!ct_digest_scan(d, gpu, on_gpu, error))
        return FALSE;
    for (guint i = 0; i < d->requests->len; i++)
        settle(d, request(d, i));
    return TRUE;
}
