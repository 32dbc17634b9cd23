/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread of the starter that looks at the program from outside, each second: resident memory of
 * it and its descendants, memory of the device by NVML, or on a Jetson what the system has left. A
 * driver may hang: nobody waits for this thread.
 */
#include "run/outside.h"

#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MAX_PROCESSES 4096u
#define MAX_GPUS 64u
#define MAX_USERS 512u
#define USERS_EVERY 10u /* samples */

struct CtOutside {
    struct ctw_run *run;
    pid_t pid;
    GMutex lock;
    GCond wake;
    gboolean stop;
    gint refs; /* the thread, and who started it */
};

typedef struct {
    pid_t pid, parent;
    guint64 resident;
    gboolean ours;
} Process;

static gint64 now_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (gint64)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* ---- /proc ---- */

static gboolean read_process(pid_t pid, Process *out)
{
    char path[64], text[512];
    g_snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *f = fopen(path, "re");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f)
        fclose(f);
    text[n] = 0;
    const char *rest = strrchr(text, ')'); /* the name may hold anything */
    long pages = 0;
    int parent = 0;
    if (!rest || sscanf(rest + 1, " %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d "
                                  "%*d %*d %*d %*u %*u %ld", &parent, &pages) != 2)
        return FALSE;
    *out = (Process){pid, parent, (guint64)MAX(pages, 0) * (guint64)sysconf(_SC_PAGESIZE), FALSE};
    return TRUE;
}

static GArray *family(pid_t root)
{
    GArray *all = g_array_new(FALSE, FALSE, sizeof(Process));
    DIR *dir = opendir("/proc");
    struct dirent *d;
    while (dir && (d = readdir(dir)) != NULL && all->len < MAX_PROCESSES) {
        Process p;
        if (g_ascii_isdigit(d->d_name[0]) && read_process((pid_t)atol(d->d_name), &p)) {
            p.ours = p.pid == root;
            g_array_append_val(all, p);
        }
    }
    if (dir)
        closedir(dir);
    for (gboolean more = TRUE; more;) {
        more = FALSE;
        for (guint i = 0; i < all->len; i++) {
            Process *p = &g_array_index(all, Process, i);
            for (guint k = 0; k < all->len && !p->ours; k++) {
                const Process *q = &g_array_index(all, Process, k);
                if (q->ours && q->pid == p->parent)
                    more = p->ours = TRUE;
            }
        }
    }
    return all;
}

/* ---- NVML ---- */

typedef struct {
    unsigned long long total, free, used;
} Memory;
typedef struct {
    unsigned pid;
    unsigned long long used;
    unsigned instance, compute;
} User;

static struct {
    gboolean tried;
    int (*count)(unsigned *);
    int (*get)(unsigned, void **);
    int (*memory)(void *, Memory *);
    int (*users)(void *, unsigned *, User *);
} nvml;

static gboolean load_nvml(void)
{
    if (!nvml.tried) {
        nvml.tried = TRUE;
        void *lib = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
        int (*init)(void) = NULL;
        *(void **)&init = lib ? dlsym(lib, "nvmlInit_v2") : NULL;
        if (init && init() == 0) {
            *(void **)&nvml.count = dlsym(lib, "nvmlDeviceGetCount_v2");
            *(void **)&nvml.get = dlsym(lib, "nvmlDeviceGetHandleByIndex_v2");
            *(void **)&nvml.memory = dlsym(lib, "nvmlDeviceGetMemoryInfo");
            *(void **)&nvml.users = dlsym(lib, "nvmlDeviceGetComputeRunningProcesses_v3");
        }
    }
    return nvml.count && nvml.get && nvml.memory;
}

static guint64 used_by(void *gpu, const GArray *processes)
{
    static User users[MAX_USERS];
    unsigned n = MAX_USERS;
    guint64 sum = 0;
    if (!nvml.users || nvml.users(gpu, &n, users) != 0)
        return 0;
    for (unsigned i = 0; i < n && i < MAX_USERS; i++)
        for (guint k = 0; k < processes->len; k++) {
            const Process *p = &g_array_index(processes, Process, k);
            if (p->ours && (unsigned)p->pid == users[i].pid && users[i].used != ~0ull)
                sum += users[i].used;
        }
    return sum;
}

