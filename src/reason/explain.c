/* SPDX-License-Identifier: Apache-2.0 */
#include "reason/explain.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "reason/explain-private.h"

#define MAX_QUERY ((gsize)64 * 1024)

static void event_free(gpointer event)
{
    CtExplainEvent *e = event;
    g_free(e->kind);
    g_free(e->meaning);
    g_free(e->name);
    g_free(e);
}

static CtExplanation *explanation_new(const char *query)
{
    CtExplanation *x = g_new0(CtExplanation, 1);
    x->query = g_strdup(query);
    x->rows = g_ptr_array_new_with_free_func(ct_explain_row_free);
    x->readings = g_ptr_array_new_with_free_func(ct_reading_free);
    x->events = g_ptr_array_new_with_free_func(event_free);
    x->details = g_ptr_array_new_with_free_func(ct_explain_detail_free);
    x->hits = g_ptr_array_new_with_free_func(ct_explain_hit_free);
    x->topics = g_ptr_array_new_with_free_func(ct_explain_topic_free);
    x->unknown = g_ptr_array_new_with_free_func(g_free);
    x->suggestions = g_ptr_array_new_with_free_func(g_free);
    return x;
}

void ct_explanation_free(CtExplanation *x)
{
    if (!x)
        return;
    g_free(x->query);
    g_ptr_array_unref(x->rows);
    g_ptr_array_unref(x->readings);
    g_ptr_array_unref(x->events);
    g_ptr_array_unref(x->details);
    g_ptr_array_unref(x->hits);
    g_ptr_array_unref(x->topics);
    g_ptr_array_unref(x->unknown);
    g_ptr_array_unref(x->suggestions);
    g_free(x);
}

gboolean ct_explanation_empty(const CtExplanation *x)
{
    return !x->readings->len && !x->events->len && !x->details->len && !x->hits->len &&
           !x->rows->len && !x->topics->len;
}

/* ---- what kind of question it is ---- */

typedef struct {
    gint64 value;
    gboolean hex;
    gsize digits;
} Number;

/* All of text is one number, decimal or 0x hex, with an optional sign. One of more digits than any
 * code has becomes a number that no table holds. */
static gboolean read_number(const char *text, gsize len, Number *out)
{
    g_autofree char *copy = g_strndup(text, len);
    const char *digits = copy + (*copy == '-' || *copy == '+');
    gboolean hex = digits[0] == '0' && (digits[1] | 0x20) == 'x';
    const char *first = digits + (hex ? 2 : 0);
    gsize n = strspn(first, hex ? "0123456789abcdefABCDEF" : "0123456789");
    if (n == 0 || n > 64 || first[n])
        return FALSE;
    errno = 0;
    guint64 value = g_ascii_strtoull(first, NULL, hex ? 16 : 10);
    if (errno || value > G_MAXINT64)
        value = G_MAXINT64;
    out->value = *copy == '-' ? -(gint64)value : (gint64)value;
    out->hex = hex;
    out->digits = n;
    return TRUE;
}

/* A negative number is what Python's subprocess gives for a process that a signal ended, what the
 * kernel returns as an error number, and what a shell sees as 256 less it. */
static guint explain_negative(CtExplainRun *x, gint64 value, const char *family)
{
    if (g_strcmp0(family, "exit") == 0 || g_strcmp0(family, "signal") == 0)
        return ct_explain_number(x, "signal", -value);
    if (g_strcmp0(family, "errno") == 0)
        return ct_explain_number(x, family, -value);
    if (family || x->family)
        return ct_explain_number(x, family ? family : x->family, value);
    guint found = ct_explain_number(x, "signal", -value) + ct_explain_number(x, "errno", -value);
    if (value > -256)
        found += ct_explain_number(x, "exit", 256 + value);
    return found;
}

/* A long hexadecimal number is how nvidia-smi prints clock reasons. */
static guint explain_number(CtExplainRun *x, const Number *n, const char *family)
{
    if (n->value < 0)
        return explain_negative(x, n->value, family);
    if (n->hex && (n->digits >= 8 || g_strcmp0(family, "clock-reason") == 0))
        return ct_explain_bits(x, (guint64)n->value);
    guint found = ct_explain_number(x, family, n->value);
    if (found == 0 && g_strcmp0(family, "cuda") == 0)
        found = ct_explain_number(x, "cuda-legacy", n->value);
    return found;
}

