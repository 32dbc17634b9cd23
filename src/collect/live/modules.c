/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel modules: which are loaded, what they were given, what the driver says of itself. */
#include <string.h>

#include "collect/live/live.h"

static void run(CtLive *live)
{
    ct_live_file(live, "/proc/modules", 0, TRUE);
    ct_live_file(live, "/proc/driver/nvidia/version", 0, TRUE);
    ct_live_file(live, "/sys/module/nvidia/version", 0, FALSE);
    ct_live_file(live, "/proc/driver/nvidia/params", 0, FALSE);
    g_autoptr(GPtrArray) gpus = ct_live_glob(live, "/proc/driver/nvidia/gpus/*/information");
    for (guint i = 0; i < gpus->len; i++)
        ct_live_file(live, g_ptr_array_index(gpus, i), 0, FALSE);
}

const CtCollector ct_collector_modules = {
    .id = "modules",
    .layer = "kernel-driver",
    .title = "kernel modules and the driver's own words",
    .run = run,
};
