/* SPDX-License-Identifier: Apache-2.0 */
/* `kb calibrate`: fits the temperature to a folder of cases with known answers. */
#pragma once

#include <glib.h>

/* `knowledge` is a folder or NULL for the base inside the program; `write` (nullable) is the file
 * that takes the fitted values; `confusion` prints that table in place of the cases. Returns an exit
 * code. */
int ct_kb_calibrate(const char *cases, const char *knowledge, const char *write,
                    gboolean confusion);
