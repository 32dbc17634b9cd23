/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <glib/gstdio.h>

#include "cli/machine.h"

typedef struct {
    const char *path, *text;
} File;

static char *machine(const File *files, gsize n)
{
    char *root = g_dir_make_tmp("machine-XXXXXX", NULL);
    assert_non_null(root);
    for (gsize i = 0; i < n; i++) {
        g_autofree char *full = g_strconcat(root, files[i].path, NULL);
        g_autofree char *folder = g_path_get_dirname(full);
        assert_int_equal(g_mkdir_with_parents(folder, 0700), 0);
        assert_true(g_file_set_contents(full, files[i].text, -1, NULL));
    }
    char *state = ct_machine_state(root);
    g_autofree char *command = g_strdup_printf("rm -rf '%s'", root);
    assert_int_equal(system(command), 0);
    g_free(root);
    return state;
}

static void check_lines(const char *state)
{
    g_auto(GStrv) lines = g_strsplit(state, "\n", -1);
    assert_int_equal(g_strv_length(lines), 6); /* five and the empty one at the end */
}

static void test_server(void **state)
{
    static const File files[] = {
        {"/proc/driver/nvidia/version",
         "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.124.06  Release Build\n"
         "GCC version:  gcc version 12.3.0 (Ubuntu 12.3.0-1ubuntu1~22.04)\n"},
        {"/proc/driver/nvidia/gpus/0000:17:00.0/information", "Model: \t\t NVIDIA L40S\nIRQ: 98\n"},
        {"/proc/driver/nvidia/gpus/0000:65:00.0/information", "Model: \t\t NVIDIA L40S\nIRQ: 99\n"},
        {"/dev/nvidia0", ""},
        {"/dev/nvidia1", ""},
        {"/dev/nvidiactl", ""},
        {"/dev/nvidia-uvm", ""},
        {"/proc/meminfo", "MemTotal:  131072000 kB\nMemFree: 1 kB\nMemAvailable:  65536000 kB\n"
                          "SwapTotal: 8388608 kB\nSwapFree: 4194304 kB\n"},
        {"/etc/os-release", "NAME=x\nPRETTY_NAME=\"Ubuntu 22.04.4 LTS\"\n"},
    };
    g_autofree char *text = machine(files, G_N_ELEMENTS(files));
    check_lines(text);
    assert_non_null(strstr(text, "2x NVIDIA L40S, 2 of them as /dev/nvidia*\n"));
    assert_non_null(strstr(text, "kernel module 570.124.06 (open)\n"));
    assert_non_null(strstr(text, "Ubuntu 22.04.4 LTS, kernel "));
    assert_non_null(strstr(text, "62.5 of 125.0 GiB available, 4.0 GiB of swap in use\n"));
    assert_non_null(strstr(text, "the host itself"));
}

static void test_jetson_in_a_container(void **state)
{
    static const File files[] = {
        {"/proc/device-tree/model", "NVIDIA Jetson AGX Orin Developer Kit"},
        {"/etc/nv_tegra_release", "# R36 (release), REVISION: 4.3, GCID: 38968081, BOARD: generic\n"},
        {"/.dockerenv", ""},
    };
    g_autofree char *text = machine(files, G_N_ELEMENTS(files));
    check_lines(text);
    assert_non_null(strstr(text, "integrated, of NVIDIA Jetson AGX Orin Developer Kit\n"));
    assert_non_null(strstr(text, "L4T R36.4.3\n"));
    assert_non_null(strstr(text, "inside a container: docker"));
    assert_non_null(strstr(text, "unknown: /proc/meminfo cannot be read"));
}

static void test_nothing(void **state)
{
    g_autofree char *text = machine(NULL, 0);
    check_lines(text);
    assert_non_null(strstr(text, "none seen"));
    assert_non_null(strstr(text, "not loaded"));
}

static void test_damaged_files(void **state)
{
    static const File files[] = {
        {"/proc/driver/nvidia/version", "\xff\xfe garbage without a release"},
        {"/etc/nv_tegra_release", "# R"},
        {"/proc/meminfo", "MemTotal:\nMemAvailable:\n"},
        {"/dev/nvidia0", ""},
        {"/sys/module/nouveau/x", ""},
    };
    g_autofree char *text = machine(files, G_N_ELEMENTS(files));
    check_lines(text);
    assert_true(g_utf8_validate(text, -1, NULL));
    assert_non_null(strstr(text, "1 device nodes, the driver lists no GPU"));
    assert_non_null(strstr(text, "nouveau is loaded"));
    assert_non_null(strstr(text, "Memory   unknown"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_server),
        cmocka_unit_test(test_jetson_in_a_container),
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_damaged_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
