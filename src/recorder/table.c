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

uint32_t ctr_handle_name_slow(uint64_t handle)
{
    const struct ctw_func *table = CTR_TABLE(struct ctw_func, off_funcs);
    uint64_t h = ctw_hash(handle);
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

CTR_ALWAYS void raise_peak(uint64_t *peak, uint64_t value, int64_t *when, int64_t now)
{
    uint64_t have = __atomic_load_n(peak, __ATOMIC_RELAXED);
    while (value > have) {
        if (CTR_UNLIKELY(!__atomic_compare_exchange_n(peak, &have, value, true, __ATOMIC_RELAXED,
                                                      __ATOMIC_RELAXED)))
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

/* Numbers of live blocks are not kept: they are what was made less what ended. */
CTR_ALWAYS void count_in(const struct ctw_live *l, int64_t now)
{
    uint64_t total = CTR_ADD(ctr_arena->live_bytes[l->kind], l->bytes) + l->bytes;
    raise_peak(&ctr_arena->peak_bytes[l->kind], total, &ctr_arena->peak_ns[l->kind], now);
    if (!l->site)
        return;
    struct ctw_site *s = site_of(l->site);
    uint64_t bytes = CTR_ADD(s->live_bytes, l->bytes) + l->bytes;
    raise_peak(&s->peak_bytes, bytes, &s->peak_ns, now);
}

static void count_out(const struct ctw_live *l)
{
    CTR_ADD(ctr_arena->live_bytes[l->kind], 0 - l->bytes);
    CTR_ADD(ctr_arena->ended[l->kind], 1);
    if (!l->site)
        return;
    struct ctw_site *s = site_of(l->site);
    CTR_ADD(s->live_bytes, 0 - l->bytes);
    CTR_ADD(s->frees, 1);
}

static CTR_COLD void drop_old(uint64_t key)
{
    struct ctw_live old;
    if (take(key, &old))
        count_out(&old);
}

/* Growth is judged by the number of calls: how much was live after 1, 2, 4, 8 ... of them. */
static CTR_COLD void reach_milestone(struct ctw_site *s, uint64_t n, int64_t now)
{
    struct ctw_milestone *m = &s->mile[__builtin_ctzll(n)];
    m->live_bytes = __atomic_load_n(&s->live_bytes, __ATOMIC_RELAXED);
    m->live_count = n - __atomic_load_n(&s->frees, __ATOMIC_RELAXED);
    __atomic_store_n(&m->t_ns, now, __ATOMIC_RELEASE);
}

void ctr_allocated(struct ctr_call *c, struct ctr_thread *t, unsigned kind, uint64_t key,
                   uint64_t bytes)
{
    CTR_ADD(ctr_arena->made[kind], 1);
    if (CTR_UNLIKELY(key <= BUSY)) { /* an allocation of 0 bytes */
        CTR_ADD(ctr_arena->ended[kind], 1);
        return;
    }
    c->site = ctr_site(c, t, kind);
    bool there = false;
    int64_t slot = claim(key, &there);
    if (CTR_UNLIKELY(there))
        drop_old(key);
    if (CTR_UNLIKELY(slot < 0)) {
        CTR_ADD(ctr_arena->ended[kind], 1);
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
    count_in(l, c->t_ns);
    publish(slot, key);
    if (!c->site)
        return;
    struct ctw_site *s = site_of(c->site);
    uint64_t n = CTR_ADD(s->allocs, 1) + 1;
    CTR_ADD(s->total_bytes, bytes);
    __atomic_store_n(&s->last_ns, c->t_ns, __ATOMIC_RELAXED);
    raise_peak(&s->largest_bytes, bytes, NULL, 0);
    if (CTR_UNLIKELY((n & (n - 1)) == 0 && n < (1ull << (CTW_MILESTONES - 1))))
        reach_milestone(s, n, c->t_ns);
}

/* Before the real call: as soon as the driver has the address back, another thread may get it. */
void ctr_freeing(struct ctr_call *c, uint64_t key)
{
    c->a = CTW_KEY_VALUE(key);
    c->key = 0;
    if (key > BUSY && take(key, &c->taken)) {
        c->key = key;
        c->site = c->taken.site;
        c->b = c->taken.bytes;
        count_out(&c->taken);
    }
}

static CTR_COLD void put_back(const struct ctr_call *c)
{
    const struct ctw_live *l = &c->taken;
    bool there = false;
    int64_t slot = claim(c->key, &there);
    if (slot < 0)
        return;
    CTR_TABLE(struct ctw_live, off_live)[slot] = *l;
    CTR_ADD(ctr_arena->ended[l->kind], 0 - (uint64_t)1);
    if (l->site)
        CTR_ADD(site_of(l->site)->frees, 0 - (uint64_t)1);
    count_in(l, c->t_ns);
    publish(slot, c->key);
}

void ctr_freed(struct ctr_call *c, struct ctr_thread *t, bool ok, bool object)
{
    if (CTR_UNLIKELY(!ok)) {
        if (c->key)
            put_back(c);
        return;
    }
    if (!object)
        CTR_ADD(ctr_arena->frees, 1);
    if (!c->key) {
        if (c->a > BUSY && !object)
            CTR_ADD(ctr_arena->unknown_frees, 1);
        return;
    }
    if (c->taken.kind >= CTW_OBJ_STREAM) /* these have no address that a kernel could use */
        return;
    struct ctw_freed *f = &CTR_TABLE(struct ctw_freed, off_freed)[
        CTR_ADD(ctr_arena->freed_head, 1) & (CTW_FREED - 1)];
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
