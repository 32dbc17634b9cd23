/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TensorRT engines and ONNX models: those that the person named, that stand on the command line of
 * the process, or that it has open. Read where they lie; only their identity is kept.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collect/live/live.h"
#include "model/model.h"

#define MAX_MODELS 64u

static gboolean is_named_like_one(const char *path)
{
    static const char *const ends[] = {".engine", ".plan", ".trt", ".onnx"};
    for (gsize i = 0; i < G_N_ELEMENTS(ends); i++)
        if (g_str_has_suffix(path, ends[i]))
            return TRUE;
    return FALSE;
}

static gboolean is_program(const guint8 *bytes, gsize len)
{
    return (len > 4 && memcmp(bytes, "\177ELF", 4) == 0) ||
           (len > 2 && memcmp(bytes, "#!", 2) == 0);
}

/* Why a file could not be opened: pipes and devices are never opened, they would block. */
static void cannot_open(CtLive *live, const char *path, int code)
{
    struct stat st;
    if (code == EACCES)
        ct_live_missing(live, path, NULL, CT_DENIED, NULL);
    else if (ct_live_stat(live, path, &st) != 0)
        ct_live_missing(live, path, NULL, CT_ABSENT, "there is no such file");
    else
        ct_live_missing(live, path, NULL, CT_UNSUPPORTED,
                        S_ISREG(st.st_mode) ? "it cannot be opened" : "it is no regular file");
}

/* `named`: by the person, who is told when it is nothing of ours. */
static void look(CtLive *live, const char *path, gboolean named)
{
    struct stat st;
    int fd = ct_live_open(live, path);
    if (fd < 0 || fstat(fd, &st) != 0) {
        cannot_open(live, path, errno);
        if (fd >= 0)
            close(fd);
        return;
    }
    if (!S_ISREG(st.st_mode)) {
        close(fd);
        ct_live_missing(live, path, NULL, CT_UNSUPPORTED, "it is no regular file");
        return;
    }
    gsize len = (gsize)st.st_size;
    /* Should the file be cut while it is read, this child dies and nothing else. */
    void *data = len ? mmap(NULL, len, PROT_READ, MAP_PRIVATE, fd, 0) : NULL;
    close(fd);
    if (data == MAP_FAILED) {
        ct_live_missing(live, path, NULL, CT_FAILED, "it cannot be mapped");
        return;
    }
    const guint8 *bytes = data ? data : (const guint8 *)"";
    if (ct_model_is(bytes, len, path)) {
        g_autofree char *text = ct_model_describe(bytes, len, len, path);
        g_autofree char *quoted = g_shell_quote(path);
        g_autofree char *command = g_strdup_printf("cutriage inspect %s", quoted);
        ct_live_text(live, path, command, text);
    } else if (named && !is_program(bytes, len)) {
        ct_live_missing(live, path, NULL, CT_UNSUPPORTED,
                        "neither an engine, an ONNX model nor a program");
    }
    if (data)
        munmap(data, len);
}

static void add(GPtrArray *list, GHashTable *seen, char *path)
{
    if (list->len < MAX_MODELS && g_hash_table_add(seen, g_strdup(path)))
        g_ptr_array_add(list, path);
    else
        g_free(path);
}

/* Words of the command line, as the process sees them: below its own root and folder. */
static void of_command_line(CtLive *live, GPtrArray *list, GHashTable *seen)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/cmdline", (int)ct_live_pid(live));
    g_autofree char *link = g_strdup_printf("/proc/%d/cwd", (int)ct_live_pid(live));
    g_autofree char *text = NULL, *folder = ct_live_link(live, link);
    gsize len = 0;
    if (ct_live_read(live, path, 256 * 1024, &text, &len) != CT_OK || !text)
        return;
    for (gsize at = 0; at < len; at += strlen(text + at) + 1) {
        const char *word = text + at, *value = strchr(word, '=');
        word = value && value[1] ? value + 1 : word;
        if (!is_named_like_one(word))
            continue;
        add(list, seen, word[0] == '/' || !folder ? g_strdup(word)
                                                  : g_build_filename(folder, word, NULL));
    }
}

static void of_open_files(CtLive *live, GPtrArray *list, GHashTable *seen)
{
    g_autofree char *folder = g_strdup_printf("/proc/%d/fd", (int)ct_live_pid(live));
    g_autoptr(GPtrArray) names = ct_live_list(live, folder, NULL);
    for (guint i = 0; i < names->len; i++) {
        g_autofree char *path = g_strdup_printf("%s/%s", folder, (char *)names->pdata[i]);
        char *target = ct_live_link(live, path);
        if (target && is_named_like_one(target))
            add(list, seen, target);
        else
            g_free(target);
    }
}

static void of_maps(CtLive *live, GPtrArray *list, GHashTable *seen)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/maps", (int)ct_live_pid(live));
    g_autofree char *text = NULL;
    gsize len = 0;
    ct_live_read(live, path, 4 * 1024 * 1024, &text, &len);
    g_auto(GStrv) rows = g_strsplit(text ? text : "", "\n", 60000);
    for (char **row = rows; *row; row++) {
        const char *file = strchr(*row, '/');
        if (file && is_named_like_one(file))
            add(list, seen, g_strdup(file));
    }
}

/* A file of a process in a container lies below that process's root. */
static void look_as_process(CtLive *live, const char *path)
{
    g_autofree char *inside = g_strdup_printf("/proc/%d/root%s", (int)ct_live_pid(live), path);
    look(live, !ct_live_sysroot(live) && ct_live_exists(live, inside) ? inside : path,
         FALSE);
}

static void run(CtLive *live)
{
    g_autoptr(GPtrArray) list = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (const char *const *path = ct_live_paths(live); *path; path++) {
        g_autofree char *full = g_canonicalize_filename(*path, NULL);
        g_hash_table_add(seen, g_strdup(full));
        look(live, full, TRUE);
    }
    if (!ct_live_pid(live))
        return;
    of_command_line(live, list, seen);
    of_open_files(live, list, seen);
    of_maps(live, list, seen);
    for (guint i = 0; i < list->len; i++)
        look_as_process(live, list->pdata[i]);
}

const CtCollector ct_collector_models = {
    .id = "models",
    .layer = "runtime",
    .title = "engines and models",
    .run = run,
};
