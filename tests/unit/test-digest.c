/* SPDX-License-Identifier: Apache-2.0 */
/* Made-up traces with a known reason for their slow requests: from events to findings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "fake-timeline.h"

#include "analyze/analyzer.h"
#include "timeline/digest-private.h"
#include "timeline/digest.h"

#define US G_GINT64_CONSTANT(1000)
#define MS (1000 * US)

typedef struct {
    CtTimeline *tl;
    CtEvidence *ev;
    gint64 section, now, gpu; /* the host's time, when the GPU is done */
    gint64 tid;
    gint device;
    double slower; /* of all kernels */
    GRand *rand;
} World;

static int setup(void **state)
{
    World *w = g_new0(World, 1);
    w->tl = fake_new();
    w->ev = ct_evidence_new(NULL);
    gint64 source = ct_evidence_add_source(w->ev, &(CtSourceRow){.path = "made-up"});
    w->section = ct_evidence_add_section(w->ev,
                                         &(CtSectionRow){.source = source, .first_line = 1});
    w->now = w->gpu = 1000 * MS;
    w->tid = 1;
    w->slower = 1;
    w->rand = g_rand_new_with_seed(3);
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    World *w = *state;
    ct_timeline_free(w->tl);
    ct_evidence_free(w->ev);
    g_rand_free(w->rand);
    g_free(w);
    return 0;
}

static void call(World *w, CtTlCall kind, const char *name, gint64 ns)
{
    CtTlEvent *e = fake_add(w->tl, CT_TL_CALL, name, w->now, ns);
    e->call = kind;
    e->tid = w->tid;
    w->now += ns;
}

static void kernel(World *w, const char *name, gint64 ns)
{
    call(w, CT_TL_CALL_LAUNCH, "cudaLaunchKernel", 4 * US);
    guint64 link = ++w->tl->next;
    g_array_index(w->tl->events, CtTlEvent, w->tl->events->len - 1).correlation = link;
    gint64 begin = MAX(w->now + 2 * US, w->gpu);
    CtTlEvent *e = fake_add(w->tl, CT_TL_KERNEL, name, begin, ns);
    e->shape = fake_name(w->tl, "64x1x1");
    e->device = w->device;
    e->stream = 7;
    e->correlation = link;
    w->gpu = begin + ns;
}

static void copy(World *w, guint64 bytes, gint64 ns, gboolean pageable)
{
    gint64 begin = MAX(w->now + 2 * US, w->gpu);
    CtTlEvent *e = fake_add(w->tl, CT_TL_COPY, "HtoD", begin, ns);
    *e = (CtTlEvent){.kind = CT_TL_COPY, .copy = CT_TL_COPY_H2D, .name = e->name, .t0 = begin,
                     .t1 = begin + ns, .bytes = bytes, .device = 0, .stream = 7, .tid = -1,
                     .correlation = ++w->tl->next, .target = CT_TL_MEM_DEVICE,
                     .source = pageable ? CT_TL_MEM_PAGEABLE : CT_TL_MEM_PINNED};
    w->gpu = begin + ns;
    call(w, CT_TL_CALL_COPY, "cudaMemcpyAsync", pageable ? w->gpu - w->now : 5 * US);
    g_array_index(w->tl->events, CtTlEvent, w->tl->events->len - 1).correlation = w->tl->next;
}

static void sync_gpu(World *w)
{
    call(w, CT_TL_CALL_SYNC, "cudaStreamSynchronize", MAX(w->gpu - w->now, 2 * US));
}

typedef enum {
    NOTHING, ALLOC, PAGEABLE, SLEEP, ONE_KERNEL, ALL_KERNELS, MORE_SYNCS, HELD_UP, NEW_CODE, STALLED,
    READS, WAITS_FOR_BATCH
} Trouble;

