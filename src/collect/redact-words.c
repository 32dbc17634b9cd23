/* SPDX-License-Identifier: Apache-2.0 */
/* What the words around it give away: secrets by the name they go under, homes, accounts, serials. */
#include <string.h>

#include "collect/redact-private.h"

#define MAX_SECRET 4096u

static gboolean starts(const CtPlace *p, gsize at, const char *word)
{
    gsize n = strlen(word);
    return p->at + at + n <= p->len && g_ascii_strncasecmp(p->text + p->at + at, word, n) == 0;
}

/* ---- homes ---- */

gsize ct_redact_home(CtRedact *r, const CtPlace *p, GString *out)
{
    static const char *const leads[] = {"/home/", "/Users/", "\\Users\\", "/media/", "/run/media/"};
    for (gsize i = 0; i < G_N_ELEMENTS(leads); i++) {
        gsize at = strlen(leads[i]), n = 0;
        if (p->at + at > p->len || memcmp(p->text + p->at, leads[i], at) != 0)
            continue;
        const char *name = p->text + p->at + at;
        while (p->at + at + n < p->len && (ct_redact_word_char(name[n]) || strchr("-.@", name[n])) &&
               name[n])
            n++;
        if (!n || n > 64 || ct_redact_common(name, n))
            return 0;
        g_autofree char *value = g_strndup(name, n);
        if (!(n == 13 && g_str_has_prefix(value, "user-")))
            ct_redact_learn(r, CT_REDACT_USER, value);
        g_string_append(out, leads[i]);
        ct_redact_stand_in(r, "user", name, n, out);
        return at + n;
    }
    return 0;
}

/* ---- user@host ---- */

static gboolean public_domain(const char *host, gsize n)
{
    static const char *const ends[] = {"nvidia.com", "github.com", "gitlab.com", "ubuntu.com",
                                       "debian.org", "kernel.org", "python.org", "redhat.com",
                                       "huggingface.co", "pytorch.org", "launchpad.net"};
    for (gsize i = 0; i < G_N_ELEMENTS(ends); i++) {
        gsize k = strlen(ends[i]);
        if (n >= k && g_ascii_strncasecmp(host + n - k, ends[i], k) == 0)
            return TRUE;
    }
    return FALSE;
}

static gboolean unit_name(const char *host, gsize n)
{
    static const char *const ends[] = {".service", ".slice", ".socket", ".timer", ".target",
                                       ".mount", ".scope", ".device"};
    for (gsize i = 0; i < G_N_ELEMENTS(ends); i++)
        if (n > strlen(ends[i]) && memcmp(host + n - strlen(ends[i]), ends[i], strlen(ends[i])) == 0)
            return TRUE;
    return FALSE;
}

/* "anna@node7", "anna.k@example.org"; not "CPU@40C", "getty@tty1.service", "memcpy@GLIBC_2.14". */
gsize ct_redact_account(CtRedact *r, const CtPlace *p, GString *out)
{
    const char *text = p->text + p->at;
    gsize left = p->len - p->at, n = 0, h = 0;
    while (n < left && n < 64 && (ct_redact_word_char(text[n]) || strchr("-.+", text[n])) && text[n])
        n++;
    if (!n || n >= left || text[n] != '@' || n + 1 >= left || !g_ascii_isalpha(text[n + 1]))
        return 0;
    const char *host = text + n + 1;
    while (n + 1 + h < left && h < 128 && host[h] &&
           (g_ascii_isalnum(host[h]) || strchr("-.", host[h])))
        h++;
    while (h && host[h - 1] == '.')
        h--;
    char after = n + 1 + h < left ? host[h] : '\0';
    if (h < 2 || after == '_' || after == '@' || unit_name(host, h) || public_domain(host, h))
        return 0;
    if (!ct_redact_common(text, n)) {
        g_autofree char *user = g_strndup(text, n);
        if (n != 13 || !g_str_has_prefix(user, "user-"))
            ct_redact_learn(r, CT_REDACT_USER, user);
        ct_redact_stand_in(r, "user", text, n, out);
    } else {
        g_string_append_len(out, text, (gssize)n);
    }
    g_string_append_c(out, '@');
    if (ct_redact_common(host, h)) {
        g_string_append_len(out, host, (gssize)h);
    } else {
        g_autofree char *name = g_strndup(host, h);
        if (h != 13 || !g_str_has_prefix(name, "host-"))
            ct_redact_learn(r, CT_REDACT_HOST, name);
        ct_redact_stand_in(r, "host", host, h, out);
    }
    return n + 1 + h;
}

