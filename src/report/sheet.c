/* SPDX-License-Identifier: Apache-2.0 */
#include "report/sheet.h"

#include <string.h>

#include "report/layout.h"
#include "report/report-private.h"

static void block_free(gpointer data)
{
    CtSheetBlock *b = data;
    g_free(b->text);
    g_strfreev(b->names);
    if (b->rows)
        g_ptr_array_unref(b->rows);
    g_free(b);
}

CtSheet *ct_sheet_new(CtLang lang, const char *title)
{
    CtSheet *s = g_new0(CtSheet, 1);
    s->lang = lang;
    s->title = ct_text_clean(title);
    s->blocks = g_ptr_array_new_with_free_func(block_free);
    return s;
}

void ct_sheet_free(CtSheet *s)
{
    if (!s)
        return;
    g_free(s->title);
    g_free(s->verdict);
    g_ptr_array_unref(s->blocks);
    g_free(s);
}

/* Lines of code are kept apart; all else is one line without control characters. */
static char *clean(CtSheetKind kind, const char *text)
{
    if (kind != CT_SHEET_CODE)
        return ct_text_clean(text);
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (guint i = 0; lines[i]; i++) {
        char *line = ct_text_clean(lines[i]);
        g_free(lines[i]);
        lines[i] = line;
    }
    return g_strchomp(g_strjoinv("\n", lines));
}

void ct_sheet_add(CtSheet *s, CtSheetKind kind, const char *text)
{
    CtSheetBlock *b = g_new0(CtSheetBlock, 1);
    b->kind = kind;
    b->text = clean(kind, text);
    g_ptr_array_add(s->blocks, b);
}

void ct_sheet_take(CtSheet *s, CtSheetKind kind, char *text)
{
    ct_sheet_add(s, kind, text);
    g_free(text);
}

static CtSheetBlock *last(const CtSheet *s)
{
    return s->blocks->pdata[s->blocks->len - 1];
}

void ct_sheet_mark_bad(CtSheet *s)
{
    last(s)->bad = TRUE;
}

static char **clean_cells(guint n, const char *const *cells)
{
    char **out = g_new0(char *, n + 1);
    for (guint i = 0; i < n; i++)
        out[i] = ct_text_clean(cells[i]);
    return out;
}

void ct_sheet_table(CtSheet *s, guint n_columns, const char *const *names)
{
    CtSheetBlock *b = g_new0(CtSheetBlock, 1);
    b->kind = CT_SHEET_TABLE;
    b->n_columns = n_columns;
    b->names = clean_cells(n_columns, names);
    b->rows = g_ptr_array_new_with_free_func((GDestroyNotify)g_strfreev);
    g_ptr_array_add(s->blocks, b);
}

void ct_sheet_row(CtSheet *s, const char *const *cells)
{
    CtSheetBlock *b = last(s);
    g_ptr_array_add(b->rows, clean_cells(b->n_columns, cells));
}

static void markdown_row(GString *out, char **cells)
{
    g_string_append_c(out, '|');
    for (; *cells; cells++) {
        g_string_append_c(out, ' ');
        ct_markdown_escape(out, *cells);
        g_string_append(out, " |");
    }
    g_string_append_c(out, '\n');
}

/* A fence that is longer than any run of backticks within. */
static void markdown_code(GString *out, const char *text)
{
    gsize run = 0, longest = 2;
    for (const char *p = text; *p; p++) {
        run = *p == '`' ? run + 1 : 0;
        longest = MAX(longest, run);
    }
    g_autofree char *fence = g_strnfill(longest + 1, '`');
    g_string_append_printf(out, "\n%s\n%s\n%s\n\n", fence, text, fence);
}

static void markdown_block(GString *out, const CtSheetBlock *b)
{
    static const char *const begin[] = {
        [CT_SHEET_HEADING] = "\n### ", [CT_SHEET_TEXT] = "\n", [CT_SHEET_ITEM] = "- ",
        [CT_SHEET_SUB] = "  - ",       [CT_SHEET_CODE] = "",   [CT_SHEET_TABLE] = "\n"};
    if (b->kind == CT_SHEET_CODE) {
        markdown_code(out, b->text);
        return;
    }
    g_string_append(out, begin[b->kind]);
    if (b->kind == CT_SHEET_TABLE) {
        markdown_row(out, b->names);
        g_string_append_c(out, '|');
        for (guint i = 0; i < b->n_columns; i++)
            g_string_append(out, " --- |");
        g_string_append_c(out, '\n');
        for (guint i = 0; i < b->rows->len; i++)
            markdown_row(out, b->rows->pdata[i]);
        return;
    }
    if (b->bad)
        g_string_append(out, "**");
    ct_markdown_escape(out, b->text);
    g_string_append(out, b->bad ? "**\n" : "\n");
    if (b->kind == CT_SHEET_HEADING)
        g_string_append_c(out, '\n');
}

char *ct_sheet_markdown(const CtSheet *s)
{
    GString *out = g_string_new("## ");
    ct_markdown_escape(out, s->title);
    if (s->verdict) {
        g_string_append(out, "\n\n**");
        ct_markdown_escape(out, s->verdict);
        g_string_append(out, "**");
    }
    g_string_append_c(out, '\n');
    for (guint i = 0; i < s->blocks->len; i++)
        markdown_block(out, s->blocks->pdata[i]);
    return g_string_free(out, FALSE);
}

static void tag(GString *out, const char *name, const char *attributes, const char *text)
{
    g_autofree char *safe = g_markup_escape_text(text, -1);
    g_string_append_printf(out, "<%s%s>%s</%s>", name, attributes, safe, name);
}

static void html_row(GString *out, const char *cell, char **cells)
{
    g_string_append(out, "<tr>");
    for (; *cells; cells++)
        tag(out, cell, "", *cells);
    g_string_append(out, "</tr>\n");
}

static void html_block(GString *out, const CtSheetBlock *b)
{
    static const char *const names[] = {
        [CT_SHEET_HEADING] = "h2", [CT_SHEET_TEXT] = "p",   [CT_SHEET_ITEM] = "li",
        [CT_SHEET_SUB] = "div",    [CT_SHEET_CODE] = "pre", [CT_SHEET_TABLE] = "table"};
    if (b->kind != CT_SHEET_TABLE) {
        tag(out, names[b->kind], b->bad ? " class=\"fault\"" : "", b->text);
        g_string_append_c(out, '\n');
        return;
    }
    g_string_append(out, "<table>\n");
    html_row(out, "th", b->names);
    for (guint i = 0; i < b->rows->len; i++)
        html_row(out, "td", b->rows->pdata[i]);
    g_string_append(out, "</table>\n");
}

static gboolean in_list(const CtSheetBlock *b)
{
    return b->kind == CT_SHEET_ITEM || b->kind == CT_SHEET_SUB;
}

char *ct_sheet_html(const CtSheet *s)
{
    GString *out = g_string_new(NULL);
    gboolean list = FALSE;
    ct_html_begin(out, s->lang, s->title);
    tag(out, "h1", s->bad ? " class=\"fault\"" : " class=\"ok\"", s->title);
    if (s->verdict)
        tag(out, "p", "", s->verdict);
    g_string_append_c(out, '\n');
    for (guint i = 0; i < s->blocks->len; i++) {
        const CtSheetBlock *b = s->blocks->pdata[i];
        if (in_list(b) != list)
            g_string_append(out, list ? "</ul>\n" : "<ul>\n");
        list = in_list(b);
        html_block(out, b);
    }
    g_string_append(out, list ? "</ul>\n</body></html>\n" : "</body></html>\n");
    return g_string_free(out, FALSE);
}
