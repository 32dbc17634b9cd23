/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <sys/ioctl.h>

#include "cli/cli.h"
#include "cli/gather.h"
#include "cli/narrow-options.h"
#include "cli/next-run.h"
#include "cli/person.h"
#include "reason/incident.h"
#include "report/report.h"

typedef enum { FORM_TEXT, FORM_JSON, FORM_MARKDOWN, FORM_HTML } Form;

typedef struct {
    char *output, *format, *lang, *color, *knowledge;
    CtNarrowOptions narrow;
    CtPerson person;
    gboolean next, yes;
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
    ct_person_clear(&o->person);
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

static char *render(const CtReport *report, const Options *o)
{
    if (o->form == FORM_JSON)
        return ct_report_json(report);
    if (o->form == FORM_MARKDOWN)
        return ct_report_markdown(report);
    if (o->form == FORM_HTML)
        return ct_report_html(report);

    CtTextOptions text = {.full = o->full, .colour = o->colour};
    ct_cli_screen(&text.columns, &text.rows);
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

typedef struct {
    CtGather gather;
    GPtrArray *incidents; /* CtIncident */
} Judged;

static void judged_clear(Judged *j)
{
    g_clear_pointer(&j->incidents, g_ptr_array_unref);
    ct_gather_clear(&j->gather);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Judged, judged_clear)

/* Reads and judges everything; what the options leave out stays hidden. */
static gboolean judge(const Options *o, char **paths, const GPtrArray *texts,
                      const CtPerson *person, Judged *out, int *out_exit)
{
    g_autoptr(GError) error = NULL;
    CtNarrow narrow;
    out->gather.texts = texts;
    if (!ct_gather("diagnose", paths, o->knowledge, &out->gather, out_exit) ||
        !ct_person_apply("diagnose", person, &out->gather, out_exit) ||
        !ct_narrow_options_resolve("diagnose", &o->narrow, out->gather.ev, &narrow, out_exit))
        return FALSE;
    out->incidents = ct_diagnose_incidents(out->gather.ev, out->gather.kb,
                                           ct_lang_name(o->language), &narrow, &error);
    if (!out->incidents) {
        *out_exit = ct_cli_fail("diagnose", error);
        return FALSE;
    }
    if (o->group <= (int)out->incidents->len)
        return TRUE;
    *out_exit = ct_cli_usage("diagnose", "--group %d: %u found", o->group, out->incidents->len);
    return FALSE;
}

static guint shown(const Options *o)
{
    return o->group ? (guint)o->group - 1 : 0;
}

/* Prints, and keeps the case when one is asked for. */
static int hand_out(const Options *o, Judged *j)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(CtReport) report = ct_report_new_of_incidents(j->gather.ev, j->incidents, shown(o),
                                                            j->gather.kb, o->language);
    g_autofree char *text = render(report, o);
    int code = 0;
    ct_narrow_end(j->gather.ev); /* a case keeps everything that was read */
    if (o->output && !ct_evidence_save(j->gather.ev, o->output, o->force, &error))
        code = ct_cli_fail("diagnose", error);
    int printed = ct_cli_print(text, exit_code(ct_report_outcome(report)));
    return code ? code : printed;
}

static void take_text(GPtrArray *texts, CtGatherText *text)
{
    if (text)
        g_ptr_array_add(texts, text);
}

/* Offers the next test of the leading cause; what it gave is judged with all the rest. */
static int offer_next(const Options *o, char **paths, GPtrArray *texts, Judged *first)
{
    const CtIncident *lead = g_ptr_array_index(first->incidents, shown(o));
    g_auto(CtNextDone) done = {0};
    int code = 0;
    if (!ct_next_offer(lead->diagnosis, o->language, o->yes, &done))
        return hand_out(o, first);
    take_text(texts, g_steal_pointer(&done.output));
    CtPerson person = o->person;
    g_autoptr(GPtrArray) answers = g_ptr_array_new();
    for (guint i = 0; person.answers && person.answers[i]; i++)
        g_ptr_array_add(answers, person.answers[i]);
    if (done.answer)
        g_ptr_array_add(answers, done.answer);
    g_ptr_array_add(answers, NULL);
    person.answers = (char **)answers->pdata;
    take_text(texts, ct_person_text(&person));

    g_auto(Judged) again = {0};
    if (!judge(o, paths, texts, &person, &again, &code))
        return code;
    if (!o->output && done.output)
        ct_cli_note("what the test printed is kept only with -o CASE");
    const CtIncident *now =
        g_ptr_array_index(again.incidents, MIN(shown(o), again.incidents->len - 1));
    ct_next_print_change(lead->diagnosis, now->diagnosis, o->language);
    return hand_out(o, &again);
}

static int diagnose(const Options *o, char **paths)
{
    g_auto(Judged) j = {0};
    g_autoptr(GPtrArray) texts = g_ptr_array_new_with_free_func(ct_gather_text_free);
    int code = 0;
    take_text(texts, ct_person_text(&o->person));
    if (!judge(o, paths, texts, &o->person, &j, &code))
        return code;
    if (!o->next)
        return hand_out(o, &j);
    g_autoptr(GPtrArray) more = g_ptr_array_new_with_free_func(ct_gather_text_free);
    return offer_next(o, paths, more, &j);
}

/* --next on a case keeps what it found there; that replaces the file, so --force is asked for. */
static void keep_in_the_case(Options *o, char **paths)
{
    char head[16] = "";
    FILE *file = !o->output && o->next && o->force && paths[0] && !paths[1] ? fopen(paths[0], "rb")
                                                                            : NULL;
    if (!file)
        return;
    gsize n = fread(head, 1, sizeof head, file);
    fclose(file);
    if (n == sizeof head && memcmp(head, "SQLite format 3", sizeof head) == 0)
        o->output = g_strdup(paths[0]);
}

/* What comes from a pipe cannot be read a second time. */
static gboolean can_read_again(const Options *o, char **paths, int *out_exit)
{
    for (; o->next && *paths; paths++)
        if (g_str_equal(*paths, "-")) {
            *out_exit = ct_cli_usage("diagnose", "--next wants files or a case, not a pipe");
            return FALSE;
        }
    return TRUE;
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
        {"note", 0, 0, G_OPTION_ARG_STRING_ARRAY, &o.person.notes,
         "What you know, as 'gone in FP32'", "TEXT"},
        {"changed", 0, 0, G_OPTION_ARG_STRING, &o.person.changed,
         "driver, model, engine, container, config or nothing", "WHAT"},
        {"answer", 0, 0, G_OPTION_ARG_STRING_ARRAY, &o.person.answers,
         "What a test showed; both names are in the JSON", "TEST=OUTCOME"},
        {"next", 0, 0, G_OPTION_ARG_NONE, &o.next, "Offer the next test, and run it if you say so",
         NULL},
        {"yes", 0, 0, G_OPTION_ARG_NONE, &o.yes, "With --next: run the test without asking", NULL},
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
        !ct_cli_colour("diagnose", o.color, &o.colour, &code) || !ct_cli_output_is_free("diagnose", o.output, o.force, &code) ||
        !ct_narrow_options_check("diagnose", &o.narrow, &code))
        return code;
    if (!ct_person_check("diagnose", &o.person, &code))
        return code;
    if (o.yes && !o.next)
        return ct_cli_usage("diagnose", "--yes goes with --next");
    if (o.group < 0)
        return ct_cli_usage("diagnose", "--group %d: groups count from 1", o.group);
    g_autofree char **paths = ct_gather_paths("diagnose", argc, argv, &code);
    if (!paths || !can_read_again(&o, paths, &code))
        return code;
    keep_in_the_case(&o, paths);
    return diagnose(&o, paths);
}

const CtVerb ct_verb_diagnose = {
    .name = "diagnose",
    .step = "rank",
    .summary = "Rank the root causes of what logs and dumps show",
    .run = run,
};
