/* SPDX-License-Identifier: Apache-2.0 */
/* Versions in every dialect, and the SQL functions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "evidence/evidence.h"
#include "reason/reason.h"
#include "reason/version.h"

static void comparing(void **state)
{
    (void)state;
    const struct {
        const char *a, *b;
        int want;
    } cases[] = {
        {"8.5.2.2", "8.5.2", 1},
        {"8.5.2-1+cuda11.4", "8.5.2", 0},
        {"8.5.2-1+cuda11.4", "8.5.2-1+cuda11.8", 0},
        {"2.2.2+cu121", "2.2.2", 0},
        {"2.2.2+cu121", "2.10.0+cpu", -1},
        {"535.161.08", "535.54.03", 1},
        {"535.161.08", "535.161.8", 0},
        {"35.4.1-20230801124926", "35.4.1", 0},
        {"R35.4.1", "35.3.1", 1},
        {"R35.4.1", "r35.4.1", 0},
        {"v13.0.88", "13.0", 1},
        {"V12.4.131", "12.4.131", 0},
        {"1:2.3.4-5ubuntu1", "2.3.4", 0},
        {"12", "12.0.0", 0},
        {"2.3.0a0+git1234", "2.3.0", -1},
        {"1.8.0rc2", "1.8.0", -1},
        {"1.8.0rc2", "1.8.0rc1", 1},
        {"1.8.0.dev20240101", "1.8.0rc1", -1},
        {"5.1.2-b104", "5.1.2", 0},
        {"6.0", "5.1.2", 1},
        {"99999999999999999999999", "1", 1},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        int got = 42, back = 42;
        assert_true(ct_version_compare(cases[i].a, cases[i].b, 0, &got));
        assert_true(ct_version_compare(cases[i].b, cases[i].a, 0, &back));
        if (got != cases[i].want || back != -cases[i].want)
            fail_msg("%s against %s: %d, %d", cases[i].a, cases[i].b, got, back);
    }
    int order;
    assert_false(ct_version_compare(NULL, "1", 0, &order));
    assert_false(ct_version_compare("", "1", 0, &order));
    assert_false(ct_version_compare("1", "unknown", 0, &order));
    assert_true(ct_version_compare("8.5.2.2", "8.5.2-1+cuda11.4", 3, &order));
    assert_int_equal(order, 0);
    assert_true(ct_version_compare("12.4.131", "12.4.99", 2, &order));
    assert_int_equal(order, 0);
}

static void ranges(void **state)
{
    (void)state;
    const struct {
        const char *version, *range;
        gboolean want;
    } cases[] = {
        {"12.4", ">=12.4 <13", TRUE},   {"13.0.88", ">=12.4 <13", FALSE},
        {"12.10", ">=12.4 <13", TRUE},  {"11.8", "11.8", TRUE},
        {"11.8.89", "11.8", TRUE},      {"11.80", "11.8", FALSE},
        {"8.6.1.6", "=8.6.1", TRUE},    {"8.6.1.6", "!=8.6", FALSE},
        {"10.2", "<11||>=12", TRUE},    {"11.4", "<11 || >=12", FALSE},
        {"12.1", "<11 || >=12", TRUE},  {"470.57", ">= 450, < 525", TRUE},
        {"R36.4.3", ">=36.4 <37", TRUE}, {"2.2.2+cu121", "<2.3", TRUE},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        gboolean got;
        assert_true(ct_version_in(cases[i].version, cases[i].range, &got));
        if (got != cases[i].want)
            fail_msg("%s in %s", cases[i].version, cases[i].range);
    }
    gboolean got;
    assert_false(ct_version_in("none", ">1", &got));
    assert_false(ct_version_in("1", ">", &got));
    assert_false(ct_version_in("1", "|", &got));
    assert_true(ct_version_in("1", "", &got) && !got);
    assert_true(ct_version_in("1", "||", &got) && !got);
}

static CtEvidence *store;

static gint64 event_at(gint64 section, gint64 t_ns)
{
    static guint line;
    CtEventRow row = {.section = section, .line = ++line, .t_ns = t_ns, .kind = "k"};
    row.code = line;
    row.has_code = TRUE;
    return ct_evidence_add_event(store, &row);
}

static gint64 section_with(const char *clock, gint64 offset_ns)
{
    return ct_evidence_add_section(
        store, &(CtSectionRow){.source = 1, .clock = clock, .clock_offset_ns = offset_ns});
}

static void assert_sql(const char *want, const char *format, gint64 a, gint64 b)
{
    g_autofree char *sql = g_strdup_printf("SELECT coalesce(%s(%d,%d%s),'null')",
                                           strcmp(format, "before") == 0 ? "before" : "near",
                                           (int)a, (int)b,
                                           strcmp(format, "before") == 0 ? "" : ",1000");
    sqlite3_stmt *st = NULL;
    assert_int_equal(sqlite3_prepare_v2(ct_evidence_db(store), sql, -1, &st, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(st), SQLITE_ROW);
    assert_string_equal((const char *)sqlite3_column_text(st, 0), want);
    sqlite3_finalize(st);
}

static void order_in_sql(void **state)
{
    (void)state;
    store = ct_evidence_new(NULL);
    assert_int_equal(ct_reason_register_sql(ct_evidence_db(store)), SQLITE_OK);
    ct_evidence_add_source(store, &(CtSourceRow){.path = "x"});
    gint64 none = section_with("none", 0), wall = section_with("wall", 0);
    gint64 boot = section_with("boot", 0), aligned = section_with("boot", 1000000);
    gint64 a = event_at(none, 0), b = event_at(none, 0);
    gint64 w1 = event_at(wall, 1000100), w2 = event_at(wall, 5000000);
    gint64 lost = event_at(boot, 100);
    gint64 al = event_at(aligned, 500); /* 1000500 */
    assert_sql("1", "before", a, b);
    assert_sql("0", "before", b, a);
    assert_sql("null", "before", a, w1);
    assert_sql("1", "before", w1, al);
    assert_sql("0", "before", w2, al);
    assert_sql("null", "before", lost, w1);
    assert_sql("null", "before", a, 999);
    assert_sql("1", "near", w1, al);
    assert_sql("0", "near", w2, al);
    assert_sql("null", "near", a, b);
    gint64 later = event_at(none, 0); /* the cache notices */
    assert_sql("1", "before", a, later);
    ct_evidence_free(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comparing),
        cmocka_unit_test(ranges),
        cmocka_unit_test(order_in_sql),
    };
    return cmocka_run_group_tests_name("reason-version", tests, NULL, NULL);
}
