/* SPDX-License-Identifier: Apache-2.0 */
/* What the tables of a record say before anything is concluded, and the verdict on each site. */
#include <string.h>

#include "run/record-read.h"

#define LEAK_CALLS 64u /* fewer allocations than this are no pattern */
#define HOT_CALLS 64u

const char *ct_record_mem(guint kind)
{
    static const char *const names[CTW_N_KINDS] = {"device", "pitched",      "managed",
                                                 "pinned host", "registered host",
                                                 "stream-ordered", "stream-ordered (own pool)",
                                                 "physical", "array", "external", "shared by IPC",
                                                 "mapping", "reservation", "stream", "event",
                                                 "context", "module", "library", "graph",
                                                 "executable graph", "pool", "semaphore"};
    return kind < CTW_N_KINDS ? names[kind] : "unknown";
}

gboolean ct_record_is_async(guint kind)
{
    return kind == CTW_MEM_ASYNC || kind == CTW_MEM_POOL;
}

gboolean ct_record_is_device(guint kind)
{
    return kind != CTW_MEM_HOST && kind != CTW_MEM_REGISTERED && kind < CTW_N_MEM;
}

char *ct_record_call(const struct ctw_process *p, guint fn)
{
    static const char *const suffixes[] = {"_ptsz", "_ptds", "_v2"};
    struct ctw_hook h;
    if (!ctw_get_hook(p, fn, &h))
        return g_strdup("an unknown call");
    for (gsize i = 0; i < G_N_ELEMENTS(suffixes); i++)
        if (g_str_has_suffix(h.name, suffixes[i]))
            h.name[strlen(h.name) - strlen(suffixes[i])] = 0;
    for (char *c = h.name; *c; c++)
        if (!g_ascii_isalnum(*c) && *c != '_')
            *c = '?';
    return g_strdup(h.name);
}

/* A CUDA runtime that is linked into the program stands between it and the driver, and what starts
 * programs and threads stands at the end. */
static gboolean is_runtime(const char *symbol)
{
    static const char *const prefixes[] = {"cudart::", "__cudart", "libcudart_static_", "_start",
                                           "__libc_start", "clone", "start_thread"};
    for (gsize i = 0; i < G_N_ELEMENTS(prefixes); i++)
        if (g_str_has_prefix(symbol, prefixes[i]))
            return TRUE;
    return FALSE;
}

static gboolean module_of(const struct ctw_process *p, guint64 address, struct ctw_module *out)
{
    for (guint i = 0; i < CTW_MODULES; i++)
        if (ctw_get_module(p, i, out) && address >= out->lo && address < out->hi)
            return TRUE;
    return FALSE;
}

/* The driver and the runtime stand in every chain and tell nothing. */
static gboolean is_vendor(const char *name)
{
    return g_str_has_prefix(name, "libcuda.") || g_str_has_prefix(name, "libcudart") ||
           g_str_has_prefix(name, "libc.so") || g_str_has_prefix(name, "libc-") ||
           g_str_has_prefix(name, "libcutriage");
}

char *ct_record_addresses(const struct ctw_process *p, const guint64 *addr, guint n)
{
    g_autoptr(GString) out = g_string_new(NULL);
    guint told = 0;
    for (guint i = 0; i < n && told < 3; i++) {
        struct ctw_module m;
        if (!module_of(p, addr[i], &m))
            continue;
        const char *path = ctw_get_string(p, m.name);
        g_autofree char *base = path ? g_path_get_basename(path) : g_strdup("?");
        g_autofree char *valid = g_utf8_make_valid(base, -1);
        if (is_vendor(valid))
            continue;
        g_autofree char *symbol = ct_record_symbol(p, addr[i]);
        if (symbol && is_runtime(symbol))
            continue;
        g_string_append(out, told ? " < " : "");
        if (symbol)
            g_string_append(out, symbol);
        else
            g_string_append_printf(out, "%s+0x%" G_GINT64_MODIFIER "x", valid, addr[i] - m.bias);
        told++;
    }
    return out->len ? g_string_free(g_steal_pointer(&out), FALSE) : NULL;
}

