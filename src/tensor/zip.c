/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The zip of npz and PyTorch files. An own reader and not a library because stored members are used
 * where they lie in the mapped file, without a copy.
 */
#include <string.h>
#include <zlib.h>

#include "base/limits.h"
#include "tensor/reader.h"

#define MAX_RATIO 1040u /* deflate cannot do better than 1032 : 1 */

static guint16 le16(const guint8 *p)
{
    return (guint16)(p[0] | p[1] << 8);
}

static guint32 le32(const guint8 *p)
{
    return (guint32)le16(p) | (guint32)le16(p + 2) << 16;
}

static guint64 le64(const guint8 *p)
{
    return (guint64)le32(p) | (guint64)le32(p + 4) << 32;
}

gboolean ct_zip_sniff(const guint8 *data, gsize len)
{
    return len >= 22 && (memcmp(data, "PK\3\4", 4) == 0 || memcmp(data, "PK\5\6", 4) == 0);
}

typedef struct {
    guint64 offset, size, n;
} Directory;

static gboolean find_directory(const guint8 *data, gsize len, Directory *out)
{
    gsize back = MIN(len, (gsize)65557);
    for (gsize i = 22; i <= back; i++) {
        const guint8 *p = data + len - i;
        if (p[0] != 'P' || memcmp(p, "PK\5\6", 4) != 0)
            continue;
        *out = (Directory){le32(p + 16), le32(p + 12), le16(p + 10)};
        gsize at = len - i;
        if (at >= 20 && memcmp(p - 20, "PK\6\7", 4) == 0) { /* zip64 */
            guint64 where = le64(p - 12);
            if (len < 56 || where > len - 56 || memcmp(data + where, "PK\6\6", 4) != 0)
                return FALSE;
            const guint8 *q = data + where;
            *out = (Directory){le64(q + 48), le64(q + 40), le64(q + 32)};
        }
        return out->offset <= len && out->size <= len - out->offset;
    }
    return FALSE;
}

static void member_free(gpointer data)
{
    CtZipMember *m = data;
    g_free(m->name);
    g_free(m);
}

/* Sizes beyond 32 bits stand in an extra field. */
static void read_zip64(const guint8 *extra, gsize len, guint64 *size, guint64 *packed,
                       guint64 *offset)
{
    while (len >= 4) {
        gsize n = le16(extra + 2);
        if (n > len - 4)
            return;
        if (le16(extra) == 1) {
            const guint8 *p = extra + 4;
            guint64 *fields[] = {size, packed, offset};
            for (guint i = 0; i < 3; i++)
                if (*fields[i] == 0xffffffff && n >= 8) {
                    *fields[i] = le64(p);
                    p += 8;
                    n -= 8;
                }
            return;
        }
        extra += 4 + n;
        len -= 4 + n;
    }
}

static gboolean locate(const guint8 *data, gsize len, guint64 offset, guint64 packed, gsize *out)
{
    if (len < 30 || offset > len - 30 || memcmp(data + offset, "PK\3\4", 4) != 0)
        return FALSE;
    guint64 start = offset + 30 + le16(data + offset + 26) + le16(data + offset + 28);
    if (start > len || packed > len - start)
        return FALSE;
    *out = (gsize)start;
    return TRUE;
}

GPtrArray *ct_zip_list(CtBytes *bytes, const char *place, GError **error)
{
    const guint8 *data = ct_bytes_data(bytes);
    gsize len = ct_bytes_len(bytes);
    Directory dir;
    if (!find_directory(data, len, &dir)) {
        ct_tensor_bad(error, place, len, "the archive has no directory: it was cut short");
        return NULL;
    }
    g_autoptr(GPtrArray) list = g_ptr_array_new_with_free_func(member_free);
    const guint8 *p = data + dir.offset, *end = p + dir.size;
    while (list->len < CT_MAX_TENSORS && end - p >= 46 && memcmp(p, "PK\1\2", 4) == 0) {
        gsize name = le16(p + 28), extra = le16(p + 30), comment = le16(p + 32);
        if (name + extra + comment > (gsize)(end - p) - 46)
            break;
        guint64 packed = le32(p + 20), size = le32(p + 24), offset = le32(p + 42);
        read_zip64(p + 46 + name, extra, &size, &packed, &offset);
        CtZipMember *m = g_new0(CtZipMember, 1);
        g_ptr_array_add(list, m);
        m->name = g_utf8_make_valid((const char *)p + 46, (gssize)name);
        m->method = le16(p + 10);
        m->crc = le32(p + 16);
        m->size = size;
        m->packed = (gsize)packed;
        if (le16(p + 8) & 1)
            m->method = 99; /* encrypted: not readable either */
        if (!locate(data, len, offset, packed, &m->offset) || (m->method == 0 && size != packed)) {
            ct_tensor_bad(error, place, (guint64)(p - data), "member '%s' lies outside the file",
                          m->name);
            return NULL;
        }
        p += 46 + name + extra + comment;
    }
    if (list->len != dir.n && list->len < CT_MAX_TENSORS) {
        ct_tensor_bad(error, place, (guint64)(p - data), "directory entry %u is damaged",
                      list->len);
        return NULL;
    }
    return g_steal_pointer(&list);
}

CtBytes *ct_zip_inflate(CtBytes *bytes, gsize offset, gsize packed, guint64 size, guint32 crc,
                        const char *place, GError **error)
{
    if (size > CT_MAX_INFLATED || size / MAX_RATIO > packed + 64) {
        ct_tensor_bad(error, place, offset,
                      "%" G_GUINT64_FORMAT " bytes cannot come from %zu compressed ones", size,
                      packed);
        return NULL;
    }
    guint8 *out = g_try_malloc(size ? size : 1);
    if (!out) {
        g_set_error(error, CT_ERROR, CT_ERROR_LIMIT,
                    "%s: no memory for %" G_GUINT64_FORMAT " bytes", place, size);
        return NULL;
    }
    z_stream z = {0};
    int rc = inflateInit2(&z, -15);
    gsize in_left = packed, out_left = (gsize)size;
    z.next_in = (Bytef *)(gsize)(ct_bytes_data(bytes) + offset);
    z.next_out = out;
    while (rc == Z_OK) {
        uInt in = (uInt)MIN(in_left, (gsize)1 << 30), room = (uInt)MIN(out_left, (gsize)1 << 30);
        z.avail_in = in;
        z.avail_out = room;
        rc = inflate(&z, Z_NO_FLUSH);
        in_left -= in - z.avail_in;
        out_left -= room - z.avail_out;
        if (rc == Z_OK && z.avail_in == in && z.avail_out == room)
            rc = Z_BUF_ERROR;
    }
    inflateEnd(&z);
    gboolean ok = rc == Z_STREAM_END && out_left == 0 && crc32_z(0, out, (gsize)size) == crc;
    if (!ok) {
        g_free(out);
        ct_tensor_bad(error, place, offset, "compressed data is damaged");
        return NULL;
    }
    return ct_bytes_take(out, (gsize)size);
}
