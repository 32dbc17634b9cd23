/* SPDX-License-Identifier: Apache-2.0 */
/* One page without scripts, fonts or links to anywhere: it can be mailed and opened offline. */
#include "report/report-private.h"

#include "report/layout.h"
#include "report/slow-request.h"

static const char style[] =
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;"
    "color:#1c1c1c;background:#fff}"
    "h1{font-size:1.5rem;margin-bottom:.3rem}h2{font-size:1.1rem;margin:1.6rem 0 .4rem}"
    "table{border-collapse:collapse;width:100%}"
    "td,th{border-bottom:1px solid #ddd;padding:.25rem .6rem .25rem 0;text-align:left;"
    "vertical-align:top}"
    "code,pre{font-family:ui-monospace,monospace;font-size:.9em}"
    "pre{background:#f4f4f4;padding:.5rem;overflow-x:auto;white-space:pre-wrap}"
    ".quote{color:#666}.place{white-space:nowrap}.fault{color:#b00020}.ok{color:#1b7f3b}"
    "@media(prefers-color-scheme:dark){body{color:#e6e6e6;background:#161616}"
    "pre{background:#242424}td,th{border-color:#333}.quote{color:#999}}";

static void escaped(GString *out, const char *text)
{
    g_autofree char *safe = g_markup_escape_text(text ? text : "", -1);
    g_string_append(out, safe);
}

static void tag(GString *out, const char *name, const char *attributes, const char *text)
{
    g_string_append_printf(out, "<%s%s>", name, attributes);
    escaped(out, text);
    g_string_append_printf(out, "</%s>", name);
}

static void heading(GString *out, const CtReport *r, CtMsg id)
{
    tag(out, "h2", "", ct_msg(r->lang, id));
    g_string_append_c(out, '\n');
}

static void list(GString *out, const CtReport *r, CtMsg id, const GPtrArray *texts)
{
    if (!texts->len)
        return;
    heading(out, r, id);
    g_string_append(out, "<ol>\n");
    for (guint i = 0; i < texts->len; i++)
        tag(out, "li", "", g_ptr_array_index(texts, i));
    g_string_append(out, "</ol>\n");
}

static void evidence(GString *out, const CtReport *r, CtMsg id, const GPtrArray *lines)
{
    if (!lines->len)
        return;
    heading(out, r, id);
    g_string_append(out, "<table>\n");
    for (guint i = 0; i < lines->len; i++) {
        const CtReportLine *line = g_ptr_array_index(lines, i);
        g_autofree char *weight = ct_report_weight(line->c->counted);
        g_string_append(out, "<tr>");
        tag(out, "td", " class=\"place\"", line->place);
        g_string_append(out, "<td>");
        escaped(out, line->text);
        if (line->quote && !g_str_equal(line->quote, line->text)) {
            g_string_append(out, "<br>");
            tag(out, "code", " class=\"quote\"", line->quote);
        }
        g_string_append(out, "</td>");
        tag(out, "td", "", weight);
        g_string_append(out, "</tr>\n");
    }
    g_string_append(out, "</table>\n");
}

static void tests(GString *out, const CtReport *r, const CtReportCause *lead)
{
    for (guint i = 0; i < lead->h->next->len; i++) {
        const CtNextTest *t = g_ptr_array_index(lead->h->next, i);
        g_autofree char *cost = ct_report_cost(r->lang, t->cost_s);
        g_autofree char *say = ct_text_clean(t->say);
        g_autofree char *run = ct_text_clean(t->run);
        g_autofree char *line = *cost ? g_strdup_printf("%s (%s)", say, cost) : g_strdup(say);
        if (i == 0)
            heading(out, r, CT_MSG_NEXT_TEST);
        tag(out, "p", "", line);
        if (*run)
            tag(out, "pre", "", run);
        g_string_append(out, "<ul>\n");
        for (guint k = 0; t->outcomes && k < t->outcomes->len; k++) {
            const CtOutcome *o = g_ptr_array_index(t->outcomes, k);
            g_string_append(out, "<li>");
            escaped(out, o->when);
            g_string_append(out, ": ");
            tag(out, "b", "", ct_report_title(r, o->cause));
            g_string_append(out, "</li>\n");
        }
        g_string_append(out, "</ul>\n");
    }
}

static void candidates(GString *out, const CtReport *r)
{
    heading(out, r, CT_MSG_CANDIDATES);
    g_string_append(out, "<table>\n");
    for (guint i = r->outcome == CT_REPORT_FOUND ? 1 : 0; i < r->causes->len; i++) {
        const CtReportCause *c = g_ptr_array_index(r->causes, i);
        g_string_append(out, "<tr>");
        tag(out, "td", "", c->percent);
        tag(out, "td", "", c->title);
        tag(out, "td", "", ct_term(r->lang, "layer", c->h->layer));
        g_string_append(out, "</tr>\n");
    }
    g_string_append(out, "</table>\n");
}

