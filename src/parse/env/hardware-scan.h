/* SPDX-License-Identifier: Apache-2.0 */
/* Boards and GPUs that running text names. */
#pragma once

#include "parse/common/scan.h"

gboolean ct_scan_hardware(CtEmit *emit, const CtLine *line, CtStr text, GHashTable *seen);
