/* SPDX-License-Identifier: Apache-2.0 */
/* The little of an ELF file that names a library: soname, build id, machine. Bounded reads. */
#pragma once

#include <glib.h>

typedef struct {
    char soname[128];
    char build_id[80];   /* hexadecimal, empty: none */
    const char *machine; /* x86-64, aarch64, ...; NULL: another */
} CtElfName;

/* FALSE when the file is no ELF file of 64 bits, little endian. */
gboolean ct_elf_name(int fd, CtElfName *out);

/* What a program or library asks of the loader, in its order. */
typedef struct {
    GPtrArray *needed; /* char *: sonames */
    char *runpath;     /* DT_RUNPATH, else DT_RPATH, as written (nullable) */
} CtElfNeeds;

/* Empty when the file is no such ELF file. */
void ct_elf_needs(int fd, CtElfNeeds *out);
void ct_elf_needs_clear(CtElfNeeds *needs);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(CtElfNeeds, ct_elf_needs_clear)
