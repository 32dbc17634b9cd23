/* SPDX-License-Identifier: Apache-2.0 */
/* ECC, retired pages and row remapping; temperatures and power with their limits. */
#include "collect/live/nvml-private.h"

enum { VOLATILE, AGGREGATE };
enum { CORRECTED, UNCORRECTED };
enum { L1 = 0, L2 = 1, DRAM = 2, REGISTERS = 3, TEXTURE = 4, TEXTURE_SHM = 5, CBU = 6, SRAM = 7 };

/* ---- ECC ---- */

static int count(CtNvmlOut *out, unsigned kind, unsigned counter, unsigned place, guint64 *value)
{
    *value = 0;
    return CT_NVML_GET(out, ecc_count, kind, counter, place, value);
}

static void put_count(CtNvmlOut *out, int level, const char *key, int code, guint64 value)
{
    if (code == CT_NVML_SUCCESS && value > ((guint64)1 << 56))
        code = CT_NVML_GARBAGE;
    ct_nvml_put_if(out, level, key, code, "%" G_GUINT64_FORMAT, value);
}

static void dram(CtNvmlOut *out, unsigned counter)
{
    guint64 n;
    int code = count(out, CORRECTED, counter, DRAM, &n);
    put_count(out, 3, "DRAM Correctable", code, n);
    code = count(out, UNCORRECTED, counter, DRAM, &n);
    put_count(out, 3, "DRAM Uncorrectable", code, n);
}

/* Counts of SRAM by kind, and where the uncorrectable ones were: Ampere and later. */
static void ecc_split(CtNvmlOut *out, const CtNvmlSram *s)
{
    const struct {
        const char *key;
        guint64 n;
    } sources[] = {{"SRAM L2", s->l2},     {"SRAM SM", s->sm}, {"SRAM Microcontroller", s->mcu},
                   {"SRAM PCIE", s->pcie}, {"SRAM Other", s->other}};
    const int ok = CT_NVML_SUCCESS;
    ct_nvml_head(out, 2, "Volatile");
    put_count(out, 3, "SRAM Correctable", ok, s->volatile_corrected);
    put_count(out, 3, "SRAM Uncorrectable Parity", ok, s->volatile_parity);
    put_count(out, 3, "SRAM Uncorrectable SEC-DED", ok, s->volatile_secded);
    dram(out, VOLATILE);
    ct_nvml_head(out, 2, "Aggregate");
    put_count(out, 3, "SRAM Correctable", ok, s->aggregate_corrected);
    put_count(out, 3, "SRAM Uncorrectable Parity", ok, s->aggregate_parity);
    put_count(out, 3, "SRAM Uncorrectable SEC-DED", ok, s->aggregate_secded);
    dram(out, AGGREGATE);
    ct_nvml_put_name(out, 3, "SRAM Threshold Exceeded", ok, s->threshold, ct_nvml_yes, 2);
    ct_nvml_head(out, 2, "Aggregate Uncorrectable SRAM Sources");
    for (gsize i = 0; i < G_N_ELEMENTS(sources); i++)
        put_count(out, 3, sources[i].key, ok, sources[i].n);
}

static void ecc_joint(CtNvmlOut *out)
{
    for (unsigned counter = VOLATILE; counter <= AGGREGATE; counter++) {
        guint64 n;
        ct_nvml_head(out, 2, counter == VOLATILE ? "Volatile" : "Aggregate");
        int code = count(out, CORRECTED, counter, SRAM, &n);
        put_count(out, 3, "SRAM Correctable", code, n);
        code = count(out, UNCORRECTED, counter, SRAM, &n);
        put_count(out, 3, "SRAM Uncorrectable", code, n);
        dram(out, counter);
    }
}

/* By place, with the driver's own total: before Turing. */
static void ecc_places(CtNvmlOut *out)
{
    static const struct {
        const char *key;
        unsigned place;
    } places[] = {{"Device Memory", DRAM},   {"Register File", REGISTERS},
                  {"L1 Cache", L1},          {"L2 Cache", L2},
                  {"Texture Memory", TEXTURE}, {"Texture Shared", TEXTURE_SHM},
                  {"CBU", CBU}};
    for (unsigned counter = VOLATILE; counter <= AGGREGATE; counter++) {
        ct_nvml_head(out, 2, counter == VOLATILE ? "Volatile" : "Aggregate");
        for (unsigned kind = CORRECTED; kind <= UNCORRECTED; kind++) {
            guint64 n;
            ct_nvml_head(out, 3, kind == CORRECTED ? "Single Bit" : "Double Bit");
            for (gsize i = 0; i < G_N_ELEMENTS(places); i++) {
                int code = count(out, kind, counter, places[i].place, &n);
                put_count(out, 4, places[i].key, code, n);
            }
            n = 0;
            int code = CT_NVML_GET(out, ecc_total, kind, counter, &n);
            put_count(out, 4, "Total", code, n);
        }
    }
}

