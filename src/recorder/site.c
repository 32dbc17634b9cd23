/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where an allocation came from. Unwinding costs microseconds, so a hook only looks at the first
 * words of the stack: those that point into code make the key of the site and are kept once. Some
 * of them are left over from earlier calls; the tool says so.
 */
#include "recorder/recorder.h"

#include <fcntl.h>
#include <link.h>

#include "recorder/sys.h"

#define SCAN_WORDS 64u
#define KNOWN 2048u /* a power of two */

bool ctr_stacks = true;

/* Executable ranges, sorted; a copy for this process, since the arena is for the reader. */
static struct range {
    uintptr_t lo, hi;
} ranges[CTW_MODULES];
static uint32_t n_ranges, listing;
/* What was found out about a word of a stack: the word itself for code, its complement for none. */
static uintptr_t known[KNOWN];
/* The same roughly: the program, and the libraries, with all that lies between some of them. */
static uintptr_t low_from, low_size, high_from, high_size, own_lo, own_hi;
static unsigned long long adds_seen;

struct listing {
    struct range found[CTW_MODULES];
    uint32_t n;
};

static void read_build_id(const struct dl_phdr_info *info, struct ctw_module *m)
{
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
        if (ph->p_type != PT_NOTE)
            continue;
        const char *p = (const char *)(info->dlpi_addr + ph->p_vaddr), *end = p + ph->p_memsz;
        while (end - p >= (long)sizeof(ElfW(Nhdr))) {
            const ElfW(Nhdr) *n = (const void *)p;
            const char *desc = p + sizeof *n + ((n->n_namesz + 3u) & ~3u);
            if (n->n_descsz > (uint64_t)(end - p) || desc + n->n_descsz > end)
                break;
            if (n->n_type == 3 && n->n_descsz <= sizeof m->build_id) {
                for (uint32_t k = 0; k < n->n_descsz; k++)
                    m->build_id[k] = (uint8_t)desc[k];
                m->build_id_len = n->n_descsz;
                return;
            }
            p = desc + ((n->n_descsz + 3u) & ~3u);
        }
    }
}

/* Enters the object into the record when it is not there yet. */
static void record_module(const struct dl_phdr_info *info, uintptr_t lo, uintptr_t hi)
{
    struct ctw_module *table = CTR_TABLE(struct ctw_module, off_modules);
    uint32_t n = ctr_arena->n_modules;
    for (uint32_t i = 0; i < n; i++)
        if (table[i].lo == lo && table[i].hi == hi)
            return;
    if (n >= CTW_MODULES)
        return;
    struct ctw_module *m = &table[n];
    const char *name = info->dlpi_name;
    m->bias = info->dlpi_addr;
    m->lo = lo;
    m->hi = hi;
    read_build_id(info, m);
    __atomic_store_n(&m->name, ctr_intern(name && *name ? name : ctr_arena->exe), __ATOMIC_RELEASE);
    ctr_arena->n_modules = n + 1;
}

static int visit(struct dl_phdr_info *info, size_t size, void *user)
{
    struct listing *l = user;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum && l->n < CTW_MODULES; i++) {
        const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
        if (ph->p_type != PT_LOAD || !(ph->p_flags & PF_X))
            continue;
        uintptr_t lo = info->dlpi_addr + ph->p_vaddr, hi = lo + ph->p_memsz;
        if (lo <= (uintptr_t)&ctr_list_modules && (uintptr_t)&ctr_list_modules < hi) {
            own_lo = lo;
            own_hi = hi;
        }
        record_module(info, lo, hi);
        uint32_t k = l->n++;
        for (; k > 0 && l->found[k - 1].lo > lo; k--)
            l->found[k] = l->found[k - 1];
        l->found[k] = (struct range){lo, hi};
    }
    return 0;
}

