/* SPDX-License-Identifier: Apache-2.0 */
/* The indented text of `nvidia-smi -q`, whole or any -d part of it, also after grep. */
#include <string.h>

#include "parse/env/known-lines.h"
#include "parse/gpu/gpu-parsers.h"

#define MAX_LEVELS 12

typedef struct {
    CtSmiTree *tree;
    struct {
        gsize indent;
        char slug[64];
    } level[MAX_LEVELS];
    guint depth;
    gboolean in_gpu;
} State;

static gpointer begin(CtEmit *emit)
{
    State *st = g_new0(State, 1);
    st->tree = ct_smi_tree_new(emit);
    return st;
}

void ct_nvidia_version(CtEmit *emit, const CtLine *line, const char *key, CtStr value)
{
    CtStr out;
    CtStr rest = value;
    if (ct_str_cut(&rest, "[", &out) && out.n) /* "610.57.04 [Deprecated; ...]" */
        value = out;
    else if (ct_str_has(value, "eprecated"))
        return;
    ct_emit_text(emit, line, NULL, key, value);
}

static gboolean top_line(State *st, CtStr key, CtStr value, const CtLine *line, CtEmit *emit)
{
    static const struct {
        const char *word, *key;
    } versions[] = {
        {"Driver Version", "version.driver"},
        {"KMD Version", "version.driver"},
        {"CUDA Version", "version.cuda.driver"},
        {"CUDA UMD Version", "version.cuda.driver"},
        {"NVML Version", "version.nvml"},
    };
    if (ct_str_eq(key, "Timestamp")) {
        ct_smi_tree_time(st->tree, emit, line, value);
        st->in_gpu = FALSE;
        return TRUE;
    }
    if (ct_str_eq(key, "Attached GPUs")) {
        ct_smi_tree_attached(st->tree, emit, line, value);
        return TRUE;
    }
    for (gsize i = 0; i < G_N_ELEMENTS(versions); i++) {
        if (ct_str_eq(key, versions[i].word)) {
            ct_nvidia_version(emit, line, versions[i].key, value);
            return TRUE;
        }
    }
    return FALSE;
}

static void line(gpointer state, const CtLine *line, CtEmit *emit)
{
    State *st = state;
    CtStr raw = ct_str(line->text, line->len), s = ct_str_strip(raw);
    gsize indent = ct_str_indent(raw);
    CtStr key, value = ct_str("", 0);
    char pci[CT_PCI_SIZE];
    if (!s.n || ct_str_starts(s, "===="))
        return;
    CtStr address = ct_str_strip(ct_str_from(s, 4));
    gint64 index;
    /* A bare number stands where the library could not tell the address. */
    if (indent == 0 && ct_str_starts(s, "GPU ") &&
        (ct_pci_normalise(address, pci) || ct_str_uint(address, &index))) {
        ct_smi_tree_gpu(st->tree, emit, line, address);
        st->in_gpu = TRUE;
        st->depth = 0;
        return;
    }
    gboolean has_value = ct_str_key_value(s, &key, &value);
    if (!has_value)
        key = s;
    if (indent == 0 && has_value && top_line(st, key, value, line, emit))
        return;
    if (indent == 0 && !has_value && !st->in_gpu && ct_env_known_line(emit, line))
        return;
    while (st->depth && st->level[st->depth - 1].indent >= indent)
        st->depth--;
    if (st->depth == MAX_LEVELS)
        return;
    st->level[st->depth].indent = indent;
    ct_smi_slug(key, st->level[st->depth].slug, sizeof(st->level[0].slug));
    st->depth++;
    if (!has_value)
        return;
    char path[MAX_LEVELS * 65];
    gsize n = 0;
    for (guint i = 0; i < st->depth; i++)
        n += (gsize)g_snprintf(path + n, sizeof(path) - n, "%s%s", i ? "/" : "",
                               st->level[i].slug);
    ct_smi_tree_value(st->tree, emit, line, path, value);
}

static void finish(gpointer state, CtEmit *emit)
{
    State *st = state;
    ct_smi_tree_finish(st->tree, emit);
    g_free(st);
}

static int sniff(const CtSniff *sniff)
{
    if (ct_sniff_has(sniff, "<nvidia_smi_log>"))
        return 0;
    if (ct_sniff_has(sniff, "==NVSMI LOG=="))
        return 95;
    gboolean asked = ct_command_runs(sniff->command, "nvidia-smi") &&
                     (ct_command_word(sniff->command, "-q") ||
                      ct_command_word(sniff->command, "--query")) &&
                     !ct_command_word(sniff->command, "-x");
    if (asked && ct_sniff_has(sniff, " : "))
        return 90;
    if (asked)
        return 60;
    static const char *const blocks[] = {
        "    ECC Errors", "    Remapped Rows", "    Retired Pages", "    FB Memory Usage",
        "    Clocks Event Reasons", "    Clocks Throttle Reasons", "    GPU Power Readings",
        "    Power Readings", "    GPU UUID  ", "    Product Name  ", "    GPU Recovery Action"};
    guint n = 0;
    for (gsize i = 0; i < G_N_ELEMENTS(blocks); i++)
        n += ct_sniff_has(sniff, blocks[i]);
    return n >= 2 ? 85 : n == 1 && ct_sniff_has(sniff, "  : ") ? 60 : 0;
}

const CtParser ct_parser_nvidia_smi_q = {
    .id = "nvidia-smi-q",
    .summary = "the indented report of nvidia-smi -q",
    .doc = "nvidia-smi -q of drivers 390 to 610, whole, any -d part, one or many GPUs, repeated "
           "(-l), or a piece cut out by grep. The tree of indents gives gpu.* facts: identity, "
           "PCIe link, ECC counters of the old and the new layout with totals, retired pages, row "
           "remapping with its histogram, clock event reasons and their counters, clocks, power, "
           "temperatures and limits, fabric, MIG, recovery action, processes.",
    .sniff = sniff,
    .begin = begin,
    .line = line,
    .finish = finish,
};
