/* SPDX-License-Identifier: Apache-2.0 */
/* One object of a chrome trace. Most of the time of reading a trace goes here. */
#include <string.h>

#include "timeline/chrome-private.h"

#define MAX_OPEN 4096u /* nested begins without an end, over all threads */

typedef struct {
    CtJsonText name, cat, pid, tid, id;
    CtJsonText dims, grid, block, provider, op, details, alloc_type;
    guint8 ph;
    gboolean has_ts, has_dur, foreign, not_finite, in_ns;
    gint64 ts, dur;
    gint64 device, stream, correlation, bytes, result;
    gint64 grid3[3], block3[3];
} Raw;

static void time_of(Raw *r, const CtJsonText *v, gboolean *has, gint64 *out)
{
    *has = ct_json_scaled(v, 3, out);
    if (*has)
        return;
    /* A date of today in ns is too large to be one in us. */
    *has = r->in_ns = ct_json_scaled(v, 0, out) && *out > G_GINT64_CONSTANT(100000000000000000);
    r->not_finite |= !*has;
}

/* ---- args ---- */

static void number(const CtJsonText *v, gint64 *out)
{
    gint64 n;
    if (ct_json_integer(v, &n))
        *out = n;
}

static void arg_by_name(Raw *r, const CtJsonText *key, const CtJsonText *v)
{
    switch (key->n) {
    case 4:
        if (CT_JSON_IS(key, "grid"))
            r->grid = *v;
        else if (CT_JSON_IS(key, "name"))
            r->details = *v;
        break;
    case 5:
        if (CT_JSON_IS(key, "block"))
            r->block = *v;
        else if (CT_JSON_IS(key, "bytes") || CT_JSON_IS(key, "Bytes"))
            number(v, &r->bytes);
        break;
    case 6:
        if (CT_JSON_IS(key, "stream"))
            number(v, &r->stream);
        else if (CT_JSON_IS(key, "device"))
            number(v, &r->device);
        else if (CT_JSON_IS(key, "grid_x") || CT_JSON_IS(key, "grid_y") ||
                 CT_JSON_IS(key, "grid_z"))
            number(v, &r->grid3[key->p[5] - 'x']);
        break;
    case 7:
        if (CT_JSON_IS(key, "op_name"))
            r->op = *v;
        else if (CT_JSON_IS(key, "block_x") || CT_JSON_IS(key, "block_y") ||
                 CT_JSON_IS(key, "block_z"))
            number(v, &r->block3[key->p[6] - 'x']);
        break;
    case 8:
        if (CT_JSON_IS(key, "provider"))
            r->provider = *v;
        break;
    case 9:
        if (CT_JSON_IS(key, "Device Id"))
            number(v, &r->device);
        break;
    case 10:
        if (CT_JSON_IS(key, "Input Dims") || CT_JSON_IS(key, "Input dims"))
            r->dims = *v;
        break;
    case 11:
        if (CT_JSON_IS(key, "correlation"))
            number(v, &r->correlation);
        else if (CT_JSON_IS(key, "returnValue") || CT_JSON_IS(key, "return code"))
            number(v, &r->result);
        else if (CT_JSON_IS(key, "Device Type"))
            r->alloc_type = *v;
        break;
    case 12:
        if (CT_JSON_IS(key, "return_value"))
            number(v, &r->result);
        break;
    case 14:
        if (CT_JSON_IS(key, "correlation_id"))
            number(v, &r->correlation);
        else if (CT_JSON_IS(key, "memcpy_details") || CT_JSON_IS(key, "kernel_details"))
            r->details = *v;
        break;
    case 16:
        if (CT_JSON_IS(key, "input_type_shape"))
            r->dims = *v;
        break;
    default:
        break;
    }
}

