/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns a folder in the shape of knowledge/README.md into the tables of kb-schema.sql. Used by
 * the build (tools/kb-compile), by --knowledge DIR and by `kb lint`.
 */
#pragma once

#include <glib.h>
#include <sqlite3.h>

typedef struct {
    gboolean warning;
    char *file;         /* relative to the folder */
    guint line, column; /* 0 is unknown */
    char *text;
} CtKbProblem;

void ct_kb_problem_free(CtKbProblem *problem);
/* "causes/x/y.yaml:3:7: error: unknown key `wieght`" (transfer full) */
char *ct_kb_problem_format(const CtKbProblem *problem, const char *folder);

/* Fills an empty database. All problems of all files are collected; a file with one is left out.
 * `deps` (nullable) receives every file and folder that was looked at. (transfer full) */
GPtrArray *ct_kb_compile_collect(const char *folder, sqlite3 *out, GPtrArray *deps);
/* The same for callers who want all or nothing; the error lists the first problems. */
gboolean ct_kb_compile(const char *folder, sqlite3 *out, GError **error);
