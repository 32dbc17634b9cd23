/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two states of a machine: what differs, ordered by how likely it matters. Facts are matched by
 * subject and key; the names of one GPU count as one. What the checklist says anew of the second
 * state comes first, with the changes that it rests on. How much a key matters is knowledge
 * (facts.tsv).
 */
#pragma once

#include "reason/check.h"

typedef enum {
    CT_DIFF_CHANGED,
    CT_DIFF_ADDED,   /* the first state was looked at and has it not */
    CT_DIFF_REMOVED, /* the same of the second */
    CT_DIFF_UNKNOWN, /* one of the states was not looked at there, or could not be read */
} CtDiffState;

typedef struct {
    CtDiffState state;
    char *subject, *key, *layer; /* subject "" is the machine itself */
    char *before, *after;        /* NULL: not there, or not known (then note says why) */
    char *place_before, *place_after; /* "path:line" (nullable) */
    char *note;                  /* (nullable) */
    gboolean identity;           /* differs from machine to machine: a UUID, a serial number */
    int importance;              /* 0..100, with what the verdicts add */
} CtDiffRow;

/* A line of the checklist that got worse (or better). */
typedef struct {
    const CtCheckLine *now; /* of CtDiff.checks[1] */
    CtCheckState before;    /* CT_CHECK_UNKNOWN where it was not among the lines */
    gboolean better;
    GPtrArray *rows; /* CtDiffRow that it rests on, borrowed */
} CtDiffVerdict;

typedef struct {
    GPtrArray *verdicts; /* CtDiffVerdict: failures, then warnings, then what got better */
    GPtrArray *rows;     /* CtDiffRow, most important first */
    guint same, hidden;  /* facts that agree; volatile ones that differ and were left out */
    guint unknown;       /* rows that are CT_DIFF_UNKNOWN: no difference that anybody saw */
    gboolean nothing;    /* there was nothing that could be compared */
    gboolean foreign;    /* a release for a Jetson, and the machine is none */
    CtDiagnosis *diagnoses[2];
    CtCheckList *checks[2];
} CtDiff;

/* A row below this is no difference that matters (exit code 0). */
#define CT_DIFF_MATTERS 20

CtDiff *ct_diff(CtEvidence *before, CtEvidence *now, const CtKb *kb, gboolean with_volatile,
                const char *lang, GError **error);
/* Takes out what changed in the name only: rows of identity (UUIDs, serial numbers) of which `same`
 * says that one value is a stand-in for the other. They count as facts that agree. */
typedef gboolean (*CtDiffSame)(const char *before, const char *after, gpointer user);
void ct_diff_forgive(CtDiff *diff, CtDiffSame same, gpointer user);
void ct_diff_free(CtDiff *diff);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtDiff, ct_diff_free)
gboolean ct_diff_matters(const CtDiff *diff);
const char *ct_diff_state_name(CtDiffState state); /* changed, added, removed, unknown */

/* What a release ships against what a state has: "jp5.1.2", "l4t-r36.4.7", "cuda12.4". NULL with
 * *error when the release is not known. Only rows are filled. */
CtDiff *ct_diff_release(const char *release, CtEvidence *now, const CtKb *kb, GError **error);

/* ---- any number of states ---- */

typedef struct {
    guint index; /* of the state */
    char *value; /* NULL: looked at, and not there */
    gboolean unknown;
} CtOutlier;

typedef struct {
    char *subject, *key, *layer, *majority; /* majority NULL: most do not have it */
    guint agree, known;                     /* states with the majority value; states that tell */
    gboolean tie;                           /* no value has more states than another */
    GPtrArray *outliers;                    /* CtOutlier */
    int importance;
} CtGroupRow;

/* CtGroupRow, most important first. */
GPtrArray *ct_diff_group(CtEvidence *const *states, guint n, const CtKb *kb,
                         gboolean with_volatile);