static CtJsonResult args(Raw *r, CtJsonIn *in)
{
    CtJsonText key, v;
    gboolean end;
    CtJsonResult res = ct_json_blanks(in);
    if (res != CT_JSON_OK || *in->p != '{')
        return res == CT_JSON_OK ? ct_json_value(in, NULL) : res;
    if ((res = ct_json_open(in, &end)) != CT_JSON_OK || end)
        return res;
    do {
        if ((res = ct_json_key(in, &key)) != CT_JSON_OK ||
            (res = ct_json_value(in, &v)) != CT_JSON_OK)
            return res;
        arg_by_name(r, &key, &v);
        if ((res = ct_json_next(in, &end)) != CT_JSON_OK)
            return res;
    } while (!end);
    return CT_JSON_OK;
}

/* ---- the object ---- */

static CtJsonResult field(Raw *r, const CtJsonText *key, CtJsonIn *in)
{
    CtJsonText v, *into = NULL;
    if (key->n == 4 && CT_JSON_IS(key, "args"))
        return args(r, in);
    CtJsonResult res = ct_json_value(in, &v);
    if (res != CT_JSON_OK)
        return res;
    switch (key->n) {
    case 2:
        if (CT_JSON_IS(key, "ph"))
            r->ph = v.n == 1 ? *v.p : 0;
        else if (CT_JSON_IS(key, "ts"))
            time_of(r, &v, &r->has_ts, &r->ts);
        else if (CT_JSON_IS(key, "id"))
            into = &r->id;
        break;
    case 3:
        if (CT_JSON_IS(key, "cat"))
            into = &r->cat;
        else if (CT_JSON_IS(key, "pid"))
            into = &r->pid;
        else if (CT_JSON_IS(key, "tid"))
            into = &r->tid;
        else if (CT_JSON_IS(key, "dur"))
            time_of(r, &v, &r->has_dur, &r->dur);
        break;
    case 4:
        if (CT_JSON_IS(key, "name"))
            into = &r->name;
        break;
    case 8:
        r->foreign |= CT_JSON_IS(key, "activity");
        break;
    case 10:
        r->foreign |= CT_JSON_IS(key, "timestamps") || CT_JSON_IS(key, "model_name");
        break;
    default:
        break;
    }
    if (into)
        *into = v;
    return CT_JSON_OK;
}

static CtJsonResult object(Raw *r, CtJsonIn *in)
{
    CtJsonText key;
    CtJsonResult res;
    gboolean end;
    if ((res = ct_json_open(in, &end)) != CT_JSON_OK || end)
        return res;
    do {
        if ((res = ct_json_key(in, &key)) != CT_JSON_OK || (res = field(r, &key, in)) != CT_JSON_OK ||
            (res = ct_json_next(in, &end)) != CT_JSON_OK)
            return res;
        /* Arrows between events carry nothing that is not in the events. */
        if (!end && (r->ph == 's' || r->ph == 'f' || r->ph == 't')) {
            if ((res = ct_json_blanks(in)) != CT_JSON_OK)
                return res;
            while (!end) {
                if ((res = ct_json_key(in, &key)) != CT_JSON_OK ||
                    (res = ct_json_value(in, NULL)) != CT_JSON_OK ||
                    (res = ct_json_next(in, &end)) != CT_JSON_OK)
                    return res;
            }
        }
    } while (!end);
    return CT_JSON_OK;
}

/* ---- meaning ---- */

static guint32 name_of(CtChrome *c, const CtJsonText *t)
{
    if (!t->escaped)
        return ct_tl_names_add(&c->tl->names, t->p, t->n);
    char text[CT_TL_MAX_NAME];
    gsize n = ct_json_plain(t, text, sizeof text);
    return ct_tl_names_add(&c->tl->names, text, n);
}

/* Process and thread ids may be words ("Spans"): such get a number of their own below zero. */
static gint64 id_of(CtChrome *c, const CtJsonText *t)
{
    gint64 n;
    if (t->n == 0)
        return -1;
    if (ct_json_scaled(t, 0, &n))
        return n;
    return -1000 - (gint64)name_of(c, t);
}

