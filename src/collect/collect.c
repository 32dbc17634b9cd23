/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/collect.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "collect/archive.h"
#include "collect/stream.h"
#include "wire/read.h"

#define MAX_NESTED 2u                 /* archives in archives */
#define MAX_NAMES (10 * CT_MAX_FILES) /* of a folder; the first of them in order are taken */
#define PIPE_PATIENCE_MS 500          /* before the person is told that a pipe is silent */
#define TRACE_HEAD ((gsize)32 * 1024) /* a trace may begin with pages of properties */
#define PROGRESS_EVERY ((guint64)16 << 20)

typedef struct {
    dev_t dev;
    ino_t ino;
} Identity;

typedef struct {
    CtParse *parse;
    CtEvidence *ev;
    const CtCollectHooks *hooks;
    CtCollectTotals *totals;
    guint8 *block;
    GArray *parents; /* Identity of the folders that lead here: a loop shows up in it */
    char *root;      /* the folder that the person named, without links (nullable) */
    guint64 next_progress;
    gboolean full;   /* CT_MAX_FILES reached */
    char *first_left; /* full: the first path that found no room */
    guint64 n_left;  /* full: names that were not read; folders among them count as one */
} Collect;

/* A source of which nothing can be read still is one. */
static void unread(Collect *c, const char *path, CtStatus status, const char *note)
{
    CtSourceRow row = {.path = path, .format = NULL, .status = status, .bytes = CT_NONE,
                       .lines = CT_NONE, .note = note};
    ct_evidence_add_source(c->ev, &row);
    c->totals->files++;
    c->totals->troubles += status != CT_OK;
}

static void unread_errno(Collect *c, const char *path, int error)
{
    CtStatus status = error == EACCES || error == EPERM ? CT_DENIED
                      : error == ENOENT || error == ENOTDIR ? CT_ABSENT
                                                            : CT_FAILED;
    unread(c, path, status, g_strerror(error));
}

static void progress(Collect *c, const char *path)
{
    if (!c->hooks || !c->hooks->progress || c->totals->bytes < c->next_progress)
        return;
    c->next_progress = c->totals->bytes + PROGRESS_EVERY;
    c->hooks->progress(c->totals->bytes, path, c->hooks->user);
}

static CtStatus status_of(const CtStream *s)
{
    switch (ct_stream_state(s)) {
    case CT_STREAM_TRUNCATED:
        return CT_TRUNCATED;
    case CT_STREAM_DAMAGED:
        return CT_PARTIAL;
    case CT_STREAM_ERROR:
        return CT_FAILED;
    case CT_STREAM_MORE:
    case CT_STREAM_END:
        break;
    }
    return CT_OK;
}

/* Pipes give less than a block at once; the parser sees further ahead in full ones. */
static gsize fill_block(Collect *c, CtStream *s)
{
    gsize n = 0, got;
    while (n < CT_BLOCK && (got = ct_stream_read(s, c->block + n, CT_BLOCK - n)) > 0)
        n += got;
    return n;
}

static void feed(Collect *c, const char *path, CtStream *s)
{
    g_autofree char *format = ct_stream_packing(s)
                                  ? g_strconcat(ct_stream_packing(s), "+text", NULL)
                                  : g_strdup("text");
    gsize n;
    ct_parse_begin(c->parse, path, format);
    while ((n = fill_block(c, s)) > 0) {
        ct_parse_feed(c->parse, c->block, n);
        c->totals->bytes += n;
        progress(c, path);
    }
    CtStatus status = status_of(s);
    ct_parse_end(c->parse, status, ct_stream_note(s));
    c->totals->files++;
    if (status != CT_OK)
        c->totals->troubles++;
}

static gboolean room_left(Collect *c, const char *path)
{
    if (c->totals->files < CT_MAX_FILES)
        return TRUE;
    if (!c->full) {
        c->first_left = g_strdup(path);
        c->n_left = 1;
    }
    c->full = TRUE;
    return FALSE;
}

static void tell_left(Collect *c)
{
    if (!c->full)
        return;
    g_autofree char *note = g_strdup_printf("over %u files, at least %" G_GUINT64_FORMAT
                                            " not read, this and those after it",
                                            CT_MAX_FILES, c->n_left);
    unread(c, c->first_left, CT_TRUNCATED, note);
    g_free(c->first_left);
}

