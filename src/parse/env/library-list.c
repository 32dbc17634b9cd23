/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Libraries of the GPU stack as a capture lists them:
 * "library PATH soname=libcudnn.so.9 version=9.3.0 build-id=1a2b size=123 mtime=1700000000
 *  loader=yes real=PATH". Facts of a file have its path as subject; the version of a part is that of the
 * file which the loader takes.
 */
#include <string.h>

#include "parse/env/version-scan.h"
#include "parse/common/scan.h"

typedef struct {
    guint libraries;
} State;

static gpointer begin(CtEmit *emit)
{
    return g_new0(State, 1);
}

/* Which part a soname belongs to; only the library that gives the part its name. */
static const char *part_of(CtStr soname)
{
    static const struct {
        const char *begin, *key;
    } parts[] = {
        {"libcudart.so", "version.cuda.runtime"}, {"libcudnn.so", "version.cudnn"},
        {"libnvinfer.so", "version.tensorrt"},    {"libnccl.so", "version.nccl"},
        {"libcublas.so", "version.cublas"},       {"libonnxruntime.so", "version.onnxruntime"},
        {"libopencv_core.so", "version.opencv"},  {"libcuda.so", "version.driver.user"},
        {"libnvidia-ml.so", "version.driver.nvml"},
        {"libnvidia-ptxjitcompiler.so", "version.driver.ptx"},
        {"libcufft.so", "version.cufft"},         {"libnvrtc.so", "version.nvrtc"},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(parts); i++)
        if (ct_str_starts(soname, parts[i].begin))
            return parts[i].key;
    return NULL;
}

static void quantity(CtEmit *emit, const CtLine *line, const char *path, const char *key, CtStr value,
                     double factor)
{
    double n;
    if (ct_str_number(value, &n))
        ct_emit_number(emit, line, path, key, n * factor, CT_STR_BUF(value));
}

static void line(gpointer state, const CtLine *line, CtEmit *emit)
{
    State *st = state;
    CtStr rest = ct_line_str(line), path, soname = {0}, version = {0}, name, real = {0};
    gboolean loader = FALSE;
    if (!ct_str_eq(ct_str_token(&rest), "library"))
        return;
    path = ct_str_token(&rest);
    if (!path.n || path.p[0] != '/')
        return;
    g_autofree char *file = ct_str_dup(path);
    st->libraries++;
    for (CtStr w = ct_str_token(&rest); w.n; w = ct_str_token(&rest)) {
        if (!ct_str_cut(&w, "=", &name))
            continue;
        if (ct_str_eq(name, "soname"))
            soname = w;
        else if (ct_str_eq(name, "version"))
            version = w;
        else if (ct_str_eq(name, "real"))
            real = w;
        else if (ct_str_eq(name, "size"))
            quantity(emit, line, file, "file.size", w, 1);
        else if (ct_str_eq(name, "mtime"))
            quantity(emit, line, file, "file.mtime", w, 1e9);
        else if (ct_str_eq(name, "build-id") || ct_str_eq(name, "sha256") || ct_str_eq(name, "machine"))
            ct_emit_text(emit, line, file,
                         ct_str_eq(name, "sha256")    ? "file.sha256"
                         : ct_str_eq(name, "machine") ? "file.machine"
                                                      : "file.build-id",
                         w);
        else if (ct_str_eq(name, "missing"))
            ct_emit_text(emit, line, file, "file.dangling", w);
        else if (ct_str_eq(name, "searched"))
            ct_emit_text(emit, line, file, "file.searched", w);
        else if (ct_str_eq(name, "loader"))
            loader = ct_str_eq(w, "yes");
    }
    if (real.n)
        ct_emit_text(emit, line, file, "file.real-path", real);
    if (soname.n)
        ct_emit_text(emit, line, file, "file.soname", soname);
    if (version.n)
        ct_emit_text(emit, line, file, "file.version", version);
    if (!loader || !soname.n || soname.n > 120)
        return;
    g_autofree char *key = g_strdup_printf("library.%.*s", (int)soname.n, soname.p);
    ct_emit_fact(emit, line, NULL, key, file);
    const char *part = part_of(soname);
    if (part && version.n && memchr(version.p, '.', version.n))
        ct_emit_text(emit, line, NULL, part, version);
}

static void finish(gpointer state, CtEmit *emit)
{
    State *st = state;
    if (st->libraries) {
        ct_emit_coverage(emit, "loader", NULL);
        ct_emit_coverage(emit, "versions", NULL);
    }
    g_free(st);
}

static int sniff(const CtSniff *sniff)
{
    CtStr first = ct_sniff_first(sniff);
    return ct_str_starts(first, "library /") &&
                   (ct_str_has(first, " size=") || ct_str_has(first, " missing="))
               ? 95
               : 0;
}

const CtParser ct_parser_library_list = {
    .id = "library-list",
    .summary = "libraries of the GPU stack in a capture",
    .doc = "The list of libraries that a capture makes: path, soname, version, build id, size, time, "
           "machine of each file, and which one the loader takes; the versions of CUDA, cuDNN, "
           "TensorRT, NCCL and the driver are those of the files that the loader takes.",
    .sniff = sniff,
    .begin = begin,
    .line = line,
    .finish = finish,
    .no_signatures = TRUE,
};
