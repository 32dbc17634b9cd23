/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes from a descriptor, decompressed on the way when they begin like gzip, xz, zstd or bzip2
 * (also one around the other, twice). Limits keep a small hostile file from filling the machine.
 */
#pragma once

#include <glib.h>

typedef struct CtStream CtStream;

typedef enum {
    CT_STREAM_MORE,
    CT_STREAM_END,
    CT_STREAM_TRUNCATED, /* the packed bytes end early, or a limit was reached */
    CT_STREAM_DAMAGED,
    CT_STREAM_ERROR,     /* read() failed */
} CtStreamState;

/* Borrowed: fd, which stays open. */
CtStream *ct_stream_new(int fd);
/* From any source; reads like read(): 0 is the end, -1 an error. */
typedef gssize (*CtStreamRead)(gpointer user, void *buf, gsize cap);
CtStream *ct_stream_new_from(CtStreamRead read, gpointer user);
void ct_stream_free(CtStream *stream);

/* Bytes that are there without being consumed, up to `want`; for a look at the beginning. */
const guint8 *ct_stream_peek(CtStream *stream, gsize want, gsize *out_len);
/* At most cap bytes into buf; 0 means that ct_stream_state() is no longer CT_STREAM_MORE. */
gsize ct_stream_read(CtStream *stream, void *buf, gsize cap);
CtStreamState ct_stream_state(const CtStream *stream);
const char *ct_stream_note(const CtStream *stream); /* why, when not at the end (nullable) */
const char *ct_stream_packing(const CtStream *stream); /* "gzip", "zstd+xz"; NULL is plain */
guint64 ct_stream_raw_bytes(const CtStream *stream);
