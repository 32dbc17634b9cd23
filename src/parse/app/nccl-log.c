/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NCCL's INFO lines: version, network, interfaces, rings, peers, ranks. "host:pid:tid [dev] NCCL
 * INFO text", from 2.27 on with a time in front. Warnings are the signatures' part.
 */
#include <string.h>

#include "parse/env/version-scan.h"

#define MAX_SEEN 2000u

typedef struct {
    GHashTable *seen;
    guint lines, warnings;
} State;

static gpointer begin(CtEmit *emit)
{
    State *st = g_new0(State, 1);
    st->seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    return st;
}

/* Each statement once, however many ranks and channels repeat it. */
static void once(State *st, CtEmit *emit, const CtLine *line, const char *subject,
                 const char *key, CtStr value)
{
    g_autofree char *id = g_strdup_printf("%s|%s|%.*s", subject ? subject : "", key,
                                          (int)MIN(value.n, (gsize)120), value.p);
    if (!value.n || g_hash_table_size(st->seen) >= MAX_SEEN ||
        g_hash_table_contains(st->seen, id))
        return;
    g_hash_table_add(st->seen, g_steal_pointer(&id));
    ct_emit_text(emit, line, subject, key, value);
}

static CtStr first_word(CtStr s)
{
    return ct_str_token(&s);
}

/* "comm 0x55... rank 1 nranks 2 cudaDev 1 ... busId 7000 - Init COMPLETE" */
static void communicator(State *st, CtEmit *emit, const CtLine *line, CtStr s)
{
    static const struct {
        const char *word, *key;
    } parts[] = {{" nranks ", "nccl.ranks"}, {" nRanks ", "nccl.ranks"}, {" nNodes ", "nccl.nodes"},
                 {" localRanks ", "nccl.local-ranks"}};
    for (gsize i = 0; i < G_N_ELEMENTS(parts); i++) {
        gssize at = ct_str_find(s, parts[i].word);
        double n;
        if (at < 0)
            continue;
        CtStr value = first_word(ct_str_from(s, (gsize)at + strlen(parts[i].word)));
        if (!ct_str_number(value, &n))
            continue;
        g_autofree char *id = g_strdup_printf("%s|%.0f", parts[i].key, n);
        if (g_hash_table_contains(st->seen, id) || g_hash_table_size(st->seen) >= MAX_SEEN)
            continue;
        g_hash_table_add(st->seen, g_steal_pointer(&id));
        ct_emit_number(emit, line, NULL, parts[i].key, n, CT_STR_BUF(value));
    }
    if (ct_str_has(s, "Init COMPLETE"))
        once(st, emit, line, NULL, "nccl.init", ct_str_of("complete"));
}

static void info(State *st, CtEmit *emit, const CtLine *line, CtStr s)
{
    CtStr part;
    gssize at = ct_str_find(s, "Bootstrap");
    if (at >= 0 && ct_str_has(s, "sing ")) {
        /* "Bootstrap : Using [0]eth0:192.0.2.14<0>" and "Bootstrap: Using eth0:..." */
        CtStr rest = ct_str_from(s, (gsize)ct_str_find(s, "sing ") + 5), name;
        if (rest.n && rest.p[0] == '[' && ct_str_cut(&rest, "]", &part)) {
            /* the number of the interface */
        }
        if (ct_str_cut(&rest, ":", &name))
            once(st, emit, line, NULL, "nccl.bootstrap-interface", name);
        return;
    }
    if (ct_str_starts(s, "NET/")) {
        CtStr rest = s, left;
        if (ct_str_has(s, "sing ") && ct_str_cut(&rest, ":", &left) && !ct_str_has(left, "Plugin"))
            once(st, emit, line, NULL, "nccl.network", ct_str_from(left, 4));
        return;
    }
    if (ct_str_starts(s, "Using network ")) {
        once(st, emit, line, NULL, "nccl.network", ct_str_from(s, 14));
        return;
    }
    if (ct_str_starts(s, "cudaDriverVersion ")) {
        char text[24];
        gint64 n;
        if (ct_str_uint(first_word(ct_str_from(s, 18)), &n) &&
            ct_version_of_int("version.cuda.driver", n, text))
            once(st, emit, line, NULL, "version.cuda.driver", ct_str_of(text));
        return;
    }
    at = ct_str_find(s, " via ");
    if (at >= 0 && ct_str_starts(s, "Channel ")) {
        CtStr how = first_word(ct_str_from(s, (gsize)at + 5));
        gssize slash = ct_str_find(how, "/");
        if (slash > 0 && !ct_str_starts(how, "P2P") && !ct_str_starts(how, "SHM"))
            how = ct_str_head(how, (gsize)slash);
        once(st, emit, line, NULL, "nccl.transport", how);
        return;
    }
    /* "NCCL_SOCKET_IFNAME set by environment to eth0" */
    at = ct_str_find(s, " set by environment to ");
    if (at > 0 && ct_str_starts(s, "NCCL_")) {
        g_autofree char *key = g_strdup_printf("env.%.*s", (int)MIN((gsize)at, (gsize)60), s.p);
        CtStr value = ct_str_from(s, (gsize)at + 23);
        while (value.n && value.p[value.n - 1] == '.')
            value.n--;
        once(st, emit, line, NULL, key, value);
        return;
    }
    if (ct_str_has(s, "nranks ") || ct_str_has(s, "nRanks "))
        communicator(st, emit, line, s);
}

static void line(gpointer state, const CtLine *line, CtEmit *emit)
{
    State *st = state;
    CtStr s = ct_line_str(line);
    gssize at = ct_str_find(s, "NCCL version ");
    if (at >= 0) {
        CtStr version = ct_str_from(s, (gsize)at + 13);
        version = ct_str_head(version, ct_version_length(version));
        g_autofree char *id = g_strdup_printf("version|%.*s", (int)version.n, version.p);
        if (version.n && !g_hash_table_contains(st->seen, id)) {
            g_hash_table_add(st->seen, g_steal_pointer(&id));
            ct_emit_version(emit, line, NULL, "version.nccl", version);
        }
        return;
    }
    at = ct_str_find(ct_str_head(s, 160), "NCCL INFO ");
    if (at >= 0) {
        st->lines++;
        info(st, emit, line, ct_str_strip(ct_str_from(s, (gsize)at + 10)));
    } else if (ct_str_has(ct_str_head(s, 200), "NCCL WARN ")) {
        st->warnings++;
    }
}

static void finish(gpointer state, CtEmit *emit)
{
    State *st = state;
    if (st->lines)
        ct_emit_coverage(emit, "nccl-log", NULL);
    ct_emit_coverage(emit, "app-log", NULL);
    g_hash_table_unref(st->seen);
    g_free(st);
}

static int sniff(const CtSniff *sniff)
{
    guint n = ct_sniff_count(sniff, "NCCL INFO", 40) + ct_sniff_count(sniff, "NCCL WARN", 40);
    if (n >= 3)
        return 80;
    return n ? 40 : ct_sniff_has(sniff, "NCCL INFO") ? 30 : 0;
}

const CtParser ct_parser_nccl_log = {
    .id = "nccl-log",
    .summary = "NCCL_DEBUG=INFO output",
    .doc = "NCCL 2.4 to 2.28 with or without time stamps and launcher prefixes: version, "
           "CUDA level of the driver, bootstrap interface, network, transports of the channels, "
           "variables set by the environment, number of ranks and nodes, whether initialisation "
           "was completed; coverage nccl-log.",
    .sniff = sniff,
    .begin = begin,
    .line = line,
    .finish = finish,
};
