/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trace whose requests are all alike and all slower than they need be: what the typical request
 * spends its time on, where that is not the GPU's work.
 */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analyzer.h"
#include "analyze/clock.h"
#include "analyze/request-spans.h"

/* The mean kernel of the typical request; that of the run has the rest of it in it too. */
static double own_mean(const CtRequestSet *s)
{
    return s->own > 0 && s->n[CT_RN_KERNELS] > 0 ? s->own / s->n[CT_RN_KERNELS] : s->kernel_mean;
}

/* Slow requests with a reason of their own matter more than what all of them have in common. */
static gboolean has_reason(CtEvidence *ev, const CtRequestSet *s)
{
    sqlite3_stmt *st = NULL;
    gboolean found = FALSE;
    if (sqlite3_prepare_v2(ct_evidence_db(ev),
                           "SELECT 1 FROM finding d WHERE "
                           "d.analyzer = 'slow-requests' AND d.subject IS ?1",
                           -1, &st, NULL) != SQLITE_OK)
        return FALSE;
    sqlite3_bind_text(st, 1, s->name, -1, SQLITE_STATIC);
    found = sqlite3_step(st) == SQLITE_ROW;
    sqlite3_finalize(st);
    return found;
}

static void add(CtEvidence *ev, const CtRequestSet *s, const char *kind, double share,
                const char *text)
{
    double wall = s->typical;
    json_t *o = json_pack("{s:s, s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:b, s:f}", "request",
                          s->name ? s->name : "", "n", (json_int_t)s->total, "typical_ns", wall,
                          "share", share, "kernels", s->n[CT_RN_KERNELS], "syncs",
                          s->n[CT_RN_SYNCS], "allocs", s->n[CT_RN_ALLOCS], "kernel_mean_ns",
                          own_mean(s), "busy", s->part[CT_RP_KERNEL] / wall, "rate",
                          s->pageable_rate, "outliers", has_reason(ev, s), "tiny",
                          s->n[CT_RN_TINY] / MAX(s->n[CT_RN_KERNELS], 1));
    char *detail = json_dumps(o, JSON_COMPACT);
    json_decref(o);
    const CtRequestSpan *middle = &g_array_index(s->requests, CtRequestSpan, s->requests->len / 2);
    gint64 id = ct_evidence_add_finding(ev, &(CtFindingRow){.analyzer = "whole-run",
                                                            .kind = kind,
                                                            .severity = CT_SEV_WARNING,
                                                            .subject = s->name,
                                                            .t0_ns = middle->t0,
                                                            .t1_ns = middle->t1,
                                                            .number = share,
                                                            .confidence = 0.9,
                                                            .text = text,
                                                            .detail = detail});
    free(detail);
    ct_evidence_cite(ev, id, "span", middle->span, 0);
}

static void idle_gpu(CtEvidence *ev, const CtRequestSet *s, double wall)
{
    /* Periods that were found on the GPU may end with the wait for the next request. */
    gboolean ranges = g_strcmp0(s->found_by, "range") == 0;
    /* Where input is awaited that is the matter, and no launch. */
    if (s->part[CT_RP_INPUT] + s->part[CT_RP_QUEUE] > 0.3 * wall)
        return;
    double host = s->part[CT_RP_HOST] + s->part[CT_RP_OS];
    double calls = s->part[CT_RP_LAUNCH] + s->part[CT_RP_CALL] + s->part[CT_RP_COPY_CALL];
    double idle = host + calls + s->part[CT_RP_SYNC];
    double kernels = s->n[CT_RN_KERNELS];
    gboolean scattered = s->gap < 0.4 * idle;
    /* That the host makes no call can be said only where calls were recorded. */
    gboolean seen = s->calls != 0 || s->part[CT_RP_OS] > 0.5 * idle;
    double mean = own_mean(s);
    g_autofree char *each = ct_human_ns(mean);
    /* Waits between the kernels, not one at the end. */
    if (s->n[CT_RN_SYNCS] >= 6 && s->n[CT_RN_SYNCS] * 40 >= kernels && idle > 0.08 * wall) {
        g_autofree char *text = g_strdup_printf(
            "%.0f waits for the GPU in a request of %.0f kernels; the GPU is idle for %.0f %% of "
            "it", s->n[CT_RN_SYNCS], kernels, 100 * idle / wall);
        add(ev, s, "run-sync-bound", idle / wall, text);
    } else if (scattered && ranges && seen && kernels > 0 && idle > 0.3 * wall &&
               idle > 100e3 * kernels) {
        /* Far more than a launch costs, also under a profiler. */
        g_autofree char *gap = ct_human_ns(idle / kernels);
        g_autofree char *text = g_strdup_printf(
            "the GPU is idle for %.0f %% of a typical request, %s for each of %.0f kernels: the "
            "host does other work between the launches", 100 * idle / wall, gap, kernels);
        add(ev, s, "run-gpu-idle", idle / wall, text);
    } else if (scattered && kernels >= 20 && idle > 0.4 * wall && mean < 30e3) {
        g_autofree char *text = g_strdup_printf(
            "%.0f kernels of %s a request, and the GPU is idle between them for %.0f %% of it",
            kernels, each, 100 * idle / wall);
        add(ev, s, "run-launch-bound", idle / wall, text);
    } else if (!scattered && idle > 0.3 * wall && kernels > 0 && ranges && seen) {
        g_autofree char *gap = ct_human_ns(s->gap);
        g_autofree char *text = g_strdup_printf(
            "the GPU is idle for %.0f %% of a typical request, %s of it at a stretch, while the "
            "host makes no call", 100 * idle / wall, gap);
        add(ev, s, "run-gpu-idle", idle / wall, text);
    }
}

