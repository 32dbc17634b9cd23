/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scraped metrics in the text format of Prometheus and OpenMetrics: DCGM exporter, Triton, vLLM,
 * SGLang, llama.cpp. Gauges become facts and, when the text holds several scrapes, series; what
 * cumulative durations say on average is worked out at the end.
 */
#include <math.h>
#include <string.h>

#include "parse/app/triton-model.h"
#include "parse/common/scan.h"

#define MAX_MODELS 256u

typedef enum { AS_FACT, AS_YES_NO, AS_XID, AS_COUNTER, AS_MODEL, AS_LLM } How;

typedef struct {
    const char *name;
    How how;
    const char *key;    /* of the fact */
    const char *series; /* (nullable) */
    const char *unit;
    double factor;
} Metric;

#define MIB 1048576.0
static const Metric metrics[] = {
    {"DCGM_FI_DEV_SM_CLOCK", AS_FACT, "gpu.clock.sm", "gpu.clock.sm", "Hz", 1e6},
    {"DCGM_FI_DEV_MEM_CLOCK", AS_FACT, "gpu.clock.mem", "gpu.clock.mem", "Hz", 1e6},
    {"DCGM_FI_DEV_GPU_TEMP", AS_FACT, "gpu.temperature", "gpu.temperature", "celsius", 1},
    {"DCGM_FI_DEV_MEMORY_TEMP", AS_FACT, "gpu.temperature.memory", "gpu.temperature.memory",
     "celsius", 1},
    {"DCGM_FI_DEV_POWER_USAGE", AS_FACT, "gpu.power", "gpu.power", "W", 1},
    {"DCGM_FI_DEV_POWER_MGMT_LIMIT", AS_FACT, "gpu.power.limit.current", NULL, NULL, 1},
    {"DCGM_FI_DEV_GPU_UTIL", AS_FACT, "gpu.utilization", "gpu.util", "1/1", 0.01},
    {"DCGM_FI_PROF_GR_ENGINE_ACTIVE", AS_FACT, "gpu.utilization", "gpu.util", "1/1", 1},
    {"DCGM_FI_DEV_MEM_COPY_UTIL", AS_FACT, "gpu.utilization.memory", "gpu.memory.util", "1/1",
     0.01},
    {"DCGM_FI_DEV_FB_USED", AS_FACT, "gpu.memory.used", "gpu.memory.used", "bytes", MIB},
    {"DCGM_FI_DEV_FB_FREE", AS_FACT, "gpu.memory.free", NULL, NULL, MIB},
    {"DCGM_FI_DEV_FB_TOTAL", AS_FACT, "gpu.memory.total", NULL, NULL, MIB},
    {"DCGM_FI_DEV_PCIE_REPLAY_COUNTER", AS_FACT, "gpu.pcie.replays", "gpu.pcie.replays", "count",
     1},
    {"DCGM_FI_DEV_PCIE_LINK_GEN", AS_FACT, "gpu.pcie.link.gen.current", NULL, NULL, 1},
    {"DCGM_FI_DEV_PCIE_MAX_LINK_GEN", AS_FACT, "gpu.pcie.link.gen.max", NULL, NULL, 1},
    {"DCGM_FI_DEV_PCIE_LINK_WIDTH", AS_FACT, "gpu.pcie.link.width.current", NULL, NULL, 1},
    {"DCGM_FI_DEV_PCIE_MAX_LINK_WIDTH", AS_FACT, "gpu.pcie.link.width.max", NULL, NULL, 1},
    {"DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS", AS_FACT, "gpu.remap.uncorrectable", NULL, NULL, 1},
    {"DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS", AS_FACT, "gpu.remap.correctable", NULL, NULL, 1},
    {"DCGM_FI_DEV_ROW_REMAP_FAILURE", AS_YES_NO, "gpu.remap.failure", NULL, NULL, 1},
    {"DCGM_FI_DEV_ROW_REMAP_PENDING", AS_YES_NO, "gpu.remap.pending", NULL, NULL, 1},
    {"DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", AS_FACT, "gpu.ecc.volatile.uncorrectable",
     "gpu.ecc.uncorrected", "count", 1},
    {"DCGM_FI_DEV_ECC_SBE_VOL_TOTAL", AS_FACT, "gpu.ecc.volatile.correctable",
     "gpu.ecc.corrected", "count", 1},
    {"DCGM_FI_DEV_ECC_DBE_AGG_TOTAL", AS_FACT, "gpu.ecc.aggregate.uncorrectable", NULL, NULL, 1},
    {"DCGM_FI_DEV_ECC_SBE_AGG_TOTAL", AS_FACT, "gpu.ecc.aggregate.correctable", NULL, NULL, 1},
    {"DCGM_FI_DEV_RETIRED_DBE", AS_FACT, "gpu.retired-pages.double-bit", NULL, NULL, 1},
    {"DCGM_FI_DEV_RETIRED_SBE", AS_FACT, "gpu.retired-pages.single-bit", NULL, NULL, 1},
    {"DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", AS_FACT, "gpu.clock-reason", "gpu.clock-reason", "mask",
     1},
    {"DCGM_FI_DEV_CLOCKS_EVENT_REASONS", AS_FACT, "gpu.clock-reason", "gpu.clock-reason", "mask",
     1},
    {"DCGM_FI_DEV_XID_ERRORS", AS_XID, NULL, NULL, NULL, 1},
    {"nv_gpu_utilization", AS_FACT, "gpu.utilization", "gpu.util", "1/1", 1},
    {"nv_gpu_memory_total_bytes", AS_FACT, "gpu.memory.total", NULL, NULL, 1},
    {"nv_gpu_memory_used_bytes", AS_FACT, "gpu.memory.used", "gpu.memory.used", "bytes", 1},
    {"nv_gpu_power_usage", AS_FACT, "gpu.power", "gpu.power", "W", 1},
    {"nv_gpu_power_limit", AS_FACT, "gpu.power.limit.current", NULL, NULL, 1},
    {"all_smi_gpu_utilization", AS_FACT, "gpu.utilization", "gpu.util", "1/1", 0.01},
    {"all_smi_gpu_memory_used_bytes", AS_FACT, "gpu.memory.used", "gpu.memory.used", "bytes", 1},
    {"all_smi_gpu_memory_total_bytes", AS_FACT, "gpu.memory.total", NULL, NULL, 1},
    {"all_smi_gpu_temperature_celsius", AS_FACT, "gpu.temperature", "gpu.temperature", "celsius",
     1},
    {"all_smi_gpu_power_consumption_watts", AS_FACT, "gpu.power", "gpu.power", "W", 1},
    {"all_smi_gpu_frequency_mhz", AS_FACT, "gpu.clock.sm", "gpu.clock.sm", "Hz", 1e6},
    {"nvidia_smi_utilization_gpu_ratio", AS_FACT, "gpu.utilization", "gpu.util", "1/1", 1},
    {"nvidia_smi_memory_used_bytes", AS_FACT, "gpu.memory.used", "gpu.memory.used", "bytes", 1},
    {"nvidia_smi_memory_total_bytes", AS_FACT, "gpu.memory.total", NULL, NULL, 1},
    {"nvidia_smi_temperature_gpu", AS_FACT, "gpu.temperature", "gpu.temperature", "celsius", 1},
    {"nvidia_smi_power_draw_watts", AS_FACT, "gpu.power", "gpu.power", "W", 1},
    {"nvidia_smi_clocks_current_sm_clock_hz", AS_FACT, "gpu.clock.sm", "gpu.clock.sm", "Hz", 1},
    {"nvidia_smi_ecc_errors_uncorrected_volatile_total", AS_FACT,
     "gpu.ecc.volatile.uncorrectable", "gpu.ecc.uncorrected", "count", 1},
    {"nv_inference_request_success", AS_MODEL, "success", "requests", "count", 1},
    {"nv_inference_request_failure", AS_MODEL, "failure", "errors", "count", 1},
    {"nv_inference_pending_request_count", AS_MODEL, "pending", NULL, NULL, 1},
    {"nv_inference_count", AS_MODEL, "inferences", NULL, NULL, 1},
    {"nv_inference_exec_count", AS_MODEL, "executions", NULL, NULL, 1},
    {"nv_inference_request_duration_us", AS_MODEL, "request", NULL, NULL, 1e3},
    {"nv_inference_queue_duration_us", AS_MODEL, "queue", NULL, NULL, 1e3},
    {"nv_inference_compute_infer_duration_us", AS_MODEL, "compute", NULL, NULL, 1e3},
    {"vllm:num_requests_running", AS_LLM, "llm.requests.running", NULL, NULL, 1},
    {"vllm:num_requests_waiting", AS_LLM, "llm.requests.waiting", NULL, NULL, 1},
    {"vllm:gpu_cache_usage_perc", AS_LLM, "llm.cache.usage", NULL, NULL, 1},
    {"vllm:kv_cache_usage_perc", AS_LLM, "llm.cache.usage", NULL, NULL, 1},
    {"vllm:num_preemptions_total", AS_LLM, "llm.preemptions", NULL, NULL, 1},
    {"sglang:num_running_reqs", AS_LLM, "llm.requests.running", NULL, NULL, 1},
    {"sglang:num_queue_reqs", AS_LLM, "llm.requests.waiting", NULL, NULL, 1},
    {"sglang:token_usage", AS_LLM, "llm.cache.usage", NULL, NULL, 1},
    {"llamacpp:requests_processing", AS_LLM, "llm.requests.running", NULL, NULL, 1},
    {"llamacpp:requests_deferred", AS_LLM, "llm.requests.waiting", NULL, NULL, 1},
    {"llamacpp:kv_cache_usage_ratio", AS_LLM, "llm.cache.usage", NULL, NULL, 1},
};

