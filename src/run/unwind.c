/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks of allocations from the slices that a record keeps, and names of what stands in them, by
 * elfutils: loaded when it is used, and done without where it is missing. An object counts only
 * when its build id is the one that was recorded.
 */
#include "run/record-read.h"

#ifdef CT_HAVE_LIBDW
#include <dlfcn.h>
#include <elfutils/libdwfl.h>
#include <string.h>

#define BUDGET_US (4 * G_USEC_PER_SEC) /* symbols of a large program may take long to read */

#define FUNCTIONS(X)                                                                               \
    X(dwfl_begin) X(dwfl_end) X(dwfl_report_begin) X(dwfl_report_end) X(dwfl_report_elf)           \
    X(dwfl_attach_state) X(dwfl_thread_state_registers) X(dwfl_thread_state_register_pc)           \
    X(dwfl_getthread_frames) X(dwfl_frame_pc) X(dwfl_addrmodule) X(dwfl_module_addrname)           \
    X(dwfl_module_getsrc) X(dwfl_lineinfo) X(dwfl_module_build_id) X(dwfl_module_getelf)           \
    X(dwfl_build_id_find_elf) X(dwfl_standard_find_debuginfo)

static struct {
#define X(name) __typeof__(&name) name;
    FUNCTIONS(X)
#undef X
    gboolean tried, there;
    char *(*demangle)(const char *, char *, size_t *, int *);
} dw;

/* One process at a time: reports go through them one after the other. */
static struct {
    const guint8 *base;
    guint32 crc; /* memory is used again: which record it was */
    Dwfl *dwfl;
    gboolean attached;
    gint64 spent_us;
    struct ctw_slice slice;
    guint64 *out;
    guint n, max;
} now;

static gboolean load(void)
{
    if (dw.tried)
        return dw.there;
    dw.tried = TRUE;
    void *lib = dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL);
    dw.there = lib != NULL;
#define X(name)                                                                                    \
    *(void **)&dw.name = lib ? dlsym(lib, #name) : NULL;                                           \
    dw.there = dw.there && dw.name;
    FUNCTIONS(X)
#undef X
    void *cxx = dw.there ? dlopen("libstdc++.so.6", RTLD_NOW | RTLD_LOCAL) : NULL;
    *(void **)&dw.demangle = cxx ? dlsym(cxx, "__cxa_demangle") : NULL;
    return dw.there;
}

static void report_modules(const struct ctw_process *p)
{
    dw.dwfl_report_begin(now.dwfl);
    for (guint i = 0; i < CTW_MODULES; i++) {
        struct ctw_module m;
        const unsigned char *id;
        GElf_Addr at;
        if (!ctw_get_module(p, i, &m))
            continue;
        const char *path = ctw_get_string(p, m.name);
        if (!path || path[0] != '/' || !g_file_test(path, G_FILE_TEST_IS_REGULAR))
            continue;
        Dwfl_Module *mod = dw.dwfl_report_elf(now.dwfl, path, path, -1, m.bias, true);
        /* Rebuilt since: its names would be wrong. */
        int n = mod && m.build_id_len ? dw.dwfl_module_build_id(mod, &id, &at) : 0;
        if (n > 0 && ((guint)n != m.build_id_len || memcmp(id, m.build_id, (gsize)n) != 0)) {
            dw.dwfl_end(now.dwfl);
            now.dwfl = NULL;
            return;
        }
    }
    dw.dwfl_report_end(now.dwfl, NULL, NULL);
}

static const Dwfl_Callbacks *callbacks(void)
{
    static char *debuginfo_path;
    static Dwfl_Callbacks c;
    c.find_elf = dw.dwfl_build_id_find_elf;
    c.find_debuginfo = dw.dwfl_standard_find_debuginfo;
    c.debuginfo_path = &debuginfo_path;
    return &c;
}

static gboolean open_process(const struct ctw_process *p)
{
    if (!load())
        return FALSE;
    if (now.base == p->base && now.crc == p->head.crc)
        return now.dwfl != NULL;
    if (now.dwfl)
        dw.dwfl_end(now.dwfl);
    now.base = p->base;
    now.crc = p->head.crc;
    now.attached = FALSE;
    now.spent_us = 0;
    now.dwfl = dw.dwfl_begin(callbacks());
    if (now.dwfl)
        report_modules(p);
    return now.dwfl != NULL;
}

/* ---- unwinding ---- */

static pid_t next_thread(Dwfl *dwfl, void *arg, void **thread_arg)
{
    gboolean first = *thread_arg == NULL;
    *thread_arg = arg;
    return first ? 1 : 0;
}

