/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a parser is. The frame reads a source in blocks, takes envelopes off each line, cuts the
 * source into sections and asks every parser's sniff() who reads a section; the winner gets the
 * section's lines (or its bytes as a whole). Independently of that, the signatures of the
 * knowledge base run over every text section, so a parser turns structure into facts, series and
 * coverage and leaves the recognition of messages to the signatures.
 *
 * A parser does no I/O, prints nothing and never fails: what it cannot read it skips, and says so
 * with ct_emit_status(). Input is hostile: every count is capped, every number checked.
 * Registered in parsers.def, one line each.
 */
#pragma once

#include <glib.h>

#include "evidence/evidence.h"

typedef enum {
    CT_ENVELOPE_NONE,
    CT_ENVELOPE_KERNEL,  /* "[ 12.345678] text", "<6>[...]", or a syslog line of tag kernel */
    CT_ENVELOPE_SYSLOG,  /* "Nov 30 22:25:32 host tag[pid]: text" and its ISO forms */
    CT_ENVELOPE_JOURNAL, /* journalctl -o json */
    CT_ENVELOPE_DOCKER,  /* docker json-file */
    CT_ENVELOPE_CRI,     /* Kubernetes container runtime */
    CT_ENVELOPE_LAUNCHER /* torchrun "[rank0]:", "[default0]:" and the like */
} CtEnvelope;

/* One line as a parser sees it. Pointers are borrowed until the call returns; text is not
 * NUL-terminated. `raw` is what stands in the file (without CR LF), `text` what is left when
 * envelopes and colours are off. */
typedef struct {
    const char *raw;
    gsize raw_len;
    const char *text;
    gsize len;
    guint number;        /* from 1, in the source */
    gint64 t_ns;         /* CT_TIME_UNKNOWN; on the clock of the section */
    CtEnvelope envelope; /* the innermost that was recognised */
    const char *tag;     /* process or unit name, NUL-terminated (nullable) */
    gint64 pid, rank;    /* CT_NONE when the line does not say */
    gboolean cut;        /* the line was longer than CT_MAX_LINE */
} CtLine;

/* The beginning of a section, as sniff() sees it. */
typedef struct {
    const char *head; /* up to 16 KiB, envelopes still on */
    gsize len;
    const CtLine *lines; /* up to 40 lines with envelopes off */
    guint n_lines;
    const char *command; /* "nvidia-smi -q" when a prompt shows it (nullable) */
    const char *title;   /* (nullable) */
    const char *path;    /* name of the source; the weakest hint */
} CtSniff;

typedef struct CtEmit CtEmit;

typedef struct {
    const char *id;      /* kebab-case, one name everywhere */
    const char *summary; /* one line */
    const char *doc;     /* what it reads, which versions, what it emits; a paragraph */
    /* Sureness 0..100. The highest wins; under 20 nobody does and the section is generic text. */
    int (*sniff)(const CtSniff *sniff);
    /* Streaming: begin() makes the state, line() sees each line, finish() frees the state. */
    gpointer (*begin)(CtEmit *emit);
    void (*line)(gpointer state, const CtLine *line, CtEmit *emit);
    void (*finish)(gpointer state, CtEmit *emit);
    /* Whole documents (XML, JSON): instead of line(); at most CT_MAX_DOCUMENT bytes, NUL follows. */
    void (*document)(const char *data, gsize len, guint first_line, CtEmit *emit);
    /* Sources that are no text: TRUE when they begin like what this parser reads. document() then
     * gets all bytes of the source, which are one section. */
    gboolean (*binary)(const guint8 *head, gsize len);
    gboolean no_signatures; /* a table of numbers: signatures would only cost time */
    gboolean is_source;     /* program text: signatures state facts and hints of it, but a message
                             * that stands in a string literal has not happened */
    /* Ends with NULL. A parser that sets it also reads along in text sections that no parser won
     * or that a parser other than itself won, unless the winner has no_signatures; there it sees
     * only the lines that hold one of these literals (they join the prefilter). begin() is called
     * at the first such line. Numbers inside application logs are read this way. */
    const char *const *anchors;
    /* Called for every section whose command is known, whoever reads its text: the command says
     * how a container was started, which variables were set. */
    void (*command)(const char *command, const CtLine *line, CtEmit *emit);
} CtParser;

