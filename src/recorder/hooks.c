/* SPDX-License-Identifier: Apache-2.0 */
/* The wrappers, made from hooks.def, and the three functions that are substituted by hand. */
#include "recorder/recorder.h"

#include "recorder/hook.h"

#define PT 1
#ifdef CTR_TSAN
#define CTR_REAL(fn) __atomic_load_n(&ctr_real[fn], __ATOMIC_RELAXED)
#else
#define CTR_REAL(fn)                                                                               \
    ctr_real[fn] /* a word that only ever changes from NULL; one instruction less */
#endif
#define CTR_CALL(fn, params) ((CUresult(*) params)__atomic_load_n(&ctr_real[fn], __ATOMIC_RELAXED))

#define CTR_HOOK(sym, base, since, stream_kind, cls, params, args, before, after)                  \
    CTR_EXPORT CUresult sym params;                                                                \
    CUresult sym params                                                                            \
    {                                                                                              \
        if (CTR_UNLIKELY(!CTR_REAL(CTR_FN_##sym)) && !ctr_resolve(CTR_FN_##sym))                   \
            return CTR_NOT_INITIALIZED;                                                            \
        struct ctr_thread *t = ctr_enter(CTR_FN_##sym);                                            \
        if (CTR_UNLIKELY(!t))                                                                      \
            return CTR_CALL(CTR_FN_##sym, params) args;                                            \
        struct ctr_call c;                                                                         \
        c.fn = CTR_FN_##sym;                                                                       \
        c.t_ns = ctr_now(t);                                                                       \
        c.stream = c.a = c.b = c.c = c.key = 0;                                                    \
        c.name = c.site = c.flags = 0;                                                             \
        before;                                                                                    \
        CUresult r = CTR_CALL(CTR_FN_##sym, params) args;                                          \
        after;                                                                                     \
        ctr_leave(t, &c, CTW_CLASS_##cls, r);                                                      \
        return r;                                                                                  \
    }
#include "recorder/hooks.def"
#undef CTR_HOOK

CTR_EXPORT CUresult cuInit(unsigned flags);
CUresult cuInit(unsigned flags)
{
    if (!ctr_real[CTR_FN_cuInit] && !ctr_resolve(CTR_FN_cuInit))
        return CTR_NO_DEVICE;
    CUresult r = CTR_CALL(CTR_FN_cuInit, (unsigned))(flags);
    if (r == CTR_SUCCESS)
        ctr_cuda_is_up();
    return r;
}

#define CTR_KNOWN_CUDA 13030 /* up to here hooks.def knows each version of its functions */

static bool same(const char *a, const char *b)
{
    while (*a && *a == *b)
        a++, b++;
    return *a == *b;
}

/* Which of our wrappers stands for what the driver gave. Where that is an exported symbol, its name
 * decides; where it is not, the version that was asked for. What hooks.def does not list passes. */
static void *substitute(const char *symbol, void *given, int version, uint64_t flags)
{
    bool per_thread = flags & CTR_PER_THREAD_STREAM;
    int best = -1;
    for (int i = 0; i < CTR_N_FNS; i++) {
        const struct ctr_name *n = &ctr_names[i];
        if (!same(symbol, n->base) && !same(symbol, n->sym))
            continue;
        if (!ctr_real[i])
            ctr_resolve((uint32_t)i);
        if (ctr_real[i] == given)
            return n->wrapper;
        if ((int)n->since <= version && (!n->per_thread || per_thread) &&
            (best < 0 || n->per_thread > ctr_names[best].per_thread ||
             (n->per_thread == ctr_names[best].per_thread && n->since > ctr_names[best].since)))
            best = i;
    }
    if (best < 0 || version > CTR_KNOWN_CUDA || ctr_is_exported(symbol, given))
        return given;
    if (!ctr_real[best])
        __atomic_store_n(&ctr_real[best], given, __ATOMIC_RELEASE);
    return ctr_names[best].wrapper;
}

CTR_EXPORT CUresult cuGetProcAddress(const char *symbol, void **out, int version, uint64_t flags);
CUresult cuGetProcAddress(const char *symbol, void **out, int version, uint64_t flags)
{
    if (!ctr_real[CTR_FN_cuGetProcAddress] && !ctr_resolve(CTR_FN_cuGetProcAddress))
        return CTR_NOT_INITIALIZED;
    CUresult r = CTR_CALL(CTR_FN_cuGetProcAddress, (const char *, void **, int, uint64_t))(
        symbol, out, version, flags);
    if (r == CTR_SUCCESS && symbol && out && *out)
        *out = substitute(symbol, *out, version, flags);
    return r;
}

CTR_EXPORT CUresult cuGetProcAddress_v2(const char *symbol, void **out, int version, uint64_t flags,
                                        CUdriverProcAddressQueryResult *status);
CUresult cuGetProcAddress_v2(const char *symbol, void **out, int version, uint64_t flags,
                             CUdriverProcAddressQueryResult *status)
{
    if (!ctr_real[CTR_FN_cuGetProcAddress_v2] && !ctr_resolve(CTR_FN_cuGetProcAddress_v2))
        return CTR_NOT_INITIALIZED;
    CUresult r = CTR_CALL(CTR_FN_cuGetProcAddress_v2,
                          (const char *, void **, int, uint64_t, CUdriverProcAddressQueryResult *))(
        symbol, out, version, flags, status);
    if (r == CTR_SUCCESS && symbol && out && *out)
        *out = substitute(symbol, *out, version, flags);
    return r;
}

const struct ctr_name ctr_names[CTR_N_FNS] = {
#define CTR_HOOK(sym, base, since, stream_kind, cls, params, args, before, after)                  \
    {#sym, #base, (void *)sym, since, stream_kind, CTW_CLASS_##cls},
#include "recorder/hooks.def"
#undef CTR_HOOK
    {"cuInit", "cuInit", (void *)cuInit, 2000, 0, 0},
    {"cuGetProcAddress", "cuGetProcAddress", (void *)cuGetProcAddress, 11030, 0, 0},
    {"cuGetProcAddress_v2", "cuGetProcAddress", (void *)cuGetProcAddress_v2, 12000, 0, 0},
};

void *ctr_real[CTR_N_FNS];
