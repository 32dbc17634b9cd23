/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/explain-text.h"

#include <string.h>

#include "report/layout.h"
#include "report/page.h"

/* clang-format off */
/* Labels of the page; the narrowest that say it. */
typedef enum {
    L_PRINTS, L_MEANS, L_LAYER, L_STICKY, L_LATE, L_OLD, L_USUAL, L_CHECK, L_CAUSES, L_TRY, L_ALSO,
    L_SEEN, L_ABOUT, L_ACTION, L_SIGNS, L_NEXT, L_FIX, L_VERIFY, L_BEWARE, L_EXPLAINS, L_ROOT,
    L_REFS, L_MATCH, L_NAME, L_LEADING, N_LABELS
} Label;

static const char *const LABELS[N_LABELS][CT_N_LANGS] = {
    [L_PRINTS] = {"Printed", "打印为"},   [L_MEANS] = {"Meaning", "含义"},
    [L_LAYER] = {"Layer", "层次"},        [L_STICKY] = {"Sticky", "粘滞"},
    [L_LATE] = {"Late", "延迟"},          [L_OLD] = {"CUDA <10.1", "旧编号"},
    [L_USUAL] = {"Usually", "常见原因"},  [L_CHECK] = {"Check", "先查"},
    [L_CAUSES] = {"Causes", "根因"},      [L_TRY] = {"Commands", "命令"},
    [L_ALSO] = {"Driver API", "驱动 API"}, [L_SEEN] = {"Seen", "识别为"},
    [L_ABOUT] = {"About", "说明"},        [L_ACTION] = {"Action", "处置"},
    [L_SIGNS] = {"Signs", "迹象"},        [L_NEXT] = {"Tests", "检查"},
    [L_FIX] = {"Fix", "修复"},            [L_VERIFY] = {"Verify", "验证"},
    [L_BEWARE] = {"Beware", "误区"},      [L_EXPLAINS] = {"Leads to", "会引发"},
    [L_ROOT] = {"Stems from", "可源于"},  [L_REFS] = {"Sources", "依据"},
    [L_MATCH] = {"Matches", "匹配"},      [L_NAME] = {"Also", "别名"},
    [L_LEADING] = {"Causes", "常见根因"},
};

/* Columns of a code table that are worth a line of their own, in this order. */
static const struct {
    const char *key, *label[CT_N_LANGS];
} EXTRA[] = {
    {"fatality", {"Fatality", "致命性"}}, {"class", {"Behind it", "来源"}},
    {"behind", {"Behind it", "来源"}},    {"app_caused", {"By program", "程序致"}},
    {"action", {"Do", "处置"}},           {"xid", {"As Xid", "同 Xid"}},
    {"gpus", {"GPUs", "适用 GPU"}},       {"valid_for", {"Versions", "版本"}},
    {"harm", {"Harm", "影响"}},           {"note", {"Note", "备注"}},
};

/* clang-format on */

typedef struct {
    CtPage page;
    CtLang lang;
} Out;

static const char *label(const Out *o, Label l)
{
    return LABELS[l][o->lang];
}

static void line(Out *o, Label l, const char *text)
{
    if (!text || !*text)
        return;
    g_autofree char *clean = ct_text_clean(text);
    ct_page_text(&o->page, label(o, l), CT_INK_PLAIN, clean, 0);
}

static void bullets(Out *o, Label l, const GPtrArray *texts)
{
    for (guint i = 0; i < texts->len; i++) {
        g_autofree char *clean = ct_text_clean(texts->pdata[i]);
        ct_page_item(&o->page, i == 0 ? label(o, l) : "", "-", 1, CT_INK_PLAIN, clean, 0);
    }
}

static const char *sticky_text(const Out *o, const char *value)
{
    if (strcmp(value, "yes") == 0)
        return o->lang == CT_LANG_ZH ? "是：上下文已失效，此后调用全部失败，必须重启进程"
                                     : "yes: the context is lost, later calls fail too, the "
                                       "process must restart";
    if (strcmp(value, "no") == 0)
        return o->lang == CT_LANG_ZH ? "否：本次调用失败，之后可继续"
                                     : "no: this call failed, the next may work";
    return o->lang == CT_LANG_ZH ? "不一定" : "sometimes";
}

