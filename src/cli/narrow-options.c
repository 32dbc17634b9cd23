/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/narrow-options.h"

#include <stdlib.h>
#include <string.h>

#define SECOND_NS G_GINT64_CONSTANT(1000000000)

void ct_narrow_options_clear(CtNarrowOptions *o)
{
    g_free(o->since);
    g_free(o->until);
    g_free(o->gpu);
    g_free(o->pid);
    g_free(o->host);
    g_free(o->boot);
}

/* ---- times ---- */

/* Parts that were written; -1 where one was not. */
typedef struct {
    int year, month, day, hour, minute;
    double second;
} Written;

static int month_by_name(const char *text)
{
    static const char *const names[] = {"jan", "feb", "mar", "apr", "may", "jun",
                                        "jul", "aug", "sep", "oct", "nov", "dec"};
    for (guint i = 0; i < G_N_ELEMENTS(names); i++)
        if (g_ascii_strncasecmp(text, names[i], 3) == 0)
            return (int)i + 1;
    return 0;
}

/* "14:22", "14:22:07.5", with or without a Z behind; the sources' own clock is meant. */
static gboolean read_clock(const char *text, Written *w)
{
    int used = 0;
    w->second = 0;
    if (sscanf(text, "%2d:%2d%n", &w->hour, &w->minute, &used) != 2)
        return FALSE;
    if (text[used] == ':') {
        char *end;
        w->second = g_ascii_strtod(text + used + 1, &end);
        used = (int)(end - text);
    }
    return (!text[used] || g_str_equal(text + used, "Z")) && w->hour >= 0 && w->hour < 24 &&
           w->minute >= 0 && w->minute < 60 && w->second >= 0 && w->second < 60;
}

/* The date at the beginning; *rest is what follows. FALSE: there is none. */
static gboolean read_date(const char *text, Written *w, const char **rest)
{
    int used = 0;
    char name[10];
    if (sscanf(text, "%4d-%2d-%2d%n", &w->year, &w->month, &w->day, &used) == 3 ||
        sscanf(text, "%4d/%2d/%2d%n", &w->year, &w->month, &w->day, &used) == 3 ||
        sscanf(text, "%4d年%2d月%2d日%n", &w->year, &w->month, &w->day, &used) == 3) {
        *rest = text + used;
        return w->year > 99;
    }
    w->year = -1;
    used = 0;
    if ((sscanf(text, "%2d-%2d%n", &w->month, &w->day, &used) == 2 && used) ||
        (sscanf(text, "%2d/%2d%n", &w->month, &w->day, &used) == 2 && used) ||
        (sscanf(text, "%2d月%2d日%n", &w->month, &w->day, &used) == 2 && used)) {
        *rest = text + used;
        return TRUE;
    }
    if (sscanf(text, "%9[A-Za-z] %2d%n", name, &w->day, &used) == 2 && month_by_name(name)) {
        w->month = month_by_name(name);
        *rest = text + used;
        sscanf(text + used, " %4d%n", &w->year, &used);
        if (w->year > 99)
            *rest += used;
        else
            w->year = -1;
        return TRUE;
    }
    return FALSE;
}

static gint64 to_ns(int year, int month, int day, const Written *w)
{
    g_autoptr(GDateTime) t =
        g_date_time_new_utc(year, month, day, MAX(w->hour, 0), MAX(w->minute, 0), w->second);
    return t ? g_date_time_to_unix(t) * SECOND_NS +
                   (gint64)(g_date_time_get_microsecond(t)) * 1000
             : CT_TIME_UNKNOWN;
}

/* "2h", "3 days", "90min": seconds; 0 when it is none. */
static gint64 span_ns(const char *text)
{
    static const struct {
        const char *unit;
        gint64 seconds;
    } units[] = {{"s", 1},      {"m", 60},      {"h", 3600},   {"d", 86400}, {"w", 604800},
                 {"秒", 1}, {"分", 60}, {"小时", 3600}, {"天", 86400}, {"周", 604800}};
    char *end;
    double n = g_ascii_strtod(text, &end);
    while (*end == ' ')
        end++;
    for (guint i = 0; end != text && n > 0 && n < 1e6 && i < G_N_ELEMENTS(units); i++)
        if (g_str_has_prefix(end, units[i].unit))
            return (gint64)(n * (double)units[i].seconds * (double)SECOND_NS);
    return 0;
}

/* Relative times count back from `last_ns`, the last event: a log is mostly read later. For `until`
 * a bare date means its end. Sources that write no year are of 1970, or 1971 behind a New Year; a
 * year that the person writes says nothing about them. */
