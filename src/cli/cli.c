/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* ---- nearest word ---- */

/* Levenshtein distance with transpositions counted as one; words of at most 40 bytes. */
static guint distance(const char *a, const char *b)
{
    enum { MAX = 41 };
    guint d[MAX][MAX];
    gsize n = strlen(a), m = strlen(b);
    if (n >= MAX || m >= MAX)
        return G_MAXUINT;
    for (gsize i = 0; i <= n; i++)
        d[i][0] = (guint)i;
    for (gsize j = 0; j <= m; j++)
        d[0][j] = (guint)j;
    for (gsize i = 1; i <= n; i++) {
        for (gsize j = 1; j <= m; j++) {
            guint same = g_ascii_tolower(a[i - 1]) == g_ascii_tolower(b[j - 1]) ? 0 : 1;
            guint best = MIN(d[i - 1][j] + 1, d[i][j - 1] + 1);
            best = MIN(best, d[i - 1][j - 1] + same);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                best = MIN(best, d[i - 2][j - 2] + 1);
            d[i][j] = best;
        }
    }
    return d[n][m];
}

const char *ct_cli_nearest(const char *word, const char *const *known)
{
    const char *best = NULL;
    guint best_distance = (guint)strlen(word) < 4 ? 2 : 3; /* exclusive */
    for (; *known; known++) {
        gboolean begins = strlen(word) >= 3 && g_str_has_prefix(*known, word);
        guint d = begins ? 1 : distance(word, *known);
        if (d < best_distance) {
            best_distance = d;
            best = *known;
        }
    }
    return best;
}

/* ---- messages ---- */

static void complain(const char *verb, const char *message)
{
    fprintf(stderr, "cutriage%s%s: %s\n", verb ? " " : "", verb ? verb : "", message);
}

int ct_cli_usage(const char *verb, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    g_autofree char *message = g_strdup_vprintf(format, ap);
    va_end(ap);
    complain(verb, message);
    fprintf(stderr, "Help: cutriage %s%s--help\n", verb ? verb : "", verb ? " " : "");
    return CT_EXIT_USAGE;
}

int ct_cli_fail(const char *verb, const GError *error)
{
    /* A reader of our output that left early ("| head") knows why. */
    if (!g_str_has_suffix(error->message, g_strerror(EPIPE)))
        complain(verb, error->message);
    return g_error_matches(error, CT_ERROR, CT_ERROR_USAGE) ? CT_EXIT_USAGE : CT_EXIT_FAILED;
}

void ct_cli_note(const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    g_autofree char *message = g_strdup_vprintf(format, ap);
    va_end(ap);
    complain(NULL, message);
}

static guint size_from_environment(const char *name)
{
    const char *value = g_getenv(name);
    char *tail = NULL;
    guint64 n = value ? g_ascii_strtoull(value, &tail, 10) : 0;
    return tail && tail != value && !*tail && n <= 10000 ? (guint)n : 0;
}

gboolean ct_cli_output_is_free(const char *verb, const char *path, gboolean force, int *out_exit)
{
    if (!path || force || access(path, F_OK) != 0)
        return TRUE;
    *out_exit = ct_cli_usage(verb, "%s exists; --force replaces it", path);
    return FALSE;
}

void ct_cli_screen(guint *out_columns, guint *out_rows)
{
    struct winsize size = {0};
    guint columns = size_from_environment("COLUMNS"), rows = size_from_environment("LINES");
    gboolean tty = isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0;
    *out_columns = columns ? columns : tty ? size.ws_col : 0;
    *out_rows = rows ? rows : tty ? size.ws_row : 0;
}

int ct_cli_print(const char *text, int exit_code)
{
    if (fputs(text, stdout) == EOF || fflush(stdout) == EOF) {
        if (errno == EPIPE) /* the reader has seen enough: "| head" */
            return exit_code;
        fprintf(stderr, "cutriage: writing the output: %s\n", g_strerror(errno));
        return CT_EXIT_FAILED;
    }
    return exit_code;
}

/* ---- options ---- */

