/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a person saw when doing a test (`--answer TEST=OUTCOME`). An answer is an event of kind
 * `answer`: name is the test, subject the cause that the outcome points to; so a case keeps it.
 */
#pragma once

#include <glib.h>

#include "evidence/evidence.h"
#include "kb/kb.h"

/* Finds the cause that the outcome of a test points to and adds the event to the section. `said` is
 * "TEST=OUTCOME"; the outcome is its id in the JSON. */
gboolean ct_answer_add(CtEvidence *ev, const CtKb *kb, gint64 section, guint line,
                       const char *said, GError **error);
/* The same check before anything is read. */
gboolean ct_answer_check(const CtKb *kb, const char *said, GError **error);
