/* SPDX-License-Identifier: Apache-2.0 */
/* Readers of traces: what they make of good files, of old and of damaged ones. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <glib/gstdio.h>
#include <sqlite3.h>
#include <zlib.h>

#include "base/error.h"
#include "timeline/import.h"
#include "timeline/json.h"
#include "timeline/timeline-private.h"

static char *folder;

static char *place(const char *name)
{
    return g_build_filename(folder, name, NULL);
}

/* ---- what came out ---- */

typedef struct {
    GArray *e; /* CtTlEvent */
    guint n[CT_TL_NOTE + 1];
    gint64 last[CT_TL_NOTE + 1];
    gboolean ordered;
} Seen;

static gboolean see(const CtTlEvent *e, gpointer user)
{
    Seen *s = user;
    s->ordered &= s->n[e->kind] == 0 || e->t0 >= s->last[e->kind];
    s->last[e->kind] = e->t0;
    s->n[e->kind]++;
    assert_true(e->t1 >= e->t0);
    g_array_append_val(s->e, *e);
    return TRUE;
}

static Seen scan(CtTimeline *tl)
{
    Seen s = {.e = g_array_new(FALSE, FALSE, sizeof(CtTlEvent)), .ordered = TRUE};
    assert_true(ct_timeline_scan(tl, ~0u, see, &s, NULL));
    return s;
}

static const CtTlEvent *first(const Seen *s, CtTlKind kind)
{
    for (guint i = 0; i < s->e->len; i++)
        if (g_array_index(s->e, CtTlEvent, i).kind == kind)
            return &g_array_index(s->e, CtTlEvent, i);
    fail();
    return NULL;
}

static const CtTlEvent *by_name(CtTimeline *tl, const Seen *s, const char *name)
{
    for (guint i = 0; i < s->e->len; i++) {
        const CtTlEvent *e = &g_array_index(s->e, CtTlEvent, i);
        if (strcmp(ct_timeline_name(tl, e->name), name) == 0)
            return e;
    }
    fail_msg("no event %s", name);
    return NULL;
}

static gboolean has_gap(const CtTimeline *tl, const char *part)
{
    const GPtrArray *gaps = ct_timeline_gaps(tl);
    for (guint i = 0; i < gaps->len; i++) {
        const CtTlGap *g = g_ptr_array_index(gaps, i);
        g_autofree char *text = g_strdup_printf("%s: %s", g->what, g->why);
        if (strstr(text, part))
            return TRUE;
    }
    return FALSE;
}

static CtTimeline *open_text(const char *name, const char *text)
{
    g_autofree char *path = place(name);
    g_autoptr(GError) error = NULL;
    assert_true(g_file_set_contents(path, text, -1, NULL));
    assert_true(ct_timeline_sniff(path, (const guint8 *)text, MIN(strlen(text), (gsize)4096)));
    CtTimeline *tl = ct_timeline_open(path, &error);
    if (error)
        fail_msg("%s", error->message);
    return tl;
}

/* ---- chrome ---- */

static const char kineto[] =
    "{\"schemaVersion\": 1,\n\"deviceProperties\": [{\"id\": 0, \"name\": \"Example GPU\","
    " \"totalGlobalMem\": 16000000000, \"numSms\": 40, \"list\": [1, {\"x\": 2}]}],\n"
    "\"traceEvents\": [\n"
    "{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"step\", \"pid\": 9, \"tid\": 9,"
    " \"ts\": 5214364673706.293, \"dur\": 100.007, \"args\": {\"External id\": 1}},\n"
    "{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", \"pid\": 9, \"tid\":"
    " 9, \"ts\": 5214364673710.001, \"dur\": 3.5, \"args\": {\"cbid\": 211, \"correlation\": 77}},\n"
    "{\"ph\": \"s\", \"id\": 77, \"pid\": 9, \"tid\": 9, \"ts\": 1, \"cat\": \"ac2g\", \"name\":"
    " \"ac2g\"},\n"
    "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k<\"odd\" name>{lambda()#1}\", \"pid\": 0,"
    " \"tid\": 7, \"ts\": 5214364673720, \"dur\": 1.25, \"args\": {\"device\": 0, \"stream\": 7,"
    " \"correlation\": 77, \"est. achieved occupancy %\": NaN, \"grid\": [4, 2, 1], \"block\": [64,"
    " 1, 1]}},\n"
    "{\"ph\": \"X\", \"cat\": \"gpu_memcpy\", \"name\": \"Memcpy HtoD (Pageable -> Device)\","
    " \"pid\": 0, \"tid\": 7, \"ts\": 5214364673715, \"dur\": 2, \"args\": {\"bytes\": 4096,"
    " \"stream\": 7, \"memory bandwidth (GB/s)\": Infinity}},\n"
    "{\"ph\": \"X\", \"cat\": \"gpu_user_annotation\", \"name\": \"step\", \"pid\": 0, \"tid\": 7,"
    " \"ts\": 5214364673720, \"dur\": 1},\n"
    "{\"ph\": \"i\", \"cat\": \"cpu_instant_event\", \"name\": \"[memory]\", \"pid\": 9, \"tid\": 9,"
    " \"ts\": 5214364673711, \"s\": \"t\", \"args\": {\"Bytes\": -512, \"Device Id\": 0,"
    " \"Device Type\": 1}},\n"
    "{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": 9, \"tid\": 0, \"ts\": 1, \"args\":"
    " {\"name\": \"python\"}}\n],\n\"baseTimeNanoseconds\": 1790857026000000000, \"traceName\":"
    " \"x\"}\n";