/* Cumulative figures of a model of Triton, all versions together. */
typedef struct {
    char name[80];
    double success, failure, pending, inferences, executions, request, queue, compute;
    CtLine line;
    char text[160];
} Model;

typedef struct {
    GHashTable *by_name; /* Metric */
    GPtrArray *models;
    GHashTable *seen; /* subject + key: the first scrape gave the fact */
    guint found;
    gboolean gpu, ecc;
    double waiting, cache, preemptions; /* of a language-model server */
    CtLine cache_line;
    char cache_text[160];
} State;

static gpointer begin(CtEmit *emit)
{
    State *st = g_new0(State, 1);
    st->by_name = g_hash_table_new(g_str_hash, g_str_equal);
    st->seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    st->models = g_ptr_array_new_with_free_func(g_free);
    for (gsize i = 0; i < G_N_ELEMENTS(metrics); i++)
        g_hash_table_insert(st->by_name, (gpointer)metrics[i].name, (gpointer)&metrics[i]);
    return st;
}

/* Value of a label; FALSE when it is not there. */
static gboolean label(CtStr labels, const char *name, CtStr *out)
{
    char key[48];
    g_snprintf(key, sizeof key, "%s=\"", name);
    gsize n = strlen(key);
    for (CtStr rest = labels; rest.n > 0;) {
        gssize at = ct_str_find(rest, key);
        if (at < 0)
            return FALSE;
        gboolean whole = at == 0 || rest.p[at - 1] == ',' || rest.p[at - 1] == ' ';
        rest = ct_str_from(rest, (gsize)at + n);
        if (!whole)
            continue;
        const char *end = memchr(rest.p, '"', rest.n);
        *out = ct_str_head(rest, end ? (gsize)(end - rest.p) : 0);
        return end != NULL;
    }
    return FALSE;
}