static bool get_thread(Dwfl *dwfl, pid_t tid, void *arg, void **thread_arg)
{
    *thread_arg = arg;
    return true;
}

static bool read_memory(Dwfl *dwfl, Dwarf_Addr at, Dwarf_Word *out, void *arg)
{
    const struct ctw_slice *s = &now.slice;
    if (at < s->from || at - s->from > s->len || s->len - (at - s->from) < sizeof *out)
        return false;
    memcpy(out, s->bytes + (at - s->from), sizeof *out);
    return true;
}

static bool set_registers(Dwfl_Thread *thread, void *arg)
{
    Dwarf_Word two[2] = {now.slice.fp, now.slice.cfa};
#if defined(__x86_64__)
    gboolean ok = dw.dwfl_thread_state_registers(thread, 6, 2, two);
#elif defined(__aarch64__)
    Dwarf_Word three[3] = {now.slice.fp, now.slice.pc, two[1]};
    gboolean ok = dw.dwfl_thread_state_registers(thread, 29, 3, three);
#else
    gboolean ok = FALSE;
#endif
    dw.dwfl_thread_state_register_pc(thread, now.slice.pc - 1); /* within the call */
    return ok;
}

static int on_frame(Dwfl_Frame *frame, void *arg)
{
    Dwarf_Addr pc;
    bool exact;
    if (now.n == now.max || !dw.dwfl_frame_pc(frame, &pc, &exact))
        return DWARF_CB_ABORT;
    now.out[now.n] = now.n == 0 ? now.slice.pc : pc;
    now.n++;
    return DWARF_CB_OK;
}

guint ct_record_unwind(const struct ctw_process *p, guint number, guint64 *out, guint max)
{
    static const Dwfl_Thread_Callbacks thread = {
        .next_thread = next_thread, .get_thread = get_thread, .memory_read = read_memory,
        .set_initial_registers = set_registers,
    };
    gint64 began = g_get_monotonic_time();
    if (number == 0 || !ctw_get_slice(p, number - 1, &now.slice) || !open_process(p) ||
        now.spent_us > BUDGET_US)
        return 0;
    if (!now.attached)
        now.attached = dw.dwfl_attach_state(now.dwfl, NULL, 1, &thread, &now);
    now.out = out;
    now.n = 0;
    now.max = max;
    if (now.attached)
        dw.dwfl_getthread_frames(now.dwfl, 1, on_frame, NULL);
    now.spent_us += g_get_monotonic_time() - began;
    return now.n;
}

/* ---- names ---- */

static char *pretty(const char *name)
{
    int status = -1;
    char *plain = dw.demangle && name[0] == '_' && name[1] == 'Z'
                      ? dw.demangle(name, NULL, NULL, &status) : NULL;
    char *valid = g_utf8_make_valid(status == 0 && plain ? plain : name, -1);
    char *paren = strchr(valid, '('); /* the parameters tell little and are long */
    free(plain);
    if (paren && paren != valid)
        *paren = 0;
    if (g_utf8_strlen(valid, -1) > 80)
        *g_utf8_offset_to_pointer(valid, 80) = 0;
    return valid;
}

char *ct_record_symbol(const struct ctw_process *p, guint64 return_address)
{
    gint64 began = g_get_monotonic_time();
    if (!return_address || !open_process(p) || now.spent_us > BUDGET_US)
        return NULL;
    Dwfl_Module *mod = dw.dwfl_addrmodule(now.dwfl, return_address - 1);
    const char *name = mod ? dw.dwfl_module_addrname(mod, return_address - 1) : NULL;
    Dwfl_Line *line = name ? dw.dwfl_module_getsrc(mod, return_address - 1) : NULL;
    int number = 0;
    const char *file = line ? dw.dwfl_lineinfo(line, NULL, &number, NULL, NULL, NULL) : NULL;
    now.spent_us += g_get_monotonic_time() - began;
    if (!name)
        return NULL;
    g_autofree char *plain = pretty(name);
    g_autofree char *base = file ? g_path_get_basename(file) : NULL;
    g_autofree char *valid = base ? g_utf8_make_valid(base, -1) : NULL;
    return valid ? g_strdup_printf("%s (%s:%d)", plain, valid, number) : g_steal_pointer(&plain);
}

#else

guint ct_record_unwind(const struct ctw_process *p, guint number, guint64 *out, guint max)
{
    return 0;
}

char *ct_record_symbol(const struct ctw_process *p, guint64 return_address)
{
    return NULL;
}

#endif
