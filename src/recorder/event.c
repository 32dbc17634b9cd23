/* SPDX-License-Identifier: Apache-2.0 */
/* What happens seldom: a call failed, or it is time for a sample. */
#include "recorder/recorder.h"

/* Answers that are no failures: not ready, not found (look-ups), peer access already or not yet
 * enabled, shutting down. */
static bool is_ordinary(uint32_t code)
{
    return code == 600 || code == 500 || code == 704 || code == 705 || code == 4;
}

/* The context is lost: every later call fails too. */
static bool breaks_context(uint32_t code)
{
    return code == 214 || code == 220 || code == 700 || code == 702 || code == 710 ||
           (code >= 714 && code <= 721) || code == 226;
}

static void freeze(struct ctw_freeze *f, const struct ctr_thread *t, const struct ctr_call *c,
                   uint32_t result)
{
    uint32_t none = 0;
    if (f->state || !__atomic_compare_exchange_n(&f->state, &none, 1, false, __ATOMIC_ACQ_REL,
                                                 __ATOMIC_RELAXED))
        return;
    __atomic_store_n(&ctr_arena->failed, 1, __ATOMIC_RELAXED);
    f->ring = t->ring_no;
    f->call = (struct ctw_entry){.seq = t->ring->head, .t_ns = c->t_ns, .fn = (uint16_t)c->fn,
                                 .result = (int32_t)result, .stream = c->stream, .a = c->a,
                                 .b = c->b, .c = c->c, .name = c->name, .site = c->site};
    for (unsigned k = 0; k < CTW_N_MEM; k++)
        f->live_bytes[k] = ctr_live_bytes(&ctr_arena->tally[k]);
    f->free_bytes = __atomic_load_n(&ctr_arena->free_bytes, __ATOMIC_RELAXED);
    f->total_bytes = __atomic_load_n(&ctr_arena->total_bytes, __ATOMIC_RELAXED);
    f->context = t->ring->context;
    const struct ctw_ring *rings = CTR_TABLE(struct ctw_ring, off_rings);
    const struct ctw_entry *entries = CTR_TABLE(struct ctw_entry, off_entries);
    for (uint32_t i = 0; i < CTW_RINGS; i++) {
        uint64_t head = __atomic_load_n(&rings[i].head, __ATOMIC_ACQUIRE), base = rings[i].base;
        f->tids[i] = rings[i].tid;
        for (uint64_t k = 0; k < CTW_FREEZE_ENTRIES && head - base > k; k++) {
            uint64_t number = head - 1 - k;
            f->last[i][k] = entries[(uint64_t)i * CTW_RING_ENTRIES + number % CTW_RING_ENTRIES];
            if (f->last[i][k].seq != number + 1) /* its thread went on meanwhile */
                f->last[i][k].seq = 0;
        }
    }
    __atomic_store_n(&f->state, 2, __ATOMIC_RELEASE);
}

static void count_error(const struct ctr_thread *t, const struct ctr_call *c, uint32_t result)
{
    struct ctw_error *table = CTR_TABLE(struct ctw_error, off_errors);
    uint64_t key = 1ull << 63 | (uint64_t)c->fn << 32 | result, h = ctw_hash(key);
    for (uint32_t k = 0; k < CTW_WINDOW; k++) {
        struct ctw_error *e = &table[(h + k) & (CTW_ERRORS - 1)];
        uint64_t have = __atomic_load_n(&e->key, __ATOMIC_ACQUIRE);
        bool fresh = have == 0 && __atomic_compare_exchange_n(&e->key, &have, key, false,
                                                              __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
        if (!fresh && have != key)
            continue;
        if (fresh) {
            e->first_ns = c->t_ns;
            e->tid = t->tid;
            e->ring = t->ring_no;
            e->a = c->a;
            e->b = c->b;
            e->name = c->name;
        }
        CTR_ADD(e->count, 1);
        __atomic_store_n(&e->last_ns, c->t_ns, __ATOMIC_RELAXED);
        return;
    }
    CTR_ADD(ctr_arena->dropped_errors, 1);
}

CTR_COLD void ctr_failed(struct ctr_thread *t, const struct ctr_call *c, uint32_t result)
{
    struct ctw_freeze *f = CTR_TABLE(struct ctw_freeze, off_freezes);
    if (is_ordinary(result))
        return;
    t->ring->errors_at = t->ring->head;
    count_error(t, c, result);
    freeze(&f[0], t, c, result);
    if (!breaks_context(result))
        return;
    if (__atomic_load_n(&f[1].state, __ATOMIC_RELAXED) && f[1].ring == t->ring_no)
        CTR_ADD(t->ring->after_loss, 1);
    freeze(&f[1], t, c, result);
}

static uint64_t count_of(const struct ctw_ring *ring, unsigned cls)
{
    return __atomic_load_n(&ring->count[cls], __ATOMIC_RELAXED);
}

static void fill(struct ctw_sample *s, int64_t now)
{
    const struct ctw_ring *rings = CTR_TABLE(struct ctw_ring, off_rings);
    ctr_unpublish((uint64_t *)&s->t_ns);
    s->allocs = 0;
    for (unsigned k = 0; k < CTW_N_MEM; k++) {
        s->live_bytes[k] = ctr_live_bytes(&ctr_arena->tally[k]);
        s->allocs += ctr_made(&ctr_arena->tally[k]);
    }
    s->frees = __atomic_load_n(&ctr_arena->frees, __ATOMIC_RELAXED);
    s->launches = s->syncs = s->copies = 0;
    for (uint32_t i = 0; i < CTW_RINGS; i++) {
        s->frees += __atomic_load_n(&rings[i].frees, __ATOMIC_RELAXED);
        s->launches += count_of(&rings[i], CTW_CLASS_LAUNCH) +
                       count_of(&rings[i], CTW_CLASS_GRAPH_LAUNCH);
        s->syncs += count_of(&rings[i], CTW_CLASS_SYNC);
        s->copies += count_of(&rings[i], CTW_CLASS_COPY);
    }
    s->pool_used = __atomic_load_n(&ctr_arena->pool_used, __ATOMIC_RELAXED);
    s->pool_reserved = __atomic_load_n(&ctr_arena->pool_reserved, __ATOMIC_RELAXED);
    __atomic_store_n(&s->t_ns, now, __ATOMIC_RELEASE);
}

CTR_COLD void ctr_sample(int64_t now)
{
    int64_t period = CTR_SAMPLE_NS;
    struct ctw_sample *samples = CTR_TABLE(struct ctw_sample, off_samples);
    for (uint32_t level = 0; level < CTW_LEVELS; level++, period *= 10) {
        int64_t last = __atomic_load_n(&ctr_arena->sample_last[level], __ATOMIC_RELAXED);
        if (now - last < period ||
            !__atomic_compare_exchange_n(&ctr_arena->sample_last[level], &last, now, false,
                                         __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            continue;
        uint64_t i = CTR_ADD(ctr_arena->sample_head[level], 1) % CTW_LEVEL_SAMPLES;
        fill(&samples[level * CTW_LEVEL_SAMPLES + i], now);
    }
    __atomic_store_n(&ctr_arena->last_ns, now, __ATOMIC_RELAXED);
    ctr_measure_rate();
}
