/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sample(series, t_ns, value, line)` over the column arrays of the store, so that rules and
 * queries can read samples without a row being written for each. Eponymous, read-only; a
 * constraint on `series` is pushed down.
 */
#include "evidence/evidence-private.h"

enum { COL_SERIES, COL_T_NS, COL_VALUE, COL_LINE };

typedef struct {
    sqlite3_vtab base;
    CtEvidence *ev;
} Table;

typedef struct {
    sqlite3_vtab_cursor base;
    guint series;    /* index, = len at the end */
    guint end;       /* first index not to visit */
    guint sample;
} Cursor;

static int connect_table(sqlite3 *db, void *aux, int argc, const char *const *argv,
                         sqlite3_vtab **out, char **err)
{
    (void)argc, (void)argv, (void)err;
    int rc = sqlite3_declare_vtab(
        db, "CREATE TABLE x(series INTEGER, t_ns INTEGER, value REAL, line INTEGER)");
    if (rc != SQLITE_OK)
        return rc;
    Table *t = g_new0(Table, 1);
    t->ev = aux;
    *out = &t->base;
    return SQLITE_OK;
}

static int disconnect_table(sqlite3_vtab *vtab)
{
    g_free(vtab);
    return SQLITE_OK;
}

static int best_index(sqlite3_vtab *vtab, sqlite3_index_info *info)
{
    (void)vtab;
    info->estimatedCost = 1e6;
    for (int i = 0; i < info->nConstraint; i++) {
        if (!info->aConstraint[i].usable || info->aConstraint[i].iColumn != COL_SERIES ||
            info->aConstraint[i].op != SQLITE_INDEX_CONSTRAINT_EQ)
            continue;
        info->aConstraintUsage[i].argvIndex = 1;
        info->idxNum = 1;
        info->estimatedCost = 1e3;
        break;
    }
    return SQLITE_OK;
}

static int open_cursor(sqlite3_vtab *vtab, sqlite3_vtab_cursor **out)
{
    (void)vtab;
    Cursor *c = g_new0(Cursor, 1);
    *out = &c->base;
    return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *cursor)
{
    g_free(cursor);
    return SQLITE_OK;
}

static const CtSeries *series_of(const Cursor *c)
{
    return g_ptr_array_index(((Table *)c->base.pVtab)->ev->series, c->series);
}

static void skip_empty(Cursor *c)
{
    while (c->series < c->end && c->sample >= series_of(c)->value->len) {
        c->series++;
        c->sample = 0;
    }
}

static int filter(sqlite3_vtab_cursor *base, int idx, const char *idx_str, int argc,
                  sqlite3_value **argv)
{
    (void)idx_str, (void)argc;
    Cursor *c = (Cursor *)base;
    const GPtrArray *all = ((Table *)base->pVtab)->ev->series;
    c->series = 0;
    c->end = all->len;
    c->sample = 0;
    if (idx == 1) {
        gint64 want = sqlite3_value_int64(argv[0]);
        c->series = c->end;
        for (guint i = 0; i < all->len; i++)
            if (((const CtSeries *)g_ptr_array_index(all, i))->id == want) {
                c->series = i;
                c->end = i + 1;
                break;
            }
    }
    skip_empty(c);
    return SQLITE_OK;
}

static int next(sqlite3_vtab_cursor *base)
{
    Cursor *c = (Cursor *)base;
    c->sample++;
    skip_empty(c);
    return SQLITE_OK;
}

static int at_end(sqlite3_vtab_cursor *base)
{
    const Cursor *c = (const Cursor *)base;
    return c->series >= c->end;
}

static int column(sqlite3_vtab_cursor *base, sqlite3_context *ctx, int which)
{
    const Cursor *c = (const Cursor *)base;
    const CtSeries *s = series_of(c);
    gint64 t = g_array_index(s->t_ns, gint64, c->sample);
    switch (which) {
    case COL_SERIES:
        sqlite3_result_int64(ctx, s->id);
        break;
    case COL_T_NS:
        if (t == CT_TIME_UNKNOWN)
            sqlite3_result_null(ctx);
        else
            sqlite3_result_int64(ctx, t);
        break;
    case COL_VALUE:
        sqlite3_result_double(ctx, g_array_index(s->value, double, c->sample));
        break;
    case COL_LINE:
        sqlite3_result_int64(ctx, g_array_index(s->line, guint, c->sample));
        break;
    default:
        break;
    }
    return SQLITE_OK;
}

static int row_id(sqlite3_vtab_cursor *base, sqlite3_int64 *out)
{
    const Cursor *c = (const Cursor *)base;
    *out = ((gint64)c->series << 40) | c->sample;
    return SQLITE_OK;
}

static const sqlite3_module module = {
    .iVersion = 1,
    .xConnect = connect_table,
    .xBestIndex = best_index,
    .xDisconnect = disconnect_table,
    .xOpen = open_cursor,
    .xClose = close_cursor,
    .xFilter = filter,
    .xNext = next,
    .xEof = at_end,
    .xColumn = column,
    .xRowid = row_id,
};

int ct_sample_vtab_register(CtEvidence *ev)
{
    return sqlite3_create_module(ev->db, "sample", &module, ev);
}
