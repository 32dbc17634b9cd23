/* SPDX-License-Identifier: Apache-2.0 */
/* What interactive monitors write: the snapshot of nvtop (JSON), the CSV of jtop's logger. */
#include <string.h>

#include "parse/gpu/gpu-parsers.h"

#define MAX_COLUMNS 96

typedef enum { J_NONE, J_TIME, J_GPU, J_EMC, J_TEMP_GPU, J_POWER, J_CLOCKS, J_MODE, J_CPU } Jtop;

typedef struct {
    Jtop columns[MAX_COLUMNS];
    guint n, rows, cpus;
    int gpu; /* of nvtop, counted */
    char mode[40], clocks[16];
} State;

static gpointer begin(CtEmit *emit)
{
    State *st = g_new0(State, 1);
    st->gpu = -1;
    return st;
}

/* ---- nvtop -s: one line for each value, "gpu_clock": "210MHz", ---- */

static void nvtop_line(State *st, CtEmit *emit, const CtLine *line, CtStr s)
{
    static const struct {
        const char *word, *key;
    } keys[] = {
        {"gpu_clock", "gpu.clock.graphics"}, {"mem_clock", "gpu.clock.mem"},
        {"temp", "gpu.temperature"},         {"fan_speed", "gpu.fan"},
        {"power_draw", "gpu.power"},         {"gpu_util", "gpu.utilization"},
        {"mem_util", "gpu.memory.used-share"}, {"mem_total", "gpu.memory.total"},
        {"mem_used", "gpu.memory.used"},     {"mem_free", "gpu.memory.free"},
    };
    CtStr key, value;
    char subject[24];
    if (!ct_str_starts(s, "\"") || !ct_str_key_value(s, &key, &value) || key.n < 2)
        return;
    key = ct_str(key.p + 1, key.n - 2);
    if (value.n && value.p[value.n - 1] == ',')
        value = ct_str_strip(ct_str_head(value, value.n - 1));
    gboolean text = value.n > 1 && value.p[0] == '"' && value.p[value.n - 1] == '"';
    if (text)
        value = ct_str(value.p + 1, value.n - 2);
    if (ct_str_eq(key, "device_name") && st->gpu < 1000)
        st->gpu++;
    if (st->gpu < 0)
        return;
    g_snprintf(subject, sizeof subject, "gpu:%d", st->gpu);
    if (ct_str_eq(key, "device_name"))
        ct_emit_text(emit, line, subject, "gpu.name", value);
    for (gsize i = 0; text && i < G_N_ELEMENTS(keys); i++)
        if (ct_str_eq(key, keys[i].word))
            ct_emit_field(emit, line, subject, keys[i].key, value);
}

/* ---- jtop: one row a second ---- */

static gboolean jtop_header(State *st, CtStr s)
{
    static const struct {
        const char *name;
        Jtop column;
    } names[] = {{"time", J_TIME},         {"GPU", J_GPU},         {"GPU1", J_GPU},
                 {"EMC", J_EMC},           {"Temp GPU", J_TEMP_GPU}, {"Temp gpu", J_TEMP_GPU},
                 {"Power TOT", J_POWER},   {"power cur", J_POWER}, {"jetson_clocks", J_CLOCKS},
                 {"nvp model", J_MODE}};
    CtStr rest = s;
    st->n = st->cpus = 0;
    while (rest.n && st->n < MAX_COLUMNS) {
        CtStr name = ct_str_field(&rest, ',');
        Jtop column = J_NONE;
        for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
            if (ct_str_eq(name, names[i].name))
                column = names[i].column;
        if (ct_str_starts(name, "CPU") && name.n > 3 && g_ascii_isdigit(name.p[3])) {
            column = J_CPU;
            st->cpus++;
        }
        st->columns[st->n++] = column;
    }
    return st->n > 4;
}

/* States are stated when they change. */
static void state_of(CtEmit *emit, const CtLine *line, const char *key, char *last, gsize size,
                     CtStr value)
{
    char now[40];
    ct_str_buf(value, now, sizeof now);
    if (!*now || strncmp(now, last, size - 1) == 0)
        return;
    g_strlcpy(last, now, size);
    ct_emit_fact(emit, line, NULL, key, now);
}