static const char *late_text(const Out *o, const char *value)
{
    if (strcmp(value, "yes") == 0)
        return o->lang == CT_LANG_ZH
                   ? "是：由之后的某次调用报告，报错的调用不是肇事者（CUDA_LAUNCH_BLOCKING=1 "
                     "可定位）"
                   : "yes: a later call reports it, so the call that fails is not the one at fault "
                     "(CUDA_LAUNCH_BLOCKING=1 finds it)";
    if (strcmp(value, "no") == 0)
        return o->lang == CT_LANG_ZH ? "否：由出错的调用直接报告" : "no: the failing call itself";
    return o->lang == CT_LANG_ZH ? "可能是先前异步错误的回声"
                                 : "may be the echo of an earlier asynchronous fault";
}

static void hits(Out *o, Label l, const GPtrArray *list)
{
    for (guint i = 0; i < list->len; i++) {
        const CtExplainHit *h = list->pdata[i];
        g_autofree char *text = g_strdup_printf(
            "%s: %s%s%s%s", h->cause, h->title, o->lang == CT_LANG_ZH ? "（" : " (",
            ct_term(o->lang, "owner", h->owner), o->lang == CT_LANG_ZH ? "）" : ")");
        g_autofree char *mark =
            h->probability >= 0 ? g_strdup_printf("%.0f%%", h->probability * 100) : g_strdup("-");
        ct_page_item(&o->page, i == 0 ? label(o, l) : "", mark, h->probability >= 0 ? 3 : 1,
                     CT_INK_PLAIN, text, 0);
        if (h->why)
            ct_page_item(&o->page, "", "", h->probability >= 0 ? 3 : 1, CT_INK_DIM, h->why, 2);
    }
}

static void tests(Out *o, Label l, const GPtrArray *list)
{
    for (guint i = 0; i < list->len; i++) {
        const CtExplainTest *t = list->pdata[i];
        const char *shown = i == 0 ? label(o, l) : "";
        if (t->say)
            ct_page_text(&o->page, shown, CT_INK_PLAIN, t->say, 0);
        if (t->run)
            ct_page_command(&o->page, t->say ? "" : shown, "$ ", t->run);
    }
}

static const char *more(const CtReading *r, const char *key)
{
    for (guint i = 0; i < r->more->len; i++) {
        const CtExplainPair *p = r->more->pdata[i];
        if (strcmp(p->key, key) == 0)
            return p->value;
    }
    return NULL;
}

static void extras(Out *o, const CtReading *r)
{
    for (guint i = 0; i < G_N_ELEMENTS(EXTRA); i++) {
        const char *value = more(r, EXTRA[i].key);
        if (!value)
            continue;
        /* Without a blank behind it, ";" separates the entries of a list. */
        g_auto(GStrv) spaced = g_strsplit(value, "; ", -1);
        g_autofree char *plain = g_strjoinv(";", spaced);
        g_auto(GStrv) parts = g_strsplit(plain, ";", -1);
        g_autofree char *joined = g_strjoinv(o->lang == CT_LANG_ZH ? "；" : "; ", parts);
        ct_page_text(&o->page, EXTRA[i].label[o->lang], CT_INK_PLAIN, joined, 0);
    }
}

static char *heading_of(const CtReading *r)
{
    GString *s = g_string_new(r->name ? r->name : "");
    g_string_append_printf(s, "%s%s", s->len ? "  " : "", r->what);
    if (r->has_number)
        g_string_append_printf(s, " %" G_GINT64_FORMAT, r->number);
    return g_string_free(s, FALSE);
}

static void full_reading(Out *o, const CtReading *r)
{
    g_autofree char *heading = heading_of(r);
    ct_page_heading(&o->page, heading);
    line(o, strcmp(r->family, "cuda") == 0 ? L_ALSO : L_NAME, r->alt_name);
    line(o, L_PRINTS, r->message);
    line(o, L_MEANS, r->meaning);
    line(o, L_LAYER, r->layer ? ct_term(o->lang, "layer", r->layer) : NULL);
    if (r->sticky)
        line(o, L_STICKY, sticky_text(o, r->sticky));
    if (r->late && (r->sticky || strcmp(r->late, "no") != 0))
        line(o, L_LATE, late_text(o, r->late));
    line(o, L_OLD, r->old);
    extras(o, r);
    bullets(o, L_USUAL, r->causes);
    bullets(o, L_CHECK, r->checks);
    hits(o, L_CAUSES, r->hits);
    tests(o, L_TRY, r->tests);
}

static char *brief_key(const CtReading *r)
{
    return g_strdup_printf("%s %" G_GINT64_FORMAT, r->family, r->number);
}

