/* SPDX-License-Identifier: Apache-2.0 */
/* Secrets that their own shape gives away, and those that a Chinese word names. */
#include <string.h>

#include "collect/redact-private.h"

static gsize token_length(const CtPlace *p, gsize at)
{
    gsize n = 0;
    for (char c; (c = ct_place_char(p, (gssize)(at + n))) && (g_ascii_isalnum(c) || strchr("-_.=/+", c));)
        n++;
    while (n && strchr(".=", ct_place_char(p, (gssize)(at + n - 1))))
        n--;
    return n;
}

gsize ct_redact_take_secret(CtRedact *r, const CtPlace *p, gsize at, gsize n, GString *out)
{
    const char *value = p->text + p->at + at;
    g_autofree char *copy = g_strndup(value, n);
    ct_redact_learn(r, CT_REDACT_SECRET, copy);
    g_string_append_len(out, p->text + p->at, (gssize)at);
    ct_redact_stand_in(r, "secret", value, n, out);
    return at + n;
}

/* scheme://user:password@host */
static gsize url_password(CtRedact *r, const CtPlace *p, GString *out)
{
    gsize at = 3, colon = 0;
    if (!ct_place_starts(p, 0, "://"))
        return 0;
    for (char c; (c = ct_place_char(p, (gssize)at)) && at < 300 && !strchr("/@ \t\n\"'", c); at++)
        if (c == ':' && !colon)
            colon = at;
    if (ct_place_char(p, (gssize)at) != '@' || !colon || at == colon + 1)
        return 0;
    /* The name before it is an account as well. */
    g_string_append(out, "://");
    ct_redact_stand_in(r, "user", p->text + p->at + 3, colon - 3, out);
    g_string_append_c(out, ':');
    CtPlace rest = *p;
    rest.at += colon + 1;
    return colon + 1 + ct_redact_take_secret(r, &rest, 0, at - colon - 1, out);
}

/* "T012AB3CD/B04EF5GH6/qwErTy...", "889900112233/aBcD..." */
static gboolean hook_like(const char *value, gsize n)
{
    gsize digits = 0, letters = 0;
    for (gsize i = 0; i < n; i++) {
        digits += g_ascii_isdigit(value[i]);
        letters += g_ascii_isalpha(value[i]);
    }
    return n >= 20 && digits >= 2 && letters >= 4;
}

/* Addresses whose last part lets anybody write there. */
static gsize web_hook(CtRedact *r, const CtPlace *p, GString *out)
{
    static const char *const leads[] = {"/services/T", "/api/webhooks/", "/webhookb2/", "/webhook/",
                                        "/bot/v2/hook/", "/workflows/T", "/triggers/T"};
    for (gsize i = 0; i < G_N_ELEMENTS(leads); i++) {
        gsize k = strlen(leads[i]);
        if (p->at + k > p->len || memcmp(p->text + p->at, leads[i], k) != 0)
            continue;
        gsize at = k - (leads[i][k - 1] == 'T'), n = token_length(p, at);
        return hook_like(p->text + p->at + at, n) ? ct_redact_take_secret(r, p, at, n, out)
                                                             : 0;
    }
    return 0;
}

/* "123456789:AAF0..." of a Telegram bot, in an address behind "bot" */
static gsize bot_token(CtRedact *r, const CtPlace *p, GString *out)
{
    gsize lead = ct_place_starts(p, 0, "bot") ? 3 : 0, digits = 0;
    while (digits < 11 && g_ascii_isdigit(ct_place_char(p, (gssize)(lead + digits))))
        digits++;
    if (digits < 8 || digits > 10 || ct_place_char(p, (gssize)(lead + digits)) != ':')
        return 0;
    gsize at = lead + digits + 1, n = 0;
    gboolean letters = FALSE;
    for (char c; (c = ct_place_char(p, (gssize)(at + n))) && (ct_redact_word_char(c) || c == '-'); n++)
        letters |= g_ascii_isalpha(c);
    return n == 35 && letters ? ct_redact_take_secret(r, p, lead, digits + 1 + n, out) : 0;
}

