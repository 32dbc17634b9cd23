/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traces in the JSON of Chrome's viewer, as a stream: PyTorch/Kineto, TensorFlow and JAX, ONNX
 * Runtime; and Triton's traces, which are told apart by their objects. The window holds one event
 * at least; an event that is cut at its end is read again when more has come.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/limits.h"
#include "timeline/chrome-private.h"

#define WINDOW ((gsize)1 << 20)
#define MAX_WINDOW ((gsize)16 << 20) /* one event or one value of the head */

typedef struct {
    CtChrome *c;
    CtStream *stream;
    guint8 *buf;
    gsize cap, len;
    CtJsonIn in;
} Source;

gboolean ct_tl_sniff_chrome(const guint8 *head, gsize len)
{
    gsize at = 0;
    if (len >= 3 && memcmp(head, "\xef\xbb\xbf", 3) == 0)
        at = 3;
    while (at < len && g_ascii_isspace(head[at]))
        at++;
    if (at >= len || (head[at] != '{' && head[at] != '['))
        return FALSE;
    const guint8 *p = head + at;
    gsize n = len - at;
    gboolean list = *p == '[';
    if (memmem(p, n, "\"traceEvents\"", 13) && memmem(p, MIN(n, 65536), "\"", 1))
        return TRUE;
    if (memmem(p, n, "\"ph\"", 4) && memmem(p, n, "\"ts\"", 4))
        return TRUE;
    if (!list && memmem(p, n, "\"schemaVersion\"", 15) &&
        (memmem(p, n, "\"deviceProperties\"", 18) || memmem(p, n, "\"cupti_version\"", 15)))
        return TRUE;
    if (!list && (memmem(p, n, "\"displayTimeUnit\"", 17) ||
                  memmem(p, n, "\"baseTimeNanoseconds\"", 21) ||
                  memmem(p, n, "\"torch_profiler_kwargs\"", 23)))
        return TRUE;
    return list && memmem(p, n, "\"timestamps\"", 12) && memmem(p, n, "\"ns\"", 4) &&
           (memmem(p, n, "REQUEST_START", 13) || memmem(p, n, "\"model_name\"", 12));
}

/* ---- the window ---- */

/* More bytes behind those not yet used; FALSE when there are none or the window is at its limit. */
static gboolean fill(Source *s)
{
    gsize used = (gsize)(s->in.p - s->buf), left = s->len - used;
    if (s->in.last)
        return FALSE;
    memmove(s->buf, s->buf + used, left);
    if (left > s->cap / 2) {
        if (s->cap >= MAX_WINDOW)
            return FALSE;
        s->cap *= 2;
        s->buf = g_realloc(s->buf, s->cap);
    }
    s->len = left;
    s->in.p = s->buf;
    while (s->len < s->cap) {
        gsize n = ct_stream_read(s->stream, s->buf + s->len, s->cap - s->len);
        if (n == 0) {
            s->in.last = TRUE;
            break;
        }
        s->len += n;
        s->c->bytes += n;
    }
    s->in.end = s->buf + s->len;
    return TRUE;
}

static gboolean blanks(Source *s)
{
    while (ct_json_blanks(&s->in) == CT_JSON_MORE)
        if (!fill(s) || s->in.p >= s->in.end)
            return FALSE;
    return TRUE;
}

/* Steps over a value of any size: one token at a time, so that it need not fit into the window. */
static gboolean skip_large(Source *s)
{
    gsize depth = 0;
    CtJsonText t;
    do {
        if (!blanks(s))
            return FALSE;
        guint8 b = *s->in.p;
        if (b == '{' || b == '[') {
            depth++;
            s->in.p++;
        } else if (b == '}' || b == ']') {
            depth -= depth > 0;
            s->in.p++;
        } else if (b == ',' || b == ':') {
            s->in.p++;
        } else {
            CtJsonIn try = s->in;
            CtJsonResult r = ct_json_scalar(&try, &t);
            if (r == CT_JSON_MORE && fill(s))
                continue;
            if (r == CT_JSON_MORE)
                return FALSE;
            s->in.p = r == CT_JSON_OK ? try.p : s->in.p + 1;
        }
    } while (depth > 0);
    return TRUE;
}

static CtJsonResult whole_value(Source *s, CtJsonText *out)
{
    for (;;) {
        CtJsonIn try = s->in;
        CtJsonResult r = ct_json_value(&try, out);
        if (r == CT_JSON_OK)
            s->in.p = try.p;
        if (r != CT_JSON_MORE || !fill(s))
            return r;
    }
}

/* ---- the head ---- */

