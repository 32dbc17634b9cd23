/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening a case file that may come from a stranger: the header is read by hand, SQLite gets the
 * file read-only and unchanging, with everything that a file could make it do switched off, the
 * pages are checked, and the schema must be ours to the letter.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/limits.h"
#include "evidence/case-private.h"
#include "evidence/evidence-private.h"

enum { HEADER_LEN = 100, VERSION_AT = 60, APPLICATION_AT = 68 };

/* Steps of the virtual machine that one opened case may use in all: some seconds. */
#define QUERY_BUDGET ((gint64)200 * 1000 * 1000)
#define BUDGET_STEP 10000

static guint32 big_endian(const guint8 *at)
{
    return (guint32)at[0] << 24 | (guint32)at[1] << 16 | (guint32)at[2] << 8 | at[3];
}

gboolean ct_case_sniff(const guint8 *head, gsize len)
{
    return len >= HEADER_LEN && memcmp(head, "SQLite format 3", 16) == 0 &&
           big_endian(head + APPLICATION_AT) == CT_CASE_APPLICATION_ID;
}

static gboolean corrupt(GError **error, const char *path, const char *why)
{
    g_set_error(error, CT_ERROR, CT_ERROR_CORRUPT, "%s: %s", path, why);
    return FALSE;
}

static gboolean check_header(const char *path, const guint8 *head, gsize len, int *out_version,
                             GError **error)
{
    if (len < 16 || memcmp(head, "SQLite format 3", 16) != 0)
        return corrupt(error, path, "not a case file");
    if (len < HEADER_LEN)
        return corrupt(error, path, "the case file is cut off");
    if (!ct_case_sniff(head, len))
        return corrupt(error, path, "an SQLite database, but not a case file of cutriage");
    guint32 version = big_endian(head + VERSION_AT);
    if (version > CT_CASE_VERSION) {
        g_set_error(error, CT_ERROR, CT_ERROR_UNSUPPORTED,
                    "%s was written by a newer cutriage (case version %u, this program reads up "
                    "to %d)",
                    path, version, CT_CASE_VERSION);
        return FALSE;
    }
    if (version < 1)
        return corrupt(error, path, "the case file has no version");
    *out_version = (int)version;
    return TRUE;
}

static gboolean read_header(const char *path, int *out_version, GError **error)
{
    guint8 head[HEADER_LEN];
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return ct_error_from_errno(error, errno, "opening %s", path);
    gssize got = -1;
    gboolean regular = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    if (regular)
        got = read(fd, head, sizeof(head));
    int errnum = errno;
    close(fd);
    if (!regular)
        return corrupt(error, path, "not a regular file");
    if (got < 0)
        return ct_error_from_errno(error, errnum, "reading %s", path);
    if ((guint64)st.st_size > CT_MAX_CASE_BYTES) {
        g_set_error(error, CT_ERROR, CT_ERROR_LIMIT, "%s: larger than the limit of %u MiB", path,
                    (guint)(CT_MAX_CASE_BYTES >> 20));
        return FALSE;
    }
    return check_header(path, head, (gsize)got, out_version, error);
}

static void limit(sqlite3 *db)
{
    static const struct {
        int id, value;
    } limits[] = {
        {SQLITE_LIMIT_LENGTH, CT_MAX_DOCUMENT * 4},
        {SQLITE_LIMIT_SQL_LENGTH, 100 * 1000},
        {SQLITE_LIMIT_COLUMN, 200},
        {SQLITE_LIMIT_EXPR_DEPTH, 100},
        {SQLITE_LIMIT_COMPOUND_SELECT, 20},
        {SQLITE_LIMIT_VDBE_OP, 50 * 1000},
        {SQLITE_LIMIT_FUNCTION_ARG, 20},
        {SQLITE_LIMIT_ATTACHED, 0},
        {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1000},
        {SQLITE_LIMIT_TRIGGER_DEPTH, 1},
        {SQLITE_LIMIT_WORKER_THREADS, 0},
    };
    for (guint i = 0; i < G_N_ELEMENTS(limits); i++)
        sqlite3_limit(db, limits[i].id, limits[i].value);
    sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL);
    sqlite3_exec(db, "PRAGMA cell_size_check=ON; PRAGMA mmap_size=0; PRAGMA temp_store=MEMORY",
                 NULL, NULL, NULL);
}

static int authorize(void *user, int action, const char *a, const char *b, const char *database,
                     const char *trigger)
{
    (void)user, (void)database, (void)trigger;
    switch (action) {
    case SQLITE_UPDATE:
        /* SQLite asks this when it declares a table-valued function (json_each); a statement that
         * really changes the schema is refused by SQLite itself. */
        return g_strcmp0(a, "sqlite_master") == 0 ? SQLITE_OK : SQLITE_DENY;
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE:
        return SQLITE_OK;
    case SQLITE_FUNCTION:
        return g_ascii_strcasecmp(b, "load_extension") == 0 ? SQLITE_DENY : SQLITE_OK;
    default:
        return SQLITE_DENY;
    }
}

void ct_sql_read_only(sqlite3 *db, gboolean on)
{
    sqlite3_set_authorizer(db, on ? authorize : NULL, NULL);
}

/* ---- schema ---- */

/* The text of a CREATE statement without comments, and with each run of blanks as one. */
static char *plain_sql(const char *sql)
{
    GString *out = g_string_new(NULL);
    for (const char *p = sql; *p; p++) {
        if (p[0] == '-' && p[1] == '-') {
            p += strcspn(p, "\n");
            if (!*p)
                break;
        }
        if (!g_ascii_isspace(*p))
            g_string_append_c(out, *p);
        else if (out->len && out->str[out->len - 1] != ' ')
            g_string_append_c(out, ' ');
    }
    return g_string_free(out, FALSE);
}

