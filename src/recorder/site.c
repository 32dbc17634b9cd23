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

/* Executable ranges, sorted; a copy for this process, since the arena is for the reader. */
static struct range {
    uintptr_t lo, hi;
} ranges[CTW_MODULES];
static uint32_t n_ranges, listing;
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
    low_from = gap ? l->found[0].lo : 0;
    low_size = gap ? l->found[gap - 1].hi - low_from : 0;
    high_from = l->n ? l->found[gap].lo : 0;
    high_size = l->n ? l->found[l->n - 1].hi - high_from : 0;
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
    for (uint32_t i = 0; i < l.n; i++)
        ranges[i] = l.found[i];
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

static bool is_code(uintptr_t w)
{
    uint32_t lo = 0, hi = __atomic_load_n(&n_ranges, __ATOMIC_ACQUIRE);
    while (lo < hi) {
        uint32_t mid = (lo + hi) / 2;
        if (ranges[mid].hi <= w)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < CTW_MODULES && w >= ranges[lo].lo && w < ranges[lo].hi &&
           !(w >= own_lo && w < own_hi);
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

static struct ctw_site *new_site(struct ctw_site *s, uint64_t key, const struct ctr_call *c,
                                 unsigned kind, const uint64_t *addr, uint32_t n)
{
    unsigned long long adds = 0;
    dl_iterate_phdr(count_adds, &adds);
    if (adds != adds_seen) {
        adds_seen = adds;
        ctr_list_modules();
    }
    s->fn = c->fn;
    s->kind = (uint16_t)kind;
    s->n_addr = (uint16_t)n;
    s->first_ns = c->t_ns;
    for (uint32_t i = 0; i < n; i++)
        s->addr[i] = addr[i];
    __atomic_store_n(&s->key, key, __ATOMIC_RELEASE);
    return s;
}

/* Number of the site + 1; 0 when the table is full. */
uint32_t ctr_site(struct ctr_call *c, const struct ctr_thread *t, unsigned kind, const void *frame)
{
    const uintptr_t *word = frame;
    uintptr_t from = (uintptr_t)frame, page_end = (from | 4095u) + 1;
    /* Outside the known stack (a coroutine, a signal stack) only this page is sure to be there. */
    uintptr_t end = from >= t->stack_lo && from < t->stack_hi ? t->stack_hi : page_end;
    uint32_t words = (uint32_t)((end - from) / sizeof *word), n = 0;
    uint64_t addr[CTW_SITE_ADDRS], key = c->fn + 2;
    if (words > SCAN_WORDS)
        words = SCAN_WORDS;
    const uintptr_t *last = word + words;
    const uintptr_t low = low_from, low_n = low_size, high = high_from, high_n = high_size;
    for (; word < last; word++) {
        uintptr_t w = *word;
        if (CTR_LIKELY(w - low >= low_n && w - high >= high_n) || !is_code(w))
            continue;
        addr[n++] = w;
        key = (key ^ w) * 0x9e3779b97f4a7c15ull;
        key ^= key >> 32;
        if (n == CTW_SITE_ADDRS)
            break;
    }
    key |= 2;
    struct ctw_site *table = CTR_TABLE(struct ctw_site, off_sites);
    for (uint32_t k = 0; k < CTW_WINDOW; k++) {
        struct ctw_site *s = &table[(key + k) & (CTW_SITES - 1)];
        uint64_t have = __atomic_load_n(&s->key, __ATOMIC_ACQUIRE);
        if (have == 0 && __atomic_compare_exchange_n(&s->key, &have, 1, false, __ATOMIC_ACQ_REL,
                                                     __ATOMIC_ACQUIRE))
            have = new_site(s, key, c, kind, addr, n)->key;
        if (have == key)
            return (uint32_t)(s - table) + 1;
    }
    CTR_ADD(ctr_arena->dropped_sites, 1);
    return 0;
}
