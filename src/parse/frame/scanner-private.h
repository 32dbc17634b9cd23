/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "parse/frame/scanner.h"

typedef struct CtOwnScan CtOwnScan;
CtOwnScan *ct_own_scan_new(const CtLiteral *literals, guint n);
void ct_own_scan_free(CtOwnScan *scan);
void ct_own_scan(const CtOwnScan *scan, const char *data, gsize len, GArray *out_hits);

typedef struct CtHsScan CtHsScan;
CtHsScan *ct_hs_scan_new(const CtLiteral *literals, guint n); /* NULL: not to be had */
void ct_hs_scan_free(CtHsScan *scan);
gboolean ct_hs_scan(CtHsScan *scan, const char *data, gsize len, GArray *out_hits);
