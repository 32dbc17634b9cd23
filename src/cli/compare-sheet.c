/* SPDX-License-Identifier: Apache-2.0 */
/* The result of `compare` as a sheet: a table, details, the first bad tensor, what to do. */
#include <math.h>

#include "cli/compare-print.h"

#define SHOWN 30u
#define DETAILED 5u

const CtMsg ct_compare_headings[] = {
    CT_MSG_CMP_COL_TENSOR,  CT_MSG_CMP_COL_STATE,   CT_MSG_CMP_COL_OVER,    CT_MSG_CMP_COL_MAX_ABS,
    CT_MSG_CMP_COL_MAX_REL, CT_MSG_CMP_COL_REL_RMS, CT_MSG_CMP_COL_MAX_REF, CT_MSG_CMP_COL_COSINE,
    CT_MSG_CMP_COL_TYPE,    CT_MSG_CMP_COL_SHAPE};
const CtMsg ct_compare_run_headings[] = {
    CT_MSG_CMP_COL_TENSOR,  CT_MSG_CMP_COL_GROUPS,  CT_MSG_CMP_COL_DIFFERING, CT_MSG_CMP_COL_OF,
    CT_MSG_CMP_COL_MAX_ABS, CT_MSG_CMP_COL_REL_RMS, CT_MSG_CMP_COL_AT};

gboolean ct_compare_passed(const CtSteps *s, const CtComparePrint *p)
{
    if (!p->ref)
        return s->first_bad < 0 && s->n_failed == 0;
    return s->n_failed == 0 && s->extra->len == 0 && s->steps->len > 0;
}

/* Files that are not numbered are in no order, so their names must tell. */
static gboolean is_named_input(const char *name)
{
    static const char *const words[] = {"input", "image", "pixel_values"};
    g_autofree char *plain = ct_plain_name(name);
    for (gsize i = 0; i < G_N_ELEMENTS(words); i++)
        if (g_str_has_prefix(plain, words[i]))
            return TRUE;
    return FALSE;
}

gboolean ct_compare_at_input(const CtSteps *s, guint index)
{
    const CtStep *step = s->steps->pdata[index];
    if (s->graph)
        return step->graph_input;
    return s->unordered ? is_named_input(step->name) : index == 0;
}

const char *ct_compare_operation(const CtSteps *s, guint index)
{
    const CtStep *step = s->steps->pdata[index];
    gboolean sure = s->graph || s->unordered || s->steps->len > 1;
    return step->op ? step->op : sure && ct_compare_at_input(s, index) ? "input" : NULL;
}

static char *whole(guint64 n)
{
    return g_strdup_printf("%" G_GUINT64_FORMAT, n);
}

static char *number(double v)
{
    return isnan(v) ? g_strdup("-") : g_strdup_printf("%.3g", v);
}

static char *exact(double v)
{
    return g_strdup_printf("%.7g", v);
}

static char *share(guint64 k, guint64 n)
{
    if (k == 0)
        return g_strdup("0");
    double x = 100.0 * (double)k / (double)MAX(n, 1u);
    return x < 0.01 ? g_strdup("<0.01%") : g_strdup_printf("%.*f%%", x < 1 ? 2 : 1, x);
}

char *ct_compare_verdict(const CtSteps *s, const CtComparePrint *p, CtLang lang)
{
    guint differ = 0, lost = s->steps->len - s->n_compared;
    for (guint i = 0; i < s->steps->len; i++) {
        const CtStep *step = s->steps->pdata[i];
        differ += step->compared && !step->c.pass;
    }
    g_autofree char *compared = whole(s->n_compared), *of = whole(s->steps->len),
                    *n_differ = whole(differ), *n_lost = whole(lost), *extra = whole(s->extra->len);
    g_autoptr(GPtrArray) parts = g_ptr_array_new_with_free_func(g_free);
    g_ptr_array_add(parts,
                    ct_msgf(lang, s->steps->len == 1 ? CT_MSG_CMP_COUNT_ONE : CT_MSG_CMP_COUNT,
                            compared, of, NULL));
    if (p->ref)
        g_ptr_array_add(parts, ct_msgf(lang, differ == 1 ? CT_MSG_CMP_DIFFERS : CT_MSG_CMP_DIFFER,
                                       n_differ, NULL));
    if (lost)
        g_ptr_array_add(parts, ct_msgf(lang, CT_MSG_CMP_LOST, n_lost, NULL));
    if (s->extra->len)
        g_ptr_array_add(parts, ct_msgf(lang, CT_MSG_CMP_ONLY_TEST, extra, NULL));
    g_ptr_array_add(parts, NULL);
    return g_strjoinv(ct_msg(lang, CT_MSG_CMP_JOIN), (char **)parts->pdata);
}

