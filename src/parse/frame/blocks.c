/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks of complete lines: put right where they are not clean UTF-8, scanned for the literals of
 * all signatures, then walked line by line.
 */
#include "parse/frame/frame-private.h"

#include <string.h>

#include "parse/frame/cleanse.h"
#include "parse/frame/walk.h"

static void block(CtParse *parse, const char *data, gsize len)
{
    g_autoptr(GByteArray) clean = NULL;
    if (len == 0)
        return;
    if (!ct_cleanse_is_clean(data, len)) {
        clean = g_byte_array_sized_new((guint)len + 64);
        ct_cleanse(data, len, clean);
        data = (const char *)clean->data;
        len = clean->len;
    }
    g_array_set_size(parse->hits, 0);
    ct_scanner_scan(parse->scanner, data, len, parse->hits);
    ct_walk_block(parse, data, len);
}

static gsize line_cap(const CtParse *parse)
{
    return parse->section.document ? CT_MAX_DOCUMENT : CT_MAX_LINE;
}

/* JSON written in one line is longer than any line of a log. Its beginning says whether a parser
 * wants it whole. */
static gboolean may_be_document(CtParse *parse, const char *data, gsize room)
{
    if (parse->section.document || parse->line_number > 0)
        return FALSE;
    g_autofree char *head = g_malloc(CT_HEAD_BYTES + 1);
    gsize n = MIN(parse->pending->len, CT_HEAD_BYTES);
    if (n > 0)
        memcpy(head, parse->pending->data, n);
    gsize more = MIN(room, CT_HEAD_BYTES - n);
    memcpy(head + n, data, more);
    head[n + more] = '\0';
    return ct_section_open_document(parse, head, n + more);
}

/* Keeps what there is of a line; beyond the cap only its end is waited for. */
static void keep(CtParse *parse, const char *data, gsize len)
{
    if (parse->skipping || len == 0)
        return;
    gsize room = line_cap(parse) - MIN(line_cap(parse), parse->pending->len);
    if (len > room && may_be_document(parse, data, room)) {
        keep(parse, data, len);
        return;
    }
    if (len > room) {
        len = room;
        parse->skipping = parse->pending_cut = TRUE;
    }
    g_byte_array_append(parse->pending, (const guint8 *)data, (guint)len);
}

static void flush_pending(CtParse *parse)
{
    /* The walk must not see the buffer change beneath it. */
    GByteArray *line = parse->pending;
    parse->pending = g_byte_array_new();
    parse->skipping = FALSE;
    block(parse, (const char *)line->data, line->len);
    parse->pending_cut = FALSE;
    g_byte_array_unref(line);
}

void ct_frame_text(CtParse *parse, const char *data, gsize len)
{
    if (parse->pending->len > 0 || parse->skipping) {
        const char *nl = memchr(data, '\n', len);
        gsize n = nl ? (gsize)(nl - data) : len;
        keep(parse, data, n);
        if (!nl)
            return;
        g_byte_array_append(parse->pending, (const guint8 *)"\n", 1);
        flush_pending(parse);
        data += n + 1;
        len -= n + 1;
    }
    const char *last = len ? memrchr(data, '\n', len) : NULL;
    gsize whole = last ? (gsize)(last - data) + 1 : 0;
    block(parse, data, whole);
    keep(parse, data + whole, len - whole);
}

void ct_frame_text_end(CtParse *parse)
{
    if (parse->pending->len > 0)
        flush_pending(parse);
    parse->skipping = FALSE;
}
