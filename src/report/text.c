/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page that fits one screen: verdict, the strongest lines for and against, what is missing, the
 * next test, the fix and the other candidates. It begins tight and is laid out again with more of each
 * kind as long as it fits; text-full.c has the page that holds everything.
 */
#include "report/text-private.h"

#include <string.h>

#include "report/layout.h"
#include "report/slow-request.h"

#define PLACE_MAX 24u

/* What a page may hold: lines of each kind, and lines that one text may take (0: all of it; an
 * outcome that is cut in its middle says nothing). */
enum {
    EVIDENCE, EVIDENCE_WRAP, AGAINST, MISSING, SEEN, UNREAD, SAY_WRAP, OUTCOMES, OUTCOME_WRAP,
    FIX, FIX_WRAP, THEN, ALSO, SPACED, SLOW, N_LIMITS
};

/* The tightest page ... */
static const guint tightest[N_LIMITS] = {
    [EVIDENCE] = 2, [EVIDENCE_WRAP] = 1, [AGAINST] = 1,      [MISSING] = 1, [SEEN] = 2,
    [UNREAD] = 1,   [SAY_WRAP] = 0,      [OUTCOMES] = 1,     [FIX] = 1,     [FIX_WRAP] = 1,
    [THEN] = 0,     [ALSO] = 1,          [OUTCOME_WRAP] = 0, [SPACED] = 0, [SLOW] = 0,
};

/* ... and what it is widened by, the most useful first, as long as everything still fits. */
static const struct {
    guint limit, value;
} wider[] = {
    {OUTCOMES, 2}, {FIX_WRAP, 2},      {EVIDENCE, 3}, {EVIDENCE_WRAP, 2}, {SLOW, 4}, {SEEN, 4},
    {ALSO, 2},     {SAY_WRAP, 1},      {SPACED, 1},   {FIX, 2},           {FIX_WRAP, 4},
    {THEN, 1},     {SEEN, 6},     {EVIDENCE, 4},      {EVIDENCE_WRAP, 3},
    {OUTCOMES, 3}, {SAY_WRAP, 2},      {ALSO, 3},     {MISSING, 2},       {AGAINST, 2},
    {UNREAD, 2},   {FIX, 3},           {EVIDENCE, 6}, {OUTCOMES, 4},      {ALSO, 5},
    {UNREAD, 3},   {THEN, 2},     {FIX, 5},           {SEEN, 9},
};

static guint place_width(const GPtrArray *lines, guint n)
{
    guint width = 0;
    for (guint i = 0; i < MIN(n, lines->len); i++) {
        const CtReportLine *line = g_ptr_array_index(lines, i);
        width = MAX(width, ct_text_width(line->place));
    }
    return MIN(width, PLACE_MAX);
}

/* The places of the lines after `from` that say the same as it, as " (also :4, x.log:9)". */
static char *same_elsewhere(const CtReport *r, const GPtrArray *lines, guint from)
{
    const CtReportLine *first = g_ptr_array_index(lines, from);
    g_autoptr(GString) places = g_string_new(NULL);
    guint n = 0;
    for (guint i = from + 1; i < lines->len; i++) {
        const CtReportLine *line = g_ptr_array_index(lines, i);
        if (!*line->place || !g_str_equal(line->text, first->text) ||
            g_str_equal(line->place, first->place) || ++n > 3)
            continue;
        gboolean same_file = g_strcmp0(line->c->source, first->c->source) == 0 && line->c->line;
        g_string_append(places, n > 1 ? ", " : "");
        if (n == 3)
            g_string_append(places, "...");
        else if (same_file)
            g_string_append_printf(places, ":%u", line->c->line);
        else
            g_string_append(places, line->place);
    }
    return n ? ct_msgf(r->lang, CT_MSG_ALSO_AT, first->text, places->str, NULL)
             : g_strdup(first->text);
}

static gboolean said_before(const GPtrArray *lines, guint index)
{
    const CtReportLine *line = g_ptr_array_index(lines, index);
    for (guint i = 0; i < index; i++) {
        const CtReportLine *earlier = g_ptr_array_index(lines, i);
        if (g_str_equal(earlier->text, line->text))
            return TRUE;
    }
    return FALSE;
}

