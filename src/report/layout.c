/* SPDX-License-Identifier: Apache-2.0 */
#include "report/layout.h"

#include <string.h>

static guint char_width(gunichar c)
{
    if (g_unichar_iszerowidth(c))
        return 0;
    return g_unichar_iswide(c) ? 2 : 1;
}

guint ct_text_width(const char *text)
{
    guint width = 0;
    for (const char *p = text; *p; p = g_utf8_next_char(p))
        width += char_width(g_utf8_get_char(p));
    return width;
}

static gboolean turns_direction(gunichar c)
{
    return (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) || c == 0x200e ||
           c == 0x200f || c == 0x061c || c == 0x2028 || c == 0x2029;
}

char *ct_text_clean(const char *text)
{
    g_autofree char *valid = g_utf8_make_valid(text ? text : "", -1);
    GString *out = g_string_sized_new(strlen(valid));
    for (const char *p = valid; *p; p = g_utf8_next_char(p)) {
        gunichar c = g_utf8_get_char(p);
        if (c == '\t' || c == '\n' || c == '\r')
            g_string_append_c(out, ' ');
        else if (!g_unichar_iscntrl(c) && !turns_direction(c))
            g_string_append_unichar(out, c);
    }
    return g_string_free(out, FALSE);
}

/* Chinese typography: these do not begin a line ... */
static gboolean closes(gunichar c)
{
    static const gunichar list[] = {
        0x3001 /* 、 */, 0x3002 /* 。 */, 0xff0c /* ， */, 0xff1b /* ； */, 0xff1a /* ： */,
        0xff1f /* ？ */, 0xff01 /* ！ */, 0xff09 /* ） */, 0x3011 /* 】 */, 0x300b /* 》 */,
        0x300d /* 」 */, 0x201d /* ” */,  0x2019 /* ’ */,  ',', '.', ';', ':', '?', '!', ')', ']',
        '}', '%'};
    for (gsize i = 0; i < G_N_ELEMENTS(list); i++)
        if (list[i] == c)
            return TRUE;
    return FALSE;
}

/* ... and these do not end one. */
static gboolean opens(gunichar c)
{
    return c == 0xff08 /* （ */ || c == 0x3010 /* 【 */ || c == 0x300a /* 《 */ ||
           c == 0x300c /* 「 */ || c == 0x201c /* “ */ || c == 0x2018 /* ‘ */ || c == '(' ||
           c == '[' || c == '{';
}

/* May a line end between these two characters? */
static gboolean may_break(gunichar before, gunichar after)
{
    if (closes(after) || opens(before))
        return FALSE;
    return g_unichar_iswide(before) || g_unichar_iswide(after);
}

/* Where the line that starts at `text` ends; *out_next is where the following one begins. */
static const char *line_end(const char *text, guint width, const char **out_next)
{
    const char *best = NULL, *best_next = NULL;
    guint used = 0;
    gunichar before = 0;
    const char *p = text;
    for (; *p; p = g_utf8_next_char(p)) {
        gunichar c = g_utf8_get_char(p);
        if (c == ' ') {
            best = p;
            best_next = p + 1;
        } else if (before && before != ' ' && may_break(before, c)) {
            best = best_next = p;
        }
        if (used + char_width(c) > width)
            break;
        used += char_width(c);
        before = c;
    }
    if (!*p)
        best = best_next = p;
    else if (!best || best == text) /* one long word, or a width that holds nothing */
        best = best_next = p > text ? p : g_utf8_next_char(text);
    while (*best_next == ' ')
        best_next++;
    *out_next = best_next;
    return best;
}

char *ct_text_fit(const char *text, guint width)
{
    if (ct_text_width(text) <= width)
        return g_strdup(text);
    guint dots = MIN(width, 3), used = 0;
    const char *p = text;
    for (; *p; p = g_utf8_next_char(p)) {
        guint w = char_width(g_utf8_get_char(p));
        if (used + w > width - dots)
            break;
        used += w;
    }
    while (p > text && p[-1] == ' ')
        p--;
    return g_strdup_printf("%.*s%.*s", (int)(p - text), text, (int)dots, "...");
}

char *ct_text_fit_left(const char *text, guint width)
{
    guint have = ct_text_width(text);
    if (have <= width)
        return g_strdup(text);
    guint dots = MIN(width, 3);
    const char *p = text;
    while (*p && have > width - dots) {
        have -= char_width(g_utf8_get_char(p));
        p = g_utf8_next_char(p);
    }
    return g_strdup_printf("%.*s%s", (int)dots, "...", p);
}

