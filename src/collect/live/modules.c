/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel modules: which are loaded, what they were given, what the driver says of itself. */
#include <string.h>

#include "collect/live/live.h"

static void lsmod(CtLive *live)
{
    g_autofree char *text = NULL;
    CtStatus status = ct_live_read(live, "/proc/modules", CT_LIVE_MAX_FILE, &text, NULL);
    if (!text) {
        ct_live_missing(live, "/proc/modules", "lsmod", status, NULL);
        return;
    }
    g_auto(GStrv) rows = g_strsplit(text, "\n", 4000);
    ct_live_begin(live, "/proc/modules", "lsmod");
    ct_live_printf(live, "%-22s %9s  %s\n", "Module", "Size", "Used by");
    for (guint i = 0; rows[i]; i++) {
        g_auto(GStrv) w = g_strsplit(rows[i], " ", 8);
        if (g_strv_length(w) >= 4)
            ct_live_printf(live, "%-22s %9s  %s %s\n", w[0], w[1], w[2],
                           strcmp(w[3], "-") ? w[3] : "");
    }
    ct_live_end(live, status, NULL);
}

static void parameters(CtLive *live)
{
    static const char *const modules[] = {"nvidia", "nvidia_uvm", "nvidia_modeset", "nvidia_drm",
                                          "nouveau", "nvgpu", "nvmap", "nvidia_peermem", "gdrdrv",
                                          "nvidia_fs", "tegra_drm", "host1x"};
    ct_live_begin(live, "/sys/module", "grep -rsH . /sys/module/nvidia*/ /sys/module/nv*/");
    for (gsize i = 0; i < G_N_ELEMENTS(modules); i++) {
        static const char *const files[] = {"version", "srcversion", "initstate", "refcnt",
                                            "taint"};
        for (gsize k = 0; k < G_N_ELEMENTS(files); k++) {
            g_autofree char *path = g_strdup_printf("/sys/module/%s/%s", modules[i], files[k]);
            ct_live_value(live, NULL, path);
        }
        g_autofree char *pattern = g_strdup_printf("/sys/module/%s/parameters/*", modules[i]);
        g_autoptr(GPtrArray) all = ct_live_glob(live, pattern);
        for (guint k = 0; k < all->len; k++)
            ct_live_value(live, NULL, g_ptr_array_index(all, k));
    }
    ct_live_value(live, NULL, "/proc/sys/kernel/tainted");
    ct_live_value(live, NULL, "/proc/sys/kernel/modules_disabled");
    ct_live_end(live, CT_OK, NULL);
}

static void options(CtLive *live)
{
    g_autoptr(GPtrArray) files = ct_live_glob(live, "/etc/modprobe.d/*.conf");
    for (guint i = 0; i < files->len; i++) {
        g_autofree char *text = NULL;
        const char *path = g_ptr_array_index(files, i);
        ct_live_read(live, path, 65536, &text, NULL);
        if (text && (strstr(text, "nvidia") || strstr(text, "nouveau") || strstr(text, "nvgpu"))) {
            g_autofree char *command = g_strconcat("cat ", path, NULL);
            ct_live_text(live, path, command, text);
        }
    }
}

static void run(CtLive *live)
{
    lsmod(live);
    ct_live_file(live, "/proc/driver/nvidia/version", 0, FALSE);
    ct_live_file(live, "/sys/module/nvidia/version", 0, FALSE);
    ct_live_file(live, "/proc/driver/nvidia/params", 0, FALSE);
    g_autoptr(GPtrArray) gpus = ct_live_glob(live, "/proc/driver/nvidia/gpus/*/information");
    for (guint i = 0; i < gpus->len; i++)
        ct_live_file(live, g_ptr_array_index(gpus, i), 0, FALSE);
    parameters(live);
    options(live);
}

const CtCollector ct_collector_modules = {
    .id = "modules",
    .layer = "kernel-driver",
    .title = "kernel modules, their parameters and the driver's own words",
    .run = run,
};