static gboolean is_generic(const char *word, gsize len)
{
    static const char *const generic[] = {"error",    "code",   "err", "errors",
                                          "status",   "number", "no",  "result",
                                          "returned", "return", "ret"};
    for (guint i = 0; i < G_N_ELEMENTS(generic); i++)
        if (strlen(generic[i]) == len && g_ascii_strncasecmp(word, generic[i], len) == 0)
            return TRUE;
    return FALSE;
}

/* The family that the words before a number name, NULL for words that fit any; FALSE when a word
 * is none of ours. */
static gboolean read_words(const char *p, const char *end, const CtCodeFamily **out_family)
{
    gboolean generic = FALSE;
    *out_family = NULL;
    while (p < end) {
        gsize word = strcspn(p, " \t:#=,.()\"'");
        word = MIN(word, (gsize)(end - p));
        const CtCodeFamily *f = ct_code_family_by_word(p, word);
        if (is_generic(p, word))
            generic = TRUE;
        else if (word > 0 && !f)
            return FALSE;
        else if (f && !*out_family)
            *out_family = f;
        p += word ? word : 1;
    }
    return generic || *out_family;
}

/* What was asked for exists in no table: said with the word and the number as they were read. */
static void tell_unknown(CtExplainRun *x, const CtCodeFamily *f, const char *number)
{
    g_auto(GStrv) what = g_strsplit(f ? ct_pick(x, f->what_en, f->what_zh) : "", " of ", 2);
    g_ptr_array_add(x->out->unknown, f ? g_strdup_printf("%s %s", what[0], number)
                                       : g_strdup(number));
}

/* Where the number at the end of a question begins; its length where there is none. */
static gsize number_at_end(const char *query)
{
    gsize len = strlen(query), at = len;
    while (at > 0 && (g_ascii_isxdigit(query[at - 1]) || query[at - 1] == 'x'))
        at--;
    /* "xid79": letters that are hexadecimal digits belong to the word unless 0x begins there. */
    while (at < len && !g_ascii_isdigit(query[at]))
        at++;
    if (at < len && at > 0 && query[at - 1] == '-' &&
        (at == 1 || strchr(" \t:=(", query[at - 2])))
        at--;
    return at;
}

/* "xid 79", "Xid: 79", "xid79", "exit code 137", "CUDA error 719", "error 719". A number that the
 * named table lacks is told as unknown: no words are left to search for. */
static gboolean explain_word_and_number(CtExplainRun *x, const char *query)
{
    gsize len = strlen(query), at = number_at_end(query);
    Number n;
    const CtCodeFamily *family;
    if (at == 0 || at == len || !read_number(query + at, len - at, &n) ||
        !read_words(query, query + at, &family))
        return FALSE;
    if (explain_number(x, &n, family ? family->family : NULL))
        return TRUE;
    /* "CUDA 12.4" is no code but a release; "smi 535" may be one as well. */
    if (ct_explain_release(x, query))
        return TRUE;
    const CtCodeFamily *shown = family ? family : ct_code_family(x->family);
    tell_unknown(x, shown, query + at);
    ct_explain_suggest_number(x, shown ? shown->family : NULL, n.value);
    return TRUE;
}

