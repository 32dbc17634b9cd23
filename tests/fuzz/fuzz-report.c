/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the bytes of a file to every page that a person or a program gets. Whatever the file holds,
 * no control character reaches a terminal, no line is wider than the page, the short page fits its
 * rows, and the JSON can be read back. The first two bytes choose the size of the page.
 */
#include <glib.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analyzer.h"
#include "parse/frame/parse.h"
#include "report/layout.h"
#include "report/report.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void must(gboolean holds)
{
    if (!holds)
        abort();
}

static void check_page(const char *page, guint columns, guint rows)
{
    g_auto(GStrv) lines = g_strsplit(page, "\n", -1);
    must(g_utf8_validate(page, -1, NULL));
    must(rows == 0 || g_strv_length(lines) <= rows);
    for (guint i = 0; lines[i]; i++) {
        /* A command within a command may be too long to break. */
        must(ct_text_width(lines[i]) <= columns || strstr(lines[i], "$(") || strchr(lines[i], '`'));
        for (const char *p = lines[i]; *p; p++)
            must((unsigned char)*p >= 0x20 && *p != 0x7f);
    }
}

static void check_wrapping(const unsigned char *data, size_t size, guint columns)
{
    g_autofree char *text = g_strndup((const char *)data, size);
    g_autofree char *clean = ct_text_clean(text);
    g_autoptr(GPtrArray) wrapped = ct_text_wrap(clean, columns, 0);
    g_autoptr(GPtrArray) command = ct_text_wrap_command(clean, columns);
    g_autofree char *fit = ct_text_fit(clean, columns), *left = ct_text_fit_left(clean, columns);
    for (guint i = 0; i < wrapped->len; i++)
        must(ct_text_width(g_ptr_array_index(wrapped, i)) <= columns);
    must(command->len > 0 && ct_text_width(fit) <= columns && ct_text_width(left) <= columns);
}

static void render(CtEvidence *ev, const CtKb *kb, CtLang lang, guint columns, guint rows)
{
    g_autoptr(CtDiagnosis) d = ct_diagnose(ev, kb, ct_lang_name(lang), NULL);
    g_autoptr(CtReport) r = ct_report_new(ev, d, kb, lang);
    g_autofree char *page = ct_report_text(r, &(CtTextOptions){.columns = columns, .rows = rows});
    g_autofree char *full = ct_report_text(r, &(CtTextOptions){.columns = 80, .full = TRUE});
    g_autofree char *md = ct_report_markdown(r), *html = ct_report_html(r);
    g_autofree char *json = ct_report_json(r);
    check_page(page, columns, columns == 80 && rows >= 24 ? rows : 0);
    check_page(full, 80, 0);
    json_t *o = json_loads(json, 0, NULL);
    must(o != NULL && *md && *html);
    json_decref(o);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    static CtKb *kb;
    if (!kb)
        kb = ct_kb_open(NULL);
    guint columns = size > 1 && data[0] >= 0x80 ? 40 + data[0] % 41 : 80;
    guint rows = size > 1 && data[1] >= 0x80 ? 8 + data[1] % 40 : 24;
    g_autoptr(CtEvidence) ev = ct_evidence_new(NULL);
    g_autoptr(CtParse) parse = ct_parse_new(ev, kb, NULL);
    ct_parse_memory(parse, "in\033[31m/\xe2\x80\xae" "put", (const char *)data, size);
    ct_parse_finish(parse);
    ct_analyze(ev);
    render(ev, kb, CT_LANG_EN, columns, rows);
    render(ev, kb, CT_LANG_ZH, columns, rows);
    check_wrapping(data, MIN(size, 4096), columns);
    return 0;
}