static void check_kineto(CtTimeline *tl)
{
    assert_string_equal(ct_timeline_format(tl), "kineto");
    assert_int_equal(ct_timeline_wall_offset(tl), G_GINT64_CONSTANT(1790857026000000000));
    const CtTlDevice *d = g_ptr_array_index(ct_timeline_devices(tl), 0);
    assert_string_equal(d->name, "Example GPU");
    assert_int_equal(d->sm_count, 40);
    Seen s = scan(tl);
    assert_true(s.ordered);
    assert_int_equal(s.n[CT_TL_RANGE], 1);
    const CtTlEvent *r = first(&s, CT_TL_RANGE);
    assert_int_equal(r->t0, G_GINT64_CONSTANT(5214364673706293));
    assert_int_equal(r->t1 - r->t0, 100007);
    const CtTlEvent *k = first(&s, CT_TL_KERNEL);
    assert_string_equal(ct_timeline_name(tl, k->name), "k<\"odd\" name>{lambda()#1}");
    assert_string_equal(ct_timeline_name(tl, k->shape), "[4,2,1][64,1,1]");
    assert_int_equal(k->t1 - k->t0, 1250);
    assert_int_equal(k->correlation, 77);
    assert_int_equal(k->stream, 7);
    assert_int_equal(k->tid, -1);
    const CtTlEvent *c = first(&s, CT_TL_COPY);
    assert_int_equal(c->copy, CT_TL_COPY_H2D);
    assert_int_equal(c->source, CT_TL_MEM_PAGEABLE);
    assert_int_equal(c->target, CT_TL_MEM_DEVICE);
    assert_int_equal(c->bytes, 4096);
    const CtTlEvent *call = first(&s, CT_TL_CALL);
    assert_int_equal(call->call, CT_TL_CALL_LAUNCH);
    assert_int_equal(call->tid, 9);
    const CtTlEvent *m = first(&s, CT_TL_MEMORY);
    assert_true(m->free && m->bytes == 512);
    g_array_unref(s.e);
}

static void test_kineto(void **state)
{
    g_autoptr(CtTimeline) tl = open_text("a.json", kineto);
    check_kineto(tl);
    check_kineto(tl); /* a second scan gives the same */
    assert_false(has_gap(tl, "damaged"));
}

static void test_gzip(void **state)
{
    g_autofree char *path = place("a.json.gz");
    gzFile gz = gzopen(path, "wb");
    gzwrite(gz, kineto, sizeof kineto - 1);
    gzclose(gz);
    g_autoptr(CtTimeline) tl = ct_timeline_open(path, NULL);
    check_kineto(tl);
}

/* Cut at every byte: what came before is there, and the cut is told. */
static void test_cut(void **state)
{
    for (gsize n = 420; n < sizeof kineto - 120; n += 7) {
        g_autofree char *part = g_strndup(kineto, n), *path = place("cut.json");
        g_file_set_contents(path, part, (gssize)n, NULL);
        g_autoptr(CtTimeline) tl = ct_timeline_open(path, NULL);
        if (!tl)
            continue;
        Seen s = scan(tl);
        assert_true(s.e->len <= 6);
        assert_true(has_gap(tl, "the file is cut") || has_gap(tl, "damaged"));
        g_array_unref(s.e);
    }
}

static void test_damage(void **state)
{
    g_autoptr(CtTimeline) tl = open_text(
        "damage.json",
        "{\"traceEvents\": [\n{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":2,\"pid\":1,\"tid\":1},\n"
        "{\"ph\":\"X\",,,\"name\" broken \"ts\":3},\n"
        "{\"ph\":\"X\",\"name\":\"b\",\"ts\":NaN,\"dur\":2,\"pid\":1,\"tid\":1},\n"
        "{\"ph\":\"X\",\"name\":\"c\",\"ts\":9,\"dur\":-4,\"pid\":1,\"tid\":1},\n"
        "{\"ph\":\"X\",\"name\":\"d\",\"ts\":5,\"dur\":1e-1,\"pid\":\"x\",\"tid\":\"y\"}\n]}");
    Seen s = scan(tl);
    assert_int_equal(s.n[CT_TL_RANGE], 3);
    assert_true(s.ordered); /* d before c */
    assert_true(ct_timeline_disorder(tl) > 0);
    assert_int_equal(by_name(tl, &s, "d")->t1 - by_name(tl, &s, "d")->t0, 100);
    assert_int_equal(by_name(tl, &s, "c")->t1, by_name(tl, &s, "c")->t0);
    assert_true(has_gap(tl, "damaged events") && has_gap(tl, "negative durations") &&
                has_gap(tl, "without a time"));
    g_array_unref(s.e);
}

