/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unwinds copied stacks with elfutils, which is opened when it is needed. Names come from the
 * symbol tables of the files themselves; no debug information is looked for, neither on disk nor
 * on a server.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "collect/live/process-stack.h"

#ifdef CT_HAVE_DWFL
#include <elfutils/libdwfl.h>

#define SYMBOLS(X)                                                                                \
    X(dwfl_begin)                                                                                 \
    X(dwfl_end)                                                                                   \
    X(dwfl_linux_proc_report)                                                                     \
    X(dwfl_report_end)                                                                            \
    X(dwfl_attach_state)                                                                          \
    X(dwfl_getthread_frames)                                                                      \
    X(dwfl_frame_pc)                                                                              \
    X(dwfl_thread_state_registers)                                                                \
    X(dwfl_thread_state_register_pc)                                                              \
    X(dwfl_addrmodule)                                                                            \
    X(dwfl_module_addrinfo)                                                                       \
    X(dwfl_module_info)                                                                           \
    X(dwfl_errmsg)

static struct {
#define MEMBER(name) __typeof__(&name) name;
    SYMBOLS(MEMBER)
#undef MEMBER
} dw;

#define CACHED 64u
#define PAGE 4096u
#define MAX_NAMES 20000u

typedef struct {
    guint64 address; /* of a page; 0 is free */
    guint8 data[PAGE];
} Page;

struct CtUnwinder {
    pid_t pid;
    Dwfl *dwfl;
    const CtThreadSample *sample;
    CtStackFrame *out;
    guint n, most;
    Page *pages;
    GHashTable *names; /* address -> CtStackFrame */
};

static gboolean open_dw(char **out_why)
{
    static void *library;
    if (!library)
        library = dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        *out_why = g_strdup("libdw.so.1 of elfutils is not installed");
        return FALSE;
    }
