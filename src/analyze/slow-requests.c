/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why requests of a trace are slow: for each slow one, which part of it took the extra time against
 * the typical request. Requests with the same answer make one finding.
 */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analyzer.h"
#include "analyze/clock.h"
#include "analyze/detect.h"
#include "analyze/request-spans.h"

typedef enum {
    WHY_KERNEL, WHY_COPY, WHY_SYNC, WHY_ALLOC, WHY_IDLE, WHY_LAUNCH, WHY_FIRST, WHY_QUEUE,
    WHY_INPUT, N_WHY
} Why;

static const char *const kinds[N_WHY] = {
    "slow-request-kernel", "slow-request-copy",   "slow-request-sync",       "slow-request-alloc",
    "slow-request-idle",   "slow-request-launch", "slow-request-first-time", "slow-request-queue",
    "slow-request-input",
};

typedef struct {
    const CtRequestSpan *r;
    Why why;
    double extra, part; /* over the typical request, and what of it `why` explains */
} Judged;

static double wall(const CtRequestSpan *r)
{
    return (double)(r->t1 - r->t0);
}

/* ---- one request ---- */

static double over(const CtRequestSet *s, const CtRequestSpan *r, CtRequestPart p)
{
    return r->part[p] - s->part[p];
}

static gboolean first_time_work(const CtRequestSet *s, const CtRequestSpan *r)
{
    /* To the first request of a trace every kernel is new. */
    return r->n[CT_RN_MODULES] > s->n[CT_RN_MODULES] ||
           (r->index > 0 && r->n[CT_RN_FRESH] > s->n[CT_RN_FRESH]);
}

/* What all slow requests have in common and one alone cannot tell. */
typedef struct {
    double plain[N_WHY]; /* the most that one without anything new lost in a place */
    gboolean one_kernel; /* they all lose the most to the same kernel */
} Common;

static void explain(const CtRequestSet *s, const Common *c, const CtRequestSpan *r, double *x)
{
    double host = over(s, r, CT_RP_HOST), os = over(s, r, CT_RP_OS);
    double launch = over(s, r, CT_RP_LAUNCH) + over(s, r, CT_RP_CALL);
    double copies = over(s, r, CT_RP_H2D) + over(s, r, CT_RP_D2H) + over(s, r, CT_RP_D2D);
    x[WHY_KERNEL] = over(s, r, CT_RP_KERNEL);
    x[WHY_QUEUE] = over(s, r, CT_RP_FOREIGN) + over(s, r, CT_RP_QUEUE);
    /* Single runs that take a multiple of what this kernel takes were held up by others. */
    if (!c->one_kernel && r->hit > 0) {
        double held = MIN(r->hit, MAX(x[WHY_KERNEL], 0));
        x[WHY_QUEUE] += held;
        x[WHY_KERNEL] -= held;
    }
    x[WHY_COPY] = copies;
    /* The call that stages a copy belongs to it where more is copied. */
    if (r->n[CT_RN_COPIES] > s->n[CT_RN_COPIES] || copies > 0.02 * s->typical)
        x[WHY_COPY] += over(s, r, CT_RP_COPY_CALL);
    else
        launch += over(s, r, CT_RP_COPY_CALL);
    x[WHY_ALLOC] = over(s, r, CT_RP_ALLOC);
    x[WHY_SYNC] = over(s, r, CT_RP_SYNC);
    x[WHY_LAUNCH] = launch;
    x[WHY_IDLE] = host + os;
    x[WHY_INPUT] = over(s, r, CT_RP_INPUT);
    /* Many more waits: the pauses after them are theirs. */
    if (r->n[CT_RN_SYNCS] > 1.5 * s->n[CT_RN_SYNCS] + 2) {
        x[WHY_SYNC] += MAX(host, 0) + MAX(launch, 0);
        x[WHY_IDLE] = x[WHY_LAUNCH] = 0;
    }
}

static Why largest(const double *x)
{
    guint best = 0;
    for (guint i = 1; i < N_WHY; i++)
        if (x[i] > x[best])
            best = i;
    return best;
}

/* The first use of code and kernels is paid for in many places. What other requests lose in the
 * same place without anything new is not its price. */
