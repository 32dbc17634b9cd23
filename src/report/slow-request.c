/* SPDX-License-Identifier: Apache-2.0 */
#include "report/slow-request.h"

#include <math.h>
#include <string.h>

#include "analyze/clock.h"
#include "report/layout.h"

static void row_free(gpointer data)
{
    CtReportSlowRow *row = data;
    g_free(row->id);
    g_free(row->name);
    g_free(row->slow_text);
    g_free(row->typical_text);
    g_free(row->extra_text);
    g_free(row);
}

void ct_report_slow_free(CtReportSlow *s)
{
    if (!s)
        return;
    g_free(s->request);
    g_free(s->title);
    g_ptr_array_unref(s->rows);
    g_free(s);
}

/* ---- from evidence ---- */

static char *number_text(double x, gboolean count, gboolean sign)
{
    if (x == 0)
        return g_strdup("0");
    g_autofree char *text = count ? g_strdup_printf("%.0f", fabs(x)) : ct_human_ns(fabs(x));
    const char *before = x < 0 ? "-" : sign && x > 0 ? "+" : "";
    return g_strconcat(before, text, NULL);
}

static void add_row(CtReportSlow *s, CtLang lang, const char *id, double slow, double typical,
                    gboolean count)
{
    CtReportSlowRow *row = g_new0(CtReportSlowRow, 1);
    row->id = g_strdup(id);
    row->name = g_strdup(ct_term(lang, "part", id));
    row->slow = slow;
    row->typical = typical;
    row->count = count;
    row->slow_text = number_text(slow, count, FALSE);
    row->typical_text = number_text(typical, count, FALSE);
    row->extra_text = number_text(slow - typical, count, TRUE);
    g_ptr_array_add(s->rows, row);
}

/* The span that an analyzer took for its example. */
static gint64 span_of(sqlite3 *db, const CtHypothesis *lead)
{
    sqlite3_stmt *st = NULL;
    gint64 span = 0;
    if (sqlite3_prepare_v2(db, "SELECT json_extract(detail, '$.span') FROM finding WHERE id = ? AND "
                               "kind GLOB 'slow-request-*'", -1, &st, NULL) != SQLITE_OK)
        return 0;
    for (guint i = 0; !span && lead->for_ && i < lead->for_->len; i++) {
        const CtCitation *c = g_ptr_array_index(lead->for_, i);
        if (g_strcmp0(c->tab, "finding") != 0)
            continue;
        sqlite3_reset(st);
        sqlite3_bind_int64(st, 1, c->row);
        if (sqlite3_step(st) == SQLITE_ROW)
            span = sqlite3_column_int64(st, 0);
    }
    sqlite3_finalize(st);
    return span;
}

static double fact(sqlite3 *db, gint64 section, const char *kind, const char *name)
{
    sqlite3_stmt *st = NULL;
    double x = 0;
    g_autofree char *key = g_strconcat("trace.", kind, name, NULL);
    if (sqlite3_prepare_v2(db, "SELECT number FROM fact WHERE key = ? AND section = ?", -1, &st,
                           NULL) != SQLITE_OK)
        return 0;
    sqlite3_bind_text(st, 1, key, -1, SQLITE_STATIC);
    sqlite3_bind_int64(st, 2, section);
    if (sqlite3_step(st) == SQLITE_ROW)
        x = sqlite3_column_double(st, 0);
    sqlite3_finalize(st);
    return x;
}

static gint by_extra(gconstpointer a, gconstpointer b)
{
    const CtReportSlowRow *x = *(CtReportSlowRow *const *)a, *y = *(CtReportSlowRow *const *)b;
    if (x->count != y->count)
        return x->count - y->count;
    double p = x->slow - x->typical, q = y->slow - y->typical;
    if (p != q)
        return p < q ? 1 : -1;
    return strcmp(x->id, y->id);
}

