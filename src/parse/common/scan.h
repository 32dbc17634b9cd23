/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small readers that the structured parsers share: pieces of a line, quantities with a unit,
 * values that say "unknown", commands, names of GPUs. Pieces are borrowed from the line; nothing
 * here needs a NUL at the end and nothing allocates unless it says so.
 */
#pragma once

#include <glib.h>

#include "parse/frame/parser.h"

typedef struct {
    const char *p;
    gsize n;
} CtStr;

static inline CtStr ct_str(const char *p, gsize n)
{
    return (CtStr){p, n};
}

static inline CtStr ct_str_from(CtStr s, gsize offset)
{
    if (offset < s.n)
        return (CtStr){s.p + offset, s.n - offset};
    return (CtStr){s.n ? s.p + s.n : s.p, 0}; /* an absent string stays absent */
}

static inline CtStr ct_str_head(CtStr s, gsize n)
{
    return (CtStr){s.p, MIN(n, s.n)};
}

CtStr ct_str_of(const char *text); /* (nullable: empty) */
CtStr ct_line_str(const CtLine *line); /* the text without surrounding blanks */
/* The line with its time stamp still on, for tables whose first column is the time. */
CtStr ct_line_row(const CtLine *line);
CtStr ct_str_strip(CtStr s);
gboolean ct_str_eq(CtStr s, const char *literal);
gboolean ct_str_ieq(CtStr s, const char *literal);
gboolean ct_str_starts(CtStr s, const char *prefix);
gboolean ct_str_istarts(CtStr s, const char *prefix);
gboolean ct_str_ends(CtStr s, const char *suffix);
/* Offset of the needle, -1 when it is not there; the i form ignores ASCII case. */
gssize ct_str_find(CtStr s, const char *needle);
gssize ct_str_ifind(CtStr s, const char *needle);
static inline gboolean ct_str_has(CtStr s, const char *needle)
{
    return ct_str_find(s, needle) >= 0;
}
gsize ct_str_indent(CtStr s);        /* blanks at the start, a tab counts to the next 8 */
CtStr ct_str_token(CtStr *rest);     /* next run of non-blanks; empty at the end */
CtStr ct_str_field(CtStr *rest, char separator); /* up to the separator, stripped; CSV quotes */
/* What stands before `separator`; FALSE leaves everything as it was. */
gboolean ct_str_cut(CtStr *rest, const char *separator, CtStr *out);
/* "Key : value", split at the first colon that a blank or the end follows. */
gboolean ct_str_key_value(CtStr s, CtStr *key, CtStr *value);
/* What stands between two literals. */
gboolean ct_str_between(CtStr s, const char *before, const char *after, CtStr *out);
char *ct_str_dup(CtStr s); /* (transfer full) */
/* A copy in the caller's buffer, cut to fit. */
const char *ct_str_buf(CtStr s, char *buf, gsize size);
#define CT_STR_BUF(s) ct_str_buf((s), (char[256]){0}, 256)

/* ---- numbers and quantities ---- */

gboolean ct_str_uint(CtStr s, gint64 *out);
gboolean ct_str_number(CtStr s, double *out);
/* Reads a number at the start and returns what is left; thousands commas are allowed. */
gboolean ct_str_take_number(CtStr *rest, double *out);
/* The same without thousands commas, for lists ("[305,305]"). */
gboolean ct_str_take_plain(CtStr *rest, double *out);

typedef enum {
    CT_DIM_NONE, /* a bare number */
    CT_DIM_BYTES,
    CT_DIM_TIME,  /* ns */
    CT_DIM_HZ,
    CT_DIM_WATT,
    CT_DIM_CELSIUS,
    CT_DIM_RATIO, /* percent, 1/1 */
    CT_DIM_RATE,  /* bytes per second */
    CT_DIM_PER_SECOND,
    CT_DIM_COUNT,
} CtDim;

/* Factor from a written unit to the base unit. MB and the like mean powers of 1024, as NVIDIA
 * and Linux tools print them. */
gboolean ct_unit(CtStr word, CtDim *dim, double *factor);
/* "37408 MiB", "1410 MHz", "52 C", "0 us", "16x", "12 %": the whole text must be one quantity. */
gboolean ct_quantity(CtStr s, CtDim *dim, double *value);
const char *ct_dim_unit(CtDim dim); /* name of the base unit in series.unit */

/* TRUE for values that say that nothing is known ("N/A", "[Not Supported]", "ERR!"), with why. */
gboolean ct_value_unknown(CtStr s, CtStatus *status);
/* A fact from a value as written: unknown, a quantity or plain text. */
void ct_emit_field(CtEmit *emit, const CtLine *line, const char *subject, const char *key,
                   CtStr value);
/* The same for plain text only: a version "12.4" is no quantity. */
void ct_emit_text(CtEmit *emit, const CtLine *line, const char *subject, const char *key,
                  CtStr value);

/* ---- commands ---- */

/* TRUE when the command line runs this program (by its base name), in whatever wrapper:
 * `sudo /usr/bin/X`, `docker exec a sh -c 'X'`, `watch X`, `... | X`. */
gboolean ct_command_runs(const char *command, const char *program);
/* TRUE when one word of the command is exactly this. */
gboolean ct_command_word(const char *command, const char *word);
/* Value of an option, written `-i 5`, `-i=5`, `--id=5`; FALSE when it is not there. */
gboolean ct_command_option(const char *command, const char *option, CtStr *value);
/* Number of the sniffed lines that hold the needle, at most `most`. */
guint ct_sniff_count(const CtSniff *sniff, const char *needle, guint most);
gboolean ct_sniff_has(const CtSniff *sniff, const char *needle);
CtStr ct_sniff_line(const CtSniff *sniff, guint index); /* stripped; empty beyond the end */
/* First line that is not blank; empty when there is none. */
CtStr ct_sniff_first(const CtSniff *sniff);

/* ---- GPUs ---- */

/* Any way to write a PCI address -> "0000:3b:00.0", the spelling that events use too. */
#define CT_PCI_SIZE 24
gboolean ct_pci_normalise(CtStr s, char out[CT_PCI_SIZE]);
/* Names of one GPU: PCI address in the ways the tools write it, UUID. */
void ct_emit_gpu_names(CtEmit *emit, const char *subject, CtStr pci, CtStr uuid);

/* ---- snapshots: one reading per section or table ---- */

/* The time of a snapshot: of the line, or else of the section's title ("== 2023-08-30 10:15:05").
 */
gint64 ct_section_time(CtEmit *emit);
/* A line that is nothing but a time stamp, bare or as a title ("== 2023-08-30 10:15:05"). */
gboolean ct_line_only_time(const CtLine *line, gint64 *out);
/* Adds to the series of the same source, so that snapshots in sections of their own ("== time",
 * repeated commands) become one series. */
void ct_emit_snapshot(CtEmit *emit, const CtLine *line, const char *subject, const char *metric,
                      const char *unit, gint64 t_ns, double value);