static void request(World *w, guint i, Trouble trouble, gboolean named)
{
    gint64 begin = w->now;
    if (trouble == ALLOC) {
        call(w, CT_TL_CALL_FREE, "cudaFree", 900 * US);
        call(w, CT_TL_CALL_ALLOC, "cudaMalloc", 600 * US);
    }
    if (trouble == PAGEABLE)
        copy(w, 64 << 20, 9 * MS, TRUE);
    if (trouble == SLEEP)
        w->now += 5 * MS;
    if (trouble == READS || trouble == WAITS_FOR_BATCH) {
        CtTlEvent *e = fake_add(w->tl, CT_TL_RANGE,
                                trouble == READS ? "readImage" : "wait-for-batch", w->now, 7 * MS);
        e->tid = w->tid;
        w->now += 7 * MS;
    }
    if (trouble == NEW_CODE)
        call(w, CT_TL_CALL_MODULE, "cuModuleLoadData", 12 * MS);
    for (guint k = 0; k < 40; k++) {
        g_autofree char *name = g_strdup_printf("kernel_%c", 'a' + (int)(k % 10));
        double ns = 50e3 * (1 + (k % 10) / 5.0) * (1 + 0.02 * g_rand_double(w->rand));
        ns *= w->slower;
        if (trouble == ONE_KERNEL && k % 10 == 3)
            ns *= 4;
        if (trouble == ALL_KERNELS)
            ns *= 1.6;
        if (trouble == HELD_UP && k == 5 + i % 30)
            ns += 3e6;
        if (trouble == STALLED && k == 20) {
            sync_gpu(w);
            w->gpu += 4 * MS; /* the next kernel is queued, and nothing of ours runs */
        }
        kernel(w, name, (gint64)ns);
        if (trouble == MORE_SYNCS) {
            sync_gpu(w);
            w->now += 60 * US;
        }
    }
    sync_gpu(w);
    CtTlEvent *e = fake_add(w->tl, CT_TL_RANGE, named ? "request" : "aten::linear", begin,
                            w->now - begin);
    e->tid = w->tid;
    w->now += 40 * US;
}

static void run(World *w, guint n, guint each, Trouble trouble, gboolean named)
{
    for (guint i = 0; i < n; i++)
        request(w, i, each && i % each == each - 1 ? trouble : NOTHING, named);
    assert_true(ct_timeline_digest(w->tl, w->ev, w->section, NULL));
    ct_analyze(w->ev);
}

static gint64 number_of(World *w, const char *sql)
{
    sqlite3_stmt *st = NULL;
    gint64 n = -1;
    assert_int_equal(sqlite3_prepare_v2(ct_evidence_db(w->ev), sql, -1, &st, NULL), SQLITE_OK);
    if (sqlite3_step(st) == SQLITE_ROW)
        n = sqlite3_column_int64(st, 0);
    sqlite3_finalize(st);
    return n;
}

static void leads(World *w, const char *kind)
{
    g_autofree char *sql = g_strdup_printf(
        "SELECT count(*) FROM finding WHERE kind = '%s' AND json_extract(detail, '$.leads')", kind);
    assert_int_equal(number_of(w, sql), 1);
    assert_int_equal(number_of(w, "SELECT count(*) FROM finding WHERE kind GLOB 'slow-request-*'"),
                     1);
}

#define CASE(id, trouble, kind)                                                                    \
    static void test_##id(void **state)                                                            \
    {                                                                                              \
        World *w = *state;                                                                         \
        run(w, 60, 12, trouble, TRUE);                                                             \
        leads(w, kind);                                                                            \
    }

CASE(alloc, ALLOC, "slow-request-alloc")
CASE(pageable, PAGEABLE, "slow-request-copy")
CASE(sleep, SLEEP, "slow-request-idle")
CASE(one_kernel, ONE_KERNEL, "slow-request-kernel")
CASE(all_kernels, ALL_KERNELS, "slow-request-kernel")
CASE(syncs, MORE_SYNCS, "slow-request-sync")
CASE(held_up, HELD_UP, "slow-request-queue")
CASE(new_code, NEW_CODE, "slow-request-first-time")
CASE(stalled, STALLED, "slow-request-queue")
CASE(reads, READS, "slow-request-input")
CASE(waits_for_batch, WAITS_FOR_BATCH, "slow-request-queue")

static gint64 findings(World *w, const char *kind, const char *where)
{
    g_autofree char *sql = g_strdup_printf(
        "SELECT count(*) FROM finding WHERE kind = '%s' AND %s", kind, where);
    return number_of(w, sql);
}

static void judge(World *w)
{
    assert_true(ct_timeline_digest(w->tl, w->ev, w->section, NULL));
    ct_analyze(w->ev);
}