static void copies(CtEvidence *ev, const CtRequestSet *s, double wall)
{
    double copy = s->part[CT_RP_H2D] + s->part[CT_RP_D2H];
    double pageable = s->pageable + (s->pageable > 0 ? s->part[CT_RP_COPY_CALL] : 0);
    if (s->pageable > 0.1 * wall && copy > 0.05 * wall) {
        g_autofree char *rate = ct_human_bytes(s->pageable_rate);
        g_autofree char *text = g_strdup_printf("copies of pageable memory take %.0f %% of a "
                                                "typical request, at %s/s", 100 * pageable / wall,
                                                rate);
        add(ev, s, "run-pageable-copy", MIN(pageable / wall, 1), text);
    } else if (copy > 0.35 * wall) {
        g_autofree char *text = g_strdup_printf("copies take %.0f %% of a typical request",
                                                100 * copy / wall);
        add(ev, s, "run-copy-bound", copy / wall, text);
    }
}

static void allocations(CtEvidence *ev, const CtRequestSet *s, double wall)
{
    if (s->n[CT_RN_ALLOCS] < 1 || s->part[CT_RP_ALLOC] < 0.04 * wall)
        return;
    g_autofree char *text = g_strdup_printf(
        "each request allocates or frees memory (%.0f calls, %.0f %% of its time, the GPU idle)",
        s->n[CT_RN_ALLOCS], 100 * s->part[CT_RP_ALLOC] / wall);
    add(ev, s, "run-allocation", s->part[CT_RP_ALLOC] / wall, text);
}

static void others(CtEvidence *ev, const CtRequestSet *s, double wall)
{
    double foreign = s->part[CT_RP_FOREIGN] / wall;
    if (s->threads >= 2 && s->main_stream > 0.95 && foreign > 0.2) {
        g_autofree char *text = g_strdup_printf(
            "%.0f threads launch into one stream; %.0f %% of a typical request is work of others",
            s->threads, 100 * foreign);
        add(ev, s, "run-one-stream", foreign, text);
    } else if (foreign > 0.3 || (foreign > 0.1 && s->stalled > 0.1 * wall)) {
        g_autofree char *text = g_strdup_printf("the GPU works for others in %.0f %% of a typical "
                                                "request", 100 * foreign);
        add(ev, s, "run-shared-gpu", foreign, text);
    }
}

static void queue(CtEvidence *ev, const CtRequestSet *s, double wall)
{
    double share = s->part[CT_RP_QUEUE] / wall;
    if (share < 0.5)
        return;
    g_autofree char *text = g_strdup_printf("a typical request waits in the queue for %.0f %% of "
                                            "its time", 100 * share);
    add(ev, s, "run-queue", share, text);
}

static void run(CtEvidence *ev)
{
    g_autoptr(GPtrArray) sets = ct_request_sets(ev);
    for (guint i = 0; i < sets->len; i++) {
        const CtRequestSet *s = g_ptr_array_index(sets, i);
        if (s->typical <= 0 || s->requests->len < 5)
            continue;
        gboolean ranges = g_strcmp0(s->found_by, "range") == 0;
        if (g_strcmp0(s->found_by, "burst") != 0)
            idle_gpu(ev, s, s->typical);
        queue(ev, s, s->typical);
        copies(ev, s, s->typical);
        allocations(ev, s, s->typical);
        if (ranges || s->stalled > 0.1 * s->typical)
            others(ev, s, s->typical);
    }
}

const CtAnalyzer ct_analyzer_whole_run = {
    .id = "whole-run",
    .summary = "what the typical request of a trace spends its time on besides the GPU's work",
    .doc = "Judges traces without outliers too: many small kernels, waits between kernels, idle "
           "stretches, pageable copies, allocation in each request, work of others.",
    .emits = "run-launch-bound,run-sync-bound,run-gpu-idle,run-pageable-copy,run-copy-bound,"
             "run-allocation,run-one-stream,run-shared-gpu,run-queue",
    .run = run,
};
