/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvidia-smi --query-gpu / --query-compute-apps with --format=csv: any columns, units in the
 * header or in the cells or nowhere, with and without header. The first row of a GPU gives facts;
 * rows that repeat a GPU are telemetry.
 */
#include <string.h>

#include "parse/gpu/gpu-parsers.h"

#define MAX_COLUMNS 96
#define MAX_GPUS 256

typedef struct {
    char property[80];
    char key[96];
    const char *metric, *unit;
    double factor;
} Column;

typedef struct {
    char subject[64];
    guint rows;
    char *last[MAX_COLUMNS]; /* of counters that may move */
} Gpu;

typedef struct {
    Column column[MAX_COLUMNS];
    guint n;
    gboolean header, apps, counted, is_loop;
    gint index_at, time_at, uuid_at, pci_at;
    GHashTable *gpus; /* subject -> Gpu */
    guint next_index;
    gint64 previous_t;
    char seen_driver[64];
} State;

/* Native unit of a property whose cells and header give none (nounits, noheader). */
static double native_factor(const char *property)
{
    if (strstr(property, "memory") && !strstr(property, "utilization") &&
        !strstr(property, "clocks") && !strstr(property, "temperature") &&
        !strstr(property, "ecc"))
        return 1048576.0;
    if (g_str_has_prefix(property, "clocks.") && !strstr(property, "reasons"))
        return 1e6;
    if (g_str_has_prefix(property, "utilization."))
        return 0.01;
    if (strstr(property, "fan.speed"))
        return 0.01;
    if (strstr(property, "reasons_counters"))
        return 1e3;
    return 1.0;
}

static gboolean known_property(CtStr name, char property[80], CtStr *unit)
{
    char buf[96];
    CtStr rest = name, word;
    *unit = ct_str("", 0);
    if (ct_str_cut(&rest, "[", &word)) {
        name = word;
        *unit = rest.n && rest.p[rest.n - 1] == ']' ? ct_str_head(rest, rest.n - 1) : rest;
    }
    name = ct_str_strip(name);
    for (gsize i = 0; i < name.n; i++)
        if (!g_ascii_isalnum(name.p[i]) && !strchr("._-", name.p[i]))
            return FALSE;
    ct_str_buf(name, property, 80);
    static const char *const others[] = {
        "timestamp", "index", "gpu_index", "pid", "process_name", "used_memory",
        "used_gpu_memory", "gpu_serial", "serial"};
    for (gsize i = 0; i < G_N_ELEMENTS(others); i++)
        if (strcmp(property, others[i]) == 0)
            return TRUE;
    return ct_smi_property_key(property, buf) != NULL;
}

/* How many fields of the line are names of properties; at most `most` are looked at. */
static guint count_properties(CtStr row, guint most, guint *fields)
{
    char property[80];
    CtStr unit;
    guint known = 0;
    *fields = 0;
    while (row.n && *fields < most) {
        CtStr f = ct_str_field(&row, ',');
        (*fields)++;
        known += known_property(f, property, &unit);
    }
    return known;
}

static void add_column(State *st, CtStr name)
{
    char buf[96];
    CtStr unit;
    CtDim dim;
    Column *c = &st->column[st->n];
    gboolean known = known_property(name, c->property, &unit);
    c->key[0] = '\0';
    c->metric = NULL;
    c->factor = native_factor(c->property);
    if (unit.n)
        ct_unit(unit, &dim, &c->factor);
    const char *key = known ? ct_smi_property_key(c->property, buf) : NULL;
    if (key) {
        g_strlcpy(c->key, key, sizeof(c->key));
        c->metric = ct_smi_metric(key, &c->unit);
    }
    if (strcmp(c->property, "index") == 0 || strcmp(c->property, "gpu_index") == 0)
        st->index_at = (gint)st->n;
    else if (strcmp(c->property, "timestamp") == 0)
        st->time_at = (gint)st->n;
    else if (strcmp(c->key, "gpu.uuid") == 0)
        st->uuid_at = (gint)st->n;
    else if (strcmp(c->key, "gpu.pci") == 0)
        st->pci_at = (gint)st->n;
    else if (strcmp(c->property, "pid") == 0)
        st->apps = TRUE;
    st->n++;
}

static void take_header(State *st, CtStr row)
{
    st->n = 0;
    st->index_at = st->time_at = st->uuid_at = st->pci_at = -1;
    st->apps = FALSE;
    while (row.n && st->n < MAX_COLUMNS)
        add_column(st, ct_str_field(&row, ','));
    st->header = TRUE;
}

