/* SPDX-License-Identifier: Apache-2.0 */
/* This machine, or a case, as a checklist from the outside in. */
#include <string.h>
#include <unistd.h>

#include "cli/capture-command.h"
#include "cli/capture.h"
#include "cli/check-baseline.h"
#include "cli/check-print.h"
#include "cli/cli.h"
#include "cli/gather.h"
#include "reason/plan.h"

typedef struct {
    CtCaptureOptions capture;
    char *lang, *color, *format, *plan;
    gboolean json, full;
} Options;

static void options_clear(Options *o)
{
    ct_capture_options_clear(&o->capture);
    g_free(o->lang);
    g_free(o->color);
    g_free(o->format);
    g_free(o->plan);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Options, options_clear)

/* Files and cases that were given are read; without any this machine is looked at. */
static gboolean look(const Options *o, char **paths, char **command, CtGather *out,
                     CtDiffPage *page, char **out_drift, int *out_exit)
{
    if (*paths)
        return ct_gather_state("check", paths, o->capture.knowledge, out, out_exit);
    const char *const none[] = {NULL};
    const char *tree = o->capture.sysroot;
    g_autofree char *program = command ? ct_command_program(command[0], tree) : NULL;
    if (command && !program) {
        *out_exit = ct_cli_usage("check", "%s: no such program%s%s", command[0],
                                 tree ? " in " : "", tree ? tree : "");
        return FALSE;
    }
    g_autoptr(GPtrArray) files = ct_command_paths(command, tree, none);
    g_autoptr(CtLiveCapture) taken =
        ct_capture_fetch("check", &o->capture, (const char *const *)files->pdata, out_exit);
    if (!taken || !ct_capture_read("check", &o->capture, taken, NULL, FALSE, out, out_exit))
        return FALSE;
    /* A copied tree is another machine, and the baseline is of no process. */
    if (!o->capture.sysroot && !o->capture.pid && !command && !o->json && !o->plan &&
        g_strcmp0(o->format, "json") != 0)
        *out_drift = ct_check_baseline(&o->capture, taken, page);
    return TRUE;
}

static gboolean known_format(const Options *o, int *out_exit)
{
    static const char *const known[] = {"text", "json", "md", NULL};
    if (!o->format || g_strv_contains(known, o->format))
        return TRUE;
    *out_exit = ct_cli_usage("check", "--format %s: known are text, json and md", o->format);
    return FALSE;
}

/* A fault wins over what nobody knows; warnings alone are no fault. */
static int exit_of(const CtCheckList *list)
{
    if (list->no_device)
        return CT_EXIT_INCOMPLETE;
    if (list->count[CT_CHECK_FAIL])
        return CT_EXIT_FOUND;
    return list->count[CT_CHECK_UNKNOWN] ? CT_EXIT_INCOMPLETE : CT_EXIT_NOTHING;
}

static CtDiffPage *drift_page(const Options *o, const CtCheckPrint *print, CtDiffPage *page)
{
    guint rows;
    *page = (CtDiffPage){.lang = print->lang,
                         .form = g_strcmp0(o->format, "md") == 0 ? CT_DIFF_MARKDOWN : CT_DIFF_TEXT,
                         .before = ct_msg(print->lang, CT_MSG_DIFF_BASELINE),
                         .now = ct_msg(print->lang, CT_MSG_DIFF_THIS_MACHINE)};
    page->text.colour = print->colour;
    ct_cli_screen(&page->text.columns, &rows);
    return page;
}

