/* SPDX-License-Identifier: Apache-2.0 */
/* A diff laid out: for a terminal, for a ticket, as a page. */
#include <string.h>

#include "report/diff-private.h"
#include "report/layout.h"
#include "report/page.h"

char *ct_diff_doc_text(const CtDiffDoc *doc, const CtDiffPage *page)
{
    CtPage p;
    ct_page_init(&p, page->lang, page->text.columns ? page->text.columns : 80, page->text.colour);
    for (guint i = 0; i < doc->chapters->len; i++) {
        const CtDiffChapter *c = doc->chapters->pdata[i];
        for (guint k = 0; k < c->items->len; k++)
            p.label = MAX(p.label, ct_text_width(((CtDiffItem *)c->items->pdata[k])->mark) + 1);
    }
    ct_page_heading(&p, doc->title);
    ct_page_text(&p, "", CT_INK_DIM, doc->sum, 0);
    for (guint i = 0; i < doc->chapters->len; i++) {
        const CtDiffChapter *c = doc->chapters->pdata[i];
        ct_page_blank(&p);
        ct_page_heading(&p, c->title);
        for (guint k = 0; k < c->items->len; k++) {
            const CtDiffItem *it = c->items->pdata[k];
            ct_page_text(&p, it->mark, it->bad ? CT_INK_BAD : CT_INK_PLAIN, it->head,
                         page->text.full ? 0 : 3);
            if (it->text && *it->text)
                ct_page_text(&p, "", CT_INK_PLAIN, it->text, page->text.full ? 0 : 6);
            if (page->text.full && it->place)
                ct_page_text(&p, "", CT_INK_PLACE, it->place, 1);
            if (it->run && *it->run)
                ct_page_command(&p, "", "$ ", it->run);
        }
    }
    return ct_page_end(&p);
}

static void md(GString *out, const char *text)
{
    for (const char *q = text; *q; q++) {
        if (strchr("\\`*_[]<>|#~", *q))
            g_string_append_c(out, '\\');
        g_string_append_c(out, *q == '\n' ? ' ' : *q);
    }
}

char *ct_diff_doc_markdown(const CtDiffDoc *doc)
{
    GString *out = g_string_new("## ");
    md(out, doc->title);
    g_string_append(out, "\n\n");
    md(out, doc->sum);
    g_string_append_c(out, '\n');
    for (guint i = 0; i < doc->chapters->len; i++) {
        const CtDiffChapter *c = doc->chapters->pdata[i];
        g_string_append(out, "\n### ");
        md(out, c->title);
        g_string_append(out, "\n\n");
        for (guint k = 0; k < c->items->len; k++) {
            const CtDiffItem *it = c->items->pdata[k];
            g_string_append(out, "- ");
            if (*it->mark) {
                g_string_append(out, "**");
                md(out, it->mark);
                g_string_append(out, "** ");
            }
            md(out, it->head);
            if (it->text && *it->text) {
                g_string_append(out, "  \n  ");
                md(out, it->text);
            }
            if (it->run && *it->run)
                g_string_append_printf(out, "\n\n      %s\n", it->run);
            g_string_append_c(out, '\n');
        }
    }
    return g_string_free(out, FALSE);
}

static void cell(GString *out, const char *tag, const char *class, const char *text)
{
    g_autofree char *safe = g_markup_escape_text(text ? text : "", -1);
    g_string_append_printf(out, "<%s%s>%s</%s>", tag, class, safe, tag);
}

char *ct_diff_doc_html(const CtDiffDoc *doc, CtLang lang)
{
    GString *out = g_string_new("<!DOCTYPE html>\n");
    g_string_append_printf(
        out,
        "<html lang=\"%s\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
        "content=\"width=device-width\"><style>body{font:16px/1.5 system-ui,sans-serif;"
        "max-width:60rem;margin:2rem auto;padding:0 1rem}table{border-collapse:collapse;width:100%%}"
        "td{border-bottom:1px solid #ccc;padding:.25rem .6rem .25rem 0;vertical-align:top}"
        "pre{white-space:pre-wrap}.fault{color:#b00020}.mark{white-space:nowrap}</style>",
        lang == CT_LANG_ZH ? "zh-Hans" : "en");
    cell(out, "title", "", doc->title);
    g_string_append(out, "</head><body>\n");
    cell(out, "h1", doc->bad ? " class=\"fault\"" : "", doc->title);
    cell(out, "p", "", doc->sum);
    for (guint i = 0; i < doc->chapters->len; i++) {
        const CtDiffChapter *c = doc->chapters->pdata[i];
        cell(out, "h2", "", c->title);
        g_string_append(out, "\n<table>\n");
        for (guint k = 0; k < c->items->len; k++) {
            const CtDiffItem *it = c->items->pdata[k];
            g_string_append(out, "<tr>");
            cell(out, "td", " class=\"mark\"", it->mark);
            g_string_append(out, "<td>");
            cell(out, "span", it->bad ? " class=\"fault\"" : "", it->head);
            if (it->text && *it->text)
                cell(out, "div", "", it->text);
            if (it->run && *it->run)
                cell(out, "pre", "", it->run);
            g_string_append(out, "</td>");
            cell(out, "td", "", it->place);
            g_string_append(out, "</tr>\n");
        }
        g_string_append(out, "</table>\n");
    }
    g_string_append(out, "</body></html>\n");
    return g_string_free(out, FALSE);
}
