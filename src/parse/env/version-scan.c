/* SPDX-License-Identifier: Apache-2.0 */
#include "parse/env/version-scan.h"

#include <string.h>

#include "parse/env/hardware-scan.h"

#define MAX_FACTS_PER_LINE 24

typedef struct {
    const char *name; /* lower case */
    const char *key;
    gboolean major_alone; /* "JetPack 6", "CUDA 12" */
} Part;

/* Longer names first: the first that fits is taken. */
static const Part parts[] = {
    {"nvidia container toolkit cli", "version.container-toolkit", FALSE},
    {"nvidia container toolkit", "version.container-toolkit", FALSE},
    {"nvidia-container-toolkit", "version.container-toolkit", FALSE},
    {"triton inference server", "version.triton", FALSE},
    {"nvidia display driver", "version.driver", FALSE},
    {"nvidia-tensorrt", "version.tensorrt", FALSE},
    {"nvidia gpu driver", "version.driver", FALSE},
    {"onnxruntime-gpu", "version.onnxruntime", FALSE},
    {"deepstream sdk", "version.deepstream", TRUE},
    {"fabric manager", "version.fabricmanager", FALSE},
    {"fabricmanager", "version.fabricmanager", FALSE},
    {"nvidia driver", "version.driver", FALSE},
    {"nvidia-driver", "version.driver", FALSE},
    {"gpu driver", "version.driver", FALSE},
    {"cuda driver", "version.cuda.driver", FALSE},
    {"cuda runtime", "version.cuda.runtime", FALSE},
    {"cuda toolkit", "version.cuda.toolkit", FALSE},
    {"tensorrt-llm", "version.tensorrt-llm", FALSE},
    {"tensorrt_llm", "version.tensorrt-llm", FALSE},
    {"onnx runtime", "version.onnxruntime", FALSE},
    {"onnxruntime", "version.onnxruntime", FALSE},
    {"tritonserver", "version.triton", FALSE},
    {"triton server", "version.triton", FALSE},
    {"tensorflow", "version.tensorflow", FALSE},
    {"transformers", "version.transformers", FALSE},
    {"torchvision", "version.torchvision", FALSE},
    {"ultralytics", "version.ultralytics", FALSE},
    {"deepstream", "version.deepstream", TRUE},
    {"polygraphy", "version.polygraphy", FALSE},
    {"linux kernel", "version.kernel", FALSE},
    {"tensorrt", "version.tensorrt", TRUE},
    {"pytorch", "version.torch", FALSE},
    {"jetpack", "version.jetpack", TRUE},
    {"opencv", "version.opencv", FALSE},
    {"docker", "version.docker", FALSE},
    {"kernel", "version.kernel", FALSE},
    {"python", "version.python", FALSE},
    {"driver", "version.driver", FALSE},
    {"cudart", "version.cuda.runtime", FALSE},
    {"ubuntu", "version.os", FALSE},
    {"debian", "version.os", TRUE},
    {"centos", "version.os", TRUE},
    {"cudnn", "version.cudnn", TRUE},
    {"torch", "version.torch", FALSE},
    {"numpy", "version.numpy", FALSE},
    {"nvcc", "version.cuda.toolkit", FALSE},
    {"nccl", "version.nccl", FALSE},
    {"cuda", "version.cuda.toolkit", TRUE},
    {"onnx", "version.onnx", FALSE},
    {"vllm", "version.vllm", FALSE},
    {"rhel", "version.os", TRUE},
    {"trt", "version.tensorrt", FALSE},
    {"l4t", "version.l4t", FALSE},
    {"r", NULL, FALSE},
};

/* ---- version numbers ---- */

