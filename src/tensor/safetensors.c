/* SPDX-License-Identifier: Apache-2.0 */
#include <jansson.h>
#include <string.h>

#include "tensor/reader.h"

#define MAX_HEADER (100u << 20)

static gboolean parse_dtype(const char *text, CtDtype *out)
{
    if (g_str_equal(text, "F4")) /* here it has four bits, in NumPy four bytes */
        return *out = CT_F4_E2M1, TRUE;
    return ct_dtype_parse(text, out);
}

/* Reads shape and offsets; FALSE with *why when they make no sense. */
static gboolean geometry(const json_t *value, guint *rank, gint64 *dims, guint64 *from, guint64 *to,
                         const char **why)
{
    const json_t *shape = json_object_get(value, "shape"),
                 *offsets = json_object_get(value, "data_offsets");
    *rank = (guint)json_array_size(shape);
    *why = "its shape is not a list of at most 16 numbers";
    if (!json_is_array(shape) || *rank > CT_TENSOR_MAX_RANK)
        return FALSE;
    for (guint i = 0; i < *rank; i++) {
        const json_t *d = json_array_get(shape, i);
        if (!json_is_integer(d) || json_integer_value(d) < 0)
            return FALSE;
        dims[i] = json_integer_value(d);
    }
    const json_t *a = json_array_get(offsets, 0), *b = json_array_get(offsets, 1);
    *why = "its data_offsets make no sense";
    if (json_array_size(offsets) != 2 || !json_is_integer(a) || !json_is_integer(b) ||
        json_integer_value(a) < 0 || json_integer_value(b) < json_integer_value(a))
        return FALSE;
    *from = (guint64)json_integer_value(a);
    *to = (guint64)json_integer_value(b);
    return TRUE;
}

static void add_tensor(CtTensorSet *set, CtBytes *bytes, gsize base, const char *path,
                       const char *name, const json_t *value)
{
    g_autofree char *place = g_strdup_printf("%s:%s", path, name);
    const char *dtype_text = json_string_value(json_object_get(value, "dtype")), *why;
    CtDtype dtype;
    guint rank;
    gint64 dims[CT_TENSOR_MAX_RANK];
    guint64 from, to;
    if (!dtype_text || !parse_dtype(dtype_text, &dtype)) {
        ct_tensor_set_broken(set, name, place, "element type '%s' is not supported",
                             dtype_text ? dtype_text : "?");
        return;
    }
    if (!geometry(value, &rank, dims, &from, &to, &why)) {
        ct_tensor_set_broken(set, name, place, "%s", why);
        return;
    }
    gsize rest = ct_bytes_len(bytes) - base;
    if (to > rest) {
        ct_tensor_set_broken(set, name, place,
                             "its data end at offset %" G_GUINT64_FORMAT ", the file at %zu",
                             base + to, ct_bytes_len(bytes));
        return;
    }
    g_autoptr(GError) error = NULL;
    CtTensor *t = ct_tensor_over(bytes, base + (gsize)from, (gsize)(to - from), dtype, rank, dims,
                                 name, place, &error);
    CtTensorItem *item = t ? ct_tensor_set_add(set, CT_ITEM_READY, name, place) : NULL;
    if (item)
        item->tensor = t;
    else if (t)
        ct_tensor_free(t);
    else
        ct_tensor_set_broken(set, name, place, "%s", error->message);
}

gboolean ct_read_safetensors(CtTensorSet *set, CtBytes *bytes, const char *path, GError **error)
{
    const guint8 *p = ct_bytes_data(bytes);
    gsize len = ct_bytes_len(bytes);
    guint64 size = 0;
    for (int i = 7; i >= 0; i--)
        size = size << 8 | p[i];
    if (size > MAX_HEADER || size > len - 8)
        return ct_tensor_bad(
            error, path, 0, "safetensors header of %" G_GUINT64_FORMAT " bytes does not fit", size);
    json_error_t json_error;
    json_t *root = json_loadb((const char *)p + 8, (gsize)size,
                              JSON_REJECT_DUPLICATES | JSON_DISABLE_EOF_CHECK, &json_error);
    if (!json_is_object(root)) {
        json_decref(root);
        return ct_tensor_bad(error, path, 8 + (guint64)MAX(json_error.position, 0),
                             "safetensors header: %s", json_error.text);
    }
    const char *name;
    json_t *value;
    json_object_foreach(root, name, value) if (!g_str_equal(name, "__metadata__"))
        add_tensor(set, bytes, 8 + (gsize)size, path, name, value);
    json_decref(root);
    return TRUE;
}
