/* SPDX-License-Identifier: Apache-2.0 */
#include "reason/incident.h"

#include <string.h>

#include "reason/narrow.h"
#include "reason/reason-private.h"

#define HOUR_NS (3600 * G_GINT64_CONSTANT(1000000000))
#define GAP_NS (6 * HOUR_NS)
/* A finding without rows of its own belongs to what it overlaps, with some room. */
#define ROOM_NS HOUR_NS
#define MAX_EPISODES 8
#define MAX_ERRORS 20000 /* more are one heap */
#define ALL (-1)

typedef struct {
    gint64 id, section, seq, t0_ns, t1_ns; /* CT_TIME_UNKNOWN */
    gint64 raw0_ns, raw1_ns;               /* the same on the clock of the section */
    gint64 pid;                            /* CT_NONE */
    char *key;                             /* what failed: kind, code, name, GPU */
    char *gpu;                             /* subject (nullable) */
    gboolean error, hardware;
    gint episode;
} Row;

typedef struct {
    GArray *rows;      /* Row: errors and warnings in the order of reading */
    GArray *t0, *t1;   /* gint64 of each episode */
    guint n;
    gboolean raw; /* times are those of the one section's own clock */
} Cut;

static void row_clear(gpointer data)
{
    Row *row = data;
    g_free(row->key);
    g_free(row->gpu);
}

void ct_incident_free(gpointer data)
{
    CtIncident *i = data;
    if (!i)
        return;
    g_ptr_array_unref(i->subjects);
    ct_diagnosis_free(i->diagnosis);
    g_free(i);
}

static CtIncident *incident_new(CtDiagnosis *d)
{
    CtIncident *i = g_new0(CtIncident, 1);
    i->t0_ns = i->t1_ns = CT_TIME_UNKNOWN;
    i->subjects = g_ptr_array_new_with_free_func(g_free);
    i->diagnosis = d;
    return i;
}

/* ---- reading ---- */

static gint64 known_int(sqlite3_stmt *st, int column, gint64 otherwise)
{
    return sqlite3_column_type(st, column) == SQLITE_NULL ? otherwise
                                                          : sqlite3_column_int64(st, column);
}

/* Xids that a program brings about by itself say nothing of the card. */
static gboolean hardware_xid(sqlite3_stmt *xid, gint64 code)
{
    sqlite3_bind_int64(xid, 1, code);
    gboolean is = sqlite3_step(xid) == SQLITE_ROW;
    sqlite3_reset(xid);
    return is;
}

static void read_rows(CtEvidence *ev, const CtKb *kb, Cut *cut)
{
    sqlite3 *db = ct_evidence_db(ev);
    g_autoptr(GHashTable) aliases = ct_gpu_aliases(db);
    sqlite3_stmt *xid = ct_prepare(ct_kb_db(kb), "SELECT 1 FROM code WHERE family = 'xid' AND "
                                                 "number = ? AND layer = 'hardware'");
    sqlite3_stmt *st = ct_prepare(
        db, "SELECT e.id, e.section, e.seq, " CT_WALL_SQL("e.t_ns") ", " CT_WALL_SQL(
                "coalesce(e.last_t_ns, e.t_ns)") ", e.pid, e.kind, coalesce(e.code, ''), "
            "coalesce(e.name, ''), e.gpu, e.severity IN ('error', 'fatal'), e.t_ns, "
            "coalesce(e.last_t_ns, e.t_ns) "
            "FROM event e JOIN section s ON s.id = e.section "
            "WHERE e.severity IN ('warning', 'error', 'fatal') ORDER BY e.seq LIMIT 20001");
    while (sqlite3_step(st) == SQLITE_ROW) {
        Row row = {.id = sqlite3_column_int64(st, 0),
                   .section = sqlite3_column_int64(st, 1),
                   .seq = sqlite3_column_int64(st, 2),
                   .t0_ns = known_int(st, 3, CT_TIME_UNKNOWN),
                   .t1_ns = known_int(st, 4, CT_TIME_UNKNOWN),
                   .raw0_ns = known_int(st, 11, CT_TIME_UNKNOWN),
                   .raw1_ns = known_int(st, 12, CT_TIME_UNKNOWN),
                   .pid = known_int(st, 5, CT_NONE),
                   .error = sqlite3_column_int(st, 10),
                   .episode = ALL};
        if (*ct_column(st, 9))
            row.gpu = ct_gpu_subject(aliases, ct_column(st, 9));
        row.key = g_strdup_printf("%s|%s|%s|%s", ct_column(st, 6), ct_column(st, 7),
                                  ct_column(st, 8), row.gpu ? row.gpu : "");
        row.hardware = row.gpu && strcmp(ct_column(st, 6), "xid") == 0 &&
                       hardware_xid(xid, sqlite3_column_int64(st, 7));
        g_array_append_val(cut->rows, row);
    }
    sqlite3_finalize(st);
    sqlite3_finalize(xid);
}

