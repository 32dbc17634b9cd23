/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of kubectl: get pods, get events, get nodes. What messages say is read by signatures. */
#include <string.h>

#include "parse/common/scan.h"

#define MAX_COLUMNS 24

typedef struct {
    char names[MAX_COLUMNS][24];
    gsize starts[MAX_COLUMNS + 1];
    guint n, rows;
} State;

static gpointer begin(CtEmit *emit)
{
    return g_new0(State, 1);
}

/* Titles are in capitals and their columns start where they start: "LAST SEEN   TYPE     REASON". */
static gboolean header(State *st, CtStr raw)
{
    guint n = 0;
    for (gsize i = 0; i < raw.n && n < MAX_COLUMNS;) {
        while (i < raw.n && raw.p[i] == ' ')
            i++;
        gsize from = i;
        while (i < raw.n && !(raw.p[i] == ' ' && (i + 1 >= raw.n || raw.p[i + 1] == ' '))) {
            if (g_ascii_islower(raw.p[i]))
                return FALSE;
            i++;
        }
        if (i == from)
            break;
        ct_str_buf(ct_str(raw.p + from, i - from), st->names[n], sizeof st->names[n]);
        st->starts[n++] = from;
    }
    st->starts[n] = G_MAXSIZE;
    st->n = n;
    return n >= 3;
}

static CtStr cell(const State *st, CtStr raw, const char *name)
{
    for (guint i = 0; i < st->n; i++) {
        if (strcmp(st->names[i], name) != 0 || st->starts[i] >= raw.n)
            continue;
        gsize end = MIN(st->starts[i + 1], raw.n);
        return ct_str_strip(ct_str(raw.p + st->starts[i], end - st->starts[i]));
    }
    return ct_str("", 0);
}

static void pod(State *st, CtEmit *emit, const CtLine *line, CtStr raw)
{
    CtStr name = cell(st, raw, "NAME"), status = cell(st, raw, "STATUS"),
          restarts = cell(st, raw, "RESTARTS"), node = cell(st, raw, "NODE");
    char subject[140];
    double n;
    if (!name.n || !status.n)
        return;
    g_snprintf(subject, sizeof subject, "container:%.*s", (int)MIN(name.n, 120u), name.p);
    ct_emit_text(emit, line, subject, "container.status", status);
    if (ct_str_take_plain(&restarts, &n))
        ct_emit_number(emit, line, subject, "container.restarts", n, NULL);
    if (node.n && !ct_str_eq(node, "<none>"))
        ct_emit_text(emit, line, subject, "container.node", node);
    if (!ct_str_eq(status, "Running") && !ct_str_eq(status, "Completed") &&
        !ct_str_eq(status, "Succeeded") && !ct_str_eq(status, "Pending"))
        ct_emit_text(emit, line, subject, "container.reason", status);
}

static void happening(State *st, CtEmit *emit, const CtLine *line, CtStr raw)
{
    CtStr type = cell(st, raw, "TYPE"), reason = cell(st, raw, "REASON"),
          object = cell(st, raw, "OBJECT");
    char subject[140];
    if (!ct_str_eq(type, "Warning") || !reason.n || !object.n)
        return;
    const char *slash = memchr(object.p, '/', object.n);
    if (slash)
        object = ct_str_from(object, (gsize)(slash - object.p) + 1);
    g_snprintf(subject, sizeof subject, "container:%.*s", (int)MIN(object.n, 120u), object.p);
    ct_emit_text(emit, line, subject, "container.reason", reason);
}

static void node(State *st, CtEmit *emit, const CtLine *line, CtStr raw)
{
    CtStr name = cell(st, raw, "NAME"), gpus = cell(st, raw, "GPU");
    char subject[140];
    double n;
    if (!gpus.n)
        gpus = cell(st, raw, "GPUS");
    if (!gpus.n)
        gpus = cell(st, raw, "NVIDIA.COM/GPU");
    if (!name.n || !gpus.n)
        return;
    g_snprintf(subject, sizeof subject, "node:%.*s", (int)MIN(name.n, 120u), name.p);
    CtStr rest = gpus;
    if (ct_str_take_plain(&rest, &n))
        ct_emit_number(emit, line, subject, "k8s.allocatable-gpus", n, NULL);
    else if (ct_str_eq(gpus, "<none>"))
        ct_emit_fact_status(emit, line, subject, "k8s.allocatable-gpus", CT_ABSENT, "<none>");
}

static void line(gpointer state, const CtLine *line, CtEmit *emit)
{
    State *st = state;
    CtStr raw = ct_str(line->raw, line->raw_len), s = ct_str_strip(raw);
    if (!s.n)
        return;
    if ((ct_str_has(s, "NAME") || ct_str_has(s, "REASON")) && header(st, raw))
        return;
    if (!st->n)
        return;
    st->rows++;
    if (cell(st, raw, "REASON").n)
        happening(st, emit, line, raw);
    else if (cell(st, raw, "STATUS").n && cell(st, raw, "RESTARTS").n)
        pod(st, emit, line, raw);
    else
        node(st, emit, line, raw);
}

static void finish(gpointer state, CtEmit *emit)
{
    State *st = state;
    if (st->rows)
        ct_emit_coverage(emit, "container", NULL);
    g_free(st);
}

static int sniff(const CtSniff *sniff)
{
    for (guint i = 0; i < sniff->n_lines && i < 4; i++) {
        CtStr s = ct_sniff_line(sniff, i);
        if (ct_str_has(s, "NAME ") && ct_str_has(s, "STATUS ") && ct_str_has(s, "RESTARTS"))
            return 92;
        if (ct_str_has(s, "LAST SEEN") && ct_str_has(s, "REASON") && ct_str_has(s, "OBJECT"))
            return 92;
    }
    return ct_command_runs(sniff->command, "kubectl") && ct_command_word(sniff->command, "get") &&
                   ct_str_starts(ct_sniff_first(sniff), "NAME ")
               ? 88
               : 0;
}

const CtParser ct_parser_kubectl = {
    .id = "kubectl",
    .summary = "tables of kubectl get",
    .doc = "kubectl get pods (also -A, -o wide), get events and get nodes with a column of GPUs: "
           "status, reason and restarts of each pod, reasons of warnings, GPUs that a node offers. "
           "The messages of events are read by signatures.",
    .sniff = sniff,
    .begin = begin,
    .line = line,
    .finish = finish,
};
