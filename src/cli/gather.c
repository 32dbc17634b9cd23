/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/gather.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/analyzer.h"
#include "cli/knowledge.h"
#include "collect/collect.h"
#include "report/layout.h"
#include "run/record-read.h"

/* A run that takes less stays silent. */
#define SILENT_US 1500000
#define REDRAW_US 200000

typedef struct {
    gboolean tty, drawn;
    gint64 begun_us, drawn_us;
    GPtrArray *cases, *records; /* char * */
    GPtrArray *traces;          /* Found */
} Watch;

typedef struct {
    char *file, *path;
    gboolean temporary;
} Found;

static void found_free(gpointer p)
{
    Found *f = p;
    if (f->temporary)
        unlink(f->file);
    g_free(f->file);
    g_free(f->path);
    g_free(f);
}

static void trace_free(gpointer p)
{
    ct_trace_free(p);
}

void ct_gather_clear(CtGather *g)
{
    g_clear_pointer(&g->ev, ct_evidence_free);
    g_clear_pointer(&g->kb, ct_kb_free);
    g_clear_pointer(&g->traces, g_ptr_array_unref);
}

/* A pipe, a file or a socket as standard input; a terminal or /dev/null is none. */
static gboolean input_is_piped(void)
{
    struct stat st;
    return fstat(STDIN_FILENO, &st) == 0 &&
           (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode) || (S_ISREG(st.st_mode) && st.st_size));
}

char **ct_gather_paths(const char *verb, int argc, char **argv, int *out_exit)
{
    if (argc < 2 && !input_is_piped()) {
        *out_exit = ct_cli_usage(verb,
                                 "say which files, for example: cutriage %s app.log dmesg.txt\n"
                                 "What helps most: the program's log, `sudo dmesg -T`, "
                                 "`nvidia-smi -q`; on a Jetson `tegrastats`",
                                 verb);
        return NULL;
    }
    char **paths = g_new0(char *, (gsize)MAX(argc, 2));
    if (argc < 2)
        paths[0] = (char *)"-";
    for (int i = 1; i < argc; i++)
        paths[i - 1] = argv[i];
    return paths;
}

static void on_progress(guint64 bytes, const char *path, gpointer user)
{
    Watch *w = user;
    gint64 now = g_get_monotonic_time();
    if (!w->tty || now - w->begun_us < SILENT_US || now - w->drawn_us < REDRAW_US)
        return;
    g_autofree char *size = g_format_size_full(bytes, G_FORMAT_SIZE_IEC_UNITS);
    g_autofree char *clean = ct_text_clean(path ? path : "");
    g_autofree char *name = ct_text_fit_left(clean, 50);
    fprintf(stderr, "\r\033[Kreading: %s, %s", size, name);
    fflush(stderr);
    w->drawn = TRUE;
    w->drawn_us = now;
}

static void on_waiting(const char *path, gpointer user)
{
    g_autofree char *clean = ct_text_clean(path);
    ct_cli_note("%s is a pipe and nothing has come yet; waiting for it (Ctrl-C ends)", clean);
}

static void on_case(const char *path, gpointer user)
{
    g_ptr_array_add(((Watch *)user)->cases, g_strdup(path));
}

static void on_record(const char *path, gpointer user)
{
    g_ptr_array_add(((Watch *)user)->records, g_strdup(path));
}

static CtTraceChoice is_trace(const guint8 *head, gsize len)
{
    switch (ct_trt_sniff(head, len)) {
    case CT_TRT_TIMES:
        return CT_TRACE_AND_TEXT; /* a table of latencies, and totals for `inspect` */
    case CT_TRT_PROFILE:
    case CT_TRT_LAYERS:
        return CT_TRACE_TAKE;
    case CT_TRT_NONE:
        break;
    }
    return ct_timeline_sniff(NULL, head, len) ? CT_TRACE_TAKE : CT_TRACE_NO;
}

static void on_trace(const char *file, gboolean temporary, const char *path, gpointer user)
{
    Found *f = g_new(Found, 1);
    *f = (Found){g_strdup(file), g_strdup(path), temporary};
    g_ptr_array_add(((Watch *)user)->traces, f);
}

