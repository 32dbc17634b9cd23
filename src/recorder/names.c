/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strings, kept once, and the names of functions by their handles. Strings stay; handles go with
 * their module, and where a window is full with the row that no launch has used for longest.
 */
#include "recorder/recorder.h"

#define GONE 1u /* was a handle: look-ups go on, a new one may stand here */
#define BUSY 2u

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

/* The name before the handle, and never one handle with the name of another. */
static bool enter(struct ctw_func *f, uint64_t have, uint64_t handle, uint64_t owner, uint32_t name)
{
    if (!__atomic_compare_exchange_n(&f->handle, &have, BUSY, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED))
        return false;
    __atomic_store_n(&f->name, name, __ATOMIC_RELEASE);
    __atomic_store_n(&f->owner, owner, __ATOMIC_RELAXED);
    __atomic_store_n(&f->used, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&f->handle, handle, __ATOMIC_RELEASE);
    return true;
}

/* A row of a full window that no launch has used since the last time that one was looked for. */
static struct ctw_func *least_used(struct ctw_func *table, uint64_t h)
{
    for (uint32_t k = 0; k < CTW_WINDOW; k++) {
        struct ctw_func *f = &table[(h + k) & (CTW_FUNCS - 1)];
        if (!__atomic_exchange_n(&f->used, 0, __ATOMIC_RELAXED))
            return f;
    }
    return &table[h & (CTW_FUNCS - 1)];
}

static struct ctw_func *place_for(struct ctw_func *table, uint64_t h, uint64_t handle)
{
    struct ctw_func *room = NULL;
    for (uint32_t k = 0; k < CTW_WINDOW; k++) {
        struct ctw_func *f = &table[(h + k) & (CTW_FUNCS - 1)];
        uint64_t have = __atomic_load_n(&f->handle, __ATOMIC_ACQUIRE);
        if (have == handle)
            return f;
        if (have <= GONE && !room)
            room = f;
        if (have == 0)
            break;
    }
    return room ? room : least_used(table, h);
}

void ctr_name_handle(uint64_t handle, uint64_t owner, uint32_t name)
{
    struct ctw_func *table = CTR_TABLE(struct ctw_func, off_funcs);
    if (handle <= BUSY || !name)
        return;
    for (int tries = 0; tries < 4; tries++) {
        struct ctw_func *f = place_for(table, ctw_hash(handle), handle);
        uint64_t have = __atomic_load_n(&f->handle, __ATOMIC_RELAXED);
        if (have != BUSY && enter(f, have, handle, owner, name))
            return;
    }
    CTR_ADD(ctr_arena->dropped_strings, 1); /* others were faster each time */
}

/* Before the module goes: as soon as the driver has it back, its handles may be given out again. */
CTR_COLD void ctr_forget_names(uint64_t owner)
{
    struct ctw_func *table = CTR_TABLE(struct ctw_func, off_funcs);
    for (uint32_t i = 0; owner && i < CTW_FUNCS; i++) {
        uint64_t have = __atomic_load_n(&table[i].handle, __ATOMIC_RELAXED);
        if (have > BUSY && __atomic_load_n(&table[i].owner, __ATOMIC_RELAXED) == owner)
            __atomic_compare_exchange_n(&table[i].handle, &have, GONE, false, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED);
    }
}

struct ctw_func *ctr_handle_row(uint64_t handle)
{
    struct ctw_func *table = CTR_TABLE(struct ctw_func, off_funcs);
    uint64_t h = ctw_hash(handle);
    for (uint32_t k = 0; k < CTW_WINDOW && handle > BUSY; k++) {
        struct ctw_func *f = &table[(h + k) & (CTW_FUNCS - 1)];
        uint64_t have = __atomic_load_n(&f->handle, __ATOMIC_ACQUIRE);
        if (have == handle)
            return f;
        if (have == 0)
            break;
    }
    return NULL;
}

uint32_t ctr_handle_name_slow(uint64_t handle)
{
    struct ctw_func *f = ctr_handle_row(handle);
    return f ? ctr_row_name(f, handle) : 0;
}

/* A function of a kernel goes with the kernel's library. */
uint32_t ctr_name_as(uint64_t handle, uint64_t kernel)
{
    struct ctw_func *f = ctr_handle_row(kernel);
    uint32_t name = f ? ctr_row_name(f, kernel) : 0;
    if (name)
        ctr_name_handle(handle, __atomic_load_n(&f->owner, __ATOMIC_RELAXED), name);
    return name;
}
