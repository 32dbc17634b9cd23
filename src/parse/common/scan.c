/* SPDX-License-Identifier: Apache-2.0 */
#include "parse/common/scan.h"

#include <math.h>
#include <string.h>

CtStr ct_str_of(const char *text)
{
    return text ? ct_str(text, strlen(text)) : ct_str("", 0);
}

CtStr ct_line_str(const CtLine *line)
{
    return ct_str_strip(ct_str(line->text, line->len));
}

CtStr ct_line_row(const CtLine *line)
{
    return line->envelope == CT_ENVELOPE_NONE ? ct_str(line->raw, line->raw_len)
                                              : ct_str(line->text, line->len);
}

static gboolean is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\0';
}

CtStr ct_str_strip(CtStr s)
{
    while (s.n && is_blank(s.p[0])) {
        s.p++;
        s.n--;
    }
    while (s.n && is_blank(s.p[s.n - 1]))
        s.n--;
    return s;
}

gboolean ct_str_eq(CtStr s, const char *literal)
{
    return strlen(literal) == s.n && (s.n == 0 || memcmp(s.p, literal, s.n) == 0);
}

gboolean ct_str_ieq(CtStr s, const char *literal)
{
    return strlen(literal) == s.n && g_ascii_strncasecmp(s.p, literal, s.n) == 0;
}

gboolean ct_str_starts(CtStr s, const char *prefix)
{
    gsize n = strlen(prefix);
    return n <= s.n && (n == 0 || memcmp(s.p, prefix, n) == 0);
}

gboolean ct_str_istarts(CtStr s, const char *prefix)
{
    gsize n = strlen(prefix);
    return n <= s.n && g_ascii_strncasecmp(s.p, prefix, n) == 0;
}

gboolean ct_str_ends(CtStr s, const char *suffix)
{
    gsize n = strlen(suffix);
    return n <= s.n && memcmp(s.p + s.n - n, suffix, n) == 0;
}

gssize ct_str_find(CtStr s, const char *needle)
{
    gsize n = strlen(needle);
    if (n > s.n || n == 0)
        return -1;
    const char *at = memmem(s.p, s.n, needle, n);
    return at ? at - s.p : -1;
}

gssize ct_str_ifind(CtStr s, const char *needle)
{
    gsize n = strlen(needle);
    if (n == 0 || n > s.n)
        return -1;
    char low = g_ascii_tolower(needle[0]), high = g_ascii_toupper(needle[0]);
    for (const char *p = s.p, *end = s.p + (s.n - n); p <= end; p++) {
        if (*p != low && *p != high)
            continue;
        gsize i = 1;
        while (i < n && (p[i] == needle[i] || g_ascii_tolower(p[i]) == g_ascii_tolower(needle[i])))
            i++;
        if (i == n)
            return p - s.p;
    }
    return -1;
}

gsize ct_str_indent(CtStr s)
{
    gsize column = 0;
    for (gsize i = 0; i < s.n; i++) {
        if (s.p[i] == ' ')
            column++;
        else if (s.p[i] == '\t')
            column = (column / 8 + 1) * 8;
        else
            break;
    }
    return column;
}

CtStr ct_str_token(CtStr *rest)
{
    CtStr s = *rest;
    while (s.n && is_blank(s.p[0]))
        s = ct_str_from(s, 1);
    gsize n = 0;
    while (n < s.n && !is_blank(s.p[n]))
        n++;
    *rest = ct_str_from(s, n);
    return ct_str_head(s, n);
}

CtStr ct_str_field(CtStr *rest, char separator)
{
    CtStr s = *rest;
    while (s.n && (s.p[0] == ' ' || (s.p[0] == '\t' && separator != '\t')))
        s = ct_str_from(s, 1);
    gsize n = 0;
    if (s.n && s.p[0] == '"') { /* quotes around a field; doubled quotes stay as they are */
        for (n = 1; n < s.n && s.p[n] != '"'; n++)
            ;
        CtStr out = ct_str_head(ct_str_from(s, 1), n - 1);
        s = ct_str_from(s, MIN(n + 1, s.n));
        const char *end = s.n ? memchr(s.p, separator, s.n) : NULL;
        *rest = end ? ct_str_from(s, (gsize)(end - s.p) + 1) : ct_str_from(s, s.n);
        return ct_str_strip(out);
    }
    const char *end = s.n ? memchr(s.p, separator, s.n) : NULL;
    n = end ? (gsize)(end - s.p) : s.n;
    CtStr out = ct_str_head(s, n);
    *rest = end ? ct_str_from(s, n + 1) : ct_str_from(s, s.n);
    return ct_str_strip(out);
}

