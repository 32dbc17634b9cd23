/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "reason/explain-private.h"

void ct_explain_hit_free(gpointer hit)
{
    CtExplainHit *h = hit;
    g_free(h->cause);
    g_free(h->layer);
    g_free(h->title);
    g_free(h->owner);
    g_free(h->action);
    g_free(h->why);
    if (h->test)
        ct_explain_test_free(h->test);
    g_free(h);
}

void ct_explain_test_free(gpointer test)
{
    CtExplainTest *t = test;
    g_free(t->test);
    g_free(t->run);
    g_free(t->say);
    g_free(t);
}

void ct_explain_pair_free(gpointer pair)
{
    CtExplainPair *p = pair;
    g_free(p->key);
    g_free(p->value);
    g_free(p);
}

void ct_explain_detail_free(gpointer detail)
{
    CtExplainCause *d = detail;
    char **texts[] = {&d->cause, &d->layer,  &d->topic, &d->title,  &d->about,
                      &d->prior, &d->action, &d->owner, &d->urgency};
    GPtrArray **lists[] = {&d->signs,    &d->tests, &d->fix,      &d->verify,
                           &d->pitfalls, &d->refs,  &d->explains, &d->explained_by};
    for (guint i = 0; i < G_N_ELEMENTS(texts); i++)
        g_free(*texts[i]);
    for (guint i = 0; i < G_N_ELEMENTS(lists); i++)
        g_ptr_array_unref(*lists[i]);
    g_free(d);
}

void ct_add_pair(GPtrArray *to, const char *key, const char *value)
{
    CtExplainPair *p = g_new0(CtExplainPair, 1);
    p->key = g_strdup(key);
    p->value = g_strdup(value);
    g_ptr_array_add(to, p);
}

/* Column `en` of the statement or the one after it, by language. */
static char *say(const CtExplainRun *x, sqlite3_stmt *st, int en)
{
    const char *zh = (const char *)sqlite3_column_text(st, en + 1);
    return x->zh && zh ? g_strdup(zh) : ct_dup_column(st, en);
}

static sqlite3_stmt *about_cause(CtExplainRun *x, const char *sql, const char *cause)
{
    sqlite3_stmt *st = ct_prepare(x->db, sql);
    sqlite3_bind_text(st, 1, cause, -1, SQLITE_TRANSIENT);
    return st;
}

CtExplainHit *ct_explain_hit(CtExplainRun *x, const char *cause)
{
    sqlite3_stmt *st = about_cause(
        x, "SELECT id, layer, owner, action, title_en, title_zh FROM cause WHERE id = ?", cause);
    CtExplainHit *hit = NULL;
    if (sqlite3_step(st) == SQLITE_ROW) {
        hit = g_new0(CtExplainHit, 1);
        hit->cause = ct_dup_column(st, 0);
        hit->layer = ct_dup_column(st, 1);
        hit->owner = ct_dup_column(st, 2);
        hit->action = ct_dup_column(st, 3);
        hit->title = say(x, st, 4);
        hit->probability = -1;
    }
    sqlite3_finalize(st);
    return hit;
}

static gboolean has_test(const GPtrArray *tests, const char *run)
{
    for (guint i = 0; i < tests->len; i++)
        if (g_strcmp0(((const CtExplainTest *)tests->pdata[i])->run, run) == 0)
            return TRUE;
    return FALSE;
}

/* The cheapest come first; a command that is listed already is not listed again. */
void ct_explain_tests(CtExplainRun *x, const char *cause, guint max, GPtrArray *to)
{
    sqlite3_stmt *st =
        about_cause(x,
                    "SELECT test, run, cost_s, say_en, say_zh FROM next_test WHERE cause = ? "
                    "ORDER BY cost_s, ord",
                    cause);
    guint n = 0;
    while (n < max && sqlite3_step(st) == SQLITE_ROW) {
        const char *run = (const char *)sqlite3_column_text(st, 1);
        if (has_test(to, run))
            continue;
        CtExplainTest *t = g_new0(CtExplainTest, 1);
        t->test = ct_dup_column(st, 0);
        t->run = g_strdup(run);
        t->cost_s = sqlite3_column_double(st, 2);
        t->say = say(x, st, 3);
        g_ptr_array_add(to, t);
        n++;
    }
    sqlite3_finalize(st);
}

