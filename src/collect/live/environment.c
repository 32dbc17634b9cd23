/* SPDX-License-Identifier: Apache-2.0 */
/* Environment variables that matter to GPU programs, and whether this is a container. */
#include <string.h>

#include "collect/live/live.h"

/* Beginnings of names; everything else is nobody's business. */
static const char *const wanted[] = {
    "CUDA", "NVIDIA", "NV_", "NCCL", "LD_", "PATH=", "PYTHON", "TORCH", "PYTORCH", "TF_", "XLA_",
    "JAX", "OMP_", "MKL_", "KMP_", "OPENBLAS", "TRT_", "TENSORRT", "ONNX", "ORT_", "VIRTUAL_ENV=",
    "CONDA_", "KUBERNETES_SERVICE_HOST", "SLURM_", "RANK=", "WORLD_SIZE=", "LOCAL_RANK=",
    "LOCAL_WORLD_SIZE=", "MASTER_", "NODE_RANK=", "CUBLAS", "CUDNN", "UCX_", "GST_", "DISPLAY=",
    "EGL_", "__EGL", "__GL", "JETSON", "L4T", "OMPI_", "PMI_", "MPI_", "TRITON", "TMPDIR=", "LANG=",
    "LC_ALL=", "HF_HOME=", "HF_HUB_OFFLINE=", "TRANSFORMERS_", "VLLM_", "MALLOC_", "DCGM_", "NVSHMEM",
    "GLIBC_TUNABLES=", "container=", "CUTRIAGE_", "GGML_", "OLLAMA_", "DEEPSTREAM", "OPENCV",
    "LIBVA", "VDPAU", "ROCR_", "HIP_", "ZE_", "QT_QPA", "XDG_SESSION_TYPE=", "NVTX_", "NSYS_",
};

static gboolean matters(const char *variable)
{
    for (gsize i = 0; i < G_N_ELEMENTS(wanted); i++)
        if (g_str_has_prefix(variable, wanted[i]))
            return TRUE;
    return FALSE;
}

static void variables(CtLive *live)
{
    gsize len = 0;
    g_autofree char *all = ct_live_environ(live, &len);
    if (!all) {
        if (ct_live_pid(live))
            ct_live_missing(live, "environment of the process", "env", CT_DENIED,
                            "the process belongs to somebody else");
        return;
    }
    ct_live_begin(live, "environment", "env");
    for (char *p = all, *end = all + len; p < end; p += strlen(p) + 1) {
        if (!matters(p))
            continue;
        for (char *q = p; *q; q++)
            if (*q == '\n' || *q == '\r')
                *q = ' ';
        ct_live_printf(live, "%.16000s\n", p);
    }
    ct_live_end(live, CT_OK, NULL);
}

static void container(CtLive *live)
{
    static const char *const marks[] = {"/.dockerenv", "/run/.containerenv",
                                        "/.singularity.d/runscript", "/run/.toolboxenv"};
    g_autofree char *group = NULL, *mounts = NULL, *kernel = ct_live_line(live, "/proc/version");
    ct_live_begin(live, "container marks", "ls -d /.dockerenv /run/.containerenv");
    for (gsize i = 0; i < G_N_ELEMENTS(marks); i++)
        if (ct_live_exists(live, marks[i]))
            ct_live_printf(live, "%s: exists\n", marks[i]);
    if (kernel && (strstr(kernel, "microsoft") || strstr(kernel, "Microsoft")))
        ct_live_printf(live, "/proc/version: Microsoft\n");
    ct_live_read(live, "/proc/1/cgroup", 65536, &group, NULL);
    static const char *const words[] = {"docker", "kubepods", "containerd", "lxc", "libpod"};
    for (gsize i = 0; group && i < G_N_ELEMENTS(words); i++)
        if (strstr(group, words[i]))
            ct_live_printf(live, "/proc/1/cgroup: %s\n", words[i]);
    ct_live_read(live, "/proc/self/mountinfo", CT_LIVE_MAX_FILE, &mounts, NULL);
    if (mounts && strstr(mounts, " / / ") && strstr(mounts, " - overlay "))
        ct_live_printf(live, "/proc/self/mountinfo: %s\n",
                       g_strstr_len(mounts, 400, " - overlay ") ? "overlay root" : "overlay");
    ct_live_end(live, CT_OK, NULL);
}

static void run(CtLive *live)
{
    variables(live);
    container(live);
}

const CtCollector ct_collector_environment = {
    .id = "environment",
    .layer = "environment",
    .title = "environment variables that matter, marks of a container",
    .run = run,
};
