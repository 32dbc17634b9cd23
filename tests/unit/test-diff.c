/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "reason/diff.h"

static CtKb *kb;
static gint64 section;

static CtEvidence *state(const char *parser)
{
    CtEvidence *ev = ct_evidence_new(NULL);
    gint64 source = ct_evidence_add_source(ev, &(CtSourceRow){.path = "smi.txt",
                                                              .status = CT_OK,
                                                              .bytes = 10,
                                                              .lines = 3});
    section = ct_evidence_add_section(
        ev, &(CtSectionRow){.source = source, .first_line = 1, .parser = parser, .status = CT_OK,
                            .clock_offset_ns = CT_NONE});
    return ev;
}

static void fact(CtEvidence *ev, const char *subject, const char *key, const char *value)
{
    ct_evidence_add_fact(ev, &(CtFactRow){.section = section,
                                          .line = 1,
                                          .subject = subject,
                                          .key = key,
                                          .value = value,
                                          .status = value ? CT_OK : CT_DENIED});
}

static const CtDiffRow *row(const CtDiff *d, const char *key)
{
    for (guint i = 0; i < d->rows->len; i++) {
        const CtDiffRow *r = g_ptr_array_index(d->rows, i);
        if (strcmp(r->key, key) == 0)
            return r;
    }
    return NULL;
}

static CtDiff *diff(CtEvidence *a, CtEvidence *b, gboolean all)
{
    CtDiff *d = ct_diff(a, b, kb, all, "en", NULL);
    assert_non_null(d);
    ct_evidence_free(a);
    ct_evidence_free(b);
    return d;
}

static void a_gpu_is_known_by_any_of_its_names(void **unused)
{
    CtEvidence *a = state("smi"), *b;
    ct_evidence_add_alias(a, "gpu:0", "GPU-11111111-2222-3333-4444-555555555555");
    ct_evidence_add_alias(a, "gpu:1", "GPU-66666666-2222-3333-4444-555555555555");
    fact(a, "gpu:0", "gpu.vbios", "92.00");
    fact(a, "gpu:1", "gpu.vbios", "93.00");
    b = state("smi");
    ct_evidence_add_alias(b, "gpu:0000:17:00.0", "GPU-66666666-2222-3333-4444-555555555555");
    fact(b, "gpu:0000:17:00.0", "gpu.vbios", "93.10");
    g_autoptr(CtDiff) d = diff(a, b, FALSE);
    gboolean seen = FALSE;
    for (guint i = 0; i < d->rows->len; i++) {
        const CtDiffRow *r = g_ptr_array_index(d->rows, i);
        if (strcmp(r->subject, "gpu:1") != 0 || strcmp(r->key, "gpu.vbios") != 0)
            continue;
        seen = TRUE;
        assert_int_equal(r->state, CT_DIFF_CHANGED);
        assert_string_equal(r->before, "93.00");
        assert_string_equal(r->after, "93.10");
    }
    assert_true(seen);
}

static void volatile_facts_are_left_out(void **unused)
{
    for (int all = 0; all < 2; all++) {
        CtEvidence *a = state("smi"), *b;
        fact(a, "gpu:0", "gpu.temperature", "40");
        b = state("smi");
        fact(b, "gpu:0", "gpu.temperature", "81");
        g_autoptr(CtDiff) d = diff(a, b, all);
        assert_int_equal(d->hidden, !all);
        assert_int_equal(d->rows->len, all);
        assert_false(ct_diff_matters(d));
    }
}

