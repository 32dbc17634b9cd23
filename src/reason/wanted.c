/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What to ask a person for when nobody looked: each kind of coverage with its name and a command
 * that can be copied.
 */
#include <string.h>

#include "reason/reason-private.h"

typedef struct {
    const char *kind, *en, *zh;
    const char *run;        /* on a server or PC; NULL where no command gives it */
    const char *run_jetson; /* "" is the same; NULL: not there on a Jetson */
    double cost_s;
    double use; /* how much it tells when nothing is known yet, 0..1 */
} Wanted;

#define TELEMETRY                                                                                  \
    "nvidia-smi --query-gpu=timestamp,index,temperature.gpu,power.draw,clocks.sm,clocks.mem,"      \
    "utilization.gpu,memory.used,clocks_throttle_reasons.active --format=csv -l 1 > gpu.csv"
#define TEGRASTATS "sudo tegrastats --interval 1000 --logfile tegrastats.log"

static const Wanted wanted[] = {
    {"kernel-log", "kernel log", "内核日志", "sudo dmesg -T > dmesg.txt", "", 10, 0.9},
    {"gpu-state", "nvidia-smi -q output", "nvidia-smi -q 输出", "nvidia-smi -q > nvidia-smi-q.txt",
     NULL, 10, 0.8},
    {"app-log", "log of the program", "程序日志", "<program> 2>&1 | tee app.log", "", 60, 1.0},
    {"cuda-log", "log of the program with its CUDA errors", "含 CUDA 错误的程序日志",
     "<program> 2>&1 | tee app.log", "", 60, 0.9},
    {"tegrastats", "tegrastats log", "tegrastats 日志", NULL, TEGRASTATS, 60, 0.8},
    {"versions", "list of versions", "版本清单",
     "{ nvidia-smi; nvcc --version; pip list; } > env.txt 2>&1",
     "{ cat /etc/nv_tegra_release; dpkg -l | grep -E 'nvidia-l4t|cuda|cudnn|nvinfer'; pip list; } "
     "> env.txt 2>&1",
     15, 0.6},
    {"packages", "package list", "软件包列表", "{ dpkg -l; pip list; } > packages.txt 2>&1", "", 10,
     0.3},
    {"gpu-processes", "list of GPU processes", "GPU 进程列表", "nvidia-smi > nvidia-smi.txt", NULL,
     5, 0.4},
    {"gpu-ecc", "ECC and row-remap state", "ECC 与行重映射状态",
     "nvidia-smi -q -d ECC,ROW_REMAPPER,PAGE_RETIREMENT > ecc.txt", NULL, 10, 0.4},
    {"gpu-clocks", "clocks and event reasons", "时钟与降频原因",
     "nvidia-smi -q -d CLOCK,PERFORMANCE,POWER,TEMPERATURE > clocks.txt", NULL, 10, 0.4},
    {"gpu-telemetry", "GPU telemetry over time", "GPU 随时间的遥测", TELEMETRY, TEGRASTATS, 300,
     0.5},
    {"memory-series", "memory use over time", "内存随时间的用量", TELEMETRY, TEGRASTATS, 300, 0.4},
    {"latency-series", "latency of each request", "逐请求延迟", NULL, NULL, 600, 0.3},
    {"environment", "environment variables", "环境变量", "env > environment.txt", "", 5, 0.3},
    {"container", "start options of the container", "容器的启动参数",
     "docker inspect <container> > inspect.json", "", 10, 0.2},
    {"device-nodes", "listing of device nodes", "设备节点列表",
     "ls -l /dev/nvidia* > nodes.txt 2>&1",
     "ls -lR /dev/nvgpu /dev/nvhost* /dev/nvmap /dev/nvidia* > nodes.txt 2>&1", 5, 0.2},
    {"loader", "what the loader finds", "动态库加载情况",
     "{ ldd <program>; ldconfig -p; } > loader.txt 2>&1", "", 10, 0.2},
    {"sanitizer", "compute-sanitizer report", "compute-sanitizer 报告",
     "compute-sanitizer <program> > sanitizer.txt 2>&1", "", 900, 0.2},
    {"sanitizer-leak", "leak check of compute-sanitizer", "compute-sanitizer 泄漏检查",
     "compute-sanitizer --leak-check full <program> > leaks.txt 2>&1", "", 900, 0.1},
    {"trt-build", "TensorRT build log", "TensorRT 构建日志",
     "trtexec --onnx=<model> --verbose > build.log 2>&1", "", 600, 0.1},
    {"trt-runtime", "TensorRT run-time log", "TensorRT 运行日志",
     "trtexec --loadEngine=<engine> --verbose > trt.log 2>&1", "", 120, 0.1},
    {"nccl-log", "NCCL log with INFO lines", "NCCL INFO 日志",
     "NCCL_DEBUG=INFO <program> > nccl.log 2>&1", "", 300, 0.1},
    {"trace", "timeline of GPU work", "GPU 时间线", "nsys profile -o trace <program>", "", 600,
     0.1},
};

