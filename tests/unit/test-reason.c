/* SPDX-License-Identifier: Apache-2.0 */
/* The reasoner on a small knowledge base of its own (tests/data/kb-mini). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "reason/reason-private.h"

#define SECOND G_GINT64_CONSTANT(1000000000)
#define T0 (G_GINT64_CONSTANT(1700000000) * SECOND)

static CtKb *kb;

/* ---- building evidence ---- */

static gint64 section(CtEvidence *ev, const char *path, const char *clock)
{
    gint64 source = ct_evidence_add_source(ev, &(CtSourceRow){.path = path, .format = "text"});
    return ct_evidence_add_section(
        ev, &(CtSectionRow){.source = source, .first_line = 1, .clock = clock});
}

static gint64 event(CtEvidence *ev, gint64 in, guint line, gint64 t_ns, const char *kind,
                    gint64 code, const char *detail)
{
    g_autofree char *text = g_strdup_printf("%s %" G_GINT64_FORMAT, kind, code);
    CtEventRow row = {.section = in,
                      .line = line,
                      .t_ns = t_ns,
                      .kind = kind,
                      .severity = CT_SEV_ERROR,
                      .code = code,
                      .has_code = TRUE,
                      .gpu = "3b:00",
                      .name = "trainer",
                      .text = text,
                      .detail = detail};
    return ct_evidence_add_event(ev, &row);
}

static void fact(CtEvidence *ev, gint64 in, guint line, const char *key, const char *value)
{
    ct_evidence_add_fact(
        ev, &(CtFactRow){.section = in, .line = line, .key = key, .value = value, .text = value});
}

static CtDiagnosis *diagnose(CtEvidence *ev, const char *lang)
{
    g_autoptr(GError) error = NULL;
    CtDiagnosis *d = ct_diagnose(ev, kb, lang, &error);
    if (!d)
        fail_msg("%s", error->message);
    return d;
}

static const CtHypothesis *find(const GPtrArray *all, const char *cause)
{
    for (guint i = 0; i < all->len; i++) {
        const CtHypothesis *h = g_ptr_array_index(all, i);
        if (strcmp(h->cause, cause) == 0)
            return h;
    }
    return NULL;
}

static const CtHypothesis *leader(const CtDiagnosis *d)
{
    return g_ptr_array_index(d->hypotheses, 0);
}

static double total(const CtDiagnosis *d)
{
    double sum = 0;
    for (guint i = 0; i < d->hypotheses->len; i++)
        sum += ((CtHypothesis *)g_ptr_array_index(d->hypotheses, i))->probability;
    return sum;
}

/* ---- tests ---- */

static void nothing_gives_unknown(void **state)
{
    (void)state;
    g_autoptr(CtEvidence) ev = ct_evidence_new(NULL);
    g_autoptr(CtDiagnosis) d = diagnose(ev, "en");
    assert_string_equal(leader(d)->cause, "unknown");
    assert_true(leader(d)->probability > 0.99);
    assert_true(leader(d)->next->len > 0);
    const CtNextTest *t = g_ptr_array_index(leader(d)->next, 0);
    assert_string_equal(t->run, "sudo dmesg -T > dmesg.txt");
    assert_true(d->layers->len >= 15);
    for (guint i = 0; i < d->layers->len; i++)
        assert_int_equal(((CtLayer *)g_ptr_array_index(d->layers, i))->state, CT_LAYER_UNKNOWN);
}

static void unknown_has_rules_too(void **state)
{
    (void)state;
    g_autoptr(CtEvidence) ev = ct_evidence_new(NULL);
    gint64 s = section(ev, "app.log", NULL);
    event(ev, s, 1, 0, "cuda-error", 30, NULL);
    g_autoptr(CtDiagnosis) d = diagnose(ev, "en");
    assert_int_equal(d->hypotheses->len, 1);
    assert_string_equal(leader(d)->cause, "unknown");
    assert_string_equal(leader(d)->title, "Nothing stands out");
    assert_int_equal(leader(d)->for_->len, 1);
    assert_true(fabs(leader(d)->score - CT_UNKNOWN_SCORE - 3) < 1e-9);
}

