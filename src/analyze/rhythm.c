/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When slow stretches come: at a fixed period, each n-th request, or at a fixed time of day.
 * Reads the spans that the latency analyzer left.
 */
#include <math.h>
#include <string.h>

#include "analyze/analyzer.h"
#include "analyze/clock.h"
#include "analyze/detect.h"
#include "analyze/stats.h"

#define DAY_S 86400.0

typedef struct {
    GArray *at;  /* double: begin of each slow stretch, seconds or index */
    GArray *index; /* double: the same as number of the sample */
    GArray *span; /* gint64 ids */
    gint64 series;
    gboolean timed;
    char *metric;
} Stretches;

static void stretches_free(gpointer data)
{
    Stretches *s = data;
    g_array_unref(s->at);
    g_array_unref(s->index);
    g_array_unref(s->span);
    g_free(s->metric);
    g_free(s);
}

/* All slow stretches, by series. */
static GPtrArray *read_stretches(CtEvidence *ev)
{
    GPtrArray *all = g_ptr_array_new_with_free_func(stretches_free);
    sqlite3_stmt *st = NULL;
    if (sqlite3_prepare_v2(ct_evidence_db(ev),
                           "SELECT id, name, t0_ns, json_extract(detail, '$.series'), "
                           "json_extract(detail, '$.from'), json_extract(detail, '$.timed') "
                           "FROM span WHERE track = 'slow' ORDER BY 4, id",
                           -1, &st, NULL) != SQLITE_OK)
        return all;
    Stretches *s = NULL;
    while (sqlite3_step(st) == SQLITE_ROW) {
        gint64 series = sqlite3_column_int64(st, 3);
        if (!s || s->series != series) {
            s = g_new0(Stretches, 1);
            s->at = g_array_new(FALSE, FALSE, sizeof(double));
            s->index = g_array_new(FALSE, FALSE, sizeof(double));
            s->span = g_array_new(FALSE, FALSE, sizeof(gint64));
            s->series = series;
            s->timed = sqlite3_column_int(st, 5);
            s->metric = g_strdup((const char *)sqlite3_column_text(st, 1));
            g_ptr_array_add(all, s);
        }
        double at = s->timed ? (double)sqlite3_column_int64(st, 2) / 1e9
                             : sqlite3_column_double(st, 4);
        double index = sqlite3_column_double(st, 4);
        gint64 id = sqlite3_column_int64(st, 0);
        g_array_append_val(s->at, at);
        g_array_append_val(s->index, index);
        g_array_append_val(s->span, id);
    }
    sqlite3_finalize(st);
    return all;
}

static void cite_stretches(CtEvidence *ev, gint64 finding, const Stretches *s)
{
    for (guint i = 0; i < MIN(s->span->len, 5); i++)
        ct_evidence_cite(ev, finding, "span", g_array_index(s->span, gint64, i), 0);
}

/* At least two days, all stretches within a few hours of the clock, and every day that the series
 * covers at that hour has one. */
