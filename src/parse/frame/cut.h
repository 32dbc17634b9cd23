/* SPDX-License-Identifier: Apache-2.0 */
/* Where a source falls into sections: shell prompts with the command echoed, and titles. */
#pragma once

#include <glib.h>

typedef enum { CT_CUT_NONE, CT_CUT_PROMPT, CT_CUT_TITLE, CT_CUT_KERNEL } CtCutKind;

typedef struct {
    CtCutKind kind;
    const char *text; /* command or title, borrowed from the line */
    gsize len;
    char host[64];    /* of the prompt, empty when it has none */
    gboolean named;   /* a title that names a command or a file: cuts by itself */
} CtCut;

/* The look at the first bytes that every line gets; FALSE for nearly all. */
gboolean ct_cut_possible(const char *line, gsize len);
gboolean ct_cut_prompt(const char *line, gsize len, CtCut *out);
gboolean ct_cut_title(const char *line, gsize len, CtCut *out);
/* "container:NAME" when the command runs inside of one, or the prompt's host is a container id;
 * NULL for the host. (transfer full) */
char *ct_cut_scope(const CtCut *cut);
/* TRUE when text begins with a command that people run to look at a machine. */
gboolean ct_cut_known_command(const char *text, gsize len);
