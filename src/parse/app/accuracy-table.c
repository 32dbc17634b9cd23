/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Accuracy of several precisions in columns: a header that names a measure and two precisions or
 * more ("set  n  mAP fp32  mAP fp16  mAP int8"), and rows of numbers. Measures of which less is
 * better (WER, perplexity) are left out: nothing tells how much more is too much.
 */
#include "parse/common/scan.h"

#define MAX_COLUMNS 8u

typedef struct {
    const char *precision[MAX_COLUMNS]; /* in the order of the header */
    guint n;
    guint behind; /* columns after the last of them */
} Header;

static const char *precision_of(CtStr word)
{
    static const char *const known[] = {"fp32", "tf32", "fp16", "bf16", "fp8", "int8", "int4"};
    for (gsize i = 0; i < G_N_ELEMENTS(known); i++)
        if (ct_str_ifind(word, known[i]) >= 0)
            return known[i];
    return NULL;
}

static gboolean is_measure(CtStr word)
{
    static const char *const known[] = {"map",    "acc",  "top1", "top-1", "top5", "top-5",
                                        "recall", "miou", "iou",  "f1",    "auc",  "dice"};
    for (gsize i = 0; i < G_N_ELEMENTS(known); i++)
        if (ct_str_ifind(word, known[i]) >= 0)
            return TRUE;
    return FALSE;
}

static gboolean is_separator(char c)
{
    return c == '|' || c == ',' || c == ';' || c == '\t' || c == ' ';
}

/* The next word between blanks and separators of columns; empty at the end. */
static CtStr next_word(CtStr *rest)
{
    gsize start = 0, end;
    while (start < rest->n && is_separator(rest->p[start]))
        start++;
    for (end = start; end < rest->n && !is_separator(rest->p[end]);)
        end++;
    CtStr word = ct_str_head(ct_str_from(*rest, start), end - start);
    *rest = ct_str_from(*rest, end);
    return word;
}

static gboolean read_header(CtStr row, Header *out)
{
    double number;
    gboolean measure = FALSE;
    *out = (Header){0};
    for (CtStr w = next_word(&row); w.n; w = next_word(&row)) {
        const char *precision = precision_of(w);
        if (ct_str_number(w, &number))
            return FALSE;
        if (precision && out->n == MAX_COLUMNS)
            return FALSE;
        if (precision)
            out->precision[out->n++] = precision, out->behind = 0;
        else if (!is_measure(w))
            out->behind++;
        measure |= is_measure(w);
    }
    return measure && out->n >= 2;
}

/* The columns of the precisions in a row; FALSE when these are no accuracies, 0 to 1 or percent. */
static gboolean read_row(CtStr row, const Header *h, CtStr *label, CtStr *value)
{
    CtStr cell[MAX_COLUMNS * 2];
    guint n = 0;
    *label = next_word(&row);
    for (CtStr w = next_word(&row); w.n && n < G_N_ELEMENTS(cell); w = next_word(&row))
        if (!ct_str_eq(w, "%"))
            cell[n++] = w;
    if (n < h->n + h->behind)
        return FALSE;
    for (guint i = 0; i < h->n; i++) {
        double number;
        CtStr w = cell[n - h->behind - h->n + i];
        value[i] = w;
        if (ct_str_ends(w, "%"))
            w = ct_str_head(w, w.n - 1);
        if (!ct_str_number(w, &number) || number < 0 || number > 100)
            return FALSE;
    }
    return label->n > 0;
}

static gpointer begin(CtEmit *emit)
{
    return g_new0(Header, 1);
}

static void line(gpointer state, const CtLine *line, CtEmit *emit)
{
    Header *h = state, found;
    CtStr row = ct_line_str(line), label, value[MAX_COLUMNS];
    if (read_header(row, &found)) {
        *h = found;
        return;
    }
    if (!h->n || !read_row(row, h, &label, value))
        return;
    g_autofree char *subject = ct_str_dup(label);
    for (guint i = 0; i < h->n; i++) {
        g_autofree char *key = g_strdup_printf("accuracy.%s", h->precision[i]);
        ct_emit_text(emit, line, subject, key, value[i]);
    }
}

static void finish(gpointer state, CtEmit *emit)
{
    g_free(state);
}

static int sniff(const CtSniff *sniff)
{
    Header h;
    CtStr label, value[MAX_COLUMNS];
    for (guint i = 0; i + 1 < sniff->n_lines; i++) {
        if (!read_header(ct_line_str(&sniff->lines[i]), &h))
            continue;
        for (guint k = i + 1; k < sniff->n_lines && k <= i + 2; k++) /* a rule may lie between */
            if (read_row(ct_line_str(&sniff->lines[k]), &h, &label, value))
                return 60;
    }
    return 0;
}

const CtParser ct_parser_accuracy_table = {
    .id = "accuracy-table",
    .summary = "accuracy of several precisions in columns",
    .doc = "Tables whose header names a measure (mAP, accuracy, top-1, recall, mIoU, F1 ...) and "
           "two precisions or more (fp32, fp16, bf16, int8 ...), one row a data set, class or "
           "model, values between 0 and 1 or in percent.",
    .sniff = sniff,
    .begin = begin,
    .line = line,
    .finish = finish,
};
