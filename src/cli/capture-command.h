/* SPDX-License-Identifier: Apache-2.0 */
/* `capture -- COMMAND`: runs a program once or more often, and adds what came of it to a capture. */
#pragma once

#include "collect/live/live.h"
#include "collect/live/run-command.h"

typedef struct {
    char *repeat; /* how often; not given is once */
    gboolean no_stacks;
} CtCommandOptions;

#define CT_COMMAND_ENTRIES(o)                                                                      \
    {"repeat", 0, 0, G_OPTION_ARG_STRING, &(o)->repeat, "Run COMMAND so often", "N"},                 \
        {"no-stacks", 0, 0, G_OPTION_ARG_NONE, &(o)->no_stacks,                                    \
         "Do not trace COMMAND for its stacks", NULL}

typedef struct {
    char **argv;   /* borrowed */
    GArray *ends;  /* CtRunEnd */
    CtRun kept;    /* the last run that failed, else the last */
    guint kept_number;
    char *summary;
} CtCommandResult;

void ct_command_result_clear(CtCommandResult *result);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(CtCommandResult, ct_command_result_clear)

/* Index of the "--" that a command follows, argc when there is none. */
int ct_command_split(int argc, char **argv);
/* Where a program lies: on PATH of this machine, or in a copied tree. NULL: nowhere. (transfer full) */
char *ct_command_program(const char *name, const char *sysroot);
/* Files of the command that are looked at too: the program, and engines and models among its
 * words ("net.plan", "--onnx=net.onnx"). Paths are those of the tree. (transfer full) */
GPtrArray *ct_command_paths(char **argv, const char *sysroot, const char *const *besides);
/* Runs it. With json its output goes to standard error. FALSE with *out_exit when it could not be
 * started or an option makes no sense. */
gboolean ct_command_run_all(const char *verb, char **argv, const CtCommandOptions *options,
                            gboolean json, CtCommandResult *out, int *out_exit);
void ct_command_add(const CtCommandResult *result, CtLiveCapture *capture);
/* One run: as the program ended, 128 + N for signal N. Several: 1 when one failed, else 0. */
int ct_command_exit(const CtCommandResult *result);
