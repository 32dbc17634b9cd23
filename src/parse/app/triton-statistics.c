/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics of a Triton server, as its HTTP interface gives them (v2/models/stats). */
#include "parse/app/triton-model.h"

#include <stdio.h>
#include <string.h>

#include "parse/common/scan.h"
#include "parse/dump/py-values.h"

#define MAX_MODELS 1000u

/* Where most of a request's time is spent before it is worked on, the queue is the matter. */
void ct_triton_model_emit(const CtTritonModel *m, const CtLine *line, CtEmit *emit)
{
    char subject[96], detail[160];
    g_snprintf(subject, sizeof subject, "model:%s", m->name);
    double n = m->success + m->failure;
    if (n > 0)
        ct_emit_number(emit, NULL, subject, "triton.requests", n, NULL);
    if (m->failure > 0)
        ct_emit_number(emit, NULL, subject, "triton.failures", m->failure, NULL);
    if (m->executions > 0)
        ct_emit_number(emit, NULL, subject, "triton.mean-batch", m->inferences / m->executions,
                       NULL);
    if (m->success < 1 || m->request <= 0)
        return;
    ct_emit_number(emit, NULL, subject, "triton.mean.request", m->request / m->success, NULL);
    ct_emit_number(emit, NULL, subject, "triton.mean.queue", m->queue / m->success, NULL);
    ct_emit_number(emit, NULL, subject, "triton.mean.compute", m->compute / m->success, NULL);
    if (m->success < 20 || m->queue < 0.6 * m->request || m->queue / m->success < 1e6 ||
        !line->number)
        return;
    g_snprintf(detail, sizeof detail, "{\"share\":%.2f,\"queue_us\":%.0f,\"compute_us\":%.0f}",
               m->queue / m->request, m->queue / m->success / 1e3, m->compute / m->success / 1e3);
    ct_emit_event(emit, line,
                  (CtEventRow){.kind = "perf-hint", .severity = CT_SEV_WARNING,
                               .name = "queue-share", .subject = subject, .detail = detail});
}

/* A number of {"count": n, "ns": t}, by default that of the object itself. */
static double number(const CtPyTree *t, CtPyNode object, const char *key, const char *part)
{
    CtPyNode v = ct_py_get(t, object, key);
    double d;
    return ct_py_number(t, part ? ct_py_get(t, v, part) : v, &d) && d > 0 && d < 1e18 ? d : 0;
}

static void model(const CtPyTree *t, CtPyNode node, guint first_line, CtEmit *emit)
{
    CtPyNode stats = ct_py_get(t, node, "inference_stats");
    CtStr said = ct_py_text(t, ct_py_get(t, node, "name"));
    char name[80], text[200];
    if (!said.n)
        return;
    g_snprintf(name, sizeof name, "%.*s", (int)MIN(said.n, sizeof name - 1), said.p);
    CtTritonModel m = {.name = name,
                       .success = number(t, stats, "success", "count"),
                       .failure = number(t, stats, "fail", "count"),
                       .inferences = number(t, node, "inference_count", NULL),
                       .executions = number(t, node, "execution_count", NULL),
                       .request = number(t, stats, "success", "ns"),
                       .queue = number(t, stats, "queue", "ns"),
                       .compute = number(t, stats, "compute_input", "ns") +
                                  number(t, stats, "compute_infer", "ns") +
                                  number(t, stats, "compute_output", "ns")};
    g_snprintf(text, sizeof text, "model %s: %.0f requests, %.3f s in the queue, %.3f s computed",
               name, m.success, m.queue / 1e9, m.compute / 1e9);
    CtLine line = {.raw = text, .raw_len = strlen(text), .text = text, .len = strlen(text),
                   .number = first_line, .t_ns = CT_TIME_UNKNOWN, .pid = CT_NONE, .rank = CT_NONE};
    ct_triton_model_emit(&m, &line, emit);
}

static void document(const char *data, gsize len, guint first_line, CtEmit *emit)
{
    const char *why;
    guint n = 0;
    g_autoptr(CtPyTree) t = ct_py_read_json(data, len, &why);
    if (!t) {
        ct_emit_status(emit, CT_FAILED, why);
        return;
    }
    CtPyNode list = ct_py_get(t, ct_py_root(t), "model_stats");
    for (CtPyIter it = ct_py_iter(t, list); ct_py_next(t, &it) && n < MAX_MODELS; n++)
        model(t, it.value, first_line, emit);
    if (n)
        ct_emit_coverage(emit, "metrics", NULL);
}

static int sniff(const CtSniff *sniff)
{
    return ct_str_starts(ct_str_strip(ct_str(sniff->head, sniff->len)), "{") &&
                   strstr(sniff->head, "\"model_stats\"")
               ? 94
               : 0;
}

const CtParser ct_parser_triton_statistics = {
    .id = "triton-statistics",
    .summary = "Statistics of a Triton server (JSON)",
    .doc = "The answer of v2/models/stats and v2/models/NAME/stats: for each model its requests, "
           "failures, mean batch, and the mean times of a request, of its queue and of its "
           "computation; a hint where the queue takes most of the time.",
    .sniff = sniff,
    .document = document,
};
