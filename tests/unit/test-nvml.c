/* SPDX-License-Identifier: Apache-2.0 */
/* The NVML collector against a library that answers, refuses, lies and hangs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <glib.h>
#include <glib/gstdio.h>

#include "collect/live/live.h"
#include "kb/kb.h"
#include "parse/frame/parse.h"

typedef struct {
    CtLiveCapture *capture;
    CtKb *kb;
    CtEvidence *ev;
    const CtLiveRun *run;
    char *text;
} Shot;

/* Takes a capture with this script for the library, and reads it as a case does. */
static Shot shoot(const char *script)
{
    const char *const only[] = {"nvml", NULL};
    const CtLiveOptions options = {.only = only};
    Shot s = {0};
    g_autofree char *path = g_build_filename(g_get_tmp_dir(), "ct-nvml-XXXXXX", NULL);
    int fd = g_mkstemp(path);
    assert_true(fd >= 0);
    g_close(fd, NULL);
    assert_true(g_file_set_contents(path, script, -1, NULL));
    g_setenv("FAKE_NVML", path, TRUE);
    s.capture = ct_live_capture(&options, NULL);
    assert_non_null(s.capture);
    g_unlink(path);
    for (guint i = 0; i < s.capture->runs->len; i++)
        if (!strcmp(((CtLiveRun *)s.capture->runs->pdata[i])->collector->id, "nvml"))
            s.run = s.capture->runs->pdata[i];
    assert_non_null(s.run);
    s.kb = ct_kb_open(NULL);
    s.ev = ct_evidence_new(NULL);
    g_autoptr(CtParse) parse = ct_parse_new(s.ev, s.kb, NULL);
    GString *all = g_string_new(NULL);
    for (guint i = 0; i < s.capture->sections->len; i++) {
        const CtLiveSection *section = s.capture->sections->pdata[i];
        g_autofree char *source =
            g_strdup_printf("$ %s\n%.*s", section->command ? section->command : "x",
                            (int)section->bytes->len, (const char *)section->bytes->data);
        g_string_append(all, source);
        ct_parse_memory(parse, section->path, source, strlen(source));
    }
    ct_parse_finish(parse);
    s.text = g_string_free(all, FALSE);
    return s;
}

static void shot_clear(Shot *s)
{
    ct_live_capture_free(s->capture);
    ct_evidence_free(s->ev);
    ct_kb_free(s->kb);
    g_free(s->text);
}

static char *fact(Shot *s, const char *subject, const char *key)
{
    sqlite3_stmt *st = NULL;
    char *out = NULL;
    assert_int_equal(sqlite3_prepare_v2(ct_evidence_db(s->ev),
                                        "SELECT value, number, status FROM fact WHERE key = ?1 AND"
                                        " coalesce(subject, '') = ?2 ORDER BY id LIMIT 1",
                                        -1, &st, NULL),
                     SQLITE_OK);
    sqlite3_bind_text(st, 1, key, -1, SQLITE_STATIC);
    sqlite3_bind_text(st, 2, subject, -1, SQLITE_STATIC);
    if (sqlite3_step(st) == SQLITE_ROW) {
        const char *status = (const char *)sqlite3_column_text(st, 2);
        if (strcmp(status, "ok") != 0)
            out = g_strdup(status);
        else if (sqlite3_column_type(st, 1) != SQLITE_NULL)
            out = g_strdup_printf("%.15g", sqlite3_column_double(st, 1));
        else
            out = g_strdup((const char *)sqlite3_column_text(st, 0));
    }
    sqlite3_finalize(st);
    return out;
}

static void expect(Shot *s, const char *subject, const char *key, const char *wanted)
{
    g_autofree char *got = fact(s, subject, key);
    if (g_strcmp0(got, wanted) != 0)
        fail_msg("%s %s: %s, not %s", subject, key, got ? got : "(none)", wanted);
}

static guint count(Shot *s, const char *needle)
{
    guint n = 0;
    for (const char *p = s->text; (p = strstr(p, needle)); p += strlen(needle))
        n++;
    return n;
}