static void brief_reading(Out *o, const CtReading *r)
{
    g_autofree char *key = brief_key(r);
    g_autofree char *text = g_strdup_printf("%s%s%s", r->name ? r->name : "", r->name ? ": " : "",
                                            r->meaning ? r->meaning : r->what);
    ct_page_text(&o->page, key, CT_INK_PLAIN, text, 2);
    if (r->old)
        ct_page_text(&o->page, "", CT_INK_DIM, r->old, 0);
}

/* The keys of many readings are wider than the labels of one. */
static void widen_for_keys(Out *o, const CtExplanation *x)
{
    for (guint i = 0; i < x->readings->len; i++) {
        const CtReading *r = x->readings->pdata[i];
        g_autofree char *key = r->brief ? brief_key(r) : g_strdup("");
        o->page.label = MAX(o->page.label, ct_text_width(key) + 1);
    }
}

static void readings(Out *o, const CtExplanation *x)
{
    widen_for_keys(o, x);
    for (guint i = 0; i < x->readings->len; i++) {
        const CtReading *r = x->readings->pdata[i];
        if (r->brief) {
            brief_reading(o, r);
            continue;
        }
        if (o->page.lines)
            ct_page_blank(&o->page);
        full_reading(o, r);
    }
}

static void hint(Out *o, const CtExplanation *x)
{
    const CtReading *first = x->readings->len ? x->readings->pdata[0] : NULL;
    if (!first || !first->brief)
        return;
    g_autofree char *text = g_strdup_printf(
        o->lang == CT_LANG_ZH
            ? "该编号有 %u 种读法；写明种类可看详情，例如 cutriage explain %s %" G_GINT64_FORMAT
            : "%u readings; name the kind for more, for example: cutriage explain "
              "%s %" G_GINT64_FORMAT,
        x->readings->len, first->family, first->number);
    ct_page_blank(&o->page);
    ct_page_text(&o->page, "", CT_INK_DIM, text, 0);
}

static void events(Out *o, const CtExplanation *x)
{
    for (guint i = 0; i < x->events->len; i++) {
        const CtExplainEvent *e = x->events->pdata[i];
        GString *s = g_string_new(e->kind);
        if (e->has_code)
            g_string_append_printf(s, " %" G_GINT64_FORMAT, e->code);
        if (e->name)
            g_string_append_printf(s, " %s", e->name);
        if (e->meaning && !e->has_code) {
            /* The vocabulary adds notes on columns behind a colon or semicolon. */
            gsize n = strcspn(e->meaning, ":;");
            g_string_append_printf(s, ": %.*s", (int)n, e->meaning);
        }
        g_autofree char *clean = ct_text_clean(s->str);
        ct_page_item(&o->page, i == 0 ? label(o, L_SEEN) : "", "-", 1, CT_INK_PLAIN, clean, 2);
        g_string_free(s, TRUE);
    }
}

static void detail(Out *o, const CtExplainCause *d)
{
    const gboolean zh = o->lang == CT_LANG_ZH;
    g_autofree char *heading = g_strdup_printf("%s  %s", d->cause, d->title);
    ct_page_heading(&o->page, heading);
    line(o, L_LAYER, ct_term(o->lang, "layer", d->layer));
    line(o, L_ABOUT, d->about);
    g_autofree char *action = g_strdup_printf(
        zh ? "%s（%s，%s）" : "%s (%s, %s)", ct_term(o->lang, "action", d->action),
        ct_term(o->lang, "owner", d->owner), ct_term(o->lang, "urgency", d->urgency));
    line(o, L_ACTION, action);
    for (guint i = 0; i < d->signs->len; i++) {
        const CtExplainPair *p = d->signs->pdata[i];
        ct_page_item(&o->page, i == 0 ? label(o, L_SIGNS) : "", p->key, 3, CT_INK_PLAIN, p->value,
                     0);
    }
    tests(o, L_NEXT, d->tests);
    bullets(o, L_FIX, d->fix);
    bullets(o, L_VERIFY, d->verify);
    bullets(o, L_BEWARE, d->pitfalls);
    hits(o, L_EXPLAINS, d->explains);
    hits(o, L_ROOT, d->explained_by);
    bullets(o, L_REFS, d->refs);
}

/* A leading cause of a topic, and how it is looked for. */
static void leading(Out *o, const CtExplainHit *h, guint index)
{
    g_autofree char *mark = g_strdup_printf("%u", index + 1);
    g_autofree char *text = g_strdup_printf(o->lang == CT_LANG_ZH ? "%s（%s）" : "%s (%s)", h->title,
                                            h->cause);
    ct_page_item(&o->page, index == 0 ? label(o, L_LEADING) : "", mark, 2, CT_INK_PLAIN, text, 0);
    if (h->test && h->test->say)
        ct_page_item(&o->page, "", "", 2, CT_INK_DIM, h->test->say, 0);
    if (h->test && h->test->run)
        ct_page_command(&o->page, "", "   $ ", h->test->run);
}