static const char *passed(CtLang lang, gboolean ok)
{
    return ct_msg(lang, ok ? CT_MSG_CMP_PASSED : CT_MSG_CMP_FAILED);
}

static const char *state(const CtStep *s, CtLang lang)
{
    if (!s->compared)
        return ct_term(lang, "compare", s->test ? "unreadable" : "missing");
    if (s->c.test.nan > s->c.nan_both)
        return "NaN";
    if (s->c.nan_both)
        return ct_term(lang, "compare", "NaN in both");
    return ct_term(lang, "compare", s->c.pass ? "ok" : "differs");
}

char **ct_compare_cells(const CtStep *s, guint index, CtLang lang)
{
    const CtComparison *c = &s->c;
    gboolean ok = s->compared;
    double most = MAX(fabs(c->sums.ref_min), fabs(c->sums.ref_max));
    char **cells = g_new0(char *, CT_COMPARE_COLUMNS + 1);
    guint i = 0;
    cells[i++] = whole(index + 1);
    cells[i++] = g_strdup(s->name);
    cells[i++] = g_strdup(state(s, lang));
    cells[i++] = ok ? share(ct_comparison_over(c), c->n) : g_strdup("-");
    cells[i++] = number(ok ? c->sums.max_abs : NAN);
    cells[i++] = number(ok ? c->sums.max_rel : NAN);
    cells[i++] = number(ok ? c->rel_rms : NAN);
    cells[i++] = number(ok && c->sums.finite ? most : NAN);
    cells[i++] = ok && !isnan(c->cosine) ? g_strdup_printf("%.6f", c->cosine) : g_strdup("-");
    cells[i++] = g_strdup(s->types ? s->types : "-");
    cells[i++] = g_strdup(s->shape ? s->shape : "-");
    return cells;
}

static void begin_table(CtSheet *sheet, guint n, const CtMsg *headings)
{
    const char *names[CT_COMPARE_COLUMNS] = {"#"};
    for (guint i = 1; i < n; i++)
        names[i] = ct_msg(sheet->lang, headings[i - 1]);
    ct_sheet_table(sheet, n, names);
}

static void add_hidden(CtSheet *sheet, guint hidden)
{
    g_autofree char *n = whole(hidden);
    if (hidden)
        ct_sheet_take(sheet, CT_SHEET_TEXT, ct_msgf(sheet->lang, CT_MSG_CMP_HIDDEN, n, NULL));
}

static void add_table(CtSheet *sheet, const CtSteps *s, const CtComparePrint *p)
{
    guint left = p->all ? s->steps->len : SHOWN, hidden = 0;
    gboolean few = s->steps->len <= left;
    begin_table(sheet, CT_COMPARE_COLUMNS, ct_compare_headings);
    for (guint i = 0; i < s->steps->len; i++) {
        const CtStep *step = s->steps->pdata[i];
        gboolean notable = few || step->bad || step->loss || !step->compared || !step->c.pass;
        if (!left || !notable) {
            hidden++;
            continue;
        }
        g_auto(GStrv) cells = ct_compare_cells(step, i, sheet->lang);
        ct_sheet_row(sheet, (const char *const *)cells);
        left--;
    }
    add_hidden(sheet, hidden);
}

