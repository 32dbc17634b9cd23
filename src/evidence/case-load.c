/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a case file into the store. Ids are shifted behind those that are there already, so
 * several cases and files make one body of evidence. An older case is first brought to today's
 * schema in memory; the file is never touched.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/limits.h"
#include "evidence/case-private.h"
#include "evidence/case-tables.h"
#include "evidence/evidence-private.h"

#define MAX_ID (G_GINT64_CONSTANT(1) << 40)
#define MAX_ROWS ((guint64)20 * 1000 * 1000) /* of all tables but `sample` */

typedef struct {
    CtEvidence *ev;
    sqlite3 *from;
    const char *path;
    GHashTable *offsets;      /* table -> gint64 * to add to its ids */
    GHashTable *series_by_id; /* gint64 -> CtSeries */
    guint64 rows;
    gint64 max_seq;
    GError **error;
} Load;

static gboolean fail(Load *load, CtErrorCode code, const char *what, const char *why)
{
    g_set_error(load->error, CT_ERROR, code, "%s: %s: %s", load->path, what, why);
    return FALSE;
}

static void set_offset(Load *load, const char *table, gint64 value)
{
    gint64 *copy = g_new(gint64, 1);
    *copy = value;
    g_hash_table_insert(load->offsets, (gpointer)table, copy);
}

static gint64 max_id(sqlite3 *db, const char *table)
{
    g_autofree char *sql = g_strdup_printf("SELECT coalesce(max(id),0) FROM %s", table);
    sqlite3_stmt *st = NULL;
    gint64 id = 0;
    if (sqlite3_prepare_v2(db, sql, -1, &st, NULL) == SQLITE_OK && sqlite3_step(st) == SQLITE_ROW)
        id = sqlite3_column_int64(st, 0);
    sqlite3_finalize(st);
    return id;
}

static void note_offsets(Load *load)
{
    for (const CtCaseTable *t = ct_case_tables; t->name; t++)
        if (g_str_has_prefix(t->columns[0], "id@"))
            set_offset(load, t->name, max_id(load->ev->db, t->name));
    set_offset(load, "seq", (gint64)load->ev->seq);
}

/* ---- one row ---- */

/* Text of a stranger's file may hold bytes that are no UTF-8. */
static void bind_checked(sqlite3_stmt *out, int column, sqlite3_value *value)
{
    if (sqlite3_value_type(value) != SQLITE_TEXT) {
        sqlite3_bind_value(out, column, value);
        return;
    }
    const char *text = (const char *)sqlite3_value_text(value);
    if (!text)
        sqlite3_bind_null(out, column);
    else if (g_utf8_validate(text, -1, NULL))
        sqlite3_bind_text(out, column, text, -1, SQLITE_TRANSIENT);
    else
        sqlite3_bind_text(out, column, g_utf8_make_valid(text, -1), -1, g_free);
}

static gboolean bind_reference(Load *load, sqlite3_stmt *out, int column, sqlite3_value *value,
                               const char *table)
{
    const gint64 *offset = table ? g_hash_table_lookup(load->offsets, table) : NULL;
    gint64 id = sqlite3_value_int64(value);
    if (sqlite3_value_type(value) == SQLITE_NULL) {
        sqlite3_bind_null(out, column);
        return TRUE;
    }
    if (!offset || sqlite3_value_type(value) != SQLITE_INTEGER || id < 0 || id > MAX_ID)
        return FALSE;
    sqlite3_bind_int64(out, column, id + *offset);
    return TRUE;
}

static const char *named_table(sqlite3_stmt *in)
{
    for (int i = 0; i < sqlite3_column_count(in); i++)
        if (strcmp(sqlite3_column_name(in, i), "tab") == 0)
            return (const char *)sqlite3_column_text(in, i);
    return NULL;
}

static gboolean take_row(Load *load, const CtCaseTable *t, sqlite3_stmt *in, sqlite3_stmt *out)
{
    for (int i = 0; t->columns[i]; i++) {
        const char *refers = strchr(t->columns[i], '@');
        sqlite3_value *value = sqlite3_column_value(in, i);
        if (!refers)
            bind_checked(out, i + 1, value);
        else if (!bind_reference(load, out, i + 1, value,
                                 strcmp(refers, "@tab") == 0 ? named_table(in) : refers + 1))
            return FALSE;
        if (refers && strcmp(refers, "@seq") == 0)
            load->max_seq = MAX(load->max_seq, sqlite3_column_int64(in, i));
    }
    return TRUE;
}