static CtTlCall call_of(CtChrome *c, guint32 name)
{
    if (name >= c->calls->len) {
        guint from = c->calls->len;
        g_byte_array_set_size(c->calls, MAX(name + 1, from * 2));
        memset(c->calls->data + from, 0, c->calls->len - from);
    }
    if (!c->calls->data[name])
        c->calls->data[name] = (guint8)(1 + ct_tl_call_of(ct_timeline_name(c->tl, name)));
    return (CtTlCall)(c->calls->data[name] - 1);
}

typedef enum { AS_NOTHING, AS_EVENT, AS_ORT } Meaning;

/* The kind of an event from its category; old Kineto wrote capitals. */
static Meaning kind_of(CtChrome *c, const Raw *r, CtTlEvent *e)
{
    const CtJsonText *t = &r->cat;
    static const struct {
        const char *cat;
        gint kind; /* -1: left out */
    } cats[] = {
        {"kernel", CT_TL_KERNEL}, {"Kernel", CT_TL_KERNEL},
        {"gpu_memcpy", CT_TL_COPY}, {"Memcpy", CT_TL_COPY},
        {"gpu_memset", CT_TL_SET}, {"Memset", CT_TL_SET},
        {"cuda_runtime", CT_TL_CALL}, {"cuda_driver", CT_TL_CALL}, {"Runtime", CT_TL_CALL},
        {"Api", CT_TL_CALL}, {"cuda_sync", CT_TL_SYNC}, {"overhead", CT_TL_NOTE},
        /* a copy of the ranges as they fell on the GPU; would be counted twice */
        {"gpu_user_annotation", -1}, {"Trace", -1}, {"cuda_event", -1},
        {"external_correlation", -1}, {"ac2g", -1},
    };
    e->kind = CT_TL_RANGE;
    for (gsize i = 0; i < G_N_ELEMENTS(cats); i++) {
        gsize n = strlen(cats[i].cat);
        if (t->n != n || memcmp(t->p, cats[i].cat, n) != 0)
            continue;
        if (cats[i].kind < 0)
            return AS_NOTHING;
        e->kind = (CtTlKind)cats[i].kind;
        if (i < 9 && c->flavour == CT_CHROME_PLAIN && i != 1 && i != 8)
            c->flavour = CT_CHROME_KINETO;
        return AS_EVENT;
    }
    if (CT_JSON_IS(t, "Node") || CT_JSON_IS(t, "Session")) {
        c->flavour = CT_CHROME_ORT;
        return AS_ORT;
    }
    return AS_EVENT;
}

static void dimensions(CtChrome *c, const Raw *r, CtTlEvent *e)
{
    char text[256];
    if (r->grid.n && r->grid.n + r->block.n + 2 < sizeof text) {
        /* As written, without blanks. */
        gsize n = 0;
        for (gsize i = 0; i < r->grid.n; i++)
            if (r->grid.p[i] > ' ')
                text[n++] = (char)r->grid.p[i];
        for (gsize i = 0; i < r->block.n; i++)
            if (r->block.p[i] > ' ')
                text[n++] = (char)r->block.p[i];
        e->shape = ct_tl_names_add(&c->tl->names, text, n);
    } else if (r->grid3[0] > 0) {
        int n = g_snprintf(text, sizeof text,
                           "[%" G_GINT64_FORMAT ",%" G_GINT64_FORMAT ",%" G_GINT64_FORMAT "][%"
                           G_GINT64_FORMAT ",%" G_GINT64_FORMAT ",%" G_GINT64_FORMAT "]",
                           r->grid3[0], r->grid3[1], r->grid3[2], r->block3[0], r->block3[1],
                           r->block3[2]);
        e->shape = ct_tl_names_add(&c->tl->names, text, (gsize)n);
    } else if (r->dims.n > 2) {
        e->shape = ct_tl_names_add(&c->tl->names, r->dims.p, MIN(r->dims.n, (gsize)512));
    }
}

