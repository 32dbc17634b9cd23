/* SPDX-License-Identifier: Apache-2.0 */
/* The knowledge compiler: what it makes of a folder, and what it says of mistakes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "kb-folder.h"
#include "kb/compile.h"
#include "kb/kb.h"
#include "kb/yaml-tree.h"

/* ---- YAML ---- */

static void expect_yaml_error(const char *text, guint line, const char *part)
{
    guint at = 0, column = 0;
    g_autofree char *message = NULL;
    CtYaml *root = ct_yaml_load(text, strlen(text), &at, &column, &message);
    assert_null(root);
    assert_int_equal(at, line);
    if (!strstr(message, part))
        fail_msg("`%s` does not say `%s`", message, part);
}

static void test_yaml_tree(void **state)
{
    guint line, column;
    char *message = NULL;
    static const char text[] = "a: 1\nb:\n  - x\n  - {c: \"2\"}\n";
    g_autoptr(CtYaml) root = ct_yaml_load(text, sizeof(text) - 1, &line, &column, &message);
    assert_non_null(root);
    assert_int_equal(root->type, CT_YAML_MAP);
    assert_string_equal(ct_yaml_get(root, "a")->text, "1");
    const CtYaml *b = ct_yaml_get(root, "b");
    assert_int_equal(b->type, CT_YAML_LIST);
    assert_int_equal(b->items->len, 2);
    const CtYaml *c = ct_yaml_get(b->items->pdata[1], "c");
    assert_string_equal(c->text, "2");
    assert_true(c->quoted);
    assert_int_equal(c->line, 4);
    assert_int_equal(c->column, 9);
    assert_null(ct_yaml_get(root, "z"));
}

static void test_yaml_refuses(void **state)
{
    expect_yaml_error("", 1, "empty");
    expect_yaml_error("a: &x 1\nb: *x\n", 2, "aliases");
    expect_yaml_error("a: 1\na: 2\n", 2, "stands twice");
    expect_yaml_error("? [a]\n: b\n", 1, "plain word");
    expect_yaml_error("a: 1\n---\nb: 2\n", 3, "more than one document");
    expect_yaml_error("a: [1, 2\nb: 3\n", 2, "");
    expect_yaml_error("a: \"x\\0y\"\n", 1, "NUL");
    expect_yaml_error("[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]", 1, "deeply");
}

/* ---- mistakes have a place ---- */

typedef struct {
    const char *file, *text;
    guint line;
    const char *part;
} Mistake;

static const Mistake MISTAKES[] = {
    {"causes/hardware/a.yaml", KB_CAUSE("a", "hardware", "  - {id: x, event: xid, wieght: 3}\n"),
     10, "unknown key `wieght`; did you mean `weight`?"},
    {"causes/hardware/a.yaml", KB_CAUSE("a", "hardware", "  - {id: x, event: xid, weight: 3}\n"),
     10, "`say` is missing"},
    {"causes/hardware/a.yaml", KB_CAUSE("a", "memory", ""), 2, "must be the name of the folder"},
    {"causes/hardware/a.yaml", KB_CAUSE("b", "hardware", ""), 1, "must be the name of the file"},
    {"causes/hardware/a.yaml",
     KB_CAUSE("a", "hardware", "  - {id: x, event: xid, fact: y, weight: 3, say: z}\n"), 10,
     "exactly one of"},
    {"causes/hardware/a.yaml",
     KB_CAUSE("a", "hardware", "  - {id: x, event: xid, value: [y], weight: 3, say: z}\n"), 10,
     "`value` does not go with `event`"},
    {"causes/hardware/a.yaml",
     KB_CAUSE("a", "hardware", "  - {id: x, event: xid, code: [7x], weight: 3, say: z}\n"), 10,
     "not a whole number"},
    {"causes/hardware/a.yaml",
     KB_CAUSE("a", "hardware", "  - {id: x, event: xid, weight: heavy, say: z}\n"), 10,
     "not a number"},
    {"causes/hardware/a.yaml",
     KB_CAUSE("a", "hardware",
              "  - {id: x, event: xid, weight: 3, say: z, absent: {needs: [k], weight: 2}}\n"),
     10, "must be negative"},
    {"causes/hardware/a.yaml",
     KB_CAUSE("a", "hardware",
              "  - {id: x, event: xid, weight: 3, say: z}\n  - {id: x, event: xid, weight: 3, say: "
              "z}\n"),
     11, "used twice"},
    {"signatures/s.yaml", "- id: a\n  kind: xid\n  anchors: [abc]\n  pattern: [x]\n", 4,
     "must be a single value"},
    {"signatures/s.yaml", "- id: a\n  kind: xid\n  pattern: x\n", 1, "`anchors` is missing"},
    {"signatures/s.yaml", "- {id: a, kind: xid, fact: b, anchors: x, pattern: x}\n", 1,
     "exactly one of `kind`, `fact`"},
    {"signatures/s.yaml", "- {id: a, kind: x, anchors: x, pattern: x, scope: all}\n", 1,
     "is not one of any, kernel, not-kernel"},
    {"signatures/s.yaml", "id: a\n", 1, "is a list"},
    {"codes/foo.tsv", "number\tname\n1\ta\n2\n", 3, "1 fields where the header names 2"},
    {"codes/foo.tsv", "number\tname\n1x\ta\n", 2, "not a whole number"},
    {"codes/foo.tsv", "", 1, "no header"},
    {"codes/Foo.tsv", "number\tname\n1\ta\n", 0, "name of the file is the family"},
    {"compat/foo.tsv", "a\tB c\n1\t2\n", 1, "must be lower-case"},
    {"vocabulary.tsv", "class\tname\tmeaning\nthing\tx\ty\n", 2, "none of event"},
    {"codes/foo.tsv", "number\tname\n1\t\xff\n", 2, "UTF-8"},
};

