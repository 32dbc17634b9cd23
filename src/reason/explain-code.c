/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "reason/explain-private.h"

/* In the order in which a bare number is read. */
static const CtCodeFamily FAMILIES[] = {
    {"cuda", "CUDA error", "CUDA 错误", "cuda-error",
     " cuda cudart cudaerror cuda-error cu error code err "},
    {"xid", "Xid of the NVIDIA kernel driver", "NVIDIA 内核驱动的 Xid", "xid", " xid xids "},
    {"exit", "exit status", "退出码", "process-exit", " exit status exitcode rc exited "},
    {"signal", "signal", "信号", "process-signal", " signal sig "},
    {"cuda-legacy", "CUDA runtime error before CUDA 10.1", "CUDA 10.1 之前的运行时错误", NULL,
     " legacy cuda-legacy old "},
    {"nvml", "NVML return code", "NVML 返回码", "nvml-error", " nvml nvidia-smi smi "},
    {"nccl", "NCCL result", "NCCL 返回码", "nccl-error", " nccl "},
    {"cudnn", "cuDNN status", "cuDNN 状态码", "cudnn-error", " cudnn "},
    {"cublas", "cuBLAS status", "cuBLAS 状态码", "cublas-error", " cublas cublaslt "},
    {"trt", "TensorRT error code", "TensorRT 错误码", "trt-error", " trt tensorrt "},
    {"onnx-parser", "ONNX parser code of TensorRT", "TensorRT ONNX 解析器错误码", NULL,
     " onnx parser onnx-parser "},
    {"cusolver", "cuSOLVER status", "cuSOLVER 状态码", NULL, " cusolver "},
    {"cusparse", "cuSPARSE status", "cuSPARSE 状态码", NULL, " cusparse "},
    {"cufft", "cuFFT result", "cuFFT 返回码", NULL, " cufft "},
    {"curand", "cuRAND status", "cuRAND 状态码", NULL, " curand "},
    {"nvjpeg", "nvJPEG status", "nvJPEG 状态码", NULL, " nvjpeg "},
    {"onnxruntime", "ONNX Runtime error code", "ONNX Runtime 错误码", NULL,
     " ort onnxruntime onnxruntimeerror "},
    {"nvrtc", "NVRTC result", "NVRTC 返回码", NULL, " nvrtc "},
    {"nvjitlink", "nvJitLink result", "nvJitLink 返回码", NULL, " nvjitlink "},
    {"cupti", "CUPTI result", "CUPTI 返回码", NULL, " cupti "},
    {"sxid", "SXid of NVSwitch", "NVSwitch 的 SXid", "sxid", " sxid sxids "},
    {"nvgpu", "error notifier of nvgpu (Jetson)", "nvgpu 错误通知（Jetson）", NULL, " nvgpu "},
    {"errno", "error number of Linux", "Linux 错误号", NULL, " errno nvmap "},
    {"clock-reason", "clock event reason", "时钟事件原因", NULL,
     " clock-reason throttle clocks reason "},
    {"recovery-action", "recovery action of the driver", "驱动建议的恢复动作", NULL,
     " recovery recovery-action "},
};

const CtCodeFamily *ct_code_families(guint *out_n)
{
    *out_n = G_N_ELEMENTS(FAMILIES);
    return FAMILIES;
}

const CtCodeFamily *ct_code_family(const char *family)
{
    for (guint i = 0; i < G_N_ELEMENTS(FAMILIES); i++)
        if (g_strcmp0(FAMILIES[i].family, family) == 0)
            return &FAMILIES[i];
    return NULL;
}

const CtCodeFamily *ct_code_family_by_word(const char *word, gsize len)
{
    g_autofree char *copy = g_ascii_strdown(word, (gssize)len);
    g_autofree char *key = g_strdup_printf(" %s ", copy);
    for (guint i = 0; len > 0 && i < G_N_ELEMENTS(FAMILIES); i++)
        if (strstr(FAMILIES[i].words, key))
            return &FAMILIES[i];
    return NULL;
}