static void gpu_subject(State *st, CtEmit *emit, CtStr labels, char *out, gsize size)
{
    CtStr index = {0}, uuid = {0}, pci = {0}, name, mig;
    gint64 n;
    if (!label(labels, "UUID", &uuid) && !label(labels, "uuid", &uuid))
        label(labels, "gpu_uuid", &uuid);
    label(labels, "pci_bus_id", &pci);
    if ((label(labels, "gpu_index", &index) || label(labels, "gpu", &index)) && ct_str_uint(index, &n) && n < 1024)
        g_snprintf(out, size, "gpu:%" G_GINT64_FORMAT, n);
    else
        g_snprintf(out, size, "gpu:%s", uuid.n ? CT_STR_BUF(ct_str_head(uuid, 60)) : "0");
    if (label(labels, "GPU_I_ID", &mig) && mig.n && mig.n < 8) {
        gsize have = strlen(out);
        g_snprintf(out + have, size - have, "/mig:%.*s", (int)mig.n, mig.p);
        return;
    }
    if (g_hash_table_contains(st->seen, out))
        return;
    g_hash_table_add(st->seen, g_strdup(out));
    ct_emit_gpu_names(emit, out, pci, uuid);
    if (label(labels, "modelName", &name))
        ct_emit_text(emit, NULL, out, "gpu.name", name);
    if (label(labels, "DCGM_FI_DRIVER_VERSION", &name))
        ct_emit_text(emit, NULL, NULL, "version.driver", name);
}

static gboolean first_time(State *st, const char *subject, const char *key)
{
    char *id = g_strconcat(subject, " ", key, NULL);
    if (g_hash_table_size(st->seen) > 20000 || g_hash_table_contains(st->seen, id)) {
        g_free(id);
        return FALSE;
    }
    g_hash_table_add(st->seen, id);
    return TRUE;
}