static void device_property(CtChrome *c, CtJsonIn *in)
{
    CtJsonText key, v;
    gint64 id = -1, n, memory = 0, sms = 0;
    char name[128] = "";
    gboolean end = FALSE;
    for (in->p++; !end;) {
        if (ct_json_key(in, &key) != CT_JSON_OK || ct_json_value(in, &v) != CT_JSON_OK)
            return;
        if (CT_JSON_IS(&key, "name"))
            ct_json_plain(&v, name, sizeof name);
        else if (CT_JSON_IS(&key, "id") && ct_json_integer(&v, &n))
            id = n;
        else if (CT_JSON_IS(&key, "totalGlobalMem") && ct_json_integer(&v, &n))
            memory = n;
        else if ((CT_JSON_IS(&key, "numSms") || CT_JSON_IS(&key, "multiProcessorCount")) &&
                 ct_json_integer(&v, &n))
            sms = n;
        if (ct_json_next(in, &end) != CT_JSON_OK)
            return;
    }
    if (id < 0 || id > 1023)
        return;
    CtTlDevice *d = ct_tl_device(c->tl, id);
    g_free(d->name);
    d->name = *name ? g_utf8_make_valid(name, -1) : NULL;
    d->memory = memory;
    d->sm_count = sms;
}

static void device_properties(CtChrome *c, const CtJsonText *list)
{
    CtJsonIn in = {list->p + 1, list->p + list->n, TRUE};
    for (guint i = 0; i < 64 && ct_json_blanks(&in) == CT_JSON_OK && *in.p == '{'; i++) {
        CtJsonIn object = in;
        CtJsonText whole;
        gboolean end;
        if (ct_json_value(&in, &whole) != CT_JSON_OK)
            return;
        object.end = in.p;
        device_property(c, &object);
        if (ct_json_next(&in, &end) != CT_JSON_OK || end)
            return;
    }
}

static void head_value(CtChrome *c, const CtJsonText *key, const CtJsonText *v)
{
    gint64 n;
    if (CT_JSON_IS(key, "deviceProperties")) {
        c->flavour = CT_CHROME_KINETO;
        if (v->n && *v->p == '[')
            device_properties(c, v);
    } else if (CT_JSON_IS(key, "baseTimeNanoseconds") && ct_json_integer(v, &n)) {
        c->base_ns = n;
    } else if (CT_JSON_IS(key, "cupti_version") && ct_json_integer(v, &n)) {
        c->cupti = (guint32)n;
        c->flavour = CT_CHROME_KINETO;
    } else if (CT_JSON_IS(key, "schemaVersion") && c->flavour == CT_CHROME_PLAIN) {
        c->flavour = CT_CHROME_KINETO;
    } else if (CT_JSON_IS(key, "cuda_runtime_version") && ct_json_integer(v, &n) &&
               !c->tl->producer && n > 0) {
        c->tl->producer = g_strdup_printf("PyTorch profiler (Kineto), CUDA runtime %d.%d",
                                          (int)(n / 1000 % 1000), (int)(n % 1000 / 10));
    }
}

/* ---- the list of events ---- */

static void cut(CtChrome *c, const char *why)
{
    if (!c->cut)
        c->cut_why = g_strdup(why);
    c->cut = TRUE;
}

/* Behind an object that nobody can read: up to where the next one begins. */
static gboolean resync(Source *s)
{
    s->c->broken++;
    if (s->in.p < s->in.end)
        s->in.p++;
    for (;;) {
        const guint8 *p = memchr(s->in.p, '{', (gsize)(s->in.end - s->in.p));
        CtJsonText key;
        if (!p) {
            s->in.p = s->in.end;
            if (!fill(s) || s->in.p >= s->in.end)
                return FALSE;
            continue;
        }
        CtJsonIn try = {p + 1, s->in.end, s->in.last};
        CtJsonResult r = ct_json_key(&try, &key);
        s->in.p = p;
        if (r == CT_JSON_MORE && fill(s))
            continue;
        if (r == CT_JSON_OK && (CT_JSON_IS(&key, "ph") || CT_JSON_IS(&key, "name") ||
                                CT_JSON_IS(&key, "cat") || CT_JSON_IS(&key, "ts") ||
                                CT_JSON_IS(&key, "pid") || CT_JSON_IS(&key, "id")))
            return TRUE;
        s->in.p++;
    }
}

/* FALSE: the end of the file (or of the visitor's patience) came first. */
static gboolean events(Source *s)
{
    CtChrome *c = s->c;
    for (;;) {
        if (!blanks(s)) {
            cut(c, "the list of events has no end");
            return FALSE;
        }
        if (*s->in.p == ']') {
            s->in.p++;
            return TRUE;
        }
        if (*s->in.p == ',') {
            s->in.p++;
            continue;
        }
        CtJsonResult r = *s->in.p == '{' ? ct_chrome_event(c, &s->in) : CT_JSON_BAD;
        if (c->stopped)
            return FALSE;
        if (r == CT_JSON_OK || (r == CT_JSON_MORE && fill(s)))
            continue;
        if (s->in.last && (r == CT_JSON_MORE || (gsize)(s->in.end - s->in.p) < WINDOW)) {
            /* The last event is cut, or damaged with others behind it. */
            const guint8 *at = s->in.p;
            if (!resync(s)) {
                if (at < s->in.end)
                    cut(c, "the last event is not whole");
                return FALSE;
            }
        } else if (!resync(s)) {
            cut(c, "what stands at its end is no event");
            return FALSE;
        }
    }
}

