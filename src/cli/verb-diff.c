/* SPDX-License-Identifier: Apache-2.0 */
/* Two states of a machine, a state and a release, or any number of machines: what differs. */
#include <string.h>
#include <unistd.h>

#include "cli/capture.h"
#include "cli/cli.h"
#include "cli/gather.h"
#include "report/diff.h"

#define MAX_STATES 512

typedef struct {
    char *format, *lang, *color, *knowledge, *release;
    gboolean json, full, with_volatile, group;
    CtDiffPage page;
} Options;

static void options_clear(Options *o)
{
    g_free(o->format);
    g_free(o->lang);
    g_free(o->color);
    g_free(o->knowledge);
    g_free(o->release);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Options, options_clear)

static gboolean choose_form(Options *o, int *out_exit)
{
    static const char *const names[] = {"text", "json", "md", "html", NULL};
    o->page.form = o->json ? CT_DIFF_JSON : CT_DIFF_TEXT;
    if (!o->format)
        return TRUE;
    for (int i = 0; names[i]; i++)
        if (g_str_equal(o->format, names[i]) && (!o->json || i == CT_DIFF_JSON)) {
            o->page.form = (CtDiffForm)i;
            return TRUE;
        }
    *out_exit = o->json ? ct_cli_usage("diff", "--json and --format %s exclude each other",
                                       o->format)
                        : ct_cli_usage("diff", "--format %s: known are text, json, md and html",
                                       o->format);
    return FALSE;
}

static void gather_free(gpointer data)
{
    ct_gather_clear(data);
    g_free(data);
}

/* Every path is a state of its own. (transfer full, of CtGather) */
static GPtrArray *read_states(const Options *o, char **paths, int *out_exit)
{
    g_autoptr(GPtrArray) states = g_ptr_array_new_with_free_func(gather_free);
    for (; *paths; paths++) {
        char *one[] = {*paths, NULL};
        CtGather *g = g_new0(CtGather, 1);
        g_ptr_array_add(states, g);
        if (!ct_gather_state("diff", one, o->knowledge, g, out_exit))
            return NULL;
    }
    return g_steal_pointer(&states);
}

static int print(const CtDiff *d, const Options *o)
{
    g_autofree char *text = ct_diff_report(d, &o->page);
    return ct_cli_print(text, d->nothing            ? CT_EXIT_INCOMPLETE
                              : ct_diff_matters(d) ? CT_EXIT_FOUND
                                                   : CT_EXIT_NOTHING);
}

static char *stand_in(CtRedact *redact, const char *value)
{
    return ct_redact_text(redact, value, strlen(value), NULL);
}

/* A capture has stand-ins where a log has the name itself. */
static gboolean is_stand_in(const char *before, const char *after, gpointer user)
{
    g_autofree char *a = stand_in(user, before), *b = stand_in(user, after);
    return strcmp(a, after) == 0 || strcmp(b, before) == 0;
}

/* With the key of this user, where there is one: it made the stand-ins of this user's captures. */
static void forgive_stand_ins(CtDiff *d)
{
    g_autofree char *key = ct_capture_data_file("redact.key", FALSE);
    g_autoptr(CtRedact) redact = key && access(key, R_OK) == 0 ? ct_capture_redactor() : NULL;
    for (guint i = 0; redact && i < d->rows->len; i++) {
        const CtDiffRow *r = d->rows->pdata[i];
        if (!r->identity || strstr(r->key, "serial") == NULL)
            continue;
        ct_redact_learn(redact, CT_REDACT_SERIAL, r->before);
        ct_redact_learn(redact, CT_REDACT_SERIAL, r->after);
    }
    if (redact)
        ct_diff_forgive(d, is_stand_in, redact);
}

static int diff_two(Options *o, char **paths)
{
    g_autoptr(GError) error = NULL;
    int code = 0;
    g_autoptr(GPtrArray) states = read_states(o, paths, &code);
    if (!states)
        return code;
    const CtGather *a = states->pdata[0], *b = states->pdata[1];
    o->page.before = paths[0];
    o->page.now = paths[1];
    g_autoptr(CtDiff) d = ct_diff(a->ev, b->ev, b->kb, o->with_volatile,
                                  ct_lang_name(o->page.lang), &error);
    if (!d)
        return ct_cli_fail("diff", error);
    forgive_stand_ins(d);
    return print(d, o);
}

