/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes off a line what the transport put around it: container and journal JSON, CRI, launcher
 * prefixes, syslog headers, kernel stamps, time stamps (also doubled), colours.
 */
#pragma once

#include <glib.h>

#include "parse/frame/parser.h"
#include "parse/frame/stamp.h"

typedef struct CtPeeler CtPeeler;

typedef struct {
    gboolean has_wall, has_boot, has_day, has_relative, no_year, has_zone;
    gint64 wall_ns, boot_ns, day_ns, relative_ns;
    gboolean kernel;     /* written by the kernel beyond doubt */
    gboolean not_kernel; /* some program wrote it beyond doubt */
    gboolean partial;    /* CRI: the line goes on in the next one */
} CtPeeled;

CtPeeler *ct_peeler_new(void);
void ct_peeler_free(CtPeeler *peeler);
/* Set per section: lines begin with "0: " of a launcher, or with "name | " of compose. */
void ct_peeler_set_prefixes(CtPeeler *peeler, gboolean rank_number, gboolean compose);

/* Fills text, len, envelope, tag, pid and rank of line from its raw; what the line says about
 * time is in *out. Pointers stay good until the next call. */
void ct_peel(CtPeeler *peeler, CtLine *line, CtPeeled *out);

/* Quick looks at the beginning of a line. */
gboolean ct_envelope_is_kernel(const char *raw, gsize len);
gboolean ct_envelope_is_json(const char *raw, gsize len); /* docker or journal */

/* Takes escape sequences out in place; returns the new length. */
gsize ct_strip_ansi(char *text, gsize len);
