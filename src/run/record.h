/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a program under the flight recorder. The record lives in a memory file of this process, or
 * in a file that survives it; the program and its descendants find it through their environment.
 */
#pragma once

#include <glib.h>

typedef struct CtRecording CtRecording;

/* file is NULL for a memory file. The size is reserved, not used. */
CtRecording *ct_recording_new(const char *file, const char *command, GError **error);
/* Without stacks an allocation site is its caller alone, and an allocation costs a third. */
void ct_recording_set_stacks(CtRecording *recording, gboolean on);
void ct_recording_free(CtRecording *recording);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtRecording, ct_recording_free)

/* Where libcutriage-recorder.so stands: beside the program, in the build folder or installed.
 * (transfer full) */
char *ct_recorder_library(GError **error);
/* Variables as "NAME=value", in the order LD_PRELOAD, CUTRIAGE_RECORD_FILE and so on; what the
 * caller preloads already stays behind ours. (transfer full) */
char **ct_recording_environment(const CtRecording *recording, const char *library);

/* Starts the program and waits for it; signals that would end this process go to the program. The
 * result is a wait status. */
gboolean ct_recording_run(CtRecording *recording, const char *library, char **argv,
                          int *out_status, GError **error);

typedef struct {
    guint processes; /* that used CUDA */
    guint refused, no_space;
    guint replaced; /* that are gone and gave their place to later ones */
} CtRecordingTotals;

CtRecordingTotals ct_recording_totals(const CtRecording *recording);
/* Cuts off what no process used; in a memory file, copies the rest to `path`. */
gboolean ct_recording_save(CtRecording *recording, const char *path, GError **error);
/* The bytes of the record, mapped until it is freed. */
const guint8 *ct_recording_bytes(CtRecording *recording, gsize *out_len);
