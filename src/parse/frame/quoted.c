/* SPDX-License-Identifier: Apache-2.0 */
#include "parse/frame/quoted.h"

#include <string.h>

#define MAX_PROSE 400u /* bytes of a line that are looked through */

/* ---- small ---- */

static gsize skip_blanks(const char *p, gsize len)
{
    gsize i = 0;
    while (i < len && (p[i] == ' ' || p[i] == '\t'))
        i++;
    return i;
}

static gboolean has_any(const char *text, gsize len, const char *const *list)
{
    for (; *list; list++)
        if (ct_text_has(text, MIN(len, MAX_PROSE), *list))
            return TRUE;
    return FALSE;
}

static gboolean starts_any(const char *text, gsize len, const char *const *list)
{
    for (; *list; list++)
        if (ct_text_starts(text, len, *list))
            return TRUE;
    return FALSE;
}

static gboolean ends(const char *text, gsize len, const char *tail)
{
    gsize n = strlen(tail);
    return len >= n && memcmp(text + len - n, tail, n) == 0;
}

static gsize hex_digits(const char *p, gsize len)
{
    gsize n = 0;
    while (n < len && (g_ascii_isdigit(p[n]) || (p[n] >= 'a' && p[n] <= 'f')))
        n++;
    return n;
}

/* ---- results of tests ---- */

/* "... ok", ".... Passed    0.12 sec" */
static gboolean dotted_result(const char *text, gsize len)
{
    static const char *const words[] = {"ok", "OK", "passed", "Passed", "PASSED", NULL};
    const char *dots = memmem(text, len, "...", 3);
    if (!dots)
        return FALSE;
    for (const char *next; (next = memmem(dots + 1, len - (gsize)(dots + 1 - text), "...", 3));)
        dots = next;
    const char *p = dots, *end = text + len;
    while (p < end && (*p == '.' || *p == ' '))
        p++;
    for (const char *const *w = words; *w; w++) {
        gsize n = strlen(*w);
        const char *rest = p + n;
        if ((gsize)(end - p) < n || memcmp(p, *w, n) != 0)
            continue;
        while (rest < end && (g_ascii_isdigit(*rest) || strchr(" .()ms", *rest)))
            rest++;
        if (rest == end || ct_text_starts(rest, (gsize)(end - rest), "sec") || *rest == 'e')
            return TRUE;
    }
    return FALSE;
}

static gboolean is_test_result(const char *text, gsize len)
{
    static const char *const begins[] = {"[ RUN      ]", "[       OK ]", "[  PASSED  ]", "--- PASS:",
                                         "=== RUN ",     "PASSED ",      "PASS: ",       "\u2713 ",
                                         "\u2714 ",      "\u221a ",      NULL};
    gsize skip = skip_blanks(text, len);
    if (starts_any(text + skip, len - skip, begins) || dotted_result(text, len))
        return TRUE;
    /* ctest: "    Start 2: name" */
    if (skip > 1 && ct_text_starts(text + skip, len - skip, "Start ") && len > skip + 6 &&
        (g_ascii_isdigit(text[skip + 6]) || text[skip + 6] == ' '))
        return TRUE;
    /* JUnit names each test; what failed stands in elements of their own. */
    if (ct_text_has(text, MIN(len, MAX_PROSE), "<testcase ") &&
        !ct_text_has(text, len, "<failure") && !ct_text_has(text, len, "<error"))
        return TRUE;
    /* TAP: "ok 12 - name" */
    if (ct_text_starts(text, len, "ok ") && len > 4 && g_ascii_isdigit(text[3]))
        return TRUE;
    /* In Chinese: a "case" (用例) whose line ends with "passed" (通过). */
    if (ct_text_has(text, len, "\u7528\u4f8b") && ends(text, len, "\u901a\u8fc7"))
        return TRUE;
    /* pytest: "tests/test_x.py::test_y PASSED   [ 50%]" */
    return ct_text_has(text, len, "::") &&
           (ends(text, len, " PASSED") || ct_text_has(text, len, " PASSED "));
}

