/* SPDX-License-Identifier: Apache-2.0 */
/* ps and top: processes with their state and memory, by the names of the header's columns. */
#include <string.h>

#include "parse/env/known-lines.h"

#define MAX_COLUMNS 24
#define MAX_PROCESSES 2000

typedef struct {
    gint pid, parent, rss, stat, command, time;
    guint columns;
    gboolean top;
    gint64 t_ns;
    GHashTable *seen;
    guint tables;
} State;

static gpointer begin(CtEmit *emit)
{
    State *st = g_new0(State, 1);
    st->pid = st->parent = st->rss = st->stat = st->command = -1;
    st->t_ns = ct_section_time(emit);
    st->seen = g_hash_table_new(NULL, NULL);
    return st;
}

static gboolean take_header(State *st, CtStr s)
{
    if (!ct_str_has(s, "PID") || !(ct_str_has(s, "COMMAND") || ct_str_has(s, "CMD")))
        return FALSE;
    CtStr rest = s;
    st->pid = st->parent = st->rss = st->stat = st->command = -1;
    st->columns = 0;
    for (CtStr w = ct_str_token(&rest); w.n && st->columns < MAX_COLUMNS;
         w = ct_str_token(&rest)) {
        gint at = (gint)st->columns++;
        if (ct_str_eq(w, "PID"))
            st->pid = at;
        else if (ct_str_eq(w, "PPID"))
            st->parent = at;
        else if (ct_str_eq(w, "RSS") || ct_str_eq(w, "RES") || ct_str_eq(w, "RSZ"))
            st->rss = at;
        else if (ct_str_eq(w, "STAT") || ct_str_eq(w, "S"))
            st->stat = at;
        else if (ct_str_starts(w, "COMMAND") || ct_str_eq(w, "CMD"))
            st->command = at;
    }
    st->top = ct_str_has(s, "VIRT");
    st->tables++;
    return TRUE;
}

static gboolean row(State *st, CtEmit *emit, const CtLine *line, CtStr s)
{
    CtStr cell[MAX_COLUMNS] = {0}, rest = s;
    guint n = 0;
    gint64 pid;
    while (n < st->columns && (gint)n != st->command) {
        cell[n] = ct_str_token(&rest);
        if (!cell[n].n)
            return FALSE;
        n++;
    }
    CtStr command = ct_str_strip(rest);
    if (st->pid < 0 || (guint)st->pid >= n || !ct_str_uint(cell[st->pid], &pid) || pid > G_MAXINT)
        return FALSE;
    char subject[32];
    g_snprintf(subject, sizeof(subject), "process:%d", (int)pid);
    double rss = 0;
    CtDim dim;
    if (st->rss >= 0 && (guint)st->rss < n) {
        CtStr w = cell[st->rss];
        char upper[32];
        gboolean known = ct_str_number(w, &rss);
        if (known) {
            rss *= 1024;
        } else if (w.n < 30) { /* 2.1g, 512m */
            ct_str_buf(w, upper, sizeof(upper));
            for (char *p = upper; *p; p++)
                *p = g_ascii_toupper(*p);
            known = ct_quantity(ct_str_of(upper), &dim, &rss);
        }
        if (known && rss > 0 && (st->tables > 1 || rss > 64.0 * 1048576))
            ct_emit_snapshot(emit, line, subject, "process.rss", "bytes", st->t_ns, rss);
    }
    if (g_hash_table_contains(st->seen, GINT_TO_POINTER((gint)pid)) ||
        g_hash_table_size(st->seen) >= MAX_PROCESSES)
        return TRUE;
    g_hash_table_add(st->seen, GINT_TO_POINTER((gint)pid));
    if (command.n)
        ct_emit_number(emit, line, subject, "process.command", rss, CT_STR_BUF(command));
    if (st->parent >= 0 && (guint)st->parent < n)
        ct_emit_text(emit, line, subject, "process.parent", cell[st->parent]);
    if (st->stat >= 0 && (guint)st->stat < n && strchr("DZ", cell[st->stat].p[0]))
        ct_emit_text(emit, line, subject, "process.state", cell[st->stat]);
    return TRUE;
}

