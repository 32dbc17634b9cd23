/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses and ids that their shape gives away, and what only looks like one. */
#include <stdlib.h>
#include <string.h>

#include "collect/redact-private.h"

static gsize hex_run(const CtPlace *p, gsize from)
{
    gsize n = 0;
    while (g_ascii_isxdigit(ct_place_char(p, (gssize)(from + n))))
        n++;
    return n;
}

static gboolean all_zero(const char *s, gsize n)
{
    for (gsize i = 0; i < n; i++)
        if (g_ascii_isalnum(s[i]) && s[i] != '0')
            return FALSE;
    return TRUE;
}

/* 8-4-4-4-12 hex digits; cgroup names write it with "_". */
gsize ct_redact_uuid(CtRedact *r, const CtPlace *p, GString *out)
{
    static const gsize groups[] = {8, 4, 4, 4, 12};
    gsize at = 0, lead = 0;
    if (ct_place_char(p, 0) == 'p' && p->len - p->at > 39 && memcmp(p->text + p->at, "pod", 3) == 0)
        lead = at = 3;
    char mark = ct_place_char(p, (gssize)at + 8);
    if (mark != '-' && mark != '_')
        return 0;
    for (gsize i = 0; i < G_N_ELEMENTS(groups); i++) {
        if (hex_run(p, at) != groups[i])
            return 0;
        at += groups[i];
        if (i + 1 < G_N_ELEMENTS(groups) && ct_place_char(p, (gssize)at++) != mark)
            return 0;
    }
    if (ct_redact_word_char(ct_place_char(p, (gssize)at)) ||
        all_zero(p->text + p->at + lead, at - lead))
        return 0;
    g_string_append_len(out, p->text + p->at, (gssize)lead);
    if (ct_redact_same_shape(r, "uuid", p->text + p->at + lead, at - lead, TRUE, out))
        ct_redact_hit(r);
    return at;
}

gsize ct_redact_mac(CtRedact *r, const CtPlace *p, GString *out)
{
    char mark = ct_place_char(p, 2), before = ct_place_char(p, -1);
    if ((mark != ':' && mark != '-') || before == ':' || before == '.')
        return 0;
    for (gsize i = 0; i < 6; i++) {
        if (hex_run(p, i * 3) != 2 || (i < 5 && ct_place_char(p, (gssize)i * 3 + 2) != mark))
            return 0;
    }
    char next = ct_place_char(p, 17);
    const char *text = p->text + p->at;
    if (next == ':' || next == mark || ct_redact_word_char(next) || all_zero(text, 17) ||
        g_ascii_strncasecmp(text, "ff:ff:ff:ff:ff:ff", 17) == 0 ||
        g_ascii_strncasecmp(text, "02:00:00:", 9) == 0) /* a stand-in already */
        return 0;
    guint8 d[32];
    g_autofree char *lower = g_ascii_strdown(text, 17);
    ct_redact_digest(r, "mac", lower, 17, d);
    ct_redact_hit(r);
    g_string_append_printf(out, "02%c00%c00%c%02x%c%02x%c%02x", mark, mark, mark, d[0], mark, d[1],
                           mark, d[2]);
    return 17;
}

/* ---- IPv4 ---- */

static gsize octets(const CtPlace *p, guint value[4])
{
    gsize at = 0;
    for (int i = 0; i < 4; i++) {
        gsize n = 0;
        guint v = 0;
        while (n < 3 && g_ascii_isdigit(ct_place_char(p, (gssize)(at + n)))) {
            v = v * 10 + (guint)(ct_place_char(p, (gssize)(at + n)) - '0');
            n++;
        }
        if (!n || v > 255 || (n > 1 && ct_place_char(p, (gssize)at) == '0'))
            return 0;
        value[i] = v;
        at += n;
        if (i < 3 && ct_place_char(p, (gssize)at++) != '.')
            return 0;
    }
    char next = ct_place_char(p, (gssize)at), after = ct_place_char(p, (gssize)at + 1);
    if (ct_redact_word_char(next) || (next == '.' && g_ascii_isdigit(after)))
        return 0;
    return at;
}

