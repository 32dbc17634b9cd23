/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file system of one read-only file, the image inside the program, for an SQLite that was built
 * without sqlite3_deserialize.
 */
#include "kb/image-vfs.h"

#include <string.h>

#include "kb/image.h"

static int no_op(sqlite3_file *file)
{
    return SQLITE_OK;
}

static int no_lock(sqlite3_file *file, int level)
{
    return SQLITE_OK;
}

static int read_image(sqlite3_file *file, void *out, int amount, sqlite3_int64 offset)
{
    gsize left = offset < (sqlite3_int64)ct_kb_image_size ? ct_kb_image_size - (gsize)offset : 0;
    gsize n = MIN((gsize)amount, left);
    if (n)
        memcpy(out, ct_kb_image + offset, n);
    if (n == (gsize)amount)
        return SQLITE_OK;
    memset((char *)out + n, 0, (gsize)amount - n);
    return SQLITE_IOERR_SHORT_READ;
}

static int refuse_write(sqlite3_file *file, const void *data, int amount, sqlite3_int64 offset)
{
    return SQLITE_READONLY;
}

static int refuse_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    return SQLITE_READONLY;
}

static int image_bytes(sqlite3_file *file, sqlite3_int64 *out)
{
    *out = (sqlite3_int64)ct_kb_image_size;
    return SQLITE_OK;
}

static int not_reserved(sqlite3_file *file, int *out)
{
    *out = 0;
    return SQLITE_OK;
}

static int no_control(sqlite3_file *file, int op, void *arg)
{
    return SQLITE_NOTFOUND;
}

static int traits(sqlite3_file *file)
{
    return SQLITE_IOCAP_IMMUTABLE;
}

static int open_image(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out)
{
    static const sqlite3_io_methods methods = {
        .iVersion = 1,
        .xClose = no_op,
        .xRead = read_image,
        .xWrite = refuse_write,
        .xTruncate = refuse_truncate,
        .xSync = no_lock,
        .xFileSize = image_bytes,
        .xLock = no_lock,
        .xUnlock = no_lock,
        .xCheckReservedLock = not_reserved,
        .xFileControl = no_control,
        .xDeviceCharacteristics = traits,
    };
    file->pMethods = NULL;
    if (!(flags & SQLITE_OPEN_MAIN_DB))
        return SQLITE_CANTOPEN;
    file->pMethods = &methods;
    if (out)
        *out = SQLITE_OPEN_READONLY;
    return SQLITE_OK;
}

static int not_there(sqlite3_vfs *vfs, const char *name, int flags, int *out)
{
    *out = 0;
    return SQLITE_OK;
}

static int same_name(sqlite3_vfs *vfs, const char *name, int size, char *out)
{
    return g_strlcpy(out, name, (gsize)size) < (gsize)size ? SQLITE_OK : SQLITE_CANTOPEN;
}

int ct_kb_image_open(sqlite3 **out)
{
    static sqlite3_vfs vfs;
    if (!vfs.zName) {
        int rc = sqlite3_initialize();
        if (rc != SQLITE_OK)
            return rc;
        /* Time, randomness and the rest are those of the ordinary one. */
        vfs = *sqlite3_vfs_find(NULL);
        vfs.pNext = NULL;
        vfs.zName = "ct-kb-image";
        vfs.szOsFile = sizeof(sqlite3_file);
        vfs.xOpen = open_image;
        vfs.xAccess = not_there;
        vfs.xFullPathname = same_name;
        sqlite3_vfs_register(&vfs, 0);
    }
    return sqlite3_open_v2("knowledge", out, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, vfs.zName);
}
