/* SPDX-License-Identifier: Apache-2.0 */
/* From bytes to rows: sections, encodings, clocks, long and damaged input. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/limits.h"
#include "parse/frame/parse.h"

#define XID79 "NVRM: Xid (PCI:0000:3b:00): 79, pid=4711, name=infer, GPU has fallen off the bus."
#define XID31 "NVRM: Xid (PCI:0000:3b:00): 31, pid=4711, name=infer, Ch 00000008"
#define OOM "CUDA error: out of memory"

typedef struct {
    CtKb *kb;
    CtEvidence *ev;
    CtParse *parse;
} Run;

static void begin(Run *r)
{
    r->kb = ct_kb_open(NULL);
    r->ev = ct_evidence_new(NULL);
    r->parse = ct_parse_new(r->ev, r->kb, NULL);
    assert_non_null(r->parse);
}

static void end(Run *r)
{
    ct_parse_free(r->parse);
    ct_evidence_free(r->ev);
    ct_kb_free(r->kb);
}

static void source(Run *r, const char *path, const char *text)
{
    ct_parse_memory(r->parse, path, text, strlen(text));
}

/* Rows as "a|b\n" lines; NULL is "-". (transfer full) */
static char *rows(Run *r, const char *sql)
{
    GString *out = g_string_new(NULL);
    sqlite3_stmt *st = NULL;
    if (sqlite3_prepare_v2(ct_evidence_db(r->ev), sql, -1, &st, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(ct_evidence_db(r->ev)));
    while (sqlite3_step(st) == SQLITE_ROW) {
        for (int i = 0; i < sqlite3_column_count(st); i++) {
            const char *text = (const char *)sqlite3_column_text(st, i);
            g_string_append_printf(out, "%s%s", i ? "|" : "", text ? text : "-");
        }
        g_string_append_c(out, '\n');
    }
    sqlite3_finalize(st);
    return g_string_free(out, FALSE);
}

static void expect(Run *r, const char *sql, const char *wanted)
{
    g_autofree char *got = rows(r, sql);
    assert_string_equal(got, wanted);
}

#define XIDS "SELECT line, kind, code FROM event WHERE kind = 'xid' ORDER BY id"
#define SECTIONS "SELECT first_line, last_line, command, scope, clock FROM section ORDER BY id"

static void prompts_cut(void **state)
{
    Run r;
    begin(&r);
    source(&r, "a.txt",
           "$ cat one\nfirst\n$ docker run --rm img:1 \\\n    --flag x\nsecond\n"
           "$ python3 - <<'EOF'\nimport torch\n$ not a prompt\nEOF\nthird\n$ python3 -c \"\n"
           "print(1)\"\nfourth\nops@node-7:~$ true\nroot@0f9b2c3d4e5a:/w# id\nuid=0\n");
    ct_parse_finish(r.parse);
    expect(&r, SECTIONS,
           "1|2|cat one|host|none\n3|5|docker run --rm img:1 \n    --flag x|container:img:1|none\n"
           "6|10|python3 - <<'EOF'\nimport torch\n$ not a prompt\nEOF|host|none\n"
           "11|13|python3 -c \"\nprint(1)\"|host|none\n14|14|true|host|none\n"
           "15|16|id|container:0f9b2c3d4e5a|none\n");
    end(&r);
}

static void kernel_lines_cut(void **state)
{
    Run r;
    begin(&r);
    source(&r, "a.log",
           "app starts\napp runs\n[   10.000000] usb 1-1: new\n[   11.000000] " XID79
           "\n NVRM: wrapped\n[   12.000000] usb 1-2: new\napp again\napp again\napp again\n"
           "[   13.000000] one line is no log\napp again\n");
    ct_parse_finish(r.parse);
    expect(&r, "SELECT first_line, last_line, clock FROM section",
           "1|2|none\n3|6|boot\n7|11|none\n");
    expect(&r, XIDS, "4|xid|79\n");
    expect(&r, "SELECT section, kind FROM coverage WHERE kind = 'kernel-log'",
           "2|kernel-log\n3|kernel-log\n");
    end(&r);
}

static void encodings(void **state)
{
    static const char text[] = "first 中文\n" OOM "\n";
    Run r;
    begin(&r);
    gsize n;
    g_autofree char *le = g_convert(text, -1, "UTF-16LE", "UTF-8", NULL, &n, NULL);
    g_autofree char *le_bom = g_malloc(n + 2);
    memcpy(le_bom, "\xff\xfe", 2);
    memcpy(le_bom + 2, le, n);
    ct_parse_memory(r.parse, "le-bom", le_bom, n + 2);
    /* Without a mark it must be long enough to tell. */
    g_autofree char *be = g_convert("2024 plain text of Windows\n" OOM "\n", -1, "UTF-16BE",
                                    "UTF-8", NULL, &n, NULL);
    ct_parse_memory(r.parse, "be", be, n);
    g_autofree char *bom = g_strconcat("\xef\xbb\xbf", OOM, "\r\n", NULL);
    source(&r, "bom", bom);
    g_autofree char *gb = g_convert("推理失败：" OOM "，请检查显存\n", -1, "GB18030", "UTF-8", NULL,
                                    &n, NULL);
    ct_parse_memory(r.parse, "gb", gb, n);
    source(&r, "latin", "72\xb0" "C and " OOM "\n");
    static const char nul[] = "CUDA err\0or: out of memory\n";
    ct_parse_memory(r.parse, "nul", nul, sizeof nul - 1);
    source(&r, "ansi", "\x1b[31mCUDA err\x1b[0mor: out of memory\n");
    ct_parse_finish(r.parse);
    expect(&r,
           "SELECT s.path, e.line, e.text FROM event e JOIN section x ON x.id = e.section JOIN "
           "source s ON s.id = x.source WHERE e.kind = 'cuda-error' ORDER BY e.id",
           "le-bom|2|" OOM "\nbe|2|" OOM "\nbom|1|" OOM "\ngb|1|推理失败：" OOM "，请检查显存\n"
           "latin|1|72\xef\xbf\xbd" "C and " OOM "\nnul|1|" OOM "\nansi|1|" OOM "\n");
    expect(&r, "SELECT DISTINCT status FROM source", "ok\n");
    end(&r);
}

static void binaries(void **state)
{
    Run r;
    begin(&r);
    char junk[6000];
    for (gsize i = 0; i < sizeof junk; i++)
        junk[i] = (char)(i * 7919 >> 3);
    ct_parse_memory(r.parse, "junk", junk, sizeof junk);
    static const char elf[] = "\x7f" "ELF\2\1\1\0\0\0\0\0" OOM "\n";
    ct_parse_memory(r.parse, "elf", elf, sizeof elf - 1);
    ct_parse_memory(r.parse, "zeros", memset(junk, 0, sizeof junk), sizeof junk);
    ct_parse_memory(r.parse, "empty", "", 0);
    /* A log whose first pages a power failure took. */
    g_autofree char *lost = g_malloc0(5000 + sizeof OOM);
    memcpy(lost + 5000, OOM "\n", sizeof OOM);
    ct_parse_memory(r.parse, "lost", lost, 5000 + sizeof OOM);
    ct_parse_finish(r.parse);
    expect(&r, "SELECT path, status, note NOT NULL FROM source",
           "junk|unsupported|1\nelf|unsupported|1\nzeros|unsupported|1\nempty|ok|0\nlost|ok|0\n");
    expect(&r, "SELECT count(*) FROM event WHERE kind = 'cuda-error'", "1\n");
    end(&r);
}

static void long_lines(void **state)
{
    Run r;
    begin(&r);
    g_autofree char *x = g_malloc(CT_BLOCK);
    memset(x, 'x', CT_BLOCK);
    ct_parse_begin(r.parse, "long", "text");
    ct_parse_feed(r.parse, "one\n" OOM " ", 4 + strlen(OOM) + 1);
    for (int i = 0; i < 40; i++)
        ct_parse_feed(r.parse, x, CT_BLOCK);
    ct_parse_feed(r.parse, OOM "\n" XID31 "\n", strlen(OOM) + strlen(XID31) + 2);
    ct_parse_end(r.parse, CT_OK, NULL);
    ct_parse_finish(r.parse);
    expect(&r, "SELECT line, kind, length(text) < 5000 FROM event WHERE kind IN ('xid', 'cuda-error') "
               "ORDER BY id",
           "2|cuda-error|1\n3|xid|1\n");
    expect(&r, "SELECT lines FROM source", "3\n");
    end(&r);
}

/* What an anchor far inside of a long line says is found, and quoted where it stands. */
static void deep_in_a_line(void **state)
{
    Run r;
    begin(&r);
    g_autoptr(GString) text = g_string_new(NULL);
    for (int i = 0; i < 5000; i++)
        g_string_append(text, "field=1 ");
    g_string_append(text, OOM);
    for (int i = 0; i < 2000; i++)
        g_string_append(text, " field=1");
    g_string_append(text, "\n");
    source(&r, "a", text->str);
    ct_parse_finish(r.parse);
    expect(&r,
           "SELECT line, kind, instr(text, '" OOM "') > 0 FROM event WHERE kind = 'cuda-error'",
           "1|cuda-error|1\n");
    end(&r);
}

/* Fed byte by byte the same comes out as at once. */
static void any_pieces(void **state)
{
    static const char text[] = "$ dmesg\n[   10.000000] " XID79 "\r\n[   11.000000] " XID31
                               "\n$ ./app\n2024-05-14 03:12:08 starts\n" OOM "\nno line end";
    char *results[3];
    for (gsize step = 1, k = 0; k < 3; k++, step = k == 1 ? 7 : sizeof text) {
        Run r;
        begin(&r);
        ct_parse_begin(r.parse, "a", "text");
        for (gsize i = 0; i < sizeof text - 1; i += step)
            ct_parse_feed(r.parse, text + i, MIN(step, sizeof text - 1 - i));
        ct_parse_end(r.parse, CT_OK, NULL);
        ct_parse_finish(r.parse);
        results[k] = rows(&r, "SELECT section, line, t_ns, kind, text FROM event ORDER BY id");
        expect(&r, "SELECT first_line, last_line FROM section", "1|3\n4|7\n");
        end(&r);
    }
    assert_string_equal(results[0], results[1]);
    assert_string_equal(results[0], results[2]);
    for (int k = 0; k < 3; k++)
        g_free(results[k]);
}

static void containers(void **state)
{
    Run r;
    begin(&r);
    source(&r, "docker.json",
           "{\"log\":\"start\\n\",\"stream\":\"stdout\",\"time\":\"2024-05-14T03:12:08Z\"}\n"
           "{\"log\":\"CUDA err\\u006fr: out of memory\\n\",\"stream\":\"stderr\","
           "\"time\":\"2024-05-14T03:12:09Z\"}\n");
    source(&r, "pod.log",
           "2024-05-14T03:12:08.0Z stderr P CUDA error: out\n"
           "2024-05-14T03:12:08.0Z stderr F  of memory\n");
    source(&r, "journal.json",
           "{\"MESSAGE\":\"two lines\\nCUDA error: out of memory\",\"_PID\":\"9\","
           "\"__REALTIME_TIMESTAMP\":\"1715656328000000\"}\n");
    source(&r, "syslog",
           "May 14 03:12:08 host-a app[7]: first#012CUDA error: out of memory#012last\n");
    source(&r, "bar", " 10%|#  |\r 20%|## |\rCUDA error: out of memory\n");
    ct_parse_finish(r.parse);
    expect(&r, "SELECT line, pid, text FROM event WHERE kind = 'cuda-error' ORDER BY id",
           "2|-|" OOM "\n2|-|" OOM "\n1|9|" OOM "\n1|7|" OOM "\n1|-|" OOM "\n");
    end(&r);
}

static void ranks(void **state)
{
    Run r;
    begin(&r);
    source(&r, "one.log", "[rank2]: a\n[rank2]: " OOM "\n");
    source(&r, "all.log", "[rank0]: a\n[rank1]: " OOM "\n");
    source(&r, "srun.log", "0: a\n0: b\n1: a\n1: b\n0: " OOM "\n");
    ct_parse_finish(r.parse);
    expect(&r, "SELECT scope FROM section", "rank:2\nhost\nhost\n");
    expect(&r, "SELECT rank FROM event WHERE kind = 'cuda-error'", "2\n1\n0\n");
    end(&r);
}

static void clock_steps(void **state)
{
    Run r;
    begin(&r);
    source(&r, "a.log",
           "2024-05-14 03:12:08 a\n2024-05-14 03:12:10 b\n2024-05-14 03:12:09 c\n"
           "2024-05-14 02:00:00 d\n2024-05-14 02:00:01 e\n");
    source(&r, "b.log", "Dec 31 23:59:59 h x: a\nJan  1 00:00:01 h x: b\n");
    ct_parse_finish(r.parse);
    expect(&r, "SELECT section, line, kind, name FROM event", "1|4|clock-step|back\n");
    end(&r);
}

static void years(void **state)
{
    Run r;
    begin(&r);
    source(&r, "dated", "2024-12-30 10:00:00 a\n2025-01-02 10:00:00 b\n");
    source(&r, "syslog", "Dec 31 23:59:58 h x: a\nDec 31 23:59:59 h x[3]: " OOM
                         "\nJan  1 00:00:01 h x[3]: " OOM " again\n");
    ct_parse_finish(r.parse);
    expect(&r,
           "SELECT datetime(t_ns / 1000000000, 'unixepoch'), "
           "datetime(last_t_ns / 1000000000, 'unixepoch') FROM event WHERE kind = 'cuda-error'",
           "2024-12-31 23:59:59|2025-01-01 00:00:01\n");
    end(&r);
}

static void boot_time(void **state)
{
    Run r;
    begin(&r);
    source(&r, "dmesg", "[  100.000000] " XID79 "\n[  101.500000] " XID31 "\n");
    source(&r, "syslog", "2024-05-14T03:12:08+00:00 h kernel: " XID79
                         "\n2024-05-14T03:12:09.5+00:00 h kernel: " XID31 "\n");
    source(&r, "rtc", "[    1.000000] rtc_cmos 00:03: setting system clock to "
                      "2024-05-14T03:12:08 UTC (1715656328)\n[    2.000000] usb 1-1: new\n");
    source(&r, "alone", "[    1.000000] usb 1-1: x\n[    2.000000] usb 1-1: new\n");
    ct_parse_finish(r.parse);
    expect(&r, "SELECT clock, clock_offset_ns, clock_confidence > 0.5 FROM section",
           "boot|1715656228000000000|1\nwall|-|1\nboot|1715656327000000000|1\nboot|-|0\n");
    end(&r);
}

static void zones(void **state)
{
    Run r;
    begin(&r);
    source(&r, "utc", "2024-05-14T03:12:08Z a\n2024-05-14T03:12:09Z " XID79 "\n");
    source(&r, "local", "2024-05-14 11:12:09.2 " XID79 "\n2024-05-14 11:12:10 " OOM "\n");
    ct_parse_finish(r.parse);
    expect(&r, "SELECT clock_offset_ns FROM section", "-\n-28800000000000\n");
    end(&r);
}

static void titles_cut(void **state)
{
    Run r;
    begin(&r);
    source(&r, "report.txt",
           "collected by a script\n\n=== nvidia-smi -L ===\n"
           "GPU 0: NVIDIA A2 (UUID: GPU-11111111-2222-3333-4444-555555555555)\n"
           "==> app.log <==\n2024-05-14 03:12:08 INFO starts\n=== Phase 2 ===\n" OOM "\n");
    ct_parse_finish(r.parse);
    expect(&r, "SELECT first_line, last_line, title FROM section",
           "1|2|-\n3|4|nvidia-smi -L\n5|8|app.log\n");
    end(&r);
}

static void many_sections(void **state)
{
    Run r;
    begin(&r);
    g_autoptr(GString) text = g_string_new(NULL);
    for (guint i = 0; i < CT_MAX_SECTIONS + 5000; i++)
        g_string_append(text, "$ x\ny\n");
    g_string_append(text, OOM "\n");
    source(&r, "a", text->str);
    ct_parse_finish(r.parse);
    expect(&r, "SELECT count(*) <= 20000 FROM section", "1\n");
    expect(&r, "SELECT count(*) FROM event WHERE kind = 'cuda-error'", "1\n");
    end(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prompts_cut), cmocka_unit_test(kernel_lines_cut),
        cmocka_unit_test(encodings),   cmocka_unit_test(binaries),
        cmocka_unit_test(long_lines),  cmocka_unit_test(deep_in_a_line),
        cmocka_unit_test(any_pieces),
        cmocka_unit_test(containers),  cmocka_unit_test(ranks),
        cmocka_unit_test(clock_steps), cmocka_unit_test(years),
        cmocka_unit_test(boot_time),   cmocka_unit_test(zones),
        cmocka_unit_test(titles_cut),  cmocka_unit_test(many_sections),
    };
    return cmocka_run_group_tests_name("frame", tests, NULL, NULL);
}
