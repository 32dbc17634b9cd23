/* SPDX-License-Identifier: Apache-2.0 */
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/start.h"

static int unknown_verb(const char *word)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    for (const CtVerb *const *v = ct_verbs(); *v; v++) {
        g_ptr_array_add(names, (gpointer)(*v)->name);
        if ((*v)->alias)
            g_ptr_array_add(names, (gpointer)(*v)->alias);
    }
    g_ptr_array_add(names, NULL);

    fprintf(stderr, "cutriage: there is no verb '%s'\n", word);
    const char *near = ct_cli_nearest(word, (const char *const *)names->pdata);
    if (near)
        fprintf(stderr, "Did you mean: cutriage %s\n", near);
    else if (g_file_test(word, G_FILE_TEST_EXISTS))
        fprintf(stderr, "It is a file: cutriage diagnose %s\n", word);
    fprintf(stderr, "All verbs: cutriage help\n");
    return CT_EXIT_USAGE;
}

static int run_named(const char *name, int argc, char **argv)
{
    return ct_verb_by_name(name)->run(argc, argv);
}

int main(int argc, char **argv)
{
    /* Only what text needs: numbers are written and read in the C locale everywhere. */
    setlocale(LC_CTYPE, "");
    signal(SIGPIPE, SIG_IGN);
    /* A limit on the size of files is a full disk: an error of the write, not an end. */
    signal(SIGXFSZ, SIG_IGN);
    if (argc < 2)
        return ct_start_page();

    const char *word = argv[1];
    const CtVerb *verb = ct_verb_by_name(word);
    if (verb)
        return verb->run(argc - 1, argv + 1);
    if (g_str_equal(word, "--help") || g_str_equal(word, "-h"))
        return run_named("help", argc - 1, argv + 1);
    if (g_str_equal(word, "--version") || g_str_equal(word, "-V"))
        return run_named("version", argc - 1, argv + 1);
    if (word[0] == '-')
        return ct_cli_usage(NULL, "unknown option %s (a verb comes first)", word);
    return unknown_verb(word);
}
