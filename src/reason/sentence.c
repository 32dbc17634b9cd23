/* SPDX-License-Identifier: Apache-2.0 */
/* Sentences of rules with their values filled in. */
#include <math.h>
#include <string.h>

#include "reason/reason-private.h"

#define MAX_VALUE 200 /* characters of one value: a captured text may be a whole line */

/* Three digits that say something, no trailing zeros: 9.6, 403, 0.25. */
static char *three_digits(double x, const char *unit)
{
    char buf[32];
    double size = fabs(x);
    int decimals = size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2;
    g_snprintf(buf, sizeof(buf), "%.*f", decimals, x);
    if (strchr(buf, '.')) {
        gsize len = strlen(buf);
        while (buf[len - 1] == '0')
            buf[--len] = 0;
        if (buf[len - 1] == '.')
            buf[--len] = 0;
    }
    return g_strdup_printf("%s%s%s", buf, *unit ? " " : "", unit);
}

char *ct_format_bytes(double bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    guint i = 0;
    while (fabs(bytes) >= 1024 && i + 1 < G_N_ELEMENTS(units)) {
        bytes /= 1024;
        i++;
    }
    return three_digits(bytes, units[i]);
}

char *ct_format_duration(double ns)
{
    static const struct {
        double ns, until;
        const char *unit;
    } units[] = {{1, 1e3, "ns"},          {1e3, 1e6, "µs"},      {1e6, 1e9, "ms"},
                 {1e9, 120e9, "s"},       {60e9, 7200e9, "min"}, {3600e9, 172800e9, "h"},
                 {86400e9, INFINITY, "d"}};
    guint i = 0;
    while (i + 1 < G_N_ELEMENTS(units) && fabs(ns) >= units[i].until)
        i++;
    return three_digits(ns / units[i].ns, units[i].unit);
}

static char *cut(const char *text)
{
    glong len = g_utf8_strlen(text, -1);
    if (len <= MAX_VALUE)
        return g_strdup(text);
    g_autofree char *head = g_utf8_substring(text, 0, MAX_VALUE);
    return g_strconcat(head, "…", NULL);
}

static char *formatted(const CtValue *v, const char *format)
{
    if (!*format || !v->is_number) {
        if (v->text)
            return cut(v->text);
        return v->number == floor(v->number) && fabs(v->number) < 1e15
                   ? g_strdup_printf("%.0f", v->number)
                   : three_digits(v->number, "");
    }
    if (strcmp(format, "bytes") == 0)
        return ct_format_bytes(v->number);
    if (strcmp(format, "duration") == 0)
        return ct_format_duration(v->number);
    if (strcmp(format, "percent") == 0)
        return three_digits(v->number * 100, "%");
    if (strcmp(format, "count") == 0)
        return g_strdup_printf("%.0f", v->number);
    return three_digits(v->number, "");
}

static void append_value(GString *out, const char *spec, gsize len, CtValueFunc func, gpointer user)
{
    g_autofree char *name = g_strndup(spec, len);
    char *format = strchr(name, ':');
    if (format)
        *format++ = 0;
    CtValue value = {0};
    if (func && func(user, name, &value)) {
        g_autofree char *text = formatted(&value, format ? format : "");
        g_string_append(out, text);
    } else {
        g_string_append(out, "…");
    }
    g_free(value.text);
}

char *ct_sentence(const char *pattern, CtValueFunc func, gpointer user)
{
    GString *out = g_string_new(NULL);
    for (const char *p = pattern; *p;) {
        const char *close = *p == '{' ? strchr(p, '}') : NULL;
        if (!close) {
            g_string_append_c(out, *p++);
            continue;
        }
        append_value(out, p + 1, (gsize)(close - p - 1), func, user);
        p = close + 1;
    }
    return g_string_free(out, FALSE);
}
