/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Summaries that profilers print: `nsys stats` as CSV or as a table, Nsight Compute as CSV. What
 * took how much of the time, how often, and how long each time.
 */
#include <string.h>

#include "parse/common/scan.h"

#define MAX_COLUMNS 64
#define MAX_ROWS 400u /* of one table; they come with the largest share first */

typedef enum {
    COL_OTHER, COL_SHARE, COL_TOTAL, COL_COUNT, COL_MEAN, COL_MAX, COL_NAME,
    COL_KERNEL, COL_METRIC, COL_UNIT, COL_VALUE, COL_ID,
} Column;

typedef struct {
    Column columns[MAX_COLUMNS];
    gsize starts[MAX_COLUMNS + 1]; /* of a fixed-width table */
    guint n, rows;
    char separator; /* 0: fixed width */
    gboolean open, compute, comma; /* comma: decimal comma of the locale */
    double factor;  /* of times, to ns */
    const char *kind; /* api, kernel, copy, range, os, other */
    guint tables;
} State;

static gpointer begin(CtEmit *emit)
{
    return g_new0(State, 1);
}

static Column column_of(CtStr s)
{
    if (ct_str_starts(s, "Time (%)") || ct_str_starts(s, "Time(%)"))
        return COL_SHARE;
    if (ct_str_starts(s, "Total Time"))
        return COL_TOTAL;
    if (ct_str_eq(s, "Instances") || ct_str_eq(s, "Num Calls") || ct_str_eq(s, "Count") ||
        ct_str_eq(s, "Calls"))
        return COL_COUNT;
    if (ct_str_starts(s, "Avg (") || ct_str_eq(s, "Average") || ct_str_eq(s, "Average (ns)"))
        return COL_MEAN;
    if (ct_str_starts(s, "Max (") || ct_str_eq(s, "Maximum"))
        return COL_MAX;
    if (ct_str_eq(s, "Name") || ct_str_eq(s, "Operation") || ct_str_eq(s, "Range"))
        return COL_NAME;
    if (ct_str_eq(s, "Kernel Name"))
        return COL_KERNEL;
    if (ct_str_eq(s, "Metric Name"))
        return COL_METRIC;
    if (ct_str_eq(s, "Metric Unit"))
        return COL_UNIT;
    if (ct_str_eq(s, "Metric Value"))
        return COL_VALUE;
    return ct_str_eq(s, "ID") ? COL_ID : COL_OTHER;
}

static gboolean has_column(const State *st, Column c)
{
    for (guint i = 0; i < st->n; i++)
        if (st->columns[i] == c)
            return TRUE;
    return FALSE;
}

static gboolean complete(State *st)
{
    st->compute = has_column(st, COL_KERNEL) && has_column(st, COL_METRIC) &&
                  has_column(st, COL_VALUE);
    return st->compute || (has_column(st, COL_SHARE) && has_column(st, COL_TOTAL) &&
                           has_column(st, COL_NAME));
}

static double time_factor(CtStr s)
{
    return ct_str_has(s, "(us)") ? 1e3 : ct_str_has(s, "(ms)") ? 1e6 : ct_str_has(s, "(s)") ? 1e9
                                                                                           : 1;
}

static gboolean csv_header(State *st, CtStr s)
{
    CtStr rest = s;
    char separator = memchr(s.p, ',', s.n) ? ',' : ';';
    st->n = 0;
    while (rest.n && st->n < MAX_COLUMNS)
        st->columns[st->n++] = column_of(ct_str_field(&rest, separator));
    st->separator = separator;
    return st->n > 3 && complete(st);
}

/* Columns of a table are parted by two blanks or more; the dashes below give their edges. */
static gboolean table_header(State *st, CtStr raw)
{
    st->n = 0;
    for (gsize i = 0; i < raw.n && st->n < MAX_COLUMNS;) {
        while (i < raw.n && raw.p[i] == ' ')
            i++;
        gsize from = i;
        while (i < raw.n && !(raw.p[i] == ' ' && (i + 1 >= raw.n || raw.p[i + 1] == ' ')))
            i++;
        if (i > from)
            st->columns[st->n++] = column_of(ct_str(raw.p + from, i - from));
    }
    st->separator = 0;
    return st->n > 3 && complete(st);
}

static gboolean table_edges(State *st, CtStr raw)
{
    guint n = 0;
    for (gsize i = 0; i < raw.n;) {
        while (i < raw.n && raw.p[i] == ' ')
            i++;
        if (i >= raw.n)
            break;
        if (raw.p[i] != '-' || n >= st->n)
            return FALSE;
        st->starts[n++] = i;
        while (i < raw.n && raw.p[i] == '-')
            i++;
    }
    st->starts[n] = G_MAXSIZE;
    return n == st->n;
}

