/* SPDX-License-Identifier: Apache-2.0 */
/* Lint: a base without fault passes, and each fault is named. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "evidence/evidence.h"
#include "kb-folder.h"
#include "kb/kb.h"
#include "kb/lint.h"
#include "reason/reason.h"

#define RULE(more)                                                                                 \
    "  - {id: r, event: xid, code: [79], weight: 9, say: {en: \"says {code}\", zh: \"说 "         \
    "{code}\"}, "                                                                                  \
    "test: {hit: [a, c], near: b}" more "}\n"
#define SIG(id, more)                                                                              \
    "- {id: " id ", kind: xid, anchors: [\"NVRM: Xid\"], pattern: 'NVRM: Xid (?<code>\\d+)', "     \
    "test: {hit: [\"NVRM: Xid 7\", \"NVRM: Xid 8\"], near: \"NVRM: Xid x\"}" more "}\n"
#define CODES "number\tname\tmeaning\n79\tA\tB.\n"

/* The folder goes. */
static GPtrArray *lint_folder(char *folder)
{
    GError *error = NULL;
    g_autoptr(CtKb) kb = ct_kb_open_folder(folder, &error);
    if (!kb)
        fail_msg("%s", error->message);
    kb_folder_free(folder);
    g_autoptr(CtEvidence) ev = ct_evidence_new(&error);
    assert_true(ct_kb_attach(kb, ct_evidence_db(ev), &error));
    ct_reason_register_sql(ct_evidence_db(ev));
    return ct_kb_lint(ct_kb_db(kb), ct_evidence_db(ev));
}

static GPtrArray *lint_of(const char *cause_a, const char *cause_b, const char *signatures)
{
    char *folder = kb_folder_new();
    kb_folder_put(folder, "vocabulary.tsv", KB_VOCABULARY);
    kb_folder_put(folder, "codes/xid.tsv", CODES);
    kb_folder_put(folder, "causes/hardware/a.yaml", cause_a);
    if (cause_b)
        kb_folder_put(folder, "causes/memory/jetson-b.yaml", cause_b);
    kb_folder_put(folder, "signatures/s.yaml", signatures);
    return lint_folder(folder);
}

static void expect(const char *cause_a, const char *cause_b, const char *signatures,
                   gboolean warning, const char *part)
{
    g_autoptr(GPtrArray) problems = lint_of(cause_a, cause_b, signatures);
    for (guint i = 0; i < problems->len; i++) {
        const CtKbProblem *p = problems->pdata[i];
        if (strstr(p->text, part) && p->warning == warning)
            return;
    }
    g_autofree char *first =
        problems->len ? ct_kb_problem_format(problems->pdata[0], NULL) : g_strdup("nothing");
    fail_msg("`%s` is not named; first: %s", part, first);
}

static void expect_cause(const char *evidence, const char *part)
{
    g_autofree char *cause = g_strdup_printf(KB_CAUSE("a", "hardware", "%s"), evidence);
    expect(cause, NULL, SIG("s", ""), FALSE, part);
}

static void test_clean(void **state)
{
    g_autoptr(GPtrArray) problems = lint_of(KB_CAUSE("a", "hardware", RULE("")),
                                            KB_CAUSE("jetson-b", "memory", RULE("")), SIG("s", ""));
    if (problems->len) {
        g_autofree char *first = ct_kb_problem_format(problems->pdata[0], NULL);
        fail_msg("%s", first);
    }
}