static void add_specials(CtSheet *sheet, CtMsg who, const CtSpecials *s)
{
    if (!s->nan && !s->pos_inf && !s->neg_inf)
        return;
    g_autofree char *nan = whole(s->nan), *pos = whole(s->pos_inf), *neg = whole(s->neg_inf);
    ct_sheet_take(
        sheet, CT_SHEET_SUB,
        ct_msgf(sheet->lang, CT_MSG_CMP_SPECIALS, ct_msg(sheet->lang, who), nan, pos, neg, NULL));
}

static void add_quantiles(CtSheet *sheet, const CtFull *f)
{
    g_autoptr(GString) list = g_string_new(NULL);
    for (guint q = 0; q < CT_QUANTILES; q++)
        g_string_append_printf(list, "%sp%g %.3g", q ? ", " : "", ct_quantiles[q] * 100,
                               f->quantile[q]);
    g_autofree char *line = ct_msgf(sheet->lang, CT_MSG_CMP_QUANTILES, list->str, NULL);
    if (f->rank_error > 0) {
        g_autofree char *off = g_strdup_printf("%.2f", 100 * f->rank_error);
        ct_sheet_take(sheet, CT_SHEET_SUB,
                      ct_msgf(sheet->lang, CT_MSG_CMP_SAMPLED, line, off, NULL));
    } else {
        ct_sheet_add(sheet, CT_SHEET_SUB, line);
    }
}

static void add_full(CtSheet *sheet, const CtFull *f)
{
    if (f->have_quantiles)
        add_quantiles(sheet, f);
    if (f->channel_axis >= 0) {
        g_autofree char *which = whole(f->worst_channel), *of = whole(f->n_channels),
                        *rms = number(f->worst_channel_rms),
                        *median = number(f->channel_rms_median),
                        *max = number(f->worst_channel_max);
        ct_sheet_take(sheet, CT_SHEET_SUB,
                      ct_msgf(sheet->lang, CT_MSG_CMP_CHANNEL, which, of, rms, median, max, NULL));
    }
    if (f->rows) {
        g_autofree char *equal = whole(f->argmax_equal), *rows = whole(f->rows),
                        *k = whole(f->top_k), *top = whole(f->topk_equal);
        ct_sheet_take(sheet, CT_SHEET_SUB,
                      ct_msgf(sheet->lang, CT_MSG_CMP_TOP, equal, rows, k, top, NULL));
    }
}

static void add_place(CtSheet *sheet, CtMsg id, const char *at, double ref, double test)
{
    g_autofree char *r = exact(ref), *t = exact(test);
    if (at)
        ct_sheet_take(sheet, CT_SHEET_SUB, ct_msgf(sheet->lang, id, at, r, t, NULL));
}

static void add_sums(CtSheet *sheet, const CtComparison *c)
{
    g_autofree char *atol = number(c->atol), *rtol = number(c->rtol), *sum = whole(c->over_sum),
                    *either = whole(c->over_either), *n = whole(c->n);
    ct_sheet_take(sheet, CT_SHEET_SUB,
                  ct_msgf(sheet->lang, CT_MSG_CMP_OVER, atol, rtol, sum, either, n, NULL));
    g_autofree char *abs = number(c->mean_abs), *rel = number(c->mean_rel),
                    *sqnr = g_strdup_printf("%.1f", c->sqnr),
                    *psnr = g_strdup_printf("%.1f", c->psnr);
    g_autofree char *means = ct_msgf(sheet->lang, CT_MSG_CMP_MEANS, abs, rel, sqnr, psnr, NULL);
    if (c->has_ulp) {
        g_autofree char *mean = number(c->mean_ulp),
                        *max = g_strdup_printf("%.0f", c->sums.max_ulp),
                        *ulp = ct_msgf(sheet->lang, CT_MSG_CMP_ULP, mean, max, NULL);
        ct_sheet_take(sheet, CT_SHEET_SUB,
                      g_strconcat(means, ct_msg(sheet->lang, CT_MSG_CMP_JOIN), ulp, NULL));
    } else {
        ct_sheet_add(sheet, CT_SHEET_SUB, means);
    }
}

