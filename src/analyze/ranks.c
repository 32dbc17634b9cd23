/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ranks of one job side by side: which failed by itself and first, and which only waited for it.
 * A rank that waits says so with a time-out of a collective, a closed connection or a remote error.
 * What else it reports as an error is its own.
 */
#include <string.h>

#include "analyze/analyzer.h"

#define MAX_RANKS 4096

typedef struct {
    gint64 rank;
    gint64 event, section, line, seq, wall_ns; /* of its first own failure; event 0: it has none */
    char *kind;
    gint64 wait_event; /* 0: it does not wait */
    gint64 wait_line;
} Rank;

static void rank_free(gpointer data)
{
    Rank *r = data;
    g_free(r->kind);
    g_free(r);
}

/* "rank_3.log", "stderr-rank-3", "rank3/stderr": a log of its own; -1 when the path names none. */
static gint64 rank_of_path(const char *path)
{
    gint64 found = -1;
    g_autofree char *low = g_ascii_strdown(path, -1);
    for (const char *p = low; (p = strstr(p, "rank")) != NULL; p += 4) {
        const char *at = p + 4;
        at += strspn(at, "_-.=");
        if (g_ascii_isdigit(*at) && (p == low || !g_ascii_isalpha(p[-1])))
            found = g_ascii_strtoll(at, NULL, 10);
    }
    return found;
}

static gint64 rank_of_row(sqlite3_stmt *st)
{
    const char *scope = (const char *)sqlite3_column_text(st, 7);
    const char *path = (const char *)sqlite3_column_text(st, 8);
    if (sqlite3_column_type(st, 6) != SQLITE_NULL)
        return sqlite3_column_int64(st, 6);
    if (scope && g_str_has_prefix(scope, "rank:"))
        return g_ascii_strtoll(scope + 5, NULL, 10);
    return path ? rank_of_path(path) : -1;
}

/* Time-outs, closed connections, a peer's fault, the launcher's end. */
static const char events_sql[] =
    "SELECT e.id, e.section, e.line, e.seq, "
    " CASE WHEN e.t_ns NOT NULL AND (s.clock = 'wall' OR s.clock_offset_ns NOT NULL) "
    "  THEN e.t_ns + coalesce(s.clock_offset_ns, 0) END, e.kind, e.rank, s.scope, o.path, "
    " e.kind IN ('collective-timeout', 'rank-progress') "
    "  OR (e.kind = 'nccl-error' AND e.code = 6) "
    "  OR (e.kind = 'nccl-warn' AND e.name IN ('closed-by-peer', 'remote-exit')) "
    "  OR (e.kind = 'python-error' AND (e.name LIKE '%Dist%Error' OR e.name LIKE "
    "   '%ChildFailedError' OR e.name LIKE '%ncclRemoteError')) "
    "  OR (e.kind = 'rank-exit' AND (e.name = 'closed-by-launcher' OR e.code IN (-15, -6))) "
    "FROM event e JOIN section s ON s.id = e.section JOIN source o ON o.id = s.source "
    "WHERE e.severity IN ('error', 'fatal') AND s.scope <> 'claimed' ORDER BY e.seq LIMIT 50000";

static Rank *rank_at(GHashTable *ranks, gint64 number)
{
    Rank *r = g_hash_table_lookup(ranks, GINT_TO_POINTER((gint)number));
    if (!r && g_hash_table_size(ranks) < MAX_RANKS) {
        r = g_new0(Rank, 1);
        r->rank = number;
        g_hash_table_insert(ranks, GINT_TO_POINTER((gint)number), r);
    }
    return r;
}

static void take(Rank *r, sqlite3_stmt *st)
{
    gboolean waits = sqlite3_column_int(st, 9);
    if (waits && !r->wait_event) {
        r->wait_event = sqlite3_column_int64(st, 0);
        r->wait_line = sqlite3_column_int64(st, 2);
    }
    /* Behind its own time-out a rank only falls apart. */
    if (waits || r->wait_event || r->event)
        return;
    r->event = sqlite3_column_int64(st, 0);
    r->section = sqlite3_column_int64(st, 1);
    r->line = sqlite3_column_int64(st, 2);
    r->seq = sqlite3_column_int64(st, 3);
    r->wall_ns = sqlite3_column_type(st, 4) == SQLITE_NULL ? CT_TIME_UNKNOWN
                                                           : sqlite3_column_int64(st, 4);
    r->kind = g_strdup((const char *)sqlite3_column_text(st, 5));
}

static GHashTable *read_ranks(CtEvidence *ev)
{
    GHashTable *ranks = g_hash_table_new_full(NULL, NULL, NULL, rank_free);
    sqlite3_stmt *st = NULL;
    if (sqlite3_prepare_v2(ct_evidence_db(ev), events_sql, -1, &st, NULL) != SQLITE_OK)
        return ranks;
    while (sqlite3_step(st) == SQLITE_ROW) {
        gint64 number = rank_of_row(st);
        Rank *r = number >= 0 && number < G_MAXINT ? rank_at(ranks, number) : NULL;
        if (r)
            take(r, st);
    }
    sqlite3_finalize(st);
    return ranks;
}

