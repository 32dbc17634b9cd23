/* SPDX-License-Identifier: Apache-2.0 */
#include "timeline/digest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "timeline/digest-private.h"

#define MAX_KEPT 1300000u

/* A trace in JSON is costly to read again, so its events are kept in short form when they are few
 * enough; a database is simply scanned again. */
typedef struct {
    gint64 t0, t1;
    guint64 bytes;
    guint32 name, shape, correlation, thread;
    gint32 stream;
    gint16 device;
    guint8 kind, call, copy, source, target;
} Kept;

typedef struct {
    CtDigest d;
    GArray *kept;    /* Kept (nullable) */
    GArray *threads; /* gint64 */
    GHashTable *thread_ids;
    gboolean complete;
} Work;

static guint32 thread_id(Work *w, gint64 tid)
{
    guint32 id = GPOINTER_TO_UINT(g_hash_table_lookup(w->thread_ids, &tid));
    if (!id && w->threads->len < 100000) {
        gint64 *key = g_new(gint64, 1);
        *key = tid;
        g_array_append_val(w->threads, tid);
        id = w->threads->len;
        g_hash_table_insert(w->thread_ids, key, GUINT_TO_POINTER(id));
    }
    return id;
}

static void keep(Work *w, const CtTlEvent *e)
{
    if (!w->kept)
        return;
    guint32 thread = thread_id(w, e->tid);
    if (w->kept->len >= MAX_KEPT || !thread || e->correlation > G_MAXUINT32 ||
        e->device > G_MAXINT16) {
        g_clear_pointer(&w->kept, g_array_unref);
        return;
    }
    Kept k = {.t0 = e->t0, .t1 = e->t1, .bytes = e->bytes, .name = e->name, .shape = e->shape,
              .correlation = (guint32)e->correlation, .thread = thread, .stream = e->stream,
              .device = (gint16)e->device, .kind = (guint8)e->kind, .call = (guint8)e->call,
              .copy = (guint8)e->copy, .source = (guint8)e->source, .target = (guint8)e->target};
    g_array_append_val(w->kept, k);
}

static void replay(const Work *w, guint kinds, CtTlVisit visit, gpointer user)
{
    for (guint i = 0; i < w->kept->len; i++) {
        const Kept *k = &g_array_index(w->kept, Kept, i);
        if (!(kinds & CT_TL_BIT(k->kind)))
            continue;
        CtTlEvent e = {.kind = k->kind, .call = k->call, .copy = k->copy, .source = k->source,
                       .target = k->target, .t0 = k->t0, .t1 = k->t1, .name = k->name,
                       .shape = k->shape, .device = k->device, .stream = k->stream, .pid = -1,
                       .tid = g_array_index(w->threads, gint64, k->thread - 1),
                       .correlation = k->correlation, .bytes = k->bytes};
        if (!visit(&e, user))
            return;
    }
}

/* Times of a stranger: sums and differences of these do not overflow. */
static gboolean is_sane(const CtTlEvent *e)
{
    const gint64 most = G_GINT64_CONSTANT(1) << 61;
    return e->t0 > -most && e->t0 < most && e->t1 >= e->t0 && e->t1 < most;
}

typedef struct {
    CtTlVisit visit;
    gpointer user;
} Filtered;

static gboolean visit_sane(const CtTlEvent *e, gpointer user)
{
    const Filtered *f = user;
    return is_sane(e) ? f->visit(e, f->user) : TRUE;
}

gboolean ct_digest_scan(CtDigest *d, guint kinds, CtTlVisit visit, GError **error)
{
    Work *w = (Work *)(void *)d;
    if (w->kept && w->complete) {
        replay(w, kinds, visit, d);
        return TRUE;
    }
    Filtered f = {visit, d};
    return ct_timeline_scan(d->tl, kinds, visit_sane, &f, error);
}

static gboolean first_visit(const CtTlEvent *e, gpointer user)
{
    Work *w = user;
    if (!is_sane(e))
        return TRUE;
    ct_digest_stats(&w->d, e);
    keep(w, e);
    return TRUE;
}

static void garray_free(gpointer data)
{
    g_array_unref(data);
}

static void init(Work *w, CtTimeline *tl, CtEvidence *ev, gint64 section)
{
    CtDigest *d = &w->d;
    *w = (Work){.threads = g_array_new(FALSE, FALSE, sizeof(gint64))};
    w->thread_ids = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
    if (g_strcmp0(ct_timeline_format(tl), "nsys-sqlite") != 0)
        w->kept = g_array_new(FALSE, FALSE, sizeof(Kept));
    d->tl = tl;
    d->ev = ev;
    d->section = section;
    d->group_ids = g_hash_table_new(g_str_hash, g_str_equal);
    d->group_names = g_ptr_array_new_with_free_func(g_free);
    d->group_of = g_array_new(FALSE, TRUE, sizeof(guint32));
    d->range_stats = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
    d->streams = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
    d->launchers = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
    d->request_tids = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, garray_free);
    d->call_end = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
    d->detail = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
    d->helpers = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
    d->named = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
    ct_busy_init(&d->kernels);
    ct_busy_init(&d->copies);
    d->gap_budget = 50 * 1000 * 1000;
    d->t0 = G_MAXINT64 / 4;
    d->t1 = G_MININT64 / 4;
    ct_digest_links_init(d);
}