const char *const *ct_explain_families(void)
{
    static const char *names[G_N_ELEMENTS(FAMILIES) + 1];
    for (guint i = 0; i < G_N_ELEMENTS(FAMILIES); i++)
        names[i] = FAMILIES[i].family;
    return names;
}

char *ct_dup_column(sqlite3_stmt *st, int column)
{
    return g_strdup((const char *)sqlite3_column_text(st, column));
}

const char *ct_pick(const CtExplainRun *x, const char *en, const char *zh)
{
    return x->zh && zh ? zh : en;
}

void ct_reading_free(gpointer reading)
{
    CtReading *r = reading;
    char **texts[] = {&r->family, &r->what,    &r->name,   &r->alt_name, &r->message,
                      &r->layer,  &r->meaning, &r->sticky, &r->late,     &r->old};
    for (guint i = 0; i < G_N_ELEMENTS(texts); i++)
        g_free(*texts[i]);
    g_ptr_array_unref(r->causes);
    g_ptr_array_unref(r->checks);
    g_ptr_array_unref(r->more);
    g_ptr_array_unref(r->hits);
    g_ptr_array_unref(r->tests);
    g_free(r);
}

/* "a;b;c" */
static GPtrArray *split(const char *list)
{
    GPtrArray *out = g_ptr_array_new_with_free_func(g_free);
    g_auto(GStrv) parts = g_strsplit(list ? list : "", ";", -1);
    for (char **p = parts; *p; p++)
        if (*g_strstrip(*p))
            g_ptr_array_add(out, g_strdup(*p));
    return out;
}

/* ---- from a row of the table to a reading ---- */

#define CODE_COLUMNS                                                                               \
    "c.family, c.number, c.name, c.alt_name, c.message, c.layer, c.sticky, c.late, c.meaning, "    \
    "c.meaning_zh, c.causes, c.checks, c.extra, c.id FROM code c "

/* The further columns of a table are a flat object of strings. */
static void add_extra(CtExplainRun *x, CtReading *r, const char *json)
{
    sqlite3_stmt *st = NULL;
    if (!json || sqlite3_prepare_v2(x->db, "SELECT key, value FROM json_each(?)", -1, &st, NULL) !=
                     SQLITE_OK)
        return;
    sqlite3_bind_text(st, 1, json, -1, SQLITE_STATIC);
    while (sqlite3_step(st) == SQLITE_ROW)
        ct_add_pair(r->more, ct_column(st, 0), ct_column(st, 1));
    sqlite3_finalize(st);
}

static const char *extra(const CtReading *r, const char *key)
{
    for (guint i = 0; i < r->more->len; i++) {
        const CtExplainPair *p = r->more->pdata[i];
        if (strcmp(p->key, key) == 0)
            return p->value;
    }
    return NULL;
}

/* Columns causes_zh and checks_zh of a table, where it has them. */
static GPtrArray *list_of(const CtExplainRun *x, CtReading *r, const char *en, const char *key_zh)
{
    const char *zh = x->zh ? extra(r, key_zh) : NULL;
    return split(zh ? zh : en);
}

static void hide_extra(CtReading *r, const char *key)
{
    for (guint i = r->more->len; i > 0; i--)
        if (strcmp(((CtExplainPair *)r->more->pdata[i - 1])->key, key) == 0)
            g_ptr_array_remove_index(r->more, i - 1);
}

