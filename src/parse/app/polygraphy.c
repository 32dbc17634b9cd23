/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `polygraphy run` prints of a comparison: the statistics of both sides and the tolerance
 * that an output would need. The statistics alone often say why an output is wrong: NaN beside a
 * reference beyond the range of half precision, the same distribution in another order, a factor.
 */
#include <math.h>
#include <string.h>

#include "parse/common/scan.h"

#define HALF_MAX 65504.0

typedef struct {
    gboolean known;
    double mean, dev, min, max;
} Stats;

typedef struct {
    char test[80], ref[80]; /* names of the runners */
    char output[160];
    Stats of_test, of_ref;
    gboolean told;          /* a fault was named: the first one counts, the rest follows from it */
} State;

static gpointer begin(CtEmit *emit)
{
    return g_new0(State, 1);
}

/* "mean=0.1, std-dev=nan, ...": nan and inf are values here. */
static double stat_of(CtStr s, const char *name)
{
    gssize at = ct_str_find(s, name);
    CtStr rest = ct_str_from(s, at < 0 ? s.n : (gsize)at + strlen(name));
    char buf[40], *end;
    gsize n = 0;
    while (n < rest.n && n < sizeof buf - 1 && rest.p[n] != ',' && rest.p[n] != ' ')
        n++;
    memcpy(buf, rest.p ? rest.p : "", n);
    buf[n] = '\0';
    double value = g_ascii_strtod(buf, &end);
    return end == buf ? NAN : value;
}

static double magnitude(const Stats *s)
{
    return fmax(fabs(s->min), fabs(s->max));
}

/* Of two runners the one that is no engine is the reference; of two engines the second. */
static void runners(State *st, CtStr s)
{
    CtStr rest = ct_str_from(s, (gsize)ct_str_find(s, "Accuracy Comparison | ") + 22), first;
    if (!ct_str_cut(&rest, " vs. ", &first))
        return;
    CtStr second = ct_str_token(&rest);
    gboolean swap = ct_str_starts(second, "trt") && !ct_str_starts(first, "trt");
    ct_str_buf(ct_str_strip(swap ? second : first), st->test, sizeof st->test);
    ct_str_buf(swap ? ct_str_strip(first) : second, st->ref, sizeof st->ref);
}

static void output(State *st, CtStr s)
{
    CtStr name;
    if (!ct_str_between(s, "Comparing Output: '", "'", &name))
        return;
    ct_str_buf(name, st->output, sizeof st->output);
    st->of_test = st->of_ref = (Stats){0};
}

static void statistics(State *st, CtStr s)
{
    CtStr runner = s, rest = s;
    if (!ct_str_cut(&rest, ": ", &runner) || ct_str_has(rest, "Difference | Stats"))
        return;
    Stats *side = *st->test && ct_str_ends(runner, st->test)  ? &st->of_test
                  : *st->ref && ct_str_ends(runner, st->ref) ? &st->of_ref
                                                             : NULL;
    if (!side)
        return;
    *side = (Stats){TRUE, stat_of(rest, "mean="), stat_of(rest, "std-dev="), stat_of(rest, "min="),
                    stat_of(rest, "max=")};
}

static gboolean alike(double a, double b, double share)
{
    return fabs(a - b) <= share * fmax(fabs(a), fabs(b));
}

