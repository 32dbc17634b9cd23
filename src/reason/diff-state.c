/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "reason/diff-private.h"
#include "reason/reason-private.h"

#define MAX_FACTS 200000u
#define MAX_VALUES 24u /* of one subject and key: packages of several tools, processes */

/* ---- names of GPUs ---- */

/* "00000000:65:00.0" and "0000:65:00.0" are one address. */
static char *plain_name(const char *name)
{
    char *low = g_ascii_strdown(name, -1);
    if (strlen(low) == 16 && low[8] == ':' && g_str_has_prefix(low, "0000"))
        memmove(low, low + 4, strlen(low) - 3);
    return low;
}

static gboolean is_uuid(const char *name)
{
    return g_str_has_prefix(name, "gpu-") || g_str_has_prefix(name, "mig-");
}

static const char *root_of(GHashTable *parent, const char *name)
{
    const char *up;
    while ((up = g_hash_table_lookup(parent, name)) && strcmp(up, name) != 0)
        name = up;
    return name;
}

static void join(GHashTable *parent, const char *a, const char *b)
{
    if (!g_hash_table_contains(parent, a))
        g_hash_table_insert(parent, g_strdup(a), g_strdup(a));
    if (!g_hash_table_contains(parent, b))
        g_hash_table_insert(parent, g_strdup(b), g_strdup(b));
    const char *ra = root_of(parent, a), *rb = root_of(parent, b);
    if (strcmp(ra, rb) != 0)
        g_hash_table_replace(parent, g_strdup(rb), g_strdup(ra));
}

/* How much a name is worth as the name of its GPU: gpu:0 before gpu:ADDRESS before the rest. */
static int rank_of(const char *name)
{
    if (!g_str_has_prefix(name, "gpu:"))
        return 3;
    return strchr(name + 4, ':') ? 2 : 1;
}

static void learn_facts(sqlite3 *db, GHashTable *parent)
{
    sqlite3_stmt *st = ct_prepare(
        db, "SELECT subject, value FROM main.fact WHERE key IN ('gpu.uuid', 'gpu.pci') AND "
            "status = 'ok' AND subject GLOB 'gpu:*' AND instr(subject, '/') = 0 AND "
            "value IS NOT NULL LIMIT 4096");
    while (sqlite3_step(st) == SQLITE_ROW) {
        g_autofree char *a = plain_name(ct_column(st, 0)), *b = plain_name(ct_column(st, 1));
        if (*b)
            join(parent, a, b);
    }
    sqlite3_finalize(st);
}

static void learn_aliases(sqlite3 *db, GHashTable *parent)
{
    sqlite3_stmt *st = ct_prepare(
        db, "SELECT subject, name FROM main.alias WHERE subject GLOB 'gpu:*' LIMIT 4096");
    while (sqlite3_step(st) == SQLITE_ROW) {
        g_autofree char *a = plain_name(ct_column(st, 0)), *b = plain_name(ct_column(st, 1));
        join(parent, a, b);
    }
    sqlite3_finalize(st);
}

/* The canonical name that the other state has for one of these names. */
static const char *borrowed_name(GHashTable *like, const GPtrArray *names)
{
    for (int pass = 0; like && pass < 3; pass++) {
        for (guint i = 0; i < names->len; i++) {
            const char *name = names->pdata[i];
            int sort = is_uuid(name) ? 0 : rank_of(name) == 1 ? 2 : 1;
            const char *had = sort == pass ? g_hash_table_lookup(like, name) : NULL;
            if (had)
                return had;
        }
    }
    return NULL;
}

static const char *own_name(const GPtrArray *names)
{
    const char *best = names->pdata[0];
    for (guint i = 1; i < names->len; i++) {
        const char *name = names->pdata[i];
        int a = rank_of(name), b = rank_of(best);
        if (a < b || (a == b && strcmp(name, best) < 0))
            best = name;
    }
    return best;
}

GHashTable *ct_state_names(CtEvidence *ev, GHashTable *like)
{
    g_autoptr(GHashTable) parent = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    g_autoptr(GHashTable) groups = g_hash_table_new_full(g_str_hash, g_str_equal, NULL,
                                                         (GDestroyNotify)g_ptr_array_unref);
    GHashTable *out = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    GHashTableIter it;
    gpointer name, names;
    learn_aliases(ct_evidence_db(ev), parent);
    learn_facts(ct_evidence_db(ev), parent);
    g_hash_table_iter_init(&it, parent);
    while (g_hash_table_iter_next(&it, &name, NULL)) {
        const char *root = root_of(parent, name);
        GPtrArray *list = g_hash_table_lookup(groups, root);
        if (!list) {
            list = g_ptr_array_new();
            g_hash_table_insert(groups, (gpointer)root, list);
        }
        g_ptr_array_add(list, name);
    }
    g_hash_table_iter_init(&it, groups);
    while (g_hash_table_iter_next(&it, NULL, &names)) {
        GPtrArray *list = names;
        const char *canonical = borrowed_name(like, list);
        if (!canonical)
            canonical = own_name(list);
        for (guint i = 0; i < list->len; i++)
            g_hash_table_insert(out, g_strdup(list->pdata[i]), g_strdup(canonical));
    }
    return out;
}

