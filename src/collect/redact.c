/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/redact-private.h"

#include <string.h>

#define MAX_LEARNT 4096u
#define MAX_VALUE ((gsize)512)

typedef struct {
    char *value;
    gsize len;
    CtRedactKind kind;
} Learnt;

struct CtRedact {
    guint8 key[CT_REDACT_KEY];
    GPtrArray *by_first[256]; /* Learnt, the longest first */
    GHashTable *known;        /* values that were learnt */
    GHashTable *versions;     /* four numbers that stood where only a version stands */
    GHashTable *vocabulary;   /* what keys of facts begin with: no name of anybody */
    guint n_learnt, count;
};

static void learnt_free(gpointer data)
{
    g_free(((Learnt *)data)->value);
    g_free(data);
}

CtRedact *ct_redact_new(const guint8 key[CT_REDACT_KEY])
{
    CtRedact *r = g_new0(CtRedact, 1);
    memcpy(r->key, key, CT_REDACT_KEY);
    r->known = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    r->versions = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    r->vocabulary = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    return r;
}

void ct_redact_free(CtRedact *r)
{
    if (!r)
        return;
    for (guint i = 0; i < 256; i++)
        if (r->by_first[i])
            g_ptr_array_unref(r->by_first[i]);
    g_hash_table_unref(r->known);
    g_hash_table_unref(r->versions);
    g_hash_table_unref(r->vocabulary);
    memset(r->key, 0, sizeof(r->key));
    g_free(r);
}

const guint8 *ct_redact_key(const CtRedact *r)
{
    return r->key;
}

guint ct_redact_count(const CtRedact *r)
{
    return r->count;
}

void ct_redact_hit(CtRedact *r)
{
    r->count++;
}

const char *ct_redact_kind_name(CtRedactKind kind)
{
    static const char *const names[] = {"user", "host", "serial", "container", "secret"};
    return names[kind];
}

/* Names that tell nothing of anybody, and words that evidence is made of. */
gboolean ct_redact_common(const char *word, gsize len)
{
    static const char words[] =
        " root localhost localdomain ubuntu nvidia jetson debian user users admin host guest test "
        "docker container containers tegra tegra-ubuntu orin xavier nano thor node server linux "
        "app apps runner data home www www-data nobody nogroup daemon default none null yes no "
        "true false on off cuda python python3 torch driver kernel model models triton tensorrt "
        "memory error warning info debug trace fatal notice shared public work workspace build "
        "video render gpu cpu system systemd local bin usr opt lib tmp var etc proc sys dev "
        "unknown pod job main worker master service services kubernetes slurm git www. git. jovyan "
        "vscode ec2-user centos fedora rocky opc azureuser workbench developer "
        /* words of ordinary lines, which stand where a name stands in other formats */
        "version versions release revision package library module engine request response client "
        "session thread process device network message input output file files path name value "
        "key count time total failed failure success start started stop stopped begin end ready "
        "loader loading loaded allocator buffer stream event events state status result results "
        "batch layer tensor weight weights cache config options profile kernel interface address "
        "command program script test tests prod production staging release stable latest note "
        "the and not for from with this that was has are new old set get run use all any one two "
        "can may will but its his her our your you who what when where which there their then "
        "than into over under after before while until each some more most other only also cgroup "
        "disk limit numa pressure sysctl schedule power board clock swap uptime load machine "
        "platform generic unix windows darwin x86 x86_64 amd64 arm64 aarch64 smp preempt ";
    char buf[40];
    if (len < 3)
        return TRUE;
    if (len > 30)
        return FALSE;
    g_snprintf(buf, sizeof(buf), " %.*s ", (int)len, word);
    for (char *p = buf; *p; p++)
        *p = g_ascii_tolower(*p);
    return strstr(words, buf) != NULL;
}

static int longer_first(gconstpointer a, gconstpointer b)
{
    const Learnt *x = *(Learnt *const *)a, *y = *(Learnt *const *)b;
    return x->len < y->len ? 1 : x->len > y->len ? -1 : strcmp(x->value, y->value);
}

