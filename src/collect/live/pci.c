/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVIDIA's devices on the PCI bus and the bridges above them, from sysfs: identity, link, driver,
 * IOMMU group, NUMA node, error counters, and ACS where the configuration space may be read.
 */
#include <string.h>
#include <unistd.h>

#include "collect/live/live.h"

#define DEVICES "/sys/bus/pci/devices"
#define MAX_DEVICES 512u
#define CONFIG_SIZE 4096u
#define ACS_CAPABILITY 0x000d

static void value_of(CtLive *live, const char *device, const char *name)
{
    g_autofree char *path = g_strdup_printf(DEVICES "/%s/%s", device, name);
    ct_live_value(live, NULL, path);
}

static void link_of(CtLive *live, const char *device, const char *name)
{
    g_autofree char *path = g_strdup_printf(DEVICES "/%s/%s", device, name);
    g_autofree char *target = ct_live_link(live, path);
    if (target)
        ct_live_printf(live, "%s -> %s\n", path, target);
}

static guint16 u16(const guint8 *p)
{
    return (guint16)(p[0] | p[1] << 8);
}

static guint32 u32(const guint8 *p)
{
    return (guint32)u16(p) | (guint32)u16(p + 2) << 16;
}

/* The extended capabilities are a list in bytes 256 to 4095; without root only 64 bytes come. */
static gboolean acs_hidden; /* in this child: a bridge showed no more than its first bytes */

static void acs(CtLive *live, const char *device)
{
    g_autofree char *path = g_strdup_printf(DEVICES "/%s/config", device);
    g_autofree char *bytes = NULL;
    gsize len = 0;
    ct_live_read(live, path, CONFIG_SIZE, &bytes, &len);
    const guint8 *c = (const guint8 *)bytes;
    if (!bytes || len < CONFIG_SIZE) {
        acs_hidden |= bytes && len == 64;
        return;
    }
    guint at = 256;
    for (guint steps = 0; at >= 256 && at + 8 <= len && steps < 96; steps++) {
        guint32 head = u32(c + at);
        if (!head || head == G_MAXUINT32)
            return;
        if ((head & 0xffff) == ACS_CAPABILITY) {
            ct_live_printf(live, DEVICES "/%s/acs_ctl: 0x%04x\n", device, u16(c + at + 6));
            return;
        }
        at = head >> 20 & ~3u;
    }
}

static void device(CtLive *live, const char *name, gboolean bridge)
{
    static const char *const all[] = {"vendor", "device", "class", "current_link_speed",
                                      "current_link_width", "max_link_speed", "max_link_width",
                                      "numa_node", "power_state", "enable",
                                      "uevent"};
    static const char *const more[] = {"subsystem_vendor", "subsystem_device", "revision", "irq",
                                       "d3cold_allowed", "power/control", "power/runtime_status",
                                       "aer_dev_correctable", "aer_dev_nonfatal", "aer_dev_fatal",
                                       "iommu_group/type"};
    for (gsize i = 0; i < G_N_ELEMENTS(all); i++)
        value_of(live, name, all[i]);
    for (gsize i = bridge ? 7 : 0; i < G_N_ELEMENTS(more); i++)
        value_of(live, name, more[i]);
    link_of(live, name, "driver");
    link_of(live, name, "iommu_group");
    if (bridge)
        acs(live, name);
}

/* The real path of a device holds the addresses of all bridges above it. */
static void bridges(CtLive *live, const char *name, GHashTable *seen)
{
    g_autofree char *path = g_strdup_printf(DEVICES "/%s", name);
    g_autofree char *real = ct_live_real(live, path);
    g_auto(GStrv) parts = real ? g_strsplit(real, "/", 32) : NULL;
    for (guint i = 0; parts && parts[i]; i++) {
        gsize n = strlen(parts[i]);
        if (n < 12 || parts[i][4] != ':' || parts[i][n - 2] != '.' || strcmp(parts[i], name) == 0 ||
            !g_hash_table_add(seen, g_strdup(parts[i])))
            continue;
        device(live, parts[i], TRUE);
    }
}

static gboolean wanted(CtLive *live, const char *name)
{
    g_autofree char *vendor_path = g_strdup_printf(DEVICES "/%s/vendor", name);
    g_autofree char *class_path = g_strdup_printf(DEVICES "/%s/class", name);
    g_autofree char *vendor = ct_live_line(live, vendor_path);
    g_autofree char *class = ct_live_line(live, class_path);
    if (g_strcmp0(vendor, "0x10de") != 0)
        return FALSE;
    /* display and 3D controllers, bridges of NVSwitch; not sound, USB and serial functions */
    return !class || g_str_has_prefix(class, "0x03") || g_str_has_prefix(class, "0x0680") ||
           g_str_has_prefix(class, "0x12");
}

static void run(CtLive *live)
{
    CtStatus status;
    g_autoptr(GPtrArray) names = ct_live_list(live, DEVICES, &status);
    g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    guint n = 0;
    if (status == CT_ABSENT) { /* a board or a virtual machine without the bus */
        ct_live_missing(live, DEVICES, "ls " DEVICES, CT_ABSENT, "no PCI bus");
        return;
    }
    ct_live_begin(live, DEVICES, "grep -sH . " DEVICES "/*/*");
    ct_live_printf(live, DEVICES ": %u devices\n", names->len);
    for (guint i = 0; i < names->len && n < MAX_DEVICES; i++) {
        const char *name = g_ptr_array_index(names, i);
        if (!wanted(live, name))
            continue;
        n++;
        device(live, name, FALSE);
        bridges(live, name, seen);
    }
    g_autoptr(GPtrArray) units = ct_live_list(live, "/sys/class/iommu", NULL);
    for (guint i = 0; i < units->len; i++)
        ct_live_printf(live, "/sys/class/iommu: %s\n", (char *)g_ptr_array_index(units, i));
    ct_live_end(live, status, NULL);
    if (acs_hidden)
        ct_live_missing(live, "access control of PCI bridges", "sudo lspci -vv", CT_DENIED,
                        "whether bridges redirect traffic between GPUs is for root");
}

const CtCollector ct_collector_pci = {
    .id = "pci",
    .layer = "hardware",
    .title = "NVIDIA devices on the PCI bus and the bridges above them",
    .run = run,
};
