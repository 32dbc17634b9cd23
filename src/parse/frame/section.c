/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One section: its first lines are kept until a parser is chosen, then they and all that follow
 * go to that parser, to the signatures, and to the parsers that read along.
 */
#include "parse/frame/frame-private.h"

#include <string.h>

#include "parse/frame/sniff.h"

#define TIME_EVERY_LINE ((guint64)4 << 20) /* bytes; beyond, only some lines' times are read */
#define TIME_SAMPLE 64u
#define SIGNATURES_IN_TABLES ((guint64)8 << 20) /* up to here they cost nothing that is felt */
#define MAX_PIECES 4000u

void ct_section_init(CtParse *parse)
{
    CtEmit *s = &parse->section;
    s->parse = parse;
    s->head = g_byte_array_new();
    s->head_lines = g_array_new(FALSE, FALSE, sizeof(CtHeadLine));
    s->head_hits = g_array_new(FALSE, FALSE, sizeof(CtHit));
    s->coverage = g_ptr_array_new_with_free_func(g_free);
}

static void clear(CtEmit *s)
{
    g_clear_pointer(&s->title, g_free);
    g_clear_pointer(&s->command, g_free);
    g_clear_pointer(&s->scope, g_free);
    g_clear_pointer(&s->note, g_free);
    g_clear_pointer(&s->document, g_byte_array_unref);
    if (s->partial)
        g_string_free(s->partial, TRUE);
    g_byte_array_set_size(s->head, 0);
    g_array_set_size(s->head_lines, 0);
    g_array_set_size(s->head_hits, 0);
    g_ptr_array_set_size(s->coverage, 0);
    CtEmit kept = {.parse = s->parse, .head = s->head, .head_lines = s->head_lines,
                   .head_hits = s->head_hits, .coverage = s->coverage};
    *s = kept;
}

void ct_section_release(CtParse *parse)
{
    CtEmit *s = &parse->section;
    clear(s);
    g_byte_array_unref(s->head);
    g_array_unref(s->head_lines);
    g_array_unref(s->head_hits);
    g_ptr_array_unref(s->coverage);
}

void ct_emit_scope(CtEmit *emit, const char *scope)
{
    g_free(emit->scope);
    emit->scope = g_strdup(scope);
    emit->scope_changed = TRUE;
}

/* "journalctl -b -1": what it shows is not of the present boot, nor are its versions. */
static char *boot_scope(const char *command)
{
    static const char *const options[] = {"-b -", "--boot=-", "--boot -", "-b-"};
    for (gsize i = 0; i < G_N_ELEMENTS(options); i++) {
        const char *at = strstr(command, options[i]);
        guint64 back = at ? g_ascii_strtoull(at + strlen(options[i]), NULL, 10) : 0;
        if (back > 0 && back < 10000)
            return g_strdup_printf("boot:-%" G_GUINT64_FORMAT, back);
    }
    return NULL;
}

/* A title such as "nvidia-smi -q" is as good a hint as a prompt. */
static void take_cut(CtEmit *s, const CtCut *cut)
{
    if (!cut || cut->kind == CT_CUT_NONE)
        return;
    s->scope = ct_cut_scope(cut);
    if (cut->kind == CT_CUT_KERNEL) {
        s->kernel_log = TRUE;
        return;
    }
    g_autofree char *text = g_strndup(cut->text, cut->len);
    g_autofree char *valid = g_utf8_make_valid(text, -1);
    if (cut->kind == CT_CUT_TITLE)
        s->title = g_strdup(valid);
    if (cut->kind == CT_CUT_PROMPT || ct_cut_known_command(cut->text, cut->len))
        s->command = *valid ? g_strdup(valid) : NULL;
    if (!s->scope && s->command && strstr(s->command, "journalctl"))
        s->scope = boot_scope(s->command);
}

void ct_section_open(CtParse *parse, guint line, const CtCut *cut)
{
    CtEmit *s = &parse->section;
    clear(s);
    s->open = TRUE;
    s->first_line = s->last_line = line;
    s->clock.t0_ns = s->clock.t1_ns = s->clock.last_ns = CT_TIME_UNKNOWN;
    take_cut(s, cut);
}

static CtRawLine head_line(const CtEmit *s, guint i)
{
    const CtHeadLine *h = &g_array_index(s->head_lines, CtHeadLine, i);
    return (CtRawLine){.raw = (const char *)s->head->data + h->offset, .len = h->len,
                       .number = h->number, .cut = h->cut};
}

