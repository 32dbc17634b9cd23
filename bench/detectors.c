/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How often the detectors of latency series are right: made-up series with a memory (autoregressive
 * noise), heavy tails, gaps and known answers go through the analyzers as any other evidence.
 * Prints precision and recall of each detector. Arguments: series of each kind (1000), seed (1).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyze/analyzer.h"

#define T0 (G_GINT64_CONSTANT(1700000000) * 1000000000)

typedef enum { FLAT, PERIOD, DRIFT, STEP, N_KINDS } Kind;
static const char *const names[N_KINDS] = {"flat", "period", "drift", "level shift"};
static const char *const findings[N_KINDS] = {NULL, "latency-periodic", "latency-drift",
                                              "latency-level-shift"};

static double normal(GRand *r)
{
    return sqrt(-2 * log(1 - g_rand_double(r))) * cos(2 * G_PI * g_rand_double(r));
}

typedef struct {
    double base, sigma, memory, tail, tail_power, dt;
    guint n;
} World;

static World make_world(GRand *r)
{
    return (World){.base = 1e6 * exp(g_rand_double_range(r, 0, 5)),
                   .sigma = g_rand_double_range(r, 0.02, 0.12),
                   .memory = g_rand_double_range(r, 0, 0.9),
                   .tail = g_rand_double_range(r, 0, 0.02),
                   .tail_power = g_rand_double_range(r, 1.5, 3),
                   .dt = exp(g_rand_double_range(r, log(0.01), log(10))),
                   .n = (guint)g_rand_int_range(r, 400, 3000)};
}

/* Values and times of one series. */
static void fill(GRand *r, const World *w, Kind kind, double *t, double *x)
{
    double noise = 0, now = 0, part = g_rand_double_range(r, 0.2, 0.8);
    double size = log(g_rand_double_range(r, 1.25, 2)) * (g_rand_boolean(r) || kind == DRIFT ? 1 : -1);
    double period = g_rand_double_range(r, 12, w->n / 10.0), phase = period * g_rand_double(r);
    gboolean by_count = g_rand_boolean(r);
    double spike = g_rand_double_range(r, 1.6, 5), lost = g_rand_double_range(r, 0, 0.15);
    double next = by_count ? floor(phase) : phase * w->dt;
    period = by_count ? floor(period) : period * w->dt;
    for (guint i = 0; i < w->n; i++) {
        now += w->dt * g_rand_double_range(r, 0.7, 1.3);
        noise = w->memory * noise + sqrt(1 - w->memory * w->memory) * normal(r);
        double y = w->sigma * noise;
        if (g_rand_double(r) < w->tail)
            y += log(1.5 * pow(1 - g_rand_double(r), -1 / w->tail_power));
        if (kind == DRIFT)
            y += size * i / w->n;
        if (kind == STEP && i > part * w->n)
            y += size;
        if (kind == PERIOD && (by_count ? (double)i : now) >= next) {
            if (g_rand_double(r) > lost)
                y += log(spike) + 0.1 * normal(r);
            next += period;
        }
        t[i] = now;
        x[i] = w->base * exp(y);
    }
}

static gboolean has(CtEvidence *ev, const char *kind)
{
    sqlite3_stmt *st = NULL;
    gboolean found = FALSE;
    if (sqlite3_prepare_v2(ct_evidence_db(ev), "SELECT 1 FROM finding WHERE kind = ?", -1, &st,
                           NULL) != SQLITE_OK)
        return FALSE;
    sqlite3_bind_text(st, 1, kind, -1, SQLITE_STATIC);
    found = sqlite3_step(st) == SQLITE_ROW;
    sqlite3_finalize(st);
    return found;
}

int main(int argc, char **argv)
{
    guint rounds = argc > 1 ? (guint)CLAMP(atoi(argv[1]), 1, 100000) : 1000;
    GRand *r = g_rand_new_with_seed(argc > 2 ? (guint32)atoi(argv[2]) : 1);
    guint found[N_KINDS][N_KINDS] = {{0}};
    for (guint kind = 0; kind < N_KINDS; kind++) {
        for (guint i = 0; i < rounds; i++) {
            World w = make_world(r);
            g_autofree double *t = g_new(double, w.n);
            g_autofree double *x = g_new(double, w.n);
            fill(r, &w, kind, t, x);
            g_autoptr(CtEvidence) ev = ct_evidence_new(NULL);
            gint64 source = ct_evidence_add_source(ev, &(CtSourceRow){.path = "made-up"});
            gint64 section = ct_evidence_add_section(
                ev, &(CtSectionRow){.source = source, .first_line = 1, .clock = "wall"});
            CtSeries *s = ct_evidence_series(ev, section, NULL, "latency", "ns");
            for (guint k = 0; k < w.n; k++)
                ct_series_add(s, T0 + (gint64)(t[k] * 1e9), x[k], k + 1);
            ct_analyze(ev);
            for (guint f = 1; f < N_KINDS; f++)
                found[kind][f] += has(ev, findings[f]);
        }
    }
    printf("| series \\ found | period | drift | level shift |\n| --- | --- | --- | --- |\n");
    for (guint kind = 0; kind < N_KINDS; kind++)
        printf("| %s | %u | %u | %u |\n", names[kind], found[kind][PERIOD], found[kind][DRIFT],
               found[kind][STEP]);
    int bad = 0;
    printf("\n| detector | precision | recall |\n| --- | --- | --- |\n");
    for (guint f = 1; f < N_KINDS; f++) {
        guint all = 0;
        for (guint kind = 0; kind < N_KINDS; kind++)
            all += found[kind][f];
        double precision = all ? (double)found[f][f] / all : 0;
        double recall = (double)found[f][f] / rounds;
        printf("| %s | %.3f | %.3f |\n", names[f], precision, recall);
        bad += precision < 0.95 || recall < 0.95;
    }
    g_rand_free(r);
    return bad != 0;
}
