/* SPDX-License-Identifier: Apache-2.0 */
/* A state as a table of (subject, key) that can be laid beside another. */
#pragma once

#include "reason/diff.h"

typedef struct {
    char *subject, *key;
    char *value;   /* all values, sorted, joined by " | "; NULL: absent or not known */
    char *plain;   /* the values as numbers where they are quantities: "x16" and "16x" are one */
    char *place;   /* of the first (nullable) */
    char *parser;  /* that read it: says whether another state was looked at there */
    char *command, *file; /* what it read: command, name of the file (nullable) */
    char *trouble; /* status when it could not be read (nullable) */
} CtStateFact;

typedef struct {
    GHashTable *facts;   /* "subject\tkey" -> CtStateFact */
    GHashTable *keys;    /* keys that have a value or a reason why not */
    GHashTable *parsers; /* parsers that read something -> how many places */
    GHashTable *places;  /* "parser\tcommand" and "parser\tfile" */
    gboolean live;       /* a capture: it looks everywhere that it knows */
} CtState;

typedef struct {
    int volatility, importance; /* 0 no, 1 by itself, 2 identity */
    const char *layer;          /* interned */
} CtFactKind;

/* names: canonical subject of a name, from ct_state_names (nullable). */
CtState *ct_state_new(CtEvidence *ev, GHashTable *names);
void ct_state_free(CtState *state);
/* Lower-case name of a GPU -> canonical subject. With `like` the names of the other state are
 * taken where one of its names is the same: a UUID first, then a PCI address, then the number. */
GHashTable *ct_state_names(CtEvidence *ev, GHashTable *like);
/* Whether `state` was looked at where `of` has the fact. */
gboolean ct_state_looked(const CtState *state, const CtState *of, const CtStateFact *at);
/* Both have a value, and it is the same one. */
gboolean ct_state_equal(const CtStateFact *a, const CtStateFact *b);

/* key -> CtFactKind, asked with ct_fact_kind. */
typedef struct CtFactKinds CtFactKinds;
CtFactKinds *ct_fact_kinds_new(const CtKb *kb);
void ct_fact_kinds_free(CtFactKinds *kinds);
CtFactKind ct_fact_kind(const CtFactKinds *kinds, const char *key);
