/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What changes exactly when requests are slow: counters that step, levels that differ, events that
 * fall into the slow stretches and hardly ever outside. Each finding carries the chance of so many
 * coincidences by accident, so that a rule can ask for a small one.
 */
#include <math.h>
#include <string.h>

#include "analyze/analyzer.h"
#include "analyze/clock.h"
#include "analyze/stats.h"

#define MAX_WINDOWS 2000u
#define CHANCE 0.02

typedef struct {
    double t0, t1;
    gint64 span;
} Window;

typedef struct {
    GArray *w;         /* Window, merged, in order of time */
    double from, to;   /* what the latency series covers */
    double pad;        /* seconds: one step of the latency series */
    char *metric;
} Slow;

static int by_start(const void *a, const void *b)
{
    const Window *x = a, *y = b;
    return (x->t0 > y->t0) - (x->t0 < y->t0);
}

/* Stretches closer than `gap` belong to one episode. */
static void merge(GArray *w, double gap)
{
    g_array_sort(w, by_start);
    guint kept = 0;
    for (guint i = 0; i < w->len; i++) {
        Window *x = &g_array_index(w, Window, i);
        Window *last = kept ? &g_array_index(w, Window, kept - 1) : NULL;
        if (last && x->t0 - last->t1 <= gap)
            last->t1 = MAX(last->t1, x->t1);
        else
            g_array_index(w, Window, kept++) = *x;
    }
    g_array_set_size(w, kept);
}

static gboolean read_slow(CtEvidence *ev, const CtColumns *c, Slow *out)
{
    *out = (Slow){.w = g_array_new(FALSE, FALSE, sizeof(Window))};
    out->from = c->t[0];
    out->to = c->t[c->n - 1];
    out->pad = ct_columns_interval(c);
    out->metric = g_strdup(c->view.metric);
    sqlite3_stmt *st = NULL;
    if (sqlite3_prepare_v2(ct_evidence_db(ev),
                           "SELECT id, t0_ns, t1_ns FROM span WHERE track = 'slow' AND t0_ns NOT "
                           "NULL AND json_extract(detail, '$.series') = ? ORDER BY t0_ns",
                           -1, &st, NULL) != SQLITE_OK)
        return FALSE;
    sqlite3_bind_int64(st, 1, c->view.id);
    while (sqlite3_step(st) == SQLITE_ROW && out->w->len < MAX_WINDOWS) {
        Window w = {(double)sqlite3_column_int64(st, 1) / 1e9,
                    (double)sqlite3_column_int64(st, 2) / 1e9, sqlite3_column_int64(st, 0)};
        g_array_append_val(out->w, w);
    }
    sqlite3_finalize(st);
    merge(out->w, 10 * out->pad);
    return out->w->len > 0;
}

