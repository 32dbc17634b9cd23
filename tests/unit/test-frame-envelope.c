/* SPDX-License-Identifier: Apache-2.0 */
/* What is left of a line, and what was learnt, when its envelopes are off. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "parse/frame/envelope.h"
#include "parse/frame/json-line.h"

#define NS G_GINT64_CONSTANT(1000000000)
#define T0 (1715656328 * NS) /* 2024-05-14T03:12:08Z */
#define X CT_TIME_UNKNOWN

typedef struct {
    const char *raw, *text;
    CtEnvelope envelope;
    gint64 wall_ns, boot_ns;
    const char *tag;
    gint64 pid, rank;
} Case;

static const Case cases[] = {
    /* plain text and application logs */
    {"plain text", "plain text", CT_ENVELOPE_NONE, X, X, NULL, CT_NONE, CT_NONE},
    {"2024-05-14 03:12:08,000 - root - ERROR - x", "- root - ERROR - x", CT_ENVELOPE_NONE, T0, X,
     NULL, CT_NONE, CT_NONE},
    {"[05/14/2024-03:12:08] [E] [TRT] x", "[E] [TRT] x", CT_ENVELOPE_NONE, T0, X, NULL, CT_NONE,
     CT_NONE},
    {"2024-05-14 03:12:08 INFO main: x", "INFO main: x", CT_ENVELOPE_NONE, T0, X, NULL, CT_NONE,
     CT_NONE},
    {"[INFO] [1715656328.000]: x", "[INFO] [1715656328.000]: x", CT_ENVELOPE_NONE, X, X, NULL,
     CT_NONE, CT_NONE},
    /* kernel */
    {"[   12.345678] usb 1-1: x", "usb 1-1: x", CT_ENVELOPE_KERNEL, X, 12345678000, NULL, CT_NONE,
     CT_NONE},
    {"[   12.345678][  T123] x", "x", CT_ENVELOPE_KERNEL, X, 12345678000, NULL, CT_NONE, CT_NONE},
    {"<4>[   12.345678] x", "x", CT_ENVELOPE_KERNEL, X, 12345678000, NULL, CT_NONE, CT_NONE},
    {"[Tue May 14 03:12:08 2024] x", "x", CT_ENVELOPE_KERNEL, T0, X, NULL, CT_NONE, CT_NONE},
    {"2024-05-14T03:12:08,000000+00:00 x", "x", CT_ENVELOPE_KERNEL, T0, X, NULL, CT_NONE,
     CT_NONE},
    {"kern  :err   : 2024-05-14T03:12:08,000000+00:00 x", "x", CT_ENVELOPE_KERNEL, T0, X, NULL,
     CT_NONE, CT_NONE},
    {"kern  :info  : [    2.500000] x", "x", CT_ENVELOPE_KERNEL, X, 2500000000, NULL, CT_NONE,
     CT_NONE},
    {"10.0.0.11: kern: warning: [2024-05-14T03:12:08.0Z]: x", "x", CT_ENVELOPE_KERNEL, T0, X, NULL,
     CT_NONE, CT_NONE},
    {"6,3973,227996636,-;x", "x", CT_ENVELOPE_KERNEL, X, 227996636000, NULL, CT_NONE, CT_NONE},
    {"[  +0.000012] x", "x", CT_ENVELOPE_KERNEL, X, X, NULL, CT_NONE, CT_NONE},
    {"[   12.000000 <    0.000012>] x", "x", CT_ENVELOPE_KERNEL, X, 12 * NS, NULL, CT_NONE,
     CT_NONE},
    /* syslog and journal */
    {"May 14 03:12:08 host-a kernel: [   12.500000] x", "x", CT_ENVELOPE_KERNEL,
     (133 * 86400 + 11528) * NS, 12500000000, "kernel", CT_NONE, CT_NONE},
    {"May 14 03:12:08 host-a kernel[851]: [   12.500000] x", "x", CT_ENVELOPE_KERNEL,
     (133 * 86400 + 11528) * NS, 12500000000, "kernel", CT_NONE, CT_NONE},
    {"2024-05-14T03:12:08+0000 host-a app[812]: x", "x", CT_ENVELOPE_SYSLOG, T0, X, "app", 812,
     CT_NONE},
    {"2024-05-14T03:12:08.000000+00:00 host-a dockerd[9]: x", "x", CT_ENVELOPE_SYSLOG, T0, X,
     "dockerd", 9, CT_NONE},
    {"May 14 03:12:08 host-a nvidia-persistenced: x", "x", CT_ENVELOPE_SYSLOG,
     (133 * 86400 + 11528) * NS, X, "nvidia-persistenced", CT_NONE, CT_NONE},
    {"<30>May 14 03:12:08 host-a app[1]: x", "x", CT_ENVELOPE_SYSLOG, (133 * 86400 + 11528) * NS,
     X, "app", 1, CT_NONE},
    {"{\"__REALTIME_TIMESTAMP\":\"1715656328000000\",\"_TRANSPORT\":\"kernel\",\"MESSAGE\":\"x\","
     "\"SYSLOG_IDENTIFIER\":\"kernel\"}",
     "x", CT_ENVELOPE_KERNEL, T0, X, "kernel", CT_NONE, CT_NONE},
    {"{\"MESSAGE\":[72,105,33],\"_PID\":\"77\",\"__MONOTONIC_TIMESTAMP\":\"5000000\"}", "Hi!",
     CT_ENVELOPE_JOURNAL, X, 5 * NS, NULL, 77, CT_NONE},
    /* containers */
    {"{\"log\":\"a \\\"b\\\" \\u4e2d\\n\",\"stream\":\"stderr\",\"time\":\"2024-05-14T03:12:08Z\"}",
     "a \"b\" 中", CT_ENVELOPE_DOCKER, T0, X, NULL, CT_NONE, CT_NONE},
    {"2024-05-14T03:12:08.000000000Z stderr F x", "x", CT_ENVELOPE_CRI, T0, X, NULL, CT_NONE,
     CT_NONE},
    {"2024-05-14T03:12:08.000000000Z stdout F 2024-05-14 11:12:08,500 ERROR x", "ERROR x",
     CT_ENVELOPE_CRI, T0, X, NULL, CT_NONE, CT_NONE},
    {"detector-1  | x", "x", CT_ENVELOPE_LAUNCHER, X, X, "detector-1", CT_NONE, CT_NONE},
    {"[pod/detector-0/server] x", "x", CT_ENVELOPE_LAUNCHER, X, X, "detector-0/server", CT_NONE,
     CT_NONE},
    /* launchers */
    {"[rank3]: Traceback", "Traceback", CT_ENVELOPE_LAUNCHER, X, X, NULL, CT_NONE, 3},
    {"[default0]:x", "x", CT_ENVELOPE_LAUNCHER, X, X, NULL, CT_NONE, 0},
    {"[1,5]<stderr>:x", "x", CT_ENVELOPE_LAUNCHER, X, X, NULL, CT_NONE, 5},
    {"(RayWorker pid=4312) x", "x", CT_ENVELOPE_LAUNCHER, X, X, NULL, 4312, CT_NONE},
    {"[rank1]:[2024-05-14 03:12:08,000] x", "x", CT_ENVELOPE_LAUNCHER, T0, X, NULL, CT_NONE, 1},
    /* colours and doubled stamps */
    {"\x1b[31mred\x1b[0m x", "red x", CT_ENVELOPE_NONE, X, X, NULL, CT_NONE, CT_NONE},
    {"2024-05-14T03:12:08Z 2024-05-14 11:12:08.100 x", "x", CT_ENVELOPE_NONE, T0, X, NULL, CT_NONE,
     CT_NONE},
    /* nothing to take off */
    {"[12.5]: ros", "[12.5]: ros", CT_ENVELOPE_NONE, X, X, NULL, CT_NONE, CT_NONE},
    {"3: lo: <LOOPBACK>", "3: lo: <LOOPBACK>", CT_ENVELOPE_NONE, X, X, NULL, CT_NONE, CT_NONE},
    {"foo  | bar", "foo  | bar", CT_ENVELOPE_NONE, X, X, NULL, CT_NONE, CT_NONE},
    {"| NVIDIA-SMI 1 |", "| NVIDIA-SMI 1 |", CT_ENVELOPE_NONE, X, X, NULL, CT_NONE, CT_NONE},
    {"{\"log\": 3", "{\"log\": 3", CT_ENVELOPE_NONE, X, X, NULL, CT_NONE, CT_NONE},
    {"", "", CT_ENVELOPE_NONE, X, X, NULL, CT_NONE, CT_NONE},
};

