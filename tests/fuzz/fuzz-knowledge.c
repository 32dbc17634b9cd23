/* SPDX-License-Identifier: Apache-2.0 */
/* A knowledge folder of somebody else: one file, taken as signatures, cause and table in turn. */
#include <glib.h>
#include <glib/gstdio.h>

#include "kb/kb.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    static const char *const places[] = {"signatures/x.yaml", "causes/memory/x.yaml",
                                         "codes/x.tsv", "vocabulary.tsv"};
    static char *folder;
    if (!folder) {
        folder = g_dir_make_tmp("fuzz-knowledge-XXXXXX", NULL);
        g_autofree char *causes = g_build_filename(folder, "causes", "memory", NULL);
        g_autofree char *signatures = g_build_filename(folder, "signatures", NULL);
        g_autofree char *codes = g_build_filename(folder, "codes", NULL);
        g_mkdir_with_parents(causes, 0700);
        g_mkdir_with_parents(signatures, 0700);
        g_mkdir_with_parents(codes, 0700);
    }
    for (gsize i = 0; i < G_N_ELEMENTS(places); i++) {
        g_autofree char *path = g_build_filename(folder, places[i], NULL);
        g_file_set_contents(path, (const char *)data, (gssize)size, NULL);
        CtKb *kb = ct_kb_open_folder(folder, NULL);
        if (kb)
            ct_kb_free(kb);
        g_unlink(path);
    }
    return 0;
}
