/* SPDX-License-Identifier: Apache-2.0 */
/* The in-memory store: prepared inserts, folding of repeats, series as column arrays. */
#include "evidence/evidence-private.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/limits.h"

static const char *const statements[N_STMT] = {
    [STMT_SOURCE] = "INSERT INTO source(path,format,status,bytes,lines,note) VALUES(?,?,?,?,?,?)",
    [STMT_SOURCE_END] = "UPDATE source SET status=?2,bytes=?3,lines=?4,note=coalesce(?5,note) "
                        "WHERE id=?1",
    [STMT_SECTION] = "INSERT INTO section(source,first_line,last_line,title,command,parser,scope,"
                     "status,clock,clock_offset_ns,note) VALUES(?,?,?,?,?,?,?,?,?,?,?)",
    [STMT_SECTION_END] = "UPDATE section SET last_line=?2,clock=?3,status=?4,note=?5 WHERE id=?1",
    [STMT_EVENT] = "INSERT INTO event(section,line,seq,t_ns,kind,severity,subject,code,name,pid,"
                   "rank,gpu,text,detail,last_line,last_t_ns) "
                   "VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?2,?4)",
    [STMT_EVENT_REPEAT] = "UPDATE event SET repeats=?2,last_line=?3,last_t_ns=?4 WHERE id=?1",
    [STMT_FACT] = "INSERT INTO fact(section,line,subject,key,value,number,status,text) "
                  "VALUES(?,?,?,?,?,?,?,?)",
    [STMT_SPAN] = "INSERT INTO span(section,line,track,name,t0_ns,t1_ns,detail) "
                  "VALUES(?,?,?,?,?,?,?)",
    [STMT_COVERAGE] = "INSERT INTO coverage(section,kind,subject,t0_ns,t1_ns) VALUES(?,?,?,?,?)",
    [STMT_ALIAS] = "INSERT OR IGNORE INTO alias(subject,name) VALUES(?,?)",
    [STMT_SERIES] = "INSERT INTO series(section,subject,metric,unit) VALUES(?,?,?,?)",
    [STMT_FINDING] = "INSERT INTO finding(analyzer,kind,severity,subject,t0_ns,t1_ns,number,"
                     "confidence,text,detail) VALUES(?,?,?,?,?,?,?,?,?,?)",
    [STMT_CITE] = "INSERT INTO finding_evidence(finding,tab,row,line) VALUES(?,?,?,?)",
    [STMT_HYPOTHESIS] = "INSERT INTO hypothesis(cause,layer,score,probability,explained_by) "
                        "VALUES(?,?,?,?,?)",
    [STMT_SUPPORT] = "INSERT INTO support(hypothesis,rule,evidence_group,weight,tab,row,text) "
                     "VALUES(?,?,?,?,?,?,?)",
    [STMT_ATTACH] = "INSERT OR REPLACE INTO sqlar(name,mode,mtime,sz,data) "
                    "VALUES(?,33152,0,?,?)",
};

const char *ct_severity_name(CtSeverity severity)
{
    static const char *const names[] = {"info", "warning", "error", "fatal"};
    g_assert(severity >= 0 && (gsize)severity < G_N_ELEMENTS(names));
    return names[severity];
}

static void series_free(gpointer data)
{
    CtSeries *s = data;
    g_free(s->subject);
    g_free(s->metric);
    g_free(s->unit);
    g_array_unref(s->t_ns);
    g_array_unref(s->value);
    g_array_unref(s->line);
    g_free(s);
}

CtEvidence *ct_evidence_new(GError **error)
{
    g_autoptr(CtEvidence) ev = g_new0(CtEvidence, 1);
    ev->series = g_ptr_array_new_with_free_func(series_free);
    ev->series_by_key = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    ev->folds = ct_fold_table_new();
    if (sqlite3_open(":memory:", &ev->db) != SQLITE_OK ||
        ct_migrate(ev->db, 0, CT_CASE_VERSION) != SQLITE_OK ||
        ct_sample_vtab_register(ev) != SQLITE_OK) {
        g_set_error(error, CT_ERROR, CT_ERROR_INTERNAL, "preparing the evidence store: %s",
                    ev->db ? sqlite3_errmsg(ev->db) : "out of memory");
        return NULL;
    }
    /* One transaction around everything: nothing reads through another handle. */
    sqlite3_exec(ev->db, "BEGIN", NULL, NULL, NULL);
    return g_steal_pointer(&ev);
}