/* The locale's way to write 27,595,520 or 65,77. */
static gboolean number(const State *st, CtStr s, double *out)
{
    char buffer[48];
    gsize n = 0;
    for (gsize i = 0; i < s.n && n + 1 < sizeof buffer; i++) {
        char c = s.p[i];
        if (c == (st->comma ? '.' : ','))
            continue;
        buffer[n++] = st->comma && c == ',' ? '.' : c;
    }
    return ct_str_number(ct_str(buffer, n), out);
}

static const char *kind_of(CtStr name, const State *st)
{
    if (ct_str_starts(name, "[CUDA mem") || ct_str_starts(name, "CUDA mem"))
        return "copy";
    if (st->kind)
        return st->kind;
    if (ct_str_starts(name, "cuda") || (ct_str_starts(name, "cu") && name.n > 2 &&
                                        g_ascii_isupper(name.p[2])))
        return "api";
    return memchr(name.p, '(', name.n) || memchr(name.p, '<', name.n) ? "kernel" : "other";
}

static void summary_row(State *st, CtEmit *emit, const CtLine *line, const CtStr *f, guint n)
{
    double share = -1, total = -1, count = -1, mean = -1;
    CtStr name = {0};
    for (guint i = 0; i < n; i++) {
        if (st->columns[i] == COL_SHARE)
            number(st, f[i], &share);
        if (st->columns[i] == COL_TOTAL)
            number(st, f[i], &total);
        if (st->columns[i] == COL_COUNT)
            number(st, f[i], &count);
        if (st->columns[i] == COL_MEAN)
            number(st, f[i], &mean);
        if (st->columns[i] == COL_NAME)
            name = f[i];
    }
    if (!name.n || share < 0 || share > 100.5 || total < 0)
        return;
    char subject[220];
    g_snprintf(subject, sizeof subject, "%s:%.*s", kind_of(name, st), (int)MIN(name.n, 160u),
               name.p);
    ct_emit_number(emit, line, subject, "profile.share", share / 100, NULL);
    ct_emit_number(emit, line, subject, "profile.total", total * st->factor, NULL);
    if (count >= 0)
        ct_emit_number(emit, line, subject, "profile.count", count, NULL);
    if (mean >= 0)
        ct_emit_number(emit, line, subject, "profile.mean", mean * st->factor, NULL);
}

static void compute_row(State *st, CtEmit *emit, const CtLine *line, const CtStr *f, guint n)
{
    static const struct {
        const char *metric, *key;
        gboolean percent;
    } wanted[] = {
        {"Duration", "profile.kernel.duration", FALSE},
        {"Memory Throughput", "profile.kernel.memory-throughput", TRUE},
        {"DRAM Throughput", "profile.kernel.dram-throughput", TRUE},
        {"Compute (SM) Throughput", "profile.kernel.sm-throughput", TRUE},
        {"Achieved Occupancy", "profile.kernel.occupancy", TRUE},
        {"Theoretical Occupancy", "profile.kernel.occupancy-limit", TRUE},
        {"Registers Per Thread", "profile.kernel.registers", FALSE},
    };
    CtStr kernel = {0}, metric = {0}, unit = {0}, value = {0};
    double v;
    for (guint i = 0; i < n; i++) {
        kernel = st->columns[i] == COL_KERNEL ? f[i] : kernel;
        metric = st->columns[i] == COL_METRIC ? f[i] : metric;
        unit = st->columns[i] == COL_UNIT ? f[i] : unit;
        value = st->columns[i] == COL_VALUE ? f[i] : value;
    }
    /* "65,77" tells that this file has decimal commas; "27,595" does not. */
    const char *comma = value.n ? memchr(value.p, ',', value.n) : NULL;
    if (comma && (gsize)(value.p + value.n - comma) != 4 && !memchr(value.p, '.', value.n))
        st->comma = TRUE;
    if (!kernel.n || !number(st, value, &v))
        return;
    char subject[220];
    g_snprintf(subject, sizeof subject, "kernel:%.*s", (int)MIN(kernel.n, 160u), kernel.p);
    for (gsize i = 0; i < G_N_ELEMENTS(wanted); i++) {
        if (!ct_str_eq(metric, wanted[i].metric) || wanted[i].percent != ct_str_eq(unit, "%"))
            continue;
        double factor = wanted[i].percent ? 0.01 : 1;
        if (i == 0)
            factor = ct_str_eq(unit, "ns") || ct_str_eq(unit, "nsecond")   ? 1
                     : ct_str_eq(unit, "us") || ct_str_eq(unit, "usecond") ? 1e3
                     : ct_str_eq(unit, "ms") || ct_str_eq(unit, "msecond") ? 1e6
                                                                           : 1e9;
        ct_emit_number(emit, line, subject, wanted[i].key, v * factor, NULL);
    }
}

