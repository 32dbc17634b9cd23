/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of a source to UTF-8 text: byte order marks, UTF-16, GB18030, NULs, binary input. */
#pragma once

#include <glib.h>

#include "parse/frame/parse.h"

typedef struct CtDecoder CtDecoder;

CtDecoder *ct_decoder_new(CtParse *parse);
void ct_decoder_free(CtDecoder *decoder);
void ct_decoder_feed(CtDecoder *decoder, const char *data, gsize len);
void ct_decoder_end(CtDecoder *decoder);
/* Why the source was not read as text; NULL when it was. */
const char *ct_decoder_binary(const CtDecoder *decoder);
