/* SPDX-License-Identifier: Apache-2.0 */
/* /sys/bus/pci/devices: subjects are those of the lspci parser, "gpu:0000:3b:00.0". */
#include <stdio.h>
#include <string.h>

#include "parse/env/system-values.h"

#define DEVICE "/sys/bus/pci/devices/*/"

static const CtValue *of_device(const CtValues *v, const char *address, const char *name)
{
    g_autofree char *path = g_strdup_printf("/sys/bus/pci/devices/%s/%s", address, name);
    return ct_values_get(v, path);
}

static gboolean is_gpu(const CtValues *v, const char *address)
{
    const CtValue *vendor = of_device(v, address, "vendor"), *class = of_device(v, address, "class");
    return vendor && strcmp(vendor->value, "0x10de") == 0 &&
           (!class || g_str_has_prefix(class->value, "0x03"));
}

/* "16.0 GT/s PCIe" -> 4 */
static int generation(const char *speed)
{
    static const double speeds[] = {2.5, 5, 8, 16, 32, 64, 128};
    double gt = g_ascii_strtod(speed, NULL);
    for (gsize i = 0; i < G_N_ELEMENTS(speeds); i++)
        if (gt > speeds[i] * 0.95 && gt < speeds[i] * 1.05)
            return (int)i + 1;
    return 0;
}

static void link_value(const CtValues *v, const CtValue *of, const char *subject, const char *name)
{
    const char *which = g_str_has_prefix(name, "max") ? "max" : "current";
    char key[64], text[24];
    if (g_str_has_suffix(name, "width")) {
        if (of->has_number && of->number > 0 && of->number <= 64) {
            g_snprintf(key, sizeof(key), "gpu.pcie.link.width.%s", which);
            g_snprintf(text, sizeof(text), "x%.0f", of->number);
            ct_value_number(v, of, subject, key, of->number, text);
        }
        return;
    }
    int gen = generation(of->value);
    if (!gen)
        return;
    g_snprintf(key, sizeof(key), "gpu.pcie.link.gen.%s", which);
    g_snprintf(text, sizeof(text), "%d", gen);
    ct_value_number(v, of, subject, key, gen, text);
}

/* "TOTAL_ERR_COR 12", one line of several */
static void aer(const CtValues *v, const CtValue *of, const char *subject, const char *name)
{
    double n;
    const char *space = strrchr(of->value, ' ');
    if (!g_str_has_prefix(of->value, "TOTAL_ERR") || !space ||
        !ct_str_number(ct_str_of(space + 1), &n))
        return;
    g_autofree char *key = g_strconcat("gpu.pcie.aer.", name + strlen("aer_dev_"), NULL);
    ct_value_number(v, of, subject, key, n, space + 1);
}

static void simple(const CtValues *v, const CtValue *of, const char *subject, const char *name)
{
    static const struct {
        const char *name, *key;
    } texts[] = {
        {"power_state", "gpu.power-state"},         {"power/runtime_status", "gpu.runtime-status"},
        {"power/control", "gpu.runtime-power"},     {"enable", "gpu.pci-enabled"},
        {"subsystem_vendor", "gpu.board-vendor"},   {"subsystem_device", "gpu.board-id"},
        {"iommu_group/type", "gpu.iommu-type"},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(texts); i++)
        if (strcmp(name, texts[i].name) == 0)
            ct_value_text(v, of, subject, texts[i].key, of->value);
}

/* A copy of the tree may have lost the link; uevent names the driver too, and says by its silence
 * that there is none. */
static void driver_by_uevent(const CtValues *v, const CtValue *of, const char *address,
                             const char *subject)
{
    g_autofree char *path = g_strdup_printf("/sys/bus/pci/devices/%s/uevent", address);
    gboolean any = FALSE;
    if (of_device(v, address, "driver"))
        return;
    for (guint i = 0; i < v->all->len; i++) {
        const CtValue *line = g_ptr_array_index(v->all, i);
        if (strcmp(line->path, path) != 0 || line->status != CT_OK)
            continue;
        any = TRUE;
        if (g_str_has_prefix(line->value, "DRIVER=")) {
            ct_value_text(v, line, subject, "gpu.kernel-driver", line->value + 7);
            return;
        }
    }
    if (any)
        ct_emit_fact_status(v->emit, &(CtLine){.number = of->line}, subject, "gpu.kernel-driver",
                            CT_ABSENT, "none");
}

/* Device numbers are given out in blocks to chips: pci.ids, vendor 10de. */
static const char *capability_of(guint device)
{
    static const struct {
        guint first, last;
        const char *capability;
    } blocks[] = {
        {0x1340, 0x13bf, "5.0"}, {0x13c0, 0x142f, "5.2"}, {0x1430, 0x143f, "5.2"}, {0x15f0, 0x15ff, "6.0"},
        {0x17c0, 0x17ff, "5.2"}, {0x1b00, 0x1d5f, "6.1"}, {0x1d80, 0x1dff, "7.0"}, {0x1e00, 0x1fff, "7.5"},
        {0x2080, 0x20ff, "8.0"}, {0x2180, 0x21ff, "7.5"}, {0x2200, 0x22ff, "8.6"}, {0x2300, 0x23ff, "9.0"},
        {0x2400, 0x25ff, "8.6"},
        {0x2680, 0x28ff, "8.9"}, {0x2900, 0x293f, "10.0"}, {0x2b80, 0x2dff, "12.0"},
        {0x2e00, 0x2e7f, "12.1"}, {0x2f00, 0x2f7f, "12.0"}, {0x3180, 0x31bf, "10.3"},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(blocks); i++)
        if (device >= blocks[i].first && device <= blocks[i].last)
            return blocks[i].capability;
    return NULL;
}

