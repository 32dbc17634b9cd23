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
#define CTR_ALWAYS static inline __attribute__((always_inline))

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

#define CTR_SAMPLE_NS 100000000 /* of the finest level */

enum ctr_reason { /* of being off; stands in the record */
    CTR_ON,
    CTR_OFF_ASKED,
    CTR_OFF_NO_FILE,
    CTR_OFF_BAD_FILE,
    CTR_OFF_NO_SLOT,
    CTR_OFF_NO_SPACE,
    CTR_OFF_NO_MAP,
    CTR_OFF_NO_CLOCK
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
    uint32_t me;                    /* ring + 1, as an owner; no owner without a ring */
    uint64_t freed_next, freed_end; /* rows of the table of freed blocks that are this thread's */
    uint64_t ticks_at; /* one reading of both clocks, see clock.c */
    int64_t ns_at;
    uintptr_t stack_lo, stack_hi;
    bool barred; /* may do no system call and read no clock; depth says it too */
};

struct ctr_call {
    int64_t t_ns;
    uint64_t stream, a, b, c;
    uint32_t fn, name, site, flags;
    const void *frame, *cfa; /* of the hook */
    uint64_t key;            /* what a free took out of the live table, 0 is nothing ... */
    struct ctw_live taken;   /* ... until the driver agreed; set only with key */
};

extern const struct ctr_name ctr_names[CTR_N_FNS];
extern void *ctr_real[CTR_N_FNS];
extern struct ctr_state *ctr_state;
extern struct ctw_arena *ctr_arena;
extern struct ctw_layout ctr_at;
extern __thread struct ctr_thread ctr_self __attribute__((tls_model("initial-exec")));

/* The offsets are constants: the compiler folds them. */
#define CTR_TABLE(type, offset) ((type *)(void *)((char *)ctr_arena + ctw_layout().offset))
#define CTR_ADD(p, n) __atomic_fetch_add(&(p), (n), __ATOMIC_RELAXED)

/* start.c */
struct ctr_thread *ctr_enter_slow(uint32_t fn);
void ctr_cuda_is_up(void);
void ctr_turn_off(void);
/* slot.c */
uint64_t ctr_pid_namespace(void);
uint64_t ctr_slot_offset(uint32_t slot);
long ctr_take_slot(struct ctw_run *run, long fd);
/* sandbox.c */
bool ctr_may_read_clock(void);
/* resolve.c */
bool ctr_resolve(uint32_t fn);
/* The driver exports `address` under the base name `symbol` with some version or stream suffix. */
bool ctr_is_exported(const char *symbol, const void *address);
int ctr_find_name(const char *name); /* index in ctr_names, -1 */
void ctr_build_index(void);
/* names.c */
uint32_t ctr_intern(const char *text);
void ctr_name_handle(uint64_t handle, uint64_t owner, uint32_t name);
uint32_t ctr_name_as(uint64_t handle, uint64_t kernel);
void ctr_forget_names(uint64_t owner);
struct ctw_func *ctr_handle_row(uint64_t handle); /* NULL: no such handle */
uint32_t ctr_handle_name_slow(uint64_t handle);
/* table.c */
void ctr_allocated(struct ctr_call *c, struct ctr_thread *t, unsigned kind, uint64_t key,
                   uint64_t bytes);
uint64_t ctr_array_bytes(uint64_t w, uint64_t h, uint64_t d, unsigned format, unsigned channels);
void ctr_freeing(struct ctr_call *c, const struct ctr_thread *t, uint64_t key);
void ctr_freed(struct ctr_call *c, struct ctr_thread *t, bool ok, bool object);
/* site.c */
void ctr_list_modules(void);
void ctr_forget_modules(void);
void ctr_find_stack(struct ctr_thread *t);
uint32_t ctr_site(struct ctr_call *c, const struct ctr_thread *t, unsigned kind);
void ctr_where_freed(const struct ctr_call *c, const struct ctr_thread *t,
                     uint64_t out[CTW_FREE_ADDRS]);
extern bool ctr_stacks;
/* event.c */
void ctr_failed(struct ctr_thread *t, const struct ctr_call *c, uint32_t result);
void ctr_sample(int64_t now); /* when it is time for one; from clock.c, every few ms at least */

/* clock.c */
struct ctr_rate {
    uint64_t span;  /* ticks that may be extrapolated over; 0: the clock of the system every time */
    uint64_t scale; /* ns a tick, << 32 */
};
extern struct ctr_rate ctr_rate;
void ctr_clock_begin(void);
int64_t ctr_now_slow(struct ctr_thread *t);
void ctr_measure_rate(void);

CTR_ALWAYS uint64_t ctr_ticks(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#endif
}

/* CLOCK_MONOTONIC in ns. */
CTR_ALWAYS int64_t ctr_now(struct ctr_thread *t)
{
    uint64_t span = __atomic_load_n(&ctr_rate.span, __ATOMIC_RELAXED), since;
    if (CTR_UNLIKELY(!span)) /* no use of the counter then: reading it may be trapped, or forbidden */
        return ctr_now_slow(t);
    since = ctr_ticks() - t->ticks_at;
    if (CTR_UNLIKELY(since >= span))
        return ctr_now_slow(t);
    return t->ns_at +
           (int64_t)(since * __atomic_load_n(&ctr_rate.scale, __ATOMIC_RELAXED) >> 32);
}