static void topics(Out *o, const CtExplanation *x)
{
    for (guint i = 0; i < x->topics->len; i++) {
        const CtExplainTopic *t = x->topics->pdata[i];
        GString *layers = g_string_new(NULL);
        for (guint k = 0; k < t->layers->len; k++)
            g_string_append_printf(layers, "%s%s", k == 0 ? "" : o->lang == CT_LANG_ZH ? "、" : ", ",
                                   ct_term(o->lang, "layer", t->layers->pdata[k]));
        ct_page_heading(&o->page, t->title);
        line(o, L_ABOUT, t->about);
        line(o, L_LAYER, layers->str);
        g_string_free(layers, TRUE);
        for (guint k = 0; k < t->causes->len; k++)
            leading(o, t->causes->pdata[k], k);
    }
}

static void rows(Out *o, const CtExplanation *x)
{
    for (guint i = 0; i < x->rows->len; i++) {
        const CtExplainRow *r = x->rows->pdata[i];
        if (o->page.lines)
            ct_page_blank(&o->page);
        g_autoptr(GPtrArray) lines = ct_text_wrap(r->title, o->page.columns, 0);
        for (guint k = 0; k < lines->len; k++)
            ct_page_heading(&o->page, lines->pdata[k]);
        for (guint k = 0; k < r->pairs->len; k++) {
            const CtExplainPair *p = r->pairs->pdata[k];
            g_autofree char *key = g_strdelimit(g_strdup(p->key), "_", ' ');
            ct_page_text(&o->page, key, CT_INK_PLAIN, p->value, 0);
        }
    }
}

static void unknown(Out *o, const CtExplanation *x)
{
    for (guint i = 0; i < x->unknown->len; i++) {
        g_autofree char *clean = ct_text_clean(x->unknown->pdata[i]);
        g_autofree char *fit = ct_text_fit(clean, 60);
        g_autofree char *text =
            g_strdup_printf(o->lang == CT_LANG_ZH ? "没有已知的 %s" : "No %s is known", fit);
        ct_page_heading(&o->page, text);
    }
}

static void suggestions(Out *o, const CtExplanation *x)
{
    const gboolean zh = o->lang == CT_LANG_ZH;
    g_autofree char *clean = ct_text_clean(x->query);
    g_autofree char *fit = ct_text_fit(clean, 60);
    g_autofree char *nothing =
        g_strdup_printf(zh ? "没有找到与“%s”有关的内容" : "Nothing is known about '%s'", fit);
    if (x->unknown->len == 0)
        ct_page_heading(&o->page, nothing);
    for (guint i = 0; i < x->suggestions->len; i++)
        ct_page_item(&o->page,
                     i    ? ""
                     : zh ? "是否指"
                          : "Maybe",
                     "-", 1, CT_INK_PLAIN, x->suggestions->pdata[i], 0);
}

static void set_label_width(Out *o)
{
    guint width = 0;
    for (guint i = 0; i < N_LABELS; i++)
        width = MAX(width, ct_text_width(LABELS[i][o->lang]));
    for (guint i = 0; i < G_N_ELEMENTS(EXTRA); i++)
        width = MAX(width, ct_text_width(EXTRA[i].label[o->lang]));
    o->page.label = width + 1;
}

char *ct_explain_text_page(const CtExplanation *x, const CtExplainPage *page)
{
    Out o = {.lang = page->lang};
    ct_page_init(&o.page, page->lang, page->columns ? page->columns : 80, page->colour);
    set_label_width(&o);
    if (page->place) {
        g_autofree char *quote = ct_text_clean(x->query);
        ct_page_text(&o.page, page->place, CT_INK_DIM, quote, 3);
    }
    events(&o, x);
    topics(&o, x);
    unknown(&o, x);
    if (x->events->len) {
        hits(&o, L_CAUSES, x->hits);
        readings(&o, x);
    } else {
        readings(&o, x);
        hint(&o, x);
        for (guint i = 0; i < x->details->len; i++)
            detail(&o, x->details->pdata[i]);
        hits(&o, L_MATCH, x->hits);
        rows(&o, x);
    }
    if (ct_explanation_empty(x))
        suggestions(&o, x);
    return ct_page_end(&o.page);
}