/* A neighbour that comes and goes again; one that is there each 12th time is no burst. */
static void test_bursts(void **state)
{
    World *w = *state;
    for (guint i = 0; i < 80; i++)
        request(w, i, i >= 30 && i < 42 ? STALLED : NOTHING, TRUE);
    judge(w);
    assert_int_equal(findings(w, "slow-request-queue", "json_extract(detail, '$.bursts')"), 1);
}

static void test_no_bursts(void **state)
{
    World *w = *state;
    run(w, 80, 8, STALLED, TRUE);
    assert_int_equal(findings(w, "slow-request-queue", "NOT json_extract(detail, '$.bursts')"), 1);
}

/* Memory that only the first request allocates. */
static void test_first_use(void **state)
{
    World *w = *state;
    for (guint i = 0; i < 60; i++)
        request(w, i, i == 0 ? ALLOC : NOTHING, TRUE);
    judge(w);
    assert_int_equal(findings(w, "slow-request-first-time", "json_extract(detail, '$.first') = 1"),
                     1);
}

/* The first one has what later ones have too. */
static void test_first_is_like_others(void **state)
{
    World *w = *state;
    for (guint i = 0; i < 60; i++)
        request(w, i, i % 10 == 0 ? PAGEABLE : NOTHING, TRUE);
    judge(w);
    leads(w, "slow-request-copy");
}

static void test_sparse(void **state)
{
    World *w = *state;
    for (guint i = 0; i < 12; i++) {
        request(w, i, NOTHING, TRUE);
        w->now += 1800 * MS;
    }
    judge(w);
    assert_int_equal(findings(w, "run-sparse", "1"), 1);
    assert_int_equal(number_of(w, "SELECT count(*) FROM span WHERE track = 'request'"), 12);
}

static void test_clock_moves(void **state)
{
    World *w = *state;
    for (guint i = 0; i < 80; i++) {
        w->slower = 1 + 0.1 * (1 - cos(i / 9.0));
        request(w, i, NOTHING, TRUE);
    }
    judge(w);
    assert_int_equal(findings(w, "run-clock-moves", "1"), 1);
}

/* Without calls in the trace nobody can say that the host made none. */
static void test_no_calls(void **state)
{
    World *w = *state;
    for (guint i = 0; i < 60; i++)
        request(w, i, i % 12 == 11 ? ALLOC : NOTHING, TRUE);
    for (guint i = w->tl->events->len; i > 0; i--)
        if (g_array_index(w->tl->events, CtTlEvent, i - 1).kind == CT_TL_CALL)
            g_array_remove_index(w->tl->events, i - 1);
    judge(w);
    assert_int_equal(findings(w, "latency-outliers", "1"), 1);
    assert_int_equal(findings(w, "slow-request-idle", "1"), 0);
}

/* The same of a run whose requests all have such a hole. */
static void test_no_calls_at_all(void **state)
{
    World *w = *state;
    for (guint i = 0; i < 60; i++)
        request(w, i, SLEEP, TRUE);
    for (guint i = w->tl->events->len; i > 0; i--)
        if (g_array_index(w->tl->events, CtTlEvent, i - 1).kind == CT_TL_CALL)
            g_array_remove_index(w->tl->events, i - 1);
    judge(w);
    assert_int_equal(findings(w, "run-gpu-idle", "1"), 0);
}

/* A clock needs some requests to come up again after a pause; all of these are behind one. */
static void test_ramp_after_pause(void **state)
{
    World *w = *state;
    for (guint i = 0; i < 120; i++) {
        if (i % 10 == 0)
            w->now += 4000 * MS;
        w->slower = MAX(2.2 - 0.4 * (i % 10), 1);
        request(w, i, NOTHING, TRUE);
    }
    judge(w);
    assert_int_equal(findings(w, "latency-after-idle", "1"), 1);
}

/* Far more than the mean of both: still the same kernels. */
static void test_clock_falls_far(void **state)
{
    World *w = *state;
    for (guint i = 0; i < 100; i++) {
        w->slower = i / 20 % 2 ? 1.9 : 1;
        request(w, i, NOTHING, TRUE);
    }
    judge(w);
    assert_int_equal(findings(w, "run-clock-moves", "number > 1.7"), 1);
}

