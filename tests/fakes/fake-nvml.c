/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stand-in for libnvidia-ml.so.1 that says what a script tells it to. The script is the file
 * that FAKE_NVML names; each line is
 *
 *   devices 2                                  how many GPUs
 *   SYMBOL[N] = VALUES                         what the call answers (for device N, or all)
 *   SYMBOL error 15                            the code it returns
 *   SYMBOL garbage                             success, and every byte of the answer is 0xff
 *   SYMBOL block                               never returns
 *   SYMBOL crash                               dies of SIGSEGV
 *   field ID[:SCOPE] = NUMBER                  of nvmlDeviceGetFieldValues; "error CODE" too
 *
 * What has no line is not supported. Versioned structs are refused when the version word is wrong,
 * as the library does. Built with FAKE_NVML_OLD it lacks all but the functions of an old driver.
 */
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/live/nvml-abi.h"

#define EXPORT __attribute__((visibility("default")))
#define LINES 2048

static char lines[LINES][256];
static int n_lines = -1;

static void load(void)
{
    const char *path = getenv("FAKE_NVML");
    FILE *f = path ? fopen(path, "r") : NULL;
    n_lines = 0;
    while (f && n_lines < LINES && fgets(lines[n_lines], sizeof lines[0], f)) {
        lines[n_lines][strcspn(lines[n_lines], "\n")] = 0;
        n_lines++;
    }
    if (f)
        fclose(f);
}

static long index_of(CtNvmlDevice device)
{
    return (long)((uintptr_t)device & 0xff);
}

/* What follows "NAME " or "NAME[N] "; the line of the device comes before the one for all. */
static const char *find(const char *name, long device)
{
    char own[160];
    size_t n = strlen(name);
    const char *all = NULL;
    if (n_lines < 0)
        load();
    snprintf(own, sizeof own, "%s[%ld] ", name, device);
    for (int i = 0; i < n_lines; i++) {
        if (!strncmp(lines[i], own, strlen(own)))
            return lines[i] + strlen(own);
        if (!strncmp(lines[i], name, n) && lines[i][n] == ' ')
            all = lines[i] + n + 1;
    }
    return all;
}

/* 0 with the values, else the code to return. */
static int answer(const char *name, long device, const char **values, int *garbage)
{
    const char *what = find(name, device);
    *garbage = 0;
    *values = "";
    if (!what)
        return CT_NVML_NOT_SUPPORTED;
    if (!strncmp(what, "error ", 6))
        return atoi(what + 6);
    if (!strcmp(what, "block"))
        for (;;)
            pause();
    if (!strcmp(what, "crash"))
        raise(SIGSEGV);
    if (!strcmp(what, "garbage"))
        *garbage = 1;
    else if (!strncmp(what, "= ", 2))
        *values = what + 2;
    return CT_NVML_SUCCESS;
}

/* Layout, one letter a member: V version word, u 32 bits, q 64 bits, b a byte, h 16 bytes of hex,
 * t text of 16, T text of 32. Values stand in the script in the same order, without the V. */
static int fill(void *out, const char *layout, const char *values, int garbage, size_t size)
{
    unsigned char *p = out;
    char word[64];
    int used;
    if (garbage) {
        memset(p + (layout[0] == 'V' ? 4 : 0), 0xff, size - (layout[0] == 'V' ? 4 : 0));
        return CT_NVML_SUCCESS;
    }
    for (size_t at = 0; *layout; layout++) {
        if (*layout == 'V') {
            at = 4;
            continue;
        }
        if (sscanf(values, "%63s%n", word, &used) != 1)
            break;
        values += used;
        unsigned long long v = strtoull(word, NULL, 0);
        size_t len = *layout == 'q' ? 8 : *layout == 'b' ? 1 : *layout == 'u' ? 4
                     : *layout == 'T' ? 32 : 16;
        if (len == 4 || len == 8)
            at = (at + len - 1) / len * len;
        if (at + len > size)
            break;
        if (len <= 8)
            memcpy(p + at, &v, len);
        else
            memcpy(p + at, word, strlen(word) < len ? strlen(word) + 1 : len);
        at += len;
    }
    return CT_NVML_SUCCESS;
}

static int put_struct(const char *name, CtNvmlDevice device, void *out, size_t size,
                      unsigned version, const char *layout)
{
    const char *values;
    int garbage, code = answer(name, index_of(device), &values, &garbage);
    if (version && *(unsigned *)out != version)
        return CT_NVML_VERSION_MISMATCH;
    return code ? code : fill(out, layout, values, garbage, size);
}

