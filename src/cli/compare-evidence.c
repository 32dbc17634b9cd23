/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The comparison as evidence: what was seen becomes events and facts of a case, so that the rules
 * weigh it together with logs. Nothing is concluded here beyond what the numbers show.
 */
#include <jansson.h>
#include <math.h>

#include "cli/compare-print.h"

static gint64 begin(CtEvidence *ev, const char *path, const char *format)
{
    gint64 source = ct_evidence_add_source(
        ev,
        &(CtSourceRow){
            .path = path, .format = format, .status = CT_OK, .bytes = CT_NONE, .lines = CT_NONE});
    gint64 section = ct_evidence_add_section(ev, &(CtSectionRow){.source = source,
                                                                 .first_line = 1,
                                                                 .last_line = 1,
                                                                 .title = "comparison of tensors",
                                                                 .command = "cutriage compare",
                                                                 .parser = "tensor-compare",
                                                                 .status = CT_OK,
                                                                 .clock_offset_ns = CT_NONE});
    ct_evidence_add_coverage(ev, section, "tensor-compare", NULL, CT_TIME_UNKNOWN, CT_TIME_UNKNOWN);
    return section;
}

static void add_event(CtEvidence *ev, gint64 section, guint line, const char *kind,
                      const char *name, const char *subject, const char *text, json_t *detail)
{
    char *json = detail ? json_dumps(detail, JSON_COMPACT) : NULL;
    ct_evidence_add_event(ev, &(CtEventRow){.section = section,
                                            .line = line,
                                            .kind = kind,
                                            .severity = CT_SEV_ERROR,
                                            .subject = subject,
                                            .name = name,
                                            .text = text,
                                            .detail = json});
    free(json);
    json_decref(detail);
}

static void step_event(CtEvidence *ev, gint64 section, const CtSteps *all, guint index)
{
    const CtStep *s = all->steps->pdata[index];
    g_autofree char *text = g_strdup_printf("%s: %s%s%s", s->name,
                                            ct_term(CT_LANG_EN, "fault", ct_fault_id(s->why.fault)),
                                            s->why.text ? ": " : "", s->why.text ? s->why.text : "");
    double e = isfinite(s->c.rel_rms) ? s->c.rel_rms : 0;
    const char *operation = ct_compare_operation(all, index);
    add_event(ev, section, index + 1, "tensor-fault", ct_fault_id(s->why.fault), s->name, text,
              json_pack("{s:s, s:i, s:b, s:b, s:f, s:f, s:s, s:s}", "operation",
                        operation ? operation : "", "place", (int)index + 1, "first",
                        (gint)index == all->first_bad, "bad", s->bad, "share",
                        isfinite(s->why.share) ? s->why.share : 0.0, "error", e, "type",
                        ct_dtype_name(s->effective), "types", s->types ? s->types : ""));
}

void ct_compare_evidence(const CtSteps *s, const CtComparePrint *p, CtEvidence *ev)
{
    gint64 section = begin(ev, p->test, "tensors");
    guint differ = 0;
    for (guint i = 0; i < s->steps->len; i++) {
        const CtStep *step = s->steps->pdata[i];
        const CtComparison *c = &step->c;
        if (step->why.fault != CT_FAULT_NONE)
            step_event(ev, section, s, i);
        if (!step->compared) {
            g_autofree char *text = g_strdup_printf("%s: %s", step->name, step->problem);
            add_event(ev, section, i + 1, "tensor-missing", step->test ? "unreadable" : "missing",
                      step->name, text, NULL);
            continue;
        }
        differ += p->ref && !c->pass;
        guint64 inf = c->test.pos_inf + c->test.neg_inf;
        if (c->test.nan || inf) {
            g_autofree char *text =
                g_strdup_printf("%s holds %" G_GUINT64_FORMAT " NaN and %" G_GUINT64_FORMAT " Inf",
                                step->name, c->test.nan, inf);
            add_event(ev, section, i + 1, "nan-output", c->test.nan ? "nan" : "inf", step->name,
                      text, NULL);
        }
    }
    g_autofree char *verdict = ct_compare_verdict(s, p, CT_LANG_EN);
    if (p->ref && differ)
        add_event(ev, section, s->steps->len + 1, "accuracy-mismatch", "compare", NULL, verdict,
                  NULL);
    else if (p->ref && ct_compare_passed(s, p))
        add_event(ev, section, s->steps->len + 1, "accuracy-ok", "compare", NULL, verdict, NULL);
    ct_evidence_end_section(ev, section, s->steps->len + 1, NULL, CT_OK, NULL);
    ct_evidence_flush(ev);
}

void ct_compare_evidence_runs(const CtRuns *r, CtEvidence *ev)
{
    gint64 section = begin(ev, "runs", "tensors");
    if (r->first >= 0) {
        const CtRunsTensor *t = r->tensors->pdata[r->first];
        g_autofree char *text =
            g_strdup_printf("%u runs differ from '%s' on: %s", r->n_runs, t->name, r->text);
        add_event(ev, section, (guint)r->first + 1, "runs-differ", r->kind, t->name, text,
                  json_pack("{s:i, s:i, s:f}", "runs", (int)r->n_runs, "tensors", (int)r->n_differ,
                            "error", t->rel_rms));
    }
    ct_evidence_end_section(ev, section, r->tensors->len + 1, NULL, CT_OK, NULL);
    ct_evidence_flush(ev);
}
