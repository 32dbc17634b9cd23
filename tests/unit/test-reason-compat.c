/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions over the compatibility tables of the program itself: each boundary is asked for on
 * both sides. The numbers stand in NVIDIA's release notes; when a table grows, none of them moves.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "evidence/evidence.h"
#include "kb/kb.h"
#include "reason/reason.h"

typedef struct {
    const char *call, *want; /* want NULL: the tables do not know */
} Case;

static CtKb *kb;
static CtEvidence *store;

static int set_up(void **state)
{
    (void)state;
    g_autoptr(GError) error = NULL;
    kb = ct_kb_open(&error);
    store = ct_evidence_new(&error);
    if (!kb || !store)
        return -1;
    sqlite3 *db = ct_evidence_db(store);
    sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
    return ct_reason_register_sql(db) == SQLITE_OK && ct_kb_attach(kb, db, &error) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    sqlite3_exec(ct_evidence_db(store), "DETACH kb", NULL, NULL, NULL);
    ct_evidence_free(store);
    ct_kb_free(kb);
    return 0;
}

static void check(const Case *cases, gsize n)
{
    for (gsize i = 0; i < n; i++) {
        sqlite3_stmt *st;
        g_autofree char *sql = g_strdup_printf("SELECT %s", cases[i].call);
        assert_int_equal(sqlite3_prepare_v2(ct_evidence_db(store), sql, -1, &st, NULL), SQLITE_OK);
        assert_int_equal(sqlite3_step(st), SQLITE_ROW);
        const char *got = (const char *)sqlite3_column_text(st, 0);
        if (g_strcmp0(got, cases[i].want) != 0)
            fail_msg("%s is %s, not %s", cases[i].call, got ? got : "NULL",
                     cases[i].want ? cases[i].want : "NULL");
        sqlite3_finalize(st);
    }
}

static void test_driver(void **state)
{
    (void)state;
    static const Case cases[] = {
        {"driver_cuda('535.183.01')", "12.2"},
        {"driver_cuda('550.54.15')", "12.4"},
        {"driver_cuda('550')", "12.4"},
        {"driver_cuda('580.65.06')", "13.0"},
        {"driver_cuda('999.1')", NULL},
        {"driver_cuda('540.4.0')", NULL}, /* a Jetson driver: the release says */
        {"driver_cuda(NULL)", NULL},
        {"driver_cuda('none')", NULL},
        /* all of the toolkit from its own driver on */
        {"driver_runs('550.54.13', '12.4')", "minor"},
        {"driver_runs('550.54.14', '12.4')", "all"},
        {"driver_runs('560.28.03', '12.6.3')", "all"},
        {"driver_runs('580.65.05', '13.0')", "minor"},
        {"driver_runs('580.65.06', '13.0')", "all"},
        /* the floor of the major */
        {"driver_runs('525.60.12', '12.8')", "no"},
        {"driver_runs('525.60.13', '12.8')", "minor"},
        {"driver_runs('450.80.01', '11.8')", "no"},
        {"driver_runs('450.80.02', '11.8')", "minor"},
        {"driver_runs('450.36.05', '11.0')", "no"},
        {"driver_runs('450.36.06', '11.0')", "all"},
        {"driver_runs('579.99', '13.1')", "no"},
        {"driver_runs('580', '13.1')", "minor"},
        /* before CUDA 11 there is no minor compatibility */
        {"driver_runs('440.32', '10.2')", "no"},
        {"driver_runs('440.33', '10.2')", "all"},
        {"driver_runs('418.38', '10.1')", "no"},
        {"driver_runs('418.39', '10.1')", "all"},
        /* newer drivers run older toolkits */
        {"driver_runs('595.71.05', '11.0')", "all"},
        {"driver_runs('550.54.15', '99.0')", NULL},
        {"driver_runs('550.54.15', NULL)", NULL},
        {"cuda_driver('12.4')", "550.54.14"},
        {"cuda_driver('12.4.1')", "550.54.14"},
        {"cuda_driver('11.8')", "520.61.05"},
        {"cuda_driver('0.1')", NULL},
    };
    check(cases, G_N_ELEMENTS(cases));
}

