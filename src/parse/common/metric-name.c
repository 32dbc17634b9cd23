/* SPDX-License-Identifier: Apache-2.0 */
#include "parse/common/metric-name.h"

#include <string.h>

#define MAX_WORDS 12

typedef struct {
    char word[MAX_WORDS][24];
    guint n;
} Words;

/* "gpuMemUsedMiB", "lat_ms", "p99 (us)" -> gpu mem used mib; lat ms; p99 us */
static void split(CtStr s, Words *w)
{
    w->n = 0;
    gsize k = 0;
    for (gsize i = 0; i <= s.n; i++) {
        char c = i < s.n ? s.p[i] : ' ';
        gboolean alnum = g_ascii_isalnum(c) || c == '%' || c == '/';
        gboolean camel = alnum && g_ascii_isupper(c) && i > 0 &&
                         (g_ascii_islower(s.p[i - 1]) || g_ascii_isdigit(s.p[i - 1]));
        if ((!alnum || camel) && k) {
            w->word[w->n][k] = '\0';
            k = 0;
            if (++w->n == MAX_WORDS)
                return;
        }
        if (alnum && k < sizeof(w->word[0]) - 1)
            w->word[w->n][k++] = g_ascii_tolower(c);
    }
}

static gboolean has(const Words *w, const char *word)
{
    for (guint i = 0; i < w->n; i++)
        if (strcmp(w->word[i], word) == 0)
            return TRUE;
    return FALSE;
}

static gboolean has_any(const Words *w, const char *const *list, gsize n)
{
    for (gsize i = 0; i < n; i++)
        if (has(w, list[i]))
            return TRUE;
    return FALSE;
}

