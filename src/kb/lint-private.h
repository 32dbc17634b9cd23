/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of lint: what its files share. */
#pragma once

#include "kb/lint.h"

typedef struct {
    sqlite3 *kb, *evidence;
    GPtrArray *problems;
    GHashTable *vocabulary; /* "event xid" -> itself */
    GPtrArray *families;    /* "fact gpu.ecc." of entries that end in .* */
} Lint;

void ct_lint_add(Lint *l, gboolean warning, const char *file, gint64 line, const char *format, ...)
    G_GNUC_PRINTF(5, 6);
#define lint_error(l, file, line, ...) ct_lint_add(l, FALSE, file, line, __VA_ARGS__)
#define lint_warning(l, file, line, ...) ct_lint_add(l, TRUE, file, line, __VA_ARGS__)

/* Steps through the rows of a query on the base. NULL values come as "". */
sqlite3_stmt *ct_lint_query(Lint *l, const char *sql);
const char *ct_lint_text(sqlite3_stmt *stmt, int column);

/* Is this a name of the class? A trailing .* or a glob of the caller stands for a family. */
gboolean ct_lint_known(Lint *l, const char *class, const char *name);
gboolean ct_lint_has_han(const char *text);

/* What SQLite 3.31 does not take, though this one may; NULL when there is nothing of the kind. */
const char *ct_lint_too_new(const char *sql);

void ct_lint_signatures(Lint *l);
void ct_lint_rules(Lint *l);
void ct_lint_causes(Lint *l);
void ct_lint_checks(Lint *l);
