/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX TensorProto files, and the initializers of models. */
#include "tensor/proto.h"

#include <stdlib.h>
#include <string.h>

#include "tensor/reader.h"

gboolean ct_onnx_dtype(guint64 number, gint *out)
{
    static const gint map[] = {-1,     CT_F32,     CT_U8,  CT_I8,   CT_U16,  CT_I16,
                               CT_I32, CT_I64,     -1,     CT_BOOL, CT_F16,  CT_F64,
                               CT_U32, CT_U64,     CT_C64, CT_C128, CT_BF16, CT_F8_E4M3,
                               -1,     CT_F8_E5M2, -1,     CT_U4,   CT_I4,   CT_F4_E2M1};
    if (number >= G_N_ELEMENTS(map) || map[number] < 0)
        return FALSE;
    *out = map[number];
    return TRUE;
}

typedef struct {
    guint rank;
    gint64 dims[CT_TENSOR_MAX_RANK];
    guint64 type;
    gboolean too_deep, external, strings;
    char *name;
    CtProtoField raw;
    GByteArray *values; /* of the typed fields, as elements of `type` */
    char *location; /* of external data: file below the model's folder */
    guint64 at, length;
    gboolean bad_place;
} Proto;

static void add_dim(Proto *t, guint64 d)
{
    if (t->rank < CT_TENSOR_MAX_RANK)
        t->dims[t->rank++] = (gint64)d;
    else
        t->too_deep = TRUE;
}

static void add_dims(Proto *t, const CtProtoField *f)
{
    if (f->wire == 0)
        add_dim(t, f->value);
    const guint8 *p = f->data, *end = f->data + f->len;
    guint64 d;
    while (f->wire == 2 && p < end && ct_proto_varint(&p, end, &d))
        add_dim(t, d);
}

/* Integers of up to 32 bits, and halves, come as varints; `bytes` of each count. */
static void add_varints(GByteArray *out, const CtProtoField *f, guint bytes)
{
    guint64 v = GUINT64_TO_LE(f->value);
    if (f->wire == 0)
        g_byte_array_append(out, (const guint8 *)&v, bytes);
    const guint8 *p = f->data, *end = f->data + f->len;
    while (f->wire == 2 && p < end && ct_proto_varint(&p, end, &v)) {
        v = GUINT64_TO_LE(v);
        g_byte_array_append(out, (const guint8 *)&v, bytes);
    }
}

/* One entry of where external data lie: a key and a value. */
static void add_place(Proto *t, CtProto m)
{
    CtProtoField f;
    g_autofree char *key = NULL, *value = NULL;
    while (ct_proto_next(&m, &f)) {
        char **to = f.wire != 2 ? NULL : f.number == 1 ? &key : f.number == 2 ? &value : NULL;
        if (to && !*to)
            *to = ct_proto_text(&f);
    }
    if (!key || !value)
        return;
    if (g_str_equal(key, "location") && !t->location)
        t->location = g_steal_pointer(&value);
    else if (g_str_equal(key, "offset"))
        t->bad_place |= !g_ascii_string_to_unsigned(value, 10, 0, G_MAXINT64, &t->at, NULL);
    else if (g_str_equal(key, "length"))
        t->bad_place |= !g_ascii_string_to_unsigned(value, 10, 0, G_MAXINT64, &t->length, NULL);
}

static gboolean read_proto(CtProto m, Proto *t)
{
    /* The type decides how the values are stored, and may stand after them. */
    CtProtoField f;
    for (CtProto q = m; ct_proto_next(&q, &f);)
        if (f.number == 2 && f.wire == 0)
            t->type = f.value;
    gint dtype = CT_F32;
    gboolean known = ct_onnx_dtype(t->type, &dtype);
    guint bytes = known ? MAX(ct_dtype_bits((CtDtype)dtype) / 8, 1u) : 4;
    while (ct_proto_next(&m, &f)) {
        switch (f.number) {
        case 1:
            add_dims(t, &f);
            break;
        case 4:
        case 10:
            g_byte_array_append(t->values, f.data, (guint)MIN(f.len, (gsize)G_MAXUINT32 / 2));
            break;
        case 5:
            add_varints(t->values, &f, MIN(bytes, 4u));
            break;
        case 6:
            t->strings = TRUE;
            break;
        case 7:
        case 11:
            add_varints(t->values, &f, MIN(bytes, 8u));
            break;
        case 8:
            g_free(t->name);
            t->name = ct_proto_text(&f);
            break;
        case 9:
            t->raw = f;
            break;
        case 13:
            if (f.wire == 2)
                add_place(t, (CtProto)CT_PROTO(f));
            break;
        case 14:
            t->external = f.value == 1;
            break;
        default:
            break;
        }
    }
    return !m.bad;
}

/* The file that was mapped last; models keep most weights in one. */
typedef struct {
    char *location;
    CtBytes *bytes;
} External;

static void external_clear(External *x)
{
    g_clear_pointer(&x->location, g_free);
    g_clear_pointer(&x->bytes, ct_bytes_unref);
}

