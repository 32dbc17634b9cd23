/* SPDX-License-Identifier: Apache-2.0 */
#include "parse/frame/walk.h"

#include <string.h>

/* The lines that follow the one at hand, as far as the block reaches. */
typedef struct {
    const char *p, *end;
} Ahead;

static gboolean next_line(Ahead *a, const char **line, gsize *len)
{
    if (a->p >= a->end)
        return FALSE;
    const char *nl = memchr(a->p, '\n', (gsize)(a->end - a->p));
    *line = a->p;
    *len = (gsize)((nl ? nl : a->end) - a->p);
    while (*len > 0 && (*line)[*len - 1] == '\r')
        (*len)--;
    a->p = nl ? nl + 1 : a->end;
    return TRUE;
}

static void start(CtParse *parse, guint line, const CtCut *cut)
{
    if (parse->n_sections >= CT_MAX_SECTIONS)
        return;
    parse->n_sections++;
    ct_section_close(parse);
    ct_section_open(parse, line, cut);
}

/* The kernel's own lines: with its stamp, or the wrapped rest of one. */
static gboolean kernel_line(const CtEmit *s, const char *raw, gsize len)
{
    if (ct_envelope_is_kernel(raw, len))
        return TRUE;
    return s->kernel_log &&
           (len == 0 || raw[0] == ' ' || raw[0] == '\t' || ct_text_starts(raw, len, "NVRM:"));
}

/* Two kernel lines in a row in other text begin a kernel log; three lines of other text end it. */
static gboolean kernel_change(CtParse *parse, const CtRawLine *line, Ahead ahead, CtCut *cut)
{
    CtEmit *s = &parse->section;
    const char *next;
    gsize len;
    gboolean kernel = kernel_line(s, line->raw, line->len);
    if (s->open && kernel == s->kernel_log)
        return FALSE;
    if (kernel) {
        if (s->open && next_line(&ahead, &next, &len) && !ct_envelope_is_kernel(next, len))
            return FALSE;
        *cut = (CtCut){.kind = CT_CUT_KERNEL};
        return TRUE;
    }
    if (!s->open)
        return FALSE;
    for (int i = 0; i < 2; i++) {
        if (!next_line(&ahead, &next, &len))
            break;
        if (kernel_line(s, next, len))
            return FALSE;
    }
    *cut = (CtCut){.kind = CT_CUT_NONE};
    return TRUE;
}

static gboolean possibly_kernel(const CtEmit *s, const CtRawLine *line)
{
    if (s->kernel_log)
        return TRUE;
    return line->len > 8 && (line->raw[0] == '[' || line->raw[0] == '<');
}

/* Returns TRUE when the line is a prompt and belongs to no section's text. */
static gboolean cut_before(CtParse *parse, const CtRawLine *line, Ahead ahead)
{
    CtEmit *s = &parse->section;
    CtCut cut;
    if (ct_cut_possible(line->raw, line->len) && ct_cut_prompt(line->raw, line->len, &cut)) {
        start(parse, line->number, &cut);
        return TRUE;
    }
    if (possibly_kernel(s, line) && kernel_change(parse, line, ahead, &cut))
        start(parse, line->number, &cut);
    else if (!s->open)
        start(parse, line->number, NULL);
    return FALSE;
}

void ct_walk_block(CtParse *parse, const char *data, gsize len)
{
    const CtHit *hits = (const CtHit *)(void *)parse->hits->data;
    guint n_hits = parse->hits->len, hit = 0;
    const char *p = data, *end = data + len;
    while (p < end) {
        const char *nl = memchr(p, '\n', (gsize)(end - p));
        const char *stop = nl ? nl : end;
        const char *next = nl ? nl + 1 : end;
        CtRawLine line = {.raw = p, .len = (gsize)(stop - p), .number = ++parse->line_number,
                          .cut = parse->pending_cut};
        while (line.len > 0 && line.raw[line.len - 1] == '\r')
            line.len--;
        if (line.len > CT_MAX_LINE && !parse->section.document) {
            line.len = CT_MAX_LINE;
            line.cut = TRUE;
        }
        guint first = hit;
        while (hit < n_hits && hits[hit].end <= (gsize)(stop - data))
            hit++;
        if (!cut_before(parse, &line, (Ahead){next, end}))
            ct_section_line(parse, &line, hits + first, hit - first);
        p = next;
    }
}
