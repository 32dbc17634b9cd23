/* SPDX-License-Identifier: Apache-2.0 */
/* The table and the verdict of `compare`. */
#include <math.h>
#include <stdio.h>

#include "cli/cli.h"
#include "cli/compare-print.h"
#include "cli/table.h"

#define SHOWN 30u

gboolean ct_compare_passed(const CtSteps *s)
{
    return s->n_failed == 0 && s->extra->len == 0 && s->steps->len > 0;
}

char *ct_compare_verdict(const CtSteps *s)
{
    guint differ = 0;
    for (guint i = 0; i < s->steps->len; i++) {
        const CtStep *step = s->steps->pdata[i];
        differ += step->compared && !step->c.pass;
    }
    GString *out = g_string_new(ct_compare_passed(s) ? "PASSED" : "FAILED");
    g_string_append_printf(out, ": compared %u of %u tensor%s", s->n_compared, s->steps->len,
                           s->steps->len == 1 ? "" : "s");
    g_string_append_printf(out, ", %u %s", differ, differ == 1 ? "differs" : "differ");
    guint lost = s->steps->len - s->n_compared;
    if (lost)
        g_string_append_printf(out, ", %u missing or not readable", lost);
    if (s->extra->len)
        g_string_append_printf(out, ", %u only in the test", s->extra->len);
    return g_string_free(out, FALSE);
}

static char *number(double v)
{
    return isnan(v) ? g_strdup("-") : g_strdup_printf("%.3g", v);
}

static char *share(guint64 k, guint64 n)
{
    if (k == 0)
        return g_strdup("0");
    double x = 100.0 * (double)k / (double)MAX(n, 1u);
    return x < 0.01 ? g_strdup("<0.01%") : g_strdup_printf("%.*f%%", x < 1 ? 2 : 1, x);
}

static const char *state(const CtStep *s)
{
    if (!s->compared)
        return s->test ? "unreadable" : "missing";
    if (s->c.test.nan > s->c.nan_both)
        return "NaN";
    if (s->c.nan_both)
        return "NaN in both";
    return s->c.pass ? "ok" : "differs";
}

static void row(CtTable *table, guint index, const CtStep *s)
{
    const CtComparison *c = &s->c;
    gboolean ok = s->compared;
    g_autofree char *place = g_strdup_printf("%u", index + 1);
    g_autofree char *over = ok ? share(ct_comparison_over(c), c->n) : g_strdup("-");
    g_autofree char *max_abs = ok ? number(c->sums.max_abs) : g_strdup("-");
    g_autofree char *max_rel = ok ? number(c->sums.max_rel) : g_strdup("-");
    g_autofree char *rms = ok ? number(c->rel_rms) : g_strdup("-");
    g_autofree char *cosine =
        ok && !isnan(c->cosine) ? g_strdup_printf("%.6f", c->cosine) : g_strdup("-");
    g_autofree char *high = ok && c->sums.finite
                                ? number(MAX(fabs(c->sums.ref_min), fabs(c->sums.ref_max)))
                                : g_strdup("-");
    const CtCell cells[] = {
        {CT_CELL_NUMBER, place},
        {CT_CELL_TEXT, s->name},
        {CT_CELL_TEXT, state(s)},
        {CT_CELL_TEXT, over},
        {CT_CELL_TEXT, max_abs},
        {CT_CELL_TEXT, max_rel},
        {CT_CELL_TEXT, rms},
        {CT_CELL_TEXT, high},
        {CT_CELL_TEXT, cosine},
        {CT_CELL_TEXT, s->types ? s->types : "-"},
        {CT_CELL_TEXT, s->shape ? s->shape : "-"},
    };
    ct_table_row(table, cells);
}

static const char *const headings[] = {"#",       "tensor",  "state",   "over",
                                       "max abs", "max rel", "rel rms", "max|ref|",
                                       "cosine",  "type",    "shape"};

static gboolean print_table(const CtSteps *s, const CtComparePrint *p, CtTableForm form)
{
    CtTable *table = ct_table_new(form, "cutriage.compare/1", G_N_ELEMENTS(headings), headings);
    guint left = p->all || form != CT_TABLE_ALIGNED ? s->steps->len : SHOWN, hidden = 0;
    gboolean few = s->steps->len <= left;
    for (guint i = 0; i < s->steps->len; i++) {
        const CtStep *step = s->steps->pdata[i];
        gboolean notable = few || step->bad || step->loss || !step->compared || !step->c.pass;
        if (left && notable) {
            row(table, i, step);
            left--;
        } else {
            hidden++;
        }
    }
    gboolean ok = ct_table_end(table);
    if (hidden && form == CT_TABLE_ALIGNED)
        printf("(%u more not shown; --all shows them)\n", hidden);
    return ok;
}

