/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/error.h"
#include "reason/diff-private.h"
#include "reason/version.h"

#define CITED_BONUS 20 /* a change that a failing check rests on */

static void row_free(gpointer data)
{
    CtDiffRow *r = data;
    char *const owned[] = {r->subject, r->key,          r->layer,       r->before,
                           r->after,   r->place_before, r->place_after, r->note};
    for (gsize i = 0; i < G_N_ELEMENTS(owned); i++)
        g_free(owned[i]);
    g_free(r);
}

static void verdict_free(gpointer data)
{
    CtDiffVerdict *v = data;
    g_ptr_array_unref(v->rows);
    g_free(v);
}

static CtDiff *diff_new(void)
{
    CtDiff *d = g_new0(CtDiff, 1);
    d->rows = g_ptr_array_new_with_free_func(row_free);
    d->verdicts = g_ptr_array_new_with_free_func(verdict_free);
    return d;
}

void ct_diff_free(CtDiff *d)
{
    if (!d)
        return;
    g_ptr_array_unref(d->verdicts);
    g_ptr_array_unref(d->rows);
    for (int i = 0; i < 2; i++) {
        g_clear_pointer(&d->checks[i], ct_check_free);
        g_clear_pointer(&d->diagnoses[i], ct_diagnosis_free);
    }
    g_free(d);
}

const char *ct_diff_state_name(CtDiffState state)
{
    static const char *const names[] = {"changed", "added", "removed", "unknown"};
    return names[state];
}

/* ---- facts ---- */

/* What only the patch level tells apart matters less. */
static int weigh(const CtFactKind *kind, const char *key, const char *before, const char *after)
{
    int apart;
    if (before && after && g_str_has_prefix(key, "version.") &&
        ct_version_compare(before, after, 2, &apart) && apart == 0)
        return kind->importance * 3 / 4;
    return kind->importance;
}

static CtDiffState state_of(const CtStateFact *a, const CtStateFact *b, const CtState *sa,
                            const CtState *sb)
{
    if ((a && a->trouble && !a->value) || (b && b->trouble && !b->value))
        return CT_DIFF_UNKNOWN;
    if (a && a->value && b && b->value)
        return CT_DIFF_CHANGED;
    if (a && a->value)
        return b || ct_state_looked(sb, sa, a) ? CT_DIFF_REMOVED : CT_DIFF_UNKNOWN;
    return a || ct_state_looked(sa, sb, b) ? CT_DIFF_ADDED : CT_DIFF_UNKNOWN;
}

static gboolean same(const CtStateFact *a, const CtStateFact *b)
{
    if (a && b)
        return ct_state_equal(a, b) || (!a->value && !b->value && !a->trouble == !b->trouble);
    /* Noted as absent in one, not noted in the other: nothing differs that anybody saw. */
    const CtStateFact *one = a ? a : b;
    return !one->value && !one->trouble;
}

static void compare(CtDiff *d, const CtStateFact *a, const CtStateFact *b, CtState *const *s,
                    const CtFactKinds *kinds, gboolean with_volatile)
{
    const CtStateFact *one = a ? a : b;
    CtFactKind kind = ct_fact_kind(kinds, one->key);
    if (same(a, b)) {
        d->same += ct_state_equal(a, b);
        return;
    }
    if (kind.volatility == 1 && !with_volatile) {
        d->hidden += a && b && a->value && b->value;
        return;
    }
    CtDiffRow *r = g_new0(CtDiffRow, 1);
    const char *trouble = a && a->trouble && !a->value ? a->trouble
                          : b && !b->value             ? b->trouble
                                                       : NULL;
    *r = (CtDiffRow){.state = state_of(a, b, s[0], s[1]),
                     .subject = g_strdup(one->subject),
                     .key = g_strdup(one->key),
                     .layer = g_strdup(kind.layer),
                     .before = g_strdup(a ? a->value : NULL),
                     .after = g_strdup(b ? b->value : NULL),
                     .place_before = g_strdup(a ? a->place : NULL),
                     .place_after = g_strdup(b ? b->place : NULL),
                     .note = g_strdup(trouble),
                     .identity = kind.volatility == 2,
                     .importance = weigh(&kind, one->key, a ? a->value : NULL,
                                         b ? b->value : NULL)};
    /* What nobody looked at is no drift. */
    d->unknown += r->state == CT_DIFF_UNKNOWN;
    if (r->state == CT_DIFF_UNKNOWN)
        r->importance = MIN(r->importance, CT_DIFF_MATTERS - 1);
    g_ptr_array_add(d->rows, r);
}

