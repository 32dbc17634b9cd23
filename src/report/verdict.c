/* SPDX-License-Identifier: Apache-2.0 */
/* The verdict: cause, how sure, what to do now, one sentence each. */
#include "report/report-private.h"

#include <math.h>

#include "report/layout.h"

char *ct_report_cost(CtLang lang, double seconds)
{
    const char *unit[CT_N_LANGS][3] = {{"s", "min", "h"}, {"秒", "分钟", "小时"}};
    if (!(seconds > 0))
        return g_strdup("");
    if (seconds < 90)
        return g_strdup_printf("%.0f %s", seconds, unit[lang][0]);
    if (seconds < 5400)
        return g_strdup_printf("%.0f %s", seconds / 60, unit[lang][1]);
    return g_strdup_printf("%.3g %s", round(seconds / 360) / 10, unit[lang][2]);
}

char *ct_report_weight(double decibans)
{
    double rounded = round(decibans * 10) / 10;
    return rounded == round(rounded) ? g_strdup_printf("%+.0f", rounded)
                                     : g_strdup_printf("%+.1f", rounded);
}

const char *ct_report_first_fix(const CtReportCause *cause)
{
    return cause->fix->len ? g_ptr_array_index(cause->fix, 0) : NULL;
}

static char *number(guint n)
{
    return g_strdup_printf("%u", n);
}

static const char *how_sure(CtLang lang, double p)
{
    if (p >= 0.9)
        return ct_msg(lang, CT_MSG_SURE_VERY);
    if (p >= 0.75)
        return ct_msg(lang, CT_MSG_SURE_LIKELY);
    if (p >= 0.5)
        return ct_msg(lang, CT_MSG_SURE_MORE_THAN_NOT);
    return ct_msg(lang, CT_MSG_SURE_POSSIBLE);
}

static char *unread_sources(const CtReport *r)
{
    if (!r->n_bad_sources)
        return g_strdup("");
    g_autofree char *bad = number(r->n_bad_sources);
    g_autofree char *all = number(r->sources->len);
    return ct_msgf(r->lang, CT_MSG_SOURCES_FAILED, bad, all, NULL);
}

/* Below one half the fix of the leader is more likely wrong than right: tell the leaders apart. */
static char *tell_apart(const CtReport *r, const CtReportCause *lead)
{
    if (lead->h->probability >= 0.5 || !lead->h->next->len)
        return NULL;
    const CtNextTest *t = g_ptr_array_index(lead->h->next, 0);
    const char *what = t->run && *t->run ? t->run : t->say;
    if (!what || !*what)
        return NULL;
    g_autofree char *clean = ct_text_clean(what);
    return ct_msgf(r->lang, CT_MSG_ACT_TELL_APART, clean, NULL);
}

static void found(CtReport *r, const CtReportCause *lead)
{
    CtLang lang = r->lang;
    g_autofree char *n_for = number(lead->n_groups);
    g_autofree char *n_against = number(lead->n_groups_against);
    g_autofree char *observed =
        lead->n_groups == 1 ? g_strdup(ct_msg(lang, CT_MSG_OBSERVATIONS_ONE))
                            : ct_msgf(lang, CT_MSG_OBSERVATIONS_MANY, n_for, NULL);
    g_autofree char *against =
        lead->n_groups_against == 0   ? g_strdup(ct_msg(lang, CT_MSG_AGAINST_NONE))
        : lead->n_groups_against == 1 ? g_strdup(ct_msg(lang, CT_MSG_AGAINST_ONE))
                                      : ct_msgf(lang, CT_MSG_AGAINST_MANY, n_against, NULL);
    g_autofree char *unread = unread_sources(r);
    g_autofree char *why = g_strconcat(observed, against, unread, NULL);
    g_autofree char *why_short = g_strconcat(observed, against, NULL);
    const char *fix = ct_report_first_fix(lead);

    r->verdict_cause = ct_msgf(lang, CT_MSG_CAUSE_LINE, lead->title,
                               ct_term(lang, "layer", lead->h->layer), NULL);
    r->verdict_sure = ct_msgf(lang, CT_MSG_SURE_LINE, lead->percent,
                              how_sure(lang, lead->h->probability), why, NULL);
    r->verdict_sure_short = ct_msgf(lang, CT_MSG_SURE_LINE, lead->percent,
                                    how_sure(lang, lead->h->probability), why_short, NULL);
    r->verdict_now = tell_apart(r, lead);
    if (r->verdict_now)
        return;
    r->verdict_now =
        fix ? ct_msgf(lang, CT_MSG_ACT_LINE, ct_term(lang, "action", lead->h->action),
                      ct_term(lang, "owner", lead->h->owner),
                      ct_term(lang, "urgency", lead->h->urgency), fix, NULL)
            : g_strdup(lead->action);
}

