/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which cause is taken for which. Causes of one topic are siblings: the kinds of running out of
 * memory, of versions that do not fit, of faults, of slow requests. The table says for each true
 * cause how often it leads and what leads in its place; where it always leads, which sibling comes
 * nearest.
 */
#include <string.h>

#include "reason/calibrate.h"

typedef struct {
    const char *topic, *want;
    guint n, right, unknown;
    GHashTable *instead; /* cause -> how often it led */
    const char *rival;
    double rival_probability; /* the highest */
} Row;

static void row_free(gpointer data)
{
    Row *row = data;
    g_hash_table_unref(row->instead);
    g_free(row);
}

static Row *row_of(GHashTable *rows, GPtrArray *all, const CtCalibrationCase *c)
{
    Row *row = g_hash_table_lookup(rows, c->want);
    if (row)
        return row;
    row = g_new0(Row, 1);
    row->topic = c->topic ? c->topic : "none";
    row->want = c->want;
    row->instead = g_hash_table_new(g_str_hash, g_str_equal);
    g_hash_table_insert(rows, c->want, row);
    g_ptr_array_add(all, row);
    return row;
}

static void count(Row *row, const CtCalibrationCase *c)
{
    row->n++;
    row->right += c->top1;
    if (!c->top1 && strcmp(c->got, "unknown") == 0) {
        row->unknown++;
    } else if (!c->top1) {
        guint n = GPOINTER_TO_UINT(g_hash_table_lookup(row->instead, c->got));
        g_hash_table_insert(row->instead, c->got, GUINT_TO_POINTER(n + 1));
    }
    if (c->rival && c->rival_probability > row->rival_probability) {
        row->rival = c->rival;
        row->rival_probability = c->rival_probability;
    }
}

static gint by_topic(gconstpointer a, gconstpointer b)
{
    const Row *x = *(Row *const *)a, *y = *(Row *const *)b;
    int order = strcmp(x->topic, y->topic);
    return order ? order : strcmp(x->want, y->want);
}

static void print_instead(GString *out, const Row *row)
{
    g_autoptr(GList) causes = g_list_sort(g_hash_table_get_keys(row->instead), (GCompareFunc)strcmp);
    for (const GList *l = causes; l; l = l->next)
        g_string_append_printf(out, " %s (%u)", (const char *)l->data,
                               GPOINTER_TO_UINT(g_hash_table_lookup(row->instead, l->data)));
    if (!causes && row->rival && row->rival_probability >= 0.05)
        g_string_append_printf(out, " nearest %s %.0f %%", row->rival,
                               row->rival_probability * 100);
}

static void print_topic(GString *out, const GPtrArray *all, guint from, guint to)
{
    guint n = 0, right = 0, unknown = 0;
    for (guint i = from; i < to; i++) {
        const Row *row = g_ptr_array_index(all, i);
        n += row->n;
        right += row->right;
        unknown += row->unknown;
    }
    const char *topic = ((Row *)g_ptr_array_index(all, from))->topic;
    g_string_append_printf(out, "%s%s: %u of %u lead, %u undecided, %u taken for another\n",
                           out->len ? "\n" : "", topic, right, n, unknown, n - right - unknown);
    for (guint i = from; i < to; i++) {
        const Row *row = g_ptr_array_index(all, i);
        g_string_append_printf(out, "  %-36s %2u of %2u  %2u ", row->want, row->right, row->n,
                               row->unknown);
        print_instead(out, row);
        g_string_append_c(out, '\n');
    }
}

char *ct_calibration_confusion(const CtCalibration *c)
{
    GString *out = g_string_new(NULL);
    g_autoptr(GHashTable) rows = g_hash_table_new(g_str_hash, g_str_equal);
    g_autoptr(GPtrArray) all = g_ptr_array_new_with_free_func(row_free);
    for (guint i = 0; i < c->cases->len; i++) {
        const CtCalibrationCase *x = g_ptr_array_index(c->cases, i);
        if (!x->error)
            count(row_of(rows, all, x), x);
    }
    g_ptr_array_sort(all, by_topic);
    for (guint from = 0, to; from < all->len; from = to) {
        for (to = from + 1; to < all->len; to++)
            if (strcmp(((Row *)all->pdata[from])->topic, ((Row *)all->pdata[to])->topic) != 0)
                break;
        print_topic(out, all, from, to);
    }
    g_string_append(out, "\ncolumns: true cause, how often it leads, how often nothing leads, what "
                         "leads instead\n");
    return g_string_free(out, FALSE);
}