/* ---- comments ---- */

static gboolean is_comment(const char *text, gsize len)
{
    gsize skip = skip_blanks(text, len);
    if (ct_text_starts(text + skip, len - skip, "//") ||
        ct_text_starts(text + skip, len - skip, "/*") ||
        ct_text_starts(text + skip, len - skip, "<!--"))
        return TRUE;
    if (!memmem(text, len, "//", 2) && !memmem(text, len, "/*", 2))
        return FALSE;
    /* Behind a statement: "return -5; // CUDA error ..." */
    static const char *const behind[] = {"; //", "; /*", "{ //", "{ /*", ", /*", ", //", NULL};
    return has_any(text, len, behind);
}

/* Length of "src/err.cc:12:" in front of what grep found; 0 without it. */
static gsize grep_place(const char *text, gsize len)
{
    gsize i = 0;
    while (i < MIN(len, 200) && (g_ascii_isalnum(text[i]) || strchr("/._-+", text[i])))
        i++;
    gsize digits = i + 1;
    while (digits < len && g_ascii_isdigit(text[digits]))
        digits++;
    return i > 2 && digits > i + 1 && digits < len && text[i] == ':' && text[digits] == ':' &&
                   memchr(text, '.', i)
               ? digits + 1
               : 0;
}

/* A statement that holds a message as a literal, also as grep shows it or a traceback. */
static gboolean is_statement(const char *text, gsize len)
{
    static const char *const starts[] = {
        "return \"", "raise ",  "throw ", "case ",   "printf(", "fprintf(", "print(",
        "assert",    "log(",    "log.",   "logger.", "LOG(",    "std::",    "const ",
        "static ",   "if (",    "if ",    "char ",   "EXPECT_", "ASSERT_",  "} else",
        "self.",     "return _", NULL};
    static const char *const tails[] = {"\";", "\")", "\");", "\"),", "\");}", "\":", NULL};
    gsize at = grep_place(text, len);
    at += skip_blanks(text + at, len - at);
    if (!starts_any(text + at, len - at, starts))
        return FALSE;
    for (const char *const *t = tails; *t; t++)
        if (ends(text, len, *t))
            return TRUE;
    return FALSE;
}

/* ---- what is looked for, and what was mended ---- */

/* "pattern: ...", "regex": "...": what a monitor or a test waits for. */
static gboolean is_pattern(const char *text, gsize len)
{
    static const char *const keys[] = {"pattern:",  "regex:", "regexp:",  "match:",    "matches:",
                                       "contains:", "expr:",  "keyword:", "keywords:", NULL};
    static const char *const json[] = {"\"pattern\":",  "\"regex\":", "\"regexp\":",
                                       "\"match\":",    "\"matches\":", "\"contains\":",
                                       "\"expr\":",     "\"keyword\":", "\"keywords\":", NULL};
    gsize at = skip_blanks(text, len);
    if (ct_text_starts(text + at, len - at, "- "))
        at += 2;
    return starts_any(text + at, len - at, keys) ||
           (memmem(text, len, "\":", 2) && has_any(text, len, json));
}

/* "- fix CUDA error ... when the batch is empty" */
static gboolean is_change(const char *text, gsize len)
{
    static const char *const verbs[] = {"Fix ",     "fix ",    "Fixes ",  "fixes ", "Fixed ",
                                        "fixed ",   "fix: ",   "fix(",    "Fix: ",  NULL};
    static const char *const listed[] = {"handle ", "Handle ", "catch ",   "Catch ",   "raise ",
                                         "Raise ",  "retry ",  "Retry ",   "report ",  "Report ",
                                         "avoid ",  "Avoid ",  "prevent ", "Prevent ", "document ",
                                         "add ",    "Add ",    "improve ", "Improve ", "ignore ",
                                         "Ignore ", NULL};
    gsize at = skip_blanks(text, len);
    gboolean bullet = ct_text_starts(text + at, len - at, "- ") ||
                      ct_text_starts(text + at, len - at, "* ") ||
                      ct_text_starts(text + at, len - at, "+ ");
    at += bullet ? 2 : 0;
    return starts_any(text + at, len - at, verbs) ||
           (bullet && starts_any(text + at, len - at, listed));
}

