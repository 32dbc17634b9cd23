/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measurements in columns: CSV, TSV, semicolons or blanks with a header that names latencies or
 * throughput, with or without a time column; JSON lines and trtexec's exported times. Columns of
 * memory and load beside them are read too.
 */
#include <string.h>

#include "parse/common/metric-name.h"

#define MAX_COLUMNS 64
#define MAX_SERIES 32

typedef struct {
    CtMetricName name;
    gboolean used;
} Column;

typedef struct {
    char separator; /* 0: blanks */
    Column column[MAX_COLUMNS];
    guint n;
    gint time_at;
    gboolean header, json, wall;
    guint rows;
    guint values, no_numbers; /* numbers; cells of latencies that are none, nor empty */
    guint latencies; /* columns of them */
    gint64 t0_relative;
} State;

/* ---- header ---- */

static char separator_of(CtStr s)
{
    static const char candidates[] = {',', '\t', ';', '|'};
    for (gsize i = 0; i < sizeof(candidates); i++)
        if (memchr(s.p, candidates[i], s.n))
            return candidates[i];
    return 0;
}

static guint split_row(CtStr row, char separator, CtStr *cell)
{
    guint n = 0;
    if (separator) {
        while (row.n && n < MAX_COLUMNS)
            cell[n++] = ct_str_field(&row, separator);
        return n;
    }
    for (CtStr w = ct_str_token(&row); w.n && n < MAX_COLUMNS; w = ct_str_token(&row))
        cell[n++] = w;
    return n;
}

static gboolean is_latency(const CtMetricName *m)
{
    return m->role == CT_ROLE_METRIC && g_str_has_prefix(m->metric, "latency");
}

/* A table over sizes or batches is a sweep: its rows do not follow each other in time. */
static gboolean is_sweep(CtStr first)
{
    static const char *const words[] = {"size", "bytes", "batch", "msg", "message", "threads",
                                        "concurrency", "clients", "n_gpus", "resolution"};
    for (gsize i = 0; i < G_N_ELEMENTS(words); i++)
        if (ct_str_ifind(first, words[i]) >= 0)
            return TRUE;
    return FALSE;
}

/* Columns that the header names; returns how many of them are latencies, throughput or errors. */
static guint read_header(CtStr row, char separator, Column *column, guint *n, gint *time_at)
{
    CtStr cell[MAX_COLUMNS];
    guint telling = 0;
    *n = split_row(row, separator, cell);
    *time_at = -1;
    if (*n && is_sweep(cell[0]))
        return 0;
    for (guint i = 0; i < *n; i++) {
        gboolean letter = FALSE;
        for (gsize k = 0; k < cell[i].n; k++)
            letter |= g_ascii_isalpha(cell[i].p[k]);
        column[i] = (Column){0};
        if (!letter || cell[i].n > 60)
            continue;
        ct_metric_name(cell[i], CT_DIM_NONE, &column[i].name);
        CtMetricName *m = &column[i].name;
        if (m->role == CT_ROLE_TIME && *time_at < 0)
            *time_at = (gint)i;
        if (m->role != CT_ROLE_METRIC)
            continue;
        column[i].used = TRUE;
        if (is_latency(m) || strcmp(m->metric, "throughput") == 0)
            telling++;
    }
    return telling;
}

/* Two columns of one metric (two models side by side) are told apart by their place. */
static void unique_metrics(State *st)
{
    for (guint i = 0; i < st->n; i++)
        for (guint k = 0; k < i; k++)
            if (st->column[i].used && st->column[k].used &&
                strcmp(st->column[i].name.metric, st->column[k].name.metric) == 0) {
                char metric[64];
                g_snprintf(metric, sizeof(metric), "%.50s.%u", st->column[i].name.metric, i + 1);
                g_strlcpy(st->column[i].name.metric, metric, sizeof(metric));
            }
    st->latencies = 0;
    for (guint i = 0; i < st->n; i++)
        st->latencies += is_latency(&st->column[i].name);
}

static gpointer begin(CtEmit *emit)
{
    State *st = g_new0(State, 1);
    st->time_at = -1;
    return st;
}

