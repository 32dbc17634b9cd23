/* SPDX-License-Identifier: Apache-2.0 */
#include "timeline/summary.h"

#include "timeline/digest-private.h"
#include "timeline/timeline-private.h"

#define MAX_GPUS 64u
#define MAX_FAILURES 64u
#define TOP 50u

typedef struct {
    CtTlSummary *s;
    CtTimeline *tl;
    gboolean ort;
    GArray *by_name[4];   /* CtTlNamed by name id: kernels, calls, ranges, OS */
    GArray *plain;        /* guint32 by name id of a range: its name without numbers, + 1 */
    GHashTable *nodes;    /* group << 32 | name of the operation -> index + 1 */
    CtBusy busy[MAX_GPUS];
    gint64 last_wait_ok;
    guint last_gpu;
} Summing;

const char *ct_tl_copy_name(CtTlCopy copy)
{
    static const char *const names[] = {"copy", "HtoD", "DtoH", "DtoD", "PtoP", "HtoH"};
    return names[MIN((guint)copy, 5)];
}

const char *ct_tl_memory_name(CtTlMemory memory)
{
    static const char *const names[] = {"unknown", "pageable", "pinned", "device", "managed"};
    return names[MIN((guint)memory, 4)];
}

const char *ct_tl_call_name(CtTlCall call)
{
    static const char *const names[] = {"other", "launch", "copy", "memset", "alloc", "free",
                                        "sync", "event", "module", "graph"};
    return names[MIN((guint)call, 9)];
}

static CtTlNamed *named(GArray *a, guint32 name)
{
    if (name >= a->len)
        g_array_set_size(a, MAX(name + 1, MIN(a->len * 2, CT_TL_MAX_NAMES + 2)));
    return &g_array_index(a, CtTlNamed, name);
}

static void count(GArray *a, const CtTlEvent *e)
{
    CtTlNamed *x = named(a, e->name);
    gint64 took = e->t1 - e->t0;
    x->name = e->name;
    x->group = e->group;
    x->count++;
    x->total += took;
    x->max = MAX(x->max, took);
}

/* "step 17" and "ProfilerStep#17" are one thing each time; "conv2d" is a name. */
static guint32 without_numbers(Summing *m, guint32 name)
{
    if (name >= m->plain->len)
        g_array_set_size(m->plain, MAX(name + 1, m->plain->len * 2));
    guint32 known = g_array_index(m->plain, guint32, name);
    if (known)
        return known - 1;
    char text[512];
    gsize n = 0;
    for (const char *p = ct_timeline_name(m->tl, name); *p && n + 2 < sizeof text;) {
        gsize digits = strspn(p, "0123456789");
        if (digits && (digits > 3 || (n && strchr(" #=:.", text[n - 1])))) {
            if (!n || text[n - 1] != '#')
                text[n++] = '#';
            p += digits;
        } else {
            text[n++] = *p++;
        }
    }
    guint32 plain = ct_tl_names_add(&m->tl->names, text, n);
    g_array_index(m->plain, guint32, name) = plain + 1;
    return plain;
}

static void count_range(Summing *m, const CtTlEvent *e)
{
    CtTlEvent plain = *e;
    plain.name = without_numbers(m, e->name);
    count(m->by_name[2], &plain);
}

static gint gpu_of(Summing *m, const CtTlEvent *e)
{
    GArray *gpus = m->s->gpus;
    gint64 device = e->device < 0 ? 0 : e->device;
    if (m->last_gpu < gpus->len && g_array_index(gpus, CtTlGpu, m->last_gpu).device == device)
        return (gint)m->last_gpu;
    for (guint i = 0; i < gpus->len; i++)
        if (g_array_index(gpus, CtTlGpu, i).device == device)
            return (gint)(m->last_gpu = i);
    if (gpus->len >= MAX_GPUS)
        return -1;
    CtTlGpu fresh = {.device = device, .t0 = G_MAXINT64, .t1 = G_MININT64};
    g_array_append_val(gpus, fresh);
    ct_busy_init(&m->busy[gpus->len - 1]);
    return (gint)(m->last_gpu = gpus->len - 1);
}

static void gpu_work(Summing *m, const CtTlEvent *e)
{
    gint i = gpu_of(m, e);
    if (i < 0)
        return;
    CtTlGpu *g = &g_array_index(m->s->gpus, CtTlGpu, i);
    gint64 took = e->t1 - e->t0;
    g->t0 = MIN(g->t0, e->t0);
    g->t1 = MAX(g->t1, e->t1);
    ct_busy_add(&m->busy[i], e->t0, e->t1);
    if (e->kind == CT_TL_KERNEL || e->kind == CT_TL_GRAPH) {
        g->kernels += e->kind == CT_TL_KERNEL;
        g->graphs += e->kind == CT_TL_GRAPH;
        g->kernel_time += took;
        count(m->by_name[0], e);
    } else if (e->kind == CT_TL_COPY) {
        g->copies++;
        g->copy_time += took;
    }
}

