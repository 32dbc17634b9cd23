/* SPDX-License-Identifier: Apache-2.0 */
#include "timeline/timeline.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "timeline/timeline-private.h"
#include "wire/read.h"

static void device_free(gpointer p)
{
    CtTlDevice *d = p;
    g_free(d->name);
    g_free(d->pci);
    g_free(d->uuid);
    g_free(d);
}

static void gap_free(gpointer p)
{
    CtTlGap *g = p;
    g_free(g->what);
    g_free(g->why);
    g_free(g->what_zh);
    g_free(g->why_zh);
    g_free(g);
}

CtTlDevice *ct_tl_device(CtTimeline *tl, gint64 device)
{
    for (guint i = 0; i < tl->devices->len; i++) {
        CtTlDevice *d = g_ptr_array_index(tl->devices, i);
        if (d->device == device)
            return d;
    }
    CtTlDevice *d = g_new0(CtTlDevice, 1);
    d->device = device;
    g_ptr_array_add(tl->devices, d);
    return d;
}

gboolean ct_timeline_sniff(const char *path, const guint8 *head, gsize len)
{
    return ct_tl_sniff_nsys(head, len) || ct_tl_sniff_chrome(head, len) || ctw_sniff(head, len);
}

static gsize read_head(const char *path, guint8 *head, gsize want, GError **error)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    gssize n = fd < 0 ? -1 : read(fd, head, want);
    if (n < 0)
        g_set_error(error, CT_ERROR, CT_ERROR_IO, "%s: %s", path, g_strerror(errno));
    if (fd >= 0)
        close(fd);
    return n < 0 ? 0 : (gsize)n;
}

CtTimeline *ct_timeline_open(const char *path, GError **error)
{
    guint8 head[16] = {0};
    GError *local = NULL;
    gsize len = read_head(path, head, sizeof head, &local);
    if (local) {
        g_propagate_error(error, local);
        return NULL;
    }
    CtTimeline *tl = g_new0(CtTimeline, 1);
    tl->path = g_strdup(path);
    tl->wall_offset = G_MININT64;
    tl->devices = g_ptr_array_new_with_free_func(device_free);
    tl->gaps = g_ptr_array_new_with_free_func(gap_free);
    ct_tl_names_init(&tl->names);
    gboolean ok = ct_tl_sniff_nsys(head, len) ? ct_tl_open_nsys(tl, error)
                  : ctw_sniff(head, len)      ? ct_tl_open_record(tl, error)
                                              : ct_tl_open_chrome(tl, error);
    if (!ok)
        g_clear_pointer(&tl, ct_timeline_free);
    return tl;
}

void ct_timeline_free(CtTimeline *tl)
{
    if (!tl)
        return;
    if (tl->impl)
        tl->reader->free(tl->impl);
    g_ptr_array_unref(tl->devices);
    g_ptr_array_unref(tl->gaps);
    ct_tl_names_clear(&tl->names);
    g_free(tl->producer);
    g_free(tl->path);
    g_free(tl);
}

gboolean ct_timeline_scan(CtTimeline *tl, guint kinds, CtTlVisit visit, gpointer user,
                          GError **error)
{
    return tl->reader->scan(tl, kinds, visit, user, error);
}

gint64 ct_timeline_disorder(const CtTimeline *tl)
{
    return tl->disorder;
}

const char *ct_timeline_name(const CtTimeline *tl, guint32 name)
{
    return name < tl->names.text->len ? g_ptr_array_index(tl->names.text, name) : "";
}

guint32 ct_timeline_names(const CtTimeline *tl)
{
    return tl->names.text->len;
}

const char *ct_timeline_format(const CtTimeline *tl)
{
    return tl->format;
}

const char *ct_timeline_producer(const CtTimeline *tl)
{
    return tl->producer;
}

gint64 ct_timeline_wall_offset(const CtTimeline *tl)
{
    return tl->wall_offset;
}

guint ct_timeline_present(const CtTimeline *tl)
{
    return tl->present;
}

const GPtrArray *ct_timeline_devices(const CtTimeline *tl)
{
    return tl->devices;
}

const GPtrArray *ct_timeline_gaps(const CtTimeline *tl)
{
    return tl->gaps;
}
