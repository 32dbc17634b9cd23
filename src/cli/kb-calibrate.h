/* SPDX-License-Identifier: Apache-2.0 */
/* `kb calibrate`: fits the temperature to a folder of cases with known answers. */
#pragma once

/* `knowledge` is a folder or NULL for the base inside the program; `write` (nullable) is the file
 * that takes the fitted values. Returns an exit code. */
int ct_kb_calibrate(const char *cases, const char *knowledge, const char *write);
