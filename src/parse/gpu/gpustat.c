/* SPDX-License-Identifier: Apache-2.0 */
/* gpustat: one line a GPU, also repeated (-i), and its --json. */
#include <string.h>

#include "parse/dump/py-values.h"
#include "parse/gpu/gpu-parsers.h"

#define MAX_GPUS 1024

typedef struct {
    gint64 t_ns, last;
    guint rounds, gpus;
} State;

static gpointer begin(CtEmit *emit)
{
    State *st = g_new0(State, 1);
    st->t_ns = ct_section_time(emit);
    st->last = G_MAXINT64;
    return st;
}

static void reading(CtEmit *emit, const CtLine *line, const State *st, const char *subject,
                    const char *key, const char *metric, const char *unit, double value)
{
    char text[48];
    g_snprintf(text, sizeof text, "%g", value);
    if (st->rounds == 1)
        ct_emit_number(emit, line, subject, key, value, text);
    ct_emit_snapshot(emit, line, subject, metric, unit, st->t_ns, value);
}

/* "python/41822(23500M)", "alice(1024M)", "bob:python/77(300M)" */
static void process(CtEmit *emit, const CtLine *line, gint64 gpu, CtStr word)
{
    CtStr name, rest = word, left;
    double mib;
    if (!ct_str_cut(&rest, "(", &name) || !ct_str_take_number(&rest, &mib) || rest.n < 2 ||
        (rest.p[0] != 'M' && rest.p[0] != 'G'))
        return;
    if (rest.p[0] == 'G')
        mib *= 1024;
    gint64 pid = -1;
    CtStr tail = name;
    while (ct_str_cut(&tail, "/", &left))
        ;
    if (!ct_str_uint(tail, &pid) || tail.n == name.n)
        pid = -1;
    char subject[64];
    g_snprintf(subject, sizeof subject, "gpu:%d/pid:%" G_GINT64_FORMAT, (int)gpu, pid);
    if (pid < 0)
        g_snprintf(subject, sizeof subject, "gpu:%d/user:%.*s", (int)gpu, (int)MIN(name.n, 30u),
                   name.p);
    ct_emit_number(emit, line, subject, "gpu.process", mib * 1048576, CT_STR_BUF(name));
}

/* "86'C, 30 %, 100 %, E: 3 %, 348 / 350 W": heat, fan where asked for, load, power. */
static void sensors(CtEmit *emit, const CtLine *line, const State *st, const char *subject,
                    CtStr cell)
{
    double load = -1, fan = -1, value;
    while (cell.n) {
        CtStr field = ct_str_field(&cell, ','), number = field;
        if (ct_str_starts(field, "E:") || ct_str_starts(field, "D:") ||
            !ct_str_take_number(&number, &value))
            continue;
        number = ct_str_strip(number);
        if (ct_str_starts(number, "'C") || ct_str_starts(number, "\302\260C")) {
            reading(emit, line, st, subject, "gpu.temperature", "gpu.temperature", "celsius",
                    value);
        } else if (ct_str_starts(number, "%")) {
            fan = load;
            load = value / 100;
        } else if (ct_str_ends(number, "W")) {
            double limit;
            reading(emit, line, st, subject, "gpu.power", "gpu.power", "W", value);
            number = ct_str_strip(ct_str_from(number, 1));
            if (st->rounds == 1 && ct_str_take_number(&number, &limit))
                ct_emit_number(emit, line, subject, "gpu.power.limit.current", limit, NULL);
        }
    }
    if (load >= 0)
        reading(emit, line, st, subject, "gpu.utilization", "gpu.util", "1", load);
    if (fan >= 0 && st->rounds == 1)
        ct_emit_number(emit, line, subject, "gpu.fan", fan, NULL);
}

