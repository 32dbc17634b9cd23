/* SPDX-License-Identifier: Apache-2.0 */
/* Processor, memory, pressure, limits of the process and of its control group, NUMA, the system. */
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "collect/live/live.h"

#define MAX_LEVELS 12u

static void values(CtLive *live, const char *const *patterns)
{
    for (; *patterns; patterns++) {
        g_autoptr(GPtrArray) all = ct_live_glob(live, *patterns);
        for (guint i = 0; i < all->len; i++)
            ct_live_value(live, NULL, g_ptr_array_index(all, i));
    }
}

/* ---- system ---- */

static char *machine_of_cpuinfo(const char *cpuinfo)
{
    if (cpuinfo && strstr(cpuinfo, "CPU architecture"))
        return g_strdup("aarch64");
    return g_strdup(cpuinfo && strstr(cpuinfo, "flags") ? "x86_64" : "unknown");
}

/* What `uname -a` prints, without the name of the host. */
static void kernel(CtLive *live, const char *cpuinfo)
{
    struct utsname u;
    g_autofree char *release = ct_live_line(live, "/proc/sys/kernel/osrelease");
    g_autofree char *version = ct_live_line(live, "/proc/sys/kernel/version");
    g_autofree char *banner = ct_live_line(live, "/proc/version");
    g_autofree char *machine = machine_of_cpuinfo(cpuinfo);
    if (!ct_live_sysroot(live) && uname(&u) == 0) {
        g_free(machine);
        machine = g_strdup(u.machine);
    }
    if (!release && banner && g_str_has_prefix(banner, "Linux version ")) {
        release = g_strdup(banner + 14);
        release[strcspn(release, " ")] = '\0';
    }
    if (!version && banner && strchr(banner, '#'))
        version = g_strdup(strchr(banner, '#'));
    if (release) {
        g_autofree char *text =
            g_strdup_printf("Linux localhost %s %s %s GNU/Linux\n", release,
                            version ? version : "#1", machine);
        ct_live_text(live, "/proc/version", "uname -a", text);
    }
    ct_live_file(live, "/etc/os-release", 0, FALSE);
    if (!ct_live_exists(live, "/etc/os-release"))
        ct_live_file(live, "/usr/lib/os-release", 0, FALSE);
    ct_live_file(live, "/proc/cmdline", 0, FALSE);
}

static void run_system(CtLive *live)
{
    static const char *const patterns[] = {
        "/proc/uptime", "/proc/loadavg", "/proc/cmdline", "/sys/kernel/security/lockdown",
        "/proc/sys/kernel/dmesg_restrict", "/proc/sys/kernel/yama/ptrace_scope",
        "/proc/sys/kernel/perf_event_paranoid", "/proc/sys/kernel/numa_balancing",
        "/proc/sys/kernel/sched_rt_runtime_us", "/proc/sys/kernel/core_pattern",
        "/proc/sys/kernel/pid_max", "/proc/sys/kernel/threads-max", "/proc/sys/fs/file-nr",
        "/proc/sys/vm/swappiness", "/proc/sys/vm/overcommit_memory",
        "/proc/sys/vm/overcommit_ratio", "/proc/sys/vm/max_map_count",
        "/proc/sys/vm/min_free_kbytes", "/proc/sys/vm/nr_hugepages",
        "/sys/kernel/mm/transparent_hugepage/enabled", NULL};
    g_autofree char *cpuinfo = NULL;
    ct_live_read(live, "/proc/cpuinfo", CT_LIVE_MAX_FILE, &cpuinfo, NULL);
    kernel(live, cpuinfo);
    ct_live_begin(live, "/proc/sys", "grep -sH . /proc/uptime /proc/loadavg /proc/sys/vm/*");
    values(live, patterns);
    ct_live_end(live, CT_OK, NULL);
}

const CtCollector ct_collector_system = {
    .id = "system",
    .layer = "platform",
    .title = "kernel, distribution, kernel settings",
    .run = run_system,
};

/* ---- processor ---- */

