/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From each literal a fragment of five bytes is taken, which is two windows of four: whether it
 * begins at an even or an odd place of the input, one of the two lies at an even one. So only
 * every second place is looked up, in a table of one byte per hash. What the table lets pass is
 * compared in full.
 *
 * Which fragment of a literal is taken decides the speed. At first a rough idea of common letters
 * serves; when a mebibyte has passed, the hashes of a block are counted and the fragments are
 * chosen anew, so that the table holds what this very input does not. (Measured with 2,600
 * literals on a log: 2.2 GB/s, vectorscan with the same literals 0.75 GB/s.)
 */
#include "parse/frame/scanner.h"

#include <string.h>

#define WINDOW 4u
#define FRAGMENT (WINDOW + 1)
#define FOLD 0x20202020u /* merges upper and lower case, and some signs: the comparison sorts out */
#define FOLD8 G_GUINT64_CONSTANT(0x2020202020202020)
#define BITS 16u
#define MULTIPLIER 0x9E3779B1u
#define BUCKETS 8192u
#define LEARN_FROM ((gsize)1 << 20)
#define LEARN_SAMPLE ((gsize)64 << 10) /* the least that counts are worth something from */
#define LEARN_AGAIN ((gsize)64 << 20)  /* bytes, at the earliest */
#define TOO_MANY 256u        /* one look in so many bytes is more than chance */
#define LOOK_COST 4u        /* of a look, against that of leaving the loop */
#define MAX_LOOKED_AT 128u   /* bytes of a literal; a rarer fragment behind them is not needed */
#define STRETCH 8192u        /* bytes */
#define ANY_CHOICE 9u       /* bytes; literals from there on find a rare fragment */
#define SAME_RUN 40u    /* cost of "----": such runs fill screens */

typedef struct {
    guint32 key;       /* the folded window */
    guint32 far;       /* another window of the literal, as far from it as can be */
    guint32 id;
    guint16 offset;    /* of the window in the literal */
    gint16 far_at;     /* where the other one lies, seen from the window */
    gint32 next;       /* in the bucket, -1 ends it */
} Entry;

struct CtScanner {
    const CtLiteral *literals;
    guint n;
    guint8 slot[1u << BITS];
    gint32 bucket[BUCKETS];
    GArray *entries;
    guint32 multiplier;
    GArray *brief;       /* ids of literals too short for a window */
    guint8 brief_first[256];
    gboolean ready, learned;
    gsize scanned, looks, since_learned;
    double rate;         /* looks a byte, right after learning */
};

