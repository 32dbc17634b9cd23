/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compose files, read by their indents: what a service asks of GPUs, runtime, shared memory and
 * environment. Only the block style that people write is understood; the rest is skipped.
 */
#include <string.h>

#include "parse/env/container-lines.h"

#define MAX_SERVICES 64
#define MAX_LEVELS 12

typedef struct {
    gsize indent;
    char key[48];
} Level;

typedef struct {
    Level level[MAX_LEVELS];
    guint depth;
    char service[80];
    guint services;
    gboolean open, reservation;
    char image[140], gpus[64], runtime[40], shm[32], ipc[32], network[40], privileged[8];
    guint devices;
    gboolean has_node;
    guint number; /* of the service's first line */
    char text[100];
    gsize service_indent;
} State;

static gpointer begin(CtEmit *emit)
{
    return g_new0(State, 1);
}

static void end_service(State *st, CtEmit *emit)
{
    if (!st->open)
        return;
    CtContainer c = {.name = ct_str_of(st->service), .image = ct_str_of(st->image),
                     .gpus = ct_str_of(st->gpus[0] ? st->gpus : st->reservation ? "requested" : ""),
                     .runtime = ct_str_of(st->runtime), .shm_size = ct_str_of(st->shm),
                     .ipc = ct_str_of(st->ipc), .network = ct_str_of(st->network),
                     .privileged = ct_str_of(st->privileged), .devices = st->devices,
                     .has_node = st->has_node};
    CtLine line = ct_line_at(st->number, st->text, strlen(st->text));
    ct_emit_container(emit, &line, &c);
    st->open = FALSE;
    st->image[0] = st->gpus[0] = st->runtime[0] = st->shm[0] = st->ipc[0] = st->network[0] = '\0';
    st->privileged[0] = '\0';
    st->devices = 0;
    st->reservation = st->has_node = FALSE;
}

static CtStr plain_scalar(CtStr s)
{
    s = ct_str_strip(s);
    if (s.n > 1 && strchr("'\"", s.p[0]) && s.p[s.n - 1] == s.p[0])
        return ct_str(s.p + 1, s.n - 2);
    gssize comment = ct_str_find(s, " #");
    return comment >= 0 ? ct_str_strip(ct_str_head(s, (gsize)comment)) : s;
}

static gboolean below(const State *st, const char *key)
{
    for (guint i = 0; i < st->depth; i++)
        if (strcmp(st->level[i].key, key) == 0)
            return TRUE;
    return FALSE;
}

static void keep(char *out, gsize size, CtStr value)
{
    ct_str_buf(value, out, size);
}

static void pair(State *st, CtStr key, CtStr value, const CtLine *line, CtEmit *emit)
{
    char subject[140];
    ct_container_subject(ct_str_of(st->service), ct_str("", 0), subject);
    if (below(st, "environment")) {
        g_autofree char *text = g_strdup_printf("%.*s=%.*s", (int)key.n, key.p,
                                                (int)MIN(value.n, (gsize)1000), value.p);
        ct_emit_container_variable(emit, line, subject, ct_str_of(text));
    } else if (ct_str_eq(key, "image")) {
        keep(st->image, sizeof(st->image), value);
    } else if (ct_str_eq(key, "runtime")) {
        keep(st->runtime, sizeof(st->runtime), value);
    } else if (ct_str_eq(key, "shm_size")) {
        keep(st->shm, sizeof(st->shm), value);
    } else if (ct_str_eq(key, "ipc")) {
        keep(st->ipc, sizeof(st->ipc), value);
    } else if (ct_str_eq(key, "network_mode")) {
        keep(st->network, sizeof(st->network), value);
    } else if (ct_str_eq(key, "privileged")) {
        keep(st->privileged, sizeof(st->privileged),
             ct_str_of(ct_str_eq(value, "true") ? "yes" : "no"));
    } else if (ct_str_eq(key, "gpus")) {
        keep(st->gpus, sizeof(st->gpus), value);
    } else if (ct_str_eq(key, "count") && below(st, "devices")) {
        keep(st->gpus, sizeof(st->gpus), value);
    } else if (ct_str_eq(key, "driver") && below(st, "reservations")) {
        st->reservation = TRUE;
    }
}

