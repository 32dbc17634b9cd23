/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds literals in blocks of bytes, all at once. Two engines with the same results: vectorscan,
 * opened at run time where it is installed, and an own one that is ready in microseconds.
 */
#pragma once

#include <glib.h>

typedef struct CtScanner CtScanner;

typedef struct {
    const char *text; /* without NUL; borrowed until ct_scanner_free() */
    gsize len;
    gboolean nocase; /* ASCII only */
} CtLiteral;

typedef struct {
    guint32 end; /* offset just behind the literal */
    guint32 id;  /* index of the literal */
} CtHit;

typedef enum {
    CT_SCAN_OWN,  /* the built-in engine */
    CT_SCAN_FAST, /* vectorscan; the built-in one where it is missing */
} CtScanEngine;

CtScanner *ct_scanner_new(const CtLiteral *literals, guint n, CtScanEngine engine);
void ct_scanner_free(CtScanner *scanner);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtScanner, ct_scanner_free)

/* Appends every occurrence, by end, then by id. */
void ct_scanner_scan(CtScanner *scanner, const char *data, gsize len, GArray *out_hits);
const char *ct_scanner_name(const CtScanner *scanner); /* "vectorscan" or "own" */