static inline guint32 load_raw(const char *p)
{
    guint32 v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline guint32 load(const char *p)
{
    return load_raw(p) | FOLD;
}

static inline guint32 hash(guint32 key, guint32 multiplier)
{
    return (key * multiplier) >> (32 - BITS);
}

static inline guint spelling_bit(guint32 raw)
{
    return (raw * 0x85EBCA6Bu) >> 29;
}

/* A slot has eight bits: which of them is set depends on the window as it is written, so that
 * "AER:" and "er: " of "scheduler: " part here. Literals without case set all. */
static inline guint8 spelling(guint32 raw)
{
    return (guint8)(1u << spelling_bit(raw));
}

static inline guint32 bucket_of(guint32 hashed)
{
    return hashed & (BUCKETS - 1);
}

/* ---- choosing fragments ---- */

/* How common a byte is in logs, roughly. */
static guint commonness(guint8 byte)
{
    static const char frequent[] = " etoarinsld01.:-/=,[]_";
    static guint8 table[256];
    static gsize once;
    if (g_once_init_enter(&once)) {
        for (guint i = 0; i < 256; i++) {
            char c = g_ascii_tolower((char)i);
            table[i] = i != 0 && i < 128 && strchr(frequent, c) ? 12
                       : g_ascii_isalnum(c)                     ? 7
                       : i < 128                                ? 4
                                                                : 2;
        }
        g_once_init_leave(&once, 1);
    }
    return table[byte];
}

static guint guess(const char *p)
{
    guint cost = commonness((guint8)p[0]) + commonness((guint8)p[1]) + commonness((guint8)p[2]) +
                 commonness((guint8)p[3]);
    return p[0] == p[1] && p[1] == p[2] && p[2] == p[3] ? cost + SAME_RUN : cost;
}

/* What a window would add. counts: how often each slot was met with each bit, NULL before anything
 * was learned. A slot that is met takes the loop out of its stride, and where the bit is set too it
 * takes a look; what the table holds already costs less. */
static guint window_cost(const CtScanner *s, const guint16 *counts, const CtLiteral *lit, gsize at)
{
    const char *p = lit->text + at;
    guint32 h = hash(load(p), s->multiplier);
    guint8 bits = lit->nocase ? 0xff : spelling(load_raw(p));
    guint cost = s->slot[h] ? 0 : 1;
    if (!counts)
        return 64u * guess(p) + cost;
    const guint16 *c = &counts[h * 8];
    for (guint i = 0; i < 8; i++) {
        guint bit = 1u << i;
        guint look = s->slot[h] & bit ? 1 : LOOK_COST; /* one more to compare, or a look at all */
        cost += (s->slot[h] ? 0 : c[i]) + (bits & bit ? look * c[i] : 0);
    }
    return cost;
}

static void add_entry(CtScanner *s, guint32 hashed, guint8 spellings, Entry e)
{
    gint32 *bucket = &s->bucket[bucket_of(hashed)];
    e.next = *bucket;
    *bucket = (gint32)s->entries->len;
    s->slot[hashed] |= spellings;
    g_array_append_val(s->entries, e);
}

static void enter(CtScanner *s, guint id, guint offset)
{
    const CtLiteral *lit = &s->literals[id];
    guint32 key = load(lit->text + offset);
    guint8 spellings = lit->nocase ? 0xff : spelling(load_raw(lit->text + offset));
    gsize last = MIN(lit->len, MAX_LOOKED_AT) - WINDOW;
    gsize far = offset > last / 2 ? 0 : last;
    Entry e = {.key = key,
               .far = load(lit->text + far),
               .id = id,
               .offset = (guint16)offset,
               .far_at = (gint16)((gssize)far - (gssize)offset)};
    add_entry(s, hash(key, s->multiplier), spellings, e);
}

/* A literal of four bytes: where it begins at an odd place, its last three bytes and whatever
 * follows them lie at an even one. That window stands in the table with every last byte. */
static void enter_four(CtScanner *s, guint id)
{
    guint32 key = 0;
    enter(s, id, 0);
    for (guint last = 0; last < 256; last++) {
        char window[WINDOW] = {s->literals[id].text[1], s->literals[id].text[2],
                               s->literals[id].text[3], (char)last};
        guint32 h = hash(load(window), s->multiplier);
        gboolean same = FALSE;
        key = load(window);
        for (gint32 i = s->bucket[bucket_of(h)]; i >= 0 && !same;) {
            const Entry *e = &g_array_index(s->entries, Entry, i);
            same = e->id == id && e->key == key && e->offset == 1;
            i = e->next;
        }
        if (!same)
            add_entry(s, h, 0xff, (Entry){.key = key, .far = key, .id = id, .offset = 1});
    }
}

static void enter_fragment(CtScanner *s, guint id, const guint16 *counts)
{
    const CtLiteral *lit = &s->literals[id];
    gsize last = MIN(lit->len, MAX_LOOKED_AT) - FRAGMENT;
    guint best = 0, best_cost = G_MAXUINT;
    guint left = window_cost(s, counts, lit, 0);
    for (gsize o = 0; o <= last; o++) {
        guint right = window_cost(s, counts, lit, o + 1);
        if (left + right < best_cost) {
            best_cost = left + right;
            best = (guint)o;
        }
        left = right;
    }
    enter(s, id, best);
    enter(s, id, best + 1);
}

static void enter_brief(CtScanner *s, guint id)
{
    const CtLiteral *lit = &s->literals[id];
    char first = lit->text[0];
    s->brief_first[(guint8)first] = 1;
    if (lit->nocase) {
        s->brief_first[(guint8)g_ascii_tolower(first)] = 1;
        s->brief_first[(guint8)g_ascii_toupper(first)] = 1;
    }
    g_array_append_val(s->brief, id);
}

static void build(CtScanner *s, const guint16 *counts, guint32 multiplier)
{
    s->multiplier = multiplier;
    memset(s->slot, 0, sizeof s->slot);
    memset(s->bucket, 0xff, sizeof s->bucket);
    memset(s->brief_first, 0, sizeof s->brief_first);
    g_array_set_size(s->entries, 0);
    g_array_set_size(s->brief, 0);
    for (guint i = 0; i < s->n; i++) {
        gsize len = s->literals[i].len;
        if (len == WINDOW)
            enter_four(s, i);
        else if (len > 0 && len < WINDOW)
            enter_brief(s, i);
    }
    /* Those with little choice first; the longer ones then share where they can. */
    for (gsize len = FRAGMENT; len <= ANY_CHOICE; len++) {
        for (guint i = 0; i < s->n; i++) {
            if (s->literals[i].len == len || (len == ANY_CHOICE && s->literals[i].len > len))
                enter_fragment(s, i, counts);
        }
    }
    s->ready = TRUE;
}

/* What the table costs on the input that was counted. */
static guint64 total_cost(const CtScanner *s, const guint16 *counts)
{
    guint64 cost = 0;
    for (guint h = 0; h < 1u << BITS; h++) {
        for (guint i = 0; s->slot[h] && i < 8; i++)
            cost += counts[h * 8 + i] * (1u + (s->slot[h] & 1u << i ? LOOK_COST : 0));
    }
    return cost;
}

static void count(const char *data, gsize len, guint32 multiplier, guint16 *counts)
{
    memset(counts, 0, sizeof(guint16) * 8 << BITS);
    for (gsize i = 0; i + WINDOW <= len && i < 4 * LEARN_SAMPLE; i += 2) {
        guint32 raw = load_raw(data + i);
        guint16 *c = &counts[hash(raw | FOLD, multiplier) * 8 + spelling_bit(raw)];
        *c += *c < G_MAXUINT16;
    }
}

/* A short literal has few fragments to choose from, and one may share its hash with something
 * common; another hash function has its accidents elsewhere. */
static void learn(CtScanner *s, const char *data, gsize len)
{
    static const guint32 multipliers[] = {MULTIPLIER, 0x85EBCA6Bu, 0xC2B2AE35u, 0x27D4EB2Fu,
                                          0x165667B1u, 0xD3A2646Du};
    g_autofree guint16 *counts = g_new(guint16, 8u << BITS);
    guint best = 0;
    guint64 best_cost = G_MAXUINT64;
    for (guint i = 0; i < G_N_ELEMENTS(multipliers); i++) {
        count(data, len, multipliers[i], counts);
        build(s, counts, multipliers[i]);
        guint64 cost = total_cost(s, counts);
        if (cost < best_cost) {
            best_cost = cost;
            best = i;
        }
    }
    count(data, len, multipliers[best], counts);
    build(s, counts, multipliers[best]);
    s->learned = TRUE;
    s->since_learned = 0;
}

CtScanner *ct_scanner_new(const CtLiteral *literals, guint n)
{
    CtScanner *s = g_new0(CtScanner, 1);
    s->literals = literals;
    s->n = n;
    s->entries = g_array_sized_new(FALSE, FALSE, sizeof(Entry), 2 * n + 1);
    s->brief = g_array_new(FALSE, FALSE, sizeof(guint));
    return s;
}

void ct_scanner_free(CtScanner *scanner)
{
    if (!scanner)
        return;
    g_array_unref(scanner->entries);
    g_array_unref(scanner->brief);
    g_free(scanner);
}

/* ---- scanning ---- */

typedef struct {
    CtScanner *s;
    const char *data;
    gsize len;
    GArray *out;
} Scan;

static void report(const Scan *scan, guint id, gsize start)
{
    const CtLiteral *lit = &scan->s->literals[id];
    if (start + lit->len > scan->len)
        return;
    const char *at = scan->data + start;
    if (lit->nocase ? g_ascii_strncasecmp(lit->text, at, lit->len) != 0
                    : memcmp(lit->text, at, lit->len) != 0)
        return;
    CtHit hit = {.end = (guint32)(start + lit->len), .id = id};
    g_array_append_val(scan->out, hit);
}

static void look(const Scan *scan, gsize at, guint32 key, guint32 h)
{
    const Entry *entries = (const Entry *)(void *)scan->s->entries->data;
    scan->s->looks++;
    for (gint32 i = scan->s->bucket[bucket_of(h)]; i >= 0; i = entries[i].next) {
        const Entry *e = &entries[i];
        if (e->key != key || at < e->offset)
            continue;
        gsize far = at + (gsize)e->far_at;
        if (far + WINDOW <= scan->len && load(scan->data + far) == e->far)
            report(scan, e->id, at - e->offset);
    }
}

static void scan_brief(const Scan *scan)
{
    const CtScanner *s = scan->s;
    for (gsize i = 0; i < scan->len; i++) {
        if (!s->brief_first[(guint8)scan->data[i]])
            continue;
        for (guint k = 0; k < s->brief->len; k++)
            report(scan, g_array_index(s->brief, guint, k), i);
    }
}

/*
 * Three passes over a stretch that fits the first-level cache, so that no pass has to guess: which
 * groups of four places may hold something, which places, what it is. Branches that go either way
 * every few dozen bytes would cost more than all else.
 */
static guint find_groups(const Scan *scan, gsize from, gsize to, guint32 *groups)
{
    const guint8 *slot = scan->s->slot;
    const guint32 m = scan->s->multiplier;
    guint n = 0;
    for (gsize i = from; i < to; i += 8) {
        guint64 eight;
        memcpy(&eight, scan->data + i, sizeof eight);
        eight = GUINT64_FROM_LE(eight) | FOLD8;
        guint8 any = slot[hash(GUINT32_TO_LE((guint32)eight), m)] |
                     slot[hash(GUINT32_TO_LE((guint32)(eight >> 16)), m)] |
                     slot[hash(GUINT32_TO_LE((guint32)(eight >> 32)), m)] |
                     slot[hash(load(scan->data + i + 6), m)];
        groups[n] = (guint32)i;
        n += any != 0;
    }
    return n;
}

static guint find_places(const Scan *scan, const guint32 *groups, guint n_groups, guint32 *places)
{
    guint n = 0;
    for (guint g = 0; g < n_groups; g++) {
        for (guint32 i = groups[g]; i < groups[g] + 8; i += 2) {
            guint32 raw = load_raw(scan->data + i);
            places[n] = i;
            n += scan->s->slot[hash(raw | FOLD, scan->s->multiplier)] >> spelling_bit(raw) & 1;
        }
    }
    return n;
}

static void scan_windows(const Scan *scan)
{
    guint32 groups[STRETCH / 8 + 1], places[STRETCH / 2 + 1];
    const guint32 m = scan->s->multiplier;
    /* A group reads two bytes beyond its eight. */
    gsize whole = scan->len < 16 ? 0 : (scan->len - 8) & ~(gsize)7, i = 0;
    while (i < whole) {
        gsize to = MIN(i + STRETCH, whole);
        guint n = find_groups(scan, i, to, groups);
        n = find_places(scan, groups, n, places);
        for (guint k = 0; k < n; k++) {
            guint32 key = load(scan->data + places[k]);
            look(scan, places[k], key, hash(key, m));
        }
        i = to;
    }
    for (; i + WINDOW <= scan->len; i += 2) {
        guint32 key = load(scan->data + i), h = hash(key, m);
        if (scan->s->slot[h])
            look(scan, i, key, h);
    }
}

/* The last three bytes, as if zeros followed: only a literal of four bytes can end there. */
static void scan_end(const Scan *scan)
{
    gsize at = scan->len & ~(gsize)1;
    if (scan->len < WINDOW || scan->len % 2 == 0)
        return;
    at -= 2;
    if (at + 3 != scan->len)
        return;
    const Entry *entries = (const Entry *)(void *)scan->s->entries->data;
    char window[WINDOW] = {scan->data[at], scan->data[at + 1], scan->data[at + 2], 0};
    guint32 key = load(window), h = hash(key, scan->s->multiplier);
    for (gint32 i = scan->s->slot[h] ? scan->s->bucket[bucket_of(h)] : -1; i >= 0;
         i = entries[i].next) {
        const CtLiteral *lit = &scan->s->literals[entries[i].id];
        if (entries[i].key == key && lit->len == WINDOW && entries[i].offset == 1)
            report(scan, entries[i].id, at - 1);
    }
}

static int by_place(gconstpointer a, gconstpointer b)
{
    const CtHit *x = a, *y = b;
    if (x->end != y->end)
        return x->end < y->end ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

/* Hits come almost in order: only neighbours are exchanged, unless there were brief ones. */
static void put_in_order(GArray *hits, guint from, gboolean shuffled)
{
    CtHit *h = (CtHit *)(void *)hits->data;
    if (shuffled) {
        qsort(h + from, hits->len - from, sizeof *h, by_place);
        return;
    }
    for (guint i = from + 1; i < hits->len; i++) {
        CtHit moving = h[i];
        guint k = i;
        for (; k > from && by_place(&h[k - 1], &moving) > 0; k--)
            h[k] = h[k - 1];
        h[k] = moving;
    }
}

void ct_scanner_scan(CtScanner *s, const char *data, gsize len, GArray *out_hits)
{
    guint from = out_hits->len;
    gsize looks = s->looks;
    if (s->n == 0 || len == 0)
        return;
    if (!s->ready)
        build(s, NULL, MULTIPLIER);
    if (!s->learned && s->scanned >= LEARN_FROM && len >= LEARN_SAMPLE)
        learn(s, data, len);
    Scan scan = {s, data, len, out_hits};
    if (s->entries->len > 0) {
        scan_windows(&scan);
        scan_end(&scan);
    }
    if (s->brief->len > 0)
        scan_brief(&scan);
    put_in_order(out_hits, from, s->brief->len > 0);
    s->scanned += len;
    /* Another kind of log began: what was rare before is not rare here. */
    s->since_learned += len;
    if (!s->learned || len < LEARN_SAMPLE)
        return;
    double rate = (double)(s->looks - looks) / (double)len;
    if (s->since_learned == len)
        s->rate = rate;
    else if (s->since_learned >= LEARN_AGAIN && rate > 2 * s->rate + 1.0 / TOO_MANY)
        s->learned = FALSE; /* the next block is learned from */
}
