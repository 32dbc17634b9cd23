/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of the host: free with any unit, /proc/meminfo, swapon --show. Snapshots that follow
 * each other, in one section or in several of a file, become series.
 */
#include <string.h>

#include "parse/env/known-lines.h"

typedef struct {
    gint64 t_ns;
    double unit;       /* of free's bare numbers, 0 until known */
    gboolean table;    /* free's header was seen */
    gboolean swapon;
    double total, available, swap_total, swap_free; /* of meminfo, negative unknown */
    guint snapshots;
    double swap_sum, swap_used_sum;
} State;

static gpointer begin(CtEmit *emit)
{
    State *st = g_new0(State, 1);
    const char *command = ct_emit_command(emit);
    st->t_ns = ct_section_time(emit);
    if (st->t_ns != CT_TIME_UNKNOWN)
        ct_emit_clock(emit, "wall");
    if (ct_command_runs(command, "free")) {
        st->unit = ct_command_word(command, "-m") || ct_command_word(command, "--mebi") ? 1048576
                   : ct_command_word(command, "-g") || ct_command_word(command, "--gibi")
                       ? 1073741824.0
                   : ct_command_word(command, "-b") ? 1
                   : ct_command_word(command, "-h") ? 0 : 1024;
    }
    st->total = st->available = st->swap_total = st->swap_free = -1;
    return st;
}

static void number(CtEmit *emit, const CtLine *line, const char *key, double bytes, CtStr text)
{
    ct_emit_number(emit, line, NULL, key, bytes, CT_STR_BUF(text));
}

/* ---- /proc/meminfo ---- */

static gboolean meminfo_pair(CtStr s, CtStr *key, double *bytes, CtStr *value)
{
    CtDim dim;
    if (!ct_str_key_value(s, key, value) || key->n > 24 || memchr(key->p, ' ', key->n))
        return FALSE;
    if (!ct_quantity(*value, &dim, bytes) || (dim != CT_DIM_BYTES && dim != CT_DIM_NONE))
        return FALSE;
    return dim == CT_DIM_BYTES && ct_str_ends(*value, "B");
}

gboolean ct_env_meminfo_line(CtEmit *emit, const CtLine *line, gint64 t_ns)
{
    static const struct {
        const char *word, *key, *metric;
    } keys[] = {
        {"MemTotal", "host.memory.total", NULL},
        {"MemFree", "host.memory.free", NULL},
        {"MemAvailable", "host.memory.available", "memory.available"},
        {"SwapTotal", "host.swap.total", NULL},
        {"SwapFree", "host.swap.free", NULL},
        {"Shmem", "host.memory.shared", NULL},
        {"Cached", NULL, NULL},
        {"Buffers", NULL, NULL},
        {"CmaTotal", "host.cma.total", NULL},
        {"CmaFree", "host.cma.free", NULL},
        {"CommitLimit", "host.commit.limit", NULL},
        {"Committed_AS", "host.commit.used", NULL},
        {"NvMapMemUsed", "host.nvmap.used", "nvmap.used"},
        {"NvMapMemFree", "host.nvmap.free", NULL},
    };
    CtStr key, value;
    double bytes;
    if (!meminfo_pair(ct_line_str(line), &key, &bytes, &value))
        return FALSE;
    for (gsize i = 0; i < G_N_ELEMENTS(keys); i++) {
        if (!ct_str_eq(key, keys[i].word))
            continue;
        if (keys[i].key)
            number(emit, line, keys[i].key, bytes, value);
        if (keys[i].metric)
            ct_emit_snapshot(emit, line, NULL, keys[i].metric, "bytes", t_ns, bytes);
        if (ct_str_starts(key, "NvMap"))
            ct_emit_fact(emit, line, NULL, "host.jetson", "yes");
        return TRUE;
    }
    return FALSE;
}

static void keep_meminfo(State *st, CtEmit *emit, const CtLine *line)
{
    CtStr key, value;
    double bytes;
    if (!meminfo_pair(ct_line_str(line), &key, &bytes, &value))
        return;
    if (ct_str_eq(key, "MemTotal"))
        st->total = bytes;
    else if (ct_str_eq(key, "SwapTotal"))
        st->swap_total = bytes;
    else if (ct_str_eq(key, "MemAvailable") && st->total >= bytes) {
        st->snapshots++;
        ct_emit_snapshot(emit, line, NULL, "memory.used", "bytes", st->t_ns, st->total - bytes);
    } else if (ct_str_eq(key, "SwapFree") && st->swap_total >= bytes) {
        char text[32];
        double used = st->swap_total - bytes;
        g_snprintf(text, sizeof(text), "%.0f", used);
        ct_emit_number(emit, line, NULL, "host.swap.used", used, text);
        ct_emit_snapshot(emit, line, NULL, "swap.used", "bytes", st->t_ns, used);
    }
}

/* ---- free ---- */

static gboolean cell_bytes(const State *st, CtStr w, double *out)
{
    CtDim dim;
    if (ct_str_number(w, out)) {
        *out *= st->unit ? st->unit : 1;
        return TRUE;
    }
    return ct_quantity(w, &dim, out) && dim == CT_DIM_BYTES;
}

/* Without a unit anywhere the size of the host tells: nobody has 300,000 GiB or 200 KiB. */
static void guess_unit(State *st, CtStr total)
{
    double n;
    if (st->unit || !ct_str_number(total, &n))
        return;
    st->unit = n >= 1e9 ? 1 : n >= 3e5 ? 1024 : n >= 256 ? 1048576 : 1073741824.0;
}

