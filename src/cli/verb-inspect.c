/* SPDX-License-Identifier: Apache-2.0 */
/* What did the program understand of these files? Sections, their readers, and what came out. */
#include <string.h>

#include "cli/cli.h"
#include "cli/gather.h"
#include "cli/inspect-model.h"
#include "cli/inspect-trace.h"
#include "cli/sql-table.h"

static const char sections_sql[] =
    "SELECT s.path AS source, c.first_line AS first, c.last_line AS last, c.parser, c.scope,"
    " c.clock, c.status,"
    " (SELECT count(*) FROM event e WHERE e.section = c.id) AS events,"
    " (SELECT count(*) FROM fact f WHERE f.section = c.id) AS facts,"
    " (SELECT count(*) FROM series r WHERE r.section = c.id) AS series,"
    " (SELECT count(*) FROM span p WHERE p.section = c.id) AS spans,"
    " (SELECT group_concat(DISTINCT v.kind) FROM coverage v WHERE v.section = c.id) AS shows,"
    " coalesce(c.command, c.title, '') AS command, coalesce(c.note, s.note, '') AS note"
    " FROM section c JOIN source s ON s.id = c.source ORDER BY s.id, c.id";
static const char sources_sql[] =
    "SELECT path AS source, format, status, bytes, lines, coalesce(note, '') AS note"
    " FROM source ORDER BY id";
static const char events_sql[] =
    "SELECT s.path AS source, e.line, e.kind, e.severity, e.code, e.name, e.subject, e.gpu, e.pid,"
    " e.rank, e.repeats, e.detail, e.text FROM event e JOIN section c ON c.id = e.section"
    " JOIN source s ON s.id = c.source ORDER BY e.seq";
static const char facts_sql[] =
    "SELECT s.path AS source, f.line, c.scope, f.subject, f.key, f.value, f.number, f.status"
    " FROM fact f JOIN section c ON c.id = f.section JOIN source s ON s.id = c.source"
    " ORDER BY f.id";
static const char findings_sql[] =
    "SELECT analyzer, kind, severity, subject, number, confidence, text, detail FROM finding"
    " ORDER BY id";
static const char series_sql[] =
    "SELECT s.path AS source, c.first_line AS first, r.subject, r.metric, r.unit"
    " FROM series r JOIN section c ON c.id = r.section JOIN source s ON s.id = c.source"
    " ORDER BY r.id";

static const struct {
    const char *what, *sql;
} views[] = {
    {"sections", sections_sql}, {"sources", sources_sql},   {"events", events_sql},
    {"facts", facts_sql},       {"findings", findings_sql}, {"series", series_sql},
};

static const char *view_sql(const char *what, int *out_exit)
{
    for (gsize i = 0; i < G_N_ELEMENTS(views); i++)
        if (g_str_equal(views[i].what, what))
            return views[i].sql;
    *out_exit = ct_cli_usage("inspect", "--show %s: known are traces, sections, sources, events, "
                                        "facts, findings and series", what);
    return NULL;
}

/* ---- traces ---- */

static void print_traces(const CtGather *g, gboolean json, CtLang lang)
{
    json_t *list = json ? json_array() : NULL;
    for (guint i = 0; i < g->traces->len; i++) {
        const CtTrace *t = g_ptr_array_index(g->traces, i);
        if (json) {
            json_array_append_new(list, t->trt ? ct_inspect_trt_json(t, g->traces)
                                               : ct_inspect_trace_json(t, g->kb));
            continue;
        }
        if (i)
            putchar('\n');
        if (t->trt)
            ct_inspect_trt_text(t, g->traces, lang);
        else
            ct_inspect_trace_text(t, g->kb, lang);
    }
    if (!json)
        return;
    json_t *o = json_pack("{s:s, s:o}", "schema", "cutriage.traces/1", "traces", list);
    char *text = json_dumps(o, JSON_INDENT(1));
    puts(text ? text : "null");
    free(text);
    json_decref(o);
}

static gint64 count_of(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *st = NULL;
    gint64 n = 0;
    sqlite3_prepare_v2(db, sql, -1, &st, NULL);
    if (st && sqlite3_step(st) == SQLITE_ROW)
        n = sqlite3_column_int64(st, 0);
    sqlite3_finalize(st);
    return n;
}

