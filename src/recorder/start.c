/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a library that does nothing to one that records: a slot of the run for the process, a ring
 * for the thread. Runs at the first hooked call, or when cuInit has succeeded; in a process without
 * CUDA only the constructor ever runs, and it reads the environment.
 */
#include "recorder/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "recorder/sys.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void), void *dso);
extern void *__dso_handle __attribute__((visibility("hidden")));

static struct ctr_state early; /* until the page is there */
struct ctr_state *ctr_state = &early;
struct ctw_arena *ctr_arena;
struct ctw_layout ctr_at;
__thread struct ctr_thread ctr_self __attribute__((tls_model("initial-exec"))) = {.epoch = 1};

static const char *run_path;
static long run_fd = -1;
static uint32_t next_epoch = 2;
static bool asked_off;

/* A thread for which no ring was left writes here; nobody reads it. */
static __thread struct ctw_ring spare_ring __attribute__((tls_model("initial-exec")));
static __thread struct ctw_entry spare_entry __attribute__((tls_model("initial-exec")));

static void copy_text(char *to, const char *from, uint32_t size)
{
    uint32_t i = 0;
    for (; i + 1 < size && from[i]; i++)
        to[i] = from[i];
    to[i] = 0;
}

static bool bytes_equal(const char *a, const char *b, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (a[i] != b[i])
            return false;
    return true;
}

/* ---- the run ---- */

static struct ctw_run *map_run(long fd)
{
    struct ctw_run *run = ctr_map(NULL, CTW_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, (int)fd, 0);
    if (!run)
        return NULL;
    if (bytes_equal(run->magic, CTW_RUN_MAGIC, 8) && run->version == CTW_VERSION &&
        run->arena_bytes == ctr_at.bytes &&
        run->crc == ctw_crc(run, __builtin_offsetof(struct ctw_run, crc)))
        return run;
    CTR_SYS(SYS_munmap, (intptr_t)run, CTW_PAGE);
    return NULL;
}

/* A mapped file that ends too early would kill the program at the first store. */
static bool long_enough(long fd)
{
    long end = CTR_SYS(SYS_lseek, fd, 0, SEEK_END);
    return end >= (long)CTW_PAGE;
}

/* The path first: programs close descriptors that they do not know, and reuse their numbers. */
static struct ctw_run *open_run(long *out_fd)
{
    struct ctw_run *run = NULL;
    long fd = run_path ? CTR_SYS(SYS_openat, AT_FDCWD, (intptr_t)run_path,
                                 O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0) : -1;
    if (fd >= 0) {
        run = long_enough(fd) ? map_run(fd) : NULL;
        if (run) {
            *out_fd = fd;
            return run;
        }
        CTR_SYS(SYS_close, fd);
    }
    if (run_fd > 2) {
        fd = CTR_SYS(SYS_fcntl, run_fd, F_DUPFD_CLOEXEC, 3);
        run = fd >= 0 && long_enough(fd) ? map_run(fd) : NULL;
        if (!run && fd >= 0)
            CTR_SYS(SYS_close, fd);
        *out_fd = fd;
    }
    return run;
}

static void fill_header(struct ctw_arena *a)
{
    struct timespec wall, mono;
    long n;
    clock_gettime(CLOCK_REALTIME, &wall);
    a->version = CTW_VERSION;
    a->n_hooks = CTR_N_HOOKS;
    a->bytes = ctr_at.bytes;
    a->pid = (uint32_t)CTR_SYS(SYS_getpid, 0);
    a->parent = (uint32_t)CTR_SYS(SYS_getppid, 0);
    a->wall_ns = (int64_t)wall.tv_sec * 1000000000 + wall.tv_nsec;
    clock_gettime(CLOCK_MONOTONIC, &mono);
    a->pid_namespace = ctr_pid_namespace();
    a->mono_ns = (int64_t)mono.tv_sec * 1000000000 + mono.tv_nsec;
    n = CTR_SYS(SYS_readlinkat, AT_FDCWD, (intptr_t) "/proc/self/exe", (intptr_t)a->exe,
                sizeof a->exe - 1);
    a->exe[n > 0 ? n : 0] = 0;
    CTR_SYS(SYS_prctl, 16 /* PR_GET_NAME */, (intptr_t)a->comm);
    struct ctw_hook *hooks = (void *)((char *)a + ctr_at.off_hooks);
    for (uint32_t i = 0; i < CTR_N_HOOKS; i++) {
        copy_text(hooks[i].name, ctr_names[i].sym, sizeof hooks[i].name);
        hooks[i].cls = ctr_names[i].cls;
    }
    a->stacks = ctr_stacks;
    a->strings_used = 8; /* 0 is no string */
    for (uint32_t i = 0; i < CTW_LEVELS; i++)
        a->sample_last[i] = 0;
    for (uint32_t i = 0; i < 8; i++)
        a->magic[i] = CTW_ARENA_MAGIC[i];
    a->crc = ctw_crc(a, __builtin_offsetof(struct ctw_arena, crc));
    __atomic_store_n(&a->state, 1, __ATOMIC_RELEASE);
}