static void test_mistakes(void **state)
{
    for (guint i = 0; i < G_N_ELEMENTS(MISTAKES); i++) {
        const Mistake *m = &MISTAKES[i];
        char *folder = kb_folder_new();
        kb_folder_put(folder, m->file, m->text);
        sqlite3 *db = NULL;
        assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
        g_autoptr(GPtrArray) problems = ct_kb_compile_collect(folder, db, NULL);
        gboolean found = FALSE;
        for (guint j = 0; j < problems->len; j++) {
            const CtKbProblem *p = problems->pdata[j];
            found |=
                strstr(p->text, m->part) && p->line == m->line && strcmp(p->file, m->file) == 0;
        }
        if (!found) {
            g_autofree char *got = problems->len ? ct_kb_problem_format(problems->pdata[0], NULL)
                                                 : g_strdup("nothing");
            fail_msg("mistake %u: wanted %s:%u `%s`, got %s", i, m->file, m->line, m->part, got);
        }
        sqlite3_close(db);
        kb_folder_free(folder);
    }
}

static void test_all_mistakes_at_once(void **state)
{
    char *folder = kb_folder_new();
    kb_folder_put(folder, "vocabulary.tsv", KB_VOCABULARY);
    kb_folder_put(folder, "signatures/bad.yaml", "- {id: A, kind: x, anchors: y, pattern: z}\n");
    kb_folder_put(folder, "signatures/good.yaml",
                  "- {id: a, kind: xid, anchors: abcde, pattern: abcde}\n");
    kb_folder_put(folder, "codes/bad.tsv", "number\tname\nx\ty\nz\tw\n");
    GPtrArray *problems = NULL;
    GError *error = NULL;
    g_autoptr(CtKb) kb = ct_kb_open_collect(folder, &problems, &error);
    assert_non_null(kb);
    assert_int_equal(problems->len, 3);
    g_ptr_array_unref(problems);
    /* The good file is there, the bad one not at all. */
    sqlite3_stmt *st = NULL;
    sqlite3_prepare_v2(ct_kb_db(kb),
                       "SELECT (SELECT group_concat(id) FROM signature), count(*) FROM code", -1,
                       &st, NULL);
    assert_int_equal(sqlite3_step(st), SQLITE_ROW);
    assert_string_equal(sqlite3_column_text(st, 0), "a");
    assert_int_equal(sqlite3_column_int(st, 1), 0);
    sqlite3_finalize(st);
    assert_null(ct_kb_open_folder(folder, &error));
    assert_non_null(strstr(error->message, "signatures/bad.yaml:1:3: error:"));
    g_clear_error(&error);
    kb_folder_free(folder);
    assert_null(ct_kb_open_folder("/nonexistent-folder", &error));
    g_clear_error(&error);
}

