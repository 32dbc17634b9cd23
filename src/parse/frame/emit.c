/* SPDX-License-Identifier: Apache-2.0 */
/* What parsers call: rows get their section, line, text and time here. */
#include "parse/frame/frame-private.h"

#include <string.h>

#define NEAR_LINES 20u
#define MAX_QUOTE 2000 /* of a line kept with an event or a fact */


typedef struct {
    char text[MAX_QUOTE + 1];
} Quote;

/* A copy of the line, short enough to be quoted; NULL without a line. */
static const char *quote(const CtLine *line, Quote *out)
{
    if (!line || !line->text)
        return NULL;
    gsize n = MIN(line->len, MAX_QUOTE);
    while (n > 0 && n < line->len && ((guchar)line->text[n] & 0xc0) == 0x80)
        n--;
    memcpy(out->text, line->text, n);
    out->text[n] = '\0';
    return out->text;
}

/* The second line of a message has no stamp of its own; the first one's is near enough. */
static gint64 time_before(const CtEmit *emit, const CtLine *line)
{
    const CtClock *c = &emit->clock;
    return c->last_ns != CT_TIME_UNKNOWN && line->number >= c->last_line &&
                   line->number - c->last_line <= NEAR_LINES
               ? c->last_ns
               : CT_TIME_UNKNOWN;
}

/* What a program's text is able to tell. */
static gboolean told_by_source(const char *kind)
{
    static const char *const kinds[] = {"code-hint", "object-created", "device-selected"};
    for (gsize i = 0; i < G_N_ELEMENTS(kinds); i++) {
        if (strcmp(kinds[i], kind) == 0)
            return TRUE;
    }
    return FALSE;
}

gboolean ct_only_quotes(CtEmit *emit, const CtLine *line, const char *kind, CtSeverity severity)
{
    CtQuotes *q = &emit->quotes;
    if (emit->parse->trusting || told_by_source(kind))
        return FALSE;
    if (q->judged != line->text || q->judged_line != line->number || !line->number) {
        q->judged = line->text;
        q->judged_line = line->number;
        q->judged_so = ct_quotes_line(q, line);
        q->judged_test = q->judged_so && ct_quotes_test_result(line);
    }
    return q->judged_so && !(q->judged_test && severity == CT_SEV_INFO);
}

gint64 ct_emit_event(CtEmit *emit, const CtLine *line, CtEventRow row)
{
    if (emit->parser && emit->parser->is_source && !told_by_source(row.kind))
        return 0;
    if (!emit->parser && line && ct_only_quotes(emit, line, row.kind, row.severity))
        return 0;
    Quote text;
    row.section = emit->id;
    if (!row.text)
        row.text = quote(line, &text);
    if (line) {
        if (!row.line)
            row.line = line->number;
        if (!row.t_ns)
            row.t_ns = line->t_ns != CT_TIME_UNKNOWN ? line->t_ns : time_before(emit, line);
        if (!row.has_pid && line->pid != CT_NONE) {
            row.pid = line->pid;
            row.has_pid = TRUE;
        }
        if (!row.has_rank && line->rank != CT_NONE) {
            row.rank = line->rank;
            row.has_rank = TRUE;
        }
    }
    return ct_evidence_add_event(emit->parse->ev, &row);
}

static gint64 add_fact(CtEmit *emit, const CtLine *line, CtFactRow row)
{
    Quote text;
    row.section = emit->id;
    row.line = line ? line->number : 0;
    row.text = quote(line, &text);
    return ct_evidence_add_fact(emit->parse->ev, &row);
}

gint64 ct_emit_fact(CtEmit *emit, const CtLine *line, const char *subject, const char *key,
                    const char *value)
{
    return add_fact(emit, line, (CtFactRow){.subject = subject, .key = key, .value = value});
}

