/* SPDX-License-Identifier: Apache-2.0 */
/* NumPy's npy, alone and in the zip of an npz. */
#include <string.h>

#include "tensor/reader.h"

#define MAX_HEADER 65536u

/* The header is the text of a Python dict; only the three keys that it must have are read. */
typedef struct {
    const char *p, *end;
} Cursor;

static void blanks(Cursor *c)
{
    while (c->p < c->end && (*c->p == ' ' || *c->p == '\n' || *c->p == '\t'))
        c->p++;
}

static gboolean take(Cursor *c, char want)
{
    blanks(c);
    if (c->p >= c->end || *c->p != want)
        return FALSE;
    c->p++;
    return TRUE;
}

static char *quoted(Cursor *c)
{
    blanks(c);
    if (c->p >= c->end || (*c->p != '\'' && *c->p != '"'))
        return NULL;
    const char *from = c->p + 1, *to = memchr(from, *c->p, (gsize)(c->end - from));
    if (!to)
        return NULL;
    c->p = to + 1;
    return g_strndup(from, (gsize)(to - from));
}

static gboolean word(Cursor *c, const char *want)
{
    blanks(c);
    gsize len = strlen(want);
    if ((gsize)(c->end - c->p) < len || memcmp(c->p, want, len) != 0)
        return FALSE;
    c->p += len;
    return TRUE;
}

static gboolean shape(Cursor *c, guint *rank, gint64 *dims)
{
    if (!take(c, '('))
        return FALSE;
    while (!take(c, ')')) {
        blanks(c);
        guint64 v = 0;
        const char *from = c->p;
        for (; c->p < c->end && g_ascii_isdigit(*c->p); c->p++)
            if (v > G_MAXINT64 / 10 - 1)
                return FALSE;
            else
                v = v * 10 + (guint64)(*c->p - '0');
        if (c->p == from || *rank == CT_TENSOR_MAX_RANK)
            return FALSE;
        word(c, "L"); /* written by Python 2 */
        dims[(*rank)++] = (gint64)v;
        if (!take(c, ',') && c->p < c->end && *c->p != ')')
            return FALSE;
    }
    return TRUE;
}

typedef struct {
    char *descr;
    gboolean fortran, has_shape, has_order, structured;
    guint rank;
    gint64 dims[CT_TENSOR_MAX_RANK];
} Header;

static gboolean dict(Cursor *c, Header *h)
{
    if (!take(c, '{'))
        return FALSE;
    while (!take(c, '}')) {
        g_autofree char *key = quoted(c);
        if (!key || !take(c, ':'))
            return FALSE;
        if (g_str_equal(key, "descr") && !h->descr) {
            h->descr = quoted(c);
            if (!h->descr) {
                h->structured = TRUE;
                return FALSE;
            }
        } else if (g_str_equal(key, "fortran_order")) {
            h->fortran = word(c, "True");
            h->has_order = h->fortran || word(c, "False");
        } else if (g_str_equal(key, "shape") && !h->has_shape) {
            h->has_shape = shape(c, &h->rank, h->dims);
            if (!h->has_shape)
                return FALSE;
        } else {
            return FALSE;
        }
        take(c, ',');
    }
    return h->descr && h->has_shape && h->has_order;
}

static gboolean descr_dtype(const char *descr, CtDtype *out)
{
    /* NumPy has no name for bfloat16 and writes two bytes of nothing. */
    if (g_str_equal(descr, "|V2") || g_str_equal(descr, "<V2")) {
        *out = CT_BF16;
        return TRUE;
    }
    return ct_dtype_parse(descr, out);
}

CtTensor *ct_npy_parse(CtBytes *bytes, gsize offset, gsize len, const char *name, const char *place,
                       GError **error)
{
    const guint8 *p = ct_bytes_data(bytes) + offset;
    if (len < 10 || memcmp(p, "\x93NUMPY", 6) != 0) {
        ct_tensor_bad(error, place, offset, "not an npy file");
        return NULL;
    }
    gboolean wide = p[6] >= 2;
    gsize start = wide ? 12 : 10;
    if (p[6] < 1 || p[6] > 3 || len < start) {
        ct_tensor_bad(error, place, offset + 6, "npy version %u.%u is not known", p[6], p[7]);
        return NULL;
    }
    gsize size = p[8] | (gsize)p[9] << 8;
    if (wide)
        size |= (gsize)p[10] << 16 | (gsize)p[11] << 24;
    if (size > MAX_HEADER || size > len - start) {
        ct_tensor_bad(error, place, offset + 8, "npy header of %zu bytes does not fit", size);
        return NULL;
    }
    Cursor c = {(const char *)p + start, (const char *)p + start + size};
    Header h = {0};
    if (!dict(&c, &h)) {
        ct_tensor_bad(error, place, offset + start + (gsize)(c.p - (const char *)p - start),
                      h.structured ? "records (structured arrays) are not numbers"
                                   : "npy header cannot be read");
        g_free(g_steal_pointer(&h.descr));
        return NULL;
    }
    g_autofree char *descr = g_steal_pointer(&h.descr);
    CtDtype dtype;
    if (!descr_dtype(descr, &dtype)) {
        ct_tensor_bad(error, place, offset + start, "element type '%s' is not supported", descr);
        return NULL;
    }
    CtTensor *t = ct_tensor_over(bytes, offset + start + size, len - start - size, dtype, h.rank,
                                 h.dims, name, place, error);
    if (t) {
        t->fortran_order = h.fortran;
        t->big_endian = descr[0] == '>' && ct_dtype_bits(dtype) > 8;
    }
    return t;
}

gboolean ct_read_npz(CtTensorSet *set, CtBytes *bytes, const char *path, GPtrArray *members,
                     GError **error)
{
    for (guint i = 0; i < members->len; i++) {
        const CtZipMember *m = members->pdata[i];
        g_autofree char *place = g_strdup_printf("%s:%s", path, m->name);
        if (!g_str_has_suffix(m->name, ".npy")) {
            ct_tensor_set_note(set, "%s is no array and was passed over", place);
            continue;
        }
        g_autofree char *name = g_strndup(m->name, strlen(m->name) - 4);
        if (m->method != 0 && m->method != 8) {
            ct_tensor_set_broken(set, name, place, "compression method %u is not supported",
                                 m->method);
            continue;
        }
        CtTensorItem *item =
            ct_tensor_set_add(set, m->method ? CT_ITEM_NPY_DEFLATED : CT_ITEM_NPY, name, place);
        if (!item)
            break;
        item->bytes = ct_bytes_ref(bytes);
        item->offset = m->offset;
        item->len = m->packed;
        item->inflated = m->size;
        item->crc = m->crc;
    }
    if (set->items->len == 0)
        return ct_tensor_bad(error, path, 0, "the archive holds no arrays");
    return TRUE;
}
