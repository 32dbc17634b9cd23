/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor/runs.h"

#include <math.h>
#include <string.h>

static void tensor_free(gpointer data)
{
    CtRunsTensor *t = data;
    g_free(t->name);
    g_free(t->shape);
    g_free(t->where);
    g_free(t);
}

void ct_runs_free(CtRuns *r)
{
    if (!r)
        return;
    g_ptr_array_unref(r->tensors);
    g_free(r->text);
    g_free(r->text_zh);
    g_free(r);
}

static const CtTensorItem *find(const CtTensorSet *set, const CtTensorItem *like, guint at)
{
    if (at < set->items->len) {
        const CtTensorItem *same = set->items->pdata[at];
        if (g_str_equal(same->name, like->name))
            return same;
    }
    for (guint i = 0; i < set->items->len; i++) {
        const CtTensorItem *item = set->items->pdata[i];
        if (g_str_equal(item->name, like->name))
            return item;
    }
    return NULL;
}

static gboolean same_bytes(const CtTensor *a, const CtTensor *b)
{
    gsize len = (gsize)((a->n * ct_dtype_bits(a->dtype) + 7) / 8);
    return a->dtype == b->dtype && a->n == b->n && a->big_endian == b->big_endian &&
           memcmp(ct_tensor_data(a), ct_tensor_data(b), len) == 0;
}

/* Elements in which the run `b` is not the run `a`. */
static void difference(const CtTensor *a, const CtTensor *b, CtRunsTensor *out)
{
    enum { BLOCK = 4096 };
    double x[2 * BLOCK], y[2 * BLOCK], err = 0, all = 0, eps = ct_dtype_eps(a->dtype), most = -1;
    guint parts = ct_dtype_is_complex(a->dtype) ? 2 : 1;
    guint64 differing = 0, nonfinite = 0, huge = 0, run = 0, longest = 0, at = 0;
    double likeness = 0;
    for (guint64 from = 0; from < a->n; from += BLOCK) {
        gsize n = (gsize)MIN((guint64)BLOCK, a->n - from);
        ct_tensor_to_f64(a, from, n, x);
        ct_tensor_to_f64(b, from, n, y);
        for (gsize i = 0; i < n * parts; i++) {
            gboolean same = x[i] == y[i] || (isnan(x[i]) && isnan(y[i]));
            run = same ? 0 : run + 1;
            longest = MAX(longest, run);
            if (isfinite(x[i]))
                all += x[i] * x[i];
            if (same)
                continue;
            differing++;
            gboolean finite = isfinite(x[i]) && isfinite(y[i]);
            nonfinite += !finite;
            huge += fabs(x[i]) > 1e30 || fabs(y[i]) > 1e30;
            double d = finite ? fabs(x[i] - y[i]) : INFINITY;
            if (d > most) {
                most = d;
                at = from * parts + i;
            }
            if (finite) {
                err += d * d;
                likeness = MAX(likeness, d / (MAX(fabs(x[i]), fabs(y[i])) * MAX(eps, 1e-9)));
                out->max_abs = MAX(out->max_abs, d);
            }
        }
    }
    out->differing = MAX(out->differing, differing);
    out->nonfinite = MAX(out->nonfinite, nonfinite);
    out->huge = MAX(out->huge, huge);
    out->max_ulp_like = MAX(out->max_ulp_like, likeness);
    out->rel_rms = MAX(out->rel_rms, all > 0 ? sqrt(err / all) : 0);
    if (differing)
        out->longest_run = MAX(out->longest_run, (double)longest / (double)differing);
    if (most >= 0) {
        g_free(out->where);
        out->where = ct_tensor_index(a, at);
    }
}

typedef struct {
    GPtrArray *sets;
    guint at;
    CtRunsTensor *out;
} Job;

