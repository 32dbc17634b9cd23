/* SPDX-License-Identifier: Apache-2.0 */
/* Space of the file systems that matter, as df prints it. A dead network mount hangs here and
 * nowhere else; local ones are asked first. */
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "collect/live/live.h"

static void df(CtLive *live, const char *device, const char *mount)
{
    struct statvfs v;
    if (statvfs(mount, &v) != 0 || !v.f_blocks)
        return;
    guint64 unit = v.f_frsize ? v.f_frsize : v.f_bsize;
    guint64 size = (guint64)v.f_blocks * unit / 1024, left = (guint64)v.f_bavail * unit / 1024;
    guint64 used = (guint64)(v.f_blocks - v.f_bfree) * unit / 1024;
    ct_live_printf(live,
                   "%s %" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT " %u%% %s\n",
                   device, size, used, left, size ? (guint)(used * 100 / size) : 0, mount);
}

/* btrfs and vfat have no fixed number of inodes and say 0. */
static void df_inodes(CtLive *live, const char *device, const char *mount)
{
    struct statvfs v;
    if (statvfs(mount, &v) != 0 || !v.f_files)
        return;
    guint64 all = v.f_files, left = v.f_favail, used = all - MIN(all, (guint64)v.f_ffree);
    ct_live_printf(live,
                   "%s %" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT " %u%% %s\n",
                   device, all, used, left, (guint)((double)used * 100 / (double)all), mount);
}

static gboolean network(const char *type)
{
    static const char *const types[] = {"nfs", "nfs4", "cifs", "smb3", "ceph", "lustre", "fuse.sshfs",
                                        "glusterfs", "beegfs", "gpfs", "9p", "afs"};
    for (gsize i = 0; i < G_N_ELEMENTS(types); i++)
        if (strcmp(type, types[i]) == 0)
            return TRUE;
    return g_str_has_prefix(type, "fuse.");
}

static gboolean real(const char *type, const char *mount)
{
    static const char *const types[] = {"ext4", "ext3", "ext2", "xfs", "btrfs", "zfs", "overlay",
                                        "vfat", "f2fs", "squashfs", "fuseblk"};
    if (strcmp(mount, "/dev/shm") == 0 || strcmp(mount, "/tmp") == 0 || strcmp(mount, "/run") == 0)
        return TRUE;
    if (g_str_has_prefix(mount, "/snap/") || strstr(mount, "/overlay2/") ||
        strstr(mount, "/containers/"))
        return FALSE;
    for (gsize i = 0; i < G_N_ELEMENTS(types); i++)
        if (strcmp(type, types[i]) == 0)
            return TRUE;
    return FALSE;
}

/* "36 25 8:1 / /mnt rw,noatime shared:1 - ext4 /dev/sda1 rw,errors=x" in the form of /proc/mounts;
 * of a container often only this file was copied. */
static char *from_mountinfo(CtLive *live)
{
    static const char *const files[] = {"/proc/self/mountinfo", "/proc/1/mountinfo", NULL};
    g_autofree char *text = NULL;
    for (guint i = 0; files[i] && !text; i++)
        ct_live_read(live, files[i], CT_LIVE_MAX_FILE, &text, NULL);
    if (!text)
        return NULL;
    GString *out = g_string_new(NULL);
    g_auto(GStrv) lines = g_strsplit(text, "\n", 4000);
    for (guint i = 0; lines[i]; i++) {
        char *dash = strstr(lines[i], " - ");
        g_auto(GStrv) tail = dash ? g_strsplit(dash + 3, " ", 4) : NULL;
        g_auto(GStrv) head = g_strsplit(lines[i], " ", 7);
        if (dash && g_strv_length(head) >= 6 && g_strv_length(tail) >= 2)
            g_string_append_printf(out, "%s %s %s %s%s%s 0 0\n", tail[1], head[4], tail[0], head[5],
                                   tail[2] ? "," : "", tail[2] ? tail[2] : "");
    }
    return g_string_free(out, FALSE);
}

static void run(CtLive *live)
{
    g_autofree char *text = NULL;
    ct_live_read(live, "/proc/self/mounts", CT_LIVE_MAX_FILE, &text, NULL);
    if (!text)
        ct_live_read(live, "/proc/mounts", CT_LIVE_MAX_FILE, &text, NULL);
    if (!text)
        ct_live_read(live, "/proc/1/mounts", CT_LIVE_MAX_FILE, &text, NULL);
    if (!text)
        text = from_mountinfo(live);
    if (!text)
        return;
    g_auto(GStrv) lines = g_strsplit(text, "\n", 2000);
    ct_live_begin(live, "/proc/mounts", "cat /proc/mounts");
    for (guint i = 0; lines[i]; i++) {
        g_auto(GStrv) w = g_strsplit(lines[i], " ", 5);
        if (g_strv_length(w) >= 4 && (real(w[2], w[1]) || network(w[2]) || strstr(w[1], "nvidia") ||
                                      strstr(w[1], "libcuda") || strstr(w[1], "/dev/nv")))
            ct_live_printf(live, "%s\n", lines[i]);
    }
    ct_live_end(live, CT_OK, NULL);
    if (ct_live_sysroot(live))
        return;
    static const struct {
        const char *title, *command, *head;
        gboolean network;
        void (*row)(CtLive *live, const char *device, const char *mount);
    } tables[] = {
        {"df", "df -k", "Filesystem 1K-blocks Used Available Use% Mounted on", FALSE, df},
        {"df -i", "df -i", "Filesystem Inodes IUsed IFree IUse% Mounted on", FALSE, df_inodes},
        {"df of network mounts", "df -k", "Filesystem 1K-blocks Used Available Use% Mounted on", TRUE,
         df},
    };
    for (gsize t = 0; t < G_N_ELEMENTS(tables); t++) {
        ct_live_begin(live, tables[t].title, tables[t].command);
        ct_live_printf(live, "%s\n", tables[t].head);
        guint n = 0;
        for (guint i = 0; lines[i] && n < 64; i++) {
            g_auto(GStrv) w = g_strsplit(lines[i], " ", 5);
            if (g_strv_length(w) < 4 || network(w[2]) != tables[t].network ||
                (!tables[t].network && !real(w[2], w[1])))
                continue;
            n++;
            tables[t].row(live, w[0], w[1]);
        }
        ct_live_end(live, CT_OK, NULL);
    }
}

const CtCollector ct_collector_disk = {
    .id = "disk",
    .layer = "platform",
    .title = "space of file systems and of /dev/shm",
    .run = run,
};
