/* SPDX-License-Identifier: Apache-2.0 */
/* df, uptime, nproc, ulimit, lscpu: short answers about the host. */
#include <string.h>

#include "parse/env/known-lines.h"

typedef struct {
    gboolean inodes; /* df -i counts something else */
    gboolean any;
    double block;    /* unit of df's bare numbers */
} State;

static gpointer begin(CtEmit *emit)
{
    State *st = g_new0(State, 1);
    st->block = 1024;
    if (ct_command_word(ct_emit_command(emit), "-m"))
        st->block = 1048576;
    return st;
}

static gboolean disk_row(CtEmit *emit, const CtLine *line, double block)
{
    CtStr rest = ct_line_str(line), w[8];
    guint n = 0;
    for (CtStr t = ct_str_token(&rest); t.n && n < 8; t = ct_str_token(&rest))
        w[n++] = t;
    if (n < 6 || w[n - 1].p[0] != '/' || w[n - 2].n < 2 || w[n - 2].p[w[n - 2].n - 1] != '%')
        return FALSE;
    double value[4];
    for (guint i = 0; i < 3; i++) {
        CtDim dim = CT_DIM_NONE;
        CtStr cell = w[n - 5 + i];
        if (ct_str_number(cell, &value[i]))
            value[i] *= ct_str_eq(cell, "0") ? 1 : block;
        else if (!ct_quantity(cell, &dim, &value[i]) || dim != CT_DIM_BYTES)
            return FALSE;
    }
    const char *mount = CT_STR_BUF(w[n - 1]);
    const char *free_text = CT_STR_BUF(w[n - 3]);
    if (strcmp(mount, "/dev/shm") == 0) {
        ct_emit_number(emit, line, NULL, "shm.size", value[0], CT_STR_BUF(w[n - 5]));
        ct_emit_number(emit, line, NULL, "shm.available", value[2], free_text);
        if (ct_str_eq(w[0], "shm")) /* so the container engines name it */
            ct_emit_fact(emit, line, NULL, "container.running-in", "yes");
        return TRUE;
    }
    ct_emit_number(emit, line, mount, "disk.size", value[0], CT_STR_BUF(w[n - 5]));
    ct_emit_number(emit, line, mount, "disk.free", value[2], free_text);
    if (ct_str_eq(w[0], "overlay") && strcmp(mount, "/") == 0)
        ct_emit_fact(emit, line, NULL, "container.running-in", "yes");
    return TRUE;
}

/* "30531584", and "30M" of df -ih. */
static gboolean count_of(CtStr s, double *out)
{
    static const char units[] = "KMGT";
    const char *unit = s.n > 1 ? strchr(units, s.p[s.n - 1]) : NULL;
    if (!unit || !*unit)
        return ct_str_number(s, out);
    if (!ct_str_number(ct_str_head(s, s.n - 1), out))
        return FALSE;
    for (const char *u = units; u <= unit; u++)
        *out *= 1024;
    return TRUE;
}

/* "/dev/sda2  30531584  412345  30119239  2% /": files in place of blocks. */
static gboolean inode_row(CtEmit *emit, const CtLine *line)
{
    CtStr rest = ct_line_str(line), w[8];
    guint n = 0;
    double all, left;
    for (CtStr t = ct_str_token(&rest); t.n && n < 8; t = ct_str_token(&rest))
        w[n++] = t;
    if (n != 6 || w[5].p[0] != '/' || !count_of(w[1], &all) || !count_of(w[3], &left) ||
        all <= 0)
        return FALSE;
    const char *mount = CT_STR_BUF(w[5]);
    ct_emit_number(emit, line, mount, "disk.inodes", all, CT_STR_BUF(w[1]));
    ct_emit_number(emit, line, mount, "disk.inodes.free", left, CT_STR_BUF(w[3]));
    return TRUE;
}

gboolean ct_env_disk_line(CtEmit *emit, const CtLine *line)
{
    return disk_row(emit, line, 1024);
}

/* "08:22:58 up 61 days,  4:11,  1 user,  load average: 0.14, 0.21, 0.18" */
static gboolean uptime(CtEmit *emit, const CtLine *line)
{
    CtStr s = ct_line_str(line);
    gssize at = ct_str_find(s, "up "), load = ct_str_find(s, "load average:");
    double seconds = 0, n;
    if (at < 0 || load < 0 || at > load)
        return FALSE;
    CtStr rest = ct_str_head(ct_str_from(s, (gsize)at + 3), (gsize)(load - at - 3));
    while (rest.n) {
        CtStr part = ct_str_field(&rest, ','), left;
        CtStr look = part;
        if (ct_str_has(part, "user"))
            break;
        if (!ct_str_take_number(&look, &n))
            continue;
        if (ct_str_cut(&part, ":", &left)) {
            double hours, minutes;
            if (ct_str_number(left, &hours) && ct_str_number(part, &minutes))
                seconds += hours * 3600 + minutes * 60;
        } else if (ct_str_has(part, "day")) {
            seconds += n * 86400;
        } else if (ct_str_has(part, "min")) {
            seconds += n * 60;
        } else if (ct_str_has(part, "week")) {
            seconds += n * 7 * 86400;
        } else if (ct_str_has(part, "hour") || ct_str_has(part, "hr")) {
            seconds += n * 3600;
        }
    }
    char text[32];
    g_snprintf(text, sizeof(text), "%.0f s", seconds);
    ct_emit_number(emit, line, NULL, "host.uptime", seconds * 1e9, text);
    rest = ct_str_strip(ct_str_from(s, (gsize)load + 13));
    if (ct_str_take_number(&rest, &n)) {
        g_snprintf(text, sizeof(text), "%.2f", n);
        ct_emit_number(emit, line, NULL, "host.load", n, text);
    }
    return TRUE;
}