static Model *model_of(State *st, CtStr labels)
{
    CtStr name = ct_str_of("-");
    label(labels, "model", &name);
    for (guint i = 0; i < st->models->len; i++) {
        Model *m = st->models->pdata[i];
        if (ct_str_eq(ct_str_head(name, sizeof(m->name) - 1), m->name))
            return m;
    }
    if (st->models->len >= MAX_MODELS)
        return NULL;
    Model *m = g_new0(Model, 1);
    ct_str_buf(name, m->name, sizeof m->name);
    g_ptr_array_add(st->models, m);
    return m;
}

static void keep_line(CtLine *out, char *buffer, gsize size, const CtLine *line)
{
    *out = *line;
    out->text = out->raw = ct_str_buf(ct_line_str(line), buffer, size);
    out->len = out->raw_len = strlen(buffer);
}

static void model_metric(State *st, const CtLine *line, const Metric *metric, CtStr labels,
                         double v)
{
    static const struct {
        const char *key;
        gsize offset;
    } fields[] = {
        {"success", G_STRUCT_OFFSET(Model, success)}, {"failure", G_STRUCT_OFFSET(Model, failure)},
        {"pending", G_STRUCT_OFFSET(Model, pending)},
        {"inferences", G_STRUCT_OFFSET(Model, inferences)},
        {"executions", G_STRUCT_OFFSET(Model, executions)},
        {"request", G_STRUCT_OFFSET(Model, request)}, {"queue", G_STRUCT_OFFSET(Model, queue)},
        {"compute", G_STRUCT_OFFSET(Model, compute)},
    };
    Model *m = model_of(st, labels);
    for (gsize i = 0; m && i < G_N_ELEMENTS(fields); i++) {
        if (strcmp(fields[i].key, metric->key) != 0)
            continue;
        double *field = (double *)(gpointer)((char *)m + fields[i].offset);
        *field = strcmp(metric->key, "failure") == 0 ? *field + v : MAX(*field, v);
    }
    if (m && strcmp(metric->key, "queue") == 0) /* the line that an event would cite */
        keep_line(&m->line, m->text, sizeof m->text, line);
}

static void xid(CtEmit *emit, const CtLine *line, const char *subject, double v)
{
    if (v < 1 || v > 1000)
        return;
    ct_emit_event(emit, line,
                  (CtEventRow){.kind = "xid", .severity = CT_SEV_ERROR, .code = (gint64)v,
                               .has_code = TRUE, .subject = subject, .gpu = subject + 4});
}

static void gpu_metric(State *st, CtEmit *emit, const CtLine *line, const Metric *m, CtStr labels,
                       double v)
{
    char subject[80], text[32];
    gpu_subject(st, emit, labels, subject, sizeof subject);
    st->gpu = TRUE;
    st->ecc |= strstr(m->name, "ECC") || strstr(m->name, "REMAP");
    gint64 when = line->t_ns != CT_TIME_UNKNOWN ? line->t_ns : ct_section_time(emit);
    if (m->how == AS_XID) {
        if (first_time(st, subject, "xid"))
            xid(emit, line, subject, v);
        return;
    }
    if (m->series)
        ct_emit_snapshot(emit, line, subject, m->series, m->unit, when, v * m->factor);
    if (!first_time(st, subject, m->key))
        return;
    if (m->how == AS_YES_NO) {
        ct_emit_fact(emit, line, subject, m->key, v > 0 ? "Yes" : "No");
        return;
    }
    g_snprintf(text, sizeof text, "%.10g", v * m->factor);
    ct_emit_number(emit, line, subject, m->key, v * m->factor, text);
}

/* name{labels} value [timestamp in ms] */
static gboolean split(CtStr s, CtStr *name, CtStr *labels, double *value)
{
    gsize n = 0;
    while (n < s.n && s.p[n] != '{' && s.p[n] != ' ')
        n++;
    *name = ct_str_head(s, n);
    *labels = ct_str("", 0);
    CtStr rest = ct_str_from(s, n);
    if (rest.n && rest.p[0] == '{') {
        const char *close = memrchr(rest.p, '}', rest.n);
        if (!close)
            return FALSE;
        *labels = ct_str(rest.p + 1, (gsize)(close - rest.p) - 1);
        rest = ct_str_from(rest, (gsize)(close - rest.p) + 1);
    }
    CtStr word = ct_str_token(&rest);
    return n > 0 && ct_str_number(word, value) && isfinite(*value);
}

