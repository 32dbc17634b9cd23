/* SPDX-License-Identifier: Apache-2.0 */
/* One decompressor behind one interface. */
#pragma once

#include <glib.h>

typedef struct CtInflate CtInflate;

typedef enum { CT_PACK_NONE, CT_PACK_GZIP, CT_PACK_XZ, CT_PACK_ZSTD, CT_PACK_BZIP2 } CtPacking;

CtPacking ct_packing_of(const guint8 *head, gsize len);
const char *ct_packing_name(CtPacking packing);

/* NULL when the library for it is not there. */
CtInflate *ct_inflate_new(CtPacking packing);
void ct_inflate_free(CtInflate *inflate);

typedef enum { CT_INFLATE_OK, CT_INFLATE_END, CT_INFLATE_DAMAGED } CtInflateResult;

/* Takes from *in, gives to *out, moves both on. After CT_INFLATE_END of one member another may
 * follow: call ct_inflate_again(). */
CtInflateResult ct_inflate_run(CtInflate *inflate, const guint8 **in, gsize *in_len, guint8 **out,
                               gsize *out_len);
gboolean ct_inflate_again(CtInflate *inflate);
