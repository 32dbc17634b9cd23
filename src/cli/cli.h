/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the verbs share: options with one kind of help page, errors with a suggestion, and the
 * decisions about language and colour. Only this folder prints.
 */
#pragma once

#include <glib.h>
#include <stdio.h>

#include "base/error.h"
#include "cli/verb.h"
#include "report/messages.h"

/* A verb's help page. Descriptions stay short: the page must fit 80 columns. */
typedef struct {
    const char *verb;     /* "diagnose" */
    const char *args;     /* "PATH..." (nullable) */
    const char *summary;  /* one or two sentences */
    const char *examples; /* lines, each a command that works as it stands */
    const char *notes;    /* exit codes and the like (nullable) */
    const GOptionEntry *entries;
} CtVerbHelp;

/* Reads the options away from argv; argv[0] stays. When the verb shall end at once (--help, a
 * usage error) returns FALSE with the exit code. */
gboolean ct_cli_options(const CtVerbHelp *help, int *argc, char ***argv, int *out_exit);

/* "cutriage VERB: message" and where the help is; returns CT_EXIT_USAGE. */
int ct_cli_usage(const char *verb, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* "cutriage VERB: message"; returns CT_EXIT_USAGE for usage errors, else CT_EXIT_FAILED. */
int ct_cli_fail(const char *verb, const GError *error);
/* A note on standard error that something was left out and the work goes on. */
void ct_cli_note(const char *format, ...) G_GNUC_PRINTF(1, 2);

/* `option` is what --lang said (nullable). */
gboolean ct_cli_lang(const char *verb, const char *option, CtLang *out_lang, int *out_exit);
/* `option` is what --color said: auto (or NULL), always, never. NO_COLOR counts in auto. */
gboolean ct_cli_colour(const char *verb, const char *option, gboolean *out_colour, int *out_exit);

/* Refuses before the long work, so that nobody waits for it: FALSE when `path` (nullable) exists and
 * may not be replaced. */
gboolean ct_cli_output_is_free(const char *verb, const char *path, gboolean force, int *out_exit);

/* Width and height of what is written to: COLUMNS and LINES where they are set, else those of the
 * terminal, else 0. */
void ct_cli_screen(guint *out_columns, guint *out_rows);

/* The known word that is nearest to a mistyped one, NULL when none is near. */
const char *ct_cli_nearest(const char *word, const char *const *known);

/* Writes all of text to standard output; a closed pipe or a full disk becomes CT_EXIT_FAILED. */
int ct_cli_print(const char *text, int exit_code);
