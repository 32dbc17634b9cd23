/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several incidents in one heap. A run over a month of logs may hold faults that have nothing to do
 * with each other; judged together they would share one probability and cite each other's lines.
 *
 * Errors are cut into episodes where hours without an error lie between them; episodes that share
 * what failed (kind and code, process, a GPU with faults of its hardware) are one. Each is judged by
 * itself: views in the temp schema stand before the tables of the evidence, so rules stay as they
 * are. Episodes remain apart only when each has a cause of its own that rests on its own lines and
 * neither cause explains the other; else the whole is judged at once, as ever.
 */
#pragma once

#include "reason/reason.h"

/* What to look at; everything that a row does not say itself stays in. */
typedef struct {
    gint64 since_ns, until_ns; /* wall time; CT_TIME_UNKNOWN */
    gint64 pid;                /* CT_NONE */
    guint boot;                /* from the end: 1 is the last; 0 is all */
    const char *gpu, *host;    /* NULL is all */
} CtNarrow;

#define CT_NARROW_NOTHING                                                                          \
    {                                                                                              \
        .since_ns = CT_TIME_UNKNOWN, .until_ns = CT_TIME_UNKNOWN, .pid = CT_NONE                   \
    }

typedef struct {
    gint64 t0_ns, t1_ns;    /* wall time of its errors; CT_TIME_UNKNOWN */
    guint order;            /* in time among the incidents */
    GPtrArray *subjects;    /* char *: "gpu:0", "pid:4411" */
    CtDiagnosis *diagnosis;
} CtIncident;

void ct_incident_free(gpointer incident);

/* The incidents, the gravest first (by urgency, then the earliest); at least one. The rows that
 * `narrow` (nullable) leaves out are seen by nothing until ct_narrow_end. The hypotheses of the
 * first are those that a case keeps. (transfer full) */
GPtrArray *ct_diagnose_incidents(CtEvidence *ev, const CtKb *kb, const char *lang,
                                 const CtNarrow *narrow, GError **error);
/* Everything is seen again. Needed before anything is added to the evidence or saved. */
void ct_narrow_end(CtEvidence *ev);
/* How many boots the evidence tells apart, at least 1. */
guint ct_boots(CtEvidence *ev);
/* First and last wall time of any event; FALSE when there is none. */
gboolean ct_event_times(CtEvidence *ev, gint64 *out_first_ns, gint64 *out_last_ns);
