/* SPDX-License-Identifier: Apache-2.0 */
/* dcgmi: results of its diagnostic as text and as JSON, and the columns of dmon. */
#include <string.h>

#include "parse/dump/py-values.h"
#include "parse/gpu/gpu-parsers.h"

#define MAX_COLUMNS 40

typedef struct {
    const char *word, *key, *metric, *unit;
    double factor;
} Field;

static const Field fields[] = {
    {"POWER", "gpu.power", "gpu.power", "W", 1},
    {"TMPTR", "gpu.temperature", "gpu.temperature", "celsius", 1},
    {"GPUTL", "gpu.utilization", "gpu.util", "1/1", 0.01},
    {"MCUTL", "gpu.utilization.memory", "gpu.memory.util", "1/1", 0.01},
    {"GRACT", "gpu.utilization", "gpu.util", "1/1", 1},
    {"SMCLK", "gpu.clock.sm", "gpu.clock.sm", "Hz", 1e6},
    {"MMCLK", "gpu.clock.mem", "gpu.clock.mem", "Hz", 1e6},
    {"FBUSD", "gpu.memory.used", "gpu.memory.used", "bytes", 1048576},
    {"FBFRE", "gpu.memory.free", NULL, NULL, 1048576},
    {"PCIRP", "gpu.pcie.replays", "gpu.pcie.replays", "count", 1},
    {"PCRPL", "gpu.pcie.replays", "gpu.pcie.replays", "count", 1},
    {"DVEDV", "gpu.ecc.volatile.uncorrectable", "gpu.ecc.uncorrected", "count", 1},
    {"XIDER", NULL, NULL, NULL, 1},
};

typedef struct {
    const Field *columns[MAX_COLUMNS];
    guint n_columns, tests, rows;
    char test[48];
    GHashTable *seen;
} State;

static gpointer begin(CtEmit *emit)
{
    State *st = g_new0(State, 1);
    st->seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    return st;
}

static const char *verdict_of(CtStr s)
{
    static const char *const words[] = {"Pass", "Fail", "Warn", "Skip"};
    for (gsize i = 0; i < G_N_ELEMENTS(words); i++)
        if (ct_str_istarts(s, words[i]))
            return words[i];
    return NULL;
}

static void emit_result(CtEmit *emit, const CtLine *line, const char *test, const char *verdict,
                        gint64 gpu)
{
    char subject[24] = "", key[80], detail[64];
    if (gpu >= 0 && gpu < 1024)
        g_snprintf(subject, sizeof subject, "gpu:%d", (int)gpu);
    g_snprintf(key, sizeof key, "dcgm.diag.%s", test);
    ct_emit_fact(emit, line, *subject ? subject : NULL, key, verdict);
    if (strcmp(verdict, "Fail") != 0 && strcmp(verdict, "Warn") != 0)
        return;
    g_snprintf(detail, sizeof detail, "{\"verdict\":\"%s\"}", verdict);
    ct_emit_event(emit, line,
                  (CtEventRow){.kind = "diag-result", .name = test, .detail = detail,
                               .severity = *verdict == 'F' ? CT_SEV_ERROR : CT_SEV_WARNING,
                               .subject = *subject ? subject : NULL,
                               .gpu = *subject ? subject + 4 : NULL});
}

/* The GPUs that a result names: "Fail - GPUs: 1, 3", "Fail - All". */
static void emit_results(CtEmit *emit, const CtLine *line, const char *test, const char *verdict,
                         CtStr rest)
{
    gssize at = ct_str_find(rest, "GPU");
    guint n = 0;
    for (gsize i = at < 0 ? rest.n : (gsize)at; i < rest.n && n < 64;) {
        if (!g_ascii_isdigit(rest.p[i])) {
            i++;
            continue;
        }
        gint64 gpu = 0;
        for (; i < rest.n && g_ascii_isdigit(rest.p[i]); i++)
            gpu = MIN(gpu * 10 + rest.p[i] - '0', 100000);
        emit_result(emit, line, test, verdict, gpu);
        n++;
    }
    if (n == 0)
        emit_result(emit, line, test, verdict, -1);
}