/* ---- time ---- */

static gint64 time_of(State *st, CtStr cell, double factor, gboolean factor_given)
{
    gint64 t;
    gsize used;
    gboolean no_year;
    double n;
    if (ct_str_number(cell, &n)) {
        if (n >= 1e17)
            t = (gint64)n; /* ns since 1970 */
        else if (n >= 1e14)
            t = (gint64)(n * 1e3);
        else if (n >= 1e11)
            t = (gint64)(n * 1e6);
        else if (n >= 1e9) {
            /* Seconds with a fraction lose digits in a double: the parts apart. */
            gint64 whole;
            gssize dot = ct_str_find(cell, ".");
            if (dot > 0 && ct_str_uint(ct_str_head(cell, (gsize)dot), &whole)) {
                t = whole * 1000000000;
                gint64 unit = 100000000;
                for (gsize i = (gsize)dot + 1; i < cell.n && g_ascii_isdigit(cell.p[i]); i++) {
                    t += (cell.p[i] - '0') * unit;
                    unit /= 10;
                }
            } else {
                t = (gint64)(n * 1e9);
            }
        } else {
            return (gint64)(n * (factor_given ? factor : 1e9)) + 1; /* since a start */
        }
        st->wall = TRUE;
        return t;
    }
    char german[40], whole[40]; /* 31.12.2026 10:00:00,250; a table of minutes has no seconds */
    if (cell.n >= 10 && cell.n < sizeof(german) && cell.p[2] == '.' && cell.p[5] == '.') {
        g_snprintf(german, sizeof(german), "%.4s-%.2s-%.2s%.*s", cell.p + 6, cell.p + 3, cell.p,
                   (int)cell.n - 10, cell.p + 10);
        cell = ct_str_of(g_strdelimit(german, ",", '.'));
    }
    if (cell.n >= 15 && cell.n <= 17 && cell.p[cell.n - 3] == ':') {
        g_snprintf(whole, sizeof(whole), "%.*s:00", (int)cell.n, cell.p);
        cell = ct_str_of(whole);
    } else if (cell.n == 10 && (cell.p[4] == '-' || cell.p[4] == '/')) {
        g_snprintf(whole, sizeof(whole), "%.*s 00:00:00", (int)cell.n, cell.p);
        cell = ct_str_of(whole);
    }
    if (ct_text_time(cell.p, cell.n, &t, &used, &no_year)) {
        st->wall = TRUE;
        return t;
    }
    return CT_TIME_UNKNOWN;
}

/* ---- rows ---- */

static void put(CtEmit *emit, const CtLine *line, const CtMetricName *m, gint64 t, double value)
{
    ct_emit_sample(emit, line, m->subject, m->metric, m->unit, t, value * m->factor);
}

/* "8,25" is no thousand: where semicolons part the cells the comma is the decimal one, and where
 * tabs do, it is unless three digits follow it. */
static gboolean decimal_comma(const State *st, CtStr cell, double *out)
{
    char text[32];
    const char *comma = cell.n < sizeof(text) ? memchr(cell.p, ',', cell.n) : NULL;
    gsize after = comma ? (gsize)(cell.p + cell.n - comma - 1) : 0;
    if (!after || st->separator == ',' || memchr(cell.p, '.', cell.n) ||
        memchr(comma + 1, ',', after) || (st->separator != ';' && after == 3))
        return FALSE;
    g_snprintf(text, sizeof(text), "%.*s", (int)cell.n, cell.p);
    return ct_str_number(ct_str_of(g_strdelimit(text, ",", '.')), out);
}

