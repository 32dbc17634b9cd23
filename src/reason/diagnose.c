/* SPDX-License-Identifier: Apache-2.0 */
/* The run of the reasoner from evidence to diagnosis, and the life of its results. */
#include <stdarg.h>
#include <string.h>

#include "base/error.h"
#include "reason/reason-private.h"

#define MAX_HYPOTHESES 10
#define LEAST_PROBABILITY 0.005 /* less is listed only among the first three */

const char *ct_lang(const CtReason *r, const char *en, const char *zh)
{
    return r->zh ? zh : en;
}

const char *ct_column(sqlite3_stmt *st, int column)
{
    const char *text = (const char *)sqlite3_column_text(st, column);
    return text ? text : "";
}

sqlite3_stmt *ct_prepare(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *st = NULL;
    if (sqlite3_prepare_v2(db, sql, -1, &st, NULL) != SQLITE_OK)
        g_error("reason: %s: %s", sql, sqlite3_errmsg(db));
    return st;
}

void ct_note(CtReason *r, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    g_ptr_array_add(r->out->notes, g_strdup_vprintf(format, ap));
    va_end(ap);
}

/* ---- results ---- */

void ct_hypothesis_free(gpointer data)
{
    CtHypothesis *h = data;
    if (!h)
        return;
    char *const texts[] = {h->cause, h->layer,   h->title,        h->about, h->action,
                           h->owner, h->urgency, h->explained_by, h->capped};
    GPtrArray *const lists[] = {h->for_,   h->against,  h->missing, h->next,        h->fix,
                                h->verify, h->pitfalls, h->refs,    h->consequences};
    for (guint i = 0; i < G_N_ELEMENTS(texts); i++)
        g_free(texts[i]);
    for (guint i = 0; i < G_N_ELEMENTS(lists); i++)
        g_ptr_array_unref(lists[i]);
    g_free(h);
}

static void layer_free(gpointer data)
{
    CtLayer *l = data;
    g_free(l->layer);
    g_free(l->why);
    g_free(l);
}

static CtDiagnosis *diagnosis_new(void)
{
    CtDiagnosis *d = g_new0(CtDiagnosis, 1);
    d->hypotheses = g_ptr_array_new_with_free_func(ct_hypothesis_free);
    d->consequences = g_ptr_array_new_with_free_func(ct_hypothesis_free);
    d->layers = g_ptr_array_new_with_free_func(layer_free);
    d->timeline = g_ptr_array_new_with_free_func(ct_citation_free);
    d->notes = g_ptr_array_new_with_free_func(g_free);
    return d;
}

void ct_diagnosis_free(CtDiagnosis *d)
{
    if (!d)
        return;
    g_ptr_array_unref(d->hypotheses);
    g_ptr_array_unref(d->consequences);
    g_ptr_array_unref(d->layers);
    g_ptr_array_unref(d->timeline);
    g_ptr_array_unref(d->notes);
    g_free(d);
}

/* ---- what the knowledge base says of a cause ---- */

static void read_cause(CtReason *r, CtHypothesis *h)
{
    sqlite3_stmt *st =
        ct_prepare(ct_kb_db(r->kb), "SELECT layer, title_en, title_zh, about_en, about_zh, prior, "
                                    "action, owner, urgency FROM cause WHERE id = ?");
    sqlite3_bind_text(st, 1, h->cause, -1, SQLITE_TRANSIENT);
    gboolean found = sqlite3_step(st) == SQLITE_ROW;
    gboolean zh = r->zh && *ct_column(st, 2);
    h->layer = g_strdup(found ? ct_column(st, 0) : "application");
    h->title = g_strdup(found ? ct_column(st, zh ? 2 : 1) : h->cause);
    h->about = g_strdup(ct_column(st, zh ? 4 : 3));
    h->prior = ct_prior(ct_column(st, 5));
    h->action = g_strdup(found ? ct_column(st, 6) : "none");
    h->owner = g_strdup(found ? ct_column(st, 7) : "application");
    h->urgency = g_strdup(found ? ct_column(st, 8) : "plan");
    sqlite3_finalize(st);
}

static void read_advice(CtReason *r, CtHypothesis *h)
{
    sqlite3_stmt *st = ct_prepare(
        ct_kb_db(r->kb), "SELECT kind, en, zh FROM advice WHERE cause = ? ORDER BY kind, ord");
    sqlite3_bind_text(st, 1, h->cause, -1, SQLITE_TRANSIENT);
    while (sqlite3_step(st) == SQLITE_ROW) {
        const char *kind = ct_column(st, 0);
        GPtrArray *to = strcmp(kind, "fix") == 0       ? h->fix
                        : strcmp(kind, "verify") == 0  ? h->verify
                        : strcmp(kind, "pitfall") == 0 ? h->pitfalls
                        : strcmp(kind, "ref") == 0     ? h->refs
                                                       : NULL;
        if (to)
            g_ptr_array_add(to, g_strdup(ct_column(st, r->zh && *ct_column(st, 2) ? 2 : 1)));
    }
    sqlite3_finalize(st);
}

