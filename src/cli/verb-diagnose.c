/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/gather.h"
#include "cli/narrow-options.h"
#include "reason/incident.h"
#include "report/report.h"

typedef enum { FORM_TEXT, FORM_JSON, FORM_MARKDOWN, FORM_HTML } Form;

typedef struct {
    char *output, *format, *lang, *color, *knowledge;
    CtNarrowOptions narrow;
    int group; /* 0: not asked for */
    gboolean force, json, full;
    Form form;
    CtLang language;
    gboolean colour;
} Options;

static void options_clear(Options *o)
{
    g_free(o->output);
    g_free(o->format);
    g_free(o->lang);
    g_free(o->color);
    g_free(o->knowledge);
    ct_narrow_options_clear(&o->narrow);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Options, options_clear)

static gboolean choose_form(Options *o, int *out_exit)
{
    static const char *const names[] = {"text", "json", "md", "html", NULL};
    if (o->json && o->format && !g_str_equal(o->format, "json")) {
        *out_exit = ct_cli_usage("diagnose", "--json and --format %s exclude each other",
                                 o->format);
        return FALSE;
    }
    o->form = o->json ? FORM_JSON : FORM_TEXT;
    if (!o->format)
        return TRUE;
    for (int i = 0; names[i]; i++) {
        if (g_str_equal(o->format, names[i])) {
            o->form = (Form)i;
            return TRUE;
        }
    }
    *out_exit = ct_cli_usage("diagnose", "--format %s: known are text, json, md and html",
                             o->format);
    return FALSE;
}

/* Before the long work, so that nobody waits for a refusal. */
static gboolean output_is_free(const Options *o, int *out_exit)
{
    if (!o->output || o->force || access(o->output, F_OK) != 0)
        return TRUE;
    *out_exit = ct_cli_usage("diagnose", "%s exists; --force replaces it", o->output);
    return FALSE;
}

static char *render(const CtReport *report, const Options *o)
{
    if (o->form == FORM_JSON)
        return ct_report_json(report);
    if (o->form == FORM_MARKDOWN)
        return ct_report_markdown(report);
    if (o->form == FORM_HTML)
        return ct_report_html(report);

    CtTextOptions text = {.full = o->full, .colour = o->colour};
    struct winsize size;
    if (isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) {
        text.columns = size.ws_col;
        text.rows = size.ws_row;
    }
    return ct_report_text(report, &text);
}

static int exit_code(CtReportOutcome outcome)
{
    switch (outcome) {
    case CT_REPORT_FOUND:
        return CT_EXIT_FOUND;
    case CT_REPORT_INCOMPLETE:
        return CT_EXIT_INCOMPLETE;
    case CT_REPORT_NOTHING:
        break;
    }
    return CT_EXIT_NOTHING;
}

static int diagnose(const Options *o, char **paths)
{
    g_auto(CtGather) gather = {0};
    g_autoptr(GError) error = NULL;
    int code = 0;
    if (!ct_gather("diagnose", paths, o->knowledge, &gather, &code))
        return code;
    CtNarrow narrow;
    if (!ct_narrow_options_resolve("diagnose", &o->narrow, gather.ev, &narrow, &code))
        return code;
    g_autoptr(GPtrArray) incidents = ct_diagnose_incidents(
        gather.ev, gather.kb, ct_lang_name(o->language), &narrow, &error);
    if (!incidents)
        return ct_cli_fail("diagnose", error);
    if (o->group > (int)incidents->len)
        return ct_cli_usage("diagnose", "--group %d: %u found", o->group, incidents->len);

    g_autoptr(CtReport) report =
        ct_report_new_of_incidents(gather.ev, incidents, o->group ? (guint)o->group - 1 : 0,
                                   gather.kb, o->language);
    g_autofree char *text = render(report, o);
    ct_narrow_end(gather.ev); /* a case keeps everything that was read */
    if (o->output && !ct_evidence_save(gather.ev, o->output, o->force, &error))
        code = ct_cli_fail("diagnose", error);
    int printed = ct_cli_print(text, exit_code(ct_report_outcome(report)));
    return code ? code : printed;
}

