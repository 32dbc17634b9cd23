/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about how a container is started, shared by command lines, inspect and compose files. */
#pragma once

#include "parse/common/scan.h"

/* What `docker run` and its kin ask for. Strings are borrowed; an empty one was not given. */
typedef struct {
    CtStr name, image, gpus, runtime, shm_size, ipc, network, privileged, memory, memlock, pid;
    guint devices;
    gboolean has_node; /* a device of NVIDIA is passed by hand */
} CtContainer;

/* All of them as facts of `container:NAME`; what was not given becomes a fact of status absent,
 * because a missing --gpus or --shm-size is what one looks for. */
void ct_emit_container(CtEmit *emit, const CtLine *line, const CtContainer *c);
/* Subject for a name or image, in the caller's buffer. */
const char *ct_container_subject(CtStr name, CtStr image, char buf[140]);
/* "NAME=VALUE" of a container's environment. */
void ct_emit_container_variable(CtEmit *emit, const CtLine *line, const char *subject,
                                CtStr assignment);
