/* SPDX-License-Identifier: Apache-2.0 */
/* What the parsers of NVIDIA's tools share with each other. */
#pragma once

#include "parse/common/scan.h"

/* The "NVIDIA-SMI ... Driver Version ..." line of the table; FALSE when the line is not it. */
gboolean ct_nvidia_smi_header(CtEmit *emit, const CtLine *line);

/* "535.161.08 [Deprecated; ...]" and the like -> fact; `key` is a version key. */
void ct_nvidia_version(CtEmit *emit, const CtLine *line, const char *key, CtStr value);

/* ---- the tree that `nvidia-smi -q` prints, as text or as XML ---- */

typedef struct CtSmiTree CtSmiTree;

CtSmiTree *ct_smi_tree_new(CtEmit *emit);
/* Emits what is held back and the coverage of what was seen; frees the tree. */
void ct_smi_tree_finish(CtSmiTree *tree, CtEmit *emit);
void ct_smi_tree_time(CtSmiTree *tree, CtEmit *emit, const CtLine *line, CtStr stamp);
void ct_smi_tree_attached(CtSmiTree *tree, CtEmit *emit, const CtLine *line, CtStr count);
void ct_smi_tree_gpu(CtSmiTree *tree, CtEmit *emit, const CtLine *line, CtStr pci);
/* One value. `path` is made of slugs ("ecc-errors/volatile/sram-correctable"). */
void ct_smi_tree_value(CtSmiTree *tree, CtEmit *emit, const CtLine *line, const char *path,
                       CtStr value);

/* Slug of a key or tag: lower case, everything but letters and digits becomes one '-'. */
void ct_smi_slug(CtStr name, char *out, gsize size);
/* Key of the vocabulary for a path, NULL when it is of no interest. `buf` holds composed keys. */
const char *ct_smi_key(const char *path, char buf[96]);
/* Key of the vocabulary for a property of --query-gpu ("ecc.errors.corrected.volatile.total"). */
const char *ct_smi_property_key(const char *property, char buf[96]);
/* Metric of the vocabulary for such a key, with its unit; NULL when it is no series. */
const char *ct_smi_metric(const char *key, const char **unit);