char *ct_record_place(const struct ctw_process *p, const struct ctw_site *site, guint number)
{
    guint64 addr[32];
    guint n = ct_record_unwind(p, number, addr, G_N_ELEMENTS(addr));
    char *out = n ? ct_record_addresses(p, addr, n) : NULL;
    return out ? out : ct_record_addresses(p, site->addr, site->n_addr);
}

static guint class_of(const struct ctw_process *p, guint fn)
{
    struct ctw_hook h;
    return ctw_get_hook(p, fn, &h) ? h.cls : CTW_CLASS_OTHER;
}

/* Winding up at the end takes its time; the run is judged up to its last piece of work. */
static gboolean is_work(const struct ctw_process *p, guint fn)
{
    guint cls = class_of(p, fn);
    return cls == CTW_CLASS_LAUNCH || cls == CTW_CLASS_GRAPH_LAUNCH || cls == CTW_CLASS_COPY;
}

static void count_rings(CtRecordView *v)
{
    for (guint i = 0; i < CTW_RINGS; i++) {
        struct ctw_ring r;
        struct ctw_entry e;
        if (!ctw_get_ring(&v->p, i, &r))
            continue;
        v->rings++;
        v->nested += r.nested;
        for (guint k = 0; k < CTW_N_CLASSES; k++)
            v->count[k] += r.count[k];
        v->t1_ns = MAX(v->t1_ns, r.last_ns);
        for (guint64 back = 0; back < CTW_RING_ENTRIES && v->p.len; back++)
            if (ctw_get_entry(&v->p, i, back, &e) && is_work(&v->p, e.fn)) {
                v->end_ns = MAX(v->end_ns, e.t_ns);
                break;
            }
    }
    if (v->end_ns == v->t0_ns)
        v->end_ns = v->t1_ns;
}

/*
 * Grows: the memory that a site holds rises with the number of its calls, by about as much in the
 * second half as in the quarter before, over most of the run, while the program works. A start-up
 * that loads weights has no work between its allocations, a cache that fills stops filling.
 */
static gboolean grows(const CtRecordView *v, CtRecordSite *s)
{
    const struct ctw_site *x = &s->site;
    if (x->allocs < LEAK_CALLS || x->allocs >= G_GUINT64_CONSTANT(1) << (CTW_MILESTONES - 1))
        return FALSE;
    guint top = g_bit_storage(x->allocs) - 1;
    const struct ctw_milestone *m = x->mile;
    if (!m[top].t_ns) /* threads that counted at once may note it a call later */
        top--;
    if (!m[top].t_ns || !m[top - 1].t_ns || !m[top - 2].t_ns)
        return FALSE;
    double late = (double)m[top].live_bytes - (double)m[top - 1].live_bytes;
    double early = (double)m[top - 1].live_bytes - (double)m[top - 2].live_bytes;
    double blocks = (double)m[top].live_count - (double)m[top - 1].live_count;
    double calls = (double)(G_GUINT64_CONSTANT(1) << (top - 1));
    double span = ((double)v->end_ns - (double)v->t0_ns),
           seconds = (double)m[top].t_ns - (double)m[top - 1].t_ns;
    double work = (double)(v->count[CTW_CLASS_LAUNCH] + v->count[CTW_CLASS_GRAPH_LAUNCH] +
                           v->count[CTW_CLASS_COPY] + v->count[CTW_CLASS_SET] +
                           v->count[CTW_CLASS_SYNC]);
    if (late <= 0 || late < 1.2 * early || blocks < 0.02 * calls || blocks < 4 || span <= 0)
        return FALSE;
    /* Still at it near the end, and not done with most of it near the beginning. */
    if (((double)v->end_ns - (double)x->last_ns) > 0.2 * span ||
        (double)m[top - 1].t_ns - (double)v->t0_ns < 0.08 * span || work < (double)x->allocs / 2)
        return FALSE;
    s->bytes_per_call = late / calls;
    s->bytes_per_second = seconds > 0 ? late / seconds * 1e9 : 0;
    return TRUE;
}

static gboolean is_hot(const CtRecordView *v, const CtRecordSite *s)
{
    const struct ctw_site *x = &s->site;
    double span = ((double)v->end_ns - (double)v->t0_ns);
    return !ct_record_is_async(x->kind) && x->allocs >= HOT_CALLS && x->frees * 2 >= x->allocs &&
           v->count[CTW_CLASS_LAUNCH] + v->count[CTW_CLASS_GRAPH_LAUNCH] >= x->allocs / 2 &&
           ((double)v->end_ns - (double)x->last_ns) < 0.2 * span;
}

