/* SPDX-License-Identifier: Apache-2.0 */
/* The scanner against a search that takes every place and every literal: same hits, same order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kb/kb.h"
#include "parse/frame/parser.h"
#include "parse/frame/scanner.h"
#include "parse/frame/signatures.h"

static GArray *slow_scan(const CtLiteral *literals, guint n, const char *data, gsize len)
{
    GArray *hits = g_array_new(FALSE, FALSE, sizeof(CtHit));
    for (gsize end = 1; end <= len; end++) {
        for (guint id = 0; id < n; id++) {
            const CtLiteral *l = &literals[id];
            if (l->len == 0 || l->len > end)
                continue;
            const char *at = data + end - l->len;
            if (l->nocase ? g_ascii_strncasecmp(at, l->text, l->len) != 0
                          : memcmp(at, l->text, l->len) != 0)
                continue;
            CtHit h = {.end = (guint32)end, .id = id};
            g_array_append_val(hits, h);
        }
    }
    return hits;
}

static void compare(CtScanner *s, const CtLiteral *literals, guint n, const char *data, gsize len)
{
    g_autoptr(GArray) slow = slow_scan(literals, n, data, len);
    g_autoptr(GArray) fast = g_array_new(FALSE, FALSE, sizeof(CtHit));
    ct_scanner_scan(s, data, len, fast);
    assert_int_equal(fast->len, slow->len);
    for (guint i = 0; i < fast->len; i++) {
        const CtHit *a = &g_array_index(fast, CtHit, i), *b = &g_array_index(slow, CtHit, i);
        assert_int_equal(a->end, b->end);
        assert_int_equal(a->id, b->id);
    }
}

/* Few letters, so that everything overlaps. */
static void random_letters(GRand *rand, char *out, gsize n, int letters)
{
    for (gsize i = 0; i < n; i++)
        out[i] = "aAbB [_-c0"[g_rand_int_range(rand, 0, letters)];
}

static void on_random_data(void **state)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(20260401);
    for (int round = 0; round < 60; round++) {
        char texts[40][12], data[700];
        CtLiteral literals[40];
        guint n = (guint)g_rand_int_range(rand, 1, 40);
        int letters = g_rand_int_range(rand, 2, 11);
        for (guint i = 0; i < n; i++) {
            gsize len = (gsize)g_rand_int_range(rand, round % 3 ? 4 : 1, 12);
            random_letters(rand, texts[i], len, letters);
            literals[i] = (CtLiteral){texts[i], len, g_rand_boolean(rand)};
        }
        g_autoptr(CtScanner) s = ct_scanner_new(literals, n);
        for (int k = 0; k < 20; k++) {
            gsize len = (gsize)g_rand_int_range(rand, 0, sizeof data);
            random_letters(rand, data, len, letters);
            /* A block of its own size: reading beyond it is an error that tools see. */
            char *exact = g_malloc(len ? len : 1);
            memcpy(exact, data, len);
            compare(s, literals, n, exact, len);
            g_free(exact);
        }
    }
}

/* What is learnt from the input changes the fragments, never the hits. */
static void after_learning(void **state)
{
    static const char *const words[] = {"CUDA error", "cuda_", "NVRM: Xid", "out of memory",
                                        "Xid (", "error", "ncclS", "timed out", "报错了"};
    CtLiteral literals[G_N_ELEMENTS(words)];
    for (guint i = 0; i < G_N_ELEMENTS(words); i++)
        literals[i] = (CtLiteral){words[i], strlen(words[i]), i % 2 == 1};
    g_autoptr(CtScanner) s = ct_scanner_new(literals, G_N_ELEMENTS(words));
    g_autoptr(GRand) rand = g_rand_new_with_seed(7);
    g_autoptr(GString) block = g_string_new(NULL);
    while (block->len < (1u << 20)) {
        if (g_rand_int_range(rand, 0, 50) == 0)
            g_string_append(block, words[g_rand_int_range(rand, 0, G_N_ELEMENTS(words))]);
        else
            g_string_append_printf(block, "worker %u done, no errata, cudb %x\n",
                                   g_rand_int(rand) % 1000, g_rand_int(rand));
    }
    g_autoptr(GArray) before = g_array_new(FALSE, FALSE, sizeof(CtHit));
    g_autoptr(GArray) after = g_array_new(FALSE, FALSE, sizeof(CtHit));
    ct_scanner_scan(s, block->str, block->len, before);
    for (int i = 0; i < 3; i++) {
        g_array_set_size(after, 0);
        ct_scanner_scan(s, block->str, block->len, after);
    }
    assert_true(before->len > 100);
    assert_int_equal(before->len, after->len);
    assert_memory_equal(before->data, after->data, before->len * sizeof(CtHit));
    compare(s, literals, G_N_ELEMENTS(words), block->str + 4321, 20001);
}

/* Each literal that is shipped, at every alignment, in a text made of the others' pieces. */
static void on_shipped_literals(void **state)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(CtKb) kb = ct_kb_open(&error);
    assert_non_null(kb);
    CtSignatures *sigs = ct_signatures_new(kb, ct_parsers(), &error);
    assert_non_null(sigs);
    guint n;
    const CtLiteral *literals = ct_signatures_literals(sigs, &n);
    assert_true(n > 50);
    g_autoptr(CtScanner) s = ct_scanner_new(literals, n);
    g_autoptr(GString) text = g_string_new(NULL);
    for (guint i = 0; i < n; i++) {
        const CtLiteral *half = &literals[(i * 7) % n];
        g_string_append_len(text, half->text, (gssize)(half->len / 2));
        for (guint k = 0; k < i % 4; k++)
            g_string_append_c(text, ' ');
        for (gsize k = 0; k < literals[i].len; k++) {
            char c = literals[i].text[k];
            g_string_append_c(text, literals[i].nocase && k % 2 ? g_ascii_toupper(c) : c);
        }
        g_string_append_c(text, i % 5 ? ' ' : '\n');
    }
    /* Against the slow search in pieces, which cuts literals in all places too. */
    for (gsize at = 0; at < text->len; at += 1999)
        compare(s, literals, n, text->str + at, MIN(text->len - at, 2048));
    ct_signatures_free(sigs);
}

static void nothing(void **state)
{
    CtLiteral one = {"abcdef", 6, FALSE};
    g_autoptr(GArray) hits = g_array_new(FALSE, FALSE, sizeof(CtHit));
    g_autoptr(CtScanner) none = ct_scanner_new(NULL, 0);
    g_autoptr(CtScanner) some = ct_scanner_new(&one, 1);
    ct_scanner_scan(none, "abcdef", 6, hits);
    ct_scanner_scan(some, "", 0, hits);
    ct_scanner_scan(some, "abcde", 5, hits);
    assert_int_equal(hits->len, 0);
    ct_scanner_scan(some, "abcdef", 6, hits);
    assert_int_equal(hits->len, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(on_random_data),
        cmocka_unit_test(after_learning),
        cmocka_unit_test(on_shipped_literals),
        cmocka_unit_test(nothing),
    };
    return cmocka_run_group_tests_name("scanner", tests, NULL, NULL);
}
