/* SPDX-License-Identifier: Apache-2.0 */
#include "reason/answers.h"

#include <string.h>

#include "base/error.h"
#include "reason/reason-private.h"

#define POINTS_TO_IT 10.0 /* an outcome is seen nine times in ten where its cause is the true one */
#define POINTS_ELSEWHERE -4.0
#define GROUP "said-by-you"

/* ---- adding ---- */

/* The outcomes of a test as "id, id": each is the cause that it points to. */
static char *known_outcomes(const CtKb *kb, const char *test)
{
    GString *all = g_string_new(NULL);
    sqlite3_stmt *st = ct_prepare(
        ct_kb_db(kb), "SELECT DISTINCT points_to FROM next_outcome WHERE test = ? ORDER BY 1");
    sqlite3_bind_text(st, 1, test, -1, SQLITE_TRANSIENT);
    while (sqlite3_step(st) == SQLITE_ROW)
        g_string_append_printf(all, "%s%s", all->len ? ", " : "", ct_column(st, 0));
    sqlite3_finalize(st);
    return g_string_free(all, FALSE);
}

static char **split(const CtKb *kb, const char *said, GError **error)
{
    g_auto(GStrv) parts = g_strsplit(said, "=", 2);
    if (g_strv_length(parts) != 2 || !*parts[0] || !*parts[1]) {
        g_set_error(error, CT_ERROR, CT_ERROR_USAGE, "%s: write TEST=OUTCOME", said);
        return NULL;
    }
    g_autofree char *known = known_outcomes(kb, parts[0]);
    g_auto(GStrv) ids = g_strsplit(known, ", ", -1);
    if (g_strv_contains((const char *const *)ids, parts[1]))
        return g_steal_pointer(&parts);
    if (*known)
        g_set_error(error, CT_ERROR, CT_ERROR_USAGE, "%s has no outcome %s; it has %s", parts[0],
                    parts[1], known);
    else
        g_set_error(error, CT_ERROR, CT_ERROR_USAGE, "%s: no test has that name", parts[0]);
    return NULL;
}

gboolean ct_answer_check(const CtKb *kb, const char *said, GError **error)
{
    g_auto(GStrv) parts = split(kb, said, error);
    return parts != NULL;
}

gboolean ct_answer_add(CtEvidence *ev, const CtKb *kb, gint64 section, guint line,
                       const char *said, GError **error)
{
    g_auto(GStrv) parts = split(kb, said, error);
    if (!parts)
        return FALSE;
    g_autofree char *text = g_strconcat("[answer] ", said, NULL);
    ct_evidence_add_event(ev, &(CtEventRow){.section = section,
                                            .line = line,
                                            .kind = "answer",
                                            .severity = CT_SEV_INFO,
                                            .name = parts[0],
                                            .subject = parts[1],
                                            .text = text});
    return TRUE;
}

/* ---- counting ---- */

static CtCandidate *candidate_of(CtReason *r, const char *cause, gboolean make)
{
    for (guint i = 0; i < r->candidates->len; i++) {
        CtCandidate *c = g_ptr_array_index(r->candidates, i);
        if (strcmp(c->hypothesis->cause, cause) == 0)
            return c;
    }
    if (!make)
        return NULL;
    CtCandidate *c = ct_candidate_new();
    c->hypothesis->cause = g_strdup(cause);
    g_ptr_array_add(r->candidates, c);
    return c;
}

/* What the person saw, in the words of the test. (transfer full) */
static char *words_of(CtReason *r, const char *test, const char *cause)
{
    sqlite3_stmt *st =
        ct_prepare(ct_kb_db(r->kb), "SELECT when_en, when_zh FROM next_outcome "
                                    "WHERE test = ? AND points_to = ? ORDER BY rowid LIMIT 1");
    sqlite3_bind_text(st, 1, test, -1, SQLITE_TRANSIENT);
    sqlite3_bind_text(st, 2, cause, -1, SQLITE_TRANSIENT);
    const char *when = "";
    if (sqlite3_step(st) == SQLITE_ROW)
        when = ct_column(st, r->zh && *ct_column(st, 1) ? 1 : 0);
    char *text = g_strdup_printf(ct_lang(r, "said by you: %s", "由您确认：%s"), when);
    sqlite3_finalize(st);
    return text;
}

static void count(CtReason *r, CtCandidate *c, gint64 event, const char *words, double weight)
{
    CtCitation *cite = ct_cite(r, "event", event, g_strdup(words));
    cite->rule = g_strdup("built-in:answer");
    /* Each answer is an observation of its own. */
    cite->group = g_strdup_printf(GROUP ":%" G_GINT64_FORMAT, event);
    cite->weight = weight;
    g_ptr_array_add(weight > 0 ? c->hypothesis->for_ : c->hypothesis->against, cite);
}

static void answer(CtReason *r, gint64 event, const char *test, const char *cause)
{
    g_autofree char *words = words_of(r, test, cause);
    count(r, candidate_of(r, cause, TRUE), event, words, POINTS_TO_IT);
    sqlite3_stmt *st = ct_prepare(
        ct_kb_db(r->kb), "SELECT DISTINCT points_to FROM next_outcome WHERE test = ?1 "
                         "AND points_to <> ?2");
    sqlite3_bind_text(st, 1, test, -1, SQLITE_TRANSIENT);
    sqlite3_bind_text(st, 2, cause, -1, SQLITE_TRANSIENT);
    while (sqlite3_step(st) == SQLITE_ROW) {
        CtCandidate *c = candidate_of(r, ct_column(st, 0), FALSE);
        if (c)
            count(r, c, event, words, POINTS_ELSEWHERE);
    }
    sqlite3_finalize(st);
}

void ct_answers_count(CtReason *r)
{
    if (!ct_presence_has(r, "event:answer"))
        return;
    /* A case may come from a stranger: what the knowledge base does not have is passed over. */
    sqlite3_stmt *st = ct_prepare(
        r->db, "SELECT e.id, e.name, e.subject FROM event e WHERE e.kind = 'answer' AND EXISTS "
               "(SELECT 1 FROM kb.next_outcome o WHERE o.test = e.name AND "
               "o.points_to = e.subject) GROUP BY e.name, e.subject ORDER BY e.seq LIMIT 50");
    while (sqlite3_step(st) == SQLITE_ROW)
        answer(r, sqlite3_column_int64(st, 0), ct_column(st, 1), ct_column(st, 2));
    sqlite3_finalize(st);
}
