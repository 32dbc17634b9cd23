/* SPDX-License-Identifier: Apache-2.0 */
/* torch.save: a zip with one pickle of structure and one member for each storage. */
#include <string.h>

#include "base/pytree.h"
#include "tensor/reader.h"

#define MAX_DEPTH 64u
#define MAX_VISITS 4000000u /* shared lists within lists make more paths than there are nodes */

typedef struct {
    CtTensorSet *set;
    const CtPyTree *tree;
    guint8 *open; /* by node: on the path to the root */
    guint visits;
    CtBytes *bytes;
    const char *path, *prefix; /* "archive/" within the zip */
    GHashTable *members;       /* name -> CtZipMember, borrowed */
    gboolean big_endian;
    guint foreign; /* calls that are not PyTorch's own */
} Reader;

static gboolean is(const Reader *r, CtPyNode n, const char *module, const char *name)
{
    return ct_py_type(r->tree, n) == CT_PY_GLOBAL &&
           ct_py_is(r->tree, ct_py_kid(r->tree, n, 0), module) &&
           ct_py_is(r->tree, ct_py_kid(r->tree, n, 1), name);
}

/* At most 1 KiB, as valid UTF-8. */
static char *text_of(const Reader *r, CtPyNode n)
{
    gsize len;
    const char *chars = ct_py_chars(r->tree, n, &len);
    return g_utf8_make_valid(chars, (gssize)MIN(len, (gsize)1024));
}

static gboolean storage_dtype(const Reader *r, CtPyNode type, CtDtype *out)
{
    static const struct {
        const char *name;
        CtDtype dtype;
    } known[] = {{"DoubleStorage", CT_F64},       {"FloatStorage", CT_F32},
                 {"HalfStorage", CT_F16},         {"BFloat16Storage", CT_BF16},
                 {"LongStorage", CT_I64},         {"IntStorage", CT_I32},
                 {"ShortStorage", CT_I16},        {"CharStorage", CT_I8},
                 {"ByteStorage", CT_U8},          {"BoolStorage", CT_BOOL},
                 {"ComplexFloatStorage", CT_C64}, {"ComplexDoubleStorage", CT_C128}};
    CtPyNode name = ct_py_type(r->tree, type) == CT_PY_GLOBAL ? ct_py_kid(r->tree, type, 1) : 0;
    for (gsize i = 0; name && i < G_N_ELEMENTS(known); i++)
        if (ct_py_is(r->tree, name, known[i].name))
            return *out = known[i].dtype, TRUE;
    return FALSE;
}

static gboolean ints(const Reader *r, CtPyNode list, guint *n, gint64 *out)
{
    if (ct_py_type(r->tree, list) != CT_PY_LIST || ct_py_count(r->tree, list) > CT_TENSOR_MAX_RANK)
        return FALSE;
    *n = 0;
    for (CtPyIter it = ct_py_iter(r->tree, list); ct_py_next(r->tree, &it);)
        if (!ct_py_whole(r->tree, it.value, &out[(*n)++]))
            return FALSE;
    return TRUE;
}

/* Copies a view with strides into C order. `esize` bytes an element. */
static CtBytes *gather(const guint8 *base, gsize available, guint esize, guint rank,
                       const gint64 *dims, const gint64 *strides, gint64 first, guint64 n)
{
    guint8 *out = g_try_malloc(n * esize + 1);
    gint64 at[CT_TENSOR_MAX_RANK] = {0};
    gint64 limit = (gint64)(available / esize);
    for (guint64 i = 0; out && i < n; i++) {
        gint64 from = first;
        for (guint d = 0; d < rank; d++)
            from += at[d] * strides[d];
        if (from < 0 || from >= limit) {
            g_free(out);
            return NULL;
        }
        memcpy(out + i * esize, base + (gsize)from * esize, esize);
        for (guint d = rank; d > 0; d--) {
            if (++at[d - 1] < dims[d - 1])
                break;
            at[d - 1] = 0;
        }
    }
    return out ? ct_bytes_take(out, n * esize) : NULL;
}