static CtReading *reading_of(CtExplainRun *x, sqlite3_stmt *st)
{
    CtReading *r = g_new0(CtReading, 1);
    const CtCodeFamily *f = ct_code_family(ct_column(st, 0));
    r->family = ct_dup_column(st, 0);
    r->what = g_strdup(f ? ct_pick(x, f->what_en, f->what_zh) : r->family);
    r->has_number = sqlite3_column_type(st, 1) == SQLITE_INTEGER;
    r->number = sqlite3_column_int64(st, 1);
    r->name = ct_dup_column(st, 2);
    r->alt_name = ct_dup_column(st, 3);
    r->message = ct_dup_column(st, 4);
    r->layer = ct_dup_column(st, 5);
    r->sticky = ct_dup_column(st, 6);
    r->late = ct_dup_column(st, 7);
    const char *zh = (const char *)sqlite3_column_text(st, 9);
    r->meaning = x->zh && zh ? g_strdup(zh) : ct_dup_column(st, 8);
    r->more = g_ptr_array_new_with_free_func(ct_explain_pair_free);
    r->hits = g_ptr_array_new_with_free_func(ct_explain_hit_free);
    r->tests = g_ptr_array_new_with_free_func(ct_explain_test_free);
    add_extra(x, r, (const char *)sqlite3_column_text(st, 12));
    r->causes = list_of(x, r, (const char *)sqlite3_column_text(st, 10), "causes_zh");
    r->checks = list_of(x, r, (const char *)sqlite3_column_text(st, 11), "checks_zh");
    hide_extra(r, "causes_zh");
    hide_extra(r, "checks_zh");
    return r;
}

static gboolean wanted(const CtExplainRun *x, const char *family)
{
    return !x->family || g_strcmp0(x->family, family) == 0;
}

static gboolean already(const CtExplainRun *x, const CtReading *r)
{
    for (guint i = 0; i < x->out->readings->len; i++) {
        const CtReading *o = x->out->readings->pdata[i];
        if (strcmp(o->family, r->family) == 0 && o->number == r->number &&
            g_strcmp0(o->name, r->name) == 0)
            return TRUE;
    }
    return FALSE;
}

/* Runs to the end and adds a reading for every row. */
static guint add_some(CtExplainRun *x, sqlite3_stmt *st)
{
    guint added = 0;
    while (sqlite3_step(st) == SQLITE_ROW) {
        if (!wanted(x, ct_column(st, 0)))
            continue;
        CtReading *r = reading_of(x, st);
        if (already(x, r)) {
            ct_reading_free(r);
            continue;
        }
        g_ptr_array_add(x->out->readings, r);
        added++;
    }
    return added;
}

static guint add_rows(CtExplainRun *x, sqlite3_stmt *st)
{
    guint added = add_some(x, st);
    sqlite3_finalize(st);
    return added;
}

/* An old number is read as the error of today that bore it. */
static guint legacy_number(CtExplainRun *x, gint64 number)
{
    guint before = x->out->readings->len;
    const char *family = x->family;
    x->family = NULL;
    sqlite3_stmt *st = ct_prepare(
        x->db, "SELECT " CODE_COLUMNS "JOIN code l ON l.family = 'cuda-legacy' AND l.name = c.name "
               "WHERE c.family = 'cuda' AND l.number = ?");
    sqlite3_bind_int64(st, 1, number);
    guint added = add_rows(x, st);
    x->family = family;
    for (guint i = before; i < x->out->readings->len; i++) {
        CtReading *r = x->out->readings->pdata[i];
        const CtCodeFamily *f = ct_code_family("cuda-legacy");
        g_free(r->what);
        r->what = g_strdup(ct_pick(x, f->what_en, f->what_zh));
    }
    return added;
}

static gboolean has_family(const CtExplainRun *x, const char *family)
{
    for (guint i = 0; i < x->out->readings->len; i++)
        if (strcmp(((const CtReading *)x->out->readings->pdata[i])->family, family) == 0)
            return TRUE;
    return FALSE;
}

/* A table numbers a code under one name, but cuDNN has two tables in one: the newer is first. */
static guint number_in(CtExplainRun *x, const char *family, gint64 number)
{
    /* Asked once for each family: preparing it anew would cost more than all the rest. */
    if (!x->by_number)
        x->by_number = ct_prepare(x->db, "SELECT " CODE_COLUMNS
                                         "WHERE c.family = ? AND c.number = ? ORDER BY c.id");
    sqlite3_reset(x->by_number);
    sqlite3_bind_text(x->by_number, 1, family, -1, SQLITE_STATIC);
    sqlite3_bind_int64(x->by_number, 2, number);
    return add_some(x, x->by_number);
}

