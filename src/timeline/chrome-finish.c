/* SPDX-License-Identifier: Apache-2.0 */
/* What can be told of a chrome trace only after its last event. */
#include <string.h>

#include "timeline/chrome-private.h"

#define YEAR_2000 (G_GINT64_CONSTANT(946684800) * 1000000000)
#define YEAR_2100 (G_GINT64_CONSTANT(4102444800) * 1000000000)

/* TensorFlow and JAX say by the names of a process and of its threads what runs on a GPU. */
static void name_lines(CtChrome *c)
{
    GArray *threads = c->store.threads;
    guint n = threads->len;
    for (guint i = 0; i < n; i++) {
        CtTlThread t = g_array_index(threads, CtTlThread, i);
        const CtTlThread key = {.pid = t.pid, .tid = G_MININT64};
        gsize at = GPOINTER_TO_SIZE(g_hash_table_lookup(c->store.by_thread, &key));
        if (t.tid == G_MININT64 || !at)
            continue;
        const CtTlThread *process = &g_array_index(threads, CtTlThread, at - 1);
        g_array_index(threads, CtTlThread, i).device = process->device;
        if (t.stream < 0)
            g_array_index(threads, CtTlThread, i).stream = process->stream;
    }
}

void ct_chrome_place(const CtChrome *c, CtTlEvent *e, guint32 thread)
{
    const CtTlThread *t = &g_array_index(c->store.threads, CtTlThread, thread);
    if (e->kind != CT_TL_RANGE || t->device < 0)
        return;
    e->device = t->device;
    e->stream = MAX(t->stream, 0);
    if (t->stream < 0)
        return;
    const char *name = ct_timeline_name(c->tl, e->name);
    e->kind = ct_tl_copy_of(name, e) ? CT_TL_COPY
              : g_ascii_strncasecmp(name, "memset", 6) == 0 ? CT_TL_SET : CT_TL_KERNEL;
}

static void place_all(CtChrome *c)
{
    GArray *ranges = c->store.events[CT_TL_RANGE];
    guint kept = 0, n = ranges->len;
    name_lines(c);
    for (guint i = 0; i < n; i++) {
        CtTlPacked p = g_array_index(ranges, CtTlPacked, i);
        CtTlEvent e;
        ct_tl_unpack(&c->store, &p, &e);
        ct_chrome_place(c, &e, p.thread);
        if (e.kind == CT_TL_RANGE && e.stream < 0) {
            g_array_index(ranges, CtTlPacked, kept++) = p;
            continue;
        }
        c->per_kind[CT_TL_RANGE]--;
        c->store.n--;
        if (e.kind != CT_TL_RANGE)
            ct_chrome_deliver(c, &e, p.thread);
    }
    g_array_set_size(ranges, kept);
}

/* A launch takes microseconds. Where the shortest of many took a millisecond, the file counts in
 * nanoseconds. */
static void check_unit(CtChrome *c)
{
    if (c->launches < 20 || c->shortest_launch < 1000000 || c->shortest_launch == G_MAXINT64)
        return;
    ct_tl_gap(c->tl, "times as written",
              "the shortest of %" G_GUINT64_FORMAT " launches would take %.1f ms: the file counts "
              "in ns, not in us as the format wants, and is read so", c->launches,
              (double)c->shortest_launch / 1e6);
    c->scale_den = 1000;
    for (guint k = 0; k < CT_TL_KINDS; k++)
        for (guint i = 0; i < c->store.events[k]->len; i++) {
            CtTlPacked *p = &g_array_index(c->store.events[k], CtTlPacked, i);
            p->t0 /= 1000;
            p->dur /= 1000;
        }
    if (c->first_ns != G_MININT64)
        c->first_ns /= 1000;
}

static void tell_damage(CtChrome *c)
{
    CtTimeline *tl = c->tl;
    if (c->in_ns)
        ct_tl_gap(tl, "times as written", "%" G_GUINT64_FORMAT " time stamps are dates in ns, not in "
                  "us as the format wants, and are read so", c->in_ns);
    if (c->cut)
        ct_tl_gap(tl, "the end of the trace",
                  "the file is cut after %" G_GUINT64_FORMAT " events and %" G_GINT64_FORMAT
                  " bytes (%s); what came before was read", c->events, c->bytes, c->cut_why);
    if (c->broken)
        ct_tl_gap(tl, "damaged events", "%" G_GUINT64_FORMAT " objects could not be read and were "
                  "stepped over", c->broken);
    if (c->not_finite || c->without_time)
        ct_tl_gap(tl, "events without a time", "%" G_GUINT64_FORMAT " events have no time or one "
                  "that is not a number; they were left out", MAX(c->without_time, c->not_finite));
    if (c->negative)
        ct_tl_gap(tl, "negative durations", "%" G_GUINT64_FORMAT " events end before they begin: "
                  "the clock stepped back; they count as 0", c->negative);
    if (c->unfinished + c->open->len)
        ct_tl_gap(tl, "ranges cut off", "%" G_GUINT64_FORMAT " ranges have only a begin or only an "
                  "end in the file", c->unfinished + c->open->len);
    if (c->store.full)
        ct_tl_gap(tl, "order", "the trace holds more than %u events; it is read in the order of the "
                  "file, several times", CT_TL_MAX_STORED);
}

