/* SPDX-License-Identifier: Apache-2.0 */
/* The requests of a trace as evidence keeps them (spans of the track `request`), read back. */
#pragma once

#include "analyze/analyzer.h"

/* In the order in which the spans name them. */
typedef enum {
    CT_RP_KERNEL, CT_RP_FOREIGN, CT_RP_H2D, CT_RP_D2H, CT_RP_D2D, CT_RP_ALLOC, CT_RP_COPY_CALL,
    CT_RP_SYNC, CT_RP_LAUNCH, CT_RP_MODULE, CT_RP_CALL, CT_RP_OS, CT_RP_HOST, CT_RP_QUEUE,
    CT_RP_INPUT, CT_N_RP
} CtRequestPart;
extern const char *const ct_request_parts[CT_N_RP];

typedef enum {
    CT_RN_KERNELS, CT_RN_LAUNCHES, CT_RN_SYNCS, CT_RN_ALLOCS, CT_RN_COPIES, CT_RN_MODULES,
    CT_RN_FRESH, CT_RN_HITS, CT_RN_TINY, CT_N_RN
} CtRequestCount;

typedef struct {
    gint64 span, index, t0, t1;
    gboolean slow;
    double part[CT_N_RP], n[CT_N_RN];
    double pageable, gap, hit, stalled, alloc_calls, sync_calls;
    double stretch; /* kernels against what each of them usually takes; 0 is unknown */
    double even, more, gain; /* of the kernels, where the trace told; even is -1 else */
    char *kernel, *shape;    /* the one that gained the most (nullable) */
    double kernel_ns, kernel_usual, kernel_n, kernel_usual_n;
} CtRequestSpan;

typedef struct {
    gint64 section;
    char *name, *found_by;
    GArray *requests; /* CtRequestSpan in order of time */
    gint64 total;     /* requests that the trace holds */
    double typical, limit, part[CT_N_RP], n[CT_N_RN];
    double own, stalled;
    double pageable, gap, alloc_calls, sync_calls, kernel_mean, pageable_rate, h2d_rate;
    double streams, threads, main_stream;
    double calls; /* to CUDA, in the whole trace; -1 is unknown */
} CtRequestSet;

/* One CtRequestSet a section. (transfer full) */
GPtrArray *ct_request_sets(CtEvidence *ev);
