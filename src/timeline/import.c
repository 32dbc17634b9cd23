/* SPDX-License-Identifier: Apache-2.0 */
#include "timeline/import.h"

#include <fcntl.h>
#include <jansson.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect/stream.h"
#include "timeline/digest.h"
#include "timeline/timeline-private.h"

typedef struct {
    CtEvidence *ev;
    const CtKb *kb;
    CtTimeline *tl;
    const CtTlSummary *s;
    gint64 section, offset;
} Import;

void ct_trace_free(CtTrace *trace)
{
    if (!trace)
        return;
    ct_timeline_summary_free(trace->summary);
    ct_timeline_free(trace->timeline);
    ct_trt_free(trace->trt);
    g_free(trace->path);
    g_free(trace);
}

CtTrace *ct_trace_open(const char *file, const char *path, GError **error)
{
    g_autoptr(CtTimeline) tl = ct_timeline_open(file, error);
    g_autoptr(CtTlSummary) s = tl ? ct_timeline_summary(tl, error) : NULL;
    if (!s)
        return NULL;
    CtTrace *trace = g_new0(CtTrace, 1);
    *trace = (CtTrace){g_strdup(path), g_steal_pointer(&tl), g_steal_pointer(&s), NULL, TRUE};
    return trace;
}

static gint64 number(const Import *m, const char *subject, double value, const char *format, ...)
    G_GNUC_PRINTF(4, 5);
static gint64 number(const Import *m, const char *subject, double value, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_autofree char *key = g_strdup_vprintf(format, args);
    va_end(args);
    g_autofree char *text = value == (double)(gint64)value
                                ? g_strdup_printf("%" G_GINT64_FORMAT, (gint64)value)
                                : g_strdup_printf("%.4g", value);
    return ct_evidence_add_fact(m->ev, &(CtFactRow){.section = m->section, .subject = subject,
                                                    .key = key, .value = text, .number = value,
                                                    .has_number = TRUE, .status = CT_OK});
}

static void word(const Import *m, const char *subject, const char *key, const char *value)
{
    if (value)
        ct_evidence_add_fact(m->ev, &(CtFactRow){.section = m->section, .subject = subject,
                                                 .key = key, .value = value, .status = CT_OK});
}

static void gpu_facts(const Import *m)
{
    const GPtrArray *devices = ct_timeline_devices(m->tl);
    for (guint i = 0; i < m->s->gpus->len; i++) {
        const CtTlGpu *g = &g_array_index(m->s->gpus, CtTlGpu, i);
        g_autofree char *gpu = g_strdup_printf("gpu:%" G_GINT64_FORMAT, g->device);
        double span = (double)(g->t1 - g->t0);
        for (guint k = 0; k < devices->len; k++) {
            const CtTlDevice *d = g_ptr_array_index(devices, k);
            if (d->device == g->device)
                word(m, gpu, "gpu.name", d->name);
        }
        number(m, gpu, span, "timeline.span");
        number(m, gpu, (double)g->kernels, "timeline.kernels");
        number(m, gpu, (double)g->kernel_time, "timeline.kernel-time");
        if (g->graphs)
            number(m, gpu, (double)g->graphs, "timeline.graphs");
        if (span <= 0)
            continue;
        number(m, gpu, (double)g->busy / span, "timeline.busy");
        number(m, gpu, (double)g->short_gaps / span, "timeline.launch-gaps");
        number(m, gpu, (double)g->long_gaps / span, "timeline.long-gaps");
    }
}