static gboolean only_digits(const char *value)
{
    return value[strspn(value, "0123456789.")] == '\0';
}

static gboolean container_name(const char *value)
{
    return strspn(value, "0123456789abcdef") == 12 && strpbrk(value, "0123456789");
}

void ct_redact_learn(CtRedact *r, CtRedactKind kind, const char *value)
{
    gsize len = value ? strlen(value) : 0;
    if (len < (kind == CT_REDACT_SECRET ? 6u : 3u) || len > MAX_VALUE ||
        r->n_learnt >= MAX_LEARNT || ct_redact_common(value, len) ||
        ct_redact_is_stand_in(value, len) ||
        (only_digits(value) && (len < 8 || strchr(value, '.'))) ||
        g_hash_table_contains(r->known, value))
        return;
    if (kind == CT_REDACT_HOST && len == 12 && container_name(value))
        kind = CT_REDACT_CONTAINER; /* a container's host name is its id, unless someone names it */
    Learnt *l = g_new0(Learnt, 1);
    l->value = g_strdup(value);
    l->len = len;
    l->kind = kind;
    GPtrArray **bucket = &r->by_first[(guchar)value[0]];
    if (!*bucket)
        *bucket = g_ptr_array_new_with_free_func(learnt_free);
    g_ptr_array_add(*bucket, l);
    g_ptr_array_sort(*bucket, longer_first);
    g_hash_table_add(r->known, g_strdup(value));
    r->n_learnt++;
}

/* ---- versions ---- */

void ct_redact_learn_version(CtRedact *r, const char *value, gsize len)
{
    if (g_hash_table_size(r->versions) < MAX_LEARNT)
        g_hash_table_add(r->versions, g_strndup(value, len));
}

gboolean ct_redact_known_version(const CtRedact *r, const char *value, gsize len)
{
    char buf[20];
    g_snprintf(buf, sizeof(buf), "%.*s", (int)len, value);
    return g_hash_table_contains(r->versions, buf);
}

/* ---- the pass over a text ---- */

static gsize learnt_word(CtRedact *r, const CtPlace *p, GString *out)
{
    const GPtrArray *bucket = r->by_first[(guchar)p->text[p->at]];
    for (guint i = 0; bucket && i < bucket->len; i++) {
        const Learnt *l = g_ptr_array_index(bucket, i);
        if (l->len > p->len - p->at || memcmp(p->text + p->at, l->value, l->len) != 0)
            continue;
        char next = ct_place_char(p, (gssize)l->len);
        /* "anna" is no part of "annaconda", nor of "nvidia-anna" when it is a user's name */
        if (ct_redact_word_char(next) || ct_redact_word_char(ct_place_char(p, -1)))
            continue;
        if (l->kind <= CT_REDACT_HOST && g_hash_table_contains(r->vocabulary, l->value))
            return 0;
        if (l->kind == CT_REDACT_CONTAINER)
            ct_redact_container_id(r, l->value, l->len, out);
        else if (l->kind == CT_REDACT_SERIAL)
            r->count += ct_redact_same_shape(r, "serial", l->value, l->len, FALSE, out);
        else
            ct_redact_stand_in(r, ct_redact_kind_name(l->kind), l->value, l->len, out);
        return l->len;
    }
    return 0;
}

static gsize private_key(CtRedact *r, const CtPlace *p, GString *out)
{
    static const char begin[] = "-----BEGIN ";
    gsize left = p->len - p->at;
    const char *text = p->text + p->at;
    if (left < sizeof(begin) || memcmp(text, begin, sizeof(begin) - 1) != 0)
        return 0;
    const char *kind = g_strstr_len(text, (gssize)MIN(left, 60), "PRIVATE KEY");
    if (!kind)
        return 0;
    const char *end = g_strstr_len(text, (gssize)MIN(left, 20000), "-----END ");
    const char *stop = end ? g_strstr_len(end + 9, (gssize)MIN(left - (gsize)(end + 9 - text), 60),
                                          "-----")
                           : NULL;
    gsize n = stop ? (gsize)(stop + 5 - text) : MIN(left, 4096u);
    ct_redact_stand_in(r, "secret", text, n, out);
    return n;
}

