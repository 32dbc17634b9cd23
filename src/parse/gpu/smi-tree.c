/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts out of the tree of `nvidia-smi -q`. Which index a GPU has is not written in it: it is the
 * place in the list, unless the command asked for one (-i 5) or the list is shorter than the
 * number of attached GPUs. So the facts of the first GPU wait until that is clear.
 */
#include "parse/gpu/gpu-parsers.h"

#include <string.h>

#define MAX_HELD 2000
#define MAX_REMEMBERED 50000

typedef struct {
    guint number;
    char *text, *key, *value;
} Held;

struct CtSmiTree {
    gint64 t_ns;
    gint64 attached;   /* -1 unknown */
    gint64 asked;      /* index of -i, -1 none */
    guint gpus;        /* in this snapshot */
    guint snapshots;
    char subject[64];
    char pci[CT_PCI_SIZE];
    gint64 minor;
    gboolean holding;
    GPtrArray *held;
    GHashTable *last;  /* subject|key -> value: loops repeat themselves */
    gboolean seen_ecc, seen_clocks, seen_processes, seen_any;
    double ecc[4];     /* volatile and aggregate, correctable and uncorrectable */
    double ecc_most[4];
    Held ecc_line[4];  /* where the largest part of each total stands */
    gboolean ecc_known[4];
    gint64 pid;
    char process[160];
    guint process_count;
    gint64 mig;
};

static void held_free(gpointer data)
{
    Held *h = data;
    g_free(h->text);
    g_free(h->key);
    g_free(h->value);
    g_free(h);
}

CtSmiTree *ct_smi_tree_new(CtEmit *emit)
{
    CtSmiTree *tree = g_new0(CtSmiTree, 1);
    CtStr value;
    tree->attached = tree->asked = tree->minor = tree->pid = tree->mig = -1;
    tree->held = g_ptr_array_new_with_free_func(held_free);
    tree->last = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    tree->t_ns = ct_section_time(emit);
    if (ct_command_option(ct_emit_command(emit), "-i", &value) ||
        ct_command_option(ct_emit_command(emit), "--id", &value))
        if (!ct_str_uint(value, &tree->asked) || tree->asked > 4096)
            tree->asked = -1;
    return tree;
}

/* A number that comes without its unit word is no quantity: versions, names, addresses. */
static gboolean is_text_key(const char *key)
{
    static const char *const keys[] = {"gpu.name", "gpu.uuid", "gpu.pci", "gpu.vbios",
                                       "gpu.gsp-firmware", "gpu.compute-capability",
                                       "version.driver", "gpu.serial", "gpu.pdi",
                                       "gpu.board-id"};
    static const char *const families[] = {"gpu.part.", "gpu.inforom.", "gpu.platform.",
                                           "gpu.pci-"};
    for (gsize i = 0; i < G_N_ELEMENTS(keys); i++)
        if (strcmp(keys[i], key) == 0)
            return TRUE;
    for (gsize i = 0; i < G_N_ELEMENTS(families); i++)
        if (g_str_has_prefix(key, families[i]))
            return TRUE;
    return FALSE;
}

/* TRUE when this subject already has this value from an earlier round of a loop. */
static gboolean unchanged(CtSmiTree *tree, const char *key, const char *value)
{
    g_autofree char *id = g_strconcat(tree->subject, "|", key, NULL);
    const char *old = g_hash_table_lookup(tree->last, id);
    if (old && strcmp(old, value) == 0)
        return TRUE;
    if (g_hash_table_size(tree->last) < MAX_REMEMBERED || old)
        g_hash_table_replace(tree->last, g_steal_pointer(&id), g_strdup(value));
    return FALSE;
}

