/* SPDX-License-Identifier: Apache-2.0 */
/* Goes over every text of a store that may name people, machines or secrets. */
#pragma once

#include "evidence/evidence.h"

typedef struct {
    /* Sees every text before any is changed; about: the key where the text is the value of a fact, or
     * NULL. (nullable) */
    void (*look)(const char *about, const char *text, gsize len, gpointer user);
    /* What to put in its place. (transfer full) */
    char *(*change)(const char *about, const char *text, gsize len, gsize *out_len, gpointer user);
    gpointer user;
} CtRewrite;

/* Attachments that are no text are taken out, since nobody can tell what they hold; their names go
 * to out_removed (char *, nullable). FALSE: the store could not be changed, for example no memory. */
gboolean ct_evidence_rewrite(CtEvidence *ev, const CtRewrite *how, GPtrArray *out_removed,
                             GError **error);