/* The short form of ct_text_evidence: what is said several times is said once. */
static void evidence(CtPage *page, const CtReport *r, CtMsg label, const GPtrArray *lines,
                     guint max, guint wrap)
{
    g_autoptr(GPtrArray) kept = g_ptr_array_new();
    g_autoptr(GPtrArray) texts = g_ptr_array_new_with_free_func(g_free);
    for (guint i = 0; i < lines->len && kept->len < max; i++) {
        if (said_before(lines, i))
            continue;
        g_ptr_array_add(kept, g_ptr_array_index(lines, i));
        g_ptr_array_add(texts, same_elsewhere(r, lines, i));
    }
    guint width = place_width(kept, kept->len);
    for (guint i = 0; i < kept->len; i++) {
        const CtReportLine *line = g_ptr_array_index(kept, i);
        g_autofree char *place = ct_text_fit_left(line->place, width);
        ct_page_item(page, i == 0 ? ct_msg(page->lang, label) : "", place, width, CT_INK_PLAIN,
                     g_ptr_array_index(texts, i), wrap);
    }
}

void ct_text_evidence(CtPage *page, CtMsg label, const GPtrArray *lines, guint max, guint wrap,
                      gboolean quotes)
{
    guint width = place_width(lines, max ? max : lines->len);
    for (guint i = 0; i < lines->len && (!max || i < max); i++) {
        const CtReportLine *line = g_ptr_array_index(lines, i);
        g_autofree char *place = ct_text_fit_left(line->place, width);
        ct_page_item(page, i == 0 ? ct_msg(page->lang, label) : "", place, width, CT_INK_PLAIN,
                     line->text, wrap);
        if (quotes && line->quote && !g_str_equal(line->quote, line->text))
            ct_page_item(page, "", "", width, CT_INK_DIM, line->quote, 2);
    }
}

static void list(CtPage *page, CtMsg label, const GPtrArray *texts, guint from, guint max,
                 guint wrap, gboolean numbered)
{
    for (guint i = from; i < texts->len && i - from < max; i++) {
        g_autofree char *mark = g_strdup_printf("%u", i + 1);
        ct_page_item(page, i == from ? ct_msg(page->lang, label) : "", numbered ? mark : "",
                     numbered ? 1 : 0, CT_INK_PLAIN, g_ptr_array_index(texts, i), wrap);
    }
}

/* A fix that does not fit behind the action is not cut off: it stands below, under its own label. */
static const char *now_line(const CtPage *page, const CtReport *r, const CtReportCause *lead)
{
    const char *fix = lead ? ct_report_first_fix(lead) : NULL;
    gboolean too_long = page->label + ct_text_width(r->verdict_now) > page->columns;
    return too_long && fix && g_str_has_suffix(r->verdict_now, fix) ? lead->action : r->verdict_now;
}

/* What could not be read also stands in the list below: the line is not cut in its middle for it. */
static const char *sure_line(const CtPage *page, const CtReport *r)
{
    gboolean fits = page->label + ct_text_width(r->verdict_sure) <= page->columns;
    return fits || !r->verdict_sure_short ? r->verdict_sure : r->verdict_sure_short;
}

void ct_text_verdict(CtPage *page, const CtReport *r, gboolean full)
{
    guint max = full ? 0 : 1;
    CtInk ink = r->outcome == CT_REPORT_FOUND     ? CT_INK_BAD
                : r->outcome == CT_REPORT_NOTHING ? CT_INK_GOOD
                                                  : CT_INK_BOLD;
    /* On one line a long title is worth more than its layer. */
    const CtReportCause *lead = ct_report_lead(r);
    gboolean too_long = page->label + ct_text_width(r->verdict_cause) > page->columns;
    const char *cause = !full && too_long && r->outcome == CT_REPORT_FOUND ? lead->title
                                                                         : r->verdict_cause;
    ct_page_text(page, ct_msg(r->lang, CT_MSG_CAUSE), ink, cause, max);
    ct_page_text(page, ct_msg(r->lang, CT_MSG_SURE), CT_INK_PLAIN,
                 full ? r->verdict_sure : sure_line(page, r), full ? 0 : 2);
    ct_page_text(page, ct_msg(r->lang, CT_MSG_DO_NOW), CT_INK_BOLD,
                 full ? r->verdict_now : now_line(page, r, lead), max);
    for (guint i = 0; i < r->incidents->len; i++) {
        g_autofree char *line = ct_report_incident_line(r, i);
        if (line)
            ct_page_text(page, "", CT_INK_BAD, line, full ? 0 : 2);
    }
}

