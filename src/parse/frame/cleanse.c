/* SPDX-License-Identifier: Apache-2.0 */
#include "parse/frame/cleanse.h"

#include <iconv.h>
#include <string.h>

#include "parse/frame/envelope.h"

/* Any byte above ASCII, eight at a time. */
static gboolean has_high(const char *data, gsize len)
{
    guint64 any = 0, w;
    gsize i = 0;
    for (; i + 64 <= len; i += 64) {
        for (int k = 0; k < 8; k++) {
            memcpy(&w, data + i + 8 * k, 8);
            any |= w;
        }
        if (any & G_GUINT64_CONSTANT(0x8080808080808080))
            return TRUE;
    }
    for (; i < len; i++)
        any |= (guint8)data[i];
    return (any & G_GUINT64_CONSTANT(0x8080808080808080)) != 0;
}

gboolean ct_cleanse_is_clean(const char *data, gsize len)
{
    if (memchr(data, '\0', len) || memchr(data, '\x1b', len))
        return FALSE;
    return !has_high(data, len) || g_utf8_validate(data, (gssize)len, NULL);
}

/*
 * Latin-1 text such as "72\xb0C" happens to be valid GB18030. Real Chinese text is made of pairs
 * from the old two-byte plane, mostly side by side.
 */
static gboolean looks_chinese(const guint8 *p, gsize len)
{
    gsize common = 0, other = 0, neighbours = 0;
    gboolean before = FALSE;
    for (gsize i = 0; i < len;) {
        if (p[i] < 0x80) {
            before = FALSE;
            i++;
            continue;
        }
        if (i + 1 < len && p[i] >= 0xa1 && p[i] <= 0xf7 && p[i + 1] >= 0xa1) {
            common++;
            neighbours += before;
            before = TRUE;
        } else {
            other++;
            before = FALSE;
        }
        i += 2;
    }
    return common > 0 && neighbours > 0 && other * 5 <= common;
}

static gboolean from_gb18030(const char *line, gsize len, GByteArray *out)
{
    if (!looks_chinese((const guint8 *)line, len))
        return FALSE;
    iconv_t cd = iconv_open("UTF-8", "GB18030");
    if (cd == (iconv_t)-1)
        return FALSE;
    gsize cap = len * 3 + 4;
    g_autofree char *buf = g_malloc(cap);
    char *in = (char *)line, *to = buf;
    gsize in_left = len, out_left = cap;
    gsize rc = iconv(cd, &in, &in_left, &to, &out_left);
    iconv_close(cd);
    /* A character cut at the end of a line is no reason to give up the rest. */
    if (rc == (gsize)-1 && in_left > 3)
        return FALSE;
    g_byte_array_append(out, (const guint8 *)buf, (guint)(to - buf));
    return TRUE;
}

static gsize drop_nuls(char *text, gsize len)
{
    gsize out = 0;
    for (gsize i = 0; i < len; i++) {
        if (text[i])
            text[out++] = text[i];
    }
    return out;
}

static void one_line(const char *line, gsize len, GByteArray *out)
{
    guint start = out->len;
    if (!has_high(line, len) || g_utf8_validate(line, (gssize)len, NULL) ||
        !from_gb18030(line, len, out))
        g_byte_array_append(out, (const guint8 *)line, (guint)len);
    char *text = (char *)out->data + start;
    gsize n = out->len - start;
    if (n == 0)
        return;
    if (memchr(text, '\0', n))
        n = drop_nuls(text, n);
    if (memchr(text, '\x1b', n))
        n = ct_strip_ansi(text, n);
    g_byte_array_set_size(out, start + (guint)n);
}

void ct_cleanse(const char *data, gsize len, GByteArray *out)
{
    const char *p = data, *end = data + len;
    while (p < end) {
        const char *nl = memchr(p, '\n', (gsize)(end - p));
        one_line(p, (gsize)((nl ? nl : end) - p), out);
        if (!nl)
            return;
        g_byte_array_append(out, (const guint8 *)"\n", 1);
        p = nl + 1;
    }
}
