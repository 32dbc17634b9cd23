/* SPDX-License-Identifier: Apache-2.0 */
/* Lines that name a release: L4T, toolkit, kernel module, distribution, kernel, tools. */
#include <string.h>

#include "parse/env/known-lines.h"
#include "parse/env/version-scan.h"

static CtStr version_of(CtStr s)
{
    s = ct_str_strip(s);
    if (s.n && (s.p[0] == 'v' || s.p[0] == 'V'))
        s = ct_str_from(s, 1);
    return ct_str_head(s, ct_version_length(s));
}

/* "# R35 (release), REVISION: 4.1, GCID: 33958178, BOARD: t186ref, ..." */
static gboolean tegra_release(CtEmit *emit, const CtLine *line, CtStr s)
{
    CtStr major, minor, board;
    if (!ct_str_between(s, "R", " (release)", &major) ||
        !ct_str_between(s, "REVISION:", ",", &minor) || major.n > 3 || minor.n > 8)
        return FALSE;
    char version[24];
    g_snprintf(version, sizeof(version), "%.*s.%.*s", (int)major.n, major.p, (int)minor.n,
               minor.p);
    ct_emit_fact(emit, line, NULL, "version.l4t", version);
    ct_emit_fact(emit, line, NULL, "host.jetson", "yes");
    if (ct_str_between(s, "BOARD:", ",", &board) && board.n)
        ct_emit_text(emit, line, NULL, "host.board", board);
    return TRUE;
}

/* "Cuda compilation tools, release 11.4, V11.4.315" */
static gboolean nvcc(CtEmit *emit, const CtLine *line, CtStr s)
{
    gssize at = ct_str_find(s, "Cuda compilation tools, release ");
    if (at < 0)
        return FALSE;
    CtStr rest = ct_str_from(s, (gsize)at + 32), version = version_of(rest);
    gssize full = ct_str_find(rest, ", V");
    if (full > 0)
        version = version_of(ct_str_from(rest, (gsize)full + 3));
    if (version.n)
        ct_emit_text(emit, line, NULL, "version.cuda.toolkit", version);
    return version.n > 0;
}

/* "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.120  Fri Sep 13 ..." */
static gboolean nvrm(CtEmit *emit, const CtLine *line, CtStr s)
{
    if (!ct_str_starts(s, "NVRM version:"))
        return FALSE;
    gssize at = ct_str_find(s, "Kernel Module");
    CtStr rest = ct_str_from(s, at < 0 ? 13 : (gsize)at + 13);
    gboolean open = ct_str_has(s, "Open Kernel Module");
    for (CtStr w = ct_str_token(&rest); w.n; w = ct_str_token(&rest)) {
        CtStr version = version_of(w);
        if (version.n == w.n && memchr(w.p, '.', w.n)) {
            ct_emit_text(emit, line, NULL, "version.driver.kernel", version);
            break;
        }
    }
    ct_emit_fact(emit, line, NULL, "driver.flavour", open ? "open" : "proprietary");
    return TRUE;
}

static CtStr unquote(CtStr s)
{
    s = ct_str_strip(s);
    if (s.n > 1 && strchr("'\"", s.p[0]) && s.p[s.n - 1] == s.p[0])
        s = ct_str(s.p + 1, s.n - 2);
    return s;
}

static gboolean os_release(CtEmit *emit, const CtLine *line, CtStr s)
{
    static const struct {
        const char *word, *key;
    } keys[] = {
        {"PRETTY_NAME=", "version.os"},
        {"VERSION_ID=", "version.os-id"},
        {"DISTRIB_DESCRIPTION=", "version.os"},
        {"Description:\t", "version.os"},
        {"NAME=\"", "host.os-name"},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(keys); i++) {
        if (!ct_str_starts(s, keys[i].word))
            continue;
        gsize n = strlen(keys[i].word);
        CtStr value = unquote(ct_str_from(s, keys[i].word[n - 1] == '"' ? n - 1 : n));
        ct_emit_text(emit, line, NULL, keys[i].key, value);
        return TRUE;
    }
    return ct_str_starts(s, "VERSION=\"") || ct_str_starts(s, "VERSION_CODENAME=") ||
           ct_str_starts(s, "ID_LIKE=") || ct_str_starts(s, "DISTRIB_");
}