void ct_text_next(CtPage *page, const CtReport *r, const CtNextTest *test, const char *label,
                  guint say_wrap, guint outcomes, guint outcome_wrap)
{
    g_autofree char *cost = ct_report_cost(r->lang, test->cost_s);
    g_autofree char *in_brackets = *cost ? ct_msgf(r->lang, CT_MSG_COST, cost, NULL)
                                         : g_strdup("");
    if (test->run && *test->run) {
        g_autofree char *before = g_strdup_printf("%s%s", in_brackets, *cost ? " " : "");
        g_autofree char *run = ct_text_clean(test->run);
        ct_page_command(page, label, before, run);
        label = "";
    }
    if (test->say && *test->say && (say_wrap || *label)) {
        g_autofree char *say = ct_text_clean(test->say);
        ct_page_text(page, label, CT_INK_PLAIN, say, MAX(say_wrap, 1));
    }
    for (guint i = 0; test->outcomes && i < test->outcomes->len && i < outcomes; i++) {
        const CtOutcome *o = g_ptr_array_index(test->outcomes, i);
        g_autofree char *line = ct_msgf(r->lang, CT_MSG_IF_THEN, o->when ? o->when : "",
                                        ct_report_title(r, o->cause), NULL);
        g_autofree char *clean = ct_text_clean(line);
        ct_page_item(page, "", "-", 1, CT_INK_PLAIN, clean, outcome_wrap);
    }
}

static void unread(CtPage *page, const CtReport *r, guint max)
{
    guint shown = 0;
    for (guint i = 0; i < r->sources->len && shown < max; i++) {
        const CtReportSource *s = g_ptr_array_index(r->sources, i);
        if (!s->bad)
            continue;
        g_autofree char *note = ct_text_clean(s->note);
        g_autofree char *text = g_strdup_printf("%s: %s%s%s", s->name,
                                                ct_term(r->lang, "status", s->status),
                                                *note ? ", " : "", note);
        ct_page_text(page, shown++ ? "" : ct_msg(r->lang, CT_MSG_UNREAD), CT_INK_PLAIN, text, 1);
    }
}

static void also(CtPage *page, const CtReport *r, guint max)
{
    guint shown = 0;
    double least = r->outcome == CT_REPORT_NOTHING ? CT_REPORT_WORTH_SHOWING : 0.01;
    for (guint i = r->outcome == CT_REPORT_FOUND ? 1 : 0; i < r->causes->len && shown < max; i++) {
        const CtReportCause *c = g_ptr_array_index(r->causes, i);
        if (c->h->probability < least || (c->unknown && r->outcome != CT_REPORT_FOUND))
            continue;
        g_autofree char *text =
            c->unknown ? g_strdup(c->title)
                       : ct_msgf(r->lang, CT_MSG_CAUSE_LINE, c->title,
                                 ct_term(r->lang, "layer", c->h->layer), NULL);
        ct_page_item(page, shown++ ? "" : ct_msg(r->lang, CT_MSG_ALSO), c->percent, 3,
                     CT_INK_PLAIN, text, 1);
    }
}

static void then(CtPage *page, const CtReport *r, const CtReportCause *lead, guint max)
{
    g_autoptr(GString) all = g_string_new(NULL);
    for (guint i = 0; i < r->consequences->len; i++) {
        const CtReportCause *c = g_ptr_array_index(r->consequences, i);
        if (g_strcmp0(c->h->explained_by, lead->h->cause) == 0)
            g_string_append_printf(all, "%s%s", all->len ? ct_msg(r->lang, CT_MSG_SEMICOLON) : "",
                                   c->title);
    }
    if (all->len && max)
        ct_page_text(page, ct_msg(r->lang, CT_MSG_THEN), CT_INK_PLAIN, all->str, max);
}

/* The first fix already stands in the verdict when that line was not cut. */
static guint first_fix_to_show(const CtPage *page, const CtReport *r)
{
    const CtReportCause *lead = ct_report_lead(r);
    const char *fix = lead ? ct_report_first_fix(lead) : NULL;
    gboolean whole = ct_text_width(r->verdict_now) + page->label <= page->columns;
    return fix && whole && g_str_has_suffix(r->verdict_now, fix) ? 1 : 0;
}

