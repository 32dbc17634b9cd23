/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers inside application logs: "inference time 612.4 ms", "lat_ms avg=18.0 p95=19.4",
 * "fps=25.0", "pool used=673.5 MiB", TensorRT's memory lines. A quantity becomes a series once it
 * was seen three times; thresholds, time-outs and settings are not measurements.
 */
#include <string.h>

#include "parse/common/metric-name.h"

#define MAX_SERIES 200
#define HOLD 2
#define LINES_READ_WHOLE 200000u

typedef struct {
    guint seen;
    guint number[HOLD];
    gint64 t[HOLD];
    double value[HOLD];
} Held;

/* A log names the same few quantities in each line. */
#define NAMES 64u
typedef struct {
    char name[128];
    CtDim dim;
    gboolean known;
    CtMetricName metric;
} Named;

typedef struct {
    Named names[NAMES];
    GHashTable *held; /* subject|metric -> Held */
    guint lines, latencies, memories;
} State;

static gpointer begin(CtEmit *emit)
{
    State *st = g_new0(State, 1);
    st->held = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    return st;
}

static void put(State *st, CtEmit *emit, const CtLine *line, const char *subject,
                const char *metric, const char *unit, double value)
{
    char id[160];
    g_snprintf(id, sizeof(id), "%.60s|%.80s", subject ? subject : "", metric);
    Held *h = g_hash_table_lookup(st->held, id);
    if (!h) {
        if (g_hash_table_size(st->held) >= MAX_SERIES)
            return;
        h = g_new0(Held, 1);
        g_hash_table_insert(st->held, g_strdup(id), h);
    }
    if (h->seen < HOLD) {
        h->number[h->seen] = line->number;
        h->t[h->seen] = line->t_ns;
        h->value[h->seen++] = value;
        return;
    }
    if (h->seen == HOLD) {
        for (guint i = 0; i < HOLD; i++) {
            CtLine old = ct_line_at(h->number[i], "", 0);
            ct_emit_sample(emit, &old, subject, metric, unit, h->t[i], h->value[i]);
        }
        h->seen++;
        st->latencies += g_str_has_prefix(metric, "latency");
        st->memories += strcmp(unit, "bytes") == 0;
    }
    ct_emit_sample(emit, line, subject, metric, unit, line->t_ns, value);
}

/* ---- TensorRT: "[MemUsageChange] WHAT: CPU +a, GPU +b, now: CPU c, GPU d (MiB)" ---- */

static gboolean tensorrt(State *st, CtEmit *emit, const CtLine *line, CtStr s)
{
    gssize at = ct_str_find(s, "[MemUsageChange]");
    CtStr what, cpu, gpu;
    double value;
    if (at < 0)
        return FALSE;
    CtStr rest = ct_str_from(s, (gsize)at + 16);
    if (!ct_str_cut(&rest, ": CPU", &what) || !ct_str_between(rest, "now: CPU", ",", &cpu))
        return TRUE;
    gssize now = ct_str_find(rest, "now: CPU");
    if (!ct_str_between(ct_str_from(rest, (gsize)now), "GPU", "(", &gpu))
        return TRUE;
    gboolean managed = ct_str_has(what, "TensorRT-managed");
    /* The two groups count different things and must not share a series. */
    if (ct_str_number(gpu, &value))
        put(st, emit, line, managed ? "tensorrt" : "gpu:0",
            managed ? "pool.used" : "gpu.memory.used", "bytes", value * 1048576);
    if (!managed && ct_str_number(cpu, &value))
        put(st, emit, line, NULL, "process.rss", "bytes", value * 1048576);
    return TRUE;
}

/* ---- key=value and "words number unit" ---- */