static void compare_all(CtDiff *d, CtState *const *s, const CtFactKinds *kinds,
                        gboolean with_volatile)
{
    GHashTableIter it;
    gpointer index, fact;
    g_hash_table_iter_init(&it, s[0]->facts);
    while (g_hash_table_iter_next(&it, &index, &fact))
        compare(d, fact, g_hash_table_lookup(s[1]->facts, index), s, kinds, with_volatile);
    g_hash_table_iter_init(&it, s[1]->facts);
    while (g_hash_table_iter_next(&it, &index, &fact))
        if (!g_hash_table_contains(s[0]->facts, index))
            compare(d, NULL, fact, s, kinds, with_volatile);
}

/* ---- what the checklist says of it ---- */

static const CtCheckLine *line_of(const CtCheckList *list, const char *id)
{
    for (guint i = 0; i < list->lines->len; i++) {
        const CtCheckLine *l = g_ptr_array_index(list->lines, i);
        if (strcmp(l->id, id) == 0)
            return l;
    }
    return NULL;
}

static char *key_of_fact(CtEvidence *ev, gint64 id)
{
    sqlite3_stmt *st = NULL;
    char *key = NULL;
    sqlite3_prepare_v2(ct_evidence_db(ev), "SELECT key FROM main.fact WHERE id = ?", -1, &st, NULL);
    sqlite3_bind_int64(st, 1, id);
    if (sqlite3_step(st) == SQLITE_ROW)
        key = g_strdup((const char *)sqlite3_column_text(st, 0));
    sqlite3_finalize(st);
    return key;
}

static void cite_changes(CtDiff *d, CtDiffVerdict *v, CtEvidence *now)
{
    for (guint i = 0; v->now->evidence && i < v->now->evidence->len; i++) {
        const CtCitation *c = g_ptr_array_index(v->now->evidence, i);
        g_autofree char *key = g_strcmp0(c->tab, "fact") == 0 ? key_of_fact(now, c->row) : NULL;
        for (guint k = 0; key && k < d->rows->len; k++) {
            CtDiffRow *r = g_ptr_array_index(d->rows, k);
            if (strcmp(r->key, key) != 0 || g_ptr_array_find(v->rows, r, NULL))
                continue;
            g_ptr_array_add(v->rows, r);
            if (v->now->state == CT_CHECK_FAIL && r->state != CT_DIFF_UNKNOWN)
                r->importance = MIN(100, r->importance + CITED_BONUS);
        }
    }
}

static gboolean is_bad(CtCheckState state)
{
    return state == CT_CHECK_FAIL || state == CT_CHECK_WARN;
}

static void judge_line(CtDiff *d, const CtCheckLine *now, CtEvidence *ev)
{
    const CtCheckLine *had = line_of(d->checks[0], now->id);
    CtCheckState before = had ? had->state : CT_CHECK_UNKNOWN;
    gboolean worse = is_bad(now->state) &&
                     (before != now->state && before != CT_CHECK_FAIL);
    /* The same line for another reason is news too. */
    if (is_bad(now->state) && before == now->state &&
        (g_strcmp0(had->cause, now->cause) != 0))
        worse = TRUE;
    gboolean better = is_bad(before) && now->state == CT_CHECK_PASS;
    if (!worse && !better)
        return;
    CtDiffVerdict *v = g_new0(CtDiffVerdict, 1);
    *v = (CtDiffVerdict){.now = now, .before = before, .better = better,
                         .rows = g_ptr_array_new()};
    cite_changes(d, v, ev);
    g_ptr_array_add(d->verdicts, v);
}

