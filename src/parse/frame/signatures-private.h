/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "parse/frame/signatures.h"

typedef enum {
    FIELD_CODE, FIELD_NAME, FIELD_MESSAGE, FIELD_GPU, FIELD_SUBJECT, FIELD_PID, FIELD_RANK,
    FIELD_VALUE, FIELD_DETAIL
} SigField;

typedef struct {
    SigField field;
    char *key;
    guint group;  /* of the pattern; 0 for constants */
    char *value;  /* constants only */
} SigCapture;

typedef struct {
    gint64 number;
    gboolean known;
} CodeOfText;

typedef struct {
    char *id, *kind, *family, *pattern;
    gboolean is_fact; /* kind is the key of a fact then */
    CtSeverity severity;
    gint8 scope; /* -1 not-kernel, 0 any, 1 kernel */
    gboolean nocase, broken, jit;
    int priority;
    guint order, runs;
    gint64 spent_us;
    guint hit_end;        /* of its anchor in the line at hand */
    guint kind_slot;      /* one number per kind */
    pcre2_code *code;     /* NULL until the first line */
    GArray *captures;     /* SigCapture, constants first */
    gint64 last_code;     /* with last_name, of the last match */
    const char *last_name;
    gboolean has_last_code;
    char *last_text;      /* with its code: a log says the same all the time */
    CodeOfText last_of_text;
    gint64 row;           /* in the table: pattern, family and constants are read when needed */
    guint64 last_line;    /* serial number of the line that it was queued for */
} Signature;

/* Who asked for a literal. */
typedef struct {
    guint who;   /* order of a signature */
    guint next;  /* index into users, G_MAXUINT ends the list */
} User;

struct CtSignatures {
    const CtKb *kb;
    GPtrArray *all;       /* Signature, in file order */
    GArray *literals;     /* CtLiteral */
    GStringChunk *texts;  /* owns what literals point to */
    GArray *first_user;   /* per literal: index into users */
    GArray *users;        /* User */
    GArray *literal_readers; /* per literal: guint64, bits of readers */
    GArray *readers;      /* const CtParser * */
    GArray *queue;        /* Signature *, of the line at hand */
    GArray *kind_done;    /* guint64 serial number per kind */
    guint64 serial;
    GHashTable *codes;    /* "family text" -> CodeOfText, since a log says the same all the time */
    GString *key;
    char arena[64 * 1024]; /* captures of one match */
    gsize arena_used;
    GString *detail;
    pcre2_match_data *match;
    pcre2_match_context *limits;
};

/* Emits what a match says. */
void ct_signature_emit(CtSignatures *sigs, Signature *sig, CtEmit *emit, const CtLine *line,
                       const PCRE2_SIZE *ovector, guint n_groups);
