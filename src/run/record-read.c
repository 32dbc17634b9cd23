/* SPDX-License-Identifier: Apache-2.0 */
#include "run/record-private.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

/* Of one run, everything; beyond that the file is none of ours. */
#define MAX_REPEATS 1000u

gint64 ct_reading_wall(const CtReading *r, gint64 mono_ns)
{
    /* Numbers of a stranger: they may wrap, not overflow. */
    return (gint64)((guint64)mono_ns - (guint64)r->v.p.head.mono_ns + (guint64)r->v.p.head.wall_ns);
}

char *ct_reading_json(json_t *object)
{
    char *text = json_dumps(object, JSON_COMPACT | JSON_SORT_KEYS);
    char *out = g_strdup(text);
    free(text);
    json_decref(object);
    return out;
}

gint64 ct_reading_finding(const CtReading *r, const char *kind, double number, double confidence,
                          gint64 from_ns, gint64 to_ns, const char *text, json_t *detail)
{
    g_autofree char *json = ct_reading_json(detail);
    return ct_evidence_add_finding(
        r->ev, &(CtFindingRow){.analyzer = "record", .kind = kind, .severity = CT_SEV_WARNING,
                               .subject = r->subject, .t0_ns = ct_reading_wall(r, from_ns),
                               .t1_ns = ct_reading_wall(r, to_ns), .number = number,
                               .confidence = confidence, .text = text, .detail = json});
}

/* ---- errors ---- */

typedef struct {
    struct ctw_error e;
    gboolean handled; /* the thread went on and a wait succeeded afterwards */
} Failure;

static int by_time(gconstpointer a, gconstpointer b)
{
    const Failure *x = a, *y = b;
    return x->e.first_ns < y->e.first_ns ? -1 : x->e.first_ns > y->e.first_ns;
}

static gboolean wait_succeeded_after(const CtReading *r, guint ring, gint64 t_ns)
{
    struct ctw_entry e;
    struct ctw_hook h;
    for (guint64 back = 0; ctw_get_entry(&r->v.p, ring, back, &e) && e.t_ns > t_ns; back++)
        if (e.result == 0 && ctw_get_hook(&r->v.p, e.fn, &h) && h.cls == CTW_CLASS_SYNC)
            return TRUE;
    return FALSE;
}

static const struct ctw_freeze *freeze_of(const CtReading *r, const struct ctw_error *e,
                                          struct ctw_freeze *buffer)
{
    for (guint i = 0; i < CTW_FREEZES; i++)
        if (ctw_get_freeze(&r->v.p, i, buffer) && buffer->call.t_ns == e->first_ns &&
            buffer->call.fn == ((e->key >> 32) & 0x7fffffff))
            return buffer;
    return NULL;
}

static gboolean is_late(guint code) /* raised by a kernel, told by a later call */
{
    return code >= 700 && code <= 721 && code != 701 && code != 704 && code != 705 &&
           code != 708 && code != 709;
}

static void add_suspects(const CtReading *r, const struct ctw_error *e, json_t *detail,
                         GString *text)
{
    g_autofree struct ctw_freeze *buffer = g_new(struct ctw_freeze, 1);
    const struct ctw_freeze *f = freeze_of(r, e, buffer);
    if (!f || !is_late((guint)e->key))
        return;
    g_autoptr(GPtrArray) names = ct_record_suspects(&r->v.p, f);
    json_t *list = json_array();
    for (guint i = 0; i < names->len; i++) {
        const char *name = g_ptr_array_index(names, i);
        json_array_append_new(list, json_string(name));
        g_string_append_printf(text, "%s%s", i ? ", " : "; in flight: ", name);
    }
    if (names->len)
        json_object_set_new(detail, "kernel", json_string(g_ptr_array_index(names, 0)));
    json_object_set_new(detail, "in_flight", list);
}

