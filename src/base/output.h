/* SPDX-License-Identifier: Apache-2.0 */
/* What a person may have at the place where a file is to be written. */
#pragma once

#include <glib.h>

/* TRUE when nothing is there, or a regular file and `force` allows to replace it; symbolic links
 * and devices never. Else CT_ERROR_DENIED, or what looking at it gave. */
gboolean ct_may_write(const char *path, gboolean force, GError **error);
