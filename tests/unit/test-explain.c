/* SPDX-License-Identifier: Apache-2.0 */
/* What a question is read as. Codes come from the base in the program, causes from a small one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "kb-folder.h"
#include "reason/explain.h"

static CtKb *program, *small;

static CtExplanation *ask_of(const CtKb *kb, const char *query, const char *family,
                             const char *lang)
{
    GError *error = NULL;
    const CtExplainOptions options = {.family = family, .lang = lang};
    CtExplanation *x = ct_explain(kb, query, &options, &error);
    if (!x)
        fail_msg("%s: %s", query, error->message);
    return x;
}

static const CtReading *reading(const CtExplanation *x, guint i)
{
    if (i >= x->readings->len)
        fail_msg("%s: %u readings", x->query, x->readings->len);
    return x->readings->pdata[i];
}

static void expect(const char *query, const char *family, gint64 number)
{
    g_autoptr(CtExplanation) x = ask_of(program, query, NULL, "en");
    const CtReading *r = reading(x, 0);
    if (strcmp(r->family, family) != 0 || r->number != number)
        fail_msg("%s: wanted %s %d, got %s %d", query, family, (int)number, r->family,
                 (int)r->number);
    assert_non_null(r->meaning);
    assert_non_null(r->layer);
}

static void test_numbers(void **state)
{
    expect("719", "cuda", 719);
    expect(" 700 ", "cuda", 700);
    expect("0x2bc", "cuda", 700);
    expect("137", "exit", 137);
    expect("-11", "signal", 11);
    expect("xid 79", "xid", 79);
    expect("Xid: 79", "xid", 79);
    expect("xid79", "xid", 79);
    expect("sxid 12028", "sxid", 12028);
    expect("nccl 3", "nccl", 3);
    expect("nvml 18", "nvml", 18);
    expect("trt 2", "trt", 2);
    expect("TensorRT Error Code 4", "trt", 4);
    expect("CUDA error 719", "cuda", 719);
    expect("exit code 137", "exit", 137);
    expect("errno 12", "errno", 12);
    expect("cuda error: 35", "cuda", 35);
    expect("clock-reason 0x8", "clock-reason", 8);
    expect("0x0000000000000040", "clock-reason", 64);
}

static void test_ambiguous(void **state)
{
    g_autoptr(CtExplanation) x = ask_of(program, "3", NULL, "en");
    assert_true(x->readings->len > 8);
    assert_true(reading(x, 0)->brief);
    g_autoptr(CtExplanation) one = ask_of(program, "3", "nccl", "en");
    assert_int_equal(one->readings->len, 1);
    assert_string_equal(reading(one, 0)->name, "ncclInternalError");
    assert_false(reading(one, 0)->brief);
    /* Two bits of a mask are two readings. */
    g_autoptr(CtExplanation) bits = ask_of(program, "0x0000000000000044", NULL, "en");
    assert_int_equal(bits->readings->len, 2);
    assert_string_equal(reading(bits, 0)->name, "SwPowerCap");
    assert_string_equal(reading(bits, 1)->name, "HwThermalSlowdown");
}

static void test_old_numbers(void **state)
{
    /* 77 is not in use today; 4 is, with another meaning. */
    g_autoptr(CtExplanation) gone = ask_of(program, "cuda 77", NULL, "en");
    assert_string_equal(reading(gone, 0)->name, "cudaErrorIllegalAddress");
    assert_non_null(strstr(reading(gone, 0)->old, "77"));
    g_autoptr(CtExplanation) moved = ask_of(program, "cuda 4", NULL, "en");
    assert_string_equal(reading(moved, 0)->name, "cudaErrorCudartUnloading");
    assert_non_null(strstr(reading(moved, 0)->old, "cudaErrorLaunchFailure"));
    g_autoptr(CtExplanation) asked = ask_of(program, "4", "cuda-legacy", "en");
    assert_string_equal(reading(asked, 0)->name, "cudaErrorLaunchFailure");
    assert_int_equal(reading(asked, 0)->number, 719);
    g_autoptr(CtExplanation) same = ask_of(program, "cuda 2", NULL, "en");
    assert_null(reading(same, 0)->old);
}

static void test_names(void **state)
{
    expect("cudaErrorIllegalAddress", "cuda", 700);
    expect("cudaerrorillegaladdress", "cuda", 700);
    expect("CUDA_ERROR_ECC_UNCORRECTABLE", "cuda", 214);
    expect("IllegalAddress", "cuda", 700);
    expect("CUDNN_STATUS_EXECUTION_FAILED", "cudnn", 5000);
    expect("NVMLError_LibRmVersionMismatch", "nvml", 18);
    expect("SIGBUS", "signal", 7);
    expect("an illegal memory access was encountered", "cuda", 700);
    expect("'Unspecified launch failure.'", "cuda", 719);
    g_autoptr(CtExplanation) both = ask_of(program, "CUDNN_STATUS_NOT_INITIALIZED", NULL, "en");
    assert_int_equal(both->readings->len, 2);
    assert_int_equal(reading(both, 0)->number, 1001);
    assert_int_equal(reading(both, 1)->number, 1);
}

