/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The contract `cutriage.diagnosis/1`. Keys may be added within a version, never renamed, removed
 * or given another meaning. The order of keys and entries is fixed, so equal input gives equal
 * bytes. Everything is UTF-8; unknown values are null, never 0.
 */
#include "report/report-private.h"

#include <jansson.h>
#include <stdlib.h>
#include <math.h>

#include "report/layout.h"
#include "report/slow-request.h"

static json_t *text_or_null(const char *text)
{
    if (!text)
        return json_null();
    if (g_utf8_validate(text, -1, NULL))
        return json_string(text);
    g_autofree char *valid = g_utf8_make_valid(text, -1);
    return json_string(valid);
}

static json_t *int_or_null(gint64 value)
{
    return value == CT_NONE ? json_null() : json_integer(value);
}

/* Rounded: the last digits of a double differ between machines. */
static json_t *real(double value, double unit)
{
    return isfinite(value) ? json_real(round(value / unit) * unit) : json_null();
}

static json_t *texts(const GPtrArray *list)
{
    json_t *out = json_array();
    for (guint i = 0; list && i < list->len; i++)
        json_array_append_new(out, text_or_null(g_ptr_array_index(list, i)));
    return out;
}

static json_t *citation(const CtReportLine *line)
{
    const CtCitation *c = line->c;
    json_t *o = json_object();
    json_object_set_new(o, "source", text_or_null(c->source));
    json_object_set_new(o, "line", c->line ? json_integer(c->line) : json_null());
    json_object_set_new(o, "text", text_or_null(line->text));
    json_object_set_new(o, "weight", real(c->weight, 0.01));
    json_object_set_new(o, "counted", real(c->counted, 0.01));
    json_object_set_new(o, "rule", text_or_null(c->rule));
    json_object_set_new(o, "group", text_or_null(c->group));
    json_object_set_new(o, "quote", text_or_null(c->quote));
    return o;
}

static json_t *citations(const GPtrArray *lines)
{
    json_t *out = json_array();
    for (guint i = 0; i < lines->len; i++)
        json_array_append_new(out, citation(g_ptr_array_index(lines, i)));
    return out;
}

static json_t *moment(const CtReportLine *line)
{
    json_t *o = json_object();
    const CtCitation *c = line->c;
    json_object_set_new(o, "time", text_or_null(line->time));
    json_object_set_new(o, "source", text_or_null(c->source));
    json_object_set_new(o, "line", c->line ? json_integer(c->line) : json_null());
    json_object_set_new(o, "text", text_or_null(line->text));
    return o;
}

static json_t *next_tests(const GPtrArray *next)
{
    json_t *out = json_array();
    for (guint i = 0; next && i < next->len; i++) {
        const CtNextTest *t = g_ptr_array_index(next, i);
        json_t *o = json_object();
        json_t *tells = json_array();
        for (guint k = 0; t->outcomes && k < t->outcomes->len; k++) {
            const CtOutcome *outcome = g_ptr_array_index(t->outcomes, k);
            json_t *tell = json_object();
            json_object_set_new(tell, "outcome", text_or_null(outcome->cause));
            json_object_set_new(tell, "cause", text_or_null(outcome->cause));
            json_object_set_new(tell, "when", text_or_null(outcome->when));
            json_array_append_new(tells, tell);
        }
        json_object_set_new(o, "test", text_or_null(t->test));
        json_object_set_new(o, "run", text_or_null(t->run));
        json_object_set_new(o, "say", text_or_null(t->say));
        json_object_set_new(o, "cost_s", t->cost_s > 0 ? real(t->cost_s, 0.1) : json_null());
        json_object_set_new(o, "gain_bits", real(t->gain, 0.001));
        json_object_set_new(o, "tells", tells);
        json_array_append_new(out, o);
    }
    return out;
}

