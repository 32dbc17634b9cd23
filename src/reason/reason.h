/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From evidence and findings to ranked root causes: runs the rules of the knowledge base, adds up
 * log-odds, resolves which cause explains which, and chooses the next test.
 */
#pragma once

#include <glib.h>

#include "evidence/evidence.h"
#include "kb/kb.h"

/* A line for, against, or about the order of things. */
typedef struct {
    char *source;  /* path as given (nullable: an analyzer's conclusion without a place) */
    guint line;    /* 0 is unknown */
    char *text;    /* the rule's sentence, or the line itself */
    char *quote;   /* the line of the source (nullable) */
    char *rule;    /* id (nullable) */
    char *group;   /* evidence group (nullable) */
    double weight; /* decibans as written in the rule; 0 for a further line of the rule above */
    double counted; /* decibans that counted after grouping */
    const char *tab; /* event, fact, finding ... and the row in it; interned */
    gint64 row;
    gint64 section; /* 0 is none */
    gint64 seq;    /* order of reading of an event, else G_MAXINT64 */
    gint64 t_ns;   /* wall time; CT_TIME_UNKNOWN */
} CtCitation;

typedef struct {
    char *cause; /* points to this cause ... */
    char *when;  /* ... when this is seen */
} CtOutcome;

typedef struct {
    char *test, *run, *say;
    double cost_s;
    gboolean given;      /* what it would show was among the evidence already */
    double gain;         /* expected bits about the leaders, per the outcomes it tells apart */
    GPtrArray *outcomes; /* CtOutcome */
} CtNextTest;

typedef struct {
    char *cause, *layer, *title, *about;
    double score;       /* decibans with prior */
    double prior;       /* decibans */
    double probability; /* 0..1; 0 for a consequence */
    char *action, *owner, *urgency;
    char *explained_by; /* cause id (nullable) */
    GPtrArray *for_, *against;            /* CtCitation */
    GPtrArray *missing;                   /* char *: what nobody looked at, as a sentence */
    GPtrArray *next;                      /* CtNextTest, best first */
    guint n_own_tests;                    /* of its own cause; the others are borrowed */
    GPtrArray *fix, *verify, *pitfalls, *refs; /* char * */
    GPtrArray *consequences;              /* char *: cause ids listed beneath it */
    double cap;         /* the most that its evidence allows */
    char *capped;       /* why the probability was held down (nullable) */
} CtHypothesis;

typedef enum { CT_LAYER_OK, CT_LAYER_SUSPECT, CT_LAYER_FAULT, CT_LAYER_UNKNOWN } CtLayerState;

typedef struct {
    char *layer;
    CtLayerState state;
    char *why;
} CtLayer;

typedef struct {
    GPtrArray *hypotheses; /* CtHypothesis, best first; `unknown` is always among them */
    GPtrArray *consequences; /* CtHypothesis with explained_by set */
    GPtrArray *layers;     /* CtLayer, outside in */
    GPtrArray *timeline;   /* CtCitation in order of time, first error first */
    GPtrArray *notes;      /* char *: rules that were skipped, and why */
    double temperature;
} CtDiagnosis;

/* lang is "en" or "zh". */
CtDiagnosis *ct_diagnose(CtEvidence *ev, const CtKb *kb, const char *lang, GError **error);
void ct_diagnosis_free(CtDiagnosis *d);
/* Makes its hypotheses those that the evidence keeps; ct_diagnose has done it for its own. */
void ct_diagnosis_store(CtEvidence *ev, const CtDiagnosis *d);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtDiagnosis, ct_diagnosis_free)
const char *ct_layer_state_name(CtLayerState state);

/* Registers ver_cmp, ver_in, before, near on a handle (used by rules and by `query`). */
int ct_reason_register_sql(sqlite3 *db);

/* "1.5 GiB", "4.51 ms": three digits and a unit. (transfer full) */
char *ct_format_bytes(double bytes);
char *ct_format_duration(double ns);
