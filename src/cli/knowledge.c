/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/knowledge.h"

#include "base/error.h"
#include "cli/cli.h"
#include "kb/compile.h"
#include "report/layout.h"

#define MAX_TOLD 20u

static void tell(const GPtrArray *problems, const char *folder)
{
    for (guint i = 0; i < problems->len && i < MAX_TOLD; i++) {
        const CtKbProblem *p = g_ptr_array_index(problems, i);
        g_autofree char *line = ct_kb_problem_format(p, folder);
        g_autofree char *clean = ct_text_clean(line);
        ct_cli_note("%s%s", clean, p->warning ? "" : ", left out");
    }
    if (problems->len > MAX_TOLD)
        ct_cli_note("and %u more problems in %s", problems->len - MAX_TOLD, folder);
}

static gboolean has_rules(const CtKb *kb)
{
    sqlite3_stmt *st = NULL;
    gboolean found = FALSE;
    if (sqlite3_prepare_v2(ct_kb_db(kb),
                           "SELECT 1 WHERE EXISTS (SELECT 1 FROM cause) OR "
                           "EXISTS (SELECT 1 FROM signature)",
                           -1, &st, NULL) == SQLITE_OK)
        found = sqlite3_step(st) == SQLITE_ROW;
    sqlite3_finalize(st);
    return found;
}

/* A file beside the folders causes and signatures is not looked at: a slip worth telling. */
static void tell_misplaced(const char *folder)
{
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    const char *name;
    while (dir && (name = g_dir_read_name(dir))) {
        if (!g_str_has_suffix(name, ".yaml") && !g_str_has_suffix(name, ".yml"))
            continue;
        g_autofree char *clean = ct_text_clean(name);
        ct_cli_note("%s/%s: belongs in causes/LAYER/ or signatures/, left out", folder, clean);
    }
}

CtKb *ct_cli_knowledge(const char *folder, GError **error)
{
    if (!folder)
        return ct_kb_open(error);
    g_autoptr(GPtrArray) problems = NULL;
    g_autoptr(CtKb) kb = ct_kb_open_collect(folder, &problems, error);
    if (problems)
        tell(problems, folder);
    if (!kb)
        return NULL;
    tell_misplaced(folder);
    if (has_rules(kb))
        return g_steal_pointer(&kb);
    g_set_error(error, CT_ERROR, CT_ERROR_CORRUPT,
                "no causes or signatures in %s that could be used; they stand in its folders "
                "causes and signatures",
                folder);
    return NULL;
}