static void asks_for_what_a_jetson_has(void **state)
{
    (void)state;
    g_autoptr(CtEvidence) ev = ct_evidence_new(NULL);
    gint64 s = section(ev, "release.txt", NULL);
    fact(ev, s, 1, "version.l4t", "35.4.1");
    ct_evidence_add_coverage(ev, s, "kernel-log", NULL, 0, 0);
    ct_evidence_add_coverage(ev, s, "versions", NULL, 0, 0);
    g_autoptr(CtDiagnosis) d = diagnose(ev, "en");
    for (guint i = 0; i < leader(d)->next->len; i++) {
        const CtNextTest *t = g_ptr_array_index(leader(d)->next, i);
        assert_null(strstr(t->run, "nvidia-smi"));
        assert_null(strstr(t->run, "dmesg"));
    }
}

static void one_group_is_capped(void **state)
{
    (void)state;
    g_autoptr(CtEvidence) ev = ct_evidence_new(NULL);
    gint64 s = section(ev, "dmesg.txt", "wall");
    event(ev, s, 7, T0, "xid", 79, NULL);
    event(ev, s, 8, T0 + SECOND, "xid", 79, "{\"x\":1}"); /* a repeat is not cited */
    event(ev, s, 9, T0 + 3600 * SECOND, "xid", 79, "{\"x\":1}");
    g_autoptr(CtDiagnosis) d = diagnose(ev, "en");
    const CtHypothesis *h = leader(d);
    assert_string_equal(h->cause, "bus-lost");
    assert_true(fabs(h->probability - CT_CAP_ONE_GROUP) < 1e-9);
    assert_non_null(h->capped);
    assert_true(fabs(total(d) - 1) < 1e-6);
    assert_true(fabs(h->score - (16 - 3)) < 1e-9); /* the second row adds nothing */
    assert_int_equal(h->for_->len, 2);
    const CtCitation *c = g_ptr_array_index(h->for_, 0);
    assert_string_equal(c->source, "dmesg.txt");
    assert_int_equal(c->line, 7);
    assert_string_equal(c->text, "GPU 3b:00 left the bus (Xid 79)");
    assert_string_equal(c->quote, "xid 79");
    assert_string_equal(h->action, "drain");
    assert_int_equal(h->fix->len, 1);
}

static void groups_of_two_sections_lift_the_cap(void **state)
{
    (void)state;
    g_autoptr(CtEvidence) ev = ct_evidence_new(NULL);
    gint64 s = section(ev, "all.txt", "boot");
    event(ev, s, 1, 0, "xid", 79, NULL);
    event(ev, s, 2, 0, "cuda-error", 999, NULL);
    g_autoptr(CtDiagnosis) d = diagnose(ev, "en");
    assert_true(leader(d)->probability <= CT_CAP_ONE_SECTION + 1e-9);
    assert_true(leader(d)->probability > CT_CAP_ONE_GROUP);

    g_autoptr(CtEvidence) two = ct_evidence_new(NULL);
    gint64 a = section(two, "dmesg.txt", "boot"), b = section(two, "app.log", NULL);
    event(two, a, 1, 0, "xid", 79, NULL);
    event(two, b, 2, 0, "cuda-error", 999, NULL);
    g_autoptr(CtDiagnosis) d2 = diagnose(two, "en");
    assert_true(leader(d2)->cap == CT_CAP_ALWAYS);
    assert_true(leader(d2)->probability >= leader(d)->probability - 1e-9);
}

static void weaker_rules_of_a_group_count_a_quarter(void **state)
{
    (void)state;
    g_autoptr(CtEvidence) ev = ct_evidence_new(NULL);
    gint64 s = section(ev, "app.log", NULL);
    event(ev, s, 1, 0, "cuda-error", 700, "{\"call\":\"cudaFree\"}");
    g_autoptr(CtDiagnosis) d = diagnose(ev, "en");
    const CtHypothesis *h = leader(d);
    assert_string_equal(h->cause, "kernel-fault");
    assert_true(fabs(h->score - (12 + 8 * 0.25)) < 1e-9);
    const CtCitation *c = g_ptr_array_index(h->for_, 0);
    assert_string_equal(c->text, "call cudaFree returned 700");
}

