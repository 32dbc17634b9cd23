/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of tab-separated values: codes, compatibility, vocabulary, topics. Comment lines begin with #,
 * the first other line names the columns, "-" is an empty field.
 */
#include "kb/build.h"

#include <errno.h>
#include <string.h>

#define MAX_COLUMNS 40u

typedef struct {
    char **lines; /* all of the file */
    guint at;     /* index of the next line */
    char **header;
    guint n;
    char **row; /* of the line before `at`; "-" and "" are NULL in field() */
} Tsv;

static gboolean next_line(Tsv *t)
{
    while (t->lines[t->at]) {
        char *line = t->lines[t->at++];
        g_strchomp(line); /* CR, and nothing else that matters: trailing fields are "-" */
        if (*line && *line != '#')
            return TRUE;
    }
    return FALSE;
}

static gboolean begin(CtKbBuild *b, Tsv *t, const char *data)
{
    memset(t, 0, sizeof(*t));
    t->lines = g_strsplit(data, "\n", -1);
    if (!next_line(t)) {
        ct_kb_problem(b, 1, 1, "the file has no header line");
        return FALSE;
    }
    t->header = g_strsplit(t->lines[t->at - 1], "\t", -1);
    t->n = g_strv_length(t->header);
    if (t->n > MAX_COLUMNS)
        ct_kb_problem(b, t->at, 1, "more than %u columns", MAX_COLUMNS);
    for (guint i = 0; i < t->n; i++)
        for (guint j = 0; j < i; j++)
            if (strcmp(t->header[i], t->header[j]) == 0)
                ct_kb_problem(b, t->at, 1, "column `%s` stands twice", t->header[i]);
    return t->n <= MAX_COLUMNS;
}

static gboolean next_row(CtKbBuild *b, Tsv *t)
{
    while (next_line(t)) {
        g_strfreev(t->row);
        t->row = g_strsplit(t->lines[t->at - 1], "\t", -1);
        guint n = g_strv_length(t->row);
        if (n == t->n)
            return TRUE;
        ct_kb_problem(b, t->at, 1, "%u fields where the header names %u", n, t->n);
    }
    return FALSE;
}

static void end(Tsv *t)
{
    g_strfreev(t->lines);
    g_strfreev(t->header);
    g_strfreev(t->row);
}

static const char *field_at(const Tsv *t, guint i)
{
    const char *value = t->row[i];
    return !*value || strcmp(value, "-") == 0 ? NULL : value;
}

static const char *field(const Tsv *t, const char *column)
{
    for (guint i = 0; i < t->n; i++)
        if (strcmp(t->header[i], column) == 0)
            return field_at(t, i);
    return NULL;
}

