/* SPDX-License-Identifier: Apache-2.0 */
#include <jansson.h>

#include "report/diff-private.h"

static void put(json_t *to, const char *name, const char *value)
{
    json_object_set_new(to, name, value ? json_string(value) : json_null());
}

static json_t *row_json(const CtDiffRow *r)
{
    json_t *o = json_object();
    put(o, "state", ct_diff_state_name(r->state));
    put(o, "subject", *r->subject ? r->subject : NULL);
    put(o, "key", r->key);
    put(o, "layer", r->layer);
    put(o, "before", r->before);
    put(o, "after", r->after);
    put(o, "source_before", r->place_before);
    put(o, "source_after", r->place_after);
    put(o, "note", r->note);
    json_object_set_new(o, "importance", json_integer(r->importance));
    return o;
}

static json_t *verdict_json(const CtDiffVerdict *v)
{
    json_t *o = json_object(), *keys = json_array();
    put(o, "check", v->now->id);
    put(o, "layer", v->now->layer);
    put(o, "title", v->now->title);
    put(o, "before", ct_check_state_name(v->before));
    put(o, "now", ct_check_state_name(v->now->state));
    put(o, "text", v->now->text);
    put(o, "cause", v->now->cause);
    put(o, "fix", v->now->fix);
    put(o, "run", v->now->run);
    for (guint i = 0; i < v->rows->len; i++)
        json_array_append_new(keys, json_string(((CtDiffRow *)v->rows->pdata[i])->key));
    json_object_set_new(o, "changed_keys", keys);
    return o;
}

static char *finish(json_t *root)
{
    char *raw = json_dumps(root, JSON_INDENT(2));
    char *out = g_strconcat(raw ? raw : "{}", "\n", NULL);
    free(raw);
    json_decref(root);
    return out;
}

static json_t *begin(const char *kind)
{
    json_t *root = json_object();
    put(root, "schema", CT_DIFF_SCHEMA);
    put(root, "kind", kind);
    return root;
}

char *ct_diff_json(const CtDiff *d, const CtDiffPage *page)
{
    json_t *root = begin(page->release ? "release" : "pair");
    json_t *rows = json_array(), *verdicts = json_array();
    for (guint i = 0; i < d->rows->len; i++)
        json_array_append_new(rows, row_json(d->rows->pdata[i]));
    for (guint i = 0; i < d->verdicts->len; i++)
        json_array_append_new(verdicts, verdict_json(d->verdicts->pdata[i]));
    put(root, "before", page->before);
    put(root, "now", page->now);
    json_object_set_new(root, "differs", json_boolean(ct_diff_matters(d)));
    json_object_set_new(root, "verdicts", verdicts);
    json_object_set_new(root, "rows", rows);
    json_object_set_new(root, "compared", json_boolean(!d->nothing));
    json_object_set_new(root, "one_side_only", json_integer(d->unknown));
    json_object_set_new(root, "same", json_integer(d->same));
    json_object_set_new(root, "volatile_left_out", json_integer(d->hidden));
    return finish(root);
}

char *ct_diff_group_json(const GPtrArray *rows, const char *const *names, guint n)
{
    json_t *root = begin("group"), *states = json_array(), *list = json_array();
    for (guint i = 0; i < n; i++)
        json_array_append_new(states, json_string(names[i]));
    for (guint i = 0; i < rows->len; i++) {
        const CtGroupRow *r = rows->pdata[i];
        json_t *o = json_object(), *out = json_array();
        put(o, "subject", *r->subject ? r->subject : NULL);
        put(o, "key", r->key);
        put(o, "layer", r->layer);
        put(o, "majority", r->majority);
        json_object_set_new(o, "agree", json_integer(r->agree));
        json_object_set_new(o, "known", json_integer(r->known));
        json_object_set_new(o, "tie", json_boolean(r->tie));
        json_object_set_new(o, "importance", json_integer(r->importance));
        for (guint k = 0; k < r->outliers->len; k++) {
            const CtOutlier *x = r->outliers->pdata[k];
            json_t *one = json_object();
            put(one, "state", names[x->index]);
            put(one, "value", x->value);
            put(one, "status", x->unknown ? "unknown" : x->value ? "ok" : "absent");
            json_array_append_new(out, one);
        }
        json_object_set_new(o, "outliers", out);
        json_array_append_new(list, o);
    }
    json_object_set_new(root, "states", states);
    json_object_set_new(root, "rows", list);
    return finish(root);
}