static void print_special(const char *who, const CtSpecials *s)
{
    if (s->nan || s->pos_inf || s->neg_inf)
        printf("    %s: %" G_GUINT64_FORMAT " NaN, %" G_GUINT64_FORMAT " +Inf, %" G_GUINT64_FORMAT
               " -Inf\n",
               who, s->nan, s->pos_inf, s->neg_inf);
}

static void print_full(const CtFull *f)
{
    if (f->have_quantiles) {
        printf("    error at");
        for (guint q = 0; q < CT_QUANTILES; q++)
            printf(" p%g %.3g%s", ct_quantiles[q] * 100, f->quantile[q],
                   q + 1 < CT_QUANTILES ? "," : "");
        if (f->rank_error > 0)
            printf(" (sampled: ranks are off by at most %.2f%%; --exact)", 100 * f->rank_error);
        printf("\n");
    }
    if (f->channel_axis >= 0)
        printf("    worst channel %u of %u: rms error %.3g (median of channels %.3g), max %.3g\n",
               f->worst_channel, f->n_channels, f->worst_channel_rms, f->channel_rms_median,
               f->worst_channel_max);
    if (f->rows)
        printf("    largest value at the same place in %" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT
               " rows, same top %u in %" G_GUINT64_FORMAT "\n",
               f->argmax_equal, f->rows, f->top_k, f->topk_equal);
}

static void print_detail(const CtStep *s, gboolean full)
{
    const CtComparison *c = &s->c;
    printf("  %s\n", s->name);
    if (!s->compared) {
        printf("    %s\n", s->problem);
        return;
    }
    print_special("reference", &c->ref);
    print_special("test", &c->test);
    if (c->ref.nan)
        printf("    the reference itself holds NaN: it is no reference there\n");
    if (s->first_at && !c->pass)
        printf("    first out of tolerance at %s: reference %.7g, test %.7g\n", s->first_at,
               c->first_ref, c->first_test);
    if (s->worst_at)
        printf("    worst at %s: reference %.7g, test %.7g\n", s->worst_at, c->worst_abs_ref,
               c->worst_abs_test);
    printf("    over atol %.3g + rtol %.3g*|ref| (numpy, trtexec): %" G_GUINT64_FORMAT
           "; over both (Polygraphy): %" G_GUINT64_FORMAT "; of %" G_GUINT64_FORMAT "\n",
           c->atol, c->rtol, c->over_sum, c->over_either, c->n);
    printf("    mean abs %.3g, mean rel %.3g, SQNR %.1f dB, PSNR %.1f dB", c->mean_abs, c->mean_rel,
           c->sqnr, c->psnr);
    if (c->has_ulp)
        printf(", ULP mean %.3g max %.0f", c->mean_ulp, c->sums.max_ulp);
    printf("\n");
    if (full)
        print_full(&c->full);
}

static void print_step_why(const CtStep *s, guint index)
{
    printf("  %u %s%s%s%s [%s]: %s\n", index + 1, s->name, s->op ? " (" : "", s->op ? s->op : "",
           s->op ? ")" : "", ct_fault_id(s->why.fault), ct_fault_title(s->why.fault));
    if (s->why.text)
        printf("    %s\n", s->why.text);
}

static void print_growth(const CtSteps *s)
{
    printf("\nError along the network (rms error / rms of the reference)\n");
    guint n = s->steps->len, every = MAX(n / 24, 1u);
    for (guint i = 0; i < n; i++) {
        const CtStep *step = s->steps->pdata[i];
        if (!step->compared || (i % every && (gint)i != s->first_bad && !step->bad))
            continue;
        double e = step->c.rel_rms;
        int bar = isfinite(e) && e > 0 ? (int)CLAMP(2.5 * (log10(e) + 8), 0, 25) : 0;
        if (step->c.test.nan + step->c.test.pos_inf + step->c.test.neg_inf)
            bar = 25;
        printf("  %4u %-36.36s %9.2e %.*s%s\n", i + 1, step->name, e, bar,
               "#########################",
               step->bad    ? "  <- bad"
               : step->loss ? "  <- loses"
                            : "");
    }
}

static gboolean any_loss(const CtSteps *s)
{
    for (guint i = 0; i < s->steps->len; i++)
        if (((const CtStep *)s->steps->pdata[i])->loss)
            return TRUE;
    return FALSE;
}

static void print_located(const CtSteps *s)
{
    if (s->first_bad >= 0) {
        const CtStep *b = s->steps->pdata[s->first_bad];
        printf("\nFirst bad tensor%s\n", s->graph ? "" : " (in the order of the files)");
        print_step_why(b, (guint)s->first_bad);
    } else {
        printf("\nNo tensor goes wrong by itself%s\n",
               any_loss(s) ? ", but precision is lost" : ": the error is what the type explains");
    }
    guint shown = 0;
    for (guint i = 0; i < s->steps->len; i++) {
        const CtStep *step = s->steps->pdata[i];
        if ((gint)i == s->first_bad || step->why.fault == CT_FAULT_NONE ||
            !(step->loss || step->bad))
            continue;
        if (shown++ == 0)
            printf("\n%s\n", s->first_bad >= 0 ? "Also" : "Where precision is lost, and why");
        if (shown <= 8)
            print_step_why(step, i);
    }
    if (shown > 8)
        printf("  and %u more\n", shown - 8);
}

