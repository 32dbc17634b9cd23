/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <glib/gstdio.h>

#include "collect/live/ldcache.h"
#include "collect/live/live-private.h"

typedef struct {
    char *root;
    CtLiveOptions options;
    CtLive live;
} Tree;

static int set_up(void **state)
{
    Tree *t = g_new0(Tree, 1);
    t->root = g_dir_make_tmp("live-XXXXXX", NULL);
    t->options.sysroot = t->root;
    t->live = (CtLive){.options = &t->options, .out = -1};
    t->live.root = open(t->root, O_RDONLY | O_DIRECTORY);
    *state = t;
    return 0;
}

static int tear_down(void **state)
{
    Tree *t = *state;
    g_autofree char *command = g_strdup_printf("rm -rf '%s'", t->root);
    close(t->live.root);
    int rc = system(command);
    g_free(t->root);
    g_free(t);
    return rc;
}

static void put(Tree *t, const char *path, const char *text)
{
    g_autofree char *full = g_strconcat(t->root, path, NULL), *folder = g_path_get_dirname(full);
    assert_int_equal(g_mkdir_with_parents(folder, 0700), 0);
    assert_true(g_file_set_contents(full, text, -1, NULL));
}

static void point(Tree *t, const char *path, const char *target)
{
    g_autofree char *full = g_strconcat(t->root, path, NULL), *folder = g_path_get_dirname(full);
    assert_int_equal(g_mkdir_with_parents(folder, 0700), 0);
    assert_int_equal(symlink(target, full), 0);
}

static void test_links_stay_inside(void **state)
{
    Tree *t = *state;
    put(t, "/etc/real", "inside\n");
    point(t, "/a/absolute", "/etc/real");
    point(t, "/a/up", "../../../../../../etc/real");
    point(t, "/a/passwd", "/etc/passwd");
    point(t, "/a/outside", "../../../../../../../../etc/hostname");
    point(t, "/a/circle", "circle");
    point(t, "/b", "/a");
    static const char *const good[] = {"/a/absolute", "/a/up", "/b/absolute"};
    for (gsize i = 0; i < G_N_ELEMENTS(good); i++) {
        g_autofree char *line = ct_live_line(&t->live, good[i]);
        assert_string_equal(line, "inside");
    }
    static const char *const bad[] = {"/a/passwd", "/a/outside", "/a/circle", "/b/passwd", "/none"};
    for (gsize i = 0; i < G_N_ELEMENTS(bad); i++)
        assert_null(ct_live_line(&t->live, bad[i]));
    g_autofree char *real = ct_live_real(&t->live, "/b/up");
    assert_string_equal(real, "/etc/real");
    assert_null(ct_live_real(&t->live, "/a/circle"));
}

static void test_only_regular_files(void **state)
{
    Tree *t = *state;
    g_autofree char *fifo = g_strconcat(t->root, "/fifo", NULL);
    char *text;
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_int_equal(ct_live_read(&t->live, "/fifo", 100, &text, NULL), CT_UNSUPPORTED);
    assert_int_equal(ct_live_read(&t->live, "/", 100, &text, NULL), CT_UNSUPPORTED);
    assert_int_equal(ct_live_read(&t->live, "/none", 100, &text, NULL), CT_ABSENT);
    put(t, "/long", "0123456789");
    assert_int_equal(ct_live_read(&t->live, "/long", 4, &text, NULL), CT_TRUNCATED);
    assert_string_equal(text, "0123");
    g_free(text);
}

static void test_values(void **state)
{
    Tree *t = *state;
    g_autoptr(GString) out = g_string_new(NULL);
    put(t, "/sys/one", "42\n");
    put(t, "/sys/two", "a 1\nb 2\n");
    put(t, "/sys/empty", "");
    assert_int_equal(ct_live_value(&t->live, out, "/sys/one"), CT_OK);
    assert_int_equal(ct_live_value(&t->live, out, "/sys/two"), CT_OK);
    assert_int_equal(ct_live_value(&t->live, out, "/sys/none"), CT_ABSENT);
    assert_string_equal(out->str, "/sys/one: 42\n/sys/two: a 1\n/sys/two: b 2\n");
    assert_int_equal(ct_live_value(&t->live, NULL, "/sys/none"), CT_ABSENT);
}

static void test_glob_is_sorted(void **state)
{
    Tree *t = *state;
    put(t, "/sys/z2/type", "b");
    put(t, "/sys/z1/type", "a");
    put(t, "/sys/other/type", "c");
    g_autoptr(GPtrArray) all = ct_live_glob(&t->live, "/sys/z*/type");
    assert_int_equal(all->len, 2);
    assert_string_equal(g_ptr_array_index(all, 0), "/sys/z1/type");
    g_autoptr(GPtrArray) none = ct_live_glob(&t->live, "/nowhere/*");
    assert_int_equal(none->len, 0);
}