static void absent_is_not_unknown(void **unused)
{
    CtEvidence *a = state("smi"), *b;
    fact(a, NULL, "version.driver", "550.54.15");
    b = state("smi"); /* the same tool was read and says nothing of it */
    g_autoptr(CtDiff) removed = diff(a, b, FALSE);
    assert_int_equal(row(removed, "version.driver")->state, CT_DIFF_REMOVED);
    assert_true(ct_diff_matters(removed));

    a = state("smi");
    fact(a, NULL, "version.driver", "550.54.15");
    b = state("another-tool");
    g_autoptr(CtDiff) unknown = diff(a, b, FALSE);
    assert_int_equal(row(unknown, "version.driver")->state, CT_DIFF_UNKNOWN);
    assert_false(ct_diff_matters(unknown));

    a = state("smi");
    fact(a, NULL, "version.driver", "550.54.15");
    b = state("smi");
    fact(b, NULL, "version.driver", NULL);
    g_autoptr(CtDiff) denied = diff(a, b, FALSE);
    assert_int_equal(row(denied, "version.driver")->state, CT_DIFF_UNKNOWN);
    assert_string_equal(row(denied, "version.driver")->note, "denied");
}

/* Another parser's spelling of a number is no difference; a value of another size is one. */
static void a_quantity_is_one_in_any_spelling(void **unused)
{
    CtEvidence *ev[2];
    for (int i = 0; i < 2; i++) {
        ev[i] = state("smi");
        CtFactRow f = {.section = section, .line = 1, .subject = "gpu:0", .status = CT_OK,
                       .key = "gpu.pcie.link.width.max", .value = i ? "16x" : "x16",
                       .number = 16, .has_number = TRUE};
        ct_evidence_add_fact(ev[i], &f);
        f.value = "16x";
        ct_evidence_add_fact(ev[i], &f);
        f.key = "gpu.pcie.link.width.current";
        f.number = i ? 8 : 16;
        f.value = i ? "8x" : "x16";
        ct_evidence_add_fact(ev[i], &f);
    }
    g_autoptr(CtDiff) d = diff(ev[0], ev[1], FALSE);
    assert_null(row(d, "gpu.pcie.link.width.max"));
    assert_string_equal(row(d, "gpu.pcie.link.width.current")->after, "8x");
    assert_int_equal(d->unknown, 0);
}

/* Known of one side only is no difference, and is counted apart. */
static void nothing_in_common_is_no_agreement(void **unused)
{
    CtEvidence *a = state("smi"), *b;
    fact(a, NULL, "version.driver", "550.54.15");
    b = state("another-tool");
    g_autoptr(CtDiff) d = diff(a, b, FALSE);
    assert_true(d->nothing);
    assert_int_equal(d->unknown, 1);
    assert_int_equal(d->same, 0);
}

static void what_is_taken_on_request_is_no_outlier(void **unused)
{
    CtEvidence *ev[3];
    for (int i = 0; i < 3; i++) {
        ev[i] = state("library-list");
        fact(ev[i], "/usr/lib/libcuda.so.1", "file.soname", "libcuda.so.1");
    }
    fact(ev[2], "/usr/lib/libcuda.so.1", "file.sha256", "aa");
    g_autoptr(GPtrArray) rows = ct_diff_group(ev, 3, kb, FALSE);
    assert_int_equal(rows->len, 0);
    for (int i = 0; i < 3; i++)
        ct_evidence_free(ev[i]);
}

static void a_jetson_release_says_nothing_of_a_server(void **unused)
{
    CtEvidence *ev = state("uname");
    fact(ev, NULL, "host.arch", "x86_64");
    fact(ev, NULL, "version.cuda.toolkit", "12.4.1");
    g_autoptr(CtDiff) d = ct_diff_release("jp6.2", ev, kb, NULL);
    assert_true(d->foreign);
    assert_int_equal(d->rows->len, 0);
    g_autoptr(CtDiff) cuda = ct_diff_release("cuda12.4", ev, kb, NULL);
    assert_false(cuda->foreign);
    assert_int_equal(cuda->rows->len, cuda->unknown);
    ct_evidence_free(ev);
}

