/* SPDX-License-Identifier: Apache-2.0 */
/* This machine, and a process, as a case file. */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/baseline.h"
#include "cli/capture-command.h"
#include "cli/capture-print.h"
#include "cli/capture.h"
#include "cli/cli.h"

typedef struct {
    CtCaptureOptions capture;
    CtCommandOptions command;
    char *output, *lang;
    gboolean force, json, baseline, command_given;
} Options;

static void options_clear(Options *o)
{
    ct_capture_options_clear(&o->capture);
    g_free(o->command.repeat);
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
    g_autoptr(GError) error = NULL;
    struct stat st;
    if (!force && lstat(path, &st) == 0 && S_ISREG(st.st_mode))
        *out_exit = ct_cli_usage("capture", "%s exists; --force replaces it", path);
    else if (!ct_evidence_may_write(path, force, &error))
        *out_exit = ct_cli_fail("capture", error);
    else
        return TRUE;
    return FALSE;
}

/* The known-good state as a page beside its case. */
static void write_page(CtEvidence *ev, const char *path, CtLang lang)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *stem = g_str_has_suffix(path, ".case") ? g_strndup(path, strlen(path) - 5)
                                                            : g_strdup(path);
    g_autofree char *file = g_strconcat(stem, ".md", NULL);
    g_autofree char *page = ct_baseline_page(ev, lang);
    if (!g_file_set_contents(file, page, -1, &error)) {
        ct_cli_note("%s", error->message);
        return;
    }
    chmod(file, 0600);
    g_autofree char *said = ct_msgf(lang, CT_MSG_CAPTURE_PAGE, file, NULL);
    fprintf(stderr, "%s\n", said);
}

/* A full disk must not cost what was collected: it is kept where there is room. */
static char *save_elsewhere(CtEvidence *ev, const char *path)
{
    const char *const folders[] = {g_get_tmp_dir(), "/dev/shm", "/var/tmp"};
    g_autofree char *base = g_path_get_basename(path);
    for (gsize i = 0; i < G_N_ELEMENTS(folders); i++) {
        g_autofree char *other = g_build_filename(folders[i], base, NULL);
        if (strcmp(other, path) != 0 && ct_evidence_save(ev, other, FALSE, NULL))
            return g_steal_pointer(&other);
    }
    return NULL;
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
    g_autofree char *kept = saved ? NULL : save_elsewhere(gather->ev, path);
    if (kept)
        ct_cli_note("the case is kept in %s", kept);
    if (saved && o->baseline)
        write_page(gather->ev, path, lang);
    guint replaced = redact ? ct_redact_count(redact) : 0;
    g_autofree char *text =
        o->json ? ct_capture_json(capture, gather->ev, saved ? path : NULL, replaced, redact != NULL)
                : ct_capture_summary(capture, gather->ev, saved ? path : NULL, replaced, lang);
    if (o->command_given && !o->json)
        fputs(text, stderr); /* standard output is the program's */
    else
        code = ct_cli_print(text, CT_EXIT_NOTHING);
    return saved ? code : ct_cli_fail("capture", error);
}

static int capture(const Options *o, const char *const *paths, char **command)
{
    int code = 0;
    g_autofree char *path = o->output ? g_strdup(o->output)
                            : o->baseline ? ct_capture_data_file("baseline.case", TRUE)
                                          : default_name();
    if (!path)
        return ct_cli_usage("capture", "no folder for the baseline in %s; use -o FILE",
                            g_get_user_data_dir());
    if (!output_is_free(path, o->force || o->baseline, &code))
        return code;
    g_auto(CtCommandResult) result = {0};
    if (command && !ct_command_run_all("capture", command, &o->command, o->json, &result, &code))
        return code;
    g_autoptr(GPtrArray) all = ct_command_paths(command, o->capture.sysroot, paths);
    g_autoptr(CtLiveCapture) taken = ct_capture_fetch("capture", &o->capture,
                                                      (const char *const *)all->pdata, &code);
    if (!taken)
        return code;
    if (command)
        ct_command_add(&result, taken);
    g_autoptr(CtRedact) redact = o->capture.no_redact ? NULL : ct_capture_redactor();
    g_auto(CtGather) gather = {0};
    if (!ct_capture_read("capture", &o->capture, taken, redact, TRUE, &gather, &code))
        return code;
    code = finish(o, taken, redact, &gather, path);
    if (command && result.ends->len > 1 && !o->json)
        fputs(result.summary, stderr);
    return command && code == CT_EXIT_NOTHING ? ct_command_exit(&result) : code;
}

static int run(int argc, char **argv)
{
    g_auto(Options) o = {0};
    int code = 0;
    const GOptionEntry entries[] = {
        {"output", 'o', 0, G_OPTION_ARG_FILENAME, &o.output, "Where the case goes", "FILE"},
        {"force", 'f', 0, G_OPTION_ARG_NONE, &o.force, "Replace an existing case", NULL},
        CT_CAPTURE_ENTRIES(&o.capture),
        CT_COMMAND_ENTRIES(&o.command),
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
        .args = "[FILE...] [-- COMMAND [ARG...]]",
        .summary = "Writes the state of this machine into a case file. FILEs are engines, models\n"
                   "or programs to look at too. Needs no root; says what root would add.",
        .examples = "  cutriage capture\n"
                    "  cutriage capture -o node7.case --pid 4711\n"
                    "  cutriage capture --repeat 10 -- ./app --batch 8\n"
                    "  cutriage capture --sysroot ./copied-tree\n"
                    "  cutriage capture --baseline\n",
        .notes = "Exit code: 0 written, 2 usage, 4 the case could not be written. With COMMAND its\n"
                 "own, 128 + N when signal N ended it; with --repeat 1 when a run failed, else 0.",
        .entries = entries,
    };
    int own = ct_command_split(argc, argv);
    char **command = own < argc ? argv + own + 1 : NULL;
    g_autofree char **mine = g_new0(char *, (gsize)own + 1);
    memcpy(mine, argv, (gsize)own * sizeof *mine);
    char **words = mine;
    if (!ct_cli_options(&help, &own, &words, &code))
        return code;
    o.command_given = command != NULL;
    if (!command && (o.command.repeat || o.command.no_stacks))
        return ct_cli_usage("capture", "--repeat and --no-stacks need a program: -- COMMAND");
    if (!ct_capture_options_check("capture", &o.capture, &code))
        return code;
    return capture(&o, (const char *const *)words + 1, command);
}

const CtVerb ct_verb_capture = {
    .name = "capture",
    .alias = "snapshot",
    .step = "freeze",
    .summary = "this machine as a case file",
    .run = run,
};