static void explain_news(const CtRequestSet *s, const Common *c, const CtRequestSpan *r, double *x)
{
    double extra = wall(r) - s->typical;
    Why why = largest(x);
    gboolean news = first_time_work(s, r) && c->plain[why] < 0.7 * x[why];
    double host_side = MAX(x[WHY_LAUNCH], 0) + MAX(x[WHY_IDLE], 0) + MAX(x[WHY_ALLOC], 0) +
                       MAX(x[WHY_SYNC], 0);
    x[WHY_FIRST] = MAX(over(s, r, CT_RP_MODULE), 0);
    if (news && (r->n[CT_RN_FRESH] >= 3 || host_side + x[WHY_FIRST] > 0.3 * extra)) {
        double more = r->even >= 0 ? MIN(MAX(r->more, 0), MAX(x[WHY_KERNEL], 0)) : 0;
        x[WHY_FIRST] += host_side + more;
        x[WHY_KERNEL] -= more;
        x[WHY_LAUNCH] = x[WHY_IDLE] = x[WHY_ALLOC] = x[WHY_SYNC] = 0;
    }
}

static Judged judge(const CtRequestSet *s, const Common *c, const CtRequestSpan *r)
{
    double x[N_WHY] = {0};
    Judged j = {.r = r, .extra = wall(r) - s->typical};
    explain(s, c, r, x);
    explain_news(s, c, r, x);
    j.why = largest(x);
    j.part = x[j.why];
    return j;
}

/* A little slower is worth a word only where something definite was in the way. */
static gboolean counts(const CtRequestSet *s, const Judged *j)
{
    gboolean definite = j->why == WHY_ALLOC || j->why == WHY_COPY || j->why == WHY_QUEUE ||
                        (j->why == WHY_SYNC && j->r->n[CT_RN_SYNCS] > s->n[CT_RN_SYNCS]);
    return wall(j->r) > 1.2 * s->typical || (definite && j->part > 0.5 * j->extra);
}

/* ---- all of a kind ---- */

/* How kernels differ: run more often, all by one ratio, one of them, or a few interrupted. */
static const char *kernel_manner(const CtRequestSpan *r)
{
    double gain = MAX(r->gain, 1);
    if (r->even < 0)
        return "unknown";
    if (r->more > 0.6 * gain)
        return "more";
    if (r->even > 0.7)
        return "even";
    if (r->kernel && r->kernel_ns - r->kernel_usual > 0.6 * gain)
        return "one";
    if (r->hit > 0.6 * gain)
        return "hit";
    return "mixed";
}

static int by_extra(const void *a, const void *b)
{
    const Judged *x = a, *y = b;
    return (x->extra < y->extra) - (x->extra > y->extra);
}

typedef struct {
    const CtRequestSet *s;
    GArray *of; /* Judged, the slowest first */
    Why why;
    guint stretches; /* in which these requests come, one soon after the other */
    double extra, part;
    gboolean leads, bursts;
    guint first; /* those among the first requests */
} Group;

#define MAX_STRETCHES 4096u

/* Fixed distances of the stretches by the clock. By the number of requests they would be the
 * program's own doing, so the clock must fit better, or several requests be hit at a time. */
static gboolean on_a_clock(const double *at, const gint64 *index, guint n, double per,
                           gboolean counted)
{
    double least = G_MAXDOUBLE, most = 0, fewest = G_MAXDOUBLE, many = 0;
    for (guint i = 1; i < n; i++) {
        least = MIN(least, at[i] - at[i - 1]);
        most = MAX(most, at[i] - at[i - 1]);
        fewest = MIN(fewest, (double)(index[i] - index[i - 1]));
        many = MAX(many, (double)(index[i] - index[i - 1]));
    }
    if (n < 3 || least <= 0 || most > 1.25 * least)
        return FALSE;
    return per >= 2.5 || (counted && n >= 4 && most < 1.08 * least && many > 1.15 * fewest);
}

/* Something that comes and goes: nothing of the kind in the typical request, and most slow ones in
 * a few stretches with quiet around, or in stretches at a fixed period. In order of time still. */