static void test_one_kernel_is_no_clock(void **state)
{
    World *w = *state;
    for (guint i = 0; i < 80; i++)
        request(w, i, i >= 40 ? ONE_KERNEL : NOTHING, TRUE);
    judge(w);
    assert_int_equal(findings(w, "run-clock-moves", "1"), 0);
    leads(w, "slow-request-kernel");
}

/* The program reads between its requests, and the GPU is idle meanwhile. */
static void test_reads_between(void **state)
{
    World *w = *state;
    for (guint i = 0; i < 40; i++) {
        CtTlEvent *e = fake_add(w->tl, CT_TL_RANGE, "decode frame 1", w->now, 20 * MS);
        e->tid = w->tid;
        w->now += 20 * MS;
        request(w, i, NOTHING, FALSE);
    }
    judge(w);
    assert_int_equal(findings(w, "run-input-bound", "number > 0.6"), 1);
}

/* Another GPU of the process is at work all the time: the one of the requests is idle all the
 * same while its host sleeps. */
static void test_idle_of_one_gpu(void **state)
{
    World *w = *state;
    gint64 from = w->now;
    for (guint i = 0; i < 60; i++)
        request(w, i, i % 12 == 11 ? SLEEP : NOTHING, TRUE);
    for (gint64 t = from; t < w->now; t += 90 * MS) {
        guint64 link = ++w->tl->next;
        CtTlEvent *e = fake_add(w->tl, CT_TL_CALL, "cudaLaunchKernel", t - 9 * US, 3 * US);
        e->call = CT_TL_CALL_LAUNCH;
        e->tid = 99;
        e->correlation = link;
        e = fake_add(w->tl, CT_TL_KERNEL, "other", t, 90 * MS);
        e->device = 1;
        e->stream = 7;
        e->correlation = link;
    }
    judge(w);
    leads(w, "slow-request-idle");
}

static gint earlier(gconstpointer a, gconstpointer b)
{
    const CtTlEvent *x = a, *y = b;
    return (x->t0 > y->t0) - (x->t0 < y->t0);
}

/* Two ranks recorded together, each with its own GPU: both number their calls from one. */
static void test_two_processes(void **state)
{
    World *w = *state;
    gint64 from = w->now;
    guint64 next = w->tl->next;
    for (guint i = 0; i < 60; i++)
        request(w, i, i % 12 == 11 ? ALLOC : NOTHING, TRUE);
    guint first = w->tl->events->len;
    w->now = w->gpu = from + 700 * US;
    w->tl->next = next;
    w->tid = 2;
    w->device = 1;
    for (guint i = 0; i < 60; i++)
        request(w, i, NOTHING, TRUE);
    for (guint i = first; i < w->tl->events->len; i++)
        g_array_index(w->tl->events, CtTlEvent, i).pid = 2;
    g_array_sort(w->tl->events, earlier);
    judge(w);
    leads(w, "slow-request-alloc");
    assert_int_equal(findings(w, "slow-request-queue", "1"), 0);
}

/* No two pieces of work alike, so no requests; tiny kernels, and launches that take the time. */
static void test_without_requests(void **state)
{
    World *w = *state;
    for (guint i = 0; i < 4000; i++) {
        g_autofree char *name = g_strdup_printf("k_%u", g_rand_int_range(w->rand, 0, 100000));
        call(w, CT_TL_CALL_LAUNCH, "cudaLaunchKernel", 3 * US);
        kernel(w, name, 1 * US);
        w->now += 2 * US;
    }
    judge(w);
    assert_int_equal(number_of(w, "SELECT count(*) FROM span WHERE track = 'request'"), 0);
    assert_int_equal(findings(w, "run-launch-bound", "1"), 1);
}

static void test_nothing(void **state)
{
    World *w = *state;
    run(w, 60, 0, NOTHING, TRUE);
    assert_int_equal(number_of(w, "SELECT count(*) FROM span WHERE track = 'request'"), 60);
    assert_int_equal(number_of(w, "SELECT count(*) FROM finding WHERE analyzer IN "
                                  "('slow-requests', 'whole-run')"), 0);
}

