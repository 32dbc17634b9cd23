/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/PID/limits: the same facts as of `ulimit -a`. */
#include <string.h>

#include "parse/common/scan.h"

static gpointer begin(CtEmit *emit)
{
    return emit;
}

/* "Max locked memory         65536                65536                bytes" */
static void line(gpointer state, const CtLine *line, CtEmit *emit)
{
    static const struct {
        const char *name, *key;
    } limits[] = {
        {"Max locked memory", "limit.locked-memory"}, {"Max open files", "limit.open-files"},
        {"Max stack size", "limit.stack"},            {"Max address space", "limit.virtual-memory"},
        {"Max processes", "limit.processes"},         {"Max core file size", "limit.core"},
        {"Max resident set", "limit.rss"},            {"Max data size", "limit.data"},
        {"Max realtime priority", "limit.realtime-priority"},
    };
    CtStr s = ct_line_str(line);
    for (gsize i = 0; i < G_N_ELEMENTS(limits); i++) {
        if (!ct_str_starts(s, limits[i].name))
            continue;
        CtStr rest = ct_str_from(s, strlen(limits[i].name)), soft = ct_str_token(&rest);
        CtStr hard = ct_str_token(&rest);
        g_autofree char *hard_key = g_strconcat(limits[i].key, ".hard", NULL);
        const char *keys[] = {limits[i].key, hard_key};
        CtStr values[] = {soft, hard};
        double n;
        for (int k = 0; k < 2; k++) {
            if (ct_str_eq(values[k], "unlimited"))
                ct_emit_fact(emit, line, NULL, keys[k], "unlimited");
            else if (ct_str_number(values[k], &n))
                ct_emit_number(emit, line, NULL, keys[k], n, CT_STR_BUF(values[k]));
        }
        return;
    }
}

static void finish(gpointer state, CtEmit *emit)
{
    ct_emit_coverage(emit, "limits", NULL);
}

static int sniff(const CtSniff *sniff)
{
    return ct_sniff_has(sniff, "Max locked memory") && ct_sniff_has(sniff, "Max open files") ? 90 : 0;
}

const CtParser ct_parser_process_limits = {
    .id = "process-limits",
    .summary = "limits of a process",
    .doc = "/proc/PID/limits: soft limits as facts limit.*, hard ones as limit.*.hard; bytes or a "
           "count, value unlimited.",
    .sniff = sniff,
    .begin = begin,
    .line = line,
    .finish = finish,
    .no_signatures = TRUE,
};
