/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /etc/nvpmodel.conf: the power modes that a board knows. A capture marks the active one with
 * "ACTIVE"; without the mark the caps of no mode are facts, only the list of modes.
 */
#include <string.h>

#include "parse/common/scan.h"

typedef struct {
    gboolean active;
    GString *modes;
    guint online;
    gboolean any_online;
    double cpu;
} State;

static gpointer begin(CtEmit *emit)
{
    State *st = g_new0(State, 1);
    st->modes = g_string_new(NULL);
    return st;
}

/* "< POWER_MODEL ID=2 NAME=MODE_15W >" */
static void header(State *st, CtEmit *emit, const CtLine *line, CtStr s)
{
    CtStr id, name, rest;
    st->active = FALSE;
    gssize at = ct_str_find(s, "DEFAULT=");
    if (ct_str_has(s, "PM_CONFIG") && at > 0) {
        rest = ct_str_from(s, (gsize)at + 8);
        ct_emit_text(emit, line, NULL, "power.mode.default", ct_str_token(&rest));
    }
    if (!ct_str_has(s, "POWER_MODEL") || !ct_str_between(s, "ID=", " ", &id) ||
        !ct_str_between(s, "NAME=", " ", &name))
        return;
    if (st->modes->len < 400)
        g_string_append_printf(st->modes, "%s%.*s:%.*s", st->modes->len ? " " : "", (int)id.n, id.p,
                               (int)MIN(name.n, (gsize)40), name.p);
    st->active = ct_str_ends(s, "ACTIVE");
    if (!st->active)
        return;
    ct_emit_text(emit, line, NULL, "power.mode", name);
    ct_emit_field(emit, line, NULL, "power.mode.id", id);
}

/* Some values are -1 or the largest integer: no cap. */
static void cap(CtEmit *emit, const CtLine *line, const char *key, double hz)
{
    char text[32];
    if (hz <= 0 || hz >= 2147483647000.0 || hz == 2147483647.0) {
        ct_emit_fact(emit, line, NULL, key, "none");
        return;
    }
    g_snprintf(text, sizeof(text), "%.0f Hz", hz);
    ct_emit_number(emit, line, NULL, key, hz, text);
}

/* "GPU MAX_FREQ 624750000", "CPU_A78_0 MAX_FREQ 1510400" (kHz), "CPU_ONLINE CORE_4 0" */
static void setting(State *st, CtEmit *emit, const CtLine *line, CtStr s)
{
    CtStr rest = s, part = ct_str_token(&rest), name = ct_str_token(&rest);
    double n;
    if (!ct_str_number(ct_str_token(&rest), &n))
        return;
    if (ct_str_eq(part, "CPU_ONLINE")) {
        st->online += n > 0;
        st->any_online = TRUE;
    } else if (ct_str_eq(part, "TPC_POWER_GATING")) {
        ct_emit_text(emit, line, NULL, "power.mode.tpc-mask", ct_str_strip(ct_str_from(s, s.n - 1)));
    } else if (!ct_str_eq(name, "MAX_FREQ")) {
        return;
    } else if (ct_str_eq(part, "GPU")) {
        cap(emit, line, "power.mode.cap.gpu", n);
    } else if (ct_str_eq(part, "EMC")) {
        cap(emit, line, "power.mode.cap.emc", n);
    } else if (ct_str_starts(part, "CPU_") && n != st->cpu) {
        st->cpu = n;
        cap(emit, line, "power.mode.cap.cpu", n * 1000);
    } else if (ct_str_starts(part, "DLA0_CORE")) {
        cap(emit, line, "power.mode.cap.dla", n);
    }
}

static void line(gpointer state, const CtLine *line, CtEmit *emit)
{
    State *st = state;
    CtStr s = ct_line_str(line);
    if (ct_str_starts(s, "<"))
        header(st, emit, line, s);
    else if (st->active && s.n && s.p[0] != '#')
        setting(st, emit, line, s);
}

static void finish(gpointer state, CtEmit *emit)
{
    State *st = state;
    char text[16];
    g_snprintf(text, sizeof(text), "%u", st->online);
    if (st->any_online)
        ct_emit_number(emit, NULL, NULL, "power.mode.cpus", st->online, text);
    if (st->modes->len)
        ct_emit_fact(emit, NULL, NULL, "power.modes", st->modes->str);
    g_string_free(st->modes, TRUE);
    g_free(st);
}

static int sniff(const CtSniff *sniff)
{
    return ct_sniff_has(sniff, "< POWER_MODEL ID=") || ct_sniff_has(sniff, "< PM_CONFIG") ? 90 : 0;
}

const CtParser ct_parser_nvpmodel_conf = {
    .id = "nvpmodel-conf",
    .summary = "power modes of a Jetson",
    .doc = "/etc/nvpmodel.conf: names and numbers of the modes and the default; of the block marked "
           "ACTIVE by a capture also the caps on GPU, memory and CPU clocks and the cores online.",
    .sniff = sniff,
    .begin = begin,
    .line = line,
    .finish = finish,
    .no_signatures = TRUE,
};