/* A model names the file, so it must not lead out of the model's folder, by links neither. */
static gboolean external_open(External *x, const char *model, const char *location, GError **error)
{
    if (x->bytes && g_str_equal(x->location, location))
        return TRUE;
    external_clear(x);
    g_autofree char *folder = g_path_get_dirname(model),
                    *joined = g_build_filename(folder, location, NULL);
    g_auto(GStrv) parts = g_strsplit(location, "/", -1);
    gboolean inside = *location && !g_path_is_absolute(location) &&
                      !g_strv_contains((const char *const *)parts, "..");
    char *top = inside ? realpath(folder, NULL) : NULL, *real = top ? realpath(joined, NULL) : NULL;
    gsize len = top ? strlen(top) : 0;
    gboolean missing = inside && !real;
    inside = real && strncmp(top, real, len) == 0 && (real[len] == '/' || g_str_equal(top, "/"));
    if (inside)
        x->bytes = ct_bytes_map(real, error);
    else
        g_set_error(error, CT_ERROR, CT_ERROR_UNSUPPORTED,
                    missing ? "its data lie in '%s', which is not there"
                            : "its data lie in '%s', which is not below the model's folder",
                    location);
    free(top);
    free(real);
    if (x->bytes)
        x->location = g_strdup(location);
    return x->bytes != NULL;
}

static CtTensor *external_tensor(External *x, const Proto *t, CtDtype dtype, const char *path,
                                 const char *name, const char *place, GError **error)
{
    if (!t->location || t->bad_place) {
        g_set_error(error, CT_ERROR, CT_ERROR_UNSUPPORTED,
                    "it does not say where in another file its data lie");
        return NULL;
    }
    if (!external_open(x, path, t->location, error))
        return NULL;
    guint64 size = ct_bytes_len(x->bytes);
    if (t->at > size || t->length > size - t->at) {
        g_set_error(error, CT_ERROR, CT_ERROR_UNSUPPORTED,
                    "its data reach beyond the %" G_GUINT64_FORMAT " bytes of '%s'", size,
                    t->location);
        return NULL;
    }
    gsize len = (gsize)(t->length ? t->length : size - t->at);
    return ct_tensor_over(x->bytes, (gsize)t->at, len, dtype, t->rank, t->dims, name, place, error);
}

static gboolean add_proto(CtTensorSet *set, CtBytes *bytes, const CtProto *m, const char *path,
                          const char *fallback, External *external)
{
    Proto t = {.values = g_byte_array_new()};
    gboolean whole = read_proto(*m, &t);
    g_autofree char *own = t.name, *location = t.location;
    const char *name = own && *own ? own : fallback;
    g_autofree char *place = g_strdup_printf("%s:%s", path, name);
    gint dtype;
    g_autoptr(GByteArray) values = t.values;
    g_autoptr(GError) error = NULL;
    CtTensor *tensor = NULL;
    if (!whole || t.too_deep) {
        ct_tensor_set_broken(set, name, place, "TensorProto is cut or damaged");
    } else if (t.strings || !ct_onnx_dtype(t.type, &dtype)) {
        ct_tensor_set_broken(set, name, place,
                             "element type %" G_GUINT64_FORMAT " is not supported", t.type);
    } else if (t.external) {
        tensor = external_tensor(external, &t, (CtDtype)dtype, path, name, place, &error);
    } else if (t.raw.data) {
        tensor = ct_tensor_over(bytes, (gsize)(t.raw.data - ct_bytes_data(bytes)), t.raw.len,
                                (CtDtype)dtype, t.rank, t.dims, name, place, &error);
    } else {
        gsize len = values->len;
        CtBytes *own_bytes = ct_bytes_take(g_byte_array_free(g_steal_pointer(&values), FALSE), len);
        tensor =
            ct_tensor_over(own_bytes, 0, len, (CtDtype)dtype, t.rank, t.dims, name, place, &error);
        ct_bytes_unref(own_bytes);
    }
    if (error)
        ct_tensor_set_broken(set, name, place, "%s", error->message);
    CtTensorItem *item = tensor ? ct_tensor_set_add(set, CT_ITEM_READY, name, place) : NULL;
    if (item)
        item->tensor = tensor;
    else
        ct_tensor_free(tensor);
    return whole;
}

/* A model has its graph in field 7 and its IR version in field 1; a tensor has its data there. */
static gboolean find_graph(CtProto m, CtProtoField *out)
{
    gboolean version = FALSE;
    CtProtoField f;
    out->data = NULL;
    while (ct_proto_next(&m, &f)) {
        if (f.number == 1 && f.wire == 0)
            version = TRUE;
        else if (f.number == 7 && f.wire == 2)
            *out = f;
        else if (f.number == 2 && f.wire != 2)
            return FALSE;
    }
    return version && out->data && !m.bad;
}

gboolean ct_read_proto(CtTensorSet *set, CtBytes *bytes, const char *path, GError **error)
{
    /* An empty file has no address to count from. */
    const guint8 *p = ct_bytes_len(bytes) ? ct_bytes_data(bytes) : (const guint8 *)"";
    CtProto whole = {p, p + ct_bytes_len(bytes), FALSE};
    CtProtoField graph, f;
    External external = {0};
    g_autofree char *base = g_path_get_basename(path);
    char *dot = strrchr(base, '.');
    if (dot && dot != base)
        *dot = '\0';
    if (!find_graph(whole, &graph)) {
        gboolean ok = add_proto(set, bytes, &whole, path, base, &external);
        external_clear(&external);
        if (!ok)
            return ct_tensor_bad(error, path, 0, "not an ONNX tensor that can be read");
        return TRUE;
    }
    CtProto g = CT_PROTO(graph);
    while (ct_proto_next(&g, &f)) {
        CtProto tensor = CT_PROTO(f);
        if (f.number == 5 && f.wire == 2)
            add_proto(set, bytes, &tensor, path, "(unnamed)", &external);
    }
    external_clear(&external);
    if (set->items->len == 0)
        return ct_tensor_bad(error, path, 0, "the model holds no weights");
    return TRUE;
}
