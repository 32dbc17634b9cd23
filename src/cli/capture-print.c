/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/capture-print.h"

#include <jansson.h>
#include <string.h>

#include "report/layout.h"

#define MAX_LISTED 8u

static gint64 count(CtEvidence *ev, const char *table)
{
    sqlite3_stmt *st = NULL;
    gint64 n = 0;
    g_autofree char *sql = g_strconcat("SELECT count(*) FROM ", table, NULL);
    if (sqlite3_prepare_v2(ct_evidence_db(ev), sql, -1, &st, NULL) == SQLITE_OK &&
        sqlite3_step(st) == SQLITE_ROW)
        n = sqlite3_column_int64(st, 0);
    sqlite3_finalize(st);
    return n;
}

static guint with_status(const CtLiveCapture *capture, const CtCollector *collector,
                         CtStatus status)
{
    guint n = 0;
    for (guint i = 0; i < capture->sections->len; i++) {
        const CtLiveSection *s = g_ptr_array_index(capture->sections, i);
        n += s->collector == collector && s->status == status;
    }
    return n;
}

static void add_run(GString *out, const CtLiveRun *run, gboolean first, CtLang lang)
{
    g_autofree char *size = g_format_size_full(run->bytes, G_FORMAT_SIZE_IEC_UNITS);
    g_autofree char *n = g_strdup_printf("%u", run->sections);
    const char *shown = ct_term(lang, "layer", run->collector->layer);
    g_autofree char *column = ct_text_fit(first ? shown : "", 18);
    g_autofree char *what =
        run->status == CT_OK ? ct_msgf(lang, CT_MSG_CAPTURE_RUN, n, size, NULL)
                             : g_strdup(ct_term(lang, "status", ct_status_name(run->status)));
    g_string_append(out, column);
    for (guint w = ct_text_width(column); w < 19; w++)
        g_string_append_c(out, ' ');
    g_string_append_printf(out, "%s: %s\n", run->collector->id, what);
}

/* One line a collector that brought something, those of a layer together, in the order in which
 * the layers first come. */
static void add_runs(GString *out, const CtLiveCapture *capture, CtLang lang)
{
    g_autoptr(GHashTable) done = g_hash_table_new(g_str_hash, g_str_equal);
    for (guint i = 0; i < capture->runs->len; i++) {
        const CtLiveRun *head = g_ptr_array_index(capture->runs, i);
        gboolean first = TRUE;
        if (!g_hash_table_add(done, (gpointer)head->collector->layer))
            continue;
        for (guint k = i; k < capture->runs->len; k++) {
            const CtLiveRun *run = g_ptr_array_index(capture->runs, k);
            if (strcmp(run->collector->layer, head->collector->layer) != 0 ||
                run->status == CT_UNSUPPORTED || (!run->bytes && run->status == CT_OK))
                continue;
            add_run(out, run, first, lang);
            first = FALSE;
        }
    }
}

static void add_list(GString *out, const CtLiveCapture *capture, CtStatus status, CtMsg title,
                     CtLang lang)
{
    guint n = 0;
    for (guint i = 0; i < capture->sections->len; i++) {
        const CtLiveSection *s = g_ptr_array_index(capture->sections, i);
        if (s->status != status)
            continue;
        if (n++ == 0)
            g_string_append_printf(out, "%s\n", ct_msg(lang, title));
        if (n > MAX_LISTED)
            continue;
        g_autofree char *path = ct_text_clean(s->path);
        g_autofree char *note = ct_text_clean(s->note ? s->note : "");
        g_autofree char *line = g_strdup_printf("  %s%s%s", path, *note ? ": " : "", note);
        g_autofree char *fit = ct_text_fit(line, 96);
        g_string_append_printf(out, "%s\n", fit);
    }
    if (n > MAX_LISTED) {
        g_autofree char *more = g_strdup_printf("%u", n - MAX_LISTED);
        g_autofree char *text = ct_msgf(lang, CT_MSG_CAPTURE_MORE, more, NULL);
        g_string_append_printf(out, "  %s\n", text);
    }
}

/* Files that the person named, and why they are not in the case. */
static void add_named(GString *out, const CtLiveCapture *capture, CtLang lang)
{
    gboolean first = TRUE;
    for (guint i = 0; i < capture->sections->len; i++) {
        const CtLiveSection *s = g_ptr_array_index(capture->sections, i);
        if (!s->collector || strcmp(s->collector->id, "models") != 0 || !s->note ||
            (s->status != CT_ABSENT && s->status != CT_UNSUPPORTED))
            continue;
        g_autofree char *path = ct_text_clean(s->path), *note = ct_text_clean(s->note);
        if (first)
            g_string_append_printf(out, "%s\n", ct_msg(lang, CT_MSG_CAPTURE_LEFT_OUT));
        g_string_append_printf(out, "  %s: %s\n", path, note);
        first = FALSE;
    }
}

