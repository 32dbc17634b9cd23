/* SPDX-License-Identifier: Apache-2.0 */
/* Readers of tensors, element types, layouts, and what hostile files get. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <glib/gstdio.h>
#include "tensor/compare.h"
#include "tensor/half.h"
#include "tensor/reader.h"

static CtTensorSet *read_set(const char *name, const void *data, gsize len, GError **error)
{
    CtBytes *b = ct_bytes_take(ct_memdup(data, len), len);
    CtTensorSet *set = ct_tensor_set_read(b, name, NULL, error);
    ct_bytes_unref(b);
    return set;
}

/* An npy file with this header text and these bytes. */
static GByteArray *npy(const char *header, const void *data, gsize len)
{
    GByteArray *a = g_byte_array_new();
    guint8 head[10] = "\x93NUMPY\1\0";
    gsize size = strlen(header);
    head[8] = (guint8)size;
    head[9] = (guint8)(size >> 8);
    g_byte_array_append(a, head, 10);
    g_byte_array_append(a, (const guint8 *)header, (guint)size);
    g_byte_array_append(a, data, (guint)len);
    return a;
}

static CtTensor *one(const char *name, const void *data, gsize len, GError **error)
{
    g_autoptr(CtTensorSet) set = read_set(name, data, len, error);
    return set ? ct_tensor_item_load(set->items->pdata[0], error) : NULL;
}

static void test_npy(void **state)
{
    const float x[6] = {1, 2, 3, 4, 5, 6};
    g_autoptr(GByteArray) a =
        npy("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }\n", x, sizeof x);
    g_autoptr(CtTensor) t = one("a.npy", a->data, a->len, NULL);
    assert_non_null(t);
    assert_true(t->fortran_order && t->rank == 2 && t->n == 6);
    g_autoptr(CtTensor) c = ct_tensor_c_order(t, NULL);
    float y[6];
    ct_tensor_to_f32(c, 0, 6, y);
    const float want[6] = {1, 3, 5, 2, 4, 6};
    assert_memory_equal(y, want, sizeof y);
}

static void expect_refused(const char *header, const char *word)
{
    const guint8 zeros[16] = {0};
    g_autoptr(GByteArray) a = npy(header, zeros, sizeof zeros);
    g_autoptr(GError) error = NULL;
    assert_null(one("a.npy", a->data, a->len, &error));
    assert_non_null(error);
    if (!strstr(error->message, word))
        fail_msg("%s", error->message);
    assert_non_null(strstr(error->message, "a.npy: offset"));
}

static void test_npy_hostile(void **state)
{
    expect_refused("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 8), }\n",
                   "ask for more");
    expect_refused("{'descr': '<f4', 'fortran_order': False, 'shape': (5,), }\n", "ask for more");
    expect_refused("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }\n", "cannot be read");
    expect_refused("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }\n", "records");
    expect_refused("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }\n", "not supported");
    expect_refused("{'descr': '<f4', 'shape': (1,), }\n", "cannot be read");
}

static void check_values(CtDtype dtype, const guint8 *bytes, gsize len, guint n, const double *want)
{
    CtBytes *b = ct_bytes_take(ct_memdup(bytes, len), len);
    g_autoptr(CtTensor) t = ct_tensor_over(b, 0, len, dtype, 1, (const gint64[]){n}, "t", "t", NULL);
    ct_bytes_unref(b);
    assert_non_null(t);
    double x[16];
    ct_tensor_to_f64(t, 0, n, x);
    for (guint i = 0; i < n; i++)
        assert_true(x[i] == want[i] || (isnan(x[i]) && isnan(want[i])));
}

static void test_types(void **state)
{
    check_values(CT_F16, (const guint8[]){0x00, 0x3c, 0xff, 0x7b, 0x01, 0x00, 0x00, 0xfc}, 8, 4,
                 (const double[]){1, 65504, 0x1p-24, -INFINITY});
    check_values(CT_BF16, (const guint8[]){0x80, 0x3f, 0x40, 0xc0}, 4, 2, (const double[]){1, -3});
    check_values(CT_F8_E4M3, (const guint8[]){0x7e, 0x7f, 0x01, 0xb8}, 4, 4,
                 (const double[]){448, NAN, 0x1p-9, -1});
    check_values(CT_F8_E5M2, (const guint8[]){0x7b, 0x7c, 0x01}, 3, 3,
                 (const double[]){57344, INFINITY, 0x1p-16});
    check_values(CT_F4_E2M1, (const guint8[]){0x72, 0x09}, 2, 3, (const double[]){1, 6, -0.5});
    check_values(CT_I4, (const guint8[]){0x8f, 0x07}, 2, 3, (const double[]){-1, -8, 7});
    check_values(CT_U4, (const guint8[]){0x8f}, 1, 2, (const double[]){15, 8});
    check_values(CT_I8, (const guint8[]){0x80, 0x7f}, 2, 2, (const double[]){-128, 127});
    check_values(CT_BOOL, (const guint8[]){0, 1, 2}, 3, 3, (const double[]){0, 1, 1});
}

