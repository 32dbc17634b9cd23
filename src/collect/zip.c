/* SPDX-License-Identifier: Apache-2.0 */
/* Zip archives through libzip, which is opened when the first one is met. */
#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

#include "collect/archive.h"

#define MAX_MEMBERS 100000

typedef struct {
    void *(*fdopen)(int, int, int *);
    gint64 (*count)(void *, guint32);
    const char *(*name)(void *, guint64, guint32);
    void *(*open)(void *, guint64, guint32);
    gint64 (*read)(void *, void *, guint64);
    int (*close)(void *);
    void (*discard)(void *);
} Library;

static const Library *library(void)
{
    static Library lib;
    static gsize once;
    if (g_once_init_enter(&once)) {
        void *so = dlopen("libzip.so.4", RTLD_NOW | RTLD_LOCAL);
        if (!so)
            so = dlopen("libzip.so.5", RTLD_NOW | RTLD_LOCAL);
        if (so) {
            *(void **)&lib.fdopen = dlsym(so, "zip_fdopen");
            *(void **)&lib.count = dlsym(so, "zip_get_num_entries");
            *(void **)&lib.name = dlsym(so, "zip_get_name");
            *(void **)&lib.open = dlsym(so, "zip_fopen_index");
            *(void **)&lib.read = dlsym(so, "zip_fread");
            *(void **)&lib.close = dlsym(so, "zip_fclose");
            *(void **)&lib.discard = dlsym(so, "zip_discard");
        }
        g_once_init_leave(&once, 1);
    }
    return lib.fdopen && lib.count && lib.name && lib.open && lib.read && lib.close && lib.discard
               ? &lib
               : NULL;
}

gboolean ct_is_zip(const guint8 *head, gsize len)
{
    return len >= 4 && (memcmp(head, "PK\3\4", 4) == 0 || memcmp(head, "PK\5\6", 4) == 0);
}

typedef struct {
    const Library *lib;
    void *file; /* NULL: it could not be opened */
} Member;

static gssize read_member(gpointer user, void *buf, gsize cap)
{
    Member *m = user;
    return m->file ? (gssize)m->lib->read(m->file, buf, cap) : -1;
}

/* Weights, arrays, office documents and Java archives are zips too. */
static gboolean foreign(const Library *lib, void *zip, gint64 n)
{
    gint64 arrays = 0;
    for (gint64 i = 0; i < MIN(n, 64); i++) {
        const char *name = lib->name(zip, (guint64)i, 0);
        if (!name)
            continue;
        if (g_str_has_suffix(name, "/data.pkl") || g_str_equal(name, "[Content_Types].xml") ||
            g_str_has_prefix(name, "META-INF/MANIFEST"))
            return TRUE;
        arrays += g_str_has_suffix(name, ".npy");
    }
    return arrays > 0 && arrays == MIN(n, 64);
}

CtArchiveEnd ct_zip_walk(int fd, CtMemberFunc func, gpointer user)
{
    const Library *lib = library();
    int error;
    if (!lib)
        return CT_ARCHIVE_NO_LIBRARY;
    int own = dup(fd);
    void *zip = own >= 0 ? lib->fdopen(own, 0, &error) : NULL;
    if (!zip) {
        if (own >= 0)
            close(own);
        return CT_ARCHIVE_DAMAGED;
    }
    gint64 n = lib->count(zip, 0);
    CtArchiveEnd end = CT_ARCHIVE_DONE;
    if (foreign(lib, zip, n))
        end = CT_ARCHIVE_NO_TEXT;
    else if (n > MAX_MEMBERS)
        end = CT_ARCHIVE_TRUNCATED;
    gboolean go_on = end != CT_ARCHIVE_NO_TEXT;
    for (gint64 i = 0; go_on && i < MIN(n, MAX_MEMBERS); i++) {
        const char *name = lib->name(zip, (guint64)i, 0);
        if (!name || !*name || name[strlen(name) - 1] == '/')
            continue;
        Member m = {lib, lib->open(zip, (guint64)i, 0)};
        CtStream *inner = ct_stream_new_from(read_member, &m);
        go_on = func(name, inner, user);
        ct_stream_free(inner);
        if (m.file)
            lib->close(m.file);
    }
    lib->discard(zip);
    return end;
}
