/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/start.h"

#include <string.h>

#include "cli/cli.h"
#include "cli/machine.h"
#include "report/layout.h"

/* The commands of a step. Those of verbs that this program does not have are left out; a step
 * that has none left falls back on a command of the system. */
static const struct {
    const char *step, *verb, *command;
} commands[] = {
    {"1 freeze the scene", "capture", "cutriage capture -o now.case"},
    {"1 freeze the scene", "check", "cutriage check"},
    {"1 freeze the scene", NULL, "sudo dmesg -T >dmesg.txt; nvidia-smi -q >smi.txt"},
    {"2 isolate the layer", "probe", "cutriage probe"},
    {"2 isolate the layer", "explain", "cutriage explain 719"},
    {"2 isolate the layer", NULL, "cutriage diagnose dmesg.txt smi.txt --full"},
    {"3 take evidence", "record", "cutriage record -- ./app"},
    {"3 take evidence", "watch", "cutriage watch"},
    {"3 take evidence", NULL, "compute-sanitizer ./app >sanitizer.txt 2>&1"},
    {"4 rank root causes", "diagnose", "cutriage diagnose app.log dmesg.txt smi.txt"},
    {"5 fix and regress", "compare", "cutriage compare before.case after.case"},
    {"5 fix and regress", "verify", "cutriage verify"},
    {"5 fix and regress", NULL, "the same run again: cutriage diagnose new.log && echo gone"},
};

static void steps(GString *out)
{
    const char *step = NULL;
    gboolean shown = FALSE;
    for (gsize i = 0; i < G_N_ELEMENTS(commands); i++) {
        if (g_strcmp0(step, commands[i].step) != 0)
            shown = FALSE;
        step = commands[i].step;
        gboolean exists = commands[i].verb ? ct_verb_by_name(commands[i].verb) != NULL : !shown;
        if (!exists)
            continue;
        g_string_append_printf(out, "%-20s %s\n", shown ? "" : step, commands[i].command);
        shown = TRUE;
    }
}

int ct_start_page(void)
{
    g_autofree char *state = ct_machine_state("");
    g_auto(GStrv) lines = g_strsplit(state, "\n", -1);
    g_autoptr(GString) out = g_string_new(NULL);
    for (guint i = 0; lines[i] && *lines[i]; i++) {
        g_autofree char *clean = ct_text_clean(lines[i]);
        g_autofree char *fit = ct_text_fit(clean, 80);
        g_string_append_printf(out, "%s\n", fit);
    }
    g_string_append_c(out, '\n');
    steps(out);
    g_string_append(out, "\nAll verbs: cutriage help\n");
    return ct_cli_print(out->str, CT_EXIT_NOTHING);
}
