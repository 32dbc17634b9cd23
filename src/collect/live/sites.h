/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "collect/live/live.h"

/* Folders of Python packages: of the virtual environment and the user that the environment names,
 * and of the usual places. No folder twice. (transfer full, char *) */
GPtrArray *ct_live_python_sites(CtLive *live);