char *ct_capture_summary(const CtLiveCapture *capture, CtEvidence *ev, const char *file,
                         guint redacted, CtLang lang)
{
    GString *out = g_string_new(NULL);
    g_autofree char *took = g_strdup_printf("%.1f s", (double)capture->took_ms / 1000);
    g_autofree char *facts = g_strdup_printf("%" G_GINT64_FORMAT, count(ev, "fact"));
    g_autofree char *events = g_strdup_printf("%" G_GINT64_FORMAT, count(ev, "event"));
    g_autofree char *head = ct_msgf(lang, CT_MSG_CAPTURE_HEAD, facts, events, took, NULL);
    g_string_append_printf(out, "%s\n", head);
    add_runs(out, capture, lang);
    add_list(out, capture, CT_DENIED, CT_MSG_CAPTURE_DENIED, lang);
    add_list(out, capture, CT_TIMEOUT, CT_MSG_CAPTURE_TIMEOUT, lang);
    add_named(out, capture, lang);
    if (redacted) {
        g_autofree char *n = g_strdup_printf("%u", redacted);
        g_autofree char *text = ct_msgf(lang, CT_MSG_CAPTURE_REDACTED, n, NULL);
        g_string_append_printf(out, "%s\n", text);
    }
    if (file) {
        g_autofree char *shown = ct_text_clean(file);
        g_autofree char *text = ct_msgf(lang, CT_MSG_CAPTURE_WRITTEN, shown, NULL);
        g_string_append_printf(out, "%s\n", text);
    }
    return g_string_free(out, FALSE);
}

static json_t *text_or_null(const char *text)
{
    g_autofree char *valid = text ? g_utf8_make_valid(text, -1) : NULL;
    return valid ? json_string(valid) : json_null();
}

static json_t *runs_json(const CtLiveCapture *capture)
{
    json_t *all = json_array();
    for (guint i = 0; i < capture->runs->len; i++) {
        const CtLiveRun *run = g_ptr_array_index(capture->runs, i);
        json_t *one = json_object();
        json_object_set_new(one, "collector", json_string(run->collector->id));
        json_object_set_new(one, "layer", json_string(run->collector->layer));
        json_object_set_new(one, "status", json_string(ct_status_name(run->status)));
        json_object_set_new(one, "sources", json_integer(run->sections));
        json_object_set_new(one, "denied",
                            json_integer(with_status(capture, run->collector, CT_DENIED)));
        json_object_set_new(one, "bytes", json_integer((json_int_t)run->bytes));
        json_object_set_new(one, "took_ms", json_integer(run->took_ms));
        json_object_set_new(one, "note", text_or_null(run->note));
        json_array_append_new(all, one);
    }
    return all;
}

static json_t *sections_json(const CtLiveCapture *capture, CtStatus status)
{
    json_t *all = json_array();
    for (guint i = 0; i < capture->sections->len; i++) {
        const CtLiveSection *s = g_ptr_array_index(capture->sections, i);
        if (s->status != status)
            continue;
        json_t *one = json_object();
        json_object_set_new(one, "source", text_or_null(s->path));
        json_object_set_new(one, "command", text_or_null(s->command));
        json_object_set_new(one, "note", text_or_null(s->note));
        json_array_append_new(all, one);
    }
    return all;
}

char *ct_capture_json(const CtLiveCapture *capture, CtEvidence *ev, const char *file,
                      guint redacted, gboolean is_redacted)
{
    json_t *root = json_object();
    json_object_set_new(root, "schema", json_string("cutriage.capture/1"));
    json_object_set_new(root, "file", text_or_null(file));
    json_object_set_new(root, "took_ms", json_integer(capture->took_ms));
    json_object_set_new(root, "facts", json_integer(count(ev, "fact")));
    json_object_set_new(root, "events", json_integer(count(ev, "event")));
    json_object_set_new(root, "redacted", json_boolean(is_redacted));
    json_object_set_new(root, "replaced", json_integer(redacted));
    json_object_set_new(root, "collectors", runs_json(capture));
    json_object_set_new(root, "denied", sections_json(capture, CT_DENIED));
    json_object_set_new(root, "timeout", sections_json(capture, CT_TIMEOUT));
    char *dump = json_dumps(root, JSON_INDENT(2));
    char *text = g_strconcat(dump, "\n", NULL);
    free(dump);
    json_decref(root);
    return text;
}