/* "| GPU Memory   | Fail - GPU: 2 |", and of version 4 "|   | GPU2: Fail |" below the test. */
static gboolean diag_row(State *st, CtEmit *emit, const CtLine *line, CtStr s)
{
    CtStr rest = s, name, value;
    if (s.p[0] != '|' || ct_str_has(s, "-----"))
        return FALSE;
    rest = ct_str_from(rest, 1);
    if (!ct_str_cut(&rest, "|", &name))
        return FALSE;
    name = ct_str_strip(name);
    value = ct_str_strip(rest);
    if (value.n && value.p[value.n - 1] == '|')
        value = ct_str_strip(ct_str_head(value, value.n - 1));
    if (ct_str_eq(name, "DCGM Version"))
        ct_emit_text(emit, line, NULL, "version.dcgm", value);
    else if (ct_str_starts(name, "Driver Version"))
        ct_emit_text(emit, line, NULL, "version.driver", value);
    if (name.n && !ct_str_eq(name, "Warning") && !ct_str_eq(name, "Info"))
        ct_smi_slug(name, st->test, sizeof st->test);
    CtStr gpu = {0};
    gint64 index = -1;
    if (ct_str_starts(value, "GPU") && ct_str_has(value, ": ")) {
        CtStr tail = value;
        ct_str_cut(&tail, ": ", &gpu);
        ct_str_uint(ct_str_strip(ct_str_from(gpu, 3)), &index);
        value = ct_str_strip(tail);
    }
    const char *verdict = verdict_of(value);
    if (!verdict || !st->test[0] || ct_str_eq(name, "Warning"))
        return TRUE;
    st->tests++;
    if (index >= 0)
        emit_result(emit, line, st->test, verdict, index);
    else
        emit_results(emit, line, st->test, verdict, ct_str_from(value, strlen(verdict)));
    return TRUE;
}

static void dmon_header(State *st, CtStr s)
{
    CtStr rest = s;
    ct_str_token(&rest);
    st->n_columns = 0;
    for (CtStr w = ct_str_token(&rest); w.n && st->n_columns < MAX_COLUMNS;
         w = ct_str_token(&rest)) {
        st->columns[st->n_columns] = NULL;
        for (gsize i = 0; i < G_N_ELEMENTS(fields); i++)
            if (ct_str_eq(w, fields[i].word))
                st->columns[st->n_columns] = &fields[i];
        st->n_columns++;
    }
}

/* "GPU 0     251.1   54   97" */
static void dmon_row(State *st, CtEmit *emit, const CtLine *line, CtStr s)
{
    CtStr rest = s, kind = ct_str_token(&rest), id = ct_str_token(&rest);
    gint64 gpu;
    double v;
    if (!ct_str_eq(kind, "GPU") || !ct_str_uint(id, &gpu) || gpu > 1023)
        return;
    char subject[24];
    g_snprintf(subject, sizeof subject, "gpu:%d", (int)gpu);
    for (guint i = 0; i < st->n_columns; i++) {
        CtStr word = ct_str_token(&rest);
        const Field *f = st->columns[i];
        if (!f || !ct_str_number(word, &v))
            continue;
        g_autofree char *id_of = g_strconcat(subject, " ", f->word, NULL);
        gboolean first = g_hash_table_add(st->seen, g_steal_pointer(&id_of));
        if (!f->key && v >= 1 && v <= 1000 && first)
            ct_emit_event(emit, line,
                          (CtEventRow){.kind = "xid", .severity = CT_SEV_ERROR,
                                       .code = (gint64)v, .has_code = TRUE, .subject = subject,
                                       .gpu = subject + 4});
        if (f->metric)
            ct_emit_sample(emit, line, subject, f->metric, f->unit, line->t_ns, v * f->factor);
        if (f->key && first)
            ct_emit_number(emit, line, subject, f->key, v * f->factor, NULL);
    }
    st->rows++;
}

static void line(gpointer state, const CtLine *line, CtEmit *emit)
{
    State *st = state;
    CtStr s = ct_line_str(line);
    if (!s.n)
        return;
    if (ct_str_starts(s, "#Entity") || ct_str_starts(s, "# Entity"))
        dmon_header(st, s);
    else if (st->n_columns && ct_str_starts(s, "GPU "))
        dmon_row(st, emit, line, s);
    else
        diag_row(st, emit, line, s);
}

static void finish(gpointer state, CtEmit *emit)
{
    State *st = state;
    if (st->tests)
        ct_emit_coverage(emit, "gpu-diag", NULL);
    if (st->rows > 2)
        ct_emit_coverage(emit, "gpu-telemetry", NULL);
    g_hash_table_unref(st->seen);
    g_free(st);
}

static int sniff(const CtSniff *sniff)
{
    if (ct_sniff_has(sniff, "Successfully ran diagnostic for group") ||
        (ct_sniff_has(sniff, "| Diagnostic ") && ct_sniff_has(sniff, "| Result ")))
        return 94;
    if (ct_sniff_has(sniff, "#Entity ") || ct_sniff_has(sniff, "# Entity "))
        return 92;
    return 0;
}

