/* SPDX-License-Identifier: Apache-2.0 */
/* A trace in memory behind the functions of timeline.h, for tests of what reads the stream. */
#pragma once

#include <string.h>

#include "timeline/timeline.h"

struct CtTimeline {
    GArray *events; /* CtTlEvent */
    GPtrArray *names;
    GHashTable *ids;
    gint64 wall;
    guint scans;
    guint64 next;
};

static inline CtTimeline *fake_new(void)
{
    CtTimeline *tl = g_new0(CtTimeline, 1);
    tl->events = g_array_new(FALSE, TRUE, sizeof(CtTlEvent));
    tl->names = g_ptr_array_new_with_free_func(g_free);
    tl->ids = g_hash_table_new(g_str_hash, g_str_equal);
    g_ptr_array_add(tl->names, g_strdup(""));
    tl->wall = G_MININT64;
    return tl;
}

static inline guint32 fake_name(CtTimeline *tl, const char *text)
{
    guint32 id = GPOINTER_TO_UINT(g_hash_table_lookup(tl->ids, text));
    if (!id) {
        id = tl->names->len;
        g_ptr_array_add(tl->names, g_strdup(text));
        g_hash_table_insert(tl->ids, g_ptr_array_index(tl->names, id), GUINT_TO_POINTER(id));
    }
    return id;
}

static inline CtTlEvent *fake_add(CtTimeline *tl, CtTlKind kind, const char *name, gint64 t0,
                                  gint64 ns)
{
    CtTlEvent e = {.kind = kind, .t0 = t0, .t1 = t0 + ns, .name = fake_name(tl, name),
                   .device = -1, .stream = -1, .pid = 1, .tid = 1};
    g_array_append_val(tl->events, e);
    return &g_array_index(tl->events, CtTlEvent, tl->events->len - 1);
}

void ct_timeline_free(CtTimeline *tl)
{
    g_array_unref(tl->events);
    g_hash_table_unref(tl->ids);
    g_ptr_array_unref(tl->names);
    g_free(tl);
}

gboolean ct_timeline_scan(CtTimeline *tl, guint kinds, CtTlVisit visit, gpointer user,
                          GError **error)
{
    tl->scans++;
    for (guint i = 0; i < tl->events->len; i++) {
        const CtTlEvent *e = &g_array_index(tl->events, CtTlEvent, i);
        if (kinds & CT_TL_BIT(e->kind) && !visit(e, user))
            break;
    }
    return TRUE;
}

const char *ct_timeline_name(const CtTimeline *tl, guint32 name)
{
    return name < tl->names->len ? g_ptr_array_index(tl->names, name) : "";
}

const char *ct_timeline_format(const CtTimeline *tl)
{
    return "nsys-sqlite";
}

gint64 ct_timeline_wall_offset(const CtTimeline *tl)
{
    return tl->wall;
}
