/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which part of the file is this process's. Slots are given out in order; when all are taken, a
 * server that replaces its workers gets those of the processes that are gone and saw no error.
 */
#include "recorder/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "recorder/sys.h"

/* Numbers of processes mean something within one namespace only; 0 is not known. */
uint64_t ctr_pid_namespace(void)
{
    struct stat st;
    return CTR_SYS(SYS_newfstatat, AT_FDCWD, (intptr_t) "/proc/self/ns/pid", (intptr_t)&st, 0) == 0
               ? st.st_ino : 0;
}

uint64_t ctr_slot_offset(uint32_t slot)
{
    return CTW_RUN_BYTES + (uint64_t)slot * ctr_at.bytes;
}

/* Lower is better; 0 is not to be taken: it lives, may live, or saw an error. */
static int64_t worth(const struct ctw_arena *a, uint64_t namespace)
{
    uint32_t state = __atomic_load_n(&a->state, __ATOMIC_ACQUIRE);
    int64_t last = __atomic_load_n(&a->last_ns, __ATOMIC_RELAXED);
    if ((state != 1 && state != 2) || __atomic_load_n(&a->failed, __ATOMIC_RELAXED) ||
        !namespace || a->pid_namespace != namespace || CTR_SYS(SYS_kill, a->pid, 0) != -ESRCH)
        return 0;
    last = last > a->mono_ns ? last : a->mono_ns;
    if (last < 0 || last >= INT64_MAX >> 1)
        last = 0;
    return 1 + last + (state == 2 ? 0 : INT64_MAX >> 1); /* what was killed stays longest */
}

static struct ctw_arena *map_header(long fd, uint32_t slot)
{
    return ctr_map(NULL, CTW_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, (int)fd,
                   ctr_slot_offset(slot));
}

/* Empties the slot; false when another process was faster, or the file system cannot. */
static bool clear(long fd, uint32_t slot)
{
    struct ctw_arena *a = map_header(fd, slot);
    bool won = false;
    if (!a)
        return false;
    uint32_t state = __atomic_load_n(&a->state, __ATOMIC_ACQUIRE);
    if ((state == 1 || state == 2) &&
        __atomic_compare_exchange_n(&a->state, &state, CTW_GIVEN_AWAY, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_RELAXED))
        won = CTR_SYS(SYS_fallocate, fd, 3 /* punch a hole, keep the size */, ctr_slot_offset(slot),
                      ctr_at.bytes) == 0;
    CTR_SYS(SYS_munmap, (intptr_t)a, CTW_PAGE);
    return won;
}

static long take_over(struct ctw_run *run, uint32_t n, long fd)
{
    uint64_t namespace = ctr_pid_namespace();
    int64_t best = INT64_MAX;
    long slot = -1;
    for (uint32_t i = 0; i < n; i++) {
        struct ctw_arena *a = map_header(fd, i);
        int64_t w = a ? worth(a, namespace) : 0;
        if (w && w < best) {
            best = w;
            slot = (long)i;
        }
        if (a)
            CTR_SYS(SYS_munmap, (intptr_t)a, CTW_PAGE);
    }
    if (slot < 0 || !clear(fd, (uint32_t)slot))
        return -1;
    CTR_ADD(run->replaced, 1);
    return slot;
}

long ctr_take_slot(struct ctw_run *run, long fd)
{
    uint32_t n = __atomic_load_n(&run->claimed, __ATOMIC_RELAXED);
    while (n < run->max_slots && n < CTW_MAX_SLOTS)
        if (__atomic_compare_exchange_n(&run->claimed, &n, n + 1, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_RELAXED))
            return (long)n;
    long slot = n <= CTW_MAX_SLOTS ? take_over(run, n, fd) : -1;
    if (slot < 0)
        CTR_ADD(run->refused, 1);
    return slot;
}