/* Windows are in order and apart from each other. */
static gint window_at(const Slow *s, double t, double before, double after)
{
    guint lo = 0, hi = s->w->len;
    while (lo < hi) {
        guint mid = lo + (hi - lo) / 2;
        if (g_array_index(s->w, Window, mid).t1 + after < t)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < s->w->len && t >= g_array_index(s->w, Window, lo).t0 - before ? (gint)lo : -1;
}

static double covered_share(const Slow *s, double before, double after)
{
    double sum = 0;
    for (guint i = 0; i < s->w->len; i++) {
        const Window *w = &g_array_index(s->w, Window, i);
        sum += MIN(w->t1 + after, s->to) - MAX(w->t0 - before, s->from);
    }
    return CLAMP(sum / MAX(s->to - s->from, 1e-9), 0, 1);
}

typedef struct {
    const char *other, *kind, *subject, *how;
    guint n, k, hit_windows;
    double chance, inside, outside, lag; /* seconds by which the other goes before */
} Match;

static gint64 report(CtEvidence *ev, const Slow *s, const Match *m)
{
    g_autofree char *text = NULL;
    if (g_str_equal(m->kind, "level"))
        text = g_strdup_printf("%s is %s while requests are slow (%.4g against %.4g)", m->other,
                               m->how, m->inside, m->outside);
    else
        text = g_strdup_printf("%u of %u %s of %s fall into the slow stretches, in %u of %u of them",
                               m->k, m->n, g_str_equal(m->kind, "counter") ? "steps" : "events",
                               m->other, m->hit_windows, s->w->len);
    g_autofree char *detail = g_strdup_printf(
        "{\"metric\":\"%s\",\"other\":\"%s\",\"other_kind\":\"%s\",\"how\":\"%s\",\"n\":%u,\"k\":%u,"
        "\"windows\":%u,\"hit_windows\":%u,\"inside\":%.6g,\"outside\":%.6g,\"lag_s\":%.3g}",
        s->metric, m->other, m->kind, m->how, m->n, m->k, s->w->len, m->hit_windows, m->inside,
        m->outside, m->lag);
    gint64 id = ct_evidence_add_finding(
        ev, &(CtFindingRow){
                .analyzer = "coincidence",
                .kind = "series-coincidence",
                .severity = CT_SEV_WARNING,
                .subject = m->subject ? m->subject : m->other,
                .t0_ns = (gint64)(g_array_index(s->w, Window, 0).t0 * 1e9),
                .t1_ns = (gint64)(g_array_index(s->w, Window, s->w->len - 1).t1 * 1e9),
                .number = m->chance,
                .confidence = 1 - m->chance,
                .text = text,
                .detail = detail,
            });
    for (guint i = 0; i < MIN(s->w->len, 2); i++)
        ct_evidence_cite(ev, id, "span", g_array_index(s->w, Window, i).span, 0);
    return id;
}

static void with_counter(CtEvidence *ev, const Slow *s, const CtColumns *c)
{
    double step = ct_columns_interval(c);
    /* A step is seen up to one interval of the counter later. */
    double before = s->pad, after = step + s->pad;
    double p = covered_share(s, before, after);
    Match m = {.other = c->view.metric, .kind = "counter", .subject = c->view.subject, .how = "rises"};
    g_autofree guint8 *hit = g_malloc0(s->w->len);
    GArray *lines = g_array_new(FALSE, FALSE, sizeof(guint));
    for (gsize i = 1; i < c->n; i++) {
        if (c->x[i] <= c->x[i - 1] || c->t[i] < s->from || c->t[i] > s->to + after)
            continue;
        m.n++;
        gint w = window_at(s, c->t[i], before, after);
        if (w < 0)
            continue;
        m.k++;
        if (!hit[w])
            g_array_append_val(lines, c->line[i]);
        hit[w] = 1;
    }
    for (guint i = 0; i < s->w->len; i++)
        m.hit_windows += hit[i];
    m.chance = ct_binomial_tail(m.n, m.k, p);
    if (m.k >= 2 && m.k * 10 >= m.n * 7 && m.chance < CHANCE) {
        gint64 id = report(ev, s, &m);
        for (guint i = 0; i < MIN(lines->len, 4); i++)
            ct_evidence_cite(ev, id, "series", c->view.id, g_array_index(lines, guint, i));
    }
    g_array_unref(lines);
}

typedef struct {
    double inside, outside, share; /* medians; part of the inside beyond the outside's range */
    gsize n_in, beyond, example;
} Level;

/* The series as it was `lag` seconds before: inside the slow stretches against outside. With
 * `turn` the stretches are moved round the span, for what accident would give. */
static gboolean level_at(const Slow *s, const CtColumns *c, double lag, double turn, gsize stride,
                         double *in, double *out, Level *l)
{
    double step = ct_columns_interval(c), span = s->to - s->from;
    gsize n_out = 0;
    *l = (Level){0};
    for (gsize i = 0; i < c->n; i += stride) {
        double t = c->t[i] + lag;
        if (t < s->from || t > s->to)
            continue;
        if (turn > 0)
            t = t + turn > s->to ? t + turn - span : t + turn;
        if (window_at(s, t, 0, MIN(step, 2 * s->pad)) >= 0) {
            in[l->n_in++] = c->x[i];
            l->example = i;
        } else {
            out[n_out++] = c->x[i];
        }
    }
    if (l->n_in < 3 || n_out < 5)
        return FALSE;
    double a = ct_median(in, l->n_in), b = ct_median(out, n_out), spread = ct_mad(out, n_out, b);
    double size = fabs(a - b) / (spread + 0.01 * fabs(b) + 1e-9);
    /* Share of inside samples beyond the outside's 5..95 % band, on the side of the shift. */
    double edge = ct_quantile(out, n_out, a > b ? 0.95 : 0.05);
    for (gsize i = 0; i < l->n_in; i++)
        l->beyond += a > b ? in[i] > edge : in[i] < edge;
    l->inside = a;
    l->outside = b;
    l->share = (double)l->beyond / (double)l->n_in;
    /* At the edges of short stretches a sample is of the quiet; many stretches make up for it. */
    double least = l->n_in >= 20 ? 0.6 : 0.7;
    return size >= 3 && l->share >= least && fabs(a - b) >= 0.05 * MAX(fabs(a), fabs(b));
}

#define TURNS 48

/* How often stretches of the same lengths, put elsewhere, fit as well: neighbouring samples are
 * not independent, so this is asked of the series itself. */
static double chance_of_level(const Slow *s, const CtColumns *c, double lag, double share,
                              double *in, double *out)
{
    guint as_good = 0;
    gsize stride = MAX(c->n / 20000, 1);
    double span = s->to - s->from, near = 2 * ct_columns_interval(c) + s->pad;
    for (guint k = 1; k < TURNS; k++) {
        Level l;
        double turn = span * k / TURNS;
        if (turn > near && span - turn > near && level_at(s, c, lag, turn, stride, in, out, &l))
            as_good += l.share >= share - 1e-9;
    }
    return (1.0 + as_good) / TURNS;
}

/* What goes before its effect or is reported after it: the lag that fits best, none where it does
 * nearly as well. */
static void with_level(CtEvidence *ev, const Slow *s, const CtColumns *c)
{
    double step = MAX(ct_columns_interval(c), s->pad), span = s->to - s->from;
    const double lags[] = {0, step, -step, 2 * step, -2 * step, 5, -5, 15, -15, 60};
    g_autofree double *out = g_new(double, c->n + 1);
    g_autofree double *in = g_new(double, c->n + 1);
    Level best = {0}, l;
    double lag = 0;
    guint tried = 0;
    for (guint i = 0; i < G_N_ELEMENTS(lags); i++) {
        if (fabs(lags[i]) > span / 8 || (i > 4 && fabs(lags[i]) < 3 * step))
            continue;
        tried++;
        if (level_at(s, c, lags[i], 0, 1, in, out, &l) && l.share > best.share + 0.1) {
            best = l;
            lag = lags[i];
        }
    }
    if (best.n_in == 0)
        return;
    guint episodes = MIN(s->w->len, (guint)best.n_in);
    double elsewhere = chance_of_level(s, c, lag, best.share, in, out);
    if (elsewhere > 0.15 && episodes > 1)
        return;
    Match m = {.other = c->view.metric, .kind = "level", .subject = c->view.subject,
               .how = best.inside > best.outside ? "higher" : "lower", .n = (guint)best.n_in,
               .k = (guint)best.beyond, .hit_windows = episodes, .inside = best.inside,
               .outside = best.outside, .lag = lag, .chance = pow(0.05, MAX(episodes, 1))};
    m.chance = MIN(m.chance * (lag != 0 ? tried : 1), 1);
    /* One episode proves little: what begins together may only begin together. */
    if (episodes < 2)
        m.chance = 0.05;
    gint64 id = report(ev, s, &m);
    ct_evidence_cite(ev, id, "series", c->view.id, c->line[best.example]);
}

static gboolean never_cause(const char *metric)
{
    return g_str_has_prefix(metric, "latency") || g_str_equal(metric, "throughput") ||
           g_str_equal(metric, "requests") || g_str_equal(metric, "errors");
}

static gboolean is_counter(const char *metric)
{
    return g_str_has_prefix(metric, "gpu.ecc.") || g_str_equal(metric, "gpu.pcie.replays");
}

static void with_series(CtEvidence *ev, const Slow *s)
{
    for (guint i = 0; i < ct_evidence_n_series(ev); i++) {
        CtSeriesView v = ct_evidence_series_at(ev, i);
        if (never_cause(v.metric) || v.len < 5)
            continue;
        CtColumns c = {0};
        ct_columns_read(ev, i, &c);
        if (c.wall && c.t[0] < s->to && c.t[c.n - 1] > s->from) {
            if (is_counter(v.metric))
                with_counter(ev, s, &c);
            else
                with_level(ev, s, &c);
        }
        ct_columns_clear(&c);
    }
}

typedef struct {
    Match m;
    GArray *rows; /* gint64 event ids of the first hits */
    guint64 hit;  /* stretches hit, the first 64 */
    char *kind;
} EventCount;

static void event_count_free(gpointer data)
{
    EventCount *e = data;
    g_array_unref(e->rows);
    g_free(e->kind);
    g_free(e);
}

static void with_events(CtEvidence *ev, const Slow *s)
{
    sqlite3_stmt *st = NULL;
    if (sqlite3_prepare_v2(ct_evidence_db(ev),
                           "SELECT e.id, e.kind, e.t_ns + coalesce(s.clock_offset_ns, 0) FROM "
                           "event e JOIN section s ON s.id = e.section WHERE e.t_ns NOT NULL AND "
                           "(s.clock = 'wall' OR s.clock_offset_ns NOT NULL) AND e.kind NOT IN "
                           "('slow-request', 'clock-step') ORDER BY e.t_ns LIMIT 200000",
                           -1, &st, NULL) != SQLITE_OK)
        return;
    double pad = MAX(5 * s->pad, 2);
    double p = covered_share(s, pad, pad);
    g_autoptr(GHashTable) kinds =
        g_hash_table_new_full(g_str_hash, g_str_equal, NULL, event_count_free);
    while (sqlite3_step(st) == SQLITE_ROW) {
        double t = (double)sqlite3_column_int64(st, 2) / 1e9;
        if (t < s->from || t > s->to)
            continue;
        const char *kind = (const char *)sqlite3_column_text(st, 1);
        EventCount *e = g_hash_table_lookup(kinds, kind);
        if (!e) {
            e = g_new0(EventCount, 1);
            e->kind = g_strdup(kind);
            e->rows = g_array_new(FALSE, FALSE, sizeof(gint64));
            g_hash_table_insert(kinds, e->kind, e);
        }
        e->m.n++;
        gint w = window_at(s, t, pad, pad);
        if (w < 0)
            continue;
        e->m.k++;
        e->hit |= G_GUINT64_CONSTANT(1) << MIN(w, 63);
        gint64 id = sqlite3_column_int64(st, 0);
        if (e->rows->len < 3)
            g_array_append_val(e->rows, id);
    }
    sqlite3_finalize(st);

    GHashTableIter it;
    gpointer value;
    g_hash_table_iter_init(&it, kinds);
    while (g_hash_table_iter_next(&it, NULL, &value)) {
        EventCount *e = value;
        e->m.other = e->kind;
        e->m.kind = "event";
        e->m.how = "happens";
        for (guint i = 0; i < 64; i++)
            e->m.hit_windows += (e->hit >> i) & 1;
        e->m.chance = ct_binomial_tail(e->m.n, e->m.k, p);
        if (e->m.k < 2 || e->m.k * 10 < e->m.n * 7 || e->m.chance > CHANCE)
            continue;
        gint64 id = report(ev, s, &e->m);
        for (guint i = 0; i < e->rows->len; i++)
            ct_evidence_cite(ev, id, "event", g_array_index(e->rows, gint64, i), 0);
    }
}

static void run(CtEvidence *ev)
{
    guint n = ct_evidence_n_series(ev);
    for (guint i = 0; i < n; i++) {
        CtSeriesView v = ct_evidence_series_at(ev, i);
        if (!g_str_equal(v.metric, "latency") && !g_str_has_prefix(v.metric, "latency."))
            continue;
        CtColumns c = {0};
        Slow s = {0};
        ct_columns_read(ev, i, &c);
        if (c.wall && c.n >= 20 && read_slow(ev, &c, &s)) {
            with_series(ev, &s);
            with_events(ev, &s);
        }
        g_clear_pointer(&s.w, g_array_unref);
        g_free(s.metric);
        ct_columns_clear(&c);
    }
}

const CtAnalyzer ct_analyzer_coincidence = {
    .id = "coincidence",
    .summary = "counters, levels and events that go with slow requests",
    .doc = "Needs wall clocks on both sides. The number of a finding is the chance of so many "
           "coincidences by accident.",
    .emits = "series-coincidence",
    .run = run,
};
