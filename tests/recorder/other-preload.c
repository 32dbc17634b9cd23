/* SPDX-License-Identifier: Apache-2.0 */
/* A library that is preloaded too and finds what it wraps by RTLD_NEXT, as allocators and tracers do. */
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

static size_t calls;

void *malloc(size_t size);
void *malloc(size_t size)
{
    static void *(*next)(size_t);
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "malloc");
    calls++;
    return next(size);
}

unsigned cuMemAlloc_v2(unsigned long long *out, size_t bytes);
unsigned cuMemAlloc_v2(unsigned long long *out, size_t bytes)
{
    static unsigned (*next)(unsigned long long *, size_t);
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "cuMemAlloc_v2");
    return next ? next(out, bytes) : 3;
}