gsize ct_version_length(CtStr s)
{
    gsize n = 0;
    while (n < s.n && g_ascii_isdigit(s.p[n]))
        n++;
    if (n == 0 || n > 8)
        return 0;
    while (n + 1 < s.n && s.p[n] == '.' && g_ascii_isdigit(s.p[n + 1]) && n < 40) {
        n++;
        while (n < s.n && g_ascii_isdigit(s.p[n]))
            n++;
    }
    /* a0, rc1, -1, +cu121, ~20.04, -tegra, -130-generic, nv24.04 */
    while (n + 1 < s.n && n < 60) {
        char c = s.p[n], d = s.p[n + 1];
        if (g_ascii_isalnum(c) || c == '_')
            n++;
        else if ((c == '+' || c == '~') && g_ascii_isalnum(d))
            n++;
        else if (c == '-' && (g_ascii_isdigit(d) || ct_str_starts(ct_str_from(s, n), "-tegra") ||
                              ct_str_starts(ct_str_from(s, n), "-generic") ||
                              ct_str_starts(ct_str_from(s, n), "-b1")))
            n++;
        else if (c == '.' && g_ascii_isalnum(d) && memchr(s.p, '+', n))
            n++;
        else if (c == '.' && g_ascii_isdigit(d))
            n++;
        else
            break;
    }
    if (n + 1 == s.n && g_ascii_isalnum(s.p[n]))
        n++;
    return n;
}

gboolean ct_version_of_int(const char *key, gint64 n, char out[24])
{
    if (n < 1000 || n > 9999999)
        return FALSE;
    int v = (int)n;
    if (strcmp(key, "version.cudnn") == 0 || strcmp(key, "version.tensorrt") == 0 ||
        strcmp(key, "version.nccl") == 0) {
        /* major*10000 from cuDNN 9, TensorRT 10 and NCCL 2.9 on, major*1000 before */
        if (v >= 20000 || (v >= 10000 && strcmp(key, "version.tensorrt") == 0))
            g_snprintf(out, 24, "%d.%d.%d", v / 10000, v / 100 % 100, v % 100);
        else
            g_snprintf(out, 24, "%d.%d.%d", v / 1000, v / 100 % 10, v % 100);
        return TRUE;
    }
    if (g_str_has_prefix(key, "version.cuda")) {
        if (v < 7000 || v > 99990)
            return FALSE;
        g_snprintf(out, 24, "%d.%d", v / 1000, v / 10 % 100);
        return TRUE;
    }
    return FALSE;
}

/* "+cu121" -> 12.1, "+cuda11.8" -> 11.8 */
static gboolean cuda_of_suffix(CtStr version, char out[24])
{
    gssize at = ct_str_find(version, "+cu");
    if (at < 0)
        return FALSE;
    CtStr rest = ct_str_from(version, (gsize)at + 3);
    if (ct_str_starts(rest, "da")) {
        rest = ct_str_from(rest, 2);
        gsize n = 0;
        while (n < rest.n && (g_ascii_isdigit(rest.p[n]) || rest.p[n] == '.') && n < 12)
            n++;
        if (!n || !memchr(rest.p, '.', n))
            return FALSE;
        ct_str_buf(ct_str_head(rest, n), out, 24);
        return TRUE;
    }
    gsize n = 0;
    while (n < rest.n && g_ascii_isdigit(rest.p[n]) && n < 4)
        n++;
    if (n < 2 || n > 3)
        return FALSE;
    g_snprintf(out, 24, "%.*s.%c", (int)n - 1, rest.p, rest.p[n - 1]);
    return TRUE;
}

void ct_emit_version(CtEmit *emit, const CtLine *line, const char *subject, const char *key,
                     CtStr version)
{
    char cuda[24];
    ct_emit_fact(emit, line, subject, key, CT_STR_BUF(version));
    if (strcmp(key, "version.l4t") == 0 || strcmp(key, "version.jetpack") == 0)
        ct_emit_fact(emit, line, NULL, "host.jetson", "yes");
    static const char *const built[][2] = {
        {"version.torch", "version.torch.cuda"},
        {"version.tensorrt", "version.tensorrt.cuda"},
        {"version.cudnn", "version.cudnn.cuda"},
        {"version.nccl", "version.nccl.cuda"},
        {"version.torchvision", "version.torchvision.cuda"},
    };
    if (!cuda_of_suffix(version, cuda))
        return;
    for (gsize i = 0; i < G_N_ELEMENTS(built); i++)
        if (strcmp(built[i][0], key) == 0)
            ct_emit_fact(emit, line, subject, built[i][1], cuda);
}