/* "Linux node 5.10.104-tegra #1 SMP PREEMPT ... aarch64 GNU/Linux" */
static gboolean uname(CtEmit *emit, const CtLine *line, CtStr s)
{
    static const char *const archs[] = {"x86_64", "aarch64", "armv7l", "arm64"};
    CtStr rest = s;
    if (!ct_str_eq(ct_str_token(&rest), "Linux"))
        return FALSE;
    ct_str_token(&rest);
    CtStr release = ct_str_token(&rest);
    if (!release.n || !g_ascii_isdigit(release.p[0]) || !memchr(release.p, '.', release.n) ||
        !ct_str_has(rest, "#"))
        return FALSE;
    ct_emit_text(emit, line, NULL, "version.kernel", release);
    if (ct_str_has(release, "-tegra"))
        ct_emit_fact(emit, line, NULL, "host.jetson", "yes");
    for (gsize i = 0; i < G_N_ELEMENTS(archs); i++) {
        if (ct_str_has(rest, archs[i])) {
            ct_emit_fact(emit, line, NULL, "host.arch", archs[i]);
            break;
        }
    }
    return TRUE;
}

/* Short forms: a fixed lead, then the version or the value. */
static gboolean lead(CtEmit *emit, const CtLine *line, CtStr s)
{
    static const struct {
        const char *lead, *key;
        gboolean version;
    } leads[] = {
        {"NVML library version:", "version.driver.user", TRUE},
        {"NV Power Mode:", "power.mode", FALSE},
        {"NVIDIA Container Toolkit CLI version", "version.container-toolkit", TRUE},
        {"NVIDIA Container Runtime version", "version.container-toolkit", TRUE},
        {"NVIDIA Container Runtime Hook version", "version.container-toolkit", TRUE},
        {"cli-version:", "version.container-toolkit", TRUE},
        {"lib-version:", "version.libnvidia-container", TRUE},
        {"Docker version", "version.docker", TRUE},
        {"Docker Compose version", "version.docker-compose", TRUE},
        {"NCCL version", "version.nccl", TRUE},
        {"Python ", "version.python", TRUE},
        {"nvpmodel version", "version.nvpmodel", TRUE},
        {"NVRM: loading", NULL, FALSE},
        {"nv-fabricmanager version is :", "version.fabricmanager", TRUE},
        {"Fabric Manager version is :", "version.fabricmanager", TRUE},
        {"DCGM version", "version.dcgm", TRUE},
        {"DeepStreamSDK ", "version.deepstream", TRUE},
        {"deepstream-app version", "version.deepstream", TRUE},
        {"CUDA Driver Version:", "version.cuda.driver", TRUE},
        {"CUDA Runtime Version:", "version.cuda.runtime", TRUE},
        {"TensorRT Version:", "version.tensorrt", TRUE},
        {"cuDNN Version:", "version.cudnn", TRUE},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(leads); i++) {
        if (!ct_str_starts(s, leads[i].lead) || !leads[i].key)
            continue;
        CtStr value = ct_str_strip(ct_str_from(s, strlen(leads[i].lead)));
        if (leads[i].version) {
            value = version_of(value);
            if (!value.n || !memchr(value.p, '.', value.n))
                return FALSE;
            ct_emit_version(emit, line, NULL, leads[i].key, value);
        } else {
            ct_emit_text(emit, line, NULL, leads[i].key, value);
        }
        return TRUE;
    }
    return FALSE;
}

gboolean ct_env_identity_line(CtEmit *emit, const CtLine *line)
{
    CtStr s = ct_line_str(line);
    if (tegra_release(emit, line, s) || nvcc(emit, line, s) || nvrm(emit, line, s) ||
        os_release(emit, line, s) || uname(emit, line, s) || lead(emit, line, s))
        return TRUE;
    if (s.n < 80 && ct_str_starts(s, "NVIDIA Jetson ")) { /* /proc/device-tree/model */
        CtStr model = ct_str_from(s, 7);
        ct_emit_text(emit, line, NULL, "host.model", model);
        ct_emit_fact(emit, line, NULL, "host.jetson", "yes");
        return TRUE;
    }
    if (ct_str_eq(s, "nvgpu-l4t") || ct_str_eq(s, "openrm-l4t")) {
        ct_emit_text(emit, line, NULL, "driver.flavour", s);
        ct_emit_fact(emit, line, NULL, "host.jetson", "yes");
        return TRUE;
    }
    return FALSE;
}

/* ---- deviceQuery of the CUDA samples ---- */

