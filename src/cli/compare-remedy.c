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

/* CT_N_MSGS: nothing to say. */
static CtMsg advice(CtFault f, gboolean at_input)
{
    switch (f) {
    case CT_FAULT_OVERFLOW:
        return CT_MSG_CMP_DO_OVERFLOW;
    case CT_FAULT_ABSORPTION:
        return CT_MSG_CMP_DO_ABSORPTION;
    case CT_FAULT_SATURATION:
    case CT_FAULT_COARSE_SCALE:
        return CT_MSG_CMP_DO_QUANTISE;
    case CT_FAULT_MASK:
        return CT_MSG_CMP_DO_MASK;
    case CT_FAULT_EPS:
        return CT_MSG_CMP_DO_EPS;
    case CT_FAULT_LAYOUT:
        return CT_MSG_CMP_DO_LAYOUT;
    case CT_FAULT_CHANNELS:
        return at_input ? CT_MSG_CMP_DO_PREPARE : CT_MSG_CMP_DO_ORDER;
    case CT_FAULT_SCALE:
        return at_input ? CT_MSG_CMP_DO_PREPARE : CT_MSG_CMP_DO_SCALE;
    case CT_FAULT_SHIFT:
    case CT_FAULT_PERMUTED:
        return CT_MSG_CMP_DO_ORDER;
    case CT_FAULT_NAN_INPUT:
        return CT_MSG_CMP_DO_NAN_INPUT;
    case CT_FAULT_NAN_WEIGHT:
        return CT_MSG_CMP_DO_NAN_WEIGHT;
    case CT_FAULT_UNDEFINED:
        return CT_MSG_CMP_DO_UNDEFINED;
    case CT_FAULT_RACE:
    case CT_FAULT_CONSTANT:
        return CT_MSG_CMP_DO_RACE;
    case CT_FAULT_TF32:
        return CT_MSG_CMP_DO_TF32;
    case CT_FAULT_TYPE:
        return CT_MSG_CMP_DO_TYPE;
    default:
        return CT_N_MSGS;
    }
}

#define NAMED 8u /* layers that are written out */

/* Names stand in shell words between quotes; trtexec separates entries by commas and ends a name at
 * the colon, so a name that holds one of both cannot be given. */
static gboolean can_be_given(const char *name)
{
    return !strpbrk(name, ",:\"'$`\\\n");
}

static void flags(CtSheet *sheet, const GPtrArray *steps, gboolean layers)
{
    g_autoptr(GString) precisions = g_string_new(NULL), types = g_string_new(NULL);
    guint left_out = 0;
    CtLang lang = sheet->lang;
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
    ct_sheet_add(sheet, CT_SHEET_ITEM, ct_msg(lang, CT_MSG_CMP_TRT10));
    if (precisions->len)
        ct_sheet_take(sheet, CT_SHEET_CODE,
                      g_strdup_printf("      trtexec --fp16 --precisionConstraints=obey \\\n"
                                      "        \"--layerPrecisions=%s\" \\\n"
                                      "        \"--layerOutputTypes=%s\"\n",
                                      precisions->str, types->str));
    ct_sheet_add(sheet, CT_SHEET_SUB, ct_msg(lang, CT_MSG_CMP_TRT10_CODE));
    if (left_out) {
        g_autofree char *n = g_strdup_printf("%u", left_out);
        ct_sheet_take(sheet, CT_SHEET_SUB, ct_msgf(lang, CT_MSG_CMP_TRT10_NAMES, n, NULL));
    }
    if (layers)
        ct_sheet_add(sheet, CT_SHEET_SUB, ct_msg(lang, CT_MSG_CMP_TRT10_FUSED));
    else if (!((const CtStep *)steps->pdata[0])->node)
        ct_sheet_add(sheet, CT_SHEET_SUB, ct_msg(lang, CT_MSG_CMP_TRT10_TENSORS));
}

static void casts(CtSheet *sheet, const CtSteps *all, const GPtrArray *steps)
{
    ct_sheet_add(sheet, CT_SHEET_ITEM, ct_msg(sheet->lang, CT_MSG_CMP_TRT11));
    for (guint i = 0; i < steps->len; i++) {
        const CtStep *s = steps->pdata[i];
        g_autoptr(GString) in = g_string_new(NULL);
        for (guint k = 0; s->inputs && k < s->inputs->len && k < NAMED; k++) {
            const CtStep *from = all->steps->pdata[g_array_index(s->inputs, guint, k)];
            g_string_append_printf(in, "%s'%s'", k ? ", " : "", from->name);
        }
        ct_sheet_take(sheet, CT_SHEET_SUB,
                      ct_msgf(sheet->lang, s->node ? CT_MSG_CMP_CAST_NODE : CT_MSG_CMP_CAST_TENSOR,
                              s->node ? s->node : s->name,
                              in->len ? in->str : ct_msg(sheet->lang, CT_MSG_CMP_ITS_INPUTS),
                              s->name, NULL));
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

/* Under one heading, which is only there when something follows. */
static void heading(CtSheet *sheet, gboolean *told)
{
    if (!*told)
        ct_sheet_add(sheet, CT_SHEET_HEADING, ct_msg(sheet->lang, CT_MSG_CMP_DO));
    *told = TRUE;
}

static void add_advice(CtSheet *sheet, const CtSteps *s, gboolean *headed)
{
    gboolean told[CT_N_MSGS] = {FALSE};
    for (guint i = 0; i < s->steps->len; i++) {
        const CtStep *step = s->steps->pdata[i];
        if (!(step->bad || step->loss))
            continue;
        /* A channel that is always zero is common behind an activation. */
        if (step->why.fault == CT_FAULT_CONSTANT && !step->bad)
            continue;
        CtMsg m = advice(step->why.fault, ct_compare_at_input(s, i));
        if (m == CT_N_MSGS || told[m])
            continue;
        told[m] = TRUE;
        heading(sheet, headed);
        ct_sheet_add(sheet, CT_SHEET_ITEM, ct_msg(sheet->lang, m));
    }
}

void ct_compare_remedy(CtSheet *sheet, const CtSteps *s, int trt)
{
    gboolean headed = FALSE;
    guint more = 0;
    add_advice(sheet, s, &headed);
    g_autoptr(GPtrArray) wide = to_widen(s, &more);
    if (!wide->len)
        return;
    heading(sheet, &headed);
    g_autoptr(GString) list = g_string_new(NULL);
    for (guint i = 0; i < wide->len; i++)
        g_string_append_printf(list, "%s%s", i ? " " : "", ((const CtStep *)wide->pdata[i])->name);
    if (more) {
        g_autofree char *n = g_strdup_printf("%u", more);
        g_autofree char *rest = ct_msgf(sheet->lang, CT_MSG_CMP_MORE, n, NULL);
        g_string_append_printf(list, " %s", rest);
    }
    ct_sheet_take(sheet, CT_SHEET_ITEM, ct_msgf(sheet->lang, CT_MSG_CMP_WIDER, list->str, NULL));
    if (trt <= 10)
        flags(sheet, wide, s->layers);
    if (trt == 0 || trt >= 11)
        casts(sheet, s, wide);
}
