/* SPDX-License-Identifier: Apache-2.0 */
/* Identity of a model file as lines of text. */
#include <string.h>

#include "model/model.h"

#define SHOWN_OPS 40u

static gboolean ends(const char *path, const char *const *suffixes)
{
    for (; *suffixes; suffixes++)
        if (g_str_has_suffix(path, *suffixes))
            return TRUE;
    return FALSE;
}

static gboolean named_engine(const char *path)
{
    return ends(path, (const char *const[]){".engine", ".plan", ".trt", NULL});
}

static gboolean named_onnx(const char *path)
{
    return ends(path, (const char *const[]){".onnx", NULL});
}

static gboolean has_gpu_code(const guint8 *data, gsize len)
{
    if (len < 4 || memcmp(data, "\177ELF", 4) != 0)
        return FALSE;
    g_autoptr(CtFatbin) f = ct_fatbin_read(data, len);
    return f->present;
}

gboolean ct_model_is(const guint8 *data, gsize len, const char *path)
{
    CtEngine engine;
    ct_engine_read(data, len, &engine);
    return engine.is_engine || named_engine(path) || named_onnx(path) ||
           (ct_onnx_sniff(data, len) && !g_str_has_suffix(path, ".pb")) ||
           has_gpu_code(data, len);
}

static void engine_lines(GString *out, const CtEngine *e)
{
    if (e->cut) {
        g_string_append(out, "problem: cut: shorter than the header of an engine\n");
        return;
    }
    g_string_append_printf(out, "serialization: %u\n", e->serialization);
    if (e->has_version)
        g_string_append_printf(out, "built by TensorRT: %u.%u.%u.%u\n", e->version[0],
                               e->version[1], e->version[2], e->version[3]);
    else
        g_string_append(out, "built by TensorRT: before 8.6 (the header does not say)\n");
}

static void architectures(GString *out, const char *what, const char *prefix, const GArray *list)
{
    if (!list->len)
        return;
    g_string_append_printf(out, "%s:", what);
    for (guint i = 0; i < list->len; i++)
        g_string_append_printf(out, " %s%u", prefix, g_array_index(list, guint32, i));
    g_string_append_c(out, '\n');
}

static void program_lines(GString *out, const guint8 *data, gsize len)
{
    g_autoptr(CtFatbin) f = ct_fatbin_read(data, len);
    architectures(out, "machine code", "sm_", f->cubin);
    architectures(out, "ptx", "compute_", f->ptx);
    if (f->damaged)
        g_string_append(out, "problem: its section of GPU code is damaged\n");
}

static void value_lines(GString *out, const char *what, const GPtrArray *values)
{
    for (guint i = 0; i < values->len; i++) {
        const CtOnnxValue *v = values->pdata[i];
        g_string_append_printf(out, "%s: %s %s %s%s\n", what, *v->name ? v->name : "(unnamed)",
                               v->type, v->shape ? v->shape : "[shape not given]",
                               v->dynamic ? " dynamic" : "");
    }
}

static void onnx_lines(GString *out, const CtOnnx *o, gboolean whole)
{
    if (o->ir_version >= 0)
        g_string_append_printf(out, "ir version: %d\n", (int)o->ir_version);
    for (guint i = 0; i < o->opsets->len; i++)
        g_string_append_printf(out, "opset: %s\n", (const char *)o->opsets->pdata[i]);
    if (o->producer && *o->producer)
        g_string_append_printf(out, "producer: %.200s %.100s\n", o->producer,
                               o->producer_version ? o->producer_version : "");
    if (o->graph && *o->graph)
        g_string_append_printf(out, "graph: %.200s\n", o->graph);
    value_lines(out, "input", o->inputs);
    value_lines(out, "output", o->outputs);
    g_string_append_printf(out, "nodes: %u\n", o->nodes);
    if (o->subgraphs)
        g_string_append_printf(out, "subgraphs: %u\n", o->subgraphs);
    if (o->functions)
        g_string_append_printf(out, "functions: %u\n", o->functions);
    g_string_append_printf(out, "weights: %u, %" G_GUINT64_FORMAT " bytes in the file\n",
                           o->weights, o->weight_bytes);
    if (o->external)
        g_string_append_printf(out, "external weights: %u in %.300s\n", o->external,
                               o->external_file ? o->external_file : "(no name)");
    for (guint i = 0; i < MIN(o->ops->len, SHOWN_OPS); i++) {
        const CtOnnxOp *op = &g_array_index(o->ops, CtOnnxOp, i);
        g_string_append_printf(out, "operator: %.120s %u\n", op->name, op->count);
    }
    if (o->ops->len > SHOWN_OPS)
        g_string_append_printf(out, "further operators: %u\n", o->ops->len - SHOWN_OPS);
    if (o->damaged)
        g_string_append(out, whole ? "problem: cut or damaged: the file ends within the model\n"
                                   : "note: only the beginning of the file was read\n");
}

char *ct_model_describe(const guint8 *data, gsize len, guint64 size, const char *path)
{
    CtEngine engine;
    GString *out = g_string_new(NULL);
    g_autofree char *shown = g_utf8_make_valid(path, -1);
    g_strdelimit(shown, "\r\n", '?');
    ct_engine_read(data, len, &engine);
    gboolean onnx = !engine.is_engine && ct_onnx_sniff(data, len);
    gboolean program = !engine.is_engine && !onnx && has_gpu_code(data, len);
    g_string_append_printf(out, "%s: %s\nsize: %" G_GUINT64_FORMAT " bytes\n",
                           engine.is_engine ? "TensorRT engine"
                           : onnx           ? "ONNX model"
                           : program        ? "GPU program"
                                            : "Model file",
                           shown, size);
    if (engine.is_engine) {
        engine_lines(out, &engine);
    } else if (onnx) {
        g_autoptr(CtOnnx) o = ct_onnx_read(data, len);
        onnx_lines(out, o, size <= len);
        if (named_engine(path))
            g_string_append(out, "problem: named like an engine, but it is an ONNX model\n");
    } else if (program) {
        program_lines(out, data, len);
    } else {
        const char *what = ct_model_looks_like(data, len);
        g_string_append_printf(out, "problem: not %s: %s\n",
                               named_onnx(path) ? "an ONNX model" : "a TensorRT engine",
                               what ? what : "its first bytes are of no known kind");
    }
    /* A name that was cut may end within a character. */
    char *text = g_utf8_make_valid(out->str, (gssize)out->len);
    g_string_free(out, TRUE);
    return text;
}
