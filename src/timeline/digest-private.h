/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "timeline/digest.h"

#define CT_DG_MIN_REQUESTS 5u
#define CT_DG_MAX_REQUESTS 200000u
#define CT_DG_MAX_SPANS 10000u
#define CT_DG_MAX_DETAILED 64u /* slow requests, and typical ones, whose kernels are kept by name */
#define CT_DG_MAX_PAIRS 65536u
#define CT_DG_MAX_BLOCKS 400000u
#define CT_DG_MAX_LINKS 12000000u
#define CT_DG_MAX_DEVICES 16u
#define CT_DG_TINY 3000 /* ns; no launch is so fast, so these cannot keep a GPU at work */

/* Where the time of a request goes; the parts add up to its wall time. What the host does counts
 * only while the GPU is idle: else it is hidden. */
typedef enum {
    CT_PART_KERNEL,
    CT_PART_FOREIGN, /* kernels of other requests, streams or processes */
    CT_PART_H2D,
    CT_PART_D2H,
    CT_PART_D2D,
    CT_PART_ALLOC, /* allocation and free */
    CT_PART_COPY_CALL,
    CT_PART_SYNC,
    CT_PART_LAUNCH,
    CT_PART_MODULE,
    CT_PART_CALL, /* other calls: events, graphs, queries */
    CT_PART_OS,
    CT_PART_HOST, /* no call at all: the program's own code */
    CT_PART_QUEUE, /* a range of such a name: waits to be served */
    CT_PART_INPUT, /* a range of such a name: reads, decodes or prepares what it works on */
    CT_N_PARTS
} CtPart;
extern const char *const ct_part_names[CT_N_PARTS];

typedef struct {
    gint64 t0, t1, tid; /* tid -1: the request was found on the GPU */
    float part[CT_N_PARTS];
    float copy_ns[3]; /* h2d, d2h, rest: own copies */
    float own_ns, pageable_ns, hit_ns, alloc_ns, sync_ns, launch_ns, os_ns, gap_ns;
    float stalled_ns, queue_ns, input_ns;
    float known_ns, usual_ns; /* kernels that run often: their time, and what they usually take */
    double bytes[3];
    guint32 kernels, launches, syncs, allocs, copies, modules, fresh, fresh_shapes, hits;
    guint32 tiny; /* kernels shorter than CT_DG_TINY */
    guint32 devices; /* a bit for each that it launches on; only where there are several */
    gint16 device;   /* of its first kernel; -1 is unknown */
    guint8 slow, reference;
} CtRequest;

/* Stretches of a device's time with work in them. Where gaps are too many to keep, near ones
 * merge, but what was busy inside stays known. */
typedef struct {
    gint64 t0, t1, busy;
} CtBlock;
typedef struct {
    GArray *blocks; /* CtBlock */
    gint64 *sum;    /* busy before each block; after ct_busy_seal() */
    gint64 merge;   /* gaps up to this are closed */
    gboolean sorted;
} CtBusy;

void ct_busy_init(CtBusy *busy);
void ct_busy_clear(CtBusy *busy);
void ct_busy_add(CtBusy *busy, gint64 t0, gint64 t1);
void ct_busy_seal(CtBusy *busy);
/* The union of two. */
void ct_busy_join(const CtBusy *a, const CtBusy *b, CtBusy *out);
double ct_busy_within(const CtBusy *busy, gint64 t0, gint64 t1);
/* The longest stretch of the window with nothing in it; 0 once as many blocks as the budget says
 * were looked at (requests may overlap without end). */
gint64 ct_busy_widest_gap(const CtBusy *busy, gint64 t0, gint64 t1, guint64 *budget);

/* Since when nothing was busy before t; t itself when something was. */
gint64 ct_busy_idle_since(const CtBusy *busy, gint64 t);

/* A kernel by name and shape. */
typedef struct {
    guint32 name, shape;
    guint32 n, index; /* index is 1 for the first in the table; 0 is a free place */
    double sum, log_sum;
    gint64 first;
} CtPair;
typedef struct {
    CtPair *slot;
    guint used, mask;
} CtPairs;
CtPair *ct_pairs_get(CtPairs *pairs, guint32 name, guint32 shape, gboolean add);

/* A name with its numbers taken out ("ProfilerStep#"), on one thread. */
typedef struct {
    guint32 group;
    gint64 tid;
    guint64 n;
    double sum;
    gint64 t0, t1, last_end;
} CtRangeStat;

/* What a range is about, as far as its name says. */
typedef enum { CT_RANGE_OTHER, CT_RANGE_QUEUE, CT_RANGE_INPUT, CT_N_RANGE_KINDS } CtRangeKind;
CtRangeKind ct_digest_range_kind(const char *name);

