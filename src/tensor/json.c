/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensors within JSON: Polygraphy's results and inputs (npy in base64), trtexec's --exportOutput
 * (plain numbers). A document may have gigabytes, so one pass over the mapped text only notes where
 * the numbers lie. trtexec writes bare nan and inf, so this reads more than JSON allows.
 */
#include <string.h>

#include "tensor/reader.h"

#define MAX_DEPTH 64u
#define WINDOW ((gsize)8 << 20)

typedef struct {
    const guint8 *p; /* between the quotes, escapes as they stand */
    gsize len;
} Text;

typedef struct {
    CtTensorSet *set;
    CtBytes *bytes;
    const char *path;
    const guint8 *start, *p, *end;
    guint depth;
    Text keys[MAX_DEPTH + 1];    /* of the object at this depth; len 0 in arrays */
    gint64 index[MAX_DEPTH + 1]; /* within the array at this depth, -1 in objects */
    Text runner[MAX_DEPTH + 1];  /* a string that is the first element of an array */
    guint found;
    gboolean old_text; /* arrays as escaped latin-1 were seen */
} Scan;

static void blanks(Scan *s)
{
    while (s->p < s->end && (*s->p == ' ' || *s->p == '\n' || *s->p == '\r' || *s->p == '\t'))
        s->p++;
}

/* memchr that lets go of the pages behind it, so that a document of gigabytes does not stay. */
static const guint8 *find_quote(Scan *s)
{
    for (const guint8 *p = s->p; p < s->end;) {
        gsize n = MIN((gsize)(s->end - p), WINDOW);
        const guint8 *q = memchr(p, '"', n);
        if (q)
            return q;
        ct_bytes_drop(s->bytes, (gsize)(p - s->start), n);
        p += n;
    }
    return NULL;
}

static gboolean text(Scan *s, Text *out)
{
    const guint8 *from = ++s->p;
    for (;;) {
        const guint8 *q = find_quote(s);
        if (!q)
            return FALSE;
        gsize slashes = 0;
        while (q - slashes > from && q[-1 - (gssize)slashes] == '\\')
            slashes++;
        s->p = q + 1;
        if (slashes % 2 == 0) {
            *out = (Text){from, (gsize)(q - from)};
            return TRUE;
        }
    }
}

static gboolean is(Text t, const char *word)
{
    return t.len == strlen(word) && memcmp(t.p, word, t.len) == 0;
}

static void append_utf8(GString *out, const guint8 **p, const guint8 *end)
{
    gunichar c = 0;
    for (guint i = 0; i < 4 && *p < end && g_ascii_isxdigit(**p); i++, (*p)++)
        c = c * 16 + (gunichar)g_ascii_xdigit_value((char)**p);
    if (g_unichar_validate(c) && c != 0)
        g_string_append_unichar(out, c);
}

static char *unescape(Text t)
{
    GString *out = g_string_new(NULL);
    for (const guint8 *p = t.p, *end = t.p + MIN(t.len, (gsize)4096); p < end;) {
        if (*p != '\\' || p + 1 == end) {
            g_string_append_c(out, (char)*p++);
            continue;
        }
        guint8 c = p[1];
        p += 2;
        if (c == 'u')
            append_utf8(out, &p, end);
        else
            g_string_append_c(out, c == 'n' ? '\n' : c == 't' ? '\t' : (char)c);
    }
    char *valid = g_utf8_make_valid(out->str, (gssize)out->len);
    g_string_free(out, TRUE);
    return valid;
}

/* The nearest key above that names a tensor and not a part of Polygraphy's wrapping. */
static char *context_name(const Scan *s)
{
    for (guint d = s->depth; d > 0; d--) {
        Text k = s->keys[d];
        if (k.len == 0 || is(k, "array") || is(k, "tensor") || is(k, "arr"))
            continue;
        if (is(k, "values") && d > 1 && s->keys[d - 1].len && !is(s->keys[d - 1], "outputs"))
            continue;
        return unescape(k);
    }
    return g_strdup("tensor");
}

