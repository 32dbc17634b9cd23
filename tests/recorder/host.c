/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that the recorder must not disturb and must understand, one a mode. Each prints what it
 * saw, so that a run with the recorder can be compared with one without.
 *   host MODE [N]
 * Built twice: linked with the driver (direct symbols), and without (HOST_DL: opens it).
 */
#include <dlfcn.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "recorder/cuda-abi.h"

extern char **environ;

static CUresult (*p_init)(unsigned);
static CUresult (*p_alloc)(CUdeviceptr *, size_t);
static CUresult (*p_free)(CUdeviceptr);
static CUresult (*p_alloc_async)(CUdeviceptr *, size_t, CUstream);
static CUresult (*p_free_async)(CUdeviceptr, CUstream);
static CUresult (*p_function)(CUfunction *, CUmodule, const char *);
static CUresult (*p_launch)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                            unsigned, CUstream, void **, void **);
static CUresult (*p_sync)(CUstream);

#ifndef HOST_DL
CUresult cuInit(unsigned);
CUresult cuMemAlloc_v2(CUdeviceptr *, size_t);
CUresult cuMemFree_v2(CUdeviceptr);
CUresult cuMemAllocAsync(CUdeviceptr *, size_t, CUstream);
CUresult cuMemFreeAsync(CUdeviceptr, CUstream);
CUresult cuModuleGetFunction(CUfunction *, CUmodule, const char *);
CUresult cuLaunchKernel(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                        unsigned, CUstream, void **, void **);
CUresult cuStreamSynchronize(CUstream);

static void bind(const char *how)
{
    (void)how;
#ifdef CTR_TSAN /* the names are in the program itself, so that nothing else loads the driver */
    dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
#endif
    p_init = cuInit;
    p_alloc = cuMemAlloc_v2;
    p_free = cuMemFree_v2;
    p_alloc_async = cuMemAllocAsync;
    p_free_async = cuMemFreeAsync;
    p_function = cuModuleGetFunction;
    p_launch = cuLaunchKernel;
    p_sync = cuStreamSynchronize;
}
#else
static void *lib;

static void *by_name(const char *name)
{
    void *p = dlsym(lib, name);
    if (!p)
        printf("missing %s: %s\n", name, dlerror());
    return p;
}

/* As the CUDA runtime does it: one name by dlsym, the rest from the driver's own resolver. */
static void *by_resolver(const char *name)
{
    static CUresult (*resolve)(const char *, void **, int, uint64_t, unsigned *);
    unsigned status = 77;
    void *p = NULL;
    if (!resolve)
        resolve = (CUresult(*)(const char *, void **, int, uint64_t, unsigned *))dlsym(
            lib, "cuGetProcAddress_v2");
    if (resolve(name, &p, 12040, 0, &status) != 0 || status != 0)
        printf("resolver: %s status %u\n", name, status);
    return p;
}

static void bind(const char *how)
{
    int flags = RTLD_NOW | RTLD_LOCAL;
    if (strcmp(how, "deepbind") == 0)
        flags |= RTLD_DEEPBIND;
    lib = dlopen("libcuda.so.1", flags);
    if (!lib) {
        printf("no driver: %s\n", dlerror());
        exit(3);
    }
    int r = strcmp(how, "resolver") == 0;
    void *(*get)(const char *) = r ? by_resolver : by_name;
    *(void **)&p_init = get("cuInit");
    *(void **)&p_alloc = get(r ? "cuMemAlloc" : "cuMemAlloc_v2");
    *(void **)&p_free = get(r ? "cuMemFree" : "cuMemFree_v2");
    *(void **)&p_alloc_async = get("cuMemAllocAsync");
    *(void **)&p_free_async = get("cuMemFreeAsync");
    *(void **)&p_function = get("cuModuleGetFunction");
    *(void **)&p_launch = get("cuLaunchKernel");
    *(void **)&p_sync = get("cuStreamSynchronize");
    printf("unknown name: %p\n", dlsym(lib, "cuNoSuchFunction"));
    printf("error text: %s\n", dlerror() ? "yes" : "no");
}
#endif

static CUfunction kernel;

static void launch(void)
{
    CUresult r = p_launch(kernel, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL);
    if (r)
        printf("launch %u\n", r);
}

__attribute__((noinline)) static void request_that_leaks(void)
{
    CUdeviceptr p = 0, q = 0;
    CUresult a = p_alloc_async(&p, 65536, NULL), b = p_alloc(&q, 4096);
    launch();
    b |= p_free(q);
    a |= p_sync(NULL);
    if (a || b)
        printf("request %u %u\n", a, b);
    usleep(1000);
}

