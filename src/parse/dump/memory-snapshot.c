/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PyTorch's snapshot of its caching allocator: what each device holds at the end, who holds it,
 * how large the gaps are, and how it came there.
 */
#include <math.h>
#include <string.h>

#include "parse/dump/py-values.h"

#define MAX_DEVICES 64
#define MAX_SAMPLES_OF_DEVICE 20000u
#define HOLDERS 3

typedef struct {
    double reserved, allocated, active, gap, inactive;
    guint segments;
    gboolean seen, expandable;
    GHashTable *holders; /* place -> double * */
} Device;

static double number_of(const CtPyTree *t, CtPyNode dict, const char *key)
{
    double v;
    return ct_py_number(t, ct_py_get(t, dict, key), &v) && v > 0 && v < 1e16 ? v : 0;
}

static CtStr text_of(const CtPyTree *t, CtPyNode dict, const char *key)
{
    return ct_py_text(t, ct_py_get(t, dict, key));
}

/* The first frame of the program itself: "train.py:88 step". */
static char *place(const CtPyTree *t, CtPyNode frames)
{
    for (CtPyIter it = ct_py_iter(t, frames); ct_py_next(t, &it);) {
        CtStr file = text_of(t, it.value, "filename");
        if (!ct_str_ends(file, ".py") || ct_str_has(file, "site-packages/") ||
            ct_str_has(file, "torch/") || ct_str_has(file, "/lib/python"))
            continue;
        const char *slash = memrchr(file.p, '/', file.n);
        gsize skip = slash ? (gsize)(slash - file.p) + 1 : 0;
        char f[80], n[80];
        return g_strdup_printf("%s:%.0f %s", ct_str_buf(ct_str_from(file, skip), f, sizeof f),
                               number_of(t, it.value, "line"),
                               ct_str_buf(text_of(t, it.value, "name"), n, sizeof n));
    }
    return NULL;
}

static void hold(Device *d, const CtPyTree *t, CtPyNode block, double size)
{
    CtPyNode frames = ct_py_get(t, block, "frames");
    if (!ct_py_count(t, frames)) { /* older: history[0].frames */
        CtPyIter it = ct_py_iter(t, ct_py_get(t, block, "history"));
        if (ct_py_next(t, &it))
            frames = ct_py_get(t, it.value, "frames");
    }
    char *where = place(t, frames);
    if (!where)
        return;
    double *sum = g_hash_table_lookup(d->holders, where);
    if (sum) {
        *sum += size;
        g_free(where);
    } else if (g_hash_table_size(d->holders) < 10000) {
        sum = g_new(double, 1);
        *sum = size;
        g_hash_table_insert(d->holders, where, sum);
    } else {
        g_free(where);
    }
}

static void segment(const CtPyTree *t, CtPyNode s, Device *devices)
{
    double index = number_of(t, s, "device");
    if (index >= MAX_DEVICES)
        return;
    Device *d = &devices[(guint)index];
    d->seen = TRUE;
    if (!d->holders)
        d->holders = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    d->segments++;
    d->reserved += number_of(t, s, "total_size");
    d->allocated += number_of(t, s, "allocated_size");
    d->active += number_of(t, s, "active_size");
    d->expandable |= number_of(t, s, "is_expandable") > 0;
    for (CtPyIter it = ct_py_iter(t, ct_py_get(t, s, "blocks")); ct_py_next(t, &it);) {
        double size = number_of(t, it.value, "size");
        CtStr state = text_of(t, it.value, "state");
        if (ct_str_eq(state, "inactive")) {
            d->inactive += size;
            d->gap = MAX(d->gap, size);
        } else if (ct_str_eq(state, "active_allocated")) {
            hold(d, t, it.value, size);
        }
    }
}

