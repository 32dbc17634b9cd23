/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SQLite exports of Nsight Systems, read where they lie. SQLite itself tells only the schema, the
 * small tables and the strings; the large tables are walked by pages.c.
 */
#include <string.h>

#include "base/error.h"
#include "timeline/nsys-private.h"

#define MAX_ORDERED 4000000u /* rows of a table that are sorted, at 16 bytes */

gboolean ct_tl_sniff_nsys(const guint8 *head, gsize len)
{
    /* Any SQLite file that is no case of ours; whether it is an export shows its schema. */
    return len >= 16 && memcmp(head, "SQLite format 3", 16) == 0 &&
           !(len >= 72 && memcmp(head + 68, "CTRG", 4) == 0);
}

typedef struct {
    gint64 t0;
    guint64 place;
} Place;

typedef struct {
    CtNsys *n;
    CtNsysTable *t;
    CtTlVisit visit;
    gpointer user;
    gboolean stopped;
    guint64 short_calls;
} Walk;

/* ---- a first look: how many rows, and in which order ---- */

static gboolean look_row(const CtPagesRow *row, gpointer user)
{
    Walk *w = user;
    CtNsysTable *t = w->t;
    const CtPagesValue *v = &row->v[t->column[F_START]];
    if (v->null || !ct_tl_time_ok(v->value))
        return TRUE;
    if (t->rows == 0 || v->value < t->first)
        t->first = v->value;
    if (t->rows++ > 0 && v->value < t->last)
        t->backwards = MAX(t->backwards, t->last - v->value);
    t->last = t->rows == 1 ? v->value : MAX(t->last, v->value);
    if (t->kind == CT_TL_CALL && t->column[F_END] >= 0) {
        gint64 end = row->v[t->column[F_END]].value;
        gint64 took = ct_tl_time_ok(end) ? end - v->value : -1;
        w->short_calls += took >= 0 && took < 25;
    }
    return TRUE;
}

static gboolean collect_row(const CtPagesRow *row, gpointer user)
{
    CtNsysTable *t = ((Walk *)user)->t;
    const CtPagesValue *v = &row->v[t->column[F_START]];
    Place p = {v->value, row->place};
    if (!v->null && ct_tl_time_ok(v->value))
        g_array_append_val(t->order, p);
    return t->order->len < MAX_ORDERED;
}

static int by_time(gconstpointer a, gconstpointer b)
{
    const Place *x = a, *y = b;
    return x->t0 < y->t0 ? -1 : x->t0 > y->t0 ? 1 : x->place < y->place ? -1 : x->place > y->place;
}

static guint64 bit(const CtNsysTable *t, CtNsysField f)
{
    return t->column[f] >= 0 ? G_GUINT64_CONSTANT(1) << t->column[f] : 0;
}

static void damaged(CtNsys *n, const CtNsysTable *t, const GError *error)
{
    ct_tl_gap(n->tl, t->name, "%s; the rows before that were read", error->message);
}

/* Calls of the API take a microsecond at least: where most seem to take 25 ns at most, the times
 * are in us. */
static void check_unit(CtNsys *n, const Walk *w)
{
    if (w->t->kind != CT_TL_CALL || w->t->rows < 50 || w->short_calls * 10 < w->t->rows * 9)
        return;
    n->scale = 1000;
    n->tl->rescaled = TRUE;
    ct_tl_gap(n->tl, "times as written", "nearly all calls would take under 25 ns: the file counts "
              "in us, not in ns as the format wants, and is read so");
}

static void look(CtNsys *n, CtNsysTable *t)
{
    Walk w = {.n = n, .t = t};
    g_autoptr(GError) error = NULL;
    t->looked = TRUE;
    t->rows = 0;
    guint64 wanted = bit(t, F_START) | (t->kind == CT_TL_CALL ? bit(t, F_END) : 0);
    if (!ct_pages_walk(n->pages, t->root, wanted, look_row, &w, &error))
        damaged(n, t, error);
    check_unit(n, &w);
    n->tl->disorder = MAX(n->tl->disorder, MIN(t->backwards, CT_TL_MAX_TIME / 1000) * n->scale);
    if (t->backwards == 0)
        return;
    if (t->rows > MAX_ORDERED) {
        ct_tl_gap(n->tl, "order", "%s: more than %u rows that are not in order of time; they are "
                  "read as written", t->name, MAX_ORDERED);
        return;
    }
    t->order = g_array_sized_new(FALSE, FALSE, sizeof(Place), (guint)MIN(t->rows, MAX_ORDERED));
    ct_pages_walk(n->pages, t->root, bit(t, F_START), collect_row, &w, NULL);
    g_array_sort(t->order, by_time);
}

