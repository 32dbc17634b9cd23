/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <string.h>

#include "parse/frame/envelope.h"

#define CT_MAX_TAG 96

struct CtPeeler {
    GString *decoded; /* message of a JSON envelope */
    GString *plain;   /* without colours */
    char tag[CT_MAX_TAG + 1];
    gboolean rank_number, compose;
};

typedef struct {
    CtPeeler *peeler;
    CtLine *line;
    CtPeeled *out;
    const char *p;
    gsize len;
} CtPeelWork;

/* Each takes one layer off, or leaves everything as it is and returns FALSE. */
gboolean ct_peel_docker(CtPeelWork *w);
gboolean ct_peel_journal(CtPeelWork *w);
gboolean ct_peel_cri(CtPeelWork *w);      /* behind its stamp */
gboolean ct_peel_launcher(CtPeelWork *w); /* ranks, ray, compose, pods */

static inline void ct_peel_advance(CtPeelWork *w, gsize n)
{
    w->p += n;
    w->len -= n;
}

static inline void ct_peel_blanks(CtPeelWork *w)
{
    while (w->len > 0 && (*w->p == ' ' || *w->p == '\t'))
        ct_peel_advance(w, 1);
}

/* Of hosts, programs, containers and pods. */
static inline gboolean ct_peel_name_char(char c)
{
    return g_ascii_isalnum(c) || c == '_' || c == '-' || c == '.' || c == '/' || c == '@';
}

void ct_peel_tag(CtPeelWork *w, const char *tag, gsize len);
void ct_peel_stamp(CtPeelWork *w, const CtStamp *s);
gboolean ct_peel_digits(const char *text, gsize len); /* nothing but digits */
