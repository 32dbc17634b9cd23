/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The signatures of the knowledge base: which literals to look for, and what a line that holds
 * one turns into. Patterns are compiled when the first line asks for them.
 */
#pragma once

#include <glib.h>

#include "kb/kb.h"
#include "parse/frame/parser.h"
#include "parse/frame/scanner.h"

typedef struct CtSignatures CtSignatures;

typedef enum { CT_KERNEL_NO, CT_KERNEL_MAYBE, CT_KERNEL_YES } CtKernelness;

/* Borrowed: kb. Takes in the anchors of `parsers` as well. */
CtSignatures *ct_signatures_new(const CtKb *kb, const CtParser *const *parsers, GError **error);
void ct_signatures_free(CtSignatures *sigs);

/* Literals of all, borrowed. */
const CtLiteral *ct_signatures_literals(const CtSignatures *sigs, guint *out_n);

#define CT_MAX_SUBJECT ((gsize)4096) /* patterns see so much of a line */

/* Runs what the hits of one line ask for. Of lines longer than CT_MAX_SUBJECT the ends of the hits
 * are offsets in line->text. */
void ct_signatures_apply(CtSignatures *sigs, CtEmit *emit, const CtLine *line,
                         CtKernelness kernel, const CtHit *hits, guint n_hits);
/* Bit i is set when a hit belongs to an anchor of parsers[i] (the first 64 that have any). */
guint64 ct_signatures_readers(const CtSignatures *sigs, const CtHit *hits, guint n_hits);
const CtParser *ct_signatures_reader(const CtSignatures *sigs, guint bit);
