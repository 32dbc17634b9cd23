/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests of a trace without ranges of the program, by what repeats on the GPU: bursts of work
 * between pauses, or a kernel that returns after the same number of others.
 */
#include <stdlib.h>

#include "timeline/digest-private.h"

#define MAX_SEQUENCE 3000000u

typedef struct {
    guint32 pair;
    float gap; /* ns of nothing before it */
    gint64 t0;
} Step;

typedef struct {
    GArray *steps;
    gint64 end;
} Sequence;

static gboolean add_step(const CtTlEvent *e, gpointer user)
{
    CtDigest *d = user;
    Sequence *s = d->scratch;
    if (e->t1 <= e->t0)
        return TRUE;
    const CtPair *p = ct_pairs_get(&d->pairs, e->name, e->shape, FALSE);
    Step x = {.pair = p ? p->index : 0, .t0 = e->t0,
              .gap = s->steps->len ? (float)MAX(e->t0 - s->end, 0) : 0};
    g_array_append_val(s->steps, x);
    s->end = MAX(s->end, e->t1);
    return s->steps->len < MAX_SEQUENCE;
}

static void add_request(CtDigest *d, gint64 t0, gint64 t1)
{
    CtRequest r = {.t0 = t0, .t1 = t1, .tid = -1};
    if (t1 > t0 && d->requests->len < CT_DG_MAX_REQUESTS)
        g_array_append_val(d->requests, r);
}

typedef struct {
    guint32 last, gap, votes, fits, n;
    double idle;
} Return;

/* After how many kernels each returns: the majority's distance, and how often it holds. */
static Return *returns_of(const CtDigest *d, const GArray *steps)
{
    Return *r = g_new0(Return, d->pairs.used + 1);
    for (int round = 0; round < 2; round++) {
        for (guint i = 0; i <= d->pairs.used; i++)
            r[i].last = 0;
        for (guint32 i = 0; i < steps->len; i++) {
            const Step *s = &g_array_index(steps, Step, i);
            Return *x = &r[s->pair];
            guint32 gap = x->last ? i + 1 - x->last : 0;
            x->last = i + 1;
            if (round == 1) {
                x->n++;
                x->fits += gap && gap == x->gap;
                x->idle += MIN((double)s->gap, 1e8);
            } else if (gap && gap == x->gap) {
                x->votes++;
            } else if (gap && x->votes == 0) {
                x->gap = gap;
                x->votes = 1;
            } else if (gap) {
                x->votes--;
            }
        }
    }
    return r;
}

/* One kernel a period, and of those the one with the longest pause before it. */
static guint32 first_of_period(const CtDigest *d, const GArray *steps)
{
    g_autofree Return *r = returns_of(d, steps);
    guint32 best = 0;
    for (guint i = 1; i <= d->pairs.used; i++) {
        gboolean regular = r[i].n >= 8 && r[i].fits * 10 >= (r[i].n - 1) * 7 && r[i].gap >= 3;
        if (!regular || (double)r[i].gap * r[i].n < 0.6 * steps->len)
            continue;
        if (!best || r[i].gap > r[best].gap ||
            (r[i].gap == r[best].gap && r[i].idle > r[best].idle))
            best = i;
    }
    return best;
}

static void requests_of_period(CtDigest *d, const GArray *steps, guint32 first)
{
    gint64 from = 0;
    for (guint i = 0; i < steps->len; i++) {
        const Step *s = &g_array_index(steps, Step, i);
        if (s->pair != first)
            continue;
        if (from)
            add_request(d, from, s->t0);
        from = s->t0;
    }
}