static char *script_of(const char *name)
{
    g_autofree char *path = g_build_filename(CT_TEST_DATA, "nvml", name, NULL);
    char *text = NULL;
    assert_true(g_file_get_contents(path, &text, NULL, NULL));
    return text;
}

/* ---- tests ---- */

static void two_gpus(void **state)
{
    static const struct {
        const char *subject, *key, *value;
    } wanted[] = {
        {"", "version.driver", "580.159.04"},
        {"", "version.cuda.driver", "13.0"},
        {"", "version.nvml", "13.580.159.04"},
        {"gpu:0", "gpu.name", "NVIDIA H200"},
        {"gpu:0", "gpu.architecture", "Hopper"},
        {"gpu:0", "gpu.compute-capability", "9.0"},
        {"gpu:0", "gpu.display.mode", "unsupported"},
        {"gpu:0", "gpu.persistence", "Enabled"},
        {"gpu:0", "gpu.serial", "1650000000077"},
        {"gpu:1", "gpu.uuid", "GPU-bbbbbbbb-1111-2222-3333-444444444444"},
        {"gpu:1", "gpu.pci", "0000:43:00.0"},
        {"gpu:0", "gpu.recovery-action", "None"},
        {"gpu:1", "gpu.recovery-action", "Reset"},
        {"gpu:0", "gpu.pcie.link.gen.current", "5"},
        {"gpu:1", "gpu.pcie.link.gen.current", "3"},
        {"gpu:0", "gpu.pcie.link.width.current", "16"},
        {"gpu:0", "gpu.pcie.replays", "4"},
        {"gpu:0", "gpu.pcie.errors.correctable", "3"},
        {"gpu:0", "gpu.clock-reason.sw-power-cap", "Active"},
        {"gpu:0", "gpu.clock-reason.hw-slowdown", "Not Active"},
        {"gpu:0", "gpu.clock-reason-counter.sw-power-cap", "2505000"},
        {"gpu:0", "gpu.clock-reason-counter.hw-power-brake-slowdown", "7000"},
        {"gpu:0", "gpu.memory.used", "10108272640"},
        {"gpu:0", "gpu.compute-mode", "Exclusive_Process"},
        {"gpu:0", "gpu.utilization", "0.97"},
        {"gpu:0", "gpu.utilization.ofa", "unsupported"},
        {"gpu:0", "gpu.ecc.mode", "Enabled"},
        {"gpu:0", "gpu.ecc.mode.pending", "Disabled"},
        {"gpu:0", "gpu.ecc.volatile.uncorrectable", "10"}, /* parity 4, SEC-DED 5, DRAM 1 */
        {"gpu:0", "gpu.ecc.aggregate.sram-correctable", "30"},
        {"gpu:0", "gpu.ecc.sram-source.pcie", "9"},
        {"gpu:0", "gpu.ecc.sram-source.microcontroller", "10"},
        {"gpu:0", "gpu.ecc.sram-threshold-exceeded", "Yes"},
        {"gpu:0", "gpu.ecc.channel-repair-pending", "Yes"},
        {"gpu:0", "gpu.retired-pages.single-bit", "unsupported"},
        {"gpu:0", "gpu.remap.uncorrectable", "2"},
        {"gpu:0", "gpu.remap.correctable-inactive", "1"},
        {"gpu:0", "gpu.remap.pending", "Yes"},
        {"gpu:0", "gpu.remap.failure", "No"},
        {"gpu:0", "gpu.remap.bank.max", "3070"},
        {"gpu:0", "gpu.temperature", "61"},
        {"gpu:0", "gpu.temperature.tlimit", "26"},
        {"gpu:0", "gpu.temperature.shutdown-tlimit", "-8"},
        {"gpu:0", "gpu.temperature.memory", "55"},
        {"gpu:0", "gpu.power", "655.12"},
        {"gpu:0", "gpu.power.limit.max", "700"},
        {"gpu:0", "gpu.power.memory.average", "90.1"},
        {"gpu:0", "gpu.power.module.limit.current", "unsupported"},
        {"gpu:0", "gpu.clock.sm", "1755000000"},
        {"gpu:0", "gpu.clock.mem.max", "3201000000"},
        {"gpu:0", "gpu.clock.graphics.customer", "1980000000"},
        {"gpu:0", "gpu.fabric.state", "Completed"},
        {"gpu:0", "gpu.fabric.status", "Success"},
        {"gpu:0", "gpu.fabric.clique", "7"},
        {"gpu:0", "gpu.fabric.health", "Healthy"},
        {"gpu:0", "gpu.fabric.health.bandwidth", "Degraded"},
        {"gpu:0", "gpu.nvlink.active", "2"},
        {"gpu:0", "gpu.nvlink.inactive", "1"},
        {"gpu:0", "gpu.nvlink.errors.replay", "4"},
        {"gpu:0/pid:4711", "gpu.process", "5368709120"},
        {"gpu:0", "gpu.process-count", "2"},
        {"gpu:1", "gpu.process-count", "0"},
    };
    g_autofree char *script = script_of("two-gpus.txt");
    Shot s = shoot(script);
    assert_int_equal(s.run->status, CT_OK);
    for (gsize i = 0; i < G_N_ELEMENTS(wanted); i++)
        expect(&s, wanted[i].subject, wanted[i].key, wanted[i].value);
    assert_int_equal(count(&s, ": C+G\n"), 1);
    shot_clear(&s);
}