static void test_begin_end(void **state)
{
    g_autoptr(CtTimeline) tl = open_text(
        "be.json", "[{\"ph\":\"B\",\"name\":\"out\",\"ts\":10,\"pid\":1,\"tid\":1},"
                   "{\"ph\":\"B\",\"name\":\"in\",\"ts\":12,\"pid\":1,\"tid\":1},"
                   "{\"ph\":\"B\",\"name\":\"other\",\"ts\":13,\"pid\":1,\"tid\":2},"
                   "{\"ph\":\"E\",\"ts\":14,\"pid\":1,\"tid\":1},"
                   "{\"ph\":\"E\",\"ts\":20,\"pid\":1,\"tid\":1},"
                   "{\"ph\":\"b\",\"id\":5,\"name\":\"r\",\"ts\":1,\"pid\":1,\"tid\":1},"
                   "{\"ph\":\"e\",\"id\":5,\"name\":\"r\",\"ts\":4,\"pid\":1,\"tid\":3}]\n"
                   "[{\"ph\":\"X\",\"name\":\"next list\",\"ts\":30,\"dur\":1,\"pid\":1,\"tid\":1}]");
    Seen s = scan(tl);
    assert_int_equal(s.n[CT_TL_RANGE], 4);
    assert_int_equal(by_name(tl, &s, "out")->t1, 20000);
    assert_int_equal(by_name(tl, &s, "in")->t1, 14000);
    assert_int_equal(by_name(tl, &s, "r")->t1, 4000);
    assert_true(has_gap(tl, "ranges cut off"));
    g_array_unref(s.e);
}

/* One event a launch of at least a millisecond: nobody launches so slowly, the unit is ns. */
static void test_unit(void **state)
{
    g_autoptr(GString) text = g_string_new("{\"schemaVersion\":1,\"deviceProperties\":[],"
                                           "\"traceEvents\":[");
    for (guint i = 0; i < 40; i++)
        g_string_append_printf(text, "%s{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":"
                                     "\"cudaLaunchKernel\",\"pid\":1,\"tid\":1,\"ts\":%u,"
                                     "\"dur\":%u}", i ? "," : "", 100000 * i, 3000 + i);
    g_string_append(text, "]}");
    g_autoptr(CtTimeline) tl = open_text("unit.json", text->str);
    Seen s = scan(tl);
    assert_int_equal(first(&s, CT_TL_CALL)->t1, 3000);
    assert_true(has_gap(tl, "counts in ns"));
    g_array_unref(s.e);
}

static void test_tensorflow(void **state)
{
    g_autoptr(CtTimeline) tl = open_text(
        "tf.json",
        "{\"displayTimeUnit\":\"ns\",\"traceEvents\":["
        "{\"ph\":\"M\",\"pid\":1,\"name\":\"process_name\",\"args\":{\"name\":\"/device:GPU:1 (pid 5)\"}},"
        "{\"ph\":\"M\",\"pid\":1,\"tid\":3,\"name\":\"thread_name\",\"args\":{\"name\":"
        "\"Stream #16(Compute,MemcpyH2D)\"}},"
        "{\"ph\":\"M\",\"pid\":1,\"tid\":4,\"name\":\"thread_name\",\"args\":{\"name\":\"XLA Ops\"}},"
        "{\"ph\":\"X\",\"pid\":1,\"tid\":3,\"ts\":10,\"dur\":5,\"name\":\"fusion_3\",\"args\":{}},"
        "{\"ph\":\"X\",\"pid\":1,\"tid\":3,\"ts\":2,\"dur\":1,\"name\":\"MemcpyH2D\",\"args\":"
        "{\"memcpy_details\":\"kind_src:pageable kind_dst:device size:1024 dest:0 async:1\"}},"
        "{\"ph\":\"X\",\"pid\":1,\"tid\":4,\"ts\":10,\"dur\":5,\"name\":\"fusion.3\"},"
        "{\"ph\":\"X\",\"pid\":700,\"tid\":2,\"ts\":1,\"dur\":30,\"name\":\"TfrtRun\"}]}");
    Seen s = scan(tl);
    assert_string_equal(ct_timeline_format(tl), "tensorflow-trace");
    const CtTlEvent *k = first(&s, CT_TL_KERNEL), *c = first(&s, CT_TL_COPY);
    assert_int_equal(k->device, 1);
    assert_int_equal(k->stream, 16);
    assert_int_equal(c->copy, CT_TL_COPY_H2D);
    assert_int_equal(c->source, CT_TL_MEM_PAGEABLE);
    assert_int_equal(c->bytes, 1024);
    assert_int_equal(s.n[CT_TL_RANGE], 1);
    g_array_unref(s.e);
}

