/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <jansson.h>

#include "report/layout.h"
#include "report/report.h"

/* ---- a diagnosis made by hand ---- */

static CtCitation *cite(const char *source, guint line, const char *text, const char *rule,
                        const char *group, double weight, double counted)
{
    CtCitation *c = g_new0(CtCitation, 1);
    c->source = g_strdup(source);
    c->line = line;
    c->text = g_strdup(text);
    c->quote = g_strdup_printf("raw line %u", line);
    c->rule = g_strdup(rule);
    c->group = g_strdup(group);
    c->weight = weight;
    c->counted = counted;
    c->section = 1;
    c->t_ns = CT_TIME_UNKNOWN;
    return c;
}

static CtHypothesis *hypothesis(const char *cause, const char *title, double p)
{
    CtHypothesis *h = g_new0(CtHypothesis, 1);
    h->cause = g_strdup(cause);
    h->layer = g_strdup(g_str_equal(cause, "unknown") ? "unknown" : "memory");
    h->title = g_strdup(title);
    h->about = g_strdup("What happens and why.");
    h->probability = p;
    h->action = g_strdup("fix-code");
    h->owner = g_strdup("application");
    h->urgency = g_strdup("soon");
    h->for_ = g_ptr_array_new();
    h->against = g_ptr_array_new();
    h->missing = g_ptr_array_new();
    h->next = g_ptr_array_new();
    h->fix = g_ptr_array_new();
    h->verify = g_ptr_array_new();
    h->pitfalls = g_ptr_array_new();
    h->refs = g_ptr_array_new();
    h->consequences = g_ptr_array_new();
    return h;
}

static void add_test(CtHypothesis *h)
{
    CtNextTest *t = g_new0(CtNextTest, 1);
    t->test = g_strdup("leak-check");
    t->run = g_strdup("compute-sanitizer --tool memcheck --leak-check full --log-file leak.txt "
                      "./app --frames 500 --source file:///data/sample.mp4");
    t->say = g_strdup("Run some hundred frames under the leak check");
    t->cost_s = 300;
    t->outcomes = g_ptr_array_new();
    for (int i = 0; i < 3; i++) {
        CtOutcome *o = g_new0(CtOutcome, 1);
        o->cause = g_strdup(i ? "pool" : "leak");
        o->when = g_strdup("one call site holds all of the growth and nothing else grows beside it");
        g_ptr_array_add(t->outcomes, o);
    }
    g_ptr_array_add(h->next, t);
}

static void hypothesis_free(CtHypothesis *h);

static CtDiagnosis *diagnosis(gboolean found, gboolean long_texts)
{
    static const char zh[] = "稳定负载下显存池的已用字节数持续增长，每秒约增长九点六兆字节，"
                             "直到分配失败为止，期间请求速率没有变化。";
    const char *say = long_texts ? zh : "memory grows by 9.6 MiB/s at constant load";
    CtDiagnosis *d = g_new0(CtDiagnosis, 1);
    d->hypotheses = g_ptr_array_new();
    d->consequences = g_ptr_array_new();
    d->layers = g_ptr_array_new();
    d->timeline = g_ptr_array_new();
    d->temperature = 1;
    CtHypothesis *leak = hypothesis("leak", "Stream-ordered allocations never freed",
                                    found ? 0.91 : 0.2);
    guint n = long_texts ? 12 : 2;
    for (guint i = 0; i < n; i++) {
        g_autofree char *rule = g_strdup_printf("rule-%u", i);
        g_autofree char *group = g_strdup_printf("group-%u", i);
        g_ptr_array_add(leak->for_, cite("/in/logs/app.log", 10 + i, say, rule, group, 12 - i,
                                         12 - i));
        if (long_texts) {
            g_ptr_array_add(leak->against, cite("/in/logs/sub/free.txt", i, say, rule, group, -3,
                                                -3));
            g_ptr_array_add(leak->missing, g_strdup(say));
            g_ptr_array_add(leak->fix, g_strdup(say));
        }
    }
    g_ptr_array_add(leak->fix, g_strdup("Free the buffer with cudaFreeAsync on its stream."));
    add_test(leak);
    CtHypothesis *unknown = hypothesis("unknown", "unknown", found ? 0.03 : 0.8);
    add_test(unknown);
    CtHypothesis *pool = hypothesis("pool", "Pool \033[31mkeeps\033[0m memory", 0.0612345);
    g_ptr_array_add(d->hypotheses, found ? leak : unknown);
    g_ptr_array_add(d->hypotheses, pool);
    g_ptr_array_add(d->hypotheses, found ? unknown : leak);
    CtHypothesis *after = hypothesis("oom", "Out of memory", 0);
    after->explained_by = g_strdup("leak");
    g_ptr_array_add(d->consequences, after);
    CtLayer *layer = g_new0(CtLayer, 1);
    layer->layer = g_strdup("memory");
    layer->state = CT_LAYER_FAULT;
    layer->why = g_strdup("out of memory");
    g_ptr_array_add(d->layers, layer);
    g_ptr_array_add(d->timeline, cite("/in/logs/app.log", 3, "first error", NULL, NULL, 0, 0));
    return d;
}