void ct_evidence_free(CtEvidence *ev)
{
    if (!ev)
        return;
    for (int i = 0; i < N_STMT; i++)
        sqlite3_finalize(ev->stmt[i]);
    sqlite3_close(ev->db);
    g_clear_pointer(&ev->series, g_ptr_array_unref);
    g_clear_pointer(&ev->overflow, series_free);
    g_clear_pointer(&ev->series_by_key, g_hash_table_unref);
    ct_fold_table_free(ev->folds);
    g_free(ev);
}

sqlite3 *ct_evidence_db(CtEvidence *ev)
{
    ct_evidence_flush(ev);
    return ev->db;
}

guint64 ct_evidence_dropped(const CtEvidence *ev)
{
    return ev->dropped;
}

static sqlite3_stmt *prepared(CtEvidence *ev, int which)
{
    if (!ev->stmt[which]) {
        int rc = sqlite3_prepare_v3(ev->db, statements[which], -1, SQLITE_PREPARE_PERSISTENT,
                                    &ev->stmt[which], NULL);
        if (rc != SQLITE_OK)
            g_error("evidence statement %d: %s", which, sqlite3_errmsg(ev->db));
    }
    return ev->stmt[which];
}

/* Input may hold bytes that are no UTF-8; the store holds only valid text. */
static void bind_text(sqlite3_stmt *st, int column, const char *text)
{
    if (!text)
        sqlite3_bind_null(st, column);
    else if (g_utf8_validate(text, -1, NULL))
        sqlite3_bind_text(st, column, text, -1, SQLITE_TRANSIENT);
    else
        sqlite3_bind_text(st, column, g_utf8_make_valid(text, -1), -1, g_free);
}

static void bind_time(sqlite3_stmt *st, int column, gint64 t_ns)
{
    if (t_ns == CT_TIME_UNKNOWN || t_ns == 0)
        sqlite3_bind_null(st, column);
    else
        sqlite3_bind_int64(st, column, t_ns);
}

static void bind_int(sqlite3_stmt *st, int column, gint64 value, gboolean known)
{
    if (known && value != CT_NONE)
        sqlite3_bind_int64(st, column, value);
    else
        sqlite3_bind_null(st, column);
}

static void bind_double(sqlite3_stmt *st, int column, double value, gboolean known)
{
    if (known && isfinite(value))
        sqlite3_bind_double(st, column, value);
    else
        sqlite3_bind_null(st, column);
}

static gint64 run(CtEvidence *ev, sqlite3_stmt *st)
{
    int rc = sqlite3_step(st);
    if (rc != SQLITE_DONE && rc != SQLITE_ROW)
        g_warning("evidence: %s", sqlite3_errmsg(ev->db));
    sqlite3_reset(st);
    return sqlite3_last_insert_rowid(ev->db);
}

gint64 ct_evidence_add_source(CtEvidence *ev, const CtSourceRow *row)
{
    sqlite3_stmt *st = prepared(ev, STMT_SOURCE);
    bind_text(st, 1, row->path);
    bind_text(st, 2, row->format);
    bind_text(st, 3, ct_status_name(row->status));
    bind_int(st, 4, row->bytes, TRUE);
    bind_int(st, 5, row->lines, TRUE);
    bind_text(st, 6, row->note);
    return run(ev, st);
}

void ct_evidence_end_source(CtEvidence *ev, gint64 source, CtStatus status, gint64 bytes,
                            gint64 lines, const char *note)
{
    ct_evidence_flush(ev);
    sqlite3_stmt *st = prepared(ev, STMT_SOURCE_END);
    sqlite3_bind_int64(st, 1, source);
    bind_text(st, 2, ct_status_name(status));
    bind_int(st, 3, bytes, TRUE);
    bind_int(st, 4, lines, TRUE);
    bind_text(st, 5, note);
    run(ev, st);
}

