/* SPDX-License-Identifier: Apache-2.0 */
/* From rules that hold to decibans, and from decibans to probabilities. */
#include <math.h>
#include <string.h>

#include "reason/reason-private.h"

#define QUARTER 0.25
#define WEIGHS_SOMETHING 2.0 /* decibans that make a group count as independent evidence */

double ct_prior(const char *prior)
{
    if (g_strcmp0(prior, "common") == 0)
        return 0;
    return g_strcmp0(prior, "rare") == 0 ? -6 : -3;
}

/* ---- groups ---- */

/* Whether another rule of the group says the same more strongly (or as strongly, and first). */
static gboolean is_outdone(const GPtrArray *all, guint index)
{
    const CtCitation *c = g_ptr_array_index(all, index);
    for (guint i = 0; i < all->len; i++) {
        const CtCitation *o = g_ptr_array_index(all, i);
        if (i == index || o->weight == 0 || strcmp(o->group, c->group) != 0)
            continue;
        double more = fabs(o->weight) - fabs(c->weight);
        if (more > 0 || (more == 0 && i < index))
            return TRUE;
    }
    return FALSE;
}

static double count_groups(GPtrArray *citations)
{
    double sum = 0;
    for (guint i = 0; i < citations->len; i++) {
        CtCitation *c = g_ptr_array_index(citations, i);
        c->counted = c->weight == 0             ? 0
                     : is_outdone(citations, i) ? c->weight * QUARTER
                                                : c->weight;
        sum += c->counted;
    }
    return sum;
}

static double group_weight(const GPtrArray *citations, const char *group)
{
    double sum = 0;
    for (guint i = 0; i < citations->len; i++) {
        const CtCitation *c = g_ptr_array_index(citations, i);
        if (strcmp(c->group, group) == 0)
            sum += c->counted;
    }
    return sum;
}

/* Two groups rest on different sections when some line of one stands in another section than
 * some line of the other. */
static gboolean apart(const GPtrArray *citations)
{
    for (guint i = 0; i < citations->len; i++) {
        const CtCitation *a = g_ptr_array_index(citations, i);
        for (guint k = i + 1; k < citations->len; k++) {
            const CtCitation *b = g_ptr_array_index(citations, k);
            if (a->section && b->section && a->section != b->section &&
                strcmp(a->group, b->group) != 0 &&
                group_weight(citations, a->group) >= WEIGHS_SOMETHING &&
                group_weight(citations, b->group) >= WEIGHS_SOMETHING)
                return TRUE;
        }
    }
    return FALSE;
}

static gboolean same_place(const CtCitation *a, const CtCitation *b)
{
    return (a->row == b->row && a->tab == b->tab) ||
           (a->section && a->section == b->section && a->line && a->line == b->line);
}

/* Whether two groups that weigh something rest on different lines: what one line says twice is
 * still one observation. */
static gboolean two_observations(const GPtrArray *citations)
{
    for (guint i = 0; i < citations->len; i++) {
        const CtCitation *a = g_ptr_array_index(citations, i);
        if (group_weight(citations, a->group) < WEIGHS_SOMETHING)
            continue;
        for (guint k = i + 1; k < citations->len; k++) {
            const CtCitation *b = g_ptr_array_index(citations, k);
            if (strcmp(a->group, b->group) != 0 && !same_place(a, b) &&
                group_weight(citations, b->group) >= WEIGHS_SOMETHING)
                return TRUE;
        }
    }
    return FALSE;
}

void ct_score_groups(CtCandidate *c)
{
    GPtrArray *for_ = c->hypothesis->for_;
    c->positive = count_groups(for_);
    c->negative = count_groups(c->hypothesis->against);
    c->two_groups = two_observations(for_);
    c->two_sections = apart(for_);
}

/* ---- what was looked for and not found ---- */

static gboolean group_speaks(const CtCandidate *c, const char *group)
{
    const GPtrArray *for_ = c->hypothesis->for_;
    for (guint i = 0; i < for_->len; i++)
        if (strcmp(((CtCitation *)g_ptr_array_index(for_, i))->group, group) == 0)
            return TRUE;
    return FALSE;
}

