/* SPDX-License-Identifier: Apache-2.0 */
/* What a call or a copy is, from its name. */
#include <string.h>

#include "timeline/timeline-private.h"

typedef struct {
    const char *word; /* within the name, after cuda/cu/hip */
    CtTlCall call;
} Rule;

/* The first that fits counts: GraphLaunch before Graph, MemsetAsync before Mem. */
static const Rule rules[] = {
    {"LaunchHostFunc", CT_TL_CALL_OTHER},
    {"GraphLaunch", CT_TL_CALL_LAUNCH},
    {"Launch", CT_TL_CALL_LAUNCH},
    {"StreamWaitEvent", CT_TL_CALL_EVENT},
    {"StreamWaitValue", CT_TL_CALL_EVENT},
    {"EventSynchronize", CT_TL_CALL_SYNC},
    {"Synchronize", CT_TL_CALL_SYNC},
    {"CtxSync", CT_TL_CALL_SYNC},
    {"Graph", CT_TL_CALL_GRAPH},
    {"StreamBeginCapture", CT_TL_CALL_GRAPH},
    {"StreamEndCapture", CT_TL_CALL_GRAPH},
    {"Event", CT_TL_CALL_EVENT},
    {"MemcpyGetAttribute", CT_TL_CALL_OTHER},
    {"Memcpy", CT_TL_CALL_COPY},
    {"MemPrefetch", CT_TL_CALL_COPY},
    {"Memset", CT_TL_CALL_SET},
    {"MallocHost", CT_TL_CALL_ALLOC},
    {"HostAlloc", CT_TL_CALL_ALLOC},
    {"HostRegister", CT_TL_CALL_ALLOC},
    {"HostUnregister", CT_TL_CALL_FREE},
    {"Malloc", CT_TL_CALL_ALLOC},
    {"MemAlloc", CT_TL_CALL_ALLOC},
    {"MemHostAlloc", CT_TL_CALL_ALLOC},
    {"MemHostRegister", CT_TL_CALL_ALLOC},
    {"MemCreate", CT_TL_CALL_ALLOC},
    {"MemMap", CT_TL_CALL_ALLOC},
    {"MemSetAccess", CT_TL_CALL_ALLOC},
    {"MemUnmap", CT_TL_CALL_FREE},
    {"MemRelease", CT_TL_CALL_FREE},
    {"MemPoolTrim", CT_TL_CALL_FREE},
    {"MemHostUnregister", CT_TL_CALL_FREE},
    {"MemFree", CT_TL_CALL_FREE},
    {"Free", CT_TL_CALL_FREE},
    {"ModuleLoad", CT_TL_CALL_MODULE},
    {"LibraryLoad", CT_TL_CALL_MODULE},
    {"LinkCreate", CT_TL_CALL_MODULE},
    {"LinkComplete", CT_TL_CALL_MODULE},
    {"LinkAddData", CT_TL_CALL_MODULE},
    {"KernelGetFunction", CT_TL_CALL_MODULE},
    {"FunctionLoad", CT_TL_CALL_MODULE},
};

CtTlCall ct_tl_call_of(const char *name)
{
    if (!g_str_has_prefix(name, "cu") && !g_str_has_prefix(name, "hip") &&
        !g_str_has_prefix(name, "nv"))
        return strstr(name, "LaunchKernel") ? CT_TL_CALL_LAUNCH : CT_TL_CALL_OTHER;
    for (gsize i = 0; i < G_N_ELEMENTS(rules); i++)
        if (strstr(name, rules[i].word))
            return rules[i].call;
    return CT_TL_CALL_OTHER;
}

gsize ct_tl_call_length(const char *name, gsize len)
{
    gsize at = len;
    while (at > 0 && g_ascii_isdigit(name[at - 1]))
        at--;
    /* _v2 belongs to the driver's own names; the runtime's have four digits and more. */
    return len - at >= 4 && at >= 2 && name[at - 1] == 'v' && name[at - 2] == '_' ? at - 2 : len;
}

static CtTlMemory memory_of(const char *word)
{
    static const struct {
        const char *word;
        CtTlMemory memory;
    } kinds[] = {{"pageable", CT_TL_MEM_PAGEABLE}, {"pinned", CT_TL_MEM_PINNED},
                 {"device", CT_TL_MEM_DEVICE},     {"array", CT_TL_MEM_DEVICE},
                 {"managed", CT_TL_MEM_MANAGED},   {"unified", CT_TL_MEM_MANAGED}};
    while (*word == ' ')
        word++;
    for (gsize i = 0; i < G_N_ELEMENTS(kinds); i++)
        if (g_ascii_strncasecmp(word, kinds[i].word, strlen(kinds[i].word)) == 0)
            return kinds[i].memory;
    return CT_TL_MEM_UNKNOWN;
}

gboolean ct_tl_copy_of(const char *name, CtTlEvent *e)
{
    static const struct {
        const char *word;
        CtTlCopy copy;
    } ways[] = {{"HtoD", CT_TL_COPY_H2D}, {"H2D", CT_TL_COPY_H2D}, {"HtoA", CT_TL_COPY_H2D},
                {"DtoH", CT_TL_COPY_D2H}, {"D2H", CT_TL_COPY_D2H}, {"AtoH", CT_TL_COPY_D2H},
                {"DtoD", CT_TL_COPY_D2D}, {"D2D", CT_TL_COPY_D2D}, {"PtoP", CT_TL_COPY_P2P},
                {"P2P", CT_TL_COPY_P2P},  {"HtoH", CT_TL_COPY_H2H}, {"H2H", CT_TL_COPY_H2H}};
    if (g_ascii_strncasecmp(name, "memcpy", 6) != 0 && g_ascii_strncasecmp(name, "[CUDA memcpy", 12))
        return FALSE;
    for (gsize i = 0; i < G_N_ELEMENTS(ways) && e->copy == CT_TL_COPY_UNKNOWN; i++)
        if (strstr(name, ways[i].word))
            e->copy = ways[i].copy;
    const char *open = strchr(name, '('), *arrow = open ? strstr(open, "->") : NULL;
    if (arrow) {
        e->source = memory_of(open + 1);
        e->target = memory_of(arrow + 2);
    }
    return TRUE;
}