static gboolean is_case(Collect *c, const char *path, CtStream *s, gboolean seekable)
{
    gsize len;
    const guint8 *head = ct_stream_peek(s, 128, &len);
    if (ct_stream_packing(s) || !ct_case_sniff(head, len))
        return FALSE;
    if (!seekable || !c->hooks || !c->hooks->on_case) {
        unread(c, path, CT_UNSUPPORTED, "a case file; give it by its name");
        return TRUE;
    }
    c->totals->cases++;
    c->hooks->on_case(path, c->hooks->user);
    return TRUE;
}

static gboolean is_record(Collect *c, const char *path, CtStream *s, gboolean seekable)
{
    gsize len;
    const guint8 *head = ct_stream_peek(s, 16, &len);
    if (!ctw_sniff(head, len))
        return FALSE;
    if (ct_stream_packing(s) || !seekable || !c->hooks || !c->hooks->on_record) {
        unread(c, path, CT_UNSUPPORTED, "a record of the flight recorder; unpack it and give it "
                                        "by its name");
        return TRUE;
    }
    c->totals->cases++;
    c->hooks->on_record(path, c->hooks->user);
    return TRUE;
}

/* What cannot be read in place is unpacked beside. (transfer full, nullable) */
static char *spill(Collect *c, const char *path, CtStream *s)
{
    g_autofree char *name = g_build_filename(g_get_tmp_dir(), "cutriage-trace-XXXXXX", NULL);
    int fd = g_mkstemp_full(name, O_RDWR | O_CLOEXEC, 0600);
    gboolean ok = fd >= 0;
    gsize n;
    while (ok && (n = fill_block(c, s)) > 0) {
        for (gsize at = 0; ok && at < n;) {
            gssize put = write(fd, c->block + at, n - at);
            ok = put > 0;
            at += ok ? (gsize)put : 0;
        }
        c->totals->bytes += n;
        progress(c, path);
    }
    int failed = errno;
    if (fd >= 0)
        close(fd);
    if (fd >= 0 && !ok)
        unlink(name);
    errno = failed;
    return ok ? g_steal_pointer(&name) : NULL;
}

static gboolean is_trace(Collect *c, const char *path, CtStream *s, int fd)
{
    gsize len;
    if (!c->hooks || !c->hooks->is_trace || !c->hooks->on_trace)
        return FALSE;
    const guint8 *head = ct_stream_peek(s, TRACE_HEAD, &len);
    CtTraceChoice choice = c->hooks->is_trace(head, len);
    if (choice == CT_TRACE_AND_TEXT && fd >= 0)
        c->hooks->on_trace(path, FALSE, path, c->hooks->user);
    if (choice != CT_TRACE_TAKE)
        return FALSE;
    gboolean text = len > 0 && head[0] < 0x80 && !memchr(head, 0, MIN(len, (gsize)64));
    c->totals->files++;
    if (fd >= 0 && (text || !ct_stream_packing(s))) {
        struct stat st; /* its reader unpacks text by itself */
        c->totals->bytes += fstat(fd, &st) == 0 ? (guint64)st.st_size : 0;
        c->hooks->on_trace(path, FALSE, path, c->hooks->user);
        return TRUE;
    }
    g_autofree char *copy = spill(c, path, s);
    if (!copy) {
        g_autofree char *why = g_strdup_printf("unpacking the trace into %s: %s",
                                               g_get_tmp_dir(), g_strerror(errno));
        unread(c, path, CT_FAILED, why);
        c->totals->files--;
        return TRUE;
    }
    c->hooks->on_trace(copy, TRUE, path, c->hooks->user);
    return TRUE;
}

typedef struct {
    Collect *c;
    const char *archive;
    guint depth, files;
    guint64 start; /* bytes read before it */
} Walk;

static void read_stream(Collect *c, const char *path, CtStream *s, int fd, guint depth);

static gboolean on_member(const char *name, CtStream *member, gpointer user)
{
    Walk *w = user;
    g_autofree char *valid = g_utf8_make_valid(name, -1);
    g_autofree char *path = g_strconcat(w->archive, ":", valid, NULL);
    if (!room_left(w->c, path))
        return FALSE;
    if (w->c->totals->bytes - w->start > CT_MAX_INFLATED) {
        unread(w->c, path, CT_TRUNCATED, "the archive unpacks to more than 8 GiB; the rest is not "
                                         "read");
        return FALSE;
    }
    w->files++;
    read_stream(w->c, path, member, -1, w->depth + 1);
    return TRUE;
}

