/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Environment descriptions: what a person typed ("tensorrt 8.5.3.1", "Jetson Xavier NX, JetPack
 * 4.6.3"), and the answers of commands that print one version. Text without a command behind it
 * is a claim of the person; the answer of a command is a fact of the host.
 */
#include <string.h>

#include "parse/env/known-lines.h"
#include "parse/env/python-print.h"
#include "parse/env/version-scan.h"

typedef struct {
    guint lines, tool_lines;
    gboolean asked;   /* a command stands behind the text */
    gboolean in_cuda; /* within "cuda" of version.json */
    CtPythonPrint *python;
} State;

static gpointer begin(CtEmit *emit)
{
    State *st = g_new0(State, 1);
    const char *command = ct_emit_command(emit);
    st->asked = command != NULL;
    st->python = ct_python_print_new(command);
    return st;
}

/* "cat /sys/module/nvidia/version" and the like: the command names what the bare answer is. */
static gboolean answer(CtEmit *emit, const CtLine *line, const char *command)
{
    static const struct {
        const char *part, *key;
    } files[] = {
        {"/sys/module/nvidia/version", "version.driver.kernel"},
        {"/proc/device-tree/model", "host.model"},
        {"/sys/firmware/devicetree/base/model", "host.model"},
        {"nvidia-gpu-driver-active", "driver.flavour"},
        {"onnxruntime/VERSION", "version.onnxruntime"},
        {"deepstream/version", "version.deepstream"},
        {"modinfo -F version nvidia", "version.driver.module-file"},
        {"uname -r", "version.kernel"},
        {"uname -m", "host.arch"},
        {"dpkg --print-architecture", "host.arch"},
        {"lsb_release -ds", "version.os"},
        {"nvidia-smi --query-gpu=driver_version", "version.driver"},
    };
    CtStr s = ct_line_str(line);
    if (!s.n || s.n > 120)
        return FALSE;
    for (gsize i = 0; i < G_N_ELEMENTS(files); i++) {
        if (!strstr(command, files[i].part))
            continue;
        while (s.n && s.p[s.n - 1] == '\0')
            s.n--;
        if (g_str_has_prefix(files[i].key, "version.") && files[i].key[8] != 'o' &&
            !g_ascii_isdigit(s.p[0]))
            return FALSE;
        ct_emit_text(emit, line, NULL, files[i].key, s);
        if (ct_str_has(s, "-tegra") || ct_str_has(s, "Jetson"))
            ct_emit_fact(emit, line, NULL, "host.jetson", "yes");
        return TRUE;
    }
    /* echo $NAME */
    const char *dollar = ct_command_runs(command, "echo") ? strchr(command, '$') : NULL;
    if (dollar && (g_ascii_isupper(dollar[1]) || dollar[1] == '{') && !strchr(dollar + 1, '$')) {
        const char *name = dollar + 1 + (dollar[1] == '{');
        gsize n = 0;
        while (g_ascii_isalnum(name[n]) || name[n] == '_')
            n++;
        const char *before = command + strlen(command) - strlen(dollar);
        if (n && n < 80 && !(before > command && before[-1] == '=')) {
            g_autofree char *key = g_strdup_printf("env.%.*s", (int)n, name);
            g_autofree char *value = ct_str_dup(s);
            ct_emit_fact(emit, line, NULL, key, value);
            return TRUE;
        }
    }
    return FALSE;
}

/* version.txt: "CUDA Version 10.2.300"; version.json: the version that follows "cuda" : {. */
static gboolean toolkit_file(State *st, CtEmit *emit, const CtLine *line, const char *command)
{
    CtStr s = ct_line_str(line), value;
    if (ct_str_starts(s, "CUDA Version ") && strstr(command, "version.txt")) {
        ct_emit_text(emit, line, NULL, "version.cuda.toolkit", ct_str_from(s, 13));
        return TRUE;
    }
    if (!strstr(command, "version.json"))
        return FALSE;
    if (ct_str_starts(s, "\"cuda\""))
        st->in_cuda = TRUE;
    gssize at = ct_str_find(s, "\"version\"");
    if (at >= 0 && st->in_cuda &&
        ct_str_between(ct_str_from(s, (gsize)at + 9), "\"", "\"", &value)) {
        ct_emit_text(emit, line, NULL, "version.cuda.toolkit", value);
        st->in_cuda = FALSE;
    }
    return TRUE;
}

static void line(gpointer state, const CtLine *line, CtEmit *emit)
{
    State *st = state;
    CtStr s = ct_line_str(line);
    const char *command = ct_emit_command(emit);
    gint64 code;
    if (!s.n)
        return;
    st->lines++;
    if (st->python && ct_python_print_line(st->python, emit, line))
        return;
    if (command && strstr(command, "echo $?") && ct_str_uint(s, &code) && code < 256) {
        ct_emit_event(emit, line, (CtEventRow){.kind = "process-exit", .code = code,
                                               .has_code = TRUE,
                                               .severity = code ? CT_SEV_ERROR : CT_SEV_INFO});
        return;
    }
    if (command && (answer(emit, line, command) || toolkit_file(st, emit, line, command)))
        return;
    if (ct_env_known_line(emit, line)) {
        st->tool_lines++;
        return;
    }
    ct_scan_versions(emit, line, s, NULL);
}

static void finish(gpointer state, CtEmit *emit)
{
    State *st = state;
    /* Prose is a claim; the outputs of tools pasted without prompts are not. */
    if (!st->asked && st->tool_lines * 2 < st->lines)
        ct_emit_scope(emit, "claimed");
    ct_emit_coverage(emit, "versions", NULL);
    ct_python_print_free(st->python);
    g_free(st);
}

/* How many parts of a stack a line names with a version, without emitting anything. */
static guint named_parts(CtStr s)
{
    static const char *const words[] = {
        "cuda", "tensorrt", "cudnn", "driver", "jetpack", "l4t", "torch", "nccl", "onnxruntime",
        "deepstream", "triton", "tensorflow", "python", "kernel", "ubuntu", "gpu ", "nvidia ",
        "geforce", "polygraphy", "opencv", "jetson", "libnvinfer", "libcudnn", "onnx"};
    guint n = 0;
    for (gsize i = 0; i < G_N_ELEMENTS(words); i++) {
        gssize at = ct_str_ifind(s, words[i]);
        if (at < 0)
            continue;
        CtStr rest = ct_str_head(ct_str_from(s, (gsize)at), strlen(words[i]) + 28);
        /* "ProcessGroupNCCL.cpp:475" is a place in a source. */
        if (ct_str_starts(ct_str_from(rest, strlen(words[i])), ".cpp:") ||
            ct_str_starts(ct_str_from(rest, strlen(words[i])), ".cc:"))
            continue;
        for (gsize k = strlen(words[i]); k < rest.n; k++) {
            if (g_ascii_isdigit(rest.p[k])) {
                n++;
                break;
            }
        }
    }
    return n;
}

static gboolean tool_line(CtStr s)
{
    static const char *const starts[] = {"Cuda compilation tools", "NVRM version:", "# R3",
                                         "PRETTY_NAME=", "PyTorch version:", "NV Power Mode:",
                                         "CUDA Driver Version", "Description:\t",
                                         "NVIDIA Container Toolkit", "nvcc: NVIDIA",
                                         "CUDA used to build PyTorch", "Nvidia driver version"};
    for (gsize i = 0; i < G_N_ELEMENTS(starts); i++)
        if (ct_str_starts(s, starts[i]))
            return TRUE;
    return FALSE;
}

static gboolean log_like(const CtSniff *sniff)
{
    static const char *const words[] = {"Traceback", "ERROR", "WARN", "[TRT]", "[TensorRT]", "[I] ",
                                        "[E] ", "[W] ", "NCCL INFO", "INFO ", "Error:", "[info]",
                                        "Exception", "&&&& "};
    guint stamped = 0;
    for (gsize k = 0; k < G_N_ELEMENTS(words); k++)
        if (ct_sniff_has(sniff, words[k]))
            return TRUE;
    for (guint i = 0; i < sniff->n_lines; i++)
        stamped += sniff->lines[i].envelope != CT_ENVELOPE_NONE ||
                   sniff->lines[i].len < sniff->lines[i].raw_len;
    return stamped * 2 > sniff->n_lines;
}

static int sniff(const CtSniff *sniff)
{
    static const char *const programs[] = {
        "uname", "nvcc", "lsb_release", "hostnamectl", "echo", "printenv", "deviceQuery",
        "jetson_release", "python", "python3", "nvidia-ctk", "getprop"};
    guint named = 0, lines = 0, tools = 0;
    for (guint i = 0; i < sniff->n_lines; i++) {
        CtStr s = ct_sniff_line(sniff, i);
        if (!s.n)
            continue;
        lines++;
        tools += tool_line(s);
        named += MIN(named_parts(s), 3u) > 0 && s.n < 220;
    }
    if (!lines)
        return 0;
    if (tools)
        return 70;
    const char *c = sniff->command;
    if (c && (strstr(c, "nv_tegra_release") || strstr(c, "os-release") || strstr(c, "version") ||
              strstr(c, "VERSION") || strstr(c, "device-tree/model") ||
              strstr(c, "nvidia-gpu-driver-active")))
        return 60;
    for (gsize i = 0; i < G_N_ELEMENTS(programs); i++)
        if (ct_command_runs(c, programs[i]) && lines <= 60 &&
            (!g_str_has_prefix(programs[i], "python") || strstr(c, "print") || strstr(c, "-V") ||
             strstr(c, "collect_env")))
            return 55;
    if (c)
        return 0;
    /* Prose of a few lines, at least a third of which name a part with a number. */
    if (log_like(sniff))
        return 0;
    gboolean path = sniff->path && (strstr(sniff->path, "env") || strstr(sniff->path, "version") ||
                                    strstr(sniff->path, "system") || strstr(sniff->path, "setup"));
    if (named * 3 >= lines && named && lines < 40)
        return path || named >= 2 ? 50 : 30;
    return path && named && lines < 40 ? 40 : 0;
}

static void command_line(const char *command, const CtLine *line, CtEmit *emit)
{
    /* NAME=VALUE before the program, `export NAME=VALUE` */
    CtStr rest = ct_str_of(command);
    for (guint i = 0; i < 12; i++) {
        CtStr w = ct_str_token(&rest);
        if (ct_str_eq(w, "export") || ct_str_eq(w, "env") || ct_str_eq(w, "sudo"))
            continue;
        gsize n = 0;
        while (n < w.n && (g_ascii_isupper(w.p[n]) || g_ascii_isdigit(w.p[n]) || w.p[n] == '_'))
            n++;
        if (n < 2 || n >= w.n || w.p[n] != '=')
            break;
        CtLine part = ct_line_at(line->number, w.p, w.n);
        ct_env_variable_line(emit, &part, TRUE);
    }
}

const CtParser ct_parser_versions = {
    .id = "versions",
    .summary = "versions in any wording",
    .doc = "Environment descriptions as people type them, and the answers of nvcc, uname, "
           "nv_tegra_release, os-release, /proc/driver/nvidia/version, collect_env, deviceQuery, "
           "python -c print(torch...), echo $NAME: facts version.*, gpu.name, host.model, "
           "power.mode, env.*. Prose gets the scope claimed; a version that the text only talks "
           "about (\"exported with\", \"needs\") gets the subject mentioned.",
    .sniff = sniff,
    .begin = begin,
    .line = line,
    .finish = finish,
    .command = command_line,
};