/* ---- secrets by shape ---- */

static gsize token_length(const CtPlace *p, gsize at)
{
    gsize n = 0;
    for (char c; (c = ct_place_char(p, (gssize)(at + n))) && (g_ascii_isalnum(c) || strchr("-_.=/+", c));)
        n++;
    while (n && strchr(".=", ct_place_char(p, (gssize)(at + n - 1))))
        n--;
    return n;
}

static gsize take_secret(CtRedact *r, const CtPlace *p, gsize at, gsize n, GString *out)
{
    const char *value = p->text + p->at + at;
    if (!(n == 15 && memcmp(value, "secret-", 7) == 0)) {
        g_autofree char *copy = g_strndup(value, n);
        ct_redact_learn(r, CT_REDACT_SECRET, copy);
    }
    g_string_append_len(out, p->text + p->at, (gssize)at);
    ct_redact_stand_in(r, "secret", value, n, out);
    return at + n;
}

/* scheme://user:password@host */
static gsize url_password(CtRedact *r, const CtPlace *p, GString *out)
{
    gsize at = 3, colon = 0;
    if (!starts(p, 0, "://"))
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
    return colon + 1 + take_secret(r, &rest, 0, at - colon - 1, out);
}

/* "curl -u bob:pass", "sshpass -p pass"; not "docker run -u 1000:1000". */
static gsize login_option(CtRedact *r, const CtPlace *p, GString *out)
{
    gsize at = starts(p, 0, "-u ") ? 3 : starts(p, 0, "--user ") ? 7 : 0, colon = 0, n = 0;
    gboolean sshpass = starts(p, 0, "-p ") && p->at >= 8 &&
                       memcmp(p->text + p->at - 8, "sshpass ", 8) == 0;
    gboolean letters = FALSE;
    if (sshpass)
        at = 3;
    if (!at || (p->at && !strchr(" \t\n", ct_place_char(p, -1))))
        return 0;
    for (char c; (c = ct_place_char(p, (gssize)(at + n))) && n < 200 && !strchr(" \t\r\n\"'", c); n++) {
        if (c == ':' && !colon)
            colon = n + 1;
        letters |= colon && g_ascii_isalpha(c);
    }
    if (sshpass)
        return n ? take_secret(r, p, at, n, out) : 0;
    return colon && colon < n && letters ? take_secret(r, p, at, n, out) : 0;
}

gsize ct_redact_shaped_secret(CtRedact *r, const CtPlace *p, GString *out)
{
    static const struct {
        const char *lead;
        gsize least;
    } shapes[] = {
        {"hf_", 20},         {"sk-", 24},          {"ghp_", 24},  {"gho_", 24},   {"ghs_", 24},
        {"github_pat_", 24}, {"glpat-", 16},       {"xoxb-", 16}, {"xoxp-", 16},  {"AKIA", 20},
        {"ASIA", 20},        {"nvapi-", 20},       {"eyJ", 40},   {"npm_", 24},   {"pypi-", 24},
        {"dckr_pat_", 16},   {"AIza", 35},         {"r8_", 24},   {"wandb_v1_", 20},
    };
    char c = ct_place_char(p, 0);
    if (c == ':')
        return url_password(r, p, out);
    if (c == '-')
        return login_option(r, p, out);
    for (gsize i = 0; i < G_N_ELEMENTS(shapes); i++) {
        gsize k = strlen(shapes[i].lead);
        if (p->at + k > p->len || memcmp(p->text + p->at, shapes[i].lead, k) != 0)
            continue;
        gsize n = token_length(p, 0);
        return n >= shapes[i].least ? take_secret(r, p, 0, n, out) : 0;
    }
    if (starts(p, 0, "Bearer ") || starts(p, 0, "Basic ")) {
        gsize k = c == 'B' && ct_place_char(p, 1) == 'e' ? 7 : 6;
        gsize n = token_length(p, k);
        return n >= 12 ? take_secret(r, p, k, n, out) : 0;
    }
    return 0;
}

