/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PyTorch's record of the last collectives of one rank, as pickle or JSON. For each process group
 * one event says how far the rank came and what it is at: comparing ranks is the rules' work.
 */
#include <string.h>

#include "parse/dump/py-values.h"

#define MAX_GROUPS 256u

typedef struct {
    CtStr name, description, op, state, last_op;
    char sizes[96];
    gint64 id, seq, created, timeout_ms, newest_seq, n_ranks;
    gint64 enqueued, completed;
    CtPyNode frames;
    gboolean open; /* an entry that is not completed was found */
} Group;

typedef struct {
    const CtPyTree *tree;
    Group groups[MAX_GROUPS];
    guint n_groups;
    gint64 newest; /* time of the latest entry */
} Dump;

static gboolean int_of(const CtPyTree *t, CtPyNode dict, const char *key, gint64 *out)
{
    return ct_py_int(t, ct_py_get(t, dict, key), out);
}

static CtStr text_of(const CtPyTree *t, CtPyNode dict, const char *key)
{
    return ct_py_text(t, ct_py_get(t, dict, key));
}

static Group *group_of(Dump *d, gint64 id)
{
    for (guint i = 0; i < d->n_groups; i++)
        if (d->groups[i].id == id)
            return &d->groups[i];
    if (d->n_groups >= MAX_GROUPS)
        return NULL;
    Group *g = &d->groups[d->n_groups++];
    *g = (Group){.id = id, .seq = G_MAXINT64, .newest_seq = -1, .enqueued = -1, .completed = -1};
    return g;
}

/* [[2048, 2048], [1]] -> "2048x2048,1" */
static void sizes_of(const CtPyTree *t, CtPyNode list, char *out, gsize size)
{
    g_autoptr(GString) s = g_string_new(NULL);
    for (CtPyIter a = ct_py_iter(t, list); ct_py_next(t, &a) && s->len < size;) {
        if (s->len)
            g_string_append_c(s, ',');
        gboolean first = TRUE;
        for (CtPyIter b = ct_py_iter(t, a.value); ct_py_next(t, &b) && s->len < size;) {
            gint64 n;
            if (!ct_py_int(t, b.value, &n))
                continue;
            g_string_append_printf(s, "%s%" G_GINT64_FORMAT, first ? "" : "x", n);
            first = FALSE;
        }
    }
    g_strlcpy(out, s->str, size);
}

static void name_group(const CtPyTree *t, Group *g, CtPyNode names)
{
    CtPyIter it = ct_py_iter(t, names);
    if (g->name.n || !ct_py_next(t, &it))
        return;
    g->name = ct_py_text(t, it.value);
    if (ct_py_next(t, &it))
        g->description = ct_py_text(t, it.value);
}

static void entry(Dump *d, CtPyNode e)
{
    const CtPyTree *t = d->tree;
    gint64 id = 0, seq, created = 0, p2p = 0;
    int_of(t, e, "pg_id", &id);
    int_of(t, e, "is_p2p", &p2p);
    if (p2p || !int_of(t, e, "collective_seq_id", &seq))
        return;
    Group *g = group_of(d, id);
    if (!g)
        return;
    name_group(t, g, ct_py_get(t, e, "process_group"));
    int_of(t, e, "time_created_ns", &created);
    d->newest = MAX(d->newest, created);
    if (seq >= g->newest_seq) {
        g->newest_seq = seq;
        g->last_op = text_of(t, e, "profiling_name");
    }
    CtStr state = text_of(t, e, "state");
    if (ct_str_eq(state, "completed") || seq >= g->seq)
        return;
    g->open = TRUE;
    g->seq = seq;
    g->op = text_of(t, e, "profiling_name");
    g->state = state;
    g->created = created;
    g->frames = ct_py_get(t, e, "frames");
    int_of(t, e, "timeout_ms", &g->timeout_ms);
    sizes_of(t, ct_py_get(t, e, "input_sizes"), g->sizes, sizeof g->sizes);
}

static void status(Dump *d, CtPyNode root)
{
    const CtPyTree *t = d->tree;
    for (CtPyIter it = ct_py_iter(t, ct_py_get(t, root, "pg_status")); ct_py_next(t, &it);) {
        gint64 id;
        if (!ct_py_int(t, it.key, &id))
            continue;
        Group *g = NULL; /* groups without any entry have nothing to compare */
        for (guint i = 0; i < d->n_groups; i++)
            if (d->groups[i].id == id)
                g = &d->groups[i];
        if (!g && id == 0)
            g = group_of(d, 0);
        if (!g)
            continue;
        int_of(t, it.value, "last_enqueued_collective", &g->enqueued);
        int_of(t, it.value, "last_completed_collective", &g->completed);
    }
}

