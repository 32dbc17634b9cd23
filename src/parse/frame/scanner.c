/* SPDX-License-Identifier: Apache-2.0 */
#include "parse/frame/scanner-private.h"

struct CtScanner {
    CtHsScan *hs;
    CtOwnScan *own;
    const CtLiteral *literals;
    guint n;
};

CtScanner *ct_scanner_new(const CtLiteral *literals, guint n, CtScanEngine engine)
{
    CtScanner *s = g_new0(CtScanner, 1);
    s->literals = literals;
    s->n = n;
    if (engine == CT_SCAN_FAST && n > 0 && !g_getenv("CUTRIAGE_NO_VECTORSCAN"))
        s->hs = ct_hs_scan_new(literals, n);
    if (!s->hs)
        s->own = ct_own_scan_new(literals, n);
    return s;
}

void ct_scanner_free(CtScanner *scanner)
{
    if (!scanner)
        return;
    ct_hs_scan_free(scanner->hs);
    ct_own_scan_free(scanner->own);
    g_free(scanner);
}

static int by_place(gconstpointer a, gconstpointer b)
{
    const CtHit *x = a, *y = b;
    if (x->end != y->end)
        return x->end < y->end ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

/* Both engines report almost in order; only what is out of order is worth a sort. */
static void put_in_order(GArray *hits, guint from)
{
    for (guint i = from + 1; i < hits->len; i++) {
        if (by_place(&g_array_index(hits, CtHit, i - 1), &g_array_index(hits, CtHit, i)) > 0) {
            qsort(&g_array_index(hits, CtHit, from), hits->len - from, sizeof(CtHit), by_place);
            return;
        }
    }
}

void ct_scanner_scan(CtScanner *scanner, const char *data, gsize len, GArray *out_hits)
{
    guint from = out_hits->len;
    if (scanner->hs && !ct_hs_scan(scanner->hs, data, len, out_hits)) {
        /* A scan that failed half way is done again by the own engine. */
        g_array_set_size(out_hits, from);
        ct_hs_scan_free(scanner->hs);
        scanner->hs = NULL;
        scanner->own = ct_own_scan_new(scanner->literals, scanner->n);
    }
    if (!scanner->hs)
        ct_own_scan(scanner->own, data, len, out_hits);
    put_in_order(out_hits, from);
}

const char *ct_scanner_name(const CtScanner *scanner)
{
    return scanner->hs ? "vectorscan" : "own";
}
