/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fits the one temperature of the softmax to cases with known answers, and says how far the
 * probabilities can be trusted. A case is a folder, at most three levels below the one given, with
 * evidence files and a truth.yaml:
 *
 *   cause: gpu-oom-leak        # or none: nothing is wrong here
 *   accept: [gpu-oom-leak, leak-async-alloc-not-freed]   # optional
 *   layer: memory              # optional
 *
 * A case that holds several incidents is judged as diagnose does: by the one that it shows first.
 * Each case is judged at the temperature that the other cases give (leave one out), so the figures
 * are not those of a fit to itself.
 */
#pragma once

#include <glib.h>

#include "evidence/evidence.h"
#include "kb/kb.h"

#define CT_TRUTH_FILE "truth.yaml"

/* Reads, parses and analyses these files; the caller knows how. NULL on failure, (transfer
 * full). `paths` ends with NULL. */
typedef CtEvidence *(*CtCalibrateLoad)(char **paths, gpointer user, GError **error);

typedef struct {
    char *name;
    char *want, *got;   /* cause id or none; the first hypothesis */
    double probability; /* of the first hypothesis, at the temperature of the other cases */
    double temperature; /* that the other cases give */
    gboolean top1, top3, layer;
    gboolean confidently_wrong; /* at least 0.8 for a cause that is not accepted */
    double brier;
    char *topic;      /* of the cause that is true (nullable: none, or an unknown id) */
    char *rival;      /* the likeliest cause that is not accepted (nullable) */
    double rival_probability;
    char *error; /* why it could not be judged (nullable) */
} CtCalibrationCase;

typedef struct {
    guint n, hits;
    double mean; /* probability said, on average */
} CtCalibrationBin;

#define CT_CALIBRATION_BINS 10

typedef struct {
    double temperature;     /* fitted to all cases */
    double temperature_now; /* of the knowledge base */
    double brier, brier_now; /* leave-one-out; with the temperature of the knowledge base */
    double top1, top3, layer, confidently_wrong; /* shares of the cases judged */
    guint n, failed;
    CtCalibrationBin bins[CT_CALIBRATION_BINS]; /* of the first hypothesis that is not unknown */
    GPtrArray *cases;                           /* CtCalibrationCase, by name */
} CtCalibration;

/* NULL when the folder cannot be read or holds no case. */
CtCalibration *ct_calibrate(const char *folder, const CtKb *kb, CtCalibrateLoad load,
                            gpointer user, GError **error);
void ct_calibration_free(CtCalibration *c);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtCalibration, ct_calibration_free)

/* By topic, for each true cause how often it leads, and what is taken for it or comes near.
 * (transfer full) */
char *ct_calibration_confusion(const CtCalibration *c);

/* The result for people, and as the lines of knowledge/calibration.tsv. (transfer full) */
char *ct_calibration_text(const CtCalibration *c);
char *ct_calibration_tsv(const CtCalibration *c);
