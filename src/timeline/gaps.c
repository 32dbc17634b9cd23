/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a trace cannot show, in both languages. The English format is the key of the Chinese one, as
 * in a message catalogue; both take the same values in the same order (a test holds them to it).
 */
#include "timeline/timeline-private.h"

static const char *const words[][2] = {
    {"times as written", "时间单位"},
    {"the end of the trace", "文件末尾"},
    {"damaged events", "损坏的事件"},
    {"events without a time", "没有时间的事件"},
    {"negative durations", "负的持续时间"},
    {"ranges cut off", "不完整的区间"},
    {"order", "顺序"},
    {"GPU work", "GPU 工作"},
    {"kernels", "内核"},
    {"the end of the run", "运行的末尾"},
    {"CUDA calls", "CUDA 调用"},
    {"results of calls", "调用的返回值"},
    {"memory", "内存"},
    {"said by the profiler", "分析工具的说明"},
    {"NVTX ranges", "NVTX 区间"},
    {"blocking OS calls", "阻塞的系统调用"},
    {"GPU memory", "GPU 上的内存分配"},
    {"wall time", "墙上时间"},
    {"names", "名称"},
    {"older calls", "更早的调用"},
    {"whole requests", "完整的请求"},
    {"the shortest of %" G_GUINT64_FORMAT " launches would take %.1f ms: the file counts in ns, not in "
     "us as the format wants, and is read so",
     "%" G_GUINT64_FORMAT " 次启动中最短的将达 %.1f ms：文件以 ns 计时，而非格式要求的 us，已按 ns 读取"},
    {"%" G_GUINT64_FORMAT " time stamps are dates in ns, not in us as the format wants, and are read so",
     "%" G_GUINT64_FORMAT " 个时间戳以 ns 表示日期，而非格式要求的 us，已按 ns 读取"},
    {"the file is cut after %" G_GUINT64_FORMAT " events and %" G_GINT64_FORMAT
     " bytes (%s); what came before was read",
     "文件在 %" G_GUINT64_FORMAT " 个事件、%" G_GINT64_FORMAT " 字节后被截断（%s）；此前的内容已读取"},
    {"%" G_GUINT64_FORMAT " objects could not be read and were stepped over",
     "%" G_GUINT64_FORMAT " 个对象无法读取，已跳过"},
    {"%" G_GUINT64_FORMAT " events have no time or one that is not a number; they were left out",
     "%" G_GUINT64_FORMAT " 个事件没有时间，或时间不是数字，已舍去"},
    {"%" G_GUINT64_FORMAT " events end before they begin: the clock stepped back; they count as 0",
     "%" G_GUINT64_FORMAT " 个事件的结束早于开始：时钟曾回跳；按 0 计"},
    {"%" G_GUINT64_FORMAT " ranges have only a begin or only an end in the file",
     "%" G_GUINT64_FORMAT " 个区间在文件中只有开始或只有结束"},
    {"the trace holds more than %u events; it is read in the order of the file, several times",
     "文件超过 %u 个事件；按文件顺序多次读取"},
    {"a Triton trace holds times of requests, no kernels", "Triton 跟踪只含请求的时间，不含内核"},
    {"an ONNX Runtime profile without CUDA profiling: the time of a node on the GPU is that of its "
     "launch",
     "ONNX Runtime profile 未启用 CUDA 分析：GPU 节点的时间只是启动的时间"},
    {"ONNX Runtime stops recording after 1,000,000 events", "ONNX Runtime 在 1,000,000 个事件后停止记录"},
    {"%" G_GUINT64_FORMAT " launches but no kernels: the buffers of CUPTI were lost, another profiler "
     "held it, or the file was filtered",
     "有 %" G_GUINT64_FORMAT " 次启动却没有内核：CUPTI 缓冲区丢失、被其他分析工具占用，或文件经过筛选"},
    {"the trace holds no CUDA calls and no kernels: only the CPU was profiled (ProfilerActivity.CUDA "
     "off), or nothing ran on a GPU",
     "没有 CUDA 调用，也没有内核：只分析了 CPU（未启用 ProfilerActivity.CUDA），或没有任何工作在 GPU 上运行"},
    {"the trace holds ranges of the host only", "只含主机端的区间"},
    {"the trace holds kernels but no calls of the CUDA API: how the host spent its time and how long "
     "launches waited cannot be seen",
     "有内核但没有 CUDA API 调用：看不到主机的时间花在何处，也看不到启动等待了多久"},
    {"traces of this format do not say what CUDA calls returned", "此格式不记录 CUDA 调用的返回值"},
    {"profile_memory was off: allocations cannot be seen", "未启用 profile_memory：看不到内存分配"},
    {"no tables of kernels, copies or graphs", "没有内核、拷贝或图的表"},
    {"no CUDA tables", "没有 CUDA 表"},
    {"%s: the capture recorded no GPU work; %s", "%s：采集中没有记录到 GPU 工作；%s"},
    {"the driver is newer than this Nsight Systems knows: take a newer one",
     "驱动比此版本的 Nsight Systems 新：请使用更新的版本"},
    {"CUPTI failed: another profiler may have held it, or the program ended before the buffers were "
     "written",
     "CUPTI 失败：可能被其他分析工具占用，或程序在缓冲区写出前结束"},
    {"the program made no CUDA calls while it was traced", "跟踪期间程序没有 CUDA 调用"},
    {"the rights to profile were missing", "缺少性能分析的权限"},
    {"the calls launched nothing, or the program ended before the buffers were written",
     "这些调用没有启动任何工作，或程序在缓冲区写出前结束"},
    {"CUDA was not traced (-t cuda), or the program used no CUDA",
     "未跟踪 CUDA（-t cuda），或程序没有使用 CUDA"},
    {"CUDA graphs are traced whole; --cuda-graph-trace=node shows their kernels",
     "CUDA 图被整体跟踪；--cuda-graph-trace=node 可显示其中的内核"},
    {"the capture recorded none, only copies or memsets", "采集中没有内核，只有拷贝或内存设置"},
    {"the capture recorded none: how the host spent its time and how long launches waited cannot be "
     "seen",
     "采集中没有记录：看不到主机的时间花在何处，也看不到启动等待了多久"},
    {"none were recorded (-t nvtx, and the program has to use NVTX): requests are taken from what "
     "repeats",
     "没有记录（需要 -t nvtx，且程序使用 NVTX）：请求由重复的模式得出"},
    {"not recorded (-t osrt)", "没有记录（-t osrt）"},
    {"not recorded (--cuda-memory-usage=true)", "没有记录（--cuda-memory-usage=true）"},
    {"the start of the session is not in the file: its times cannot be laid beside other logs",
     "文件中没有会话的起始时间：无法与其他日志对照"},
    {"the table is no ordinary one and is not read", "不是普通的表，未读取"},
    {"the table has no column of times", "表中没有时间列"},
    {"%s; the rows before that were read", "%s；此前的行已读取"},
    {"nearly all calls would take under 25 ns: the file counts in us, not in ns as the format wants, "
     "and is read so",
     "几乎所有调用都将短于 25 ns：文件以 us 计时，而非格式要求的 ns，已按 us 读取"},
    {"%s: more than %u rows that are not in order of time; they are read as written",
     "%s：超过 %u 行且不按时间顺序；按文件顺序读取"},
    {"%" G_GUINT64_FORMAT " NVTX ranges have no end in the file",
     "%" G_GUINT64_FORMAT " 个 NVTX 区间在文件中没有结束"},
    {"%" G_GUINT64_FORMAT " rows have times that cannot be; they were left out",
     "%" G_GUINT64_FORMAT " 行的时间不可能成立，已舍去"},
    {"the table StringIds is missing: kernels and calls have no names",
     "缺少 StringIds 表：内核和调用没有名称"},
    {"the recorder sees calls, not the work on the GPU", "记录器只看到调用，看不到 GPU 上的工作"},
    {"only the last %u calls of each thread are kept", "每个线程只保留最后 %u 次调用"},
    {"%u of %u requests have no start or no end in the file",
     "%u 个（共 %u 个）请求在文件中没有开始或没有结束"},
};

