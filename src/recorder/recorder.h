/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside of the recorder. It lives in somebody else's process: it never prints, aborts, exits or
 * changes a result; on trouble it turns itself off and passes calls through.
 *
 * Threads: a ring has one writer. Everything shared is changed with atomic operations; no lock is
 * ever held. After ctr_start() nothing allocates.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "recorder/cuda-abi.h"
#include "wire/wire.h"

#define CTR_EXPORT __attribute__((visibility("default")))
#define CTR_COLD __attribute__((cold, noinline))
#define CTR_LIKELY(x) __builtin_expect(!!(x), 1)
#define CTR_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define CTR_HANDLE_BIT (1ull << 63) /* sets handles of physical memory apart from addresses */

enum ctr_fn {
#define CTR_HOOK(sym, base, since, stream, cls, params, args, before, after) CTR_FN_##sym,
#include "recorder/hooks.def"
#undef CTR_HOOK
    CTR_N_HOOKS,
    /* not recorded, only substituted */
    CTR_FN_cuInit = CTR_N_HOOKS,
    CTR_FN_cuGetProcAddress,
    CTR_FN_cuGetProcAddress_v2,
    CTR_N_FNS
};

enum ctr_reason { /* of being off; stands in the record */
    CTR_ON,
    CTR_OFF_ASKED,
    CTR_OFF_NO_FILE,
    CTR_OFF_BAD_FILE,
    CTR_OFF_NO_SLOT,
    CTR_OFF_NO_SPACE,
    CTR_OFF_NO_MAP
};

struct ctr_name {
    const char *sym, *base;
    void *wrapper;
    uint32_t since;
    uint8_t per_thread, cls;
};

/* A page that a child of fork or clone sees as zeroes, so that it knows that it is one. */
struct ctr_state {
    uint32_t epoch; /* of the recording; 0 is none */
    uint32_t phase; /* 0 not begun, 1 beginning, 2 on, 3 off */
};

struct ctr_thread {
    uint32_t epoch; /* equal to ctr_state->epoch: everything below is valid */
    uint32_t depth;
    struct ctw_ring *ring;
    struct ctw_entry *entries;
    uint64_t mask;
    uint32_t tid, ring_no;
    uintptr_t stack_lo, stack_hi;
};

struct ctr_call {
    int64_t t_ns;
    uint64_t stream, a, b, c;
    uint32_t fn, name, site;
    uint64_t key;          /* what a free took out of the live table, 0 is nothing ... */
    struct ctw_live taken; /* ... until the driver agreed; set only with key */
};

extern const struct ctr_name ctr_names[CTR_N_FNS];
extern void *ctr_real[CTR_N_FNS];
extern struct ctr_state *ctr_state;
extern struct ctw_arena *ctr_arena;
extern struct ctw_layout ctr_at;
extern __thread struct ctr_thread ctr_self __attribute__((tls_model("initial-exec")));

#define CTR_TABLE(type, offset) ((type *)(void *)((char *)ctr_arena + ctr_at.offset))
#define CTR_ADD(p, n) __atomic_fetch_add(&(p), (n), __ATOMIC_RELAXED)

/* start.c */
struct ctr_thread *ctr_enter_slow(uint32_t fn);
void ctr_cuda_is_up(void);
/* resolve.c */
bool ctr_resolve(uint32_t fn);
/* The driver exports `address` under the base name `symbol` with some version or stream suffix. */
bool ctr_is_exported(const char *symbol, const void *address);
int ctr_find_name(const char *name); /* index in ctr_names, -1 */
void ctr_build_index(void);
/* table.c */
uint32_t ctr_intern(const char *text);
void ctr_name_handle(uint64_t handle, uint32_t name);
uint32_t ctr_handle_name(uint64_t handle);
void ctr_allocated(struct ctr_call *c, struct ctr_thread *t, unsigned kind, uint64_t key,
                   uint64_t bytes, const void *frame);
void ctr_freeing(struct ctr_call *c, uint64_t key);
void ctr_freed(struct ctr_call *c, struct ctr_thread *t, bool ok);
/* site.c */
void ctr_list_modules(void);
void ctr_forget_modules(void);
void ctr_find_stack(struct ctr_thread *t);
uint32_t ctr_site(struct ctr_call *c, const struct ctr_thread *t, unsigned kind, const void *frame);
/* event.c */
void ctr_failed(struct ctr_thread *t, const struct ctr_call *c, uint32_t result);
void ctr_sample(int64_t now);

static inline int64_t ctr_now(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* NULL: this call is not recorded. */
static inline struct ctr_thread *ctr_enter(uint32_t fn)
{
    struct ctr_thread *t = &ctr_self;
    if (CTR_UNLIKELY(t->epoch != __atomic_load_n(&ctr_state->epoch, __ATOMIC_RELAXED)))
        return ctr_enter_slow(fn);
    if (CTR_UNLIKELY(t->depth)) {
        t->ring->nested++;
        return (void *)0;
    }
    t->depth = 1;
    return t;
}

static inline void ctr_leave(struct ctr_thread *t, const struct ctr_call *c, uint32_t cls,
                             uint32_t result)
{
    struct ctw_ring *ring = t->ring;
    uint64_t number = ring->head;
    struct ctw_entry *e = &t->entries[number & t->mask];
    __atomic_store_n(&e->seq, 0, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    e->t_ns = c->t_ns;
    e->fn = (uint16_t)c->fn;
    e->flags = 0;
    e->result = (int32_t)result;
    e->stream = c->stream;
    e->a = c->a;
    e->b = c->b;
    e->c = c->c;
    e->name = c->name;
    e->site = c->site;
    __atomic_store_n(&e->seq, number + 1, __ATOMIC_RELEASE);
    __atomic_store_n(&ring->head, number + 1, __ATOMIC_RELEASE);
    ring->count[cls]++;
    ring->last_ns = c->t_ns;
    if (CTR_UNLIKELY(result != CTR_SUCCESS))
        ctr_failed(t, c, result);
    if (CTR_UNLIKELY(c->t_ns - ctr_arena->sample_last[0] >= 100000000))
        ctr_sample(c->t_ns);
    t->depth = 0;
}