/* A node of ONNX Runtime: the provider is its group, the operation stands before its shapes. */
static void ort_node(CtChrome *c, const Raw *r, CtTlEvent *e)
{
    e->group = name_of(c, r->provider.n ? &r->provider : &r->cat);
    if (!r->op.n)
        return;
    char text[600];
    gsize n = ct_json_plain(&r->op, text, 100);
    if (r->dims.n > 2) {
        gsize m = MIN(r->dims.n, (gsize)480);
        text[n++] = ' ';
        memcpy(text + n, r->dims.p, m);
        n += m;
    }
    e->shape = ct_tl_names_add(&c->tl->names, text, n);
}

/* "kind_src:pageable kind_dst:device size:1024 dest:0 async:1", of TensorFlow and JAX. */
static void copy_details(const CtJsonText *t, CtTlEvent *e)
{
    char text[256];
    ct_json_plain(t, text, sizeof text);
    const char *size = strstr(text, "size:"), *src = strstr(text, "kind_src:"),
               *dst = strstr(text, "kind_dst:");
    if (size)
        e->bytes = g_ascii_strtoull(size + 5, NULL, 10);
    e->source = src && strstr(src, "pageable") == src + 9 ? CT_TL_MEM_PAGEABLE
                : src && strstr(src, "pinned") == src + 9 ? CT_TL_MEM_PINNED : e->source;
    e->target = dst && strstr(dst, "pageable") == dst + 9 ? CT_TL_MEM_PAGEABLE
                : dst && strstr(dst, "pinned") == dst + 9 ? CT_TL_MEM_PINNED : e->target;
}

static void gpu_work(CtChrome *c, const Raw *r, CtTlEvent *e)
{
    const char *name = ct_timeline_name(c->tl, e->name);
    e->bytes = r->bytes > 0 ? (guint64)r->bytes : 0;
    if (e->kind == CT_TL_COPY)
        ct_tl_copy_of(name, e);
    if (e->stream < 0 && r->tid.n)
        e->stream = (gint32)CLAMP(id_of(c, &r->tid), -1, G_MAXINT32);
    if (e->device < 0 && r->pid.n && c->flavour == CT_CHROME_KINETO) {
        gint64 pid = id_of(c, &r->pid);
        e->device = pid >= 0 && pid < 1024 ? (gint32)pid : -1;
    }
    dimensions(c, r, e);
}

static gint32 small(gint64 v)
{
    return v < 0 || v >= G_MAXINT32 ? -1 : (gint32)v; /* 4294967295 is written for -1 */
}

static void fill(CtChrome *c, const Raw *r, CtTlEvent *e, Meaning as)
{
    e->name = name_of(c, &r->name);
    e->group = name_of(c, &r->cat);
    e->device = small(r->device);
    e->stream = small(r->stream);
    e->correlation = r->correlation > 0 ? (guint64)r->correlation : 0;
    if (as == AS_ORT) {
        ort_node(c, r, e);
        return;
    }
    switch (e->kind) {
    case CT_TL_KERNEL:
    case CT_TL_COPY:
    case CT_TL_SET:
        gpu_work(c, r, e);
        break;
    case CT_TL_CALL:
        e->call = call_of(c, e->name);
        e->result = (gint32)r->result;
        if (e->call == CT_TL_CALL_LAUNCH && e->t1 > e->t0) {
            c->launches++;
            c->shortest_launch = MIN(c->shortest_launch, e->t1 - e->t0);
        }
        break;
    default:
        dimensions(c, r, e);
        if (r->details.n > 12 && e->kind == CT_TL_RANGE)
            copy_details(&r->details, e);
        break;
    }
}

