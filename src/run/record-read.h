/* SPDX-License-Identifier: Apache-2.0 */
/* A record of the flight recorder as evidence, and as the short text that `record` ends with. */
#pragma once

#include <glib.h>

#include "evidence/evidence.h"
#include "kb/kb.h"
#include "wire/read.h"

/* Reads the file and adds a source with one section a process. FALSE: it cannot be used; a newer
 * version is told apart from damage in the message. */
gboolean ct_record_import(CtEvidence *ev, const CtKb *kb, const char *path, GError **error);
gboolean ct_record_import_bytes(CtEvidence *ev, const CtKb *kb, const char *path,
                                const guint8 *data, gsize len, GError **error);
/* At most a dozen lines a process, for at most four. (transfer full) */
char *ct_record_report(const CtKb *kb, const guint8 *data, gsize len);

/* ---- shared by the two ---- */

typedef enum { CT_SITE_QUIET, CT_SITE_GROWS, CT_SITE_HOT } CtSiteVerdict;

typedef struct {
    struct ctw_site site;
    guint number; /* + 1, as entries and live rows name it */
    CtSiteVerdict verdict;
    double bytes_per_call, bytes_per_second; /* of growth, or 0 */
    double calls_per_second;
} CtRecordSite;

typedef struct {
    struct ctw_process p;
    gint64 t0_ns, t1_ns; /* first and last call seen, CLOCK_MONOTONIC */
    gint64 end_ns;       /* the last that tells of growth */
    guint64 count[CTW_N_CLASSES];
    guint rings;
    guint64 nested;
    GArray *sites; /* CtRecordSite, most live bytes first */
} CtRecordView;

void ct_record_view(const struct ctw_process *p, CtRecordView *out);
void ct_record_view_clear(CtRecordView *view);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(CtRecordView, ct_record_view_clear)

/* Name of a function without the suffix of its version and stream variant. (transfer full) */
char *ct_record_call(const struct ctw_process *p, guint fn);
/* "read_batch (app.cu:41) < main (app.cu:90)", or "libfoo.so+0x1234 < app+0x88" where no names are
 * known; NULL when no address is. `number` is that of the site, + 1. (transfer full) */
char *ct_record_place(const struct ctw_process *p, const struct ctw_site *site, guint number);
/* The same of return addresses, innermost first. (transfer full) */
char *ct_record_addresses(const struct ctw_process *p, const guint64 *addr, guint n);
/* unwind.c: return addresses of the stack of a site, innermost first, from its slice; 0 when there
 * is no slice, or nothing to unwind it with. */
guint ct_record_unwind(const struct ctw_process *p, guint number, guint64 *out, guint max);
/* "function (file:line)" or "function"; NULL when the object is not here or has another build id.
 * (transfer full) */
char *ct_record_symbol(const struct ctw_process *p, guint64 return_address);
const char *ct_record_mem(guint kind);
gboolean ct_record_is_device(guint kind);
gboolean ct_record_is_async(guint kind);
/* Kernels launched on the stream of the failing call (on any, if that is not known) since the last
 * wait that succeeded, latest first; the error of a kernel shows up only afterwards. */
GPtrArray *ct_record_suspects(const struct ctw_process *p, const struct ctw_freeze *f);
