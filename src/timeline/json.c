/* SPDX-License-Identifier: Apache-2.0 */
#include "timeline/json.h"

#include <math.h>
#include <string.h>

#define ONES G_GUINT64_CONSTANT(0x0101010101010101)
#define HIGH G_GUINT64_CONSTANT(0x8080808080808080)

/* Bits set in the bytes of w that equal c (and perhaps in those above the lowest such). */
static inline guint64 bytes_equal(guint64 w, guint8 c)
{
    guint64 x = w ^ ONES * c;
    return (x - ONES) & ~x & HIGH;
}

static inline guint64 load(const guint8 *p)
{
    guint64 w;
    memcpy(&w, p, 8);
    return GUINT64_FROM_LE(w);
}

static inline guint first_of(guint64 bits)
{
    return (guint)__builtin_ctzll(bits) >> 3;
}

static inline gboolean is_blank(guint8 c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

CtJsonResult ct_json_blanks_slow(CtJsonIn *in)
{
    const guint8 *p = in->p, *end = in->end;
    while (p < end && is_blank(*p)) {
        guint32 w;
        /* Indentation comes in runs. */
        for (p++; end - p >= 4 && (memcpy(&w, p, 4), w == 0x20202020u); p += 4)
            continue;
    }
    in->p = p;
    return p < end ? CT_JSON_OK : CT_JSON_MORE;
}

/* A quote ends a string only where JSON can go on behind it: a comma with a quote, bracket or
 * number behind, a closing bracket, a colon. The rest are quotes that the writer did not escape. */
static CtJsonResult ends_string(const CtJsonIn *in, const guint8 *q, gboolean key, gboolean *out)
{
    CtJsonIn at = {q + 1, in->end, in->last};
    *out = TRUE;
    if (ct_json_blanks(&at) != CT_JSON_OK)
        return in->last ? CT_JSON_OK : CT_JSON_MORE;
    guint8 c = *at.p++;
    if (key || c != ',') {
        *out = key ? c == ':' : c == '}' || c == ']' || c == ':';
        return CT_JSON_OK;
    }
    if (ct_json_blanks(&at) != CT_JSON_OK)
        return in->last ? CT_JSON_OK : CT_JSON_MORE;
    *out = *at.p == '"' || *at.p == '{' || *at.p == '[' || *at.p == '}' || *at.p == ']' ||
           *at.p == '-' || g_ascii_isalnum(*at.p);
    return CT_JSON_OK;
}

static CtJsonResult string(CtJsonIn *in, CtJsonText *out, gboolean key)
{
    const guint8 *from = in->p + 1, *p = from;
    gboolean escaped = FALSE, ends;
    for (;;) {
        guint64 hit = 0;
        while (in->end - p >= 8) {
            guint64 w = load(p);
            if ((hit = bytes_equal(w, '"') | bytes_equal(w, '\\')))
                break;
            p += 8;
        }
        if (hit)
            p += first_of(hit);
        while (p < in->end && *p != '"' && *p != '\\')
            p++;
        if (p >= in->end || (*p == '\\' && p + 1 >= in->end))
            return in->last ? CT_JSON_BAD : CT_JSON_MORE;
        if (*p == '\\') {
            escaped = TRUE;
            p += 2;
            continue;
        }
        /* The common case is decided by one byte. */
        if (p + 1 < in->end && p[1] == (key ? ':' : '}'))
            break;
        CtJsonResult r = ends_string(in, p, key, &ends);
        if (r != CT_JSON_OK)
            return r;
        if (ends)
            break;
        p++;
    }
    *out = (CtJsonText){from, (gsize)(p - from), TRUE, escaped};
    in->p = p + 1;
    return CT_JSON_OK;
}

CtJsonResult ct_json_key(CtJsonIn *in, CtJsonText *out)
{
    CtJsonResult r = ct_json_blanks(in);
    if (r != CT_JSON_OK)
        return r;
    if (*in->p != '"')
        return CT_JSON_BAD;
    if ((r = string(in, out, TRUE)) != CT_JSON_OK || (r = ct_json_blanks(in)) != CT_JSON_OK)
        return r;
    if (*in->p != ':')
        return CT_JSON_BAD;
    in->p++;
    return CT_JSON_OK;
}

static CtJsonResult bare(CtJsonIn *in, CtJsonText *out)
{
    const guint8 *p = in->p;
    /* Digits first: nearly all bare words are numbers. */
    for (;;) {
        while (p < in->end && (guint8)(*p - '-') <= '9' - '-')
            p++;
        if (p >= in->end || *p == ',' || *p == '}' || *p == ']' || is_blank(*p) || *p == ':' ||
            *p == '"' || *p == '{' || *p == '[')
            break;
        p++;
    }
    if (p == in->end && !in->last)
        return CT_JSON_MORE;
    *out = (CtJsonText){in->p, (gsize)(p - in->p), FALSE, FALSE};
    if (p == in->p)
        return CT_JSON_BAD;
    in->p = p;
    return CT_JSON_OK;
}

CtJsonResult ct_json_scalar(CtJsonIn *in, CtJsonText *out)
{
    CtJsonResult r = ct_json_blanks(in);
    if (r != CT_JSON_OK)
        return r;
    return *in->p == '"' ? string(in, out, FALSE) : bare(in, out);
}

/* A container: only quotes and brackets matter. */
static CtJsonResult container(CtJsonIn *in, CtJsonText *out)
{
    CtJsonIn at = *in;
    CtJsonText text;
    gsize depth = 0;
    for (;;) {
        guint64 hit = 0;
        while (at.end - at.p >= 8) {
            guint64 w = load(at.p);
            /* Brackets differ in one bit only: { [ are 7b 5b, } ] are 7d 5d. */
            guint64 folded = w & ~(ONES * 0x20);
            if ((hit = bytes_equal(w, '"') | bytes_equal(folded, '[') | bytes_equal(folded, ']')))
                break;
            at.p += 8;
        }
        if (hit)
            at.p += first_of(hit);
        while (at.p < at.end && *at.p != '"' && *at.p != '{' && *at.p != '[' && *at.p != '}' &&
               *at.p != ']')
            at.p++;
        if (at.p >= at.end)
            return at.last ? CT_JSON_BAD : CT_JSON_MORE;
        if (*at.p == '"') {
            CtJsonResult r = string(&at, &text, FALSE);
            if (r != CT_JSON_OK)
                return r;
            continue;
        }
        depth += *at.p == '{' || *at.p == '[' ? 1 : (gsize)-1;
        at.p++;
        if (depth == 0)
            break;
    }
    if (out)
        *out = (CtJsonText){in->p, (gsize)(at.p - in->p), FALSE, FALSE};
    in->p = at.p;
    return CT_JSON_OK;
}

CtJsonResult ct_json_value(CtJsonIn *in, CtJsonText *out)
{
    CtJsonText unused;
    CtJsonResult r = ct_json_blanks(in);
    if (r != CT_JSON_OK)
        return r;
    if (*in->p == '{' || *in->p == '[')
        return container(in, out);
    return ct_json_scalar(in, out ? out : &unused);
}

gboolean ct_json_number(const CtJsonText *t, double *out)
{
    char text[64];
    char *end;
    if (t->n == 0 || t->n >= sizeof text)
        return FALSE;
    memcpy(text, t->p, t->n);
    text[t->n] = 0;
    *out = g_ascii_strtod(text, &end);
    return *end == 0 && isfinite(*out);
}

gboolean ct_json_scaled(const CtJsonText *t, guint digits, gint64 *out)
{
    if (t->n == 0)
        return FALSE;
    const guint8 *p = t->p, *end = p + t->n;
    gboolean minus = p < end && *p == '-';
    guint64 v = 0;
    guint n = 0, scale = digits;
    for (p += minus; p < end && g_ascii_isdigit(*p) && n < 19; p++, n++)
        v = v * 10 + (guint64)(*p - '0');
    if (n == 0 && (p >= end || *p != '.'))
        return FALSE;
    gboolean exact = n + digits <= 19; /* then it fits into 64 bits */
    if (exact && p < end && *p == '.')
        for (p++; p < end && g_ascii_isdigit(*p) && digits > 0; p++, digits--)
            v = v * 10 + (guint64)(*p - '0');
    while (exact && p < end && g_ascii_isdigit(*p))
        p++; /* finer than a ns */
    if (!exact || p < end) {
        double d;
        if (!ct_json_number(t, &d))
            return FALSE;
        d *= pow(10, scale);
        if (fabs(d) > 9e18)
            return FALSE;
        *out = (gint64)(d < 0 ? d - 0.5 : d + 0.5);
        return TRUE;
    }
    for (; digits > 0; digits--)
        v *= 10;
    if (v > G_MAXINT64)
        return FALSE;
    *out = minus ? -(gint64)v : (gint64)v;
    return TRUE;
}

gboolean ct_json_integer(const CtJsonText *t, gint64 *out)
{
    double d;
    if (ct_json_scaled(t, 0, out))
        return TRUE;
    if (!ct_json_number(t, &d) || fabs(d) > 9e18)
        return FALSE;
    *out = (gint64)d;
    return TRUE;
}

static const guint8 *unicode(const guint8 *p, const guint8 *end, gunichar *out)
{
    gunichar c = 0;
    for (guint i = 0; i < 4 && p < end && g_ascii_isxdigit(*p); i++, p++)
        c = c * 16 + (gunichar)g_ascii_xdigit_value((char)*p);
    *out = c;
    return p;
}

gsize ct_json_plain(const CtJsonText *t, char *out, gsize cap)
{
    gsize n = 0;
    out[0] = 0;
    if (t->n == 0)
        return 0;
    for (const guint8 *p = t->p, *end = p + t->n; p < end && n + 7 < cap;) {
        if (*p != '\\' || p + 1 >= end) {
            out[n++] = (char)*p++;
            continue;
        }
        guint8 c = p[1];
        gunichar u;
        p += 2;
        if (c == 'u') {
            p = unicode(p, end, &u);
            if (u >= 0xd800 && u < 0xdc00 && end - p >= 6 && p[0] == '\\' && p[1] == 'u') {
                gunichar low;
                p = unicode(p + 2, end, &low);
                u = 0x10000 + ((u - 0xd800) << 10) + ((low - 0xdc00) & 0x3ff);
            }
            n += u && g_unichar_validate(u) ? (gsize)g_unichar_to_utf8(u, out + n) : 0;
        } else {
            out[n++] = c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : (char)c;
        }
    }
    out[n] = 0;
    return n;
}