/* What follows the number: a unit that is not the beginning of a longer word. */
static gsize unit_length(CtStr s, CtDim *dim, double *factor)
{
    static const struct {
        const char *word;
        CtDim dim;
        double factor;
    } rates[] = {
        {"s/it", CT_DIM_TIME, 1e9},  {"ms/it", CT_DIM_TIME, 1e6}, {"s/step", CT_DIM_TIME, 1e9},
        {"ms/step", CT_DIM_TIME, 1e6}, {"it/s", CT_DIM_PER_SECOND, 1},
    };
    gsize blank = 0;
    while (blank < s.n && blank < 2 && s.p[blank] == ' ')
        blank++;
    CtStr w = ct_str_from(s, blank);
    for (gsize i = 0; i < G_N_ELEMENTS(rates); i++) {
        if (ct_str_starts(w, rates[i].word)) {
            *dim = rates[i].dim;
            *factor = rates[i].factor;
            return blank + strlen(rates[i].word);
        }
    }
    gsize n = 0;
    while (n < w.n && n < 14 && (g_ascii_isalpha(w.p[n]) || w.p[n] == '%' || w.p[n] == '/' ||
                                 (guchar)w.p[n] >= 0x80))
        n++;
    if (n && w.p[n - 1] == '/')
        n--;
    if (!n || (n < w.n && (g_ascii_isdigit(w.p[n]) || w.p[n] == '_' || w.p[n] == '=' ||
                           (w.p[n] == ':' && blank))))
        return 0; /* the next key: "frames=250 fps=25.0" */
    /* "M", "T", "x" and the like are no units here. */
    if (n == 1 && w.p[0] != 's' && w.p[0] != '%' && w.p[0] != 'W' && w.p[0] != 'C')
        return 0;
    return ct_unit(ct_str_head(w, n), dim, factor) ? blank + n : 0;
}

static gboolean name_char(char c)
{
    return g_ascii_isalnum(c) || c == '_' || c == '.' || c == '/' || c == '-';
}

static const char *const setting_words[] = {
    "above", "below", "over ", "under ", "exceed", "target", "limit", "threshold", "timeout",
    "time-out", "timed out", "budget", "deadline", "every", "interval", "retry", "waiting",
    "sleep", "within", "than ", "at least", "at most", "up to", "slo ", "expected", "tried to",
    "capacity", "total of", "requested", "max_", "workspace", "uptime", "backoff", "loading ",
    "keepalive", "window", "grace"};

/* The words that begin with a letter, as bits. */
static const guint64 *words_by_letter(void)
{
    static guint64 bits[26];
    static gsize done;
    if (g_once_init_enter(&done)) {
        for (gsize i = 0; i < G_N_ELEMENTS(setting_words); i++)
            bits[setting_words[i][0] - 'a'] |= G_GUINT64_CONSTANT(1) << i;
        g_once_init_leave(&done, 1);
    }
    return bits;
}

static gboolean names_setting(CtStr s)
{
    const guint64 *bits = words_by_letter();
    char low[48];
    gsize n = MIN(s.n, sizeof low - 1);
    for (gsize i = 0; i < n; i++)
        low[i] = s.p[i] >= 'A' && s.p[i] <= 'Z' ? (char)(s.p[i] | 32) : s.p[i];
    low[n] = '\0';
    for (gsize i = 0; i < n; i++) {
        guint64 left = low[i] >= 'a' && low[i] <= 'z' ? bits[low[i] - 'a'] : 0;
        while (left) {
            guint w = (guint)__builtin_ctzll(left);
            left &= left - 1;
            const char *word = setting_words[w], *at = low + i;
            while (*word && *word == *at) {
                word++;
                at++;
            }
            if (!*word)
                return TRUE;
        }
    }
    return FALSE;
}

static gboolean is_setting(CtStr before, CtStr after)
{
    if (names_setting(ct_str_from(before, before.n > 40 ? before.n - 40 : 0)))
        return TRUE;
    after = ct_str_strip(ct_str_head(after, 16));
    return ct_str_starts(after, "timeout") || ct_str_starts(after, "limit") ||
           ct_str_starts(after, "ago") || ct_str_starts(after, "resident");
}

/* The name of the number that starts at `at`: behind '=' or ':' the key, else up to three words. */
static CtStr label_before(CtStr s, gsize at, gboolean *assigned, gsize *start)
{
    gsize end = at;
    while (end > 0 && s.p[end - 1] == ' ')
        end--;
    *assigned = end > 0 && (s.p[end - 1] == '=' || s.p[end - 1] == ':');
    guint most = *assigned && s.p[end - 1] == '=' ? 1 : 3;
    if (*assigned)
        end--;
    while (end > 0 && (s.p[end - 1] == ' ' || s.p[end - 1] == '"'))
        end--;
    gsize i = end;
    guint words = 0;
    while (i > 0 && words < most) {
        gsize word_end = i;
        while (i > 0 && name_char(s.p[i - 1]))
            i--;
        if (i == word_end)
            break;
        gboolean digit = g_ascii_isdigit(s.p[i]) || s.p[i] == '.' || s.p[i] == '/';
        if (digit) {
            i = word_end;
            break;
        }
        words++;
        if (words == most || i == 0 || s.p[i - 1] != ' ' || (i > 1 && s.p[i - 2] == ' '))
            break;
        i--;
    }
    while (i < end && s.p[i] == ' ')
        i++;
    *start = i;
    return ct_str_strip(ct_str_head(ct_str_from(s, i), end - i));
}

