/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs every parser over its fixtures: tests/parsers/<id>/<case>/input* is read as one source,
 * and each entry of expect.json must be found in what came out. Fields that an entry does not
 * name are not compared, so a fixture survives additions.
 *
 *   run-parsers DIR              run all cases
 *   run-parsers --refresh DIR    write expect.json of cases that have none
 *   run-parsers --dump FILE...   print what comes out of files
 */
#include <glib.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "evidence/evidence.h"
#include "kb/kb.h"
#include "parse/frame/parse.h"
#include "parse/frame/parser.h"

static guint passed, failed, skipped;

/* ---- what came out, as JSON ---- */

static void put_text(json_t *row, const char *key, const unsigned char *text)
{
    if (text)
        json_object_set_new(row, key, json_string((const char *)text));
}

static json_t *query(sqlite3 *db, const char *sql)
{
    json_t *rows = json_array();
    sqlite3_stmt *st = NULL;
    if (sqlite3_prepare_v2(db, sql, -1, &st, NULL) != SQLITE_OK) {
        fprintf(stderr, "%s: %s\n", sql, sqlite3_errmsg(db));
        return rows;
    }
    while (sqlite3_step(st) == SQLITE_ROW) {
        json_t *row = json_object();
        for (int i = 0; i < sqlite3_column_count(st); i++) {
            const char *name = sqlite3_column_name(st, i);
            int type = sqlite3_column_type(st, i);
            if (type == SQLITE_INTEGER)
                json_object_set_new(row, name, json_integer(sqlite3_column_int64(st, i)));
            else if (type == SQLITE_FLOAT)
                json_object_set_new(row, name, json_real(sqlite3_column_double(st, i)));
            else if (type == SQLITE_TEXT)
                put_text(row, name, sqlite3_column_text(st, i));
        }
        json_array_append_new(rows, row);
    }
    sqlite3_finalize(st);
    return rows;
}

static json_t *series_of(CtEvidence *ev)
{
    json_t *all = json_array();
    for (guint i = 0; i < ct_evidence_n_series(ev); i++) {
        CtSeriesView v = ct_evidence_series_at(ev, i);
        json_t *row = json_object();
        if (v.subject)
            json_object_set_new(row, "subject", json_string(v.subject));
        json_object_set_new(row, "metric", json_string(v.metric));
        json_object_set_new(row, "unit", json_string(v.unit));
        json_object_set_new(row, "n", json_integer((json_int_t)v.len));
        if (v.len) {
            json_object_set_new(row, "first", json_real(v.value[0]));
            json_object_set_new(row, "last", json_real(v.value[v.len - 1]));
            if (v.t_ns[0] != CT_TIME_UNKNOWN)
                json_object_set_new(row, "t0", json_integer(v.t_ns[0]));
            json_object_set_new(row, "line", json_integer(v.line[0]));
        }
        json_array_append_new(all, row);
    }
    return all;
}

static json_t *outcome(CtEvidence *ev)
{
    sqlite3 *db = ct_evidence_db(ev);
    json_t *out = json_object();
    json_object_set_new(out, "sections",
                        query(db, "SELECT parser, scope, status, clock, command, title, "
                                  "first_line, last_line, note FROM section ORDER BY id"));
    json_object_set_new(out, "facts",
                        query(db, "SELECT line, subject, key, value, number, "
                                  "nullif(status, 'ok') AS status FROM fact ORDER BY id"));
    json_object_set_new(out, "events",
                        query(db, "SELECT line, kind, severity, name, code, pid, rank, gpu, "
                                  "subject, detail, nullif(repeats, 1) AS repeats "
                                  "FROM event ORDER BY id"));
    json_object_set_new(out, "series", series_of(ev));
    json_object_set_new(out, "coverage",
                        query(db, "SELECT DISTINCT kind, subject FROM coverage ORDER BY kind"));
    json_object_set_new(out, "aliases",
                        query(db, "SELECT subject, name FROM alias ORDER BY subject, name"));
    return out;
}