/* The correlation numbers of one process; base is the place of the least. */
typedef struct {
    gint64 pid;
    guint64 min, max;
    gsize base;
} CtLinkSpace;
typedef struct {
    GArray *spaces;      /* CtLinkSpace */
    guint last;          /* where the last one asked for was found */
    gboolean by_process; /* else all numbers are of one space, with pid -1 */
    gboolean nobodys;    /* work of an unknown process was seen */
} CtLinks;

typedef struct {
    CtTimeline *tl;
    CtEvidence *ev;
    gint64 section;
    /* the first scan */
    GHashTable *group_ids;   /* text -> index + 1 */
    GPtrArray *group_names;  /* char * */
    GArray *group_of;        /* guint32 by name id; 0 is not looked at */
    GHashTable *range_stats; /* key -> CtRangeStat */
    CtPairs pairs;
    GHashTable *first_names; /* kernel name id -> first t0 (gint64 *) */
    CtBusy kernels, copies, all;
    CtBusy device_kernels[CT_DG_MAX_DEVICES], device_all[CT_DG_MAX_DEVICES];
    guint n_devices;
    gint first_device;
    gboolean odd_device; /* work without a device, or with too high a number */
    guint64 n_kernels, n_copies, n_calls, n_ranges, n_streams;
    GHashTable *streams; /* device << 32 | stream -> kernels (guint64 *) */
    GHashTable *launchers; /* tid -> launches (guint64 *) */
    gint64 t0, t1;
    CtLinks links;
    /* the requests */
    char *request_name, *how; /* how: range, pattern, burst */
    GArray *requests;         /* CtRequest in order of t0 */
    GHashTable *request_tids; /* tid -> GArray of guint32 */
    guint32 *link;            /* ct_digest_links_at() -> request + 1 */
    guint32 *launched;        /* the same -> end of the call since t0, in units of 64 ns */
    GHashTable *helpers;      /* tid of threads that work for the requests of others */
    GHashTable *call_end;     /* tid -> end of the last outer call (gint64 *) */
    gpointer scratch;         /* of the scan in progress */
    guint hint;
    guint64 gap_budget;
    double typical, limit;
    GHashTable *detail; /* request << 32 | pair -> CtDetail */
    guint n_detailed_slow, n_reference;
    /* the run without requests: idle GPU by what the launching threads do, calls, named ranges */
    double run_part[CT_N_PARTS], named_ns[CT_N_RANGE_KINDS], named_most[CT_N_RANGE_KINDS];
    guint32 named_group[CT_N_RANGE_KINDS]; /* the name with the most of it; 0 for none */
    guint64 n_launches, n_syncs, n_allocs, late_kernels, late_tiny; /* these of the second half */
    double late_kernel_ns, late_pageable_ns;
    GHashTable *named;  /* tid -> until when a range of each kind lasts */
    guint8 *group_kind; /* CtRangeKind by group - 1 */
    double *named_sum;  /* the same: time in which the GPU is idle */
    /* copies of the whole run */
    double copy_ns[3], copy_bytes[3], pageable_ns, pageable_bytes;
} CtDigest;

typedef struct {
    guint32 n;
    double ns;
} CtDetail;

void ct_digest_stats(CtDigest *d, const CtTlEvent *e);
gboolean ct_digest_find_requests(CtDigest *d, GError **error);
/* Requests by what repeats on the GPU. */
gboolean ct_digest_requests_on_gpu(CtDigest *d, GError **error);
/* Index of the request that holds the time on the thread, -1 for none. */
gint ct_digest_request_at(CtDigest *d, gint64 tid, gint64 t);
/* First all calls that launch and all work; then the places, 0 for none or too many. */
void ct_digest_links_init(CtDigest *d);
void ct_digest_links_clear(CtDigest *d);
void ct_digest_links_call(CtDigest *d, const CtTlEvent *e);
void ct_digest_links_work(CtDigest *d, const CtTlEvent *e);
gsize ct_digest_links_seal(CtDigest *d);
gboolean ct_digest_links_at(const CtDigest *d, const CtTlEvent *e, gsize *out);
void ct_digest_devices_add(CtDigest *d, const CtTlEvent *e);
void ct_digest_devices_seal(CtDigest *d);
void ct_digest_devices_clear(CtDigest *d);
gboolean ct_digest_devices_matter(const CtDigest *d);
/* When the GPU of the request works; all of them for NULL. */
const CtBusy *ct_digest_busy(const CtDigest *d, const CtRequest *r);
const CtBusy *ct_digest_busy_kernels(const CtDigest *d, const CtRequest *r);
void ct_digest_window(const CtDigest *d, gint64 *out_t0, gint64 *out_t1);
gint64 ct_digest_middle(const CtDigest *d); /* of the run */
gboolean ct_digest_attribute(CtDigest *d, GError **error);
void ct_digest_judge(CtDigest *d); /* typical, slow, reference */
void ct_digest_emit(CtDigest *d);
gboolean ct_digest_scan(CtDigest *d, guint kinds, CtTlVisit visit, GError **error);
