/* SPDX-License-Identifier: Apache-2.0 */
/* Architectures of the GPU code in an ELF file, from files made here, also cut and hostile ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>
#include <string.h>

#include "model/model.h"

static void put(GByteArray *out, const void *data, gsize n)
{
    g_byte_array_append(out, data, (guint)n);
}

static void add_entry(GByteArray *out, guint16 kind, guint32 arch, guint64 payload)
{
    guint8 head[64] = {0};
    guint32 size = sizeof head;
    memcpy(head, &kind, 2);
    memcpy(head + 4, &size, 4);
    memcpy(head + 8, &payload, 8);
    memcpy(head + 28, &arch, 4);
    put(out, head, sizeof head);
    for (guint64 i = 0; i < payload; i++)
        put(out, "x", 1);
}

static void add_container(GByteArray *out, GByteArray *entries)
{
    struct {
        guint32 magic;
        guint16 version, header;
        guint64 size;
    } head = {0xba55ed50u, 1, 16, entries->len};
    put(out, &head, sizeof head);
    put(out, entries->data, entries->len);
    g_byte_array_unref(entries);
}

/* An ELF file of two sections: names, and `code` under `name`. */
static GByteArray *elf(const char *name, const GByteArray *code)
{
    GByteArray *out = g_byte_array_new();
    char names[64] = {0};
    g_strlcpy(names + 1, name, sizeof names - 1);
    Elf64_Ehdr eh = {.e_shentsize = sizeof(Elf64_Shdr), .e_shnum = 3, .e_shstrndx = 1};
    memcpy(eh.e_ident, ELFMAG, SELFMAG);
    eh.e_ident[EI_CLASS] = ELFCLASS64;
    eh.e_ident[EI_DATA] = ELFDATA2LSB;
    eh.e_shoff = sizeof eh + sizeof names + code->len;
    Elf64_Shdr sh[3] = {
        {0},
        {.sh_type = SHT_STRTAB, .sh_offset = sizeof eh, .sh_size = sizeof names},
        {.sh_name = 1, .sh_type = SHT_PROGBITS, .sh_offset = sizeof eh + sizeof names,
         .sh_size = code->len}};
    put(out, &eh, sizeof eh);
    put(out, names, sizeof names);
    put(out, code->data, code->len);
    put(out, sh, sizeof sh);
    return out;
}

static GByteArray *two_containers(void)
{
    GByteArray *code = g_byte_array_new(), *a = g_byte_array_new(), *b = g_byte_array_new();
    add_entry(a, 2, 86, 24);
    add_entry(a, 2, 75, 8);
    add_container(code, a);
    put(code, "\0\0\0\0\0\0\0\0", 8); /* padding */
    add_entry(b, 2, 86, 0);
    add_entry(b, 1, 90, 16);
    add_container(code, b);
    return code;
}

static void test_architectures(void **state)
{
    (void)state;
    g_autoptr(GByteArray) code = two_containers();
    g_autoptr(GByteArray) file = elf(".nv_fatbin", code);
    g_autoptr(CtFatbin) f = ct_fatbin_read(file->data, file->len);
    assert_true(f->present && !f->damaged);
    assert_int_equal(f->cubin->len, 2);
    assert_int_equal(g_array_index(f->cubin, guint32, 0), 75);
    assert_int_equal(g_array_index(f->cubin, guint32, 1), 86);
    assert_int_equal(f->ptx->len, 1);
    assert_int_equal(g_array_index(f->ptx, guint32, 0), 90);
    g_autofree char *text = ct_model_describe(file->data, file->len, file->len, "/opt/app");
    assert_non_null(strstr(text, "GPU program: /opt/app\n"));
    assert_non_null(strstr(text, "machine code: sm_75 sm_86\nptx: compute_90\n"));
    assert_true(ct_model_is(file->data, file->len, "/opt/app"));
}

static void test_without_gpu_code(void **state)
{
    (void)state;
    g_autoptr(GByteArray) code = two_containers();
    g_autoptr(GByteArray) file = elf(".text", code);
    g_autoptr(CtFatbin) f = ct_fatbin_read(file->data, file->len);
    assert_false(f->present);
    assert_false(ct_model_is(file->data, file->len, "/opt/app"));
}

/* Cut anywhere and with each byte changed: never a read beyond the end. */
static void test_hostile(void **state)
{
    (void)state;
    g_autoptr(GByteArray) code = two_containers();
    g_autoptr(GByteArray) file = elf(".nv_fatbin", code);
    for (guint n = 0; n < file->len; n++) {
        g_autofree guint8 *cut = g_malloc(MAX(n, 1));
        memcpy(cut, file->data, n);
        g_autoptr(CtFatbin) f = ct_fatbin_read(cut, n);
        assert_true(f->cubin->len <= 2);
    }
    for (guint i = 0; i < file->len; i++) {
        guint8 was = file->data[i];
        for (guint k = 0; k < 3; k++) {
            file->data[i] = (guint8[]){0, 0x7f, 0xff}[k];
            g_autoptr(CtFatbin) f = ct_fatbin_read(file->data, file->len);
            (void)f;
        }
        file->data[i] = was;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_architectures),
        cmocka_unit_test(test_without_gpu_code),
        cmocka_unit_test(test_hostile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
