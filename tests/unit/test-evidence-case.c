/* SPDX-License-Identifier: Apache-2.0 */
/* Case files: round trip, safety of writing, and what a hostile file may not do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "evidence/evidence.h"
#include "evidence/rewrite.h"

static char *folder;

static char *in_folder(const char *name)
{
    return g_build_filename(folder, name, NULL);
}

static CtEvidence *filled(void)
{
    CtEvidence *ev = ct_evidence_new(NULL);
    gint64 source =
        ct_evidence_add_source(ev, &(CtSourceRow){.path = "run.log", .format = "text"});
    gint64 section = ct_evidence_add_section(
        ev, &(CtSectionRow){.source = source, .first_line = 1, .command = "./run"});
    gint64 event = ct_evidence_add_event(ev, &(CtEventRow){.section = section,
                                                           .line = 3,
                                                           .t_ns = 1700000000000000000,
                                                           .kind = "cuda-error",
                                                           .severity = CT_SEV_ERROR,
                                                           .code = 2,
                                                           .has_code = TRUE,
                                                           .gpu = "gpu-ab",
                                                           .text = "out of memory, 显存不足"});
    ct_evidence_add_fact(ev, &(CtFactRow){.section = section,
                                          .line = 1,
                                          .key = "version.driver",
                                          .value = "550.54.15"});
    ct_evidence_add_coverage(ev, section, "app-log", NULL, 0, 0);
    ct_evidence_add_alias(ev, "gpu:0", "00000000:3B:00.0");
    CtSeries *s = ct_evidence_series(ev, section, "gpu:0", "gpu.memory.used", "bytes");
    for (guint i = 0; i < 100; i++)
        ct_series_add(s, i % 10 ? (gint64)i * 1000 : CT_TIME_UNKNOWN, i * 4096.0, i + 1);
    gint64 finding = ct_evidence_add_finding(
        ev, &(CtFindingRow){.analyzer = "a", .kind = "first-error", .number = 1});
    ct_evidence_cite(ev, finding, "event", event, 3);
    gint64 h = ct_evidence_add_hypothesis(
        ev, &(CtHypothesisRow){.cause = "gpu-oom-leak", .layer = "memory", .probability = 0.5});
    ct_evidence_add_support(ev, &(CtSupportRow){.hypothesis = h,
                                                .rule = "r",
                                                .group = "g",
                                                .weight = 3,
                                                .tab = "event",
                                                .row = event});
    ct_evidence_add_attachment(ev, "core", "\0\1\2", 3);
    return ev;
}

/* First column of the first row as text. */
static char *ask(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *st = NULL;
    if (sqlite3_prepare_v2(db, sql, -1, &st, NULL) != SQLITE_OK)
        return NULL;
    char *text = NULL;
    if (sqlite3_step(st) == SQLITE_ROW)
        text = g_strdup((const char *)sqlite3_column_text(st, 0));
    sqlite3_finalize(st);
    return text;
}

static void assert_answer(sqlite3 *db, const char *sql, const char *want)
{
    g_autofree char *got = ask(db, sql);
    assert_non_null(got);
    assert_string_equal(got, want);
}

static const char *const tables[] = {"source", "section", "coverage", "event",   "fact",
                                     "alias",  "series",  "sample",   "finding", "hypothesis",
                                     "support", "sqlar",  "finding_evidence"};

static void round_trip(void **state)
{
    (void)state;
    g_autofree char *path = in_folder("round.case");
    g_autoptr(CtEvidence) ev = filled();
    g_autoptr(GError) error = NULL;
    assert_true(ct_evidence_save(ev, path, FALSE, &error));
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);

    g_autoptr(CtEvidence) back = ct_evidence_load(path, &error);
    assert_null(error);
    for (guint i = 0; i < G_N_ELEMENTS(tables); i++) {
        g_autofree char *sql = g_strdup_printf("SELECT count(*) FROM %s", tables[i]);
        g_autofree char *n = ask(ct_evidence_db(ev), sql);
        assert_answer(ct_evidence_db(back), sql, n);
    }
    assert_answer(ct_evidence_db(back), "SELECT text FROM event", "out of memory, 显存不足");
    CtSeriesView v = ct_evidence_series_at(back, 0);
    assert_int_equal(v.len, 100);
    assert_true(v.t_ns[10] == CT_TIME_UNKNOWN && v.t_ns[11] == 11000);
    assert_true(v.value[99] == 99 * 4096.0 && v.line[99] == 100);
}

