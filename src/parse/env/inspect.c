/* SPDX-License-Identifier: Apache-2.0 */
/* docker inspect and daemon.json: small JSON documents. */
#include <string.h>

#include <jansson.h>

#include "parse/env/container-lines.h"

#define MAX_JSON ((gsize)8 << 20) /* jansson needs some twenty times as much */

typedef struct {
    const char *data;
    gsize len;
    guint first_line;
    guint *looked_up; /* each look-up walks the document: enough is enough */
} Text;

/* The line of a key, for provenance; jansson does not keep places. */
static CtLine place(const Text *t, const char *word, gsize from)
{
    if (++*t->looked_up > 400)
        return ct_line_at(t->first_line, "", 0);
    const char *start = t->data + MIN(from, t->len);
    const char *at = memmem(start, t->len - (gsize)(start - t->data), word, strlen(word));
    guint number = t->first_line;
    if (!at)
        return ct_line_at(number, "", 0);
    const char *begin = t->data;
    for (const char *p = t->data; p < at; p++) {
        if (*p == '\n') {
            number++;
            begin = p + 1;
        }
    }
    const char *end = memchr(begin, '\n', t->len - (gsize)(begin - t->data));
    CtStr s = ct_str_strip(ct_str(begin, (gsize)((end ? end : t->data + t->len) - begin)));
    return ct_line_at(number, s.p, s.n);
}

static CtStr text_of(json_t *object, const char *key)
{
    json_t *v = json_object_get(object, key);
    return json_is_string(v) ? ct_str(json_string_value(v), json_string_length(v))
                             : ct_str("", 0);
}

/* "DeviceRequests": [{"Driver": "nvidia", "Count": -1, "DeviceIDs": null, ...}] */
static void gpus_of(json_t *host, char out[64])
{
    json_t *requests = json_object_get(host, "DeviceRequests"), *one;
    size_t i;
    out[0] = '\0';
    json_array_foreach(requests, i, one) {
        json_t *count = json_object_get(one, "Count"), *ids = json_object_get(one, "DeviceIDs");
        if (json_array_size(ids) > 0 && json_is_string(json_array_get(ids, 0)))
            g_snprintf(out, 64, "device=%.40s", json_string_value(json_array_get(ids, 0)));
        else if (json_is_integer(count) && json_integer_value(count) < 0)
            g_strlcpy(out, "all", 64);
        else if (json_is_integer(count) && json_integer_value(count) > 0)
            g_snprintf(out, 64, "%" JSON_INTEGER_FORMAT, json_integer_value(count));
    }
}

static void state_facts(const Text *t, json_t *root, const char *subject, CtEmit *emit)
{
    json_t *state = json_object_get(root, "State");
    json_t *code = json_object_get(state, "ExitCode"), *killed = json_object_get(state, "OOMKilled");
    CtStr status = text_of(state, "Status");
    char text[32];
    if (status.n) {
        CtLine line = place(t, "\"Status\"", 0);
        ct_emit_text(emit, &line, subject, "container.status", status);
    }
    if (json_is_integer(code) && !ct_str_eq(status, "running")) {
        CtLine line = place(t, "\"ExitCode\"", 0);
        g_snprintf(text, sizeof(text), "%" JSON_INTEGER_FORMAT, json_integer_value(code));
        ct_emit_number(emit, &line, subject, "container.exit-code",
                       (double)json_integer_value(code), text);
    }
    if (json_is_boolean(killed)) {
        CtLine line = place(t, "\"OOMKilled\"", 0);
        ct_emit_fact(emit, &line, subject, "container.oom-killed",
                     json_is_true(killed) ? "yes" : "no");
    }
}

static gboolean one_container(const Text *t, json_t *root, CtEmit *emit, gboolean alone)
{
    json_t *config = json_object_get(root, "Config"), *host = json_object_get(root, "HostConfig");
    if (!host && json_object_get(root, "ShmSize"))
        host = root;
    json_t *entry;
    size_t i;
    char gpus[64], subject[140], shm[32];
    if (!json_is_object(host) && !json_is_object(config))
        return FALSE;
    gpus_of(host, gpus);
    CtContainer c = {.name = text_of(root, "Name"), .image = text_of(config, "Image"),
                     .gpus = ct_str_of(gpus), .runtime = text_of(host, "Runtime"),
                     .ipc = text_of(host, "IpcMode"), .network = text_of(host, "NetworkMode")};
    if (ct_str_starts(c.name, "/"))
        c.name = ct_str_from(c.name, 1);
    json_t *size = json_object_get(host, "ShmSize"), *memory = json_object_get(host, "Memory");
    if (json_is_integer(size)) {
        g_snprintf(shm, sizeof(shm), "%" JSON_INTEGER_FORMAT, json_integer_value(size));
        c.shm_size = ct_str_of(shm);
    }
    char limit[32];
    if (json_is_integer(memory) && json_integer_value(memory) > 0) {
        g_snprintf(limit, sizeof(limit), "%" JSON_INTEGER_FORMAT, json_integer_value(memory));
        c.memory = ct_str_of(limit);
    }
    if (json_is_boolean(json_object_get(host, "Privileged")))
        c.privileged = ct_str_of(json_is_true(json_object_get(host, "Privileged")) ? "yes" : "no");
    json_array_foreach(json_object_get(host, "Devices"), i, entry) {
        c.devices++;
        c.has_node |= ct_str_starts(text_of(entry, "PathOnHost"), "/dev/nv");
    }
    ct_container_subject(c.name, c.image, subject);
    if (alone)
        ct_emit_scope(emit, subject);
    CtLine line = place(t, json_is_object(host) ? "\"HostConfig\"" : "\"Config\"", 0);
    CtLine request = place(t, "\"DeviceRequests\"", 0), runtime = place(t, "\"Runtime\"", 0);
    ct_emit_container(emit, c.gpus.n ? &request : c.runtime.n ? &runtime : &line, &c);
    json_array_foreach(json_object_get(config, "Env"), i, entry) {
        if (!json_is_string(entry))
            continue;
        CtLine at = place(t, json_string_value(entry), 0);
        ct_emit_container_variable(emit, &at, subject, ct_str_of(json_string_value(entry)));
    }
    state_facts(t, root, subject, emit);
    return TRUE;
}