static void test_type_names(void **state)
{
    static const struct {
        const char *text;
        CtDtype dtype;
    } known[] = {{"<f4", CT_F32}, {"f4", CT_F32}, {"float16", CT_F16}, {"|i1", CT_I8}, {"<i4", CT_I32},
                 {"int4", CT_I4}, {"HALF", CT_F16}, {"kFLOAT", CT_F32}, {"torch.bfloat16", CT_BF16},
                 {"F8_E4M3", CT_F8_E4M3}, {"BOOL", CT_BOOL}, {"|b1", CT_BOOL}, {"uint8", CT_U8}};
    CtDtype d;
    for (gsize i = 0; i < G_N_ELEMENTS(known); i++)
        if (!ct_dtype_parse(known[i].text, &d) || d != known[i].dtype)
            fail_msg("%s", known[i].text);
    assert_false(ct_dtype_parse("string", &d));
    assert_false(ct_dtype_parse("", &d));
}

static void test_half_round_trip(void **state)
{
    for (guint h = 0; h < 65536; h++) {
        float f = ct_half_to_float((guint16)h);
        if (!isnan(f))
            assert_int_equal(ct_float_to_half(f), h);
    }
    assert_int_equal(ct_float_to_half(65520), 0x7c00);
    assert_int_equal(ct_float_to_half(65519), 0x7bff);
    assert_int_equal(ct_float_to_half(2.9e-8f), 0);
}

static void test_polygraphy(void **state)
{
    const float x[3] = {0.5f, -2, 8};
    g_autoptr(GByteArray) a =
        npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1, 3), }\n", x, sizeof x);
    g_autofree char *b64 = g_base64_encode(a->data, a->len);
    g_autofree char *text = g_strdup_printf(
        "{\"lst\": [[\"ort-N0\", [{\"outputs\": {\"sum \\\"a\\\"\": {\"values\": {\"array\": \"%s\", "
        "\"polygraphy_class\": \"ndarray\"}}}, \"runtime\": 0.1}]]]}", b64);
    g_autoptr(CtTensorSet) set = read_set("out.json", text, strlen(text), NULL);
    assert_non_null(set);
    const CtTensorItem *item = set->items->pdata[0];
    assert_string_equal(item->name, "sum \"a\"");
    assert_string_equal(item->group, "ort-N0, iteration 0");
    g_autoptr(CtTensor) t = ct_tensor_item_load(item, NULL);
    double y[3];
    ct_tensor_to_f64(t, 0, 3, y);
    assert_true(y[0] == 0.5 && y[1] == -2 && y[2] == 8);
}

static void test_trtexec(void **state)
{
    static const char text[] = "[\n  { \"name\" : \"prob\"\n  , \"dimensions\" : \"1x4\"\n  , \"values\" : "
                               "[ 0.25, nan, -1.5e-3, inf ]\n  }\n]\n";
    g_autoptr(CtTensor) t = one("o.json", text, strlen(text), NULL);
    assert_non_null(t);
    double x[4];
    ct_tensor_to_f64(t, 0, 4, x);
    assert_true(x[0] == 0.25 && isnan(x[1]) && x[2] == (double)-1.5e-3f && isinf(x[3]));
}

static void test_raw_names(void **state)
{
    const guint8 bytes[12] = {0};
    g_autoptr(CtTensor) t = one("prob.output.2.3.Half.raw", bytes, 12, NULL);
    assert_non_null(t);
    assert_string_equal(t->name, "prob");
    assert_true(t->dtype == CT_F16 && t->rank == 2 && t->dims[1] == 3);
    g_autoptr(GError) error = NULL;
    assert_null(one("prob.output.2.4.Half.raw", bytes, 12, &error));
    assert_non_null(error);
    g_clear_error(&error);
    assert_null(one("unknown.bin", bytes, 12, &error));
    assert_non_null(strstr(error->message, "--dtype"));
}

static void test_layouts(void **state)
{
    enum { C = 5, A = 6 };
    float plain[C * A], nhwc[A * C], chw4[2 * A * 4] = {0};
    for (guint c = 0; c < C; c++)
        for (guint p = 0; p < A; p++) {
            plain[c * A + p] = (float)(c * 10 + p);
            nhwc[p * C + c] = plain[c * A + p];
            chw4[(c / 4 * A + p) * 4 + c % 4] = plain[c * A + p];
        }
    CtBytes *a = ct_bytes_take(ct_memdup(nhwc, sizeof nhwc), sizeof nhwc);
    CtBytes *b = ct_bytes_take(ct_memdup(chw4, sizeof chw4), sizeof chw4);
    g_autoptr(CtTensor) x =
        ct_tensor_over(a, 0, sizeof nhwc, CT_F32, 4, (const gint64[]){1, 2, 3, C}, "x", "x", NULL);
    g_autoptr(CtTensor) y =
        ct_tensor_over(b, 0, sizeof chw4, CT_F32, 5, (const gint64[]){1, 2, 2, 3, 4}, "y", "y", NULL);
    ct_bytes_unref(a);
    ct_bytes_unref(b);
    g_autoptr(CtTensor) u = ct_tensor_from_layout(x, "nhwc", 0, NULL),
                        v = ct_tensor_from_layout(y, "chw4", C, NULL);
    assert_true(u && v && u->n == C * A && v->n == C * A);
    assert_memory_equal(ct_tensor_data(u), plain, sizeof plain);
    assert_memory_equal(ct_tensor_data(v), plain, sizeof plain);
}