const char *ct_tl_chinese(const char *english)
{
    for (gsize i = 0; i < G_N_ELEMENTS(words); i++)
        if (strcmp(words[i][0], english) == 0)
            return words[i][1];
    return english;
}

guint ct_tl_n_words(void)
{
    return G_N_ELEMENTS(words);
}

const char *const *ct_tl_word(guint index)
{
    return words[index];
}

static void add(CtTimeline *tl, const char *what, char *why, char *why_zh)
{
    gboolean known = tl->gaps->len >= CT_TL_MAX_GAPS;
    for (guint i = 0; i < tl->gaps->len && !known; i++) {
        const CtTlGap *g = g_ptr_array_index(tl->gaps, i);
        known = g_str_equal(g->what, what) && g_str_equal(g->why, why);
    }
    if (known) {
        g_free(why);
        g_free(why_zh);
        return;
    }
    CtTlGap *gap = g_new0(CtTlGap, 1);
    *gap = (CtTlGap){g_strdup(what), why, g_strdup(ct_tl_chinese(what)), why_zh};
    g_ptr_array_add(tl->gaps, gap);
}

#pragma GCC diagnostic ignored "-Wformat-nonliteral" /* the Chinese twin of a checked format */

void ct_tl_gap(CtTimeline *tl, const char *what, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    char *why = g_strdup_vprintf(format, args);
    char *why_zh = g_strdup_vprintf(ct_tl_chinese(format), again);
    va_end(again);
    va_end(args);
    add(tl, what, why, why_zh);
}

void ct_tl_gap_because(CtTimeline *tl, const char *what, const char *format, const char *first,
                       const char *second)
{
    add(tl, what, g_strdup_printf(format, first, second),
        g_strdup_printf(ct_tl_chinese(format), ct_tl_chinese(first), ct_tl_chinese(second)));
}
