/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/next-run.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/person.h"
#include "report/layout.h"

#define MAX_OUTPUT (16 * 1024 * 1024)

void ct_next_done_clear(CtNextDone *done)
{
    g_clear_pointer(&done->output, ct_gather_text_free);
    g_clear_pointer(&done->answer, g_free);
}

static const char *say(CtLang lang, const char *en, const char *zh)
{
    return lang == CT_LANG_ZH ? zh : en;
}

/* ---- the command ---- */

char *ct_next_command(const char *run)
{
    if (!run || !*run)
        return NULL;
    for (const char *p = run; (p = strchr(p, '<')) != NULL; p++)
        if (g_ascii_isalpha(p[1]) && strchr(p, '>'))
            return NULL;
    g_autoptr(GRegex) to_file =
        g_regex_new("\\s*(?<![0-9&>])>\\s*[\\w./-]+(\\s+2>&1)?\\s*$", 0, 0, NULL);
    return g_regex_replace(to_file, run, -1, 0, "\\1", 0, NULL);
}

static CtGatherText *take_output(const CtNextTest *t, const char *command)
{
    fflush(NULL);
    g_autofree char *all = g_strdup_printf("{ %s\n} 2>&1", command);
    FILE *from = popen(all, "r"); /* asked for by the person, and shown before */
    if (!from)
        return NULL;
    /* Ctrl-C ends a test that would run on; what it gave until then is kept. */
    void (*before)(int) = signal(SIGINT, SIG_IGN);
    GString *text = g_string_new(NULL);
    g_string_append_printf(text, "$ %s\n", command);
    char block[4096];
    for (size_t n; (n = fread(block, 1, sizeof block, from)) > 0;)
        if (text->len + n <= MAX_OUTPUT)
            g_string_append_len(text, block, (gssize)n);
    int status = pclose(from);
    signal(SIGINT, before);
    g_autofree char *shown = g_strndup(text->str, 4000);
    g_auto(GStrv) lines = g_strsplit(shown, "\n", 21);
    for (guint i = 0; lines[i] && i < 20; i++) {
        g_autofree char *clean = ct_text_clean(lines[i]);
        fprintf(stderr, "  | %s\n", clean);
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) != 0)
        fprintf(stderr, "  | (exit %d)\n", WEXITSTATUS(status));
    CtGatherText *out = g_new0(CtGatherText, 1);
    out->path = g_strconcat("test:", t->test, NULL);
    g_string_append_c(text, '\n');
    out->text = g_string_free(text, FALSE);
    return out;
}

/* ---- asking ---- */

static char *ask(const char *question)
{
    char line[64];
    fprintf(stderr, "%s ", question);
    fflush(stderr);
    if (!fgets(line, sizeof line, stdin))
        return g_strdup("");
    return g_strdup(g_strstrip(line));
}

static gboolean says_yes(const char *answer)
{
    return g_ascii_strcasecmp(answer, "y") == 0 || g_ascii_strcasecmp(answer, "yes") == 0 ||
           g_str_equal(answer, "是");
}

static void show(const CtNextTest *t, CtLang lang)
{
    g_autofree char *run = ct_text_clean(t->run ? t->run : "");
    g_autofree char *what = ct_text_clean(t->say ? t->say : "");
    fprintf(stderr, "%s %s\n", say(lang, "Next test:", "下一步检查："), t->test);
    if (*what)
        fprintf(stderr, "  %s\n", what);
    if (*run)
        fprintf(stderr, "  $ %s\n", run);
    for (guint i = 0; i < t->outcomes->len; i++) {
        const CtOutcome *o = g_ptr_array_index(t->outcomes, i);
        g_autofree char *when = ct_text_clean(o->when);
        fprintf(stderr, "  %u  %s -> --answer %s=%s\n", i + 1, when, t->test, o->cause);
    }
}

static void ask_outcome(const CtNextTest *t, CtLang lang, CtNextDone *out)
{
    if (!t->outcomes->len)
        return;
    g_autofree char *answer =
        ask(say(lang, "Which of these do you see? Number, or Enter for none:",
                "看到的是哪一种？输入编号，都不是则直接回车："));
    gint64 n = g_ascii_strtoll(answer, NULL, 10);
    if (n < 1 || n > t->outcomes->len)
        return;
    const CtOutcome *o = g_ptr_array_index(t->outcomes, (guint)n - 1);
    out->answer = g_strdup_printf("%s=%s", t->test, o->cause);
}

static const CtNextTest *best_test(const CtDiagnosis *d)
{
    for (guint i = 0; i < d->hypotheses->len; i++) {
        const CtHypothesis *h = g_ptr_array_index(d->hypotheses, i);
        if (h->next->len)
            return g_ptr_array_index(h->next, 0);
    }
    return NULL;
}

gboolean ct_next_offer(const CtDiagnosis *d, CtLang lang, gboolean yes, CtNextDone *out)
{
    const CtNextTest *t = best_test(d);
    if (!t) {
        fprintf(stderr, "%s\n", say(lang, "No test tells more than this.", "没有更有区分力的检查。"));
        return FALSE;
    }
    show(t, lang);
    gboolean can_ask = isatty(STDIN_FILENO) && isatty(STDERR_FILENO);
    if (!can_ask && !yes)
        return FALSE;
    g_autofree char *command = ct_next_command(t->run);
    if (command && yes) {
        out->output = take_output(t, command);
    } else if (command) {
        g_autofree char *clean = ct_text_clean(command);
        g_autofree char *question =
            g_strdup_printf("%s %s [y/N]", say(lang, "Run this now?", "现在运行？"), clean);
        g_autofree char *answer = ask(question);
        if (says_yes(answer))
            out->output = take_output(t, command);
    }
    if (!command && !can_ask)
        fprintf(stderr, "%s\n", say(lang, "This test is no command that could be run as it stands.",
                                    "该检查不是可直接运行的命令。"));
    if (can_ask)
        ask_outcome(t, lang, out);
    return out->output || out->answer;
}

/* ---- what changed ---- */

static double probability_of(const CtDiagnosis *d, const char *cause)
{
    for (guint i = 0; i < d->hypotheses->len; i++) {
        const CtHypothesis *h = g_ptr_array_index(d->hypotheses, i);
        if (strcmp(h->cause, cause) == 0)
            return h->probability;
    }
    return 0;
}

void ct_next_print_change(const CtDiagnosis *before, const CtDiagnosis *after, CtLang lang)
{
    const CtDiagnosis *both[] = {after, before};
    guint moved = 0;
    fprintf(stderr, "%s\n", say(lang, "What changed:", "变化："));
    for (guint k = 0; k < 2; k++)
        for (guint i = 0; i < both[k]->hypotheses->len; i++) {
            const CtHypothesis *h = g_ptr_array_index(both[k]->hypotheses, i);
            double was = probability_of(before, h->cause), is = probability_of(after, h->cause);
            /* The second list only tells of what is gone from the first. */
            if ((k == 1 && is > 0) || (was - is < 0.01 && is - was < 0.01))
                continue;
            fprintf(stderr, "  %3.0f%% -> %3.0f%%  %s\n", was * 100, is * 100, h->title);
            moved++;
        }
    if (!moved)
        fprintf(stderr, "  %s\n", say(lang, "nothing", "无"));
    fputc('\n', stderr);
}