static void copy_facts(const Import *m)
{
    double pageable = 0, all = 0;
    for (guint way = CT_TL_COPY_H2D; way <= CT_TL_COPY_H2H; way++) {
        double bytes = 0, time = 0, n = 0;
        for (guint i = 0; i < m->s->copies->len; i++) {
            const CtTlCopies *c = &g_array_index(m->s->copies, CtTlCopies, i);
            if (c->copy != way)
                continue;
            bytes += (double)c->bytes;
            time += (double)c->total;
            n += (double)c->count;
            if (way == CT_TL_COPY_H2D || way == CT_TL_COPY_D2H) {
                all += (double)c->bytes;
                if (c->source == CT_TL_MEM_PAGEABLE || c->target == CT_TL_MEM_PAGEABLE)
                    pageable += (double)c->bytes;
            }
        }
        if (n == 0)
            continue;
        const char *name = ct_tl_copy_name(way);
        number(m, "trace", n, "timeline.copies.%s", name);
        number(m, "trace", bytes, "timeline.copy-bytes.%s", name);
        number(m, "trace", time, "timeline.copy-time.%s", name);
    }
    if (all > 0)
        number(m, "trace", pageable / all, "timeline.pageable-share");
}

static void call_facts(const Import *m)
{
    for (guint i = 0; i <= CT_TL_CALL_GRAPH; i++)
        if (m->s->call_count[i]) {
            number(m, "trace", (double)m->s->call_count[i], "timeline.calls.%s",
                   ct_tl_call_name(i));
            number(m, "trace", (double)m->s->call_time[i], "timeline.call-time.%s",
                   ct_tl_call_name(i));
        }
}

/* Whole runs of the session: a node on the GPU lasts as long as its launch, the run until the end
 * of the work. */
static void runs_of(const Import *m, double *out_ns, double *out_n)
{
    for (guint i = 0; i < m->s->ranges->len; i++) {
        const CtTlNamed *x = &g_array_index(m->s->ranges, CtTlNamed, i);
        if (g_str_equal(ct_timeline_name(m->tl, x->name), "model_run")) {
            *out_ns = (double)x->total;
            *out_n = (double)x->count;
        }
    }
}

static void provider_event(const Import *m, const char *name, const char *text, const char *detail)
{
    ct_evidence_add_event(m->ev, &(CtEventRow){.section = m->section, .kind = "ort-fallback",
                                               .name = name, .severity = CT_SEV_WARNING,
                                               .text = text, .detail = detail});
}

/* What ran on the CPU although the session has a provider for the GPU. */
static void provider_facts(const Import *m)
{
    double cpu = 0, all = 0, run = 0, runs = 1, copies = 0;
    guint gpu = 0;
    g_autoptr(GString) ops = g_string_new(NULL);
    for (guint i = 0; i < m->s->nodes->len; i++) {
        const CtTlNamed *x = &g_array_index(m->s->nodes, CtTlNamed, i);
        const char *op = ct_timeline_name(m->tl, x->name);
        gboolean on_cpu = g_str_equal(ct_timeline_name(m->tl, x->group), "CPUExecutionProvider");
        all += (double)x->total;
        copies += strstr(op, "Memcpy") ? (double)x->count : 0;
        gpu += !on_cpu;
        cpu += on_cpu ? (double)x->total : 0;
        if (on_cpu && ops->len < 120)
            g_string_append_printf(ops, "%s%s", ops->len ? ", " : "", op);
    }
    if (all <= 0)
        return;
    runs_of(m, &run, &runs);
    all = MAX(all, run);
    gint64 share = number(m, "trace", cpu / all, "timeline.cpu-provider-share");
    if (cpu > 0 && (!gpu || cpu >= 0.1 * all)) {
        g_autofree char *text =
            gpu ? g_strdup_printf("%.0f%% of the time of the runs on the CPU provider: %s",
                                  100 * cpu / all, ops->str)
                : g_strdup_printf("every node ran on the CPU provider: %s", ops->str);
        provider_event(m, gpu ? "nodes-on-cpu" : "cpu-only", text, NULL);
    }
    if (cpu >= 0.4 * all) {
        gint64 id = ct_evidence_add_finding(
            m->ev, &(CtFindingRow){.analyzer = "timeline", .kind = "ort-cpu-time",
                                   .severity = CT_SEV_WARNING, .subject = "trace",
                                   .number = cpu / all, .confidence = 0.9, .text = ops->str});
        ct_evidence_cite(m->ev, id, "fact", share, 0);
    }
    if (copies < runs)
        return;
    g_autofree char *detail = g_strdup_printf("{\"count\":%.0f}", copies / runs);
    g_autofree char *said = g_strdup_printf("%.0f copies between CPU and GPU in each run", copies / runs);
    provider_event(m, "memcpy-nodes", said, detail);
}

