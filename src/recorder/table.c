/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exact table of live allocations and its sums. Keys stand within CTW_WINDOW slots from their
 * hash, so a slot is freed by storing 0: no tombstones, no rehash, no lock.
 */
#include "recorder/recorder.h"

#define BUSY 1u
#define FREED_ROWS 8u

/* ---- live allocations ---- */

/* No key stands further from its hash than this; a look-up for what is not there ends here. It is
 * raised before the key is stored, and whoever looks for a key learnt of it afterwards. */
static uint32_t reach = 1;

static void raise_reach(uint32_t k)
{
    uint32_t have = __atomic_load_n(&reach, __ATOMIC_RELAXED);
    while (k > have)
        if (__atomic_compare_exchange_n(&reach, &have, k, true, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED))
            return;
}

static CTR_COLD int64_t claim_further(uint64_t h)
{
    uint64_t *keys = CTR_TABLE(uint64_t, off_keys);
    for (uint32_t k = 0; k < CTW_WINDOW; k++) {
        uint64_t i = (h + k) & (CTW_LIVE - 1), none = 0;
        if (__atomic_compare_exchange_n(&keys[i], &none, BUSY, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_RELAXED)) {
            raise_reach(k + 1);
            return (int64_t)i;
        }
    }
    CTR_ADD(ctr_arena->dropped_live, 1);
    return -1;
}

/* A slot that is held for the key, -1 when its window is full. Tells whether the books still hold
 * the key: its context went, or a free passed by unseen, and it has been given out again. */
