/* SPDX-License-Identifier: Apache-2.0 */
/* Time stamps of every form that logs write, and text that must not pass for one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "parse/frame/parser.h"
#include "parse/frame/stamp.h"

#define NS G_GINT64_CONSTANT(1000000000)

typedef struct {
    const char *text;
    CtStampKind kind;
    gint64 seconds, frac_ns;
    gsize used; /* 0: all of the text */
    gboolean zone;
} Case;

static const Case cases[] = {
    {"2024-05-14T03:12:08Z", CT_STAMP_WALL, 1715656328, 0, 0, TRUE},
    {"2024-05-14T03:12:08.250+00:00", CT_STAMP_WALL, 1715656328, 250000000, 0, TRUE},
    {"2024-05-14T11:12:08+0800", CT_STAMP_WALL, 1715656328, 0, 0, TRUE},
    {"2024-05-13T22:12:08-05:00 x", CT_STAMP_WALL, 1715656328, 0, 25, TRUE},
    {"2024-05-14T03:12:08,123456+00:00 usb", CT_STAMP_WALL, 1715656328, 123456000, 32, TRUE},
    {"2024-05-14T03:12:08.123456789Z stderr F x", CT_STAMP_WALL, 1715656328, 123456789, 30, TRUE},
    {"2024-05-14 03:12:08,007 INFO x", CT_STAMP_WALL, 1715656328, 7000000, 23, FALSE},
    {"2024/05/14 03:12:08.332, 97", CT_STAMP_WALL, 1715656328, 332000000, 23, FALSE},
    {"[2024-05-14 03:12:08 +0000] [17] [INFO]", CT_STAMP_WALL, 1715656328, 0, 27, TRUE},
    {"[2024-05-14 03:12:08,500]", CT_STAMP_WALL, 1715656328, 500000000, 0, FALSE},
    {"(2024-05-14 03:12:08) x", CT_STAMP_WALL, 1715656328, 0, 21, FALSE},
    {"05-14-2024 03:12:08 RAM 1/2MB", CT_STAMP_WALL, 1715656328, 0, 19, FALSE},
    {"[05/14/2024-03:12:08] [I] x", CT_STAMP_WALL, 1715656328, 0, 21, FALSE},
    {"5/14/2024 3:12:08 AM x", CT_STAMP_WALL, 1715656328, 0, 20, FALSE},
    {"5/14/2024, 3:12:08 PM x", CT_STAMP_WALL, 1715699528, 0, 21, FALSE},
    {"05/14/24 03:12:08", CT_STAMP_WALL, 1715656328, 0, 0, FALSE},
    {"14/05/2024 03:12:08", CT_STAMP_WALL, 1715656328, 0, 0, FALSE},
    {"Tue May 14 03:12:08 2024", CT_STAMP_WALL, 1715656328, 0, 0, FALSE},
    {"[Tue May 14 03:12:08 2024] usb", CT_STAMP_WALL, 1715656328, 0, 26, FALSE},
    {"Tue May 14 03:12:08 UTC 2024", CT_STAMP_WALL, 1715656328, 0, 0, TRUE},
    {"Tue May 14 03:12:08 CST 2024", CT_STAMP_WALL, 1715656328, 0, 0, FALSE},
    {"Tue 14 May 2024 03:12:08 AM UTC", CT_STAMP_WALL, 1715656328, 0, 0, TRUE},
    {"14-May-2024 03:12:08 x", CT_STAMP_WALL, 1715656328, 0, 20, FALSE},
    {"May 14 2024 03:12:08 x", CT_STAMP_WALL, 1715656328, 0, 20, FALSE},
    {"May 14 03:12:08 host x", CT_STAMP_NO_YEAR, 133 * 86400 + 11528, 0, 15, FALSE},
    {"May  4 03:12:08.5 host", CT_STAMP_NO_YEAR, 123 * 86400 + 11528, 500000000, 17, FALSE},
    {"I0514 03:12:08.110237 1 f.cc:2] x", CT_STAMP_NO_YEAR, 133 * 86400 + 11528, 110237000, 21,
     FALSE},
    {"E20240514 03:12:08.110237 1 f.cc:2] x", CT_STAMP_WALL, 1715656328, 110237000, 25, FALSE},
    {"5月 14 03:12:08 x", CT_STAMP_NO_YEAR, 133 * 86400 + 11528, 0, 16, FALSE},
    {"2024年05月14日 03:12:08", CT_STAMP_WALL, 1715656328, 0, 0, FALSE},
    {"2024年 05月 14日 星期二 03:12:08 x", CT_STAMP_WALL, 1715656328, 0, 38, FALSE},
    {"2024年05月14日 下午 03:12:08", CT_STAMP_WALL, 1715699528, 0, 0, FALSE},
    {"1715656328.125 x", CT_STAMP_WALL, 1715656328, 125000000, 14, TRUE},
    {"1715656328125 x", CT_STAMP_WALL, 1715656328, 125000000, 13, TRUE},
    {"0:00:02.660021744 123 x", CT_STAMP_RELATIVE, 2, 660021744, 17, FALSE},
    {"09:12:07.123 x", CT_STAMP_DAY_TIME, 33127, 123000000, 12, FALSE},
};