typedef struct {
    CtTensor *t;
    CtScan *out;
} ScanJob;

static void scan_work(gpointer data)
{
    ScanJob *job = data;
    ct_scan(job->t, job->t->dtype, job->out);
}

static void test_shrinking_file(void **state)
{
    char path[] = "/tmp/ct-shrink-XXXXXX";
    int fd = mkstemp(path);
    g_autofree guint8 *zeros = g_malloc0(1 << 20);
    assert_int_equal(write(fd, zeros, 1 << 20), 1 << 20);
    g_autoptr(CtBytes) b = ct_bytes_map(path, NULL);
    assert_non_null(b);
    g_autoptr(CtTensor) t =
        ct_tensor_over(b, 0, 1 << 20, CT_F32, 1, (const gint64[]){1 << 18}, "t", "t", NULL);
    assert_int_equal(ftruncate(fd, 4096), 0);
    g_autoptr(GError) error = NULL;
    CtScan scan;
    ScanJob job = {t, &scan};
    assert_false(ct_bytes_guard(scan_work, &job, &error));
    assert_non_null(strstr(error->message, "shorter"));
    close(fd);
    unlink(path);
}

/* One TensorProto of four floats whose data lie in `location`. */
static void write_external(const char *path, const char *location, const char *offset)
{
    g_autoptr(GByteArray) b = g_byte_array_new();
    const char *const pairs[][2] = {{"location", location}, {"offset", offset}, {"length", "16"}};
    g_byte_array_append(b, (const guint8 *)"\x08\x04\x10\x01\x42\x01w\x70\x01", 9);
    for (guint i = 0; i < 3; i++) {
        guint8 k = (guint8)strlen(pairs[i][0]), v = (guint8)strlen(pairs[i][1]);
        g_byte_array_append(b, (const guint8[]){0x6a, (guint8)(k + v + 4), 0x0a, k}, 4);
        g_byte_array_append(b, (const guint8 *)pairs[i][0], k);
        g_byte_array_append(b, (const guint8[]){0x12, v}, 2);
        g_byte_array_append(b, (const guint8 *)pairs[i][1], v);
    }
    assert_true(g_file_set_contents(path, (const char *)b->data, (gssize)b->len, NULL));
}

static void expect_external(const char *path, const char *location, const char *offset,
                            const char *problem)
{
    write_external(path, location, offset);
    g_autoptr(CtTensorSet) set = ct_tensor_set_open(path, NULL, NULL);
    assert_non_null(set);
    const CtTensorItem *item = set->items->pdata[0];
    if (problem) {
        assert_non_null(item->problem);
        assert_non_null(strstr(item->problem, problem));
        return;
    }
    g_autoptr(CtTensor) t = ct_tensor_item_load(item, NULL);
    assert_non_null(t);
    double first;
    ct_tensor_to_f64(t, 0, 1, &first);
    assert_true(first == 4);
}

static void test_external_data(void **state)
{
    g_autofree char *top = g_dir_make_tmp("ct-external-XXXXXX", NULL);
    g_autofree char *folder = g_build_filename(top, "model", NULL),
                    *model = g_build_filename(folder, "w.pb", NULL),
                    *data = g_build_filename(folder, "w.bin", NULL),
                    *outside = g_build_filename(top, "out.bin", NULL),
                    *link = g_build_filename(folder, "link.bin", NULL);
    const float numbers[] = {0, 1, 2, 3, 4, 5, 6, 7};
    assert_int_equal(g_mkdir(folder, 0700), 0);
    assert_true(g_file_set_contents(data, (const char *)numbers, sizeof numbers, NULL));
    assert_true(g_file_set_contents(outside, (const char *)numbers, sizeof numbers, NULL));
    assert_int_equal(symlink(outside, link), 0);
    expect_external(model, "w.bin", "16", NULL);
    expect_external(model, "w.bin", "20", "beyond");
    expect_external(model, "w.bin", "-1", "does not say");
    expect_external(model, "gone.bin", "0", "not there");
    expect_external(model, "../out.bin", "0", "not below");
    expect_external(model, outside, "0", "not below");
    expect_external(model, "link.bin", "0", "not below");
    const char *const all[] = {model, data, outside, link, folder, top};
    for (gsize i = 0; i < G_N_ELEMENTS(all); i++)
        g_remove(all[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_external_data), cmocka_unit_test(test_npy), cmocka_unit_test(test_npy_hostile), cmocka_unit_test(test_types),
        cmocka_unit_test(test_type_names), cmocka_unit_test(test_half_round_trip),
        cmocka_unit_test(test_polygraphy), cmocka_unit_test(test_trtexec),
        cmocka_unit_test(test_raw_names), cmocka_unit_test(test_layouts),
        cmocka_unit_test(test_shrinking_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