/* What to do about missing evidence: the command of the best test, or what it says. */
static char *first_test(const CtReport *r, const CtReportCause *lead)
{
    for (guint i = 0; lead && i < lead->h->next->len; i++) {
        const CtNextTest *t = g_ptr_array_index(lead->h->next, i);
        gboolean runs = t->run && *t->run;
        const char *what = runs ? t->run : t->say;
        if (!what || !*what)
            continue;
        g_autofree char *clean = ct_text_clean(what);
        return ct_msgf(r->lang, runs ? CT_MSG_ACT_GET : CT_MSG_ACT_LOOK, clean, NULL);
    }
    return g_strdup(ct_msg(r->lang, CT_MSG_ACT_GIVE_MORE));
}

/* NULL when at least one source had something in it. */
static char *all_empty(const CtReport *r)
{
    if (!r->n_empty_sources || r->n_empty_sources + r->n_bad_sources != r->sources->len)
        return NULL;
    if (r->sources->len == 1) {
        const CtReportSource *s = g_ptr_array_index(r->sources, 0);
        g_autofree char *name =
            g_str_equal(s->path, "-") ? g_strdup(r->lang == CT_LANG_ZH ? "标准输入" : "standard input")
                                      : ct_text_clean(s->path);
        return ct_msgf(r->lang, CT_MSG_EMPTY_ONE, name, NULL);
    }
    g_autofree char *n = number(r->sources->len);
    return ct_msgf(r->lang, CT_MSG_EMPTY_MANY, n, NULL);
}

static void open_case(CtReport *r, const CtReportCause *lead)
{
    g_autofree char *unread = unread_sources(r);
    g_autofree char *sure = all_empty(r);
    if (sure) {
        r->verdict_cause = g_strdup(ct_msg(r->lang, CT_MSG_NO_CAUSE));
        r->verdict_sure = g_steal_pointer(&sure);
        r->verdict_now = g_strdup(ct_msg(r->lang, CT_MSG_ACT_GIVE_MORE));
        return;
    }
    for (guint i = 0; i < r->causes->len; i++) {
        const CtReportCause *c = g_ptr_array_index(r->causes, i);
        if (c->unknown && r->causes->len > 1)
            sure = ct_msgf(r->lang, CT_MSG_OPEN_SURE, c->percent, NULL);
    }
    if (!sure)
        sure = g_strdup(ct_msg(r->lang, r->timeline->len ? CT_MSG_OPEN_NO_RULE_ERRORS
                                                         : CT_MSG_OPEN_NO_RULE));
    r->verdict_cause = g_strdup(ct_msg(r->lang, CT_MSG_NO_CAUSE));
    r->verdict_sure = g_strconcat(sure, unread, NULL);
    r->verdict_sure_short = g_steal_pointer(&sure);
    r->verdict_now = first_test(r, lead);
}

static void nothing(CtReport *r)
{
    g_autofree char *n = number(r->sources->len);
    g_autofree char *what = r->sources->len == 1
                                ? g_strdup(ct_msg(r->lang, CT_MSG_SOURCES_ONE))
                                : ct_msgf(r->lang, CT_MSG_SOURCES_MANY, n, NULL);
    r->verdict_cause = ct_msgf(r->lang, CT_MSG_NOTHING_WRONG, what, NULL);
    gboolean weak = FALSE;
    for (guint i = 0; i < r->causes->len; i++) {
        const CtReportCause *c = g_ptr_array_index(r->causes, i);
        weak = weak || (!c->unknown && c->h->probability >= CT_REPORT_WORTH_SHOWING);
    }
    r->verdict_sure = g_strdup(ct_msg(r->lang, weak ? CT_MSG_NOTHING_WEAK : CT_MSG_NOTHING_SURE));
    r->verdict_now = g_strdup(ct_msg(r->lang, CT_MSG_ACT_NOTHING));
}

void ct_report_build_verdict(CtReport *r)
{
    const CtReportCause *lead = ct_report_lead(r);
    switch (r->outcome) {
    case CT_REPORT_FOUND:
        found(r, lead);
        break;
    case CT_REPORT_INCOMPLETE:
        open_case(r, lead);
        break;
    case CT_REPORT_NOTHING:
        nothing(r);
        break;
    }
}
