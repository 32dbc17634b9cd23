/* SPDX-License-Identifier: Apache-2.0 */
#include "report/report-private.h"

#include <math.h>
#include <string.h>

#include "report/layout.h"
#include "report/slow-request.h"

static void source_free(gpointer data)
{
    CtReportSource *s = data;
    g_free(s->path);
    g_free(s->name);
    g_free(s->format);
    g_free(s->status);
    g_free(s->note);
    g_free(s);
}

static void line_free(gpointer data)
{
    CtReportLine *l = data;
    g_free(l->place);
    g_free(l->text);
    g_free(l->quote);
    g_free(l->time);
    g_free(l);
}

static void cause_free(gpointer data)
{
    CtReportCause *c = data;
    g_free(c->title);
    g_free(c->percent);
    g_free(c->action);
    g_ptr_array_unref(c->for_);
    g_ptr_array_unref(c->against);
    g_ptr_array_unref(c->missing);
    g_ptr_array_unref(c->fix);
    g_ptr_array_unref(c->verify);
    g_ptr_array_unref(c->pitfalls);
    g_ptr_array_unref(c->refs);
    g_free(c);
}

static void group_free(gpointer data)
{
    CtReportGroup *g = data;
    g_ptr_array_unref(g->sources);
    g_free(g);
}

void ct_report_free(CtReport *r)
{
    if (!r)
        return;
    g_free(r->verdict_cause);
    g_free(r->verdict_sure);
    g_free(r->verdict_sure_short);
    g_free(r->verdict_now);
    g_ptr_array_unref(r->groups);
    g_ptr_array_unref(r->timeline);
    g_ptr_array_unref(r->causes);
    g_ptr_array_unref(r->consequences);
    g_ptr_array_unref(r->sources);
    g_hash_table_unref(r->titles);
    g_ptr_array_unref(r->incidents);
    ct_report_slow_free(r->slow);
    g_free(r);
}

/* ---- sources ---- */

static char *column_text(sqlite3_stmt *st, int column)
{
    return g_strdup((const char *)sqlite3_column_text(st, column));
}

static gint64 column_int(sqlite3_stmt *st, int column)
{
    return sqlite3_column_type(st, column) == SQLITE_NULL ? CT_NONE
                                                          : sqlite3_column_int64(st, column);
}

/* A capture looks for everything; what this machine does not have is no gap in the evidence. */
static gboolean not_had(const CtReportSource *s)
{
    return g_strcmp0(s->format, "live") == 0 &&
           (g_str_equal(s->status, "absent") || g_str_equal(s->status, "unsupported"));
}

static void read_sources(CtReport *r, sqlite3 *db)
{
    sqlite3_stmt *st = NULL;
    sqlite3_prepare_v2(db,
                       "SELECT s.id,path,format,status,note,bytes,lines,t0_ns,t1_ns,"
                       "coalesce(x.n, 0) FROM source s LEFT JOIN (SELECT source, count(*) AS n "
                       "FROM section GROUP BY source) x ON x.source = s.id ORDER BY s.id",
                       -1, &st, NULL);
    while (st && sqlite3_step(st) == SQLITE_ROW) {
        CtReportSource *s = g_new0(CtReportSource, 1);
        s->id = sqlite3_column_int64(st, 0);
        s->path = column_text(st, 1);
        s->format = column_text(st, 2);
        s->status = column_text(st, 3);
        s->note = column_text(st, 4);
        s->bytes = column_int(st, 5);
        s->lines = column_int(st, 6);
        s->t0_ns = column_int(st, 7);
        s->t1_ns = column_int(st, 8);
        s->sections = (guint)sqlite3_column_int(st, 9);
        if (!s->path)
            s->path = g_strdup("");
        if (!s->status)
            s->status = g_strdup("failed");
        s->bad = !g_str_equal(s->status, "ok") && !not_had(s);
        if (s->bad)
            r->n_bad_sources++;
        else if (s->bytes == 0)
            r->n_empty_sources++;
        g_ptr_array_add(r->sources, s);
    }
    sqlite3_finalize(st);
}

/* Length of the folders that all paths have in common, with the slash. */
static gsize common_folders(const GPtrArray *sources)
{
    const CtReportSource *first = g_ptr_array_index(sources, 0);
    const char *slash = strrchr(first->path, '/');
    gsize len = slash ? (gsize)(slash - first->path) + 1 : 0;
    for (guint i = 1; i < sources->len && len; i++) {
        const CtReportSource *s = g_ptr_array_index(sources, i);
        while (len && strncmp(s->path, first->path, len) != 0) {
            gsize up = len - 1;
            while (up && first->path[up - 1] != '/')
                up--;
            len = up;
        }
    }
    return len;
}