static gboolean is_id(const char *s)
{
    return *s && !s[strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789-_")];
}

static const char *const CODE_COLUMNS[] = {
    "number",     "name",   "alt_name", "message", "layer",      "sticky",       "late", "meaning",
    "meaning_zh", "causes", "checks",   "source",  "confidence", "also_printed", NULL};

static char *extra_columns(const Tsv *t)
{
    GString *json = g_string_new(NULL);
    for (guint i = 0; i < t->n; i++) {
        const char *value = field_at(t, i);
        if (value && !g_strv_contains((const gchar *const *)CODE_COLUMNS, t->header[i]))
            ct_kb_json_pair(json, t->header[i], value);
    }
    if (json->len)
        g_string_append_c(json, '}');
    return g_string_free(json, json->len == 0);
}

/* The texts printed for the code that was inserted last. */
static void printed_texts(CtKbBuild *b, const Tsv *t, const CtYaml *at)
{
    static const char insert[] = "INSERT INTO code_text VALUES (?, ?)";
    gint64 code = sqlite3_last_insert_rowid(b->db);
    if (field(t, "message"))
        ct_kb_insert(b, at, insert, "is", code, field(t, "message"));
    if (!field(t, "also_printed"))
        return;
    g_auto(GStrv) others = g_strsplit(field(t, "also_printed"), " | ", -1);
    for (char **p = others; *p; p++)
        ct_kb_insert(b, at, insert, "is", code, *p);
}

static gboolean read_number(CtKbBuild *b, const Tsv *t, gint64 *out)
{
    const char *text = field(t, "number");
    *out = 0;
    if (!text)
        return FALSE;
    char *tail;
    errno = 0;
    *out = g_ascii_strtoll(text, &tail, 0);
    if (errno || tail == text || *tail)
        ct_kb_problem(b, t->at, 1, "number `%s` is not a whole number", text);
    return TRUE;
}

void ct_kb_build_codes(CtKbBuild *b, const char *data, const char *stem)
{
    Tsv t;
    if (!is_id(stem))
        ct_kb_problem(b, 0, 0, "the name of the file is the family: lower-case letters and dashes");
    if (begin(b, &t, data)) {
        while (next_row(b, &t)) {
            gint64 number;
            CtYaml at = {.line = t.at, .column = 1};
            gboolean has_number = read_number(b, &t, &number);
            if (!has_number && !field(&t, "name"))
                ct_kb_problem(b, t.at, 1, "a code needs a number or a name");
            g_autofree char *extra = extra_columns(&t);
            ct_kb_insert(b, &at,
                         "INSERT INTO code (family, number, name, alt_name, message, layer, "
                         "sticky, late, meaning, meaning_zh, causes, checks, extra, source, "
                         "confidence) VALUES (?1, CASE WHEN ?2 THEN ?3 END, ?4, ?5, ?6, ?7, ?8, "
                         "?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)",
                         "siisssssssssssss", stem, (gint64)has_number, number, field(&t, "name"),
                         field(&t, "alt_name"), field(&t, "message"), field(&t, "layer"),
                         field(&t, "sticky"), field(&t, "late"), field(&t, "meaning"),
                         field(&t, "meaning_zh"), field(&t, "causes"), field(&t, "checks"), extra,
                         field(&t, "source"), field(&t, "confidence"));
            printed_texts(b, &t, &at);
        }
    }
    end(&t);
}

static sqlite3_stmt *create_compat(CtKbBuild *b, const Tsv *t, const char *table)
{
    GString *create = g_string_new(NULL), *insert = g_string_new(NULL);
    g_string_printf(create, "CREATE TABLE compat_%s (", table);
    g_string_printf(insert, "INSERT INTO compat_%s VALUES (", table);
    for (guint i = 0; i < t->n; i++) {
        g_string_append_printf(create, "%s\"%s\" TEXT", i ? ", " : "", t->header[i]);
        g_string_append(insert, i ? ", ?" : "?");
    }
    g_string_append_c(create, ')');
    g_string_append_c(insert, ')');
    sqlite3_stmt *stmt = NULL;
    if (sqlite3_exec(b->db, create->str, NULL, NULL, NULL) != SQLITE_OK ||
        sqlite3_prepare_v2(b->db, insert->str, -1, &stmt, NULL) != SQLITE_OK)
        ct_kb_problem(b, t->at, 1, "%s", sqlite3_errmsg(b->db));
    g_string_free(create, TRUE);
    g_string_free(insert, TRUE);
    return stmt;
}

void ct_kb_build_compat(CtKbBuild *b, const char *data, const char *stem)
{
    Tsv t;
    gboolean ok = begin(b, &t, data);
    if (!is_id(stem)) {
        ct_kb_problem(b, 0, 0, "the name of the file must be lower-case letters and dashes");
        ok = FALSE;
    }
    for (guint i = 0; ok && i < t.n; i++) {
        if (!is_id(t.header[i])) {
            ct_kb_problem(b, t.at, 1, "column `%s` must be lower-case letters, digits and _",
                          t.header[i]);
            ok = FALSE;
        }
    }
    g_autofree char *table = g_strdelimit(g_strdup(stem), "-", '_');
    sqlite3_stmt *stmt = ok ? create_compat(b, &t, table) : NULL;
    while (stmt && next_row(b, &t)) {
        for (guint i = 0; i < t.n; i++)
            sqlite3_bind_text(stmt, (int)i + 1, field_at(&t, i), -1, SQLITE_TRANSIENT);
        sqlite3_step(stmt);
        sqlite3_reset(stmt);
    }
    sqlite3_finalize(stmt);
    end(&t);
}

void ct_kb_build_vocabulary(CtKbBuild *b, const char *data)
{
    static const char *const classes[] = {"event", "fact", "finding", "coverage", "series", NULL};
    Tsv t;
    if (begin(b, &t, data)) {
        while (next_row(b, &t)) {
            const char *class = field(&t, "class"), *name = field(&t, "name");
            const char *meaning = field(&t, "meaning");
            CtYaml at = {.line = t.at, .column = 1};
            if (!class || !name || !meaning) {
                ct_kb_problem(b, t.at, 1, "class, name and meaning are all needed");
                continue;
            }
            if (!g_strv_contains((const gchar *const *)classes, class))
                ct_kb_problem(b, t.at, 1,
                              "class `%s` is none of event, fact, finding, coverage, "
                              "series",
                              class);
            ct_kb_insert(b, &at, "INSERT INTO vocabulary VALUES (?, ?, ?)", "sss", class, name,
                         meaning);
        }
    }
    end(&t);
}

void ct_kb_build_topics(CtKbBuild *b, const char *data)
{
    static const char *const columns[] = {"topic",    "title_en", "title_zh", "words_en",
                                          "words_zh", "causes",   "about_en", "about_zh"};
    Tsv t;
    if (begin(b, &t, data)) {
        while (next_row(b, &t)) {
            CtYaml at = {.line = t.at, .column = 1};
            const char *v[G_N_ELEMENTS(columns)];
            gboolean whole = TRUE;
            for (guint i = 0; i < G_N_ELEMENTS(columns); i++) {
                v[i] = field(&t, columns[i]);
                if (!v[i] && whole)
                    ct_kb_problem(b, t.at, 1, "`%s` is missing", columns[i]);
                whole &= v[i] != NULL;
            }
            if (whole && ct_kb_check_id(b, &at, v[0]))
                ct_kb_insert(b, &at, "INSERT INTO topic VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                             "ssssssss", v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7]);
        }
    }
    end(&t);
}

/* glossary.tsv: one Chinese word for one thing; `avoid` are words that mean it elsewhere or wrongly. */
void ct_kb_build_glossary(CtKbBuild *b, const char *data)
{
    Tsv t;
    if (begin(b, &t, data)) {
        while (next_row(b, &t)) {
            CtYaml at = {.line = t.at, .column = 1};
            const char *en = field(&t, "en"), *zh = field(&t, "zh"), *avoid = field(&t, "avoid");
            if (!en || !zh)
                ct_kb_problem(b, t.at, 1, "`en` or `zh` is missing");
            else
                ct_kb_insert(b, &at, "INSERT INTO glossary VALUES (?, ?, ?)", "sss", en, zh,
                             avoid ? avoid : "");
        }
    }
    end(&t);
}

/* calibration.tsv, as `kb calibrate` writes it: numbers by name, read by the reasoner from meta. */
void ct_kb_build_calibration(CtKbBuild *b, const char *data)
{
    Tsv t;
    if (begin(b, &t, data)) {
        while (next_row(b, &t)) {
            CtYaml at = {.line = t.at, .column = 1};
            const char *key = field(&t, "key"), *value = field(&t, "value");
            char *tail = NULL;
            if (value)
                g_ascii_strtod(value, &tail);
            if (!key || !is_id(key) || !value || tail == value || *tail)
                ct_kb_problem(b, t.at, 1, "a line is a name and a number");
            else
                ct_kb_insert(b, &at, "INSERT INTO meta VALUES (?, ?)", "ss", key, value);
        }
    }
    end(&t);
}

/* facts.tsv: a key or GLOB, whether it changes by itself, how much a change matters, its layer. */
void ct_kb_build_facts(CtKbBuild *b, const char *data)
{
    Tsv t;
    if (begin(b, &t, data)) {
        while (next_row(b, &t)) {
            CtYaml at = {.line = t.at, .column = 1};
            const char *key = field(&t, "key"), *volatile_ = field(&t, "volatile");
            const char *weight = field(&t, "importance"), *layer = field(&t, "layer");
            if (!key || !volatile_ || !weight || !layer)
                ct_kb_problem(b, t.at, 1, "key, volatile, importance and layer are all needed");
            else
                ct_kb_insert(b, &at, "INSERT INTO fact_kind VALUES (?, ?, ?, ?)", "siis", key,
                             (gint64)(strcmp(volatile_, "yes") == 0        ? 1
                                      : strcmp(volatile_, "identity") == 0 ? 2
                                                                           : 0),
                             g_ascii_strtoll(weight, NULL, 10), layer);
        }
    }
    end(&t);
}