static void test_ort(void **state)
{
    g_autoptr(CtTimeline) tl = open_text(
        "ort.json",
        "[\n{\"cat\" : \"Session\",\"pid\" :41,\"tid\" :41,\"dur\" :900,\"ts\" :8,\"ph\" : \"X\",\"name\""
        " :\"model_run\",\"args\" : {}},\n"
        "{\"cat\" : \"Node\",\"pid\" :41,\"tid\" :41,\"dur\" :300,\"ts\" :20,\"ph\" : \"X\",\"name\" :"
        "\"/nms_kernel_time\",\"args\" : {\"op_name\" : \"NonMaxSuppression\",\"provider\" :"
        " \"CPUExecutionProvider\",\"input_type_shape\" : [{\"float\":[1,3]}]}},\n"
        "{\"cat\" : \"Node\",\"pid\" :41,\"tid\" :41,\"dur\" :100,\"ts\" :400,\"ph\" : \"X\",\"name\" :"
        "\"/conv_kernel_time\",\"args\" : {\"op_name\" : \"Conv\",\"provider\" :"
        " \"CUDAExecutionProvider\"}},\n"
        "{\"cat\" : \"Node\",\"pid\" :41,\"tid\" :41,\"dur\" :5,\"ts\" :600,\"ph\" : \"X\",\"name\" :"
        "\"Memcpy_token_1_kernel_time\",\"args\" : {\"op_name\" : \"MemcpyToHost\",\"provider\" :"
        " \"CUDAExecutionProvider\"}}\n]");
    assert_string_equal(ct_timeline_format(tl), "ort-profile");
    g_autoptr(CtTlSummary) s = ct_timeline_summary(tl, NULL);
    assert_int_equal(s->nodes->len, 3);
    const CtTlNamed *top = &g_array_index(s->nodes, CtTlNamed, 0);
    assert_string_equal(ct_timeline_name(tl, top->name), "NonMaxSuppression");
    assert_string_equal(ct_timeline_name(tl, top->group), "CPUExecutionProvider");
}

static void test_triton(void **state)
{
    g_autoptr(CtTimeline) tl = open_text(
        "triton.json",
        "[{\"id\":1,\"model_name\":\"det\",\"model_version\":1},"
        "{\"id\":1,\"timestamps\":[{\"name\":\"REQUEST_START\",\"ns\":1000},{\"name\":\"QUEUE_START\","
        "\"ns\":1100}]},{\"id\":1,\"timestamps\":[{\"name\":\"COMPUTE_START\",\"ns\":1500},"
        "{\"name\":\"COMPUTE_INPUT_END\",\"ns\":1600},{\"name\":\"COMPUTE_OUTPUT_START\",\"ns\":2600},"
        "{\"name\":\"COMPUTE_END\",\"ns\":2700},{\"name\":\"REQUEST_END\",\"ns\":2800}]},"
        "{\"id\":2,\"model_name\":\"det\"}]");
    assert_string_equal(ct_timeline_format(tl), "triton-trace");
    Seen s = scan(tl);
    assert_int_equal(by_name(tl, &s, "request det")->t1, 2800);
    const CtTlEvent *q = by_name(tl, &s, "queue");
    assert_int_equal(q->t1 - q->t0, 400);
    assert_true(has_gap(tl, "1 of 2 requests"));
    g_array_unref(s.e);
}

static void test_no_gpu(void **state)
{
    g_autoptr(CtTimeline) tl = open_text(
        "cpu.json", "{\"schemaVersion\":1,\"deviceProperties\":[],\"traceEvents\":[{\"ph\":\"X\",\"cat\":"
                    "\"cpu_op\",\"name\":\"aten::add\",\"ts\":1,\"dur\":1,\"pid\":1,\"tid\":1}]}");
    assert_int_equal(ct_timeline_present(tl), CT_TL_BIT(CT_TL_RANGE));
    assert_true(has_gap(tl, "only the CPU was profiled"));
    g_autofree char *path = place("none.json");
    g_file_set_contents(path, "{\"a\": [1, 2]}", -1, NULL);
    g_autoptr(GError) error = NULL;
    assert_null(ct_timeline_open(path, &error));
    assert_non_null(error);
}

/* Both languages take the same values in the same order. */
static char *values_of(const char *format)
{
    GString *out = g_string_new(NULL);
    for (const char *p = format; (p = strchr(p, '%')); p++)
        do
            g_string_append_c(out, *p);
        while (!strchr("sduif", *p) && *++p);
    return g_string_free(out, FALSE);
}

static void test_words(void **state)
{
    for (guint i = 0; i < ct_tl_n_words(); i++) {
        g_autofree char *en = values_of(ct_tl_word(i)[0]), *zh = values_of(ct_tl_word(i)[1]);
        assert_string_equal(en, zh);
        assert_true(g_utf8_validate(ct_tl_word(i)[1], -1, NULL));
    }
    assert_string_not_equal(ct_tl_chinese("not recorded (-t osrt)"), "not recorded (-t osrt)");
}