/* "[0, 2]" */
static gint64 count_ranks(CtStr ranks)
{
    gint64 n = ranks.n > 2;
    for (gsize i = 0; i < ranks.n; i++)
        n += ranks.p[i] == ',';
    return n;
}

static void config(Dump *d, CtPyNode root)
{
    const CtPyTree *t = d->tree;
    for (CtPyIter it = ct_py_iter(t, ct_py_get(t, root, "pg_config")); ct_py_next(t, &it);) {
        CtStr name = text_of(t, it.value, "name");
        for (guint i = 0; i < d->n_groups; i++) {
            Group *g = &d->groups[i];
            if (g->id == 0 && !g->name.n && ct_str_eq(name, "0"))
                g->name = name;
            if (g->name.n == name.n && name.n && memcmp(g->name.p, name.p, name.n) == 0)
                g->n_ranks = count_ranks(text_of(t, it.value, "ranks"));
        }
    }
}

/* Frames of torch itself say nothing about the program. */
static gboolean place(const CtPyTree *t, CtPyNode frames, char *out, gsize size)
{
    for (CtPyIter it = ct_py_iter(t, frames); ct_py_next(t, &it);) {
        CtStr file = text_of(t, it.value, "filename"), name = text_of(t, it.value, "name");
        gint64 line = 0;
        if (!file.n || ct_str_has(file, "torch/") || !ct_str_has(file, ".py"))
            continue;
        gssize slash = -1;
        for (gsize i = 0; i < file.n; i++)
            if (file.p[i] == '/')
                slash = (gssize)i;
        int_of(t, it.value, "line", &line);
        char f[64], n[64];
        g_snprintf(out, size, "%s:%" G_GINT64_FORMAT " %s",
                   ct_str_buf(ct_str_from(file, (gsize)(slash + 1)), f, sizeof f), line,
                   ct_str_buf(name, n, sizeof n));
        return TRUE;
    }
    return FALSE;
}

static void put(GString *json, const char *key, CtStr value)
{
    if (!value.n)
        return;
    g_string_append_printf(json, "%s\"%s\":\"", json->len > 1 ? "," : "", key);
    for (gsize i = 0; i < MIN(value.n, (gsize)160); i++) {
        char c = value.p[i];
        if (c == '"' || c == '\\')
            g_string_append_c(json, '\\');
        if ((guchar)c >= 0x20 && (guchar)c < 0x7f)
            g_string_append_c(json, c);
    }
    g_string_append_c(json, '"');
}

static void put_int(GString *json, const char *key, gint64 value)
{
    g_string_append_printf(json, "%s\"%s\":%" G_GINT64_FORMAT, json->len > 1 ? "," : "", key,
                           value);
}

static void emit_group(Dump *d, const Group *g, gint64 rank, CtEmit *emit)
{
    g_autoptr(GString) json = g_string_new("{");
    char where[160], op[80], text[400];
    put(json, "group", g->name);
    put(json, "description", g->description);
    put(json, "state", g->open ? g->state : ct_str_of("done"));
    if (g->open)
        put_int(json, "seq", g->seq);
    put_int(json, "enqueued", g->enqueued >= 0 ? g->enqueued : g->newest_seq);
    if (g->completed >= 0 || g->open)
        put_int(json, "completed", g->completed >= 0 ? g->completed : g->seq - 1);
    put(json, "sizes", ct_str_of(g->sizes));
    if (g->n_ranks > 0)
        put_int(json, "ranks", g->n_ranks);
    gboolean late = g->open && g->timeout_ms > 0 &&
                    (d->newest - g->created) / 1000000 >= g->timeout_ms;
    if (late)
        put(json, "late", ct_str_of("yes"));
    if (place(d->tree, g->frames, where, sizeof where))
        put(json, "place", ct_str_of(where));
    g_string_append_c(json, '}');
    ct_str_buf(g->open ? g->op : g->last_op, op, sizeof op);
    if (g_str_has_prefix(op, "nccl:"))
        memmove(op, op + 5, strlen(op) - 4);
    g_snprintf(text, sizeof text, "%s %s", g->open ? "not completed:" : "last:", op);
    CtLine line = ct_line_at(1, text, strlen(text));
    ct_emit_event(emit, &line,
                  (CtEventRow){.kind = "collective-state", .severity = CT_SEV_INFO, .name = *op ? op : NULL,
                               .rank = rank, .has_rank = rank != CT_NONE,
                               .t_ns = g->open ? g->created : 0, .detail = json->str});
}