static void put(CtSmiTree *tree, CtEmit *emit, const CtLine *line, const char *key, CtStr value)
{
    const char *text = CT_STR_BUF(value);
    if (tree->snapshots > 1 && unchanged(tree, key, text))
        return;
    if (tree->snapshots <= 1)
        unchanged(tree, key, text);
    char pci[CT_PCI_SIZE];
    if (strcmp(key, "gpu.pci") == 0 && ct_pci_normalise(value, pci))
        ct_emit_fact(emit, line, tree->subject, key, pci);
    else if (is_text_key(key))
        ct_emit_text(emit, line, tree->subject, key, value);
    else
        ct_emit_field(emit, line, tree->subject, key, value);
    if (strcmp(key, "gpu.uuid") == 0)
        ct_emit_gpu_names(emit, tree->subject, ct_str("", 0), value);
    CtDim dim;
    double number;
    const char *unit, *metric = ct_smi_metric(key, &unit);
    if (metric && strchr(tree->subject, '/') == NULL && ct_quantity(value, &dim, &number))
        ct_emit_snapshot(emit, line, tree->subject, metric, unit, tree->t_ns, number);
}

static void release(CtSmiTree *tree, CtEmit *emit)
{
    tree->holding = FALSE;
    for (guint i = 0; i < tree->held->len; i++) {
        Held *h = g_ptr_array_index(tree->held, i);
        CtLine line = ct_line_at(h->number, h->text, strlen(h->text));
        put(tree, emit, &line, h->key, ct_str_of(h->value));
    }
    g_ptr_array_set_size(tree->held, 0);
    if (tree->pci[0])
        ct_emit_gpu_names(emit, tree->subject, ct_str_of(tree->pci), ct_str("", 0));
}

static void add(CtSmiTree *tree, CtEmit *emit, const CtLine *line, const char *key, CtStr value)
{
    tree->seen_any = TRUE;
    if (tree->holding && tree->held->len < MAX_HELD) {
        Held *h = g_new0(Held, 1);
        h->number = line ? line->number : 0;
        h->text = line ? g_strndup(line->text, MIN(line->len, (gsize)400)) : g_strdup("");
        h->key = g_strdup(key);
        h->value = ct_str_dup(ct_str_head(value, 255));
        g_ptr_array_add(tree->held, h);
        return;
    }
    if (tree->holding)
        release(tree, emit);
    put(tree, emit, line, key, value);
}

/* Totals over the places that the newer layouts list one by one. */
static void end_gpu(CtSmiTree *tree, CtEmit *emit)
{
    static const char *const keys[4] = {
        "gpu.ecc.volatile.correctable", "gpu.ecc.volatile.uncorrectable",
        "gpu.ecc.aggregate.correctable", "gpu.ecc.aggregate.uncorrectable"};
    for (int i = 0; i < 4; i++) {
        char text[32];
        if (!tree->ecc_known[i])
            continue;
        g_snprintf(text, sizeof(text), "%.0f", tree->ecc[i]);
        Held *h = &tree->ecc_line[i];
        CtLine line = ct_line_at(h->number, h->text ? h->text : "", h->text ? strlen(h->text) : 0);
        add(tree, emit, &line, keys[i], ct_str_of(text));
        tree->ecc_known[i] = FALSE;
        tree->ecc[i] = tree->ecc_most[i] = 0;
        g_clear_pointer(&h->text, g_free);
    }
    if (tree->seen_processes && tree->gpus) {
        char text[16];
        g_snprintf(text, sizeof(text), "%u", tree->process_count);
        add(tree, emit, NULL, "gpu.process-count", ct_str_of(text));
    }
    tree->process_count = 0;
}

void ct_smi_tree_time(CtSmiTree *tree, CtEmit *emit, const CtLine *line, CtStr stamp)
{
    gint64 t;
    gsize used;
    gboolean no_year;
    if (tree->snapshots) {
        end_gpu(tree, emit);
        if (tree->holding)
            release(tree, emit);
    }
    tree->snapshots++;
    tree->gpus = 0;
    if (ct_text_time(stamp.p, stamp.n, &t, &used, &no_year)) {
        tree->t_ns = t;
        ct_emit_clock(emit, "wall");
        ct_emit_number(emit, line, NULL, "snapshot.time", (double)t, CT_STR_BUF(stamp));
    }
}

