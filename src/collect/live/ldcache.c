/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/live/ldcache.h"

#include <string.h>

#define OLD_MAGIC "ld.so-1.7.0"
#define NEW_MAGIC "glibc-ld.so.cache1.1"
#define MAX_LIBRARIES 65536u
#define NEW_HEADER 48u
#define NEW_ENTRY 24u
#define OLD_HEADER 16u
#define OLD_ENTRY 12u

static guint32 u32(const guint8 *p)
{
    guint32 v;
    memcpy(&v, p, sizeof(v));
    return v;
}

static const char *string_at(const guint8 *data, gsize len, gsize at)
{
    return at < len && memchr(data + at, '\0', len - at) ? (const char *)data + at : NULL;
}

GHashTable *ct_ldcache_parse(const guint8 *data, gsize len)
{
    GHashTable *out = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    gsize start = 0;
    if (len >= OLD_HEADER && memcmp(data, OLD_MAGIC, strlen(OLD_MAGIC)) == 0) {
        /* The old form stands first, the new one behind it. */
        guint32 n = u32(data + 12);
        if (n > MAX_LIBRARIES)
            return out;
        start = (OLD_HEADER + (gsize)n * OLD_ENTRY + 7) / 8 * 8;
    }
    if (len < start + NEW_HEADER || memcmp(data + start, NEW_MAGIC, strlen(NEW_MAGIC)) != 0)
        return out;
    const guint8 *base = data + start;
    gsize size = len - start;
    guint32 n = u32(base + 20);
    for (guint32 i = 0; i < MIN(n, MAX_LIBRARIES); i++) {
        gsize at = NEW_HEADER + (gsize)i * NEW_ENTRY;
        if (at + NEW_ENTRY > size)
            break;
        const char *name = string_at(base, size, u32(base + at + 4));
        const char *path = string_at(base, size, u32(base + at + 8));
        if (name && path && strlen(path) < 1024 && !g_hash_table_contains(out, name))
            g_hash_table_insert(out, g_strdup(name), g_strdup(path));
    }
    return out;
}