static void citations_free(GPtrArray *list)
{
    for (guint i = 0; i < list->len; i++) {
        CtCitation *c = g_ptr_array_index(list, i);
        g_free(c->source);
        g_free(c->text);
        g_free(c->quote);
        g_free(c->rule);
        g_free(c->group);
        g_free(c);
    }
    g_ptr_array_unref(list);
}

static void texts_free(GPtrArray *list)
{
    for (guint i = 0; i < list->len; i++)
        g_free(g_ptr_array_index(list, i));
    g_ptr_array_unref(list);
}

static void hypothesis_free(CtHypothesis *h)
{
    for (guint i = 0; i < h->next->len; i++) {
        CtNextTest *t = g_ptr_array_index(h->next, i);
        for (guint k = 0; k < t->outcomes->len; k++) {
            CtOutcome *o = g_ptr_array_index(t->outcomes, k);
            g_free(o->cause);
            g_free(o->when);
            g_free(o);
        }
        g_ptr_array_unref(t->outcomes);
        g_free(t->test);
        g_free(t->run);
        g_free(t->say);
        g_free(t);
    }
    g_ptr_array_unref(h->next);
    citations_free(h->for_);
    citations_free(h->against);
    texts_free(h->missing);
    texts_free(h->fix);
    texts_free(h->verify);
    texts_free(h->pitfalls);
    texts_free(h->refs);
    texts_free(h->consequences);
    g_free(h->cause);
    g_free(h->layer);
    g_free(h->title);
    g_free(h->about);
    g_free(h->action);
    g_free(h->owner);
    g_free(h->urgency);
    g_free(h->explained_by);
    g_free(h);
}

static void diagnosis_free(CtDiagnosis *d)
{
    for (guint i = 0; i < d->hypotheses->len; i++)
        hypothesis_free(g_ptr_array_index(d->hypotheses, i));
    for (guint i = 0; i < d->consequences->len; i++)
        hypothesis_free(g_ptr_array_index(d->consequences, i));
    g_ptr_array_unref(d->hypotheses);
    g_ptr_array_unref(d->consequences);
    CtLayer *layer = g_ptr_array_index(d->layers, 0);
    g_free(layer->layer);
    g_free(layer->why);
    g_free(layer);
    g_ptr_array_unref(d->layers);
    citations_free(d->timeline);
    g_free(d);
}

