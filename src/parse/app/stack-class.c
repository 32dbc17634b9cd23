/* SPDX-License-Identifier: Apache-2.0 */
#include "parse/app/stack-class.h"

#include <string.h>

typedef struct {
    const char *prefix;
    CtWait wait;
} Prefix;

/* The first that fits counts. Names come without leading underscores. */
static const Prefix native[] = {
    {"lll_lock_wait", CT_WAIT_LOCK},
    {"lll_lock", CT_WAIT_LOCK},
    {"pthread_mutex_lock", CT_WAIT_LOCK},
    {"pthread_mutex_timedlock", CT_WAIT_LOCK},
    {"pthread_mutex_cond_lock", CT_WAIT_LOCK},
    {"pthread_rwlock_", CT_WAIT_LOCK},
    {"pthread_spin_lock", CT_WAIT_LOCK},
    {"GI___pthread_mutex_lock", CT_WAIT_LOCK},
    {"GI___lll_lock_wait", CT_WAIT_LOCK},
    {"absl::Mutex::Lock", CT_WAIT_LOCK},
    {"std::mutex::lock", CT_WAIT_LOCK},
    {"std::unique_lock", CT_WAIT_LOCK},
    {"std::lock_guard", CT_WAIT_LOCK},
    {"std::recursive_mutex::lock", CT_WAIT_LOCK},
    {"futex_lock_pi", CT_WAIT_LOCK},
    {"mutex_lock", CT_WAIT_LOCK},
    {"rwsem_down_", CT_WAIT_LOCK},
    {"take_gil", CT_WAIT_GIL},
    {"PyEval_RestoreThread", CT_WAIT_GIL},
    {"PyEval_AcquireThread", CT_WAIT_GIL},
    {"PyGILState_Ensure", CT_WAIT_GIL},
    {"nccl", CT_WAIT_COLLECTIVE},
    {"pncclAll", CT_WAIT_COLLECTIVE},
    {"MPI_", CT_WAIT_COLLECTIVE},
    {"PMPI_", CT_WAIT_COLLECTIVE},
    {"c10d::ProcessGroupNCCL::WorkNCCL::wait", CT_WAIT_COLLECTIVE},
    {"c10d::ProcessGroupNCCL::WorkNCCL::synchronize", CT_WAIT_COLLECTIVE},
    {"c10d::ProcessGroupNCCL::allreduce", CT_WAIT_COLLECTIVE},
    {"c10d::ProcessGroupNCCL::barrier", CT_WAIT_COLLECTIVE},
    {"c10d::ProcessGroupNCCL::broadcast", CT_WAIT_COLLECTIVE},
    {"c10d::ProcessGroupNCCL::allgather", CT_WAIT_COLLECTIVE},
    {"pthread_cond_", CT_WAIT_IDLE},
    {"futex_abstimed_wait", CT_WAIT_IDLE},
    {"futex_wait", CT_WAIT_IDLE},
    {"futex_do_wait", CT_WAIT_IDLE},
    {"std::condition_variable::wait", CT_WAIT_IDLE},
    {"sem_wait", CT_WAIT_IDLE},
    {"new_sem_wait", CT_WAIT_IDLE},
    {"epoll_wait", CT_WAIT_IDLE},
    {"do_epoll_wait", CT_WAIT_IDLE},
    {"ep_poll", CT_WAIT_IDLE},
    {"poll", CT_WAIT_IDLE},
    {"GI___poll", CT_WAIT_IDLE},
    {"do_sys_poll", CT_WAIT_IDLE},
    {"do_poll", CT_WAIT_IDLE},
    {"ppoll", CT_WAIT_IDLE},
    {"select", CT_WAIT_IDLE},
    {"accept", CT_WAIT_IDLE},
    {"nanosleep", CT_WAIT_IDLE},
    {"clock_nanosleep", CT_WAIT_IDLE},
    {"hrtimer_nanosleep", CT_WAIT_IDLE},
    {"do_wait", CT_WAIT_IDLE},
    {"waitpid", CT_WAIT_IDLE},
    {"sigwait", CT_WAIT_IDLE},
    {"pthread_join", CT_WAIT_IDLE},
    {"pthread_clockjoin", CT_WAIT_IDLE},
    {"pthread_timedjoin", CT_WAIT_IDLE},
    {"gomp_", CT_WAIT_IDLE},
    {"kmp_", CT_WAIT_IDLE},
    {"blas_thread_server", CT_WAIT_IDLE},
    {"inet_csk_accept", CT_WAIT_IDLE},
    {"pipe_read", CT_WAIT_IDLE},
};

