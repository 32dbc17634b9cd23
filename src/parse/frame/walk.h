/* SPDX-License-Identifier: Apache-2.0 */
/* The walk over the lines of a block: numbers them, finds where sections begin. */
#pragma once

#include "parse/frame/frame-private.h"

void ct_walk_block(CtParse *parse, const char *data, gsize len);
