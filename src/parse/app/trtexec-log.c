/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trtexec and the TensorRT samples: banner with the verdict, echoed options, device, performance
 * summary, averages of runs, layer profile total. Errors and warnings are the signatures' part.
 */
#include <string.h>

#include "parse/env/version-scan.h"

#define MAX_OPTIONS 400

typedef struct {
    char section[40]; /* of the "=== ... ===" headings, as a slug */
    gboolean running, verdict, built, ran;
    guint options, averages;
} State;

static gpointer begin(CtEmit *emit)
{
    return g_new0(State, 1);
}

/* What stands behind "[03/14/2026-09:26:53] [I] " and "[TRT] ". */
static CtStr body(CtStr s, char *severity)
{
    *severity = ' ';
    for (guint i = 0; i < 4 && s.n > 2 && s.p[0] == '['; i++) {
        gssize close = ct_str_find(ct_str_head(s, 32), "]");
        if (close < 0)
            break;
        if (close == 2)
            *severity = s.p[1];
        s = ct_str_strip(ct_str_from(s, (gsize)close + 1));
    }
    return s;
}

static void slug(CtStr s, char *out, gsize size)
{
    gsize n = 0;
    for (gsize i = 0; i < s.n && n + 1 < size; i++) {
        char c = s.p[i];
        if (g_ascii_isalnum(c)) {
            if (n && g_ascii_isupper(c) && g_ascii_islower(s.p[i - 1]) && out[n - 1] != '-' &&
                n + 2 < size)
                out[n++] = '-';
            out[n++] = g_ascii_tolower(c);
        } else if (n && out[n - 1] != '-') {
            out[n++] = '-';
        }
    }
    while (n && out[n - 1] == '-')
        n--;
    out[n] = '\0';
}

/* "&&&& PASSED TensorRT.trtexec [TensorRT v110100] [b42] # trtexec --onnx=net.onnx" */
static gboolean banner(State *st, CtEmit *emit, const CtLine *line, CtStr s)
{
    if (!ct_str_starts(s, "&&&& "))
        return FALSE;
    CtStr rest = ct_str_from(s, 5), word = ct_str_token(&rest), number, command = rest;
    char version[24];
    gint64 n;
    if (ct_str_eq(word, "RUNNING")) {
        st->running = TRUE;
        if (ct_str_between(s, "[TensorRT v", "]", &number) && ct_str_uint(number, &n) &&
            ct_version_of_int("version.tensorrt", n, version))
            ct_emit_fact(emit, line, NULL, "version.tensorrt", version);
        gssize hash = ct_str_find(command, "# ");
        if (hash >= 0) {
            g_autofree char *text = ct_str_dup(ct_str_head(ct_str_from(command, (gsize)hash + 2),
                                                           1500));
            ct_emit_fact(emit, line, NULL, "trtexec.command", text);
            st->built |= strstr(text, "--onnx=") || strstr(text, "--uff=");
            st->ran |= strstr(text, "--loadEngine=") != NULL;
        }
    } else if (ct_str_eq(word, "PASSED") || ct_str_eq(word, "FAILED") ||
               ct_str_eq(word, "WAIVED")) {
        st->verdict = TRUE;
        ct_emit_text(emit, line, NULL, "trtexec.verdict", word);
    }
    return TRUE;
}

/* "Latency: min = 1.14 ms, max = 4.87 ms, ..., percentile(99%) = 2.91 ms" */
static gboolean summary(CtEmit *emit, const CtLine *line, CtStr key, CtStr value)
{
    char name[40], full[96];
    slug(key, name, sizeof(name));
    double number;
    CtDim dim;
    if (strcmp(name, "throughput") == 0) {
        CtStr rest = value;
        if (ct_str_take_number(&rest, &number))
            ct_emit_number(emit, line, NULL, "trtexec.throughput", number, CT_STR_BUF(value));
        return TRUE;
    }
    if (!ct_str_has(value, "min = "))
        return FALSE;
    CtStr rest = value;
    while (rest.n) {
        CtStr part = ct_str_field(&rest, ','), word, inside;
        if (!ct_str_cut(&part, "=", &word) || !ct_quantity(part, &dim, &number))
            continue;
        char statistic[16];
        if (ct_str_between(word, "percentile(", "%", &inside) ||
            (ct_str_starts(word, "percentile(") && ct_str_between(word, "(", ")", &inside)))
            g_snprintf(statistic, sizeof(statistic), "p%.*s", (int)MIN(inside.n, (gsize)6),
                       inside.p);
        else
            ct_str_buf(word, statistic, sizeof(statistic));
        g_snprintf(full, sizeof(full), "trtexec.%s.%s", name, statistic);
        ct_emit_number(emit, line, NULL, full, number, CT_STR_BUF(part));
    }
    return TRUE;
}