static gboolean data_row(State *st, CtEmit *emit, const CtLine *line, CtStr row)
{
    CtStr cell[MAX_COLUMNS];
    CtDim dim;
    guint n = split_row(row, st->separator, cell), numbers = 0;
    gint64 t = line->t_ns;
    double value;
    if (st->time_at >= 0 && (guint)st->time_at < n) {
        const CtMetricName *m = &st->column[st->time_at].name;
        /* With blanks as separator a date takes two cells. */
        if (!st->separator && n == st->n + 1 && memchr(cell[st->time_at].p, '-', cell[st->time_at].n)) {
            CtStr both = ct_str(cell[st->time_at].p,
                                (gsize)(cell[st->time_at + 1].p + cell[st->time_at + 1].n -
                                        cell[st->time_at].p));
            t = time_of(st, both, m->factor, m->factor != 1);
            for (guint i = (guint)st->time_at + 1; i + 1 < n; i++)
                cell[i] = cell[i + 1];
            n--;
        } else {
            gint64 own = time_of(st, cell[st->time_at], m->factor, m->factor != 1);
            t = own != CT_TIME_UNKNOWN ? own : t;
        }
    }
    for (guint i = 0; i < n && i < st->n; i++) {
        const CtMetricName *m = &st->column[i].name;
        if (!st->column[i].used)
            continue;
        if (decimal_comma(st, cell[i], &value) || ct_str_number(cell[i], &value)) {
            put(emit, line, m, t, value);
            numbers++;
        } else if (ct_quantity(cell[i], &dim, &value)) { /* "12.3 ms" in the cell */
            CtMetricName plain = *m;
            plain.factor = 1;
            put(emit, line, &plain, t, value);
            numbers++;
        } else {
            st->no_numbers += is_latency(m) && ct_str_strip(cell[i]).n > 0;
        }
    }
    st->values += numbers;
    return numbers > 0;
}

/* "key": number pairs of a flat object, however the writer spaces them. */
static void json_row(State *st, CtEmit *emit, const CtLine *line, CtStr s)
{
    struct {
        CtMetricName name;
        double value;
    } found[MAX_SERIES];
    guint n = 0;
    gint64 t = line->t_ns;
    while (s.n && n < MAX_SERIES) {
        CtStr key, rest;
        gssize open = ct_str_find(s, "\"");
        if (open < 0)
            break;
        rest = ct_str_from(s, (gsize)open + 1);
        gssize close = ct_str_find(rest, "\"");
        if (close < 0)
            break;
        key = ct_str_head(rest, (gsize)close);
        rest = ct_str_strip(ct_str_from(rest, (gsize)close + 1));
        s = rest;
        if (!rest.n || rest.p[0] != ':')
            continue;
        rest = ct_str_strip(ct_str_from(rest, 1));
        CtMetricName m;
        double value;
        ct_metric_name(key, CT_DIM_NONE, &m);
        if (rest.n && rest.p[0] == '"') { /* a string: a time, or skipped */
            gssize end = ct_str_find(ct_str_from(rest, 1), "\"");
            if (end < 0)
                break;
            if (m.role == CT_ROLE_TIME)
                t = time_of(st, ct_str_head(ct_str_from(rest, 1), (gsize)end), 1, FALSE);
            s = ct_str_from(rest, (gsize)end + 2);
            continue;
        }
        CtStr number = rest;
        if (!ct_str_take_plain(&number, &value)) {
            s = rest;
            continue;
        }
        if (m.role == CT_ROLE_TIME)
            t = time_of(st, ct_str_head(rest, rest.n - number.n), m.factor, m.factor != 1);
        else if (m.role == CT_ROLE_METRIC) {
            found[n].name = m;
            found[n++].value = value;
        }
        s = number;
    }
    for (guint i = 0; i < n; i++) {
        put(emit, line, &found[i].name, t, found[i].value);
        st->latencies += is_latency(&found[i].name);
    }
    st->rows += n > 0;
}

static CtStr json_object(CtStr s)
{
    s = ct_str_strip(s);
    while (s.n && strchr("[, ", s.p[0]))
        s = ct_str_from(s, 1);
    return s.n && s.p[0] == '{' ? s : ct_str("", 0);
}