static void line(gpointer state, const CtLine *line, CtEmit *emit)
{
    State *st = state;
    CtStr s = ct_line_str(line), name, labels;
    char key[80];
    double v;
    if (!s.n || s.p[0] == '#' || !split(s, &name, &labels, &v) || name.n >= sizeof key)
        return;
    const Metric *m = g_hash_table_lookup(st->by_name, ct_str_buf(name, key, sizeof key));
    if (!m)
        return;
    st->found++;
    if (m->how == AS_MODEL) {
        model_metric(st, line, m, labels, v * m->factor);
    } else if (m->how == AS_LLM) {
        CtStr model = {0};
        g_autofree char *subject = NULL;
        if (label(labels, "model_name", &model) && model.n)
            subject = g_strdup_printf("model:%s", CT_STR_BUF(model));
        ct_emit_number(emit, line, subject, m->key, v, NULL);
        if (strcmp(m->key, "llm.requests.waiting") == 0)
            st->waiting = MAX(st->waiting, v);
        if (strcmp(m->key, "llm.preemptions") == 0)
            st->preemptions = MAX(st->preemptions, v);
        if (strcmp(m->key, "llm.cache.usage") == 0 && v > st->cache) {
            st->cache = v;
            keep_line(&st->cache_line, st->cache_text, sizeof st->cache_text, line);
        }
    } else if (!(ct_str_starts(name, "DCGM_FI_") && v >= 2147483632)) { /* blank values of DCGM */
        gpu_metric(st, emit, line, m, labels, v);
    }
}

static void finish_model(const Model *m, CtEmit *emit)
{
    const CtTritonModel shared = {.name = m->name, .success = m->success, .failure = m->failure,
                                  .inferences = m->inferences, .executions = m->executions,
                                  .request = m->request, .queue = m->queue,
                                  .compute = m->compute};
    ct_triton_model_emit(&shared, &m->line, emit);
}

static void finish(gpointer state, CtEmit *emit)
{
    State *st = state;
    for (guint i = 0; i < st->models->len; i++)
        finish_model(st->models->pdata[i], emit);
    gboolean full = st->cache >= 0.95 && st->cache <= 1.01 && st->waiting > 0;
    if (full && st->preemptions > 0)
        ct_emit_event(emit, &st->cache_line,
                      (CtEventRow){.kind = "llm-memory", .severity = CT_SEV_WARNING,
                                   .name = "preemption"});
    if (full)
        ct_emit_event(emit, &st->cache_line,
                      (CtEventRow){.kind = "llm-memory", .severity = CT_SEV_WARNING,
                                   .name = "cache-full"});
    if (st->gpu)
        ct_emit_coverage(emit, "gpu-state", NULL);
    if (st->ecc)
        ct_emit_coverage(emit, "gpu-ecc", NULL);
    if (st->found)
        ct_emit_coverage(emit, "metrics", NULL);
    g_ptr_array_unref(st->models);
    g_hash_table_unref(st->seen);
    g_hash_table_unref(st->by_name);
    g_free(st);
}

static int sniff(const CtSniff *sniff)
{
    static const char *const prefixes[] = {"DCGM_FI_", "nv_inference_", "nv_gpu_", "vllm:",
                                           "sglang:", "llamacpp:", "nv_energy", "nv_cache",
                                           "nv_pinned", "nv_cpu", "all_smi_", "nvidia_smi_"};
    guint comments = 0, samples = 0;
    for (guint i = 0; i < sniff->n_lines; i++) {
        CtStr s = ct_sniff_line(sniff, i), name, labels;
        double v;
        comments += ct_str_starts(s, "# HELP ") || ct_str_starts(s, "# TYPE ");
        for (gsize k = 0; k < G_N_ELEMENTS(prefixes); k++)
            samples += ct_str_starts(s, prefixes[k]) && split(s, &name, &labels, &v);
    }
    if (comments > 1 || (comments && samples))
        return 90;
    return samples >= 2 ? 86 : 0;
}

const CtParser ct_parser_openmetrics = {
    .id = "openmetrics",
    .summary = "scraped metrics of DCGM, Triton and language-model servers",
    .doc = "The text format of Prometheus and OpenMetrics: DCGM_FI_* of dcgm-exporter, nvidia_smi_* "
           "and all_smi_* of other exporters, nv_* of Triton, vllm:*, sglang:*, llamacpp:*. State of each GPU as gpu.* facts and, over "
           "several scrapes, series; the last Xid; for each model the mean times of queue and "
           "computation; running and waiting requests and the use of the cache of language "
           "models. Values that DCGM marks as blank are left out.",
    .sniff = sniff,
    .begin = begin,
    .line = line,
    .finish = finish,
};