static void end_archive(Collect *c, const char *path, CtArchiveEnd end, guint files)
{
    switch (end) {
    case CT_ARCHIVE_DONE:
        if (files == 0)
            unread(c, path, CT_OK, "an archive without files");
        break;
    case CT_ARCHIVE_TRUNCATED:
        unread(c, path, CT_TRUNCATED, "the archive ends early; what is in it before that was read");
        break;
    case CT_ARCHIVE_DAMAGED:
        unread(c, path, CT_PARTIAL, "the archive is damaged from here on");
        break;
    case CT_ARCHIVE_NO_LIBRARY:
        unread(c, path, CT_UNSUPPORTED, "a zip archive, and libzip is not installed");
        break;
    case CT_ARCHIVE_NO_TEXT:
        unread(c, path, CT_UNSUPPORTED, "a package of arrays, weights or documents, not read as "
                                        "text");
        break;
    }
}

/* fd is -1 where the bytes do not come from a file of their own. */
static gboolean read_archive(Collect *c, const char *path, CtStream *s, int fd, guint depth)
{
    gsize len;
    const guint8 *head = ct_stream_peek(s, 512, &len);
    Walk w = {c, path, depth, 0, c->totals->bytes};
    gboolean tar = ct_is_tar(head, len), zip = ct_is_zip(head, len);
    if (!tar && !zip)
        return FALSE;
    if (depth >= MAX_NESTED || (zip && (fd < 0 || ct_stream_packing(s)))) {
        unread(c, path, CT_UNSUPPORTED,
               zip ? "a zip archive is read only from a file of its own; unpack it first"
                   : "archives nested too deep, skipped");
        return TRUE;
    }
    CtArchiveEnd end = tar ? ct_tar_walk(s, on_member, &w) : ct_zip_walk(fd, on_member, &w);
    end_archive(c, path, end, w.files);
    return TRUE;
}

static void read_stream(Collect *c, const char *path, CtStream *s, int fd, guint depth)
{
    if (!is_case(c, path, s, fd >= 0) && !is_record(c, path, s, fd >= 0) &&
        !is_trace(c, path, s, fd) && !read_archive(c, path, s, fd, depth))
        feed(c, path, s);
}

static void read_fd(Collect *c, const char *path, int fd, gboolean seekable)
{
    posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    CtStream *s = ct_stream_new(fd);
    read_stream(c, path, s, seekable ? fd : -1, 0);
    ct_stream_free(s);
}

static void read_file(Collect *c, const char *path)
{
    /* O_NONBLOCK: a FIFO put where a file was must not hold us. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct stat st;
    if (fd < 0) {
        unread_errno(c, path, errno);
        return;
    }
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
        read_fd(c, path, fd, TRUE);
    else
        unread(c, path, CT_UNSUPPORTED, "no regular file, skipped");
    close(fd);
}

static void visit(Collect *c, const char *path, guint depth, gboolean named);

static int by_name(gconstpointer a, gconstpointer b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static gboolean is_telling(const char *name)
{
    static const char *const begins[] = {"dmesg", "kern", "journal", "tegrastats", "app", NULL};
    for (guint i = 0; begins[i]; i++)
        if (g_str_has_prefix(name, begins[i]))
            return TRUE;
    return strstr(name, "smi") || g_str_has_suffix(name, ".log");
}

/* Where not all can be read, the names that most likely tell something come first, those
 * that only end in .log after the rest of them. */
static int by_promise(gconstpointer a, gconstpointer b)
{
    const char *x = *(char *const *)a, *y = *(char *const *)b;
    int order = (int)is_telling(y) - (int)is_telling(x);
    if (order == 0 && is_telling(x))
        order = (int)g_str_has_suffix(x, ".log") - (int)g_str_has_suffix(y, ".log");
    return order ? order : strcmp(x, y);
}

static gboolean entered_before(const Collect *c, const struct stat *st)
{
    for (guint i = 0; i < c->parents->len; i++) {
        const Identity *id = &g_array_index(c->parents, Identity, i);
        if (id->dev == st->st_dev && id->ino == st->st_ino)
            return TRUE;
    }
    return FALSE;
}

static void visit_folder(Collect *c, const char *path, const struct stat *st, guint depth)
{
    if (depth >= CT_MAX_DEPTH) {
        unread(c, path, CT_TRUNCATED, "folders too deep, skipped");
        return;
    }
    if (entered_before(c, st)) {
        unread(c, path, CT_UNSUPPORTED, "a link back to a folder above, skipped");
        return;
    }
    DIR *dir = opendir(path);
    if (!dir) {
        unread_errno(c, path, errno);
        return;
    }
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    struct dirent *e;
    guint64 dropped = 0;
    while ((e = readdir(dir))) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        if (names->len < MAX_NAMES)
            g_ptr_array_add(names, g_strdup(e->d_name));
        else
            dropped++;
    }
    closedir(dir);
    gboolean all_fit = c->totals->files + names->len <= CT_MAX_FILES;
    g_ptr_array_sort(names, all_fit ? by_name : by_promise);
    Identity id = {st->st_dev, st->st_ino};
    g_array_append_val(c->parents, id);
    guint i = 0;
    for (; i < names->len && !c->full; i++) {
        g_autofree char *below = g_build_filename(path, g_ptr_array_index(names, i), NULL);
        visit(c, below, depth + 1, FALSE);
    }
    if (c->full)
        c->n_left += names->len - i + dropped;
    g_array_set_size(c->parents, c->parents->len - 1);
}