static void emit_failure(const CtReading *r, const Failure *x, double began_ns)
{
    const struct ctw_error *e = &x->e;
    gint64 code = (gint64)(e->key & 0xffffffff);
    const char *name = r->kb ? ct_kb_code_name(r->kb, "cuda", code) : NULL;
    g_autofree char *call = ct_record_call(&r->v.p, (e->key >> 32) & 0x7fffffff);
    g_autoptr(GString) text = g_string_new(NULL);
    json_t *detail = json_object();
    json_object_set_new(detail, "call", json_string(call));
    json_object_set_new(detail, "api", json_string("driver"));
    json_object_set_new(detail, "count", json_integer((json_int_t)e->count));
    json_object_set_new(detail, "handled", json_boolean(x->handled));
    g_string_printf(text, "%s -> %d %s, %.3f s after the start, thread %u", call, (int)code,
                    name ? name : "", ((double)e->first_ns - began_ns) / 1e9, e->tid);
    if (e->count > 1)
        g_string_append_printf(text, ", %" G_GUINT64_FORMAT " times", (guint64)e->count);
    if (e->a || e->b)
        g_string_append_printf(text, " (0x%" G_GINT64_MODIFIER "x, %" G_GUINT64_FORMAT ")",
                               (guint64)e->a, (guint64)e->b);
    add_suspects(r, e, detail, text);
    g_autofree char *json = ct_reading_json(detail);
    CtEventRow row = {.section = r->section,
                      .t_ns = ct_reading_wall(r, e->first_ns),
                      .kind = "cuda-error",
                      .severity = x->handled ? CT_SEV_WARNING : CT_SEV_ERROR,
                      .subject = r->subject,
                      .code = code,
                      .has_code = TRUE,
                      .name = name,
                      .pid = r->v.p.head.pid,
                      .has_pid = TRUE,
                      .text = text->str,
                      .detail = json};
    for (guint64 i = 0; i < MIN(e->count, MAX_REPEATS); i++)
        ct_evidence_add_event(r->ev, &row);
    if (!x->handled)
        return;
    ct_evidence_add_event(r->ev, &(CtEventRow){.section = r->section,
                                               .t_ns = ct_reading_wall(r, e->last_ns) + 1,
                                               .kind = "cuda-ok",
                                               .severity = CT_SEV_INFO,
                                               .subject = r->subject,
                                               .text = "a later wait of the same thread succeeded",
                                               .detail = "{\"call\":\"cuCtxSynchronize\"}"});
}

static void emit_errors(const CtReading *r)
{
    g_autoptr(GArray) list = g_array_new(FALSE, FALSE, sizeof(Failure));
    for (guint i = 0; i < CTW_ERRORS; i++) {
        Failure x = {0};
        if (!ctw_get_error(&r->v.p, i, &x.e))
            continue;
        x.handled = wait_succeeded_after(r, x.e.ring, x.e.last_ns);
        g_array_append_val(list, x);
    }
    g_array_sort(list, by_time);
    gboolean uninitialised = FALSE;
    for (guint i = 0; i < list->len; i++) {
        const Failure *x = &g_array_index(list, Failure, i);
        emit_failure(r, x, (double)r->v.t0_ns);
        uninitialised |= (x->e.key & 0xffffffff) == 3;
    }
    if (r->v.p.head.forked && uninitialised)
        ct_evidence_add_event(
            r->ev,
            &(CtEventRow){.section = r->section,
                          .t_ns = ct_reading_wall(r, r->v.t0_ns),
                          .kind = "fork-after-cuda",
                          .severity = CT_SEV_ERROR,
                          .subject = r->subject,
                          .pid = r->v.p.head.pid,
                          .has_pid = TRUE,
                          .text = "CUDA is used in a child of fork whose parent had used it"});
}

/* ---- series ---- */

static int by_sample_time(gconstpointer a, gconstpointer b)
{
    const struct ctw_sample *x = a, *y = b;
    return x->t_ns < y->t_ns ? -1 : x->t_ns > y->t_ns;
}

