/* SPDX-License-Identifier: Apache-2.0 */
#include <jansson.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "cli/cli.h"
#include "evidence/evidence.h"
#include "report/report.h"

static char *as_json(void)
{
    g_autofree char *glib = g_strdup_printf("%u.%u.%u", glib_major_version, glib_minor_version,
                                            glib_micro_version);
    json_t *o = json_pack("{s:s, s:s, s:i, s:s, s:s}", "version", CT_VERSION, "diagnosis",
                          CT_REPORT_SCHEMA, "case", CT_CASE_VERSION, "sqlite", sqlite3_libversion(),
                          "glib", glib);
    char *raw = json_dumps(o, JSON_INDENT(1));
    json_decref(o);
    char *out = g_strconcat(raw ? raw : "null", "\n", NULL);
    free(raw);
    return out;
}

static int run(int argc, char **argv)
{
    gboolean json = FALSE;
    int code = 0;
    const GOptionEntry entries[] = {
        {"json", 0, 0, G_OPTION_ARG_NONE, &json, "Print JSON", NULL},
        {NULL},
    };
    const CtVerbHelp help = {
        .verb = "version",
        .summary = "Prints the version of the program and of its formats.",
        .examples = "  cutriage version\n  cutriage version --json\n",
        .entries = entries,
    };
    if (!ct_cli_options(&help, &argc, &argv, &code))
        return code;
    if (argc > 1)
        return ct_cli_usage("version", "takes no argument, got '%s'", argv[1]);
    if (json) {
        g_autofree char *text = as_json();
        return ct_cli_print(text, CT_EXIT_NOTHING);
    }
    g_autofree char *text =
        g_strdup_printf("cutriage %s (case format %d, %s, SQLite %s)\n", CT_VERSION,
                        CT_CASE_VERSION, CT_REPORT_SCHEMA, sqlite3_libversion());
    return ct_cli_print(text, CT_EXIT_NOTHING);
}

const CtVerb ct_verb_version = {
    .name = "version",
    .summary = "Print the version of the program and of its formats",
    .run = run,
};
