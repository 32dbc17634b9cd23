/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A YAML file as a tree whose every node knows its line and column. libyaml reads; this adds what
 * a folder written by a stranger needs: no aliases, no tags, limits on depth and size, duplicate
 * keys refused. (libcyaml fits a file to one C struct and stops at the first error; here a key may
 * hold one value or a list, `set:` takes free keys, and all errors of a file are wanted.)
 */
#pragma once

#include <glib.h>

typedef enum { CT_YAML_SCALAR, CT_YAML_LIST, CT_YAML_MAP } CtYamlType;

typedef struct CtYaml CtYaml;
struct CtYaml {
    CtYamlType type;
    guint line, column; /* from 1 */
    gboolean quoted;
    char *text;       /* scalar */
    GPtrArray *keys;  /* map: CtYaml scalars, in step with items */
    GPtrArray *items; /* list and map: CtYaml */
};

/* One document. On failure *out_line, *out_column say where and *out_message (transfer full) why.
 */
CtYaml *ct_yaml_load(const char *data, gsize len, guint *out_line, guint *out_column,
                     char **out_message);
void ct_yaml_free(CtYaml *node);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtYaml, ct_yaml_free)

/* Value of a key; NULL when absent. Borrowed. */
const CtYaml *ct_yaml_get(const CtYaml *map, const char *key);
