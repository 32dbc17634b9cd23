/* SPDX-License-Identifier: Apache-2.0 */
/* Who reads a stretch of lines: every parser looks at its beginning, the surest one gets it. */
#pragma once

#include "parse/frame/frame-private.h"

typedef struct {
    const char *command, *title; /* hints (nullable) */
} CtHints;

/* head: the bytes of the lines, NUL-terminated. Returns sureness, 0 when nobody is sure enough. */
int ct_sniff_lines(CtParse *parse, const CtRawLine *lines, guint n, const char *head,
                   gsize head_len, CtHints hints, const CtParser **out);
/* The same for the lines that begin at p, up to the next prompt. */
int ct_sniff_ahead(CtParse *parse, const char *p, const char *end, CtHints hints,
                   const CtParser **out);