static void repairs(CtNvmlOut *out)
{
    CtNvmlRepair repair = {.version = CT_NVML_VERSION(CtNvmlRepair, 1)};
    CtNvmlWord broken = {.version = CT_NVML_VERSION(CtNvmlWord, 1)};
    int code = CT_NVML_GET(out, repair, &repair);
    ct_nvml_put_name(out, 2, "Channel Repair Pending", code, repair.channel, ct_nvml_yes, 2);
    ct_nvml_put_name(out, 2, "TPC Repair Pending", code, repair.tpc, ct_nvml_yes, 2);
    code = CT_NVML_GET(out, unrepairable, &broken);
    ct_nvml_put_name(out, 2, "Unrepairable Memory", code, broken.value, ct_nvml_yes, 2);
}

static void retired(CtNvmlOut *out)
{
    static const char *const causes[] = {"Single Bit ECC", "Double Bit ECC"};
    unsigned pending = 0;
    ct_nvml_head(out, 1, "Retired Pages");
    for (unsigned i = 0; i < 2; i++) {
        unsigned pages = 0; /* room for none: the answer is how many there are */
        int code = CT_NVML_GET(out, retired, i, &pages, NULL);
        if (code == CT_NVML_INSUFFICIENT_SIZE)
            code = CT_NVML_SUCCESS;
        ct_nvml_put_number(out, 2, causes[i], code, pages, 1u << 24, "");
    }
    int code = CT_NVML_GET(out, retired_pending, &pending);
    ct_nvml_put_name(out, 2, "Pending Page Blacklist", code, pending, ct_nvml_yes, 2);
}

static void remapped(CtNvmlOut *out)
{
    CtNvmlRemapV2 r = {0};
    CtNvmlHistogram h = {0};
    int code = CT_NVML_GET(out, remap, &r), inactive = code;
    if (code == CT_NVML_NO_SYMBOL)
        code = CT_NVML_GET(out, remap_old, &r.corrected, &r.uncorrected, &r.pending, &r.failure);
    if (code == CT_NVML_NOT_SUPPORTED) {
        ct_nvml_put(out, 1, "Remapped Rows", "N/A");
        return;
    }
    ct_nvml_head(out, 1, "Remapped Rows");
    ct_nvml_put_number(out, 2, "Correctable Error", code, r.corrected, 1u << 24, "");
    if (inactive == CT_NVML_SUCCESS)
        ct_nvml_put_number(out, 2, "Inactive Correctable Error", code, r.corrected_inactive,
                           1u << 24, "");
    ct_nvml_put_number(out, 2, "Uncorrectable Error", code, r.uncorrected, 1u << 24, "");
    if (inactive == CT_NVML_SUCCESS)
        ct_nvml_put_number(out, 2, "Inactive Uncorrectable Error", code, r.uncorrected_inactive,
                           1u << 24, "");
    ct_nvml_put_name(out, 2, "Pending", code, r.pending, ct_nvml_yes, 2);
    ct_nvml_put_name(out, 2, "Remapping Failure Occurred", code, r.failure, ct_nvml_yes, 2);
    code = CT_NVML_GET(out, histogram, &h);
    ct_nvml_head(out, 2, "Bank Remap Availability Histogram");
    ct_nvml_put_number(out, 3, "Max", code, h.max, 1u << 24, " bank(s)");
    ct_nvml_put_number(out, 3, "High", code, h.high, 1u << 24, " bank(s)");
    ct_nvml_put_number(out, 3, "Partial", code, h.partial, 1u << 24, " bank(s)");
    ct_nvml_put_number(out, 3, "Low", code, h.low, 1u << 24, " bank(s)");
    ct_nvml_put_number(out, 3, "None", code, h.none, 1u << 24, " bank(s)");
}

