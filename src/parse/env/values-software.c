/* SPDX-License-Identifier: Apache-2.0 */
/* Scheduled jobs, marks of containers and daemons, what framework builds say of themselves. */
#include <string.h>

#include "parse/env/system-values.h"

/* "30 2 * * *": the time of day in ns when it is fixed. */
static gboolean time_of_day(const char *when, double *out_ns)
{
    CtStr rest = ct_str_of(when), minute = ct_str_token(&rest), hour = ct_str_token(&rest);
    gint64 m, h;
    if (!ct_str_uint(minute, &m) || !ct_str_uint(hour, &h) || m > 59 || h > 23)
        return FALSE;
    *out_ns = (double)(h * 3600 + m * 60) * 1e9;
    return TRUE;
}

static gboolean job(const CtValues *v, const CtValue *of)
{
    static const struct {
        const char *begin, *key;
    } places[] = {{"/etc/cron", "schedule.cron"},        {"/etc/anacrontab", "schedule.cron"},
                  {"/var/spool/cron", "schedule.cron"},  {"/etc/systemd/system/timers", "schedule.timer"},
                  {"/etc/logrotate", "schedule.logrotate"}};
    double at;
    for (gsize i = 0; i < G_N_ELEMENTS(places); i++) {
        if (!g_str_has_prefix(of->path, places[i].begin))
            continue;
        if (of->status == CT_OK && time_of_day(of->value, &at))
            ct_value_number(v, of, of->path, places[i].key, at, of->value);
        else
            ct_value_text(v, of, of->path, places[i].key, of->value);
        return TRUE;
    }
    return FALSE;
}

static const char *daemon_name(const char *comm)
{
    static const struct {
        const char *comm, *name;
    } names[] = {{"nvidia-persiste", "nvidia-persistenced"}, {"nv-fabricmanage", "nvidia-fabricmanager"},
                 {"nv-hostengine", "dcgm"},                  {"nvidia-cuda-mps", "mps"},
                 {"nvidia-mps-serv", "mps-server"}};
    for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
        if (strcmp(comm, names[i].comm) == 0)
            return names[i].name;
    return comm;
}

static gboolean daemon_row(const CtValues *v, const CtValue *of)
{
    char p[CT_VALUE_PARTS][96];
    double pid;
    if (strcmp(of->path, "/proc") == 0) {
        ct_emit_coverage(v->emit, "daemons", NULL);
        return TRUE;
    }
    if (!ct_value_match(of->path, "/proc/*/comm", p))
        return FALSE;
    g_autofree char *key = g_strconcat("daemon.", daemon_name(of->value), NULL);
    if (ct_str_number(ct_str_of(p[0]), &pid))
        ct_value_number(v, of, NULL, key, pid, "running");
    return TRUE;
}

/* torch/version.py: "cuda: Optional[str] = '12.1'"; a build for the processor says None. */
static gboolean build(const CtValues *v, const CtValue *of)
{
    CtStr value = ct_str_of(of->value), name, quoted;
    if (g_str_has_suffix(of->path, "torch/version.py")) {
        if (!ct_str_starts(value, "cuda") || !ct_str_cut(&value, "=", &name))
            return TRUE;
        if (ct_str_between(value, "'", "'", &quoted) || ct_str_between(value, "\"", "\"", &quoted))
            ct_value_text(v, of, of->path, "version.torch.cuda", CT_STR_BUF(quoted));
        else if (ct_str_has(value, "None"))
            ct_value_text(v, of, of->path, "torch.build", "cpu");
        return TRUE;
    }
    if (g_str_has_suffix(of->path, ".dist-info/WHEEL")) {
        const char *dash = strrchr(of->value, '-'); /* "Tag: cp310-cp310-manylinux2014_aarch64" */
        if (ct_str_starts(value, "Tag: ") && dash && dash[1])
            ct_value_text(v, of, of->path, "wheel.platform", dash + 1);
        return TRUE;
    }
    if (g_str_has_suffix(of->path, "cv2/version.py")) {
        if (ct_str_starts(value, "opencv_version") && ct_str_between(value, "\"", "\"", &quoted))
            ct_value_text(v, of, of->path, "version.opencv", CT_STR_BUF(quoted));
        return TRUE;
    }
    if (strstr(of->path, "onnxruntime/capi/")) {
        if (ct_str_starts(value, "cuda_version") && (ct_str_between(value, "'", "'", &quoted) ||
                                                     ct_str_between(value, "\"", "\"", &quoted)))
            ct_value_text(v, of, of->path, "version.onnxruntime.cuda", CT_STR_BUF(quoted));
        return TRUE;
    }
    if (g_str_has_suffix(of->path, "build_info.py")) {
        if (ct_str_between(value, "\"cuda_version\", \"", "\"", &quoted))
            ct_value_text(v, of, of->path, "version.tensorflow.cuda", CT_STR_BUF(quoted));
        if (ct_str_has(value, "\"is_cuda_build\", False"))
            ct_value_text(v, of, of->path, "tensorflow.build", "cpu");
        return TRUE;
    }
    return FALSE;
}

