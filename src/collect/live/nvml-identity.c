/* SPDX-License-Identifier: Apache-2.0 */
/* Who the GPU is, and how it sits on the bus. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "collect/live/nvml-private.h"

static const char *const brands[] = {
    "Unknown", "Quadro", "Tesla", "NVS", "GRID", "GeForce", "Titan", "NVIDIA Virtual Applications",
    "NVIDIA Virtual PC", "NVIDIA Virtual Compute Server", "NVIDIA RTX Virtual Workstation",
    "NVIDIA Cloud Gaming", "Quadro RTX", "NVIDIA RTX", "NVIDIA", "GeForce RTX", "Titan RTX"};
static const char *const architectures[] = {NULL, NULL, "Kepler", "Maxwell", "Pascal", "Volta",
                                            "Turing", "Ampere", "Ada Lovelace", "Hopper",
                                            "Blackwell", NULL, NULL, "Rubin"};
static const char *const addressing[] = {"None", "HMM", "ATS"};
static const char *const driver_models[] = {"WDDM", "TCC", "MCDM"};
static const char *const operation[] = {"All On", "Compute", "Low Double Precision"};
static const char *const virtualization[] = {"None", "Pass-Through", "VGPU", "Host VGPU",
                                             "Host VSGA"};
static const char *const host_vgpu[] = {"Non SR-IOV", "SR-IOV"};
static const char *const peers[] = {"Switch Connected", "Direct Connected"};
static const char *const recovery[] = {"None", "Reset", "Reboot", "Drain P2P", "Drain and Reset",
                                       "Recover IMEX Domain", "Bus Reset", "System Reboot"};
static const char *const chips[] = {"PLX", "BRO4"};

static void word(CtNvmlOut *out, int level, const char *key,
                 int (*get)(CtNvmlDevice, unsigned *), const char *const *names, gsize n)
{
    unsigned value = 0;
    int code = get ? get(out->device, &value) : CT_NVML_NO_SYMBOL;
    ct_nvml_put_name(out, level, key, code, value, names, n);
}

static void two_words(CtNvmlOut *out, const char *key,
                      int (*get)(CtNvmlDevice, unsigned *, unsigned *), const char *const *names,
                      gsize n)
{
    unsigned now = 0, next = 0;
    int code = get ? get(out->device, &now, &next) : CT_NVML_NO_SYMBOL;
    ct_nvml_head(out, 1, key);
    ct_nvml_put_name(out, 2, "Current", code, now, names, n);
    ct_nvml_put_name(out, 2, "Pending", code, next, names, n);
}

static void modes(CtNvmlOut *out)
{
    const CtNvml *n = out->nvml;
    unsigned value = 0;
    CtNvmlWord mode = {.version = CT_NVML_VERSION(CtNvmlWord, 1)};
    int code;
    word(out, 1, "Display Mode", n->display_mode, ct_nvml_enabled, 2);
    word(out, 1, "Display Active", n->display_active, ct_nvml_enabled, 2);
    word(out, 1, "Persistence Mode", n->persistence, ct_nvml_enabled, 2);
    code = CT_NVML_GET(out, addressing, &mode);
    ct_nvml_put_name(out, 1, "Addressing Mode", code, mode.value, addressing,
                     G_N_ELEMENTS(addressing));
    two_words(out, "MIG Mode", n->mig_mode, ct_nvml_enabled, 2);
    ct_nvml_mig(out);
    word(out, 1, "Accounting Mode", n->accounting, ct_nvml_enabled, 2);
    code = CT_NVML_GET(out, accounting_size, &value);
    ct_nvml_put_number(out, 1, "Accounting Mode Buffer Size", code, value, 1u << 30, "");
    two_words(out, "Driver Model", n->driver_model, driver_models, G_N_ELEMENTS(driver_models));
}

static void platform(CtNvmlOut *out)
{
    CtNvmlPlatform p = {.version = CT_NVML_VERSION(CtNvmlPlatform, 2)};
    int code = CT_NVML_GET(out, platform, &p);
    if (code == CT_NVML_SUCCESS && p.slot == 0xff && p.tray == 0xff && p.host == 0xff &&
        p.module == 0xff)
        code = CT_NVML_GARBAGE;
    char chassis[sizeof p.chassis + 1] = "";
    memcpy(chassis, p.chassis, sizeof p.chassis);
    ct_nvml_clean(chassis, sizeof chassis);
    gboolean guid = FALSE;
    char text[64] = "";
    for (gsize i = 0; i < sizeof p.guid; i++) {
        guid |= p.guid[i] != 0;
        g_snprintf(text + i * 2, sizeof text - i * 2, "%02x", p.guid[i]);
    }
    /* A board outside of a rack knows its module number only. */
    gboolean rack = code == CT_NVML_SUCCESS && (*chassis || guid);
    int in_rack = code != CT_NVML_SUCCESS ? code : rack ? CT_NVML_SUCCESS : CT_NVML_NOT_SUPPORTED;
    ct_nvml_head(out, 1, "Platform Info");
    ct_nvml_put_if(out, 2, "Chassis Serial Number", in_rack, "%s", *chassis ? chassis : "N/A");
    ct_nvml_put_if(out, 2, "Slot Number", in_rack, "%u", p.slot);
    ct_nvml_put_if(out, 2, "Tray Index", in_rack, "%u", p.tray);
    ct_nvml_put_if(out, 2, "Host ID", in_rack, "%u", p.host);
    ct_nvml_put_name(out, 2, "Peer Type", in_rack, p.peer, peers, G_N_ELEMENTS(peers));
    ct_nvml_put_if(out, 2, "Module Id", code, "%u", p.module);
    ct_nvml_put_if(out, 2, "GPU Fabric GUID", guid ? in_rack : CT_NVML_NOT_SUPPORTED, "0x%s",
                   text);
}

