/* SPDX-License-Identifier: Apache-2.0 */
/* What the tables of a record say beyond the growth of allocation sites. */
#include <math.h>
#include <string.h>

#include "run/record-private.h"

#define MANY_OBJECTS 24u  /* made one after the other while the program works */
#define MANY_CONTEXTS 8u
#define MIN_COPIES 20u
#define MIN_LAUNCHES 300u
#define SHORT_GAP_NS 30e3 /* between launches of one thread, when the host is the slow side */

/* ---- objects ---- */

typedef struct {
    guint64 made, ended;
    gint64 first_ns, last_ns;
    const CtRecordSite *largest;
} Objects;

static void count_objects(const CtReading *r, guint kind, Objects *out)
{
    *out = (Objects){.first_ns = G_MAXINT64};
    for (guint i = 0; i < r->v.sites->len; i++) {
        const CtRecordSite *s = &g_array_index(r->v.sites, CtRecordSite, i);
        if (s->site.kind != kind)
            continue;
        out->made += s->site.allocs;
        out->ended += s->site.frees;
        out->first_ns = MIN(out->first_ns, s->site.first_ns);
        out->last_ns = MAX(out->last_ns, s->site.last_ns);
        if (!out->largest || s->site.allocs > out->largest->site.allocs)
            out->largest = s;
    }
}

/* Made over most of the run, not only while it started or ended. */
static gboolean goes_on(const CtReading *r, const Objects *o)
{
    double span = (double)r->v.end_ns - (double)r->v.t0_ns;
    return span > 0 && (double)o->last_ns - (double)o->first_ns > 0.4 * span &&
           (double)r->v.end_ns - (double)o->last_ns < 0.25 * span;
}

static void judge_objects(const CtReading *r, guint kind)
{
    Objects o;
    count_objects(r, kind, &o);
    guint enough = kind == CTW_OBJ_CONTEXT ? MANY_CONTEXTS : MANY_OBJECTS;
    guint64 left = o.made > o.ended ? o.made - o.ended : 0;
    if (o.made < enough || !goes_on(r, &o))
        return;
    gboolean grows = left >= enough && left * 4 >= o.made;
    if (!grows && (kind == CTW_OBJ_STREAM || kind == CTW_OBJ_EVENT)) /* cheap, and usual */
        return;
    double seconds = ((double)o.last_ns - (double)o.first_ns) / 1e9;
    g_autofree char *call = ct_record_call(&r->v.p, o.largest->site.fn);
    g_autofree char *place = ct_record_place(&r->v.p, &o.largest->site, o.largest->number);
    g_autofree char *text = g_strdup_printf(
        "%s%s%s: %" G_GUINT64_FORMAT " of kind %s made during the run, %" G_GUINT64_FORMAT
        " of them destroyed, %.1f a second", call, place ? " at " : "", place ? place : "", o.made,
        ct_record_mem(kind), o.ended, seconds > 0 ? (double)o.made / seconds : 0);
    ct_reading_finding(r, grows ? "object-growth" : "object-churn", (double)(grows ? left : o.made),
                       0.9, o.first_ns, o.last_ns, text,
                       json_pack("{s:s, s:s, s:I, s:I}", "object", ct_record_mem(kind), "call",
                                 call, "made", (json_int_t)o.made, "ended", (json_int_t)o.ended));
}

/* ---- the last calls of each thread ---- */

typedef struct {
    guint64 start, end;
} Range;

static int by_start(gconstpointer a, gconstpointer b)
{
    const Range *x = a, *y = b;
    return x->start < y->start ? -1 : x->start > y->start;
}