static void one_tensor(gpointer data)
{
    Job *j = data;
    const CtTensorSet *first = j->sets->pdata[0];
    const CtTensorItem *item = first->items->pdata[j->at];
    g_autoptr(CtTensor) a = ct_tensor_item_load(item, NULL);
    /* One run of each group is kept as an item, not in memory. */
    g_autoptr(GPtrArray) groups = g_ptr_array_new();
    j->out->name = g_strdup(item->name);
    j->out->missing = !a;
    if (!a)
        return;
    j->out->shape = ct_tensor_shape(a);
    j->out->n = a->n * (ct_dtype_is_complex(a->dtype) ? 2 : 1);
    j->out->groups = 1;
    for (guint r = 1; r < j->sets->len; r++) {
        const CtTensorItem *other = find(j->sets->pdata[r], item, j->at);
        g_autoptr(CtTensor) b = other ? ct_tensor_item_load(other, NULL) : NULL;
        if (!b || b->n != a->n || b->rank != a->rank ||
            memcmp(a->dims, b->dims, a->rank * sizeof *a->dims) != 0) {
            j->out->missing = TRUE;
            continue;
        }
        if (same_bytes(a, b))
            continue;
        difference(a, b, j->out);
        gboolean known = FALSE;
        for (guint g = 0; g < groups->len && !known; g++) {
            g_autoptr(CtTensor) c = ct_tensor_item_load(groups->pdata[g], NULL);
            known = c && same_bytes(b, c);
        }
        if (!known)
            g_ptr_array_add(groups, (gpointer)other);
    }
    j->out->groups += groups->len;
}

/* What the differences of the first tensor that has some look like. */
static void judge(CtRuns *r)
{
    const CtRunsTensor *t = r->tensors->pdata[r->first];
    double share = (double)t->differing / (double)MAX(t->n, 1u);
    gboolean rounding = t->max_ulp_like < 4096 || t->rel_rms < 1e-5;
    if ((t->nonfinite || t->huge) && t->differing) {
        r->kind = "uninitialised";
        guint64 n = MAX(t->nonfinite, t->huge);
        r->text = g_strdup_printf("%" G_GUINT64_FORMAT " of the differing elements are NaN, Inf or "
                                  "huge in one of the runs: memory is read that nobody wrote",
                                  n);
        r->text_zh =
            g_strdup_printf("不同的元素中有 %" G_GUINT64_FORMAT " 个在某次运行中为 NaN、Inf "
                            "或极大：读取了无人写入的内存",
                            n);
    } else if (rounding && t->groups < r->n_runs && r->n_runs >= 3) {
        r->kind = "tactic";
        r->text =
            g_strdup_printf("the %u runs fall into %u groups that are equal to the bit, apart "
                            "by rounding: another kernel (tactic, algorithm) was chosen",
                            r->n_runs, t->groups);
        r->text_zh =
            g_strdup_printf("%u 次运行分为 %u 组，组内逐位相同，组间只差舍入：选用了不同的内核"
                            "（tactic、算法）",
                            r->n_runs, t->groups);
    } else if (rounding) {
        r->kind = "atomics";
        r->text =
            g_strdup_printf("differences are of rounding size in %.3g%% of the elements: sums "
                            "in another order (atomics, split-K), or another tactic",
                            100 * share);
        r->text_zh =
            g_strdup_printf("%.3g%% 的元素有舍入大小的差异：求和次序不同（原子操作、split-K），"
                            "或 tactic 不同",
                            100 * share);
    } else {
        r->kind = "race";
        gboolean stretch = t->longest_run > 0.5 && t->differing > 8;
        r->text =
            g_strdup_printf("%.3g%% of the elements differ by far more than rounding (up to "
                            "%.4g), %s: a race, a missing synchronisation or a buffer used "
                            "again too early",
                            100 * share, t->max_abs, stretch ? "in one stretch" : "scattered");
        r->text_zh =
            g_strdup_printf("%.3g%% 的元素差异远大于舍入（最大 %.4g），%s：竞争、缺少同步，或缓"
                            "冲区过早复用",
                            100 * share, t->max_abs, stretch ? "集中在一段" : "分散各处");
    }
}

CtRuns *ct_runs_compare(GPtrArray *sets, GError **error)
{
    g_autoptr(CtRuns) r = g_new0(CtRuns, 1);
    r->tensors = g_ptr_array_new_with_free_func(tensor_free);
    r->n_runs = sets->len;
    r->first = -1;
    const CtTensorSet *first = sets->pdata[0];
    r->unordered = first->unordered;
    for (guint i = 0; i < first->items->len; i++) {
        CtRunsTensor *t = g_new0(CtRunsTensor, 1);
        g_ptr_array_add(r->tensors, t);
        Job j = {sets, i, t};
        if (!ct_bytes_guard(one_tensor, &j, error))
            return NULL;
        r->n_missing += t->missing;
        r->n_differ += t->differing > 0;
        if (t->differing && r->first < 0)
            r->first = (gint)i;
    }
    for (guint k = 1; k < sets->len; k++)
        if (((CtTensorSet *)sets->pdata[k])->items->len > first->items->len)
            r->n_missing++;
    if (r->first >= 0)
        judge(r);
    return g_steal_pointer(&r);
}
