/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way in: bytes of one source, in order, become evidence. collect/ feeds it.
 */
#pragma once

#include <glib.h>

#include "evidence/evidence.h"
#include "kb/kb.h"

typedef struct CtParse CtParse;

/* A run over any number of sources. Borrowed: ev, kb. */
CtParse *ct_parse_new(CtEvidence *ev, const CtKb *kb, GError **error);
void ct_parse_free(CtParse *parse);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtParse, ct_parse_free)

/* One source: begin, feed in any pieces, end. UTF-16 and GB18030 are turned into UTF-8. Binary
 * input is recognised from its first block and skipped with a note. */
void ct_parse_begin(CtParse *parse, const char *path, const char *format);
void ct_parse_feed(CtParse *parse, const void *data, gsize len);
void ct_parse_end(CtParse *parse, CtStatus status, const char *note);

/* After the last source: aligns clocks, gives years to stamps without one, folds what is left. */
void ct_parse_finish(CtParse *parse);

/* Convenience for tests and `explain`: one source from memory. */
void ct_parse_memory(CtParse *parse, const char *path, const char *data, gsize len);

/* The text is a question about a message: what it only quotes counts as if it had happened. */
void ct_parse_trust(CtParse *parse);

/* For tests and fuzzing: every section is read by this parser, whatever it looks like; NULL ends
 * it. FALSE: no parser has that id. */
gboolean ct_parse_force(CtParse *parse, const char *parser_id);
