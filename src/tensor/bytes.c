/* SPDX-License-Identifier: Apache-2.0 */
/* Mapped or owned bytes, and the guard against a mapped file that shrinks while it is read. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "tensor/tensor.h"

struct CtBytes {
    gint refs;
    gboolean mapped;
    guint8 *data;
    gsize len;
};

CtBytes *ct_bytes_map(const char *path, GError **error)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        ct_error_from_errno(error, errno, "opening %s", path);
        return NULL;
    }
    struct stat st;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        close(fd);
        g_set_error(error, CT_ERROR, CT_ERROR_UNSUPPORTED, "%s is not a regular file", path);
        return NULL;
    }
    void *data = NULL;
    if (st.st_size > 0) {
        data = mmap(NULL, (gsize)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (data == MAP_FAILED) {
            int err = errno;
            close(fd);
            ct_error_from_errno(error, err, "mapping %s", path);
            return NULL;
        }
        madvise(data, (gsize)st.st_size, MADV_SEQUENTIAL);
    }
    close(fd);
    CtBytes *b = g_new0(CtBytes, 1);
    *b = (CtBytes){1, data != NULL, data, (gsize)st.st_size};
    return b;
}

CtBytes *ct_bytes_take(gpointer data, gsize len)
{
    CtBytes *b = g_new0(CtBytes, 1);
    *b = (CtBytes){1, FALSE, data, len};
    return b;
}

CtBytes *ct_bytes_ref(CtBytes *b)
{
    g_atomic_int_inc(&b->refs);
    return b;
}

void ct_bytes_unref(CtBytes *b)
{
    if (!b || !g_atomic_int_dec_and_test(&b->refs))
        return;
    if (b->mapped)
        munmap(b->data, b->len);
    else
        g_free(b->data);
    g_free(b);
}

const guint8 *ct_bytes_data(const CtBytes *b)
{
    /* Nothing has an address too, so that readers may count from it. */
    return b->data ? b->data : (const guint8 *)"";
}

gsize ct_bytes_len(const CtBytes *b)
{
    return b->len;
}

void ct_bytes_drop(const CtBytes *b, gsize offset, gsize len)
{
    gsize page = (gsize)sysconf(_SC_PAGESIZE), from = offset / page * page;
    if (b->mapped && len > page)
        madvise(b->data + from, len + (offset - from), MADV_DONTNEED);
}

static sigjmp_buf guard_jump;
static volatile sig_atomic_t guarded;

static void on_sigbus(int sig)
{
    if (guarded)
        siglongjmp(guard_jump, 1);
    signal(sig, SIG_DFL);
    raise(sig);
}

gboolean ct_bytes_guard(void (*work)(gpointer data), gpointer data, GError **error)
{
    struct sigaction old, act = {.sa_handler = on_sigbus};
    volatile gboolean ok = TRUE;
    sigemptyset(&act.sa_mask);
    sigaction(SIGBUS, &act, &old);
    if (sigsetjmp(guard_jump, 1) == 0) {
        guarded = 1;
        work(data);
    } else {
        ok = FALSE;
    }
    guarded = 0;
    sigaction(SIGBUS, &old, NULL);
    if (!ok)
        g_set_error(error, CT_ERROR, CT_ERROR_IO,
                    "a file became shorter, or its disk failed, while it was read");
    return ok;
}
