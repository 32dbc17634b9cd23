/* SPDX-License-Identifier: Apache-2.0 */
/* What the words around it give away: secrets by the name they go under, homes, accounts, serials. */
#include <string.h>

#include "collect/redact-private.h"

#define MAX_SECRET 4096u

gboolean ct_place_starts(const CtPlace *p, gsize at, const char *word)
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
        ct_redact_learn(r, CT_REDACT_HOST, name);
        ct_redact_stand_in(r, "host", host, h, out);
    }
    return n + 1 + h;
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
    return hit && strcmp(spelt->str, "oldpwd") != 0;
}

/* What separates a name from its value; 0 when none does. "--name value" needs the dashes. */
static gsize separator(const CtPlace *p, gsize at, gboolean option)
{
    gsize n = 0;
    char c = ct_place_char(p, (gssize)at);
    while (c == '"' || c == '\'') /* "name": "value" */
        c = ct_place_char(p, (gssize)(at + ++n));
    gsize blanks = 0;
    while (blanks < 16 && (c = ct_place_char(p, (gssize)(at + n + blanks))) && strchr(" \t", c))
        blanks++;
    if (ct_place_starts(p, at + n, "：")) { /* a Chinese colon */
        n += strlen("：");
        while (ct_place_char(p, (gssize)(at + n)) == ' ')
            n++;
        return n;
    }
    if (c == '=' || (c == ':' && n)) /* "name = value" of a file of settings */
        n += blanks;
    else
        c = ct_place_char(p, (gssize)(at + n));
    if (c == '=' || c == ':') {
        n++;
        while (strchr(" \t\"'", c = ct_place_char(p, (gssize)(at + n))) && c)
            n++;
        return n;
    }
    /* "--name value", NUL between arguments, "'--name', 'value'" of a list */
    if (!option || (c != ' ' && c != ',' && (c || p->at + at + n >= p->len)))
        return 0;
    while (n < 8 && p->at + at + n < p->len &&
           (!(c = ct_place_char(p, (gssize)(at + n))) || strchr(" ,\"'", c)))
        n++;
    return c == '-' ? 0 : n;
}

gboolean ct_redact_plain_value(const char *value, gsize n)
{
    static const char words[] = " true false yes no none null on off 0 1 required optional enabled "
                                "disabled set unset empty denied failed ok invalid missing ";
    g_autofree char *lower = g_ascii_strdown(value, (gssize)MIN(n, 20));
    g_autofree char *word = g_strconcat(" ", lower, " ", NULL);
    if (strstr(words, word) || ct_redact_is_stand_in(value, n))
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
                                         "authorization", "cookie", "dsn", "pwd"};
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

gboolean ct_redact_looks_secret(const char *value, gsize n)
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

