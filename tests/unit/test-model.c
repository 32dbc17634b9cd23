/* SPDX-License-Identifier: Apache-2.0 */
/* Identity of engines and models, whole, cut, damaged, and of what only looks like one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "model/model.h"

/* ---- small protobuf writer ---- */

static void varint(GByteArray *out, guint64 v)
{
    do {
        guint8 b = (v & 127) | (v > 127 ? 128 : 0);
        g_byte_array_append(out, &b, 1);
        v >>= 7;
    } while (v);
}

static void number(GByteArray *out, guint field, guint64 v)
{
    varint(out, field << 3);
    varint(out, v);
}

static void bytes(GByteArray *out, guint field, const void *data, gsize len)
{
    varint(out, field << 3 | 2);
    varint(out, len);
    g_byte_array_append(out, data, (guint)len);
}

static void text(GByteArray *out, guint field, const char *s)
{
    bytes(out, field, s, strlen(s));
}

static void nest(GByteArray *out, guint field, GByteArray *inner)
{
    bytes(out, field, inner->data, inner->len);
    g_byte_array_unref(inner);
}

/* A value with axes; 0 is a name ("batch"), -1 none. */
static GByteArray *value(const char *name, guint type, const int *dims, guint n)
{
    GByteArray *shape = g_byte_array_new(), *tensor = g_byte_array_new(),
               *t = g_byte_array_new(), *v = g_byte_array_new();
    for (guint i = 0; i < n; i++) {
        GByteArray *dim = g_byte_array_new();
        if (dims[i] > 0)
            number(dim, 1, (guint64)dims[i]);
        else if (!dims[i])
            text(dim, 2, "batch");
        nest(shape, 1, dim);
    }
    number(tensor, 1, type);
    nest(tensor, 2, shape);
    nest(t, 1, tensor);
    text(v, 1, name);
    nest(v, 2, t);
    return v;
}

static GByteArray *node(const char *op, const char *domain, GByteArray *subgraph)
{
    GByteArray *n = g_byte_array_new();
    text(n, 1, "x");
    text(n, 4, op);
    if (domain)
        text(n, 7, domain);
    if (subgraph) {
        GByteArray *a = g_byte_array_new();
        text(a, 1, "body");
        nest(a, 6, subgraph);
        nest(n, 5, a);
    }
    return n;
}

static GByteArray *a_model(void)
{
    GByteArray *g = g_byte_array_new(), *m = g_byte_array_new(), *opset = g_byte_array_new(),
               *custom = g_byte_array_new(), *weight = g_byte_array_new(),
               *far = g_byte_array_new(), *where = g_byte_array_new(), *body = g_byte_array_new();
    guint8 raw[4096] = {0};
    nest(body, 1, node("Add", NULL, NULL));
    nest(g, 1, node("Conv", NULL, NULL));
    nest(g, 1, node("Conv", "", NULL));
    nest(g, 1, node("Loop", NULL, body));
    nest(g, 1, node("Fancy", "my.ops", NULL));
    text(g, 2, "net");
    text(weight, 8, "w0");
    bytes(weight, 9, raw, sizeof raw);
    nest(g, 5, weight);
    text(where, 1, "location");
    text(where, 2, "net.bin");
    text(far, 8, "w1");
    nest(far, 13, where);
    number(far, 14, 1);
    nest(g, 5, far);
    nest(g, 11, value("images", 10, (int[]){0, 3, 224, 224}, 4));
    nest(g, 11, value("w0", 1, (int[]){32}, 1));
    nest(g, 12, value("scores", 1, (int[]){0, -1}, 2));
    number(m, 1, 9);
    text(m, 2, "pytorch");
    text(m, 3, "2.4.1");
    nest(m, 7, g);
    number(opset, 2, 17);
    nest(m, 8, opset);
    text(custom, 1, "my.ops");
    number(custom, 2, 1);
    nest(m, 8, custom);
    return m;
}

/* ---- tests ---- */