/* ---- scans ---- */

static gboolean scan_row(const CtPagesRow *row, gpointer user)
{
    Walk *w = user;
    CtTlEvent e;
    if (!ct_nsys_event(w->n, w->t, row, &e))
        return TRUE;
    if (!w->visit(&e, w->user))
        w->stopped = TRUE;
    return !w->stopped;
}

static void scan_ordered(Walk *w)
{
    for (guint i = 0; i < w->t->order->len && !w->stopped; i++) {
        const Place *p = &g_array_index(w->t->order, Place, i);
        const CtPagesRow *row = ct_pages_row(w->n->pages, p->place, w->t->wanted);
        if (row)
            scan_row(row, w);
    }
}

/* The first look and the scan at once. */
static gboolean scan_as_written(const CtPagesRow *row, gpointer user)
{
    return look_row(row, user) && scan_row(row, user);
}

static void scan_table(CtNsys *n, CtNsysTable *t, Walk *w)
{
    g_autoptr(GError) error = NULL;
    gboolean first = !t->looked && n->tl->as_written;
    if (!first && (!t->looked || (t->backwards && !t->order && t->rows <= MAX_ORDERED)))
        look(n, t);
    if (t->order) {
        scan_ordered(w);
        return;
    }
    if (!ct_pages_walk(n->pages, t->root, t->wanted, first ? scan_as_written : scan_row, w, &error) &&
        first)
        damaged(n, t, error);
    if (!first)
        return;
    t->looked = !w->stopped;
    if (w->stopped)
        t->rows = 0;
    check_unit(n, w);
    n->tl->disorder = MAX(n->tl->disorder, MIN(t->backwards, CT_TL_MAX_TIME / 1000) * n->scale);
}

static gboolean scan(CtTimeline *tl, guint kinds, CtTlVisit visit, gpointer user, GError **error)
{
    CtNsys *n = tl->impl;
    n->open_ranges = n->bad_times = n->negative = 0;
    for (guint i = 0; i < n->tables->len; i++) {
        CtNsysTable *t = g_ptr_array_index(n->tables, i);
        Walk w = {.n = n, .t = t, .visit = visit, .user = user};
        if (!(kinds & CT_TL_BIT(t->kind)))
            continue;
        scan_table(n, t, &w);
        if (t->kind == CT_TL_RANGE && n->open_ranges)
            ct_tl_gap(tl, "ranges cut off", "%" G_GUINT64_FORMAT " NVTX ranges have no end in the "
                      "file", n->open_ranges);
        if (w.stopped)
            break;
    }
    if (n->bad_times)
        ct_tl_gap(tl, "events without a time", "%" G_GUINT64_FORMAT " rows have times that cannot be; "
                  "they were left out", n->bad_times);
    if (n->negative)
        ct_tl_gap(tl, "negative durations", "%" G_GUINT64_FORMAT " events end before they begin: the "
                  "clock stepped back; they count as 0", n->negative);
    return TRUE;
}

/* ---- opening ---- */

static void table_free(gpointer p)
{
    CtNsysTable *t = p;
    if (t->order)
        g_array_unref(t->order);
    g_free(t);
}

static void nsys_free(gpointer impl)
{
    CtNsys *n = impl;
    sqlite3_finalize(n->string);
    sqlite3_close(n->db);
    ct_pages_free(n->pages);
    g_hash_table_unref(n->strings);
    g_hash_table_unref(n->domains);
    g_clear_pointer(&n->shapes, g_hash_table_unref);
    g_ptr_array_unref(n->tables);
    g_free(n->string_name);
    g_free(n->call_kind);
    g_free(n);
}

static const CtTlReader reader = {scan, nsys_free};

