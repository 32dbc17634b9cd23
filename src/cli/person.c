/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/person.h"

#include <string.h>

#include "reason/answers.h"

#define MAX_NOTE 2000

void ct_person_clear(CtPerson *p)
{
    g_strfreev(p->notes);
    g_strfreev(p->answers);
    g_free(p->changed);
}

void ct_gather_text_free(gpointer data)
{
    CtGatherText *t = data;
    if (!t)
        return;
    g_free(t->path);
    g_free(t->text);
    g_free(t);
}

static guint count(char **list)
{
    return list ? g_strv_length(list) : 0;
}

gboolean ct_person_check(const char *verb, const CtPerson *p, int *out_exit)
{
    static const char *const known[] = {"driver",    "model",  "engine",
                                        "container", "config", "nothing", NULL};
    if (p->changed && !g_strv_contains(known, p->changed)) {
        *out_exit = ct_cli_usage(
            verb, "--changed %s: known are driver, model, engine, container, config and nothing",
            p->changed);
        return FALSE;
    }
    for (guint i = 0; i < count(p->answers); i++)
        if (!strchr(p->answers[i], '=')) {
            *out_exit = ct_cli_usage(verb, "--answer %s: write TEST=OUTCOME", p->answers[i]);
            return FALSE;
        }
    return TRUE;
}

/* One line each; a mark in front tells what was said from what a log says. */
static void add_line(GString *out, const char *mark, const char *text)
{
    g_autofree char *one = g_strndup(text, MAX_NOTE);
    g_strdelimit(one, "\r\n\t", ' ');
    g_string_append_printf(out, "%s %s\n", mark, one);
}

CtGatherText *ct_person_text(const CtPerson *p)
{
    g_autoptr(GString) out = g_string_new(NULL);
    for (guint i = 0; i < count(p->notes); i++)
        add_line(out, "[note]", p->notes[i]);
    if (p->changed)
        g_string_append_printf(out, "[note] changed %s\n", p->changed);
    for (guint i = 0; i < count(p->answers); i++)
        add_line(out, "[answer]", p->answers[i]);
    if (!out->len)
        return NULL;
    CtGatherText *t = g_new0(CtGatherText, 1);
    t->path = g_strdup(CT_PERSON_PATH);
    t->text = g_string_free(g_steal_pointer(&out), FALSE);
    return t;
}

/* The last source of that name: a case may bring others, of earlier days. */
static gint64 section_of_said(CtEvidence *ev)
{
    sqlite3_stmt *st = NULL;
    gint64 section = 0;
    if (sqlite3_prepare_v2(ct_evidence_db(ev),
                           "SELECT min(s.id) FROM section s WHERE s.source = (SELECT max(id) FROM "
                           "source WHERE path = '" CT_PERSON_PATH "')",
                           -1, &st, NULL) == SQLITE_OK &&
        sqlite3_step(st) == SQLITE_ROW)
        section = sqlite3_column_int64(st, 0);
    sqlite3_finalize(st);
    return section;
}

gboolean ct_person_apply(const char *verb, const CtPerson *p, const CtGather *g, int *out_exit)
{
    guint line = count(p->notes) + (p->changed != NULL);
    gint64 section = section_of_said(g->ev);
    if (!section)
        return TRUE;
    ct_evidence_set_scope(g->ev, section, "claimed");
    for (guint i = 0; i < count(p->answers); i++) {
        g_autoptr(GError) error = NULL;
        if (ct_answer_add(g->ev, g->kb, section, ++line, p->answers[i], &error))
            continue;
        *out_exit = ct_cli_usage(verb, "--answer: %s", error->message);
        return FALSE;
    }
    return TRUE;
}
