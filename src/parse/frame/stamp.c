/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time stamps as logs write them. Each reader tries one family of forms at a cursor; a form that
 * does not fit leaves nothing behind. Stamps without a zone are taken as written.
 */
#include "parse/frame/stamp.h"

#include <string.h>

#include "evidence/evidence.h"
#include "parse/frame/parser.h"

#define NS G_GINT64_CONSTANT(1000000000)

typedef struct {
    const char *p, *end;
} Cursor;

typedef struct {
    int year, month, day, hour, minute, second;
    gint64 frac_ns;
    gint64 zone_s;
    gboolean has_year, has_date, has_zone;
} Civil;

static const char months[12][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                   "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
static const char days[7][4] = {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"};

/* Days since the epoch of a proleptic Gregorian date. */
static gint64 days_of(int y, int m, int d)
{
    y -= m <= 2;
    gint64 era = (y >= 0 ? y : y - 399) / 400;
    int yoe = (int)(y - era * 400);
    int doy = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
    int doe = yoe * 365 + yoe / 4 - yoe / 100 + doy;
    return era * 146097 + doe - 719468;
}

gint64 ct_stamp_civil_ns(int year, int month, int day, int hour, int minute, int second)
{
    return (days_of(year, month, day) * 86400 + hour * 3600 + minute * 60 + second) * NS;
}

int ct_stamp_year(gint64 ns)
{
    gint64 z = (ns >= 0 ? ns : ns - 86400 * NS + 1) / (86400 * NS) + 719468;
    gint64 era = (z >= 0 ? z : z - 146096) / 146097;
    gint64 doe = z - era * 146097;
    gint64 yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    gint64 doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    return (int)(yoe + era * 400 + (doy >= 306));
}

static gboolean eat(Cursor *c, char ch)
{
    if (c->p < c->end && *c->p == ch) {
        c->p++;
        return TRUE;
    }
    return FALSE;
}

static gboolean eat_text(Cursor *c, const char *text)
{
    gsize n = strlen(text);
    if ((gsize)(c->end - c->p) < n || memcmp(c->p, text, n) != 0)
        return FALSE;
    c->p += n;
    return TRUE;
}

static void eat_blanks(Cursor *c)
{
    while (c->p < c->end && *c->p == ' ')
        c->p++;
}

/* Between min and max digits, no digit after them. */
static gboolean digits(Cursor *c, int min, int max, gint64 *out)
{
    const char *p = c->p;
    gint64 v = 0;
    int n = 0;
    while (p < c->end && g_ascii_isdigit(*p) && n < max) {
        if (v > (G_MAXINT64 - 9) / 10)
            return FALSE;
        v = v * 10 + (*p++ - '0');
        n++;
    }
    if (n < min || (p < c->end && g_ascii_isdigit(*p)))
        return FALSE;
    c->p = p;
    *out = v;
    return TRUE;
}

static gboolean number(Cursor *c, int min, int max, gint64 low, gint64 high, int *out)
{
    Cursor at = *c;
    gint64 v;
    if (!digits(&at, min, max, &v) || v < low || v > high)
        return FALSE;
    *c = at;
    *out = (int)v;
    return TRUE;
}

/* ".123456789" or ",123": any precision, kept to the nanosecond. */
static void fraction(Cursor *c, gint64 *out)
{
    const char *p = c->p;
    if (p + 1 >= c->end || (*p != '.' && *p != ',') || !g_ascii_isdigit(p[1]))
        return;
    gint64 v = 0, scale = NS;
    for (p++; p < c->end && g_ascii_isdigit(*p); p++) {
        if (scale > 1) {
            scale /= 10;
            v += (*p - '0') * scale;
        }
    }
    c->p = p;
    *out = v;
}

static gboolean clock_time(Cursor *c, Civil *v)
{
    Cursor at = *c;
    if (!number(&at, 1, 2, 0, 23, &v->hour) || !eat(&at, ':') ||
        !number(&at, 2, 2, 0, 59, &v->minute) || !eat(&at, ':') ||
        !number(&at, 2, 2, 0, 60, &v->second))
        return FALSE;
    fraction(&at, &v->frac_ns);
    *c = at;
    return TRUE;
}

/* "AM", " PM", and the Chinese words that stand before the time are the caller's. */
static void half_day(Cursor *c, Civil *v)
{
    Cursor at = *c;
    eat_blanks(&at);
    gboolean pm = eat_text(&at, "PM") || eat_text(&at, "pm");
    if (!pm && !eat_text(&at, "AM") && !eat_text(&at, "am"))
        return;
    if (at.p < at.end && g_ascii_isalnum(*at.p))
        return;
    if (v->hour > 12 || v->hour == 0)
        return;
    v->hour = v->hour % 12 + (pm ? 12 : 0);
    *c = at;
}

/* "+08:00", "+0800", and "+08" where no blank stands before it. */
static gboolean zone_offset(Cursor *c, gboolean blank, gint64 *out_s)
{
    Cursor at = *c;
    int sign = 1, hours, minutes = 0;
    if (eat(&at, '-'))
        sign = -1;
    else if (!eat(&at, '+'))
        return FALSE;
    if (number(&at, 4, 4, 0, 1459, &hours)) {
        minutes = hours % 100;
        hours /= 100;
    } else if (!number(&at, 2, 2, 0, 14, &hours)) {
        return FALSE;
    } else if (eat(&at, ':') ? !number(&at, 2, 2, 0, 59, &minutes) : blank) {
        return FALSE;
    }
    if (minutes > 59)
        return FALSE;
    *out_s = sign * (hours * 3600 + minutes * 60);
    *c = at;
    return TRUE;
}

/* "Z", an offset, also after one blank, and the names UTC and GMT. */
static void zone(Cursor *c, Civil *v)
{
    Cursor at = *c;
    gint64 offset = 0;
    gboolean blank = eat(&at, ' ');
    if (!(!blank && eat(&at, 'Z')) && !eat_text(&at, "UTC") && !eat_text(&at, "GMT") &&
        !zone_offset(&at, blank, &offset))
        return;
    if (at.p < at.end && (g_ascii_isalnum(*at.p) || *at.p == '_'))
        return;
    v->zone_s = offset;
    v->has_zone = TRUE;
    *c = at;
}

static gboolean name_of(Cursor *c, const char (*names)[4], int n, int *out)
{
    if (c->end - c->p < 3)
        return FALSE;
    for (int i = 0; i < n; i++) {
        if (memcmp(c->p, names[i], 3) == 0) {
            c->p += 3;
            *out = i + 1;
            return TRUE;
        }
    }
    return FALSE;
}

/* 2024-05-14T03:12:08.123456+00:00, 2024/05/14 00:00:02.332, 2024-04-02 09:12:07,123 */
static gboolean iso(Cursor *c, Civil *v)
{
    Cursor at = *c;
    if (!number(&at, 4, 4, 1970, 2199, &v->year) || at.p >= at.end)
        return FALSE;
    char sep = *at.p++;
    if ((sep != '-' && sep != '/' && sep != '.') || !number(&at, 1, 2, 1, 12, &v->month) ||
        !eat(&at, sep) || !number(&at, 1, 2, 1, 31, &v->day))
        return FALSE;
    if (at.p >= at.end || !strchr("T _-:", *at.p))
        return FALSE;
    at.p++;
    eat_blanks(&at);
    if (!clock_time(&at, v))
        return FALSE;
    half_day(&at, v);
    zone(&at, v);
    v->has_year = v->has_date = TRUE;
    *c = at;
    return TRUE;
}

/* 08-30-2023 10:14:40, 05/04/2023-18:20:12, 5/4/2023 6:20:12 PM, 05/04/23 18:20:12 */
static gboolean month_first(Cursor *c, Civil *v)
{
    Cursor at = *c;
    if (!number(&at, 1, 2, 1, 31, &v->month) || at.p >= at.end)
        return FALSE;
    char sep = *at.p++;
    if ((sep != '-' && sep != '/') || !number(&at, 1, 2, 1, 31, &v->day) || !eat(&at, sep))
        return FALSE;
    if (!number(&at, 4, 4, 1970, 2199, &v->year)) {
        if (sep != '/' || !number(&at, 2, 2, 0, 69, &v->year))
            return FALSE;
        v->year += 2000;
    }
    if (at.p < at.end && *at.p == ',')
        at.p++;
    if (at.p >= at.end || (*at.p != ' ' && *at.p != '-' && *at.p != 'T'))
        return FALSE;
    at.p++;
    eat_blanks(&at);
    if (!clock_time(&at, v))
        return FALSE;
    half_day(&at, v);
    zone(&at, v);
    if (v->month > 12) { /* 30/08/2023: day first */
        int day = v->month;
        v->month = v->day;
        v->day = day;
    }
    v->has_year = v->has_date = v->month <= 12;
    *c = at;
    return v->has_date;
}

/* "CST 2024", "2024", "UTC 2024", "AM CST 2024" after the time of day. */
static void trailing_year(Cursor *c, Civil *v)
{
    Cursor at = *c;
    half_day(&at, v);
    *c = at;
    if (!eat(&at, ' '))
        return;
    Cursor word = at;
    int n = 0;
    while (word.p < word.end && g_ascii_isupper(*word.p) && n < 6) {
        word.p++;
        n++;
    }
    gboolean utc = n == 3 && (memcmp(at.p, "UTC", 3) == 0 || memcmp(at.p, "GMT", 3) == 0);
    if (n >= 2) {
        if (!eat(&word, ' '))
            return;
        at = word;
    }
    int year;
    if (!number(&at, 4, 4, 1970, 2199, &year) ||
        (at.p < at.end && (*at.p == '-' || *at.p == '/' || *at.p == '.' || *at.p == '_')))
        return;
    v->year = year;
    v->has_year = TRUE;
    v->has_zone = utc;
    *c = at;
}

/* Nov 30 22:25:32, Tue Aug 13 22:47:03 2024, Tue 13 Aug 2024 10:47:03 PM CST,
 * Aug 13 2024 22:47:03, 13-Aug-2024 22:47:03 */
static gboolean named_month(Cursor *c, Civil *v)
{
    Cursor at = *c;
    int ignored;
    if (name_of(&at, days, 7, &ignored)) {
        eat(&at, ',');
        if (!eat(&at, ' '))
            return FALSE;
        eat_blanks(&at);
    }
    if (number(&at, 1, 2, 1, 31, &v->day)) { /* day first */
        if (at.p >= at.end || !strchr(" -/", *at.p))
            return FALSE;
        at.p++;
        if (!name_of(&at, months, 12, &v->month) || at.p >= at.end || !strchr(" -/", *at.p))
            return FALSE;
        at.p++;
    } else {
        if (!name_of(&at, months, 12, &v->month) || !eat(&at, ' '))
            return FALSE;
        eat_blanks(&at);
        if (!number(&at, 1, 2, 1, 31, &v->day))
            return FALSE;
        eat(&at, ',');
        if (!eat(&at, ' '))
            return FALSE;
    }
    Cursor before_year = at;
    if (number(&at, 4, 4, 1970, 2199, &v->year) && at.p < at.end &&
        (*at.p == ' ' || *at.p == ':' || *at.p == ',')) {
        v->has_year = TRUE;
        at.p++;
        eat_blanks(&at);
    } else {
        at = before_year;
    }
    if (!clock_time(&at, v))
        return FALSE;
    if (v->has_year) {
        half_day(&at, v);
        zone(&at, v);
    } else {
        trailing_year(&at, v);
    }
    v->has_date = TRUE;
    *c = at;
    return TRUE;
}

/* "2024年11月30日", "11月 30" */
static gboolean chinese_date(Cursor *at, Civil *v)
{
    gint64 n;
    if (!digits(at, 1, 4, &n))
        return FALSE;
    if (eat_text(at, "年")) {
        if (n < 1970 || n > 2199)
            return FALSE;
        v->year = (int)n;
        v->has_year = TRUE;
        eat_blanks(at);
        if (!digits(at, 1, 2, &n))
            return FALSE;
    }
    if (n < 1 || n > 12 || !eat_text(at, "月"))
        return FALSE;
    v->month = (int)n;
    eat_blanks(at);
    if (!number(at, 1, 2, 1, 31, &v->day))
        return FALSE;
    eat_text(at, "日");
    eat_blanks(at);
    return TRUE;
}

/* 11月 30 22:25:32, 2024年11月30日 22:25:32, 2024年 11月 30日 星期六 22:25:32 CST,
 * and of dmesg -T: 六 11月 30 22:25:32 2024 */
static gboolean chinese(Cursor *c, Civil *v)
{
    static const char weekdays[7][4] = {"一", "二", "三", "四", "五", "六", "日"};
    Cursor at = *c;
    int ignored;
    eat_text(&at, "星期");
    eat_text(&at, "周");
    if (name_of(&at, weekdays, 7, &ignored))
        eat_blanks(&at);
    if (!chinese_date(&at, v))
        return FALSE;
    if (eat_text(&at, "星期") || eat_text(&at, "周")) {
        if (!name_of(&at, weekdays, 7, &ignored))
            return FALSE;
        eat_blanks(&at);
    }
    gboolean pm = eat_text(&at, "下午") || eat_text(&at, "晚上");
    gboolean am = !pm && (eat_text(&at, "上午") || eat_text(&at, "凌晨"));
    eat_blanks(&at);
    if (!clock_time(&at, v))
        return FALSE;
    if ((pm || am) && v->hour <= 12)
        v->hour = v->hour % 12 + (pm ? 12 : 0);
    if (v->has_year)
        zone(&at, v);
    else
        trailing_year(&at, v);
    v->has_date = TRUE;
    *c = at;
    return TRUE;
}

/* glog: I0215 09:02:08.110237, and the newer I20240215 09:02:08.110237 */
static gboolean glog(Cursor *c, Civil *v)
{
    Cursor at = *c;
    gint64 n;
    if (at.p >= at.end || !strchr("IWEFDV", *at.p))
        return FALSE;
    at.p++;
    const char *start = at.p;
    if (!digits(&at, 4, 8, &n))
        return FALSE;
    gsize width = (gsize)(at.p - start);
    if (width != 4 && width != 8)
        return FALSE;
    v->month = (int)(n / 100 % 100);
    v->day = (int)(n % 100);
    v->year = (int)(n / 10000);
    v->has_year = width == 8;
    if (v->month < 1 || v->month > 12 || v->day < 1 || v->day > 31 ||
        (v->has_year && (v->year < 1970 || v->year > 2199)) || !eat(&at, ' '))
        return FALSE;
    if (!clock_time(&at, v))
        return FALSE;
    v->has_date = TRUE;
    *c = at;
    return TRUE;
}

static gboolean boundary(const Cursor *c)
{
    return c->p >= c->end || !(g_ascii_isalnum(*c->p) || *c->p == '.' || *c->p == '_');
}

/* Epoch seconds with a fraction, or whole milli-, micro- and nanoseconds. */
static gboolean epoch(Cursor *c, CtStamp *out)
{
    Cursor at = *c;
    gint64 n, frac = 0, scale;
    const char *start = at.p;
    if (!digits(&at, 10, 19, &n))
        return FALSE;
    switch (at.p - start) {
    case 10:
        scale = NS;
        fraction(&at, &frac);
        if (at.p - start == 10)
            return FALSE;
        break;
    case 13:
        scale = NS / 1000;
        break;
    case 16:
        scale = 1000;
        break;
    case 19:
        scale = 1;
        break;
    default:
        return FALSE;
    }
    if (n > 4102444800LL * (NS / scale) || n < 946684800LL * (NS / scale) || !boundary(&at))
        return FALSE;
    out->ns = n * scale + frac;
    out->kind = CT_STAMP_WALL;
    out->has_zone = TRUE;
    *c = at;
    return TRUE;
}

/* GStreamer's 0:00:02.660021744 counts from the start of the program; 09:12:07.123 is a time of
 * day. Nine digits after the point tell them apart. */
static gboolean day_time(Cursor *c, CtStamp *out)
{
    Cursor at = *c;
    Civil v = {0};
    if (!clock_time(&at, &v) || !boundary(&at))
        return FALSE;
    gsize width = (gsize)(at.p - c->p);
    out->ns = (v.hour * 3600 + v.minute * 60 + v.second) * NS + v.frac_ns;
    out->kind = width > 10 && at.p[-10] == '.' && c->p[1] == ':' ? CT_STAMP_RELATIVE
                                                                 : CT_STAMP_DAY_TIME;
    *c = at;
    return TRUE;
}

typedef gboolean (*Form)(Cursor *, Civil *);

static gboolean civil(Cursor *c, CtStamp *out)
{
    static const Form digits_first[] = {iso, month_first, named_month, chinese, NULL};
    static const Form letters_first[] = {named_month, glog, NULL};
    static const Form han_first[] = {chinese, NULL};
    const Form *form = g_ascii_isdigit(*c->p) ? digits_first
                       : (guchar)*c->p >= 0x80 ? han_first : letters_first;
    for (; *form; form++) {
        Civil v = {0};
        Cursor at = *c;
        if (!(*form)(&at, &v) || (at.p < at.end && g_ascii_isalnum(*at.p)))
            continue;
        if (!v.has_year)
            v.year = 1970;
        out->ns = ct_stamp_civil_ns(v.year, v.month, v.day, v.hour, v.minute, v.second) +
                  v.frac_ns - v.zone_s * NS;
        out->kind = v.has_year ? CT_STAMP_WALL : CT_STAMP_NO_YEAR;
        out->has_zone = v.has_zone;
        *c = at;
        return TRUE;
    }
    return FALSE;
}

gboolean ct_stamp_kernel(const char *text, gsize len, CtStamp *out)
{
    Cursor c = {text, text + len};
    gint64 seconds, frac = 0;
    if (!eat(&c, '['))
        return FALSE;
    eat_blanks(&c);
    if (!digits(&c, 1, 10, &seconds) || c.p >= c.end || *c.p != '.')
        return FALSE;
    fraction(&c, &frac);
    eat_blanks(&c);
    if (!eat(&c, ']'))
        return FALSE;
    *out = (CtStamp){.ns = seconds * NS + frac, .used = (gsize)(c.p - text),
                     .kind = CT_STAMP_BOOT};
    return TRUE;
}

gboolean ct_stamp_parse(const char *text, gsize len, CtStamp *out)
{
    if (len < 8)
        return FALSE;
    CtStamp s = {0};
    Cursor c = {text, text + MIN(len, 64)};
    char close = *c.p == '[' ? ']' : *c.p == '(' ? ')' : '\0';
    if (close)
        c.p++;
    unsigned char first = (unsigned char)*c.p;
    gboolean han = close && first >= 0xe4 && first <= 0xe6; /* a Chinese day of the week */
    if (!g_ascii_isalnum(first) && !han)
        return FALSE;
    if (!civil(&c, &s) && !(g_ascii_isdigit(first) && (day_time(&c, &s) || epoch(&c, &s))))
        return FALSE;
    /* "[2024-05-14 03:12:08 +0000] [17] [INFO]", but also "[2024-05-14 03:12:08 INFO]" */
    if (close)
        eat(&c, close);
    s.used = (gsize)(c.p - text);
    *out = s;
    return TRUE;
}

gboolean ct_stamp_alone(const char *text, gsize len)
{
    CtStamp s;
    while (len > 0 && g_ascii_isspace(text[len - 1]))
        len--;
    return len >= 15 && len <= 48 && ct_stamp_parse(text, len, &s) && s.used == len &&
           (s.kind == CT_STAMP_WALL || s.kind == CT_STAMP_NO_YEAR);
}

gboolean ct_text_time(const char *text, gsize len, gint64 *out_ns, gsize *out_used,
                      gboolean *out_no_year)
{
    CtStamp s;
    if (!ct_stamp_parse(text, len, &s))
        return FALSE;
    if (out_ns)
        *out_ns = s.ns;
    if (out_used)
        *out_used = s.used;
    if (out_no_year)
        *out_no_year = s.kind == CT_STAMP_NO_YEAR;
    return TRUE;
}