/* The kind of fault that the two distributions show, NULL when they show none. */
static const char *fault(const Stats *t, const Stats *r, char *why, gsize size)
{
    if (!isfinite(r->mean) || !isfinite(r->max) || !isfinite(r->min))
        return NULL;
    if (!isfinite(t->max) || !isfinite(t->min) || !isfinite(t->mean)) {
        g_snprintf(why, size, "not finite, where the reference reaches %.6g", magnitude(r));
        return magnitude(r) > HALF_MAX ? "overflow" : NULL;
    }
    if (magnitude(t) == HALF_MAX && magnitude(r) > HALF_MAX) {
        g_snprintf(why, size, "clipped at 65504, the reference reaches %.6g", magnitude(r));
        return "overflow";
    }
    if (t->dev == 0 && r->dev > 0) {
        g_snprintf(why, size, "all elements are %.6g, the reference varies", t->mean);
        return "constant";
    }
    if (!(r->dev > 0) || !(t->dev > 0))
        return NULL;
    if (alike(t->mean, r->mean, 1e-3) && alike(t->dev, r->dev, 1e-3) &&
        alike(t->min, r->min, 1e-3) && alike(t->max, r->max, 1e-3)) {
        g_snprintf(why, size, "the same values as the reference, in other places");
        return "permuted";
    }
    double factor = t->dev / r->dev;
    if (!alike(factor, 1, 0.05) && alike(t->mean, factor * r->mean, 0.02) &&
        alike(t->min, factor * r->min, 0.02) && alike(t->max, factor * r->max, 0.02)) {
        g_snprintf(why, size, "the reference times %.6g", factor);
        return "scale";
    }
    return NULL;
}

static void failed(State *st, CtEmit *emit, const CtLine *line, CtStr s)
{
    CtStr name;
    char why[120];
    if (!ct_str_between(s, "Output: '", "'", &name) || !ct_str_eq(name, st->output))
        return;
    g_autofree char *subject = g_strdup_printf("tensor:%s", st->output);
    ct_emit_fact(emit, line, subject, "compare.verdict", "failed");
    if (st->told || !st->of_test.known || !st->of_ref.known)
        return;
    const char *kind = fault(&st->of_test, &st->of_ref, why, sizeof why);
    st->told = TRUE;
    if (!kind)
        return;
    g_autofree char *text = g_strdup_printf("%s: %s", st->output, why);
    ct_emit_event(emit, line,
                  (CtEventRow){.kind = "tensor-fault",
                               .severity = CT_SEV_ERROR,
                               .subject = st->output,
                               .name = kind,
                               .text = text,
                               .detail = "{\"first\":true}"});
}

static void tolerance(State *st, CtEmit *emit, const CtLine *line, CtStr s)
{
    static const struct {
        const char *mark, *key;
    } parts[] = {{"[abs=", "compare.abs-error"}, {"[rel=", "compare.rel-error"}};
    g_autofree char *subject = g_strdup_printf("tensor:%s", st->output);
    for (gsize i = 0; i < G_N_ELEMENTS(parts) && *st->output; i++) {
        CtStr text;
        double value;
        if (ct_str_between(s, parts[i].mark, "]", &text) && ct_str_number(text, &value))
            ct_emit_number(emit, line, subject, parts[i].key, value, NULL);
    }
}

static void line(gpointer state, const CtLine *line, CtEmit *emit)
{
    State *st = state;
    CtStr s = ct_line_str(line);
    if (ct_str_has(s, "Accuracy Comparison | "))
        runners(st, s);
    else if (ct_str_has(s, "Comparing Output: '"))
        output(st, s);
    else if (ct_str_has(s, " | Stats: mean="))
        statistics(st, s);
    else if (ct_str_has(s, "Minimum Required Tolerance"))
        tolerance(st, emit, line, s);
    else if (ct_str_has(s, "FAILED | Output: '"))
        failed(st, emit, line, s);
    else if (ct_str_has(s, "PASSED | Output: '"))
        ct_emit_coverage(emit, "tensor-compare", NULL);
}

static void finish(gpointer state, CtEmit *emit)
{
    g_free(state);
}

static int sniff(const CtSniff *sniff)
{
    return 0; /* reads along wherever its lines stand */
}

static const char *const anchors[] = {"Accuracy Comparison | ", "Comparing Output: '",
                                      " | Stats: mean=", "Minimum Required Tolerance",
                                      "FAILED | Output: '", "PASSED | Output: '", NULL};

const CtParser ct_parser_polygraphy = {
    .id = "polygraphy",
    .summary = "comparison printed by polygraphy run",
    .doc = "Polygraphy's comparison as it stands in a log: the tolerance that each output would "
           "need, and, for the first output that fails, what the statistics of both sides show: "
           "a reference beyond the range of half precision, a constant, a factor, the same "
           "values in other places.",
    .sniff = sniff,
    .begin = begin,
    .line = line,
    .finish = finish,
    .anchors = anchors,
};