static void test_parts_add_up(void **state)
{
    World *w = *state;
    run(w, 60, 12, PAGEABLE, TRUE);
    assert_int_equal(
        number_of(w, "SELECT count(*) FROM span s WHERE track = 'request' AND abs((SELECT "
                     "sum(value) FROM json_each(s.detail, '$.parts')) - (t1_ns - t0_ns)) > 2000"),
        0);
}

/* No range of the program's own: the kernels repeat. */
static void test_pattern(void **state)
{
    World *w = *state;
    run(w, 60, 12, ONE_KERNEL, FALSE);
    gint64 n = number_of(w, "SELECT count(*) FROM span WHERE track = 'request'");
    assert_true(n >= 55 && n <= 61);
    leads(w, "slow-request-kernel");
}

static void test_odd_events(void **state)
{
    World *w = *state;
    for (guint i = 0; i < 3000; i++) {
        gint64 t = (gint64)(g_rand_double(w->rand) * 1e9) - 500000;
        CtTlEvent *e = fake_add(w->tl, (CtTlKind)(i % 10), i % 7 ? "r" : "", t,
                                (gint64)(g_rand_double(w->rand) * 1e6) - 1000);
        if (i % 97 == 0)
            e->t0 = i % 2 ? G_MININT64 : G_MAXINT64;
        if (i % 89 == 0)
            e->t1 = i % 2 ? G_MAXINT64 : G_MININT64;
        e->correlation = i % 3 ? i : G_MAXUINT64 - i;
        e->tid = i % 5;
        e->stream = (gint32)(i % 4) - 1;
        e->call = (CtTlCall)(i % 10);
    }
    assert_true(ct_timeline_digest(w->tl, w->ev, w->section, NULL));
    ct_analyze(w->ev);
}

static void test_empty(void **state)
{
    World *w = *state;
    assert_true(ct_timeline_digest(w->tl, w->ev, w->section, NULL));
    ct_analyze(w->ev);
    assert_int_equal(number_of(w, "SELECT count(*) FROM span"), 0);
}

static void test_range_names(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        CtRangeKind kind;
    } names[] = {
        {"decode_frame", CT_RANGE_INPUT},    {"Preprocess", CT_RANGE_INPUT},
        {"loadImage", CT_RANGE_INPUT},       {"disk-read", CT_RANGE_INPUT},
        {"io", CT_RANGE_INPUT},              {"fetch batch 3", CT_RANGE_INPUT},
        {"queue_wait", CT_RANGE_QUEUE},      {"WaitForBatch", CT_RANGE_QUEUE},
        {"batching", CT_RANGE_QUEUE},        {"request", CT_RANGE_OTHER},
        {"thread ready", CT_RANGE_OTHER},    {"load_weights", CT_RANGE_OTHER},
        {"decoder layer 4", CT_RANGE_OTHER}, {"aten::_fused_read", CT_RANGE_OTHER},
        {"", CT_RANGE_OTHER},                {"ratio", CT_RANGE_OTHER},
        {"图像解码", CT_RANGE_INPUT},        {"读取第3帧", CT_RANGE_INPUT},
        {"排队等待", CT_RANGE_QUEUE},        {"加载权重", CT_RANGE_OTHER},
        {"解码器第4层", CT_RANGE_OTHER},     {"推理", CT_RANGE_OTHER},
    };
    for (guint i = 0; i < G_N_ELEMENTS(names); i++)
        assert_int_equal(ct_digest_range_kind(names[i].name), names[i].kind);
}

int main(void)
{
#define TEST(id) cmocka_unit_test_setup_teardown(test_##id, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(alloc),   TEST(pageable),  TEST(sleep),         TEST(one_kernel), TEST(all_kernels),
        TEST(syncs),   TEST(held_up),   TEST(new_code),      TEST(stalled),    TEST(nothing),
        TEST(parts_add_up), TEST(pattern), TEST(odd_events), TEST(empty), TEST(reads),
        TEST(waits_for_batch), TEST(bursts), TEST(no_bursts), TEST(first_use),
        TEST(first_is_like_others), TEST(sparse), TEST(clock_moves), TEST(reads_between),
        TEST(idle_of_one_gpu), TEST(without_requests), TEST(range_names),
        TEST(two_processes), TEST(ramp_after_pause),
        TEST(no_calls), TEST(no_calls_at_all),
        TEST(one_kernel_is_no_clock), TEST(clock_falls_far),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