void ct_chrome_deliver(CtChrome *c, CtTlEvent *e, guint32 thread)
{
    if (c->scale_den > 1) {
        e->t1 = e->t0 / c->scale_den + (e->t1 - e->t0) / c->scale_den;
        e->t0 /= c->scale_den;
    }
    if (!c->again) {
        c->per_kind[e->kind]++;
        ct_tl_store_add(&c->store, e, thread);
        return;
    }
    ct_chrome_place(c, e, thread);
    if (c->kinds & CT_TL_BIT(e->kind) && !c->stopped) {
        const CtTlThread *t = &g_array_index(c->store.threads, CtTlThread, thread);
        e->pid = e->kind <= CT_TL_GRAPH ? -1 : t->pid;
        e->tid = e->kind <= CT_TL_GRAPH ? -1 : t->tid;
        c->stopped = !c->visit(e, c->user);
    }
}

static void metadata(CtChrome *c, const Raw *r)
{
    char text[256], *at;
    guint32 thread = ct_tl_store_thread(&c->store, id_of(c, &r->pid), id_of(c, &r->tid));
    CtTlThread *t = &g_array_index(c->store.threads, CtTlThread, thread);
    ct_json_plain(&r->details, text, sizeof text);
    if (CT_JSON_IS(&r->name, "thread_name")) {
        t->name = ct_tl_names_add(&c->tl->names, text, strlen(text));
        if (c->flavour != CT_CHROME_KINETO && (at = strstr(text, "Stream #")))
            t->stream = (gint32)g_ascii_strtoll(at + 8, NULL, 10);
    } else if (CT_JSON_IS(&r->name, "process_name")) {
        at = strstr(text, "/device:GPU:");
        at = at ? at + 12 : (at = strstr(text, "/gpu:")) ? at + 5 : NULL;
        if (at && g_ascii_isdigit(*at)) {
            /* Not within the macro: it reads the address first, and the array may move. */
            guint32 whole = ct_tl_store_thread(&c->store, id_of(c, &r->pid), G_MININT64);
            CtTlThread *all = &g_array_index(c->store.threads, CtTlThread, whole);
            all->device = (gint32)g_ascii_strtoll(at, NULL, 10);
            all->stream = strstr(text, "stream:") || strstr(text, "memcpy") ? 0 : -1;
            c->flavour = CT_CHROME_TENSORFLOW;
        }
    }
}

/* Memory taken or given back, written as an instant. */
static void memory(CtChrome *c, const Raw *r, guint32 thread)
{
    gint64 type = 1; /* c10: 0 is the CPU, 1 CUDA */
    if (!CT_JSON_IS(&r->name, "[memory]") || r->bytes == 0)
        return;
    number(&r->alloc_type, &type);
    CtTlEvent e = {.kind = CT_TL_MEMORY, .t0 = r->ts, .t1 = r->ts, .free = r->bytes < 0,
                   .bytes = r->bytes < 0 ? (guint64)-r->bytes : (guint64)r->bytes, .stream = -1,
                   .device = type == 0 ? -1 : small(r->device),
                   .source = type == 0 ? CT_TL_MEM_PAGEABLE : CT_TL_MEM_DEVICE};
    e.name = name_of(c, &r->name);
    ct_chrome_deliver(c, &e, thread);
}

static void begin(CtChrome *c, const Raw *r, guint32 thread)
{
    CtChromeOpen o = {thread, name_of(c, &r->name), name_of(c, &r->cat), r->ts};
    if (c->open->len < MAX_OPEN)
        g_array_append_val(c->open, o);
    else
        c->unfinished++;
}

/* Ends the latest begin of its thread. */
static void end(CtChrome *c, const Raw *r, guint32 thread)
{
    for (guint i = c->open->len; i-- > 0;) {
        CtChromeOpen o = g_array_index(c->open, CtChromeOpen, i);
        if (o.thread != thread)
            continue;
        CtTlEvent e = {.kind = CT_TL_RANGE, .t0 = o.t0, .t1 = MAX(r->ts, o.t0), .name = o.name,
                       .group = o.group, .stream = -1, .device = -1};
        g_array_remove_index(c->open, i);
        ct_chrome_deliver(c, &e, thread);
        return;
    }
    c->unfinished++;
}