/* What cannot be used is a source with its reason, as any other file. */
static void add_unusable(CtEvidence *ev, const char *path, const char *format, const GError *why)
{
    ct_evidence_add_source(ev, &(CtSourceRow){.path = path,
                                              .format = format,
                                              .status = why->code == CT_ERROR_UNSUPPORTED
                                                            ? CT_UNSUPPORTED : CT_FAILED,
                                              .note = why->message,
                                              .bytes = CT_NONE,
                                              .lines = CT_NONE});
}

static void import_records(CtGather *g, const GPtrArray *records)
{
    for (guint i = 0; i < records->len; i++) {
        const char *path = g_ptr_array_index(records, i);
        g_autoptr(GError) error = NULL;
        if (!ct_record_import(g->ev, g->kb, path, &error)) {
            add_unusable(g->ev, path, "record", error);
            continue;
        }
        CtTrace *trace = g->keep_traces ? ct_trace_open(path, path, NULL) : NULL;
        if (trace)
            g_ptr_array_add(g->traces, trace);
    }
}

static void import_traces(CtGather *g, const GPtrArray *traces)
{
    for (guint i = 0; i < traces->len; i++) {
        const Found *f = g_ptr_array_index(traces, i);
        g_autoptr(GError) error = NULL;
        CtTrace *trace = NULL;
        if (!ct_trace_import(g->ev, g->kb, f->file, f->path, !g->keep_traces,
                             g->keep_traces ? &trace : NULL, &error))
            add_unusable(g->ev, f->path, "trace", error);
        else if (trace)
            g_ptr_array_add(g->traces, trace);
    }
}

static void import_cases(CtEvidence *ev, const GPtrArray *cases)
{
    for (guint i = 0; i < cases->len; i++) {
        const char *path = g_ptr_array_index(cases, i);
        g_autoptr(GError) error = NULL;
        if (!ct_evidence_import(ev, path, &error))
            add_unusable(ev, path, "case", error);
    }
}

/* Tells of sources that gave nothing; TRUE when at least one gave something. */
static gboolean tell_troubles(CtEvidence *ev)
{
    sqlite3_stmt *st = NULL;
    guint used = 0, told = 0;
    /* What a capture did not find was told when it was taken. */
    sqlite3_prepare_v2(ct_evidence_db(ev),
                       "SELECT path, status, note FROM source WHERE NOT (coalesce(format, '') = "
                       "'live' AND status IN ('absent', 'denied')) ORDER BY id",
                       -1, &st, NULL);
    while (st && sqlite3_step(st) == SQLITE_ROW) {
        const char *status = (const char *)sqlite3_column_text(st, 1);
        const char *note = (const char *)sqlite3_column_text(st, 2);
        if (!g_str_equal(status, "absent") && !g_str_equal(status, "denied") &&
            !g_str_equal(status, "failed")) {
            used++;
            continue;
        }
        g_autofree char *path = ct_text_clean((const char *)sqlite3_column_text(st, 0));
        g_autofree char *why = ct_text_clean(note ? note : status);
        g_autofree char *twice = g_strconcat(path, ": ", NULL);
        const char *plain = g_str_has_prefix(why, twice) ? why + strlen(twice) : why;
        if (told++ < 10)
            ct_cli_note("%s: %s%s", path, plain,
                        g_str_has_suffix(plain, ", skipped") ? "" : ", skipped");
    }
    sqlite3_finalize(st);
    if (told > 10)
        ct_cli_note("and %u more, skipped", told - 10);
    return used > 0;
}

static gboolean open_stores(const char *knowledge, CtGather *g, GError **error)
{
    if (!g->kb)
        g->kb = ct_cli_knowledge(knowledge, error);
    if (g->kb)
        g->ev = ct_evidence_new(error);
    return g->kb && g->ev;
}