static void inforom(CtNvmlOut *out)
{
    static const char *const objects[] = {"OEM Object", "ECC Object", "Power Management Object"};
    guint64 when = 0;
    unsigned long duration = 0;
    ct_nvml_head(out, 1, "Inforom Version");
    ct_nvml_put_text(out, 2, "Image Version", out->nvml->inforom_image);
    for (unsigned i = 0; i < G_N_ELEMENTS(objects); i++) {
        char text[128] = "";
        int code = CT_NVML_GET(out, inforom, i, text, (unsigned)sizeof text);
        ct_nvml_clean(text, sizeof text);
        ct_nvml_put_if(out, 2, objects[i], code, "%s", *text ? text : "N/A");
    }
    int code = CT_NVML_GET(out, bbx, &when, &duration);
    if (code == CT_NVML_SUCCESS && when == G_MAXUINT64)
        code = CT_NVML_GARBAGE;
    time_t at = (time_t)(when / 1000000);
    struct tm tm;
    char stamp[64] = "N/A";
    if (code == CT_NVML_SUCCESS && when && gmtime_r(&at, &tm))
        strftime(stamp, sizeof stamp, "%Y-%m-%d %H:%M:%S", &tm);
    ct_nvml_head(out, 1, "Inforom BBX Object Flush");
    ct_nvml_put_if(out, 2, "Latest Timestamp", code, "%s", stamp);
    ct_nvml_put_if(out, 2, "Latest Duration", code, "%lu us", duration);
}

