/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a tar.zst: files and texts in, one file out. */
#pragma once

#include <glib.h>

typedef struct CtPack CtPack;

/* 0600, under a temporary name until ct_pack_close; a symbolic link at the target is refused, an
 * existing file needs force. */
CtPack *ct_pack_open(const char *path, gboolean force, GError **error);
gboolean ct_pack_add(CtPack *pack, const char *name, const void *data, gsize len, GError **error);
/* The file takes its name; without a close, or after an error, nothing is left. */
gboolean ct_pack_close(CtPack *pack, GError **error);
void ct_pack_free(CtPack *pack);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtPack, ct_pack_free)