static json_t *consequence_list(const CtReport *r, const CtHypothesis *root)
{
    json_t *out = json_array();
    for (guint i = 0; i < r->consequences->len; i++) {
        const CtReportCause *c = g_ptr_array_index(r->consequences, i);
        if (g_strcmp0(c->h->explained_by, root->cause) != 0)
            continue;
        json_t *o = json_object();
        json_object_set_new(o, "cause", text_or_null(c->h->cause));
        json_object_set_new(o, "layer", text_or_null(c->h->layer));
        json_object_set_new(o, "title", text_or_null(c->title));
        json_object_set_new(o, "score", real(c->h->score, 0.01));
        json_object_set_new(o, "for", citations(c->for_));
        json_array_append_new(out, o);
    }
    return out;
}

static json_t *hypothesis(const CtReport *r, const CtReportCause *c)
{
    const CtHypothesis *h = c->h;
    json_t *o = json_object();
    json_t *action = json_object();
    json_object_set_new(action, "do", text_or_null(h->action));
    json_object_set_new(action, "owner", text_or_null(h->owner));
    json_object_set_new(action, "urgency", text_or_null(h->urgency));
    json_object_set_new(o, "cause", text_or_null(h->cause));
    json_object_set_new(o, "layer", text_or_null(h->layer));
    json_object_set_new(o, "title", text_or_null(c->title));
    json_object_set_new(o, "about", text_or_null(h->about));
    json_object_set_new(o, "probability", real(h->probability, 0.0001));
    json_object_set_new(o, "score", real(h->score, 0.01));
    json_object_set_new(o, "prior", real(h->prior, 0.01));
    json_object_set_new(o, "capped", text_or_null(h->capped));
    json_object_set_new(o, "action", action);
    json_object_set_new(o, "for", citations(c->for_));
    json_object_set_new(o, "against", citations(c->against));
    json_object_set_new(o, "missing", texts(h->missing));
    json_object_set_new(o, "next", next_tests(h->next));
    json_object_set_new(o, "fix", texts(h->fix));
    json_object_set_new(o, "verify", texts(h->verify));
    json_object_set_new(o, "pitfalls", texts(h->pitfalls));
    json_object_set_new(o, "refs", texts(h->refs));
    json_object_set_new(o, "consequences", consequence_list(r, h));
    return o;
}

static json_t *source(const CtReportSource *s)
{
    json_t *o = json_object();
    json_object_set_new(o, "path", text_or_null(s->path));
    json_object_set_new(o, "format", text_or_null(s->format));
    json_object_set_new(o, "status", text_or_null(s->status));
    json_object_set_new(o, "note", text_or_null(s->note));
    json_object_set_new(o, "bytes", int_or_null(s->bytes));
    json_object_set_new(o, "lines", int_or_null(s->lines));
    json_object_set_new(o, "sections", json_integer(s->sections));
    return o;
}

static json_t *layer(const CtLayer *l)
{
    json_t *o = json_object();
    json_object_set_new(o, "layer", text_or_null(l->layer));
    json_object_set_new(o, "status", json_string(ct_layer_state_name(l->state)));
    json_object_set_new(o, "why", text_or_null(l->why));
    return o;
}

/* `x` is NULL where the report knows of one incident only: then its lines give the times. */
static void group_identity(json_t *o, const CtReport *r, const CtReportGroup *g,
                           const CtIncident *x, guint id)
{
    gint64 t0 = x ? x->t0_ns : g->first ? g->first->c->t_ns : CT_TIME_UNKNOWN;
    gint64 t1 = x ? x->t1_ns : g->last ? g->last->c->t_ns : CT_TIME_UNKNOWN;
    g_autofree char *from = ct_report_time(t0), *to = ct_report_time(t1);
    json_object_set_new(o, "id", json_integer(id));
    json_object_set_new(o, "title", text_or_null(g->root->title));
    json_object_set_new(o, "t0", text_or_null(from));
    json_object_set_new(o, "t1", text_or_null(to));
    json_object_set_new(o, "subjects", texts(x ? x->subjects : NULL));
    json_t *all = json_array();
    for (guint i = 0; i < r->causes->len; i++)
        json_array_append_new(all, hypothesis(r, g_ptr_array_index(r->causes, i)));
    json_object_set_new(o, "hypotheses", all);
}

