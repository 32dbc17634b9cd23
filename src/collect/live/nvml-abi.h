/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of NVML's binary interface that the collector calls: names of functions, their
 * parameters, and the structs with their version words. Structs have the layout of the published
 * ABI; a version word is the size with the number of the version in the top byte, and a library
 * that does not know it answers with "argument version mismatch".
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef struct nvml_device *CtNvmlDevice;

enum {
    CT_NVML_SUCCESS = 0,
    CT_NVML_UNINITIALIZED = 1,
    CT_NVML_INVALID_ARGUMENT = 2,
    CT_NVML_NOT_SUPPORTED = 3,
    CT_NVML_NO_PERMISSION = 4,
    CT_NVML_NOT_FOUND = 6,
    CT_NVML_INSUFFICIENT_SIZE = 7,
    CT_NVML_INSUFFICIENT_POWER = 8,
    CT_NVML_DRIVER_NOT_LOADED = 9,
    CT_NVML_TIMEOUT = 10,
    CT_NVML_IRQ_ISSUE = 11,
    CT_NVML_LIBRARY_NOT_FOUND = 12,
    CT_NVML_FUNCTION_NOT_FOUND = 13,
    CT_NVML_CORRUPTED_INFOROM = 14,
    CT_NVML_GPU_IS_LOST = 15,
    CT_NVML_RESET_REQUIRED = 16,
    CT_NVML_OPERATING_SYSTEM = 17,
    CT_NVML_LIB_RM_VERSION_MISMATCH = 18,
    CT_NVML_VERSION_MISMATCH = 25,
    CT_NVML_DEPRECATED = 26,
    CT_NVML_NOT_READY = 27,
    CT_NVML_UNKNOWN = 999,
    CT_NVML_NO_SYMBOL = -1, /* ours: the library has no such function */
    CT_NVML_GARBAGE = -2,   /* ours: the answer cannot be true */
};

#define CT_NVML_VERSION(type, n) ((unsigned)(sizeof(type) | ((unsigned)(n) << 24)))

typedef struct {
    char bus_id_old[16];
    unsigned domain, bus, device, device_id, subsystem_id;
    char bus_id[32];
} CtNvmlPci;

typedef struct {
    unsigned version, domain, bus, device, device_id, subsystem_id, base_class, sub_class;
    char bus_id[32];
} CtNvmlPciExt;

typedef struct {
    uint64_t total, free, used;
} CtNvmlMemory;

typedef struct {
    unsigned version;
    uint64_t total, reserved, free, used;
} CtNvmlMemoryV2;

typedef struct {
    unsigned pid;
    uint64_t bytes; /* all ones: not known */
    unsigned gpu_instance, compute_instance;
} CtNvmlProcess;

typedef struct {
    unsigned gpu, memory;
} CtNvmlUtilization;

typedef struct {
    unsigned id, scope;
    int64_t timestamp, latency;
    unsigned type; /* of the value, CT_NVML_TYPE_ */
    int result;
    union {
        double d;
        uint32_t u;
        uint64_t ull;
        int64_t sll;
        int32_t i;
        uint16_t us;
    } value;
} CtNvmlField;

enum {
    CT_NVML_TYPE_DOUBLE,
    CT_NVML_TYPE_UINT,
    CT_NVML_TYPE_ULONG,
    CT_NVML_TYPE_ULONGLONG,
    CT_NVML_TYPE_LONGLONG,
    CT_NVML_TYPE_INT,
    CT_NVML_TYPE_USHORT,
};

