/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of this machine in five lines, from files alone: no NVML, no CUDA, no process is
 * started, so it answers in milliseconds even where the driver hangs.
 */
#pragma once

#include <glib.h>

/* Five lines. `root` is "" or the folder of another machine's files (tests). */
char *ct_machine_state(const char *root);
