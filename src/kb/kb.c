/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening the knowledge base. The image is an ordinary SQLite file; it is read where it lies,
 * in the program's read-only pages, so opening costs two page faults and no copy. An SQLite
 * without sqlite3_deserialize (before 3.36 a matter of how it was built) reads it through a file
 * system of its own, and what is attached is a copy.
 */
#include "kb/kb.h"

#include <string.h>

#include "base/error.h"
#include "kb/compile.h"
#include "kb/image-vfs.h"
#include "kb/image.h"

struct CtKb {
    sqlite3 *db;
    const unsigned char *image;
    gsize size;
    unsigned char *owned; /* image of a folder, by sqlite3_malloc */
    sqlite3_stmt *number, *name;
    GHashTable *names; /* "family\0number" -> canonical name, for borrowing */
};

static gboolean sqlite_error(GError **error, sqlite3 *db, const char *doing)
{
    g_set_error(error, CT_ERROR, CT_ERROR_CORRUPT, "%s: %s", doing,
                db ? sqlite3_errmsg(db) : "out of memory");
    return FALSE;
}

#ifdef CT_HAVE_DESERIALIZE

static gboolean show_image(const CtKb *kb, sqlite3 *db, const char *schema, GError **error)
{
    int rc = sqlite3_deserialize(db, schema, (unsigned char *)kb->image, (sqlite3_int64)kb->size,
                                 (sqlite3_int64)kb->size, SQLITE_DESERIALIZE_READONLY);
    return rc == SQLITE_OK || sqlite_error(error, db, "opening the knowledge base");
}

static gboolean open_image(CtKb *kb, GError **error)
{
    return sqlite3_open_v2(":memory:", &kb->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX,
                           NULL) == SQLITE_OK
               ? show_image(kb, kb->db, "main", error)
               : sqlite_error(error, kb->db, "opening the knowledge base");
}

gboolean ct_kb_attach(const CtKb *kb, sqlite3 *to, GError **error)
{
    if (sqlite3_exec(to, "ATTACH ':memory:' AS kb", NULL, NULL, NULL) != SQLITE_OK)
        return sqlite_error(error, to, "attaching the knowledge base");
    return show_image(kb, to, "kb", error);
}

static gboolean take_image(CtKb *kb, sqlite3 *from, GError **error)
{
    sqlite3_int64 size = 0;
    kb->owned = sqlite3_serialize(from, "main", &size, 0);
    if (!kb->owned)
        return sqlite_error(error, from, "compiling the knowledge base");
    kb->image = kb->owned;
    kb->size = (gsize)size;
    return TRUE;
}

#else

static gboolean open_image(CtKb *kb, GError **error)
{
    return kb->db || ct_kb_image_open(&kb->db) == SQLITE_OK ||
           sqlite_error(error, kb->db, "opening the knowledge base");
}

static gboolean copy_to(sqlite3 *from, sqlite3 *to, const char *schema, GError **error)
{
    sqlite3_backup *backup = sqlite3_backup_init(to, schema, from, "main");
    if (backup)
        sqlite3_backup_step(backup, -1);
    int rc = backup ? sqlite3_backup_finish(backup) : sqlite3_errcode(to);
    return rc == SQLITE_OK || sqlite_error(error, to, "attaching the knowledge base");
}

gboolean ct_kb_attach(const CtKb *kb, sqlite3 *to, GError **error)
{
    if (sqlite3_exec(to, "ATTACH ':memory:' AS kb", NULL, NULL, NULL) != SQLITE_OK)
        return sqlite_error(error, to, "attaching the knowledge base");
    return copy_to(kb->db, to, "kb", error);
}

static gboolean take_image(CtKb *kb, sqlite3 *from, GError **error)
{
    if (sqlite3_open(":memory:", &kb->db) != SQLITE_OK)
        return sqlite_error(error, kb->db, "compiling the knowledge base");
    return copy_to(from, kb->db, "main", error) &&
           sqlite3_exec(kb->db, "PRAGMA query_only = 1", NULL, NULL, NULL) == SQLITE_OK;
}

#endif

CtKb *ct_kb_open(GError **error)
{
    g_autoptr(CtKb) kb = g_new0(CtKb, 1);
    kb->image = ct_kb_image;
    kb->size = ct_kb_image_size;
    return open_image(kb, error) ? g_steal_pointer(&kb) : NULL;
}

/* `out_problems` NULL: any problem is an error. */
static CtKb *open_folder(const char *folder, GPtrArray **out_problems, GError **error)
{
    sqlite3 *db = NULL;
    if (sqlite3_open(":memory:", &db) != SQLITE_OK) {
        sqlite_error(error, db, "compiling the knowledge base");
        sqlite3_close(db);
        return NULL;
    }
    g_autoptr(CtKb) kb = g_new0(CtKb, 1);
    gboolean ok = TRUE;
    if (out_problems)
        *out_problems = ct_kb_compile_collect(folder, db, NULL);
    else
        ok = ct_kb_compile(folder, db, error);
    ok = ok && take_image(kb, db, error);
    sqlite3_close(db);
    return ok && open_image(kb, error) ? g_steal_pointer(&kb) : NULL;
}