static json_t *group(const CtReport *r, const CtReportGroup *g, const CtIncident *x, guint id)
{
    json_t *o = json_object();
    json_t *after = json_array();
    for (guint i = 0; i < r->consequences->len; i++) {
        const CtReportCause *c = g_ptr_array_index(r->consequences, i);
        if (g_strcmp0(c->h->explained_by, g->root->h->cause) == 0)
            json_array_append_new(after, text_or_null(c->h->cause));
    }
    group_identity(o, r, g, x, id);
    json_object_set_new(o, "cause", text_or_null(g->root->h->cause));
    json_object_set_new(o, "consequences", after);
    json_object_set_new(o, "first", g->first ? moment(g->first) : json_null());
    json_object_set_new(o, "last", g->last ? moment(g->last) : json_null());
    json_object_set_new(o, "sources", texts(g->sources));
    return o;
}

static json_t *groups_of(const CtReport *r)
{
    json_t *out = json_array();
    for (guint i = 0; i < r->incidents->len; i++) {
        const CtReportIncident *x = g_ptr_array_index(r->incidents, i);
        const CtReport *of = x->report ? x->report : r;
        for (guint k = 0; k < of->groups->len; k++)
            json_array_append_new(
                out, group(of, g_ptr_array_index(of->groups, k), x->incident, i + 1));
    }
    for (guint i = 0; i < r->groups->len && !r->incidents->len; i++)
        json_array_append_new(out, group(r, g_ptr_array_index(r->groups, i), NULL, i + 1));
    return out;
}

#define APPEND_ALL(array, list, expression)                                                        \
    for (guint i_ = 0; (list) && i_ < (list)->len; i_++) {                                         \
        gpointer it = g_ptr_array_index(list, i_);                                                 \
        json_array_append_new(array, expression);                                                  \
    }

char *ct_report_json(const CtReport *r)
{
    json_t *o = json_object();
    json_t *verdict = json_object();
    json_object_set_new(verdict, "outcome", json_string(ct_report_outcome_name(r->outcome)));
    json_object_set_new(verdict, "cause", text_or_null(r->verdict_cause));
    json_object_set_new(verdict, "sure", text_or_null(r->verdict_sure));
    json_object_set_new(verdict, "now", text_or_null(r->verdict_now));

    json_t *sources = json_array(), *layers = json_array(), *timeline = json_array();
    json_t *groups = groups_of(r), *hypotheses = json_array();
    APPEND_ALL(sources, r->sources, source(it));
    APPEND_ALL(layers, r->d->layers, layer(it));
    APPEND_ALL(timeline, r->timeline, moment(it));
    APPEND_ALL(hypotheses, r->causes, hypothesis(r, it));

    json_object_set_new(o, "schema", json_string(CT_REPORT_SCHEMA));
    json_object_set_new(o, "version", json_string(CT_VERSION));
    json_object_set_new(o, "lang", json_string(ct_lang_name(r->lang)));
    json_object_set_new(o, "verdict", verdict);
    json_object_set_new(o, "sources", sources);
    json_object_set_new(o, "layers", layers);
    json_object_set_new(o, "timeline", timeline);
    json_object_set_new(o, "groups", groups);
    json_object_set_new(o, "hypotheses", hypotheses);
    json_object_set_new(o, "slow_request", ct_report_slow_json(r));
    json_object_set_new(o, "temperature", real(r->d->temperature, 0.001));
    json_object_set_new(o, "notes", texts(r->d->notes));

    char *raw = json_dumps(o, JSON_INDENT(1) | JSON_REAL_PRECISION(10));
    json_decref(o);
    char *out = g_strconcat(raw ? raw : "null", "\n", NULL);
    free(raw);
    return out;
}
