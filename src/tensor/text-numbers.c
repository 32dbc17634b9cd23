/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers that stand as text: base64 and decimal. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/reader.h"

/* Six bits of each character at its four places of a 24-bit group; the high bit marks a foreign
 * character, so that one test covers four of them. */
#define FOREIGN 0x80000000u
static guint32 sextet[4][256];

static gpointer make_table(gpointer data)
{
    static const char alphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    static const guint shift[4] = {18, 12, 6, 0};
    for (int place = 0; place < 4; place++) {
        for (int c = 0; c < 256; c++)
            sextet[place][c] = FOREIGN;
        for (guint i = 0; i < 64; i++) {
            guint32 v = (guint32)i << shift[place];
            /* In the order in which the bytes are stored. */
            sextet[place][(guint8)alphabet[i]] = v >> 16 | (v & 0xff00) | (v & 0xff) << 16;
        }
    }
    return NULL;
}

static guint32 group_of(const guint8 *in)
{
    return sextet[0][in[0]] | sextet[1][in[1]] | sextet[2][in[2]] | sextet[3][in[3]];
}

/* Decodes whole groups; returns the marks of foreign characters. */
static guint32 decode_groups(const guint8 *in, gsize groups, guint8 *o)
{
    guint32 bad = 0;
    gsize i = 0;
    for (; i + 2 <= groups; i += 2, in += 8, o += 6) {
        guint32 a = group_of(in), b = group_of(in + 4);
        bad |= a | b;
        guint64 both = GUINT64_TO_LE((guint64)(a & 0xffffff) | (guint64)b << 24);
        memcpy(o, &both, 8); /* two bytes more than needed: the buffer has room */
    }
    for (; i < groups; i++, in += 4, o += 3) {
        guint32 a = group_of(in);
        bad |= a;
        guint8 three[] = {(guint8)a, (guint8)(a >> 8), (guint8)(a >> 16)};
        memcpy(o, three, 3);
    }
    return bad & FOREIGN;
}

#define WINDOW ((gsize)2 << 20) /* groups between two looks back */

guint8 *ct_base64_decode(const CtBytes *bytes, gsize offset, gsize len, gsize *out_len)
{
    static GOnce once = G_ONCE_INIT;
    g_once(&once, make_table, NULL);
    const guint8 *in = ct_bytes_data(bytes) + offset;
    gsize pad = len && in[len - 1] == '=' ? (len > 1 && in[len - 2] == '=' ? 2 : 1) : 0;
    if (len % 4 || len == 0)
        return NULL;
    gsize groups = len / 4 - (pad ? 1 : 0);
    guint8 *out = g_try_malloc(len / 4 * 3 + 8), *o = out;
    if (!out)
        return NULL;
    guint32 bad = 0;
    for (gsize done = 0; done < groups; done += WINDOW) {
        gsize n = MIN(groups - done, WINDOW);
        bad |= decode_groups(in, n, o);
        ct_bytes_drop(bytes, (gsize)(in - ct_bytes_data(bytes)), 4 * n);
        in += 4 * n;
        o += 3 * n;
    }
    if (pad) {
        guint8 last[4] = {in[0], in[1], pad == 2 ? 'A' : in[2], 'A'};
        guint32 a = group_of(last);
        bad |= a;
        *o++ = (guint8)a;
        if (pad == 1)
            *o++ = (guint8)(a >> 8);
    }
    if (bad & FOREIGN) {
        g_free(out);
        return NULL;
    }
    *out_len = (gsize)(o - out);
    return out;
}

/* Up to 19 digits and a small exponent are exact enough through integers; the rest takes strtod. */
static gboolean number(const char **p, const char *end, double *out)
{
    static const double ten[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                 1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    const char *q = *p;
    gboolean negative = q < end && *q == '-';
    q += negative || (q < end && *q == '+');
    guint64 m = 0;
    gint digits = 0, exponent = 0;
    gboolean point = FALSE;
    for (; q < end && (g_ascii_isdigit(*q) || (*q == '.' && !point)); q++) {
        if (*q == '.') {
            point = TRUE;
            continue;
        }
        m = m * 10 + (guint64)(*q - '0');
        digits++;
        exponent -= point;
        if (digits > 15)
            break;
    }
    if (digits > 0 && digits <= 15 && q < end && *q != 'e' && *q != 'E' && exponent >= -22) {
        double v = (double)m / ten[-exponent];
        *out = negative ? -v : v;
        *p = q;
        return TRUE;
    }
    char word[64], *stop;
    gsize n = 0;
    for (q = *p; q < end && n < sizeof word - 1 && !strchr(", \n\r\t]", *q); q++)
        word[n++] = *q;
    word[n] = '\0';
    *out = g_ascii_strtod(word, &stop);
    *p = q;
    return n > 0 && *stop == '\0';
}

CtTensor *ct_numbers_parse(const CtTensorItem *item, GError **error)
{
    const char *p = (const char *)ct_bytes_data(item->bytes) + item->offset, *end = p + item->len,
               *from = p;
    g_autoptr(GArray) values = g_array_new(FALSE, FALSE, sizeof(float));
    for (;;) {
        while (p < end && (*p == ' ' || *p == ',' || *p == '\n' || *p == '\r' || *p == '\t'))
            p++;
        if (p >= end)
            break;
        double v;
        const char *at = p;
        if (!number(&p, end, &v)) {
            ct_tensor_bad(error, item->place, item->offset + (guint64)(at - from), "not a number");
            return NULL;
        }
        float f = (float)v;
        g_array_append_val(values, f);
    }
    gsize n = values->len;
    CtBytes *bytes = ct_bytes_take(g_array_free(g_steal_pointer(&values), FALSE), n * 4);
    const CtTensor *shape = item->tensor;
    CtTensor *t = ct_tensor_over(bytes, 0, n * 4, CT_F32, shape->rank, shape->dims, shape->name,
                                 item->place, error);
    ct_bytes_unref(bytes);
    if (t && t->n != n) {
        ct_tensor_bad(error, item->place, item->offset,
                      "%zu numbers, its shape asks for %" G_GUINT64_FORMAT, n, t->n);
        g_clear_pointer(&t, ct_tensor_free);
    }
    return t;
}
