/* SPDX-License-Identifier: Apache-2.0 */
#include "base/status.h"

#include <glib.h>

const char *ct_status_name(CtStatus status)
{
    static const char *const names[] = {"ok",     "partial",     "truncated", "absent",
                                        "denied", "unsupported", "timeout",   "failed"};
    g_assert(status >= 0 && (gsize)status < G_N_ELEMENTS(names));
    return names[status];
}