gint64 ct_evidence_add_section(CtEvidence *ev, const CtSectionRow *row)
{
    sqlite3_stmt *st = prepared(ev, STMT_SECTION);
    sqlite3_bind_int64(st, 1, row->source);
    sqlite3_bind_int64(st, 2, row->first_line);
    bind_int(st, 3, row->last_line, row->last_line > 0);
    bind_text(st, 4, row->title);
    bind_text(st, 5, row->command);
    bind_text(st, 6, row->parser);
    bind_text(st, 7, row->scope ? row->scope : "host");
    bind_text(st, 8, ct_status_name(row->status));
    bind_text(st, 9, row->clock ? row->clock : "none");
    bind_int(st, 10, row->clock_offset_ns, row->clock_offset_ns != 0);
    bind_text(st, 11, row->note);
    return run(ev, st);
}

void ct_evidence_end_section(CtEvidence *ev, gint64 section, guint last_line, const char *clock,
                             CtStatus status, const char *note)
{
    ct_evidence_flush(ev);
    ct_fold_table_clear(ev->folds);
    sqlite3_stmt *st = prepared(ev, STMT_SECTION_END);
    sqlite3_bind_int64(st, 1, section);
    sqlite3_bind_int64(st, 2, last_line);
    bind_text(st, 3, clock ? clock : "none");
    bind_text(st, 4, ct_status_name(status));
    bind_text(st, 5, note);
    run(ev, st);
}

static void write_fold(CtFold *fold, gpointer user)
{
    CtEvidence *ev = user;
    sqlite3_stmt *st = prepared(ev, STMT_EVENT_REPEAT);
    sqlite3_bind_int64(st, 1, fold->row);
    sqlite3_bind_int64(st, 2, fold->repeats);
    sqlite3_bind_int64(st, 3, fold->last_line);
    bind_time(st, 4, fold->last_t_ns);
    run(ev, st);
    fold->dirty = FALSE;
}

void ct_evidence_flush(CtEvidence *ev)
{
    ct_fold_foreach_dirty(ev->folds, write_fold, ev);
}

gint64 ct_evidence_add_event(CtEvidence *ev, const CtEventRow *row)
{
    CtFold *fold = ct_fold_find(ev->folds, row);
    ev->seq++;
    if (fold && ct_fold_take(ev->folds, fold, row))
        return fold->row;
    if (fold && fold->dirty)
        write_fold(fold, ev);
    if (!ct_fold_admit(ev->folds, row->kind)) {
        ev->dropped++;
        return 0;
    }

    sqlite3_stmt *st = prepared(ev, STMT_EVENT);
    sqlite3_bind_int64(st, 1, row->section);
    bind_int(st, 2, row->line, row->line > 0);
    sqlite3_bind_int64(st, 3, (gint64)ev->seq);
    bind_time(st, 4, row->t_ns);
    bind_text(st, 5, row->kind);
    bind_text(st, 6, ct_severity_name(row->severity));
    bind_text(st, 7, row->subject);
    bind_int(st, 8, row->code, row->has_code);
    bind_text(st, 9, row->name);
    bind_int(st, 10, row->pid, row->has_pid);
    bind_int(st, 11, row->rank, row->has_rank);
    bind_text(st, 12, row->gpu);
    bind_text(st, 13, row->text);
    bind_text(st, 14, row->detail);
    gint64 id = run(ev, st);

    ct_fold_start(ev->folds, row, id);
    return id;
}

gint64 ct_evidence_add_fact(CtEvidence *ev, const CtFactRow *row)
{
    if (row->section != ev->fact_section) {
        ev->fact_section = row->section;
        ev->n_facts = 0;
    }
    if (++ev->n_facts > CT_MAX_FACTS_PER_SECTION) {
        ev->dropped++;
        return 0;
    }
    sqlite3_stmt *st = prepared(ev, STMT_FACT);
    sqlite3_bind_int64(st, 1, row->section);
    bind_int(st, 2, row->line, row->line > 0);
    bind_text(st, 3, row->subject);
    bind_text(st, 4, row->key);
    bind_text(st, 5, row->value);
    bind_double(st, 6, row->number, row->has_number);
    bind_text(st, 7, ct_status_name(row->status));
    bind_text(st, 8, row->text);
    return run(ev, st);
}

