/* SPDX-License-Identifier: Apache-2.0 */
/* From a machine to evidence, as `capture` and `check` need it. */
#pragma once

#include "cli/gather.h"
#include "collect/live/feed.h"
#include "collect/redact.h"

typedef struct {
    char *sysroot, *knowledge;
    int budget_s, pid; /* 0: not given */
    gboolean hash, no_redact;
    char *budget_text, *pid_text;
} CtCaptureOptions;

#define CT_CAPTURE_ENTRIES(o)                                                                      \
    {"sysroot", 0, 0, G_OPTION_ARG_FILENAME, &(o)->sysroot,                                        \
     "A copied /proc, /sys, /etc, /dev tree", "DIR"},                                              \
        {"budget", 0, 0, G_OPTION_ARG_STRING, &(o)->budget_text, "At most this long (20)", "S"},         \
        {"pid", 0, 0, G_OPTION_ARG_STRING, &(o)->pid_text, "A running process too", "PID"},                \
        {"hash", 0, 0, G_OPTION_ARG_NONE, &(o)->hash, "SHA-256 of the libraries found", NULL}

void ct_capture_options_clear(CtCaptureOptions *o);
/* Reads the numbers, and refuses values that make no sense: 0 given is not the same as none. */
gboolean ct_capture_options_check(const char *verb, CtCaptureOptions *o, int *out_exit);
/* A whole number from least to most, or a usage error with what was written. */
gboolean ct_capture_number(const char *verb, const char *option, const char *text, int least,
                           int most, int *out, int *out_exit);

/* The first half: fetches. `paths` (nullable) are files that the person named. */
CtLiveCapture *ct_capture_fetch(const char *verb, const CtCaptureOptions *o,
                                const char *const *paths, int *out_exit);
/* The second half: parses into fresh evidence. `redact` is NULL to keep everything. With attach
 * the bytes stay in the case. The result is analysed. */
gboolean ct_capture_read(const char *verb, const CtCaptureOptions *o,
                         const CtLiveCapture *capture, CtRedact *redact, gboolean attach,
                         CtGather *out, int *out_exit);

/* The redactor with the key of this user ($XDG_DATA_HOME/cutriage/redact.key, made when missing;
 * without a place for it the key lasts for this run only). Knows the user, the host. */
CtRedact *ct_capture_redactor(void);
/* $XDG_DATA_HOME/cutriage/NAME; its folder is made with `make`. (transfer full) */
char *ct_capture_data_file(const char *name, gboolean make);
