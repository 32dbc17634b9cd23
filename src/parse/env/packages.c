/* SPDX-License-Identifier: Apache-2.0 */
/* Package lists: dpkg -l, apt list, rpm -qa, pip list/freeze/show, conda list; cut by awk too. */
#include <string.h>

#include "parse/env/known-lines.h"
#include "parse/env/version-scan.h"

typedef struct {
    char packager[8];
    gboolean columns; /* "name version" lines are packages */
    char show[100];   /* package of `pip show`, `dpkg -s`, `apt-cache policy` */
    guint packages, prose;
} State;

static const char *packager_of(const char *command)
{
    if (ct_command_runs(command, "dpkg") || ct_command_runs(command, "apt") ||
        ct_command_runs(command, "dpkg-query") || ct_command_runs(command, "apt-cache"))
        return "apt";
    if (ct_command_runs(command, "rpm") || ct_command_runs(command, "yum") ||
        ct_command_runs(command, "dnf"))
        return "rpm";
    if (ct_command_runs(command, "pip") || ct_command_runs(command, "pip3") ||
        (command && strstr(command, "-m pip")) || ct_command_runs(command, "uv"))
        return "pip";
    if (ct_command_runs(command, "conda") || ct_command_runs(command, "mamba"))
        return "conda";
    return NULL;
}

static gpointer begin(CtEmit *emit)
{
    State *st = g_new0(State, 1);
    const char *packager = packager_of(ct_emit_command(emit));
    g_strlcpy(st->packager, packager ? packager : "", sizeof(st->packager));
    st->columns = packager != NULL;
    return st;
}

static gboolean package_name(CtStr w)
{
    if (w.n < 2 || w.n > 90 || !g_ascii_isalnum(w.p[0]))
        return FALSE;
    for (gsize i = 0; i < w.n; i++)
        if (!g_ascii_isalnum(w.p[i]) && !strchr("-_.+:", w.p[i]))
            return FALSE;
    return TRUE;
}

static gboolean version_word(CtStr w)
{
    return w.n && w.n < 100 && g_ascii_isdigit(w.p[0]);
}

/* "libnvinfer8 8.5.2-1+cuda11.8", pip's "torch  2.2.1", conda's four columns */
static gboolean known_package(CtStr name)
{
    return ct_version_key_of_package(name) || ct_str_starts(name, "nvidia-") ||
           ct_str_starts(name, "libnv") || ct_str_starts(name, "cuda-") ||
           ct_str_starts(name, "libcu");
}

static gboolean two_columns(State *st, CtEmit *emit, const CtLine *line)
{
    CtStr rest = ct_line_str(line), name = ct_str_token(&rest), version = ct_str_token(&rest);
    CtStr extra = ct_str_token(&rest);
    if (!package_name(name) || !version_word(version) ||
        (!memchr(version.p, '.', version.n) && version.n < 6))
        return FALSE;
    if (!st->columns && !known_package(name))
        return FALSE;
    const char *packager = st->packager[0] ? st->packager : "apt";
    if (extra.n && ct_str_has(extra, "pypi"))
        packager = "pip";
    ct_emit_package(emit, line, packager, name, version, CT_OK);
    return TRUE;
}

/* name-version-release.arch */
static gboolean rpm_name(CtEmit *emit, const CtLine *line)
{
    CtStr s = ct_line_str(line);
    if (memchr(s.p, ' ', s.n) || s.n > 160)
        return FALSE;
    gsize dashes = 0, at[2] = {0, 0};
    for (gsize i = s.n; i > 0 && dashes < 2; i--)
        if (s.p[i - 1] == '-')
            at[dashes++] = i - 1;
    if (dashes < 2 || !g_ascii_isdigit(s.p[at[1] + 1]))
        return FALSE;
    CtStr version = ct_str_head(ct_str_from(s, at[1] + 1), at[0] - at[1] - 1);
    ct_emit_package(emit, line, "rpm", ct_str_head(s, at[1]), version, CT_OK);
    return TRUE;
}

