/* SPDX-License-Identifier: Apache-2.0 */
/* Command lines that start containers, wherever they stand: prompts, scripts, unit files. */
#include "parse/env/container-lines.h"

#include <string.h>

#include "parse/env/known-lines.h"

#define MAX_WORDS 200

const char *ct_container_subject(CtStr name, CtStr image, char buf[140])
{
    CtStr s = name.n ? name : image;
    g_snprintf(buf, 140, "container:%.*s", (int)MIN(s.n, (gsize)120), s.p);
    return buf;
}

static void given_or_absent(CtEmit *emit, const CtLine *line, const char *subject,
                            const char *key, CtStr value)
{
    if (value.n)
        ct_emit_text(emit, line, subject, key, value);
    else
        ct_emit_fact_status(emit, line, subject, key, CT_ABSENT, "not given");
}

void ct_emit_container(CtEmit *emit, const CtLine *line, const CtContainer *c)
{
    char subject[140];
    CtDim dim;
    double bytes;
    ct_container_subject(c->name, c->image, subject);
    if (c->image.n)
        ct_emit_text(emit, line, subject, "container.image", c->image);
    given_or_absent(emit, line, subject, "container.gpus", c->gpus);
    given_or_absent(emit, line, subject, "container.runtime", c->runtime);
    given_or_absent(emit, line, subject, "container.ipc", c->ipc);
    char size[32]; /* 8g, 512M, 2gb, 1073741824 */
    ct_str_buf(c->shm_size, size, sizeof(size));
    for (char *p = size; *p; p++)
        *p = g_ascii_toupper(*p);
    if (c->shm_size.n && ct_quantity(ct_str_of(size), &dim, &bytes) &&
        (dim == CT_DIM_BYTES || dim == CT_DIM_NONE))
        ct_emit_number(emit, line, subject, "container.shm-size", bytes,
                       CT_STR_BUF(c->shm_size));
    else
        given_or_absent(emit, line, subject, "container.shm-size", c->shm_size);
    if (c->privileged.n)
        ct_emit_text(emit, line, subject, "container.privileged", c->privileged);
    if (c->network.n)
        ct_emit_text(emit, line, subject, "container.network", c->network);
    if (c->memory.n)
        ct_emit_text(emit, line, subject, "container.memory-limit", c->memory);
    if (c->memlock.n)
        ct_emit_text(emit, line, subject, "container.memlock", c->memlock);
    if (c->devices) {
        char text[16];
        g_snprintf(text, sizeof(text), "%u", c->devices);
        ct_emit_number(emit, line, subject, "container.devices", c->devices, text);
    }
    if (c->has_node)
        ct_emit_fact(emit, line, subject, "container.device-node", "yes");
}

void ct_emit_container_variable(CtEmit *emit, const CtLine *line, const char *subject,
                                CtStr assignment)
{
    static const char *const prefixes[] = {"NVIDIA_", "CUDA_", "LD_", "NCCL_", "TORCH", "PYTORCH_",
                                           "TRT", "TF_", "GST_", "OMP_", "NV_", "TENSORRT", "XLA_",
                                           "JAX_", "VLLM_", "SGLANG_", "UCX_", "GLOO_", "ORT_",
                                           "CUDNN_", "CUBLAS_", "TRITON", "MKL_", "MALLOC_"};
    CtStr name, value = assignment;
    if (!ct_str_cut(&value, "=", &name) || !name.n || name.n > 80)
        return;
    for (gsize i = 0; i < G_N_ELEMENTS(prefixes); i++) {
        if (!ct_str_starts(name, prefixes[i]))
            continue;
        g_autofree char *key = g_strdup_printf("env.%.*s", (int)name.n, name.p);
        g_autofree char *text = ct_str_dup(ct_str_head(value, 2000));
        ct_emit_fact(emit, line, subject, key, text);
        return;
    }
}

/* ---- the command line ---- */

/* Words as a shell would cut them; quotes are taken off, nothing is expanded. The copy in `store`
 * is never longer than the input. */