CtKb *ct_kb_open_folder(const char *folder, GError **error)
{
    return open_folder(folder, NULL, error);
}

CtKb *ct_kb_open_collect(const char *folder, GPtrArray **out_problems, GError **error)
{
    return open_folder(folder, out_problems, error);
}

void ct_kb_free(CtKb *kb)
{
    if (!kb)
        return;
    sqlite3_finalize(kb->number);
    sqlite3_finalize(kb->name);
    sqlite3_close_v2(kb->db);
    sqlite3_free(kb->owned);
    g_clear_pointer(&kb->names, g_hash_table_unref);
    g_free(kb);
}

sqlite3 *ct_kb_db(const CtKb *kb)
{
    return kb->db;
}

/* ---- codes ---- */

static sqlite3_stmt *statement(const CtKb *kb, sqlite3_stmt **slot, const char *sql)
{
    if (!*slot &&
        sqlite3_prepare_v3(kb->db, sql, -1, SQLITE_PREPARE_PERSISTENT, slot, NULL) != SQLITE_OK)
        g_warning("knowledge base: %s", sqlite3_errmsg(kb->db));
    return *slot;
}

/* The printed text may be followed by a full stop or stand in quotes. */
static char *clean(const char *text)
{
    char *copy = g_strstrip(g_strdup(text));
    gsize len = strlen(copy);
    while (len > 0 && strchr(".:;,!\"'`", copy[len - 1]))
        copy[--len] = '\0';
    gsize skip = strspn(copy, "\"'`");
    memmove(copy, copy + skip, len - MIN(skip, len) + 1);
    return g_strstrip(copy);
}

gboolean ct_kb_code_number(const CtKb *kb, const char *family, const char *name_or_text,
                           gint64 *out_number)
{
    /* The kb is const to its users; statements are its cache. */
    CtKb *cache = (CtKb *)kb;
    sqlite3_stmt *stmt = statement(
        kb, &cache->number,
        "SELECT number, 0 AS rank, id FROM code WHERE name = ?1 COLLATE NOCASE AND family = ?2 "
        "UNION ALL SELECT number, 1, id FROM code "
        "WHERE alt_name = ?1 COLLATE NOCASE AND family = ?2 "
        "UNION ALL SELECT c.number, 2, c.id FROM code_text t JOIN code c ON c.id = t.code "
        "WHERE t.text = ?1 COLLATE NOCASE AND c.family = ?2 ORDER BY rank, id LIMIT 1");
    if (!stmt)
        return FALSE;
    g_autofree char *key = clean(name_or_text);
    sqlite3_bind_text(stmt, 1, key, -1, SQLITE_STATIC);
    sqlite3_bind_text(stmt, 2, family, -1, SQLITE_STATIC);
    gboolean found =
        *key && sqlite3_step(stmt) == SQLITE_ROW && sqlite3_column_type(stmt, 0) == SQLITE_INTEGER;
    if (found)
        *out_number = sqlite3_column_int64(stmt, 0);
    sqlite3_reset(stmt);
    sqlite3_clear_bindings(stmt);
    return found;
}

const char *ct_kb_code_name(const CtKb *kb, const char *family, gint64 number)
{
    CtKb *cache = (CtKb *)kb;
    if (!cache->names)
        cache->names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    g_autofree char *key = g_strdup_printf("%s %" G_GINT64_FORMAT, family, number);
    gpointer known;
    if (g_hash_table_lookup_extended(cache->names, key, NULL, &known))
        return known;
    sqlite3_stmt *stmt =
        statement(kb, &cache->name,
                  "SELECT name FROM code WHERE family = ?1 AND number = ?2 AND name IS NOT NULL "
                  "ORDER BY id LIMIT 1");
    if (!stmt)
        return NULL;
    sqlite3_bind_text(stmt, 1, family, -1, SQLITE_STATIC);
    sqlite3_bind_int64(stmt, 2, number);
    char *name = NULL;
    if (sqlite3_step(stmt) == SQLITE_ROW)
        name = g_strdup((const char *)sqlite3_column_text(stmt, 0));
    sqlite3_reset(stmt);
    sqlite3_clear_bindings(stmt);
    /* Numbers come from logs: the memory for unknown ones must not grow with the log. */
    if (name || g_hash_table_size(cache->names) < 4096)
        g_hash_table_insert(cache->names, g_steal_pointer(&key), name);
    return name;
}