static void read_parts(CtReportSlow *s, sqlite3 *db, CtLang lang, gint64 section, const json_t *o,
                       double wall)
{
    static const char *const parts[] = {"kernel", "foreign", "h2d",    "d2h",    "d2d",
                                        "alloc",  "copy-call", "sync", "launch", "module",
                                        "call",   "os",      "host",   "queue"};
    static const char *const counts[] = {"kernels", "launches", "syncs", "allocs",
                                         "copies",  "modules",  "fresh"};
    const json_t *of = json_object_get(o, "parts"), *n = json_object_get(o, "n");
    g_autoptr(GPtrArray) sorted = g_ptr_array_new();
    double typical = fact(db, section, "typical", "");
    add_row(s, lang, "total", wall, typical, FALSE);
    for (guint i = 0; i < G_N_ELEMENTS(parts); i++) {
        double slow = json_number_value(json_object_get(of, parts[i]));
        double usual = fact(db, section, "part.", parts[i]);
        if (MAX(slow, usual) > 0.02 * wall)
            add_row(s, lang, parts[i], slow, usual, FALSE);
    }
    for (guint i = 0; i < G_N_ELEMENTS(counts); i++) {
        double slow = json_number_value(json_object_get(n, counts[i]));
        double usual = fact(db, section, "each.", counts[i]);
        if (slow > usual)
            add_row(s, lang, counts[i], slow, usual, TRUE);
    }
    for (guint i = 1; i < s->rows->len; i++)
        g_ptr_array_add(sorted, g_ptr_array_index(s->rows, i));
    g_ptr_array_sort(sorted, by_extra);
    for (guint i = 0; i < sorted->len; i++)
        g_ptr_array_index(s->rows, i + 1) = g_ptr_array_index(sorted, i);
}

CtReportSlow *ct_report_slow_new(CtEvidence *ev, const CtHypothesis *lead, CtLang lang)
{
    sqlite3 *db = ct_evidence_db(ev);
    gint64 span = span_of(db, lead);
    sqlite3_stmt *st = NULL;
    CtReportSlow *s = NULL;
    if (!span || sqlite3_prepare_v2(db, "SELECT section, name, t0_ns, t1_ns, detail FROM span WHERE "
                                        "id = ? AND track = 'request'", -1, &st,
                                    NULL) != SQLITE_OK)
        return NULL;
    sqlite3_bind_int64(st, 1, span);
    if (sqlite3_step(st) == SQLITE_ROW) {
        const char *detail = (const char *)sqlite3_column_text(st, 4);
        json_t *o = detail ? json_loads(detail, 0, NULL) : NULL;
        gint64 section = sqlite3_column_int64(st, 0);
        s = g_new0(CtReportSlow, 1);
        s->rows = g_ptr_array_new_with_free_func(row_free);
        s->request = ct_text_clean((const char *)sqlite3_column_text(st, 1));
        s->t0_ns = sqlite3_column_int64(st, 2);
        s->index = (gint64)json_number_value(json_object_get(o, "i"));
        s->n = (gint64)fact(db, section, "requests", "");
        g_autofree char *at = g_strdup_printf("%" G_GINT64_FORMAT, s->index + 1);
        g_autofree char *n = g_strdup_printf("%" G_GINT64_FORMAT, s->n);
        s->title = ct_msgf(lang, CT_MSG_SLOW_TITLE, s->request, at, n, NULL);
        read_parts(s, db, lang, section, o, (double)(sqlite3_column_int64(st, 3) - s->t0_ns));
        json_decref(o);
    }
    sqlite3_finalize(st);
    return s;
}

/* ---- as text ---- */

static void cell(GString *line, const char *text, guint width, gboolean right)
{
    guint has = ct_text_width(text);
    g_autofree char *pad = g_strnfill(width > has ? width - has : 0, ' ');
    if (right)
        g_string_append(line, pad);
    g_string_append(line, text);
    if (!right)
        g_string_append(line, pad);
}

static void text_line(CtPage *page, const char *label, CtInk ink, guint width, const char *name,
                      const char *slow, const char *typical, const char *extra)
{
    g_autoptr(GString) line = g_string_new(NULL);
    g_autofree char *fitted = ct_text_fit(name, width);
    cell(line, fitted, width, FALSE);
    cell(line, slow, 11, TRUE);
    cell(line, typical, 11, TRUE);
    cell(line, extra, 11, TRUE);
    ct_page_text(page, label, ink, line->str, 1);
}