static enum ctr_reason open_arena(struct ctw_arena **out)
{
    long fd = -1;
    if (asked_off)
        return CTR_OFF_ASKED;
    if (!run_path && run_fd < 0)
        return CTR_OFF_NO_FILE;
    if (!ctr_may_read_clock())
        return CTR_OFF_NO_CLOCK;
    struct ctw_run *run = open_run(&fd);
    if (!run)
        return CTR_OFF_BAD_FILE;
    enum ctr_reason reason = CTR_ON;
    long slot = ctr_take_slot(run, fd);
    uint64_t offset = slot < 0 ? 0 : ctr_slot_offset((uint32_t)slot);
    if (slot < 0) {
        reason = CTR_OFF_NO_SLOT;
    } else if (CTR_SYS(SYS_lseek, fd, 0, SEEK_END) < (long)(offset + ctr_at.bytes) ||
               CTR_SYS(SYS_fallocate, fd, 0, offset, ctr_at.bytes) != 0) {
        /* A store into a hole of a full disk is SIGBUS, and beyond the end too; and growing the
         * file could be SIGXFSZ: the starter gave it its size. */
        CTR_ADD(run->no_space, 1);
        reason = CTR_OFF_NO_SPACE;
    } else {
        *out = ctr_map(NULL, ctr_at.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, (int)fd, offset);
        reason = *out ? CTR_ON : CTR_OFF_NO_MAP;
    }
    CTR_SYS(SYS_munmap, (intptr_t)run, CTW_PAGE);
    CTR_SYS(SYS_close, fd);
    return reason;
}

/* ---- this process ---- */

