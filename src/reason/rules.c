/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs the rules of the knowledge base. Most are never prepared, because a kind of row that they
 * cannot do without is not there. A rule counts once; up to three rows are cited for it.
 */
#include <jansson.h>
#include <string.h>

#include "base/error.h"
#include "reason/reason-private.h"

/* Steps of SQLite's machine for one rule: well over what a join of folded events needs. */
#define RULE_BUDGET 5000000
#define BUDGET_STEP 1000
/* Rows looked at for something new to cite. */
#define MAX_ROWS_SEEN 20

typedef struct {
    const char *cause, *id, *group, *sql, *needs, *absent_needs, *say;
    double weight, absent_weight;
} Rule;

static int spend(void *user)
{
    int *budget = user;
    *budget -= BUDGET_STEP;
    return *budget < 0;
}

/* ---- values of a row for its sentence ---- */

typedef struct {
    CtReason *r;
    sqlite3_stmt *st; /* the rule, standing on the row */
    const char *tab;
    gint64 row;
    sqlite3_stmt *base; /* the row itself, when a name is not among the rule's columns */
    json_t *detail;
    gboolean detail_read;
} RowValues;

static gboolean from_column(sqlite3_stmt *st, const char *name, CtValue *out)
{
    for (int i = 0; i < sqlite3_column_count(st); i++) {
        if (g_strcmp0(sqlite3_column_name(st, i), name) != 0)
            continue;
        int type = sqlite3_column_type(st, i);
        if (type == SQLITE_NULL)
            return FALSE;
        out->is_number = type == SQLITE_INTEGER || type == SQLITE_FLOAT;
        out->number = sqlite3_column_double(st, i);
        if (type == SQLITE_INTEGER || type == SQLITE_TEXT)
            out->text = g_strdup(ct_column(st, i));
        return TRUE;
    }
    return FALSE;
}

static gboolean from_json(const json_t *detail, const char *name, CtValue *out)
{
    const json_t *v = json_object_get(detail, name);
    if (json_is_string(v)) {
        out->text = g_strdup(json_string_value(v));
        /* A captured number is text in the detail; formats want its value. */
        char *end;
        out->number = g_ascii_strtod(out->text, &end);
        out->is_number = end != out->text && *end == 0;
    } else if (json_is_number(v)) {
        out->number = json_number_value(v);
        out->is_number = TRUE;
    } else {
        return FALSE;
    }
    return TRUE;
}

static void read_base(RowValues *v)
{
    static const char *const tables[] = {"event", "fact", "finding", "span", "section", "source"};
    for (guint i = 0; i < G_N_ELEMENTS(tables) && !v->base; i++) {
        if (strcmp(v->tab, tables[i]) != 0)
            continue;
        g_autofree char *sql = g_strdup_printf("SELECT * FROM %s WHERE id = ?", v->tab);
        v->base = ct_prepare(v->r->db, sql);
        sqlite3_bind_int64(v->base, 1, v->row);
        sqlite3_step(v->base);
    }
}

static void read_detail(RowValues *v)
{
    CtValue text = {0};
    v->detail_read = TRUE;
    if (!from_column(v->st, "detail", &text) && v->base && sqlite3_data_count(v->base))
        from_column(v->base, "detail", &text);
    if (text.text)
        v->detail = json_loads(text.text, 0, NULL);
    g_free(text.text);
}

static gboolean value_of(gpointer user, const char *name, CtValue *out)
{
    RowValues *v = user;
    if (from_column(v->st, name, out))
        return TRUE;
    if (!v->base)
        read_base(v);
    if (v->base && sqlite3_data_count(v->base) && from_column(v->base, name, out))
        return TRUE;
    if (!v->detail_read)
        read_detail(v);
    return v->detail && from_json(v->detail, name, out);
}

