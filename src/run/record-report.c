/* SPDX-License-Identifier: Apache-2.0 */
#include "run/record-read.h"

#define MAX_PROCESSES 4u
#define MAX_SITES 5u

static void add_memory(GString *out, const CtRecordView *v)
{
    guint told = 0;
    for (guint i = 0; i < v->sites->len && told < MAX_SITES; i++) {
        const CtRecordSite *s = &g_array_index(v->sites, CtRecordSite, i);
        if (!s->site.live_bytes && s->verdict == CT_SITE_QUIET)
            continue;
        g_autofree char *call = ct_record_call(&v->p, s->site.fn);
        g_autofree char *place = ct_record_place(&v->p, &s->site, s->number);
        g_autofree char *live = g_format_size_full(s->site.live_bytes, G_FORMAT_SIZE_IEC_UNITS);
        g_string_append_printf(out, "  %10s in %" G_GUINT64_FORMAT " blocks  %s%s%s", live,
                               (guint64)s->site.live_count, call, place ? "  " : "",
                               place ? place : "");
        if (s->verdict == CT_SITE_GROWS) {
            g_autofree char *each = g_format_size_full((guint64)s->bytes_per_call,
                                                       G_FORMAT_SIZE_IEC_UNITS);
            g_string_append_printf(out, "\n             GROWS by %s a call, still at the end%s", each,
                                   s->site.frees ? "" : "; never freed");
        } else if (s->verdict == CT_SITE_HOT) {
            g_string_append_printf(out, "\n             allocated and freed %.0f times a second",
                                   s->calls_per_second);
        }
        g_string_append_c(out, '\n');
        told++;
    }
    if (!told)
        g_string_append(out, "  no allocation is left\n");
}

static void add_error(GString *out, const CtRecordView *v, const CtKb *kb)
{
    g_autofree struct ctw_freeze *f = g_new(struct ctw_freeze, 1);
    for (guint i = 0; i < CTW_FREEZES; i++) {
        if (!ctw_get_freeze(&v->p, i, f))
            continue;
        g_autofree char *call = ct_record_call(&v->p, f->call.fn);
        const char *name = kb ? ct_kb_code_name(kb, "cuda", f->call.result) : NULL;
        gint64 when = f->call.t_ns;
        g_string_append_printf(out, "  %s: %s -> %d %s, %.3f s after the start\n",
                               i ? "first fault" : "first error", call, f->call.result,
                               name ? name : "", ((double)when - (double)v->t0_ns) / 1e9);
        g_autoptr(GPtrArray) names = ct_record_suspects(&v->p, f);
        for (guint k = 0; i == 1 && k < names->len; k++)
            g_string_append_printf(out, "%s%s", k ? ", " : "    in flight: ",
                                   (char *)g_ptr_array_index(names, k));
        if (i == 1 && names->len)
            g_string_append_c(out, '\n');
    }
}

static void add_process(GString *out, const CtRecordView *v, const CtKb *kb)
{
    const struct ctw_arena *h = &v->p.head;
    g_autofree char *comm = g_utf8_make_valid(h->comm, -1);
    guint64 device = 0;
    for (guint k = 0; k < CTW_N_MEM; k++)
        device += ct_record_is_device(k) ? h->live_bytes[k] : 0;
    g_autofree char *live = g_format_size_full(device, G_FORMAT_SIZE_IEC_UNITS);
    g_string_append_printf(out,
                           "process %u (%s): %" G_GUINT64_FORMAT " launches, %" G_GUINT64_FORMAT
                           " allocations, %" G_GUINT64_FORMAT " frees, %s of device memory live\n",
                           h->pid, comm,
                           (guint64)(v->count[CTW_CLASS_LAUNCH] + v->count[CTW_CLASS_GRAPH_LAUNCH]),
                           (guint64)h->allocs, (guint64)h->frees, live);
    add_memory(out, v);
    add_error(out, v, kb);
}

char *ct_record_report(const CtKb *kb, const guint8 *data, gsize len)
{
    g_autoptr(GString) out = g_string_new(NULL);
    struct ctw_reader in;
    guint told = 0;
    if (ctw_open(&in, data, len) != CTW_OK)
        return g_string_free(g_steal_pointer(&out), FALSE);
    for (guint i = 0; i < in.n_arenas && told < MAX_PROCESSES; i++) {
        struct ctw_process p;
        if (ctw_process_at(&in, i, &p) != CTW_OK)
            continue;
        g_auto(CtRecordView) v = {0};
        ct_record_view(&p, &v);
        add_process(out, &v, kb);
        told++;
    }
    if (told < in.n_arenas)
        g_string_append_printf(out, "and %u more processes\n", in.n_arenas - told);
    return g_string_free(g_steal_pointer(&out), FALSE);
}