static int by_float(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* Pauses that are far longer than the usual ones part bursts; the cut stands where the sorted
 * pauses jump the most. */
static double burst_pause(const GArray *steps)
{
    guint n = steps->len;
    g_autofree float *gap = g_new(float, n + 1);
    for (guint i = 0; i < n; i++)
        gap[i] = g_array_index(steps, Step, i).gap;
    qsort(gap, n, sizeof *gap, by_float);
    guint cut = 0;
    double jump = 5;
    for (guint i = n / 2; i + 8 < n; i++) {
        double ratio = (double)gap[i + 1] / MAX((double)gap[i], 1000);
        if (gap[i + 1] > 20000 && ratio > jump) {
            jump = ratio;
            cut = i + 1;
        }
    }
    return cut ? gap[cut] : 0;
}

/* Bursts of mostly one number of kernels are requests, whatever repeats inside them. */
static gboolean bursts_are_alike(const GArray *steps, double pause)
{
    guint32 majority = 0, votes = 0, same = 0, bursts = 0, last = 0;
    for (int round = 0; round < 2 && pause > 0; round++) {
        last = 0;
        for (guint32 i = 1; i < steps->len; i++) {
            if (g_array_index(steps, Step, i).gap < pause)
                continue;
            guint32 size = i - last;
            last = i;
            if (round == 1) {
                bursts++;
                same += size == majority;
            } else if (size == majority) {
                votes++;
            } else if (votes == 0) {
                majority = size;
                votes = 1;
            } else {
                votes--;
            }
        }
    }
    return bursts >= CT_DG_MIN_REQUESTS && majority >= 3 && same * 10 >= bursts * 7;
}

static void requests_of_bursts(CtDigest *d, const GArray *steps, double pause)
{
    gint64 from = 0;
    for (guint i = 0; i < steps->len && pause > 0; i++) {
        const Step *s = &g_array_index(steps, Step, i);
        if (i && s->gap < pause)
            continue;
        if (from)
            add_request(d, from, s->t0);
        from = s->t0;
    }
}

/* Where a program waits for its clients, the pause before a request is not part of it. */
static void cut_waits(CtDigest *d)
{
    guint paced = 0;
    for (guint i = 0; i < d->requests->len; i++) {
        const CtRequest *r = &g_array_index(d->requests, CtRequest, i);
        paced += ct_busy_within(&d->all, r->t0, r->t1) < 0.35 * (double)(r->t1 - r->t0);
    }
    if (2 * paced < d->requests->len)
        return;
    for (guint i = 0; i < d->requests->len; i++) {
        CtRequest *r = &g_array_index(d->requests, CtRequest, i);
        const CtBlock *x = (const CtBlock *)(void *)d->all.blocks->data;
        guint lo = 0, hi = d->all.blocks->len;
        while (lo < hi) {
            guint mid = lo + (hi - lo) / 2;
            if (x[mid].t0 < r->t1)
                lo = mid + 1;
            else
                hi = mid;
        }
        if (lo && x[lo - 1].t1 < r->t1 && x[lo - 1].t1 > r->t0)
            r->t1 = x[lo - 1].t1;
    }
}

gboolean ct_digest_requests_on_gpu(CtDigest *d, GError **error)
{
    Sequence s = {.steps = g_array_new(FALSE, FALSE, sizeof(Step))};
    d->scratch = &s;
    gboolean ok = ct_digest_scan(d, CT_TL_BIT(CT_TL_KERNEL) | CT_TL_BIT(CT_TL_GRAPH) |
                                        CT_TL_BIT(CT_TL_SET), add_step, error);
    if (ok && s.steps->len >= 24) {
        double pause = burst_pause(s.steps);
        guint32 first = bursts_are_alike(s.steps, pause) ? 0 : first_of_period(d, s.steps);
        if (first) {
            requests_of_period(d, s.steps, first);
            d->how = g_strdup("pattern");
            cut_waits(d);
        } else {
            requests_of_bursts(d, s.steps, pause);
            d->how = g_strdup("burst");
            cut_waits(d);
        }
        d->request_name = g_strdup(first ? "period of the GPU's work" : "burst of GPU work");
    }
    g_array_unref(s.steps);
    if (d->requests->len < CT_DG_MIN_REQUESTS)
        g_array_set_size(d->requests, 0);
    return ok;
}