/* "?key=VALUE" of an address: a name that means much elsewhere is a secret there. */
static gsize query_key(CtRedact *r, const CtPlace *p, GString *out)
{
    static const char *const names[] = {"key=", "sign=", "code="};
    char before = ct_place_char(p, -1);
    for (gsize i = 0; (before == '?' || before == '&') && i < G_N_ELEMENTS(names); i++) {
        gsize k = strlen(names[i]), n = 0;
        if (!ct_place_starts(p, 0, names[i]))
            continue;
        for (char c; (c = ct_place_char(p, (gssize)(k + n))) &&
                     (ct_redact_word_char(c) || strchr("-.%~+", c));)
            n++;
        return n >= 12 && ct_redact_looks_secret(p->text + p->at + k, n)
                   ? ct_redact_take_secret(r, p, k, n, out)
                   : 0;
    }
    return 0;
}

gsize ct_redact_shaped_secret(CtRedact *r, const CtPlace *p, GString *out)
{
    static const struct {
        const char *lead;
        gsize least;
    } shapes[] = {
        {"hf_", 20},         {"sk-", 24},          {"ghp_", 24},      {"gho_", 24},
        {"ghs_", 24},        {"ghu_", 24},         {"ghr_", 24},      {"github_pat_", 24},
        {"glpat-", 16},      {"glrt-", 16},        {"xoxb-", 16},     {"xoxp-", 16},
        {"xoxa-", 16},       {"xoxs-", 16},        {"xapp-", 16},     {"AKIA", 20},
        {"ASIA", 20},        {"nvapi-", 20},       {"eyJ", 40},       {"npm_", 24},
        {"pypi-", 24},       {"dckr_pat_", 16},    {"AIza", 35},      {"r8_", 24},
        {"wandb_v1_", 20},   {"ya29.", 20},        {"sk_live_", 16},  {"sk_test_", 16},
        {"rk_live_", 16},    {"rk_test_", 16},     {"whsec_", 20},    {"SG.", 40},
        {"hvs.", 20},        {"gsk_", 24},         {"pplx-", 24},     {"LTAI", 16},
        {"AKID", 32},        {"shpat_", 24},       {"dop_v1_", 24},   {"tskey-", 20},
        {"lin_api_", 24},    {"GOCSPX-", 24},      {"1//0", 40},      {"EAACEdEose0cBA", 24},
    };
    char c = ct_place_char(p, 0);
    if (c == ':')
        return url_password(r, p, out);
    if (c == '/')
        return web_hook(r, p, out);
    for (gsize i = 0; i < G_N_ELEMENTS(shapes); i++) {
        gsize k = strlen(shapes[i].lead);
        if (p->at + k > p->len || memcmp(p->text + p->at, shapes[i].lead, k) != 0)
            continue;
        gsize n = token_length(p, 0);
        return n >= shapes[i].least ? ct_redact_take_secret(r, p, 0, n, out) : 0;
    }
    if (ct_place_starts(p, 0, "Bearer ") || ct_place_starts(p, 0, "Basic ")) {
        gsize k = g_ascii_tolower(ct_place_char(p, 1)) == 'e' ? 7 : 6;
        gsize n = token_length(p, k);
        return n >= 12 ? ct_redact_take_secret(r, p, k, n, out) : 0;
    }
    gsize took = bot_token(r, p, out);
    return took ? took : query_key(r, p, out);
}

/* A password under a Chinese name, behind either colon. */
gsize ct_redact_chinese_secret(CtRedact *r, const CtPlace *p, GString *out)
{
    static const char *const names[] = {"密码", "密碼", "口令", "令牌", "密钥", "密鑰", "秘钥", "私钥",
                                        "凭证", "授权码", "访问码"};
    static const char *const marks[] = {"：", ":", "=", "＝", "为", "是", "\"", "'", " ", "“"};
    gsize at = 0, n = 0, sep;
    if ((guchar)ct_place_char(p, 0) < 0xe4)
        return 0;
    for (gsize i = 0; i < G_N_ELEMENTS(names) && !at; i++)
        at = ct_place_starts(p, 0, names[i]) ? strlen(names[i]) : 0;
    sep = at;
    for (gsize i = 0; at && i < G_N_ELEMENTS(marks); i++) {
        if (ct_place_starts(p, sep, marks[i]) && sep < at + 16) {
            sep += strlen(marks[i]);
            i = (gsize)-1; /* several may follow each other: 密码为：“x” */
        }
    }
    if (!at || sep == at)
        return 0;
    for (char c; (c = ct_place_char(p, (gssize)(sep + n))) && n < 512 && c > ' ' && c < 0x7f &&
                 !strchr("\"',;)]}", c);)
        n++;
    const char *value = p->text + p->at + sep;
    return n < 4 || *value == '/' || ct_redact_plain_value(value, n)
               ? 0
               : ct_redact_take_secret(r, p, sep, n, out);
}