static void failures(const Import *m)
{
    for (guint i = 0; i < m->s->failures->len; i++) {
        const CtTlFailure *f = &g_array_index(m->s->failures, CtTlFailure, i);
        const char *call = ct_timeline_name(m->tl, f->name);
        const char *name = m->kb ? ct_kb_code_name(m->kb, "cuda", f->result) : NULL;
        g_autofree char *subject = g_strdup_printf("process:%" G_GINT64_FORMAT, f->pid);
        g_autofree char *text = g_strdup_printf("%s -> %d %s, %" G_GUINT64_FORMAT " times", call,
                                                f->result, name ? name : "", f->count);
        json_t *d = json_object();
        json_object_set_new(d, "call", json_string(call));
        json_object_set_new(d, "api", json_string(g_str_has_prefix(call, "cuda") ? "runtime"
                                                                                 : "driver"));
        json_object_set_new(d, "count", json_integer((json_int_t)f->count));
        json_object_set_new(d, "handled", json_boolean(f->handled));
        char *detail = json_dumps(d, JSON_COMPACT | JSON_SORT_KEYS);
        json_decref(d);
        ct_evidence_add_event(
            m->ev, &(CtEventRow){.section = m->section, .t_ns = f->first + m->offset,
                                 .kind = "cuda-error", .code = f->result, .has_code = TRUE,
                                 .severity = f->handled ? CT_SEV_WARNING : CT_SEV_ERROR,
                                 .name = name, .pid = f->pid, .has_pid = f->pid >= 0,
                                 .subject = subject, .text = text, .detail = detail});
        free(detail);
        if (f->handled)
            ct_evidence_add_event(
                m->ev, &(CtEventRow){.section = m->section, .t_ns = f->last + m->offset + 1,
                                     .kind = "cuda-ok", .severity = CT_SEV_INFO,
                                     .subject = subject, .text = "a later wait succeeded",
                                     .detail = "{\"call\":\"cudaDeviceSynchronize\"}"});
    }
}

/* A sentence for the section: what cannot be seen in this trace. */
static char *note(const CtTimeline *tl, gboolean *out_damaged)
{
    static const char *const damage[] = {"the end of the trace", "damaged events",
                                         "events without a time"};
    GString *out = g_string_new(NULL);
    for (guint i = 0; i < tl->gaps->len; i++) {
        const CtTlGap *g = g_ptr_array_index(tl->gaps, i);
        gboolean is_damage = FALSE;
        for (gsize k = 0; k < G_N_ELEMENTS(damage); k++)
            is_damage |= g_str_equal(g->what, damage[k]);
        *out_damaged |= is_damage;
        /* A profile of a GPU program without its GPU part is evidence that is not there. */
        *out_damaged |= g_str_equal(g->what, "GPU work") &&
                        (g_str_equal(tl->format, "nsys-sqlite") || g_str_equal(tl->format, "kineto"));
        if (g_str_equal(g->what, "GPU work") || is_damage || strstr(g->why, "damaged"))
            g_string_append_printf(out, "%s%s: %s", out->len ? "; " : "", g->what, g->why);
        *out_damaged |= strstr(g->why, "is missing or damaged") != NULL;
    }
    return g_string_free(out, FALSE);
}