guint ct_explain_number(CtExplainRun *x, const char *family, gint64 number)
{
    guint added = 0;
    /* 128 + N is a signal before it is anything else. */
    if (!family && !x->family && number > 128 && number < 160)
        added += number_in(x, "exit", number);
    for (guint i = 0; i < G_N_ELEMENTS(FAMILIES); i++) {
        const char *f = FAMILIES[i].family;
        if (family ? strcmp(f, family) != 0 : !wanted(x, f))
            continue;
        if (strcmp(f, "cuda-legacy") != 0)
            added += number_in(x, f, number);
        /* Unasked only where today's table is silent: its reading tells of the old one. */
        else if (family || x->family || !has_family(x, "cuda"))
            added += legacy_number(x, number);
    }
    return added;
}

guint ct_explain_bits(CtExplainRun *x, guint64 mask)
{
    guint added = 0;
    for (guint bit = 0; mask && bit < 63; bit++)
        if (mask & ((guint64)1 << bit))
            added += ct_explain_number(x, "clock-reason", (gint64)1 << bit);
    return added ? added : ct_explain_number(x, "clock-reason", (gint64)mask);
}

/* Letters and digits, lower case: "NVMLError_LibRmVersionMismatch" and
 * "NVML_ERROR_LIB_RM_VERSION_MISMATCH" become one. */
static char *squeeze(const char *name)
{
    GString *s = g_string_new(NULL);
    for (; *name; name++)
        if (g_ascii_isalnum(*name))
            g_string_append_c(s, g_ascii_tolower(*name));
    return g_string_free(s, FALSE);
}

/* Names that end like the one asked for, without regard to case, underscores and prefix. */
static guint similar_names(CtExplainRun *x, const char *name)
{
    g_autofree char *key = squeeze(name);
    g_autofree char *of_name = NULL, *of_alt = NULL;
    g_autoptr(GArray) ids = g_array_new(FALSE, FALSE, sizeof(gint64));
    if (strlen(key) < 8)
        return 0;
    sqlite3_stmt *st = ct_prepare(x->db, "SELECT id, name, alt_name FROM code "
                                         "WHERE name IS NOT NULL AND family <> 'cuda-legacy'");
    while (sqlite3_step(st) == SQLITE_ROW) {
        g_free(of_name);
        g_free(of_alt);
        of_name = squeeze(ct_column(st, 1));
        of_alt = squeeze(ct_column(st, 2));
        gint64 id = sqlite3_column_int64(st, 0);
        if (g_str_has_suffix(of_name, key) || g_str_has_suffix(of_alt, key))
            g_array_append_val(ids, id);
    }
    sqlite3_finalize(st);
    guint added = 0;
    for (guint i = 0; i < ids->len && i < 6; i++) {
        st = ct_prepare(x->db, "SELECT " CODE_COLUMNS "WHERE c.id = ?");
        sqlite3_bind_int64(st, 1, g_array_index(ids, gint64, i));
        added += add_rows(x, st);
    }
    return added;
}

guint ct_explain_known_name(CtExplainRun *x, const char *name)
{
    sqlite3_stmt *st =
        ct_prepare(x->db, "SELECT " CODE_COLUMNS "WHERE c.name = ?1 COLLATE NOCASE AND c.family <> "
                          "'cuda-legacy' UNION ALL SELECT " CODE_COLUMNS
                          "WHERE c.alt_name = ?1 COLLATE NOCASE");
    sqlite3_bind_text(st, 1, name, -1, SQLITE_STATIC);
    return add_rows(x, st);
}

guint ct_explain_name(CtExplainRun *x, const char *name)
{
    guint added = ct_explain_known_name(x, name);
    return added ? added : similar_names(x, name);
}

guint ct_explain_text(CtExplainRun *x, const char *text)
{
    sqlite3_stmt *st = ct_prepare(x->db, "SELECT " CODE_COLUMNS "JOIN code_text t ON t.code = c.id "
                                         "WHERE t.text = ?1 COLLATE NOCASE ORDER BY c.id");
    sqlite3_bind_text(st, 1, text, -1, SQLITE_STATIC);
    return add_rows(x, st);
}

/* ---- candidate causes ---- */

