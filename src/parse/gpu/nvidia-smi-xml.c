/* SPDX-License-Identifier: Apache-2.0 */
/* nvidia-smi -q -x, read as a stream; documents that follow each other (-l) are rounds. */
#include <string.h>

#include "parse/gpu/gpu-parsers.h"

#define MAX_LEVELS 16
#define MAX_TEXT 512
#define MAX_STUCK ((gsize)1 << 20) /* bytes without a tag: not what nvidia-smi writes */

typedef struct {
    CtSmiTree *tree;
    GMarkupParseContext *xml;
    char slug[MAX_LEVELS][64];
    guint depth, too_deep;
    GString *text;
    gboolean had_child, in_gpu, broken, any;
    gsize since_tag;
    const CtLine *line;
    CtEmit *emit;
} State;

static void on_start(GMarkupParseContext *xml, const gchar *name, const gchar **keys,
                     const gchar **values, gpointer data, GError **error)
{
    State *st = data;
    st->since_tag = 0;
    st->had_child = FALSE;
    g_string_truncate(st->text, 0);
    if (!st->in_gpu && strcmp(name, "gpu") == 0) {
        CtStr id = ct_str("", 0);
        for (guint i = 0; keys[i]; i++)
            if (strcmp(keys[i], "id") == 0)
                id = ct_str_of(values[i]);
        ct_smi_tree_gpu(st->tree, st->emit, st->line, id);
        st->in_gpu = TRUE;
        st->depth = 0;
        return;
    }
    if (st->depth == MAX_LEVELS) {
        st->too_deep++;
        if (st->too_deep > 1000)
            g_set_error_literal(error, G_MARKUP_ERROR, G_MARKUP_ERROR_INVALID_CONTENT,
                                "elements nested too deeply");
        return;
    }
    ct_smi_slug(ct_str_of(name), st->slug[st->depth], sizeof(st->slug[0]));
    st->depth++;
}

static void top_value(State *st, const char *slug, CtStr value)
{
    if (strcmp(slug, "timestamp") == 0)
        ct_smi_tree_time(st->tree, st->emit, st->line, value);
    else if (strcmp(slug, "driver-version") == 0 || strcmp(slug, "kmd-version") == 0)
        ct_nvidia_version(st->emit, st->line, "version.driver", value);
    else if (strcmp(slug, "cuda-version") == 0 || strcmp(slug, "cuda-umd-version") == 0)
        ct_nvidia_version(st->emit, st->line, "version.cuda.driver", value);
    else if (strcmp(slug, "attached-gpus") == 0)
        ct_smi_tree_attached(st->tree, st->emit, st->line, value);
}

static void on_end(GMarkupParseContext *xml, const gchar *name, gpointer data, GError **error)
{
    State *st = data;
    st->since_tag = 0;
    if (st->too_deep) {
        st->too_deep--;
        return;
    }
    if (st->in_gpu && st->depth == 0) {
        st->in_gpu = FALSE;
        return;
    }
    if (!st->depth)
        return;
    CtStr value = ct_str_strip(ct_str(st->text->str, st->text->len));
    if (!st->had_child && value.n) {
        if (st->in_gpu) {
            char path[MAX_LEVELS * 65];
            gsize n = 0;
            for (guint i = 0; i < st->depth; i++)
                n += (gsize)g_snprintf(path + n, sizeof(path) - n, "%s%s", i ? "/" : "",
                                       st->slug[i]);
            ct_smi_tree_value(st->tree, st->emit, st->line, path, value);
        } else {
            top_value(st, st->slug[st->depth - 1], value);
        }
        st->any = TRUE;
    }
    st->had_child = TRUE;
    g_string_truncate(st->text, 0);
    st->depth--;
}

static void on_text(GMarkupParseContext *xml, const gchar *text, gsize len, gpointer data,
                    GError **error)
{
    State *st = data;
    if (st->text->len < MAX_TEXT)
        g_string_append_len(st->text, text, (gssize)MIN(len, MAX_TEXT - st->text->len));
}

static const GMarkupParser callbacks = {on_start, on_end, on_text, NULL, NULL};

static void restart(State *st)
{
    if (st->xml)
        g_markup_parse_context_free(st->xml);
    st->xml = g_markup_parse_context_new(&callbacks, 0, st, NULL);
    st->depth = st->too_deep = 0;
    st->in_gpu = FALSE;
    st->since_tag = 0;
}

static gpointer begin(CtEmit *emit)
{
    State *st = g_new0(State, 1);
    st->tree = ct_smi_tree_new(emit);
    st->text = g_string_new(NULL);
    restart(st);
    return st;
}

static void line(gpointer state, const CtLine *line, CtEmit *emit)
{
    State *st = state;
    CtStr s = ct_str_strip(ct_str(line->text, line->len));
    if (ct_str_starts(s, "<?xml"))
        restart(st), st->broken = FALSE;
    if (st->broken || !s.n)
        return;
    st->line = line;
    st->emit = emit;
    st->since_tag += s.n;
    if (!g_markup_parse_context_parse(st->xml, line->text, (gssize)line->len, NULL) ||
        !g_markup_parse_context_parse(st->xml, "\n", 1, NULL) || st->since_tag > MAX_STUCK) {
        st->broken = TRUE;
        ct_emit_status(emit, st->any ? CT_PARTIAL : CT_FAILED, "XML stops being well formed");
    }
}

static void finish(gpointer state, CtEmit *emit)
{
    State *st = state;
    if (!st->broken && st->depth)
        ct_emit_status(emit, CT_TRUNCATED, "XML ends before its last element");
    ct_smi_tree_finish(st->tree, emit);
    g_markup_parse_context_free(st->xml);
    g_string_free(st->text, TRUE);
    g_free(st);
}

static int sniff(const CtSniff *sniff)
{
    return ct_sniff_has(sniff, "<nvidia_smi_log") ? 99 : 0;
}

const CtParser ct_parser_nvidia_smi_xml = {
    .id = "nvidia-smi-xml",
    .summary = "nvidia-smi -q -x",
    .doc = "The XML report of drivers 390 to 610: the same facts as nvidia-smi-q. Elements are "
           "recognised by name, never by the DTD version; a cut document keeps what was read.",
    .sniff = sniff,
    .begin = begin,
    .line = line,
    .finish = finish,
    .no_signatures = TRUE,
};
