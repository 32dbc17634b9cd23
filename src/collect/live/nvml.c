/* SPDX-License-Identifier: Apache-2.0 */
/*
 * State of the GPUs through NVML, opened at run time. The text is that of `nvidia-smi -q`, so one
 * parser reads both and both give the same facts; it goes out line by line, so that a call that
 * never returns costs only what would have come after it. Runs in a killable child.
 */
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "collect/live/nvml-private.h"

#define MAX_GPUS 256u
#define KEY_WIDTH 50

const char *const ct_nvml_enabled[2] = {"Disabled", "Enabled"};
const char *const ct_nvml_yes[2] = {"No", "Yes"};

const char *ct_nvml_words(int code)
{
    switch (code) {
    case CT_NVML_NOT_SUPPORTED:
    case CT_NVML_INVALID_ARGUMENT:
    case CT_NVML_NOT_FOUND:
        return "N/A";
    case CT_NVML_NO_SYMBOL:
    case CT_NVML_FUNCTION_NOT_FOUND:
    case CT_NVML_VERSION_MISMATCH:
        return "Not Supported";
    case CT_NVML_NO_PERMISSION:
        return "Insufficient Permissions";
    case CT_NVML_OPERATING_SYSTEM:
        return "GPU access blocked by the operating system";
    case CT_NVML_GPU_IS_LOST:
        return "GPU is lost";
    case CT_NVML_RESET_REQUIRED:
        return "GPU requires reset";
    case CT_NVML_DEPRECATED:
        return "Requested functionality has been deprecated";
    default:
        return "Unknown Error";
    }
}

/* ---- lines ---- */

void ct_nvml_head(CtNvmlOut *out, int level, const char *key)
{
    ct_live_printf(out->live, "%*s%s\n", level * 4, "", key);
}

static void line(CtNvmlOut *out, int level, const char *key, const char *value)
{
    ct_live_printf(out->live, "%*s%-*s : %s\n", level * 4, "", KEY_WIDTH + 4 - level * 4, key,
                   value);
}

static void G_GNUC_PRINTF(4, 0)
    put_va(CtNvmlOut *out, int level, const char *key, const char *format, va_list args)
{
    char text[512];
    g_vsnprintf(text, sizeof text, format, args);
    line(out, level, key, text);
}

void ct_nvml_put(CtNvmlOut *out, int level, const char *key, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    put_va(out, level, key, format, args);
    va_end(args);
}

void ct_nvml_put_if(CtNvmlOut *out, int level, const char *key, int code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (code == CT_NVML_SUCCESS)
        put_va(out, level, key, format, args);
    else
        line(out, level, key, ct_nvml_words(code));
    va_end(args);
}

void ct_nvml_put_name(CtNvmlOut *out, int level, const char *key, int code, unsigned value,
                      const char *const *names, gsize n)
{
    if (code != CT_NVML_SUCCESS)
        line(out, level, key, ct_nvml_words(code));
    else if (value < n && names[value])
        line(out, level, key, names[value]);
    else
        ct_nvml_put(out, level, key, "Unknown (%u)", value);
}

void ct_nvml_put_number(CtNvmlOut *out, int level, const char *key, int code, guint64 value,
                        guint64 most, const char *unit)
{
    if (code == CT_NVML_SUCCESS && value > most)
        code = CT_NVML_GARBAGE;
    ct_nvml_put_if(out, level, key, code, "%" G_GUINT64_FORMAT "%s", value, unit);
}

void ct_nvml_clean(char *buffer, gsize size)
{
    buffer[size - 1] = '\0';
    for (char *p = buffer; *p; p++)
        if ((guchar)*p < 0x20 || (guchar)*p >= 0x7f)
            *p = '?';
}

void ct_nvml_put_text(CtNvmlOut *out, int level, const char *key, CtNvmlTextFn get)
{
    char text[256] = "";
    int code = get ? get(out->device, text, sizeof text) : CT_NVML_NO_SYMBOL;
    ct_nvml_clean(text, sizeof text);
    ct_nvml_put_if(out, level, key, code, "%s", *text ? text : "N/A");
}

/* ---- fields ---- */

static int field(CtNvmlOut *out, unsigned id, unsigned scope, CtNvmlField *f)
{
    *f = (CtNvmlField){.id = id, .scope = scope, .result = CT_NVML_UNKNOWN};
    int code = CT_NVML_GET(out, fields, 1, f);
    return code != CT_NVML_SUCCESS ? code : f->result;
}

