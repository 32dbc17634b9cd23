/* SPDX-License-Identifier: Apache-2.0 */
#include "parse/env/system-values.h"

#include <stdlib.h>
#include <string.h>

#define MAX_VALUES 20000u

static void value_free(gpointer data)
{
    CtValue *of = data;
    g_free(of->path);
    g_free(of->value);
    g_free(of->text);
    g_free(of);
}

static gpointer begin(CtEmit *emit)
{
    CtValues *v = g_new0(CtValues, 1);
    v->all = g_ptr_array_new_with_free_func(value_free);
    v->by_path = g_hash_table_new(g_str_hash, g_str_equal);
    v->emit = emit;
    return v;
}

/* "0000:3b:00.0" and "00000000:3b:00.0" are one name in spite of their colons. */
static gsize pci_length(const char *p, gsize n)
{
    gsize at = 0;
    while (at < n && at < 8 && g_ascii_isxdigit(p[at]))
        at++;
    if ((at != 4 && at != 8) || at + 8 > n || p[at] != ':' || !g_ascii_isxdigit(p[at + 1]) ||
        !g_ascii_isxdigit(p[at + 2]) || p[at + 3] != ':' || p[at + 6] != '.')
        return 0;
    return at + 8;
}

/* Where the path ends; 0 when the line is none of ours. */
static gsize path_length(CtStr s)
{
    if (!ct_str_starts(s, "/"))
        return 0;
    for (gsize i = 0; i < s.n && i < 512; i++) {
        if (i && s.p[i - 1] == '/')
            i += pci_length(s.p + i, s.n - i);
        if (i >= s.n)
            return 0;
        /* "iio:device0" is a name too: a colon that ends a path has a blank or a value behind a
         * last component without one. */
        if (s.p[i] == ':' && !(i + 7 < s.n && memcmp(s.p + i, ":device", 7) == 0))
            return i;
        if (s.p[i] == ' ')
            return i + 4 < s.n && memcmp(s.p + i, " -> ", 4) == 0 ? i : 0;
    }
    return 0;
}

static gboolean split(CtStr s, CtStr *path, CtStr *value)
{
    gsize n = path_length(s);
    if (!n)
        return FALSE;
    *path = ct_str_head(s, n);
    *value = ct_str_strip(ct_str_from(s, s.p[n] == ':' ? n + 1 : n + 4));
    return TRUE;
}

/* One place has several names: by class, by bus, by device. The name by class stands for all. */
static char *by_class(CtStr path)
{
    static const char *const classes[] = {"devfreq", "hwmon", "thermal"};
    char *whole = ct_str_dup(path);
    if (!g_str_has_prefix(whole, "/sys/devices/") && !g_str_has_prefix(whole, "/sys/bus/"))
        return whole;
    for (gsize i = 0; i < G_N_ELEMENTS(classes); i++) {
        g_autofree char *inner = g_strdup_printf("/%s/", classes[i]);
        char *at = strstr(whole, inner);
        if (!at || !strchr(at + strlen(inner), '/'))
            continue;
        char *fresh = g_strdup_printf("/sys/class%s", at);
        g_free(whole);
        return fresh;
    }
    return whole;
}

static void keep(CtValues *v, const CtLine *line, CtStr path, CtStr value, CtStatus status)
{
    if (v->all->len >= MAX_VALUES)
        return;
    CtValue *of = g_new0(CtValue, 1);
    of->path = by_class(path);
    of->value = ct_str_dup(ct_str_head(value, 2000));
    of->text = ct_str_dup(ct_str_head(ct_line_str(line), 400));
    of->line = line->number;
    of->status = status;
    of->has_number = status == CT_OK && ct_str_number(value, &of->number);
    if (!of->has_number && status == CT_OK && ct_str_starts(value, "0x") && value.n < 20) {
        of->number = (double)g_ascii_strtoull(of->value, NULL, 16);
        of->has_number = TRUE;
    }
    g_ptr_array_add(v->all, of);
    if (!g_hash_table_contains(v->by_path, of->path))
        g_hash_table_insert(v->by_path, of->path, of);
}

