/* SPDX-License-Identifier: Apache-2.0 */
/* Processes on the GPU, and the instances it is divided into. */
#include "collect/live/nvml-private.h"

#define FIRST_ROOM 256u
#define MAX_PROCESSES 8192u
#define MAX_INSTANCES 64u
#define MIB ((guint64)1 << 20)

typedef int (*ListFn)(CtNvmlDevice, unsigned *, CtNvmlProcess *);

typedef struct {
    CtNvmlProcess p;
    unsigned how; /* bits: compute, graphics, MPS */
} Process;

/* The library says how many there are when the room is too small, and is not believed beyond the
 * room that it was given. */
static int list(CtNvmlOut *out, ListFn get, unsigned how, GArray *all)
{
    unsigned room = FIRST_ROOM;
    if (!get)
        return CT_NVML_NO_SYMBOL;
    for (int tries = 0; tries < 3; tries++) {
        unsigned n = room;
        g_autofree CtNvmlProcess *p = g_new0(CtNvmlProcess, room + 1);
        int code = get(out->device, &n, p);
        if (code == CT_NVML_INSUFFICIENT_SIZE && room < MAX_PROCESSES) {
            room = MIN(MAX(n, room) + 64, MAX_PROCESSES);
            continue;
        }
        for (unsigned i = 0; code == CT_NVML_SUCCESS && i < MIN(n, room); i++) {
            Process q = {p[i], how};
            Process *same = NULL;
            for (guint k = 0; k < all->len && !same; k++) {
                Process *old = &g_array_index(all, Process, k);
                if (old->p.pid == q.p.pid && old->p.gpu_instance == q.p.gpu_instance &&
                    old->p.compute_instance == q.p.compute_instance)
                    same = old;
            }
            if (same)
                same->how |= how;
            else if (all->len < MAX_PROCESSES)
                g_array_append_val(all, q);
        }
        return code;
    }
    return CT_NVML_INSUFFICIENT_SIZE;
}

static void instance(CtNvmlOut *out, const char *key, unsigned id)
{
    ct_nvml_put_if(out, 2, key, id == G_MAXUINT32 ? CT_NVML_NOT_SUPPORTED : CT_NVML_SUCCESS, "%u",
                   id);
}

static void process(CtNvmlOut *out, const Process *q)
{
    static const char *const types[] = {"?", "C", "G", "C+G", "M", "M+C", "M+G", "M+C+G"};
    char name[512] = "";
    const CtNvml *n = out->nvml;
    int code = n->process_name ? n->process_name(q->p.pid, name, sizeof name) : CT_NVML_NO_SYMBOL;
    ct_nvml_clean(name, sizeof name);
    instance(out, "GPU instance ID", q->p.gpu_instance);
    instance(out, "Compute instance ID", q->p.compute_instance);
    ct_nvml_put(out, 2, "Process ID", "%u", q->p.pid);
    ct_nvml_put(out, 3, "Type", "%s", types[q->how & 7]);
    /* Of a process in another container no name can be had. */
    ct_nvml_put_if(out, 3, "Name", code == CT_NVML_NOT_FOUND ? CT_NVML_NO_PERMISSION : code, "%s",
                   name);
    ct_nvml_put_number(out, 3, "Used GPU Memory",
                       q->p.bytes == G_MAXUINT64 ? CT_NVML_NOT_SUPPORTED : CT_NVML_SUCCESS,
                       q->p.bytes / MIB, (guint64)1 << 30, " MiB");
}