/* " ** CUDA API Summary (cuda_api_sum):", "Processing [x.sqlite] with [.../cuda_gpu_kern_sum.py]" */
static gboolean report_title(State *st, CtStr s)
{
    static const struct {
        const char *word, *kind;
    } reports[] = {
        {"cuda_api", "api"},    {"cudaapi", "api"},     {"gpu_kern", "kernel"},
        {"gpukern", "kernel"},  {"gpu_mem", "copy"},    {"gpumem", "copy"},
        {"nvtx", "range"},      {"osrt", "os"},         {"cuda_gpu_sum", NULL},
        {"CUDA API", "api"},    {"GPU Kernel", "kernel"}, {"OS Runtime", "os"},
    };
    if (!ct_str_starts(s, "**") && !ct_str_starts(s, "Processing [") &&
        !ct_str_has(s, "Statistics:"))
        return FALSE;
    st->kind = NULL;
    st->open = FALSE;
    for (gsize i = 0; i < G_N_ELEMENTS(reports); i++)
        if (ct_str_has(s, reports[i].word)) {
            st->kind = reports[i].kind;
            break;
        }
    return TRUE;
}

static guint fields_of(State *st, CtStr raw, CtStr f[MAX_COLUMNS])
{
    guint n = 0;
    if (st->separator) {
        while (raw.n && n < MAX_COLUMNS)
            f[n++] = ct_str_field(&raw, st->separator);
        return n;
    }
    /* Numbers may be wider than their column, so that only the last column's edge is sure. */
    CtStr rest = raw;
    while (n + 1 < st->n)
        f[n++] = ct_str_token(&rest);
    f[n++] = ct_str_strip(rest);
    return n;
}

static void line(gpointer state, const CtLine *line, CtEmit *emit)
{
    State *st = state;
    CtStr raw = ct_str(line->text, line->len), s = ct_str_strip(raw), f[MAX_COLUMNS];
    if (!s.n) {
        st->open = st->open && st->separator && st->compute;
        return;
    }
    if (report_title(st, s))
        return;
    gboolean heading = ct_str_has(s, "Time (%)") || ct_str_has(s, "Time(%)") ||
                       ct_str_has(s, "Metric Value");
    if (heading) {
        gboolean csv = memchr(s.p, ',', s.n) || memchr(s.p, ';', s.n);
        st->open = csv ? csv_header(st, s) : table_header(st, raw);
        st->factor = time_factor(s);
        st->rows = 0;
        st->tables += st->open;
        return;
    }
    if (!st->open || (!st->separator && s.p[0] == '-' && table_edges(st, raw)))
        return;
    if (ct_str_starts(s, "==") || ++st->rows > (st->compute ? 20000u : MAX_ROWS))
        return;
    guint n = fields_of(st, s, f);
    if (n < st->n && !st->compute)
        return;
    if (st->compute)
        compute_row(st, emit, line, f, MIN(n, st->n));
    else
        summary_row(st, emit, line, f, MIN(n, st->n));
}

static void finish(gpointer state, CtEmit *emit)
{
    State *st = state;
    if (st->tables > 0)
        ct_emit_coverage(emit, "profile", NULL);
    g_free(st);
}

static int sniff(const CtSniff *sniff)
{
    for (guint i = 0; i < sniff->n_lines; i++) {
        CtStr s = ct_sniff_line(sniff, i);
        if (ct_str_has(s, "Total Time") && (ct_str_has(s, "Time (%)") || ct_str_has(s, "Time(%)")) &&
            (ct_str_has(s, "Instances") || ct_str_has(s, "Calls") || ct_str_has(s, "Count")))
            return 92;
        if (ct_str_has(s, "\"Kernel Name\"") && ct_str_has(s, "\"Metric Value\""))
            return 92;
    }
    return 0;
}

const CtParser ct_parser_profile_tables = {
    .id = "profile-tables",
    .summary = "summaries of Nsight Systems and Nsight Compute",
    .doc = "nsys stats as CSV or as a table, of any report with shares (CUDA API, kernels, copies, "
           "NVTX, OS calls), old and new column names: share, total, count and mean of each row, "
           "subject api:NAME, kernel:NAME, copy:NAME. Nsight Compute CSV (details page), in either "
           "decimal locale: duration, throughputs, occupancy of each kernel.",
    .sniff = sniff,
    .begin = begin,
    .line = line,
    .finish = finish,
};
