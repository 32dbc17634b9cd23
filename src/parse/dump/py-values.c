/* SPDX-License-Identifier: Apache-2.0 */
#include "parse/dump/py-values.h"

#include <jansson.h>
#include <string.h>

#define MAX_JSON_DEPTH 64u

static CtPyNode json_text(CtPyTree *t, GString *text, const char *s, gsize len)
{
    CtPyNode n = ct_py_make_text(t, text->len, len);
    g_string_append_len(text, s, (gssize)len);
    return n;
}

static CtPyNode json_node(CtPyTree *t, GString *text, json_t *j, guint depth)
{
    CtPyNode n = 0, kid;
    const char *key;
    json_t *value;
    size_t i;
    switch (json_typeof(j)) {
    case JSON_OBJECT:
        n = ct_py_make(t, CT_PY_DICT);
        if (n && depth < MAX_JSON_DEPTH)
            json_object_foreach(j, key, value) {
                kid = json_text(t, text, key, strlen(key));
                if (!ct_py_add(t, n, kid) || !ct_py_add(t, n, json_node(t, text, value, depth + 1)))
                    return 0;
            }
        return n;
    case JSON_ARRAY:
        n = ct_py_make(t, CT_PY_LIST);
        if (n && depth < MAX_JSON_DEPTH)
            json_array_foreach(j, i, value)
                if (!ct_py_add(t, n, json_node(t, text, value, depth + 1)))
                    return 0;
        return n;
    case JSON_STRING:
        return json_text(t, text, json_string_value(j), json_string_length(j));
    case JSON_REAL:
        return ct_py_make_real(t, json_real_value(j));
    case JSON_NULL:
        return ct_py_make(t, CT_PY_NONE);
    default:
        return ct_py_make_int(t, json_is_integer(j) ? json_integer_value(j) : json_is_true(j));
    }
}

CtPyTree *ct_py_read_json(const char *data, gsize len, const char **why)
{
    json_error_t error;
    json_t *j = json_loadb(data, len, JSON_DISABLE_EOF_CHECK | JSON_DECODE_ANY, &error);
    *why = "JSON that is cut or damaged";
    if (!j)
        return NULL;
    CtPyTree *t = ct_py_tree_new(NULL);
    GString *text = g_string_sized_new(len / 2 + 1);
    ct_py_tree_set_root(t, json_node(t, text, j, 0));
    json_decref(j);
    ct_py_tree_own(t, g_string_free(text, FALSE));
    if (!ct_py_root(t))
        g_clear_pointer(&t, ct_py_free);
    return t;
}

CtStr ct_py_text(const CtPyTree *tree, CtPyNode node)
{
    gsize len;
    const char *chars = ct_py_chars(tree, node, &len);
    return ct_str(chars, len);
}

gboolean ct_py_int(const CtPyTree *tree, CtPyNode node, gint64 *out)
{
    if (ct_py_type(tree, node) == CT_PY_TEXT)
        return ct_text_int(ct_py_text(tree, node).p, ct_py_text(tree, node).n, out);
    return ct_py_whole(tree, node, out);
}

gboolean ct_py_number(const CtPyTree *tree, CtPyNode node, double *out)
{
    gint64 n;
    if (ct_py_real(tree, node, out))
        return *out == *out;
    if (!ct_py_int(tree, node, &n))
        return FALSE;
    *out = (double)n;
    return TRUE;
}