void ct_nvml_ecc(CtNvmlOut *out)
{
    unsigned now = 0, next = 0;
    guint64 n;
    CtNvmlSram s = {.version = CT_NVML_VERSION(CtNvmlSram, 1)};
    int code = CT_NVML_GET(out, ecc_mode, &now, &next);
    ct_nvml_head(out, 1, "ECC Mode");
    ct_nvml_put_name(out, 2, "Current", code, now, ct_nvml_enabled, 2);
    ct_nvml_put_name(out, 2, "Pending", code, next, ct_nvml_enabled, 2);
    ct_nvml_head(out, 1, "ECC Errors");
    if (CT_NVML_GET(out, sram, &s) == CT_NVML_SUCCESS)
        ecc_split(out, &s);
    else if (count(out, UNCORRECTED, VOLATILE, SRAM, &n) == CT_NVML_SUCCESS || !now)
        ecc_joint(out);
    else
        ecc_places(out);
    repairs(out);
    retired(out);
    remapped(out);
}

/* ---- temperatures ---- */

static gboolean degrees(CtNvmlOut *out, const char *key, int code, gint64 value)
{
    if (code == CT_NVML_SUCCESS && (value < -300 || value > 400))
        code = CT_NVML_GARBAGE;
    ct_nvml_put_if(out, 2, key, code, "%d C", (int)value);
    return code == CT_NVML_SUCCESS;
}

static int threshold(CtNvmlOut *out, unsigned which, gint64 *value)
{
    unsigned t = 0;
    int code = CT_NVML_GET(out, threshold, which, &t);
    *value = (int)t;
    return code == CT_NVML_SUCCESS && t == G_MAXUINT32 ? CT_NVML_GARBAGE : code;
}

/* Newer boards say how far the next limit is; older ones give limits in degrees. */
static void limits(CtNvmlOut *out, gboolean distance)
{
    static const struct {
        const char *near, *plain;
        unsigned field, threshold;
    } limit[] = {
        {"GPU Shutdown T.Limit Temp", "GPU Shutdown Temp", CT_NVML_FI_TLIMIT_SHUTDOWN, 0},
        {"GPU Slowdown T.Limit Temp", "GPU Slowdown Temp", CT_NVML_FI_TLIMIT_SLOWDOWN, 1},
        {"GPU Max Operating T.Limit Temp", "GPU Max Operating Temp", CT_NVML_FI_TLIMIT_GPU, 3},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(limit); i++) {
        gint64 value = 0;
        int code = distance ? ct_nvml_field(out, limit[i].field, 0, &value)
                            : threshold(out, limit[i].threshold, &value);
        degrees(out, distance ? limit[i].near : limit[i].plain, code, value);
    }
}

static void temperatures(CtNvmlOut *out)
{
    CtNvmlTemperature t = {.version = CT_NVML_VERSION(CtNvmlTemperature, 1)};
    CtNvmlMargin margin = {.version = CT_NVML_VERSION(CtNvmlMargin, 1)};
    unsigned old = 0;
    gint64 value = 0;
    int code = CT_NVML_GET(out, temperature, &t);
    if (code == CT_NVML_NO_SYMBOL || code == CT_NVML_VERSION_MISMATCH) {
        code = CT_NVML_GET(out, temperature_old, 0, &old);
        t.temperature = (int)old;
    }
    if (code == CT_NVML_SUCCESS && t.temperature == -1)
        code = CT_NVML_GARBAGE;
    ct_nvml_head(out, 1, "Temperature");
    degrees(out, "GPU Current Temp", code, t.temperature);
    code = CT_NVML_GET(out, margin, &margin);
    /* Below zero is "beyond the limit", unless all that it says is all ones. */
    if (t.temperature == -1 && margin.margin == -1 && code == CT_NVML_SUCCESS)
        code = CT_NVML_GARBAGE;
    gboolean distance = degrees(out, "GPU T.Limit Temp", code, margin.margin);
    limits(out, distance);
    code = threshold(out, 5, &value);
    degrees(out, "GPU Target Temperature", code, value);
    code = ct_nvml_field(out, CT_NVML_FI_MEMORY_TEMP, 0, &value);
    degrees(out, "Memory Current Temp", code, value);
    code = distance ? ct_nvml_field(out, CT_NVML_FI_TLIMIT_MEMORY, 0, &value)
                    : threshold(out, 2, &value);
    degrees(out, distance ? "Memory Max Operating T.Limit Temp" : "Memory Max Operating Temp",
            code, value);
}

/* ---- power ---- */