static int check(const Options *o, char **paths, char **command)
{
    g_autoptr(GError) error = NULL;
    g_auto(CtGather) gather = {0};
    g_autofree char *drift = NULL;
    CtCheckPrint print = {.full = o->full};
    CtDiffPage page;
    guint rows;
    int code = 0;
    if (!known_format(o, &code) || !ct_cli_lang("check", o->lang, &print.lang, &code) ||
        !ct_cli_colour("check", o->color, &print.colour, &code) ||
        !look(o, paths, command, &gather, drift_page(o, &print, &page), &drift, &code))
        return code;
    const char *lang = print.lang == CT_LANG_ZH ? "zh" : "en";
    if (o->plan && !ct_plan_add(gather.ev, gather.kb, o->plan, &error))
        return ct_cli_fail("check", error);
    g_autoptr(CtDiagnosis) d = ct_diagnose(gather.ev, gather.kb, lang, &error);
    g_autoptr(CtCheckList) list = d ? ct_check(gather.ev, gather.kb, d, lang, &error) : NULL;
    if (!list)
        return ct_cli_fail("check", error);
    if (o->plan)
        ct_plan_only(list);
    ct_cli_screen(&print.columns, &rows);
    g_autofree char *text = o->json || g_strcmp0(o->format, "json") == 0 ? ct_check_json(list, d)
                            : g_strcmp0(o->format, "md") == 0
                                ? ct_check_markdown(list, print.lang)
                                : ct_check_text(list, &print);
    g_autofree char *all = drift ? g_strconcat(text, "\n", drift, NULL) : NULL;
    return ct_cli_print(all ? all : text, exit_of(list));
}

static int run(int argc, char **argv)
{
    g_auto(Options) o = {0};
    int code = 0;
    const GOptionEntry entries[] = {
        CT_CAPTURE_ENTRIES(&o.capture),
        {"plan-upgrade", 0, 0, G_OPTION_ARG_STRING, &o.plan,
         "What would not fit after moving to RELEASE", "RELEASE"},
        {"full", 0, 0, G_OPTION_ARG_NONE, &o.full, "All lines of evidence", NULL},
        {"format", 0, 0, G_OPTION_ARG_STRING, &o.format, "text, json or md", "FORM"},
        {"json", 0, 0, G_OPTION_ARG_NONE, &o.json, "Print the result as JSON", NULL},
        {"lang", 0, 0, G_OPTION_ARG_STRING, &o.lang, "en or zh", "LANG"},
        {"color", 0, 0, G_OPTION_ARG_STRING, &o.color, "auto, always or never", "WHEN"},
        {"knowledge", 0, 0, G_OPTION_ARG_FILENAME, &o.capture.knowledge,
         "Another knowledge folder", "DIR"},
        {NULL},
    };
    const CtVerbHelp help = {
        .verb = "check",
        .args = "[CASE|FILE...] [-- COMMAND [ARG...]]",
        .summary = "Looks at this machine from the outside in (hardware, kernel driver, user driver,\n"
                   "container, environment, program) and says of each part: pass, warn, fail or\n"
                   "unknown, with what was seen and what mends it. COMMAND is not run: its\n"
                   "libraries and GPU architectures are looked at. CASE and FILEs are read in\n"
                   "place of this machine.",
        .examples = "  cutriage check\n"
                    "  cutriage check -- ./app --batch 8\n"
                    "  cutriage check --pid 4711\n"
                    "  cutriage check node7.case\n"
                    "  cutriage check --sysroot ./copied-tree\n"
                    "  cutriage check --plan-upgrade jp6.2\n"
                    "  cutriage check --plan-upgrade driver-580 node7.case\n",
        .notes = "Exit code: 0 nothing failed, 1 a check failed, 3 something could not be known,\n"
                 "2 usage, 4 failed. Warnings alone leave it at 0 or 3.",
        .entries = entries,
    };
    int own = ct_command_split(argc, argv);
    char **command = own < argc ? argv + own + 1 : NULL;
    if (command && !*command)
        return ct_cli_usage("check", "say which program, for example: cutriage check -- ./app");
    g_autofree char **mine = g_new0(char *, (gsize)own + 1);
    memcpy(mine, argv, (gsize)own * sizeof *mine);
    char **words = mine;
    if (!ct_cli_options(&help, &own, &words, &code))
        return code;
    if (own > 1 && (command || o.capture.pid_text || o.capture.sysroot))
        return ct_cli_usage("check", "a case is read alone: without --pid, --sysroot or a command");
    if (!ct_capture_options_check("check", &o.capture, &code))
        return code;
    return check(&o, words + 1, command);
}

const CtVerb ct_verb_check = {
    .name = "check",
    .alias = "doctor",
    .step = "freeze",
    .summary = "this machine as a checklist, outside in",
    .run = run,
};
