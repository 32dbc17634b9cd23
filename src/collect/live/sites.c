/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/live/sites.h"

#include <string.h>

#define MAX_SITES 64u

typedef struct {
    CtLive *live;
    GPtrArray *sites;
    GHashTable *seen;
} Sites;

static void add(Sites *s, const char *folder)
{
    struct stat st;
    char *real = ct_live_real(s->live, folder);
    if (!real || s->sites->len >= MAX_SITES || ct_live_stat(s->live, folder, &st) != 0 ||
        !S_ISDIR(st.st_mode)) {
        g_free(real);
        return;
    }
    if (g_hash_table_add(s->seen, real))
        g_ptr_array_add(s->sites, g_strdup(folder));
}

static void below(Sites *s, const char *prefix)
{
    static const char *const tails[] = {"lib/python3*/site-packages", "lib/python3*/dist-packages",
                                        "lib64/python3*/site-packages"};
    for (gsize i = 0; prefix && *prefix == '/' && i < G_N_ELEMENTS(tails); i++) {
        g_autofree char *pattern = g_build_filename(prefix, tails[i], NULL);
        g_autoptr(GPtrArray) all = ct_live_glob(s->live, pattern);
        for (guint k = 0; k < all->len; k++)
            add(s, g_ptr_array_index(all, k));
    }
}

GPtrArray *ct_live_python_sites(CtLive *live)
{
    static const char *const usual[] = {"/usr/local", "/usr", "/opt/venv", "/opt/conda", "/venv",
                                        "/opt/*"};
    static const char *const variables[] = {"VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONUSERBASE"};
    Sites s = {live, g_ptr_array_new_with_free_func(g_free),
               g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL)};
    for (gsize i = 0; i < G_N_ELEMENTS(variables); i++) {
        g_autofree char *prefix = ct_live_getenv(live, variables[i]);
        below(&s, prefix);
    }
    g_autofree char *paths = ct_live_getenv(live, "PYTHONPATH");
    g_auto(GStrv) parts = paths ? g_strsplit(paths, ":", 32) : NULL;
    for (guint i = 0; parts && parts[i]; i++)
        if (*parts[i] == '/' && strstr(parts[i], "-packages"))
            add(&s, parts[i]);
    g_autofree char *home = ct_live_getenv(live, "HOME");
    g_autofree char *local = home ? g_build_filename(home, ".local", NULL) : NULL;
    below(&s, local);
    for (gsize i = 0; i < G_N_ELEMENTS(usual); i++)
        below(&s, usual[i]);
    /* Of a copied tree nobody knows whose shell will run the program. */
    static const char *const homes[] = {"/root/.local", "/home/*/.local", "/root/*env*", "/home/*/*env*",
                                        "/root/*conda*", "/home/*/*conda*", "/home/*/*conda*/envs/*"};
    for (gsize i = 0; ct_live_sysroot(live) && i < G_N_ELEMENTS(homes); i++)
        below(&s, homes[i]);
    g_hash_table_unref(s.seen);
    return s.sites;
}
