/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/check-print.h"

#include <jansson.h>
#include <string.h>

#include "report/layout.h"

#define STATE_WIDTH 8u
#define TITLE_WIDTH 26u
#define LEAST_TEXT 24u

static const char *state_word(CtLang lang, CtCheckState state)
{
    static const CtMsg words[] = {CT_MSG_CHECK_PASS, CT_MSG_CHECK_WARN, CT_MSG_CHECK_FAIL,
                                  CT_MSG_CHECK_UNKNOWN};
    return ct_msg(lang, words[state]);
}

static const char *ink(CtCheckState state)
{
    static const char *const inks[] = {"\033[32m", "\033[33m", "\033[1;31m", "\033[2m"};
    return inks[state];
}

static void pad_to(GString *out, guint have, guint want)
{
    for (; have < want; have++)
        g_string_append_c(out, ' ');
}

/* `text` beside what stands on the line already, wrapped below itself. */
static void wrapped(GString *out, const char *text, guint indent, guint columns)
{
    guint width = columns > indent + LEAST_TEXT ? columns - indent : LEAST_TEXT;
    g_autoptr(GPtrArray) lines = ct_text_wrap(text, width, 0);
    for (guint i = 0; i < lines->len; i++) {
        if (i)
            pad_to(out, 0, indent);
        g_string_append_printf(out, "%s\n", (const char *)g_ptr_array_index(lines, i));
    }
    if (!lines->len)
        g_string_append_c(out, '\n');
}

static void mark(GString *out, const CtCheckLine *l, const CtCheckPrint *p)
{
    const char *word = state_word(p->lang, l->state);
    g_string_append(out, "  ");
    if (p->colour)
        g_string_append(out, ink(l->state));
    g_string_append(out, word);
    if (p->colour)
        g_string_append(out, "\033[0m");
    pad_to(out, ct_text_width(word), STATE_WIDTH);
}

static void places(GString *out, const CtCheckLine *l, guint indent, guint columns, guint most)
{
    for (guint i = 0; i < l->evidence->len && i < most; i++) {
        const CtCitation *c = g_ptr_array_index(l->evidence, i);
        if (!c->source)
            continue;
        g_autofree char *where = c->line ? g_strdup_printf("%s:%u", c->source, c->line)
                                         : g_strdup(c->source);
        g_autofree char *text = g_strdup_printf("(%s%s%s)", where, i && c->text ? " " : "",
                                                i && c->text ? c->text : "");
        pad_to(out, 0, indent);
        wrapped(out, text, indent, columns);
    }
}

static void one(GString *out, const CtCheckLine *l, const CtCheckPrint *p, guint columns)
{
    guint indent = 2 + STATE_WIDTH + TITLE_WIDTH;
    gboolean trouble = l->state == CT_CHECK_FAIL || l->state == CT_CHECK_WARN;
    mark(out, l, p);
    g_autofree char *title = ct_text_fit(l->title, TITLE_WIDTH - 1);
    g_string_append(out, title);
    pad_to(out, ct_text_width(title), TITLE_WIDTH);
    g_autofree char *clean = ct_text_clean(l->text);
    wrapped(out, clean, indent, columns);
    if (trouble || p->full)
        places(out, l, indent, columns, p->full ? 3 : 1);
    if (trouble && l->fix) {
        g_autofree char *fix = g_strdup_printf("%s %s", ct_msg(p->lang, CT_MSG_CHECK_FIX), l->fix);
        pad_to(out, 0, indent);
        wrapped(out, fix, indent, columns);
    }
    if (trouble && l->run) {
        /* To be copied as it stands, so it is moved to the left rather than broken. */
        guint width = ct_text_width(l->run) + 2;
        pad_to(out, 0, width + indent <= columns ? indent : width < columns ? columns - width : 0);
        g_string_append_printf(out, "$ %s\n", l->run);
    }
}

static char *counted(const CtCheckList *list, CtLang lang)
{
    char n[4][16];
    for (int i = 0; i < 4; i++)
        g_snprintf(n[i], sizeof n[i], "%u", list->count[i]);
    return ct_msgf(lang, CT_MSG_CHECK_HEAD, n[CT_CHECK_FAIL], n[CT_CHECK_WARN], n[CT_CHECK_PASS],
                   n[CT_CHECK_UNKNOWN], NULL);
}

static void first_to_mend(GString *out, const CtCheckList *list, const CtCheckPrint *p,
                          guint columns)
{
    const CtCheckLine *l = ct_check_first(list);
    if (!l || l->state != CT_CHECK_FAIL)
        return;
    g_autofree char *text = g_strdup_printf("%s %s: %s", ct_msg(p->lang, CT_MSG_CHECK_FIRST),
                                            l->title, l->text);
    wrapped(out, text, 0, columns);
}