/* Who uses how much is the dear question: the driver holds its lock meanwhile. */
static gboolean look_at_gpus(const GArray *processes, guint n_sample, struct ctw_outside *s)
{
    static guint64 by_us;
    guint64 sum = 0;
    unsigned n = 0;
    if (!load_nvml() || nvml.count(&n) != 0)
        return FALSE;
    for (unsigned i = 0; i < n && i < MAX_GPUS; i++) {
        void *gpu = NULL;
        Memory m;
        if (nvml.get(i, &gpu) != 0 || nvml.memory(gpu, &m) != 0)
            continue;
        s->device_total += m.total;
        s->device_used += m.used;
        sum += n_sample % USERS_EVERY == 1 ? used_by(gpu, processes) : 0;
    }
    if (n_sample % USERS_EVERY == 1)
        by_us = sum;
    s->device_process = by_us;
    return s->device_total > 0;
}

/* The GPU of a Jetson has the memory of the system. */
static void look_at_system(struct ctw_outside *s)
{
    char line[128];
    guint64 total = 0, left = 0;
    if (access("/etc/nv_tegra_release", F_OK) != 0 && access("/sys/module/nvmap", F_OK) != 0)
        return;
    FILE *f = fopen("/proc/meminfo", "re");
    while (f && fgets(line, sizeof line, f)) {
        if (g_str_has_prefix(line, "MemTotal:"))
            total = g_ascii_strtoull(line + 9, NULL, 10) * 1024;
        else if (g_str_has_prefix(line, "MemAvailable:"))
            left = g_ascii_strtoull(line + 13, NULL, 10) * 1024;
    }
    if (f)
        fclose(f);
    if (total > left) {
        s->device_total = total;
        s->device_used = total - left;
    }
}

/* ---- the thread ---- */

static void keep(struct ctw_run *run, guint level, const struct ctw_outside *s)
{
    struct ctw_outside *table = (void *)((guint8 *)run + CTW_PAGE);
    guint64 i = run->outside_head[level]++ % CTW_OUTSIDE;
    struct ctw_outside *to = &table[level * CTW_OUTSIDE + i];
    __atomic_store_n(&to->t_ns, 0, __ATOMIC_RELEASE);
    to->resident = s->resident;
    to->device_used = s->device_used;
    to->device_total = s->device_total;
    to->device_process = s->device_process;
    __atomic_store_n(&to->t_ns, s->t_ns, __ATOMIC_RELEASE);
}

static void unref(CtOutside *o)
{
    if (!g_atomic_int_dec_and_test(&o->refs))
        return;
    g_mutex_clear(&o->lock);
    g_cond_clear(&o->wake);
    g_free(o);
}

static gboolean wait_a_second(CtOutside *o)
{
    gint64 until = g_get_monotonic_time() + G_USEC_PER_SEC;
    g_mutex_lock(&o->lock);
    while (!o->stop && g_cond_wait_until(&o->wake, &o->lock, until))
        ;
    gboolean go_on = !o->stop;
    g_mutex_unlock(&o->lock);
    return go_on;
}

static gpointer watch(gpointer data)
{
    CtOutside *o = data;
    load_nvml(); /* takes a good part of a second, while the program starts */
    for (guint n = 1; wait_a_second(o); n++) {
        struct ctw_outside s = {0};
        g_autoptr(GArray) processes = family(o->pid);
        for (guint i = 0; i < processes->len; i++) {
            const Process *p = &g_array_index(processes, Process, i);
            s.resident += p->ours ? p->resident : 0;
        }
        if (!look_at_gpus(processes, n, &s))
            look_at_system(&s);
        s.t_ns = now_ns();
        g_mutex_lock(&o->lock);
        if (!o->stop) { /* else the record may be gone */
            keep(o->run, 0, &s);
            if (n % 60 == 1)
                keep(o->run, 1, &s);
        }
        g_mutex_unlock(&o->lock);
    }
    unref(o);
    return NULL;
}

CtOutside *ct_outside_start(struct ctw_run *run, pid_t pid)
{
    CtOutside *o = g_new0(CtOutside, 1);
    o->run = run;
    o->pid = pid;
    o->refs = 2;
    g_mutex_init(&o->lock);
    g_cond_init(&o->wake);
    GThread *thread = g_thread_try_new("outside", watch, o, NULL);
    if (thread)
        g_thread_unref(thread);
    else
        o->refs = 1;
    return o;
}

void ct_outside_stop(CtOutside *o)
{
    g_mutex_lock(&o->lock);
    o->stop = TRUE;
    g_cond_signal(&o->wake);
    g_mutex_unlock(&o->lock);
    unref(o);
}