/* ---- packages ---- */

const char *ct_version_key_of_package(CtStr name)
{
    static const struct {
        const char *name, *key;
        gboolean prefix;
    } packages[] = {
        {"nvidia-l4t-core", "version.l4t", FALSE},
        {"nvidia-jetpack", "version.jetpack", FALSE},
        {"libnvinfer-bin", "version.tensorrt", FALSE},
        {"libnvinfer", "version.tensorrt", TRUE}, /* libnvinfer8, libnvinfer10 */
        {"tensorrt", "version.tensorrt", FALSE},
        {"nvidia-tensorrt", "version.tensorrt", FALSE},
        {"tensorrt-cu", "version.tensorrt", TRUE},
        {"libcudnn", "version.cudnn", TRUE},
        {"cudnn", "version.cudnn", FALSE},
        {"nvidia-cudnn-cu", "version.cudnn", TRUE},
        {"libnccl", "version.nccl", TRUE},
        {"nvidia-nccl-cu", "version.nccl", TRUE},
        {"nvidia-cuda-runtime", "version.cuda.runtime", TRUE},
        {"cuda-cudart-1", "version.cuda.runtime", TRUE},
        {"torch", "version.torch", FALSE},
        {"pytorch", "version.torch", FALSE},
        {"torchvision", "version.torchvision", FALSE},
        {"tensorflow", "version.tensorflow", FALSE},
        {"tensorflow-gpu", "version.tensorflow", FALSE},
        {"onnxruntime", "version.onnxruntime", FALSE},
        {"onnxruntime-gpu", "version.onnxruntime", FALSE},
        {"deepstream-", "version.deepstream", TRUE},
        {"opencv-python", "version.opencv", TRUE},
        {"libopencv", "version.opencv", FALSE},
        {"nvidia-container-toolkit", "version.container-toolkit", FALSE},
        {"nvidia-fabricmanager-", "version.fabricmanager", TRUE},
        {"nvidia-fabricmanager", "version.fabricmanager", FALSE},
        {"nvidia-fabric-manager", "version.fabricmanager", FALSE},
        {"libnvidia-compute-", "version.driver.user", TRUE},
        {"nvidia-driver-libs", "version.driver.user", FALSE},
        {"nvidia-dkms-", "version.driver", TRUE},
        {"nvidia-driver-", "version.driver", TRUE},
        {"cuda-drivers", "version.driver", TRUE},
        {"numpy", "version.numpy", FALSE},
        {"onnx", "version.onnx", FALSE},
    };
    gssize colon = ct_str_find(name, ":"); /* libnvidia-compute-550:amd64 */
    if (colon > 0)
        name = ct_str_head(name, (gsize)colon);
    for (gsize i = 0; i < G_N_ELEMENTS(packages); i++) {
        if (!packages[i].prefix) {
            if (ct_str_ieq(name, packages[i].name))
                return packages[i].key;
            continue;
        }
        gsize n = strlen(packages[i].name);
        /* What follows a prefix is a number: libnvinfer8, not libnvinfer-plugin8. */
        if (ct_str_istarts(name, packages[i].name) && name.n > n &&
            (g_ascii_isdigit(name.p[n]) ||
             (g_str_has_suffix(packages[i].name, "runtime") || packages[i].name[0] == 'o')) &&
            !ct_str_has(ct_str_from(name, n), "dev"))
            return packages[i].key;
    }
    return NULL;
}

/* ---- running text ---- */

static gboolean word_start(CtStr s, gsize i)
{
    char before = i ? s.p[i - 1] : ' ';
    return !g_ascii_isalnum(before) && before != '_' && before != '/' && before != '-' &&
           before != '.' && before != '@' && before != '$';
}

static const Part *part_at(CtStr s)
{
    for (gsize i = 0; i < G_N_ELEMENTS(parts) && parts[i].key; i++) {
        if (!ct_str_istarts(s, parts[i].name))
            continue;
        gsize n = strlen(parts[i].name);
        if (n < s.n && (g_ascii_isalpha(s.p[n]) || s.p[n] == '_' || s.p[n] == '/'))
            continue;
        return &parts[i];
    }
    return NULL;
}