static char *cpu_field(const char *cpuinfo, const char *name)
{
    const char *at = cpuinfo ? strstr(cpuinfo, name) : NULL;
    at = at ? strchr(at, ':') : NULL;
    return at ? g_strstrip(g_strndup(at + 1, strcspn(at + 1, "\n"))) : NULL;
}

static void run_cpu(CtLive *live)
{
    static const char *const patterns[] = {
        "/sys/devices/system/cpu/online", "/sys/devices/system/cpu/offline",
        "/sys/devices/system/cpu/present", "/sys/devices/system/cpu/isolated",
        "/sys/devices/system/cpu/nohz_full", "/sys/devices/system/cpu/smt/active",
        "/sys/devices/system/cpu/intel_pstate/no_turbo", "/sys/devices/system/cpu/cpufreq/boost",
        "/sys/devices/system/cpu/cpufreq/policy*/scaling_governor",
        "/sys/devices/system/cpu/cpufreq/policy*/scaling_min_freq",
        "/sys/devices/system/cpu/cpufreq/policy*/scaling_max_freq",
        "/sys/devices/system/cpu/cpufreq/policy*/scaling_cur_freq",
        "/sys/devices/system/cpu/cpufreq/policy*/cpuinfo_max_freq",
        "/sys/devices/system/cpu/cpufreq/policy*/related_cpus",
        "/sys/devices/system/node/online", "/sys/devices/system/node/node*/cpulist",
        "/sys/devices/system/node/node*/distance", NULL};
    g_autofree char *cpuinfo = NULL;
    ct_live_read(live, "/proc/cpuinfo", CT_LIVE_MAX_FILE, &cpuinfo, NULL);
    g_autofree char *machine = machine_of_cpuinfo(cpuinfo);
    g_autofree char *model = cpu_field(cpuinfo, "model name");
    if (!model)
        model = cpu_field(cpuinfo, "Model");
    guint n = 0;
    for (const char *p = cpuinfo; p && (p = strstr(p, "processor")); p += 9)
        n += p == cpuinfo || p[-1] == '\n';
    if (n) {
        ct_live_begin(live, "/proc/cpuinfo", "lscpu");
        ct_live_printf(live, "Architecture: %s\nCPU(s): %u\n", machine, n);
        if (model)
            ct_live_printf(live, "Model name: %s\n", model);
        ct_live_end(live, CT_OK, NULL);
    }
    ct_live_begin(live, "/sys/devices/system/cpu", "grep -sH . /sys/devices/system/cpu/*");
    values(live, patterns);
    ct_live_end(live, CT_OK, NULL);
}

const CtCollector ct_collector_cpu = {
    .id = "cpu",
    .layer = "platform",
    .title = "processor, governor, NUMA nodes",
    .run = run_cpu,
};

/* ---- memory ---- */

static void run_memory(CtLive *live)
{
    static const char *const patterns[] = {
        "/proc/pressure/cpu", "/proc/pressure/memory", "/proc/pressure/io", "/proc/swaps",
        "/proc/buddyinfo", "/sys/block/zram*/disksize", "/sys/block/zram*/mm_stat",
        "/sys/block/zram*/comp_algorithm", NULL};
    ct_live_file(live, "/proc/meminfo", 0, TRUE);
    ct_live_begin(live, "/proc/pressure", "grep -sH . /proc/pressure/* /proc/swaps /proc/buddyinfo");
    values(live, patterns);
    ct_live_end(live, CT_OK, NULL);
}

const CtCollector ct_collector_memory = {
    .id = "memory",
    .layer = "memory",
    .title = "memory, swap, zram, pressure, fragmentation",
    .run = run_memory,
};

/* ---- limits ---- */

static void group_files(CtLive *live, const char *mount, const char *group,
                        const char *const *names)
{
    g_autofree char *at = g_strdup(group);
    g_strchomp(at);
    for (guint level = 0; level < MAX_LEVELS; level++) {
        gsize n = strlen(at);
        while (n && at[n - 1] == '/')
            at[--n] = '\0';
        for (guint i = 0; names[i]; i++) {
            g_autofree char *path = g_strdup_printf("%s%s/%s", mount, at, names[i]);
            ct_live_value(live, NULL, path);
        }
        char *slash = strrchr(at, '/');
        if (!slash)
            return;
        *slash = '\0';
    }
}

