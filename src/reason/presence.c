/* SPDX-License-Identifier: Apache-2.0 */
/* What kinds of rows the evidence holds, and whether somebody looked at the place and time. */
#include <string.h>

#include "reason/reason-private.h"

/* A log's last line is rarely the moment it was saved. */
#define SLACK_NS (10 * 60 * G_GINT64_CONSTANT(1000000000))

void ct_presence_read(CtReason *r)
{
    static const char *const queries[] = {
        "SELECT DISTINCT 'event:' || kind FROM event",
        "SELECT DISTINCT 'fact:' || key FROM fact",
        "SELECT DISTINCT 'finding:' || kind FROM finding",
        "SELECT DISTINCT 'coverage:' || kind FROM coverage",
        "SELECT DISTINCT 'series:' || metric FROM series",
    };
    r->present = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (guint i = 0; i < G_N_ELEMENTS(queries); i++) {
        sqlite3_stmt *st = ct_prepare(r->db, queries[i]);
        while (sqlite3_step(st) == SQLITE_ROW)
            g_hash_table_add(r->present, g_strdup(ct_column(st, 0)));
        sqlite3_finalize(st);
    }
}

static gboolean any_matches(const CtReason *r, const char *glob)
{
    GHashTableIter it;
    gpointer name;
    g_hash_table_iter_init(&it, r->present);
    while (g_hash_table_iter_next(&it, &name, NULL))
        if (g_pattern_match_simple(glob, name))
            return TRUE;
    return FALSE;
}

gboolean ct_presence_has(const CtReason *r, const char *needs)
{
    if (!needs || !*needs)
        return TRUE;
    g_auto(GStrv) list = g_strsplit(needs, ",", -1);
    for (guint i = 0; list[i]; i++) {
        const char *need = g_strstrip(list[i]);
        if (!*need)
            continue;
        if (strchr(need, '*') ? !any_matches(r, need) : !g_hash_table_contains(r->present, need))
            return FALSE;
    }
    return TRUE;
}

static gboolean spans(const GArray *times_ns, sqlite3_stmt *st)
{
    gboolean t0_known = sqlite3_column_type(st, 1) != SQLITE_NULL;
    gboolean t1_known = sqlite3_column_type(st, 2) != SQLITE_NULL;
    if (!times_ns || times_ns->len == 0 || !t0_known || !t1_known)
        return TRUE; /* nothing says otherwise */
    gint64 t0 = sqlite3_column_int64(st, 1), t1 = sqlite3_column_int64(st, 2);
    for (guint i = 0; i < times_ns->len; i++) {
        gint64 t = g_array_index(times_ns, gint64, i);
        if (t >= t0 - SLACK_NS && t <= t1 + SLACK_NS)
            return TRUE;
    }
    return FALSE;
}

static CtCovered kind_covered(CtReason *r, const char *kind, const GArray *times_ns,
                              gint64 *out_section)
{
    sqlite3_stmt *st =
        ct_prepare(r->db, "SELECT c.section, " CT_WALL_SQL("c.t0_ns") ", " CT_WALL_SQL(
                              "c.t1_ns") " FROM coverage c JOIN section s ON s.id = c.section "
                                         "WHERE c.kind = ?");
    sqlite3_bind_text(st, 1, kind, -1, SQLITE_TRANSIENT);
    CtCovered covered = CT_NOT_LOOKED;
    while (covered != CT_COVERED && sqlite3_step(st) == SQLITE_ROW) {
        covered = spans(times_ns, st) ? CT_COVERED : CT_OTHER_TIME;
        *out_section = sqlite3_column_int64(st, 0);
    }
    sqlite3_finalize(st);
    return covered;
}

CtCovered ct_covered(CtReason *r, const char *kinds, const GArray *times_ns, gint64 *out_section,
                     char **out_kind)
{
    g_auto(GStrv) list = g_strsplit(kinds, ",", -1);
    for (guint i = 0; list[i]; i++) {
        const char *kind = g_strstrip(list[i]);
        CtCovered covered = *kind ? kind_covered(r, kind, times_ns, out_section) : CT_COVERED;
        if (covered != CT_COVERED) {
            *out_kind = g_strdup(kind);
            return covered;
        }
    }
    return CT_COVERED;
}