/* What the first lines look like as a whole: JSON envelopes, "0: " of srun, compose columns. */
static void judge_head(CtParse *parse, CtEmit *s)
{
    guint json = 0, numbered = 0, bar = 0, n = 0, repeated = 0;
    int last = -1;
    for (guint i = 0; i < s->head_lines->len; i++) {
        CtRawLine raw = head_line(s, i);
        if (raw.len == 0)
            continue;
        n++;
        json += ct_envelope_is_json(raw.raw, raw.len);
        if (raw.len > 3 && g_ascii_isdigit(raw.raw[0])) {
            gsize d = 1;
            while (d < 4 && d < raw.len && g_ascii_isdigit(raw.raw[d]))
                d++;
            if (d + 1 < raw.len && raw.raw[d] == ':' && raw.raw[d + 1] == ' ') {
                int rank = (int)g_ascii_strtoull(raw.raw, NULL, 10);
                numbered++;
                repeated += rank == last;
                last = rank;
            }
        }
        bar += ct_text_has(raw.raw, MIN(raw.len, 80), " | ") && g_ascii_isalpha(raw.raw[0]);
    }
    s->decode = json * 2 > n;
    gboolean compose = s->command && strstr(s->command, "compose") && bar * 10 > n * 8;
    ct_peeler_set_prefixes(parse->peeler, numbered > 3 && numbered * 10 >= n * 9 && repeated > 0,
                           compose);
}

int ct_section_sniff(CtParse *parse, const CtParser **out)
{
    CtEmit *s = &parse->section;
    CtRawLine lines[CT_HEAD_LINES];
    guint n = MIN(s->head_lines->len, CT_HEAD_LINES);
    /* sniff() may look for words: a NUL behind the head costs nothing. It may move the head, so
     * it comes before the lines, which point there. */
    g_byte_array_append(s->head, (const guint8 *)"", 1);
    for (guint i = 0; i < n; i++)
        lines[i] = head_line(s, i);
    int sure = ct_sniff_lines(parse, lines, n, (const char *)s->head->data, s->head->len - 1,
                              (CtHints){.command = s->command, .title = s->title}, out);
    g_byte_array_set_size(s->head, s->head->len - 1);
    return sure;
}

static void body_line(CtParse *parse, CtEmit *s, const CtRawLine *raw, const CtHit *hits,
                      guint n_hits);

static void offer_command(CtEmit *s)
{
    const CtParser *const *all = ct_parsers();
    CtLine line = ct_line_at(s->first_line, s->command, strlen(s->command));
    for (guint i = 0; all[i]; i++)
        if (all[i]->command)
            all[i]->command(s->command, &line, s);
}

static void begin(CtParse *parse, CtEmit *s)
{
    s->decided = TRUE;
    CtSectionRow row = {.source = parse->source, .first_line = s->first_line, .title = s->title,
                        .command = s->command,
                        .parser = s->parser ? s->parser->id : "generic-text",
                        .scope = s->scope, .status = CT_OK};
    s->id = ct_evidence_add_section(parse->ev, &row);
    if (s->command)
        offer_command(s);
    if (s->parser && s->parser->begin)
        s->state = s->parser->begin(s);
    if (s->parser && s->parser->document) {
        s->document = g_byte_array_new();
        s->document_line = s->head_lines->len ? head_line(s, 0).number : s->first_line;
    }
    for (guint i = 0; i < s->head_lines->len; i++) {
        const CtHeadLine *h = &g_array_index(s->head_lines, CtHeadLine, i);
        CtRawLine raw = head_line(s, i);
        /* An array that holds nothing has no address to count from. */
        const CtHit *hits =
            h->n_hits ? &g_array_index(s->head_hits, CtHit, h->first_hit) : NULL;
        body_line(parse, s, &raw, hits, h->n_hits);
    }
    g_byte_array_set_size(s->head, 0);
}

static void judge_quotes(CtParse *parse, CtEmit *s)
{
    CtLine lines[CT_HEAD_LINES];
    guint n = MIN(s->head_lines->len, CT_HEAD_LINES);
    for (guint i = 0; i < n; i++) {
        CtRawLine raw = head_line(s, i);
        lines[i] = (CtLine){.raw = raw.raw, .raw_len = raw.len};
    }
    s->quotes.kind = ct_quotes_judge(lines, n, s->command, parse->path);
    /* Its versions are not those of this machine either. */
    if (!s->scope && (s->quotes.kind == CT_QUOTING_COMMITS ||
                      (s->quotes.kind == CT_QUOTING_ALL && !s->command)))
        s->scope = g_strdup("claimed");
}

