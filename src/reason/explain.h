/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a code, a message, a cause or a topic means: looks it up in the knowledge base and hands
 * back a model that `explain` prints. Does no I/O of its own.
 */
#pragma once

#include <glib.h>

#include "evidence/evidence.h"
#include "kb/kb.h"

typedef struct {
    char *test, *run, *say; /* each nullable but test */
    double cost_s;
} CtExplainTest;

/* A cause as an answer: of a code, of a message, or of a search. */
typedef struct {
    char *cause, *layer, *title;
    char *owner, *action;
    CtExplainTest *test; /* what to look at first, of a topic (nullable) */
    char *why;          /* the sentence of the rule that held (nullable) */
    double weight;      /* decibans of its strongest rule, or score of the search */
    double probability; /* of a message; below 0 where there is none */
} CtExplainHit;

typedef struct {
    char *key, *value;
} CtExplainPair;

/* One reading of a number, name or text. */
typedef struct {
    char *family; /* of the code table: cuda, xid, ... */
    char *what;   /* "CUDA error", "exit status" */
    gint64 number;
    gboolean has_number;
    char *name, *alt_name, *message, *layer, *meaning; /* nullable */
    char *sticky, *late;                               /* yes, no, maybe (nullable) */
    char *old;         /* what the number meant, or the error was numbered, before CUDA 10.1 */
    GPtrArray *causes; /* char *: who or what usually brings it about */
    GPtrArray *checks; /* char *: what to look at first */
    GPtrArray *more;   /* CtExplainPair: class, action, note, ... of the table */
    GPtrArray *hits;   /* CtExplainHit: causes of the base that ask for this code */
    GPtrArray *tests;  /* CtExplainTest: commands of those causes */
    gboolean brief;    /* one of many readings: print a line */
} CtReading;

typedef struct {
    char *cause, *layer, *topic, *title, *about;
    char *prior, *action, *owner, *urgency;
    GPtrArray *signs;                          /* CtExplainPair: weight, sentence */
    GPtrArray *tests;                          /* CtExplainTest */
    GPtrArray *fix, *verify, *pitfalls, *refs; /* char * */
    GPtrArray *explains, *explained_by;        /* CtExplainHit */
} CtExplainCause;

/* One thing that was recognised in a message. */
typedef struct {
    char *kind, *meaning, *name;
    gint64 code;
    gboolean has_code;
} CtExplainEvent;

/* A row of a compatibility table: a release, an architecture, a rule. */
typedef struct {
    char *table, *title;
    GPtrArray *pairs; /* CtExplainPair: column and value */
} CtExplainRow;

/* A symptom or a field of trouble: what it is, and who is behind it most often. */
typedef struct {
    char *topic, *title, *about;
    GPtrArray *layers; /* char *: of its causes, in their order */
    GPtrArray *causes; /* CtExplainHit with a test, the likeliest first */
} CtExplainTopic;

typedef struct {
    char *query;
    GPtrArray *topics;      /* CtExplainTopic */
    GPtrArray *unknown;     /* char *: codes that were asked for and that no table holds */
    GPtrArray *rows;        /* CtExplainRow */
    GPtrArray *readings;    /* CtReading */
    GPtrArray *events;      /* CtExplainEvent, of a message */
    GPtrArray *details;     /* CtExplainCause, when a cause was asked for */
    GPtrArray *hits;        /* CtExplainHit, of a message or a search, best first */
    GPtrArray *suggestions; /* char *: what may have been meant */
} CtExplanation;

/* Turns a message into evidence, as parse/ does: this folder does not know parsers. */
typedef CtEvidence *(*CtExplainReader)(const CtKb *kb, const char *text, GError **error);

typedef struct {
    const char *family;     /* restricts codes to one table (nullable) */
    const char *lang;       /* "en" or "zh" */
    gboolean message;       /* a line of a log: never read as a number, name or cause */
    CtExplainReader reader; /* NULL: messages are searched like topics */
} CtExplainOptions;

/* Finding nothing is no error: then everything but the suggestions is empty. */
CtExplanation *ct_explain(const CtKb *kb, const char *query, const CtExplainOptions *options,
                          GError **error);
gboolean ct_explanation_empty(const CtExplanation *x);
void ct_explanation_free(CtExplanation *x);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtExplanation, ct_explanation_free)

/* Names of the code tables, for help and completion; ends with NULL. */
const char *const *ct_explain_families(void);
