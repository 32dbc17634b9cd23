/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/live/elf.h"

#include <elf.h>
#include <string.h>
#include <unistd.h>

#define MAX_HEADERS 128u
#define MAX_DYNAMIC 4096u
#define MAX_NOTES 8192u

static gboolean at(int fd, void *buf, gsize len, guint64 offset)
{
    return offset < G_MAXINT64 && pread(fd, buf, len, (off_t)offset) == (gssize)len;
}

/* Where in the file an address of the image lies. */
static gboolean to_offset(const Elf64_Phdr *ph, guint n, guint64 address, guint64 *out)
{
    for (guint i = 0; i < n; i++) {
        if (ph[i].p_type != PT_LOAD || address < ph[i].p_vaddr ||
            address - ph[i].p_vaddr >= ph[i].p_filesz)
            continue;
        *out = ph[i].p_offset + (address - ph[i].p_vaddr);
        return TRUE;
    }
    return FALSE;
}

static void dynamic(int fd, const Elf64_Phdr *ph, guint n, const Elf64_Phdr *dyn, CtElfName *out)
{
    guint64 strings = 0, name = 0, offset;
    gboolean has_name = FALSE, has_strings = FALSE;
    for (guint i = 0; i < MAX_DYNAMIC && (i + 1) * sizeof(Elf64_Dyn) <= dyn->p_filesz; i++) {
        Elf64_Dyn d;
        if (!at(fd, &d, sizeof(d), dyn->p_offset + i * sizeof(d)) || d.d_tag == DT_NULL)
            break;
        if (d.d_tag == DT_SONAME) {
            name = d.d_un.d_val;
            has_name = TRUE;
        } else if (d.d_tag == DT_STRTAB) {
            strings = d.d_un.d_ptr;
            has_strings = TRUE;
        }
    }
    if (!has_name || !has_strings || !to_offset(ph, n, strings, &offset) || name > G_MAXUINT32)
        return;
    gssize got = pread(fd, out->soname, sizeof(out->soname) - 1, (off_t)(offset + name));
    out->soname[MAX(got, 0)] = '\0';
    for (char *p = out->soname; *p; p++)
        if (!g_ascii_isgraph(*p))
            *p = '?';
}

static void notes(int fd, const Elf64_Phdr *ph, CtElfName *out)
{
    guint8 buf[MAX_NOTES];
    gsize len = MIN(ph->p_filesz, sizeof(buf)), pos = 0;
    if (!at(fd, buf, len, ph->p_offset))
        return;
    while (pos + sizeof(Elf64_Nhdr) <= len) {
        Elf64_Nhdr h;
        memcpy(&h, buf + pos, sizeof(h));
        gsize name = pos + sizeof(h), desc = name + ((gsize)h.n_namesz + 3) / 4 * 4;
        gsize next = desc + ((gsize)h.n_descsz + 3) / 4 * 4;
        if (h.n_namesz > len || h.n_descsz > len || next > len)
            return;
        if (h.n_type == NT_GNU_BUILD_ID && h.n_namesz == 4 && memcmp(buf + name, "GNU", 4) == 0) {
            for (gsize i = 0; i < MIN(h.n_descsz, 32u); i++)
                g_snprintf(out->build_id + 2 * i, 3, "%02x", buf[desc + i]);
            return;
        }
        pos = next;
    }
}

static const char *machine_name(guint machine)
{
    switch (machine) {
    case EM_X86_64:
        return "x86-64";
    case EM_AARCH64:
        return "aarch64";
    case EM_PPC64:
        return "ppc64";
    case EM_ARM:
        return "arm";
    case EM_386:
        return "i386";
    default:
        return NULL;
    }
}

