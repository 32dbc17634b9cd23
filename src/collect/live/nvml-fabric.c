/* SPDX-License-Identifier: Apache-2.0 */
/* The NVLink fabric as the GPU sees it, and its links. */
#include <string.h>

#include "collect/live/nvml-private.h"

#define MAX_LINKS 36u

static int fabric_info(CtNvmlOut *out, CtNvmlFabricV *f)
{
    *f = (CtNvmlFabricV){.version = CT_NVML_FABRIC_V3};
    int code = CT_NVML_GET(out, fabric, f);
    if (code == CT_NVML_VERSION_MISMATCH || code == CT_NVML_INVALID_ARGUMENT) {
        *f = (CtNvmlFabricV){.version = CT_NVML_FABRIC_V2};
        code = CT_NVML_GET(out, fabric, f);
    }
    if (code == CT_NVML_NO_SYMBOL) {
        CtNvmlFabric old = {{0}};
        code = CT_NVML_GET(out, fabric_old, &old);
        *f = (CtNvmlFabricV){.status = old.status, .clique = old.clique, .state = old.state};
        memcpy(f->cluster, old.cluster, sizeof f->cluster);
    }
    return code;
}

static const char *status_words(int status)
{
    switch (status) {
    case CT_NVML_SUCCESS:
        return "Success";
    case CT_NVML_NOT_READY:
        return "Not Ready";
    case CT_NVML_TIMEOUT:
        return "Timeout";
    case CT_NVML_NOT_SUPPORTED:
        return "N/A";
    default:
        return ct_nvml_words(status);
    }
}

static void health(CtNvmlOut *out, int code, const CtNvmlFabricV *f)
{
    static const char *const summary[] = {"N/A", "Healthy", "Unhealthy", "Limited Capacity"};
    static const char *const bandwidth[] = {"N/A", "Degraded", "Full"};
    static const char *const truth[] = {"N/A", "True", "False"};
    static const char *const wrong[] = {"N/A", "None", "Incorrect SysGUID",
                                        "Incorrect Chassis Serial Number", "No Partition",
                                        "Insufficient Nvlinks", "Incompatible GPU Firmware",
                                        "Invalid Location", "GPU State Invalid"};
    ct_nvml_head(out, 2, "Health");
    ct_nvml_put_name(out, 3, "Summary", code, f->summary, summary, G_N_ELEMENTS(summary));
    ct_nvml_put_name(out, 3, "Bandwidth", code, f->health & 3, bandwidth, 3);
    ct_nvml_put_name(out, 3, "Route Recovery in progress", code, f->health >> 2 & 3, truth, 3);
    ct_nvml_put_name(out, 3, "Route Unhealthy", code, f->health >> 4 & 3, truth, 3);
    ct_nvml_put_name(out, 3, "Access Timeout Recovery", code, f->health >> 6 & 3, truth, 3);
    ct_nvml_put_name(out, 3, "Incorrect Configuration", code, f->health >> 8 & 15, wrong,
                     G_N_ELEMENTS(wrong));
    ct_nvml_put_name(out, 3, "Partition Assigned", code, f->health >> 12 & 3, truth, 3);
}

static void fabric(CtNvmlOut *out)
{
    static const char *const states[] = {"N/A", "Not Started", "In Progress", "Completed"};
    CtNvmlFabricV f;
    int code = fabric_info(out, &f);
    if (code == CT_NVML_SUCCESS && f.state == G_MAXUINT32)
        code = CT_NVML_GARBAGE;
    if (code == CT_NVML_SUCCESS && f.state == 0)
        code = CT_NVML_NOT_SUPPORTED;
    int done = code != CT_NVML_SUCCESS || f.state == 3 ? code : CT_NVML_NOT_SUPPORTED;
    const unsigned char *u = f.cluster;
    ct_nvml_head(out, 1, "Fabric");
    ct_nvml_put_name(out, 2, "State", code, f.state, states, G_N_ELEMENTS(states));
    ct_nvml_put_if(out, 2, "Status", done, "%s", status_words(f.status));
    ct_nvml_put_if(out, 2, "CliqueId", done, "%u", f.clique);
    ct_nvml_put_if(out, 2, "ClusterUUID", done,
                   "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", u[0],
                   u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12],
                   u[13], u[14], u[15]);
    health(out, code, &f);
}

