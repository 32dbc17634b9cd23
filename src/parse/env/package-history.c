/* SPDX-License-Identifier: Apache-2.0 */
/* What was installed, upgraded or removed and when: apt's history, dpkg.log, dnf, pip. */
#include <string.h>

#include <jansson.h>

#include "parse/env/known-lines.h"
#include "parse/env/version-scan.h"

#define MAX_CHANGES 20000u

typedef struct {
    gint64 t_ns; /* of the apt run */
    char by[160];
    guint changes;
} State;

static gpointer begin(CtEmit *emit)
{
    State *st = g_new0(State, 1);
    st->t_ns = CT_TIME_UNKNOWN;
    return st;
}

static void change(State *st, CtEmit *emit, const CtLine *line, gint64 t, const char *action,
                   CtStr name, CtStr from, CtStr to)
{
    gssize colon = ct_str_find(name, ":");
    if (colon > 0)
        name = ct_str_head(name, (gsize)colon);
    if (!name.n || name.n > 100 || st->changes >= MAX_CHANGES)
        return;
    st->changes++;
    json_t *detail = json_object();
    json_object_set_new(detail, "action", json_string(action));
    if (from.n)
        json_object_set_new(detail, "from", json_stringn_nocheck(from.p, MIN(from.n, (gsize)100)));
    if (to.n)
        json_object_set_new(detail, "to", json_stringn_nocheck(to.p, MIN(to.n, (gsize)100)));
    if (st->by[0])
        json_object_set_new(detail, "by", json_string(st->by));
    char *text = json_dumps(detail, JSON_COMPACT);
    json_decref(detail);
    g_autofree char *package = ct_str_dup(name);
    /* Each change is an event of its own: only the parts of the GPU stack matter to anybody. */
    ct_emit_event(emit, line, (CtEventRow){.kind = "package-change", .severity = CT_SEV_INFO,
                                           .name = package, .t_ns = t == CT_TIME_UNKNOWN ? 0 : t,
                                           .detail = text});
    free(text);
}

static gboolean relevant(CtStr name)
{
    static const char *const parts[] = {
        "nvidia", "cuda", "cudnn", "nvinfer", "tensorrt", "nccl", "linux-image", "linux-headers",
        "linux-modules", "docker", "containerd", "torch", "onnxruntime", "deepstream", "jetpack",
        "l4t", "libcublas", "libcufft", "kernel", "triton", "dkms", "libc6", "glibc"};
    for (gsize i = 0; i < G_N_ELEMENTS(parts); i++)
        if (ct_str_ifind(name, parts[i]) >= 0)
            return TRUE;
    return FALSE;
}

/* "Upgrade: a:amd64 (1, 2), b:amd64 (3, 4)" */
static gboolean apt_list(State *st, CtEmit *emit, const CtLine *line, CtStr s)
{
    static const struct {
        const char *word, *action;
    } kinds[] = {{"Upgrade:", "upgrade"}, {"Install:", "install"}, {"Remove:", "remove"},
                 {"Purge:", "remove"}, {"Downgrade:", "downgrade"}, {"Reinstall:", "reinstall"}};
    for (gsize i = 0; i < G_N_ELEMENTS(kinds); i++) {
        if (!ct_str_starts(s, kinds[i].word))
            continue;
        CtStr rest = ct_str_from(s, strlen(kinds[i].word));
        while (rest.n) {
            CtStr name, versions;
            if (!ct_str_cut(&rest, "(", &name) || !ct_str_cut(&rest, ")", &versions))
                break;
            while (name.n && strchr(", ", name.p[0]))
                name = ct_str_from(name, 1);
            CtStr from = ct_str_field(&versions, ','), to = ct_str_field(&versions, ',');
            gboolean one = !to.n || ct_str_eq(to, "automatic");
            if (strcmp(kinds[i].action, "install") == 0) {
                to = from;
                from = ct_str("", 0);
            } else if (one) {
                to = ct_str("", 0);
            }
            if (relevant(name))
                change(st, emit, line, st->t_ns, kinds[i].action, name, from, to);
        }
        return TRUE;
    }
    return FALSE;
}

/* "2024-04-02 08:56:20 upgrade nvidia-l4t-core:arm64 35.4.1-... 35.5.0-..." */
static gboolean dpkg_log(State *st, CtEmit *emit, const CtLine *line, CtStr s)
{
    CtStr rest = s, action = ct_str_token(&rest), name = ct_str_token(&rest);
    CtStr from = ct_str_token(&rest), to = ct_str_token(&rest);
    static const char *const actions[] = {"upgrade", "install", "remove", "purge"};
    for (gsize i = 0; i < G_N_ELEMENTS(actions); i++) {
        if (!ct_str_eq(action, actions[i]))
            continue;
        if (!to.n || (!g_ascii_isdigit(from.p[0]) && from.p[0] != '<'))
            return FALSE;
        if (from.p[0] == '<')
            from = ct_str("", 0);
        if (to.p[0] == '<')
            to = ct_str("", 0);
        if (relevant(name))
            change(st, emit, line, line->t_ns, actions[i], name, from, to);
        return TRUE;
    }
    return ct_str_eq(action, "status") || ct_str_eq(action, "startup") ||
           ct_str_eq(action, "configure") || ct_str_eq(action, "trigproc");
}