gint64 ct_evidence_add_span(CtEvidence *ev, const CtSpanRow *row)
{
    sqlite3_stmt *st = prepared(ev, STMT_SPAN);
    sqlite3_bind_int64(st, 1, row->section);
    bind_int(st, 2, row->line, row->line > 0);
    bind_text(st, 3, row->track);
    bind_text(st, 4, row->name);
    bind_time(st, 5, row->t0_ns);
    bind_time(st, 6, row->t1_ns);
    bind_text(st, 7, row->detail);
    return run(ev, st);
}

gint64 ct_evidence_add_coverage(CtEvidence *ev, gint64 section, const char *kind,
                                const char *subject, gint64 t0_ns, gint64 t1_ns)
{
    sqlite3_stmt *st = prepared(ev, STMT_COVERAGE);
    sqlite3_bind_int64(st, 1, section);
    bind_text(st, 2, kind);
    bind_text(st, 3, subject);
    bind_time(st, 4, t0_ns);
    bind_time(st, 5, t1_ns);
    return run(ev, st);
}

void ct_evidence_add_alias(CtEvidence *ev, const char *subject, const char *name)
{
    sqlite3_stmt *st = prepared(ev, STMT_ALIAS);
    bind_text(st, 1, subject);
    bind_text(st, 2, name);
    run(ev, st);
}

gint64 ct_evidence_add_finding(CtEvidence *ev, const CtFindingRow *row)
{
    sqlite3_stmt *st = prepared(ev, STMT_FINDING);
    bind_text(st, 1, row->analyzer);
    bind_text(st, 2, row->kind);
    bind_text(st, 3, ct_severity_name(row->severity));
    bind_text(st, 4, row->subject);
    bind_time(st, 5, row->t0_ns);
    bind_time(st, 6, row->t1_ns);
    bind_double(st, 7, row->number, TRUE);
    bind_double(st, 8, row->confidence, TRUE);
    bind_text(st, 9, row->text);
    bind_text(st, 10, row->detail);
    return run(ev, st);
}

void ct_evidence_cite(CtEvidence *ev, gint64 finding, const char *tab, gint64 row, guint line)
{
    sqlite3_stmt *st = prepared(ev, STMT_CITE);
    sqlite3_bind_int64(st, 1, finding);
    bind_text(st, 2, tab);
    sqlite3_bind_int64(st, 3, row);
    bind_int(st, 4, line, line > 0);
    run(ev, st);
}

gint64 ct_evidence_add_hypothesis(CtEvidence *ev, const CtHypothesisRow *row)
{
    sqlite3_stmt *st = prepared(ev, STMT_HYPOTHESIS);
    bind_text(st, 1, row->cause);
    bind_text(st, 2, row->layer);
    bind_double(st, 3, row->score, TRUE);
    bind_double(st, 4, row->probability, TRUE);
    bind_text(st, 5, row->explained_by);
    return run(ev, st);
}

void ct_evidence_add_support(CtEvidence *ev, const CtSupportRow *row)
{
    sqlite3_stmt *st = prepared(ev, STMT_SUPPORT);
    sqlite3_bind_int64(st, 1, row->hypothesis);
    bind_text(st, 2, row->rule);
    bind_text(st, 3, row->group);
    bind_double(st, 4, row->weight, TRUE);
    bind_text(st, 5, row->tab);
    bind_int(st, 6, row->row, row->row > 0);
    bind_text(st, 7, row->text);
    run(ev, st);
}

void ct_evidence_clear_hypotheses(CtEvidence *ev)
{
    sqlite3_exec(ev->db, "DELETE FROM support; DELETE FROM hypothesis", NULL, NULL, NULL);
}

gint64 ct_evidence_add_attachment(CtEvidence *ev, const char *name, const void *data, gsize len)
{
    sqlite3_stmt *st = prepared(ev, STMT_ATTACH);
    bind_text(st, 1, name);
    sqlite3_bind_int64(st, 2, (gint64)len);
    sqlite3_bind_blob64(st, 3, data, len, SQLITE_TRANSIENT);
    return run(ev, st);
}

