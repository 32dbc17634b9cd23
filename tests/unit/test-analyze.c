/* SPDX-License-Identifier: Apache-2.0 */
/* Analyzers on made-up series with a known answer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "analyze/analyzer.h"
#include "analyze/stats.h"

#define MIB (1024.0 * 1024)
#define SECOND G_GINT64_CONSTANT(1000000000)
#define T0 (G_GINT64_CONSTANT(1700000000) * SECOND)

typedef struct {
    CtEvidence *ev;
    gint64 section;
    GRand *rand;
} Fixture;

static int setup(void **state)
{
    Fixture *f = g_new0(Fixture, 1);
    f->ev = ct_evidence_new(NULL);
    f->rand = g_rand_new_with_seed(7);
    gint64 source = ct_evidence_add_source(f->ev, &(CtSourceRow){.path = "made-up"});
    f->section = ct_evidence_add_section(
        f->ev, &(CtSectionRow){.source = source, .first_line = 1, .clock = "wall"});
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    Fixture *f = *state;
    ct_evidence_free(f->ev);
    g_rand_free(f->rand);
    g_free(f);
    return 0;
}

static void add(Fixture *f, const char *metric, double seconds, double value, guint line)
{
    ct_series_add(ct_evidence_series(f->ev, f->section, "gpu:0", metric, "1"),
                  T0 + (gint64)(seconds * 1e9), value, line);
}

static double noise(Fixture *f, double amount)
{
    return amount * (g_rand_double(f->rand) + g_rand_double(f->rand) - 1);
}

/* Number of findings of a kind; *out_number is that of the first. */
static int found(Fixture *f, const char *kind, double *out_number)
{
    sqlite3_stmt *st;
    int n = 0;
    assert_int_equal(sqlite3_prepare_v2(ct_evidence_db(f->ev),
                                        "SELECT number FROM finding WHERE kind = ?", -1, &st, NULL),
                     SQLITE_OK);
    sqlite3_bind_text(st, 1, kind, -1, SQLITE_STATIC);
    while (sqlite3_step(st) == SQLITE_ROW)
        if (n++ == 0 && out_number)
            *out_number = sqlite3_column_double(st, 0);
    sqlite3_finalize(st);
    return n;
}

static void test_leak_with_warm_up(void **state)
{
    Fixture *f = *state;
    for (guint i = 0; i < 600; i++)
        add(f, "memory.used", i, (3000 + MIN(i, 20) * 100 + 5.0 * i + noise(f, 8)) * MIB, i + 1);
    ct_analyze(f->ev);
    double slope = 0;
    assert_int_equal(found(f, "memory-growth", &slope), 1);
    assert_true(fabs(slope / MIB - 5.0) < 0.3);
    assert_int_equal(found(f, "memory-plateau", NULL), 0);
}

static void test_leak_ends_in_a_crash(void **state)
{
    Fixture *f = *state;
    for (guint i = 0; i < 400; i++)
        add(f, "gpu.memory.used", i, (1000 + 9.0 * i + noise(f, 4)) * MIB, i + 1);
    for (guint i = 400; i < 430; i++)
        add(f, "gpu.memory.used", i, (400 + noise(f, 1)) * MIB, i + 1);
    ct_analyze(f->ev);
    assert_int_equal(found(f, "memory-growth", NULL), 1);
}

static void test_warm_up_is_no_leak(void **state)
{
    Fixture *f = *state;
    for (guint i = 0; i < 600; i++)
        add(f, "memory.used", i, (3000 + 2500 * (1 - exp(-(double)i / 60)) + noise(f, 10)) * MIB,
            i + 1);
    ct_analyze(f->ev);
    assert_int_equal(found(f, "memory-growth", NULL), 0);
    assert_int_equal(found(f, "memory-plateau", NULL), 1);
}