static void test_architecture(void **state)
{
    (void)state;
    static const Case cases[] = {
        {"sm_in_cuda('sm_90', '11.7')", "0"},      {"sm_in_cuda('sm_90', '11.8')", "1"},
        {"sm_in_cuda('sm_90a', '12.0')", "1"},     {"sm_in_cuda('compute_86', '11.0')", "0"},
        {"sm_in_cuda('compute_86', '11.1')", "1"}, {"sm_in_cuda('8.9', '11.8')", "1"},
        {"sm_in_cuda('8.9', '11.7')", "0"},        {"sm_in_cuda('12.0', '12.8')", "1"},
        {"sm_in_cuda('sm_120', '12.7')", "0"},     {"sm_in_cuda('sm_70', '12.9')", "1"},
        {"sm_in_cuda('sm_70', '13.0')", "0"},      {"sm_in_cuda('sm_75', '13.0')", "1"},
        {"sm_in_cuda('sm_37', '11.8')", "1"},      {"sm_in_cuda('sm_37', '12.0')", "0"},
        {"sm_in_cuda('sm_110', '12.9')", "0"},     {"sm_in_cuda('sm_110', '13.0')", "1"},
        {"sm_in_cuda('sm_87', '11.3')", "0"},      {"sm_in_cuda('sm_87', '11.4')", "1"},
        {"sm_in_cuda('sm_999', '12.0')", NULL},    {"sm_in_cuda('sm_90', 'unknown')", NULL},
        {"sm_in_driver('sm_61', '580.65.06')", "1"}, {"sm_in_driver('sm_61', '590.44.01')", "0"},
        {"sm_in_driver('sm_37', '470.82.01')", "1"}, {"sm_in_driver('sm_37', '495.29.05')", "0"},
        {"sm_in_driver('sm_90', '590.44.01')", "1"}, {"sm_in_driver('sm_90', '470.82.01')", "0"},
        {"sm_in_driver('sm_90', '999.1')", NULL},
    };
    check(cases, G_N_ELEMENTS(cases));
}

static void test_jetson(void **state)
{
    (void)state;
    static const Case cases[] = {
        {"l4t_part('35.4.1', 'tensorrt') GLOB '8.5.2*'", "1"},
        {"l4t_part('R35.4.1', 'jetpack')", "5.1.2"},
        {"l4t_part('35.4.1-20230801124926', 'cuda') GLOB '11.4*'", "1"},
        {"l4t_part('36.3.0', 'cuda') GLOB '12.2*'", "1"},
        {"l4t_part('36.4.0', 'cuda') GLOB '12.6*'", "1"},
        {"l4t_part('32.7.1', 'cuda') GLOB '10.2*'", "1"},
        {"l4t_part('35.99.1', 'cuda')", NULL},
        {"l4t_part('35.4.1', 'nonsense')", NULL},
        {"jetpack_l4t('5.1.2')", "35.4.1"},
        {"jetpack_l4t('6.0')", "36.3.0"},
        {"jetpack_l4t('1.0')", NULL},
    };
    check(cases, G_N_ELEMENTS(cases));
}

static void test_without_knowledge(void **state)
{
    (void)state;
    g_autoptr(CtEvidence) bare = ct_evidence_new(NULL);
    sqlite3_stmt *st;
    assert_int_equal(ct_reason_register_sql(ct_evidence_db(bare)), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(ct_evidence_db(bare), "SELECT driver_cuda('550.1')", -1,
                                        &st, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_step(st), SQLITE_ROW);
    assert_int_equal(sqlite3_column_type(st, 0), SQLITE_NULL);
    sqlite3_finalize(st);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_driver),
        cmocka_unit_test(test_architecture),
        cmocka_unit_test(test_jetson),
        cmocka_unit_test(test_without_knowledge),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
