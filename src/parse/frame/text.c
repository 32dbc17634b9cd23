/* SPDX-License-Identifier: Apache-2.0 */
/* Small readers of numbers, quantities and words that all parsers share. */
#include "parse/frame/parser.h"

#include <math.h>
#include <string.h>

#define MAX_NUMBER 63 /* digits of a number that anybody writes */

gboolean ct_text_has(const char *text, gsize len, const char *needle)
{
    return memmem(text, len, needle, strlen(needle)) != NULL;
}

gboolean ct_text_starts(const char *text, gsize len, const char *prefix)
{
    gsize n = strlen(prefix);
    return len >= n && memcmp(text, prefix, n) == 0;
}

static void trim(const char **text, gsize *len)
{
    while (*len > 0 && g_ascii_isspace(**text)) {
        (*text)++;
        (*len)--;
    }
    while (*len > 0 && g_ascii_isspace((*text)[*len - 1]))
        (*len)--;
}

char *ct_text_strip(const char *text, gsize len)
{
    trim(&text, &len);
    return g_strndup(text, len);
}

static gsize digit_run(const char *text, gsize len, gsize i)
{
    gsize n = 0;
    while (i + n < len && g_ascii_isdigit(text[i + n]))
        n++;
    return n;
}

static gsize sign(const char *text, gsize len, gsize i)
{
    return i < len && (text[i] == '-' || text[i] == '+');
}

/* Length of the decimal number at the start of text, 0 when there is none. */
static gsize number_length(const char *text, gsize len)
{
    gsize i = sign(text, len, 0), digits = digit_run(text, len, i);
    i += digits;
    if (i < len && text[i] == '.') {
        gsize n = digit_run(text, len, i + 1);
        digits += n;
        i += n + 1;
    }
    if (digits == 0)
        return 0;
    if (i < len && (text[i] == 'e' || text[i] == 'E')) {
        gsize at = i + 1 + sign(text, len, i + 1), n = digit_run(text, len, at);
        if (n > 0)
            i = at + n;
    }
    return i;
}

gboolean ct_text_double(const char *text, gsize len, double *out)
{
    char buf[MAX_NUMBER + 1];
    if (len == 0 || len > MAX_NUMBER || number_length(text, len) != len)
        return FALSE;
    memcpy(buf, text, len);
    buf[len] = '\0';
    double v = g_ascii_strtod(buf, NULL);
    if (!isfinite(v))
        return FALSE;
    *out = v;
    return TRUE;
}

gboolean ct_text_int(const char *text, gsize len, gint64 *out)
{
    gsize i = 0;
    gboolean negative = FALSE;
    guint64 v = 0;
    if (len > 0 && (text[0] == '-' || text[0] == '+')) {
        negative = text[0] == '-';
        i++;
    }
    if (i == len)
        return FALSE;
    for (; i < len; i++) {
        if (!g_ascii_isdigit(text[i]))
            return FALSE;
        guint64 digit = (guint64)(text[i] - '0');
        if (v > (G_MAXINT64 - digit) / 10)
            return FALSE;
        v = v * 10 + digit;
    }
    *out = negative ? -(gint64)v : (gint64)v;
    return TRUE;
}

static gboolean unit_factor(const char *unit, gsize len, double *out)
{
    static const struct {
        const char *name;
        double factor;
    } units[] = {
        {"", 1},       {"B", 1},      {"byte", 1},   {"bytes", 1},  {"k", 0x1p10},
        {"kB", 0x1p10}, {"KB", 0x1p10}, {"Ki", 0x1p10}, {"KiB", 0x1p10}, {"kiB", 0x1p10},
        {"K", 0x1p10}, {"M", 0x1p20}, {"MB", 0x1p20}, {"Mi", 0x1p20}, {"MiB", 0x1p20},
        {"G", 0x1p30}, {"GB", 0x1p30}, {"Gi", 0x1p30}, {"GiB", 0x1p30}, {"T", 0x1p40},
        {"TB", 0x1p40}, {"Ti", 0x1p40}, {"TiB", 0x1p40},
        {"m", 0x1p20}, {"g", 0x1p30}, {"mb", 0x1p20}, {"gb", 0x1p30}, {"kb", 0x1p10},
        {"mib", 0x1p20}, {"gib", 0x1p30}, {"kib", 0x1p10},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(units); i++) {
        if (strlen(units[i].name) == len && memcmp(units[i].name, unit, len) == 0) {
            *out = units[i].factor;
            return TRUE;
        }
    }
    return FALSE;
}

