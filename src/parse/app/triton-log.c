/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Triton: the server's log (glog and ISO form), its boxes of model states and options, and the
 * text format of config.pbtxt.
 */
#include <string.h>

#include "parse/env/version-scan.h"

#define MAX_DEPTH 16
#define MAX_FIELDS 2000u

/* ---- the log ---- */

typedef struct {
    gboolean models, options; /* the box at hand */
    guint lines;
} Log;

static gpointer log_begin(CtEmit *emit)
{
    return g_new0(Log, 1);
}

static guint cells_of(CtStr s, CtStr *cell, guint most)
{
    guint n = 0;
    if (!s.n || s.p[0] != '|')
        return 0;
    s = ct_str_from(s, 1);
    while (s.n && n < most) {
        const char *bar = memchr(s.p, '|', s.n);
        gsize len = bar ? (gsize)(bar - s.p) : s.n;
        cell[n++] = ct_str_strip(ct_str_head(s, len));
        s = bar ? ct_str_from(s, len + 1) : ct_str_from(s, s.n);
    }
    return n;
}

static void box_row(Log *st, CtEmit *emit, const CtLine *line, CtStr s)
{
    CtStr cell[6];
    guint n = cells_of(s, cell, 6);
    if (n < 2)
        return;
    if (ct_str_eq(cell[0], "Model") && n >= 3) {
        st->models = TRUE;
        st->options = FALSE;
    } else if (ct_str_eq(cell[0], "Option")) {
        st->options = TRUE;
        st->models = FALSE;
    } else if (ct_str_eq(cell[0], "Backend") || ct_str_eq(cell[0], "Repository Agent")) {
        st->models = st->options = FALSE;
    } else if (st->models && n >= 3 && cell[0].n) {
        g_autofree char *subject = g_strdup_printf("model:%.*s", (int)MIN(cell[0].n, (gsize)80),
                                                   cell[0].p);
        ct_emit_text(emit, line, subject, "triton.model.state", cell[2]);
    } else if (st->options && ct_str_eq(cell[0], "server_version")) {
        ct_emit_text(emit, line, NULL, "version.triton", cell[1]);
    }
}

static void log_line(gpointer state, const CtLine *line, CtEmit *emit)
{
    Log *st = state;
    CtStr s = ct_line_str(line);
    if (!s.n)
        return;
    st->lines++;
    if (s.p[0] == '|') {
        box_row(st, emit, line, s);
        return;
    }
    if (s.p[0] != '+')
        st->models = st->options = FALSE;
    CtStr size;
    if (ct_str_has(s, "Pinned memory pool is created at") ||
        ct_str_has(s, "CUDA memory pool is created on device")) {
        gssize at = ct_str_find(s, "with size ");
        double bytes;
        if (at > 0) {
            size = ct_str_from(s, (gsize)at + 10);
            while (size.n && size.p[size.n - 1] == '"')
                size.n--;
            CtStr text = size;
            if (ct_str_take_number(&size, &bytes))
                ct_emit_number(emit, line, NULL,
                               ct_str_has(s, "Pinned") ? "triton.pool.pinned" : "triton.pool.cuda",
                               bytes, CT_STR_BUF(text));
        }
    }
}

static void log_finish(gpointer state, CtEmit *emit)
{
    Log *st = state;
    if (st->lines) {
        ct_emit_coverage(emit, "triton-log", NULL);
        ct_emit_coverage(emit, "app-log", NULL);
    }
    g_free(st);
}

static int log_sniff(const CtSniff *sniff)
{
    static const char *const words[] = {
        "pinned_memory_manager.cc", "cuda_memory_manager.cc", "model_lifecycle.cc",
        "model_repository_manager.cc", "grpc_server.cc", "http_server.cc", "server.cc:",
        "Started GRPCInferenceService", "TRITONBACKEND_", "tritonserver.cc"};
    guint n = 0;
    for (gsize i = 0; i < G_N_ELEMENTS(words); i++)
        n += ct_sniff_has(sniff, words[i]);
    return n >= 2 ? 85 : n ? 60 : 0;
}