static gboolean time_of_day(CtEvidence *ev, const Stretches *s, const CtColumns *c)
{
    const double *at = (const double *)(void *)s->at->data;
    guint n = s->at->len;
    if (!c->wall || c->t[c->n - 1] - c->t[0] < 1.2 * DAY_S)
        return FALSE;
    /* Centre on the circle of the day. */
    double sx = 0, sy = 0;
    for (guint i = 0; i < n; i++) {
        double a = 2 * G_PI * fmod(at[i], DAY_S) / DAY_S;
        sx += cos(a);
        sy += sin(a);
    }
    double centre = atan2(sy, sx) / (2 * G_PI) * DAY_S;
    double from = DAY_S, to = -DAY_S;
    g_autoptr(GHashTable) days = g_hash_table_new(NULL, NULL);
    for (guint i = 0; i < n; i++) {
        double off = remainder(at[i] - centre, DAY_S);
        from = MIN(from, off);
        to = MAX(to, off);
        gint64 day = (gint64)floor((at[i] - centre + DAY_S / 2) / DAY_S);
        g_hash_table_add(days, GINT_TO_POINTER((gint)day + 1));
    }
    guint with = g_hash_table_size(days);
    guint covered = 0;
    for (double d = floor(c->t[0] / DAY_S) * DAY_S + centre - DAY_S; d < c->t[c->n - 1];
         d += DAY_S)
        covered += d + from >= c->t[0] && d + to <= c->t[c->n - 1];
    double width = to - from;
    if (with < 2 || width > DAY_S / 6 || with + 1 < covered)
        return FALSE;

    double begin = fmod(centre + from + 2 * DAY_S, DAY_S), end = fmod(centre + to + 2 * DAY_S, DAY_S);
    g_autofree char *text = g_strdup_printf(
        "slow only between %02d:%02d and %02d:%02d, on %u days", (int)(begin / 3600),
        (int)fmod(begin / 60, 60), (int)(end / 3600), (int)fmod(end / 60, 60), with);
    g_autofree char *detail =
        g_strdup_printf("{\"metric\":\"%s\",\"from_s\":%.0f,\"to_s\":%.0f,\"days\":%u,"
                        "\"covered_days\":%u}", s->metric, begin, end, with, covered);
    /* So many stretches in so small a part of the day by accident: */
    double chance = pow(MAX(width, 60) / DAY_S, with - 1);
    gint64 id = ct_evidence_add_finding(ev, &(CtFindingRow){
                                                .analyzer = "rhythm",
                                                .kind = "latency-time-of-day",
                                                .severity = CT_SEV_WARNING,
                                                .subject = s->metric,
                                                .t0_ns = (gint64)(at[0] * 1e9),
                                                .t1_ns = (gint64)(at[n - 1] * 1e9),
                                                .number = chance,
                                                .confidence = 1 - MIN(chance, 1),
                                                .text = text,
                                                .detail = detail,
                                            });
    cite_stretches(ev, id, s);
    return TRUE;
}

typedef struct {
    const double *at, *index; /* seconds (or the index again), number of the sample */
    guint n;
    gboolean timed;
} Events;

/* By the clock or by the number of requests, whichever is truer: what a program does in each n-th
 * request drifts against the clock, a timer's work against the count. With even distances of the
 * requests both hold, and the clock tells more. */
static gboolean best_period(const Events *e, const CtColumns *c, CtPeriodResult *out,
                            double *out_each, gboolean *out_timed)
{
    CtPeriodResult clock = {0}, count = {0};
    double step = e->timed ? ct_columns_interval(c) : 1;
    gboolean by_clock = e->timed && step > 0 &&
                        ct_detect_period(e->at, e->n, step, 6 * step, &clock);
    gboolean by_count = ct_detect_period(e->index, e->n, 1, 6, &count);
    *out_each = by_count ? count.period : 0;
    *out_timed = by_clock && (!by_count || clock.n * 20 >= count.n * 19);
    *out = *out_timed ? clock : count;
    return by_clock || by_count;
}

static gboolean report(CtEvidence *ev, const Stretches *s, const Events *e, const CtColumns *c)
{
    CtPeriodResult found, *p = &found;
    double each;
    gboolean timed;
    if (e->n < 5 || !best_period(e, c, p, &each, &timed))
        return FALSE;
    double step = s->timed ? ct_columns_interval(c) : 1;
    const double *at = e->at;
    guint n = (guint)p->n;
    g_autofree char *human =
        timed ? ct_human_ns(p->period * 1e9) : g_strdup_printf("%.0f requests", p->period);
    g_autofree char *text = g_strdup_printf("slow stretches come every %s (%u times)", human, n);
    g_autofree char *detail = g_strdup_printf(
        "{\"metric\":\"%s\",\"count\":%u,\"fit\":%.2f,\"kept\":%.2f,\"chance\":%.3g,\"timed\":%d,"
        "\"each_nth\":%.0f}",
        s->metric, n, p->on_time, p->kept, p->chance, timed, each);
    /* The number is in ns of the series' own clock where it has one. */
    double number = timed ? p->period * 1e9 : s->timed ? p->period * step * 1e9 : p->period;
    gint64 id = ct_evidence_add_finding(ev, &(CtFindingRow){
                                                .analyzer = "rhythm",
                                                .kind = "latency-periodic",
                                                .severity = CT_SEV_WARNING,
                                                .subject = s->metric,
                                                .t0_ns = s->timed ? (gint64)(at[0] * 1e9) : 0,
                                                .t1_ns = s->timed ? (gint64)(at[e->n - 1] * 1e9) : 0,
                                                .number = number,
                                                .confidence = 1 - p->chance,
                                                .text = text,
                                                .detail = detail,
                                            });
    cite_stretches(ev, id, s);
    return TRUE;
}

