/* SPDX-License-Identifier: Apache-2.0 */
/* Values as Python writes them, for parsers: JSON as the same tree, and texts as strings of ours.
 */
#pragma once

#include "base/pytree.h"
#include "parse/common/scan.h"

/* JSON is copied. NULL and *why (static) when it makes no sense. */
CtPyTree *ct_py_read_json(const char *data, gsize len, const char **why);

CtStr ct_py_text(const CtPyTree *tree, CtPyNode node); /* empty when it is no text */
/* Whole numbers, also written as text. */
gboolean ct_py_int(const CtPyTree *tree, CtPyNode node, gint64 *out);
gboolean ct_py_number(const CtPyTree *tree, CtPyNode node, double *out);