static gboolean read_paths(CtGather *g, char **paths, GError **error)
{
    g_autoptr(CtParse) parse = ct_parse_new(g->ev, g->kb, error);
    if (!parse)
        return FALSE;
    Watch watch = {.tty = isatty(STDERR_FILENO), .begun_us = g_get_monotonic_time()};
    watch.cases = g_ptr_array_new_with_free_func(g_free);
    watch.records = g_ptr_array_new_with_free_func(g_free);
    watch.traces = g_ptr_array_new_with_free_func(found_free);
    const CtCollectHooks hooks = {.progress = on_progress, .waiting = on_waiting, .on_case = on_case,
                                  .on_record = on_record, .is_trace = is_trace,
                                  .on_trace = on_trace, .user = &watch};
    CtCollectTotals totals = {0};
    for (; *paths; paths++)
        ct_collect_path(parse, g->ev, *paths, &hooks, &totals);
    for (guint i = 0; g->texts && i < g->texts->len; i++) {
        const CtGatherText *t = g_ptr_array_index(g->texts, i);
        ct_parse_memory(parse, t->path, t->text, strlen(t->text));
    }
    ct_parse_finish(parse);
    if (watch.drawn)
        fputs("\r\033[K", stderr);
    import_cases(g->ev, watch.cases);
    g->traces = g_ptr_array_new_with_free_func(trace_free);
    import_records(g, watch.records);
    import_traces(g, watch.traces);
    g_ptr_array_unref(watch.traces);
    g_ptr_array_unref(watch.records);
    g_ptr_array_unref(watch.cases);
    return TRUE;
}

gboolean ct_gather(const char *verb, char **paths, const char *knowledge, CtGather *out,
                   int *out_exit)
{
    g_autoptr(GError) error = NULL;
    if (!open_stores(knowledge, out, &error) || !read_paths(out, paths, &error)) {
        *out_exit = ct_cli_fail(verb, error);
        return FALSE;
    }
    if (!tell_troubles(out->ev)) {
        fprintf(stderr, "cutriage %s: nothing to read is left\n", verb);
        *out_exit = CT_EXIT_FAILED;
        return FALSE;
    }
    ct_analyze(out->ev);
    return TRUE;
}

/* Something was recognised as text, output, trace or case. */
static gboolean is_state(CtEvidence *ev)
{
    sqlite3_stmt *st = NULL;
    ct_evidence_flush(ev);
    sqlite3_prepare_v2(ct_evidence_db(ev),
                       "SELECT EXISTS (SELECT 1 FROM section WHERE parser IS NOT NULL) OR EXISTS "
                       "(SELECT 1 FROM event) OR EXISTS (SELECT 1 FROM fact) OR EXISTS (SELECT 1 "
                       "FROM source WHERE format = 'live')",
                       -1, &st, NULL);
    gboolean found = st && sqlite3_step(st) == SQLITE_ROW && sqlite3_column_int(st, 0);
    sqlite3_finalize(st);
    return found || ct_evidence_n_series(ev) > 0;
}

static char *why_nothing(CtEvidence *ev)
{
    sqlite3_stmt *st = NULL;
    char *why = NULL;
    sqlite3_prepare_v2(ct_evidence_db(ev),
                       "SELECT coalesce(note, CASE WHEN bytes = 0 THEN 'it is empty' END) FROM "
                       "source ORDER BY note IS NULL, id LIMIT 1",
                       -1, &st, NULL);
    if (st && sqlite3_step(st) == SQLITE_ROW && sqlite3_column_type(st, 0) != SQLITE_NULL)
        why = ct_text_clean((const char *)sqlite3_column_text(st, 0));
    sqlite3_finalize(st);
    return why;
}

gboolean ct_gather_state(const char *verb, char **paths, const char *knowledge, CtGather *out,
                         int *out_exit)
{
    if (!ct_gather(verb, paths, knowledge, out, out_exit))
        return FALSE;
    if (is_state(out->ev))
        return TRUE;
    g_autofree char *all = g_strjoinv(", ", paths), *named = ct_text_clean(all);
    g_autofree char *why = why_nothing(out->ev);
    fprintf(stderr, "cutriage %s: %s: no case, and nothing in it could be read%s%s\n", verb, named,
            why ? ": " : "", why ? why : "");
    *out_exit = CT_EXIT_FAILED;
    return FALSE;
}