/* What a login gets joins what the first process has, which wins. */
static void test_environment_of_a_tree(void **state)
{
    Tree *t = *state;
    gsize len = 1;
    assert_null(ct_live_environ(&t->live, &len));
    put(t, "/etc/environment", "# first\nexport A=\"one two\"\nB='x'\nC=\nno variable\nPATH=/bin\n");
    static const struct {
        const char *name, *value;
    } want[] = {{"A", "one two"}, {"B", "x"}, {"C", ""}, {"PATH", "/bin"}};
    for (gsize i = 0; i < G_N_ELEMENTS(want); i++) {
        g_autofree char *value = ct_live_getenv(&t->live, want[i].name);
        assert_string_equal(value, want[i].value);
    }
    put(t, "/proc/1/environ", "B=own"); /* cut off: no NUL at the end */
    g_autofree char *own = ct_live_getenv(&t->live, "B"), *other = ct_live_getenv(&t->live, "A");
    assert_string_equal(own, "own");
    assert_string_equal(other, "one two");
    assert_null(ct_live_getenv(&t->live, "no variable"));
}

/* All that a collector wrote in a tree. */
static char *all_of(Tree *t, const char *id)
{
    const char *const only[] = {id, NULL};
    CtLiveOptions options = t->options;
    options.only = only;
    g_autoptr(CtLiveCapture) capture = ct_live_capture(&options, NULL);
    GString *all = g_string_new(NULL);
    for (guint i = 0; capture && i < capture->sections->len; i++) {
        const CtLiveSection *s = g_ptr_array_index(capture->sections, i);
        if (s->bytes)
            g_string_append_len(all, (const char *)s->bytes->data, (gssize)s->bytes->len);
    }
    return g_string_free(all, FALSE);
}

static void test_closed_nodes_of_a_tree(void **state)
{
    Tree *t = *state;
    put(t, "/dev/nvidia0", "");
    put(t, "/dev/nvidiactl", "");
    g_autofree char *closed = g_strconcat(t->root, "/dev/nvidiactl", NULL);
    g_autofree char *open = g_strconcat(t->root, "/dev/nvidia0", NULL);
    assert_int_equal(g_chmod(closed, 0600), 0);
    assert_int_equal(g_chmod(open, 0644), 0);
    g_autofree char *text = all_of(t, "devices");
    assert_non_null(strstr(text, "crw------- 1 "));
    assert_true(g_str_has_prefix(text, "/dev/nvidia0\n"));
    assert_null(strstr(text, "-rw-r--r--"));
}

static void test_folders_that_the_loader_searches(void **state)
{
    Tree *t = *state;
    put(t, "/opt/a/libcudnn.so.9.1.0", "");
    put(t, "/usr/local/lib/libcudnn.so.9.5.1", "");
    put(t, "/usr/local/cuda-12.2/lib64/libcudart.so.12.2.140", "");
    put(t, "/etc/ld.so.conf", "include /etc/ld.so.conf.d/*.conf\n/usr/local/lib\n");
    put(t, "/proc/self/environ", "LD_LIBRARY_PATH=/opt/a:\0");
    g_autofree char *text = all_of(t, "libraries");
    assert_non_null(strstr(text, "searched=yes real=/opt/a/libcudnn.so.9.1.0"));
    assert_non_null(strstr(text, "searched=yes real=/usr/local/lib/libcudnn.so.9.5.1"));
    assert_non_null(strstr(text, "searched=no real=/usr/local/cuda-12.2/lib64/libcudart.so.12.2.140"));
}

/* A capture of an empty and of a strange tree ends, and every collector has a status. */
static void test_capture_of_nothing(void **state)
{
    Tree *t = *state;
    put(t, "/etc/nvpmodel.conf", "< POWER_MODEL ID=");
    put(t, "/var/lib/dpkg/status", "Package: \n\n\n\nVersion");
    put(t, "/proc/driver/nvidia/version", "");
    point(t, "/sys", "/sys");
    g_autoptr(GError) error = NULL;
    g_autoptr(CtLiveCapture) capture = ct_live_capture(&t->options, &error);
    assert_non_null(capture);
    assert_true(capture->runs->len > 10);
    for (guint i = 0; i < capture->runs->len; i++) {
        const CtLiveRun *run = g_ptr_array_index(capture->runs, i);
        /* /sys is a link to itself: not to be read, which is said; none of them may die of it. */
        assert_true(run->status == CT_OK || run->status == CT_UNSUPPORTED ||
                    run->status == CT_FAILED);
        assert_false(run->note && g_str_has_prefix(run->note, "the collector ended"));
    }
}

static void test_no_tree_is_an_error(void **state)
{
    const CtLiveOptions options = {.sysroot = "/nonexistent/tree"};
    g_autoptr(GError) error = NULL;
    assert_null(ct_live_capture(&options, &error));
    assert_non_null(error);
}