static json_t *run_file(const char *path, const CtKb *kb)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *data = NULL;
    gsize len;
    if (!g_file_get_contents(path, &data, &len, &error)) {
        fprintf(stderr, "%s\n", error->message);
        return NULL;
    }
    g_autoptr(CtEvidence) ev = ct_evidence_new(&error);
    g_autoptr(CtParse) parse = ev ? ct_parse_new(ev, kb, &error) : NULL;
    if (!parse) {
        fprintf(stderr, "%s\n", error->message);
        return NULL;
    }
    g_autofree char *name = g_path_get_basename(path);
    ct_parse_memory(parse, name, data, len);
    ct_parse_finish(parse);
    return outcome(ev);
}

/* ---- comparison ---- */

static gboolean same(const json_t *want, const json_t *got)
{
    if (json_is_number(want) && json_is_number(got)) {
        double a = json_number_value(want), b = json_number_value(got);
        return fabs(a - b) <= 1e-9 * MAX(fabs(a), fabs(b));
    }
    return json_equal(want, got);
}

static gboolean entry_in(const json_t *want, const json_t *rows)
{
    size_t i;
    json_t *row, *value;
    const char *key;
    json_array_foreach(rows, i, row) {
        gboolean fits = TRUE;
        json_object_foreach((json_t *)want, key, value) {
            json_t *got = json_object_get(row, key);
            if (json_is_null(value) ? got != NULL : !got || !same(value, got))
                fits = FALSE;
        }
        if (fits)
            return TRUE;
    }
    return FALSE;
}

static guint compare(const char *label, const json_t *expect, const json_t *got, gboolean wanted)
{
    const char *table;
    json_t *entries, *entry;
    guint wrong = 0;
    json_object_foreach((json_t *)expect, table, entries) {
        size_t i;
        if (strcmp(table, "not") == 0) {
            wrong += compare(label, entries, got, FALSE);
            continue;
        }
        json_array_foreach(entries, i, entry) {
            if (entry_in(entry, json_object_get(got, table)) == wanted)
                continue;
            char *text = json_dumps(entry, JSON_COMPACT);
            printf("%s: %s: %s %s\n", label, table, wanted ? "not found:" : "must not be:", text);
            free(text);
            wrong++;
        }
    }
    return wrong;
}

/* ---- cases ---- */

static char *input_of(const char *folder)
{
    GDir *dir = g_dir_open(folder, 0, NULL);
    const char *name;
    char *found = NULL;
    while (dir && (name = g_dir_read_name(dir)))
        if (g_str_has_prefix(name, "input") && !found)
            found = g_build_filename(folder, name, NULL);
    if (dir)
        g_dir_close(dir);
    return found;
}

static void run_case(const char *folder, const char *label, const CtKb *kb, gboolean refresh)
{
    g_autofree char *input = input_of(folder);
    g_autofree char *expect_path = g_build_filename(folder, "expect.json", NULL);
    g_autofree char *source_path = g_build_filename(folder, "source.md", NULL);
    if (!input) {
        printf("%s: no input\n", label);
        failed++;
        return;
    }
    json_t *got = run_file(input, kb);
    if (refresh && !g_file_test(expect_path, G_FILE_TEST_EXISTS)) {
        json_object_del(got, "aliases");
        json_dump_file(got, expect_path, JSON_INDENT(1));
        printf("%s: written, to be read and cut down\n", label);
    }
    json_error_t error;
    json_t *expect = json_load_file(expect_path, 0, &error);
    if (!got || !expect) {
        printf("%s: expect.json: %s\n", label, expect ? "no outcome" : error.text);
        failed++;
    } else if (!g_file_test(source_path, G_FILE_TEST_EXISTS)) {
        printf("%s: source.md is missing\n", label);
        failed++;
    } else if (compare(label, expect, got, TRUE)) {
        failed++;
    } else {
        passed++;
    }
    json_decref(expect);
    json_decref(got);
}

