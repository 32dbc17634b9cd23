/* SPDX-License-Identifier: Apache-2.0 */
/* Device nodes with modes and owners, as `ls -l` prints them; nothing is opened. */
#include <grp.h>
#include <pwd.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "collect/live/live.h"

static const char *const patterns[] = {
    "/dev/nvidia*",       "/dev/nvidia-caps/*",    "/dev/nvidia-caps-imex-channels/*",
    "/dev/nvswitch*",     "/dev/nvhost*",          "/dev/nvmap*",
    "/dev/nvgpu/*/*",     "/dev/nvsciipc",         "/dev/host1x-fence",
    "/dev/dri/*",         "/dev/dxg",              "/dev/infiniband/uverbs*",
    "/dev/gdrdrv",        "/dev/v4l2-nv*",         "/dev/tegra*",
    "/dev/fb0",
};

static void rights(mode_t mode, char out[11])
{
    static const char letters[] = "rwxrwxrwx";
    out[0] = S_ISCHR(mode) ? 'c' : S_ISBLK(mode) ? 'b' : S_ISLNK(mode) ? 'l' : '-';
    for (int i = 0; i < 9; i++)
        out[i + 1] = mode & (0400 >> i) ? letters[i] : '-';
    out[10] = '\0';
}

/* Names of owners are those of the machine that runs us, so a copied tree has numbers. */
static void row(CtLive *live, const char *path, const struct stat *st)
{
    char mode[11], date[32] = "1970-01-01 00:00";
    gboolean here = !ct_live_sysroot(live);
    const struct passwd *pw = here ? getpwuid(st->st_uid) : NULL;
    const struct group *gr = here ? getgrgid(st->st_gid) : NULL;
    struct tm tm;
    rights(st->st_mode, mode);
    if (S_ISREG(st->st_mode))
        mode[0] = 'c'; /* what stands for a node in a copied tree */
    g_autofree char *owner = pw ? g_strdup(pw->pw_name) : g_strdup_printf("%u", st->st_uid);
    g_autofree char *group = gr ? g_strdup(gr->gr_name) : g_strdup_printf("%u", st->st_gid);
    if (gmtime_r(&st->st_mtim.tv_sec, &tm))
        strftime(date, sizeof(date), "%Y-%m-%d %H:%M", &tm);
    ct_live_printf(live, "%s 1 %s %s %u, %u %s %s\n", mode, owner, group, major(st->st_rdev),
                   minor(st->st_rdev), date, path);
}

static guint node(CtLive *live, const char *path, GString *access_text)
{
    struct stat st;
    if (ct_live_stat(live, path, &st) != 0 || S_ISDIR(st.st_mode))
        return 0;
    if (!S_ISCHR(st.st_mode) && !S_ISBLK(st.st_mode)) {
        /* A copied tree holds a plain file where the node was. Its mode is that of the copy, unless
         * it is closed to all but its owner: no copy makes it so. */
        if (!ct_live_sysroot(live))
            return 0;
        if (st.st_mode & (S_IRWXG | S_IRWXO))
            ct_live_printf(live, "%s\n", path);
        else
            row(live, path, &st);
        return 1;
    }
    row(live, path, &st);
    if (!ct_live_sysroot(live))
        g_string_append_printf(access_text, "%s: %s\n", path,
                               access(path, R_OK | W_OK) == 0 ? "access rw" : "access denied");
    return 1;
}

static gboolean nvidia_on_pci(CtLive *live)
{
    g_autoptr(GPtrArray) all = ct_live_glob(live, "/sys/bus/pci/devices/*/vendor");
    for (guint i = 0; i < all->len; i++) {
        g_autofree char *vendor = ct_live_line(live, g_ptr_array_index(all, i));
        g_autofree char *class_path = g_strdup(g_ptr_array_index(all, i));
        memcpy(class_path + strlen(class_path) - 6, "class", 6);
        g_autofree char *class = ct_live_line(live, class_path);
        if (g_strcmp0(vendor, "0x10de") == 0 && class && g_str_has_prefix(class, "0x03"))
            return TRUE;
    }
    return FALSE;
}

/* Boards whose GPU is served by the driver of servers. */
static gboolean board_with_openrm(CtLive *live)
{
    gsize len = 0;
    g_autofree char *text = NULL;
    ct_live_read(live, "/proc/device-tree/compatible", 4096, &text, &len);
    for (gsize i = 0; text && i < len; i += strlen(text + i) + 1)
        if (g_str_has_prefix(text + i, "nvidia,tegra26"))
            return TRUE;
    return FALSE;
}

/* Nodes that CUDA cannot do without, where the hardware is: their absence is said. */
static void expected(CtLive *live)
{
    static const char *const discrete[] = {"/dev/nvidia0", "/dev/nvidiactl", "/dev/nvidia-uvm"};
    static const char *const wsl = "/usr/lib/wsl/lib"; /* the driver's libraries below WSL */
    if (ct_live_exists(live, "/dev/dxg") && ct_live_exists(live, "/usr/lib") &&
        !ct_live_exists(live, wsl))
        ct_live_printf(live, "ls: cannot access '%s': No such file or directory\n", wsl);
    if (!nvidia_on_pci(live) && !board_with_openrm(live))
        return;
    for (gsize i = 0; i < G_N_ELEMENTS(discrete); i++)
        if (!ct_live_exists(live, discrete[i]))
            ct_live_printf(live, "ls: cannot access '%s': No such file or directory\n",
                           discrete[i]);
}

static void run(CtLive *live)
{
    g_autoptr(GString) access_text = g_string_new(NULL);
    guint n = 0;
    CtStatus status;
    g_autoptr(GPtrArray) top = ct_live_list(live, "/dev", &status);
    if (status != CT_OK && status != CT_TRUNCATED) {
        ct_live_missing(live, "/dev", "ls -l /dev/nv*", status, NULL);
        return;
    }
    ct_live_begin(live, "/dev", "ls -l /dev/nv* /dev/nvidia-caps /dev/nvgpu/*/* /dev/dri/*");
    for (gsize i = 0; i < G_N_ELEMENTS(patterns); i++) {
        g_autoptr(GPtrArray) all = ct_live_glob(live, patterns[i]);
        for (guint k = 0; k < all->len; k++)
            n += node(live, g_ptr_array_index(all, k), access_text);
    }
    expected(live);
    ct_live_end(live, CT_OK, NULL);
    g_autofree char *count = g_strdup_printf("/dev: %u GPU nodes\n", n);
    g_string_prepend(access_text, count); /* also 0: somebody looked */
    ct_live_text(live, "access of this user to /dev", "test -r NODE -a -w NODE", access_text->str);
    ct_live_begin(live, "/proc/driver/nvidia/capabilities",
                  "grep -rsH . /proc/driver/nvidia/capabilities");
    g_autoptr(GPtrArray) caps = ct_live_glob(live, "/proc/driver/nvidia/capabilities/*/*");
    g_autoptr(GPtrArray) deep = ct_live_glob(live, "/proc/driver/nvidia/capabilities/gpu*/mig/*/*");
    for (guint i = 0; i < caps->len; i++)
        ct_live_value(live, NULL, g_ptr_array_index(caps, i));
    for (guint i = 0; i < deep->len; i++)
        ct_live_value(live, NULL, g_ptr_array_index(deep, i));
    ct_live_end(live, CT_OK, NULL);
}

const CtCollector ct_collector_devices = {
    .id = "devices",
    .layer = "kernel-driver",
    .title = "device nodes with modes and owners",
    .run = run,
};
