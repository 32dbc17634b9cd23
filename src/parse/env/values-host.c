/* SPDX-License-Identifier: Apache-2.0 */
/* Processor, memory, pressure, control groups, kernel settings. */
#include <string.h>

#include "parse/env/system-values.h"

/* Where no more is to be done than to name it: key and subject may hold $0, $1 for the parts. */
static const struct {
    const char *pattern, *key, *subject;
    double factor; /* 0: text */
} plain[] = {
    {"/sys/devices/system/cpu/online", "host.cpu.online", NULL, 0},
    {"/sys/devices/system/cpu/offline", "host.cpu.offline", NULL, 0},
    {"/sys/devices/system/cpu/isolated", "host.cpu.isolated", NULL, 0},
    {"/sys/devices/system/cpu/intel_pstate/no_turbo", "host.cpu.no-turbo", NULL, 0},
    {"/sys/devices/system/cpu/cpufreq/policy*/scaling_governor", "cpu.governor", "cpu$0", 0},
    {"/sys/devices/system/cpu/cpufreq/policy*/scaling_max_freq", "cpu.clock.max", "cpu$0", 1000},
    {"/sys/devices/system/cpu/cpufreq/policy*/scaling_min_freq", "cpu.clock.min", "cpu$0", 1000},
    {"/sys/devices/system/cpu/cpufreq/policy*/scaling_cur_freq", "cpu.clock", "cpu$0", 1000},
    {"/sys/devices/system/cpu/cpufreq/policy*/cpuinfo_max_freq", "cpu.clock.possible", "cpu$0", 1000},
    {"/sys/devices/system/node/node*/cpulist", "numa.cpus", "node$0", 0},
    {"/sys/devices/system/node/online", "numa.nodes", NULL, 0},
    {"/sys/block/zram*/disksize", "zram.size", "zram$0", 1},
    {"/sys/block/zram*/comp_algorithm", "zram.algorithm", "zram$0", 0},
    {"/proc/sys/kernel/tainted", "kernel.tainted", NULL, 1},
    {"/proc/sys/vm/*", "sysctl.vm.$0", NULL, 1},
    {"/proc/sys/kernel/*", "sysctl.kernel.$0", NULL, 0},
    {"/sys/kernel/mm/transparent_hugepage/enabled", "kernel.transparent-hugepage", NULL, 0},
    {"/sys/kernel/security/lockdown", "kernel.lockdown", NULL, 0},
    {"/sys/module/*/parameters/*", "module-param.$0.$1", NULL, 0},
    {"/sys/module/*/version", "module-version.$0", NULL, 0},
    {"/sys/module/*/initstate", "module-state.$0", NULL, 0},
    {"/sys/module/*/taint", "module-taint.$0", NULL, 0},
    {"/proc/driver/nvidia/capabilities/gpu*/mig/gi*/access", "gpu.mig.instance", "minor:$0/gi:$1", 0},
    {"/proc/driver/nvidia/capabilities/mig/*", "gpu.mig.capability", "$0", 0},
};

static char *filled(const char *template, char p[CT_VALUE_PARTS][96])
{
    GString *out = g_string_new(NULL);
    for (const char *c = template; c && *c; c++) {
        if (*c == '$' && c[1] >= '0' && c[1] < '0' + CT_VALUE_PARTS)
            g_string_append(out, p[*++c - '0']);
        else
            g_string_append_c(out, *c);
    }
    return g_string_free(out, FALSE);
}

/* A device that exists without a size is not in use. */
static gboolean unused_zram(const CtValues *v, const CtValue *of)
{
    char p[CT_VALUE_PARTS][96];
    if (!ct_value_match(of->path, "/sys/block/zram*/*", p))
        return FALSE;
    const CtValue *size = ct_values_beside(v, of, "disksize");
    return size && size->has_number && size->number == 0;
}