/* Limits of all groups above hold as well, so each level up to the mount is read. Inside of a
 * container the path is that of the host and does not exist; the mount itself is then the group. */
static void groups(CtLive *live, const char *text)
{
    static const char *const unified[] = {
        "memory.max", "memory.high", "memory.current", "memory.swap.max", "memory.swap.current",
        "memory.events", "memory.peak", "cpu.max", "cpu.stat", "cpuset.cpus.effective",
        "cpuset.mems.effective", "pids.max", "pids.current", NULL};
    static const char *const memory[] = {"memory.limit_in_bytes", "memory.usage_in_bytes",
                                         "memory.memsw.limit_in_bytes", "memory.failcnt",
                                         "memory.oom_control", NULL};
    static const char *const cpu[] = {"cpu.cfs_quota_us", "cpu.cfs_period_us", "cpu.stat", NULL};
    static const char *const cpuset[] = {"cpuset.cpus", "cpuset.effective_cpus", "cpuset.mems", NULL};
    static const char *const pids[] = {"pids.max", "pids.current", NULL};
    static const char *const devices[] = {"devices.list", NULL};
    g_auto(GStrv) lines = g_strsplit(text, "\n", 64);
    for (guint i = 0; lines[i]; i++) {
        g_auto(GStrv) f = g_strsplit(lines[i], ":", 3);
        if (g_strv_length(f) < 3 || strstr(f[2], ".."))
            continue;
        if (!*f[1])
            group_files(live, "/sys/fs/cgroup", f[2], unified);
        else if (strstr(f[1], "memory"))
            group_files(live, "/sys/fs/cgroup/memory", f[2], memory);
        else if (strcmp(f[1], "cpuset") == 0)
            group_files(live, "/sys/fs/cgroup/cpuset", f[2], cpuset);
        else if (strstr(f[1], "cpu"))
            group_files(live, "/sys/fs/cgroup/cpu,cpuacct", f[2], cpu);
        else if (strstr(f[1], "pids"))
            group_files(live, "/sys/fs/cgroup/pids", f[2], pids);
        else if (strstr(f[1], "devices"))
            group_files(live, "/sys/fs/cgroup/devices", f[2], devices);
    }
}

static void run_limits(CtLive *live)
{
    /* Our own are changed by the capture; those of the parent are what the shell gave it. */
    int pid = ct_live_pid(live) ? (int)ct_live_pid(live) : ct_live_sysroot(live) ? 0 : getppid();
    g_autofree char *folder = pid ? g_strdup_printf("/proc/%d", pid) : g_strdup("/proc/self");
    g_autofree char *limits = g_strconcat(folder, "/limits", NULL);
    g_autofree char *cgroup = g_strconcat(folder, "/cgroup", NULL);
    g_autofree char *text = NULL, *cgroup_text = NULL;
    ct_live_read(live, limits, 65536, &text, NULL);
    if (!text && !pid)
        ct_live_read(live, "/proc/1/limits", 65536, &text, NULL);
    gboolean named = ct_live_pid(live) != 0; /* else the name stays the same from run to run */
    g_autofree char *command = g_strconcat("cat ", limits, NULL);
    ct_live_text(live, named ? limits : "/proc/self/limits",
                 named ? command : "cat /proc/self/limits", text);
    ct_live_read(live, cgroup, 65536, &cgroup_text, NULL);
    if (!cgroup_text && !pid)
        ct_live_read(live, "/proc/1/cgroup", 65536, &cgroup_text, NULL);
    ct_live_text(live, named ? cgroup : "/proc/self/cgroup", "cat /proc/self/cgroup", cgroup_text);
    ct_live_begin(live, "/sys/fs/cgroup", "grep -rsH . /sys/fs/cgroup");
    groups(live, cgroup_text ? cgroup_text : "0::/\n");
    ct_live_end(live, CT_OK, NULL);
}

const CtCollector ct_collector_limits = {
    .id = "limits",
    .layer = "platform",
    .title = "limits of the process and of its control group",
    .run = run_limits,
};