static void test_numbers(void **state)
{
    static const struct {
        const char *text;
        gint64 ns;
    } good[] = {{"5214364673706.293", G_GINT64_CONSTANT(5214364673706293)},
                {"1610366387140599", G_GINT64_CONSTANT(1610366387140599000)},
                {"0.0015", 1}, {"-2.5", -2500}, {"1e3", 1000000}, {"12", 12000}, {".5", 500}};
    gint64 ns;
    for (gsize i = 0; i < G_N_ELEMENTS(good); i++) {
        CtJsonText t = {(const guint8 *)good[i].text, strlen(good[i].text), FALSE, FALSE};
        assert_true(ct_json_scaled(&t, 3, &ns));
        assert_int_equal(ns, good[i].ns);
    }
    static const char *const bad[] = {"NaN", "-Infinity", "inf", "", "x", "1e99", "null"};
    for (gsize i = 0; i < G_N_ELEMENTS(bad); i++) {
        CtJsonText t = {(const guint8 *)bad[i], strlen(bad[i]), FALSE, FALSE};
        assert_false(ct_json_scaled(&t, 3, &ns));
    }
}

/* ---- Nsight Systems ---- */

static const char small_schema[] =
    "CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);"
    "CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT);"
    "INSERT INTO META_DATA_EXPORT VALUES('EXPORT_PRODUCT_VERSION','2025.1.1.5');"
    "CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT);"
    "INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES(1780000000000000000, NULL);"
    "INSERT INTO StringIds VALUES(1,'cudaLaunchKernel_v7000'),(2,'conv(float*)'),"
    "(3,'cudaStreamSynchronize_v3020'),(4,'request'),(5,'lib'),(6,'cudaMalloc_v3020');"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, eventClass INTEGER,"
    " globalTid INTEGER, correlationId INTEGER, nameId INTEGER, returnValue INTEGER);"
    "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(1000,5000,1,(77<<24)|78,11,1,0),"
    "(5100,5900,1,(77<<24)|78,12,6,2),(6000,9000,1,(77<<24)|78,13,3,0);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER,"
    " streamId INTEGER, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER,"
    " gridX INTEGER, gridY INTEGER, gridZ INTEGER, blockX INTEGER, blockY INTEGER, blockZ INTEGER);"
    "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(7000,8000,0,7,11,77<<24,2,16,1,1,128,1,1),"
    "(6500,6900,0,7,11,77<<24,2,16,1,1,128,1,1);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER,"
    " streamId INTEGER, correlationId INTEGER, bytes INTEGER, copyKind INTEGER, srcKind INTEGER,"
    " dstKind INTEGER);"
    "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES(100,200,0,7,1,1048576,1,0,2),"
    "(300,400,0,7,2,64,2,2,1);"
    "CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, globalTid"
    " INTEGER, textId INTEGER, domainId INTEGER);"
    "INSERT INTO NVTX_EVENTS VALUES(0,NULL,75,NULL,(77<<24)|78,5,3),"
    "(500,9500,59,NULL,(77<<24)|78,4,3),(600,900,60,'by text',(77<<24)|78,NULL,0),"
    "(700,NULL,59,'open',(77<<24)|78,NULL,0),(710,NULL,34,'mark',(77<<24)|78,NULL,0);";

static CtTimeline *open_sql(const char *name, const char *sql, GError **error)
{
    g_autofree char *path = place(name);
    sqlite3 *db = NULL;
    char *why = NULL;
    g_unlink(path);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, &why) != SQLITE_OK)
        fail_msg("%s", why);
    sqlite3_close(db);
    return ct_timeline_open(path, error);
}

static void test_nsys(void **state)
{
    g_autoptr(CtTimeline) tl = open_sql("a.sqlite", small_schema, NULL);
    assert_string_equal(ct_timeline_format(tl), "nsys-sqlite");
    assert_string_equal(ct_timeline_producer(tl), "Nsight Systems 2025.1.1.5");
    assert_int_equal(ct_timeline_wall_offset(tl), G_GINT64_CONSTANT(1780000000000000000));
    Seen s = scan(tl);
    assert_true(s.ordered); /* the kernels are not, in the file */
    assert_int_equal(ct_timeline_disorder(tl), 500);
    assert_int_equal(s.n[CT_TL_KERNEL], 2);
    assert_int_equal(s.n[CT_TL_RANGE], 2);
    const CtTlEvent *k = first(&s, CT_TL_KERNEL);
    assert_int_equal(k->t0, 6500);
    assert_string_equal(ct_timeline_name(tl, k->name), "conv(float*)");
    assert_string_equal(ct_timeline_name(tl, k->shape), "[16,1,1][128,1,1]");
    const CtTlEvent *c = first(&s, CT_TL_CALL);
    assert_string_equal(ct_timeline_name(tl, c->name), "cudaLaunchKernel");
    assert_int_equal(c->pid, 77);
    assert_int_equal(c->tid, 78);
    const CtTlEvent *m = first(&s, CT_TL_COPY);
    assert_int_equal(m->source, CT_TL_MEM_PAGEABLE);
    assert_int_equal(m->bytes, 1048576);
    const CtTlEvent *r = by_name(tl, &s, "request");
    assert_string_equal(ct_timeline_name(tl, r->group), "lib");
    assert_int_equal(by_name(tl, &s, "by text")->t1, 900);
    assert_true(has_gap(tl, "1 NVTX ranges have no end"));
    g_array_unref(s.e);
}

