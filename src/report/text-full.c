/* SPDX-License-Identifier: Apache-2.0 */
/* The page of --full: everything that the diagnosis holds, in reading order. */
#include "report/text-private.h"

#include "report/layout.h"
#include "report/slow-request.h"

#define ALL G_MAXUINT
#define ARITHMETIC_CAUSES 5u

static void heading(CtPage *page, CtMsg id)
{
    ct_page_blank(page);
    ct_page_heading(page, ct_msg(page->lang, id));
}

static void list(CtPage *page, CtMsg id, const GPtrArray *texts)
{
    for (guint i = 0; i < texts->len; i++) {
        g_autofree char *mark = g_strdup_printf("%u", i + 1);
        if (i == 0)
            ct_page_blank(page);
        ct_page_item(page, i == 0 ? ct_msg(page->lang, id) : "", mark, 2, CT_INK_PLAIN,
                     g_ptr_array_index(texts, i), 0);
    }
}

static void tests(CtPage *page, const CtReport *r, const CtReportCause *lead)
{
    for (guint i = 0; i < lead->h->next->len; i++) {
        if (i == 0)
            ct_page_blank(page);
        ct_text_next(page, r, g_ptr_array_index(lead->h->next, i),
                     i == 0 ? ct_msg(r->lang, CT_MSG_NEXT) : "", ALL, ALL, 0);
    }
}

static void lead_cause(CtPage *page, const CtReport *r, const CtReportCause *lead)
{
    if (lead->h->about && *lead->h->about) {
        g_autofree char *about = ct_text_clean(lead->h->about);
        ct_page_blank(page);
        ct_page_text(page, ct_msg(r->lang, CT_MSG_ABOUT), CT_INK_PLAIN, about, 0);
    }
    if (lead->h->capped)
        ct_page_text(page, ct_msg(r->lang, CT_MSG_CAPPED), CT_INK_PLAIN, lead->h->capped, 0);
    if (lead->for_->len || lead->against->len)
        ct_page_blank(page);
    ct_text_evidence(page, CT_MSG_FOR, lead->for_, 0, 0, TRUE);
    ct_text_evidence(page, CT_MSG_AGAINST, lead->against, 0, 0, TRUE);
    if (r->slow)
        ct_page_blank(page);
    ct_report_slow_text(page, r, ALL);
    list(page, CT_MSG_MISSING, lead->missing);
    tests(page, r, lead);
    list(page, CT_MSG_FIX, lead->fix);
    list(page, CT_MSG_VERIFY, lead->verify);
    list(page, CT_MSG_PITFALLS, lead->pitfalls);
    list(page, CT_MSG_REFS, lead->refs);
}

static void consequences(CtPage *page, const CtReport *r)
{
    for (guint i = 0; i < r->consequences->len; i++) {
        const CtReportCause *c = g_ptr_array_index(r->consequences, i);
        g_autofree char *of = ct_msgf(r->lang, CT_MSG_CONSEQUENCE_OF,
                                      ct_report_title(r, c->h->explained_by), NULL);
        g_autofree char *text = g_strdup_printf("%s: %s", c->title, of);
        if (i == 0)
            ct_page_blank(page);
        ct_page_text(page, i == 0 ? ct_msg(r->lang, CT_MSG_THEN) : "", CT_INK_PLAIN, text, 0);
        ct_text_evidence(page, CT_MSG_BLANK, c->for_, 3, 2, FALSE);
    }
}

static void candidates(CtPage *page, const CtReport *r)
{
    guint from = r->outcome == CT_REPORT_FOUND ? 1 : 0;
    for (guint i = from; i < r->causes->len; i++) {
        const CtReportCause *c = g_ptr_array_index(r->causes, i);
        if (i == from)
            heading(page, CT_MSG_CANDIDATES);
        g_autofree char *title =
            c->unknown ? g_strdup(c->title)
                       : ct_msgf(r->lang, CT_MSG_CAUSE_LINE, c->title,
                                 ct_term(r->lang, "layer", c->h->layer), NULL);
        ct_page_text(page, c->percent, CT_INK_BOLD, title, 0);
        ct_text_evidence(page, CT_MSG_FOR, c->for_, 3, 2, FALSE);
        ct_text_evidence(page, CT_MSG_AGAINST, c->against, 3, 2, FALSE);
    }
}

static void layers(CtPage *page, const CtReport *r)
{
    static const CtInk inks[] = {[CT_LAYER_OK] = CT_INK_GOOD,
                                 [CT_LAYER_SUSPECT] = CT_INK_BOLD,
                                 [CT_LAYER_FAULT] = CT_INK_BAD,
                                 [CT_LAYER_UNKNOWN] = CT_INK_DIM};
    guint width = 0;
    for (guint i = 0; r->d->layers && i < r->d->layers->len; i++) {
        const CtLayer *l = g_ptr_array_index(r->d->layers, i);
        width = MAX(width, ct_text_width(ct_term(r->lang, "layer", l->layer)));
    }
    for (guint i = 0; r->d->layers && i < r->d->layers->len; i++) {
        const CtLayer *l = g_ptr_array_index(r->d->layers, i);
        g_autofree char *why = ct_text_clean(l->why);
        if (i == 0)
            heading(page, CT_MSG_LAYERS);
        ct_page_item(page, ct_term(r->lang, "state", ct_layer_state_name(l->state)),
                     ct_term(r->lang, "layer", l->layer), width, inks[l->state], why, 0);
    }
}