static void name_sources(CtReport *r)
{
    if (!r->sources->len)
        return;
    gsize common = common_folders(r->sources);
    for (guint i = 0; i < r->sources->len; i++) {
        CtReportSource *s = g_ptr_array_index(r->sources, i);
        s->name = ct_text_clean(g_str_equal(s->path, "-") ? "(stdin)" : s->path + common);
    }
}

static const char *source_name(const CtReport *r, const char *path)
{
    for (guint i = 0; i < r->sources->len; i++) {
        const CtReportSource *s = g_ptr_array_index(r->sources, i);
        if (g_str_equal(s->path, path))
            return s->name;
    }
    return path;
}

/* ---- citations ---- */

char *ct_report_time(gint64 t_ns)
{
    if (t_ns == CT_TIME_UNKNOWN)
        return NULL;
    g_autoptr(GDateTime) t = g_date_time_new_from_unix_utc(t_ns / G_GINT64_CONSTANT(1000000000));
    if (!t || t_ns < 0)
        return NULL;
    return g_date_time_format(t, "%Y-%m-%d %H:%M:%S");
}

static CtReportLine *make_line(CtReport *r, const CtCitation *c)
{
    CtReportLine *line = g_new0(CtReportLine, 1);
    line->c = c;
    line->text = ct_text_clean(c->text ? c->text : c->quote);
    line->quote = c->quote ? ct_text_clean(c->quote) : NULL;
    if (!c->source)
        line->place = g_strdup("");
    else if (c->line)
        line->place = g_strdup_printf("%s:%u", source_name(r, c->source), c->line);
    else
        line->place = g_strdup(source_name(r, c->source));
    line->time = ct_report_time(c->t_ns);
    return line;
}

/* Strongest first; equal ones in the order of place, so that the same input reads the same. */
static gint by_strength(gconstpointer a, gconstpointer b)
{
    const CtCitation *x = (*(CtReportLine *const *)a)->c;
    const CtCitation *y = (*(CtReportLine *const *)b)->c;
    if (fabs(x->counted) != fabs(y->counted))
        return fabs(x->counted) > fabs(y->counted) ? -1 : 1;
    if (fabs(x->weight) != fabs(y->weight))
        return fabs(x->weight) > fabs(y->weight) ? -1 : 1;
    int order = g_strcmp0(x->rule, y->rule);
    if (!order)
        order = g_strcmp0(x->source, y->source);
    return order ? order : (x->line > y->line) - (x->line < y->line);
}

static GPtrArray *make_lines(CtReport *r, const GPtrArray *citations, gboolean sort)
{
    GPtrArray *lines = g_ptr_array_new_with_free_func(line_free);
    for (guint i = 0; citations && i < citations->len; i++)
        g_ptr_array_add(lines, make_line(r, g_ptr_array_index(citations, i)));
    if (sort)
        g_ptr_array_sort(lines, by_strength);
    return lines;
}

/* What a cause explains besides is no observation of its own: it speaks for the consequence. */
static gboolean is_own(const CtCitation *c)
{
    return c->group && c->weight != 0 && !g_str_equal(c->group, "built-in:consequence");
}

/* Groups that rest on different lines: what one line says twice is still one observation. */
static guint count_groups(const GPtrArray *lines)
{
    g_autoptr(GHashTable) groups = g_hash_table_new(g_str_hash, g_str_equal);
    g_autoptr(GHashTable) places = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (guint i = 0; i < lines->len; i++) {
        const CtReportLine *line = g_ptr_array_index(lines, i);
        const CtCitation *c = line->c;
        if (!is_own(c) || g_hash_table_contains(groups, c->group))
            continue;
        g_autofree char *place = g_strdup_printf("%s:%u", c->source ? c->source : "", c->line);
        if (c->line && g_hash_table_contains(places, place))
            continue;
        g_hash_table_add(groups, c->group);
        g_hash_table_add(places, g_steal_pointer(&place));
    }
    return g_hash_table_size(groups);
}

/* ---- causes ---- */

static char *format_percent(double p)
{
    if (p > 0 && p < 0.005)
        return g_strdup("<1%");
    return g_strdup_printf("%.0f%%", p * 100);
}

static GPtrArray *clean_all(const GPtrArray *texts)
{
    GPtrArray *out = g_ptr_array_new_with_free_func(g_free);
    for (guint i = 0; texts && i < texts->len; i++)
        g_ptr_array_add(out, ct_text_clean(g_ptr_array_index(texts, i)));
    return out;
}