/* "lat_ms avg=18.0 p95=19.4": a word with a unit that stands before bare statistics. */
static gboolean group_of(CtStr s, gsize at, CtStr *out)
{
    static const char *const groups[] = {"lat_ms", "latency_ms", "time_ms", "infer_ms", "lat_us",
                                         "latency_us", "lat(ms)", "latency(ms)", "latency[ms]",
                                         "ms:", "latency (ms)"};
    CtStr head = ct_str_head(s, at);
    for (gsize i = 0; i < G_N_ELEMENTS(groups); i++) {
        gssize found = ct_str_ifind(head, groups[i]);
        if (found >= 0 && (found == 0 || !name_char(s.p[found - 1]))) {
            *out = ct_str_head(ct_str_from(head, (gsize)found), strlen(groups[i]));
            return TRUE;
        }
    }
    return FALSE;
}

static gboolean is_statistic(CtStr name)
{
    static const char *const words[] = {"avg", "mean", "p50", "p90", "p95", "p99", "p999", "max",
                                        "min", "median", "last"};
    for (gsize i = 0; i < G_N_ELEMENTS(words); i++)
        if (ct_str_ieq(name, words[i]))
            return TRUE;
    return FALSE;
}

/* "cam0: ..." or the logger: tells series of several sources apart. */
static const char *speaker(CtStr s, const CtLine *line, char buf[40])
{
    static const char *const levels[] = {"INFO", "WARN", "WARNING", "ERROR", "DEBUG", "I", "W",
                                         "E", "D", "info", "warn", "debug", "error", "infer"};
    gssize colon = ct_str_find(ct_str_head(s, 60), ": ");
    if (colon > 0) {
        gsize start = (gsize)colon;
        while (start > 0 && name_char(s.p[start - 1]))
            start--;
        CtStr name = ct_str_head(ct_str_from(s, start), (gsize)colon - start);
        gboolean level = name.n < 2 || name.n > 24;
        for (gsize i = 0; i < G_N_ELEMENTS(levels); i++)
            level |= ct_str_eq(name, levels[i]);
        gboolean alone = start == 0 || s.p[start - 1] == ' ' || s.p[start - 1] == ']';
        if (!level && alone && g_ascii_isalpha(name.p[0])) {
            ct_str_buf(name, buf, 40);
            return buf;
        }
    }
    return NULL;
}

static const CtMetricName *metric_of(State *st, const char *name, CtDim dim)
{
    Named *x = &st->names[(g_str_hash(name) + (guint)dim) % NAMES];
    if (!x->known || x->dim != dim || strcmp(x->name, name) != 0) {
        g_strlcpy(x->name, name, sizeof x->name);
        x->dim = dim;
        x->known = TRUE;
        ct_metric_name(ct_str_of(name), dim, &x->metric);
    }
    return &x->metric;
}

static void number_at(State *st, CtEmit *emit, const CtLine *line, CtStr s, gsize at, gsize *next)
{
    CtStr rest = ct_str_from(s, at);
    double value, factor = 1;
    CtDim dim = CT_DIM_NONE;
    gboolean assigned;
    gsize start;
    if (!ct_str_take_plain(&rest, &value)) {
        *next = at + 1;
        return;
    }
    gsize unit = unit_length(rest, &dim, &factor);
    *next = at + (ct_str_from(s, at).n - rest.n) + unit;
    CtStr label = label_before(s, at, &assigned, &start);
    CtStr after = ct_str_from(rest, unit);
    if (!unit && !assigned)
        return;
    if (!unit && after.n && (g_ascii_isalnum(after.p[0]) || after.p[0] == '-' ||
                             after.p[0] == ':' || after.p[0] == '/' || after.p[0] == '_'))
        return; /* a date, an address, an identifier */
    CtStr group;
    char name[128], who[40];
    gboolean statistic = is_statistic(label);
    if (!unit && statistic && group_of(s, start, &group))
        g_snprintf(name, sizeof(name), "%.*s %.*s", (int)group.n, group.p, (int)label.n, label.p);
    else if (dim == CT_DIM_BYTES && ct_str_ifind(ct_str_head(s, at), "pool") >= 0 &&
             ct_str_ifind(label, "pool") < 0)
        g_snprintf(name, sizeof(name), "pool %.*s", (int)MIN(label.n, (gsize)60), label.p);
    else
        g_snprintf(name, sizeof(name), "%.*s", (int)MIN(label.n, (gsize)100), label.p);
    /* "61.3 ms" without a word: what the line reports took that long. */
    if (!name[0] && dim == CT_DIM_TIME &&
        (factor <= 1e6 || memchr(rest.p, '/', MIN(unit, rest.n))))
        g_strlcpy(name, "latency", sizeof(name));
    const CtMetricName *m = metric_of(st, name, dim);
    if (m->role != CT_ROLE_METRIC || is_setting(ct_str_head(s, at), after))
        return;
    if (!unit && !m->unit_given && m->factor != 1)
        return; /* a latency without a unit: may be anything */
    if (!unit && dim == CT_DIM_NONE && strcmp(m->unit, "celsius") == 0)
        return;
    const char *subject = m->subject ? m->subject : speaker(s, line, who);
    put(st, emit, line, subject, m->metric, m->unit, value * (unit ? factor : m->factor));
}

