/* SPDX-License-Identifier: Apache-2.0 */
/* Names are met millions of times and are few: each is kept once and known by a number. */
#include <string.h>

#include "timeline/timeline-private.h"

void ct_tl_names_init(CtTlNames *n)
{
    n->text = g_ptr_array_new();
    n->chunk = g_string_chunk_new(64 * 1024);
    n->mask = 1023;
    n->slot = g_new0(guint32, n->mask + 1);
    n->hash = g_new0(guint64, n->mask + 1);
    g_ptr_array_add(n->text, (gpointer) "");
}

void ct_tl_names_clear(CtTlNames *n)
{
    g_clear_pointer(&n->text, g_ptr_array_unref);
    g_clear_pointer(&n->chunk, g_string_chunk_free);
    g_clear_pointer(&n->slot, g_free);
    g_clear_pointer(&n->hash, g_free);
}

static guint64 hash_of(const guint8 *p, gsize len)
{
    guint64 h = len * G_GUINT64_CONSTANT(0x9e3779b97f4a7c15), w;
    for (; len >= 8; p += 8, len -= 8) {
        memcpy(&w, p, 8);
        h = (h ^ w) * G_GUINT64_CONSTANT(0xff51afd7ed558ccd);
        h ^= h >> 32;
    }
    for (w = 0; len > 0; len--)
        w = w << 8 | *p++;
    h = (h ^ w) * G_GUINT64_CONSTANT(0xc4ceb9fe1a85ec53);
    return h ^ h >> 29;
}

static void grow(CtTlNames *n)
{
    gsize mask = n->mask * 2 + 1;
    guint32 *slot = g_new0(guint32, mask + 1);
    n->hash = g_renew(guint64, n->hash, mask + 1);
    for (guint32 id = 1; id < n->text->len; id++) {
        gsize at = n->hash[id] & mask;
        while (slot[at])
            at = (at + 1) & mask;
        slot[at] = id;
    }
    g_free(n->slot);
    n->slot = slot;
    n->mask = mask;
}

static char *keep(CtTlNames *n, const char *text, gsize len)
{
    n->bytes += len;
    if (g_utf8_validate(text, (gssize)len, NULL))
        return g_string_chunk_insert_len(n->chunk, text, (gssize)len);
    g_autofree char *valid = g_utf8_make_valid(text, (gssize)len);
    return g_string_chunk_insert(n->chunk, valid);
}

guint32 ct_tl_names_add(CtTlNames *n, const void *text, gsize len)
{
    len = MIN(len, CT_TL_MAX_NAME);
    if (len == 0)
        return 0;
    guint64 h = hash_of(text, len);
    gsize at = h & n->mask;
    for (; n->slot[at]; at = (at + 1) & n->mask) {
        guint32 id = n->slot[at];
        const char *have = g_ptr_array_index(n->text, id);
        /* A name that was not valid is found by its hash alone. */
        if (n->hash[id] == h && (strncmp(have, text, len) == 0 ? have[len] == 0
                                                               : strlen(have) != len))
            return id;
    }
    if (n->text->len >= CT_TL_MAX_NAMES || n->bytes > CT_TL_MAX_NAME_BYTES) {
        if (!n->overflow) {
            n->overflow = n->text->len;
            g_ptr_array_add(n->text, (gpointer) "(one of too many names)");
        }
        return n->overflow;
    }
    guint32 id = n->text->len;
    g_ptr_array_add(n->text, keep(n, text, len));
    n->hash[id] = h;
    n->slot[at] = id;
    if (n->text->len * 2 > n->mask)
        grow(n);
    return id;
}