/* ---- episodes ---- */

static int by_time(gconstpointer a, gconstpointer b)
{
    const Row *x = *(Row *const *)a, *y = *(Row *const *)b;
    return x->t0_ns < y->t0_ns ? -1 : x->t0_ns > y->t0_ns;
}

static Row *row_at(const Cut *cut, guint i)
{
    return &g_array_index(cut->rows, Row, i);
}

/* A kernel log with seconds since boot has no wall time, but while it is alone it has an order. */
static void use_own_clock(Cut *cut)
{
    for (guint i = 0; i < cut->rows->len; i++)
        if (row_at(cut, i)->t0_ns != CT_TIME_UNKNOWN ||
            row_at(cut, i)->section != row_at(cut, 0)->section)
            return;
    cut->raw = TRUE;
    for (guint i = 0; i < cut->rows->len; i++) {
        row_at(cut, i)->t0_ns = row_at(cut, i)->raw0_ns;
        row_at(cut, i)->t1_ns = row_at(cut, i)->raw1_ns;
    }
}

/* Gives timed errors their episode; FALSE when there is only one. */
static gboolean cut_by_time(Cut *cut)
{
    g_autoptr(GPtrArray) timed = g_ptr_array_new();
    for (guint i = 0; i < cut->rows->len; i++)
        if (row_at(cut, i)->error && row_at(cut, i)->t0_ns != CT_TIME_UNKNOWN)
            g_ptr_array_add(timed, row_at(cut, i));
    g_ptr_array_sort(timed, by_time);
    gint64 end = G_MININT64;
    for (guint i = 0; i < timed->len; i++) {
        Row *row = g_ptr_array_index(timed, i);
        if (cut->n == 0 || row->t0_ns - end > GAP_NS) {
            cut->n++;
            g_array_append_val(cut->t0, row->t0_ns);
            g_array_append_val(cut->t1, row->t0_ns);
            end = row->t0_ns;
        }
        row->episode = (gint)cut->n - 1;
        end = MAX(end, row->t1_ns);
        g_array_index(cut->t1, gint64, cut->n - 1) = end;
    }
    return cut->n > 1;
}

/* ---- what belongs together ---- */

static gint root_of(const gint *parent, gint i)
{
    while (parent[i] != i)
        i = parent[i];
    return i;
}

/* Episodes that hold this key (or process, or faulty GPU) first, by its name. */
static void join_by(GHashTable *seen, const char *name, gint *parent, gint episode)
{
    gpointer before;
    if (!g_hash_table_lookup_extended(seen, name, NULL, &before)) {
        g_hash_table_insert(seen, g_strdup(name), GINT_TO_POINTER(episode));
        return;
    }
    gint a = root_of(parent, GPOINTER_TO_INT(before)), b = root_of(parent, episode);
    parent[MAX(a, b)] = MIN(a, b);
}

/* A process lives through hours without an error, and so does a card that fails. Process numbers
 * come again after a reboot or a long time; a day is less than that. */
