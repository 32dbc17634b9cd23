/* SPDX-License-Identifier: Apache-2.0 */
/* Walks the files of an archive without unpacking it to disk. */
#pragma once

#include <glib.h>

#include "collect/stream.h"

/* A member: read it, or leave it; what is left is skipped. Return FALSE to stop the walk. */
typedef gboolean (*CtMemberFunc)(const char *name, CtStream *member, gpointer user);

typedef enum {
    CT_ARCHIVE_DONE,
    CT_ARCHIVE_TRUNCATED,
    CT_ARCHIVE_DAMAGED,
    CT_ARCHIVE_NO_LIBRARY,
    CT_ARCHIVE_NO_TEXT, /* a package of another program: arrays, weights, a document */
} CtArchiveEnd;

gboolean ct_is_tar(const guint8 *head, gsize len); /* wants 512 bytes */
CtArchiveEnd ct_tar_walk(CtStream *stream, CtMemberFunc func, gpointer user);

gboolean ct_is_zip(const guint8 *head, gsize len);
CtArchiveEnd ct_zip_walk(int fd, CtMemberFunc func, gpointer user); /* fd is seekable */
