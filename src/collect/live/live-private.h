/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this folder share: the child's state and the frames on the pipe. */
#pragma once

#include "collect/live/live.h"

struct CtLive {
    const CtLiveOptions *options;
    const CtCollector *collector;
    int root;  /* descriptor of the sysroot, -1: the machine itself */
    int out;   /* the pipe */
    gint64 deadline_us;
    gsize written;
    guint sections;
    gboolean open, truncated;
};

/* Frames: CtLiveFrame, then `len` bytes. Both ends are one program, so the order of bytes is its
 * own; the parent trusts no length all the same. */
enum {
    CT_FRAME_BEGIN = 'B', /* path NUL command NUL; an empty command is none */
    CT_FRAME_DATA = 'D',
    CT_FRAME_END = 'E',   /* one byte of status, note */
    CT_FRAME_DONE = 'R',  /* the collector returned */
};

typedef struct {
    guint32 type, len;
} CtLiveFrame;

#define CT_FRAME_MAX ((guint32)64 * 1024)

void ct_live_frame(CtLive *live, guint32 type, const void *data, gsize len);
