/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Anything may come in as evidence. The first byte chooses who reads the rest: 0 lets the frame
 * decide, n forces the n-th parser; CT_FUZZ_PARSER=id forces one for the whole run. The second
 * byte chooses how the bytes are cut into pieces, since a line may come in any.
 */
#include <glib.h>
#include <stdlib.h>

#include "parse/frame/parse.h"
#include "parse/frame/parser.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static const char *chosen(unsigned char byte)
{
    const char *id = g_getenv("CT_FUZZ_PARSER");
    const CtParser *const *all = ct_parsers();
    guint n = 0;
    while (all[n])
        n++;
    if (id)
        return id;
    return byte == 0 || n == 0 ? NULL : all[(byte - 1u) % n]->id;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    static CtKb *kb;
    if (size < 2)
        return 0;
    if (!kb)
        kb = ct_kb_open(NULL);
    CtEvidence *ev = ct_evidence_new(NULL);
    CtParse *parse = ct_parse_new(ev, kb, NULL);
    if (!ct_parse_force(parse, chosen(data[0])))
        abort(); /* CT_FUZZ_PARSER names none */
    gsize step = data[1] == 0 ? size : data[1];
    data += 2;
    size -= 2;
    ct_parse_begin(parse, "input", "text");
    for (gsize at = 0; at < size; at += step)
        ct_parse_feed(parse, data + at, MIN(step, size - at));
    ct_parse_end(parse, CT_OK, NULL);
    ct_parse_finish(parse);
    ct_parse_free(parse);
    ct_evidence_free(ev);
    return 0;
}
