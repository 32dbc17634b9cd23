/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Libraries of the GPU stack on the library path: what each file is, and which one the loader
 * takes for its soname (LD_LIBRARY_PATH, then the loader's cache, then the default folders).
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "collect/live/elf.h"
#include "collect/live/ldcache.h"
#include "collect/live/live.h"
#include "collect/live/sites.h"

#define MAX_LIBRARIES 600u
#define MAX_CACHE ((gsize)8 * 1024 * 1024)
#define MAX_HASHED ((guint64)8 << 30)

typedef struct {
    CtLive *live;
    GHashTable *cache;   /* soname -> path */
    GPtrArray *search;   /* folders of LD_LIBRARY_PATH */
    GPtrArray *folders;  /* all to look at, in the order of search */
    GHashTable *seen;    /* real paths */
    GHashTable *searched; /* folders, without links, where the loader looks by itself */
    GHashTable *hashes;  /* "path size mtime" -> sha256, of earlier runs */
    guint n;
    gboolean no_cache;
} Libraries;

static gboolean wanted(const char *name)
{
    static const char *const begins[] = {
        "libcuda.so", "libnvidia-ml.so", "libnvidia-ptxjitcompiler.so", "libcudart.so",
        "libcublas.so", "libcublasLt.so", "libcudnn", "libnvinfer", "libnvonnxparser.so",
        "libnccl.so", "libcufft.so", "libcusolver.so", "libcusparse.so", "libcurand.so", "libnvrtc.so",
        "libnvJitLink.so", "libnppc.so", "libopencv_core.so", "libopencv_dnn.so",
        "libopencv_cuda", "libtorch.so", "libtorch_cuda.so", "libtorch_cpu.so", "libc10_cuda.so",
        "libonnxruntime", "libtensorflow_framework.so", "libtensorflow_cc.so", "libcupti.so",
        "libtritonserver.so", "libnvds_infer.so", "libnvdsgst_meta.so", "libnvrm_gpu.so",
        "libnvidia-rmapi-tegra.so", "libnvcuvid.so", "libnvidia-encode.so", "libnvshmem_host.so",
        "libcudadebugger.so", "libnvToolsExt.so", "libnvvpi.so", "libgomp.so", "libdxcore.so",
    };
    if (!strstr(name, ".so"))
        return FALSE;
    for (gsize i = 0; i < G_N_ELEMENTS(begins); i++)
        if (g_str_has_prefix(name, begins[i]))
            return TRUE;
    return FALSE;
}

/* "libcudnn.so.9.3.0" -> "9.3.0". The driver's libraries of a Jetson have no release in the name:
 * libcuda.so.1.1. */
static const char *version_in(const char *name)
{
    const char *at = strstr(name, ".so.");
    gboolean driver = g_str_has_prefix(name, "libcuda.so") || g_str_has_prefix(name, "libnvidia-");
    if (!at || !strchr(at + 4, '.') || at[4 + strspn(at + 4, "0123456789.")])
        return NULL;
    return driver && g_ascii_strtod(at + 4, NULL) < 100 ? NULL : at + 4;
}

static gboolean in_folder(Libraries *l, const char *folder, const char *soname, char **out)
{
    g_autofree char *path = g_build_filename(folder, soname, NULL);
    if (!ct_live_exists(l->live, path))
        return FALSE;
    *out = g_steal_pointer(&path);
    return TRUE;
}

/* What the loader takes for this name; NULL when it finds none. */
static char *taken(Libraries *l, const char *soname)
{
    char *path = NULL;
    for (guint i = 0; i < l->search->len; i++)
        if (in_folder(l, g_ptr_array_index(l->search, i), soname, &path))
            return path;
    const char *cached = g_hash_table_lookup(l->cache, soname);
    if (cached)
        return g_strdup(cached);
    static const char *const defaults[] = {"/lib64", "/usr/lib64", "/lib", "/usr/lib"};
    for (gsize i = 0; i < G_N_ELEMENTS(defaults); i++)
        if (in_folder(l, defaults[i], soname, &path))
            return path;
    /* A copied tree without a cache: the order of ld.so.conf is the best guess. */
    for (guint i = 0; l->no_cache && i < l->folders->len; i++)
        if (in_folder(l, g_ptr_array_index(l->folders, i), soname, &path))
            return path;
    return NULL;
}

/* ---- hashes ---- */

static char *hash_cache_path(void)
{
    return g_build_filename(g_get_user_cache_dir(), "cutriage", "sha256.tsv", NULL);
}

static void load_hashes(Libraries *l)
{
    g_autofree char *path = hash_cache_path(), *text = NULL;
    if (ct_live_sysroot(l->live) || !g_file_get_contents(path, &text, NULL, NULL))
        return;
    g_auto(GStrv) lines = g_strsplit(text, "\n", 20000);
    for (guint i = 0; lines[i]; i++) {
        char *tab = strchr(lines[i], '\t');
        if (tab && strlen(tab + 1) == 64) {
            *tab = '\0';
            g_hash_table_insert(l->hashes, g_strdup(lines[i]), g_strdup(tab + 1));
        }
    }
}

static void store_hash(const char *key, const char *sha)
{
    g_autofree char *path = hash_cache_path(), *folder = g_path_get_dirname(path);
    if (g_mkdir_with_parents(folder, 0700) != 0)
        return;
    FILE *f = fopen(path, "ae");
    if (!f)
        return;
    fprintf(f, "%s\t%s\n", key, sha);
    fclose(f);
}

static char *hash_of(Libraries *l, const char *real, const struct stat *st, int fd)
{
    g_autofree char *key = g_strdup_printf("%s %" G_GINT64_FORMAT " %" G_GINT64_FORMAT ".%09ld", real,
                                           (gint64)st->st_size, (gint64)st->st_mtim.tv_sec,
                                           st->st_mtim.tv_nsec);
    const char *known = g_hash_table_lookup(l->hashes, key);
    if (known)
        return g_strdup(known);
    if ((guint64)st->st_size > MAX_HASHED || lseek(fd, 0, SEEK_SET) < 0)
        return NULL;
    g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA256);
    g_autofree guint8 *block = g_malloc(1 << 20);
    gssize n;
    while ((n = read(fd, block, 1 << 20)) > 0 && ct_live_left_ms(l->live) > 200)
        g_checksum_update(sum, block, n);
    if (n != 0)
        return NULL; /* no time left: rather none than a wrong one */
    if (!ct_live_sysroot(l->live))
        store_hash(key, g_checksum_get_string(sum));
    return g_strdup(g_checksum_get_string(sum));
}

