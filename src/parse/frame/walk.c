/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where sections begin. Cheap first: nearly every line is let pass after a look at its first
 * bytes, and looking ahead costs something only where a cut is likely.
 */
#include "parse/frame/walk.h"

#include <string.h>

#include "parse/frame/sniff.h"

#define SURE_AFTER_TITLE 40 /* that what follows a title is another tool's output */
#define SURE_WITHOUT 80     /* the same without any title */
#define RESNIFFS_PER_SOURCE 300u
#define RESNIFFS_PER_SECTION 40u
#define MAX_COMMAND_LINES 400u
#define MAX_COMMAND_BYTES 8192u

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
    if (parse->n_sections >= CT_MAX_SECTIONS && parse->section.open) {
        ct_frame_note(parse, "too many sections; the rest is read as one");
        return;
    }
    parse->n_sections++;
    ct_section_close(parse);
    ct_section_open(parse, line, cut);
}

/* ---- kernel lines in other text, and the reverse ---- */

/* The kernel's own lines: with its stamp, or the wrapped rest of one. */
static gboolean kernel_line(const CtEmit *s, const char *raw, gsize len)
{
    if (ct_envelope_is_kernel(raw, len))
        return TRUE;
    return s->kernel_log &&
           (len == 0 || raw[0] == ' ' || raw[0] == '\t' || ct_text_starts(raw, len, "NVRM:"));
}

/* TRUE when the next n lines are of the kernel, or none of them is. */
static gboolean run_ahead(const CtEmit *s, Ahead ahead, guint n, gboolean kernel)
{
    const char *next;
    gsize len;
    for (guint i = 0; i < n && next_line(&ahead, &next, &len); i++) {
        gboolean is = kernel ? ct_envelope_is_kernel(next, len) : kernel_line(s, next, len);
        if (is != kernel)
            return FALSE;
    }
    return TRUE;
}

/* Two kernel lines in a row in other text begin a kernel log; three lines of other text end it.
 * On a console where both write, the runs that it takes grow with every change. */
static gboolean kernel_change(CtParse *parse, const CtRawLine *line, Ahead ahead, CtCut *cut)
{
    const CtEmit *s = &parse->section;
    gboolean kernel = kernel_line(s, line->raw, line->len);
    guint run = (kernel ? 1 : 2) + MIN(parse->kernel_changes / 4, 60);
    if (s->open && (kernel == s->kernel_log || !run_ahead(s, ahead, run, kernel)))
        return FALSE;
    if (!s->open && !kernel)
        return FALSE;
    parse->kernel_changes++;
    *cut = (CtCut){.kind = kernel ? CT_CUT_KERNEL : CT_CUT_NONE};
    return TRUE;
}

static gboolean possibly_kernel(const CtEmit *s, const CtRawLine *line)
{
    if (s->kernel_log)
        return TRUE;
    /* Output of dmesg under its prompt stays one section. */
    return line->len > 8 && (line->raw[0] == '[' || line->raw[0] == '<') && !s->command;
}

/* ---- titles, and tools' output that begins without one ---- */

static gboolean may_sniff(CtParse *parse)
{
    if (parse->resniffs >= RESNIFFS_PER_SOURCE ||
        parse->section.resniffs >= RESNIFFS_PER_SECTION)
        return FALSE;
    parse->resniffs++;
    parse->section.resniffs++;
    return TRUE;
}

/* What the section at hand is read by, also before it has been decided. */
static const CtParser *reader_now(CtParse *parse)
{
    CtEmit *s = &parse->section;
    if (s->decided || s->head_lines->len == 0)
        return s->parser;
    const CtParser *parser;
    ct_section_sniff(parse, &parser);
    return parser;
}

/* A title cuts when it names a command or a file, or when another tool's output follows it. One
 * inside a tool's own output ("=== Model Options ===") is followed by more of the same. */
