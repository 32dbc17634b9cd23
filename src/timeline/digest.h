/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a trace says about single requests, kept as evidence: one span of the track `request` for
 * each (10,000 at most; slow ones are always kept) whose detail tells where its time went, and
 * facts `trace.*` about the typical one. A case file then tells the same without the trace.
 *
 * Requests are ranges of the program (NVTX, record_function, profiler steps, session runs) or,
 * where there are none, what repeats on the GPU. Memory is bounded: the trace is scanned a few
 * times and only sums are kept.
 */
#pragma once

#include "evidence/evidence.h"
#include "timeline/timeline.h"

/* FALSE only when the trace cannot be read; a trace without requests gives facts alone. */
gboolean ct_timeline_digest(CtTimeline *tl, CtEvidence *ev, gint64 section, GError **error);
