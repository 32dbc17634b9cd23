/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes out of text what must not leave a machine: names of users and hosts, home folders,
 * addresses, serial numbers, UUIDs, secrets, ids of containers. Each is replaced by a stand-in of
 * the same shape, made from the value and a key that stays with the user: the same thing has the
 * same stand-in everywhere and in every capture of that user, and nobody else can guess back.
 * Versions, PCI addresses, hashes of files and the like stay as they are.
 */
#pragma once

#include <glib.h>

typedef struct CtRedact CtRedact;

#define CT_REDACT_KEY 32

CtRedact *ct_redact_new(const guint8 key[CT_REDACT_KEY]);
void ct_redact_free(CtRedact *redact);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtRedact, ct_redact_free)

typedef enum {
    CT_REDACT_USER,
    CT_REDACT_HOST,
    CT_REDACT_SERIAL,
    CT_REDACT_CONTAINER,
    CT_REDACT_SECRET,
} CtRedactKind;

/* A value that is to go wherever it stands as a word of its own. Very short and very common words
 * (root, localhost, ubuntu) are not taken. */
void ct_redact_learn(CtRedact *redact, CtRedactKind kind, const char *value);
/* Learns from text what is named there: users of passwd lines and of home folders, values of
 * secret variables, serial numbers, ids of containers. Called by the other two as well; calling it on
 * all texts first finds names that stand before the place that gives them away. */
void ct_redact_look(CtRedact *redact, const char *text, gsize len);
/* The same for the value of a fact; about: its key. (nullable) What a key is made of is no name of
 * anybody, and a value that is a version is no address there nor anywhere else. */
void ct_redact_look_at(CtRedact *redact, const char *about, const char *text, gsize len);
/* (transfer full) */
char *ct_redact_text(CtRedact *redact, const char *text, gsize len, gsize *out_len);
char *ct_redact_value(CtRedact *redact, const char *about, const char *text, gsize len,
                      gsize *out_len);
void ct_redact_bytes(CtRedact *redact, GByteArray *bytes);
guint ct_redact_count(const CtRedact *redact); /* places that were replaced */