static void join_subjects(const Cut *cut, gint *parent)
{
    g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (guint i = 0; i < cut->rows->len; i++) {
        const Row *row = row_at(cut, i);
        if (row->episode < 0)
            continue;
        if (row->pid != CT_NONE) {
            g_autofree char *pid = g_strdup_printf("pid:%" G_GINT64_FORMAT ":%s", row->pid,
                                                   row->key);
            join_by(seen, pid, parent, row->episode);
        }
        if (row->hardware)
            join_by(seen, row->gpu, parent, row->episode);
    }
}

/* What an episode is about, as its first errors say: the same again is the same fault. */
static void join_repetitions(const Cut *cut, gint *parent)
{
    g_autofree gboolean *begun = g_new0(gboolean, cut->n);
    g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    g_autoptr(GPtrArray) timed = g_ptr_array_new();
    for (guint i = 0; i < cut->rows->len; i++)
        if (row_at(cut, i)->episode >= 0)
            g_ptr_array_add(timed, row_at(cut, i));
    g_ptr_array_sort(timed, by_time);
    for (guint i = 0; i < timed->len; i++) {
        const Row *row = g_ptr_array_index(timed, i);
        if (begun[row->episode])
            continue;
        begun[row->episode] = TRUE;
        join_by(seen, row->key, parent, row->episode);
    }
}

/* Makes the joined episodes the new ones, numbered by time. */
static void renumber(Cut *cut, const gint *parent)
{
    g_autofree gint *number = g_new(gint, cut->n);
    guint n = 0;
    for (guint e = 0; e < cut->n; e++) {
        gint root = root_of(parent, (gint)e);
        gint64 t0 = g_array_index(cut->t0, gint64, e), t1 = g_array_index(cut->t1, gint64, e);
        if (root == (gint)e) {
            number[e] = (gint)n;
            g_array_index(cut->t0, gint64, n) = t0;
            g_array_index(cut->t1, gint64, n++) = t1;
        } else {
            number[e] = number[root];
            gint64 *end = &g_array_index(cut->t1, gint64, number[e]);
            *end = MAX(*end, t1);
        }
    }
    for (guint i = 0; i < cut->rows->len; i++)
        if (row_at(cut, i)->episode >= 0)
            row_at(cut, i)->episode = number[row_at(cut, i)->episode];
    cut->n = n;
}

static void joined(Cut *cut, void (*join)(const Cut *, gint *))
{
    g_autofree gint *parent = g_new(gint, cut->n);
    for (guint e = 0; e < cut->n; e++)
        parent[e] = (gint)e;
    join(cut, parent);
    renumber(cut, parent);
}

static gint nearest(const Cut *cut, gint64 t_ns)
{
    gint best = 0;
    gint64 least = G_MAXINT64;
    for (guint e = 0; e < cut->n; e++) {
        gint64 t0 = g_array_index(cut->t0, gint64, e), t1 = g_array_index(cut->t1, gint64, e);
        gint64 away = t_ns < t0 ? t0 - t_ns : t_ns > t1 ? t_ns - t1 : 0;
        if (away < least) {
            least = away;
            best = (gint)e;
        }
    }
    return best;
}

/* Warnings go to the episode that is nearest in time; rows without a time to that of the error
 * before them in their section, and to all where their section has none. */
static void place_the_others(Cut *cut)
{
    gint64 section = 0;
    gint last = ALL;
    for (guint i = 0; i < cut->rows->len; i++) {
        Row *row = row_at(cut, i);
        if (row->section != section) {
            section = row->section;
            last = ALL;
        }
        if (row->episode >= 0)
            last = row->episode;
        else
            row->episode = row->t0_ns != CT_TIME_UNKNOWN ? nearest(cut, row->t0_ns) : last;
    }
}

/* ---- judging one ---- */

