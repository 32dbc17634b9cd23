/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What may stand in the last two columns of hooks.def. `c` is the call, `r` its result, `t` the
 * thread. Out parameters are read only when the call succeeded and the pointer is there: NULL is
 * legal for some callers.
 */
#pragma once

#define CTR_U64(x) ((uint64_t)(uintptr_t)(x))
#define CTR_OK (r == CTR_SUCCESS)

#define NONE
#define NOTE(s, x, y) (c.stream = CTR_U64(s), c.a = CTR_U64(x), c.b = CTR_U64(y))
#define WAITED(s, x, y) (NOTE(s, x, y), c.c = ctr_since(t, c.t_ns))
#define MADE(out) (CTR_OK && (out) ? (void)(c.a = CTR_U64(*(out))) : (void)0)
#define ENDED_CAPTURE(s, out) (c.stream = CTR_U64(s), MADE(out))
#define HERE (c.frame = __builtin_frame_address(0), c.cfa = __builtin_dwarf_cfa())
#define BORN(kind, value, key, n)                                                                  \
    (HERE, c.b = (uint64_t)(n),                                                                    \
     CTR_OK ? (c.a = (value), ctr_allocated(&c, t, kind, (key), c.b)) : (void)0)
#define ALLOCATED(kind, out, n, s)                                                                 \
    do {                                                                                           \
        c.stream = CTR_U64(s);                                                                     \
        c.b = (uint64_t)(n);                                                                       \
        if (out)                                                                                   \
            BORN(CTW_MEM_##kind, CTR_U64(*(out)), c.a, n);                                         \
    } while (0)
#define REGISTERED_AT(ptr, n) BORN(CTW_MEM_REGISTERED, CTR_U64(ptr), c.a, n)
/* Handles that stand for memory. */
#define ALLOCATED_HANDLE(kind, out, n)                                                             \
    do {                                                                                           \
        c.b = (uint64_t)(n);                                                                       \
        if (out)                                                                                   \
            BORN(CTW_MEM_##kind, CTR_U64(*(out)), CTW_KEY(CTW_MEM_##kind, c.a), n);                \
    } while (0)
#define ARRAY(out, d)                                                                              \
    ALLOCATED_HANDLE(                                                                              \
        ARRAY, out,                                                                                \
        (d) ? ctr_array_bytes((d)->Width, (d)->Height, 0, (d)->Format, (d)->NumChannels) : 0)
#define ARRAY_3D(out, d)                                                                           \
    ALLOCATED_HANDLE(                                                                              \
        ARRAY, out,                                                                                \
        (d) ? ctr_array_bytes((d)->Width, (d)->Height, (d)->Depth, (d)->Format, (d)->NumChannels)  \
            : 0)
#define IMPORTED(out, d) ALLOCATED_HANDLE(EXTERNAL, out, (d) ? (d)->size : 0)
#define FREEING(ptr) (HERE, ctr_freeing(&c, t, CTR_U64(ptr)))
#define FREEING_HANDLE(kind, h) (HERE, ctr_freeing(&c, t, CTW_KEY(CTW_MEM_##kind, h)))
#define FREED(s) (c.stream = CTR_U64(s), ctr_freed(&c, t, CTR_OK, false))
/* Objects, and ranges of addresses. */
#define MADE_OBJECT(kind, s, out)                                                                  \
    do {                                                                                           \
        c.stream = t->ring->context; /* where it belongs to */                                     \
        if (out)                                                                                   \
            BORN(CTW_OBJ_##kind, CTR_U64(*(out)), CTW_KEY(CTW_OBJ_##kind, c.a), 0);                \
    } while (0)
#define MADE_RANGE(kind, ptr, n) BORN(CTW_OBJ_##kind, CTR_U64(ptr), CTW_KEY(CTW_OBJ_##kind, c.a), n)
#define ENDING(kind, h) (HERE, ctr_freeing(&c, t, CTW_KEY(CTW_OBJ_##kind, CTR_U64(h))))
#define ENDED (ctr_freed(&c, t, CTR_OK, true))
#define CONTEXT_IS(x) (NOTE(0, x, 0), CTR_OK ? (void)(t->ring->context = CTR_U64(x)) : (void)0)
#define MADE_CONTEXT(out)                                                                          \
    do {                                                                                           \
        MADE_OBJECT(CONTEXT, 0, out);                                                              \
        if (CTR_OK && (out))                                                                       \
            t->ring->context = CTR_U64(*(out));                                                    \
    } while (0)
/* A copy with one side on the host; that of a copy that waits stands where its stream would. */
#define COPIED(s, x, n, host) (NOTE(s, x, n), c.c = CTR_U64(host), c.flags = CTW_HOST_IN_C)
#define COPIED_AND_WAITED(x, n, host) (WAITED(host, x, n), c.flags = CTW_HOST_IN_STREAM)
#define LAUNCHED(s, f, grid, block)                                                                \
    (NOTE(s, f, grid), c.c = (block), c.name = ctr_handle_name(CTR_U64(f)))
#define LAUNCHED_EX(config, f)                                                                     \
    do {                                                                                           \
        c.a = CTR_U64(f);                                                                          \
        c.name = ctr_handle_name(c.a);                                                             \
        if (config) {                                                                              \
            c.stream = CTR_U64((config)->hStream);                                                 \
            c.b = (uint64_t)(config)->gridDimX * (config)->gridDimY * (config)->gridDimZ;          \
            c.c = (uint64_t)(config)->blockDimX * (config)->blockDimY * (config)->blockDimZ;       \
        }                                                                                          \
    } while (0)
#define NAMED(out, owner, text)                                                                    \
    do {                                                                                           \
        if (text)                                                                                  \
            c.name = ctr_intern(text);                                                             \
        if (CTR_OK && (out)) {                                                                     \
            c.a = CTR_U64(*(out));                                                                 \
            ctr_name_handle(c.a, CTR_U64(owner), c.name);                                          \
        }                                                                                          \
    } while (0)
#define SAME_NAME(out, kernel)                                                                     \
    (CTR_OK && (out) ? (void)(c.a = CTR_U64(*(out)), c.name = ctr_name_as(c.a, CTR_U64(kernel)))   \
                     : (void)0)
#define UNLOADING(kind, h) (ctr_forget_names(CTR_U64(h)), ENDING(kind, h))
#define CTR_SEEN(field, value) __atomic_store_n(&ctr_arena->field, (value), __ATOMIC_RELAXED)
#define MEMORY_SEEN(f, n)                                                                          \
    do {                                                                                           \
        if (CTR_OK && (f) && (n)) {                                                                \
            CTR_SEEN(free_bytes, c.a = *(f));                                                      \
            CTR_SEEN(total_bytes, c.b = *(n));                                                     \
        }                                                                                          \
    } while (0)
/* Numbers of the attributes: threshold 4, reserved 5, used 7. */
#define POOL_SET(pool, attr, value)                                                                \
    do {                                                                                           \
        NOTE(0, pool, attr);                                                                       \
        if (CTR_OK && (value) && (attr) == 4)                                                      \
            CTR_SEEN(pool_threshold, c.c = *(const uint64_t *)(value));                            \
    } while (0)
#define POOL_GET(pool, attr, value)                                                                \
    do {                                                                                           \
        NOTE(0, pool, attr);                                                                       \
        if (CTR_OK && (value) && (attr) == 5)                                                      \
            CTR_SEEN(pool_reserved, c.c = *(const uint64_t *)(value));                             \
        if (CTR_OK && (value) && (attr) == 7)                                                      \
            CTR_SEEN(pool_used, c.c = *(const uint64_t *)(value));                                 \
    } while (0)
/* What lived in it went with it. */
#define CONTEXT_ENDED(x)                                                                           \
    (c.b = 0, ENDED, CTR_OK ? (void)CTR_ADD(ctr_arena->context_ends, 1) : (void)0)
#define CONTEXT_RESET(x)                                                                           \
    (NOTE(0, x, 0), CTR_OK ? (void)CTR_ADD(ctr_arena->context_ends, 1) : (void)0)
