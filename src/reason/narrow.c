/* SPDX-License-Identifier: Apache-2.0 */
#include "reason/narrow.h"

#include <string.h>

#include "reason/reason-private.h"

/* A row is out when its id or its section is in one of the hide tables. Sections are hidden for a
 * host, subjects for a GPU; both are few, ids of events may be many. */
static const char begin_sql[] =
    "CREATE TEMP TABLE hide_event(row INTEGER PRIMARY KEY, base INTEGER);"
    "CREATE TEMP TABLE hide_finding(row INTEGER PRIMARY KEY, base INTEGER);"
    "CREATE TEMP TABLE hide_section(row INTEGER PRIMARY KEY);"
    "CREATE TEMP TABLE hide_subject(name TEXT PRIMARY KEY);"
    "CREATE TEMP VIEW event AS SELECT * FROM main.event "
    " WHERE id NOT IN (SELECT row FROM temp.hide_event);"
    "CREATE TEMP VIEW finding AS SELECT * FROM main.finding "
    " WHERE id NOT IN (SELECT row FROM temp.hide_finding);";

#define VIEW_OF_SECTIONS(table, subject)                                                           \
    "CREATE TEMP VIEW " table " AS SELECT * FROM main." table                                      \
    " WHERE section NOT IN (SELECT row FROM temp.hide_section) "                                   \
    "AND coalesce(" subject ", '') NOT IN (SELECT name FROM temp.hide_subject);"

static const char sections_sql[] = VIEW_OF_SECTIONS("fact", "subject")
    VIEW_OF_SECTIONS("coverage", "NULL") VIEW_OF_SECTIONS("series", "subject")
        VIEW_OF_SECTIONS("span", "NULL");

static const char end_sql[] =
    "DROP VIEW IF EXISTS temp.event; DROP VIEW IF EXISTS temp.finding;"
    "DROP VIEW IF EXISTS temp.fact; DROP VIEW IF EXISTS temp.coverage;"
    "DROP VIEW IF EXISTS temp.series; DROP VIEW IF EXISTS temp.span;"
    "DROP TABLE IF EXISTS temp.hide_event; DROP TABLE IF EXISTS temp.hide_finding;"
    "DROP TABLE IF EXISTS temp.hide_section; DROP TABLE IF EXISTS temp.hide_subject;";

static void must(sqlite3 *db, const char *sql)
{
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        g_error("narrow: %s: %s", sql, sqlite3_errmsg(db));
}

/* Runs a statement with ?1 as a number and ?2 as a text. */
static void must_with(sqlite3 *db, const char *sql, gint64 number, const char *text)
{
    sqlite3_stmt *st = ct_prepare(db, sql);
    sqlite3_bind_int64(st, 1, number);
    if (text)
        sqlite3_bind_text(st, 2, text, -1, SQLITE_TRANSIENT);
    sqlite3_step(st);
    sqlite3_finalize(st);
}

/* ---- names of GPUs ---- */

GHashTable *ct_gpu_aliases(sqlite3 *db)
{
    GHashTable *all = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    sqlite3_stmt *st = ct_prepare(
        db, "SELECT lower(name), subject FROM main.alias WHERE subject GLOB 'gpu:*'");
    while (sqlite3_step(st) == SQLITE_ROW)
        g_hash_table_insert(all, g_strdup(ct_column(st, 0)), g_strdup(ct_column(st, 1)));
    sqlite3_finalize(st);
    return all;
}

/* "0000:3B:00.0", "PCI:0000:3b:00", "3b:00.0": bus and device, which is what all forms share. */
static char *pci_part(const char *name)
{
    g_auto(GStrv) parts = g_strsplit(name, ":", -1);
    guint n = g_strv_length(parts);
    if (n < 2 || strlen(parts[n - 2]) != 2 || strlen(parts[n - 1]) < 2)
        return NULL;
    return g_strdup_printf("%s:%.2s", parts[n - 2], parts[n - 1]);
}

char *ct_gpu_subject(GHashTable *aliases, const char *gpu)
{
    g_autofree char *low = g_ascii_strdown(gpu, -1);
    const char *known = g_hash_table_lookup(aliases, low);
    if (known)
        return g_strdup(known);
    g_autofree char *pci = pci_part(low);
    GHashTableIter it;
    gpointer name, subject;
    g_hash_table_iter_init(&it, aliases);
    while (pci && g_hash_table_iter_next(&it, &name, &subject)) {
        g_autofree char *other = pci_part(name);
        if (g_strcmp0(other, pci) == 0)
            return g_strdup(subject);
    }
    if (pci)
        return g_strdup_printf("gpu:%s", pci);
    return g_str_has_prefix(low, "gpu:") ? g_steal_pointer(&low) : g_strconcat("gpu:", low, NULL);
}

/* ---- the flags ---- */