static void split_at_largest_gap(const struct listing *l)
{
    uint32_t gap = 0;
    for (uint32_t i = 1; i < l->n; i++)
        if (gap == 0 || l->found[i].lo - l->found[i - 1].hi >
                            l->found[gap].lo - l->found[gap - 1].hi)
            gap = i;
    uintptr_t low = gap ? l->found[0].lo : 0, high = l->n ? l->found[gap].lo : 0;
    __atomic_store_n(&low_size, 0, __ATOMIC_RELAXED); /* half written ones let nothing pass */
    __atomic_store_n(&high_size, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&low_from, low, __ATOMIC_RELEASE);
    __atomic_store_n(&high_from, high, __ATOMIC_RELEASE);
    __atomic_store_n(&low_size, gap ? l->found[gap - 1].hi - low : 0, __ATOMIC_RELEASE);
    __atomic_store_n(&high_size, l->n ? l->found[l->n - 1].hi - high : 0, __ATOMIC_RELEASE);
}

/* One thread at a time; whoever comes second goes on with the old list. */
CTR_COLD void ctr_list_modules(void)
{
    static struct listing l;
    if (__atomic_exchange_n(&listing, 1, __ATOMIC_ACQUIRE))
        return;
    l.n = 0;
    dl_iterate_phdr(visit, &l);
    /* A reader that meets the list half written misses an address, no more. */
    __atomic_store_n(&n_ranges, 0, __ATOMIC_RELEASE);
    for (uint32_t i = 0; i < l.n; i++) {
        __atomic_store_n(&ranges[i].lo, l.found[i].lo, __ATOMIC_RELAXED);
        __atomic_store_n(&ranges[i].hi, l.found[i].hi, __ATOMIC_RELAXED);
    }
    for (uint32_t i = 0; i < KNOWN; i++)
        __atomic_store_n(&known[i], 0, __ATOMIC_RELAXED);
    split_at_largest_gap(&l);
    __atomic_store_n(&n_ranges, l.n, __ATOMIC_RELEASE);
    __atomic_store_n(&listing, 0, __ATOMIC_RELEASE);
}

/* A child of fork may have been made while another thread was listing. */
void ctr_forget_modules(void)
{
    listing = 0;
    adds_seen = 0;
}

static int count_adds(struct dl_phdr_info *info, size_t size, void *user)
{
    (void)size;
    *(unsigned long long *)user = info->dlpi_adds;
    return 1;
}

/* What a call leaves on the stack stands behind a call. */
static bool follows_call(uintptr_t w, uintptr_t lo)
{
#if defined(__x86_64__)
    const uint8_t *p = (const uint8_t *)w;
    if (w - lo < 8)
        return false;
    if (p[-5] == 0xe8)
        return true;
    for (int n = 2; n <= 7; n++) /* call through a register or memory: ff /2 */
        if (p[-n] == 0xff && (p[-n + 1] & 0x38) == 0x10)
            return true;
    return false;
#else
    uint32_t before;
    if (w % 4 || w - lo < 4)
        return false;
    before = *(const uint32_t *)(w - 4);
    return (before & 0xfc000000u) == 0x94000000u || (before & 0xfffffc1fu) == 0xd63f0000u;
#endif
}

static bool find_code(uintptr_t w)
{
    uint32_t lo = 0, n = __atomic_load_n(&n_ranges, __ATOMIC_ACQUIRE), hi = n;
    while (lo < hi) {
        uint32_t mid = (lo + hi) / 2;
        if (__atomic_load_n(&ranges[mid].hi, __ATOMIC_RELAXED) <= w)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo >= n || w >= __atomic_load_n(&ranges[lo].hi, __ATOMIC_RELAXED) ||
        w < __atomic_load_n(&ranges[lo].lo, __ATOMIC_RELAXED) || (w >= own_lo && w < own_hi))
        return false;
    return follows_call(w, ranges[lo].lo);
}

static bool is_code(uintptr_t w)
{
    uintptr_t *slot = &known[(w ^ w >> 11) & (KNOWN - 1)],
              have = __atomic_load_n(slot, __ATOMIC_RELAXED);
    if (CTR_LIKELY(have == w))
        return true;
    if (have == ~w)
        return false;
    bool code = find_code(w);
    __atomic_store_n(slot, code ? w : ~w, __ATOMIC_RELAXED);
    return code;
}

