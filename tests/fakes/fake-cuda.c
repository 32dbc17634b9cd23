/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A driver library without a GPU: every function of hooks.def, memory on the host behind it.
 *
 * CUTRIAGE_FAKE steers it, entries apart by commas:
 *   cuMemAlloc_v2:3=2    the 3rd call of that function fails with 2
 *   cuLaunchKernel:9=700!  from then on every call of any function fails so (the context is lost)
 *   memory=1000000       allocations beyond so many bytes fail with 2
 *   delay=1000           every wait takes so many ns
 */
#include <pthread.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "recorder/cuda-abi.h"

#define EXPORT __attribute__((visibility("default")))

enum fn {
#define CTR_HOOK(sym, base, since, stream, cls, params, args, before, after) FN_##sym,
#include "recorder/hooks.def"
#undef CTR_HOOK
    N_FNS
};

static const char *const names[N_FNS] = {
#define CTR_HOOK(sym, base, since, stream, cls, params, args, before, after) #sym,
#include "recorder/hooks.def"
#undef CTR_HOOK
};

static struct rule {
    int fn;
    unsigned long nth;
    unsigned code, sticky;
} rules[16];
static unsigned n_rules, lost;
static unsigned long calls[N_FNS];
static size_t limit = (size_t)1 << 40, used, most; /* a pool keeps what it once had */
static long delay_ns;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static void *blocks;
static unsigned long next_handle = 0x1000;

static void read_rule(const char *text)
{
    char name[64];
    struct rule r = {.fn = -1};
    char mark = 0;
    if (sscanf(text, "memory=%zu", &limit) == 1 || sscanf(text, "delay=%ld", &delay_ns) == 1)
        return;
    if (sscanf(text, "%63[^:]:%lu=%u%c", name, &r.nth, &r.code, &mark) < 3)
        return;
    r.sticky = mark == '!';
    for (int i = 0; i < N_FNS; i++)
        if (strcmp(names[i], name) == 0)
            r.fn = i;
    if (r.fn >= 0 && n_rules < 16)
        rules[n_rules++] = r;
}

static void read_rules(void)
{
    const char *text = getenv("CUTRIAGE_FAKE");
    char *copy = strdup(text ? text : ""), *rest = NULL;
    for (char *p = strtok_r(copy, ",", &rest); p; p = strtok_r(NULL, ",", &rest))
        read_rule(p);
    free(copy);
}

static unsigned gate(int fn)
{
    pthread_once(&once, read_rules);
    if (lost)
        return lost;
    if (!n_rules)
        return 0;
    unsigned long n = __atomic_add_fetch(&calls[fn], 1, __ATOMIC_RELAXED);
    for (unsigned i = 0; i < n_rules; i++)
        if (rules[i].fn == fn && rules[i].nth == n) {
            if (rules[i].sticky)
                lost = rules[i].code;
            return rules[i].code;
        }
    return 0;
}

static void wait_a_little(void)
{
    if (delay_ns > 0)
        nanosleep(&(struct timespec){delay_ns / 1000000000, delay_ns % 1000000000}, NULL);
}

struct block {
    unsigned long long key;
    size_t bytes;
};

static int by_key(const void *a, const void *b)
{
    const struct block *x = a, *y = b;
    return x->key < y->key ? -1 : x->key > y->key;
}

static unsigned take(unsigned long long *out, size_t bytes)
{
    struct block *b = NULL;
    unsigned code = 2;
    if (!out || !bytes)
        return 1;
    pthread_mutex_lock(&lock);
    if (used + bytes <= limit && (b = malloc(sizeof *b + 64)) != NULL) {
        void *p = malloc(bytes);
        b->key = (unsigned long long)(uintptr_t)p;
        b->bytes = bytes;
        used += bytes;
        most = used > most ? used : most;
        tsearch(b, &blocks, by_key);
        *out = b->key;
        code = 0;
    }
    pthread_mutex_unlock(&lock);
    return code;
}

static unsigned give(unsigned long long key)
{
    struct block want = {.key = key};
    if (!key)
        return 0;
    pthread_mutex_lock(&lock);
    struct block **at = tfind(&want, &blocks, by_key), *b = at ? *at : NULL;
    if (b) {
        used -= b->bytes;
        tdelete(&want, &blocks, by_key);
        free((void *)(uintptr_t)key);
        free(b);
    }
    pthread_mutex_unlock(&lock);
    return b ? 0 : 1;
}

/* A new handle where the first argument is where it goes. */
static unsigned make(void *out)
{
    unsigned long h = __atomic_add_fetch(&next_handle, 16, __ATOMIC_RELAXED);
    if (!out)
        return 1;
    memcpy(out, &h, sizeof h);
    return 0;
}

