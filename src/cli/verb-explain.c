/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/analyzer.h"
#include "base/limits.h"
#include "cli/cli.h"
#include "cli/explain-text.h"
#include "cli/knowledge.h"
#include "collect/stream.h"
#include "parse/frame/parse.h"

typedef struct {
    gboolean json, message;
    char *lang, *color, *family, *knowledge;
    CtLang language;
    gboolean colour;
} Options;

static void options_clear(Options *o)
{
    g_free(o->lang);
    g_free(o->color);
    g_free(o->family);
    g_free(o->knowledge);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Options, options_clear)

static CtEvidence *read_message(const CtKb *kb, const char *text, GError **error)
{
    g_autoptr(CtEvidence) ev = ct_evidence_new(error);
    g_autoptr(CtParse) parse = ev ? ct_parse_new(ev, kb, error) : NULL;
    if (!parse)
        return NULL;
    ct_parse_trust(parse);
    ct_parse_memory(parse, "message", text, strlen(text));
    ct_parse_finish(parse);
    ct_analyze(ev);
    ct_evidence_flush(ev);
    return g_steal_pointer(&ev);
}

/* ---- FILE:LINE ---- */

/* Whether words can only be the name of a file: a folder in it, or an extension of letters. */
static gboolean looks_like_path(const char *text)
{
    const char *slash = strrchr(text, '/'), *dot = strrchr(slash ? slash : text, '.');
    if (text[strcspn(text, " \t\n(){}<>|*\"'")] || strstr(text, "::"))
        return FALSE;
    if (slash && slash[1])
        return TRUE;
    gsize letters = dot ? strspn(dot + 1, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                          "0123456789_")
                        : 0;
    return dot && dot > text && letters >= 1 && letters <= 8 && !dot[1 + letters] &&
           g_ascii_isalpha(dot[1]);
}

/* "app.log:120". A file that is there, or what can be nothing else, counts as a place. */
static gboolean split_place(const char *query, char **out_path, guint64 *out_line)
{
    const char *colon = strrchr(query, ':');
    struct stat st;
    if (!colon || colon == query || !colon[1] || colon[1 + strspn(colon + 1, "0123456789")] ||
        strlen(colon + 1) > 10)
        return FALSE;
    g_autofree char *path = g_strndup(query, (gsize)(colon - query));
    gboolean there = stat(path, &st) == 0;
    if (!there && !looks_like_path(path))
        return FALSE;
    *out_line = g_ascii_strtoull(colon + 1, NULL, 10);
    *out_path = g_steal_pointer(&path);
    return TRUE;
}

/* The wanted line, cut at CT_MAX_LINE; NULL when the stream has fewer. */
static char *line_of(CtStream *stream, guint64 wanted)
{
    g_autofree char *block = g_malloc(CT_BLOCK);
    GString *out = g_string_new(NULL);
    guint64 line = 1;
    gsize n;
    while (line <= wanted && (n = ct_stream_read(stream, block, CT_BLOCK)) > 0) {
        for (const char *p = block, *end = block + n; p < end && line <= wanted;) {
            const char *feed = memchr(p, '\n', (gsize)(end - p));
            const char *stop = feed ? feed : end;
            if (line == wanted && out->len < CT_MAX_LINE)
                g_string_append_len(out, p, MIN(stop - p, (gssize)(CT_MAX_LINE - out->len)));
            line += feed != NULL;
            p = feed ? feed + 1 : end;
        }
    }
    gboolean found = line > wanted || (line == wanted && out->len > 0);
    return g_string_free(out, !found);
}

static char *read_line(const char *path, guint64 wanted, GError **error)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        ct_error_from_errno(error, errno, "opening %s", path);
        return NULL;
    }
    if (wanted == 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        g_set_error(error, CT_ERROR, CT_ERROR_USAGE,
                    wanted == 0 ? "%s: lines are counted from 1"
                                : "%s is no regular file; FILE:LINE wants one",
                    path);
        close(fd);
        return NULL;
    }
    CtStream *stream = ct_stream_new(fd);
    char *line = line_of(stream, wanted);
    if (!line)
        g_set_error(error, CT_ERROR, CT_ERROR_NOT_FOUND, "%s has no line %" G_GUINT64_FORMAT "%s%s",
                    path, wanted, ct_stream_note(stream) ? ": " : "",
                    ct_stream_note(stream) ? ct_stream_note(stream) : "");
    ct_stream_free(stream);
    close(fd);
    if (line) {
        char *valid = g_utf8_make_valid(line, -1);
        g_free(line);
        line = g_strchomp(valid);
    }
    return line;
}

/* ---- the verb ---- */

static int show(const CtExplanation *x, const Options *o, const char *place)
{
    g_autofree char *text = NULL;
    if (o->json) {
        text = ct_explain_json(x, place);
    } else {
        CtExplainPage page = {.lang = o->language, .colour = o->colour, .place = place};
        guint columns, rows;
        ct_cli_screen(&columns, &rows);
        if (columns)
            page.columns = CLAMP(columns, 40, 120);
        text = ct_explain_text_page(x, &page);
    }
    /* Not to know a word is no failure of the program, and no success either. */
    return ct_cli_print(text, ct_explanation_empty(x) ? CT_EXIT_USAGE : CT_EXIT_NOTHING);
}

