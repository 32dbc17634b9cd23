/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "collect/stream.h"
#include "timeline/json.h"
#include "timeline/timeline-private.h"

typedef enum { CT_CHROME_PLAIN, CT_CHROME_KINETO, CT_CHROME_TENSORFLOW, CT_CHROME_ORT,
               CT_CHROME_TRITON } CtChromeFlavour;

/* The open half of a B/E pair. */
typedef struct {
    guint32 thread, name, group;
    gint64 t0;
} CtChromeOpen;

/* A request of a Triton trace, gathered from several objects by id. */
typedef struct {
    gint64 id, parent;
    guint32 model;
    gint64 stamp[8];
} CtTritonRequest;

typedef struct {
    CtTimeline *tl;
    CtTlStore store;
    CtChromeFlavour flavour;
    CtTlEvent last;        /* scratch of the event at hand */
    guint32 last_thread;
    /* what was seen */
    guint64 in_ns, events, broken, without_time, not_finite, negative, unfinished;
    guint64 bytes;         /* after decompression */
    guint64 per_kind[CT_TL_KINDS];
    gboolean cut, wrapped; /* cut: ends before its end */
    char *cut_why;
    gint64 base_ns;        /* baseTimeNanoseconds; G_MININT64 is unknown */
    gint64 host_ns;        /* first time stamp of an absolute clock */
    gint64 first_ns;
    gint64 shortest_launch; /* ns as written */
    guint64 launches, zero_copies;
    guint32 cupti, python_functions;
    GArray *open;          /* CtChromeOpen */
    GHashTable *async;     /* "b"/"e" by id -> CtChromeOpen */
    GHashTable *requests;  /* gint64 * -> CtTritonRequest */
    guint32 cat_cache[64]; /* name id -> kind + 1 */
    guint32 call_names;    /* names below it have an entry in calls */
    GByteArray *calls;     /* name id -> CtTlCall + 1 */
    /* a scan that reads the file again */
    CtTlVisit visit;
    gpointer user;
    guint kinds;
    gboolean stopped, again;
    gint64 scale_num, scale_den; /* of times, when the file writes another unit */
} CtChrome;

/* One object of the list of events, complete in `in`. BAD: not understood, in->p unchanged. */
CtJsonResult ct_chrome_event(CtChrome *c, CtJsonIn *in);
void ct_chrome_deliver(CtChrome *c, CtTlEvent *event, guint32 thread);
/* A Triton object: TRUE when it was one. */
gboolean ct_triton_object(CtChrome *c, const CtJsonText *object);
void ct_triton_finish(CtChrome *c);
/* An event on a GPU line of TensorFlow is work of the GPU, or tells of it once more ("XLA Ops"): then
 * it keeps its kind and is marked by a stream. Known after the first pass. */
void ct_chrome_place(const CtChrome *c, CtTlEvent *event, guint32 thread);
/* After the last event: what the threads of TensorFlow are, what is missing and why. */
void ct_chrome_finish(CtChrome *c);
