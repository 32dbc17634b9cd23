/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Topics: what people call their trouble before they know its cause. The table says in which words
 * of either language, what it is about, and which causes lead. A question is one when nothing else
 * stands in it ("GPU hang", "为什么卡死"), or, where no search finds more, when it stands among words.
 */
#include <string.h>

#include "reason/explain-private.h"

void ct_explain_topic_free(gpointer topic)
{
    CtExplainTopic *t = topic;
    g_free(t->topic);
    g_free(t->title);
    g_free(t->about);
    g_ptr_array_unref(t->layers);
    g_ptr_array_unref(t->causes);
    g_free(t);
}

/* ---- which topic ---- */

/* Lower case, with one blank around every word of Latin script and no other signs. Han characters
 * stay as they are. */
static char *plain(const char *text)
{
    g_autofree char *valid = g_utf8_make_valid(text, -1);
    GString *s = g_string_new(" ");
    for (const char *p = valid; *p; p = g_utf8_next_char(p)) {
        gunichar c = g_utf8_get_char(p);
        gboolean latin = c < 0x80;
        if (latin && g_ascii_isalnum((char)c))
            g_string_append_c(s, g_ascii_tolower((char)c));
        else if (!latin && g_unichar_isalpha(c))
            g_string_append_unichar(s, c);
        else if (s->str[s->len - 1] != ' ')
            g_string_append_c(s, ' ');
        /* A change of script is a border of words. */
        const char *next = g_utf8_next_char(p);
        if (*next && (g_utf8_get_char(next) < 0x80) != latin && s->str[s->len - 1] != ' ')
            g_string_append_c(s, ' ');
    }
    if (s->str[s->len - 1] != ' ')
        g_string_append_c(s, ' ');
    return g_string_free(s, FALSE);
}

/* What may stand beside a topic without changing it. */
static gboolean says_nothing(const char *rest)
{
    static const char words[] =
        " a an the my our is are was of in on at to it its i we you do does did has have and or with "
        "why how what when where gpu gpus cuda nvidia jetson orin tensorrt trt pytorch torch error "
        "errors problem problems issue issues fault faults trouble debug diagnose fix get getting got "
        "keeps keep very too so program process application app inference training model there "
        "high low fail fails failed failing failure failures docker container containers while all any "
        "some help find out about during for from under after before be been being ";
    static const char *const han[] = {"为什么", "怎么办", "怎么", "如何", "问题", "错误", "故障",
                                      "排查", "解决", "原因", "出现", "发生", "程序", "推理", "训练",
                                      "模型", "进程", "服务", "显卡", "总是", "一直", "经常", "了",
                                      "的", "吗", "呢", "是", "很", "太",
                                      "失败", "突然", "老是", "有时", "偶尔", "这么", "特别", "非常", "我",
                                      "用", "啊", "在", "上", "时", "会", "又", "跑着跑着", "就"};
    g_autofree char *copy = g_strdup(rest);
    for (guint i = 0; i < G_N_ELEMENTS(han); i++)
        for (char *at; (at = strstr(copy, han[i]));)
            memset(at, ' ', strlen(han[i]));
    g_auto(GStrv) left = g_strsplit(copy, " ", -1);
    for (char **w = left; *w; w++) {
        g_autofree char *key = g_strdup_printf(" %s ", *w);
        if (**w && !strstr(words, key))
            return FALSE;
    }
    return TRUE;
}

static gboolean is_latin(const char *word)
{
    return (guchar)*word < 0x80;
}

/* Where a word of the table stands in the question, both made plain; NULL when nowhere. */
static const char *find(const char *question, const char *word)
{
    g_autofree char *key = plain(word);
    if (is_latin(word))
        return strstr(question, key);
    return strstr(question, g_strchug(g_strchomp(key)));
}

typedef struct {
    const char *question;
    gboolean whole;
    gint64 row;
    gsize length; /* of the longest word that fits */
} Best;

static void try_word(Best *b, gint64 row, const char *word)
{
    const char *at = find(b->question, word);
    gsize length = strlen(word);
    if (!at || length <= b->length)
        return;
    if (b->whole) {
        g_autofree char *key = plain(word);
        g_autofree char *rest = g_strdup(b->question);
        gsize n = strlen(is_latin(word) ? key : g_strstrip(key));
        memset(rest + (at - b->question), ' ', n);
        if (!says_nothing(rest))
            return;
    }
    b->row = row;
    b->length = length;
}

static void try_words(Best *b, gint64 row, const char *list)
{
    g_auto(GStrv) words = g_strsplit(list, ";", -1);
    for (char **w = words; *w; w++)
        if (*g_strstrip(*w))
            try_word(b, row, *w);
}

/* ---- the answer ---- */

static void add_layer(CtExplainTopic *t, const char *layer)
{
    if (!g_ptr_array_find_with_equal_func(t->layers, layer, g_str_equal, NULL))
        g_ptr_array_add(t->layers, g_strdup(layer));
}

static void add_cause(CtExplainRun *x, CtExplainTopic *t, const char *id)
{
    CtExplainHit *hit = ct_explain_hit(x, id);
    if (!hit)
        return;
    g_autoptr(GPtrArray) tests = g_ptr_array_new();
    ct_explain_tests(x, id, 1, tests);
    hit->test = tests->len ? tests->pdata[0] : NULL;
    add_layer(t, hit->layer);
    g_ptr_array_add(t->causes, hit);
}

static void add_topic(CtExplainRun *x, gint64 row)
{
    sqlite3_stmt *st =
        ct_prepare(x->db, "SELECT topic, title_en, title_zh, about_en, about_zh, causes "
                          "FROM topic WHERE rowid = ?");
    sqlite3_bind_int64(st, 1, row);
    if (sqlite3_step(st) == SQLITE_ROW) {
        CtExplainTopic *t = g_new0(CtExplainTopic, 1);
        t->topic = ct_dup_column(st, 0);
        t->title = ct_dup_column(st, x->zh ? 2 : 1);
        t->about = ct_dup_column(st, x->zh ? 4 : 3);
        t->layers = g_ptr_array_new_with_free_func(g_free);
        t->causes = g_ptr_array_new_with_free_func(ct_explain_hit_free);
        g_auto(GStrv) ids = g_strsplit(ct_column(st, 5), ";", -1);
        for (char **id = ids; *id; id++)
            add_cause(x, t, g_strstrip(*id));
        g_ptr_array_add(x->out->topics, t);
    }
    sqlite3_finalize(st);
}

gboolean ct_explain_topic(CtExplainRun *x, const char *query, gboolean whole)
{
    g_autofree char *question = plain(query);
    Best best = {.question = question, .whole = whole};
    if (strlen(question) > 200)
        return FALSE;
    sqlite3_stmt *st =
        ct_prepare(x->db, "SELECT rowid, topic, words_en, words_zh FROM topic ORDER BY rowid");
    while (sqlite3_step(st) == SQLITE_ROW) {
        gint64 row = sqlite3_column_int64(st, 0);
        try_words(&best, row, ct_column(st, 1));
        try_words(&best, row, ct_column(st, 2));
        try_words(&best, row, ct_column(st, 3));
    }
    sqlite3_finalize(st);
    if (best.length)
        add_topic(x, best.row);
    return best.length > 0;
}