const CtParser ct_parser_triton_log = {
    .id = "triton-log",
    .summary = "log of the Triton inference server",
    .doc = "glog and ISO form, bare and quoted messages: states of the models, server version, "
           "sizes of the memory pools. Errors are read by signatures.",
    .sniff = log_sniff,
    .begin = log_begin,
    .line = log_line,
    .finish = log_finish,
};

/* ---- config.pbtxt ---- */

typedef struct {
    char path[MAX_DEPTH][40];
    guint depth;
    char model[100];
    char tensor[100], tensor_kind[8];
    guint fields;
    char key[40]; /* waits for '{' or '[' */
} Config;

static gpointer config_begin(CtEmit *emit)
{
    return g_new0(Config, 1);
}

static const char *field_key(const Config *st, const char *name, char buf[96])
{
    static const struct {
        const char *path, *key;
    } fields[] = {
        {"max_batch_size", "triton.config.max-batch-size"},
        {"backend", "triton.config.backend"},
        {"platform", "triton.config.backend"},
        {"default_model_filename", "triton.config.file"},
        {"instance_group.count", "triton.config.instance-count"},
        {"instance_group.kind", "triton.config.instance-kind"},
        {"instance_group.gpus", "triton.config.instance-gpus"},
        {"instance_group.profile", "triton.config.profile"},
        {"dynamic_batching.max_queue_delay_microseconds", "triton.config.queue-delay-us"},
        {"dynamic_batching.preferred_batch_size", "triton.config.preferred-batch"},
        {"dynamic_batching.default_queue_policy.max_queue_size", "triton.config.max-queue-size"},
        {"dynamic_batching.default_queue_policy.default_timeout_microseconds",
         "triton.config.queue-timeout-us"},
        {"sequence_batching.max_sequence_idle_microseconds", "triton.config.sequence-idle-us"},
        {"optimization.cuda.graphs", "triton.config.cuda-graphs"},
        {"optimization.cuda.busy_wait_events", "triton.config.busy-wait"},
        {"model_transaction_policy.decoupled", "triton.config.decoupled"},
    };
    char path[MAX_DEPTH * 41 + 41];
    gsize n = 0;
    for (guint i = 0; i < MIN(st->depth, (guint)MAX_DEPTH); i++)
        if (st->path[i][0])
            n += (gsize)g_snprintf(path + n, sizeof(path) - n, "%s.", st->path[i]);
    g_snprintf(path + n, sizeof(path) - n, "%s", name);
    for (gsize i = 0; i < G_N_ELEMENTS(fields); i++)
        if (strcmp(fields[i].path, path) == 0)
            return fields[i].key;
    return NULL;
}

static gboolean in_tensor(const Config *st)
{
    return st->depth && (strcmp(st->path[0], "input") == 0 || strcmp(st->path[0], "output") == 0);
}

static void config_value(Config *st, CtEmit *emit, const CtLine *line, const char *name,
                         CtStr value)
{
    char buf[96], subject[220];
    double number;
    if (++st->fields > MAX_FIELDS)
        return;
    if (value.n > 1 && strchr("\"'", value.p[0]))
        value = ct_str(value.p + 1, value.n - 2);
    if (st->depth == 0 && strcmp(name, "name") == 0) {
        ct_str_buf(value, st->model, sizeof(st->model));
        return;
    }
    if (in_tensor(st) && st->depth <= 2) {
        if (strcmp(name, "name") == 0) {
            ct_str_buf(value, st->tensor, sizeof(st->tensor));
            return;
        }
        const char *what = strcmp(name, "data_type") == 0 ? "data-type"
                           : strcmp(name, "dims") == 0    ? "dims" : NULL;
        if (what) {
            g_snprintf(subject, sizeof(subject), "%s:%s", st->path[0], st->tensor);
            g_snprintf(buf, sizeof(buf), "triton.config.%s", what);
            ct_emit_text(emit, line, subject, buf, value);
        }
        return;
    }
    const char *key = field_key(st, name, buf);
    if (!key)
        return;
    g_snprintf(subject, sizeof(subject), "model:%s", st->model);
    const char *who = st->model[0] ? subject : NULL;
    if (ct_str_number(value, &number))
        ct_emit_number(emit, line, who, key, number, CT_STR_BUF(value));
    else
        ct_emit_text(emit, line, who, key, value);
}