gboolean ct_str_cut(CtStr *rest, const char *separator, CtStr *out)
{
    gssize at = ct_str_find(*rest, separator);
    if (at < 0)
        return FALSE;
    *out = ct_str_strip(ct_str_head(*rest, (gsize)at));
    *rest = ct_str_strip(ct_str_from(*rest, (gsize)at + strlen(separator)));
    return TRUE;
}

gboolean ct_str_key_value(CtStr s, CtStr *key, CtStr *value)
{
    for (gsize i = 0; i < s.n; i++) {
        if (s.p[i] != ':' || (i + 1 < s.n && !is_blank(s.p[i + 1])))
            continue;
        *key = ct_str_strip(ct_str_head(s, i));
        *value = ct_str_strip(ct_str_from(s, i + 1));
        return key->n > 0;
    }
    return FALSE;
}

gboolean ct_str_between(CtStr s, const char *before, const char *after, CtStr *out)
{
    gssize at = ct_str_find(s, before);
    if (at < 0)
        return FALSE;
    CtStr rest = ct_str_from(s, (gsize)at + strlen(before));
    gssize end = ct_str_find(rest, after);
    if (end < 0)
        return FALSE;
    *out = ct_str_strip(ct_str_head(rest, (gsize)end));
    return TRUE;
}

char *ct_str_dup(CtStr s)
{
    return g_strndup(s.p, s.n);
}

const char *ct_str_buf(CtStr s, char *buf, gsize size)
{
    gsize n = MIN(s.n, size - 1);
    if (n)
        memcpy(buf, s.p, n);
    buf[n] = '\0';
    return buf;
}

/* ---- numbers and quantities ---- */

gboolean ct_str_uint(CtStr s, gint64 *out)
{
    gint64 value = 0;
    if (s.n == 0 || s.n > 18)
        return FALSE;
    for (gsize i = 0; i < s.n; i++) {
        if (!g_ascii_isdigit(s.p[i]))
            return FALSE;
        value = value * 10 + (s.p[i] - '0');
    }
    *out = value;
    return TRUE;
}

/* ",373" of "1,099,373": exactly three digits behind the comma. */
static gboolean is_thousands(CtStr s, gsize i)
{
    for (gsize k = 1; k <= 3; k++)
        if (i + k >= s.n || !g_ascii_isdigit(s.p[i + k]))
            return FALSE;
    return i + 4 >= s.n || !g_ascii_isdigit(s.p[i + 4]);
}

/* Length of the exponent at the start of the text ("e-05"), 0 when there is none. */
static gsize exponent_length(CtStr s)
{
    gsize n = 1, digits = 0;
    if (!s.n || (s.p[0] != 'e' && s.p[0] != 'E'))
        return 0;
    if (n < s.n && (s.p[n] == '-' || s.p[n] == '+'))
        n++;
    while (n < s.n && g_ascii_isdigit(s.p[n]) && digits < 3) {
        n++;
        digits++;
    }
    return digits ? n : 0;
}

static gboolean take_number(CtStr *rest, double *out, gboolean thousands)
{
    char buf[48];
    gsize i = 0, n = 0, digits = 0;
    CtStr s = *rest;
    gboolean point = FALSE;
    if (s.n && (s.p[0] == '-' || s.p[0] == '+'))
        buf[n++] = s.p[i++];
    for (; i < s.n && n < sizeof(buf) - 8; i++) {
        char c = s.p[i];
        if (g_ascii_isdigit(c))
            digits++;
        else if (c == '.' && !point && i + 1 < s.n && g_ascii_isdigit(s.p[i + 1]))
            point = TRUE;
        else if (thousands && c == ',' && !point && digits && is_thousands(s, i))
            continue;
        else
            break;
        buf[n++] = c;
    }
    if (!digits)
        return FALSE;
    gsize exponent = exponent_length(ct_str_from(s, i));
    if (exponent)
        memcpy(buf + n, s.p + i, exponent);
    buf[n + exponent] = '\0';
    double value = g_ascii_strtod(buf, NULL);
    if (!isfinite(value))
        return FALSE;
    *out = value;
    *rest = ct_str_from(s, i + exponent);
    return TRUE;
}

gboolean ct_str_take_number(CtStr *rest, double *out)
{
    return take_number(rest, out, TRUE);
}

gboolean ct_str_take_plain(CtStr *rest, double *out)
{
    return take_number(rest, out, FALSE);
}

