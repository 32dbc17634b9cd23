/* SPDX-License-Identifier: Apache-2.0 */
/* Which reader a file takes, folders of dumps, and fetching one tensor. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "tensor/reader.h"
#include "tensor/summary.h"

#define MAX_FOLDER_DEPTH 6u

static void item_free(gpointer data)
{
    CtTensorItem *item = data;
    g_free(item->name);
    g_free(item->place);
    g_free(item->group);
    g_free(item->problem);
    ct_bytes_unref(item->bytes);
    ct_tensor_free(item->tensor);
    g_free(item);
}

gboolean ct_tensor_bad(GError **error, const char *place, guint64 offset, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_autofree char *what = g_strdup_vprintf(format, args);
    va_end(args);
    g_set_error(error, CT_ERROR, CT_ERROR_CORRUPT, "%s: offset %" G_GUINT64_FORMAT ": %s", place,
                offset, what);
    return FALSE;
}

CtTensorItem *ct_tensor_set_add(CtTensorSet *set, CtItemKind kind, const char *name,
                                const char *place)
{
    if (set->items->len >= CT_MAX_TENSORS)
        return NULL;
    CtTensorItem *item = g_new0(CtTensorItem, 1);
    item->kind = kind;
    item->name = g_strdup(*name ? name : "tensor");
    item->place = g_strdup(place);
    item->order = -1;
    g_ptr_array_add(set->items, item);
    return item;
}

void ct_tensor_set_broken(CtTensorSet *set, const char *name, const char *place, const char *format,
                          ...)
{
    CtTensorItem *item = ct_tensor_set_add(set, CT_ITEM_BROKEN, name, place);
    if (!item)
        return;
    va_list args;
    va_start(args, format);
    item->problem = g_strdup_vprintf(format, args);
    va_end(args);
}

void ct_tensor_set_note(CtTensorSet *set, const char *format, ...)
{
    if (set->notes->len >= 100)
        return;
    va_list args;
    va_start(args, format);
    g_ptr_array_add(set->notes, g_strdup_vprintf(format, args));
    va_end(args);
}

CtTensor *ct_tensor_over(CtBytes *bytes, gsize offset, gsize available, CtDtype dtype, guint rank,
                         const gint64 *dims, const char *name, const char *place, GError **error)
{
    guint64 n;
    gsize size;
    if (!ct_tensor_size(dtype, rank, dims, available, &n, &size)) {
        ct_tensor_bad(error, place, offset,
                      "shape and type ask for more than the %zu bytes that are there", available);
        return NULL;
    }
    CtTensor *t = g_new0(CtTensor, 1);
    t->name = g_strdup(name);
    t->path = g_strdup(place);
    t->dtype = dtype;
    t->rank = rank;
    memcpy(t->dims, dims, rank * sizeof *dims);
    t->bytes = ct_bytes_ref(bytes);
    t->offset = offset;
    t->place = offset;
    t->n = n;
    return t;
}

static gboolean starts(CtBytes *b, const char *with, gsize len)
{
    return ct_bytes_len(b) >= len && memcmp(ct_bytes_data(b), with, len) == 0;
}

static gboolean looks_like_json(CtBytes *b)
{
    const guint8 *p = ct_bytes_data(b);
    gsize i = 0, len = MIN(ct_bytes_len(b), (gsize)4096);
    while (i < len && g_ascii_isspace((char)p[i]))
        i++;
    return i < len && (p[i] == '{' || p[i] == '[');
}

static gboolean looks_like_safetensors(CtBytes *b)
{
    const guint8 *p = ct_bytes_data(b);
    if (ct_bytes_len(b) < 10 || p[8] != '{')
        return FALSE;
    return p[4] == 0 && p[5] == 0 && p[6] == 0 && p[7] == 0;
}

static gboolean read_zip(CtTensorSet *set, CtBytes *bytes, const char *path, GError **error)
{
    g_autoptr(GPtrArray) members = ct_zip_list(bytes, path, error);
    if (!members)
        return FALSE;
    for (guint i = 0; i < members->len; i++)
        if (g_str_has_suffix(((CtZipMember *)members->pdata[i])->name, ".npy")) {
            set->format = "npz";
            return ct_read_npz(set, bytes, path, members, error);
        }
    set->format = "pt";
    return ct_read_pt(set, bytes, path, members, error);
}

static gboolean read_npy(CtTensorSet *set, CtBytes *bytes, const char *path)
{
    g_autofree char *base = g_path_get_basename(path);
    if (g_str_has_suffix(base, ".npy"))
        base[strlen(base) - 4] = '\0';
    CtTensorItem *item = ct_tensor_set_add(set, CT_ITEM_NPY, base, path);
    item->bytes = ct_bytes_ref(bytes);
    item->len = ct_bytes_len(bytes);
    return TRUE;
}

static gboolean read_into(CtTensorSet *set, CtBytes *bytes, const char *path,
                          const CtReadOptions *options, GError **error)
{
    if (starts(bytes, "\x93NUMPY", 6)) {
        set->format = "npy";
        return read_npy(set, bytes, path);
    }
    if (ct_bytes_len(bytes) && ct_zip_sniff(ct_bytes_data(bytes), ct_bytes_len(bytes)))
        return read_zip(set, bytes, path, error);
    if (looks_like_safetensors(bytes)) {
        set->format = "safetensors";
        return ct_read_safetensors(set, bytes, path, error);
    }
    if (g_str_has_suffix(path, ".pb") || g_str_has_suffix(path, ".onnx")) {
        set->format = "onnx";
        return ct_read_proto(set, bytes, path, error);
    }
    if (looks_like_json(bytes) && !g_str_has_suffix(path, ".raw") &&
        !g_str_has_suffix(path, ".bin")) {
        set->format = "json";
        return ct_read_json(set, bytes, path, error);
    }
    if (starts(bytes, "\x80\x02\x8a\x0a", 4))
        return ct_tensor_bad(error, path, 0,
                             "PyTorch's format before 1.6 is not read: load and save it again");
    set->format = "raw";
    return ct_read_raw(set, bytes, path, options, error);
}

CtTensorSet *ct_tensor_set_new(const char *path)
{
    CtTensorSet *set = g_new0(CtTensorSet, 1);
    set->path = g_strdup(path);
    set->format = "?";
    set->items = g_ptr_array_new_with_free_func(item_free);
    set->notes = g_ptr_array_new_with_free_func(g_free);
    return set;
}

CtTensorSet *ct_tensor_set_read(CtBytes *bytes, const char *name, const CtReadOptions *options,
                                GError **error)
{
    g_autoptr(CtTensorSet) set = ct_tensor_set_new(name);
    set->n_files = 1;
    return read_into(set, bytes, name, options, error) ? g_steal_pointer(&set) : NULL;
}

/* Numbers within names count as numbers: layer2 comes before layer10. */
static gint natural(const char *a, const char *b)
{
    while (*a && *b) {
        if (g_ascii_isdigit(*a) && g_ascii_isdigit(*b)) {
            guint64 x = g_ascii_strtoull(a, (char **)&a, 10),
                    y = g_ascii_strtoull(b, (char **)&b, 10);
            if (x != y)
                return x < y ? -1 : 1;
            continue;
        }
        if (*a != *b)
            return (guchar)*a < (guchar)*b ? -1 : 1;
        a++;
        b++;
    }
    return (guchar)*a - (guchar)*b;
}

