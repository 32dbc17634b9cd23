/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever a person pastes behind `explain`. */
#include <glib.h>

#include <string.h>

#include "parse/frame/parse.h"
#include "reason/explain.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static CtEvidence *read_message(const CtKb *kb, const char *text, GError **error)
{
    CtEvidence *ev = ct_evidence_new(error);
    g_autoptr(CtParse) parse = ct_parse_new(ev, kb, error);
    ct_parse_memory(parse, "message", text, strlen(text));
    ct_parse_finish(parse);
    return ev;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    static CtKb *kb;
    if (!kb)
        kb = ct_kb_open(NULL);
    g_autofree char *text = g_strndup((const char *)data, size);
    ct_explanation_free(
        ct_explain(kb, text, &(CtExplainOptions){.lang = "zh", .reader = read_message}, NULL));
    return 0;
}