static gboolean watts(CtNvmlOut *out, int level, const char *key, int code, gint64 milliwatt)
{
    if (code == CT_NVML_SUCCESS && (milliwatt < -1000000 || milliwatt > 100000000))
        code = CT_NVML_GARBAGE;
    ct_nvml_put_if(out, level, key, code, "%.2f W", (double)milliwatt / 1000);
    return code == CT_NVML_SUCCESS;
}

static void power_of(CtNvmlOut *out, const char *title, unsigned scope, gboolean limited)
{
    static const struct {
        const char *key;
        unsigned id;
    } rows[] = {
        {"Average Power Draw", CT_NVML_FI_POWER_AVERAGE},
        {"Instantaneous Power Draw", CT_NVML_FI_POWER_INSTANT},
        {"Current Power Limit", CT_NVML_FI_POWER_CURRENT},
        {"Requested Power Limit", CT_NVML_FI_POWER_REQUESTED},
        {"Default Power Limit", CT_NVML_FI_POWER_DEFAULT},
        {"Min Power Limit", CT_NVML_FI_POWER_MIN},
        {"Max Power Limit", CT_NVML_FI_POWER_MAX},
    };
    ct_nvml_head(out, 1, title);
    for (gsize i = 0; i < (limited ? G_N_ELEMENTS(rows) : 2); i++) {
        gint64 mw = 0;
        int code = ct_nvml_field(out, rows[i].id, scope, &mw);
        watts(out, 2, rows[i].key, code, mw);
    }
}

/* Drivers before 530 have functions in place of the fields. */
static void power_old(CtNvmlOut *out)
{
    const CtNvml *n = out->nvml;
    const struct {
        const char *key;
        int (*get)(CtNvmlDevice, unsigned *);
    } rows[] = {
        {"Power Draw", n->power},
        {"Current Power Limit", n->power_enforced},
        {"Requested Power Limit", n->power_limit},
        {"Default Power Limit", n->power_default},
    };
    unsigned low = 0, high = 0;
    ct_nvml_head(out, 1, "GPU Power Readings");
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        unsigned mw = 0;
        int code = rows[i].get ? rows[i].get(out->device, &mw) : CT_NVML_NO_SYMBOL;
        watts(out, 2, rows[i].key, code, mw);
    }
    int code = CT_NVML_GET(out, power_range, &low, &high);
    watts(out, 2, "Min Power Limit", code, low);
    watts(out, 2, "Max Power Limit", code, high);
}

static void profiles(CtNvmlOut *out)
{
    CtNvmlProfiles p = {.version = CT_NVML_VERSION(CtNvmlProfiles, 1)};
    int code = CT_NVML_GET(out, profiles, &p);
    if (code == CT_NVML_SUCCESS && p.known[0] == G_MAXUINT32 && p.known[7] == G_MAXUINT32)
        code = CT_NVML_GARBAGE;
    ct_nvml_head(out, 1, "Workload Power Profiles");
    for (int which = 0; which < 2; which++) {
        const unsigned *mask = which ? p.enforced : p.requested;
        g_autoptr(GString) text = g_string_new(NULL);
        for (unsigned i = 0; code == CT_NVML_SUCCESS && i < 255; i++)
            if (mask[i / 32] >> i % 32 & 1)
                g_string_append_printf(text, "%s%u", text->len ? ", " : "", i);
        ct_nvml_put_if(out, 2, which ? "Enforced Profiles" : "Requested Profiles",
                       text->len || code != CT_NVML_SUCCESS ? code : CT_NVML_NOT_SUPPORTED,
                       "%.400s", text->str);
    }
}

void ct_nvml_health(CtNvmlOut *out)
{
    gint64 mw = 0;
    guint64 mj = 0;
    temperatures(out);
    int fields = ct_nvml_field(out, CT_NVML_FI_POWER_CURRENT, 0, &mw);
    if (fields == CT_NVML_SUCCESS ||
        ct_nvml_field(out, CT_NVML_FI_POWER_INSTANT, 0, &mw) == CT_NVML_SUCCESS) {
        power_of(out, "GPU Power Readings", 0, TRUE);
        power_of(out, "GPU Memory Power Readings", 2, FALSE);
        power_of(out, "Module Power Readings", 1, TRUE);
    } else {
        power_old(out);
    }
    int code = CT_NVML_GET(out, energy, &mj);
    if (code == CT_NVML_SUCCESS && mj == G_MAXUINT64)
        code = CT_NVML_GARBAGE;
    ct_nvml_put_if(out, 1, "Total Energy Consumption", code, "%.3f J", (double)mj / 1000);
    profiles(out);
}