void ct_smi_tree_attached(CtSmiTree *tree, CtEmit *emit, const CtLine *line, CtStr count)
{
    if (!ct_str_uint(count, &tree->attached))
        return;
    if (tree->snapshots <= 1)
        ct_emit_number(emit, line, NULL, "gpu.count", (double)tree->attached, CT_STR_BUF(count));
}

void ct_smi_tree_gpu(CtSmiTree *tree, CtEmit *emit, const CtLine *line, CtStr pci)
{
    if (tree->gpus) {
        end_gpu(tree, emit);
        if (tree->holding)
            release(tree, emit);
    }
    gint64 index = tree->asked >= 0 ? tree->asked : tree->gpus;
    tree->gpus++;
    tree->mig = tree->pid = tree->minor = -1;
    g_snprintf(tree->subject, sizeof(tree->subject), "gpu:%" G_GINT64_FORMAT, index);
    if (!ct_pci_normalise(pci, tree->pci))
        tree->pci[0] = '\0';
    tree->holding = tree->gpus == 1 && tree->snapshots <= 1 && tree->asked < 0 &&
                    tree->attached > 1;
    if (!tree->holding && tree->pci[0])
        ct_emit_gpu_names(emit, tree->subject, pci, ct_str("", 0));
    if (tree->pci[0])
        add(tree, emit, line, "gpu.pci", ct_str_of(tree->pci));
}

static void ecc_sum(CtSmiTree *tree, const CtLine *line, const char *path, CtStr value)
{
    double n;
    const char *rest = path + strlen("ecc-errors/");
    gboolean aggregate = g_str_has_prefix(rest, "aggregate/");
    if (!aggregate && !g_str_has_prefix(rest, "volatile/"))
        return;
    rest = strchr(rest, '/') + 1;
    gboolean bad;
    if (strcmp(rest, "single-bit/total") == 0 || strcmp(rest, "double-bit/total") == 0)
        bad = rest[0] == 'd';
    else if (strchr(rest, '/'))
        return;
    else if (strstr(rest, "uncorrectable"))
        bad = TRUE;
    else if (strstr(rest, "correctable"))
        bad = FALSE;
    else
        return;
    if (!ct_str_number(value, &n))
        return;
    int slot = (aggregate ? 2 : 0) + (bad ? 1 : 0);
    if (line && (!tree->ecc_known[slot] || n > tree->ecc_most[slot])) {
        Held *h = &tree->ecc_line[slot];
        g_free(h->text);
        h->number = line->number;
        h->text = g_strndup(line->text, MIN(line->len, (gsize)200));
        tree->ecc_most[slot] = n;
    }
    tree->ecc[slot] += n;
    tree->ecc_known[slot] = TRUE;
}

static void process_value(CtSmiTree *tree, CtEmit *emit, const CtLine *line, const char *leaf,
                          CtStr value)
{
    CtDim dim;
    double bytes;
    if (strcmp(leaf, "process-id") == 0 || strcmp(leaf, "pid") == 0) {
        if (!ct_str_uint(value, &tree->pid))
            tree->pid = -1;
        tree->process[0] = '\0';
        tree->process_count++;
    } else if (strcmp(leaf, "name") == 0 || strcmp(leaf, "process-name") == 0) {
        ct_str_buf(value, tree->process, sizeof(tree->process));
    } else if ((strcmp(leaf, "used-gpu-memory") == 0 || strcmp(leaf, "used-memory") == 0) &&
               tree->pid >= 0) {
        if (tree->holding)
            release(tree, emit);
        char subject[96];
        g_snprintf(subject, sizeof(subject), "%s/pid:%" G_GINT64_FORMAT, tree->subject, tree->pid);
        if (tree->snapshots > 1)
            return;
        if (ct_quantity(value, &dim, &bytes))
            ct_emit_number(emit, line, subject, "gpu.process", bytes, tree->process);
        else
            ct_emit_fact(emit, line, subject, "gpu.process", tree->process);
        tree->pid = -1;
    }
}