static GPtrArray *names_in(const char *folder)
{
    GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
    GDir *dir = g_dir_open(folder, 0, NULL);
    const char *name;
    while (dir && (name = g_dir_read_name(dir))) {
        g_autofree char *path = g_build_filename(folder, name, NULL);
        if (g_file_test(path, G_FILE_TEST_IS_DIR))
            g_ptr_array_add(names, g_strdup(name));
    }
    if (dir)
        g_dir_close(dir);
    g_ptr_array_sort(names, (GCompareFunc)(void (*)(void))g_strcmp0);
    return names;
}

/* Every parser shows that it reads good input and survives the other four kinds. */
static void check_complete(const char *root)
{
    static const char *const cases[] = {"good", "truncated", "wrong-encoding", "hostile", "empty"};
    for (guint i = 0; ct_parsers()[i]; i++) {
        const CtParser *p = ct_parsers()[i];
        for (gsize k = 0; k < G_N_ELEMENTS(cases); k++) {
            g_autofree char *path = g_build_filename(root, p->id, cases[k], NULL);
            if (g_file_test(path, G_FILE_TEST_IS_DIR))
                continue;
            printf("%s: case %s is missing\n", p->id, cases[k]);
            failed++;
        }
        if (!p->summary || !p->doc) {
            printf("%s: summary or doc is missing\n", p->id);
            failed++;
        }
    }
}

/* The page names every parser. */
static void check_page(const char *root)
{
    g_autofree char *path = g_build_filename(root, "..", "..", "docs", "parsers.md", NULL);
    g_autofree char *page = NULL;
    if (!g_file_get_contents(path, &page, NULL, NULL))
        return; /* fixtures of somebody else's */
    for (guint i = 0; ct_parsers()[i]; i++) {
        g_autofree char *heading = g_strdup_printf("\n### %s\n", ct_parsers()[i]->id);
        if (strstr(page, heading))
            continue;
        printf("%s: docs/parsers.md does not name it\n", ct_parsers()[i]->id);
        failed++;
    }
}

static int run_all(const char *root, const CtKb *kb, gboolean refresh)
{
    g_autoptr(GPtrArray) ids = names_in(root);
    for (guint i = 0; i < ids->len; i++) {
        const char *id = g_ptr_array_index(ids, i);
        g_autofree char *folder = g_build_filename(root, id, NULL);
        if (!ct_parser_by_id(id)) {
            printf("%s: no such parser\n", id);
            skipped++;
            continue;
        }
        g_autoptr(GPtrArray) cases = names_in(folder);
        for (guint k = 0; k < cases->len; k++) {
            const char *name = g_ptr_array_index(cases, k);
            g_autofree char *path = g_build_filename(folder, name, NULL);
            g_autofree char *label = g_strdup_printf("%s/%s", id, name);
            run_case(path, label, kb, refresh);
        }
    }
    check_complete(root);
    check_page(root);
    printf("%u passed, %u failed, %u skipped\n", passed, failed, skipped);
    return failed ? 1 : 0;
}

int main(int argc, char **argv)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(CtKb) kb = ct_kb_open(&error);
    if (!kb) {
        fprintf(stderr, "knowledge base: %s\n", error->message);
        return 1;
    }
    if (argc > 2 && strcmp(argv[1], "--dump") == 0) {
        for (int i = 2; i < argc; i++) {
            json_t *out = run_file(argv[i], kb);
            if (!out)
                return 1;
            json_dumpf(out, stdout, JSON_INDENT(1));
            printf("\n");
            json_decref(out);
        }
        return 0;
    }
    gboolean refresh = argc > 2 && strcmp(argv[1], "--refresh") == 0;
    if (argc < (refresh ? 3 : 2)) {
        fprintf(stderr, "usage: run-parsers [--refresh] DIR | --dump FILE...\n");
        return 2;
    }
    return run_all(argv[argc - 1], kb, refresh);
}
