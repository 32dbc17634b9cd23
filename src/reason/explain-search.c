/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Topics and symptoms in either language. The base holds a few hundred causes, so all of them are
 * read and scored: words for Latin script (matched where a word begins), pairs of characters for
 * Chinese, each term worth more the rarer it is and the weightier the field it stands in.
 */
#include <math.h>
#include <string.h>

#include "reason/explain-private.h"

#define MAX_TERMS 16u
#define MAX_HITS 8u
#define N_FIELDS 4u
#define LEAST_SHARE 0.4 /* of the words of a question; less is chance */

/* Id and keywords say what a cause is about, the title nearly as well, the text may only mention.
 */
static const double FIELD_WEIGHT[N_FIELDS] = {3.0, 3.0, 2.5, 1.0};
static const char CAUSES[] =
    "SELECT id, layer || ' ' || id || ' ' || ifnull(topic, ''), ifnull(keywords, ''), "
    "title_en || ' ' || title_zh, ifnull(about_en, '') || ' ' || ifnull(about_zh, ''), prior "
    "FROM cause ORDER BY id";
static const char RULES[] =
    "SELECT id, id || ' ' || topic, ifnull(symptom, ''), rule, ifnull(look_at, '') || ' ' || "
    "ifnull(remedy, ''), '' FROM compat_rules ORDER BY id";

typedef struct {
    char *text;
    guint documents; /* that hold it */
} Term;

typedef struct {
    char *cause;
    double field[MAX_TERMS]; /* weight of the best field that holds the term */
    gboolean phrase, common;
    double score;
} Document;

typedef struct {
    Term terms[MAX_TERMS];
    guint n;
    char *phrase; /* the whole question, lower case */
    GArray *documents;
} Search;

/* ---- terms ---- */

static void add_term(Search *s, const char *text, gsize len)
{
    if (s->n == MAX_TERMS)
        return;
    g_autofree char *copy = g_strndup(text, len);
    for (guint i = 0; i < s->n; i++)
        if (strcmp(s->terms[i].text, copy) == 0)
            return;
    s->terms[s->n++] = (Term){.text = g_steal_pointer(&copy)};
}

static gboolean is_stop_word(const char *word, gsize len)
{
    static const char words[] =
        " a an the of in on to is are and or for with my me i it we how why "
        "what when does do at by be not no from after this that has have "
        "can cannot error ";
    g_autofree char *key = g_strdup_printf(" %.*s ", (int)len, word);
    return strstr(words, key) != NULL;
}

/* Plural and verb endings are cut, since the rest is matched as the beginning of a word. */
static gsize stem(const char *word, gsize len)
{
    static const char *const endings[] = {"ing", "ies", "ed", "es", "s"};
    for (guint i = 0; i < G_N_ELEMENTS(endings); i++) {
        gsize n = strlen(endings[i]);
        if (len >= n + 4 && strncmp(word + len - n, endings[i], n) == 0)
            return len - n;
    }
    return len;
}

static gboolean is_han(gunichar c)
{
    return g_unichar_get_script(c) == G_UNICODE_SCRIPT_HAN;
}

static const char *take_word(Search *s, const char *p)
{
    const char *begin = p;
    while (g_ascii_isalnum(*p))
        p++;
    gsize len = (gsize)(p - begin);
    if (len >= 2 && !is_stop_word(begin, len))
        add_term(s, begin, stem(begin, len));
    return p;
}

static const char *take_han(Search *s, const char *p)
{
    const char *next = g_utf8_next_char(p);
    if (!*next || !is_han(g_utf8_get_char(next))) {
        /* A single character counts only where it stands alone. */
        const char *before = p > s->phrase ? g_utf8_prev_char(p) : NULL;
        if (!before || !is_han(g_utf8_get_char(before)))
            add_term(s, p, (gsize)(next - p));
        return next;
    }
    add_term(s, p, (gsize)(g_utf8_next_char(next) - p));
    return next;
}

static void find_terms(Search *s)
{
    for (const char *p = s->phrase; *p;) {
        if (g_ascii_isalnum(*p))
            p = take_word(s, p);
        else if (is_han(g_utf8_get_char(p)))
            p = take_han(s, p);
        else
            p = g_utf8_next_char(p);
    }
}

/* ---- matching ---- */

static gboolean holds(const char *text, const char *term)
{
    gboolean word = g_ascii_isalnum(*term);
    for (const char *p = strstr(text, term); p; p = strstr(p + 1, term))
        if (!word || p == text || !g_ascii_isalnum(p[-1]))
            return TRUE;
    return FALSE;
}

