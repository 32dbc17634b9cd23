/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text that speaks of an error without having met it: comments, commits, results of tests,
 * documents, questions. What such a line says has not happened, so no event is made of it.
 */
#pragma once

#include "parse/frame/parser.h"

typedef enum {
    CT_QUOTING_NOT,
    CT_QUOTING_COMMITS,  /* git log, git show, a patch */
    CT_QUOTING_SCRIPT,   /* "#" begins a comment */
    CT_QUOTING_ALL,      /* manuals and lists of changes: nobody pastes a log there */
    CT_QUOTING_DOCUMENT, /* Markdown and its kin: prose around blocks that were pasted */
    CT_QUOTING_POST,     /* the same of a person who tells what happened: its lists are claims */
} CtQuoting;

typedef struct {
    CtQuoting kind;
    gboolean fence;    /* within a block that was pasted into a document */
    gboolean examples; /* the prose before the block says that it shows what may happen */
    gboolean diff;     /* lines of a patch follow */
    const char *judged; /* the text that was judged last: several signatures hit one line */
    guint judged_line;
    gboolean judged_so, judged_test;
} CtQuotes;

/* What a section is, by its first lines; command and path are nullable. */
CtQuoting ct_quotes_judge(const CtLine *lines, guint n, const char *command, const char *path);
/* Every line of a document goes by here, so that fences are seen. */
void ct_quotes_follow(CtQuotes *q, const char *text, gsize len);
gboolean ct_quotes_line(const CtQuotes *q, const CtLine *line);
/* The result of a test: that it went well did happen. */
gboolean ct_quotes_test_result(const CtLine *line);
/* emit.c: the line speaks of such an event of its section and is no sign that it happened. */
gboolean ct_only_quotes(CtEmit *emit, const CtLine *line, const char *kind, CtSeverity severity);