static void gpu_value(const CtValues *v, const CtValue *of, const char *address, const char *name)
{
    char subject[112], pci[CT_PCI_SIZE];
    g_snprintf(subject, sizeof(subject), "gpu:%s", address);
    if (strcmp(name, "vendor") == 0) {
        const CtValue *device = of_device(v, address, "device");
        if (ct_pci_normalise(ct_str_of(address), pci)) {
            ct_value_text(v, of, subject, "gpu.pci", pci);
            ct_emit_alias(v->emit, subject, pci);
        }
        if (device && device->status == CT_OK && strlen(device->value) > 2) {
            g_autofree char *id = g_strdup_printf("10de:%s", device->value + 2);
            ct_value_text(v, device, subject, "gpu.pci-id", id);
            const char *capability = device->has_number ? capability_of((guint)device->number) : NULL;
            if (capability)
                ct_value_text(v, device, subject, "gpu.compute-capability", capability);
        }
        driver_by_uevent(v, of, address, subject);
    } else if (strcmp(name, "driver") == 0 || strcmp(name, "iommu_group") == 0) {
        const char *slash = strrchr(of->value, '/');
        ct_value_text(v, of, subject, *name == 'd' ? "gpu.kernel-driver" : "gpu.iommu-group",
                      slash ? slash + 1 : of->value);
    } else if (strcmp(name, "numa_node") == 0) {
        if (of->has_number && of->number >= 0)
            ct_value_number(v, of, subject, "numa.gpu", of->number, of->value);
    } else if (strstr(name, "_link_")) {
        link_value(v, of, subject, name);
    } else if (g_str_has_prefix(name, "aer_dev_")) {
        aer(v, of, subject, name);
    } else {
        simple(v, of, subject, name);
    }
}

/* Bits 2 to 4 of the control register send the traffic between peers up to the root. */
static void bridge_value(const CtValues *v, const CtValue *of, const char *address,
                         const char *name)
{
    if (strcmp(name, "acs_ctl") == 0 && of->has_number && ((guint)of->number & 0x04)) {
        g_autofree char *value = g_strdup_printf("ReqRedir+ (%s)", of->value);
        ct_value_text(v, of, address, "pci.acs", value);
    } else if (strstr(name, "_link_") && of->status == CT_OK) {
        g_autofree char *key = g_strconcat("pci.bridge.", name, NULL);
        int gen = g_str_has_suffix(name, "speed") ? generation(of->value) : 0;
        if (gen)
            ct_value_number(v, of, address, key, gen, of->value);
        else if (of->has_number)
            ct_value_number(v, of, address, key, of->number, of->value);
    }
}

gboolean ct_value_pci(const CtValues *v, const CtValue *of)
{
    static const char root[] = "/sys/bus/pci/devices/";
    if (!g_str_has_prefix(of->path, root)) {
        if (strcmp(of->path, "/sys/class/iommu") == 0)
            ct_value_text(v, of, NULL, "iommu.unit", of->value);
        return strcmp(of->path, "/sys/bus/pci/devices") == 0 ||
               strcmp(of->path, "/sys/class/iommu") == 0;
    }
    g_autofree char *address = g_strndup(of->path + strlen(root), strcspn(of->path + strlen(root), "/"));
    const char *name = of->path + strlen(root) + strlen(address);
    if (*name++ != '/')
        return TRUE;
    if (is_gpu(v, address))
        gpu_value(v, of, address, name);
    else
        bridge_value(v, of, address, name);
    return TRUE;
}

/* NVSwitches are bridges of NVIDIA ("other bridge device"). */
static void switches(const CtValues *v, const CtValue *bus)
{
    guint n = 0;
    char text[16], parts[CT_VALUE_PARTS][96];
    for (guint i = 0; i < v->all->len; i++) {
        const CtValue *of = g_ptr_array_index(v->all, i);
        if (!ct_value_match(of->path, DEVICE "class", parts) || !g_str_has_prefix(of->value, "0x0680"))
            continue;
        const CtValue *vendor = of_device(v, parts[0], "vendor");
        n += vendor && strcmp(vendor->value, "0x10de") == 0;
    }
    g_snprintf(text, sizeof(text), "%u", n);
    if (n)
        ct_value_number(v, bus, NULL, "nvswitch.count", n, text);
}

/* The count of GPUs is worth something only where the whole bus was looked at. */
void ct_values_pci_end(const CtValues *v)
{
    const CtValue *bus = ct_values_get(v, "/sys/bus/pci/devices");
    guint n = 0;
    char text[16];
    if (!bus)
        return;
    for (guint i = 0; i < v->all->len; i++) {
        const CtValue *of = g_ptr_array_index(v->all, i);
        char parts[CT_VALUE_PARTS][96];
        n += ct_value_match(of->path, DEVICE "vendor", parts) && is_gpu(v, parts[0]);
    }
    g_snprintf(text, sizeof(text), "%u", n);
    ct_value_number(v, bus, NULL, "gpu.pci-count", n, text);
    switches(v, bus);
    ct_emit_coverage(v->emit, "pci-list", NULL);
}
