/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The address of a fault among the blocks of a record. It stands in what other sources tell: an
 * Xid, a fault of nvgpu, a checker, a core. A record is read after them.
 */
#include <string.h>

#include "run/record-private.h"

#define MAX_FAULTS 64u
#define NEAR_BYTES (16u << 20) /* a kernel that runs past a block seldom runs further */

typedef struct {
    guint64 at, bytes;
    gint64 alloc_ns, free_ns; /* 0: live at the end */
    guint32 site, tid, free_tid;
    guint kind, free_fn;
    guint64 from[CTW_FREE_ADDRS];
} Block;

static int by_address(gconstpointer a, gconstpointer b)
{
    const Block *x = a, *y = b;
    return x->at < y->at ? -1 : x->at > y->at ? 1 : x->free_ns < y->free_ns ? -1
           : x->free_ns > y->free_ns;
}

/* What a kernel can reach by an address. Physical memory and arrays have none. */
static gboolean has_address(guint kind)
{
    return kind < CTW_N_MEM ? kind != CTW_MEM_PHYSICAL && kind != CTW_MEM_ARRAY &&
                                  kind != CTW_MEM_EXTERNAL
                            : kind == CTW_OBJ_MAPPING;
}

static GArray *blocks_of(const struct ctw_process *p)
{
    GArray *out = g_array_new(FALSE, FALSE, sizeof(Block));
    struct ctw_live l;
    struct ctw_freed f;
    guint64 key;
    for (guint i = 0; i < CTW_LIVE; i++) {
        if (!ctw_get_live(p, i, &key, &l) || !has_address(l.kind) || !l.bytes)
            continue;
        Block b = {.at = CTW_KEY_VALUE(key), .bytes = l.bytes, .alloc_ns = l.t_ns, .site = l.site,
                   .tid = l.tid, .kind = l.kind};
        g_array_append_val(out, b);
    }
    for (guint i = 0; i < CTW_FREED; i++) {
        if (!ctw_get_freed(p, i, &f) || !has_address(f.kind) || !f.bytes)
            continue;
        Block b = {.at = f.ptr, .bytes = f.bytes, .alloc_ns = f.alloc_ns, .free_ns = f.free_ns,
                   .site = f.site, .tid = f.alloc_tid, .free_tid = f.tid, .kind = f.kind,
                   .free_fn = f.fn};
        memcpy(b.from, f.from, sizeof b.from);
        g_array_append_val(out, b);
    }
    g_array_sort(out, by_address);
    return out;
}

typedef enum { IN_LIVE, IN_FREED, PAST, BEFORE } Where;

typedef struct {
    const Block *block;
    Where where;
    guint64 distance; /* from its start when inside, else to its nearest edge */
} Hit;

/* Inside a live block, else inside the one that was freed last, else beside the nearest live one.
 */
static gboolean look_up(const GArray *blocks, guint64 address, Hit *out)
{
    Hit best = {0};
    guint rank = G_MAXUINT;
    for (guint i = 0; i < blocks->len; i++) {
        const Block *b = &g_array_index(blocks, Block, i);
        gboolean inside = address >= b->at && address - b->at < b->bytes;
        guint64 distance = address < b->at ? b->at - address : address - b->at;
        if (!inside && address >= b->at)
            distance -= b->bytes;
        Hit h = {b, inside ? (b->free_ns ? IN_FREED : IN_LIVE) : address < b->at ? BEFORE : PAST,
                 distance};
        guint mine = h.where == IN_LIVE ? 0 : h.where == IN_FREED ? 1 : b->free_ns ? 3 : 2;
        gboolean later = mine == 1 && rank == 1 && b->free_ns > best.block->free_ns;
        gboolean nearer = mine >= 2 && mine == rank && distance < best.distance;
        if ((!inside && distance > NEAR_BYTES) || !(mine < rank || later || nearer))
            continue;
        best = h;
        rank = mine;
    }
    *out = best;
    return best.block != NULL;
}

/* ---- what other sources tell ---- */

/* "0x7f12_00a0b000", as the kernel driver groups it, too. */
static gboolean parse_address(const char *text, guint64 *out)
{
    guint64 value = 0;
    guint digits = 0;
    if (g_str_has_prefix(text, "0x") || g_str_has_prefix(text, "0X"))
        text += 2;
    for (; g_ascii_isxdigit(*text) || (*text == '_' && digits); text++) {
        if (*text == '_')
            continue;
        value = value << 4 | (guint64)g_ascii_xdigit_value(*text);
        if (++digits > 16)
            return FALSE;
    }
    *out = value;
    return digits >= 5 && value > 0xffff;
}