static void test_steady_memory_says_nothing(void **state)
{
    Fixture *f = *state;
    for (guint i = 0; i < 300; i++)
        add(f, "gpu.memory.used", i, (8000 + noise(f, 3)) * MIB, i + 1);
    ct_analyze(f->ev);
    assert_int_equal(found(f, "memory-growth", NULL), 0);
    assert_int_equal(found(f, "memory-step", NULL), 0);
    assert_int_equal(found(f, "memory-peak", NULL), 0);
}

static void test_sawtooth(void **state)
{
    Fixture *f = *state;
    for (guint i = 0; i < 300; i++)
        add(f, "gpu.memory.used", i, (2000 + 30.0 * (i % 40) + noise(f, 5)) * MIB, i + 1);
    ct_analyze(f->ev);
    assert_int_equal(found(f, "memory-sawtooth", NULL), 1);
    assert_int_equal(found(f, "memory-growth", NULL), 0);
}

static void test_leak_that_crashes_and_restarts(void **state)
{
    Fixture *f = *state;
    for (guint i = 0; i < 800; i++) {
        add(f, "gpu.memory.used", i, (1000 + 30.0 * (i % 200) + noise(f, 4)) * MIB, i + 1);
        if (i % 200 == 199)
            ct_evidence_add_event(f->ev, &(CtEventRow){.section = f->section,
                                                       .line = i + 1,
                                                       .t_ns = T0 + i * SECOND,
                                                       .kind = "cuda-error",
                                                       .code = 2,
                                                       .has_code = TRUE,
                                                       .severity = CT_SEV_ERROR});
    }
    ct_analyze(f->ev);
    assert_int_equal(found(f, "memory-growth", NULL), 4);
}

static void test_steady_latency_says_nothing(void **state)
{
    Fixture *f = *state;
    for (guint i = 0; i < 1000; i++)
        add(f, "latency", i * 0.01, 4.5e6 * exp(noise(f, 0.05)), i + 1);
    ct_analyze(f->ev);
    assert_int_equal(found(f, "latency-outliers", NULL), 0);
    assert_int_equal(found(f, "latency-level-shift", NULL), 0);
    assert_int_equal(found(f, "latency-bimodal", NULL), 0);
    assert_int_equal(found(f, "latency-drift", NULL), 0);
    assert_int_equal(found(f, "latency-cold-start", NULL), 0);
}

static void test_cold_start(void **state)
{
    Fixture *f = *state;
    for (guint i = 0; i < 200; i++)
        add(f, "latency", i * 0.1, i == 0 ? 600e6 : 24e6 + noise(f, 1e6), i + 1);
    ct_analyze(f->ev);
    double ratio = 0;
    assert_int_equal(found(f, "latency-cold-start", &ratio), 1);
    assert_true(ratio > 20);
    assert_int_equal(found(f, "latency-outliers", NULL), 0);
}

static void test_period(void **state)
{
    Fixture *f = *state;
    for (guint i = 0; i < 3000; i++)
        add(f, "latency", i * 0.1, (i % 300 == 150 ? 40e6 : 5e6) + noise(f, 2e5), i + 1);
    ct_analyze(f->ev);
    double period = 0;
    assert_int_equal(found(f, "latency-periodic", &period), 1);
    assert_true(fabs(period / 1e9 - 30) < 0.5);
}

static void test_time_of_day_with_counter(void **state)
{
    Fixture *f = *state;
    double ecc = 200;
    for (guint i = 0; i < 3 * 1440; i++) {
        gboolean night = i % 1440 >= 180 && i % 1440 < 220;
        add(f, "latency.p99", i * 60.0, (night ? 120e6 : 8e6) + noise(f, 5e5), i + 1);
        if (i % 5 == 0) {
            if (night)
                ecc += 30;
            add(f, "gpu.ecc.corrected", i * 60.0 + 2, ecc, i + 1);
            add(f, "gpu.temperature", i * 60.0 + 2, 45 + noise(f, 2), i + 1);
        }
    }
    ct_analyze(f->ev);
    double chance = 1;
    assert_int_equal(found(f, "latency-time-of-day", NULL), 1);
    assert_true(found(f, "series-coincidence", &chance) >= 1);
    assert_true(chance < 1e-6);
    assert_int_equal(found(f, "counter-step", NULL), 1);
}

