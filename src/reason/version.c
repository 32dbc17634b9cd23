/* SPDX-License-Identifier: Apache-2.0 */
#include "reason/version.h"

#include <string.h>

#define MAX_PARTS 8

typedef struct {
    guint64 part[MAX_PARTS];
    guint n;
    int stage;       /* 0 is the release; before it rc -1, beta -2, alpha -3, dev -4 */
    guint64 stage_n; /* of rc2 */
} Version;

static guint64 read_number(const char **at)
{
    guint64 n = 0;
    for (; g_ascii_isdigit(**at); (*at)++)
        n = n > G_MAXUINT64 / 10 - 1 ? G_MAXUINT64 / 10 : n * 10 + (guint64)(**at - '0');
    return n;
}

/* "rc2", "a0", ".dev3", "-beta1" behind the numbers. Anything else belongs to the package. */
static void read_stage(const char *at, Version *v)
{
    static const struct {
        const char *word;
        int stage;
    } stages[] = {{"rc", -1}, {"beta", -2}, {"b", -2},   {"alpha", -3},
                  {"a", -3},  {"pre", -1},  {"dev", -4}, {"ea", -1}};
    gboolean apart = *at == '.' || *at == '-' || *at == '~' || *at == '_';
    if (apart)
        at++;
    for (guint i = 0; i < G_N_ELEMENTS(stages); i++) {
        gsize len = strlen(stages[i].word);
        /* 5.1.2-b104 is a build number, 5.1.2b1 a beta. */
        if (apart && len == 1)
            continue;
        if (g_ascii_strncasecmp(at, stages[i].word, len) != 0 || g_ascii_isalpha(at[len]))
            continue;
        at += len;
        if (*at == '.' || *at == '-')
            at++;
        v->stage = stages[i].stage;
        v->stage_n = read_number(&at);
        return;
    }
}

/* Everything before the first digit is a name ("v", "R", "CUDA "); an epoch "1:" goes too. */
static const char *first_digit(const char *text)
{
    while (*text && !g_ascii_isdigit(*text))
        text++;
    const char *p = text;
    while (g_ascii_isdigit(*p))
        p++;
    return p != text && *p == ':' && g_ascii_isdigit(p[1]) ? p + 1 : text;
}

static gboolean parse(const char *text, Version *v)
{
    memset(v, 0, sizeof(*v));
    if (!text)
        return FALSE;
    const char *at = first_digit(text);
    if (!g_ascii_isdigit(*at))
        return FALSE;
    for (;;) {
        guint64 n = read_number(&at);
        if (v->n < MAX_PARTS)
            v->part[v->n++] = n;
        if (*at != '.' || !g_ascii_isdigit(at[1]))
            break;
        at++;
    }
    read_stage(at, v);
    return TRUE;
}

static int order(guint64 a, guint64 b)
{
    return a < b ? -1 : a > b;
}

static int compare(const Version *a, const Version *b, guint parts)
{
    guint n = parts ? MIN(parts, MAX_PARTS) : MAX_PARTS;
    for (guint i = 0; i < n; i++)
        if (a->part[i] != b->part[i])
            return order(a->part[i], b->part[i]);
    if (parts)
        return 0;
    if (a->stage != b->stage)
        return a->stage < b->stage ? -1 : 1;
    return order(a->stage_n, b->stage_n);
}

gboolean ct_version_compare(const char *a, const char *b, guint parts, int *out)
{
    Version x, y;
    if (!parse(a, &x) || !parse(b, &y))
        return FALSE;
    *out = compare(&x, &y, parts);
    return TRUE;
}

/* Reads one term at *at and leaves *at behind it. */
static gboolean term_holds(const Version *v, const char **at, gboolean *out)
{
    static const char *const operators[] = {">=", "<=", "==", "!=", ">", "<", "=", ""};
    guint op = 0;
    while (strncmp(*at, operators[op], strlen(operators[op])) != 0)
        op++;
    *at += strlen(operators[op]);
    while (g_ascii_isspace(**at))
        (*at)++;
    gsize len = strcspn(*at, " ,|\t");
    g_autofree char *text = g_strndup(*at, len);
    *at += len;
    Version want;
    if (!parse(text, &want))
        return FALSE;
    int c = compare(v, &want, 0);
    gboolean same = compare(v, &want, want.n) == 0;
    switch (op) {
    case 0:
        *out = c >= 0;
        break;
    case 1:
        *out = c <= 0;
        break;
    case 3:
        *out = !same;
        break;
    case 4:
        *out = c > 0;
        break;
    case 5:
        *out = c < 0;
        break;
    default:
        *out = same;
        break;
    }
    return TRUE;
}

gboolean ct_version_in(const char *version, const char *range, gboolean *out)
{
    Version v;
    if (!range || !parse(version, &v))
        return FALSE;
    gboolean any = FALSE, all = TRUE, seen = FALSE;
    for (const char *at = range;;) {
        at += strspn(at, " ,\t");
        if (!*at || strncmp(at, "||", 2) == 0) {
            any = any || (all && seen);
            if (!*at)
                break;
            all = TRUE, seen = FALSE;
            at += 2;
            continue;
        }
        gboolean holds;
        if (*at == '|' || !term_holds(&v, &at, &holds))
            return FALSE;
        all = all && holds;
        seen = TRUE;
    }
    *out = any;
    return TRUE;
}
