/* SPDX-License-Identifier: Apache-2.0 */
/* nvidia-smi dmon and pmon: columns named by a header that starts with '#', which is repeated. */
#include <string.h>

#include "parse/gpu/gpu-parsers.h"

#define MAX_COLUMNS 40
#define MAX_PROCESSES 4096
#define DAY_NS (86400 * G_GINT64_CONSTANT(1000000000))

typedef struct {
    char name[MAX_COLUMNS][16];
    char unit[MAX_COLUMNS][12];
    guint n;
    gint gpu_at, date_at, time_at, pid_at, command_at;
    gboolean units_next;
    gint64 day_offset, previous_t;
    gboolean dated;
    guint rows;
    GHashTable *seen;
} State;

static const struct {
    const char *name, *metric, *unit;
    double factor;
} metrics[] = {
    {"pwr", "gpu.power", "W", 1},
    {"gtemp", "gpu.temperature", "celsius", 1},
    {"temp", "gpu.temperature", "celsius", 1},
    {"mtemp", "gpu.temperature.memory", "celsius", 1},
    {"sm", "gpu.util", "1", 0.01},
    {"mem", "gpu.memory.util", "1", 0.01},
    {"enc", "gpu.encoder.util", "1", 0.01},
    {"dec", "gpu.decoder.util", "1", 0.01},
    {"mclk", "gpu.clock.mem", "Hz", 1e6},
    {"pclk", "gpu.clock.sm", "Hz", 1e6},
    {"pviol", "gpu.power-violation", "1", 0.01},
    {"tviol", "gpu.thermal-violation", "1", 1},
    {"fb", "gpu.memory.used", "bytes", 1048576},
    {"sbecc", "gpu.ecc.corrected", "count", 1},
    {"dbecc", "gpu.ecc.uncorrected", "count", 1},
    {"pci", "gpu.pcie.replays", "count", 1},
    {"rxpci", "gpu.pcie.rx", "bytes/s", 1048576},
    {"txpci", "gpu.pcie.tx", "bytes/s", 1048576},
};

static gpointer begin(CtEmit *emit)
{
    State *st = g_new0(State, 1);
    st->gpu_at = st->date_at = st->time_at = st->pid_at = st->command_at = -1;
    st->previous_t = CT_TIME_UNKNOWN;
    st->seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    return st;
}

static void take_names(State *st, CtStr row)
{
    st->n = 0;
    st->gpu_at = st->date_at = st->time_at = st->pid_at = st->command_at = -1;
    for (CtStr w = ct_str_token(&row); w.n && st->n < MAX_COLUMNS; w = ct_str_token(&row)) {
        g_autofree char *lower = g_ascii_strdown(w.p, (gssize)w.n);
        g_strlcpy(st->name[st->n], lower, sizeof(st->name[0]));
        st->unit[st->n][0] = '\0';
        if (strcmp(lower, "gpu") == 0)
            st->gpu_at = (gint)st->n;
        else if (strcmp(lower, "date") == 0)
            st->date_at = (gint)st->n;
        else if (strcmp(lower, "time") == 0)
            st->time_at = (gint)st->n;
        else if (strcmp(lower, "pid") == 0)
            st->pid_at = (gint)st->n;
        else if (strcmp(lower, "command") == 0)
            st->command_at = (gint)st->n;
        st->n++;
    }
    st->units_next = TRUE;
}

static void take_units(State *st, CtStr row)
{
    guint i = 0;
    for (CtStr w = ct_str_token(&row); w.n && i < st->n; w = ct_str_token(&row), i++)
        ct_str_buf(w, st->unit[i], sizeof(st->unit[0]));
    st->units_next = FALSE;
}

/* "20261130" and "20:45:48"; a time of day alone counts from its first midnight. */
static gint64 row_time(State *st, const CtStr *cell, guint n)
{
    double h, m, s;
    gint64 date = 0;
    if (st->time_at < 0 || (guint)st->time_at >= n)
        return CT_TIME_UNKNOWN;
    CtStr rest = cell[st->time_at], part;
    if (!ct_str_cut(&rest, ":", &part) || !ct_str_number(part, &h) ||
        !ct_str_cut(&rest, ":", &part) || !ct_str_number(part, &m) || !ct_str_number(rest, &s) ||
        h < 0 || h > 24 || m < 0 || m > 60 || s < 0 || s > 61)
        return CT_TIME_UNKNOWN;
    gint64 t = (gint64)((h * 3600 + m * 60 + s) * 1e9);
    if (st->date_at >= 0 && (guint)st->date_at < n && ct_str_uint(cell[st->date_at], &date) &&
        date > 19700000 && date < 99991231) {
        GDate *day = g_date_new();
        guint month = (guint)(date / 100 % 100), d = (guint)(date % 100);
        gint64 days = -1;
        if (g_date_valid_dmy((GDateDay)d, (GDateMonth)month, (GDateYear)(date / 10000))) {
            g_date_set_dmy(day, (GDateDay)d, (GDateMonth)month, (GDateYear)(date / 10000));
            days = (gint64)g_date_get_julian(day) - 719163; /* of 1970-01-01 */
        }
        g_date_free(day);
        if (days < 0)
            return CT_TIME_UNKNOWN;
        st->dated = TRUE;
        return days * DAY_NS + t;
    }
    if (st->previous_t != CT_TIME_UNKNOWN && t + st->day_offset < st->previous_t - DAY_NS / 2)
        st->day_offset += DAY_NS;
    return t + st->day_offset + 1;
}