static void decide(CtParse *parse, CtEmit *s)
{
    if (s->decided)
        return;
    judge_head(parse, s);
    ct_section_sniff(parse, &s->parser);
    if (parse->forced)
        s->parser = parse->forced;
    judge_quotes(parse, s);
    begin(parse, s);
}

gboolean ct_section_open_document(CtParse *parse, const char *head, gsize len)
{
    CtEmit *s = &parse->section;
    CtRawLine line = {.raw = head, .len = len, .number = 1};
    const CtParser *parser;
    if (s->open && (s->decided || s->head_lines->len > 0))
        return FALSE;
    if (!ct_sniff_lines(parse, &line, 1, head, len, (CtHints){0}, &parser) || !parser->document)
        return FALSE;
    if (!s->open)
        ct_section_open(parse, 1, NULL);
    s->parser = parser;
    begin(parse, s);
    return TRUE;
}

void ct_section_binary(CtParse *parse, const CtParser *parser, const guint8 *data, gsize len,
                       gboolean cut)
{
    CtEmit *s = &parse->section;
    ct_section_close(parse);
    ct_section_open(parse, 1, NULL);
    s->parser = parser;
    begin(parse, s);
    g_byte_array_append(s->document, data, (guint)len);
    if (cut)
        ct_emit_status(s, CT_TRUNCATED, "longer than a document may be; the rest is not read");
    ct_section_close(parse);
}

static CtKernelness kernelness(const CtEmit *s, const CtPeeled *peeled)
{
    if (peeled->kernel)
        return CT_KERNEL_YES;
    if (peeled->not_kernel)
        return CT_KERNEL_NO;
    if (s->kernel_log || (s->command && (strstr(s->command, "dmesg") ||
                                         strstr(s->command, "journalctl -k"))))
        return CT_KERNEL_YES;
    return CT_KERNEL_MAYBE;
}

static void read_along(CtParse *parse, CtEmit *s, const CtLine *line, guint64 bits)
{
    for (guint bit = 0; bits; bit++, bits >>= 1) {
        const CtParser *reader = ct_signatures_reader(parse->sigs, bit);
        if (!(bits & 1) || (reader == s->parser && !s->enough) || !reader->line)
            continue;
        if (reader == s->parser) { /* goes on with what it knows */
            reader->line(s->state, line, s);
            continue;
        }
        if (!(s->readers & (G_GUINT64_CONSTANT(1) << bit))) {
            s->readers |= G_GUINT64_CONSTANT(1) << bit;
            s->reader_state[bit] = reader->begin ? reader->begin(s) : NULL;
        }
        reader->line(s->reader_state[bit], line, s);
    }
}

static void append_document(CtEmit *s, const CtRawLine *raw)
{
    if (s->document->len + raw->len + 1 > CT_MAX_DOCUMENT) {
        ct_emit_status(s, CT_TRUNCATED, "longer than a document may be; the rest is not read");
        return;
    }
    g_byte_array_append(s->document, (const guint8 *)raw->raw, (guint)raw->len);
    g_byte_array_append(s->document, (const guint8 *)"\n", 1);
}

static gboolean time_due(const CtParse *parse, const CtRawLine *raw)
{
    return parse->bytes < TIME_EVERY_LINE || raw->number % TIME_SAMPLE == 0;
}

static void note_rank(CtEmit *s, gint64 rank)
{
    if (rank == CT_NONE)
        return;
    s->same_rank = s->ranked ? s->same_rank && s->rank == rank : TRUE;
    s->rank = rank;
    s->ranked = TRUE;
}

/* One line of text to everybody who reads this section. */
static void deliver(CtParse *parse, CtEmit *s, const CtLine *line, const CtPeeled *peeled,
                    const CtHit *hits, guint n_hits)
{
    gboolean table = s->parser && s->parser->no_signatures;
    if (s->parser && s->parser->line && !s->enough)
        s->parser->line(s->state, line, s);
    if (!n_hits || (table && parse->bytes > SIGNATURES_IN_TABLES))
        return;
    ct_signatures_apply(parse->sigs, s, line, kernelness(s, peeled), hits, n_hits);
    if (!table)
        read_along(parse, s, line, ct_signatures_readers(parse->sigs, hits, n_hits));
}

