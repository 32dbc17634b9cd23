/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/analyzer.h"

#define CT_ANALYZER(id) extern const CtAnalyzer ct_analyzer_##id;
#include "analyze/analyzers.def"
#undef CT_ANALYZER

static const CtAnalyzer *const all[] = {
#define CT_ANALYZER(id) &ct_analyzer_##id,
#include "analyze/analyzers.def"
#undef CT_ANALYZER
    NULL,
};

const CtAnalyzer *const *ct_analyzers(void)
{
    return all;
}

void ct_analyze(CtEvidence *ev)
{
    for (gsize i = 0; all[i]; i++)
        all[i]->run(ev);
    ct_evidence_flush(ev);
}