static GPtrArray *advice(CtExplainRun *x, const char *cause, const char *kind)
{
    GPtrArray *out = g_ptr_array_new_with_free_func(g_free);
    sqlite3_stmt *st = about_cause(
        x, "SELECT en, zh FROM advice WHERE cause = ?1 AND kind = ?2 ORDER BY ord", cause);
    sqlite3_bind_text(st, 2, kind, -1, SQLITE_STATIC);
    while (sqlite3_step(st) == SQLITE_ROW)
        g_ptr_array_add(out, say(x, st, 0));
    sqlite3_finalize(st);
    return out;
}

/* The sentences of the rules, strongest first; values are not known here and become "...". */
static GPtrArray *signs(CtExplainRun *x, const char *cause)
{
    GPtrArray *out = g_ptr_array_new_with_free_func(ct_explain_pair_free);
    sqlite3_stmt *st = about_cause(x,
                                   "SELECT weight, say_en, say_zh FROM rule WHERE cause = ? "
                                   "ORDER BY weight < 0, abs(weight) DESC, ord",
                                   cause);
    while (sqlite3_step(st) == SQLITE_ROW) {
        g_autofree char *pattern = say(x, st, 1);
        g_autofree char *text = ct_sentence(pattern, NULL, NULL);
        g_autofree char *weight = g_strdup_printf("%+g", sqlite3_column_double(st, 0));
        ct_add_pair(out, weight, text);
    }
    sqlite3_finalize(st);
    return out;
}

static GPtrArray *linked(CtExplainRun *x, const char *sql, const char *cause)
{
    GPtrArray *out = g_ptr_array_new_with_free_func(ct_explain_hit_free);
    sqlite3_stmt *st = about_cause(x, sql, cause);
    while (sqlite3_step(st) == SQLITE_ROW) {
        CtExplainHit *hit = ct_explain_hit(x, ct_column(st, 0));
        if (hit)
            g_ptr_array_add(out, hit);
    }
    sqlite3_finalize(st);
    return out;
}

gboolean ct_explain_cause(CtExplainRun *x, const char *id)
{
    sqlite3_stmt *st = about_cause(
        x,
        "SELECT id, layer, topic, prior, action, owner, urgency, title_en, title_zh, about_en, "
        "about_zh FROM cause WHERE id = ?",
        id);
    gboolean found = sqlite3_step(st) == SQLITE_ROW;
    if (found) {
        CtExplainCause *d = g_new0(CtExplainCause, 1);
        char **plain[] = {&d->cause,  &d->layer, &d->topic,  &d->prior,
                          &d->action, &d->owner, &d->urgency};
        for (guint i = 0; i < G_N_ELEMENTS(plain); i++)
            *plain[i] = ct_dup_column(st, (int)i);
        d->title = say(x, st, 7);
        d->about = say(x, st, 9);
        d->signs = signs(x, id);
        d->tests = g_ptr_array_new_with_free_func(ct_explain_test_free);
        ct_explain_tests(x, id, 10, d->tests);
        d->fix = advice(x, id, "fix");
        d->verify = advice(x, id, "verify");
        d->pitfalls = advice(x, id, "pitfall");
        d->refs = advice(x, id, "ref");
        d->explains = linked(x, "SELECT consequence FROM explains WHERE cause = ?", id);
        d->explained_by = linked(x, "SELECT cause FROM explains WHERE consequence = ?", id);
        g_ptr_array_add(x->out->details, d);
    }
    sqlite3_finalize(st);
    return found;
}
