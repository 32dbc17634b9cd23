/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vectorscan (or hyperscan) at run time: the few declarations that are needed are our own, the
 * library is opened when the first large input asks for it and never linked.
 */
#include "parse/frame/scanner-private.h"

#include <dlfcn.h>

#define FLAG_CASELESS 1u
#define MODE_BLOCK 1u

typedef int (*OnMatch)(unsigned id, unsigned long long from, unsigned long long to,
                       unsigned flags, void *user);

typedef struct {
    int (*compile_lit_multi)(const char *const *, const unsigned *, const unsigned *,
                             const size_t *, unsigned, unsigned, const void *, void **, void **);
    int (*alloc_scratch)(const void *, void **);
    int (*scan)(const void *, const char *, unsigned, unsigned, void *, OnMatch, void *);
    int (*free_scratch)(void *);
    int (*free_database)(void *);
    int (*free_compile_error)(void *);
} Library;

struct CtHsScan {
    void *database, *scratch;
};

static const Library *library(void)
{
    static Library lib;
    static gsize once;
    static gboolean usable;
    if (g_once_init_enter(&once)) {
        void *so = dlopen("libhs.so.5", RTLD_NOW | RTLD_LOCAL);
        if (so) {
            *(void **)&lib.compile_lit_multi = dlsym(so, "hs_compile_lit_multi");
            *(void **)&lib.alloc_scratch = dlsym(so, "hs_alloc_scratch");
            *(void **)&lib.scan = dlsym(so, "hs_scan");
            *(void **)&lib.free_scratch = dlsym(so, "hs_free_scratch");
            *(void **)&lib.free_database = dlsym(so, "hs_free_database");
            *(void **)&lib.free_compile_error = dlsym(so, "hs_free_compile_error");
            usable = lib.compile_lit_multi && lib.alloc_scratch && lib.scan &&
                     lib.free_scratch && lib.free_database && lib.free_compile_error;
        }
        g_once_init_leave(&once, 1);
    }
    return usable ? &lib : NULL;
}

CtHsScan *ct_hs_scan_new(const CtLiteral *literals, guint n)
{
    const Library *lib = library();
    if (!lib)
        return NULL;
    g_autofree const char **text = g_new(const char *, n);
    g_autofree unsigned *flags = g_new(unsigned, n);
    g_autofree unsigned *ids = g_new(unsigned, n);
    g_autofree size_t *lens = g_new(size_t, n);
    for (guint i = 0; i < n; i++) {
        text[i] = literals[i].text;
        flags[i] = literals[i].nocase ? FLAG_CASELESS : 0;
        ids[i] = i;
        lens[i] = literals[i].len;
    }
    CtHsScan *scan = g_new0(CtHsScan, 1);
    void *error = NULL;
    if (lib->compile_lit_multi(text, flags, ids, lens, n, MODE_BLOCK, NULL, &scan->database,
                               &error) != 0 ||
        lib->alloc_scratch(scan->database, &scan->scratch) != 0) {
        if (error)
            lib->free_compile_error(error);
        ct_hs_scan_free(scan);
        return NULL;
    }
    return scan;
}

void ct_hs_scan_free(CtHsScan *scan)
{
    if (!scan)
        return;
    const Library *lib = library();
    if (scan->scratch)
        lib->free_scratch(scan->scratch);
    if (scan->database)
        lib->free_database(scan->database);
    g_free(scan);
}

static int on_match(unsigned id, unsigned long long from, unsigned long long to, unsigned flags,
                    void *user)
{
    CtHit hit = {.end = (guint32)to, .id = id};
    g_array_append_val((GArray *)user, hit);
    return 0;
}

gboolean ct_hs_scan(CtHsScan *scan, const char *data, gsize len, GArray *out_hits)
{
    return library()->scan(scan->database, data, (unsigned)len, 0, scan->scratch, on_match,
                           out_hits) == 0;
}