/* ---- secrets by name ---- */

/* "PGPASSWORD", "authtoken" */
static gboolean secret_ending(const char *part)
{
    static const char *const ends[] = {"pass", "passwd", "password", "secret", "token", "apikey"};
    if (strcmp(part, "bypass") == 0 || strcmp(part, "compass") == 0)
        return FALSE;
    for (gsize i = 0; i < G_N_ELEMENTS(ends); i++)
        if (g_str_has_suffix(part, ends[i]))
            return TRUE;
    return FALSE;
}

/* Parts of a name, in the one spelling: "HF_TOKEN", "--api-key", "apiKey" all have their parts. */
static gboolean secret_name(const char *name, gsize n)
{
    static const char secret[] = " token secret password passwd passphrase pass pwd apikey "
                                 "credential credentials auth authorization cookie dsn privatekey "
                                 "accesskey secretkey passcode pat sas psk "
                                 "signature sig ";
    static const char harmless[] = " path file dir limit count timeout len length size type "
                                   "parallelism tokens max min num per budget method sock mode "
                                   "id-length policy status usage ";
    static const char before_key[] = " api access private secret license account encryption ssh "
                                     "registry auth client signing master wandb ngc openai aws "
                                     "service storage deploy app ";
    g_auto(GStrv) parts = NULL;
    g_autoptr(GString) spelt = g_string_new(NULL);
    gboolean upper = TRUE, hit = FALSE;
    for (gsize i = 0; i < n; i++) {
        if (i && g_ascii_isupper(name[i]) && g_ascii_islower(name[i - 1]))
            g_string_append_c(spelt, '_');
        upper &= !g_ascii_islower(name[i]);
        g_string_append_c(spelt, strchr("-.", name[i]) ? '_' : g_ascii_tolower(name[i]));
    }
    parts = g_strsplit(spelt->str, "_", 16);
    for (guint i = 0; parts[i]; i++) {
        g_autofree char *word = g_strconcat(" ", parts[i], " ", NULL);
        if (!*parts[i])
            continue;
        if (strstr(harmless, word))
            return FALSE;
        hit |= strstr(secret, word) != NULL || secret_ending(parts[i]);
        if (strcmp(parts[i], "key") == 0 || strcmp(parts[i], "keys") == 0) {
            g_autofree char *other = i ? g_strconcat(" ", parts[i - 1], " ", NULL) : g_strdup("?");
            hit |= strstr(before_key, other) || (upper && i && n > 5);
        }
    }
    return hit && strcmp(spelt->str, "pwd") != 0 && strcmp(spelt->str, "oldpwd") != 0;
}

/* What separates a name from its value; 0 when none does. "--name value" needs the dashes. */
static gsize separator(const CtPlace *p, gsize at, gboolean option)
{
    gsize n = 0;
    char c = ct_place_char(p, (gssize)at);
    while (c == '"' || c == '\'') /* "name": "value" */
        c = ct_place_char(p, (gssize)(at + ++n));
    if (c == '=' || c == ':') {
        n++;
        while (strchr(" \"'", c = ct_place_char(p, (gssize)(at + n))) && c)
            n++;
        return n;
    }
    if (option && c == ' ') {
        while (ct_place_char(p, (gssize)(at + n)) == ' ')
            n++;
        return ct_place_char(p, (gssize)(at + n)) == '-' ? 0 : n;
    }
    return 0;
}

static gboolean plain_value(const char *value, gsize n)
{
    static const char words[] = " true false yes no none null on off 0 1 required optional enabled "
                                "disabled set unset empty denied failed ok invalid missing ";
    g_autofree char *lower = g_ascii_strdown(value, (gssize)MIN(n, 20));
    g_autofree char *word = g_strconcat(" ", lower, " ", NULL);
    if (strstr(words, word) || (n == 15 && memcmp(value, "secret-", 7) == 0))
        return TRUE;
    gsize digits = 0;
    while (digits < n && (g_ascii_isdigit(value[digits]) || value[digits] == '.'))
        digits++;
    return digits == n && n < 6;
}

/* "eos_token: </s>" and "pass: fuse_conv" are talk of models and compilers. Where a name in small
 * letters says token or pass and no more, the value has to look like a secret. */