static void peel(CtPeeler *p, const char *raw, gsize len, CtLine *line, CtPeeled *out)
{
    *line = (CtLine){.raw = raw, .raw_len = len};
    ct_peel(p, line, out);
}

static void forms(void **state)
{
    CtPeeler *p = ct_peeler_new();
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        const Case *c = &cases[i];
        CtLine line;
        CtPeeled out;
        peel(p, c->raw, strlen(c->raw), &line, &out);
        gint64 wall = out.has_wall ? out.wall_ns : X, boot = out.has_boot ? out.boot_ns : X;
        if (line.len != strlen(c->text) || memcmp(line.text, c->text, line.len) != 0 ||
            line.envelope != c->envelope || wall != c->wall_ns || boot != c->boot_ns ||
            g_strcmp0(line.tag, c->tag) != 0 || line.pid != c->pid || line.rank != c->rank)
            fail_msg("%s: text '%.*s', envelope %d, wall %" G_GINT64_FORMAT ", boot "
                     "%" G_GINT64_FORMAT ", tag %s, pid %" G_GINT64_FORMAT
                     ", rank %" G_GINT64_FORMAT,
                     c->raw, (int)line.len, line.text, (int)line.envelope, wall, boot,
                     line.tag ? line.tag : "-", line.pid, line.rank);
    }
    ct_peeler_free(p);
}

