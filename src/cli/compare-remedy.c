/* SPDX-License-Identifier: Apache-2.0 */
/* Which layers to keep in higher precision, and how each version of TensorRT is told. */
#include <string.h>

#include "cli/compare-print.h"

static gboolean of_precision(CtFault f)
{
    return f == CT_FAULT_OVERFLOW || f == CT_FAULT_UNDERFLOW || f == CT_FAULT_ABSORPTION ||
           f == CT_FAULT_CANCELLATION || f == CT_FAULT_SOFTMAX_NORM || f == CT_FAULT_EPS ||
           f == CT_FAULT_TYPE || f == CT_FAULT_SATURATION || f == CT_FAULT_COARSE_SCALE;
}

static const char *advice(CtFault f)
{
    switch (f) {
    case CT_FAULT_OVERFLOW:
        return "Scale down before this tensor, keep it in FP32, or use BF16 for its range.";
    case CT_FAULT_ABSORPTION:
        return "Keep the sum, and the tensors that it is made of, in FP32; or bring both to one "
               "scale.";
    case CT_FAULT_SATURATION:
    case CT_FAULT_COARSE_SCALE:
        return "Calibrate again with data of the real range, or leave this tensor unquantised.";
    case CT_FAULT_MASK:
        return "Write the mask as -1e4 (or the lowest number of the type, added once) in the "
               "model.";
    case CT_FAULT_EPS:
        return "Raise the epsilon to 1e-5 or more, or keep the norm in FP32.";
    case CT_FAULT_LAYOUT:
        return "Permute at the place that hands this tensor over; compare with --layout to "
               "confirm.";
    case CT_FAULT_CHANNELS:
    case CT_FAULT_SCALE:
        return "Make preprocessing of both sides the same: channel order, mean, scale.";
    case CT_FAULT_SHIFT:
    case CT_FAULT_PERMUTED:
        return "Look at padding, strides, offsets and the order of the batch in the code around "
               "it.";
    case CT_FAULT_NAN_INPUT:
        return "Look at what makes the input: the model is not at fault.";
    case CT_FAULT_NAN_WEIGHT:
        return "Look at the checkpoint and its conversion: the weights themselves are not finite.";
    case CT_FAULT_UNDEFINED:
        return "Guard the operation (clamp its input), or look at what should keep it in range.";
    case CT_FAULT_RACE:
    case CT_FAULT_CONSTANT:
        return "Run compute-sanitizer (racecheck, initcheck), and `cutriage compare --runs`.";
    case CT_FAULT_TF32:
        return "Compare once with NVIDIA_TF32_OVERRIDE=0; if it agrees then, accept 1e-3.";
    case CT_FAULT_TYPE:
        return "Nothing is broken: set tolerances that the type can hold, or use a wider type.";
    default:
        return NULL;
    }
}

char *ct_compare_remedy(const CtSteps *s)
{
    GString *layers = g_string_new(NULL);
    GString *out = g_string_new(NULL);
    gboolean told[CT_N_FAULTS] = {FALSE};
    guint n = 0;
    for (guint i = 0; i < s->steps->len; i++) {
        const CtStep *step = s->steps->pdata[i];
        CtFault f = step->why.fault;
        if (!(step->bad || step->loss) || f == CT_FAULT_NONE)
            continue;
        if (advice(f) && !told[f])
            g_string_append_printf(out, "  %s\n", advice(f));
        told[f] = TRUE;
        if (of_precision(f) && f != CT_FAULT_TYPE && n++ < 8)
            g_string_append_printf(layers, "%s%s", n > 1 ? " " : "", step->name);
    }
    if (n) {
        g_string_append_printf(out, "  Higher precision for what makes: %s%s\n", layers->str,
                               n > 8 ? " ..." : "");
        g_string_append(
            out, "    TensorRT up to 10: trtexec --precisionConstraints=obey "
                 "--layerPrecisions=LAYER:fp32\n"
                 "      --layerOutputTypes=LAYER:fp32 (the layers that write these tensors)\n"
                 "    TensorRT 11 (strongly typed): insert Cast to FLOAT before and to FLOAT16 "
                 "after them\n"
                 "      in the ONNX file; there are no precision flags any more\n");
    }
    g_string_free(layers, TRUE);
    return g_string_free(out, out->len == 0);
}
