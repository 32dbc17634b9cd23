/* SPDX-License-Identifier: Apache-2.0 */
/* What the GPU does now: clocks and what holds them down, memory, utilisation. */
#include "collect/live/nvml-private.h"

#define MIB ((guint64)1 << 20)
#define MAX_MIB ((guint64)1 << 30) /* a PiB */
#define MAX_MHZ 1000000u

static void reasons(CtNvmlOut *out)
{
    static const struct {
        unsigned bit;
        int level;
        const char *name;
    } bits[] = {
        {0, 2, "Idle"},        {1, 2, "Applications Clocks Setting"},
        {2, 2, "SW Power Cap"}, {3, 2, "HW Slowdown"},
        {6, 3, "HW Thermal Slowdown"}, {7, 3, "HW Power Brake Slowdown"},
        {4, 2, "Sync Boost"},  {5, 2, "SW Thermal Slowdown"},
        {8, 2, "Display Clock Setting"},
    };
    static const struct {
        unsigned id;
        const char *name;
    } counters[] = {
        {CT_NVML_FI_PERF_POWER, "SW Power Capping"},
        {CT_NVML_FI_PERF_SYNC_BOOST, "Sync Boost"},
        {CT_NVML_FI_PERF_SW_THERMAL, "SW Thermal Slowdown"},
        {CT_NVML_FI_PERF_HW_THERMAL, "HW Thermal Slowdown"},
        {CT_NVML_FI_PERF_HW_BRAKE, "HW Power Braking"},
    };
    guint64 mask = 0;
    int code = CT_NVML_GET(out, reasons, &mask);
    if (code == CT_NVML_NO_SYMBOL)
        code = CT_NVML_GET(out, reasons_old, &mask);
    if (code == CT_NVML_SUCCESS && mask == G_MAXUINT64)
        code = CT_NVML_GARBAGE;
    if (code != CT_NVML_SUCCESS) {
        ct_nvml_put_if(out, 1, "Clocks Event Reasons", code, "%s", "");
    } else {
        ct_nvml_head(out, 1, "Clocks Event Reasons");
        for (gsize i = 0; i < G_N_ELEMENTS(bits); i++)
            ct_nvml_put(out, bits[i].level, bits[i].name, "%s",
                        mask >> bits[i].bit & 1 ? "Active" : "Not Active");
    }
    ct_nvml_head(out, 1, "Clocks Event Reasons Counters");
    for (gsize i = 0; i < G_N_ELEMENTS(counters); i++) {
        gint64 ns = 0;
        code = ct_nvml_field(out, counters[i].id, 0, &ns);
        if (code == CT_NVML_SUCCESS && ns < 0)
            code = CT_NVML_GARBAGE;
        ct_nvml_put_if(out, 2, counters[i].name, code, "%" G_GINT64_FORMAT " us", ns / 1000);
    }
}

static void mib(CtNvmlOut *out, const char *key, int code, guint64 bytes)
{
    ct_nvml_put_number(out, 2, key, code, bytes / MIB, MAX_MIB, " MiB");
}

static void old_memory(CtNvmlOut *out, const char *key,
                       int (*get)(CtNvmlDevice, CtNvmlMemory *))
{
    CtNvmlMemory m = {0};
    int code = get ? get(out->device, &m) : CT_NVML_NO_SYMBOL;
    ct_nvml_head(out, 1, key);
    mib(out, "Total", code, m.total);
    mib(out, "Used", code, m.used);
    mib(out, "Free", code, m.free);
}

static void memory(CtNvmlOut *out)
{
    static const char *const modes[] = {"Default", "Exclusive_Thread", "Prohibited",
                                        "Exclusive_Process"};
    CtNvmlMemoryV2 m = {.version = CT_NVML_VERSION(CtNvmlMemoryV2, 2)};
    unsigned mode = 0;
    int code = CT_NVML_GET(out, memory, &m);
    if (code == CT_NVML_NO_SYMBOL || code == CT_NVML_VERSION_MISMATCH) {
        old_memory(out, "FB Memory Usage", out->nvml->memory_old);
    } else {
        ct_nvml_head(out, 1, "FB Memory Usage");
        mib(out, "Total", code, m.total);
        mib(out, "Reserved", code, m.reserved);
        mib(out, "Used", code, m.used);
        mib(out, "Free", code, m.free);
    }
    old_memory(out, "BAR1 Memory Usage", out->nvml->bar1);
    old_memory(out, "Conf Compute Protected Memory Usage", out->nvml->protected_memory);
    code = CT_NVML_GET(out, compute_mode, &mode);
    ct_nvml_put_name(out, 1, "Compute Mode", code, mode, modes, G_N_ELEMENTS(modes));
}

