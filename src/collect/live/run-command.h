/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a program for `capture -- COMMAND`: its output passes through, its end is kept, and when a
 * signal is about to kill it the host stacks of all its threads are taken first.
 *
 * The program is traced for that (as by strace, all descendants too), without any breakpoint or
 * single step: it stops only when a signal arrives, and is handed that signal unchanged. Where
 * tracing is refused it runs untraced.
 */
#pragma once

#include <glib.h>

#define CT_RUN_TAIL ((gsize)1024 * 1024) /* of the output that is kept */
#define CT_RUN_STACKS ((gsize)512 * 1024)

typedef struct {
    gboolean stacks; /* trace it */
    gboolean to_stderr; /* its standard output too */
} CtRunOptions;

typedef struct {
    int status;          /* as of waitpid */
    gint64 begun_wall_ns, took_ns;
    GByteArray *tail;    /* the end of standard output and error, in the order of arrival */
    guint64 output_bytes;
    GString *stacks;     /* text; NULL when no fatal signal was seen */
    char *note;          /* why there are no stacks (nullable) */
} CtRun;

void ct_run_clear(CtRun *run);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(CtRun, ct_run_clear)

/* FALSE when it could not be started. */
gboolean ct_run_command(char **argv, const CtRunOptions *options, CtRun *out, GError **error);

gboolean ct_run_failed(const CtRun *run); /* a code other than 0, or a signal */

const char *ct_signal_name(int number, char buffer[16]); /* "SIGSEGV" */

/* ---- several runs; run-statistics.c ---- */

typedef struct {
    guint n, failed;
    double rate, low, high;    /* of failures; Wilson's interval for 95 % */
    double least_ns, median_ns, most_ns; /* time to failure, of those that failed */
    double trend_p;   /* chance of so few rises in the times by luck; 1 without a fall */
    double slope_ns;  /* from one failing run to the next (Theil and Sen) */
    gboolean shrinks;
} CtRunStatistics;

typedef struct {
    int status;
    gint64 took_ns;
} CtRunEnd;

void ct_run_statistics(const CtRunEnd *ends, guint n, CtRunStatistics *out);
/* Wilson's score interval for k of n at 95 %. */
void ct_wilson(guint k, guint n, double *low, double *high);
/* Chance that n values in random order have at most `rises` pairs that rise (Kendall). */
double ct_kendall_at_most(guint n, guint rises);
/* The runs and what they show, as the section of a case and for people. */
char *ct_run_summary(char **argv, const CtRunEnd *ends, guint n);
