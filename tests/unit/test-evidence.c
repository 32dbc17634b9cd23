/* SPDX-License-Identifier: Apache-2.0 */
/* The store: folding of repeats, caps, series. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/limits.h"
#include "evidence/evidence.h"

static gint64 number(CtEvidence *ev, const char *sql)
{
    sqlite3_stmt *st = NULL;
    assert_int_equal(sqlite3_prepare_v2(ct_evidence_db(ev), sql, -1, &st, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(st), SQLITE_ROW);
    gint64 n = sqlite3_column_int64(st, 0);
    sqlite3_finalize(st);
    return n;
}

static CtEvidence *store(gint64 *out_section)
{
    CtEvidence *ev = ct_evidence_new(NULL);
    assert_non_null(ev);
    gint64 source = ct_evidence_add_source(ev, &(CtSourceRow){.path = "x.log", .status = CT_OK});
    *out_section = ct_evidence_add_section(ev, &(CtSectionRow){.source = source, .first_line = 1});
    return ev;
}

static CtEventRow error_row(gint64 section, guint line, gint64 t_ns)
{
    return (CtEventRow){.section = section,
                        .line = line,
                        .t_ns = t_ns,
                        .kind = "cuda-error",
                        .severity = CT_SEV_ERROR,
                        .code = 700,
                        .has_code = TRUE,
                        .text = "a line"};
}

static void repeats_fold(void **state)
{
    (void)state;
    gint64 section;
    g_autoptr(CtEvidence) ev = store(&section);
    gint64 first = 0;
    for (guint i = 0; i < 1000; i++) {
        CtEventRow row = error_row(section, i + 1, (gint64)(i + 1) * 1000);
        gint64 id = ct_evidence_add_event(ev, &row);
        if (i == 0)
            first = id;
        assert_int_equal(id, first);
    }
    assert_int_equal(number(ev, "SELECT count(*) FROM event"), 1);
    assert_int_equal(number(ev, "SELECT repeats FROM event"), 1000);
    assert_int_equal(number(ev, "SELECT line FROM event"), 1);
    assert_int_equal(number(ev, "SELECT last_line FROM event"), 1000);
    assert_int_equal(number(ev, "SELECT last_t_ns FROM event"), 1000 * 1000);
}

static void different_rows_stay_apart(void **state)
{
    (void)state;
    gint64 section;
    g_autoptr(CtEvidence) ev = store(&section);
    CtEventRow a = error_row(section, 1, 0), b = error_row(section, 2, 0);
    CtEventRow c = error_row(section, 3, 0), d = error_row(section, 4, 0);
    b.code = 719;
    c.name = "x", c.subject = "yz";
    d.name = "xy", d.subject = "z";
    const CtEventRow *rows[] = {&a, &b, &c, &d};
    for (guint i = 0; i < G_N_ELEMENTS(rows); i++)
        ct_evidence_add_event(ev, rows[i]);
    assert_int_equal(number(ev, "SELECT count(*) FROM event"), 4);
}

static void a_long_pause_begins_a_new_row(void **state)
{
    (void)state;
    gint64 section;
    g_autoptr(CtEvidence) ev = store(&section);
    const gint64 times[] = {1000, 2000, 2000 + CT_FOLD_GAP_NS + 1, 2000 + CT_FOLD_GAP_NS + 2,
                            1500 /* clock went back */};
    for (guint i = 0; i < G_N_ELEMENTS(times); i++) {
        CtEventRow row = error_row(section, i + 1, times[i]);
        ct_evidence_add_event(ev, &row);
    }
    assert_int_equal(number(ev, "SELECT count(*) FROM event"), 3);
    assert_int_equal(number(ev, "SELECT sum(repeats) FROM event"), 5);
}