static gboolean named(const CtValues *v, const CtValue *of)
{
    for (gsize i = 0; i < G_N_ELEMENTS(plain); i++) {
        char p[CT_VALUE_PARTS][96];
        if (!ct_value_match(of->path, plain[i].pattern, p))
            continue;
        g_autofree char *key = filled(plain[i].key, p);
        g_autofree char *subject = plain[i].subject ? filled(plain[i].subject, p) : NULL;
        if (plain[i].factor > 0 && of->has_number)
            ct_value_number(v, of, subject, key, of->number * plain[i].factor, of->value);
        else if (*of->value || of->status != CT_OK)
            ct_value_text(v, of, subject, key, of->value);
        return TRUE;
    }
    return FALSE;
}

/* "some avg10=0.12 avg60=0.03 avg300=0.00 total=1234" */
static gboolean pressure(const CtValues *v, const CtValue *of)
{
    char p[CT_VALUE_PARTS][96];
    if (!ct_value_match(of->path, "/proc/pressure/*", p))
        return FALSE;
    CtStr rest = ct_str_of(of->value), which = ct_str_token(&rest);
    for (CtStr w = ct_str_token(&rest); w.n; w = ct_str_token(&rest)) {
        CtStr name;
        double n;
        if (!ct_str_cut(&w, "=", &name) || !ct_str_number(w, &n) || !ct_str_starts(name, "avg"))
            continue;
        g_autofree char *key = g_strdup_printf("pressure.%s.%.*s.%.*s", p[0], (int)which.n, which.p,
                                               (int)name.n, name.p);
        ct_value_number(v, of, NULL, key, n / 100, CT_STR_BUF(w));
    }
    return TRUE;
}

/* "/dev/zram0  partition  513916  0  5", in KiB */
static gboolean swap(const CtValues *v, const CtValue *of)
{
    if (strcmp(of->path, "/proc/swaps") != 0)
        return FALSE;
    CtStr rest = ct_str_of(of->value), name = ct_str_token(&rest), type = ct_str_token(&rest);
    double size, used;
    if (!ct_str_number(ct_str_token(&rest), &size) || !ct_str_number(ct_str_token(&rest), &used))
        return TRUE;
    const char *device = CT_STR_BUF(name);
    ct_value_number(v, of, device, "swap.size", size * 1024, CT_STR_BUF(type));
    ct_value_number(v, of, device, "swap.used", used * 1024, CT_STR_BUF(type));
    return TRUE;
}

static gboolean zram(const CtValues *v, const CtValue *of)
{
    char p[CT_VALUE_PARTS][96];
    if (!ct_value_match(of->path, "/sys/block/zram*/mm_stat", p))
        return FALSE;
    CtStr rest = ct_str_of(of->value), original = ct_str_token(&rest), packed = ct_str_token(&rest);
    double n;
    g_autofree char *subject = g_strconcat("zram", p[0], NULL);
    if (ct_str_number(original, &n))
        ct_value_number(v, of, subject, "zram.used", n, CT_STR_BUF(original));
    if (ct_str_number(packed, &n))
        ct_value_number(v, of, subject, "zram.compressed", n, CT_STR_BUF(packed));
    return TRUE;
}

/* "Node 0, zone   Normal   3   1   0 ..." counts free blocks of 4 KiB << column. Blocks over 4 MiB
 * count as several of 4 MiB, as tegrastats counts them. */
static gboolean buddy(const CtValues *v, const CtValue *of)
{
    if (strcmp(of->path, "/proc/buddyinfo") != 0)
        return FALSE;
    CtStr rest = ct_str_of(of->value), zone;
    if (!ct_str_cut(&rest, "zone", &zone))
        return TRUE;
    CtStr name = ct_str_token(&rest);
    double n, block = 0, count = 0, size = 4096;
    for (CtStr w = ct_str_token(&rest); w.n; w = ct_str_token(&rest), size *= 2) {
        if (!ct_str_number(w, &n) || n <= 0)
            continue;
        count = size > 4194304 && block == 4194304 ? count + n * size / 4194304 : n;
        block = MIN(size, 4194304);
    }
    if (block > 0) {
        g_autofree char *text = g_strdup_printf("%.0fx%.0f kB", count, block / 1024);
        ct_value_number(v, of, CT_STR_BUF(name), "memory.largest-block", block, text);
    }
    return TRUE;
}

