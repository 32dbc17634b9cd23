/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kb-calibrate.h"

#include <stdio.h>

#include "base/error.h"
#include "cli/cli.h"
#include "cli/knowledge.h"
#include "cli/gather.h"
#include "reason/calibrate.h"

static CtEvidence *load(char **paths, gpointer user, GError **error)
{
    g_auto(CtGather) g = {.kb = user}; /* opened once, not for every case */
    int code = 0;
    gboolean read = ct_gather("kb", paths, NULL, &g, &code);
    g.kb = NULL;
    if (!read)
        g_set_error(error, CT_ERROR, CT_ERROR_IO, "the evidence cannot be read");
    return read ? g_steal_pointer(&g.ev) : NULL;
}

int ct_kb_calibrate(const char *cases, const char *knowledge, const char *write,
                    gboolean confusion)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(CtKb) kb = ct_cli_knowledge(knowledge, &error);
    g_autoptr(CtCalibration) c =
        kb ? ct_calibrate(cases, kb, load, kb, &error) : NULL;
    if (!c)
        return ct_cli_fail("kb", error);
    g_autofree char *text = ct_calibration_text(c), *tsv = ct_calibration_tsv(c);
    if (write && !g_file_set_contents(write, tsv, -1, &error))
        return ct_cli_fail("kb", error);
    if (confusion) {
        g_autofree char *table = ct_calibration_confusion(c);
        return ct_cli_print(table, c->failed ? CT_EXIT_FOUND : CT_EXIT_NOTHING);
    }
    return ct_cli_print(text, c->failed ? CT_EXIT_FOUND : CT_EXIT_NOTHING);
}
