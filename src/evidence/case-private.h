/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <glib.h>
#include <sqlite3.h>

/* Opens a case file after all checks, able to read and nothing else. Newer versions are refused.
 * (transfer full) */
sqlite3 *ct_case_open_checked(const char *path, int *out_version, GError **error);
