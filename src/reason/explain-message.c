/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pasted message goes the way of any log: signatures make events of it, events name codes, and
 * the rules of the causes that fit are asked.
 */
#include "reason/explain-private.h"

#define MAX_EVENTS 8

static char *kind_meaning(CtExplainRun *x, const char *kind)
{
    sqlite3_stmt *st =
        ct_prepare(x->db, "SELECT meaning FROM vocabulary WHERE class = 'event' AND name = ?");
    sqlite3_bind_text(st, 1, kind, -1, SQLITE_STATIC);
    char *meaning = sqlite3_step(st) == SQLITE_ROW ? ct_dup_column(st, 0) : NULL;
    sqlite3_finalize(st);
    return meaning;
}

static const char *family_of_kind(const char *kind)
{
    guint n;
    const CtCodeFamily *f = ct_code_families(&n);
    for (guint i = 0; i < n; i++)
        if (g_strcmp0(f[i].event, kind) == 0)
            return f[i].family;
    return NULL;
}

/* By its name first: a name may have a number in each of two numberings, and the line does not say
 * which version printed it. */
static void explain_code_of(CtExplainRun *x, const CtExplainEvent *e, const char *family)
{
    guint added = 0;
    const char *before = x->family;
    if (!family)
        return;
    x->family = family;
    if (e->name)
        added = ct_explain_known_name(x, e->name);
    if (!added && e->has_code)
        ct_explain_number(x, family, e->code);
    else if (!added && e->name)
        ct_explain_name(x, e->name);
    x->family = before;
}

static void add_event(CtExplainRun *x, sqlite3_stmt *st)
{
    CtExplainEvent *e = g_new0(CtExplainEvent, 1);
    e->kind = ct_dup_column(st, 0);
    e->has_code = sqlite3_column_type(st, 1) == SQLITE_INTEGER;
    e->code = sqlite3_column_int64(st, 1);
    e->name = ct_dup_column(st, 2);
    e->meaning = kind_meaning(x, e->kind);
    g_ptr_array_add(x->out->events, e);
    explain_code_of(x, e, family_of_kind(e->kind));
}

static void add_hypotheses(CtExplainRun *x, const GPtrArray *hypotheses)
{
    for (guint i = 0; i < hypotheses->len && x->out->hits->len < 6; i++) {
        const CtHypothesis *h = hypotheses->pdata[i];
        CtExplainHit *hit = h->for_->len ? ct_explain_hit(x, h->cause) : NULL;
        if (!hit)
            continue;
        const CtCitation *best = h->for_->pdata[0];
        hit->why = g_strdup(best->text);
        hit->weight = h->score;
        hit->probability = h->probability;
        g_ptr_array_add(x->out->hits, hit);
    }
}

gboolean ct_explain_events(CtExplainRun *x, const char *text, GError **error)
{
    g_autoptr(CtEvidence) ev = x->reader ? x->reader(x->kb, text, error) : NULL;
    if (!ev)
        return FALSE;
    sqlite3_stmt *st =
        ct_prepare(ct_evidence_db(ev), "SELECT kind, code, name, min(seq) AS s FROM event "
                                       "GROUP BY kind, code, name ORDER BY s LIMIT ?");
    sqlite3_bind_int(st, 1, MAX_EVENTS);
    while (sqlite3_step(st) == SQLITE_ROW)
        add_event(x, st);
    sqlite3_finalize(st);
    if (x->out->events->len == 0)
        return FALSE;
    g_autoptr(CtDiagnosis) d = ct_diagnose(ev, x->kb, x->zh ? "zh" : "en", error);
    if (!d)
        return FALSE;
    add_hypotheses(x, d->hypotheses);
    add_hypotheses(x, d->consequences);
    return TRUE;
}
