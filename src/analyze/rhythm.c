/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When slow stretches come: at a fixed period, each n-th request, or at a fixed time of day.
 * Reads the spans that the latency analyzer left.
 */
#include <math.h>
#include <string.h>

#include "analyze/analyzer.h"
#include "analyze/clock.h"
#include "analyze/stats.h"

#define DAY_S 86400.0

typedef struct {
    GArray *at;  /* double: begin of each slow stretch, seconds or index */
    GArray *span; /* gint64 ids */
    gint64 series;
    gboolean timed;
    char *metric;
} Stretches;

static void stretches_free(gpointer data)
{
    Stretches *s = data;
    g_array_unref(s->at);
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
            s->span = g_array_new(FALSE, FALSE, sizeof(gint64));
            s->series = series;
            s->timed = sqlite3_column_int(st, 5);
            s->metric = g_strdup((const char *)sqlite3_column_text(st, 1));
            g_ptr_array_add(all, s);
        }
        double at = s->timed ? (double)sqlite3_column_int64(st, 2) / 1e9
                             : sqlite3_column_double(st, 4);
        gint64 id = sqlite3_column_int64(st, 0);
        g_array_append_val(s->at, at);
        g_array_append_val(s->span, id);
    }
    sqlite3_finalize(st);
    return all;
}

static gboolean columns_of(CtEvidence *ev, gint64 series, CtColumns *out)
{
    for (guint i = 0; i < ct_evidence_n_series(ev); i++)
        if (ct_evidence_series_at(ev, i).id == series) {
            ct_columns_read(ev, i, out);
            return TRUE;
        }
    return FALSE;
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

/* Share of distances that are a whole multiple of `period`, within an eighth of it. */
static double fit(const double *at, guint n, double period)
{
    guint good = 0;
    for (guint i = 1; i < n; i++) {
        double d = (at[i] - at[i - 1]) / period;
        good += d > 0.5 && fabs(d - round(d)) < 0.125 && round(d) <= 3;
    }
    return (double)good / (n - 1);
}

static void period(CtEvidence *ev, const Stretches *s, const CtColumns *c)
{
    const double *at = (const double *)(void *)s->at->data;
    guint n = s->at->len;
    if (n < 5)
        return;
    g_autofree double *gap = g_new(double, n);
    for (guint i = 1; i < n; i++)
        gap[i - 1] = at[i] - at[i - 1];
    double p = ct_median(gap, n - 1);
    double step = s->timed ? ct_columns_interval(c) : 1;
    double good = p > 4 * step ? fit(at, n, p) : 0;
    if (good < 0.8)
        return;
    double chance = ct_binomial_tail(n - 1, (guint)lround(good * (n - 1)), 0.25);
    if (chance > 0.01)
        return;
    g_autofree char *human = s->timed ? ct_human_ns(p * 1e9) : g_strdup_printf("%.0f requests", p);
    g_autofree char *text = g_strdup_printf("slow stretches come every %s (%u times)", human, n);
    g_autofree char *detail =
        g_strdup_printf("{\"metric\":\"%s\",\"count\":%u,\"fit\":%.2f,\"chance\":%.3g,\"timed\":%d}",
                        s->metric, n, good, chance, s->timed);
    gint64 id = ct_evidence_add_finding(ev, &(CtFindingRow){
                                                .analyzer = "rhythm",
                                                .kind = "latency-periodic",
                                                .severity = CT_SEV_WARNING,
                                                .subject = s->metric,
                                                .t0_ns = s->timed ? (gint64)(at[0] * 1e9) : 0,
                                                .t1_ns = s->timed ? (gint64)(at[n - 1] * 1e9) : 0,
                                                .number = s->timed ? p * 1e9 : p,
                                                .confidence = 1 - chance,
                                                .text = text,
                                                .detail = detail,
                                            });
    cite_stretches(ev, id, s);
}

static void run(CtEvidence *ev)
{
    g_autoptr(GPtrArray) all = read_stretches(ev);
    for (guint i = 0; i < all->len; i++) {
        const Stretches *s = g_ptr_array_index(all, i);
        CtColumns c = {0};
        if (s->at->len >= 2 && columns_of(ev, s->series, &c) &&
            !(s->timed && time_of_day(ev, s, &c)))
            period(ev, s, &c);
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