/* Fine samples of the end, coarser ones of what lies before them. */
static GArray *samples(const CtReading *r)
{
    GArray *out = g_array_new(FALSE, FALSE, sizeof(struct ctw_sample));
    gint64 from = G_MAXINT64;
    for (guint level = 0; level < CTW_LEVELS; level++) {
        gint64 first = from;
        for (guint i = 0; i < CTW_LEVEL_SAMPLES; i++) {
            struct ctw_sample s;
            if (!ctw_get_sample(&r->v.p, level, i, &s) || s.t_ns >= from)
                continue;
            g_array_append_val(out, s);
            first = MIN(first, s.t_ns);
        }
        from = first;
    }
    g_array_sort(out, by_sample_time);
    return out;
}

static void add_point(const CtReading *r, const char *metric, const char *unit, gint64 t_ns,
                      double x)
{
    ct_series_add(ct_evidence_series(r->ev, r->section, r->subject, metric, unit),
                  ct_reading_wall(r, t_ns), x, 0);
}

static void emit_series(const CtReading *r)
{
    g_autoptr(GArray) list = samples(r);
    for (guint i = 0; i < list->len; i++) {
        const struct ctw_sample *s = &g_array_index(list, struct ctw_sample, i);
        double device = 0, async = 0;
        for (guint k = 0; k < CTW_N_MEM; k++) {
            if (ct_record_is_device(k))
                device += (double)s->live_bytes[k];
            if (ct_record_is_async(k))
                async += (double)s->live_bytes[k];
        }
        add_point(r, "gpu.memory.used", "bytes", s->t_ns, device);
        if (r->v.p.head.peak_bytes[CTW_MEM_ASYNC] || r->v.p.head.peak_bytes[CTW_MEM_POOL])
            add_point(r, "pool.used", "bytes", s->t_ns, async);
        if (s->pool_reserved)
            add_point(r, "pool.reserved", "bytes", s->t_ns, (double)s->pool_reserved);
    }
}

/* ---- sites ---- */

static void emit_growth(const CtReading *r, const CtRecordSite *s, gint64 event)
{
    g_autofree char *call = ct_record_call(&r->v.p, s->site.fn);
    g_autofree char *place = ct_record_place(&r->v.p, &s->site, s->number);
    g_autofree char *each = g_format_size_full((guint64)s->bytes_per_call, G_FORMAT_SIZE_IEC_UNITS);
    g_autofree char *live = g_format_size_full(s->site.live_bytes, G_FORMAT_SIZE_IEC_UNITS);
    g_autofree char *text = g_strdup_printf(
        "%s%s%s: what it holds grows by %s a call, %s in %" G_GUINT64_FORMAT
        " blocks are not freed (%" G_GUINT64_FORMAT " calls, %" G_GUINT64_FORMAT " frees)",
        call, place ? " at " : "", place ? place : "", each, live, (guint64)s->site.live_count,
        (guint64)s->site.allocs, (guint64)s->site.frees);
    json_t *d = json_object();
    gboolean async = ct_record_is_async(s->site.kind);
    json_object_set_new(d, "metric",
                        json_string(async                               ? "pool.used"
                                    : ct_record_is_device(s->site.kind) ? "gpu.memory.used"
                                                                        : "host.pinned"));
    json_object_set_new(d, "call", json_string(call));
    if (place)
        json_object_set_new(d, "place", json_string(place));
    json_object_set_new(d, "total_bytes", json_real((double)s->site.peak_bytes));
    json_object_set_new(d, "level_bytes", json_real((double)s->site.peak_bytes / 2));
    json_object_set_new(d, "per_call_bytes", json_real(s->bytes_per_call));
    json_object_set_new(d, "slope_bytes", json_real(s->bytes_per_second));
    json_object_set_new(d, "never_freed", json_boolean(s->site.frees == 0));
    g_autofree char *json = ct_reading_json(d);
    gint64 id = ct_evidence_add_finding(
        r->ev, &(CtFindingRow){.analyzer = "record",
                               .kind = "memory-growth",
                               .severity = CT_SEV_WARNING,
                               .subject = r->subject,
                               .t0_ns = ct_reading_wall(r, s->site.first_ns),
                               .t1_ns = ct_reading_wall(r, s->site.last_ns),
                               .number = s->bytes_per_second,
                               .confidence = 0.95,
                               .text = text,
                               .detail = json});
    ct_evidence_cite(r->ev, id, "event", event, 0);
}