static CtEvidence *evidence(CtStatus status)
{
    CtEvidence *ev = ct_evidence_new(NULL);
    assert_non_null(ev);
    gint64 id = ct_evidence_add_source(ev, &(CtSourceRow){.path = "/in/logs/app.log",
                                                          .format = "text",
                                                          .status = status,
                                                          .bytes = 100,
                                                          .lines = 12,
                                                          .note = "cut off in a line"});
    ct_evidence_add_source(ev, &(CtSourceRow){.path = "/in/logs/sub/free.txt",
                                              .status = CT_OK,
                                              .bytes = CT_NONE,
                                              .lines = CT_NONE});
    ct_evidence_add_section(ev, &(CtSectionRow){.source = id, .first_line = 1, .status = CT_OK});
    return ev;
}

/* ---- layout ---- */

static void test_width(void **state)
{
    assert_int_equal(ct_text_width("abc"), 3);
    assert_int_equal(ct_text_width("显存 ab"), 7);
    g_autofree char *fit = ct_text_fit("显存显存显存", 8);
    assert_string_equal(fit, "显存...");
    g_autofree char *left = ct_text_fit_left("/a/long/way/app.log:81", 12);
    assert_string_equal(left, "...pp.log:81");
    g_autofree char *clean = ct_text_clean("a\033[31mb\tc\xff\xe2\x80\xaeX");
    assert_string_equal(clean, "a[31mb c\xef\xbf\xbdX");
}

static void check_wrap(const char *text, guint width)
{
    g_autoptr(GPtrArray) lines = ct_text_wrap(text, width, 0);
    g_autoptr(GString) joined = g_string_new(NULL);
    for (guint i = 0; i < lines->len; i++) {
        assert_true(ct_text_width(g_ptr_array_index(lines, i)) <= width);
        g_string_append(joined, g_ptr_array_index(lines, i));
    }
    g_auto(GStrv) want = g_strsplit(text, " ", -1), got = g_strsplit(joined->str, " ", -1);
    g_autofree char *a = g_strjoinv("", want), *b = g_strjoinv("", got);
    assert_string_equal(a, b);
}

static void test_wrap(void **state)
{
    for (guint width = 4; width < 60; width++) {
        check_wrap("The quick brown fox, averyveryverylongwordwithoutanyblank, and more.", width);
        check_wrap("驱动版本（535.161）低于运行时要求，请升级驱动；或改用旧版镜像。", width);
        check_wrap("", width);
    }
    g_autoptr(GPtrArray) lines = ct_text_wrap("一二三四，五六", 8, 0);
    assert_string_equal(g_ptr_array_index(lines, 0), "一二三");
    g_autoptr(GPtrArray) cut = ct_text_wrap("one two three four", 9, 1);
    assert_int_equal(cut->len, 1);
    assert_string_equal(g_ptr_array_index(cut, 0), "one tw...");
}

static void test_wrap_command(void **state)
{
    g_autoptr(GPtrArray) lines =
        ct_text_wrap_command("sudo dmesg -T | grep -E 'a b c d e f g h' | tail -n 20", 30);
    for (guint i = 0; i < lines->len; i++) {
        const char *line = g_ptr_array_index(lines, i);
        assert_true(ct_text_width(line) <= 30);
        assert_int_equal(g_str_has_suffix(line, " \\"), i + 1 < lines->len);
    }
    assert_non_null(strstr(g_ptr_array_index(lines, 1), "'a b c d e f g h'"));
}