/* What may stand between a name and its version: blanks, ':', '=', "v", "version", "(nvcc)". */
static gsize skip_link(CtStr s)
{
    static const char *const words[] = {"version", "ver.", "ver", "release", "sdk", "is", "ga",
                                        "runtime", "library", "toolkit", "lib"};
    gsize i = 0;
    for (guint round = 0; round < 6; round++) {
        gsize start = i;
        while (i < s.n && i < 60 && strchr(" \t:=|-@", s.p[i]))
            i++;
        CtStr rest = ct_str_from(s, i);
        if (rest.n && rest.p[0] == '(') { /* "(nvcc)", but not "(L4T 35.4.1)" */
            CtStr inside;
            if (ct_str_between(rest, "(", ")", &inside) && inside.n < 12 &&
                !memchr(inside.p, ' ', inside.n) && !g_ascii_isdigit(inside.p[0]))
                i += (gsize)ct_str_find(rest, ")") + 1;
        }
        for (gsize k = 0; k < G_N_ELEMENTS(words); k++) {
            gsize n = strlen(words[k]);
            rest = ct_str_from(s, i);
            if (ct_str_istarts(rest, words[k]) && (rest.n == n || !g_ascii_isalnum(rest.p[n]))) {
                i += n;
                break;
            }
        }
        if (i == start)
            break;
    }
    if (i + 1 < s.n && strchr("vVrR", s.p[i]) && g_ascii_isdigit(s.p[i + 1]))
        i++;
    return i;
}

static gboolean plausible(const Part *part, CtStr version, CtStr between)
{
    gint64 major;
    CtStr rest = version;
    gsize n = 0;
    while (n < version.n && g_ascii_isdigit(version.p[n]))
        n++;
    if (!ct_str_uint(ct_str_head(rest, n), &major))
        return FALSE;
    gboolean dotted = n < version.n && version.p[n] == '.';
    if (strcmp(part->key, "version.driver") == 0)
        return dotted && major >= 300 && major < 1000;
    if (strcmp(part->key, "version.python") == 0)
        return dotted && (major == 2 || major == 3); /* "mAP python 0.51" is a score */
    if (strcmp(part->key, "version.kernel") == 0)
        return dotted && major >= 2 && major < 20 && memchr(version.p, '.', version.n);
    if (!dotted && (!part->major_alone || n != version.n || memchr(between.p, '-', between.n)))
        return FALSE;
    if (g_str_has_prefix(part->key, "version.cuda"))
        return major >= 6 && major < 20;
    if (strcmp(part->key, "version.jetpack") == 0)
        return major >= 2 && major < 12;
    if (strcmp(part->key, "version.l4t") == 0)
        return major >= 19 && major < 60;
    return dotted ? major < 100 : major < 40;
}

/* The text talks about another place or a demand, not about what is here. */
static gboolean only_mentioned(CtStr before, CtStr after)
{
    static const char *const earlier[] = {
        "built with", "built in", "built on", "built for", "built by", "build with", "exported",
        "export with", "previous", "before:", "was ", "were ", "require", "need", "expect",
        "at least", "compiled with", "compiled for", "compiled against", "worked", "linked against",
        "older than", "newer than", "minimum", "supports", "instead of", "upgrade to", "upgraded from",
        "downgrade", "trained", ">= ", ">=", "<= ", "not ", "from "};
    static const char *const later[] = {"for the export", "for export", "(export", "or newer",
                                        "or later", "or higher", "is required", "and newer",
                                        "for training", "for the training"};
    /* Within the same clause only. */
    for (gsize i = before.n; i > 0; i--) {
        if (strchr(",;|", before.p[i - 1])) {
            before = ct_str_from(before, i);
            break;
        }
    }
    after = ct_str_head(after, 24);
    for (gsize i = 0; i < G_N_ELEMENTS(earlier); i++)
        if (ct_str_ifind(before, earlier[i]) >= 0)
            return TRUE;
    for (gsize i = 0; i < G_N_ELEMENTS(later); i++)
        if (ct_str_ifind(after, later[i]) >= 0)
            return TRUE;
    return FALSE;
}

