/* SPDX-License-Identifier: Apache-2.0 */
/* env, printenv, export -p, /proc/PID/environ turned into lines: NAME=VALUE. */
#include <string.h>

#include "parse/env/known-lines.h"

typedef struct {
    guint variables;
    gboolean whole; /* every variable, not what grep left */
} State;

static gpointer begin(CtEmit *emit)
{
    State *st = g_new0(State, 1);
    const char *command = ct_emit_command(emit);
    st->whole = command && !strstr(command, "grep") && !strchr(command, '$');
    return st;
}

static void line(gpointer state, const CtLine *line, CtEmit *emit)
{
    State *st = state;
    if (ct_env_variable_line(emit, line, TRUE))
        st->variables++;
    else
        ct_env_known_line(emit, line);
}

static void finish(gpointer state, CtEmit *emit)
{
    State *st = state;
    if (st->variables || st->whole)
        ct_emit_coverage(emit, "environment", NULL);
    g_free(st);
}

static gboolean assignment(CtStr s)
{
    if (ct_str_starts(s, "export "))
        s = ct_str_from(s, 7);
    else if (ct_str_starts(s, "declare -x "))
        s = ct_str_from(s, 11);
    gsize n = 0;
    while (n < s.n && (g_ascii_isupper(s.p[n]) || g_ascii_isdigit(s.p[n]) || s.p[n] == '_'))
        n++;
    return n > 1 && n < s.n && s.p[n] == '=' && !g_ascii_isdigit(s.p[0]);
}

static int sniff(const CtSniff *sniff)
{
    guint good = 0, lines = 0;
    if (sniff->command && strstr(sniff->command, "/proc/cmdline"))
        return 0; /* options of the kernel */
    if (ct_sniff_has(sniff, "VERSION_ID=") || ct_sniff_has(sniff, "DISTRIB_ID="))
        return 0; /* /etc/os-release */
    for (guint i = 0; i < sniff->n_lines; i++) {
        CtStr s = ct_sniff_line(sniff, i);
        if (!s.n || s.p[0] == '#')
            continue;
        lines++;
        good += assignment(s);
    }
    const char *c = sniff->command;
    gboolean asked = ct_command_runs(c, "printenv") || (c && ct_str_starts(ct_str_of(c), "env")) ||
                     (c && (strstr(c, "/environ") || strstr(c, "export -p"))) ||
                     (ct_command_runs(c, "env") && !strchr(c, '='));
    if (asked && good)
        return 88;
    return good >= 3 && good * 10 >= lines * 8 ? 80 : good && good == lines ? 60 : 0;
}

const CtParser ct_parser_environment = {
    .id = "environment",
    .summary = "environment variables",
    .doc = "env, printenv, export -p and files of NAME=VALUE lines: a fact env.NAME each. Names "
           "that look like secrets are left out.",
    .sniff = sniff,
    .begin = begin,
    .line = line,
    .finish = finish,
};
