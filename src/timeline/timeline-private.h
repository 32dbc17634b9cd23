/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <string.h>

#include "timeline/timeline.h"

#define CT_TL_KINDS (CT_TL_NOTE + 1)
#define CT_TL_MAX_NAMES (1u << 20)
#define CT_TL_MAX_NAME 4096u               /* longer ones are cut */
#define CT_TL_MAX_NAME_BYTES ((gsize)64 << 20)
#define CT_TL_MAX_STORED 3000000u          /* events that are kept to be read again, at 56 bytes */
#define CT_TL_MAX_GAPS 64u

/* Times within this can be added and taken from each other; what lies beyond is damage. */
#define CT_TL_MAX_TIME (G_GINT64_CONSTANT(1) << 61)
static inline gboolean ct_tl_time_ok(gint64 t)
{
    return t > -CT_TL_MAX_TIME && t < CT_TL_MAX_TIME;
}

static inline gpointer ct_tl_dup(gconstpointer p, gsize n)
{
    return memcpy(g_malloc(n), p, n); /* g_memdup2 is younger than our GLib */
}

/* ---- names ---- */

typedef struct {
    GPtrArray *text;   /* char *, by id; 0 is "" */
    GStringChunk *chunk;
    guint32 *slot;     /* open addressing: id, 0 is free */
    guint64 *hash;     /* by id */
    gsize mask, bytes;
    guint32 overflow;  /* id of what finds no room */
} CtTlNames;

void ct_tl_names_init(CtTlNames *names);
void ct_tl_names_clear(CtTlNames *names);
/* Invalid UTF-8 is replaced. */
guint32 ct_tl_names_add(CtTlNames *names, const void *text, gsize len);

/* ---- calls ---- */

/* "cudaLaunchKernel_v7000" is a launch, whoever wrote it and in which version. */
CtTlCall ct_tl_call_of(const char *name);
/* The name without the version that Nsight Systems puts behind it. */
gsize ct_tl_call_length(const char *name, gsize len);
/* Reads the name of a copy as Kineto and TensorFlow write it: "Memcpy HtoD (Pageable -> Device)",
 * "MemcpyH2D". FALSE: no copy. */
gboolean ct_tl_copy_of(const char *name, CtTlEvent *event);

/* ---- events that are kept ---- */

typedef struct {
    gint64 t0, dur;
    guint64 bytes;   /* of a call: its result */
    guint32 name, shape, correlation, group;
    guint32 thread;  /* index into threads */
    guint32 bits;    /* kind, call, copy, memory ... */
    gint32 stream, device;
} CtTlPacked;

typedef struct {
    gint64 pid, tid;
    guint32 name;    /* of the thread; 0 is unknown */
    gint32 device;   /* of a GPU line of TensorFlow; -1 is none */
    gint32 stream;   /* likewise */
} CtTlThread;

typedef struct {
    GArray *events[CT_TL_KINDS]; /* CtTlPacked, in order of start after ct_tl_store_sort() */
    GArray *threads;             /* CtTlThread */
    GHashTable *by_thread;       /* CtTlThread * -> index + 1 */
    guint32 last_thread;
    gsize n;
    gboolean full;               /* some did not fit: read the file again instead */
    gint64 disorder;
} CtTlStore;

void ct_tl_store_init(CtTlStore *store);
void ct_tl_store_clear(CtTlStore *store);
void ct_tl_store_drop(CtTlStore *store); /* the events; threads stay */
guint32 ct_tl_store_thread(CtTlStore *store, gint64 pid, gint64 tid);
void ct_tl_store_add(CtTlStore *store, const CtTlEvent *event, guint32 thread);
void ct_tl_store_sort(CtTlStore *store);
void ct_tl_unpack(const CtTlStore *store, const CtTlPacked *packed, CtTlEvent *out);
gboolean ct_tl_store_scan(const CtTlStore *store, guint kinds, CtTlVisit visit, gpointer user);

/* ---- a reader ---- */

typedef struct {
    gboolean (*scan)(CtTimeline *tl, guint kinds, CtTlVisit visit, gpointer user, GError **error);
    void (*free)(gpointer impl);
} CtTlReader;

struct CtTimeline {
    char *path;
    const char *format;
    char *producer;
    gint64 wall_offset, disorder;
    guint present;
    GPtrArray *devices, *gaps;
    CtTlNames names;
    const CtTlReader *reader;
    gpointer impl;
    /* For one scan: take the order of the file where it is not known yet, which saves a pass. The
     * caller looks at disorder and rescaled afterwards and scans again where they are set. */
    gboolean as_written, rescaled;
};

/* Equal ones are kept once. */
void ct_tl_gap(CtTimeline *tl, const char *what, const char *format, ...) G_GNUC_PRINTF(3, 4);
/* A format of two sentences that stand in the table themselves. */
void ct_tl_gap_because(CtTimeline *tl, const char *what, const char *format, const char *first,
                       const char *second);
const char *ct_tl_chinese(const char *english); /* the same where there is no other */
guint ct_tl_n_words(void);
const char *const *ct_tl_word(guint index);     /* English, Chinese */
CtTlDevice *ct_tl_device(CtTimeline *tl, gint64 device); /* found or made */

gboolean ct_tl_open_nsys(CtTimeline *tl, GError **error);
gboolean ct_tl_open_chrome(CtTimeline *tl, GError **error);
gboolean ct_tl_open_record(CtTimeline *tl, GError **error);
gboolean ct_tl_sniff_nsys(const guint8 *head, gsize len);
gboolean ct_tl_sniff_chrome(const guint8 *head, gsize len);