static gboolean contiguous(guint rank, const gint64 *dims, const gint64 *strides)
{
    gint64 want = 1;
    for (guint d = rank; d > 0; d--) {
        if (dims[d - 1] != 1 && strides[d - 1] != want)
            return FALSE;
        if (!__builtin_mul_overflow(want, dims[d - 1], &want))
            continue;
        return FALSE;
    }
    return TRUE;
}

static gboolean sane_strides(guint rank, const gint64 *dims, const gint64 *strides)
{
    for (guint d = 0; d < rank; d++)
        if (strides[d] < 0 || strides[d] > ((gint64)1 << 40) || dims[d] > ((gint64)1 << 40))
            return FALSE;
    return TRUE;
}

static CtBytes *storage_bytes(Reader *r, const char *key, gsize *offset, gsize *len,
                              const char *place, GError **error)
{
    g_autofree char *member = g_strdup_printf("%sdata/%s", r->prefix, key);
    const CtZipMember *m = g_hash_table_lookup(r->members, member);
    if (!m) {
        ct_tensor_bad(error, place, 0, "storage '%s' is missing in the archive", key);
        return NULL;
    }
    *offset = m->offset;
    *len = m->packed;
    if (m->method == 0)
        return ct_bytes_ref(r->bytes);
    if (m->method != 8) {
        ct_tensor_bad(error, place, m->offset, "compression method %u is not supported", m->method);
        return NULL;
    }
    CtBytes *b = ct_zip_inflate(r->bytes, m->offset, m->packed, m->size, m->crc, place, error);
    *offset = 0;
    *len = (gsize)m->size;
    return b;
}

static CtTensor *make_tensor(Reader *r, CtPyNode args, const char *name, const char *place,
                             GError **error)
{
    const CtPyTree *tree = r->tree;
    CtPyNode storage = ct_py_kid(tree, ct_py_kid(tree, args, 0), 0),
             key = ct_py_kid(tree, storage, 2);
    gint64 first;
    guint rank, n_strides;
    gint64 dims[CT_TENSOR_MAX_RANK], strides[CT_TENSOR_MAX_RANK];
    CtDtype dtype;
    if (ct_py_type(tree, key) != CT_PY_TEXT ||
        !ct_py_whole(tree, ct_py_kid(tree, args, 1), &first) || first < 0 ||
        !ints(r, ct_py_kid(tree, args, 2), &rank, dims) ||
        !ints(r, ct_py_kid(tree, args, 3), &n_strides, strides) || n_strides != rank ||
        !sane_strides(rank, dims, strides)) {
        ct_tensor_bad(error, place, 0, "its description in the pickle makes no sense");
        return NULL;
    }
    if (!storage_dtype(r, ct_py_kid(tree, storage, 1), &dtype)) {
        ct_tensor_bad(error, place, 0, "storage type is not supported");
        return NULL;
    }
    gsize offset, len;
    g_autofree char *member = text_of(r, key);
    g_autoptr(CtBytes) bytes = storage_bytes(r, member, &offset, &len, place, error);
    if (!bytes)
        return NULL;
    guint esize = ct_dtype_bits(dtype) / 8;
    guint64 n;
    gsize size;
    if (!ct_tensor_size(dtype, rank, dims, (gsize)1 << 46, &n, &size) ||
        (guint64)first > len / esize) {
        ct_tensor_bad(error, place, offset, "shape or offset does not fit into its storage");
        return NULL;
    }
    CtTensor *t;
    if (contiguous(rank, dims, strides) || n == 0) {
        gsize skip = (gsize)first * esize;
        t = ct_tensor_over(bytes, offset + skip, len - skip, dtype, rank, dims, name, place, error);
    } else {
        /* A view may repeat elements (expand), but not so often that it is a bomb. */
        g_autoptr(CtBytes) copy = n / 64 <= len ? gather(ct_bytes_data(bytes) + offset, len, esize,
                                                         rank, dims, strides, first, n)
                                                : NULL;
        if (!copy) {
            ct_tensor_bad(error, place, offset, "strides lead outside its storage");
            return NULL;
        }
        t = ct_tensor_over(copy, 0, size, dtype, rank, dims, name, place, error);
    }
    if (t)
        t->big_endian = r->big_endian && ct_dtype_bits(dtype) > 8;
    return t;
}

