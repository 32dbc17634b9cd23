/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing a case file. It is made under a temporary name in the folder where it will stand, and
 * takes its name only when it is whole and on the disk; what stood there before is replaced only
 * when asked, and a symbolic link never.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/output.h"
#include "evidence/case-tables.h"
#include "evidence/evidence-private.h"

static gboolean sql_error(GError **error, sqlite3 *db, const char *path, const char *doing)
{
    int rc = sqlite3_errcode(db);
    g_set_error(error, CT_ERROR, rc == SQLITE_FULL ? CT_ERROR_LIMIT : CT_ERROR_IO, "%s %s: %s",
                doing, path, sqlite3_errmsg(db));
    return FALSE;
}

/* Not a log, a picture or a database of somebody else that a slip of the hand named. */
static gboolean is_a_case(const char *path)
{
    guint8 head[128];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return FALSE;
    gssize got = read(fd, head, sizeof(head));
    close(fd);
    return got > 0 && ct_case_sniff(head, (gsize)got);
}

gboolean ct_evidence_may_write(const char *path, gboolean force, GError **error)
{
    if (!ct_may_write(path, force, error))
        return FALSE;
    if (access(path, F_OK) == 0 && !is_a_case(path)) {
        g_set_error(error, CT_ERROR, CT_ERROR_DENIED,
                    "%s is not a case of cutriage, so it is not replaced; give another name", path);
        return FALSE;
    }
    return TRUE;
}

static gboolean copy_rows(sqlite3 *from, sqlite3 *to, const char *select, const char *insert)
{
    sqlite3_stmt *in = NULL, *out = NULL;
    int rc = sqlite3_prepare_v2(from, select, -1, &in, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_prepare_v2(to, insert, -1, &out, NULL);
    while (rc == SQLITE_OK && (rc = sqlite3_step(in)) == SQLITE_ROW) {
        for (int i = 0; i < sqlite3_column_count(in); i++)
            sqlite3_bind_value(out, i + 1, sqlite3_column_value(in, i));
        rc = sqlite3_step(out) == SQLITE_DONE ? SQLITE_OK : SQLITE_ERROR;
        sqlite3_reset(out);
    }
    sqlite3_finalize(in);
    sqlite3_finalize(out);
    return rc == SQLITE_DONE;
}

static gboolean write_samples(const CtEvidence *ev, sqlite3 *to)
{
    sqlite3_stmt *st = NULL;
    if (sqlite3_exec(to, ct_case_sample_sql, NULL, NULL, NULL) != SQLITE_OK ||
        sqlite3_prepare_v2(to, "INSERT INTO sample VALUES(?,?,?,?)", -1, &st, NULL) != SQLITE_OK)
        return FALSE;
    gboolean ok = TRUE;
    for (guint i = 0; ok && i < ct_evidence_n_series(ev); i++) {
        CtSeriesView s = ct_evidence_series_at(ev, i);
        sqlite3_bind_int64(st, 1, s.id);
        for (gsize k = 0; ok && k < s.len; k++) {
            if (s.t_ns[k] == CT_TIME_UNKNOWN)
                sqlite3_bind_null(st, 2);
            else
                sqlite3_bind_int64(st, 2, s.t_ns[k]);
            sqlite3_bind_double(st, 3, s.value[k]);
            sqlite3_bind_int64(st, 4, s.line[k]);
            ok = sqlite3_step(st) == SQLITE_DONE;
            sqlite3_reset(st);
        }
    }
    sqlite3_finalize(st);
    return ok && sqlite3_exec(to, ct_case_sample_index_sql, NULL, NULL, NULL) == SQLITE_OK;
}

static gboolean write_tables(CtEvidence *ev, sqlite3 *to)
{
    g_autofree char *begin =
        g_strdup_printf("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA "
                        "application_id=%d; PRAGMA user_version=%d; BEGIN",
                        CT_CASE_APPLICATION_ID, CT_CASE_VERSION);
    if (sqlite3_exec(to, begin, NULL, NULL, NULL) != SQLITE_OK ||
        ct_migrate(to, 0, CT_CASE_VERSION) != SQLITE_OK)
        return FALSE;
    sqlite3 *from = ct_evidence_db(ev);
    for (const CtCaseTable *t = ct_case_tables; t->name; t++) {
        g_autofree char *select = ct_case_select(t);
        g_autofree char *insert = ct_case_insert(t);
        if (!copy_rows(from, to, select, insert))
            return FALSE;
    }
    return copy_rows(from, to, "SELECT name,mode,mtime,sz,data FROM sqlar",
                     "INSERT INTO sqlar VALUES(?,?,?,?,?)") &&
           write_samples(ev, to) && sqlite3_exec(to, "COMMIT", NULL, NULL, NULL) == SQLITE_OK;
}

static gboolean write_database(CtEvidence *ev, const char *path, const char *shown, GError **error)
{
    sqlite3 *to = NULL;
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW;
    gboolean ok = sqlite3_open_v2(path, &to, flags, NULL) == SQLITE_OK && write_tables(ev, to);
    if (!ok)
        sql_error(error, to, shown, "writing");
    sqlite3_close(to);
    return ok;
}

/* With force the new file replaces the old one; without, taking the name fails when somebody else
 * took it meanwhile. */
static gboolean take_name(const char *temp, const char *path, gboolean force)
{
    if (force)
        return rename(temp, path) == 0;
    if (link(temp, path) == 0)
        return unlink(temp) == 0;
    if (errno == EEXIST)
        return FALSE;
    /* A file system without hard links (FAT, some network mounts). */
    struct stat st;
    if (lstat(path, &st) == 0) {
        errno = EEXIST;
        return FALSE;
    }
    return rename(temp, path) == 0;
}

static void sync_folder(const char *folder)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return;
    /* Some file systems cannot sync a folder; the file itself is safe by then. */
    if (fsync(fd) != 0)
        errno = 0;
    close(fd);
}

gboolean ct_evidence_save(CtEvidence *ev, const char *path, gboolean force, GError **error)
{
    if (!ct_evidence_may_write(path, force, error))
        return FALSE;
    /* The real folder, because SQLite is told to follow no link anywhere in the name. */
    g_autofree char *dirname = g_path_get_dirname(path);
    g_autofree char *basename = g_path_get_basename(path);
    char *real = realpath(dirname, NULL);
    if (!real)
        return ct_error_from_errno(error, errno, "opening the folder %s", dirname);
    g_autofree char *final = g_build_filename(real, basename, NULL);
    g_autofree char *folder = g_strdup(real);
    free(real);

    g_autofree char *temp = g_strdup_printf("%s.XXXXXX", final);
    int fd = mkostemp(temp, O_CLOEXEC); /* new, 0600, follows no link */
    if (fd < 0)
        return ct_error_from_errno(error, errno, "making a file beside %s", path);
    gboolean ok = write_database(ev, temp, path, error);
    if (ok && (fsync(fd) != 0 || !take_name(temp, final, force)))
        ok = ct_error_from_errno(error, errno, "writing %s", path);
    close(fd);
    if (ok)
        sync_folder(folder);
    else
        unlink(temp);
    return ok;
}