/* ---- what becomes of a folder ---- */

static char *one_text(const CtKb *kb, const char *sql)
{
    sqlite3_stmt *st = NULL;
    if (sqlite3_prepare_v2(ct_kb_db(kb), sql, -1, &st, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(ct_kb_db(kb)));
    char *text =
        sqlite3_step(st) == SQLITE_ROW ? g_strdup((const char *)sqlite3_column_text(st, 0)) : NULL;
    sqlite3_finalize(st);
    return text;
}

static void expect_text(const CtKb *kb, const char *sql, const char *want)
{
    g_autofree char *got = one_text(kb, sql);
    if (g_strcmp0(got, want) != 0)
        fail_msg("%s\n  wanted %s\n  got    %s", sql, want ? want : "NULL", got ? got : "NULL");
}

static const char EVIDENCE[] =
    "  - {id: e, event: xid, code: [79, 0x50], name: [\"it's\"], severity: fatal, where: e.pid > "
    "1, "
    "weight: 14, group: g, say: {en: says, zh: 说}, absent: {needs: kernel-log, weight: -6}, "
    "test: {hit: [h1, h2], near: n}}\n"
    "  - {id: f, fact: env.*, value: [a, b], weight: 3, say: {en: says, zh: 说}}\n"
    "  - {id: s, fact: version.driver, status: absent, weight: 3, say: only English}\n"
    "  - {id: d, finding: memory-growth, where: d.number > 1, weight: 3, say: {en: says, zh: 说}}\n"
    "  - {id: m, event: [xid, cuda-error], weight: -3, say: {en: says, zh: 说}}\n"
    "  - {id: q, sql: \"SELECT 'fact' AS tab, f.id AS row FROM fact f\", needs: [\"fact:env.*\", "
    "\"event:xid\"], weight: 3, say: {en: says, zh: 说}}\n"
    "  - {id: w, sql: \"SELECT 'event' AS tab, x.id AS row FROM event x WHERE x.kind = 'xid' AND "
    "x.code IN (31, 13)\", weight: 3, say: {en: says, zh: 说}}\n";

static CtKb *small_base(void)
{
    char *folder = kb_folder_new();
    g_autofree char *cause = g_strdup_printf(KB_CAUSE("a", "hardware", "%s"), EVIDENCE);
    kb_folder_put(folder, "vocabulary.tsv", KB_VOCABULARY);
    kb_folder_put(folder, "causes/hardware/a.yaml", cause);
    kb_folder_put(folder, "causes/hardware/.hidden.yaml", "nonsense: [");
    kb_folder_put(folder, "causes/hardware/notes.txt", "nonsense: [");
    kb_folder_put(
        folder, "codes/foo.tsv",
        "# a comment\nnumber\tname\tmessage\talso_printed\tmeaning\tpeculiar\n"
        "0x10\tFOO_BAD\tit is bad\tbad | very bad\tBad.\tyes\n-\tFOO_NAMED\t-\t-\t-\t-\n");
    kb_folder_put(folder, "compat/two-words.tsv", "a\tb_2\n1.2\t-\n");
    kb_folder_put(
        folder, "signatures/s.yaml",
        "- id: sig\n  fact: version.driver\n  anchors: [Driver Version, other]\n"
        "  pattern: 'Driver Version: (?<value>\\S+)'\n  set: {name: \"a\\\"b\", free: 3}\n"
        "  nocase: true\n  test: {hit: 'Driver Version: 5', near: x}\n");
    GError *error = NULL;
    CtKb *kb = ct_kb_open_folder(folder, &error);
    if (!kb)
        fail_msg("%s", error->message);
    kb_folder_free(folder);
    return kb;
}

static void test_rules(void **state)
{
    g_autoptr(CtKb) kb = small_base();
    g_autofree char *e = one_text(kb, "SELECT sql FROM rule WHERE id = 'e'");
    assert_non_null(strstr(e, "e.kind = 'xid' AND e.code IN (79, 80) AND e.name COLLATE NOCASE IN "
                              "('it''s') AND e.severity IN ('fatal') AND (e.pid > 1\n)"));
    expect_text(kb, "SELECT needs FROM rule WHERE id = 'e'", "event:xid");
    expect_text(kb, "SELECT absent_needs || absent_weight FROM rule WHERE id = 'e'",
                "kernel-log-6.0");
    expect_text(kb, "SELECT evidence_group FROM rule WHERE id = 'f'", "f");
    expect_text(kb, "SELECT absent_weight FROM rule WHERE id = 'f'", NULL);
    g_autofree char *f = one_text(kb, "SELECT sql FROM rule WHERE id = 'f'");
    assert_non_null(strstr(f, "f.key GLOB 'env.*' AND f.value COLLATE NOCASE IN ('a', 'b') AND "
                              "f.status IN ('ok', 'partial', 'truncated')"));
    g_autofree char *s = one_text(kb, "SELECT sql FROM rule WHERE id = 's'");
    assert_non_null(strstr(s, "f.status IN ('absent') ORDER"));
    expect_text(kb, "SELECT say_zh FROM rule WHERE id = 's'", "only English");
    expect_text(kb, "SELECT needs FROM rule WHERE id = 'd'", "finding:memory-growth");
    g_autofree char *m = one_text(kb, "SELECT sql FROM rule WHERE id = 'm'");
    assert_non_null(strstr(m, "(e.kind = 'xid' OR e.kind = 'cuda-error')"));
    expect_text(kb, "SELECT needs FROM rule WHERE id = 'm'", NULL);
    expect_text(kb, "SELECT needs FROM rule WHERE id = 'q'", "fact:env.*,event:xid");
    expect_text(kb, "SELECT group_concat(kind || input, ' ') FROM rule_test", "hith1 hith2 nearn");
    expect_text(kb, "SELECT group_concat(code || ' ' || rule) FROM rule_event WHERE code",
                "79 e,80 e,31 w,13 w");
    expect_text(kb, "SELECT cost_s FROM next_test", "120.0");
}

static void test_tables(void **state)
{
    g_autoptr(CtKb) kb = small_base();
    expect_text(kb, "SELECT extra FROM code WHERE number = 16", "{\"peculiar\":\"yes\"}");
    expect_text(kb, "SELECT count(*) FROM code WHERE number IS NULL", "1");
    expect_text(kb,
                "SELECT group_concat(text, '+') FROM (SELECT text FROM code_text ORDER BY rowid)",
                "it is bad+bad+very bad");
    expect_text(kb, "SELECT a || ifnull(b_2, '?') FROM compat_two_words", "1.2?");
    expect_text(kb, "SELECT kind || ' ' || severity || nocase || fields FROM signature",
                "fact:version.driver info1{\"name\":\"a\\\"b\",\"free\":\"3\"}");
    expect_text(kb, "SELECT count(*) FROM anchor WHERE nocase = 1", "2");
    gint64 number;
    assert_true(ct_kb_code_number(kb, "foo", "VERY bad.", &number));
    assert_int_equal(number, 16);
    assert_false(ct_kb_code_number(kb, "bar", "FOO_BAD", &number));
}

static void test_attach(void **state)
{
    g_autoptr(CtKb) kb = small_base();
    sqlite3 *other = NULL;
    GError *error = NULL;
    assert_int_equal(sqlite3_open(":memory:", &other), SQLITE_OK);
    assert_true(ct_kb_attach(kb, other, &error));
    sqlite3_stmt *st = NULL;
    assert_int_equal(sqlite3_prepare_v2(other, "SELECT a FROM kb.compat_two_words", -1, &st, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_step(st), SQLITE_ROW);
    sqlite3_finalize(st);
    assert_int_not_equal(sqlite3_exec(ct_kb_db(kb), "DELETE FROM code", NULL, NULL, NULL),
                         SQLITE_OK);
    sqlite3_close(other);
}

/* ---- the base inside the program ---- */

static void expect_code(const CtKb *kb, const char *family, const char *name, gint64 want)
{
    gint64 got = -1;
    gboolean found = ct_kb_code_number(kb, family, name, &got);
    if (!found || got != want)
        fail_msg("%s %s: wanted %d, got %d", family, name, (int)want, found ? (int)got : -1);
}

static void test_codes(void **state)
{
    GError *error = NULL;
    g_autoptr(CtKb) kb = ct_kb_open(&error);
    assert_non_null(kb);
    expect_code(kb, "cuda", "cudaErrorIllegalAddress", 700);
    expect_code(kb, "cuda", "CUDA_ERROR_ILLEGAL_ADDRESS", 700);
    expect_code(kb, "cuda", "cuda_error_ecc_uncorrectable", 214);
    expect_code(kb, "cuda", "an illegal memory access was encountered", 700);
    expect_code(kb, "cuda", "Unspecified launch failure.", 719);
    expect_code(kb, "cuda", "all CUDA-capable devices are busy or unavailable", 46);
    expect_code(kb, "cuda", "the provided PTX was compiled with an unsupported toolchain.", 222);
    expect_code(kb, "cuda", "device kernel image is invalid", 200);
    expect_code(kb, "cuda-legacy", "cudaErrorIllegalAddress", 77);
    expect_code(kb, "cudnn", "CUDNN_STATUS_EXECUTION_FAILED", 5000);
    expect_code(kb, "cudnn", "CUDNN_STATUS_MAPPING_ERROR", 7);
    expect_code(kb, "nccl", "unhandled system error (run with NCCL_DEBUG=INFO for details)", 2);
    expect_code(kb, "nvml", "Driver/library version mismatch", 18);
    gint64 number = 5;
    assert_false(ct_kb_code_number(kb, "cuda", "cudaErrorOfNoKind", &number));
    assert_false(ct_kb_code_number(kb, "cuda", "", &number));
    assert_false(ct_kb_code_number(kb, "cuda", "...", &number));
    assert_int_equal(number, 5);
    const char *name = ct_kb_code_name(kb, "cuda", 719);
    assert_string_equal(name, "cudaErrorLaunchFailure");
    assert_ptr_equal(name, ct_kb_code_name(kb, "cuda", 719));
    assert_string_equal(ct_kb_code_name(kb, "cudnn", 8), "CUDNN_STATUS_EXECUTION_FAILED");
    assert_null(ct_kb_code_name(kb, "cuda", 12345));
    assert_null(ct_kb_code_name(kb, "nonsense", 1));
}

/* Every name and text leads back to its number. */
static void test_codes_are_consistent(void **state)
{
    GError *error = NULL;
    g_autoptr(CtKb) kb = ct_kb_open(&error);
    sqlite3_stmt *st = NULL;
    sqlite3_prepare_v2(ct_kb_db(kb),
                       "SELECT number, name, alt_name, message FROM code WHERE family = 'cuda'", -1,
                       &st, NULL);
    guint rows = 0;
    while (sqlite3_step(st) == SQLITE_ROW) {
        gint64 number = sqlite3_column_int64(st, 0);
        expect_code(kb, "cuda", (const char *)sqlite3_column_text(st, 1), number);
        if (sqlite3_column_text(st, 2))
            expect_code(kb, "cuda", (const char *)sqlite3_column_text(st, 2), number);
        if (sqlite3_column_text(st, 3) && number != 300)
            expect_code(kb, "cuda", (const char *)sqlite3_column_text(st, 3), number);
        rows++;
    }
    sqlite3_finalize(st);
    assert_true(rows > 130);
    expect_text(kb,
                "SELECT count(*) FROM code l WHERE l.family = 'cuda-legacy' AND NOT EXISTS "
                "(SELECT 1 FROM code c WHERE c.family = 'cuda' AND c.name = l.name AND "
                "c.number = json_extract(l.extra, '$.today'))",
                "0");
    expect_text(kb,
                "SELECT count(*) FROM (SELECT family, number, name FROM code WHERE number IS NOT "
                "NULL GROUP BY family, number, name HAVING count(*) > 1 AND family <> 'cudnn')",
                "0");
    expect_text(kb, "SELECT count(*) FROM code WHERE meaning IS NULL AND family <> 'cuda-legacy'",
                "0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_yaml_tree),
        cmocka_unit_test(test_yaml_refuses),
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_all_mistakes_at_once),
        cmocka_unit_test(test_rules),
        cmocka_unit_test(test_tables),
        cmocka_unit_test(test_attach),
        cmocka_unit_test(test_codes),
        cmocka_unit_test(test_codes_are_consistent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