static gboolean take_table(Load *load, const CtCaseTable *t)
{
    g_autofree char *select = ct_case_select(t);
    g_autofree char *insert = ct_case_insert(t);
    sqlite3_stmt *in = NULL, *out = NULL;
    gboolean ok = sqlite3_prepare_v2(load->from, select, -1, &in, NULL) == SQLITE_OK &&
                  sqlite3_prepare_v2(load->ev->db, insert, -1, &out, NULL) == SQLITE_OK;
    if (!ok)
        fail(load, CT_ERROR_CORRUPT, t->name, sqlite3_errmsg(load->from));
    int rc = SQLITE_DONE;
    while (ok && (rc = sqlite3_step(in)) == SQLITE_ROW) {
        if (load->rows++ >= MAX_ROWS)
            ok = fail(load, CT_ERROR_LIMIT, t->name, "too many rows");
        else if (!take_row(load, t, in, out))
            ok = fail(load, CT_ERROR_CORRUPT, t->name, "a row names another that cannot be");
        else if (sqlite3_step(out) != SQLITE_DONE)
            ok = fail(load, CT_ERROR_CORRUPT, t->name, sqlite3_errmsg(load->ev->db));
        sqlite3_reset(out);
    }
    if (ok && rc != SQLITE_DONE)
        ok = fail(load, CT_ERROR_CORRUPT, t->name, sqlite3_errmsg(load->from));
    sqlite3_finalize(in);
    sqlite3_finalize(out);
    return ok;
}

/* ---- series and attachments ---- */

static gboolean register_series(Load *load)
{
    const gint64 *offset = g_hash_table_lookup(load->offsets, "series");
    sqlite3_stmt *st = NULL;
    if (sqlite3_prepare_v2(load->ev->db,
                           "SELECT id,section,subject,metric,unit FROM series "
                           "WHERE id > ? ORDER BY id",
                           -1, &st, NULL) != SQLITE_OK)
        return fail(load, CT_ERROR_INTERNAL, "series", sqlite3_errmsg(load->ev->db));
    sqlite3_bind_int64(st, 1, *offset);
    gboolean ok = TRUE;
    while (ok && sqlite3_step(st) == SQLITE_ROW) {
        if (load->ev->series->len >= CT_MAX_SERIES) {
            ok = fail(load, CT_ERROR_LIMIT, "series", "too many");
            break;
        }
        gint64 *id = g_new(gint64, 1);
        *id = sqlite3_column_int64(st, 0);
        const char *metric = (const char *)sqlite3_column_text(st, 3);
        CtSeries *s = ct_series_register(
            load->ev, *id, sqlite3_column_int64(st, 1), (const char *)sqlite3_column_text(st, 2),
            metric ? metric : "", (const char *)sqlite3_column_text(st, 4));
        g_hash_table_insert(load->series_by_id, id, s);
    }
    sqlite3_finalize(st);
    return ok;
}

static gboolean take_samples(Load *load)
{
    const gint64 *offset = g_hash_table_lookup(load->offsets, "series");
    sqlite3_stmt *st = NULL;
    if (sqlite3_prepare_v2(load->from, "SELECT series,t_ns,value,line FROM sample ORDER BY rowid",
                           -1, &st, NULL) != SQLITE_OK)
        return fail(load, CT_ERROR_CORRUPT, "sample", sqlite3_errmsg(load->from));
    gint64 last = 0;
    CtSeries *series = NULL;
    int rc;
    while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
        gint64 old = sqlite3_column_int64(st, 0);
        gint64 id = old >= 0 && old <= MAX_ID ? old + *offset : 0;
        if (!series || id != last)
            series = g_hash_table_lookup(load->series_by_id, &id);
        last = id;
        if (!series) {
            rc = SQLITE_CORRUPT;
            break;
        }
        gboolean known = sqlite3_column_type(st, 1) == SQLITE_INTEGER;
        gint64 line = sqlite3_column_int64(st, 3);
        ct_series_add(series, known ? sqlite3_column_int64(st, 1) : CT_TIME_UNKNOWN,
                      sqlite3_column_double(st, 2), (guint)CLAMP(line, 0, (gint64)G_MAXINT32));
    }
    sqlite3_finalize(st);
    return rc == SQLITE_DONE ||
           fail(load, CT_ERROR_CORRUPT, "sample",
                rc == SQLITE_CORRUPT ? "a row of no series" : sqlite3_errmsg(load->from));
}

