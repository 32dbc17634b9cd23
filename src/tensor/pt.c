/* SPDX-License-Identifier: Apache-2.0 */
/* torch.save: a zip with one pickle of structure and one member for each storage. */
#include <string.h>

#include "tensor/pickle.h"
#include "tensor/reader.h"

#define MAX_DEPTH 64u

typedef struct {
    CtTensorSet *set;
    CtBytes *bytes;
    const char *path, *prefix; /* "archive/" within the zip */
    GHashTable *members;       /* name -> CtZipMember, borrowed */
    gboolean big_endian;
    guint foreign; /* calls that are not PyTorch's own */
} Reader;

static gboolean is(const CtPickleNode *n, const char *module_and_name)
{
    return n && n->type == CT_PICKLE_GLOBAL && g_str_equal(n->text, module_and_name);
}

static gboolean storage_dtype(const CtPickleNode *type, CtDtype *out)
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
    const char *name = type && type->type == CT_PICKLE_GLOBAL ? strchr(type->text, ' ') : NULL;
    for (gsize i = 0; name && i < G_N_ELEMENTS(known); i++)
        if (g_str_equal(name + 1, known[i].name))
            return *out = known[i].dtype, TRUE;
    return FALSE;
}

static gboolean ints(const CtPickleNode *list, guint *n, gint64 *out)
{
    if (!list || !list->kids || list->kids->len > CT_TENSOR_MAX_RANK)
        return FALSE;
    *n = list->kids->len;
    for (guint i = 0; i < *n; i++) {
        const CtPickleNode *k = list->kids->pdata[i];
        if (k->type != CT_PICKLE_INT)
            return FALSE;
        out[i] = k->number;
    }
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

static CtTensor *make_tensor(Reader *r, const CtPickleNode *args, const char *name,
                             const char *place, GError **error)
{
    const CtPickleNode *storage = ct_pickle_kid(ct_pickle_kid(args, 0), 0),
                       *first = ct_pickle_kid(args, 1), *key = ct_pickle_kid(storage, 2);
    guint rank, n_strides;
    gint64 dims[CT_TENSOR_MAX_RANK], strides[CT_TENSOR_MAX_RANK];
    CtDtype dtype;
    if (!key || !key->text || !first || first->type != CT_PICKLE_INT || first->number < 0 ||
        !ints(ct_pickle_kid(args, 2), &rank, dims) ||
        !ints(ct_pickle_kid(args, 3), &n_strides, strides) || n_strides != rank ||
        !sane_strides(rank, dims, strides)) {
        ct_tensor_bad(error, place, 0, "its description in the pickle makes no sense");
        return NULL;
    }
    if (!storage_dtype(ct_pickle_kid(storage, 1), &dtype)) {
        ct_tensor_bad(error, place, 0, "storage type is not supported");
        return NULL;
    }
    gsize offset, len;
    g_autoptr(CtBytes) bytes = storage_bytes(r, key->text, &offset, &len, place, error);
    if (!bytes)
        return NULL;
    guint esize = ct_dtype_bits(dtype) / 8;
    guint64 n;
    gsize size;
    if (!ct_tensor_size(dtype, rank, dims, (gsize)1 << 46, &n, &size) ||
        (guint64)first->number > len / esize) {
        ct_tensor_bad(error, place, offset, "shape or offset does not fit into its storage");
        return NULL;
    }
    CtTensor *t;
    if (contiguous(rank, dims, strides) || n == 0) {
        gsize skip = (gsize)first->number * esize;
        t = ct_tensor_over(bytes, offset + skip, len - skip, dtype, rank, dims, name, place, error);
    } else {
        /* A view may repeat elements (expand), but not so often that it is a bomb. */
        g_autoptr(CtBytes) copy = n / 64 <= len ? gather(ct_bytes_data(bytes) + offset, len, esize,
                                                         rank, dims, strides, first->number, n)
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

static void walk(Reader *r, CtPickleNode *n, const char *name, guint depth);

static void walk_tensor(Reader *r, const CtPickleNode *args, const char *name)
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

static void walk_call(Reader *r, CtPickleNode *n, const char *name, guint depth)
{
    const CtPickleNode *f = ct_pickle_kid(n, 0);
    CtPickleNode *args = ct_pickle_kid(n, 1);
    if (is(f, "torch._utils _rebuild_tensor_v2") || is(f, "torch._utils _rebuild_tensor")) {
        walk_tensor(r, args, name);
        return;
    }
    if (is(f, "torch._utils _rebuild_parameter") ||
        is(f, "torch._utils _rebuild_parameter_with_state")) {
        if (ct_pickle_kid(args, 0))
            walk(r, ct_pickle_kid(args, 0), name, depth);
        return;
    }
    if (is(f, "torch._tensor _rebuild_from_type_v2") &&
        is(ct_pickle_kid(args, 0), "torch._utils _rebuild_tensor_v2")) {
        walk_tensor(r, ct_pickle_kid(args, 2), name);
        return;
    }
    if (f && f->type == CT_PICKLE_GLOBAL && !g_str_has_prefix(f->text, "torch") &&
        !g_str_has_prefix(f->text, "collections ") && r->foreign++ < 3) {
        g_autofree char *dotted = g_strdelimit(g_strdup(f->text), " ", '.');
        ct_tensor_set_note(r->set, "%s asks to call %s: read as data, not called", r->path, dotted);
    }
    for (guint i = 1; n->kids && i < n->kids->len; i++)
        walk(r, n->kids->pdata[i], name, depth);
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

static void walk(Reader *r, CtPickleNode *n, const char *name, guint depth)
{
    if (depth > MAX_DEPTH || n->open || r->set->items->len >= CT_MAX_TENSORS)
        return;
    n->open = TRUE;
    if (n->type == CT_PICKLE_CALL) {
        gboolean ordered = is(ct_pickle_kid(n, 0), "collections OrderedDict");
        /* An OrderedDict is called empty and then filled: its items follow function and arguments.
         */
        for (guint i = 2; ordered && i + 1 < n->kids->len; i += 2) {
            const CtPickleNode *key = n->kids->pdata[i];
            if (key->type != CT_PICKLE_TEXT)
                break;
            g_autofree char *inner = below(name, key->text);
            walk(r, n->kids->pdata[i + 1], inner, depth + 1);
        }
        if (!ordered)
            walk_call(r, n, name, depth + 1);
    } else if (n->type == CT_PICKLE_DICT) {
        for (guint i = 0; i + 1 < n->kids->len; i += 2) {
            const CtPickleNode *key = n->kids->pdata[i];
            g_autofree char *word = key->type == CT_PICKLE_TEXT ? g_strdup(key->text)
                                    : key->type == CT_PICKLE_INT
                                        ? g_strdup_printf("%" G_GINT64_FORMAT, key->number)
                                        : g_strdup("?");
            g_autofree char *inner = below(name, word);
            walk(r, n->kids->pdata[i + 1], inner, depth + 1);
        }
    } else if (n->type == CT_PICKLE_LIST || n->type == CT_PICKLE_TUPLE) {
        for (guint i = 0; i < n->kids->len; i++) {
            g_autofree char *word = g_strdup_printf("%u", i), *inner = below(name, word);
            walk(r, n->kids->pdata[i], inner, depth + 1);
        }
    }
    n->open = FALSE;
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
    Reader r = {set, bytes, path, prefix, by_name, FALSE, 0};
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
    g_autoptr(CtPickle) root =
        ct_pickle_read(ct_bytes_data(text) + (packed ? 0 : pickle->offset),
                       packed ? (gsize)pickle->size : pickle->packed, path, error);
    if (!root)
        return FALSE;
    walk(&r, root->root, "", 0);
    if (set->items->len == 0)
        return ct_tensor_bad(error, path, 0, "the pickle holds no tensors");
    return TRUE;
}
