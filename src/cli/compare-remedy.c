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

#define NAMED 8u /* layers that are written out */

/* Names stand in shell words between quotes; trtexec separates entries by commas and ends a name at
 * the colon, so a name that holds one of both cannot be given. */
static gboolean can_be_given(const char *name)
{
    return !strpbrk(name, ",:\"'$`\\\n");
}

static void flags(GString *out, const GPtrArray *steps, gboolean layers)
{
    GString *precisions = g_string_new(NULL), *types = g_string_new(NULL);
    guint left_out = 0;
    for (guint i = 0; i < steps->len; i++) {
        const CtStep *s = steps->pdata[i];
        const char *name = s->node ? s->node : s->name;
        if (!can_be_given(name)) {
            left_out++;
            continue;
        }
        g_string_append_printf(precisions, "%s%s:fp32", precisions->len ? "," : "", name);
        g_string_append_printf(types, "%s%s:fp32", types->len ? "," : "", name);
    }
    g_string_append(out, "    TensorRT up to 10 (weakly typed): build with\n");
    if (precisions->len)
        g_string_append_printf(out,
                               "      trtexec --fp16 --precisionConstraints=obey \\\n"
                               "        \"--layerPrecisions=%s\" \\\n"
                               "        \"--layerOutputTypes=%s\"\n",
                               precisions->str, types->str);
    g_string_append(out, "      in code: BuilderFlag::kOBEY_PRECISION_CONSTRAINTS, and setPrecision "
                         "and setOutputType\n      with kFLOAT on these layers\n");
    if (left_out)
        g_string_append_printf(out, "      %u of the names hold commas, colons or quotes, which the "
                                    "flags cannot carry: set them in code\n",
                               left_out);
    if (layers)
        g_string_append(out, "      layers of an engine are often fused: name the ONNX nodes that "
                             "stand in the layer's name\n");
    else if (!((const CtStep *)steps->pdata[0])->node)
        g_string_append(out, "      these are names of tensors: a layer is named like its ONNX node; "
                             "give the model with --onnx\n");
    g_string_free(precisions, TRUE);
    g_string_free(types, TRUE);
}

static void casts(GString *out, const CtSteps *all, const GPtrArray *steps)
{
    g_string_append(out, "    TensorRT 11, and strongly typed networks before: the types of the ONNX "
                         "file count and there\n      are no precision flags. Change the file:\n");
    for (guint i = 0; i < steps->len; i++) {
        const CtStep *s = steps->pdata[i];
        GString *in = g_string_new(NULL);
        for (guint k = 0; s->inputs && k < s->inputs->len && k < NAMED; k++) {
            const CtStep *from = all->steps->pdata[g_array_index(s->inputs, guint, k)];
            g_string_append_printf(in, "%s'%s'", k ? ", " : "", from->name);
        }
        g_string_append_printf(out, "      %s%s%s: Cast to FLOAT on %s%s, its weights as FLOAT, Cast "
                                    "'%s' back to FLOAT16\n",
                               s->node ? "node '" : "what writes '", s->node ? s->node : s->name, "'",
                               in->len ? "" : "its inputs", in->str, s->name);
        g_string_free(in, TRUE);
    }
}

/* Steps whose operation should keep a wider type. (transfer container) */
static GPtrArray *to_widen(const CtSteps *s, guint *more)
{
    GPtrArray *out = g_ptr_array_new();
    for (guint i = 0; i < s->steps->len; i++) {
        CtStep *step = s->steps->pdata[i];
        CtFault f = step->why.fault;
        if (!(step->bad || step->loss) || !of_precision(f) || f == CT_FAULT_TYPE)
            continue;
        if (out->len < NAMED)
            g_ptr_array_add(out, step);
        else
            (*more)++;
    }
    return out;
}

char *ct_compare_remedy(const CtSteps *s, int trt)
{
    GString *out = g_string_new(NULL);
    gboolean told[CT_N_FAULTS] = {FALSE};
    for (guint i = 0; i < s->steps->len; i++) {
        const CtStep *step = s->steps->pdata[i];
        CtFault f = step->why.fault;
        if (!(step->bad || step->loss) || f == CT_FAULT_NONE)
            continue;
        if (advice(f) && !told[f])
            g_string_append_printf(out, "  %s\n", advice(f));
        told[f] = TRUE;
    }
    guint more = 0;
    g_autoptr(GPtrArray) wide = to_widen(s, &more);
    if (wide->len) {
        g_string_append(out, "  Higher precision for what makes:");
        for (guint i = 0; i < wide->len; i++)
            g_string_append_printf(out, " %s", ((const CtStep *)wide->pdata[i])->name);
        if (more)
            g_string_append_printf(out, " and %u more", more);
        g_string_append_c(out, '\n');
        if (trt <= 10)
            flags(out, wide, s->layers);
        if (trt == 0 || trt >= 11)
            casts(out, s, wide);
    }
    return g_string_free(out, out->len == 0);
}
