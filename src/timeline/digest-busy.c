/* SPDX-License-Identifier: Apache-2.0 */
/* When a device works: sorted stretches with what is busy inside, and sums over any window. */
#include <stdlib.h>
#include <string.h>

#include "timeline/digest-private.h"

void ct_busy_init(CtBusy *b)
{
    *b = (CtBusy){.blocks = g_array_new(FALSE, FALSE, sizeof(CtBlock)), .sorted = TRUE};
}

void ct_busy_clear(CtBusy *b)
{
    g_clear_pointer(&b->blocks, g_array_unref);
    g_clear_pointer(&b->sum, g_free);
}

static int by_start(const void *x, const void *y)
{
    const CtBlock *a = x, *b = y;
    return (a->t0 > b->t0) - (a->t0 < b->t0);
}

/* Puts blocks in order and unites those that touch. Two that overlap have their common part busy
 * once, as far as their own inside is dense. */
static void tidy(CtBusy *b)
{
    CtBlock *x = (CtBlock *)(void *)b->blocks->data;
    guint kept = 0;
    if (!b->sorted && b->blocks->len > 1)
        qsort(x, b->blocks->len, sizeof *x, by_start);
    for (guint i = 0; i < b->blocks->len; i++) {
        CtBlock *last = kept ? &x[kept - 1] : NULL;
        if (last && x[i].t0 - last->t1 <= b->merge) {
            gint64 common = MAX(MIN(last->t1, x[i].t1) - x[i].t0, 0);
            last->busy += MAX(x[i].busy - common, 0);
            last->t1 = MAX(last->t1, x[i].t1);
            last->busy = MIN(last->busy, last->t1 - last->t0);
        } else {
            x[kept++] = x[i];
        }
    }
    g_array_set_size(b->blocks, kept);
    b->sorted = TRUE;
}

void ct_busy_add(CtBusy *b, gint64 t0, gint64 t1)
{
    if (t1 <= t0)
        return;
    if (b->blocks->len) {
        CtBlock *last = &g_array_index(b->blocks, CtBlock, b->blocks->len - 1);
        if (t0 >= last->t0 && t0 - last->t1 <= b->merge) {
            gint64 from = MAX(t0, last->t1);
            last->busy += MAX(t1 - from, 0);
            last->t1 = MAX(last->t1, t1);
            return;
        }
        b->sorted &= t0 >= last->t0;
    }
    CtBlock x = {t0, t1, t1 - t0};
    g_array_append_val(b->blocks, x);
    while (b->blocks->len > CT_DG_MAX_BLOCKS) {
        b->merge = MAX(2 * b->merge, 500);
        tidy(b);
    }
}

void ct_busy_seal(CtBusy *b)
{
    if (!b->sorted)
        tidy(b);
    g_free(b->sum);
    b->sum = g_new(gint64, b->blocks->len + 1);
    b->sum[0] = 0;
    for (guint i = 0; i < b->blocks->len; i++)
        b->sum[i + 1] = b->sum[i] + g_array_index(b->blocks, CtBlock, i).busy;
}

void ct_busy_join(const CtBusy *a, const CtBusy *b, CtBusy *out)
{
    ct_busy_init(out);
    g_array_append_vals(out->blocks, a->blocks->data, a->blocks->len);
    g_array_append_vals(out->blocks, b->blocks->data, b->blocks->len);
    out->sorted = FALSE;
    tidy(out);
    ct_busy_seal(out);
}

/* How many blocks begin at t or before. */
static guint begun(const CtBusy *b, gint64 t)
{
    const CtBlock *x = (const CtBlock *)(const void *)b->blocks->data;
    guint lo = 0, hi = b->blocks->len;
    while (lo < hi) {
        guint mid = lo + (hi - lo) / 2;
        if (x[mid].t0 <= t)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* Busy time before t. */
static double before(const CtBusy *b, gint64 t)
{
    const CtBlock *x = (const CtBlock *)(const void *)b->blocks->data;
    guint lo = begun(b, t);
    if (lo == 0)
        return 0;
    const CtBlock *last = &x[lo - 1];
    if (t >= last->t1)
        return (double)b->sum[lo];
    return (double)b->sum[lo - 1] +
           (double)last->busy * (double)(t - last->t0) / (double)(last->t1 - last->t0);
}

double ct_busy_within(const CtBusy *b, gint64 t0, gint64 t1)
{
    return t1 > t0 && b->blocks->len ? MAX(before(b, t1) - before(b, t0), 0) : 0;
}

gint64 ct_busy_widest_gap(const CtBusy *b, gint64 t0, gint64 t1, guint64 *budget)
{
    const CtBlock *x = (const CtBlock *)(const void *)b->blocks->data;
    guint i = begun(b, t0);
    gint64 free_from = i ? MAX(x[i - 1].t1, t0) : t0, widest = 0;
    for (; i < b->blocks->len && x[i].t0 < t1; i++) {
        if (*budget == 0)
            return 0;
        --*budget;
        widest = MAX(widest, x[i].t0 - free_from);
        free_from = MAX(free_from, x[i].t1);
    }
    return MAX(widest, t1 - free_from);
}

gint64 ct_busy_idle_since(const CtBusy *b, gint64 t)
{
    const CtBlock *x = (const CtBlock *)(const void *)b->blocks->data;
    guint i = begun(b, t - 1);
    if (!i)
        return t;
    return MIN(x[i - 1].t1, t);
}