static int diff_release(Options *o, char **paths)
{
    g_autoptr(GError) error = NULL;
    int code = 0;
    g_autoptr(GPtrArray) states = read_states(o, paths, &code);
    if (!states)
        return code;
    const CtGather *g = states->pdata[0];
    o->page.before = o->release;
    o->page.now = paths[0];
    o->page.release = TRUE;
    g_autoptr(CtDiff) d = ct_diff_release(o->release, g->ev, g->kb, &error);
    return d ? print(d, o) : ct_cli_fail("diff", error);
}

static int diff_group(Options *o, char **paths)
{
    int code = 0;
    g_autoptr(GPtrArray) states = read_states(o, paths, &code);
    if (!states)
        return code;
    g_autofree CtEvidence **ev = g_new0(CtEvidence *, states->len);
    for (guint i = 0; i < states->len; i++)
        ev[i] = ((CtGather *)states->pdata[i])->ev;
    const CtKb *kb = ((CtGather *)states->pdata[0])->kb;
    g_autoptr(GPtrArray) rows = ct_diff_group(ev, states->len, kb, o->with_volatile);
    g_autofree char *text = ct_diff_group_report(rows, (const char *const *)paths, states->len,
                                                 &o->page);
    gboolean matters = FALSE;
    for (guint i = 0; i < rows->len; i++)
        matters |= ((CtGroupRow *)rows->pdata[i])->importance >= CT_DIFF_MATTERS;
    return ct_cli_print(text, matters ? CT_EXIT_FOUND : CT_EXIT_NOTHING);
}

static int diff(Options *o, int n, char **paths)
{
    if (o->group && o->release)
        return ct_cli_usage("diff", "--group and --release exclude each other");
    if (o->group)
        return n < 2 || n > MAX_STATES
                   ? ct_cli_usage("diff", "--group wants 2 to %d states", MAX_STATES)
                   : diff_group(o, paths);
    if (o->release)
        return n == 1 ? diff_release(o, paths)
                      : ct_cli_usage("diff", "--release wants one state to compare with");
    return n == 2 ? diff_two(o, paths)
                  : ct_cli_usage("diff", "give the known-good state and the one of now, or --group");
}

static int run(int argc, char **argv)
{
    g_auto(Options) o = {0};
    int code = 0;
    const GOptionEntry entries[] = {
        {"group", 0, 0, G_OPTION_ARG_NONE, &o.group, "Any number of states: who stands out", NULL},
        {"release", 0, 0, G_OPTION_ARG_STRING, &o.release,
         "Against a release: jp6.2, l4t-r36.4.7, cuda12.4", "NAME"},
        {"volatile", 0, 0, G_OPTION_ARG_NONE, &o.with_volatile,
         "Also what changes by itself: temperatures, used memory", NULL},
        {"full", 0, 0, G_OPTION_ARG_NONE, &o.full, "Show every row and its place", NULL},
        {"json", 0, 0, G_OPTION_ARG_NONE, &o.json, "The same as --format json", NULL},
        {"format", 0, 0, G_OPTION_ARG_STRING, &o.format, "text (default), json, md or html", "FORM"},
        {"lang", 0, 0, G_OPTION_ARG_STRING, &o.lang, "en or zh", "LANG"},
        {"color", 0, 0, G_OPTION_ARG_STRING, &o.color, "auto (default), always or never", "WHEN"},
        {"knowledge", 0, 0, G_OPTION_ARG_FILENAME, &o.knowledge, "Another knowledge folder", "DIR"},
        {NULL},
    };
    const CtVerbHelp help = {
        .verb = "diff",
        .args = "BASELINE NOW",
        .summary = "Shows what differs between two states of a machine, by how much it matters.\n"
                   "A state is a case of capture, a folder of outputs, or one file.",
        .examples = "  cutriage diff good.case now.case\n"
                    "  cutriage diff --volatile monday/ tuesday/\n"
                    "  cutriage diff --group node*.case\n"
                    "  cutriage diff --release jp6.2 board.case\n"
                    "  cutriage diff --format html good.case now.case > drift.html\n",
        .notes = "Exit codes: 0 nothing differs that matters, 1 something does, 2 usage, 3 nothing\n"
                 "could be compared, 4 failed.",
        .entries = entries,
    };
    guint rows;
    if (!ct_cli_options(&help, &argc, &argv, &code) || !choose_form(&o, &code) ||
        !ct_cli_lang("diff", o.lang, &o.page.lang, &code) ||
        !ct_cli_colour("diff", o.color, &o.page.text.colour, &code))
        return code;
    o.page.text.full = o.full;
    ct_cli_screen(&o.page.text.columns, &rows);
    return diff(&o, argc - 1, argv + 1);
}

const CtVerb ct_verb_diff = {
    .name = "diff",
    .step = "freeze",
    .summary = "What differs between two states, by how much it matters",
    .run = run,
};
