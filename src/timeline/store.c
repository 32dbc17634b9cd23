/* SPDX-License-Identifier: Apache-2.0 */
/* The events of a text trace, packed: reading the text once costs more than all later scans. */
#include <string.h>

#include "timeline/timeline-private.h"

static guint thread_hash(gconstpointer p)
{
    const CtTlThread *t = p;
    guint64 h = ((guint64)t->pid * 31 + (guint64)t->tid) * G_GUINT64_CONSTANT(0x9e3779b97f4a7c15);
    return (guint)(h >> 32);
}

static gboolean thread_equal(gconstpointer a, gconstpointer b)
{
    const CtTlThread *x = a, *y = b;
    return x->pid == y->pid && x->tid == y->tid;
}

void ct_tl_store_init(CtTlStore *s)
{
    *s = (CtTlStore){0};
    for (guint i = 0; i < CT_TL_KINDS; i++)
        s->events[i] = g_array_new(FALSE, FALSE, sizeof(CtTlPacked));
    s->threads = g_array_new(FALSE, TRUE, sizeof(CtTlThread));
    s->by_thread = g_hash_table_new_full(thread_hash, thread_equal, g_free, NULL);
}

void ct_tl_store_drop(CtTlStore *s)
{
    for (guint i = 0; i < CT_TL_KINDS; i++) {
        g_array_unref(s->events[i]);
        s->events[i] = g_array_new(FALSE, FALSE, sizeof(CtTlPacked));
    }
}

void ct_tl_store_clear(CtTlStore *s)
{
    for (guint i = 0; i < CT_TL_KINDS; i++)
        g_clear_pointer(&s->events[i], g_array_unref);
    g_clear_pointer(&s->threads, g_array_unref);
    g_clear_pointer(&s->by_thread, g_hash_table_unref);
}

guint32 ct_tl_store_thread(CtTlStore *s, gint64 pid, gint64 tid)
{
    const CtTlThread *last = s->threads->len
                                 ? &g_array_index(s->threads, CtTlThread, s->last_thread) : NULL;
    if (last && last->pid == pid && last->tid == tid)
        return s->last_thread;
    CtTlThread t = {.pid = pid, .tid = tid, .device = -1, .stream = -1};
    gsize at = GPOINTER_TO_SIZE(g_hash_table_lookup(s->by_thread, &t));
    if (!at) {
        if (s->threads->len >= 65536)
            return s->last_thread; /* nobody has as many; the events stay */
        g_array_append_val(s->threads, t);
        at = s->threads->len;
        g_hash_table_insert(s->by_thread, ct_tl_dup(&t, sizeof t), GSIZE_TO_POINTER(at));
    }
    s->last_thread = (guint32)at - 1;
    return s->last_thread;
}

void ct_tl_store_add(CtTlStore *s, const CtTlEvent *e, guint32 thread)
{
    if (s->n >= CT_TL_MAX_STORED) {
        s->full = TRUE;
        return;
    }
    s->n++;
    CtTlPacked p = {.t0 = e->t0, .dur = e->t1 - e->t0, .name = e->name, .shape = e->shape,
                    .bytes = e->kind == CT_TL_CALL ? (guint64)(gint64)e->result : e->bytes,
                    .correlation = (guint32)e->correlation, .group = e->group, .thread = thread,
                    .stream = e->stream, .device = e->device};
    p.bits = (guint32)e->kind | (guint32)e->call << 4 | (guint32)e->copy << 8 |
             (guint32)e->source << 12 | (guint32)e->target << 16 | (guint32)(e->free != 0) << 20;
    g_array_append_val(s->events[e->kind], p);
}

void ct_tl_unpack(const CtTlStore *s, const CtTlPacked *p, CtTlEvent *e)
{
    const CtTlThread *t = &g_array_index(s->threads, CtTlThread, p->thread);
    *e = (CtTlEvent){.kind = p->bits & 15, .call = p->bits >> 4 & 15, .copy = p->bits >> 8 & 15,
                     .source = p->bits >> 12 & 15, .target = p->bits >> 16 & 15,
                     .free = p->bits >> 20 & 1, .t0 = p->t0, .t1 = p->t0 + p->dur,
                     .name = p->name, .shape = p->shape, .group = p->group, .device = p->device,
                     .stream = p->stream, .pid = t->pid, .tid = t->tid,
                     .correlation = p->correlation, .bytes = p->bytes};
    if (e->kind <= CT_TL_GRAPH)
        e->pid = e->tid = -1; /* lines of the viewer, not of the host */
    if (e->kind == CT_TL_CALL) {
        e->result = (gint32)(gint64)p->bytes;
        e->bytes = 0;
    }
}

/* Merges neighbouring runs that are in order: few in practice, so this is nearly one copy. */
static void merge(const CtTlPacked *from, CtTlPacked *to, gsize a, gsize b, gsize end)
{
    gsize i = a, j = b;
    for (gsize k = a; k < end; k++)
        to[k] = j >= end || (i < b && from[i].t0 <= from[j].t0) ? from[i++] : from[j++];
}

static gsize run_end(const CtTlPacked *p, gsize at, gsize n)
{
    for (at++; at < n && p[at - 1].t0 <= p[at].t0;)
        at++;
    return at;
}

static gboolean merge_pass(const CtTlPacked *from, CtTlPacked *to, gsize n)
{
    guint runs = 0;
    for (gsize a = 0; a < n; runs++) {
        gsize b = run_end(from, a, n), end = b < n ? run_end(from, b, n) : n;
        merge(from, to, a, b, end);
        a = end;
    }
    return runs > 1;
}

static void sort_kind(CtTlStore *s, GArray *a)
{
    CtTlPacked *p = (CtTlPacked *)(void *)a->data;
    gsize n = a->len;
    gint64 top = G_MININT64, worst = 0;
    for (gsize i = 0; i < n; i++) {
        if (p[i].t0 < top)
            worst = MAX(worst, top - p[i].t0);
        top = MAX(top, p[i].t0);
    }
    s->disorder = MAX(s->disorder, worst);
    if (!worst)
        return;
    CtTlPacked *spare = g_new(CtTlPacked, n), *from = p, *to = spare;
    while (merge_pass(from, to, n)) {
        CtTlPacked *swap = from;
        from = to;
        to = swap;
    }
    if (to != p)
        memcpy(p, to, n * sizeof *p);
    g_free(spare);
}

void ct_tl_store_sort(CtTlStore *s)
{
    s->disorder = 0;
    for (guint i = 0; i < CT_TL_KINDS; i++)
        sort_kind(s, s->events[i]);
}

gboolean ct_tl_store_scan(const CtTlStore *s, guint kinds, CtTlVisit visit, gpointer user)
{
    for (guint k = 0; k < CT_TL_KINDS; k++) {
        const CtTlPacked *p = (const CtTlPacked *)(const void *)s->events[k]->data;
        CtTlEvent e;
        if (!(kinds & CT_TL_BIT(k)))
            continue;
        for (guint i = 0; i < s->events[k]->len; i++) {
            ct_tl_unpack(s, &p[i], &e);
            if (!visit(&e, user))
                return FALSE;
        }
    }
    return TRUE;
}