static void layers(GString *out, const CtReport *r)
{
    if (!r->d->layers || !r->d->layers->len)
        return;
    heading(out, r, CT_MSG_LAYERS);
    g_string_append(out, "<table>\n");
    for (guint i = 0; i < r->d->layers->len; i++) {
        const CtLayer *l = g_ptr_array_index(r->d->layers, i);
        const char *state = ct_layer_state_name(l->state);
        g_autofree char *class = g_strdup_printf(" class=\"%s\"", state);
        g_string_append(out, "<tr>");
        tag(out, "td", "", ct_term(r->lang, "layer", l->layer));
        tag(out, "td", class, ct_term(r->lang, "state", state));
        tag(out, "td", "", l->why);
        g_string_append(out, "</tr>\n");
    }
    g_string_append(out, "</table>\n");
}

static void timeline(GString *out, const CtReport *r)
{
    if (!r->timeline->len)
        return;
    heading(out, r, CT_MSG_TIMELINE);
    g_string_append(out, "<table>\n");
    for (guint i = 0; i < r->timeline->len; i++) {
        const CtReportLine *line = g_ptr_array_index(r->timeline, i);
        g_string_append(out, "<tr>");
        tag(out, "td", " class=\"place\"", line->time);
        tag(out, "td", " class=\"place\"", line->place);
        tag(out, "td", "", line->text);
        g_string_append(out, "</tr>\n");
    }
    g_string_append(out, "</table>\n");
}

static void sources(GString *out, const CtReport *r)
{
    heading(out, r, CT_MSG_SOURCES);
    g_string_append(out, "<table>\n");
    for (guint i = 0; i < r->sources->len; i++) {
        const CtReportSource *s = g_ptr_array_index(r->sources, i);
        g_autofree char *note = ct_text_clean(s->note);
        g_string_append(out, "<tr>");
        tag(out, "td", "", s->name);
        tag(out, "td", "", ct_term(r->lang, "status", s->status));
        tag(out, "td", "", note);
        g_string_append(out, "</tr>\n");
    }
    g_string_append(out, "</table>\n");
}

static void labelled(GString *out, const CtReport *r, CtMsg id, const char *text)
{
    g_string_append(out, "<p>");
    tag(out, "b", "", ct_msg(r->lang, id));
    g_string_append_c(out, ' ');
    escaped(out, text);
    g_string_append(out, "</p>\n");
}

void ct_html_begin(GString *out, CtLang lang, const char *title)
{
    g_string_append_printf(out,
                           "<!DOCTYPE html>\n<html lang=\"%s\"><head><meta charset=\"utf-8\">"
                           "<meta name=\"viewport\" content=\"width=device-width\">"
                           "<style>%s</style>",
                           lang == CT_LANG_ZH ? "zh-Hans" : "en", style);
    tag(out, "title", "", title);
    g_string_append(out, "</head><body>\n");
}

char *ct_report_html(const CtReport *r)
{
    GString *out = g_string_new(NULL);
    const CtReportCause *lead = ct_report_lead(r);
    ct_html_begin(out, r->lang, r->verdict_cause);
    tag(out, "h1", r->outcome == CT_REPORT_FOUND ? " class=\"fault\"" : "", r->verdict_cause);
    g_string_append_c(out, '\n');
    labelled(out, r, CT_MSG_SURE, r->verdict_sure);
    labelled(out, r, CT_MSG_DO_NOW, r->verdict_now);
    for (guint i = 0; i < r->incidents->len; i++) {
        g_autofree char *line = ct_report_incident_line(r, i);
        if (line)
            tag(out, "p", "", line);
    }
    if (lead) {
        evidence(out, r, CT_MSG_FOR, lead->for_);
        evidence(out, r, CT_MSG_AGAINST, lead->against);
        ct_report_slow_html(out, r);
        list(out, r, CT_MSG_MISSING, lead->missing);
        tests(out, r, lead);
        list(out, r, CT_MSG_FIX, lead->fix);
        list(out, r, CT_MSG_VERIFY, lead->verify);
        list(out, r, CT_MSG_PITFALLS, lead->pitfalls);
    }
    candidates(out, r);
    layers(out, r);
    timeline(out, r);
    sources(out, r);
    g_string_append(out, "</body></html>\n");
    return g_string_free(out, FALSE);
}