static void test_rules(void **state)
{
    expect_cause(
        "  - {id: r, event: xyz, weight: 9, say: {en: s, zh: 说}, test: {hit: a, near: b}}\n",
        "event `xyz` is not in vocabulary");
    expect_cause(RULE(", absent: {needs: moon, weight: -1}"), "coverage `moon`");
    expect_cause(RULE(", where: \"e.moon = 1\""), "no such column: e.moon");
    expect_cause(RULE(", where: \"e.text LIKE '%x%'\""), "signature's work");
    expect_cause(RULE(", where: \"e.id IN (SELECT line FROM sample)\""), "analyzer's work");
    expect_cause(RULE(", where: \"e.detail -> 'x' = 1\""), "not in SQLite 3.31");
    expect_cause(RULE(", where: \"e.id IN (SELECT max(id) FROM event HAVING count(*) > 1)\""),
                 "`HAVING without GROUP BY` is not in SQLite 3.31");
    expect_cause("  - {id: r, event: xid, weight: 9, say: {en: s, zh: 说}}\n", "has no test.hit");
    expect_cause("  - {id: r, event: xid, weight: 9, say: {en: s, zh: 说}, test: {hit: a}}\n",
                 "has no test.near");
    expect_cause(
        "  - {id: r, event: xid, weight: 9, say: {en: s, zh: 说}, test: {hit: a, near: b}}\n",
        "two dialects of log");
    expect_cause(
        "  - {id: r, event: xid, code: [78], weight: 9, say: {en: s, zh: 说}, test: {hit: a, "
        "near: b}}\n",
        "codes/xid.tsv has no number 78");
    expect_cause(
        "  - {id: r, event: xid, weight: 9, say: {en: s, zh: only English}, test: {hit: a, "
        "near: b}}\n",
        "`say` has no Chinese");
    expect_cause(
        "  - {id: r, event: xid, weight: 9, say: {en: s, zh: \"说 {code}\"}, test: {hit: a, "
        "near: b}}\n",
        "Chinese sentence only");
    expect_cause(
        "  - {id: r, fact: version.driver, weight: 9, say: {en: \"s {foo}\", zh: 说}, test: "
        "{hit: a, near: b}}\n",
        "{foo} is no column");
    expect_cause(
        "  - {id: r, event: xid, weight: 9, say: {en: \"s {code\", zh: 说}, test: {hit: a, "
        "near: b}}\n",
        "do not pair");
    expect_cause(
        "  - {id: r, sql: \"SELECT 1 AS x, 2 AS y\", weight: 9, say: {en: s, zh: 说}, test: "
        "{hit: a, near: b}}\n",
        "must be `tab` and `row`");
    expect_cause(
        "  - {id: r, sql: \"SELECT 'event' AS tab, e.id AS row FROM event e WHERE e.kind = "
        "'zzz'\", weight: 9, say: {en: s, zh: 说}, test: {hit: a, near: b}}\n",
        "kind `zzz` is not in vocabulary");
    expect_cause("", "has no `evidence`");
}

/* A finding rests on a series, which no line of a test can hold. */
static void test_findings_need_no_tests(void **state)
{
    g_autoptr(GPtrArray) problems =
        lint_of(KB_CAUSE("a", "hardware",
                         "  - {id: r, finding: memory-growth, weight: 9, say: {en: s, zh: 说}}\n"),
                NULL, SIG("s", ""));
    assert_int_equal(problems->len, 0);
}

static void test_causes(void **state)
{
    static const char good[] = KB_CAUSE("a", "hardware", RULE(""));
    static const char other[] = KB_CAUSE("jetson-b", "memory", RULE(""));
    g_autofree char *explains = g_strconcat(good, "explains: [nobody]\n", NULL);
    expect(explains, NULL, SIG("s", ""), TRUE, "names `nobody`");
    g_autofree char *slip = g_strconcat(good, "explains: [jetsan-b]\n", NULL);
    expect(slip, other, SIG("s", ""), FALSE, "names `jetsan-b`; did you mean `jetson-b`?");
    g_autofree char *self = g_strconcat(good, "explains: [a]\n", NULL);
    expect(self, NULL, SIG("s", ""), FALSE, "explains itself");
    g_autofree char *pitfall = g_strconcat(other, "pitfalls: [{en: x, zh: 显存不足}]\n", NULL);
    expect(good, pitfall, SIG("s", ""), FALSE, "no 显存 of its own");
    g_autofree char *english = g_strconcat(other, "pitfalls: [{en: x, zh: y}]\n", NULL);
    expect(good, english, SIG("s", ""), FALSE, "advice has no Chinese");
    g_autofree char *mixed = g_strconcat(other, "pitfalls: [{en: 显卡, zh: 显卡}]\n", NULL);
    expect(good, mixed, SIG("s", ""), FALSE, "Chinese in the English advice");
    /* The same fix under two causes. */
    g_auto(GStrv) parts = g_strsplit(other, "Mend jetson-b", 2);
    g_autofree char *copy = g_strjoinv("Mend a", parts);
    expect(good, copy, SIG("s", ""), FALSE, "`fix` is the same as that of a");
}