static guint shell_words(CtStr s, char *store, CtStr *words)
{
    guint n = 0;
    gsize i = 0, out = 0;
    while (i < s.n && n < MAX_WORDS) {
        while (i < s.n && (s.p[i] == ' ' || s.p[i] == '\t'))
            i++;
        if (i >= s.n)
            break;
        gsize start = out;
        char quote = 0;
        for (; i < s.n; i++) {
            char c = s.p[i];
            if (quote ? c == quote : (c == '\'' || c == '"')) {
                quote = quote ? 0 : c;
                continue;
            }
            if (!quote && (c == ' ' || c == '\t'))
                break;
            if (c == '\\' && i + 1 < s.n && quote != '\'')
                c = s.p[++i];
            store[out++] = c;
        }
        words[n++] = ct_str(store + start, out - start);
    }
    return n;
}

static gboolean option_value(const CtStr *words, guint n, guint *i, const char *option, CtStr *out)
{
    CtStr w = words[*i];
    gsize len = strlen(option);
    if (!ct_str_starts(w, option))
        return FALSE;
    if (w.n == len) {
        if (*i + 1 < n)
            *out = words[++*i];
        return TRUE;
    }
    if (w.p[len] == '=') {
        *out = ct_str_from(w, len + 1);
        return TRUE;
    }
    return FALSE;
}

/* Options with a value that are of no interest; all others without '=' take none. */
static gboolean skip_value(CtStr w)
{
    static const char *const options[] = {
        "-v", "--volume", "--mount", "-p", "--publish", "-w", "--workdir", "-u", "--user",
        "--restart", "-h", "--hostname", "--env-file", "--cap-add", "--cap-drop",
        "--security-opt", "--add-host", "-l", "--label", "--group-add", "--log-driver",
        "--log-opt", "--memory-swap", "--platform", "--cpus", "--cpuset-cpus", "--tmpfs",
        "--entrypoint", "--cgroupns", "--userns", "--ulimit", "--volumes-from", "--cidfile",
        "--name", "--device-cgroup-rule", "--expose", "--ip", "--link", "--stop-timeout"};
    for (gsize i = 0; i < G_N_ELEMENTS(options); i++)
        if (ct_str_eq(w, options[i]))
            return TRUE;
    return FALSE;
}

#define MAX_VARIABLES 64

typedef struct {
    CtContainer c;
    CtStr variables[MAX_VARIABLES];
    guint n_variables;
} Run;

/* Options whose value is kept as it is. */
static gboolean plain_option(Run *r, const CtStr *words, guint n, guint *i)
{
    const struct {
        const char *option;
        CtStr *out;
    } options[] = {
        {"--gpus", &r->c.gpus},       {"--runtime", &r->c.runtime},
        {"--shm-size", &r->c.shm_size}, {"--ipc", &r->c.ipc},
        {"--network", &r->c.network}, {"--net", &r->c.network},
        {"--name", &r->c.name},       {"--pid", &r->c.pid},
        {"--memory", &r->c.memory},   {"-m", &r->c.memory},
    };
    for (gsize k = 0; k < G_N_ELEMENTS(options); k++)
        if (option_value(words, n, i, options[k].option, options[k].out))
            return TRUE;
    return FALSE;
}

static void other_option(Run *r, const CtStr *words, guint n, guint *i)
{
    CtStr w = words[*i], value = ct_str("", 0);
    if (option_value(words, n, i, "-e", &value) || option_value(words, n, i, "--env", &value)) {
        if (r->n_variables < MAX_VARIABLES)
            r->variables[r->n_variables++] = value;
    } else if (option_value(words, n, i, "--device", &value)) {
        r->c.devices++;
        if (ct_str_starts(value, "nvidia.com/gpu")) /* CDI */
            r->c.gpus = value;
        r->c.has_node |= ct_str_starts(value, "/dev/nv");
    } else if (option_value(words, n, i, "--ulimit", &value)) {
        if (ct_str_starts(value, "memlock"))
            r->c.memlock = ct_str_from(value, 8);
    } else if (ct_str_eq(w, "--privileged") || ct_str_starts(w, "--privileged=")) {
        r->c.privileged = ct_str_of(ct_str_ends(w, "false") ? "no" : "yes");
    } else if (skip_value(w) && *i + 1 < n) {
        (*i)++;
    }
}