/* ---- facts ---- */

static void fact_free(gpointer data)
{
    CtStateFact *f = data;
    char *const owned[] = {f->subject, f->key,     f->value,   f->plain, f->place,
                           f->parser,  f->command, f->file, f->trouble};
    for (gsize i = 0; i < G_N_ELEMENTS(owned); i++)
        g_free(owned[i]);
    g_free(f);
}

/* "gpu:0/pid:7" keeps what stands behind the GPU. */
static char *canonical(GHashTable *names, const char *subject)
{
    const char *slash = strchr(subject, '/');
    if (slash == subject || !names)
        return g_strdup(subject);
    g_autofree char *head = slash ? g_strndup(subject, (gsize)(slash - subject))
                                  : g_strdup(subject);
    g_autofree char *plain = plain_name(head);
    const char *known = g_hash_table_lookup(names, plain);
    return known ? g_strconcat(known, slash ? slash : "", NULL) : g_strdup(subject);
}

static gboolean has_value(const char *all, const char *value)
{
    g_auto(GStrv) list = g_strsplit(all, " | ", -1);
    return g_strv_contains((const char *const *)list, value);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void add_value(char **all, const char *value)
{
    if (!*all) {
        *all = g_strdup(value);
        return;
    }
    g_auto(GStrv) list = g_strsplit(*all, " | ", -1);
    guint n = g_strv_length(list);
    if (n >= MAX_VALUES || has_value(*all, value))
        return;
    list = g_renew(char *, list, n + 2);
    list[n] = g_strdup(value);
    list[n + 1] = NULL;
    qsort(list, n + 1, sizeof *list, by_text);
    g_free(*all);
    *all = g_strjoinv(" | ", list);
}

/* A quantity is shown in the spelling that came first. */
static void add_spelling(CtStateFact *f, const char *value, const char *number)
{
    const char *plain = number ? number : value;
    if (number && f->plain && has_value(f->plain, plain))
        return;
    add_value(&f->plain, plain);
    add_value(&f->value, value);
}

/* "/etc/os-release" of a capture and "logs/os-release.txt" are one. */
static char *file_name(const char *path)
{
    char *base = g_path_get_basename(path);
    static const char *const ends[] = {".txt", ".log", ".out"};
    for (gsize i = 0; i < G_N_ELEMENTS(ends); i++)
        if (g_str_has_suffix(base, ends[i]) && strlen(base) > 4)
            base[strlen(base) - 4] = '\0';
    return base;
}

static void take(CtState *s, GHashTable *names, sqlite3_stmt *st)
{
    g_autofree char *subject = canonical(names, ct_column(st, 0));
    const char *key = ct_column(st, 1), *value = ct_column(st, 2), *status = ct_column(st, 3);
    g_autofree char *index = g_strconcat(subject, "\t", key, NULL);
    CtStateFact *f = g_hash_table_lookup(s->facts, index);
    if (!f) {
        f = g_new0(CtStateFact, 1);
        f->subject = g_steal_pointer(&subject);
        f->key = g_strdup(key);
        f->parser = g_strdup(ct_column(st, 4));
        f->place = g_strdup_printf("%s:%s", ct_column(st, 5), ct_column(st, 6));
        f->command = g_strdup((const char *)sqlite3_column_text(st, 8));
        f->file = file_name(ct_column(st, 5));
        g_hash_table_insert(s->facts, g_steal_pointer(&index), f);
    }
    if (strcmp(status, "ok") == 0 || strcmp(status, "partial") == 0 ||
        strcmp(status, "truncated") == 0)
        add_spelling(f, value, (const char *)sqlite3_column_text(st, 7));
    else if (strcmp(status, "absent") != 0 && !f->trouble)
        f->trouble = g_strdup(status);
    if (f->value || f->trouble)
        g_hash_table_add(s->keys, f->key);
}

static void take_place(CtState *s, const char *parser, const char *command, const char *path,
                       gboolean live)
{
    gpointer had = g_hash_table_lookup(s->parsers, parser);
    g_hash_table_replace(s->parsers, g_strdup(parser), GUINT_TO_POINTER(GPOINTER_TO_UINT(had) + 1));
    s->live |= live;
    if (command)
        g_hash_table_add(s->places, g_strconcat(parser, "\t", command, NULL));
    if (!command || live) {
        g_autofree char *file = file_name(path);
        g_hash_table_add(s->places, g_strconcat(parser, "\t", file, NULL));
    }
}

CtState *ct_state_new(CtEvidence *ev, GHashTable *names)
{
    sqlite3 *db = ct_evidence_db(ev);
    CtState *s = g_new0(CtState, 1);
    guint n = 0;
    ct_evidence_flush(ev);
    s->facts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, fact_free);
    s->keys = g_hash_table_new(g_str_hash, g_str_equal);
    s->parsers = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    s->places = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    sqlite3_stmt *st = ct_prepare(
        db, "SELECT f.subject, f.key, coalesce(f.value, f.number), f.status, s.parser, c.path, "
            "f.line, f.number, s.command FROM main.fact f JOIN main.section s ON s.id = f.section JOIN main.source c "
            "ON c.id = s.source WHERE s.scope <> 'claimed' ORDER BY f.id");
    while (sqlite3_step(st) == SQLITE_ROW && n++ < MAX_FACTS)
        take(s, names, st);
    sqlite3_finalize(st);
    st = ct_prepare(db, "SELECT DISTINCT s.parser, s.command, c.path, c.format = 'live' FROM "
                        "main.section s JOIN main.source c ON c.id = s.source WHERE s.parser IS "
                        "NOT NULL AND s.parser <> 'generic-text' AND s.status IN ('ok', "
                        "'partial', 'truncated')");
    while (sqlite3_step(st) == SQLITE_ROW)
        take_place(s, ct_column(st, 0), (const char *)sqlite3_column_text(st, 1), ct_column(st, 2),
                   sqlite3_column_int(st, 3));
    sqlite3_finalize(st);
    return s;
}