const CtParser ct_parser_dcgmi = {
    .id = "dcgmi",
    .summary = "dcgmi diag and dmon",
    .doc = "The table of dcgmi diag of DCGM 2 to 4: a fact dcgm.diag.TEST for each test, per GPU "
           "where it says so, and an event diag-result for what failed or warned; the columns of "
           "dcgmi dmon as series, with the last Xid.",
    .sniff = sniff,
    .begin = begin,
    .line = line,
    .finish = finish,
};

/* ---- JSON ---- */

static CtStr text_of(const CtPyTree *t, CtPyNode dict, const char *key)
{
    return ct_py_text(t, ct_py_get(t, dict, key));
}

/* {"gpu_ids": "0,1", "status": "PASS"} or {"entity_group": "GPU", "entity_id": 2, "status": ..} */
static void json_result(const CtPyTree *t, CtPyNode result, const char *test, CtEmit *emit)
{
    const char *verdict = verdict_of(text_of(t, result, "status"));
    if (!verdict)
        return;
    char what[200], ids[64] = "all", warning[100] = "";
    gint64 entity;
    CtStr gpus = text_of(t, result, "gpu_ids"), group = text_of(t, result, "entity_group");
    if (gpus.n)
        g_snprintf(ids, sizeof ids, "GPU %.*s", (int)MIN(gpus.n, 50u), gpus.p);
    else if (ct_str_eq(group, "GPU") && ct_py_int(t, ct_py_get(t, result, "entity_id"), &entity))
        g_snprintf(ids, sizeof ids, "GPU %" G_GINT64_FORMAT, entity);
    CtPyIter it = ct_py_iter(t, ct_py_get(t, result, "warnings"));
    if (ct_py_next(t, &it))
        ct_str_buf(ct_py_type(t, it.value) == CT_PY_DICT ? text_of(t, it.value, "warning")
                                                         : ct_py_text(t, it.value),
                   warning, sizeof warning);
    else
        ct_str_buf(text_of(t, result, "warnings"), warning, sizeof warning);
    g_snprintf(what, sizeof what, "%s: %s (%s) %s", test, verdict, ids, warning);
    CtLine line = ct_line_at(1, what, strlen(what));
    emit_results(emit, &line, test, verdict, ct_str_of(ids));
}

static void json_test(const CtPyTree *t, CtPyNode test, CtEmit *emit)
{
    char slug[48];
    ct_smi_slug(text_of(t, test, "name"), slug, sizeof slug);
    for (CtPyIter it = ct_py_iter(t, ct_py_get(t, test, "results")); ct_py_next(t, &it);)
        json_result(t, it.value, *slug ? slug : "test", emit);
}

static void json_document(const char *data, gsize len, guint first_line, CtEmit *emit)
{
    const char *why;
    g_autoptr(CtPyTree) t = ct_py_read_json(data, len, &why);
    if (!t) {
        ct_emit_status(emit, CT_FAILED, why);
        return;
    }
    CtPyNode top = ct_py_root(t), body = ct_py_get(t, top, "DCGM GPU Diagnostic");
    body = body ? body : ct_py_get(t, top, "DCGM Diagnostic");
    body = body ? body : top;
    CtPyNode categories = ct_py_get(t, body, "test_categories");
    CtStr driver = text_of(t, body, "Driver Version Detected");
    if (!driver.n)
        driver = text_of(t, top, "Driver Version Detected");
    if (driver.n)
        ct_emit_text(emit, NULL, NULL, "version.driver", driver);
    for (CtPyIter c = ct_py_iter(t, categories); ct_py_next(t, &c);)
        for (CtPyIter it = ct_py_iter(t, ct_py_get(t, c.value, "tests")); ct_py_next(t, &it);)
            json_test(t, it.value, emit);
    ct_emit_coverage(emit, "gpu-diag", NULL);
}

static int json_sniff(const CtSniff *sniff)
{
    gsize i = 0;
    while (i < sniff->len && g_ascii_isspace(sniff->head[i]))
        i++;
    return i < sniff->len && sniff->head[i] == '{' &&
                   (strstr(sniff->head, "\"DCGM GPU Diagnostic\"") ||
                    strstr(sniff->head, "\"DCGM Diagnostic\"") ||
                    strstr(sniff->head, "\"test_categories\""))
               ? 96
               : 0;
}

const CtParser ct_parser_dcgmi_json = {
    .id = "dcgmi-json",
    .summary = "dcgmi diag -j",
    .doc = "The JSON of dcgmi diag of DCGM 2 to 4: the same facts and events as the table.",
    .sniff = json_sniff,
    .document = json_document,
};
