/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A place for each correlation number. Every process counts from one, so that the numbers of
 * processes recorded together (the ranks of a job) mean something only within each of them.
 */
#include "timeline/digest-private.h"

#define MAX_SPACES 256u

static CtLinkSpace *space_of(const CtDigest *d, gint64 pid)
{
    CtLinks *l = (CtLinks *)&d->links;
    if (!l->by_process)
        pid = -1;
    for (guint i = 0; i < l->spaces->len; i++) {
        guint at = (l->last + i) % l->spaces->len;
        CtLinkSpace *s = &g_array_index(l->spaces, CtLinkSpace, at);
        if (s->pid == pid) {
            l->last = at;
            return s;
        }
    }
    return NULL;
}

void ct_digest_links_init(CtDigest *d)
{
    d->links = (CtLinks){.spaces = g_array_new(FALSE, FALSE, sizeof(CtLinkSpace)),
                         .by_process = TRUE};
}

void ct_digest_links_clear(CtDigest *d)
{
    g_clear_pointer(&d->links.spaces, g_array_unref);
}

void ct_digest_links_call(CtDigest *d, const CtTlEvent *e)
{
    CtLinkSpace *s = space_of(d, e->pid);
    if (!s && d->links.spaces->len >= MAX_SPACES) {
        d->links.by_process = TRUE;
        return;
    }
    if (!s) {
        CtLinkSpace fresh = {.pid = e->pid, .min = e->correlation, .max = e->correlation};
        g_array_append_val(d->links.spaces, fresh);
        return;
    }
    s->min = MIN(s->min, e->correlation);
    s->max = MAX(s->max, e->correlation);
}

/* Work that does not say whose it is belongs to the one numbering that there is. */
void ct_digest_links_work(CtDigest *d, const CtTlEvent *e)
{
    if (e->correlation && e->pid < 0)
        d->links.nobodys = TRUE;
}

static void unite(CtLinks *l)
{
    CtLinkSpace one = g_array_index(l->spaces, CtLinkSpace, 0);
    for (guint i = 1; i < l->spaces->len; i++) {
        one.min = MIN(one.min, g_array_index(l->spaces, CtLinkSpace, i).min);
        one.max = MAX(one.max, g_array_index(l->spaces, CtLinkSpace, i).max);
    }
    one.pid = -1;
    g_array_set_size(l->spaces, 0);
    g_array_append_val(l->spaces, one);
    l->by_process = FALSE;
    l->last = 0;
}

gsize ct_digest_links_seal(CtDigest *d)
{
    CtLinks *l = &d->links;
    gsize n = 0;
    if (!l->spaces->len)
        return 0;
    if (l->nobodys || !l->by_process)
        unite(l);
    for (guint i = 0; i < l->spaces->len; i++) {
        CtLinkSpace *s = &g_array_index(l->spaces, CtLinkSpace, i);
        s->base = n;
        if (s->max - s->min >= CT_DG_MAX_LINKS || n + (s->max - s->min) >= CT_DG_MAX_LINKS)
            return 0;
        n += s->max - s->min + 1;
    }
    return n;
}

gboolean ct_digest_links_at(const CtDigest *d, const CtTlEvent *e, gsize *out)
{
    const CtLinkSpace *s = e->correlation ? space_of(d, e->pid) : NULL;
    if (!s || e->correlation < s->min || e->correlation > s->max)
        return FALSE;
    *out = s->base + (e->correlation - s->min);
    return TRUE;
}