/* Any prefix of any line, in a block of its own size. */
static void truncated(void **state)
{
    CtPeeler *p = ct_peeler_new();
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        for (gsize n = 0; n <= strlen(cases[i].raw); n++) {
            char *copy = g_malloc(n ? n : 1);
            memcpy(copy, cases[i].raw, n);
            CtLine line;
            CtPeeled out;
            peel(p, copy, n, &line, &out);
            assert_true(line.len <= n + 4);
            g_free(copy);
        }
    }
    ct_peeler_free(p);
}

static void set_prefixes(void **state)
{
    CtPeeler *p = ct_peeler_new();
    CtLine line;
    CtPeeled out;
    ct_peeler_set_prefixes(p, TRUE, TRUE);
    peel(p, "12: x", 5, &line, &out);
    assert_int_equal(line.rank, 12);
    assert_int_equal(line.len, 1);
    peel(p, "web  | x", 8, &line, &out);
    assert_string_equal(line.tag, "web");
    ct_peeler_free(p);
}

static void kernel_or_not(void **state)
{
    static const char *const yes[] = {"[   12.345678] x", "<6>[   12.345678] x",
                                      "[Tue May 14 03:12:08 2024] x"};
    static const char *const no[] = {"[2024-05-14 03:12:08] x", "[12.345678]: ros", "[ERROR] x",
                                     "May 14 03:12:08 host kernel: x", "[rank0]: x", ""};
    for (gsize i = 0; i < G_N_ELEMENTS(yes); i++)
        assert_true(ct_envelope_is_kernel(yes[i], strlen(yes[i])));
    for (gsize i = 0; i < G_N_ELEMENTS(no); i++)
        assert_false(ct_envelope_is_kernel(no[i], strlen(no[i])));
}

static void ansi(void **state)
{
    static const struct {
        const char *in, *out;
    } texts[] = {
        {"a\x1b[1;32mb\x1b[Kc", "abc"}, {"\x1b]0;title\x07x", "x"}, {"\x1b]8;;u\x1b\\x", "x"},
        {"\x1b[31", ""},                {"\x1b", ""},               {"a\x1b(Bb", "aBb"},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(texts); i++) {
        g_autofree char *copy = g_strdup(texts[i].in);
        gsize n = ct_strip_ansi(copy, strlen(copy));
        assert_int_equal(n, strlen(texts[i].out));
        assert_memory_equal(copy, texts[i].out, n);
    }
}

static void json(void **state)
{
    static const char text[] = " {\"a\": {\"b\": [1,2,\"}\"]}, \"c\":\"x\\\"y\", \"d\": -1.5 }";
    CtJsonField f[4] = {{.key = "c"}, {.key = "d"}, {.key = "a"}, {.key = "b"}};
    assert_true(ct_json_fields(text, strlen(text), f, 4));
    assert_int_equal(f[0].len, 4);
    assert_true(f[0].is_string);
    assert_int_equal(f[1].len, 4);
    assert_true(f[2].found);
    assert_false(f[3].found); /* not of the outermost object */
    assert_false(ct_json_fields("[1]", 3, f, 4));
    g_autoptr(GString) s = g_string_new(NULL);
    ct_json_unescape("\\ud83d\\ude00\\t\\u00e9\\q\\ud800x\\", 31, s);
    assert_string_equal(s->str, "😀\té" "q\xef\xbf\xbdx");
    g_string_truncate(s, 0);
    ct_json_append_string(s, "a\"\\\n\xff", -1);
    assert_string_equal(s->str, "\"a\\\"\\\\\\u000a\xef\xbf\xbd\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forms),         cmocka_unit_test(truncated), cmocka_unit_test(set_prefixes),
        cmocka_unit_test(kernel_or_not), cmocka_unit_test(ansi),      cmocka_unit_test(json),
    };
    return cmocka_run_group_tests_name("frame-envelope", tests, NULL, NULL);
}
