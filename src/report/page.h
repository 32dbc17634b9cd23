/* SPDX-License-Identifier: Apache-2.0 */
/* A page of labelled lines for a terminal; counts its lines and never exceeds its width. */
#pragma once

#include <glib.h>

#include "report/report-private.h"

typedef enum { CT_INK_PLAIN, CT_INK_BOLD, CT_INK_DIM, CT_INK_GOOD, CT_INK_BAD, CT_INK_PLACE } CtInk;

typedef struct {
    GString *out;
    CtLang lang;
    guint columns, label; /* width of the page and of its label column */
    guint lines;
    gboolean colour;
} CtPage;

/* Makes label column wide enough for every label of the language. */
void ct_page_init(CtPage *page, CtLang lang, guint columns, gboolean colour);
char *ct_page_end(CtPage *page);
void ct_page_blank(CtPage *page);
/* A heading that takes a line of its own. */
void ct_page_heading(CtPage *page, const char *text);
/* Label and text; the text wraps below itself, at most `max` lines (0: all). */
void ct_page_text(CtPage *page, const char *label, CtInk ink, const char *text, guint max);
/* The same with a mark ("1", "-", "4%") before the text, in a column of `mark_width`. */
void ct_page_item(CtPage *page, const char *label, const char *mark, guint mark_width, CtInk ink,
                  const char *text, guint max);
/* Lines that must be copied as they stand. */
void ct_page_command(CtPage *page, const char *label, const char *before, const char *command);