static void copy(CtTlSummary *s, const CtTlEvent *e)
{
    CtTlCopies *c = NULL;
    for (guint i = 0; i < s->copies->len && !c; i++) {
        CtTlCopies *x = &g_array_index(s->copies, CtTlCopies, i);
        c = x->copy == e->copy && x->source == e->source && x->target == e->target ? x : NULL;
    }
    if (!c) {
        CtTlCopies fresh = {.copy = e->copy, .source = e->source, .target = e->target};
        g_array_append_val(s->copies, fresh);
        c = &g_array_index(s->copies, CtTlCopies, s->copies->len - 1);
    }
    c->count++;
    c->bytes += e->bytes;
    c->total += e->t1 - e->t0;
}

/* What a query answers to say "not yet", and what a second try to do a thing once answers. */
static gboolean is_answer(const CtTlEvent *e)
{
    return e->result == 600 || e->result == 704 || e->result == 712 || e->result == 713;
}

static void failure(CtTlSummary *s, const CtTlEvent *e)
{
    for (guint i = 0; i < s->failures->len; i++) {
        CtTlFailure *f = &g_array_index(s->failures, CtTlFailure, i);
        if (f->name == e->name && f->result == e->result && f->pid == e->pid) {
            f->count++;
            f->last = MAX(f->last, e->t1);
            return;
        }
    }
    CtTlFailure f = {.name = e->name, .result = e->result, .count = 1, .first = e->t1,
                     .last = e->t1, .pid = e->pid};
    if (s->failures->len < MAX_FAILURES)
        g_array_append_val(s->failures, f);
}

static void call(Summing *m, const CtTlEvent *e)
{
    CtTlSummary *s = m->s;
    count(m->by_name[1], e);
    s->call_count[e->call]++;
    s->call_time[e->call] += e->t1 - e->t0;
    if (e->result != 0 && !is_answer(e))
        failure(s, e);
    else if (e->call == CT_TL_CALL_SYNC && e->result == 0)
        m->last_wait_ok = MAX(m->last_wait_ok, e->t1);
}

/* An operation of ONNX Runtime on a provider: the first word of the shape names it. */
static void node(Summing *m, const CtTlEvent *e)
{
    const char *text = ct_timeline_name(m->tl, e->shape);
    gsize n = strcspn(text, " ");
    if (n == 0)
        return;
    guint32 op = ct_tl_names_add(&m->tl->names, text, n);
    gint64 key = (gint64)((guint64)e->group << 32 | op);
    gsize at = GPOINTER_TO_SIZE(g_hash_table_lookup(m->nodes, &key));
    if (!at) {
        CtTlNamed fresh = {.name = op, .group = e->group};
        if (m->s->nodes->len >= 10000)
            return;
        g_array_append_val(m->s->nodes, fresh);
        at = m->s->nodes->len;
        g_hash_table_insert(m->nodes, ct_tl_dup(&key, sizeof key), GSIZE_TO_POINTER(at));
    }
    CtTlNamed *x = &g_array_index(m->s->nodes, CtTlNamed, at - 1);
    x->count++;
    x->total += e->t1 - e->t0;
    x->max = MAX(x->max, e->t1 - e->t0);
}

static gboolean on_event(const CtTlEvent *e, gpointer user)
{
    Summing *m = user;
    CtTlSummary *s = m->s;
    s->n[e->kind]++;
    if (e->kind != CT_TL_NOTE) {
        s->t0 = MIN(s->t0, e->t0);
        s->t1 = MAX(s->t1, e->t1);
    }
    switch (e->kind) {
    case CT_TL_COPY:
        copy(s, e);
        gpu_work(m, e);
        break;
    case CT_TL_KERNEL:
    case CT_TL_GRAPH:
    case CT_TL_SET:
        gpu_work(m, e);
        break;
    case CT_TL_CALL:
        call(m, e);
        break;
    case CT_TL_RANGE:
        count_range(m, e);
        if (m->ort)
            node(m, e);
        break;
    case CT_TL_OS:
        count(m->by_name[3], e);
        break;
    case CT_TL_MEMORY:
        if (e->free)
            s->freed += e->bytes;
        else
            s->allocated += e->bytes;
        break;
    case CT_TL_SYNC:
    case CT_TL_NOTE:
        break;
    }
    return TRUE;
}

static int by_total(gconstpointer a, gconstpointer b)
{
    const CtTlNamed *x = a, *y = b;
    return x->total < y->total   ? 1
           : x->total > y->total ? -1
           : x->name < y->name   ? -1
                                 : x->name > y->name;
}

static int by_copy_time(gconstpointer a, gconstpointer b)
{
    const CtTlCopies *x = a, *y = b;
    return x->total < y->total ? 1 : x->total > y->total ? -1 : 0;
}

static int by_device(gconstpointer a, gconstpointer b)
{
    const CtTlGpu *x = a, *y = b;
    return x->device < y->device ? -1 : x->device > y->device;
}