static void firmware(CtNvmlOut *out)
{
    const CtNvml *n = out->nvml;
    CtNvmlC2c c2c = {0};
    gint64 action = 0, reset = 0;
    char text[128] = "";
    int code = CT_NVML_GET(out, c2c, &c2c);
    ct_nvml_put_name(out, 1, "GPU C2C Mode", code, c2c.enabled, ct_nvml_enabled, 2);
    ct_nvml_head(out, 1, "GPU Virtualization Mode");
    word(out, 2, "Virtualization Mode", n->virtualization, virtualization,
         G_N_ELEMENTS(virtualization));
    word(out, 2, "Host VGPU Mode", n->host_vgpu, host_vgpu, G_N_ELEMENTS(host_vgpu));
    code = ct_nvml_field(out, CT_NVML_FI_RESET_STATUS, 0, &reset);
    if (code == CT_NVML_SUCCESS) {
        gint64 drain = 0;
        int drained = ct_nvml_field(out, CT_NVML_FI_DRAIN_STATUS, 0, &drain);
        ct_nvml_head(out, 1, "GPU Reset Status");
        ct_nvml_put(out, 2, "Reset Required", "%s", ct_nvml_yes[reset != 0]);
        ct_nvml_put_if(out, 2, "Drain and Reset Recommended", drained, "%s",
                       ct_nvml_yes[drain != 0]);
    }
    code = ct_nvml_field(out, CT_NVML_FI_RECOVERY_ACTION, 0, &action);
    ct_nvml_put_name(out, 1, "GPU Recovery Action", code,
                     action < 0 || action > 1000 ? 1000u : (unsigned)action, recovery,
                     G_N_ELEMENTS(recovery));
    code = CT_NVML_GET(out, gsp, text);
    ct_nvml_clean(text, sizeof text);
    ct_nvml_put_if(out, 1, "GSP Firmware Version", code, "%s", *text ? text : "N/A");
}

void ct_nvml_identity(CtNvmlOut *out)
{
    const CtNvml *n = out->nvml;
    int major = 0, minor = 0;
    unsigned value = 0;
    CtNvmlPdi pdi = {.version = CT_NVML_VERSION(CtNvmlPdi, 1)};
    ct_nvml_put_text(out, 1, "Product Name", n->name);
    word(out, 1, "Product Brand", n->brand, brands, G_N_ELEMENTS(brands));
    word(out, 1, "Product Architecture", n->architecture, architectures,
         G_N_ELEMENTS(architectures));
    int code = CT_NVML_GET(out, capability, &major, &minor);
    if (code == CT_NVML_SUCCESS && (major < 1 || major > 99 || minor < 0 || minor > 99))
        code = CT_NVML_GARBAGE;
    ct_nvml_put_if(out, 1, "CUDA Compute Capability", code, "%d.%d", major, minor);
    modes(out);
    ct_nvml_put_text(out, 1, "Serial Number", n->serial);
    ct_nvml_put_text(out, 1, "GPU UUID", n->uuid);
    code = CT_NVML_GET(out, pdi, &pdi);
    ct_nvml_put_if(out, 1, "GPU PDI", code, "0x%" G_GINT64_MODIFIER "x", pdi.value);
    code = CT_NVML_GET(out, minor, &value);
    ct_nvml_put_number(out, 1, "Minor Number", code, value, 1u << 20, "");
    ct_nvml_put_text(out, 1, "VBIOS Version", n->vbios);
    word(out, 1, "MultiGPU Board", n->multi_gpu, ct_nvml_yes, 2);
    value = 0;
    code = CT_NVML_GET(out, board, &value);
    ct_nvml_put_if(out, 1, "Board ID", code, "0x%x", value);
    ct_nvml_put_text(out, 1, "Board Part Number", n->board_part);
    platform(out);
    inforom(out);
    two_words(out, "GPU Operation Mode", n->operation, operation, G_N_ELEMENTS(operation));
    firmware(out);
}

/* ---- the bus ---- */

static void link_info(CtNvmlOut *out)
{
    unsigned value = 0;
    int code;
    ct_nvml_head(out, 2, "GPU Link Info");
    ct_nvml_head(out, 3, "PCIe Generation");
    code = CT_NVML_GET(out, gen_max, &value);
    ct_nvml_put_number(out, 4, "Max", code, value, 16, "");
    code = CT_NVML_GET(out, gen_now, &value);
    ct_nvml_put_number(out, 4, "Current", code, value, 16, "");
    ct_nvml_put_number(out, 4, "Device Current", code, value, 16, "");
    code = CT_NVML_GET(out, gen_device_max, &value);
    ct_nvml_put_number(out, 4, "Device Max", code, value, 16, "");
    ct_nvml_head(out, 3, "Link Width");
    code = CT_NVML_GET(out, width_max, &value);
    ct_nvml_put_number(out, 4, "Max", code, value, 64, "x");
    code = CT_NVML_GET(out, width_now, &value);
    ct_nvml_put_number(out, 4, "Current", code, value, 64, "x");
}