static void list_item(State *st, CtStr item, const CtLine *line, CtEmit *emit)
{
    char subject[140];
    ct_container_subject(ct_str_of(st->service), ct_str("", 0), subject);
    if (below(st, "environment")) {
        ct_emit_container_variable(emit, line, subject, item);
    } else if (below(st, "devices") && !below(st, "reservations")) {
        st->devices++;
        st->has_node |= ct_str_starts(item, "/dev/nv");
        if (ct_str_starts(item, "nvidia.com/gpu"))
            keep(st->gpus, sizeof(st->gpus), item);
    } else if (below(st, "capabilities") && ct_str_eq(item, "gpu")) {
        st->reservation = TRUE;
    }
}

static void line(gpointer state, const CtLine *line, CtEmit *emit)
{
    State *st = state;
    CtStr raw = ct_str(line->text, line->len), s = ct_str_strip(raw);
    gsize indent = ct_str_indent(raw);
    if (!s.n || s.p[0] == '#' || ct_str_starts(s, "---"))
        return;
    gboolean item = ct_str_starts(s, "- ");
    while (st->depth && st->level[st->depth - 1].indent >= indent + (item ? 1 : 0))
        st->depth--;
    if (item) {
        s = plain_scalar(ct_str_from(s, 2));
        indent += 2;
        if (ct_str_has(s, "capabilities:") && ct_str_has(s, "gpu"))
            st->reservation = TRUE;
        if (!ct_str_has(s, ": ") && !(s.n && s.p[s.n - 1] == ':')) {
            if (st->open)
                list_item(st, s, line, emit);
            return;
        }
    }
    CtStr key, value;
    if (!ct_str_key_value(s, &key, &value) || key.n > 60)
        return;
    value = plain_scalar(value);
    if (st->depth == 1 && strcmp(st->level[0].key, "services") == 0) {
        end_service(st, emit);
        if (st->services >= MAX_SERVICES)
            return;
        st->services++;
        st->open = TRUE;
        keep(st->service, sizeof(st->service), key);
        st->number = line->number;
        keep(st->text, sizeof(st->text), s);
    } else if (st->open && value.n) {
        if (ct_str_has(value, "gpu") && ct_str_eq(key, "capabilities"))
            st->reservation = TRUE;
        pair(st, key, value, line, emit);
    }
    if (indent == 0)
        end_service(st, emit);
    if (st->depth < MAX_LEVELS) {
        st->level[st->depth].indent = indent;
        ct_str_buf(key, st->level[st->depth].key, sizeof(st->level[0].key));
        st->depth++;
    }
}

static void finish(gpointer state, CtEmit *emit)
{
    State *st = state;
    end_service(st, emit);
    if (st->services == 1) {
        char subject[140];
        ct_container_subject(ct_str_of(st->service), ct_str("", 0), subject);
        ct_emit_scope(emit, subject);
    }
    if (st->services)
        ct_emit_coverage(emit, "container", NULL);
    g_free(st);
}

static int sniff(const CtSniff *sniff)
{
    gboolean services = FALSE;
    guint keys = 0;
    static const char *const words[] = {"image:", "runtime:", "environment:", "volumes:",
                                        "deploy:", "command:", "devices:", "shm_size:", "ports:",
                                        "restart:", "build:"};
    for (guint i = 0; i < sniff->n_lines; i++) {
        CtStr raw = ct_str(sniff->lines[i].text, sniff->lines[i].len), s = ct_str_strip(raw);
        if (ct_str_starts(raw, "services:"))
            services = TRUE;
        for (gsize k = 0; k < G_N_ELEMENTS(words); k++)
            keys += ct_str_starts(s, words[k]);
    }
    return services && keys ? 90 : 0;
}

const CtParser ct_parser_compose = {
    .id = "compose",
    .summary = "compose files",
    .doc = "docker-compose.yml and compose.yaml: image, runtime, GPU reservations, shared memory, "
           "devices and the NVIDIA variables of each service. Comments do not count.",
    .sniff = sniff,
    .begin = begin,
    .line = line,
    .finish = finish,
};
