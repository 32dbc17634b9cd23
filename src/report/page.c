/* SPDX-License-Identifier: Apache-2.0 */
#include "report/page.h"

#include "report/layout.h"

static const char *const inks[] = {
    [CT_INK_PLAIN] = "",       [CT_INK_BOLD] = "\033[1m", [CT_INK_DIM] = "\033[2m",
    [CT_INK_GOOD] = "\033[32m", [CT_INK_BAD] = "\033[31m", [CT_INK_PLACE] = "\033[36m",
};

void ct_page_init(CtPage *page, CtLang lang, guint columns, gboolean colour)
{
    static const CtMsg labels[] = {CT_MSG_CAUSE,   CT_MSG_SURE, CT_MSG_DO_NOW, CT_MSG_FOR,
                                   CT_MSG_AGAINST, CT_MSG_NEXT, CT_MSG_MISSING, CT_MSG_UNREAD};
    *page = (CtPage){.out = g_string_new(NULL), .lang = lang, .columns = columns,
                     .colour = colour};
    for (gsize i = 0; i < G_N_ELEMENTS(labels); i++)
        page->label = MAX(page->label, ct_text_width(ct_msg(lang, labels[i])) + 1);
}

char *ct_page_end(CtPage *page)
{
    return g_string_free(g_steal_pointer(&page->out), FALSE);
}

static void put(CtPage *page, CtInk ink, const char *text)
{
    gboolean inked = page->colour && ink != CT_INK_PLAIN && *text;
    if (inked)
        g_string_append(page->out, inks[ink]);
    g_string_append(page->out, text);
    if (inked)
        g_string_append(page->out, "\033[0m");
}

static void end_line(CtPage *page)
{
    while (page->out->len && page->out->str[page->out->len - 1] == ' ')
        g_string_truncate(page->out, page->out->len - 1);
    g_string_append_c(page->out, '\n');
    page->lines++;
}

void ct_page_blank(CtPage *page)
{
    end_line(page);
}

void ct_page_heading(CtPage *page, const char *text)
{
    put(page, CT_INK_BOLD, text);
    end_line(page);
}

static void put_label(CtPage *page, const char *label)
{
    guint width = ct_text_width(label);
    put(page, CT_INK_BOLD, label);
    ct_text_pad(page->out, width < page->label ? page->label - width : 1);
}

void ct_page_item(CtPage *page, const char *label, const char *mark, guint mark_width, CtInk ink,
                  const char *text, guint max)
{
    guint wide = ct_text_width(label) + 1; /* a label may be wider than its column */
    guint indent = MAX(page->label, wide) + (mark_width ? mark_width + 1 : 0);
    guint room = page->columns > indent + 10 ? page->columns - indent : 10;
    g_autoptr(GPtrArray) lines = ct_text_wrap(text, room, max);
    for (guint i = 0; i < lines->len; i++) {
        put_label(page, i == 0 ? label : "");
        if (i)
            ct_text_pad(page->out, MAX(page->label, wide) - page->label);
        if (mark_width) {
            const char *shown = i == 0 ? mark : "";
            put(page, CT_INK_PLACE, shown);
            ct_text_pad(page->out, mark_width + 1 - MIN(mark_width, ct_text_width(shown)));
        }
        put(page, ink, g_ptr_array_index(lines, i));
        end_line(page);
    }
}

void ct_page_text(CtPage *page, const char *label, CtInk ink, const char *text, guint max)
{
    ct_page_item(page, label, "", 0, ink, text, max);
}

void ct_page_command(CtPage *page, const char *label, const char *before, const char *command)
{
    guint indent = page->label + ct_text_width(before);
    g_autoptr(GPtrArray) lines = ct_text_wrap_command(
        command, page->columns > indent + 20 ? page->columns - indent : 20);
    for (guint i = 0; i < lines->len; i++) {
        const char *line = g_ptr_array_index(lines, i);
        gboolean at_edge = *line == '\r';
        if (!at_edge)
            put_label(page, i == 0 ? label : "");
        if (i == 0)
            g_string_append(page->out, before);
        else if (!at_edge)
            ct_text_pad(page->out, ct_text_width(before));
        put(page, CT_INK_BOLD, at_edge ? line + 1 : line);
        end_line(page);
    }
}
