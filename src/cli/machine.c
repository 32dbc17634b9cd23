/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/machine.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#define HEAD_BYTES 4096

/* The beginning of a small file of /proc, /etc or the device tree; NULL when it cannot be read. */
static char *head_of(const char *root, const char *path)
{
    g_autofree char *full = g_strconcat(root, path, NULL);
    int fd = open(full, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return NULL;
    char *text = g_malloc0(HEAD_BYTES + 1);
    ssize_t n = read(fd, text, HEAD_BYTES);
    close(fd);
    if (n <= 0) {
        g_free(text);
        return NULL;
    }
    char *valid = g_utf8_make_valid(text, -1);
    g_free(text);
    return g_strchomp(valid);
}

static gboolean there(const char *root, const char *path)
{
    g_autofree char *full = g_strconcat(root, path, NULL);
    return access(full, F_OK) == 0;
}

/* What follows `key` on its line, without blanks around it. */
static char *value_after(const char *text, const char *key)
{
    const char *p = text ? strstr(text, key) : NULL;
    if (!p)
        return NULL;
    p += strlen(key);
    return g_strstrip(g_strndup(p, strcspn(p, "\n")));
}

/* "535.161.08" out of "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.161.08  Sat ...". */
static char *driver_release(const char *text)
{
    g_auto(GStrv) words = text ? g_strsplit_set(text, " \n\t", 80) : NULL;
    for (guint i = 0; words && words[i]; i++) {
        const char *dot = strchr(words[i], '.');
        if (dot && g_ascii_isdigit(words[i][0]) && strspn(words[i], "0123456789.") == strlen(words[i]))
            return g_strdup(words[i]);
    }
    return NULL;
}

/* "2x NVIDIA A100 80GB PCIe", from the driver's own listing. */
static char *gpu_names(const char *root)
{
    g_autofree char *folder = g_strconcat(root, "/proc/driver/nvidia/gpus", NULL);
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    g_autofree char *first = NULL;
    gboolean mixed = FALSE;
    guint n = 0;
    const char *name;
    while (dir && (name = g_dir_read_name(dir)) && n < 256) {
        g_autofree char *path = g_strdup_printf("/proc/driver/nvidia/gpus/%s/information", name);
        g_autofree char *text = head_of(root, path);
        g_autofree char *model = value_after(text, "Model:");
        n++;
        if (!model)
            continue;
        if (!first)
            first = g_steal_pointer(&model);
        else
            mixed = mixed || !g_str_equal(first, model);
    }
    if (!n)
        return NULL;
    return g_strdup_printf("%ux %s%s", n, first ? first : "GPU of unknown model",
                           mixed ? " and others" : "");
}

static guint count_nodes(const char *root, const char *prefix)
{
    g_autofree char *folder = g_strconcat(root, "/dev", NULL);
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    const char *name;
    guint n = 0;
    while (dir && (name = g_dir_read_name(dir)))
        if (g_str_has_prefix(name, prefix) && g_ascii_isdigit(name[strlen(prefix)]))
            n++;
    return n;
}

/* "R36.3.0" out of "# R36 (release), REVISION: 3.0, GCID: ...". */
static char *l4t_release(const char *root)
{
    g_autofree char *text = head_of(root, "/etc/nv_tegra_release");
    g_autofree char *revision = value_after(text, "REVISION:");
    if (!text || !revision || strncmp(text, "# R", 3) != 0)
        return NULL;
    revision[strcspn(revision, ",")] = 0;
    return g_strdup_printf("R%.*s.%s", (int)strspn(text + 3, "0123456789"), text + 3, revision);
}

static void gpu_line(GString *out, const char *root)
{
    g_autofree char *board = head_of(root, "/proc/device-tree/model");
    g_autofree char *l4t = l4t_release(root);
    g_autofree char *names = gpu_names(root);
    guint nodes = count_nodes(root, "nvidia");
    g_string_append(out, "GPU      ");
    if (l4t)
        g_string_append_printf(out, "integrated, of %s", board ? board : "a Jetson board");
    else if (names)
        g_string_append_printf(out, "%s, %u of them as /dev/nvidia*", names, nodes);
    else if (nodes)
        g_string_append_printf(out, "%u device nodes, the driver lists no GPU", nodes);
    else
        g_string_append(out, "none seen: no /proc/driver/nvidia/gpus, no /dev/nvidia0");
    g_string_append_c(out, '\n');
}

static void driver_line(GString *out, const char *root)
{
    g_autofree char *l4t = l4t_release(root);
    g_autofree char *text = head_of(root, "/proc/driver/nvidia/version");
    g_autofree char *release = driver_release(text);
    g_string_append(out, "Driver   ");
    if (l4t)
        g_string_append_printf(out, "L4T %s", l4t);
    if (release)
        g_string_append_printf(out, "%skernel module %s%s", l4t ? ", " : "", release,
                               text && strstr(text, "Open Kernel") ? " (open)" : "");
    if (!l4t && !release)
        g_string_append(out, there(root, "/sys/module/nouveau")
                                 ? "nouveau is loaded, NVIDIA's module is not"
                                 : "NVIDIA kernel module not loaded");
    if (!l4t && release && !there(root, "/dev/nvidia-uvm"))
        g_string_append(out, "; /dev/nvidia-uvm is missing");
    g_string_append_c(out, '\n');
}

static void system_line(GString *out, const char *root)
{
    struct utsname u;
    g_autofree char *os = head_of(root, "/etc/os-release");
    g_autofree char *pretty = value_after(os, "PRETTY_NAME=");
    g_autofree char *release = head_of(root, "/proc/sys/kernel/osrelease");
    g_string_append(out, "System   ");
    if (pretty)
        g_string_append_printf(out, "%s, ", g_strstrip(g_strdelimit(pretty, "\"", ' ')));
    gboolean known = uname(&u) == 0;
    g_string_append_printf(out, "kernel %s", release ? release : known ? u.release : "unknown");
    if (known)
        g_string_append_printf(out, " %s", u.machine);
    g_string_append_c(out, '\n');
}

static void memory_line(GString *out, const char *root)
{
    g_autofree char *text = head_of(root, "/proc/meminfo");
    g_autofree char *total = value_after(text, "MemTotal:");
    g_autofree char *available = value_after(text, "MemAvailable:");
    g_autofree char *swap = value_after(text, "SwapTotal:");
    g_autofree char *swap_free = value_after(text, "SwapFree:");
    g_string_append(out, "Memory   ");
    if (!total || !available || !g_ascii_isdigit(*total) || !g_ascii_isdigit(*available)) {
        g_string_append(out, "unknown: /proc/meminfo cannot be read\n");
        return;
    }
    double gib = 1024.0 * 1024.0;
    g_string_append_printf(out, "%.1f of %.1f GiB available", g_ascii_strtod(available, NULL) / gib,
                           g_ascii_strtod(total, NULL) / gib);
    double used = swap && swap_free
                      ? g_ascii_strtod(swap, NULL) - g_ascii_strtod(swap_free, NULL)
                      : 0;
    if (used > 0)
        g_string_append_printf(out, ", %.1f GiB of swap in use", used / gib);
    g_string_append_c(out, '\n');
}

static const char *container_kind(const char *root)
{
    g_autofree char *cgroup = head_of(root, "/proc/1/cgroup");
    if (there(root, "/run/.containerenv"))
        return "podman";
    if (there(root, "/var/run/secrets/kubernetes.io"))
        return "Kubernetes";
    if (there(root, "/.dockerenv") || (cgroup && strstr(cgroup, "docker")))
        return "docker";
    if (cgroup && strstr(cgroup, "kubepods"))
        return "Kubernetes";
    if (cgroup && strstr(cgroup, "lxc"))
        return "lxc";
    return NULL;
}

/* Where the program stands, and what it cannot see from there. */
static void place_line(GString *out, const char *root)
{
    const char *container = container_kind(root);
    g_autofree char *kmsg = g_strconcat(root, "/dev/kmsg", NULL);
    g_autofree char *restricted = head_of(root, "/proc/sys/kernel/dmesg_restrict");
    gboolean log_hidden = access(kmsg, R_OK) != 0 ||
                          (g_strcmp0(restricted, "0") != 0 && geteuid() != 0);
    g_string_append_printf(out, "Place    %s%s%s%s\n",
                           container ? "inside a container: " : "the host itself",
                           container ? container : "",
                           log_hidden ? "; the kernel log is not readable from here" : "",
                           container ? "; the host's packages are not seen" : "");
}

char *ct_machine_state(const char *root)
{
    GString *out = g_string_new(NULL);
    gpu_line(out, root);
    driver_line(out, root);
    system_line(out, root);
    memory_line(out, root);
    place_line(out, root);
    return g_string_free(out, FALSE);
}
