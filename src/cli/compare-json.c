/* SPDX-License-Identifier: Apache-2.0 */
/* JSON of `compare`, cutriage.compare/1 (docs/compare.md). */
#include <jansson.h>
#include <math.h>
#include <stdio.h>

#include "cli/cli.h"
#include "cli/compare-print.h"

/* JSON has no NaN and no infinity: unknown is null, infinite a word. */
static json_t *real(double v)
{
    if (isnan(v))
        return json_null();
    if (isinf(v))
        return json_string(v > 0 ? "inf" : "-inf");
    return json_real(v);
}

/* A number of the data, where NaN is a value and not "unknown". */
static json_t *datum(double v)
{
    return isnan(v) ? json_string("nan") : real(v);
}

static json_t *count(guint64 v)
{
    return json_integer((json_int_t)v);
}

static json_t *specials(const CtSpecials *s)
{
    return json_pack("{s:o, s:o, s:o}", "nan", count(s->nan), "pos_inf", count(s->pos_inf),
                     "neg_inf", count(s->neg_inf));
}

static json_t *pair_at(const char *at, gint64 index, double ref, double test)
{
    if (index < 0)
        return json_null();
    return json_pack("{s:s, s:I, s:o, s:o}", "at", at ? at : "", "index", (json_int_t)index, "ref",
                     datum(ref), "test", datum(test));
}

static json_t *full(const CtFull *f)
{
    json_t *o = json_object();
    if (f->have_quantiles) {
        json_t *q = json_object();
        for (guint i = 0; i < CT_QUANTILES; i++) {
            g_autofree char *name = g_strdup_printf("p%g", ct_quantiles[i] * 100);
            json_object_set_new(q, name, real(f->quantile[i]));
        }
        json_object_set_new(o, "quantiles", q);
        json_object_set_new(o, "rank_error", real(f->rank_error));
    }
    if (f->channel_axis >= 0)
        json_object_set_new(o, "channels",
                            json_pack("{s:i, s:i, s:i, s:o, s:o, s:o}", "axis", f->channel_axis,
                                      "count", (int)f->n_channels, "worst", (int)f->worst_channel,
                                      "worst_rms", real(f->worst_channel_rms), "worst_max",
                                      real(f->worst_channel_max), "median_rms",
                                      real(f->channel_rms_median)));
    if (f->rows)
        json_object_set_new(o, "top",
                            json_pack("{s:o, s:o, s:i, s:o}", "rows", count(f->rows),
                                      "argmax_equal", count(f->argmax_equal), "k", (int)f->top_k,
                                      "topk_equal", count(f->topk_equal)));
    return o;
}

static void add_numbers(json_t *o, const CtStep *s)
{
    const CtComparison *c = &s->c;
    const CtPairSums *p = &c->sums;
    const struct {
        const char *name;
        double value;
    } reals[] = {{"atol", c->atol},
                 {"rtol", c->rtol},
                 {"max_abs", p->max_abs},
                 {"mean_abs", c->mean_abs},
                 {"rmse", c->rmse},
                 {"max_rel", p->max_rel},
                 {"mean_rel", c->mean_rel},
                 {"rel_rms", c->rel_rms},
                 {"cosine", c->cosine},
                 {"sqnr_db", c->sqnr},
                 {"psnr_db", c->psnr},
                 {"mean_ulp", c->has_ulp ? c->mean_ulp : NAN},
                 {"max_ulp", c->has_ulp ? p->max_ulp : NAN}};
    for (gsize i = 0; i < G_N_ELEMENTS(reals); i++)
        json_object_set_new(o, reals[i].name, real(reals[i].value));
    json_object_set_new(o, "elements", count(c->n));
    json_object_set_new(o, "finite", count(p->finite));
    json_object_set_new(o, "unequal", count(p->unequal));
    json_object_set_new(
        o, "over",
        json_pack("{s:o, s:o}", "numpy", count(c->over_sum), "polygraphy", count(c->over_either)));
    gboolean some = p->finite > 0;
    double n = (double)p->finite;
    json_object_set_new(o, "ref",
                        json_pack("{s:o, s:o, s:o, s:o, s:o}", "min", real(some ? p->ref_min : NAN),
                                  "max", real(some ? p->ref_max : NAN), "mean",
                                  real(some ? p->sum_ref / n : NAN), "subnormal",
                                  count(p->ref_subnormal), "specials", specials(&c->ref)));
    json_object_set_new(
        o, "test",
        json_pack("{s:o, s:o, s:o, s:o, s:o}", "min", real(some ? p->test_min : NAN), "max",
                  real(some ? p->test_max : NAN), "mean", real(some ? p->sum_test / n : NAN),
                  "subnormal", count(p->test_subnormal), "specials", specials(&c->test)));
    json_object_set_new(o, "first", pair_at(s->first_at, c->first, c->first_ref, c->first_test));
    json_object_set_new(o, "worst",
                        pair_at(s->worst_at, c->worst_abs, c->worst_abs_ref, c->worst_abs_test));
    json_object_set_new(o, "worst_rel",
                        pair_at("", c->worst_rel, c->worst_rel_ref, c->worst_rel_test));
}