/* ---- one file ---- */

/* A link whose file is gone: the loader passes it over and the program says "cannot open". */
static void dangling(Libraries *l, const char *path)
{
    g_autofree char *target = ct_live_link(l->live, path);
    if (!target || !*target || l->n >= MAX_LIBRARIES || strpbrk(target, " \n") ||
        !g_hash_table_add(l->seen, g_strdup(path)))
        return;
    g_autofree char *home = g_path_get_dirname(path), *place = ct_live_real(l->live, home);
    g_autofree char *whole =
        *target == '/' ? g_strdup(target) : g_build_filename(home, target, NULL);
    g_autofree char *aim = g_path_get_dirname(whole);
    /* A copied tree need not hold the folder where the link leads to. */
    if (ct_live_sysroot(l->live) && !ct_live_exists(l->live, aim))
        return;
    gboolean searched = place && g_hash_table_contains(l->searched, place);
    ct_live_printf(l->live, "library %s missing=%s searched=%s\n", path, target,
                   searched ? "yes" : "no");
    l->n++;
}

static void file(Libraries *l, const char *folder, const char *name)
{
    struct stat st;
    CtElfName elf = {0};
    g_autofree char *path = g_build_filename(folder, name, NULL);
    char *real = ct_live_real(l->live, path);
    if (!real)
        dangling(l, path);
    if (!real || l->n >= MAX_LIBRARIES || !g_hash_table_add(l->seen, real))
        return;
    int fd = ct_live_open(l->live, path);
    if (fd < 0)
        return;
    gboolean is_elf = ct_elf_name(fd, &elf);
    if (ct_live_stat(l->live, path, &st) != 0)
        memset(&st, 0, sizeof(st));
    const char *base = strrchr(real, '/') + 1;
    const char *soname = elf.soname[0] ? elf.soname : NULL;
    g_autofree char *guess = NULL;
    if (!soname && strstr(base, ".so.")) { /* an empty stand-in of a copied tree */
        const char *at = strstr(base, ".so.") + 4;
        /* the driver's own libraries are .so.1 whatever their release */
        guess = g_ascii_strtod(at, NULL) >= 100
                    ? g_strdup_printf("%.*s1", (int)(at - base), base)
                    : g_strndup(base, (gsize)(at - base) + strcspn(at, "."));
        soname = guess;
    }
    g_autofree char *choice = soname ? taken(l, soname) : NULL;
    g_autofree char *chosen = choice ? ct_live_real(l->live, choice) : NULL;
    gboolean loader = g_strcmp0(chosen, real) == 0;
    ct_live_printf(l->live, "library %s", loader ? choice : path);
    if (soname)
        ct_live_printf(l->live, " soname=%s", soname);
    if (version_in(base))
        ct_live_printf(l->live, " version=%s", version_in(base));
    if (elf.build_id[0])
        ct_live_printf(l->live, " build-id=%s", elf.build_id);
    if (is_elf && elf.machine)
        ct_live_printf(l->live, " machine=%s", elf.machine);
    ct_live_printf(l->live, " size=%" G_GINT64_FORMAT " mtime=%" G_GINT64_FORMAT, (gint64)st.st_size,
                   (gint64)st.st_mtim.tv_sec);
    g_autofree char *sha = ct_live_hash(l->live) ? hash_of(l, real, &st, fd) : NULL;
    if (sha)
        ct_live_printf(l->live, " sha256=%s", sha);
    g_autofree char *home = g_path_get_dirname(path), *place = ct_live_real(l->live, home);
    gboolean searched = place && g_hash_table_contains(l->searched, place);
    ct_live_printf(l->live, " loader=%s searched=%s real=%s\n", loader ? "yes" : "no",
                   searched ? "yes" : "no", real);
    close(fd);
    l->n++;
}