static char *sentence_of_row(CtReason *r, const Rule *rule, sqlite3_stmt *st, const char *tab,
                             gint64 row)
{
    RowValues values = {.r = r, .st = st, .tab = tab, .row = row};
    char *text = ct_sentence(rule->say, value_of, &values);
    sqlite3_finalize(values.base);
    json_decref(values.detail);
    return text;
}

/* ---- candidates ---- */

CtCandidate *ct_candidate_new(void)
{
    CtCandidate *c = g_new0(CtCandidate, 1);
    CtHypothesis *h = g_new0(CtHypothesis, 1);
    h->for_ = g_ptr_array_new_with_free_func(ct_citation_free);
    h->against = g_ptr_array_new_with_free_func(ct_citation_free);
    h->missing = g_ptr_array_new_with_free_func(g_free);
    h->next = g_ptr_array_new_with_free_func(ct_next_test_free);
    h->fix = g_ptr_array_new_with_free_func(g_free);
    h->verify = g_ptr_array_new_with_free_func(g_free);
    h->pitfalls = g_ptr_array_new_with_free_func(g_free);
    h->refs = g_ptr_array_new_with_free_func(g_free);
    h->consequences = g_ptr_array_new_with_free_func(g_free);
    c->hypothesis = h;
    c->absences = g_array_new(FALSE, FALSE, sizeof(CtAbsence));
    c->first_seq = G_MAXINT64;
    c->first_wall_ns = CT_TIME_UNKNOWN;
    c->explained_by = -1;
    return c;
}

void ct_candidate_free(gpointer data)
{
    CtCandidate *c = data;
    ct_hypothesis_free(c->hypothesis);
    g_array_unref(c->absences);
    g_free(c);
}

CtHypothesis *ct_hypothesis_new(const char *cause)
{
    CtCandidate *c = ct_candidate_new();
    CtHypothesis *h = g_steal_pointer(&c->hypothesis);
    ct_candidate_free(c);
    h->cause = g_strdup(cause);
    return h;
}

/* ---- one rule ---- */

static gboolean already_cited(const GPtrArray *rows, const char *tab, gint64 row)
{
    for (guint i = 0; i < rows->len; i++) {
        const CtCitation *c = g_ptr_array_index(rows, i);
        if (c->row == row && strcmp(c->tab, tab) == 0)
            return TRUE;
    }
    return FALSE;
}

/* Whether the line is written already, or only repeats in the same log what was cited from it: an
 * error that sticks comes back from every later call. What happens again much later is news. */
static gboolean tells_nothing_new(CtReason *r, const CtCitation *had, const CtCitation *cite)
{
    if (!cite->section || had->section != cite->section)
        return FALSE;
    if (cite->line && had->line == cite->line)
        return TRUE;
    if (strcmp(cite->tab, "event") != 0 || strcmp(had->tab, "event") != 0 ||
        !ct_same_kind(r, had->row, cite->row))
        return FALSE;
    return had->t_ns == CT_TIME_UNKNOWN || cite->t_ns == CT_TIME_UNKNOWN ||
           ABS(cite->t_ns - had->t_ns) <= CT_FOLD_GAP_NS;
}

static void add_if_new(CtReason *r, GPtrArray *rows, CtCitation *cite)
{
    for (guint i = 0; i < rows->len; i++) {
        if (tells_nothing_new(r, g_ptr_array_index(rows, i), cite)) {
            ct_citation_free(cite);
            return;
        }
    }
    g_ptr_array_add(rows, cite);
}

/* A rule that joins rows may name a second and third one: tab2, row2, tab3, row3. */
static void cite_joined(CtReason *r, sqlite3_stmt *st, GPtrArray *rows)
{
    for (int i = 2; i + 1 < sqlite3_column_count(st) && rows->len < CT_ROWS_PER_RULE; i++) {
        const char *name = sqlite3_column_name(st, i);
        if (g_strcmp0(name, "tab2") != 0 && g_strcmp0(name, "tab3") != 0)
            continue;
        const char *tab = ct_column(st, i);
        gint64 row = sqlite3_column_int64(st, i + 1);
        if (*tab && row > 0 && !already_cited(rows, tab, row))
            add_if_new(r, rows, ct_cite(r, tab, row, NULL));
    }
}

