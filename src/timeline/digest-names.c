/* SPDX-License-Identifier: Apache-2.0 */
/* What the name of a range says about its work, word by word. */
#include <string.h>

#include "timeline/digest-private.h"

#define MAX_WORDS 24u

typedef struct {
    char word[MAX_WORDS][16];
    guint n;
} Words;

/* "decodeFrame_2", "queue-wait", "Preprocess": words of letters, lower case, cut at 15. */
static void split(const char *name, Words *w)
{
    gsize len = 0;
    *w = (Words){0};
    for (const char *p = name; *p && w->n < MAX_WORDS; p++) {
        gboolean letter = g_ascii_isalpha(*p);
        gboolean next = !letter || (p > name && g_ascii_isupper(*p) && g_ascii_islower(p[-1]));
        if (next && len) {
            w->n++;
            len = 0;
        }
        if (letter && w->n < MAX_WORDS && len < 15)
            w->word[w->n][len++] = g_ascii_tolower(*p);
    }
    if (len && w->n < MAX_WORDS)
        w->n++;
}

static gboolean has(const Words *w, const char *const *whole, const char *const *begin)
{
    for (guint i = 0; i < w->n; i++) {
        for (guint k = 0; whole[k]; k++)
            if (g_str_equal(w->word[i], whole[k]))
                return TRUE;
        for (guint k = 0; begin[k]; k++)
            if (g_str_has_prefix(w->word[i], begin[k]))
                return TRUE;
    }
    return FALSE;
}

static gboolean holds(const char *name, const char *const *parts)
{
    for (guint i = 0; parts[i]; i++)
        if (strstr(name, parts[i]))
            return TRUE;
    return FALSE;
}

/* Chinese is written without gaps, so parts of the name stand for its words. */
static CtRangeKind kind_in_chinese(const char *name)
{
    static const char *const queue[] = {"排队", "队列", "等待批", "等待组批", "组批", "攒批", NULL};
    static const char *const gpu[] = {"权重", "模型", "引擎", "内核", "注意力", "解码器", "编码器",
                                      "令牌", "层", NULL};
    static const char *const input[] = {"解码", "读取", "读图", "读文件", "读盘", "加载", "载入",
                                        "预处理", "前处理", "拉流", "取流", "取帧", "取图", "下载",
                                        "缩放", "分词", "数据增强", "输入", NULL};
    if (holds(name, queue))
        return CT_RANGE_QUEUE;
    return holds(name, input) && !holds(name, gpu) ? CT_RANGE_INPUT : CT_RANGE_OTHER;
}

CtRangeKind ct_digest_range_kind(const char *name)
{
    static const char *const input[] = {"load",  "loads", "loading", "loader", "read",  "reads",
                                        "reader", "io",    "input",   "inputs", "disk",  "file",
                                        "files",  "parse", "jpeg",    "mjpeg",  "imread", "demux",
                                        "grab", "camera", "rtsp", NULL};
    static const char *const input_begin[] = {"decod", "fetch",    "preproc", "dataload",
                                              "download", "ingest", "resiz", "tokeniz", "augment",
                                              "collat", NULL};
    static const char *const queue[] = {"pending", "backlog", "admission", NULL};
    static const char *const queue_begin[] = {"queue", "queuing", "batching", "batcher", NULL};
    static const char *const wait[] = {"wait", "waits", "waiting", "delay", "gather", "collect",
                                       "assemble", "form", "fill", NULL};
    static const char *const batch[] = {"batch", "slot", "turn", NULL};
    static const char *const gpu[] = {"kernel", "gpu",     "cuda",   "stream",    "event",
                                      "model",  "weights", "engine", "attention", "decoder",
                                      "encoder", "token",  "layer",  "layers",    "prefill", NULL};
    static const char *const next[] = {"next", "get", NULL};
    static const char *const item[] = {"batch", "frame", "frames", "sample", "samples", "item",
                                       "image", "images", "data", NULL};
    static const char *const none[] = {NULL};
    /* Frameworks name operators so. */
    if (g_str_has_prefix(name, "aten::") || g_str_has_prefix(name, "autograd::") ||
        g_str_has_prefix(name, "cuda") ||
        (g_str_has_prefix(name, "cu") && g_ascii_isupper(name[2])))
        return CT_RANGE_OTHER;
    CtRangeKind chinese = kind_in_chinese(name);
    if (chinese != CT_RANGE_OTHER)
        return chinese;
    Words w;
    split(name, &w);
    if (has(&w, queue, queue_begin) || (has(&w, wait, none) && has(&w, batch, none)))
        return CT_RANGE_QUEUE;
    /* The decoder of a language model, the loading of weights: the GPU's own. */
    if (has(&w, gpu, none))
        return CT_RANGE_OTHER;
    if (has(&w, input, input_begin) || (has(&w, next, none) && has(&w, item, none)) ||
        (w.n == 2 && g_str_equal(w.word[0], "pre") &&
                                        g_str_has_prefix(w.word[1], "process")))
        return CT_RANGE_INPUT;
    return has(&w, wait, none) && w.n == 1 ? CT_RANGE_QUEUE : CT_RANGE_OTHER;
}