/* End of the mapping that this thread's stack is in: reading up to there cannot fault. */
static bool parse_range(const char *line, uintptr_t *lo, uintptr_t *hi)
{
    uintptr_t v[2] = {0, 0};
    for (int k = 0; k < 2; k++) {
        for (;; line++) {
            unsigned d = *line >= '0' && *line <= '9' ? (unsigned)(*line - '0')
                         : *line >= 'a' && *line <= 'f' ? (unsigned)(*line - 'a' + 10) : 16;
            if (d == 16)
                break;
            v[k] = v[k] << 4 | d;
        }
        if (*line++ != (k ? ' ' : '-'))
            return false;
    }
    *lo = v[0];
    *hi = v[1];
    return true;
}

CTR_COLD void ctr_find_stack(struct ctr_thread *t)
{
    char buf[1024], line[40];
    uintptr_t here = (uintptr_t)buf, lo, hi;
    unsigned n = 0;
    long got, fd = CTR_SYS(SYS_openat, AT_FDCWD, (intptr_t) "/proc/self/maps",
                           O_RDONLY | O_CLOEXEC, 0);
    t->stack_lo = t->stack_hi = 0;
    if (fd < 0)
        return;
    while ((got = CTR_SYS(SYS_read, fd, (intptr_t)buf, sizeof buf)) > 0 && !t->stack_hi)
        for (long i = 0; i < got; i++) {
            if (n < sizeof line - 1)
                line[n++] = buf[i];
            if (buf[i] != '\n')
                continue;
            line[n] = 0;
            n = 0;
            if (parse_range(line, &lo, &hi) && lo <= here && here < hi) {
                t->stack_lo = lo;
                t->stack_hi = hi;
                break;
            }
        }
    CTR_SYS(SYS_close, fd);
}

static void keep_slice(uint32_t site, const struct ctr_call *c, const struct ctr_thread *t)
{
    struct ctw_slice *s = &CTR_TABLE(struct ctw_slice, off_slices)[site];
    uintptr_t from = (uintptr_t)c->frame & ~(uintptr_t)7, end = (from | 4095u) + 1;
    if (from >= t->stack_lo && from < t->stack_hi)
        end = t->stack_hi;
    const uintptr_t *frame = c->frame;
    uint32_t len = end - from < CTW_SLICE_BYTES ? (uint32_t)(end - from) : CTW_SLICE_BYTES;
    s->fp = frame[0];
    s->pc = frame[1];
    s->cfa = (uintptr_t)c->cfa;
    s->from = from;
    for (uint32_t i = 0; i + 8 <= len; i += 8)
        *(uint64_t *)(s->bytes + i) = *(const uint64_t *)(from + i);
    __atomic_store_n(&s->len, len & ~7u, __ATOMIC_RELEASE);
}

static struct ctw_site *new_site(struct ctw_site *s, uint64_t key, const struct ctr_call *c,
                                 const struct ctr_thread *t, unsigned kind, const uint64_t *addr,
                                 uint32_t n)
{
    unsigned long long adds = 0;
    dl_iterate_phdr(count_adds, &adds);
    if (adds != __atomic_load_n(&adds_seen, __ATOMIC_RELAXED)) {
        __atomic_store_n(&adds_seen, adds, __ATOMIC_RELAXED);
        ctr_list_modules();
    }
    s->fn = c->fn;
    s->kind = (uint16_t)kind;
    s->n_addr = (uint16_t)n;
    s->first_ns = c->t_ns;
    s->owner = t->me;
    for (uint32_t i = 0; i < n; i++)
        s->addr[i] = addr[i];
    if (ctr_stacks)
        keep_slice((uint32_t)(s - CTR_TABLE(struct ctw_site, off_sites)), c, t);
    __atomic_store_n(&s->key, key, __ATOMIC_RELEASE);
    return s;
}

