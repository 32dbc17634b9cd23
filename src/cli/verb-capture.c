/* SPDX-License-Identifier: Apache-2.0 */
/* This machine, and a process, as a case file. */
#include <string.h>
#include <unistd.h>

#include "cli/capture-print.h"
#include "cli/capture.h"
#include "cli/cli.h"

typedef struct {
    CtCaptureOptions capture;
    char *output, *lang;
    gboolean force, json, baseline;
} Options;

static void options_clear(Options *o)
{
    ct_capture_options_clear(&o->capture);
    g_free(o->output);
    g_free(o->lang);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Options, options_clear)

static char *default_name(void)
{
    g_autoptr(GDateTime) now = g_date_time_new_now_local();
    return g_date_time_format(now, "capture-%Y%m%d-%H%M%S.case");
}

/* Before the long work, so that nobody waits for a refusal. */
static gboolean output_is_free(const char *path, gboolean force, int *out_exit)
{
    if (force || access(path, F_OK) != 0)
        return TRUE;
    *out_exit = ct_cli_usage("capture", "%s exists; --force replaces it", path);
    return FALSE;
}

static int finish(const Options *o, const CtLiveCapture *capture, CtRedact *redact,
                  CtGather *gather, const char *path)
{
    g_autoptr(GError) error = NULL;
    CtLang lang;
    int code = 0;
    if (!ct_cli_lang("capture", o->lang, &lang, &code))
        return code;
    gboolean saved = ct_evidence_save(gather->ev, path, o->force || o->baseline, &error);
    guint replaced = redact ? ct_redact_count(redact) : 0;
    g_autofree char *text =
        o->json ? ct_capture_json(capture, gather->ev, saved ? path : NULL, replaced, redact != NULL)
                : ct_capture_summary(capture, gather->ev, saved ? path : NULL, replaced, lang);
    code = ct_cli_print(text, CT_EXIT_NOTHING);
    return saved ? code : ct_cli_fail("capture", error);
}

static int capture(const Options *o, const char *const *paths)
{
    int code = 0;
    g_autofree char *path = o->output ? g_strdup(o->output)
                            : o->baseline ? ct_capture_data_file("baseline.case", TRUE)
                                          : default_name();
    if (!path)
        return ct_cli_usage("capture", "no folder for the baseline in %s; use -o FILE",
                            g_get_user_data_dir());
    if (!o->baseline && !output_is_free(path, o->force, &code))
        return code;
    g_autoptr(CtLiveCapture) taken = ct_capture_fetch("capture", &o->capture, paths, &code);
    if (!taken)
        return code;
    g_autoptr(CtRedact) redact = o->capture.no_redact ? NULL : ct_capture_redactor();
    g_auto(CtGather) gather = {0};
    if (!ct_capture_read("capture", &o->capture, taken, redact, TRUE, &gather, &code))
        return code;
    return finish(o, taken, redact, &gather, path);
}

static int run(int argc, char **argv)
{
    g_auto(Options) o = {0};
    int code = 0;
    const GOptionEntry entries[] = {
        {"output", 'o', 0, G_OPTION_ARG_FILENAME, &o.output, "Where the case goes", "FILE"},
        {"force", 'f', 0, G_OPTION_ARG_NONE, &o.force, "Replace an existing case", NULL},
        CT_CAPTURE_ENTRIES(&o.capture),
        {"no-redact", 0, 0, G_OPTION_ARG_NONE, &o.capture.no_redact,
         "Keep names, addresses, serials", NULL},
        {"baseline", 0, 0, G_OPTION_ARG_NONE, &o.baseline, "Store as the known-good state", NULL},
        {"json", 0, 0, G_OPTION_ARG_NONE, &o.json, "Print the result as JSON", NULL},
        {"lang", 0, 0, G_OPTION_ARG_STRING, &o.lang, "en or zh", "LANG"},
        {"knowledge", 0, 0, G_OPTION_ARG_FILENAME, &o.capture.knowledge,
         "Another knowledge folder", "DIR"},
        {NULL},
    };
    const CtVerbHelp help = {
        .verb = "capture",
        .args = "[FILE...]",
        .summary = "Writes the state of this machine into a case file. FILEs are engines, models\n"
                   "or programs to look at too. Needs no root; says what root would add.",
        .examples = "  cutriage capture\n"
                    "  cutriage capture -o node7.case --pid 4711\n"
                    "  cutriage capture --sysroot ./copied-tree\n"
                    "  cutriage capture --baseline\n",
        .notes = "Exit code: 0 written, 2 usage, 4 the case could not be written.",
        .entries = entries,
    };
    if (!ct_cli_options(&help, &argc, &argv, &code))
        return code;
    if (!ct_capture_options_check("capture", &o.capture, &code))
        return code;
    return capture(&o, (const char *const *)argv + 1);
}

const CtVerb ct_verb_capture = {
    .name = "capture",
    .alias = "snapshot",
    .step = "freeze",
    .summary = "this machine as a case file",
    .run = run,
};