/* Memory of the host that the driver knows: what is not in it is pageable. */
static GArray *pinned_ranges(const CtReading *r)
{
    GArray *out = g_array_new(FALSE, FALSE, sizeof(Range));
    struct ctw_live l;
    struct ctw_freed f;
    guint64 key;
    for (guint i = 0; i < CTW_LIVE; i++)
        if (ctw_get_live(&r->v.p, i, &key, &l) &&
            (!ct_record_is_device(l.kind) || l.kind == CTW_MEM_MANAGED) && l.kind < CTW_N_MEM) {
            Range x = {key, key + l.bytes};
            g_array_append_val(out, x);
        }
    for (guint i = 0; i < CTW_FREED; i++)
        if (ctw_get_freed(&r->v.p, i, &f) &&
            (!ct_record_is_device(f.kind) || f.kind == CTW_MEM_MANAGED) && f.kind < CTW_N_MEM) {
            Range x = {f.ptr, f.ptr + f.bytes};
            g_array_append_val(out, x);
        }
    g_array_sort(out, by_start);
    return out;
}

static gboolean is_pinned(const GArray *ranges, guint64 at)
{
    guint lo = 0, hi = ranges->len;
    while (lo < hi) {
        guint mid = (lo + hi) / 2;
        if (g_array_index(ranges, Range, mid).start <= at)
            lo = mid + 1;
        else
            hi = mid;
    }
    /* Blocks do not overlap but for freed ones that were given out again. */
    for (guint k = lo; k > 0 && lo - k < 8; k--)
        if (at < g_array_index(ranges, Range, k - 1).end)
            return TRUE;
    return FALSE;
}

typedef struct {
    guint64 copies, pageable, pageable_bytes, launches, waits, wait_ns, gaps, gap_ns;
    gint64 first_ns, last_ns;
} Calls;

static void count_calls(const CtReading *r, guint ring, const GArray *pinned, Calls *c)
{
    struct ctw_entry e;
    struct ctw_hook h;
    gint64 later = 0; /* the launch after this one, when nothing stood between them */
    for (guint64 back = 0; ctw_get_entry(&r->v.p, ring, back, &e); back++) {
        if (!ctw_get_hook(&r->v.p, e.fn, &h))
            continue;
        gboolean launch = h.cls == CTW_CLASS_LAUNCH || h.cls == CTW_CLASS_GRAPH_LAUNCH;
        guint64 host = e.flags & CTW_HOST_IN_C ? e.c : e.flags & CTW_HOST_IN_STREAM ? e.stream : 0;
        c->last_ns = MAX(c->last_ns, e.t_ns);
        c->first_ns = MIN(c->first_ns, e.t_ns);
        if (launch && later > e.t_ns) {
            c->gaps++;
            c->gap_ns += (guint64)(later - e.t_ns);
        }
        later = launch ? e.t_ns : 0;
        c->launches += launch;
        if (h.cls == CTW_CLASS_SYNC) {
            c->waits++;
            c->wait_ns += MIN(e.c, (guint64)G_GINT64_CONSTANT(1) << 40);
        }
        if (host && e.b >= 4096 && e.result == 0) {
            gboolean page = !is_pinned(pinned, host);
            c->copies++;
            c->pageable += page;
            c->pageable_bytes += page ? e.b : 0;
        }
    }
}

