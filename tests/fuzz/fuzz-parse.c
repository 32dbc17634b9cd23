/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The whole way of a source: sections, envelopes, every parser, signatures, analyzers, rules. The
 * input is read twice, in one piece and in small pieces, as a pipe would bring it. The first byte
 * asks for nothing: which parser reads is decided by content, as in the program; corpora hold one
 * file a parser.
 */
#include <glib.h>

#include "analyze/analyzer.h"
#include "parse/frame/parse.h"
#include "reason/reason.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void run(const CtKb *kb, const unsigned char *data, size_t size, size_t piece)
{
    g_autoptr(CtEvidence) ev = ct_evidence_new(NULL);
    g_autoptr(CtParse) parse = ct_parse_new(ev, kb, NULL);
    ct_parse_begin(parse, "input", "text");
    for (size_t at = 0; at < size; at += piece)
        ct_parse_feed(parse, data + at, MIN(piece, size - at));
    ct_parse_end(parse, CT_OK, NULL);
    ct_parse_finish(parse);
    ct_analyze(ev);
    ct_diagnosis_free(ct_diagnose(ev, kb, "zh", NULL));
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    static CtKb *kb;
    if (!kb)
        kb = ct_kb_open(NULL);
    run(kb, data, size, MAX(size, 1));
    run(kb, data, size, 97);
    return 0;
}
