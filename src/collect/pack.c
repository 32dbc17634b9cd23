/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/pack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "base/error.h"
#include "base/output.h"

#define BLOCK 512u
#define LEVEL 9

struct CtPack {
    char *path, *temp;
    int fd;
    gboolean force;
    ZSTD_CCtx *ctx;
    guint8 *out;
    gsize out_size;
};

CtPack *ct_pack_open(const char *path, gboolean force, GError **error)
{
    if (!ct_may_write(path, force, error))
        return NULL;
    g_autofree char *temp = g_strconcat(path, ".XXXXXX", NULL);
    int fd = mkostemp(temp, O_CLOEXEC);
    if (fd < 0) {
        ct_error_from_errno(error, errno, "making a file beside %s", path);
        return NULL;
    }
    CtPack *p = g_new0(CtPack, 1);
    p->path = g_strdup(path);
    p->temp = g_steal_pointer(&temp);
    p->fd = fd;
    p->force = force;
    p->ctx = ZSTD_createCCtx();
    ZSTD_CCtx_setParameter(p->ctx, ZSTD_c_compressionLevel, LEVEL);
    ZSTD_CCtx_setParameter(p->ctx, ZSTD_c_checksumFlag, 1);
    p->out_size = ZSTD_CStreamOutSize();
    p->out = g_malloc(p->out_size);
    return p;
}

void ct_pack_free(CtPack *p)
{
    if (!p)
        return;
    if (p->fd >= 0)
        close(p->fd);
    if (p->temp)
        unlink(p->temp);
    ZSTD_freeCCtx(p->ctx);
    g_free(p->out);
    g_free(p->temp);
    g_free(p->path);
    g_free(p);
}

static gboolean write_all(CtPack *p, const guint8 *data, gsize len, GError **error)
{
    while (len) {
        gssize n = write(p->fd, data, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return ct_error_from_errno(error, n ? errno : ENOSPC, "writing %s", p->path);
        data += n;
        len -= (gsize)n;
    }
    return TRUE;
}

static gboolean squeeze(CtPack *p, const void *data, gsize len, ZSTD_EndDirective end, GError **error)
{
    ZSTD_inBuffer in = {data, len, 0};
    for (;;) {
        ZSTD_outBuffer out = {p->out, p->out_size, 0};
        gsize left = ZSTD_compressStream2(p->ctx, &out, &in, end);
        if (ZSTD_isError(left)) {
            g_set_error(error, CT_ERROR, CT_ERROR_INTERNAL, "packing %s: %s", p->path,
                        ZSTD_getErrorName(left));
            return FALSE;
        }
        if (!write_all(p, p->out, out.pos, error))
            return FALSE;
        if (end == ZSTD_e_end ? left == 0 : in.pos == in.size)
            return TRUE;
    }
}

static void header(char block[BLOCK], const char *name, gsize len)
{
    memset(block, 0, BLOCK);
    g_snprintf(block, 100, "%s", name);
    memcpy(block + 100, "0000600", 8);
    memcpy(block + 108, "0000000", 8);
    memcpy(block + 116, "0000000", 8);
    g_snprintf(block + 124, 12, "%011" G_GINT64_MODIFIER "o", (guint64)len);
    g_snprintf(block + 136, 12, "%011" G_GINT64_MODIFIER "o",
               (guint64)(g_get_real_time() / G_USEC_PER_SEC));
    memset(block + 148, ' ', 8);
    block[156] = '0';
    memcpy(block + 257, "ustar\0" "00", 8);
    guint sum = 0;
    for (guint i = 0; i < BLOCK; i++)
        sum += (guint8)block[i];
    g_snprintf(block + 148, 8, "%06o", sum);
    block[155] = ' ';
}

gboolean ct_pack_add(CtPack *p, const char *name, const void *data, gsize len, GError **error)
{
    static const char zeros[BLOCK];
    char block[BLOCK];
    header(block, name, len);
    return squeeze(p, block, BLOCK, ZSTD_e_continue, error) &&
           squeeze(p, data, len, ZSTD_e_continue, error) &&
           (len % BLOCK == 0 || squeeze(p, zeros, BLOCK - len % BLOCK, ZSTD_e_continue, error));
}

gboolean ct_pack_close(CtPack *p, GError **error)
{
    static const char zeros[2 * BLOCK];
    if (!squeeze(p, zeros, sizeof(zeros), ZSTD_e_end, error))
        return FALSE;
    if (fsync(p->fd) != 0)
        return ct_error_from_errno(error, errno, "writing %s", p->path);
    gboolean taken = p->force ? rename(p->temp, p->path) == 0 : link(p->temp, p->path) == 0;
    if (!taken && !p->force && errno != EEXIST) /* a file system without hard links */
        taken = access(p->path, F_OK) != 0 && rename(p->temp, p->path) == 0;
    if (!taken)
        return ct_error_from_errno(error, errno, "writing %s", p->path);
    unlink(p->temp);
    g_clear_pointer(&p->temp, g_free);
    return TRUE;
}
