/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Version strings of every dialect met in the field: 8.5.2.2, 8.5.2-1+cuda11.4, 2.2.2+cu121,
 * 535.161.08, 35.4.1-20230801124926, R35.4.1, v13.0.88, 1:2.3-4, 2.3.0a0, 1.8.0rc2.
 *
 * What counts is the dotted number; what follows a '+' or '-' (local part, package revision) does
 * not. A part that is not written is 0. Before the release come dev, alpha, beta and rc.
 */
#pragma once

#include <glib.h>

/* FALSE when one of the two holds no version. `parts` compares only so many leading numbers
 * (0 is all). *out is -1, 0, 1. */
gboolean ct_version_compare(const char *a, const char *b, guint parts, int *out);

/* `range` is terms that must all hold, ">=12.4 <13"; "||" separates alternatives. A term without
 * an operator, or with "=", wants the same leading numbers: 8.5 holds for 8.5.2. FALSE when the
 * version or a term cannot be read. */
gboolean ct_version_in(const char *version, const char *range, gboolean *out);