static void judge_calls(const CtReading *r)
{
    g_autoptr(GArray) pinned = pinned_ranges(r);
    Calls all = {.first_ns = G_MAXINT64};
    for (guint i = 0; i < CTW_RINGS; i++) {
        Calls c = {.first_ns = G_MAXINT64};
        count_calls(r, i, pinned, &c);
        all.copies += c.copies;
        all.pageable += c.pageable;
        all.pageable_bytes += c.pageable_bytes;
        double span = (double)c.last_ns - (double)c.first_ns;
        double gap = c.gaps ? (double)c.gap_ns / (double)c.gaps : 0;
        double wait = span > 0 ? (double)c.wait_ns / span : 0;
        if (c.launches < MIN_LAUNCHES || c.gaps * 4 < c.launches * 3 || gap > SHORT_GAP_NS ||
            wait > 0.05)
            continue;
        struct ctw_ring ring;
        guint tid = ctw_get_ring(&r->v.p, i, &ring) ? ring.tid : 0;
        g_autofree char *text = g_strdup_printf("thread %u launches every %.1f us and waits for "
                                                "the GPU %.1f %% of the time: the GPU is "
                                                "done before the next launch comes",
                                                tid, gap / 1e3, wait * 100);
        ct_reading_finding(r, "launch-bound", gap, 0.6, c.first_ns, c.last_ns, text,
                           json_pack("{s:f, s:I}", "wait_share", wait, "launches",
                                     (json_int_t)c.launches));
    }
    if (all.copies < MIN_COPIES || all.pageable * 2 < all.copies ||
        all.pageable_bytes < (G_GUINT64_CONSTANT(1) << 20))
        return;
    g_autofree char *bytes = g_format_size_full(all.pageable_bytes, G_FORMAT_SIZE_IEC_UNITS);
    g_autofree char *text = g_strdup_printf(
        "%" G_GUINT64_FORMAT " of the last %" G_GUINT64_FORMAT
        " copies between host and device (%s) use memory that is not pinned", all.pageable,
        all.copies, bytes);
    ct_reading_finding(r, "pageable-copies", (double)all.pageable / (double)all.copies, 0.95,
                       r->v.t0_ns, r->v.t1_ns, text,
                       json_pack("{s:I, s:I}", "copies", (json_int_t)all.copies, "bytes",
                                 (json_int_t)all.pageable_bytes));
}

/* ---- errors ---- */

static void refused_while_free(const CtReading *r, const struct ctw_freeze *f)
{
    if (f->call.result != 2 || f->free_bytes == 0 || f->call.b == 0 ||
        f->free_bytes < f->call.b + f->call.b / 8)
        return;
    g_autofree char *want = g_format_size_full(f->call.b, G_FORMAT_SIZE_IEC_UNITS);
    g_autofree char *have = g_format_size_full(f->free_bytes, G_FORMAT_SIZE_IEC_UNITS);
    g_autofree char *call = ct_record_call(&r->v.p, f->call.fn);
    g_autofree char *text = g_strdup_printf(
        "%s of %s is refused although %s were free when the program last asked", call, want, have);
    ct_reading_finding(r, "refused-while-free", (double)f->call.b, 0.8, f->call.t_ns, f->call.t_ns,
                       text, json_pack("{s:I, s:I}", "wanted_bytes", (json_int_t)f->call.b,
                                       "free_bytes", (json_int_t)f->free_bytes));
}

/* A stream or event that another context made: invalid handle, or invalid context. */
static void other_context(const CtReading *r, const struct ctw_freeze *f)
{
    struct ctw_live l;
    guint64 key;
    if ((f->call.result != 400 && f->call.result != 201) || !f->context)
        return;
    for (guint i = 0; i < CTW_LIVE; i++) {
        if (!ctw_get_live(&r->v.p, i, &key, &l) ||
            (l.kind != CTW_OBJ_STREAM && l.kind != CTW_OBJ_EVENT && l.kind != CTW_OBJ_MODULE &&
             l.kind != CTW_OBJ_EXEC))
            continue;
        guint64 handle = CTW_KEY_VALUE(key);
        if ((handle != f->call.stream && handle != f->call.a) || !l.stream ||
            l.stream == f->context)
            continue;
        g_autofree char *call = ct_record_call(&r->v.p, f->call.fn);
        g_autofree char *text = g_strdup_printf(
            "%s gets a %s that was made under another context than the one that is current", call,
            ct_record_mem(l.kind));
        ct_reading_finding(r, "handle-of-other-context", 1, 0.95, l.t_ns, f->call.t_ns, text,
                           json_pack("{s:s, s:s}", "call", call, "object", ct_record_mem(l.kind)));
        return;
    }
}