static void test_nsys_summary(void **state)
{
    g_autoptr(CtTimeline) tl = open_sql("s.sqlite", small_schema, NULL);
    g_autoptr(CtTlSummary) s = ct_timeline_summary(tl, NULL);
    assert_int_equal(s->gpus->len, 1);
    const CtTlGpu *g = &g_array_index(s->gpus, CtTlGpu, 0);
    assert_int_equal(g->busy, 1000 + 400 + 100 + 100);
    assert_int_equal(g->longest_gap, 6500 - 400);
    assert_int_equal(s->failures->len, 1);
    const CtTlFailure *f = &g_array_index(s->failures, CtTlFailure, 0);
    assert_int_equal(f->result, 2);
    assert_true(f->handled);
    assert_string_equal(ct_timeline_name(tl, f->name), "cudaMalloc");
}

static void test_nsys_old_and_odd(void **state)
{
    /* No NVTX, no strings, a driver table, columns in another order, a column that came later. */
    g_autoptr(CtTimeline) tl = open_sql(
        "old.sqlite",
        "PRAGMA page_size=512; CREATE TABLE CUPTI_ACTIVITY_KIND_DRIVER (nameId INTEGER, \"end\" INT,"
        " start INT, correlationId INT);"
        "INSERT INTO CUPTI_ACTIVITY_KIND_DRIVER VALUES(1,20000,10000,3);"
        "ALTER TABLE CUPTI_ACTIVITY_KIND_DRIVER ADD COLUMN returnValue INTEGER;"
        "INSERT INTO CUPTI_ACTIVITY_KIND_DRIVER VALUES(1,40000,30000,4,700);"
        "CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS SELECT 1 AS start, 2 AS end;"
        "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INTEGER PRIMARY KEY, end INT) WITHOUT ROWID;",
        NULL);
    assert_non_null(tl);
    Seen s = scan(tl);
    assert_int_equal(s.n[CT_TL_CALL], 2);
    assert_int_equal(s.n[CT_TL_KERNEL] + s.n[CT_TL_SET], 0);
    assert_int_equal(g_array_index(s.e, CtTlEvent, 0).result, 0);
    assert_int_equal(g_array_index(s.e, CtTlEvent, 1).result, 700);
    assert_true(has_gap(tl, "StringIds is missing") && has_gap(tl, "no ordinary one") &&
                has_gap(tl, "the capture recorded no GPU work"));
    g_array_unref(s.e);
}

static void test_nsys_nothing(void **state)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(CtTimeline) none = open_sql("none.sqlite", "CREATE TABLE t(a)", &error);
    assert_null(none);
    assert_int_equal(error->code, CT_ERROR_UNSUPPORTED);
    g_autoptr(CtTimeline) tl = open_sql(
        "empty.sqlite",
        "CREATE TABLE META_DATA_EXPORT(name, value); INSERT INTO META_DATA_EXPORT VALUES"
        "('EXPORT_PRODUCT_VERSION','2024.6.2');"
        "CREATE TABLE DIAGNOSTIC_EVENT(timestamp INT, timestampType INT, source INT, severity INT,"
        " text TEXT, globalPid INT); INSERT INTO DIAGNOSTIC_EVENT VALUES(1,1,1,2,'Installed CUDA"
        " driver version (14.0) is not supported by this build of Nsight Systems.',NULL);", NULL);
    assert_non_null(tl);
    g_autoptr(CtTlSummary) s = ct_timeline_summary(tl, NULL);
    assert_int_equal(s->gpus->len, 0);
    assert_true(has_gap(tl, "the driver is newer"));
}

/* Rows longer than a page, many pages, every page size. */
static void test_nsys_pages(void **state)
{
    static const int sizes[] = {512, 1024, 4096, 65536};
    for (gsize i = 0; i < G_N_ELEMENTS(sizes); i++) {
        g_autofree char *sql = g_strdup_printf(
            "PRAGMA page_size=%d; CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType"
            " INTEGER, text TEXT, globalTid INTEGER);"
            "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 2999)"
            "INSERT INTO NVTX_EVENTS SELECT i * 1000, i * 1000 + 10 + i, 59, printf('%%.*c', i, 'x')"
            " || i, 5 FROM n;", sizes[i]);
        g_autoptr(CtTimeline) tl = open_sql("pages.sqlite", sql, NULL);
        Seen s = scan(tl);
        assert_int_equal(s.n[CT_TL_RANGE], 3000);
        for (guint k = 0; k < 3000; k += 371) {
            const CtTlEvent *e = &g_array_index(s.e, CtTlEvent, k);
            assert_int_equal(e->t1 - e->t0, 10 + k);
            g_autofree char *number = g_strdup_printf("%u", k);
            const char *name = ct_timeline_name(tl, e->name);
            assert_int_equal(strlen(name), MAX(k, 1) + strlen(number));
            assert_true(g_str_has_suffix(name, number));
        }
        g_array_unref(s.e);
    }
}

