/* SPDX-License-Identifier: Apache-2.0 */
/* From a row of the evidence to the place in the person's files where it is written. */
#include <string.h>

#include "reason/reason-private.h"

void ct_citation_free(gpointer data)
{
    CtCitation *c = data;
    if (!c)
        return;
    g_free(c->source);
    g_free(c->text);
    g_free(c->quote);
    g_free(c->rule);
    g_free(c->group);
    g_free(c);
}

static char *dup_column(sqlite3_stmt *st, int column)
{
    return g_strdup((const char *)sqlite3_column_text(st, column));
}

/* All place statements give section, line, path, quote, wall time, order of reading. */
static void read_place(sqlite3_stmt *st, CtCitation *c)
{
    if (sqlite3_step(st) == SQLITE_ROW) {
        c->section = sqlite3_column_int64(st, 0);
        c->line = (guint)CLAMP(sqlite3_column_int64(st, 1), 0, G_MAXINT);
        c->source = dup_column(st, 2);
        c->quote = dup_column(st, 3);
        if (sqlite3_column_type(st, 4) != SQLITE_NULL)
            c->t_ns = sqlite3_column_int64(st, 4);
        if (sqlite3_column_type(st, 5) != SQLITE_NULL)
            c->seq = sqlite3_column_int64(st, 5);
    }
    sqlite3_reset(st);
}

static sqlite3_stmt *place(CtReason *r, sqlite3_stmt **keep, const char *sql, gint64 row)
{
    if (!*keep)
        *keep = ct_prepare(r->db, sql);
    sqlite3_bind_int64(*keep, 1, row);
    return *keep;
}

static sqlite3_stmt *place_of(CtReason *r, const char *tab, gint64 row)
{
    if (strcmp(tab, "event") == 0)
        return place(r, &r->place_event,
                     "SELECT e.section, e.line, o.path, e.text, " CT_WALL_SQL(
                         "e.t_ns") ", e.seq FROM event e JOIN section s ON s.id = e.section "
                                   "JOIN source o ON o.id = s.source WHERE e.id = ?",
                     row);
    if (strcmp(tab, "fact") == 0)
        return place(r, &r->place_fact,
                     "SELECT f.section, f.line, o.path, f.text, NULL, NULL FROM fact f "
                     "JOIN section s ON s.id = f.section JOIN source o ON o.id = s.source "
                     "WHERE f.id = ?",
                     row);
    return NULL;
}

/* Rows that only name their section: series, span, coverage, section itself. */
static gint64 section_of(CtReason *r, const char *tab, gint64 row)
{
    static const char *const tables[] = {"series", "span", "coverage"};
    if (strcmp(tab, "section") == 0)
        return row;
    for (guint i = 0; i < G_N_ELEMENTS(tables); i++) {
        if (strcmp(tab, tables[i]) != 0)
            continue;
        g_autofree char *sql = g_strdup_printf("SELECT section FROM %s WHERE id = ?", tab);
        sqlite3_stmt *st = ct_prepare(r->db, sql);
        sqlite3_bind_int64(st, 1, row);
        gint64 section = sqlite3_step(st) == SQLITE_ROW ? sqlite3_column_int64(st, 0) : 0;
        sqlite3_finalize(st);
        return section;
    }
    return 0;
}

/* What stands in a line that only gave samples: "memory.used = 12.3 GiB". */
static char *quote_of_sample(CtReason *r, gint64 series, guint line)
{
    sqlite3_stmt *st =
        ct_prepare(r->db, "SELECT s.metric, s.unit, m.value, s.subject FROM series s "
                          "JOIN sample m ON m.series = s.id "
                          "WHERE s.id = ?1 AND m.line = ?2 LIMIT 1");
    sqlite3_bind_int64(st, 1, series);
    sqlite3_bind_int64(st, 2, line);
    char *quote = NULL;
    if (sqlite3_step(st) == SQLITE_ROW) {
        const char *unit = ct_column(st, 1), *subject = ct_column(st, 3);
        double value = sqlite3_column_double(st, 2);
        g_autofree char *text =
            strcmp(unit, "bytes") == 0 ? ct_format_bytes(value)
            : strcmp(unit, "ns") == 0
                ? ct_format_duration(value)
                : g_strdup_printf("%.6g %s", value, strcmp(unit, "1") == 0 ? "" : unit);
        quote = g_strdup_printf("%s%s%s = %s", subject, *subject ? " " : "", ct_column(st, 0),
                                g_strstrip(text));
    }
    sqlite3_finalize(st);
    return quote;
}

static CtCitation *citation_new(const char *tab, gint64 row, char *text)
{
    CtCitation *c = g_new0(CtCitation, 1);
    c->text = text;
    c->t_ns = CT_TIME_UNKNOWN;
    c->seq = G_MAXINT64;
    c->tab = g_intern_string(tab);
    c->row = row;
    return c;
}

static void fill_place(CtReason *r, CtCitation *c, const char *tab, gint64 row, guint line)
{
    sqlite3_stmt *st = place_of(r, tab, row);
    if (st) {
        read_place(st, c);
        return;
    }
    gint64 section = section_of(r, tab, row);
    if (!section)
        return;
    st = place(r, &r->place_section,
               "SELECT s.id, NULL, o.path, NULL, NULL, NULL FROM section s "
               "JOIN source o ON o.id = s.source WHERE s.id = ?",
               section);
    read_place(st, c);
    c->line = line;
    if (line && strcmp(tab, "series") == 0)
        c->quote = quote_of_sample(r, row, line);
}

void ct_cite_finding(CtReason *r, gint64 finding, guint max, GPtrArray *out)
{
    if (!r->evidence_of_finding)
        r->evidence_of_finding = ct_prepare(
            r->db, "SELECT tab, row, line FROM finding_evidence WHERE finding = ? ORDER BY rowid");
    sqlite3_stmt *st = r->evidence_of_finding;
    sqlite3_bind_int64(st, 1, finding);
    while (max-- > 0 && sqlite3_step(st) == SQLITE_ROW) {
        CtCitation *c = citation_new("finding", finding, NULL);
        guint line = (guint)CLAMP(sqlite3_column_int64(st, 2), 0, G_MAXINT);
        fill_place(r, c, ct_column(st, 0), sqlite3_column_int64(st, 1), line);
        if (line)
            c->line = line;
        g_ptr_array_add(out, c);
    }
    sqlite3_reset(st);
}

CtCitation *ct_cite(CtReason *r, const char *tab, gint64 row, char *text)
{
    if (strcmp(tab, "finding") == 0) {
        g_autoptr(GPtrArray) first = g_ptr_array_new();
        ct_cite_finding(r, row, 1, first);
        CtCitation *c = first->len ? g_ptr_array_index(first, 0) : citation_new(tab, row, NULL);
        c->text = text;
        return c;
    }
    CtCitation *c = citation_new(tab, row, text);
    fill_place(r, c, tab, row, 0);
    return c;
}

gboolean ct_same_kind(CtReason *r, gint64 event, gint64 other)
{
    if (!r->same_kind)
        r->same_kind = ct_prepare(r->db, "SELECT 1 FROM event x JOIN event y ON y.kind = x.kind "
                                         "AND y.code IS x.code AND y.name IS x.name "
                                         "AND y.gpu IS x.gpu WHERE x.id = ?1 AND y.id = ?2");
    sqlite3_bind_int64(r->same_kind, 1, event);
    sqlite3_bind_int64(r->same_kind, 2, other);
    gboolean same = sqlite3_step(r->same_kind) == SQLITE_ROW;
    sqlite3_reset(r->same_kind);
    return same;
}