int ct_nvml_field(CtNvmlOut *out, unsigned id, unsigned scope, gint64 *value)
{
    CtNvmlField f;
    int code = field(out, id, scope, &f);
    if (code != CT_NVML_SUCCESS)
        return code;
    switch (f.type) {
    case CT_NVML_TYPE_UINT:
        *value = f.value.u;
        return code;
    case CT_NVML_TYPE_ULONG:
    case CT_NVML_TYPE_ULONGLONG:
        *value = f.value.ull > G_MAXINT64 ? G_MAXINT64 : (gint64)f.value.ull;
        return code;
    case CT_NVML_TYPE_LONGLONG:
        *value = f.value.sll;
        return code;
    case CT_NVML_TYPE_INT:
        *value = f.value.i;
        return code;
    case CT_NVML_TYPE_USHORT:
        *value = f.value.us;
        return code;
    case CT_NVML_TYPE_DOUBLE:
        if (!(f.value.d > -9e15 && f.value.d < 9e15))
            return CT_NVML_GARBAGE;
        *value = (gint64)f.value.d;
        return code;
    default:
        return CT_NVML_GARBAGE;
    }
}

/* ---- the library ---- */

static void *open_library(void)
{
    static const char *const names[] = {
        "libnvidia-ml.so.1", "/usr/lib/wsl/lib/libnvidia-ml.so.1",
        "/usr/local/nvidia/lib64/libnvidia-ml.so.1", "/usr/lib/aarch64-linux-gnu/nvidia/libnvidia-ml.so.1",
        "/run/opengl-driver/lib/libnvidia-ml.so.1"};
    void *library = NULL;
    for (gsize i = 0; i < G_N_ELEMENTS(names) && !library; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    return library;
}

static void look_up(void *library, CtNvml *nvml)
{
#define CT_NVML_LOOK_UP(member, symbol, parameters) \
    *(void **)(&nvml->member) = dlsym(library, symbol);
    CT_NVML_SYMBOLS(CT_NVML_LOOK_UP)
#undef CT_NVML_LOOK_UP
}

/* What nvidia-smi prints, so that the signatures of those messages apply. */
static void init_failed(CtLive *live, const CtNvml *nvml, int code)
{
    char version[96] = "";
    ct_live_begin(live, "nvml", "nvidia-smi");
    switch (code) {
    case CT_NVML_DRIVER_NOT_LOADED:
        ct_live_printf(live, "NVIDIA-SMI has failed because it couldn't communicate with the "
                             "NVIDIA driver. Make sure that the latest NVIDIA driver is "
                             "installed and running.\n");
        break;
    case CT_NVML_LIB_RM_VERSION_MISMATCH:
        ct_live_printf(live, "Failed to initialize NVML: Driver/library version mismatch\n");
        if (nvml->library && nvml->library(version, sizeof version) == CT_NVML_SUCCESS) {
            ct_nvml_clean(version, sizeof version);
            ct_live_printf(live, "NVML library version: %s\n", version);
        }
        break;
    case CT_NVML_NO_PERMISSION:
        ct_live_printf(live, "Failed to initialize NVML: Insufficient Permissions\n");
        break;
    case CT_NVML_NOT_FOUND:
        ct_live_printf(live, "No devices were found\n");
        break;
    default:
        ct_live_printf(live, "Failed to initialize NVML: %s (%d)\n",
                       code == CT_NVML_NOT_SUPPORTED ? "Not Supported" : "Unknown Error", code);
    }
    ct_live_end(live, CT_FAILED, "NVML could not be initialised");
}

static void header(CtNvmlOut *out, unsigned count)
{
    const CtNvml *n = out->nvml;
    char stamp[64] = "", text[128] = "";
    time_t now = time(NULL);
    struct tm tm;
    int cuda = 0;
    if (localtime_r(&now, &tm)) {
        static const char days[7][4] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
        static const char months[12][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                           "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
        g_snprintf(stamp, sizeof stamp, "%s %s %2d %02d:%02d:%02d %d", days[tm.tm_wday % 7],
                   months[tm.tm_mon % 12], tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec,
                   tm.tm_year + 1900);
    }
    ct_live_printf(out->live, "\n==============NVSMI LOG==============\n\n");
    ct_nvml_put(out, 0, "Timestamp", "%s", stamp);
    int code = n->driver ? n->driver(text, sizeof text) : CT_NVML_NO_SYMBOL;
    ct_nvml_clean(text, sizeof text);
    ct_nvml_put_if(out, 0, "Driver Version", code, "%s", text);
    code = n->cuda ? n->cuda(&cuda) : n->cuda_old ? n->cuda_old(&cuda) : CT_NVML_NO_SYMBOL;
    if (code == CT_NVML_SUCCESS && (cuda < 1000 || cuda > 999000))
        code = CT_NVML_GARBAGE;
    ct_nvml_put_if(out, 0, "CUDA Version", code, "%d.%d", cuda / 1000, cuda % 1000 / 10);
    *text = '\0';
    code = n->library ? n->library(text, sizeof text) : CT_NVML_NO_SYMBOL;
    ct_nvml_clean(text, sizeof text);
    ct_nvml_put_if(out, 0, "NVML Version", code, "%s", text);
    ct_live_printf(out->live, "\n");
    ct_nvml_put(out, 0, "Attached GPUs", "%u", count);
}

static void one_gpu(CtNvmlOut *out, unsigned index)
{
    const CtNvml *n = out->nvml;
    CtNvmlPci pci = {{0}};
    int code = n->handle ? n->handle(index, &out->device) : CT_NVML_NO_SYMBOL;
    if (code != CT_NVML_SUCCESS || !out->device) {
        ct_live_printf(out->live, "Unable to determine the device handle for GPU %u: %s%s\n",
                       index, ct_nvml_words(code),
                       code == CT_NVML_GPU_IS_LOST ? ".  Reboot the system to recover this GPU"
                                                   : "");
        return;
    }
    code = CT_NVML_GET(out, pci, &pci);
    ct_nvml_clean(pci.bus_id, sizeof pci.bus_id);
    if (code == CT_NVML_SUCCESS && g_ascii_isxdigit(*pci.bus_id) && strchr(pci.bus_id, ':'))
        ct_live_printf(out->live, "GPU %s\n", pci.bus_id);
    else
        ct_live_printf(out->live, "GPU %u\n", index);
    ct_nvml_identity(out);
    ct_nvml_pci(out);
    ct_nvml_activity(out);
    ct_nvml_ecc(out);
    ct_nvml_health(out);
    ct_nvml_clocks(out);
    ct_nvml_fabric(out);
    ct_nvml_processes(out);
    ct_live_printf(out->live, "\n");
}

static void run(CtLive *live)
{
    CtNvml nvml = {0};
    CtNvmlOut out = {.live = live, .nvml = &nvml};
    unsigned count = 0;
    void *library = open_library();
    if (!library) {
        ct_live_missing(live, "nvml", "nvidia-smi -q", CT_ABSENT,
                        "libnvidia-ml.so.1 is not on the library path");
        return;
    }
    look_up(library, &nvml);
    int code = nvml.init ? nvml.init() : CT_NVML_NO_SYMBOL;
    if (code == CT_NVML_NO_SYMBOL) {
        ct_live_missing(live, "nvml", "nvidia-smi -q", CT_UNSUPPORTED,
                        "libnvidia-ml.so.1 has no nvmlInit_v2");
        return;
    }
    if (code != CT_NVML_SUCCESS) {
        init_failed(live, &nvml, code);
        return;
    }
    code = nvml.count ? nvml.count(&count) : CT_NVML_NO_SYMBOL;
    ct_live_begin(live, "nvml", "nvidia-smi -q");
    header(&out, MIN(count, MAX_GPUS));
    for (unsigned i = 0; code == CT_NVML_SUCCESS && i < MIN(count, MAX_GPUS); i++)
        one_gpu(&out, i);
    if (code == CT_NVML_SUCCESS && count == 0)
        ct_live_printf(live, "No devices were found\n");
    if (code != CT_NVML_SUCCESS)
        ct_live_end(live, CT_FAILED, "NVML does not say how many GPUs there are");
    else if (count > MAX_GPUS)
        ct_live_end(live, CT_PARTIAL, "NVML names more GPUs than a machine can have");
    else
        ct_live_end(live, CT_OK, NULL);
    if (nvml.shutdown)
        nvml.shutdown();
}

const CtCollector ct_collector_nvml = {
    .id = "nvml",
    .layer = "hardware",
    .title = "state of the GPUs, from NVML",
    .flags = CT_COLLECTOR_LIVE,
    .budget_ms = 6000,
    .run = run,
};