static void jtop_row(State *st, CtEmit *emit, const CtLine *line)
{
    CtStr rest = ct_line_row(line), f[MAX_COLUMNS];
    gint64 when = line->t_ns;
    gsize used;
    gboolean no_year;
    double v, cpu = 0;
    guint n = 0, cpus = 0;
    while (rest.n && n < st->n)
        f[n++] = ct_str_field(&rest, ',');
    for (guint i = 0; i < n; i++)
        if (st->columns[i] == J_TIME && when == CT_TIME_UNKNOWN &&
            !ct_text_time(f[i].p, f[i].n, &when, &used, &no_year))
            when = CT_TIME_UNKNOWN;
    for (guint i = 0; i < n; i++) {
        if (st->columns[i] == J_CLOCKS)
            state_of(emit, line, "jetson-clocks", st->clocks, sizeof st->clocks,
                     ct_str_of(ct_str_ieq(f[i], "ON") || ct_str_ieq(f[i], "True") ? "on" : "off"));
        if (st->columns[i] == J_MODE)
            state_of(emit, line, "power.mode", st->mode, sizeof st->mode, f[i]);
        if (!ct_str_number(f[i], &v))
            continue;
        switch (st->columns[i]) {
        case J_GPU:
            ct_emit_sample(emit, line, "gpu:0", "gpu.util", "1/1", when, v / 100);
            break;
        case J_EMC:
            ct_emit_sample(emit, line, NULL, "emc.util", "1/1", when, v / 100);
            break;
        case J_TEMP_GPU:
            if (v > -200)
                ct_emit_sample(emit, line, "gpu:0", "gpu.temperature", "celsius", when, v);
            break;
        case J_POWER:
            ct_emit_sample(emit, line, NULL, "board.power", "W", when, v / 1000);
            break;
        case J_CPU:
            cpu += v;
            cpus++;
            break;
        default:
            break;
        }
    }
    if (cpus > 0)
        ct_emit_sample(emit, line, NULL, "cpu.util", "1/1", when, cpu / cpus / 100);
    st->rows++;
}

static void line(gpointer state, const CtLine *line, CtEmit *emit)
{
    State *st = state;
    CtStr s = ct_line_str(line);
    if (!s.n)
        return;
    if (ct_str_has(s, "nvp model") || ct_str_has(s, "jetson_clocks,"))
        jtop_header(st, s);
    else if (st->n)
        jtop_row(st, emit, line);
    else
        nvtop_line(st, emit, line, s);
}

static void finish(gpointer state, CtEmit *emit)
{
    State *st = state;
    if (st->n)
        ct_emit_fact(emit, NULL, NULL, "host.jetson", "yes");
    if (st->gpu >= 0)
        ct_emit_coverage(emit, "gpu-state", NULL);
    if (st->rows > 2)
        ct_emit_coverage(emit, "gpu-telemetry", NULL);
    g_free(st);
}

static int sniff(const CtSniff *sniff)
{
    if (ct_sniff_has(sniff, "\"device_name\":") && ct_sniff_has(sniff, "\"gpu_util\":"))
        return 90;
    CtStr first = ct_sniff_first(sniff);
    if ((ct_str_has(first, "nvp model") || ct_str_has(first, "jetson_clocks")) &&
        ct_str_has(first, ",") && (ct_str_has(first, "RAM") || ct_str_has(first, "GPU")))
        return 92;
    return 0;
}

const CtParser ct_parser_gpu_monitors = {
    .id = "gpu-monitors",
    .summary = "nvtop snapshots and the CSV of jtop",
    .doc = "nvtop -s: name, clocks, temperature, power, use and memory of each GPU. The CSV that "
           "jtop's logger writes on a Jetson: series of GPU, CPU, memory controller, temperature "
           "and power, with power mode and pinned clocks.",
    .sniff = sniff,
    .begin = begin,
    .line = line,
    .finish = finish,
};
