/* SPDX-License-Identifier: Apache-2.0 */
#include "parse/frame/json-line.h"

#include <string.h>

#define MAX_NESTING 64

typedef struct {
    const char *p, *end;
} Cursor;

static void blanks(Cursor *c)
{
    while (c->p < c->end && g_ascii_isspace(*c->p))
        c->p++;
}

/* At the opening quote; leaves the cursor behind the closing one. */
static gboolean string(Cursor *c, const char **out, gsize *out_len)
{
    const char *start = ++c->p;
    while (c->p < c->end && *c->p != '"')
        c->p += *c->p == '\\' && c->p + 1 < c->end ? 2 : 1;
    if (c->p > c->end)
        c->p = c->end;
    *out = start;
    *out_len = (gsize)(c->p - start);
    if (c->p >= c->end)
        return FALSE;
    c->p++;
    return TRUE;
}

/* Any other value, nested ones as one piece. */
static void value(Cursor *c, const char **out, gsize *out_len)
{
    const char *start = c->p, *ignored;
    gsize ignored_len;
    int depth = 0;
    while (c->p < c->end) {
        char ch = *c->p;
        if (ch == '"') {
            if (!string(c, &ignored, &ignored_len))
                break;
            continue;
        }
        if (ch == '{' || ch == '[')
            depth++;
        else if ((ch == '}' || ch == ']') && --depth < 0)
            break;
        else if (ch == ',' && depth == 0)
            break;
        if (depth > MAX_NESTING)
            break;
        c->p++;
        if (depth == 0 && (ch == '}' || ch == ']'))
            break;
    }
    *out = start;
    *out_len = (gsize)(c->p - start);
    while (*out_len > 0 && g_ascii_isspace((*out)[*out_len - 1]))
        (*out_len)--;
}

static void keep(CtJsonField *fields, guint n, const char *key, gsize key_len, const char *text,
                 gsize len, gboolean is_string)
{
    for (guint i = 0; i < n; i++) {
        if (!fields[i].found && strlen(fields[i].key) == key_len &&
            memcmp(fields[i].key, key, key_len) == 0) {
            fields[i].text = text;
            fields[i].len = len;
            fields[i].found = TRUE;
            fields[i].is_string = is_string;
            return;
        }
    }
}

gboolean ct_json_fields(const char *text, gsize len, CtJsonField *fields, guint n)
{
    Cursor c = {text, text + len};
    blanks(&c);
    if (c.p >= c.end || *c.p != '{')
        return FALSE;
    c.p++;
    for (;;) {
        const char *key, *v;
        gsize key_len, v_len;
        blanks(&c);
        if (c.p < c.end && *c.p == ',') {
            c.p++;
            blanks(&c);
        }
        if (c.p >= c.end || *c.p != '"' || !string(&c, &key, &key_len))
            return TRUE;
        blanks(&c);
        if (c.p >= c.end || *c.p != ':')
            return TRUE;
        c.p++;
        blanks(&c);
        if (c.p >= c.end)
            return TRUE;
        gboolean is_string = *c.p == '"';
        gboolean whole = TRUE;
        if (is_string)
            whole = string(&c, &v, &v_len);
        else
            value(&c, &v, &v_len);
        keep(fields, n, key, key_len, v, v_len, is_string);
        if (!whole)
            return TRUE;
    }
}

static gboolean hex4(const char *p, const char *end, guint32 *out)
{
    guint32 v = 0;
    if (end - p < 4)
        return FALSE;
    for (int i = 0; i < 4; i++) {
        int d = g_ascii_xdigit_value(p[i]);
        if (d < 0)
            return FALSE;
        v = v * 16 + (guint32)d;
    }
    *out = v;
    return TRUE;
}

/* At the "u" of an escape; returns how many bytes it took. */
static gsize unicode(const char *p, const char *end, GString *out)
{
    guint32 c, low;
    if (!hex4(p + 1, end, &c))
        return 1;
    gsize used = 5;
    if (c >= 0xd800 && c < 0xdc00 && end - p >= 11 && p[5] == '\\' && p[6] == 'u' &&
        hex4(p + 7, end, &low) && low >= 0xdc00 && low < 0xe000) {
        c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
        used = 11;
    }
    if (c == 0 || (c >= 0xd800 && c < 0xe000))
        c = 0xfffd;
    g_string_append_unichar(out, c);
    return used;
}

void ct_json_unescape(const char *text, gsize len, GString *out)
{
    const char *p = text, *end = text + len;
    while (p < end) {
        const char *slash = memchr(p, '\\', (gsize)(end - p));
        if (!slash || slash + 1 >= end) {
            g_string_append_len(out, p, (slash ? slash : end) - p);
            return;
        }
        g_string_append_len(out, p, slash - p);
        p = slash + 1;
        static const char from[] = "nrtbf", to[] = "\n\r\t\b\f";
        const char *simple = strchr(from, *p);
        if (*p == 'u') {
            p += unicode(p, end, out);
            continue;
        }
        g_string_append_c(out, simple && *p ? to[simple - from] : *p);
        p++;
    }
}

void ct_json_bytes(const char *text, gsize len, GString *out)
{
    guint v = 0;
    gboolean digits = FALSE;
    for (gsize i = 0; i < len; i++) {
        if (g_ascii_isdigit(text[i])) {
            v = v * 10 + (guint)(text[i] - '0');
            digits = TRUE;
            if (v > 255)
                return;
        } else if (digits) {
            g_string_append_c(out, v ? (char)v : ' ');
            v = 0;
            digits = FALSE;
        }
    }
}

void ct_json_append_string(GString *out, const char *text, gssize len)
{
    gsize n = len < 0 ? strlen(text) : (gsize)len;
    g_autofree char *valid = NULL;
    if (!g_utf8_validate(text, (gssize)n, NULL)) {
        valid = g_utf8_make_valid(text, (gssize)n);
        text = valid;
        n = strlen(valid);
    }
    g_string_append_c(out, '"');
    const char *plain = text, *end = text + n;
    for (const char *p = text; p < end; p++) {
        unsigned char c = (unsigned char)*p;
        if (c >= 0x20 && c != '"' && c != '\\' && c != 0x7f)
            continue;
        g_string_append_len(out, plain, p - plain);
        if (c == '"' || c == '\\')
            g_string_append_printf(out, "\\%c", c);
        else
            g_string_append_printf(out, "\\u%04x", c);
        plain = p + 1;
    }
    g_string_append_len(out, plain, end - plain);
    g_string_append_c(out, '"');
}