/* ---- folders ---- */

static void add_searched(Libraries *l, const char *folder)
{
    char *real = *folder == '/' ? ct_live_real(l->live, folder) : NULL;
    if (real)
        g_hash_table_add(l->searched, real);
}

static void add_folder(GPtrArray *list, const char *folder)
{
    if (*folder != '/')
        return;
    for (guint i = 0; i < list->len; i++)
        if (strcmp(g_ptr_array_index(list, i), folder) == 0)
            return;
    g_ptr_array_add(list, g_strdup(folder));
}

static void add_glob(Libraries *l, const char *pattern)
{
    g_autoptr(GPtrArray) all = ct_live_glob(l->live, pattern);
    for (guint i = 0; i < all->len && i < 64; i++)
        add_folder(l->folders, g_ptr_array_index(all, i));
}

static void from_conf(Libraries *l)
{
    g_autoptr(GPtrArray) files = ct_live_glob(l->live, "/etc/ld.so.conf.d/*.conf");
    g_ptr_array_insert(files, 0, g_strdup("/etc/ld.so.conf"));
    for (guint i = 0; i < files->len && i < 200; i++) {
        g_autofree char *text = NULL;
        ct_live_read(l->live, g_ptr_array_index(files, i), 65536, &text, NULL);
        g_auto(GStrv) lines = text ? g_strsplit(text, "\n", 200) : NULL;
        for (guint k = 0; lines && lines[k]; k++) {
            add_folder(l->folders, g_strstrip(lines[k]));
            add_searched(l, lines[k]);
        }
    }
}

