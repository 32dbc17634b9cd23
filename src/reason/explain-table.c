/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Releases and architectures: rows of the compatibility tables, as they stand there. A question is
 * a word that names the table and what to look for in it: "jetpack 6.2", "driver 535", "sm_87".
 */
#include <string.h>

#include "reason/explain-private.h"

#define MAX_ROWS 3u

/* ?1 is what was asked for; a release that does not exist as such is taken as the beginning of
 * others ("36.4" of "36.4.3"). */
#define BY_RELEASE(table, column)                                                                  \
    "(" column " = ?1 OR (substr(" column ", 1, length(?1) + 1) = ?1 || '.' AND NOT EXISTS "       \
    "(SELECT 1 FROM " table " WHERE " column " = ?1)))"

static const struct {
    const char *words, *table, *title, *where;
} TABLES[] = {
    {" sm sm_ compute compute_ capability ", "compat_gpu_arch", "sm || ' ' || arch",
     "sm = 'sm_' || replace(?1, '.', '') OR capability = ?1"},
    {" jetpack jp ", "compat_jetson_release", "'JetPack ' || jetpack || ', L4T ' || l4t",
     BY_RELEASE("compat_jetson_release", "jetpack") " ORDER BY date DESC"},
    {" l4t r jetson linux ", "compat_jetson_release", "'L4T ' || l4t || ', JetPack ' || jetpack",
     BY_RELEASE("compat_jetson_release", "l4t") " ORDER BY date DESC"},
    {" driver branch nvidia-driver ", "compat_driver_branch", "'driver branch ' || branch",
     "branch = ?1 OR ?1 LIKE branch || '.%'"},
    {" cuda toolkit cudatoolkit ", "compat_cuda_toolkit", "'CUDA ' || cuda || ' ' || update_name",
     "instr(?1, '.') > 0 AND (cuda = ?1 OR ?1 LIKE cuda || '.%')"},
    {" tensorrt trt ", "compat_tensorrt", "'TensorRT ' || version",
     "instr(?1, '.') > 0 AND " BY_RELEASE("compat_tensorrt", "version")},
    {" tag plan serialization ", "compat_trt_plan_tag", "'plan tag ' || tag", "tag = ?1"},
};

void ct_explain_row_free(gpointer row)
{
    CtExplainRow *r = row;
    g_free(r->table);
    g_free(r->title);
    g_ptr_array_unref(r->pairs);
    g_free(r);
}

/* The first column is the title; empty fields and the bookkeeping of the table are left out. */
static guint add_rows(CtExplainRun *x, sqlite3_stmt *st, const char *table)
{
    guint added = 0;
    while (added < MAX_ROWS && sqlite3_step(st) == SQLITE_ROW) {
        CtExplainRow *r = g_new0(CtExplainRow, 1);
        r->table = g_strdup(table);
        r->title = ct_dup_column(st, 0);
        r->pairs = g_ptr_array_new_with_free_func(ct_explain_pair_free);
        for (int i = 1; i < sqlite3_column_count(st); i++) {
            const char *name = sqlite3_column_name(st, i);
            if (sqlite3_column_text(st, i) && !strstr(name, "confidence") &&
                strcmp(name, "source") != 0)
                ct_add_pair(r->pairs, name, ct_column(st, i));
        }
        g_ptr_array_add(x->out->rows, r);
        added++;
    }
    return added;
}

static guint look_in(CtExplainRun *x, guint i, const char *wanted)
{
    g_autofree char *sql = g_strdup_printf("SELECT %s, * FROM %s WHERE %s", TABLES[i].title,
                                           TABLES[i].table, TABLES[i].where);
    sqlite3_stmt *st = NULL;
    /* A knowledge folder of one's own may lack the table. */
    if (sqlite3_prepare_v2(x->db, sql, -1, &st, NULL) != SQLITE_OK)
        return 0;
    sqlite3_bind_text(st, 1, wanted, -1, SQLITE_STATIC);
    guint added = add_rows(x, st, TABLES[i].table);
    sqlite3_finalize(st);
    return added;
}

/* Splits "JetPack 6.2" and "sm_87" into the word and the release; FALSE when it is neither. */
static gboolean split(const char *query, char **out_word, char **out_release)
{
    gsize len = strlen(query), at = len;
    while (at > 0 && (g_ascii_isdigit(query[at - 1]) || query[at - 1] == '.'))
        at--;
    if (at == 0 || at == len || len > 60 || !g_ascii_isdigit(query[at]))
        return FALSE;
    g_autofree char *word = g_strstrip(g_strndup(query, at));
    gsize n = strcspn(word, " \t");
    if (word[n] || n == 0) {
        /* "nvidia driver 535": the last word decides. */
        char *blank = strrchr(word, ' ');
        if (!blank)
            return FALSE;
        memmove(word, blank + 1, strlen(blank + 1) + 1);
    }
    *out_word = g_ascii_strdown(word, -1);
    *out_release = g_strdup(query + at);
    return TRUE;
}

guint ct_explain_release(CtExplainRun *x, const char *query)
{
    g_autofree char *word = NULL, *release = NULL;
    if (!split(query, &word, &release))
        return 0;
    g_autofree char *key = g_strdup_printf(" %s ", word);
    guint added = 0;
    for (guint i = 0; !added && i < G_N_ELEMENTS(TABLES); i++)
        if (strstr(TABLES[i].words, key))
            added = look_in(x, i, release);
    return added;
}

/* The newest rows of a table, as what may have been meant. */
static void suggest_rows(CtExplainRun *x, guint i)
{
    sqlite3_stmt *st = NULL;
    g_autofree char *sql = g_strdup_printf("SELECT DISTINCT %s FROM %s ORDER BY rowid DESC LIMIT 4",
                                           TABLES[i].title, TABLES[i].table);
    if (sqlite3_prepare_v2(x->db, sql, -1, &st, NULL) != SQLITE_OK)
        return;
    while (sqlite3_step(st) == SQLITE_ROW)
        if (sqlite3_column_text(st, 0))
            g_ptr_array_add(x->out->suggestions, ct_dup_column(st, 0));
    sqlite3_finalize(st);
}

gboolean ct_explain_no_release(CtExplainRun *x, const char *query)
{
    g_autofree char *word = NULL, *release = NULL;
    if (!split(query, &word, &release))
        return FALSE;
    g_autofree char *key = g_strdup_printf(" %s ", word);
    for (guint i = 0; i < G_N_ELEMENTS(TABLES); i++) {
        if (!strstr(TABLES[i].words, key))
            continue;
        g_ptr_array_add(x->out->unknown, g_strdup(query));
        suggest_rows(x, i);
        return TRUE;
    }
    return FALSE;
}

void ct_explain_rule_row(CtExplainRun *x, const char *id)
{
    sqlite3_stmt *st = NULL;
    if (sqlite3_prepare_v2(x->db,
                           "SELECT rule, symptom, look_at AS 'look at', remedy FROM compat_rules "
                           "WHERE id = ?",
                           -1, &st, NULL) != SQLITE_OK)
        return;
    sqlite3_bind_text(st, 1, id, -1, SQLITE_TRANSIENT);
    add_rows(x, st, "compat_rules");
    sqlite3_finalize(st);
}