/* ---- prose that asks or explains ---- */

/* A message of a program: a level, a place or a name before a colon. Prose begins otherwise. */
static gboolean begins_like_prose(const char *text, gsize len)
{
    if (len == 0 || (!g_ascii_isalnum(text[0]) && text[0] != '`' && text[0] != '"' &&
                     text[0] != '<' && (guchar)text[0] < 0x80))
        return FALSE;
    gsize word = 0;
    while (word < len && text[word] != ' ')
        word++;
    return word < len && text[word - 1] != ':' && text[word - 1] != ']' && word < 40;
}

static gboolean asks(const char *text, gsize len)
{
    static const char *const words[] = {
        "What ", "what ", "How ",   "how ",   "Why ",    "why ",      "When ",  "when ",
        "Does ", "does ", "Do ",    "do ",    "Is ",     "is ",       "Are ",   "are ",
        "Can ",  "can ",  "Could ", "could ", "Should ", "should ",   "Which ", "which ",
        "Where ", "where ", "Has any",    "has any",    "Anyone ", "anyone ",
        "Did any", "did any", NULL};
    static const char *const han[] = {"\u8bf7\u95ee", "\u662f\u4ec0\u4e48\u610f\u601d", "\u600e\u4e48\u89e3\u51b3", "\u5982\u4f55\u89e3\u51b3",
                                      "\u4ec0\u4e48\u539f\u56e0", "\u4ec0\u4e48\u542b\u4e49",
                                      "\u600e\u4e48\u5f15\u8d77", "\u4ec0\u4e48\u5f15\u8d77", NULL};
    if (has_any(text, len, han) || ct_text_starts(text, len, "Q: ") ||
        ct_text_starts(text, len, "A: "))
        return TRUE;
    gboolean mark = ends(text, len, "?") || ends(text, len, "\uff1f");
    return mark && (text[0] == '"' || starts_any(text, len, words));
}

static gboolean explains(const char *text, gsize len)
{
    static const char *const words[] = {
        " means that ",     " means the ",       " means a ",        " means an ",
        " indicates that ", "f you see ",        "hen you see ",     "ou may see ",
        "ou might see ",    "ou may get ",       "f you get ",       "f you encounter ",
        "xplain what ",     "xplain why ",       "hat does ",        " is returned when ",
        " is returned if ", " is raised when ",  " is raised if ",   " is reported when ",
        " refers to ",      "hat happens when ", "hat happens if ", "or example, ",     "\u8868\u793a",
        "\u610f\u5473\u7740",             "\u5982\u679c\u770b\u5230",           "\u5982\u679c\u51fa\u73b0",         "\u5f53\u51fa\u73b0",
        "\u901a\u5e38\u662f\u56e0\u4e3a",         NULL};
    return has_any(text, len, words);
}

static gboolean is_prose_quote(const CtLine *line)
{
    gboolean answer = line->len > 3 && line->text[1] == ':' && strchr("QA", line->text[0]);
    return (answer || begins_like_prose(line->text, line->len)) &&
           (asks(line->text, line->len) || explains(line->text, line->len));
}

/* ---- commits ---- */

