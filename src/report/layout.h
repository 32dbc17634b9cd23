/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text for a terminal: width in columns (a Chinese character takes two), wrapping in both
 * languages, and cleaning, since quoted lines come from files that a stranger may have written.
 */
#pragma once

#include <glib.h>

/* Columns that a text takes. */
guint ct_text_width(const char *text);
/* A copy in valid UTF-8 without control characters (a tab becomes a blank) and without marks that
 * turn the direction of writing; runs of blanks are kept. */
char *ct_text_clean(const char *text);
/* Lines of at most `width` columns, broken at blanks or between Chinese characters, never before
 * closing punctuation; a longer word is cut. With `max` > 0 the last line ends in "..." where
 * something was left out. (transfer full) of char * */
GPtrArray *ct_text_wrap(const char *text, guint width, guint max);
/* At most `width` columns, with "..." at the end where it was cut. */
char *ct_text_fit(const char *text, guint width);
/* The same, but the beginning is cut: for paths, where the end tells more. */
char *ct_text_fit_left(const char *text, guint width);
/* A shell command on lines of at most `width` columns, joined by backslashes so that it can still
 * be copied; a quoted part is never broken. A line that goes on with a broken word begins with
 * "\r": it must be written from the left edge on, without the mark. */
GPtrArray *ct_text_wrap_command(const char *command, guint width);
void ct_text_pad(GString *out, guint columns);