static gboolean take_attachments(Load *load)
{
    sqlite3_stmt *in = NULL, *out = NULL;
    gboolean ok = sqlite3_prepare_v2(load->from, "SELECT name,mode,mtime,sz,data FROM sqlar", -1,
                                     &in, NULL) == SQLITE_OK &&
                  sqlite3_prepare_v2(load->ev->db, "INSERT OR IGNORE INTO sqlar VALUES(?,?,?,?,?)",
                                     -1, &out, NULL) == SQLITE_OK;
    int rc = ok ? SQLITE_DONE : SQLITE_ERROR;
    while (ok && (rc = sqlite3_step(in)) == SQLITE_ROW) {
        for (int i = 0; i < 5; i++)
            bind_checked(out, i + 1, sqlite3_column_value(in, i));
        ok = sqlite3_step(out) == SQLITE_DONE;
        sqlite3_reset(out);
    }
    sqlite3_finalize(in);
    sqlite3_finalize(out);
    return (ok && rc == SQLITE_DONE) ||
           fail(load, CT_ERROR_CORRUPT, "attachments", sqlite3_errmsg(load->from));
}

/* ---- whole files ---- */

static gboolean take_all(Load *load, gboolean conclusions)
{
    note_offsets(load);
    for (const CtCaseTable *t = ct_case_tables; t->name; t++)
        if ((conclusions || !t->conclusion) && !take_table(load, t))
            return FALSE;
    load->ev->seq += (guint64)CLAMP(load->max_seq, 0, MAX_ID);
    return register_series(load) && take_samples(load) && take_attachments(load);
}

/* Copies an older case into memory and migrates the copy. (transfer full) */
static sqlite3 *modernised(sqlite3 *old, const char *path, int version, GError **error)
{
    sqlite3 *db = NULL;
    int rc = sqlite3_open(":memory:", &db);
    sqlite3_backup *backup = NULL;
    ct_sql_read_only(old, FALSE); /* a backup is no statement */
    if (rc == SQLITE_OK && (backup = sqlite3_backup_init(db, "main", old, "main")) != NULL) {
        rc = sqlite3_backup_step(backup, -1);
        sqlite3_backup_finish(backup);
    }
    if (backup && rc == SQLITE_DONE && ct_migrate(db, version, CT_CASE_VERSION) == SQLITE_OK)
        return db;
    g_set_error(error, CT_ERROR, CT_ERROR_CORRUPT, "%s: bringing the case up to date: %s", path,
                sqlite3_errmsg(db));
    sqlite3_close(db);
    return NULL;
}

static gboolean load_into(CtEvidence *ev, const char *path, gboolean conclusions, GError **error)
{
    int version;
    sqlite3 *from = ct_case_open_checked(path, &version, error);
    if (from && version < CT_CASE_VERSION) {
        sqlite3 *today = modernised(from, path, version, error);
        sqlite3_close(from);
        from = today;
    }
    if (!from)
        return FALSE;
    ct_evidence_flush(ev);
    Load load = {.ev = ev, .from = from, .path = path, .error = error};
    load.offsets = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, g_free);
    load.series_by_id = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
    gboolean ok = take_all(&load, conclusions);
    g_hash_table_unref(load.offsets);
    g_hash_table_unref(load.series_by_id);
    sqlite3_close(from);
    return ok;
}

gboolean ct_evidence_import(CtEvidence *ev, const char *path, GError **error)
{
    /* All or nothing: what a damaged file gave before the damage does not stay. */
    guint n_series = ev->series->len;
    guint64 seq = ev->seq;
    sqlite3_exec(ev->db, "SAVEPOINT import", NULL, NULL, NULL);
    gboolean ok = load_into(ev, path, FALSE, error);
    if (!ok) {
        sqlite3_exec(ev->db, "ROLLBACK TO import", NULL, NULL, NULL);
        ct_evidence_forget_series(ev, n_series);
        ev->seq = seq;
    }
    sqlite3_exec(ev->db, "RELEASE import", NULL, NULL, NULL);
    return ok;
}

CtEvidence *ct_evidence_load(const char *path, GError **error)
{
    g_autoptr(CtEvidence) ev = ct_evidence_new(error);
    if (!ev || !load_into(ev, path, TRUE, error))
        return NULL;
    return g_steal_pointer(&ev);
}
