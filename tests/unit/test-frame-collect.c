/* SPDX-License-Identifier: Apache-2.0 */
/* Files, folders, packed files and archives, good and bad, become sources. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <glib/gstdio.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include "base/limits.h"
#include "collect/collect.h"

#define TEXT "one\nCUDA error: out of memory\n"

typedef struct {
    CtKb *kb;
    CtEvidence *ev;
    CtParse *parse;
    CtCollectTotals totals;
    char *dir;
    guint cases;
} Run;

static int setup(void **state)
{
    Run *r = g_new0(Run, 1);
    r->dir = g_dir_make_tmp("ct-collect-XXXXXX", NULL);
    r->ev = ct_evidence_new(NULL);
    r->kb = ct_kb_open(NULL);
    r->parse = ct_parse_new(r->ev, r->kb, NULL);
    *state = r;
    return r->parse ? 0 : -1;
}

static void remove_tree(const char *path)
{
    g_autofree char *quoted = g_shell_quote(path);
    g_autofree char *command = g_strdup_printf("chmod -R u+rwx %s; rm -rf %s", quoted, quoted);
    assert_int_equal(system(command), 0);
}

static int teardown(void **state)
{
    Run *r = *state;
    ct_parse_free(r->parse);
    ct_evidence_free(r->ev);
    ct_kb_free(r->kb);
    remove_tree(r->dir);
    g_free(r->dir);
    g_free(r);
    return 0;
}

static char *in(Run *r, const char *name)
{
    return g_build_filename(r->dir, name, NULL);
}

static void put(Run *r, const char *name, const void *data, gsize len)
{
    g_autofree char *path = in(r, name);
    assert_true(g_file_set_contents(path, data, (gssize)len, NULL));
}

static void on_case(const char *path, gpointer user)
{
    ((Run *)user)->cases++;
}

static void collect(Run *r, const char *name)
{
    const CtCollectHooks hooks = {.on_case = on_case, .user = r};
    g_autofree char *path = name ? in(r, name) : g_strdup(r->dir);
    ct_collect_path(r->parse, r->ev, path, &hooks, &r->totals);
    ct_parse_finish(r->parse);
}

/* Sources as "name|format|status|events" lines. */
static void expect(Run *r, const char *wanted)
{
    g_autoptr(GString) got = g_string_new(NULL);
    sqlite3_stmt *st = NULL;
    sqlite3_prepare_v2(ct_evidence_db(r->ev),
                       "SELECT substr(path, ?1), format, status, (SELECT count(*) FROM event e "
                       "JOIN section x ON x.id = e.section WHERE x.source = s.id AND e.kind = "
                       "'cuda-error') FROM source s ORDER BY id",
                       -1, &st, NULL);
    sqlite3_bind_int(st, 1, (int)strlen(r->dir) + 2);
    while (sqlite3_step(st) == SQLITE_ROW) {
        const char *format = (const char *)sqlite3_column_text(st, 1);
        g_string_append_printf(got, "%s|%s|%s|%s\n", sqlite3_column_text(st, 0),
                               format ? format : "-", sqlite3_column_text(st, 2),
                               sqlite3_column_text(st, 3));
    }
    sqlite3_finalize(st);
    assert_string_equal(got->str, wanted);
}

static GByteArray *gz(const void *data, gsize len)
{
    GByteArray *out = g_byte_array_new();
    guint8 buf[65536];
    z_stream z = {.next_in = (Bytef *)data, .avail_in = (uInt)len};
    deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
    int rc;
    do {
        z.next_out = buf;
        z.avail_out = sizeof buf;
        rc = deflate(&z, Z_FINISH);
        g_byte_array_append(out, buf, (guint)(sizeof buf - z.avail_out));
    } while (rc == Z_OK);
    deflateEnd(&z);
    return out;
}