/* Fields of nvmlDeviceGetFieldValues. */
enum {
    CT_NVML_FI_PERF_POWER = 74, /* ns that clocks were held down */
    CT_NVML_FI_PERF_SYNC_BOOST = 76,
    CT_NVML_FI_MEMORY_TEMP = 82,
    CT_NVML_FI_NVLINK_COUNT = 91,
    CT_NVML_FI_PCIE_REPLAY = 94,
    CT_NVML_FI_PCIE_ROLLOVER = 95,
    CT_NVML_FI_NVLINK_REPLAY = 161, /* with the link as scope, as the next four */
    CT_NVML_FI_NVLINK_RECOVERY = 162,
    CT_NVML_FI_NVLINK_CRC = 163,
    CT_NVML_FI_NVLINK_SPEED = 164,
    CT_NVML_FI_NVLINK_STATE = 165,
    CT_NVML_FI_PCIE_CORRECTABLE = 173,
    CT_NVML_FI_PCIE_NON_FATAL = 179,
    CT_NVML_FI_PCIE_FATAL = 180,
    CT_NVML_FI_POWER_AVERAGE = 185, /* scope 0 the GPU, 1 the module, 2 the memory */
    CT_NVML_FI_POWER_INSTANT = 186,
    CT_NVML_FI_POWER_MIN = 187,
    CT_NVML_FI_POWER_MAX = 188,
    CT_NVML_FI_POWER_DEFAULT = 189,
    CT_NVML_FI_POWER_CURRENT = 190,
    CT_NVML_FI_POWER_REQUESTED = 192,
    CT_NVML_FI_TLIMIT_SHUTDOWN = 193,
    CT_NVML_FI_TLIMIT_SLOWDOWN = 194,
    CT_NVML_FI_TLIMIT_MEMORY = 195,
    CT_NVML_FI_TLIMIT_GPU = 196,
    CT_NVML_FI_NVLINK_SYMBOL_ERRORS = 221,
    CT_NVML_FI_RESET_STATUS = 226,
    CT_NVML_FI_DRAIN_STATUS = 227,
    CT_NVML_FI_ATOMICS_OUT = 228,
    CT_NVML_FI_ATOMICS_IN = 229,
    CT_NVML_FI_RECOVERY_ACTION = 230,
    CT_NVML_FI_PERF_SW_THERMAL = 269,
    CT_NVML_FI_PERF_HW_THERMAL = 270,
    CT_NVML_FI_PERF_HW_BRAKE = 271,
};

typedef struct {
    unsigned version;
    uint64_t value;
} CtNvmlPdi;

typedef struct {
    unsigned version, channel, tpc;
} CtNvmlRepair;

typedef struct {
    unsigned version, value;
} CtNvmlWord; /* addressing mode, unrepairable memory, capabilities, DRAM encryption */

typedef struct {
    unsigned sessions, fps, latency;
} CtNvmlFbc;

typedef struct {
    unsigned multiprocessors, copy_engines, decoders, encoders, jpeg, ofa, gpu_slices,
        compute_slices;
    uint64_t memory_mb;
} CtNvmlAttributes;

typedef struct {
    unsigned max, high, partial, low, none;
} CtNvmlHistogram;

typedef struct {
    unsigned corrected, corrected_inactive, uncorrected, uncorrected_inactive, pending, failure;
} CtNvmlRemapV2;

typedef struct {
    unsigned version, sensor;
    int temperature;
} CtNvmlTemperature;

typedef struct {
    unsigned version;
    int margin;
} CtNvmlMargin;

typedef struct {
    unsigned char cluster[16];
    int status;
    unsigned clique, state;
} CtNvmlFabric;

typedef struct {
    unsigned version;
    unsigned char cluster[16];
    int status;
    unsigned clique, state, health;
    unsigned char summary; /* from version 3 on */
} CtNvmlFabricV;

#define CT_NVML_FABRIC_V2 (36u | 2u << 24)
#define CT_NVML_FABRIC_V3 CT_NVML_VERSION(CtNvmlFabricV, 3)

typedef struct {
    unsigned version;
    uint64_t aggregate_parity, aggregate_secded, aggregate_corrected, volatile_parity,
        volatile_secded, volatile_corrected, l2, sm, pcie, mcu, other;
    unsigned threshold;
} CtNvmlSram;

typedef struct {
    unsigned version;
    unsigned char guid[16];
    char chassis[16];
    unsigned char slot, tray, host, peer, module;
} CtNvmlPlatform; /* version 2 */

typedef struct {
    unsigned version;
    unsigned known[8], requested[8], enforced[8];
} CtNvmlProfiles;