static const CtRedactMatch matches[] = {
    private_key,      ct_redact_named_secret, ct_redact_shaped_secret, ct_redact_login,
    ct_redact_uuid,   ct_redact_chinese_secret,
    ct_redact_mac,    ct_redact_ipv6,         ct_redact_ipv4,          ct_redact_home,
    ct_redact_serial, ct_redact_account,      ct_redact_container,     learnt_word,
};

/* Nothing begins inside of a word, so a word is looked at where it starts. */
static gboolean may_begin(const CtPlace *p)
{
    char c = p->text[p->at], before = ct_place_char(p, -1);
    if (c == '/' || c == '-' || c == ':' || c == '\\')
        return TRUE;
    if ((guchar)c >= 0xe4) /* a Chinese sign */
        return TRUE;
    return ct_redact_word_char(c) && !ct_redact_word_char(before);
}

/* "version.tensorrt", "package.libnvinfer10", "library.libcudnn.so.9", "gpu.gsp-firmware" */
static gboolean version_key(const char *about)
{
    static const char words[] = " version versions package packages library libraries firmware vbios "
                                "driver toolkit soname release revision module ";
    g_auto(GStrv) parts = about ? g_strsplit_set(about, ".-_", 16) : NULL;
    for (guint i = 0; parts && parts[i]; i++) {
        g_autofree char *word = g_strconcat(" ", parts[i], " ", NULL);
        if (*parts[i] && strstr(words, word))
            return TRUE;
    }
    return FALSE;
}

static void pass(CtRedact *r, const char *text, gsize len, gboolean version, gboolean looking,
                 GString *out)
{
    CtPlace p = {text, len, 0, 0, version, looking};
    while (p.at < len) {
        gsize took = 0;
        if (may_begin(&p))
            for (gsize i = 0; i < G_N_ELEMENTS(matches) && !took; i++)
                took = matches[i](r, &p, out);
        if (!took) {
            g_string_append_c(out, text[p.at]);
            took = 1;
        }
        if (text[p.at] == '\n' && took == 1)
            p.line = p.at + 1;
        p.at += took;
    }
}

char *ct_redact_text(CtRedact *r, const char *text, gsize len, gsize *out_len)
{
    return ct_redact_value(r, NULL, text, len, out_len);
}

char *ct_redact_value(CtRedact *r, const char *about, const char *text, gsize len, gsize *out_len)
{
    GString *out = g_string_sized_new(len + len / 8 + 16);
    pass(r, text, len, version_key(about), FALSE, out);
    if (out_len)
        *out_len = out->len;
    return g_string_free(out, FALSE);
}

void ct_redact_bytes(CtRedact *r, GByteArray *bytes)
{
    gsize len;
    g_autofree char *text = ct_redact_text(r, (const char *)bytes->data, bytes->len, &len);
    g_byte_array_set_size(bytes, 0);
    g_byte_array_append(bytes, (const guint8 *)text, (guint)len);
}

/* ---- learning ---- */

static void learn_len(CtRedact *r, CtRedactKind kind, const char *p, gsize len)
{
    if (len > MAX_VALUE)
        return;
    g_autofree char *value = g_strndup(p, len);
    ct_redact_learn(r, kind, value);
}

static gsize name_len(const char *p, gsize left)
{
    gsize n = 0;
    while (n < left && (ct_redact_word_char(p[n]) || p[n] == '-' || p[n] == '.'))
        n++;
    while (n && p[n - 1] == '.')
        n--;
    return n;
}

