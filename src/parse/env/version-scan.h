/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Versions, boards and GPUs named in running text: "JetPack 5.1.2 (L4T R35.4.1)", "driver
 * 525.105.17", "torch 2.2.2+cu121", "2 x GeForce GTX 1080 Ti".
 */
#pragma once

#include "parse/common/scan.h"

/* Everything that the line names becomes a fact; TRUE when there was something. `seen` (nullable)
 * holds what was stated before, so that a log does not repeat itself. A version that the text
 * only talks about ("exported with ...", "needs at least ...") gets the subject "mentioned". */
gboolean ct_scan_versions(CtEmit *emit, const CtLine *line, CtStr text, GHashTable *seen);

/* Length of the version number at the start of the text ("8.5.2-1+cuda11.8"), 0 when none. */
gsize ct_version_length(CtStr s);
/* 8902 -> 8.9.2 (cuDNN 8), 90300 -> 9.3.0 (cuDNN 9), 10100 -> 10.1.0 or 8601 -> 8.6.1 (TensorRT),
 * 12020 -> 12.2 (CUDA), as the libraries' own version calls return them. */
gboolean ct_version_of_int(const char *key, gint64 n, char out[24]);
/* A version fact, with the CUDA release that a suffix (+cu121, +cuda11.8) tells. */
void ct_emit_version(CtEmit *emit, const CtLine *line, const char *subject, const char *key,
                     CtStr version);
/* Key of the vocabulary for a package of any packager, NULL when it is no such part. */
const char *ct_version_key_of_package(CtStr name);