static void asynchronous(CtChrome *c, const Raw *r, guint32 thread)
{
    gint64 key = (id_of(c, &r->id) * 31) ^ (gint64)((guint64)name_of(c, &r->name) << 32);
    CtChromeOpen *o = g_hash_table_lookup(c->async, &key);
    if (r->ph == 'b' && !o && g_hash_table_size(c->async) < MAX_OPEN) {
        CtChromeOpen fresh = {thread, name_of(c, &r->name), name_of(c, &r->cat), r->ts};
        g_hash_table_insert(c->async, ct_tl_dup(&key, sizeof key), ct_tl_dup(&fresh, sizeof fresh));
    } else if (r->ph == 'e' && o) {
        CtTlEvent e = {.kind = CT_TL_RANGE, .t0 = o->t0, .t1 = MAX(r->ts, o->t0), .name = o->name,
                       .group = o->group, .stream = -1, .device = -1};
        g_hash_table_remove(c->async, &key);
        ct_chrome_deliver(c, &e, thread);
    } else {
        c->unfinished++;
    }
}

static void complete(CtChrome *c, Raw *r, guint32 thread)
{
    CtTlEvent e = {.t0 = r->ts, .device = -1, .stream = -1};
    if (!r->has_dur || r->dur < 0) {
        c->negative += r->has_dur;
        c->without_time += !r->has_dur;
        if (!r->has_dur)
            return;
        r->dur = 0;
    }
    e.t1 = r->ts + r->dur;
    Meaning as = kind_of(c, r, &e);
    if (as == AS_NOTHING)
        return;
    fill(c, r, &e, as);
    ct_chrome_deliver(c, &e, thread);
}

static void understand(CtChrome *c, Raw *r)
{
    c->events++;
    c->not_finite += r->not_finite;
    if (r->ph == 'M') {
        metadata(c, r);
        return;
    }
    if (r->ph != 'X' && r->ph != 'B' && r->ph != 'E' && r->ph != 'i' && r->ph != 'I' &&
        r->ph != 'b' && r->ph != 'e')
        return;
    if (!r->has_ts) {
        c->without_time++;
        return;
    }
    if (!ct_tl_time_ok(r->ts) || !ct_tl_time_ok(r->dur)) {
        c->without_time++;
        return;
    }
    if (r->in_ns) {
        c->in_ns++;
        r->dur /= 1000; /* was taken for us */
    }
    if (c->first_ns == G_MININT64 || r->ts < c->first_ns)
        c->first_ns = r->ts;
    guint32 thread = ct_tl_store_thread(&c->store, id_of(c, &r->pid), id_of(c, &r->tid));
    switch (r->ph) {
    case 'X':
        complete(c, r, thread);
        break;
    case 'B':
        begin(c, r, thread);
        break;
    case 'E':
        end(c, r, thread);
        break;
    case 'b':
    case 'e':
        asynchronous(c, r, thread);
        break;
    default:
        memory(c, r, thread);
        break;
    }
}

CtJsonResult ct_chrome_event(CtChrome *c, CtJsonIn *in)
{
    Raw r = {.device = -1, .stream = -1};
    CtJsonIn at = *in;
    CtJsonResult res = object(&r, &at);
    if (res != CT_JSON_OK)
        return res;
    if (r.ph == 0 && r.foreign) {
        CtJsonText whole = {in->p, (gsize)(at.p - in->p), FALSE, FALSE};
        if (ct_triton_object(c, &whole))
            c->events++;
        else
            c->broken++;
    } else if (r.ph && r.ph != 's' && r.ph != 'f' && r.ph != 't') {
        understand(c, &r);
    }
    in->p = at.p;
    return CT_JSON_OK;
}