static void gpu_free(gpointer data)
{
    Gpu *g = data;
    for (guint i = 0; i < MAX_COLUMNS; i++)
        g_free(g->last[i]);
    g_free(g);
}

static gpointer begin(CtEmit *emit)
{
    State *st = g_new0(State, 1);
    const char *command = ct_emit_command(emit);
    CtStr list;
    st->index_at = st->time_at = st->uuid_at = st->pci_at = -1;
    st->gpus = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, gpu_free);
    st->previous_t = CT_TIME_UNKNOWN;
    if (ct_command_option(command, "--query-gpu", &list) ||
        ct_command_option(command, "--query-compute-apps", &list) ||
        ct_command_option(command, "--query-apps", &list))
        take_header(st, list);
    /* Without a header line the columns of the command hold; with one it replaces them. */
    st->header = FALSE;
    st->is_loop = ct_command_word(command, "-l") || ct_command_word(command, "-lms") ||
                  (command && (strstr(command, "--loop") || strstr(command, "watch ") ||
                               strstr(command, "while ")));
    return st;
}

static gboolean moving(const char *key)
{
    return g_str_has_prefix(key, "gpu.ecc.") || g_str_has_prefix(key, "gpu.remap") ||
           g_str_has_prefix(key, "gpu.retired") || strcmp(key, "gpu.recovery-action") == 0 ||
           g_str_has_prefix(key, "gpu.pcie.link");
}

static void fact_of(const Column *c, const char *subject, CtStr cell, const CtLine *line,
                    CtEmit *emit)
{
    double number;
    CtStatus status;
    char pci[CT_PCI_SIZE];
    const char *text = CT_STR_BUF(cell);
    if (strcmp(c->key, "gpu.pci") == 0 && ct_pci_normalise(cell, pci))
        ct_emit_fact(emit, line, subject, c->key, pci);
    else if (strcmp(c->key, "gpu.clock-reason") == 0 && ct_str_starts(cell, "0x"))
        ct_emit_number(emit, line, subject, c->key,
                       (double)g_ascii_strtoull(text, NULL, 16), text);
    else if (strcmp(c->key, "gpu.name") == 0 || strcmp(c->key, "gpu.uuid") == 0 ||
             strcmp(c->key, "gpu.compute-capability") == 0 || strcmp(c->key, "gpu.vbios") == 0)
        ct_emit_text(emit, line, subject, c->key, cell);
    else if (!ct_value_unknown(cell, &status) && ct_str_number(cell, &number))
        ct_emit_number(emit, line, subject, c->key, number * c->factor, text);
    else
        ct_emit_field(emit, line, subject, c->key, cell);
}

static gboolean cell_number(const Column *c, CtStr cell, double *out)
{
    CtDim dim;
    if (strcmp(c->key, "gpu.clock-reason") == 0) {
        if (!ct_str_starts(cell, "0x"))
            return FALSE;
        *out = (double)g_ascii_strtoull(CT_STR_BUF(cell), NULL, 16);
        return TRUE;
    }
    if (ct_str_number(cell, out)) {
        *out *= c->factor;
        return TRUE;
    }
    return ct_quantity(cell, &dim, out);
}

/* Which GPU a row is of: its index, or its place among rows of one moment. */
static Gpu *gpu_of_row(State *st, const CtStr *cell, guint n, gint64 t)
{
    char subject[64];
    gint64 index = -1;
    if (st->index_at >= 0 && (guint)st->index_at < n)
        ct_str_uint(cell[st->index_at], &index);
    if (st->index_at >= 0 && (index < 0 || index >= 4096))
        return NULL;
    if (index >= 0) {
        g_snprintf(subject, sizeof(subject), "gpu:%d", (int)index);
    } else {
        gint id = st->uuid_at >= 0 ? st->uuid_at : st->pci_at;
        g_autofree char *name = id >= 0 && (guint)id < n ? ct_str_dup(ct_str_head(cell[id], 60))
                                                         : NULL;
        Gpu *known = name ? g_hash_table_lookup(st->gpus, name) : NULL;
        if (known)
            return known;
        gboolean same_moment = t == CT_TIME_UNKNOWN ||
                               (st->previous_t != CT_TIME_UNKNOWN &&
                                ABS(t - st->previous_t) < 100 * G_GINT64_CONSTANT(1000000));
        if (!name && ((t == CT_TIME_UNKNOWN && st->is_loop) || !same_moment))
            st->next_index = 0;
        g_snprintf(subject, sizeof(subject), "gpu:%u", st->next_index++);
        if (name && g_hash_table_size(st->gpus) < MAX_GPUS) {
            Gpu *g = g_new0(Gpu, 1);
            g_strlcpy(g->subject, subject, sizeof(g->subject));
            g_hash_table_insert(st->gpus, g_steal_pointer(&name), g);
            return g;
        }
    }
    Gpu *g = g_hash_table_lookup(st->gpus, subject);
    if (!g && g_hash_table_size(st->gpus) < MAX_GPUS) {
        g = g_new0(Gpu, 1);
        g_strlcpy(g->subject, subject, sizeof(g->subject));
        g_hash_table_insert(st->gpus, g_strdup(subject), g);
    }
    return g;
}