#define LOOK_UP(name)                                                                             \
    if (!(*(void **)(&dw.name) = dlsym(library, #name))) {                                        \
        *out_why = g_strdup("libdw.so.1 has no " #name);                                          \
        return FALSE;                                                                             \
    }
    SYMBOLS(LOOK_UP)
#undef LOOK_UP
    return TRUE;
}

/* ---- files of the process, which may live in a container ---- */

/* The callback has no argument of ours; one unwinder is alive at a time. */
static pid_t current_pid;

static int open_regular(const char *path)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd >= 0 && (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static int find_elf(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base,
                    char **file_name, Elf **elf)
{
    char path[4200];
    if (!name || name[0] != '/')
        return -1;
    g_snprintf(path, sizeof path, "/proc/%d/root%s", (int)current_pid, name);
    int fd = open_regular(path);
    if (fd < 0) {
        g_strlcpy(path, name, sizeof path);
        fd = open_regular(path);
    }
    if (fd >= 0)
        *file_name = strdup(path);
    return fd;
}

static int no_debuginfo(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base,
                        const char *file, const char *link, GElf_Word crc, char **out)
{
    return -1;
}

/* ---- registers and memory ---- */

static pid_t next_thread(Dwfl *dwfl, void *arg, void **thread_arg)
{
    CtUnwinder *u = arg;
    if (*thread_arg)
        return 0;
    *thread_arg = u;
    return u->sample->tid;
}

static bool get_thread(Dwfl *dwfl, pid_t tid, void *arg, void **thread_arg)
{
    CtUnwinder *u = arg;
    *thread_arg = u;
    return u->sample && u->sample->tid == tid;
}

static bool set_registers(Dwfl_Thread *thread, void *thread_arg)
{
    CtUnwinder *u = thread_arg;
    Dwarf_Word reg[32];
    for (guint i = 0; i < u->sample->n_reg; i++)
        reg[i] = u->sample->reg[i];
    if (!dw.dwfl_thread_state_registers(thread, 0, u->sample->n_reg, reg))
        return false;
    dw.dwfl_thread_state_register_pc(thread, u->sample->pc);
    return true;
}

static gboolean live_word(CtUnwinder *u, guint64 address, guint64 *out)
{
    guint64 at = address & ~(guint64)(PAGE - 1);
    gsize offset = (gsize)(address - at);
    if (offset > PAGE - sizeof *out) {
        struct iovec to = {out, sizeof *out}, from = {(void *)(uintptr_t)address, sizeof *out};
        return process_vm_readv(u->pid, &to, 1, &from, 1, 0) == (gssize)sizeof *out;
    }
    Page *page = &u->pages[at / PAGE % CACHED];
    if (page->address != at || !at) {
        struct iovec to = {page->data, PAGE}, from = {(void *)(uintptr_t)at, PAGE};
        page->address = 0;
        if (process_vm_readv(u->pid, &to, 1, &from, 1, 0) != (gssize)PAGE)
            return FALSE;
        page->address = at;
    }
    memcpy(out, page->data + offset, sizeof *out);
    return TRUE;
}

static bool memory_read(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *result, void *arg)
{
    CtUnwinder *u = arg;
    const CtThreadSample *s = u->sample;
    guint64 word;
    if (s->slice && address >= s->sp && address - s->sp + sizeof word <= s->slice_len) {
        memcpy(&word, s->slice + (address - s->sp), sizeof word);
        *result = word;
        return true;
    }
    if (!live_word(u, address, &word))
        return false;
    *result = word;
    return true;
}

/* ---- frames ---- */

static gpointer copy_of(gconstpointer p, gsize n)
{
    return memcpy(g_malloc(n), p, n); /* g_memdup2 is younger than our GLib */
}

static void name_frame(CtUnwinder *u, guint64 address, CtStackFrame *f)
{
    const CtStackFrame *known = g_hash_table_lookup(u->names, &address);
    guint64 pc = f->pc;
    if (known) {
        *f = *known;
        f->pc = pc;
        return;
    }
    Dwfl_Module *module = dw.dwfl_addrmodule(u->dwfl, address);
    GElf_Off offset = 0;
    GElf_Sym symbol;
    if (module) {
        const char *object = dw.dwfl_module_info(module, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
        const char *name = dw.dwfl_module_addrinfo(module, address, &offset, &symbol, NULL, NULL,
                                                   NULL);
        if (object)
            g_strlcpy(f->object, object, sizeof f->object);
        /* Of a stripped library only the exported names are there: a name far off is not it. */
        if (name && (symbol.st_size ? offset < symbol.st_size + 16 : offset < 65536))
            g_strlcpy(f->function, name, sizeof f->function);
    }
    if (g_hash_table_size(u->names) < MAX_NAMES)
        g_hash_table_insert(u->names, copy_of(&address, sizeof address), copy_of(f, sizeof *f));
}

static int on_frame(Dwfl_Frame *frame, void *arg)
{
    CtUnwinder *u = arg;
    Dwarf_Addr pc = 0;
    bool activation = false;
    if (u->n >= u->most || !dw.dwfl_frame_pc(frame, &pc, &activation) || !pc)
        return DWARF_CB_ABORT;
    CtStackFrame *f = &u->out[u->n];
    if (u->n && f[-1].pc == pc && u->n > 2 && f[-2].pc == pc)
        return DWARF_CB_ABORT; /* a damaged stack that leads to itself */
    *f = (CtStackFrame){.pc = pc};
    /* A return address may lie behind the last instruction of the caller. */
    name_frame(u, activation ? pc : pc - 1, f);
    u->n++;
    return DWARF_CB_OK;
}

CtUnwinder *ct_unwinder_new(pid_t pid, char **out_why)
{
    static const Dwfl_Callbacks callbacks = {
        .find_elf = find_elf,
        .find_debuginfo = no_debuginfo,
    };
    static const Dwfl_Thread_Callbacks threads = {
        .next_thread = next_thread,
        .get_thread = get_thread,
        .memory_read = memory_read,
        .set_initial_registers = set_registers,
    };
    *out_why = NULL;
    if (!open_dw(out_why))
        return NULL;
    CtUnwinder *u = g_new0(CtUnwinder, 1);
    u->pid = current_pid = pid;
    u->pages = g_new0(Page, CACHED);
    u->names = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
    u->dwfl = dw.dwfl_begin(&callbacks);
    int code = u->dwfl ? dw.dwfl_linux_proc_report(u->dwfl, pid) : -1;
    if (code == 0)
        code = dw.dwfl_report_end(u->dwfl, NULL, NULL);
    if (code != 0 || !dw.dwfl_attach_state(u->dwfl, NULL, pid, &threads, u)) {
        *out_why = code > 0 ? g_strdup(g_strerror(code)) : g_strdup(dw.dwfl_errmsg(-1));
        ct_unwinder_free(u);
        return NULL;
    }
    return u;
}

void ct_unwinder_free(CtUnwinder *u)
{
    if (!u)
        return;
    if (u->dwfl)
        dw.dwfl_end(u->dwfl);
    g_hash_table_unref(u->names);
    g_free(u->pages);
    g_free(u);
}

guint ct_unwind(CtUnwinder *u, const CtThreadSample *sample, CtStackFrame *out, guint most)
{
    if (sample->error || sample->narrow || !sample->n_reg)
        return 0;
    u->sample = sample;
    u->out = out;
    u->n = 0;
    u->most = most;
    dw.dwfl_getthread_frames(u->dwfl, sample->tid, on_frame, u);
    if (!u->n && most) { /* code outside of every file: the address at least */
        out[0] = (CtStackFrame){.pc = sample->pc};
        u->n = 1;
    }
    return u->n;
}

#else

CtUnwinder *ct_unwinder_new(pid_t pid, char **out_why)
{
    *out_why = g_strdup("built without elfutils");
    return NULL;
}

void ct_unwinder_free(CtUnwinder *u)
{
}

guint ct_unwind(CtUnwinder *u, const CtThreadSample *sample, CtStackFrame *out, guint most)
{
    return 0;
}

#endif