/* pip show, dpkg -s, apt-cache policy: "Name: torch" / "Version: 2.1.0" / "  Installed: 1.2" */
static gboolean shown(State *st, CtEmit *emit, const CtLine *line)
{
    CtStr s = ct_line_str(line), key, value;
    if (s.n > 2 && s.p[s.n - 1] == ':' && package_name(ct_str_head(s, s.n - 1)) &&
        ct_command_runs(ct_emit_command(emit), "apt-cache")) {
        ct_str_buf(ct_str_head(s, s.n - 1), st->show, sizeof(st->show));
        return TRUE;
    }
    if (!ct_str_key_value(s, &key, &value))
        return FALSE;
    if (ct_str_eq(key, "Name") || ct_str_eq(key, "Package")) {
        ct_str_buf(value, st->show, sizeof(st->show));
        return TRUE;
    }
    if ((ct_str_eq(key, "Version") || ct_str_eq(key, "Installed")) && st->show[0]) {
        CtStatus status = ct_str_has(value, "none") ? CT_ABSENT : CT_OK;
        ct_emit_package(emit, line, st->packager[0] ? st->packager : "apt",
                        ct_str_of(st->show), value, status);
        st->packages++;
        return TRUE;
    }
    return FALSE;
}

static void line(gpointer state, const CtLine *line, CtEmit *emit)
{
    State *st = state;
    CtStr s = ct_line_str(line);
    if (!s.n || ct_str_starts(s, "#"))
        return;
    if (ct_str_starts(s, "Package ") && ct_str_has(s, "Version")) {
        if (!st->packager[0])
            g_strlcpy(st->packager, "pip", sizeof(st->packager));
        st->columns = TRUE;
        return;
    }
    if (ct_str_starts(s, "+++-") || ct_str_starts(s, "||/") || ct_str_starts(s, "---"))
        return;
    if (shown(st, emit, line))
        return;
    if (ct_env_package_line(emit, line) || two_columns(st, emit, line) ||
        (strcmp(st->packager, "rpm") == 0 && rpm_name(emit, line))) {
        st->packages++;
        return;
    }
    if (ct_env_known_line(emit, line) || ct_emit_command(emit))
        return;
    st->prose += ct_scan_versions(emit, line, s, NULL);
}

static void finish(gpointer state, CtEmit *emit)
{
    State *st = state;
    if (st->prose)
        ct_emit_scope(emit, "claimed");
    if (st->packages) {
        ct_emit_coverage(emit, "packages", NULL);
        ct_emit_coverage(emit, "versions", NULL);
    }
    g_free(st);
}

typedef struct {
    guint dpkg, columns, pins, lines;
} Likeness;

static void judge(CtStr s, Likeness *like)
{
    static const char *const states[] = {"ii", "rc", "iU", "iF", "hi"};
    CtStr rest = s, a = ct_str_token(&rest), b = ct_str_token(&rest), c = ct_str_token(&rest);
    like->lines++;
    for (gsize i = 0; i < G_N_ELEMENTS(states); i++)
        like->dpkg += ct_str_eq(a, states[i]) && version_word(c);
    like->dpkg += ct_str_has(s, "[installed") && ct_str_has(a, "/");
    like->columns += !c.n && package_name(a) && version_word(b) && memchr(b.p, '.', b.n) &&
                     known_package(a);
    gssize equals = ct_str_find(s, "==");
    like->pins += equals > 0 && !b.n && package_name(ct_str_head(s, (gsize)equals));
}

static gboolean lists_packages(const char *command)
{
    static const char *const words[] = {"list", "freeze", " -l", " -q", " -s ", "show", "policy"};
    for (gsize i = 0; i < G_N_ELEMENTS(words); i++)
        if (strstr(command, words[i]))
            return TRUE;
    return FALSE;
}

static int sniff(const CtSniff *sniff)
{
    Likeness like = {0};
    if (ct_sniff_has(sniff, "Desired=Unknown/Install"))
        return 95;
    for (guint i = 0; i < sniff->n_lines; i++) {
        CtStr s = ct_sniff_line(sniff, i);
        if (s.n)
            judge(s, &like);
    }
    if (like.dpkg && (like.dpkg * 2 >= like.lines || like.dpkg >= 3))
        return 90;
    if (like.lines && packager_of(sniff->command) && lists_packages(sniff->command))
        return 80;
    if (like.pins && like.pins * 2 >= like.lines)
        return 70;
    if (ct_str_starts(ct_sniff_first(sniff), "Package ") && ct_sniff_has(sniff, "Version"))
        return 75;
    return like.columns && like.columns * 2 >= like.lines ? 60 : 0;
}

const CtParser ct_parser_packages = {
    .id = "packages",
    .summary = "lists of packages",
    .doc = "dpkg -l, apt list, dpkg -s, apt-cache policy, rpm -qa, pip list, freeze and show, "
           "conda list, also cut down by grep and awk: a fact package.NAME each, and version.* "
           "facts for parts of the GPU stack. Half-installed packages have the status partial.",
    .sniff = sniff,
    .begin = begin,
    .line = line,
    .finish = finish,
};
