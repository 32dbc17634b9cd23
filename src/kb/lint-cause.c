/* SPDX-License-Identifier: Apache-2.0 */
/* Causes as a whole: both languages, links that lead somewhere, no two of a kind. */
#include <string.h>

#include "kb/build.h"
#include "kb/lint-private.h"

/* Two columns, English and Chinese, of every row that a person reads. */
static const struct {
    const char *sql, *what;
} SENTENCES[] = {
    {"SELECT id, file, title_en, title_zh FROM cause", "title"},
    {"SELECT id, file, about_en, about_zh FROM cause", "about"},
    {"SELECT a.cause, c.file, a.en, a.zh FROM advice a JOIN cause c ON c.id = a.cause "
     "WHERE a.kind <> 'ref'",
     "advice"},
    {"SELECT n.cause, c.file, n.say_en, n.say_zh FROM next_test n JOIN cause c ON c.id = n.cause "
     "WHERE n.say_en IS NOT NULL",
     "next.say"},
    {"SELECT o.cause, c.file, o.when_en, o.when_zh FROM next_outcome o "
     "JOIN cause c ON c.id = o.cause",
     "next.tells.when"},
};

static gboolean about_jetson(const char *id, const char *title)
{
    static const char *const marks[] = {"jetson", "nvmap", "tegra", "nvgpu", "l4t", "orin"};
    g_autofree char *both = g_strconcat(id, " ", title, NULL);
    g_autofree char *lower = g_ascii_strdown(both, -1);
    for (guint i = 0; i < G_N_ELEMENTS(marks); i++)
        if (strstr(lower, marks[i]))
            return TRUE;
    return FALSE;
}

static void check_languages(Lint *l)
{
    for (guint i = 0; i < G_N_ELEMENTS(SENTENCES); i++) {
        sqlite3_stmt *stmt = ct_lint_query(l, SENTENCES[i].sql);
        while (stmt && sqlite3_step(stmt) == SQLITE_ROW) {
            const char *id = ct_lint_text(stmt, 0), *file = ct_lint_text(stmt, 1);
            const char *en = ct_lint_text(stmt, 2), *zh = ct_lint_text(stmt, 3);
            if (!*en)
                lint_error(l, file, 0, "%s: %s is missing", id, SENTENCES[i].what);
            else if (!ct_lint_has_han(zh))
                lint_error(l, file, 0, "%s: %s has no Chinese: %s", id, SENTENCES[i].what, en);
            else if (ct_lint_has_han(en))
                lint_error(l, file, 0, "%s: Chinese in the English %s: %s", id, SENTENCES[i].what,
                           en);
        }
        sqlite3_finalize(stmt);
    }
}

/* A topic speaks both languages and leads to causes that are there. */
static void check_topics(Lint *l)
{
    sqlite3_stmt *stmt = ct_lint_query(
        l, "SELECT topic, causes, title_zh || '|' || about_zh || '|' || words_zh, about_zh FROM topic");
    sqlite3_stmt *cause = ct_lint_query(l, "SELECT 1 FROM cause WHERE id = ?");
    while (stmt && cause && sqlite3_step(stmt) == SQLITE_ROW) {
        const char *topic = ct_lint_text(stmt, 0);
        g_auto(GStrv) ids = g_strsplit(ct_lint_text(stmt, 1), ";", -1);
        g_auto(GStrv) zh = g_strsplit(ct_lint_text(stmt, 2), "|", 3);
        for (char **p = ids; *p; p++) {
            sqlite3_bind_text(cause, 1, g_strstrip(*p), -1, SQLITE_STATIC);
            if (sqlite3_step(cause) != SQLITE_ROW)
                lint_error(l, "topics.tsv", 0, "%s: there is no cause `%s`", topic, *p);
            sqlite3_reset(cause);
        }
        for (char **p = zh; *p; p++)
            if (!ct_lint_has_han(*p))
                lint_error(l, "topics.tsv", 0, "%s: no Chinese in: %s", topic, *p);
    }
    sqlite3_finalize(cause);
    sqlite3_finalize(stmt);
}

/* All that a person reads in Chinese, with where it stands. */
static const char CHINESE[] =
    "SELECT id, file, title_zh || ' ' || ifnull(about_zh, '') FROM cause "
    "UNION ALL SELECT a.cause, c.file, a.zh FROM advice a JOIN cause c ON c.id = a.cause "
    "WHERE a.zh IS NOT NULL "
    "UNION ALL SELECT r.cause, c.file, r.say_zh FROM rule r JOIN cause c ON c.id = r.cause "
    "UNION ALL SELECT n.cause, c.file, n.say_zh FROM next_test n JOIN cause c ON c.id = n.cause "
    "WHERE n.say_zh IS NOT NULL "
    "UNION ALL SELECT o.cause, c.file, o.when_zh FROM next_outcome o "
    "JOIN cause c ON c.id = o.cause WHERE o.when_zh IS NOT NULL "
    "UNION ALL SELECT topic, 'topics.tsv', title_zh || ' ' || about_zh FROM topic";

