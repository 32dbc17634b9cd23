/* SPDX-License-Identifier: Apache-2.0 */
/* Which tables and columns this version of Nsight Systems wrote. Only ordinary tables are touched:
 * a view, a trigger or a virtual table in the file is never run. */
#include <string.h>

#include "base/error.h"
#include "timeline/nsys-private.h"

static const struct {
    const char *column;
    CtNsysField field;
} columns[] = {
    {"start", F_START}, {"timestamp", F_START}, {"end", F_END}, {"deviceId", F_DEVICE},
    {"streamId", F_STREAM}, {"correlationId", F_CORRELATION}, {"globalTid", F_GLOBAL_TID},
    {"globalPid", F_GLOBAL_PID}, {"demangledName", F_NAME}, {"nameId", F_NAME}, {"name", F_NAME},
    {"shortName", F_SHORT_NAME}, {"gridX", F_GRID_X}, {"gridY", F_GRID_Y}, {"gridZ", F_GRID_Z},
    {"blockX", F_BLOCK_X}, {"blockY", F_BLOCK_Y}, {"blockZ", F_BLOCK_Z}, {"bytes", F_BYTES},
    {"copyKind", F_COPY_KIND}, {"srcKind", F_SOURCE_KIND}, {"dstKind", F_TARGET_KIND},
    {"returnValue", F_RESULT}, {"eventType", F_EVENT_TYPE}, {"text", F_TEXT},
    {"textId", F_TEXT_ID}, {"domainId", F_DOMAIN}, {"memoryOperationType", F_OPERATION},
    {"memKind", F_MEM_KIND}, {"syncType", F_SYNC_TYPE}, {"nestingLevel", F_NESTING},
    {"severity", F_SEVERITY},
};

static int deny(void *user, int action, const char *a, const char *b, const char *c, const char *d)
{
    /* Reading columns and schema; anything that calls or writes is refused. */
    return action == SQLITE_SELECT || action == SQLITE_READ || action == SQLITE_PRAGMA
               ? SQLITE_OK : SQLITE_DENY;
}

/* A file that is shorter than it says is refused, unless the schema counts as writable; nothing can
 * be written through this connection anyway. Which tables the cut hit is found by walking them. */
static int first_page(sqlite3 *db)
{
    const char *sql = "SELECT 1 FROM sqlite_master LIMIT 1";
    int rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
    if (rc != SQLITE_CORRUPT)
        return rc;
    sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 0, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_WRITABLE_SCHEMA, 1, NULL);
    return sqlite3_exec(db, sql, NULL, NULL, NULL);
}

sqlite3 *ct_nsys_open_database(const char *path, GError **error)
{
    sqlite3 *db = NULL;
    g_autofree char *full = g_canonicalize_filename(path, NULL);
    g_autofree char *escaped = g_uri_escape_string(full, "/", FALSE);
    g_autofree char *uri = g_strconcat("file:", escaped, "?mode=ro&immutable=1", NULL);
    int rc = sqlite3_open_v2(uri, &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX,
                             NULL);
    if (rc == SQLITE_OK) {
        sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
        sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
        sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
        sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
        sqlite3_limit(db, SQLITE_LIMIT_LENGTH, 16 << 20);
        sqlite3_limit(db, SQLITE_LIMIT_COLUMN, 200);
        sqlite3_exec(db, "PRAGMA cache_size=-4096", NULL, NULL, NULL);
        sqlite3_set_authorizer(db, deny, NULL);
        rc = first_page(db);
    }
    if (rc == SQLITE_OK)
        return db;
    g_set_error(error, CT_ERROR, CT_ERROR_CORRUPT, "%s: %s", path,
                db ? sqlite3_errmsg(db) : "out of memory");
    sqlite3_close(db);
    return NULL;
}

/* The page that an ordinary table begins on; 0: there is none of that name. */
static guint32 root_of(CtNsys *n, const char *name, gboolean *out_exists)
{
    sqlite3_stmt *st = NULL;
    guint32 root = 0;
    sqlite3_prepare_v2(n->db, "SELECT rootpage, sql FROM sqlite_master WHERE type = 'table' AND"
                              " name = ?", -1, &st, NULL);
    sqlite3_bind_text(st, 1, name, -1, SQLITE_STATIC);
    if (st && sqlite3_step(st) == SQLITE_ROW) {
        const char *sql = (const char *)sqlite3_column_text(st, 1);
        gint64 page = sqlite3_column_int64(st, 0);
        g_autofree char *upper = g_ascii_strup(sql ? sql : "", -1);
        *out_exists = TRUE;
        if (page > 0 && page <= G_MAXUINT32 && !strstr(upper, "WITHOUT ROWID") &&
            !strstr(upper, "VIRTUAL TABLE"))
            root = (guint32)page;
    }
    sqlite3_finalize(st);
    return root;
}

