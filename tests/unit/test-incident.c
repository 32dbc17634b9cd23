/* SPDX-License-Identifier: Apache-2.0 */
/* Incidents judged apart, what narrowing hides, and ranks side by side. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "analyze/analyzer.h"
#include "cli/next-run.h"
#include "reason/narrow.h"

#define SECOND G_GINT64_CONSTANT(1000000000)
#define DAY (86400 * SECOND)
#define T0 (G_GINT64_CONSTANT(1700000000) * SECOND)

static CtKb *kb;

static gint64 section(CtEvidence *ev, const char *path)
{
    gint64 source = ct_evidence_add_source(ev, &(CtSourceRow){.path = path, .format = "text"});
    return ct_evidence_add_section(
        ev, &(CtSectionRow){.source = source, .first_line = 1, .clock = "wall"});
}

static gint64 event(CtEvidence *ev, gint64 in, guint line, gint64 t_ns, const char *kind,
                    gint64 code, const char *gpu)
{
    return ct_evidence_add_event(ev, &(CtEventRow){.section = in,
                                                   .line = line,
                                                   .t_ns = t_ns,
                                                   .kind = kind,
                                                   .severity = CT_SEV_ERROR,
                                                   .code = code,
                                                   .has_code = TRUE,
                                                   .gpu = gpu,
                                                   .text = kind});
}

/* A lost GPU, and `after` it memory that grew until nothing was left. */
static CtEvidence *two_faults(gint64 after)
{
    CtEvidence *ev = ct_evidence_new(NULL);
    gint64 s = section(ev, "journal.log");
    event(ev, s, 3, T0, "xid", 79, "0000:3b:00");
    gint64 oom = event(ev, s, 9, T0 + after, "cuda-error", 2, NULL);
    gint64 f = ct_evidence_add_finding(ev, &(CtFindingRow){.analyzer = "a",
                                                           .kind = "memory-growth",
                                                           .t0_ns = T0 + after - SECOND,
                                                           .t1_ns = T0 + after,
                                                           .number = 1});
    ct_evidence_cite(ev, f, "event", oom, 9);
    return ev;
}

static const char *lead(const GPtrArray *incidents, guint index)
{
    const CtIncident *x = g_ptr_array_index(incidents, index);
    return ((CtHypothesis *)g_ptr_array_index(x->diagnosis->hypotheses, 0))->cause;
}

static GPtrArray *judge(CtEvidence *ev, const CtNarrow *narrow)
{
    g_autoptr(GError) error = NULL;
    GPtrArray *all = ct_diagnose_incidents(ev, kb, "en", narrow, &error);
    if (!all)
        fail_msg("%s", error->message);
    return all;
}

static void far_apart_they_are_two(void **state)
{
    (void)state;
    g_autoptr(CtEvidence) ev = two_faults(10 * DAY);
    g_autoptr(GPtrArray) all = judge(ev, NULL);
    assert_int_equal(all->len, 2);
    assert_string_equal(lead(all, 0), "bus-lost"); /* now is more urgent than soon */
    assert_string_equal(lead(all, 1), "growth");
    const CtIncident *first = g_ptr_array_index(all, 0);
    assert_true(first->t0_ns == T0 && first->t1_ns == T0);
    assert_int_equal(first->subjects->len, 1);
    /* Rows can be added again, and the hypotheses kept are those of the first. */
    assert_true(event(ev, 1, 20, T0, "xid", 31, NULL) > 0);
    sqlite3_stmt *st = NULL;
    sqlite3_prepare_v2(ct_evidence_db(ev), "SELECT cause FROM hypothesis ORDER BY probability DESC",
                       -1, &st, NULL);
    assert_int_equal(sqlite3_step(st), SQLITE_ROW);
    assert_string_equal((const char *)sqlite3_column_text(st, 0), "bus-lost");
    sqlite3_finalize(st);
}

static void close_together_they_are_one(void **state)
{
    (void)state;
    g_autoptr(CtEvidence) ev = two_faults(3600 * SECOND);
    g_autoptr(GPtrArray) all = judge(ev, NULL);
    assert_int_equal(all->len, 1);
}

static void the_same_again_is_one(void **state)
{
    (void)state;
    g_autoptr(CtEvidence) ev = ct_evidence_new(NULL);
    gint64 s = section(ev, "journal.log");
    for (guint day = 0; day < 30; day++)
        event(ev, s, day + 1, T0 + day * DAY, "xid", 79, "0000:3b:00");
    g_autoptr(GPtrArray) all = judge(ev, NULL);
    assert_int_equal(all->len, 1);
    assert_string_equal(lead(all, 0), "bus-lost");
}

