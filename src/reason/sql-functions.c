/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions that rules and `query` may use besides SQLite's own:
 *
 *   ver_cmp(a, b [, parts])   -1, 0, 1; NULL when one of them is no version
 *   ver_in(v, '>=12.4 <13')   1, 0; NULL when it cannot be said
 *   before(e1, e2)            1 when event e1 came first, 0 when not, NULL when nobody can know
 *   near(e1, e2, ns)          1 when at most so much time lies between them, 0, NULL
 *
 * and those of compat-functions.c. Order is by line within a section and by time elsewhere, and then only where both clocks are
 * known to be the wall clock.
 */
#include "evidence/evidence.h"
#include "reason/reason-private.h"
#include "reason/version.h"

typedef struct {
    gint64 section;
    gint64 seq;
    gint64 wall_ns; /* CT_TIME_UNKNOWN */
} Moment;

/* Moments of all events, read at first use: a rule that joins events calls before() for each pair.
 * `changes` tells when the table has grown since. */
typedef struct {
    GHashTable *moments; /* gint64 id -> Moment */
    int changes;
} Cache;

static void cache_free(gpointer data)
{
    Cache *cache = data;
    g_clear_pointer(&cache->moments, g_hash_table_unref);
    g_free(cache);
}

static const char MOMENTS_SQL[] = "SELECT e.id, e.section, e.seq, CASE s.clock "
                                  "WHEN 'wall' THEN e.t_ns + coalesce(s.clock_offset_ns, 0) "
                                  "WHEN 'boot' THEN e.t_ns + s.clock_offset_ns END "
                                  "FROM main.event e JOIN main.section s ON s.id = e.section";

static gboolean fill(Cache *cache, sqlite3 *db)
{
    if (cache->moments && cache->changes == sqlite3_total_changes(db))
        return TRUE;
    g_clear_pointer(&cache->moments, g_hash_table_unref);
    sqlite3_stmt *st = NULL;
    if (sqlite3_prepare_v2(db, MOMENTS_SQL, -1, &st, NULL) != SQLITE_OK)
        return FALSE;
    g_autoptr(GHashTable) all = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
    int rc;
    while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
        gint64 *id = g_new(gint64, 1);
        Moment *m = g_new(Moment, 1);
        *id = sqlite3_column_int64(st, 0);
        m->section = sqlite3_column_int64(st, 1);
        m->seq = sqlite3_column_int64(st, 2);
        m->wall_ns = sqlite3_column_type(st, 3) == SQLITE_NULL ? CT_TIME_UNKNOWN
                                                               : sqlite3_column_int64(st, 3);
        g_hash_table_insert(all, id, m);
    }
    sqlite3_finalize(st);
    if (rc != SQLITE_DONE)
        return FALSE;
    cache->moments = g_steal_pointer(&all);
    cache->changes = sqlite3_total_changes(db);
    return TRUE;
}

/* The two events of a call; FALSE when the answer is NULL. */
static gboolean two_moments(sqlite3_context *ctx, sqlite3_value **argv, const Moment *out[2])
{
    Cache *cache = sqlite3_user_data(ctx);
    if (!fill(cache, sqlite3_context_db_handle(ctx))) {
        sqlite3_result_error(ctx, "events cannot be read", -1);
        return FALSE;
    }
    for (int i = 0; i < 2; i++) {
        gint64 id = sqlite3_value_int64(argv[i]);
        out[i] = g_hash_table_lookup(cache->moments, &id);
    }
    return out[0] && out[1];
}

static gboolean both_timed(const Moment *const m[2])
{
    return m[0]->wall_ns != CT_TIME_UNKNOWN && m[1]->wall_ns != CT_TIME_UNKNOWN;
}

static void sql_before(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    (void)argc;
    const Moment *m[2];
    if (!two_moments(ctx, argv, m))
        return;
    if (m[0]->section == m[1]->section)
        sqlite3_result_int(ctx, m[0]->seq < m[1]->seq);
    else if (both_timed(m))
        sqlite3_result_int(ctx, m[0]->wall_ns < m[1]->wall_ns);
}

static void sql_near(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    (void)argc;
    const Moment *m[2];
    if (!two_moments(ctx, argv, m) || !both_timed(m))
        return;
    double apart = (double)m[0]->wall_ns - (double)m[1]->wall_ns;
    sqlite3_result_int(ctx, ABS(apart) <= sqlite3_value_double(argv[2]));
}

static const char *text_of(sqlite3_value *value)
{
    return (const char *)sqlite3_value_text(value);
}

static void sql_ver_cmp(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    int order;
    int parts = argc > 2 ? sqlite3_value_int(argv[2]) : 0;
    if (ct_version_compare(text_of(argv[0]), text_of(argv[1]), (guint)MAX(parts, 0), &order))
        sqlite3_result_int(ctx, order);
}

static void sql_ver_in(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    (void)argc;
    gboolean holds;
    if (ct_version_in(text_of(argv[0]), text_of(argv[1]), &holds))
        sqlite3_result_int(ctx, holds);
}

int ct_reason_register_sql(sqlite3 *db)
{
    const int pure = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS;
    const struct {
        const char *name;
        int argc, flags;
        void (*func)(sqlite3_context *, int, sqlite3_value **);
        gboolean cached;
    } functions[] = {
        {"ver_cmp", 2, pure, sql_ver_cmp, FALSE}, {"ver_cmp", 3, pure, sql_ver_cmp, FALSE},
        {"ver_in", 2, pure, sql_ver_in, FALSE},   {"before", 2, SQLITE_UTF8, sql_before, TRUE},
        {"near", 3, SQLITE_UTF8, sql_near, TRUE},
    };
    for (guint i = 0; i < G_N_ELEMENTS(functions); i++) {
        gpointer cache = functions[i].cached ? g_new0(Cache, 1) : NULL;
        /* On failure SQLite calls the destructor itself. */
        int rc = sqlite3_create_function_v2(db, functions[i].name, functions[i].argc,
                                            functions[i].flags, cache, functions[i].func, NULL,
                                            NULL, cache ? cache_free : NULL);
        if (rc != SQLITE_OK)
            return rc;
    }
    return ct_reason_register_compat(db);
}