/* "[0] NVIDIA RTX A6000 | 86'C, 100 % | 24075 / 49140 MB | alice(23500M)" */
static gboolean gpu_row(State *st, CtEmit *emit, const CtLine *line)
{
    CtStr rest = ct_line_row(line), index, name, cell;
    gint64 gpu;
    double used, total;
    if (!ct_str_starts(rest, "[") || !ct_str_cut(&rest, "]", &index) ||
        !ct_str_uint(ct_str_from(index, 1), &gpu) || gpu >= MAX_GPUS ||
        !ct_str_cut(&rest, "|", &name) || !ct_str_cut(&rest, "|", &cell))
        return FALSE;
    char subject[24];
    g_snprintf(subject, sizeof subject, "gpu:%d", (int)gpu);
    if (gpu <= st->last)
        st->rounds++; /* a new round of `gpustat -i` */
    st->last = gpu;
    if (st->rounds == 1) {
        st->gpus++;
        ct_emit_text(emit, line, subject, "gpu.name", ct_str_strip(name));
    }
    sensors(emit, line, st, subject, cell);
    CtStr memory = ct_str_field(&rest, '|');
    if (ct_str_take_number(&memory, &used)) {
        reading(emit, line, st, subject, "gpu.memory.used", "gpu.memory.used", "bytes",
                used * 1048576);
        memory = ct_str_strip(memory);
        if (st->rounds == 1 && ct_str_starts(memory, "/")) {
            memory = ct_str_strip(ct_str_from(memory, 1));
            if (ct_str_take_number(&memory, &total))
                ct_emit_number(emit, line, subject, "gpu.memory.total", total * 1048576, NULL);
        }
    }
    for (CtStr w = ct_str_token(&rest); w.n && st->rounds == 1; w = ct_str_token(&rest))
        process(emit, line, gpu, w);
    return TRUE;
}

/* "node07    Fri Mar 14 10:22:41 2025  550.54.15": of whom, when and under which driver. */
static void header(State *st, CtEmit *emit, const CtLine *line)
{
    CtStr rest = ct_line_row(line);
    gsize used;
    gboolean no_year;
    ct_str_token(&rest);
    rest = ct_str_strip(rest);
    if (!rest.n || !ct_text_time(rest.p, rest.n, &st->t_ns, &used, &no_year))
        return;
    ct_emit_clock(emit, "wall");
    rest = ct_str_strip(ct_str_from(rest, used));
    if (!st->rounds && rest.n && g_ascii_isdigit(rest.p[0]))
        ct_emit_text(emit, line, NULL, "version.driver", ct_str_token(&rest));
}

static void line(gpointer state, const CtLine *line, CtEmit *emit)
{
    State *st = state;
    if (gpu_row(st, emit, line))
        return;
    header(st, emit, line);
}

static void finish(gpointer state, CtEmit *emit)
{
    State *st = state;
    if (st->gpus) {
        ct_emit_number(emit, NULL, NULL, "gpu.count", st->gpus, NULL);
        ct_emit_coverage(emit, "gpu-state", NULL);
        if (st->rounds > 2)
            ct_emit_coverage(emit, "gpu-telemetry", NULL);
    }
    g_free(st);
}

static int sniff(const CtSniff *sniff)
{
    guint rows = 0;
    for (guint i = 0; i < sniff->n_lines; i++) {
        CtStr s = ct_sniff_line(sniff, i);
        rows += ct_str_starts(s, "[") && ct_str_has(s, "] ") && ct_str_has(s, " MB |") &&
                (ct_str_has(s, "'C,") || ct_str_has(s, "\302\260C,"));
    }
    return rows ? 88 : 0;
}

const CtParser ct_parser_gpustat = {
    .id = "gpustat",
    .summary = "gpustat, once or repeated",
    .doc = "The one-line-a-GPU listing of gpustat with any of its switches (fan, codec, power, "
           "user, command, pid): name, temperature, load, power and limit, memory and the "
           "processes with theirs; repeated listings become series.",
    .sniff = sniff,
    .begin = begin,
    .line = line,
    .finish = finish,
};

/* ---- gpustat --json ---- */

