/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table that plain `nvidia-smi` prints, of every driver since the box was invented: header,
 * two or three lines a GPU, MIG devices, processes. Cells are found by the bars between them and
 * their words by shape, never by column: widths differ by driver. Tables that follow each other
 * (watch, a loop) become series.
 */
#include "parse/gpu/gpu-parsers.h"

#include <string.h>

#include "parse/common/scan.h"
#include "parse/env/known-lines.h"

#define MAX_CELLS 8
#define MAX_GPUS 1024
#define MAX_PROCESSES 20000

typedef enum { PART_NONE, PART_HEAD, PART_GPUS, PART_MIG, PART_PROCESSES } Part;

typedef struct {
    Part part;
    guint tables;       /* finished or begun */
    gint64 t_ns;        /* of the current table */
    gint64 gpu;         /* of the rows being read, -1 before the first */
    guint row;          /* line within the GPU: 1, 2, 3 */
    char subject[24];
    guint gpus;         /* in the current table */
    guint last_number;  /* line of its last GPU or of the processes' head */
    char last_text[160];
    gboolean processes_seen;
    gboolean nvitop;    /* which draws the same boxes with other columns for processes */
    guint *per_gpu;     /* processes of each GPU of the current table */
    GHashTable *process_seen;
} State;

static gpointer begin(CtEmit *emit)
{
    State *st = g_new0(State, 1);
    st->gpu = -1;
    st->per_gpu = g_new0(guint, MAX_GPUS);
    st->process_seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    st->t_ns = ct_section_time(emit);
    return st;
}

static guint split_cells(CtStr s, CtStr cells[MAX_CELLS])
{
    guint n = 0;
    s = ct_str_strip(s);
    if (!s.n || s.p[0] != '|')
        return 0;
    s = ct_str_from(s, 1);
    while (s.n && n < MAX_CELLS) {
        const char *end = memchr(s.p, '|', s.n);
        gsize len = end ? (gsize)(end - s.p) : s.n;
        cells[n++] = ct_str_strip(ct_str_head(s, len));
        s = end ? ct_str_from(s, len + 1) : ct_str_from(s, s.n);
    }
    return n;
}

/* "NVIDIA-SMI 535.171.04  Driver Version: 535.171.04  CUDA Version: 12.2"; from 610 on
 * "KMD Version" and "CUDA UMD Version". */
gboolean ct_nvidia_smi_header(CtEmit *emit, const CtLine *line)
{
    CtStr s = ct_line_str(line);
    gssize at = MAX(ct_str_find(s, "NVIDIA-SMI "), ct_str_find(s, "NVITOP "));
    if (at < 0 || at > 3)
        return FALSE;
    static const struct {
        const char *word, *key;
    } heads[] = {
        {"NVIDIA-SMI ", "version.nvidia-smi"},
        {"CUDA UMD Version:", "version.cuda.driver"},
        {"CUDA Version:", "version.cuda.driver"},
        {"CUDA Driver Version:", "version.cuda.driver"},
        {"KMD Version:", "version.driver"},
        {"Driver Version:", "version.driver"},
    };
    gboolean found = FALSE, driver = FALSE, cuda = FALSE;
    for (gsize i = 0; i < G_N_ELEMENTS(heads); i++) {
        at = ct_str_find(s, heads[i].word);
        if (at < 0)
            continue;
        CtStr rest = ct_str_from(s, (gsize)at + strlen(heads[i].word));
        CtStr value = ct_str_token(&rest);
        if (!value.n || (i == 0 && !g_ascii_isdigit(value.p[0])))
            continue; /* "NVIDIA-SMI has failed because ..." */
        gboolean *once = heads[i].key[8] == 'c' ? &cuda : heads[i].key[8] == 'd' ? &driver : NULL;
        if ((once && *once) || (at >= 5 && ct_str_starts(ct_str_from(s, (gsize)at - 5), "CUDA D")))
            continue; /* nvitop: "CUDA Driver Version:" is not the driver's */
        if (once)
            *once = TRUE;
        ct_emit_text(emit, line, NULL, heads[i].key, value);
        found = TRUE;
    }
    return found;
}

