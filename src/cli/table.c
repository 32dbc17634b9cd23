/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/table.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "report/layout.h"

/* Widths come from this many rows; later rows are written as they come. */
#define MEASURED_ROWS 1000u
#define COLUMN_MAX 60u
#define NARROWEST 8u

struct CtTable {
    CtTableForm form;
    guint n_columns, room; /* room: columns of the terminal, 0 without one */
    char **names;
    guint *width;
    gboolean *numeric;
    GPtrArray *held; /* char **, rows that wait for the widths */
    gboolean measured;
    guint64 n_rows;
    int failed; /* errno of the first row that could not be written */
};

/* stdio writes when its buffer is full, in the middle of a row; later calls forget why it failed. */
static void watch(CtTable *t)
{
    if (!t->failed && ferror(stdout))
        t->failed = errno ? errno : EIO;
}

static guint terminal_columns(void)
{
    guint columns, rows;
    ct_cli_screen(&columns, &rows);
    return !columns && isatty(STDOUT_FILENO) ? 80 : columns;
}

static void put_json(const char *text)
{
    g_autofree char *valid = g_utf8_make_valid(text, -1);
    json_t *s = json_string(valid);
    char *out = json_dumps(s, JSON_ENCODE_ANY);
    fputs(out ? out : "null", stdout);
    free(out);
    json_decref(s);
}

static void put_csv(const char *text, gboolean first)
{
    if (!first)
        putchar(',');
    if (!strpbrk(text, ",\"\n\r")) {
        fputs(text, stdout);
        return;
    }
    putchar('"');
    for (; *text; text++) {
        if (*text == '"')
            putchar('"');
        putchar(*text);
    }
    putchar('"');
}

CtTable *ct_table_new(CtTableForm form, const char *schema, guint n_columns,
                      const char *const *names)
{
    CtTable *t = g_new0(CtTable, 1);
    t->form = form;
    t->n_columns = n_columns;
    t->room = terminal_columns();
    t->names = g_new0(char *, n_columns + 1);
    t->width = g_new0(guint, n_columns + 1);
    t->numeric = g_new0(gboolean, n_columns + 1);
    t->held = g_ptr_array_new_with_free_func((GDestroyNotify)g_strfreev);
    for (guint i = 0; i < n_columns; i++) {
        t->names[i] = ct_text_clean(names[i]);
        t->numeric[i] = TRUE;
    }
    if (form == CT_TABLE_CSV) {
        for (guint i = 0; i < n_columns; i++)
            put_csv(t->names[i], i == 0);
        putchar('\n');
    } else if (form == CT_TABLE_JSON) {
        fputs("{\n \"schema\": ", stdout);
        put_json(schema);
        fputs(",\n \"columns\": [", stdout);
        for (guint i = 0; i < n_columns; i++) {
            fputs(i ? ", " : "", stdout);
            put_json(t->names[i]);
        }
        fputs("],\n \"rows\": [", stdout);
    }
    return t;
}

static void aligned_line(const CtTable *t, char **cells)
{
    GString *line = g_string_new(NULL);
    for (guint i = 0; i < t->n_columns; i++) {
        if (t->room && ct_text_width(cells[i]) > t->width[i]) {
            char *fit = ct_text_fit(cells[i], t->width[i]);
            g_free(cells[i]);
            cells[i] = fit;
        }
        guint width = ct_text_width(cells[i]);
        guint pad = width < t->width[i] ? t->width[i] - width : 0;
        if (t->numeric[i])
            ct_text_pad(line, pad);
        g_string_append(line, cells[i]);
        if (!t->numeric[i] && i + 1 < t->n_columns)
            ct_text_pad(line, pad);
        if (i + 1 < t->n_columns)
            g_string_append(line, "  ");
    }
    g_autofree char *text = g_string_free(line, FALSE);
    g_autofree char *fit = t->room ? ct_text_fit(text, t->room) : g_strdup(text);
    puts(g_strchomp(fit));
}

/* Where the rows are wider than the terminal, the widest text gives way first; the first column
 * says what a row is about and stays whole. */
static void shrink(CtTable *t)
{
    guint total = 2 * (t->n_columns - 1);
    for (guint i = 0; i < t->n_columns; i++)
        total += t->width[i];
    while (total > t->room) {
        guint widest = 0;
        for (guint i = 1; i < t->n_columns; i++)
            if (!widest || t->width[i] > t->width[widest])
                widest = i;
        if (!widest || t->width[widest] <= NARROWEST)
            break;
        t->width[widest]--;
        total--;
    }
}

static void write_held(CtTable *t)
{
    for (guint i = 0; i < t->n_columns; i++)
        t->width[i] = MAX(t->width[i], ct_text_width(t->names[i]));
    if (t->room)
        shrink(t);
    aligned_line(t, t->names);
    for (guint i = 0; i < t->held->len; i++)
        aligned_line(t, g_ptr_array_index(t->held, i));
    g_ptr_array_set_size(t->held, 0);
    t->measured = TRUE;
}

static void aligned_row(CtTable *t, const CtCell *cells)
{
    char **row = g_new0(char *, t->n_columns + 1);
    for (guint i = 0; i < t->n_columns; i++) {
        row[i] = ct_text_clean(cells[i].type == CT_CELL_NULL ? "" : cells[i].text);
        if (!t->measured)
            t->width[i] = MAX(t->width[i], MIN(ct_text_width(row[i]), t->room ? t->room : COLUMN_MAX));
        if (!t->measured && cells[i].type == CT_CELL_TEXT)
            t->numeric[i] = FALSE;
    }
    if (t->measured) {
        aligned_line(t, row);
        g_strfreev(row);
        return;
    }
    g_ptr_array_add(t->held, row);
    if (t->held->len == MEASURED_ROWS)
        write_held(t);
}

static void json_row(CtTable *t, const CtCell *cells)
{
    fputs(t->n_rows ? ",\n  {" : "\n  {", stdout);
    for (guint i = 0; i < t->n_columns; i++) {
        fputs(i ? ", " : "", stdout);
        put_json(t->names[i]);
        fputs(": ", stdout);
        if (cells[i].type == CT_CELL_NULL)
            fputs("null", stdout);
        else if (cells[i].type == CT_CELL_NUMBER)
            fputs(cells[i].text, stdout);
        else
            put_json(cells[i].text);
    }
    putchar('}');
}

void ct_table_row(CtTable *t, const CtCell *cells)
{
    if (t->form == CT_TABLE_ALIGNED) {
        aligned_row(t, cells);
    } else if (t->form == CT_TABLE_JSON) {
        json_row(t, cells);
    } else {
        for (guint i = 0; i < t->n_columns; i++)
            put_csv(cells[i].type == CT_CELL_NULL ? "" : cells[i].text, i == 0);
        putchar('\n');
    }
    watch(t);
    t->n_rows++;
}

guint64 ct_table_rows(const CtTable *t)
{
    return t->n_rows;
}

gboolean ct_table_end(CtTable *t)
{
    if (t->form == CT_TABLE_ALIGNED && !t->measured)
        write_held(t);
    if (t->form == CT_TABLE_JSON)
        fputs(t->n_rows ? "\n ]\n}\n" : "]\n}\n", stdout);
    watch(t);
    if (fflush(stdout) != 0)
        watch(t);
    int failed = t->failed;
    g_strfreev(t->names);
    g_free(t->width);
    g_free(t->numeric);
    g_ptr_array_unref(t->held);
    g_free(t);
    errno = failed;
    return failed == 0;
}