static CtStr cell_at(const CtStr *cell, guint n, gint at)
{
    return at >= 0 && (guint)at < n ? cell[at] : ct_str("", 0);
}

/* Columns that speak of the host, not of the row's GPU. */
static gboolean host_column(State *st, const Column *c, const Gpu *g, CtStr cell,
                            const CtLine *line, CtEmit *emit)
{
    if (strcmp(c->key, "gpu.count") == 0) {
        if (g->rows == 1 && !st->counted)
            ct_emit_field(emit, line, NULL, c->key, cell);
        st->counted = TRUE;
        return TRUE;
    }
    if (strcmp(c->key, "version.driver") != 0)
        return FALSE;
    if (g->rows == 1 && strcmp(st->seen_driver, CT_STR_BUF(cell)) != 0) {
        ct_emit_text(emit, line, NULL, c->key, cell);
        ct_str_buf(cell, st->seen_driver, sizeof(st->seen_driver));
    }
    return TRUE;
}

static void one_cell(const Column *c, Gpu *g, guint i, CtStr cell, gint64 t, const CtLine *line,
                     CtEmit *emit)
{
    double number;
    if (g->rows == 1)
        fact_of(c, g->subject, cell, line, emit);
    if (moving(c->key)) {
        char *text = ct_str_dup(ct_str_head(cell, 64));
        if (g->rows > 1 && g->last[i] && strcmp(g->last[i], text) != 0)
            fact_of(c, g->subject, cell, line, emit);
        g_free(g->last[i]);
        g->last[i] = text;
    }
    if (!c->metric || !cell_number(c, cell, &number))
        return;
    if (g->rows == 1)
        ct_emit_snapshot(emit, line, g->subject, c->metric, c->unit, t, number);
    else
        ct_emit_sample(emit, line, g->subject, c->metric, c->unit, t, number);
}

static void gpu_row(State *st, const CtStr *cell, guint n, const CtLine *line, CtEmit *emit)
{
    gint64 t = line->t_ns;
    gsize used;
    gboolean no_year;
    CtStr stamp = cell_at(cell, n, st->time_at);
    if (stamp.n && ct_text_time(stamp.p, stamp.n, &t, &used, &no_year))
        ct_emit_clock(emit, "wall");
    Gpu *g = gpu_of_row(st, cell, n, t);
    st->previous_t = t;
    if (!g)
        return;
    if (++g->rows == 1)
        ct_emit_gpu_names(emit, g->subject, cell_at(cell, n, st->pci_at),
                          cell_at(cell, n, st->uuid_at));
    for (guint i = 0; i < n && i < st->n; i++) {
        const Column *c = &st->column[i];
        if (c->key[0] && !host_column(st, c, g, cell[i], line, emit))
            one_cell(c, g, i, cell[i], t, line, emit);
    }
}

static void app_row(State *st, const CtStr *cell, guint n, const CtLine *line, CtEmit *emit)
{
    CtStr pid = ct_str("", 0), name = pid, memory = pid, gpu = pid;
    double factor = 1048576.0, bytes;
    for (guint i = 0; i < n && i < st->n; i++) {
        const char *p = st->column[i].property;
        if (strcmp(p, "pid") == 0)
            pid = cell[i];
        else if (strcmp(p, "process_name") == 0 || strcmp(p, "name") == 0)
            name = cell[i];
        else if (strcmp(p, "used_memory") == 0 || strcmp(p, "used_gpu_memory") == 0) {
            memory = cell[i];
            factor = st->column[i].factor == 1.0 ? factor : st->column[i].factor;
        } else if ((gint)i == st->pci_at || ((gint)i == st->uuid_at && !gpu.n))
            gpu = cell[i];
    }
    gint64 number;
    if (!ct_str_uint(pid, &number))
        return;
    char pci[CT_PCI_SIZE], subject[128];
    g_snprintf(subject, sizeof(subject), "gpu:%.60s/pid:%" G_GINT64_FORMAT,
               ct_pci_normalise(gpu, pci) ? pci : gpu.n ? CT_STR_BUF(gpu) : "0", number);
    CtDim dim;
    if (ct_str_number(memory, &bytes))
        ct_emit_number(emit, line, subject, "gpu.process", bytes * factor, CT_STR_BUF(name));
    else if (ct_quantity(memory, &dim, &bytes))
        ct_emit_number(emit, line, subject, "gpu.process", bytes, CT_STR_BUF(name));
    else
        ct_emit_fact(emit, line, subject, "gpu.process", CT_STR_BUF(name));
}