static gint by_name(gconstpointer a, gconstpointer b)
{
    return natural(*(char *const *)a, *(char *const *)b);
}

static gboolean list_folder(const char *root, const char *below, guint depth, GPtrArray *out,
                            GError **error)
{
    g_autofree char *path = *below ? g_build_filename(root, below, NULL) : g_strdup(root);
    g_autoptr(GDir) dir = g_dir_open(path, 0, error);
    if (!dir)
        return FALSE;
    for (const char *name; (name = g_dir_read_name(dir)) && out->len < CT_MAX_FILES;) {
        if (name[0] == '.')
            continue;
        char *inner = *below ? g_build_filename(below, name, NULL) : g_strdup(name);
        g_autofree char *full = g_build_filename(root, inner, NULL);
        if (g_file_test(full, G_FILE_TEST_IS_DIR)) {
            if (depth < MAX_FOLDER_DEPTH)
                list_folder(root, inner, depth + 1, out, NULL);
            g_free(inner);
        } else {
            g_ptr_array_add(out, inner);
        }
    }
    return TRUE;
}

/* "0007_conv.npy" carries its place in the order of execution; so do "7-conv" and "07.conv". */
static gint64 leading_number(const char *name, gsize *len)
{
    gsize n = 0;
    while (g_ascii_isdigit(name[n]))
        n++;
    if (n == 0 || n > 9 || !strchr("_-.", name[n]) || !name[n] || !name[n + 1])
        return -1;
    *len = n + 1;
    return (gint64)g_ascii_strtoull(name, NULL, 10);
}

