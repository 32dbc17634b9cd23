/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the examples that stand beside the rules of the knowledge base. */
#pragma once

#include <glib.h>

#include "kb/kb.h"

typedef struct {
    guint passed, failed;
} CtKbTally;

/* Each example goes through parsers, signatures and analyzers, then its rule alone is asked. Last,
 * no rule may hold on an empty source. Only causes and rules whose "cause/rule" holds `filter`
 * (nullable) are run. What fails is written to `out`, with what was recognised instead. */
gboolean ct_kb_run_tests(const CtKb *kb, const char *filter, GString *out, CtKbTally *tally,
                         GError **error);