static void import_shifts_ids(void **state)
{
    (void)state;
    g_autofree char *path = in_folder("import.case");
    g_autoptr(CtEvidence) ev = filled();
    assert_true(ct_evidence_save(ev, path, FALSE, NULL));
    assert_true(ct_evidence_import(ev, path, NULL));
    assert_true(ct_evidence_import(ev, path, NULL));
    sqlite3 *db = ct_evidence_db(ev);
    assert_answer(db, "SELECT count(*) FROM event", "3");
    assert_answer(db, "SELECT count(DISTINCT section) FROM event", "3");
    assert_answer(db, "SELECT count(DISTINCT seq) FROM event", "3");
    assert_answer(db, "SELECT count(*) FROM event e JOIN section s ON s.id=e.section "
                      "JOIN source o ON o.id=s.source", "3");
    assert_answer(db, "SELECT count(*) FROM sample m JOIN series s ON s.id=m.series", "300");
    assert_answer(db, "SELECT count(*) FROM finding", "1"); /* conclusions are not imported */
}

static void existing_files_are_safe(void **state)
{
    (void)state;
    g_autofree char *path = in_folder("exists.case");
    g_autofree char *link = in_folder("link.case");
    g_autoptr(CtEvidence) ev = filled();
    g_file_set_contents(path, "precious", -1, NULL);
    assert_int_equal(symlink(path, link), 0);
    g_autoptr(GError) error = NULL;
    assert_false(ct_evidence_save(ev, path, FALSE, &error));
    g_clear_error(&error);
    /* Not even with force: it is no case. */
    assert_false(ct_evidence_save(ev, path, TRUE, &error));
    g_clear_error(&error);
    assert_false(ct_evidence_save(ev, link, TRUE, &error));
    assert_non_null(strstr(error->message, "symbolic link"));
    g_clear_error(&error);
    assert_false(ct_evidence_save(ev, folder, TRUE, &error));
    g_clear_error(&error);
    g_autofree char *nowhere = g_build_filename(folder, "no", "such", "x.case", NULL);
    assert_false(ct_evidence_save(ev, nowhere, FALSE, &error));
    g_autofree char *kept = NULL;
    assert_true(g_file_get_contents(path, &kept, NULL, NULL));
    assert_string_equal(kept, "precious");

    /* A case is replaced with force only. */
    assert_int_equal(g_unlink(path), 0);
    assert_true(ct_evidence_save(ev, path, FALSE, NULL));
    g_clear_error(&error);
    assert_false(ct_evidence_save(ev, path, FALSE, &error));
    assert_non_null(strstr(error->message, "--force"));
    assert_true(ct_evidence_save(ev, path, TRUE, NULL));
    g_autoptr(CtEvidence) back = ct_evidence_load(path, NULL);
    assert_non_null(back);
    /* No temporary file is left behind. */
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    for (const char *name; (name = g_dir_read_name(dir));)
        assert_true(g_str_has_suffix(name, ".case"));
}

static void opened_case_only_reads(void **state)
{
    (void)state;
    g_autofree char *path = in_folder("query.case");
    g_autofree char *other = in_folder("other.db");
    g_autoptr(CtEvidence) ev = filled();
    assert_true(ct_evidence_save(ev, path, FALSE, NULL));
    sqlite3 *db = ct_case_open_readonly(path, NULL);
    assert_non_null(db);
    assert_answer(db, "SELECT code FROM event", "2");
    assert_answer(db, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n LIMIT 5) "
                      "SELECT count(*) FROM n", "5");
    assert_answer(db, "SELECT count(*) FROM json_each('[1,2]')", "2");
    g_autofree char *attach = g_strdup_printf("ATTACH '%s' AS o", other);
    const char *const refused[] = {"DELETE FROM event", "CREATE TEMP TABLE t(a)",
                                   "PRAGMA writable_schema=1", "PRAGMA user_version",
                                   "UPDATE sqlite_master SET sql='x'", "DROP TABLE fact", "VACUUM INTO 'x'",
                                   "SELECT load_extension('x')", attach};
    for (guint i = 0; i < G_N_ELEMENTS(refused); i++) {
        int rc = sqlite3_exec(db, refused[i], NULL, NULL, NULL);
        if (rc == SQLITE_OK)
            fail_msg("not refused: %s", refused[i]);
    }
    assert_false(g_file_test(other, G_FILE_TEST_EXISTS));
    sqlite3_close(db);
}

static void endless_query_is_stopped(void **state)
{
    (void)state;
    g_autofree char *path = in_folder("endless.case");
    g_autoptr(CtEvidence) ev = filled();
    assert_true(ct_evidence_save(ev, path, FALSE, NULL));
    sqlite3 *db = ct_case_open_readonly(path, NULL);
    int rc = sqlite3_exec(db, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) "
                              "SELECT max(i) FROM n", NULL, NULL, NULL);
    assert_int_equal(rc, SQLITE_INTERRUPT);
    sqlite3_close(db);
}