static void absence_needs_coverage(void **state)
{
    (void)state;
    g_autoptr(CtEvidence) ev = ct_evidence_new(NULL);
    gint64 s = section(ev, "app.log", NULL);
    event(ev, s, 1, 0, "cuda-error", 719, NULL);
    g_autoptr(CtDiagnosis) d = diagnose(ev, "en");
    assert_int_equal(leader(d)->against->len, 0);
    assert_int_equal(leader(d)->missing->len, 1);
    assert_non_null(strstr(g_ptr_array_index(leader(d)->missing, 0), "dmesg"));
    double before = leader(d)->score;

    gint64 k = section(ev, "dmesg.txt", "boot");
    ct_evidence_add_coverage(ev, k, "kernel-log", NULL, 0, 0);
    g_autoptr(CtDiagnosis) d2 = diagnose(ev, "en");
    assert_int_equal(leader(d2)->against->len, 1);
    assert_true(fabs(leader(d2)->score - (before - 3)) < 1e-9);
    const CtCitation *c = g_ptr_array_index(leader(d2)->against, 0);
    assert_string_equal(c->source, "dmesg.txt");
}

static void absence_needs_the_right_time(void **state)
{
    (void)state;
    const gint64 hour = 3600 * SECOND;
    for (int covers = 0; covers < 2; covers++) {
        g_autoptr(CtEvidence) ev = ct_evidence_new(NULL);
        gint64 s = section(ev, "app.log", "wall"), k = section(ev, "dmesg.txt", "wall");
        event(ev, s, 1, T0 + 5 * hour, "cuda-error", 719, NULL);
        ct_evidence_add_coverage(ev, k, "kernel-log", NULL, T0, T0 + (covers ? 6 : 1) * hour);
        g_autoptr(CtDiagnosis) d = diagnose(ev, "en");
        assert_int_equal(leader(d)->against->len, covers);
        assert_int_equal(leader(d)->missing->len, !covers);
    }
}

static void all_coverage_of_a_list_is_needed(void **state)
{
    (void)state;
    g_autoptr(CtEvidence) ev = ct_evidence_new(NULL);
    gint64 s = section(ev, "mem.csv", NULL);
    ct_evidence_add_finding(ev, &(CtFindingRow){.analyzer = "a",
                                                .kind = "memory-growth",
                                                .number = 9.6 * 1024 * 1024,
                                                .detail = "{\"metric\":\"memory.used\","
                                                          "\"share\":0.345,\"span\":\"5e9\"}"});
    ct_evidence_add_coverage(ev, s, "memory-series", NULL, 0, 0);
    g_autoptr(CtDiagnosis) d = diagnose(ev, "en");
    assert_string_equal(leader(d)->cause, "growth");
    assert_int_equal(leader(d)->against->len, 0);
    assert_int_equal(leader(d)->missing->len, 1);
    const CtCitation *c = g_ptr_array_index(leader(d)->for_, 0);
    assert_string_equal(c->text, "memory.used grows 9.6 MiB a second, 34.5 % of all in 5 s");
}

static void findings_cite_their_lines(void **state)
{
    (void)state;
    g_autoptr(CtEvidence) ev = ct_evidence_new(NULL);
    gint64 s = section(ev, "mem.csv", NULL);
    CtSeries *series = ct_evidence_series(ev, s, "gpu:0", "memory.used", "bytes");
    for (guint i = 0; i < 5; i++)
        ct_series_add(series, CT_TIME_UNKNOWN, (i + 1) * 1073741824.0, 10 + i);
    gint64 f = ct_evidence_add_finding(
        ev, &(CtFindingRow){.analyzer = "a", .kind = "memory-growth", .number = 1});
    for (guint line = 10; line < 15; line += 2)
        ct_evidence_cite(ev, f, "series", ct_evidence_series_at(ev, 0).id, line);
    g_autoptr(CtDiagnosis) d = diagnose(ev, "zh");
    const CtHypothesis *h = leader(d);
    assert_int_equal(h->for_->len, 3);
    const CtCitation *first = g_ptr_array_index(h->for_, 0);
    const CtCitation *last = g_ptr_array_index(h->for_, 2);
    assert_string_equal(first->source, "mem.csv");
    assert_int_equal(first->line, 10);
    assert_true(first->weight == 13 && last->weight == 0);
    assert_int_equal(last->line, 14);
    assert_string_equal(last->quote, "gpu:0 memory.used = 5 GiB");
    assert_string_equal(h->title, "内存增长");
}

