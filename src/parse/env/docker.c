/* SPDX-License-Identifier: Apache-2.0 */
/* docker info, NVIDIA's container tools, kubectl describe: "Key: value" lines. */
#include <string.h>

#include "parse/env/known-lines.h"

typedef struct {
    gboolean kubectl, cli;
    gint64 device;     /* of nvidia-container-cli info */
    char pod[100], container[100];
    gsize container_indent;
    gboolean in_containers, in_limits;
    guint found;
} State;

static gpointer begin(CtEmit *emit)
{
    State *st = g_new0(State, 1);
    const char *command = ct_emit_command(emit);
    st->kubectl = ct_command_runs(command, "kubectl");
    st->cli = ct_command_runs(command, "nvidia-container-cli");
    st->device = -1;
    return st;
}

static gboolean engine(CtEmit *emit, const CtLine *line, CtStr key, CtStr value)
{
    static const struct {
        const char *word, *key;
    } keys[] = {
        {"Server Version", "version.docker"},       {"Runtimes", "docker.runtimes"},
        {"Default Runtime", "docker.default-runtime"}, {"Cgroup Driver", "docker.cgroup-driver"},
        {"Cgroup Version", "docker.cgroup-version"}, {"Storage Driver", "docker.storage-driver"},
        {"Operating System", "version.os"},         {"Kernel Version", "version.kernel"},
        {"Architecture", "host.arch"},              {"Total Memory", "host.memory.total"},
        {"CPUs", "host.cpu.count"},                 {"Docker Root Dir", "docker.root"},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(keys); i++) {
        if (!ct_str_eq(key, keys[i].word))
            continue;
        if (g_str_has_prefix(keys[i].key, "host.") && keys[i].key[5] != 'a')
            ct_emit_field(emit, line, NULL, keys[i].key, value);
        else
            ct_emit_text(emit, line, NULL, keys[i].key, value);
        return TRUE;
    }
    return FALSE;
}

/* nvidia-container-cli info */
static gboolean container_cli(State *st, CtEmit *emit, const CtLine *line, CtStr key, CtStr value)
{
    char subject[24];
    if (ct_str_eq(key, "NVRM version")) {
        ct_emit_text(emit, line, NULL, "version.driver", value);
        return TRUE;
    }
    if (ct_str_eq(key, "CUDA version")) {
        ct_emit_text(emit, line, NULL, "version.cuda.driver", value);
        return TRUE;
    }
    if (ct_str_eq(key, "Device Index")) {
        if (!ct_str_uint(value, &st->device) || st->device > 4096)
            st->device = -1;
        return TRUE;
    }
    if (st->device < 0)
        return FALSE;
    g_snprintf(subject, sizeof(subject), "gpu:%d", (int)st->device);
    if (ct_str_eq(key, "Model"))
        ct_emit_text(emit, line, subject, "gpu.name", value);
    else if (ct_str_eq(key, "Architecture"))
        ct_emit_text(emit, line, subject, "gpu.compute-capability", value);
    else if (ct_str_eq(key, "GPU UUID"))
        ct_emit_text(emit, line, subject, "gpu.uuid", value);
    else if (ct_str_eq(key, "Bus Location"))
        ct_emit_gpu_names(emit, subject, value, ct_str("", 0));
    else
        return FALSE;
    return TRUE;
}

/* /etc/nvidia-container-runtime/config.toml: mode = "csv" */
static gboolean toml(CtEmit *emit, const CtLine *line, CtStr s)
{
    static const struct {
        const char *word, *key;
    } keys[] = {{"mode", "container-toolkit.mode"}, {"no-cgroups", "container-toolkit.no-cgroups"},
                {"debug", "container-toolkit.debug"},
                {"accept-nvidia-visible-devices-envvar-when-unprivileged",
                 "container-toolkit.accept-envvar"},
                {"ldconfig", "container-toolkit.ldconfig"}};
    CtStr rest = s, key;
    if (!s.n || s.p[0] == '#' || !ct_str_cut(&rest, "=", &key))
        return FALSE;
    if (rest.n > 1 && rest.p[0] == '"' && rest.p[rest.n - 1] == '"')
        rest = ct_str(rest.p + 1, rest.n - 2);
    for (gsize i = 0; i < G_N_ELEMENTS(keys); i++) {
        if (ct_str_eq(key, keys[i].word)) {
            ct_emit_text(emit, line, NULL, keys[i].key, rest);
            return TRUE;
        }
    }
    return FALSE;
}

/* nvidia-ctk cdi list: "nvidia.com/gpu=0" */
static gboolean cdi(CtEmit *emit, const CtLine *line, CtStr s)
{
    gssize at = ct_str_find(s, "nvidia.com/gpu=");
    CtStr found, rest;
    if (at == 0 && !memchr(s.p, ' ', s.n)) {
        ct_emit_text(emit, line, NULL, "cdi.device", s);
        return TRUE;
    }
    if (ct_str_between(s, "Found ", " CDI devices", &found)) {
        double n;
        rest = found;
        if (ct_str_take_number(&rest, &n))
            ct_emit_number(emit, line, NULL, "cdi.count", n, CT_STR_BUF(found));
        return TRUE;
    }
    return FALSE;
}