static void add_hits(CtExplainRun *x, CtReading *r, const char *kind)
{
    sqlite3_stmt *st = ct_prepare(
        x->db, "SELECT e.cause, max(r.weight) AS w, r.say_en, r.say_zh FROM rule_event e "
               "JOIN rule r ON r.cause = e.cause AND r.id = e.rule JOIN cause c ON c.id = e.cause "
               "WHERE e.kind = ?1 AND (e.code = ?2 OR e.name = ?3 COLLATE NOCASE) AND r.weight > 0 "
               "GROUP BY e.cause ORDER BY w + CASE c.prior WHEN 'common' THEN 3 WHEN 'rare' THEN "
               "-5 ELSE 0 "
               "END DESC, e.cause LIMIT 6");
    sqlite3_bind_text(st, 1, kind, -1, SQLITE_STATIC);
    if (r->has_number)
        sqlite3_bind_int64(st, 2, r->number);
    sqlite3_bind_text(st, 3, r->name, -1, SQLITE_STATIC);
    while (sqlite3_step(st) == SQLITE_ROW) {
        CtExplainHit *hit = ct_explain_hit(x, ct_column(st, 0));
        if (!hit)
            continue;
        hit->weight = sqlite3_column_double(st, 1);
        g_ptr_array_add(r->hits, hit);
    }
    sqlite3_finalize(st);
}

static void add_tests(CtExplainRun *x, CtReading *r)
{
    for (guint i = 0; i < r->hits->len && r->tests->len < 3; i++)
        ct_explain_tests(x, ((CtExplainHit *)r->hits->pdata[i])->cause, 1, r->tests);
}

/* The runtime numbered its errors anew with CUDA 10.1; both directions matter to a reader. */
static void add_old_numbering(CtExplainRun *x, CtReading *r)
{
    if (strcmp(r->family, "cuda") != 0 || !r->has_number)
        return;
    sqlite3_stmt *st = ct_prepare(
        x->db,
        "SELECT l.number, l.name, c.number FROM code l LEFT JOIN code c ON c.family = "
        "'cuda' AND c.name = l.name WHERE l.family = 'cuda-legacy' AND "
        "(l.number = ?1 OR l.name = ?2) AND l.number IS NOT c.number ORDER BY l.number = ?1");
    sqlite3_bind_int64(st, 1, r->number);
    sqlite3_bind_text(st, 2, r->name, -1, SQLITE_STATIC);
    GString *s = g_string_new(NULL);
    while (sqlite3_step(st) == SQLITE_ROW) {
        gboolean same_name = g_strcmp0(ct_column(st, 1), r->name) == 0;
        g_string_append(s, s->len ? (x->zh ? "；" : "; ") : "");
        const char *number = ct_column(st, 0), *name = ct_column(st, 1), *now = ct_column(st, 2);
        if (same_name && x->zh)
            g_string_append_printf(s, "此错误当时的编号为 %s", number);
        else if (same_name)
            g_string_append_printf(s, "this error was number %s then", number);
        else if (x->zh)
            g_string_append_printf(s, "编号 %s 当时表示 %s（现为 %s）", number, name, now);
        else
            g_string_append_printf(s, "number %s meant %s then (today %s)", number, name, now);
    }
    sqlite3_finalize(st);
    r->old = g_string_free(s, s->len == 0);
}

void ct_explain_finish_readings(CtExplainRun *x)
{
    GPtrArray *all = x->out->readings;
    gboolean brief = all->len > 4;
    for (guint i = 0; i < all->len; i++) {
        CtReading *r = all->pdata[i];
        const CtCodeFamily *f = ct_code_family(r->family);
        r->brief = brief;
        /* The rules have judged a message as a whole already. */
        if (x->out->events->len) {
            if (i == 0 && x->out->hits->len)
                ct_explain_tests(x, ((CtExplainHit *)x->out->hits->pdata[0])->cause, 2, r->tests);
        } else if (f && f->event) {
            add_hits(x, r, f->event);
            add_tests(x, r);
        }
        add_old_numbering(x, r);
    }
}
