/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What device telemetry shows by itself: clocks that fall under load, power at its limit, heat near
 * a limit, work on the GPU while the application asks for none.
 */
#include <math.h>
#include <string.h>

#include "analyze/analyzer.h"
#include "analyze/clock.h"
#include "analyze/stats.h"

#define BUSY 0.7

static gint find_series(CtEvidence *ev, gint64 section, const char *subject, const char *metric)
{
    for (guint i = 0; i < ct_evidence_n_series(ev); i++) {
        CtSeriesView v = ct_evidence_series_at(ev, i);
        if (v.section == section && g_str_equal(v.metric, metric) &&
            g_strcmp0(v.subject, subject) == 0)
            return (gint)i;
    }
    return -1;
}

/* A limit that some source states for the GPU; 0 when none does. Sources name a GPU in different
 * ways, so with one GPU in the evidence any statement is taken. */
static double stated(CtEvidence *ev, const char *key, const char *subject)
{
    sqlite3_stmt *st = NULL;
    double value = 0;
    if (sqlite3_prepare_v2(
            ct_evidence_db(ev),
            "SELECT max(number) FROM fact WHERE key = ?1 AND status = 'ok' AND (subject IS ?2 OR "
            "(SELECT count(DISTINCT subject) FROM fact WHERE key = ?1) = 1)",
            -1, &st, NULL) != SQLITE_OK)
        return 0;
    sqlite3_bind_text(st, 1, key, -1, SQLITE_STATIC);
    sqlite3_bind_text(st, 2, subject, -1, SQLITE_STATIC);
    if (sqlite3_step(st) == SQLITE_ROW)
        value = sqlite3_column_double(st, 0);
    sqlite3_finalize(st);
    return value;
}

static gint64 finding(CtEvidence *ev, const CtSeriesView *v, const char *kind, double number,
                      const char *text, const char *detail, guint line)
{
    gint64 id = ct_evidence_add_finding(ev, &(CtFindingRow){
                                                .analyzer = "telemetry",
                                                .kind = kind,
                                                .severity = CT_SEV_WARNING,
                                                .subject = v->subject,
                                                .number = number,
                                                .confidence = 0.9,
                                                .text = text,
                                                .detail = detail,
                                            });
    ct_evidence_cite(ev, id, "series", v->id, line);
    return id;
}

/* Clock and utilisation come from the same lines, so they share their index. */
static void clock_drop(CtEvidence *ev, const CtSeriesView *clock, const CtSeriesView *util)
{
    gsize n = MIN(clock->len, util->len), busy = 0;
    if (n < 5)
        return;
    g_autofree double *x = g_new(double, n);
    gsize lowest = 0;
    for (gsize i = 0; i < n; i++) {
        /* Only load that lasts: the first busy sample may still show the idle clock. */
        if (util->value[i] < BUSY || clock->value[i] <= 0 || i < 2 || util->value[i - 1] < BUSY ||
            util->value[i - 2] < BUSY)
            continue;
        if (!busy || clock->value[i] < clock->value[lowest])
            lowest = i;
        x[busy++] = clock->value[i];
    }
    double top = MAX(ct_quantile(clock->value, n, 1.0),
                     stated(ev, "gpu.clock.sm.max", clock->subject));
    double typical = ct_median(x, busy);
    if (busy < 5 || top <= 0 || typical > 0.88 * top)
        return;
    g_autofree char *text = g_strdup_printf(
        "SM clock is %.0f MHz while busy, %.0f %% of its peak %.0f MHz", typical / 1e6,
        100 * typical / top, top / 1e6);
    g_autofree char *detail = g_strdup_printf(
        "{\"clock_hz\":%.0f,\"peak_hz\":%.0f,\"busy\":%" G_GSIZE_FORMAT "}", typical, top, busy);
    finding(ev, clock, "clock-drop", typical / top, text, detail, clock->line[lowest]);
}