static void walk(Reader *r, CtPyNode n, const char *name, guint depth);

static void walk_tensor(Reader *r, CtPyNode args, const char *name)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *place = g_strdup_printf("%s:%s", r->path, name);
    CtTensor *t = make_tensor(r, args, name, place, &error);
    CtTensorItem *item = t ? ct_tensor_set_add(r->set, CT_ITEM_READY, name, place) : NULL;
    if (item)
        item->tensor = t;
    else if (t)
        ct_tensor_free(t);
    else
        ct_tensor_set_broken(r->set, name, place, "%s", error->message);
}

/* Told, so that nobody wonders why such a value is missing. */
static void note_foreign(Reader *r, CtPyNode function)
{
    if (ct_py_type(r->tree, function) != CT_PY_GLOBAL)
        return;
    g_autofree char *module = text_of(r, ct_py_kid(r->tree, function, 0)),
                    *name = text_of(r, ct_py_kid(r->tree, function, 1));
    if (!g_str_has_prefix(module, "torch") && !g_str_equal(module, "collections") &&
        r->foreign++ < 3)
        ct_tensor_set_note(r->set, "%s asks to call %s.%s: read as data, not called", r->path,
                           module, name);
}

static void walk_call(Reader *r, CtPyNode n, const char *name, guint depth)
{
    const CtPyTree *tree = r->tree;
    CtPyNode f = ct_py_kid(tree, n, 0), args = ct_py_kid(tree, n, 1),
             first = ct_py_kid(tree, args, 0);
    if (is(r, f, "torch._utils", "_rebuild_tensor_v2") ||
        is(r, f, "torch._utils", "_rebuild_tensor")) {
        walk_tensor(r, args, name);
        return;
    }
    if (is(r, f, "torch._utils", "_rebuild_parameter") ||
        is(r, f, "torch._utils", "_rebuild_parameter_with_state")) {
        walk(r, first, name, depth);
        return;
    }
    if (is(r, f, "torch._tensor", "_rebuild_from_type_v2") &&
        is(r, first, "torch._utils", "_rebuild_tensor_v2")) {
        walk_tensor(r, ct_py_kid(tree, args, 2), name);
        return;
    }
    note_foreign(r, f);
    CtPyIter it = ct_py_iter_kids(tree, n);
    ct_py_next(tree, &it); /* the function */
    while (ct_py_next(tree, &it))
        walk(r, it.value, name, depth);
}

/* Modules keep their parts in dictionaries that names elsewhere do not show. */
static gboolean wrapping(const char *key)
{
    return g_str_equal(key, "_parameters") || g_str_equal(key, "_modules") ||
           g_str_equal(key, "_buffers");
}

static char *below(const char *name, const char *key)
{
    if (wrapping(key))
        return g_strdup(name);
    return *name ? g_strdup_printf("%.2048s.%.512s", name, key) : g_strndup(key, 512);
}

static void walk_entry(Reader *r, CtPyNode key, CtPyNode value, const char *name, guint depth)
{
    gint64 number;
    g_autofree char *word = ct_py_type(r->tree, key) == CT_PY_TEXT ? text_of(r, key)
                            : ct_py_whole(r->tree, key, &number)
                                ? g_strdup_printf("%" G_GINT64_FORMAT, number)
                                : g_strdup("?");
    g_autofree char *inner = below(name, word);
    walk(r, value, inner, depth);
}

/* An OrderedDict is called empty and then filled: its items follow function and arguments. */
static void walk_ordered(Reader *r, CtPyNode n, const char *name, guint depth)
{
    CtPyIter it = ct_py_iter_kids(r->tree, n);
    ct_py_next(r->tree, &it);
    ct_py_next(r->tree, &it);
    it.dict = TRUE;
    while (ct_py_next(r->tree, &it) && ct_py_type(r->tree, it.key) == CT_PY_TEXT)
        walk_entry(r, it.key, it.value, name, depth);
}

