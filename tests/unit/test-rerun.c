/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that capture runs, and what several runs show. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/live/run-command.h"

static void near(double a, double b)
{
    if (fabs(a - b) > 5e-4)
        fail_msg("%f, not %f", a, b);
}

static void wilson(void **state)
{
    /* Values from the formula by hand. */
    static const struct {
        guint k, n;
        double low, high;
    } known[] = {{0, 10, 0, 0.2775}, {10, 10, 0.7225, 1}, {3, 4, 0.3006, 0.9544},
                 {5, 10, 0.2366, 0.7634}, {1, 100, 0.0018, 0.0545}, {0, 0, 0, 1}};
    for (gsize i = 0; i < G_N_ELEMENTS(known); i++) {
        double low, high;
        ct_wilson(known[i].k, known[i].n, &low, &high);
        near(low, known[i].low);
        near(high, known[i].high);
    }
}

static void kendall(void **state)
{
    near(ct_kendall_at_most(4, 0), 1.0 / 24);
    near(ct_kendall_at_most(4, 1), 4.0 / 24);
    near(ct_kendall_at_most(5, 0), 1.0 / 120);
    near(ct_kendall_at_most(5, 1), 5.0 / 120);
    near(ct_kendall_at_most(3, 3), 1);
    near(ct_kendall_at_most(1, 0), 1);
    /* Counted out and by the normal law alike, the distribution is symmetric. */
    near(ct_kendall_at_most(20, 94) + ct_kendall_at_most(20, 95), 1);
    near(ct_kendall_at_most(40, 389) + ct_kendall_at_most(40, 390), 1);
    near(ct_kendall_at_most(31, 150), 0.0026); /* (232.5 - 150.5) / 29.42 */
}

static void trend(void **state)
{
    const CtRunEnd falls[] = {{256, 60000}, {0, 99999}, {256, 50000}, {11, 40000}, {256, 30000},
                              {256, 20000}};
    const CtRunEnd flat[] = {{256, 50000}, {256, 51000}, {256, 49000}, {256, 52000}, {256, 48000}};
    CtRunStatistics s;
    ct_run_statistics(falls, 6, &s);
    assert_int_equal(s.failed, 5);
    assert_true(s.shrinks);
    near(s.slope_ns, -10000);
    near(s.median_ns, 40000);
    ct_run_statistics(flat, 5, &s);
    assert_false(s.shrinks);
    near(s.rate, 1);
    const CtRunEnd same[] = {{256, 5}, {256, 5}, {256, 5}, {256, 5}, {256, 5}};
    ct_run_statistics(same, 5, &s);
    assert_false(s.shrinks);
    ct_run_statistics(falls, 0, &s);
    assert_int_equal(s.failed, 0);
}

static CtRun shell(const char *script, gboolean stacks)
{
    char *argv[] = {"sh", "-c", (char *)script, NULL};
    const CtRunOptions options = {.stacks = stacks, .to_stderr = TRUE};
    g_autoptr(GError) error = NULL;
    CtRun run;
    if (!ct_run_command(argv, &options, &run, &error))
        fail_msg("%s", error->message);
    return run;
}

static void endings(void **state)
{
    static const struct {
        const char *script;
        int code, signal;
    } cases[] = {{"exit 0", 0, 0},         {"exit 7", 7, 0},          {"kill -SEGV $$", 0, SIGSEGV},
                 {"kill -KILL $$", 0, SIGKILL}, {"kill -TERM $$", 0, SIGTERM},
                 {"trap 'exit 3' TERM; kill -TERM $$; exit 1", 3, 0},
                 {"trap '' USR1; kill -USR1 $$; exit 5", 5, 0},
                 {"(exit 4) & wait $!; exit $?", 4, 0},
                 {"sleep 0.05 & kill -STOP $!; kill -CONT $!; wait; exit 6", 6, 0},
                 {"read x; exit 2", 2, 0}};
    for (int traced = 0; traced < 2; traced++) {
        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
            g_auto(CtRun) run = shell(cases[i].script, traced);
            if (cases[i].signal)
                assert_true(WIFSIGNALED(run.status) && WTERMSIG(run.status) == cases[i].signal);
            else
                assert_true(WIFEXITED(run.status) && WEXITSTATUS(run.status) == cases[i].code);
            assert_int_equal(ct_run_failed(&run), cases[i].code || cases[i].signal);
        }
    }
}

static void stacks_at_the_signal(void **state)
{
    g_auto(CtRun) run = shell("kill -SEGV $$", TRUE);
    if (run.note)
        skip(); /* not allowed here, or no elfutils */
    assert_non_null(run.stacks);
    assert_non_null(strstr(run.stacks->str, "received signal SIGSEGV"));
    assert_non_null(strstr(run.stacks->str, "#0 "));
    g_auto(CtRun) handled = shell("trap 'true' SEGV; kill -SEGV $$; exit 0", TRUE);
    assert_null(handled.stacks);
}

static void end_of_output(void **state)
{
    g_auto(CtRun) run = shell("i=0; while [ $i -lt 40000 ]; do echo "
                              "'0123456789012345678901234567890123456789012345678901234567'; "
                              "i=$((i+1)); done; echo the end; exit 1", TRUE);
    assert_true(run.output_bytes > 2300000);
    assert_int_equal(run.tail->len, CT_RUN_TAIL);
    assert_memory_equal(run.tail->data + run.tail->len - 8, "the end\n", 8);
}

/* A process that is left behind is neither waited for nor left stopped. */
static void left_behind(void **state)
{
    gint64 begun = g_get_monotonic_time();
    g_auto(CtRun) run = shell("sleep 3 & echo pid $!; exit 0", TRUE);
    assert_true(g_get_monotonic_time() - begun < 2000000);
    g_byte_array_append(run.tail, (const guint8 *)"", 1);
    const char *at = strstr((const char *)run.tail->data, "pid ");
    assert_non_null(at);
    g_autofree char *path = g_strdup_printf("/proc/%d/status", atoi(at + 4)), *text = NULL;
    assert_true(g_file_get_contents(path, &text, NULL, NULL));
    assert_non_null(strstr(text, "TracerPid:\t0"));
    assert_null(strstr(text, "State:\tt"));
    kill(atoi(at + 4), SIGKILL);
}

static void cannot_start(void **state)
{
    char *argv[] = {"/nonexistent/program", NULL};
    const CtRunOptions options = {.stacks = TRUE};
    g_autoptr(GError) error = NULL;
    g_auto(CtRun) run;
    assert_false(ct_run_command(argv, &options, &run, &error));
    assert_non_null(error);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wilson),        cmocka_unit_test(kendall),
        cmocka_unit_test(trend),         cmocka_unit_test(endings),
        cmocka_unit_test(stacks_at_the_signal), cmocka_unit_test(end_of_output),
        cmocka_unit_test(left_behind),   cmocka_unit_test(cannot_start),
    };
    freopen("/dev/null", "r", stdin);
    freopen("/dev/null", "w", stderr);
    return cmocka_run_group_tests_name("runs", tests, NULL, NULL);
}
