/* SPDX-License-Identifier: Apache-2.0 */
/* Fitting the temperature to cases with known answers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "reason/calibrate.h"

static CtKb *kb;
static char *folder;

/* Evidence of a test case: each line of each file is "kind code". */
static CtEvidence *load(char **paths, gpointer user, GError **error)
{
    (void)user;
    CtEvidence *ev = ct_evidence_new(error);
    for (; *paths; paths++) {
        g_autofree char *data = NULL;
        assert_true(g_file_get_contents(*paths, &data, NULL, NULL));
        assert_null(strstr(*paths, "truth"));
        if (strcmp(data, "unreadable") == 0) {
            g_set_error(error, CT_ERROR, CT_ERROR_IO, "unreadable");
            ct_evidence_free(ev);
            return NULL;
        }
        gint64 source = ct_evidence_add_source(ev, &(CtSourceRow){.path = *paths});
        gint64 section = ct_evidence_add_section(ev, &(CtSectionRow){.source = source});
        g_auto(GStrv) lines = g_strsplit(data, "\n", -1);
        for (guint i = 0; lines[i] && *lines[i]; i++) {
            char *code = strchr(lines[i], ' ');
            *code++ = 0;
            ct_evidence_add_event(ev, &(CtEventRow){.section = section,
                                                    .line = i + 1,
                                                    .kind = lines[i],
                                                    .severity = CT_SEV_ERROR,
                                                    .code = atoi(code),
                                                    .has_code = TRUE});
        }
    }
    return ev;
}

static void add_case(const char *name, const char *truth, const char *evidence)
{
    g_autofree char *dir = g_build_filename(folder, name, NULL);
    g_autofree char *truth_path = g_build_filename(dir, "truth.yaml", NULL);
    g_autofree char *path = g_build_filename(dir, "log", NULL);
    g_mkdir(dir, 0700);
    if (truth)
        g_file_set_contents(truth_path, truth, -1, NULL);
    g_file_set_contents(path, evidence, -1, NULL);
}

static void fits_and_judges(void **state)
{
    (void)state;
    add_case("a", "cause: bus-lost\nlayer: hardware\n", "xid 79\ncuda-error 999\n");
    add_case("b", "cause: kernel-fault\naccept: [kernel-fault, context-dead]\nlayer: kernel-code\n",
             "cuda-error 700\nxid 31\n");
    add_case("c", "cause: none\n", "cuda-error 0\n");
    add_case("d", "cause: growth\nlayer: memory\n", "xid 79\ncuda-error 999\n");
    add_case("e", "no: cause\n", "xid 79\n");
    add_case("f", "cause: bus-lost\n", "unreadable");
    add_case("g", NULL, "xid 79\n");
    g_autoptr(GError) error = NULL;
    g_autoptr(CtCalibration) c = ct_calibrate(folder, kb, load, NULL, &error);
    assert_null(error);
    assert_int_equal(c->n, 4);
    assert_int_equal(c->failed, 2);
    assert_int_equal(c->cases->len, 6);
    assert_true(c->top1 == 0.75);
    const CtCalibrationCase *a = g_ptr_array_index(c->cases, 0);
    const CtCalibrationCase *wrong = g_ptr_array_index(c->cases, 3);
    assert_string_equal(a->got, "bus-lost");
    assert_true(a->top1 && a->layer);
    assert_true(!wrong->top1 && !wrong->layer);
    assert_true(c->temperature >= 0.3 && c->temperature <= 5);
    /* The wrong case pulls towards caution; without it the others are surer. */
    assert_true(wrong->temperature <= a->temperature);
    g_autofree char *text = ct_calibration_text(c);
    assert_non_null(strstr(text, "cases 4  failed 2  top-1 0.750"));
    g_autofree char *tsv = ct_calibration_tsv(c);
    assert_non_null(strstr(tsv, "\ntemperature\t"));
}

static void empty_folder_is_an_error(void **state)
{
    (void)state;
    g_autoptr(GError) error = NULL;
    assert_null(ct_calibrate(folder, kb, load, NULL, &error));
    assert_int_equal(error->code, CT_ERROR_NOT_FOUND);
    g_clear_error(&error);
    assert_null(ct_calibrate("/nonexistent/cases", kb, load, NULL, &error));
    assert_non_null(error);
}

static void remove_tree(const char *path)
{
    GDir *dir = g_dir_open(path, 0, NULL);
    for (const char *name; dir && (name = g_dir_read_name(dir));) {
        g_autofree char *child = g_build_filename(path, name, NULL);
        remove_tree(child);
    }
    if (dir)
        g_dir_close(dir);
    g_remove(path);
}

static int setup(void **state)
{
    (void)state;
    g_autoptr(GError) error = NULL;
    kb = ct_kb_open_folder(CT_TEST_DATA "/kb-mini", &error);
    folder = g_dir_make_tmp("cutriage-cal-XXXXXX", NULL);
    return kb && folder ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    ct_kb_free(kb);
    remove_tree(folder);
    g_free(folder);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(fits_and_judges, setup, teardown),
        cmocka_unit_test_setup_teardown(empty_folder_is_an_error, setup, teardown),
    };
    return cmocka_run_group_tests_name("reason-calibrate", tests, NULL, NULL);
}