static void find_stretches(Group *g)
{
    const CtRequestSet *s = g->s;
    double usual = s->part[CT_RP_FOREIGN] + s->part[CT_RP_QUEUE];
    g_autofree double *at = g_new(double, MAX_STRETCHES);
    g_autofree gint64 *index = g_new(gint64, MAX_STRETCHES);
    gint64 last = G_MININT64 / 2;
    guint n = 0;
    for (guint i = 0; i < g->of->len && n < MAX_STRETCHES; i++) {
        const CtRequestSpan *r = g_array_index(g->of, Judged, i).r;
        if (r->index - last > 4) {
            at[n] = (double)r->t0;
            index[n++] = r->index;
        }
        last = r->index;
    }
    double per = (double)g->of->len / MAX(n, 1);
    gboolean ranges = g_strcmp0(s->found_by, "range") == 0; /* else they cannot be counted */
    g->stretches = n;
    g->bursts = usual < 0.05 * s->typical && g->of->len * 2 < s->requests->len &&
                ((g->of->len >= 6 && per >= 4) || on_a_clock(at, index, n, per, ranges));
}

static json_t *detail_of(const Group *g, const char **out_manner)
{
    const CtRequestSet *s = g->s;
    const Judged *worst = &g_array_index(g->of, Judged, 0);
    const Judged *middle = &g_array_index(g->of, Judged, g->of->len / 2);
    const CtRequestSpan *r = middle->r;
    json_t *o = json_pack("{s:s, s:I, s:I, s:f, s:f, s:f, s:f, s:f, s:b, s:I}", "request",
                          s->name ? s->name : "", "count", (json_int_t)g->of->len, "n",
                          (json_int_t)s->total, "typical_ns", s->typical, "slow_ns", wall(r),
                          "worst_ns", wall(worst->r), "extra_ns", middle->extra, "share",
                          CLAMP(g->part / MAX(g->extra, 1), 0, 1), "leads", g->leads, "first",
                          (json_int_t)g->first);
    double copies = r->part[CT_RP_H2D] + r->part[CT_RP_D2H] + r->part[CT_RP_D2D];
    json_object_set_new(o, "pageable", json_boolean(r->pageable > 0.5 * MAX(copies, 1)));
    json_object_set_new(o, "one_gap", json_boolean(r->gap - s->gap > 0.5 * MAX(middle->extra, 1)));
    json_object_set_new(o, "stretches", json_integer((json_int_t)g->stretches));
    json_object_set_new(o, "bursts", json_boolean(g->bursts));
    json_object_set_new(o, "syncs", json_real(r->n[CT_RN_SYNCS]));
    json_object_set_new(o, "usual_syncs", json_real(s->n[CT_RN_SYNCS]));
    json_object_set_new(o, "allocs", json_real(r->n[CT_RN_ALLOCS]));
    json_object_set_new(o, "fresh", json_real(r->n[CT_RN_FRESH]));
    json_object_set_new(o, "kernels", json_real(r->n[CT_RN_KERNELS]));
    json_object_set_new(o, "usual_kernels", json_real(s->n[CT_RN_KERNELS]));
    *out_manner = NULL;
    for (guint i = 0; i < g->of->len && !*out_manner; i++) {
        const CtRequestSpan *k = g_array_index(g->of, Judged, i).r;
        if (k->even >= 0) {
            *out_manner = kernel_manner(k);
            json_object_set_new(o, "even", json_real(k->even));
            if (k->kernel) {
                json_object_set_new(o, "kernel", json_string(k->kernel));
                json_object_set_new(o, "kernel_ns", json_real(k->kernel_ns));
                json_object_set_new(o, "kernel_usual_ns", json_real(k->kernel_usual));
            }
        }
    }
    double queue = r->part[CT_RP_QUEUE] - s->part[CT_RP_QUEUE];
    if (g->why == WHY_QUEUE && queue > 0.5 * middle->extra)
        *out_manner = "queue";
    json_object_set_new(o, "manner", json_string(*out_manner ? *out_manner : "unknown"));
    json_object_set_new(o, "span", json_integer(worst->r->span));
    return o;
}

