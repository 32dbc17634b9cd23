/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traces as a stream of events, read where they lie: Nsight Systems SQLite exports, Kineto and
 * other chrome traces, ONNX Runtime profiles, records of the flight recorder. A trace may hold
 * millions of events, so nobody keeps them all: whoever needs something scans, once or several
 * times, and keeps sums. What lasts (requests with their breakdown, totals) goes into evidence as
 * spans and facts, so that a case tells the same story without the trace.
 */
#pragma once

#include <glib.h>

typedef enum {
    CT_TL_KERNEL, /* on the GPU */
    CT_TL_COPY,   /* on the GPU */
    CT_TL_SET,    /* memset on the GPU */
    CT_TL_GRAPH,  /* a whole graph on the GPU, where the trace does not show its nodes */
    CT_TL_SYNC,   /* a wait for the GPU, as the trace records it */
    CT_TL_CALL,   /* a call of the CUDA runtime, driver or a library, on the host */
    CT_TL_RANGE,  /* NVTX, record_function, profiler step, an operator of a framework */
    CT_TL_OS,     /* a blocking call of the operating system */
    CT_TL_MEMORY, /* memory taken or given back, as the trace records it; bytes is signed by `free` */
    CT_TL_NOTE    /* what the profiler says about itself */
} CtTlKind;
#define CT_TL_BIT(kind) (1u << (kind))

typedef enum {
    CT_TL_CALL_OTHER,
    CT_TL_CALL_LAUNCH, /* kernels and graphs */
    CT_TL_CALL_COPY,
    CT_TL_CALL_SET,
    CT_TL_CALL_ALLOC,
    CT_TL_CALL_FREE,
    CT_TL_CALL_SYNC,
    CT_TL_CALL_EVENT,
    CT_TL_CALL_MODULE, /* loading of code */
    CT_TL_CALL_GRAPH   /* capture, instantiate, update */
} CtTlCall;

typedef enum {
    CT_TL_COPY_UNKNOWN,
    CT_TL_COPY_H2D,
    CT_TL_COPY_D2H,
    CT_TL_COPY_D2D,
    CT_TL_COPY_P2P,
    CT_TL_COPY_H2H
} CtTlCopy;

typedef enum { CT_TL_MEM_UNKNOWN, CT_TL_MEM_PAGEABLE, CT_TL_MEM_PINNED, CT_TL_MEM_DEVICE,
               CT_TL_MEM_MANAGED } CtTlMemory;

typedef struct {
    CtTlKind kind;
    CtTlCall call;         /* of CT_TL_CALL */
    CtTlCopy copy;         /* of CT_TL_COPY */
    CtTlMemory source, target; /* of CT_TL_COPY */
    gboolean free;         /* of CT_TL_MEMORY */
    gint64 t0, t1;         /* ns, on the clock of the trace */
    guint32 name;          /* ct_timeline_name() */
    guint32 shape;         /* grid and block, or input shapes; a name; 0 is unknown */
    guint32 group;         /* a name: domain of an NVTX range, category of a chrome event
                              (user_annotation, cpu_op, python_function ...), execution provider
                              of an ONNX Runtime node, model of a Triton request; 0 is none */
    gint32 device, stream; /* -1 is unknown */
    gint64 pid, tid;       /* of host events; -1 is unknown */
    guint64 correlation;   /* links a call and its work on the GPU; 0 is none */
    guint64 bytes;         /* 0 is unknown */
    gint32 result;         /* of CT_TL_CALL: what it returned; 0 is success or unknown */
} CtTlEvent;

typedef struct {
    gint64 device;
    char *name, *pci, *uuid; /* (nullable) */
    gint64 sm_count;         /* 0 is unknown */
    double bandwidth;        /* bytes a second; 0 is unknown */
    gint64 memory;           /* bytes; 0 is unknown */
} CtTlDevice;

/* Something that a reader of the trace would miss, and why it is not there. */
typedef struct {
    char *what, *why;
    char *what_zh, *why_zh;
} CtTlGap;

typedef struct CtTimeline CtTimeline;

/* TRUE when the bytes begin like a trace of which ct_timeline_open() can make something. */
gboolean ct_timeline_sniff(const char *path, const guint8 *head, gsize len);
/* Opens for reading, in place; nothing is written beside it. (transfer full) */
CtTimeline *ct_timeline_open(const char *path, GError **error);
void ct_timeline_free(CtTimeline *tl);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtTimeline, ct_timeline_free)

/* Called for every event; FALSE ends the scan early. */
typedef gboolean (*CtTlVisit)(const CtTlEvent *event, gpointer user);
/* kinds is a mask of CT_TL_BIT(). Within a kind, events come in order of start, whatever the order
 * in the file; only where a kind has so many that sorting them would take too much memory they
 * come as written. ct_timeline_disorder() says how far back the file goes at most, in ns, known
 * after the first scan. Kinds come one after the other. May be called again, but not from within
 * visit. */
gboolean ct_timeline_scan(CtTimeline *tl, guint kinds, CtTlVisit visit, gpointer user,
                          GError **error);
gint64 ct_timeline_disorder(const CtTimeline *tl);

const char *ct_timeline_name(const CtTimeline *tl, guint32 name); /* never NULL */
guint32 ct_timeline_names(const CtTimeline *tl);                  /* ids are below it */
const char *ct_timeline_format(const CtTimeline *tl);  /* nsys-sqlite, kineto, chrome-trace,
                                                         tensorflow-trace, ort-profile,
                                                         triton-trace, record */
const char *ct_timeline_producer(const CtTimeline *tl); /* with version; (nullable) */
gint64 ct_timeline_wall_offset(const CtTimeline *tl);  /* add for wall time; G_MININT64 unknown */
guint ct_timeline_present(const CtTimeline *tl);       /* mask of kinds that the trace can show */
const GPtrArray *ct_timeline_devices(const CtTimeline *tl); /* CtTlDevice */
const GPtrArray *ct_timeline_gaps(const CtTimeline *tl);    /* CtTlGap: tables missing, file cut */
