/* SPDX-License-Identifier: Apache-2.0 */
/* lsmod, modinfo, /proc/driver/nvidia/gpus/N/information, nvpmodel -q, jetson_clocks --show. */
#include <string.h>

#include "parse/env/known-lines.h"
#include "parse/gpu/gpu-parsers.h"

typedef struct {
    gboolean lsmod, modinfo, mode_next;
    guint modules;
    char module[48];
    char gpu[40]; /* whose information file it is */
    gboolean wrote_version;
    double gpu_min, gpu_max;
} State;

static gpointer begin(CtEmit *emit)
{
    State *st = g_new0(State, 1);
    const char *command = ct_emit_command(emit);
    st->lsmod = ct_command_runs(command, "lsmod");
    st->modinfo = ct_command_runs(command, "modinfo");
    g_strlcpy(st->gpu, "gpu:0", sizeof(st->gpu));
    /* One file a GPU: its folder says which. */
    CtStr path = ct_str_of(command), address;
    char pci[CT_PCI_SIZE];
    if (ct_str_between(path, "/gpus/", "/information", &address) && ct_pci_normalise(address, pci))
        g_snprintf(st->gpu, sizeof(st->gpu), "gpu:%s", pci);
    return st;
}

/* "nvidia_uvm  1503232  0" */
static gboolean module_row(State *st, CtEmit *emit, const CtLine *line)
{
    CtStr rest = ct_line_str(line), name = ct_str_token(&rest);
    CtStr size = ct_str_token(&rest), users = ct_str_token(&rest);
    double bytes, n;
    if (!ct_str_number(size, &bytes) || !ct_str_number(users, &n) || name.n > 60)
        return FALSE;
    static const char *const wanted[] = {"nvidia", "nouveau", "nvgpu", "nvmap", "nvhost", "host1x",
                                         "gdrdrv", "nv_peer_mem", "ib_core", "vfio"};
    st->modules++;
    for (gsize i = 0; i < G_N_ELEMENTS(wanted); i++) {
        if (!ct_str_starts(name, wanted[i]))
            continue;
        g_autofree char *key = g_strdup_printf("module.%.*s", (int)name.n, name.p);
        ct_emit_number(emit, line, NULL, key, bytes, "loaded");
        break;
    }
    return TRUE;
}

static gboolean modinfo_row(State *st, CtEmit *emit, const CtLine *line)
{
    CtStr key, value;
    if (!ct_str_key_value(ct_line_str(line), &key, &value))
        return FALSE;
    if (ct_str_eq(key, "version")) {
        ct_emit_text(emit, line, NULL, "version.driver.module-file", value);
        return TRUE;
    }
    if (ct_str_eq(key, "license")) {
        ct_emit_fact(emit, line, NULL, "driver.flavour",
                     ct_str_has(value, "MIT/GPL") ? "open" : "proprietary");
        return TRUE;
    }
    if (ct_str_eq(key, "vermagic")) {
        CtStr rest = value;
        ct_emit_text(emit, line, NULL, "module.vermagic", ct_str_token(&rest));
        return TRUE;
    }
    if (ct_str_eq(key, "filename")) {
        ct_emit_text(emit, line, NULL, "module.filename", value);
        return TRUE;
    }
    return FALSE;
}

/* /proc/driver/nvidia/gpus/.../information */
static gboolean information_row(State *st, CtEmit *emit, const CtLine *line)
{
    static const struct {
        const char *word, *key;
    } keys[] = {{"Model", "gpu.name"}, {"GPU UUID", "gpu.uuid"}, {"Bus Location", "gpu.pci"},
                {"Video BIOS", "gpu.vbios"}, {"GPU Firmware", "gpu.gsp-firmware"},
                {"GPU Excluded", "gpu.excluded"}, {"Device Minor", "gpu.minor"}};
    CtStr key, value;
    if (!ct_str_key_value(ct_line_str(line), &key, &value))
        return FALSE;
    for (gsize i = 0; i < G_N_ELEMENTS(keys); i++) {
        char pci[CT_PCI_SIZE];
        if (!ct_str_eq(key, keys[i].word))
            continue;
        if (strcmp(keys[i].key, "gpu.pci") == 0 && ct_pci_normalise(value, pci))
            ct_emit_fact(emit, line, st->gpu, keys[i].key, pci);
        else
            ct_emit_text(emit, line, st->gpu, keys[i].key, value);
        return TRUE;
    }
    return ct_str_eq(key, "IRQ") || ct_str_starts(key, "DMA") || ct_str_eq(key, "Bus Type");
}

