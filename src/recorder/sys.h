/* SPDX-License-Identifier: Apache-2.0 */
/* System calls without libc: errno stays as it is, and no symbol newer than glibc 2.31 comes in. */
#pragma once

#include <stdint.h>
#include <sys/syscall.h>

static inline long ctr_sys(long number, long a, long b, long c, long d, long e, long f)
{
#if defined(__x86_64__)
    long result;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
#elif defined(__aarch64__)
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;
    __asm__ volatile("svc 0"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                     : "memory");
    return x0;
#else
#error "x86-64 and aarch64 only"
#endif
}

#define CTR_SYS(number, ...) CTR_SYS_(number, __VA_ARGS__, 0, 0, 0, 0, 0, 0)
#define CTR_SYS_(number, a, b, c, d, e, f, ...)                                                    \
    ctr_sys((number), (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

static inline void *ctr_map(void *at, uint64_t len, int prot, int flags, int fd, uint64_t offset)
{
    long p = CTR_SYS(SYS_mmap, (intptr_t)at, len, prot, flags, fd, offset);
    return p < 0 && p > -4096 ? (void *)0 : (void *)p;
}
