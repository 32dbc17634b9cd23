/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/clock.h"

#include <math.h>
#include <stdlib.h>

#include "analyze/stats.h"

gboolean ct_section_wall_offset(sqlite3 *db, gint64 section, gint64 *out_offset_ns)
{
    sqlite3_stmt *st = NULL;
    gboolean known = FALSE;
    if (sqlite3_prepare_v2(db, "SELECT clock, clock_offset_ns FROM section WHERE id = ?", -1, &st,
                           NULL) != SQLITE_OK)
        return FALSE;
    sqlite3_bind_int64(st, 1, section);
    if (sqlite3_step(st) == SQLITE_ROW) {
        gboolean wall = g_strcmp0((const char *)sqlite3_column_text(st, 0), "wall") == 0;
        known = wall || sqlite3_column_type(st, 1) != SQLITE_NULL;
        *out_offset_ns = sqlite3_column_int64(st, 1);
    }
    sqlite3_finalize(st);
    return known;
}

typedef struct {
    double t, x;
    guint line;
    gsize order;
} Point;

static int by_time(const void *a, const void *b)
{
    const Point *p = a, *q = b;
    if (p->t != q->t)
        return (p->t > q->t) - (p->t < q->t);
    return (p->order > q->order) - (p->order < q->order);
}

static gboolean has_times(const CtSeriesView *v)
{
    gsize known = 0;
    gint64 first = CT_TIME_UNKNOWN;
    gboolean moves = FALSE;
    for (gsize i = 0; i < v->len; i++) {
        if (v->t_ns[i] == CT_TIME_UNKNOWN)
            continue;
        known++;
        if (first == CT_TIME_UNKNOWN)
            first = v->t_ns[i];
        moves |= v->t_ns[i] != first;
    }
    return moves && known * 10 >= v->len * 9;
}

void ct_columns_read(CtEvidence *ev, guint index, CtColumns *out)
{
    *out = (CtColumns){.view = ct_evidence_series_at(ev, index)};
    const CtSeriesView *v = &out->view;
    gint64 offset = 0;
    out->timed = has_times(v);
    out->wall = out->timed &&
                ct_section_wall_offset(ct_evidence_db(ev), v->section, &offset);

    g_autofree Point *points = g_new(Point, v->len + 1);
    gsize n = 0;
    for (gsize i = 0; i < v->len; i++) {
        if (out->timed && v->t_ns[i] == CT_TIME_UNKNOWN)
            continue;
        double t = out->timed ? (double)(v->t_ns[i] + offset) / 1e9 : (double)i;
        points[n] = (Point){t, v->value[i], v->line[i], n};
        n++;
    }
    gsize ordered = 1;
    while (ordered < n && points[ordered].t >= points[ordered - 1].t)
        ordered++;
    if (ordered < n)
        qsort(points, n, sizeof *points, by_time);

    out->n = n;
    out->t = g_new(double, n + 1);
    out->x = g_new(double, n + 1);
    out->line = g_new(guint, n + 1);
    for (gsize i = 0; i < n; i++) {
        out->t[i] = points[i].t;
        out->x[i] = points[i].x;
        out->line[i] = points[i].line;
    }
}

void ct_columns_clear(CtColumns *c)
{
    g_clear_pointer(&c->t, g_free);
    g_clear_pointer(&c->x, g_free);
    g_clear_pointer(&c->line, g_free);
    c->n = 0;
}

double ct_columns_interval(const CtColumns *c)
{
    if (!c->timed || c->n < 2)
        return 0;
    g_autofree double *gaps = g_new(double, c->n - 1);
    for (gsize i = 1; i < c->n; i++)
        gaps[i - 1] = c->t[i] - c->t[i - 1];
    return ct_median(gaps, c->n - 1);
}

char *ct_human_bytes(double bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double v = fabs(bytes);
    guint u = 0;
    while (v >= 1024 && u + 1 < G_N_ELEMENTS(units)) {
        v /= 1024;
        u++;
    }
    return g_strdup_printf("%s%.*f %s", bytes < 0 ? "-" : "", v < 10 && u > 0 ? 1 : 0, v,
                           units[u]);
}

char *ct_human_ns(double ns)
{
    double v = fabs(ns);
    const char *sign = ns < 0 ? "-" : "";
    if (v < 1e3)
        return g_strdup_printf("%s%.0f ns", sign, v);
    if (v < 1e6)
        return g_strdup_printf("%s%.3g us", sign, v / 1e3);
    if (v < 1e9)
        return g_strdup_printf("%s%.3g ms", sign, v / 1e6);
    if (v < 120e9)
        return g_strdup_printf("%s%.3g s", sign, v / 1e9);
    if (v < 7200e9)
        return g_strdup_printf("%s%.0f min", sign, v / 60e9);
    return g_strdup_printf("%s%.3g h", sign, v / 3600e9);
}
