/* SPDX-License-Identifier: Apache-2.0 */
/* ustar with the long names of pax and GNU, read front to back. */
#include <string.h>

#include "collect/archive.h"

#define BLOCK 512u
#define MAX_EXTRA (64u * 1024) /* of a pax header or a long name */

typedef struct {
    CtStream *outer;
    guint64 left;   /* bytes of the member at hand */
    gboolean short_; /* the archive ended within it */
} Member;

static gssize read_member(gpointer user, void *buf, gsize cap)
{
    Member *m = user;
    gsize n = (gsize)MIN((guint64)cap, m->left);
    if (n == 0)
        return 0;
    n = ct_stream_read(m->outer, buf, n);
    if (n == 0)
        m->short_ = TRUE;
    m->left -= n;
    return n == 0 ? -1 : (gssize)n;
}

static gboolean octal(const guint8 *p, gsize len, guint64 *out)
{
    guint64 v = 0;
    gsize i = 0;
    if (p[0] & 0x80) { /* base 256, of files beyond 8 GiB */
        v = p[0] & 0x3f;
        for (i = 1; i < len; i++) {
            if (v >> 55)
                return FALSE;
            v = v << 8 | p[i];
        }
        *out = v;
        return TRUE;
    }
    while (i < len && p[i] == ' ')
        i++;
    for (; i < len && p[i] >= '0' && p[i] <= '7'; i++)
        v = v * 8 + (guint64)(p[i] - '0');
    *out = v;
    return i == len || p[i] == ' ' || p[i] == '\0';
}

static gboolean checksum_fits(const guint8 *h)
{
    guint64 wanted, sum = 0;
    if (!octal(h + 148, 8, &wanted))
        return FALSE;
    for (guint i = 0; i < BLOCK; i++)
        sum += i >= 148 && i < 156 ? ' ' : h[i];
    return sum == wanted;
}

gboolean ct_is_tar(const guint8 *head, gsize len)
{
    return len >= BLOCK && memcmp(head + 257, "ustar", 5) == 0 && checksum_fits(head);
}

static gboolean read_all(CtStream *s, guint8 *buf, gsize want)
{
    gsize n = 0, got;
    while (n < want && (got = ct_stream_read(s, buf + n, want - n)) > 0)
        n += got;
    return n == want;
}

static gboolean skip(CtStream *s, guint64 n)
{
    guint8 buf[16 * 1024];
    while (n > 0) {
        gsize got = ct_stream_read(s, buf, (gsize)MIN(n, (guint64)sizeof buf));
        if (got == 0)
            return FALSE;
        n -= got;
    }
    return TRUE;
}

static guint64 padding(guint64 size)
{
    return (BLOCK - size % BLOCK) % BLOCK;
}

/* "27 path=folder/name\n" records. */
static void pax_path(const char *text, gsize len, char **out)
{
    const char *p = text, *end = text + len;
    while (p < end) {
        char *after;
        guint64 n = g_ascii_strtoull(p, &after, 10);
        if (n == 0 || n > (guint64)(end - p) || after >= p + n || *after != ' ')
            return;
        after++;
        if (p + n - after > 5 && memcmp(after, "path=", 5) == 0) {
            g_free(*out);
            *out = g_strndup(after + 5, (gsize)(p + n - after) - 6);
        }
        p += n;
    }
}

static char *header_name(const guint8 *h)
{
    char name[101] = {0}, prefix[156] = {0};
    memcpy(name, h, 100);
    memcpy(prefix, h + 345, 155);
    return *prefix ? g_strconcat(prefix, "/", name, NULL) : g_strdup(name);
}

/* Headers that only describe the next one. */
static gboolean extra(CtStream *s, char type, guint64 size, char **next_name)
{
    if (size > MAX_EXTRA)
        return skip(s, size + padding(size));
    g_autofree char *text = g_malloc0(size + 1);
    if (!read_all(s, (guint8 *)text, size) || !skip(s, padding(size)))
        return FALSE;
    if (type == 'x') {
        pax_path(text, size, next_name);
    } else if (type == 'L') {
        g_free(*next_name);
        *next_name = g_strdup(text);
    }
    return TRUE;
}

static gboolean one_file(CtStream *s, const char *name, guint64 size, CtMemberFunc func,
                         gpointer user, gboolean *short_)
{
    Member m = {.outer = s, .left = size};
    CtStream *inner = ct_stream_new_from(read_member, &m);
    gboolean go_on = func(name, inner, user);
    ct_stream_free(inner);
    *short_ = m.short_ || (go_on && !skip(s, m.left + padding(size)));
    return go_on;
}

/* FALSE when the walk is over; *end says how. */
static gboolean next_header(CtStream *stream, guint8 *h, guint64 *out_size, CtArchiveEnd *end)
{
    *end = CT_ARCHIVE_TRUNCATED;
    if (!read_all(stream, h, BLOCK))
        return FALSE;
    *end = CT_ARCHIVE_DONE;
    if (h[0] == '\0')
        return FALSE;
    *end = CT_ARCHIVE_DAMAGED;
    return checksum_fits(h) && octal(h + 124, 12, out_size) && *out_size <= G_MAXINT64;
}

CtArchiveEnd ct_tar_walk(CtStream *stream, CtMemberFunc func, gpointer user)
{
    guint8 h[BLOCK];
    guint64 size;
    CtArchiveEnd end;
    g_autofree char *next_name = NULL;
    while (next_header(stream, h, &size, &end)) {
        gboolean short_ = FALSE;
        char type = (char)h[156];
        if (type == 'x' || type == 'L' || type == 'K') {
            if (!extra(stream, type, size, &next_name))
                return CT_ARCHIVE_TRUNCATED;
            continue;
        }
        g_autofree char *name = next_name ? g_steal_pointer(&next_name) : header_name(h);
        gboolean regular = type == '0' || type == '\0' || type == '7';
        if (regular && *name && name[strlen(name) - 1] != '/') {
            if (!one_file(stream, name, size, func, user, &short_))
                return CT_ARCHIVE_DONE;
        } else if (type != '1' && type != '2') { /* links have no data */
            short_ = !skip(stream, size + padding(size));
        }
        if (short_)
            return CT_ARCHIVE_TRUNCATED;
    }
    return end;
}