char *ct_check_text(const CtCheckList *list, const CtCheckPrint *p)
{
    GString *out = g_string_new(NULL);
    guint columns = p->columns >= 40 ? p->columns : 80;
    if (list->no_device) {
        wrapped(out, ct_msg(p->lang, CT_MSG_CHECK_NO_DEVICE), 0, columns);
        return g_string_free(out, FALSE);
    }
    g_autofree char *head = counted(list, p->lang);
    g_string_append_printf(out, "%s\n", head);
    first_to_mend(out, list, p, columns);
    const char *layer = "";
    for (guint i = 0; i < list->lines->len; i++) {
        const CtCheckLine *l = g_ptr_array_index(list->lines, i);
        if (strcmp(layer, l->layer) != 0)
            g_string_append_printf(out, "\n%s\n", ct_term(p->lang, "layer", l->layer));
        layer = l->layer;
        one(out, l, p, columns);
    }
    return g_string_free(out, FALSE);
}

/* ---- JSON ---- */

static json_t *text_or_null(const char *text)
{
    g_autofree char *valid = text ? g_utf8_make_valid(text, -1) : NULL;
    return valid ? json_string(valid) : json_null();
}

static json_t *evidence_json(const CtCheckLine *l)
{
    json_t *all = json_array();
    for (guint i = 0; i < l->evidence->len; i++) {
        const CtCitation *c = g_ptr_array_index(l->evidence, i);
        json_array_append_new(all, json_pack("{s:o, s:i, s:o}", "source", text_or_null(c->source),
                                             "line", (int)c->line, "text", text_or_null(c->text)));
    }
    return all;
}

static json_t *line_json(const CtCheckLine *l)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o}", "check", l->id, "layer",
                     l->layer, "title", l->title, "state", ct_check_state_name(l->state), "text",
                     text_or_null(l->text), "cause", text_or_null(l->cause), "fix",
                     text_or_null(l->fix), "run", text_or_null(l->run), "evidence",
                     evidence_json(l));
}

char *ct_check_json(const CtCheckList *list, const CtDiagnosis *d)
{
    json_t *lines = json_array(), *causes = json_array();
    const CtCheckLine *first = ct_check_first(list);
    for (guint i = 0; !list->no_device && i < list->lines->len; i++)
        json_array_append_new(lines, line_json(g_ptr_array_index(list->lines, i)));
    for (guint i = 0; i < d->hypotheses->len; i++) {
        const CtHypothesis *h = g_ptr_array_index(d->hypotheses, i);
        json_array_append_new(causes, json_pack("{s:s, s:s, s:f}", "cause", h->cause, "layer",
                                                h->layer ? h->layer : "", "probability",
                                                h->probability));
    }
    json_t *top = json_pack("{s:s, s:b, s:o, s:{s:i, s:i, s:i, s:i}, s:o, s:o}", "schema",
                            "cutriage.check/1", "device", !list->no_device, "first",
                            first ? json_string(first->id) : json_null(), "counts", "fail",
                            (int)list->count[CT_CHECK_FAIL], "warn",
                            (int)list->count[CT_CHECK_WARN], "pass",
                            (int)list->count[CT_CHECK_PASS], "unknown",
                            (int)list->count[CT_CHECK_UNKNOWN], "checks", lines, "hypotheses",
                            causes);
    char *text = json_dumps(top, JSON_INDENT(1));
    char *out = g_strconcat(text, "\n", NULL);
    free(text);
    json_decref(top);
    return out;
}

/* ---- Markdown ---- */

/* A cell: no line breaks, no bars. */
static void cell(GString *out, const char *text)
{
    g_string_append(out, " ");
    for (const char *p = text ? text : ""; *p; p++) {
        if (*p == '|')
            g_string_append(out, "\\|");
        else
            g_string_append_c(out, *p == '\n' || *p == '\r' ? ' ' : *p);
    }
    g_string_append(out, " |");
}

char *ct_check_markdown(const CtCheckList *list, CtLang lang)
{
    GString *out = g_string_new(NULL);
    if (list->no_device) {
        g_string_append_printf(out, "%s\n", ct_msg(lang, CT_MSG_CHECK_NO_DEVICE));
        return g_string_free(out, FALSE);
    }
    g_autofree char *head = counted(list, lang);
    g_string_append_printf(out, "# %s\n\n| | | | | |\n|---|---|---|---|---|\n", head);
    for (guint i = 0; i < list->lines->len; i++) {
        const CtCheckLine *l = g_ptr_array_index(list->lines, i);
        gboolean trouble = l->state == CT_CHECK_FAIL || l->state == CT_CHECK_WARN;
        g_string_append_c(out, '|');
        cell(out, ct_term(lang, "layer", l->layer));
        cell(out, state_word(lang, l->state));
        cell(out, l->title);
        cell(out, l->text);
        cell(out, trouble ? l->run ? l->run : l->fix : "");
        g_string_append_c(out, '\n');
    }
    return g_string_free(out, FALSE);
}
