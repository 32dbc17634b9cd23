/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a file or a folder holds in tensors. Opening lists them; the numbers of one are fetched only
 * when it is asked for, so that memory is bound to the tensor in hand.
 */
#pragma once

#include "base/error.h"
#include "tensor/tensor.h"

typedef enum {
    CT_ITEM_READY, /* `tensor` is complete */
    CT_ITEM_NPY,   /* bytes[offset, +len) is an npy file */
    CT_ITEM_NPY_DEFLATED,
    CT_ITEM_NPY_BASE64,
    CT_ITEM_NUMBERS,   /* decimal numbers of a JSON array; `tensor` has the shape */
    CT_ITEM_PT_BASE64, /* a PyTorch archive of one tensor */
    CT_ITEM_BROKEN,    /* only `problem` */
} CtItemKind;

typedef struct {
    CtItemKind kind;
    char *name;    /* as pairing uses it */
    char *place;   /* "out.npz:logits.npy" */
    char *group;   /* runner and iteration of Polygraphy; NULL without */
    char *problem; /* why it cannot be read (nullable) */
    gint64 order;  /* number in front of the file's name, -1 without */
    guint digits;  /* significant decimal digits of the format, 0 when exact */
    CtBytes *bytes;
    gsize offset, len;
    guint64 inflated; /* bytes after inflating */
    guint32 crc;
    CtTensor *tensor;
} CtTensorItem;

typedef struct {
    gboolean has_dtype, has_shape;
    CtDtype dtype;
    guint rank;
    gint64 dims[CT_TENSOR_MAX_RANK];
} CtReadOptions;

typedef struct {
    char *path;
    const char *format; /* of the (first) file: "npz", "safetensors" ... */
    GPtrArray *items;   /* CtTensorItem, in the order of the file */
    GPtrArray *notes;   /* char *: what was passed over */
    guint n_files;
    gboolean ordered;   /* the files are numbered */
    gboolean unordered; /* several files whose order is only that of their names */
} CtTensorSet;

/* An empty set, for readers and for tensors that were made. (transfer full) */
CtTensorSet *ct_tensor_set_new(const char *path);
CtTensorSet *ct_tensor_set_open(const char *path, const CtReadOptions *options, GError **error);
/* The same of bytes in memory; `name` stands in messages and tells raw files by its ending. */
CtTensorSet *ct_tensor_set_read(CtBytes *bytes, const char *name, const CtReadOptions *options,
                                GError **error);
void ct_tensor_set_free(CtTensorSet *set);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtTensorSet, ct_tensor_set_free)
CtTensor *ct_tensor_item_load(const CtTensorItem *item, GError **error);

/* For the readers. */
CtTensorItem *ct_tensor_set_add(CtTensorSet *set, CtItemKind kind, const char *name,
                                const char *place);
void ct_tensor_set_broken(CtTensorSet *set, const char *name, const char *place, const char *format,
                          ...) G_GNUC_PRINTF(4, 5);
void ct_tensor_set_note(CtTensorSet *set, const char *format, ...) G_GNUC_PRINTF(2, 3);
#define CT_MAX_TENSORS 200000u
/* Sets *error: "FILE: offset N: ..." */
gboolean ct_tensor_bad(GError **error, const char *place, guint64 offset, const char *format, ...)
    G_GNUC_PRINTF(4, 5);

/* Header and bounds of an npy file within bytes; the tensor refers to them. */
CtTensor *ct_npy_parse(CtBytes *bytes, gsize offset, gsize len, const char *name, const char *place,
                       GError **error);
/* A tensor over a range of bytes; fails when the shape does not fit. */
CtTensor *ct_tensor_over(CtBytes *bytes, gsize offset, gsize available, CtDtype dtype, guint rank,
                         const gint64 *dims, const char *name, const char *place, GError **error);

typedef struct {
    char *name;
    gsize offset, packed; /* of the member's bytes */
    guint64 size;
    guint32 crc;
    guint method; /* 0 stored, 8 deflated */
} CtZipMember;

gboolean ct_zip_sniff(const guint8 *data, gsize len);
/* (transfer full) of CtZipMember */
GPtrArray *ct_zip_list(CtBytes *bytes, const char *place, GError **error);
CtBytes *ct_zip_inflate(CtBytes *bytes, gsize offset, gsize packed, guint64 size, guint32 crc,
                        const char *place, GError **error);

gboolean ct_read_npz(CtTensorSet *set, CtBytes *bytes, const char *path, GPtrArray *members,
                     GError **error);
gboolean ct_read_safetensors(CtTensorSet *set, CtBytes *bytes, const char *path, GError **error);
gboolean ct_read_json(CtTensorSet *set, CtBytes *bytes, const char *path, GError **error);
gboolean ct_read_pt(CtTensorSet *set, CtBytes *bytes, const char *path, GPtrArray *members,
                    GError **error);
gboolean ct_read_proto(CtTensorSet *set, CtBytes *bytes, const char *path, GError **error);
gboolean ct_read_raw(CtTensorSet *set, CtBytes *bytes, const char *path,
                     const CtReadOptions *options, GError **error);

/* Whole bytes of the base64 at bytes[offset, +len); NULL at a foreign character. Pages that were
 * read are let go. */
guint8 *ct_base64_decode(const CtBytes *bytes, gsize offset, gsize len, gsize *out_len);
/* n decimal numbers, nan and inf of a JSON array [offset, +len). */
CtTensor *ct_numbers_parse(const CtTensorItem *item, GError **error);
