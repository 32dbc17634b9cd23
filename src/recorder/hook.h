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
#define WAITED(s, x, y) (NOTE(s, x, y), c.c = (uint64_t)(ctr_now() - c.t_ns))
#define MADE(out) (CTR_OK && (out) ? (void)(c.a = CTR_U64(*(out))) : (void)0)
#define ENDED_CAPTURE(s, out) (c.stream = CTR_U64(s), MADE(out))
#define ALLOCATED(kind, out, n, s)                                                                 \
    do {                                                                                           \
        c.stream = CTR_U64(s);                                                                     \
        c.b = (uint64_t)(n);                                                                       \
        if (CTR_OK && (out))                                                                       \
            ctr_allocated(&c, t, CTW_MEM_##kind, CTR_U64(*(out)), c.b, __builtin_frame_address(0));\
    } while (0)
#define REGISTERED_AT(ptr, n)                                                                      \
    do {                                                                                           \
        c.b = (uint64_t)(n);                                                                       \
        if (CTR_OK)                                                                                \
            ctr_allocated(&c, t, CTW_MEM_REGISTERED, CTR_U64(ptr), c.b,                            \
                          __builtin_frame_address(0));                                             \
    } while (0)
#define ALLOCATED_HANDLE(out, n)                                                                   \
    do {                                                                                           \
        c.b = (uint64_t)(n);                                                                       \
        if (CTR_OK && (out))                                                                       \
            ctr_allocated(&c, t, CTW_MEM_PHYSICAL, CTR_U64(*(out)) ^ CTR_HANDLE_BIT, c.b,          \
                          __builtin_frame_address(0));                                             \
    } while (0)
#define FREEING(ptr) ctr_freeing(&c, CTR_U64(ptr))
#define FREED(s) (c.stream = CTR_U64(s), ctr_freed(&c, t, CTR_OK))
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
#define NAMED(out, text)                                                                           \
    do {                                                                                           \
        if (CTR_OK && (out) && (text)) {                                                           \
            c.a = CTR_U64(*(out));                                                                 \
            c.name = ctr_intern(text);                                                             \
            ctr_name_handle(c.a, c.name);                                                          \
        } else if (text) {                                                                         \
            c.name = ctr_intern(text);                                                             \
        }                                                                                          \
    } while (0)
#define SAME_NAME(out, kernel)                                                                     \
    do {                                                                                           \
        if (CTR_OK && (out)) {                                                                     \
            c.a = CTR_U64(*(out));                                                                 \
            c.name = ctr_handle_name(CTR_U64(kernel));                                             \
            ctr_name_handle(c.a, c.name);                                                          \
        }                                                                                          \
    } while (0)
#define MEMORY_SEEN(f, n)                                                                          \
    do {                                                                                           \
        if (CTR_OK && (f) && (n)) {                                                                \
            ctr_arena->free_bytes = c.a = *(f);                                                    \
            ctr_arena->total_bytes = c.b = *(n);                                                   \
        }                                                                                          \
    } while (0)
/* Numbers of the attributes: threshold 4, reserved 5, used 7. */
#define POOL_SET(pool, attr, value)                                                                \
    do {                                                                                           \
        NOTE(0, pool, attr);                                                                       \
        if (CTR_OK && (value) && (attr) == 4)                                                      \
            ctr_arena->pool_threshold = c.c = *(const uint64_t *)(value);                          \
    } while (0)
#define POOL_GET(pool, attr, value)                                                                \
    do {                                                                                           \
        NOTE(0, pool, attr);                                                                       \
        if (CTR_OK && (value) && (attr) == 5)                                                      \
            ctr_arena->pool_reserved = c.c = *(const uint64_t *)(value);                           \
        if (CTR_OK && (value) && (attr) == 7)                                                      \
            ctr_arena->pool_used = c.c = *(const uint64_t *)(value);                               \
    } while (0)
#define CONTEXT_ENDED(x) (NOTE(0, x, 0), CTR_OK ? (void)CTR_ADD(ctr_arena->context_ends, 1) : (void)0)