CTR_ALWAYS int64_t claim(uint64_t key, bool *out_there)
{
    uint64_t *keys = CTR_TABLE(uint64_t, off_keys);
    uint64_t h = ctw_hash(key), i = h, none = 0;
    uint32_t n = __atomic_load_n(&reach, __ATOMIC_RELAXED), first = CTW_WINDOW;
    for (uint32_t k = n; k-- > 0;) {
        uint64_t have = __atomic_load_n(&keys[(h + k) & (CTW_LIVE - 1)], __ATOMIC_RELAXED);
        if (have == 0)
            first = k;
        else if (CTR_UNLIKELY(have == key))
            *out_there = true;
    }
    i = (h + first) & (CTW_LIVE - 1);
    if (CTR_LIKELY(first < n) && __atomic_compare_exchange_n(&keys[i], &none, BUSY, false,
                                                             __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        return (int64_t)i;
    return claim_further(h);
}

CTR_ALWAYS void publish(int64_t slot, uint64_t key)
{
    __atomic_store_n(&CTR_TABLE(uint64_t, off_keys)[slot], key, __ATOMIC_RELEASE);
}

static bool take(uint64_t key, struct ctw_live *out)
{
    uint64_t *keys = CTR_TABLE(uint64_t, off_keys);
    const struct ctw_live *live = CTR_TABLE(struct ctw_live, off_live);
    uint64_t h = ctw_hash(key);
    uint32_t n = __atomic_load_n(&reach, __ATOMIC_RELAXED);
    for (uint32_t k = 0; k < n; k++) {
        uint64_t i = (h + k) & (CTW_LIVE - 1), have = key;
        if (__atomic_load_n(&keys[i], __ATOMIC_RELAXED) == key &&
            __atomic_compare_exchange_n(&keys[i], &have, BUSY, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_RELAXED)) {
            *out = live[i];
            __atomic_store_n(&keys[i], 0, __ATOMIC_RELEASE);
            return true;
        }
    }
    return false;
}

CTR_ALWAYS void raise_peak(uint64_t *peak, int64_t value, int64_t *when, int64_t now)
{
    uint64_t have = __atomic_load_n(peak, __ATOMIC_RELAXED);
    while (value > (int64_t)have) {
        if (CTR_UNLIKELY(!__atomic_compare_exchange_n(peak, &have, (uint64_t)value, true,
                                                      __ATOMIC_RELAXED, __ATOMIC_RELAXED)))
            continue;
        if (when)
            __atomic_store_n(when, now, __ATOMIC_RELAXED);
        return;
    }
}

CTR_ALWAYS struct ctw_site *site_of(uint32_t number)
{
    return &CTR_TABLE(struct ctw_site, off_sites)[number - 1];
}

CTR_ALWAYS void add(bool mine, uint64_t *own, uint64_t *rest, uint64_t n)
{
    if (CTR_LIKELY(mine))
        ctr_bump(own, n);
    else
        CTR_ADD(*rest, n);
}

CTR_ALWAYS void tally_made(struct ctw_tally *t, bool mine, uint64_t n, uint64_t bytes)
{
    add(mine, &t->own.made, &t->rest.made, n);
    add(mine, &t->own.made_bytes, &t->rest.made_bytes, bytes);
}

CTR_ALWAYS void tally_ended(struct ctw_tally *t, bool mine, uint64_t n, uint64_t bytes)
{
    add(mine, &t->own.ended, &t->rest.ended, n);
    add(mine, &t->own.ended_bytes, &t->rest.ended_bytes, bytes);
}

/* The first thread with a ring that deals with a kind owns its totals. */
static CTR_COLD bool own_kind(const struct ctr_thread *t, unsigned kind)
{
    uint32_t none = 0;
    return t->mask && __atomic_compare_exchange_n(&ctr_arena->owner[kind], &none, t->me, false,
                                                  __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

CTR_ALWAYS bool owns_kind(const struct ctr_thread *t, unsigned kind)
{
    uint32_t owner = __atomic_load_n(&ctr_arena->owner[kind], __ATOMIC_RELAXED);
    return CTR_LIKELY(owner == t->me) || (CTR_UNLIKELY(owner == 0) && own_kind(t, kind));
}

/* A peak is exact up to calls that overlap: which of them came first nobody can tell. */
CTR_ALWAYS void count_in(const struct ctr_thread *t, unsigned kind, uint64_t bytes, int64_t now)
{
    struct ctw_tally *tally = &ctr_arena->tally[kind];
    tally_made(tally, owns_kind(t, kind), 1, bytes);
    raise_peak(&ctr_arena->peak_bytes[kind], ctr_live_sum(tally), &ctr_arena->peak_ns[kind], now);
}

/* n is 1; or -1 where a free that was counted did not happen. */
CTR_ALWAYS void count_out(const struct ctr_thread *t, const struct ctw_live *l, int64_t n)
{
    uint64_t bytes = n > 0 ? l->bytes : 0 - l->bytes;
    tally_ended(&ctr_arena->tally[l->kind], owns_kind(t, l->kind), (uint64_t)n, bytes);
    if (!l->site)
        return;
    struct ctw_site *s = site_of(l->site);
    tally_ended(&s->tally, s->owner == t->me, (uint64_t)n, bytes);
}

/* Made, and not to be followed: no address, or no place for it. */
static CTR_COLD void count_untracked(const struct ctr_thread *t, unsigned kind)
{
    tally_made(&ctr_arena->tally[kind], owns_kind(t, kind), 1, 0);
    tally_ended(&ctr_arena->tally[kind], owns_kind(t, kind), 1, 0);
}

static CTR_COLD void drop_old(const struct ctr_thread *t, uint64_t key)
{
    struct ctw_live old;
    if (take(key, &old))
        count_out(t, &old, 1);
}

/* Growth is judged by the number of calls: how much was live after 1, 2, 4, 8 ... of them. */
static CTR_COLD void reach_milestone(struct ctw_site *s, uint64_t n, int64_t now)
{
    uint32_t have = __atomic_load_n(&s->reached, __ATOMIC_RELAXED);
    uint32_t top = 64 - (uint32_t)__builtin_clzll(n);
    if (have >= CTW_MILESTONES || n >> have == 0 ||
        !__atomic_compare_exchange_n(&s->reached, &have,
                                     top < CTW_MILESTONES ? top : CTW_MILESTONES, false,
                                     __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        return;
    uint64_t ended = ctr_ended(&s->tally);
    for (uint32_t k = have; k < top && k < CTW_MILESTONES; k++) {
        struct ctw_milestone *m = &s->mile[k];
        m->live_bytes = ctr_live_bytes(&s->tally);
        m->live_count = n > ended ? n - ended : 0;
        __atomic_store_n(&m->t_ns, now, __ATOMIC_RELEASE);
    }
}

CTR_ALWAYS void count_in_site(struct ctw_site *s, const struct ctr_thread *t, uint64_t bytes,
                              int64_t now)
{
    tally_made(&s->tally, s->owner == t->me, 1, bytes);
    raise_peak(&s->peak_bytes, ctr_live_sum(&s->tally), &s->peak_ns, now);
    __atomic_store_n(&s->last_ns, now, __ATOMIC_RELAXED);
    raise_peak(&s->largest_bytes, (int64_t)bytes, NULL, 0);
    uint64_t n = ctr_made(&s->tally);
    if (CTR_UNLIKELY(n >> __atomic_load_n(&s->reached, __ATOMIC_RELAXED)))
        reach_milestone(s, n, now);
}

void ctr_allocated(struct ctr_call *c, struct ctr_thread *t, unsigned kind, uint64_t key,
                   uint64_t bytes)
{
    if (CTR_UNLIKELY(key <= BUSY)) { /* an allocation of 0 bytes */
        count_untracked(t, kind);
        return;
    }
    c->site = ctr_site(c, t, kind);
    bool there = false;
    int64_t slot = claim(key, &there);
    if (CTR_UNLIKELY(there))
        drop_old(t, key);
    if (CTR_UNLIKELY(slot < 0)) {
        count_untracked(t, kind);
        return;
    }
    struct ctw_live *l = &CTR_TABLE(struct ctw_live, off_live)[slot];
    l->bytes = bytes;
    l->t_ns = c->t_ns;
    l->site = c->site;
    l->tid = t->tid;
    l->kind = (uint16_t)kind;
    l->fn = (uint16_t)c->fn;
    l->stream = c->stream;
    count_in(t, kind, bytes, c->t_ns);
    if (CTR_LIKELY(c->site != 0))
        count_in_site(site_of(c->site), t, bytes, c->t_ns);
    publish(slot, key);
}

/* Before the real call: as soon as the driver has the address back, another thread may get it. */
void ctr_freeing(struct ctr_call *c, const struct ctr_thread *t, uint64_t key)
{
    c->a = CTW_KEY_VALUE(key);
    c->key = 0;
    if (key > BUSY && take(key, &c->taken)) {
        c->key = key;
        c->site = c->taken.site;
        c->b = c->taken.bytes;
        count_out(t, &c->taken, 1);
    }
}

static CTR_COLD void put_back(const struct ctr_call *c, const struct ctr_thread *t)
{
    bool there = false;
    int64_t slot = claim(c->key, &there);
    if (slot < 0)
        return;
    CTR_TABLE(struct ctw_live, off_live)[slot] = c->taken;
    count_out(t, &c->taken, -1);
    publish(slot, c->key);
}

/* Rows are taken a few at a time. A thread that frees seldom gives up those that it has left before
 * the others have come round to them. */
static CTR_COLD uint64_t take_freed_rows(struct ctr_thread *t)
{
    t->freed_next = CTR_ADD(ctr_arena->freed_head, FREED_ROWS);
    t->freed_end = t->freed_next + FREED_ROWS;
    return t->freed_next++;
}

CTR_ALWAYS uint64_t next_freed_row(struct ctr_thread *t)
{
    uint64_t n = t->freed_next;
    if (CTR_UNLIKELY(n == t->freed_end || __atomic_load_n(&ctr_arena->freed_head,
                                                          __ATOMIC_RELAXED) - n > CTW_FREED / 2))
        return take_freed_rows(t);
    t->freed_next = n + 1;
    return n;
}

void ctr_freed(struct ctr_call *c, struct ctr_thread *t, bool ok, bool object)
{
    if (CTR_UNLIKELY(!ok)) {
        if (c->key)
            put_back(c, t);
        return;
    }
    if (!object)
        add(t->mask != 0, &t->ring->frees, &ctr_arena->frees, 1);
    if (!c->key) {
        if (c->a > BUSY && !object)
            CTR_ADD(ctr_arena->unknown_frees, 1);
        return;
    }
    if (c->taken.kind >= CTW_OBJ_STREAM) /* these have no address that a kernel could use */
        return;
    struct ctw_freed *f = &CTR_TABLE(struct ctw_freed, off_freed)[
        next_freed_row(t) & (CTW_FREED - 1)];
    ctr_unpublish(&f->ptr);
    f->bytes = c->taken.bytes;
    f->alloc_ns = c->taken.t_ns;
    f->free_ns = c->t_ns;
    f->site = c->site;
    f->tid = t->tid;
    f->alloc_tid = c->taken.tid;
    f->kind = c->taken.kind;
    f->fn = (uint16_t)c->fn;
    ctr_where_freed(c, t, f->from);
    __atomic_store_n(&f->ptr, CTW_KEY_VALUE(c->key), __ATOMIC_RELEASE);
}

/* By the numbers of CUarray_format; formats that came later count as one byte. */
uint64_t ctr_array_bytes(uint64_t w, uint64_t h, uint64_t d, unsigned format, unsigned channels)
{
    unsigned size = format == 0x02 || format == 0x09 || format == 0x10 ? 2
                    : format == 0x03 || format == 0x0a || format == 0x20 ? 4 : 1;
    return w * (h ? h : 1) * (d ? d : 1) * size * (channels ? channels : 1);
}