static void power_at_limit(CtEvidence *ev, const CtSeriesView *power, const CtSeriesView *util)
{
    double limit = stated(ev, "gpu.power.limit.current", power->subject);
    if (!(limit > 0))
        limit = stated(ev, "gpu.power.limit.requested", power->subject);
    gsize n = util ? MIN(power->len, util->len) : power->len, busy = 0, at = 0, where = 0;
    double peak = ct_quantile(power->value, n, 1.0);
    gint v = find_series(ev, power->section, power->subject, "gpu.power-violation");
    CtSeriesView viol = v >= 0 ? ct_evidence_series_at(ev, (guint)v) : (CtSeriesView){0};
    /* Without a stated limit: the highest power seen, and only where the driver itself reports
     * a power violation in the same sample. */
    double bar = limit > 0 ? 0.96 * limit : 0.96 * peak;
    for (gsize i = 0; i < n; i++) {
        if (util && util->value[i] < BUSY)
            continue;
        busy++;
        gboolean violates = i < viol.len && viol.value[i] > 0.5;
        if (power->value[i] >= bar && (limit > 0 || violates)) {
            at++;
            where = i;
        }
    }
    if (busy < 5 || at * 3 < busy)
        return;
    double share = (double)at / (double)busy;
    g_autofree char *text = limit > 0
        ? g_strdup_printf("power stands at its limit of %.0f W in %.0f %% of the busy samples",
                          limit, 100 * share)
        : g_strdup_printf("power stands at %.0f W with the power limit in force in %.0f %% of the "
                          "busy samples", peak, 100 * share);
    g_autofree char *detail = g_strdup_printf("{\"limit_w\":%.1f,\"peak_w\":%.1f,\"busy\":%"
                                              G_GSIZE_FORMAT "}", limit, peak, busy);
    finding(ev, power, "power-at-limit", share, text, detail, power->line[where]);
}

/* The driver says itself why clocks are low: bits of the event reasons, and what the clock did
 * while each was set. A bit without a lower clock is of no consequence. */
static void clock_reasons(CtEvidence *ev, const CtSeriesView *reasons, const CtSeriesView *clock)
{
    static const struct {
        guint bit;
        const char *name;
    } kinds[] = {{0x4, "power-cap"}, {0x20, "sw-thermal"}, {0x40, "hw-thermal"},
                 {0x80, "power-brake"}};
    gsize n = MIN(reasons->len, clock->len);
    double top = MAX(ct_quantile(clock->value, n, 1.0),
                     stated(ev, "gpu.clock.sm.max", clock->subject));
    g_autofree double *x = g_new(double, n + 1);
    for (gsize k = 0; k < G_N_ELEMENTS(kinds) && top > 0; k++) {
        gsize set = 0, lowest = 0;
        for (gsize i = 0; i < n; i++) {
            if (!((guint64)reasons->value[i] & kinds[k].bit) || clock->value[i] <= 0)
                continue;
            if (!set || clock->value[i] < clock->value[lowest])
                lowest = i;
            x[set++] = clock->value[i];
        }
        double low = ct_median(x, set);
        if (set < 8 || low > 0.9 * top)
            continue;
        g_autofree char *text = g_strdup_printf(
            "the driver lowers the SM clock (%s) in %" G_GSIZE_FORMAT
            " samples, to %.0f of %.0f MHz",
            kinds[k].name, set, low / 1e6, top / 1e6);
        g_autofree char *detail = g_strdup_printf(
            "{\"reason\":\"%s\",\"samples\":%" G_GSIZE_FORMAT
            ",\"clock_hz\":%.0f,\"peak_hz\":%.0f}",
            kinds[k].name, set, low, top);
        finding(ev, clock, "clock-limited", low / top, text, detail, clock->line[lowest]);
    }
}

static void heat(CtEvidence *ev, const CtSeriesView *temp)
{
    double limit = stated(ev, "gpu.temperature.slowdown", temp->subject);
    gboolean board = g_str_equal(temp->metric, "board.temperature");
    double bar = limit > 0 ? limit - 3 : board ? 95 : 88;
    gsize hot = 0, where = 0;
    for (gsize i = 0; i < temp->len; i++)
        if (temp->value[i] >= bar) {
            hot++;
            where = i;
        }
    if (hot < 3 && hot * 5 < temp->len)
        return;
    if (hot == 0)
        return;
    double peak = ct_quantile(temp->value, temp->len, 1.0);
    g_autofree char *text = g_strdup_printf("%s reaches %.0f C (bar %.0f C) in %" G_GSIZE_FORMAT
                                            " samples", temp->metric, peak, bar, hot);
    g_autofree char *detail = g_strdup_printf("{\"peak\":%.1f,\"limit\":%.1f}", peak, limit);
    finding(ev, temp, "temperature-high", peak, text, detail, temp->line[where]);
}

