/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "analyze/analyzer.h"
#include "cli/cli.h"
#include "cli/knowledge.h"
#include "cli/sql-table.h"
#include "collect/live/live.h"
#include "kb/kb.h"
#include "parse/frame/parser.h"

/* What the knowledge base holds, as a statement with the columns of a person's language. ?1 is the
 * text to filter by: no case, anywhere in the columns that name things. */
static const struct {
    const char *what, *sql[CT_N_LANGS];
} listings[] = {
#define BOTH(sql) {sql("en"), sql("zh")}
#define CAUSES(l)                                                                                  \
    "SELECT id, layer, title_" l " AS title, action, prior FROM cause "                            \
    "WHERE instr(lower(id||' '||layer||' '||title_" l "), ?1) ORDER BY layer, id"
#define RULES(l)                                                                                   \
    "SELECT cause, id AS rule, weight, evidence_group AS 'group', say_" l " AS says FROM rule "    \
    "WHERE instr(lower(cause||' '||id||' '||evidence_group), ?1) ORDER BY cause, id"
#define SIGNATURES(l)                                                                              \
    "SELECT id, kind, severity, scope, file FROM signature "                                       \
    "WHERE instr(lower(id||' '||kind), ?1) ORDER BY id"
#define CODES(l)                                                                                   \
    "SELECT family, number, coalesce(name, '') AS name, coalesce(message, '') AS message "         \
    "FROM code WHERE instr(lower(family||' '||coalesce(name,'')||' '||coalesce(alt_name,'')||"     \
    "' '||coalesce(message,'')), ?1) ORDER BY family, number"
#define VOCABULARY(l)                                                                              \
    "SELECT class, name, meaning FROM vocabulary "                                                 \
    "WHERE instr(lower(class||' '||name||' '||meaning), ?1) ORDER BY class, name"
#define TOPICS(l)                                                                                  \
    "SELECT topic, title_" l " AS title, words_" l " AS words, causes FROM topic "                 \
    "WHERE instr(lower(topic||' '||title_" l "||' '||words_" l "), ?1) ORDER BY topic"
/* In the spelling that diff --release and check --plan-upgrade take; a driver is for the latter. */
#define RELEASES(l)                                                                                \
    "SELECT release, kind, contains FROM (SELECT DISTINCT 'jp'||jetpack AS release, 'jetpack' AS " \
    "kind, 'L4T '||group_concat(l4t, ', ') AS contains FROM compat_jetson_release WHERE jetpack "  \
    "IS NOT NULL GROUP BY jetpack UNION SELECT 'l4t-r'||l4t, 'l4t', coalesce('JetPack '||jetpack," \
    " '') FROM compat_jetson_release UNION SELECT 'cuda'||cuda, 'cuda', coalesce('driver '"        \
    "||min(CAST(min_driver AS INTEGER)), '') FROM compat_cuda_toolkit GROUP BY cuda UNION SELECT 'driver-'||branch, "    \
    "'driver', coalesce('CUDA '||max_cuda, '') FROM compat_driver_branch WHERE platform = "        \
    "'server') WHERE instr(lower(release||' '||kind||' '||contains), ?1) ORDER BY kind, release"
    {"causes", BOTH(CAUSES)},         {"rules", BOTH(RULES)},
    {"topics", BOTH(TOPICS)},         {"releases", BOTH(RELEASES)},
    {"signatures", BOTH(SIGNATURES)}, {"codes", BOTH(CODES)},
    {"vocabulary", BOTH(VOCABULARY)},
};

typedef struct {
    gboolean json, csv;
    char *lang, *knowledge;
    CtLang language;
    char *filter; /* lower case */
} Options;

static CtTableForm form_of(const Options *o)
{
    return o->json ? CT_TABLE_JSON : o->csv ? CT_TABLE_CSV : CT_TABLE_ALIGNED;
}

static int list_knowledge(const Options *o, const char *sql)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(CtKb) kb = ct_cli_knowledge(o->knowledge, &error);
    if (!kb)
        return ct_cli_fail("list", error);
    sqlite3_stmt *st = NULL;
    if (sqlite3_prepare_v2(ct_kb_db(kb), sql, -1, &st, NULL) != SQLITE_OK) {
        g_set_error(&error, CT_ERROR, CT_ERROR_INTERNAL, "%s", sqlite3_errmsg(ct_kb_db(kb)));
        return ct_cli_fail("list", error);
    }
    sqlite3_bind_text(st, 1, o->filter, -1, SQLITE_STATIC);
    gboolean ok = ct_sql_table(ct_kb_db(kb), st, form_of(o), "cutriage.list/1", NULL, &error);
    sqlite3_finalize(st);
    return ok ? CT_EXIT_NOTHING : ct_cli_fail("list", error);
}