/* -1, 1: which comes first; 0: nobody can tell. */
static int order(const Rank *a, const Rank *b)
{
    if (a->section == b->section)
        return a->seq < b->seq ? -1 : 1;
    if (a->wall_ns == CT_TIME_UNKNOWN || b->wall_ns == CT_TIME_UNKNOWN ||
        a->wall_ns == b->wall_ns)
        return 0;
    return a->wall_ns < b->wall_ns ? -1 : 1;
}

/* The rank whose own failure comes before that of every other; NULL when that is not known. */
static const Rank *first_failure(GHashTable *ranks)
{
    const Rank *first = NULL;
    GHashTableIter it;
    gpointer value;
    g_hash_table_iter_init(&it, ranks);
    while (g_hash_table_iter_next(&it, NULL, &value)) {
        const Rank *r = value;
        if (r->event && (!first || order(r, first) < 0))
            first = r;
    }
    g_hash_table_iter_init(&it, ranks);
    while (first && g_hash_table_iter_next(&it, NULL, &value)) {
        const Rank *r = value;
        if (r != first && r->event && order(first, r) >= 0)
            return NULL;
    }
    return first;
}

static int by_rank(gconstpointer a, gconstpointer b)
{
    const Rank *x = *(Rank *const *)a, *y = *(Rank *const *)b;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* Ranks that say nothing but that they wait, in order. Borrowed entries. (transfer container) */
static GPtrArray *waiting(GHashTable *ranks)
{
    GPtrArray *all = g_ptr_array_new();
    GHashTableIter it;
    gpointer value;
    g_hash_table_iter_init(&it, ranks);
    while (g_hash_table_iter_next(&it, NULL, &value))
        if (!((Rank *)value)->event && ((Rank *)value)->wait_event)
            g_ptr_array_add(all, value);
    g_ptr_array_sort(all, by_rank);
    return all;
}

static void tell_first(CtEvidence *ev, const Rank *first, guint n_waiting)
{
    g_autofree char *subject = g_strdup_printf("rank:%" G_GINT64_FORMAT, first->rank);
    g_autofree char *text = g_strdup_printf("rank %" G_GINT64_FORMAT " fails first (%s); "
                                            "%u others only wait",
                                            first->rank, first->kind, n_waiting);
    g_autofree char *detail =
        g_strdup_printf("{\"rank\":%" G_GINT64_FORMAT ",\"waiting\":%u,\"kind\":\"%s\"}",
                        first->rank, n_waiting, first->kind);
    gint64 id = ct_evidence_add_finding(
        ev, &(CtFindingRow){.analyzer = "ranks",
                            .kind = "rank-first-failure",
                            .severity = CT_SEV_ERROR,
                            .subject = subject,
                            .t0_ns = first->wall_ns == CT_TIME_UNKNOWN ? 0 : first->wall_ns,
                            .number = (double)first->rank,
                            .confidence = n_waiting ? 0.9 : 0.7,
                            .text = text,
                            .detail = detail});
    ct_evidence_cite(ev, id, "event", first->event, (guint)first->line);
}

static void tell_waiting(CtEvidence *ev, const GPtrArray *all, const Rank *first)
{
    g_autoptr(GString) list = g_string_new(NULL);
    for (guint i = 0; i < all->len && i < 64; i++)
        g_string_append_printf(list, "%s%" G_GINT64_FORMAT, i ? "," : "",
                               ((Rank *)g_ptr_array_index(all, i))->rank);
    g_autofree char *subject = g_strconcat("ranks:", list->str, NULL);
    g_autofree char *text = g_strdup_printf("%u ranks only wait: %s", all->len, list->str);
    g_autofree char *known = first ? g_strdup_printf("%" G_GINT64_FORMAT, first->rank)
                                   : g_strdup("null");
    g_autofree char *detail =
        g_strdup_printf("{\"ranks\":\"%s\",\"first_failure\":%s}", list->str, known);
    gint64 id = ct_evidence_add_finding(ev, &(CtFindingRow){.analyzer = "ranks",
                                                            .kind = "ranks-waiting",
                                                            .severity = CT_SEV_WARNING,
                                                            .subject = subject,
                                                            .number = all->len,
                                                            .confidence = 0.9,
                                                            .text = text,
                                                            .detail = detail});
    for (guint i = 0; i < all->len && i < 8; i++) {
        const Rank *r = g_ptr_array_index(all, i);
        ct_evidence_cite(ev, id, "event", r->wait_event, (guint)r->wait_line);
    }
}

static void run(CtEvidence *ev)
{
    g_autoptr(GHashTable) ranks = read_ranks(ev);
    if (g_hash_table_size(ranks) < 2)
        return;
    const Rank *first = first_failure(ranks);
    g_autoptr(GPtrArray) all = waiting(ranks);
    if (first)
        tell_first(ev, first, all->len);
    if (all->len)
        tell_waiting(ev, all, first);
}

const CtAnalyzer ct_analyzer_ranks = {
    .id = "ranks",
    .summary = "which rank of a job failed first, and which only waited for it",
    .doc = "A rank is named by its lines, its section or the path of its log. Between logs the order "
           "is that of aligned clocks; where it is not known no rank is called the first.",
    .emits = "rank-first-failure,ranks-waiting",
    .run = run,
};