static gboolean first_time(GHashTable *seen, const char *subject, const char *key, CtStr value)
{
    if (!seen)
        return TRUE;
    g_autofree char *id = g_strdup_printf("%s|%s|%.*s", subject ? subject : "", key,
                                          (int)MIN(value.n, (gsize)80), value.p);
    if (g_hash_table_contains(seen, id) || g_hash_table_size(seen) > 4096)
        return FALSE;
    g_hash_table_add(seen, g_steal_pointer(&id));
    return TRUE;
}

/* "driver 13000 runtime 13000": what cudaDriverGetVersion and its sister return. */
static gboolean driver_and_runtime(CtEmit *emit, const CtLine *line, CtStr s)
{
    gssize at = ct_str_find(s, "driver ");
    char text[24];
    gint64 driver, runtime;
    if (at < 0)
        return FALSE;
    CtStr rest = ct_str_from(s, (gsize)at + 7);
    CtStr a = ct_str_token(&rest), word = ct_str_token(&rest), b = ct_str_token(&rest);
    if (!ct_str_uint(a, &driver) || !ct_str_eq(word, "runtime") || !ct_str_uint(b, &runtime))
        return FALSE;
    if (ct_version_of_int("version.cuda.driver", driver, text))
        ct_emit_fact(emit, line, NULL, "version.cuda.driver", text);
    if (ct_version_of_int("version.cuda.runtime", runtime, text))
        ct_emit_fact(emit, line, NULL, "version.cuda.runtime", text);
    return TRUE;
}

/* "image before: CUDA 10.2, torch 1.5.1": the label holds for the whole line. */
static gboolean label_of_the_past(CtStr s)
{
    static const char *const words[] = {"before", "previous", "earlier", "old ", "working"};
    CtStr label;
    CtStr rest = ct_str_head(s, 48);
    if (!ct_str_cut(&rest, ":", &label) && !ct_str_cut(&rest, "  ", &label))
        return FALSE;
    for (gsize i = 0; i < G_N_ELEMENTS(words); i++)
        if (ct_str_ifind(label, words[i]) >= 0)
            return TRUE;
    return FALSE;
}

gboolean ct_scan_versions(CtEmit *emit, const CtLine *line, CtStr text, GHashTable *seen)
{
    CtStr s = ct_str_head(text, 2000);
    gboolean past = label_of_the_past(s);
    guint found = 0;
    for (gsize i = 0; i < s.n && found < MAX_FACTS_PER_LINE; i++) {
        if (!g_ascii_isalpha(s.p[i]) || !word_start(s, i))
            continue;
        CtStr here = ct_str_from(s, i);
        const Part *part = part_at(here);
        if (!part)
            continue;
        CtStr rest = ct_str_from(here, strlen(part->name));
        gsize skip = skip_link(rest);
        CtStr version = ct_str_from(rest, skip);
        version = ct_str_head(version, ct_version_length(version));
        if (!version.n || !plausible(part, version, ct_str_head(rest, skip)))
            continue;
        CtStr after = ct_str_from(rest, skip + version.n);
        gboolean aside = past || only_mentioned(ct_str_head(s, i), after);
        const char *subject = aside ? "mentioned" : NULL;
        if (first_time(seen, subject, part->key, version)) {
            if (strcmp(part->key, "version.os") == 0) {
                g_autofree char *os = g_strdup_printf("%c%s %.*s", g_ascii_toupper(part->name[0]),
                                                      part->name + 1, (int)version.n, version.p);
                ct_emit_fact(emit, line, subject, part->key, os);
            } else {
                ct_emit_version(emit, line, subject, part->key, version);
            }
        }
        found++;
        i += strlen(part->name) + skip + version.n - 1;
    }
    if (ct_str_has(s, "runtime") && driver_and_runtime(emit, line, s))
        found++;
    if (ct_scan_hardware(emit, line, s, seen))
        found++;
    return found > 0;
}