/* "max locked memory           (kbytes, -l) 64" */
static gboolean ulimit(CtEmit *emit, const CtLine *line)
{
    static const struct {
        const char *option, *key;
    } limits[] = {
        {"-l)", "limit.locked-memory"}, {"-n)", "limit.open-files"}, {"-s)", "limit.stack"},
        {"-v)", "limit.virtual-memory"}, {"-u)", "limit.processes"}, {"-m)", "limit.rss"},
        {"-c)", "limit.core"},
    };
    CtStr s = ct_line_str(line);
    gssize open = ct_str_find(s, "("), close = ct_str_find(s, ")");
    if (open < 0 || close < open)
        return FALSE;
    CtStr inside = ct_str_head(ct_str_from(s, (gsize)open), (gsize)(close - open + 1));
    CtStr value = ct_str_strip(ct_str_from(s, (gsize)close + 1));
    double unit = ct_str_has(inside, "kbytes") ? 1024 : ct_str_has(inside, "512-byte") ? 512
                  : ct_str_has(inside, "blocks") ? 1024 : 1;
    for (gsize i = 0; i < G_N_ELEMENTS(limits); i++) {
        double n;
        if (!ct_str_ends(inside, limits[i].option))
            continue;
        if (ct_str_number(value, &n))
            ct_emit_number(emit, line, NULL, limits[i].key, n * unit, CT_STR_BUF(value));
        else if (ct_str_eq(value, "unlimited"))
            ct_emit_fact(emit, line, NULL, limits[i].key, "unlimited");
        return TRUE;
    }
    return ct_str_has(inside, ", -") || ct_str_starts(inside, "(-");
}

static gboolean answer(CtEmit *emit, const CtLine *line)
{
    const char *command = ct_emit_command(emit);
    CtStr s = ct_line_str(line);
    double n;
    if (!ct_str_number(s, &n) && !ct_str_eq(s, "unlimited"))
        return FALSE;
    static const struct {
        const char *option, *key;
        double unit;
    } limits[] = {
        {"-l", "limit.locked-memory", 1024}, {"-n", "limit.open-files", 1},
        {"-s", "limit.stack", 1024},         {"-v", "limit.virtual-memory", 1024},
        {"-u", "limit.processes", 1},        {"-c", "limit.core", 1024},
    };
    if (ct_command_runs(command, "nproc")) {
        ct_emit_number(emit, line, NULL, "host.cpu.count", n, CT_STR_BUF(s));
        return TRUE;
    }
    for (gsize i = 0; i < G_N_ELEMENTS(limits) && ct_command_runs(command, "ulimit"); i++) {
        if (!ct_command_word(command, limits[i].option))
            continue;
        if (ct_str_eq(s, "unlimited"))
            ct_emit_fact(emit, line, NULL, limits[i].key, "unlimited");
        else
            ct_emit_number(emit, line, NULL, limits[i].key, n * limits[i].unit, CT_STR_BUF(s));
        return TRUE;
    }
    return FALSE;
}

static gboolean lscpu(CtEmit *emit, const CtLine *line)
{
    CtStr key, value;
    if (!ct_str_key_value(ct_line_str(line), &key, &value))
        return FALSE;
    if (ct_str_eq(key, "Architecture"))
        ct_emit_text(emit, line, NULL, "host.arch", value);
    else if (ct_str_eq(key, "CPU(s)"))
        ct_emit_field(emit, line, NULL, "host.cpu.count", value);
    else if (ct_str_eq(key, "Model name"))
        ct_emit_text(emit, line, NULL, "host.cpu.model", value);
    else
        return FALSE;
    return TRUE;
}

static void line(gpointer state, const CtLine *line, CtEmit *emit)
{
    State *st = state;
    CtStr s = ct_line_str(line);
    if (!s.n)
        return;
    if (ct_str_starts(s, "Filesystem")) {
        st->inodes = ct_str_has(s, "IUse");
        if (ct_str_has(s, "1M-blocks"))
            st->block = 1048576;
        return;
    }
    if (st->inodes && s.p[0] != '$') {
        st->any |= inode_row(emit, line);
        return;
    }
    st->any |= disk_row(emit, line, st->block) || uptime(emit, line) || ulimit(emit, line) ||
               answer(emit, line) || lscpu(emit, line) || ct_env_known_line(emit, line);
}

static void finish(gpointer state, CtEmit *emit)
{
    g_free(state);
}

static int sniff(const CtSniff *sniff)
{
    static const char *const programs[] = {"df", "uptime", "nproc", "ulimit", "lscpu", "w"};
    CtStr first = ct_sniff_first(sniff);
    if (ct_str_starts(first, "Filesystem") && ct_sniff_has(sniff, "Mounted on"))
        return 88;
    if (ct_sniff_has(sniff, "load average:") && ct_sniff_has(sniff, " up ") && sniff->n_lines <= 3)
        return 80;
    if (ct_sniff_has(sniff, "open files  ") && ct_sniff_has(sniff, "(-n)"))
        return 88;
    if (ct_sniff_has(sniff, "CPU op-mode(s):"))
        return 88;
    for (gsize i = 0; i < G_N_ELEMENTS(programs); i++)
        if (ct_command_runs(sniff->command, programs[i]) && first.n)
            return 70;
    return 0;
}

const CtParser ct_parser_host_status = {
    .id = "host-status",
    .summary = "df, uptime, nproc, ulimit, lscpu",
    .doc = "Short answers about the host or the container: free space of each mount and of "
           "/dev/shm, uptime and load, limits of locked memory, stack and files, CPUs.",
    .sniff = sniff,
    .begin = begin,
    .line = line,
    .finish = finish,
};