/* What a person copies must be the same command to the shell. */
static void test_copied_command(void **state)
{
    static const char *const commands[] = {
        "printf %s aaaaaaaaaa,bbbbbbbbbb,cccccccccc,dddddddddd,eeeeeeeeee,ffffffffff",
        "printf %s 'aaaaaaaaaa|bbbbbbbbbb $HOME cccccccccc|dddddddddd \\ eeeeeeeeee|ffffffffff'",
        "printf %s \"one two three four five six seven eight nine ten\" 'a b' c d e f g h i j k l m",
        "sh -c 'printf \"%s|%s\" one two; printf %s three four five six seven eight nine ten eleven'; echo end",
        "printf %s \"import aaaaaaaa; print(bbbbbbbbbbb(), ccccccccc(\\\"ddddddddddd\\\"), eeeeeeeeeeeee())\"",
        "printf %s \"$(printf %s 'aaaaaaaaaaaaaaaaaaaa bbbbbbbbbbbbbbbbbbbbbbb cccccccccc')\"",
        "printf %s \"$(printf %s aaaaaaaaaaaaaaaa,bbbbbbbb ccccccc | tr a \"x y\" | cut -c1-20)\"",
        "printf %s x && printf %s y || printf %s zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz",
    };
    for (gsize i = 0; i < G_N_ELEMENTS(commands); i++) {
        g_autoptr(GPtrArray) lines = ct_text_wrap_command(commands[i], 30);
        g_autoptr(GString) copied = g_string_new(NULL);
        for (guint k = 0; k < lines->len; k++) {
            const char *line = g_ptr_array_index(lines, k);
            g_string_append_printf(copied, "%s%s\n", *line == '\r' ? "" : "        ",
                                   *line == '\r' ? line + 1 : line);
        }
        g_autofree char *want = NULL, *got = NULL;
        char *one[] = {"sh", "-c", (char *)commands[i], NULL}, *two[] = {"sh", "-c", copied->str, NULL};
        assert_true(g_spawn_sync(NULL, one, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, &want, NULL, NULL, NULL));
        assert_true(g_spawn_sync(NULL, two, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, &got, NULL, NULL, NULL));
        assert_string_equal(got, want);
        assert_true(strlen(want) > 1);
    }
}

static void test_languages(void **state)
{
    CtLang lang = CT_LANG_EN;
    assert_true(ct_lang_parse("zh_CN.UTF-8", &lang));
    assert_int_equal(lang, CT_LANG_ZH);
    assert_true(ct_lang_parse("en", &lang));
    assert_false(ct_lang_parse("de", &lang));
    assert_false(ct_lang_parse("zhx", &lang));
    assert_false(ct_lang_parse("", &lang));
    for (int i = 0; i < CT_N_MSGS; i++) {
        /* The same places to fill in both languages. */
        const char *en = ct_msg(CT_LANG_EN, i), *zh = ct_msg(CT_LANG_ZH, i);
        assert_non_null(en);
        assert_non_null(zh);
        assert_true(g_utf8_validate(zh, -1, NULL));
        for (char c = '0'; c <= '9'; c++) {
            char place[] = {'{', c, '}', 0};
            assert_int_equal(strstr(en, place) != NULL, strstr(zh, place) != NULL);
        }
    }
    g_autofree char *text = ct_msgf(CT_LANG_EN, CT_MSG_CAUSE_LINE, "A {1}", "b", NULL);
    assert_string_equal(text, "A {1} [b]");
}

/* ---- pages ---- */

static void check_page(gboolean found, gboolean long_texts, CtLang lang)
{
    g_autoptr(CtEvidence) ev = evidence(found ? CT_OK : CT_TRUNCATED);
    CtDiagnosis *d = diagnosis(found, long_texts);
    g_autoptr(CtReport) r = ct_report_new(ev, d, NULL, lang);
    g_autofree char *page = ct_report_text(r, &(CtTextOptions){0});
    g_autofree char *full = ct_report_text(r, &(CtTextOptions){.full = TRUE});
    g_auto(GStrv) lines = g_strsplit(page, "\n", -1), all = g_strsplit(full, "\n", -1);
    if (g_getenv("CUTRIAGE_SHOW"))
        print_message("%s\n----\n%s\n====\n", page, full);
    assert_true(g_strv_length(lines) <= 24); /* the last is empty: the prompt's row */
    for (guint i = 0; lines[i]; i++)
        assert_true(ct_text_width(lines[i]) <= 80);
    for (guint i = 0; all[i]; i++)
        assert_true(ct_text_width(all[i]) <= 80);
    assert_null(strchr(page, '\033'));
    assert_null(strchr(full, '\033'));
    assert_non_null(strstr(page, ct_msg(lang, CT_MSG_CAUSE)));
    diagnosis_free(d);
}

