/* SPDX-License-Identifier: Apache-2.0 */
#include "run/record-read.h"

#define MAX_PROCESSES 4u
#define MAX_SITES 5u
#define MAX_PLAN 4u
#define MAX_MERGED 200u

/* Sites that differ only in what an earlier call left on the stack unwind to the same place. */
typedef struct {
    char *call, *place;
    guint kind;
    guint64 live_bytes, live_count, allocs, frees, peak, largest;
    double bytes_per_call, calls_per_second;
    CtSiteVerdict verdict;
} Place;

static void clear_place(gpointer data)
{
    Place *p = data;
    g_free(p->call);
    g_free(p->place);
}

static int by_weight(gconstpointer a, gconstpointer b)
{
    const Place *x = a, *y = b;
    gboolean grows_x = x->verdict == CT_SITE_GROWS, grows_y = y->verdict == CT_SITE_GROWS;
    if (grows_x != grows_y)
        return grows_y - grows_x;
    return x->live_bytes < y->live_bytes ? 1 : x->live_bytes > y->live_bytes ? -1
           : x->allocs < y->allocs ? 1 : x->allocs > y->allocs ? -1 : 0;
}

static void add_site(GArray *places, const CtRecordView *v, const CtRecordSite *s)
{
    g_autofree char *call = ct_record_call(&v->p, s->site.fn);
    g_autofree char *place = ct_record_place(&v->p, &s->site, s->number);
    Place *to = NULL;
    for (guint i = 0; i < places->len && !to; i++) {
        Place *have = &g_array_index(places, Place, i);
        if (have->kind == s->site.kind && g_strcmp0(have->place, place) == 0 &&
            g_str_equal(have->call, call))
            to = have;
    }
    if (!to) {
        Place fresh = {.call = g_steal_pointer(&call), .place = g_steal_pointer(&place),
                       .kind = s->site.kind};
        g_array_append_val(places, fresh);
        to = &g_array_index(places, Place, places->len - 1);
    }
    to->live_bytes += s->site.live_bytes;
    to->live_count += s->site.live_count;
    to->allocs += s->site.allocs;
    to->frees += s->site.frees;
    to->peak += s->site.peak_bytes;
    to->largest = MAX(to->largest, s->site.largest_bytes);
    to->calls_per_second += s->calls_per_second;
    to->bytes_per_call = MAX(to->bytes_per_call, s->bytes_per_call);
    if (s->verdict == CT_SITE_GROWS || to->verdict == CT_SITE_QUIET)
        to->verdict = s->verdict;
}

static GArray *places_of(const CtRecordView *v)
{
    GArray *out = g_array_new(FALSE, TRUE, sizeof(Place));
    g_array_set_clear_func(out, clear_place);
    guint told = 0;
    for (guint i = 0; i < v->sites->len && told < MAX_MERGED; i++) {
        const CtRecordSite *s = &g_array_index(v->sites, CtRecordSite, i);
        if (s->site.kind >= CTW_N_MEM || (!s->site.live_bytes && s->verdict == CT_SITE_QUIET))
            continue;
        add_site(out, v, s);
        told++;
    }
    g_array_sort(out, by_weight);
    return out;
}

static void add_memory(GString *out, const GArray *places)
{
    for (guint i = 0; i < MIN(places->len, MAX_SITES); i++) {
        const Place *p = &g_array_index(places, Place, i);
        g_autofree char *live = g_format_size_full(p->live_bytes, G_FORMAT_SIZE_IEC_UNITS);
        g_string_append_printf(out, "  %10s in %" G_GUINT64_FORMAT " blocks  %s%s%s", live,
                               p->live_count, p->call, p->place ? "  " : "",
                               p->place ? p->place : "");
        if (p->verdict == CT_SITE_GROWS) {
            g_autofree char *each = g_format_size_full((guint64)p->bytes_per_call,
                                                       G_FORMAT_SIZE_IEC_UNITS);
            g_string_append_printf(out, "\n             GROWS by %s a call, still at the end%s",
                                   each, p->frees ? "" : "; never freed");
        } else if (p->verdict == CT_SITE_HOT) {
            g_string_append_printf(out, "\n             allocated and freed %.0f times a second",
                                   p->calls_per_second);
        }
        g_string_append_c(out, '\n');
    }
    if (places->len > MAX_SITES)
        g_string_append_printf(out, "  and %u more places\n", places->len - MAX_SITES);
    if (!places->len)
        g_string_append(out, "  no allocation is left\n");
}

/* What is taken and given back again and again: as many buffers of that size as lived at once. */
static void add_plan(GString *out, const GArray *places)
{
    guint told = 0;
    for (guint i = 0; i < places->len && told < MAX_PLAN; i++) {
        const Place *p = &g_array_index(places, Place, i);
        if (p->verdict != CT_SITE_HOT || !p->largest)
            continue;
        g_autofree char *size = g_format_size_full(p->largest, G_FORMAT_SIZE_IEC_UNITS);
        g_string_append_printf(out, "%s%" G_GUINT64_FORMAT " of %s", told ? ", " :
                               "  plan: allocate once and use again: ",
                               MAX((p->peak + p->largest - 1) / p->largest, (guint64)1), size);
        told++;
    }
    if (told)
        g_string_append_c(out, '\n');
}

static void add_peak(GString *out, const CtRecordView *v)
{
    const struct ctw_arena *h = &v->p.head;
    guint top = 0;
    for (guint k = 1; k < CTW_N_MEM; k++)
        if (h->peak_bytes[k] > h->peak_bytes[top])
            top = k;
    if (!h->peak_bytes[top] || h->peak_bytes[top] == h->live_bytes[top])
        return;
    g_autofree char *size = g_format_size_full(h->peak_bytes[top], G_FORMAT_SIZE_IEC_UNITS);
    g_string_append_printf(out, "  peak: %s of %s memory, %.1f s after the start\n", size,
                           ct_record_mem(top), ((double)h->peak_ns[top] - (double)v->t0_ns) / 1e9);
}

/* What the record does not hold. */
static void add_lost(GString *out, const CtRecordView *v)
{
    const struct ctw_arena *h = &v->p.head;
    if (h->dropped_live)
        g_string_append_printf(out,
                               "  %" G_GUINT64_FORMAT " allocations found no room in the table\n",
                               (guint64)h->dropped_live);
    if (h->dropped_sites)
        g_string_append_printf(out,
                               "  %" G_GUINT64_FORMAT " allocations have no site: the table is "
                               "full\n",
                               (guint64)h->dropped_sites);
    if (h->dropped_rings)
        g_string_append_printf(out, "  %" G_GUINT64_FORMAT " threads found no ring: their calls "
                               "count, one by one they are not kept\n", (guint64)h->dropped_rings);
    if (h->dropped_strings)
        g_string_append_printf(out, "  %" G_GUINT64_FORMAT " names found no room: what came late "
                               "stands without its name\n", (guint64)h->dropped_strings);
    if (!h->stacks)
        g_string_append(out, "  stacks were off: places are the direct callers\n");
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
    g_autoptr(GArray) places = places_of(v);
    add_memory(out, places);
    add_peak(out, v);
    add_error(out, v, kb);
    add_plan(out, places);
    add_lost(out, v);
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