static int put_text(const char *name, long device, char *out, unsigned size)
{
    const char *values;
    int garbage, code = answer(name, device, &values, &garbage);
    if (code)
        return code;
    if (garbage)
        memset(out, 0xff, size);
    else
        snprintf(out, size, "%s", values);
    return code;
}

static int put_words(const char *name, CtNvmlDevice device, unsigned *a, unsigned *b, unsigned *c,
                     unsigned *d)
{
    unsigned all[4] = {0};
    int code = put_struct(name, device, all, sizeof all, 0, "uuuu");
    unsigned *out[4] = {a, b, c, d};
    for (int i = 0; !code && i < 4; i++)
        if (out[i])
            *out[i] = all[i];
    return code;
}

#define TEXT(symbol)                                                                              \
    EXPORT int symbol(CtNvmlDevice device, char *out, unsigned size);                             \
    EXPORT int symbol(CtNvmlDevice device, char *out, unsigned size)                              \
    {                                                                                             \
        return put_text(#symbol, index_of(device), out, size);                                    \
    }
#define ONE(symbol)                                                                               \
    EXPORT int symbol(CtNvmlDevice device, unsigned *out);                                        \
    EXPORT int symbol(CtNvmlDevice device, unsigned *out)                                         \
    {                                                                                             \
        return put_words(#symbol, device, out, NULL, NULL, NULL);                                 \
    }
#define TWO(symbol)                                                                               \
    EXPORT int symbol(CtNvmlDevice device, unsigned *a, unsigned *b);                             \
    EXPORT int symbol(CtNvmlDevice device, unsigned *a, unsigned *b)                              \
    {                                                                                             \
        return put_words(#symbol, device, a, b, NULL, NULL);                                      \
    }
#define STRUCT(symbol, type, version, layout)                                                     \
    EXPORT int symbol(CtNvmlDevice device, type *out);                                            \
    EXPORT int symbol(CtNvmlDevice device, type *out)                                             \
    {                                                                                             \
        return put_struct(#symbol, device, out, sizeof *out,                                      \
                          (version) ? CT_NVML_VERSION(type, version) : 0, layout);                \
    }
/* A call with a selector: the script names it as SYMBOL/SELECTOR. */
#define PICK(symbol)                                                                              \
    EXPORT int symbol(CtNvmlDevice device, unsigned which, unsigned *out);                        \
    EXPORT int symbol(CtNvmlDevice device, unsigned which, unsigned *out)                         \
    {                                                                                             \
        char name[128];                                                                           \
        snprintf(name, sizeof name, "%s/%u", #symbol, which);                                     \
        return put_words(find(name, index_of(device)) ? name : #symbol, device, out, NULL, NULL,  \
                         NULL);                                                                   \
    }
#define LIST(symbol)                                                                              \
    EXPORT int symbol(CtNvmlDevice device, unsigned *count, CtNvmlProcess *out);                  \
    EXPORT int symbol(CtNvmlDevice device, unsigned *count, CtNvmlProcess *out)                   \
    {                                                                                             \
        return put_list(#symbol, device, count, out);                                             \
    }

EXPORT int nvmlInit_v2(void);
EXPORT int nvmlInit_v2(void)
{
    const char *values;
    int garbage;
    return find("nvmlInit_v2", 0) ? answer("nvmlInit_v2", 0, &values, &garbage) : 0;
}

EXPORT int nvmlShutdown(void);
EXPORT int nvmlShutdown(void)
{
    return 0;
}

EXPORT int nvmlDeviceGetCount_v2(unsigned *count);
EXPORT int nvmlDeviceGetCount_v2(unsigned *count)
{
    const char *n = find("devices", 0), *values;
    int garbage, code = find("nvmlDeviceGetCount_v2", 0)
                            ? answer("nvmlDeviceGetCount_v2", 0, &values, &garbage)
                            : 0;
    *count = n ? (unsigned)strtoul(n, NULL, 0) : 1;
    return code;
}

EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, CtNvmlDevice *out);
EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, CtNvmlDevice *out)
{
    const char *values;
    int garbage, code = find("nvmlDeviceGetHandleByIndex_v2", (long)index)
                            ? answer("nvmlDeviceGetHandleByIndex_v2", (long)index, &values, &garbage)
                            : 0;
    *out = code ? NULL : (CtNvmlDevice)(uintptr_t)(0x1000 + index);
    return code;
}

EXPORT int nvmlSystemGetDriverVersion(char *out, unsigned size);
EXPORT int nvmlSystemGetDriverVersion(char *out, unsigned size)
{
    return put_text("nvmlSystemGetDriverVersion", 0, out, size);
}

TEXT(nvmlDeviceGetName)
TEXT(nvmlDeviceGetUUID)
STRUCT(nvmlDeviceGetPciInfo_v3, CtNvmlPci, 0, "tuuuuuT")
STRUCT(nvmlDeviceGetMemoryInfo, CtNvmlMemory, 0, "qqq")
PICK(nvmlDeviceGetTemperature)
ONE(nvmlDeviceGetPowerUsage)

#ifndef FAKE_NVML_OLD
/* "= N PID BYTES GI CI PID BYTES GI CI ...": N is what the call says, whatever it writes. */
static int put_list(const char *name, CtNvmlDevice device, unsigned *count, CtNvmlProcess *out)
{
    const char *values;
    unsigned room = *count, said = 0;
    int garbage, used = 0, code = answer(name, index_of(device), &values, &garbage);
    if (code)
        return code;
    if (garbage) {
        *count = 0xffffffffu;
        memset(out, 0xff, room * sizeof *out);
        return code;
    }
    if (sscanf(values, "%u%n", &said, &used) != 1)
        return CT_NVML_UNKNOWN;
    values += used;
    if (said > room && said < 100000) {
        *count = said;
        return CT_NVML_INSUFFICIENT_SIZE;
    }
    *count = said;
    for (unsigned i = 0; i < room; i++) {
        long long bytes;
        if (sscanf(values, "%u %lld %u %u%n", &out[i].pid, &bytes, &out[i].gpu_instance,
                   &out[i].compute_instance, &used) != 4)
            break;
        out[i].bytes = (uint64_t)bytes;
        values += used;
    }
    return code;
}

EXPORT int nvmlSystemGetNVMLVersion(char *out, unsigned size);
EXPORT int nvmlSystemGetNVMLVersion(char *out, unsigned size)
{
    return put_text("nvmlSystemGetNVMLVersion", 0, out, size);
}

EXPORT int nvmlSystemGetCudaDriverVersion_v2(int *out);
EXPORT int nvmlSystemGetCudaDriverVersion_v2(int *out)
{
    return put_words("nvmlSystemGetCudaDriverVersion_v2", NULL, (unsigned *)out, NULL, NULL, NULL);
}

EXPORT int nvmlSystemGetProcessName(unsigned pid, char *out, unsigned size);
EXPORT int nvmlSystemGetProcessName(unsigned pid, char *out, unsigned size)
{
    return put_text("nvmlSystemGetProcessName", (long)pid, out, size);
}

TEXT(nvmlDeviceGetSerial)
TEXT(nvmlDeviceGetVbiosVersion)
TEXT(nvmlDeviceGetBoardPartNumber)
TEXT(nvmlDeviceGetInforomImageVersion)
ONE(nvmlDeviceGetBrand)
ONE(nvmlDeviceGetArchitecture)
ONE(nvmlDeviceGetDisplayMode)
ONE(nvmlDeviceGetDisplayActive)
ONE(nvmlDeviceGetPersistenceMode)
ONE(nvmlDeviceGetAccountingMode)
ONE(nvmlDeviceGetAccountingBufferSize)
ONE(nvmlDeviceGetMinorNumber)
ONE(nvmlDeviceGetMultiGpuBoard)
ONE(nvmlDeviceGetBoardId)
ONE(nvmlDeviceGetVirtualizationMode)
ONE(nvmlDeviceGetMaxPcieLinkGeneration)
ONE(nvmlDeviceGetGpuMaxPcieLinkGeneration)
ONE(nvmlDeviceGetCurrPcieLinkGeneration)
ONE(nvmlDeviceGetMaxPcieLinkWidth)
ONE(nvmlDeviceGetCurrPcieLinkWidth)
ONE(nvmlDeviceGetPcieReplayCounter)
ONE(nvmlDeviceGetFanSpeed)
ONE(nvmlDeviceGetPerformanceState)
ONE(nvmlDeviceGetComputeMode)
ONE(nvmlDeviceGetRetiredPagesPendingStatus)
ONE(nvmlDeviceGetPowerManagementLimit)
ONE(nvmlDeviceGetPowerManagementDefaultLimit)
ONE(nvmlDeviceGetEnforcedPowerLimit)
ONE(nvmlDeviceGetMaxMigDeviceCount)
ONE(nvmlDeviceGetGpuInstanceId)
ONE(nvmlDeviceGetComputeInstanceId)
TWO(nvmlDeviceGetMigMode)
TWO(nvmlDeviceGetEccMode)
TWO(nvmlDeviceGetEncoderUtilization)
TWO(nvmlDeviceGetDecoderUtilization)
TWO(nvmlDeviceGetJpgUtilization)
TWO(nvmlDeviceGetOfaUtilization)
TWO(nvmlDeviceGetPowerManagementLimitConstraints)
PICK(nvmlDeviceGetPcieThroughput)
PICK(nvmlDeviceGetTemperatureThreshold)
PICK(nvmlDeviceGetClockInfo)
PICK(nvmlDeviceGetMaxClockInfo)
PICK(nvmlDeviceGetApplicationsClock)
PICK(nvmlDeviceGetDefaultApplicationsClock)
PICK(nvmlDeviceGetMaxCustomerBoostClock)
PICK(nvmlDeviceGetNvLinkState)
PICK(nvmlDeviceGetNvLinkRemoteDeviceType)
STRUCT(nvmlDeviceGetAddressingMode, CtNvmlWord, 1, "Vu")
STRUCT(nvmlDeviceGetCapabilities, CtNvmlWord, 1, "Vu")
STRUCT(nvmlDeviceGetUnrepairableMemoryFlag_v1, CtNvmlWord, 1, "Vu")
STRUCT(nvmlDeviceGetPdi, CtNvmlPdi, 1, "Vq")
STRUCT(nvmlDeviceGetPlatformInfo, CtNvmlPlatform, 2, "Vhtbbbbb")
STRUCT(nvmlDeviceGetPciInfoExt, CtNvmlPciExt, 1, "Vuuuuuuu")
STRUCT(nvmlDeviceGetMemoryInfo_v2, CtNvmlMemoryV2, 2, "Vqqqq")
STRUCT(nvmlDeviceGetBAR1MemoryInfo, CtNvmlMemory, 0, "qqq")
STRUCT(nvmlDeviceGetUtilizationRates, CtNvmlUtilization, 0, "uu")
STRUCT(nvmlDeviceGetSramEccErrorStatus, CtNvmlSram, 1, "Vqqqqqqqqqqqu")
STRUCT(nvmlDeviceGetRepairStatus, CtNvmlRepair, 1, "Vuu")
STRUCT(nvmlDeviceGetRemappedRows_v2, CtNvmlRemapV2, 0, "uuuuuu")
STRUCT(nvmlDeviceGetRowRemapperHistogram, CtNvmlHistogram, 0, "uuuuu")
STRUCT(nvmlDeviceGetTemperatureV, CtNvmlTemperature, 1, "Vuu")
STRUCT(nvmlDeviceGetMarginTemperature, CtNvmlMargin, 1, "Vu")
STRUCT(nvmlDeviceGetAttributes_v2, CtNvmlAttributes, 0, "uuuuuuuuq")
STRUCT(nvmlDeviceGetBridgeChipInfo, CtNvmlBridges, 0, "uuu")
STRUCT(nvmlDeviceGetFBCStats, CtNvmlFbc, 0, "uuu")
LIST(nvmlDeviceGetComputeRunningProcesses_v3)
LIST(nvmlDeviceGetGraphicsRunningProcesses_v3)

EXPORT int nvmlDeviceGetGpuFabricInfoV(CtNvmlDevice device, CtNvmlFabricV *out);
EXPORT int nvmlDeviceGetGpuFabricInfoV(CtNvmlDevice device, CtNvmlFabricV *out)
{
    return put_struct("nvmlDeviceGetGpuFabricInfoV", device, out,
                      out->version == CT_NVML_FABRIC_V2 ? 36 : sizeof *out,
                      find("old-fabric", 0) ? CT_NVML_FABRIC_V2 : CT_NVML_FABRIC_V3, "Vhuuuub");
}

EXPORT int nvmlDeviceGetGspFirmwareVersion(CtNvmlDevice device, char *out);
EXPORT int nvmlDeviceGetGspFirmwareVersion(CtNvmlDevice device, char *out)
{
    return put_text("nvmlDeviceGetGspFirmwareVersion", index_of(device), out, 80);
}

EXPORT int nvmlDeviceGetInforomVersion(CtNvmlDevice device, unsigned which, char *out,
                                       unsigned size);
EXPORT int nvmlDeviceGetInforomVersion(CtNvmlDevice device, unsigned which, char *out,
                                       unsigned size)
{
    char name[64];
    snprintf(name, sizeof name, "nvmlDeviceGetInforomVersion/%u", which);
    return put_text(name, index_of(device), out, size);
}

EXPORT int nvmlDeviceGetCudaComputeCapability(CtNvmlDevice device, int *major, int *minor);
EXPORT int nvmlDeviceGetCudaComputeCapability(CtNvmlDevice device, int *major, int *minor)
{
    return put_words("nvmlDeviceGetCudaComputeCapability", device, (unsigned *)major,
                     (unsigned *)minor, NULL, NULL);
}

EXPORT int nvmlDeviceGetCurrentClocksEventReasons(CtNvmlDevice device, uint64_t *out);
EXPORT int nvmlDeviceGetCurrentClocksEventReasons(CtNvmlDevice device, uint64_t *out)
{
    return put_struct("nvmlDeviceGetCurrentClocksEventReasons", device, out, 8, 0, "q");
}

EXPORT int nvmlDeviceGetMemoryErrorCounter(CtNvmlDevice device, unsigned kind, unsigned counter,
                                           unsigned place, uint64_t *out);
EXPORT int nvmlDeviceGetMemoryErrorCounter(CtNvmlDevice device, unsigned kind, unsigned counter,
                                           unsigned place, uint64_t *out)
{
    char name[64];
    snprintf(name, sizeof name, "ecc/%u/%u/%u", kind, counter, place);
    return put_struct(name, device, out, 8, 0, "q");
}

EXPORT int nvmlDeviceGetTotalEccErrors(CtNvmlDevice device, unsigned kind, unsigned counter,
                                       uint64_t *out);
EXPORT int nvmlDeviceGetTotalEccErrors(CtNvmlDevice device, unsigned kind, unsigned counter,
                                       uint64_t *out)
{
    char name[64];
    snprintf(name, sizeof name, "ecc-total/%u/%u", kind, counter);
    return put_struct(name, device, out, 8, 0, "q");
}

EXPORT int nvmlDeviceGetRetiredPages(CtNvmlDevice device, unsigned cause, unsigned *count,
                                     uint64_t *addresses);
EXPORT int nvmlDeviceGetRetiredPages(CtNvmlDevice device, unsigned cause, unsigned *count,
                                     uint64_t *addresses)
{
    char name[64];
    snprintf(name, sizeof name, "retired/%u", cause);
    int code = put_words(name, device, count, NULL, NULL, NULL);
    return code ? code : *count ? CT_NVML_INSUFFICIENT_SIZE : 0;
}

EXPORT int nvmlDeviceGetMigDeviceHandleByIndex(CtNvmlDevice device, unsigned index,
                                               CtNvmlDevice *out);
EXPORT int nvmlDeviceGetMigDeviceHandleByIndex(CtNvmlDevice device, unsigned index,
                                               CtNvmlDevice *out)
{
    const char *n = find("mig-devices", index_of(device));
    if (!n || index >= (unsigned)atoi(n))
        return CT_NVML_NOT_FOUND;
    *out = (CtNvmlDevice)(uintptr_t)(0x2000 + 100 + index);
    return 0;
}

EXPORT int nvmlDeviceGetFieldValues(CtNvmlDevice device, int count, CtNvmlField *fields);
EXPORT int nvmlDeviceGetFieldValues(CtNvmlDevice device, int count, CtNvmlField *fields)
{
    for (int i = 0; i < count; i++) {
        char name[64];
        const char *values;
        int garbage;
        snprintf(name, sizeof name, "field %u:%u", fields[i].id, fields[i].scope);
        if (!find(name, index_of(device)))
            snprintf(name, sizeof name, "field %u", fields[i].id);
        fields[i].result = answer(name, index_of(device), &values, &garbage);
        fields[i].type = garbage ? 0xffffffffu : CT_NVML_TYPE_LONGLONG;
        fields[i].value.sll = garbage ? -1 : strtoll(values, NULL, 0);
    }
    return find("nvmlDeviceGetFieldValues", 0)
               ? answer("nvmlDeviceGetFieldValues", 0, &(const char *){NULL}, &(int){0})
               : 0;
}
#endif
