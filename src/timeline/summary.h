/* SPDX-License-Identifier: Apache-2.0 */
/* The totals of a trace in one scan: what ran, how long, how often, and what stood idle. */
#pragma once

#include "timeline/timeline.h"

#define CT_TL_SHORT_GAP 20000   /* ns: as long as a launch takes */
#define CT_TL_LONG_GAP 1000000  /* ns */

typedef struct {
    guint32 name, group; /* group: of nodes and ranges */
    guint64 count;
    gint64 total, max;   /* ns */
} CtTlNamed;

typedef struct {
    CtTlCopy copy;
    CtTlMemory source, target;
    guint64 count, bytes;
    gint64 total; /* ns */
} CtTlCopies;

/* A call that returned an error. */
typedef struct {
    guint32 name;
    gint32 result;
    guint64 count;
    gint64 first, last;
    gint64 pid;
    gboolean handled; /* a later wait succeeded: the program went on */
} CtTlFailure;

typedef struct {
    gint64 device;
    gint64 t0, t1;        /* from its first work to the end of its last */
    gint64 busy;          /* ns with at least one kernel, copy or memset */
    gint64 kernel_time, copy_time;
    guint64 kernels, copies, graphs;
    gint64 short_gaps, long_gaps, longest_gap, longest_at; /* with nothing running */
    guint64 n_long_gaps;
} CtTlGpu;

typedef struct {
    guint64 n[CT_TL_NOTE + 1];
    gint64 t0, t1;                        /* of all events; t1 < t0: none */
    GArray *gpus;                         /* CtTlGpu */
    GArray *kernels, *calls, *ranges, *os; /* CtTlNamed, most time first, 50 at most */
    guint n_kernels, n_calls, n_ranges, n_os; /* different names */
    gint64 kernel_ns, call_ns, range_ns, os_ns; /* of all of them, also those beyond 50 */
    GArray *nodes;                        /* CtTlNamed of ONNX Runtime: provider and operation */
    GArray *copies;                       /* CtTlCopies, most time first */
    GArray *failures;                     /* CtTlFailure */
    guint64 call_count[CT_TL_CALL_GRAPH + 1];
    gint64 call_time[CT_TL_CALL_GRAPH + 1];
    guint64 allocated, freed;             /* events of memory */
} CtTlSummary;

CtTlSummary *ct_timeline_summary(CtTimeline *tl, GError **error);
void ct_timeline_summary_free(CtTlSummary *summary);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtTlSummary, ct_timeline_summary_free)

const char *ct_tl_copy_name(CtTlCopy copy);       /* "HtoD" */
const char *ct_tl_memory_name(CtTlMemory memory); /* "pageable" */
const char *ct_tl_call_name(CtTlCall call);       /* "launch" */
