/* SPDX-License-Identifier: Apache-2.0 */
#include "parse/env/hardware-scan.h"

#include <string.h>

static gboolean word_in(CtStr w, const char *const *words, gsize n)
{
    for (gsize i = 0; i < n; i++)
        if (ct_str_eq(w, words[i]))
            return TRUE;
    return FALSE;
}

/* The next word made of letters, digits and '-'; *rest is behind it. */
static CtStr plain_word(CtStr *rest)
{
    CtStr s = *rest;
    while (s.n && s.p[0] == ' ')
        s = ct_str_from(s, 1);
    gsize n = 0;
    while (n < s.n && (g_ascii_isalnum(s.p[n]) || s.p[n] == '-'))
        n++;
    *rest = ct_str_from(s, n);
    return ct_str_head(s, n);
}

static gboolean has_digit(CtStr w)
{
    for (gsize i = 0; i < w.n; i++)
        if (g_ascii_isdigit(w.p[i]))
            return TRUE;
    return FALSE;
}

static gboolean first_time(GHashTable *seen, const char *key, CtStr value)
{
    if (!seen)
        return TRUE;
    g_autofree char *id = g_strdup_printf("%s|%.*s", key, (int)MIN(value.n, (gsize)80), value.p);
    if (g_hash_table_contains(seen, id) || g_hash_table_size(seen) > 4096)
        return FALSE;
    g_hash_table_add(seen, g_steal_pointer(&id));
    return TRUE;
}

/* "Jetson Orin NX 16GB", "Jetson AGX Xavier": the words of the product line. */
static gboolean jetson(CtEmit *emit, const CtLine *line, CtStr s, GHashTable *seen)
{
    static const char *const words[] = {
        "AGX", "Orin", "Xavier", "NX", "Nano", "TX1", "TX2", "TX2i", "Thor", "Super", "Industrial",
        "Developer", "Kit", "2GB", "4GB", "8GB", "16GB", "32GB", "64GB", "128GB", "T4000", "T5000"};
    gssize at = ct_str_find(s, "Jetson ");
    if (at < 0)
        return FALSE;
    CtStr start = ct_str_from(s, (gsize)at), rest = ct_str_from(start, 7), end = rest;
    guint n = 0;
    for (CtStr w = plain_word(&rest); w.n && word_in(w, words, G_N_ELEMENTS(words));
         w = plain_word(&rest)) {
        end = rest;
        n++;
    }
    if (!n)
        return FALSE;
    CtStr model = ct_str_strip(ct_str_head(start, start.n - end.n));
    if (first_time(seen, "host.model", model)) {
        ct_emit_fact(emit, line, NULL, "host.model", CT_STR_BUF(model));
        ct_emit_fact(emit, line, NULL, "host.jetson", "yes");
    }
    return TRUE;
}

/* Where a GPU's name may begin. */
static gboolean gpu_lead(CtStr w)
{
    static const char *const leads[] = {"NVIDIA", "GeForce", "Tesla", "Quadro", "TITAN", "RTX",
                                        "GTX"};
    return word_in(w, leads, G_N_ELEMENTS(leads));
}

static gboolean gpu_word(CtStr w)
{
    static const char *const words[] = {
        "NVIDIA", "GeForce", "Tesla", "Quadro", "TITAN", "RTX", "GTX", "Ti", "SUPER", "Super",
        "Ada", "Generation", "SFF", "PCIe", "PCIE", "NVL", "Laptop", "GPU", "Max-Q", "Graphics",
        "Server", "Edition", "Blackwell", "PRO", "Xp", "X", "V", "Z", "Black"};
    if (word_in(w, words, G_N_ELEMENTS(words)))
        return TRUE;
    return w.n < 16 && has_digit(w) && (g_ascii_isupper(w.p[0]) || g_ascii_isdigit(w.p[0]));
}

/* Names without a brand in front, written alone: "A100 80GB PCIe", "H200", "L40S". */
static gboolean bare_gpu(CtStr w)
{
    static const char *const names[] = {"A100", "H100", "H200", "H800", "H20", "L40S", "L40",
                                        "L20", "A40", "A30", "A10", "A10G", "A16", "A2", "L4",
                                        "T4", "V100", "P100", "P40", "P4", "B200", "B300", "GB200",
                                        "GB300", "GH200", "K80", "M60"};
    gsize n = 0;
    while (n < w.n && w.p[n] != '-')
        n++;
    return word_in(ct_str_head(w, n), names, G_N_ELEMENTS(names));
}