static const char *in_words(Why why, const char *manner, gboolean pageable)
{
    switch (why) {
    case WHY_KERNEL:
        return g_strcmp0(manner, "more") == 0   ? "more kernels run"
               : g_strcmp0(manner, "even") == 0 ? "all kernels take longer by the same ratio"
               : g_strcmp0(manner, "hit") == 0  ? "single kernels are held up"
               : g_strcmp0(manner, "one") == 0  ? "one kernel takes longer"
                                                : "kernels take longer";
    case WHY_COPY:
        return pageable ? "copies of pageable memory" : "copies";
    case WHY_SYNC:
        return "waits for the GPU";
    case WHY_ALLOC:
        return "allocation and free of memory";
    case WHY_IDLE:
        return "the GPU is idle while the host does other things";
    case WHY_LAUNCH:
        return "launches take long";
    case WHY_INPUT:
        return "they wait for their input";
    case WHY_FIRST:
        return "work of the first time (code loaded, new kernels)";
    default:
        return g_strcmp0(manner, "queue") == 0 ? "they wait in a queue"
                                               : "the GPU works for others";
    }
}

static void add_finding(CtEvidence *ev, const Group *g)
{
    const char *manner;
    json_t *o = detail_of(g, &manner);
    const Judged *worst = &g_array_index(g->of, Judged, 0);
    const Judged *middle = &g_array_index(g->of, Judged, g->of->len / 2);
    double share = CLAMP(g->part / MAX(g->extra, 1), 0, 1);
    g_autofree char *slow = ct_human_ns(wall(middle->r));
    g_autofree char *typical = ct_human_ns(g->s->typical);
    g_autofree char *text = g_strdup_printf(
        "%u of %" G_GINT64_FORMAT " requests take %s in place of %s: %s, %.0f %% of the extra time",
        g->of->len, g->s->total, slow, typical,
        in_words(g->why, manner, json_is_true(json_object_get(o, "pageable"))), 100 * share);
    char *detail = json_dumps(o, JSON_COMPACT);
    json_decref(o);
    gint64 id = ct_evidence_add_finding(ev, &(CtFindingRow){.analyzer = "slow-requests",
                                                            .kind = kinds[g->why],
                                                            .severity = CT_SEV_WARNING,
                                                            .subject = g->s->name,
                                                            .t0_ns = worst->r->t0,
                                                            .t1_ns = worst->r->t1,
                                                            .number = share,
                                                            .confidence = 0.9,
                                                            .text = text,
                                                            .detail = detail});
    free(detail);
    for (guint i = 0; i < MIN(g->of->len, 3); i++)
        ct_evidence_cite(ev, id, "span", g_array_index(g->of, Judged, i).r->span, 0);
}

static Common common_of(const CtRequestSet *s, guint from)
{
    Common c = {.one_kernel = TRUE};
    const char *kernel = NULL;
    guint told = 0;
    for (guint i = from; i < s->requests->len; i++) {
        const CtRequestSpan *r = &g_array_index(s->requests, CtRequestSpan, i);
        if (!r->slow)
            continue;
        if (!first_time_work(s, r)) {
            double x[N_WHY] = {0};
            explain(s, &c, r, x);
            for (guint w = 0; w < N_WHY; w++)
                c.plain[w] = MAX(c.plain[w], x[w]);
        }
        if (r->even < 0 || r->hit <= 0)
            continue;
        gboolean mostly = r->kernel && r->kernel_ns - r->kernel_usual > 0.6 * r->gain;
        c.one_kernel &= mostly && (!kernel || g_str_equal(kernel, r->kernel));
        kernel = r->kernel;
        told++;
    }
    c.one_kernel &= told >= 2;
    return c;
}

#define FEW 10u

static gboolean paid_once(const CtRequestSet *s, const CtRequestSpan *r)
{
    return (s->n[CT_RN_ALLOCS] < 1 && r->n[CT_RN_ALLOCS] > 0) ||
           r->n[CT_RN_MODULES] > s->n[CT_RN_MODULES];
}

/* What is allocated or loaded by the first few requests and by no later one is the price of a
 * start, also where it makes them only somewhat slower. */
