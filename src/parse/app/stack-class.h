/* SPDX-License-Identifier: Apache-2.0 */
/* What one frame of a stack says about the thread: which call it is in, what it waits for. */
#pragma once

#include "parse/common/scan.h"

typedef struct {
    CtStr function, library; /* library or source file; empty when not shown */
    gboolean python, kernel;
} CtFrame;

typedef enum {
    CT_WAIT_NONE,    /* says nothing about waiting */
    CT_WAIT_IDLE,    /* waits for work: condition variables, queues, poll, sleep */
    CT_WAIT_LOCK,    /* waits for a lock that somebody holds */
    CT_WAIT_GIL,     /* waits for the interpreter lock of Python */
    CT_WAIT_DRIVER,  /* in the kernel part of the GPU driver */
    CT_WAIT_LAUNCH,  /* in a CUDA call that puts work on the device */
    CT_WAIT_SYNC,    /* in a CUDA call that waits for the device */
    CT_WAIT_ALLOC,   /* in a CUDA call that allocates */
    CT_WAIT_FREE,    /* in a CUDA call that frees */
    CT_WAIT_LOAD,    /* in a CUDA call that loads code */
    CT_WAIT_COLLECTIVE,
} CtWait;

CtWait ct_frame_wait(const CtFrame *frame);
/* Name of a state as `detail.state` has it; NULL for CT_WAIT_NONE. */
const char *ct_wait_name(CtWait wait);
/* A frame of libcuda; the threads that it makes for itself consist of little else. */
gboolean ct_frame_in_cuda_driver(const CtFrame *frame);
/* Frames with which every thread begins and ends, which say nothing of the program. */
gboolean ct_frame_is_runtime(const CtFrame *frame);
/* Frames of CUDA's and the frameworks' own libraries. */
gboolean ct_frame_is_framework(const CtFrame *frame);
