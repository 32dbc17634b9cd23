/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a log for the scan benchmark: make-log MEBIBYTES quiet|measured|telling >FILE
 * quiet: a serving process at work, one telling line in a mebibyte; measured: the same with a
 * latency or a rate in every line; telling: every line matches a signature. The same arguments give
 * the same bytes.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state = 88172645463325252u;

static unsigned roll(unsigned n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (unsigned)(state >> 33) % n;
}

typedef struct {
    char *at, *end;
} Out;

__attribute__((format(printf, 2, 3))) static void put(Out *o, const char *format, ...)
{
    __builtin_va_list args;
    __builtin_va_start(args, format);
    o->at += vsnprintf(o->at, (size_t)(o->end - o->at), format, args);
    __builtin_va_end(args);
}

static const char *level(void)
{
    static const char *const words[] = {"INFO", "INFO", "INFO", "DEBUG", "WARNING"};
    return words[roll(5)];
}

static const char *part(void)
{
    static const char *const words[] = {"scheduler", "batcher", "decode", "preproc",
                                        "http",      "tracker", "postproc", "ingest"};
    return words[roll(8)];
}

static const char *verb(void)
{
    static const char *const words[] = {"accepted", "finished", "queued", "flushed",
                                        "rotated",  "resized",  "cached"};
    return words[roll(7)];
}

static void stamp(Out *o, uint64_t ms, const char *between, const char *point)
{
    unsigned s = (unsigned)(ms / 1000);
    put(o, "2026-03-%02u%s%02u:%02u:%02u%s%03u", s / 86400 % 28 + 1, between, s / 3600 % 24,
        s / 60 % 60, s % 60, point, (unsigned)(ms % 1000));
}

static void quiet(Out *o, uint64_t ms)
{
    stamp(o, ms, " ", ",");
    switch (roll(5)) {
    case 0:
        put(o, " %s %s: GET /v2/models/%s/versions/%u 200 from 10.4.%u.%u, %u bytes\n", level(),
            part(), part(), roll(9), roll(250), roll(250), roll(100000));
        break;
    case 1:
        put(o, " %s %s: request %08x %s, batch %u, queue %u, priority %u\n", level(), part(),
            roll(1u << 30), verb(), 1 + roll(32), roll(64), roll(3));
        break;
    case 2:
        put(o, " %s %s: frame %u of camera %u %s, %u objects, pool %u of %u blocks\n", level(),
            part(), roll(1u << 24), roll(16), verb(), 1 + roll(40), roll(512), 512u);
        break;
    case 3:
        put(o, " DEBUG %s: tensor images shape [%u, 3, 640, 640] dtype float16 stream 0x%08x %s\n",
            part(), 1 + roll(32), roll(1u << 30), verb());
        break;
    default:
        put(o, " INFO %s: session %08x-%04x user %u %s objects=%u shard=%u\n", part(),
            roll(1u << 30), roll(65536), roll(100000), verb(), roll(5000), roll(64));
        break;
    }
}

static void measured(Out *o, uint64_t ms)
{
    stamp(o, ms, " ", ",");
    if (roll(5) == 0)
        put(o, " INFO metrics: p50=%u.%02u ms p99=%u.%02u ms qps=%u gpu_util=%u%%\n", roll(20),
            roll(100), 40 + roll(40), roll(100), roll(900), roll(100));
    else
        put(o, " INFO %s: request %08x %s in %u.%02u ms, batch %u, queue %u\n", part(),
            roll(1u << 30), verb(), roll(60), roll(100), 1 + roll(32), roll(64));
}

/* One syslog of a host: the kernel and a program complain in turn. */
static void telling(Out *o, uint64_t ms)
{
    stamp(o, ms, "T", ".");
    put(o, "000+00:00 edge-3 ");
    switch (roll(3)) {
    case 0:
        put(o, "infer[812]: ERROR CUDA error: an illegal memory access was encountered at worker "
               "%u batch %u\n",
            roll(8), roll(10000));
        break;
    case 1:
        put(o, "kernel: NVRM: Xid (PCI:0000:%02x:00): %u, pid=%u, name=python3, Ch %08x\n",
            roll(8) * 16 + 1, 31 + roll(2) * 12, 1000 + roll(4), roll(16));
        break;
    default:
        put(o, "infer[812]: WARN pool: cudaMallocAsync failed: out of memory, tried %u MiB\n",
            roll(4096));
        break;
    }
}

int main(int argc, char **argv)
{
    void (*kind)(Out *, uint64_t) = NULL;
    if (argc == 3)
        kind = !strcmp(argv[2], "quiet")      ? quiet
               : !strcmp(argv[2], "measured") ? measured
               : !strcmp(argv[2], "telling")  ? telling
                                              : NULL;
    if (!kind) {
        fprintf(stderr, "usage: make-log MEBIBYTES quiet|measured|telling >FILE\n");
        return 2;
    }
    uint64_t want = strtoull(argv[1], NULL, 10) << 20, done = 0, next = 1u << 19, ms = 0;
    while (done < want) {
        char line[512];
        Out o = {line, line + sizeof line};
        ms += 1 + roll(9);
        if (kind == quiet && done >= next) {
            telling(&o, ms);
            next += 1u << 20;
        } else {
            kind(&o, ms);
        }
        size_t n = (size_t)(o.at - line);
        if (fwrite(line, 1, n, stdout) != n)
            return 1;
        done += n;
    }
    return fflush(stdout) != 0;
}