static const struct {
    const char *name;
    CtTlKind kind;
} tables[] = {
    {"CUPTI_ACTIVITY_KIND_KERNEL", CT_TL_KERNEL},
    {"CUPTI_ACTIVITY_KIND_MEMCPY", CT_TL_COPY},
    {"CUPTI_ACTIVITY_KIND_MEMSET", CT_TL_SET},
    {"CUPTI_ACTIVITY_KIND_GRAPH_TRACE", CT_TL_GRAPH},
    {"CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", CT_TL_SYNC},
    {"CUPTI_ACTIVITY_KIND_RUNTIME", CT_TL_CALL},
    {"CUPTI_ACTIVITY_KIND_DRIVER", CT_TL_CALL},
    {"NVTX_EVENTS", CT_TL_RANGE},
    {"OSRT_API", CT_TL_OS},
    {"CUDA_GPU_MEMORY_USAGE_EVENTS", CT_TL_MEMORY},
    {"DIAGNOSTIC_EVENT", CT_TL_NOTE},
};

static guint find_tables(CtNsys *n)
{
    guint found = 0;
    for (gsize i = 0; i < G_N_ELEMENTS(tables); i++) {
        gboolean exists;
        CtNsysTable *t = ct_nsys_table(n, tables[i].name, tables[i].kind, &exists);
        found += exists;
        if (!t)
            continue;
        g_ptr_array_add(n->tables, t);
        n->tl->present |= CT_TL_BIT(t->kind);
    }
    return found;
}

/* By its key where the table has one; without an index each look-up would read the whole table. */
static void find_strings(CtNsys *n)
{
    sqlite3_stmt *st = NULL;
    gboolean exists = FALSE, keyed = FALSE;
    CtNsysTable *probe = NULL;
    sqlite3_prepare_v2(n->db, "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name ="
                              " 'StringIds' AND rootpage > 0", -1, &st, NULL);
    exists = st && sqlite3_step(st) == SQLITE_ROW;
    sqlite3_finalize(st);
    st = NULL;
    if (!exists) {
        ct_tl_gap(n->tl, "names", "the table StringIds is missing: kernels and calls have no names");
        return;
    }
    sqlite3_prepare_v2(n->db, "PRAGMA table_info(StringIds)", -1, &st, NULL);
    while (st && sqlite3_step(st) == SQLITE_ROW)
        keyed |= sqlite3_column_int(st, 5) == 1 &&
                 g_ascii_strcasecmp((const char *)sqlite3_column_text(st, 2), "INTEGER") == 0;
    sqlite3_finalize(st);
    g_free(probe);
    sqlite3_prepare_v2(n->db, "SELECT value FROM StringIds WHERE id = ?", -1, &n->string, NULL);
    if (keyed || !n->string)
        return;
    st = NULL;
    sqlite3_prepare_v2(n->db, "SELECT id, value FROM StringIds LIMIT 1000000", -1, &st, NULL);
    while (st && sqlite3_step(st) == SQLITE_ROW) {
        const char *text = (const char *)sqlite3_column_text(st, 1);
        gsize len = text ? (gsize)sqlite3_column_bytes(st, 1) : 0;
        guint32 name = ct_tl_names_add(&n->tl->names, text,
                                       text && text[0] == 'c' ? ct_tl_call_length(text, len) : len);
        g_hash_table_insert(n->strings, GSIZE_TO_POINTER((gsize)sqlite3_column_int64(st, 0)),
                            GUINT_TO_POINTER(name + 1));
    }
    sqlite3_finalize(st);
    g_clear_pointer(&n->string, sqlite3_finalize);
}

gboolean ct_tl_open_nsys(CtTimeline *tl, GError **error)
{
    CtNsys *n = g_new0(CtNsys, 1);
    n->tl = tl;
    n->scale = 1;
    n->strings = g_hash_table_new(NULL, NULL);
    n->domains = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
    n->tables = g_ptr_array_new_with_free_func(table_free);
    tl->format = "nsys-sqlite";
    tl->reader = &reader;
    tl->impl = n;
    n->pages = ct_pages_open(tl->path, error);
    n->db = n->pages ? ct_nsys_open_database(tl->path, error) : NULL;
    if (!n->db)
        return FALSE;
    guint found = find_tables(n);
    find_strings(n);
    ct_nsys_read_head(n);
    if (!found && !tl->producer) {
        g_set_error(error, CT_ERROR, CT_ERROR_UNSUPPORTED,
                    "%s: an SQLite file, but no export of Nsight Systems", tl->path);
        return FALSE;
    }
    ct_nsys_tell(n);
    return TRUE;
}