static int verdict_order(gconstpointer a, gconstpointer b)
{
    const CtDiffVerdict *x = *(CtDiffVerdict *const *)a, *y = *(CtDiffVerdict *const *)b;
    int rx = x->better ? 2 : x->now->state == CT_CHECK_FAIL ? 0 : 1;
    int ry = y->better ? 2 : y->now->state == CT_CHECK_FAIL ? 0 : 1;
    return rx - ry;
}

static gboolean judge(CtDiff *d, CtEvidence *const *ev, const CtKb *kb, const char *lang,
                      GError **error)
{
    for (int i = 0; i < 2; i++) {
        d->diagnoses[i] = ct_diagnose(ev[i], kb, lang, error);
        if (!d->diagnoses[i])
            return FALSE;
        d->checks[i] = ct_check(ev[i], kb, d->diagnoses[i], lang, error);
        if (!d->checks[i])
            return FALSE;
    }
    for (guint i = 0; i < d->checks[1]->lines->len; i++)
        judge_line(d, g_ptr_array_index(d->checks[1]->lines, i), ev[1]);
    g_ptr_array_sort(d->verdicts, verdict_order);
    return TRUE;
}

static int row_order(gconstpointer a, gconstpointer b)
{
    const CtDiffRow *x = *(CtDiffRow *const *)a, *y = *(CtDiffRow *const *)b;
    if (x->importance != y->importance)
        return y->importance - x->importance;
    int by_key = strcmp(x->key, y->key);
    return by_key ? by_key : strcmp(x->subject, y->subject);
}

CtDiff *ct_diff(CtEvidence *before, CtEvidence *now, const CtKb *kb, gboolean with_volatile,
                const char *lang, GError **error)
{
    g_autoptr(CtDiff) d = diff_new();
    CtEvidence *const ev[] = {before, now};
    GHashTable *first = ct_state_names(before, NULL), *second = ct_state_names(now, first);
    CtState *const states[] = {ct_state_new(before, first), ct_state_new(now, second)};
    CtFactKinds *kinds = ct_fact_kinds_new(kb);
    compare_all(d, states, kinds, with_volatile);
    gboolean ok = judge(d, ev, kb, lang, error);
    g_ptr_array_sort(d->rows, row_order);
    /* Two logs without a fact are compared by what the checklist says of them. */
    d->nothing = !d->same && !d->hidden && d->unknown == d->rows->len &&
                 (!d->verdicts->len || !g_hash_table_size(states[0]->parsers) ||
                  !g_hash_table_size(states[1]->parsers));
    ct_fact_kinds_free(kinds);
    ct_state_free(states[0]);
    ct_state_free(states[1]);
    g_hash_table_unref(second);
    g_hash_table_unref(first);
    return ok ? g_steal_pointer(&d) : NULL;
}

void ct_diff_forgive(CtDiff *d, CtDiffSame same_name, gpointer user)
{
    for (guint i = d->rows->len; i-- > 0;) {
        CtDiffRow *r = g_ptr_array_index(d->rows, i);
        if (!r->identity || !r->before || !r->after || !same_name(r->before, r->after, user))
            continue;
        for (guint k = 0; k < d->verdicts->len; k++)
            g_ptr_array_remove(((CtDiffVerdict *)g_ptr_array_index(d->verdicts, k))->rows, r);
        g_ptr_array_remove_index(d->rows, i);
        d->same++;
        d->nothing = FALSE;
    }
}

gboolean ct_diff_matters(const CtDiff *d)
{
    if (d->nothing)
        return FALSE;
    for (guint i = 0; i < d->rows->len; i++) {
        const CtDiffRow *r = g_ptr_array_index(d->rows, i);
        if (r->importance >= CT_DIFF_MATTERS && r->state != CT_DIFF_UNKNOWN)
            return TRUE;
    }
    for (guint i = 0; i < d->verdicts->len; i++)
        if (!((CtDiffVerdict *)g_ptr_array_index(d->verdicts, i))->better)
            return TRUE;
    return FALSE;
}

/* ---- a release ---- */

/* Which fact tells each part of a release; columns of the compatibility tables. */
/* `parts`: so many leading numbers are the release's; what follows differs between packages of one
 * release (a meta package of CUDA 12.6.68 calls itself 12.6.11). */