/* Memory that ran out ends what can be judged: from there on nothing grows. */
static gint64 end_of_growth(const CtRecordView *v)
{
    gint64 end = v->end_ns;
    struct ctw_error e;
    for (guint i = 0; i < CTW_ERRORS; i++)
        if (ctw_get_error(&v->p, i, &e) && (e.key & 0xffffffff) == 2 && e.first_ns > v->t0_ns)
            end = MIN(end, (gint64)e.first_ns);
    return end;
}

static int by_live(gconstpointer a, gconstpointer b)
{
    const struct ctw_site *x = &((const CtRecordSite *)a)->site;
    const struct ctw_site *y = &((const CtRecordSite *)b)->site;
    return x->live_bytes < y->live_bytes ? 1 : x->live_bytes > y->live_bytes ? -1
           : x->key < y->key ? -1 : 1;
}

void ct_record_view(const struct ctw_process *p, CtRecordView *v)
{
    *v = (CtRecordView){.p = *p, .t0_ns = p->head.mono_ns, .t1_ns = p->head.mono_ns,
                        .end_ns = p->head.mono_ns};
    v->sites = g_array_new(FALSE, TRUE, sizeof(CtRecordSite));
    count_rings(v);
    v->end_ns = end_of_growth(v);
    for (guint i = 0; i < CTW_SITES; i++) {
        CtRecordSite s = {.number = i + 1};
        if (ctw_get_site(p, i, &s.site))
            g_array_append_val(v->sites, s);
    }
    for (guint i = 0; i < v->sites->len; i++) {
        CtRecordSite *s = &g_array_index(v->sites, CtRecordSite, i);
        double seconds = ((double)s->site.last_ns - (double)s->site.first_ns) / 1e9;
        s->calls_per_second = seconds > 0 ? (double)s->site.allocs / seconds : 0;
        if (s->site.kind >= CTW_N_MEM)
            continue;
        s->verdict = grows(v, s) ? CT_SITE_GROWS : is_hot(v, s) ? CT_SITE_HOT : CT_SITE_QUIET;
    }
    g_array_sort(v->sites, by_live);
}

void ct_record_view_clear(CtRecordView *v)
{
    g_clear_pointer(&v->sites, g_array_unref);
}

static int latest_first(gconstpointer a, gconstpointer b)
{
    const struct ctw_entry *x = a, *y = b;
    return x->t_ns < y->t_ns ? 1 : x->t_ns > y->t_ns ? -1 : 0;
}

GPtrArray *ct_record_suspects(const struct ctw_process *p, const struct ctw_freeze *f)
{
    GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GArray) calls = g_array_new(FALSE, FALSE, sizeof(struct ctw_entry));
    for (guint i = 0; i < CTW_RINGS; i++)
        for (guint k = 0; k < CTW_FREEZE_ENTRIES; k++)
            if (f->last[i][k].seq && f->last[i][k].t_ns <= f->call.t_ns)
                g_array_append_val(calls, f->last[i][k]);
    g_array_sort(calls, latest_first);
    for (guint i = 0; i < calls->len && names->len < 5; i++) {
        const struct ctw_entry *e = &g_array_index(calls, struct ctw_entry, i);
        guint cls = class_of(p, e->fn);
        gboolean other = f->call.stream && e->stream && e->stream != f->call.stream;
        if (other || e->result != 0)
            continue;
        if (cls == CTW_CLASS_SYNC)
            break; /* what ran before it had ended well */
        const char *name = cls == CTW_CLASS_LAUNCH ? ctw_get_string(p, e->name) : NULL;
        if (cls == CTW_CLASS_GRAPH_LAUNCH)
            name = "(a graph)";
        if (cls != CTW_CLASS_LAUNCH && cls != CTW_CLASS_GRAPH_LAUNCH)
            continue;
        char *text = name ? g_utf8_make_valid(name, -1) : g_strdup("(a kernel of unknown name)");
        if (g_ptr_array_find_with_equal_func(names, text, g_str_equal, NULL))
            g_free(text);
        else
            g_ptr_array_add(names, text);
    }
    return names;
}