static void add_detail(CtSheet *sheet, const CtStep *s, gboolean full)
{
    const CtComparison *c = &s->c;
    ct_sheet_add(sheet, CT_SHEET_ITEM, s->name);
    if (!s->compared) {
        if (s->near)
            ct_sheet_take(sheet, CT_SHEET_SUB,
                          ct_msgf(sheet->lang, CT_MSG_CMP_MISSING_NEAR, s->near, NULL));
        else
            ct_sheet_add(sheet, CT_SHEET_SUB,
                         s->test ? s->problem : ct_msg(sheet->lang, CT_MSG_CMP_MISSING));
        return;
    }
    add_specials(sheet, CT_MSG_CMP_REFERENCE, &c->ref);
    add_specials(sheet, CT_MSG_CMP_TEST, &c->test);
    if (c->ref.nan)
        ct_sheet_add(sheet, CT_SHEET_SUB, ct_msg(sheet->lang, CT_MSG_CMP_REF_NAN));
    if (!c->pass)
        add_place(sheet, CT_MSG_CMP_FIRST, s->first_at, c->first_ref, c->first_test);
    add_place(sheet, CT_MSG_CMP_WORST, s->worst_at, c->worst_abs_ref, c->worst_abs_test);
    add_sums(sheet, c);
    if (full)
        add_full(sheet, &c->full);
}

static void add_details(CtSheet *sheet, const CtSteps *s, const CtComparePrint *p)
{
    guint details = 0, most = p->all ? G_MAXUINT : DETAILED;
    for (guint i = 0; i < s->steps->len && details < most; i++) {
        const CtStep *step = s->steps->pdata[i];
        if (step->compared && (!p->ref || (step->c.pass && !p->full)))
            continue;
        if (details++ == 0)
            ct_sheet_add(sheet, CT_SHEET_HEADING, ct_msg(sheet->lang, CT_MSG_CMP_DETAILS));
        add_detail(sheet, step, p->full);
    }
}

/* The mark in brackets is the same in both languages: a report that was kept as a file is read by
 * it. */
static void add_why(CtSheet *sheet, const CtSteps *all, guint index)
{
    const CtStep *s = all->steps->pdata[index];
    const char *id = ct_fault_id(s->why.fault), *op = ct_compare_operation(all, index),
               *text = sheet->lang == CT_LANG_ZH ? s->why.text_zh : s->why.text;
    ct_sheet_take(sheet, CT_SHEET_ITEM,
                  g_strdup_printf("%u %s%s%s%s [%s]: %s", index + 1, s->name, op ? " (" : "",
                                  op ? op : "", op ? ")" : "", id,
                                  ct_term(sheet->lang, "fault", id)));
    if (s->bad)
        ct_sheet_mark_bad(sheet);
    if (text)
        ct_sheet_add(sheet, CT_SHEET_SUB, text);
}

static void add_growth(CtSheet *sheet, const CtSteps *s)
{
    guint n = s->steps->len, every = MAX(n / 24, 1u);
    g_autoptr(GString) out = g_string_new(NULL);
    for (guint i = 0; i < n; i++) {
        const CtStep *step = s->steps->pdata[i];
        if (!step->compared || (i % every && (gint)i != s->first_bad && !step->bad))
            continue;
        double e = step->c.rel_rms;
        int bar = isfinite(e) && e > 0 ? (int)CLAMP(2.5 * (log10(e) + 8), 0, 25) : 0;
        if (step->c.test.nan + step->c.test.pos_inf + step->c.test.neg_inf)
            bar = 25;
        const char *mark = step->bad    ? ct_msg(sheet->lang, CT_MSG_CMP_BAD_MARK)
                           : step->loss ? ct_msg(sheet->lang, CT_MSG_CMP_LOSS_MARK)
                                        : NULL;
        g_string_append_printf(out, "  %4u %-36.36s %9.2e %.*s%s%s\n", i + 1, step->name, e, bar,
                               "#########################", mark ? "  " : "", mark ? mark : "");
    }
    ct_sheet_add(sheet, CT_SHEET_HEADING, ct_msg(sheet->lang, CT_MSG_CMP_GROWTH));
    ct_sheet_add(sheet, CT_SHEET_CODE, out->str);
}