static void clear(Work *w)
{
    CtDigest *d = &w->d;
    g_hash_table_unref(d->group_ids);
    g_ptr_array_unref(d->group_names);
    g_array_unref(d->group_of);
    g_hash_table_unref(d->range_stats);
    g_hash_table_unref(d->streams);
    g_hash_table_unref(d->launchers);
    g_hash_table_unref(d->request_tids);
    g_hash_table_unref(d->call_end);
    g_hash_table_unref(d->detail);
    g_hash_table_unref(d->helpers);
    g_hash_table_unref(d->named);
    g_free(d->group_kind);
    g_free(d->named_sum);
    ct_busy_clear(&d->kernels);
    ct_busy_clear(&d->copies);
    ct_busy_clear(&d->all);
    ct_digest_devices_clear(d);
    ct_digest_links_clear(d);
    g_clear_pointer(&d->requests, g_array_unref);
    g_free(d->pairs.slot);
    g_free(d->link);
    g_free(d->launched);
    g_free(d->request_name);
    g_free(d->how);
    g_clear_pointer(&w->kept, g_array_unref);
    g_array_unref(w->threads);
    g_hash_table_unref(w->thread_ids);
}

/* ---- which requests are slow ---- */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Two modes with nothing between them: the typical request is of the lower one. Returns how many
 * belong to it, n when there is one mode. */
static gsize lower_mode(const double *x, gsize n)
{
    gsize cut = 0;
    double widest = 0.18;
    for (gsize i = n * 35 / 100; i + 1 < n && i <= n - n / 20; i++)
        if (x[i + 1] - x[i] > widest) {
            widest = x[i + 1] - x[i];
            cut = i + 1;
        }
    return cut >= 3 && n - cut >= 3 ? cut : n;
}

void ct_digest_judge(CtDigest *d)
{
    gsize n = d->requests->len;
    if (!n)
        return;
    g_autofree double *x = g_new(double, n);
    g_autofree double *dev = g_new(double, n);
    for (gsize i = 0; i < n; i++) {
        const CtRequest *r = &g_array_index(d->requests, CtRequest, i);
        x[i] = log((double)MAX(r->t1 - r->t0, 1));
    }
    qsort(x, n, sizeof *x, by_value);
    gsize m = lower_mode(x, n);
    double med = x[m / 2];
    for (gsize i = 0; i < m; i++)
        dev[i] = fabs(x[i] - med);
    qsort(dev, m, sizeof *dev, by_value);
    double spread = 1.4826 * dev[m / 2];
    d->typical = exp(med);
    d->limit = exp(med + MAX(4.5 * spread, log(1.07)));
    if (m < n)
        d->limit = MIN(d->limit, exp((x[m] + x[m - 1]) / 2));

    guint slow = 0;
    for (gsize i = 0; i < n; i++) {
        CtRequest *r = &g_array_index(d->requests, CtRequest, i);
        r->slow = (double)(r->t1 - r->t0) > d->limit;
        slow += r->slow;
    }
    /* Of many, those that are kept by name are spread over the run. */
    guint stride = MAX(slow / CT_DG_MAX_DETAILED, 1), seen = 0;
    guint other = MAX((guint)(n - slow) / CT_DG_MAX_DETAILED, 1), skipped = 0;
    for (gsize i = 0; i < n; i++) {
        CtRequest *r = &g_array_index(d->requests, CtRequest, i);
        double wall = (double)(r->t1 - r->t0);
        if (r->slow) {
            r->slow = seen++ % stride == 0 && d->n_detailed_slow < CT_DG_MAX_DETAILED ? 2 : 1;
            d->n_detailed_slow += r->slow == 2;
        } else if (fabs(log(wall) - med) <= MAX(2 * spread, 0.03) && skipped++ % other == 0 &&
                   d->n_reference < CT_DG_MAX_DETAILED) {
            r->reference = 1;
            d->n_reference++;
        }
    }
}

gboolean ct_timeline_digest(CtTimeline *tl, CtEvidence *ev, gint64 section, GError **error)
{
    Work w;
    init(&w, tl, ev, section);
    CtDigest *d = &w.d;
    guint kinds = CT_TL_BIT(CT_TL_KERNEL) | CT_TL_BIT(CT_TL_COPY) | CT_TL_BIT(CT_TL_SET) |
                  CT_TL_BIT(CT_TL_GRAPH) | CT_TL_BIT(CT_TL_CALL) | CT_TL_BIT(CT_TL_RANGE) |
                  CT_TL_BIT(CT_TL_OS);
    gboolean ok = ct_timeline_scan(tl, kinds, first_visit, &w, error);
    w.complete = TRUE;
    if (ok) {
        ct_busy_seal(&d->kernels);
        ct_busy_seal(&d->copies);
        ct_digest_devices_seal(d);
        ct_busy_join(&d->kernels, &d->copies, &d->all);
        ok = ct_digest_find_requests(d, error);
    }
    if (ok) {
        ct_digest_judge(d);
        ok = ct_digest_attribute(d, error);
    }
    if (ok)
        ct_digest_emit(d);
    clear(&w);
    return ok;
}
