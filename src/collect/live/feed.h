/* SPDX-License-Identifier: Apache-2.0 */
/* What collectors fetched becomes evidence by the one way there is: through the parsers. */
#pragma once

#include "collect/live/live.h"
#include "parse/frame/parse.h"

/* Turns text into what may leave the machine, in place. (nullable) */
typedef void (*CtLiveClean)(GByteArray *bytes, gpointer user);

typedef struct {
    CtLiveClean clean; /* applied to bytes, paths, commands and notes (nullable) */
    gpointer user;
    gboolean attach;   /* keep the bytes in the store too, to be parsed anew later */
} CtLiveFeed;

/* Every section is one source: "$ COMMAND", then its bytes. */
void ct_live_feed(const CtLiveCapture *capture, CtParse *parse, CtEvidence *ev,
                  const CtLiveFeed *how);