static void forms(void **state)
{
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        const Case *c = &cases[i];
        CtStamp s = {0};
        if (!ct_stamp_parse(c->text, strlen(c->text), &s))
            fail_msg("not read: %s", c->text);
        if (s.kind != c->kind || s.ns != c->seconds * NS + c->frac_ns || s.has_zone != c->zone ||
            s.used != (c->used ? c->used : strlen(c->text)))
            fail_msg("%s: kind %d, %" G_GINT64_FORMAT ".%09" G_GINT64_FORMAT ", zone %d, used %zu",
                     c->text, (int)s.kind, s.ns / NS, s.ns % NS, s.has_zone, s.used);
    }
}

static void not_a_stamp(void **state)
{
    static const char *const texts[] = {
        "", "[", "12", "1234567890", "10.0.0.1 GET /", "2024-13-14 03:12:08", "2024-05-14",
        "2024-05-14 24:00:00", "99:99:99.123", "[ERROR] x y z", "Mayor 14 03:12:08",
        "550.54.14.03 driver", "0000:3b:00.0 VGA", "3.14159265358979", "1.2.3 12:00:00 x",
        "[12:34] short", "I01234567 03:12:08.1", "05/14 03:12", "2024年13月14日 03:12:08",
        "17156563281 x", "--------------", "12月",
    };
    CtStamp s;
    for (gsize i = 0; i < G_N_ELEMENTS(texts); i++) {
        if (ct_stamp_parse(texts[i], strlen(texts[i]), &s))
            fail_msg("read as a stamp: %s", texts[i]);
    }
}

static void kernel(void **state)
{
    static const struct {
        const char *text;
        gint64 ns;
        gsize used;
    } good[] = {{"[   12.345678] x", 12345678000, 14}, {"[12.5]", 12500000000, 6},
                {"[123456.000001] x", 123456000001000, 15}};
    static const char *const bad[] = {"[12]", "[ x12.3]", "[12.3", "12.3]", "[-1.2]",
                                      "[99999999999.1] "};
    CtStamp s;
    for (gsize i = 0; i < G_N_ELEMENTS(good); i++) {
        assert_true(ct_stamp_kernel(good[i].text, strlen(good[i].text), &s));
        assert_int_equal(s.ns, good[i].ns);
        assert_int_equal(s.used, good[i].used);
    }
    for (gsize i = 0; i < G_N_ELEMENTS(bad); i++)
        assert_false(ct_stamp_kernel(bad[i], strlen(bad[i]), &s));
}

static void years(void **state)
{
    assert_int_equal(ct_stamp_year(0), 1970);
    assert_int_equal(ct_stamp_year(ct_stamp_civil_ns(2024, 2, 29, 23, 59, 59)), 2024);
    assert_int_equal(ct_stamp_year(ct_stamp_civil_ns(2023, 12, 31, 23, 59, 59)), 2023);
    assert_int_equal(ct_stamp_year(ct_stamp_civil_ns(2024, 1, 1, 0, 0, 0)), 2024);
}

/* Every cut of every form: nothing may be read beyond the end. */
static void truncated(void **state)
{
    CtStamp s;
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        for (gsize n = 0; n <= strlen(cases[i].text); n++) {
            char *copy = g_malloc(n ? n : 1);
            memcpy(copy, cases[i].text, n);
            if (ct_stamp_parse(copy, n, &s))
                assert_true(s.used <= n);
            g_free(copy);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forms),    cmocka_unit_test(not_a_stamp), cmocka_unit_test(kernel),
        cmocka_unit_test(years),    cmocka_unit_test(truncated),
    };
    return cmocka_run_group_tests_name("time", tests, NULL, NULL);
}
