/* SPDX-License-Identifier: Apache-2.0 */
/*
 * After the last source: years for stamps without one, and offsets between the clocks of
 * sections. Two sections are tied together by a line that both have: the kernel's report of an
 * Xid in dmesg (seconds since boot) and in syslog (wall time).
 */
#include "parse/frame/frame-private.h"

#include <string.h>

#define NS G_GINT64_CONSTANT(1000000000)
#define DAY_NS (86400 * NS)
#define QUARTER_NS (900 * NS)
#define ZONE_NS (14 * 3600 * NS)
#define AGREE_NS (2 * NS)
#define MAX_MARKS 20000u
#define MIN_MARK_TEXT 24u

/* A dated line of a section. */
typedef struct {
    guint section; /* index into done */
    gint64 t_ns;
} Mark;

static CtDoneSection *section_at(CtParse *parse, guint i)
{
    return &g_array_index(parse->done, CtDoneSection, i);
}

static gboolean is_wall(const CtDoneSection *s)
{
    return strcmp(s->clock, "wall") == 0 && s->t0_ns != CT_TIME_UNKNOWN;
}

static gboolean is_boot(const CtDoneSection *s)
{
    return strcmp(s->clock, "boot") == 0;
}

static void shift(CtParse *parse, CtDoneSection *s, gint64 add)
{
    if (add == 0)
        return;
    ct_evidence_shift_section(parse->ev, s->id, add);
    if (s->t0_ns != CT_TIME_UNKNOWN) {
        s->t0_ns += add;
        s->t1_ns += add;
    }
}

static gint64 distance(gint64 a0, gint64 a1, gint64 b0, gint64 b1)
{
    return a1 < b0 ? b0 - a1 : b1 < a0 ? a0 - b1 : 0;
}

/* ---- years ---- */

/* ns to add to a time of 1970 so that month and day stay and the year becomes `year`. */
static gint64 to_year(gint64 t0, int year)
{
    gint64 march = ct_stamp_civil_ns(1970, 3, 1, 0, 0, 0);
    return t0 < march ? ct_stamp_civil_ns(year, 1, 1, 0, 0, 0)
                      : ct_stamp_civil_ns(year, 3, 1, 0, 0, 0) - march;
}

/* The year that brings the section closest to the dated ones. */
static gboolean best_year(CtParse *parse, const CtDoneSection *s, gint64 *out_add)
{
    gint64 best = G_MAXINT64;
    for (guint i = 0; i < parse->done->len; i++) {
        const CtDoneSection *o = section_at(parse, i);
        if (!is_wall(o) || o->no_year || o == s)
            continue;
        int year = ct_stamp_year(o->t0_ns);
        for (int y = year - 1; y <= year + 1; y++) {
            gint64 add = to_year(s->t0_ns, y);
            gint64 d = distance(s->t0_ns + add, s->t1_ns + add, o->t0_ns, o->t1_ns);
            if (d < best) {
                best = d;
                *out_add = add;
            }
        }
    }
    return best != G_MAXINT64;
}

static void give_years(CtParse *parse)
{
    for (guint i = 0; i < parse->done->len; i++) {
        CtDoneSection *s = section_at(parse, i);
        gint64 add;
        if (!is_wall(s) || !s->no_year || !best_year(parse, s, &add))
            continue;
        shift(parse, s, add);
        s->year_added = TRUE;
        if (s->has_boot_to_wall)
            s->boot_to_wall_ns += add;
    }
    for (guint i = 0; i < parse->done->len; i++)
        section_at(parse, i)->no_year &= !section_at(parse, i)->year_added;
}

