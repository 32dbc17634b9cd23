/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tokens of JSON as profilers write it: names between quotes that nobody escaped, bare NaN and
 * Infinity, control bytes in strings. Works on a window of a stream: where a token might go on
 * behind the window the answer is CT_JSON_MORE, and the caller comes again with more of it.
 * No recursion, no allocation.
 */
#pragma once

#include <glib.h>

typedef enum { CT_JSON_OK, CT_JSON_MORE, CT_JSON_BAD } CtJsonResult;

typedef struct {
    const guint8 *p, *end;
    gboolean last; /* nothing comes behind `end` */
} CtJsonIn;

typedef struct {
    const guint8 *p; /* without the quotes; escapes as they stand */
    gsize n;
    gboolean quoted, escaped;
} CtJsonText;

CtJsonResult ct_json_blanks_slow(CtJsonIn *in);
/* Moves on to the next byte that is no blank; MORE at the end. */
static inline CtJsonResult ct_json_blanks(CtJsonIn *in)
{
    if (in->p < in->end && *in->p > ' ')
        return CT_JSON_OK;
    if (in->end - in->p >= 2 && in->p[0] == ' ' && in->p[1] > ' ') {
        in->p++;
        return CT_JSON_OK;
    }
    return ct_json_blanks_slow(in);
}
/* A key and the colon behind it. */
CtJsonResult ct_json_key(CtJsonIn *in, CtJsonText *out);
/* A string (up to a quote behind which JSON can go on) or a bare word or number. Containers are
 * BAD. */
CtJsonResult ct_json_scalar(CtJsonIn *in, CtJsonText *out);
/* Any value; out (nullable) is its text, brackets included. */
CtJsonResult ct_json_value(CtJsonIn *in, CtJsonText *out);
/* Behind a value within an object: takes a comma; *out_end when it was the closing brace. */
static inline CtJsonResult ct_json_next(CtJsonIn *in, gboolean *out_end)
{
    CtJsonResult r = ct_json_blanks(in);
    *out_end = FALSE;
    if (r != CT_JSON_OK)
        return r;
    if (*in->p != ',' && *in->p != '}' && *in->p != ']')
        return CT_JSON_BAD;
    *out_end = *in->p++ != ',';
    return CT_JSON_OK;
}

/* At an opening brace: goes behind it; *out_end when the object is empty. */
static inline CtJsonResult ct_json_open(CtJsonIn *in, gboolean *out_end)
{
    in->p++;
    CtJsonResult r = ct_json_blanks(in);
    *out_end = r == CT_JSON_OK && *in->p == '}';
    in->p += *out_end ? 1 : 0;
    return r;
}

static inline gboolean ct_json_is(const CtJsonText *t, const char *word, gsize n)
{
    return t->n == n && __builtin_memcmp(t->p, word, n) == 0;
}
#define CT_JSON_IS(t, word) ct_json_is(t, word, sizeof(word) - 1)

/* FALSE: not a finite number. */
gboolean ct_json_number(const CtJsonText *t, double *out);
gboolean ct_json_integer(const CtJsonText *t, gint64 *out);
/* A number times 10^digits, exactly where it has no more decimals. */
gboolean ct_json_scaled(const CtJsonText *t, guint digits, gint64 *out);
/* The text with its escapes resolved, cut to cap - 1 bytes, NUL-terminated; returns its length. */
gsize ct_json_plain(const CtJsonText *t, char *out, gsize cap);
