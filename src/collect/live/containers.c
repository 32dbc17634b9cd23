/* SPDX-License-Identifier: Apache-2.0 */
/* Container engines: their settings, the NVIDIA runtime, what CDI specifications offer. */
#include <string.h>
#include <unistd.h>

#include "collect/live/live.h"

#define MAX_CDI ((gsize)4 * 1024 * 1024)

/* A specification lists hundreds of files; the lines that say which driver it was made for and
 * which devices it offers are enough. */
static void cdi(CtLive *live, const char *path)
{
    static const char *const words[] = {"libcuda.so.", "libnvidia-ml.so.", "hostPath: /dev/nvidia",
                                        "\"hostPath\"", "kind:", "\"kind\"", "cdiVersion",
                                        "path: /dev/", "\"path\": \"/dev/", "name:", "\"name\"",
                                        "libnvidia-ptxjitcompiler.so."};
    g_autofree char *text = NULL;
    CtStatus status = ct_live_read(live, path, MAX_CDI, &text, NULL);
    g_autofree char *command = g_strconcat("cat ", path, NULL);
    if (!text) {
        ct_live_missing(live, path, command, status, NULL);
        return;
    }
    g_auto(GStrv) lines = g_strsplit(text, "\n", 20000);
    ct_live_begin(live, path, command);
    for (guint i = 0; lines[i]; i++)
        for (gsize k = 0; k < G_N_ELEMENTS(words); k++)
            if (strstr(lines[i], words[k])) {
                ct_live_printf(live, "%s\n", lines[i]);
                break;
            }
    ct_live_end(live, status, NULL);
}

/* Of the engines below Kubernetes only the lines that say who sets the rules of devices, and only
 * where the engine knows NVIDIA's runtime. */
static void group_drivers(CtLive *live)
{
    static const char *const files[] = {"/etc/containerd/config.toml", "/etc/containerd/conf.d/*.toml",
                                        "/etc/crio/crio.conf", "/etc/crio/crio.conf.d/*"};
    ct_live_begin(live, "control groups of container engines",
                  "grep -sH -e SystemdCgroup -e cgroup_manager /etc/containerd/config.toml "
                  "/etc/crio/crio.conf");
    for (gsize i = 0; i < G_N_ELEMENTS(files); i++) {
        g_autoptr(GPtrArray) all = ct_live_glob(live, files[i]);
        for (guint k = 0; k < all->len; k++) {
            const char *path = g_ptr_array_index(all, k);
            g_autofree char *text = NULL;
            ct_live_read(live, path, CT_LIVE_MAX_FILE, &text, NULL);
            g_auto(GStrv) lines = text && strstr(text, "nvidia") ? g_strsplit(text, "\n", 5000) : NULL;
            for (guint m = 0; lines && lines[m]; m++) {
                const char *line = g_strstrip(lines[m]);
                if (g_str_has_prefix(line, "SystemdCgroup") || g_str_has_prefix(line, "cgroup_manager"))
                    ct_live_printf(live, "%s: %.200s\n", path, line);
            }
        }
    }
    ct_live_end(live, CT_OK, NULL);
}

static void run(CtLive *live)
{
    static const char *const patterns[] = {"/etc/cdi/*.yaml", "/etc/cdi/*.json", "/var/run/cdi/*.yaml",
                                           "/run/cdi/*.yaml", "/var/run/cdi/*.json"};
    static const char *const info[] = {"docker", "info", NULL};
    g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    ct_live_file(live, "/etc/docker/daemon.json", 0, FALSE);
    ct_live_file(live, "/etc/nvidia-container-runtime/config.toml", 0, FALSE);
    ct_live_file(live, "/etc/containers/containers.conf", 0, FALSE);
    group_drivers(live);
    for (gsize i = 0; i < G_N_ELEMENTS(patterns); i++) {
        g_autoptr(GPtrArray) all = ct_live_glob(live, patterns[i]);
        for (guint k = 0; k < all->len; k++) {
            char *real = ct_live_real(live, g_ptr_array_index(all, k));
            if (real && g_hash_table_add(seen, real))
                cdi(live, g_ptr_array_index(all, k));
        }
    }
    g_autoptr(GPtrArray) csv =
        ct_live_glob(live, "/etc/nvidia-container-runtime/host-files-for-container.d/*.csv");
    ct_live_begin(live, "/etc/nvidia-container-runtime/host-files-for-container.d",
                  "ls /etc/nvidia-container-runtime/host-files-for-container.d");
    for (guint i = 0; i < csv->len; i++)
        ct_live_printf(live, "%s\n", (char *)g_ptr_array_index(csv, i));
    ct_live_end(live, CT_OK, NULL);
    if (ct_live_sysroot(live) || !ct_live_exists(live, "/run/docker.sock"))
        return;
    if (access("/run/docker.sock", R_OK | W_OK) == 0)
        ct_live_run(live, info, 65536);
    else
        ct_live_missing(live, "docker info", "docker info", CT_DENIED,
                        "the engine is for root and the group docker");
}

const CtCollector ct_collector_containers = {
    .id = "containers",
    .layer = "container",
    .title = "container engines, the NVIDIA runtime, CDI",
    .run = run,
};
