/* SPDX-License-Identifier: Apache-2.0 */
/* lspci, plain and -vv: NVIDIA's devices, their link as it could be and as it is, their driver. */
#include <string.h>

#include "parse/gpu/gpu-parsers.h"

typedef struct {
    char subject[48];
    gboolean nvidia;
    guint devices;
} State;

static gpointer begin(CtEmit *emit)
{
    return g_new0(State, 1);
}

/* "3b:00.0 3D controller: NVIDIA Corporation GA100 [A100 PCIe 80GB] (rev a1)" */
static gboolean device_line(State *st, CtEmit *emit, const CtLine *line, CtStr s)
{
    CtStr rest = s, address = ct_str_token(&rest), class = ct_str("", 0), name;
    char pci[CT_PCI_SIZE];
    if (!memchr(address.p, '.', address.n) || !ct_pci_normalise(address, pci) ||
        !ct_str_cut(&rest, ": ", &class))
        return FALSE;
    gboolean gpu = ct_str_starts(class, "3D controller") || ct_str_starts(class, "VGA compatible") ||
                   ct_str_starts(class, "Display controller");
    st->nvidia = gpu && ct_str_has(rest, "NVIDIA");
    if (!st->nvidia)
        return TRUE;
    st->devices++;
    g_snprintf(st->subject, sizeof(st->subject), "gpu:%s", pci);
    ct_emit_fact(emit, line, st->subject, "gpu.pci", pci);
    if (ct_str_has(rest, "(rev ff)")) /* the device does not answer any more */
        ct_emit_fact_status(emit, line, st->subject, "gpu.pcie.answer", CT_FAILED, "rev ff");
    gssize open = ct_str_find(rest, "["), close = ct_str_find(rest, "]");
    if (open >= 0 && close > open) {
        name = ct_str_head(ct_str_from(rest, (gsize)open + 1), (gsize)(close - open - 1));
        ct_emit_text(emit, line, st->subject, "gpu.name", name);
    }
    return TRUE;
}

/* GT/s of one lane -> generation */
static int generation(double gt)
{
    static const double speeds[] = {2.5, 5, 8, 16, 32, 64};
    for (gsize i = 0; i < G_N_ELEMENTS(speeds); i++)
        if (gt > speeds[i] * 0.95 && gt < speeds[i] * 1.05)
            return (int)i + 1;
    return 0;
}

/* "LnkSta: Speed 2.5GT/s (downgraded), Width x4 (downgraded)" */
static gboolean link_line(State *st, CtEmit *emit, const CtLine *line, CtStr s)
{
    gboolean cap = ct_str_starts(s, "LnkCap:"), sta = ct_str_starts(s, "LnkSta:");
    char key[64], text[16];
    double n;
    if (ct_str_starts(s, "NUMA node: ")) {
        CtStr node = ct_str_from(s, 11);
        if (ct_str_take_plain(&node, &n) && n >= 0) {
            g_snprintf(text, sizeof(text), "%.0f", n);
            ct_emit_number(emit, line, st->subject, "numa.gpu", n, text);
        }
        return TRUE;
    }
    if (!cap && !sta)
        return FALSE;
    const char *which = cap ? "max" : "current";
    gssize at = ct_str_find(s, "Speed ");
    if (at >= 0) {
        CtStr rest = ct_str_from(s, (gsize)at + 6);
        int gen = ct_str_take_plain(&rest, &n) ? generation(n) : 0;
        if (gen) {
            g_snprintf(key, sizeof(key), "gpu.pcie.link.gen.%s", which);
            g_snprintf(text, sizeof(text), "%d", gen);
            ct_emit_number(emit, line, st->subject, key, gen, text);
        }
    }
    at = ct_str_find(s, "Width x");
    if (at >= 0) {
        CtStr rest = ct_str_from(s, (gsize)at + 7);
        if (ct_str_take_plain(&rest, &n) && n >= 0 && n <= 64) {
            g_snprintf(key, sizeof(key), "gpu.pcie.link.width.%s", which);
            g_snprintf(text, sizeof(text), "x%.0f", n);
            ct_emit_number(emit, line, st->subject, key, n, text);
        }
    }
    return TRUE;
}

static void line(gpointer state, const CtLine *line, CtEmit *emit)
{
    State *st = state;
    CtStr raw = ct_str(line->text, line->len), s = ct_str_strip(raw), key, value;
    if (!s.n)
        return;
    if (ct_str_indent(raw) == 0 && device_line(st, emit, line, s))
        return;
    if (!st->nvidia || link_line(st, emit, line, s))
        return;
    if (ct_str_key_value(s, &key, &value) && ct_str_eq(key, "Kernel driver in use"))
        ct_emit_text(emit, line, st->subject, "gpu.kernel-driver", value);
}

static void finish(gpointer state, CtEmit *emit)
{
    State *st = state;
    char text[16];
    g_snprintf(text, sizeof(text), "%u", st->devices);
    ct_emit_number(emit, NULL, NULL, "gpu.pci-count", st->devices, text);
    ct_emit_coverage(emit, "pci-list", NULL);
    g_free(st);
}

static int sniff(const CtSniff *sniff)
{
    guint devices = 0, links = 0;
    for (guint i = 0; i < sniff->n_lines; i++) {
        CtStr s = ct_sniff_line(sniff, i), rest = s, address = ct_str_token(&rest);
        char pci[CT_PCI_SIZE];
        if (address.n > 6 && memchr(address.p, '.', address.n) && ct_pci_normalise(address, pci) &&
            ct_str_has(rest, ": "))
            devices++;
        links += ct_str_starts(s, "LnkSta:") || ct_str_starts(s, "LnkCap:");
    }
    if (devices && (links || ct_sniff_has(sniff, "NVIDIA Corporation")))
        return 88;
    return ct_command_runs(sniff->command, "lspci") && (devices || !sniff->n_lines) ? 80 : 0;
}

const CtParser ct_parser_lspci = {
    .id = "lspci",
    .summary = "lspci of NVIDIA's devices",
    .doc = "lspci and lspci -vv: address and name of each NVIDIA GPU, generation and width of its "
           "link as it could be and as it is, the kernel driver in use, and a device that does "
           "not answer (rev ff).",
    .sniff = sniff,
    .begin = begin,
    .line = line,
    .finish = finish,
};