static void kinds_are_capped(void **state)
{
    (void)state;
    gint64 section;
    g_autoptr(CtEvidence) ev = store(&section);
    for (guint i = 0; i < CT_MAX_ROWS_PER_KIND + 50; i++) {
        CtEventRow row = error_row(section, i + 1, 0);
        row.code = i;
        gint64 id = ct_evidence_add_event(ev, &row);
        assert_true((id > 0) == (i < CT_MAX_ROWS_PER_KIND));
    }
    assert_int_equal(ct_evidence_dropped(ev), 50);
    /* A repeat of a row that is there is still counted. */
    CtEventRow again = error_row(section, 99999, 0);
    again.code = 7;
    assert_true(ct_evidence_add_event(ev, &again) > 0);
    assert_int_equal(number(ev, "SELECT repeats FROM event WHERE code=7"), 2);
}

static void facts_are_capped(void **state)
{
    (void)state;
    gint64 section;
    g_autoptr(CtEvidence) ev = store(&section);
    for (guint i = 0; i < CT_MAX_FACTS_PER_SECTION + 5; i++)
        ct_evidence_add_fact(ev, &(CtFactRow){.section = section, .key = "k", .value = "v"});
    assert_int_equal(number(ev, "SELECT count(*) FROM fact"), CT_MAX_FACTS_PER_SECTION);
    assert_int_equal(ct_evidence_dropped(ev), 5);
}

static void series_are_capped(void **state)
{
    (void)state;
    gint64 section;
    g_autoptr(CtEvidence) ev = store(&section);
    for (guint i = 0; i < CT_MAX_SERIES + 10; i++) {
        g_autofree char *subject = g_strdup_printf("s%u", i);
        CtSeries *s = ct_evidence_series(ev, section, subject, "memory.used", "bytes");
        ct_series_add(s, CT_TIME_UNKNOWN, 1.0, i);
    }
    assert_int_equal(ct_evidence_n_series(ev), CT_MAX_SERIES);
    assert_int_equal(ct_evidence_dropped(ev), 10);
}

static void samples_are_readable_in_sql(void **state)
{
    (void)state;
    gint64 section;
    g_autoptr(CtEvidence) ev = store(&section);
    CtSeries *a = ct_evidence_series(ev, section, "gpu:0", "gpu.power", "W");
    CtSeries *b = ct_evidence_series(ev, section, "gpu:1", "gpu.power", "W");
    ct_series_add(a, 10, 100, 1);
    ct_series_add(b, 10, 200, 1);
    ct_series_add(b, CT_TIME_UNKNOWN, 300, 2);
    ct_series_add(b, 30, 0.0 / 0.0, 3);
    assert_int_equal(number(ev, "SELECT count(*) FROM sample"), 3);
    assert_int_equal(number(ev, "SELECT sum(m.value) FROM sample m JOIN series s "
                                "ON s.id=m.series WHERE s.subject='gpu:1'"),
                     500);
    assert_int_equal(number(ev, "SELECT t_ns IS NULL FROM sample WHERE value=300"), 1);
}

static void broken_text_becomes_valid(void **state)
{
    (void)state;
    gint64 section;
    g_autoptr(CtEvidence) ev = store(&section);
    CtEventRow row = error_row(section, 1, 0);
    row.text = "bad \xff\xfe bytes";
    ct_evidence_add_event(ev, &row);
    sqlite3_stmt *st = NULL;
    sqlite3_prepare_v2(ct_evidence_db(ev), "SELECT text FROM event", -1, &st, NULL);
    assert_int_equal(sqlite3_step(st), SQLITE_ROW);
    assert_true(g_utf8_validate((const char *)sqlite3_column_text(st, 0), -1, NULL));
    sqlite3_finalize(st);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(repeats_fold),
        cmocka_unit_test(different_rows_stay_apart),
        cmocka_unit_test(a_long_pause_begins_a_new_row),
        cmocka_unit_test(kinds_are_capped),
        cmocka_unit_test(facts_are_capped),
        cmocka_unit_test(series_are_capped),
        cmocka_unit_test(samples_are_readable_in_sql),
        cmocka_unit_test(broken_text_becomes_valid),
    };
    return cmocka_run_group_tests_name("evidence", tests, NULL, NULL);
}