static void packed(void **state)
{
    Run *r = *state;
    guint8 buf[4096];
    gsize n = 0;
    g_autoptr(GByteArray) a = gz(TEXT, strlen(TEXT));
    put(r, "a.gz", a->data, a->len);
    g_autoptr(GByteArray) twice = gz(a->data, a->len);
    put(r, "b.gz.gz", twice->data, twice->len);
    g_autoptr(GByteArray) members = gz(TEXT, strlen(TEXT));
    g_byte_array_append(members, a->data, a->len);
    put(r, "c.log", members->data, members->len);
    put(r, "d.cut.gz", a->data, 30);
    assert_int_equal(lzma_easy_buffer_encode(6, LZMA_CHECK_CRC32, NULL, (const uint8_t *)TEXT,
                                             strlen(TEXT), buf, &n, sizeof buf),
                     LZMA_OK);
    put(r, "e.xz", buf, n);
    n = ZSTD_compress(buf, sizeof buf, TEXT, strlen(TEXT), 3);
    put(r, "f.zst", buf, n);
    buf[6] |= 0x06; /* a block of no type */
    put(r, "g.damaged.zst", buf, n);
    put(r, "h.gz", "", 0);
    collect(r, NULL);
    expect(r, "a.gz|gzip+text|ok|1\nb.gz.gz|gzip+gzip+text|ok|1\nc.log|gzip+text|ok|1\n"
              "d.cut.gz|gzip+text|truncated|0\ne.xz|xz+text|ok|1\nf.zst|zstd+text|ok|1\n"
              "g.damaged.zst|zstd+text|partial|0\nh.gz|text|ok|0\n");
}

static void bomb(void **state)
{
    Run *r = *state;
    gsize n = (gsize)160 << 20;
    g_autofree char *lines = g_malloc(n);
    memset(lines, '\n', n);
    memcpy(lines, TEXT, strlen(TEXT));
    g_autoptr(GByteArray) a = gz(lines, n);
    g_autoptr(GByteArray) twice = gz(a->data, a->len);
    put(r, "bomb.gz", twice->data, twice->len);
    collect(r, NULL);
    expect(r, "bomb.gz|gzip+gzip+text|truncated|1\n");
    assert_true(r->totals.bytes < (guint64)80 << 20);
}

static void member(GByteArray *tar, const char *name, char type, const void *data, gsize len)
{
    char h[512] = {0};
    static const char zeros[512];
    g_strlcpy(h, name, 100);
    g_snprintf(h + 100, 8, "0000644");
    g_snprintf(h + 124, 12, "%011o", (unsigned)len);
    h[156] = type;
    memcpy(h + 257, "ustar\0" "00", 8);
    memset(h + 148, ' ', 8);
    unsigned sum = 0;
    for (int i = 0; i < 512; i++)
        sum += (guint8)h[i];
    g_snprintf(h + 148, 8, "%06o", sum);
    g_byte_array_append(tar, (const guint8 *)h, 512);
    g_byte_array_append(tar, data, (guint)len);
    g_byte_array_append(tar, (const guint8 *)zeros, (guint)((512 - len % 512) % 512));
}

static GByteArray *make_tar(gboolean ended)
{
    GByteArray *tar = g_byte_array_new();
    static const char zeros[1024];
    g_autoptr(GByteArray) inner = gz(TEXT, strlen(TEXT));
    member(tar, "logs/", '5', "", 0);
    member(tar, "logs/app.log", '0', TEXT, strlen(TEXT));
    member(tar, "link", '2', "", 0);
    member(tar, "logs/old.log.gz", '0', inner->data, inner->len);
    member(tar, "x", 'x', "31 path=logs/a rather long one\n", 31);
    member(tar, "short", '0', TEXT, strlen(TEXT));
    member(tar, "bin", '0', "\x7f" "ELF\1\1\1\0\0\0", 10);
    if (ended)
        g_byte_array_append(tar, (const guint8 *)zeros, 1024);
    return tar;
}

