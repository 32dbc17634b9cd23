/* SPDX-License-Identifier: Apache-2.0 */
/* Picks fields out of one-line JSON objects of logs without building a tree. */
#pragma once

#include <glib.h>

typedef struct {
    const char *key;
    const char *text; /* a string without its quotes, still escaped; else the value as written */
    gsize len;
    gboolean found, is_string;
} CtJsonField;

/* Only keys of the outermost object. FALSE when the text is no object; a cut object gives what
 * was read. */
gboolean ct_json_fields(const char *text, gsize len, CtJsonField *fields, guint n);
void ct_json_unescape(const char *text, gsize len, GString *out);
/* "[72,105]" appends the bytes. */
void ct_json_bytes(const char *text, gsize len, GString *out);
/* Appends text as a JSON string with quotes; what is no UTF-8 is replaced. */
void ct_json_append_string(GString *out, const char *text, gssize len);