static void push(Config *st, const char *key)
{
    if (st->depth < MAX_DEPTH)
        g_strlcpy(st->path[st->depth], key, sizeof(st->path[0]));
    st->depth++;
}

static void pop(Config *st)
{
    if (st->depth)
        st->depth--;
}

/* One piece of a line: a field with its value, an opening or a closing bracket. */
static CtStr config_piece(Config *st, CtEmit *emit, const CtLine *line, CtStr s)
{
    char c = s.p[0];
    if (c == '{' || c == '[') {
        push(st, st->key);
        st->key[0] = '\0';
        return ct_str_from(s, 1);
    }
    if (c == '}' || c == ']') {
        pop(st);
        return ct_str_from(s, 1);
    }
    gsize n = 0;
    while (n < s.n && (g_ascii_isalnum(s.p[n]) || s.p[n] == '_'))
        n++;
    if (!n)
        return ct_str_from(s, 1);
    ct_str_buf(ct_str_head(s, n), st->key, sizeof(st->key));
    s = ct_str_strip(ct_str_from(s, n));
    if (!s.n || s.p[0] != ':')
        return s;
    s = ct_str_strip(ct_str_from(s, 1));
    if (!s.n || s.p[0] == '{')
        return s;
    gsize end = 0;
    if (s.p[0] == '[') { /* a list of plain values, or of messages */
        gssize close = ct_str_find(s, "]");
        if (close < 0 || ct_str_has(ct_str_head(s, (gsize)close), "{"))
            return s;
        config_value(st, emit, line, st->key,
                     ct_str_strip(ct_str(s.p + 1, (gsize)close - 1)));
        st->key[0] = '\0';
        return ct_str_from(s, (gsize)close + 1);
    }
    if (s.p[0] == '"' || s.p[0] == '\'') {
        end = 1;
        while (end < s.n && s.p[end] != s.p[0])
            end++;
        end = MIN(end + 1, s.n);
        if (end < 2)
            return ct_str_from(s, end);
    } else {
        while (end < s.n && !strchr(" \t,}]", s.p[end]))
            end++;
    }
    if (end)
        config_value(st, emit, line, st->key, ct_str_head(s, end));
    st->key[0] = '\0';
    return ct_str_from(s, MAX(end, (gsize)1));
}

static void config_line(gpointer state, const CtLine *line, CtEmit *emit)
{
    Config *st = state;
    CtStr s = ct_line_str(line);
    guint pieces = 0;
    while (s.n && s.p[0] != '#' && pieces++ < 500) {
        s = config_piece(st, emit, line, s);
        while (s.n && strchr(" \t,;", s.p[0]))
            s = ct_str_from(s, 1);
    }
}

static void config_finish(gpointer state, CtEmit *emit)
{
    ct_emit_coverage(emit, "triton-config", NULL);
    g_free(state);
}

static int config_sniff(const CtSniff *sniff)
{
    if (ct_sniff_has(sniff, " | ") && ct_sniff_has(sniff, "model_lifecycle"))
        return 0;
    guint n = ct_sniff_has(sniff, "max_batch_size:") + ct_sniff_has(sniff, "data_type: TYPE_") +
              ct_sniff_has(sniff, "instance_group") + ct_sniff_has(sniff, "dynamic_batching") +
              ct_sniff_has(sniff, "platform: \"") + ct_sniff_has(sniff, "backend: \"") +
              (ct_sniff_has(sniff, "input [") || ct_sniff_has(sniff, "input {"));
    return n >= 2 ? 85 : 0;
}

const CtParser ct_parser_triton_config = {
    .id = "triton-config",
    .summary = "Triton's config.pbtxt",
    .doc = "The protobuf text format with its freedoms (commas or none, comments, nested lists): "
           "batch size, backend, instances, queue policy, graphs as triton.config.*, and type and "
           "dims of each input and output.",
    .sniff = config_sniff,
    .begin = config_begin,
    .line = config_line,
    .finish = config_finish,
};