/* A reading may lie some ns before an extrapolated one. */
CTR_ALWAYS uint64_t ctr_since(struct ctr_thread *t, int64_t start)
{
    int64_t ns = ctr_now(t) - start;
    return ns > 0 ? (uint64_t)ns : 0;
}

/* The row had this handle a moment ago; another may have taken it over since. */
CTR_ALWAYS uint32_t ctr_row_name(struct ctw_func *f, uint64_t handle)
{
    uint32_t name = __atomic_load_n(&f->name, __ATOMIC_ACQUIRE);
    if (CTR_UNLIKELY(!__atomic_load_n(&f->used, __ATOMIC_RELAXED)))
        __atomic_store_n(&f->used, 1, __ATOMIC_RELAXED);
    return CTR_LIKELY(__atomic_load_n(&f->handle, __ATOMIC_RELAXED) == handle) ? name : 0;
}

CTR_ALWAYS uint32_t ctr_handle_name(uint64_t handle)
{
    struct ctw_func *f = CTR_TABLE(struct ctw_func, off_funcs) +
                         (ctw_hash(handle) & (CTW_FUNCS - 1));
    return CTR_LIKELY(__atomic_load_n(&f->handle, __ATOMIC_ACQUIRE) == handle)
               ? ctr_row_name(f, handle) : ctr_handle_name_slow(handle);
}

/* A counter with one writer; others only read it. */
CTR_ALWAYS void ctr_bump(uint64_t *counter, uint64_t n)
{
    __atomic_store_n(counter, __atomic_load_n(counter, __ATOMIC_RELAXED) + n, __ATOMIC_RELAXED);
}

CTR_ALWAYS uint64_t ctr_made(const struct ctw_tally *t)
{
    return __atomic_load_n(&t->own.made, __ATOMIC_RELAXED) +
           __atomic_load_n(&t->rest.made, __ATOMIC_RELAXED);
}

CTR_ALWAYS uint64_t ctr_ended(const struct ctw_tally *t)
{
    return __atomic_load_n(&t->own.ended, __ATOMIC_RELAXED) +
           __atomic_load_n(&t->rest.ended, __ATOMIC_RELAXED);
}

/* Calls that overlap may be seen by halves; more ended than was made is negative then. */
CTR_ALWAYS int64_t ctr_live_sum(const struct ctw_tally *t)
{
    return (int64_t)(__atomic_load_n(&t->own.made_bytes, __ATOMIC_RELAXED) +
                     __atomic_load_n(&t->rest.made_bytes, __ATOMIC_RELAXED) -
                     __atomic_load_n(&t->own.ended_bytes, __ATOMIC_RELAXED) -
                     __atomic_load_n(&t->rest.ended_bytes, __ATOMIC_RELAXED));
}

CTR_ALWAYS uint64_t ctr_live_bytes(const struct ctw_tally *t)
{
    int64_t live = ctr_live_sum(t);
    return live > 0 ? (uint64_t)live : 0;
}

/* NULL: this call is not recorded. */
CTR_ALWAYS struct ctr_thread *ctr_enter(uint32_t fn)
{
    struct ctr_thread *t = &ctr_self;
    if (CTR_UNLIKELY(t->epoch != __atomic_load_n(&ctr_state->epoch, __ATOMIC_RELAXED)))
        return ctr_enter_slow(fn);
    if (CTR_UNLIKELY(t->depth)) {
        CTR_ADD(t->ring->nested, 1);
        return (void *)0;
    }
    t->depth = 1;
    return t;
}

/* A row is invalid until its number is stored again. */
CTR_ALWAYS void ctr_unpublish(uint64_t *number)
{
#ifdef __SANITIZE_THREAD__
    __atomic_exchange_n(number, 0, __ATOMIC_ACQ_REL); /* it knows no fences */
#else
    __atomic_store_n(number, 0, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
#endif
}

CTR_ALWAYS void ctr_leave(struct ctr_thread *t, const struct ctr_call *c, uint32_t cls,
                             uint32_t result)
{
    struct ctw_ring *ring = t->ring;
    uint64_t number = ring->head;
    struct ctw_entry *e = &t->entries[number & t->mask];
    ctr_unpublish(&e->seq);
    e->t_ns = c->t_ns;
    e->fn = (uint16_t)c->fn;
    e->flags = (uint16_t)c->flags;
    e->result = (int32_t)result;
    e->stream = c->stream;
    e->a = c->a;
    e->b = c->b;
    e->c = c->c;
    e->name = c->name;
    e->site = c->site;
    __atomic_store_n(&e->seq, number + 1, __ATOMIC_RELEASE);
    __atomic_store_n(&ring->head, number + 1, __ATOMIC_RELEASE);
    ctr_bump(&ring->count[cls], 1);
    __atomic_store_n(&ring->last_ns, c->t_ns, __ATOMIC_RELAXED);
    if (CTR_UNLIKELY(result != CTR_SUCCESS)) {
        const struct ctr_call copy = *c; /* so that c itself can stay in registers */
        ctr_failed(t, &copy, result);
    }
    t->depth = 0;
}