__attribute__((noinline)) static void request_that_does_not(void)
{
    CUdeviceptr p = 0;
    CUresult a = p_alloc_async(&p, 65536, NULL);
    launch();
    a |= p_free_async(p, NULL);
    a |= p_sync(NULL);
    if (a)
        printf("request %u\n", a);
    usleep(1000);
}

static void weights(int n)
{
    for (int i = 0; i < n; i++) {
        CUdeviceptr p;
        if (p_alloc(&p, 100000))
            printf("weights\n");
    }
}

static void work(int n)
{
    for (int i = 0; i < n; i++)
        request_that_does_not();
    printf("worked %d\n", n);
}

static void *thread_main(void *arg)
{
    for (int i = 0; i < 200; i++) {
        CUdeviceptr p;
        errno = 4242;
        CUresult r = p_alloc(&p, 64 + (size_t)(uintptr_t)arg);
        launch();
        if (r || p_free(p) || errno != 4242)
            printf("thread: %u errno %d\n", r, errno);
    }
    return NULL;
}

static void threads(int n)
{
    pthread_t id[8];
    for (int round = 0; round < n; round++) {
        for (int i = 0; i < 8; i++)
            pthread_create(&id[i], NULL, thread_main, (void *)(uintptr_t)i);
        for (int i = 0; i < 8; i++)
            pthread_join(id[i], NULL);
    }
    printf("%d threads\n", 8 * n);
}

static pthread_barrier_t crowd_in;

static void *crowd_main(void *arg)
{
    CUdeviceptr p = 0;
    CUresult r = p_alloc(&p, 4096);
    pthread_barrier_wait(&crowd_in); /* all of them hold a ring, or none is left */
    r |= p_free(p);
    if (r)
        printf("crowd: %u %d\n", r, arg != NULL);
    return NULL;
}

/* More threads at once than there are rings. */
static void crowd(int n)
{
    pthread_t id[300];
    pthread_barrier_init(&crowd_in, NULL, 300);
    for (int round = 0; round < n; round++) {
        for (int i = 0; i < 300; i++)
            pthread_create(&id[i], NULL, crowd_main, NULL);
        for (int i = 0; i < 300; i++)
            pthread_join(id[i], NULL);
    }
    printf("crowd %d\n", n);
}

static void wait_for(pid_t pid)
{
    int status = 0;
    waitpid(pid, &status, 0);
    printf("child: exited %d code %d\n", WIFEXITED(status), WEXITSTATUS(status));
    fflush(stdout);
}

static void on_fault(int sig)
{
    CUdeviceptr p = 0;
    unsigned r = p_alloc(&p, 4096);
    r |= p_free(p);
    static const char text[] = "handled\n";
    if (r == 0 && write(1, text, sizeof text - 1) > 0)
        _exit(11);
    _exit(12 + (sig == 0));
}

static void fork_and_work(void)
{
    work(5);
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        work(7);
        fflush(stdout);
        _exit(5);
    }
    wait_for(pid);
    work(3);
}

static void run_self(const char *self, int how)
{
    char *argv[] = {(char *)self, (char *)"work", (char *)"4", NULL};
    pid_t pid = 0;
    work(2);
    fflush(stdout);
    if (how == 2)
        posix_spawn(&pid, self, NULL, NULL, argv, environ);
    else
        pid = how == 1 ? vfork() : fork();
    if (pid == 0) {
        execv(self, argv);
        _exit(9);
    }
    wait_for(pid);
    work(2);
}

/* Addresses that a fault may name: past a block that lives, and in one that was freed. */
static void addresses(void)
{
    CUdeviceptr live = 0, freed = 0;
    unsigned r = p_alloc(&live, 1 << 20);
    r |= p_alloc(&freed, 1 << 22);
    launch();
    r |= p_free(freed);
    printf("past 0x%llx\nfreed 0x%llx\n%u\n", live + (1 << 20) + 64, freed + 65536, r);
}

/* Below libc: no fork handler runs. */
static void raw_clone(void)
{
    work(4);
    fflush(stdout);
    pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (pid == 0) {
        work(6);
        fflush(stdout);
        _exit(5);
    }
    wait_for(pid);
    work(1);
}

/* What a sandbox leaves: reading, writing, memory, threads, ends. All else answers EPERM. */
static void sandboxed(void)
{
    static const int allowed[] = {SYS_read, SYS_write, SYS_mmap, SYS_munmap, SYS_mprotect, SYS_brk,
                                  SYS_futex, SYS_exit, SYS_exit_group, SYS_clock_nanosleep,
                                  SYS_rt_sigreturn, SYS_rt_sigprocmask, SYS_fstat, SYS_newfstatat};
    struct sock_filter code[64];
    unsigned n = 0, count = sizeof allowed / sizeof *allowed;
    code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                                             offsetof(struct seccomp_data, nr));
    for (unsigned i = 0; i < count; i++)
        code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)allowed[i],
                                                 (unsigned char)(count - i), 0);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {(unsigned short)n, code};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        printf("no seccomp\n");
    work(5);
}

