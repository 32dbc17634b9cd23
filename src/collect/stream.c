/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/stream.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/limits.h"
#include "collect/inflate.h"

#define MAX_LAYERS 2
#define RATIO_FROM ((guint64)64 << 20)

typedef struct {
    CtInflate *inflate;
    CtPacking packing;
    guint8 *buf; /* packed bytes that wait */
    gsize at, len;
    gboolean member_done, produced;
} Layer;

struct CtStream {
    int fd;
    CtStreamRead read; /* NULL: from fd */
    gpointer user;
    Layer layer[MAX_LAYERS]; /* [0] is next to the file */
    guint n_layers;
    guint8 *peeked;
    gsize peeked_at, peeked_len, peeked_cap;
    CtStreamState state;
    const char *note;
    char *packing;
    guint64 raw, out;
    gboolean probed, raw_end;
};

CtStream *ct_stream_new(int fd)
{
    CtStream *s = g_new0(CtStream, 1);
    s->fd = fd;
    return s;
}

CtStream *ct_stream_new_from(CtStreamRead read_func, gpointer user)
{
    CtStream *s = ct_stream_new(-1);
    s->read = read_func;
    s->user = user;
    return s;
}

void ct_stream_free(CtStream *stream)
{
    if (!stream)
        return;
    for (guint i = 0; i < stream->n_layers; i++) {
        ct_inflate_free(stream->layer[i].inflate);
        g_free(stream->layer[i].buf);
    }
    g_free(stream->peeked);
    g_free(stream->packing);
    g_free(stream);
}

static void stop(CtStream *s, CtStreamState state, const char *note)
{
    if (s->state != CT_STREAM_MORE)
        return;
    s->state = state;
    s->note = note;
}

static gsize read_raw(CtStream *s, guint8 *buf, gsize cap)
{
    while (!s->raw_end) {
        gssize n = s->read ? s->read(s->user, buf, MIN(cap, CT_BLOCK))
                           : read(s->fd, buf, MIN(cap, CT_BLOCK));
        if (n > 0) {
            s->raw += (guint64)n;
            return (gsize)n;
        }
        if (n < 0 && !s->read && errno == EINTR)
            continue;
        s->raw_end = TRUE;
        if (n < 0 && s->read)
            stop(s, CT_STREAM_TRUNCATED, "cannot be read to its end in the archive");
        else if (n < 0)
            stop(s, CT_STREAM_ERROR, g_strerror(errno));
    }
    return 0;
}

static gsize pull(CtStream *s, guint n_layers, guint8 *buf, gsize cap);

/* Several gzip, xz or zstd members may follow each other; what is no member is padding or
 * damage, and the tools ignore it with a warning. */
static gboolean next_member(Layer *l)
{
    if (ct_packing_of(l->buf + l->at, l->len) != l->packing || !ct_inflate_again(l->inflate)) {
        l->len = 0;
        return FALSE;
    }
    l->member_done = FALSE;
    return TRUE;
}

static gsize inflate_some(CtStream *s, guint index, guint8 *buf, gsize cap)
{
    Layer *l = &s->layer[index];
    guint8 *out = buf;
    gsize room = cap;
    while (room == cap && s->state == CT_STREAM_MORE) {
        if (l->len < 16) { /* enough for the next member's magic */
            memmove(l->buf, l->buf + l->at, l->len);
            l->at = 0;
            l->len += pull(s, index, l->buf + l->len, CT_BLOCK - l->len);
        }
        if (l->len == 0) {
            if (!l->member_done)
                stop(s, CT_STREAM_TRUNCATED, "the packed data ends early");
            break;
        }
        if (l->member_done && !next_member(l))
            break;
        const guint8 *in = l->buf + l->at;
        gsize before = l->len;
        CtInflateResult rc = ct_inflate_run(l->inflate, &in, &l->len, &out, &room);
        l->at += before - l->len;
        if (rc == CT_INFLATE_DAMAGED)
            stop(s, CT_STREAM_DAMAGED, "the packed data is damaged from here on");
        else if (rc == CT_INFLATE_END)
            l->member_done = TRUE;
        else if (before == l->len && room == cap && s->raw_end && before < 16)
            stop(s, CT_STREAM_TRUNCATED, "the packed data ends early");
    }
    return cap - room;
}

