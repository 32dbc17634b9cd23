/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Paths of the machine or of a copied tree. In a tree, links are followed by hand so that none
 * leads out of it: an absolute target starts at the tree's top, ".." stops there.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <string.h>
#include <unistd.h>

#include "collect/live/live-private.h"

#define MAX_LINKS 40u
#define MAX_PATH 4096u
#define MAX_MATCHES 4096u

const char *ct_live_sysroot(const CtLive *live)
{
    return live->options->sysroot;
}

/* A name below the root for the *at() calls. */
static const char *below(const char *path)
{
    while (*path == '/')
        path++;
    return *path ? path : ".";
}

static void pop(GString *path)
{
    char *slash = strrchr(path->str, '/');
    g_string_truncate(path, slash ? (gsize)(slash - path->str) : 0);
}

/* Takes the first component off `rest`; FALSE when there is none. */
static gboolean next_name(GString *rest, GString *name)
{
    gsize at = 0;
    while (rest->str[at] == '/')
        at++;
    gsize end = at;
    while (rest->str[end] && rest->str[end] != '/')
        end++;
    g_string_truncate(name, 0);
    g_string_append_len(name, rest->str + at, (gssize)(end - at));
    g_string_erase(rest, 0, (gssize)end);
    return name->len > 0;
}

/* The way without links, "" for the top. The last component is followed too when `last`. */
static char *resolve(CtLive *live, const char *path, gboolean last)
{
    g_autoptr(GString) rest = g_string_new(path), done = g_string_new(NULL);
    g_autoptr(GString) name = g_string_new(NULL);
    guint links = 0;
    while (next_name(rest, name)) {
        char target[MAX_PATH];
        if (strcmp(name->str, ".") == 0)
            continue;
        if (strcmp(name->str, "..") == 0) {
            pop(done);
            continue;
        }
        gsize before = done->len;
        g_string_append_printf(done, "/%s", name->str);
        if (done->len > MAX_PATH || rest->len > 4 * MAX_PATH) {
            errno = ENAMETOOLONG;
            return NULL;
        }
        if (!last && below(rest->str)[0] == '.' && !below(rest->str)[1])
            continue;
        gssize n = readlinkat(live->root, below(done->str), target, sizeof(target) - 1);
        if (n < 0) {
            if (errno != EINVAL)
                return NULL;
            continue; /* no link */
        }
        if (++links > MAX_LINKS) {
            errno = ELOOP;
            return NULL;
        }
        target[n] = '\0';
        g_string_truncate(done, target[0] == '/' ? 0 : before);
        g_string_prepend(rest, "/");
        g_string_prepend(rest, target);
    }
    return g_strdup(done->str);
}

/* The descriptor to start from and the name below it. */
static int place(CtLive *live, const char *path, gboolean last, char **name)
{
    if (live->root < 0) {
        *name = g_strdup(path);
        return AT_FDCWD;
    }
    g_autofree char *real = resolve(live, path, last);
    if (!real)
        return -1;
    *name = g_strdup(below(real));
    return live->root;
}

static int stat_at(CtLive *live, const char *path, gboolean last, struct stat *out)
{
    g_autofree char *name = NULL;
    int at = place(live, path, last, &name);
    if (at == -1)
        return errno ? errno : ENOENT;
    int flags = last && live->root < 0 ? 0 : AT_SYMLINK_NOFOLLOW;
    return fstatat(at, name, out, flags) == 0 ? 0 : errno;
}

int ct_live_stat(CtLive *live, const char *path, struct stat *out)
{
    return stat_at(live, path, TRUE, out);
}

int ct_live_lstat(CtLive *live, const char *path, struct stat *out)
{
    return stat_at(live, path, FALSE, out);
}

gboolean ct_live_exists(CtLive *live, const char *path)
{
    struct stat st;
    return ct_live_stat(live, path, &st) == 0;
}