/* Stretches hardly longer than the telemetry's step: at their edges a sample is of the quiet. The
 * temperature knows nothing of it. */
static void test_short_stretches_and_clock(void **state)
{
    Fixture *f = *state;
    for (guint i = 0; i < 6000; i++)
        add(f, "latency", i * 0.1, (i % 300 < 20 ? 21e6 : 8.5e6) + noise(f, 5e5), i + 1);
    for (guint i = 0; i < 600; i++) {
        add(f, "gpu.clock.sm", i, i % 30 < 2 ? 210e6 : 2040e6, i + 1);
        add(f, "gpu.temperature", i, 45 + noise(f, 2), i + 1);
    }
    ct_analyze(f->ev);
    double chance = 1;
    assert_int_equal(found(f, "series-coincidence", &chance), 1);
    assert_true(chance < 1e-6);
}

static void test_level_shift(void **state)
{
    Fixture *f = *state;
    for (guint i = 0; i < 2000; i++)
        add(f, "latency", i * 0.1, (i < 1200 ? 5e6 : 7e6) * exp(noise(f, 0.05)), i + 1);
    ct_analyze(f->ev);
    double ratio = 0;
    assert_int_equal(found(f, "latency-level-shift", &ratio), 1);
    assert_true(fabs(ratio - 1.4) < 0.05);
}

static void test_power_cap(void **state)
{
    Fixture *f = *state;
    for (guint i = 0; i < 60; i++) {
        gboolean busy = i >= 10;
        add(f, "gpu.util", i, busy ? 1.0 : 0.0, i + 1);
        add(f, "gpu.clock.sm", i, busy ? 1400e6 : 1980e6, i + 1);
        add(f, "gpu.power", i, busy ? 692 + noise(f, 3) : 90, i + 1);
    }
    ct_evidence_add_fact(f->ev, &(CtFactRow){.section = f->section,
                                             .subject = "gpu:0",
                                             .key = "gpu.power.limit.current",
                                             .number = 700,
                                             .has_number = TRUE});
    ct_analyze(f->ev);
    assert_int_equal(found(f, "power-at-limit", NULL), 1);
    assert_int_equal(found(f, "clock-drop", NULL), 1);
}

static void test_statistics(void **state)
{
    (void)state;
    double x[] = {1, 2, 3, 4, 100};
    assert_true(fabs(ct_median(x, 5) - 3) < 1e-12);
    assert_true(fabs(ct_mad(x, 5, 3) - 1.4826) < 1e-9);
    assert_true(fabs(ct_binomial_tail(10, 5, 0.5) - 0.623046875) < 1e-9);
    assert_true(isnan(ct_median(x, 0)));
    double t[] = {0, 1, 2, 3}, y[] = {1, 3, 5, 7};
    assert_true(fabs(ct_theil_sen(t, y, 4) - 2) < 1e-12);
    assert_true(fabs(ct_kendall_tau(y, 4) - 1) < 1e-12);
}

static void test_odd_input(void **state)
{
    Fixture *f = *state;
    for (guint i = 0; i < 30; i++) {
        add(f, "memory.used", 0, 5 * MIB, i + 1); /* all at one time */
        add(f, "latency", 100.0 - i, 0, i + 1);   /* zero, and backwards */
    }
    add(f, "gpu.power", 1, NAN, 1);
    ct_analyze(f->ev);
    assert_int_equal(found(f, "memory-growth", NULL), 0);
}

static void free_blocks(Fixture *f, double used_mib, double blocks_mib)
{
    ct_evidence_add_fact(f->ev, &(CtFactRow){.section = f->section, .key = "host.memory.total",
                                             .value = "7620MB", .number = 7620 * MIB,
                                             .has_number = TRUE, .status = CT_OK});
    for (guint i = 0; i < 40; i++) {
        add(f, "memory.used", i, used_mib * MIB, i + 1);
        add(f, "memory.lfb", i, blocks_mib * MIB, i + 1);
    }
    ct_analyze(f->ev);
}