/* Stamps that give only hours and minutes get the day, where all the rest is of one day. */
static void give_days(CtParse *parse)
{
    gint64 day = CT_TIME_UNKNOWN;
    for (guint i = 0; i < parse->done->len; i++) {
        const CtDoneSection *s = section_at(parse, i);
        if (!is_wall(s) || s->no_year)
            continue;
        gint64 first = s->t0_ns / DAY_NS, last = s->t1_ns / DAY_NS;
        if (first != last || (day != CT_TIME_UNKNOWN && day != first))
            return;
        day = first;
    }
    if (day == CT_TIME_UNKNOWN)
        return;
    for (guint i = 0; i < parse->done->len; i++) {
        CtDoneSection *s = section_at(parse, i);
        if (!s->day_only || s->t0_ns == CT_TIME_UNKNOWN)
            continue;
        shift(parse, s, day * DAY_NS);
        s->clock = "wall";
        ct_evidence_set_clock(parse->ev, s->id, "wall", CT_NONE, 0.5);
    }
}

/* ---- lines that two sections share ---- */

static gboolean telling(const char *text)
{
    gsize len = text ? strlen(text) : 0;
    return len >= MIN_MARK_TEXT && strpbrk(text, "0123456789") != NULL;
}

/* text -> Marks; a text that one section has twice proves nothing and is struck out. */
static GHashTable *read_marks(CtParse *parse)
{
    GHashTable *marks =
        g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)g_array_unref);
    g_autoptr(GHashTable) index = g_hash_table_new(g_int64_hash, g_int64_equal);
    for (guint i = 0; i < parse->done->len; i++)
        g_hash_table_insert(index, &section_at(parse, i)->id, GUINT_TO_POINTER(i));
    sqlite3_stmt *st = NULL;
    if (sqlite3_prepare_v2(ct_evidence_db(parse->ev),
                           "SELECT section, t_ns, text FROM event WHERE t_ns NOT NULL AND "
                           "repeats = 1 AND kind <> 'clock-step' ORDER BY id LIMIT ?",
                           -1, &st, NULL) != SQLITE_OK)
        return marks;
    sqlite3_bind_int64(st, 1, MAX_MARKS);
    while (sqlite3_step(st) == SQLITE_ROW) {
        gint64 id = sqlite3_column_int64(st, 0);
        const char *text = (const char *)sqlite3_column_text(st, 2);
        gpointer at;
        if (!telling(text) || !g_hash_table_lookup_extended(index, &id, NULL, &at))
            continue;
        Mark m = {.section = GPOINTER_TO_UINT(at), .t_ns = sqlite3_column_int64(st, 1)};
        GArray *list = g_hash_table_lookup(marks, text);
        if (!list) {
            list = g_array_new(FALSE, FALSE, sizeof(Mark));
            g_hash_table_insert(marks, g_strdup(text), list);
        }
        gboolean twice = FALSE;
        for (guint k = 0; k < list->len; k++) {
            Mark *o = &g_array_index(list, Mark, k);
            twice |= o->section == m.section && o->t_ns != m.t_ns;
            if (twice && o->section == m.section)
                o->t_ns = CT_TIME_UNKNOWN;
        }
        if (!twice && list->len < 16)
            g_array_append_val(list, m);
    }
    sqlite3_finalize(st);
    return marks;
}

/* Votes for one difference between a section's clock and wall time. */
typedef struct {
    gint64 diff;
    guint votes;
} Vote;

static void vote(GArray *votes, gint64 diff)
{
    for (guint i = 0; i < votes->len; i++) {
        Vote *v = &g_array_index(votes, Vote, i);
        if (ABS(v->diff - diff) <= AGREE_NS) {
            v->votes++;
            return;
        }
    }
    if (votes->len < 64) {
        Vote v = {diff, 1};
        g_array_append_val(votes, v);
    }
}

static gboolean winner(const GArray *votes, gint64 *out_diff, guint *out_votes)
{
    guint all = 0, best = 0;
    for (guint i = 0; i < votes->len; i++) {
        const Vote *v = &g_array_index(votes, Vote, i);
        all += v->votes;
        if (v->votes > best) {
            best = v->votes;
            *out_diff = v->diff;
        }
    }
    *out_votes = best;
    return best > 0 && best * 2 > all;
}

