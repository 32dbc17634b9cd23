/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a program under the flight recorder and passes on how it ended. */
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"
#include "kb/kb.h"
#include "report/layout.h"
#include "run/record-read.h"
#include "run/record.h"


/* Ends as the program ended: with its code, or by the same signal. */
static int pass_on(int status)
{
    if (!WIFSIGNALED(status))
        return WEXITSTATUS(status);
    int sig = WTERMSIG(status);
    const struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    signal(sig, SIG_DFL);
    fflush(NULL);
    raise(sig);
    return 128 + sig;
}

static void say_report(CtRecording *recording, const char *path)
{
    gsize len;
    g_autoptr(CtKb) kb = ct_kb_open(NULL);
    const guint8 *data = ct_recording_bytes(recording, &len);
    g_autofree char *raw = data ? ct_record_report(kb, data, len) : g_strdup("");
    for (char **line = (char *[]){raw, NULL}; *line && **line;) {
        char *end = strchr(*line, '\n');
        if (end)
            *end = 0;
        g_autofree char *clean = ct_text_clean(*line);
        fprintf(stderr, "%s\n", clean);
        if (!end)
            break;
        *line = end + 1;
    }
    g_autofree char *shown = g_shell_quote(path);
    fprintf(stderr, "next: cutriage diagnose %s\n",
            strpbrk(path, " '\"\\$*?;&|<>()") ? shown : path);
}

static void finish(CtRecording *recording, const char *path, gboolean quiet)
{
    CtRecordingTotals t = ct_recording_totals(recording);
    g_autoptr(GError) error = NULL;
    if (t.no_space || t.refused)
        ct_cli_note("%u processes found no room in the record and ran without it",
                    t.no_space + t.refused);
    if (t.replaced)
        ct_cli_note("%u processes that ended without an error gave their place in the record to "
                    "later ones", t.replaced);
    if (t.processes == 0) {
        ct_cli_note("no process used CUDA while it could be seen; no record is written");
        return;
    }
    gboolean saved = ct_recording_save(recording, path, &error);
    if (!saved)
        ct_cli_note("the record is not written: %s", error->message);
    if (!quiet)
        say_report(recording, path);
}

static int print_environment(CtRecording *recording, const char *library)
{
    g_auto(GStrv) variables = ct_recording_environment(recording, library);
    g_autoptr(GString) out = g_string_new(NULL);
    for (char **v = variables; *v; v++) {
        char *eq = strchr(*v, '=');
        g_autofree char *value = g_shell_quote(eq + 1);
        g_string_append_printf(out, "export %.*s=%s\n", (int)(eq - *v), *v, value);
    }
    return ct_cli_print(out->str, CT_EXIT_NOTHING);
}

/* Our options end at `--` or at the first word that is none, so that the program keeps its own. */
static int split(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--") == 0)
            return i;
        if (argv[i][0] != '-')
            return i;
        if (strcmp(argv[i], "-o") == 0 || strcmp(argv[i], "--output") == 0)
            i++;
    }
    return argc;
}

static int run(int argc, char **argv)
{
    g_autofree char *output = NULL;
    gboolean file = FALSE, print_env = FALSE, quiet = FALSE, no_stacks = FALSE;
    int code = 0;
    const GOptionEntry entries[] = {
        {"output", 'o', 0, G_OPTION_ARG_FILENAME, &output, "Where the record goes", "FILE"},
        {"file", 0, 0, G_OPTION_ARG_NONE, &file, "Write to the file from the start", NULL},
        {"print-env", 0, 0, G_OPTION_ARG_NONE, &print_env,
         "Make FILE and print what to set", NULL},
        {"no-stacks", 0, 0, G_OPTION_ARG_NONE, &no_stacks,
         "Keep only the caller of each allocation", NULL},
        {"quiet", 'q', 0, G_OPTION_ARG_NONE, &quiet, "No report at the end", NULL},
        {NULL},
    };
    const CtVerbHelp help = {
        .verb = "record",
        .args = "-- COMMAND [ARG...]",
        .summary = "Runs a program under the flight recorder: what it did to CUDA is kept, even\n"
                   "when it is killed.",
        .examples = "  cutriage record -- python3 serve.py\n"
                    "  cutriage record -o run.ctr -- ./app --batch 8\n"
                    "  cutriage record --print-env -o /var/tmp/run.ctr\n",
        .notes = "Exit code: the program's own; a signal is passed on too. 2 and 4 when it could\n"
                 "not be started.",
        .entries = entries,
    };
    int own = split(argc, argv);
    g_autofree char **mine = g_new0(char *, (gsize)own + 1);
    memcpy(mine, argv, (gsize)own * sizeof *mine);
    char **options = mine;
    int n_options = own;
    if (!ct_cli_options(&help, &n_options, &options, &code))
        return code;
    if (own < argc && strcmp(argv[own], "--") == 0)
        own++;
    char **command = argv + own;
    if (!*command && !print_env)
        return ct_cli_usage("record", "say which program, for example: cutriage record -- ./app");
    if (print_env && (!output || *command))
        return ct_cli_usage("record", "--print-env takes -o FILE and no program");

    g_autoptr(GError) error = NULL;
    g_autofree char *library = ct_recorder_library(&error);
    g_autofree char *path = output ? g_strdup(output)
                                   : g_strdup_printf("cutriage-%d.ctr", (int)getpid());
    g_autofree char *joined = g_strjoinv(" ", command);
    g_autoptr(CtRecording) recording =
        library ? ct_recording_new(file || print_env ? path : NULL, joined, &error) : NULL;
    if (!recording)
        return ct_cli_fail("record", error);
    ct_recording_set_stacks(recording, !no_stacks);
    if (print_env)
        return print_environment(recording, library);
    int status = 0;
    if (!ct_recording_run(recording, library, command, &status, &error))
        return ct_cli_fail("record", error);
    finish(recording, path, quiet);
    return pass_on(status);
}

const CtVerb ct_verb_record = {
    .name = "record",
    .step = "evidence",
    .summary = "Run a program and keep what it did to CUDA",
    .run = run,
};