static gint64 emit_site(const CtReading *r, const CtRecordSite *s)
{
    g_autofree char *call = ct_record_call(&r->v.p, s->site.fn);
    g_autofree char *place = ct_record_place(&r->v.p, &s->site, s->number);
    g_autofree char *live = g_format_size_full(s->site.live_bytes, G_FORMAT_SIZE_IEC_UNITS);
    g_autofree char *peak = g_format_size_full(s->site.peak_bytes, G_FORMAT_SIZE_IEC_UNITS);
    g_autofree char *text = g_strdup_printf(
        "%s memory, %s%s%s: %s live in %" G_GUINT64_FORMAT " blocks, peak %s, %" G_GUINT64_FORMAT
        " allocations, %" G_GUINT64_FORMAT " frees",
        ct_record_mem(s->site.kind), call, place ? " at " : "", place ? place : "", live,
        (guint64)s->site.live_count, peak, (guint64)s->site.allocs, (guint64)s->site.frees);
    json_t *d = json_object();
    json_object_set_new(d, "call", json_string(call));
    json_object_set_new(d, "site", json_integer(s->number));
    json_object_set_new(d, "live_bytes", json_integer((json_int_t)s->site.live_bytes));
    json_object_set_new(d, "allocs", json_integer((json_int_t)s->site.allocs));
    json_object_set_new(d, "frees", json_integer((json_int_t)s->site.frees));
    json_object_set_new(d, "peak_bytes", json_integer((json_int_t)s->site.peak_bytes));
    g_autofree char *json = ct_reading_json(d);
    return ct_evidence_add_event(
        r->ev, &(CtEventRow){.section = r->section, .t_ns = ct_reading_wall(r, s->site.last_ns),
                             .kind = "allocation-site", .severity = CT_SEV_INFO,
                             .subject = r->subject, .name = ct_record_mem(s->site.kind),
                             .text = text, .detail = json});
}

static void emit_hot(const CtReading *r, const CtRecordSite *s)
{
    g_autofree char *call = ct_record_call(&r->v.p, s->site.fn);
    g_autofree char *place = ct_record_place(&r->v.p, &s->site, s->number);
    g_autofree char *text = g_strdup_printf(
        "%s%s%s: %" G_GUINT64_FORMAT " allocations and %" G_GUINT64_FORMAT
        " frees between launches, %.0f a second until the end",
        call, place ? " at " : "", place ? place : "", (guint64)s->site.allocs,
        (guint64)s->site.frees, s->calls_per_second);
    g_autofree char *json = g_strdup_printf("{\"call\":\"%s\"}", call);
    ct_evidence_add_event(r->ev, &(CtEventRow){.section = r->section,
                                               .t_ns = ct_reading_wall(r, s->site.last_ns),
                                               .kind = "perf-hint", .name = "hot-alloc",
                                               .severity = CT_SEV_WARNING, .subject = r->subject,
                                               .text = text, .detail = json});
}

static void emit_sites(const CtReading *r)
{
    guint hot = 0, told = 0;
    for (guint i = 0; i < r->v.sites->len; i++) {
        const CtRecordSite *s = &g_array_index(r->v.sites, CtRecordSite, i);
        if (s->site.kind >= CTW_N_MEM)
            continue;
        gint64 event = s->verdict == CT_SITE_GROWS || told++ < 50 ? emit_site(r, s) : 0;
        if (s->verdict == CT_SITE_GROWS)
            emit_growth(r, s, event);
        if (s->verdict == CT_SITE_HOT && hot++ < 5)
            emit_hot(r, s);
    }
}