/* A piece of a line has other hits than the line as it stood in the block. */
static void deliver_piece(CtParse *parse, CtEmit *s, CtLine *line, const CtPeeled *peeled)
{
    g_array_set_size(parse->line_hits, 0);
    ct_scanner_scan(parse->scanner, line->text, line->len, parse->line_hits);
    deliver(parse, s, line, peeled, (const CtHit *)(void *)parse->line_hits->data,
            parse->line_hits->len);
}

/* Messages of several lines come as one: with line feeds in JSON, as "#012" from rsyslog. */
static void deliver_pieces(CtParse *parse, CtEmit *s, const CtLine *line, const CtPeeled *peeled,
                           const char *mark)
{
    const char *p = line->text, *end = line->text + line->len;
    gsize width = strlen(mark);
    for (guint n = 0; p <= end && n < MAX_PIECES; n++) {
        const char *at = memmem(p, (gsize)(end - p), mark, width);
        CtLine piece = *line;
        piece.text = p;
        piece.len = (gsize)((at ? at : end) - p);
        if (piece.len > 0)
            deliver_piece(parse, s, &piece, peeled);
        if (!at)
            break;
        p = at + width;
    }
}

/* Runtimes of containers cut long lines in pieces; they are put together again. */
static gboolean join_partial(CtEmit *s, CtLine *line, const CtPeeled *peeled)
{
    if (peeled->partial) {
        if (!s->partial)
            s->partial = g_string_new(NULL);
        if (s->partial->len + line->len <= CT_MAX_LINE)
            g_string_append_len(s->partial, line->text, (gssize)line->len);
        return FALSE;
    }
    if (s->partial && s->partial->len > 0) {
        gsize room = CT_MAX_LINE - MIN(CT_MAX_LINE, s->partial->len);
        g_string_append_len(s->partial, line->text, (gssize)MIN(line->len, room));
        line->text = s->partial->str;
        line->len = s->partial->len;
        s->joined = TRUE;
    }
    return TRUE;
}

static void end_partial(CtEmit *s)
{
    if (s->joined)
        g_string_truncate(s->partial, 0);
    s->joined = FALSE;
}

static void one_line(CtParse *parse, CtEmit *s, const CtRawLine *raw, const CtHit *hits,
                     guint n_hits, gboolean rescan)
{
    CtLine line = {.raw = raw->raw, .raw_len = raw->len, .number = raw->number,
                   .cut = raw->cut, .t_ns = CT_TIME_UNKNOWN};
    CtPeeled peeled;
    ct_peel(parse->peeler, &line, &peeled);
    if (peeled.kernel)
        s->n_kernel++;
    else if (line.len > 0)
        s->n_other++;
    line.t_ns = ct_clock_line(s, &line, &peeled);
    note_rank(s, line.rank);
    if (!join_partial(s, &line, &peeled))
        return;
    gboolean decoded = line.envelope == CT_ENVELOPE_DOCKER ||
                       line.envelope == CT_ENVELOPE_JOURNAL || s->decode;
    if (decoded && memchr(line.text, '\n', line.len))
        deliver_pieces(parse, s, &line, &peeled, "\n");
    else if (line.tag && n_hits && memchr(line.text, '#', line.len) &&
             ct_text_has(line.text, line.len, "#012"))
        deliver_pieces(parse, s, &line, &peeled, "#012");
    else if (decoded || s->joined || rescan || (n_hits > 0 && line.len > CT_MAX_SUBJECT))
        deliver_piece(parse, s, &line, &peeled);
    else
        deliver(parse, s, &line, &peeled, hits, n_hits);
    end_partial(s);
}

/* Progress bars write their line over and over, and what follows stands at its end. */
static void overwritten(CtParse *parse, CtEmit *s, const CtRawLine *raw)
{
    const char *p = raw->raw, *end = raw->raw + raw->len;
    for (guint n = 0; p < end && n < MAX_PIECES; n++) {
        const char *cr = memchr(p, '\r', (gsize)(end - p));
        CtRawLine piece = *raw;
        piece.raw = p;
        piece.len = (gsize)((cr ? cr : end) - p);
        if (piece.len > 0)
            one_line(parse, s, &piece, NULL, 0, TRUE);
        if (!cr)
            return;
        p = cr + 1;
    }
}