static void consequences_are_listed_under_their_root(void **state)
{
    (void)state;
    g_autoptr(CtEvidence) ev = ct_evidence_new(NULL);
    gint64 k = section(ev, "dmesg.txt", "wall"), s = section(ev, "app.log", "wall");
    event(ev, k, 1, T0, "xid", 79, NULL);
    event(ev, s, 1, T0 + SECOND, "cuda-error", 719, NULL);
    event(ev, s, 2, T0 + 2 * SECOND, "cuda-error", 709, NULL);
    g_autoptr(CtDiagnosis) d = diagnose(ev, "en");
    assert_string_equal(leader(d)->cause, "bus-lost");
    assert_int_equal(leader(d)->consequences->len, 2);
    assert_null(find(d->hypotheses, "kernel-fault"));
    const CtHypothesis *c = find(d->consequences, "kernel-fault");
    assert_non_null(c);
    assert_string_equal(c->explained_by, "bus-lost");
    assert_true(c->probability == 0);
}

static void a_hint_explains_nothing(void **state)
{
    (void)state;
    g_autoptr(CtEvidence) ev = ct_evidence_new(NULL);
    gint64 s = section(ev, "app.log", NULL);
    event(ev, s, 1, 0, "cuda-error", 719, NULL);
    event(ev, s, 2, 0, "cuda-error", 999, NULL); /* only 4 for bus-lost */
    g_autoptr(CtDiagnosis) d = diagnose(ev, "en");
    assert_null(find(d->consequences, "bus-lost"));
    assert_string_equal(leader(d)->cause, "kernel-fault");
}

/* kernel-fault and context-dead explain each other: the earlier one is the root. */
static void mutual_explanation_goes_by_time(void **state)
{
    (void)state;
    for (int dead_first = 0; dead_first < 2; dead_first++) {
        g_autoptr(CtEvidence) ev = ct_evidence_new(NULL);
        gint64 s = section(ev, "app.log", NULL);
        event(ev, s, 1, 0, "cuda-error", dead_first ? 709 : 719, NULL);
        event(ev, s, 2, 0, "cuda-error", dead_first ? 719 : 709, NULL);
        g_autoptr(CtDiagnosis) d = diagnose(ev, "en");
        assert_string_equal(leader(d)->cause, dead_first ? "context-dead" : "kernel-fault");
        assert_int_equal(d->consequences->len, 1);
    }
}

static void rules_join_and_cite_both(void **state)
{
    (void)state;
    g_autoptr(CtEvidence) ev = ct_evidence_new(NULL);
    gint64 a = section(ev, "smi.txt", NULL), b = section(ev, "pip.txt", NULL);
    fact(ev, a, 3, "version.driver", "418.87.01");
    fact(ev, b, 4, "version.cuda.runtime", "v12.1.105");
    g_autoptr(CtDiagnosis) d = diagnose(ev, "en");
    const CtHypothesis *h = leader(d);
    assert_string_equal(h->cause, "old-driver");
    assert_int_equal(h->for_->len, 2);
    assert_string_equal(((CtCitation *)g_ptr_array_index(h->for_, 1))->source, "pip.txt");
    assert_string_equal(((CtCitation *)g_ptr_array_index(h->for_, 0))->text,
                        "driver 418.87.01 for runtime v12.1.105");
}

