/* SPDX-License-Identifier: Apache-2.0 */
#include "base/proto.h"

gboolean ct_proto_varint(const guint8 **p, const guint8 *end, guint64 *out)
{
    guint64 v = 0;
    for (guint shift = 0; shift < 70 && *p < end; shift += 7) {
        guint8 b = *(*p)++;
        if (shift < 64)
            v |= (guint64)(b & 127) << shift;
        if (!(b & 128)) {
            *out = v;
            return TRUE;
        }
    }
    return FALSE;
}

gboolean ct_proto_next(CtProto *m, CtProtoField *out)
{
    if (m->p >= m->end || m->bad)
        return FALSE;
    guint64 tag;
    *out = (CtProtoField){0};
    m->bad = TRUE;
    if (!ct_proto_varint(&m->p, m->end, &tag) || tag >> 3 == 0 || tag >> 3 > 0x1fffffff)
        return FALSE;
    out->number = (guint)(tag >> 3);
    out->wire = tag & 7;
    guint64 len = 0;
    if (out->wire == 0) {
        if (!ct_proto_varint(&m->p, m->end, &out->value))
            return FALSE;
    } else if (out->wire == 1 || out->wire == 5) {
        len = out->wire == 1 ? 8 : 4;
    } else if (out->wire != 2 || !ct_proto_varint(&m->p, m->end, &len)) {
        return FALSE;
    }
    if (len > (guint64)(m->end - m->p))
        return FALSE;
    out->data = m->p;
    out->len = (gsize)len;
    m->p += len;
    m->bad = FALSE;
    return TRUE;
}

char *ct_proto_text(const CtProtoField *f)
{
    return g_utf8_make_valid((const char *)f->data, (gssize)MIN(f->len, (gsize)4096));
}