static void tar(void **state)
{
    Run *r = *state;
    g_autoptr(GByteArray) t = make_tar(TRUE), cut = make_tar(FALSE);
    g_autoptr(GByteArray) packed_tar = gz(t->data, t->len), nested = g_byte_array_new();
    put(r, "a.tar", t->data, t->len);
    put(r, "b.tgz", packed_tar->data, packed_tar->len);
    put(r, "c.tar", cut->data, cut->len - 600);
    member(nested, "in.tar.gz", '0', packed_tar->data, packed_tar->len);
    g_byte_array_append(nested, t->data + t->len - 1024, 1024);
    put(r, "d.tar", nested->data, nested->len);
    collect(r, NULL);
    expect(r, "a.tar:logs/app.log|text|ok|1\na.tar:logs/old.log.gz|gzip+text|ok|1\n"
              "a.tar:logs/a rather long one|text|ok|1\na.tar:bin|text|unsupported|0\n"
              "b.tgz:logs/app.log|text|ok|1\nb.tgz:logs/old.log.gz|gzip+text|ok|1\n"
              "b.tgz:logs/a rather long one|text|ok|1\nb.tgz:bin|text|unsupported|0\n"
              "c.tar:logs/app.log|text|ok|1\nc.tar:logs/old.log.gz|gzip+text|ok|1\n"
              "c.tar:logs/a rather long one|text|ok|1\nc.tar|-|truncated|0\n"
              "d.tar:in.tar.gz:logs/app.log|text|ok|1\n"
              "d.tar:in.tar.gz:logs/old.log.gz|gzip+text|ok|1\n"
              "d.tar:in.tar.gz:logs/a rather long one|text|ok|1\n"
              "d.tar:in.tar.gz:bin|text|unsupported|0\n");
}

static void little(GByteArray *out, guint64 v, int bytes)
{
    for (int i = 0; i < bytes; i++) {
        guint8 b = i < 8 ? (guint8)(v >> 8 * i) : 0;
        g_byte_array_append(out, &b, 1);
    }
}

/* One stored file. */
static GByteArray *make_zip(const char *name, const char *text)
{
    GByteArray *z = g_byte_array_new();
    guint32 crc = (guint32)crc32(0, (const Bytef *)text, (uInt)strlen(text));
    guint name_len = (guint)strlen(name), len = (guint)strlen(text);
    little(z, 0x04034b50, 4);
    little(z, 20, 2);
    little(z, 0, 8); /* flags, method, time, date */
    little(z, crc, 4);
    little(z, len, 4);
    little(z, len, 4);
    little(z, name_len, 2);
    little(z, 0, 2);
    g_byte_array_append(z, (const guint8 *)name, name_len);
    g_byte_array_append(z, (const guint8 *)text, len);
    guint directory = z->len;
    little(z, 0x02014b50, 4);
    little(z, 20, 2);
    little(z, 20, 2);
    little(z, 0, 8);
    little(z, crc, 4);
    little(z, len, 4);
    little(z, len, 4);
    little(z, name_len, 2);
    little(z, 0, 16); /* extra, comment, disk, attributes, offset */
    g_byte_array_append(z, (const guint8 *)name, name_len);
    guint end = z->len;
    little(z, 0x06054b50, 4);
    little(z, 0, 4);
    little(z, 1, 2);
    little(z, 1, 2);
    little(z, end - directory, 4);
    little(z, directory, 4);
    little(z, 0, 2);
    return z;
}

static void zip(void **state)
{
    Run *r = *state;
    g_autoptr(GByteArray) good = make_zip("logs/app.log", TEXT);
    g_autoptr(GByteArray) model = make_zip("m/data.pkl", "x");
    put(r, "a.zip", good->data, good->len);
    put(r, "b.zip", good->data, good->len - 30);
    put(r, "c.pt", model->data, model->len);
    collect(r, NULL);
    g_autofree char *first = NULL;
    sqlite3_stmt *st = NULL;
    sqlite3_prepare_v2(ct_evidence_db(r->ev), "SELECT note FROM source LIMIT 1", -1, &st, NULL);
    if (sqlite3_step(st) == SQLITE_ROW)
        first = g_strdup((const char *)sqlite3_column_text(st, 0));
    sqlite3_finalize(st);
    if (first && strstr(first, "libzip is not installed"))
        skip();
    expect(r, "a.zip:logs/app.log|text|ok|1\nb.zip|-|partial|0\nc.pt|-|unsupported|0\n");
}