static void add_missing(CtReason *r, CtHypothesis *h, const char *kind, CtCovered why)
{
    g_autofree char *text = ct_missing_sentence(r, kind, why);
    for (guint i = 0; i < h->missing->len; i++)
        if (strcmp(g_ptr_array_index(h->missing, i), text) == 0)
            return;
    g_ptr_array_add(h->missing, g_steal_pointer(&text));
}

static void count_absence(CtReason *r, CtCandidate *c, const CtAbsence *a, gint64 section)
{
    g_autofree char *what = ct_sentence(a->say, NULL, NULL);
    g_auto(GStrv) kinds = g_strsplit(a->needs, ",", -1);
    const char *where = ct_coverage_name(r, g_strstrip(kinds[0]));
    char *text = g_strdup_printf(
        ct_lang(r, "not found, although there is a %s: %s", "已有%s，但未发现：%s"), where, what);
    CtCitation *cite = ct_cite(r, "section", section, text);
    cite->rule = g_strdup(a->id);
    cite->group = g_strdup(a->group);
    cite->weight = a->weight;
    g_ptr_array_add(c->hypothesis->against, cite);
}

void ct_score_absences(CtReason *r, CtCandidate *c)
{
    g_autoptr(GArray) times = g_array_new(FALSE, FALSE, sizeof(gint64));
    const GPtrArray *for_ = c->hypothesis->for_;
    for (guint i = 0; i < for_->len; i++) {
        const CtCitation *cite = g_ptr_array_index(for_, i);
        if (cite->t_ns != CT_TIME_UNKNOWN)
            g_array_append_val(times, cite->t_ns);
    }
    for (guint i = 0; i < c->absences->len; i++) {
        const CtAbsence *a = &g_array_index(c->absences, CtAbsence, i);
        /* The observation was made in another way: that this way shows nothing proves nothing. */
        if (group_speaks(c, a->group))
            continue;
        gint64 section = 0;
        g_autofree char *kind = NULL;
        CtCovered covered = ct_covered(r, a->needs, times, &section, &kind);
        if (covered == CT_COVERED)
            count_absence(r, c, a, section);
        else
            add_missing(r, c->hypothesis, kind, covered);
    }
}

/* ---- the first error ---- */

typedef struct {
    gint64 row, seq;
} FirstError;

/* section -> its first event that is an error. */
static GHashTable *first_errors(CtReason *r)
{
    GHashTable *all = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
    sqlite3_stmt *st = ct_prepare(r->db, "SELECT section, id, min(seq) FROM event "
                                         "WHERE severity IN ('error', 'fatal') GROUP BY section");
    while (sqlite3_step(st) == SQLITE_ROW) {
        gint64 *section = g_new(gint64, 1);
        FirstError *e = g_new(FirstError, 1);
        *section = sqlite3_column_int64(st, 0);
        *e = (FirstError){sqlite3_column_int64(st, 1), sqlite3_column_int64(st, 2)};
        g_hash_table_insert(all, section, e);
    }
    sqlite3_finalize(st);
    return all;
}

static gboolean cites_event(const CtCandidate *c, gint64 row)
{
    const GPtrArray *for_ = c->hypothesis->for_;
    for (guint i = 0; i < for_->len; i++) {
        const CtCitation *cite = g_ptr_array_index(for_, i);
        if (cite->row == row && strcmp(cite->tab, "event") == 0)
            return TRUE;
    }
    return FALSE;
}

/* Whether the first error is another cause's: one with real evidence, and not one that `c` itself
 * explains or that is listed beneath the same root. */
static gboolean belongs_to_another(CtReason *r, gint64 row, const CtCandidate *c)
{
    const char *mine = c->hypothesis->cause;
    for (guint i = 0; i < r->candidates->len; i++) {
        const CtCandidate *o = g_ptr_array_index(r->candidates, i);
        if (o != c && o->positive + o->negative >= CT_REAL_EVIDENCE && cites_event(o, row) &&
            g_strcmp0(o->hypothesis->explained_by, mine) != 0)
            return TRUE;
    }
    return FALSE;
}