/* Without a cause the errors themselves are what there is to show. */
static void seen(CtPage *page, const CtReport *r, guint max)
{
    guint width = 0;
    for (guint i = 0; i < r->timeline->len && i < max; i++) {
        const CtReportLine *line = g_ptr_array_index(r->timeline, i);
        width = MAX(width, ct_text_width(line->place));
    }
    width = MIN(width, PLACE_MAX);
    for (guint i = 0; i < r->timeline->len && i < max; i++) {
        const CtReportLine *line = g_ptr_array_index(r->timeline, i);
        g_autofree char *place = ct_text_fit_left(line->place, width);
        ct_page_item(page, i == 0 ? ct_msg(r->lang, CT_MSG_SEEN) : "", place, width, CT_INK_PLAIN,
                     line->text, 1);
    }
}

static void gap(CtPage *page, gboolean spaced)
{
    gboolean after_blank = g_str_has_suffix(page->out->str, "\n\n");
    if (spaced && !after_blank)
        ct_page_blank(page);
}

static void body(CtPage *page, const CtReport *r, const guint *l)
{
    const CtReportCause *lead = ct_report_lead(r);
    ct_text_verdict(page, r, FALSE);
    ct_page_blank(page);
    if (lead && r->outcome == CT_REPORT_FOUND) {
        evidence(page, r, CT_MSG_FOR, lead->for_, l[EVIDENCE], l[EVIDENCE_WRAP]);
        evidence(page, r, CT_MSG_AGAINST, lead->against, l[AGAINST], 1);
        ct_report_slow_text(page, r, l[SLOW]);
        then(page, r, lead, l[THEN]);
    }
    if (r->outcome == CT_REPORT_INCOMPLETE)
        seen(page, r, l[SEEN]);
    gap(page, l[SPACED]);
    if (lead && r->outcome != CT_REPORT_NOTHING) {
        list(page, CT_MSG_MISSING, lead->missing, 0, l[MISSING], 1, FALSE);
        if (lead->h->next->len)
            ct_text_next(page, r, g_ptr_array_index(lead->h->next, 0),
                         ct_msg(r->lang, CT_MSG_NEXT), l[SAY_WRAP], l[OUTCOMES], l[OUTCOME_WRAP]);
        gap(page, l[SPACED]);
        list(page, CT_MSG_FIX, lead->fix, first_fix_to_show(page, r), l[FIX], l[FIX_WRAP], TRUE);
        gap(page, l[SPACED]);
    }
    also(page, r, l[ALSO]);
    unread(page, r, l[UNREAD]);
    ct_page_text(page, ct_msg(r->lang, CT_MSG_MORE), CT_INK_DIM,
                 ct_msg(r->lang, CT_MSG_MORE_HINT), 1);
}

static char *laid_out(const CtReport *r, const CtTextOptions *o, guint columns, const guint *limits,
                      guint *out_lines)
{
    CtPage page;
    ct_page_init(&page, r->lang, columns, o->colour);
    body(&page, r, limits);
    *out_lines = page.lines;
    return ct_page_end(&page);
}

static char *short_page(const CtReport *r, const CtTextOptions *o, guint columns, guint rows)
{
    guint limits[N_LIMITS], lines;
    memcpy(limits, tightest, sizeof limits);
    char *best = laid_out(r, o, columns, limits, &lines);
    for (gsize i = 0; i < G_N_ELEMENTS(wider); i++) {
        guint before = limits[wider[i].limit];
        limits[wider[i].limit] = wider[i].value;
        char *text = laid_out(r, o, columns, limits, &lines);
        if (lines < rows) { /* one row is the prompt's */
            g_free(best);
            best = text;
        } else {
            limits[wider[i].limit] = before;
            g_free(text);
        }
    }
    return best;
}

char *ct_report_text(const CtReport *r, const CtTextOptions *o)
{
    guint columns = CLAMP(o->columns ? o->columns : 80, 40, 80);
    if (o->full)
        return ct_text_full_page(r, columns, o->colour);
    return short_page(r, o, columns, o->rows ? o->rows : 24);
}
