/* SPDX-License-Identifier: Apache-2.0 */
/* Packages of the GPU stack: from dpkg's status file, Python's dist-info folders, toolkits. */
#include <string.h>

#include "collect/live/live.h"
#include "collect/live/sites.h"

#define MAX_STATUS ((gsize)64 * 1024 * 1024)
#define MAX_PYTHON 3000u

static gboolean wanted(const char *name)
{
    static const char *const parts[] = {"nvidia", "cuda", "cudnn", "nvinfer", "tensorrt", "nccl",
                                        "l4t", "jetpack", "tegra", "deepstream", "vpi", "nvpmodel"};
    static const char *const begins[] = {"libcu", "libnv", "libnpp", "docker", "containerd", "podman",
                                         "libopencv", "opencv", "linux-image", "linux-headers",
                                         "datacenter-gpu", "dkms", "python3-opencv", "gdrcopy",
                                         "python3.", "libonnx", "tritonserver", "libc6", "runc",
                                         "mlnx", "rdma-core", "nsight", "cutensor"};
    for (gsize i = 0; i < G_N_ELEMENTS(parts); i++)
        if (strstr(name, parts[i]))
            return TRUE;
    for (gsize i = 0; i < G_N_ELEMENTS(begins); i++)
        if (g_str_has_prefix(name, begins[i]))
            return TRUE;
    return FALSE;
}

/* Points behind "\nKEY: " within one paragraph and ends the value with NUL in a copy. */
static char *field(const char *paragraph, gsize len, const char *key)
{
    gsize n = strlen(key);
    for (const char *p = paragraph, *end = paragraph + len; p < end;) {
        const char *stop = memchr(p, '\n', (gsize)(end - p));
        stop = stop ? stop : end;
        if ((gsize)(stop - p) > n && strncmp(p, key, n) == 0)
            return g_strstrip(g_strndup(p + n, (gsize)(stop - p) - n));
        p = stop + 1;
    }
    return NULL;
}

/* "install ok installed" -> "ii", as dpkg -l abbreviates it. */
static void state_of(const char *status, char out[3])
{
    g_auto(GStrv) w = g_strsplit(status ? status : "", " ", 4);
    const char *want = w[0] ? w[0] : "unknown";
    const char *is = w[0] && w[1] && w[2] ? w[2] : "not-installed";
    out[0] = strcmp(want, "deinstall") == 0 ? 'r' : want[0];
    out[1] = strcmp(is, "installed") == 0        ? 'i'
             : strcmp(is, "config-files") == 0   ? 'c'
             : strcmp(is, "half-installed") == 0 ? 'H'
             : strcmp(is, "unpacked") == 0       ? 'U'
             : strcmp(is, "half-configured") == 0 ? 'F'
                                                  : 'n';
    out[2] = '\0';
}

static void dpkg_paragraph(CtLive *live, const char *text, gsize len)
{
    g_autofree char *name = field(text, len, "Package: ");
    if (!name || !wanted(name))
        return;
    g_autofree char *version = field(text, len, "Version: ");
    g_autofree char *arch = field(text, len, "Architecture: ");
    g_autofree char *status = field(text, len, "Status: ");
    char state[3];
    state_of(status, state);
    if (version)
        ct_live_printf(live, "%s  %s %s %s\n", state, name, version, arch ? arch : "");
}

static void dpkg(CtLive *live)
{
    g_autofree char *text = NULL;
    gsize len = 0;
    CtStatus status = ct_live_read(live, "/var/lib/dpkg/status", MAX_STATUS, &text, &len);
    if (!text) {
        if (status != CT_ABSENT)
            ct_live_missing(live, "/var/lib/dpkg/status", "dpkg -l", status, NULL);
        return;
    }
    ct_live_begin(live, "/var/lib/dpkg/status", "dpkg -l");
    for (const char *p = text, *end = text + len; p < end;) {
        const char *stop = g_strstr_len(p, end - p, "\n\n");
        stop = stop ? stop : end;
        dpkg_paragraph(live, p, (gsize)(stop - p));
        p = stop + 2;
    }
    ct_live_end(live, status, NULL);
}

static void rpm(CtLive *live)
{
    static const char *const argv[] = {"rpm", "-qa", NULL};
    if (!ct_live_sysroot(live) &&
        (ct_live_exists(live, "/var/lib/rpm") || ct_live_exists(live, "/usr/lib/sysimage/rpm")))
        ct_live_run(live, argv, CT_LIVE_MAX_FILE);
}

/* ---- Python ---- */