static gboolean address_in(const char *detail, const char *text, guint64 *out)
{
    static const char *const marks[] = {"faulted @ ", "fault_addr:", "fault addr", "address ",
                                        "Address ", "Access to ", "Access at ", "address: ",
                                        "address:", " at 0x"};
    json_t *d = detail ? json_loads(detail, 0, NULL) : NULL;
    const char *value = d ? json_string_value(json_object_get(d, "address")) : NULL;
    gboolean ok = value && parse_address(value, out);
    json_decref(d);
    for (gsize i = 0; text && !ok && i < G_N_ELEMENTS(marks); i++)
        for (const char *at = text; !ok && (at = strstr(at, marks[i])) != NULL; at++) {
            const char *hex = at + strlen(marks[i]);
            hex = g_str_has_suffix(marks[i], "0x") ? hex - 2 : hex + strspn(hex, " :=");
            ok = g_str_has_prefix(hex, "0x") && parse_address(hex, out);
        }
    return ok;
}

static const char *where_word(Where w)
{
    static const char *const words[] = {"live", "freed", "past", "before"};
    return words[w];
}

static char *block_text(const CtReading *r, const Block *b, gint64 now)
{
    struct ctw_site site = {0};
    gboolean known = b->site && ctw_get_site(&r->v.p, b->site - 1, &site);
    g_autofree char *size = g_format_size_full(b->bytes, G_FORMAT_SIZE_IEC_UNITS);
    g_autofree char *call = known ? ct_record_call(&r->v.p, site.fn) : g_strdup("an allocation");
    g_autofree char *place = known ? ct_record_place(&r->v.p, &site, b->site) : NULL;
    return g_strdup_printf("a block of %s at 0x%" G_GINT64_MODIFIER
                           "x (%s%s%s, thread %u, %.3f s before)",
                           size, b->at, call, place ? " at " : "", place ? place : "", b->tid,
                           ((double)now - (double)b->alloc_ns) / 1e9);
}

static void tell_hit(const CtReading *r, gint64 event, guint64 address, const Hit *h)
{
    const Block *b = h->block;
    g_autoptr(GString) text = g_string_new(NULL);
    g_autofree char *what = block_text(r, b, r->v.t1_ns);
    json_t *d = json_object();
    if (h->where == IN_FREED) {
        g_autofree char *call = ct_record_call(&r->v.p, b->free_fn);
        g_autofree char *place = ct_record_addresses(&r->v.p, b->from, CTW_FREE_ADDRS);
        g_string_printf(text, "0x%" G_GINT64_MODIFIER "x lies %" G_GUINT64_FORMAT
                        " bytes into %s, which %s%s%s had freed %.3f s before the end, thread %u",
                        address, h->distance, what, call, place ? " at " : "", place ? place : "",
                        ((double)r->v.t1_ns - (double)b->free_ns) / 1e9, b->free_tid);
        json_object_set_new(d, "free_call", json_string(call));
        if (place)
            json_object_set_new(d, "free_place", json_string(place));
    } else {
        g_string_printf(text, "0x%" G_GINT64_MODIFIER "x lies %" G_GUINT64_FORMAT " bytes %s %s",
                        address, h->distance,
                        h->where == IN_LIVE ? "into" : h->where == PAST ? "past the end of"
                                                                        : "before", what);
    }
    json_object_set_new(d, "where", json_string(where_word(h->where)));
    json_object_set_new(d, "distance_bytes", json_integer((json_int_t)h->distance));
    json_object_set_new(d, "block_bytes", json_integer((json_int_t)b->bytes));
    gint64 id = ct_reading_finding(r, "fault-block", (double)h->distance, 0.95, b->alloc_ns,
                                   r->v.t1_ns, text->str, d);
    ct_evidence_cite(r->ev, id, "event", event, 0);
}

typedef struct {
    gint64 event;
    guint64 address;
    gboolean ours;
} Told;

static void faults_of_others(const CtReading *r, const GArray *blocks)
{
    sqlite3_stmt *st = NULL;
    if (sqlite3_prepare_v2(ct_evidence_db(r->ev),
                           "SELECT id, detail, text, pid IS NULL OR pid = ?1 FROM event WHERE kind "
                           "IN ('xid', 'nvgpu-fault', "
                           "'sanitizer-report', 'gpu-core', 'gpu-exception', 'gpu-fault', "
                           "'iommu-fault', 'cuda-error') AND section <> ?2 ORDER BY seq LIMIT 2000",
                           -1, &st, NULL) != SQLITE_OK)
        return;
    sqlite3_bind_int64(st, 1, r->v.p.head.pid);
    sqlite3_bind_int64(st, 2, r->section);
    g_autoptr(GArray) hits = g_array_new(FALSE, FALSE, sizeof(Told));
    while (sqlite3_step(st) == SQLITE_ROW && hits->len < MAX_FAULTS) {
        Told told = {.event = sqlite3_column_int64(st, 0), .ours = sqlite3_column_int(st, 3)};
        if (address_in((const char *)sqlite3_column_text(st, 1),
                       (const char *)sqlite3_column_text(st, 2), &told.address))
            g_array_append_val(hits, told);
    }
    sqlite3_finalize(st);
    for (guint i = 0; i < hits->len; i++) {
        const Told *told = &g_array_index(hits, Told, i);
        Hit h;
        /* Numbers of processes differ between containers; an address inside a block decides. */
        if (look_up(blocks, told->address, &h) && (told->ours || h.where <= IN_FREED))
            tell_hit(r, told->event, told->address, &h);
    }
}