/* A handler on a stack of its own, as small as they come, makes calls. */
static void small_stack(void)
{
    static char stack[16384];
    const stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction act = {.sa_handler = on_fault, .sa_flags = SA_ONSTACK};
    sigaltstack(&alternate, NULL);
    sigaction(SIGSEGV, &act, NULL);
    work(2);
    fflush(stdout);
    static volatile int *volatile nowhere = NULL;
    *nowhere = 1;
}

static void *next_malloc(void)
{
    return dlsym(RTLD_NEXT, "malloc");
}

static volatile sig_atomic_t ticks;

static void on_tick(int sig)
{
    CUdeviceptr p;
    (void)sig;
    if (p_alloc(&p, 32) == 0) /* from within a call, as often as not */
        p_free(p);
    ticks++;
}

static void signals(void)
{
    signal(SIGUSR1, on_tick);
    for (int i = 0; i < 200; i++) {
        if (i % 10 == 0)
            raise(SIGUSR1);
        launch();
    }
    printf("ticks %d\n", (int)ticks);
}

static void misuse(void)
{
    CUdeviceptr p = 0;
    printf("alloc %u\n", p_alloc(&p, 100));
    printf("null out %u\n", p_alloc(NULL, 100));
    printf("free %u\n", p_free(p));
    printf("free again %u\n", p_free(p));
    printf("free of 0 %u\n", p_free(0));
    printf("sync %u\n", p_sync(NULL));
    work(2);
}

/* A burst, then little; the program asks what its pool holds (5) and uses (7). */
static void pool(int n)
{
    CUresult (*get)(CUmemoryPool, CUmemPool_attribute, void *);
    CUdeviceptr p[16] = {0};
    uint64_t reserved = 0, in_use = 0;
    unsigned r = 0;
    for (int i = 0; i < 16; i++)
        r |= p_alloc_async(&p[i], (size_t)n << 20, NULL);
    for (int i = 1; i < 16; i++)
        r |= p_free_async(p[i], NULL);
    *(void **)&get = dlsym(RTLD_DEFAULT, "cuMemPoolGetAttribute");
    if (get)
        r |= get(NULL, 5, &reserved) | get(NULL, 7, &in_use);
    printf("pool %u %d\n", r, reserved > in_use);
    work(5);
}

/* Code that comes and goes: each module brings functions with handles that nothing had before, and most
 * are unloaded again. Kernels of the first one are used throughout. */
static unsigned with_module(int i, bool stays, CUfunction *out)
{
    static CUresult (*load)(CUmodule *, const void *), (*unload)(CUmodule);
    char name[64];
    CUmodule m = NULL;
    unsigned r = 0;
    if (!load) {
        *(void **)&load = dlsym(RTLD_DEFAULT, "cuModuleLoadData");
        *(void **)&unload = dlsym(RTLD_DEFAULT, "cuModuleUnload");
    }
    r |= load(&m, "image");
    for (int k = 0; k < 4; k++) {
        snprintf(name, sizeof name, "made_kernel_%d", (i * 4 + k) % 400);
        r |= p_function(out, m, name);
    }
    r |= p_launch(*out, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL);
    return r | (stays ? 0 : unload(m));
}

static void modules(int n)
{
    CUfunction f = NULL;
    unsigned r = 0;
    for (int i = 0; i < n; i++) {
        r |= with_module(i, i % 3 == 0 || i == n - 1, &f);
        launch();
    }
    r |= p_sync(NULL);
    r |= p_launch(f, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL);
    launch();
    printf("modules %d %u\n", n, r);
    r |= p_sync(NULL);
    printf("waited %u\n", r);
}

/* A server that replaces its workers, `n` of them one after the other; one of the first ends itself
 * with an error, one lives to the end, one is killed. */
static pid_t worker(int i)
{
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    CUdeviceptr p = 0;
    unsigned r = p_alloc(&p, 64);
    if (i == 3)
        p_free(p + 1);
    for (int k = 0; k < i; k++)
        launch();
    if (i == 5)
        kill(getpid(), SIGKILL);
    if (i == 7)
        usleep(60 * 1000 * 1000);
    r |= p_free(p);
    _exit(r ? 1 : 2);
}

static void workers(int n)
{
    pid_t keep = 0;
    int status, sum = 0;
    for (int i = 0; i < n; i++) {
        pid_t pid = worker(i);
        if (i == 7) {
            keep = pid;
            usleep(20000);
            continue;
        }
        waitpid(pid, &status, 0);
        sum += WIFEXITED(status) && WEXITSTATUS(status) == 2;
    }
    kill(keep, SIGKILL);
    waitpid(keep, &status, 0);
    printf("workers %d\n", sum);
}

