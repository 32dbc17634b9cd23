/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one error domain of the tool. Functions that can fail return gboolean or a pointer and take
 * a GError ** last; messages name what was being done, the place, and where possible the remedy.
 */
#pragma once

#include <glib.h>

#define CT_ERROR (ct_error_quark())

typedef enum {
    CT_ERROR_USAGE,
    CT_ERROR_NOT_FOUND,
    CT_ERROR_DENIED,
    CT_ERROR_UNSUPPORTED,
    CT_ERROR_CORRUPT,
    CT_ERROR_LIMIT,
    CT_ERROR_TIMEOUT,
    CT_ERROR_IO,
    CT_ERROR_INTERNAL,
} CtErrorCode;

GQuark ct_error_quark(void);

/* Sets *error from an errno value; `doing` is "opening /x/y". Always returns FALSE. */
gboolean ct_error_from_errno(GError **error, int errnum, const char *doing, ...)
    G_GNUC_PRINTF(3, 4);
