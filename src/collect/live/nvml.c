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

/* What the library itself says of a code, and the name that its header has for it. */
static const struct {
    int code;
    const char *name, *says;
} codes[] = {
    {CT_NVML_UNINITIALIZED, "UNINITIALIZED", "Uninitialized"},
    {CT_NVML_INVALID_ARGUMENT, "INVALID_ARGUMENT", "Invalid Argument"},
    {CT_NVML_NOT_SUPPORTED, "NOT_SUPPORTED", "Not Supported"},
    {CT_NVML_NO_PERMISSION, "NO_PERMISSION", "Insufficient Permissions"},
    {CT_NVML_NOT_FOUND, "NOT_FOUND", "Not Found"},
    {CT_NVML_INSUFFICIENT_SIZE, "INSUFFICIENT_SIZE", "Insufficient Size"},
    {CT_NVML_INSUFFICIENT_POWER, "INSUFFICIENT_POWER", "Insufficient External Power"},
    {CT_NVML_DRIVER_NOT_LOADED, "DRIVER_NOT_LOADED", "Driver Not Loaded"},
    {CT_NVML_TIMEOUT, "TIMEOUT", "Timeout"},
    {CT_NVML_IRQ_ISSUE, "IRQ_ISSUE", "Interrupt Request Issue"},
    {CT_NVML_LIBRARY_NOT_FOUND, "LIBRARY_NOT_FOUND", "NVML Shared Library Not Found"},
    {CT_NVML_FUNCTION_NOT_FOUND, "FUNCTION_NOT_FOUND", "Function Not Found"},
    {CT_NVML_CORRUPTED_INFOROM, "CORRUPTED_INFOROM", "Corrupted infoROM"},
    {CT_NVML_GPU_IS_LOST, "GPU_IS_LOST", "GPU is lost"},
    {CT_NVML_RESET_REQUIRED, "RESET_REQUIRED", "GPU requires reset"},
    {CT_NVML_OPERATING_SYSTEM, "OPERATING_SYSTEM", "GPU access blocked by the operating system"},
    {CT_NVML_LIB_RM_VERSION_MISMATCH, "LIB_RM_VERSION_MISMATCH", "Driver/library version mismatch"},
    {CT_NVML_VERSION_MISMATCH, "ARGUMENT_VERSION_MISMATCH", "Argument version mismatch"},
    {CT_NVML_DEPRECATED, "DEPRECATED", "Deprecated"},
    {CT_NVML_NOT_READY, "NOT_READY", "Not Ready"},
    {CT_NVML_UNKNOWN, "UNKNOWN", "Unknown Error"},
};

