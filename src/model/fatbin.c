/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which GPU architectures a program holds code for. nvcc puts code into the ELF section .nv_fatbin:
 * containers, each a header and entries; an entry is machine code for one architecture (kind 2) or
 * PTX that the driver compiles (kind 1). Headers stand in the clear also where payloads are
 * compressed. The layout is not documented by NVIDIA; it was read off public tools and libraries.
 */
#include <elf.h>
#include <string.h>

#include "model/model.h"

#define MAGIC 0xba55ed50u
#define MAX_CONTAINERS 200000u
#define MAX_ARCHITECTURES 64u

typedef struct {
    guint32 magic;
    guint16 version, header_size;
    guint64 size; /* of the entries behind the header */
} Container;

typedef struct {
    guint16 kind, version;
    guint32 header_size;
    guint64 size; /* of the payload, padded */
    guint32 compressed, reserved;
    guint16 minor, major;
    guint32 architecture; /* 90 for sm_90 */
} Entry;

G_STATIC_ASSERT(sizeof(Container) == 16 && sizeof(Entry) == 32);

static void note(GArray *list, guint32 architecture)
{
    guint at = 0;
    if (architecture == 0 || architecture > 9999)
        return;
    for (; at < list->len && g_array_index(list, guint32, at) <= architecture; at++)
        if (g_array_index(list, guint32, at) == architecture)
            return;
    if (list->len < MAX_ARCHITECTURES)
        g_array_insert_val(list, at, architecture);
}

static void entries(CtFatbin *f, const guint8 *at, const guint8 *end)
{
    while ((gsize)(end - at) >= sizeof(Entry)) {
        Entry e;
        memcpy(&e, at, sizeof e);
        if (e.header_size < sizeof e || e.header_size > (gsize)(end - at) ||
            e.size > (guint64)(end - at) - e.header_size) {
            f->damaged = TRUE;
            return;
        }
        if (e.kind == 1)
            note(f->ptx, e.architecture);
        else if (e.kind == 2)
            note(f->cubin, e.architecture);
        at += e.header_size + e.size;
    }
}

static void containers(CtFatbin *f, const guint8 *data, gsize len)
{
    gsize at = 0;
    for (guint n = 0; n < MAX_CONTAINERS && len - at >= sizeof(Container);) {
        Container c;
        memcpy(&c, data + at, sizeof c);
        if (c.magic != MAGIC) {
            at += 8; /* padding between containers */
            continue;
        }
        if (c.header_size < sizeof c || c.header_size > len - at ||
            c.size > len - at - c.header_size) {
            f->damaged = TRUE;
            return;
        }
        entries(f, data + at + c.header_size, data + at + c.header_size + c.size);
        at += c.header_size + c.size;
        n++;
    }
}

/* The section of this name, FALSE when there is none within the file. */
static gboolean section(const guint8 *data, gsize len, const char *name, const guint8 **out,
                        gsize *out_len)
{
    Elf64_Ehdr eh;
    Elf64_Shdr strings, sh;
    if (len < sizeof eh)
        return FALSE;
    memcpy(&eh, data, sizeof eh);
    if (memcmp(eh.e_ident, ELFMAG, SELFMAG) != 0 || eh.e_ident[EI_CLASS] != ELFCLASS64 ||
        eh.e_ident[EI_DATA] != ELFDATA2LSB || eh.e_shentsize != sizeof sh || eh.e_shoff > len ||
        (guint64)eh.e_shnum * sizeof sh > len - eh.e_shoff || eh.e_shstrndx >= eh.e_shnum)
        return FALSE;
    memcpy(&strings, data + eh.e_shoff + (gsize)eh.e_shstrndx * sizeof sh, sizeof strings);
    if (strings.sh_offset > len || strings.sh_size > len - strings.sh_offset)
        return FALSE;
    for (guint i = 0; i < eh.e_shnum; i++) {
        memcpy(&sh, data + eh.e_shoff + (gsize)i * sizeof sh, sizeof sh);
        gsize room = sh.sh_name < strings.sh_size ? strings.sh_size - sh.sh_name : 0;
        if (room <= strlen(name) ||
            strncmp((const char *)data + strings.sh_offset + sh.sh_name, name, room) != 0)
            continue;
        if (sh.sh_type == SHT_NOBITS || sh.sh_offset > len || sh.sh_size > len - sh.sh_offset)
            return FALSE;
        *out = data + sh.sh_offset;
        *out_len = sh.sh_size;
        return TRUE;
    }
    return FALSE;
}

CtFatbin *ct_fatbin_read(const guint8 *data, gsize len)
{
    /* nvcc's own name, and that of relocatable device code. */
    static const char *const names[] = {".nv_fatbin", "__nv_relfatbin"};
    CtFatbin *f = g_new0(CtFatbin, 1);
    f->cubin = g_array_new(FALSE, FALSE, sizeof(guint32));
    f->ptx = g_array_new(FALSE, FALSE, sizeof(guint32));
    for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
        const guint8 *code;
        gsize n;
        if (!section(data, len, names[i], &code, &n))
            continue;
        f->present = TRUE;
        containers(f, code, n);
    }
    return f;
}

void ct_fatbin_free(CtFatbin *f)
{
    g_array_unref(f->cubin);
    g_array_unref(f->ptx);
    g_free(f);
}