static void map_column(CtNsysTable *t, const char *name, int place)
{
    for (gsize i = 0; i < G_N_ELEMENTS(columns); i++)
        if (g_ascii_strcasecmp(columns[i].column, name) == 0 && t->column[columns[i].field] < 0) {
            t->column[columns[i].field] = (gint8)place;
            t->wanted |= G_GUINT64_CONSTANT(1) << place;
        }
}

CtNsysTable *ct_nsys_table(CtNsys *n, const char *name, CtTlKind kind, gboolean *out_exists)
{
    *out_exists = FALSE;
    guint32 root = root_of(n, name, out_exists);
    if (!root) {
        if (*out_exists)
            ct_tl_gap(n->tl, name, "the table is no ordinary one and is not read");
        return NULL;
    }
    CtNsysTable *t = g_new0(CtNsysTable, 1);
    t->name = name;
    t->kind = kind;
    t->root = root;
    memset(t->column, -1, sizeof t->column);
    g_autofree char *sql = g_strdup_printf("PRAGMA table_info(%s)", name);
    sqlite3_stmt *st = NULL;
    sqlite3_prepare_v2(n->db, sql, -1, &st, NULL);
    while (st && sqlite3_step(st) == SQLITE_ROW) {
        int place = sqlite3_column_int(st, 0);
        const char *column = (const char *)sqlite3_column_text(st, 1);
        if (column && place >= 0 && place < CT_PAGES_COLUMNS)
            map_column(t, column, place);
    }
    sqlite3_finalize(st);
    if (t->column[F_START] >= 0)
        return t;
    ct_tl_gap(n->tl, name, "the table has no column of times");
    g_free(t);
    return NULL;
}

gboolean ct_nsys_each(CtNsys *n, const char *table, const char *wanted, CtNsysStep step)
{
    gboolean exists = FALSE;
    sqlite3_stmt *st = NULL;
    if (!root_of(n, table, &exists))
        return FALSE;
    g_autofree char *sql = g_strdup_printf("SELECT %s FROM %s LIMIT 10000", wanted, table);
    sqlite3_prepare_v2(n->db, sql, -1, &st, NULL);
    gboolean ok = st != NULL;
    while (st && sqlite3_step(st) == SQLITE_ROW)
        step(n, st);
    sqlite3_finalize(st);
    return ok;
}

static guint32 look_up(CtNsys *n, gint64 id)
{
    guint32 name = 0;
    if (!n->string)
        return 0;
    sqlite3_bind_int64(n->string, 1, id);
    if (sqlite3_step(n->string) == SQLITE_ROW) {
        const char *text = (const char *)sqlite3_column_text(n->string, 0);
        gsize len = text ? (gsize)sqlite3_column_bytes(n->string, 0) : 0;
        if (len > 2 && text[0] == 'c' && text[1] == 'u')
            len = ct_tl_call_length(text, len); /* so that traces can be compared */
        name = text ? ct_tl_names_add(&n->tl->names, text, len) : 0;
    }
    sqlite3_reset(n->string);
    return name;
}

guint32 ct_nsys_string(CtNsys *n, gint64 id)
{
    if (id < 0)
        return 0;
    if (id < (gint64)n->n_string_names && n->string_name[id])
        return n->string_name[id] - 1;
    guint32 name = 0;
    if (id < 1 << 20) {
        if (id >= (gint64)n->n_string_names) {
            gsize more = MAX((gsize)id + 1, n->n_string_names * 2);
            n->string_name = g_renew(guint32, n->string_name, more);
            memset(n->string_name + n->n_string_names, 0,
                   (more - n->n_string_names) * sizeof(guint32));
            n->n_string_names = more;
        }
        n->string_name[id] = (name = look_up(n, id)) + 1;
        return name;
    }
    gpointer known = g_hash_table_lookup(n->strings, GSIZE_TO_POINTER((gsize)id));
    if (known)
        return GPOINTER_TO_UINT(known) - 1;
    name = look_up(n, id);
    if (g_hash_table_size(n->strings) < CT_TL_MAX_NAMES)
        g_hash_table_insert(n->strings, GSIZE_TO_POINTER((gsize)id), GUINT_TO_POINTER(name + 1));
    return name;
}
