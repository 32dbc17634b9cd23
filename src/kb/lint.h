/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a knowledge base makes sense: what the compiler lets pass because it is well formed and
 * is still a mistake. Used by `kb lint` and by the tests.
 */
#pragma once

#include <glib.h>
#include <sqlite3.h>

#include "kb/compile.h"

/* `kb` is a compiled base. `evidence` is an empty evidence store with the base attached as `kb`
 * and the SQL functions of rules registered: rules are prepared against it (NULL: they are not).
 * Problems in the order of the files. (transfer full) */
GPtrArray *ct_kb_lint(sqlite3 *kb, sqlite3 *evidence);