static void timeline(CtPage *page, const CtReport *r)
{
    guint width = 0;
    for (guint i = 0; i < r->timeline->len; i++) {
        const CtReportLine *line = g_ptr_array_index(r->timeline, i);
        width = MAX(width, line->time ? ct_text_width(line->time) : 0);
    }
    for (guint i = 0; i < r->timeline->len; i++) {
        const CtReportLine *line = g_ptr_array_index(r->timeline, i);
        g_autofree char *text = *line->place ? g_strdup_printf("%s  %s", line->place, line->text)
                                             : g_strdup(line->text);
        if (i == 0)
            heading(page, CT_MSG_TIMELINE);
        ct_page_item(page, "", line->time ? line->time : "", width, CT_INK_PLAIN, text, 2);
    }
}

static void sum_of(CtPage *page, const CtReport *r, const CtReportCause *c, const GPtrArray *lines)
{
    for (guint i = 0; i < lines->len; i++) {
        const CtCitation *cite = ((CtReportLine *)g_ptr_array_index(lines, i))->c;
        if (!cite->rule || cite->counted == 0)
            continue;
        g_autofree char *counted = ct_report_weight(cite->counted);
        g_autofree char *weight = ct_report_weight(cite->weight);
        g_autofree char *note = ct_msgf(r->lang, CT_MSG_GROUP_NOTE, weight,
                                        cite->group ? cite->group : "-", NULL);
        g_autofree char *text = g_strdup_printf("%s  (%s)", cite->rule, note);
        ct_page_item(page, "", counted, 6, CT_INK_PLAIN, text, 0);
    }
}

static void arithmetic(CtPage *page, const CtReport *r)
{
    heading(page, CT_MSG_ARITHMETIC);
    for (guint i = 0; i < MIN(r->causes->len, ARITHMETIC_CAUSES); i++) {
        const CtReportCause *c = g_ptr_array_index(r->causes, i);
        g_autofree char *prior = ct_report_weight(c->h->prior);
        g_autofree char *score = ct_report_weight(c->h->score);
        g_autofree char *name = g_strdup_printf("%s (%s)", c->title, c->h->cause);
        ct_page_text(page, c->percent, CT_INK_BOLD, name, 0);
        ct_page_item(page, "", prior, 6, CT_INK_PLAIN, ct_msg(r->lang, CT_MSG_PRIOR), 0);
        sum_of(page, r, c, c->for_);
        sum_of(page, r, c, c->against);
        ct_page_item(page, "", score, 6, CT_INK_PLAIN, ct_msg(r->lang, CT_MSG_SUM), 0);
    }
    g_autofree char *t = g_strdup_printf("%.3g", r->d->temperature);
    g_autofree char *text = ct_msgf(r->lang, CT_MSG_TEMPERATURE, t, NULL);
    ct_page_text(page, "", CT_INK_DIM, text, 0);
}

static void sources(CtPage *page, const CtReport *r)
{
    guint width = 0;
    for (guint i = 0; i < r->sources->len; i++) {
        const CtReportSource *s = g_ptr_array_index(r->sources, i);
        width = MAX(width, ct_text_width(s->name));
    }
    width = MIN(width, 30);
    heading(page, CT_MSG_SOURCES);
    for (guint i = 0; i < r->sources->len; i++) {
        const CtReportSource *s = g_ptr_array_index(r->sources, i);
        g_autofree char *name = ct_text_fit_left(s->name, width);
        g_autofree char *note = ct_text_clean(s->note);
        g_autofree char *lines = s->lines == CT_NONE
                                     ? g_strdup("")
                                     : g_strdup_printf(", %" G_GINT64_FORMAT " %s", s->lines,
                                                       ct_msg(r->lang, CT_MSG_LINES));
        g_autofree char *text = g_strdup_printf("%s%s%s%s%s%s",
                                                ct_term(r->lang, "status", s->status),
                                                *note ? ", " : "", note, lines,
                                                s->format ? ", " : "", s->format ? s->format : "");
        ct_page_item(page, "", name, width, CT_INK_PLAIN, text, 2);
    }
}

static void notes(CtPage *page, const CtReport *r)
{
    for (guint i = 0; r->d->notes && i < r->d->notes->len; i++) {
        g_autofree char *note = ct_text_clean(g_ptr_array_index(r->d->notes, i));
        if (i == 0)
            heading(page, CT_MSG_NOTES);
        ct_page_text(page, "", CT_INK_PLAIN, note, 0);
    }
}

char *ct_text_full_page(const CtReport *r, guint columns, gboolean colour)
{
    CtPage page;
    const CtReportCause *lead = ct_report_lead(r);
    ct_page_init(&page, r->lang, columns, colour);
    ct_text_verdict(&page, r, TRUE);
    if (lead)
        lead_cause(&page, r, lead);
    consequences(&page, r);
    candidates(&page, r);
    layers(&page, r);
    timeline(&page, r);
    if (lead)
        arithmetic(&page, r);
    sources(&page, r);
    notes(&page, r);
    return ct_page_end(&page);
}
