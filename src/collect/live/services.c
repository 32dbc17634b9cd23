/* SPDX-License-Identifier: Apache-2.0 */
/* Daemons of the GPU stack: units, sockets, pid files, running processes. */
#include <string.h>

#include "collect/live/live.h"

#define MAX_PROCESSES 20000u

static void units(CtLive *live)
{
    static const char *const argv[] = {
        "systemctl", "status", "--no-pager", "-n", "0", "nvidia-persistenced.service",
        "nvidia-fabricmanager.service", "nvidia-mps.service", "nvidia-dcgm.service",
        "dcgm.service", "nvidia-imex.service", "docker.service", "containerd.service",
        "nvpmodel.service", "nvfancontrol.service", "nvargus-daemon.service", "nv-tee-supplicant.service",
        NULL};
    if (!ct_live_sysroot(live) && ct_live_exists(live, "/run/systemd/system"))
        ct_live_run(live, argv, 131072);
}

static void marks(CtLive *live)
{
    static const char *const patterns[] = {
        "/run/nvidia-persistenced/*", "/run/nvidia-fabricmanager/*", "/var/run/nvidia-fabricmanager/*",
        "/run/nvidia-topologyd/*", "/tmp/nvidia-mps/control", "/tmp/nvidia-mps/nvidia-cuda-mps-control.pid",
        "/run/nvidia-imex/*", "/run/nvidia/*", "/usr/bin/nv-fabricmanager", "/usr/bin/nv-hostengine",
        "/usr/bin/nvidia-persistenced", "/usr/bin/nvidia-cuda-mps-control",
        "/lib/systemd/system/nvidia-*.service", "/etc/systemd/system/multi-user.target.wants/nv*",
        "/etc/systemd/system/multi-user.target.wants/dcgm*", "/usr/share/nvidia/nvswitch/*",
        "/usr/bin/nvidia-container-runtime", "/usr/bin/nvidia-ctk",
        "/proc/driver/nvidia-nvswitch/devices/*"};
    ct_live_begin(live, "marks of GPU daemons", "ls /run/nvidia*");
    for (gsize i = 0; i < G_N_ELEMENTS(patterns); i++) {
        g_autoptr(GPtrArray) all = ct_live_glob(live, patterns[i]);
        for (guint k = 0; k < all->len && k < 40; k++)
            ct_live_printf(live, "%s: exists\n", (char *)g_ptr_array_index(all, k));
    }
    ct_live_end(live, CT_OK, NULL);
}

/* The kernel cuts names at 15 characters. */
static void daemons(CtLive *live)
{
    static const char *const names[] = {
        "nvidia-persiste", "nv-fabricmanage", "nv-hostengine", "nvidia-cuda-mps", "nvidia-imex",
        "dcgm-exporter", "dockerd", "containerd", "nvidia-mps-serv", "nvargus-daemon", "tritonserver",
        "Xorg", "gnome-shell", "nvfancontrol", "tegrastats", "irqbalance", "jtop"};
    CtStatus status;
    g_autoptr(GPtrArray) all = ct_live_list(live, "/proc", &status);
    if (!all->len)
        return;
    ct_live_begin(live, "running daemons", "grep -sH . /proc/[0-9]*/comm");
    ct_live_printf(live, "/proc: %u entries\n", all->len);
    for (guint i = 0; i < all->len && i < MAX_PROCESSES; i++) {
        const char *pid = g_ptr_array_index(all, i);
        if (!g_ascii_isdigit(*pid))
            continue;
        g_autofree char *path = g_strdup_printf("/proc/%s/comm", pid);
        g_autofree char *comm = ct_live_line(live, path);
        for (gsize k = 0; comm && k < G_N_ELEMENTS(names); k++)
            if (strcmp(comm, names[k]) == 0)
                ct_live_printf(live, "%s: %s\n", path, comm);
    }
    ct_live_end(live, CT_OK, NULL);
}

/* What the daemons wrote to the system's log, of a copied tree; a running machine tells more. */
static void log_lines(CtLive *live)
{
    static const char *const files[] = {"/var/log/syslog", "/var/log/messages"};
    static const char *const words[] = {"fabricmanager", "nvidia-persistenced", "nv-hostengine",
                                        "nvidia-imex", "nvidia-cuda-mps"};
    g_autofree char *text = NULL;
    guint n = 0;
    for (gsize i = 0; i < G_N_ELEMENTS(files) && !text; i++)
        ct_live_read(live, files[i], 4 * CT_LIVE_MAX_FILE, &text, NULL);
    g_auto(GStrv) lines = text ? g_strsplit(text, "\n", 50000) : NULL;
    ct_live_begin(live, "messages of GPU daemons", "grep -s -e nvidia -e nv- /var/log/syslog");
    for (guint i = 0; lines && lines[i] && n < 400; i++)
        for (gsize k = 0; k < G_N_ELEMENTS(words); k++)
            if (strstr(lines[i], words[k])) {
                ct_live_printf(live, "%.1000s\n", lines[i]);
                n++;
                break;
            }
    ct_live_end(live, CT_OK, NULL);
}

static void run(CtLive *live)
{
    if (ct_live_sysroot(live))
        log_lines(live);
    ct_live_file(live, "/var/log/fabricmanager.log", 262144, FALSE);
    marks(live);
    daemons(live);
    units(live);
}

const CtCollector ct_collector_services = {
    .id = "services",
    .layer = "environment",
    .title = "fabric manager, persistence, MPS, DCGM and other daemons",
    .run = run,
};
