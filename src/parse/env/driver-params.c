/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/driver/nvidia/params: what the kernel module was given, "EnableGpuFirmware: 18". */
#include <string.h>

#include "parse/common/scan.h"

static gpointer begin(CtEmit *emit)
{
    return emit;
}

static void line(gpointer state, const CtLine *line, CtEmit *emit)
{
    CtStr key, value;
    if (!ct_str_key_value(ct_line_str(line), &key, &value) || !key.n || key.n > 80 || !value.n)
        return;
    g_autofree char *name = g_strdup_printf("module-param.nvidia.NVreg_%.*s", (int)key.n, key.p);
    ct_emit_text(emit, line, NULL, name, value);
}

static void finish(gpointer state, CtEmit *emit)
{
}

static int sniff(const CtSniff *sniff)
{
    if (sniff->command && strstr(sniff->command, "/proc/driver/nvidia/params"))
        return 95;
    return ct_sniff_has(sniff, "ResmanDebugLevel:") && ct_sniff_has(sniff, "ModifyDeviceFiles:") ? 90
                                                                                               : 0;
}

const CtParser ct_parser_driver_params = {
    .id = "driver-params",
    .summary = "parameters of the NVIDIA kernel module",
    .doc = "/proc/driver/nvidia/params: a fact module-param.nvidia.NVreg_NAME each.",
    .sniff = sniff,
    .begin = begin,
    .line = line,
    .finish = finish,
    .no_signatures = TRUE,
};