static gboolean worth_reading(const char *name)
{
    static const char *const endings[] = {".npy", ".npz", ".safetensors", ".json", ".pt",  ".pth",
                                          ".bin", ".pb",  ".raw",         ".dat",  ".ckpt"};
    for (gsize i = 0; i < G_N_ELEMENTS(endings); i++)
        if (g_str_has_suffix(name, endings[i]))
            return TRUE;
    return FALSE;
}

/* Adds the file's tensors under names that hold within the folder. */
static void add_file(CtTensorSet *set, const char *root, const char *name,
                     const CtReadOptions *options, GHashTable *summary)
{
    const CtSummaryEntry *entry = summary ? g_hash_table_lookup(summary, name) : NULL;
    if (entry && g_str_has_suffix(name, ".raw") && entry->options.has_dtype)
        options = &entry->options;
    g_autofree char *full = g_build_filename(root, name, NULL);
    g_autoptr(GError) error = NULL;
    CtTensorSet *one = ct_tensor_set_open(full, options, &error);
    if (!one) {
        /* JSON beside dumps is mostly something else (a summary, a graph). */
        if (g_str_has_suffix(name, ".json") || !worth_reading(name))
            ct_tensor_set_note(set, "passed over %s", error->message);
        else
            ct_tensor_set_broken(set, name, full, "%s", error->message);
        return;
    }
    if (set->n_files++ == 0)
        set->format = one->format;
    g_autofree char *stem = g_strdup(name);
    char *dot = strrchr(stem, '.');
    if (dot && dot != stem)
        *dot = '\0';
    for (guint i = 0; i < one->items->len && set->items->len < CT_MAX_TENSORS; i++) {
        CtTensorItem *item = one->items->pdata[i];
        gboolean single = one->items->len == 1 && !g_str_equal(one->format, "json");
        if (single) {
            g_free(item->name);
            gsize skip = 0;
            g_autofree char *base = g_path_get_basename(stem);
            item->order = leading_number(base, &skip);
            if (entry) {
                item->name = g_strdup(entry->name);
                g_ptr_array_add(set->items, item);
                one->items->pdata[i] = NULL;
                continue;
            }
            g_autofree char *dir = g_path_get_dirname(stem);
            item->name = g_str_equal(dir, ".") ? g_strdup(base + skip)
                                               : g_build_filename(dir, base + skip, NULL);
        }
        g_ptr_array_add(set->items, item);
        one->items->pdata[i] = NULL;
    }
    for (guint i = 0; i < one->notes->len; i++)
        ct_tensor_set_note(set, "%s", (char *)one->notes->pdata[i]);
    g_ptr_array_set_free_func(one->items, NULL);
    for (guint i = 0; i < one->items->len; i++)
        if (one->items->pdata[i])
            item_free(one->items->pdata[i]);
    ct_tensor_set_free(one);
}

static gint by_order(gconstpointer a, gconstpointer b)
{
    const CtTensorItem *x = *(CtTensorItem *const *)a, *y = *(CtTensorItem *const *)b;
    if (x->order != y->order)
        return x->order < y->order ? -1 : 1;
    return natural(x->place, y->place);
}

static CtTensorSet *open_folder(const char *path, const CtReadOptions *options, GError **error)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    if (!list_folder(path, "", 0, names, error))
        return NULL;
    g_ptr_array_sort(names, by_name);
    g_autoptr(CtTensorSet) set = ct_tensor_set_new(path);
    g_autoptr(GHashTable) summary = ct_summary_read(path);
    for (guint i = 0; i < names->len; i++)
        if (!g_str_equal(names->pdata[i], "tensor_summary.json"))
            add_file(set, path, names->pdata[i], options, summary);
    if (set->items->len == 0) {
        g_set_error(error, CT_ERROR, CT_ERROR_NOT_FOUND, "%s: no tensor files in this folder",
                    path);
        return NULL;
    }
    guint numbered = 0;
    for (guint i = 0; i < set->items->len; i++)
        numbered += ((CtTensorItem *)set->items->pdata[i])->order >= 0;
    set->ordered = numbered == set->items->len;
    set->unordered = !set->ordered && set->n_files > 1;
    if (set->ordered)
        g_ptr_array_sort(set->items, by_order);
    return g_steal_pointer(&set);
}