/* "the same docker run line" is prose: a command has an option or an image that looks like one. */
static gboolean is_command(const CtContainer *c, CtStr first)
{
    if (!c->image.n && !c->gpus.n && !c->runtime.n)
        return FALSE;
    if (first.n && first.p[0] == '-')
        return TRUE;
    return c->image.n && (memchr(c->image.p, ':', c->image.n) ||
                          memchr(c->image.p, '/', c->image.n) || c->image.p[0] == '$');
}

static void read_run(CtEmit *emit, const CtLine *line, const CtStr *words, guint n,
                     gboolean nvidia_docker)
{
    g_autofree Run *r = g_new0(Run, 1);
    for (guint i = 0; i < n; i++) {
        if (!words[i].n)
            continue;
        if (words[i].p[0] != '-') {
            r->c.image = words[i];
            break;
        }
        if (!plain_option(r, words, n, &i))
            other_option(r, words, n, &i);
    }
    if (nvidia_docker && !r->c.runtime.n)
        r->c.runtime = ct_str_of("nvidia");
    if (!is_command(&r->c, n ? words[0] : ct_str("", 0)))
        return;
    ct_emit_container(emit, line, &r->c);
    char subject[140];
    ct_container_subject(r->c.name, r->c.image, subject);
    for (guint i = 0; i < r->n_variables; i++)
        ct_emit_container_variable(emit, line, subject, r->variables[i]);
}

static gboolean is_engine(CtStr w)
{
    static const char *const engines[] = {"docker", "podman", "nerdctl", "nvidia-docker"};
    for (gsize i = 0; i < G_N_ELEMENTS(engines); i++) {
        gsize n = strlen(engines[i]);
        if (ct_str_ends(w, engines[i]) && (w.n == n || w.p[w.n - n - 1] == '/'))
            return TRUE;
    }
    return FALSE;
}

gboolean ct_env_docker_run_line(CtEmit *emit, const CtLine *line)
{
    CtStr s = ct_str_head(ct_line_str(line), 16 * 1024);
    if (!ct_str_has(s, "docker") && !ct_str_has(s, "podman") && !ct_str_has(s, "nerdctl"))
        return FALSE;
    if (!ct_str_has(s, " run ") && !ct_str_has(s, " create "))
        return FALSE;
    g_autofree char *store = g_malloc(s.n + 1);
    g_autofree CtStr *words = g_new0(CtStr, MAX_WORDS);
    guint n = shell_words(s, store, words);
    for (guint i = 0; i + 1 < n; i++) {
        CtStr w = words[i];
        gssize equals = ct_str_find(w, "="); /* ExecStart=/usr/bin/docker */
        if (!is_engine(equals >= 0 ? ct_str_from(w, (gsize)equals + 1) : w))
            continue;
        guint at = i + 1;
        if (ct_str_eq(words[at], "container"))
            at++;
        if (at >= n || (!ct_str_eq(words[at], "run") && !ct_str_eq(words[at], "create")))
            continue;
        read_run(emit, line, words + at + 1, n - at - 1, ct_str_ends(w, "nvidia-docker"));
        return TRUE;
    }
    return FALSE;
}

/* ---- reads along in every text, and every prompt ---- */

static const char *const anchors[] = {"docker run ", "podman run ", "nerdctl run ", NULL};

static void anchored_line(gpointer state, const CtLine *line, CtEmit *emit)
{
    ct_env_docker_run_line(emit, line);
}

static void command_line(const char *command, const CtLine *line, CtEmit *emit)
{
    if (strstr(command, " run "))
        ct_env_docker_run_line(emit, line);
}

static int never(const CtSniff *sniff)
{
    return 0;
}

const CtParser ct_parser_docker_run = {
    .id = "docker-run",
    .summary = "command lines that start containers",
    .doc = "docker, podman, nerdctl and nvidia-docker run, in prompts, scripts, unit files and "
           "prose: image, --gpus, --runtime, --shm-size, --ipc, --device, limits and the "
           "variables of NVIDIA. An option that is not given is a fact of status absent.",
    .sniff = never,
    .line = anchored_line,
    .anchors = anchors,
    .command = command_line,
};