/* The outer object, behind its brace. */
static gboolean head(Source *s)
{
    gboolean any = FALSE;
    for (;;) {
        CtJsonText key, v;
        CtJsonResult r;
        if (!blanks(s))
            return any;
        if (*s->in.p == '}') {
            s->in.p++;
            return any;
        }
        if (*s->in.p == ',') {
            s->in.p++;
            continue;
        }
        CtJsonIn try = s->in;
        r = ct_json_key(&try, &key);
        if (r == CT_JSON_MORE && fill(s))
            continue;
        if (r != CT_JSON_OK)
            return any;
        char name[64];
        ct_json_plain(&key, name, sizeof name);
        s->in.p = try.p;
        if (!blanks(s))
            return any;
        if (g_str_equal(name, "traceEvents") && *s->in.p == '[') {
            s->in.p++;
            any = TRUE;
            if (!events(s))
                return TRUE;
            continue;
        }
        r = whole_value(s, &v);
        CtJsonText k = {(const guint8 *)name, strlen(name), TRUE, FALSE};
        if (r == CT_JSON_OK)
            head_value(s->c, &k, &v);
        else if (!skip_large(s))
            return any;
    }
}

static gboolean document(Source *s)
{
    gboolean any = FALSE;
    if (fill(s) && s->len >= 3 && memcmp(s->buf, "\xef\xbb\xbf", 3) == 0)
        s->in.p += 3;
    while (!s->c->stopped && blanks(s)) {
        guint8 b = *s->in.p++;
        if (b == '[') {
            any = TRUE; /* arrays may follow each other */
            if (!events(s))
                break;
        } else if (b == '{') {
            if (!head(s))
                break;
            any = TRUE;
        } else if (!any) {
            break;
        }
    }
    if (!any)
        cut(s->c, "no list of events was found");
    return any;
}

/* ---- the reader ---- */

static gboolean read_all(CtChrome *c, GError **error)
{
    int fd = open(c->tl->path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return ct_error_from_errno(error, errno, "opening %s", c->tl->path);
    posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    Source s = {.c = c, .stream = ct_stream_new(fd), .cap = WINDOW};
    s.buf = g_malloc(s.cap);
    s.in = (CtJsonIn){s.buf, s.buf, FALSE};
    c->bytes = 0;
    document(&s);
    if (ct_stream_note(s.stream))
        cut(c, ct_stream_note(s.stream));
    g_free(s.buf);
    ct_stream_free(s.stream);
    close(fd);
    return TRUE;
}

static gboolean scan(CtTimeline *tl, guint kinds, CtTlVisit visit, gpointer user, GError **error)
{
    CtChrome *c = tl->impl;
    if (!c->store.full) {
        ct_tl_store_scan(&c->store, kinds, visit, user);
        return TRUE;
    }
    c->again = TRUE;
    c->visit = visit;
    c->user = user;
    c->kinds = kinds;
    c->stopped = FALSE;
    g_array_set_size(c->open, 0);
    g_hash_table_remove_all(c->async);
    if (c->flavour == CT_CHROME_TRITON) { /* its requests are kept */
        ct_triton_finish(c);
        return TRUE;
    }
    return read_all(c, error);
}

static void chrome_free(gpointer impl)
{
    CtChrome *c = impl;
    ct_tl_store_clear(&c->store);
    g_array_unref(c->open);
    g_hash_table_unref(c->async);
    g_hash_table_unref(c->requests);
    g_byte_array_unref(c->calls);
    g_free(c->cut_why);
    g_free(c);
}

static const CtTlReader reader = {scan, chrome_free};

gboolean ct_tl_open_chrome(CtTimeline *tl, GError **error)
{
    CtChrome *c = g_new0(CtChrome, 1);
    c->tl = tl;
    c->base_ns = c->host_ns = c->first_ns = G_MININT64;
    c->shortest_launch = G_MAXINT64;
    c->scale_num = c->scale_den = 1;
    ct_tl_store_init(&c->store);
    c->open = g_array_new(FALSE, FALSE, sizeof(CtChromeOpen));
    c->async = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
    c->requests = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, g_free);
    c->calls = g_byte_array_new();
    tl->reader = &reader;
    tl->impl = c;
    if (!read_all(c, error))
        return FALSE;
    if (c->events == 0 && c->cut && g_hash_table_size(c->requests) == 0 &&
        c->flavour == CT_CHROME_PLAIN) {
        g_set_error(error, CT_ERROR, CT_ERROR_CORRUPT, "%s: not a trace that can be read: %s",
                    tl->path, c->cut_why);
        return FALSE;
    }
    ct_triton_finish(c);
    if (c->store.full)
        ct_tl_store_drop(&c->store); /* all of them are read again */
    ct_chrome_finish(c);
    return TRUE;
}
