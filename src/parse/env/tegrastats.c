/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tegrastats of every board family, L4T R28 to R39. No order of tokens is assumed: what a token
 * means follows from the character behind its name ('@' temperature or clock, ' ' value, '[' list),
 * because names repeat (GPU@41C, GPU 463/463, CPU [..]). Loads that are not printed are unknown,
 * not zero; -256C is a sensor without power; PMIC@100C is a constant.
 */
#include <string.h>

#include "parse/common/scan.h"

#define MIB 1048576.0

typedef struct {
    guint lines;
    gint64 last_t;
} State;

static gpointer begin(CtEmit *emit)
{
    State *st = g_new0(State, 1);
    st->last_t = CT_TIME_UNKNOWN;
    return st;
}

typedef struct {
    CtEmit *emit;
    const CtLine *line;
    gint64 t_ns;
    CtStr rest;
    gboolean first; /* facts once */
} Work;

static void sample(Work *w, const char *subject, const char *metric, const char *unit,
                   double value)
{
    ct_emit_sample(w->emit, w->line, subject, metric, unit, w->t_ns, value);
}

/* "3468/3983MB" -> both in bytes */
static gboolean pair(CtStr s, double *used, double *total)
{
    CtStr left;
    double factor;
    CtDim dim;
    if (!ct_str_cut(&s, "/", &left) || !ct_str_number(left, used))
        return FALSE;
    if (!ct_str_take_number(&s, total) || !ct_unit(s, &dim, &factor) || dim != CT_DIM_BYTES)
        return FALSE;
    *used *= factor;
    *total *= factor;
    return TRUE;
}

/* "(lfb 1910x4MB)": number of blocks and their size; the largest free run is the block. */
static void largest_block(Work *w)
{
    CtStr look = w->rest, inside;
    look = ct_str_strip(look);
    if (!ct_str_starts(look, "(lfb ") || !ct_str_between(look, "(lfb ", ")", &inside))
        return;
    w->rest = ct_str_from(look, (gsize)ct_str_find(look, ")") + 1);
    double n, size, factor;
    CtDim dim;
    if (!ct_str_take_number(&inside, &n) || !inside.n || inside.p[0] != 'x')
        return;
    inside = ct_str_from(inside, 1);
    if (!ct_str_take_number(&inside, &size) || !ct_unit(inside, &dim, &factor))
        return;
    sample(w, NULL, "memory.lfb", "bytes", n * size * factor);
    sample(w, NULL, "memory.lfb.block", "bytes", size * factor);
}

static void ram(Work *w)
{
    double used, total;
    if (!pair(ct_str_token(&w->rest), &used, &total))
        return;
    if (w->first) {
        char text[32];
        g_snprintf(text, sizeof(text), "%.0fMB", total / MIB);
        ct_emit_number(w->emit, w->line, NULL, "host.memory.total", total, text);
        ct_emit_fact(w->emit, w->line, NULL, "host.jetson", "yes");
    }
    sample(w, NULL, "memory.used", "bytes", used);
    largest_block(w);
}

static void swap(Work *w)
{
    double used, total;
    if (!pair(ct_str_token(&w->rest), &used, &total))
        return;
    if (w->first) {
        char text[32];
        g_snprintf(text, sizeof(text), "%.0fMB", total / MIB);
        ct_emit_number(w->emit, w->line, NULL, "host.swap.total", total, text);
    }
    sample(w, NULL, "swap.used", "bytes", used);
    CtStr look = ct_str_strip(w->rest);
    gssize close = ct_str_starts(look, "(cached") ? ct_str_find(look, ")") : -1;
    if (close > 0)
        w->rest = ct_str_from(look, (gsize)close + 1);
}

/* "[20%@1190,off,...]": mean load over the cores that are on. */
static void cpu(Work *w, CtStr list)
{
    double sum = 0, clock = 0, value;
    guint on = 0;
    while (list.n) {
        CtStr core = ct_str_field(&list, ',');
        if (!ct_str_take_number(&core, &value) || !ct_str_starts(core, "%"))
            continue;
        sum += value;
        on++;
        core = ct_str_from(core, 1);
        if (ct_str_starts(core, "@") && ct_str_number(ct_str_from(core, 1), &value))
            clock = MAX(clock, value);
    }
    if (!on)
        return;
    sample(w, NULL, "cpu.util", "1", sum / on / 100);
    if (clock > 0)
        sample(w, NULL, "cpu.clock", "Hz", clock * 1e6);
    if (w->first) {
        char text[16];
        g_snprintf(text, sizeof(text), "%u", on);
        ct_emit_number(w->emit, w->line, NULL, "host.cpu.online", on, text);
    }
}