/* "torch-2.2.2+cu121.dist-info" -> "torch==2.2.2+cu121" */
static gboolean python_package(CtLive *live, const char *entry)
{
    static const char *const ends[] = {".dist-info", ".egg-info"};
    for (gsize i = 0; i < G_N_ELEMENTS(ends); i++) {
        if (!g_str_has_suffix(entry, ends[i]))
            continue;
        g_autofree char *name = g_strndup(entry, strlen(entry) - strlen(ends[i]));
        char *dash = strchr(name, '-');
        if (!dash || !g_ascii_isdigit(dash[1]))
            return FALSE;
        *dash++ = '\0';
        char *tag = strstr(dash, "-py");
        if (tag)
            *tag = '\0';
        for (char *p = name; *p; p++)
            if (*p == '_')
                *p = '-';
        ct_live_printf(live, "%s==%s\n", name, dash);
        return TRUE;
    }
    return FALSE;
}

/* Of which platform a package with compiled code is: the last tag of its WHEEL file. */
static void wheel(CtLive *live, const char *folder, const char *entry)
{
    static const char *const begins[] = {"torch", "onnxruntime", "tensorflow", "tensorrt", "nvidia_",
                                         "jax",   "cupy",        "triton",     "vllm",     "opencv",
                                         "pycuda", "flash_attn", "xformers",   "numpy",    "llama"};
    gboolean known = FALSE;
    for (gsize i = 0; i < G_N_ELEMENTS(begins); i++)
        known |= g_str_has_prefix(entry, begins[i]) != 0;
    if (!known || !g_str_has_suffix(entry, ".dist-info"))
        return;
    g_autofree char *path = g_build_filename(folder, entry, "WHEEL", NULL), *text = NULL;
    ct_live_read(live, path, 65536, &text, NULL);
    g_auto(GStrv) lines = text ? g_strsplit(text, "\n", 64) : NULL;
    for (guint i = 0; lines && lines[i]; i++)
        if (g_str_has_prefix(lines[i], "Tag: ")) {
            ct_live_printf(live, "%s:%s\n", path, g_strstrip(lines[i]));
            return;
        }
}

static void site(CtLive *live, const char *folder)
{
    static const char *const builds[] = {"torch/version.py", "tensorflow/python/platform/build_info.py",
                                         "onnxruntime/capi/build_and_package_info.py",
                                         "onnxruntime/capi/version_info.py", "cv2/version.py"};
    guint n = 0;
    g_autoptr(GPtrArray) names = ct_live_list(live, folder, NULL);
    g_autofree char *command = g_strdup_printf("pip freeze --path %s", folder);
    ct_live_begin(live, folder, command);
    for (guint i = 0; i < names->len && n < MAX_PYTHON; i++)
        n += python_package(live, g_ptr_array_index(names, i));
    ct_live_end(live, CT_OK, NULL);
    g_autofree char *title = g_strconcat("builds in ", folder, NULL);
    ct_live_begin(live, title, "grep -sH . torch/version.py");
    for (gsize i = 0; i < G_N_ELEMENTS(builds); i++) {
        g_autofree char *path = g_build_filename(folder, builds[i], NULL);
        ct_live_value(live, NULL, path);
    }
    for (guint i = 0; i < names->len && i < MAX_PYTHON; i++)
        wheel(live, folder, g_ptr_array_index(names, i));
    ct_live_end(live, CT_OK, NULL);
}

static void python(CtLive *live)
{
    g_autoptr(GPtrArray) sites = ct_live_python_sites(live);
    for (guint i = 0; i < sites->len; i++)
        site(live, g_ptr_array_index(sites, i));
}

/* ---- toolkits and releases that are files ---- */

static void toolkits(CtLive *live)
{
    static const char *const files[] = {"/usr/local/cuda*/version.json", "/usr/local/cuda*/version.txt",
                                        "/opt/nvidia/deepstream/deepstream*/version",
                                        "/opt/tritonserver/TRITON_VERSION",
                                        "/etc/nv_jetpack_release"};
    g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (gsize i = 0; i < G_N_ELEMENTS(files); i++) {
        g_autoptr(GPtrArray) all = ct_live_glob(live, files[i]);
        for (guint k = 0; k < all->len; k++) {
            char *real = ct_live_real(live, g_ptr_array_index(all, k));
            if (real && g_hash_table_add(seen, real))
                ct_live_file(live, real, 65536, FALSE);
        }
    }
    g_autofree char *current = ct_live_real(live, "/usr/local/cuda");
    if (current && strcmp(current, "/usr/local/cuda") != 0) {
        g_autofree char *text = g_strdup_printf("/usr/local/cuda -> %s\n", current);
        ct_live_text(live, "/usr/local/cuda", "readlink /usr/local/cuda", text);
    }
}

static void run(CtLive *live)
{
    dpkg(live);
    rpm(live);
    toolkits(live);
    python(live);
}

const CtCollector ct_collector_packages = {
    .id = "packages",
    .layer = "runtime-api",
    .title = "packages of the GPU stack: system, Python, toolkits",
    .run = run,
};