/* ---- files that are not what they say ---- */

static void assert_refused(const char *path, const char *why)
{
    g_autoptr(GError) error = NULL;
    CtEvidence *ev = ct_evidence_load(path, &error);
    assert_null(ev);
    assert_non_null(error);
    if (!strstr(error->message, why))
        fail_msg("'%s' lacks '%s'", error->message, why);
    sqlite3 *db = ct_case_open_readonly(path, NULL);
    assert_null(db);
}

static void patched(const char *path, gsize at, const char *bytes, gsize n)
{
    g_autofree char *data = NULL;
    gsize len;
    assert_true(g_file_get_contents(path, &data, &len, NULL));
    memcpy(data + at, bytes, n);
    assert_true(g_file_set_contents(path, data, (gssize)len, NULL));
}

static void wrong_files_are_refused(void **state)
{
    (void)state;
    g_autofree char *path = in_folder("wrong.case");
    assert_refused("/nonexistent/x.case", "No such file");
    assert_refused(folder, "not a regular file");
    g_file_set_contents(path, "", 0, NULL);
    assert_refused(path, "not a case file");
    g_file_set_contents(path, "SQLite format 3", 16, NULL);
    assert_refused(path, "cut off");
    g_unlink(path);

    g_autoptr(CtEvidence) ev = filled();
    assert_true(ct_evidence_save(ev, path, FALSE, NULL));
    patched(path, 60, "\0\0\0\x63", 4);
    assert_refused(path, "newer cutriage");
    patched(path, 60, "\0\0\0\0", 4);
    assert_refused(path, "no version");
    patched(path, 60, "\0\0\0\1", 4);
    patched(path, 68, "abcd", 4);
    assert_refused(path, "not a case file of cutriage");
}

static void run_sql(const char *path, const char *sql)
{
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    char *message = NULL;
    if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK)
        fail_msg("%s: %s", sql, message);
    sqlite3_close(db);
}

static void foreign_schema_is_refused(void **state)
{
    (void)state;
    const char *const tricks[] = {
        "CREATE VIEW v AS SELECT 1",
        "CREATE TRIGGER t AFTER INSERT ON fact BEGIN DELETE FROM event; END",
        "CREATE TABLE more(a)",
        "DROP TABLE span",
        "DROP TABLE fact; CREATE VIEW fact AS SELECT randomblob(1000000000) AS id",
        "CREATE INDEX extra ON fact(abs(number))",
        "ALTER TABLE event ADD COLUMN x AS (hex(zeroblob(100000)))",
    };
    g_autoptr(CtEvidence) ev = filled();
    for (guint i = 0; i < G_N_ELEMENTS(tricks); i++) {
        g_autofree char *path = g_strdup_printf("%s/foreign%u.case", folder, i);
        assert_true(ct_evidence_save(ev, path, FALSE, NULL));
        run_sql(path, tricks[i]);
        assert_refused(path, path);
    }
    g_autofree char *plain = in_folder("plain.case");
    run_sql(plain, "PRAGMA application_id=1129599559; PRAGMA user_version=1; CREATE TABLE a(b)");
    assert_refused(plain, "not part of a case file");
}

static void hostile_rows_do_no_harm(void **state)
{
    (void)state;
    g_autoptr(CtEvidence) ev = filled();
    g_autofree char *path = in_folder("rows.case");
    assert_true(ct_evidence_save(ev, path, FALSE, NULL));
    run_sql(path, "UPDATE event SET text=CAST(x'fffe80' AS TEXT), detail='{', repeats='many'");
    g_autoptr(CtEvidence) odd = ct_evidence_load(path, NULL);
    assert_non_null(odd);
    const char *const bad[] = {
        "UPDATE event SET section=9000000000000000000",
        "UPDATE event SET section='x'",
        "UPDATE sample SET series=77",
        "INSERT INTO event(id,section,seq,kind,severity) VALUES(-5,1,9,'a','error')",
        "UPDATE finding_evidence SET tab='sqlite_master'",
    };
    for (guint i = 0; i < G_N_ELEMENTS(bad); i++) {
        assert_true(ct_evidence_save(ev, path, TRUE, NULL));
        run_sql(path, bad[i]);
        g_autoptr(GError) error = NULL;
        assert_null(ct_evidence_load(path, &error));
        assert_int_equal(error->code, CT_ERROR_CORRUPT);
    }
    /* A failed import leaves nothing behind. */
    g_autoptr(CtEvidence) into = filled();
    run_sql(path, "UPDATE sample SET series=77");
    assert_false(ct_evidence_import(into, path, NULL));
    assert_answer(ct_evidence_db(into), "SELECT count(*) FROM event", "1");
    assert_int_equal(ct_evidence_n_series(into), 1);
    ct_series_add(ct_evidence_series(into, 1, "gpu:0", "gpu.memory.used", "bytes"), 5, 1, 1);
    assert_answer(ct_evidence_db(into), "SELECT count(*) FROM sample", "101");
}

