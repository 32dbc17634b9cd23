/* SPDX-License-Identifier: Apache-2.0 */
/* Cumulative figures of a model of a Triton server, whichever interface gave them. */
#pragma once

#include "parse/frame/parser.h"

typedef struct {
    const char *name;
    double success, failure, inferences, executions; /* counts */
    double request, queue, compute;                  /* ns, of the successful ones together */
} CtTritonModel;

/* Facts `triton.*`, and a hint where the queue takes most of the time; line (of the queue) is what
 * the hint cites, without it (number 0) there is none. */
void ct_triton_model_emit(const CtTritonModel *model, const CtLine *line, CtEmit *emit);
