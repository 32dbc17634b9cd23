/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: signatures literals            prints the literals of the prefilter, one a line
 *        signatures speed FILE          speed of the scanner, of vectorscan where it is installed,
 *                                       and which literals stand in FILE more often than is good
 *        signatures patterns            the slowest patterns on lines of a healthy log
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "parse/frame/signatures-private.h"

#define SAMPLE ((gsize)256 << 20)
#define BLOCK ((gsize)256 << 10)
#define OFTEN_PER_MIB 5 /* a literal met more often than that costs speed in every log */
#define SLOW_NS 2000

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- vectorscan, for comparison only ---- */

typedef int (*OnMatch)(unsigned, unsigned long long, unsigned long long, unsigned, void *);

static int count_match(unsigned id, unsigned long long from, unsigned long long to,
                       unsigned flags, void *user)
{
    ++*(guint64 *)user;
    return 0;
}

static void vectorscan(const CtLiteral *literals, guint n, const char *data, gsize len)
{
    int (*compile)(const char *const *, const unsigned *, const unsigned *, const size_t *,
                   unsigned, unsigned, const void *, void **, void **);
    int (*alloc)(const void *, void **);
    int (*scan)(const void *, const char *, unsigned, unsigned, void *, OnMatch, void *);
    void *so = dlopen("libhs.so.5", RTLD_NOW), *database = NULL, *error = NULL, *scratch = NULL;
    if (!so) {
        printf("vectorscan: not installed\n");
        return;
    }
    *(void **)&compile = dlsym(so, "hs_compile_lit_multi");
    *(void **)&alloc = dlsym(so, "hs_alloc_scratch");
    *(void **)&scan = dlsym(so, "hs_scan");
    g_autofree const char **text = g_new(const char *, n);
    g_autofree unsigned *flags = g_new(unsigned, n), *ids = g_new(unsigned, n);
    g_autofree size_t *lens = g_new(size_t, n);
    for (guint i = 0; i < n; i++) {
        text[i] = literals[i].text;
        flags[i] = literals[i].nocase ? 1 : 0;
        ids[i] = i;
        lens[i] = literals[i].len;
    }
    double a = now();
    if (!compile || !alloc || !scan ||
        compile(text, flags, ids, lens, n, 1, NULL, &database, &error) != 0 ||
        alloc(database, &scratch) != 0) {
        printf("vectorscan: cannot compile the literals\n");
        return;
    }
    double b = now();
    guint64 hits = 0;
    for (gsize at = 0; at < len; at += BLOCK)
        scan(database, data + at, (unsigned)MIN(BLOCK, len - at), 0, scratch, count_match, &hits);
    printf("vectorscan: ready in %.1f ms, %.2f GB/s, %" G_GUINT64_FORMAT " hits\n", (b - a) * 1e3,
           (double)len / (now() - b) / 1e9, hits);
}

/* ---- the scanner ---- */

static int speed(const CtLiteral *literals, guint n, const char *path)
{
    g_autofree char *data = g_malloc(SAMPLE);
    FILE *f = fopen(path, "rb");
    gsize len = f ? fread(data, 1, SAMPLE, f) : 0;
    if (f)
        fclose(f);
    if (len == 0) {
        fprintf(stderr, "%s: cannot be read\n", path);
        return 1;
    }
    g_autofree guint *count = g_new0(guint, n);
    g_autoptr(CtScanner) s = ct_scanner_new(literals, n);
    g_autoptr(GArray) hits = g_array_new(FALSE, FALSE, sizeof(CtHit));
    double a = now();
    ct_scanner_scan(s, data, 1, hits);
    double b = now();
    guint64 total = 0;
    for (gsize at = 0; at < len; at += BLOCK) {
        g_array_set_size(hits, 0);
        ct_scanner_scan(s, data + at, MIN(BLOCK, len - at), hits);
        total += hits->len;
        for (guint i = 0; i < hits->len; i++)
            count[g_array_index(hits, CtHit, i).id]++;
    }
    printf("scanner: %u literals, ready in %.1f ms, %.2f GB/s, %" G_GUINT64_FORMAT " hits\n", n,
           (b - a) * 1e3, (double)len / (now() - b) / 1e9, total);
    vectorscan(literals, n, data, len);
    for (guint i = 0; i < n; i++) {
        if ((double)count[i] > OFTEN_PER_MIB * (double)len / (1 << 20))
            printf("often in this log: %u times '%s'\n", count[i], literals[i].text);
        if (literals[i].len < 5)
            printf("short: '%s'\n", literals[i].text);
    }
    return 0;
}

static int patterns(const CtKb *kb)
{
    static const char *const lines[] = {
        "worker-3 request id=8a7 model detector started in 12 ms, batch 4 queue 7 device cuda:0 "
        "ready gpu 0 done in 3.5 ms user alice status ok session 99 pid=812 errors 0",
        "/opt/app/venv/lib/python3.10/site-packages/torch/cuda/__init__.py:118: UserWarning: a long "
        "line of text with many words and numbers 1 2 3 4 5 6 7 8 9 10 (a, b, c) in one sentence",
    };
    sqlite3_stmt *st = NULL;
    pcre2_match_data *match = pcre2_match_data_create(64, NULL);
    sqlite3_prepare_v2(ct_kb_db(kb), "SELECT id, pattern, nocase FROM signature", -1, &st, NULL);
    while (sqlite3_step(st) == SQLITE_ROW) {
        int error;
        PCRE2_SIZE place;
        pcre2_code *code = pcre2_compile(sqlite3_column_text(st, 1), PCRE2_ZERO_TERMINATED,
                                         PCRE2_DUPNAMES | (sqlite3_column_int(st, 2)
                                                               ? PCRE2_CASELESS
                                                               : 0),
                                         &error, &place, NULL);
        if (!code)
            continue;
        pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);
        double worst = 0;
        for (guint i = 0; i < G_N_ELEMENTS(lines); i++) {
            double a = now();
            for (int k = 0; k < 300; k++)
                pcre2_match(code, (PCRE2_SPTR)lines[i], strlen(lines[i]), 0, 0, match, NULL);
            worst = MAX(worst, (now() - a) / 300 * 1e9);
        }
        if (worst > SLOW_NS)
            printf("%7.0f ns  %s\n", worst, sqlite3_column_text(st, 0));
        pcre2_code_free(code);
    }
    sqlite3_finalize(st);
    pcre2_match_data_free(match);
    return 0;
}

int main(int argc, char **argv)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(CtKb) kb = ct_kb_open(&error);
    CtSignatures *sigs = kb ? ct_signatures_new(kb, ct_parsers(), &error) : NULL;
    if (!sigs) {
        fprintf(stderr, "signatures: %s\n", error->message);
        return 1;
    }
    guint n;
    int rc = 2;
    const CtLiteral *literals = ct_signatures_literals(sigs, &n);
    if (argc == 2 && g_str_equal(argv[1], "literals")) {
        for (guint i = 0; i < n; i++)
            puts(literals[i].text);
        rc = 0;
    } else if (argc == 3 && g_str_equal(argv[1], "speed")) {
        rc = speed(literals, n, argv[2]);
    } else if (argc == 2 && g_str_equal(argv[1], "patterns")) {
        rc = patterns(kb);
    } else {
        fprintf(stderr, "usage: signatures literals | speed FILE | patterns\n");
    }
    ct_signatures_free(sigs);
    return rc;
}