static void line(gpointer state, const CtLine *line, CtEmit *emit)
{
    State *st = state;
    CtStr row = ct_str_strip(ct_line_row(line)), object;
    if (!row.n)
        return;
    if (!st->header) {
        object = json_object(row);
        if (st->json || object.n) {
            st->json = TRUE;
            if (object.n)
                json_row(st, emit, line, object);
            return;
        }
    }
    if (row.p[0] == '#')
        row = ct_str_strip(ct_str_from(row, 1));
    if (!row.n)
        return;
    if (!st->header || g_ascii_isalpha(row.p[0])) {
        Column column[MAX_COLUMNS];
        guint n;
        gint time_at;
        char separator = separator_of(row);
        /* A header, also one that a later part of the file repeats or changes. */
        if (read_header(row, separator, column, &n, &time_at) > 0) {
            memcpy(st->column, column, sizeof(column));
            st->n = n;
            st->time_at = time_at;
            st->separator = separator;
            st->header = TRUE;
            unique_metrics(st);
            return;
        }
    }
    if (st->header)
        st->rows += data_row(st, emit, line, row);
}

/* Some lines that a logger put between the rows are no loss. */
static void tell_loss(const State *st, CtEmit *emit)
{
    char note[96];
    if (!st->header || st->no_numbers * 20 <= st->values)
        return;
    g_snprintf(note, sizeof(note), "%u of %u values are no numbers and were left out",
               st->no_numbers, st->values + st->no_numbers);
    ct_emit_status(emit, CT_PARTIAL, note);
}

static void finish(gpointer state, CtEmit *emit)
{
    State *st = state;
    tell_loss(st, emit);
    if (st->wall)
        ct_emit_clock(emit, "wall");
    if (st->rows && st->latencies)
        ct_emit_coverage(emit, "latency-series", NULL);
    g_free(st);
}

/* ---- sniff ---- */

static gboolean mostly_numbers(CtStr row, char separator)
{
    CtStr cell[MAX_COLUMNS];
    guint n = split_row(row, separator, cell), numbers = 0;
    double value;
    for (guint i = 0; i < n; i++) {
        CtStr rest = cell[i];
        numbers += ct_str_take_number(&rest, &value);
    }
    return n > 0 && numbers * 2 >= n;
}

static int sniff(const CtSniff *sniff)
{
    Column column[MAX_COLUMNS];
    guint n, json = 0, lines = 0;
    gint time_at;
    for (guint i = 0; i < MIN(sniff->n_lines, 8u); i++) {
        CtStr row = ct_str_strip(ct_line_row(&sniff->lines[i]));
        if (!row.n)
            continue;
        lines++;
        CtStr object = json_object(row);
        if (object.n) {
            json += ct_str_ifind(object, "latency") >= 0 || ct_str_ifind(object, "_ms\"") >= 0 ||
                    ct_str_ifind(object, "duration") >= 0 || ct_str_has(object, "computeMs");
            continue;
        }
        if (row.p[0] == '#')
            row = ct_str_strip(ct_str_from(row, 1));
        char separator = separator_of(row);
        if (row.n > 2000 || read_header(row, separator, column, &n, &time_at) == 0)
            continue;
        /* Words around a number are a log line; a header has no numbers and rows below it. */
        if (mostly_numbers(row, separator) || i + 1 >= sniff->n_lines)
            continue;
        CtStr next = ct_str_strip(ct_line_row(&sniff->lines[i + 1]));
        if (ct_str_starts(next, "--") && i + 2 < sniff->n_lines)
            next = ct_str_strip(ct_line_row(&sniff->lines[i + 2]));
        CtStr cell[MAX_COLUMNS];
        guint width = split_row(next, separator, cell);
        gboolean even = separator ? width == n : width >= n && width <= n + 1;
        if (even && (n >= 2 || separator == 0) && mostly_numbers(next, separator))
            return 70;
    }
    return json >= 1 && json * 2 >= lines ? 65 : 0;
}

const CtParser ct_parser_latency_table = {
    .id = "latency-table",
    .summary = "latencies in columns",
    .doc = "CSV, TSV, semicolon or blank separated tables whose header names latencies "
           "(latency_ms, p99 (us), duration_s, inference time ...) or throughput, JSON lines with "
           "such keys, and trtexec --exportTimes. A time column may be a date, Unix time in s, "
           "ms, us or ns, or seconds since a start. Columns of requests, errors, memory and load "
           "beside them become series too. A latency without a unit counts as milliseconds.",
    .sniff = sniff,
    .begin = begin,
    .line = line,
    .finish = finish,
    .no_signatures = TRUE,
};