/* The fifty that took most, out of an array with holes. */
static guint top(GArray *all, GArray *out, gint64 *sum)
{
    for (guint i = 0; i < all->len; i++) {
        const CtTlNamed *x = &g_array_index(all, CtTlNamed, i);
        *sum += x->total;
        if (x->count)
            g_array_append_val(out, *x);
    }
    guint n = out->len;
    g_array_sort(out, by_total);
    g_array_set_size(out, MIN(n, TOP));
    return n;
}

/* Stretches without any work. Where there are too many to keep, the shortest lie within blocks. */
static void idle(CtTlGpu *g, CtBusy *busy)
{
    const CtBlock *last = NULL;
    ct_busy_seal(busy);
    for (guint i = 0; i < busy->blocks->len; i++) {
        const CtBlock *b = &g_array_index(busy->blocks, CtBlock, i);
        gint64 gap = last ? b->t0 - last->t1 : 0;
        g->busy += b->busy;
        g->short_gaps += b->t1 - b->t0 - b->busy;
        if (gap > 0 && gap <= CT_TL_SHORT_GAP)
            g->short_gaps += gap;
        if (gap >= CT_TL_LONG_GAP) {
            g->long_gaps += gap;
            g->n_long_gaps++;
        }
        if (gap > g->longest_gap) {
            g->longest_gap = gap;
            g->longest_at = last->t1;
        }
        last = b;
    }
}

static void finish(Summing *m)
{
    CtTlSummary *s = m->s;
    for (guint i = 0; i < s->gpus->len; i++)
        idle(&g_array_index(s->gpus, CtTlGpu, i), &m->busy[i]);
    s->n_kernels = top(m->by_name[0], s->kernels, &s->kernel_ns);
    s->n_calls = top(m->by_name[1], s->calls, &s->call_ns);
    s->n_ranges = top(m->by_name[2], s->ranges, &s->range_ns);
    s->n_os = top(m->by_name[3], s->os, &s->os_ns);
    g_array_sort(s->nodes, by_total);
    g_array_sort(s->copies, by_copy_time);
    for (guint i = 0; i < s->failures->len; i++) {
        CtTlFailure *f = &g_array_index(s->failures, CtTlFailure, i);
        f->handled = m->last_wait_ok > f->last;
    }
}

static GArray *table(void)
{
    return g_array_new(FALSE, TRUE, sizeof(CtTlNamed));
}

static CtTlSummary *summary_new(void)
{
    CtTlSummary *s = g_new0(CtTlSummary, 1);
    s->t0 = G_MAXINT64;
    s->t1 = G_MININT64;
    s->gpus = g_array_new(FALSE, TRUE, sizeof(CtTlGpu));
    s->kernels = table();
    s->calls = table();
    s->ranges = table();
    s->os = table();
    s->nodes = table();
    s->copies = g_array_new(FALSE, TRUE, sizeof(CtTlCopies));
    s->failures = g_array_new(FALSE, TRUE, sizeof(CtTlFailure));
    return s;
}

void ct_timeline_summary_free(CtTlSummary *s)
{
    if (!s)
        return;
    g_array_unref(s->gpus);
    g_array_unref(s->kernels);
    g_array_unref(s->calls);
    g_array_unref(s->ranges);
    g_array_unref(s->os);
    g_array_unref(s->nodes);
    g_array_unref(s->copies);
    g_array_unref(s->failures);
    g_free(s);
}

static CtTlSummary *sum_up(CtTimeline *tl, GError **error)
{
    g_autofree Summing *m = g_new0(Summing, 1);
    m->tl = tl;
    m->s = summary_new();
    m->ort = g_str_equal(tl->format, "ort-profile");
    m->last_wait_ok = G_MININT64;
    m->plain = g_array_new(FALSE, TRUE, sizeof(guint32));
    m->nodes = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
    for (guint i = 0; i < 4; i++)
        m->by_name[i] = table();
    gboolean ok = ct_timeline_scan(tl, ~0u, on_event, m, error);
    if (ok)
        finish(m);
    for (guint i = 0; i < 4; i++)
        g_array_unref(m->by_name[i]);
    for (guint i = 0; i < m->s->gpus->len; i++)
        ct_busy_clear(&m->busy[i]);
    if (ok)
        g_array_sort(m->s->gpus, by_device);
    g_hash_table_unref(m->nodes);
    g_array_unref(m->plain);
    if (!ok)
        g_clear_pointer(&m->s, ct_timeline_summary_free);
    return m->s;
}

CtTlSummary *ct_timeline_summary(CtTimeline *tl, GError **error)
{
    tl->as_written = TRUE;
    CtTlSummary *s = sum_up(tl, error);
    tl->as_written = FALSE;
    if (s && tl->rescaled) { /* by what was found in a table that came after others */
        ct_timeline_summary_free(s);
        s = sum_up(tl, error);
    }
    return s;
}