static void whole_model(void **state)
{
    g_autoptr(GByteArray) m = a_model();
    assert_true(ct_onnx_sniff(m->data, m->len));
    g_autoptr(CtOnnx) o = ct_onnx_read(m->data, m->len);
    assert_false(o->damaged);
    assert_int_equal(o->ir_version, 9);
    assert_string_equal(o->producer, "pytorch");
    assert_string_equal(o->opsets->pdata[0], "ai.onnx 17");
    assert_string_equal(o->opsets->pdata[1], "my.ops 1");
    assert_int_equal(o->inputs->len, 1); /* the weight among the inputs is none */
    const CtOnnxValue *v = o->inputs->pdata[0];
    assert_string_equal(v->name, "images");
    assert_string_equal(v->type, "float16");
    assert_string_equal(v->shape, "[batch,3,224,224]");
    assert_true(v->dynamic);
    v = o->outputs->pdata[0];
    assert_string_equal(v->shape, "[batch,?]");
    assert_int_equal(o->nodes, 5);
    assert_int_equal(o->subgraphs, 1);
    assert_int_equal(o->weights, 2);
    assert_int_equal(o->external, 1);
    assert_string_equal(o->external_file, "net.bin");
    assert_int_equal(o->weight_bytes, 4096);
    const CtOnnxOp *op = &g_array_index(o->ops, CtOnnxOp, 0);
    assert_string_equal(op->name, "Conv");
    assert_int_equal(op->count, 2);
}

/* Cut at every place: no crash, and what stands before the cut is still told. */
static void cut_model(void **state)
{
    g_autoptr(GByteArray) m = a_model();
    for (gsize len = 0; len < m->len; len += len < 300 ? 1 : 37) {
        g_autofree guint8 *copy = g_malloc(len + 1);
        memcpy(copy, m->data, len);
        g_autofree char *d = ct_model_describe(copy, len, len, "net.onnx");
        assert_true(g_utf8_validate(d, -1, NULL));
        g_autoptr(CtOnnx) o = ct_onnx_read(copy, len);
        if (len > 120) {
            assert_int_equal(o->ir_version, 9);
            assert_true(o->nodes >= 2);
        }
    }
    g_autofree char *d = ct_model_describe(m->data, m->len - 100, m->len - 100, "net.onnx");
    assert_non_null(strstr(d, "problem: cut or damaged"));
    d = (g_free(d), ct_model_describe(m->data, m->len - 100, m->len, "net.onnx"));
    assert_null(strstr(d, "problem"));
    assert_non_null(strstr(d, "only the beginning"));
}

static void deep_model(void **state)
{
    GByteArray *g = g_byte_array_new();
    for (int i = 0; i < 200; i++) {
        GByteArray *outer = g_byte_array_new();
        nest(outer, 1, node("If", NULL, g));
        g = outer;
    }
    g_autoptr(GByteArray) m = g_byte_array_new();
    number(m, 1, 8);
    nest(m, 7, g);
    g_autoptr(CtOnnx) o = ct_onnx_read(m->data, m->len);
    assert_true(o->nodes >= 8 && o->nodes < 200);
}

static void engine_header(void **state)
{
    CtEngine e;
    guint8 plan[40] = "ftrt";
    plan[24] = 10, plan[25] = 3, plan[27] = 26;
    ct_engine_read(plan, sizeof plan, &e);
    assert_true(e.is_engine && e.has_version && !e.cut);
    assert_int_equal(e.version[0], 10);
    assert_int_equal(e.version[3], 26);
    ct_engine_read(plan, 20, &e);
    assert_true(e.is_engine && e.cut && !e.has_version);
    plan[24] = 0;
    ct_engine_read(plan, sizeof plan, &e);
    assert_true(e.is_engine && !e.has_version);
    plan[24] = 8, plan[25] = 5;
    ct_engine_read(plan, sizeof plan, &e);
    assert_false(e.has_version);
    ct_engine_read((const guint8 *)"ft", 2, &e);
    assert_false(e.is_engine);
}

static void what_it_is_instead(void **state)
{
    static const struct {
        const char *data;
        gsize len;
        const char *says;
    } cases[] = {
        {"", 0, "empty"},
        {"\x08\x07\x12\x07pytorch", 11, "ONNX"},
        {"PK\x03\x04xxxx", 8, "zip"},
        {"version https://git-lfs.github.com/spec/v1\n", 43, "Git LFS"},
        {"<!DOCTYPE html><html>", 21, "web page"},
        {"\x10\0\0\0\0\0\0\0{\"a\":1}", 15, "safetensors"},
        {"\x7f" "ELF\2\1\1", 7, "ELF"},
        {"\0\0\0\0\0\0\0\0", 8, "zeroes"},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *d = ct_model_describe((const guint8 *)cases[i].data, cases[i].len,
                                               cases[i].len, "/m/net.engine");
        if (!strstr(d, cases[i].says) || !strstr(d, "problem: "))
            fail_msg("%s", d);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_model),   cmocka_unit_test(cut_model),
        cmocka_unit_test(deep_model),    cmocka_unit_test(engine_header),
        cmocka_unit_test(what_it_is_instead),
    };
    return cmocka_run_group_tests_name("model", tests, NULL, NULL);
}
