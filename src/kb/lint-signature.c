/* SPDX-License-Identifier: Apache-2.0 */
/* Signatures: do they match their own examples, and will the prefilter find those? */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <string.h>

#include "kb/lint-private.h"

typedef struct {
    const char *id, *file, *kind, *pattern, *family;
    gint64 line;
    gboolean nocase;
    GPtrArray *anchors; /* char * */
} Sig;

static gboolean contains(const char *text, const char *literal, gboolean nocase)
{
    if (!nocase)
        return strstr(text, literal) != NULL;
    gsize n = strlen(literal);
    for (const char *p = text; *p; p++)
        if (g_ascii_strncasecmp(p, literal, n) == 0)
            return TRUE;
    return FALSE;
}

/* A test line may carry the stamp of the kernel, which the frame takes off before matching. */
static const char *without_stamp(const char *line)
{
    const char *p = line;
    if (*p == '<' && strchr(p, '>'))
        p = strchr(p, '>') + 1;
    if (*p != '[')
        return p;
    gsize n = strspn(p + 1, " 0123456789.");
    return p[n + 1] == ']' ? p + n + 2 + strspn(p + n + 2, " ") : p;
}

static gboolean matches(pcre2_code *code, const char *line)
{
    pcre2_match_data *data = pcre2_match_data_create_from_pattern(code, NULL);
    int rc = pcre2_match(code, (PCRE2_SPTR)line, strlen(line), 0, 0, data, NULL);
    const char *bare = without_stamp(line);
    if (rc < 0 && bare != line)
        rc = pcre2_match(code, (PCRE2_SPTR)bare, strlen(bare), 0, 0, data, NULL);
    pcre2_match_data_free(data);
    return rc >= 0;
}

static pcre2_code *compile(Lint *l, const Sig *s)
{
    int number;
    PCRE2_SIZE place;
    pcre2_code *code =
        pcre2_compile((PCRE2_SPTR)s->pattern, PCRE2_ZERO_TERMINATED,
                      PCRE2_DUPNAMES | (s->nocase ? PCRE2_CASELESS : 0), &number, &place, NULL);
    if (!code) {
        char why[160];
        pcre2_get_error_message(number, (PCRE2_UCHAR *)why, sizeof(why));
        lint_error(l, s->file, s->line, "%s: pattern, character %" G_GSIZE_FORMAT ": %s", s->id,
                   place + 1, why);
    }
    return code;
}

static gboolean any_anchor(const Sig *s, const char *line)
{
    for (guint i = 0; i < s->anchors->len; i++)
        if (contains(line, s->anchors->pdata[i], s->nocase))
            return TRUE;
    return FALSE;
}

/* An anchor that no example shows may be a slip that never hits: one warning names them all. */
static void check_unused(Lint *l, const Sig *s, const gboolean *used)
{
    GString *names = g_string_new(NULL);
    guint n = 0;
    for (guint i = 0; i < s->anchors->len; i++)
        if (!used[i] && n++ < 4)
            g_string_append_printf(names, "%s`%s`", names->len ? ", " : "",
                                   (const char *)s->anchors->pdata[i]);
    if (n > 0)
        lint_warning(l, s->file, s->line, "%s: %u of %u anchors stand in no hit: %s%s", s->id, n,
                     s->anchors->len, names->str, n > 4 ? " ..." : "");
    g_string_free(names, TRUE);
}