static void test_attributes(void **state)
{
    g_autoptr(CtExplanation) x = ask_of(program, "719", NULL, "zh");
    const CtReading *r = reading(x, 0);
    assert_string_equal(r->sticky, "yes");
    assert_string_equal(r->late, "yes");
    assert_string_equal(r->layer, "kernel-code");
    assert_string_equal(r->alt_name, "CUDA_ERROR_LAUNCH_FAILED");
    assert_non_null(strstr(r->meaning, "核函数"));
    assert_true(r->causes->len >= 3 && r->checks->len >= 3);
    assert_non_null(strstr(r->checks->pdata[0], "CUDA_LAUNCH_BLOCKING=1"));
    assert_non_null(strstr(r->checks->pdata[0], "找到"));
    for (guint i = 0; i < r->more->len; i++)
        assert_null(strstr(((const CtExplainPair *)r->more->pdata[i])->key, "_zh"));
}

static void expect_row(const char *query, const char *title)
{
    g_autoptr(CtExplanation) x = ask_of(program, query, NULL, "en");
    if (!x->rows->len)
        fail_msg("%s: no row", query);
    const CtExplainRow *r = x->rows->pdata[0];
    assert_string_equal(r->title, title);
    assert_true(r->pairs->len > 1);
}

static void test_releases(void **state)
{
    expect_row("sm_87", "sm_87 Ampere");
    expect_row("compute 9.0", "sm_90 Hopper");
    expect_row("JetPack 6.2", "JetPack 6.2, L4T 36.4.3");
    expect_row("l4t 35.4.1", "L4T 35.4.1, JetPack 5.1.2");
    expect_row("driver 535.161.08", "driver branch 535");
    expect_row("tensorrt 8.6", "TensorRT 8.6.0");
    expect_row("plan tag 239", "plan tag 239");
    g_autoptr(CtExplanation) x = ask_of(program, "jetpack 6.2", NULL, "en");
    assert_int_equal(x->rows->len, 1);
}

static void test_suggestions(void **state)
{
    g_autoptr(CtExplanation) name = ask_of(program, "cudaErrorIllegalAdress", NULL, "en");
    assert_true(ct_explanation_empty(name));
    gboolean found = FALSE;
    for (guint i = 0; i < name->suggestions->len; i++)
        found |= strcmp(name->suggestions->pdata[i], "cudaErrorIllegalAddress") == 0;
    assert_true(found);
    g_autoptr(CtExplanation) number = ask_of(program, "722", NULL, "en");
    assert_true(ct_explanation_empty(number));
    assert_non_null(strstr(number->suggestions->pdata[0], "721"));
    g_autoptr(CtExplanation) noise = ask_of(program, "qqqqzzzzxxxx", NULL, "en");
    assert_true(ct_explanation_empty(noise));
    assert_int_equal(noise->suggestions->len, 0);
}

static void test_hostile(void **state)
{
    GError *error = NULL;
    const CtExplainOptions options = {.family = "nonsense", .lang = "en"};
    assert_null(ct_explain(program, "1", &options, &error));
    g_clear_error(&error);
    const CtExplainOptions plain = {.lang = "en"};
    g_autofree char *huge = g_strnfill(70000, 'x');
    assert_null(ct_explain(program, huge, &plain, &error));
    g_clear_error(&error);
    static const char *const odd[] = {"",
                                      " ",
                                      "\"",
                                      "''",
                                      "0x",
                                      "-",
                                      "--",
                                      "99999999999999999999",
                                      "-0x",
                                      "xid",
                                      "xid xid",
                                      "0xffffffffffffffff",
                                      "%s%n",
                                      "\xff\xfe",
                                      "';DROP TABLE code;--",
                                      ":",
                                      "/:1",
                                      "显",
                                      "的",
                                      "\n\n"};
    for (guint i = 0; i < G_N_ELEMENTS(odd); i++) {
        g_autoptr(CtExplanation) x = ask_of(program, odd[i], NULL, "zh");
        assert_non_null(x);
    }
    g_autofree char *many = g_strnfill(60000, 'a');
    for (gsize i = 0; i < 60000; i += 7)
        many[i] = ' ';
    g_autoptr(CtExplanation) x = ask_of(program, many, NULL, "en");
    assert_non_null(x);
}

/* ---- causes and search, on a base of two causes ---- */