/* Whatever stands in the way of one field, the others are had. */
static void every_call_may_fail(void **state)
{
    static const int codes[] = {1, 2, 3, 4, 9, 15, 16, 17, 25, 999, 12345, -7};
    g_autofree char *script = script_of("two-gpus.txt");
    g_auto(GStrv) rows = g_strsplit(script, "\n", -1);
    for (gsize c = 0; c < G_N_ELEMENTS(codes); c++) {
        g_autoptr(GString) bad = g_string_new("devices 1\nnvmlDeviceGetName = Survivor\n");
        for (char **row = rows; *row; row++) {
            g_autofree char *name = g_strndup(*row, strcspn(*row, "="));
            if (strstr(*row, " = ") && !strstr(*row, "GetName ="))
                g_string_append_printf(bad, "%serror %d\n", name, codes[c]);
        }
        Shot s = shoot(bad->str);
        assert_int_equal(s.run->status, CT_OK);
        expect(&s, "gpu:0", "gpu.name", "Survivor");
        g_autofree char *ecc = fact(&s, "gpu:0", "gpu.ecc.mode");
        assert_string_not_equal(ecc, "Enabled");
        if (codes[c] == 4)
            expect(&s, "gpu:0", "gpu.ecc.mode", "denied");
        if (codes[c] == 15)
            expect(&s, "gpu:0", "gpu.temperature", "failed");
        shot_clear(&s);
    }
}

static void garbage(void **state)
{
    g_autofree char *script = script_of("two-gpus.txt");
    g_auto(GStrv) rows = g_strsplit(script, "\n", -1);
    g_autoptr(GString) bad = g_string_new("devices 1\nnvmlDeviceGetMigMode garbage\n"
                                          "nvmlDeviceGetMaxMigDeviceCount garbage\n"
                                          "nvmlDeviceGetBridgeChipInfo garbage\n"
                                          "retired/0 garbage\nmig-devices 3\n");
    for (char **row = rows; *row; row++) {
        g_autofree char *name = g_strndup(*row, strcspn(*row, "="));
        if (strstr(*row, " = "))
            g_string_append_printf(bad, "%sgarbage\n", name);
    }
    Shot s = shoot(bad->str);
    assert_int_equal(s.run->status, CT_OK);
    expect(&s, "gpu:0", "gpu.utilization", "failed");
    expect(&s, "gpu:0", "gpu.memory.total", "failed");
    expect(&s, "gpu:0", "gpu.pcie.link.gen.current", "failed");
    expect(&s, "gpu:0", "gpu.clock.sm", "failed");
    expect(&s, "gpu:0", "gpu.remap.bank.max", "failed");
    g_autofree char *address = fact(&s, "gpu:0", "gpu.pci");
    assert_true(!address || !strchr(address, '.')); /* none is made up */
    assert_null(strchr(s.text, '\xff'));
    static const char *const never[] = {"4294967295", "18446744073709551615", "????", "0xff",
                                        "0xFFFFFFFF", ": Active\n", "Exceeded : Yes"};
    for (gsize i = 0; i < G_N_ELEMENTS(never); i++)
        if (strstr(s.text, never[i]))
            fail_msg("believed: %s", never[i]);
    expect(&s, "gpu:0", "gpu.name", "failed");
    expect(&s, "gpu:0", "gpu.ecc.sram-threshold-exceeded", "failed");
    shot_clear(&s);
}

