/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pickle read as data. Every call that it asks for becomes a node that names the function and
 * holds the arguments; nothing is imported and nothing is called.
 */
#pragma once

#include "base/error.h"

typedef enum {
    CT_PICKLE_NONE, /* also numbers that are not whole */
    CT_PICKLE_INT,
    CT_PICKLE_TEXT,
    CT_PICKLE_TUPLE,
    CT_PICKLE_LIST,
    CT_PICKLE_DICT,       /* kids: key, value, key, value ... */
    CT_PICKLE_GLOBAL,     /* text: "module name" */
    CT_PICKLE_CALL,       /* kids: function, arguments (a tuple), then states given later */
    CT_PICKLE_PERSISTENT, /* kids: the id */
    CT_PICKLE_MARK,
} CtPickleType;

typedef struct CtPickleNode CtPickleNode;
struct CtPickleNode {
    CtPickleType type;
    gint64 number;
    char *text;
    GPtrArray *kids; /* borrowed nodes; there may be cycles */
    gboolean open;   /* for walkers: on the path to the root */
};

typedef struct {
    GPtrArray *nodes; /* owns them */
    CtPickleNode *root;
} CtPickle;

CtPickle *ct_pickle_read(const guint8 *data, gsize len, const char *place, GError **error);
void ct_pickle_free(CtPickle *p);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtPickle, ct_pickle_free)
/* NULL when there is no such child. */
CtPickleNode *ct_pickle_kid(const CtPickleNode *node, guint i);