static void test_cause(void **state)
{
    g_autoptr(CtExplanation) x = ask_of(small, "bus-gone", NULL, "en");
    assert_int_equal(x->details->len, 1);
    const CtExplainCause *d = x->details->pdata[0];
    assert_string_equal(d->layer, "hardware");
    assert_string_equal(d->title, "Title of bus-gone");
    assert_string_equal(((const CtExplainPair *)d->signs->pdata[0])->key, "+9");
    assert_string_equal(((const CtExplainPair *)d->signs->pdata[0])->value, "GPU … is gone");
    assert_int_equal(d->tests->len, 1);
    assert_string_equal(((const CtExplainTest *)d->tests->pdata[0])->run, "cat bus-gone");
    assert_int_equal(d->fix->len, 1);
    assert_string_equal(((const CtExplainHit *)d->explains->pdata[0])->cause, "memory-leaks");
    g_autoptr(CtExplanation) zh = ask_of(small, "memory-leaks", NULL, "zh");
    d = zh->details->pdata[0];
    assert_string_equal(d->title, "标题 memory-leaks");
    assert_string_equal(((const CtExplainHit *)d->explained_by->pdata[0])->cause, "bus-gone");
}

static void test_candidates(void **state)
{
    g_autoptr(CtExplanation) x = ask_of(small, "xid 79", NULL, "en");
    const CtReading *r = reading(x, 0);
    assert_int_equal(r->hits->len, 1);
    assert_string_equal(((const CtExplainHit *)r->hits->pdata[0])->cause, "bus-gone");
    assert_int_equal(r->tests->len, 1);
}

static void expect_hit(const char *topic, const char *cause)
{
    g_autoptr(CtExplanation) x = ask_of(small, topic, NULL, "en");
    if (!x->hits->len || strcmp(((const CtExplainHit *)x->hits->pdata[0])->cause, cause) != 0)
        fail_msg("%s: does not lead to %s", topic, cause);
}

static void test_search(void **state)
{
    expect_hit("leaking", "memory-leaks");
    expect_hit("why does memory grow", "memory-leaks");
    expect_hit("显存泄漏", "memory-leaks");
    expect_hit("掉卡", "bus-gone");
    expect_hit("PCIe", "bus-gone");
    g_autoptr(CtExplanation) none = ask_of(small, "weather forecast", NULL, "en");
    assert_int_equal(none->hits->len, 0);
    /* A word inside another is no match. */
    g_autoptr(CtExplanation) inside = ask_of(small, "eak", NULL, "en");
    assert_int_equal(inside->hits->len, 0);
}

static CtKb *make_small(void)
{
    char *folder = kb_folder_new();
    kb_folder_put(folder, "vocabulary.tsv", KB_VOCABULARY);
    kb_folder_put(folder, "codes/xid.tsv",
                  "number\tname\tmeaning\tlayer\n79\tOFF_BUS\tGone.\thardware\n");
    kb_folder_put(
        folder, "causes/hardware/bus-gone.yaml",
        KB_CAUSE("bus-gone", "hardware",
                 "  - {id: r, event: xid, code: 79, weight: 9, say: {en: \"GPU {gpu} is "
                 "gone\", zh: \"GPU {gpu} 掉了\"}}\n") "explains: [memory-leaks]\npitfalls: [{en: "
                                                       "PCIe slots wear, zh: 掉卡也可能是插槽}]\n");
    g_autofree char *leak = g_strdup(KB_CAUSE("memory-leaks", "memory",
                                              "  - {id: r, finding: memory-growth, weight: 9, say: "
                                              "{en: grows, zh: 增长}}\n"));
    g_auto(GStrv) parts = g_strsplit(leak, "[some words, 一些词]", 2);
    g_autofree char *with_words =
        g_strjoinv("[memory leak, memory grows, 显存泄漏, 内存上涨]", parts);
    kb_folder_put(folder, "causes/memory/memory-leaks.yaml", with_words);
    g_auto(GStrv) bus = NULL;
    g_autofree char *path = g_build_filename(folder, "causes/hardware/bus-gone.yaml", NULL);
    g_autofree char *text = NULL;
    g_file_get_contents(path, &text, NULL, NULL);
    bus = g_strsplit(text, "[some words, 一些词]", 2);
    g_autofree char *words = g_strjoinv("[fallen off the bus, PCIe, 掉卡]", bus);
    kb_folder_put(folder, "causes/hardware/bus-gone.yaml", words);
    GError *error = NULL;
    CtKb *kb = ct_kb_open_folder(folder, &error);
    if (!kb)
        g_error("%s", error->message);
    kb_folder_free(folder);
    return kb;
}

static int open_bases(void **state)
{
    program = ct_kb_open(NULL);
    small = make_small();
    return program && small ? 0 : 1;
}

static int close_bases(void **state)
{
    ct_kb_free(program);
    ct_kb_free(small);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),     cmocka_unit_test(test_ambiguous),
        cmocka_unit_test(test_old_numbers), cmocka_unit_test(test_names),
        cmocka_unit_test(test_attributes),  cmocka_unit_test(test_releases),
        cmocka_unit_test(test_suggestions), cmocka_unit_test(test_hostile),
        cmocka_unit_test(test_cause),       cmocka_unit_test(test_candidates),
        cmocka_unit_test(test_search),
    };
    return cmocka_run_group_tests(tests, open_bases, close_bases);
}
