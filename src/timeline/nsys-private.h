/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sqlite3.h>

#include "timeline/pages.h"
#include "timeline/timeline-private.h"

typedef enum {
    F_START, F_END, F_DEVICE, F_STREAM, F_CORRELATION, F_GLOBAL_TID, F_GLOBAL_PID, F_NAME,
    F_SHORT_NAME, F_GRID_X, F_GRID_Y, F_GRID_Z, F_BLOCK_X, F_BLOCK_Y, F_BLOCK_Z, F_BYTES,
    F_COPY_KIND, F_SOURCE_KIND, F_TARGET_KIND, F_RESULT, F_EVENT_TYPE, F_TEXT, F_TEXT_ID, F_DOMAIN,
    F_OPERATION, F_MEM_KIND, F_SYNC_TYPE, F_NESTING, F_SEVERITY, CT_NSYS_FIELDS
} CtNsysField;

typedef struct CtNsysTable CtNsysTable;

typedef struct {
    CtTimeline *tl;
    sqlite3 *db;
    CtPages *pages;
    sqlite3_stmt *string;      /* by id; NULL without StringIds */
    GHashTable *strings;       /* id -> name id + 1, for large ids */
    guint32 *string_name;      /* id -> name id + 1 */
    gsize n_string_names;
    GHashTable *domains;       /* pid and domainId -> name id */
    GHashTable *shapes;        /* grid and block -> name id */
    guint8 *call_kind;         /* name id -> CtTlCall + 1 */
    gsize n_call_kinds;
    gint64 scale;              /* of times, to ns */
    GPtrArray *tables;         /* CtNsysTable */
    guint64 open_ranges, bad_times, negative;
} CtNsys;

struct CtNsysTable {
    const char *name;
    CtTlKind kind;
    guint32 root;
    guint64 wanted;
    gint8 column[CT_NSYS_FIELDS]; /* -1: the table has none */
    guint64 rows;
    gint64 first, last, backwards; /* backwards: by how much a start lies before an earlier one */
    gboolean looked;
    GArray *order; /* of rows that are not in order */
};

/* Opens with a schema that nobody vouches for. */
sqlite3 *ct_nsys_open_database(const char *path, GError **error);
/* Finds the table with its columns; NULL: not there, or none that can be walked. */
CtNsysTable *ct_nsys_table(CtNsys *n, const char *name, CtTlKind kind, gboolean *out_exists);
/* Steps a statement over a small table; FALSE: not there. */
typedef void (*CtNsysStep)(CtNsys *n, sqlite3_stmt *st);
gboolean ct_nsys_each(CtNsys *n, const char *table, const char *columns, CtNsysStep step);
guint32 ct_nsys_string(CtNsys *n, gint64 id);
/* GPUs, start of the session, product, what the profiler says about itself. */
void ct_nsys_read_head(CtNsys *n);
/* What is missing, and why. */
void ct_nsys_tell(CtNsys *n);
/* Fills an event from a row; FALSE: none. */
gboolean ct_nsys_event(CtNsys *n, const CtNsysTable *t, const CtPagesRow *row, CtTlEvent *out);