gboolean ct_str_number(CtStr s, double *out)
{
    double value;
    if (!ct_str_take_number(&s, &value) || s.n)
        return FALSE;
    *out = value;
    return TRUE;
}

static const struct {
    const char *word;
    CtDim dim;
    double factor;
} units[] = {
    {"MiB", CT_DIM_BYTES, 1048576.0},
    {"MB", CT_DIM_BYTES, 1048576.0},
    {"Mi", CT_DIM_BYTES, 1048576.0},
    {"M", CT_DIM_BYTES, 1048576.0},
    {"GiB", CT_DIM_BYTES, 1073741824.0},
    {"GB", CT_DIM_BYTES, 1073741824.0},
    {"Gi", CT_DIM_BYTES, 1073741824.0},
    {"G", CT_DIM_BYTES, 1073741824.0},
    {"TiB", CT_DIM_BYTES, 1099511627776.0},
    {"TB", CT_DIM_BYTES, 1099511627776.0},
    {"Ti", CT_DIM_BYTES, 1099511627776.0},
    {"T", CT_DIM_BYTES, 1099511627776.0},
    {"KiB", CT_DIM_BYTES, 1024.0},
    {"kB", CT_DIM_BYTES, 1024.0},
    {"KB", CT_DIM_BYTES, 1024.0},
    {"Ki", CT_DIM_BYTES, 1024.0},
    {"K", CT_DIM_BYTES, 1024.0},
    {"k", CT_DIM_BYTES, 1024.0},
    {"B", CT_DIM_BYTES, 1.0},
    {"byte", CT_DIM_BYTES, 1.0},
    {"bytes", CT_DIM_BYTES, 1.0},
    {"Bytes", CT_DIM_BYTES, 1.0},
    {"ms", CT_DIM_TIME, 1e6},
    {"msec", CT_DIM_TIME, 1e6},
    {"msecs", CT_DIM_TIME, 1e6},
    {"millis", CT_DIM_TIME, 1e6},
    {"milliseconds", CT_DIM_TIME, 1e6},
    {"us", CT_DIM_TIME, 1e3},
    {"usec", CT_DIM_TIME, 1e3},
    {"usecs", CT_DIM_TIME, 1e3},
    {"microseconds", CT_DIM_TIME, 1e3},
    {"\xc2\xb5s", CT_DIM_TIME, 1e3},
    {"\xce\xbcs", CT_DIM_TIME, 1e3},
    {"ns", CT_DIM_TIME, 1.0},
    {"nsec", CT_DIM_TIME, 1.0},
    {"nanoseconds", CT_DIM_TIME, 1.0},
    {"s", CT_DIM_TIME, 1e9},
    {"sec", CT_DIM_TIME, 1e9},
    {"secs", CT_DIM_TIME, 1e9},
    {"second", CT_DIM_TIME, 1e9},
    {"seconds", CT_DIM_TIME, 1e9},
    {"min", CT_DIM_TIME, 60e9},
    {"minutes", CT_DIM_TIME, 60e9},
    {"h", CT_DIM_TIME, 3600e9},
    {"MHz", CT_DIM_HZ, 1e6},
    {"GHz", CT_DIM_HZ, 1e9},
    {"kHz", CT_DIM_HZ, 1e3},
    {"KHz", CT_DIM_HZ, 1e3},
    {"Hz", CT_DIM_HZ, 1.0},
    {"W", CT_DIM_WATT, 1.0},
    {"mW", CT_DIM_WATT, 1e-3},
    {"C", CT_DIM_CELSIUS, 1.0},
    {"\xc2\xb0" "C", CT_DIM_CELSIUS, 1.0},
    {"degC", CT_DIM_CELSIUS, 1.0},
    {"%", CT_DIM_RATIO, 0.01},
    {"x", CT_DIM_COUNT, 1.0},
    {"bank(s)", CT_DIM_COUNT, 1.0},
    {"banks", CT_DIM_COUNT, 1.0},
    {"KB/s", CT_DIM_RATE, 1024.0},
    {"MB/s", CT_DIM_RATE, 1048576.0},
    {"MiB/s", CT_DIM_RATE, 1048576.0},
    {"GB/s", CT_DIM_RATE, 1073741824.0},
    {"qps", CT_DIM_PER_SECOND, 1.0},
    {"fps", CT_DIM_PER_SECOND, 1.0},
    {"FPS", CT_DIM_PER_SECOND, 1.0},
    {"req/s", CT_DIM_PER_SECOND, 1.0},
    {"it/s", CT_DIM_PER_SECOND, 1.0},
};