/* A name as headers of CUDA and its libraries define them: no word of a language. */
static gboolean is_code_name(const char *word)
{
    static const char *const begins[] = {"CUDA_ERROR_", "cudaError", "CUDNN_STATUS_", "CUBLAS_STATUS_",
                                         "NVML_ERROR_", "NVML_", "nccl", "CUFFT_", "CUSPARSE_STATUS_",
                                         "CUSOLVER_STATUS_", "CURAND_STATUS_", "NVRTC_ERROR_",
                                         "CUPTI_ERROR_", "NPP_", "NVJPEG_STATUS_", "SIG"};
    gsize upper = strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    if (!word[upper] && strchr(word, '_') && g_ascii_isalpha(*word))
        return TRUE;
    for (guint i = 0; i < G_N_ELEMENTS(begins); i++) {
        gsize n = strlen(begins[i]);
        if (strncmp(word, begins[i], n) == 0 && g_ascii_isupper(word[n]) &&
            !word[strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_")])
            return TRUE;
    }
    return FALSE;
}

/* ---- several codes at once ---- */

#define MAX_CODES 8u

/* A word between or around codes that says nothing: people ask in sentences. */
static gboolean joins(const char *word)
{
    static const char *const words[] = {"and", "or",  "then", "vs",   "what",  "is",   "are",
                                        "does", "do", "mean", "means", "meaning", "the", "a",
                                        "of",  "explain", "about", "whats", "what's", NULL};
    for (guint i = 0; words[i]; i++)
        if (g_ascii_strcasecmp(word, words[i]) == 0)
            return TRUE;
    return FALSE;
}

static gboolean has_number(const CtExplainRun *x, gint64 number)
{
    for (guint i = 0; i < x->out->readings->len; i++) {
        const CtReading *r = x->out->readings->pdata[i];
        if (r->has_number && r->number == number)
            return TRUE;
    }
    return FALSE;
}

/* One word of a list: a code becomes a reading, the name of a family goes to the codes behind it.
 * FALSE when it belongs into no list of codes. */
static gboolean take_code(CtExplainRun *x, const char *word, const CtCodeFamily **family,
                          guint *codes)
{
    gsize len = strlen(word);
    const CtCodeFamily *f = ct_code_family_by_word(word, len);
    Number n;
    if (joins(word) || is_generic(word, len))
        return TRUE;
    if (f) {
        *family = f;
        return TRUE;
    }
    if (++*codes > MAX_CODES)
        return FALSE;
    if (!read_number(word, len, &n))
        return is_code_name(word) && ct_explain_known_name(x, word) > 0;
    /* "cudaErrorIllegalAddress 700" names one thing twice. */
    if (!explain_number(x, &n, *family ? (*family)->family : NULL) && !has_number(x, n.value))
        tell_unknown(x, *family ? *family : ct_code_family(x->family), word);
    return TRUE;
}

/* The question without the Chinese around the codes, which has no blanks to cut at. */
static char *without_han(const char *query)
{
    static const char *const words[] = {"是什么意思", "什么意思", "是什么错误", "是什么", "什么是",
                                        "怎么办",     "怎么解决", "如何解决",   "错误码", "错误",
                                        "报错",       "代码",     "含义",       "意思",   "的",
                                        "和",         "与",       "或",         "及",     "请问",
                                        "解释",       "？",       "，",         "、",     "：",
                                        "退出码",     NULL};
    GString *s = g_string_new(query);
    for (guint i = 0; words[i]; i++)
        for (char *at; (at = strstr(s->str, words[i]));) {
            /* "退出码 137" keeps what kind of number it is. */
            gboolean exit = strcmp(words[i], "退出码") == 0;
            gsize from = (gsize)(at - s->str);
            g_string_erase(s, (gssize)from, (gssize)strlen(words[i]));
            g_string_insert(s, (gssize)from, exit ? " exit " : " ");
        }
    return g_string_free(s, FALSE);
}

/* "719 700", "xid 79, 31", "CUDA_ERROR_INVALID_VALUE and 700", "what is xid 79?": every code is
 * explained when there is nothing else. */
static gboolean explain_codes(CtExplainRun *x, const char *query)
{
    g_autofree char *plain = without_han(query);
    g_auto(GStrv) words = g_strsplit_set(plain, " \t\r\n,;/+:#=?!()", 32);
    const CtCodeFamily *family = NULL;
    guint codes = 0;
    gboolean list = TRUE;
    for (char **w = words; *w && list; w++)
        list = !**w || take_code(x, *w, &family, &codes);
    if (list && codes && x->out->readings->len)
        return TRUE;
    if (list && codes && x->out->unknown->len && family) {
        ct_explain_suggest_number(x, family->family, 0);
        return TRUE;
    }
    g_ptr_array_set_size(x->out->readings, 0);
    g_ptr_array_set_size(x->out->unknown, 0);
    return FALSE;
}

static char *clean(const char *query)
{
    char *copy = g_strstrip(g_strdup(query));
    gsize len = strlen(copy);
    if (len >= 2 && strchr("\"'`", copy[0]) && copy[len - 1] == copy[0]) {
        copy[len - 1] = '\0';
        memmove(copy, copy + 1, len - 1);
    }
    return g_strstrip(copy);
}

static gboolean is_one_word(const char *query)
{
    return !query[strcspn(query, " \t\n")];
}

/* The ways to read a question, the strictest first; the first that finds something counts. */
static gboolean look_up(CtExplainRun *x, const char *query, GError **error)
{
    Number n;
    if (read_number(query, strlen(query), &n)) {
        if (explain_number(x, &n, x->family))
            return TRUE;
        tell_unknown(x, ct_code_family(x->family), query);
        ct_explain_suggest_number(x, x->family, n.value);
        return TRUE;
    }
    if (explain_word_and_number(x, query) || (!x->family && ct_explain_release(x, query)))
        return TRUE;
    if (explain_codes(x, query))
        return TRUE;
    if (!x->family && ct_explain_no_release(x, query))
        return TRUE;
    if (is_one_word(query) && (ct_explain_cause(x, query) || ct_explain_known_name(x, query)))
        return TRUE;
    g_autofree char *text = g_strdup(query);
    for (gsize len = strlen(text); len > 1 && strchr(".:;!", text[len - 1]); len--)
        text[len - 1] = '\0';
    if (ct_explain_text(x, text))
        return TRUE;
    if (!x->family && ct_explain_topic(x, query, TRUE))
        return TRUE;
    if (is_one_word(query) && ct_explain_name(x, query))
        return TRUE;
    if (is_one_word(query) && is_code_name(query)) {
        tell_unknown(x, NULL, query);
        ct_explain_suggest(x, query);
        return TRUE;
    }
    if (x->family)
        return TRUE;
    gboolean message = !is_one_word(query) && ct_explain_events(x, query, error);
    if (*error || (message && x->out->hits->len + x->out->readings->len))
        return message;
    /* "latency spikes" may look like a line of a log and still be a topic. */
    if (ct_explain_search(x, query) == 0 && !ct_explain_topic(x, query, FALSE))
        return message;
    g_ptr_array_set_size(x->out->events, 0);
    return TRUE;
}

/* A line of a log: as evidence, else as the text of a code. Its words are not searched: any line
 * holds some. */
static gboolean look_up_message(CtExplainRun *x, const char *text, GError **error)
{
    if (ct_explain_events(x, text, error))
        return TRUE;
    return !*error && ct_explain_text(x, text);
}

CtExplanation *ct_explain(const CtKb *kb, const char *query, const CtExplainOptions *options,
                          GError **error)
{
    if (options->family && !ct_code_family(options->family)) {
        g_set_error(error, CT_ERROR, CT_ERROR_USAGE, "there is no family of codes `%s`",
                    options->family);
        return NULL;
    }
    if (strlen(query) > MAX_QUERY) {
        g_set_error(error, CT_ERROR, CT_ERROR_LIMIT, "more than 64 KiB: use diagnose for files");
        return NULL;
    }
    g_autofree char *asked = clean(query);
    g_autoptr(CtExplanation) out = explanation_new(asked);
    CtExplainRun x = {.kb = kb,
                      .db = ct_kb_db(kb),
                      .family = options->family,
                      .reader = options->reader,
                      .zh = g_strcmp0(options->lang, "zh") == 0,
                      .out = out};
    GError *why = NULL;
    gboolean found = !*asked            ? TRUE
                     : options->message ? look_up_message(&x, asked, &why)
                                        : look_up(&x, asked, &why);
    if (!why && !found && !options->message)
        ct_explain_suggest(&x, asked);
    if (!why)
        ct_explain_finish_readings(&x);
    sqlite3_finalize(x.by_number);
    if (why) {
        g_propagate_error(error, why);
        return NULL;
    }
    return g_steal_pointer(&out);
}