/* kubectl describe pod and node */
static gboolean kubectl(State *st, CtEmit *emit, const CtLine *line, CtStr raw, CtStr key,
                        CtStr value)
{
    gsize indent = ct_str_indent(raw);
    if (indent == 0) {
        st->in_containers = ct_str_eq(key, "Containers") || ct_str_eq(key, "Init Containers");
        st->container[0] = '\0';
        if (ct_str_eq(key, "Name"))
            ct_str_buf(value, st->pod, sizeof(st->pod));
    }
    if (st->in_containers && !value.n && indent > 0 && indent <= 4 &&
        !ct_str_eq(key, "Limits") && !ct_str_eq(key, "Requests") && !ct_str_eq(key, "Args")) {
        ct_str_buf(key, st->container, sizeof(st->container));
        st->container_indent = indent;
    }
    st->in_limits = ct_str_eq(key, "Limits") ? TRUE
                    : ct_str_eq(key, "Requests") || indent <= st->container_indent + 2
                        ? ct_str_eq(key, "Limits") : st->in_limits;
    char subject[240];
    g_snprintf(subject, sizeof(subject), "container:%s", st->container[0] ? st->container
                                                                         : st->pod);
    static const struct {
        const char *word, *key;
        gboolean limits;
    } keys[] = {
        {"Image", "container.image", FALSE},       {"Exit Code", "container.exit-code", FALSE},
        {"Reason", "container.reason", FALSE},     {"Restart Count", "container.restarts", FALSE},
        {"nvidia.com/gpu", "container.gpus", FALSE}, {"memory", "container.memory-limit", TRUE},
        {"Runtime Class Name", "container.runtime", FALSE},
        {"Status", "container.status", FALSE},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(keys); i++) {
        if (!ct_str_eq(key, keys[i].word) || !value.n || (keys[i].limits && !st->in_limits))
            continue;
        ct_emit_field(emit, line, subject, keys[i].key, value);
        return TRUE;
    }
    return FALSE;
}

static void line(gpointer state, const CtLine *line, CtEmit *emit)
{
    State *st = state;
    CtStr raw = ct_str(line->text, line->len), s = ct_str_strip(raw), key, value;
    if (!s.n)
        return;
    if (ct_str_key_value(s, &key, &value)) {
        if (ct_str_indent(raw) == 0 && (ct_str_eq(key, "Namespace") || ct_str_eq(key, "Roles")))
            st->kubectl = TRUE;
        if (st->kubectl && kubectl(st, emit, line, raw, key, value)) {
            st->found++;
            return;
        }
        if ((st->cli || st->device >= 0 || ct_str_eq(key, "NVRM version") ||
             ct_str_eq(key, "CUDA version") || ct_str_eq(key, "Device Index")) &&
            container_cli(st, emit, line, key, value)) {
            st->found++;
            return;
        }
        if (!st->kubectl && engine(emit, line, key, value)) {
            st->found++;
            return;
        }
    }
    if (toml(emit, line, s) || cdi(emit, line, s)) {
        st->found++;
        return;
    }
    if (!st->kubectl)
        ct_env_known_line(emit, line);
}

static void finish(gpointer state, CtEmit *emit)
{
    State *st = state;
    if (st->found)
        ct_emit_coverage(emit, "container", NULL);
    g_free(st);
}

static int sniff(const CtSniff *sniff)
{
    const char *c = sniff->command;
    if (ct_sniff_has(sniff, "Default Runtime:") || ct_sniff_has(sniff, " Runtimes: "))
        return 88;
    if (ct_command_runs(c, "docker") && ct_command_word(c, "info"))
        return 85;
    if (ct_sniff_has(sniff, "NVRM version:") && ct_sniff_has(sniff, "Device Index:"))
        return 88;
    if (ct_sniff_has(sniff, "nvidia.com/gpu=") && !ct_command_runs(c, "kubectl") &&
        !ct_sniff_has(sniff, "docker run"))
        return 60;
    if (ct_sniff_has(sniff, "[nvidia-container-runtime]") ||
        ct_sniff_has(sniff, "[nvidia-container-cli]"))
        return 90;
    if (ct_command_runs(c, "nvidia-container-cli") || ct_command_word(c, "cdi"))
        return 80;
    if (ct_command_runs(c, "kubectl") && ct_command_word(c, "describe"))
        return 85;
    if (ct_str_starts(ct_sniff_first(sniff), "Name: ") &&
        ((ct_sniff_has(sniff, "Namespace: ") && ct_sniff_has(sniff, "Node: ")) ||
         (ct_sniff_has(sniff, "Roles: ") && ct_sniff_has(sniff, "Labels: "))))
        return 84;
    if (c && strstr(c, "nvidia-container-runtime/config"))
        return 85;
    return 0;
}

const CtParser ct_parser_docker_info = {
    .id = "docker-info",
    .summary = "docker info, NVIDIA container tools, kubectl describe",
    .doc = "Runtimes and default runtime of the engine, cgroup driver; nvidia-container-cli info; "
           "nvidia-ctk cdi list; the toolkit's config.toml (mode, no-cgroups); image, GPU and "
           "memory limits, exit code and reason of kubectl describe.",
    .sniff = sniff,
    .begin = begin,
    .line = line,
    .finish = finish,
};