static void check_tests(Lint *l, const Sig *s, pcre2_code *code)
{
    guint hits = 0, nears = 0;
    g_autofree gboolean *used = g_new0(gboolean, s->anchors->len + 1);
    sqlite3_stmt *stmt =
        ct_lint_query(l, "SELECT kind, input FROM signature_test WHERE signature = ?");
    sqlite3_bind_text(stmt, 1, s->id, -1, SQLITE_TRANSIENT);
    while (sqlite3_step(stmt) == SQLITE_ROW) {
        gboolean hit = strcmp(ct_lint_text(stmt, 0), "hit") == 0;
        const char *line = ct_lint_text(stmt, 1);
        gboolean matched = matches(code, line);
        hits += hit;
        nears += !hit;
        if (hit && !matched)
            lint_error(l, s->file, s->line, "%s: does not match its own hit: %s", s->id, line);
        if (hit && !any_anchor(s, line))
            lint_error(l, s->file, s->line, "%s: no anchor stands in its hit: %s", s->id, line);
        if (!hit && matched && any_anchor(s, line))
            lint_error(l, s->file, s->line, "%s: matches what should only be near: %s", s->id,
                       line);
        for (guint i = 0; hit && i < s->anchors->len; i++)
            used[i] |= contains(line, s->anchors->pdata[i], s->nocase);
    }
    sqlite3_finalize(stmt);
    if (hits == 0)
        lint_error(l, s->file, s->line, "%s: has no test.hit", s->id);
    if (nears == 0)
        lint_warning(l, s->file, s->line, "%s: has no test.near", s->id);
    if (hits > 0)
        check_unused(l, s, used);
}

static void check_anchors(Lint *l, const Sig *s)
{
    for (guint i = 0; i < s->anchors->len; i++) {
        const char *a = s->anchors->pdata[i];
        gsize n = strlen(a);
        if (n < 5)
            lint_error(l, s->file, s->line, "%s: anchor `%s` is shorter than five bytes", s->id, a);
    }
}

static GPtrArray *anchors_of(Lint *l, const char *id)
{
    GPtrArray *out = g_ptr_array_new_with_free_func(g_free);
    sqlite3_stmt *stmt =
        ct_lint_query(l, "SELECT literal FROM anchor WHERE signature = ? ORDER BY rowid");
    sqlite3_bind_text(stmt, 1, id, -1, SQLITE_TRANSIENT);
    while (sqlite3_step(stmt) == SQLITE_ROW)
        g_ptr_array_add(out, g_strdup(ct_lint_text(stmt, 0)));
    sqlite3_finalize(stmt);
    return out;
}

static gboolean known_family(Lint *l, const char *family)
{
    sqlite3_stmt *stmt = ct_lint_query(l, "SELECT 1 FROM code WHERE family = ? LIMIT 1");
    sqlite3_bind_text(stmt, 1, family, -1, SQLITE_TRANSIENT);
    gboolean found = sqlite3_step(stmt) == SQLITE_ROW;
    sqlite3_finalize(stmt);
    return found;
}

static void check_kind(Lint *l, const Sig *s)
{
    gboolean fact = g_str_has_prefix(s->kind, "fact:");
    const char *name = fact ? s->kind + 5 : s->kind;
    if (!ct_lint_known(l, fact ? "fact" : "event", name))
        lint_error(l, s->file, s->line, "%s: %s `%s` is not in vocabulary.tsv", s->id,
                   fact ? "fact" : "event", name);
    if (*s->family && !known_family(l, s->family))
        lint_error(l, s->file, s->line, "%s: no table codes/%s.tsv", s->id, s->family);
}

void ct_lint_signatures(Lint *l)
{
    sqlite3_stmt *stmt = ct_lint_query(
        l, "SELECT id, file, kind, pattern, family, line, nocase FROM signature ORDER BY ord");
    while (stmt && sqlite3_step(stmt) == SQLITE_ROW) {
        Sig s = {.id = ct_lint_text(stmt, 0),
                 .file = ct_lint_text(stmt, 1),
                 .kind = ct_lint_text(stmt, 2),
                 .pattern = ct_lint_text(stmt, 3),
                 .family = ct_lint_text(stmt, 4),
                 .line = sqlite3_column_int64(stmt, 5),
                 .nocase = sqlite3_column_int(stmt, 6) != 0};
        s.anchors = anchors_of(l, s.id);
        check_kind(l, &s);
        check_anchors(l, &s);
        pcre2_code *code = compile(l, &s);
        if (code)
            check_tests(l, &s, code);
        pcre2_code_free(code);
        g_ptr_array_unref(s.anchors);
    }
    sqlite3_finalize(stmt);
}