static void print_remedy(const CtSteps *s, int trt)
{
    g_autofree char *text = ct_compare_remedy(s, trt);
    if (text)
        printf("\nWhat to do\n%s", text);
}

int ct_compare_print_text(const CtSteps *s, const CtComparePrint *p)
{
    if (p->ref && !print_table(s, p, CT_TABLE_ALIGNED))
        return CT_EXIT_FAILED;
    guint details = 0;
    for (guint i = 0; p->ref && i < s->steps->len; i++) {
        const CtStep *step = s->steps->pdata[i];
        if ((step->compared && step->c.pass && !p->full) || details >= (p->all ? G_MAXUINT : 5u))
            continue;
        if (details++ == 0)
            printf("\n");
        print_detail(step, p->full);
    }
    if (p->first_bad) {
        if (p->ref)
            print_growth(s);
        print_located(s);
        print_remedy(s, p->trt);
    }
    for (guint i = 0; i < s->notes->len; i++)
        printf("note: %s\n", (char *)s->notes->pdata[i]);
    for (guint i = 0; i < s->extra->len && i < 5; i++)
        printf("note: '%s' is only in the test\n", (char *)s->extra->pdata[i]);
    if (p->ref) {
        g_autofree char *verdict = ct_compare_verdict(s);
        printf("\n%s (rule: %s)\n", verdict, p->rule == CT_RULE_SUM ? "numpy" : "polygraphy");
        return ct_compare_passed(s) ? CT_EXIT_NOTHING : CT_EXIT_FOUND;
    }
    printf("\n%s\n", s->first_bad >= 0 || s->n_failed ? "FAILED" : "PASSED");
    return s->first_bad >= 0 || s->n_failed ? CT_EXIT_FOUND : CT_EXIT_NOTHING;
}

int ct_compare_print_csv(const CtSteps *s, const CtComparePrint *p)
{
    if (!print_table(s, p, CT_TABLE_CSV))
        return CT_EXIT_FAILED;
    return ct_compare_passed(s) ? CT_EXIT_NOTHING : CT_EXIT_FOUND;
}

int ct_compare_print_runs(const CtRuns *r, gboolean json)
{
    static const char *const names[] = {"#",  "tensor",  "groups",  "differing",
                                        "of", "max abs", "rel rms", "at"};
    CtTable *table = ct_table_new(json ? CT_TABLE_JSON : CT_TABLE_ALIGNED,
                                  "cutriage.compare-runs/1", G_N_ELEMENTS(names), names);
    for (guint i = 0; i < r->tensors->len; i++) {
        const CtRunsTensor *t = r->tensors->pdata[i];
        g_autofree char *index = g_strdup_printf("%u", i + 1), *max = number(t->max_abs);
        g_autofree char *groups =
            t->missing ? g_strdup("missing") : g_strdup_printf("%u", t->groups);
        g_autofree char *rms = number(t->rel_rms);
        g_autofree char *differing = g_strdup_printf("%" G_GUINT64_FORMAT, t->differing);
        g_autofree char *n = g_strdup_printf("%" G_GUINT64_FORMAT, t->n);
        const CtCell cells[] = {{CT_CELL_NUMBER, index}, {CT_CELL_TEXT, t->name},
                                {CT_CELL_TEXT, groups},  {CT_CELL_NUMBER, differing},
                                {CT_CELL_NUMBER, n},     {CT_CELL_TEXT, max},
                                {CT_CELL_TEXT, rms},     {CT_CELL_TEXT, t->where ? t->where : "-"}};
        ct_table_row(table, cells);
    }
    gboolean ok = ct_table_end(table);
    if (!json) {
        printf("\n%s: %u runs, %u of %u tensors are not the same in all",
               r->n_differ || r->n_missing ? "FAILED" : "PASSED", r->n_runs, r->n_differ,
               r->tensors->len);
        if (r->n_missing)
            printf(", %u missing in a run", r->n_missing);
        if (r->first >= 0)
            printf("; from '%s' on", ((CtRunsTensor *)r->tensors->pdata[r->first])->name);
        printf("\n");
        if (r->text)
            printf("runs differ [%s]: %s\n", r->kind, r->text);
    }
    return !ok ? CT_EXIT_FAILED : r->n_differ || r->n_missing ? CT_EXIT_FOUND : CT_EXIT_NOTHING;
}