static void mig_value(CtSmiTree *tree, CtEmit *emit, const CtLine *line, const char *rest,
                      CtStr value)
{
    if (strcmp(rest, "index") == 0) {
        if (!ct_str_uint(value, &tree->mig))
            tree->mig = -1;
        return;
    }
    if (tree->mig < 0)
        return;
    const char *key = NULL;
    if (strcmp(rest, "gpu-instance-id") == 0)
        key = "gpu.mig.device";
    else if (strcmp(rest, "fb-memory-usage/total") == 0 ||
             strcmp(rest, "shared-fb-memory-usage/total") == 0)
        key = "gpu.memory.total";
    else if (strcmp(rest, "fb-memory-usage/used") == 0 ||
             strcmp(rest, "shared-fb-memory-usage/used") == 0)
        key = "gpu.memory.used";
    if (!key)
        return;
    if (tree->holding)
        release(tree, emit);
    char subject[96];
    g_snprintf(subject, sizeof(subject), "%s/mig:%d", tree->subject, (int)(tree->mig % 10000));
    ct_emit_field(emit, line, subject, key, value);
}

void ct_smi_tree_value(CtSmiTree *tree, CtEmit *emit, const CtLine *line, const char *path,
                       CtStr value)
{
    char buf[96];
    const char *slash = strrchr(path, '/');
    if (!tree->gpus)
        ct_smi_tree_gpu(tree, emit, line, ct_str("", 0));
    if (g_str_has_prefix(path, "processes")) {
        tree->seen_processes = TRUE;
        if (slash)
            process_value(tree, emit, line, slash + 1, value);
        return;
    }
    const char *mig = g_str_has_prefix(path, "mig-device/") ? path + 11
                      : g_str_has_prefix(path, "mig-devices/mig-device/") ? path + 23 : NULL;
    if (mig) {
        mig_value(tree, emit, line, mig, value);
        return;
    }
    const char *key = ct_smi_key(path, buf);
    if (!key)
        return;
    if (g_str_has_prefix(path, "ecc-errors/"))
        ecc_sum(tree, line, path, value);
    if (strcmp(path, "minor-number") == 0 && !ct_str_uint(value, &tree->minor))
        tree->minor = -1;
    tree->seen_ecc |= g_str_has_prefix(key, "gpu.ecc.") || g_str_has_prefix(key, "gpu.remap") ||
                      g_str_has_prefix(key, "gpu.retired");
    tree->seen_clocks |= g_str_has_prefix(key, "gpu.clock");
    add(tree, emit, line, key, value);
}

void ct_smi_tree_finish(CtSmiTree *tree, CtEmit *emit)
{
    end_gpu(tree, emit);
    if (tree->holding) {
        /* One GPU out of several, and nobody says which. */
        if (tree->minor >= 0)
            g_snprintf(tree->subject, sizeof(tree->subject), "gpu:%" G_GINT64_FORMAT, tree->minor);
        else if (tree->pci[0])
            g_snprintf(tree->subject, sizeof(tree->subject), "gpu:%s", tree->pci);
        release(tree, emit);
    }
    if (tree->seen_any)
        ct_emit_coverage(emit, "gpu-state", NULL);
    if (tree->seen_ecc)
        ct_emit_coverage(emit, "gpu-ecc", NULL);
    if (tree->seen_clocks)
        ct_emit_coverage(emit, "gpu-clocks", NULL);
    if (tree->seen_processes)
        ct_emit_coverage(emit, "gpu-processes", NULL);
    if (tree->snapshots > 2)
        ct_emit_coverage(emit, "gpu-telemetry", NULL);
    for (int i = 0; i < 4; i++)
        g_free(tree->ecc_line[i].text);
    g_ptr_array_unref(tree->held);
    g_hash_table_unref(tree->last);
    g_free(tree);
}
