/* SPDX-License-Identifier: Apache-2.0 */
/* Versions, boards and GPUs that a program states in its own log. */
#include <string.h>

#include "parse/env/version-scan.h"

#define MAX_LINES 400u

typedef struct {
    GHashTable *seen;
    guint lines;
} State;

/* Parsers that read versions themselves. */
static gboolean read_already(CtEmit *emit)
{
    static const char *const parsers[] = {"versions", "packages", "modules", "docker-info",
                                          "package-history", "loader", "environment",
                                          "memory-info", "host-status", "compose",
                                          "docker-inspect", "trtexec-log", "nccl-log"};
    sqlite3_stmt *st = NULL;
    gboolean already = FALSE;
    if (sqlite3_prepare_v2(ct_evidence_db(ct_emit_evidence(emit)),
                           "SELECT parser FROM section WHERE id=?", -1, &st, NULL) != SQLITE_OK)
        return FALSE;
    sqlite3_bind_int64(st, 1, ct_emit_section(emit));
    if (sqlite3_step(st) == SQLITE_ROW) {
        const char *parser = (const char *)sqlite3_column_text(st, 0);
        for (gsize i = 0; parser && i < G_N_ELEMENTS(parsers); i++)
            already |= strcmp(parser, parsers[i]) == 0;
        already |= parser && g_str_has_prefix(parser, "nvidia-smi");
    }
    sqlite3_finalize(st);
    return already;
}

static gpointer begin(CtEmit *emit)
{
    State *st = g_new0(State, 1);
    if (read_already(emit))
        st->lines = MAX_LINES;
    st->seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    return st;
}

/* "&&&& RUNNING TensorRT.trtexec [TensorRT v8502] ..." */
static gboolean banner(State *st, CtEmit *emit, const CtLine *line, CtStr s)
{
    gssize at = ct_str_find(s, "[TensorRT v");
    char text[24];
    gint64 n;
    if (at < 0)
        return FALSE;
    CtStr rest = ct_str_from(s, (gsize)at + 11), number;
    if (ct_str_cut(&rest, "]", &number) && ct_str_uint(number, &n) &&
        ct_version_of_int("version.tensorrt", n, text) &&
        !g_hash_table_contains(st->seen, text)) {
        g_hash_table_add(st->seen, g_strdup(text));
        ct_emit_fact(emit, line, NULL, "version.tensorrt", text);
    }
    return TRUE;
}

static void line(gpointer state, const CtLine *line, CtEmit *emit)
{
    State *st = state;
    CtStr s = ct_line_str(line);
    if (st->lines++ >= MAX_LINES || banner(st, emit, line, s))
        return;
    /* Messages of disagreement name versions of other places. */
    if (ct_str_has(s, "mismatch") || ct_str_has(s, "not compatible") ||
        ct_str_has(s, "insufficient") || ct_str_has(s, "incompatible"))
        return;
    ct_scan_versions(emit, line, s, st->seen);
}

static void finish(gpointer state, CtEmit *emit)
{
    State *st = state;
    g_hash_table_unref(st->seen);
    g_free(st);
}

static int never(const CtSniff *sniff)
{
    return 0;
}

static const char *const anchors[] = {
    "TensorRT ", "TensorRT: ", "[TensorRT v", "driver ", "JetPack ", "cuDNN ", "CUDA runtime ", "CUDA 1",
    "torch 1.", "torch 2.", "PyTorch ", "onnxruntime ", "DeepStream ", "NCCL version", "Jetson ",
    "GeForce ", "NVIDIA H", "NVIDIA A", "NVIDIA L", "Tesla ", "nvpmodel ", NULL};

const CtParser ct_parser_app_versions = {
    .id = "app-versions",
    .summary = "versions stated in application logs",
    .doc = "Lines of any log that name a part of the stack with its version, a Jetson or a GPU, "
           "and the version in trtexec's banner; each statement once a section.",
    .sniff = never,
    .begin = begin,
    .line = line,
    .finish = finish,
    .anchors = anchors,
};