static void number_of(const CtPyTree *t, CtPyNode gpu, const char *name, double factor,
                      const char *subject, const char *key, CtEmit *emit)
{
    double value;
    if (ct_py_number(t, ct_py_get(t, gpu, name), &value))
        ct_emit_number(emit, NULL, subject, key, value * factor, NULL);
}

static void json_gpu(const CtPyTree *t, CtPyNode gpu, CtEmit *emit)
{
    static const struct {
        const char *name, *key;
        double factor;
    } numbers[] = {
        {"temperature.gpu", "gpu.temperature", 1},
        {"fan.speed", "gpu.fan", 0.01},
        {"utilization.gpu", "gpu.utilization", 0.01},
        {"power.draw", "gpu.power", 1},
        {"enforced.power.limit", "gpu.power.limit.current", 1},
        {"memory.used", "gpu.memory.used", 1048576},
        {"memory.total", "gpu.memory.total", 1048576},
    };
    gint64 index, pid;
    double mib;
    if (!ct_py_int(t, ct_py_get(t, gpu, "index"), &index) || index < 0 || index >= MAX_GPUS)
        return;
    char subject[64];
    g_snprintf(subject, sizeof subject, "gpu:%d", (int)index);
    ct_emit_text(emit, NULL, subject, "gpu.name", ct_py_text(t, ct_py_get(t, gpu, "name")));
    ct_emit_text(emit, NULL, subject, "gpu.uuid", ct_py_text(t, ct_py_get(t, gpu, "uuid")));
    for (gsize i = 0; i < G_N_ELEMENTS(numbers); i++)
        number_of(t, gpu, numbers[i].name, numbers[i].factor, subject, numbers[i].key, emit);
    for (CtPyIter p = ct_py_iter(t, ct_py_get(t, gpu, "processes")); ct_py_next(t, &p);) {
        if (!ct_py_int(t, ct_py_get(t, p.value, "pid"), &pid))
            continue;
        g_snprintf(subject, sizeof subject, "gpu:%d/pid:%" G_GINT64_FORMAT, (int)index, pid);
        CtStr command = ct_py_text(t, ct_py_get(t, p.value, "command"));
        if (ct_py_number(t, ct_py_get(t, p.value, "gpu_memory_usage"), &mib))
            ct_emit_number(emit, NULL, subject, "gpu.process", mib * 1048576,
                           CT_STR_BUF(command));
        else
            ct_emit_text(emit, NULL, subject, "gpu.process", command);
    }
}

static void json_document(const char *data, gsize len, guint first_line, CtEmit *emit)
{
    const char *why;
    guint gpus = 0;
    char text[16];
    g_autoptr(CtPyTree) t = ct_py_read_json(data, len, &why);
    if (!t) {
        ct_emit_status(emit, CT_FAILED, why);
        return;
    }
    CtPyNode top = ct_py_root(t);
    CtStr driver = ct_py_text(t, ct_py_get(t, top, "driver_version"));
    if (driver.n)
        ct_emit_text(emit, NULL, NULL, "version.driver", driver);
    for (CtPyIter g = ct_py_iter(t, ct_py_get(t, top, "gpus")); ct_py_next(t, &g); gpus++)
        json_gpu(t, g.value, emit);
    g_snprintf(text, sizeof text, "%u", gpus);
    ct_emit_number(emit, NULL, NULL, "gpu.count", gpus, text);
    ct_emit_coverage(emit, "gpu-state", NULL);
    ct_emit_coverage(emit, "gpu-processes", NULL);
}

static int json_sniff(const CtSniff *sniff)
{
    return ct_str_starts(ct_str_strip(ct_str(sniff->head, sniff->len)), "{") &&
                   strstr(sniff->head, "\"gpus\"") && strstr(sniff->head, "\"temperature.gpu\"")
               ? 94
               : 0;
}

const CtParser ct_parser_gpustat_json = {
    .id = "gpustat-json",
    .summary = "gpustat --json",
    .doc = "The JSON of gpustat: the same facts as its listing, with UUIDs.",
    .sniff = json_sniff,
    .document = json_document,
};
