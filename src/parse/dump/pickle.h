/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of a Python pickle (protocols 0 to 5, as pickle and PyTorch write them) or of JSON, read
 * as data: numbers, texts, lists, dictionaries. What a pickle wants imported or called becomes an
 * opaque value; nothing of it is looked up and nothing runs. All is bounded, nothing recurses.
 */
#pragma once

#include "parse/common/scan.h"

typedef enum {
    CT_PY_NONE,
    CT_PY_INT, /* booleans too */
    CT_PY_REAL,
    CT_PY_TEXT,
    CT_PY_LIST, /* tuples and sets too */
    CT_PY_DICT,
    CT_PY_OPAQUE,
} CtPyType;

typedef struct CtPyTree CtPyTree;
typedef guint32 CtPyNode; /* 0 is none */

/* Borrows the bytes. NULL and *why (static) when they make no sense. */
CtPyTree *ct_py_read_pickle(const guint8 *data, gsize len, const char **why);
/* JSON is copied. */
CtPyTree *ct_py_read_json(const char *data, gsize len, const char **why);
void ct_py_free(CtPyTree *tree);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtPyTree, ct_py_free)

CtPyNode ct_py_root(const CtPyTree *tree);
CtPyType ct_py_type(const CtPyTree *tree, CtPyNode node);
gsize ct_py_count(const CtPyTree *tree, CtPyNode node); /* entries of a list or dictionary */
CtPyNode ct_py_get(const CtPyTree *tree, CtPyNode dict, const char *key);
CtStr ct_py_text(const CtPyTree *tree, CtPyNode node); /* empty when it is no text */
/* Whole numbers, also written as text. */
gboolean ct_py_int(const CtPyTree *tree, CtPyNode node, gint64 *out);
gboolean ct_py_number(const CtPyTree *tree, CtPyNode node, double *out);

/* for (CtPyIter it = ct_py_iter(t, n); ct_py_next(t, &it);) it.key (0 in lists), it.value */
typedef struct {
    guint32 cell;
    gboolean dict;
    CtPyNode key, value;
} CtPyIter;
CtPyIter ct_py_iter(const CtPyTree *tree, CtPyNode container);
gboolean ct_py_next(const CtPyTree *tree, CtPyIter *it);