/* "grep: /sys/...: Permission denied" */
static gboolean unread(CtValues *v, const CtLine *line, CtStr s)
{
    static const struct {
        const char *text;
        CtStatus status;
    } whys[] = {
        {": Permission denied", CT_DENIED},          {": Operation not permitted", CT_DENIED},
        {": No such file or directory", CT_ABSENT},  {": Resource temporarily unavailable", CT_FAILED},
        {": Input/output error", CT_FAILED},         {": Invalid argument", CT_UNSUPPORTED},
        {": No such device", CT_UNSUPPORTED},        {": Operation not supported", CT_UNSUPPORTED},
        {": Device or resource busy", CT_FAILED},    {": Connection timed out", CT_TIMEOUT},
    };
    if (!ct_str_starts(s, "grep: /"))
        return FALSE;
    CtStr rest = ct_str_from(s, 6);
    for (gsize i = 0; i < G_N_ELEMENTS(whys); i++) {
        if (!ct_str_ends(rest, whys[i].text))
            continue;
        keep(v, line, ct_str_head(rest, rest.n - strlen(whys[i].text)), ct_str("", 0),
             whys[i].status);
        return TRUE;
    }
    return FALSE;
}

/* The n-th file that "cat /sys/a /sys/b" names. */
static gboolean file_of_cat(const char *command, guint n, CtStr *path)
{
    if (!command || !ct_command_runs(command, "cat"))
        return FALSE;
    const char *at = strstr(command, "cat ");
    CtStr rest = ct_str_of(at ? at + 4 : ""), token;
    while ((token = ct_str_token(&rest)).n) {
        /* What a module says of itself is its own parser's. */
        if ((!ct_str_starts(token, "/sys/") && !ct_str_starts(token, "/proc/sys/") &&
             !ct_str_starts(token, "/proc/pressure/")) ||
            ct_str_starts(token, "/sys/module/") || ct_str_has(token, "*"))
            return FALSE;
        *path = token;
        if (n-- == 0)
            return TRUE;
    }
    return FALSE;
}

static void line(gpointer state, const CtLine *line, CtEmit *emit)
{
    CtValues *v = state;
    CtStr s = ct_str_strip(ct_str(line->raw, line->raw_len)), path, value;
    if (unread(v, line, s))
        return;
    if (split(s, &path, &value))
        keep(v, line, path, value, CT_OK);
    else if (s.n && file_of_cat(ct_emit_command(emit), v->bare, &path))
        keep(v, line, path, s, CT_OK);
    /* Files of pressure have two lines, all others one. */
    v->bare += s.n && !ct_str_starts(s, "some ");
}

const CtValue *ct_values_get(const CtValues *v, const char *path)
{
    return g_hash_table_lookup(v->by_path, path);
}

const CtValue *ct_values_beside(const CtValues *v, const CtValue *of, const char *name)
{
    const char *slash = strrchr(of->path, '/');
    g_autofree char *path =
        g_strdup_printf("%.*s/%s", slash ? (int)(slash - of->path) : 0, of->path, name);
    return ct_values_get(v, path);
}

gboolean ct_value_match(const char *path, const char *pattern, char parts[CT_VALUE_PARTS][96])
{
    guint n = 0;
    while (*pattern) {
        if (*pattern != '*') {
            if (*path++ != *pattern++)
                return FALSE;
            continue;
        }
        /* Up to the last place in this component where the rest of it can follow. */
        const char *rest = pattern + 1;
        gsize fixed = strcspn(rest, "*/"), most = strcspn(path, "/");
        gssize take = -1;
        for (gsize i = 0; i <= most && most - i >= (rest[fixed] == '*' ? fixed : 0); i++) {
            gboolean ends = rest[fixed] != '*';
            if (strncmp(path + i, rest, fixed) == 0 && (!ends || i + fixed == most)) {
                take = (gssize)i;
                break;
            }
        }
        if (take < 0 || n >= CT_VALUE_PARTS)
            return FALSE;
        g_strlcpy(parts[n], path, MIN((gsize)take + 1, (gsize)96));
        n++;
        path += take;
        pattern++;
    }
    return !*path;
}

