/* SPDX-License-Identifier: Apache-2.0 */
#include "report/diff.h"

#include <string.h>

#include "report/diff-private.h"
#include "report/layout.h"

#define SHORT_ROWS 20u

static void item_free(gpointer data)
{
    CtDiffItem *i = data;
    g_free(i->mark);
    g_free(i->head);
    g_free(i->text);
    g_free(i->place);
    g_free(i->run);
    g_free(i);
}

static void chapter_free(gpointer data)
{
    CtDiffChapter *c = data;
    g_free(c->title);
    g_ptr_array_unref(c->items);
    g_free(c);
}

static void doc_clear(CtDiffDoc *doc)
{
    g_free(doc->title);
    g_free(doc->sum);
    g_ptr_array_unref(doc->chapters);
}

static CtDiffChapter *chapter(CtDiffDoc *doc, const char *title)
{
    CtDiffChapter *c = g_new0(CtDiffChapter, 1);
    c->title = g_strdup(title);
    c->items = g_ptr_array_new_with_free_func(item_free);
    g_ptr_array_add(doc->chapters, c);
    return c;
}

static CtDiffItem *item(CtDiffChapter *c, const char *mark, char *head)
{
    CtDiffItem *i = g_new0(CtDiffItem, 1);
    i->mark = g_strdup(mark);
    i->head = ct_text_clean(head);
    g_free(head);
    g_ptr_array_add(c->items, i);
    return i;
}

static char *name_of(const char *subject, const char *key)
{
    return *subject ? g_strdup_printf("%s %s", subject, key) : g_strdup(key);
}

static const char *shown(CtLang lang, const char *value)
{
    return value ? value : ct_msg(lang, CT_MSG_DIFF_NONE);
}

static char *values_of(const CtDiffRow *r, const CtDiffPage *page)
{
    g_autofree char *name = name_of(r->subject, r->key);
    if (page->release && r->after)
        return ct_msgf(page->lang, CT_MSG_DIFF_RELEASE_ROW, name, r->before, r->after, NULL);
    if (r->state == CT_DIFF_UNKNOWN) {
        const char *why = r->note ? ct_term(page->lang, "status", r->note)
                                  : ct_msg(page->lang, CT_MSG_DIFF_NOT_LOOKED);
        return ct_msgf(page->lang, CT_MSG_DIFF_UNKNOWN_ROW, name,
                       r->before ? r->before : shown(page->lang, r->after),
                       r->before ? page->now : page->before, why, NULL);
    }
    return ct_msgf(page->lang, CT_MSG_DIFF_ROW, name, shown(page->lang, r->before),
                   shown(page->lang, r->after), NULL);
}

static void add_verdicts(CtDiffDoc *doc, const CtDiff *d, const CtDiffPage *page)
{
    CtDiffChapter *c = NULL;
    for (guint i = 0; i < d->verdicts->len; i++) {
        const CtDiffVerdict *v = d->verdicts->pdata[i];
        if (!c)
            c = chapter(doc, ct_msg(page->lang, CT_MSG_DIFF_VERDICTS));
        CtDiffItem *it = item(c, ct_term(page->lang, "check", ct_check_state_name(v->now->state)),
                              g_strdup(v->now->title));
        GString *text = g_string_new(v->now->text ? v->now->text : "");
        for (guint k = 0; k < v->rows->len && k < 3; k++) {
            g_autofree char *row = values_of(v->rows->pdata[k], page);
            g_string_append_printf(text, "%s%s", text->len ? "; " : "", row);
        }
        if (!v->better && v->now->fix)
            g_string_append_printf(text, "%s%s", text->len ? ". " : "", v->now->fix);
        it->text = ct_text_clean(text->str);
        it->run = v->better ? NULL : g_strdup(v->now->run);
        it->bad = v->now->state == CT_CHECK_FAIL;
        g_string_free(text, TRUE);
    }
}

static void add_rows(CtDiffDoc *doc, const CtDiff *d, const CtDiffPage *page)
{
    CtDiffChapter *known = NULL, *unknown = NULL;
    guint left[2] = {0};
    for (guint i = 0; i < d->rows->len; i++) {
        const CtDiffRow *r = d->rows->pdata[i];
        gboolean is_unknown = r->state == CT_DIFF_UNKNOWN;
        CtDiffChapter **c = is_unknown ? &unknown : &known;
        if (page->form == CT_DIFF_TEXT && !page->text.full && *c &&
            (*c)->items->len >= (is_unknown ? 5 : SHORT_ROWS)) {
            left[is_unknown]++;
            continue;
        }
        if (!*c)
            *c = chapter(doc, ct_msg(page->lang, is_unknown ? CT_MSG_DIFF_UNKNOWN
                                                            : CT_MSG_DIFF_CHANGES));
        CtDiffItem *it = item(*c, ct_term(page->lang, "difference", ct_diff_state_name(r->state)),
                              values_of(r, page));
        it->place = g_strdup(r->place_after ? r->place_after : r->place_before);
        it->bad = r->importance >= 80 && !is_unknown;
    }
    for (int i = 0; i < 2; i++) {
        g_autofree char *n = g_strdup_printf("%u", left[i]);
        if (left[i])
            item(i ? unknown : known, "", ct_msgf(page->lang, CT_MSG_DIFF_MORE, n, NULL));
    }
}