#define MAX_SPIKES 1500
#define MAX_THOROUGH 40u /* series of which spikes are looked at too */

/* What comes at a period is alike, and other spikes are not: those of about one height are looked
 * at by themselves. */
static gboolean period_of_height(CtEvidence *ev, const Stretches *s, const CtColumns *c,
                                 const gsize *where, const double *height, gsize n, double low)
{
    g_autofree double *at = g_new(double, n);
    g_autofree double *index = g_new(double, n);
    guint m = 0;
    for (gsize i = 0; i < n; i++) {
        if (height[i] < low || (low > 0 && height[i] > low + 0.5))
            continue;
        at[m] = c->timed ? c->t[where[i]] : (double)where[i];
        index[m++] = (double)where[i];
    }
    const Events e = {at, index, m, s->timed};
    return report(ev, s, &e, c);
}

/* Slow stretches first; where they show no period, what stands out from its neighbours may. */
static void period(CtEvidence *ev, const Stretches *s, const CtColumns *c, gboolean thorough)
{
    const Events slow = {(const double *)(void *)s->at->data,
                         (const double *)(void *)s->index->data, s->at->len, s->timed};
    if (report(ev, s, &slow, c) || !thorough)
        return;
    g_autofree gsize *where = g_new(gsize, MAX_SPIKES);
    g_autofree double *height = g_new(double, MAX_SPIKES);
    gsize n = ct_detect_spikes(c->x, c->n, MAX_SPIKES, where, height);
    if (n < 5 || period_of_height(ev, s, c, where, height, n, 0))
        return;
    for (double low = 0.1; low < 2.5; low += 0.2)
        if (period_of_height(ev, s, c, where, height, n, low))
            return;
}

static Stretches *no_stretches(const CtColumns *c)
{
    Stretches *s = g_new0(Stretches, 1);
    s->at = g_array_new(FALSE, FALSE, sizeof(double));
    s->index = g_array_new(FALSE, FALSE, sizeof(double));
    s->span = g_array_new(FALSE, FALSE, sizeof(gint64));
    s->series = c->view.id;
    s->timed = c->timed;
    s->metric = g_strdup(c->view.metric);
    return s;
}

static void run(CtEvidence *ev)
{
    g_autoptr(GPtrArray) all = read_stretches(ev);
    guint thorough = 0;
    for (guint i = 0; i < ct_evidence_n_series(ev); i++) {
        CtSeriesView v = ct_evidence_series_at(ev, i);
        if (!g_str_equal(v.metric, "latency") && !g_str_has_prefix(v.metric, "latency."))
            continue;
        Stretches *s = NULL;
        CtColumns c = {0};
        ct_columns_read(ev, i, &c);
        for (guint k = 0; k < all->len && !s; k++) {
            Stretches *x = g_ptr_array_index(all, k);
            s = x->series == v.id ? x : NULL;
        }
        if (!s) {
            s = no_stretches(&c);
            g_ptr_array_add(all, s);
        }
        if (c.n >= 20 && !(s->at->len >= 2 && s->timed && time_of_day(ev, s, &c)))
            period(ev, s, &c, thorough++ < MAX_THOROUGH);
        ct_columns_clear(&c);
    }
}

const CtAnalyzer ct_analyzer_rhythm = {
    .id = "rhythm",
    .summary = "slow stretches at a fixed period or time of day",
    .doc = "A period needs five stretches, a time of day two days. The chance of the pattern by "
           "accident is stored with it.",
    .emits = "latency-periodic,latency-time-of-day",
    .run = run,
};