/* "user:password" in base64, as a registry's settings hold it */
static gboolean base64_login(const char *value, gsize n)
{
    char buf[512];
    gsize got = 0;
    if (n < 8 || n >= sizeof(buf) || n % 4)
        return FALSE;
    memcpy(buf, value, n);
    buf[n] = '\0';
    if (strspn(buf, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=") != n)
        return FALSE;
    g_base64_decode_inplace(buf, &got);
    return got > 2 && memchr(buf, ':', got) && g_utf8_validate(buf, (gssize)got, NULL);
}

/* PWD of the environment is a folder; Pwd of a connection is a password. */
static gboolean folder_like(const CtPlace *p, gsize at)
{
    char c = ct_place_char(p, (gssize)at);
    return !c || strchr("/~.$%<(`\\", c) != NULL || ct_place_char(p, (gssize)at + 1) == ':';
}

/* "--key zz81..." gives a secret, "--key server.pem" a file. */
static gboolean bare_key(const CtPlace *p, const char *name, gsize n, gsize at)
{
    gsize v = 0;
    if (n != 3 || g_ascii_strncasecmp(name, "key", 3) != 0)
        return FALSE;
    for (char c; (c = ct_place_char(p, (gssize)(at + v))) && v < MAX_SECRET &&
                 !strchr(" \t\r\n\"',;)]}|&", c);)
        v++;
    const char *value = p->text + p->at + at;
    return v && *value != '/' && !memchr(value, '.', v) && ct_redact_looks_secret(value, v);
}

/* "machine db1 login bob password x" */
static gboolean netrc(const CtPlace *p, const char *name, gsize n)
{
    static const char *const words[] = {"login ", NULL};
    gsize from = p->at > p->line + 80 ? p->at - 80 : p->line;
    return n == 8 && memcmp(name, "password", 8) == 0 &&
           ct_redact_has_word(p->text + from, p->at - from, words);
}

/* "Authorization: token abc": the secret stands behind the scheme. */
static gsize scheme_len(const CtPlace *p, gsize at)
{
    static const char *const schemes[] = {"token ", "apikey ", "api-key ", "digest ", "negotiate "};
    for (gsize i = 0; i < G_N_ELEMENTS(schemes); i++)
        if (ct_place_starts(p, at, schemes[i]))
            return strlen(schemes[i]);
    return 0;
}

/* "- name: DB_PASSWORD" and in the next line "value: x", as Kubernetes writes variables */
static gboolean named_above(const CtPlace *p)
{
    if (p->line < 2 || !p->text[p->line - 2])
        return FALSE;
    gsize end = p->line - 1, from = end;
    while (from && end - from < 200 && p->text[from - 1] != '\n')
        from--;
    const char *at = g_strstr_len(p->text + from, (gssize)(end - from), "name");
    gsize left = at ? (gsize)(p->text + end - at) : 0, k = 4, n = 0;
    while (k < left && strchr(" \"':", at[k]) && at[k])
        k++;
    while (k + n < left && ct_redact_word_char(at[k + n]))
        n++;
    return k > 4 && n >= 3 && n < 80 && secret_name(at + k, n);
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
    gsize sep = separator(p, dashes + n, dashes || netrc(p, name, n));
    gsize at = dashes + n + sep;
    if (!sep || !(secret_name(name, n) || (dashes && bare_key(p, name, n, at)) ||
                  (n == 5 && memcmp(name, "value", 5) == 0 && named_above(p))))
        return 0;
    if (n == 3 && g_ascii_strncasecmp(name, "pwd", 3) == 0 && folder_like(p, at))
        return 0;
    if (ct_place_starts(p, at, "Bearer ") || ct_place_starts(p, at, "Basic "))
        return 0; /* the value itself is found there */
    char quote = ct_place_char(p, (gssize)at - 1);
    gboolean quoted = quote == '"' || quote == '\'';
    at += scheme_len(p, at);
    gboolean whole = n >= 6 && g_ascii_strncasecmp(name + n - 6, "cookie", 6) == 0;
    gboolean query = strchr("?&", ct_place_char(p, -1)) && ct_place_char(p, -1);
    for (char c; (c = ct_place_char(p, (gssize)(at + v))) && v < MAX_SECRET && c != '\n' && c != '\r';
         v++)
        if (quoted || whole ? (quoted && c == quote) || (whole && (c == '"' || c == '\'')) : strchr(query ? " \t\"',;)]}&#" : " \t\"',;)]}", c) != NULL)
            break;
    if (v < 1 || ct_redact_plain_value(p->text + p->at + at, v))
        return 0;
    if (dashes < 2 && weak_name(name, n) && !ct_redact_looks_secret(p->text + p->at + at, v) &&
        !(quoted && base64_login(p->text + p->at + at, v)))
        return 0;
    return ct_redact_take_secret(r, p, at, v, out);
}

/* ---- serial numbers ---- */

gsize ct_redact_serial(CtRedact *r, const CtPlace *p, GString *out)
{
    static const char *const tails[] = {" number is", " number", "-number", "_number", " no.",
                                        "number", "_no", " num"};
    gsize at = 6, n = 0;
    gboolean digit = FALSE;
    if (!ct_place_starts(p, 0, "serial"))
        return 0;
    for (gsize i = 0; i < G_N_ELEMENTS(tails); i++) {
        if (ct_place_starts(p, at, tails[i])) {
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
    char next = ct_place_char(p, (gssize)(at + n));
    /* "SerialNumber: 3530000.xhci" names a device of the board, "serial: ttyTHS1 at" a port */
    if (n < 6 || n > 64 || !digit || next == '/' || ct_place_starts(p, at, "tty") ||
        (next == '.' && g_ascii_isalpha(ct_place_char(p, (gssize)(at + n) + 1))))
        return 0;
    g_autofree char *value = g_strndup(p->text + p->at + at, n);
    ct_redact_learn(r, CT_REDACT_SERIAL, value);
    g_string_append_len(out, p->text + p->at, (gssize)at);
    if (ct_redact_same_shape(r, "serial", value, n, FALSE, out))
        ct_redact_hit(r);
    return at + n;
}