/* Bytes above `n_layers` layers. */
static gsize pull(CtStream *s, guint n_layers, guint8 *buf, gsize cap)
{
    return n_layers == 0 ? read_raw(s, buf, cap) : inflate_some(s, n_layers - 1, buf, cap);
}

static void fill_peek(CtStream *s, gsize want)
{
    if (s->peeked_cap < want) {
        s->peeked = g_realloc(s->peeked, want);
        s->peeked_cap = want;
    }
    while (s->peeked_len < want && s->state == CT_STREAM_MORE) {
        gsize n = pull(s, s->n_layers, s->peeked + s->peeked_len, want - s->peeked_len);
        if (n == 0)
            break;
        s->peeked_len += n;
    }
}

/* What lies at the front becomes the input of a new layer. */
static gboolean add_layer(CtStream *s, CtPacking packing)
{
    Layer *l = &s->layer[s->n_layers];
    l->inflate = ct_inflate_new(packing);
    if (!l->inflate) {
        stop(s, CT_STREAM_DAMAGED, "no library here unpacks this");
        s->peeked_len = 0;
        return FALSE;
    }
    l->packing = packing;
    l->buf = g_malloc(CT_BLOCK);
    memcpy(l->buf, s->peeked, s->peeked_len);
    l->len = s->peeked_len;
    l->at = 0;
    s->peeked_len = 0;
    s->n_layers++;
    char *name = s->packing ? g_strconcat(s->packing, "+", ct_packing_name(packing), NULL)
                            : g_strdup(ct_packing_name(packing));
    g_free(s->packing);
    s->packing = name;
    return TRUE;
}

static void probe(CtStream *s)
{
    if (s->probed)
        return;
    s->probed = TRUE;
    for (int i = 0; i < MAX_LAYERS; i++) {
        fill_peek(s, 16);
        CtPacking packing = ct_packing_of(s->peeked, s->peeked_len);
        if (packing == CT_PACK_NONE || !add_layer(s, packing))
            return;
    }
}

const guint8 *ct_stream_peek(CtStream *stream, gsize want, gsize *out_len)
{
    probe(stream);
    if (stream->peeked_at > 0) {
        memmove(stream->peeked, stream->peeked + stream->peeked_at, stream->peeked_len);
        stream->peeked_at = 0;
    }
    fill_peek(stream, want);
    *out_len = MIN(want, stream->peeked_len);
    return stream->peeked;
}

static gboolean over_limit(CtStream *s)
{
    if (s->n_layers == 0 && !s->read)
        return FALSE;
    if (s->out > CT_MAX_INFLATED)
        stop(s, CT_STREAM_TRUNCATED, "unpacks to more than 8 GiB; the rest is not read");
    else if (s->n_layers > 0 && s->out > RATIO_FROM && s->out / CT_MAX_INFLATE_RATIO > s->raw)
        stop(s, CT_STREAM_TRUNCATED,
             "unpacks to more than a thousand times its size; the rest is not read");
    return s->state != CT_STREAM_MORE;
}

gsize ct_stream_read(CtStream *stream, void *buf, gsize cap)
{
    probe(stream);
    if (stream->peeked_len > 0) {
        gsize n = MIN(cap, stream->peeked_len);
        memcpy(buf, stream->peeked + stream->peeked_at, n);
        stream->peeked_at += n;
        stream->peeked_len -= n;
        stream->out += n;
        return n;
    }
    if (stream->state != CT_STREAM_MORE || over_limit(stream))
        return 0;
    gsize n = pull(stream, stream->n_layers, buf, cap);
    stream->out += n;
    if (n == 0)
        stop(stream, CT_STREAM_END, NULL);
    return n;
}

CtStreamState ct_stream_state(const CtStream *stream)
{
    return stream->state;
}

const char *ct_stream_note(const CtStream *stream)
{
    return stream->note;
}

const char *ct_stream_packing(const CtStream *stream)
{
    return stream->packing;
}

guint64 ct_stream_raw_bytes(const CtStream *stream)
{
    return stream->raw;
}