static void emit_holders(Device *d, const char *subject, CtEmit *emit)
{
    const char *best[HOLDERS] = {NULL};
    double size[HOLDERS] = {0};
    GHashTableIter it;
    gpointer key, value;
    g_hash_table_iter_init(&it, d->holders);
    while (g_hash_table_iter_next(&it, &key, &value)) {
        double v = *(double *)value;
        guint at = 0;
        while (at < HOLDERS && size[at] >= v)
            at++;
        for (guint i = HOLDERS - 1; at < HOLDERS && i > at; i--) {
            best[i] = best[i - 1];
            size[i] = size[i - 1];
        }
        if (at < HOLDERS) {
            best[at] = key;
            size[at] = v;
        }
    }
    for (guint i = 0; i < HOLDERS && best[i]; i++)
        ct_emit_number(emit, NULL, subject, "torch.memory.holder", size[i], best[i]);
}

static void emit_device(guint index, Device *d, CtEmit *emit)
{
    char subject[24], expandable[4];
    g_snprintf(subject, sizeof subject, "gpu:%u", index);
    g_snprintf(expandable, sizeof expandable, "%s", d->expandable ? "yes" : "no");
    ct_emit_number(emit, NULL, subject, "torch.memory.reserved", d->reserved, NULL);
    ct_emit_number(emit, NULL, subject, "torch.memory.allocated", d->allocated, NULL);
    ct_emit_number(emit, NULL, subject, "torch.memory.inactive", d->inactive, NULL);
    ct_emit_number(emit, NULL, subject, "torch.memory.largest-gap", d->gap, NULL);
    ct_emit_number(emit, NULL, subject, "torch.memory.segments", d->segments, NULL);
    ct_emit_fact(emit, NULL, subject, "torch.memory.expandable", expandable);
    emit_holders(d, subject, emit);
}

/* ---- the trace ---- */

typedef struct {
    double used, reserved;
} Change;

static Change change_of(const CtPyTree *t, CtPyNode e)
{
    CtStr action = text_of(t, e, "action");
    double size = number_of(t, e, "size");
    if (ct_str_eq(action, "alloc"))
        return (Change){size, 0};
    if (ct_str_eq(action, "free_completed"))
        return (Change){-size, 0};
    if (ct_str_eq(action, "segment_alloc") || ct_str_eq(action, "segment_map"))
        return (Change){0, size};
    if (ct_str_eq(action, "segment_free") || ct_str_eq(action, "segment_unmap"))
        return (Change){0, -size};
    return (Change){0, 0};
}

/* The allocator could not serve a request: what it had, in the words of the text message. */
static void out_of_memory(const CtPyTree *t, CtPyNode e, guint index, Change at, gint64 when,
                          CtEmit *emit)
{
    char detail[256], gpu[16], text[96];
    double size = number_of(t, e, "size");
    g_snprintf(gpu, sizeof gpu, "%u", index);
    g_snprintf(detail, sizeof detail,
               "{\"tried_bytes\":%.0f,\"free_bytes\":%.0f,\"allocated_bytes\":%.0f,"
               "\"reserved_bytes\":%.0f,\"total_bytes\":%.0f}",
               size, number_of(t, e, "device_free"), at.used, at.reserved,
               at.reserved + number_of(t, e, "device_free"));
    g_snprintf(text, sizeof text, "oom: %.0f bytes asked, %.0f held by tensors", size, at.used);
    CtLine line = ct_line_at(1, text, strlen(text));
    ct_emit_event(emit, &line,
                  (CtEventRow){.kind = "framework-oom", .severity = CT_SEV_ERROR,
                               .name = "pytorch", .gpu = gpu,
                               .t_ns = when == CT_TIME_UNKNOWN ? 0 : when, .detail = detail});
}

/* Time is in microseconds: since 1970 in most versions, else only the order counts. */
static gint64 time_of(const CtPyTree *t, CtPyNode e)
{
    double us = number_of(t, e, "time_us");
    return us > 1e15 && us < 4e15 ? (gint64)us * 1000 : CT_TIME_UNKNOWN;
}