static void broken_rules_are_noted_and_skipped(void **state)
{
    (void)state;
    g_autoptr(CtEvidence) ev = ct_evidence_new(NULL);
    gint64 s = section(ev, "dmesg.txt", NULL);
    event(ev, s, 1, 0, "xid", 79, NULL);
    g_autoptr(CtDiagnosis) d = diagnose(ev, "en");
    assert_null(find(d->hypotheses, "broken-rule"));
    assert_int_equal(d->notes->len, 3);
    assert_string_equal(leader(d)->cause, "bus-lost");
}

static void cheap_separating_test_comes_first(void **state)
{
    (void)state;
    g_autoptr(CtEvidence) ev = ct_evidence_new(NULL);
    gint64 s = section(ev, "app.log", NULL), t = section(ev, "b.log", NULL);
    event(ev, t, 1, 0, "cuda-error", 999, NULL);
    event(ev, s, 1, 0, "cuda-error", 719, NULL);
    g_autoptr(CtDiagnosis) d = diagnose(ev, "en");
    const CtHypothesis *h = find(d->hypotheses, "kernel-fault");
    if (!h)
        h = find(d->consequences, "kernel-fault");
    const CtHypothesis *bus = find(d->hypotheses, "bus-lost");
    assert_non_null(bus);
    const CtNextTest *first = g_ptr_array_index(bus->next, 0);
    assert_string_equal(first->test, "read-kernel-log");
    assert_true(first->gain > 0);
    assert_int_equal(first->outcomes->len, 2);
}

static void later_line_is_held_back(void **state)
{
    (void)state;
    g_autoptr(CtEvidence) ev = ct_evidence_new(NULL);
    gint64 s = section(ev, "all.log", NULL);
    event(ev, s, 1, 0, "cuda-error", 719, NULL);
    event(ev, s, 5, 0, "cuda-error", 2, NULL);
    g_autoptr(CtDiagnosis) d = diagnose(ev, "en");
    const CtHypothesis *growth = find(d->hypotheses, "growth");
    assert_non_null(growth);
    const CtCitation *c = g_ptr_array_index(growth->against, 0);
    assert_string_equal(c->rule, "built-in:first-error");
    assert_int_equal(c->line, 1);
    assert_int_equal(leader(d)->against->len, 0);
}

static void timeline_is_in_order(void **state)
{
    (void)state;
    g_autoptr(CtEvidence) ev = ct_evidence_new(NULL);
    gint64 s = section(ev, "app.log", "wall"), k = section(ev, "dmesg.txt", "wall");
    event(ev, s, 9, T0 + 9 * SECOND, "cuda-error", 719, NULL);
    event(ev, k, 4, T0 + 4 * SECOND, "xid", 31, NULL);
    g_autoptr(CtDiagnosis) d = diagnose(ev, "en");
    assert_int_equal(d->timeline->len, 2);
    assert_string_equal(((CtCitation *)g_ptr_array_index(d->timeline, 0))->source, "dmesg.txt");
}

static void layers_are_ok_only_where_somebody_looked(void **state)
{
    (void)state;
    g_autoptr(CtEvidence) ev = ct_evidence_new(NULL);
    gint64 k = section(ev, "dmesg.txt", NULL);
    ct_evidence_add_coverage(ev, k, "kernel-log", NULL, 0, 0);
    event(ev, k, 1, 0, "xid", 79, NULL);
    g_autoptr(CtDiagnosis) d = diagnose(ev, "en");
    const char *const want[][2] = {
        {"hardware", "fault"}, {"kernel-driver", "ok"}, {"memory", "unknown"}};
    for (guint i = 0; i < G_N_ELEMENTS(want); i++)
        for (guint k2 = 0; k2 < d->layers->len; k2++) {
            const CtLayer *l = g_ptr_array_index(d->layers, k2);
            if (strcmp(l->layer, want[i][0]) == 0)
                assert_string_equal(ct_layer_state_name(l->state), want[i][1]);
        }
}

