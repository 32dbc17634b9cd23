/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files that turn one process of a record into evidence. */
#pragma once

#include <jansson.h>

#include "run/record-read.h"

typedef struct {
    CtEvidence *ev;
    const CtKb *kb;
    const struct ctw_reader *in;
    CtRecordView v;
    gint64 section;
    char subject[32];
} CtReading;

/* Wall time of a moment of the record. */
gint64 ct_reading_wall(const CtReading *r, gint64 mono_ns);
/* Takes the object over. (transfer full) */
char *ct_reading_json(json_t *object);
/* A finding of this process; takes `detail` over. `at` is the time it ends at, on the monotonic
 * clock. Returns its id. */
gint64 ct_reading_finding(const CtReading *r, const char *kind, double number, double confidence,
                          gint64 from_ns, gint64 to_ns, const char *text, json_t *detail);

/* record-blocks.c: addresses of faults that other sources tell of, among the blocks of the record,
 * and blocks that were freed before what then failed. */
void ct_reading_blocks(const CtReading *r);
/* record-findings.c: what the tables say beyond growth. */
void ct_reading_findings(const CtReading *r);
