/* SPDX-License-Identifier: Apache-2.0 */
/* Files that are cut right after they were mapped, before a byte of them is read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tensor/steps.h"

#define SIZE (1u << 20)

/* What a reader held when the file was cut is lost; the process ends soon. */
const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}

static const char *victim; /* cut to `left` bytes when it is mapped */
static off_t left;

/* Stands before that of the C library. */
void *mmap(void *at, size_t len, int prot, int flags, int fd, off_t offset)
{
    long p = syscall(SYS_mmap, at, len, prot, flags, fd, offset);
    if (victim && fd >= 0 && prot == PROT_READ)
        assert_int_equal(truncate(victim, left), 0);
    return p == -1 ? MAP_FAILED : (void *)p; /* NOLINT */
}

static void write_file(const char *path, const char *begin)
{
    g_autofree char *data = g_malloc0(SIZE);
    memset(data, ' ', SIZE);
    memcpy(data, begin, strlen(begin));
    assert_true(g_file_set_contents(path, data, SIZE, NULL));
}

static void open_cut(const char *path, off_t to)
{
    g_autoptr(GError) error = NULL;
    const CtReadOptions raw = {TRUE, TRUE, CT_U8, 1, {SIZE}};
    victim = path;
    left = to;
    g_autoptr(CtTensorSet) set = ct_tensor_set_open(path, &raw, &error);
    victim = NULL;
    assert_null(set);
    if (!strstr(error->message, "shorter") || !strstr(error->message, path))
        fail_msg("%s: %s", path, error->message);
}

static void test_readers(void **state)
{
    static const char *const begins[] = {"\x93NUMPY\1", "PK\3\4", "{ \"lst\": [", "[ { \"name\" : ",
                                         "", "\x08\x01\x10\x01"};
    static const char *const names[] = {"a.npy", "a.npz", "a.json", "t.json", "a.raw", "a.onnx"};
    g_autofree char *dir = g_dir_make_tmp("ct-shrink-XXXXXX", NULL);
    for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
        g_autofree char *path = g_build_filename(dir, names[i], NULL);
        write_file(path, begins[i]);
        open_cut(path, 0);
        unlink(path);
    }
    rmdir(dir);
}

static void test_graph(void **state)
{
    static const char *const begins[] = {"{ \"Layers\": [", "\x08\x07\x3a"};
    char path[] = "/tmp/ct-shrink-XXXXXX";
    close(mkstemp(path));
    for (gsize i = 0; i < G_N_ELEMENTS(begins); i++) {
        g_autoptr(CtTensorSet) none = ct_tensor_set_new("none");
        g_autoptr(CtSteps) steps = ct_steps_scan(none);
        g_autoptr(GError) error = NULL;
        write_file(path, begins[i]);
        victim = path;
        left = 0;
        assert_false(ct_steps_use_graph(steps, path, &error));
        victim = NULL;
        assert_non_null(strstr(error->message, "shorter"));
    }
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_readers), cmocka_unit_test(test_graph)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