/* "99%@1109", "28%@[612]", "@[314,314,314]", "0%", "off", "716": load and clock, each maybe. */
static void load_and_clock(CtStr s, double *load, double *clock)
{
    double n;
    *load = *clock = -1;
    CtStr rest = s;
    if (ct_str_take_number(&rest, &n)) {
        if (ct_str_starts(rest, "%")) {
            *load = n / 100;
            rest = ct_str_from(rest, 1);
        } else if (!rest.n) {
            *clock = n * 1e6;
            return;
        }
    }
    if (!ct_str_starts(rest, "@"))
        return;
    rest = ct_str_from(rest, 1);
    if (ct_str_starts(rest, "["))
        rest = ct_str_from(rest, 1);
    while (ct_str_take_plain(&rest, &n)) {
        *clock = MAX(*clock, n * 1e6);
        if (!ct_str_starts(rest, ","))
            break;
        rest = ct_str_from(rest, 1);
    }
}

static const char *engine_name(CtStr name, char out[24])
{
    static const char *const names[] = {"NVENC", "NVDEC", "NVJPG", "VIC", "OFA", "SE", "NVDLA",
                                        "PVA", "MSENC"};
    gssize cut = ct_str_find(name, "_");
    CtStr plain = cut > 0 ? ct_str_head(name, (gsize)cut) : name;
    for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
        gsize n = strlen(names[i]);
        if (ct_str_starts(plain, names[i]) &&
            (plain.n == n || (plain.n == n + 1 && g_ascii_isdigit(plain.p[n])))) {
            g_autofree char *lower = g_ascii_strdown(plain.p, (gssize)plain.n);
            g_snprintf(out, 24, "%s", lower);
            return out;
        }
    }
    return NULL;
}

static void engine(Work *w, const char *name, CtStr value)
{
    double load, clock;
    load_and_clock(value, &load, &clock);
    if (load >= 0)
        sample(w, name, "engine.util", "1", load);
    if (clock > 0)
        sample(w, name, "engine.clock", "Hz", clock);
}

/* "GPU@49.281C", "cpu@52.968C/60.1C" */
static gboolean temperature(Work *w, CtStr token)
{
    CtStr name;
    double celsius;
    if (!ct_str_cut(&token, "@", &name) || !name.n || name.n > 20)
        return FALSE;
    if (!ct_str_take_number(&token, &celsius) || !ct_str_starts(token, "C"))
        return FALSE;
    gboolean constant = ct_str_eq(name, "PMIC") || ct_str_eq(name, "Charger");
    if (celsius < -40 || constant)
        return TRUE;
    char subject[24];
    g_autofree char *lower = g_ascii_strdown(name.p, (gssize)name.n);
    g_snprintf(subject, sizeof(subject), "%s", lower);
    sample(w, subject, "board.temperature", "celsius", celsius);
    if (strcmp(subject, "gpu") == 0)
        sample(w, "gpu:0", "gpu.temperature", "celsius", celsius);
    return TRUE;
}

/* "VDD_IN 8958mW/9033mW", "GPU 463/463": mW of now. */
static gboolean rail(Work *w, CtStr name, CtStr value)
{
    double now;
    CtStr rest = value;
    if (!ct_str_take_number(&rest, &now))
        return FALSE;
    if (ct_str_starts(rest, "mW"))
        rest = ct_str_from(rest, 2);
    if (!ct_str_starts(rest, "/") || name.n > 30 || ct_str_eq(name, "NC"))
        return ct_str_starts(rest, "/");
    char subject[32];
    ct_str_buf(name, subject, sizeof(subject));
    sample(w, subject, "board.power", "W", now / 1000);
    return TRUE;
}

static CtStr next_token(Work *w, CtStr *behind)
{
    CtStr token = ct_str_token(&w->rest);
    *behind = ct_str_strip(w->rest);
    return token;
}