gboolean ct_redact_has_word(const char *text, gsize len, const char *const *words)
{
    g_autofree char *lower = g_ascii_strdown(text, (gssize)len);
    for (; *words; words++)
        if (strstr(lower, *words))
            return TRUE;
    return FALSE;
}

static gboolean quad_at(const CtPlace *p, gsize offset)
{
    CtPlace other = *p;
    guint v[4];
    other.at += offset;
    return other.at < p->len && octets(&other, v) > 0;
}

/* "10.0.0.1-10.0.0.9" is a range of addresses, whereas "10.3.0.30-1" is a package. */
static gboolean in_range(const CtPlace *p, gsize len)
{
    gsize back = 0;
    if (ct_place_char(p, (gssize)len) == '-' && quad_at(p, len + 1))
        return TRUE;
    while (back < 15 && ct_place_char(p, -2 - (gssize)back) &&
           strchr("0123456789.", ct_place_char(p, -2 - (gssize)back)))
        back++;
    CtPlace other = *p;
    guint v[4];
    other.at -= MIN(back + 1, p->at);
    return back >= 7 && ct_place_char(p, -1) == '-' &&
           !ct_redact_word_char(ct_place_char(&other, -1)) && octets(&other, v) == back;
}

/* A version by what stands right beside it: "libx.so.1.2.3.4", "-10.3.0.26", "10.3.0.30-1+cuda". */
static gboolean beside_version(const CtPlace *p, gsize len)
{
    if (in_range(p, len))
        return FALSE;
    char before = ct_place_char(p, -1), next = ct_place_char(p, (gssize)len);
    char after = ct_place_char(p, (gssize)len + 1);
    if (before == '.' || before == '-' || before == '+' || before == '~' || before == '_')
        return TRUE;
    if (before == '=' && (ct_place_char(p, -2) == '=' || strchr("<>~!", ct_place_char(p, -2))))
        return TRUE;
    return next == '+' || next == '~' || (next == '-' && g_ascii_isalnum(after));
}

static gboolean beside_address(const CtPlace *p, gsize len)
{
    static const char *const words[] = {"addr", "inet", "host", "peer", " ip", "ip=", "ip:", "from ",
                                        "server", "gateway", "via ", "dns", "://", "@", "listen",
                                        "bind", "connect", "route", "socket", "endpoint", "proxy",
                                        "nameserver", "client", NULL};
    char next = ct_place_char(p, (gssize)len), after = ct_place_char(p, (gssize)len + 1);
    if ((next == ':' || next == '<' || next == '/') && g_ascii_isdigit(after))
        return TRUE;
    if (p->at >= p->line + 4 && (memcmp(p->text + p->at - 4, " on ", 4) == 0 ||
                                 memcmp(p->text + p->at - 4, " at ", 4) == 0))
        return TRUE;
    gsize from = p->at > p->line + 24 ? p->at - 24 : p->line;
    return ct_redact_has_word(p->text + from, p->at - from, words);
}

static gboolean version_line(const CtPlace *p)
{
    static const char *const words[] = {"version", "tensorrt", "nvinfer", "trt", "cudnn", "nccl",
                                        "release", "revision", "firmware", "vbios", "package",
                                        ".so", "cuda", "driver", "libnv", "onnx", "toolkit", "npp",
                                        "cublas", "build", "nvonnx", "dpkg", "installed", "fw ",
                                        NULL};
    gsize from = p->at > p->line + 200 ? p->at - 200 : p->line;
    return ct_redact_has_word(p->text + from, p->at - from, words);
}

/* "TensorRT 10.13.3.9", "Version: 10.3.0.30", "__version__ = '10.3.0.30'" */
static gboolean version_word_before(const CtPlace *p)
{
    static const char *const words[] = {"version", "tensorrt", "trt", "cudnn", "nccl", "nvinfer",
                                        "trtexec", "release"};
    gsize end = p->at;
    while (end > p->line && p->at - end < 8 && !g_ascii_isalnum(p->text[end - 1]))
        end--;
    for (gsize i = 0; i < G_N_ELEMENTS(words); i++) {
        gsize n = strlen(words[i]);
        if (end - p->line >= n && g_ascii_strncasecmp(p->text + end - n, words[i], n) == 0)
            return end < p->at;
    }
    return FALSE;
}

