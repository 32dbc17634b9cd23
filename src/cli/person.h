/* SPDX-License-Identifier: Apache-2.0 */
/* --note, --changed, --answer: the person as a source. */
#pragma once

#include "cli/gather.h"

typedef struct {
    char **notes, **answers;
    char *changed;
} CtPerson;

#define CT_PERSON_PATH "said"

void ct_person_clear(CtPerson *p);
/* Refuses what nothing would read, before the long work. */
gboolean ct_person_check(const char *verb, const CtPerson *p, int *out_exit);
/* What was said as a source; NULL when nothing was. (transfer full) */
CtGatherText *ct_person_text(const CtPerson *p);
void ct_gather_text_free(gpointer text);
/* After the gathering: what was said is claimed, not observed, and answers find their causes. */
gboolean ct_person_apply(const char *verb, const CtPerson *p, const CtGather *g, int *out_exit);
