/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which cause is only the consequence of another. The knowledge base says which could be; here the
 * evidence says which are. The result is a forest: each consequence has one root, no cycles.
 */
#include <math.h>
#include <string.h>

#include "reason/reason-private.h"

/* What the consequences of a root add to it: they are what it predicts, but its own rules mostly
 * know the same lines. */
#define CONSEQUENCE_SHARE 0.25
#define CONSEQUENCE_MOST 3.0
#define CONSEQUENCES_MOST 6.0

typedef struct {
    guint root, consequence;
    double strength;
} Edge;

static CtCandidate *at(const CtReason *r, guint i)
{
    return g_ptr_array_index(r->candidates, i);
}

static double net(const CtCandidate *c)
{
    return c->positive + c->negative;
}

static gboolean cites(const CtCandidate *c, const CtCitation *line)
{
    const GPtrArray *for_ = c->hypothesis->for_;
    for (guint i = 0; i < for_->len; i++) {
        const CtCitation *o = g_ptr_array_index(for_, i);
        if (o->row == line->row && o->tab == line->tab)
            return TRUE;
    }
    return FALSE;
}

/* A line that speaks for `c` and that `other` does not rest on. */
static const CtCitation *own_line(const CtCandidate *c, const CtCandidate *other)
{
    const GPtrArray *for_ = c->hypothesis->for_;
    for (guint i = 0; i < for_->len; i++) {
        const CtCitation *line = g_ptr_array_index(for_, i);
        if (!cites(other, line))
            return line;
    }
    return NULL;
}

/* A root needs real evidence; where it rests on nothing but the lines of the consequence, it must
 * be at least as strong as that. */
static gboolean may_explain(const CtCandidate *root, const CtCandidate *consequence)
{
    return net(root) >= CT_REAL_EVIDENCE &&
           (own_line(root, consequence) || net(root) >= net(consequence));
}

/* Which of two that explain each other is the root: the one whose evidence begins earlier, then
 * the stronger. */
static gboolean goes_first(const CtCandidate *a, const CtCandidate *b)
{
    if (a->first_wall_ns != CT_TIME_UNKNOWN && b->first_wall_ns != CT_TIME_UNKNOWN &&
        a->first_wall_ns != b->first_wall_ns)
        return a->first_wall_ns < b->first_wall_ns;
    if (a->first_section && a->first_section == b->first_section && a->first_seq != b->first_seq)
        return a->first_seq < b->first_seq;
    if (fabs(net(a) - net(b)) > 0.01)
        return net(a) > net(b);
    return strcmp(a->hypothesis->cause, b->hypothesis->cause) < 0;
}

static GHashTable *index_of_causes(const CtReason *r)
{
    GHashTable *index = g_hash_table_new(g_str_hash, g_str_equal);
    for (guint i = 0; i < r->candidates->len; i++)
        g_hash_table_insert(index, at(r, i)->hypothesis->cause, GUINT_TO_POINTER(i + 1));
    return index;
}

static gboolean has_edge(const GArray *edges, guint root, guint consequence)
{
    for (guint i = 0; i < edges->len; i++) {
        const Edge *e = &g_array_index(edges, Edge, i);
        if (e->root == root && e->consequence == consequence)
            return TRUE;
    }
    return FALSE;
}

static GArray *read_edges(const CtReason *r)
{
    GArray *edges = g_array_new(FALSE, FALSE, sizeof(Edge));
    g_autoptr(GHashTable) index = index_of_causes(r);
    sqlite3_stmt *st = ct_prepare(ct_kb_db(r->kb), "SELECT cause, consequence FROM explains");
    while (sqlite3_step(st) == SQLITE_ROW) {
        guint root = GPOINTER_TO_UINT(g_hash_table_lookup(index, ct_column(st, 0)));
        guint child = GPOINTER_TO_UINT(g_hash_table_lookup(index, ct_column(st, 1)));
        if (!root-- || !child-- || root == child || has_edge(edges, root, child) ||
            !may_explain(at(r, root), at(r, child)))
            continue;
        Edge edge = {root, child, net(at(r, root))};
        g_array_append_val(edges, edge);
    }
    sqlite3_finalize(st);
    return edges;
}

static int by_strength(gconstpointer a, gconstpointer b)
{
    const Edge *x = a, *y = b;
    if (x->strength != y->strength)
        return x->strength > y->strength ? -1 : 1;
    return x->root != y->root ? (x->root < y->root ? -1 : 1)
                              : (x->consequence < y->consequence ? -1 : 1);
}

static guint root_of(const CtReason *r, guint i)
{
    while (at(r, i)->explained_by >= 0)
        i = (guint)at(r, i)->explained_by;
    return i;
}

static void grow_forest(CtReason *r, GArray *edges)
{
    for (guint i = 0; i < edges->len; i++) {
        const Edge *e = &g_array_index(edges, Edge, i);
        CtCandidate *child = at(r, e->consequence);
        gboolean mutual = has_edge(edges, e->consequence, e->root);
        if (child->explained_by >= 0 || (mutual && !goes_first(at(r, e->root), child)) ||
            root_of(r, e->root) == e->consequence)
            continue;
        child->explained_by = (gint)e->root;
    }
}

static void add_share(CtReason *r, CtCandidate *root, const CtCandidate *child, double *left)
{
    const CtCitation *line = own_line(child, root);
    double share = MIN(MIN(child->positive * CONSEQUENCE_SHARE, CONSEQUENCE_MOST), *left);
    if (!line || share < 0.5)
        return;
    CtCitation *cite = ct_cite(r, line->tab, line->row, NULL);
    cite->text = g_strdup_printf(ct_lang(r, "explains also: %s", "同时解释：%s"), line->text);
    cite->rule = g_strdup("built-in:consequence");
    cite->group = g_strdup("built-in:consequence");
    cite->weight = cite->counted = share;
    g_ptr_array_add(root->hypothesis->for_, cite);
    root->positive += share;
    *left -= share;
}

/* Rivals that explain the same consequence get the same share: it does not choose between them. */
static void share_evidence(CtReason *r, const GArray *edges)
{
    g_autofree double *left = g_new(double, r->candidates->len + 1);
    for (guint i = 0; i < r->candidates->len; i++)
        left[i] = CONSEQUENCES_MOST;
    for (guint i = 0; i < edges->len; i++) {
        const Edge *e = &g_array_index(edges, Edge, i);
        CtCandidate *root = at(r, e->root);
        const CtCandidate *child = at(r, e->consequence);
        if (root->explained_by < 0 && child->explained_by >= 0)
            add_share(r, root, child, &left[e->root]);
    }
}

void ct_explains_resolve(CtReason *r)
{
    g_autoptr(GArray) edges = read_edges(r);
    g_array_sort(edges, by_strength);
    grow_forest(r, edges);
    share_evidence(r, edges);
    for (guint i = 0; i < r->candidates->len; i++) {
        CtCandidate *child = at(r, i);
        if (child->explained_by < 0)
            continue;
        CtCandidate *root = at(r, root_of(r, i));
        child->hypothesis->explained_by = g_strdup(root->hypothesis->cause);
        g_ptr_array_add(root->hypothesis->consequences, g_strdup(child->hypothesis->cause));
    }
}
