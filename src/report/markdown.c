/* SPDX-License-Identifier: Apache-2.0 */
/* For a ticket or a chat: everything but the arithmetic. Text of files is quoted, so that it can
 * neither format nor link. */
#include "report/report-private.h"

#include <string.h>

#include "report/layout.h"
#include "report/slow-request.h"

#define EVIDENCE_MAX 12u

void ct_markdown_escape(GString *out, const char *text)
{
    for (const char *p = text; *p; p++) {
        if (strchr("\\`*_[]<>|#~", *p))
            g_string_append_c(out, '\\');
        g_string_append_c(out, *p);
    }
}

/* Code spans cannot escape, so backticks in the text become apostrophes. */
static void code(GString *out, const char *text)
{
    g_autofree char *copy = g_strdelimit(g_strdup(text), "`", '\'');
    g_string_append_printf(out, "`%s`", copy);
}

static void heading(GString *out, const char *text)
{
    g_string_append_printf(out, "\n### %s\n\n", text);
}

static void list(GString *out, const CtReport *r, CtMsg id, const GPtrArray *texts)
{
    for (guint i = 0; i < texts->len; i++) {
        if (i == 0)
            heading(out, ct_msg(r->lang, id));
        g_string_append_printf(out, "%u. ", i + 1);
        ct_markdown_escape(out, g_ptr_array_index(texts, i));
        g_string_append_c(out, '\n');
    }
}

static void evidence(GString *out, const CtReport *r, CtMsg id, const GPtrArray *lines)
{
    if (!lines->len)
        return;
    heading(out, ct_msg(r->lang, id));
    for (guint i = 0; i < lines->len && i < EVIDENCE_MAX; i++) {
        const CtReportLine *line = g_ptr_array_index(lines, i);
        g_string_append(out, "- ");
        if (*line->place) {
            code(out, line->place);
            g_string_append_c(out, ' ');
        }
        ct_markdown_escape(out, line->text);
        g_string_append_c(out, '\n');
        if (line->quote && !g_str_equal(line->quote, line->text)) {
            g_string_append(out, "  ");
            code(out, line->quote);
            g_string_append_c(out, '\n');
        }
    }
}

static void tests(GString *out, const CtReport *r, const CtReportCause *lead)
{
    for (guint i = 0; i < lead->h->next->len; i++) {
        const CtNextTest *t = g_ptr_array_index(lead->h->next, i);
        g_autofree char *cost = ct_report_cost(r->lang, t->cost_s);
        g_autofree char *say = ct_text_clean(t->say);
        if (i == 0)
            heading(out, ct_msg(r->lang, CT_MSG_NEXT_TEST));
        ct_markdown_escape(out, say);
        g_string_append_printf(out, "%s%s%s\n", *cost ? " (" : "", cost, *cost ? ")" : "");
        if (t->run && *t->run) {
            g_autofree char *run = ct_text_clean(t->run);
            g_string_append_printf(out, "\n    %s\n\n", run);
        }
        for (guint k = 0; t->outcomes && k < t->outcomes->len; k++) {
            const CtOutcome *o = g_ptr_array_index(t->outcomes, k);
            g_autofree char *when = ct_text_clean(o->when);
            g_string_append(out, "- ");
            ct_markdown_escape(out, when);
            g_string_append(out, ": **");
            ct_markdown_escape(out, ct_report_title(r, o->cause));
            g_string_append(out, "**\n");
        }
        g_string_append_c(out, '\n');
    }
}

static void candidates(GString *out, const CtReport *r)
{
    guint from = r->outcome == CT_REPORT_FOUND ? 1 : 0;
    for (guint i = from; i < r->causes->len; i++) {
        const CtReportCause *c = g_ptr_array_index(r->causes, i);
        if (i == from)
            heading(out, ct_msg(r->lang, CT_MSG_CANDIDATES));
        g_string_append_printf(out, "- %s ", c->percent);
        ct_markdown_escape(out, c->title);
        g_string_append_c(out, '\n');
    }
}

static void table_row(GString *out, const char *a, const char *b, const char *c)
{
    g_string_append(out, "| ");
    ct_markdown_escape(out, a);
    g_string_append(out, " | ");
    ct_markdown_escape(out, b);
    g_string_append(out, " | ");
    ct_markdown_escape(out, c);
    g_string_append(out, " |\n");
}

static void layers(GString *out, const CtReport *r)
{
    for (guint i = 0; r->d->layers && i < r->d->layers->len; i++) {
        const CtLayer *l = g_ptr_array_index(r->d->layers, i);
        g_autofree char *why = ct_text_clean(l->why);
        if (i == 0) {
            heading(out, ct_msg(r->lang, CT_MSG_LAYERS));
            table_row(out, ct_msg(r->lang, CT_MSG_LAYER), ct_msg(r->lang, CT_MSG_STATE),
                      ct_msg(r->lang, CT_MSG_WHY));
            g_string_append(out, "| --- | --- | --- |\n");
        }
        table_row(out, ct_term(r->lang, "layer", l->layer),
                  ct_term(r->lang, "state", ct_layer_state_name(l->state)), why);
    }
}

static void timeline(GString *out, const CtReport *r)
{
    for (guint i = 0; i < r->timeline->len; i++) {
        const CtReportLine *line = g_ptr_array_index(r->timeline, i);
        if (i == 0) {
            heading(out, ct_msg(r->lang, CT_MSG_TIMELINE));
            table_row(out, ct_msg(r->lang, CT_MSG_TIME), ct_msg(r->lang, CT_MSG_PLACE),
                      ct_msg(r->lang, CT_MSG_EVIDENCE));
            g_string_append(out, "| --- | --- | --- |\n");
        }
        table_row(out, line->time ? line->time : "", line->place, line->text);
    }
}

char *ct_report_markdown(const CtReport *r)
{
    GString *out = g_string_new(NULL);
    const CtReportCause *lead = ct_report_lead(r);
    g_string_append(out, "## ");
    ct_markdown_escape(out, r->verdict_cause);
    g_string_append_printf(out, "\n\n**%s** ", ct_msg(r->lang, CT_MSG_SURE));
    ct_markdown_escape(out, r->verdict_sure);
    g_string_append_printf(out, "  \n**%s** ", ct_msg(r->lang, CT_MSG_DO_NOW));
    ct_markdown_escape(out, r->verdict_now);
    for (guint i = 0; i < r->incidents->len; i++) {
        g_autofree char *line = ct_report_incident_line(r, i);
        if (!line)
            continue;
        g_string_append(out, "  \n");
        ct_markdown_escape(out, line);
    }
    g_string_append_c(out, '\n');
    if (lead) {
        evidence(out, r, CT_MSG_FOR, lead->for_);
        evidence(out, r, CT_MSG_AGAINST, lead->against);
        ct_report_slow_markdown(out, r);
        list(out, r, CT_MSG_MISSING, lead->missing);
        tests(out, r, lead);
        list(out, r, CT_MSG_FIX, lead->fix);
        list(out, r, CT_MSG_VERIFY, lead->verify);
        list(out, r, CT_MSG_PITFALLS, lead->pitfalls);
    }
    candidates(out, r);
    layers(out, r);
    timeline(out, r);
    return g_string_free(out, FALSE);
}