/* ---- facts ---- */

static void add_number(const CtReading *r, const char *key, guint64 number)
{
    g_autofree char *value = g_strdup_printf("%" G_GUINT64_FORMAT, number);
    ct_evidence_add_fact(r->ev, &(CtFactRow){.section = r->section, .subject = r->subject,
                                             .key = key, .value = value, .number = (double)number,
                                             .has_number = TRUE, .status = CT_OK});
}

static void emit_facts(const CtReading *r)
{
    const struct ctw_arena *h = &r->v.p.head;
    guint64 dropped = h->dropped_rings + h->dropped_live + h->dropped_sites + h->dropped_strings +
                      h->dropped_errors;
    add_number(r, "record.launches", r->v.count[CTW_CLASS_LAUNCH]);
    add_number(r, "record.graph-launches", r->v.count[CTW_CLASS_GRAPH_LAUNCH]);
    add_number(r, "record.waits", r->v.count[CTW_CLASS_SYNC]);
    add_number(r, "record.copies", r->v.count[CTW_CLASS_COPY]);
    add_number(r, "record.allocations", h->allocs);
    add_number(r, "record.frees", h->frees);
    add_number(r, "record.unknown-frees", h->unknown_frees);
    add_number(r, "record.threads", r->v.rings);
    add_number(r, "record.dropped", dropped);
    for (guint k = 0; k < CTW_N_MEM; k++) {
        if (!h->peak_bytes[k])
            continue;
        g_autofree char *name = g_strdelimit(g_strdup(ct_record_mem(k)), " ()", '-');
        g_autofree char *live = g_strdup_printf("record.live.%s", name);
        g_autofree char *peak = g_strdup_printf("record.peak.%s", name);
        add_number(r, live, h->live_bytes[k]);
        add_number(r, peak, h->peak_bytes[k]);
    }
    if (h->context_ends)
        add_number(r, "record.context-ends", h->context_ends);
}

static void read_process(CtEvidence *ev, const CtKb *kb, gint64 source, const struct ctw_reader *in,
                         const struct ctw_process *p)
{
    CtReading r = {.ev = ev, .kb = kb, .in = in};
    ct_record_view(p, &r.v);
    g_snprintf(r.subject, sizeof r.subject, "process:%u", p->head.pid);
    g_autofree char *command = g_utf8_make_valid(in->run.command, -1);
    g_autofree char *comm = g_utf8_make_valid(p->head.comm, -1);
    g_autofree char *title = g_strdup_printf("process %u (%s)", p->head.pid, comm);
    r.section = ct_evidence_add_section(
        ev, &(CtSectionRow){.source = source, .first_line = 1, .title = title, .command = command,
                            .parser = "record", .scope = r.subject, .status = CT_OK,
                            .clock = "wall", .clock_offset_ns = 0});
    emit_facts(&r);
    emit_sites(&r);
    emit_errors(&r);
    emit_series(&r);
    ct_reading_blocks(&r);
    ct_reading_findings(&r);
    ct_evidence_add_coverage(ev, r.section, "cuda-log", NULL, ct_reading_wall(&r, r.v.t0_ns),
                             ct_reading_wall(&r, r.v.t1_ns));
    ct_evidence_add_coverage(ev, r.section, "record", r.subject, ct_reading_wall(&r, r.v.t0_ns),
                             ct_reading_wall(&r, r.v.t1_ns));
    gboolean cut = p->len < p->layout.bytes;
    ct_evidence_end_section(ev, r.section, 1, "wall", cut ? CT_TRUNCATED : CT_OK,
                            cut ? "the file ends before the tables do" : NULL);
    ct_record_view_clear(&r.v);
}

