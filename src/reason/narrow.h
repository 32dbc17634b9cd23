/* SPDX-License-Identifier: Apache-2.0 */
/* Which rows the rules see: views named as the tables, in the temp schema, which comes first. */
#pragma once

#include "reason/incident.h"

/* Leaves out what `n` rules out; with NULL everything stays in, but rows can be hidden. */
void ct_narrow_begin(CtEvidence *ev, const CtNarrow *n);
/* Name of a GPU that all its names share ("gpu:0"). `aliases` is of ct_gpu_aliases. Borrowed. */
GHashTable *ct_gpu_aliases(sqlite3 *db);
char *ct_gpu_subject(GHashTable *aliases, const char *gpu);