static void hide_events(sqlite3 *db, const Cut *cut, gint episode)
{
    sqlite3_exec(db, "DELETE FROM temp.hide_event WHERE base IS NULL;"
                     "DELETE FROM temp.hide_finding WHERE base IS NULL", NULL, NULL, NULL);
    sqlite3_stmt *st = ct_prepare(db, "INSERT OR IGNORE INTO temp.hide_event(row) VALUES(?)");
    for (guint i = 0; i < cut->rows->len; i++) {
        const Row *row = row_at(cut, i);
        if (row->episode == ALL || row->episode == episode)
            continue;
        sqlite3_bind_int64(st, 1, row->id);
        sqlite3_step(st);
        sqlite3_reset(st);
    }
    sqlite3_finalize(st);
}

/* A finding goes with the events that it cites, else with its time. */
static void hide_findings(sqlite3 *db, const Cut *cut, gint episode)
{
    sqlite3_exec(db,
                 "INSERT OR IGNORE INTO temp.hide_finding(row) SELECT finding "
                 "FROM finding_evidence WHERE tab = 'event' GROUP BY finding "
                 "HAVING count(*) = sum(row IN (SELECT row FROM temp.hide_event))",
                 NULL, NULL, NULL);
    sqlite3_stmt *st = ct_prepare(
        db, "INSERT OR IGNORE INTO temp.hide_finding(row) SELECT id FROM main.finding f "
            "WHERE (t0_ns > ?2 OR coalesce(t1_ns, t0_ns) < ?1) AND NOT EXISTS (SELECT 1 FROM "
            "finding_evidence v WHERE v.finding = f.id AND v.tab = 'event')");
    sqlite3_bind_int64(st, 1, g_array_index(cut->t0, gint64, episode) - ROOM_NS);
    sqlite3_bind_int64(st, 2, g_array_index(cut->t1, gint64, episode) + ROOM_NS);
    sqlite3_step(st);
    sqlite3_finalize(st);
}

static void add_subject(GPtrArray *subjects, char *subject)
{
    if (subjects->len >= 8 ||
        g_ptr_array_find_with_equal_func(subjects, subject, g_str_equal, NULL))
        g_free(subject);
    else
        g_ptr_array_add(subjects, subject);
}

static CtIncident *judge(CtEvidence *ev, const CtKb *kb, const char *lang, const Cut *cut,
                         guint episode, GError **error)
{
    sqlite3 *db = ct_evidence_db(ev);
    hide_events(db, cut, (gint)episode);
    hide_findings(db, cut, (gint)episode);
    CtDiagnosis *d = ct_diagnose(ev, kb, lang, error);
    if (!d)
        return NULL;
    CtIncident *x = incident_new(d);
    x->order = episode;
    x->t0_ns = cut->raw ? CT_TIME_UNKNOWN : g_array_index(cut->t0, gint64, episode);
    x->t1_ns = cut->raw ? CT_TIME_UNKNOWN : g_array_index(cut->t1, gint64, episode);
    for (guint i = 0; i < cut->rows->len; i++) {
        const Row *row = row_at(cut, i);
        if (row->episode != (gint)episode || !row->error)
            continue;
        if (row->gpu)
            add_subject(x->subjects, g_strdup(row->gpu));
        if (row->pid > 1) /* 1 is the one that writes down what others did */
            add_subject(x->subjects, g_strdup_printf("pid:%" G_GINT64_FORMAT, row->pid));
    }
    return x;
}

/* ---- what stays apart ---- */

static const CtHypothesis *lead_of(const CtIncident *x)
{
    return g_ptr_array_index(x->diagnosis->hypotheses, 0);
}

static gboolean rests_on_own_lines(const Cut *cut, const CtHypothesis *h, guint episode)
{
    for (guint k = 0; k < h->for_->len; k++) {
        const CtCitation *c = g_ptr_array_index(h->for_, k);
        for (guint i = 0; strcmp(c->tab, "event") == 0 && i < cut->rows->len; i++)
            if (row_at(cut, i)->id == c->row && row_at(cut, i)->episode == (gint)episode)
                return TRUE;
    }
    return FALSE;
}