/* The knowledge base may hold rules for `unknown` too (a code that means nothing); they add to
 * it, but it is no candidate among the others. */
static CtHypothesis *make_unknown(CtReason *r)
{
    CtHypothesis *h = NULL;
    double evidence = 0;
    for (guint i = 0; i < r->candidates->len && !h; i++) {
        CtCandidate *c = g_ptr_array_index(r->candidates, i);
        if (strcmp(c->hypothesis->cause, "unknown") != 0)
            continue;
        ct_score_groups(c);
        evidence = c->positive + c->negative;
        h = g_steal_pointer(&c->hypothesis);
        g_ptr_array_remove_index(r->candidates, i);
    }
    if (!h)
        h = ct_hypothesis_new("unknown");
    read_cause(r, h);
    if (strcmp(h->title, "unknown") == 0) {
        g_free(h->title);
        h->title =
            g_strdup(ct_lang(r, "Evidence does not single out a cause", "证据不足以确定原因"));
    }
    h->prior = CT_UNKNOWN_SCORE;
    h->score = CT_UNKNOWN_SCORE + evidence;
    h->cap = 1;
    return h;
}

/* ---- steps ---- */

static void add_up(CtReason *r)
{
    for (guint i = r->candidates->len; i-- > 0;) {
        CtCandidate *c = g_ptr_array_index(r->candidates, i);
        ct_score_absences(r, c);
        ct_score_groups(c);
        /* That a cause is possible here (so much memory, such a version) does not list it. */
        if (c->positive < CT_LEAST_EVIDENCE)
            g_ptr_array_remove_index(r->candidates, i);
        else
            read_cause(r, c->hypothesis);
    }
    ct_explains_resolve(r);
    ct_score_first_error(r);
    ct_score_overcome(r);
    for (guint i = 0; i < r->candidates->len; i++)
        ct_score_total(g_ptr_array_index(r->candidates, i));
}

static void explain_cap(CtReason *r, const CtCandidate *c)
{
    CtHypothesis *h = c->hypothesis;
    if (h->probability < h->cap || h->cap == CT_CAP_ALWAYS)
        return;
    h->capped = g_strdup(
        !c->two_groups ? ct_lang(r, "all its evidence is one observation", "全部依据只是同一个观察")
                       : ct_lang(r, "its evidence stands in one place only", "依据只出现在一处"));
}

static int best_first(gconstpointer a, gconstpointer b)
{
    const CtHypothesis *x = *(CtHypothesis *const *)a, *y = *(CtHypothesis *const *)b;
    if (x->probability != y->probability)
        return x->probability > y->probability ? -1 : 1;
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    return strcmp(x->cause, y->cause);
}

/* Candidates hand their hypotheses over to the diagnosis. */
static void share_out(CtReason *r, CtHypothesis *unknown)
{
    guint n = 0;
    g_autofree CtStake *stakes = g_new0(CtStake, r->candidates->len + 1);
    for (guint i = 0; i < r->candidates->len; i++) {
        CtCandidate *c = g_ptr_array_index(r->candidates, i);
        c->hypothesis->cap = ct_cap_of(c);
        if (c->explained_by < 0)
            stakes[n++] = (CtStake){.score = c->hypothesis->score, .cap = c->hypothesis->cap};
    }
    stakes[n++].score = unknown->score;
    ct_probabilities(stakes, n, r->out->temperature);
    unknown->probability = stakes[n - 1].probability;
    n = 0;
    for (guint i = 0; i < r->candidates->len; i++) {
        CtCandidate *c = g_ptr_array_index(r->candidates, i);
        if (c->explained_by < 0) {
            c->hypothesis->probability = stakes[n++].probability;
            explain_cap(r, c);
        }
    }
}

static void list_them(CtReason *r, CtHypothesis *unknown)
{
    CtDiagnosis *d = r->out;
    g_ptr_array_add(d->hypotheses, unknown);
    for (guint i = 0; i < r->candidates->len; i++) {
        CtCandidate *c = g_ptr_array_index(r->candidates, i);
        GPtrArray *to = c->explained_by < 0 ? d->hypotheses : d->consequences;
        g_ptr_array_add(to, c->hypothesis);
        c->hypothesis = NULL;
    }
    g_ptr_array_sort(d->hypotheses, best_first);
    g_ptr_array_sort(d->consequences, best_first);
    for (guint i = d->hypotheses->len; i-- > 3;) {
        const CtHypothesis *h = g_ptr_array_index(d->hypotheses, i);
        if (h != unknown && (h->probability < LEAST_PROBABILITY || i > MAX_HYPOTHESES))
            g_ptr_array_remove_index(d->hypotheses, i);
    }
}