static CtReportCause *make_cause(CtReport *r, const CtHypothesis *h)
{
    CtReportCause *c = g_new0(CtReportCause, 1);
    c->h = h;
    c->unknown = g_str_equal(h->cause, "unknown");
    c->title = c->unknown ? g_strdup(ct_msg(r->lang, CT_MSG_UNKNOWN_CAUSE))
                          : ct_text_clean(h->title ? h->title : h->cause);
    c->percent = format_percent(h->probability);
    c->action = ct_msgf(r->lang, CT_MSG_ACT_LINE_SHORT, ct_term(r->lang, "action", h->action),
                        ct_term(r->lang, "owner", h->owner),
                        ct_term(r->lang, "urgency", h->urgency), NULL);
    c->for_ = make_lines(r, h->for_, TRUE);
    c->against = make_lines(r, h->against, TRUE);
    c->n_groups = count_groups(c->for_);
    c->n_groups_against = count_groups(c->against);
    c->missing = clean_all(h->missing);
    c->fix = clean_all(h->fix);
    c->verify = clean_all(h->verify);
    c->pitfalls = clean_all(h->pitfalls);
    c->refs = clean_all(h->refs);
    return c;
}

static void make_causes(CtReport *r, const GPtrArray *from, GPtrArray *to)
{
    for (guint i = 0; from && i < from->len; i++) {
        CtReportCause *c = make_cause(r, g_ptr_array_index(from, i));
        g_ptr_array_add(to, c);
        g_hash_table_insert(r->titles, g_strdup(c->h->cause), g_strdup(c->title));
    }
}

/* Outcomes of tests also name causes that nothing speaks for. */
static void read_titles(CtReport *r, sqlite3 *kb)
{
    sqlite3_stmt *st = NULL;
    if (sqlite3_prepare_v2(kb,
                           r->lang == CT_LANG_ZH ? "SELECT id, title_zh FROM cause"
                                                 : "SELECT id, title_en FROM cause",
                           -1, &st, NULL) != SQLITE_OK)
        return;
    while (sqlite3_step(st) == SQLITE_ROW) {
        const char *id = (const char *)sqlite3_column_text(st, 0);
        const char *title = (const char *)sqlite3_column_text(st, 1);
        if (id && title)
            g_hash_table_insert(r->titles, g_strdup(id), ct_text_clean(title));
    }
    sqlite3_finalize(st);
}

/* ---- groups ---- */

static gboolean earlier(const CtReportLine *a, const CtReportLine *b)
{
    gboolean timed = a->c->t_ns != CT_TIME_UNKNOWN && b->c->t_ns != CT_TIME_UNKNOWN;
    if (timed && a->c->t_ns != b->c->t_ns)
        return a->c->t_ns < b->c->t_ns;
    if (g_strcmp0(a->c->source, b->c->source) == 0)
        return a->c->line < b->c->line;
    return FALSE;
}

static void cite_in_group(CtReportGroup *g, const CtReportCause *cause)
{
    for (guint i = 0; i < cause->for_->len; i++) {
        const CtReportLine *line = g_ptr_array_index(cause->for_, i);
        if (!line->c->source)
            continue;
        if (!g->first || earlier(line, g->first))
            g->first = line;
        if (!g->last || earlier(g->last, line))
            g->last = line;
        gboolean known = FALSE;
        for (guint k = 0; k < g->sources->len && !known; k++)
            known = g_str_equal(g_ptr_array_index(g->sources, k), line->c->source);
        if (!known)
            g_ptr_array_add(g->sources, line->c->source);
    }
}

/* Causes share one probability, so one diagnosis finds one incident at most. */
static void make_groups(CtReport *r)
{
    if (r->outcome != CT_REPORT_FOUND)
        return;
    CtReportGroup *g = g_new0(CtReportGroup, 1);
    g->root = ct_report_lead(r);
    g->sources = g_ptr_array_new();
    cite_in_group(g, g->root);
    for (guint i = 0; i < r->consequences->len; i++) {
        const CtReportCause *c = g_ptr_array_index(r->consequences, i);
        if (g_strcmp0(c->h->explained_by, g->root->h->cause) == 0)
            cite_in_group(g, c);
    }
    g_ptr_array_add(r->groups, g);
}

/* ---- outcome ---- */

/* What a program itself calls an error counts where it was not overcome: it stands at the end, or
 * there are many. A service that retried and went on for pages is well. */