/* One word for one thing: a reader who meets two looks for the difference. */
static void check_glossary(Lint *l)
{
    sqlite3_stmt *words = ct_lint_query(l, "SELECT en, zh, avoid FROM glossary WHERE avoid <> ''");
    while (words && sqlite3_step(words) == SQLITE_ROW) {
        g_auto(GStrv) avoid = g_strsplit(ct_lint_text(words, 2), ";", -1);
        sqlite3_stmt *text = ct_lint_query(l, CHINESE);
        while (text && sqlite3_step(text) == SQLITE_ROW)
            for (char **p = avoid; *p; p++)
                if (**p && strstr(ct_lint_text(text, 2), *p))
                    lint_error(l, ct_lint_text(text, 1), 0, "%s: write %s (%s), not %s",
                               ct_lint_text(text, 0), ct_lint_text(words, 1),
                               ct_lint_text(words, 0), *p);
        sqlite3_finalize(text);
    }
    sqlite3_finalize(words);
}

static void check_jetson_words(Lint *l)
{
    sqlite3_stmt *stmt = ct_lint_query(
        l, "SELECT c.id, c.file, c.title_en, c.title_zh || ' ' || ifnull(c.about_zh, '') || ' ' || "
           "ifnull((SELECT group_concat(zh, ' ') FROM advice WHERE cause = c.id), '') || ' ' || "
           "ifnull((SELECT group_concat(say_zh, ' ') FROM rule WHERE cause = c.id), '') "
           "FROM cause c");
    while (stmt && sqlite3_step(stmt) == SQLITE_ROW) {
        const char *id = ct_lint_text(stmt, 0);
        if (about_jetson(id, ct_lint_text(stmt, 2)) && strstr(ct_lint_text(stmt, 3), "显存"))
            lint_error(l, ct_lint_text(stmt, 1), 0,
                       "%s: Jetson has no 显存 of its own: write 共享内存 or 内存", id);
    }
    sqlite3_finalize(stmt);
}

/* An id that is nearly right, NULL when none is. (transfer full) */
static char *nearly(Lint *l, const char *id)
{
    char *best = NULL;
    sqlite3_stmt *stmt = ct_lint_query(l, "SELECT id FROM cause ORDER BY id");
    while (stmt && !best && sqlite3_step(stmt) == SQLITE_ROW)
        if (ct_kb_distance(id, ct_lint_text(stmt, 0)) <= 3)
            best = g_strdup(ct_lint_text(stmt, 0));
    sqlite3_finalize(stmt);
    return best;
}

/* A slip of the pen is an error; a link to a cause that nobody has written yet may wait for it. */
static void dead_link(Lint *l, sqlite3_stmt *stmt, const char *what)
{
    const char *from = ct_lint_text(stmt, 0), *file = ct_lint_text(stmt, 1);
    const char *to = ct_lint_text(stmt, 2);
    g_autofree char *near = nearly(l, to);
    if (near)
        lint_error(l, file, 0, "%s: %s names `%s`; did you mean `%s`?", from, what, to, near);
    else
        lint_warning(l, file, 0, "%s: %s names `%s`, and there is no such cause yet", from, what,
                     to);
}

/* Each returns cause, file, and the id that no cause bears. */
static void check_links(Lint *l)
{
    static const struct {
        const char *sql, *what;
    } links[] = {
        {"SELECT e.cause, c.file, e.consequence FROM explains e JOIN cause c ON c.id = e.cause "
         "WHERE e.consequence NOT IN (SELECT id FROM cause)",
         "explains"},
        {"SELECT o.cause, c.file, o.points_to FROM next_outcome o JOIN cause c ON c.id = o.cause "
         "WHERE o.points_to NOT IN (SELECT id FROM cause) AND o.points_to <> 'unknown'",
         "next.tells"},
    };
    for (guint i = 0; i < G_N_ELEMENTS(links); i++) {
        sqlite3_stmt *stmt = ct_lint_query(l, links[i].sql);
        while (stmt && sqlite3_step(stmt) == SQLITE_ROW)
            dead_link(l, stmt, links[i].what);
        sqlite3_finalize(stmt);
    }
    sqlite3_stmt *self =
        ct_lint_query(l, "SELECT e.cause, c.file FROM explains e JOIN cause c ON c.id = e.cause "
                         "WHERE e.consequence = e.cause");
    while (self && sqlite3_step(self) == SQLITE_ROW)
        lint_error(l, ct_lint_text(self, 1), 0, "%s: explains itself", ct_lint_text(self, 0));
    sqlite3_finalize(self);
}

