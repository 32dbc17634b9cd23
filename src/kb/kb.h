/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The knowledge base: codes, compatibility tables, signatures, causes and the vocabulary, compiled
 * from knowledge/ at build time into one read-only SQLite image inside the program. `--knowledge
 * DIR` compiles a folder of the same shape at run time instead.
 */
#pragma once

#include <glib.h>
#include <sqlite3.h>

typedef struct CtKb CtKb;

/* The image inside the program; costs well under a millisecond. (transfer full) */
CtKb *ct_kb_open(GError **error);
/* Compiles and opens a folder. Errors name file, line, column and key. */
CtKb *ct_kb_open_folder(const char *folder, GError **error);
/* The same for a folder with mistakes: files that have one are left out. Every problem is put into
 * *out_problems (CtKbProblem of compile.h). NULL only when nothing at all can be had. */
CtKb *ct_kb_open_collect(const char *folder, GPtrArray **out_problems, GError **error);
void ct_kb_free(CtKb *kb);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtKb, ct_kb_free)

/* Read-only handle to the tables of kb-schema.sql. */
sqlite3 *ct_kb_db(const CtKb *kb);
/* Makes the image visible to another handle as schema `kb` (rules join compatibility tables). */
gboolean ct_kb_attach(const CtKb *kb, sqlite3 *to, GError **error);

/* ---- codes ---- */

/* Number of a name ("cudaErrorIllegalAddress", "CUDA_ERROR_ECC_UNCORRECTABLE", "CUDNN_STATUS_..."),
 * or of the text that the runtime prints for it ("an illegal memory access was encountered").
 * `table` is cuda, cudnn, cublas, nccl, nvml, trt, ...; see code.family in kb-schema.sql. */
gboolean ct_kb_code_number(const CtKb *kb, const char *family, const char *name_or_text,
                           gint64 *out_number);
/* Canonical name of a number; NULL when unknown. Borrowed for the life of the kb. */
const char *ct_kb_code_name(const CtKb *kb, const char *family, gint64 number);
