/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From bytes to lines. Complete lines are scanned a block at a time; a line whose end has not
 * come yet waits, and no more than CT_MAX_LINE of it is kept.
 */
#include "parse/frame/frame-private.h"

#include <string.h>

#include "parse/frame/decode.h"

CtParse *ct_parse_new(CtEvidence *ev, const CtKb *kb, GError **error)
{
    CtSignatures *sigs = ct_signatures_new(kb, ct_parsers(), error);
    if (!sigs)
        return NULL;
    CtParse *p = g_new0(CtParse, 1);
    p->ev = ev;
    p->kb = kb;
    p->sigs = sigs;
    guint n;
    const CtLiteral *literals = ct_signatures_literals(sigs, &n);
    p->scanner = ct_scanner_new(literals, n);
    p->peeler = ct_peeler_new();
    p->hits = g_array_new(FALSE, FALSE, sizeof(CtHit));
    p->line_hits = g_array_new(FALSE, FALSE, sizeof(CtHit));
    p->done = g_array_new(FALSE, FALSE, sizeof(CtDoneSection));
    p->pending = g_byte_array_new();
    ct_section_init(p);
    return p;
}

void ct_parse_free(CtParse *parse)
{
    if (!parse)
        return;
    if (parse->in_source)
        ct_parse_end(parse, CT_PARTIAL, "not read to the end");
    ct_section_release(parse);
    ct_decoder_free(parse->decoder);
    ct_scanner_free(parse->scanner);
    ct_signatures_free(parse->sigs);
    ct_peeler_free(parse->peeler);
    g_array_unref(parse->hits);
    g_array_unref(parse->line_hits);
    g_array_unref(parse->done);
    g_byte_array_unref(parse->pending);
    g_free(parse->path);
    g_free(parse->note);
    g_free(parse);
}

void ct_frame_note(CtParse *parse, const char *note)
{
    if (!parse->note)
        parse->note = g_strdup(note);
}

void ct_parse_begin(CtParse *parse, const char *path, const char *format)
{
    if (parse->in_source)
        ct_parse_end(parse, CT_PARTIAL, "not read to the end");
    CtSourceRow row = {.path = path, .format = format, .status = CT_OK, .bytes = CT_NONE,
                       .lines = CT_NONE};
    parse->in_source = TRUE;
    parse->source = ct_evidence_add_source(parse->ev, &row);
    g_free(parse->path);
    parse->path = g_strdup(path);
    parse->bytes = 0;
    parse->line_number = 0;
    parse->skipping = parse->pending_cut = parse->after_empty = parse->bug_report = FALSE;
    parse->heading_line = 0;
    parse->command_lines = parse->resniffs = parse->kernel_changes = 0;
    g_byte_array_set_size(parse->pending, 0);
    ct_decoder_free(parse->decoder);
    parse->decoder = ct_decoder_new(parse);
}

void ct_parse_feed(CtParse *parse, const void *data, gsize len)
{
    const char *p = data;
    if (!parse->in_source)
        return;
    parse->bytes += len;
    while (len > 0) {
        gsize n = MIN(len, CT_BLOCK);
        ct_decoder_feed(parse->decoder, p, n);
        p += n;
        len -= n;
    }
}

void ct_parse_end(CtParse *parse, CtStatus status, const char *note)
{
    if (!parse->in_source)
        return;
    ct_decoder_end(parse->decoder);
    ct_section_close(parse);
    const char *binary = ct_decoder_binary(parse->decoder);
    if (status == CT_OK && binary)
        status = CT_UNSUPPORTED;
    if (!note)
        note = binary ? binary : parse->note;
    ct_evidence_end_source(parse->ev, parse->source, status, (gint64)parse->bytes,
                           parse->line_number, note);
    g_clear_pointer(&parse->note, g_free);
    parse->in_source = FALSE;
}

void ct_parse_finish(CtParse *parse)
{
    if (parse->in_source)
        ct_parse_end(parse, CT_OK, NULL);
    ct_clock_align(parse);
    ct_evidence_span_sources(parse->ev);
}

void ct_parse_memory(CtParse *parse, const char *path, const char *data, gsize len)
{
    ct_parse_begin(parse, path, "text");
    ct_parse_feed(parse, data, len);
    ct_parse_end(parse, CT_OK, NULL);
}

void ct_parse_trust(CtParse *parse)
{
    parse->trusting = TRUE;
}

gboolean ct_parse_force(CtParse *parse, const char *parser_id)
{
    parse->forced = parser_id ? ct_parser_by_id(parser_id) : NULL;
    return !parser_id || parse->forced;
}
