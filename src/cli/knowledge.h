/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "kb/kb.h"

/* The knowledge in the program (folder NULL), or that of a folder. What is wrong in the folder is
 * told on standard error and left out; a folder that leaves no cause and no signature is an
 * error, because every log would look healthy. (transfer full) */
CtKb *ct_cli_knowledge(const char *folder, GError **error);
