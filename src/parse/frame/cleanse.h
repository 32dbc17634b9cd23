/* SPDX-License-Identifier: Apache-2.0 */
/* Text that is not clean UTF-8: escape sequences and NULs go, GB18030 lines are converted. */
#pragma once

#include <glib.h>

gboolean ct_cleanse_is_clean(const char *data, gsize len);
/* Line by line; bytes that fit no encoding stay as they are. */
void ct_cleanse(const char *data, gsize len, GByteArray *out);
