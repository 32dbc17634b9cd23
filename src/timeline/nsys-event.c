/* SPDX-License-Identifier: Apache-2.0 */
/* A row of an Nsight Systems table as an event. */
#include <string.h>

#include "timeline/nsys-private.h"

static inline gint64 get(const CtNsysTable *t, const CtPagesRow *row, CtNsysField f, gint64 missing)
{
    gint8 c = t->column[f];
    return c < 0 || row->v[c].null ? missing : row->v[c].value;
}

/* A text column may hold the text, or a number of StringIds. */
static guint32 text_of(CtNsys *n, const CtNsysTable *t, const CtPagesRow *row, CtNsysField f)
{
    gint8 c = t->column[f];
    if (c < 0 || row->v[c].null)
        return 0;
    return row->v[c].p ? ct_tl_names_add(&n->tl->names, row->v[c].p, row->v[c].n)
                       : ct_nsys_string(n, row->v[c].value);
}

typedef struct {
    guint32 d[6];
    guint32 name;
} Shape;

static guint shape_hash(gconstpointer p)
{
    const Shape *s = p;
    guint h = 0;
    for (guint i = 0; i < 6; i++)
        h = h * 31 + s->d[i];
    return h;
}

static gboolean shape_equal(gconstpointer a, gconstpointer b)
{
    return memcmp(a, b, sizeof(guint32) * 6) == 0;
}

static guint32 shape_of(CtNsys *n, const CtNsysTable *t, const CtPagesRow *row)
{
    Shape s = {0};
    if (t->column[F_GRID_X] < 0)
        return 0;
    for (guint i = 0; i < 6; i++)
        s.d[i] = (guint32)get(t, row, F_GRID_X + i, 1);
    if (!n->shapes)
        n->shapes = g_hash_table_new_full(shape_hash, shape_equal, g_free, NULL);
    const Shape *known = g_hash_table_lookup(n->shapes, &s);
    if (known)
        return known->name;
    char text[80];
    int len = g_snprintf(text, sizeof text, "[%u,%u,%u][%u,%u,%u]", s.d[0], s.d[1], s.d[2], s.d[3],
                         s.d[4], s.d[5]);
    s.name = ct_tl_names_add(&n->tl->names, text, (gsize)len);
    if (g_hash_table_size(n->shapes) < 100000)
        g_hash_table_add(n->shapes, ct_tl_dup(&s, sizeof s));
    return s.name;
}

static CtTlMemory memory_of(gint64 kind)
{
    static const CtTlMemory kinds[] = {CT_TL_MEM_PAGEABLE, CT_TL_MEM_PINNED, CT_TL_MEM_DEVICE,
                                       CT_TL_MEM_DEVICE, CT_TL_MEM_MANAGED, CT_TL_MEM_DEVICE,
                                       CT_TL_MEM_MANAGED};
    return kind >= 0 && kind < (gint64)G_N_ELEMENTS(kinds) ? kinds[kind] : CT_TL_MEM_UNKNOWN;
}

static void copy(CtNsys *n, const CtNsysTable *t, const CtPagesRow *row, CtTlEvent *e)
{
    static const struct {
        CtTlCopy copy;
        const char *name;
    } ways[] = {{CT_TL_COPY_UNKNOWN, "Memcpy"}, {CT_TL_COPY_H2D, "Memcpy HtoD"},
                {CT_TL_COPY_D2H, "Memcpy DtoH"}, {CT_TL_COPY_H2D, "Memcpy HtoA"},
                {CT_TL_COPY_D2H, "Memcpy AtoH"}, {CT_TL_COPY_D2D, "Memcpy AtoA"},
                {CT_TL_COPY_D2D, "Memcpy AtoD"}, {CT_TL_COPY_D2D, "Memcpy DtoA"},
                {CT_TL_COPY_D2D, "Memcpy DtoD"}, {CT_TL_COPY_H2H, "Memcpy HtoH"},
                {CT_TL_COPY_P2P, "Memcpy PtoP"}, {CT_TL_COPY_H2D, "Unified memory HtoD"},
                {CT_TL_COPY_D2H, "Unified memory DtoH"}, {CT_TL_COPY_D2D, "Unified memory DtoD"}};
    static const char *const words[] = {"", "Pageable", "Pinned", "Device", "Managed"};
    gint64 kind = get(t, row, F_COPY_KIND, 0);
    if (kind < 0 || kind >= (gint64)G_N_ELEMENTS(ways))
        kind = 0;
    e->copy = ways[kind].copy;
    e->source = memory_of(get(t, row, F_SOURCE_KIND, -1));
    e->target = memory_of(get(t, row, F_TARGET_KIND, -1));
    char text[80];
    int len = e->source && e->target
                  ? g_snprintf(text, sizeof text, "%s (%s -> %s)", ways[kind].name,
                               words[e->source], words[e->target])
                  : g_snprintf(text, sizeof text, "%s", ways[kind].name);
    e->name = ct_tl_names_add(&n->tl->names, text, (gsize)len);
}