static void test_ldcache(void **state)
{
    guint8 data[48 + 24 + 40] = {0};
    memcpy(data, "glibc-ld.so.cache1.1", 20);
    data[20] = 1;
    guint32 name = 48 + 24, path = name + 14;
    memcpy(data + 48 + 4, &name, 4);
    memcpy(data + 48 + 8, &path, 4);
    memcpy(data + name, "libcudnn.so.9", 14);
    memcpy(data + path, "/opt/libcudnn.so.9", 19);
    g_autoptr(GHashTable) cache = ct_ldcache_parse(data, sizeof(data));
    assert_string_equal(g_hash_table_lookup(cache, "libcudnn.so.9"), "/opt/libcudnn.so.9");
    for (gsize cut = 0; cut < sizeof(data); cut++) {
        g_autofree guint8 *copy = g_malloc(sizeof(data));
        memcpy(copy, data, sizeof(data));
        g_autoptr(GHashTable) part = ct_ldcache_parse(copy, cut);
        memset(copy + MIN(cut, sizeof(data) - 4), 0xff, 4);
        g_autoptr(GHashTable) wild = ct_ldcache_parse(copy, sizeof(data));
        assert_non_null(part);
        assert_non_null(wild);
    }
}

/* ---- children that misbehave ---- */

static void hang(CtLive *live)
{
    ct_live_text(live, "/before", "cat /before", "kept\n");
    ct_live_begin(live, "/during", "cat /during");
    ct_live_write(live, "half", 4);
    signal(SIGTERM, SIG_IGN);
    if (fork() == 0) /* a child of the child, which holds the pipe too */
        for (;;)
            pause();
    for (;;)
        pause();
}

static void crash(CtLive *live)
{
    ct_live_text(live, "/before-crash", NULL, "kept\n");
    abort();
}

static void flood(CtLive *live)
{
    char block[4096];
    memset(block, 'x', sizeof(block));
    ct_live_begin(live, "/flood", NULL);
    for (int i = 0; i < 10000; i++)
        ct_live_write(live, block, sizeof(block));
}

static void fine(CtLive *live)
{
    ct_live_missing(live, "/secret", "cat /secret", CT_DENIED, "for root");
}

static void test_children_that_misbehave(void **state)
{
    static const CtCollector hangs = {.id = "hangs", .layer = "hardware", .budget_ms = 300, .run = hang};
    static const CtCollector crashes = {.id = "crashes", .layer = "hardware", .run = crash};
    static const CtCollector floods = {.id = "floods", .layer = "hardware", .run = flood};
    static const CtCollector good = {.id = "good", .layer = "hardware", .run = fine};
    static const CtCollector *const all[] = {&hangs, &crashes, &floods, &good, NULL};
    const CtLiveOptions options = {.collectors = all};
    g_autoptr(CtLiveCapture) capture = ct_live_capture(&options, NULL);
    assert_int_equal(capture->runs->len, 4);
    static const CtStatus want[] = {CT_TIMEOUT, CT_FAILED, CT_OK, CT_OK};
    for (guint i = 0; i < 4; i++) {
        const CtLiveRun *run = g_ptr_array_index(capture->runs, i);
        assert_int_equal(run->status, want[i]);
    }
    assert_true(capture->took_ms < 3000);
    guint seen = 0;
    for (guint i = 0; i < capture->sections->len; i++) {
        const CtLiveSection *s = g_ptr_array_index(capture->sections, i);
        if (strcmp(s->path, "/before") == 0) {
            assert_int_equal(s->status, CT_OK);
            assert_int_equal(s->bytes->len, 5);
        } else if (strcmp(s->path, "/during") == 0) {
            assert_int_equal(s->status, CT_TIMEOUT);
            assert_int_equal(s->bytes->len, 4);
        } else if (strcmp(s->path, "/flood") == 0) {
            assert_int_equal(s->status, CT_TRUNCATED);
            assert_int_equal(s->bytes->len, CT_LIVE_MAX_BYTES);
        } else if (strcmp(s->path, "/secret") == 0) {
            assert_int_equal(s->status, CT_DENIED);
        } else {
            continue;
        }
        seen++;
    }
    assert_int_equal(seen, 4);
}

/* The budget of all ends collectors that have time left of their own, and those not yet begun. */
static void test_total_budget(void **state)
{
    static const CtCollector hangs = {.id = "hangs", .layer = "hardware", .budget_ms = 60000,
                                      .run = hang};
    static const CtCollector *const all[] = {&hangs, &hangs, &hangs, &hangs, &hangs, &hangs, &hangs,
                                             &hangs, NULL};
    const CtLiveOptions options = {.collectors = all, .budget_ms = 400};
    g_autoptr(CtLiveCapture) capture = ct_live_capture(&options, NULL);
    assert_true(capture->took_ms < 3000);
    for (guint i = 0; i < capture->runs->len; i++) {
        const CtLiveRun *run = g_ptr_array_index(capture->runs, i);
        assert_int_equal(run->status, CT_TIMEOUT);
    }
}

int main(void)
{
#define TREE_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TREE_TEST(test_links_stay_inside),  TREE_TEST(test_only_regular_files),
        TREE_TEST(test_values),             TREE_TEST(test_glob_is_sorted),
        TREE_TEST(test_environment_of_a_tree), TREE_TEST(test_closed_nodes_of_a_tree),
        TREE_TEST(test_folders_that_the_loader_searches),
        TREE_TEST(test_capture_of_nothing), cmocka_unit_test(test_no_tree_is_an_error),
        cmocka_unit_test(test_ldcache),     cmocka_unit_test(test_children_that_misbehave),
        cmocka_unit_test(test_total_budget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