/* No system call but those of ending is left, and the processor's counter is forbidden. */
static void strict(void)
{
    work(3);
    fflush(stdout);
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
    for (int i = 0; i < 1000; i++)
        launch();
    if (write(1, "strict\n", 7) == 7)
        syscall(SYS_exit, 3);
}

/* Private memory of this process in kB, or all of it. */
static long resident(const char *field)
{
    char line[256];
    long kb = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, field, strlen(field)) == 0)
            kb = atol(line + strlen(field) + 1);
    if (f)
        fclose(f);
    return kb;
}

static long seconds(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec;
}

static void *some_requests(void *arg)
{
    int *at = arg;
    char name[64];
    for (int i = 0; i < 50; i++, ++*at) {
        CUdeviceptr p = 0, q = 0;
        CUfunction f;
        unsigned r = 0;
        snprintf(name, sizeof name, "kernel_%d", *at);
        if (*at < 3000)
            r = p_function(&f, NULL, name);
        r |= p_alloc_async(&p, 4096 + (size_t)(*at % 500) * 512, NULL) | p_alloc(&q, 1024);
        launch();
        r |= p_free(q) | p_free_async(p, NULL) | p_sync(NULL);
        r |= with_module(*at, false, &f);
        if (r)
            printf("request %u\n", r);
    }
    return NULL;
}

/* Threads that come, serve and go for so many seconds: what grew after the first hundredth? */
static void day(int n)
{
    long start = seconds(), early = 0, anon = 0;
    int at = 0;
    do {
        pthread_t t;
        if (pthread_create(&t, NULL, some_requests, &at) == 0)
            pthread_join(t, NULL);
        usleep(500);
        anon = resident("RssAnon:");
        if (!early && seconds() - start >= n / 100)
            early = anon;
    } while (seconds() - start < n);
    fprintf(stderr, "requests %d grown %ld all %ld\n", at, anon - early, resident("VmRSS:"));
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "none", *how = getenv("HOST_BIND");
    int n = argc > 2 ? atoi(argv[2]) : 50;
    if (strcmp(mode, "none") == 0) {
        printf("malloc is libc's: %d\n", next_malloc() != NULL && dlsym(RTLD_DEFAULT, "printf"));
        return 7;
    }
    if (strcmp(mode, "closefds") == 0)
        for (int fd = 3; fd < 1024; fd++)
            close(fd);
    bind(how ? how : "dlsym");
    printf("init %u\n", p_init(0));
    printf("function %u\n", p_function(&kernel, NULL, "scale_kernel(float*, int)"));
    if (strcmp(mode, "leak") == 0)
        for (int i = 0; i < n; i++)
            request_that_leaks();
    else if (strcmp(mode, "work") == 0 || strcmp(mode, "closefds") == 0)
        work(n);
    else if (strcmp(mode, "weights") == 0) {
        weights(300);
        work(n);
    } else if (strcmp(mode, "threads") == 0)
        threads(n);
    else if (strcmp(mode, "crowd") == 0)
        crowd(n);
    else if (strcmp(mode, "pool") == 0)
        pool(n);
    else if (strcmp(mode, "modules") == 0)
        modules(n);
    else if (strcmp(mode, "workers") == 0)
        workers(n);
    else if (strcmp(mode, "strict") == 0)
        strict();
    else if (strcmp(mode, "day") == 0)
        day(n);
    else if (strcmp(mode, "address") == 0)
        addresses();
    else if (strcmp(mode, "clone") == 0)
        raw_clone();
    else if (strcmp(mode, "sandboxed") == 0)
        sandboxed();
    else if (strcmp(mode, "smallstack") == 0)
        small_stack();
    else if (strcmp(mode, "fork") == 0)
        fork_and_work();
    else if (strcmp(mode, "exec") == 0)
        run_self(argv[0], 0);
    else if (strcmp(mode, "vfork") == 0)
        run_self(argv[0], 1);
    else if (strcmp(mode, "spawn") == 0)
        run_self(argv[0], 2);
    else if (strcmp(mode, "next") == 0)
        printf("next malloc: %d\n", next_malloc() == dlsym(RTLD_DEFAULT, "malloc"));
    else if (strcmp(mode, "signals") == 0)
        signals();
    else if (strcmp(mode, "misuse") == 0)
        misuse();
    else if (strcmp(mode, "forever") == 0)
        for (long i = 0;; i++) {
            request_that_leaks();
            if (i == 0 && (puts("begun") < 0 || fflush(stdout) != 0))
                return 6;
        }
    else if (strcmp(mode, "abort") == 0) {
        work(2);
        fflush(stdout);
        abort();
    }
    return 6;
}