/* ---- links ---- */

typedef struct {
    unsigned up, down;
    guint64 down_mask;
    gint64 slowest; /* MB/s, 0 unknown */
    gint64 errors[3];
    gboolean known[3];
    unsigned switches, gpus;
} Links;

/* Newer GPUs have the counters as fields, older ones as a function; both count since reset. */
static void link_errors(CtNvmlOut *out, unsigned link, Links *sum)
{
    static const unsigned fields[3] = {CT_NVML_FI_NVLINK_REPLAY, CT_NVML_FI_NVLINK_RECOVERY,
                                       CT_NVML_FI_NVLINK_CRC};
    for (unsigned i = 0; i < 3; i++) {
        gint64 value = 0;
        guint64 old = 0;
        int code = ct_nvml_field(out, fields[i], link, &value);
        if (code != CT_NVML_SUCCESS) {
            code = CT_NVML_GET(out, link_errors, link, i, &old);
            value = (gint64)MIN(old, (guint64)G_MAXINT32);
        }
        if (code != CT_NVML_SUCCESS || value < 0)
            continue;
        sum->known[i] = TRUE;
        sum->errors[i] = MIN(sum->errors[i] + MIN(value, (gint64)G_MAXINT32), G_MAXINT64 / 2);
    }
}

static int read_links(CtNvmlOut *out, Links *sum)
{
    int first = CT_NVML_NOT_SUPPORTED;
    for (unsigned link = 0; link < MAX_LINKS; link++) {
        unsigned active = 0, remote = 0;
        gint64 speed = 0;
        int code = CT_NVML_GET(out, link_state, link, &active);
        if (code == CT_NVML_SUCCESS && active > 1)
            code = CT_NVML_GARBAGE;
        if (link == 0)
            first = code;
        if (code != CT_NVML_SUCCESS) /* beyond the last, or no NVLink at all */
            break;
        if (!active) {
            sum->down++;
            sum->down_mask |= (guint64)1 << link;
            continue;
        }
        sum->up++;
        if (ct_nvml_field(out, CT_NVML_FI_NVLINK_SPEED, link, &speed) == CT_NVML_SUCCESS &&
            speed > 0 && speed < 10000000 && (!sum->slowest || speed < sum->slowest))
            sum->slowest = speed;
        if (CT_NVML_GET(out, link_remote, link, &remote) == CT_NVML_SUCCESS) {
            sum->switches += remote == 2;
            sum->gpus += remote == 0;
        }
        link_errors(out, link, sum);
    }
    return first;
}

static void links(CtNvmlOut *out)
{
    static const char *const errors[3] = {"Replay Errors", "Recovery Errors", "CRC Errors"};
    Links sum = {0};
    int code = read_links(out, &sum);
    if (code != CT_NVML_SUCCESS) {
        ct_nvml_put_if(out, 1, "NVLink", code, "%s", "");
        return;
    }
    ct_nvml_head(out, 1, "NVLink");
    ct_nvml_put(out, 2, "Active Links", "%u", sum.up);
    ct_nvml_put(out, 2, "Inactive Links", "%u", sum.down);
    if (sum.down && sum.up) {
        g_autoptr(GString) list = g_string_new(NULL);
        for (unsigned i = 0; i < MAX_LINKS; i++)
            if (sum.down_mask >> i & 1)
                g_string_append_printf(list, "%s%u", list->len ? ", " : "", i);
        ct_nvml_put(out, 2, "Which Are Inactive", "%s", list->str);
    }
    if (sum.slowest)
        ct_nvml_put(out, 2, "Slowest Link", "%.3f GB/s", (double)sum.slowest / 1000);
    if (sum.up) {
        ct_nvml_put(out, 2, "Links To Switches", "%u", sum.switches);
        ct_nvml_put(out, 2, "Links To GPUs", "%u", sum.gpus);
    }
    for (unsigned i = 0; i < 3; i++)
        if (sum.known[i])
            ct_nvml_put(out, 2, errors[i], "%" G_GINT64_FORMAT, sum.errors[i]);
}

void ct_nvml_fabric(CtNvmlOut *out)
{
    fabric(out);
    links(out);
}