/* "4f1c2d3 Fix the reader", also below the graph of --graph */
static gboolean short_commit(const char *text, gsize len)
{
    gsize at = 0;
    while (at < len && at < 12 && strchr("*|\\/ ", text[at]))
        at++;
    gsize n = hex_digits(text + at, len - at);
    if (n < 7 || n > 40 || at + n + 2 > len || text[at + n] != ' ')
        return FALSE;
    gboolean digit = FALSE;
    for (gsize i = 0; i < n; i++)
        digit |= g_ascii_isdigit(text[at + i]) != 0;
    return digit && (g_ascii_isalpha(text[at + n + 1]) || text[at + n + 1] == '(' ||
                     (guchar)text[at + n + 1] >= 0x80);
}

static gboolean long_commit(const char *text, gsize len)
{
    return ct_text_starts(text, len, "commit ") && hex_digits(text + 7, len - 7) >= 7;
}

static gboolean of_commit(const CtQuotes *q, const char *text, gsize len)
{
    static const char *const heads[] = {"Author:", "AuthorDate:", "Date:", "Merge:", "Commit:",
                                        "CommitDate:", "Subject: ", "From: ", "diff --git ", "index ", "@@ ",
                                        "+++ ", "--- ", NULL};
    if (long_commit(text, len) || short_commit(text, len) || starts_any(text, len, heads) ||
        ct_text_starts(text, len, "    "))
        return TRUE;
    return q->diff && len > 0 && strchr("+- ", text[0]);
}

/* ---- documents ---- */

static gboolean of_document(const char *text, gsize len)
{
    gsize skip = skip_blanks(text, len);
    const char *p = text + skip;
    gsize n = len - skip;
    if (n == 0)
        return FALSE;
    gsize digits = 0;
    while (digits < n && g_ascii_isdigit(p[digits]))
        digits++;
    return (p[0] == '#' && n > 2) || p[0] == '|' || ct_text_starts(p, n, "- ") ||
           ct_text_starts(p, n, "* ") || (digits && digits < 3 && ct_text_starts(p + digits, n - digits, ". ")) ||
           memchr(p, '`', n) != NULL;
}

static gboolean is_fence(const char *text, gsize len)
{
    gsize skip = skip_blanks(text, len), n = skip;
    if (ct_text_starts(text + skip, len - skip, "```"))
        return TRUE;
    /* Compilers draw with tildes as well. */
    while (n < len && text[n] == '~')
        n++;
    while (n < len && g_ascii_isalnum(text[n]))
        n++;
    return n == len && ct_text_starts(text + skip, len - skip, "~~~");
}

void ct_quotes_follow(CtQuotes *q, const char *text, gsize len)
{
    if (q->kind == CT_QUOTING_COMMITS) {
        q->diff = ct_text_starts(text, len, "diff --git ") || ct_text_starts(text, len, "@@ ") ||
                  (q->diff && !long_commit(text, len));
        return;
    }
    if (is_fence(text, len)) {
        q->fence = !q->fence;
        if (!q->fence)
            q->examples = FALSE;
    } else if (!q->fence && len > 0) {
        q->examples = explains(text, len); /* a question is asked about the block itself */
    }
}

/* ---- the whole ---- */

static gboolean named_like(const char *path, const char *const *list)
{
    for (; path && *list; list++)
        if (g_str_has_suffix(path, *list))
            return TRUE;
    return FALSE;
}

static gboolean shows_commits(const char *command)
{
    static const char *const begins[] = {"git log", "git show", "git diff", "git reflog",
                                         "git format-patch", NULL};
    return command && starts_any(command, strlen(command), begins);
}

/* What a program says of itself, or holds: no run of it. */
static gboolean shows_texts(const char *command)
{
    static const char *const begins[] = {"man ", "strings ", "nm ", "objdump ", "help ", NULL};
    return command && (starts_any(command, strlen(command), begins) || strstr(command, " --help"));
}

