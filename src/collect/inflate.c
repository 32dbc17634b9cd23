/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/inflate.h"

#include <dlfcn.h>
#include <string.h>

#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#define XZ_MEMORY ((guint64)256 << 20) /* a dictionary beyond this is refused */
#define ZSTD_WINDOW_LOG 27             /* 128 MiB, the default of the zstd tool */

/* bzip2 is rare: opened when met, with its stream structure declared here. */
typedef struct {
    char *next_in;
    unsigned avail_in, total_in_lo32, total_in_hi32;
    char *next_out;
    unsigned avail_out, total_out_lo32, total_out_hi32;
    void *state;
    void *(*bzalloc)(void *, int, int);
    void (*bzfree)(void *, void *);
    void *opaque;
} BzStream;

typedef struct {
    int (*init)(BzStream *, int, int);
    int (*run)(BzStream *);
    int (*end)(BzStream *);
} Bzip2;

struct CtInflate {
    CtPacking packing;
    gboolean live;
    z_stream z;
    lzma_stream xz;
    ZSTD_DStream *zstd;
    BzStream bz;
    const Bzip2 *bzip2;
};

static const Bzip2 *bzip2(void)
{
    static Bzip2 lib;
    static gsize once;
    if (g_once_init_enter(&once)) {
        void *so = dlopen("libbz2.so.1.0", RTLD_NOW | RTLD_LOCAL);
        if (!so)
            so = dlopen("libbz2.so.1", RTLD_NOW | RTLD_LOCAL);
        if (so) {
            *(void **)&lib.init = dlsym(so, "BZ2_bzDecompressInit");
            *(void **)&lib.run = dlsym(so, "BZ2_bzDecompress");
            *(void **)&lib.end = dlsym(so, "BZ2_bzDecompressEnd");
        }
        g_once_init_leave(&once, 1);
    }
    return lib.init && lib.run && lib.end ? &lib : NULL;
}

CtPacking ct_packing_of(const guint8 *head, gsize len)
{
    if (len >= 3 && head[0] == 0x1f && head[1] == 0x8b && head[2] == 8)
        return CT_PACK_GZIP;
    if (len >= 6 && memcmp(head, "\xfd" "7zXZ", 6) == 0)
        return CT_PACK_XZ;
    if (len >= 4 && memcmp(head, "\x28\xb5\x2f\xfd", 4) == 0)
        return CT_PACK_ZSTD;
    if (len >= 10 && memcmp(head, "BZh", 3) == 0 && head[3] >= '1' && head[3] <= '9' &&
        (memcmp(head + 4, "1AY&SY", 6) == 0 || memcmp(head + 4, "\x17rE8P\x90", 6) == 0))
        return CT_PACK_BZIP2;
    return CT_PACK_NONE;
}

const char *ct_packing_name(CtPacking packing)
{
    static const char *const names[] = {NULL, "gzip", "xz", "zstd", "bzip2"};
    return names[packing];
}

static gboolean begin(CtInflate *i)
{
    switch (i->packing) {
    case CT_PACK_GZIP:
        i->z = (z_stream){0};
        i->live = inflateInit2(&i->z, 15 + 16) == Z_OK;
        break;
    case CT_PACK_XZ:
        i->xz = (lzma_stream)LZMA_STREAM_INIT;
        i->live = lzma_stream_decoder(&i->xz, XZ_MEMORY, 0) == LZMA_OK;
        break;
    case CT_PACK_ZSTD:
        i->zstd = ZSTD_createDStream();
        i->live = i->zstd && !ZSTD_isError(ZSTD_DCtx_setParameter(i->zstd, ZSTD_d_windowLogMax,
                                                                  ZSTD_WINDOW_LOG));
        break;
    case CT_PACK_BZIP2:
        i->bz = (BzStream){0};
        i->bzip2 = bzip2();
        i->live = i->bzip2 && i->bzip2->init(&i->bz, 0, 0) == 0;
        break;
    case CT_PACK_NONE:
        break;
    }
    return i->live;
}

static void end(CtInflate *i)
{
    if (i->packing == CT_PACK_ZSTD)
        ZSTD_freeDStream(i->zstd);
    i->zstd = NULL;
    if (!i->live)
        return;
    if (i->packing == CT_PACK_GZIP)
        inflateEnd(&i->z);
    else if (i->packing == CT_PACK_XZ)
        lzma_end(&i->xz);
    else if (i->packing == CT_PACK_BZIP2)
        i->bzip2->end(&i->bz);
    i->live = FALSE;
}