/* Behind "cuda" or "cu"; matched within the name, since there are many variants. */
static const Prefix cuda_calls[] = {
    {"Async", CT_WAIT_LAUNCH}, /* cudaMallocAsync and the like only put work on a stream */
    {"Synchronize", CT_WAIT_SYNC},
    {"HostUnregister", CT_WAIT_FREE},
    {"Free", CT_WAIT_FREE},
    {"ModuleUnload", CT_WAIT_FREE},
    {"CtxDestroy", CT_WAIT_FREE},
    {"DeviceReset", CT_WAIT_FREE},
    {"StreamDestroy", CT_WAIT_FREE},
    {"EventDestroy", CT_WAIT_FREE},
    {"ModuleLoad", CT_WAIT_LOAD},
    {"LibraryLoad", CT_WAIT_LOAD},
    {"LibraryGetKernel", CT_WAIT_LOAD},
    {"ModuleGetFunction", CT_WAIT_LOAD},
    {"FuncGetAttributes", CT_WAIT_LOAD},
    {"Malloc", CT_WAIT_ALLOC},
    {"MemAlloc", CT_WAIT_ALLOC},
    {"HostAlloc", CT_WAIT_ALLOC},
    {"HostRegister", CT_WAIT_ALLOC},
    {"MemHostAlloc", CT_WAIT_ALLOC},
    {"MemHostRegister", CT_WAIT_ALLOC},
    {"Launch", CT_WAIT_LAUNCH},
    {"GraphUpload", CT_WAIT_LAUNCH},
    {"Memcpy", CT_WAIT_SYNC},
    {"Memset", CT_WAIT_SYNC},
};

/* Python functions by the end of their file's name. */
static const struct {
    const char *file, *function; /* a NULL function is any */
    CtWait wait;
} python[] = {
    {"torch/cuda/__init__.py", "synchronize", CT_WAIT_SYNC},
    {"torch/cuda/streams.py", "synchronize", CT_WAIT_SYNC},
    {"torch/distributed/distributed_c10d.py", NULL, CT_WAIT_COLLECTIVE},
    {"torch/distributed/rendezvous.py", NULL, CT_WAIT_COLLECTIVE},
    {"cupy/cuda/stream.py", "synchronize", CT_WAIT_SYNC},
    {"threading.py", "wait", CT_WAIT_IDLE},
    {"threading.py", "join", CT_WAIT_IDLE},
    {"threading.py", "_wait_for_tstate_lock", CT_WAIT_IDLE},
    {"threading.py", "__enter__", CT_WAIT_LOCK},
    {"threading.py", "acquire", CT_WAIT_LOCK},
    {"multiprocessing/synchronize.py", "__enter__", CT_WAIT_LOCK},
    {"queue.py", "get", CT_WAIT_IDLE},
    {"queue.py", "put", CT_WAIT_IDLE},
    {"multiprocessing/queues.py", NULL, CT_WAIT_IDLE},
    {"multiprocessing/connection.py", NULL, CT_WAIT_IDLE},
    {"multiprocessing/popen_fork.py", NULL, CT_WAIT_IDLE},
    {"selectors.py", "select", CT_WAIT_IDLE},
    {"socket.py", NULL, CT_WAIT_IDLE},
    {"concurrent/futures/thread.py", "_worker", CT_WAIT_IDLE},
    {"asyncio/base_events.py", NULL, CT_WAIT_IDLE},
};

static const char *const wait_names[] = {
    [CT_WAIT_IDLE] = "idle", [CT_WAIT_LOCK] = "lock", [CT_WAIT_GIL] = "gil",
    [CT_WAIT_DRIVER] = "driver", [CT_WAIT_LAUNCH] = "cuda-launch", [CT_WAIT_SYNC] = "cuda-sync",
    [CT_WAIT_ALLOC] = "cuda-alloc", [CT_WAIT_FREE] = "cuda-free", [CT_WAIT_LOAD] = "cuda-load",
    [CT_WAIT_COLLECTIVE] = "collective",
};

const char *ct_wait_name(CtWait wait)
{
    return (gsize)wait < G_N_ELEMENTS(wait_names) ? wait_names[wait] : NULL;
}