static char *help_page(const CtVerbHelp *help, GOptionContext *context)
{
    /* GLib writes an ellipsis that not every locale shows. */
    g_autofree char *page = g_option_context_get_help(context, TRUE, NULL);
    g_auto(GStrv) parts = g_strsplit(page, "\u2026", -1);
    return g_strjoinv("...", parts);
}

static void suggest_option(const CtVerbHelp *help, const char *message)
{
    const char *dashes = strstr(message, "--");
    if (!dashes)
        return;
    g_autofree char *word = g_strdup(dashes + 2);
    word[strcspn(word, "= ")] = 0;
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    for (const GOptionEntry *e = help->entries; e && e->long_name; e++)
        g_ptr_array_add(names, (gpointer)e->long_name);
    g_ptr_array_add(names, (gpointer) "help");
    g_ptr_array_add(names, NULL);
    const char *near = ct_cli_nearest(word, (const char *const *)names->pdata);
    if (near)
        fprintf(stderr, "Did you mean --%s?\n", near);
}

gboolean ct_cli_options(const CtVerbHelp *help, int *argc, char ***argv, int *out_exit)
{
    gboolean want_help = FALSE;
    const GOptionEntry extra[] = {
        {"help", 'h', 0, G_OPTION_ARG_NONE, &want_help, "Show this page", NULL}, {NULL}};
    g_autofree char *name = g_strdup_printf("cutriage %s", help->verb);
    g_autofree char *description =
        g_strdup_printf("Examples:\n%s%s%s", help->examples, help->notes ? "\n" : "",
                        help->notes ? help->notes : "");
    g_autoptr(GOptionContext) context = g_option_context_new(help->args);
    g_autoptr(GError) error = NULL;

    g_set_prgname(name);
    g_option_context_set_help_enabled(context, FALSE);
    g_option_context_set_summary(context, help->summary);
    g_option_context_set_description(context, description);
    if (help->entries)
        g_option_context_add_main_entries(context, help->entries, NULL);
    g_option_context_add_main_entries(context, extra, NULL);
    if (!g_option_context_parse(context, argc, argv, &error)) {
        complain(help->verb, error->message);
        if (g_error_matches(error, G_OPTION_ERROR, G_OPTION_ERROR_UNKNOWN_OPTION))
            suggest_option(help, error->message);
        fprintf(stderr, "Help: cutriage %s --help\n", help->verb);
        *out_exit = CT_EXIT_USAGE;
        return FALSE;
    }
    /* "--" that stands before the arguments belongs to the shell's reader, not to the verb. */
    if (*argc > 1 && g_str_equal((*argv)[1], "--")) {
        for (int i = 1; i < *argc; i++)
            (*argv)[i] = (*argv)[i + 1];
        (*argc)--;
    }
    if (want_help) {
        g_autofree char *page = help_page(help, context);
        *out_exit = ct_cli_print(page, CT_EXIT_NOTHING);
        return FALSE;
    }
    return TRUE;
}

gboolean ct_cli_lang(const char *verb, const char *option, CtLang *out_lang, int *out_exit)
{
    if (!option) {
        *out_lang = ct_lang_from_environment();
        return TRUE;
    }
    if (ct_lang_parse(option, out_lang))
        return TRUE;
    *out_exit = ct_cli_usage(verb, "--lang %s: known are en and zh", option);
    return FALSE;
}

gboolean ct_cli_colour(const char *verb, const char *option, gboolean *out_colour, int *out_exit)
{
    const char *no_color = g_getenv("NO_COLOR");
    if (!option || g_str_equal(option, "auto")) {
        *out_colour = isatty(STDOUT_FILENO) && !(no_color && *no_color) &&
                      g_strcmp0(g_getenv("TERM"), "dumb") != 0;
    } else if (g_str_equal(option, "always")) {
        *out_colour = TRUE;
    } else if (g_str_equal(option, "never")) {
        *out_colour = FALSE;
    } else {
        *out_exit = ct_cli_usage(verb, "--color %s: known are auto, always and never", option);
        return FALSE;
    }
    return TRUE;
}