#define HAS_ANY(w, ...)                                                                           \
    has_any((w), (const char *const[]){__VA_ARGS__},                                              \
            sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static void drop(Words *w, guint at)
{
    for (guint i = at; i + 1 < w->n; i++)
        memcpy(w->word[i], w->word[i + 1], sizeof(w->word[0]));
    w->n--;
}

/* A unit written into the name, nearly always as its last word. */
static gboolean take_unit(Words *w, CtDim *dim, double *factor)
{
    static const struct {
        const char *word;
        CtDim dim;
        double factor;
    } units[] = {
        {"ms", CT_DIM_TIME, 1e6},          {"msec", CT_DIM_TIME, 1e6},
        {"millis", CT_DIM_TIME, 1e6},      {"milliseconds", CT_DIM_TIME, 1e6},
        {"us", CT_DIM_TIME, 1e3},          {"usec", CT_DIM_TIME, 1e3},
        {"micros", CT_DIM_TIME, 1e3},      {"microseconds", CT_DIM_TIME, 1e3},
        {"ns", CT_DIM_TIME, 1},            {"nanos", CT_DIM_TIME, 1},
        {"s", CT_DIM_TIME, 1e9},           {"sec", CT_DIM_TIME, 1e9},
        {"secs", CT_DIM_TIME, 1e9},        {"seconds", CT_DIM_TIME, 1e9},
        {"mib", CT_DIM_BYTES, 1048576.0},  {"mb", CT_DIM_BYTES, 1048576.0},
        {"gib", CT_DIM_BYTES, 1073741824.0}, {"gb", CT_DIM_BYTES, 1073741824.0},
        {"kib", CT_DIM_BYTES, 1024},       {"kb", CT_DIM_BYTES, 1024},
        {"bytes", CT_DIM_BYTES, 1},        {"byte", CT_DIM_BYTES, 1},
        {"pct", CT_DIM_RATIO, 0.01},       {"percent", CT_DIM_RATIO, 0.01},
        {"%", CT_DIM_RATIO, 0.01},         {"mhz", CT_DIM_HZ, 1e6},
        {"watts", CT_DIM_WATT, 1},         {"w", CT_DIM_WATT, 1},
        {"celsius", CT_DIM_CELSIUS, 1},    {"c", CT_DIM_CELSIUS, 1},
    };
    for (guint at = w->n; at > 0; at--) {
        for (gsize i = 0; i < G_N_ELEMENTS(units); i++) {
            if (strcmp(w->word[at - 1], units[i].word) != 0)
                continue;
            /* One letter counts only at the end. */
            if (units[i].word[1] == '\0' && units[i].word[0] != '%' && at != w->n)
                continue;
            *dim = units[i].dim;
            *factor = units[i].factor;
            drop(w, at - 1);
            return TRUE;
        }
    }
    return FALSE;
}

/* avg, p95, p99.9: taken out of the words. */
static const char *take_statistic(Words *w, char out[12])
{
    static const char *const pairs[][2] = {
        {"avg", "mean"}, {"mean", "mean"}, {"average", "mean"}, {"median", "p50"}, {"med", "p50"},
        {"max", "max"},  {"min", "min"},   {"maximum", "max"},  {"minimum", "min"}, {"worst", "max"}};
    for (guint i = 0; i < w->n; i++) {
        const char *word = w->word[i];
        for (gsize k = 0; k < G_N_ELEMENTS(pairs); k++) {
            if (strcmp(word, pairs[k][0]) == 0) {
                g_strlcpy(out, pairs[k][1], 12);
                drop(w, i);
                return out;
            }
        }
        gsize n = strlen(word);
        if (word[0] == 'p' && n >= 3 && n <= 5 && strspn(word + 1, "0123456789") == n - 1) {
            g_strlcpy(out, word, 12);
            drop(w, i);
            return out;
        }
    }
    return NULL;
}

static void set(CtMetricName *out, const char *metric, const char *unit, const char *subject)
{
    out->role = CT_ROLE_METRIC;
    g_strlcpy(out->metric, metric, sizeof(out->metric));
    out->unit = unit;
    out->subject = subject;
}

/* The words that are left name the stage; words that every request has name none. */
static void latency(Words *w, const char *statistic, CtMetricName *out)
{
    static const char *const plain[] = {
        "latency", "lat", "latencies", "duration", "elapsed", "took", "time", "total", "inference",
        "infer", "request", "req", "response", "e2e", "rtt", "rt", "end", "to", "in", "per",
        "pass", "frame", "step", "iter", "iteration", "it", "query", "per-request", "runtime",
        "exec", "execution", "wall", "cost", "of", "a", "the", "is", "was", "done", "finished",
        "completed", "served", "handled", "processed", "item", "batch", "call", "run", "service",
        "predict", "prediction", "proc", "processing", "host", "ms", "us", "s", "sec", "boxes",
        "and", "for", "with", "after"};
    char stage[40] = "";
    for (guint i = 0; i < w->n; i++) {
        gboolean generic = FALSE;
        for (gsize k = 0; k < G_N_ELEMENTS(plain); k++)
            generic |= strcmp(plain[k], w->word[i]) == 0;
        if (generic || g_ascii_isdigit(w->word[i][0]))
            continue;
        if (strlen(stage) + strlen(w->word[i]) + 2 > sizeof(stage))
            break;
        if (stage[0])
            g_strlcat(stage, "-", sizeof(stage));
        g_strlcat(stage, w->word[i], sizeof(stage));
    }
    char metric[64];
    g_snprintf(metric, sizeof(metric), "latency%s%s%s%s", stage[0] ? "." : "", stage,
               statistic ? "." : "", statistic ? statistic : "");
    set(out, metric, "ns", NULL);
}

static void memory(const Words *w, CtMetricName *out)
{
    gboolean gpu = HAS_ANY(w, "gpu", "vram", "device", "cuda", "gpumem");
    if (HAS_ANY(w, "total", "limit", "size", "capacity", "peak", "budget", "workspace", "max"))
        return;
    if (HAS_ANY(w, "free", "available", "avail")) {
        if (gpu)
            set(out, "gpu.memory.free", "bytes", "gpu:0");
        else
            set(out, "memory.available", "bytes", NULL);
    } else if (HAS_ANY(w, "rss", "resident", "vmrss")) {
        set(out, "process.rss", "bytes", NULL);
    } else if (HAS_ANY(w, "reserved", "cached")) {
        set(out, "pool.reserved", "bytes", NULL);
    } else if (HAS_ANY(w, "pool", "allocated", "active", "alloc")) {
        set(out, "pool.used", "bytes", NULL);
    } else if (HAS_ANY(w, "swap")) {
        set(out, "swap.used", "bytes", NULL);
    } else if (HAS_ANY(w, "nvmap")) {
        set(out, "nvmap.used", "bytes", NULL);
    } else if (gpu) {
        set(out, "gpu.memory.used", "bytes", "gpu:0");
    } else if (HAS_ANY(w, "ram", "used", "system", "host")) {
        set(out, "memory.used", "bytes", NULL);
    } else if (HAS_ANY(w, "mem", "memory", "usage", "heap")) {
        set(out, "process.rss", "bytes", NULL);
    }
}

static gboolean is_time(const Words *w)
{
    if (HAS_ANY(w, "timestamp", "ts", "datetime", "date", "epoch", "unix", "utc", "when"))
        return TRUE;
    return w->n == 1 && HAS_ANY(w, "time", "t", "minute", "hour", "day", "clock");
}

static gboolean plain_quantity(const Words *w, CtMetricName *out)
{
    if (HAS_ANY(w, "qps", "rps", "fps", "tps", "throughput", "req/s", "requests/s", "it/s",
                "samples/s", "images/s", "tokens/s", "requests/sec", "images/sec", "ips")) {
        set(out, "throughput", "1/s", NULL);
    } else if (HAS_ANY(w, "errors", "error", "failures", "failed", "errs", "dropped", "timeouts")) {
        set(out, "errors", "count", NULL);
    } else if (HAS_ANY(w, "frames", "requests", "reqs", "images", "processed", "batches")) {
        set(out, "requests", "count", NULL);
    } else if (HAS_ANY(w, "queue", "queued", "pending", "backlog", "inflight")) {
        set(out, "queue.depth", "count", NULL);
    } else if (HAS_ANY(w, "request", "req", "id", "idx", "index", "iter", "iteration", "frame",
                       "seq", "n", "step", "no", "num", "i")) {
        out->role = CT_ROLE_INDEX;
    } else {
        return FALSE;
    }
    return TRUE;
}

static void by_dimension(Words *w, CtDim dim, const char *statistic, CtMetricName *out)
{
    gboolean gpu = HAS_ANY(w, "gpu", "cuda", "sm", "device");
    switch (dim) {
    case CT_DIM_TIME:
        if (HAS_ANY(w, "timeout", "interval", "uptime", "start", "begin", "deadline", "period",
                    "ttl", "delay", "sleep", "wait", "t0", "t1", "age", "target", "threshold",
                    "budget", "limit", "every", "retry"))
            return;
        latency(w, statistic, out);
        break;
    case CT_DIM_BYTES:
        memory(w, out);
        break;
    case CT_DIM_RATIO:
        if (HAS_ANY(w, "util", "utilization", "utilisation", "usage", "load", "busy") || gpu) {
            if (HAS_ANY(w, "cpu"))
                set(out, "cpu.util", "1", NULL);
            else if (gpu && !HAS_ANY(w, "mem", "memory"))
                set(out, "gpu.util", "1", "gpu:0");
        }
        break;
    case CT_DIM_CELSIUS:
        if (HAS_ANY(w, "temp", "temperature", "gpu", "tj"))
            set(out, HAS_ANY(w, "cpu", "board") ? "board.temperature" : "gpu.temperature",
                "celsius", HAS_ANY(w, "cpu", "board") ? "board" : "gpu:0");
        break;
    case CT_DIM_WATT:
        if (HAS_ANY(w, "power", "gpu", "draw"))
            set(out, "gpu.power", "W", "gpu:0");
        break;
    case CT_DIM_HZ:
        if (HAS_ANY(w, "clock", "clocks", "sm", "gpu", "freq") && !HAS_ANY(w, "mem", "memory"))
            set(out, "gpu.clock.sm", "Hz", "gpu:0");
        break;
    case CT_DIM_PER_SECOND:
        set(out, "throughput", "1/s", NULL);
        break;
    default:
        break;
    }
}

void ct_metric_name(CtStr name, CtDim dim, CtMetricName *out)
{
    Words w;
    char statistic[12];
    double factor = 1;
    CtDim own = dim;
    *out = (CtMetricName){.factor = 1};
    split(ct_str_head(name, 96), &w);
    if (!w.n)
        return;
    if (is_time(&w)) {
        out->role = CT_ROLE_TIME;
        take_unit(&w, &own, &out->factor);
        return;
    }
    if (dim == CT_DIM_NONE && !HAS_ANY(&w, "images/s", "it/s") && take_unit(&w, &own, &factor)) {
        out->unit_given = TRUE;
        if (own == CT_DIM_TIME && is_time(&w)) {
            out->role = CT_ROLE_TIME;
            out->factor = factor;
            return;
        }
    }
    const char *stat = take_statistic(&w, statistic);
    if (own != CT_DIM_NONE) {
        by_dimension(&w, own, stat, out);
        out->factor = factor;
        return;
    }
    if (plain_quantity(&w, out))
        return;
    /* Without a unit: milliseconds, as nearly everybody writes them. */
    if (HAS_ANY(&w, "latency", "lat", "latencies", "duration", "elapsed", "rtt", "inference") ||
        (w.n <= 2 && HAS_ANY(&w, "time") && w.n > 1) || (stat && !w.n)) {
        latency(&w, stat, out);
        out->factor = 1e6;
    } else if (HAS_ANY(&w, "temperature", "temp")) {
        set(out, "gpu.temperature", "celsius", "gpu:0");
    }
}