void ct_state_free(CtState *s)
{
    if (!s)
        return;
    g_hash_table_unref(s->keys);
    g_hash_table_unref(s->facts);
    g_hash_table_unref(s->parsers);
    g_hash_table_unref(s->places);
    g_free(s);
}

/* Costs time, so nobody takes it unasked. */
static gboolean is_on_request(const char *key)
{
    return strcmp(key, "file.sha256") == 0;
}

gboolean ct_state_looked(const CtState *state, const CtState *of, const CtStateFact *at)
{
    if (!g_hash_table_contains(state->parsers, at->parser))
        return FALSE;
    if (g_hash_table_contains(state->keys, at->key))
        return TRUE;
    if (is_on_request(at->key))
        return FALSE;
    if (state->live && of->live)
        return TRUE;
    /* A parser of one output saw what there is to see; one of many files only those. */
    if (GPOINTER_TO_UINT(g_hash_table_lookup(of->parsers, at->parser)) < 2)
        return TRUE;
    const char *const names[] = {at->command, at->file};
    for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
        g_autofree char *place = names[i] ? g_strconcat(at->parser, "\t", names[i], NULL) : NULL;
        if (place && g_hash_table_contains(state->places, place))
            return TRUE;
    }
    return FALSE;
}

gboolean ct_state_equal(const CtStateFact *a, const CtStateFact *b)
{
    return a && b && a->value && b->value &&
           (strcmp(a->value, b->value) == 0 || strcmp(a->plain, b->plain) == 0);
}

/* ---- what a key means ---- */

typedef struct {
    char *key;
    CtFactKind kind;
} Kind;

struct CtFactKinds {
    GArray *list; /* Kind, longest key first */
};

static void kind_clear(gpointer data)
{
    g_free(((Kind *)data)->key);
}

CtFactKinds *ct_fact_kinds_new(const CtKb *kb)
{
    CtFactKinds *kinds = g_new0(CtFactKinds, 1);
    kinds->list = g_array_new(FALSE, FALSE, sizeof(Kind));
    g_array_set_clear_func(kinds->list, kind_clear);
    sqlite3_stmt *st = ct_prepare(ct_kb_db(kb), "SELECT key, volatile, importance, layer FROM "
                                                "fact_kind ORDER BY length(key) DESC, key");
    while (sqlite3_step(st) == SQLITE_ROW) {
        Kind k = {.key = g_strdup(ct_column(st, 0)),
                  .kind = {sqlite3_column_int(st, 1), sqlite3_column_int(st, 2),
                           g_intern_string(ct_column(st, 3))}};
        g_array_append_val(kinds->list, k);
    }
    sqlite3_finalize(st);
    return kinds;
}

void ct_fact_kinds_free(CtFactKinds *kinds)
{
    g_array_unref(kinds->list);
    g_free(kinds);
}

CtFactKind ct_fact_kind(const CtFactKinds *kinds, const char *key)
{
    for (guint i = 0; i < kinds->list->len; i++) {
        const Kind *k = &g_array_index(kinds->list, Kind, i);
        if (sqlite3_strglob(k->key, key) == 0)
            return k->kind;
    }
    return (CtFactKind){0, 15, "environment"};
}