static void walk_inside(Reader *r, CtPyNode n, const char *name, guint depth)
{
    CtPyType type = ct_py_type(r->tree, n);
    guint i = 0;
    if (type == CT_PY_CALL && is(r, ct_py_kid(r->tree, n, 0), "collections", "OrderedDict"))
        walk_ordered(r, n, name, depth);
    else if (type == CT_PY_CALL)
        walk_call(r, n, name, depth);
    for (CtPyIter it = ct_py_iter(r->tree, n); ct_py_next(r->tree, &it); i++) {
        if (type == CT_PY_DICT) {
            walk_entry(r, it.key, it.value, name, depth);
            continue;
        }
        g_autofree char *word = g_strdup_printf("%u", i), *inner = below(name, word);
        walk(r, it.value, inner, depth);
    }
}

static void walk(Reader *r, CtPyNode n, const char *name, guint depth)
{
    if (n == 0 || depth > MAX_DEPTH || r->open[n] || r->set->items->len >= CT_MAX_TENSORS ||
        r->visits++ >= MAX_VISITS)
        return;
    r->open[n] = TRUE;
    walk_inside(r, n, name, depth + 1);
    r->open[n] = FALSE;
}

static gboolean read_structure(Reader *r, const guint8 *data, gsize len, GError **error)
{
    const char *why;
    gsize at;
    g_autoptr(CtPyTree) tree = ct_py_read_pickle(data, len, &why, &at);
    if (!tree)
        return ct_tensor_bad(error, r->path, at, "%s (opcode 0x%02x)", why,
                             at < len ? data[at] : 0);
    g_autofree guint8 *open = g_new0(guint8, ct_py_nodes(tree));
    r->tree = tree;
    r->open = open;
    walk(r, ct_py_root(tree), "", 0);
    r->tree = NULL;
    if (r->visits >= MAX_VISITS)
        ct_tensor_set_note(r->set,
                           "%s: its lists refer to each other so often that not all of it was "
                           "looked at",
                           r->path);
    return TRUE;
}

gboolean ct_read_pt(CtTensorSet *set, CtBytes *bytes, const char *path, GPtrArray *members,
                    GError **error)
{
    g_autoptr(GHashTable) by_name = g_hash_table_new(g_str_hash, g_str_equal);
    const CtZipMember *pickle = NULL;
    for (guint i = 0; i < members->len; i++) {
        const CtZipMember *m = members->pdata[i];
        g_hash_table_insert(by_name, m->name, (gpointer)m);
        if (g_str_has_suffix(m->name, "/data.pkl") || g_str_equal(m->name, "data.pkl"))
            pickle = m;
    }
    if (!pickle)
        return ct_tensor_bad(error, path, 0,
                             "the archive holds neither arrays nor a PyTorch pickle");
    g_autofree char *prefix = g_strndup(pickle->name, strlen(pickle->name) - strlen("data.pkl"));
    g_autofree char *order = g_strdup_printf("%sbyteorder", prefix);
    Reader r = {.set = set, .bytes = bytes, .path = path, .prefix = prefix, .members = by_name};
    const CtZipMember *byteorder = g_hash_table_lookup(by_name, order);
    if (byteorder && byteorder->method == 0 && byteorder->packed == 3)
        r.big_endian = memcmp(ct_bytes_data(bytes) + byteorder->offset, "big", 3) == 0;
    g_autoptr(CtBytes) text = pickle->method == 8
                                  ? ct_zip_inflate(bytes, pickle->offset, pickle->packed,
                                                   pickle->size, pickle->crc, path, error)
                                  : ct_bytes_ref(bytes);
    if (!text)
        return FALSE;
    gboolean packed = pickle->method == 8;
    if (!read_structure(&r, ct_bytes_data(text) + (packed ? 0 : pickle->offset),
                        packed ? (gsize)pickle->size : pickle->packed, error))
        return FALSE;
    if (set->items->len == 0)
        return ct_tensor_bad(error, path, 0, "the pickle holds no tensors");
    return TRUE;
}