#define WALL_OF_EVENT CT_WALL_SQL("e.t_ns")
#define WALL_OF_LAST CT_WALL_SQL("coalesce(e.last_t_ns, e.t_ns)")

static void hide_times(sqlite3 *db, gint64 since_ns, gint64 until_ns)
{
    if (since_ns != CT_TIME_UNKNOWN) {
        must_with(db,
                  "INSERT OR IGNORE INTO temp.hide_event SELECT e.id, 1 FROM main.event e "
                  "JOIN section s ON s.id = e.section WHERE " WALL_OF_LAST " < ?1",
                  since_ns, NULL);
        must_with(db,
                  "INSERT OR IGNORE INTO temp.hide_finding SELECT id, 1 FROM main.finding "
                  "WHERE coalesce(t1_ns, t0_ns) < ?1",
                  since_ns, NULL);
    }
    if (until_ns != CT_TIME_UNKNOWN) {
        must_with(db,
                  "INSERT OR IGNORE INTO temp.hide_event SELECT e.id, 1 FROM main.event e "
                  "JOIN section s ON s.id = e.section WHERE " WALL_OF_EVENT " > ?1",
                  until_ns, NULL);
        must_with(db,
                  "INSERT OR IGNORE INTO temp.hide_finding SELECT id, 1 FROM main.finding "
                  "WHERE t0_ns > ?1",
                  until_ns, NULL);
    }
}

static void hide_other_gpus(sqlite3 *db, const char *gpu)
{
    g_autoptr(GHashTable) aliases = ct_gpu_aliases(db);
    g_autofree char *want = ct_gpu_subject(aliases, gpu);
    sqlite3_stmt *st = ct_prepare(db, "SELECT DISTINCT gpu FROM main.event WHERE gpu NOT NULL");
    while (sqlite3_step(st) == SQLITE_ROW) {
        g_autofree char *is = ct_gpu_subject(aliases, ct_column(st, 0));
        if (strcmp(is, want) != 0)
            must_with(db,
                      "INSERT OR IGNORE INTO temp.hide_event "
                      "SELECT id, 1 + 0 * ?1 FROM main.event WHERE gpu = ?2",
                      0, ct_column(st, 0));
    }
    sqlite3_finalize(st);
    st = ct_prepare(db, "SELECT subject FROM main.fact WHERE subject GLOB 'gpu:*' UNION "
                        "SELECT subject FROM main.series WHERE subject GLOB 'gpu:*' UNION "
                        "SELECT subject FROM main.finding WHERE subject GLOB 'gpu:*'");
    while (sqlite3_step(st) == SQLITE_ROW) {
        g_autofree char *is = ct_gpu_subject(aliases, ct_column(st, 0));
        if (strcmp(is, want) == 0)
            continue;
        must_with(db, "INSERT OR IGNORE INTO temp.hide_subject SELECT ?2 WHERE ?1 = 0", 0,
                  ct_column(st, 0));
    }
    sqlite3_finalize(st);
    must(db, "INSERT OR IGNORE INTO temp.hide_finding SELECT id, 1 FROM main.finding "
             "WHERE subject IN (SELECT name FROM temp.hide_subject)");
}

/* What does not say whose it is stays in, unless it is an hour away from all that the process is
 * known to have done. */
static void hide_other_processes(sqlite3 *db, gint64 pid)
{
    must_with(db,
              "INSERT OR IGNORE INTO temp.hide_event "
              "SELECT id, 1 FROM main.event WHERE pid NOT NULL AND pid <> ?1",
              pid, NULL);
    must_with(db,
              "WITH wall(id, pid, severity, t) AS (SELECT e.id, e.pid, e.severity, " WALL_OF_EVENT
              " FROM main.event e JOIN section s ON s.id = e.section), "
              "own(t0, t1) AS (SELECT min(t), max(t) FROM wall WHERE pid = ?1) "
              "INSERT OR IGNORE INTO temp.hide_event SELECT w.id, 1 FROM wall w, own "
              "WHERE w.pid IS NULL AND w.severity <> 'info' "
              "AND (w.t < own.t0 - 3600000000000 OR w.t > own.t1 + 3600000000000)",
              pid, NULL);
}

/* A host is known by a fact of the source or by its name in the path. Sources of which nothing
 * says whose they are stay in. */