/* "GPU is lost (NVML_ERROR_GPU_IS_LOST, 15)" (transfer full) */
static char *code_text(int code)
{
    if (code == CT_NVML_NO_SYMBOL)
        return g_strdup("the library has no such function");
    for (gsize i = 0; i < G_N_ELEMENTS(codes); i++)
        if (codes[i].code == code)
            return g_strdup_printf("%s (NVML_ERROR_%s, %d)", codes[i].says, codes[i].name, code);
    return g_strdup_printf("Unknown Error (NVML_ERROR_%d, %d)", code, code);
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

/* "Not available" of an unsigned value, at the start of the text and up to its unit. */
static gboolean is_all_ones(const char *text)
{
    static const char *const ones[] = {"4294967295", "18446744073709551615"};
    for (gsize i = 0; i < G_N_ELEMENTS(ones); i++) {
        gsize n = strlen(ones[i]);
        if (strncmp(text, ones[i], n) == 0 && !g_ascii_isdigit(text[n]) && text[n] != '.')
            return TRUE;
    }
    if (strncmp(text, "0x", 2) != 0)
        return FALSE;
    gsize n = strspn(text + 2, "fF");
    return n >= 8 && !g_ascii_isxdigit(text[2 + n]);
}

static void G_GNUC_PRINTF(4, 0)
    put_va(CtNvmlOut *out, int level, const char *key, const char *format, va_list args)
{
    char text[512];
    g_vsnprintf(text, sizeof text, format, args);
    line(out, level, key, is_all_ones(text) ? ct_nvml_words(CT_NVML_GARBAGE) : text);
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
    if (code == CT_NVML_SUCCESS && value == G_MAXUINT32)
        code = CT_NVML_GARBAGE;
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
    /* What is no text at all is not worth a mask of question marks that looks like a name. */
    if (!g_utf8_validate(buffer, -1, NULL))
        g_strlcpy(buffer, ct_nvml_words(CT_NVML_GARBAGE), size);
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
        return f.value.u == G_MAXUINT32 ? CT_NVML_GARBAGE : code;
    case CT_NVML_TYPE_ULONG:
    case CT_NVML_TYPE_ULONGLONG:
        *value = f.value.ull > G_MAXINT64 ? G_MAXINT64 : (gint64)f.value.ull;
        return f.value.ull == G_MAXUINT64 ? CT_NVML_GARBAGE : code;
    case CT_NVML_TYPE_LONGLONG:
        *value = f.value.sll;
        return code;
    case CT_NVML_TYPE_INT:
        *value = f.value.i;
        return code;
    case CT_NVML_TYPE_USHORT:
        *value = f.value.us;
        return f.value.us == G_MAXUINT16 ? CT_NVML_GARBAGE : code;
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
    g_autofree char *text = code_text(code);
    g_autofree char *note = g_strdup_printf("NVML could not be initialised: %s", text);
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
    case CT_NVML_UNKNOWN:
        ct_live_printf(live, "Failed to initialize NVML: Unknown Error\n");
        break;
    default:
        ct_live_printf(live, "Failed to initialize NVML: %s\n", text);
    }
    ct_live_end(live, CT_FAILED, note);
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

static int one_gpu(CtNvmlOut *out, unsigned index)
{
    const CtNvml *n = out->nvml;
    CtNvmlPci pci = {{0}};
    int code = n->handle ? n->handle(index, &out->device) : CT_NVML_NO_SYMBOL;
    if (code != CT_NVML_SUCCESS || !out->device) {
        g_autofree char *text = code_text(code);
        ct_live_printf(out->live, "Unable to determine the device handle for GPU %u: %s%s\n",
                       index, code == CT_NVML_GPU_IS_LOST ? "GPU is lost" : text,
                       code == CT_NVML_GPU_IS_LOST ? ".  Reboot the system to recover this GPU"
                                                   : "");
        return code == CT_NVML_SUCCESS ? CT_NVML_GARBAGE : code;
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
    return CT_NVML_SUCCESS;
}

/* The end of the section: what of the GPUs could not be had is its status. */
static void finish(CtLive *live, int code, unsigned count, unsigned lost, int why)
{
    g_autofree char *text = code_text(code != CT_NVML_SUCCESS ? code : why), *note = NULL;
    if (code != CT_NVML_SUCCESS) {
        ct_live_printf(live, "Unable to count the GPUs: %s\n", text);
        note = g_strdup_printf("NVML does not say how many GPUs there are: %s", text);
        ct_live_end(live, CT_FAILED, note);
    } else if (count > MAX_GPUS) {
        ct_live_end(live, CT_PARTIAL, "NVML names more GPUs than a machine can have");
    } else if (lost) {
        note = g_strdup_printf("%u of %u GPUs cannot be opened: %s", lost, count, text);
        ct_live_end(live, lost == count ? CT_FAILED : CT_PARTIAL, note);
    } else {
        ct_live_end(live, CT_OK, NULL);
    }
}

static void run(CtLive *live)
{
    CtNvml nvml = {0};
    CtNvmlOut out = {.live = live, .nvml = &nvml};
    unsigned count = 0, lost = 0;
    int why = CT_NVML_SUCCESS;
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
    for (unsigned i = 0; code == CT_NVML_SUCCESS && i < MIN(count, MAX_GPUS); i++) {
        int one = one_gpu(&out, i);
        lost += one != CT_NVML_SUCCESS;
        why = one != CT_NVML_SUCCESS ? one : why;
    }
    if (code == CT_NVML_SUCCESS && count == 0)
        ct_live_printf(live, "No devices were found\n");
    finish(live, code, count, lost, why);
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