gboolean ct_elf_name(int fd, CtElfName *out)
{
    Elf64_Ehdr e;
    Elf64_Phdr ph[MAX_HEADERS];
    memset(out, 0, sizeof(*out));
    if (!at(fd, &e, sizeof(e), 0) || memcmp(e.e_ident, ELFMAG, SELFMAG) != 0 ||
        e.e_ident[EI_DATA] != ELFDATA2LSB)
        return FALSE;
    out->machine = machine_name(e.e_machine);
    if (e.e_ident[EI_CLASS] != ELFCLASS64 || e.e_phentsize != sizeof(Elf64_Phdr))
        return FALSE;
    guint n = MIN((guint)e.e_phnum, MAX_HEADERS);
    if (!n || !at(fd, ph, n * sizeof(ph[0]), e.e_phoff))
        return TRUE;
    for (guint i = 0; i < n; i++) {
        if (ph[i].p_type == PT_DYNAMIC)
            dynamic(fd, ph, n, &ph[i], out);
        else if (ph[i].p_type == PT_NOTE && !out->build_id[0])
            notes(fd, &ph[i], out);
    }
    return TRUE;
}

/* ---- what it needs ---- */

#define MAX_NEEDED 256u
#define MAX_STRING 1024u

/* A string of the dynamic string table; NULL when it is not in the file. (transfer full) */
static char *string_at(int fd, guint64 offset)
{
    char buf[MAX_STRING + 1];
    gssize got = offset < G_MAXINT64 ? pread(fd, buf, MAX_STRING, (off_t)offset) : -1;
    if (got <= 0)
        return NULL;
    buf[got] = '\0';
    for (char *p = buf; *p; p++)
        if (!g_ascii_isgraph(*p) && (guchar)*p < 0x80)
            *p = '?';
    return g_utf8_make_valid(buf, -1);
}

static guint64 string_table(int fd, const Elf64_Phdr *ph, guint n, const Elf64_Phdr *dyn)
{
    guint64 offset;
    for (guint i = 0; i < MAX_DYNAMIC && (i + 1) * sizeof(Elf64_Dyn) <= dyn->p_filesz; i++) {
        Elf64_Dyn d;
        if (!at(fd, &d, sizeof(d), dyn->p_offset + i * sizeof(d)) || d.d_tag == DT_NULL)
            break;
        if (d.d_tag == DT_STRTAB && to_offset(ph, n, d.d_un.d_ptr, &offset))
            return offset;
    }
    return 0;
}

static void needs_of(int fd, const Elf64_Phdr *dyn, guint64 strings, CtElfNeeds *out)
{
    for (guint i = 0; i < MAX_DYNAMIC && (i + 1) * sizeof(Elf64_Dyn) <= dyn->p_filesz; i++) {
        Elf64_Dyn d;
        if (!at(fd, &d, sizeof(d), dyn->p_offset + i * sizeof(d)) || d.d_tag == DT_NULL)
            return;
        if (d.d_un.d_val > G_MAXUINT32)
            continue;
        if (d.d_tag == DT_NEEDED && out->needed->len < MAX_NEEDED) {
            char *name = string_at(fd, strings + d.d_un.d_val);
            if (name)
                g_ptr_array_add(out->needed, name);
        } else if (d.d_tag == DT_RUNPATH || (d.d_tag == DT_RPATH && !out->runpath)) {
            g_free(out->runpath);
            out->runpath = string_at(fd, strings + d.d_un.d_val);
        }
    }
}

void ct_elf_needs(int fd, CtElfNeeds *out)
{
    Elf64_Ehdr e;
    Elf64_Phdr ph[MAX_HEADERS];
    *out = (CtElfNeeds){.needed = g_ptr_array_new_with_free_func(g_free)};
    if (!at(fd, &e, sizeof(e), 0) || memcmp(e.e_ident, ELFMAG, SELFMAG) != 0 ||
        e.e_ident[EI_DATA] != ELFDATA2LSB || e.e_ident[EI_CLASS] != ELFCLASS64 ||
        e.e_phentsize != sizeof(Elf64_Phdr))
        return;
    guint n = MIN((guint)e.e_phnum, MAX_HEADERS);
    if (!n || !at(fd, ph, n * sizeof(ph[0]), e.e_phoff))
        return;
    for (guint i = 0; i < n; i++) {
        guint64 strings = ph[i].p_type == PT_DYNAMIC ? string_table(fd, ph, n, &ph[i]) : 0;
        if (strings)
            needs_of(fd, &ph[i], strings, out);
    }
}

void ct_elf_needs_clear(CtElfNeeds *needs)
{
    g_clear_pointer(&needs->needed, g_ptr_array_unref);
    g_clear_pointer(&needs->runpath, g_free);
}