/* "Average on 10 runs - GPU latency: 1.10418 ms - Host latency: 1.19731 ms (enqueue ...)" */
static gboolean average(State *st, CtEmit *emit, const CtLine *line, CtStr s)
{
    if (!ct_str_starts(s, "Average on "))
        return FALSE;
    static const struct {
        const char *word, *metric;
    } parts[] = {{"GPU latency:", "latency.gpu"}, {"Host latency:", "latency"},
                 {"Host walltime", "latency"}};
    for (gsize i = 0; i < G_N_ELEMENTS(parts); i++) {
        gssize at = ct_str_find(s, parts[i].word);
        double ms;
        if (at < 0)
            continue;
        CtStr rest = ct_str_strip(ct_str_from(s, (gsize)at + strlen(parts[i].word)));
        while (rest.n && !g_ascii_isdigit(rest.p[0]))
            rest = ct_str_from(rest, 1);
        if (ct_str_take_number(&rest, &ms))
            ct_emit_sample(emit, line, "trtexec", parts[i].metric, "ns", line->t_ns, ms * 1e6);
    }
    st->averages++;
    return TRUE;
}

static gboolean device(CtEmit *emit, const CtLine *line, CtStr key, CtStr value)
{
    if (ct_str_eq(key, "Selected Device"))
        ct_emit_text(emit, line, "gpu:0", "gpu.name", value);
    else if (ct_str_eq(key, "Compute Capability"))
        ct_emit_text(emit, line, "gpu:0", "gpu.compute-capability", value);
    else if (ct_str_eq(key, "Device Global Memory"))
        ct_emit_field(emit, line, "gpu:0", "gpu.memory.total", value);
    else if (ct_str_eq(key, "TensorRT version"))
        ct_emit_text(emit, line, NULL, "version.tensorrt", value);
    else
        return FALSE;
    return TRUE;
}

static void option(State *st, CtEmit *emit, const CtLine *line, CtStr key, CtStr value)
{
    char name[48], full[80];
    if (!strstr(st->section, "options") || st->options >= MAX_OPTIONS || !value.n ||
        key.n > 40)
        return;
    slug(key, name, sizeof(name));
    if (!name[0])
        return;
    st->options++;
    g_snprintf(full, sizeof(full), "trtexec.option.%s", name);
    ct_emit_text(emit, line, NULL, full, value);
}

/* Phases: "Engine built in 12.3 sec.", "Loaded engine size: 24 MiB" */
static gboolean phase(State *st, CtEmit *emit, const CtLine *line, CtStr s)
{
    static const struct {
        const char *word, *key;
        double factor;
    } phases[] = {
        {"Engine built in ", "trtexec.build-time", 1e9},
        {"Engine generation completed in ", "trtexec.build-time", 1e9},
        {"Engine loaded in ", "trtexec.load-time", 1e9},
        {"Engine deserialized in ", "trtexec.load-time", 1e9},
        {"Loaded engine size: ", "engine.size", 1048576},
        {"Loaded engine with size: ", "engine.size", 1048576},
        {"Created engine with size: ", "engine.size", 1048576},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(phases); i++) {
        double n;
        if (!ct_str_starts(s, phases[i].word))
            continue;
        CtStr rest = ct_str_from(s, strlen(phases[i].word)), text = rest;
        if (ct_str_take_number(&rest, &n))
            ct_emit_number(emit, line, NULL, phases[i].key, n * phases[i].factor,
                           CT_STR_BUF(text));
        st->built |= i < 2;
        st->ran |= i >= 2;
        return TRUE;
    }
    return FALSE;
}

/* The table of layers: "84.21  0.4010  0.3994  36.3   /stem/conv + relu", of old versions with the
 * name first. Only layers that matter are kept. */