gboolean ct_unit(CtStr word, CtDim *dim, double *factor)
{
    for (gsize i = 0; i < G_N_ELEMENTS(units); i++) {
        if (ct_str_eq(word, units[i].word)) {
            *dim = units[i].dim;
            *factor = units[i].factor;
            return TRUE;
        }
    }
    return FALSE;
}

gboolean ct_quantity(CtStr s, CtDim *dim, double *value)
{
    double number, factor = 1.0;
    CtDim d = CT_DIM_NONE;
    s = ct_str_strip(s);
    if (!ct_str_take_number(&s, &number))
        return FALSE;
    s = ct_str_strip(s);
    if (s.n && !ct_unit(s, &d, &factor))
        return FALSE;
    *dim = d;
    *value = number * factor;
    return TRUE;
}

const char *ct_dim_unit(CtDim dim)
{
    static const char *const names[] = {"count", "bytes", "ns",      "Hz",  "W",
                                        "celsius", "1",   "bytes/s", "1/s", "count"};
    return names[dim];
}

gboolean ct_value_unknown(CtStr s, CtStatus *status)
{
    static const struct {
        const char *word;
        CtStatus status;
    } words[] = {
        {"N/A", CT_UNSUPPORTED},
        {"Not Supported", CT_UNSUPPORTED},
        {"Not Available", CT_UNSUPPORTED},
        {"Unsupported", CT_UNSUPPORTED},
        {"Not Found", CT_UNSUPPORTED},
        {"Unknown Error", CT_FAILED},
        {"Unknown", CT_FAILED},
        {"ERR!", CT_FAILED},
        {"Error", CT_FAILED},
        {"GPU is lost", CT_FAILED},
        {"Reset Required", CT_FAILED},
        {"GPU requires reset", CT_FAILED},
        {"Insufficient Permissions", CT_DENIED},
        {"GPU access blocked by the operating system", CT_DENIED},
        {"Requested functionality has been deprecated", CT_UNSUPPORTED},
        {"No data", CT_ABSENT},
    };
    s = ct_str_strip(s);
    if (s.n > 2 && s.p[0] == '[' && s.p[s.n - 1] == ']')
        s = ct_str_strip(ct_str(s.p + 1, s.n - 2));
    for (gsize i = 0; i < G_N_ELEMENTS(words); i++) {
        if (ct_str_ieq(s, words[i].word)) {
            *status = words[i].status;
            return TRUE;
        }
    }
    return FALSE;
}

void ct_emit_field(CtEmit *emit, const CtLine *line, const char *subject, const char *key,
                   CtStr value)
{
    CtStatus status;
    CtDim dim;
    double number;
    value = ct_str_strip(value);
    const char *text = CT_STR_BUF(value);
    if (value.n == 0 || ct_value_unknown(value, &status))
        ct_emit_fact_status(emit, line, subject, key, value.n ? status : CT_ABSENT, text);
    else if (ct_quantity(value, &dim, &number))
        ct_emit_number(emit, line, subject, key, number, text);
    else
        ct_emit_fact(emit, line, subject, key, text);
}

void ct_emit_text(CtEmit *emit, const CtLine *line, const char *subject, const char *key,
                  CtStr value)
{
    CtStatus status;
    value = ct_str_strip(value);
    const char *text = CT_STR_BUF(value);
    if (value.n == 0 || ct_value_unknown(value, &status))
        ct_emit_fact_status(emit, line, subject, key, value.n ? status : CT_ABSENT, text);
    else
        ct_emit_fact(emit, line, subject, key, text);
}

/* ---- sniffing ---- */

gboolean ct_sniff_has(const CtSniff *sniff, const char *needle)
{
    return sniff->len && ct_str_has(ct_str(sniff->head, sniff->len), needle);
}

guint ct_sniff_count(const CtSniff *sniff, const char *needle, guint most)
{
    guint n = 0;
    for (guint i = 0; i < sniff->n_lines && n < most; i++)
        if (ct_str_has(ct_str(sniff->lines[i].text, sniff->lines[i].len), needle))
            n++;
    return n;
}

CtStr ct_sniff_line(const CtSniff *sniff, guint index)
{
    return index < sniff->n_lines ? ct_line_str(&sniff->lines[index]) : ct_str("", 0);
}

CtStr ct_sniff_first(const CtSniff *sniff)
{
    for (guint i = 0; i < sniff->n_lines; i++) {
        CtStr s = ct_line_str(&sniff->lines[i]);
        if (s.n)
            return s;
    }
    return ct_str("", 0);
}