/* "1,099,373" as sanitizer and others group digits. */
static gsize drop_grouping(const char *text, gsize len, char *buf, gsize cap)
{
    gsize n = 0;
    for (gsize i = 0; i < len; i++) {
        gboolean grouping = text[i] == ',' && i > 0 && g_ascii_isdigit(text[i - 1]) &&
                            i + 3 < len && g_ascii_isdigit(text[i + 1]) &&
                            g_ascii_isdigit(text[i + 2]) && g_ascii_isdigit(text[i + 3]);
        if (grouping)
            continue;
        if (n == cap)
            return 0;
        buf[n++] = text[i];
    }
    return n;
}

gboolean ct_text_bytes(const char *text, gsize len, const char *unit, double *out)
{
    char buf[MAX_NUMBER + 1];
    double v, factor;
    trim(&text, &len);
    len = drop_grouping(text, len, buf, MAX_NUMBER);
    gsize n = number_length(buf, len);
    /* "16 EiB" would read as the exponent form of a number; nobody writes exponents here. */
    if (n == 0 || !ct_text_double(buf, n, &v))
        return FALSE;
    const char *rest = buf + n;
    gsize rest_len = len - n;
    trim(&rest, &rest_len);
    if (rest_len == 0 && unit) {
        rest = unit;
        rest_len = strlen(unit);
    }
    if (!unit_factor(rest, rest_len, &factor))
        return FALSE;
    *out = v * factor;
    return TRUE;
}

gboolean ct_text_duration(const char *text, gsize len, const char *unit, double *out_ns)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = {
        {"ns", 1},         {"us", 1e3},          {"µs", 1e3},       {"μs", 1e3},
        {"usec", 1e3},     {"microseconds", 1e3}, {"ms", 1e6},       {"msec", 1e6},
        {"milliseconds", 1e6}, {"毫秒", 1e6},    {"s", 1e9},        {"sec", 1e9},
        {"secs", 1e9},     {"second", 1e9},      {"seconds", 1e9},  {"秒", 1e9},
        {"min", 60e9},     {"minutes", 60e9},    {"m", 60e9},       {"h", 3600e9},
        {"hours", 3600e9},
    };
    double v;
    trim(&text, &len);
    gsize n = number_length(text, len);
    if (n == 0 || !ct_text_double(text, n, &v))
        return FALSE;
    const char *rest = text + n;
    gsize rest_len = len - n;
    trim(&rest, &rest_len);
    if (rest_len == 0 && unit) {
        rest = unit;
        rest_len = strlen(unit);
    }
    for (gsize i = 0; i < G_N_ELEMENTS(units); i++) {
        if (strlen(units[i].name) == rest_len && memcmp(units[i].name, rest, rest_len) == 0) {
            *out_ns = v * units[i].ns;
            return TRUE;
        }
    }
    return FALSE;
}

/* Hex digits between min and max, then `end` (0: the end of the text). */
static gboolean hex_part(const char **p, const char *stop, int min, int max, char end,
                         guint32 *out)
{
    guint32 v = 0;
    int n = 0;
    for (; *p < stop && g_ascii_isxdigit(**p) && n < max; (*p)++, n++)
        v = v * 16 + (guint32)g_ascii_xdigit_value(**p);
    if (n < min)
        return FALSE;
    if (end && (*p >= stop || *(*p)++ != end))
        return FALSE;
    *out = v;
    return TRUE;
}

char *ct_text_gpu(const char *text, gsize len)
{
    gint64 index;
    trim(&text, &len);
    if (ct_text_starts(text, len, "gpu:") || ct_text_starts(text, len, "GPU:")) {
        text += 4;
        len -= 4;
    }
    if (len <= 3 && ct_text_int(text, len, &index) && index >= 0)
        return g_strdup_printf("gpu:%d", (int)index);
    if (ct_text_starts(text, len, "PCI:")) {
        text += 4;
        len -= 4;
    }
    const char *p = text, *stop = text + len;
    guint32 domain = 0, bus, device, function = 0;
    if (!hex_part(&p, stop, 4, 8, ':', &domain)) {
        domain = 0;
        p = text;
    }
    if (!hex_part(&p, stop, 2, 2, ':', &bus) || !hex_part(&p, stop, 2, 2, 0, &device))
        return NULL;
    if (p < stop && *p == '.') {
        p++;
        if (!hex_part(&p, stop, 1, 1, 0, &function))
            return NULL;
    }
    if (p != stop)
        return NULL;
    /* By hand: printf shows in logs where every line has a GPU. */
    static const char hex[] = "0123456789abcdef";
    char *out = g_malloc(20), *to = out;
    for (int shift = domain > 0xffff ? 28 : 12; shift >= 0; shift -= 4)
        *to++ = hex[domain >> shift & 15];
    *to++ = ':';
    *to++ = hex[bus >> 4];
    *to++ = hex[bus & 15];
    *to++ = ':';
    *to++ = hex[device >> 4];
    *to++ = hex[device & 15];
    *to++ = '.';
    *to++ = hex[function];
    *to = '\0';
    return out;
}