static void judge_errors(const CtReading *r)
{
    g_autofree struct ctw_freeze *f = g_new(struct ctw_freeze, 1);
    if (ctw_get_freeze(&r->v.p, 0, f)) {
        refused_while_free(r, f);
        other_context(r, f);
    }
    guint64 after = 0;
    for (guint i = 0; i < CTW_RINGS; i++) {
        struct ctw_ring ring;
        if (ctw_get_ring(&r->v.p, i, &ring))
            after += ring.after_loss;
    }
    if (after < 8 || !ctw_get_freeze(&r->v.p, 1, f))
        return;
    g_autofree char *call = ct_record_call(&r->v.p, f->call.fn);
    g_autofree char *text = g_strdup_printf(
        "after %s had returned %d the same thread made %" G_GUINT64_FORMAT
        " more calls that failed: nobody looks at what they return", call, f->call.result, after);
    ct_reading_finding(r, "errors-ignored", (double)after, 0.8, f->call.t_ns, r->v.t1_ns, text,
                       json_pack("{s:s, s:i}", "call", call, "code", (int)f->call.result));
}

/* ---- seen from outside ---- */

static int by_time(gconstpointer a, gconstpointer b)
{
    const struct ctw_outside *x = a, *y = b;
    return x->t_ns < y->t_ns ? -1 : x->t_ns > y->t_ns;
}

/* Samples of every second, and before them those of every minute. */
static GArray *outside_samples(const struct ctw_reader *in)
{
    GArray *out = g_array_new(FALSE, FALSE, sizeof(struct ctw_outside));
    gint64 from = G_MAXINT64;
    for (guint level = 0; level < CTW_OUTSIDE_LEVELS; level++) {
        gint64 first = from;
        for (guint i = 0; i < CTW_OUTSIDE; i++) {
            struct ctw_outside s;
            if (!ctw_get_outside(in, level, i, &s) || s.t_ns >= from)
                continue;
            first = MIN(first, s.t_ns);
            g_array_append_val(out, s);
        }
        from = first;
    }
    g_array_sort(out, by_time);
    return out;
}

static double recorded_at(const CtReading *r, gint64 t_ns)
{
    struct ctw_sample s, best = {0};
    for (guint level = 0; level < CTW_LEVELS; level++)
        for (guint i = 0; i < CTW_LEVEL_SAMPLES; i++)
            if (ctw_get_sample(&r->v.p, level, i, &s) && s.t_ns <= t_ns && s.t_ns > best.t_ns)
                best = s;
    double sum = 0;
    for (guint k = 0; k < CTW_N_MEM; k++)
        sum += ct_record_is_device(k) ? (double)best.live_bytes[k] : 0;
    return sum;
}

/* Device memory that grows by more than the recorded calls explain: the difference of the last
 * quarter to the second, since the first loads code and makes contexts. */
static void judge_unattributed(const CtReading *r, const GArray *list)
{
    double mean[4] = {0};
    guint n = list->len;
    if (n < 16 || r->in->n_arenas != 1)
        return;
    for (guint i = 0; i < n; i++) {
        const struct ctw_outside *s = &g_array_index(list, struct ctw_outside, i);
        double used = (double)(s->device_process ? s->device_process : s->device_used);
        if (used <= 0)
            return;
        mean[i * 4 / n] += (used - recorded_at(r, s->t_ns)) / ((double)n / 4);
    }
    double grown = mean[3] - mean[1], late = mean[3] - mean[2], early = mean[2] - mean[1];
    const struct ctw_outside *a = &g_array_index(list, struct ctw_outside, 0);
    const struct ctw_outside *b = &g_array_index(list, struct ctw_outside, n - 1);
    double seconds = ((double)b->t_ns - (double)a->t_ns) / 2e9;
    if (grown < 32.0 * 1048576 || late < 0.25 * grown || early < 0.25 * grown || seconds <= 0)
        return;
    g_autofree char *size = g_format_size_full((guint64)grown, G_FORMAT_SIZE_IEC_UNITS);
    g_autofree char *text = g_strdup_printf(
        "%s of device memory came during the run that belong to no recorded call", size);
    ct_reading_finding(r, "unattributed-growth", grown / seconds, 0.7, a->t_ns, b->t_ns, text,
                       json_pack("{s:f}", "total_bytes", grown));
}