/* "GPU MinFreq=76800000 MaxFreq=921600000 CurrentFreq=230400000" */
static gboolean clocks_row(State *st, CtEmit *emit, const CtLine *line)
{
    CtStr s = ct_line_str(line), rest = s, name = ct_str_token(&rest);
    if (ct_str_starts(s, "SOC family:")) {
        gssize at = ct_str_find(s, "Machine:");
        if (at > 0) {
            ct_emit_text(emit, line, NULL, "host.model", ct_str_from(s, (gsize)at + 8));
            ct_emit_fact(emit, line, NULL, "host.jetson", "yes");
        }
        return TRUE;
    }
    gboolean gpu = ct_str_eq(name, "GPU"), emc = ct_str_eq(name, "EMC");
    if ((!gpu && !emc) || !ct_str_has(rest, "MinFreq="))
        return ct_str_starts(s, "cpu") && ct_str_has(s, "Governor=");
    double min = -1, max = -1, current = -1, forced = -1;
    for (CtStr w = ct_str_token(&rest); w.n; w = ct_str_token(&rest)) {
        CtStr k = {0};
        if (!ct_str_cut(&w, "=", &k))
            continue;
        double v;
        if (!ct_str_number(w, &v))
            continue;
        if (ct_str_eq(k, "MinFreq"))
            min = v;
        else if (ct_str_eq(k, "MaxFreq"))
            max = v;
        else if (ct_str_eq(k, "CurrentFreq"))
            current = v;
        else if (ct_str_eq(k, "FreqOverride"))
            forced = v;
    }
    static const char *const names[] = {"min", "max", "current"};
    double values[] = {min, max, current};
    for (int i = 0; i < 3; i++) {
        char key[48], text[32];
        if (values[i] < 0)
            continue;
        g_snprintf(key, sizeof(key), gpu ? "gpu.clock.sm%s%s" : "emc.clock%s%s",
                   i == 2 ? "" : ".", i == 2 ? "" : names[i]);
        g_snprintf(text, sizeof(text), "%.0f Hz", values[i]);
        ct_emit_number(emit, line, gpu ? "gpu:0" : NULL, key, values[i], text);
    }
    /* jetson_clocks pins the lower bound to the upper one. */
    if (gpu && min > 0 && max > 0)
        ct_emit_fact(emit, line, NULL, "jetson-clocks", min == max ? "on" : "off");
    else if (emc && forced >= 0)
        ct_emit_fact(emit, line, NULL, "emc.override", forced > 0 ? "on" : "off");
    return TRUE;
}

static void line(gpointer state, const CtLine *line, CtEmit *emit)
{
    State *st = state;
    CtStr s = ct_line_str(line);
    gint64 id;
    if (!s.n)
        return;
    if (ct_str_starts(s, "Module ") && ct_str_has(s, "Used by")) {
        st->lsmod = TRUE;
        return;
    }
    if (st->mode_next && ct_str_uint(s, &id)) {
        ct_emit_number(emit, line, NULL, "power.mode.id", (double)id, CT_STR_BUF(s));
        st->mode_next = FALSE;
        return;
    }
    if (ct_str_starts(s, "NV Power Mode")) {
        CtStr rest = s, left;
        st->mode_next = TRUE;
        if (ct_str_cut(&rest, ":", &left))
            ct_emit_text(emit, line, NULL, "power.mode", rest);
        return;
    }
    if ((st->lsmod && module_row(st, emit, line)) || clocks_row(st, emit, line) ||
        (st->modinfo && modinfo_row(st, emit, line)) || information_row(st, emit, line))
        return;
    ct_env_known_line(emit, line);
}

static void finish(gpointer state, CtEmit *emit)
{
    State *st = state;
    /* An empty answer of `lsmod | grep nvidia` is an answer. */
    if (st->lsmod)
        ct_emit_coverage(emit, "modules", NULL);
    g_free(st);
}

static int sniff(const CtSniff *sniff)
{
    CtStr first = ct_sniff_first(sniff);
    if (ct_str_starts(first, "Module ") && ct_str_has(first, "Used by"))
        return 92;
    if (ct_sniff_has(sniff, "NV Power Mode"))
        return sniff->n_lines <= 6 || ct_sniff_has(sniff, "MinFreq=") ? 85 : 0;
    if (ct_sniff_has(sniff, "GPU MinFreq=") || ct_sniff_has(sniff, "EMC MinFreq="))
        return 88;
    if (ct_sniff_has(sniff, "GPU UUID:") && ct_sniff_has(sniff, "Bus Location:") &&
        !ct_sniff_has(sniff, "Device Index:"))
        return 92;
    if (ct_sniff_has(sniff, "filename:") && ct_sniff_has(sniff, "vermagic:"))
        return 92;
    static const char *const programs[] = {"lsmod", "modinfo", "nvpmodel", "jetson_clocks"};
    for (gsize i = 0; i < G_N_ELEMENTS(programs); i++)
        if (ct_command_runs(sniff->command, programs[i]))
            return 75;
    return 0;
}

const CtParser ct_parser_modules = {
    .id = "modules",
    .summary = "lsmod, modinfo, nvpmodel, jetson_clocks",
    .doc = "Loaded kernel modules of the GPU, the module on disk (version, licence, vermagic), "
           "/proc/driver/nvidia/gpus/*/information, the power mode of a Jetson and whether its "
           "clocks are pinned.",
    .sniff = sniff,
    .begin = begin,
    .line = line,
    .finish = finish,
};
