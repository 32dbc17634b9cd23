/* SPDX-License-Identifier: Apache-2.0 */
/* A record of the flight recorder: the last calls of each thread, without the work on the GPU. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "timeline/timeline-private.h"
#include "wire/read.h"

static CtTlCall call_of(guint cls)
{
    switch (cls) {
    case CTW_CLASS_LAUNCH:
    case CTW_CLASS_GRAPH_LAUNCH:
        return CT_TL_CALL_LAUNCH;
    case CTW_CLASS_COPY:
        return CT_TL_CALL_COPY;
    case CTW_CLASS_SET:
        return CT_TL_CALL_SET;
    case CTW_CLASS_ALLOC:
        return CT_TL_CALL_ALLOC;
    case CTW_CLASS_FREE:
        return CT_TL_CALL_FREE;
    case CTW_CLASS_SYNC:
        return CT_TL_CALL_SYNC;
    case CTW_CLASS_EVENT:
        return CT_TL_CALL_EVENT;
    case CTW_CLASS_MODULE:
        return CT_TL_CALL_MODULE;
    case CTW_CLASS_GRAPH:
        return CT_TL_CALL_GRAPH;
    default:
        return CT_TL_CALL_OTHER;
    }
}

static void add_entry(CtTimeline *tl, CtTlStore *store, const struct ctw_process *p,
                      const struct ctw_entry *x, guint32 thread)
{
    struct ctw_hook h;
    if (!ctw_get_hook(p, x->fn, &h) || !ct_tl_time_ok(x->t_ns))
        return;
    gint64 took = (gint64)MIN(x->c, (guint64)G_GINT64_CONSTANT(1) << 50);
    CtTlCall call = call_of(h.cls);
    if ((call != CT_TL_CALL_SYNC && call != CT_TL_CALL_COPY) || (x->flags & CTW_HOST_IN_C))
        took = 0; /* only what waits is timed */
    CtTlEvent e = {.kind = CT_TL_CALL, .call = call, .t1 = x->t_ns, .device = -1, .stream = -1,
                   .result = x->result};
    e.t0 = x->t_ns - took;
    e.name = ct_tl_names_add(&tl->names, h.name, strnlen(h.name, sizeof h.name));
    const char *kernel = x->name ? ctw_get_string(p, x->name) : NULL;
    if (kernel)
        e.shape = ct_tl_names_add(&tl->names, kernel, strlen(kernel));
    ct_tl_store_add(store, &e, thread);
}

static void add_process(CtTimeline *tl, CtTlStore *store, const struct ctw_process *p)
{
    for (guint i = 0; i < CTW_RINGS; i++) {
        struct ctw_ring ring;
        struct ctw_entry e;
        guint n = 0;
        if (!ctw_get_ring(p, i, &ring))
            continue;
        while (n < CTW_RING_ENTRIES && ctw_get_entry(p, i, n, &e))
            n++;
        guint32 thread = ct_tl_store_thread(store, p->head.pid, ring.tid);
        while (n-- > 0)
            if (ctw_get_entry(p, i, n, &e))
                add_entry(tl, store, p, &e, thread);
    }
}

static gboolean scan(CtTimeline *tl, guint kinds, CtTlVisit visit, gpointer user, GError **error)
{
    ct_tl_store_scan(tl->impl, kinds, visit, user);
    return TRUE;
}

static void record_free(gpointer impl)
{
    ct_tl_store_clear(impl);
    g_free(impl);
}

static const CtTlReader reader = {scan, record_free};

static gboolean read_bytes(CtTimeline *tl, const void *data, gsize len, GError **error)
{
    struct ctw_reader r;
    CtTlStore *store = tl->impl;
    enum ctw_problem problem = ctw_open(&r, data, len);
    if (problem != CTW_OK) {
        g_set_error(error, CT_ERROR, CT_ERROR_CORRUPT, "%s: %s", tl->path,
                    ctw_problem_text(problem));
        return FALSE;
    }
    for (guint i = 0; i < r.n_arenas; i++) {
        struct ctw_process p;
        if (ctw_process_at(&r, i, &p) != CTW_OK)
            continue;
        if (tl->wall_offset == G_MININT64)
            tl->wall_offset = (gint64)((guint64)p.head.wall_ns - (guint64)p.head.mono_ns);
        add_process(tl, store, &p);
    }
    ct_tl_store_sort(store);
    return TRUE;
}

gboolean ct_tl_open_record(CtTimeline *tl, GError **error)
{
    struct stat st;
    tl->format = "record";
    tl->producer = g_strdup("cutriage record");
    tl->present = CT_TL_BIT(CT_TL_CALL);
    tl->reader = &reader;
    tl->impl = g_new0(CtTlStore, 1);
    ct_tl_store_init(tl->impl);
    int fd = open(tl->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return ct_error_from_errno(error, errno, "opening %s", tl->path);
    void *data = fstat(fd, &st) == 0 && st.st_size > 0
                     ? mmap(NULL, (gsize)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
    int failed = errno;
    close(fd);
    if (data == MAP_FAILED)
        return ct_error_from_errno(error, failed, "mapping %s", tl->path);
    gboolean ok = read_bytes(tl, data, (gsize)st.st_size, error);
    munmap(data, (gsize)st.st_size);
    ct_tl_gap(tl, "GPU work", "the recorder sees calls, not the work on the GPU");
    ct_tl_gap(tl, "older calls", "only the last %u calls of each thread are kept",
              CTW_RING_ENTRIES);
    return ok;
}