static void a_driver_below_the_floor_outranks_a_kernel(void **unused)
{
    CtEvidence *a = state("smi"), *b;
    fact(a, NULL, "version.driver", "550.54.15");
    fact(a, NULL, "version.cuda.runtime", "12.4");
    fact(a, NULL, "version.kernel", "5.15.0-91-generic");
    b = state("smi");
    fact(b, NULL, "version.driver", "470.57.02");
    fact(b, NULL, "version.cuda.runtime", "12.4");
    fact(b, NULL, "version.kernel", "5.15.0-94-generic");
    g_autoptr(CtDiff) d = diff(a, b, FALSE);
    assert_string_equal(((CtDiffRow *)d->rows->pdata[0])->key, "version.driver");
    assert_true(row(d, "version.kernel")->importance < row(d, "version.driver")->importance);
    assert_true(d->verdicts->len >= 1);
    const CtDiffVerdict *v = d->verdicts->pdata[0];
    assert_string_equal(v->now->cause, "driver-too-old-for-runtime");
}

static void a_release_is_compared_by_the_numbers_both_write(void **unused)
{
    CtEvidence *ev = state("dpkg");
    fact(ev, NULL, "version.l4t", "35.4.1");
    fact(ev, NULL, "version.tensorrt", "8.5.2.2-1+cuda11.4");
    fact(ev, NULL, "version.cudnn", "8.9.2.26");
    g_autoptr(CtDiff) d = ct_diff_release("jp5.1.2", ev, kb, NULL);
    assert_non_null(d);
    assert_null(row(d, "version.tensorrt"));
    assert_null(row(d, "version.l4t"));
    assert_int_equal(row(d, "version.cudnn")->state, CT_DIFF_CHANGED);
    assert_int_equal(row(d, "version.cuda.toolkit")->state, CT_DIFF_UNKNOWN);
    static const char *const bad[] = {"jp", "", "jp99", "driver550", "cuda", "cuda12.4x"};
    for (gsize i = 0; i < G_N_ELEMENTS(bad); i++)
        assert_null(ct_diff_release(bad[i], ev, kb, NULL));
    ct_evidence_free(ev);
}

static void the_odd_one_of_a_group_stands_out(void **unused)
{
    static const char *const drivers[] = {"550.54.15", "535.161.08", "550.54.15", "550.54.15"};
    CtEvidence *ev[4];
    for (guint i = 0; i < 4; i++) {
        ev[i] = state("smi");
        fact(ev[i], NULL, "version.driver", drivers[i]);
        fact(ev[i], NULL, "version.os", "Ubuntu 22.04");
        g_autofree char *uuid = g_strdup_printf("GPU-0000000%u-2222-3333-4444-555555555555", i);
        fact(ev[i], "gpu:0", "gpu.uuid", uuid);
    }
    g_autoptr(GPtrArray) rows = ct_diff_group(ev, 4, kb, FALSE);
    assert_int_equal(rows->len, 1);
    const CtGroupRow *r = rows->pdata[0];
    assert_string_equal(r->majority, "550.54.15");
    assert_int_equal(r->agree, 3);
    assert_int_equal(r->outliers->len, 1);
    assert_int_equal(((CtOutlier *)r->outliers->pdata[0])->index, 1);
    for (guint i = 0; i < 4; i++)
        ct_evidence_free(ev[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gpu_is_known_by_any_of_its_names),
        cmocka_unit_test(volatile_facts_are_left_out),
        cmocka_unit_test(absent_is_not_unknown),
        cmocka_unit_test(a_quantity_is_one_in_any_spelling),
        cmocka_unit_test(nothing_in_common_is_no_agreement),
        cmocka_unit_test(what_is_taken_on_request_is_no_outlier),
        cmocka_unit_test(a_jetson_release_says_nothing_of_a_server),
        cmocka_unit_test(a_driver_below_the_floor_outranks_a_kernel),
        cmocka_unit_test(a_release_is_compared_by_the_numbers_both_write),
        cmocka_unit_test(the_odd_one_of_a_group_stands_out),
    };
    kb = ct_kb_open(NULL);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    ct_kb_free(kb);
    return failed;
}