static gboolean free_row(State *st, CtEmit *emit, const CtLine *line)
{
    CtStr rest = ct_line_str(line), name = ct_str_token(&rest);
    gboolean memory = ct_str_eq(name, "Mem:"), swap = ct_str_eq(name, "Swap:");
    double value[6];
    guint n = 0;
    if ((!memory && !swap) || !st->table)
        return FALSE;
    CtStr look = rest, first = ct_str_token(&look);
    guess_unit(st, first);
    CtStr cell[6];
    for (CtStr w = ct_str_token(&rest); w.n && n < 6; w = ct_str_token(&rest)) {
        if (!cell_bytes(st, w, &value[n]))
            return FALSE;
        cell[n++] = w;
    }
    if (n < 3)
        return FALSE;
    number(emit, line, memory ? "host.memory.total" : "host.swap.total", value[0], cell[0]);
    number(emit, line, memory ? "host.memory.used" : "host.swap.used", value[1], cell[1]);
    ct_emit_snapshot(emit, line, NULL, memory ? "memory.used" : "swap.used", "bytes", st->t_ns,
                     value[1]);
    if (memory && n >= 6) {
        number(emit, line, "host.memory.available", value[5], cell[5]);
        ct_emit_snapshot(emit, line, NULL, "memory.available", "bytes", st->t_ns, value[5]);
    }
    st->snapshots += memory;
    return TRUE;
}

/* "/dev/zram0 partition 282.5M 282.4M 5" */
static gboolean swapon_row(State *st, CtStr s)
{
    CtDim dim;
    double size, used;
    CtStr rest = s, name = ct_str_token(&rest), type = ct_str_token(&rest);
    if (!st->swapon || !name.n || (!ct_str_eq(type, "partition") && !ct_str_eq(type, "file")))
        return FALSE;
    if (ct_quantity(ct_str_token(&rest), &dim, &size) &&
        ct_quantity(ct_str_token(&rest), &dim, &used)) {
        double unit = dim == CT_DIM_NONE ? 1024 : 1; /* /proc/swaps counts in KiB */
        st->swap_sum += size * unit;
        st->swap_used_sum += used * unit;
    }
    return TRUE;
}

static void line(gpointer state, const CtLine *line, CtEmit *emit)
{
    State *st = state;
    CtStr s = ct_line_str(line);
    gint64 t;
    if (ct_line_only_time(line, &t)) {
        st->t_ns = t;
        ct_emit_clock(emit, "wall");
        return;
    }
    if (line->t_ns != CT_TIME_UNKNOWN)
        st->t_ns = line->t_ns;
    if (ct_str_has(s, "total") && ct_str_has(s, "used") && ct_str_has(s, "free")) {
        st->table = TRUE;
        return;
    }
    if (ct_str_starts(s, "NAME") && ct_str_has(s, "SIZE") && ct_str_has(s, "USED")) {
        st->swapon = TRUE;
        return;
    }
    if (ct_str_starts(s, "Filename") && ct_str_has(s, "Used")) {
        st->swapon = TRUE;
        return;
    }
    if (free_row(st, emit, line) || swapon_row(st, s))
        return;
    if (ct_env_meminfo_line(emit, line, st->t_ns)) {
        keep_meminfo(st, emit, line);
        return;
    }
    ct_env_known_line(emit, line);
}

static void finish(gpointer state, CtEmit *emit)
{
    State *st = state;
    char text[32];
    if (st->swapon) {
        g_snprintf(text, sizeof(text), "%.0f", st->swap_sum);
        ct_emit_number(emit, NULL, NULL, "host.swap.total", st->swap_sum, text);
        g_snprintf(text, sizeof(text), "%.0f", st->swap_used_sum);
        ct_emit_number(emit, NULL, NULL, "host.swap.used", st->swap_used_sum, text);
    }
    ct_emit_coverage(emit, "host-memory", NULL);
    if (st->snapshots > 5)
        ct_emit_coverage(emit, "memory-series", NULL);
    g_free(st);
}

static int sniff(const CtSniff *sniff)
{
    gboolean table = FALSE;
    guint info = 0;
    for (guint i = 0; i < sniff->n_lines; i++) {
        CtStr s = ct_sniff_line(sniff, i);
        if (ct_str_starts(s, "total ") && ct_str_has(s, "used") && ct_str_has(s, "free"))
            table = TRUE;
        if (table && ct_str_starts(s, "Mem:"))
            return 90;
        if (ct_str_starts(s, "NAME") && ct_str_has(s, "TYPE") && ct_str_has(s, "PRIO"))
            return 88;
        if (ct_str_starts(s, "Filename") && ct_str_has(s, "Priority"))
            return 88;
        if (ct_str_ends(s, " kB") && (ct_str_starts(s, "Mem") || ct_str_starts(s, "NvMapMem") ||
                                      ct_str_starts(s, "Swap") || ct_str_starts(s, "Cma")))
            info++;
    }
    if (info && ct_command_runs(sniff->command, "/proc/meminfo"))
        return 90;
    return info >= 3 ? 85 : info && sniff->n_lines <= 3 ? 60 : info ? 30 : 0;
}

const CtParser ct_parser_memory_info = {
    .id = "memory-info",
    .summary = "free, /proc/meminfo, swapon",
    .doc = "free in any unit, /proc/meminfo with NvMapMemUsed and CMA of Jetson, swapon and "
           "/proc/swaps: facts host.memory.*, host.swap.*, host.nvmap.used; repeated snapshots, "
           "also under titles with a time, become the series memory.used, memory.available, "
           "swap.used and nvmap.used.",
    .sniff = sniff,
    .begin = begin,
    .line = line,
    .finish = finish,
};