#define JETSON(key, column, parts)                                                                 \
    "SELECT '" key "', " column ", " parts " FROM compat_jetson_release WHERE l4t = ?1"
static const char jetson_sql[] = JETSON("version.l4t", "l4t", "3") " UNION " JETSON(
    "version.jetpack", "jetpack", "3") " UNION " JETSON("version.kernel", "kernel", "3") " UNION "
    JETSON("version.os-id", "ubuntu", "2") " UNION " JETSON("version.cuda.toolkit", "cuda", "2")
    " UNION " JETSON("version.cudnn", "cudnn", "3") " UNION " JETSON("version.tensorrt", "tensorrt",
    "3") " UNION " JETSON("version.vpi", "vpi", "3");
/* A toolkit has one row an update; its first asks for the least of a driver. */
#define FLOOR(key)                                                                                 \
    "SELECT * FROM (SELECT '" key "', '>=' || min_driver, 0 FROM compat_cuda_toolkit "             \
    "WHERE cuda = ?1 AND min_driver IS NOT NULL ORDER BY CAST(min_driver AS INTEGER), "            \
    "CAST(substr(min_driver, instr(min_driver, '.') + 1) AS INTEGER) LIMIT 1)"
static const char cuda_sql[] =
    "SELECT 'version.cuda.toolkit', ?1, 2 UNION " FLOOR("version.driver") " UNION " FLOOR(
        "version.driver.kernel");

static char *one_text(sqlite3 *db, const char *sql, const char *arg)
{
    sqlite3_stmt *st = NULL;
    char *out = NULL;
    sqlite3_prepare_v2(db, sql, -1, &st, NULL);
    sqlite3_bind_text(st, 1, arg, -1, SQLITE_TRANSIENT);
    if (sqlite3_step(st) == SQLITE_ROW)
        out = g_strdup((const char *)sqlite3_column_text(st, 0));
    sqlite3_finalize(st);
    return out;
}

/* "jp5.1.2", "JetPack 5.1.2", "l4t-r36.4.7", "R36.4.7", "cuda12.4": the statement and its key. */
static const char *find_release(sqlite3 *db, const char *release, char **out_key)
{
    static const struct {
        const char *prefix, *find, *sql;
    } forms[] = {
        {"jetpack", "SELECT l4t FROM compat_jetson_release WHERE jetpack = ?1 OR jetpack = ?1 || '.0' "
                    "ORDER BY date DESC, l4t DESC", jetson_sql},
        {"jp", "SELECT l4t FROM compat_jetson_release WHERE jetpack = ?1 OR jetpack = ?1 || '.0' "
               "ORDER BY date DESC, l4t DESC", jetson_sql},
        {"l4t", "SELECT l4t FROM compat_jetson_release WHERE l4t = ?1 OR l4t = ?1 || '.0'",
         jetson_sql},
        {"r", "SELECT l4t FROM compat_jetson_release WHERE l4t = ?1 OR l4t = ?1 || '.0'",
         jetson_sql},
        {"cuda", "SELECT cuda FROM compat_cuda_toolkit WHERE cuda = ?1", cuda_sql},
    };
    g_autofree char *low = g_strstrip(g_ascii_strdown(release, -1));
    for (gsize i = 0; i < G_N_ELEMENTS(forms); i++) {
        if (!g_str_has_prefix(low, forms[i].prefix))
            continue;
        const char *number = low + strlen(forms[i].prefix);
        number += strspn(number, " -_r");
        if (!g_ascii_isdigit(*number))
            continue;
        *out_key = one_text(db, forms[i].find, number);
        if (*out_key)
            return forms[i].sql;
    }
    return NULL;
}

/* How many numbers a version is written with: "8.6.0.166-1+cuda11.4" has four. */
static guint numbers_in(const char *version)
{
    guint n = 0;
    const char *p = version + strcspn(version, "0123456789");
    while (g_ascii_isdigit(*p)) {
        n++;
        p += strspn(p, "0123456789");
        if (*p != '.')
            break;
        p++;
    }
    return n;
}