static int run(int argc, char **argv)
{
    g_auto(Options) o = {0};
    int code = 0;
    const GOptionEntry entries[] = {
        {"output", 'o', 0, G_OPTION_ARG_FILENAME, &o.output, "Keep evidence and result in a case",
         "CASE"},
        {"force", 0, 0, G_OPTION_ARG_NONE, &o.force, "Replace an existing CASE", NULL},
        {"full", 0, 0, G_OPTION_ARG_NONE, &o.full, "Show everything, not one screen", NULL},
        {"json", 0, 0, G_OPTION_ARG_NONE, &o.json, "The same as --format json", NULL},
        {"format", 0, 0, G_OPTION_ARG_STRING, &o.format, "text (default), json, md or html",
         "FORM"},
        {"lang", 0, 0, G_OPTION_ARG_STRING, &o.lang, "Language: en or zh (default: the locale's)",
         "LANG"},
        {"color", 0, 0, G_OPTION_ARG_STRING, &o.color, "auto (default), always or never", "WHEN"},
        {"since", 0, 0, G_OPTION_ARG_STRING, &o.narrow.since, "Leave out what came before", "TIME"},
        {"until", 0, 0, G_OPTION_ARG_STRING, &o.narrow.until, "Leave out what came after", "TIME"},
        {"gpu", 0, 0, G_OPTION_ARG_STRING, &o.narrow.gpu, "Leave out other GPUs", "GPU"},
        {"pid", 0, 0, G_OPTION_ARG_STRING, &o.narrow.pid, "Leave out other processes", "PID"},
        {"host", 0, 0, G_OPTION_ARG_STRING, &o.narrow.host, "Leave out other machines", "NAME"},
        {"boot", 0, 0, G_OPTION_ARG_STRING, &o.narrow.boot,
         "Only this boot: last, 1 is the one before it", "N"},
        {"group", 0, 0, G_OPTION_ARG_INT, &o.group, "Show this incident of several", "N"},
        {"knowledge", 0, 0, G_OPTION_ARG_FILENAME, &o.knowledge, "Use this knowledge folder",
         "DIR"},
        {NULL},
    };
    const CtVerbHelp help = {
        .verb = "diagnose",
        .args = "PATH...",
        .summary = "Reads logs, dumps and telemetry and prints their root causes, best first, each\n"
                   "with the lines for and against, the next test and the fix. PATH is a file, a\n"
                   "folder, a case, or - for standard input; .gz .xz .zst are read in place.",
        .examples = "  cutriage diagnose app.log dmesg.txt smi.txt\n"
                    "  cutriage diagnose --full logs/\n"
                    "  cutriage diagnose --lang zh logs/\n"
                    "  journalctl -k -b | cutriage diagnose -\n"
                    "  cutriage diagnose -o night.case logs/ && echo nothing found\n"
                    "  cutriage diagnose --json logs/ | jq '.hypotheses[0].cause'\n",
        .notes = "Exit codes: 0 nothing found, 1 a cause found, 2 usage, 3 evidence incomplete,\n"
                 "4 failed.",
        .entries = entries,
    };
    if (!ct_cli_options(&help, &argc, &argv, &code) || !choose_form(&o, &code) ||
        !ct_cli_lang("diagnose", o.lang, &o.language, &code) ||
        !ct_cli_colour("diagnose", o.color, &o.colour, &code) || !output_is_free(&o, &code) ||
        !ct_narrow_options_check("diagnose", &o.narrow, &code))
        return code;
    if (o.group < 0)
        return ct_cli_usage("diagnose", "--group %d: groups count from 1", o.group);
    g_autofree char **paths = ct_gather_paths("diagnose", argc, argv, &code);
    return paths ? diagnose(&o, paths) : code;
}

const CtVerb ct_verb_diagnose = {
    .name = "diagnose",
    .step = "rank",
    .summary = "Rank the root causes of what logs and dumps show",
    .run = run,
};