gboolean ct_env_device_query_line(CtEmit *emit, const CtLine *line)
{
    CtStr s = ct_line_str(line), rest, value, left;
    gint64 n;
    double number;
    if (ct_str_starts(s, "CUDA Driver Version / Runtime Version")) {
        rest = ct_str_strip(ct_str_from(s, 37));
        if (!ct_str_cut(&rest, "/", &left))
            return FALSE;
        ct_emit_text(emit, line, NULL, "version.cuda.driver", left);
        ct_emit_text(emit, line, NULL, "version.cuda.runtime", rest);
        return TRUE;
    }
    if (ct_str_starts(s, "deviceQuery, CUDA Driver = ")) {
        if (ct_str_between(s, "CUDA Driver Version = ", ",", &value))
            ct_emit_text(emit, line, NULL, "version.cuda.driver", value);
        if (ct_str_between(s, "CUDA Runtime Version = ", ",", &value))
            ct_emit_text(emit, line, NULL, "version.cuda.runtime", value);
        return TRUE;
    }
    if (ct_str_starts(s, "Detected ") && ct_str_between(s, "Detected ", " CUDA Capable", &value) &&
        ct_str_uint(value, &n)) {
        ct_emit_number(emit, line, NULL, "gpu.visible-count", (double)n, CT_STR_BUF(value));
        return TRUE;
    }
    if (ct_str_starts(s, "Device ") && ct_str_between(s, ": \"", "\"", &value)) {
        rest = ct_str_from(s, 7);
        if (ct_str_cut(&rest, ":", &left) && ct_str_uint(left, &n) && n < 4096) {
            char subject[24];
            g_snprintf(subject, sizeof(subject), "gpu:%d", (int)n);
            ct_emit_text(emit, line, subject, "gpu.name", value);
            return TRUE;
        }
    }
    if (ct_str_starts(s, "CUDA Capability Major/Minor version number:")) {
        ct_emit_text(emit, line, "gpu:0", "gpu.compute-capability", ct_str_from(s, 43));
        return TRUE;
    }
    if (ct_str_starts(s, "Total amount of global memory:")) {
        rest = ct_str_strip(ct_str_from(s, 30));
        if (ct_str_take_number(&rest, &number)) {
            char text[32];
            g_snprintf(text, sizeof(text), "%.0f MiB", number);
            ct_emit_number(emit, line, "gpu:0", "gpu.memory.total", number * 1048576, text);
        }
        return TRUE;
    }
    return FALSE;
}

/* ---- torch.utils.collect_env and the like: "Key: value" with keys that are known ---- */

gboolean ct_env_collect_env_line(CtEmit *emit, const CtLine *line)
{
    static const struct {
        const char *word, *key;
        gboolean version;
    } keys[] = {
        {"PyTorch version", "version.torch", TRUE},
        {"CUDA used to build PyTorch", "version.torch.cuda", TRUE},
        {"CUDA runtime version", "version.cuda.toolkit", TRUE},
        {"Nvidia driver version", "version.driver", TRUE},
        {"OS", "version.os", FALSE},
        {"Python version", "version.python", TRUE},
        {"GCC version", NULL, FALSE},
        {"Is CUDA available", "torch.cuda.available", FALSE},
        {"cuDNN version", "version.cudnn", TRUE},
        {"CUDA_MODULE_LOADING set to", "env.CUDA_MODULE_LOADING", FALSE},
        {"Is XNNPACK available", NULL, FALSE},
        {"vLLM Version", "version.vllm", TRUE},
        {"Libc version", NULL, FALSE},
    };
    CtStr s = ct_line_str(line), key, value;
    gint64 n;
    if (ct_str_starts(s, "[pip3] ") || ct_str_starts(s, "[pip] ")) {
        CtStr rest = ct_str_strip(ct_str_from(s, s.p[4] == '3' ? 7 : 6));
        gssize equals = ct_str_find(rest, "==");
        if (equals > 0)
            ct_emit_package(emit, line, "pip", ct_str_head(rest, (gsize)equals),
                            ct_str_from(rest, (gsize)equals + 2), CT_OK);
        return equals > 0;
    }
    if (!ct_str_key_value(s, &key, &value) || key.n > 40)
        return FALSE;
    for (gsize i = 0; i < G_N_ELEMENTS(keys); i++) {
        if (!ct_str_eq(key, keys[i].word))
            continue;
        if (!keys[i].key)
            return TRUE;
        if (!keys[i].version) {
            ct_emit_text(emit, line, NULL, keys[i].key, value);
            return TRUE;
        }
        CtStr version = version_of(value);
        char text[24];
        if (ct_str_uint(version, &n) && ct_version_of_int(keys[i].key, n, text))
            ct_emit_fact(emit, line, NULL, keys[i].key, text);
        else if (version.n)
            ct_emit_version(emit, line, NULL, keys[i].key, version);
        else
            ct_emit_fact_status(emit, line, NULL, keys[i].key, CT_ABSENT, CT_STR_BUF(value));
        return TRUE;
    }
    if (ct_str_starts(key, "GPU ") && ct_str_uint(ct_str_from(key, 4), &n) && n < 64 &&
        (ct_str_starts(value, "NVIDIA") || ct_str_starts(value, "GeForce") ||
         ct_str_starts(value, "Tesla") || ct_str_starts(value, "Quadro"))) {
        char subject[24];
        g_snprintf(subject, sizeof(subject), "gpu:%d", (int)n);
        ct_emit_text(emit, line, subject, "gpu.name", value);
        return TRUE;
    }
    return FALSE;
}