static const Wanted *find(const char *kind)
{
    for (guint i = 0; i < G_N_ELEMENTS(wanted); i++)
        if (strcmp(wanted[i].kind, kind) == 0)
            return &wanted[i];
    return NULL;
}

static gboolean is_jetson(const CtReason *r)
{
    return ct_presence_has(r, "fact:host.jetson") || ct_presence_has(r, "fact:version.l4t") ||
           ct_presence_has(r, "fact:version.jetpack") || ct_presence_has(r, "coverage:tegrastats");
}

static const char *run_of(const CtReason *r, const Wanted *w)
{
    if (!is_jetson(r))
        return w->run;
    return w->run_jetson && !*w->run_jetson ? w->run : w->run_jetson;
}

const char *ct_coverage_name(const CtReason *r, const char *coverage)
{
    const Wanted *w = find(coverage);
    return w ? ct_lang(r, w->en, w->zh) : coverage;
}

char *ct_missing_sentence(const CtReason *r, const char *coverage, CtCovered why)
{
    const Wanted *w = find(coverage);
    const char *run = w ? run_of(r, w) : NULL;
    const char *name = ct_coverage_name(r, coverage);
    g_autofree char *what =
        why == CT_OTHER_TIME
            ? g_strdup_printf(ct_lang(r, "the %s does not reach the time of the fault",
                                      "%s未覆盖故障发生的时间"),
                              name)
            : g_strdup_printf(ct_lang(r, "no %s", "缺少%s"), name);
    return run ? g_strconcat(what, ct_lang(r, ": ", "："), run, NULL) : g_steal_pointer(&what);
}

static gboolean already_asked(const GPtrArray *next, const char *run)
{
    for (guint i = 0; i < next->len; i++)
        if (g_strcmp0(((CtNextTest *)g_ptr_array_index(next, i))->run, run) == 0)
            return TRUE;
    return FALSE;
}

/* How much the candidates would like to know this, 0..1. */
static double asked_for(const CtReason *r, const char *kind)
{
    double sum = 0;
    for (guint i = 0; i < r->candidates->len; i++) {
        const CtCandidate *c = g_ptr_array_index(r->candidates, i);
        for (guint k = 0; k < c->absences->len; k++) {
            const CtAbsence *a = &g_array_index(c->absences, CtAbsence, k);
            if (strstr(a->needs, kind))
                sum += c->hypothesis->probability * MIN(-a->weight / 10, 1);
        }
    }
    return MIN(sum, 1);
}

static int by_gain_for_cost(gconstpointer a, gconstpointer b)
{
    const CtNextTest *x = *(CtNextTest *const *)a, *y = *(CtNextTest *const *)b;
    double gx = x->gain / (x->cost_s + 30), gy = y->gain / (y->cost_s + 30);
    return gx > gy ? -1 : gx < gy;
}

void ct_wanted_by_unknown(CtReason *r, CtHypothesis *unknown)
{
    g_autoptr(GPtrArray) all = g_ptr_array_new_with_free_func(ct_next_test_free);
    for (guint i = 0; i < G_N_ELEMENTS(wanted); i++) {
        const Wanted *w = &wanted[i];
        const char *run = run_of(r, w);
        g_autofree char *kind = g_strconcat("coverage:", w->kind, NULL);
        if (!run || ct_presence_has(r, kind) || already_asked(all, run))
            continue;
        g_autofree char *test = g_strconcat("collect-", w->kind, NULL);
        g_autofree char *say = g_strdup_printf(
            ct_lang(r,
                    "Nobody has looked at this yet: %s. Run the command and give the file to "
                    "cutriage with the others.",
                    "尚未查看：%s。请运行该命令，并把得到的文件与其他文件一起交给 cutriage。"),
            ct_lang(r, w->en, w->zh));
        CtNextTest *t = ct_next_test_new(test, run, say, w->cost_s);
        t->gain = w->use + asked_for(r, w->kind);
        g_ptr_array_add(all, t);
    }
    g_ptr_array_sort(all, by_gain_for_cost);
    while (all->len && unknown->next->len < 3)
        g_ptr_array_add(unknown->next, g_ptr_array_steal_index(all, 0));
}
