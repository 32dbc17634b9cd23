/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of a recorded program as it is seen from outside, into its record. */
#pragma once

#include <glib.h>
#include <sys/types.h>

#include "wire/wire.h"

typedef struct CtOutside CtOutside;

/* Samples each second until it is stopped. `run` is the mapped head of the record; it stays. */
CtOutside *ct_outside_start(struct ctw_run *run, pid_t pid);
/* Does not wait for a driver that hangs. */
void ct_outside_stop(CtOutside *outside);
