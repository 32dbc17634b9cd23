/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/verb.h"

#define CT_VERB(name) extern const CtVerb ct_verb_##name;
#include "cli/verbs.def"
#undef CT_VERB

static const CtVerb *const verbs[] = {
#define CT_VERB(name) &ct_verb_##name,
#include "cli/verbs.def"
#undef CT_VERB
    NULL,
};

const CtVerb *const *ct_verbs(void)
{
    return verbs;
}

const CtVerb *ct_verb_by_name(const char *name)
{
    for (const CtVerb *const *v = verbs; *v; v++)
        if (g_str_equal((*v)->name, name) || g_strcmp0((*v)->alias, name) == 0)
            return *v;
    return NULL;
}