void ct_nvml_processes(CtNvmlOut *out)
{
    static const char *const egm[] = {"disabled", "enabled"};
    const CtNvml *n = out->nvml;
    g_autoptr(GArray) all = g_array_new(FALSE, FALSE, sizeof(Process));
    int compute = list(out, n->compute ? n->compute : n->compute_old, 1, all);
    int graphics = list(out, n->graphics ? n->graphics : n->graphics_old, 2, all);
    int mps = list(out, n->mps, 4, all);
    (void)mps;
    if (all->len) {
        ct_nvml_head(out, 1, "Processes");
        for (guint i = 0; i < all->len; i++)
            process(out, &g_array_index(all, Process, i));
    } else if (compute != CT_NVML_SUCCESS && graphics != CT_NVML_SUCCESS) {
        ct_nvml_put_if(out, 1, "Processes", compute, "%s", "");
    } else {
        ct_nvml_put(out, 1, "Processes", "None");
    }
    CtNvmlWord caps = {.version = CT_NVML_VERSION(CtNvmlWord, 1)};
    int code = CT_NVML_GET(out, capabilities, &caps);
    if (code == CT_NVML_SUCCESS && caps.value == G_MAXUINT32)
        code = CT_NVML_GARBAGE;
    ct_nvml_head(out, 1, "Capabilities");
    ct_nvml_put_name(out, 2, "EGM", code, caps.value & 1, egm, 2);
}

/* ---- MIG ---- */

static void attributes(CtNvmlOut *out)
{
    CtNvmlAttributes a = {0};
    int code = CT_NVML_GET(out, attributes, &a);
    ct_nvml_head(out, 2, "Device Attributes");
    ct_nvml_head(out, 3, "Shared");
    ct_nvml_put_number(out, 4, "Multiprocessor count", code, a.multiprocessors, 4096, "");
    ct_nvml_put_number(out, 4, "Copy Engine count", code, a.copy_engines, 4096, "");
    ct_nvml_put_number(out, 4, "Encoder count", code, a.encoders, 4096, "");
    ct_nvml_put_number(out, 4, "Decoder count", code, a.decoders, 4096, "");
    ct_nvml_put_number(out, 4, "OFA count", code, a.ofa, 4096, "");
    ct_nvml_put_number(out, 4, "JPG count", code, a.jpeg, 4096, "");
}

static void mig_device(CtNvmlOut *out, unsigned index)
{
    unsigned gi = 0, ci = 0;
    guint64 errors = 0;
    CtNvmlMemory m = {0};
    int g = CT_NVML_GET(out, gpu_instance, &gi), c = CT_NVML_GET(out, compute_instance, &ci);
    ct_nvml_head(out, 1, "MIG Device");
    ct_nvml_put(out, 2, "Index", "%u", index);
    ct_nvml_put_if(out, 2, "GPU Instance ID", g, "%u", gi);
    ct_nvml_put_if(out, 2, "Compute Instance ID", c, "%u", ci);
    ct_nvml_put_text(out, 2, "UUID", out->nvml->uuid);
    attributes(out);
    int code = CT_NVML_GET(out, ecc_count, 1, 0, 7, &errors);
    ct_nvml_head(out, 2, "ECC Errors");
    ct_nvml_head(out, 3, "Volatile");
    ct_nvml_put_if(out, 4, "SRAM Uncorrectable", code, "%" G_GUINT64_FORMAT, errors);
    code = CT_NVML_GET(out, memory_old, &m);
    ct_nvml_head(out, 2, "FB Memory Usage");
    ct_nvml_put_number(out, 3, "Total", code, m.total / MIB, (guint64)1 << 30, " MiB");
    ct_nvml_put_number(out, 3, "Used", code, m.used / MIB, (guint64)1 << 30, " MiB");
    ct_nvml_put_number(out, 3, "Free", code, m.free / MIB, (guint64)1 << 30, " MiB");
}

void ct_nvml_mig(CtNvmlOut *out)
{
    unsigned now = 0, next = 0, most = 0, found = 0;
    if (CT_NVML_GET(out, mig_mode, &now, &next) != CT_NVML_SUCCESS || !now)
        return;
    CtNvmlOut part = *out;
    int code = CT_NVML_GET(out, mig_count, &most);
    for (unsigned i = 0; code == CT_NVML_SUCCESS && i < MIN(most, MAX_INSTANCES); i++) {
        if (CT_NVML_GET(out, mig_handle, i, &part.device) != CT_NVML_SUCCESS || !part.device)
            continue;
        mig_device(&part, i);
        found++;
    }
    if (!found)
        ct_nvml_put_if(out, 1, "MIG Devices", code, "None");
}
