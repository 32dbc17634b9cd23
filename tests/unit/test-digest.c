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
#include "timeline/digest.h"

#define US G_GINT64_CONSTANT(1000)
#define MS (1000 * US)

typedef struct {
    CtTimeline *tl;
    CtEvidence *ev;
    gint64 section, now, gpu; /* the host's time, when the GPU is done */
    gint64 tid;
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
    e->device = 0;
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
    NOTHING, ALLOC, PAGEABLE, SLEEP, ONE_KERNEL, ALL_KERNELS, MORE_SYNCS, HELD_UP, NEW_CODE, STALLED
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
    if (trouble == NEW_CODE)
        call(w, CT_TL_CALL_MODULE, "cuModuleLoadData", 12 * MS);
    for (guint k = 0; k < 40; k++) {
        g_autofree char *name = g_strdup_printf("kernel_%c", 'a' + (int)(k % 10));
        double ns = 50e3 * (1 + (k % 10) / 5.0) * (1 + 0.02 * g_rand_double(w->rand));
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

int main(void)
{
#define TEST(id) cmocka_unit_test_setup_teardown(test_##id, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(alloc),   TEST(pageable),  TEST(sleep),         TEST(one_kernel), TEST(all_kernels),
        TEST(syncs),   TEST(held_up),   TEST(new_code),      TEST(stalled),    TEST(nothing),
        TEST(parts_add_up), TEST(pattern), TEST(odd_events), TEST(empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