/* Return addresses among the first words from the frame on, innermost first. */
CTR_ALWAYS uint32_t scan(const struct ctr_call *c, const struct ctr_thread *t, uint32_t words,
                         uint64_t *addr, uint32_t max)
{
    const uintptr_t *word = c->frame;
    uintptr_t from = (uintptr_t)c->frame, page_end = (from | 4095u) + 1;
    /* Outside the known stack (a coroutine, a signal stack) only this page is sure to be there. */
    uintptr_t end = from >= t->stack_lo && from < t->stack_hi ? t->stack_hi : page_end;
    uint32_t n = 0;
    if (words > (end - from) / sizeof *word)
        words = (uint32_t)((end - from) / sizeof *word);
    const uintptr_t *last = word + words;
    const uintptr_t low_n = __atomic_load_n(&low_size, __ATOMIC_ACQUIRE);
    const uintptr_t high_n = __atomic_load_n(&high_size, __ATOMIC_ACQUIRE);
    const uintptr_t low = __atomic_load_n(&low_from, __ATOMIC_RELAXED);
    const uintptr_t high = __atomic_load_n(&high_from, __ATOMIC_RELAXED);
    for (; word < last; word++) {
        uintptr_t w = *word;
        if (CTR_LIKELY(w - low >= low_n && w - high >= high_n) || !is_code(w))
            continue;
        addr[n++] = w;
        if (n == max)
            break;
    }
    return n;
}

void ctr_where_freed(const struct ctr_call *c, const struct ctr_thread *t,
                     uint64_t out[CTW_FREE_ADDRS])
{
    uint32_t n = 0;
    if (ctr_stacks)
        n = scan(c, t, SCAN_WORDS / 2, out, CTW_FREE_ADDRS);
    else
        out[n++] = ((const uintptr_t *)c->frame)[1];
    while (n < CTW_FREE_ADDRS)
        out[n++] = 0;
}

CTR_ALWAYS uint64_t mix(uint64_t key, uint64_t address)
{
    key = (key ^ address) * 0x9e3779b97f4a7c15ull;
    return key ^ key >> 32;
}

static uint32_t find_site(uint64_t key, const struct ctr_call *c, const struct ctr_thread *t,
                          unsigned kind, const uint64_t *addr, uint32_t n)
{
    struct ctw_site *table = CTR_TABLE(struct ctw_site, off_sites);
    for (uint32_t k = 0; k < CTW_WINDOW; k++) {
        struct ctw_site *s = &table[(key + k) & (CTW_SITES - 1)];
        uint64_t have = __atomic_load_n(&s->key, __ATOMIC_ACQUIRE);
        if (have == 0 && __atomic_compare_exchange_n(&s->key, &have, 1, false, __ATOMIC_ACQ_REL,
                                                     __ATOMIC_ACQUIRE))
            have = new_site(s, key, c, t, kind, addr, n)->key;
        if (have == key)
            return (uint32_t)(s - table) + 1;
    }
    CTR_ADD(ctr_arena->dropped_sites, 1);
    return 0;
}

static CTR_COLD uint32_t bare_site_slow(struct ctr_call *c, const struct ctr_thread *t,
                                        unsigned kind, uint64_t key)
{
    uint64_t addr = ((const uintptr_t *)c->frame)[1];
    return find_site(key, c, t, kind, &addr, 1);
}

static __attribute__((noinline)) uint32_t deep_site(struct ctr_call *c, const struct ctr_thread *t,
                                                    unsigned kind)
{
    uint64_t addr[CTW_SITE_ADDRS], key = c->fn + 2;
    uint32_t n = scan(c, t, SCAN_WORDS, addr, CTW_SITE_ADDRS);
    for (uint32_t i = 0; i < n; i++)
        key = mix(key, addr[i]);
    return find_site(key | 2, c, t, kind, addr, n);
}

/* Number of the site + 1; 0 when the table is full. */
uint32_t ctr_site(struct ctr_call *c, const struct ctr_thread *t, unsigned kind)
{
    if (ctr_stacks)
        return deep_site(c, t, kind);
    uint64_t key = mix(c->fn + 2, ((const uintptr_t *)c->frame)[1]) | 2;
    const struct ctw_site *table = CTR_TABLE(struct ctw_site, off_sites);
    uint32_t i = key & (CTW_SITES - 1);
    return CTR_LIKELY(__atomic_load_n(&table[i].key, __ATOMIC_ACQUIRE) == key)
               ? i + 1 : bare_site_slow(c, t, kind, key);
}