static void diagnosing_again_gives_the_same(void **state)
{
    (void)state;
    g_autoptr(CtEvidence) ev = ct_evidence_new(NULL);
    gint64 k = section(ev, "dmesg.txt", NULL);
    event(ev, k, 1, 0, "xid", 79, NULL);
    g_autoptr(CtDiagnosis) a = diagnose(ev, "en");
    g_autoptr(CtDiagnosis) b = diagnose(ev, "en");
    assert_true(leader(a)->probability == leader(b)->probability);
    sqlite3_stmt *st = ct_prepare(ct_evidence_db(ev), "SELECT count(*), sum(probability) "
                                                      "FROM hypothesis");
    assert_int_equal(sqlite3_step(st), SQLITE_ROW);
    assert_int_equal(sqlite3_column_int(st, 0), a->hypotheses->len + a->consequences->len);
    sqlite3_finalize(st);
}

static void sentences(void **state)
{
    (void)state;
    g_autofree char *plain = ct_sentence("no {value} here, {x:bytes} {", NULL, NULL);
    assert_string_equal(plain, "no … here, … {");
    const struct {
        double x;
        const char *bytes, *duration;
    } cases[] = {{0, "0 B", "0 ns"},
                 {403200, "394 KiB", "403 µs"},
                 {1536.0 * 1024 * 1024, "1.5 GiB", "1.61 s"},
                 {9.0e10, "83.8 GiB", "90 s"},
                 {3.6e12, "3.27 TiB", "60 min"}};
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *b = ct_format_bytes(cases[i].x);
        g_autofree char *d = ct_format_duration(cases[i].x);
        assert_string_equal(b, cases[i].bytes);
        assert_string_equal(d, cases[i].duration);
    }
}

static void probabilities_are_capped_and_sum_to_one(void **state)
{
    (void)state;
    CtStake stakes[] = {{.score = 40, .cap = 0.75}, {.score = 10, .cap = 0.95}, {.score = 5}};
    ct_probabilities(stakes, 3, 1.0);
    assert_true(fabs(stakes[0].probability - 0.75) < 1e-12);
    assert_true(stakes[2].probability > 0.24);
    assert_true(fabs(stakes[0].probability + stakes[1].probability + stakes[2].probability - 1) <
                1e-12);
    CtStake alone[] = {{.score = 5}};
    ct_probabilities(alone, 1, 1.0);
    assert_true(alone[0].probability == 1);
}

static int open_kb(void **state)
{
    (void)state;
    g_autoptr(GError) error = NULL;
    kb = ct_kb_open_folder(CT_TEST_DATA "/kb-mini", &error);
    if (!kb)
        print_error("%s\n", error->message);
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
        cmocka_unit_test(nothing_gives_unknown),
        cmocka_unit_test(unknown_has_rules_too),
        cmocka_unit_test(asks_for_what_a_jetson_has),
        cmocka_unit_test(one_group_is_capped),
        cmocka_unit_test(groups_of_two_sections_lift_the_cap),
        cmocka_unit_test(weaker_rules_of_a_group_count_a_quarter),
        cmocka_unit_test(absence_needs_coverage),
        cmocka_unit_test(absence_needs_the_right_time),
        cmocka_unit_test(all_coverage_of_a_list_is_needed),
        cmocka_unit_test(findings_cite_their_lines),
        cmocka_unit_test(consequences_are_listed_under_their_root),
        cmocka_unit_test(a_hint_explains_nothing),
        cmocka_unit_test(mutual_explanation_goes_by_time),
        cmocka_unit_test(rules_join_and_cite_both),
        cmocka_unit_test(broken_rules_are_noted_and_skipped),
        cmocka_unit_test(cheap_separating_test_comes_first),
        cmocka_unit_test(later_line_is_held_back),
        cmocka_unit_test(timeline_is_in_order),
        cmocka_unit_test(layers_are_ok_only_where_somebody_looked),
        cmocka_unit_test(diagnosing_again_gives_the_same),
        cmocka_unit_test(sentences),
        cmocka_unit_test(probabilities_are_capped_and_sum_to_one),
    };
    return cmocka_run_group_tests_name("reason", tests, open_kb, close_kb);
}
