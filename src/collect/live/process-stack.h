/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Host stacks of the threads of a process that was never prepared for it.
 *
 * A thread is seized, interrupted and let go again as soon as its registers and the used part of
 * its stack are copied (tens of microseconds); unwinding works on the copy afterwards. Nothing is
 * ever written into the process. Should this process die in between, the kernel detaches for us
 * and the thread runs on.
 */
#pragma once

#include <glib.h>
#include <sys/types.h>

#define CT_STACK_SLICE ((gsize)256 * 1024) /* of a thread's stack */
#define CT_STACK_THREADS 1024u
#define CT_STACK_FRAMES 96u

typedef struct {
    pid_t tid;
    int error;         /* errno of what failed; 0 */
    gboolean narrow;   /* a 32-bit thread in a 64-bit kernel: not read */
    guint64 reg[32], pc, sp; /* in DWARF's order */
    guint n_reg;
    guint8 *slice;     /* memory from sp on */
    gsize slice_len;
    gint64 stopped_ns; /* how long it stood still */
} CtThreadSample;

void ct_thread_sample_clear(CtThreadSample *sample);

/* Copies one thread. wait_ms: how long to wait for it to stop (one in the kernel may not). */
gboolean ct_thread_sample(pid_t pid, pid_t tid, guint wait_ms, CtThreadSample *out);
/* The registers of a thread that already stands still under ptrace of the caller. */
gboolean ct_thread_copy(pid_t pid, pid_t tid, CtThreadSample *out);

typedef struct CtUnwinder CtUnwinder;

/* Reads the map of the process and opens libdw; NULL with a reason. The process must exist while
 * the unwinder is in use, running or stopped. */
CtUnwinder *ct_unwinder_new(pid_t pid, char **out_why);
void ct_unwinder_free(CtUnwinder *u);

typedef struct {
    guint64 pc;
    char function[128]; /* demangled as far as it is C; empty when unknown */
    char object[256];   /* path of the library or program */
} CtStackFrame;

/* Innermost first; the number of frames. */
guint ct_unwind(CtUnwinder *u, const CtThreadSample *sample, CtStackFrame *out, guint most);