static void coverage(const Import *m)
{
    if (m->s->t1 < m->s->t0)
        return;
    gint64 t0 = m->s->t0 + m->offset, t1 = m->s->t1 + m->offset;
    const guint gpu = CT_TL_BIT(CT_TL_KERNEL) | CT_TL_BIT(CT_TL_COPY) | CT_TL_BIT(CT_TL_GRAPH);
    if (ct_timeline_present(m->tl) & gpu)
        ct_evidence_add_coverage(m->ev, m->section, "trace", NULL, t0, t1);
    if (g_str_equal(ct_timeline_format(m->tl), "nsys-sqlite") &&
        ct_timeline_present(m->tl) & CT_TL_BIT(CT_TL_CALL))
        ct_evidence_add_coverage(m->ev, m->section, "cuda-log", NULL, t0, t1);
}

static CtTrtKind kind_of(const char *file)
{
    gsize len;
    int fd = open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return CT_TRT_NONE;
    CtStream *stream = ct_stream_new(fd);
    const guint8 *head = ct_stream_peek(stream, 4096, &len);
    CtTrtKind kind = ct_trt_sniff(head, len);
    ct_stream_free(stream);
    close(fd);
    return kind;
}

static gboolean import_trt(CtEvidence *ev, const char *file, const char *path, CtTrace **out,
                           GError **error)
{
    g_autoptr(CtTrtDoc) doc = ct_trt_read(file, error);
    if (!doc)
        return FALSE;
    ct_trt_import(ev, doc, path);
    if (out) {
        *out = g_new0(CtTrace, 1);
        **out = (CtTrace){.path = g_strdup(path), .trt = g_steal_pointer(&doc)};
    }
    return TRUE;
}

gboolean ct_trace_import(CtEvidence *ev, const CtKb *kb, const char *file, const char *path,
                         gboolean with_requests, CtTrace **out, GError **error)
{
    struct stat st;
    if (kind_of(file) != CT_TRT_NONE)
        return import_trt(ev, file, path, out, error);
    g_autoptr(CtTimeline) tl = ct_timeline_open(file, error);
    g_autoptr(CtTlSummary) s = tl ? ct_timeline_summary(tl, error) : NULL;
    if (!s)
        return FALSE;
    const char *format = ct_timeline_format(tl);
    gint64 bytes = stat(file, &st) == 0 ? (gint64)st.st_size : CT_NONE;
    gint64 source = ct_evidence_add_source(
        ev, &(CtSourceRow){.path = path, .format = format, .status = CT_OK, .bytes = bytes,
                           .lines = CT_NONE});
    gboolean wall = ct_timeline_wall_offset(tl) != G_MININT64, damaged = FALSE;
    Import m = {.ev = ev, .kb = kb, .tl = tl, .s = s,
                .offset = wall ? ct_timeline_wall_offset(tl) : 0};
    m.section = ct_evidence_add_section(
        ev, &(CtSectionRow){.source = source, .first_line = 1, .parser = format,
                            .title = ct_timeline_producer(tl), .status = CT_OK,
                            .clock = wall ? "wall" : "none"});
    word(&m, "trace", "timeline.format", format);
    word(&m, "trace", "timeline.producer", ct_timeline_producer(tl));
    gpu_facts(&m);
    copy_facts(&m);
    call_facts(&m);
    provider_facts(&m);
    failures(&m);
    coverage(&m);
    if (with_requests && !ct_timeline_digest(tl, ev, m.section, error))
        return FALSE;
    g_autofree char *text = note(tl, &damaged);
    ct_evidence_end_section(ev, m.section, 1, wall ? "wall" : "none",
                            damaged ? CT_PARTIAL : CT_OK, *text ? text : NULL);
    ct_evidence_end_source(ev, source, damaged ? CT_PARTIAL : CT_OK, bytes, CT_NONE,
                           *text ? text : NULL);
    if (out) {
        *out = g_new0(CtTrace, 1);
        **out = (CtTrace){g_strdup(path), g_steal_pointer(&tl), g_steal_pointer(&s), NULL,
                           FALSE};
    }
    return TRUE;
}
