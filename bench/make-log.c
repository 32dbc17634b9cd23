/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a log for the scan benchmark: usage: make-log MEBIBYTES quiet|telling >FILE
 * quiet: the lines of a serving process and a syslog, one telling line in a mebibyte;
 * telling: every line matches a signature. The same arguments give the same bytes.
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

static const char *pick(const char *const *words, unsigned n)
{
    return words[roll(n)];
}

static int quiet(char *buf, size_t cap, uint64_t ms)
{
    static const char *const levels[] = {"INFO", "INFO", "INFO", "DEBUG", "WARNING"};
    static const char *const parts[] = {"scheduler", "batcher", "decode", "preproc", "http",
                                        "tracker", "postproc", "ingest"};
    static const char *const verbs[] = {"accepted", "finished", "queued", "flushed", "rotated",
                                        "resized", "cached"};
    unsigned s = (unsigned)(ms / 1000), h = s / 3600 % 24, m = s / 60 % 60, day = s / 86400 % 28 + 1;
    switch (roll(6)) {
    case 0:
        return snprintf(buf, cap,
                        "2026-03-%02uT%02u:%02u:%02u.%03uZ edge-%u app[%u]: GET /v2/models/%s/infer "
                        "200 %u.%03u ms %u bytes\n",
                        day, h, m, s % 60, (unsigned)(ms % 1000), roll(9), 1000 + roll(9000),
                        pick(parts, 8), roll(90), roll(1000), roll(100000));
    case 1:
        return snprintf(buf, cap,
                        "2026-03-%02u %02u:%02u:%02u,%03u %s %s: request %08x %s in %u.%02u ms, batch "
                        "%u, queue %u\n",
                        day, h, m, s % 60, (unsigned)(ms % 1000), pick(levels, 5), pick(parts, 8),
                        roll(1u << 30), pick(verbs, 7), roll(60), roll(100), 1 + roll(32), roll(64));
    case 2:
        return snprintf(buf, cap,
                        "2026-03-%02u %02u:%02u:%02u,%03u %s %s: frame %u of camera %u %s, %u boxes, "
                        "pool %u/%u blocks\n",
                        day, h, m, s % 60, (unsigned)(ms % 1000), pick(levels, 5), pick(parts, 8),
                        roll(1u << 24), roll(16), pick(verbs, 7), roll(40), roll(512), 512u);
    case 3:
        return snprintf(buf, cap,
                        "2026-03-%02u %02u:%02u:%02u,%03u DEBUG %s: tensor images shape [%u, 3, 640, "
                        "640] dtype float16 device cuda:%u stream 0x%08x\n",
                        day, h, m, s % 60, (unsigned)(ms % 1000), pick(parts, 8), 1 + roll(32),
                        roll(8), roll(1u << 30));
    case 4:
        return snprintf(buf, cap,
                        "2026-03-%02u %02u:%02u:%02u,%03u INFO metrics: p50=%u.%02u p95=%u.%02u "
                        "p99=%u.%02u qps=%u gpu_util=%u mem=%uMiB\n",
                        day, h, m, s % 60, (unsigned)(ms % 1000), roll(20), roll(100), 20 + roll(20),
                        roll(100), 40 + roll(40), roll(100), roll(900), roll(100), roll(20000));
    default:
        return snprintf(buf, cap,
                        "2026-03-%02u %02u:%02u:%02u,%03u INFO %s: session %08x-%04x user %u %s "
                        "objects=%u elapsed=%uus\n",
                        day, h, m, s % 60, (unsigned)(ms % 1000), pick(parts, 8), roll(1u << 30),
                        roll(65536), roll(100000), pick(verbs, 7), roll(5000), roll(100000));
    }
}

/* One syslog of a host: the kernel and a program complain in turn. */
static int telling(char *buf, size_t cap, uint64_t ms)
{
    unsigned s = (unsigned)(ms / 1000), h = s / 3600 % 24, m = s / 60 % 60, day = s / 86400 % 28 + 1;
    int n = snprintf(buf, cap, "2026-03-%02uT%02u:%02u:%02u.%03u000+00:00 edge-3 ", day, h, m,
                     s % 60, (unsigned)(ms % 1000));
    size_t at = (size_t)n;
    switch (roll(3)) {
    case 0:
        return n + snprintf(buf + at, cap - at,
                            "infer[812]: ERROR CUDA error: an illegal memory access was encountered "
                            "at worker %u batch %u\n",
                            roll(8), roll(10000));
    case 1:
        return n + snprintf(buf + at, cap - at,
                            "kernel: NVRM: Xid (PCI:0000:%02x:00): %u, pid=%u, name=python3, Ch "
                            "%08x\n",
                            roll(8) * 16 + 1, 31 + roll(2) * 12, 1000 + roll(4), roll(16));
    default:
        return n + snprintf(buf + at, cap - at,
                            "infer[812]: WARN pool: cudaMallocAsync failed: out of memory, tried %u "
                            "MiB\n",
                            roll(4096));
    }
}

int main(int argc, char **argv)
{
    if (argc != 3 || (strcmp(argv[2], "quiet") != 0 && strcmp(argv[2], "telling") != 0)) {
        fprintf(stderr, "usage: make-log MEBIBYTES quiet|telling >FILE\n");
        return 2;
    }
    uint64_t want = strtoull(argv[1], NULL, 10) << 20, done = 0, next = 1u << 19, ms = 0;
    int all = argv[2][0] == 't';
    char line[512];
    while (done < want) {
        ms += 1 + roll(9);
        int n = all || done >= next ? telling(line, sizeof line, ms) : quiet(line, sizeof line, ms);
        if (!all && done >= next)
            next += 1u << 20;
        if (fwrite(line, 1, (size_t)n, stdout) != (size_t)n)
            return 1;
        done += (uint64_t)n;
    }
    return fflush(stdout) != 0;
}
