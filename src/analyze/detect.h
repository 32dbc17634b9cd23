/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Detectors for series whose noise has a memory and heavy tails: a lasting shift of the level, a
 * slow drift, a period among events. How often they are right is measured by bench/detectors.
 */
#pragma once

#include <glib.h>

typedef enum { CT_SHAPE_FLAT, CT_SHAPE_STEP, CT_SHAPE_DRIFT } CtShape;

typedef struct {
    CtShape shape;
    gsize at;             /* of a step: index of the first value of the new level */
    double before, after; /* levels of a step, ends of the fitted line of a drift */
    double strength;      /* size of the change over its standard error */
} CtShapeResult;

/* x is positive and in order of time; at least `least` (a ratio, 0.15 is 15 %) must change. */
void ct_detect_shape(const double *x, gsize n, double least, CtShapeResult *out);

typedef struct {
    double period, phase; /* the first turn is at phase */
    double on_time; /* share of the events that keep to the period */
    double kept;    /* share of the turns in which an event comes */
    double chance;  /* of as good a period by accident */
    gsize n;        /* events that keep to it */
} CtPeriodResult;

/* at: times of events in order, of which some may be strangers, known to within `grain`; no period
 * below `least` is looked for. Of many events the first are judged. FALSE when there is none. */
gboolean ct_detect_period(const double *at, gsize n, double grain, double least,
                          CtPeriodResult *out);

/* Indexes of values that stand out from their neighbours upwards, one of each run, at most `max` of
 * them (the highest). Returns how many; out is in order; height is the logarithm of the ratio. */
gsize ct_detect_spikes(const double *x, gsize n, gsize max, gsize *out, double *height);