static CtTlCall call_of(CtNsys *n, guint32 name)
{
    if (name >= n->n_call_kinds) {
        gsize more = MAX((gsize)name + 1, n->n_call_kinds * 2);
        n->call_kind = g_realloc(n->call_kind, more);
        memset(n->call_kind + n->n_call_kinds, 0, more - n->n_call_kinds);
        n->n_call_kinds = more;
    }
    if (!n->call_kind[name])
        n->call_kind[name] = (guint8)(1 + ct_tl_call_of(ct_timeline_name(n->tl, name)));
    return (CtTlCall)(n->call_kind[name] - 1);
}

/* Not a mark, a category or a name of something. */
static gboolean is_range(gint64 type)
{
    return type == 59 || type == 60 || type == 70 || type == 71;
}

static gboolean range(CtNsys *n, const CtNsysTable *t, const CtPagesRow *row, CtTlEvent *e)
{
    if (!is_range(get(t, row, F_EVENT_TYPE, 59)))
        return FALSE;
    e->name = text_of(n, t, row, F_TEXT);
    if (!e->name)
        e->name = text_of(n, t, row, F_TEXT_ID);
    gint64 domain = get(t, row, F_DOMAIN, 0);
    if (domain && n->domains) {
        gint64 key = (get(t, row, F_GLOBAL_TID, 0) >> 24 << 16) ^ domain;
        e->group = GPOINTER_TO_UINT(g_hash_table_lookup(n->domains, &key));
    }
    return TRUE;
}

static gboolean wait_of(CtNsys *n, const CtNsysTable *t, const CtPagesRow *row, CtTlEvent *e)
{
    static const char *const names[] = {"Synchronize", "Event sync", "Stream wait event",
                                        "Stream sync", "Context sync"};
    gint64 type = get(t, row, F_SYNC_TYPE, 0);
    if (type == 2)
        return FALSE; /* a stream waits for another: no host does */
    const char *name = names[type > 0 && type < 5 ? type : 0];
    e->name = ct_tl_names_add(&n->tl->names, name, strlen(name));
    return TRUE;
}

gboolean ct_nsys_event(CtNsys *n, const CtNsysTable *t, const CtPagesRow *row, CtTlEvent *e)
{
    gint64 start = get(t, row, F_START, G_MININT64), end = get(t, row, F_END, G_MININT64);
    if (start == G_MININT64)
        return FALSE;
    if (end == G_MININT64) {
        n->open_ranges += t->kind == CT_TL_RANGE && is_range(get(t, row, F_EVENT_TYPE, 0));
        if (t->column[F_END] >= 0)
            return FALSE;
        end = start;
    }
    if (!ct_tl_time_ok(start) || !ct_tl_time_ok(end) ||
        (n->scale > 1 && (ABS(start) > CT_TL_MAX_TIME / 1000 || ABS(end) > CT_TL_MAX_TIME / 1000))) {
        n->bad_times++;
        return FALSE;
    }
    n->negative += end < start;
    gint64 gpid = get(t, row, F_GLOBAL_PID, -1), gtid = get(t, row, F_GLOBAL_TID, -1);
    gint64 of = gtid >= 0 ? gtid : gpid;
    *e = (CtTlEvent){.kind = t->kind, .t0 = start * n->scale,
                     .t1 = MAX(end, start) * n->scale,
                     .device = (gint32)get(t, row, F_DEVICE, -1),
                     .stream = (gint32)get(t, row, F_STREAM, -1),
                     .pid = of >= 0 ? of >> 24 & 0xffffff : -1,
                     .tid = gtid >= 0 ? gtid & 0xffffff : -1,
                     .correlation = (guint64)MAX(get(t, row, F_CORRELATION, 0), 0),
                     .bytes = (guint64)MAX(get(t, row, F_BYTES, 0), 0)};
    switch (t->kind) {
    case CT_TL_KERNEL:
        e->name = text_of(n, t, row, F_NAME);
        if (!e->name)
            e->name = text_of(n, t, row, F_SHORT_NAME);
        e->shape = shape_of(n, t, row);
        return TRUE;
    case CT_TL_COPY:
        copy(n, t, row, e);
        return TRUE;
    case CT_TL_SET:
        e->name = ct_tl_names_add(&n->tl->names, "Memset", 6);
        e->target = memory_of(get(t, row, F_MEM_KIND, -1));
        return TRUE;
    case CT_TL_GRAPH:
        e->name = ct_tl_names_add(&n->tl->names, "CUDA graph", 10);
        return TRUE;
    case CT_TL_SYNC:
        return wait_of(n, t, row, e);
    case CT_TL_CALL:
        e->name = text_of(n, t, row, F_NAME);
        e->call = call_of(n, e->name);
        e->result = (gint32)get(t, row, F_RESULT, 0);
        return TRUE;
    case CT_TL_RANGE:
        return range(n, t, row, e);
    case CT_TL_OS:
        e->name = text_of(n, t, row, F_NAME);
        return get(t, row, F_NESTING, 0) <= 0;
    case CT_TL_MEMORY:
        e->name = text_of(n, t, row, F_NAME);
        e->free = get(t, row, F_OPERATION, 0) == 1;
        e->source = memory_of(get(t, row, F_MEM_KIND, -1));
        return TRUE;
    case CT_TL_NOTE:
        e->name = text_of(n, t, row, F_TEXT);
        return TRUE;
    }
    return FALSE;
}
