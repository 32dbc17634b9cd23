/* SPDX-License-Identifier: Apache-2.0 */
/* Passwords that stand behind an option of one letter: only the program says what it means. */
#include <string.h>

#include "collect/redact-private.h"

typedef struct {
    const char *programs; /* with a blank around each */
    const char *option;
    gboolean attached, apart; /* "-pVALUE", "-p VALUE" */
} Login;

static const Login logins[] = {
    {" mysql mariadb mysqldump mariadb-dump mysqladmin mariadb-admin mysqlimport mysqlslap mycli ",
     "-p", TRUE, FALSE},
    {" sshpass ", "-p", TRUE, TRUE},
    {" mongo mongosh mongodump mongorestore mongoexport rabbitmqadmin cqlsh vsql ", "-p", FALSE, TRUE},
    {" docker podman nerdctl skopeo oras buildah helm ", "-p", FALSE, TRUE},
    {" redis-cli valkey-cli ", "-a", FALSE, TRUE},
    {" sqlcmd bcp isql osql mosquitto_pub mosquitto_sub ipmitool unzip zip ", "-P", TRUE, TRUE},
    {" ldapsearch ldapadd ldapmodify ldapwhoami ", "-w", TRUE, TRUE},
    {" 7z 7za 7zz ", "-p", TRUE, FALSE},
};

static gboolean ends_word(char c)
{
    return !c || strchr(" \t\r\n\"',|;&<>)]", c);
}

/* Is one of the programs named in the command before the option? */
static gboolean program_before(const CtPlace *p, const char *programs, gboolean *out_login)
{
    gsize from = p->at > p->line + 400 ? p->at - 400 : p->line, begin = p->at;
    gboolean found = FALSE;
    *out_login = FALSE;
    while (begin > from && !strchr("|;&", p->text[begin - 1] ? p->text[begin - 1] : ' '))
        begin--;
    for (gsize at = begin; at < p->at;) {
        gsize n = 0;
        char buf[32];
        while (at + n < p->at && !ends_word(p->text[at + n]) && p->text[at + n] != '/')
            n++;
        if (n && n < sizeof(buf) - 2) {
            g_snprintf(buf, sizeof(buf), " %.*s ", (int)n, p->text + at);
            found |= strstr(programs, buf) != NULL;
            *out_login |= strcmp(buf, " login ") == 0;
        }
        at += n + 1;
    }
    return found;
}

static gsize value_len(const CtPlace *p, gsize at)
{
    gsize n = 0;
    while (n < 200 && !ends_word(ct_place_char(p, (gssize)(at + n))))
        n++;
    return n;
}

/* How far the value of the option is: right behind it, or the next argument, also of a list. */
static gsize value_at(const CtPlace *p, gsize k, const Login *l)
{
    gsize at = k;
    char c = ct_place_char(p, (gssize)at);
    if (!ends_word(c))
        return l->attached ? at : 0;
    if (c == '\'' || c == '"') {
        if (!ends_word(ct_place_char(p, (gssize)at + 1)))
            return l->attached ? at + 1 : 0; /* -p'VALUE' */
    }
    if (!l->apart)
        return 0;
    while (p->at + at < p->len && at < k + 6 &&
           ((c = ct_place_char(p, (gssize)at)) == '\0' || strchr(" \t\"',", c)))
        at++;
    return at > k && c != '-' ? at : 0;
}

/* "curl -u bob:pass"; not "docker run -u 1000:1000", where user and group stand. */
static gsize user_option(CtRedact *r, const CtPlace *p, GString *out)
{
    gsize at = ct_place_starts(p, 0, "--user") ? 6 : ct_place_starts(p, 0, "-u") ? 2 : 0;
    gsize colon = 0, n = 0;
    gboolean letters = FALSE;
    char c = ct_place_char(p, (gssize)at);
    if (!at || p->at + at >= p->len || (at == 6 && c && !strchr(" =", c)))
        return 0;
    gboolean attached = at == 2 && c && !strchr(" =", c), login;
    if (attached && !program_before(p, " curl http https xh ", &login))
        return 0;
    if (program_before(p, " docker podman nerdctl compose runuser ", &login))
        return 0;
    at += !attached;
    for (; (c = ct_place_char(p, (gssize)(at + n))) && n < 200 && !strchr(" \t\r\n\"'", c); n++) {
        if (c == ':' && !colon)
            colon = n + 1;
        letters |= colon && g_ascii_isalpha(c);
    }
    return colon && colon < n && letters ? ct_redact_take_secret(r, p, at, n, out) : 0;
}

gsize ct_redact_login(CtRedact *r, const CtPlace *p, GString *out)
{
    char before = ct_place_char(p, -1);
    if (ct_place_char(p, 0) != '-' || (before && !strchr(" \t\n\"'", before)))
        return 0;
    for (gsize i = 0; i < G_N_ELEMENTS(logins); i++) {
        const Login *l = &logins[i];
        gsize k = strlen(l->option);
        if (p->at + k > p->len || memcmp(p->text + p->at, l->option, k) != 0)
            continue;
        gsize at = value_at(p, k, l), n = at ? value_len(p, at) : 0;
        gboolean login;
        if (!n || ct_redact_plain_value(p->text + p->at + at, n) ||
            !program_before(p, l->programs, &login))
            continue;
        /* "docker run -p 8000:8000" publishes a port */
        if (strstr(l->programs, " docker ") && !login)
            continue;
        return ct_redact_take_secret(r, p, at, n, out);
    }
    return user_option(r, p, out);
}