/* TRUE: nothing is left to show. */
static gboolean show_traces(const CtGather *g, gboolean asked, gboolean json, gboolean csv,
                            CtLang lang)
{
    if (!asked && (csv || g->traces->len == 0))
        return FALSE;
    if (g->traces->len == 0)
        ct_cli_note("none of these files is a trace");
    print_traces(g, json, lang);
    gint64 others = count_of(ct_evidence_db(g->ev), "SELECT count(*) FROM source");
    for (guint i = 0; i < g->traces->len; i++)
        others -= !((const CtTrace *)g_ptr_array_index(g->traces, i))->beside;
    if (asked || json || others <= 0)
        return TRUE;
    putchar('\n');
    return FALSE;
}

static int run(int argc, char **argv)
{
    gboolean json = FALSE, csv = FALSE;
    g_autofree char *show = NULL, *knowledge = NULL, *language = NULL;
    CtLang lang;
    int code = 0;
    const GOptionEntry entries[] = {
        {"show", 0, 0, G_OPTION_ARG_STRING, &show,
         "traces, sections, sources, events, facts, findings, series", "WHAT"},
        {"lang", 0, 0, G_OPTION_ARG_STRING, &language, "en or zh (default: of the environment)",
         "LANG"},
        {"json", 0, 0, G_OPTION_ARG_NONE, &json, "Print JSON", NULL},
        {"csv", 0, 0, G_OPTION_ARG_NONE, &csv, "Print CSV", NULL},
        {"knowledge", 0, 0, G_OPTION_ARG_FILENAME, &knowledge, "Use this knowledge folder", "DIR"},
        {NULL},
    };
    const CtVerbHelp help = {
        .verb = "inspect",
        .args = "PATH...",
        .summary = "Shows what was understood of files: how each was cut into sections, which\n"
                   "parser read a section, and the events, facts and series that came out.\n"
                   "Of a trace (Nsight Systems SQLite, PyTorch, TensorFlow, ONNX Runtime, Triton)\n"
                   "and of TensorRT profiles it shows the totals.",
        .examples = "  cutriage inspect report1.sqlite\n"
                    "  cutriage inspect profile.json layers.json\n"
                    "  cutriage inspect app.log\n"
                    "  cutriage inspect --show events app.log dmesg.txt\n"
                    "  cutriage inspect --show facts --csv env.txt\n"
                    "  cutriage inspect --json logs/ | jq '.rows[] | select(.events > 0)'\n",
        .entries = entries,
    };
    if (!ct_cli_options(&help, &argc, &argv, &code))
        return code;
    if (json && csv)
        return ct_cli_usage("inspect", "--json and --csv exclude each other");
    if (!ct_cli_lang("inspect", language, &lang, &code))
        return code;
    gboolean traces = g_strcmp0(show, "traces") == 0;
    const char *sql = view_sql(show && !traces ? show : "sections", &code);
    g_autofree char **paths = sql ? ct_gather_paths("inspect", argc, argv, &code) : NULL;
    if (paths && !show && !csv && ct_inspect_models(paths, json, &code))
        return code;
    g_auto(CtGather) gather = {.keep_traces = !show || traces};
    if (!paths || !ct_gather("inspect", paths, knowledge, &gather, &code))
        return code;

    if (gather.keep_traces && show_traces(&gather, traces, json, csv, lang))
        return CT_EXIT_NOTHING;
    g_autoptr(GError) error = NULL;
    sqlite3 *db = ct_evidence_db(gather.ev);
    sqlite3_stmt *st = NULL;
    if (sqlite3_prepare_v2(db, sql, -1, &st, NULL) != SQLITE_OK) {
        g_set_error(&error, CT_ERROR, CT_ERROR_INTERNAL, "%s", sqlite3_errmsg(db));
        return ct_cli_fail("inspect", error);
    }
    gboolean ok = ct_sql_table(db, st, json ? CT_TABLE_JSON : csv ? CT_TABLE_CSV : CT_TABLE_ALIGNED,
                               "cutriage.inspect/1", NULL, &error);
    sqlite3_finalize(st);
    return ok ? CT_EXIT_NOTHING : ct_cli_fail("inspect", error);
}

const CtVerb ct_verb_inspect = {
    .name = "inspect",
    .step = "evidence",
    .summary = "Show what was understood of a file, section by section",
    .run = run,
};