static void one_token(Work *w)
{
    CtStr behind, token = next_token(w, &behind), inside;
    char name[24];
    double load, clock;
    if (ct_str_eq(token, "RAM")) {
        ram(w);
    } else if (ct_str_eq(token, "SWAP")) {
        swap(w);
    } else if (ct_str_eq(token, "IRAM")) {
        ct_str_token(&w->rest);
        if (ct_str_starts(ct_str_strip(w->rest), "(lfb"))
            ct_str_token(&w->rest);
        gssize close = ct_str_find(ct_str_head(w->rest, 12), ")");
        if (close >= 0 && close < 10)
            w->rest = ct_str_from(w->rest, (gsize)close + 1);
    } else if (ct_str_ieq(token, "CPU") && ct_str_starts(behind, "[")) {
        if (ct_str_between(behind, "[", "]", &inside)) {
            cpu(w, inside);
            w->rest = ct_str_from(behind, (gsize)ct_str_find(behind, "]") + 1);
            if (ct_str_starts(w->rest, "@"))
                ct_str_token(&w->rest);
        } else {
            w->rest = ct_str("", 0); /* the line is cut */
        }
    } else if (ct_str_eq(token, "EMC_FREQ") || ct_str_eq(token, "EMC")) {
        load_and_clock(ct_str_token(&w->rest), &load, &clock);
        if (load >= 0)
            sample(w, NULL, "emc.util", "1", load);
        if (clock > 0)
            sample(w, NULL, "emc.clock", "Hz", clock);
    } else if (ct_str_eq(token, "GR3D_FREQ") || ct_str_eq(token, "GR3D")) {
        load_and_clock(ct_str_token(&w->rest), &load, &clock);
        if (load >= 0)
            sample(w, "gpu:0", "gpu.util", "1", load);
        if (clock > 0)
            sample(w, "gpu:0", "gpu.clock.sm", "Hz", clock);
    } else if (ct_str_eq(token, "GR3D2_FREQ") || ct_str_eq(token, "APE")) {
        ct_str_token(&w->rest);
    } else if (ct_str_eq(token, "MTS")) {
        for (int i = 0; i < 4; i++)
            ct_str_token(&w->rest);
    } else if (engine_name(token, name)) {
        engine(w, name, ct_str_token(&w->rest));
    } else if (!temperature(w, token) && g_ascii_isalpha(token.p[0])) {
        CtStr after = w->rest, value = ct_str_token(&after);
        if (rail(w, token, value))
            w->rest = after;
    }
}

static gboolean looks_right(CtStr s)
{
    gssize at = ct_str_find(s, "RAM ");
    if (at < 0 || at > 40 || !ct_str_has(s, "MB"))
        return FALSE;
    CtStr rest = ct_str_from(s, (gsize)at + 4);
    double used, total;
    return pair(ct_str_token(&rest), &used, &total);
}

static void line(gpointer state, const CtLine *line, CtEmit *emit)
{
    State *st = state;
    CtStr s = ct_line_str(line);
    if (!looks_right(s))
        return;
    Work w = {.emit = emit, .line = line, .t_ns = line->t_ns,
              .rest = ct_str_from(s, (gsize)ct_str_find(s, "RAM ")), .first = st->lines == 0};
    gint64 t;
    gsize used;
    gboolean no_year;
    if (w.t_ns == CT_TIME_UNKNOWN && w.rest.p > s.p && ct_text_time(s.p, s.n, &t, &used, &no_year))
        w.t_ns = t;
    if (w.t_ns != CT_TIME_UNKNOWN && st->lines == 0)
        ct_emit_clock(emit, "wall");
    st->lines++;
    for (guint i = 0; i < 200 && ct_str_strip(w.rest).n; i++)
        one_token(&w);
}

static void finish(gpointer state, CtEmit *emit)
{
    State *st = state;
    if (st->lines) {
        ct_emit_coverage(emit, "tegrastats", NULL);
        if (st->lines >= 10)
            ct_emit_coverage(emit, "memory-series", NULL);
    }
    g_free(st);
}

static int sniff(const CtSniff *sniff)
{
    guint good = 0, seen = 0;
    for (guint i = 0; i < sniff->n_lines && seen < 8; i++) {
        CtStr s = ct_sniff_line(sniff, i);
        if (!s.n)
            continue;
        seen++;
        good += looks_right(s) && (ct_str_has(s, "CPU [") || ct_str_has(s, "cpu [") ||
                                   ct_str_has(s, "lfb"));
    }
    return good * 2 > seen ? 95 : good && ct_command_runs(sniff->command, "tegrastats") ? 90
           : good > 1 ? 50 : 0;
}

const CtParser ct_parser_tegrastats = {
    .id = "tegrastats",
    .summary = "tegrastats of Jetson boards",
    .doc = "One line a second of TX1, Nano, TX2, Xavier, Orin and Thor, L4T R28 to R39, with or "
           "without time stamp, with or without root: series of memory, swap, largest free "
           "block, CPU, EMC, GPU, engines, temperatures and power rails. What a line does not "
           "print stays unknown; gated sensors (-256C) and constants (PMIC) are left out.",
    .sniff = sniff,
    .begin = begin,
    .line = line,
    .finish = finish,
    .no_signatures = TRUE,
};