static void cite_row(CtReason *r, const Rule *rule, sqlite3_stmt *st, GPtrArray *rows)
{
    g_autofree char *tab = g_strdup(ct_column(st, 0));
    gint64 row = sqlite3_column_int64(st, 1);
    if (already_cited(rows, tab, row))
        return;
    add_if_new(r, rows, ct_cite(r, tab, row, sentence_of_row(r, rule, st, tab, row)));
    cite_joined(r, st, rows);
}

/* Room that is left goes to the further lines of the findings that are cited. */
static void cite_lines_of_findings(CtReason *r, GPtrArray *rows)
{
    guint n = rows->len;
    for (guint i = 0; i < n; i++) {
        const CtCitation *c = g_ptr_array_index(rows, i);
        if (strcmp(c->tab, "finding") != 0)
            continue;
        g_autoptr(GPtrArray) lines = g_ptr_array_new();
        ct_cite_finding(r, c->row, CT_ROWS_PER_RULE, lines);
        for (guint k = 0; k < lines->len; k++) {
            /* The first line is the one that the sentence already has. */
            if (k > 0 && rows->len < CT_ROWS_PER_RULE)
                add_if_new(r, rows, g_ptr_array_index(lines, k));
            else
                ct_citation_free(g_ptr_array_index(lines, k));
        }
    }
}

/* The rows of a rule as citations, none when it does not hold. (transfer full) */
static GPtrArray *run_rule(CtReason *r, const Rule *rule)
{
    GPtrArray *rows = g_ptr_array_new_with_free_func(ct_citation_free);
    if (!ct_presence_has(r, rule->needs))
        return rows;
    sqlite3_stmt *st = NULL;
    int rc = sqlite3_prepare_v2(r->db, rule->sql, -1, &st, NULL);
    if (rc == SQLITE_OK && (!st || sqlite3_column_count(st) < 2)) {
        ct_note(r, "rule %s of %s returns no `tab, row`, skipped", rule->id, rule->cause);
        sqlite3_finalize(st);
        return rows;
    }
    int budget = RULE_BUDGET;
    sqlite3_progress_handler(r->db, BUDGET_STEP, spend, &budget);
    for (guint n = 0; n < MAX_ROWS_SEEN && rc == SQLITE_OK && rows->len < CT_ROWS_PER_RULE; n++) {
        rc = sqlite3_step(st);
        if (rc != SQLITE_ROW)
            break;
        cite_row(r, rule, st, rows);
        rc = SQLITE_OK;
    }
    sqlite3_progress_handler(r->db, 0, NULL, NULL);
    cite_lines_of_findings(r, rows);
    if (rc == SQLITE_INTERRUPT)
        ct_note(r, "rule %s of %s takes too long on this evidence, skipped", rule->id, rule->cause);
    else if (rc != SQLITE_OK && rc != SQLITE_DONE)
        ct_note(r, "rule %s of %s: %s, skipped", rule->id, rule->cause, sqlite3_errmsg(r->db));
    if (rc != SQLITE_OK && rc != SQLITE_DONE)
        g_ptr_array_set_size(rows, 0);
    sqlite3_finalize(st);
    return rows;
}

GPtrArray *ct_rule_rows(CtReason *r, const char *id, const char *sql, const char *needs,
                        const char *say)
{
    const Rule rule = {.cause = "check", .id = id, .sql = sql, .needs = needs, .say = say};
    return run_rule(r, &rule);
}

