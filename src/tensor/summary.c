/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Read by lines and not as JSON: names stand in it unescaped, and a run that crashed leaves it
 * without its end, which is when it is needed most.
 */
#include "tensor/summary.h"

#include <string.h>

#define MAX_SUMMARY ((gsize)64 << 20)

static void entry_free(gpointer data)
{
    CtSummaryEntry *e = data;
    g_free(e->name);
    g_free(e);
}

/* The text between the quotes of `"key": "text",`. */
static char *value_of(const char *line, const char *key)
{
    g_autofree char *start = g_strdup_printf("\"%s\": \"", key);
    if (!g_str_has_prefix(line, start))
        return NULL;
    const char *from = line + strlen(start), *to = strrchr(from, '"');
    return to ? g_strndup(from, (gsize)(to - from)) : NULL;
}

static void read_shape(const char *line, CtReadOptions *o)
{
    const char *p = strchr(line, '[');
    o->rank = 0;
    o->has_shape = p != NULL;
    while (p && o->rank < CT_TENSOR_MAX_RANK) {
        p += 1 + strspn(p + 1, " ");
        if (!g_ascii_isdigit(*p))
            break;
        o->dims[o->rank++] = (gint64)MIN(g_ascii_strtoull(p, NULL, 10), (guint64)1 << 48);
        p = strchr(p, ',');
    }
}

/* "files": { "numpy": "0007_x.npy", "raw": "0007_x.raw" } */
static void read_files(const char *line, const CtSummaryEntry *now, GHashTable *out)
{
    g_auto(GStrv) parts = g_strsplit(line, "\"", -1);
    for (guint i = 0; parts[i]; i++) {
        if (!strchr(parts[i], '.') || strchr(parts[i], '/'))
            continue;
        CtSummaryEntry *e = ct_memdup(now, sizeof *now);
        e->name = g_strdup(now->name);
        /* What trtexec converted for npy has another type than the tensor. */
        g_hash_table_insert(out, g_strdup(parts[i]), e);
    }
}

typedef struct {
    const CtBytes *bytes;
    char *text;
} Copy;

static void copy_text(gpointer data)
{
    Copy *c = data;
    c->text = g_strndup((const char *)ct_bytes_data(c->bytes), ct_bytes_len(c->bytes));
}

GHashTable *ct_summary_read(const char *folder)
{
    g_autofree char *path = g_build_filename(folder, "tensor_summary.json", NULL), *text = NULL;
    g_autoptr(CtBytes) bytes = ct_bytes_map(path, NULL);
    if (!bytes || ct_bytes_len(bytes) > MAX_SUMMARY || ct_bytes_len(bytes) == 0)
        return NULL;
    Copy copy = {bytes, NULL};
    if (!ct_bytes_guard(copy_text, &copy, NULL))
        return NULL;
    text = copy.text;
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    GHashTable *out = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, entry_free);
    CtSummaryEntry now = {0};
    for (guint i = 0; lines[i]; i++) {
        const char *line = g_strstrip(lines[i]);
        char *name = value_of(line, "name");
        if (name) {
            g_free(now.name);
            now = (CtSummaryEntry){.name = g_utf8_make_valid(name, -1)};
            g_free(name);
        }
        g_autofree char *type = value_of(line, "type");
        if (type)
            now.options.has_dtype = ct_dtype_parse(type, &now.options.dtype);
        if (g_str_has_prefix(line, "\"shape\""))
            read_shape(line, &now.options);
        if (now.name && g_str_has_prefix(line, "\"files\""))
            read_files(strchr(line, ':'), &now, out);
    }
    g_free(now.name);
    return out;
}