GPtrArray *ct_text_wrap(const char *text, guint width, guint max)
{
    GPtrArray *lines = g_ptr_array_new_with_free_func(g_free);
    width = MAX(width, 4);
    while (*text == ' ')
        text++;
    do {
        if (max && lines->len + 1 == max) {
            g_ptr_array_add(lines, ct_text_fit(text, width));
            break;
        }
        const char *next = text;
        const char *end = line_end(text, width, &next);
        g_ptr_array_add(lines, g_strndup(text, (gsize)(end - text)));
        text = next;
    } while (*text);
    return lines;
}

/* The next blank at or after `p` that stands outside quotes, or the end. A placeholder such as
 * "<the program>" counts as quoted. */
static const char *next_blank(const char *p)
{
    char quote = 0;
    for (; *p; p++) {
        if (quote == '"' && *p == '\\' && p[1])
            p++;
        else if (quote)
            quote = *p == quote ? 0 : quote;
        else if (*p == '\'' || *p == '"')
            quote = *p;
        else if (*p == '<' && g_ascii_isalpha(p[1]) && strchr(p, '>'))
            quote = '>';
        else if (*p == '\\' && p[1])
            p++;
        else if (*p == ' ')
            return p;
    }
    return p;
}

/* The quote that is open after `len` bytes of a word, 0 for none. */
static char open_quote(const char *word, gsize len)
{
    char quote = 0;
    for (gsize i = 0; i < len; i++) {
        if (quote == '\'')
            quote = word[i] == '\'' ? 0 : quote;
        else if (word[i] == '\\')
            i++;
        else if (quote)
            quote = word[i] == '"' ? 0 : quote;
        else if (word[i] == '\'' || word[i] == '"')
            quote = word[i];
    }
    return quote;
}

/* The part of a word that fits into `room`, up to a comma, bar or blank where there is one; never
 * after a backslash. */
static gsize cut_of_word(const char *word, guint room)
{
    const char *cut = word, *good = NULL;
    for (guint used = 0; *cut; cut = g_utf8_next_char(cut)) {
        used += char_width(g_utf8_get_char(cut));
        if (used > room)
            break;
        if (*cut == ',' || *cut == '|' || *cut == ' ' || *cut == ';')
            good = cut + 1;
    }
    if (good && good - word > 4)
        cut = good;
    while (cut > word + 1 && cut[-1] == '\\')
        cut--;
    return cut > word ? (gsize)(cut - word) : 1;
}

/* A word that is wider than a line is broken by the shell's own means: a backslash at the very end
 * of a line and the next line from the left edge on. That holds within double quotes and within
 * $() too; single quotes are closed and opened again. Single quotes of a command within the word are
 * of a level that is not followed here: such a word is left whole. */
static void add_broken_word(GPtrArray *lines, GString *line, const char *word, guint width)
{
    const char *p = word;
    gboolean nested = (strstr(word, "$(") && strchr(word, '\'')) || strchr(word, '`');
    while (*p && !nested && ct_text_width(line->str) + ct_text_width(p) > width) {
        guint used = MIN(width / 2, ct_text_width(line->str));
        gsize cut = cut_of_word(p, width - used - 2); /* room for a quote and the backslash */
        char quote = open_quote(word, (gsize)(p - word) + cut);
        const char *single = quote == '\'' ? "'" : "";
        g_string_append_len(line, p, (gssize)cut);
        g_ptr_array_add(lines, g_strdup_printf("%s%s\\", line->str, single));
        g_string_printf(line, "\r%s", single);
        p += cut;
    }
    g_string_append(line, p);
}

GPtrArray *ct_text_wrap_command(const char *command, guint width)
{
    GPtrArray *lines = g_ptr_array_new_with_free_func(g_free);
    if (ct_text_width(command) <= width) {
        g_ptr_array_add(lines, g_strdup(command));
        return lines;
    }
    GString *line = g_string_new(NULL);
    for (const char *p = command; *p;) {
        const char *end = next_blank(p);
        g_autofree char *word = g_strndup(p, (gsize)(end - p));
        guint more = ct_text_width(word) + (line->len ? 1 : 0);
        if (line->len && ct_text_width(line->str) + more + 2 > width) {
            g_ptr_array_add(lines, g_strconcat(line->str, " \\", NULL));
            g_string_assign(line, "  ");
        } else if (line->len) {
            g_string_append_c(line, ' ');
        }
        add_broken_word(lines, line, word, width);
        for (p = end; *p == ' ';)
            p++;
    }
    g_ptr_array_add(lines, g_string_free(line, FALSE));
    return lines;
}

void ct_text_pad(GString *out, guint columns)
{
    for (guint i = 0; i < columns; i++)
        g_string_append_c(out, ' ');
}