static char *context_group(const Scan *s)
{
    g_autofree char *runner = NULL;
    gint64 iteration = -1;
    for (guint d = 1; d <= s->depth; d++) {
        if (s->runner[d].len && !runner)
            runner = unescape(s->runner[d]);
        else if (s->index[d] >= 0)
            iteration = s->index[d];
    }
    if (!runner && iteration < 0)
        return NULL;
    if (!runner)
        return g_strdup_printf("iteration %" G_GINT64_FORMAT, iteration);
    return g_strdup_printf("%s, iteration %" G_GINT64_FORMAT, runner, MAX(iteration, 0));
}

static void add_base64(Scan *s, Text t, CtItemKind kind)
{
    g_autofree char *name = context_name(s);
    g_autofree char *place = g_strdup_printf("%s:%s", s->path, name);
    CtTensorItem *item = ct_tensor_set_add(s->set, kind, name, place);
    if (!item)
        return;
    item->bytes = ct_bytes_ref(s->bytes);
    item->offset = (gsize)(t.p - s->start);
    item->len = t.len;
    item->group = context_group(s);
    s->found++;
}

static void string_value(Scan *s, Text t)
{
    Text key = s->keys[s->depth];
    if (s->index[s->depth] == 0)
        s->runner[s->depth] = t;
    if (key.len == 0 || t.len < 12)
        return;
    if (memcmp(t.p, "k05VTVBZ", 8) == 0)
        add_base64(s, t, CT_ITEM_NPY_BASE64);
    else if (is(key, "tensor") && memcmp(t.p, "UEsDB", 5) == 0)
        add_base64(s, t, CT_ITEM_PT_BASE64);
    else if (t.len > 40 && memmem(t.p, 32, "NUMPY", 5) && memmem(t.p, 32, "\\u0093", 6))
        s->old_text = TRUE;
}

static gboolean number_start(guint8 c)
{
    return g_ascii_isdigit(c) || c == '-' || c == '+' || c == '.' || c == 'n' || c == 'N' ||
           c == 'i' || c == 'I';
}

/* An object of trtexec: its parts are kept until its end. */
typedef struct {
    Text name, dims;
    const guint8 *from, *to;
} Plain;

static gboolean plain_dims(Text t, guint *rank, gint64 *dims)
{
    g_autofree char *word = g_strndup((const char *)t.p, MIN(t.len, (gsize)512));
    *rank = 0;
    if (!*word)
        return TRUE;
    g_auto(GStrv) parts = g_strsplit(word, "x", CT_TENSOR_MAX_RANK + 1);
    for (guint i = 0; parts[i]; i++) {
        guint64 v;
        if (i >= CT_TENSOR_MAX_RANK ||
            !g_ascii_string_to_unsigned(parts[i], 10, 0, G_MAXINT64, &v, NULL))
            return FALSE;
        dims[(*rank)++] = (gint64)v;
    }
    return TRUE;
}

static void add_plain(Scan *s, const Plain *o)
{
    g_autofree char *name = unescape(o->name);
    g_autofree char *place = g_strdup_printf("%s:%s", s->path, name);
    CtTensor shape = {.dtype = CT_F32};
    if (!plain_dims(o->dims, &shape.rank, shape.dims)) {
        ct_tensor_set_broken(s->set, name, place, "its dimensions cannot be read");
        return;
    }
    CtTensorItem *item = ct_tensor_set_add(s->set, CT_ITEM_NUMBERS, name, place);
    if (!item)
        return;
    item->tensor = ct_memdup(&shape, sizeof shape);
    item->tensor->name = g_strdup(name);
    item->tensor->path = g_strdup(place);
    item->bytes = ct_bytes_ref(s->bytes);
    item->offset = (gsize)(o->from - s->start);
    item->len = (gsize)(o->to - o->from);
    item->digits = 6;
    s->found++;
}

