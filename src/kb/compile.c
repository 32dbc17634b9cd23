/* SPDX-License-Identifier: Apache-2.0 */
#include "kb/compile.h"

#include <string.h>

#include "base/error.h"
#include "kb/build.h"

#define MAX_FILES 5000u
#define MAX_FILE_BYTES ((gsize)4 * 1024 * 1024)

extern const char ct_kb_schema_sql[];

void ct_kb_problem_free(CtKbProblem *problem)
{
    if (!problem)
        return;
    g_free(problem->file);
    g_free(problem->text);
    g_free(problem);
}

static void free_problem(gpointer problem)
{
    ct_kb_problem_free(problem);
}

char *ct_kb_problem_format(const CtKbProblem *p, const char *folder)
{
    GString *s = g_string_new(NULL);
    if (folder && *folder)
        g_string_append_printf(s, "%s/", folder);
    g_string_append(s, p->file ? p->file : "");
    if (p->line)
        g_string_append_printf(s, ":%u", p->line);
    if (p->line && p->column)
        g_string_append_printf(s, ":%u", p->column);
    g_string_append_printf(s, ": %s: %s", p->warning ? "warning" : "error", p->text);
    return g_string_free(s, FALSE);
}

static int compare_names(gconstpointer a, gconstpointer b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Names in a folder that end in `suffix` (NULL: folders), sorted; hidden ones are left out. */
static GPtrArray *names_in(CtKbBuild *b, const char *sub, const char *suffix, GPtrArray *deps)
{
    GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
    g_autofree char *path = g_build_filename(b->folder, sub, NULL);
    g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
    const char *name;
    if (dir && deps)
        g_ptr_array_add(deps, g_strdup(path));
    while (dir && (name = g_dir_read_name(dir)) && names->len < MAX_FILES) {
        g_autofree char *full = g_build_filename(path, name, NULL);
        gboolean wanted =
            suffix ? g_str_has_suffix(name, suffix) : g_file_test(full, G_FILE_TEST_IS_DIR);
        if (wanted && name[0] != '.')
            g_ptr_array_add(names, g_strdup(name));
    }
    g_ptr_array_sort(names, compare_names);
    return names;
}

static gboolean exec(CtKbBuild *b, const char *sql)
{
    if (sqlite3_exec(b->db, sql, NULL, NULL, NULL) == SQLITE_OK)
        return TRUE;
    ct_kb_problem(b, 0, 0, "%s: %s", sql, sqlite3_errmsg(b->db));
    return FALSE;
}

static char *read_file(CtKbBuild *b, GPtrArray *deps)
{
    g_autofree char *path = g_build_filename(b->folder, b->file, NULL);
    g_autoptr(GError) error = NULL;
    char *data;
    gsize len;
    if (deps)
        g_ptr_array_add(deps, g_strdup(path));
    if (!g_file_get_contents(path, &data, &len, &error)) {
        ct_kb_problem(b, 0, 0, "%s", error->message);
        return NULL;
    }
    const char *bad;
    if (len > MAX_FILE_BYTES) {
        ct_kb_problem(b, 0, 0, "the file is larger than 4 MiB");
    } else if (!g_utf8_validate(data, (gssize)len, &bad)) {
        guint line = 1;
        for (const char *p = data; p < bad; p++)
            line += *p == '\n';
        ct_kb_problem(b, line, 1, "not valid UTF-8 text");
    } else {
        return data;
    }
    g_free(data);
    return NULL;
}

typedef enum {
    CODES,
    COMPAT,
    SIGNATURES,
    CAUSES,
    CHECKS,
    FACTS,
    VOCABULARY,
    TOPICS,
    GLOSSARY,
    CALIBRATION
} Sort;

static void build_yaml(CtKbBuild *b, Sort sort, const char *data, const char *layer,
                       const char *stem)
{
    guint line, column;
    g_autofree char *message = NULL;
    g_autoptr(CtYaml) root = ct_yaml_load(data, strlen(data), &line, &column, &message);
    if (!root)
        ct_kb_problem(b, line, column, "%s", message);
    else if (sort == CAUSES)
        ct_kb_build_cause(b, root, layer, stem);
    else if (sort == CHECKS)
        ct_kb_build_checks(b, root);
    else
        ct_kb_build_signatures(b, root);
}

/* One file within a savepoint: it counts whole or not at all. */
static void build_file(CtKbBuild *b, Sort sort, const char *sub, const char *name, GPtrArray *deps)
{
    g_autofree char *file = g_build_filename(sub, name, NULL);
    g_autofree char *stem = g_strndup(name, (gsize)(strrchr(name, '.') - name));
    guint before = b->problems->len;
    b->file = file;
    g_autofree char *data = read_file(b, deps);
    if (data && exec(b, "SAVEPOINT file")) {
        switch (sort) {
        case CODES:
            ct_kb_build_codes(b, data, stem);
            break;
        case COMPAT:
            ct_kb_build_compat(b, data, stem);
            break;
        case SIGNATURES:
            build_yaml(b, sort, data, NULL, stem);
            break;
        case CAUSES:
            build_yaml(b, sort, data, strrchr(sub, '/') + 1, stem);
            break;
        case CHECKS:
            build_yaml(b, sort, data, NULL, stem);
            break;
        case VOCABULARY:
            ct_kb_build_vocabulary(b, data);
            break;
        case TOPICS:
            ct_kb_build_topics(b, data);
            break;
        case GLOSSARY:
            ct_kb_build_glossary(b, data);
            break;
        case CALIBRATION:
            ct_kb_build_calibration(b, data);
            break;
        case FACTS:
            ct_kb_build_facts(b, data);
        }
        if (b->problems->len > before)
            exec(b, "ROLLBACK TO file");
        exec(b, "RELEASE file");
    }
    b->file = NULL;
}

static void build_folder(CtKbBuild *b, Sort sort, const char *sub, const char *suffix,
                         GPtrArray *deps)
{
    g_autoptr(GPtrArray) names = names_in(b, sub, suffix, deps);
    for (guint i = 0; i < names->len; i++)
        build_file(b, sort, sub, names->pdata[i], deps);
}

static void finalize(gpointer stmt)
{
    sqlite3_finalize(stmt);
}

/* Files that stand alone, in the order in which they are read; all may be missing. */
static const struct {
    Sort sort;
    const char *name;
} singles[] = {{VOCABULARY, "vocabulary.tsv"}, {TOPICS, "topics.tsv"},
               {GLOSSARY, "glossary.tsv"},     {CALIBRATION, "calibration.tsv"},
               {FACTS, "facts.tsv"},           {CHECKS, "checks.yaml"}};

GPtrArray *ct_kb_compile_collect(const char *folder, sqlite3 *out, GPtrArray *deps)
{
    CtKbBuild b = {.db = out, .folder = folder};
    b.problems = g_ptr_array_new_with_free_func(free_problem);
    b.statements = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, finalize);
    if (!g_file_test(folder, G_FILE_TEST_IS_DIR)) {
        ct_kb_problem(&b, 0, 0, "%s is not a folder", folder);
    } else if (exec(&b, ct_kb_schema_sql) && exec(&b, "BEGIN")) {
        if (deps)
            g_ptr_array_add(deps, g_strdup(folder));
        exec(&b, "INSERT INTO meta VALUES ('format', '1'), ('version', '" CT_VERSION "')");
        for (guint i = 0; i < G_N_ELEMENTS(singles); i++) {
            g_autofree char *path = g_build_filename(folder, singles[i].name, NULL);
            if (g_file_test(path, G_FILE_TEST_EXISTS))
                build_file(&b, singles[i].sort, "", singles[i].name, deps);
        }
        build_folder(&b, CODES, "codes", ".tsv", deps);
        build_folder(&b, COMPAT, "compat", ".tsv", deps);
        build_folder(&b, SIGNATURES, "signatures", ".yaml", deps);
        g_autoptr(GPtrArray) layers = names_in(&b, "causes", NULL, deps);
        for (guint i = 0; i < layers->len; i++) {
            g_autofree char *sub = g_build_filename("causes", layers->pdata[i], NULL);
            build_folder(&b, CAUSES, sub, ".yaml", deps);
        }
        g_hash_table_remove_all(b.statements);
        exec(&b, "COMMIT");
    }
    g_hash_table_unref(b.statements);
    return b.problems;
}

gboolean ct_kb_compile(const char *folder, sqlite3 *out, GError **error)
{
    g_autoptr(GPtrArray) problems = ct_kb_compile_collect(folder, out, NULL);
    if (problems->len == 0)
        return TRUE;
    GString *all = g_string_new(NULL);
    for (guint i = 0; i < problems->len && i < 10; i++) {
        g_autofree char *line = ct_kb_problem_format(problems->pdata[i], folder);
        g_string_append_printf(all, "%s%s", i ? "\n" : "", line);
    }
    if (problems->len > 10)
        g_string_append_printf(all, "\nand %u more", problems->len - 10);
    g_set_error_literal(error, CT_ERROR, CT_ERROR_CORRUPT, all->str);
    g_string_free(all, TRUE);
    return FALSE;
}