static void counts_are_not_believed(void **state)
{
    Shot s = shoot("devices 4294967295\nnvmlDeviceGetHandleByIndex_v2 error 6\n");
    assert_int_equal(count(&s, "Unable to determine the device handle"), 256);
    shot_clear(&s);
    s = shoot("devices 1\nnvmlDeviceGetComputeRunningProcesses_v3 = 5000 1 2 0 0\n");
    assert_int_equal(s.run->status, CT_OK);
    assert_true(count(&s, "Process ID") <= 8192);
    shot_clear(&s);
}

static void hang_costs_only_the_rest(void **state)
{
    g_autofree char *script = script_of("two-gpus.txt");
    g_autofree char *bad =
        g_strconcat(script, "nvmlDeviceGetTemperatureV[1] block\n", NULL);
    gint64 begun = g_get_monotonic_time();
    Shot s = shoot(bad);
    gint64 took = g_get_monotonic_time() - begun;
    assert_int_equal(s.run->status, CT_TIMEOUT);
    assert_true(took < 9 * G_USEC_PER_SEC);
    expect(&s, "gpu:0", "gpu.temperature", "61");
    expect(&s, "gpu:1", "gpu.ecc.mode", "Enabled");
    g_autofree char *t = fact(&s, "gpu:1", "gpu.temperature");
    assert_null(t);
    shot_clear(&s);
}

static void crash_costs_only_the_rest(void **state)
{
    g_autofree char *script = script_of("two-gpus.txt");
    g_autofree char *bad = g_strconcat(script, "nvmlDeviceGetTemperatureV[1] crash\n", NULL);
    Shot s = shoot(bad);
    assert_int_equal(s.run->status, CT_FAILED);
    expect(&s, "gpu:0", "gpu.temperature", "61");
    shot_clear(&s);
}

static void no_init(void **state)
{
    static const struct {
        int code;
        const char *says;
    } cases[] = {
        {18, "Driver/library version mismatch"},
        {9, "couldn't communicate with the NVIDIA driver"},
        {4, "Insufficient Permissions"},
        {999, "Unknown Error"},
        {15, "GPU is lost (NVML_ERROR_GPU_IS_LOST, 15)"},
        {3, "Not Supported (NVML_ERROR_NOT_SUPPORTED, 3)"},
        {4711, "(NVML_ERROR_4711, 4711)"},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *script = g_strdup_printf("nvmlInit_v2 error %d\n", cases[i].code);
        Shot s = shoot(script);
        assert_non_null(strstr(s.text, cases[i].says));
        g_autofree char *code = g_strdup_printf(", %d)", cases[i].code);
        assert_int_equal(s.run->status, CT_FAILED);
        assert_non_null(strstr(s.run->note, code));
        shot_clear(&s);
    }
}