static CtStr bare(CtStr s)
{
    while (s.n > 0 && s.p[0] == '_')
        s = ct_str_from(s, 1);
    return s;
}

/* cudaFree, cuMemFree_v2, but not cudnn..., cublas..., cutlass... */
static CtWait cuda_call(CtStr f)
{
    gsize skip = ct_str_starts(f, "cuda") ? 4 : ct_str_starts(f, "cu") ? 2 : 0;
    if (!skip || f.n <= skip || !g_ascii_isupper(f.p[skip]))
        return CT_WAIT_NONE;
    CtStr rest = ct_str_from(f, skip);
    for (gsize i = 0; i < G_N_ELEMENTS(cuda_calls); i++)
        if (ct_str_has(rest, cuda_calls[i].prefix))
            return cuda_calls[i].wait;
    return CT_WAIT_NONE;
}

static CtWait python_wait(const CtFrame *f)
{
    for (gsize i = 0; i < G_N_ELEMENTS(python); i++) {
        if (ct_str_ends(f->library, python[i].file) &&
            (!python[i].function || ct_str_eq(f->function, python[i].function)))
            return python[i].wait;
    }
    return CT_WAIT_NONE;
}

/* The watchdog and heartbeat threads of a process group wait by design. */
static gboolean helper_of_nccl(CtStr f)
{
    static const char *const names[] = {"ncclProxy", "ncclProgress", "ncclRas", "ncclBootstrapRoot",
                                        "ncclCommWatchdog", "ncclIpcSocket", "ncclSocket",
                                        "ncclIbAsync"};
    for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
        if (ct_str_istarts(f, names[i]))
            return TRUE;
    return ct_str_has(f, "proxyProgress") || ct_str_has(f, "ProxyService");
}

CtWait ct_frame_wait(const CtFrame *frame)
{
    if (frame->python)
        return python_wait(frame);
    CtStr f = bare(frame->function);
    if (ct_str_has(frame->library, "[nvidia") || ct_str_has(frame->library, "[nvgpu") ||
        ct_str_has(frame->library, "[nvmap"))
        return CT_WAIT_DRIVER;
    if (helper_of_nccl(f))
        return CT_WAIT_IDLE;
    for (gsize i = 0; i < G_N_ELEMENTS(native); i++)
        if (ct_str_starts(f, native[i].prefix))
            return native[i].wait;
    return cuda_call(f);
}

gboolean ct_frame_in_cuda_driver(const CtFrame *frame)
{
    return ct_str_has(frame->library, "libcuda.so");
}

gboolean ct_frame_is_runtime(const CtFrame *frame)
{
    static const char *const functions[] = {"clone", "start_thread", "thread_start", "libc_start",
                                            "_start", "start", "execute_native_thread_routine",
                                            "raise", "abort", "gsignal", "pthread_kill",
                                            "GI_raise", "GI_abort", "kill", "main",
                                            "ioctl", "syscall", "sched_yield", "read", "recv",
                                            "recvmsg", "recvfrom", "writev"};
    static const char *const libraries[] = {"libc.so", "libc-2", "libpthread", "ld-linux",
                                            "libstdc++", "pthread_create.c", "clone3.S", "clone.S",
                                            "libc-start.c", "/nptl/", "sysdeps/", "/sysdeps",
                                            "libgcc_s", "linux-vdso"};
    CtStr f = bare(frame->function);
    for (gsize i = 0; i < G_N_ELEMENTS(functions); i++)
        if (ct_str_eq(f, functions[i]))
            return TRUE;
    for (gsize i = 0; i < G_N_ELEMENTS(libraries); i++)
        if (ct_str_has(frame->library, libraries[i]))
            return TRUE;
    return ct_str_starts(f, "<signal handler");
}

gboolean ct_frame_is_framework(const CtFrame *frame)
{
    static const char *const libraries[] = {"libcudart", "libnccl", "libtorch", "libc10",
                                            "libnvinfer.so", "libcudnn", "libcublas",
                                            "libpython", "libnvinfer_"};
    for (gsize i = 0; i < G_N_ELEMENTS(libraries); i++)
        if (ct_str_has(frame->library, libraries[i]))
            return TRUE;
    return ct_str_starts(frame->function, "??") || ct_str_starts(frame->function, "0x");
}
