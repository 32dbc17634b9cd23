/* SPDX-License-Identifier: Apache-2.0 */
/* How often a program fails, how long it takes to, and whether that changes from run to run. */
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "collect/live/run-command.h"

#define EXACT 30u /* values up to which the distribution is counted out */

gboolean ct_run_failed(const CtRun *run)
{
    return WIFSIGNALED(run->status) || WEXITSTATUS(run->status) != 0;
}

void ct_wilson(guint k, guint n, double *low, double *high)
{
    const double z = 1.959963984540054;
    if (!n) {
        *low = 0;
        *high = 1;
        return;
    }
    double p = (double)k / n, z2 = z * z / n;
    double middle = (p + z2 / 2) / (1 + z2);
    double half = z / (1 + z2) * sqrt(p * (1 - p) / n + z2 / (4.0 * n));
    *low = k == 0 ? 0 : MAX(0, middle - half);
    *high = k == n ? 1 : MIN(1, middle + half);
}

double ct_kendall_at_most(guint n, guint rises)
{
    guint pairs = n * (n - 1) / 2;
    if (n < 2 || rises >= pairs)
        return 1;
    if (n > EXACT) {
        double mean = pairs / 2.0, sd = sqrt(n * (n - 1.0) * (2.0 * n + 5) / 72);
        return 0.5 * erfc((mean - rises - 0.5) / sd / G_SQRT2);
    }
    /* share[k]: of the orders of i values, those with k rising pairs. */
    g_autofree double *share = g_new0(double, pairs + 1), *next = g_new0(double, pairs + 1);
    share[0] = 1;
    for (guint i = 2; i <= n; i++) {
        memset(next, 0, (pairs + 1) * sizeof *next);
        for (guint k = 0; k <= i * (i - 1) / 2; k++)
            for (guint j = 0; j < i && j <= k; j++)
                next[k] += share[k - j] / i;
        memcpy(share, next, (pairs + 1) * sizeof *next);
    }
    double sum = 0;
    for (guint k = 0; k <= rises; k++)
        sum += share[k];
    return MIN(sum, 1);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, guint n)
{
    qsort(values, n, sizeof *values, compare);
    return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

static void trend(const double *t, guint n, CtRunStatistics *out)
{
    guint rises = 0, pairs = 0;
    g_autofree double *slopes = g_new0(double, n * n / 2 + 1);
    out->trend_p = 1;
    for (guint i = 0; i < n; i++)
        for (guint j = i + 1; j < n; j++) {
            rises += t[j] >= t[i]; /* equal times speak against a fall */
            slopes[pairs++] = (t[j] - t[i]) / (j - i);
        }
    if (!pairs)
        return;
    out->slope_ns = median(slopes, pairs);
    out->trend_p = ct_kendall_at_most(n, rises);
    out->shrinks = out->trend_p < 0.05 && out->slope_ns < 0;
}

void ct_run_statistics(const CtRunEnd *ends, guint n, CtRunStatistics *out)
{
    *out = (CtRunStatistics){.n = n, .trend_p = 1};
    g_autofree double *t = g_new0(double, n + 1), *sorted = g_new0(double, n + 1);
    for (guint i = 0; i < n; i++)
        if (WIFSIGNALED(ends[i].status) || WEXITSTATUS(ends[i].status) != 0)
            t[out->failed++] = (double)ends[i].took_ns;
    out->rate = n ? (double)out->failed / n : 0;
    ct_wilson(out->failed, n, &out->low, &out->high);
    if (!out->failed)
        return;
    memcpy(sorted, t, out->failed * sizeof *t);
    out->median_ns = median(sorted, out->failed);
    out->least_ns = sorted[0];
    out->most_ns = sorted[out->failed - 1];
    trend(t, out->failed, out);
}

const char *ct_signal_name(int number, char buffer[16])
{
    static const struct {
        int number;
        const char *name;
    } names[] = {{SIGHUP, "SIGHUP"},   {SIGINT, "SIGINT"},   {SIGQUIT, "SIGQUIT"},
                 {SIGILL, "SIGILL"},   {SIGTRAP, "SIGTRAP"}, {SIGABRT, "SIGABRT"},
                 {SIGBUS, "SIGBUS"},   {SIGFPE, "SIGFPE"},   {SIGKILL, "SIGKILL"},
                 {SIGSEGV, "SIGSEGV"}, {SIGPIPE, "SIGPIPE"}, {SIGALRM, "SIGALRM"},
                 {SIGTERM, "SIGTERM"}, {SIGXCPU, "SIGXCPU"}, {SIGSYS, "SIGSYS"},
                 {SIGUSR1, "SIGUSR1"}, {SIGUSR2, "SIGUSR2"}};
    for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
        if (names[i].number == number)
            return names[i].name;
    g_snprintf(buffer, 16, "signal %d", number);
    return buffer;
}

char *ct_run_summary(char **argv, const CtRunEnd *ends, guint n)
{
    CtRunStatistics s;
    char buffer[16];
    g_autofree char *command = g_strjoinv(" ", argv);
    GString *out = g_string_new(NULL);
    g_strdelimit(command, "\r\n", ' ');
    ct_run_statistics(ends, n, &s);
    g_string_append_printf(out, "Runs of: %.2000s\n", command);
    for (guint i = 0; i < n; i++) {
        int status = ends[i].status;
        double seconds = (double)ends[i].took_ns / 1e9;
        if (WIFSIGNALED(status))
            g_string_append_printf(out, "Run %u: killed by %s after %.3f s\n", i + 1,
                                   ct_signal_name(WTERMSIG(status), buffer), seconds);
        else
            g_string_append_printf(out, "Run %u: exit code %d after %.3f s\n", i + 1,
                                   WEXITSTATUS(status), seconds);
    }
    if (n < 2)
        return g_string_free(out, FALSE);
    g_string_append_printf(out, "Failures: %u of %u, %.1f %%, 95 %% interval %.1f %% to %.1f %%\n",
                           s.failed, n, s.rate * 100, s.low * 100, s.high * 100);
    if (s.failed)
        g_string_append_printf(out, "Time to failure: least %.3f s, median %.3f s, most %.3f s\n",
                               s.least_ns / 1e9, s.median_ns / 1e9, s.most_ns / 1e9);
    if (s.failed > 2)
        g_string_append_printf(out, "Trend of the time to failure: %s, %.3f s a run, p %.4f\n",
                               s.shrinks ? "shrinks" : "none", s.slope_ns / 1e9, s.trend_p);
    return g_string_free(out, FALSE);
}
