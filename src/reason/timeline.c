/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happened in which order: errors, and the lines that hypotheses rest on. Rows whose wall
 * time is known come by time, the others after them in the order of reading.
 */
#include "reason/reason-private.h"

#define MAX_ENTRIES 60

static int by_time(gconstpointer a, gconstpointer b)
{
    const CtCitation *x = *(CtCitation *const *)a, *y = *(CtCitation *const *)b;
    gboolean xt = x->t_ns != CT_TIME_UNKNOWN, yt = y->t_ns != CT_TIME_UNKNOWN;
    if (xt != yt)
        return xt ? -1 : 1;
    if (xt && x->t_ns != y->t_ns)
        return x->t_ns < y->t_ns ? -1 : 1;
    return x->seq < y->seq ? -1 : x->seq > y->seq;
}

static void add_cited(GHashTable *ids, const GPtrArray *hypotheses)
{
    for (guint i = 0; i < hypotheses->len; i++) {
        const CtHypothesis *h = g_ptr_array_index(hypotheses, i);
        for (guint k = 0; k < h->for_->len; k++) {
            const CtCitation *c = g_ptr_array_index(h->for_, k);
            if (c->tab == g_intern_static_string("event"))
                g_hash_table_add(ids, GINT_TO_POINTER((gint)c->row));
        }
    }
}

void ct_timeline(CtReason *r)
{
    g_autoptr(GHashTable) ids = g_hash_table_new(NULL, NULL);
    add_cited(ids, r->out->hypotheses);
    add_cited(ids, r->out->consequences);
    sqlite3_stmt *st =
        ct_prepare(r->db, "SELECT e.id FROM event e JOIN section s ON s.id = e.section "
                          "WHERE e.severity IN ('error', 'fatal') OR (e.kind = 'log-error' AND "
                          "NOT EXISTS (SELECT 1 FROM event x WHERE x.severity IN "
                          "('error', 'fatal'))) ORDER BY " CT_WALL_SQL("e.t_ns") " IS NULL, "
                          CT_WALL_SQL("e.t_ns") ", e.seq LIMIT 60");
    while (sqlite3_step(st) == SQLITE_ROW)
        g_hash_table_add(ids, GINT_TO_POINTER(sqlite3_column_int(st, 0)));
    sqlite3_finalize(st);

    GHashTableIter it;
    gpointer id;
    g_hash_table_iter_init(&it, ids);
    while (g_hash_table_iter_next(&it, &id, NULL)) {
        CtCitation *c = ct_cite(r, "event", GPOINTER_TO_INT(id), NULL);
        c->text = g_strdup(c->quote ? c->quote : "");
        g_ptr_array_add(r->out->timeline, c);
    }
    g_ptr_array_sort(r->out->timeline, by_time);
    if (r->out->timeline->len > MAX_ENTRIES)
        g_ptr_array_set_size(r->out->timeline, MAX_ENTRIES);
}