static gboolean layer_row(State *st, CtEmit *emit, const CtLine *line, CtStr s)
{
    double v[4];
    guint n = 0;
    char subject[200];
    if (strncmp(st->section, "profile", 7) != 0)
        return FALSE;
    if (ct_str_has(s, "Time") && ct_str_has(s, "Layer"))
        return TRUE;
    CtStr name = s;
    for (CtStr rest = s; n < 4; name = rest) {
        CtStr word = ct_str_token(&rest);
        if (!word.n || !ct_str_number(word, &v[n]))
            break;
        n++;
    }
    if (n < 3) { /* the numbers stand at the end */
        gsize end = s.n;
        for (n = 0; n < 4 && end > 0; n++) {
            gsize from = end;
            while (from > 0 && s.p[from - 1] != ' ')
                from--;
            if (!ct_str_number(ct_str(s.p + from, end - from), &v[3 - n]))
                break;
            for (end = from; end > 0 && s.p[end - 1] == ' ';)
                end--;
        }
        if (n < 3)
            return FALSE;
        memmove(v, v + 4 - n, n * sizeof(v[0]));
        name = ct_str_head(s, end);
    }
    name = ct_str_strip(name);
    double share = v[n - 1];
    if (!name.n || ct_str_eq(name, "Total") || share < 3 || share > 100)
        return TRUE;
    g_snprintf(subject, sizeof subject, "layer:%.*s", (int)MIN(name.n, 160u), name.p);
    ct_emit_number(emit, line, subject, "trt.layer.share", share / 100, NULL);
    ct_emit_number(emit, line, subject, "trt.layer.time", v[1] * 1e6, NULL);
    return TRUE;
}

static void line(gpointer state, const CtLine *line, CtEmit *emit)
{
    State *st = state;
    char severity;
    CtStr whole = ct_line_str(line);
    if (!whole.n || banner(st, emit, line, whole))
        return;
    CtStr s = body(whole, &severity), inside, key, value;
    if (ct_str_starts(s, "=== ") && ct_str_ends(s, "===")) {
        inside = ct_str_strip(ct_str(s.p + 4, s.n - 7));
        slug(inside, st->section, sizeof(st->section));
        st->ran |= strcmp(st->section, "performance-summary") == 0;
        return;
    }
    if (severity == 'I' && layer_row(st, emit, line, s))
        return;
    if (average(st, emit, line, s) || phase(st, emit, line, s))
        return;
    gssize colon = ct_str_find(ct_str_head(s, 60), ":"); /* some options lack the blank */
    if (colon <= 0 || severity == 'E' || severity == 'W' || ct_str_has(whole, "[TRT]"))
        return;
    key = ct_str_strip(ct_str_head(s, (gsize)colon));
    value = ct_str_strip(ct_str_from(s, (gsize)colon + 1));
    if (device(emit, line, key, value))
        return;
    if (strcmp(st->section, "performance-summary") == 0 && summary(emit, line, key, value))
        return;
    if (strcmp(st->section, "performance-summary") != 0 && ct_str_has(value, "min = ") &&
        summary(emit, line, key, value))
        return;
    option(st, emit, line, key, value);
}

static void finish(gpointer state, CtEmit *emit)
{
    State *st = state;
    if (st->running && !st->verdict)
        ct_emit_fact_status(emit, NULL, NULL, "trtexec.verdict", CT_ABSENT, "none");
    if (st->built)
        ct_emit_coverage(emit, "trt-build", NULL);
    if (st->ran)
        ct_emit_coverage(emit, "trt-runtime", NULL);
    if (st->averages > 2)
        ct_emit_coverage(emit, "latency-series", NULL);
    ct_emit_coverage(emit, "app-log", NULL);
    g_free(st);
}

static int sniff(const CtSniff *sniff)
{
    if (ct_sniff_has(sniff, "&&&& RUNNING TensorRT") || ct_sniff_has(sniff, "&&&& PASSED TensorRT"))
        return 90;
    guint n = ct_sniff_has(sniff, "=== Performance summary ===") +
              ct_sniff_has(sniff, "=== Device Information ===") +
              ct_sniff_has(sniff, "=== Model Options ===") +
              ct_sniff_has(sniff, "=== Build Options ===") +
              ct_sniff_has(sniff, "=== Inference Options") +
              ct_sniff_has(sniff, "percentile(99%)");
    return n ? 85 : 0;
}

const CtParser ct_parser_trtexec_log = {
    .id = "trtexec-log",
    .summary = "logs of trtexec",
    .doc = "trtexec of TensorRT 7 to 11: version and command from the banner, verdict (absent when "
           "the run died), echoed options, device, build and load times, engine size, the figures "
           "of the performance summary as facts, averages of runs as series, and of the table of "
           "layers those that take 3 percent or more.",
    .sniff = sniff,
    .begin = begin,
    .line = line,
    .finish = finish,
};
