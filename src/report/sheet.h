/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A result that is no diagnosis, as a render model: headings, lines, tables, and lines to copy, in
 * the order in which they are shown. One is built for every form; renderers only lay it out.
 */
#pragma once

#include "report/messages.h"

typedef enum {
    CT_SHEET_HEADING,
    CT_SHEET_TEXT, /* a paragraph */
    CT_SHEET_ITEM, /* of a list */
    CT_SHEET_SUB,  /* belongs to the item above */
    CT_SHEET_CODE, /* lines that stand as they are */
    CT_SHEET_TABLE,
} CtSheetKind;

typedef struct {
    CtSheetKind kind;
    gboolean bad; /* the line tells of a fault */
    char *text;
    guint n_columns;
    char **names;    /* of a table */
    GPtrArray *rows; /* char **: as many cells as columns */
} CtSheetBlock;

typedef struct {
    CtLang lang;
    char *title, *verdict;
    gboolean bad; /* the verdict is not a good one */
    GPtrArray *blocks;
} CtSheet;

CtSheet *ct_sheet_new(CtLang lang, const char *title);
void ct_sheet_free(CtSheet *s);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtSheet, ct_sheet_free)

void ct_sheet_add(CtSheet *s, CtSheetKind kind, const char *text);
/* (transfer full) of text */
void ct_sheet_take(CtSheet *s, CtSheetKind kind, char *text);
/* The line that was added last tells of a fault. */
void ct_sheet_mark_bad(CtSheet *s);
void ct_sheet_table(CtSheet *s, guint n_columns, const char *const *names);
/* Of the table that was added last. */
void ct_sheet_row(CtSheet *s, const char *const *cells);

/* Each returns one string that ends in a newline. (transfer full) */
char *ct_sheet_markdown(const CtSheet *s);
char *ct_sheet_html(const CtSheet *s);