static void flush_process_counts(State *st, CtEmit *emit, const CtLine *line)
{
    if (!st->processes_seen)
        return;
    for (guint i = 0; i < MIN(st->gpus, MAX_GPUS); i++) {
        char subject[24], text[16];
        g_snprintf(subject, sizeof(subject), "gpu:%u", i);
        g_snprintf(text, sizeof(text), "%u", st->per_gpu[i]);
        if (st->tables == 1)
            ct_emit_number(emit, line, subject, "gpu.process-count", st->per_gpu[i], text);
        st->per_gpu[i] = 0;
    }
    st->processes_seen = FALSE;
}

static void end_table(State *st, CtEmit *emit)
{
    CtLine last = ct_line_at(st->last_number, st->last_text, strlen(st->last_text));
    const CtLine *line = &last;
    if (st->tables == 1 && st->gpus) {
        char text[16];
        g_snprintf(text, sizeof(text), "%u", st->gpus);
        ct_emit_number(emit, line, NULL, "gpu.count", st->gpus, text);
    }
    flush_process_counts(st, emit, line);
    st->gpus = 0;
    st->gpu = -1;
    st->row = 0;
}

static void keep_place(State *st, const CtLine *line)
{
    st->last_number = line->number;
    ct_str_buf(ct_line_str(line), st->last_text, sizeof(st->last_text));
}

static void begin_table(State *st, CtEmit *emit)
{
    end_table(st, emit);
    st->tables++;
    st->part = PART_HEAD;
    if (st->t_ns != CT_TIME_UNKNOWN && st->tables == 1) {
        char text[32];
        g_snprintf(text, sizeof(text), "%" G_GINT64_FORMAT, st->t_ns);
        ct_emit_number(emit, NULL, NULL, "snapshot.time", (double)st->t_ns, text);
    }
}

static void gpu_first_row(State *st, CtStr *cells, guint n, const CtLine *line, CtEmit *emit)
{
    CtStr rest = cells[0];
    gint64 index;
    if (!ct_str_uint(ct_str_token(&rest), &index) || index >= MAX_GPUS)
        return;
    st->gpu = index;
    st->gpus++;
    st->row = 1;
    keep_place(st, line);
    g_snprintf(st->subject, sizeof(st->subject), "gpu:%" G_GINT64_FORMAT, index);
    if (st->tables > 1)
        return;
    /* The last word is the persistence mode, or WDDM, TCC, N/A. */
    rest = ct_str_strip(rest);
    gsize cut = rest.n;
    while (cut && rest.p[cut - 1] != ' ')
        cut--;
    CtStr mode = ct_str_from(rest, cut), name = ct_str_strip(ct_str_head(rest, cut));
    if (!name.n) {
        name = mode;
        mode = ct_str("", 0);
    }
    ct_emit_text(emit, line, st->subject, "gpu.name", name);
    if (ct_str_has(name, "(nvgpu)") || ct_str_starts(name, "NVIDIA Thor"))
        ct_emit_fact(emit, line, NULL, "host.jetson", "yes");
    if (ct_str_eq(mode, "On") || ct_str_eq(mode, "Off"))
        ct_emit_fact(emit, line, st->subject, "gpu.persistence",
                     ct_str_eq(mode, "On") ? "Enabled" : "Disabled");
    else if (ct_str_eq(mode, "WDDM") || ct_str_eq(mode, "TCC"))
        ct_emit_text(emit, line, st->subject, "gpu.driver-model", mode);
    if (n > 1) {
        CtStr cell = cells[1], pci = ct_str_token(&cell), uuid = ct_str("", 0);
        char normal[CT_PCI_SIZE];
        if (ct_pci_normalise(pci, normal)) {
            ct_emit_fact(emit, line, st->subject, "gpu.pci", normal);
            ct_emit_gpu_names(emit, st->subject, pci, uuid);
        }
    }
    if (n > 2) {
        if (ct_str_eq(cells[2], "Off")) {
            ct_emit_fact(emit, line, st->subject, "gpu.ecc.mode", "Disabled");
        } else {
            gint64 errors;
            if (ct_str_uint(cells[2], &errors))
                ct_emit_fact(emit, line, st->subject, "gpu.ecc.mode", "Enabled");
            ct_emit_field(emit, line, st->subject, "gpu.ecc.volatile.uncorrectable", cells[2]);
        }
    }
}