static void check_parts(Lint *l)
{
    static const struct {
        const char *sql, *what;
    } parts[] = {
        {"SELECT id, file FROM cause WHERE id NOT IN (SELECT cause FROM rule)", "evidence"},
        {"SELECT id, file FROM cause WHERE id NOT IN (SELECT cause FROM next_test)", "next"},
        {"SELECT id, file FROM cause WHERE id NOT IN (SELECT cause FROM advice WHERE kind='fix')",
         "fix"},
        {"SELECT id, file FROM cause WHERE id NOT IN "
         "(SELECT cause FROM advice WHERE kind='verify')",
         "verify"},
        {"SELECT id, file FROM cause WHERE keywords IS NULL", "keywords"},
    };
    for (guint i = 0; i < G_N_ELEMENTS(parts); i++) {
        sqlite3_stmt *stmt = ct_lint_query(l, parts[i].sql);
        while (stmt && sqlite3_step(stmt) == SQLITE_ROW)
            lint_error(l, ct_lint_text(stmt, 1), 0, "%s: has no `%s`", ct_lint_text(stmt, 0),
                       parts[i].what);
        sqlite3_finalize(stmt);
    }
    sqlite3_stmt *stmt = ct_lint_query(
        l, "SELECT n.cause, c.file, n.test FROM next_test n JOIN cause c ON c.id = n.cause "
           "WHERE (SELECT count(*) FROM next_outcome o WHERE o.cause = n.cause "
           "AND o.test = n.test) < 2");
    while (stmt && sqlite3_step(stmt) == SQLITE_ROW)
        lint_warning(l, ct_lint_text(stmt, 1), 0, "%s: test `%s` tells no two causes apart",
                     ct_lint_text(stmt, 0), ct_lint_text(stmt, 2));
    sqlite3_finalize(stmt);
}

/* Advice that was copied helps nobody: each query gives a fingerprint of a whole list. */
static void check_copies(Lint *l)
{
    static const struct {
        const char *sql, *what;
    } lists[] = {
        {"SELECT c.id, c.file, (SELECT group_concat(en, char(10)) FROM (SELECT en FROM advice "
         "WHERE cause = c.id AND kind = 'fix' ORDER BY ord)) FROM cause c ORDER BY c.id",
         "fix"},
        {"SELECT c.id, c.file, (SELECT group_concat(en, char(10)) FROM (SELECT en FROM advice "
         "WHERE cause = c.id AND kind = 'verify' ORDER BY ord)) FROM cause c ORDER BY c.id",
         "verify"},
        {"SELECT c.id, c.file, (SELECT group_concat(x, char(10)) FROM (SELECT ifnull(run, '') || "
         "ifnull(say_en, '') || ifnull((SELECT group_concat(when_en, ' ') FROM next_outcome o "
         "WHERE o.cause = n.cause AND o.test = n.test), '') AS x FROM next_test n "
         "WHERE n.cause = c.id ORDER BY ord)) FROM cause c ORDER BY c.id",
         "next"},
    };
    for (guint i = 0; i < G_N_ELEMENTS(lists); i++) {
        g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
        sqlite3_stmt *stmt = ct_lint_query(l, lists[i].sql);
        while (stmt && sqlite3_step(stmt) == SQLITE_ROW) {
            const char *id = ct_lint_text(stmt, 0), *text = ct_lint_text(stmt, 2);
            const char *other = g_hash_table_lookup(seen, text);
            if (other)
                lint_error(l, ct_lint_text(stmt, 1), 0, "%s: `%s` is the same as that of %s", id,
                           lists[i].what, other);
            else if (*text)
                g_hash_table_insert(seen, g_strdup(text), g_strdup(id));
        }
        sqlite3_finalize(stmt);
    }
}

/* A code that no table knows is a slip of the pen, or the table is old. */
static void check_codes(Lint *l)
{
    static const struct {
        const char *kind, *family;
    } pairs[] = {
        {"xid", "xid"},           {"sxid", "sxid"},           {"cuda-error", "cuda"},
        {"cudnn-error", "cudnn"}, {"cublas-error", "cublas"}, {"nccl-error", "nccl"},
        {"nvml-error", "nvml"},   {"trt-error", "trt"},       {"process-signal", "signal"}};
    sqlite3_stmt *stmt = ct_lint_query(
        l, "SELECT DISTINCT e.cause, c.file, e.code FROM rule_event e JOIN cause c ON c.id = "
           "e.cause WHERE e.kind = ?1 AND e.code IS NOT NULL AND NOT EXISTS (SELECT 1 FROM code "
           "k WHERE k.family = ?2 AND k.number = e.code)");
    for (guint i = 0; stmt && i < G_N_ELEMENTS(pairs); i++) {
        sqlite3_bind_text(stmt, 1, pairs[i].kind, -1, SQLITE_STATIC);
        sqlite3_bind_text(stmt, 2, pairs[i].family, -1, SQLITE_STATIC);
        while (sqlite3_step(stmt) == SQLITE_ROW)
            lint_error(l, ct_lint_text(stmt, 1), 0, "%s: codes/%s.tsv has no number %s",
                       ct_lint_text(stmt, 0), pairs[i].family, ct_lint_text(stmt, 2));
        sqlite3_reset(stmt);
    }
    sqlite3_finalize(stmt);
}

void ct_lint_causes(Lint *l)
{
    check_languages(l);
    check_glossary(l);
    check_jetson_words(l);
    check_topics(l);
    check_links(l);
    check_parts(l);
    check_copies(l);
    check_codes(l);
}