static void collect_votes(CtParse *parse, GHashTable *marks, guint section, gboolean zoned_only,
                          GArray *votes)
{
    GHashTableIter it;
    gpointer list_p;
    g_hash_table_iter_init(&it, marks);
    while (g_hash_table_iter_next(&it, NULL, &list_p)) {
        const GArray *list = list_p;
        gint64 own = CT_TIME_UNKNOWN;
        for (guint i = 0; list->len > 1 && i < list->len; i++) {
            const Mark *m = &g_array_index(list, Mark, i);
            if (m->section == section)
                own = m->t_ns;
        }
        for (guint i = 0; own != CT_TIME_UNKNOWN && i < list->len; i++) {
            const Mark *m = &g_array_index(list, Mark, i);
            const CtDoneSection *o = section_at(parse, m->section);
            if (m->section == section || m->t_ns == CT_TIME_UNKNOWN || !is_wall(o) ||
                o->no_year || (zoned_only && !o->has_zone))
                continue;
            vote(votes, m->t_ns - own);
        }
    }
}

static void align_boot(CtParse *parse, GHashTable *marks, guint i)
{
    CtDoneSection *s = section_at(parse, i);
    gint64 offset = CT_NONE;
    guint votes = 0;
    double confidence = 0;
    g_autoptr(GArray) all = g_array_new(FALSE, FALSE, sizeof(Vote));
    collect_votes(parse, marks, i, FALSE, all);
    if (winner(all, &offset, &votes))
        confidence = votes > 1 ? 0.9 : 0.7;
    else if (s->has_boot_to_wall) {
        offset = s->boot_to_wall_ns;
        confidence = 0.85;
    } else {
        offset = CT_NONE;
    }
    ct_evidence_set_clock(parse->ev, s->id, "boot", offset, confidence);
}

/* A log in local time beside one with zones: the same line in both tells the zone. */
static void align_zone(CtParse *parse, GHashTable *marks, guint i)
{
    CtDoneSection *s = section_at(parse, i);
    gint64 diff = 0;
    guint votes;
    if (s->has_zone) {
        ct_evidence_set_clock(parse->ev, s->id, "wall", CT_NONE, 1.0);
        return;
    }
    g_autoptr(GArray) all = g_array_new(FALSE, FALSE, sizeof(Vote));
    collect_votes(parse, marks, i, TRUE, all);
    gint64 quarter = 0;
    if (winner(all, &diff, &votes)) {
        quarter = (diff + (diff < 0 ? -1 : 1) * QUARTER_NS / 2) / QUARTER_NS * QUARTER_NS;
        if (ABS(diff - quarter) > AGREE_NS || ABS(quarter) > ZONE_NS)
            quarter = 0;
    }
    ct_evidence_set_clock(parse->ev, s->id, "wall", quarter ? quarter : CT_NONE,
                          s->no_year ? 0.3 : quarter ? 0.9 : 0.8);
}

void ct_clock_align(CtParse *parse)
{
    guint boot = 0, unzoned = 0, wall = 0;
    give_years(parse);
    give_days(parse);
    for (guint i = 0; i < parse->done->len; i++) {
        const CtDoneSection *s = section_at(parse, i);
        boot += is_boot(s);
        wall += is_wall(s);
        unzoned += is_wall(s) && !s->has_zone;
    }
    g_autoptr(GHashTable) marks =
        (boot && wall) || (unzoned && wall > unzoned)
            ? read_marks(parse)
            : g_hash_table_new_full(g_str_hash, g_str_equal, g_free,
                                    (GDestroyNotify)g_array_unref);
    for (guint i = 0; i < parse->done->len; i++) {
        const CtDoneSection *s = section_at(parse, i);
        if (is_boot(s))
            align_boot(parse, marks, i);
        else if (is_wall(s))
            align_zone(parse, marks, i);
    }
    g_array_set_size(parse->done, 0);
}