/* What the device held before the first entry follows from the end; the ring may have lost the
 * beginning. Of long traces each sample is the peak of several entries. */
static void trace(const CtPyTree *t, CtPyNode list, guint index, Device *d, CtEmit *emit)
{
    Change sum = {0, 0}, at, peak = {0, 0};
    char subject[24];
    gsize n = ct_py_count(t, list), i = 0;
    gsize every = n / MAX_SAMPLES_OF_DEVICE + 1;
    g_snprintf(subject, sizeof subject, "gpu:%u", index);
    for (CtPyIter it = ct_py_iter(t, list); ct_py_next(t, &it);) {
        Change c = change_of(t, it.value);
        sum.used += c.used;
        sum.reserved += c.reserved;
    }
    at = (Change){MAX(d->allocated - sum.used, 0), MAX(d->reserved - sum.reserved, 0)};
    for (CtPyIter it = ct_py_iter(t, list); ct_py_next(t, &it); i++) {
        Change c = change_of(t, it.value);
        gint64 when = time_of(t, it.value);
        at.used = MAX(at.used + c.used, 0);
        at.reserved = MAX(at.reserved + c.reserved, 0);
        peak.used = MAX(peak.used, at.used);
        peak.reserved = MAX(peak.reserved, at.reserved);
        if (ct_str_eq(text_of(t, it.value, "action"), "oom"))
            out_of_memory(t, it.value, index, at, when, emit);
        if (i % every != every - 1)
            continue;
        ct_emit_sample(emit, NULL, subject, "pool.used", "bytes", when, peak.used);
        ct_emit_sample(emit, NULL, subject, "pool.reserved", "bytes", when, peak.reserved);
        peak = (Change){0, 0};
    }
}

/* ---- what was allocated all along the trace and never freed ---- */

#define PARTS 4
#define KEPT_BLOCKS 20u

typedef struct {
    guint n[PARTS];
    double bytes;
} Kept;

/* Parameters stay from the beginning, activations from the end; what stays evenly from every part
 * of the trace is kept by somebody, request after request. */
static void emit_kept(const char *where, const Kept *k, const char *subject, CtEmit *emit)
{
    guint total = 0;
    for (guint i = 0; i < PARTS; i++)
        total += k->n[i];
    if (total < KEPT_BLOCKS)
        return;
    for (guint i = 0; i < PARTS; i++)
        if (k->n[i] * PARTS * 2 < total)
            return;
    ct_emit_number(emit, NULL, subject, "torch.memory.kept", k->bytes, where);
}

static void kept(const CtPyTree *t, CtPyNode list, guint index, CtEmit *emit)
{
    g_autoptr(GHashTable) live = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
    g_autoptr(GHashTable) places = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    gsize n = ct_py_count(t, list), i = 0;
    guint32 part = 0;
    char subject[24];
    gint64 address;
    g_snprintf(subject, sizeof subject, "gpu:%u", index);
    g_autoptr(GPtrArray) entries = g_ptr_array_new(); /* node of each entry; index is its number */
    for (CtPyIter it = ct_py_iter(t, list); ct_py_next(t, &it); i++) {
        CtStr action = text_of(t, it.value, "action");
        g_ptr_array_add(entries, GUINT_TO_POINTER(it.value));
        if (!ct_py_int(t, ct_py_get(t, it.value, "addr"), &address))
            continue;
        if (ct_str_eq(action, "alloc")) {
            gint64 *key = g_new(gint64, 1);
            *key = address;
            g_hash_table_replace(live, key, GUINT_TO_POINTER((guint)i + 1));
        } else if (ct_str_eq(action, "free_completed") || ct_str_eq(action, "free_requested")) {
            g_hash_table_remove(live, &address);
        }
    }
    GHashTableIter h;
    gpointer key, value;
    g_hash_table_iter_init(&h, live);
    while (g_hash_table_iter_next(&h, &key, &value)) {
        guint at = GPOINTER_TO_UINT(value) - 1;
        CtPyNode e = GPOINTER_TO_UINT(entries->pdata[at]);
        char *where = place(t, ct_py_get(t, e, "frames"));
        if (!where)
            continue;
        Kept *k = g_hash_table_lookup(places, where);
        if (!k) {
            k = g_new0(Kept, 1);
            g_hash_table_insert(places, g_strdup(where), k);
        }
        g_free(where);
        part = (guint32)((guint64)at * PARTS / MAX(n, 1));
        k->n[MIN(part, PARTS - 1u)]++;
        k->bytes += number_of(t, e, "size");
    }
    g_hash_table_iter_init(&h, places);
    while (g_hash_table_iter_next(&h, &key, &value))
        emit_kept(key, value, subject, emit);
}