/* "nccl_trace_rank_3", "fr_rank1.pickle", "dump_14": the last digits of the name. */
static gint64 rank_of_path(const char *path)
{
    const char *base = path ? strrchr(path, '/') : NULL, *end;
    base = base ? base + 1 : path;
    if (!base)
        return CT_NONE;
    end = strchr(base, '.');
    end = end ? end : base + strlen(base);
    const char *p = end;
    while (p > base && g_ascii_isdigit(p[-1]))
        p--;
    return p < end && end - p < 7 ? g_ascii_strtoll(p, NULL, 10) : CT_NONE;
}

static void read_tree(const CtPyTree *t, CtEmit *emit)
{
    g_autofree Dump *d = g_new0(Dump, 1);
    CtPyNode root = ct_py_root(t);
    char rank_text[24] = "";
    const char *command = ct_emit_command(emit); /* "cat nccl_trace_rank_0" */
    gint64 rank = rank_of_path(command ? command : ct_emit_source_path(emit));
    d->tree = t;
    int_of(t, root, "rank", &rank);
    for (CtPyIter it = ct_py_iter(t, ct_py_get(t, root, "entries")); ct_py_next(t, &it);)
        entry(d, it.value);
    status(d, root);
    config(d, root);
    if (rank != CT_NONE) {
        g_snprintf(rank_text, sizeof rank_text, "rank:%" G_GINT64_FORMAT, rank);
        ct_emit_scope(emit, rank_text);
    }
    CtStr version = text_of(t, root, "comm_lib_version");
    if (!version.n)
        version = text_of(t, root, "nccl_version");
    if (version.n)
        ct_emit_text(emit, NULL, NULL, "version.nccl", version);
    for (guint i = 0; i < d->n_groups; i++)
        if (d->groups[i].newest_seq > 0 || d->groups[i].enqueued > 0)
            emit_group(d, &d->groups[i], rank, emit);
    ct_emit_clock(emit, "wall");
    ct_emit_coverage(emit, "flight-recorder", NULL);
}

static void document(const char *data, gsize len, guint first_line, CtEmit *emit)
{
    const char *why;
    g_autoptr(CtPyTree) t = len > 1 && (guint8)data[0] == 0x80
                                ? ct_py_read_pickle((const guint8 *)data, len, &why, NULL)
                                : ct_py_read_json(data, len, &why);
    if (!t || ct_py_type(t, ct_py_root(t)) != CT_PY_DICT)
        ct_emit_status(emit, CT_FAILED, t ? "no record of collectives" : why);
    else
        read_tree(t, emit);
}

static gboolean has(const char *head, gsize len, const char *word)
{
    return memmem(head, len, word, strlen(word)) != NULL;
}

static gboolean binary(const guint8 *head, gsize len)
{
    const char *p = (const char *)head;
    return len > 2 && head[0] == 0x80 && (has(p, len, "pg_config") || has(p, len, "pg_status") ||
                                          has(p, len, "collective_seq_id"));
}

static int sniff(const CtSniff *sniff)
{
    gsize i = 0;
    while (i < sniff->len && g_ascii_isspace(sniff->head[i]))
        i++;
    if (i >= sniff->len || sniff->head[i] != '{')
        return 0;
    return has(sniff->head, sniff->len, "\"pg_config\"") ||
                   has(sniff->head, sniff->len, "\"collective_seq_id\"")
               ? 95
               : 0;
}

const CtParser ct_parser_flight_recorder = {
    .id = "flight-recorder",
    .summary = "PyTorch's record of the last collectives of a rank",
    .doc = "The dump that PyTorch writes when a collective times out (nccl_trace_rank_N), pickle or "
           "JSON, of any version. For each process group an event collective-state: the number of "
           "the first collective that is not completed, its operation, sizes and place in the "
           "program, how many were enqueued and completed. The rank comes from the file's name.",
    .sniff = sniff,
    .document = document,
    .binary = binary,
};
