/* SPDX-License-Identifier: Apache-2.0 */
#include "evidence/fold.h"

#include <string.h>

#include "base/limits.h"

enum { N_TEXTS = 5 };

/* What makes two events equal. As a key of the table the texts are owned (one block), as a key to
 * look up they are the caller's. NULL and "" are the same. */
typedef struct {
    gint64 numbers[4]; /* section, code, pid, rank */
    const char *text[N_TEXTS];
    gsize len[N_TEXTS];
    guint hash;
} Key;

typedef struct {
    Key key; /* first: the table's key points here */
    CtFold fold;
    char texts[];
} Entry;

struct CtFoldTable {
    GHashTable *entries; /* Key -> Entry */
    GHashTable *kinds;   /* kind -> guint * */
    GPtrArray *dirty;    /* CtFold, borrowed; may name one twice */
};

static guint64 mix(guint64 h, guint64 value)
{
    h = (h ^ value) * G_GUINT64_CONSTANT(0x9e3779b97f4a7c15);
    return h ^ (h >> 29);
}

static guint64 mix_text(guint64 h, const char *text, gsize len)
{
    guint64 word;
    h = mix(h, len);
    for (; len >= sizeof(word); len -= sizeof(word), text += sizeof(word)) {
        memcpy(&word, text, sizeof(word));
        h = mix(h, word);
    }
    word = 0;
    memcpy(&word, text, len);
    return mix(h, word);
}

static void key_of(const CtEventRow *row, Key *key)
{
    const char *texts[N_TEXTS] = {row->kind, row->name, row->subject, row->gpu, row->detail};
    guint64 h = 0;
    key->numbers[0] = row->section;
    key->numbers[1] = row->has_code ? row->code : CT_NONE;
    key->numbers[2] = row->has_pid ? row->pid : CT_NONE;
    key->numbers[3] = row->has_rank ? row->rank : CT_NONE;
    for (guint i = 0; i < G_N_ELEMENTS(key->numbers); i++)
        h = mix(h, (guint64)key->numbers[i]);
    for (guint i = 0; i < N_TEXTS; i++) {
        key->text[i] = texts[i] ? texts[i] : "";
        key->len[i] = strlen(key->text[i]);
        h = mix_text(h, key->text[i], key->len[i]);
    }
    key->hash = (guint)(h ^ (h >> 32));
}

static guint key_hash(gconstpointer data)
{
    return ((const Key *)data)->hash;
}

static gboolean key_equal(gconstpointer a, gconstpointer b)
{
    const Key *x = a, *y = b;
    if (memcmp(x->numbers, y->numbers, sizeof(x->numbers)) != 0)
        return FALSE;
    for (guint i = 0; i < N_TEXTS; i++)
        if (x->len[i] != y->len[i] || memcmp(x->text[i], y->text[i], x->len[i]) != 0)
            return FALSE;
    return TRUE;
}

CtFoldTable *ct_fold_table_new(void)
{
    CtFoldTable *table = g_new0(CtFoldTable, 1);
    table->entries = g_hash_table_new_full(key_hash, key_equal, NULL, g_free);
    table->kinds = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    table->dirty = g_ptr_array_new();
    return table;
}

void ct_fold_table_free(CtFoldTable *table)
{
    if (!table)
        return;
    g_hash_table_unref(table->entries);
    g_hash_table_unref(table->kinds);
    g_ptr_array_unref(table->dirty);
    g_free(table);
}

void ct_fold_table_clear(CtFoldTable *table)
{
    g_ptr_array_set_size(table->dirty, 0);
    g_hash_table_remove_all(table->entries);
    g_hash_table_remove_all(table->kinds);
}

CtFold *ct_fold_find(CtFoldTable *table, const CtEventRow *row)
{
    Key key;
    key_of(row, &key);
    Entry *entry = g_hash_table_lookup(table->entries, &key);
    return entry ? &entry->fold : NULL;
}

gboolean ct_fold_take(CtFoldTable *table, CtFold *fold, const CtEventRow *row)
{
    gint64 t = row->t_ns == CT_TIME_UNKNOWN ? 0 : row->t_ns;
    if (t && fold->last_t_ns && (t < fold->last_t_ns || t - fold->last_t_ns > CT_FOLD_GAP_NS))
        return FALSE;
    fold->repeats++;
    fold->last_line = row->line;
    if (t)
        fold->last_t_ns = t;
    if (!fold->dirty)
        g_ptr_array_add(table->dirty, fold); /* so that a flush visits only these */
    fold->dirty = TRUE;
    return TRUE;
}

static Entry *entry_new(const Key *key)
{
    gsize size = 0;
    for (guint i = 0; i < N_TEXTS; i++)
        size += key->len[i];
    Entry *entry = g_malloc0(sizeof(Entry) + size);
    char *at = entry->texts;
    entry->key = *key;
    for (guint i = 0; i < N_TEXTS; i++) {
        memcpy(at, key->text[i], key->len[i]);
        entry->key.text[i] = at;
        at += key->len[i];
    }
    return entry;
}

void ct_fold_start(CtFoldTable *table, const CtEventRow *row, gint64 id)
{
    Key key;
    key_of(row, &key);
    Entry *entry = g_hash_table_lookup(table->entries, &key);
    if (!entry) {
        entry = entry_new(&key);
        g_hash_table_insert(table->entries, &entry->key, entry);
    }
    entry->fold = (CtFold){.row = id,
                           .repeats = 1,
                           .last_line = row->line,
                           .last_t_ns = row->t_ns == CT_TIME_UNKNOWN ? 0 : row->t_ns};
}

gboolean ct_fold_admit(CtFoldTable *table, const char *kind)
{
    guint *n = g_hash_table_lookup(table->kinds, kind);
    if (!n) {
        n = g_new0(guint, 1);
        g_hash_table_insert(table->kinds, g_strdup(kind), n);
    }
    return *n < CT_MAX_ROWS_PER_KIND && ++*n;
}

void ct_fold_foreach_dirty(CtFoldTable *table, CtFoldFunc func, gpointer user)
{
    for (guint i = 0; i < table->dirty->len; i++) {
        CtFold *fold = g_ptr_array_index(table->dirty, i);
        if (fold->dirty)
            func(fold, user);
        fold->dirty = FALSE;
    }
    g_ptr_array_set_size(table->dirty, 0);
}