static void body_line(CtParse *parse, CtEmit *s, const CtRawLine *raw, const CtHit *hits,
                      guint n_hits)
{
    CtRawLine short_enough = *raw;
    if (s->document)
        append_document(s, raw);
    if (raw->len > CT_MAX_LINE) { /* only in documents */
        short_enough.len = CT_MAX_LINE;
        short_enough.cut = TRUE;
        raw = &short_enough;
    }
    if (s->quotes.kind == CT_QUOTING_DOCUMENT || s->quotes.kind == CT_QUOTING_POST ||
        s->quotes.kind == CT_QUOTING_COMMITS)
        ct_quotes_follow(&s->quotes, raw->raw, raw->len);
    gboolean streamed = s->parser && s->parser->line && !s->enough;
    if (!streamed && !n_hits && !s->decode && !time_due(parse, raw))
        return;
    if (memchr(raw->raw, '\r', raw->len))
        overwritten(parse, s, raw);
    else
        one_line(parse, s, raw, hits, n_hits, FALSE);
}

void ct_section_line(CtParse *parse, const CtRawLine *line, const CtHit *hits, guint n_hits)
{
    CtEmit *s = &parse->section;
    s->last_line = line->number;
    if (s->decided) {
        body_line(parse, s, line, hits, n_hits);
        return;
    }
    if (!s->substance)
        s->substance = line->len > 0 && !ct_stamp_alone(line->raw, line->len);
    CtHeadLine h = {.offset = s->head->len, .len = line->len, .number = line->number,
                    .first_hit = s->head_hits->len, .n_hits = n_hits, .cut = line->cut};
    g_byte_array_append(s->head, (const guint8 *)line->raw, (guint)line->len);
    g_byte_array_append(s->head, (const guint8 *)"\n", 1);
    g_array_append_vals(s->head_hits, hits, n_hits);
    g_array_append_val(s->head_lines, h);
    if (s->head_lines->len >= CT_HEAD_LINES || s->head->len >= CT_HEAD_BYTES)
        decide(parse, s);
}

static void finish_parsers(CtParse *parse, CtEmit *s)
{
    if (s->document) {
        g_byte_array_append(s->document, (const guint8 *)"", 1);
        s->parser->document((const char *)s->document->data, s->document->len - 1,
                            s->document_line, s);
    }
    if (s->parser && s->parser->finish)
        s->parser->finish(s->state, s);
    for (guint bit = 0; bit < CT_MAX_READERS; bit++) {
        if (!(s->readers & (G_GUINT64_CONSTANT(1) << bit)))
            continue;
        const CtParser *reader = ct_signatures_reader(parse->sigs, bit);
        if (reader->finish)
            reader->finish(s->reader_state[bit], s);
    }
}

/* What any text is able to show, whoever read it. */
static void add_coverage(CtParse *parse, CtEmit *s)
{
    if (s->n_kernel > 0 || s->kernel_log)
        ct_emit_coverage(s, "kernel-log", NULL);
    if (!s->parser && s->n_other > 0 && !s->kernel_log)
        ct_emit_coverage(s, "app-log", NULL);
    for (guint i = 0; i + 1 < s->coverage->len; i += 2)
        ct_evidence_add_coverage(parse->ev, s->id, g_ptr_array_index(s->coverage, i),
                                 g_ptr_array_index(s->coverage, i + 1), s->clock.t0_ns,
                                 s->clock.t1_ns);
}

/* Output of one process of a distributed run: its versions are not those of its neighbours. */
static void set_rank_scope(CtEmit *s)
{
    g_autofree char *scope = g_strdup_printf("rank:%" G_GINT64_FORMAT, s->rank);
    ct_emit_scope(s, scope);
}

void ct_section_close(CtParse *parse)
{
    CtEmit *s = &parse->section;
    if (!s->open)
        return;
    decide(parse, s);
    finish_parsers(parse, s);
    add_coverage(parse, s);
    const char *clock = s->clock.kind ? s->clock.kind : "none";
    if (!s->scope && s->ranked && s->same_rank)
        set_rank_scope(s);
    if (s->scope_changed)
        ct_evidence_set_scope(parse->ev, s->id, s->scope);
    ct_evidence_end_section(parse->ev, s->id, s->last_line, clock, s->status, s->note);
    CtDoneSection done = {.id = s->id, .source = parse->source, .clock = g_intern_string(clock),
                          .no_year = s->clock.no_year, .has_zone = s->clock.has_zone,
                          .day_only = s->clock.day_only,
                          .t0_ns = s->clock.t0_ns, .t1_ns = s->clock.t1_ns,
                          .boot_to_wall_ns = s->clock.boot_to_wall_ns,
                          .has_boot_to_wall = s->clock.has_boot_to_wall};
    g_array_append_val(parse->done, done);
    clear(s);
}
