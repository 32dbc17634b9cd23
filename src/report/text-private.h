/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks that the short page and the full page share. */
#pragma once

#include "report/page.h"

void ct_text_verdict(CtPage *page, const CtReport *r, gboolean full);
/* Lines with their places; `max` 0 shows all, `quotes` adds the line of the source itself. */
void ct_text_evidence(CtPage *page, CtMsg label, const GPtrArray *lines, guint max, guint wrap,
                      gboolean quotes);
/* A test with at most so many lines for what it says (0: only where it has no command), so many
 * outcomes, and lines of an outcome (0: all). */
void ct_text_next(CtPage *page, const CtReport *r, const CtNextTest *test, const char *label,
                  guint say_wrap, guint outcomes, guint outcome_wrap);
char *ct_text_full_page(const CtReport *r, guint columns, gboolean colour);