static gboolean title_cut(CtParse *parse, const CtRawLine *line, Ahead ahead, CtCut *cut)
{
    CtEmit *s = &parse->section;
    const CtParser *behind;
    if (s->document || !ct_cut_title(line->raw, line->len, cut))
        return FALSE;
    if (!s->open || cut->named)
        return TRUE;
    if (ahead.p >= ahead.end || !may_sniff(parse))
        return FALSE;
    g_autofree char *title = g_strndup(cut->text, cut->len);
    CtHints hints = {.title = title,
                     .command = ct_cut_known_command(cut->text, cut->len) ? title : NULL};
    int sure = ct_sniff_ahead(parse, ahead.p, ahead.end, hints, &behind);
    return sure >= SURE_AFTER_TITLE && behind != reader_now(parse);
}

/* Where the output of a tool may begin in a text that nobody separated: after an empty line, with
 * a frame, or with the date above it. */
static gboolean beginning(const CtParse *parse, const CtRawLine *line)
{
    if (line->len < 8)
        return FALSE;
    char c = line->raw[0];
    if (ct_stamp_alone(line->raw, line->len))
        return TRUE; /* nvidia-smi prints the date first */
    if (((c == '+' || c == '=') && line->raw[1] == c) || (c == '+' && line->raw[1] == '-') ||
        (c == '<' && line->raw[1] == '?'))
        return TRUE;
    return parse->after_empty && c != ' ' && c != '\t';
}

static gboolean untitled_cut(CtParse *parse, const CtRawLine *line, Ahead ahead)
{
    CtEmit *s = &parse->section;
    const CtParser *here;
    if (!s->open || s->document || s->command || s->kernel_log || (s->decided && s->parser) ||
        !s->substance || parse->resniffs >= RESNIFFS_PER_SOURCE ||
        s->resniffs >= RESNIFFS_PER_SECTION || !beginning(parse, line))
        return FALSE;
    may_sniff(parse);
    int sure = ct_sniff_ahead(parse, line->raw, ahead.end, (CtHints){0}, &here);
    return sure >= SURE_WITHOUT && here != reader_now(parse);
}

/* ---- commands over several lines ---- */

/* "<<EOF", "<<-'EOF'": the word that ends a here-document. */
static gboolean here_document(const char *command, char *out_word, gsize cap)
{
    const char *at = strstr(command, "<<");
    gsize n = 0;
    if (!at || at[2] == '<')
        return FALSE;
    at += 2;
    at += *at == '-';
    while (*at == ' ' || *at == '\'' || *at == '"' || *at == '\\')
        at++;
    while (n + 1 < cap && (g_ascii_isalnum(at[n]) || at[n] == '_')) {
        out_word[n] = at[n];
        n++;
    }
    out_word[n] = '\0';
    return n > 0 && !g_ascii_isdigit(out_word[0]);
}

static char open_quote(const char *command)
{
    char quote = '\0';
    for (const char *p = command; *p; p++) {
        if (*p == '\\' && p[1] && quote != '\'')
            p++;
        else if (quote ? *p == quote : (*p == '"' || *p == '\''))
            quote = quote ? '\0' : *p;
    }
    return quote;
}

/* How many lines after the prompt still are the command; 0 when its end is nowhere in sight. */
static guint command_lines(const char *command, Ahead ahead)
{
    char word[64];
    const char *line;
    gsize len;
    gboolean here = here_document(command, word, sizeof word);
    char quote = here ? '\0' : open_quote(command);
    gsize end = strlen(command);
    gboolean more = !here && !quote && end > 1 && command[end - 1] == '\\';
    for (guint n = 1; (here || quote || more) && n <= MAX_COMMAND_LINES; n++) {
        if (!next_line(&ahead, &line, &len))
            return more ? n - 1 : 0;
        if (ct_text_starts(line, len, "> ")) {
            line += 2;
            len -= 2;
        }
        if (here) {
            g_autofree char *stripped = ct_text_strip(line, len);
            if (strcmp(stripped, word) == 0)
                return n;
        } else if (quote) {
            /* An apostrophe of the output would close it too; a short reach limits the harm. */
            if (memchr(line, quote, len))
                return n;
            if (n > 60)
                return 0;
        } else if (len == 0 || line[len - 1] != '\\') {
            return n;
        }
    }
    return 0;
}

static void begin_command(CtParse *parse, const CtRawLine *line, const CtCut *cut, Ahead ahead)
{
    start(parse, line->number, cut);
    if (parse->section.command)
        parse->command_lines = command_lines(parse->section.command, ahead);
}