/* "N/A   47C    P0   121W /  350W": fan, temperature, state, power. */
static void first_cell(State *st, CtStr cell, const CtLine *line, CtEmit *emit)
{
    gboolean facts = st->tables == 1;
    CtDim dim;
    double value;
    CtStr left = cell, right = ct_str("", 0), rest;
    if (ct_str_cut(&left, "/  ", &rest) || ct_str_cut(&left, " / ", &rest)) {
        right = left;
        left = rest;
    }
    guint position = 0;
    for (CtStr w = ct_str_token(&left); w.n; w = ct_str_token(&left), position++) {
        if (w.n > 1 && w.p[w.n - 1] == 'C' && ct_quantity(w, &dim, &value)) {
            if (facts)
                ct_emit_field(emit, line, st->subject, "gpu.temperature", w);
            ct_emit_snapshot(emit, line, st->subject, "gpu.temperature", "celsius", st->t_ns,
                             value);
        } else if (w.n >= 2 && w.n <= 3 && w.p[0] == 'P' && g_ascii_isdigit(w.p[1])) {
            if (facts)
                ct_emit_text(emit, line, st->subject, "gpu.performance-state", w);
        } else if (w.p[w.n - 1] == 'W' && ct_quantity(w, &dim, &value)) {
            if (facts)
                ct_emit_field(emit, line, st->subject, "gpu.power", w);
            ct_emit_snapshot(emit, line, st->subject, "gpu.power", "W", st->t_ns, value);
        } else if (ct_str_eq(w, "ERR!") && facts) {
            ct_emit_field(emit, line, st->subject, position == 0 ? "gpu.fan"
                          : position == 1 ? "gpu.temperature" : "gpu.power", w);
        }
    }
    if (right.n && facts)
        ct_emit_field(emit, line, st->subject, "gpu.power.limit.current", right);
}

static void gpu_second_row(State *st, CtStr *cells, guint n, const CtLine *line, CtEmit *emit)
{
    gboolean facts = st->tables == 1;
    CtDim dim;
    double value;
    first_cell(st, cells[0], line, emit);
    if (n > 1) {
        CtStr total = cells[1], used;
        if (ct_str_cut(&total, "/", &used)) {
            if (facts) {
                ct_emit_field(emit, line, st->subject, "gpu.memory.used", used);
                ct_emit_field(emit, line, st->subject, "gpu.memory.total", total);
            }
            if (ct_quantity(used, &dim, &value) && dim == CT_DIM_BYTES)
                ct_emit_snapshot(emit, line, st->subject, "gpu.memory.used", "bytes", st->t_ns,
                                 value);
        } else if (facts) {
            ct_emit_field(emit, line, st->subject, "gpu.memory.used", cells[1]);
        }
    }
    if (n > 2) {
        CtStr rest = cells[2], util = ct_str_token(&rest);
        if (ct_quantity(util, &dim, &value))
            ct_emit_snapshot(emit, line, st->subject, "gpu.util", "1", st->t_ns, value);
        if (facts) {
            ct_emit_field(emit, line, st->subject, "gpu.utilization", util);
            rest = ct_str_strip(rest);
            if (ct_str_starts(rest, "E. Process"))
                ct_emit_fact(emit, line, st->subject, "gpu.compute-mode", "Exclusive_Process");
            else if (rest.n)
                ct_emit_text(emit, line, st->subject, "gpu.compute-mode", rest);
        }
    }
}

static void gpu_row(State *st, const CtLine *line, CtEmit *emit)
{
    CtStr cells[MAX_CELLS];
    guint n = split_cells(ct_str(line->text, line->len), cells);
    if (n < 2)
        return;
    CtStr head = cells[0];
    gint64 index;
    CtStr first = ct_str_token(&head);
    /* An index opens a GPU; a fan speed "30%" or a memory-only line does not look like one. */
    if (ct_str_uint(first, &index) && ct_str_strip(head).n) {
        gpu_first_row(st, cells, n, line, emit);
        return;
    }
    if (st->gpu < 0)
        return;
    st->row++;
    if (st->row == 2)
        gpu_second_row(st, cells, n, line, emit);
    else if (st->row == 3 && st->tables == 1 && n > 2 && cells[2].n)
        ct_emit_text(emit, line, st->subject, "gpu.mig.mode", cells[2]);
}