static void tell_missing(CtChrome *c)
{
    const guint64 *n = c->per_kind;
    CtTimeline *tl = c->tl;
    if (c->flavour == CT_CHROME_TRITON) {
        ct_tl_gap(tl, "GPU work", "a Triton trace holds times of requests, no kernels");
        return;
    }
    if (c->flavour == CT_CHROME_ORT) {
        if (!n[CT_TL_KERNEL])
            ct_tl_gap(tl, "kernels", "an ONNX Runtime profile without CUDA profiling: the time of a "
                      "node on the GPU is that of its launch");
        if (c->events >= 1000000)
            ct_tl_gap(tl, "the end of the run", "ONNX Runtime stops recording after 1,000,000 "
                      "events");
        return;
    }
    if (!n[CT_TL_KERNEL] && !n[CT_TL_COPY] && !n[CT_TL_GRAPH]) {
        if (c->launches)
            ct_tl_gap(tl, "GPU work", "%" G_GUINT64_FORMAT " launches but no kernels: the buffers of "
                      "CUPTI were lost, another profiler held it, or the file was filtered",
                      c->launches);
        else if (c->flavour == CT_CHROME_KINETO)
            ct_tl_gap(tl, "GPU work", "the trace holds no CUDA calls and no kernels: only the CPU "
                      "was profiled (ProfilerActivity.CUDA off), or nothing ran on a GPU");
        else if (c->events)
            ct_tl_gap(tl, "GPU work", "the trace holds ranges of the host only");
    } else if (!n[CT_TL_CALL]) {
        ct_tl_gap(tl, "CUDA calls", "the trace holds kernels but no calls of the CUDA API: how the "
                  "host spent its time and how long launches waited cannot be seen");
    }
    if (n[CT_TL_CALL])
        ct_tl_gap(tl, "results of calls", "traces of this format do not say what CUDA calls "
                  "returned");
    if (n[CT_TL_KERNEL] && !n[CT_TL_MEMORY] && c->flavour == CT_CHROME_KINETO)
        ct_tl_gap(tl, "memory", "profile_memory was off: allocations cannot be seen");
}

static void wall_clock(CtChrome *c)
{
    if (c->base_ns != G_MININT64 && c->base_ns > YEAR_2000 && c->base_ns < YEAR_2100)
        c->tl->wall_offset = c->base_ns;
    else if (c->first_ns > YEAR_2000 && c->first_ns < YEAR_2100)
        c->tl->wall_offset = 0;
}

static guint present(const CtChrome *c)
{
    const guint gpu = CT_TL_BIT(CT_TL_KERNEL) | CT_TL_BIT(CT_TL_COPY) | CT_TL_BIT(CT_TL_SET);
    guint mask = 0;
    for (guint k = 0; k < CT_TL_KINDS; k++)
        mask |= c->per_kind[k] ? CT_TL_BIT(k) : 0;
    if (mask & gpu)
        mask |= gpu; /* what records one of them records all */
    return mask;
}

static gboolean count_kind(const CtTlEvent *e, gpointer user)
{
    ((CtChrome *)user)->per_kind[e->kind]++;
    return TRUE;
}

void ct_chrome_finish(CtChrome *c)
{
    static const char *const formats[] = {"chrome-trace", "kineto", "tensorflow-trace",
                                          "ort-profile", "triton-trace"};
    CtTimeline *tl = c->tl;
    place_all(c);
    tell_damage(c);
    if (c->store.full && c->flavour == CT_CHROME_TENSORFLOW) {
        memset(c->per_kind, 0, sizeof c->per_kind);
        ct_timeline_scan(tl, ~0u, count_kind, c, NULL);
    }
    check_unit(c);
    ct_tl_store_sort(&c->store);
    tl->disorder = c->store.disorder;
    tl->format = formats[c->flavour];
    if (!tl->producer && c->flavour == CT_CHROME_KINETO)
        tl->producer = g_strdup("PyTorch profiler (Kineto)");
    wall_clock(c);
    tl->present = present(c);
    tell_missing(c);
}