static void test_signatures(void **state)
{
    static const char cause[] = KB_CAUSE("a", "hardware", RULE(""));
    static const struct {
        const char *yaml;
        gboolean warning;
        const char *part;
    } faults[] = {
        {"- {id: s, kind: moon, anchors: abcde, pattern: abcde, test: {hit: abcde, near: abcdX}}\n",
         FALSE, "event `moon`"},
        {"- {id: s, fact: moon, anchors: abcde, pattern: abcde, test: {hit: abcde, near: abcdX}}\n",
         FALSE, "fact `moon`"},
        {"- {id: s, kind: xid, anchors: abc, pattern: abc, test: {hit: abc, near: abX}}\n", FALSE,
         "shorter than five"},
        {"- {id: s, kind: xid, anchors: abcd, pattern: abc, test: {hit: abcd, near: abX}}\n", FALSE,
         "shorter than five"},
        {"- {id: s, kind: xid, anchors: abcde, pattern: abc(, test: {hit: abcde, near: x}}\n",
         FALSE, "pattern, character"},
        {"- {id: s, kind: xid, anchors: abcde, pattern: fgh, test: {hit: abcde, near: x}}\n", FALSE,
         "does not match its own hit"},
        {"- {id: s, kind: xid, anchors: abcde, pattern: abc, test: {hit: abcx, near: x}}\n", FALSE,
         "no anchor stands in its hit"},
        {"- {id: s, kind: xid, anchors: abcde, pattern: abc, test: {hit: abcde, near: abcdef}}\n",
         FALSE, "should only be near"},
        {"- {id: s, kind: xid, anchors: abcde, pattern: abc}\n", FALSE, "has no test.hit"},
        {"- {id: s, kind: xid, anchors: abcde, pattern: abc, test: {hit: abcde}}\n", TRUE,
         "has no test.near"},
        {"- {id: s, kind: xid, anchors: [abcde, fghij], pattern: abc, test: {hit: abcde, near: "
         "x}}\n",
         TRUE, "1 of 2 anchors stand in no hit"},
        {"- {id: s, kind: xid, family: moon, anchors: abcde, pattern: abc, test: {hit: abcde, "
         "near: "
         "x}}\n",
         FALSE, "no table codes/moon.tsv"},
    };
    for (guint i = 0; i < G_N_ELEMENTS(faults); i++)
        expect(cause, NULL, faults[i].yaml, faults[i].warning, faults[i].part);
    /* Stamps of the kernel are off when a pattern is tried; case may not matter. */
    g_autoptr(GPtrArray) none = lint_of(cause, NULL,
                                        "- {id: s, kind: xid, nocase: true, anchors: ABCDE, "
                                        "pattern: '^abcde', test: {hit: \"<6>[   "
                                        "12.5] abCDE\", near: \"x abcde\"}}\n");
    assert_int_equal(none->len, 0);
}

/* The checklist asks in SQL too. */
static void test_checks(void **state)
{
    static const struct {
        const char *sql, *part;
    } faults[] = {
        {"SELECT 'fact' AS tab, max(id) AS row FROM fact HAVING count(*) > 1",
         "gpu/warn: `HAVING without GROUP BY` is not in SQLite 3.31"},
        {"SELECT 'fact' AS tab, f.moon AS row FROM fact f", "gpu/warn: SQL: no such column"},
        {"SELECT 'fact' AS tab, max(id) AS row FROM fact GROUP BY key HAVING count(*) > 1", NULL},
    };
    for (guint i = 0; i < G_N_ELEMENTS(faults); i++) {
        char *folder = kb_folder_new();
        g_autofree char *yaml = g_strdup_printf(
            "- check: gpu\n  layer: hardware\n  title: {en: GPU, zh: 显卡}\n"
            "  needs: [\"fact:version.driver\"]\n  pass: {en: there, zh: 有}\n  look:\n"
            "    - level: warn\n      sql: \"%s\"\n      say: {en: odd, zh: 异常}\n"
            "      fix: {en: mend, zh: 修复}\n",
            faults[i].sql);
        kb_folder_put(folder, "vocabulary.tsv", KB_VOCABULARY);
        kb_folder_put(folder, "codes/xid.tsv", CODES);
        kb_folder_put(folder, "causes/hardware/a.yaml", KB_CAUSE("a", "hardware", RULE("")));
        kb_folder_put(folder, "signatures/s.yaml", SIG("s", ""));
        kb_folder_put(folder, "checks.yaml", yaml);
        g_autoptr(GPtrArray) problems = lint_folder(folder);
        g_autoptr(GString) said = g_string_new(NULL);
        for (guint k = 0; k < problems->len; k++) {
            g_autofree char *line = ct_kb_problem_format(problems->pdata[k], NULL);
            g_string_append_printf(said, "%s\n", line);
        }
        if (faults[i].part ? !strstr(said->str, faults[i].part) : said->len > 0)
            fail_msg("%s: %s", faults[i].sql, said->str);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clean),
        cmocka_unit_test(test_rules),
        cmocka_unit_test(test_findings_need_no_tests),
        cmocka_unit_test(test_causes),
        cmocka_unit_test(test_signatures),
        cmocka_unit_test(test_checks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