/* hooks.def says by its last column what a function does; here that becomes its behaviour. */
#define NONE
#define NOTE(s, x, y) ((void)0)
#define WAITED(s, x, y) wait_a_little()
#define MADE(out) (r = make((void *)(out)))
#define ALLOCATED(kind, out, n, s) (r = take_##kind((void *)(out), (n)))
#define ALLOCATED_HANDLE(kind, out, n) (r = take((void *)(out), (n) ? (n) : 1))
#define ARRAY(out, d) ALLOCATED_HANDLE(ARRAY, out, (d) ? (d)->Width * 4 : 0)
#define ARRAY_3D(out, d) ARRAY(out, d)
#define IMPORTED(out, d) ALLOCATED_HANDLE(EXTERNAL, out, (d) ? (d)->size : 0)
#define CTR_U64(x) ((unsigned long long)(uintptr_t)(x))
#define FREEING_HANDLE(kind, h) (key = (unsigned long long)(uintptr_t)(h))
#define MADE_OBJECT(kind, s, out) (r = make((void *)(out)))
#define MADE_CONTEXT(out) (r = make((void *)(out)))
#define MADE_RANGE(kind, p, n) FAKE_##kind(p, n)
#define FAKE_RESERVATION(p, n) ((p) = 0x700000000000ull)
#define FAKE_MAPPING(p, n) ((void)0)
#define ENDING(kind, h) ((void)0)
#define ENDED ((void)0)
#define CONTEXT_IS(x) ((void)0)
#define COPIED(s, x, n, host) ((void)0)
#define COPIED_AND_WAITED(x, n, host) wait_a_little()
#define REGISTERED_AT(ptr, n) ((void)0)
#define FREEING(ptr) (key = (unsigned long long)(uintptr_t)(ptr))
#define FREED(s) (r = give(key))
#define LAUNCHED(s, f, grid, block) ((void)0)
#define LAUNCHED_EX(config, f) ((void)0)
#define NAMED(out, owner, text) (r = make((void *)(out)))
#define UNLOADING(kind, h) ((void)0)
#define SAME_NAME(out, kernel) (r = make((void *)(out)))
#define MEMORY_SEEN(f, n)                                                                          \
    do {                                                                                           \
        if (f)                                                                                     \
            *(f) = limit - used;                                                                   \
        if (n)                                                                                     \
            *(n) = limit;                                                                          \
    } while (0)
#define POOL_SET(pool, attr, value) ((void)0)
#define POOL_GET(pool, attr, value)                                                                \
    ((value) ? (void)(*(uint64_t *)(value) = (attr) == 5 ? most : used) : (void)0)
#define CONTEXT_ENDED(x) ((void)0)
#define CONTEXT_RESET(x) ((void)0)
#define take_DEVICE take
#define take_MANAGED take
#define take_HOST take
#define take_ASYNC take
#define take_POOL take
#define take_IPC(out, n) take(out, 1)
#define take_PITCHED(out, n) take_pitched(out, pitch, width, height)

static unsigned take_pitched(unsigned long long *out, size_t *pitch, size_t width, size_t height)
{
    if (!pitch)
        return 1;
    *pitch = (width + 511) & ~(size_t)511;
    return take(out, *pitch * height);
}

#define CTR_HOOK(sym, base, since, stream_kind, cls, params, args, before, after)                  \
    EXPORT CUresult sym params;                                                                    \
    CUresult sym params                                                                            \
    {                                                                                              \
        unsigned long long key = 0;                                                                \
        CUresult r = gate(FN_##sym);                                                               \
        (void)key;                                                                                 \
        if (r)                                                                                     \
            return r;                                                                              \
        before;                                                                                    \
        after;                                                                                     \
        return r;                                                                                  \
    }
#include "recorder/hooks.def"
#undef CTR_HOOK

EXPORT CUresult cuInit(unsigned flags);
EXPORT CUresult cuDriverGetVersion(int *out);
EXPORT CUresult cuGetProcAddress(const char *symbol, void **out, int version, uint64_t flags);
EXPORT CUresult cuGetProcAddress_v2(const char *symbol, void **out, int version, uint64_t flags,
                                    unsigned *status);

CUresult cuInit(unsigned flags)
{
    return flags ? 1 : 0;
}

CUresult cuDriverGetVersion(int *out)
{
    *out = 12040;
    return 0;
}

#define PT 1
static const struct {
    const char *sym, *base;
    unsigned since, per_thread;
    void *function;
} table[] = {
#define CTR_HOOK(sym, base, since, stream_kind, cls, params, args, before, after)                  \
    {#sym, #base, since, stream_kind, (void *)sym},
#include "recorder/hooks.def"
#undef CTR_HOOK
    {"cuInit", "cuInit", 2000, 0, (void *)cuInit},
    {"cuDriverGetVersion", "cuDriverGetVersion", 2020, 0, (void *)cuDriverGetVersion},
    {"cuGetProcAddress", "cuGetProcAddress", 11030, 0, (void *)cuGetProcAddress},
    {"cuGetProcAddress_v2", "cuGetProcAddress", 12000, 0, (void *)cuGetProcAddress_v2},
};

CUresult cuGetProcAddress_v2(const char *symbol, void **out, int version, uint64_t flags,
                             unsigned *status)
{
    int best = -1;
    for (unsigned i = 0; i < sizeof table / sizeof *table; i++)
        if (strcmp(table[i].base, symbol) == 0 && (int)table[i].since <= version &&
            (!table[i].per_thread || (flags & CTR_PER_THREAD_STREAM)) &&
            (best < 0 || table[i].per_thread > table[best].per_thread ||
             table[i].since > table[best].since))
            best = (int)i;
    if (status)
        *status = best < 0 ? 1 : 0;
    if (out)
        *out = best < 0 ? NULL : table[best].function;
    return best < 0 ? 500 : 0;
}

CUresult cuGetProcAddress(const char *symbol, void **out, int version, uint64_t flags)
{
    return cuGetProcAddress_v2(symbol, out, version, flags, NULL);
}