typedef struct {
    unsigned count;
    struct {
        unsigned type, firmware;
    } chip[128];
} CtNvmlBridges;

typedef struct {
    unsigned enabled;
} CtNvmlC2c;

_Static_assert(sizeof(CtNvmlPci) == 68 && sizeof(CtNvmlPciExt) == 64, "ABI of PCI info");
_Static_assert(sizeof(CtNvmlMemory) == 24 && sizeof(CtNvmlMemoryV2) == 40, "ABI of memory info");
_Static_assert(sizeof(CtNvmlProcess) == 24 && sizeof(CtNvmlField) == 40, "ABI of lists");
_Static_assert(sizeof(CtNvmlPdi) == 16 && sizeof(CtNvmlRepair) == 12, "ABI of identities");
_Static_assert(sizeof(CtNvmlAttributes) == 40 && sizeof(CtNvmlRemapV2) == 24, "ABI of counters");
_Static_assert(sizeof(CtNvmlFabric) == 28 && sizeof(CtNvmlFabricV) == 40, "ABI of the fabric");
_Static_assert(sizeof(CtNvmlSram) == 104 && sizeof(CtNvmlPlatform) == 44, "ABI of health");
_Static_assert(sizeof(CtNvmlProfiles) == 100 && sizeof(CtNvmlBridges) == 1028, "ABI of the rest");

/* X(member, symbol, parameters): everything is looked up; a function that the library does not
 * have is a field that it does not have. */
