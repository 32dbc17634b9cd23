/* SPDX-License-Identifier: Apache-2.0 */
/* A knowledge folder made for one test. */
#pragma once

#include <glib.h>
#include <glib/gstdio.h>

static inline char *kb_folder_new(void)
{
    char *folder = g_dir_make_tmp("cutriage-kb-XXXXXX", NULL);
    static const char *const subs[] = {"codes",  "compat",          "signatures",
                                       "causes", "causes/hardware", "causes/memory"};
    for (guint i = 0; i < G_N_ELEMENTS(subs); i++) {
        g_autofree char *path = g_build_filename(folder, subs[i], NULL);
        g_mkdir(path, 0700);
    }
    return folder;
}

static inline void kb_folder_put(const char *folder, const char *name, const char *text)
{
    g_autofree char *path = g_build_filename(folder, name, NULL);
    g_file_set_contents(path, text, -1, NULL);
}

static inline void kb_remove_tree(const char *path)
{
    g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
    const char *name;
    while (dir && (name = g_dir_read_name(dir))) {
        g_autofree char *full = g_build_filename(path, name, NULL);
        if (g_file_test(full, G_FILE_TEST_IS_DIR) && !g_file_test(full, G_FILE_TEST_IS_SYMLINK))
            kb_remove_tree(full);
        else
            g_remove(full);
    }
    g_rmdir(path);
}

static inline void kb_folder_free(char *folder)
{
    kb_remove_tree(folder);
    g_free(folder);
}

/* A cause that is well formed and passes lint; `evidence` is YAML indented by two. */
#define KB_CAUSE(id, layer, evidence)                                                              \
    "cause: " id "\nlayer: " layer "\ntopic: t\n"                                                  \
    "title: {en: Title of " id ", zh: 标题 " id "}\n"                                              \
    "about: {en: What happens., zh: 发生了什么。}\n"                                         \
    "prior: normal\naction: {do: drain, owner: hardware, urgency: now}\n"                          \
    "keywords: [some words, 一些词]\nevidence:\n" evidence "next:\n  - test: look-" id             \
    "\n    run: cat " id "\n    cost: 2 min\n"                                                     \
    "    say: {en: Look at " id ", zh: 看 " id "}\n"                                               \
    "    tells:\n      - {cause: " id ", when: {en: it is there, zh: 有}}\n"                      \
    "      - {cause: unknown, when: {en: it is not, zh: 没有}}\n"                                \
    "fix:\n  - {en: Mend " id ", zh: 修复 " id "}\n"                                               \
    "verify:\n  - {en: Run " id " again, zh: 重跑 " id "}\nrefs: [a book]\n"

#define KB_VOCABULARY                                                                              \
    "class\tname\tmeaning\nevent\txid\tan Xid\nevent\tcuda-error\ta CUDA error\n"                  \
    "fact\tversion.driver\tdriver\nfact\tenv.*\tenvironment\nfinding\tmemory-growth\tgrowth\n"     \
    "coverage\tkernel-log\tkernel messages\nseries\tlatency\tns\n"
