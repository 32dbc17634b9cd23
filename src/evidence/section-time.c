/* SPDX-License-Identifier: Apache-2.0 */
/* What is learnt about a section only after it was read: its scope, and where its clock stands. */
#include "evidence/evidence-private.h"

static void update(CtEvidence *ev, const char *sql, gint64 section, gint64 value)
{
    sqlite3_stmt *st = NULL;
    if (sqlite3_prepare_v2(ev->db, sql, -1, &st, NULL) != SQLITE_OK) {
        g_warning("evidence: %s", sqlite3_errmsg(ev->db));
        return;
    }
    sqlite3_bind_int64(st, 1, section);
    sqlite3_bind_int64(st, 2, value);
    sqlite3_step(st);
    sqlite3_finalize(st);
}

void ct_evidence_set_scope(CtEvidence *ev, gint64 section, const char *scope)
{
    sqlite3_stmt *st = NULL;
    if (sqlite3_prepare_v2(ev->db, "UPDATE section SET scope=?2 WHERE id=?1", -1, &st, NULL) !=
        SQLITE_OK)
        return;
    sqlite3_bind_int64(st, 1, section);
    sqlite3_bind_text(st, 2, scope ? scope : "host", -1, SQLITE_TRANSIENT);
    sqlite3_step(st);
    sqlite3_finalize(st);
}

void ct_evidence_set_clock(CtEvidence *ev, gint64 section, const char *clock, gint64 offset_ns,
                           double confidence)
{
    sqlite3_stmt *st = NULL;
    if (sqlite3_prepare_v2(ev->db,
                           "UPDATE section SET clock=?2, clock_offset_ns=?3, clock_confidence=?4 "
                           "WHERE id=?1",
                           -1, &st, NULL) != SQLITE_OK)
        return;
    sqlite3_bind_int64(st, 1, section);
    sqlite3_bind_text(st, 2, clock, -1, SQLITE_TRANSIENT);
    if (offset_ns != CT_NONE)
        sqlite3_bind_int64(st, 3, offset_ns);
    sqlite3_bind_double(st, 4, confidence);
    sqlite3_step(st);
    sqlite3_finalize(st);
}

void ct_evidence_shift_section(CtEvidence *ev, gint64 section, gint64 add_ns)
{
    ct_evidence_flush(ev);
    update(ev, "UPDATE event SET t_ns=t_ns+?2, last_t_ns=last_t_ns+?2 WHERE section=?1", section,
           add_ns);
    update(ev, "UPDATE coverage SET t0_ns=t0_ns+?2, t1_ns=t1_ns+?2 WHERE section=?1", section,
           add_ns);
    update(ev, "UPDATE span SET t0_ns=t0_ns+?2, t1_ns=t1_ns+?2 WHERE section=?1", section, add_ns);
    for (guint i = 0; i < ev->series->len; i++) {
        CtSeries *s = g_ptr_array_index(ev->series, i);
        if (s->section != section)
            continue;
        for (guint k = 0; k < s->t_ns->len; k++) {
            gint64 *t = &g_array_index(s->t_ns, gint64, k);
            if (*t != CT_TIME_UNKNOWN)
                *t += add_ns;
        }
    }
}

/* In one pass over the events: asking for each source would be slow where there are thousands. */
void ct_evidence_span_sources(CtEvidence *ev)
{
    sqlite3_stmt *from = NULL, *to = NULL;
    ct_evidence_flush(ev);
    if (sqlite3_prepare_v2(ev->db,
                           "SELECT s.source, min(e.t_ns), max(coalesce(e.last_t_ns, e.t_ns)) FROM "
                           "event e JOIN section s ON s.id = e.section WHERE e.t_ns NOT NULL "
                           "GROUP BY s.source",
                           -1, &from, NULL) == SQLITE_OK &&
        sqlite3_prepare_v2(ev->db, "UPDATE source SET t0_ns=?2, t1_ns=?3 WHERE id=?1", -1, &to,
                           NULL) == SQLITE_OK) {
        while (sqlite3_step(from) == SQLITE_ROW) {
            for (int i = 0; i < 3; i++)
                sqlite3_bind_int64(to, i + 1, sqlite3_column_int64(from, i));
            sqlite3_step(to);
            sqlite3_reset(to);
        }
    }
    sqlite3_finalize(from);
    sqlite3_finalize(to);
}