/* Where nothing but a version stands: the name of a library, a package with its revision. */
static gboolean surely_version(const CtPlace *p, gsize len)
{
    char next = ct_place_char(p, (gssize)len);
    char after = ct_place_char(p, (gssize)len + 1);
    gboolean port = next && strchr(":/<", next) && g_ascii_isdigit(after);
    return p->version || (version_word_before(p) && !port) ||
           (p->at >= 4 && memcmp(p->text + p->at - 4, ".so.", 4) == 0) ||
           (p->at >= 2 && memcmp(p->text + p->at - 2, "==", 2) == 0) || next == '+' ||
           (next == '-' && g_ascii_isdigit(after) && !quad_at(p, len + 1));
}

gsize ct_redact_ipv4(CtRedact *r, const CtPlace *p, GString *out)
{
    guint v[4];
    gsize len = g_ascii_isdigit(ct_place_char(p, 0)) ? octets(p, v) : 0;
    gboolean surely = len && surely_version(p, len);
    if (surely && p->looking)
        ct_redact_learn_version(r, p->text + p->at, len);
    if (!len || surely || v[0] == 0 || v[0] == 127 || v[0] == 255 ||
        (v[0] == 198 && (v[1] & 254) == 18) || beside_version(p, len))
        return 0;
    gboolean private = v[0] == 192 && v[1] == 168;
    private |= v[0] == 172 && v[1] >= 16 && v[1] < 32;
    private |= v[0] == 169 && v[1] == 254;
    gboolean small = v[0] < 20 && v[0] != 10; /* 8.6.1.6 is cuDNN's or TensorRT's */
    if (!beside_address(p, len) &&
        (ct_redact_known_version(r, p->text + p->at, len) ||
         (!private && (version_line(p) || small))))
        return 0;
    guint8 d[32];
    ct_redact_digest(r, "ip", p->text + p->at, len, d);
    ct_redact_hit(r);
    g_string_append_printf(out, "198.%u.%u.%u", 18 + (d[0] & 1), d[1], d[2]);
    return len;
}

/* ---- IPv6 ---- */

gsize ct_redact_ipv6(CtRedact *r, const CtPlace *p, GString *out)
{
    gsize at = 0, groups = 0, widest = 0;
    gboolean gap = FALSE, digit = FALSE;
    char before = ct_place_char(p, -1);
    if (before == ':' || before == '.' || before == '/')
        return 0;
    for (;;) {
        gsize n = hex_run(p, at);
        if (n > 4)
            return 0;
        for (gsize i = 0; i < n; i++)
            digit |= g_ascii_isdigit(ct_place_char(p, (gssize)(at + i)));
        groups += n > 0;
        widest = MAX(widest, n);
        at += n;
        if (ct_place_char(p, (gssize)at) != ':')
            break;
        if (ct_place_char(p, (gssize)at + 1) == ':') {
            if (gap)
                return 0;
            gap = TRUE;
            at++;
        } else if (!g_ascii_isxdigit(ct_place_char(p, (gssize)at + 1))) {
            break;
        }
        at++;
    }
    char next = ct_place_char(p, (gssize)at);
    if (ct_redact_word_char(next) || next == '.' || !digit ||
        !(groups == 8 || (gap && groups >= 2 && groups < 8 && hex_run(p, 0) >= 3)) || widest < 2 ||
        (at > 9 && memcmp(p->text + p->at, "2001:db8:", 9) == 0))
        return 0;
    guint8 d[32];
    ct_redact_digest(r, "ip6", p->text + p->at, at, d);
    ct_redact_hit(r);
    g_string_append_printf(out, "2001:db8::%x%02x:%x%02x", d[0] | 16, d[1], d[2] | 16, d[3]);
    return at;
}