static void read_document(Search *s, sqlite3_stmt *st)
{
    Document d = {.cause = ct_dup_column(st, 0)};
    d.common = strcmp(ct_column(st, 5), "common") == 0;
    for (guint f = 0; f < N_FIELDS; f++) {
        g_autofree char *text = g_ascii_strdown(ct_column(st, (int)f + 1), -1);
        d.phrase |= f < N_FIELDS - 1 && strstr(text, s->phrase) != NULL;
        for (guint t = 0; t < s->n; t++)
            if (FIELD_WEIGHT[f] > d.field[t] && holds(text, s->terms[t].text))
                d.field[t] = FIELD_WEIGHT[f];
    }
    for (guint t = 0; t < s->n; t++)
        s->terms[t].documents += d.field[t] > 0;
    g_array_append_val(s->documents, d);
}

static void score(Search *s)
{
    for (guint i = 0; i < s->documents->len; i++) {
        Document *d = &g_array_index(s->documents, Document, i);
        guint held = 0;
        for (guint t = 0; t < s->n; t++) {
            if (d->field[t] <= 0)
                continue;
            held++;
            d->score +=
                d->field[t] * log(1.0 + (double)s->documents->len / (1.0 + s->terms[t].documents));
        }
        /* A document with half of the words is worth far less than half. */
        double share = s->n ? (double)held / s->n : 0;
        d->score *= share < LEAST_SHARE ? 0 : share * share;
        if (d->score > 0)
            d->score += (d->phrase ? 4.0 : 0.0) + (d->common ? 0.3 : 0.0);
    }
}

static gint by_score(gconstpointer a, gconstpointer b)
{
    const Document *x = a, *y = b;
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    return strcmp(x->cause, y->cause);
}

static void search_clear(Search *s)
{
    for (guint i = 0; i < s->n; i++)
        g_free(s->terms[i].text);
    for (guint i = 0; i < s->documents->len; i++)
        g_free(g_array_index(s->documents, Document, i).cause);
    g_array_unref(s->documents);
    g_free(s->phrase);
}

static char *valid_lower(const char *text)
{
    g_autofree char *valid = g_utf8_make_valid(text, -1);
    return g_ascii_strdown(valid, -1);
}

/* Scores all documents of a query, best first. FALSE when the base has no such table. */
static gboolean search_run(CtExplainRun *x, Search *s, const char *topic, const char *sql)
{
    sqlite3_stmt *st = NULL;
    *s = (Search){.phrase = valid_lower(topic)};
    s->documents = g_array_new(FALSE, TRUE, sizeof(Document));
    if (sqlite3_prepare_v2(x->db, sql, -1, &st, NULL) != SQLITE_OK)
        return FALSE;
    find_terms(s);
    while (s->n > 0 && sqlite3_step(st) == SQLITE_ROW)
        read_document(s, st);
    sqlite3_finalize(st);
    score(s);
    g_array_sort(s->documents, by_score);
    return TRUE;
}

/* The nth document while it is good enough to show. */
static const Document *good(const Search *s, guint n, double share_of_best)
{
    if (n >= s->documents->len)
        return NULL;
    const Document *d = &g_array_index(s->documents, Document, n);
    double best = g_array_index(s->documents, Document, 0).score;
    return d->score <= 0.5 || d->score < share_of_best * best ? NULL : d;
}

guint ct_explain_search(CtExplainRun *x, const char *topic)
{
    Search s;
    const Document *d;
    if (search_run(x, &s, topic, CAUSES)) {
        for (guint i = 0; i < MAX_HITS && (d = good(&s, i, 0.2)); i++) {
            CtExplainHit *hit = ct_explain_hit(x, d->cause);
            if (!hit)
                continue;
            hit->weight = d->score;
            g_ptr_array_add(x->out->hits, hit);
        }
    }
    search_clear(&s);
    /* The rules are written in English only. */
    if (!x->zh && search_run(x, &s, topic, RULES)) {
        for (guint i = 0; i < 2 && (d = good(&s, i, 0.5)) && d->score > 3; i++)
            ct_explain_rule_row(x, d->cause);
        search_clear(&s);
    } else if (!x->zh) {
        search_clear(&s);
    }
    return x->out->hits->len + x->out->rows->len;
}

/* ---- what may have been meant ---- */

#define MAX_NAME 80u