static void emit_outside(const CtReading *r)
{
    g_autoptr(GArray) list = outside_samples(r->in);
    CtSeries *rss = NULL, *device = NULL, *mine = NULL;
    for (guint i = 0; i < list->len; i++) {
        const struct ctw_outside *s = &g_array_index(list, struct ctw_outside, i);
        gint64 t = ct_reading_wall(r, s->t_ns);
        /* The totals are of all processes together; they stand with the first of them. */
        if (s->resident)
            ct_series_add(rss ? rss : (rss = ct_evidence_series(r->ev, r->section, r->subject,
                                                                "process.rss", "bytes")),
                          t, (double)s->resident, 0);
        if (s->device_used)
            ct_series_add(device ? device
                                 : (device = ct_evidence_series(r->ev, r->section, "gpu",
                                                                "record.device.used", "bytes")),
                          t, (double)s->device_used, 0);
        if (s->device_process)
            ct_series_add(mine ? mine
                               : (mine = ct_evidence_series(r->ev, r->section, r->subject,
                                                            "record.device.process", "bytes")),
                          t, (double)s->device_process, 0);
    }
    judge_unattributed(r, list);
}

/* ---- when it will be over ---- */

static void judge_exhaustion(const CtReading *r)
{
    double slope = 0, room = (double)r->v.p.head.free_bytes;
    g_autoptr(GArray) list = outside_samples(r->in);
    for (guint i = 0; i < r->v.sites->len; i++) {
        const CtRecordSite *s = &g_array_index(r->v.sites, CtRecordSite, i);
        if (s->verdict == CT_SITE_GROWS && ct_record_is_device(s->site.kind))
            slope += s->bytes_per_second;
    }
    if (list->len) {
        const struct ctw_outside *last = &g_array_index(list, struct ctw_outside, list->len - 1);
        if (last->device_total > last->device_used)
            room = (double)(last->device_total - last->device_used);
    }
    if (slope <= 0 || room <= 0)
        return;
    double seconds = room / slope;
    g_autofree char *free_now = g_format_size_full((guint64)room, G_FORMAT_SIZE_IEC_UNITS);
    g_autofree char *text = g_strdup_printf(
        "at the pace of the growing sites the %s that are free last %.1f hours", free_now,
        seconds / 3600);
    ct_reading_finding(r, "memory-exhaustion", seconds, 0.7, r->v.t1_ns, r->v.t1_ns, text,
                       json_pack("{s:f, s:f}", "slope_bytes", slope, "free_bytes", room));
}

/* ---- pools ---- */

#define POOL_IDLE_BYTES (64u * 1048576)

/* What a stream-ordered pool holds and nobody uses, as the program last asked the driver. */
static void judge_pool(const CtReading *r)
{
    const struct ctw_arena *h = &r->v.p.head;
    guint64 used = h->pool_used ? h->pool_used
                                : h->live_bytes[CTW_MEM_ASYNC] + h->live_bytes[CTW_MEM_POOL];
    if (h->pool_reserved <= used || h->pool_reserved - used < POOL_IDLE_BYTES ||
        h->pool_reserved / 2 < used)
        return;
    g_autofree char *held = g_format_size_full(h->pool_reserved, G_FORMAT_SIZE_IEC_UNITS);
    g_autofree char *in_use = g_format_size_full(used, G_FORMAT_SIZE_IEC_UNITS);
    g_autofree char *text = g_strdup_printf("a memory pool holds %s of which %s are in use", held,
                                            in_use);
    ct_reading_finding(r, "pool-reserved-unused", (double)(h->pool_reserved - used), 0.8,
                       r->v.t0_ns, r->v.t1_ns, text,
                       json_pack("{s:f, s:f, s:f}", "reserved_bytes", (double)h->pool_reserved,
                                 "used_bytes", (double)used, "threshold_bytes",
                                 (double)h->pool_threshold));
}

void ct_reading_findings(const CtReading *r)
{
    judge_pool(r);
    for (guint kind = CTW_OBJ_STREAM; kind < CTW_N_KINDS; kind++)
        judge_objects(r, kind);
    judge_calls(r);
    judge_errors(r);
    emit_outside(r);
    judge_exhaustion(r);
}