/* A copy that broke off: what lies before the cut is there, and the cut is told. */
static void test_nsys_cut(void **state)
{
    g_autoptr(CtTimeline) whole = open_sql(
        "whole.sqlite",
        "CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT);"
        "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 9999)"
        "INSERT INTO NVTX_EVENTS SELECT i * 1000, i * 1000 + 10, 59, 'range ' || i FROM n;"
        "CREATE TABLE OSRT_API (start INTEGER, end INTEGER, nameId INTEGER);", NULL);
    g_autofree char *path = place("whole.sqlite"), *cut = place("cut.sqlite"), *data = NULL;
    gsize len;
    assert_non_null(whole);
    assert_true(g_file_get_contents(path, &data, &len, NULL));
    assert_true(g_file_set_contents(cut, data, (gssize)(len * 2 / 3), NULL));
    g_autoptr(CtTimeline) tl = ct_timeline_open(cut, NULL);
    assert_non_null(tl);
    Seen s = scan(tl);
    assert_true(s.n[CT_TL_RANGE] > 5000 && s.n[CT_TL_RANGE] < 10000);
    assert_true(has_gap(tl, "the rows before that were read"));
    g_array_unref(s.e);
}

/* Any page overwritten, any length: never more than an error or a gap. */
static void test_nsys_damage(void **state)
{
    g_autoptr(CtTimeline) whole = open_sql("d.sqlite", small_schema, NULL);
    assert_non_null(whole);
    g_autofree char *path = place("d.sqlite"), *broken = place("broken.sqlite"), *data = NULL;
    gsize len;
    g_file_get_contents(path, &data, &len, NULL);
    for (gsize at = 0; at < len; at += 97) {
        g_autofree char *copy = g_malloc(len);
        memcpy(copy, data, len);
        copy[at] = (char)(copy[at] ^ 0x5a);
        copy[(at * 7) % len] = (char)0xff;
        g_file_set_contents(broken, copy, (gssize)(at % 3 ? len : MAX(at, 100)), NULL);
        g_autoptr(CtTimeline) tl = ct_timeline_open(broken, NULL);
        g_autoptr(CtTlSummary) s = tl ? ct_timeline_summary(tl, NULL) : NULL;
        if (s)
            assert_true(s->n[CT_TL_CALL] < 1000);
    }
}

static void test_nsys_microseconds(void **state)
{
    g_autoptr(CtTimeline) tl = open_sql(
        "us.sqlite", "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, nameId"
                     " INTEGER); WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE"
                     " i < 199) INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME SELECT i * 20, i * 20 + 6, 1"
                     " FROM n;", NULL);
    g_autoptr(CtTlSummary) s = ct_timeline_summary(tl, NULL);
    assert_int_equal(s->call_time[CT_TL_CALL_OTHER], 200 * 6000);
    assert_true(has_gap(tl, "counts in us"));
}

/* ---- evidence ---- */

static gint64 count(CtEvidence *ev, const char *sql)
{
    sqlite3_stmt *st = NULL;
    assert_int_equal(sqlite3_prepare_v2(ct_evidence_db(ev), sql, -1, &st, NULL), SQLITE_OK);
    gint64 n = sqlite3_step(st) == SQLITE_ROW ? sqlite3_column_int64(st, 0) : -1;
    sqlite3_finalize(st);
    return n;
}

static void test_import(void **state)
{
    g_autoptr(CtEvidence) ev = ct_evidence_new(NULL);
    g_autoptr(CtTimeline) made = open_sql("i.sqlite", small_schema, NULL);
    g_autofree char *path = place("i.sqlite"), *ort = place("ort.json"), *none = place("cpu.json");
    assert_non_null(made);
    assert_true(ct_trace_import(ev, NULL, path, "i.sqlite", TRUE, NULL, NULL));
    assert_int_equal(count(ev, "SELECT count(*) FROM event WHERE kind = 'cuda-error' AND code = 2"
                               " AND severity = 'warning'"), 1);
    assert_int_equal(count(ev, "SELECT count(*) FROM event WHERE kind = 'cuda-ok'"), 1);
    assert_int_equal(count(ev, "SELECT count(*) FROM fact WHERE key = 'timeline.pageable-share'"
                               " AND number > 0.99"), 1);
    assert_int_equal(count(ev, "SELECT count(*) FROM coverage WHERE kind = 'trace'"), 1);
    assert_true(ct_trace_import(ev, NULL, ort, "ort.json", FALSE, NULL, NULL));
    assert_int_equal(count(ev, "SELECT count(*) FROM event WHERE kind = 'ort-fallback' AND name ="
                               " 'nodes-on-cpu'"), 1);
    assert_true(ct_trace_import(ev, NULL, none, "cpu.json", FALSE, NULL, NULL));
    assert_int_equal(count(ev, "SELECT count(*) FROM source WHERE status = 'partial' AND note LIKE"
                               " '%only the CPU%'"), 1);
}

/* ---- trtexec ---- */

