/* SPDX-License-Identifier: Apache-2.0 */
/* systemctl status, list-units and unit files. */
#include <string.h>

#include "parse/env/container-lines.h"
#include "parse/env/known-lines.h"

typedef struct {
    char unit[80];
} State;

static gpointer begin(CtEmit *emit)
{
    State *st = g_new0(State, 1);
    CtStr rest = ct_str_of(ct_emit_command(emit));
    /* The unit of `systemctl is-active X`, or of the path of a unit file. */
    for (CtStr w = ct_str_token(&rest); w.n; w = ct_str_token(&rest)) {
        const char *slash = memrchr(w.p, '/', w.n);
        if (slash)
            w = ct_str_from(w, (gsize)(slash - w.p) + 1);
        if (ct_str_ends(w, ".service"))
            ct_str_buf(ct_str_head(w, w.n - 8), st->unit, sizeof(st->unit));
        else if (ct_command_runs(ct_emit_command(emit), "systemctl") && !strchr("-|", w.p[0]) &&
                 !st->unit[0] && memchr(w.p, '-', w.n) && !ct_str_starts(w, "is-") &&
                 !ct_str_starts(w, "list-"))
            ct_str_buf(w, st->unit, sizeof(st->unit));
    }
    return st;
}

static void state_fact(State *st, CtEmit *emit, const CtLine *line, CtStr value)
{
    g_autofree char *key = g_strdup_printf("service.%s", st->unit[0] ? st->unit : "unknown");
    CtStr rest = value, word = ct_str_token(&rest), inside;
    const char *text = CT_STR_BUF(word);
    ct_emit_fact(emit, line, NULL, key, text);
    if (ct_str_between(value, "(Result: ", ")", &inside)) {
        g_autofree char *result = g_strconcat(key, ".result", NULL);
        ct_emit_text(emit, line, NULL, result, inside);
    }
}

static void line(gpointer state, const CtLine *line, CtEmit *emit)
{
    State *st = state;
    CtStr s = ct_line_str(line), key, value, name;
    if (!s.n || s.p[0] == '#')
        return;
    gssize at = ct_str_find(s, ".service - ");
    if (at > 0) { /* "● nvidia-fabricmanager.service - NVIDIA fabric manager service" */
        CtStr head = ct_str_head(s, (gsize)at);
        gsize start = head.n;
        while (start && head.p[start - 1] != ' ')
            start--;
        ct_str_buf(ct_str_from(head, start), st->unit, sizeof(st->unit));
        return;
    }
    if (ct_str_key_value(s, &key, &value)) {
        if (ct_str_eq(key, "Active")) {
            state_fact(st, emit, line, value);
            return;
        }
        if ((ct_str_eq(key, "Main PID") || ct_str_eq(key, "Process")) &&
            ct_str_between(value, "status=", ")", &name)) {
            g_autofree char *status = g_strdup_printf("service.%s.exit", st->unit);
            ct_emit_text(emit, line, NULL, status, name);
            return;
        }
        if (ct_str_eq(key, "Loaded")) {
            if (ct_str_has(value, "not-found")) {
                g_autofree char *missing = g_strdup_printf("service.%s", st->unit);
                ct_emit_fact_status(emit, line, NULL, missing, CT_ABSENT, "not-found");
            }
            return;
        }
    }
    if (ct_str_starts(s, "Environment=")) {
        ct_emit_container_variable(emit, line, NULL, ct_str_from(s, 12));
        return;
    }
    /* The answer of is-active, is-enabled. */
    if (st->unit[0] && (ct_str_eq(s, "active") || ct_str_eq(s, "inactive") ||
                        ct_str_eq(s, "failed") || ct_str_eq(s, "activating"))) {
        state_fact(st, emit, line, s);
        return;
    }
    /* list-units: "nvidia-persistenced.service loaded active running NVIDIA Persistence" */
    CtStr rest = s, unit = ct_str_token(&rest), load = ct_str_token(&rest);
    if (ct_str_eq(unit, "\xe2\x97\x8f")) {
        unit = load;
        load = ct_str_token(&rest);
    }
    if (ct_str_ends(unit, ".service") && (ct_str_eq(load, "loaded") ||
                                          ct_str_eq(load, "not-found"))) {
        ct_str_buf(ct_str_head(unit, unit.n - 8), st->unit, sizeof(st->unit));
        state_fact(st, emit, line, rest);
        return;
    }
    ct_env_known_line(emit, line);
}

static void finish(gpointer state, CtEmit *emit)
{
    ct_emit_coverage(emit, "services", NULL);
    g_free(state);
}

static int sniff(const CtSniff *sniff)
{
    if (ct_sniff_has(sniff, ".service - ") && ct_sniff_has(sniff, "Active: "))
        return 90;
    if (ct_sniff_has(sniff, "[Service]") && ct_sniff_has(sniff, "ExecStart="))
        return 88;
    if (ct_sniff_has(sniff, ".service loaded ") || ct_sniff_has(sniff, ".service  loaded"))
        return 85;
    const char *c = sniff->command;
    if (ct_command_runs(c, "systemctl") || (c && strstr(c, ".service") && strstr(c, "cat")))
        return 70;
    return 0;
}

const CtParser ct_parser_services = {
    .id = "services",
    .summary = "systemctl output and unit files",
    .doc = "State, result and exit of units (service.NAME), list-units, and unit files: their "
           "Environment= and, through the reader of command lines, the container they start.",
    .sniff = sniff,
    .begin = begin,
    .line = line,
    .finish = finish,
};