static gboolean has_cause(const Cut *cut, const CtIncident *x, guint episode)
{
    const CtHypothesis *h = lead_of(x);
    return strcmp(h->cause, "unknown") != 0 && h->probability >= 0.5 &&
           rests_on_own_lines(cut, h, episode);
}

static gboolean explains(const CtKb *kb, const char *a, const char *b)
{
    sqlite3_stmt *st = ct_prepare(ct_kb_db(kb), "SELECT 1 FROM explains WHERE (cause = ?1 AND "
                                                "consequence = ?2) OR (cause = ?2 AND "
                                                "consequence = ?1)");
    sqlite3_bind_text(st, 1, a, -1, SQLITE_TRANSIENT);
    sqlite3_bind_text(st, 2, b, -1, SQLITE_TRANSIENT);
    gboolean found = sqlite3_step(st) == SQLITE_ROW;
    sqlite3_finalize(st);
    return found;
}

static gboolean is_consequence(const CtDiagnosis *d, const char *cause)
{
    for (guint i = 0; i < d->consequences->len; i++)
        if (strcmp(((CtHypothesis *)g_ptr_array_index(d->consequences, i))->cause, cause) == 0)
            return TRUE;
    return FALSE;
}

/* One story in two chapters. */
static gboolean belong_together(const CtKb *kb, const CtIncident *a, const CtIncident *b)
{
    const CtHypothesis *x = lead_of(a), *y = lead_of(b);
    return strcmp(x->cause, y->cause) == 0 || explains(kb, x->cause, y->cause) ||
           is_consequence(a->diagnosis, y->cause) || is_consequence(b->diagnosis, x->cause);
}

/* Joins what belongs together and, to the nearest, what has no cause of its own; TRUE when
 * something was joined, so that it has to be judged again. */
static gboolean join_stories(Cut *cut, const CtKb *kb, const GPtrArray *all)
{
    g_autofree gint *parent = g_new(gint, cut->n);
    guint before = cut->n;
    for (guint e = 0; e < cut->n; e++)
        parent[e] = (gint)e;
    for (guint e = 0; e < all->len; e++) {
        const CtIncident *x = g_ptr_array_index(all, e);
        gboolean cause = has_cause(cut, x, e);
        gint64 least = G_MAXINT64;
        gint to = -1;
        for (guint o = 0; o < all->len; o++) {
            const CtIncident *y = g_ptr_array_index(all, o);
            if (o == e || !has_cause(cut, y, o))
                continue;
            guint early = MIN(o, e), later = MAX(o, e); /* episodes are numbered by time */
            gint64 away =
                g_array_index(cut->t0, gint64, later) - g_array_index(cut->t1, gint64, early);
            if ((!cause || belong_together(kb, x, y)) && away < least) {
                least = away;
                to = (gint)o;
            }
        }
        if (to < 0)
            continue;
        gint a = root_of(parent, to), b = root_of(parent, (gint)e);
        parent[MAX(a, b)] = MIN(a, b);
    }
    renumber(cut, parent);
    return cut->n < before;
}

/* Judges each episode until all stay apart; NULL when only one is left, or on an error. */
static GPtrArray *judge_all(CtEvidence *ev, const CtKb *kb, const char *lang, Cut *cut,
                            GError **error)
{
    while (cut->n > 1) {
        g_autoptr(GPtrArray) all = g_ptr_array_new_with_free_func(ct_incident_free);
        guint with_cause = 0;
        for (guint e = 0; e < cut->n; e++) {
            CtIncident *x = judge(ev, kb, lang, cut, e, error);
            if (!x)
                return NULL;
            g_ptr_array_add(all, x);
            with_cause += has_cause(cut, x, e);
        }
        if (with_cause < 2)
            return NULL;
        if (!join_stories(cut, kb, all))
            return g_steal_pointer(&all);
    }
    return NULL;
}

/* ---- whole ---- */

static int urgency(const CtIncident *x)
{
    const char *u = lead_of(x)->urgency;
    return g_strcmp0(u, "now") == 0 ? 0 : g_strcmp0(u, "soon") == 0 ? 1 : 2;
}