static gboolean any_error(sqlite3 *db)
{
    sqlite3_stmt *st = NULL;
    gboolean found = FALSE;
    if (sqlite3_prepare_v2(db,
                           "SELECT 1 FROM event WHERE severity IN ('error','fatal') UNION ALL "
                           "SELECT 1 FROM event e JOIN section s ON s.id = e.section "
                           "WHERE e.kind = 'log-error' GROUP BY s.id HAVING sum(e.repeats) >= 10 "
                           "OR max(coalesce(e.last_line, e.line)) > s.last_line - 20 LIMIT 1",
                           -1, &st, NULL) == SQLITE_OK)
        found = sqlite3_step(st) == SQLITE_ROW;
    sqlite3_finalize(st);
    return found;
}

static CtReportOutcome decide(const CtReport *r, sqlite3 *db)
{
    double unknown = 0;
    for (guint i = 0; i < r->causes->len; i++) {
        const CtReportCause *c = g_ptr_array_index(r->causes, i);
        if (c->unknown)
            unknown = c->h->probability;
    }
    const CtReportCause *lead = ct_report_lead(r);
    if (lead && !lead->unknown && unknown < 0.5)
        return CT_REPORT_FOUND;
    /* Nothing was read, so nothing can be said. */
    if (r->n_empty_sources && r->n_empty_sources + r->n_bad_sources == r->sources->len)
        return CT_REPORT_INCOMPLETE;
    return r->n_bad_sources || any_error(db) ? CT_REPORT_INCOMPLETE : CT_REPORT_NOTHING;
}

static void incident_free(gpointer data)
{
    CtReportIncident *i = data;
    ct_report_free(i->report);
    g_free(i);
}

CtReport *ct_report_new(CtEvidence *ev, const CtDiagnosis *d, const CtKb *kb, CtLang lang)
{
    CtReport *r = g_new0(CtReport, 1);
    r->lang = lang;
    r->d = d;
    r->sources = g_ptr_array_new_with_free_func(source_free);
    r->causes = g_ptr_array_new_with_free_func(cause_free);
    r->consequences = g_ptr_array_new_with_free_func(cause_free);
    r->groups = g_ptr_array_new_with_free_func(group_free);
    r->titles = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    r->incidents = g_ptr_array_new_with_free_func(incident_free);

    sqlite3 *db = ct_evidence_db(ev);
    read_sources(r, db);
    name_sources(r);
    if (kb)
        read_titles(r, ct_kb_db(kb));
    make_causes(r, d->hypotheses, r->causes);
    make_causes(r, d->consequences, r->consequences);
    r->timeline = make_lines(r, d->timeline, FALSE);
    r->outcome = decide(r, db);
    make_groups(r);
    if (r->outcome == CT_REPORT_FOUND)
        r->slow = ct_report_slow_new(ev, ct_report_lead(r)->h, lang);
    ct_report_build_verdict(r);
    return r;
}

CtReport *ct_report_new_of_incidents(CtEvidence *ev, const GPtrArray *incidents, guint shown,
                                     const CtKb *kb, CtLang lang)
{
    const CtIncident *of = g_ptr_array_index(incidents, shown);
    CtReport *r = ct_report_new(ev, of->diagnosis, kb, lang);
    for (guint i = 0; i < incidents->len && incidents->len > 1; i++) {
        CtReportIncident *x = g_new0(CtReportIncident, 1);
        x->incident = g_ptr_array_index(incidents, i);
        if (i != shown)
            x->report = ct_report_new(ev, x->incident->diagnosis, kb, lang);
        g_ptr_array_add(r->incidents, x);
    }
    return r;
}

char *ct_report_incident_line(const CtReport *r, guint index)
{
    const CtReportIncident *x = g_ptr_array_index(r->incidents, index);
    if (!x->report)
        return NULL;
    g_autofree char *time = ct_report_time(x->incident->t0_ns);
    g_autofree char *number = g_strdup_printf("%u", index + 1);
    /* Where no source writes a year it is the epoch's. */
    const char *shown = time && g_str_has_prefix(time, "1970-") ? time + 5 : time;
    g_autofree char *when = shown ? g_strconcat(shown, " ", NULL) : g_strdup("");
    return ct_msgf(r->lang, CT_MSG_ALSO_FOUND_LINE, number, when, x->report->verdict_cause, NULL);
}

CtReportOutcome ct_report_outcome(const CtReport *r)
{
    return r->outcome;
}

const char *ct_report_outcome_name(CtReportOutcome outcome)
{
    static const char *const names[] = {"nothing", "found", "incomplete"};
    return names[outcome];
}

const CtReportCause *ct_report_lead(const CtReport *r)
{
    return r->causes->len ? g_ptr_array_index(r->causes, 0) : NULL;
}

const char *ct_report_title(const CtReport *r, const char *cause)
{
    const char *title = g_hash_table_lookup(r->titles, cause);
    return title ? title : cause;
}
