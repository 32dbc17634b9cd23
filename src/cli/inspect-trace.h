/* SPDX-License-Identifier: Apache-2.0 */
/* The totals of traces, for `inspect`. */
#pragma once

#include <jansson.h>

#include "kb/kb.h"
#include "report/messages.h"
#include "timeline/import.h"

void ct_inspect_trace_text(const CtTrace *trace, const CtKb *kb, CtLang lang);
json_t *ct_inspect_trace_json(const CtTrace *trace, const CtKb *kb);

/* What trtexec exports; `all` holds the other files given, among them perhaps the layers. */
void ct_inspect_trt_text(const CtTrace *trace, const GPtrArray *all, CtLang lang);
json_t *ct_inspect_trt_json(const CtTrace *trace, const GPtrArray *all);

/* A row of an aligned table out of texts; a cell that begins like a number is set to the right.
 * Ends with NULL. The texts are freed. */
void ct_inspect_row(gpointer table, ...) G_GNUC_NULL_TERMINATED;