static void more_command(CtParse *parse, const CtRawLine *line)
{
    CtEmit *s = &parse->section;
    parse->command_lines--;
    gsize have = s->command ? strlen(s->command) : 0;
    if (have + line->len + 2 > MAX_COMMAND_BYTES)
        return;
    if (have > 0 && s->command[have - 1] == '\\')
        s->command[--have] = '\0';
    g_autofree char *rest = g_strndup(line->raw, line->len);
    g_autofree char *valid = g_utf8_make_valid(rest, -1);
    char *joined = g_strconcat(s->command ? s->command : "", "\n", valid, NULL);
    g_free(s->command);
    s->command = joined;
    s->last_line = line->number;
}

/* ---- nvidia-bug-report.log ---- */

#define RULER 40u /* underscores; the script prints 44 */

static gboolean ruler(const CtRawLine *line)
{
    gsize n = 0;
    if (line->len < RULER || line->len > 2 * RULER)
        return FALSE;
    while (n < line->len && line->raw[n] == '_')
        n++;
    return n == line->len;
}

/* Behind a ruler stands, after an empty line, the heading: "*** /path/of/a/file" or the command
 * that was run, at times with a colon. FALSE at the end of what is known. */
static gboolean report_heading(Ahead ahead, CtCut *cut, guint *lines)
{
    const char *line;
    gsize len;
    for (*lines = 1; *lines < 4; (*lines)++) {
        if (!next_line(&ahead, &line, &len))
            return FALSE;
        while (len > 0 && (line[len - 1] == ' ' || line[len - 1] == ':'))
            len--;
        if (len > 0)
            break;
    }
    gboolean file = ct_text_starts(line, len, "*** ");
    gsize skip = file ? 4 : 0;
    if (len <= skip || *lines >= 4)
        return FALSE;
    *cut = (CtCut){.kind = CT_CUT_TITLE, .text = line + skip, .len = MIN(len - skip, 200),
                   .named = TRUE};
    return TRUE;
}

/* Returns TRUE when the line only parts sections. */
static gboolean report_ruler(CtParse *parse, const CtRawLine *line, Ahead ahead)
{
    CtCut cut;
    guint lines;
    if (line->number <= 12 && !parse->bug_report &&
        ct_text_starts(line->raw, line->len, "Start of NVIDIA bug report log file"))
        parse->bug_report = TRUE;
    if (parse->heading_line && line->number == parse->heading_line)
        return TRUE;
    if (parse->bug_report && ct_text_starts(line->raw, line->len, "*** ls: "))
        return TRUE;
    if (line->len == 0 || line->raw[0] != '_' || !ruler(line) ||
        !report_heading(ahead, &cut, &lines))
        return FALSE;
    parse->bug_report |= cut.text[-1] == ' ' && cut.text[0] == '/'; /* of an excerpt */
    if (!parse->bug_report)
        return FALSE;
    start(parse, line->number, &cut);
    parse->heading_line = line->number + lines;
    return TRUE;
}

/* Returns TRUE when the line is no text of a section: a prompt, or more of its command. */
static gboolean cut_before(CtParse *parse, const CtRawLine *line, Ahead ahead)
{
    CtEmit *s = &parse->section;
    CtCut cut;
    if (parse->command_lines > 0) {
        more_command(parse, line);
        return TRUE;
    }
    if (report_ruler(parse, line, ahead))
        return TRUE;
    if (ct_cut_possible(line->raw, line->len)) {
        if (ct_cut_prompt(line->raw, line->len, &cut)) {
            begin_command(parse, line, &cut, ahead);
            return TRUE;
        }
        if (title_cut(parse, line, ahead, &cut)) {
            start(parse, line->number, &cut);
            return FALSE;
        }
    }
    if (possibly_kernel(s, line) && kernel_change(parse, line, ahead, &cut))
        start(parse, line->number, &cut);
    else if (!s->open || untitled_cut(parse, line, ahead))
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
            ct_section_line(parse, &line, hit > first ? hits + first : NULL, hit - first);
        parse->after_empty = line.len == 0;
        p = next;
    }
}
