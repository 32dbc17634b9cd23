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
    g_ptr_array_unref(x->suggestions);
    g_free(x);
}

gboolean ct_explanation_empty(const CtExplanation *x)
{
    return !x->readings->len && !x->events->len && !x->details->len && !x->hits->len &&
           !x->rows->len;
}

/* ---- what kind of question it is ---- */

typedef struct {
    gint64 value;
    gboolean hex;
    gsize digits;
} Number;

/* All of text is one number, decimal or 0x hex, with an optional sign. */
static gboolean read_number(const char *text, gsize len, Number *out)
{
    g_autofree char *copy = g_strndup(text, len);
    const char *digits = copy + (*copy == '-' || *copy == '+');
    gboolean hex = digits[0] == '0' && (digits[1] | 0x20) == 'x';
    const char *first = digits + (hex ? 2 : 0);
    gsize n = strspn(first, hex ? "0123456789abcdefABCDEF" : "0123456789");
    if (n == 0 || n > 18 || first[n])
        return FALSE;
    errno = 0;
    guint64 value = g_ascii_strtoull(first, NULL, hex ? 16 : 10);
    if (errno || value > G_MAXINT64)
        return FALSE;
    out->value = *copy == '-' ? -(gint64)value : (gint64)value;
    out->hex = hex;
    out->digits = n;
    return TRUE;
}

/* A negative number is what Python's subprocess gives for a process that a signal ended; a long
 * hexadecimal one is how nvidia-smi prints clock reasons. */
static guint explain_number(CtExplainRun *x, const Number *n, const char *family)
{
    if (n->value < 0)
        return ct_explain_number(x, family ? family : "signal", -n->value);
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

/* "xid 79", "Xid: 79", "xid79", "exit code 137", "CUDA error 719", "error 719". */
static guint explain_word_and_number(CtExplainRun *x, const char *query)
{
    gsize len = strlen(query), at = len;
    while (at > 0 && (g_ascii_isxdigit(query[at - 1]) || query[at - 1] == 'x'))
        at--;
    /* "xid79": letters that are hexadecimal digits belong to the word unless 0x begins there. */
    while (at < len && !g_ascii_isdigit(query[at]))
        at++;
    Number n;
    const CtCodeFamily *family;
    if (at == 0 || at == len || !read_number(query + at, len - at, &n) ||
        !read_words(query, query + at, &family))
        return 0;
    return explain_number(x, &n, family ? family->family : NULL);
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
    if (read_number(query, strlen(query), &n))
        return explain_number(x, &n, x->family) > 0;
    if (explain_word_and_number(x, query) || (!x->family && ct_explain_release(x, query)))
        return TRUE;
    if (is_one_word(query) && (ct_explain_cause(x, query) || ct_explain_name(x, query)))
        return TRUE;
    g_autofree char *text = g_strdup(query);
    for (gsize len = strlen(text); len > 1 && strchr(".:;!", text[len - 1]); len--)
        text[len - 1] = '\0';
    if (ct_explain_text(x, text) || x->family)
        return TRUE;
    gboolean message = !is_one_word(query) && ct_explain_events(x, query, error);
    if (*error || (message && x->out->hits->len + x->out->readings->len))
        return message;
    /* "latency spikes" may look like a line of a log and still be a topic. */
    if (ct_explain_search(x, query) == 0)
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