/* Whether one of the values fits: ">=525.60", or as many leading numbers as both write. */
static gboolean fits(const char *wanted, const char *value, guint parts)
{
    g_auto(GStrv) list = g_strsplit(value, " | ", -1);
    for (char **p = list; *p; p++) {
        gboolean in = FALSE;
        int apart = 1;
        guint n = MIN(numbers_in(*p), MIN(parts, numbers_in(wanted)));
        if (!parts ? ct_version_in(*p, wanted, &in) && in
                   : n && ct_version_compare(*p, wanted, n, &apart) && apart == 0)
            return TRUE;
    }
    return FALSE;
}

static void compare_part(CtDiff *d, const CtState *s, const CtFactKinds *kinds, const char *key,
                         const char *wanted, guint parts)
{
    GHashTableIter it;
    gpointer fact;
    const CtStateFact *found = NULL;
    gboolean good = FALSE;
    g_hash_table_iter_init(&it, s->facts);
    while (!good && g_hash_table_iter_next(&it, NULL, &fact)) {
        const CtStateFact *f = fact;
        if (strcmp(f->key, key) != 0 || !f->value)
            continue;
        if (!found || strcmp(f->subject, found->subject) < 0)
            found = f;
        good = fits(wanted, f->value, parts);
    }
    if (good) {
        d->same++;
        return;
    }
    CtFactKind kind = ct_fact_kind(kinds, key);
    CtDiffRow *r = g_new0(CtDiffRow, 1);
    d->unknown += !found;
    *r = (CtDiffRow){.state = found ? CT_DIFF_CHANGED : CT_DIFF_UNKNOWN,
                     .subject = g_strdup(found ? found->subject : ""),
                     .key = g_strdup(key),
                     .layer = g_strdup(kind.layer),
                     .before = g_strdup(wanted),
                     .after = g_strdup(found ? found->value : NULL),
                     .place_after = g_strdup(found ? found->place : NULL),
                     .importance = found ? weigh(&kind, key, wanted, found->value)
                                         : CT_DIFF_MATTERS - 1};
    g_ptr_array_add(d->rows, r);
}

/* A machine that says what it is, and nothing of a Jetson. */
static gboolean is_no_jetson(const CtState *s)
{
    static const char *const keys[] = {"host.jetson", "host.chip", "version.l4t"};
    for (gsize i = 0; i < G_N_ELEMENTS(keys); i++)
        if (g_hash_table_contains(s->keys, keys[i]))
            return FALSE;
    return g_hash_table_contains(s->keys, "host.arch");
}

CtDiff *ct_diff_release(const char *release, CtEvidence *now, const CtKb *kb, GError **error)
{
    g_autofree char *key = NULL;
    const char *sql = find_release(ct_kb_db(kb), release, &key);
    if (!sql) {
        g_set_error(error, CT_ERROR, CT_ERROR_USAGE,
                    "%s: no such release is known; write jp6.2, l4t-r36.4.7 or cuda12.4", release);
        return NULL;
    }
    CtDiff *d = diff_new();
    CtState *state = ct_state_new(now, NULL);
    CtFactKinds *kinds = ct_fact_kinds_new(kb);
    sqlite3_stmt *st = NULL;
    sqlite3_prepare_v2(ct_kb_db(kb), sql, -1, &st, NULL);
    sqlite3_bind_text(st, 1, key, -1, SQLITE_TRANSIENT);
    d->foreign = sql == jetson_sql && is_no_jetson(state);
    while (!d->foreign && sqlite3_step(st) == SQLITE_ROW)
        if (sqlite3_column_type(st, 1) != SQLITE_NULL)
            compare_part(d, state, kinds, (const char *)sqlite3_column_text(st, 0),
                         (const char *)sqlite3_column_text(st, 1),
                         (guint)sqlite3_column_int(st, 2));
    sqlite3_finalize(st);
    g_ptr_array_sort(d->rows, row_order);
    d->nothing = !d->same && d->unknown == d->rows->len;
    ct_fact_kinds_free(kinds);
    ct_state_free(state);
    return d;
}
