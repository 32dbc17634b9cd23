/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fetches bytes and interprets nothing: files, folders, standard input, what is compressed and
 * what is packed. Only paths that the person named are opened, never one that evidence names.
 */
#pragma once

#include <glib.h>

#include "parse/frame/parse.h"

typedef enum {
    CT_TRACE_NO,
    CT_TRACE_TAKE,
    CT_TRACE_AND_TEXT /* read as text too; only files of their own are also given as a trace */
} CtTraceChoice;

typedef struct {
    /* Called now and then with the bytes read so far in the whole run. (nullable) */
    void (*progress)(guint64 bytes, const char *path, gpointer user);
    /* Nothing has come from a named pipe yet. (nullable) */
    void (*waiting)(const char *path, gpointer user);
    /* A case file of ours: collect does not read it, the caller loads it. (nullable: it becomes
     * a source of status unsupported) */
    void (*on_case)(const char *path, gpointer user);
    /* A record of the flight recorder, likewise. (nullable) */
    void (*on_record)(const char *path, gpointer user);
    /* A trace, told by how it begins: the caller reads it from `file`. Where it was packed, piped or
     * lies in an archive, file is a temporary copy, which the caller removes. (nullable, both) */
    CtTraceChoice (*is_trace)(const guint8 *head, gsize len);
    void (*on_trace)(const char *file, gboolean temporary, const char *path, gpointer user);
    gpointer user;
} CtCollectHooks;

typedef struct {
    guint64 bytes;  /* read, after decompression */
    guint files;    /* sources made */
    guint troubles; /* of them not ok */
    guint cases;
} CtCollectTotals;

/* path is a file, a folder (all below it, in order of names; links that lead out of it are not
 * followed) or "-" for standard input. Whatever
 * cannot be read becomes a source with its reason; the rest goes on. Calls may follow each other;
 * totals add up. hooks may be NULL. */
void ct_collect_path(CtParse *parse, CtEvidence *ev, const char *path,
                     const CtCollectHooks *hooks, CtCollectTotals *totals);
