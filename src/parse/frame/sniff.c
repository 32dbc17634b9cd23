/* SPDX-License-Identifier: Apache-2.0 */
#include "parse/frame/sniff.h"

#include <string.h>

#define SURE_ENOUGH 20

static int best(const CtSniff *sniff, const CtParser **out)
{
    const CtParser *const *all = ct_parsers();
    int sure = SURE_ENOUGH - 1;
    *out = NULL;
    for (guint i = 0; all[i]; i++) {
        int v = all[i]->sniff ? all[i]->sniff(sniff) : 0;
        if (v > sure) {
            sure = v;
            *out = all[i];
        }
    }
    return *out ? sure : 0;
}

int ct_sniff_lines(CtParse *parse, const CtRawLine *lines, guint n, const char *head,
                   gsize head_len, CtHints hints, const CtParser **out)
{
    CtLine peeled[CT_HEAD_LINES];
    /* The peeler's buffers hold one line; these live as long as the sniffing. */
    g_autoptr(GStringChunk) texts = g_string_chunk_new(4096);
    n = MIN(n, CT_HEAD_LINES);
    for (guint i = 0; i < n; i++) {
        CtPeeled ignored;
        peeled[i] = (CtLine){.raw = lines[i].raw, .raw_len = lines[i].len,
                             .number = lines[i].number, .cut = lines[i].cut,
                             .t_ns = CT_TIME_UNKNOWN};
        ct_peel(parse->peeler, &peeled[i], &ignored);
        peeled[i].text = g_string_chunk_insert_len(texts, peeled[i].text,
                                                   (gssize)peeled[i].len);
        if (peeled[i].tag)
            peeled[i].tag = g_string_chunk_insert_const(texts, peeled[i].tag);
    }
    CtSniff sniff = {.head = head, .len = head_len, .lines = peeled, .n_lines = n,
                     .command = hints.command, .title = hints.title, .path = parse->path};
    return best(&sniff, out);
}

int ct_sniff_ahead(CtParse *parse, const char *p, const char *end, CtHints hints,
                   const CtParser **out)
{
    CtRawLine lines[CT_HEAD_LINES];
    const char *start = p;
    guint n = 0;
    CtCut cut;
    while (p < end && n < CT_HEAD_LINES && (gsize)(p - start) < CT_HEAD_BYTES) {
        const char *nl = memchr(p, '\n', (gsize)(end - p));
        gsize len = (gsize)((nl ? nl : end) - p);
        while (len > 0 && p[len - 1] == '\r')
            len--;
        if (n > 0 && ct_cut_possible(p, len) && ct_cut_prompt(p, len, &cut))
            break;
        n++;
        lines[n - 1] = (CtRawLine){
            .raw = p, .len = MIN(len, CT_MAX_LINE), .number = parse->line_number + n};
        p = nl ? nl + 1 : end;
    }
    g_autofree char *head = g_strndup(start, MIN((gsize)(p - start), CT_HEAD_BYTES));
    return ct_sniff_lines(parse, lines, n, head, strlen(head), hints, out);
}
