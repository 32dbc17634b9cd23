/* SPDX-License-Identifier: Apache-2.0 */
/* Copies the registers and the stack of a running thread. */
#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "collect/live/process-stack.h"

#define PAGE 4096u
#define EVENT_STOP 128 /* PTRACE_EVENT_STOP, which old headers lack */

static gint64 now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (gint64)t.tv_sec * 1000000000 + t.tv_nsec;
}

void ct_thread_sample_clear(CtThreadSample *sample)
{
    g_clear_pointer(&sample->slice, g_free);
    sample->slice_len = 0;
}

#if defined(__x86_64__)
typedef struct user_regs_struct Registers;

static void take(CtThreadSample *s, const Registers *r)
{
    const guint64 reg[] = {r->rax, r->rdx, r->rcx, r->rbx, r->rsi, r->rdi, r->rbp, r->rsp, r->r8,
                           r->r9,  r->r10, r->r11, r->r12, r->r13, r->r14, r->r15, r->rip};
    memcpy(s->reg, reg, sizeof reg);
    s->n_reg = G_N_ELEMENTS(reg);
    s->pc = r->rip;
    s->sp = r->rsp;
}
#elif defined(__aarch64__)
typedef struct user_regs_struct Registers;

static void take(CtThreadSample *s, const Registers *r)
{
    for (guint i = 0; i < 31; i++)
        s->reg[i] = r->regs[i];
    s->reg[31] = r->sp;
    s->n_reg = 32;
    s->pc = r->pc;
    s->sp = r->sp;
}
#else
typedef struct {
    long none;
} Registers;

static void take(CtThreadSample *s, const Registers *r)
{
    s->narrow = TRUE;
}
#endif

/* From the stack pointer (and the 128 bytes below it that a leaf may use) up to where the mapping
 * ends; a stack near its base is shorter than the slice. */
static void copy_stack(pid_t pid, CtThreadSample *s)
{
    gsize want = CT_STACK_SLICE;
    guint8 *buffer = g_try_malloc(want);
    if (!buffer)
        return;
    while (want >= 64) {
        struct iovec to = {buffer, want}, from = {(void *)(uintptr_t)s->sp, want};
        gssize n = process_vm_readv(pid, &to, 1, &from, 1, 0);
        if (n > 0) {
            s->slice_len = (gsize)n;
            break;
        }
        if (n < 0 && errno != EFAULT)
            break;
        gsize to_page = PAGE - (gsize)(s->sp % PAGE);
        want = want > to_page ? MAX(want / 2, to_page) : want == to_page ? want / 2 : 0;
    }
    s->slice = g_realloc(buffer, MAX(s->slice_len, (gsize)1));
}

gboolean ct_thread_copy(pid_t pid, pid_t tid, CtThreadSample *s)
{
    Registers r;
    struct iovec io = {&r, sizeof r};
    s->tid = tid;
    if (ptrace(PTRACE_GETREGSET, tid, (void *)(uintptr_t)NT_PRSTATUS, &io) != 0) {
        s->error = errno;
        return FALSE;
    }
    s->narrow = io.iov_len != sizeof r;
    if (!s->narrow)
        take(s, &r);
    if (s->narrow)
        return FALSE;
    copy_stack(pid, s);
    return TRUE;
}

/* 0 when it stands, else an errno. *out_signal: what has to be handed on to it. */
static int wait_stop(pid_t tid, guint wait_ms, int *out_signal)
{
    gint64 end = now_ns() + (gint64)wait_ms * 1000000;
    for (useconds_t nap = 20;; nap = MIN(nap * 2, 1000)) {
        int status = 0;
        pid_t got = waitpid(tid, &status, __WALL | WNOHANG);
        if (got < 0 && errno != EINTR)
            return errno;
        if (got == tid) {
            if (!WIFSTOPPED(status))
                return ESRCH; /* it has just ended */
            *out_signal = status >> 16 == EVENT_STOP ? 0 : WSTOPSIG(status);
            return 0;
        }
        if (now_ns() > end)
            return ETIMEDOUT;
        usleep(nap);
    }
}

gboolean ct_thread_sample(pid_t pid, pid_t tid, guint wait_ms, CtThreadSample *s)
{
    int deliver = 0;
    *s = (CtThreadSample){.tid = tid};
    if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) != 0) {
        s->error = errno;
        return FALSE;
    }
    if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) != 0)
        s->error = errno;
    else
        s->error = wait_stop(tid, wait_ms, &deliver);
    gint64 begun = now_ns();
    gboolean ok = !s->error && ct_thread_copy(pid, tid, s);
    /* A thread that does not stop cannot be detached either: the end of this process does it. */
    ptrace(PTRACE_DETACH, tid, NULL, (void *)(uintptr_t)deliver);
    s->stopped_ns = now_ns() - begun;
    return ok;
}
