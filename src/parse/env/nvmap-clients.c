/* SPDX-License-Identifier: Apache-2.0 */
/* /sys/kernel/debug/nvmap/iovmm/clients: memory that each process holds through NvMap on a Jetson. */
#include <string.h>

#include "parse/common/scan.h"

#define MAX_CLIENTS 2000u

typedef struct {
    guint clients;
} State;

static gpointer begin(CtEmit *emit)
{
    return g_new0(State, 1);
}

/* "1234K" */
static gboolean size_of(CtStr w, double *out)
{
    if (w.n < 2 || (w.p[w.n - 1] != 'K' && w.p[w.n - 1] != 'k') ||
        !ct_str_number(ct_str_head(w, w.n - 1), out) || *out < 0)
        return FALSE;
    *out *= 1024;
    return TRUE;
}

/* "user   python3   8345   1234K", "total   567890K"; the name of a process may hold blanks. */
static void line(gpointer state, const CtLine *line, CtEmit *emit)
{
    State *st = state;
    CtStr rest = ct_line_str(line), w[12];
    guint n = 0;
    double bytes;
    gint64 pid;
    for (CtStr t = ct_str_token(&rest); t.n && n < G_N_ELEMENTS(w); t = ct_str_token(&rest))
        w[n++] = t;
    if (n < 2 || !size_of(w[n - 1], &bytes))
        return;
    if (ct_str_eq(w[0], "total")) {
        ct_emit_number(emit, line, NULL, "host.nvmap.used", bytes, CT_STR_BUF(w[n - 1]));
        return;
    }
    if (n < 4 || !ct_str_uint(w[n - 2], &pid) || st->clients >= MAX_CLIENTS)
        return;
    st->clients++;
    g_autofree char *subject = g_strdup_printf("process:%" G_GINT64_FORMAT, pid);
    CtStr name = ct_str(w[1].p, (gsize)(w[n - 3].p + w[n - 3].n - w[1].p));
    ct_emit_number(emit, line, subject, "process.nvmap", bytes, CT_STR_BUF(name));
}

static void finish(gpointer state, CtEmit *emit)
{
    State *st = state;
    if (st->clients)
        ct_emit_coverage(emit, "gpu-processes", NULL);
    g_free(st);
}

static int sniff(const CtSniff *sniff)
{
    CtStr rest = ct_sniff_first(sniff);
    if (sniff->command && strstr(sniff->command, "nvmap/iovmm/clients"))
        return 92;
    return ct_str_eq(ct_str_token(&rest), "CLIENT") && ct_str_eq(ct_str_token(&rest), "PROCESS") ? 88
                                                                                                 : 0;
}

const CtParser ct_parser_nvmap_clients = {
    .id = "nvmap-clients",
    .summary = "GPU memory of each process on a Jetson",
    .doc = "/sys/kernel/debug/nvmap/iovmm/clients of L4T R32 to R36: bytes that each process holds "
           "through NvMap (process.nvmap), and their total.",
    .sniff = sniff,
    .begin = begin,
    .line = line,
    .finish = finish,
    .no_signatures = TRUE,
};