/* All parsers in the order of parsers.def; ends with NULL. */
const CtParser *const *ct_parsers(void);
const CtParser *ct_parser_by_id(const char *id);

/* ---- emitting: the section and, where a line is given, its number and text are filled in ---- */

gint64 ct_emit_event(CtEmit *emit, const CtLine *line, CtEventRow row);
gint64 ct_emit_fact(CtEmit *emit, const CtLine *line, const char *subject, const char *key,
                    const char *value);
/* A quantity in base units; `value` is how it was written (nullable: printed from number). */
gint64 ct_emit_number(CtEmit *emit, const CtLine *line, const char *subject, const char *key,
                      double number, const char *value);
/* A fact that the input mentions without giving it ("N/A", "not found", "Permission denied"). */
gint64 ct_emit_fact_status(CtEmit *emit, const CtLine *line, const char *subject,
                           const char *key, CtStatus status, const char *value);
void ct_emit_sample(CtEmit *emit, const CtLine *line, const char *subject, const char *metric,
                    const char *unit, gint64 t_ns, double value);
gint64 ct_emit_span(CtEmit *emit, const CtLine *line, const char *track, const char *name,
                    gint64 t0_ns, gint64 t1_ns);
void ct_emit_coverage(CtEmit *emit, const char *kind, const char *subject);
void ct_emit_alias(CtEmit *emit, const char *subject, const char *name);
/* The clock of the section, when the parser knows better than the frame: wall, boot, none. */
void ct_emit_clock(CtEmit *emit, const char *clock);
void ct_emit_status(CtEmit *emit, CtStatus status, const char *note);
/* What the section speaks of, when the parser knows better than the frame: "claimed" for prose,
 * "container:NAME", "process:PID". */
void ct_emit_scope(CtEmit *emit, const char *scope);
/* The parser of the section has seen enough: from now on it gets only the lines that hold one of
 * its anchors, as any parser that reads along, and the rest of a large log goes by at full speed. */
void ct_emit_enough(CtEmit *emit);
/* For documents: a line made up from a number, so that facts have a place. */
CtLine ct_line_at(guint number, const char *text, gsize len);
const char *ct_emit_command(const CtEmit *emit); /* (nullable) of the section */
const char *ct_emit_source_path(const CtEmit *emit);    /* of the source */
CtEvidence *ct_emit_evidence(CtEmit *emit);
gint64 ct_emit_section(const CtEmit *emit);

/* ---- small readers shared by parsers; all take a length, none needs a NUL ---- */

gboolean ct_text_has(const char *text, gsize len, const char *needle);
gboolean ct_text_starts(const char *text, gsize len, const char *prefix);
/* A copy without surrounding blanks. */
char *ct_text_strip(const char *text, gsize len);
/* Strict decimal readers: the whole of text[0..len) must be the number. */
gboolean ct_text_double(const char *text, gsize len, double *out);
gboolean ct_text_int(const char *text, gsize len, gint64 *out);
/* "16 GiB", "403200 bytes", "15Gi", "7761MB", "37408 MiB", "64M" -> bytes (MB as printed by
 * NVIDIA and Linux tools is MiB). `unit` is assumed where none is written (nullable: bytes). */
gboolean ct_text_bytes(const char *text, gsize len, const char *unit, double *out);
/* "12.3 ms", "450us", "2 s", "1.5min" -> ns. `unit` is assumed where none is written. */
gboolean ct_text_duration(const char *text, gsize len, const char *unit, double *out_ns);
/* One spelling for a GPU: "0" -> "gpu:0", "PCI:0000:3B:00", "00000000:3b:00.0" -> "0000:3b:00.0";
 * NULL when it is neither. (transfer full) */
char *ct_text_gpu(const char *text, gsize len);
/* Any time stamp that a log may begin with; *out_used is what it takes up. Forms without a year
 * give a time in 1970 and *out_no_year. */
gboolean ct_text_time(const char *text, gsize len, gint64 *out_ns, gsize *out_used,
                      gboolean *out_no_year);