/* "MiB Mem :   7451.4 total,     71.2 free, ...", "MiB Swap: ... 1889.9 used.    202.0 avail Mem"
 * of top. */
static gboolean top_memory(CtEmit *emit, const CtLine *line, CtStr s)
{
    static const struct {
        const char *unit;
        double bytes;
    } units[] = {{"KiB ", 1024.0}, {"MiB ", 1048576.0}, {"GiB ", 1073741824.0}};
    static const struct {
        gboolean swap;
        const char *word, *key;
    } fields[] = {{FALSE, "total", "host.memory.total"}, {FALSE, "free", "host.memory.free"},
                  {FALSE, "used", "host.memory.used"},   {TRUE, "total", "host.swap.total"},
                  {TRUE, "free", "host.swap.free"},      {TRUE, "used", "host.swap.used"},
                  {TRUE, "avail", "host.memory.available"}};
    double scale = 0, n;
    for (gsize i = 0; i < G_N_ELEMENTS(units); i++)
        if (ct_str_starts(s, units[i].unit))
            scale = units[i].bytes;
    gboolean swap = scale > 0 && ct_str_starts(ct_str_from(s, 4), "Swap");
    CtStr rest = s, head;
    if (!(swap || (scale > 0 && ct_str_starts(ct_str_from(s, 4), "Mem"))) ||
        !ct_str_cut(&rest, ":", &head))
        return FALSE;
    for (guint guard = 0; guard < 8 && rest.n; guard++) {
        rest = ct_str_strip(rest);
        CtStr number = ct_str_token(&rest), word = ct_str_token(&rest);
        if (!ct_str_number(number, &n))
            return TRUE;
        for (gsize i = 0; i < G_N_ELEMENTS(fields); i++)
            if (fields[i].swap == swap && ct_str_starts(word, fields[i].word))
                ct_emit_number(emit, line, NULL, fields[i].key, n * scale, NULL);
    }
    return TRUE;
}

static void line(gpointer state, const CtLine *line, CtEmit *emit)
{
    State *st = state;
    CtStr s = ct_line_str(line);
    gint64 t;
    if (!s.n)
        return;
    if (ct_line_only_time(line, &t)) {
        st->t_ns = t;
        return;
    }
    if (take_header(st, s) || top_memory(emit, line, s))
        return;
    if (st->columns && row(st, emit, line, s))
        return;
    if (line->t_ns != CT_TIME_UNKNOWN)
        st->t_ns = line->t_ns;
    ct_env_known_line(emit, line);
}

static void finish(gpointer state, CtEmit *emit)
{
    State *st = state;
    if (st->tables)
        ct_emit_coverage(emit, "processes", NULL);
    g_hash_table_unref(st->seen);
    g_free(st);
}

static int sniff(const CtSniff *sniff)
{
    for (guint i = 0; i < MIN(sniff->n_lines, 12u); i++) {
        CtStr s = ct_sniff_line(sniff, i);
        if (ct_str_has(s, "PID") && (ct_str_has(s, "COMMAND") || ct_str_has(s, " CMD")) &&
            !ct_str_has(s, "|") && (ct_str_has(s, "%CPU") || ct_str_has(s, "TIME") ||
                                    ct_str_has(s, "RSS") || ct_str_has(s, "TTY") ||
                                    ct_str_has(s, "STAT")))
            return 85;
    }
    return 0;
}

const CtParser ct_parser_processes = {
    .id = "processes",
    .summary = "ps and top",
    .doc = "Processes with command, resident memory (a series process.rss when listed again) and "
           "the states D and Z, found by the names of the columns.",
    .sniff = sniff,
    .begin = begin,
    .line = line,
    .finish = finish,
};
