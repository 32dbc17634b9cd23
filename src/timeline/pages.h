/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks the rows of a table of an SQLite file, page by page, without SQL: several times as fast as
 * stepping a statement, and nothing of the file's schema is ever executed. Every offset is checked;
 * reading goes through pread, so a file that shrinks meanwhile is an error and not a crash.
 */
#pragma once

#include <glib.h>

#define CT_PAGES_COLUMNS 64 /* of a row, at most; later ones are not looked at */

typedef struct CtPages CtPages;

typedef struct {
    const guint8 *p; /* of a text, else NULL */
    gsize n;         /* its bytes that are there: very long texts are cut */
    gint64 value;    /* of a whole number; a real one is rounded */
    gboolean null;
} CtPagesValue;

typedef struct {
    gint64 rowid;
    guint64 place; /* for ct_pages_row() */
    guint n;       /* columns that are there; added ones may be missing at the end */
    CtPagesValue v[CT_PAGES_COLUMNS]; /* only the wanted ones are set */
} CtPagesRow;

typedef gboolean (*CtPagesVisit)(const CtPagesRow *row, gpointer user);

CtPages *ct_pages_open(const char *path, GError **error);
void ct_pages_free(CtPages *pages);
/* wanted: a bit for each column. FALSE and *error: the pages are damaged; what came before was
 * visited. TRUE also when the visitor ended it. */
gboolean ct_pages_walk(CtPages *pages, guint32 root, guint64 wanted, CtPagesVisit visit,
                       gpointer user, GError **error);
/* One row again, valid until the next call; NULL: it is no longer there. */
const CtPagesRow *ct_pages_row(CtPages *pages, guint64 place, guint64 wanted);
