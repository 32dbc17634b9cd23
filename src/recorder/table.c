/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exact tables: live allocations, names of functions, strings. Keys stand within CTW_WINDOW
 * slots from their hash, so a slot is freed by storing 0: no tombstones, no rehash, no lock.
 */
#include "recorder/recorder.h"

#define BUSY 1u

/* ---- strings ---- */

static uint32_t text_length(const char *text)
{
    uint32_t n = 0;
    while (n < CTW_STRING_MAX && text[n])
        n++;
    return n;
}

static bool string_is(uint32_t id, const char *text, uint32_t len)
{
    const struct ctw_string *s = (const void *)(CTR_TABLE(char, off_strings) + id);
    if (s->len != len)
        return false;
    for (uint32_t i = 0; i < len; i++)
        if (s->text[i] != text[i])
            return false;
    return true;
}

static uint32_t add_string(const char *text, uint32_t len)
{
    uint32_t need = ((uint32_t)sizeof(struct ctw_string) + len + 1 + 7) & ~7u;
    uint32_t id = CTR_ADD(ctr_arena->strings_used, need);
    if (id > CTW_STRINGS_BYTES || CTW_STRINGS_BYTES - id < need) {
        CTR_ADD(ctr_arena->strings_used, 0u - need);
        CTR_ADD(ctr_arena->dropped_strings, 1);
        return 0;
    }
    struct ctw_string *s = (void *)(CTR_TABLE(char, off_strings) + id);
    for (uint32_t i = 0; i < len; i++)
        s->text[i] = text[i];
    s->text[len] = 0;
    s->len = len;
    s->crc = ctw_crc(s->text, len);
    return id;
}

uint32_t ctr_intern(const char *text)
{
    uint32_t len = text_length(text), h = 2166136261u;
    uint32_t *index = CTR_TABLE(uint32_t, off_string_index);
    for (uint32_t i = 0; i < len; i++)
        h = (h ^ (uint8_t)text[i]) * 16777619u;
    for (uint32_t k = 0; k < CTW_WINDOW; k++) {
        uint32_t *slot = &index[(h + k) & (CTW_STRING_INDEX - 1)];
        uint32_t id = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
        if (id == 0) {
            id = add_string(text, len);
            uint32_t none = 0;
            if (id)
                __atomic_compare_exchange_n(slot, &none, id, false, __ATOMIC_RELEASE,
                                            __ATOMIC_RELAXED);
            return id; /* two threads at once: the text stands twice, nothing worse */
        }
        if (string_is(id, text, len))
            return id;
    }
    CTR_ADD(ctr_arena->dropped_strings, 1);
    return 0;
}

/* ---- names of functions ---- */

void ctr_name_handle(uint64_t handle, uint32_t name)
{
    struct ctw_func *table = CTR_TABLE(struct ctw_func, off_funcs);
    uint64_t h = ctw_hash(handle);
    if (!handle || !name)
        return;
    for (uint32_t k = 0; k < CTW_WINDOW; k++) {
        struct ctw_func *f = &table[(h + k) & (CTW_FUNCS - 1)];
        uint64_t have = __atomic_load_n(&f->handle, __ATOMIC_ACQUIRE), none = 0;
        if (have == handle || (have == 0 && __atomic_compare_exchange_n(&f->handle, &none, handle,
                                                                        false, __ATOMIC_ACQ_REL,
                                                                        __ATOMIC_RELAXED))) {
            __atomic_store_n(&f->name, name, __ATOMIC_RELEASE);
            return;
        }
    }
    CTR_ADD(ctr_arena->dropped_strings, 1);
}

uint32_t ctr_handle_name(uint64_t handle)
{
    const struct ctw_func *table = CTR_TABLE(struct ctw_func, off_funcs);
    uint64_t h = ctw_hash(handle);
    if (CTR_LIKELY(__atomic_load_n(&table[h & (CTW_FUNCS - 1)].handle, __ATOMIC_RELAXED) == handle))
        return table[h & (CTW_FUNCS - 1)].name;
    for (uint32_t k = 0; k < CTW_WINDOW; k++) {
        const struct ctw_func *f = &table[(h + k) & (CTW_FUNCS - 1)];
        uint64_t have = __atomic_load_n(&f->handle, __ATOMIC_RELAXED);
        if (have == handle)
            return __atomic_load_n(&f->name, __ATOMIC_RELAXED);
        if (have == 0)
            return 0;
    }
    return 0;
}

/* ---- live allocations ---- */

static bool insert(uint64_t key, const struct ctw_live *value)
{
    uint64_t *keys = CTR_TABLE(uint64_t, off_keys);
    struct ctw_live *live = CTR_TABLE(struct ctw_live, off_live);
    uint64_t h = ctw_hash(key);
    for (uint32_t k = 0; k < CTW_WINDOW; k++) {
        uint64_t i = (h + k) & (CTW_LIVE - 1), none = 0;
        if (__atomic_load_n(&keys[i], __ATOMIC_RELAXED) == 0 &&
            __atomic_compare_exchange_n(&keys[i], &none, BUSY, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_RELAXED)) {
            live[i] = *value;
            __atomic_store_n(&keys[i], key, __ATOMIC_RELEASE);
            return true;
        }
    }
    CTR_ADD(ctr_arena->dropped_live, 1);
    return false;
}