static gboolean read_time(const char *text, gint64 first_ns, gint64 last_ns, gboolean until,
                          gint64 *out)
{
    Written w = {-1, -1, -1, -1, -1, 0};
    g_autofree char *copy = g_strstrip(g_strdup(text));
    g_autoptr(GDateTime) last = g_date_time_new_from_unix_utc(last_ns / SECOND_NS);
    const char *rest = copy;
    if (!*copy)
        return FALSE;
    gint64 back = span_ns(*copy == '-' ? copy + 1 : copy);
    if ((*copy == '-' || g_str_has_suffix(copy, "ago") || g_str_has_suffix(copy, "前")) && back) {
        *out = last_ns - back;
        return TRUE;
    }
    if (g_str_equal(copy, "today") || g_str_equal(copy, "yesterday") ||
        g_str_equal(copy, "今天") || g_str_equal(copy, "昨天")) {
        gboolean before = g_str_equal(copy, "yesterday") || g_str_equal(copy, "昨天");
        g_autoptr(GDateTime) day = g_date_time_add_days(last, before ? -1 : 0);
        g_date_time_get_ymd(day, &w.year, &w.month, &w.day);
        rest = "";
    } else if (!read_date(copy, &w, &rest)) {
        g_date_time_get_ymd(last, &w.year, &w.month, &w.day);
    }
    rest += strspn(rest, " T");
    gboolean bare = !*rest;
    if (*rest && !read_clock(rest, &w))
        return FALSE;
    if (g_date_time_get_year(last) <= 1971)
        w.year = -1;
    int year = w.year > 0 ? w.year : g_date_time_get_year(last);
    *out = to_ns(year, w.month, w.day, &w);
    if (*out == CT_TIME_UNKNOWN)
        return FALSE;
    /* "Dec 30" in a log that ends in January; but "until Dec 30" may just lie behind the end. */
    if (w.year < 0 && *out > last_ns + 2 * 86400 * SECOND_NS) {
        gint64 before = to_ns(year - 1, w.month, w.day, &w);
        if (before != CT_TIME_UNKNOWN && (!until || before >= first_ns))
            *out = before;
    }
    if (until && bare)
        *out += 86400 * SECOND_NS - 1;
    else if (until)
        *out += (w.second > 0 ? 1 : 60) * SECOND_NS - 1; /* the whole minute or second is meant */
    return TRUE;
}

/* ---- numbers ---- */

static gboolean read_number(const char *text, gint64 *out)
{
    char *end;
    *out = g_ascii_strtoll(text, &end, 10);
    return end != text && !*end && *out >= 0;
}

/* "last", "0" and "-0" are the last, "1" and "-1" the one before, as journalctl counts back. */
static gboolean read_boot(const char *text, guint *out)
{
    gint64 n = 0;
    if (!g_str_equal(text, "last") && !read_number(text + (*text == '-'), &n))
        return FALSE;
    *out = (guint)MIN(n, 100000) + 1;
    return TRUE;
}

gboolean ct_narrow_options_check(const char *verb, const CtNarrowOptions *o, int *out_exit)
{
    gint64 number, now = g_get_real_time() * 1000;
    guint boot;
    const char *times[] = {o->since, o->until};
    for (guint i = 0; i < G_N_ELEMENTS(times); i++)
        if (times[i] && !read_time(times[i], now, now, i == 1, &number)) {
            *out_exit = ct_cli_usage(verb,
                                     "--%s %s: not a time; write 2026-11-30, '2026-11-30 14:22', "
                                     "'Nov 30 14:22', 14:22 or '2h ago'",
                                     i ? "until" : "since", times[i]);
            return FALSE;
        }
    if (o->pid && !read_number(o->pid, &number)) {
        *out_exit = ct_cli_usage(verb, "--pid %s: not a process number", o->pid);
        return FALSE;
    }
    if (o->boot && !read_boot(o->boot, &boot)) {
        *out_exit = ct_cli_usage(verb, "--boot %s: write last, or how many boots before it",
                                 o->boot);
        return FALSE;
    }
    return TRUE;
}

/* "Nothing wrong" of an empty span of time would mislead. */
static void note_empty_span(const char *option, const char *text, const char *where, gint64 ns)
{
    g_autoptr(GDateTime) t = g_date_time_new_from_unix_utc(ns / SECOND_NS);
    g_autofree char *time =
        g_date_time_format(t, g_date_time_get_year(t) <= 1971 ? "%m-%d %T" : "%F %T");
    ct_cli_note("--%s %s leaves nothing that has a time: the %s is of %s", option, text, where,
                time);
}

gboolean ct_narrow_options_resolve(const char *verb, const CtNarrowOptions *o, CtEvidence *ev,
                                   CtNarrow *out, int *out_exit)
{
    gint64 first, last;
    *out = (CtNarrow)CT_NARROW_NOTHING;
    gboolean timed = ct_event_times(ev, &first, &last);
    if (!timed)
        first = last = g_get_real_time() * 1000;
    if (o->since)
        read_time(o->since, first, last, FALSE, &out->since_ns);
    if (o->until)
        read_time(o->until, first, last, TRUE, &out->until_ns);
    if (timed && o->since && out->since_ns > last)
        note_empty_span("since", o->since, "last", last);
    if (timed && o->until && out->until_ns < first)
        note_empty_span("until", o->until, "first", first);
    if (o->pid)
        read_number(o->pid, &out->pid);
    if (o->boot)
        read_boot(o->boot, &out->boot);
    out->gpu = o->gpu;
    out->host = o->host;
    if (out->boot <= ct_boots(ev))
        return TRUE;
    *out_exit = ct_cli_usage(verb, "--boot %s: the evidence tells %u apart", o->boot, ct_boots(ev));
    return FALSE;
}
