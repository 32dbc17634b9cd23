/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which libraries the loader would give to a program that the person named: as `ldd` prints it, but
 * from the files alone. ldd starts the program's own interpreter, which a stranger's file decides.
 */
#include <string.h>
#include <unistd.h>

#include "collect/live/elf.h"
#include "collect/live/ldcache.h"
#include "collect/live/live.h"

#define MAX_FILES 400u
#define MAX_FIRST_LINE 512u
#define MAX_CACHE ((gsize)8 * 1024 * 1024)

typedef struct {
    CtLive *live;
    GHashTable *cache;  /* soname -> path */
    GPtrArray *search;  /* folders of LD_LIBRARY_PATH */
    GHashTable *seen;   /* sonames that were told */
    GPtrArray *queue;   /* char *: files whose needs are to be looked at */
} Loader;

static char *in_folder(Loader *l, const char *folder, const char *soname)
{
    g_autofree char *path = g_build_filename(folder, soname, NULL);
    return ct_live_exists(l->live, path) ? g_steal_pointer(&path) : NULL;
}

/* Folders of DT_RUNPATH; $ORIGIN is the folder of the file itself. */
static char *in_runpath(Loader *l, const char *runpath, const char *file, const char *soname)
{
    g_autofree char *origin = g_path_get_dirname(file);
    g_auto(GStrv) parts = g_strsplit(runpath ? runpath : "", ":", 64);
    for (char **p = parts; *p; p++) {
        const char *rest = g_str_has_prefix(*p, "$ORIGIN")     ? *p + 7
                           : g_str_has_prefix(*p, "${ORIGIN}") ? *p + 9
                                                               : NULL;
        g_autofree char *folder = rest ? g_strconcat(origin, rest, NULL) : g_strdup(*p);
        char *found = *folder ? in_folder(l, folder, soname) : NULL;
        if (found)
            return found;
    }
    return NULL;
}

/* What the loader takes; NULL when it finds none. (transfer full) */
static char *taken(Loader *l, const CtElfNeeds *needs, const char *file, const char *soname)
{
    static const char *const defaults[] = {"/lib64", "/usr/lib64", "/lib", "/usr/lib",
                                           "/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu",
                                           "/lib/aarch64-linux-gnu", "/usr/lib/aarch64-linux-gnu"};
    char *path = NULL;
    if (strchr(soname, '/'))
        return ct_live_exists(l->live, soname) ? g_strdup(soname) : NULL;
    for (guint i = 0; i < l->search->len && !path; i++)
        path = in_folder(l, g_ptr_array_index(l->search, i), soname);
    if (!path)
        path = in_runpath(l, needs->runpath, file, soname);
    const char *cached = path ? NULL : g_hash_table_lookup(l->cache, soname);
    if (cached)
        path = g_strdup(cached);
    for (gsize i = 0; i < G_N_ELEMENTS(defaults) && !path; i++)
        path = in_folder(l, defaults[i], soname);
    return path;
}

static void needs_of(Loader *l, const char *file)
{
    g_auto(CtElfNeeds) needs = {0};
    int fd = ct_live_open(l->live, file);
    if (fd < 0)
        return;
    ct_elf_needs(fd, &needs);
    close(fd);
    for (guint i = 0; i < needs.needed->len; i++) {
        const char *soname = g_ptr_array_index(needs.needed, i);
        if (g_str_has_prefix(soname, "ld-linux") || !g_hash_table_add(l->seen, g_strdup(soname)))
            continue;
        g_autofree char *path = taken(l, &needs, file, soname);
        ct_live_printf(l->live, "\t%s => %s\n", soname, path ? path : "not found");
        if (path && l->queue->len < MAX_FILES)
            g_ptr_array_add(l->queue, g_steal_pointer(&path));
    }
}

/* The interpreter in the first line of a script; "env" is looked up as it would do. (transfer full) */
static char *interpreter(Loader *l, const char *path)
{
    g_autofree char *bytes = NULL;
    gsize len = 0;
    ct_live_read(l->live, path, MAX_FIRST_LINE, &bytes, &len);
    if (!bytes || len < 3 || strncmp(bytes, "#!", 2) != 0)
        return NULL;
    g_autofree char *line = g_strndup(bytes + 2, strcspn(bytes + 2, "\r\n"));
    g_auto(GStrv) words = g_strsplit_set(g_strstrip(line), " \t", 3);
    if (!words[0])
        return NULL;
    if (!g_str_has_suffix(words[0], "/env") || !words[1])
        return g_strdup(words[0]);
    char *found = in_folder(l, "/usr/local/bin", words[1]);
    return found ? found : in_folder(l, "/usr/bin", words[1]);
}

static gboolean is_elf(Loader *l, const char *path)
{
    CtElfName name;
    int fd = ct_live_open(l->live, path);
    gboolean elf = fd >= 0 && ct_elf_name(fd, &name);
    if (fd >= 0)
        close(fd);
    return elf;
}

/* The program and, in turn, what it loads. */
static void look(Loader *l, const char *given)
{
    g_autofree char *by = is_elf(l, given) ? NULL : interpreter(l, given);
    const char *path = by ? by : given;
    if (!is_elf(l, path))
        return;
    g_autofree char *quoted = g_shell_quote(path);
    g_autofree char *command = g_strdup_printf("ldd %s", quoted);
    g_hash_table_remove_all(l->seen);
    g_ptr_array_set_size(l->queue, 0);
    g_ptr_array_add(l->queue, g_strdup(path));
    ct_live_begin(l->live, path, command);
    for (guint i = 0; i < l->queue->len && ct_live_left_ms(l->live) > 100; i++) {
        g_autofree char *file = g_strdup(g_ptr_array_index(l->queue, i));
        needs_of(l, file);
    }
    ct_live_end(l->live, l->queue->len < MAX_FILES ? CT_OK : CT_TRUNCATED, NULL);
}

static void run(CtLive *live)
{
    const char *const *paths = ct_live_paths(live);
    g_autofree char *bytes = NULL;
    gsize len = 0;
    if (!paths || !*paths)
        return;
    ct_live_read(live, "/etc/ld.so.cache", MAX_CACHE, &bytes, &len);
    Loader l = {
        .live = live,
        .cache = ct_ldcache_parse((const guint8 *)(bytes ? bytes : ""), len),
        .search = g_ptr_array_new_with_free_func(g_free),
        .seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
        .queue = g_ptr_array_new_with_free_func(g_free),
    };
    g_autofree char *search = ct_live_getenv(live, "LD_LIBRARY_PATH");
    g_auto(GStrv) parts = g_strsplit(search ? search : "", ":", 64);
    for (char **p = parts; *p; p++)
        if (**p)
            g_ptr_array_add(l.search, g_strdup(*p));
    for (; *paths; paths++) {
        g_autofree char *full = g_canonicalize_filename(*paths, NULL);
        look(&l, full);
    }
}

const CtCollector ct_collector_program = {
    .id = "program",
    .layer = "runtime",
    .title = "libraries that the loader gives to a program",
    .run = run,
};