static void take_state_page(void)
{
    struct ctr_state *page;
    if (ctr_state != &early)
        return;
    page = ctr_map(NULL, CTW_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (!page)
        return;
    if (CTR_SYS(SYS_madvise, (intptr_t)page, CTW_PAGE, MADV_WIPEONFORK) != 0) {
        CTR_SYS(SYS_munmap, (intptr_t)page, CTW_PAGE); /* Linux before 4.14: fork handler only */
        return;
    }
    page->phase = 1;
    __atomic_store_n(&ctr_state, page, __ATOMIC_RELEASE);
}

static CTR_COLD void start(void)
{
    uint32_t none = 0;
    if (!__atomic_compare_exchange_n(&ctr_state->phase, &none, 1, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED))
        return;
    /* In a child the parent's record is still mapped, and stays so: another thread cannot be in
     * the middle of it here, yet unmapping wins nothing. */
    struct ctw_arena *arena = NULL;
    take_state_page();
    if (open_arena(&arena) != CTR_ON) {
        __atomic_store_n(&ctr_state->phase, 3, __ATOMIC_RELEASE);
        return;
    }
    arena->forked = ctr_arena != NULL;
    fill_header(arena);
    ctr_clock_begin();
    ctr_arena = arena;
    ctr_forget_modules();
    ctr_list_modules();
    uint32_t epoch = next_epoch++;
    __atomic_store_n(&ctr_state->phase, 2, __ATOMIC_RELEASE);
    __atomic_store_n(&ctr_state->epoch, epoch, __ATOMIC_RELEASE);
}

void ctr_cuda_is_up(void)
{
    int saved = errno;
    if (__atomic_load_n(&ctr_state->phase, __ATOMIC_ACQUIRE) == 0 && !ctr_self.barred)
        start();
    errno = saved;
}

/* For good, and for all threads: each finds an epoch that is not its own. */
void ctr_turn_off(void)
{
    __atomic_store_n(&ctr_state->phase, 3, __ATOMIC_RELEASE);
    __atomic_store_n(&ctr_state->epoch, 0, __ATOMIC_RELEASE);
}

/* ---- this thread ---- */

static bool is_gone(uint32_t pid, uint32_t tid)
{
    return CTR_SYS(SYS_tgkill, pid, tid, 0) == -ESRCH;
}

static bool claim(struct ctw_ring *ring, uint32_t from, uint32_t tid)
{
    if (!__atomic_compare_exchange_n(&ring->tid, &from, tid, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED))
        return false;
    ring->base = ring->head;
    ring->owners++;
    CTR_SYS(SYS_prctl, 16 /* PR_GET_NAME */, (intptr_t)ring->comm);
    return true;
}

static struct ctw_ring *take_ring(uint32_t tid)
{
    struct ctw_ring *rings = CTR_TABLE(struct ctw_ring, off_rings);
    for (uint32_t i = 0; i < CTW_RINGS; i++)
        if (__atomic_load_n(&rings[i].tid, __ATOMIC_RELAXED) == 0 && claim(&rings[i], 0, tid))
            return &rings[i];
    /* No free one: take over from a thread that is gone. */
    for (uint32_t i = 0; i < CTW_RINGS; i++) {
        uint32_t owner = __atomic_load_n(&rings[i].tid, __ATOMIC_RELAXED);
        if (is_gone(ctr_arena->pid, owner) && claim(&rings[i], owner, tid))
            return &rings[i];
    }
    return NULL;
}

static CTR_COLD void join(struct ctr_thread *t, uint32_t epoch)
{
    t->tid = (uint32_t)CTR_SYS(SYS_gettid, 0);
    struct ctw_ring *ring = take_ring(t->tid);
    if (ring) {
        t->ring = ring;
        t->ring_no = (uint32_t)(ring - CTR_TABLE(struct ctw_ring, off_rings));
        t->me = t->ring_no + 1;
        t->entries = CTR_TABLE(struct ctw_entry, off_entries) +
                     (uint64_t)t->ring_no * CTW_RING_ENTRIES;
        t->mask = CTW_RING_ENTRIES - 1;
    } else {
        CTR_ADD(ctr_arena->dropped_rings, 1);
        t->ring = &spare_ring;
        t->ring_no = 0;
        t->me = UINT32_MAX;
        t->entries = &spare_entry;
        t->mask = 0;
    }
    ctr_find_stack(t);
    t->freed_next = t->freed_end = 0;
    t->ticks_at = t->ns_at = 0;
    t->depth = 0;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    t->epoch = epoch;
}

CTR_COLD struct ctr_thread *ctr_enter_slow(uint32_t fn)
{
    struct ctr_thread *t = &ctr_self;
    uint32_t phase = __atomic_load_n(&ctr_state->phase, __ATOMIC_ACQUIRE);
    (void)fn;
    if (phase == 3 || t->barred)
        return NULL;
    int saved = errno;
    if (phase == 0)
        start();
    uint32_t epoch = __atomic_load_n(&ctr_state->epoch, __ATOMIC_ACQUIRE);
    if (epoch == 0) {
        errno = saved;
        return NULL;
    }
    /* A signal handler that comes in here in the middle finds depth set and passes. */
    if (t->epoch != epoch) {
        if (t->depth == UINT32_MAX) {
            errno = saved;
            return NULL;
        }
        t->depth = UINT32_MAX;
        join(t, epoch);
    }
    errno = saved;
    t->depth = 1;
    return t;
}

/* ---- beginning, forking, ending ---- */

static void in_child(void)
{
    /* Where the kernel wipes the page this is done already. */
    ctr_state->epoch = 0;
    ctr_state->phase = asked_off ? 3 : 0;
    ctr_self.epoch = 1;
    ctr_self.depth = 0;
}

static long parse_number(const char *text)
{
    long n = 0;
    if (!text || !*text)
        return -1;
    for (; *text; text++) {
        if (*text < '0' || *text > '9' || n > 1000000)
            return -1;
        n = n * 10 + (*text - '0');
    }
    return n;
}

__attribute__((constructor)) static void begin(void)
{
    const char *off = getenv("CUTRIAGE_RECORD_OFF");
    const char *path = getenv("CUTRIAGE_RECORD_FILE");
    static char kept[512]; /* programs change their environment */
    asked_off = off && *off && !(off[0] == '0' && !off[1]);
    if (path && *path) {
        copy_text(kept, path, sizeof kept);
        run_path = kept;
    }
    const char *stacks = getenv("CUTRIAGE_RECORD_STACKS");
    ctr_stacks = !(stacks && stacks[0] == '0' && !stacks[1]);
    run_fd = parse_number(getenv("CUTRIAGE_RECORD_FD"));
    ctr_at = ctw_layout();
    ctr_build_index();
    if (asked_off || (!run_path && run_fd < 0))
        ctr_state->phase = 3;
    else
        __register_atfork(NULL, NULL, in_child, &__dso_handle);
}

__attribute__((destructor)) static void end(void)
{
    /* Calls may still come from later destructors; they are recorded as before. */
    if (ctr_arena && __atomic_load_n(&ctr_state->epoch, __ATOMIC_ACQUIRE))
        __atomic_store_n(&ctr_arena->state, 2, __ATOMIC_RELEASE);
}