static void process_row(State *st, const char *gpu, const CtStr *cell, guint n,
                        const CtLine *line, CtEmit *emit)
{
    gint64 pid;
    if ((guint)st->pid_at >= n || !ct_str_uint(cell[st->pid_at], &pid))
        return;
    char subject[64];
    g_snprintf(subject, sizeof(subject), "%s/pid:%" G_GINT64_FORMAT, gpu, pid);
    CtStr name = st->command_at >= 0 && (guint)st->command_at < n ? cell[st->command_at]
                                                                 : ct_str("", 0);
    if (!g_hash_table_contains(st->seen, subject)) {
        if (g_hash_table_size(st->seen) >= MAX_PROCESSES)
            return;
        g_hash_table_add(st->seen, g_strdup(subject));
        ct_emit_text(emit, line, subject, "gpu.process", name);
    }
    for (guint i = 0; i < n && i < st->n; i++) {
        double value;
        if (strcmp(st->name[i], "sm") == 0 && ct_str_number(cell[i], &value))
            ct_emit_sample(emit, line, subject, "gpu.util", "1", st->previous_t, value * 0.01);
        else if (strcmp(st->name[i], "fb") == 0 && ct_str_number(cell[i], &value))
            ct_emit_sample(emit, line, subject, "gpu.memory.used", "bytes", st->previous_t,
                           value * 1048576);
    }
}

static void device_row(State *st, const char *gpu, const CtStr *cell, guint n,
                       const CtLine *line, CtEmit *emit)
{
    for (guint i = 0; i < n && i < st->n; i++) {
        double value;
        if (!ct_str_number(cell[i], &value))
            continue; /* "-" */
        for (gsize k = 0; k < G_N_ELEMENTS(metrics); k++) {
            if (strcmp(metrics[k].name, st->name[i]) != 0)
                continue;
            double factor = metrics[k].factor;
            if (strcmp(st->name[i], "tviol") == 0 && strcmp(st->unit[i], "%") == 0)
                factor = 0.01;
            ct_emit_sample(emit, line, gpu, metrics[k].metric, metrics[k].unit, st->previous_t,
                           value * factor);
            break;
        }
    }
}

static void line(gpointer state, const CtLine *line, CtEmit *emit)
{
    State *st = state;
    CtStr row = ct_str_strip(ct_line_row(line));
    if (!row.n)
        return;
    if (row.p[0] == '#') {
        row = ct_str_strip(ct_str_from(row, 1));
        if (ct_str_has(row, "gpu"))
            take_names(st, row);
        else if (st->units_next)
            take_units(st, row);
        return;
    }
    CtStr cell[MAX_COLUMNS];
    guint n = 0;
    for (CtStr w = ct_str_token(&row); w.n && n < MAX_COLUMNS; w = ct_str_token(&row))
        cell[n++] = w;
    gint64 gpu;
    if (st->gpu_at < 0 || (guint)st->gpu_at >= n || !ct_str_uint(cell[st->gpu_at], &gpu) ||
        gpu > 4096)
        return;
    char subject[24];
    g_snprintf(subject, sizeof(subject), "gpu:%d", (int)gpu);
    st->previous_t = row_time(st, cell, n);
    st->rows++;
    if (st->pid_at >= 0)
        process_row(st, subject, cell, n, line, emit);
    else
        device_row(st, subject, cell, n, line, emit);
}

static void finish(gpointer state, CtEmit *emit)
{
    State *st = state;
    if (st->dated)
        ct_emit_clock(emit, "wall");
    if (st->rows && st->pid_at >= 0)
        ct_emit_coverage(emit, "gpu-processes", NULL);
    else if (st->rows)
        ct_emit_coverage(emit, "gpu-telemetry", NULL);
    g_hash_table_unref(st->seen);
    g_free(st);
}

static CtStr header_of(const CtSniff *sniff)
{
    for (guint i = 0; i < MIN(sniff->n_lines, 8u); i++) {
        CtStr s = ct_str_strip(ct_line_row(&sniff->lines[i]));
        if (s.n && s.p[0] == '#' && ct_str_has(s, "gpu"))
            return s;
    }
    return ct_str("", 0);
}

static int sniff_dmon(const CtSniff *sniff)
{
    CtStr h = header_of(sniff);
    if (!h.n || ct_str_has(h, " pid "))
        return 0;
    guint n = 0;
    static const char *const words[] = {" pwr", " gtemp", " sm ", " mem ", " mclk", " pclk",
                                        " fb ", " pviol", " rxpci", " sbecc"};
    for (gsize i = 0; i < G_N_ELEMENTS(words); i++)
        n += ct_str_has(h, words[i]);
    return n >= 2 ? 92 : 0;
}

static int sniff_pmon(const CtSniff *sniff)
{
    CtStr h = header_of(sniff);
    return h.n && ct_str_has(h, " pid ") && ct_str_has(h, "command") ? 92 : 0;
}

const CtParser ct_parser_nvidia_smi_dmon = {
    .id = "nvidia-smi-dmon",
    .summary = "nvidia-smi dmon",
    .doc = "The device monitor with any -s groups and with or without -o DT columns: series of "
           "power, temperatures, utilisation, clocks, violations, memory, ECC counters, PCIe "
           "replays and throughput of each GPU.",
    .sniff = sniff_dmon,
    .begin = begin,
    .line = line,
    .finish = finish,
    .no_signatures = TRUE,
};

const CtParser ct_parser_nvidia_smi_pmon = {
    .id = "nvidia-smi-pmon",
    .summary = "nvidia-smi pmon",
    .doc = "The process monitor: which processes ran on which GPU, their share of the SMs and "
           "their memory over time.",
    .sniff = sniff_pmon,
    .begin = begin,
    .line = line,
    .finish = finish,
    .no_signatures = TRUE,
};
