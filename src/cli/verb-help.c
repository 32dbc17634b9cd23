/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cli/cli.h"

static char *overview(void)
{
    GString *out = g_string_new("cutriage: from logs, dumps and telemetry of a CUDA or TensorRT "
                                "program\nto its root causes, best first.\n\n"
                                "Usage: cutriage VERB [OPTION...] [ARGUMENT...]\n\n");
    for (const CtVerb *const *v = ct_verbs(); *v; v++)
        g_string_append_printf(out, "  %-10s %s\n", (*v)->name, (*v)->summary);
    g_string_append(out, "\nExamples:\n"
                         "  cutriage diagnose app.log dmesg.txt     what is wrong, and why\n"
                         "  cutriage diagnose --lang zh logs/       the same in Chinese\n"
                         "  cutriage help diagnose                  one verb's options\n\n"
                         "Exit codes: 0 nothing found, 1 a cause found, 2 usage, "
                         "3 evidence incomplete,\n4 failed.\n");
    return g_string_free(out, FALSE);
}

static int run(int argc, char **argv)
{
    if (argc < 2 || argv[1][0] == '-') {
        g_autofree char *text = overview();
        return ct_cli_print(text, CT_EXIT_NOTHING);
    }
    const CtVerb *verb = ct_verb_by_name(argv[1]);
    if (!verb)
        return ct_cli_usage("help", "there is no verb '%s'; cutriage help lists them", argv[1]);
    char *args[] = {(char *)verb->name, (char *)"--help", NULL};
    return verb->run(2, args);
}

const CtVerb ct_verb_help = {
    .name = "help",
    .summary = "Show all verbs, or the options of one",
    .run = run,
};