CtQuoting ct_quotes_judge(const CtLine *lines, guint n, const char *command, const char *path)
{
    static const char *const documents[] = {".md", ".markdown", "README", "README.txt", NULL};
    static const char *const manuals[] = {".rst",  ".adoc", ".asciidoc", "CHANGELOG", "CHANGELOG.md",
                                          "CHANGES", "CHANGES.md", "NEWS", ".tex", ".po",
                                          "changelog", NULL};
    static const char *const scripts[] = {".sh",   ".bash", ".yaml", ".yml", ".toml", ".cfg",
                                          ".conf", ".ini",  ".cmake", ".mk", "Makefile",
                                          "Dockerfile", NULL};
    static const char *const personal[] = {
        " I ", "I'm ", "I am ", "I get ", "I have ", " my ", "My ", " our ", "Our ", "\u6211",
        "Steps to reproduce", "Describe the bug", "Expected behavior", NULL};
    guint commits = 0, shorts = 0, filled = 0, persons = 0, fences = 0;
    if (shows_commits(command))
        return CT_QUOTING_COMMITS;
    if (shows_texts(command))
        return CT_QUOTING_ALL;
    for (guint i = 0; i < n; i++) {
        const char *text = lines[i].raw;
        gsize len = lines[i].raw_len;
        if (len == 0)
            continue;
        filled++;
        if (ct_text_starts(text, len, "Subject: [PATCH"))
            return CT_QUOTING_ALL;
        gboolean author = i + 1 < n && ct_text_starts(lines[i + 1].raw, lines[i + 1].raw_len, "Author:");
        gboolean merge = i + 1 < n && ct_text_starts(lines[i + 1].raw, lines[i + 1].raw_len, "Merge:");
        commits += (long_commit(text, len) && (author || merge)) ||
                   ct_text_starts(text, len, "diff --git ");
        shorts += short_commit(text, len);
        persons += has_any(text, len, personal) || ct_text_starts(text, len, "I ");
        fences += is_fence(text, len);
    }
    if (commits || (shorts >= 2 && shorts * 10 >= filled * 8))
        return CT_QUOTING_COMMITS;
    if (command && !g_str_has_prefix(command, "cat "))
        return CT_QUOTING_NOT;
    path = command ? command : path; /* "cat guide.md" */
    if (named_like(path, manuals))
        return CT_QUOTING_ALL;
    if (named_like(path, documents) || fences >= 2)
        return persons ? CT_QUOTING_POST : CT_QUOTING_DOCUMENT;
    if (named_like(path, scripts) || (n && ct_text_starts(lines[0].raw, lines[0].raw_len, "#!/")))
        return CT_QUOTING_SCRIPT;
    return CT_QUOTING_NOT;
}

gboolean ct_quotes_test_result(const CtLine *line)
{
    return is_test_result(line->text, line->len);
}

gboolean ct_quotes_line(const CtQuotes *q, const CtLine *line)
{
    const char *text = line->text;
    gsize len = line->len;
    if (line->envelope != CT_ENVELOPE_NONE)
        return FALSE;
    /* A build service stamps every line, those of passed tests too. */
    if (line->t_ns != CT_TIME_UNKNOWN)
        return is_test_result(text, len);
    switch (q->kind) {
    case CT_QUOTING_COMMITS:
        if (of_commit(q, line->raw, line->raw_len))
            return TRUE;
        break;
    case CT_QUOTING_SCRIPT:
        if (len > skip_blanks(text, len) && text[skip_blanks(text, len)] == '#')
            return TRUE;
        break;
    case CT_QUOTING_DOCUMENT:
        if (q->fence ? q->examples : of_document(line->raw, line->raw_len))
            return TRUE;
        break;
    case CT_QUOTING_POST:
        if (q->fence && q->examples)
            return TRUE;
        break;
    case CT_QUOTING_ALL:
        return TRUE;
    case CT_QUOTING_NOT:
        break;
    }
    return is_test_result(text, len) || is_comment(text, len) || is_statement(text, len) ||
           is_pattern(text, len) || is_change(text, len) || is_prose_quote(line);
}
