/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A verb of the command line. Registered in verbs.def; each owns its options and its help page.
 */
#pragma once

#include <glib.h>

/* Exit codes, the same for every verb. */
enum {
    CT_EXIT_NOTHING = 0,    /* nothing found, or done */
    CT_EXIT_FOUND = 1,      /* a cause or a difference was found */
    CT_EXIT_USAGE = 2,
    CT_EXIT_INCOMPLETE = 3, /* evidence incomplete, no cause found */
    CT_EXIT_FAILED = 4,
};

typedef struct {
    const char *name;
    const char *alias;   /* (nullable) */
    const char *step;    /* of the method: freeze, isolate, evidence, rank, fix; or NULL */
    const char *summary; /* one line */
    int (*run)(int argc, char **argv); /* argv[0] is the verb */
} CtVerb;

const CtVerb *const *ct_verbs(void); /* ends with NULL */
/* By name or alias; NULL when there is none. */
const CtVerb *ct_verb_by_name(const char *name);