typedef struct {
    CtBytes *bytes;
    const char *path;
    const CtReadOptions *options;
    CtTensorSet *set; /* made outside of the guard: an interrupted reader leaves it to us */
    GError *error;
    gboolean read;
} Opening;

static void read_file(gpointer data)
{
    Opening *o = data;
    o->read = read_into(o->set, o->bytes, o->path, o->options, &o->error);
}

CtTensorSet *ct_tensor_set_open(const char *path, const CtReadOptions *options, GError **error)
{
    if (g_file_test(path, G_FILE_TEST_IS_DIR))
        return open_folder(path, options, error);
    g_autoptr(CtBytes) bytes = ct_bytes_map(path, error);
    if (!bytes)
        return NULL;
    g_autoptr(CtTensorSet) set = ct_tensor_set_new(path);
    Opening o = {.bytes = bytes, .path = path, .options = options, .set = set};
    set->n_files = 1;
    if (!ct_bytes_guard(read_file, &o, error)) {
        g_prefix_error(error, "%s: ", path);
        return NULL;
    }
    if (!o.read)
        g_propagate_error(error, o.error);
    return o.read ? g_steal_pointer(&set) : NULL;
}

void ct_tensor_set_free(CtTensorSet *set)
{
    if (!set)
        return;
    g_free(set->path);
    g_ptr_array_unref(set->items);
    g_ptr_array_unref(set->notes);
    g_free(set);
}

static CtTensor *copy_tensor(const CtTensor *t)
{
    CtTensor *c = ct_memdup(t, sizeof *t);
    c->name = g_strdup(t->name);
    c->path = g_strdup(t->path);
    ct_bytes_ref(c->bytes);
    return c;
}

static CtBytes *decoded(const CtTensorItem *item, GError **error)
{
    gsize len;
    guint8 *data = ct_base64_decode(item->bytes, item->offset, item->len, &len);
    if (!data)
        ct_tensor_bad(error, item->place, item->offset, "base64 is cut or damaged");
    return data ? ct_bytes_take(data, len) : NULL;
}

static CtTensor *load_pt(const CtTensorItem *item, GError **error)
{
    g_autoptr(CtBytes) bytes = decoded(item, error);
    g_autoptr(CtTensorSet) set = bytes ? ct_tensor_set_read(bytes, item->place, NULL, error) : NULL;
    if (!set)
        return NULL;
    const CtTensorItem *first = set->items->pdata[0];
    return first->kind == CT_ITEM_READY
               ? ct_tensor_item_load(first, error)
               : (ct_tensor_bad(error, item->place, item->offset, "holds no tensor"), NULL);
}

CtTensor *ct_tensor_item_load(const CtTensorItem *item, GError **error)
{
    g_autoptr(CtBytes) bytes = NULL;
    switch (item->kind) {
    case CT_ITEM_READY:
        return copy_tensor(item->tensor);
    case CT_ITEM_NPY:
        return ct_npy_parse(item->bytes, item->offset, item->len, item->name, item->place, error);
    case CT_ITEM_NPY_DEFLATED:
        bytes = ct_zip_inflate(item->bytes, item->offset, item->len, item->inflated, item->crc,
                               item->place, error);
        break;
    case CT_ITEM_NPY_BASE64:
        bytes = decoded(item, error);
        break;
    case CT_ITEM_NUMBERS:
        return ct_numbers_parse(item, error);
    case CT_ITEM_PT_BASE64:
        return load_pt(item, error);
    case CT_ITEM_BROKEN:
    default:
        g_set_error(error, CT_ERROR, CT_ERROR_CORRUPT, "%s", item->problem);
        return NULL;
    }
    return bytes ? ct_npy_parse(bytes, 0, ct_bytes_len(bytes), item->name, item->place, error)
                 : NULL;
}
