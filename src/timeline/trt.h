/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What trtexec exports beside its log: times of queries (--exportTimes), times of layers
 * (--exportProfile), what the layers are (--exportLayerInfo, also of the engine inspector). None
 * is a timeline; profile and layers belong together by the names of the layers.
 */
#pragma once

#include <glib.h>

#include "evidence/evidence.h"

typedef enum { CT_TRT_NONE, CT_TRT_TIMES, CT_TRT_PROFILE, CT_TRT_LAYERS } CtTrtKind;

typedef struct {
    char *name;
    double total, mean, median; /* ns; mean of an iteration; median 0 is unknown */
} CtTrtTime;

typedef struct {
    char *name;
    char *type, *input, *output, *tactic, *origin; /* (nullable): only with detailed verbosity */
    guint fused;                           /* operations of the model in it, 1 at least */
    gboolean reformat;
} CtTrtLayer;

/* A query, in ns; stamps have six digits and serve for order only. */
typedef struct {
    float enqueue, h2d, compute, d2h, latency;
} CtTrtQuery;

typedef struct {
    CtTrtKind kind;
    guint64 iterations;
    guint runs;         /* lists in the file, one behind the other */
    GPtrArray *times;   /* CtTrtTime, in order of the engine */
    GPtrArray *layers;  /* CtTrtLayer */
    GArray *queries;    /* CtTrtQuery */
    guint64 more;       /* that found no room */
    char *problem;      /* where the file breaks off (nullable) */
} CtTrtDoc;

CtTrtKind ct_trt_sniff(const guint8 *head, gsize len);
CtTrtDoc *ct_trt_read(const char *path, GError **error);
void ct_trt_free(CtTrtDoc *doc);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtTrtDoc, ct_trt_free)

/* The layer of each time, by name and, where a name repeats, by order; NULL where there is none.
 * An empty array: fewer than half have one, the two files are of different engines.
 * (transfer container) */
GPtrArray *ct_trt_join(const CtTrtDoc *profile, const CtTrtDoc *layers);
gboolean ct_trt_is_reformat(const char *name);

/* A source with the facts `trt.*`; times of queries are read as a latency table and make none. */
void ct_trt_import(CtEvidence *ev, const CtTrtDoc *doc, const char *path);
