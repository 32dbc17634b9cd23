/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The built-in engine. From every literal the rarest four bytes are taken, and a bit set tells
 * for each four bytes of the input whether they may belong to one. Literals of five and more
 * bytes are entered with two neighbouring windows, so that every second place of the input need
 * not be looked at. What passes the bit set is compared in full.
 */
#include "parse/frame/scanner-private.h"

#include <string.h>

#define WINDOW 4
#define FOLD 0x20202020u
#define BITS 16 /* of the bit set: 8 KiB, stays in the first-level cache */

typedef struct {
    guint32 key;    /* folded window */
    guint32 id;
    guint16 offset; /* of the window in the literal */
    gint32 next;    /* in the chain, -1 ends it */
} Entry;

struct CtOwnScan {
    const CtLiteral *literals;
    guint n;
    guint8 set[(1u << BITS) / 8];
    gint32 bucket[4096];
    GArray *entries;
    GArray *brief;         /* ids of literals shorter than a window */
    guint8 brief_first[256];
    guint step;            /* 2 when every literal has two windows */
};

static inline guint32 load(const char *p)
{
    guint32 v;
    memcpy(&v, p, sizeof v);
    return v | FOLD;
}

static inline guint32 hash(guint32 key)
{
    return (key * 0x9E3779B1u) >> (32 - BITS);
}

/* How often a byte stands in logs, roughly: 0 is rare. */
static guint commonness(guint8 byte)
{
    if (byte == ' ' || byte == 'e' || byte == 't' || byte == 'o' || byte == 'r' || byte == 'a' ||
        byte == 'i' || byte == 'n' || byte == 's' || byte == '0' || byte == '1')
        return 12;
    if (g_ascii_islower(byte) || g_ascii_isdigit(byte) || byte == '.' || byte == ':')
        return 8;
    if (byte == '[' || byte == ']' || byte == '-' || byte == '/' || byte == '=' || byte == ',')
        return 7;
    return byte < 0x80 ? 4 : 2;
}

static guint window_cost(const char *p)
{
    guint cost = 0;
    for (int i = 0; i < WINDOW; i++)
        cost += commonness((guint8)g_ascii_tolower(p[i]));
    /* Runs such as "----" and "====" fill whole screens. */
    if (p[0] == p[1] && p[1] == p[2] && p[2] == p[3])
        cost += 40;
    return cost;
}

static void enter(CtOwnScan *s, guint id, guint offset)
{
    guint32 key = load(s->literals[id].text + offset);
    guint32 h = hash(key);
    Entry e = {.key = key, .id = id, .offset = (guint16)offset,
               .next = s->bucket[h & 4095]};
    s->bucket[h & 4095] = (gint32)s->entries->len;
    s->set[h >> 3] |= (guint8)(1u << (h & 7));
    g_array_append_val(s->entries, e);
}

static void enter_rarest(CtOwnScan *s, guint id)
{
    const CtLiteral *lit = &s->literals[id];
    guint windows = s->step, best = 0, best_cost = G_MAXUINT;
    gsize last = MIN(lit->len, 200) - WINDOW - (windows - 1);
    for (gsize o = 0; o <= last; o++) {
        guint cost = window_cost(lit->text + o);
        if (windows == 2)
            cost += window_cost(lit->text + o + 1);
        if (cost < best_cost) {
            best_cost = cost;
            best = (guint)o;
        }
    }
    for (guint w = 0; w < windows; w++)
        enter(s, id, best + w);
}

CtOwnScan *ct_own_scan_new(const CtLiteral *literals, guint n)
{
    CtOwnScan *s = g_new0(CtOwnScan, 1);
    s->literals = literals;
    s->n = n;
    s->entries = g_array_new(FALSE, FALSE, sizeof(Entry));
    s->brief = g_array_new(FALSE, FALSE, sizeof(guint));
    memset(s->bucket, 0xff, sizeof s->bucket);
    s->step = 2;
    for (guint i = 0; i < n; i++) {
        if (literals[i].len == WINDOW)
            s->step = 1;
    }
    for (guint i = 0; i < n; i++) {
        if (literals[i].len >= WINDOW) {
            enter_rarest(s, i);
        } else if (literals[i].len > 0) {
            guint8 first = (guint8)literals[i].text[0];
            s->brief_first[first] = 1;
            if (literals[i].nocase)
                s->brief_first[(guint8)g_ascii_tolower((char)first)] =
                    s->brief_first[(guint8)g_ascii_toupper((char)first)] = 1;
            g_array_append_val(s->brief, i);
        }
    }
    return s;
}

void ct_own_scan_free(CtOwnScan *scan)
{
    if (!scan)
        return;
    g_array_unref(scan->entries);
    g_array_unref(scan->brief);
    g_free(scan);
}

static gboolean equal(const CtLiteral *lit, const char *at)
{
    return lit->nocase ? g_ascii_strncasecmp(lit->text, at, lit->len) == 0
                       : memcmp(lit->text, at, lit->len) == 0;
}

static void report(const CtLiteral *lit, const char *data, gsize len, gsize start, guint id,
                   GArray *out)
{
    if (start + lit->len > len || !equal(lit, data + start))
        return;
    CtHit hit = {.end = (guint32)(start + lit->len), .id = id};
    g_array_append_val(out, hit);
}

static void G_GNUC_NO_INLINE verify(const CtOwnScan *s, const char *data, gsize len, gsize at,
                                    guint32 key, guint32 h, GArray *out)
{
    const Entry *entries = (const Entry *)(void *)s->entries->data;
    for (gint32 i = s->bucket[h & 4095]; i >= 0; i = entries[i].next) {
        const Entry *e = &entries[i];
        if (e->key == key && at >= e->offset)
            report(&s->literals[e->id], data, len, at - e->offset, e->id, out);
    }
}

static void scan_brief(const CtOwnScan *s, const char *data, gsize len, GArray *out)
{
    for (gsize i = 0; i < len; i++) {
        if (!s->brief_first[(guint8)data[i]])
            continue;
        for (guint k = 0; k < s->brief->len; k++) {
            guint id = g_array_index(s->brief, guint, k);
            report(&s->literals[id], data, len, i, id, out);
        }
    }
}

void ct_own_scan(const CtOwnScan *scan, const char *data, gsize len, GArray *out_hits)
{
    const guint8 *set = scan->set;
    gsize step = scan->step;
    if (scan->brief->len > 0)
        scan_brief(scan, data, len, out_hits);
    if (scan->entries->len == 0 || len < WINDOW)
        return;
    for (gsize i = 0; i <= len - WINDOW; i += step) {
        guint32 key = load(data + i), h = hash(key);
        if (G_UNLIKELY(set[h >> 3] & (1u << (h & 7))))
            verify(scan, data, len, i, key, h, out_hits);
    }
}