static gboolean is_failure(CtStr s)
{
    return ct_str_has(s, "out of memory") || ct_str_has(s, "Tried to allocate") ||
           ct_str_has(s, "could not be allocated") || ct_str_has(s, "Skipping tactic") ||
           ct_str_has(s, "Loaded engine size") || ct_str_has(s, "Traceback");
}

static void line(gpointer state, const CtLine *line, CtEmit *emit)
{
    State *st = state;
    CtStr s = ct_str_head(ct_line_str(line), 1000);
    if (!s.n || tensorrt(st, emit, line, s) || is_failure(s))
        return;
    if (++st->lines == LINES_READ_WHOLE)
        ct_emit_enough(emit);
    guint numbers = 0;
    for (gsize i = 0; i < s.n && numbers < 40;) {
        char c = s.p[i];
        if (!g_ascii_isdigit(c)) {
            i++;
            continue;
        }
        char before = i ? s.p[i - 1] : ' ';
        gsize next = i;
        if (!g_ascii_isalnum(before) && before != '_' && before != '.' && before != '-' &&
            before != '/') {
            number_at(st, emit, line, s, i, &next);
            numbers++;
        }
        i = MAX(next, i + 1);
        while (i < s.n && (g_ascii_isdigit(s.p[i]) || s.p[i] == '.') && i > 0 &&
               g_ascii_isdigit(s.p[i - 1]))
            i++;
    }
}

static void finish(gpointer state, CtEmit *emit)
{
    State *st = state;
    if (st->latencies)
        ct_emit_coverage(emit, "latency-series", NULL);
    if (st->memories)
        ct_emit_coverage(emit, "memory-series", NULL);
    if (st->lines)
        ct_emit_coverage(emit, "app-log", NULL);
    g_hash_table_unref(st->held);
    g_free(st);
}

/* A log whose lines measure something: read whole. Others are read along by the literals below. */
static gboolean measures(CtStr s)
{
    static const char *const words[] = {" ms", "ms ", "_ms", " fps", "fps=", "latency", "s/it",
                                        "it/s", " us,", "_us", "MiB", "rss="};
    gboolean digit = FALSE;
    for (gsize i = 0; i < s.n && !digit; i++)
        digit = g_ascii_isdigit(s.p[i]);
    if (!digit || is_failure(s) || ct_str_has(s, "MemUsage"))
        return FALSE;
    for (gsize i = 0; i < G_N_ELEMENTS(words); i++)
        if (ct_str_has(s, words[i]))
            return TRUE;
    return FALSE;
}

static int sniff(const CtSniff *sniff)
{
    guint good = 0, lines = 0;
    for (guint i = 0; i < sniff->n_lines; i++) {
        CtStr s = ct_sniff_line(sniff, i);
        if (!s.n)
            continue;
        lines++;
        good += measures(ct_str_head(s, 400));
    }
    return good >= 3 && good * 8 >= lines ? 25 : 0;
}

static const char *const anchors[] = {
    "[MemUsageChange]", "latency", "Latency", "lat_ms", "inference time", "infer time",
    "Inference time", "elapsed", " fps=", "_fps=", " qps=", "_qps=", "reserved=", "memory_allocated",
    "allocated:", "gpu_mem", "GPU mem", "s/it]", "it/s]", " rss=", " RSS=", NULL};

const CtParser ct_parser_app_metrics = {
    .id = "app-metrics",
    .summary = "numbers inside application logs",
    .doc = "Latencies with their stages and percentiles, throughput, counters, pool and process "
           "memory, queue depths in lines of any application, as key=value or in words, and "
           "TensorRT's memory lines, as series once a quantity was seen three times. Logs whose "
           "first lines measure something are read whole, others where a telling word stands.",
    .sniff = sniff,
    .begin = begin,
    .line = line,
    .finish = finish,
    .anchors = anchors,
};
