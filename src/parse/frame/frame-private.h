/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside of the frame: a run (CtParse), its source at hand, and the section at hand (CtEmit,
 * which parsers see as an opaque handle).
 */
#pragma once

#include "base/limits.h"
#include "parse/frame/cut.h"
#include "parse/frame/envelope.h"
#include "parse/frame/parse.h"
#include "parse/frame/parser.h"
#include "parse/frame/quoted.h"
#include "parse/frame/scanner.h"
#include "parse/frame/signatures.h"

#define CT_HEAD_BYTES ((gsize)16 * 1024)
#define CT_HEAD_LINES 40u
#define CT_MAX_READERS 64u

typedef struct {
    const char *raw; /* without line end */
    gsize len;
    guint number;
    gboolean cut;
} CtRawLine;

/* A line kept until its section knows its parser. */
typedef struct {
    gsize offset, len;
    guint number, first_hit, n_hits;
    gboolean cut;
} CtHeadLine;

/* Time as the lines of a section tell it. */
typedef struct {
    const char *kind; /* wall, boot, none; NULL until the first stamp */
    gboolean fixed;   /* a parser said so */
    gboolean no_year, has_zone, day_only;
    gint64 t0_ns, t1_ns, last_ns;
    guint last_line;                 /* that had a stamp */
    gint64 year_shift_ns;            /* passed new years of stamps without a year */
    gint64 boot_to_wall_ns;          /* lines with both clocks */
    gboolean has_boot_to_wall;
} CtClock;

struct CtEmit {
    CtParse *parse;
    gboolean open, decided;
    gint64 id; /* in the evidence; 0 until decided */
    guint first_line, last_line;
    char *title, *command, *scope;
    gboolean scope_changed; /* by a parser, after the row was made */

    GByteArray *head;
    GArray *head_lines; /* CtHeadLine */
    GArray *head_hits;  /* CtHit */

    const CtParser *parser; /* NULL is generic text */
    gpointer state;
    GByteArray *document;
    guint document_line;
    gpointer reader_state[CT_MAX_READERS];
    guint64 readers; /* that have begun */

    GString *partial;   /* pieces of a line that the container runtime cut */
    gboolean joined;
    CtClock clock;
    CtStatus status;
    char *note;
    GPtrArray *coverage; /* kind, subject pairs */
    guint n_kernel, n_other;
    gboolean ranked, same_rank; /* lines name a rank, and all of them the same */
    gint64 rank;
    CtQuotes quotes;
    gboolean enough; /* its parser wants no more lines but those with its anchors */
    gboolean decode; /* lines are JSON: scanned after decoding */
    gboolean kernel_log; /* cut because its lines are the kernel's */
    gboolean substance;  /* more than empty lines and a date so far */
    guint resniffs;
};

/* What is kept of a finished section for the alignment of clocks. */
typedef struct {
    gint64 id, source;
    const char *clock;
    gboolean no_year, has_zone, day_only, year_added;
    gint64 t0_ns, t1_ns;
    gint64 boot_to_wall_ns;
    gboolean has_boot_to_wall;
} CtDoneSection;

typedef struct CtDecoder CtDecoder;

struct CtParse {
    CtEvidence *ev;
    const CtKb *kb;
    CtSignatures *sigs;
    CtScanner *scanner;
    CtPeeler *peeler;
    GArray *hits;          /* of the block at hand */
    GArray *line_hits;     /* of a decoded line */
    GArray *done;          /* CtDoneSection */
    guint n_sections;
    const CtParser *forced;
    gboolean trusting; /* what is quoted counts as well */

    /* the source at hand */
    gboolean in_source, binary, checked;
    gint64 source;
    char *path;
    guint64 bytes;
    guint line_number;
    CtDecoder *decoder;
    GByteArray *pending;   /* a line whose end has not come yet */
    gboolean after_empty;  /* the line before was empty */
    gboolean bug_report;   /* nvidia-bug-report.sh wrote it: rulers part its sections */
    guint heading_line;    /* of the section that a ruler began: no text of it */
    guint command_lines;   /* that still belong to the command of the section */
    guint resniffs, kernel_changes;
    gboolean skipping;     /* the rest of a line that was too long */
    gboolean pending_cut;
    char *note;
    CtEmit section;
};

/* parse.c */
void ct_frame_text(CtParse *parse, const char *data, gsize len); /* decoded bytes */
void ct_frame_text_end(CtParse *parse);
void ct_frame_note(CtParse *parse, const char *note);

/* section.c */
void ct_section_open(CtParse *parse, guint line, const CtCut *cut);
void ct_section_line(CtParse *parse, const CtRawLine *line, const CtHit *hits, guint n_hits);
void ct_section_close(CtParse *parse);
/* Opens a section for a document that begins with head, when a parser wants it whole. */
gboolean ct_section_open_document(CtParse *parse, const char *head, gsize len);
/* A source of bytes, which is one section. */
void ct_section_binary(CtParse *parse, const CtParser *parser, const guint8 *data, gsize len,
                       gboolean cut);
void ct_section_init(CtParse *parse);
void ct_section_release(CtParse *parse);
int ct_section_sniff(CtParse *parse, const CtParser **out); /* its lines so far */

/* clock.c */
gint64 ct_clock_line(CtEmit *section, const CtLine *line, const CtPeeled *peeled);
/* align.c */
void ct_clock_align(CtParse *parse);
