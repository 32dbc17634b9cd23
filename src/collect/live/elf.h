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