static void percent(CtNvmlOut *out, const char *key, int code, unsigned value)
{
    ct_nvml_put_number(out, 2, key, code, value, 100, " %");
}

static void utilization(CtNvmlOut *out)
{
    const CtNvml *n = out->nvml;
    const struct {
        const char *key;
        int (*get)(CtNvmlDevice, unsigned *, unsigned *);
    } engines[] = {
        {"Encoder", n->encoder}, {"Decoder", n->decoder}, {"JPEG", n->jpeg}, {"OFA", n->ofa},
    };
    CtNvmlUtilization u = {0};
    int code = CT_NVML_GET(out, utilization, &u);
    ct_nvml_head(out, 1, "Utilization");
    percent(out, "GPU", code, u.gpu);
    percent(out, "Memory", code, u.memory);
    for (gsize i = 0; i < G_N_ELEMENTS(engines); i++) {
        unsigned value = 0, period = 0;
        code = engines[i].get ? engines[i].get(out->device, &value, &period) : CT_NVML_NO_SYMBOL;
        percent(out, engines[i].key, code, value);
    }
}

static void sessions(CtNvmlOut *out, const char *key, int code, unsigned count, unsigned fps,
                     unsigned latency)
{
    ct_nvml_head(out, 1, key);
    ct_nvml_put_number(out, 2, "Active Sessions", code, count, 1u << 20, "");
    ct_nvml_put_if(out, 2, "Average FPS", code, "%u", fps);
    ct_nvml_put_if(out, 2, "Average Latency", code, "%u", latency);
}

static void video(CtNvmlOut *out)
{
    static const char *const names[] = {"Disabled", "Enabled"};
    unsigned count = 0, fps = 0, latency = 0;
    CtNvmlFbc fbc = {0};
    CtNvmlWord now = {.version = CT_NVML_VERSION(CtNvmlWord, 1)}, next = now;
    int code = CT_NVML_GET(out, encoder_stats, &count, &fps, &latency);
    sessions(out, "Encoder Stats", code, count, fps, latency);
    code = CT_NVML_GET(out, fbc, &fbc);
    sessions(out, "FBC Stats", code, fbc.sessions, fbc.fps, fbc.latency);
    code = CT_NVML_GET(out, dram_encryption, &now, &next);
    ct_nvml_head(out, 1, "DRAM Encryption Mode");
    ct_nvml_put_name(out, 2, "Current", code, now.value, names, 2);
    ct_nvml_put_name(out, 2, "Pending", code, next.value, names, 2);
}

void ct_nvml_activity(CtNvmlOut *out)
{
    unsigned value = 0;
    int code = CT_NVML_GET(out, fan, &value);
    /* A fan may turn faster than its nominal speed. */
    ct_nvml_put_number(out, 1, "Fan Speed", code, value, 250, " %");
    code = CT_NVML_GET(out, state, &value);
    if (code == CT_NVML_SUCCESS && value > 15)
        code = value == 32 ? CT_NVML_UNKNOWN : CT_NVML_GARBAGE;
    ct_nvml_put_if(out, 1, "Performance State", code, "P%u", value);
    reasons(out);
    memory(out);
    utilization(out);
    video(out);
}

/* ---- clocks ---- */

typedef int (*ClockFn)(CtNvmlDevice, unsigned, unsigned *);

static void clocks(CtNvmlOut *out, const char *key, ClockFn get, unsigned types)
{
    static const char *const names[] = {"Graphics", "SM", "Memory", "Video"};
    ct_nvml_head(out, 1, key);
    for (unsigned i = 0; i < G_N_ELEMENTS(names); i++) {
        unsigned mhz = 0;
        if (!(types >> i & 1))
            continue;
        int code = get ? get(out->device, i, &mhz) : CT_NVML_NO_SYMBOL;
        ct_nvml_put_number(out, 2, names[i], code, mhz, MAX_MHZ, " MHz");
    }
}

void ct_nvml_clocks(CtNvmlOut *out)
{
    const CtNvml *n = out->nvml;
    unsigned now = 0, usual = 0;
    clocks(out, "Clocks", n->clock, 15);
    clocks(out, "Applications Clocks", n->clock_application, 5);
    clocks(out, "Default Applications Clocks", n->clock_default, 5);
    clocks(out, "Max Clocks", n->clock_max, 15);
    clocks(out, "Max Customer Boost Clocks", n->clock_customer, 1);
    int code = CT_NVML_GET(out, auto_boost, &now, &usual);
    ct_nvml_head(out, 1, "Clock Policy");
    ct_nvml_put_name(out, 2, "Auto Boost", code, now, (const char *const[]){"Off", "On"}, 2);
    ct_nvml_put_name(out, 2, "Auto Boost Default", code, usual,
                     (const char *const[]){"Off", "On"}, 2);
}
