/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who a model file is: TensorRT engines and ONNX models. Readers of bytes in memory that trust
 * none of them; a file may be longer than what is given (`size`).
 */
#pragma once

#include <glib.h>

/* ---- TensorRT engine ---- */

typedef struct {
    gboolean is_engine;
    gboolean cut;          /* shorter than its header */
    guint32 serialization; /* the word behind the magic */
    gboolean has_version;  /* engines of 8.6 and later hold who built them */
    guint version[4];
} CtEngine;

void ct_engine_read(const guint8 *data, gsize len, CtEngine *out);

/* What a file that is no engine looks like ("an ONNX model", "a Git LFS pointer"); NULL unknown. */
const char *ct_model_looks_like(const guint8 *data, gsize len);

/* ---- ONNX ---- */

typedef struct {
    char *name, *type, *shape; /* "float32", "[batch,3,224,224]"; ? is an unknown axis */
    gboolean dynamic;
} CtOnnxValue;

typedef struct {
    char *name;
    guint count;
} CtOnnxOp;

typedef struct {
    gint64 ir_version, model_version; /* -1 not given */
    char *producer, *producer_version, *domain, *graph;
    GPtrArray *opsets;   /* char *: "ai.onnx 17" */
    GPtrArray *inputs;   /* CtOnnxValue, without the weights */
    GPtrArray *outputs;
    GArray *ops;         /* CtOnnxOp, most frequent first; those of other domains as "domain::Name" */
    guint nodes, subgraphs, functions, weights, external;
    guint64 weight_bytes; /* inside of the file */
    char *external_file;  /* the first one (nullable) */
    gboolean damaged;     /* cut or malformed: the above is what came before */
} CtOnnx;

/* TRUE when the bytes begin as an ONNX model does. */
gboolean ct_onnx_sniff(const guint8 *data, gsize len);
CtOnnx *ct_onnx_read(const guint8 *data, gsize len);
void ct_onnx_free(CtOnnx *onnx);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtOnnx, ct_onnx_free)

/* ---- GPU code of a program or library ---- */

typedef struct {
    gboolean present;   /* it has a section of GPU code */
    gboolean damaged;   /* cut or malformed: the lists are what came before */
    GArray *cubin, *ptx; /* guint32, ascending: 90 for sm_90 and compute_90 */
} CtFatbin;

/* Touches headers only; a file of a gigabyte may be mapped. (transfer full) */
CtFatbin *ct_fatbin_read(const guint8 *data, gsize len);
void ct_fatbin_free(CtFatbin *fatbin);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtFatbin, ct_fatbin_free)

/* ---- for people and for the parser `model-file` ---- */

/* TRUE for what describes itself as an engine or a model, or is named like one. */
gboolean ct_model_is(const guint8 *data, gsize len, const char *path);
/* Lines "key: value"; the first is "TensorRT engine: PATH", "ONNX model: PATH", "GPU program: PATH"
 * or "Model file: PATH". (transfer full) */
char *ct_model_describe(const guint8 *data, gsize len, guint64 size, const char *path);