/* "Nov 30 22:25:32 HOST tag: text" and "2025-11-30T22:25:32+00:00 HOST tag: text" */
static void look_syslog(CtRedact *r, const char *line, gsize len)
{
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    gsize at = 0;
    g_autofree char *head = g_strndup(line, MIN(len, 3));
    const char *month = strlen(head) == 3 ? strstr(months, head) : NULL;
    if (month && (month - months) % 3 == 0 && len > 20 && line[3] == ' ' && line[9] == ':' &&
        line[12] == ':' && line[15] == ' ')
        at = 16;
    else if (len > 30 && line[4] == '-' && line[10] == 'T' && line[13] == ':') {
        while (at < len && at < 40 && line[at] != ' ' && line[at] != ',')
            at++;
        if (at < 24 || at >= len || line[at] == ',')
            return; /* no zone: a program's own stamp; with a comma: dmesg, which names no host */
        at++;
    }
    gsize n = at ? name_len(line + at, len - at) : 0;
    if (!n || at + n + 2 >= len || line[at + n] != ' ')
        return;
    const char *tag = line + at + n + 1;
    gsize t = 0;
    while (tag + t < line + len && tag[t] != ' ')
        t++;
    gboolean upper = TRUE;
    for (gsize i = 0; i < n; i++)
        upper &= !g_ascii_islower(line[at + i]);
    gboolean plain = t > 1 && tag[t - 1] == ':' && !memchr(tag, ':', t - 1);
    if (plain && !(upper && n < 8))
        learn_len(r, CT_REDACT_HOST, line + at, n);
}

/* NAME=VALUE anywhere in the line, also behind NUL of an environment. */
static void look_variable(CtRedact *r, const char *line, gsize len, const char *name,
                          CtRedactKind kind)
{
    gsize n = strlen(name);
    const char *at = line, *end = line + len;
    while ((at = g_strstr_len(at, end - at, name))) {
        const char *value = at + n;
        if (at == line || !ct_redact_word_char(at[-1])) {
            value += value < end && (*value == '"' || *value == '\'');
            learn_len(r, kind, value, name_len(value, (gsize)(end - value)));
        }
        at += n;
    }
}

/* "Linux HOST 5.15.0-91-generic #101..." */
static void look_uname(CtRedact *r, const char *line, gsize len)
{
    if (len < 16 || memcmp(line, "Linux ", 6) != 0)
        return;
    gsize n = name_len(line + 6, len - 6);
    if (n == 7 && memcmp(line + 6, "version", 7) == 0)
        return; /* what the kernel says of itself in /proc/version and at boot */
    if (n && 6 + n + 4 < len && line[6 + n] == ' ' && g_ascii_isdigit(line[7 + n]) &&
        memchr(line + 7 + n, '#', len - 7 - n))
        learn_len(r, CT_REDACT_HOST, line + 6, n);
}

static void look_line(CtRedact *r, const char *line, gsize len)
{
    static const struct {
        const char *name;
        CtRedactKind kind;
    } names[] = {
        {"HOSTNAME=", CT_REDACT_HOST},     {"hostname=", CT_REDACT_HOST},
        {"USER=", CT_REDACT_USER},         {"LOGNAME=", CT_REDACT_USER},
        {"USERNAME=", CT_REDACT_USER},     {"SUDO_USER=", CT_REDACT_USER},
        {"SLURMD_NODENAME=", CT_REDACT_HOST}, {"MASTER_ADDR=", CT_REDACT_HOST},
        {"Static hostname: ", CT_REDACT_HOST},
    };
    if (!len)
        return;
    look_syslog(r, line, len);
    look_uname(r, line, len);
    for (gsize i = 0; i < G_N_ELEMENTS(names) && len < 65536; i++)
        look_variable(r, line, len, names[i].name, names[i].kind);
}

void ct_redact_look(CtRedact *r, const char *text, gsize len)
{
    ct_redact_look_at(r, NULL, text, len);
}

void ct_redact_look_at(CtRedact *r, const char *about, const char *text, gsize len)
{
    guint count = r->count;
    if (about && g_hash_table_size(r->vocabulary) < MAX_LEARNT)
        g_hash_table_add(r->vocabulary, g_strndup(about, strcspn(about, ".")));
    g_autoptr(GString) out = g_string_new(NULL);
    for (gsize at = 0; at < len;) {
        const char *end = memchr(text + at, '\n', len - at);
        gsize n = end ? (gsize)(end - text) - at : len - at;
        look_line(r, text + at, n);
        at += n + 1;
    }
    pass(r, text, len, version_key(about), TRUE, out); /* the matchers learn as they go */
    r->count = count;
}