/* "|  0    1   0   0  |     12MiB / 20096MiB  | 42      0 | ..." */
static void mig_row(State *st, const CtLine *line, CtEmit *emit)
{
    CtStr cells[MAX_CELLS];
    guint n = split_cells(ct_str(line->text, line->len), cells);
    if (n < 3 || st->tables > 1)
        return;
    CtStr rest = cells[0];
    gint64 gpu, gi, ci, device;
    if (!ct_str_uint(ct_str_token(&rest), &gpu) || !ct_str_uint(ct_str_token(&rest), &gi) ||
        !ct_str_uint(ct_str_token(&rest), &ci) || !ct_str_uint(ct_str_token(&rest), &device))
        return;
    char subject[64];
    g_snprintf(subject, sizeof(subject), "gpu:%d/mig:%d", (int)(gpu % 100000),
               (int)(device % 100000));
    char value[64];
    g_snprintf(value, sizeof(value), "gi %d ci %d", (int)(gi % 100000), (int)(ci % 100000));
    ct_emit_fact(emit, line, subject, "gpu.mig.device", value);
    CtStr total = cells[1], used;
    if (ct_str_cut(&total, "/", &used)) {
        ct_emit_field(emit, line, subject, "gpu.memory.used", used);
        ct_emit_field(emit, line, subject, "gpu.memory.total", total);
    }
}

/* nvidia-smi: NAME MEMORY. nvitop: USER MEMORY %SM %CPU %MEM TIME COMMAND. */
static void split_process(const State *st, CtStr rest, CtStr *memory, CtStr *name)
{
    rest = ct_str_strip(rest);
    if (st->nvitop) {
        ct_str_token(&rest);
        *memory = ct_str_token(&rest);
        for (int i = 0; i < 4; i++)
            ct_str_token(&rest);
        *name = ct_str_strip(rest);
        return;
    }
    gsize cut = rest.n;
    while (cut && rest.p[cut - 1] != ' ')
        cut--;
    *memory = ct_str_from(rest, cut);
    *name = ct_str_strip(ct_str_head(rest, cut));
}

static void process_row(State *st, const CtLine *line, CtEmit *emit)
{
    CtStr s = ct_line_str(line);
    if (s.n < 2 || s.p[0] != '|')
        return;
    s = ct_str_strip(ct_str(s.p + 1, s.p[s.n - 1] == '|' ? s.n - 2 : s.n - 1));
    CtStr rest = s, before = ct_str("", 0), type = ct_str("", 0);
    gint64 gpu, pid;
    if (!ct_str_uint(ct_str_token(&rest), &gpu) || gpu >= MAX_GPUS)
        return;
    for (guint i = 0; i < 5 && !type.n; i++) {
        CtStr w = ct_str_token(&rest);
        if (!w.n)
            return;
        if (ct_str_eq(w, "C") || ct_str_eq(w, "G") || ct_str_eq(w, "C+G") || ct_str_eq(w, "M+C") ||
            ct_str_eq(w, "M") || ct_str_eq(w, "M+C+G"))
            type = w;
        else
            before = w;
    }
    if (!type.n || !ct_str_uint(before, &pid))
        return;
    CtStr memory, name;
    split_process(st, rest, &memory, &name);
    CtDim dim;
    double bytes;
    gboolean known = ct_quantity(memory, &dim, &bytes);
    st->per_gpu[gpu]++;
    char subject[64];
    g_snprintf(subject, sizeof(subject), "gpu:%d/pid:%" G_GINT64_FORMAT, (int)gpu, pid);
    if (known && st->tables > 1)
        ct_emit_snapshot(emit, line, subject, "gpu.memory.used", "bytes", st->t_ns, bytes);
    if (g_hash_table_contains(st->process_seen, subject) ||
        g_hash_table_size(st->process_seen) >= MAX_PROCESSES)
        return;
    g_hash_table_add(st->process_seen, g_strdup(subject));
    if (known)
        ct_emit_number(emit, line, subject, "gpu.process", bytes, CT_STR_BUF(name));
    else
        ct_emit_fact(emit, line, subject, "gpu.process", CT_STR_BUF(name));
}

/* nvitop draws with the box characters of Unicode, all "\xe2\x94.." or "\xe2\x95..": the upright
 * bar becomes '|', the rest '-'. What does not begin so is left alone. */