static char *series_key(gint64 section, const char *subject, const char *metric)
{
    return g_strdup_printf("%" G_GINT64_FORMAT "|%s|%s", section, subject ? subject : "", metric);
}

static CtSeries *series_new(CtEvidence *ev, gint64 id, gint64 section, const char *subject,
                            const char *metric, const char *unit)
{
    CtSeries *s = g_new0(CtSeries, 1);
    s->owner = ev;
    s->id = id;
    s->section = section;
    s->subject = g_strdup(subject);
    s->metric = g_strdup(metric);
    s->unit = g_strdup(unit);
    s->t_ns = g_array_new(FALSE, FALSE, sizeof(gint64));
    s->value = g_array_new(FALSE, FALSE, sizeof(double));
    s->line = g_array_new(FALSE, FALSE, sizeof(guint));
    return s;
}

CtSeries *ct_series_register(CtEvidence *ev, gint64 id, gint64 section, const char *subject,
                             const char *metric, const char *unit)
{
    CtSeries *s = series_new(ev, id, section, subject, metric, unit);
    g_ptr_array_add(ev->series, s);
    g_hash_table_insert(ev->series_by_key, series_key(section, subject, metric), s);
    return s;
}

CtSeries *ct_evidence_series(CtEvidence *ev, gint64 section, const char *subject,
                             const char *metric, const char *unit)
{
    /* Samples of one series mostly come one after the other, or a few series by turns. */
    guint slot = (guint)metric[0] % G_N_ELEMENTS(ev->recent);
    CtSeries *s = ev->recent[slot];
    if (s && s->section == section && g_str_equal(s->metric, metric) &&
        g_strcmp0(s->subject, subject) == 0)
        return s;
    g_autofree char *key = series_key(section, subject, metric);
    s = g_hash_table_lookup(ev->series_by_key, key);
    if (s) {
        ev->recent[slot] = s;
        return s;
    }

    /* Names of series come from the input; past the cap one series takes what is dropped. */
    if (ev->series->len >= CT_MAX_SERIES) {
        if (!ev->overflow) {
            ev->overflow = series_new(ev, 0, section, NULL, metric, unit);
            ev->overflow->discard = TRUE;
        }
        return ev->overflow;
    }
    sqlite3_stmt *st = prepared(ev, STMT_SERIES);
    sqlite3_bind_int64(st, 1, section);
    bind_text(st, 2, subject);
    bind_text(st, 3, metric);
    bind_text(st, 4, unit);
    return ct_series_register(ev, run(ev, st), section, subject, metric, unit);
}

void ct_evidence_forget_series(CtEvidence *ev, guint from)
{
    memset(ev->recent, 0, sizeof ev->recent);
    while (ev->series->len > from) {
        CtSeries *s = g_ptr_array_index(ev->series, ev->series->len - 1);
        g_autofree char *key = series_key(s->section, s->subject, s->metric);
        if (g_hash_table_lookup(ev->series_by_key, key) == s)
            g_hash_table_remove(ev->series_by_key, key);
        ev->n_samples -= s->value->len;
        g_ptr_array_set_size(ev->series, (gint)ev->series->len - 1);
    }
}

void ct_series_add(CtSeries *series, gint64 t_ns, double value, guint line)
{
    if (!isfinite(value))
        return;
    if (series->discard || series->owner->n_samples >= CT_MAX_SAMPLES) {
        series->owner->dropped++;
        return;
    }
    series->owner->n_samples++;
    g_array_append_val(series->t_ns, t_ns);
    g_array_append_val(series->value, value);
    g_array_append_val(series->line, line);
}

guint ct_evidence_n_series(const CtEvidence *ev)
{
    return ev->series->len;
}

CtSeriesView ct_evidence_series_at(const CtEvidence *ev, guint index)
{
    const CtSeries *s = g_ptr_array_index(ev->series, index);
    return (CtSeriesView){
        .id = s->id,
        .section = s->section,
        .subject = s->subject,
        .metric = s->metric,
        .unit = s->unit,
        .len = s->value->len,
        .t_ns = (const gint64 *)(void *)s->t_ns->data,
        .value = (const double *)(void *)s->value->data,
        .line = (const guint *)(void *)s->line->data,
    };
}