/* A rule that counts events cites one of them; the first error may be another of the same kind. */
static gboolean cites_kind_of(CtReason *r, const CtCandidate *c, gint64 row)
{
    const GPtrArray *for_ = c->hypothesis->for_;
    for (guint i = 0; i < for_->len; i++) {
        const CtCitation *cite = g_ptr_array_index(for_, i);
        if (strcmp(cite->tab, "event") == 0 &&
            (cite->row == row || ct_same_kind(r, cite->row, row)))
            return TRUE;
    }
    return FALSE;
}

static const CtCitation *decisive(const CtCandidate *c)
{
    const CtCitation *best = NULL;
    const GPtrArray *for_ = c->hypothesis->for_;
    for (guint i = 0; i < for_->len; i++) {
        const CtCitation *cite = g_ptr_array_index(for_, i);
        if (!best || cite->counted > best->counted)
            best = cite;
    }
    return best;
}

/* A cause whose decisive line stands behind another cause's error in the same log is more likely
 * to be what followed from it. */
void ct_score_first_error(CtReason *r)
{
    g_autoptr(GHashTable) first = first_errors(r);
    for (guint i = 0; i < r->candidates->len; i++) {
        CtCandidate *c = g_ptr_array_index(r->candidates, i);
        const CtCitation *d = decisive(c);
        const FirstError *e =
            d && d->seq != G_MAXINT64 ? g_hash_table_lookup(first, &d->section) : NULL;
        if (!e || e->seq >= MIN(d->seq, c->first_seq) || c->explained_by >= 0 ||
            !belongs_to_another(r, e->row, c) || cites_kind_of(r, c, e->row))
            continue;
        CtCitation *cite = ct_cite(r, "event", e->row,
                                   g_strdup(ct_lang(r, "its lines come after this first error",
                                                    "其依据出现在这条首个错误之后")));
        cite->rule = g_strdup("built-in:first-error");
        cite->group = g_strdup("built-in:first-error");
        cite->weight = cite->counted = CT_AFTER_FIRST_ERROR;
        g_ptr_array_add(c->hypothesis->against, cite);
        c->negative += CT_AFTER_FIRST_ERROR;
    }
}

/* ---- what was overcome ---- */

/* Whether a run can go on in spite of such an obstacle and end well. A slow, wrong or racing
 * program ends well too, and a fault of the device is no obstacle that one works around. */
static gboolean can_be_overcome(const char *layer)
{
    static const char *const layers[] = {"memory",      "multi-gpu",   "container",
                                         "environment", "user-driver", "serving"};
    for (guint i = 0; i < G_N_ELEMENTS(layers); i++)
        if (g_strcmp0(layer, layers[i]) == 0)
            return TRUE;
    return FALSE;
}

/* The last event after `seq` of a section that says that the run ended well; 0 is none. */
static gint64 ended_well(sqlite3_stmt *st, const CtCitation *cite)
{
    gint64 row = 0;
    sqlite3_bind_int64(st, 1, cite->section);
    sqlite3_bind_int64(st, 2, cite->row);
    if (sqlite3_step(st) == SQLITE_ROW)
        row = sqlite3_column_int64(st, 0);
    sqlite3_reset(st);
    return row;
}

static void overcome(CtReason *r, CtCandidate *c, sqlite3_stmt *st)
{
    gint64 row = 0;
    const GPtrArray *for_ = c->hypothesis->for_;
    for (guint i = 0; i < for_->len; i++) {
        const CtCitation *cite = g_ptr_array_index(for_, i);
        if (cite->counted < WEIGHS_SOMETHING && i > 0)
            continue;
        row = strcmp(cite->tab, "event") == 0 ? ended_well(st, cite) : 0;
        if (!row)
            return;
    }
    if (!row)
        return;
    CtCitation *cite = ct_cite(r, "event", row,
                               g_strdup(ct_lang(r, "the run went on and ended well",
                                                "此后运行继续并正常结束")));
    cite->rule = g_strdup("built-in:overcome");
    cite->group = g_strdup("built-in:overcome");
    cite->weight = cite->counted = CT_OVERCOME;
    g_ptr_array_add(c->hypothesis->against, cite);
    c->negative += CT_OVERCOME;
}