static void atomics(CtNvmlOut *out, const char *key, unsigned id)
{
    static const char *const caps[] = {"FETCHADD_32", "FETCHADD_64", "SWAP_32", "SWAP_64",
                                       "CAS_32", "CAS_64", "CAS_128"};
    gint64 mask = 0;
    int code = ct_nvml_field(out, id, 0, &mask);
    g_autoptr(GString) text = g_string_new(NULL);
    for (gsize i = 0; code == CT_NVML_SUCCESS && i < G_N_ELEMENTS(caps); i++)
        if (mask >> i & 1)
            g_string_append_printf(text, "%s%s", text->len ? " " : "", caps[i]);
    ct_nvml_put_if(out, 2, key, code, "%s", text->len ? text->str : "N/A");
}

static void counter(CtNvmlOut *out, int level, const char *key, unsigned id)
{
    gint64 value = 0;
    int code = ct_nvml_field(out, id, 0, &value);
    if (code == CT_NVML_SUCCESS && value < 0)
        code = CT_NVML_GARBAGE;
    ct_nvml_put_if(out, level, key, code, "%" G_GINT64_FORMAT, value);
}

static void bridge(CtNvmlOut *out)
{
    CtNvmlBridges bridges = {0};
    int code = CT_NVML_GET(out, bridges, &bridges);
    if (code == CT_NVML_SUCCESS && bridges.count == 0)
        code = CT_NVML_NOT_SUPPORTED;
    ct_nvml_head(out, 2, "Bridge Chip");
    ct_nvml_put_name(out, 3, "Type", code, bridges.chip[0].type, chips, G_N_ELEMENTS(chips));
    ct_nvml_put_if(out, 3, "Firmware", code, "%u", bridges.chip[0].firmware);
}

void ct_nvml_pci(CtNvmlOut *out)
{
    CtNvmlPci pci = {{0}};
    CtNvmlPciExt ext = {.version = CT_NVML_VERSION(CtNvmlPciExt, 1)};
    unsigned value = 0;
    int code = CT_NVML_GET(out, pci, &pci), more = CT_NVML_GET(out, pci_ext, &ext);
    ct_nvml_clean(pci.bus_id, sizeof pci.bus_id);
    ct_nvml_head(out, 1, "PCI");
    ct_nvml_put_if(out, 2, "Bus", code, "0x%02X", pci.bus);
    ct_nvml_put_if(out, 2, "Device", code, "0x%02X", pci.device);
    ct_nvml_put_if(out, 2, "Domain", code, "0x%04X", pci.domain);
    ct_nvml_put_if(out, 2, "Base Classcode", more, "0x%X", ext.base_class);
    ct_nvml_put_if(out, 2, "Sub Classcode", more, "0x%X", ext.sub_class);
    ct_nvml_put_if(out, 2, "Device Id", code, "0x%08X", pci.device_id);
    ct_nvml_put_if(out, 2, "Bus Id", code, "%s", pci.bus_id);
    ct_nvml_put_if(out, 2, "Sub System Id", code, "0x%08X", pci.subsystem_id);
    link_info(out);
    bridge(out);
    code = CT_NVML_GET(out, replays, &value);
    ct_nvml_put_if(out, 2, "Replays Since Reset", code, "%u", value);
    counter(out, 2, "Replay Number Rollovers", CT_NVML_FI_PCIE_ROLLOVER);
    for (unsigned way = 0; way < 2; way++) {
        code = CT_NVML_GET(out, throughput, way, &value);
        ct_nvml_put_number(out, 2, way ? "Rx Throughput" : "Tx Throughput", code, value,
                           2000000000u, " KB/s");
    }
    atomics(out, "Atomic Caps Outbound", CT_NVML_FI_ATOMICS_OUT);
    atomics(out, "Atomic Caps Inbound", CT_NVML_FI_ATOMICS_IN);
    ct_nvml_head(out, 2, "Error Counts");
    counter(out, 3, "Correctable", CT_NVML_FI_PCIE_CORRECTABLE);
    counter(out, 3, "Non Fatal", CT_NVML_FI_PCIE_NON_FATAL);
    counter(out, 3, "Fatal", CT_NVML_FI_PCIE_FATAL);
}