static void test_pages_fit(void **state)
{
    for (int i = 0; i < 8; i++)
        check_page(i & 1, i & 2, i & 4 ? CT_LANG_ZH : CT_LANG_EN);
}

static void test_outcomes(void **state)
{
    g_autoptr(CtEvidence) good = evidence(CT_OK);
    g_autoptr(CtEvidence) cut = evidence(CT_TRUNCATED);
    CtDiagnosis *found = diagnosis(TRUE, FALSE), *open = diagnosis(FALSE, FALSE);
    g_autoptr(CtReport) a = ct_report_new(good, found, NULL, CT_LANG_EN);
    g_autoptr(CtReport) b = ct_report_new(cut, found, NULL, CT_LANG_EN);
    g_autoptr(CtReport) c = ct_report_new(good, open, NULL, CT_LANG_EN);
    g_autoptr(CtReport) e = ct_report_new(cut, open, NULL, CT_LANG_EN);
    assert_int_equal(ct_report_outcome(a), CT_REPORT_FOUND);
    assert_int_equal(ct_report_outcome(b), CT_REPORT_FOUND); /* a cause wins over gaps */
    assert_int_equal(ct_report_outcome(c), CT_REPORT_NOTHING);
    assert_int_equal(ct_report_outcome(e), CT_REPORT_INCOMPLETE);
    diagnosis_free(found);
    diagnosis_free(open);
}

static void test_json(void **state)
{
    g_autoptr(CtEvidence) ev = evidence(CT_OK);
    CtDiagnosis *d = diagnosis(TRUE, FALSE);
    g_autoptr(CtReport) r = ct_report_new(ev, d, NULL, CT_LANG_EN);
    g_autofree char *text = ct_report_json(r);
    g_autofree char *again = ct_report_json(r);
    assert_string_equal(text, again);
    json_t *o = json_loads(text, 0, NULL);
    assert_non_null(o);
    assert_string_equal(json_string_value(json_object_get(o, "schema")), "cutriage.diagnosis/1");
    json_t *h = json_array_get(json_object_get(o, "hypotheses"), 0);
    assert_string_equal(json_string_value(json_object_get(h, "cause")), "leak");
    json_t *line = json_array_get(json_object_get(h, "for"), 0);
    assert_string_equal(json_string_value(json_object_get(line, "source")), "/in/logs/app.log");
    assert_int_equal(json_integer_value(json_object_get(line, "line")), 10);
    assert_int_equal(json_array_size(json_object_get(h, "consequences")), 1);
    json_t *second = json_array_get(json_object_get(o, "hypotheses"), 1);
    assert_true(json_real_value(json_object_get(second, "probability")) == 0.0612);
    json_t *unknown_lines = json_object_get(
        json_array_get(json_object_get(o, "sources"), 1), "lines");
    assert_true(json_is_null(unknown_lines)); /* not known is never 0 */
    json_decref(o);
    diagnosis_free(d);
}

static void test_colour(void **state)
{
    g_autoptr(CtEvidence) ev = evidence(CT_OK);
    CtDiagnosis *d = diagnosis(TRUE, FALSE);
    g_autoptr(CtReport) r = ct_report_new(ev, d, NULL, CT_LANG_EN);
    g_autofree char *page = ct_report_text(r, &(CtTextOptions){.colour = TRUE});
    assert_non_null(strstr(page, "\033[31m"));
    assert_null(strstr(page, "Pool \033[31mkeeps")); /* what a file says is never passed on */
    diagnosis_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_width),        cmocka_unit_test(test_wrap),
        cmocka_unit_test(test_wrap_command), cmocka_unit_test(test_copied_command),
        cmocka_unit_test(test_languages),
        cmocka_unit_test(test_pages_fit),    cmocka_unit_test(test_outcomes),
        cmocka_unit_test(test_json),         cmocka_unit_test(test_colour),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