static int explain(const Options *o, const char *query)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *path = NULL, *line = NULL;
    guint64 number;
    CtExplainOptions options = {.family = o->family,
                                .lang = ct_lang_name(o->language),
                                .message = o->message,
                                .reader = read_message};
    if (!o->message && split_place(query, &path, &number)) {
        line = read_line(path, number, &error);
        if (!line)
            return ct_cli_fail("explain", error);
        options.message = TRUE;
    }
    g_autoptr(CtKb) kb = ct_cli_knowledge(o->knowledge, &error);
    if (!kb)
        return ct_cli_fail("explain", error);
    g_autoptr(CtExplanation) x = ct_explain(kb, line ? line : query, &options, &error);
    if (!x)
        return ct_cli_fail("explain", error);
    return show(x, o, line ? query : NULL);
}

/* Words given without quotes are one question: cutriage explain xid 79. */
static char *query_of(int argc, char **argv)
{
    GString *s = g_string_new(NULL);
    for (int i = 1; i < argc; i++)
        if (!g_str_equal(argv[i], "--"))
            g_string_append_printf(s, "%s%s", s->len ? " " : "", argv[i]);
    return g_string_free(s, FALSE);
}

static char *query_from_input(GError **error)
{
    GString *text = g_string_new(NULL);
    char block[4096];
    ssize_t n;
    while ((n = read(STDIN_FILENO, block, sizeof(block))) > 0 && text->len <= CT_MAX_LINE)
        g_string_append_len(text, block, n);
    if (n < 0)
        ct_error_from_errno(error, errno, "reading standard input");
    char *valid = g_utf8_make_valid(text->str, -1);
    g_string_free(text, TRUE);
    return valid;
}

/* "-9" is a question (what Python says of a killed child) and no option. */
static GPtrArray *with_numbers(int argc, char **argv)
{
    GPtrArray *out = g_ptr_array_new();
    gboolean guarded = FALSE;
    for (int i = 0; i < argc; i++) {
        const char *a = argv[i];
        gboolean number = a[0] == '-' && a[1] && !a[1 + strspn(a + 1, "0123456789")];
        if (i > 0 && number && !guarded)
            g_ptr_array_add(out, (gpointer) "--");
        guarded |= number || strcmp(a, "--") == 0;
        g_ptr_array_add(out, argv[i]);
    }
    g_ptr_array_add(out, NULL);
    return out;
}

static int run(int argc_in, char **argv_in)
{
    g_autoptr(GPtrArray) words = with_numbers(argc_in, argv_in);
    char **argv = (char **)words->pdata;
    int argc = (int)words->len - 1;
    g_auto(Options) o = {0};
    int code = 0;
    const GOptionEntry entries[] = {
        {"family", 0, 0, G_OPTION_ARG_STRING, &o.family,
         "Codes of one kind: cuda, xid, nvml, cudnn ...", "NAME"},
        {"message", 'm', 0, G_OPTION_ARG_NONE, &o.message, "Read the text as a line of a log",
         NULL},
        {"json", 0, 0, G_OPTION_ARG_NONE, &o.json, "Print JSON", NULL},
        {"lang", 0, 0, G_OPTION_ARG_STRING, &o.lang, "Language: en or zh (default: the locale's)",
         "LANG"},
        {"color", 0, 0, G_OPTION_ARG_STRING, &o.color, "auto (default), always or never", "WHEN"},
        {"knowledge", 0, 0, G_OPTION_ARG_FILENAME, &o.knowledge, "Use this knowledge folder",
         "DIR"},
        {NULL},
    };
    const CtVerbHelp help = {
        .verb = "explain",
        .args = "CODE|NAME|MESSAGE|FILE:LINE|CAUSE|TOPIC",
        .summary = "Says what a code, a message or a cause means, which layer it belongs to, who\n"
                   "usually brings it about, and what to look at first. - reads a message from\n"
                   "standard input.",
        .examples = "  cutriage explain 719\n"
                    "  cutriage explain xid 79, 119\n"
                    "  cutriage explain CUDNN_STATUS_EXECUTION_FAILED\n"
                    "  cutriage explain 'CUDA error: device-side assert triggered'\n"
                    "  cutriage explain app.log:120\n"
                    "  cutriage explain hang\n"
                    "  cutriage explain --lang zh 显存泄漏\n",
        .notes = "Exit codes: 0 explained, 2 nothing is known about it, 4 failed (no such file).\n",
        .entries = entries,
    };
    if (!ct_cli_options(&help, &argc, &argv, &code) ||
        !ct_cli_lang("explain", o.lang, &o.language, &code) ||
        !ct_cli_colour("explain", o.color, &o.colour, &code))
        return code;
    if (argc < 2)
        return ct_cli_usage("explain", "say what, for example: cutriage explain 719");
    g_autoptr(GError) error = NULL;
    g_autofree char *query = NULL;
    if (argc == 2 && strcmp(argv[1], "-") == 0) {
        o.message = TRUE;
        query = query_from_input(&error);
    } else {
        query = query_of(argc, argv);
    }
    if (error)
        return ct_cli_fail("explain", error);
    if (!query[strspn(query, " \t\r\n")])
        return ct_cli_usage("explain", "the question is empty");
    return explain(&o, query);
}

const CtVerb ct_verb_explain = {
    .name = "explain",
    .summary = "Say what a code, message or cause means",
    .run = run,
};