static int gravest_first(gconstpointer a, gconstpointer b)
{
    const CtIncident *x = *(CtIncident *const *)a, *y = *(CtIncident *const *)b;
    if (urgency(x) != urgency(y))
        return urgency(x) < urgency(y) ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

/* A layer is as bad as the worst incident makes it. */
static void share_layers(const GPtrArray *all)
{
    static const int worse[] = {[CT_LAYER_UNKNOWN] = 0, [CT_LAYER_OK] = 1, [CT_LAYER_SUSPECT] = 2,
                                [CT_LAYER_FAULT] = 3};
    const CtIncident *first = g_ptr_array_index(all, 0);
    for (guint i = 1; i < all->len; i++) {
        const CtIncident *x = g_ptr_array_index(all, i);
        for (guint k = 0; k < first->diagnosis->layers->len; k++) {
            CtLayer *to = g_ptr_array_index(first->diagnosis->layers, k);
            const CtLayer *from = g_ptr_array_index(x->diagnosis->layers, k);
            if (worse[from->state] <= MAX(worse[to->state], 1))
                continue;
            to->state = from->state;
            g_free(to->why);
            to->why = g_strdup(from->why);
        }
    }
}

static GPtrArray *separate(CtEvidence *ev, const CtKb *kb, const char *lang, gboolean narrowed,
                           GError **error)
{
    Cut cut = {.rows = g_array_new(FALSE, FALSE, sizeof(Row)),
               .t0 = g_array_new(FALSE, FALSE, sizeof(gint64)),
               .t1 = g_array_new(FALSE, FALSE, sizeof(gint64))};
    g_array_set_clear_func(cut.rows, row_clear);
    read_rows(ev, kb, &cut);
    use_own_clock(&cut);
    GPtrArray *all = NULL;
    if (cut.rows->len <= MAX_ERRORS && cut_by_time(&cut)) {
        joined(&cut, join_subjects);
        joined(&cut, join_repetitions);
        place_the_others(&cut);
        if (cut.n > 1 && cut.n <= MAX_EPISODES) {
            if (!narrowed)
                ct_narrow_begin(ev, NULL);
            all = judge_all(ev, kb, lang, &cut, error);
            if (all) {
                g_ptr_array_sort(all, gravest_first);
                share_layers(all);
            }
            sqlite3_exec(ct_evidence_db(ev),
                         "DELETE FROM temp.hide_event WHERE base IS NULL;"
                         "DELETE FROM temp.hide_finding WHERE base IS NULL",
                         NULL, NULL, NULL);
            if (!narrowed)
                ct_narrow_end(ev);
        }
    }
    g_array_unref(cut.rows);
    g_array_unref(cut.t0);
    g_array_unref(cut.t1);
    return all;
}

static gboolean narrows(const CtNarrow *n)
{
    return n && (n->since_ns != CT_TIME_UNKNOWN || n->until_ns != CT_TIME_UNKNOWN ||
                 n->pid != CT_NONE || n->boot || n->gpu || n->host);
}

GPtrArray *ct_diagnose_incidents(CtEvidence *ev, const CtKb *kb, const char *lang,
                                 const CtNarrow *narrow, GError **error)
{
    GError *failure = NULL;
    gboolean narrowed = narrows(narrow);
    if (narrowed)
        ct_narrow_begin(ev, narrow);
    GPtrArray *all = separate(ev, kb, lang, narrowed, &failure);
    if (failure) {
        g_propagate_error(error, failure);
        return NULL;
    }
    if (all) {
        const CtIncident *first = g_ptr_array_index(all, 0);
        ct_diagnosis_store(ev, first->diagnosis);
        return all;
    }
    CtDiagnosis *d = ct_diagnose(ev, kb, lang, error);
    if (!d)
        return NULL;
    all = g_ptr_array_new_with_free_func(ct_incident_free);
    g_ptr_array_add(all, incident_new(d));
    return all;
}