static CtLine line_of(const CtValue *of)
{
    return ct_line_at(of->line, of->text, strlen(of->text));
}

void ct_value_text(const CtValues *v, const CtValue *of, const char *subject, const char *key,
                   const char *value)
{
    CtLine line = line_of(of);
    if (of->status == CT_OK)
        ct_emit_fact(v->emit, &line, subject, key, value);
    else
        ct_emit_fact_status(v->emit, &line, subject, key, of->status, "");
}

void ct_value_number(const CtValues *v, const CtValue *of, const char *subject, const char *key,
                     double number, const char *text)
{
    CtLine line = line_of(of);
    if (of->status == CT_OK)
        ct_emit_number(v->emit, &line, subject, key, number, text);
    else
        ct_emit_fact_status(v->emit, &line, subject, key, of->status, "");
}

static void finish(gpointer state, CtEmit *emit)
{
    CtValues *v = state;
    for (guint i = 0; i < v->all->len; i++) {
        const CtValue *of = g_ptr_array_index(v->all, i);
        if (!ct_value_pci(v, of) && !ct_value_board(v, of) && !ct_value_host(v, of))
            ct_value_software(v, of);
    }
    ct_values_pci_end(v);
    g_hash_table_unref(v->by_path);
    g_ptr_array_unref(v->all);
    g_free(v);
}

static int sniff(const CtSniff *sniff)
{
    guint good = 0, lines = 0;
    CtStr file;
    if (sniff->n_lines && sniff->n_lines <= 16 && !ct_str_starts(ct_sniff_line(sniff, 0), "/")) {
        guint files = 0;
        for (guint i = 0; i < sniff->n_lines; i++)
            files += !ct_str_starts(ct_sniff_line(sniff, i), "some ");
        if (file_of_cat(sniff->command, MAX(files, 1) - 1, &file))
            return 93;
    }
    for (guint i = 0; i < sniff->n_lines; i++) {
        CtStr s = ct_sniff_line(sniff, i), path, value;
        if (!s.n)
            continue;
        lines++;
        good += ct_str_starts(s, "grep: /") ||
                (split(s, &path, &value) &&
                 (ct_str_starts(path, "/sys/") || ct_str_starts(path, "/proc") ||
                  ct_str_eq(value, "exists") || ct_str_eq(path, "/usr/local/cuda") ||
                  ct_str_starts(path, "/dev") || ct_str_starts(path, "/etc/cron") ||
                  ct_str_starts(path, "/run/") || ct_str_ends(path, ".py") ||
                  (sniff->command && ct_command_runs(sniff->command, "grep"))));
    }
    if (lines && sniff->command && strstr(sniff->command, "grep -") && good * 2 >= lines)
        return 92;
    if (lines && sniff->command && good == lines)
        return 93;
    return good >= 2 && good * 10 >= lines * 8 ? 80 : 0;
}

const CtParser ct_parser_system_values = {
    .id = "system-values",
    .summary = "values of /sys and /proc with their paths",
    .doc = "Lines PATH: value, as grep -sH . FILES and a capture print them: PCI devices and bridges "
           "(link, driver, IOMMU group, ACS, error counters), module parameters, device tree, "
           "devfreq, thermal zones and trip points, hwmon rails and over-current counters, "
           "cpufreq, pressure, zram, control groups, kernel settings, cron and timers, marks of "
           "containers and daemons.",
    .sniff = sniff,
    .begin = begin,
    .line = line,
    .finish = finish,
    .no_signatures = TRUE,
};