static gboolean container(const CtValues *v, const CtValue *of)
{
    static const char *const marks[] = {"/.dockerenv", "/run/.containerenv", "/.singularity.d/runscript"};
    for (gsize i = 0; i < G_N_ELEMENTS(marks); i++)
        if (strcmp(of->path, marks[i]) == 0) {
            ct_value_text(v, of, NULL, "container.running-in", "yes");
            return TRUE;
        }
    if (strcmp(of->path, "/proc/version") == 0 && strcmp(of->value, "Microsoft") == 0) {
        ct_value_text(v, of, NULL, "host.wsl", "yes");
        return TRUE;
    }
    if (strcmp(of->path, "/proc/1/cgroup") == 0 ||
        (strcmp(of->path, "/proc/self/mountinfo") == 0 && strstr(of->value, "overlay root"))) {
        ct_value_text(v, of, NULL, "container.running-in", "yes");
        return TRUE;
    }
    return FALSE;
}

/* "/dev: 7 GPU nodes": all of them were looked for. */
static gboolean node_count(const CtValues *v, const CtValue *of)
{
    CtStr rest = ct_str_of(of->value), first = ct_str_token(&rest);
    double n;
    if (strcmp(of->path, "/dev") != 0 || !ct_str_number(first, &n))
        return FALSE;
    ct_value_number(v, of, NULL, "device-node-count", n, CT_STR_BUF(first));
    ct_emit_coverage(v->emit, "device-nodes", NULL);
    return TRUE;
}

/* "SystemdCgroup = true" of containerd, "cgroup_manager = "systemd"" of CRI-O. */
static gboolean engine_groups(const CtValues *v, const CtValue *of)
{
    if (!g_str_has_prefix(of->path, "/etc/containerd/") && !g_str_has_prefix(of->path, "/etc/crio/"))
        return FALSE;
    gboolean systemd = g_str_has_prefix(of->value, "SystemdCgroup") ? strstr(of->value, "true") != NULL
                                                                    : strstr(of->value, "systemd") != NULL;
    ct_value_text(v, of, of->path, "docker.cgroup-driver", systemd ? "systemd" : "cgroupfs");
    return TRUE;
}

/* "pmode:0002 fmode:quiet", where the file that names the modes is not at hand */
static gboolean power_mode(const CtValues *v, const CtValue *of)
{
    const char *at = strstr(of->value, "pmode:");
    char text[16];
    if (strcmp(of->path, "/var/lib/nvpmodel/status") != 0)
        return FALSE;
    if (at && g_ascii_isdigit(at[6])) {
        guint mode = (guint)g_ascii_strtoull(at + 6, NULL, 10);
        g_snprintf(text, sizeof(text), "%u", mode);
        ct_value_number(v, of, NULL, "power.mode.id", mode, text);
    }
    return TRUE;
}

gboolean ct_value_software(const CtValues *v, const CtValue *of)
{
    if (node_count(v, of))
        return TRUE;
    if (job(v, of) || daemon_row(v, of) || build(v, of) || container(v, of))
        return TRUE;
    if (g_str_has_prefix(of->path, "/dev/") && g_str_has_prefix(of->value, "access ")) {
        g_autofree char *key = g_strconcat("device-node-access.", of->path + 5, NULL);
        ct_value_text(v, of, NULL, key, of->value + 7);
        return TRUE;
    }
    if (engine_groups(v, of) || power_mode(v, of))
        return TRUE;
    if (strcmp(of->path, "/usr/local/cuda") == 0) {
        ct_value_text(v, of, NULL, "cuda.default-toolkit", of->value);
        return TRUE;
    }
    if (strcmp(of->value, "exists") == 0) {
        if (g_str_has_prefix(of->path, "/proc/driver/nvidia-nvswitch/devices/"))
            ct_value_number(v, of, of->path, "nvswitch.count", 1, "1");
        else
            ct_value_text(v, of, of->path, "file.exists", "yes");
        return TRUE;
    }
    return FALSE;
}