/* An obstacle that the run itself left behind is not why anybody asks. */
void ct_score_overcome(CtReason *r)
{
    sqlite3_stmt *st = ct_prepare(
        r->db, "SELECT k.id FROM event k JOIN event e ON e.id = ?2 WHERE k.section = ?1 AND "
               "k.kind = 'run-ok' AND k.name = 'finished' AND k.seq > e.seq AND "
               "(k.t_ns IS NULL OR e.t_ns IS NULL OR k.t_ns >= e.t_ns) ORDER BY k.seq DESC LIMIT 1");
    for (guint i = 0; i < r->candidates->len; i++) {
        CtCandidate *c = g_ptr_array_index(r->candidates, i);
        if (can_be_overcome(c->hypothesis->layer))
            overcome(r, c, st);
    }
    sqlite3_finalize(st);
}

/* What counts most comes first; the further lines of a rule stay behind its sentence. */
static void strongest_first(GPtrArray *citations)
{
    g_autoptr(GPtrArray) sorted = g_ptr_array_new();
    while (citations->len) {
        guint best = 0;
        for (guint i = 1; i < citations->len; i++)
            if (fabs(((CtCitation *)g_ptr_array_index(citations, i))->counted) >
                fabs(((CtCitation *)g_ptr_array_index(citations, best))->counted))
                best = i;
        do
            g_ptr_array_add(sorted, g_ptr_array_steal_index(citations, best));
        while (best < citations->len &&
               ((CtCitation *)g_ptr_array_index(citations, best))->weight == 0);
    }
    for (guint i = 0; i < sorted->len; i++)
        g_ptr_array_add(citations, g_ptr_array_index(sorted, i));
}

void ct_score_total(CtCandidate *c)
{
    strongest_first(c->hypothesis->for_);
    strongest_first(c->hypothesis->against);
    c->hypothesis->score = c->hypothesis->prior + c->positive + c->negative;
}

/* ---- probabilities ---- */

double ct_cap_of(const CtCandidate *c)
{
    if (!c->two_groups)
        return CT_CAP_ONE_GROUP;
    return c->two_sections ? CT_CAP_ALWAYS : CT_CAP_ONE_SECTION;
}

void ct_probabilities(CtStake *stakes, guint n, double temperature)
{
    double best = stakes[0].score, sum = 0, freed = 0;
    for (guint i = 1; i < n; i++)
        best = MAX(best, stakes[i].score);
    for (guint i = 0; i < n; i++) {
        stakes[i].probability = pow(10, (stakes[i].score - best) / (10 * temperature));
        sum += stakes[i].probability;
    }
    for (guint i = 0; i < n; i++) {
        stakes[i].probability /= sum;
        if (i + 1 < n && stakes[i].probability > stakes[i].cap) {
            freed += stakes[i].probability - stakes[i].cap;
            stakes[i].probability = stakes[i].cap;
        }
    }
    stakes[n - 1].probability += freed;
}

double ct_temperature(const CtKb *kb)
{
    double t = CT_DEFAULT_TEMPERATURE;
    sqlite3_stmt *st = NULL;
    if (sqlite3_prepare_v2(ct_kb_db(kb), "SELECT value FROM meta WHERE key = 'temperature'", -1,
                           &st, NULL) == SQLITE_OK &&
        sqlite3_step(st) == SQLITE_ROW)
        t = sqlite3_column_double(st, 0);
    sqlite3_finalize(st);
    return t >= 0.1 && t <= 10 ? t : CT_DEFAULT_TEMPERATURE;
}