static CtLine without_box(const CtLine *line, char *buf, gsize size)
{
    CtLine plain = *line;
    gsize n = 0;
    if (line->len < 3 || memcmp(line->text, "\xe2\x94", 2) < 0 ||
        memcmp(line->text, "\xe2\x95", 2) > 0)
        return plain;
    for (gsize i = 0; i < line->len && n < size;) {
        const guint8 *c = (const guint8 *)line->text + i;
        gboolean box = i + 2 < line->len && c[0] == 0xe2 && (c[1] == 0x94 || c[1] == 0x95);
        buf[n++] = !box ? (char)c[0] : c[1] == 0x94 && c[2] == 0x82 ? '|' : '-';
        i += box ? 3 : 1;
    }
    if (n && buf[0] == '-')
        buf[0] = '+';
    plain.text = buf;
    plain.len = n;
    return plain;
}

static void line(gpointer state, const CtLine *drawn, CtEmit *emit)
{
    State *st = state;
    char buf[1024];
    CtLine plain = without_box(drawn, buf, sizeof buf);
    const CtLine *line = &plain;
    CtStr s = ct_line_str(line);
    if (!s.n) {
        if (line->t_ns != CT_TIME_UNKNOWN)
            st->t_ns = line->t_ns;
        return;
    }
    gboolean nvitop = ct_str_has(s, "NVITOP ") && ct_str_find(s, "NVITOP ") <= 3;
    if (nvitop || (ct_str_has(s, "NVIDIA-SMI ") && ct_str_find(s, "NVIDIA-SMI ") <= 3)) {
        begin_table(st, emit);
        st->nvitop = nvitop;
        if (st->tables == 1)
            ct_nvidia_smi_header(emit, line);
        return;
    }
    if (s.p[0] == '|') {
        if (ct_str_has(s, "GPU  Name") || ct_str_has(s, "GPU Name"))
            st->part = PART_GPUS;
        else if (ct_str_has(s, "MIG devices:"))
            st->part = PART_MIG;
        else if (ct_str_has(s, "Processes:")) {
            st->part = PART_PROCESSES;
            st->processes_seen = TRUE;
            keep_place(st, line);
        } else if (s.n > 1 && (s.p[1] == '=' || s.p[1] == '-'))
            return;
        else if (st->part == PART_GPUS)
            gpu_row(st, line, emit);
        else if (st->part == PART_MIG)
            mig_row(st, line, emit);
        else if (st->part == PART_PROCESSES)
            process_row(st, line, emit);
        return;
    }
    if (s.p[0] == '+')
        return;
    gint64 t;
    if (ct_line_only_time(line, &t)) {
        st->t_ns = t;
        ct_emit_clock(emit, "wall");
        return;
    }
    ct_env_known_line(emit, line);
}

static void finish(gpointer state, CtEmit *emit)
{
    State *st = state;
    gboolean rows = st->gpus > 0 || st->tables > 1;
    gboolean processes = st->processes_seen || st->tables > 1;
    end_table(st, emit);
    if (rows) {
        ct_emit_coverage(emit, "gpu-state", NULL);
        if (processes)
            ct_emit_coverage(emit, "gpu-processes", NULL);
        if (st->tables > 2)
            ct_emit_coverage(emit, "gpu-telemetry", NULL);
    }
    g_free(st->per_gpu);
    g_hash_table_unref(st->process_seen);
    g_free(st);
}

static int sniff(const CtSniff *sniff)
{
    if (ct_sniff_has(sniff, "| NVIDIA-SMI ") && ct_sniff_has(sniff, "Driver Version"))
        return 90;
    if (ct_sniff_has(sniff, "| NVIDIA-SMI ") && ct_sniff_has(sniff, "KMD Version"))
        return 90;
    if (ct_sniff_has(sniff, " NVITOP ") && ct_sniff_has(sniff, "Driver Version"))
        return 90;
    if (ct_sniff_has(sniff, "| GPU  Name") && ct_sniff_has(sniff, "Memory-Usage"))
        return 85;
    if (ct_sniff_has(sniff, "| Processes:") && ct_sniff_has(sniff, "GPU Memory"))
        return 80;
    return 0;
}

const CtParser ct_parser_nvidia_smi_table = {
    .id = "nvidia-smi-table",
    .summary = "the boxed table of nvidia-smi",
    .doc = "Plain nvidia-smi of any driver, also several tables in a row: driver and CUDA versions "
           "of the header (KMD and CUDA UMD version from 610 on), name, address, memory, power, "
           "temperature, utilisation, ECC, MIG and compute mode of each GPU, MIG devices, and "
           "every process with its memory; nvitop's table of the same shape. N/A and ERR! become facts with a status.",
    .sniff = sniff,
    .begin = begin,
    .line = line,
    .finish = finish,
};
