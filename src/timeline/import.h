/* SPDX-License-Identifier: Apache-2.0 */
/* A trace as evidence: a source with one section, what it covers, its totals as facts, errors of
 * calls as events, its requests (digest.h) as spans. */
#pragma once

#include "evidence/evidence.h"
#include "kb/kb.h"
#include "timeline/summary.h"
#include "timeline/trt.h"

typedef struct {
    char *path;
    CtTimeline *timeline;
    CtTlSummary *summary;
    CtTrtDoc *trt; /* else what trtexec exports, and no timeline */
    gboolean beside; /* the file is also read in another way and has its sections */
} CtTrace;

void ct_trace_free(CtTrace *trace);
/* Its totals alone, without evidence. */
CtTrace *ct_trace_open(const char *file, const char *path, GError **error);

/* file is opened, path is what the source is called. with_requests: also what takes several scans
 * of the trace. kb may be NULL (codes then have no names). out (nullable) gets the trace for
 * further use. FALSE: not a trace that can be read. */
gboolean ct_trace_import(CtEvidence *ev, const CtKb *kb, const char *file, const char *path,
                         gboolean with_requests, CtTrace **out, GError **error);