static bool take(uint64_t key, struct ctw_live *out)
{
    uint64_t *keys = CTR_TABLE(uint64_t, off_keys);
    const struct ctw_live *live = CTR_TABLE(struct ctw_live, off_live);
    uint64_t h = ctw_hash(key);
    for (uint32_t k = 0; k < CTW_WINDOW; k++) {
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

static void raise_peak(uint64_t *peak, uint64_t value, int64_t *when, int64_t now)
{
    uint64_t have = __atomic_load_n(peak, __ATOMIC_RELAXED);
    while (value > have)
        if (__atomic_compare_exchange_n(peak, &have, value, true, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED)) {
            if (when)
                __atomic_store_n(when, now, __ATOMIC_RELAXED);
            return;
        }
}

static void count_in(struct ctw_live *l, int64_t now)
{
    uint64_t total = CTR_ADD(ctr_arena->live_bytes[l->kind], l->bytes) + l->bytes;
    CTR_ADD(ctr_arena->live_count[l->kind], 1);
    raise_peak(&ctr_arena->peak_bytes[l->kind], total, NULL, now);
    if (!l->site)
        return;
    struct ctw_site *s = &CTR_TABLE(struct ctw_site, off_sites)[l->site - 1];
    uint64_t bytes = CTR_ADD(s->live_bytes, l->bytes) + l->bytes;
    CTR_ADD(s->live_count, 1);
    raise_peak(&s->peak_bytes, bytes, &s->peak_ns, now);
}

static void count_out(const struct ctw_live *l)
{
    CTR_ADD(ctr_arena->live_bytes[l->kind], 0 - l->bytes);
    CTR_ADD(ctr_arena->live_count[l->kind], 0 - (uint64_t)1);
    if (!l->site)
        return;
    struct ctw_site *s = &CTR_TABLE(struct ctw_site, off_sites)[l->site - 1];
    CTR_ADD(s->live_bytes, 0 - l->bytes);
    CTR_ADD(s->live_count, 0 - (uint64_t)1);
}

void ctr_allocated(struct ctr_call *c, struct ctr_thread *t, unsigned kind, uint64_t key,
                   uint64_t bytes, const void *frame)
{
    c->a = key;
    CTR_ADD(ctr_arena->allocs, 1);
    if (key <= BUSY) /* an allocation of 0 bytes */
        return;
    c->site = ctr_site(c, t, kind, frame);
    struct ctw_live l = {.bytes = bytes, .t_ns = c->t_ns, .site = c->site, .tid = t->tid,
                         .kind = (uint16_t)kind, .fn = (uint16_t)c->fn, .stream = c->stream};
    /* The driver gave an address that is in use by our books: its context went, or a free passed
     * by unseen. The old entry goes. */
    struct ctw_live old;
    if (CTR_UNLIKELY(take(key, &old)))
        count_out(&old);
    if (!insert(key, &l))
        return;
    count_in(&l, c->t_ns);
    if (!c->site)
        return;
    struct ctw_site *s = &CTR_TABLE(struct ctw_site, off_sites)[c->site - 1];
    uint64_t n = CTR_ADD(s->allocs, 1) + 1;
    CTR_ADD(s->total_bytes, bytes);
    __atomic_store_n(&s->last_ns, c->t_ns, __ATOMIC_RELAXED);
    raise_peak(&s->largest_bytes, bytes, NULL, 0);
    if ((n & (n - 1)) == 0 && n < (1ull << (CTW_MILESTONES - 1))) {
        struct ctw_milestone *m = &s->mile[__builtin_ctzll(n)];
        m->live_bytes = __atomic_load_n(&s->live_bytes, __ATOMIC_RELAXED);
        m->live_count = __atomic_load_n(&s->live_count, __ATOMIC_RELAXED);
        __atomic_store_n(&m->t_ns, c->t_ns, __ATOMIC_RELEASE);
    }
}

/* Before the real call: as soon as the driver has the address back, another thread may get it. */
void ctr_freeing(struct ctr_call *c, uint64_t key)
{
    c->a = key;
    if (key > BUSY && take(key, &c->taken)) {
        c->key = key;
        c->site = c->taken.site;
        c->b = c->taken.bytes;
        count_out(&c->taken);
    }
}

void ctr_freed(struct ctr_call *c, struct ctr_thread *t, bool ok)
{
    if (!ok) {
        if (c->key && insert(c->key, &c->taken))
            count_in(&c->taken, c->t_ns);
        return;
    }
    CTR_ADD(ctr_arena->frees, 1);
    if (!c->key) {
        if (c->a > BUSY)
            CTR_ADD(ctr_arena->unknown_frees, 1);
        return;
    }
    if (c->site)
        CTR_ADD(CTR_TABLE(struct ctw_site, off_sites)[c->site - 1].frees, 1);
    uint64_t i = CTR_ADD(ctr_arena->freed_head, 1) & (CTW_FREED - 1);
    CTR_TABLE(struct ctw_freed, off_freed)[i] =
        (struct ctw_freed){c->key, c->taken.bytes, c->taken.t_ns, c->t_ns, c->site, t->tid};
}
