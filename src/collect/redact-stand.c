/* SPDX-License-Identifier: Apache-2.0 */
/* What stands for a value. A stand-in is known by its form alone, so that text that went through
 * here before comes out as it went in, also under another key: words are KIND-XXXXXXXX; values that
 * keep their shape end in check digits that follow from the digits before. */
#include <string.h>

#include "collect/redact-private.h"

#define MAX_SHAPE ((gsize)512)

void ct_redact_digest(const CtRedact *r, const char *kind, const char *value, gsize len,
                      guint8 out[32])
{
    gsize size = 32;
    GHmac *hmac = g_hmac_new(G_CHECKSUM_SHA256, ct_redact_key(r), CT_REDACT_KEY);
    g_hmac_update(hmac, (const guchar *)kind, (gssize)strlen(kind) + 1);
    g_hmac_update(hmac, (const guchar *)value, (gssize)len);
    g_hmac_get_digest(hmac, out, &size);
    g_hmac_unref(hmac);
}

gboolean ct_redact_is_stand_in(const char *value, gsize len)
{
    for (int kind = CT_REDACT_USER; kind <= CT_REDACT_SECRET; kind++) {
        const char *name = ct_redact_kind_name((CtRedactKind)kind);
        gsize n = strlen(name), hex = 0;
        if (len != n + 9 || memcmp(value, name, n) != 0 || value[n] != '-')
            continue;
        while (hex < 8 && g_ascii_isxdigit(value[n + 1 + hex]) &&
               !g_ascii_isupper(value[n + 1 + hex]))
            hex++;
        return hex == 8;
    }
    return FALSE;
}

void ct_redact_stand_in(CtRedact *r, const char *kind, const char *value, gsize len, GString *out)
{
    guint8 d[32];
    if (ct_redact_is_stand_in(value, len)) {
        g_string_append_len(out, value, (gssize)len);
        return;
    }
    ct_redact_digest(r, kind, value, len, d);
    g_string_append_printf(out, "%s-%02x%02x%02x%02x", kind, d[0], d[1], d[2], d[3]);
    ct_redact_hit(r);
}

/* ---- values that keep their shape ---- */

/* The letters and digits alone, in small letters: "1B2C_3d" and "1b2c-3d" are the same thing. */
static gsize essence(const char *value, gsize len, char out[MAX_SHAPE])
{
    gsize n = 0;
    for (gsize i = 0; i < len && n < MAX_SHAPE; i++)
        if (g_ascii_isalnum(value[i]))
            out[n++] = g_ascii_tolower(value[i]);
    return n;
}

/* Enough that no real value passes for a stand-in, few enough that stand-ins differ. */
static gsize check_len(gsize n)
{
    return CLAMP(n * 2 / 5, MIN(n, 3), 8);
}

static char exchanged(char c, guint8 b, gboolean hex)
{
    if (hex && g_ascii_isxdigit(c))
        return "0123456789abcdef"[b & 15];
    return (char)(g_ascii_isdigit(c) ? '0' + b % 10 : 'a' + b % 26);
}

/* Follows from the digits before it and from no key. */
static void add_check(char *value, gsize n, gboolean hex)
{
    static const guchar lead[] = "cutriage stand-in";
    guint8 d[32];
    gsize size = sizeof(d), body = n - check_len(n);
    GChecksum *sum = g_checksum_new(G_CHECKSUM_SHA256);
    g_checksum_update(sum, lead, sizeof(lead));
    g_checksum_update(sum, (const guchar *)value, (gssize)body);
    g_checksum_get_digest(sum, d, &size);
    g_checksum_free(sum);
    for (gsize i = body; i < n; i++)
        value[i] = exchanged(value[i], d[i - body], hex);
}

gboolean ct_redact_same_shape(CtRedact *r, const char *kind, const char *value, gsize len,
                              gboolean hex, GString *out)
{
    char is[MAX_SHAPE], checked[MAX_SHAPE];
    guint8 d[32];
    gsize n = essence(value, len, is), body = n - check_len(n);
    memcpy(checked, is, n);
    add_check(checked, n, hex);
    if (memcmp(checked, is, n) == 0) {
        g_string_append_len(out, value, (gssize)len);
        return FALSE;
    }
    ct_redact_digest(r, kind, is, n, d);
    for (gsize i = 0; i < body; i++)
        is[i] = exchanged(is[i], (guint8)(d[i % 32] + 37 * (i / 32)), hex);
    add_check(is, n, hex);
    for (gsize i = 0, k = 0; i < len; i++) {
        char c = value[i];
        if (g_ascii_isalnum(c) && k < n)
            c = g_ascii_isupper(c) ? g_ascii_toupper(is[k++]) : is[k++];
        g_string_append_c(out, c);
    }
    return TRUE;
}