/* name -> plain SQL of everything in the schema, or NULL when it cannot be read. */
static GHashTable *schema_of(sqlite3 *db)
{
    sqlite3_stmt *st = NULL;
    if (sqlite3_prepare_v2(db, "SELECT type||' '||name, coalesce(sql,'') FROM sqlite_master", -1,
                           &st, NULL) != SQLITE_OK)
        return NULL;
    GHashTable *all = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    int rc;
    while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(st, 0);
        const char *sql = (const char *)sqlite3_column_text(st, 1);
        if (name && sql)
            g_hash_table_replace(all, g_strdup(name), plain_sql(sql));
    }
    sqlite3_finalize(st);
    if (rc != SQLITE_DONE)
        g_clear_pointer(&all, g_hash_table_unref);
    return all;
}

static GHashTable *expected_schema(int version)
{
    sqlite3 *db = NULL;
    GHashTable *all = NULL;
    if (sqlite3_open(":memory:", &db) == SQLITE_OK && ct_migrate(db, 0, version) == SQLITE_OK &&
        sqlite3_exec(db, ct_case_sample_sql, NULL, NULL, NULL) == SQLITE_OK &&
        sqlite3_exec(db, ct_case_sample_index_sql, NULL, NULL, NULL) == SQLITE_OK)
        all = schema_of(db);
    sqlite3_close(db);
    return all;
}

static gboolean check_schema(sqlite3 *db, const char *path, int version, GError **error)
{
    g_autoptr(GHashTable) want = expected_schema(version);
    g_autoptr(GHashTable) have = schema_of(db);
    if (!want || !have)
        return corrupt(error, path, "the schema of the case file cannot be read");
    GHashTableIter it;
    gpointer name, sql;
    g_hash_table_iter_init(&it, have);
    while (g_hash_table_iter_next(&it, &name, &sql)) {
        const char *ours = g_hash_table_lookup(want, name);
        if (g_strcmp0(ours, sql) != 0) {
            g_set_error(error, CT_ERROR, CT_ERROR_CORRUPT,
                        "%s: '%s' is not part of a case file, or differs; not opened", path,
                        (const char *)name);
            return FALSE;
        }
    }
    if (g_hash_table_size(have) != g_hash_table_size(want))
        return corrupt(error, path, "tables of the case file are missing");
    return TRUE;
}

static gboolean check_pages(sqlite3 *db, const char *path, GError **error)
{
    sqlite3_stmt *st = NULL;
    int rc = sqlite3_prepare_v2(db, "PRAGMA quick_check(1)", -1, &st, NULL);
    gboolean ok = rc == SQLITE_OK && sqlite3_step(st) == SQLITE_ROW &&
                  g_strcmp0((const char *)sqlite3_column_text(st, 0), "ok") == 0;
    if (!ok)
        g_set_error(error, CT_ERROR, CT_ERROR_CORRUPT, "%s: the case file is damaged (%s)", path,
                    rc == SQLITE_OK && sqlite3_data_count(st)
                        ? (const char *)sqlite3_column_text(st, 0)
                        : sqlite3_errmsg(db));
    sqlite3_finalize(st);
    return ok;
}

/* ---- opening ---- */

static sqlite3 *open_unchanging(const char *path, GError **error)
{
    g_autofree char *absolute = g_canonicalize_filename(path, NULL);
    g_autofree char *uri = g_filename_to_uri(absolute, NULL, error);
    if (!uri)
        return NULL;
    /* immutable: SQLite neither locks nor looks for a journal that somebody put beside it. */
    g_autofree char *full = g_strconcat(uri, "?mode=ro&immutable=1", NULL);
    sqlite3 *db = NULL;
    if (sqlite3_open_v2(full, &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL) == SQLITE_OK)
        return db;
    g_set_error(error, CT_ERROR, CT_ERROR_IO, "opening %s: %s", path,
                db ? sqlite3_errmsg(db) : "out of memory");
    sqlite3_close(db);
    return NULL;
}

sqlite3 *ct_case_open_checked(const char *path, int *out_version, GError **error)
{
    int version;
    if (!read_header(path, &version, error))
        return NULL;
    sqlite3 *db = open_unchanging(path, error);
    if (!db)
        return NULL;
    limit(db);
    /* The schema first: with a foreign one even a check of pages would run its expressions. */
    if (!check_schema(db, path, version, error) || !check_pages(db, path, error)) {
        sqlite3_close(db);
        return NULL;
    }
    ct_sql_read_only(db, TRUE);
    *out_version = version;
    return db;
}

static int spend(void *user)
{
    gint64 *budget = user;
    *budget -= BUDGET_STEP;
    return *budget < 0;
}

static void budget_left(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    (void)argc, (void)argv;
    sqlite3_result_int64(ctx, *(gint64 *)sqlite3_user_data(ctx));
}

sqlite3 *ct_case_open_readonly(const char *path, GError **error)
{
    int version;
    sqlite3 *db = ct_case_open_checked(path, &version, error);
    if (!db)
        return NULL;
    /* The function owns the budget, so that it lives exactly as long as the handle. */
    gint64 *budget = g_new(gint64, 1);
    *budget = QUERY_BUDGET;
    if (sqlite3_create_function_v2(db, "steps_left", 0, SQLITE_UTF8, budget, budget_left, NULL,
                                   NULL, g_free) != SQLITE_OK) {
        g_set_error(error, CT_ERROR, CT_ERROR_INTERNAL, "opening %s: %s", path, sqlite3_errmsg(db));
        sqlite3_close(db);
        return NULL;
    }
    sqlite3_progress_handler(db, BUDGET_STEP, spend, budget);
    return db;
}
