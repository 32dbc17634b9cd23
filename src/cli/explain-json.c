/* SPDX-License-Identifier: Apache-2.0 */
/* The contract `cutriage.explain/1`: keys may be added, never renamed, removed or redefined. */
#include <jansson.h>
#include <stdlib.h>

#include "cli/explain-text.h"

static void set_text(json_t *o, const char *key, const char *text)
{
    if (!text) {
        json_object_set_new(o, key, json_null());
        return;
    }
    g_autofree char *valid = g_utf8_make_valid(text, -1);
    json_object_set_new(o, key, json_string(valid));
}

typedef json_t *(*Maker)(const void *item);

static json_t *list(const GPtrArray *items, Maker make)
{
    json_t *out = json_array();
    for (guint i = 0; i < items->len; i++)
        json_array_append_new(out, make(items->pdata[i]));
    return out;
}

static json_t *text(const void *item)
{
    g_autofree char *valid = g_utf8_make_valid(item, -1);
    return json_string(valid);
}

static json_t *hit(const void *item)
{
    const CtExplainHit *h = item;
    json_t *o = json_object();
    set_text(o, "cause", h->cause);
    set_text(o, "layer", h->layer);
    set_text(o, "title", h->title);
    set_text(o, "owner", h->owner);
    set_text(o, "action", h->action);
    set_text(o, "why", h->why);
    json_object_set_new(o, "weight", json_real(h->weight));
    json_object_set_new(o, "probability",
                        h->probability < 0 ? json_null() : json_real(h->probability));
    return o;
}

static json_t *test(const void *item)
{
    const CtExplainTest *t = item;
    json_t *o = json_object();
    set_text(o, "test", t->test);
    set_text(o, "run", t->run);
    set_text(o, "say", t->say);
    json_object_set_new(o, "cost_s", json_real(t->cost_s));
    return o;
}

static json_t *pairs(const GPtrArray *items)
{
    json_t *o = json_object();
    for (guint i = 0; i < items->len; i++) {
        const CtExplainPair *p = items->pdata[i];
        set_text(o, p->key, p->value);
    }
    return o;
}

static json_t *sign(const void *item)
{
    const CtExplainPair *p = item;
    json_t *o = json_object();
    json_object_set_new(o, "weight", json_real(g_ascii_strtod(p->key, NULL)));
    set_text(o, "text", p->value);
    return o;
}

static json_t *reading(const void *item)
{
    const CtReading *r = item;
    json_t *o = json_object();
    set_text(o, "family", r->family);
    set_text(o, "what", r->what);
    json_object_set_new(o, "number", r->has_number ? json_integer(r->number) : json_null());
    set_text(o, "name", r->name);
    set_text(o, "alt_name", r->alt_name);
    set_text(o, "message", r->message);
    set_text(o, "layer", r->layer);
    set_text(o, "sticky", r->sticky);
    set_text(o, "late", r->late);
    set_text(o, "meaning", r->meaning);
    set_text(o, "before_cuda_10_1", r->old);
    json_object_set_new(o, "usual_causes", list(r->causes, text));
    json_object_set_new(o, "first_checks", list(r->checks, text));
    json_object_set_new(o, "more", pairs(r->more));
    json_object_set_new(o, "causes", list(r->hits, hit));
    json_object_set_new(o, "commands", list(r->tests, test));
    return o;
}

static json_t *event(const void *item)
{
    const CtExplainEvent *e = item;
    json_t *o = json_object();
    set_text(o, "kind", e->kind);
    set_text(o, "meaning", e->meaning);
    set_text(o, "name", e->name);
    json_object_set_new(o, "code", e->has_code ? json_integer(e->code) : json_null());
    return o;
}

static json_t *detail(const void *item)
{
    const CtExplainCause *d = item;
    json_t *o = json_object(), *action = json_object();
    set_text(o, "cause", d->cause);
    set_text(o, "layer", d->layer);
    set_text(o, "topic", d->topic);
    set_text(o, "title", d->title);
    set_text(o, "about", d->about);
    set_text(o, "prior", d->prior);
    set_text(action, "do", d->action);
    set_text(action, "owner", d->owner);
    set_text(action, "urgency", d->urgency);
    json_object_set_new(o, "action", action);
    json_object_set_new(o, "signs", list(d->signs, sign));
    json_object_set_new(o, "next", list(d->tests, test));
    json_object_set_new(o, "fix", list(d->fix, text));
    json_object_set_new(o, "verify", list(d->verify, text));
    json_object_set_new(o, "pitfalls", list(d->pitfalls, text));
    json_object_set_new(o, "refs", list(d->refs, text));
    json_object_set_new(o, "explains", list(d->explains, hit));
    json_object_set_new(o, "explained_by", list(d->explained_by, hit));
    return o;
}

static json_t *row(const void *item)
{
    const CtExplainRow *r = item;
    json_t *o = json_object();
    set_text(o, "table", r->table);
    set_text(o, "title", r->title);
    json_object_set_new(o, "columns", pairs(r->pairs));
    return o;
}

static json_t *topic_cause(const void *item)
{
    const CtExplainHit *h = item;
    json_t *o = hit(h);
    json_object_set_new(o, "first", h->test ? test(h->test) : json_null());
    return o;
}

static json_t *topic(const void *item)
{
    const CtExplainTopic *t = item;
    json_t *o = json_object();
    set_text(o, "topic", t->topic);
    set_text(o, "title", t->title);
    set_text(o, "about", t->about);
    json_object_set_new(o, "layers", list(t->layers, text));
    json_object_set_new(o, "causes", list(t->causes, topic_cause));
    return o;
}

char *ct_explain_json(const CtExplanation *x, const char *place)
{
    json_t *o = json_object();
    json_object_set_new(o, "schema", json_string(CT_EXPLAIN_SCHEMA));
    set_text(o, "query", x->query);
    set_text(o, "place", place);
    json_object_set_new(o, "events", list(x->events, event));
    json_object_set_new(o, "readings", list(x->readings, reading));
    json_object_set_new(o, "rows", list(x->rows, row));
    json_object_set_new(o, "details", list(x->details, detail));
    json_object_set_new(o, "hits", list(x->hits, hit));
    json_object_set_new(o, "topics", list(x->topics, topic));
    json_object_set_new(o, "unknown", list(x->unknown, text));
    json_object_set_new(o, "suggestions", list(x->suggestions, text));
    char *dump = json_dumps(o, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
    json_decref(o);
    char *out = g_strconcat(dump, "\n", NULL);
    free(dump);
    return out;
}