#define CT_NVML_SYMBOLS(X)                                                                        \
    X(init, "nvmlInit_v2", (void))                                                                \
    X(shutdown, "nvmlShutdown", (void))                                                           \
    X(driver, "nvmlSystemGetDriverVersion", (char *, unsigned))                                   \
    X(library, "nvmlSystemGetNVMLVersion", (char *, unsigned))                                    \
    X(cuda, "nvmlSystemGetCudaDriverVersion_v2", (int *))                                         \
    X(cuda_old, "nvmlSystemGetCudaDriverVersion", (int *))                                        \
    X(process_name, "nvmlSystemGetProcessName", (unsigned, char *, unsigned))                     \
    X(count, "nvmlDeviceGetCount_v2", (unsigned *))                                               \
    X(handle, "nvmlDeviceGetHandleByIndex_v2", (unsigned, CtNvmlDevice *))                        \
    X(name, "nvmlDeviceGetName", (CtNvmlDevice, char *, unsigned))                                \
    X(brand, "nvmlDeviceGetBrand", (CtNvmlDevice, unsigned *))                                    \
    X(architecture, "nvmlDeviceGetArchitecture", (CtNvmlDevice, unsigned *))                      \
    X(capability, "nvmlDeviceGetCudaComputeCapability", (CtNvmlDevice, int *, int *))             \
    X(display_mode, "nvmlDeviceGetDisplayMode", (CtNvmlDevice, unsigned *))                       \
    X(display_active, "nvmlDeviceGetDisplayActive", (CtNvmlDevice, unsigned *))                   \
    X(persistence, "nvmlDeviceGetPersistenceMode", (CtNvmlDevice, unsigned *))                    \
    X(addressing, "nvmlDeviceGetAddressingMode", (CtNvmlDevice, CtNvmlWord *))                    \
    X(mig_mode, "nvmlDeviceGetMigMode", (CtNvmlDevice, unsigned *, unsigned *))                   \
    X(accounting, "nvmlDeviceGetAccountingMode", (CtNvmlDevice, unsigned *))                      \
    X(accounting_size, "nvmlDeviceGetAccountingBufferSize", (CtNvmlDevice, unsigned *))           \
    X(driver_model, "nvmlDeviceGetDriverModel", (CtNvmlDevice, unsigned *, unsigned *))           \
    X(serial, "nvmlDeviceGetSerial", (CtNvmlDevice, char *, unsigned))                            \
    X(uuid, "nvmlDeviceGetUUID", (CtNvmlDevice, char *, unsigned))                                \
    X(pdi, "nvmlDeviceGetPdi", (CtNvmlDevice, CtNvmlPdi *))                                       \
    X(minor, "nvmlDeviceGetMinorNumber", (CtNvmlDevice, unsigned *))                              \
    X(vbios, "nvmlDeviceGetVbiosVersion", (CtNvmlDevice, char *, unsigned))                       \
    X(multi_gpu, "nvmlDeviceGetMultiGpuBoard", (CtNvmlDevice, unsigned *))                        \
    X(board, "nvmlDeviceGetBoardId", (CtNvmlDevice, unsigned *))                                  \
    X(board_part, "nvmlDeviceGetBoardPartNumber", (CtNvmlDevice, char *, unsigned))               \
    X(platform, "nvmlDeviceGetPlatformInfo", (CtNvmlDevice, CtNvmlPlatform *))                    \
    X(inforom_image, "nvmlDeviceGetInforomImageVersion", (CtNvmlDevice, char *, unsigned))        \
    X(inforom, "nvmlDeviceGetInforomVersion", (CtNvmlDevice, unsigned, char *, unsigned))         \
    X(bbx, "nvmlDeviceGetLastBBXFlushTime", (CtNvmlDevice, uint64_t *, unsigned long *))          \
    X(operation, "nvmlDeviceGetGpuOperationMode", (CtNvmlDevice, unsigned *, unsigned *))         \
    X(c2c, "nvmlDeviceGetC2cModeInfoV", (CtNvmlDevice, CtNvmlC2c *))                              \
    X(virtualization, "nvmlDeviceGetVirtualizationMode", (CtNvmlDevice, unsigned *))              \
    X(host_vgpu, "nvmlDeviceGetHostVgpuMode", (CtNvmlDevice, unsigned *))                         \
    X(gsp, "nvmlDeviceGetGspFirmwareVersion", (CtNvmlDevice, char *))                             \
    X(pci, "nvmlDeviceGetPciInfo_v3", (CtNvmlDevice, CtNvmlPci *))                                \
    X(pci_ext, "nvmlDeviceGetPciInfoExt", (CtNvmlDevice, CtNvmlPciExt *))                         \
    X(gen_max, "nvmlDeviceGetMaxPcieLinkGeneration", (CtNvmlDevice, unsigned *))                  \
    X(gen_device_max, "nvmlDeviceGetGpuMaxPcieLinkGeneration", (CtNvmlDevice, unsigned *))        \
    X(gen_now, "nvmlDeviceGetCurrPcieLinkGeneration", (CtNvmlDevice, unsigned *))                 \
    X(width_max, "nvmlDeviceGetMaxPcieLinkWidth", (CtNvmlDevice, unsigned *))                     \
    X(width_now, "nvmlDeviceGetCurrPcieLinkWidth", (CtNvmlDevice, unsigned *))                    \
    X(bridges, "nvmlDeviceGetBridgeChipInfo", (CtNvmlDevice, CtNvmlBridges *))                    \
    X(replays, "nvmlDeviceGetPcieReplayCounter", (CtNvmlDevice, unsigned *))                      \
    X(throughput, "nvmlDeviceGetPcieThroughput", (CtNvmlDevice, unsigned, unsigned *))            \
    X(fields, "nvmlDeviceGetFieldValues", (CtNvmlDevice, int, CtNvmlField *))                     \
    X(fan, "nvmlDeviceGetFanSpeed", (CtNvmlDevice, unsigned *))                                   \
    X(state, "nvmlDeviceGetPerformanceState", (CtNvmlDevice, unsigned *))                         \
    X(reasons, "nvmlDeviceGetCurrentClocksEventReasons", (CtNvmlDevice, uint64_t *))              \
    X(reasons_old, "nvmlDeviceGetCurrentClocksThrottleReasons", (CtNvmlDevice, uint64_t *))       \
    X(memory, "nvmlDeviceGetMemoryInfo_v2", (CtNvmlDevice, CtNvmlMemoryV2 *))                     \
    X(memory_old, "nvmlDeviceGetMemoryInfo", (CtNvmlDevice, CtNvmlMemory *))                      \
    X(bar1, "nvmlDeviceGetBAR1MemoryInfo", (CtNvmlDevice, CtNvmlMemory *))                        \
    X(protected_memory, "nvmlDeviceGetConfComputeProtectedMemoryUsage",                           \
      (CtNvmlDevice, CtNvmlMemory *))                                                             \
    X(compute_mode, "nvmlDeviceGetComputeMode", (CtNvmlDevice, unsigned *))                       \
    X(utilization, "nvmlDeviceGetUtilizationRates", (CtNvmlDevice, CtNvmlUtilization *))          \
    X(encoder, "nvmlDeviceGetEncoderUtilization", (CtNvmlDevice, unsigned *, unsigned *))         \
    X(decoder, "nvmlDeviceGetDecoderUtilization", (CtNvmlDevice, unsigned *, unsigned *))         \
    X(jpeg, "nvmlDeviceGetJpgUtilization", (CtNvmlDevice, unsigned *, unsigned *))                \
    X(ofa, "nvmlDeviceGetOfaUtilization", (CtNvmlDevice, unsigned *, unsigned *))                 \
    X(encoder_stats, "nvmlDeviceGetEncoderStats",                                                 \
      (CtNvmlDevice, unsigned *, unsigned *, unsigned *))                                         \
    X(fbc, "nvmlDeviceGetFBCStats", (CtNvmlDevice, CtNvmlFbc *))                                  \
    X(dram_encryption, "nvmlDeviceGetDramEncryptionMode",                                         \
      (CtNvmlDevice, CtNvmlWord *, CtNvmlWord *))                                                 \
    X(ecc_mode, "nvmlDeviceGetEccMode", (CtNvmlDevice, unsigned *, unsigned *))                   \
    X(ecc_total, "nvmlDeviceGetTotalEccErrors", (CtNvmlDevice, unsigned, unsigned, uint64_t *))   \
    X(ecc_count, "nvmlDeviceGetMemoryErrorCounter",                                               \
      (CtNvmlDevice, unsigned, unsigned, unsigned, uint64_t *))                                   \
    X(sram, "nvmlDeviceGetSramEccErrorStatus", (CtNvmlDevice, CtNvmlSram *))                      \
    X(repair, "nvmlDeviceGetRepairStatus", (CtNvmlDevice, CtNvmlRepair *))                        \
    X(unrepairable, "nvmlDeviceGetUnrepairableMemoryFlag_v1", (CtNvmlDevice, CtNvmlWord *))       \
    X(retired, "nvmlDeviceGetRetiredPages", (CtNvmlDevice, unsigned, unsigned *, uint64_t *))     \
    X(retired_pending, "nvmlDeviceGetRetiredPagesPendingStatus", (CtNvmlDevice, unsigned *))      \
    X(remap, "nvmlDeviceGetRemappedRows_v2", (CtNvmlDevice, CtNvmlRemapV2 *))                     \
    X(remap_old, "nvmlDeviceGetRemappedRows",                                                     \
      (CtNvmlDevice, unsigned *, unsigned *, unsigned *, unsigned *))                             \
    X(histogram, "nvmlDeviceGetRowRemapperHistogram", (CtNvmlDevice, CtNvmlHistogram *))          \
    X(temperature, "nvmlDeviceGetTemperatureV", (CtNvmlDevice, CtNvmlTemperature *))              \
    X(temperature_old, "nvmlDeviceGetTemperature", (CtNvmlDevice, unsigned, unsigned *))          \
    X(margin, "nvmlDeviceGetMarginTemperature", (CtNvmlDevice, CtNvmlMargin *))                   \
    X(threshold, "nvmlDeviceGetTemperatureThreshold", (CtNvmlDevice, unsigned, unsigned *))       \
    X(power, "nvmlDeviceGetPowerUsage", (CtNvmlDevice, unsigned *))                               \
    X(power_limit, "nvmlDeviceGetPowerManagementLimit", (CtNvmlDevice, unsigned *))               \
    X(power_default, "nvmlDeviceGetPowerManagementDefaultLimit", (CtNvmlDevice, unsigned *))      \
    X(power_range, "nvmlDeviceGetPowerManagementLimitConstraints",                                \
      (CtNvmlDevice, unsigned *, unsigned *))                                                     \
    X(power_enforced, "nvmlDeviceGetEnforcedPowerLimit", (CtNvmlDevice, unsigned *))              \
    X(energy, "nvmlDeviceGetTotalEnergyConsumption", (CtNvmlDevice, uint64_t *))                  \
    X(profiles, "nvmlDeviceWorkloadPowerProfileGetCurrentProfiles",                               \
      (CtNvmlDevice, CtNvmlProfiles *))                                                           \
    X(clock, "nvmlDeviceGetClockInfo", (CtNvmlDevice, unsigned, unsigned *))                      \
    X(clock_max, "nvmlDeviceGetMaxClockInfo", (CtNvmlDevice, unsigned, unsigned *))               \
    X(clock_application, "nvmlDeviceGetApplicationsClock", (CtNvmlDevice, unsigned, unsigned *))  \
    X(clock_default, "nvmlDeviceGetDefaultApplicationsClock",                                     \
      (CtNvmlDevice, unsigned, unsigned *))                                                       \
    X(clock_customer, "nvmlDeviceGetMaxCustomerBoostClock",                                       \
      (CtNvmlDevice, unsigned, unsigned *))                                                       \
    X(auto_boost, "nvmlDeviceGetAutoBoostedClocksEnabled",                                        \
      (CtNvmlDevice, unsigned *, unsigned *))                                                     \
    X(fabric, "nvmlDeviceGetGpuFabricInfoV", (CtNvmlDevice, CtNvmlFabricV *))                     \
    X(fabric_old, "nvmlDeviceGetGpuFabricInfo", (CtNvmlDevice, CtNvmlFabric *))                   \
    X(capabilities, "nvmlDeviceGetCapabilities", (CtNvmlDevice, CtNvmlWord *))                    \
    X(compute, "nvmlDeviceGetComputeRunningProcesses_v3",                                         \
      (CtNvmlDevice, unsigned *, CtNvmlProcess *))                                                \
    X(compute_old, "nvmlDeviceGetComputeRunningProcesses_v2",                                     \
      (CtNvmlDevice, unsigned *, CtNvmlProcess *))                                                \
    X(graphics, "nvmlDeviceGetGraphicsRunningProcesses_v3",                                       \
      (CtNvmlDevice, unsigned *, CtNvmlProcess *))                                                \
    X(graphics_old, "nvmlDeviceGetGraphicsRunningProcesses_v2",                                   \
      (CtNvmlDevice, unsigned *, CtNvmlProcess *))                                                \
    X(mps, "nvmlDeviceGetMPSComputeRunningProcesses_v3",                                          \
      (CtNvmlDevice, unsigned *, CtNvmlProcess *))                                                \
    X(mig_count, "nvmlDeviceGetMaxMigDeviceCount", (CtNvmlDevice, unsigned *))                    \
    X(mig_handle, "nvmlDeviceGetMigDeviceHandleByIndex",                                          \
      (CtNvmlDevice, unsigned, CtNvmlDevice *))                                                   \
    X(gpu_instance, "nvmlDeviceGetGpuInstanceId", (CtNvmlDevice, unsigned *))                     \
    X(compute_instance, "nvmlDeviceGetComputeInstanceId", (CtNvmlDevice, unsigned *))             \
    X(attributes, "nvmlDeviceGetAttributes_v2", (CtNvmlDevice, CtNvmlAttributes *))               \
    X(link_state, "nvmlDeviceGetNvLinkState", (CtNvmlDevice, unsigned, unsigned *))               \
    X(link_errors, "nvmlDeviceGetNvLinkErrorCounter",                                             \
      (CtNvmlDevice, unsigned, unsigned, uint64_t *))                                             \
    X(link_remote, "nvmlDeviceGetNvLinkRemoteDeviceType", (CtNvmlDevice, unsigned, unsigned *))
