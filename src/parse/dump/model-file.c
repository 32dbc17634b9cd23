/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TensorRT engines and ONNX models, as files or as the lines that capture and inspect write about
 * them: both become the same facts.
 */
#include <string.h>

#include "base/limits.h"
#include "model/model.h"
#include "parse/common/scan.h"

#define MAX_ROWS 3000u

typedef struct {
    char subject[160];
    const char *format;
    guint rows;
} State;

static const struct {
    const char *title, *format;
} titles[] = {
    {"TensorRT engine: ", "tensorrt-engine"},
    {"ONNX model: ", "onnx"},
    {"GPU program: ", "gpu-program"},
    {"Model file: ", "other"},
};

static const char *format_of(CtStr s, CtStr *path)
{
    for (gsize i = 0; i < G_N_ELEMENTS(titles); i++) {
        if (!ct_str_starts(s, titles[i].title))
            continue;
        *path = ct_str_from(s, strlen(titles[i].title));
        return titles[i].format;
    }
    return NULL;
}

static void title(State *st, CtEmit *emit, const CtLine *line, CtStr path)
{
    gsize slash = 0;
    for (gsize i = 0; i < path.n; i++)
        if (path.p[i] == '/')
            slash = i + 1;
    g_snprintf(st->subject, sizeof st->subject, "model:%.120s",
               CT_STR_BUF(ct_str_from(path, slash)));
    ct_emit_fact(emit, line, st->subject, "model.file", CT_STR_BUF(path));
    ct_emit_fact(emit, line, st->subject, "model.format", st->format);
}

/* Operators whose output size depends on data, and control flow. */
static gboolean is_dynamic_op(CtStr name)
{
    static const char *const ops[] = {"If", "Loop", "Scan", "NonZero", "NonMaxSuppression",
                                      "Unique", "Compress", "SequenceInsert", "SplitToSequence"};
    for (gsize i = 0; i < G_N_ELEMENTS(ops); i++)
        if (ct_str_eq(name, ops[i]))
            return TRUE;
    return FALSE;
}

static void number_fact(State *st, CtEmit *emit, const CtLine *line, const char *key, CtStr value)
{
    double n;
    CtStr rest = value;
    if (ct_str_take_plain(&rest, &n))
        ct_emit_number(emit, line, st->subject, key, n, CT_STR_BUF(value));
}

static void opset(State *st, CtEmit *emit, const CtLine *line, CtStr value)
{
    CtStr rest = value, domain = ct_str_token(&rest);
    char key[128];
    if (ct_str_eq(domain, "ai.onnx"))
        g_strlcpy(key, "model.opset", sizeof key);
    else
        g_snprintf(key, sizeof key, "model.opset.%.*s", (int)MIN(domain.n, 80), domain.p);
    number_fact(st, emit, line, key, ct_str_strip(rest));
}

static void row(State *st, CtEmit *emit, const CtLine *line)
{
    static const struct {
        const char *word, *key;
        gboolean number;
    } rows[] = {
        {"size", "model.size", TRUE},
        {"serialization", "model.serialization", TRUE},
        {"ir version", "model.ir", TRUE},
        {"producer", "model.producer", FALSE},
        {"input", "model.input", FALSE},
        {"output", "model.output", FALSE},
        {"nodes", "model.nodes", TRUE},
        {"subgraphs", "model.subgraphs", TRUE},
        {"weights", "model.weights", TRUE},
        {"external weights", "model.external-weights", TRUE},
        {"problem", "model.problem", FALSE},
    };
    CtStr s = ct_line_str(line), key, value, path;
    const char *format = format_of(s, &path);
    if (format) {
        st->format = format;
        st->rows = 0;
        title(st, emit, line, path);
        return;
    }
    if (!st->format || st->rows++ > MAX_ROWS || !ct_str_key_value(s, &key, &value) || !value.n)
        return;
    if (ct_str_eq(key, "opset")) {
        opset(st, emit, line, value);
    } else if (ct_str_eq(key, "built by TensorRT")) {
        if (ct_str_starts(value, "before"))
            ct_emit_fact_status(emit, line, st->subject, "model.tensorrt", CT_UNSUPPORTED,
                                CT_STR_BUF(value));
        else
            ct_emit_text(emit, line, st->subject, "model.tensorrt", value);
    } else if (ct_str_eq(key, "machine code") || ct_str_eq(key, "ptx")) {
        const char *fact = ct_str_eq(key, "ptx") ? "program.ptx" : "program.sm";
        for (CtStr w = ct_str_token(&value); w.n; w = ct_str_token(&value))
            ct_emit_text(emit, line, st->subject, fact, w);
        return;
    } else if (ct_str_eq(key, "operator")) {
        CtStr rest = value, op = ct_str_token(&rest);
        if (is_dynamic_op(op))
            ct_emit_fact(emit, line, st->subject, "model.op", CT_STR_BUF(op));
    }
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        if (!ct_str_eq(key, rows[i].word))
            continue;
        if (rows[i].number)
            number_fact(st, emit, line, rows[i].key, value);
        else
            ct_emit_fact(emit, line, st->subject, rows[i].key, CT_STR_BUF(value));
    }
}

static void document(const char *data, gsize len, guint first_line, CtEmit *emit)
{
    State st = {.format = NULL};
    CtStr head = ct_str(data, MIN(len, (gsize)64)), path;
    g_autofree char *text = NULL;
    if (!format_of(ct_str_strip(head), &path)) {
        const char *name = ct_emit_source_path(emit);
        /* What is beyond the cap of a document is not there; the file was at least this long. */
        gboolean cut = len >= CT_MAX_DOCUMENT;
        text = ct_model_describe((const guint8 *)data, len, cut ? (guint64)len + 1 : len,
                                 name ? name : "model");
        data = text;
        len = strlen(text);
        first_line = 1;
    }
    for (gsize at = 0, n = 0; at < len; n++) {
        const char *end = memchr(data + at, '\n', len - at);
        gsize stop = end ? (gsize)(end - data) : len;
        CtLine line = ct_line_at(first_line + (guint)n, data + at, MIN(stop - at, CT_MAX_LINE));
        row(&st, emit, &line);
        at = stop + 1;
    }
    if (st.format)
        ct_emit_coverage(emit, "model-file", NULL);
}

static int sniff(const CtSniff *sniff)
{
    CtStr path;
    for (guint i = 0; i < MIN(sniff->n_lines, 3u); i++) {
        CtStr s = ct_sniff_line(sniff, i);
        if (format_of(s, &path) && sniff->n_lines > i + 1 &&
            ct_str_starts(ct_sniff_line(sniff, i + 1), "size: "))
            return 95;
    }
    return 0;
}

static gboolean binary(const guint8 *head, gsize len)
{
    CtEngine engine;
    ct_engine_read(head, len, &engine);
    return engine.is_engine || ct_onnx_sniff(head, len);
}

const CtParser ct_parser_model_file = {
    .id = "model-file",
    .summary = "TensorRT engines and ONNX models",
    .doc = "Identity of a model file, read from the file or from the lines that capture and "
           "inspect write: model.tensorrt (the release that built an engine, from its header), "
           "model.ir, model.opset, model.producer, model.input and model.output with type and "
           "shape, sizes, operators whose output depends on data, and model.problem for files "
           "that are cut or something else than their name says.",
    .sniff = sniff,
    .document = document,
    .binary = binary,
    .no_signatures = TRUE,
};