static void hide_other_hosts(sqlite3 *db, const char *host)
{
    must_with(db,
              "WITH named(source, host) AS (SELECT s.source, f.value FROM main.fact f "
              " JOIN section s ON s.id = f.section "
              " WHERE f.key IN ('host.name', 'host.hostname') AND ?1 = 0) "
              "INSERT OR IGNORE INTO temp.hide_section SELECT s.id FROM section s "
              "JOIN source o ON o.id = s.source "
              "WHERE instr(lower(o.path), lower(?2)) = 0 "
              "AND NOT EXISTS (SELECT 1 FROM named n WHERE n.source = o.id "
              " AND lower(n.host) = lower(?2)) "
              "AND (EXISTS (SELECT 1 FROM named n WHERE n.source = o.id) "
              " OR EXISTS (SELECT 1 FROM source p WHERE instr(lower(p.path), lower(?2))))",
              0, host);
    must(db, "INSERT OR IGNORE INTO temp.hide_event SELECT id, 1 FROM main.event "
             "WHERE section IN (SELECT row FROM temp.hide_section)");
}

/* Findings whose every cited event is out are out too. */
static void hide_findings_of_hidden_events(sqlite3 *db)
{
    must(db, "INSERT OR IGNORE INTO temp.hide_finding SELECT finding, 1 FROM finding_evidence "
             "GROUP BY finding HAVING count(*) = sum((tab = 'event' AND row IN "
             "(SELECT row FROM temp.hide_event)) OR (tab = 'fact' AND row IN "
             "(SELECT f.id FROM main.fact f WHERE f.section IN (SELECT row FROM "
             "temp.hide_section) OR f.subject IN (SELECT name FROM temp.hide_subject))) OR "
             "(tab = 'series' AND row IN (SELECT f.id FROM main.series f WHERE f.section IN "
             "(SELECT row FROM temp.hide_section) OR f.subject IN "
             "(SELECT name FROM temp.hide_subject))))");
}

/* ---- boots ---- */

/* Times at which the module was loaded, and one row a section of kernel log that has no wall time
 * cannot be told apart: those stay. */
static GArray *boot_times(sqlite3 *db)
{
    GArray *times = g_array_new(FALSE, FALSE, sizeof(gint64));
    sqlite3_stmt *st = ct_prepare(
        db, "SELECT DISTINCT " WALL_OF_EVENT " AS wall FROM main.event e "
            "JOIN section s ON s.id = e.section WHERE e.kind = 'driver-loaded' AND wall NOT NULL "
            "ORDER BY wall");
    gint64 last = G_MININT64;
    while (sqlite3_step(st) == SQLITE_ROW) {
        gint64 t = sqlite3_column_int64(st, 0);
        /* The modules of one start announce themselves within seconds of each other. */
        if (last == G_MININT64 || t - last > 60 * G_GINT64_CONSTANT(1000000000))
            g_array_append_val(times, t);
        last = t;
    }
    sqlite3_finalize(st);
    return times;
}

guint ct_boots(CtEvidence *ev)
{
    g_autoptr(GArray) times = boot_times(ct_evidence_db(ev));
    gint64 first, last;
    guint before = times->len && ct_event_times(ev, &first, &last) &&
                   first < g_array_index(times, gint64, 0);
    return MAX(1, times->len + before);
}

static void hide_other_boots(CtEvidence *ev, guint boot)
{
    sqlite3 *db = ct_evidence_db(ev);
    g_autoptr(GArray) times = boot_times(db);
    gint64 since = boot <= times->len ? g_array_index(times, gint64, times->len - boot)
                                      : CT_TIME_UNKNOWN;
    gint64 until = boot > 1 && boot - 1 <= times->len
                       ? g_array_index(times, gint64, times->len - boot + 1) - 1
                       : CT_TIME_UNKNOWN;
    hide_times(db, since, until);
}

gboolean ct_event_times(CtEvidence *ev, gint64 *out_first_ns, gint64 *out_last_ns)
{
    sqlite3_stmt *st = ct_prepare(ct_evidence_db(ev),
                                  "SELECT min(" WALL_OF_EVENT "), max(" WALL_OF_LAST ") "
                                  "FROM main.event e JOIN section s ON s.id = e.section");
    gboolean known = sqlite3_step(st) == SQLITE_ROW && sqlite3_column_type(st, 0) != SQLITE_NULL;
    *out_first_ns = sqlite3_column_int64(st, 0);
    *out_last_ns = sqlite3_column_int64(st, 1);
    sqlite3_finalize(st);
    return known;
}

/* ---- whole ---- */

void ct_narrow_begin(CtEvidence *ev, const CtNarrow *n)
{
    sqlite3 *db = ct_evidence_db(ev);
    ct_narrow_end(ev);
    must(db, begin_sql);
    must(db, sections_sql);
    if (!n)
        return;
    hide_times(db, n->since_ns, n->until_ns);
    if (n->boot)
        hide_other_boots(ev, n->boot);
    if (n->gpu)
        hide_other_gpus(db, n->gpu);
    if (n->host)
        hide_other_hosts(db, n->host);
    if (n->pid != CT_NONE)
        hide_other_processes(db, n->pid);
    hide_findings_of_hidden_events(db);
}

void ct_narrow_end(CtEvidence *ev)
{
    must(ct_evidence_db(ev), end_sql);
}