static void row(CtTable *table, const Options *o, const char *id, const char *emits,
                const char *summary)
{
    g_autofree char *all = g_strconcat(id, " ", emits ? emits : "", " ", summary, NULL);
    g_autofree char *lower = g_utf8_strdown(all, -1);
    const CtCell cells[] = {{CT_CELL_TEXT, id}, {CT_CELL_TEXT, emits ? emits : summary},
                            {CT_CELL_TEXT, summary}};
    if (strstr(lower, o->filter))
        ct_table_row(table, cells);
}

static int list_parsers(const Options *o)
{
    static const char *const names[] = {"id", "summary"};
    CtTable *table = ct_table_new(form_of(o), "cutriage.list/1", 2, names);
    for (const CtParser *const *p = ct_parsers(); *p; p++)
        row(table, o, (*p)->id, NULL, (*p)->summary);
    return ct_table_end(table) ? CT_EXIT_NOTHING : CT_EXIT_FAILED;
}

static int list_analyzers(const Options *o)
{
    static const char *const names[] = {"id", "emits", "summary"};
    CtTable *table = ct_table_new(form_of(o), "cutriage.list/1", 3, names);
    for (const CtAnalyzer *const *a = ct_analyzers(); *a; a++)
        row(table, o, (*a)->id, (*a)->emits, (*a)->summary);
    return ct_table_end(table) ? CT_EXIT_NOTHING : CT_EXIT_FAILED;
}

static int list_collectors(const Options *o)
{
    static const char *const names[] = {"id", "layer", "summary"};
    CtTable *table = ct_table_new(form_of(o), "cutriage.list/1", 3, names);
    for (const CtCollector *const *c = ct_collectors(); *c; c++)
        row(table, o, (*c)->id, (*c)->layer, (*c)->title);
    return ct_table_end(table) ? CT_EXIT_NOTHING : CT_EXIT_FAILED;
}

static int dispatch(const Options *o, const char *what)
{
    if (g_str_equal(what, "collectors"))
        return list_collectors(o);
    if (g_str_equal(what, "parsers"))
        return list_parsers(o);
    if (g_str_equal(what, "analyzers"))
        return list_analyzers(o);
    for (gsize i = 0; i < G_N_ELEMENTS(listings); i++)
        if (g_str_equal(what, listings[i].what))
            return list_knowledge(o, listings[i].sql[o->language]);

    static const char *const known[] = {"collectors", "parsers", "analyzers",  "causes",     "rules",
                                        "signatures", "codes", "topics", "releases", "vocabulary",
                                        NULL};
    const char *near = ct_cli_nearest(what, known);
    g_autofree char *all = g_strjoinv(", ", (char **)known);
    return ct_cli_usage("list", "there is no list of '%s'%s%s%s; known are %s", what,
                        near ? ", did you mean " : "", near ? near : "", near ? "?" : "", all);
}

static int run(int argc, char **argv)
{
    Options o = {0};
    int code = 0;
    const GOptionEntry entries[] = {
        {"json", 0, 0, G_OPTION_ARG_NONE, &o.json, "Print JSON", NULL},
        {"csv", 0, 0, G_OPTION_ARG_NONE, &o.csv, "Print CSV", NULL},
        {"lang", 0, 0, G_OPTION_ARG_STRING, &o.lang, "Language: en or zh", "LANG"},
        {"knowledge", 0, 0, G_OPTION_ARG_FILENAME, &o.knowledge, "Use this knowledge folder",
         "DIR"},
        {NULL},
    };
    const CtVerbHelp help = {
        .verb = "list",
        .args = "WHAT [TEXT]",
        .summary = "Lists what the program knows: collectors, parsers, analyzers, causes, rules,\n"
                   "signatures, codes, topics, releases, vocabulary. With TEXT only the entries that\n"
                   "hold it.",
        .examples = "  cutriage list causes\n"
                    "  cutriage list causes memory --lang zh\n"
                    "  cutriage list codes cudnn\n"
                    "  cutriage list rules --json | jq '.rows[].rule'\n",
        .entries = entries,
    };
    if (!ct_cli_options(&help, &argc, &argv, &code))
        goto out;
    if (o.json && o.csv)
        code = ct_cli_usage("list", "--json and --csv exclude each other");
    else if (argc < 2)
        code = ct_cli_usage("list", "say what: collectors, parsers, analyzers, causes, rules, "
                                    "signatures, codes, topics, releases or vocabulary");
    else if (argc > 3)
        code = ct_cli_usage("list", "too many arguments from '%s' on", argv[3]);
    else if (ct_cli_lang("list", o.lang, &o.language, &code)) {
        o.filter = g_utf8_strdown(argc > 2 ? argv[2] : "", -1);
        code = dispatch(&o, argv[1]);
    }
out:
    g_free(o.lang);
    g_free(o.knowledge);
    g_free(o.filter);
    return code;
}

const CtVerb ct_verb_list = {
    .name = "list",
    .summary = "List parsers, causes, rules, codes and the other things known",
    .run = run,
};
