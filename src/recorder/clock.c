/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CLOCK_MONOTONIC, cheaply. The vDSO reads the processor's counter and scales it; a hook does the
 * same from a reading that its thread made a few ms ago, without the barriers and the checks. Only
 * where the kernel itself keeps time by that counter, and with a rate that is measured anew with
 * each sample: what extrapolation can be wrong by is the change of the rate within SPAN_NS.
 */
#include "recorder/recorder.h"

#include <fcntl.h>

#include "recorder/sys.h"

#define SPAN_NS 8000000
#define FIRST_NS 5000000 /* between the readings that give the first rate, and the later ones */
#define LEAST_NS 50000000
#define MOST_NS 10000000000
#define BRACKET_NS 2000 /* a reading of both clocks that took longer was interrupted */

struct ctr_rate ctr_rate;

static struct pair {
    uint64_t ticks;
    int64_t ns;
} last;
static uint32_t allowed, measuring, rate_seen;

static bool starts_with(const char *text, long len, const char *want)
{
    long i = 0;
    for (; want[i]; i++)
        if (i >= len || text[i] != want[i])
            return false;
    return i < len && text[i] == '\n';
}

/* Whether the kernel trusts the counter: the same on all processors, at a constant rate. */
void ctr_clock_begin(void)
{
    char name[32];
    long fd = CTR_SYS(SYS_openat, AT_FDCWD,
                      (intptr_t) "/sys/devices/system/clocksource/clocksource0/current_clocksource",
                      O_RDONLY | O_CLOEXEC | O_NOCTTY, 0);
    __atomic_store_n(&ctr_rate.span, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&measuring, 0, __ATOMIC_RELAXED); /* a fork may have cut a measurement short */
    allowed = rate_seen = 0;
    last = (struct pair){0, 0};
    if (fd < 0)
        return;
    long n = CTR_SYS(SYS_read, fd, (intptr_t)name, sizeof name);
    CTR_SYS(SYS_close, fd);
#if defined(__x86_64__)
    allowed = starts_with(name, n, "tsc");
#else
    allowed = starts_with(name, n, "arch_sys_counter");
#endif
}

static int64_t system_clock(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* Both clocks at one moment; false when something came in between. Two clock readings around the
 * counter tell that without knowing its rate. */
static bool read_both(struct pair *out, int64_t *now)
{
    int64_t before = system_clock();
    out->ticks = ctr_ticks();
    *now = system_clock();
    out->ns = before + (*now - before) / 2;
    return *now - before <= BRACKET_NS;
}

CTR_COLD int64_t ctr_now_slow(struct ctr_thread *t)
{
    struct pair p;
    int64_t now;
    if (!__atomic_load_n(&ctr_rate.span, __ATOMIC_RELAXED)) {
        now = system_clock();
        if (now - __atomic_load_n(&last.ns, __ATOMIC_RELAXED) >= FIRST_NS)
            ctr_measure_rate();
    } else if (read_both(&p, &now)) {
        t->ticks_at = p.ticks;
        t->ns_at = p.ns;
    }
    if (now - __atomic_load_n(&ctr_arena->sample_last[0], __ATOMIC_RELAXED) >= CTR_SAMPLE_NS)
        ctr_sample(now);
    return now;
}

static void take_rate(int64_t ns, uint64_t ticks)
{
    uint64_t scale = (uint64_t)(((unsigned __int128)ns << 32) / ticks);
    uint64_t had = __atomic_load_n(&ctr_rate.scale, __ATOMIC_RELAXED);
    uint64_t off = had > scale ? had - scale : scale - had;
    if (rate_seen && off > had / 1000) {
        __atomic_store_n(&allowed, 0, __ATOMIC_RELAXED);
        __atomic_store_n(&ctr_rate.span, 0, __ATOMIC_RELAXED);
        return;
    }
    rate_seen = 1;
    __atomic_store_n(&ctr_rate.scale, scale, __ATOMIC_RELAXED);
    __atomic_store_n(&ctr_rate.span, ticks * SPAN_NS / (uint64_t)ns, __ATOMIC_RELEASE);
}

/* With each sample. A rate that jumps is none: the clock of the system from then on. */
CTR_COLD void ctr_measure_rate(void)
{
    struct pair p;
    int64_t now;
    uint32_t none = 0;
    if (!__atomic_load_n(&allowed, __ATOMIC_RELAXED) ||
        !__atomic_compare_exchange_n(&measuring, &none, 1, false, __ATOMIC_ACQUIRE,
                                     __ATOMIC_RELAXED))
        return;
    int64_t least = rate_seen ? LEAST_NS : FIRST_NS;
    if (read_both(&p, &now) && p.ns - last.ns >= least) {
        uint64_t ticks = p.ticks - last.ticks;
        if (last.ns && p.ns - last.ns <= MOST_NS && ticks > 0 && ticks < 1ull << 40)
            take_rate(p.ns - last.ns, ticks);
        last.ticks = p.ticks;
        __atomic_store_n(&last.ns, p.ns, __ATOMIC_RELAXED);
    }
    __atomic_store_n(&measuring, 0, __ATOMIC_RELEASE);
}