static void test_free_memory_in_small_pieces(void **state)
{
    double number = 0;
    free_blocks(*state, 4100, 8);
    assert_int_equal(found(*state, "lfb-low", &number), 1);
    assert_true(number == 8 * MIB);
}

static void test_full_memory_is_not_in_pieces(void **state)
{
    free_blocks(*state, 7300, 8);
    assert_int_equal(found(*state, "lfb-low", NULL), 0);
}

/* Work beside the GPU: the decoder is full from the middle on, or the GPU is. */
static void decoder_load(Fixture *f, double gpu)
{
    for (guint i = 0; i < 200; i++) {
        add(f, "gpu.decoder.util", i, i < 100 ? 0.5 : 0.99, i + 1);
        add(f, "gpu.util", i, gpu, i + 1);
    }
    ct_analyze(f->ev);
}

static void test_decoder_at_its_limit(void **state)
{
    double share;
    decoder_load(*state, 0.3);
    assert_int_equal(found(*state, "decoder-saturated", &share), 1);
    assert_true(fabs(share - 0.5) < 1e-9);
}

static void test_decoder_full_beside_a_full_gpu(void **state)
{
    decoder_load(*state, 0.96);
    assert_int_equal(found(*state, "decoder-saturated", NULL), 0);
}

static void test_busy_at_fixed_clock(void **state)
{
    Fixture *f = *state;
    double clock;
    for (guint i = 0; i < 60; i++) {
        add(f, "gpu.util", i, i % 10 ? 0.98 : 0.6, i + 1);
        add(f, "gpu.clock.sm", i, 408e6, i + 1);
    }
    ct_analyze(f->ev);
    assert_int_equal(found(f, "gpu-busy-at-fixed-clock", &clock), 1);
    assert_true(fabs(clock - 408e6) < 1);
}

static void test_busy_at_changing_clock(void **state)
{
    Fixture *f = *state;
    for (guint i = 0; i < 60; i++) {
        add(f, "gpu.util", i, 0.98, i + 1);
        add(f, "gpu.clock.sm", i, (i % 4 ? 1300e6 : 1100e6), i + 1);
    }
    ct_analyze(f->ev);
    assert_int_equal(found(f, "gpu-busy-at-fixed-clock", NULL), 0);
}

static void test_queue_longer_than_compute(void **state)
{
    Fixture *f = *state;
    double ratio;
    for (guint i = 0; i < 30; i++) {
        add(f, "latency.queue", i, 40e6 + noise(f, 1e6), i + 1);
        add(f, "latency.compute", i, 5e6, i + 1);
    }
    ct_analyze(f->ev);
    assert_int_equal(found(f, "queue-over-compute", &ratio), 1);
    assert_true(ratio > 7 && ratio < 9);
}

static void test_short_queue(void **state)
{
    Fixture *f = *state;
    for (guint i = 0; i < 30; i++) {
        add(f, "latency.queue", i, 1e6, i + 1);
        add(f, "latency.compute", i, 5e6, i + 1);
    }
    ct_analyze(f->ev);
    assert_int_equal(found(f, "queue-over-compute", NULL), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(leak_with_warm_up),
        TEST(leak_ends_in_a_crash),
        TEST(warm_up_is_no_leak),
        TEST(steady_memory_says_nothing),
        TEST(sawtooth),
        TEST(leak_that_crashes_and_restarts),
        TEST(steady_latency_says_nothing),
        TEST(cold_start),
        TEST(period),
        TEST(time_of_day_with_counter),
        TEST(short_stretches_and_clock), TEST(level_shift),
        TEST(power_cap),
        TEST(free_memory_in_small_pieces),
        TEST(full_memory_is_not_in_pieces),
        TEST(decoder_at_its_limit),
        TEST(decoder_full_beside_a_full_gpu),
        TEST(busy_at_fixed_clock),
        TEST(busy_at_changing_clock),
        TEST(queue_longer_than_compute),
        TEST(short_queue),
        TEST(statistics),
        TEST(odd_input),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