static guint first_uses(const CtRequestSet *s)
{
    guint n = s->requests->len, early = 0, late = 0;
    for (guint i = 0; i < n; i++) {
        const CtRequestSpan *r = &g_array_index(s->requests, CtRequestSpan, i);
        gboolean once = paid_once(s, r);
        if (i < FEW && once && wall(r) > 1.25 * s->typical)
            early = i + 1;
        late += i >= FEW && once;
    }
    return n >= 2 * FEW && late * 100 <= n ? early : 0;
}

/* Requests that are slow from the very first on are warming up: another matter than later ones.
 * What later slow ones suffer from as well is none of it. */
static guint warm_up(const CtRequestSet *s)
{
    guint n = s->requests->len, i = 0;
    while (i < n && g_array_index(s->requests, CtRequestSpan, i).slow)
        i++;
    if (i * 2 >= n)
        return 0;
    const Common later = common_of(s, i);
    for (guint k = 0; k < i; k++) {
        const CtRequestSpan *r = &g_array_index(s->requests, CtRequestSpan, k);
        double x[N_WHY] = {0};
        explain(s, &later, r, x);
        Why why = largest(x);
        if (later.plain[why] > 0.6 * x[why] && x[why] > 0.5 * (wall(r) - s->typical))
            return k;
    }
    return i;
}

