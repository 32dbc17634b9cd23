/* SPDX-License-Identifier: Apache-2.0 */
/* What the loader finds: ldd, ldconfig -p; and listings of files and device nodes. */
#include <string.h>

#include "parse/env/known-lines.h"

typedef struct {
    char folder[200];
    guint found;
    gboolean plain; /* ls without -l: a line of names */
    gboolean nodes;
} State;

/* The folder that `ls FOLDER` lists; a folder is named, not a pattern and not a file. */
static void folder_of(const char *command, State *st)
{
    CtStr rest = ct_str_of(command);
    gboolean ls = FALSE;
    guint paths = 0;
    for (CtStr w = ct_str_token(&rest); w.n; w = ct_str_token(&rest)) {
        gboolean last = FALSE;
        while (w.n && strchr("\"'(", w.p[0]))
            w = ct_str_from(w, 1);
        while (w.n && strchr("\"';)|&", w.p[w.n - 1])) {
            last |= w.p[w.n - 1] == ';' || w.p[w.n - 1] == '|' || w.p[w.n - 1] == '&';
            w.n--;
        }
        if (ct_str_eq(w, "ls") || ct_str_ends(w, "/ls")) {
            ls = TRUE;
        } else if (ls && w.n && w.p[0] != '-') {
            paths++;
            if ((w.p[0] == '/' || w.p[0] == '~' || w.p[0] == '.') && !memchr(w.p, '*', w.n))
                ct_str_buf(w, st->folder, sizeof(st->folder));
        }
        if (ls && last)
            break;
    }
    if (paths != 1)
        st->folder[0] = '\0';
    st->plain = ls;
}

static gpointer begin(CtEmit *emit)
{
    State *st = g_new0(State, 1);
    if (ct_emit_command(emit))
        folder_of(ct_emit_command(emit), st);
    return st;
}

/* ls without -l: names in columns, of libraries, or of /dev. */
static gboolean names(State *st, CtEmit *emit, const CtLine *line)
{
    CtStr rest = ct_line_str(line);
    gboolean any = FALSE;
    CtStr all = rest;
    if (!st->plain)
        return FALSE;
    /* These three stand in every /dev, and nowhere else together. */
    gboolean dev = strcmp(st->folder, "/dev") == 0 || strcmp(st->folder, "/dev/") == 0 ||
                   (ct_str_has(all, "null ") && ct_str_has(all, "zero") &&
                    ct_str_has(all, "random"));
    for (CtStr w = ct_str_token(&rest); w.n; w = ct_str_token(&rest)) {
        char path[400];
        if (!dev && !ct_str_has(w, ".so") && !ct_str_starts(w, "/dev/"))
            continue;
        if (dev && w.p[0] != '/')
            g_snprintf(path, sizeof(path), "/dev/%.*s", (int)MIN(w.n, (gsize)150), w.p);
        else if (w.p[0] == '/' || !st->folder[0])
            ct_str_buf(w, path, sizeof(path));
        else
            g_snprintf(path, sizeof(path), "%s/%.*s", st->folder, (int)MIN(w.n, (gsize)150), w.p);
        if (dev && !ct_str_starts(w, "nv") && !ct_str_eq(w, "dri") && !ct_str_eq(w, "shm") &&
            !ct_str_starts(w, "host1x"))
            continue;
        ct_emit_path(emit, line, ct_str_of(path), CT_OK);
        any |= !ct_str_eq(w, "dri") && !ct_str_eq(w, "shm");
        st->nodes |= ct_str_starts(ct_str_of(path), "/dev/");
    }
    /* A full listing of /dev without the driver's nodes shows that they are not there. */
    if (dev && !any && ct_str_has(all, "null")) {
        ct_emit_path(emit, line, ct_str_of("/dev/nvidia0"), CT_ABSENT);
        ct_emit_path(emit, line, ct_str_of("/dev/nvidiactl"), CT_ABSENT);
        ct_emit_path(emit, line, ct_str_of("/dev/nvmap"), CT_ABSENT);
        st->nodes = TRUE;
    }
    return any;
}

static void line(gpointer state, const CtLine *line, CtEmit *emit)
{
    State *st = state;
    CtStr s = ct_line_str(line);
    if (!s.n)
        return;
    if (s.n > 1 && s.p[s.n - 1] == ':' && s.p[0] == '/' && !memchr(s.p, ' ', s.n)) {
        ct_str_buf(ct_str_head(s, s.n - 1), st->folder, sizeof(st->folder));
        return;
    }
    gboolean missing = ct_env_missing_line(emit, line);
    st->nodes |= ct_str_has(s, "/dev/nv");
    if (missing || ct_env_loader_line(emit, line) ||
        ct_env_listing_line(emit, line, st->folder) || names(st, emit, line) ||
        ct_env_known_line(emit, line))
        st->found++;
}

static void finish(gpointer state, CtEmit *emit)
{
    State *st = state;
    const char *command = ct_emit_command(emit);
    gboolean loader = ct_command_runs(command, "ldd") || ct_command_runs(command, "ldconfig");
    if (st->nodes || (command && (strstr(command, "/dev/nv") || strstr(command, "/dev "))))
        ct_emit_coverage(emit, "device-nodes", NULL);
    if (loader || !command)
        ct_emit_coverage(emit, "loader", NULL);
    g_free(st);
}

static int sniff_loader(const CtSniff *sniff)
{
    guint arrows = 0, listing = 0, missing = 0, lines = 0, nodes = 0;
    for (guint i = 0; i < sniff->n_lines; i++) {
        CtStr s = ct_sniff_line(sniff, i);
        if (!s.n)
            continue;
        lines++;
        if (ct_str_has(s, ".so") && (ct_str_has(s, " => /") || ct_str_has(s, " => not found")))
            arrows++;
        else if (s.n > 30 && strchr("-dlcb", s.p[0]) && (s.p[1] == 'r' || s.p[1] == '-') &&
                 strchr("w-", s.p[2]) && strchr("xsS-", s.p[3]))
            listing++;
        else if (ct_str_starts(s, "ls: cannot access") || ct_str_starts(s, "cat: "))
            missing++;
        else if (ct_str_starts(s, "/dev/"))
            nodes++;
    }
    if (arrows && arrows * 3 >= lines)
        return 90;
    if (ct_command_runs(sniff->command, "ldd") || ct_command_runs(sniff->command, "ldconfig"))
        return 75;
    if ((listing + missing + nodes) * 2 > lines)
        return 80;
    return ct_command_runs(sniff->command, "ls") && lines ? 65 : 0;
}

const CtParser ct_parser_loader = {
    .id = "loader",
    .summary = "ldd, ldconfig -p, ls",
    .doc = "Which file a soname resolves to or that it is not found; listings of libraries with "
           "their links and sizes; device nodes that are present, absent or forbidden "
           "(/dev/nvidia*, /dev/nvhost*, /dev/nvmap, /dev/nvgpu/...).",
    .sniff = sniff_loader,
    .begin = begin,
    .line = line,
    .finish = finish,
};