static json_t *optional(const char *text)
{
    return text ? json_string(text) : json_null();
}

static json_t *step_json(const CtStep *s, guint index, const CtComparePrint *p)
{
    json_t *o = json_object();
    json_object_set_new(o, "place", json_integer(index + 1));
    json_object_set_new(o, "name", json_string(s->name));
    json_object_set_new(o, "compared", json_boolean(s->compared));
    json_object_set_new(o, "pass", json_boolean(s->compared && s->c.pass));
    json_object_set_new(o, "problem", optional(s->problem));
    json_object_set_new(o, "shape", optional(s->shape));
    json_object_set_new(o, "types", optional(s->types));
    json_object_set_new(o, "operation", optional(s->op));
    if (s->compared) {
        json_object_set_new(o, "effective_type", json_string(ct_dtype_name(s->effective)));
        add_numbers(o, s);
    }
    if (s->compared && p->full)
        json_object_set_new(o, "full", full(&s->c.full));
    if (s->why.fault != CT_FAULT_NONE)
        json_object_set_new(o, "fault",
                            json_pack("{s:s, s:o, s:o, s:o, s:b, s:b}", "kind",
                                      ct_fault_id(s->why.fault), "text", optional(s->why.text),
                                      "share", real(s->why.share), "value", real(s->why.value),
                                      "bad", s->bad, "loss", s->loss));
    return o;
}

static gboolean print(json_t *root)
{
    char *text = root ? json_dumps(root, JSON_INDENT(1) | JSON_REAL_PRECISION(17)) : NULL;
    json_decref(root);
    gboolean ok = text && printf("%s\n", text) >= 0 && fflush(stdout) == 0;
    free(text);
    return ok;
}

gboolean ct_compare_print_json(const CtSteps *s, const CtComparePrint *p)
{
    json_t *tensors = json_array(), *notes = json_array(), *extra = json_array();
    for (guint i = 0; i < s->steps->len; i++)
        json_array_append_new(tensors, step_json(s->steps->pdata[i], i, p));
    for (guint i = 0; i < s->notes->len; i++)
        json_array_append_new(notes, json_string(s->notes->pdata[i]));
    for (guint i = 0; i < s->extra->len; i++)
        json_array_append_new(extra, json_string(s->extra->pdata[i]));
    gboolean pass = ct_compare_passed(s, p);
    json_t *root = json_pack("{s:s, s:o, s:s, s:s, s:b, s:i, s:i, s:o, s:o, s:o, s:o}", "schema",
                             "cutriage.compare/1", "ref", optional(p->ref), "test", p->test, "rule",
                             p->rule == CT_RULE_SUM ? "numpy" : "polygraphy", "pass", pass,
                             "compared", (int)s->n_compared, "of", (int)s->steps->len, "first_bad",
                             s->first_bad >= 0 ? json_integer(s->first_bad + 1) : json_null(),
                             "tensors", tensors, "only_in_test", extra, "notes", notes);
    return print(root);
}

static json_t *runs_tensor(const CtRunsTensor *t, guint index)
{
    return json_pack("{s:i, s:s, s:o, s:b, s:i, s:o, s:o, s:o, s:o, s:o, s:o}", "place",
                     (int)index + 1, "name", t->name, "shape", optional(t->shape), "missing",
                     t->missing, "groups", (int)t->groups, "differing", count(t->differing), "of",
                     count(t->n), "not_finite", count(t->nonfinite), "max_abs", real(t->max_abs),
                     "rel_rms", real(t->rel_rms), "at", optional(t->where));
}

gboolean ct_compare_print_json_runs(const CtRuns *r)
{
    json_t *tensors = json_array();
    for (guint i = 0; i < r->tensors->len; i++)
        json_array_append_new(tensors, runs_tensor(r->tensors->pdata[i], i));
    return print(json_pack("{s:s, s:b, s:i, s:i, s:i, s:o, s:o, s:o, s:o}", "schema",
                           "cutriage.compare-runs/1", "pass", !r->n_differ && !r->n_missing, "runs",
                           (int)r->n_runs, "differ", (int)r->n_differ, "missing", (int)r->n_missing,
                           "first", r->first >= 0 ? json_integer(r->first + 1) : json_null(),
                           "kind", optional(r->kind), "text", optional(r->text), "tensors",
                           tensors));
}
