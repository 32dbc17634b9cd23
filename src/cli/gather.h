/* SPDX-License-Identifier: Apache-2.0 */
/* From the paths of a command line to analysed evidence, as `diagnose` and `inspect` need it. */
#pragma once

#include "cli/cli.h"
#include "evidence/evidence.h"
#include "kb/kb.h"
#include "timeline/import.h"

/* A source that is no file: what a person says, the output of a test. */
typedef struct {
    char *path, *text;
} CtGatherText;

typedef struct {
    CtKb *kb; /* opened by ct_gather unless it is set */
    CtEvidence *ev;
    gboolean keep_traces;   /* for `inspect`: totals only, kept in traces; set before ct_gather */
    GPtrArray *traces;      /* CtTrace */
    const GPtrArray *texts; /* CtGatherText, read after the paths (nullable); set before ct_gather */
} CtGather;

void ct_gather_clear(CtGather *gather);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(CtGather, ct_gather_clear)

/* The paths that a verb was given. Without any, standard input when something is piped into it;
 * else a usage error. (transfer container) */
char **ct_gather_paths(const char *verb, int argc, char **argv, int *out_exit);

/* Reads, parses and analyses all paths: files, folders, archives, `-`, one case file. What cannot
 * be read is noted on standard error and in the evidence, and the rest is used; FALSE only when
 * nothing is left or the knowledge cannot be had. */
gboolean ct_gather(const char *verb, char **paths, const char *knowledge, CtGather *out,
                   int *out_exit);
/* The same for verbs that judge a state by what is there: a source of which nothing at all could
 * be read (an empty file, a picture, somebody else's database) is refused, because "nothing is
 * there" would be a verdict on it. */
gboolean ct_gather_state(const char *verb, char **paths, const char *knowledge, CtGather *out,
                         int *out_exit);