int ct_live_open(CtLive *live, const char *path)
{
    struct stat st;
    g_autofree char *name = NULL;
    int at = place(live, path, TRUE, &name);
    if (at == -1)
        return -1;
    int nofollow = live->root < 0 ? 0 : O_NOFOLLOW;
    /* Looked at first: merely opening some devices does things. */
    if (fstatat(at, name, &st, nofollow ? AT_SYMLINK_NOFOLLOW : 0) != 0)
        return -1;
    if (!S_ISREG(st.st_mode)) {
        errno = S_ISDIR(st.st_mode) ? EISDIR : ENOTSUP;
        return -1;
    }
    return openat(at, name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | nofollow);
}

char *ct_live_link(CtLive *live, const char *path)
{
    char target[MAX_PATH];
    g_autofree char *name = NULL;
    int at = place(live, path, FALSE, &name);
    gssize n = at == -1 ? -1 : readlinkat(at, name, target, sizeof(target) - 1);
    return n > 0 ? g_strndup(target, (gsize)n) : NULL;
}

char *ct_live_real(CtLive *live, const char *path)
{
    if (live->root < 0) {
        char *real = realpath(path, NULL);
        char *copy = g_strdup(real);
        free(real);
        return copy;
    }
    struct stat st;
    char *real = resolve(live, path, TRUE);
    if (real && fstatat(live->root, below(real), &st, AT_SYMLINK_NOFOLLOW) != 0)
        g_clear_pointer(&real, g_free);
    return real;
}

static int by_name(gconstpointer a, gconstpointer b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static CtStatus status_of_errno(int error)
{
    return error == EACCES || error == EPERM ? CT_DENIED
           : error == ENOENT || error == ENOTDIR ? CT_ABSENT
                                                 : CT_FAILED;
}

static DIR *open_folder(CtLive *live, const char *folder)
{
    g_autofree char *name = NULL;
    int at = place(live, folder, TRUE, &name);
    int fd = at == -1 ? -1 : openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir && fd >= 0)
        close(fd);
    return dir;
}

GPtrArray *ct_live_list(CtLive *live, const char *folder, CtStatus *out_status)
{
    GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
    CtStatus status = CT_OK;
    DIR *dir = open_folder(live, folder);
    struct dirent *e;
    if (!dir)
        status = status_of_errno(errno);
    while (dir && (e = readdir(dir))) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        if (names->len >= CT_LIVE_MAX_NAMES) {
            status = CT_TRUNCATED;
            break;
        }
        g_ptr_array_add(names, g_strdup(e->d_name));
    }
    if (dir)
        closedir(dir);
    g_ptr_array_sort(names, by_name);
    if (out_status)
        *out_status = status;
    return names;
}

static void match(CtLive *live, const char *done, char **parts, GPtrArray *out)
{
    if (out->len >= MAX_MATCHES)
        return;
    if (!*parts) {
        struct stat st;
        if (ct_live_lstat(live, done, &st) == 0)
            g_ptr_array_add(out, g_strdup(done));
        return;
    }
    if (!strpbrk(*parts, "*?[")) {
        g_autofree char *next = g_strconcat(done, "/", *parts, NULL);
        match(live, next, parts + 1, out);
        return;
    }
    g_autoptr(GPtrArray) names = ct_live_list(live, *done ? done : "/", NULL);
    for (guint i = 0; i < names->len; i++) {
        const char *name = g_ptr_array_index(names, i);
        if (fnmatch(*parts, name, FNM_PERIOD) != 0)
            continue;
        g_autofree char *next = g_strconcat(done, "/", name, NULL);
        match(live, next, parts + 1, out);
    }
}

GPtrArray *ct_live_glob(CtLive *live, const char *pattern)
{
    GPtrArray *out = g_ptr_array_new_with_free_func(g_free);
    g_auto(GStrv) parts = g_strsplit(below(pattern), "/", 24);
    match(live, "", parts, out);
    return out;
}
