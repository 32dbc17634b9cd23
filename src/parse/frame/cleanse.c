/* SPDX-License-Identifier: Apache-2.0 */
#include "parse/frame/cleanse.h"

#include <iconv.h>
#include <string.h>

#include "parse/frame/envelope.h"

/* Vectors of the compiler: SSE2 on x86-64, NEON on aarch64. */
typedef guint8 Bytes __attribute__((vector_size(16)));

typedef struct {
    gboolean high, control; /* a byte above ASCII; a NUL or an escape */
} Found;

static gboolean any_set(Bytes v)
{
    guint64 half[2];
    memcpy(half, &v, sizeof half);
    return (half[0] | half[1]) != 0;
}

static Found look(const char *data, gsize len)
{
    Bytes high = {0}, control = {0}, escape = (Bytes){0} + 0x1b;
    gsize i = 0;
    for (; i + 64 <= len; i += 64) {
        Bytes v[4];
        memcpy(v, data + i, sizeof v);
        high |= v[0] | v[1] | v[2] | v[3];
        for (int k = 0; k < 4; k++)
            control |= (Bytes)(v[k] == 0) | (Bytes)(v[k] == escape);
    }
    Found f = {any_set(high & 0x80), any_set(control)};
    for (; i < len; i++) {
        f.high |= (guint8)data[i] >= 0x80;
        f.control |= data[i] == '\0' || data[i] == '\x1b';
    }
    return f;
}

gboolean ct_cleanse_is_clean(const char *data, gsize len)
{
    Found f = look(data, len);
    return !f.control && (!f.high || g_utf8_validate(data, (gssize)len, NULL));
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
    if (!look(line, len).high || g_utf8_validate(line, (gssize)len, NULL) ||
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