gint64 ct_emit_number(CtEmit *emit, const CtLine *line, const char *subject, const char *key,
                      double number, const char *value)
{
    char buf[G_ASCII_DTOSTR_BUF_SIZE];
    if (!value)
        value = g_ascii_formatd(buf, sizeof buf, "%.15g", number);
    return add_fact(emit, line,
                    (CtFactRow){.subject = subject, .key = key, .value = value, .number = number,
                                .has_number = TRUE});
}

gint64 ct_emit_fact_status(CtEmit *emit, const CtLine *line, const char *subject,
                           const char *key, CtStatus status, const char *value)
{
    return add_fact(emit, line, (CtFactRow){.subject = subject, .key = key, .value = value,
                                            .status = status});
}

void ct_emit_sample(CtEmit *emit, const CtLine *line, const char *subject, const char *metric,
                    const char *unit, gint64 t_ns, double value)
{
    CtSeries *series = ct_evidence_series(emit->parse->ev, emit->id, subject, metric, unit);
    if (t_ns == CT_TIME_UNKNOWN && line)
        t_ns = line->t_ns;
    ct_series_add(series, t_ns, value, line ? line->number : 0);
}

gint64 ct_emit_span(CtEmit *emit, const CtLine *line, const char *track, const char *name,
                    gint64 t0_ns, gint64 t1_ns)
{
    CtSpanRow row = {.section = emit->id, .line = line ? line->number : 0, .track = track,
                     .name = name, .t0_ns = t0_ns, .t1_ns = t1_ns};
    return ct_evidence_add_span(emit->parse->ev, &row);
}

/* The span of time is known only at the end of the section, so coverage waits until then. */
void ct_emit_coverage(CtEmit *emit, const char *kind, const char *subject)
{
    for (guint i = 0; i + 1 < emit->coverage->len; i += 2) {
        if (strcmp(g_ptr_array_index(emit->coverage, i), kind) == 0 &&
            g_strcmp0(g_ptr_array_index(emit->coverage, i + 1), subject) == 0)
            return;
    }
    if (emit->coverage->len >= 2000)
        return;
    g_ptr_array_add(emit->coverage, g_strdup(kind));
    g_ptr_array_add(emit->coverage, g_strdup(subject));
}

void ct_emit_alias(CtEmit *emit, const char *subject, const char *name)
{
    ct_evidence_add_alias(emit->parse->ev, subject, name);
}

void ct_emit_clock(CtEmit *emit, const char *clock)
{
    emit->clock.kind = g_intern_string(clock);
    emit->clock.fixed = TRUE;
}

void ct_emit_status(CtEmit *emit, CtStatus status, const char *note)
{
    emit->status = status;
    g_free(emit->note);
    emit->note = g_strdup(note);
}

CtLine ct_line_at(guint number, const char *text, gsize len)
{
    return (CtLine){.raw = text, .raw_len = len, .text = text, .len = len, .number = number,
                    .t_ns = CT_TIME_UNKNOWN, .pid = CT_NONE, .rank = CT_NONE};
}

const char *ct_emit_command(const CtEmit *emit)
{
    return emit->command;
}

const char *ct_emit_source_path(const CtEmit *emit)
{
    return emit->parse->path;
}

CtEvidence *ct_emit_evidence(CtEmit *emit)
{
    return emit->parse->ev;
}

gint64 ct_emit_section(const CtEmit *emit)
{
    return emit->id;
}

void ct_emit_enough(CtEmit *emit)
{
    emit->enough = TRUE;
}

/* ---- the table of parsers ---- */

#define CT_PARSER(name) extern const CtParser ct_parser_##name;
#include "parse/frame/parsers.def"
#undef CT_PARSER

static const CtParser *const table[] = {
#define CT_PARSER(name) &ct_parser_##name,
#include "parse/frame/parsers.def"
#undef CT_PARSER
    NULL,
};

const CtParser *const *ct_parsers(void)
{
    return table;
}

const CtParser *ct_parser_by_id(const char *id)
{
    for (guint i = 0; table[i]; i++) {
        if (strcmp(table[i]->id, id) == 0)
            return table[i];
    }
    return NULL;
}