static void damage_never_crashes(void **state)
{
    (void)state;
    g_autoptr(CtEvidence) ev = filled();
    g_autofree char *path = in_folder("whole.case");
    g_autofree char *hurt = in_folder("hurt.case");
    assert_true(ct_evidence_save(ev, path, FALSE, NULL));
    g_autofree char *data = NULL;
    gsize len;
    assert_true(g_file_get_contents(path, &data, &len, NULL));
    g_autoptr(GRand) random = g_rand_new_with_seed(42);
    for (guint i = 0; i < 300; i++) {
        g_autofree char *copy = g_malloc(len);
        memcpy(copy, data, len);
        guint flips = 1 + (guint)g_rand_int_range(random, 0, 8);
        for (guint k = 0; k < flips; k++)
            copy[g_rand_int_range(random, 0, (gint32)len)] ^=
                (char)(1 << g_rand_int_range(random, 0, 8));
        gsize keep = i % 3 ? len : (gsize)g_rand_int_range(random, 1, (gint32)len);
        g_file_set_contents(hurt, copy, (gssize)keep, NULL);
        g_autoptr(GError) error = NULL;
        CtEvidence *got = ct_evidence_load(hurt, &error);
        assert_true((got == NULL) == (error != NULL));
        ct_evidence_free(got);
    }
}

static void sniffing(void **state)
{
    (void)state;
    guint8 head[100] = "SQLite format 3";
    assert_false(ct_case_sniff(head, sizeof(head)));
    memcpy(head + 68, "CTRG", 4);
    assert_true(ct_case_sniff(head, sizeof(head)));
    assert_false(ct_case_sniff(head, 99));
    assert_false(ct_case_sniff(head, 0));
}

static int make_folder(void **state)
{
    (void)state;
    folder = g_dir_make_tmp("cutriage-case-XXXXXX", NULL);
    return folder ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    GDir *dir = g_dir_open(folder, 0, NULL);
    for (const char *name; dir && (name = g_dir_read_name(dir));) {
        g_autofree char *path = in_folder(name);
        g_unlink(path);
    }
    if (dir)
        g_dir_close(dir);
    g_rmdir(folder);
    g_free(folder);
    return 0;
}

static char *shout(const char *about, const char *text, gsize len, gsize *out_len, gpointer user)
{
    guint *keyed = user;
    *keyed += about && strcmp(about, "version.driver") == 0 && strcmp(text, "550.54.15") == 0;
    *out_len = len;
    return g_ascii_strup(text, (gssize)len);
}

/* Texts change, what rules ask for does not; a value is given with its key. */
static void rewriting_keeps_the_vocabulary(void **state)
{
    static const struct {
        const char *sql, *is;
    } want[] = {
        {"SELECT key FROM fact", "version.driver"}, {"SELECT kind FROM event", "cuda-error"},
        {"SELECT gpu FROM event", "GPU-AB"},        {"SELECT path FROM source", "RUN.LOG"},
        {"SELECT command FROM section", "./RUN"},   {"SELECT count(*) FROM sqlar", "0"},
    };
    guint keyed = 0;
    g_autoptr(CtEvidence) ev = filled();
    g_autoptr(GPtrArray) removed = g_ptr_array_new_with_free_func(g_free);
    const CtRewrite how = {.change = shout, .user = &keyed};
    assert_true(ct_evidence_rewrite(ev, &how, removed, NULL));
    assert_int_equal(keyed, 1);
    assert_int_equal(removed->len, 1);
    for (gsize i = 0; i < G_N_ELEMENTS(want); i++) {
        g_autofree char *got = ask(ct_evidence_db(ev), want[i].sql);
        assert_string_equal(got, want[i].is);
    }
}

#define IN_FOLDER(f) cmocka_unit_test_setup_teardown(f, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(round_trip),
        IN_FOLDER(import_shifts_ids),
        IN_FOLDER(existing_files_are_safe),
        IN_FOLDER(opened_case_only_reads),
        IN_FOLDER(endless_query_is_stopped),
        IN_FOLDER(wrong_files_are_refused),
        IN_FOLDER(foreign_schema_is_refused),
        IN_FOLDER(hostile_rows_do_no_harm),
        IN_FOLDER(damage_never_crashes),
        cmocka_unit_test(rewriting_keeps_the_vocabulary),
        cmocka_unit_test(sniffing),
    };
    return cmocka_run_group_tests_name("evidence-case", tests, NULL, NULL);
}