CtInflate *ct_inflate_new(CtPacking packing)
{
    CtInflate *i = g_new0(CtInflate, 1);
    i->packing = packing;
    if (!begin(i)) {
        ct_inflate_free(i);
        return NULL;
    }
    return i;
}

void ct_inflate_free(CtInflate *inflate)
{
    if (!inflate)
        return;
    end(inflate);
    g_free(inflate);
}

gboolean ct_inflate_again(CtInflate *inflate)
{
    end(inflate);
    return begin(inflate);
}

static CtInflateResult run_gzip(CtInflate *i, const guint8 **in, gsize *in_len, guint8 **out,
                                gsize *out_len)
{
    i->z.next_in = (Bytef *)*in;
    i->z.avail_in = (uInt)*in_len;
    i->z.next_out = *out;
    i->z.avail_out = (uInt)*out_len;
    int rc = inflate(&i->z, Z_NO_FLUSH);
    *in = i->z.next_in;
    *in_len = i->z.avail_in;
    *out = i->z.next_out;
    *out_len = i->z.avail_out;
    if (rc == Z_STREAM_END)
        return CT_INFLATE_END;
    return rc == Z_OK || rc == Z_BUF_ERROR ? CT_INFLATE_OK : CT_INFLATE_DAMAGED;
}

static CtInflateResult run_xz(CtInflate *i, const guint8 **in, gsize *in_len, guint8 **out,
                              gsize *out_len)
{
    i->xz.next_in = *in;
    i->xz.avail_in = *in_len;
    i->xz.next_out = *out;
    i->xz.avail_out = *out_len;
    lzma_ret rc = lzma_code(&i->xz, LZMA_RUN);
    *in = i->xz.next_in;
    *in_len = i->xz.avail_in;
    *out = i->xz.next_out;
    *out_len = i->xz.avail_out;
    if (rc == LZMA_STREAM_END)
        return CT_INFLATE_END;
    return rc == LZMA_OK || rc == LZMA_BUF_ERROR ? CT_INFLATE_OK : CT_INFLATE_DAMAGED;
}

static CtInflateResult run_zstd(CtInflate *i, const guint8 **in, gsize *in_len, guint8 **out,
                                gsize *out_len)
{
    ZSTD_inBuffer from = {*in, *in_len, 0};
    ZSTD_outBuffer to = {*out, *out_len, 0};
    gsize rc = ZSTD_decompressStream(i->zstd, &to, &from);
    *in += from.pos;
    *in_len -= from.pos;
    *out += to.pos;
    *out_len -= to.pos;
    if (ZSTD_isError(rc))
        return CT_INFLATE_DAMAGED;
    return rc == 0 ? CT_INFLATE_END : CT_INFLATE_OK;
}

static CtInflateResult run_bzip2(CtInflate *i, const guint8 **in, gsize *in_len, guint8 **out,
                                 gsize *out_len)
{
    i->bz.next_in = (char *)*in;
    i->bz.avail_in = (unsigned)*in_len;
    i->bz.next_out = (char *)*out;
    i->bz.avail_out = (unsigned)*out_len;
    int rc = i->bzip2->run(&i->bz);
    *in = (const guint8 *)i->bz.next_in;
    *in_len = i->bz.avail_in;
    *out = (guint8 *)i->bz.next_out;
    *out_len = i->bz.avail_out;
    if (rc == 4) /* BZ_STREAM_END */
        return CT_INFLATE_END;
    return rc == 0 ? CT_INFLATE_OK : CT_INFLATE_DAMAGED;
}

CtInflateResult ct_inflate_run(CtInflate *inflate, const guint8 **in, gsize *in_len, guint8 **out,
                               gsize *out_len)
{
    switch (inflate->packing) {
    case CT_PACK_GZIP:
        return run_gzip(inflate, in, in_len, out, out_len);
    case CT_PACK_XZ:
        return run_xz(inflate, in, in_len, out, out_len);
    case CT_PACK_ZSTD:
        return run_zstd(inflate, in, in_len, out, out_len);
    case CT_PACK_BZIP2:
        return run_bzip2(inflate, in, in_len, out, out_len);
    case CT_PACK_NONE:
        break;
    }
    return CT_INFLATE_DAMAGED;
}