/* Levenshtein distance without regard to case and to anything but letters and digits. */
static guint distance(const char *a, const char *b)
{
    guint row[MAX_NAME + 1];
    char x[MAX_NAME], y[MAX_NAME];
    gsize n = 0, m = 0;
    for (; *a && n < MAX_NAME; a++)
        if (g_ascii_isalnum(*a))
            x[n++] = g_ascii_tolower(*a);
    for (; *b && m < MAX_NAME; b++)
        if (g_ascii_isalnum(*b))
            y[m++] = g_ascii_tolower(*b);
    for (gsize j = 0; j <= m; j++)
        row[j] = (guint)j;
    for (gsize i = 1; i <= n; i++) {
        guint diagonal = row[0];
        row[0] = (guint)i;
        for (gsize j = 1; j <= m; j++) {
            guint above = row[j], change = diagonal + (x[i - 1] != y[j - 1]);
            row[j] = MIN(MIN(row[j] + 1, row[j - 1] + 1), change);
            diagonal = above;
        }
    }
    return row[m];
}

typedef struct {
    char *name;
    guint distance;
} Near;

static gint by_distance(gconstpointer a, gconstpointer b)
{
    const Near *x = a, *y = b;
    return x->distance != y->distance ? (x->distance < y->distance ? -1 : 1)
                                      : strcmp(x->name, y->name);
}

static void suggest_names(CtExplainRun *x, const char *word)
{
    guint limit = CLAMP((guint)strlen(word) / 4, 1, 6);
    g_autoptr(GArray) near = g_array_new(FALSE, FALSE, sizeof(Near));
    sqlite3_stmt *st = ct_prepare(
        x->db, "SELECT id FROM cause UNION SELECT name FROM code WHERE name IS NOT NULL UNION "
               "SELECT alt_name FROM code WHERE alt_name IS NOT NULL");
    while (sqlite3_step(st) == SQLITE_ROW) {
        Near n = {.distance = distance(word, ct_column(st, 0))};
        if (n.distance > limit)
            continue;
        n.name = ct_dup_column(st, 0);
        g_array_append_val(near, n);
    }
    sqlite3_finalize(st);
    g_array_sort(near, by_distance);
    for (guint i = 0; i < near->len; i++) {
        Near *n = &g_array_index(near, Near, i);
        if (i < 5)
            g_ptr_array_add(x->out->suggestions, g_steal_pointer(&n->name));
        g_free(n->name);
    }
}

void ct_explain_suggest_number(CtExplainRun *x, const char *family, gint64 number)
{
    const CtCodeFamily *f = ct_code_family(family ? family : "cuda");
    sqlite3_stmt *st = ct_prepare(
        x->db, "SELECT number, coalesce(name, '') FROM code WHERE family = ?1 AND number IS NOT "
               "NULL ORDER BY abs(number - ?2), number LIMIT 4");
    sqlite3_bind_text(st, 1, family ? family : "cuda", -1, SQLITE_STATIC);
    sqlite3_bind_int64(st, 2, CLAMP(number, -1000000000, 1000000000));
    while (f && sqlite3_step(st) == SQLITE_ROW)
        g_ptr_array_add(x->out->suggestions,
                        g_strdup_printf("%s %s  %s", f->family, ct_column(st, 0),
                                        ct_column(st, 1)));
    sqlite3_finalize(st);
}

/* "CUDA_ERROR_FOO" has no near name, but a table of names that begin like it. */
static void suggest_siblings(CtExplainRun *x, const char *word)
{
    const char *last = strrchr(word, '_');
    gsize n = last ? (gsize)(last - word) + 1 : g_str_has_prefix(word, "cudaError") ? 9 : 0;
    sqlite3_stmt *st = ct_prepare(
        x->db, "SELECT name FROM (SELECT id, name FROM code UNION ALL SELECT id, alt_name FROM code) "
               "WHERE substr(name, 1, ?2) = substr(?1, 1, ?2) GROUP BY name ORDER BY min(id) LIMIT 4");
    sqlite3_bind_text(st, 1, word, -1, SQLITE_STATIC);
    sqlite3_bind_int64(st, 2, (gint64)n);
    while (n >= 4 && sqlite3_step(st) == SQLITE_ROW)
        g_ptr_array_add(x->out->suggestions, ct_dup_column(st, 0));
    sqlite3_finalize(st);
}

void ct_explain_suggest(CtExplainRun *x, const char *word)
{
    if (strlen(word) > MAX_NAME)
        return;
    suggest_names(x, word);
    if (x->out->suggestions->len == 0)
        suggest_siblings(x, word);
}