static gboolean any_loss(const CtSteps *s)
{
    for (guint i = 0; i < s->steps->len; i++)
        if (((const CtStep *)s->steps->pdata[i])->loss)
            return TRUE;
    return FALSE;
}

static CtMsg located_heading(const CtSteps *s, const CtComparePrint *p)
{
    if (s->first_bad >= 0)
        return s->graph ? CT_MSG_CMP_FIRST_BAD : CT_MSG_CMP_FIRST_BAD_FILES;
    if (any_loss(s))
        return CT_MSG_CMP_NONE_BAD_LOSS;
    return p->ref ? CT_MSG_CMP_NONE_BAD : CT_MSG_CMP_NONE_BAD_ALONE;
}

static void add_located(CtSheet *sheet, const CtSteps *s, const CtComparePrint *p)
{
    guint shown = 0;
    ct_sheet_add(sheet, CT_SHEET_HEADING, ct_msg(sheet->lang, located_heading(s, p)));
    if (s->first_bad >= 0)
        add_why(sheet, s, (guint)s->first_bad);
    for (guint i = 0; i < s->steps->len; i++) {
        const CtStep *step = s->steps->pdata[i];
        if ((gint)i == s->first_bad || step->why.fault == CT_FAULT_NONE ||
            !(step->loss || step->bad))
            continue;
        if (shown++ == 0)
            ct_sheet_add(
                sheet, CT_SHEET_HEADING,
                ct_msg(sheet->lang, s->first_bad >= 0 ? CT_MSG_CMP_ALSO : CT_MSG_CMP_LOSSES));
        if (shown <= 8)
            add_why(sheet, s, i);
    }
    if (shown > 8) {
        g_autofree char *more = whole(shown - 8);
        ct_sheet_take(sheet, CT_SHEET_ITEM, ct_msgf(sheet->lang, CT_MSG_CMP_MORE, more, NULL));
    }
}

static void add_notes(CtSheet *sheet, const CtSteps *s)
{
    const GPtrArray *notes = sheet->lang == CT_LANG_ZH ? s->notes_zh : s->notes;
    for (guint i = 0; i < notes->len; i++)
        ct_sheet_take(sheet, CT_SHEET_TEXT,
                      ct_msgf(sheet->lang, CT_MSG_CMP_NOTE, notes->pdata[i], NULL));
    for (guint i = 0; i < s->extra->len && i < 5; i++)
        ct_sheet_take(sheet, CT_SHEET_TEXT,
                      ct_msgf(sheet->lang, CT_MSG_CMP_NOTE_EXTRA, s->extra->pdata[i], NULL));
}

CtSheet *ct_compare_sheet(const CtSteps *s, const CtComparePrint *p)
{
    g_autofree char *title = p->ref ? ct_msgf(p->lang, CT_MSG_CMP_TITLE, p->ref, p->test, NULL)
                                    : ct_msgf(p->lang, CT_MSG_CMP_TITLE_ALONE, p->test, NULL);
    CtSheet *sheet = ct_sheet_new(p->lang, title);
    if (p->ref)
        add_table(sheet, s, p);
    add_details(sheet, s, p); /* without a reference: what could not be read */
    if (p->first_bad && s->n_compared) {
        if (p->ref)
            add_growth(sheet, s);
        add_located(sheet, s, p);
        ct_compare_remedy(sheet, s, p->trt);
    }
    add_notes(sheet, s);
    gboolean ok = ct_compare_passed(s, p);
    g_autofree char *counts = ct_compare_verdict(s, p, p->lang);
    sheet->bad = !ok;
    sheet->verdict =
        p->ref ? ct_msgf(p->lang, CT_MSG_CMP_VERDICT, passed(p->lang, ok), counts,
                         p->rule == CT_RULE_SUM ? "numpy" : "polygraphy", NULL)
               : ct_msgf(p->lang, CT_MSG_CMP_VERDICT_ALONE, passed(p->lang, ok), counts, NULL);
    return sheet;
}