static void lost_gpu(void **state)
{
    Shot s = shoot("devices 2\nnvmlDeviceGetName = X\nnvmlDeviceGetHandleByIndex_v2[0] error 15\n");
    assert_non_null(strstr(s.text, "GPU 0: GPU is lost"));
    assert_int_equal(s.run->status, CT_OK); /* the other one is there */
    shot_clear(&s);
    s = shoot("devices 2\nnvmlDeviceGetHandleByIndex_v2 error 15\n");
    assert_int_equal(s.run->status, CT_FAILED);
    assert_non_null(strstr(s.run->note, "2 of 2 GPUs cannot be opened: GPU is lost"));
    assert_non_null(strstr(s.run->note, "NVML_ERROR_GPU_IS_LOST, 15"));
    shot_clear(&s);
}

static void mig(void **state)
{
    Shot s = shoot("devices 1\nnvmlDeviceGetName = NVIDIA A100\nnvmlDeviceGetMigMode = 1 1\n"
                   "nvmlDeviceGetMaxMigDeviceCount = 7\nmig-devices 2\n"
                   "nvmlDeviceGetGpuInstanceId[100] = 1\nnvmlDeviceGetGpuInstanceId[101] = 5\n"
                   "nvmlDeviceGetComputeInstanceId = 0\n"
                   "nvmlDeviceGetMemoryInfo[100] = 20937965568 20937965568 0\n"
                   "nvmlDeviceGetMemoryInfo[101] = 5100273664 4100273664 1000000000\n");
    expect(&s, "gpu:0", "gpu.mig.mode", "Enabled");
    expect(&s, "gpu:0/mig:1", "gpu.mig.device", "5");
    expect(&s, "gpu:0/mig:0", "gpu.memory.total", "20937965568");
    shot_clear(&s);
    s = shoot("devices 1\nnvmlDeviceGetName = NVIDIA A100\nnvmlDeviceGetMigMode = 1 1\n"
              "nvmlDeviceGetMaxMigDeviceCount = 7\n");
    assert_non_null(strstr(s.text, "MIG Devices"));
    shot_clear(&s);
}

static void old_fabric_struct(void **state)
{
    Shot s = shoot("devices 1\nold-fabric 1\nnvmlDeviceGetName = X\n"
                   "nvmlDeviceGetGpuFabricInfoV = 00000000000000000000000000000000 27 0 3 2\n");
    expect(&s, "gpu:0", "gpu.fabric.state", "Completed");
    expect(&s, "gpu:0", "gpu.fabric.health.bandwidth", "Full");
    shot_clear(&s);
}

/* The library of an old driver: functions that are not there are fields that are not there. */
static void old_library(void **state)
{
    Shot s = shoot("devices 1\nnvmlSystemGetDriverVersion = 418.226.00\n"
                   "nvmlDeviceGetName = Tesla T4\n"
                   "nvmlDeviceGetPciInfo_v3 = 0000:5E:00.0 0 94 0 1 2 00000000:5E:00.0\n"
                   "nvmlDeviceGetMemoryInfo = 15843721216 15843655680 65536\n"
                   "nvmlDeviceGetTemperature/0 = 44\nnvmlDeviceGetPowerUsage = 26840\n");
    expect(&s, "", "version.driver", "418.226.00");
    expect(&s, "gpu:0", "gpu.name", "Tesla T4");
    expect(&s, "gpu:0", "gpu.temperature", "44");
    expect(&s, "gpu:0", "gpu.power", "26.84");
    expect(&s, "gpu:0", "gpu.ecc.mode", "unsupported");
    shot_clear(&s);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_gpus),
        cmocka_unit_test(every_call_may_fail),
        cmocka_unit_test(garbage),
        cmocka_unit_test(counts_are_not_believed),
        cmocka_unit_test(hang_costs_only_the_rest),
        cmocka_unit_test(crash_costs_only_the_rest),
        cmocka_unit_test(no_init),
        cmocka_unit_test(lost_gpu),
        cmocka_unit_test(mig),
        cmocka_unit_test(old_fabric_struct),
    };
    const struct CMUnitTest old[] = {cmocka_unit_test(old_library)};
    if (argc > 1 && !strcmp(argv[1], "old"))
        return cmocka_run_group_tests_name("old NVML", old, NULL, NULL);
    return cmocka_run_group_tests_name("NVML", tests, NULL, NULL);
}