static void advise(CtReason *r)
{
    const GPtrArray *lists[] = {r->out->hypotheses, r->out->consequences};
    for (guint i = 0; i < G_N_ELEMENTS(lists); i++)
        for (guint k = 0; k < lists[i]->len; k++)
            read_advice(r, g_ptr_array_index(lists[i], k));
    ct_next_tests(r);
}

static void store(CtEvidence *ev, const GPtrArray *hypotheses)
{
    for (guint i = 0; i < hypotheses->len; i++) {
        const CtHypothesis *h = g_ptr_array_index(hypotheses, i);
        gint64 id = ct_evidence_add_hypothesis(
            ev, &(CtHypothesisRow){h->cause, h->layer, h->score, h->probability, h->explained_by});
        const GPtrArray *lists[] = {h->for_, h->against};
        for (guint l = 0; l < G_N_ELEMENTS(lists); l++)
            for (guint k = 0; k < lists[l]->len; k++) {
                const CtCitation *c = g_ptr_array_index(lists[l], k);
                ct_evidence_add_support(ev, &(CtSupportRow){id, c->rule, c->group, c->counted,
                                                            c->tab, c->row, c->text});
            }
    }
}

void ct_diagnosis_store(CtEvidence *ev, const CtDiagnosis *d)
{
    ct_evidence_clear_hypotheses(ev);
    store(ev, d->hypotheses);
    store(ev, d->consequences);
}

static gboolean run(CtReason *r, GError **error)
{
    ct_presence_read(r);
    if (!ct_rules_run(r, error))
        return FALSE;
    ct_answers_count(r);
    CtHypothesis *unknown = make_unknown(r);
    add_up(r);
    share_out(r, unknown);
    ct_wanted_by_unknown(r, unknown);
    list_them(r, unknown);
    advise(r);
    ct_layers_summarise(r);
    ct_timeline(r);
    return TRUE;
}

/* ATTACH and DETACH want no open transaction; the store has one from its making on. */
static gboolean attach(CtReason *r, GError **error)
{
    sqlite3_exec(r->db, "COMMIT", NULL, NULL, NULL);
    if (ct_reason_register_sql(r->db) != SQLITE_OK) {
        g_set_error(error, CT_ERROR, CT_ERROR_INTERNAL, "registering functions: %s",
                    sqlite3_errmsg(r->db));
        return FALSE;
    }
    return ct_kb_attach(r->kb, r->db, error);
}

static void detach(CtReason *r)
{
    sqlite3_stmt *const kept[] = {r->place_event, r->place_fact, r->place_section,
                                  r->evidence_of_finding, r->same_kind};
    for (guint i = 0; i < G_N_ELEMENTS(kept); i++)
        sqlite3_finalize(kept[i]);
    sqlite3_exec(r->db, "DETACH kb", NULL, NULL, NULL);
    sqlite3_exec(r->db, "BEGIN", NULL, NULL, NULL);
}

gboolean ct_reason_open(CtReason *r, CtEvidence *ev, const CtKb *kb, const char *lang,
                        GError **error)
{
    *r = (CtReason){
        .ev = ev, .kb = kb, .db = ct_evidence_db(ev), .zh = g_strcmp0(lang, "zh") == 0};
    r->texts = g_string_chunk_new(4096);
    r->candidates = g_ptr_array_new_with_free_func(ct_candidate_free);
    r->out = diagnosis_new();
    r->out->temperature = ct_temperature(kb);
    if (attach(r, error))
        return TRUE;
    ct_reason_close(r);
    return FALSE;
}

void ct_reason_close(CtReason *r)
{
    detach(r);
    g_clear_pointer(&r->out, ct_diagnosis_free);
    g_clear_pointer(&r->present, g_hash_table_unref);
    g_ptr_array_unref(r->candidates);
    g_string_chunk_free(r->texts);
}

CtDiagnosis *ct_diagnose(CtEvidence *ev, const CtKb *kb, const char *lang, GError **error)
{
    CtReason r;
    CtDiagnosis *out = NULL;
    if (!ct_reason_open(&r, ev, kb, lang, error))
        return NULL;
    if (run(&r, error))
        out = g_steal_pointer(&r.out);
    ct_reason_close(&r);
    if (out)
        ct_diagnosis_store(ev, out);
    return out;
}