static gboolean value(Scan *s);

static gboolean object(Scan *s)
{
    Plain plain = {0};
    s->index[s->depth] = -1;
    for (;;) {
        blanks(s);
        if (s->p < s->end && *s->p == '}')
            break;
        Text key;
        if (s->p >= s->end || *s->p != '"' || !text(s, &key))
            return FALSE;
        s->keys[s->depth] = key;
        blanks(s);
        if (s->p >= s->end || *s->p++ != ':')
            return FALSE;
        blanks(s);
        const guint8 *from = s->p;
        if (!value(s))
            return FALSE;
        Text whole = {from + 1, s->p - from >= 2 ? (gsize)(s->p - from) - 2 : 0};
        if (is(key, "name") && *from == '"')
            plain.name = whole;
        else if (is(key, "dimensions") && *from == '"')
            plain.dims = whole;
        else if (is(key, "values") && *from == '[')
            plain.from = from + 1, plain.to = s->p - 1;
        blanks(s);
        if (s->p < s->end && *s->p == ',')
            s->p++;
    }
    s->p++;
    if (plain.name.p && plain.dims.p && plain.from)
        add_plain(s, &plain);
    return TRUE;
}

static gboolean array(Scan *s)
{
    blanks(s);
    /* A list of plain numbers is passed over at the speed of memchr. */
    if (s->p < s->end && number_start(*s->p)) {
        const guint8 *close = memchr(s->p, ']', (gsize)(s->end - s->p));
        if (!close)
            return FALSE;
        s->p = close + 1;
        return TRUE;
    }
    s->keys[s->depth] = (Text){0};
    s->runner[s->depth] = (Text){0};
    for (gint64 i = 0;; i++) {
        blanks(s);
        if (s->p < s->end && *s->p == ']')
            break;
        s->index[s->depth] = i;
        if (!value(s))
            return FALSE;
        blanks(s);
        if (s->p < s->end && *s->p == ',')
            s->p++;
    }
    s->p++;
    return TRUE;
}

static gboolean value(Scan *s)
{
    blanks(s);
    if (s->p >= s->end)
        return FALSE;
    if (*s->p == '"') {
        Text t;
        if (!text(s, &t))
            return FALSE;
        string_value(s, t);
        return TRUE;
    }
    if (*s->p == '{' || *s->p == '[') {
        gboolean list = *s->p++ == '[';
        if (s->depth >= MAX_DEPTH || s->set->items->len >= CT_MAX_TENSORS)
            return FALSE;
        s->depth++;
        s->runner[s->depth] = (Text){0};
        gboolean ok = list ? array(s) : object(s);
        s->depth--;
        return ok;
    }
    const guint8 *from = s->p;
    while (s->p < s->end && !strchr(",]} \n\r\t", *s->p))
        s->p++;
    return s->p > from && s->p - from < 64;
}

gboolean ct_read_json(CtTensorSet *set, CtBytes *bytes, const char *path, GError **error)
{
    g_autofree Scan *s = g_new0(Scan, 1);
    s->set = set;
    s->bytes = bytes;
    s->path = path;
    s->start = s->p = ct_bytes_data(bytes);
    s->end = s->start + ct_bytes_len(bytes);
    s->index[0] = -1;
    gboolean whole = value(s);
    if (!whole && s->found)
        ct_tensor_set_broken(set, "(rest of the file)", path,
                             "the JSON ends or breaks at offset %zu", (gsize)(s->p - s->start));
    else if (!whole)
        return ct_tensor_bad(error, path, (guint64)(s->p - s->start), "not JSON that can be read");
    if (s->old_text)
        ct_tensor_set_broken(set, "(old arrays)", path,
                             "arrays as latin-1 text are of a Polygraphy before 0.30: save again");
    if (set->items->len == 0)
        return ct_tensor_bad(error, path, 0, "the JSON holds no tensors");
    return TRUE;
}
