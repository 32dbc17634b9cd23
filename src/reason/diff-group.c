/* SPDX-License-Identifier: Apache-2.0 */
/* Any number of states: what most have, and who has something else. */
#include <string.h>

#include "reason/diff-private.h"

static void outlier_free(gpointer data)
{
    g_free(((CtOutlier *)data)->value);
    g_free(data);
}

static void row_free(gpointer data)
{
    CtGroupRow *r = data;
    g_free(r->subject);
    g_free(r->key);
    g_free(r->layer);
    g_free(r->majority);
    g_ptr_array_unref(r->outliers);
    g_free(r);
}

/* What a state says of a subject and key: a fact, NULL for "not there"; FALSE: not known. `of` is
 * the state that has `like`. */
static gboolean says(const CtState *s, const CtState *of, const char *index,
                     const CtStateFact *like, const CtStateFact **out)
{
    const CtStateFact *f = g_hash_table_lookup(s->facts, index);
    *out = f && f->value ? f : NULL;
    if (f)
        return f->value || !f->trouble;
    return ct_state_looked(s, of, like);
}

static gboolean agree(const CtStateFact *a, const CtStateFact *b)
{
    return a == b || ct_state_equal(a, b);
}

static guint votes_for(CtState *const *s, guint n, const CtState *of, const char *index,
                       const CtStateFact *like, const CtStateFact *value)
{
    guint votes = 0;
    for (guint i = 0; i < n; i++) {
        const CtStateFact *has;
        votes += says(s[i], of, index, like, &has) && agree(has, value);
    }
    return votes;
}

static CtGroupRow *vote(CtState *const *s, guint n, const CtState *of, const char *index,
                        const CtStateFact *like, const CtFactKind *kind)
{
    CtGroupRow *r = g_new0(CtGroupRow, 1);
    const CtStateFact *best = NULL;
    r->outliers = g_ptr_array_new_with_free_func(outlier_free);
    for (guint i = 0; i < n; i++) {
        const CtStateFact *has;
        if (!says(s[i], of, index, like, &has))
            continue;
        r->known++;
        guint votes = votes_for(s, n, of, index, like, has);
        if (votes == r->agree && !agree(has, best))
            r->tie = TRUE;
        if (votes > r->agree) {
            r->agree = votes;
            best = has;
            r->tie = FALSE;
        }
    }
    for (guint i = 0; i < n; i++) {
        const CtStateFact *has;
        gboolean known = says(s[i], of, index, like, &has);
        if (known && agree(has, best))
            continue;
        CtOutlier *o = g_new0(CtOutlier, 1);
        *o = (CtOutlier){.index = i, .value = g_strdup(known && has ? has->value : NULL), .unknown = !known};
        g_ptr_array_add(r->outliers, o);
    }
    r->subject = g_strdup(like->subject);
    r->key = g_strdup(like->key);
    r->layer = g_strdup(kind->layer);
    r->majority = g_strdup(best ? best->value : NULL);
    r->importance = kind->importance;
    return r;
}

static int order(gconstpointer a, gconstpointer b)
{
    const CtGroupRow *x = *(CtGroupRow *const *)a, *y = *(CtGroupRow *const *)b;
    if (x->importance != y->importance)
        return y->importance - x->importance;
    int by_key = strcmp(x->key, y->key);
    return by_key ? by_key : strcmp(x->subject, y->subject);
}

GPtrArray *ct_diff_group(CtEvidence *const *ev, guint n, const CtKb *kb, gboolean with_volatile)
{
    GPtrArray *rows = g_ptr_array_new_with_free_func(row_free);
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
    CtFactKinds *kinds = ct_fact_kinds_new(kb);
    CtState **s = g_new0(CtState *, n);
    for (guint i = 0; i < n; i++) {
        g_autoptr(GHashTable) names = ct_state_names(ev[i], NULL);
        s[i] = ct_state_new(ev[i], names);
    }
    for (guint i = 0; i < n; i++) {
        GHashTableIter it;
        gpointer index, fact;
        g_hash_table_iter_init(&it, s[i]->facts);
        while (g_hash_table_iter_next(&it, &index, &fact)) {
            CtFactKind kind = ct_fact_kind(kinds, ((CtStateFact *)fact)->key);
            if (!g_hash_table_add(seen, index) || kind.volatility == 2 ||
                (kind.volatility == 1 && !with_volatile))
                continue;
            CtGroupRow *r = vote(s, n, s[i], index, fact, &kind);
            /* All who tell agree: nobody stands out. */
            if (r->agree == r->known)
                row_free(r);
            else
                g_ptr_array_add(rows, r);
        }
    }
    g_ptr_array_sort(rows, order);
    for (guint i = 0; i < n; i++)
        ct_state_free(s[i]);
    g_free(s);
    ct_fact_kinds_free(kinds);
    return rows;
}