static gboolean daemon_json(const Text *t, json_t *root, CtEmit *emit)
{
    json_t *runtimes = json_object_get(root, "runtimes");
    CtStr standard = text_of(root, "default-runtime"), shm = text_of(root, "default-shm-size");
    if (!json_is_object(runtimes) && !standard.n && !shm.n &&
        !json_object_get(root, "exec-opts") && !json_object_get(root, "storage-driver") &&
        !json_object_get(root, "log-driver") && !json_object_get(root, "features"))
        return FALSE;
    GString *names = g_string_new(NULL);
    const char *key;
    json_t *value;
    json_object_foreach(runtimes, key, value)
        if (names->len < 300)
            g_string_append_printf(names, "%s%.60s", names->len ? " " : "", key);
    CtLine line = place(t, "\"runtimes\"", 0);
    if (names->len)
        ct_emit_fact(emit, &line, NULL, "docker.runtimes", names->str);
    g_string_free(names, TRUE);
    if (standard.n) {
        line = place(t, "\"default-runtime\"", 0);
        ct_emit_text(emit, &line, NULL, "docker.default-runtime", standard);
    } else {
        ct_emit_fact_status(emit, &line, NULL, "docker.default-runtime", CT_ABSENT, "not given");
    }
    if (shm.n) {
        line = place(t, "\"default-shm-size\"", 0);
        ct_emit_text(emit, &line, NULL, "docker.default-shm-size", shm);
    }
    size_t i;
    json_array_foreach(json_object_get(root, "exec-opts"), i, value)
        if (json_is_string(value) && strstr(json_string_value(value), "cgroupdriver"))
            ct_emit_fact(emit, &line, NULL, "docker.cgroup-driver", json_string_value(value));
    return TRUE;
}

static void document(const char *data, gsize len, guint first_line, CtEmit *emit)
{
    guint looked_up = 0;
    Text t = {data, len, first_line, &looked_up};
    json_error_t error;
    if (len > MAX_JSON) {
        ct_emit_status(emit, CT_TRUNCATED, "JSON too large for a container description");
        return;
    }
    json_t *root = json_loadb(data, len, JSON_DISABLE_EOF_CHECK | JSON_ALLOW_NUL, &error);
    if (!root) {
        g_autofree char *note = g_strdup_printf("no valid JSON: %s (line %d)", error.text,
                                                error.line > 0 ? (int)first_line - 1 + error.line
                                                               : (int)first_line);
        ct_emit_status(emit, CT_FAILED, note);
        return;
    }
    json_t *one;
    size_t i;
    guint found = 0;
    json_array_foreach(root, i, one)
        if (i < 200)
            found += one_container(&t, one, emit, json_array_size(root) == 1);
    if (json_is_object(root))
        found += one_container(&t, root, emit, TRUE) || daemon_json(&t, root, emit);
    json_decref(root);
    if (found)
        ct_emit_coverage(emit, "container", NULL);
}

static int sniff(const CtSniff *sniff)
{
    CtStr first = ct_sniff_first(sniff);
    if (!first.n || (first.p[0] != '[' && first.p[0] != '{'))
        return 0;
    /* --format '{{json .HostConfig}}' prints the inner object alone. */
    if (ct_sniff_has(sniff, "\"HostConfig\"") || ct_sniff_has(sniff, "\"ShmSize\"") ||
        (ct_sniff_has(sniff, "\"State\"") && ct_sniff_has(sniff, "\"Config\"")))
        return 92;
    if (first.p[0] == '{' && (ct_sniff_has(sniff, "\"runtimes\"") ||
                              ct_sniff_has(sniff, "\"default-runtime\"")))
        return 92;
    if (ct_command_runs(sniff->command, "inspect") || ct_command_runs(sniff->command, "daemon.json"))
        return 75;
    return 0;
}

const CtParser ct_parser_docker_inspect = {
    .id = "docker-inspect",
    .summary = "docker inspect and daemon.json",
    .doc = "JSON of docker, podman and nerdctl inspect: runtime, device requests, shared memory, "
           "devices, variables, exit code, killed for memory; and /etc/docker/daemon.json: known "
           "runtimes and the default one.",
    .sniff = sniff,
    .document = document,
};
