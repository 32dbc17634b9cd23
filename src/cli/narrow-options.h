/* SPDX-License-Identifier: Apache-2.0 */
/* --since, --until, --gpu, --pid, --host, --boot: which part of the evidence is looked at. */
#pragma once

#include "cli/cli.h"
#include "reason/incident.h"

typedef struct {
    char *since, *until, *gpu, *pid, *host, *boot;
} CtNarrowOptions;

void ct_narrow_options_clear(CtNarrowOptions *o);
/* Refuses what cannot be read, before the long work: times, numbers. */
gboolean ct_narrow_options_check(const char *verb, const CtNarrowOptions *o, int *out_exit);
/* With the evidence at hand: dates without a year and times without a date are of its last day.
 * The result borrows from `o`. FALSE: there are not that many boots. */
gboolean ct_narrow_options_resolve(const char *verb, const CtNarrowOptions *o, CtEvidence *ev,
                                   CtNarrow *out, int *out_exit);
