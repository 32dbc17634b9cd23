/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An analyzer reads evidence of all sources and adds findings, each citing the rows it rests on.
 * Registered in analyzers.def; run in that order, so a later one may use findings of an earlier.
 */
#pragma once

#include <glib.h>

#include "evidence/evidence.h"

typedef struct {
    const char *id, *summary, *doc;
    const char *emits; /* finding kinds, comma separated */
    void (*run)(CtEvidence *ev);
} CtAnalyzer;

const CtAnalyzer *const *ct_analyzers(void); /* ends with NULL */
void ct_analyze(CtEvidence *ev);             /* runs all */