static void read_tree(const CtPyTree *t, CtEmit *emit)
{
    g_autofree Device *devices = g_new0(Device, MAX_DEVICES);
    CtPyNode root = ct_py_root(t), segments = ct_py_get(t, root, "segments");
    if (ct_py_type(t, root) == CT_PY_LIST)
        segments = root; /* torch.cuda.memory_snapshot() is the list alone */
    for (CtPyIter it = ct_py_iter(t, segments); ct_py_next(t, &it);)
        segment(t, it.value, devices);
    guint index = 0;
    CtPyIter it = ct_py_iter(t, ct_py_get(t, root, "device_traces"));
    while (index < MAX_DEVICES && ct_py_next(t, &it)) {
        if (ct_py_count(t, it.value) > 0) {
            trace(t, it.value, index, &devices[index], emit);
            kept(t, it.value, index, emit);
        }
        index++;
    }
    for (index = 0; index < MAX_DEVICES; index++) {
        if (devices[index].seen)
            emit_device(index, &devices[index], emit);
        if (devices[index].holders)
            g_hash_table_unref(devices[index].holders);
    }
    ct_emit_clock(emit, "wall");
    ct_emit_coverage(emit, "memory-snapshot", NULL);
}

static void document(const char *data, gsize len, guint first_line, CtEmit *emit)
{
    const char *why;
    g_autoptr(CtPyTree) t = len > 1 && (guint8)data[0] == 0x80
                                ? ct_py_read_pickle((const guint8 *)data, len, &why, NULL)
                                : ct_py_read_json(data, len, &why);
    if (!t)
        ct_emit_status(emit, CT_FAILED, why);
    else
        read_tree(t, emit);
}

static gboolean binary(const guint8 *head, gsize len)
{
    return len > 2 && head[0] == 0x80 &&
           (memmem(head, len, "segment", 7) || memmem(head, len, "device_traces", 13)) &&
           (memmem(head, len, "blocks", 6) || memmem(head, len, "total_size", 10) ||
            memmem(head, len, "address", 7));
}

static int sniff(const CtSniff *sniff)
{
    gsize i = 0;
    while (i < sniff->len && g_ascii_isspace(sniff->head[i]))
        i++;
    if (i >= sniff->len || !strchr("{[", sniff->head[i]))
        return 0;
    return memmem(sniff->head, sniff->len, "\"total_size\"", 12) &&
                   memmem(sniff->head, sniff->len, "\"segment_type\"", 14)
               ? 95
               : 0;
}

const CtParser ct_parser_memory_snapshot = {
    .id = "memory-snapshot",
    .summary = "PyTorch's snapshot of its allocator",
    .doc = "The pickle of torch.cuda.memory._dump_snapshot(), or the same written as JSON: for each device the bytes reserved, "
           "allocated and inactive, the largest gap, and the places of the program that hold "
           "most; from the trace the places whose "
           "blocks are kept all along, the series pool.used and pool.reserved and an event for each "
           "allocation that failed.",
    .sniff = sniff,
    .document = document,
    .binary = binary,
};