static void folder(void **state)
{
    Run *r = *state;
    g_autofree char *sub = in(r, "sub"), *loop = in(r, "sub/loop"), *fifo = in(r, "fifo"),
                    *secret = in(r, "secret.log"), *dangling = in(r, "dangling"),
                    *round = in(r, "round");
    g_mkdir(sub, 0700);
    put(r, "sub/b.log", TEXT, strlen(TEXT));
    put(r, "sub/a.log", TEXT, strlen(TEXT));
    put(r, "secret.log", TEXT, strlen(TEXT));
    assert_int_equal(symlink("..", loop), 0);
    assert_int_equal(symlink("nowhere", dangling), 0);
    assert_int_equal(symlink("round", round), 0);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    chmod(secret, 0);
    collect(r, NULL);
    expect(r, geteuid() == 0
                  ? "dangling|-|absent|0\nfifo|-|unsupported|0\nround|-|absent|0\n"
                    "secret.log|text|ok|1\nsub/a.log|text|ok|1\nsub/b.log|text|ok|1\n"
                    "sub/loop|-|unsupported|0\n"
                  : "dangling|-|absent|0\nfifo|-|unsupported|0\nround|-|absent|0\n"
                    "secret.log|-|denied|0\nsub/a.log|text|ok|1\nsub/b.log|text|ok|1\n"
                    "sub/loop|-|unsupported|0\n");
}

static void missing_and_case(void **state)
{
    Run *r = *state;
    g_autoptr(GError) error = NULL;
    g_autofree char *path = in(r, "x.case");
    g_autoptr(CtEvidence) other = ct_evidence_new(NULL);
    assert_true(ct_evidence_save(other, path, FALSE, &error));
    collect(r, "x.case");
    collect(r, "nothing-here");
    assert_int_equal(r->cases, 1);
    expect(r, "nothing-here|-|absent|0\n");
}

static void deep(void **state)
{
    Run *r = *state;
    g_autoptr(GString) path = g_string_new(r->dir);
    for (guint i = 0; i < CT_MAX_DEPTH + 4; i++) {
        g_string_append(path, "/d");
        assert_int_equal(g_mkdir(path->str, 0700), 0);
    }
    collect(r, NULL);
    assert_int_equal(r->totals.files, 1);
    assert_int_equal(r->totals.troubles, 1);
}

static void many_files(void **state)
{
    Run *r = *state;
    for (guint i = 0; i < CT_MAX_FILES + 300; i++) {
        char name[32];
        g_snprintf(name, sizeof name, "%s/%06u", r->dir, i);
        int fd = open(name, O_CREAT | O_WRONLY, 0600);
        assert_true(fd >= 0);
        close(fd);
    }
    collect(r, NULL);
    assert_int_equal(r->totals.files, CT_MAX_FILES + 1);
    assert_int_equal(r->totals.troubles, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(packed, setup, teardown),
        cmocka_unit_test_setup_teardown(bomb, setup, teardown),
        cmocka_unit_test_setup_teardown(tar, setup, teardown),
        cmocka_unit_test_setup_teardown(zip, setup, teardown),
        cmocka_unit_test_setup_teardown(folder, setup, teardown),
        cmocka_unit_test_setup_teardown(missing_and_case, setup, teardown),
        cmocka_unit_test_setup_teardown(deep, setup, teardown),
        cmocka_unit_test_setup_teardown(many_files, setup, teardown),
    };
    return cmocka_run_group_tests_name("frame-collect", tests, NULL, NULL);
}