/* A slot that was taken and has no header: its process ended while it was being set up. */
static void tell_unreadable(CtEvidence *ev, gint64 source, guint slot, const struct ctw_process *p)
{
    gboolean early = p->head.crc == 0;
    g_autofree char *title = g_strdup_printf("process in slot %u", slot);
    gint64 section = ct_evidence_add_section(
        ev, &(CtSectionRow){.source = source, .first_line = 1, .title = title, .parser = "record",
                            .scope = "process", .status = CT_OK});
    ct_evidence_end_section(ev, section, 1, NULL, early ? CT_PARTIAL : CT_FAILED,
                            early ? "it ended before its first call to CUDA was recorded"
                                  : "its header is damaged");
}

gboolean ct_record_import_bytes(CtEvidence *ev, const CtKb *kb, const char *path,
                                const guint8 *data, gsize len, GError **error)
{
    struct ctw_reader in;
    enum ctw_problem problem = ctw_open(&in, data, len);
    if (problem != CTW_OK) {
        g_set_error_literal(error, CT_ERROR,
                            problem == CTW_OTHER_VERSION ? CT_ERROR_UNSUPPORTED : CT_ERROR_CORRUPT,
                            ctw_problem_text(problem));
        return FALSE;
    }
    gint64 source = ct_evidence_add_source(
        ev, &(CtSourceRow){.path = path, .format = "record", .status = CT_OK, .bytes = (gint64)len,
                           .lines = CT_NONE});
    guint used = 0, bad = 0;
    for (guint i = 0; i < in.n_arenas; i++) {
        g_autofree struct ctw_process *p = g_new(struct ctw_process, 1);
        if (ctw_process_at(&in, i, p) == CTW_OK) {
            read_process(ev, kb, source, &in, p);
            used++;
        } else {
            tell_unreadable(ev, source, i, p);
            bad++;
        }
    }
    g_autofree char *note = NULL;
    if (used + bad + in.run.refused + in.run.no_space == 0)
        note = g_strdup("not written into: no CUDA yet, LD_PRELOAD did not reach the program, or its "
                        "user may not write this file");
    else if (bad || in.run.refused || in.run.no_space)
        note =
            g_strdup_printf("%u processes read, %u cannot be read, %u found no slot, %u no space",
                            used, bad, in.run.refused, in.run.no_space);
    ct_evidence_end_source(ev, source, note ? CT_PARTIAL : CT_OK, (gint64)len, CT_NONE, note);
    return TRUE;
}

/* A record that is being written has its whole length from the start, most of it a hole. */
static guint64 bytes_in_use(int fd)
{
    struct ctw_run run;
    if (pread(fd, &run, sizeof run, 0) != (gssize)sizeof run)
        return sizeof run;
    return CTW_RUN_BYTES + MIN(run.claimed, CTW_MAX_SLOTS) * ctw_layout().bytes;
}

static guint8 *read_all(const char *path, gsize *out_len, GError **error)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct stat st;
    guint8 *data = NULL;
    gsize n = 0;
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
        gsize size = (gsize)MIN((guint64)st.st_size, bytes_in_use(fd));
        data = g_try_malloc(MAX(size, 1));
        for (gssize got; data && n < size && (got = pread(fd, data + n, size - n, (off_t)n)) > 0;)
            n += (gsize)got;
    }
    if (!data)
        g_set_error(error, CT_ERROR, CT_ERROR_IO, "%s", fd < 0 ? g_strerror(errno) : "cannot read");
    if (fd >= 0)
        close(fd);
    *out_len = n;
    return data;
}

gboolean ct_record_import(CtEvidence *ev, const CtKb *kb, const char *path, GError **error)
{
    gsize len;
    g_autofree guint8 *data = read_all(path, &len, error);
    return data && ct_record_import_bytes(ev, kb, path, data, len, error);
}