static void narrowing_hides_and_gives_back(void **state)
{
    (void)state;
    g_autoptr(CtEvidence) ev = two_faults(10 * DAY);
    CtNarrow late = CT_NARROW_NOTHING;
    late.since_ns = T0 + DAY;
    g_autoptr(GPtrArray) all = judge(ev, &late);
    assert_int_equal(all->len, 1);
    assert_string_equal(lead(all, 0), "growth");
    ct_narrow_end(ev);
    CtNarrow other = CT_NARROW_NOTHING;
    other.gpu = "0000:5E:00.0";
    g_autoptr(GPtrArray) without = judge(ev, &other);
    assert_string_equal(lead(without, 0), "growth");
    ct_narrow_end(ev);
    g_autoptr(GPtrArray) again = judge(ev, NULL);
    assert_int_equal(again->len, 2);
}

static void names_of_one_gpu(void **state)
{
    (void)state;
    g_autoptr(CtEvidence) ev = ct_evidence_new(NULL);
    ct_evidence_add_alias(ev, "gpu:2", "00000000:3B:00.0");
    ct_evidence_add_alias(ev, "gpu:2", "GPU-1d2c");
    g_autoptr(GHashTable) aliases = ct_gpu_aliases(ct_evidence_db(ev));
    static const struct {
        const char *name, *want;
    } cases[] = {{"0000:3b:00", "gpu:2"}, {"PCI:0000:3B:00", "gpu:2"}, {"gpu-1D2C", "gpu:2"},
                 {"2", "gpu:2"},          {"gpu:2", "gpu:2"},          {"0000:5e:00.0", "gpu:5e:00"}};
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *is = ct_gpu_subject(aliases, cases[i].name);
        assert_string_equal(is, cases[i].want);
    }
}

/* ---- ranks ---- */

static void rank_event(CtEvidence *ev, const char *path, gint64 t_ns, const char *kind)
{
    event(ev, section(ev, path), 1, t_ns, kind, 0, NULL);
}

static char *subject_of(CtEvidence *ev, const char *kind)
{
    sqlite3_stmt *st = NULL;
    sqlite3_prepare_v2(ct_evidence_db(ev), "SELECT subject FROM finding WHERE kind = ?", -1, &st,
                       NULL);
    sqlite3_bind_text(st, 1, kind, -1, SQLITE_STATIC);
    char *subject = sqlite3_step(st) == SQLITE_ROW
                        ? g_strdup((const char *)sqlite3_column_text(st, 0))
                        : NULL;
    sqlite3_finalize(st);
    return subject;
}

static void the_first_of_the_ranks(void **state)
{
    (void)state;
    g_autoptr(CtEvidence) ev = ct_evidence_new(NULL);
    rank_event(ev, "logs/rank_0.log", T0 + 600 * SECOND, "collective-timeout");
    rank_event(ev, "logs/rank_1.log", T0 + 5 * SECOND, "segfault");
    rank_event(ev, "logs/rank_2.log", T0, "device-assert");
    ct_analyze(ev);
    g_autofree char *first = subject_of(ev, "rank-first-failure");
    g_autofree char *wait = subject_of(ev, "ranks-waiting");
    assert_string_equal(first, "rank:2");
    assert_string_equal(wait, "ranks:0");
}

static void without_times_nobody_is_first(void **state)
{
    (void)state;
    g_autoptr(CtEvidence) ev = ct_evidence_new(NULL);
    rank_event(ev, "rank1/stderr", 0, "segfault");
    rank_event(ev, "rank2/stderr", 0, "device-assert");
    ct_analyze(ev);
    g_autofree char *first = subject_of(ev, "rank-first-failure");
    assert_null(first);
}

/* ---- commands of tests ---- */

static void commands_give_their_output(void **state)
{
    (void)state;
    static const struct {
        const char *run, *want;
    } cases[] = {{"sudo dmesg -T > dmesg.txt", "sudo dmesg -T"},
                 {"{ ldd a; ldconfig -p; } > loader.txt 2>&1", "{ ldd a; ldconfig -p; } 2>&1"},
                 {"nvidia-smi -q", "nvidia-smi -q"},
                 {"python <script>", NULL},
                 {"", NULL}};
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *is = ct_next_command(cases[i].run);
        if (cases[i].want)
            assert_string_equal(is, cases[i].want);
        else
            assert_null(is);
    }
}

static int open_kb(void **state)
{
    (void)state;
    kb = ct_kb_open_folder(CT_TEST_DATA "/kb-mini", NULL);
    return kb ? 0 : -1;
}

static int close_kb(void **state)
{
    (void)state;
    ct_kb_free(kb);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(far_apart_they_are_two),
        cmocka_unit_test(close_together_they_are_one),
        cmocka_unit_test(the_same_again_is_one),
        cmocka_unit_test(narrowing_hides_and_gives_back),
        cmocka_unit_test(names_of_one_gpu),
        cmocka_unit_test(the_first_of_the_ranks),
        cmocka_unit_test(without_times_nobody_is_first),
        cmocka_unit_test(commands_give_their_output),
    };
    return cmocka_run_group_tests_name("incident", tests, open_kb, close_kb);
}
