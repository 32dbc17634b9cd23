/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside of the knowledge compiler: what its files share while a folder becomes a database. A
 * problem never stops the work; the file it stands in is left out and the next one is read.
 */
#pragma once

#include <glib.h>
#include <sqlite3.h>

#include "kb/compile.h"
#include "kb/yaml-tree.h"

typedef struct {
    sqlite3 *db;
    const char *folder;
    const char *file;       /* relative to folder: what messages and the tables name */
    GPtrArray *problems;    /* CtKbProblem */
    GHashTable *statements; /* SQL text -> sqlite3_stmt */
    guint signatures;       /* so far: their order */
} CtKbBuild;

/* A sentence in both languages; zh is the English one where the file has none (lint says so). */
typedef struct {
    const char *en, *zh;
} CtKbSay;

void ct_kb_problem(CtKbBuild *b, guint line, guint column, const char *format, ...)
    G_GNUC_PRINTF(4, 5);
void ct_kb_problem_at(CtKbBuild *b, const CtYaml *node, const char *format, ...)
    G_GNUC_PRINTF(3, 4);

/* Binds by letter: s text (NULL allowed), i gint64, d double, 0 NULL without an argument. FALSE
 * and a problem at `at` when a constraint refuses the row. */
gboolean ct_kb_insert(CtKbBuild *b, const CtYaml *at, const char *sql, const char *types, ...);

/* ---- reading of nodes; `key` missing gives NULL, and a problem when required ---- */

gboolean ct_kb_is_map(CtKbBuild *b, const CtYaml *node, const char *what);
/* Refuses keys that are not in the list (NULL-terminated), with the nearest one that is. */
void ct_kb_check_keys(CtKbBuild *b, const CtYaml *map, const char *const *allowed);
const char *ct_kb_string(CtKbBuild *b, const CtYaml *map, const char *key, gboolean required);
/* One of the words of `list` (NULL-terminated); `fallback` when absent (NULL: required). */
const char *ct_kb_word(CtKbBuild *b, const CtYaml *map, const char *key, const char *const *list,
                       const char *fallback);
gint64 ct_kb_int(CtKbBuild *b, const CtYaml *map, const char *key, gint64 fallback);
gboolean ct_kb_double(CtKbBuild *b, const CtYaml *map, const char *key, double *out);
gboolean ct_kb_bool(CtKbBuild *b, const CtYaml *map, const char *key);
/* Scalars of a list, or the one scalar; empty when absent. (transfer container) */
GPtrArray *ct_kb_list(CtKbBuild *b, const CtYaml *map, const char *key);
/* {en: ..., zh: ...} or an English string. */
CtKbSay ct_kb_say(CtKbBuild *b, const CtYaml *node, const char *what);
/* Lower-case letters, digits and dashes. */
gboolean ct_kb_check_id(CtKbBuild *b, const CtYaml *at, const char *id);
/* The scalars of `nodes` joined; NULL when there are none. */
char *ct_kb_join(const GPtrArray *nodes, const char *separator);
/* Levenshtein distance, 99 for long words: for "did you mean". */
guint ct_kb_distance(const char *a, const char *b);
void ct_kb_json_pair(GString *out, const char *key, const char *value);

/* ---- the kinds of file ---- */

void ct_kb_build_codes(CtKbBuild *b, const char *data, const char *stem);
void ct_kb_build_compat(CtKbBuild *b, const char *data, const char *stem);
void ct_kb_build_vocabulary(CtKbBuild *b, const char *data);
void ct_kb_build_topics(CtKbBuild *b, const char *data);
void ct_kb_build_glossary(CtKbBuild *b, const char *data);
void ct_kb_build_calibration(CtKbBuild *b, const char *data);
void ct_kb_build_facts(CtKbBuild *b, const char *data);
void ct_kb_build_checks(CtKbBuild *b, const CtYaml *root);
void ct_kb_build_signatures(CtKbBuild *b, const CtYaml *root);
void ct_kb_build_cause(CtKbBuild *b, const CtYaml *root, const char *layer, const char *stem);

/* SELECT of a shorthand rule, with what it needs. `rule` has one of event, fact, finding, sql. */
typedef struct {
    char *sql, *needs; /* (nullable) */
} CtKbRuleSql;
CtKbRuleSql ct_kb_rule_sql(CtKbBuild *b, const CtYaml *rule);