static char *render(CtDiffDoc *doc, const CtDiffPage *page)
{
    return page->form == CT_DIFF_MARKDOWN ? ct_diff_doc_markdown(doc)
           : page->form == CT_DIFF_HTML   ? ct_diff_doc_html(doc, page->lang)
                                          : ct_diff_doc_text(doc, page);
}

char *ct_diff_report(const CtDiff *d, const CtDiffPage *page)
{
    if (page->form == CT_DIFF_JSON)
        return ct_diff_json(d, page);
    CtDiffDoc doc = {.chapters = g_ptr_array_new_with_free_func(chapter_free)};
    g_autofree char *n = g_strdup_printf("%u", d->rows->len - d->unknown);
    g_autofree char *unknown = g_strdup_printf("%u", d->unknown);
    g_autofree char *same = g_strdup_printf("%u", d->same);
    g_autofree char *hidden = g_strdup_printf("%u", d->hidden);
    doc.bad = ct_diff_matters(d);
    doc.title = ct_msgf(page->lang,
                        d->foreign   ? CT_MSG_DIFF_FOREIGN
                        : d->nothing ? CT_MSG_DIFF_NOTHING
                        : doc.bad    ? CT_MSG_DIFF_DIFFERS
                                     : CT_MSG_DIFF_SAME,
                        page->before, page->now, NULL);
    doc.sum = d->foreign ? g_strdup("")
                         : ct_msgf(page->lang, CT_MSG_DIFF_SUM, n, same, hidden, unknown, NULL);
    if (!d->nothing)
        add_verdicts(&doc, d, page);
    add_rows(&doc, d, page);
    char *out = render(&doc, page);
    doc_clear(&doc);
    return out;
}

/* ---- groups ---- */

static char *outliers_of(const CtGroupRow *r, const char *const *names, CtLang lang)
{
    GString *out = g_string_new(NULL);
    for (guint i = 0; i < r->outliers->len && i < 12; i++) {
        const CtOutlier *x = r->outliers->pdata[i];
        g_string_append_printf(out, "%s%s: %s", i ? "; " : "", names[x->index],
                               x->unknown ? ct_msg(lang, CT_MSG_DIFF_NOT_LOOKED)
                                          : shown(lang, x->value));
    }
    char *clean = ct_text_clean(out->str);
    g_string_free(out, TRUE);
    return clean;
}

char *ct_diff_group_report(const GPtrArray *rows, const char *const *names, guint n,
                           const CtDiffPage *page)
{
    if (page->form == CT_DIFF_JSON)
        return ct_diff_group_json(rows, names, n);
    CtDiffDoc doc = {.chapters = g_ptr_array_new_with_free_func(chapter_free)};
    g_autofree char *states = g_strdup_printf("%u", n), *count = g_strdup_printf("%u", rows->len);
    CtDiffChapter *c = NULL;
    doc.bad = rows->len > 0;
    doc.title = ct_msgf(page->lang, CT_MSG_DIFF_GROUP, states, NULL);
    doc.sum = ct_msgf(page->lang, CT_MSG_DIFF_GROUP_SUM, count, NULL);
    for (guint i = 0; i < rows->len; i++) {
        const CtGroupRow *r = rows->pdata[i];
        if (page->form == CT_DIFF_TEXT && !page->text.full && i >= SHORT_ROWS)
            break;
        if (!c)
            c = chapter(&doc, ct_msg(page->lang, CT_MSG_DIFF_OUTLIERS));
        g_autofree char *share = g_strdup_printf("%u/%u", r->agree, r->known);
        g_autofree char *name = name_of(r->subject, r->key);
        CtDiffItem *it = item(c, share, ct_msgf(page->lang, r->tie ? CT_MSG_DIFF_TIE_ROW
                                                                   : CT_MSG_DIFF_MAJORITY,
                                                name, shown(page->lang, r->majority), NULL));
        it->text = outliers_of(r, names, page->lang);
        it->bad = r->importance >= 80;
    }
    char *out = render(&doc, page);
    doc_clear(&doc);
    return out;
}