char **ct_compare_run_cells(const CtRuns *r, guint index, CtLang lang)
{
    const CtRunsTensor *t = r->tensors->pdata[index];
    char **cells = g_new0(char *, CT_COMPARE_RUN_COLUMNS + 1);
    guint i = 0;
    cells[i++] = whole(index + 1);
    cells[i++] = g_strdup(t->name);
    cells[i++] = t->missing ? g_strdup(ct_term(lang, "compare", "missing")) : whole(t->groups);
    cells[i++] = whole(t->differing);
    cells[i++] = whole(t->n);
    cells[i++] = number(t->max_abs);
    cells[i++] = number(t->rel_rms);
    cells[i++] = g_strdup(t->where ? t->where : "-");
    return cells;
}

static void add_run_table(CtSheet *sheet, const CtRuns *r, gboolean all)
{
    guint left = all ? r->tensors->len : SHOWN, hidden = 0;
    gboolean few = r->tensors->len <= left;
    begin_table(sheet, CT_COMPARE_RUN_COLUMNS, ct_compare_run_headings);
    for (guint i = 0; i < r->tensors->len; i++) {
        const CtRunsTensor *t = r->tensors->pdata[i];
        if (!left || !(few || t->differing || t->missing)) {
            hidden++;
            continue;
        }
        g_auto(GStrv) cells = ct_compare_run_cells(r, i, sheet->lang);
        ct_sheet_row(sheet, (const char *const *)cells);
        left--;
    }
    add_hidden(sheet, hidden);
}

CtSheet *ct_compare_sheet_runs(const CtRuns *r, gboolean all, CtLang lang)
{
    g_autofree char *n = whole(r->n_runs), *title = ct_msgf(lang, CT_MSG_CMP_TITLE_RUNS, n, NULL);
    g_autofree char *differ = whole(r->n_differ), *of = whole(r->tensors->len),
                    *missing = whole(r->n_missing);
    CtSheet *sheet = ct_sheet_new(lang, title);
    add_run_table(sheet, r, all);
    if (r->text)
        ct_sheet_take(sheet, CT_SHEET_TEXT, /* read again by its mark, in both languages */
                      g_strdup_printf("runs differ [%s]: %s", r->kind,
                                      lang == CT_LANG_ZH ? r->text_zh : r->text));
    if (r->unordered && r->n_differ > 1)
        ct_sheet_take(sheet, CT_SHEET_TEXT,
                      ct_msgf(lang, CT_MSG_CMP_NOTE, ct_msg(lang, CT_MSG_CMP_UNORDERED), NULL));
    g_autoptr(GString) verdict = g_string_new(NULL);
    sheet->bad = r->n_differ || r->n_missing;
    g_autofree char *first =
        ct_msgf(lang, CT_MSG_CMP_RUNS_VERDICT, passed(lang, !sheet->bad), n, differ, of, NULL);
    g_string_append(verdict, first);
    if (r->n_missing) {
        g_autofree char *lost = ct_msgf(lang, CT_MSG_CMP_RUNS_MISSING, missing, NULL);
        g_string_append_printf(verdict, "%s%s", ct_msg(lang, CT_MSG_CMP_JOIN), lost);
    }
    if (r->first >= 0) {
        const CtRunsTensor *t = r->tensors->pdata[r->first];
        g_autofree char *from = ct_msgf(lang, CT_MSG_CMP_RUNS_FROM, t->name, NULL);
        g_string_append_printf(verdict, "%s%s", ct_msg(lang, CT_MSG_CMP_JOIN), from);
    }
    sheet->verdict = g_strdup(verdict->str);
    return sheet;
}