/* A pipe without a writer is silent for ever: the person is told, and it is waited for. */
static void read_pipe(Collect *c, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        unread_errno(c, path, errno);
        return;
    }
    struct pollfd p = {.fd = fd, .events = POLLIN};
    if (poll(&p, 1, PIPE_PATIENCE_MS) == 0 && c->hooks && c->hooks->waiting)
        c->hooks->waiting(path, c->hooks->user);
    while (poll(&p, 1, -1) < 0 && errno == EINTR)
        continue;
    int flags = fcntl(fd, F_GETFL);
    fcntl(fd, F_SETFL, flags & ~O_NONBLOCK);
    read_fd(c, path, fd, FALSE);
    close(fd);
}

/* Evidence does not name what is read: a link in a folder may come from a stranger. */
static gboolean leaves_folder(const Collect *c, const char *path)
{
    char *real = c->root ? realpath(path, NULL) : NULL;
    if (!real)
        return FALSE;
    gsize n = strlen(c->root);
    gboolean inside = strncmp(real, c->root, n) == 0 &&
                      (real[n] == '/' || real[n] == '\0' || g_str_equal(c->root, "/"));
    free(real);
    return !inside;
}

static gboolean refuse_link(Collect *c, const char *path, const struct stat *target)
{
    struct stat st;
    if (lstat(path, &st) != 0 || !S_ISLNK(st.st_mode))
        return FALSE;
    if (leaves_folder(c, path)) {
        unread(c, path, CT_UNSUPPORTED, "a link out of the folder, skipped; name it if it belongs "
                                        "to the evidence");
        return TRUE;
    }
    /* What it leads to is read where it stands. */
    return S_ISDIR(target->st_mode) && !entered_before(c, target);
}

static void visit(Collect *c, const char *path, guint depth, gboolean named)
{
    struct stat st;
    if (!room_left(c, path))
        return;
    if (stat(path, &st) != 0) {
        int error = errno;
        if (!named && lstat(path, &st) == 0 && S_ISLNK(st.st_mode))
            unread(c, path, CT_ABSENT,
                   error == ELOOP ? "a link in a circle, skipped" : "a link to nothing, skipped");
        else
            unread_errno(c, path, error);
    } else if (!named && refuse_link(c, path, &st)) {
        return;
    } else if (S_ISDIR(st.st_mode)) {
        if (named)
            c->root = realpath(path, NULL);
        visit_folder(c, path, &st, depth);
    } else if (S_ISREG(st.st_mode)) {
        read_file(c, path);
    } else if (named && S_ISFIFO(st.st_mode)) {
        /* "<(command)" of a shell: named by the person, so it is read. */
        read_pipe(c, path);
    } else {
        unread(c, path, CT_UNSUPPORTED, "no regular file, skipped");
    }
}

void ct_collect_path(CtParse *parse, CtEvidence *ev, const char *path,
                     const CtCollectHooks *hooks, CtCollectTotals *totals)
{
    CtCollectTotals own = {0};
    Collect c = {.parse = parse, .ev = ev, .hooks = hooks, .totals = totals ? totals : &own};
    c.block = g_malloc(CT_BLOCK);
    c.parents = g_array_new(FALSE, FALSE, sizeof(Identity));
    c.next_progress = c.totals->bytes + PROGRESS_EVERY;
    if (strcmp(path, "-") == 0)
        read_fd(&c, "-", STDIN_FILENO, FALSE);
    else
        visit(&c, path, 0, TRUE);
    tell_left(&c);
    free(c.root);
    g_array_unref(c.parents);
    g_free(c.block);
}
