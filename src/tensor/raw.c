/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes without a header: type and shape come from the command line or from the file's name. */
#include <stdlib.h>
#include <string.h>

#include "tensor/reader.h"

/* trtexec names a raw dump NAME.output.1.3.224.224.Float.raw. */
static gboolean from_name(const char *base, CtReadOptions *o, char **out_name)
{
    g_auto(GStrv) parts = g_strsplit(base, ".", -1);
    guint n = g_strv_length(parts);
    if (n < 4 || !g_str_equal(parts[n - 1], "raw") || !ct_dtype_parse(parts[n - 2], &o->dtype))
        return FALSE;
    guint first = n - 2;
    while (first > 0 && *parts[first - 1] &&
           strspn(parts[first - 1], "0123456789") == strlen(parts[first - 1]) &&
           n - 2 - first < CT_TENSOR_MAX_RANK && strlen(parts[first - 1]) < 18)
        first--;
    if (first == 0 ||
        (!g_str_equal(parts[first - 1], "input") && !g_str_equal(parts[first - 1], "output")))
        return FALSE;
    o->rank = n - 2 - first;
    for (guint i = 0; i < o->rank; i++)
        o->dims[i] = (gint64)g_ascii_strtoull(parts[first + i], NULL, 10);
    o->has_dtype = o->has_shape = TRUE;
    g_free(parts[first - 1]);
    parts[first - 1] = NULL;
    *out_name = g_strjoinv(".", parts);
    for (guint i = first; i < n; i++)
        g_free(parts[i]);
    return TRUE;
}

gboolean ct_read_raw(CtTensorSet *set, CtBytes *bytes, const char *path,
                     const CtReadOptions *options, GError **error)
{
    CtReadOptions o = options ? *options : (CtReadOptions){0}, named = {0};
    g_autofree char *base = g_path_get_basename(path), *name = NULL;
    if (from_name(base, &named, &name) && !o.has_dtype)
        o = named;
    if (!o.has_dtype)
        return ct_tensor_bad(error, path, 0,
                             "format not recognised; raw bytes need --dtype (and --shape)");
    if (!name) {
        const char *dot = strrchr(base, '.');
        name = dot && dot != base ? g_strndup(base, (gsize)(dot - base)) : g_strdup(base);
    }
    gsize len = ct_bytes_len(bytes);
    if (!o.has_shape) {
        o.rank = 1;
        o.dims[0] = (gint64)(len * 8 / ct_dtype_bits(o.dtype));
    }
    CtTensor *t = ct_tensor_over(bytes, 0, len, o.dtype, o.rank, o.dims, name, path, error);
    if (!t)
        return FALSE;
    gsize used = (gsize)((t->n * ct_dtype_bits(o.dtype) + 7) / 8);
    if (used != len) {
        ct_tensor_free(t);
        return ct_tensor_bad(error, path, used,
                             "the file has %zu bytes, type and shape ask for %zu", len, used);
    }
    CtTensorItem *item = ct_tensor_set_add(set, CT_ITEM_READY, name, path);
    item->tensor = t;
    return TRUE;
}
