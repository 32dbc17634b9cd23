/* SPDX-License-Identifier: Apache-2.0 */
/* nvidia-smi topo -m and -p2p: a matrix of devices. */
#include <string.h>

#include "parse/gpu/gpu-parsers.h"

#define MAX_DEVICES 64

typedef struct {
    char name[MAX_DEVICES][16];
    guint n;
    gboolean p2p;
    guint pairs;
} State;

static gpointer begin(CtEmit *emit)
{
    return g_new0(State, 1);
}

static gboolean device_name(CtStr w, char out[16])
{
    gint64 n;
    if (ct_str_starts(w, "GPU") && ct_str_uint(ct_str_from(w, 3), &n) && n < 4096) {
        g_snprintf(out, 16, "gpu:%d", (int)n);
        return TRUE;
    }
    if ((ct_str_starts(w, "NIC") || ct_str_starts(w, "mlx")) && w.n < 16) {
        ct_str_buf(w, out, 16);
        return TRUE;
    }
    return FALSE;
}

static void take_header(State *st, CtStr row)
{
    st->n = 0;
    for (CtStr w = ct_str_token(&row); w.n && st->n < MAX_DEVICES; w = ct_str_token(&row)) {
        if (!device_name(w, st->name[st->n]))
            break;
        st->n++;
    }
}

static gboolean link_word(CtStr w, gboolean *p2p)
{
    static const char *const topology[] = {"X", "SYS", "NODE", "PHB", "PXB", "PIX", "SOC", "PSB"};
    static const char *const peer[] = {"OK", "CNS", "GNS", "TNS", "NS", "DR", "U", "SW"};
    gint64 n;
    for (gsize i = 0; i < G_N_ELEMENTS(topology); i++)
        if (ct_str_eq(w, topology[i]))
            return TRUE;
    for (gsize i = 0; i < G_N_ELEMENTS(peer); i++)
        if (ct_str_eq(w, peer[i]))
            return *p2p = TRUE;
    return ct_str_starts(w, "NV") && ct_str_uint(ct_str_from(w, 2), &n);
}

static void line(gpointer state, const CtLine *line, CtEmit *emit)
{
    State *st = state;
    CtStr row = ct_line_str(line), rest = row;
    char name[16], other[16];
    CtStr first = ct_str_token(&rest);
    if (!device_name(first, name))
        return;
    CtStr look = rest, second = ct_str_token(&look);
    if (device_name(second, other) || !second.n || ct_str_eq(second, "CPU")) {
        take_header(st, row);
        return;
    }
    for (guint i = 0; i < st->n; i++) {
        gboolean p2p = FALSE;
        CtStr w = ct_str_token(&rest);
        if (!w.n || !link_word(w, &p2p))
            return;
        /* The matrix is symmetric: each pair once, devices against GPUs only. */
        if (ct_str_eq(w, "X") || strncmp(name, "gpu:", 4) != 0)
            continue;
        if (strncmp(st->name[i], "gpu:", 4) == 0 &&
            g_ascii_strtoll(st->name[i] + 4, NULL, 10) < g_ascii_strtoll(name + 4, NULL, 10))
            continue;
        char subject[40];
        g_snprintf(subject, sizeof(subject), "%s/%s", name, st->name[i]);
        ct_emit_text(emit, line, subject, p2p ? "gpu.p2p" : "gpu.topology", w);
        st->pairs++;
    }
}

static void finish(gpointer state, CtEmit *emit)
{
    g_free(state);
}

static int sniff(const CtSniff *sniff)
{
    char name[16];
    guint rows = 0, headers = 0;
    for (guint i = 0; i < MIN(sniff->n_lines, 12u); i++) {
        CtStr rest = ct_sniff_line(sniff, i), first = ct_str_token(&rest);
        gboolean p2p = FALSE;
        if (!device_name(first, name))
            continue;
        CtStr second = ct_str_token(&rest);
        if (link_word(second, &p2p))
            rows++;
        else if (device_name(second, name) || ct_str_eq(second, "CPU") || !second.n)
            headers++;
    }
    return headers && rows ? 92 : 0;
}

const CtParser ct_parser_nvidia_smi_topo = {
    .id = "nvidia-smi-topo",
    .summary = "nvidia-smi topo -m and -p2p",
    .doc = "The matrix of connections between GPUs and network cards (NV#, PIX, PXB, PHB, NODE, "
           "SYS) and of peer access (OK, CNS, ...), as one fact a pair.",
    .sniff = sniff,
    .begin = begin,
    .line = line,
    .finish = finish,
    .no_signatures = TRUE,
};
