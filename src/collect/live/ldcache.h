/* SPDX-License-Identifier: Apache-2.0 */
/* /etc/ld.so.cache: which path the loader takes for a soname. */
#pragma once

#include <glib.h>

/* soname -> path of the first entry, both owned by the table. Empty when the bytes are no cache. */
GHashTable *ct_ldcache_parse(const guint8 *data, gsize len);