static void test_trt(void **state)
{
    g_autofree char *profile = place("profile.json"), *layers = place("layers.json");
    g_file_set_contents(profile,
                        "[\n  { \"count\" : 10 }\n, { \"name\" : \"old\", \"timeMs\" : 9, \"averageMs\" : 0.9,"
                        " \"percentage\" : 100 }\n]\n[\n  { \"count\" : 20 }\n"
                        ", { \"name\" : \"a + \"b\" + c\", \"timeMs\" : 4, \"averageMs\" : 0.2, \"medianMs\" :"
                        " 0.19, \"percentage\" : 80 }\n"
                        ", { \"name\" : \"twice\", \"timeMs\" : 1, \"averageMs\" : 0.05, \"percentage\" : 20 }\n"
                        ", { \"name\" : \"twice\", \"timeMs\" : nan, \"averageMs\" : nan, \"percentage\" : 0 }\n"
                        "]\n", -1, NULL);
    g_file_set_contents(layers,
                        "{\"Layers\": [{\n \"Name\": \"a + \"b\" + c\", \"LayerType\": \"CaskConvolution\","
                        " \"Inputs\": [{\"Name\": \"x\", \"Format/Datatype\": \"Row major linear FP32\"}],"
                        " \"Outputs\": [{\"Name\": \"y\", \"Dimensions\": [1,2], \"Format/Datatype\":"
                        " \"Channel major FP16 format where channel % 8 == 0\"}], \"Metadata\": \"[ONNX Layer:"
                        " a]\x1e[ONNX Layer: b]\"},\n"
                        "{\"Name\": \"twice\", \"LayerType\": \"Reformat\"},\n"
                        "{\"Name\": \"twice\", \"LayerType\": \"PointWiseV2\"}, \"plain + name\"],"
                        " \"Bindings\": [\"x\", \"y\"]}\n", -1, NULL);
    g_autoptr(CtTrtDoc) p = ct_trt_read(profile, NULL), l = ct_trt_read(layers, NULL);
    assert_int_equal(p->kind, CT_TRT_PROFILE);
    assert_int_equal(p->runs, 2);
    assert_int_equal(p->iterations, 20);
    assert_int_equal(p->times->len, 3);
    assert_int_equal(l->layers->len, 4);
    g_autoptr(GPtrArray) joined = ct_trt_join(p, l);
    assert_int_equal(joined->len, 3);
    const CtTrtLayer *conv = g_ptr_array_index(joined, 0), *second = g_ptr_array_index(joined, 2);
    assert_string_equal(conv->output, "FP16");
    assert_string_equal(conv->input, "FP32");
    assert_int_equal(conv->fused, 3);
    assert_string_equal(second->type, "PointWiseV2");
    assert_true(((CtTrtLayer *)g_ptr_array_index(joined, 1))->reformat);
    assert_int_equal(((CtTrtLayer *)g_ptr_array_index(l->layers, 3))->fused, 2);
}

static void test_trt_times_cut(void **state)
{
    g_autofree char *path = place("times.json");
    g_file_set_contents(path,
                        "[\n  { \"startEnqMs\" : 1.5, \"endEnqMs\" : 1.75, \"h2dMs\" : 0.1, \"computeMs\" : 2,"
                        " \"d2hMs\" : 0.2, \"latencyMs\" : 2.3 }\n, { \"startEnqMs\" : 1e+06, \"endEnqMs\" :"
                        " 1e+06, \"computeMs\" : 3.25, \"latencyMs\" : inf }\n, { \"startEnqMs\" : 5, \"comp",
                        -1, NULL);
    g_autoptr(CtTrtDoc) d = ct_trt_read(path, NULL);
    assert_int_equal(d->kind, CT_TRT_TIMES);
    assert_int_equal(d->queries->len, 2);
    assert_non_null(d->problem);
    const CtTrtQuery *q = &g_array_index(d->queries, CtTrtQuery, 0);
    assert_true(q->enqueue > 249999 && q->enqueue < 250001);
    assert_true(g_array_index(d->queries, CtTrtQuery, 1).compute > 3249999);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kineto),         cmocka_unit_test(test_gzip),
        cmocka_unit_test(test_cut),            cmocka_unit_test(test_damage),
        cmocka_unit_test(test_begin_end),      cmocka_unit_test(test_unit),
        cmocka_unit_test(test_tensorflow),     cmocka_unit_test(test_ort),
        cmocka_unit_test(test_triton),         cmocka_unit_test(test_no_gpu),
        cmocka_unit_test(test_numbers),        cmocka_unit_test(test_nsys),
        cmocka_unit_test(test_nsys_summary),   cmocka_unit_test(test_nsys_old_and_odd),
        cmocka_unit_test(test_nsys_nothing),   cmocka_unit_test(test_nsys_pages),
        cmocka_unit_test(test_nsys_damage),    cmocka_unit_test(test_nsys_microseconds),
        cmocka_unit_test(test_import),         cmocka_unit_test(test_trt),
        cmocka_unit_test(test_nsys_cut),
        cmocka_unit_test(test_trt_times_cut),  cmocka_unit_test(test_words),
    };
    folder = g_dir_make_tmp("cutriage-test-XXXXXX", NULL);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    g_autofree char *remove = g_strdup_printf("rm -r '%s'", folder);
    g_spawn_command_line_sync(remove, NULL, NULL, NULL, NULL);
    g_free(folder);
    return failed;
}
