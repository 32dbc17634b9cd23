/* SPDX-License-Identifier: Apache-2.0 */
#include "evidence/rewrite.h"

#include <string.h>

#include "base/error.h"
#include "evidence/evidence-private.h"

/* Vocabularies (kinds, statuses, keys, units) name nobody and stay out of it: rules ask for them. */
static const struct {
    const char *table, *column, *about;
} places[] = {
    {"source", "path"},    {"source", "note"},     {"section", "title"},   {"section", "command"},
    {"section", "scope"},  {"section", "note"},    {"coverage", "subject"}, {"event", "subject"},
    {"event", "gpu"},
    {"event", "name"},     {"event", "text"},      {"event", "detail"},    {"fact", "text"},
    {"fact", "subject"},   {"fact", "value", "key"}, {"alias", "subject"},
    {"alias", "name"},     {"series", "subject"},  {"span", "track"},      {"span", "name"},
    {"span", "detail"},    {"finding", "subject"}, {"finding", "text"},    {"finding", "detail"},
    {"support", "text"},   {"sqlar", "name"},
};

static gboolean failed(CtEvidence *ev, GError **error)
{
    g_set_error(error, CT_ERROR, CT_ERROR_INTERNAL, "changing the texts of the case: %s",
                sqlite3_errmsg(ev->db));
    return FALSE;
}

static void look_at(CtEvidence *ev, const CtRewrite *how, const char *table, const char *column,
                    const char *about)
{
    sqlite3_stmt *st = NULL;
    g_autofree char *sql = g_strdup_printf("SELECT %s, %s FROM %s WHERE %s IS NOT NULL", column,
                                           about ? about : "NULL", table, column);
    if (sqlite3_prepare_v2(ev->db, sql, -1, &st, NULL) == SQLITE_OK)
        while (sqlite3_step(st) == SQLITE_ROW)
            how->look((const char *)sqlite3_column_text(st, 1), sqlite3_column_blob(st, 0),
                      (gsize)sqlite3_column_bytes(st, 0), how->user);
    sqlite3_finalize(st);
}

/* Reads all first: changing rows that a SELECT walks over is not defined. */
static gboolean change(CtEvidence *ev, const CtRewrite *how, const char *table, const char *column,
                       const char *about)
{
    sqlite3_stmt *read = NULL, *write = NULL;
    g_autoptr(GArray) ids = g_array_new(FALSE, FALSE, sizeof(gint64));
    g_autoptr(GPtrArray) texts = g_ptr_array_new_with_free_func(g_free);
    g_autofree char *select = g_strdup_printf("SELECT rowid, %s, %s FROM %s WHERE %s IS NOT NULL",
                                              column, about ? about : "NULL", table, column);
    g_autofree char *update =
        g_strdup_printf("UPDATE OR REPLACE %s SET %s = ? WHERE rowid = ?", table, column);
    int rc = sqlite3_prepare_v2(ev->db, select, -1, &read, NULL);
    while (rc == SQLITE_OK && sqlite3_step(read) == SQLITE_ROW) {
        const char *old = (const char *)sqlite3_column_text(read, 1);
        gsize len = old ? (gsize)sqlite3_column_bytes(read, 1) : 0, n = 0;
        const char *key = (const char *)sqlite3_column_text(read, 2);
        char *fresh = old ? how->change(key, old, len, &n, how->user) : NULL;
        if (fresh && strcmp(fresh, old) != 0) {
            gint64 id = sqlite3_column_int64(read, 0);
            g_array_append_val(ids, id);
            g_ptr_array_add(texts, fresh);
        } else {
            g_free(fresh);
        }
    }
    sqlite3_finalize(read);
    if (rc == SQLITE_OK)
        rc = sqlite3_prepare_v2(ev->db, update, -1, &write, NULL);
    for (guint i = 0; rc == SQLITE_OK && i < ids->len; i++) {
        sqlite3_bind_text(write, 1, g_ptr_array_index(texts, i), -1, SQLITE_STATIC);
        sqlite3_bind_int64(write, 2, g_array_index(ids, gint64, i));
        rc = sqlite3_step(write) == SQLITE_DONE ? SQLITE_OK : SQLITE_ERROR;
        sqlite3_reset(write);
    }
    sqlite3_finalize(write);
    return rc == SQLITE_OK;
}

static gboolean is_text(const char *data, gsize len, gint64 size)
{
    return data && (gint64)len == size && !memchr(data, '\0', len) &&
           g_utf8_validate(data, (gssize)len, NULL);
}

static gboolean attachments(CtEvidence *ev, const CtRewrite *how, gboolean looking,
                            GPtrArray *out_removed)
{
    sqlite3_stmt *read = NULL, *write = NULL;
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    int rc = sqlite3_prepare_v2(ev->db, "SELECT name FROM sqlar ORDER BY name", -1, &read, NULL);
    while (rc == SQLITE_OK && sqlite3_step(read) == SQLITE_ROW)
        g_ptr_array_add(names, g_strdup((const char *)sqlite3_column_text(read, 0)));
    sqlite3_finalize(read);
    for (guint i = 0; rc == SQLITE_OK && i < names->len; i++) {
        const char *name = g_ptr_array_index(names, i);
        rc = sqlite3_prepare_v2(ev->db, "SELECT data, sz FROM sqlar WHERE name = ?", -1, &read, NULL);
        sqlite3_bind_text(read, 1, name, -1, SQLITE_STATIC);
        if (rc != SQLITE_OK || sqlite3_step(read) != SQLITE_ROW) {
            sqlite3_finalize(read);
            continue;
        }
        const char *data = sqlite3_column_blob(read, 0);
        gsize len = (gsize)sqlite3_column_bytes(read, 0), n = 0;
        gboolean text = is_text(data, len, sqlite3_column_int64(read, 1));
        if (looking) {
            if (text)
                how->look(NULL, data, len, how->user);
            sqlite3_finalize(read);
            continue;
        }
        g_autofree char *fresh = text ? how->change(NULL, data, len, &n, how->user) : NULL;
        sqlite3_finalize(read);
        rc = sqlite3_prepare_v2(ev->db,
                                fresh ? "UPDATE sqlar SET data = ?2, sz = ?3 WHERE name = ?1"
                                      : "DELETE FROM sqlar WHERE name = ?1",
                                -1, &write, NULL);
        sqlite3_bind_text(write, 1, name, -1, SQLITE_STATIC);
        if (fresh) {
            sqlite3_bind_blob64(write, 2, fresh, n, SQLITE_STATIC);
            sqlite3_bind_int64(write, 3, (gint64)n);
        } else if (out_removed) {
            g_ptr_array_add(out_removed, g_strdup(name));
        }
        if (rc == SQLITE_OK)
            rc = sqlite3_step(write) == SQLITE_DONE ? SQLITE_OK : SQLITE_ERROR;
        sqlite3_finalize(write);
    }
    return rc == SQLITE_OK;
}

gboolean ct_evidence_rewrite(CtEvidence *ev, const CtRewrite *how, GPtrArray *out_removed,
                             GError **error)
{
    ct_evidence_flush(ev);
    for (gsize i = 0; how->look && i < G_N_ELEMENTS(places); i++)
        look_at(ev, how, places[i].table, places[i].column, places[i].about);
    if (how->look && !attachments(ev, how, TRUE, NULL))
        return failed(ev, error);
    for (gsize i = 0; i < G_N_ELEMENTS(places); i++)
        if (!change(ev, how, places[i].table, places[i].column, places[i].about))
            return failed(ev, error);
    return attachments(ev, how, FALSE, out_removed) || failed(ev, error);
}
