/* SPDX-License-Identifier: Apache-2.0 */
/* trtexec's tensor_summary.json beside a dump: which file holds which tensor. */
#pragma once

#include "tensor/reader.h"

typedef struct {
    char *name;
    CtReadOptions options; /* type and shape, for raw files */
} CtSummaryEntry;

/* File name -> CtSummaryEntry; NULL when the folder has no summary. */
GHashTable *ct_summary_read(const char *folder);
