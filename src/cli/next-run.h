/* SPDX-License-Identifier: Apache-2.0 */
/* --next: offers the best test, runs it when the person says so, and takes its outcome. */
#pragma once

#include "cli/gather.h"
#include "reason/reason.h"
#include "report/messages.h"

typedef struct {
    CtGatherText *output; /* of the command (nullable) */
    char *answer;         /* "TEST=OUTCOME" (nullable) */
} CtNextDone;

void ct_next_done_clear(CtNextDone *done);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(CtNextDone, ct_next_done_clear)

/* Everything goes to standard error and is asked on the terminal; without one the test is only
 * shown. Nothing runs without a yes, said there or beforehand (`yes`). TRUE when there is something new to judge. */
gboolean ct_next_offer(const CtDiagnosis *d, CtLang lang, gboolean yes, CtNextDone *out);
/* How the probabilities moved, on standard error. */
void ct_next_print_change(const CtDiagnosis *before, const CtDiagnosis *after, CtLang lang);
/* The command without the file that a person would be told to write its output to: here the output
 * is taken directly, and no file of the person is replaced. NULL when the command has places to fill
 * in (<program>). (transfer full) */
char *ct_next_command(const char *run);