static gboolean times(const CtValues *v, const CtValue *of)
{
    CtStr rest = ct_str_of(of->value), first = ct_str_token(&rest);
    double n;
    gboolean up = strcmp(of->path, "/proc/uptime") == 0;
    if (!up && strcmp(of->path, "/proc/loadavg") != 0)
        return FALSE;
    if (ct_str_number(first, &n))
        ct_value_number(v, of, NULL, up ? "host.uptime" : "host.load", up ? n * 1e9 : n,
                        CT_STR_BUF(first));
    return TRUE;
}

/* ---- control groups ---- */

static void cpu_quota(const CtValues *v, const CtValue *of, const char *group)
{
    CtStr rest = ct_str_of(of->value), quota = ct_str_token(&rest), period = ct_str_token(&rest);
    double q, p;
    if (!ct_str_number(quota, &q)) {
        ct_value_text(v, of, group, "cgroup.cpu.quota", "max");
    } else if (ct_str_number(period, &p) && p > 0) {
        g_autofree char *text = g_strdup_printf("%g CPUs", q / p);
        ct_value_number(v, of, group, "cgroup.cpu.quota", q / p, text);
    }
}

static void counter(const CtValues *v, const CtValue *of, const char *group)
{
    static const struct {
        const char *name, *key;
    } names[] = {{"nr_throttled", "cpu.cgroup.throttled"}, {"nr_periods", "cpu.cgroup.periods"},
                 {"oom_kill", "cgroup.memory.oom-kills"},  {"oom", "cgroup.memory.ooms"},
                 {"max", "cgroup.memory.at-limit"}};
    CtStr rest = ct_str_of(of->value), name = ct_str_token(&rest), value = ct_str_token(&rest);
    double n;
    for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
        if (ct_str_eq(name, names[i].name) && ct_str_number(value, &n))
            ct_value_number(v, of, group, names[i].key, n, CT_STR_BUF(value));
}

static gboolean cgroup(const CtValues *v, const CtValue *of)
{
    static const char root[] = "/sys/fs/cgroup";
    static const struct {
        const char *name, *key;
    } names[] = {
        {"memory.max", "cgroup.memory.max"},           {"memory.high", "cgroup.memory.high"},
        {"memory.current", "cgroup.memory.current"},   {"memory.peak", "cgroup.memory.peak"},
        {"memory.swap.max", "cgroup.swap.max"},        {"memory.limit_in_bytes", "cgroup.memory.max"},
        {"memory.usage_in_bytes", "cgroup.memory.current"}, {"memory.failcnt", "cgroup.memory.at-limit"},
        {"pids.max", "cgroup.pids.max"},               {"pids.current", "cgroup.pids.current"},
        {"cpuset.cpus.effective", "cgroup.cpus"},      {"cpuset.effective_cpus", "cgroup.cpus"},
        {"cpuset.cpus", "cgroup.cpus"},                {"devices.list", "cgroup.devices"},
    };
    if (!g_str_has_prefix(of->path, root))
        return FALSE;
    const char *name = strrchr(of->path, '/') + 1;
    g_autofree char *group = g_strndup(of->path, (gsize)(name - 1 - of->path));
    for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
        if (strcmp(name, names[i].name) != 0)
            continue;
        /* the largest value that version 1 can hold means no limit */
        if (of->has_number && of->number < 9e18)
            ct_value_number(v, of, group, names[i].key, of->number, of->value);
        else
            ct_value_text(v, of, group, names[i].key, of->has_number ? "max" : of->value);
    }
    if (strcmp(name, "cpu.max") == 0)
        cpu_quota(v, of, group);
    else if (strcmp(name, "cpu.stat") == 0 || strcmp(name, "memory.events") == 0)
        counter(v, of, group);
    return TRUE;
}

gboolean ct_value_host(const CtValues *v, const CtValue *of)
{
    return unused_zram(v, of) || named(v, of) || pressure(v, of) || swap(v, of) || zram(v, of) || buddy(v, of) ||
           times(v, of) || cgroup(v, of);
}
