/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of a Python pickle (protocols 0 to 5, as pickle and PyTorch write them), or of what is
 * built by hand, read as data: numbers, texts, lists, dictionaries. What a pickle wants imported or
 * called becomes a value that names it; nothing of it is looked up and nothing runs. All is
 * bounded, nothing recurses. Values may be shared, and even circular.
 */
#pragma once

#include <glib.h>

typedef enum {
    CT_PY_NONE,
    CT_PY_INT, /* booleans too */
    CT_PY_REAL,
    CT_PY_TEXT,
    CT_PY_LIST, /* tuples and sets too */
    CT_PY_DICT,
    CT_PY_OPAQUE,
    CT_PY_GLOBAL,     /* kids: module, name */
    CT_PY_CALL,       /* kids: function, arguments, then what was put in or set later */
    CT_PY_PERSISTENT, /* kid: the id */
} CtPyType;

typedef struct CtPyTree CtPyTree;
typedef guint32 CtPyNode; /* 0 is none */

/* Borrows the bytes. NULL, *why (static) and *out_at (nullable: the byte where it stopped) when
 * they make no sense. */
CtPyTree *ct_py_read_pickle(const guint8 *data, gsize len, const char **why, gsize *out_at);
void ct_py_free(CtPyTree *tree);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtPyTree, ct_py_free)

CtPyNode ct_py_root(const CtPyTree *tree);
CtPyType ct_py_type(const CtPyTree *tree, CtPyNode node);
gsize ct_py_nodes(const CtPyTree *tree);                /* every CtPyNode is less */
gsize ct_py_count(const CtPyTree *tree, CtPyNode node); /* entries of a list or dictionary */
/* Not ended by a zero; "" and 0 when it is no text. */
const char *ct_py_chars(const CtPyTree *tree, CtPyNode node, gsize *out_len);
gboolean ct_py_is(const CtPyTree *tree, CtPyNode node, const char *text);
gboolean ct_py_whole(const CtPyTree *tree, CtPyNode node, gint64 *out);
gboolean ct_py_real(const CtPyTree *tree, CtPyNode node, double *out); /* not of whole numbers */
CtPyNode ct_py_get(const CtPyTree *tree, CtPyNode dict, const char *key);

/* for (CtPyIter it = ct_py_iter(t, n); ct_py_next(t, &it);) it.key (0 in lists), it.value */
typedef struct {
    guint32 cell;
    gboolean dict;
    CtPyNode key, value;
} CtPyIter;
CtPyIter ct_py_iter(const CtPyTree *tree, CtPyNode list_or_dict);
CtPyIter ct_py_iter_kids(const CtPyTree *tree, CtPyNode node); /* of anything */
gboolean ct_py_next(const CtPyTree *tree, CtPyIter *it);
CtPyNode ct_py_kid(const CtPyTree *tree, CtPyNode node, guint i); /* 0 beyond the last */

/* For readers of other notations. `text` is what offsets of texts refer to. */
CtPyTree *ct_py_tree_new(const char *text);
/* The tree frees `text` with itself. */
void ct_py_tree_own(CtPyTree *tree, char *text);
void ct_py_tree_set_root(CtPyTree *tree, CtPyNode node);
CtPyNode ct_py_make(CtPyTree *tree, CtPyType type); /* 0 when there are too many */
CtPyNode ct_py_make_int(CtPyTree *tree, gint64 v);
CtPyNode ct_py_make_real(CtPyTree *tree, double v);
CtPyNode ct_py_make_text(CtPyTree *tree, gsize offset, gsize len);
/* To a dictionary keys and values go in turn. FALSE when there are too many, or child is 0. */
gboolean ct_py_add(CtPyTree *tree, CtPyNode container, CtPyNode child);
