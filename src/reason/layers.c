/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layers outside in. A layer is ok only where somebody looked at what would show its faults;
 * otherwise nobody knows.
 */
#include <string.h>

#include "reason/reason-private.h"

#define FAULT 0.5
#define SUSPECT 0.1

static const struct {
    const char *layer;
    const char *shown_by; /* coverage kinds, any of which shows its faults */
} layers[] = {
    {"hardware", "gpu-state,gpu-ecc,kernel-log,tegrastats"},
    {"kernel-driver", "kernel-log"},
    {"user-driver", "cuda-log,versions"},
    {"container", "container"},
    {"environment", "versions,packages,loader,environment"},
    {"runtime-api", "cuda-log"},
    {"memory", "memory-series,gpu-processes,sanitizer-leak"},
    {"kernel-code", "sanitizer,cuda-log"},
    {"concurrency", "trace,sanitizer"},
    {"model-export", "trt-build"},
    {"trt-build", "trt-build"},
    {"trt-engine", "trt-runtime"},
    {"model-numerics", ""},
    {"multi-gpu", "nccl-log"},
    {"serving", "app-log"},
    {"performance", "latency-series,gpu-telemetry,gpu-clocks"},
    {"application", "app-log"},
};

static const CtHypothesis *strongest(const CtReason *r, const char *layer)
{
    const CtHypothesis *best = NULL;
    const GPtrArray *all = r->out->hypotheses;
    for (guint i = 0; i < all->len; i++) {
        const CtHypothesis *h = g_ptr_array_index(all, i);
        if (g_strcmp0(h->layer, layer) == 0 && strcmp(h->cause, "unknown") != 0 &&
            (!best || h->probability > best->probability))
            best = h;
    }
    return best;
}

static const CtHypothesis *consequence(const CtReason *r, const char *layer)
{
    const GPtrArray *all = r->out->consequences;
    for (guint i = 0; i < all->len; i++) {
        const CtHypothesis *h = g_ptr_array_index(all, i);
        if (g_strcmp0(h->layer, layer) == 0)
            return h;
    }
    return NULL;
}

/* "kernel log, nvidia-smi -q output": what of the list was looked at, or all of it when `seen`
 * is FALSE and none was. (transfer full) (nullable) */
static char *coverage_names(const CtReason *r, const char *kinds, gboolean seen)
{
    g_auto(GStrv) list = g_strsplit(kinds, ",", -1);
    GString *names = g_string_new(NULL);
    for (guint i = 0; list[i] && *list[i]; i++) {
        g_autofree char *key = g_strconcat("coverage:", list[i], NULL);
        if (ct_presence_has(r, key) != seen)
            continue;
        g_string_append_printf(names, "%s%s", names->len ? ct_lang(r, ", ", "、") : "",
                               ct_coverage_name(r, list[i]));
    }
    return g_string_free(names, names->len == 0);
}

static void judge(const CtReason *r, const char *shown_by, CtLayer *l)
{
    const CtHypothesis *h = strongest(r, l->layer), *c = consequence(r, l->layer);
    g_autofree char *seen = coverage_names(r, shown_by, TRUE);
    if (h && h->probability >= SUSPECT) {
        l->state = h->probability >= FAULT ? CT_LAYER_FAULT : CT_LAYER_SUSPECT;
        l->why = g_strdup(h->title);
    } else if (c) {
        l->state = CT_LAYER_SUSPECT;
        l->why = g_strdup_printf(ct_lang(r, "consequence: %s", "属于后果：%s"), c->title);
    } else if (seen) {
        l->state = CT_LAYER_OK;
        l->why = g_strdup_printf(ct_lang(r, "nothing found in: %s", "未见异常：%s"), seen);
    } else {
        g_autofree char *lacking = coverage_names(r, shown_by, FALSE);
        l->state = CT_LAYER_UNKNOWN;
        l->why = lacking ? g_strdup_printf(ct_lang(r, "nobody looked: %s", "未查看：%s"), lacking)
                         : g_strdup(ct_lang(r, "nobody looked", "未查看"));
    }
}

void ct_layers_summarise(CtReason *r)
{
    for (guint i = 0; i < G_N_ELEMENTS(layers); i++) {
        CtLayer *l = g_new0(CtLayer, 1);
        l->layer = g_strdup(layers[i].layer);
        judge(r, layers[i].shown_by, l);
        g_ptr_array_add(r->out->layers, l);
    }
}

const char *ct_layer_state_name(CtLayerState state)
{
    static const char *const names[] = {"ok", "suspect", "fault", "unknown"};
    g_assert(state >= 0 && (gsize)state < G_N_ELEMENTS(names));
    return names[state];
}
