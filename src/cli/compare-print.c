/* SPDX-License-Identifier: Apache-2.0 */
/* A sheet on a terminal, and the tables of `compare` as CSV. */
#include "cli/compare-print.h"

#include <stdio.h>
#include <string.h>

#include "cli/table.h"

static gboolean is_number(const char *cell)
{
    char *end;
    g_ascii_strtod(cell, &end);
    return end != cell && *end == '\0';
}

static void print_row(CtTable *table, char **cells, guint n)
{
    CtCell row[CT_COMPARE_COLUMNS];
    for (guint i = 0; i < n; i++)
        row[i] = (CtCell){is_number(cells[i]) ? CT_CELL_NUMBER : CT_CELL_TEXT, cells[i]};
    ct_table_row(table, row);
}

static gboolean print_table(const CtSheetBlock *b)
{
    CtTable *table =
        ct_table_new(CT_TABLE_ALIGNED, NULL, b->n_columns, (const char *const *)b->names);
    for (guint i = 0; i < b->rows->len; i++)
        print_row(table, b->rows->pdata[i], b->n_columns);
    return ct_table_end(table);
}

gboolean ct_compare_print_sheet(const CtSheet *sheet)
{
    static const char *const begin[] = {
        [CT_SHEET_HEADING] = "\n", [CT_SHEET_TEXT] = "", [CT_SHEET_ITEM] = "  ",
        [CT_SHEET_SUB] = "    ",   [CT_SHEET_CODE] = "", [CT_SHEET_TABLE] = ""};
    gboolean ok = TRUE;
    for (guint i = 0; i < sheet->blocks->len; i++) {
        const CtSheetBlock *b = sheet->blocks->pdata[i];
        const char *start = b->kind == CT_SHEET_HEADING && i == 0 ? "" : begin[b->kind];
        if (b->kind == CT_SHEET_TABLE)
            ok = print_table(b) && ok;
        else
            printf("%s%s\n", start, b->text);
    }
    if (sheet->verdict)
        printf("%s%s\n", sheet->blocks->len ? "\n" : "", sheet->verdict);
    return fflush(stdout) == 0 && !ferror(stdout) && ok;
}

static CtTable *csv(guint n, const CtMsg *headings)
{
    const char *names[CT_COMPARE_COLUMNS] = {"#"};
    for (guint i = 1; i < n; i++)
        names[i] = ct_msg(CT_LANG_EN, headings[i - 1]);
    return ct_table_new(CT_TABLE_CSV, NULL, n, names);
}

gboolean ct_compare_print_csv(const CtSteps *s)
{
    CtTable *table = csv(CT_COMPARE_COLUMNS, ct_compare_headings);
    for (guint i = 0; i < s->steps->len; i++) {
        g_auto(GStrv) cells = ct_compare_cells(s->steps->pdata[i], i, CT_LANG_EN);
        print_row(table, cells, CT_COMPARE_COLUMNS);
    }
    return ct_table_end(table);
}

gboolean ct_compare_print_csv_runs(const CtRuns *r)
{
    CtTable *table = csv(CT_COMPARE_RUN_COLUMNS, ct_compare_run_headings);
    for (guint i = 0; i < r->tensors->len; i++) {
        g_auto(GStrv) cells = ct_compare_run_cells(r, i, CT_LANG_EN);
        print_row(table, cells, CT_COMPARE_RUN_COLUMNS);
    }
    return ct_table_end(table);
}