static void find_folders(Libraries *l)
{
    static const char *const usual[] = {
        "/usr/local/cuda*/lib64", "/usr/local/cuda*/targets/*/lib", "/usr/local/cuda*/compat",
        "/usr/local/cuda*/compat/lib*", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
        "/usr/lib/aarch64-linux-gnu/tegra", "/usr/lib/aarch64-linux-gnu/nvidia", "/usr/lib64",
        "/usr/lib", "/usr/local/lib", "/usr/lib/wsl/lib", "/opt/nvidia/deepstream/deepstream*/lib",
        "/opt/tritonserver/lib", "/usr/lib/x86_64-linux-gnu/nvidia/current", "/opt/tensorrt/lib",
        "/usr/local/tensorrt/lib", "/usr/local/TensorRT*/lib"};
    g_autofree char *search = ct_live_getenv(l->live, "LD_LIBRARY_PATH");
    g_auto(GStrv) parts = search ? g_strsplit(search, ":", 64) : NULL;
    for (guint i = 0; parts && parts[i]; i++) {
        add_folder(l->search, parts[i]);
        add_folder(l->folders, parts[i]);
        add_searched(l, parts[i]);
    }
    static const char *const defaults[] = {"/lib", "/lib64", "/usr/lib", "/usr/lib64"};
    for (gsize i = 0; i < G_N_ELEMENTS(defaults); i++)
        add_searched(l, defaults[i]);
    GHashTableIter iter;
    gpointer name, path;
    g_hash_table_iter_init(&iter, l->cache);
    while (g_hash_table_iter_next(&iter, &name, &path)) {
        if (!wanted(name))
            continue;
        g_autofree char *folder = g_path_get_dirname(path);
        add_folder(l->folders, folder);
        add_searched(l, folder);
    }
    from_conf(l);
    for (gsize i = 0; i < G_N_ELEMENTS(usual); i++)
        add_glob(l, usual[i]);
    g_autoptr(GPtrArray) sites = ct_live_python_sites(l->live);
    for (guint i = 0; i < sites->len; i++) {
        static const char *const below[] = {"nvidia/*/lib", "torch/lib", "tensorrt_libs", "tensorrt",
                                            "onnxruntime/capi", "tensorflow"};
        for (gsize k = 0; k < G_N_ELEMENTS(below); k++) {
            g_autofree char *pattern =
                g_build_filename(g_ptr_array_index(sites, i), below[k], NULL);
            add_glob(l, pattern);
        }
    }
}

static void run(CtLive *live)
{
    g_autofree char *bytes = NULL;
    gsize len = 0;
    ct_live_read(live, "/etc/ld.so.cache", MAX_CACHE, &bytes, &len);
    Libraries l = {
        .live = live,
        .cache = ct_ldcache_parse((const guint8 *)(bytes ? bytes : ""), len),
        .search = g_ptr_array_new_with_free_func(g_free),
        .folders = g_ptr_array_new_with_free_func(g_free),
        .seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
        .searched = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
        .hashes = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free),
    };
    l.no_cache = g_hash_table_size(l.cache) == 0;
    if (ct_live_hash(live))
        load_hashes(&l);
    find_folders(&l);
    ct_live_begin(live, "libraries", "ldconfig -p");
    for (guint i = 0; i < l.folders->len; i++) {
        g_autoptr(GPtrArray) names = ct_live_list(live, g_ptr_array_index(l.folders, i), NULL);
        for (guint k = 0; k < names->len; k++)
            if (wanted(g_ptr_array_index(names, k)))
                file(&l, g_ptr_array_index(l.folders, i), g_ptr_array_index(names, k));
    }
    ct_live_end(live, l.n < MAX_LIBRARIES ? CT_OK : CT_TRUNCATED, NULL);
}

const CtCollector ct_collector_libraries = {
    .id = "libraries",
    .layer = "user-driver",
    .title = "libraries of the GPU stack and which one the loader takes",
    .budget_ms = 15000,
    .flags = CT_COLLECTOR_HASH_BUDGET, /* --hash takes seconds; the rest milliseconds */
    .run = run,
};