static void emit_gpu(CtEmit *emit, const CtLine *line, CtStr s, gsize start, CtStr name,
                     GHashTable *seen)
{
    if (!first_time(seen, "gpu.name", name))
        return;
    ct_emit_fact(emit, line, "gpu:0", "gpu.name", CT_STR_BUF(name));
    /* "2 x GeForce GTX 1080 Ti", "8x H100" */
    gsize i = start;
    while (i > 0 && s.p[i - 1] == ' ')
        i--;
    if (i > 0 && (s.p[i - 1] == 'x' || s.p[i - 1] == 'X')) {
        i--;
        while (i > 0 && s.p[i - 1] == ' ')
            i--;
        gsize end = i;
        while (i > 0 && g_ascii_isdigit(s.p[i - 1]))
            i--;
        gint64 count;
        CtStr digits = ct_str_head(ct_str_from(s, i), end - i);
        if (ct_str_uint(digits, &count) && count > 0 && count <= 64)
            ct_emit_number(emit, line, NULL, "gpu.count", (double)count, CT_STR_BUF(digits));
    }
}

static gboolean gpus(CtEmit *emit, const CtLine *line, CtStr s, GHashTable *seen)
{
    gboolean found = FALSE;
    gboolean said = ct_str_istarts(ct_str_strip(s), "gpu");
    for (gsize i = 0; i < s.n; i++) {
        char before = i ? s.p[i - 1] : ' ';
        if (!g_ascii_isupper(s.p[i]) || g_ascii_isalnum(before) || strchr("_-/.@", before))
            continue;
        CtStr start = ct_str_from(s, i), rest = start, end = start;
        CtStr w = plain_word(&rest);
        gboolean bare = bare_gpu(w) && (said || ct_str_has(ct_str_head(s, i), "GPU") ||
                                        ct_str_starts(ct_str_strip(rest), "80GB") ||
                                        ct_str_starts(ct_str_strip(rest), "40GB") ||
                                        ct_str_has(w, "SXM") || ct_str_has(w, "PCI") ||
                                        (i >= 2 && s.p[i - 1] == ' ' && s.p[i - 2] == 'x'));
        if (!gpu_lead(w) && !bare)
            continue;
        gboolean number = FALSE;
        for (; w.n && (gpu_word(w) || bare); w = plain_word(&rest)) {
            if (ct_str_starts(rest, ".") && rest.n > 1 && g_ascii_isdigit(rest.p[1]))
                break; /* the start of a version number */
            number |= has_digit(w) || ct_str_eq(w, "TITAN");
            end = rest;
            bare = FALSE;
        }
        CtStr name = ct_str_strip(ct_str_head(start, start.n - end.n));
        if (ct_str_ends(name, " GPU") && !ct_str_ends(name, "Laptop GPU"))
            name.n -= 4;
        if (!number || name.n > 60 || name.n < 2 || ct_str_has(name, "L4T"))
            continue;
        emit_gpu(emit, line, s, i, name, seen);
        found = TRUE;
        i += name.n;
    }
    return found;
}

/* "nvpmodel MODE_20W_6CORE", "jetson_clocks on" */
static gboolean power(CtEmit *emit, const CtLine *line, CtStr s, GHashTable *seen)
{
    gboolean found = FALSE;
    gssize at = ct_str_find(s, "nvpmodel ");
    if (at >= 0) {
        CtStr rest = ct_str_from(s, (gsize)at + 9);
        CtStr w = ct_str_token(&rest);
        if (ct_str_eq(w, "mode"))
            w = ct_str_token(&rest);
        while (w.n && strchr(",;.)", w.p[w.n - 1]))
            w.n--;
        if (w.n && w.n < 40 && w.p[0] != '-' && (g_ascii_isupper(w.p[0]) || has_digit(w)) &&
            first_time(seen, "power.mode", w)) {
            ct_emit_fact(emit, line, NULL, "power.mode", CT_STR_BUF(w));
            found = TRUE;
        }
    }
    at = ct_str_find(s, "jetson_clocks ");
    if (at >= 0) {
        CtStr rest = ct_str_from(s, (gsize)at + 14);
        CtStr w = ct_str_token(&rest);
        gboolean on = ct_str_starts(w, "on") || ct_str_starts(w, "active") ||
                      ct_str_starts(w, "enabled");
        gboolean off = ct_str_starts(w, "off") || ct_str_starts(w, "inactive") ||
                       ct_str_starts(w, "not") || ct_str_starts(w, "disabled");
        if (on || off) {
            ct_emit_fact(emit, line, NULL, "jetson-clocks", on ? "on" : "off");
            found = TRUE;
        }
    }
    return found;
}

gboolean ct_scan_hardware(CtEmit *emit, const CtLine *line, CtStr text, GHashTable *seen)
{
    gboolean found = jetson(emit, line, text, seen);
    found |= gpus(emit, line, text, seen);
    found |= power(emit, line, text, seen);
    return found;
}