/* ---- what the record tells alone ---- */

typedef struct {
    gint64 launch_ns; /* of what failed: the last launch before the failing call */
    gint64 ok_ns;     /* the last wait that succeeded before it */
    guint64 exec;     /* when it was a graph */
} Failing;

static gboolean find_failing(const CtReading *r, const struct ctw_freeze *f, Failing *out)
{
    *out = (Failing){0};
    for (guint i = 0; i < CTW_RINGS; i++)
        for (guint k = 0; k < CTW_FREEZE_ENTRIES; k++) {
            const struct ctw_entry *e = &f->last[i][k];
            struct ctw_hook h;
            if (!e->seq || e->result || e->t_ns > f->call.t_ns ||
                !ctw_get_hook(&r->v.p, e->fn, &h))
                continue;
            gboolean graph = h.cls == CTW_CLASS_GRAPH_LAUNCH;
            if ((graph || h.cls == CTW_CLASS_LAUNCH) && e->t_ns > out->launch_ns) {
                out->launch_ns = e->t_ns;
                out->exec = graph ? e->a : 0;
            }
            if (h.cls == CTW_CLASS_SYNC)
                out->ok_ns = MAX(out->ok_ns, e->t_ns);
        }
    return out->launch_ns > 0;
}

static gint64 made_ns(const CtReading *r, guint kind, guint64 handle)
{
    struct ctw_live l;
    guint64 key;
    for (guint i = 0; i < CTW_LIVE; i++)
        if (ctw_get_live(&r->v.p, i, &key, &l) && l.kind == kind && CTW_KEY_VALUE(key) == handle)
            return l.t_ns;
    return 0;
}

/*
 * A kernel faulted on an address that nobody wrote down. When a block was freed after the last wait
 * that went well and before the launch that failed, or is one that a graph was made with, the two
 * belong together more often than not.
 */
static void freed_before(const CtReading *r, const GArray *blocks)
{
    g_autofree struct ctw_freeze *f = g_new(struct ctw_freeze, 1);
    Failing x;
    if (!ctw_get_freeze(&r->v.p, 1, f) || (f->call.result != 700 && f->call.result != 717) ||
        !find_failing(r, f, &x))
        return;
    gint64 from = x.exec ? made_ns(r, CTW_OBJ_EXEC, x.exec) : x.ok_ns;
    const Block *last = NULL;
    guint n = 0;
    for (guint i = 0; i < blocks->len; i++) {
        const Block *b = &g_array_index(blocks, Block, i);
        if (!b->free_ns || b->free_ns < from || b->free_ns > x.launch_ns || b->alloc_ns > from ||
            from == 0 || !ct_record_is_device(b->kind))
            continue;
        n++;
        if (!last || b->bytes > last->bytes)
            last = b;
    }
    if (!last)
        return;
    g_autofree char *what = block_text(r, last, f->call.t_ns);
    g_autofree char *call = ct_record_call(&r->v.p, last->free_fn);
    g_autofree char *place = ct_record_addresses(&r->v.p, last->from, CTW_FREE_ADDRS);
    g_autofree char *text = g_strdup_printf(
        "%s was freed by %s%s%s %s %.3f ms before the launch that failed%s", what, call,
        place ? " at " : "", place ? place : "",
        x.exec ? "after the graph had been made that replays its address," : "",
        ((double)x.launch_ns - (double)last->free_ns) / 1e6,
        n > 1 ? "; it is the largest of several" : "");
    ct_reading_finding(r, "freed-before-fault", (double)n, x.exec ? 0.9 : 0.75, last->alloc_ns,
                       f->call.t_ns, text,
                       json_pack("{s:s, s:s, s:I}", "via", x.exec ? "graph" : "kernel", "call",
                                 call, "block_bytes", (json_int_t)last->bytes));
}

void ct_reading_blocks(const CtReading *r)
{
    g_autoptr(GArray) blocks = blocks_of(&r->v.p);
    ct_evidence_flush(r->ev);
    faults_of_others(r, blocks);
    freed_before(r, blocks);
}