static void line(gpointer state, const CtLine *line, CtEmit *emit)
{
    State *st = state;
    CtStr row = ct_str_strip(ct_line_row(line));
    guint fields;
    if (!row.n)
        return;
    if (row.p[0] == '#')
        row = ct_str_strip(ct_str_from(row, 1));
    if (count_properties(row, 6, &fields) * 2 > fields) {
        take_header(st, row);
        return;
    }
    if (!st->n)
        return;
    CtStr cell[MAX_COLUMNS];
    guint n = 0;
    while (row.n && n < MAX_COLUMNS)
        cell[n++] = ct_str_field(&row, ',');
    if (n < 2 && st->n >= 2)
        return;
    if (st->apps)
        app_row(st, cell, n, line, emit);
    else
        gpu_row(st, cell, n, line, emit);
}

static void finish(gpointer state, CtEmit *emit)
{
    State *st = state;
    GHashTableIter it;
    gpointer value;
    guint most = 0, gpus = 0;
    g_hash_table_iter_init(&it, st->gpus);
    while (g_hash_table_iter_next(&it, NULL, &value)) {
        most = MAX(most, ((Gpu *)value)->rows);
        gpus++;
    }
    if (st->apps)
        ct_emit_coverage(emit, "gpu-processes", NULL);
    if (gpus)
        ct_emit_coverage(emit, "gpu-state", NULL);
    if (most > 2)
        ct_emit_coverage(emit, "gpu-telemetry", NULL);
    CtStr asked;
    if (most == 1 && !st->apps && !ct_command_option(ct_emit_command(emit), "-i", &asked)) {
        char text[16];
        g_snprintf(text, sizeof(text), "%u", gpus);
        ct_emit_number(emit, NULL, NULL, "gpu.count", gpus, text);
    }
    for (guint i = 0; i < st->n && gpus; i++) {
        if (g_str_has_prefix(st->column[i].key, "gpu.ecc.")) {
            ct_emit_coverage(emit, "gpu-ecc", NULL);
            break;
        }
    }
    for (guint i = 0; i < st->n && gpus; i++) {
        if (g_str_has_prefix(st->column[i].key, "gpu.clock")) {
            ct_emit_coverage(emit, "gpu-clocks", NULL);
            break;
        }
    }
    g_hash_table_unref(st->gpus);
    g_free(st);
}

static int sniff(const CtSniff *sniff)
{
    guint fields = 0, known = 0;
    if (ct_command_runs(sniff->command, "nvidia-smi") &&
        (strstr(sniff->command, "--query-gpu") || strstr(sniff->command, "--query-compute-apps") ||
         strstr(sniff->command, "--query-apps")))
        return ct_sniff_first(sniff).n ? 92 : 20;
    for (guint i = 0; i < MIN(sniff->n_lines, 6u); i++) {
        CtStr row = ct_str_strip(ct_line_row(&sniff->lines[i]));
        if (row.n && row.p[0] == '#')
            row = ct_str_from(row, 1);
        known = count_properties(row, 12, &fields);
        if (known >= 2 && known * 2 > fields)
            return ct_str_has(row, "temperature.gpu") || ct_str_has(row, "memory.") ||
                           ct_str_has(row, "utilization.") || ct_str_has(row, "clocks") ||
                           ct_str_has(row, "power.") || ct_str_has(row, "driver_version") ||
                           ct_str_has(row, "used_") || ct_str_has(row, "gpu_")
                       ? 90 : 50;
    }
    return 0;
}

const CtParser ct_parser_nvidia_smi_csv = {
    .id = "nvidia-smi-csv",
    .summary = "nvidia-smi --query-gpu and --query-compute-apps as CSV",
    .doc = "Any properties in any order, header with units, without header (the columns are then "
           "taken from the command), nounits. The first row of each GPU becomes facts; further "
           "rows of the same GPU become series of memory, utilisation, clocks, power, "
           "temperature, ECC counters, replays and the clock event mask. Counters that move are "
           "stated again with their last value.",
    .sniff = sniff,
    .begin = begin,
    .line = line,
    .finish = finish,
    .no_signatures = TRUE,
};
