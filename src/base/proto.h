/* SPDX-License-Identifier: Apache-2.0 */
/* Protocol buffers as they lie on the wire; no schema, no recursion. */
#pragma once

#include <glib.h>

typedef struct {
    const guint8 *p, *end;
    gboolean bad; /* cut or malformed */
} CtProto;

typedef struct {
    guint number, wire; /* 0 varint, 1 fixed64, 2 bytes, 5 fixed32 */
    guint64 value;
    const guint8 *data;
    gsize len;
} CtProtoField;

/* FALSE at the end, and at damage (then bad is set). */
gboolean ct_proto_next(CtProto *m, CtProtoField *out);
gboolean ct_proto_varint(const guint8 **p, const guint8 *end, guint64 *out);
#define CT_PROTO(field) ((CtProto){(field).data, (field).data + (field).len, FALSE})
char *ct_proto_text(const CtProtoField *f);