/* The GPU works in a pause of the application's requests: somebody else's work. */
static void busy_without_requests(CtEvidence *ev, const CtColumns *util, const CtColumns *latency)
{
    if (!util->wall || !latency->wall || latency->n < 20 || util->n < 3)
        return;
    double usual = ct_columns_interval(latency), step = ct_columns_interval(util);
    guint samples = 0, busy = 0;
    gsize where = 0;
    for (gsize i = 1, u = 0; i < latency->n; i++) {
        /* A pause must hold whole telemetry intervals; one more at each end belongs to the load. */
        if (latency->t[i] - latency->t[i - 1] < MAX(20 * usual, 4 * step))
            continue;
        double from = latency->t[i - 1] + 1.5 * step, to = latency->t[i] - 0.5 * step;
        while (u < util->n && util->t[u] < from)
            u++;
        for (; u < util->n && util->t[u] <= to; u++) {
            samples++;
            if (util->x[u] > 0.3) {
                busy++;
                where = u;
            }
        }
    }
    if (samples < 3 || busy * 2 < samples)
        return;
    g_autofree char *text = g_strdup_printf(
        "the GPU is busy in %u of %u samples in which this application sends no requests", busy,
        samples);
    g_autofree char *detail = g_strdup_printf("{\"samples\":%u,\"busy\":%u}", samples, busy);
    finding(ev, &util->view, "gpu-busy-without-requests", (double)busy / samples, text, detail,
            util->line[where]);
}

static void against_latency(CtEvidence *ev, guint util_index)
{
    CtColumns util = {0};
    ct_columns_read(ev, util_index, &util);
    for (guint i = 0; util.wall && i < ct_evidence_n_series(ev); i++) {
        if (!g_str_equal(ct_evidence_series_at(ev, i).metric, "latency"))
            continue;
        CtColumns latency = {0};
        ct_columns_read(ev, i, &latency);
        busy_without_requests(ev, &util, &latency);
        ct_columns_clear(&latency);
    }
    ct_columns_clear(&util);
}

static void run(CtEvidence *ev)
{
    guint n = ct_evidence_n_series(ev);
    for (guint i = 0; i < n; i++) {
        CtSeriesView v = ct_evidence_series_at(ev, i);
        gint u = find_series(ev, v.section, v.subject, "gpu.util");
        CtSeriesView util = u >= 0 ? ct_evidence_series_at(ev, (guint)u) : (CtSeriesView){0};
        if (v.len == 0)
            continue;
        if (g_str_equal(v.metric, "gpu.clock.sm") && u >= 0)
            clock_drop(ev, &v, &util);
        else if (g_str_equal(v.metric, "gpu.clock-reason")) {
            gint c = find_series(ev, v.section, v.subject, "gpu.clock.sm");
            CtSeriesView clock = c >= 0 ? ct_evidence_series_at(ev, (guint)c) : (CtSeriesView){0};
            if (clock.len)
                clock_reasons(ev, &v, &clock);
        } else if (g_str_equal(v.metric, "gpu.power"))
            power_at_limit(ev, &v, u >= 0 ? &util : NULL);
        else if (g_str_equal(v.metric, "gpu.temperature") ||
                 g_str_equal(v.metric, "board.temperature"))
            heat(ev, &v);
        else if (g_str_equal(v.metric, "gpu.util"))
            against_latency(ev, i);
    }
}

const CtAnalyzer ct_analyzer_telemetry = {
    .id = "telemetry",
    .summary = "clocks under load, power and temperature at their limits, foreign work",
    .doc = "Clock and power are judged only in samples in which the GPU is busy.",
    .emits = "clock-drop,clock-limited,power-at-limit,temperature-high,gpu-busy-without-requests",
    .run = run,
};