void ct_report_slow_text(CtPage *page, const CtReport *r, guint max)
{
    const CtReportSlow *s = r->slow;
    if (!s || !max)
        return;
    guint width = page->columns > page->label + 34 ? page->columns - page->label - 34 : 8;
    width = MIN(width, 34);
    text_line(page, ct_msg(r->lang, CT_MSG_SLOW_LABEL), CT_INK_DIM, width, s->title,
              ct_msg(r->lang, CT_MSG_SLOW_SLOW), ct_msg(r->lang, CT_MSG_SLOW_TYPICAL),
              ct_msg(r->lang, CT_MSG_SLOW_EXTRA));
    for (guint i = 0; i < MIN(max, s->rows->len); i++) {
        const CtReportSlowRow *row = g_ptr_array_index(s->rows, i);
        text_line(page, "", CT_INK_PLAIN, width, row->name, row->slow_text, row->typical_text,
                  row->extra_text);
    }
}

/* Names of requests come from the trace and stay text in every form. */
static void escaped(GString *out, const char *text, gboolean html)
{
    if (html) {
        g_autofree char *safe = g_markup_escape_text(text, -1);
        g_string_append(out, safe);
        return;
    }
    for (const char *p = text; *p; p++) {
        if (strchr("\\`*_{}[]<>#|", *p))
            g_string_append_c(out, '\\');
        g_string_append_c(out, *p);
    }
}

static void markup_row(GString *out, gboolean html, const char *tag, const char *const *cells)
{
    g_string_append(out, html ? "<tr>" : "|");
    for (guint i = 0; i < 4; i++) {
        if (html)
            g_string_append_printf(out, "<%s>", tag);
        else
            g_string_append_c(out, ' ');
        escaped(out, cells[i], html);
        if (html)
            g_string_append_printf(out, "</%s>", tag);
        else
            g_string_append(out, " |");
    }
    g_string_append(out, html ? "</tr>\n" : "\n");
}

static void markup(GString *out, const CtReport *r, gboolean html)
{
    const CtReportSlow *s = r->slow;
    if (!s)
        return;
    const char *head[] = {s->title, ct_msg(r->lang, CT_MSG_SLOW_SLOW),
                          ct_msg(r->lang, CT_MSG_SLOW_TYPICAL), ct_msg(r->lang, CT_MSG_SLOW_EXTRA)};
    g_string_append_printf(out, html ? "<h2>%s</h2>\n<table>\n" : "\n### %s\n\n",
                           ct_msg(r->lang, CT_MSG_SLOW_LABEL));
    markup_row(out, html, "th", head);
    if (!html)
        g_string_append(out, "| --- | ---: | ---: | ---: |\n");
    for (guint i = 0; i < s->rows->len; i++) {
        const CtReportSlowRow *row = g_ptr_array_index(s->rows, i);
        const char *cells[] = {row->name, row->slow_text, row->typical_text, row->extra_text};
        markup_row(out, html, "td", cells);
    }
    if (html)
        g_string_append(out, "</table>\n");
}

void ct_report_slow_markdown(GString *out, const CtReport *r)
{
    markup(out, r, FALSE);
}

void ct_report_slow_html(GString *out, const CtReport *r)
{
    markup(out, r, TRUE);
}

json_t *ct_report_slow_json(const CtReport *r)
{
    const CtReportSlow *s = r->slow;
    if (!s)
        return json_null();
    json_t *rows = json_array();
    for (guint i = 0; i < s->rows->len; i++) {
        const CtReportSlowRow *row = g_ptr_array_index(s->rows, i);
        json_array_append_new(rows, json_pack("{s:s, s:s, s:s, s:I, s:I}", "part", row->id, "name",
                                              row->name, "unit", row->count ? "1" : "ns", "slow",
                                              (json_int_t)row->slow, "typical",
                                              (json_int_t)row->typical));
    }
    return json_pack("{s:s, s:I, s:I, s:o}", "request", s->request, "index",
                     (json_int_t)s->index + 1, "requests", (json_int_t)s->n, "rows", rows);
}