static void take_rows(CtCandidate *c, const Rule *rule, GPtrArray *rows)
{
    GPtrArray *to = rule->weight < 0 ? c->hypothesis->against : c->hypothesis->for_;
    for (guint i = 0; i < rows->len; i++) {
        CtCitation *cite = g_ptr_array_index(rows, i);
        cite->rule = g_strdup(rule->id);
        cite->group = g_strdup(rule->group);
        cite->weight = i == 0 ? rule->weight : 0;
        if (!cite->text)
            cite->text = g_strdup(cite->quote ? cite->quote : "");
        if (rule->weight > 0) {
            if (cite->seq < c->first_seq) {
                c->first_seq = cite->seq;
                c->first_section = cite->section;
            }
            if (cite->t_ns != CT_TIME_UNKNOWN &&
                (c->first_wall_ns == CT_TIME_UNKNOWN || cite->t_ns < c->first_wall_ns))
                c->first_wall_ns = cite->t_ns;
        }
        g_ptr_array_add(to, cite);
    }
    g_ptr_array_set_free_func(rows, NULL); /* they belong to the hypothesis now */
}

static void try_rule(CtReason *r, CtCandidate *c, const Rule *rule)
{
    g_autoptr(GPtrArray) rows = run_rule(r, rule);
    if (rows->len) {
        take_rows(c, rule, rows);
    } else if (rule->absent_needs && *rule->absent_needs && rule->absent_weight < 0) {
        CtAbsence a = {.id = g_string_chunk_insert_const(r->texts, rule->id),
                       .group = g_string_chunk_insert_const(r->texts, rule->group),
                       .say = g_string_chunk_insert_const(r->texts, rule->say),
                       .needs = g_string_chunk_insert_const(r->texts, rule->absent_needs),
                       .weight = rule->absent_weight};
        g_array_append_val(c->absences, a);
    }
}

/* ---- all rules ---- */

static void keep_if_it_holds(CtReason *r, CtCandidate *c)
{
    if (c && c->hypothesis->cause && c->hypothesis->for_->len)
        g_ptr_array_add(r->candidates, c);
    else if (c)
        ct_candidate_free(c);
}

static void read_rule(sqlite3_stmt *st, gboolean zh, Rule *rule)
{
    const char *say_zh = ct_column(st, 9);
    *rule = (Rule){.cause = ct_column(st, 0),
                   .id = ct_column(st, 1),
                   .group = ct_column(st, 2),
                   .sql = ct_column(st, 3),
                   .needs = ct_column(st, 4),
                   .weight = sqlite3_column_double(st, 5),
                   .absent_needs = ct_column(st, 6),
                   .absent_weight = sqlite3_column_double(st, 7),
                   .say = zh && *say_zh ? say_zh : ct_column(st, 8)};
}

gboolean ct_rules_run(CtReason *r, GError **error)
{
    sqlite3_stmt *st = NULL;
    if (sqlite3_prepare_v2(ct_kb_db(r->kb),
                           "SELECT cause, id, evidence_group, sql, needs, weight, absent_needs, "
                           "absent_weight, say_en, say_zh FROM rule ORDER BY cause, ord",
                           -1, &st, NULL) != SQLITE_OK) {
        g_set_error(error, CT_ERROR, CT_ERROR_CORRUPT, "reading rules: %s",
                    sqlite3_errmsg(ct_kb_db(r->kb)));
        return FALSE;
    }
    CtCandidate *c = NULL;
    ct_sql_read_only(r->db, TRUE); /* rules may come from a folder of the user */
    while (sqlite3_step(st) == SQLITE_ROW) {
        Rule rule;
        read_rule(st, r->zh, &rule);
        if (!c || strcmp(c->hypothesis->cause, rule.cause) != 0) {
            keep_if_it_holds(r, c);
            c = ct_candidate_new();
            c->hypothesis->cause = g_strdup(rule.cause);
        }
        try_rule(r, c, &rule);
    }
    ct_sql_read_only(r->db, FALSE);
    keep_if_it_holds(r, c);
    sqlite3_finalize(st);
    return TRUE;
}