/* "Successfully installed torch-2.2.1 nvidia-nccl-cu11-2.14.3" */
static gboolean pip_result(State *st, CtEmit *emit, const CtLine *line, CtStr s)
{
    gboolean install = ct_str_starts(s, "Successfully installed ");
    gboolean remove = ct_str_starts(s, "Successfully uninstalled ");
    if (!install && !remove)
        return FALSE;
    CtStr rest = ct_str_from(s, install ? 23 : 25);
    for (CtStr w = ct_str_token(&rest); w.n; w = ct_str_token(&rest)) {
        gssize cut = -1;
        for (gsize i = 0; i + 1 < w.n; i++)
            if (w.p[i] == '-' && g_ascii_isdigit(w.p[i + 1]))
                cut = (gssize)i;
        if (cut <= 0)
            continue;
        CtStr name = ct_str_head(w, (gsize)cut), version = ct_str_from(w, (gsize)cut + 1);
        if (relevant(name))
            change(st, emit, line, line->t_ns, install ? "install" : "remove", name,
                   install ? ct_str("", 0) : version, install ? version : ct_str("", 0));
    }
    return TRUE;
}

/* dnf and yum: "Upgraded: nvidia-driver-3:550.54.15-1.el9.x86_64", "Installed: ..." */
static gboolean rpm_log(State *st, CtEmit *emit, const CtLine *line, CtStr s)
{
    static const struct {
        const char *word, *action;
    } kinds[] = {{"Upgraded: ", "upgrade"}, {"Updated: ", "upgrade"}, {"Installed: ", "install"},
                 {"Erased: ", "remove"}, {"Upgrade: ", "upgrade"}};
    for (gsize i = 0; i < G_N_ELEMENTS(kinds); i++) {
        gssize at = ct_str_find(ct_str_head(s, 60), kinds[i].word);
        if (at < 0)
            continue;
        CtStr rest = ct_str_from(s, (gsize)at + strlen(kinds[i].word)), w = ct_str_token(&rest);
        if (rest.n || ct_str_has(w, "("))
            return FALSE;
        gsize dashes = 0, cut[2] = {0, 0};
        for (gsize k = w.n; k > 0 && dashes < 2; k--)
            if (w.p[k - 1] == '-')
                cut[dashes++] = k - 1;
        if (dashes < 2)
            return FALSE;
        CtStr name = ct_str_head(w, cut[1]);
        if (relevant(name))
            change(st, emit, line, line->t_ns, kinds[i].action, name, ct_str("", 0),
                   ct_str_from(w, cut[1] + 1));
        return TRUE;
    }
    return FALSE;
}

static void line(gpointer state, const CtLine *line, CtEmit *emit)
{
    State *st = state;
    CtStr s = ct_line_str(line);
    gint64 t;
    gsize used;
    gboolean no_year;
    if (ct_str_starts(s, "Start-Date:")) {
        CtStr stamp = ct_str_strip(ct_str_from(s, 11));
        char buf[40]; /* two blanks stand between date and time */
        gsize n = 0;
        for (gsize i = 0; i < stamp.n && n < sizeof(buf); i++)
            if (!(stamp.p[i] == ' ' && n && buf[n - 1] == ' '))
                buf[n++] = stamp.p[i];
        if (ct_text_time(buf, n, &t, &used, &no_year)) {
            st->t_ns = t;
            ct_emit_clock(emit, "wall");
        }
        st->by[0] = '\0';
        return;
    }
    if (ct_str_starts(s, "Commandline:")) {
        ct_str_buf(ct_str_strip(ct_str_from(s, 12)), st->by, sizeof(st->by));
        char *valid = g_utf8_make_valid(st->by, -1);
        g_strlcpy(st->by, valid, sizeof(st->by));
        g_free(valid);
        if (!g_utf8_validate(st->by, -1, NULL))
            st->by[0] = '\0';
        return;
    }
    if (apt_list(st, emit, line, s) || dpkg_log(st, emit, line, s) ||
        pip_result(st, emit, line, s) || rpm_log(st, emit, line, s))
        return;
    ct_env_known_line(emit, line);
}

static void finish(gpointer state, CtEmit *emit)
{
    State *st = state;
    ct_emit_coverage(emit, "package-history", NULL);
    g_free(st);
}

static int sniff(const CtSniff *sniff)
{
    guint dpkg = 0, lines = 0;
    for (guint i = 0; i < sniff->n_lines; i++) {
        CtStr s = ct_sniff_line(sniff, i);
        if (!s.n)
            continue;
        lines++;
        if (ct_str_starts(s, "Start-Date:") || ct_str_starts(s, "Commandline: apt") ||
            ct_str_starts(s, "Commandline: /usr/bin/unattended"))
            return 92;
        CtStr rest = s, a = ct_str_token(&rest);
        if (ct_str_eq(a, "status") || ct_str_eq(a, "startup") || ct_str_eq(a, "upgrade") ||
            ct_str_eq(a, "configure") || ct_str_eq(a, "install") || ct_str_eq(a, "trigproc"))
            dpkg += ct_str_has(rest, ":") || ct_str_has(rest, "archives");
        if (ct_str_starts(s, "Successfully installed "))
            return 60;
        if (ct_str_has(s, "Upgraded: ") || ct_str_has(s, "Updated: ") ||
            ct_str_has(s, "SUBDEBUG Upgrade"))
            dpkg++;
    }
    return dpkg >= 2 && dpkg * 2 >= lines ? 80 : dpkg && dpkg == lines ? 60 : 0;
}

const CtParser ct_parser_package_history = {
    .id = "package-history",
    .summary = "history of package changes",
    .doc = "apt's history.log, dpkg.log, dnf and yum logs, pip's result lines: an event "
           "package-change with from and to for every part of the GPU stack, the kernel and the "
           "container engine.",
    .sniff = sniff,
    .begin = begin,
    .line = line,
    .finish = finish,
};
