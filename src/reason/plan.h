/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What would no longer fit after moving to another release: the release becomes facts `plan.*` of a
 * source of its own, and the checks of checks.yaml that apply to them (plan-...) judge.
 */
#pragma once

#include "reason/check.h"

/* "jp6.2", "l4t-r36.4.3", "cuda-13.0", "driver-580". FALSE with *error when it is not known. */
gboolean ct_plan_add(CtEvidence *ev, const CtKb *kb, const char *release, GError **error);
/* Leaves the checks of the plan only. */
void ct_plan_only(CtCheckList *list);