static void add_cold(CtEvidence *ev, const CtRequestSet *s, guint cold, double other)
{
    const Common none = {0};
    Group g = {.s = s, .of = g_array_new(FALSE, FALSE, sizeof(Judged)), .why = WHY_FIRST};
    guint uses = first_uses(s);
    for (guint i = 0; i < MAX(cold, uses); i++) {
        Judged j = judge(s, &none, &g_array_index(s->requests, CtRequestSpan, i));
        if (i >= cold && (!paid_once(s, j.r) || wall(j.r) < 1.25 * s->typical))
            continue;
        g.first++;
        g.extra += j.extra;
        j.part = j.extra;
        g.part += j.extra;
        g_array_append_val(g.of, j);
    }
    /* A few milliseconds once are what every process costs. */
    double span = s->typical * (double)MAX(s->total, 1);
    const CtRequestSpan *first = &g_array_index(s->requests, CtRequestSpan, 0);
    gboolean long_run = s->total >= 2 * FEW || g.extra > 100e6;
    gboolean matters =
        (g.extra > 0.08 * span && long_run) || wall(first) > 30 * s->typical || uses;
    g.leads = g.extra > other;
    if (g.of->len && matters) {
        g_array_sort(g.of, by_extra);
        add_finding(ev, &g);
    }
    g_array_unref(g.of);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Extra times within a third of each other, mostly. */
static gboolean alike(const Group *g)
{
    guint n = g->of->len, near = 0;
    double middle = g_array_index(g->of, Judged, n / 2).extra;
    for (guint i = 0; i < n; i++)
        near += fabs(log(MAX(g_array_index(g->of, Judged, i).extra, 1) / MAX(middle, 1))) < 0.3;
    return n >= 3 && near * 10 >= n * 7;
}

/* Each n-th request, or nearly. */
static gboolean regular(const Group *g)
{
    guint n = g->of->len;
    g_autofree double *at = g_new(double, n);
    CtPeriodResult p;
    for (guint i = 0; i < n; i++)
        at[i] = (double)g_array_index(g->of, Judged, i).r->index;
    qsort(at, n, sizeof *at, by_value);
    gboolean even = n >= 3 && at[1] - at[0] > 1;
    for (guint i = 2; i < n; i++)
        even &= at[i] - at[i - 1] == at[1] - at[0];
    return even || ct_detect_period(at, n, 0.25, 2, &p);
}

/* Single delays of all sizes by the host's hand are the weather of every machine. A reason shows in
 * delays that are alike, come regularly, or cost the run much. */
static gboolean more_than_weather(const Group *g)
{
    double ratio = wall(g_array_index(g->of, Judged, 0).r) / MAX(g->s->typical, 1);
    double lost = g->extra / (g->s->typical * (double)MAX(g->s->total, 1));
    if (g->of->len < 3)
        return ratio > 10 && lost > 0.15;
    double middle = g_array_index(g->of, Judged, g->of->len / 2).extra / MAX(g->s->typical, 1);
    return ratio > 1.3 && (regular(g) || (middle > 0.7 && alike(g)) || lost > 0.2);
}

/* What the host does while the GPU idles is known only where its calls were recorded, or where it
 * is seen to block. */
static gboolean host_is_seen(const Group *g)
{
    const CtRequestSpan *r = g_array_index(g->of, Judged, g->of->len / 2).r;
    double os = over(g->s, r, CT_RP_OS);
    return g->s->calls != 0 || g->s->n[CT_RN_KERNELS] < 1 || os > 0.5 * (wall(r) - g->s->typical);
}

static gboolean enough(const Group *g)
{
    const CtRequestSpan *worst = g_array_index(g->of, Judged, 0).r;
    double ratio = wall(worst) / MAX(g->s->typical, 1);
    gboolean host = g->why == WHY_IDLE || g->why == WHY_LAUNCH;
    if (g->part < 0.35 * g->extra || (host && !host_is_seen(g)))
        return FALSE;
    /* Between periods that were found on the GPU, idle time may be nobody's fault; each n-th time
     * the same is the program's own. */
    if (host && g_strcmp0(g->s->found_by, "range") != 0)
        return g_strcmp0(g->s->found_by, "pattern") == 0 && g->of->len >= 5 && ratio > 1.3 &&
               regular(g) && alike(g);
    if (host || (g->why == WHY_SYNC && worst->n[CT_RN_SYNCS] <= g->s->n[CT_RN_SYNCS] + 2))
        return more_than_weather(g);
    return ratio > 1.25 || (ratio > 1.07 && g->why != WHY_KERNEL && g->why != WHY_FIRST);
}

static void run_set(CtEvidence *ev, const CtRequestSet *s)
{
    Group g[N_WHY];
    guint cold = warm_up(s), lead = 0;
    double sum = 0;
    const Common common = common_of(s, cold);
    for (guint w = 0; w < N_WHY; w++)
        g[w] = (Group){.s = s, .of = g_array_new(FALSE, FALSE, sizeof(Judged)), .why = w};
    for (guint i = cold; i < s->requests->len; i++) {
        const CtRequestSpan *r = &g_array_index(s->requests, CtRequestSpan, i);
        if (!r->slow)
            continue;
        Judged j = judge(s, &common, r);
        if (!counts(s, &j))
            continue;
        g_array_append_val(g[j.why].of, j);
        g[j.why].extra += j.extra;
        g[j.why].part += j.part;
        sum += j.extra;
    }
    for (guint w = 1; w < N_WHY; w++)
        if (g[w].extra > g[lead].extra)
            lead = w;
    add_cold(ev, s, cold, sum);
    for (guint w = 0; w < N_WHY; w++) {
        find_stretches(&g[w]);
        g_array_sort(g[w].of, by_extra);
        g[w].leads = w == lead;
        if (g[w].of->len && enough(&g[w]) && g[w].extra > 0.1 * sum)
            add_finding(ev, &g[w]);
        g_array_unref(g[w].of);
    }
}

/* Where no GPU is seen at all its idleness says nothing. */
static gboolean works_on_gpu(const CtRequestSet *s)
{
    return s->n[CT_RN_KERNELS] + s->n[CT_RN_COPIES] > 0 || s->part[CT_RP_QUEUE] > 0;
}

static void run(CtEvidence *ev)
{
    g_autoptr(GPtrArray) sets = ct_request_sets(ev);
    for (guint i = 0; i < sets->len; i++) {
        const CtRequestSet *s = g_ptr_array_index(sets, i);
        if (s->typical > 0 && s->requests->len >= 5 && works_on_gpu(s))
            run_set(ev, s);
    }
}

const CtAnalyzer ct_analyzer_slow_requests = {
    .id = "slow-requests",
    .summary = "where the extra time of the slow requests of a trace went",
    .doc = "Each slow request is set against the typical one, part by part; the GPU's work counts "
           "as it is, the host's only while the GPU is idle. A slow start of the run is judged by "
           "itself.",
    .emits = "slow-request-kernel,slow-request-copy,slow-request-sync,slow-request-alloc,"
             "slow-request-idle,slow-request-launch,slow-request-first-time,slow-request-queue,"
             "slow-request-input",
    .run = run,
};