static gboolean weak_name(const char *name, gsize n)
{
    static const char *const strong[] = {"passw", "passphrase", "secret", "key", "credential",
                                         "authorization", "cookie", "dsn"};
    g_autofree char *lower = g_ascii_strdown(name, (gssize)n);
    for (gsize i = 0; i < n; i++)
        if (g_ascii_isupper(name[i]) && (i == 0 || !g_ascii_islower(name[i - 1])) && i + 1 < n &&
            g_ascii_isupper(name[i + 1]))
            return FALSE; /* a variable of the environment */
    for (gsize i = 0; i < G_N_ELEMENTS(strong); i++)
        if (strstr(lower, strong[i]))
            return FALSE;
    return TRUE;
}

static gboolean looks_secret(const char *value, gsize n)
{
    gboolean letter = FALSE, digit = FALSE;
    for (gsize i = 0; i < n; i++) {
        if (!g_ascii_isalnum(value[i]) && !strchr("_-./+=~%", value[i]))
            return FALSE;
        letter |= g_ascii_isalpha(value[i]);
        digit |= g_ascii_isdigit(value[i]);
    }
    return n >= 8 && letter && digit;
}

gsize ct_redact_named_secret(CtRedact *r, const CtPlace *p, GString *out)
{
    gsize dashes = 0, n = 0, v = 0;
    while (ct_place_char(p, (gssize)dashes) == '-' && dashes < 2)
        dashes++;
    if (dashes && !g_ascii_isalpha(ct_place_char(p, (gssize)dashes)))
        return 0;
    for (char c; (c = ct_place_char(p, (gssize)(dashes + n))) && n < 80 &&
                 (ct_redact_word_char(c) || c == '-' || c == '.');)
        n++;
    const char *name = p->text + p->at + dashes;
    if (n < 3 || !g_ascii_isalpha(name[0]))
        return 0;
    gsize sep = separator(p, dashes + n, dashes == 2);
    if (!sep || !secret_name(name, n))
        return 0;
    gsize at = dashes + n + sep;
    if (starts(p, at, "Bearer ") || starts(p, at, "Basic "))
        return 0; /* the value itself is found there */
    char quote = ct_place_char(p, (gssize)at - 1);
    gboolean quoted = quote == '"' || quote == '\'';
    for (char c; (c = ct_place_char(p, (gssize)(at + v))) && v < MAX_SECRET && c != '\n' && c != '\r';
         v++)
        if (quoted ? c == quote : strchr(" \t\"',;)]}", c) != NULL)
            break;
    if (v < 1 || plain_value(p->text + p->at + at, v))
        return 0;
    if (!dashes && weak_name(name, n) && !looks_secret(p->text + p->at + at, v))
        return 0;
    return take_secret(r, p, at, v, out);
}

/* ---- serial numbers ---- */

gsize ct_redact_serial(CtRedact *r, const CtPlace *p, GString *out)
{
    static const char *const tails[] = {" number is", " number", "-number", "_number", " no.",
                                        "number", "_no", " num"};
    gsize at = 6, n = 0;
    gboolean digit = FALSE;
    if (!starts(p, 0, "serial"))
        return 0;
    for (gsize i = 0; i < G_N_ELEMENTS(tails); i++) {
        if (starts(p, at, tails[i])) {
            at += strlen(tails[i]);
            break;
        }
    }
    gsize gap = at;
    for (char c; (c = ct_place_char(p, (gssize)at)) && strchr(" \t:=\"'", c);)
        at++;
    if (at == gap)
        return 0;
    for (char c; (c = ct_place_char(p, (gssize)(at + n))) && (g_ascii_isalnum(c) || c == '-');) {
        digit |= g_ascii_isdigit(c);
        n++;
    }
    if (n < 6 || n > 64 || !digit || ct_place_char(p, (gssize)(at + n)) == '/')
        return 0;
    g_autofree char *value = g_strndup(p->text + p->at + at, n);
    ct_redact_learn(r, CT_REDACT_SERIAL, value);
    g_string_append_len(out, p->text + p->at, (gssize)at);
    ct_redact_same_shape(r, "serial", value, n, FALSE, out);
    return at + n;
}
